DROP VIEW IF EXISTS balances;
ALTER TABLE transfers DROP CONSTRAINT IF EXISTS transfers_positive;
ALTER TABLE accounts DROP COLUMN closed, ALTER COLUMN currency TYPE char(3);
