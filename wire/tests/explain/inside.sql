What goes on inside views, as relations.

=== operators and arrangements lead back to the plan
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT); CREATE TABLE u (id INT PRIMARY KEY, g INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) n; INSERT INTO u SELECT n, n FROM generate_series(1, 9) n

SELECT count(*) FROM dogwood.operators

CREATE MATERIALIZED VIEW v AS SELECT g, count(*) AS n, max(x) AS m FROM t GROUP BY g

SELECT renders, count(*) > 0 AS some, sum(invocations) > 0 AS ran FROM dogwood.operators WHERE view = 'v' GROUP BY renders ORDER BY min(operator)
----
the view's rows | t | t
Scan t keep (g, x) | t | t
Reduce by (g) to (count(*), max(x)) | t | t

SELECT name, renders, rows >= 10 AS rows, batches > 0 AS batches, bytes > 100 AS bytes FROM dogwood.arrangements WHERE view = 'v' ORDER BY operator
----
ReduceAccumulable | Reduce by (g) to (count(*), max(x)) | t | t | t
ReduceExtreme | Reduce by (g) to (count(*), max(x)) | t | t | t
ReduceParts | Reduce by (g) to (count(*), max(x)) | t | t | t
ArrangeView | the view's rows | t | t | t

eventually SELECT sum(a.bytes) = min(v.bytes + v.dataflow_bytes) FROM dogwood.arrangements a JOIN dogwood.views v ON v.name = a.view WHERE a.view = 'v'
----
t

INSERT INTO t SELECT n, n % 7, n FROM generate_series(2001, 2100) n

SELECT sum(invocations) > 0 FROM dogwood.operators WHERE view = 'v' AND name = 'DeltaJoin'
----
t

DROP MATERIALIZED VIEW v

SELECT count(*) FROM dogwood.operators
----
0

SELECT count(*) FROM dogwood.arrangements
----
0

=== who reads from which snapshot
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT)

@old BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t

INSERT INTO t VALUES (1, 1, 1)

INSERT INTO t VALUES (2, 1, 1)

SELECT commits_behind, age_us > 0, dogwood_time > 0, backend > 0 FROM dogwood.snapshots WHERE commits_behind > 0
----
2 | t | t | t

@old COMMIT

SELECT count(*) FROM dogwood.snapshots WHERE commits_behind > 0
----
0

=== who watches which view, and what waits for them
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT); INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)

SELECT count(*) FROM dogwood.subscriptions
----
0

@watcher BEGIN; DECLARE c CURSOR FOR SUBSCRIBE (SELECT id, x FROM t WHERE g = 1); FETCH ALL c WITH (timeout = '100ms')

INSERT INTO t VALUES (3, 1, 3), (4, 2, 4)

INSERT INTO t VALUES (5, 1, 5)

eventually SELECT id, backend > 0, view, since > 0, queued_changes, queued_bytes > 10, delivered_changes, message FROM dogwood.subscriptions
----
1 | t | auto_1 | t | 2 | t | 0 | NULL

@watcher FETCH ALL c WITH (timeout = '2s')

SELECT queued_changes, queued_bytes, delivered_changes FROM dogwood.subscriptions
----
0 | 0 | 2

SELECT v.name, v.subscriptions FROM dogwood.views v JOIN dogwood.subscriptions s ON s.relation = v.relation
----
auto_1 | 1

@watcher COMMIT

SELECT count(*) FROM dogwood.subscriptions
----
0
