Which rows stand in whose µDB.

=== messages of two owners stand with both
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE messages (id INT PRIMARY KEY, sender INT NOT NULL OWNED_BY users(id), receiver INT NOT NULL OWNED_BY users(id));
INSERT INTO users VALUES (0), (5), (10);
INSERT INTO messages VALUES (1, 0, 10), (2, 0, 0), (3, 5, 10), (4, 5, 0);

get users 0
----
owner users 0
owner messages 1 0 10
owner messages 2 0 0
owner messages 4 5 0

get users 5
----
owner users 5
owner messages 3 5 10
owner messages 4 5 0

get users 10
----
owner users 10
owner messages 1 0 10
owner messages 3 5 10

SELECT count(*) FROM messages
----
4

SELECT id FROM messages WHERE receiver = 0
----
2
4

=== a group stands with its members
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY, name TEXT);
CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT NOT NULL OWNED_BY users(id), group_id INT NOT NULL OWNS grps(gid));
INSERT INTO users VALUES (1), (2);

INSERT INTO grps VALUES (1, 'lonely')
----
error DG001 would be orphaned

SELECT count(*) FROM grps
----
0

BEGIN;
INSERT INTO grps VALUES (1, 'chess');
INSERT INTO assoc VALUES (1, 1, 1);
COMMIT

BEGIN

INSERT INTO grps VALUES (2, 'go')

INSERT INTO users VALUES (9)

COMMIT
----
error DG001 grps

SELECT id FROM users
----
1
2

get users 1
----
owner users 1
owner grps 1 chess
owner assoc 1 1 1

get users 2
----
owner users 2

INSERT INTO assoc VALUES (2, 2, 1)

INSERT INTO assoc VALUES (3, 2, 1)

get users 2
----
owner users 2
owner grps 1 chess
owner assoc 2 2 1
owner assoc 3 2 1

DELETE FROM assoc WHERE id = 2

get users 2
----
owner users 2
owner grps 1 chess
owner assoc 3 2 1

DELETE FROM assoc WHERE id = 3

get users 2
----
owner users 2

DELETE FROM assoc WHERE id = 1
----
error DG001 grps

CTX START

DELETE FROM assoc WHERE id = 1

DELETE FROM grps WHERE gid = 1

CTX COMMIT

get users 1
----
owner users 1

=== files shared with a group stand with its members and its admin
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE DATA_SUBJECT TABLE admins (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY, admin INT OWNED_BY admins(id));
CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT NOT NULL OWNED_BY users(id), group_id INT NOT NULL OWNS grps(gid));
CREATE TABLE files (id INT PRIMARY KEY, creator INT OWNED_BY users(id));
CREATE TABLE fassoc (id INT PRIMARY KEY, file INT NOT NULL OWNS files(id), group_id INT NOT NULL OWNED_BY grps(gid));
INSERT INTO users VALUES (1), (2), (3);
INSERT INTO admins VALUES (100);
INSERT INTO grps VALUES (7, 100);
INSERT INTO assoc VALUES (1, 1, 7), (2, 2, 7);
INSERT INTO files VALUES (50, 1);
INSERT INTO fassoc VALUES (60, 50, 7);

get users 1
----
owner users 1
owner assoc 1 1 7
owner grps 7 100
owner files 50 1
owner fassoc 60 50 7

get users 2
----
owner users 2
owner assoc 2 2 7
owner grps 7 100
owner files 50 1
owner fassoc 60 50 7

get admins 100
----
owner admins 100
owner grps 7 100
owner files 50 1
owner fassoc 60 50 7

get users 3
----
owner users 3

INSERT INTO assoc VALUES (3, 3, 7)

get users 3
----
owner users 3
owner assoc 3 3 7
owner grps 7 100
owner files 50 1
owner fassoc 60 50 7

DELETE FROM fassoc WHERE id = 60

get users 3
----
owner users 3
owner assoc 3 3 7
owner grps 7 100

get users 1
----
owner users 1
owner assoc 1 1 7
owner grps 7 100
owner files 50 1

=== a change of the first owner moves the whole chain
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE addr (id INT PRIMARY KEY, up INT OWNED_BY users(id));
CREATE TABLE phones (id INT PRIMARY KEY, up INT OWNED_BY addr(id));
CREATE TABLE c1 (id INT PRIMARY KEY, up INT OWNED_BY phones(id));
CREATE TABLE c2 (id INT PRIMARY KEY, up INT OWNED_BY c1(id));
CREATE TABLE c3 (id INT PRIMARY KEY, up INT OWNED_BY c2(id));
CREATE TABLE c4 (id INT PRIMARY KEY, up INT OWNED_BY c3(id));
CREATE TABLE c5 (id INT PRIMARY KEY, up INT OWNED_BY c4(id));
INSERT INTO users VALUES (1), (2);
INSERT INTO addr VALUES (1, 1);
INSERT INTO phones VALUES (1, 1);
INSERT INTO c1 VALUES (1, 1);
INSERT INTO c2 VALUES (1, 1);
INSERT INTO c3 VALUES (1, 1);
INSERT INTO c4 VALUES (1, 1);
INSERT INTO c5 VALUES (1, 1), (2, 1);

UPDATE addr SET up = 2

get users 1
----
owner users 1

get users 2
----
owner users 2
owner addr 1 2
owner phones 1 1
owner c1 1 1
owner c2 1 1
owner c3 1 1
owner c4 1 1
owner c5 1 1
owner c5 2 1

=== an invited person stands with the inviter and with themselves, what is theirs only with them
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, inviter INT OWNED_BY users(id));
CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id));
INSERT INTO users VALUES (1, NULL), (2, 1), (3, 2);
INSERT INTO notes VALUES (10, 2);

get users 1
----
owner users 1 -
owner users 2 1

get users 2
----
owner users 2 1
owner users 3 2
owner notes 10 2

get users 3
----
owner users 3 2

=== composite keys and a tree of comments that the root's author owns
CREATE DATA_SUBJECT TABLE people (a INT, b TEXT, PRIMARY KEY (a, b));
CREATE TABLE comments (id INT PRIMARY KEY, oa INT, ob TEXT, up INT OWNED_BY comments(id), FOREIGN KEY (oa, ob) OWNED_BY people(a, b));
INSERT INTO people VALUES (1, 'x'), (1, 'y');
INSERT INTO comments VALUES (1, 1, 'x', NULL), (2, NULL, NULL, 1), (3, NULL, NULL, 2), (4, 1, 'y', 2);

get people (1, 'x')
----
owner people 1 x
owner comments 1 1 x -
owner comments 2 - - 1
owner comments 3 - - 2
owner comments 4 1 y 2

get people (1, 'y')
----
owner people 1 y
owner comments 4 1 y 2

UPDATE comments SET up = NULL WHERE id = 2
----
error DG001 comments

UPDATE comments SET up = 3 WHERE id = 2
----
error DG001 comments

UPDATE comments SET oa = 1, ob = 'y', up = NULL WHERE id = 2

get people (1, 'x')
----
owner people 1 x
owner comments 1 1 x -

get people (1, 'y')
----
owner people 1 y
owner comments 2 1 y -
owner comments 3 - - 2
owner comments 4 1 y 2
