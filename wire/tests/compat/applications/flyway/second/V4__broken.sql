CREATE TABLE half (id int);
SELECT * FROM ${missing};
