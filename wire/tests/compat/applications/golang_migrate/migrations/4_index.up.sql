CREATE INDEX CONCURRENTLY accounts_owner ON accounts (owner);
