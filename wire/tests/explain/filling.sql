Who creates a materialized view waits until it is filled, or says that it will not.

=== WITH DATA waits
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 20000) n

CREATE MATERIALIZED VIEW v AS SELECT g, sum(x) AS s FROM t GROUP BY g

SELECT stage FROM dogwood.views
----
ready

CREATE MATERIALIZED VIEW w AS SELECT g, s FROM v WHERE s > 0 WITH DATA

SELECT name, stage FROM dogwood.views ORDER BY name
----
v | ready
w | ready

BEGIN; CREATE MATERIALIZED VIEW x AS SELECT x % 100 AS h, count(*) AS n FROM t GROUP BY 1; SELECT count(*) FROM x; COMMIT

SELECT stage FROM dogwood.views WHERE name = 'x'
----
ready

BEGIN; CREATE MATERIALIZED VIEW y AS SELECT count(*) FROM t; ROLLBACK

SELECT count(*) FROM dogwood.views
----
3

REFRESH MATERIALIZED VIEW x

REFRESH MATERIALIZED VIEW t
----
error 0A000 "t" is not a materialized view

=== WITH NO DATA, a timeout and a cancel do not
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
CREATE TABLE u (n INT PRIMARY KEY);
INSERT INTO u SELECT n FROM generate_series(1, 30) n;
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 60000) n

CREATE MATERIALIZED VIEW v AS SELECT g, sum(x) AS s FROM t, u GROUP BY g WITH NO DATA

SELECT stage IN ('waiting', 'hydrating') FROM dogwood.views
----
t

SELECT s FROM v WHERE g = 3
----
5399640000

SET statement_timeout = '100ms'

CREATE MATERIALIZED VIEW w AS SELECT g, sum(x % (u.n + 1)) AS n FROM t, u GROUP BY g
----
WARNING 57014 stopped waiting for materialized view "w" to be filled; The view was created, and is being filled in the background; until then it is computed.; dogwood.views shows how far it is.

RESET statement_timeout

REFRESH MATERIALIZED VIEW v;
REFRESH MATERIALIZED VIEW w

SELECT name, stage FROM dogwood.views ORDER BY name
----
v | ready
w | ready

=== nobody is kept from writing meanwhile
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT);
INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 20000) n

CREATE MATERIALIZED VIEW v AS SELECT g, count(*) AS n FROM t GROUP BY g WITH NO DATA

INSERT INTO t VALUES (0, 3, 0)

REFRESH MATERIALIZED VIEW v

SELECT n FROM v WHERE g = 3
----
2001

=== over a view of which a row fails it says so, and follows once the row is gone
CREATE TABLE b (id INT PRIMARY KEY, g INT);
INSERT INTO b VALUES (1, 0)

CREATE MATERIALIZED VIEW f AS SELECT id, 1 / g AS x FROM b

CREATE MATERIALIZED VIEW ff AS SELECT count(*) AS n FROM f
----
WARNING 22012 materialized view "ff" could not be filled: division by zero; The view was created; whoever reads it computes it.

DELETE FROM b

REFRESH MATERIALIZED VIEW ff

SELECT stage FROM dogwood.views WHERE name = 'ff'
----
ready
