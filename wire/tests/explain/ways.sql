The way in which rows are found, where that depends on sizes and on what is in memory: foreseen, and as it was.

=== one key, narrowed by another index
CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, owner INT NOT NULL OWNED_BY people(id), place INT, at INT);
CREATE INDEX by_owner ON notes (owner); CREATE INDEX by_place ON notes (place);
INSERT INTO people SELECT n FROM generate_series(1, 20) n;
INSERT INTO notes SELECT n, 1 + n % 20, n % 25, n FROM generate_series(1, 1000) n;
INSERT INTO notes SELECT n, 1, 30, n FROM generate_series(1001, 1300) n;
INSERT INTO notes VALUES (2000, 2, 31, 0)

EXPLAIN SELECT id FROM notes WHERE owner = 3 AND place = 7
----
Finish output (id)
  Lookup notes using index by_owner (owner = 3) beside index by_place where (place = 7) keep (id) (read where indexes agree)
Path: lookup

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM notes WHERE owner = 3 AND place = 7
----
Finish output (id) (actual rows=10 loops=1)
  Lookup notes using index by_owner (owner = 3) beside index by_place where (place = 7) keep (id) (read where indexes agree) (actual rows=10 loops=1)
Path: lookup

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM notes WHERE owner = 3 AND place = 30
----
Finish output (id) (actual rows=0 loops=1)
  Lookup notes using index by_owner (owner = 3) beside index by_place where (place = 30) keep (id) (read key by key) (actual rows=0 loops=1)
Path: lookup

PREPARE p (INT, INT) AS SELECT id FROM notes WHERE owner = $1 AND place = $2

EXPLAIN EXECUTE p (3, 7)
----
Finish output (id)
  Lookup notes using index by_owner (owner = $1) beside index by_place where (place = $2) keep (id) (read where indexes agree)
Path: lookup

EXPLAIN EXECUTE p (3, NULL)
----
Finish output (id)
  Lookup notes … (read key by key)
Path: lookup

BEGIN; INSERT INTO notes VALUES (3000, 3, 7, 0)

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM notes WHERE owner = 3 AND place = 7
----
Finish output (id) (actual rows=11 loops=1)
  Lookup notes … (read key by key) (actual rows=11 loops=1)
Path: lookup

ROLLBACK

EXPLAIN (FORMAT JSON) SELECT id FROM notes WHERE owner = 3 AND place = 7
----
[
  {
    "Plan": {
      "Node Type": "Lookup",
      "Relation Name": "notes",
      "Alias": "notes",
      "Description": "Lookup notes using index by_owner (owner = 3) beside index by_place where (place = 7) keep (id)",
      "Read": "where indexes agree",
      "Output": [
        "id"
      ]
    },
    "Path": "lookup"
  }
]

=== many keys that have a value in common
CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY);
CREATE TABLE votes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), story INT);
CREATE INDEX by_person ON votes (person); CREATE INDEX by_both ON votes (person, story);
INSERT INTO people SELECT n FROM generate_series(1, 2) n;
INSERT INTO votes SELECT n, 1, n FROM generate_series(1, 4) n;
INSERT INTO votes SELECT n, 2, n FROM generate_series(5, 9) n

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM votes WHERE person = 1 AND story IN (1, 2, 3, 40, 41, 42, 43, 44)
----
Finish output (id) (actual rows=3 loops=1)
  Lookup votes using index by_both (…) or using index by_person keep (id) (read by the value in common) (actual rows=3 loops=1)
Path: lookup

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM votes WHERE person = 2 AND story IN (5, 6, 7, 40, 41, 42, 43, 44)
----
Finish output (id) (actual rows=3 loops=1)
  Lookup votes using index by_both (…) or using index by_person keep (id) (read key by key) (actual rows=3 loops=1)
Path: lookup

EXPLAIN SELECT id FROM votes WHERE person = 1 AND story IN (1, 2, 3)
----
Finish output (id)
  Lookup votes using index by_both (…) keep (id)
Path: lookup

=== an order in memory
CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY);
CREATE TABLE notes (id INT PRIMARY KEY, owner INT NOT NULL OWNED_BY people(id), at INT, x INT);
CREATE INDEX by_time ON notes (at);
INSERT INTO people VALUES (1); INSERT INTO notes SELECT n, 1, n, n % 500 FROM generate_series(1, 1000) n

EXPLAIN SELECT id FROM notes WHERE at > 900
----
Finish output (id)
  OrderedScan notes using index by_time (at > 900) where (at > 900) keep (id) (read all rows)
Path: one-shot
Why not a view: …
Ordered index: "by_time" not in memory, so that all rows are read: not yet executed 5 times within a minute: 0 of 5

SELECT count(*) FROM notes WHERE at > 990
---- five times

eventually EXPLAIN SELECT id FROM notes WHERE at > 900
----
Finish output (id)
  OrderedScan notes using index by_time (at > 900) where (at > 900) keep (id) (read in order)
Path: one-shot
Why not a view: …
Ordered index: "by_time" in memory

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM notes WHERE at > 750
----
Finish output (id) (actual rows=250 loops=1)
  OrderedScan notes … (read in order) (actual rows=250 loops=1)
Path: one-shot
Why not a view: …
Ordered index: "by_time" in memory

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM notes WHERE at > 749
----
Finish output (id) (actual rows=251 loops=1)
  OrderedScan notes … (read all rows) (actual rows=251 loops=1)
Path: one-shot
Why not a view: …
Ordered index: "by_time" in memory

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM notes ORDER BY at LIMIT 3
----
Finish order by at, then id limit 3 output (id) (actual rows=3 loops=1)
  OrderedScan notes … (read in order) (actual rows=3 loops=1)
Path: one-shot
Why not a view: …
Ordered index: "by_time" in memory

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM notes WHERE x = 400 ORDER BY at LIMIT 3
----
Finish order by at, then id limit 3 output (id) (actual rows=2 loops=1)
  OrderedScan notes … (read in order, then all rows) (actual rows=2 loops=1)
Path: one-shot
Why not a view: …
Ordered index: "by_time" in memory

SET dogwood.auto_views = off

EXPLAIN SELECT id FROM notes ORDER BY at LIMIT 3
----
Finish …
  OrderedScan notes … (read all rows)
Path: one-shot
Why not a view: …
Ordered index: "by_time" not in memory, so that all rows are read: dogwood.auto_views is off

=== a list that is too long for a plan
CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t SELECT n FROM generate_series(1, 100) n;
CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u SELECT n FROM generate_series(1, 33000) n

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM t WHERE id = ANY (string_to_array(repeat('7,', 65600) || '7', ',')::int[])
----
Finish output (id) (actual rows=1 loops=1)
  Scan t or 65601 keys using primary key where (…) (read all rows) (actual rows=1 loops=1)
Path: one-shot
Why not a view: …

EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT id FROM u WHERE id = ANY (string_to_array(repeat('7,', 65600) || '7', ',')::int[])
----
Finish output (id) (actual rows=1 loops=1)
  Scan u or 65601 keys using primary key where (…) (read all rows, then key by key) (actual rows=1 loops=1)
Path: one-shot
Why not a view: …
