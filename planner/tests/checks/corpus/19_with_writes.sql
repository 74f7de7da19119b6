-- WITH queries that write: one snapshot, each once, what they return.
CREATE TABLE w_a (id int PRIMARY KEY, v text, n int DEFAULT 7);
CREATE TABLE w_b (id int PRIMARY KEY, v text, n int);
CREATE TABLE w_parent (id int PRIMARY KEY);
CREATE TABLE w_child (id int PRIMARY KEY, parent int REFERENCES w_parent);
INSERT INTO w_a SELECT g, 'row ' || g FROM generate_series(1, 10) g;

-- The archive.
WITH moved AS (DELETE FROM w_a WHERE id <= 3 RETURNING *) INSERT INTO w_b SELECT * FROM moved;
SELECT * FROM w_a ORDER BY id;
SELECT * FROM w_b ORDER BY id;
WITH moved AS (DELETE FROM w_b RETURNING id, v) INSERT INTO w_a (id, v) SELECT id, upper(v) FROM moved RETURNING id, v, n;

-- What is returned, and the snapshot that all share.
WITH i AS (INSERT INTO w_a VALUES (20, 'twenty', 1), (21, 'twenty-one', 2) RETURNING id, v AS name) SELECT * FROM i ORDER BY id;
WITH i AS (INSERT INTO w_a VALUES (22, 'x', 1) RETURNING id) SELECT (SELECT count(*) FROM i) AS inserted, (SELECT count(*) FROM w_a) AS seen;
SELECT count(*) FROM w_a;
WITH u AS (UPDATE w_a SET n = n + 100 WHERE id <= 2 RETURNING id, n) SELECT u.id, u.n AS after, w_a.n AS before FROM u JOIN w_a USING (id) ORDER BY 1;
WITH d AS (DELETE FROM w_a WHERE id >= 20 RETURNING id) SELECT count(*) AS still FROM w_a WHERE id IN (SELECT id FROM d);
WITH d (x) AS (DELETE FROM w_a WHERE id = 10 RETURNING id) SELECT x + 1 AS y FROM d;
WITH i AS (INSERT INTO w_a VALUES (10, 'ten') RETURNING *) SELECT * FROM i LIMIT 0;
SELECT * FROM w_a WHERE id = 10;
WITH u AS (UPDATE w_a SET v = v || '!' WHERE id IN (4, 5) RETURNING id, v) SELECT one.id, other.v FROM u one JOIN u other USING (id) ORDER BY 1;
WITH i AS (INSERT INTO w_b VALUES (1, 'b', 1) ON CONFLICT (id) DO UPDATE SET v = 'again' RETURNING id, v) SELECT * FROM i;
WITH i AS (INSERT INTO w_b VALUES (1, 'b', 1) ON CONFLICT (id) DO UPDATE SET v = 'again' RETURNING id, v) SELECT * FROM i;
WITH i AS (INSERT INTO w_b VALUES (1, 'b', 1) ON CONFLICT DO NOTHING RETURNING id) SELECT count(*) FROM i;

-- Run whether they are read or not.
WITH i AS (INSERT INTO w_b VALUES (2, 'unread', 2)) SELECT 1 AS one;
WITH i AS (INSERT INTO w_b VALUES (3, 'unread', 3) RETURNING id) SELECT 1 AS one;
WITH i AS (INSERT INTO w_b VALUES (4, 'unread', 4) RETURNING id), s AS (SELECT * FROM i) SELECT 1 AS one;
WITH u AS (UPDATE w_b SET n = 0 WHERE id = 2), d AS (DELETE FROM w_b WHERE id = 3) UPDATE w_b SET v = 'main' WHERE id = 4;
SELECT * FROM w_b ORDER BY id;
WITH a AS (INSERT INTO w_b VALUES (5, 'a', 5)), b AS (INSERT INTO w_b VALUES (6, 'b', 6)) INSERT INTO w_b VALUES (7, 'c', 7), (8, 'd', 8);
WITH u AS (UPDATE w_b SET n = 1) DELETE FROM w_b WHERE false;
WITH u AS (UPDATE w_b SET n = 2) VALUES (1), (2);
WITH u AS (UPDATE w_b SET n = 3 RETURNING id) TABLE u;
SELECT count(*), sum(n) FROM w_b;

-- Several, each reading the one before.
WITH d AS (DELETE FROM w_b WHERE id >= 5 RETURNING id, v), i AS (INSERT INTO w_a SELECT id + 100, v FROM d RETURNING id), u AS (UPDATE w_a SET n = -1 WHERE id <= (SELECT count(*) FROM i) RETURNING id) SELECT (SELECT count(*) FROM d) d, (SELECT array_agg(id ORDER BY id) FROM i) i, (SELECT array_agg(id ORDER BY id) FROM u) u;
WITH s AS (SELECT id FROM w_a WHERE id > 100), d AS (DELETE FROM w_a USING s WHERE w_a.id = s.id RETURNING w_a.id) SELECT id FROM d ORDER BY id;
WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3), i AS (INSERT INTO w_b SELECT n + 30, 'r', n FROM r RETURNING id) SELECT id FROM i ORDER BY id;
WITH RECURSIVE i AS (DELETE FROM w_b WHERE id > 30 RETURNING id), r (n) AS (SELECT min(id) FROM i UNION ALL SELECT n + 1 FROM r WHERE n < 33) SELECT n FROM r ORDER BY n;
WITH i AS (WITH s AS (SELECT 40 AS id) INSERT INTO w_b SELECT id FROM s RETURNING *) SELECT * FROM i;
WITH u AS (UPDATE w_b SET v = 'upserted' WHERE id = 41 RETURNING id) INSERT INTO w_b SELECT 41, 'inserted', 0 WHERE NOT EXISTS (SELECT 1 FROM u);
WITH u AS (UPDATE w_b SET v = 'upserted' WHERE id = 41 RETURNING id) INSERT INTO w_b SELECT 41, 'inserted', 0 WHERE NOT EXISTS (SELECT 1 FROM u);
SELECT * FROM w_b WHERE id >= 40 ORDER BY id;
WITH d AS (DELETE FROM w_b WHERE id = 40 RETURNING *) INSERT INTO w_b SELECT id + 2, v, n FROM d RETURNING *;
WITH d AS (DELETE FROM w_b WHERE id = 41 RETURNING *) INSERT INTO w_b SELECT id, 'same key', n FROM d RETURNING *;
WITH i AS (INSERT INTO w_b VALUES (50, 'q', 1) RETURNING id, (SELECT count(*) FROM w_b WHERE id = 50) AS seen) SELECT * FROM i;
(WITH i AS (INSERT INTO w_b VALUES (51, 'p', 1) RETURNING id) SELECT * FROM i);
WITH i AS (INSERT INTO w_b VALUES (52, 'p', 1) RETURNING id) SELECT id FROM i UNION ALL SELECT id + 1 FROM i ORDER BY 1;
WITH i AS MATERIALIZED (INSERT INTO w_b VALUES (53, 'm', 1) RETURNING id) SELECT * FROM i;

-- A row is changed by the first that comes to it.
WITH u AS (UPDATE w_b SET n = 1000 WHERE id = 1) UPDATE w_b SET n = 2000 WHERE id = 1;
SELECT n FROM w_b WHERE id = 1;
WITH u AS (UPDATE w_b SET n = 3000 WHERE id = 1 RETURNING id) DELETE FROM w_b USING u WHERE w_b.id = u.id;
SELECT n FROM w_b WHERE id = 1;
WITH d AS (DELETE FROM w_b WHERE id = 1 RETURNING id) UPDATE w_b SET n = 5 FROM d WHERE w_b.id = d.id RETURNING w_b.id;
SELECT n FROM w_b WHERE id = 1;
WITH i AS (INSERT INTO w_b VALUES (60, 'i', 1) RETURNING id) UPDATE w_b SET n = 2 FROM i WHERE w_b.id = i.id;
SELECT n FROM w_b WHERE id = 60;
WITH i AS (INSERT INTO w_b VALUES (61, 'i', 1) RETURNING id) INSERT INTO w_b SELECT id, 'j', 2 FROM i ON CONFLICT (id) DO UPDATE SET v = 'never';
WITH i AS (INSERT INTO w_b VALUES (61, 'i', 1) RETURNING id) INSERT INTO w_b SELECT id, 'j', 2 FROM i ON CONFLICT DO NOTHING;
WITH i AS (INSERT INTO w_b VALUES (62, 'i', 1)) INSERT INTO w_b VALUES (62, 'j', 2);
SELECT * FROM w_b WHERE id > 60 ORDER BY id;

-- Constraints are those of the whole statement.
WITH p AS (INSERT INTO w_parent VALUES (1), (2) RETURNING id) INSERT INTO w_child SELECT id * 10, id FROM p RETURNING *;
WITH c AS (INSERT INTO w_child VALUES (30, 3)) INSERT INTO w_parent VALUES (3);
WITH c AS (DELETE FROM w_child WHERE parent = 3) DELETE FROM w_parent WHERE id = 3;
WITH c AS (INSERT INTO w_child VALUES (40, 4) RETURNING id) SELECT * FROM c;
WITH p AS (DELETE FROM w_parent WHERE id = 1 RETURNING id) SELECT * FROM p;
SELECT * FROM w_child ORDER BY id;
WITH i AS (INSERT INTO w_parent VALUES (9) RETURNING id) SELECT 1 / (id - 9) AS never FROM i;
SELECT * FROM w_parent ORDER BY id;

-- Queues.
WITH next AS (SELECT id FROM w_a WHERE n = 7 ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED), u AS (UPDATE w_a SET n = 8 FROM next WHERE w_a.id = next.id RETURNING w_a.id, w_a.v) SELECT id FROM u ORDER BY id;
WITH next AS (SELECT id FROM w_a WHERE n = 7 ORDER BY id LIMIT 1 FOR UPDATE), d AS (DELETE FROM w_a WHERE id IN (SELECT id FROM next) RETURNING id), l AS (INSERT INTO w_b SELECT id + 200, 'done' FROM d RETURNING id) SELECT d.id, l.id FROM d, l;

-- In transactions, prepared, copied, created.
BEGIN;
SAVEPOINT s;
WITH i AS (INSERT INTO w_parent VALUES (70) RETURNING id) INSERT INTO w_child SELECT 700, id FROM i;
WITH i AS (INSERT INTO w_parent VALUES (71) RETURNING id) SELECT i.id, (SELECT count(*) FROM w_parent WHERE id >= 70) FROM i;
ROLLBACK TO s;
SELECT count(*) FROM w_parent WHERE id >= 70;
WITH i AS (INSERT INTO w_parent VALUES (72) RETURNING id) SELECT id FROM i;
COMMIT;
SELECT count(*) FROM w_parent WHERE id >= 70;
BEGIN READ ONLY;
WITH i AS (INSERT INTO w_parent VALUES (73) RETURNING id) SELECT id FROM i;
ROLLBACK;
PREPARE w_p (int) AS WITH d AS (DELETE FROM w_a WHERE id = $1 RETURNING *) SELECT d.id, d.v FROM d;
EXECUTE w_p (6);
EXECUTE w_p (6);
BEGIN;
DECLARE w_c CURSOR FOR WITH d AS (DELETE FROM w_a RETURNING *) SELECT * FROM d;
ROLLBACK;
CREATE VIEW w_v AS WITH d AS (DELETE FROM w_a RETURNING *) SELECT * FROM d;
CREATE MATERIALIZED VIEW w_mv AS WITH d AS (DELETE FROM w_a RETURNING *) SELECT * FROM d;

-- Refused.
SELECT * FROM (WITH d AS (DELETE FROM w_a RETURNING *) SELECT * FROM d) s;
SELECT (WITH d AS (DELETE FROM w_a RETURNING id) SELECT id FROM d);
INSERT INTO w_b WITH d AS (DELETE FROM w_a RETURNING *) SELECT * FROM d;
WITH s AS (WITH d AS (DELETE FROM w_a RETURNING *) SELECT * FROM d) SELECT * FROM s;
WITH i AS (WITH d AS (DELETE FROM w_a RETURNING *) INSERT INTO w_b SELECT * FROM d) SELECT 1;
SELECT 1 UNION ALL (WITH d AS (DELETE FROM w_a RETURNING id) SELECT id FROM d);
WITH d AS (DELETE FROM w_a) SELECT * FROM d;
WITH d (x, y) AS (DELETE FROM w_a RETURNING id) SELECT * FROM d;
WITH d AS (DELETE FROM w_a RETURNING id), d AS (SELECT 1) SELECT * FROM d;
WITH d AS (DELETE FROM w_a RETURNING id) SELECT nope FROM d;
WITH d AS (DELETE FROM w_nope RETURNING id) SELECT * FROM d;
WITH d AS (UPDATE w_a SET nope = 1 RETURNING id) SELECT * FROM d;
WITH RECURSIVE d AS (INSERT INTO w_b SELECT id + 1 FROM d RETURNING id) SELECT * FROM d;
WITH d AS (INSERT INTO w_b VALUES (1, 'taken', 1) RETURNING id), e AS (INSERT INTO w_b VALUES (2, 'taken', 1)) SELECT * FROM d;
SELECT count(*) FROM w_a;
