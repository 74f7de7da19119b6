What is refused, and what an ordinary write moves.

=== dangling parents, referenced rows, actions
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id), body TEXT);
CREATE TABLE tags (id INT PRIMARY KEY, note INT OWNED_BY notes(id) ON DELETE CASCADE);
CREATE TABLE links (id INT PRIMARY KEY, note INT REFERENCES notes(id) ON DELETE SET NULL);
INSERT INTO users VALUES (1), (2);

INSERT INTO notes VALUES (1, 9, 'x')
----
error 23503 users

INSERT INTO notes VALUES (1, NULL, 'x')
----
error DG001 notes.author OWNED_BY users(id)

SELECT count(*) FROM notes
----
0

INSERT INTO notes VALUES (1, 1, 'x'), (2, 1, 'y')

INSERT INTO tags VALUES (1, 1), (2, 2)

INSERT INTO links VALUES (1, 1)

DELETE FROM users WHERE id = 1
----
error 23503 still referenced

DELETE FROM notes WHERE id = 1

SELECT * FROM tags
----
2 | 2

SELECT * FROM links
----
1 | NULL

UPDATE notes SET author = 9
----
error 23503 users

UPDATE notes SET author = NULL
----
error DG001 notes

UPDATE notes SET body = 'z'

get users 1
----
owner users 1
owner notes 2 z 1
owner tags 2 2

=== owners that are computed, upserts, primary keys that move
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE messages (id INT PRIMARY KEY, sender INT OWNED_BY users(id) ON UPDATE CASCADE, receiver INT OWNED_BY users(id) ON UPDATE CASCADE);
INSERT INTO users VALUES (0), (5), (10);
INSERT INTO messages VALUES (1, 0, 10), (2, 0, 0), (3, 5, 10);

UPDATE messages SET sender = sender + 5

get users 0
----
owner users 0
owner messages 2 5 0

get users 5
----
owner users 5
owner messages 1 5 10
owner messages 2 5 0

get users 10
----
owner users 10
owner messages 1 5 10
owner messages 3 10 10

UPDATE messages SET sender = sender + 5
----
error 23503

INSERT INTO messages VALUES (3, 0, 0) ON CONFLICT (id) DO UPDATE SET sender = excluded.sender, receiver = excluded.receiver

get users 10
----
owner users 10
owner messages 1 5 10

UPDATE users SET id = 11 WHERE id = 10

get users 11
----
owner users 11
owner messages 1 5 11

get users 10
----
error DG003

UPDATE users SET id = id + 1

get users 12
----
owner users 12
owner messages 1 6 12

DELETE FROM messages

DELETE FROM users WHERE id = 12

get users 12
----
error DG003

=== inserted and removed in one transaction, in every order
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY);
CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT OWNED_BY users(id), group_id INT OWNS grps(gid));
CREATE TABLE posts (id INT PRIMARY KEY, group_id INT OWNED_BY grps(gid));
INSERT INTO users VALUES (1), (2);

BEGIN;
INSERT INTO grps VALUES (1);
INSERT INTO assoc VALUES (1, 1, 1);
INSERT INTO posts VALUES (1, 1);
UPDATE assoc SET user_id = 2;
DELETE FROM posts;
INSERT INTO posts VALUES (1, 1);
COMMIT

get users 1
----
owner users 1

get users 2
----
owner users 2
owner grps 1
owner assoc 1 2 1
owner posts 1 1

BEGIN

SAVEPOINT a

DELETE FROM assoc

ROLLBACK TO a

INSERT INTO assoc VALUES (2, 1, 1)

COMMIT

get users 1
----
owner users 1
owner grps 1
owner assoc 2 1 1
owner posts 1 1

BEGIN

DELETE FROM assoc

INSERT INTO assoc VALUES (2, 1, 1)

ROLLBACK

UPDATE assoc SET group_id = NULL WHERE id = 1

get users 2
----
owner users 2
owner assoc 1 2 -

TRUNCATE assoc
----
error DG001 grps

=== constraints stay what they are
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, email TEXT NOT NULL UNIQUE, CHECK (email <> ''));
INSERT INTO users VALUES (1, 'a');

INSERT INTO users VALUES (1, 'b')
----
error 23505

INSERT INTO users VALUES (2, 'a')
----
error 23505

INSERT INTO users VALUES (2, '')
----
error 23514

INSERT INTO users VALUES (2, NULL)
----
error 23502

=== a key that passes to a new person within a transaction is a new person's
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT);
CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id) ON DELETE CASCADE);
INSERT INTO users VALUES (1, 'a'), (2, 'b'), (3, 'c');
INSERT INTO notes VALUES (1, 1), (2, 2), (3, 3);

BEGIN;
DELETE FROM users WHERE id = 1;
INSERT INTO users VALUES (1, 'x');
DELETE FROM users WHERE id = 2;
UPDATE users SET id = 2 WHERE id = 1;
INSERT INTO notes VALUES (4, 2);
COMMIT

get users 2
----
owner users 2 x
owner notes 4 2

get users 3
----
owner users 3 c
owner notes 3 3

=== a table of persons that is emptied, a table of persons that is dropped
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id));
CREATE DATA_SUBJECT TABLE others (id INT PRIMARY KEY);
INSERT INTO users VALUES (1), (2);
INSERT INTO notes VALUES (1, 1);
INSERT INTO others VALUES (1);

TRUNCATE users, notes

get users 1
----
error DG003

INSERT INTO users VALUES (1)

get users 1
----
owner users 1

DROP TABLE others

=== a default that is the key that goes; a unique value that passes from person to person
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, handle TEXT UNIQUE);
CREATE TABLE notes (id INT PRIMARY KEY, author TEXT OWNED_BY users(handle));
CREATE TABLE links (id INT PRIMARY KEY, who INT DEFAULT 1 REFERENCES users(id) ON DELETE SET DEFAULT);
INSERT INTO users VALUES (1, 'a'), (2, 'b');
INSERT INTO links VALUES (1, 1);
INSERT INTO notes VALUES (1, 'b');

DELETE FROM users WHERE id = 1
----
error 23503 links

UPDATE users SET id = 5 WHERE id = 2

get users 5
----
owner users 5 b
owner notes 1 b

=== a foreign key is asked of the rows that are left: one written by an action and removed by the next needs no parent
CREATE DATA_SUBJECT TABLE users (
  id INT PRIMARY KEY,
  guide INT DEFAULT 0 REFERENCES users(id) ON DELETE SET DEFAULT,
  parent INT REFERENCES users(id) ON DELETE CASCADE
);
INSERT INTO users VALUES (4, NULL, NULL);
INSERT INTO users VALUES (5, 4, 4);

DELETE FROM users WHERE id = 4

SELECT id FROM users
----

INSERT INTO users VALUES (4, NULL, NULL), (5, 4, NULL)

DELETE FROM users WHERE id = 4
----
error 23503 users

=== and a default that is a key which goes in the same cascade, as do those that would be given it
CREATE DATA_SUBJECT TABLE users (
  id INT PRIMARY KEY,
  parent INT REFERENCES users(id) ON DELETE CASCADE,
  guide INT DEFAULT 1 REFERENCES users(id) ON DELETE SET DEFAULT
);
INSERT INTO users VALUES (5, NULL, NULL), (1, 5, 5), (2, 1, 5), (6, 5, 1);

DELETE FROM users WHERE id = 5

SELECT id FROM users
----
