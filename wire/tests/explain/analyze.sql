What EXPLAIN ANALYZE says of statements that it runs.

=== chains: rows and calls of each operator
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n

EXPLAIN ANALYZE SELECT * FROM t WHERE id = 3
----
Finish output (id, g, x) (actual time=#..# rows=1 loops=1)
  Lookup t using primary key (id = 3) (actual time=#..# rows=1 loops=1)
Path: lookup
Planning Time: # ms
Execution Time: # ms

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT g, count(*) FROM t WHERE x > 500 GROUP BY g ORDER BY g LIMIT 3
----
Finish order by g limit 3 output (g, count(*)) (actual rows=3 loops=1)
  Reduce by (g) to (count(*)) (actual rows=10 loops=1)
    Scan t where … (actual rows=500 loops=1)
Path: one-shot
Why not a view: …

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT a.id FROM t a JOIN t b ON b.id = a.x + 1 WHERE a.g = 3 LIMIT 2
----
Finish limit 2 output (a.id) (actual rows=2 loops=1)
  LookupJoin Inner t … (actual rows=2 loops=1)
    Scan t … (actual rows=4 loops=1)
Path: one-shot
Why not a view: …

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT * FROM t WHERE false
----
Finish …
  Constant (0 rows of 3 columns) (actual rows=0 loops=1)
Path: …
Why not a view: it reads no table

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT 1 / (id - 3) FROM t
----
error 22012 division by zero

=== groups, bags and recursions: rows between operators
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id, rank() OVER (PARTITION BY g ORDER BY x) FROM t WHERE x <= 30
----
Finish … (actual rows=30 loops=1)
  … (actual rows=30 loops=1)
    Window … (actual rows=30 loops=1)
      Scan t … (actual rows=30 loops=1)
Path: one-shot
Why not a view: …

EXPLAIN ANALYZE SELECT g FROM t WHERE x < 100 EXCEPT ALL SELECT g FROM t WHERE x < 50
----
Finish output (t.g) (actual time=#..# rows=50 loops=1)
  Threshold (actual time=#..# rows=50 loops=1)
    Union (actual time=#..# rows=148 loops=1)
      Scan t … (actual time=#..# rows=99 loops=1)
      Negate (actual time=#..# rows=49 loops=1)
        Scan t … (actual time=#..# rows=49 loops=1)
Path: one-shot
Why not a view: …
Planning Time: # ms
Execution Time: # ms

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) WITH RECURSIVE r(n) AS (VALUES (1) UNION SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r
----
Finish output (r.n) (actual rows=5 loops=1)
  LetRec l0 union (actual rows=5 loops=1)
    … (actual rows=1 loops=1)
    … (actual rows=4 loops=5)
      Read l0 …
    Read l0 …
Path: one-shot
Why not a view: it reads no table

=== views: keys, batches and updates
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n

PREPARE p(INT) AS SELECT x FROM t WHERE g = $1 ORDER BY x LIMIT 3

EXECUTE p(3)
---- five times

EXPLAIN ANALYZE EXECUTE p(4)
----
Finish order by x limit 3 output (x) (actual time=# rows=3 loops=1)
  Read view auto_1 by g = $1 (actual time=# rows=3 loops=1) (held keys=1 batches=# updates=#)
    Scan t keep (x, g)
Path: automatic view "auto_1" keyed by (g), first 16 rows or more of each key
Planning Time: # ms
Execution Time: # ms

PREPARE c(INT) AS SELECT count(*) FROM t WHERE g = $1

EXECUTE c(3)
---- five times

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) EXECUTE c(77)
----
Finish output (count(*)) (actual rows=1 loops=1)
  Read view auto_2 by g = $1 (actual rows=1 loops=1) (held keys=1 batches=# updates=#)
    Each row keep (count(*), g)
      Reduce by (g) to (count(*)) (held updates=# bytes=#)
        Scan t keep (g)
Path: automatic view "auto_2" keyed by (g)

EXECUTE c(77)
----
0

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) EXECUTE c(3)
----
Finish output (count(*)) (actual rows=1 loops=1)
  Read view auto_2 by g = $1 (actual rows=1 loops=1) (held keys=1 batches=# updates=#)
    Each row keep (count(*), g)
      Reduce by (g) to (count(*)) (held updates=# bytes=#)
        Scan t keep (g)
Path: automatic view "auto_2" keyed by (g)

PREPARE h(INT) AS SELECT count(*) FROM t WHERE g = $1 HAVING count(*) > 0

EXECUTE h(3)
---- five times

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) EXECUTE h(77)
----
Finish output (count(*)) (actual rows=0 loops=1)
  Each row where (count(*) > 0) (actual rows=0 loops=1)
    Reduce by () to (count(*)) (actual rows=1 loops=1)
      Scan t where (g = $1) keep () (actual rows=0 loops=1)
Path: one-shot
Why not a view: it has no row for this key, and what no row gives is computed

CREATE MATERIALIZED VIEW v AS SELECT g, sum(x) AS s FROM t GROUP BY g

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT s FROM v WHERE g = 3
----
Finish output (s) (actual rows=1 loops=1)
  Lookup v using index … (g = 3) keep (s) (actual rows=1 loops=1) (held batches=# updates=#)
Path: maintained view "v"

=== writes write
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) UPDATE t SET x = 0 WHERE g = 3 RETURNING id
----
Update t (actual rows=100 loops=1)
  Finish …
    Scan t … (actual rows=100 loops=1)
Path: one-shot
Why not a view: it writes

SELECT count(*) FROM t WHERE x = 0
----
100

BEGIN; EXPLAIN (ANALYZE) DELETE FROM t; ROLLBACK

SELECT count(*) FROM t
----
1000

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) INSERT INTO t VALUES (1001, 1, 1), (1002, 1, 1)
----
Insert into t (actual rows=2 loops=1)
  Finish …
    … (actual rows=2 loops=1)
…
Why not a view: it reads no table

EXPLAIN ANALYZE INSERT INTO t VALUES (1, 1, 1)
----
error 23505 …

BEGIN READ ONLY

EXPLAIN ANALYZE DELETE FROM t
----
error 25006 cannot execute DELETE in a read-only transaction

ROLLBACK

=== what cannot be run for its plan
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT)

EXPLAIN ANALYZE CREATE TABLE u AS SELECT * FROM t
----
error 0A000 EXPLAIN ANALYZE of this statement is not supported; use EXPLAIN without ANALYZE

EXPLAIN (LOWERED, ANALYZE) SELECT * FROM t
----
error 0A000 …

EXPLAIN (ANALYZE, FORMAT JSON, TIMING off, SUMMARY off) SELECT id FROM t WHERE id = 1 FOR UPDATE
----
[
  {
    "Plan": {
      "Node Type": "Finish",
      "Description": "Finish output (id)",
      "Actual Rows": 0,
      "Actual Loops": 1,
      "Plans": [
        {
          "Node Type": "Lock",
          "Description": "Lock t for update by ctid"
        },
        {
          "Node Type": "Lookup",
          "Relation Name": "t",
          "Alias": "t",
          "Description": "Lookup t using primary key (id = 1) with row key keep (id, ctid)",
          "Actual Rows": 0,
          "Actual Loops": 1
        }
      ]
    },
    "Path": "lookup"
  }
]
