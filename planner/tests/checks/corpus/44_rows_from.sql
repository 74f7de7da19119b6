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
