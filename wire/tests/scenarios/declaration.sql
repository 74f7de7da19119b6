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

=== restoring: rows come before keys and labels, in the order of pg_dump
SET dogwood.restoring = on;
CREATE TABLE comments (id INT NOT NULL, story INT NOT NULL, body TEXT);
SECURITY LABEL FOR dogwood ON COLUMN comments.story IS 'OWNED_BY stories(id)';
CREATE TABLE grps (gid INT NOT NULL);
CREATE TABLE members (id INT NOT NULL, person INT NOT NULL, grp INT NOT NULL);
SECURITY LABEL FOR dogwood ON COLUMN members.person IS 'OWNED_BY people(id)';
SECURITY LABEL FOR dogwood ON COLUMN members.grp IS 'OWNS grps(gid)';
CREATE TABLE people (id INT NOT NULL, name TEXT);
SECURITY LABEL FOR dogwood ON TABLE people IS 'DATA_SUBJECT';
CREATE TABLE stories (id INT NOT NULL, author INT, co_author INT);
SECURITY LABEL FOR dogwood ON TABLE stories IS 'ON DEL co_author ANON (co_author)';
SECURITY LABEL FOR dogwood ON COLUMN stories.author IS 'OWNED_BY people(id)';
COMMENT ON COLUMN stories.co_author IS 'helped @owned_by people(id)';
INSERT INTO comments VALUES (1, 10, 'c'), (2, 11, 'd');
INSERT INTO grps VALUES (7);
INSERT INTO members VALUES (1, 1, 7), (2, 2, 7);
INSERT INTO people VALUES (1, 'Ann'), (2, 'Ben');
INSERT INTO stories VALUES (10, 1, NULL), (11, NULL, 2)

@other INSERT INTO stories VALUES (12, 1, NULL)
----
error DG004 restoring

GDPR GET people 1
----
error 42809

ALTER TABLE ONLY comments ADD CONSTRAINT comments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY grps ADD CONSTRAINT grps_pkey PRIMARY KEY (gid);
ALTER TABLE ONLY members ADD CONSTRAINT members_pkey PRIMARY KEY (id);
ALTER TABLE ONLY people ADD CONSTRAINT people_pkey PRIMARY KEY (id);
ALTER TABLE ONLY stories ADD CONSTRAINT stories_pkey PRIMARY KEY (id)

ALTER TABLE ONLY stories ADD CONSTRAINT stories_author_fkey FOREIGN KEY (author) REFERENCES people(id)

SET dogwood.restoring = off

get people 1
----
owner people 1 Ann
owner stories 10 1 -
owner comments 1 c 10
owner members 1 7 1
owner grps 7

get people 2
----
owner people 2 Ben
owner stories 11 - 2
owner comments 2 d 11
owner members 2 7 2
owner grps 7

SELECT objname, label FROM pg_seclabels WHERE label LIKE '%OWN%'
----
comments.story | OWNED_BY stories(id)
members.grp | OWNS grps(gid)
members.person | OWNED_BY people(id)
stories.author | OWNED_BY people(id)
stories.co_author | OWNED_BY people(id)

INSERT INTO stories VALUES (13, NULL, NULL)
----
error DG001

GDPR FORGET people 1
----
comments | 1 | 0 | 0
grps | 0 | 0 | 1
members | 1 | 0 | 0
people | 1 | 0 | 0
stories | 1 | 0 | 0

=== restoring: all checks run when it is set off
CREATE TABLE people (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, author INT);
SET dogwood.restoring = on;
SECURITY LABEL FOR dogwood ON TABLE people IS 'DATA_SUBJECT';
SECURITY LABEL FOR dogwood ON COLUMN notes.author IS 'OWNED_BY people(id)';
INSERT INTO people VALUES (1);
INSERT INTO notes VALUES (1, 1), (2, NULL)

SET dogwood.restoring = off
----
error DG001 notes

SHOW dogwood.restoring
----
on

RESET dogwood.restoring
----
error DG001 notes

DISCARD ALL
----
error DG001 notes

SELECT set_config('dogwood.restoring', 'off', false)
----
error 0A000

SET LOCAL dogwood.restoring = off
----
error 0A000

UPDATE notes SET author = 2 WHERE id = 2

SET dogwood.restoring = off
----
error 23503 notes

UPDATE notes SET author = 1 WHERE id = 2

CREATE TABLE lost (id INT PRIMARY KEY, whose INT);
SECURITY LABEL FOR dogwood ON COLUMN lost.whose IS 'OWNED_BY nobody(id)';
INSERT INTO lost VALUES (1, 1)

SET dogwood.restoring = off
----
error DG004 lost

DELETE FROM lost

BEGIN;
SET dogwood.restoring = off

ROLLBACK

SHOW dogwood.restoring
----
on

SET dogwood.restoring = off

get people 1
----
owner people 1
owner notes 1 1
owner notes 2 1

=== restoring into a schema with people in it
CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY);
INSERT INTO people VALUES (1);
SET dogwood.restoring = on;
CREATE TABLE notes (id INT PRIMARY KEY, author INT);
SECURITY LABEL FOR dogwood ON COLUMN notes.author IS 'OWNED_BY people(id)';
INSERT INTO notes VALUES (1, 1)

GDPR GET people 1
----
error 55000 restoring

GDPR FORGET people 1
----
error 55000 restoring

EXPLAIN GDPR FORGET people 1
----
error 55000 restoring

SET dogwood.restoring = off

get people 1
----
owner notes 1 1
owner people 1

=== restoring within one transaction
BEGIN;
SET dogwood.restoring = on;
CREATE TABLE notes (id INT, author INT);
SECURITY LABEL FOR dogwood ON COLUMN notes.author IS 'OWNED_BY people(id)';
INSERT INTO notes VALUES (1, 1);
CREATE TABLE people (id INT);
SECURITY LABEL FOR dogwood ON TABLE people IS 'DATA_SUBJECT';
INSERT INTO people VALUES (1);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE notes ADD PRIMARY KEY (id);
SET dogwood.restoring = off;
COMMIT

get people 1
----
owner people 1
owner notes 1 1
