Which way a query takes, and why it does not read a view.

=== a lookup, a scan and what reads no table
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT); CREATE INDEX ON t (x);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n

EXPLAIN SELECT * FROM t WHERE id = 3
----
Finish output (id, g, x)
  Lookup t using primary key (id = 3)
Path: lookup

EXPLAIN SELECT * FROM t WHERE x = 3
----
Finish output (id, g, x)
  Lookup t using index t_x_idx (x = 3)
Path: lookup

EXPLAIN SELECT 1
----
Finish output (1)
  Each row compute (1)
    Constant (1 rows of 0 columns)
Path: one-shot
Why not a view: it reads no table

EXPLAIN SELECT g, count(*) FROM t GROUP BY g
----
Finish output (g, count(*))
  Reduce by (g) to (count(*))
    Scan t keep (g)
Path: one-shot
Why not a view: no column must equal a parameter or a literal, so that it would be kept as a whole; CREATE MATERIALIZED VIEW keeps such a query

EXPLAIN SELECT x, now() FROM t WHERE g = 3
----
Finish …
  Scan t …
Path: one-shot
Why not a view: it depends on the session, the clock or chance

EXPLAIN SELECT x FROM t WHERE g = 3 AND x > random()
----
Finish …
  Scan t …
Path: one-shot
Why not a view: it depends on the session, the clock or chance

EXPLAIN SELECT relname FROM pg_class WHERE relkind = 'r'
----
Finish output (relname)
  Scan pg_catalog.pg_class where …
Path: one-shot
Why not a view: it reads a catalog relation

EXPLAIN SELECT x FROM t WHERE g = 3 FOR UPDATE
----
Finish output (x)
  Lock t for update by ctid
  Scan t …
Path: one-shot
Why not a view: it locks rows

=== a query earns a view, and prepared statements share it
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n

PREPARE p(INT, INT) AS SELECT count(*) FROM t WHERE g = $1 AND x % 2 = $2

EXPLAIN EXECUTE p(3, 0)
----
Finish output (count(*))
  Reduce by () to (count(*))
    Scan t where …
Path: one-shot
Why not a view: not yet executed 5 times within a minute: 0 of 5

EXECUTE p(3, 1); EXECUTE p(3, 1); EXECUTE p(3, 1)

EXPLAIN EXECUTE p(3, 0)
----
Finish output (count(*))
  Reduce by () to (count(*))
    Scan t where …
Path: one-shot
Why not a view: not yet executed 5 times within a minute: 3 of 5

EXECUTE p(3, 1); EXECUTE p(3, 1)

EXPLAIN EXECUTE p(3, 0)
----
Finish output (count(*))
  Read view auto_1 by g = $1 and (x % 2) = $2
    …
      Reduce by (g, (x % 2)) to (count(*))
        Scan t …
Path: automatic view "auto_1" keyed by (g, (x % 2))

@other PREPARE q(INT, INT) AS SELECT count(*) FROM t WHERE x % 2 = $2 AND g = $1

EXPLAIN EXECUTE p(3)
----
error 42601 wrong number of parameters for prepared statement "p"; …

EXPLAIN EXECUTE nobody(3)
----
error 26000 prepared statement "nobody" does not exist

BEGIN; UPDATE t SET x = 1 WHERE id = 1

EXPLAIN EXECUTE p(3, 0)
----
Finish output (count(*))
  Reduce by () to (count(*))
    Scan t where …
Path: one-shot
Why not a view: the transaction has changed "t"

ROLLBACK; SET dogwood.auto_views = off

EXPLAIN EXECUTE p(3, 0)
----
Finish output (count(*))
  Reduce by () to (count(*))
    Scan t where …
Path: one-shot
Why not a view: dogwood.auto_views is off

=== parameters other than by equality
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT)

PREPARE p(INT, INT) AS SELECT count(*) FROM t WHERE g = $1 AND x > $2

EXPLAIN EXECUTE p(3, 0)
----
Finish output (count(*))
  Reduce by () to (count(*))
    Scan t where …
Path: one-shot
Why not a view: a parameter is used other than by equality with a column

=== several keys below a group of them
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 40) n

PREPARE p(INT, INT) AS SELECT g, count(*), string_agg(x::text, ',' ORDER BY x) FROM t WHERE g IN ($1, $2) AND x > 9 GROUP BY g

EXECUTE p(3, 4)
---- five times

INSERT INTO t VALUES (100, 4, 44); DELETE FROM t WHERE id = 13

EXPLAIN EXECUTE p(3, 4)
----
Finish output (g, count(*), string_agg((x)::text, ','::text ORDER BY x))
  Read view auto_1 by g in ($1, $2)
    Reduce by (g) to (count(*), string_agg((x)::text, ','::text ORDER BY x))
      Scan t …
Path: automatic view "auto_1" keyed by (g)

EXECUTE p(3, 4)
----
3 | 2 | 23,33
4 | 4 | 14,24,34,44

PREPARE one_of(INT[]) AS SELECT max(x), g + 1 FROM t WHERE g = ANY($1) GROUP BY g

EXPLAIN EXECUTE one_of('{3, 4}')
----
Finish …
  Each row compute …
    Reduce by (g) to (max(x))
      Scan t …
Path: one-shot
Why not a view: not yet executed 5 times within a minute: 0 of 5

PREPARE whole(INT, INT) AS SELECT count(*) FROM t WHERE g IN ($1, $2)

EXPLAIN EXECUTE whole(3, 4)
----
Finish …
  Reduce by () …
    Scan t …
Path: one-shot
Why not a view: a parameter is used other than by equality with a column

=== values of several columns that make too many keys
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT);
INSERT INTO t SELECT n, n % 10, n % 7, n % 3 FROM generate_series(1, 40) n

PREPARE p(INT[], INT[], INT[]) AS SELECT id FROM t WHERE a = ANY($1) AND b = ANY($2) AND c = ANY($3) ORDER BY id

EXECUTE p('{1}', '{4}', '{2}')
---- five times

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) EXECUTE p('{1, 2}', '{1, 2, 4}', '{1, 2}')
----
Finish … (actual rows=5 loops=1)
  Read view auto_1 … (actual rows=5 loops=1) (held keys=12 …
    …
Path: automatic view "auto_1" keyed by (a, b, c)

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) EXECUTE p('{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41}', '{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41}', '{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41}')
----
Finish … (actual rows=20 loops=1)
  Range t … (actual rows=20 loops=1)
Path: one-shot
Why not a view: the values of several columns make more than 65536 keys

EXECUTE p('{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41}', '{4}', '{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41}')
----
4
11
25
32

@watcher BEGIN; DECLARE c CURSOR FOR SUBSCRIBE (SELECT id FROM t WHERE a = ANY('{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41}') AND b = ANY('{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41}') AND c = ANY('{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41}'))
----
error 54000 too many keys are subscribed to; The values of several columns make more than 65536 keys.

=== a snapshot from before the view
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT)

@old BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t

SELECT sum(x) FROM t WHERE g = 1
---- five times

INSERT INTO t VALUES (1, 1, 1)

@old EXPLAIN SELECT sum(x) FROM t WHERE g = 2
----
Finish output (sum(x))
  Reduce by () to (sum(x))
    Scan t …
Path: one-shot
Why not a view: it is younger than the transaction's snapshot, or was just asked for

=== materialized views, and what stands over them
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n

CREATE MATERIALIZED VIEW v AS SELECT g, sum(x) AS s FROM t GROUP BY g;
CREATE MATERIALIZED VIEW w AS SELECT g, 10 / (x - 5) AS q FROM t WHERE x <> 5

EXPLAIN SELECT s FROM v WHERE g = 3
----
Finish output (s)
  Lookup v using index … (g = 3) keep (s)
Path: maintained view "v"

EXPLAIN SELECT t.id, v.s FROM v JOIN t ON t.g = v.g
----
Finish output (t.id, v.s)
  Join …
    …
    …
Path: one-shot over maintained view "v"
Why not a view: no column must equal …

BEGIN; INSERT INTO t VALUES (2000, 3, 1)

EXPLAIN SELECT s FROM v WHERE g = 3
----
Finish output (s)
  Each row keep (s)
    Reduce by (g) to (sum(x) AS s)
      Scan t where (g = 3) keep (g, x)
Path: one-shot
Why not a view: the transaction has changed "t"

ROLLBACK; DROP MATERIALIZED VIEW w; CREATE MATERIALIZED VIEW w AS SELECT g, 10 / (x - 5) AS q FROM t

EXPLAIN SELECT q FROM w WHERE g = 3
----
Finish …
  Scan t …
Path: one-shot
Why not a view: view "w": a row of it cannot be evaluated

=== writes
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT)

EXPLAIN UPDATE t SET x = 1 WHERE id = 3
----
Update t
  Finish …
    Lookup t …
Path: lookup

EXPLAIN DELETE FROM t WHERE g = 3
----
Delete from t
  Finish …
    Scan t …
Path: one-shot
Why not a view: it writes

EXPLAIN CREATE TABLE u AS SELECT * FROM t WHERE g = 3
----
Finish …
  Scan t …
Path: one-shot
Why not a view: it writes

=== options
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT)

EXPLAIN (SUMMARY, COSTS off) SELECT * FROM t WHERE id = 1
----
Finish …
  Lookup t …
Path: lookup
Planning Time: # ms

EXPLAIN (FORMAT JSON) SELECT * FROM t WHERE id = 1
----
[
  {
    "Plan": {
      "Node Type": "Lookup",
      "Relation Name": "t",
      "Alias": "t",
      "Description": "Lookup t using primary key (id = 1)",
      "Output": [
        "id",
        "g",
        "x"
      ]
    },
    "Path": "lookup"
  }
]

EXPLAIN (TIMING) SELECT 1
----
error 22023 EXPLAIN option TIMING requires ANALYZE

EXPLAIN (RESOLVED, FORMAT XML) SELECT 1
----
error 0A000 …

EXPLAIN (RESOLVED, FORMAT JSON) SELECT 1
----
error 0A000 …

=== queries of one shape share a view, and each asks for its own
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n

SELECT x FROM t WHERE g = 4 ORDER BY x LIMIT 3
---- five times

SELECT x FROM t WHERE g = 4 ORDER BY x LIMIT 3
----
4
14
24

SELECT x FROM t WHERE g = 5 ORDER BY x LIMIT 2 OFFSET 1
----
15
25

EXPLAIN SELECT x FROM t WHERE g = 5 ORDER BY x LIMIT 2 OFFSET 1
----
Finish order by x limit 2 offset 1 output (x)
  Read view auto_1 by g = 5
    Scan t keep (x, g)
Path: automatic view "auto_1" keyed by (g), first 16 rows or more of each key

SELECT count(*) FROM t WHERE g = 4 AND x % 7 = 2
---- five times

SELECT count(*) FROM t WHERE g = 2 AND x % 7 = 4
----
14

=== a UNION whose branches ask for different keys
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT); CREATE TABLE u (id INT PRIMARY KEY, h INT, x INT);
INSERT INTO t SELECT n, n % 10, n % 6 FROM generate_series(1, 100) n;
INSERT INTO u SELECT n, n % 10, n % 4 FROM generate_series(1, 100) n

PREPARE q (int, int) AS SELECT x FROM t WHERE g = $1 UNION SELECT x FROM u WHERE h = $2 ORDER BY x

EXECUTE q (4, 5)
---- five times

EXECUTE q (4, 5)
----
0
1
2
3
4

EXECUTE q (3, NULL)
----
1
3
5

EXPLAIN EXECUTE q (4, 5)
----
Finish order by x output (x)
  Distinct
    Read view auto_1 by g = $1 and branch = 0 or g = $2 and branch = 1
      Union to (x, g, branch)
        Scan t …
        Scan u …
Path: automatic view "auto_1" keyed by (g, branch)

PREPARE r (int, int) AS SELECT x FROM (SELECT g, x FROM t WHERE g = $1 UNION SELECT h, x FROM u WHERE h = $2) b ORDER BY x DESC LIMIT 4

EXECUTE r (4, 6)
---- five times

EXPLAIN EXECUTE r (4, 6)
----
Finish order by b.x desc limit 4 output (b.x)
  Distinct
    Read view …
      Union to (b.g, b.x, g, branch)
        Scan t …
        Scan u …
Path: automatic view …

EXECUTE r (4, 6)
----
4
2
2
0

EXECUTE r (4, 4)
----
4
2
0

EXPLAIN SELECT count(*) FROM (SELECT x FROM t WHERE g = 4 UNION SELECT x FROM u WHERE h = 5) b
----
Finish output (count(*))
  Reduce by () to (count(*))
    Each row keep ()
      Distinct (b.x)
        Union to (b.x)
          Scan t …
          Scan u …
Path: one-shot
Why not a view: no column must equal a parameter or a literal, …

PREPARE s (int, int) AS SELECT count(*) FROM (SELECT x FROM t WHERE g = $1 UNION SELECT x FROM u WHERE h = $2) b

EXPLAIN EXECUTE s (4, 5)
----
Finish output (count(*))
  Reduce by () to (count(*))
    Each row keep ()
      Distinct (b.x)
        Union to (b.x)
          Scan t …
          Scan u …
Path: one-shot
Why not a view: branches of a UNION ask for different keys

=== the audit log is read by number, from either end
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY); INSERT INTO users SELECT n FROM generate_series(1, 5) n

GDPR FORGET users 1

GDPR FORGET users 2

GDPR FORGET users 3

GDPR FORGET users 4

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT number FROM dogwood.audit ORDER BY number DESC LIMIT 2
----
Finish limit 2 output (number) (actual rows=2 loops=1)
  Range dogwood.audit using primary key backwards keep (number) (actual rows=2 loops=1)
Path: one-shot
Why not a view: it reads a catalog relation

SELECT number FROM dogwood.audit ORDER BY number DESC LIMIT 2 OFFSET 1
----
3
2

SELECT number FROM dogwood.receipts WHERE number > 1 AND number <= 3 ORDER BY number
----
2
3

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT number, operation FROM dogwood.audit WHERE 4 <= number
----
Finish output (number, operation) (actual rows=1 loops=1)
  Range dogwood.audit using primary key (number >= …) where (…) keep (number, operation) (actual rows=1 loops=1)
Path: one-shot
Why not a view: it reads a catalog relation

SELECT number FROM dogwood.audit WHERE number = 2
----
2

SELECT number FROM dogwood.audit WHERE number < 1 OR number > 3
----
4

SELECT number FROM dogwood.audit WHERE number < -1

SELECT count(*) FROM dogwood.audit WHERE number > NULL
----
0

SELECT a.number FROM dogwood.audit a JOIN dogwood.receipts r ON r.number = a.number WHERE a.number > 3
----
4

SELECT number FROM dogwood.audit ORDER BY operation, number DESC LIMIT 1
----
4

=== a UNION ALL whose branches take parameters of other types, or none
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT); CREATE TABLE u (id INT PRIMARY KEY, w TEXT, x INT);
CREATE TABLE v (id INT PRIMARY KEY, x INT);
INSERT INTO t SELECT n, n % 50, n % 6 FROM generate_series(1, 100) n;
INSERT INTO u SELECT n, 'w' || n % 10, 10 + n FROM generate_series(1, 20) n;
INSERT INTO v VALUES (1, 50), (2, 51)

PREPARE q (int, text) AS SELECT x FROM t WHERE g = $1 UNION ALL SELECT x FROM u WHERE w = $2 UNION ALL SELECT x FROM v ORDER BY x

EXECUTE q (4, 'w5')
---- five times

EXPLAIN EXECUTE q (4, 'w5')
----
Finish order by x output (x)
  Read view auto_1 by t.g = $1 and branch = 0 or u.w = $2 and branch = 1 or branch = 2
    Union to (x, t.g, u.w, branch)
      Scan t compute (t.x, t.g, NULL::text, 0)
      Scan u compute (u.x, NULL::integer, u.w, 1)
      Scan v compute (v.x, NULL::integer, NULL::text, 2)
Path: automatic view "auto_1" keyed by (t.g, u.w, branch)

EXECUTE q (4, 'w5')
----
0
4
15
25
50
51

EXECUTE q (NULL, 'w6')
----
16
26
50
51

INSERT INTO v VALUES (3, 52); DELETE FROM u WHERE id = 5; INSERT INTO u VALUES (30, NULL, 30)

EXECUTE q (5, 'w5')
----
1
5
25
50
51
52
