What EXPLAIN says of subject requests: the traversal's operators, named after the schema.

=== what is owned is read from the µDB, what is accessed by indexes
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE posts (id INT PRIMARY KEY, author_id INT OWNED_BY users(id));
CREATE TABLE tags (id INT PRIMARY KEY, name TEXT);
CREATE TABLE taggings (id INT PRIMARY KEY, post INT OWNED_BY posts(id), tag INT ACCESSES tags(id));
CREATE TABLE comments (id INT PRIMARY KEY, author INT OWNED_BY users(id), parent INT ACCESSED_BY comments(id));
CREATE TABLE messages (id INT PRIMARY KEY, sender INT OWNED_BY users(id), recipient INT ACCESSED_BY users(id));
INSERT INTO users VALUES (1), (2);
INSERT INTO posts VALUES (10, 1), (11, 1);
INSERT INTO tags VALUES (5, 'one'), (6, 'two');
INSERT INTO taggings VALUES (1, 10, 5), (2, 11, 5);
INSERT INTO comments VALUES (1, 1, NULL), (2, 2, 1), (3, 2, 2), (4, 2, 3);
INSERT INTO messages VALUES (1, 2, 1), (2, 1, 2)

EXPLAIN GDPR GET users 99
----
GDPR GET users
  Witness by place
    Subject users by id
    Read own posts of the µDB
    Own posts by author_id from users.id
    Read own taggings of the µDB
    Own taggings by post from own posts.id
    Read own comments of the µDB
    Own comments by author from users.id
    Read own messages of the µDB
    Own messages by sender from users.id
    Access tags by id from own taggings.tag using tags_pkey
    Iterate comments by parent
      Access comments by parent from own comments.id using …
      Access comments by parent from accessed comments.id using …
    Access messages by recipient from users.id using …
Path: traversal of the µDB and its edges

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) GDPR GET users (1)
----
GDPR GET users (actual rows=12 loops=1)
  Witness by place (actual rows=12 loops=1)
    Subject users by id
    Read own posts of the µDB (actual rows=2 loops=1)
    Own posts by author_id from users.id (actual rows=2 loops=1)
    Read own taggings of the µDB (actual rows=2 loops=1)
    Own taggings by post from own posts.id (actual rows=2 loops=1)
    Read own comments of the µDB (actual rows=1 loops=1)
    Own comments by author from users.id (actual rows=1 loops=1)
    Read own messages of the µDB (actual rows=1 loops=1)
    Own messages by sender from users.id (actual rows=1 loops=1)
    Access tags by id from own taggings.tag using tags_pkey (actual rows=2 loops=1)
    Iterate comments by parent (actual rows=3 loops=3)
      Access comments by parent from own comments.id using … (actual rows=1 loops=1)
      Access comments by parent from accessed comments.id using … (actual rows=2 loops=3)
    Access messages by recipient from users.id using … (actual rows=1 loops=1)
Path: traversal of the µDB and its edges

EXPLAIN ANALYZE GDPR GET users 2
----
GDPR GET users (actual time=#..# rows=6 loops=1)
  Witness by place (actual time=# rows=6 loops=1)
    Subject users by id
    Read own posts of the µDB (actual time=# rows=0 loops=1)
    Own posts by author_id from users.id (actual time=# rows=0 loops=1)
    Read own taggings of the µDB (actual time=# rows=0 loops=1)
    Own taggings by post from own posts.id (actual time=# rows=0 loops=1)
    Read own comments of the µDB (actual time=# rows=3 loops=1)
    Own comments by author from users.id (actual time=# rows=3 loops=1)
    Read own messages of the µDB (actual time=# rows=1 loops=1)
    Own messages by sender from users.id (actual time=# rows=1 loops=1)
    Access tags by id from own taggings.tag using tags_pkey (never executed)
    Iterate comments by parent (never executed)
      Access comments by parent from own comments.id using … (actual time=# rows=2 loops=1)
      Access comments by parent from accessed comments.id using … (never executed)
    Access messages by recipient from users.id using … (actual time=# rows=1 loops=1)
Path: traversal of the µDB and its edges
Planning Time: # ms
Execution Time: # ms

EXPLAIN ANALYZE GDPR GET users 99
----
error DG003 no such data subject in table "users"

BEGIN;
INSERT INTO posts VALUES (12, 1);
INSERT INTO taggings VALUES (3, 12, 6);
EXPLAIN (ANALYZE, TIMING off, SUMMARY off) GDPR GET users 1
----
GDPR GET users (actual rows=15 loops=1)
  Witness by place (actual rows=15 loops=1)
    Subject users by id
    Own posts by author_id from users.id using … (actual rows=3 loops=1)
    Own taggings by post from own posts.id using … (actual rows=3 loops=1)
    Own comments by author from users.id using … (actual rows=1 loops=1)
    Own messages by sender from users.id using … (actual rows=1 loops=1)
    Access tags by id from own taggings.tag using tags_pkey (actual rows=3 loops=1)
    Iterate comments by parent (actual rows=3 loops=3)
      Access comments by parent from own comments.id using … (actual rows=1 loops=1)
      Access comments by parent from accessed comments.id using … (actual rows=2 loops=3)
    Access messages by recipient from users.id using … (actual rows=1 loops=1)
Path: traversal by indexes, over changes of the transaction

ROLLBACK

EXPLAIN GDPR FORGET users 1
----
comments | 1 | 1 | 0
messages | 1 | 1 | 0
posts | 2 | 0 | 0
taggings | 2 | 0 | 0
users | 1 | 0 | 0

EXPLAIN (COSTS off) GDPR FORGET users 1
----
GDPR FORGET users
  Commit destroys the key and signs a receipt
    Derive owners, erase rows without one
      Iterate rows that go
        Subject users by id
        Read users, posts, taggings, comments, messages of the µDB
        Own posts by author_id from users.id: erase if nobody else owns it, else blank (author_id)
        Own comments by author from users.id: erase if nobody else owns it, else blank (author)
        Own messages by sender from users.id: erase if nobody else owns it, else blank (sender)
        Access messages by recipient from users.id: erase if nobody else owns it, else blank (recipient)
        Own taggings by post from posts.id: erase if nobody else owns it, else blank (post)
        Access comments by parent from comments.id: erase if nobody else owns it, else blank (parent)
Path: traversal of the µDB and its edges

EXPLAIN GDPR FORGET users 1 IN (posts)
----
posts | 2 | 0 | 0
taggings | 2 | 0 | 0

EXPLAIN (COSTS off) GDPR FORGET users 1 IN (posts, comments)
----
GDPR FORGET users IN (posts, comments)
  Commit signs a receipt
    Derive owners, erase rows without one
      Iterate rows that go
        Subject users by id
        Read posts, comments of the µDB
        Part posts: erase if nobody else owns it, else as by its edges to users
        Part comments: erase if nobody else owns it, else as by its edges to users
        Own taggings by post from posts.id: erase if nobody else owns it, else blank (post)
        Access comments by parent from comments.id: erase if nobody else owns it, else blank (parent)
Path: traversal of the µDB and its edges

SELECT count(*) FROM posts
----
2

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) GDPR FORGET users 1
----
GDPR FORGET users (actual rows=9 loops=1)
  Commit destroys the key and signs a receipt (actual rows=1 loops=1)
    Derive owners, erase rows without one (actual rows=0 loops=1)
      Iterate rows that go (actual rows=7 loops=3)
        Subject users by id
        Read users, posts, taggings, comments, messages of the µDB (actual rows=7 loops=1)
        Own posts by author_id from users.id: erase if nobody else owns it, else blank (author_id) (actual rows=2 loops=1)
        Own comments by author from users.id: erase if nobody else owns it, else blank (author) (actual rows=1 loops=1)
        Own messages by sender from users.id: erase if nobody else owns it, else blank (sender) (actual rows=1 loops=1)
        Access messages by recipient from users.id: erase if nobody else owns it, else blank (recipient) (actual rows=1 loops=1)
        Own taggings by post from posts.id: erase if nobody else owns it, else blank (post) (actual rows=2 loops=2)
        Access comments by parent from comments.id: erase if nobody else owns it, else blank (parent) (actual rows=1 loops=1)
Path: traversal of the µDB and its edges
…

SELECT count(*) FROM posts
----
0

GDPR GET users 1
----
error DG003 no such data subject in table "users"; Forgotten already: receipt ….

EXPLAIN ANALYZE GDPR FORGET users 1
----
error DG003 no such data subject in table "users"; Forgotten already: receipt ….

=== self-references are iterated, and so are tables that lead to each other
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE comments (id INT PRIMARY KEY, author INT OWNED_BY users(id), parent INT OWNED_BY comments(id));
CREATE TABLE rooms (id INT PRIMARY KEY, comment INT ACCESSED_BY comments(id));
CREATE TABLE doors (id INT PRIMARY KEY, room INT ACCESSED_BY rooms(id), leads INT ACCESSES rooms(id));
INSERT INTO users VALUES (1), (2);
INSERT INTO comments VALUES (1, 1, NULL), (2, 2, 1), (3, 2, 2);
INSERT INTO rooms VALUES (1, 3), (2, NULL), (3, NULL);
INSERT INTO doors VALUES (1, 1, 2), (2, 2, 3), (3, 3, 1)

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) GDPR GET users 1
----
GDPR GET users (actual rows=10 loops=1)
  Witness by place (actual rows=10 loops=1)
    Subject users by id
    Read own comments of the µDB (actual rows=3 loops=1)
    Iterate comments by parent (actual rows=2 loops=3)
      Own comments by author from users.id (actual rows=1 loops=1)
      Own comments by parent from own comments.id (actual rows=2 loops=1)
    Iterate doors by room, rooms by id (actual rows=6 loops=6)
      Access rooms by comment from own comments.id using … (actual rows=1 loops=1)
      Access rooms by id from accessed doors.leads using rooms_pkey (actual rows=3 loops=3)
      Access doors by room from accessed rooms.id using … (actual rows=3 loops=3)
Path: traversal of the µDB and its edges
