ALTER TABLE accounts ADD COLUMN IF NOT EXISTS closed boolean DEFAULT false, ALTER COLUMN currency TYPE varchar(3);
ALTER TYPE role ADD VALUE IF NOT EXISTS 'admin';
ALTER TABLE transfers ADD CONSTRAINT transfers_positive CHECK (cents > 0) NOT VALID;
ALTER TABLE transfers VALIDATE CONSTRAINT transfers_positive;
CREATE OR REPLACE VIEW balances AS SELECT owner, sum(cents) AS cents FROM accounts WHERE NOT closed GROUP BY owner;
