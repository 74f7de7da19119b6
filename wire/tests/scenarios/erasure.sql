GDPR FORGET: what goes, what is blanked, what only loses a copy.

=== messages without rules
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE messages (id INT PRIMARY KEY, sender INT NOT NULL OWNED_BY users(id), receiver INT NOT NULL OWNED_BY users(id));
INSERT INTO users VALUES (0), (5), (10);
INSERT INTO messages VALUES (1, 0, 10), (2, 0, 0), (3, 5, 10), (4, 5, 0);

EXPLAIN GDPR FORGET users 0
----
messages | 1 | 2 | 2
users | 1 | 0 | 0

SELECT count(*) FROM messages
----
4

GDPR FORGET users 0
----
messages | 1 | 2 | 2
users | 1 | 0 | 0

SELECT * FROM messages
----
1 | NULL | 10
3 | 5 | 10
4 | 5 | NULL

GDPR GET users 0
----
error DG003

GDPR FORGET users 0
----
error DG003 receipt

GDPR FORGET users 77
----
error DG003

GDPR FORGET users 10
----
messages | 1 | 1 | 1
users | 1 | 0 | 0

SELECT * FROM messages
----
3 | 5 | NULL
4 | 5 | NULL

-- what erasure left NULL may stay, and no more may come
UPDATE messages SET id = id + 10

UPDATE messages SET sender = NULL
----
error 23502

INSERT INTO users VALUES (0)

get users 0
----
owner users 0

INSERT INTO messages VALUES (1, 0, 0)

get users 0
----
owner users 0
owner messages 1 0 0

GDPR FORGET users 0
----
messages | 1 | 0 | 0
users | 1 | 0 | 0

BEGIN

GDPR FORGET users 5
----
error 25001

ROLLBACK

=== messages with rules; DELETE_ROW is for everyone
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE messages (
  id INT PRIMARY KEY, body TEXT, sender INT NOT NULL OWNED_BY users(id), receiver INT NOT NULL OWNED_BY users(id),
  ON DEL sender ANON (sender, body),
  ON DEL receiver DELETE_ROW
);
CREATE TABLE files (id INT PRIMARY KEY, message INT OWNED_BY messages(id));
CREATE TABLE shares (id INT PRIMARY KEY, file INT OWNED_BY files(id), who INT OWNED_BY users(id));
INSERT INTO users VALUES (0), (5), (10);
INSERT INTO messages VALUES (1, 'a', 0, 10), (2, 'b', 0, 0), (3, 'c', 5, 10), (4, 'd', 5, 0);
INSERT INTO files VALUES (1, 1), (4, 4);
INSERT INTO shares VALUES (1, 4, 10), (2, 4, NULL);

GDPR FORGET users 0
----
messages | 2 | 1 | 1
files | 1 | 0 | 1
shares | 1 | 1 | 1
users | 1 | 0 | 0

SELECT * FROM messages
----
1 | NULL | NULL | 10
3 | c | 5 | 10

SELECT * FROM files
----
1 | 1

SELECT * FROM shares
----
1 | NULL | 10

get users 10
----
owner users 10
owner messages 1 - - 10
owner messages 3 c 5 10
owner files 1 1
owner shares 1 10 -

=== the accessor goes, the owner goes
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE messages (id INT PRIMARY KEY, sender INT NOT NULL OWNED_BY users(id), receiver INT NOT NULL ACCESSED_BY users(id));
INSERT INTO users VALUES (0), (5), (10);
INSERT INTO messages VALUES (1, 0, 10), (2, 0, 0), (3, 5, 10), (4, 5, 0);

GDPR FORGET users 10
----
messages | 0 | 2 | 0
users | 1 | 0 | 0

GDPR FORGET users 0
----
messages | 2 | 1 | 0
users | 1 | 0 | 0

SELECT * FROM messages
----
3 | 5 | NULL
4 | 5 | NULL

=== a group survives until its last member is forgotten
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY);
CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT NOT NULL OWNED_BY users(id), group_id INT NOT NULL OWNS grps(gid));
INSERT INTO users VALUES (1), (2);
BEGIN;
INSERT INTO grps VALUES (1);
INSERT INTO assoc VALUES (1, 1, 1), (2, 2, 1);
COMMIT;

GDPR FORGET users 1
----
assoc | 1 | 0 | 0
grps | 0 | 0 | 1
users | 1 | 0 | 0

GDPR FORGET users 2
----
assoc | 1 | 0 | 0
grps | 1 | 0 | 0
users | 1 | 0 | 0

=== the creator of a shared file goes, then all others
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE DATA_SUBJECT TABLE admins (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY, admin INT OWNED_BY admins(id));
CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT NOT NULL OWNED_BY users(id), group_id INT NOT NULL OWNS grps(gid));
CREATE TABLE files (id INT PRIMARY KEY, creator INT OWNED_BY users(id), ON DEL creator ANON (creator));
CREATE TABLE fassoc (id INT PRIMARY KEY, file INT NOT NULL OWNS files(id), group_id INT NOT NULL OWNED_BY grps(gid));
INSERT INTO users VALUES (1), (2);
INSERT INTO admins VALUES (100);
INSERT INTO grps VALUES (7, 100);
INSERT INTO assoc VALUES (1, 1, 7), (2, 2, 7);
INSERT INTO files VALUES (50, 1);
INSERT INTO fassoc VALUES (60, 50, 7);

GDPR FORGET users 1
----
assoc | 1 | 0 | 0
fassoc | 0 | 0 | 1
files | 0 | 1 | 1
grps | 0 | 0 | 1
users | 1 | 0 | 0

get users 2
----
owner users 2
owner assoc 2 2 7
owner grps 7 100
owner files 50 -
owner fassoc 60 50 7

GDPR FORGET admins 100
----
admins | 1 | 0 | 0
fassoc | 0 | 0 | 1
files | 0 | 0 | 1
grps | 0 | 1 | 1

GDPR FORGET users 2
----
assoc | 1 | 0 | 0
fassoc | 1 | 0 | 0
files | 1 | 0 | 0
grps | 1 | 0 | 0
users | 1 | 0 | 0

=== replies, blanked or with the whole tree
CREATE DATA_SUBJECT TABLE commenters (id INT PRIMARY KEY);
CREATE TABLE comments (id INT PRIMARY KEY, author INT OWNED_BY commenters(id), parent INT ACCESSED_BY comments(id));
CREATE TABLE remarks (id INT PRIMARY KEY, author INT OWNED_BY commenters(id), parent INT ACCESSED_BY remarks(id), ON DEL parent DELETE_ROW);
INSERT INTO commenters VALUES (1), (2);
INSERT INTO comments VALUES (1, 1, NULL), (2, 2, 1), (3, 2, 2), (4, 1, 3);
INSERT INTO remarks VALUES (1, 1, NULL), (2, 2, 1), (3, 2, 2), (4, 1, 3), (5, 2, NULL), (6, 2, 5);

GDPR FORGET commenters 1
----
commenters | 1 | 0 | 0
comments | 2 | 1 | 0
remarks | 4 | 0 | 0

SELECT * FROM comments
----
2 | 2 | NULL
3 | 2 | 2

SELECT * FROM remarks
----
5 | 2 | NULL
6 | 2 | 5

=== the inviter goes, the invited stay with all that is theirs
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, inviter INT OWNED_BY users(id));
CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id));
INSERT INTO users VALUES (1, NULL), (2, 1), (3, 2);
INSERT INTO notes VALUES (10, 2), (11, 1);

GDPR FORGET users 1
----
notes | 1 | 0 | 0
users | 1 | 1 | 1

get users 2
----
owner users 2 -
owner users 3 2
owner notes 10 2

-- someone who was invited goes from the inviter's µDB too
GDPR FORGET users 3
----
users | 1 | 0 | 0

get users 2
----
owner users 2 -
owner notes 10 2

=== one of two authors goes: rules on edges to the surviving paper do not fire
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE papers (id INT PRIMARY KEY, title TEXT);
CREATE TABLE authors (id INT PRIMARY KEY, who INT OWNED_BY users(id), paper INT OWNS papers(id));
CREATE TABLE reviews (
  id INT PRIMARY KEY, text TEXT, paper INT OWNED_BY papers(id), reviewer INT OWNED_BY users(id),
  ON DEL paper ANON (paper, text)
);
INSERT INTO users VALUES (1), (2), (3);
BEGIN;
INSERT INTO papers VALUES (1, 'p');
INSERT INTO authors VALUES (1, 1, 1), (2, 2, 1);
COMMIT;
INSERT INTO reviews VALUES (1, 't', 1, 3);

GDPR FORGET users 1
----
authors | 1 | 0 | 0
papers | 0 | 0 | 1
reviews | 0 | 0 | 1
users | 1 | 0 | 0

SELECT * FROM reviews
----
1 | t | 1 | 3

GDPR FORGET users 2
----
authors | 1 | 0 | 0
papers | 1 | 0 | 0
reviews | 0 | 1 | 1
users | 1 | 0 | 0

SELECT * FROM reviews
----
1 | NULL | NULL | 3

=== a rule may blank what names a survivor; plain foreign keys never dangle
CREATE DATA_SUBJECT TABLE patients (id INT PRIMARY KEY);
CREATE DATA_SUBJECT TABLE doctors (id INT PRIMARY KEY);
CREATE TABLE diagnoses (id INT PRIMARY KEY);
CREATE TABLE charts (
  id INT PRIMARY KEY, pat INT OWNED_BY patients(id), doc INT OWNED_BY doctors(id), dx INT REFERENCES diagnoses(id),
  ON DEL pat ANON (pat, dx)
);
CREATE TABLE visits (id INT PRIMARY KEY, pat INT NOT NULL OWNED_BY patients(id));
CREATE TABLE bills (id INT PRIMARY KEY, visit INT REFERENCES visits(id), who INT REFERENCES patients(id) ON DELETE RESTRICT);
CREATE TABLE lines (id INT PRIMARY KEY, visit INT NOT NULL REFERENCES visits(id) ON DELETE CASCADE);
CREATE TABLE marks (line INT REFERENCES lines(id), visit INT REFERENCES visits(id), PRIMARY KEY (line, visit));
CREATE TABLE extra (id INT PRIMARY KEY, visit INT DEFAULT 3 REFERENCES visits(id) ON DELETE SET DEFAULT);
INSERT INTO patients VALUES (1), (2);
INSERT INTO doctors VALUES (1);
INSERT INTO diagnoses VALUES (8);
INSERT INTO charts VALUES (1, 1, 1, 8), (2, 2, 1, 8);
INSERT INTO visits VALUES (1, 1), (2, 1), (3, 2);
INSERT INTO bills VALUES (1, 1, 1), (2, 3, 1);
INSERT INTO lines VALUES (1, 1), (2, 3);
INSERT INTO marks VALUES (1, 3), (2, 3), (2, 2);
INSERT INTO extra VALUES (1, 1), (2, 3);

GDPR FORGET patients 1
----
bills | 0 | 2 | 0
charts | 0 | 1 | 1
extra | 0 | 1 | 0
lines | 1 | 0 | 0
marks | 2 | 0 | 0
patients | 1 | 0 | 0
visits | 2 | 0 | 0

SELECT * FROM charts
----
1 | NULL | 1 | NULL
2 | 2 | 1 | 8

SELECT * FROM bills
----
1 | NULL | NULL
2 | 3 | NULL

SELECT * FROM marks
----
2 | 3

SELECT * FROM extra
----
1 | 3
2 | 3

GDPR FORGET patients 2
----
bills | 0 | 1 | 0
charts | 0 | 1 | 1
extra | 0 | 2 | 0
lines | 1 | 0 | 0
marks | 1 | 0 | 0
patients | 1 | 0 | 0
visits | 1 | 0 | 0

=== a key that would have to be blanked takes its row along; people are never cascaded
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, friend INT REFERENCES users(id) ON DELETE CASCADE);
CREATE TABLE likes (liker INT OWNED_BY users(id), liked INT OWNED_BY users(id), PRIMARY KEY (liker, liked));
INSERT INTO users VALUES (1, NULL), (2, 1), (3, 2);
INSERT INTO likes VALUES (1, 2), (2, 1), (2, 3);

GDPR FORGET users 1
----
likes | 2 | 0 | 0
users | 1 | 1 | 0

SELECT * FROM users
----
2 | NULL
3 | 2

SELECT * FROM likes
----
2 | 3

=== deleting a person by plain SQL is forgetting their key
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id) ON DELETE CASCADE);
INSERT INTO users VALUES (1), (2);
INSERT INTO notes VALUES (1, 1), (2, 2);

DELETE FROM users WHERE id = 1

SELECT * FROM notes
----
2 | 2

GDPR FORGET users 1
----
error DG003 receipt

SELECT count(*) FROM dogwood.receipts
----
1

=== rules on one edge do not depend on the order in which others fire
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id));
CREATE TABLE replies (
  id INT PRIMARY KEY, a INT OWNED_BY users(id), b INT OWNED_BY users(id), n INT ACCESSED_BY notes(id),
  ON DEL a ANON (a, n),
  ON DEL n DELETE_ROW
);
CREATE TABLE others (
  id INT PRIMARY KEY, n INT ACCESSED_BY notes(id), x TEXT, a INT OWNED_BY users(id), b INT OWNED_BY users(id),
  ON DEL a ANON (a, n),
  ON DEL n ANON (x)
);
INSERT INTO users VALUES (1), (2);
INSERT INTO notes VALUES (1, 1);
INSERT INTO replies VALUES (1, 1, 2, 1);
INSERT INTO others VALUES (1, 1, 'x', 1, 2);

GDPR FORGET users 1
----
notes | 1 | 0 | 0
others | 0 | 1 | 1
replies | 1 | 0 | 0
users | 1 | 0 | 0

SELECT * FROM others
----
1 | NULL | NULL | NULL | 2

=== what owns or opens an erased row names it no more
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE grps (gid INT PRIMARY KEY, admin INT OWNED_BY users(id), ON DEL admin DELETE_ROW);
CREATE TABLE member (id INT PRIMARY KEY, uid INT OWNED_BY users(id), gid INT OWNS grps(gid));
CREATE TABLE guest (uid INT OWNED_BY users(id), gid INT ACCESSES grps(gid), PRIMARY KEY (uid, gid));
INSERT INTO users VALUES (1), (2);
INSERT INTO grps VALUES (7, 1);
INSERT INTO member VALUES (1, 2, 7);
INSERT INTO guest VALUES (2, 7);

GDPR FORGET users 1
----
grps | 1 | 0 | 0
guest | 1 | 0 | 0
member | 0 | 1 | 0
users | 1 | 0 | 0

SELECT * FROM member
----
1 | 2 | NULL

=== a request that finds no one leaves a record of itself, and nothing else
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id));
INSERT INTO users VALUES (1);
INSERT INTO notes VALUES (1, 1)

GDPR FORGET users 9
----
error DG003

GDPR FORGET users 1

GDPR FORGET users 1
----
error DG003 receipt

EXPLAIN GDPR FORGET users 8
----
error DG003

GDPR GET users 8
----
error DG003

SELECT number, operation, tables, subject_count, row_count, recorded_at BETWEEN now() - INTERVAL '1 hour' AND now() FROM dogwood.audit
----
1 | forget | {users} | 0 | 0 | t
2 | forget | {users,notes} | 1 | 2 | t
3 | forget | {users} | 1 | 0 | t

-- The same person by the same keyed hash, which is not the key.
SELECT count(DISTINCT subjects), max(length(subjects[1])) FROM dogwood.audit WHERE subject_count = 1
----
1 | 32

SELECT count(*) FROM dogwood.receipts
----
1

DROP TABLE notes;
DROP TABLE users

SELECT count(*) FROM dogwood.audit WHERE tables[1] = 'users'
----
0

=== in part: the person stays, and what they share they leave
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, phone TEXT);
CREATE TABLE messages (id INT PRIMARY KEY, sender INT OWNED_BY users(id), receiver INT OWNED_BY users(id), body TEXT, ON DEL sender ANON (sender, body));
CREATE TABLE files (id INT PRIMARY KEY, message INT NOT NULL OWNED_BY messages(id));
CREATE TABLE clubs (id INT PRIMARY KEY);
CREATE TABLE members (id INT PRIMARY KEY, who INT NOT NULL OWNED_BY users(id), club INT NOT NULL OWNS clubs(id));
INSERT INTO users VALUES (1, '01'), (2, '02');
INSERT INTO messages VALUES (1, 1, 2, 'to two'), (2, 1, 1, 'to myself'), (3, 2, 1, 'to one');
INSERT INTO files VALUES (1, 1), (2, 2), (3, 3);

BEGIN

INSERT INTO clubs VALUES (1)

INSERT INTO members VALUES (1, 1, 1), (2, 2, 1)

COMMIT

GDPR FORGET users 1 IN (clubs)
----
error DG006 members

GDPR FORGET users 1 IN (files)
----
error DG006 messages

EXPLAIN GDPR FORGET users 1 IN (messages, users (phone))
----
files | 1 | 0 | 2
messages | 1 | 2 | 2
users | 0 | 1 | 0

GDPR FORGET users 1 IN (messages, users (phone))
----
files | 1 | 0 | 2
messages | 1 | 2 | 2
users | 0 | 1 | 0

SELECT * FROM messages
----
1 | NULL | 2 | NULL
3 | 2 | NULL | to one

GDPR FORGET users 1 IN (clubs, members)
----
clubs | 0 | 0 | 1
members | 1 | 0 | 0

GDPR FORGET users 1 IN (messages, clubs)
----

SELECT * FROM users
----
1 | NULL
2 | 02
