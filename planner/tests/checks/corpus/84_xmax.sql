-- xmax of what INSERT returns: 0 of a new row, the transaction's number of one that was there and was changed.
CREATE TABLE x_a (id int PRIMARY KEY, v text, n int DEFAULT 0);
CREATE TABLE x_log (id int, was xid, inserted bool);
CREATE TABLE x_told (told text);

INSERT INTO x_a VALUES (1, 'one') RETURNING xmax;
INSERT INTO x_a VALUES (2, 'two'), (3, 'three') RETURNING id, xmax, xmax = 0 AS inserted;
INSERT INTO x_a SELECT g, 'row ' || g FROM generate_series(4, 6) g RETURNING id, xmax = 0;
INSERT INTO x_a DEFAULT VALUES RETURNING xmax;
INSERT INTO x_a VALUES (1, 'again') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING id, v, xmax = 0 AS inserted, xmax <> 0 AS updated, (xmax != 0) AS skipped;
INSERT INTO x_a VALUES (7, 'seven') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING id, v, xmax, xmax = 0 AS inserted, xmax <> 0 AS updated, (xmax != 0) AS skipped;
INSERT INTO x_a VALUES (1, 'a'), (8, 'b'), (2, 'c'), (9, 'd') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING id, v, xmax = 0 AS inserted;
INSERT INTO x_a VALUES (1, 'a'), (10, 'b') ON CONFLICT (id) DO NOTHING RETURNING id, xmax;
INSERT INTO x_a VALUES (1, 'a'), (11, 'b') ON CONFLICT DO NOTHING RETURNING id, xmax = 0;
INSERT INTO x_a VALUES (1, 'not'), (12, 'b') ON CONFLICT (id) DO UPDATE SET v = excluded.v WHERE x_a.id > 5 RETURNING id, xmax = 0;

-- By the names that it has.
INSERT INTO x_a VALUES (1, 'a'), (13, 'b') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING x_a.id, x_a.xmax = 0;
INSERT INTO x_a AS t VALUES (1, 'a'), (14, 'b') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING t.id, t.xmax = 0, xmax = '0';
INSERT INTO x_a AS t VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING x_a.xmax;
INSERT INTO x_a VALUES (1, 'a'), (15, 'b') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING "xmax" = 0, x_a."xmax" = 0, XMAX = 0, public.x_a.xmax = 0;
INSERT INTO x_a VALUES (16, 'b') RETURNING "XMAX";
INSERT INTO x_a VALUES (16, 'b') RETURNING xmax AS "max", xmax;
INSERT INTO x_a VALUES (17, 'b') RETURNING *;
INSERT INTO x_a VALUES (18, 'b') RETURNING x_a;
INSERT INTO x_a VALUES (18, 'b') ON CONFLICT (id) DO UPDATE SET n = x_a.n + 1 RETURNING *, (xmax != 0) AS skipped;
INSERT INTO x_a VALUES (19, 'b') ON CONFLICT (id) DO UPDATE SET n = x_a.n + 1 RETURNING x_a.*, (xmax != 0) AS skipped;

-- As an xid is compared and cast.
INSERT INTO x_a VALUES (1, 'a'), (20, 'b') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING id, xmax::text = '0', xmax::text <> '0', xmax::text::bigint = 0, xmax::text::int > 0, xmax = '0'::xid;
INSERT INTO x_a VALUES (1, 'a'), (21, 'b') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING id, CASE WHEN xmax = 0 THEN 'inserted' ELSE 'updated' END AS what;
INSERT INTO x_a VALUES (1, 'a'), (22, 'b') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING id, coalesce(nullif(xmax::text, '0'), 'new') = 'new', xmax IS NULL, xmax IS NOT NULL, NOT (xmax = 0);
INSERT INTO x_a VALUES (1, 'a'), (23, 'b') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING id, xmax IN ('0', '1'), xmax = ANY ('{0}'), pg_typeof(xmax), xmax = xmax, xmax IS DISTINCT FROM 0::text::xid;
INSERT INTO x_a VALUES (1, 'a'), (50, 'b') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING id, xmax IN (0, 1), xmax NOT IN (0, 1), xmax IN (0), xmax IS DISTINCT FROM 0, xmax IS NOT DISTINCT FROM 0, nullif(xmax, 0) IS NULL, CASE xmax WHEN 0 THEN 'new' ELSE 'old' END;
INSERT INTO x_a VALUES (1, 'a'), (51, 'b') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING id, xmax = ANY (ARRAY[0, 1]), xmax <> ALL (ARRAY[0, 1]), xmax = n, (xmax = 0) IS TRUE, xmax = NULL;
INSERT INTO x_a VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING 0 = xmax;
INSERT INTO x_a VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING xmax = 0::smallint;
SELECT x, x = 0, x <> 0, x = -1, x <> -1, x = -2, x = 2147483647, x IS DISTINCT FROM -1 FROM (VALUES ('0'::xid), ('1'), ('4294967295'), ('2147483648'), ('4294967294'), (NULL)) v (x) ORDER BY x::text;
SELECT xideqint4('5', 5), xidneqint4('5', 5), xideq('5', '5');
SELECT '1'::xid < '2'::xid;
SELECT x FROM (VALUES ('0'::xid), ('1')) v (x) ORDER BY x;
SELECT x, count(*) FROM (VALUES ('0'::xid), ('1'), ('0')) v (x) GROUP BY x ORDER BY x::text;
INSERT INTO x_a VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING xmax > 0;
INSERT INTO x_a VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING xmax::bigint;
INSERT INTO x_a VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING xmax::int;
INSERT INTO x_a VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING xmax = 0::bigint;
INSERT INTO x_a VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING xmax + 1;
INSERT INTO x_a VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING count(xmax);
INSERT INTO x_a VALUES (24, 'a') RETURNING row(xmax, id), array[xmax], to_json(xmax);

-- The number is the transaction's.
INSERT INTO x_a VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING xmax = pg_current_xact_id()::xid, xmax::text::bigint = txid_current();
BEGIN;
INSERT INTO x_a VALUES (25, 'a') RETURNING xmax = 0;
INSERT INTO x_a VALUES (25, 'a') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING xmax = 0, xmax = pg_current_xact_id()::xid;
INSERT INTO x_a VALUES (25, 'a') ON CONFLICT (id) DO UPDATE SET v = 'd' RETURNING xmax = 0, xmax = pg_current_xact_id()::xid;
DELETE FROM x_a WHERE id = 25;
INSERT INTO x_a VALUES (25, 'a') ON CONFLICT (id) DO UPDATE SET v = 'd' RETURNING v, xmax = 0;
ROLLBACK;
INSERT INTO x_a VALUES (25, 'a') ON CONFLICT (id) DO UPDATE SET v = 'd' RETURNING v, xmax = 0;

-- In WITH, beside subqueries, and of a plan that is kept.
WITH u AS (INSERT INTO x_a VALUES (1, 'a'), (26, 'b') ON CONFLICT (id) DO UPDATE SET v = 'w' RETURNING id, xmax) SELECT id, xmax = 0 AS inserted, xmax::text <> '0' FROM u ORDER BY id;
WITH u AS (INSERT INTO x_a VALUES (2, 'a'), (27, 'b') ON CONFLICT (id) DO UPDATE SET v = 'w' RETURNING (xmax = 0) AS inserted) SELECT count(*) FILTER (WHERE inserted) AS inserted, count(*) FILTER (WHERE NOT inserted) AS updated FROM u;
WITH u AS (INSERT INTO x_a VALUES (3, 'a'), (28, 'b') ON CONFLICT (id) DO UPDATE SET v = 'w' RETURNING id, xmax) INSERT INTO x_log SELECT id, CASE WHEN xmax = 0 THEN xmax END, xmax = 0 FROM u RETURNING id, was, inserted, xmax;
WITH given AS (SELECT 4 AS id UNION SELECT 29) INSERT INTO x_a SELECT id, 'g' FROM given ON CONFLICT (id) DO UPDATE SET v = 'w' RETURNING id, xmax = 0;
INSERT INTO x_a VALUES (1, 'a'), (30, 'b') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING id, (SELECT xmax = 0), (SELECT count(*) FROM x_log) AS logged;
INSERT INTO x_a VALUES (1, 'a'), (31, 'b') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING id, (SELECT count(*) FROM x_log l WHERE x_a.xmax = 0 AND l.id > 0) AS logged;
INSERT INTO x_a VALUES (1, 'a'), (32, 'b') ON CONFLICT (id) DO UPDATE SET v = 'c' RETURNING id, xmax = 0 AS inserted, EXISTS (SELECT FROM x_log l WHERE l.id = x_a.id), (SELECT string_agg(inserted::text, ',' ORDER BY id) FROM x_log);
PREPARE x_put (int, text) AS INSERT INTO x_a VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING id, v, (xmax <> 0) AS updated;
EXECUTE x_put (1, 'p');
EXECUTE x_put (33, 'p');
EXECUTE x_put (33, 'q');
EXECUTE x_put (34, 'q');

-- Conflicts by other indexes, of tables without a key, of temporary ones.
CREATE TABLE x_b (k text, part int, n int, UNIQUE (k, part));
CREATE UNIQUE INDEX ON x_b (lower(k)) WHERE n > 5;
INSERT INTO x_b VALUES ('a', 1, 1), ('a', 2, 1) ON CONFLICT (k, part) DO UPDATE SET n = x_b.n + 1 RETURNING k, part, n, xmax = 0;
INSERT INTO x_b VALUES ('a', 1, 1), ('a', 3, 1) ON CONFLICT (k, part) DO UPDATE SET n = x_b.n + 1 RETURNING k, part, n, xmax = 0;
INSERT INTO x_b VALUES ('B', 1, 6) ON CONFLICT (lower(k)) WHERE n > 5 DO UPDATE SET n = x_b.n + 1 RETURNING k, n, xmax = 0;
INSERT INTO x_b VALUES ('b', 2, 7) ON CONFLICT (lower(k)) WHERE n > 5 DO UPDATE SET n = x_b.n + 1, k = excluded.k RETURNING k, n, xmax = 0;
INSERT INTO x_b VALUES ('a', 1, 1) ON CONFLICT ON CONSTRAINT x_b_k_part_key DO UPDATE SET part = 9 RETURNING k, part, xmax = 0;
CREATE TEMPORARY TABLE x_t (id int PRIMARY KEY, v text);
INSERT INTO x_t VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'b' RETURNING v, xmax = 0;
INSERT INTO x_t VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET v = 'b' RETURNING v, xmax = 0;

-- Of views there is none, nor in EXCLUDED.
CREATE VIEW x_v AS SELECT id, v FROM x_a;
INSERT INTO x_v VALUES (35, 'v') RETURNING id;
INSERT INTO x_v VALUES (36, 'v') RETURNING xmax;
INSERT INTO x_v VALUES (36, 'v') RETURNING x_v.xmax;
SELECT xmax FROM x_v;
INSERT INTO x_a VALUES (37, 'v') RETURNING nothing.xmax;
INSERT INTO x_a VALUES (37, 'v') RETURNING excluded.xmax;
SELECT xmax FROM (SELECT 1 AS one) s;
SELECT xmax FROM (VALUES (1)) s (xmax);
WITH s AS (SELECT 1 AS xmax) SELECT xmax, s.xmax FROM s;
SELECT xmax FROM x_a, x_b;
ALTER TABLE x_a ADD xmax int;
CREATE TABLE x_c (xmax int);

-- In functions.
CREATE FUNCTION x_upsert(i int, t text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE fresh bool; BEGIN INSERT INTO x_a VALUES (i, t) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING (xmax = 0) INTO fresh; RETURN CASE WHEN fresh THEN 'inserted' ELSE 'updated' END; END $$;
INSERT INTO x_told SELECT x_upsert(40, 'f') RETURNING told;
INSERT INTO x_told SELECT x_upsert(40, 'f') RETURNING told;
CREATE FUNCTION x_sql(i int) RETURNS bool LANGUAGE sql AS $$ INSERT INTO x_a VALUES (i, 'sql') ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING xmax = 0 $$;
INSERT INTO x_told SELECT x_sql(41) RETURNING told;
INSERT INTO x_told SELECT x_sql(41) RETURNING told;
SELECT id, v, n FROM x_a WHERE id < 60 ORDER BY id;

-- It is granted with the table.
CREATE ROLE x_all;
CREATE ROLE x_some;
GRANT SELECT, INSERT, UPDATE ON x_a TO x_all;
GRANT SELECT (id), INSERT, UPDATE ON x_a TO x_some;
SET ROLE x_all;
INSERT INTO x_a VALUES (1, 'r') ON CONFLICT (id) DO UPDATE SET v = 'r' RETURNING id, xmax = 0;
SET ROLE x_some;
INSERT INTO x_a VALUES (1, 'r') ON CONFLICT (id) DO UPDATE SET v = 'r' RETURNING id;
INSERT INTO x_a VALUES (1, 'r') ON CONFLICT (id) DO UPDATE SET v = 'r' RETURNING id, xmax = 0;
INSERT INTO x_a VALUES (1, 'r') ON CONFLICT (id) DO UPDATE SET v = 'r' RETURNING xmax = 0;
RESET ROLE;
REVOKE ALL ON x_a FROM x_all, x_some;
DROP ROLE x_all;
DROP ROLE x_some;
