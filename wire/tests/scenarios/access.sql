GDPR GET: what is accessed, by which edges, and what is hidden.

=== the receiver sees the message and what hangs on it
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE messages (id INT PRIMARY KEY, sender INT NOT NULL OWNED_BY users(id), receiver INT NOT NULL ACCESSED_BY users(id));
CREATE TABLE files (id INT PRIMARY KEY, message INT OWNED_BY messages(id));
INSERT INTO users VALUES (0), (10);
INSERT INTO messages VALUES (1, 0, 10), (2, 0, 0);
INSERT INTO files VALUES (5, 1);

get users 10
----
owner users 10
accessor messages 1 0 10
accessor files 5 1

get users 0
----
owner users 0
owner messages 1 0 10
owner messages 2 0 0
owner files 5 1

GDPR GET users 10
----
users | owner |  | {"id": 10} | {}
messages | accessor | messages.receiver ACCESSED_BY users(id) | {"id": 1, "sender": 0, "receiver": 10} | {}
files | accessor | files.message OWNED_BY messages(id) | {"id": 5, "message": 1} | {}

get users 99
----
error DG003

get messages 1
----
error 42809

=== a member sees the group and what the group owns
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY, admin INT NOT NULL OWNED_BY users(id));
CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT OWNED_BY users(id), group_id INT ACCESSES grps(gid));
CREATE TABLE docs (id INT PRIMARY KEY, group_id INT OWNED_BY grps(gid));
INSERT INTO users VALUES (1), (2);
INSERT INTO grps VALUES (7, 1);
INSERT INTO assoc VALUES (1, 2, 7);
INSERT INTO docs VALUES (3, 7);

get users 2
----
owner users 2
owner assoc 1 2 7
accessor grps 7 1
accessor docs 3 7

=== replies reach the author of the parent, and cycles end
CREATE DATA_SUBJECT TABLE commenters (id INT PRIMARY KEY);
CREATE TABLE comments (id INT PRIMARY KEY, author INT OWNED_BY commenters(id), parent INT ACCESSED_BY comments(id));
INSERT INTO commenters VALUES (1), (2);
INSERT INTO comments VALUES (1, 1, NULL), (2, 2, 1), (3, 2, 2), (4, 1, 4), (5, 2, NULL);
UPDATE comments SET parent = 3 WHERE id = 1;

get commenters 1
----
owner commenters 1
owner comments 1 1 3
owner comments 4 1 4
accessor comments 2 2 1
accessor comments 3 2 2

get commenters 2
----
owner commenters 2
owner comments 2 2 1
owner comments 3 2 2
owner comments 5 2 -
accessor comments 1 1 3

=== reviewers and authors
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE papers (id INT PRIMARY KEY, author INT OWNED_BY users(id));
CREATE TABLE reviews (
  id INT PRIMARY KEY, paper INT ACCESSED_BY papers(id), reviewer INT OWNED_BY users(id),
  ON GET paper ANON (reviewer)
);
CREATE TABLE scores (id INT PRIMARY KEY, review INT OWNED_BY reviews(id));
INSERT INTO users VALUES (1), (2);
INSERT INTO papers VALUES (1, 1), (2, 2);
INSERT INTO reviews VALUES (1, 1, 2), (2, 2, 2);
INSERT INTO scores VALUES (1, 1);

get users 1
----
owner users 1
owner papers 1 1
accessor reviews 1 1 *
accessor scores 1 1

get users 2
----
owner users 2
owner papers 2 2
owner reviews 1 1 2
owner reviews 2 2 2
owner scores 1 1

=== several edges hide what all of them hide
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE charts (
  id INT PRIMARY KEY, doc INT OWNED_BY users(id), pat INT OWNED_BY users(id), note TEXT,
  ON GET pat ANON (note, doc),
  ON GET doc ANON (note, pat)
);
CREATE TABLE items (id INT PRIMARY KEY, chart INT OWNED_BY charts(id));
CREATE TABLE slips (
  id INT PRIMARY KEY, doc INT OWNED_BY users(id), pat INT OWNED_BY users(id),
  ON GET pat DELETE_ROW,
  ON GET doc ANON (id)
);
CREATE TABLE parts (id INT PRIMARY KEY, slip INT OWNED_BY slips(id));
INSERT INTO users VALUES (1), (2);
INSERT INTO charts VALUES (1, 1, 2, 'x'), (2, 1, 1, 'y');
INSERT INTO slips VALUES (1, 1, 2), (2, 1, 1), (3, 2, 2);
INSERT INTO parts VALUES (1, 1);

get users 1
----
owner users 1
owner charts 1 1 * *
owner charts 2 1 1 *
owner slips * 1 2
owner slips * 1 1
owner parts 1 1

get users 2
----
owner users 2
owner charts 1 * 2 *
owner slips * 2 2
owner parts 1 1

=== rules that another table's edge carries
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY, name TEXT);
CREATE TABLE member (id INT PRIMARY KEY, uid INT OWNED_BY users(id), gid INT OWNS grps(gid));
ALTER TABLE grps ADD ON GET member(gid) ANON (name);
INSERT INTO users VALUES (1);
BEGIN;
INSERT INTO grps VALUES (1, 'x');
INSERT INTO member VALUES (1, 1, 1);
COMMIT;

get users 1
----
owner users 1
owner member 1 1 1
owner grps 1 *

ALTER TABLE grps DROP ON GET member(gid) ANON (name)

get users 1
----
owner users 1
owner member 1 1 1
owner grps 1 x
