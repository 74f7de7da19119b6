BEGIN;
CREATE TABLE accounts (
    id bigserial PRIMARY KEY,
    owner uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    cents bigint NOT NULL DEFAULT 0,
    currency char(3) NOT NULL DEFAULT 'EUR',
    CONSTRAINT accounts_not_below CHECK (cents >= 0)
);
CREATE TABLE transfers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source bigint NOT NULL REFERENCES accounts,
    target bigint NOT NULL REFERENCES accounts,
    cents bigint NOT NULL
);
CREATE INDEX ON transfers (source, target);
COMMENT ON COLUMN transfers.cents IS 'must be positive';
COMMIT;
