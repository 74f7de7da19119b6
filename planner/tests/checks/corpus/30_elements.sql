-- Assignment to a part of a column: array elements, slices, and paths of jsonb.
CREATE TABLE el (id int PRIMARY KEY, a int[], b text[], m int[], v varchar(3)[], n numeric(5,2)[], j jsonb, x int DEFAULT 7, g int[] GENERATED ALWAYS AS (ARRAY[1]) STORED);
INSERT INTO el (id, m) VALUES (1, '{{1,2},{3,4}}'), (2, '[0:1][5:6]={{1,2},{3,4}}'), (3, NULL);

-- Elements: a NULL array becomes one, growth at both ends, lower bounds kept.
UPDATE el SET a[3] = 7 WHERE id = 1 RETURNING a, array_dims(a);
UPDATE el SET a[1] = 1, a[0] = 2, a[5] = 3 WHERE id = 1 RETURNING a;
UPDATE el SET a[-3] = id, a[2] = a[3] + 1, b[2] = 'x' WHERE id = 1 RETURNING a, b;
UPDATE el SET a[1] = NULL WHERE id = 3 RETURNING a, array_dims(a);
UPDATE el SET a[2][3] = 5 WHERE id = 2 RETURNING a, array_dims(a);
UPDATE el SET a[2][3] = 6 WHERE id = 2 RETURNING a;
UPDATE el SET a[2] = 6 WHERE id = 2;
UPDATE el SET a[2][4] = 6 WHERE id = 2;
UPDATE el SET m[1][2] = 9 WHERE id = 1 RETURNING m;
UPDATE el SET m[0][6] = 9 WHERE id = 2 RETURNING m, array_dims(m);
UPDATE el SET m[1][1] = 9 WHERE id = 2;
UPDATE el SET m[1][1][1][1][1][1] = 9 WHERE id = 3 RETURNING m;
UPDATE el SET m[1][1][1][1][1][1][1] = 9 WHERE id = 3;
UPDATE el SET a = '{}', b = '{}' WHERE id = 3;
UPDATE el SET a[4] = 1, b[-2] = 'q' WHERE id = 3 RETURNING a, b;
UPDATE el SET a[2147483647] = 1 WHERE id = 3;
UPDATE el SET a[2000000000] = 1 WHERE id = 3;
UPDATE el SET a[-2147483648] = 1 WHERE id = 3;
UPDATE el SET a = NULL WHERE id = 3;
UPDATE el SET a[2147483647] = 1 WHERE id = 3;
UPDATE el SET a[NULL] = 1 WHERE id = 3;
UPDATE el SET a['2'] = 1 WHERE id = 3 RETURNING a;
UPDATE el SET a['q'] = 1 WHERE id = 3;
UPDATE el SET a[2.6] = 1 WHERE id = 3 RETURNING a;
UPDATE el SET a[true] = 1 WHERE id = 3;
UPDATE el SET a[x - 5] = x, a[(SELECT 3)] = (SELECT max(id) FROM el) WHERE id = 3 RETURNING a;
UPDATE el SET v[1] = 'abc', v[2] = 'abcdef' WHERE id = 3;
UPDATE el SET v[1] = 'abc', n[2] = 1.239 WHERE id = 3 RETURNING v, n;
UPDATE el SET n[1] = 12345 WHERE id = 3;

-- Slices: as many values as places, extras left out, NULL changes nothing.
UPDATE el SET a[2:3] = ARRAY[8, 9] WHERE id = 1 RETURNING a;
UPDATE el SET a[6:8] = ARRAY[1, 2, 3, 4] WHERE id = 1 RETURNING a;
UPDATE el SET a[10:11] = ARRAY[1, 2] WHERE id = 1 RETURNING a;
UPDATE el SET a[-7:-6] = ARRAY[1, 2] WHERE id = 1 RETURNING a, array_dims(a);
UPDATE el SET a[2:4] = ARRAY[1, 2] WHERE id = 1;
UPDATE el SET a[4:2] = ARRAY[1, 2] WHERE id = 1;
UPDATE el SET a[:-6] = ARRAY[5, 6, 7] WHERE id = 1 RETURNING a;
UPDATE el SET a[10:] = ARRAY[5, 6, 7] WHERE id = 1 RETURNING a;
UPDATE el SET a[:] = ARRAY[5, 6, 7] WHERE id = 1;
UPDATE el SET a[:] = (SELECT array_agg(i) FROM generate_series(1, 30) i) WHERE id = 1 RETURNING a;
UPDATE el SET a[2:3] = NULL WHERE id = 1 RETURNING a;
UPDATE el SET a[1:NULL] = ARRAY[1] WHERE id = 1;
UPDATE el SET a = NULL;
UPDATE el SET a[2:3] = NULL RETURNING a;
UPDATE el SET a[2:3] = '{4,5,6}' RETURNING a, array_dims(a);
UPDATE el SET a = NULL;
UPDATE el SET a[2:3] = '{4}';
UPDATE el SET a[2:] = '{4}';
UPDATE el SET a[3:2] = '{4}' RETURNING a;
UPDATE el SET a[1:2][1:2] = '{1,2,3,4}' RETURNING a;
UPDATE el SET a[1:1][2:2] = '{{7}}' WHERE id = 1 RETURNING a;
UPDATE el SET a[2] = '{8,9}' WHERE id = 1;
UPDATE el SET a[2:2] = '{8,9}' WHERE id = 1 RETURNING a;
UPDATE el SET a[2][1:2] = '{1,2,3,4}' WHERE id = 1 RETURNING a;
UPDATE el SET a[2:3] = '{8,9}' WHERE id = 1;
UPDATE el SET a[1:2][1:2][1:1] = '{8,9}' WHERE id = 1;
UPDATE el SET m[:0][:5] = '{8}' WHERE id = 2 RETURNING m;

-- jsonb: paths are made, gaps filled with nulls.
UPDATE el SET j['k'] = to_jsonb(1), j['l'][0]['z'] = '"q"' WHERE id = 1 RETURNING j;
UPDATE el SET j['k'] = '[]', j['k'][2] = 'true', j['k'][-1] = '{}' WHERE id = 1 RETURNING j;
UPDATE el SET j['k'][-4] = '1' WHERE id = 1;
UPDATE el SET j['k']['x'] = '1' WHERE id = 1;
UPDATE el SET j['l'][0]['z']['y'] = '1' WHERE id = 1;
UPDATE el SET j[2] = '5' WHERE id = 2 RETURNING j;
UPDATE el SET j['2'] = '5' WHERE id = 3 RETURNING j;
UPDATE el SET j['a']['1'][2]['b'] = '5', j[1] = '"one"' WHERE id = 3 RETURNING j;
UPDATE el SET j['a']['1'][2] = NULL WHERE id = 3 RETURNING j;
UPDATE el SET j = '5' WHERE id = 3;
UPDATE el SET j['a'] = '1' WHERE id = 3;
UPDATE el SET j[0] = '1' WHERE id = 3;
UPDATE el SET j = NULL WHERE id = 3;
UPDATE el SET j['a'] = NULL WHERE id = 3 RETURNING j;
UPDATE el SET j['a'] = 'null' WHERE id = 3 RETURNING j;
UPDATE el SET j['a']['b'] = '1' WHERE id = 3;
UPDATE el SET j[NULL] = '1' WHERE id = 3;
UPDATE el SET j['a':'b'] = '1' WHERE id = 3;
UPDATE el SET j[1.5] = '1' WHERE id = 3;
UPDATE el SET j['x'] = 1 WHERE id = 3;
UPDATE el SET j['x'] = '{' WHERE id = 3;
UPDATE el SET j[b[2]] = to_jsonb(b) WHERE id = 1 RETURNING j;
UPDATE el SET j['n'] = j['k'], j['k'] = j['n'] WHERE id = 1 RETURNING j;

-- What is assigned, and to what.
UPDATE el SET a[1] = 'x'::text;
UPDATE el SET a[1] = true;
UPDATE el SET a[1:2] = 5;
UPDATE el SET id[1] = 5;
UPDATE el SET a = '{1}', a[1] = 3;
UPDATE el SET a[1] = 3, a = '{1}';
UPDATE el SET a[1] = DEFAULT;
UPDATE el SET g[1] = 1;
UPDATE el SET el.a[1] = 2;
UPDATE el SET a[1].x = 2;
UPDATE el SET a.x[1] = 2;
UPDATE el SET a.x = 2;
UPDATE el SET nope[1] = 2;
UPDATE el SET a[nope] = 2;
UPDATE el SET a[generate_series(1, 2)] = 2;
UPDATE el SET a[sum(1)] = 2;
UPDATE el SET a[1 = 2;
UPDATE el SET a[] = 2;
UPDATE el SET a = NULL, b = NULL, j = NULL, m = NULL, v = NULL, n = NULL;

-- Several at once, and from rows.
UPDATE el SET (a[1], b) = (4, '{u}') WHERE id = 1 RETURNING a, b;
UPDATE el SET (a[2], a[3], j['p']) = (SELECT 5, count(*), to_jsonb(max(id)) FROM el) WHERE id = 1 RETURNING a, j;
UPDATE el SET (a[2], a[3]) = (SELECT 5) WHERE id = 1;
UPDATE el SET (a[2], a) = (1, NULL) WHERE id = 1;
UPDATE el SET (a[2], b) = (DEFAULT, NULL) WHERE id = 1;
UPDATE el SET (a[2], b) = ROW('6', NULL), a[1] = 0 WHERE id = 1 RETURNING a, b;
UPDATE el AS t SET a[s.p] = s.q FROM (VALUES (2, 20), (1, 10)) s(p, q) WHERE t.id = s.p RETURNING t.id, t.a;
UPDATE el SET a[1] = a[2], a[2] = a[1] WHERE id = 1 RETURNING a;

-- INSERT: the parts of a column that nothing else gives.
INSERT INTO el (id, a[1], a[4], j['x']) VALUES (10, 1, 2, '3') RETURNING *;
INSERT INTO el (id, a[2], j['x']['y'][1], j['x']['z']) VALUES (11, 1, 'true', NULL), (12, NULL, '[]', '{}') RETURNING *;
INSERT INTO el (id, a[1:3], x) VALUES (13, '{1,2,3}', DEFAULT), (14, '{3,4,5,6}', 2) RETURNING id, a, x;
INSERT INTO el (id, a[1:2]) SELECT 15 + i, ARRAY[i, i] FROM generate_series(0, 1) i RETURNING id, a;
INSERT INTO el (id, b[1], b[2]) SELECT 17, 'x', 'y' RETURNING b;
INSERT INTO el (id, a[1:2]) VALUES (18, NULL) RETURNING a;
INSERT INTO el (id, a[1:2]) VALUES (19, '{1}');
INSERT INTO el (id, a[:2]) VALUES (19, '{1}');
INSERT INTO el (id, a[1]) VALUES (19, DEFAULT);
INSERT INTO el (id, a[1]) VALUES (19, DEFAULT), (20, 1);
INSERT INTO el (id, a[1], a) VALUES (19, 1, NULL);
INSERT INTO el (id, a, a[1]) VALUES (19, NULL, 1);
INSERT INTO el (id, a[id]) VALUES (19, 1);
INSERT INTO el (id, a[(SELECT 2)]) VALUES (19, 1) RETURNING a;
INSERT INTO el (id, id[1]) VALUES (19, 1);
INSERT INTO el (id, a[1]) VALUES (20, 'x');
INSERT INTO el (id, a[1]) VALUES (20, 'x'::text);
INSERT INTO el (id, g[1]) VALUES (20, 1);
INSERT INTO el (id, a[1]) VALUES (20, 1, 2);
INSERT INTO el (id, a[1], a[2]) VALUES (20, 1);
INSERT INTO el (id, v[1]) VALUES (20, 'abcd');

-- ON CONFLICT and MERGE.
INSERT INTO el AS t (id, a[2]) VALUES (10, 9) ON CONFLICT (id) DO UPDATE SET a[2] = excluded.a[2], j['was'] = to_jsonb(t.a), a[5] = (SELECT 5) RETURNING a, j;
INSERT INTO el AS t (id, a[2]) VALUES (10, 9) ON CONFLICT (id) DO UPDATE SET (a[1], b[3]) = (t.a[1] + 1, 'z') WHERE t.a[2] = 9 RETURNING a, b;
MERGE INTO el USING (VALUES (10, 1), (30, 2)) s(k, w) ON id = k WHEN MATCHED THEN UPDATE SET a[7] = w, j['m'] = to_jsonb(w), a[6] = 6 WHEN NOT MATCHED THEN INSERT (id, a[1], a[3], j['new'][1]) VALUES (k, w, w, 'true');
SELECT id, a, j FROM el WHERE id IN (10, 30) ORDER BY id;
MERGE INTO el USING (VALUES (10, 1)) s(k, w) ON id = k WHEN MATCHED THEN UPDATE SET a[7] = DEFAULT;
MERGE INTO el USING (VALUES (31, 1)) s(k, w) ON id = k WHEN NOT MATCHED THEN INSERT (id, a[w]) VALUES (k, w);

-- In a WITH, prepared, and what depends on the column.
WITH u AS (UPDATE el SET a[1] = 100 WHERE id = 10 RETURNING id, a) SELECT * FROM u;
PREPARE el_set (int, int) AS UPDATE el SET a[$1] = $2, j[$1::text] = to_jsonb($2) WHERE id = 10 RETURNING a, j;
EXECUTE el_set (1, 5);
EXECUTE el_set (9, 6);
CREATE TABLE el_part (id int PRIMARY KEY, a int[] NOT NULL CHECK (a[1] > 0), s int GENERATED ALWAYS AS (a[1] + a[2]) STORED, d int[] DEFAULT '{1,2}');
INSERT INTO el_part (id, a[1]) VALUES (1, 0);
INSERT INTO el_part (id, a[1], d[3]) VALUES (1, 3, 4) RETURNING *;
UPDATE el_part SET a[2] = 4 RETURNING *;
UPDATE el_part SET a[1] = -1;
BEGIN;
UPDATE el_part SET a[1] = 50;
SAVEPOINT s;
UPDATE el_part SET a[2] = 60;
ROLLBACK TO s;
UPDATE el_part SET a[3] = 70;
COMMIT;
SELECT * FROM el_part;
DROP TABLE el_part;
DROP TABLE el;
