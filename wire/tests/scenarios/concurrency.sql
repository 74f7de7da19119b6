Transactions that overlap, step by step; those that wait for each other are in scenarios.rs.

=== two transactions that each remove one of the last two owners
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY);
CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT NOT NULL OWNED_BY users(id), group_id INT NOT NULL OWNS grps(gid));
INSERT INTO users VALUES (1), (2);
BEGIN;
INSERT INTO grps VALUES (1);
INSERT INTO assoc VALUES (1, 1, 1), (2, 2, 1);
COMMIT;

@a BEGIN

@b BEGIN

@a DELETE FROM assoc WHERE id = 1

@b DELETE FROM assoc WHERE id = 2

@a COMMIT

@b COMMIT
----
error DG001 grps

get users 1
----
owner users 1

get users 2
----
owner users 2
owner grps 1
owner assoc 2 2 1

=== one member leaves while another joins
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY);
CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT NOT NULL OWNED_BY users(id), group_id INT NOT NULL OWNS grps(gid));
CREATE TABLE posts (id INT PRIMARY KEY, group_id INT OWNED_BY grps(gid));
INSERT INTO users VALUES (1), (2);
BEGIN;
INSERT INTO grps VALUES (1);
INSERT INTO assoc VALUES (1, 1, 1);
COMMIT;

@a BEGIN

@b BEGIN

@a DELETE FROM assoc WHERE id = 1

@b INSERT INTO assoc VALUES (2, 2, 1)

INSERT INTO posts VALUES (5, 1)

@b COMMIT

@a COMMIT

get users 1
----
owner users 1

get users 2
----
owner users 2
owner grps 1
owner assoc 2 2 1
owner posts 5 1

=== a subject is forgotten while a transaction that read it goes on
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY);
CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT NOT NULL OWNED_BY users(id), group_id INT NOT NULL OWNS grps(gid));
CREATE TABLE posts (id INT PRIMARY KEY, group_id INT OWNED_BY grps(gid), ref INT REFERENCES grps(gid));
INSERT INTO users VALUES (1), (2);
BEGIN;
INSERT INTO grps VALUES (1);
INSERT INTO assoc VALUES (1, 1, 1), (2, 2, 1);
COMMIT;

@a BEGIN ISOLATION LEVEL REPEATABLE READ

@a SELECT count(*) FROM assoc
----
2

GDPR FORGET users 1
----
assoc | 1 | 0 | 0
grps | 0 | 0 | 1
users | 1 | 0 | 0

@a SELECT count(*) FROM assoc
----
error 40001

@a ROLLBACK

@a SELECT count(*) FROM assoc
----
1
