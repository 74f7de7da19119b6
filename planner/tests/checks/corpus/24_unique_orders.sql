-- Unique indexes of materialized views, by what the query tells rows apart by.
CREATE TABLE fruit (id INT PRIMARY KEY, kind TEXT, price INT);
INSERT INTO fruit VALUES (1, 'apple', 3), (2, 'pear', 4), (3, 'apple', 5), (4, NULL, 6);
CREATE MATERIALIZED VIEW by_kind AS SELECT kind, count(*) AS n, sum(price) AS total FROM fruit GROUP BY kind;
CREATE UNIQUE INDEX by_kind_key ON by_kind (kind);
CREATE UNIQUE INDEX ON by_kind (n, kind);
REFRESH MATERIALIZED VIEW CONCURRENTLY by_kind;
SELECT * FROM by_kind ORDER BY kind;
SELECT indexrelid::regclass, indisunique FROM pg_index WHERE indrelid = 'by_kind'::regclass ORDER BY 1;
SELECT indexdef FROM pg_indexes WHERE tablename = 'by_kind' ORDER BY 1;
CREATE MATERIALIZED VIEW plain AS SELECT id, kind FROM fruit WHERE price > 3;
CREATE UNIQUE INDEX plain_key ON plain (id);
CREATE MATERIALIZED VIEW total AS SELECT sum(price) AS total FROM fruit;
CREATE UNIQUE INDEX ON total (total);
CREATE MATERIALIZED VIEW kinds AS SELECT DISTINCT kind FROM fruit;
CREATE UNIQUE INDEX kinds_key ON kinds (kind);
SELECT kind, n FROM by_kind WHERE kind = 'apple';
DROP INDEX by_kind_key;
DROP MATERIALIZED VIEW kinds;
