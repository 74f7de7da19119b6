DROP TABLE transfers;
DROP TABLE accounts;
