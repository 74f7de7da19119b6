CREATE TABLE cities (code char(3) PRIMARY KEY, name text);
COPY cities (code, name) FROM stdin;
OSL	Oslo
BER	Berlin
\.
