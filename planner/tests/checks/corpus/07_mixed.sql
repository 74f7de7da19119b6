-- lengths, precisions and scales hold for COPY as for INSERT
CREATE TABLE lim(a varchar(3), b numeric(4,1), c char(2), d timestamp(0), e varchar(3)[], f time(1));
COPY lim(a) FROM STDIN;
abcd
\.
COPY lim(a) FROM STDIN;
abc   
\.
COPY lim(b) FROM STDIN;
1234.5
\.
COPY lim(b) FROM STDIN;
1.26
\.
COPY lim(b) FROM STDIN;
999.96
\.
COPY lim(c) FROM STDIN;
abc
\.
COPY lim(c) FROM STDIN;
a
\.
COPY lim(d) FROM STDIN;
2020-01-01 10:00:00.6
\.
COPY lim(e) FROM STDIN;
{abcd}
\.
COPY lim(e) FROM STDIN;
{abc,"de  "}
\.
COPY lim(f) FROM STDIN;
10:00:00.66
\.
COPY lim(a, b) FROM STDIN (FORMAT csv);
"abc ",7
\.
COPY lim(a, b) FROM STDIN (FORMAT csv);
ok,1
much too long,2
\.
SELECT * FROM lim;
SELECT octet_length(a), octet_length(c) FROM lim WHERE a IS NOT NULL OR c IS NOT NULL;
-- a cursor that stays where it is
BEGIN;
DECLARE stay CURSOR FOR SELECT g FROM generate_series(1, 2) AS g;
MOVE 0 FROM stay;
FETCH 1 FROM stay;
MOVE 0 FROM stay;
MOVE RELATIVE 0 FROM stay;
FETCH ALL FROM stay;
MOVE 0 FROM stay;
ROLLBACK;
-- maintenance has its tags
CLUSTER;
REINDEX TABLE lim;
-- waiting
SELECT pg_sleep(0.01);
SELECT pg_sleep(NULL), pg_sleep(-1);
SELECT pg_sleep_for('10 milliseconds');
SELECT pg_sleep_until(now());
SET statement_timeout = 50;
SELECT pg_sleep(5);
SHOW statement_timeout;
RESET statement_timeout;
-- SET stands after a later error; one in the same query string goes with it
SET extra_float_digits = 0;
SELECT 1 / 0;
SHOW extra_float_digits;
SET extra_float_digits = 1; SELECT 1 / 0;
SHOW extra_float_digits;
RESET extra_float_digits;
-- CREATE TABLE AS
CREATE TABLE cta AS SELECT 1 AS a, 'x'::varchar(4) AS b, 1.50::numeric(5,2) AS c, ARRAY[1,2] AS d, 'unknown' AS e;
SELECT * FROM cta;
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = 'cta'::regclass AND attnum > 0 ORDER BY attnum;
CREATE TABLE cta AS SELECT 1;
CREATE TABLE IF NOT EXISTS cta AS SELECT 1;
CREATE TABLE cta2 AS SELECT 1, 2;
CREATE TABLE cta2(p, q, r) AS SELECT 1, 2;
CREATE TABLE cta2(p) AS SELECT g, g * g AS square FROM generate_series(1, 5) AS g;
SELECT * FROM cta2 ORDER BY p;
CREATE TABLE cta3 AS SELECT * FROM cta2 WITH NO DATA;
SELECT * FROM cta3;
CREATE TABLE cta4(p, q) AS VALUES (1, 'a'), (2, NULL);
SELECT * FROM cta4 ORDER BY p;
CREATE TABLE cta5 AS WITH t AS (SELECT p FROM cta2) SELECT count(*) AS n FROM t;
SELECT * FROM cta5;
CREATE TABLE cta6 AS SELECT 1 / (p - 3) AS x FROM cta2;
SELECT * FROM cta6;
CREATE TABLE cta6 AS SELECT nothing FROM cta2;
BEGIN;
CREATE TABLE cta6 AS SELECT * FROM cta2;
INSERT INTO cta6 SELECT * FROM cta6;
SELECT count(*) FROM cta6;
ROLLBACK;
SELECT * FROM cta6;
CREATE TABLE cta7 AS SELECT NULL::cta_none;
CREATE TABLE "Quoted ""name""" AS SELECT 1 AS "Odd col";
SELECT * FROM "Quoted ""name""";
-- who one is
SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user;

-- a list behind IN whose first element is in parentheses
SELECT 1 IN ((SELECT 2), 1, 3), 2 NOT IN ((SELECT count(*) FROM e), 1), 3 IN ((SELECT 1) + 2, 5), 4 IN ((4), 5), 1 IN ((SELECT 1)), 2 IN ((SELECT 1) UNION SELECT 2);
SELECT (1, 2) IN ((1, 2), (3, 4)), 1 NOT IN ((SELECT 1 WHERE 1 IN ((SELECT 1), 2)), NULL), 1 IN (((SELECT 1))), 2 IN ((SELECT 1) ORDER BY 1 LIMIT 1);
-- a cursor that is declared behind a savepoint goes with it, and no other
BEGIN;
CREATE TABLE cur_sp (id INT PRIMARY KEY);
DECLARE c1 CURSOR FOR SELECT 1 AS one;
SAVEPOINT s;
INSERT INTO cur_sp VALUES (1);
DECLARE c2 CURSOR WITH HOLD FOR SELECT id FROM cur_sp;
CLOSE c1;
DECLARE c1 CURSOR FOR SELECT 2 AS two;
ROLLBACK TO s;
DECLARE c1 CURSOR FOR SELECT 3 AS three;
SAVEPOINT t;
RELEASE t;
FETCH ALL c1;
FETCH ALL c2;
ROLLBACK;
-- COMMIT and ROLLBACK without a block end what the string has done so far
CREATE TABLE string_ends (id INT);
INSERT INTO string_ends VALUES (1); COMMIT; INSERT INTO string_ends VALUES (2); ROLLBACK; INSERT INTO string_ends VALUES (3);
SELECT * FROM string_ends;
INSERT INTO string_ends VALUES (4); COMMIT AND CHAIN;
INSERT INTO string_ends VALUES (5); COMMIT; SELECT 1 / 0;
INSERT INTO string_ends VALUES (6); ROLLBACK AND CHAIN;
SELECT * FROM string_ends;
