-- Functions in step; and where strings end.
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(10, 11)) AS t (a, b);
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(10, 11)) WITH ORDINALITY;
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(10, 11)) WITH ORDINALITY AS t (a, b, n);
SELECT * FROM ROWS FROM (generate_series(1, 3)) AS t;
SELECT t FROM ROWS FROM (generate_series(1, 3)) AS t;
SELECT * FROM ROWS FROM (generate_series(1, 2)) WITH ORDINALITY AS t;
SELECT * FROM ROWS FROM (unnest(ARRAY['a', 'b', NULL]), unnest(ARRAY[1, 2]), abs(-7), upper('x')) WITH ORDINALITY;
SELECT * FROM ROWS FROM (unnest(ARRAY['a', 'b'], ARRAY[1, 2, 3]), generate_series(5, 5)) AS t (x, y, z);
SELECT * FROM ROWS FROM (json_to_recordset('[{"a":40,"b":"foo"},{"a":"100","b":"bar"}]') AS (a INTEGER, b TEXT), generate_series(1, 3)) AS x (p, q, s) ORDER BY p;
SELECT * FROM ROWS FROM (json_to_record('{"a":1,"b":[2]}') AS (a int, b int[]), json_each_text('{"x":"y","z":null}'), string_to_array('p,q', ',')) WITH ORDINALITY;
SELECT * FROM ROWS FROM (json_to_recordset('[{"a":40}]')) AS x (a int);
SELECT * FROM ROWS FROM (json_to_recordset('[{"a":40}]')) WITH ORDINALITY AS x (a int);
SELECT * FROM ROWS FROM (json_to_recordset('[{"a":40}]'), generate_series(1, 2)) AS x (a int, b int);
SELECT * FROM ROWS FROM (json_to_recordset('[{"a":40}]'), generate_series(1, 2));
SELECT * FROM ROWS FROM (generate_series(1, 2) AS (a int));
SELECT * FROM ROWS FROM (json_array_elements('[1,2]'), jsonb_array_elements_text('["a"]'), json_object_keys('{"k":1}')) AS t;
SELECT * FROM ROWS FROM (json_array_elements('[1,2]')) AS t;
SELECT * FROM ROWS FROM (regexp_matches('abcb', 'b', 'g'), regexp_split_to_table('a b c', ' ')) AS t;
CREATE TABLE rf (id int PRIMARY KEY, a int[], b text[]);
INSERT INTO rf VALUES (1, '{1,2,3}', '{x}'), (2, '{}', '{y,z}'), (3, NULL, NULL), (4, '{9}', NULL);
SELECT id, t.* FROM rf, ROWS FROM (unnest(a), unnest(b)) WITH ORDINALITY AS t (x, y, n) ORDER BY id, n;
SELECT id, t.* FROM rf LEFT JOIN LATERAL ROWS FROM (unnest(rf.a), generate_series(1, rf.id)) AS t (x, y) ON true ORDER BY id, y, x;
SELECT id, (SELECT count(*) FROM ROWS FROM (unnest(a), unnest(b)) AS t (x, y) WHERE x IS NULL OR y IS NULL) FROM rf ORDER BY id;
SELECT r.id, t.n FROM rf r JOIN ROWS FROM (generate_series(1, 4), generate_series(4, 1, -1)) AS t (n, m) ON r.id = t.m ORDER BY 1;
SELECT sum(a), count(b) FROM ROWS FROM (generate_series(1, 1000), generate_series(1, 10)) AS t (a, b);
CREATE VIEW rf_view AS SELECT id, t.* FROM rf, ROWS FROM (unnest(a), unnest(b) ) WITH ORDINALITY AS t (x, y, n);
SELECT * FROM rf_view ORDER BY id, n;
ALTER TABLE rf RENAME COLUMN b TO words;
SELECT * FROM rf_view ORDER BY id, n;
SELECT * FROM ROWS FROM ();
SELECT * FROM ROWS FROM (nowhere(1), abs(1));
SELECT * FROM ROWS FROM (abs('x'));
PREPARE rf_p (int) AS SELECT * FROM ROWS FROM (generate_series(1, $1), generate_series($1, 3)) AS t (a, b);
EXECUTE rf_p (2);
DEALLOCATE rf_p;
SELECT 1 AS rows, 2 AS "from";
SELECT rows FROM (SELECT 1 AS rows) t;
SELECT 2, rows FROM (VALUES (1)) t(rows);
SELECT 2 AS rows FROM (VALUES (1)) t(x);
SELECT 1 + t.rows FROM ((VALUES (1)) t(rows) CROSS JOIN (VALUES (3)) u);
SELECT g, rows FROM (generate_series(1, 2) g CROSS JOIN (VALUES (7)) t(rows));
SELECT count(*) FROM rf, ROWS FROM (pg_catalog.generate_series(1, 3)) t;
SELECT count(*) FROM (rf CROSS JOIN ROWS FROM (generate_series(1, 3)) t);
-- Strings.
SELECT 'a' 'b';
SELECT 'a'
'b';
SELECT 1 'b';
SELECT 1 AS 'b';
SELECT E'a\t'
  'b' AS x, length(E'\\'
'c');
SELECT 'a' -- one
  'b' -- two
  'c' AS x;
SELECT concat('a'
 'b', 'c') AS y;
-- What maintenance names must be there.
VACUUM rf;
VACUUM nowhere;
ANALYZE nowhere.rf;
REINDEX TABLE rf;
REINDEX TABLE nowhere;
REINDEX INDEX rf_pkey;
REINDEX (VERBOSE) INDEX rf_pkey;
CREATE INDEX IF NOT EXISTS ON rf (id);
WITH RECURSIVE t(n) AS (SELECT 1::numeric(3,0) UNION ALL SELECT (n + 1)::numeric(10,0) FROM t WHERE n < 3) SELECT * FROM t;
WITH RECURSIVE t(n) AS (SELECT 1::numeric(3,0) UNION ALL SELECT (n + 1)::numeric(3,0) FROM t WHERE n < 3) SELECT * FROM t;
CREATE VIEW rf_col AS SELECT 'x'::text AS x;
CREATE OR REPLACE VIEW rf_col AS SELECT 'x'::text COLLATE "C" AS x;
-- Arrays without ORDER BY hold a table's rows in the order of its keys.
CREATE TABLE rf_order (id int PRIMARY KEY, name text, g int);
INSERT INTO rf_order VALUES (1, 'z', 1), (2, 'a', 1), (3, 'm', 2);
SELECT array_agg(name), string_agg(name, ','), json_agg(name), jsonb_object_agg(name, g), json_object_agg(name, id) FROM rf_order;
SELECT g, array_agg(name) FROM rf_order GROUP BY g ORDER BY g;
SELECT array_agg(name) FILTER (WHERE id <> 2), array_agg(DISTINCT name), array_agg(name ORDER BY name) FROM rf_order;
SELECT ARRAY(SELECT name FROM rf_order), ARRAY(SELECT upper(name) FROM rf_order WHERE id < 3);
SELECT b.id, ARRAY(SELECT a.name FROM rf_order a WHERE a.g = b.g) FROM rf_order b ORDER BY id;
SELECT array_agg(x) FROM (SELECT name AS x FROM rf_order WHERE g = 1) s;
SELECT array_agg(x) FROM (SELECT name AS x FROM rf_order ORDER BY id DESC) s;
SELECT o.id, array_agg(i.name) FROM rf_order o JOIN rf_order i ON i.g >= o.g GROUP BY o.id ORDER BY o.id;
SELECT o.id, array_agg(i.name) FROM rf_order o LEFT JOIN rf_order i ON i.g > o.g GROUP BY o.id ORDER BY o.id;
SELECT json_agg(rf_order) FROM rf_order;
