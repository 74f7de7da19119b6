What cannot be declared, with the edge and a hint.

=== targets, keys, types
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT);

CREATE TABLE a (id INT PRIMARY KEY, x INT OWNED_BY nobody(id))
----
error 42P01 nobody

CREATE TABLE a (id INT PRIMARY KEY, x TEXT OWNED_BY users(name))
----
error 42830

CREATE TABLE a (id INT PRIMARY KEY, x TEXT OWNED_BY users(id))
----
error 42804

CREATE TABLE a (id INT PRIMARY KEY, x INT OWNED_BY users(nothing))
----
error 42703 nothing

CREATE DATA_SUBJECT TABLE b (id INT)
----
error 42P16 PRIMARY KEY

=== paths that reach nobody, circles
CREATE TABLE things (id INT PRIMARY KEY);
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);

CREATE TABLE a (id INT PRIMARY KEY, x INT OWNED_BY things(id))
----
error DG004 a.x OWNED_BY things(id)

CREATE TABLE a (id INT PRIMARY KEY, x INT ACCESSED_BY things(id))
----
error DG004 a.x ACCESSED_BY things(id)

CREATE TABLE a (id INT PRIMARY KEY, x INT OWNED_BY a(id))
----
error DG004 a.x OWNED_BY a(id)

CREATE TABLE p (id INT PRIMARY KEY, u INT OWNED_BY users(id))

CREATE TABLE q (id INT PRIMARY KEY, x INT OWNED_BY p(id), y INT OWNS p(id))
----
error DG005 circle

CREATE TABLE q (id INT PRIMARY KEY, x INT OWNED_BY p(id), y INT ACCESSED_BY p(id))

=== rules
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);

CREATE TABLE a (id INT PRIMARY KEY, u INT OWNED_BY users(id), ON DEL v ANON (u))
----
error 42703 v

CREATE TABLE a (id INT PRIMARY KEY, u INT OWNED_BY users(id), ON DEL u ANON (w))
----
error 42703 w

CREATE TABLE a (id INT PRIMARY KEY, u INT OWNED_BY users(id), ON DEL id ANON (u))
----
error 42703 its edges are: u

CREATE TABLE a (id INT PRIMARY KEY, u INT OWNED_BY users(id), ON DEL u ANON (id))
----
error 42P16 primary-key

CREATE TABLE a (id INT PRIMARY KEY, u INT OWNED_BY users(id), v INT OWNED_BY users(id), ON DEL u ANON (u, v))
----
error 42P16 another ownership edge

CREATE DATA_SUBJECT TABLE b (id INT PRIMARY KEY, u INT OWNED_BY users(id), ON DEL u DELETE_ROW)
----
error 42P16

CREATE DATA_SUBJECT TABLE c (id INT PRIMARY KEY OWNED_BY users(id))
----
error 42P16

=== labels and comments
CREATE TABLE users (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, author INT);

SECURITY LABEL FOR dogwood ON TABLE users IS 'DATA SUBJECT OF SORTS'
----
error 22023

COMMENT ON COLUMN notes.author IS 'who @owned_by'
----
error 22023

SECURITY LABEL FOR dogwood ON TABLE users IS 'DATA_SUBJECT'

COMMENT ON COLUMN notes.author IS 'who wrote it @owned_by users(id)'

INSERT INTO users VALUES (1), (2)

INSERT INTO notes VALUES (1, 1)

INSERT INTO notes VALUES (2, NULL)
----
error DG001

get users 1
----
owner users 1
owner notes 1 1

=== annotations on tables that hold data move their rows, or are refused
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, author INT, editor INT REFERENCES users(id));
INSERT INTO users VALUES (1), (2);
INSERT INTO notes VALUES (1, 1, 2), (2, 2, NULL);

ALTER TABLE notes ALTER COLUMN editor SET OWNED_BY users(id)
----
error DG001

ALTER TABLE notes ALTER COLUMN author SET OWNED_BY users(id)

get users 1
----
owner users 1
owner notes 1 1 2

ALTER TABLE notes ALTER COLUMN editor SET OWNED_BY users(id)

get users 2
----
owner users 2
owner notes 1 1 2
owner notes 2 2 -

ALTER TABLE notes ALTER COLUMN editor DROP OWNED_BY

get users 2
----
owner users 2
owner notes 2 2 -

GDPR FORGET users 2
----
notes | 1 | 1 | 0
users | 1 | 0 | 0
