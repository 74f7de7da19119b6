ALTER TABLE people ADD COLUMN city char(3) REFERENCES cities ON DELETE SET NULL, ALTER COLUMN role SET DEFAULT 'writer';
UPDATE people SET city = 'OSL' WHERE id = 1;
CREATE MATERIALIZED VIEW counts AS SELECT city, count(*) AS many FROM people GROUP BY city;
CREATE SEQUENCE tickets OWNED BY people.id;
