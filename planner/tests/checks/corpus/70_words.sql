-- Words of other dialects, and PostgreSQL's own that are free: names without AS, of tables, of columns.
SELECT 1 top, 2 view, 3 end, 4 values, 5 explain, 6 cluster, 7 sort, 8 exclude, 9 lateral;
SELECT count(*) div, count(*) minus, count(*) xor, count(*) regexp, count(*) ignore, count(*) respect FROM (SELECT 1) x;
SELECT NULL member, 'x'::text glob, 1 match, 1.5 unsigned, 1 tablesample;
SELECT CASE WHEN true THEN 1 END end;
SELECT x.top, x.exists, x.trim FROM (SELECT 1 AS top, 2 AS exists, 3 AS trim) x;
SELECT top, exists, trim FROM (SELECT 1 AS top, 2 AS exists, 3 AS trim) x WHERE exists = 2 ORDER BY trim, top;
SELECT max(exists) + min(trim) FROM (SELECT 1 AS top, 2 AS exists, 3 AS trim) x GROUP BY exists;
SELECT DISTINCT top FROM (SELECT 1 AS top) AS format;
SELECT open.a, output.a FROM (SELECT 1 a) open JOIN (SELECT 1 a) output ON open.a = output.a;
SELECT partition.a FROM (SELECT 1 a) partition LEFT JOIN (SELECT 2 b) global ON true;
SELECT semi.a, anti.b FROM (SELECT 1 a) semi JOIN (SELECT 1 b) anti ON semi.a = anti.b;
SELECT settings.a FROM (SELECT 1 a) settings, (SELECT 2) pivot, (SELECT 3) qualify;
WITH asof AS (SELECT 1 a) SELECT a FROM asof connect WHERE connect.a = 1;
CREATE TABLE words (top int, output text, format text);
INSERT INTO words (top, output, format) VALUES (1, 'a', 'b');
UPDATE words format SET top = format.top + 1 WHERE format.output = 'a';
SELECT top, output, format FROM words open WHERE top = 2;
DELETE FROM words output WHERE output.top = 9;
SELECT 1 ISNULL, NULL ISNULL, (1 + NULL) ISNULL AND true;
SELECT 1 NOTNULL, NULL NOTNULL;
SELECT * FROM words WHERE format ISNULL OR top NOTNULL;
-- A query in parentheses behind INSERT INTO.
INSERT INTO words (VALUES (3, 'c', 'd'), (4, 'e', 'f'));
INSERT INTO words AS w ((VALUES (5, 'g', 'h'))) RETURNING w.top;
INSERT INTO words (WITH x AS (SELECT 6 a) SELECT a, 'i', 'j' FROM x);
INSERT INTO words (TABLE words) RETURNING top;
INSERT INTO words (top) (VALUES (7));
WITH w AS (INSERT INTO words (VALUES (8, 'k', 'l')) RETURNING top) SELECT * FROM w;
SELECT count(*) FROM words;
DROP TABLE words;
-- trim with a list.
SELECT trim(both from 'abcxyzabc', 'cba'), trim(from 'abcxyzabc', 'cba'), trim(leading from 'xxa', 'x'), trim(trailing from 'axx', 'x');
SELECT trim(both from '\x1234567890'::bytea, '\x9012'::bytea);
