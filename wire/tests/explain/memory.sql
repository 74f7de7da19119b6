What views may hold, and what becomes of those that exceed it.

=== the setting is the server's
SHOW dogwood.view_memory
----
1GB

@other SET dogwood.view_memory = '64MB'

SHOW dogwood.view_memory
----
64MB

SELECT current_setting('dogwood.view_memory')
----
64MB

SET dogwood.view_memory = 2048

@other SHOW dogwood.view_memory
----
2MB

SET LOCAL dogwood.view_memory = '1GB'
----
error 0A000 SET LOCAL dogwood.view_memory is not supported; …

SET dogwood.view_memory = 'much'
----
error 22023 …

SET dogwood.view_memory = '1kB'
----
error 22023 …

RESET dogwood.view_memory

@other SHOW dogwood.view_memory
----
1GB

=== a materialized view that explodes is marked failed, and filled again when there is room
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n

SET dogwood.view_memory = '1MB'

CREATE MATERIALIZED VIEW pairs AS SELECT a.id AS i, b.id AS j FROM t a, t b
----
WARNING 53200 materialized view "pairs" could not be filled: view "pairs" needs more memory than dogwood.view_memory allows (1048576 bytes); The view was created; whoever reads it computes it.; Narrow its query, or raise dogwood.view_memory and REFRESH the view.

SELECT stage, message, bytes + dataflow_bytes FROM dogwood.views
----
failed | view "pairs" needs more memory than dogwood.view_memory allows (1048576 bytes) | 0

EXPLAIN SELECT j FROM pairs WHERE i = 3
----
Finish …
  …
    …
    …
Path: one-shot
Why not a view: view "pairs": it failed: view "pairs" needs more memory than dogwood.view_memory allows (1048576 bytes)

SELECT count(*) FROM pairs WHERE i = 3
----
1000

INSERT INTO t VALUES (1001, 1, 1)

SELECT count(*) FROM pairs
----
1002001

REFRESH MATERIALIZED VIEW pairs
----
error 53200 view "pairs" needs more memory than dogwood.view_memory allows (1048576 bytes); …

REFRESH MATERIALIZED VIEW pairs WITH NO DATA

DELETE FROM t WHERE id > 100

SET dogwood.view_memory = '256MB'

REFRESH MATERIALIZED VIEW pairs

SELECT stage, message FROM dogwood.views
----
ready | NULL

EXPLAIN SELECT j FROM pairs WHERE i = 3
----
Finish …
  Lookup pairs …
Path: maintained view "pairs"

SELECT count(*) FROM pairs
----
10000

=== a view that grows over the budget while it is written
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT); CREATE INDEX ON t (g)

SET dogwood.view_memory = '1MB'

CREATE MATERIALIZED VIEW fan AS SELECT a.id AS i, b.id AS j FROM t a JOIN t b ON b.g = a.g

INSERT INTO t SELECT n, 1, n FROM generate_series(1, 50) n

SELECT stage FROM dogwood.views
----
ready

INSERT INTO t SELECT n, 1, n FROM generate_series(51, 700) n

SELECT stage, message FROM dogwood.views
----
failed | view "fan" needs more memory than dogwood.view_memory allows (1048576 bytes)

SELECT count(*) FROM fan
----
490000

INSERT INTO t VALUES (0, 2, 2)

=== an automatic view that explodes is dropped, and its query goes on
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT); CREATE INDEX ON t (g);
INSERT INTO t SELECT n, n % 2, n FROM generate_series(1, 1000) n

SET dogwood.view_memory = '1MB'

PREPARE p(INT) AS SELECT a.id, b.id FROM t a JOIN t b ON b.g = a.g WHERE a.x % 100 = $1 OFFSET 4999

EXECUTE p(3)
---- five times

eventually EXPLAIN EXECUTE p(3)
----
Finish …
  LookupJoin …
    Scan t …
Path: one-shot
Why not a view: its view was dropped # s ago, because views held more than dogwood.view_memory (1048576 bytes)

EXECUTE p(3)
---- five times

EXPLAIN EXECUTE p(3)
----
Finish …
  LookupJoin …
    Scan t …
Path: one-shot
Why not a view: its view was dropped # s ago, because views held more than dogwood.view_memory (1048576 bytes)

eventually SELECT count(*) FROM dogwood.views
----
0

=== the longest idle of several automatic views goes
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 34000) n

SET dogwood.view_memory = '1MB'

SELECT sum(x) FROM (SELECT x FROM t WHERE g = 4 ORDER BY x OFFSET 3) s
---- five times

EXPLAIN SELECT id, x FROM t WHERE g = 4 ORDER BY x
----
Finish …
  Scan t …
Path: one-shot
Why not a view: not yet executed 5 times within a minute: 0 of 5

SELECT id, x FROM t WHERE g = 4 ORDER BY x
---- five times

SELECT x, g, id FROM t WHERE x % 10 = 4 ORDER BY id DESC
---- five times

eventually SELECT count(*) < 3, sum(bytes + dataflow_bytes) <= 1048576 FROM dogwood.views
----
t | t

=== what waits for all subscribers together is bounded, and whoever has most of it is cut first
CREATE TABLE t (id INT PRIMARY KEY, g INT, body TEXT)

@small BEGIN; DECLARE c CURSOR FOR SUBSCRIBE (SELECT id, body FROM t WHERE g = 2); FETCH ALL c WITH (timeout = '100ms')

@large BEGIN; DECLARE c CURSOR FOR SUBSCRIBE (SELECT id, body FROM t WHERE g = 1); FETCH ALL c WITH (timeout = '100ms')

SET dogwood.subscription_memory = '1MB'

SELECT bytes_max FROM dogwood.memory WHERE part = 'subscription queues'
----
1048576

INSERT INTO t SELECT n, 2, repeat('x', 1000) FROM generate_series(1, 300) n

INSERT INTO t SELECT n, 1, repeat('x', 1000) FROM generate_series(1001, 1600) n

eventually SELECT queued_changes, queued_bytes > 300000, message FROM dogwood.subscriptions ORDER BY id
----
300 | t | NULL
600 | t | NULL

INSERT INTO t SELECT n, 1, repeat('x', 1000) FROM generate_series(2001, 2600) n

eventually SELECT queued_changes, queued_bytes, message FROM dogwood.subscriptions WHERE message IS NOT NULL
----
0 | 0 | the subscription was cut: its changes were not taken in time

@large FETCH ALL c WITH (timeout = '1s')
----
error 53400 the subscription was cut: its changes were not taken in time; More than dogwood.subscription_memory (1048576 bytes) …

@small FETCH ALL c WITH (timeout = '1s')

SELECT bytes FROM dogwood.memory WHERE part = 'subscription queues'
----
0

RESET dogwood.subscription_memory

=== what is held for those who come back is counted until a person is forgotten
CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY);
CREATE TABLE t (id INT PRIMARY KEY, g INT, body TEXT);
INSERT INTO people VALUES (1)

@watcher BEGIN; DECLARE c CURSOR FOR SUBSCRIBE (SELECT id, body FROM t WHERE g = 1); FETCH ALL c WITH (timeout = '100ms')

SELECT bytes FROM dogwood.memory WHERE part = 'subscription histories'
----
0

INSERT INTO t SELECT n, 1, repeat('x', 1000) FROM generate_series(1, 100) n

DELETE FROM t

INSERT INTO t SELECT n, 1, repeat('y', 1000) FROM generate_series(1, 100) n

DELETE FROM t

INSERT INTO t SELECT n, 1, repeat('z', 1000) FROM generate_series(1, 100) n

DELETE FROM t

eventually SELECT bytes BETWEEN 200000 AND 800000 FROM dogwood.memory WHERE part = 'subscription histories'
----
t

GDPR FORGET people 1

eventually SELECT bytes FROM dogwood.memory WHERE part = 'subscription histories'
----
0

=== what was filled is merged into one batch while no commit comes
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 100, n FROM generate_series(1, 5000) n

CREATE MATERIALIZED VIEW v AS SELECT g, x FROM t; CREATE INDEX ON v (g)

CREATE MATERIALIZED VIEW sums AS SELECT g, sum(x) AS s FROM t GROUP BY g; CREATE INDEX ON sums (g)

eventually SELECT name, updates, batches FROM dogwood.views ORDER BY name
----
sums | 100 | 1
v | 5000 | 1

eventually SELECT max(batches) FROM dogwood.arrangements WHERE view = 'sums' AND name IN ('ReduceAccumulable', 'ArrangeView')
----
1

UPDATE t SET x = x + 1 WHERE g = 7

SELECT s FROM sums WHERE g = 7
----
122900
