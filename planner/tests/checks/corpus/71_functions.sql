-- Degrees.
SELECT tand(90), tand(-90), tand(270), tand(45), tand(135), tand(180), cotd(90), cotd(45), cotd(0), cotd(135), cotd(-45);
SELECT asind(0), asind(0.5), asind(1), asind(-0.5), acosd(1), acosd(0.5), acosd(0), acosd(-0.5), acosd(-1);
SELECT atand(0), atand(1), atand(-1), atand('Infinity'), atan2d(1, 0), atan2d(-1, 0), atan2d(1, 1), atan2d(0, -1);
SELECT asind(2);
SELECT acosd(-1.5);
SELECT cotd('Infinity');
SELECT tand('NaN'), cotd('NaN'), asind('NaN'), atand('NaN');
SELECT x, round(sind(x)::numeric, 12), round(cosd(x)::numeric, 12) FROM generate_series(-360, 360, 15) x;
SELECT x, round(tand(x)::numeric, 10), round(cotd(x)::numeric, 10) FROM generate_series(-350, 350, 20) x WHERE x % 90 <> 0;
-- Normal forms.
SELECT normalize(U&'\0061\0308bc') = U&'\00E4bc', normalize(U&'\0061\0308bc', NFC) = U&'\00E4bc', length(normalize(U&'\00E4bc', NFD)), length(normalize('ﬁ', NFKC)), length(normalize('ﬁ', nfkd));
SELECT U&'\0061\0308bc' IS NORMALIZED, U&'\00E4bc' IS NORMALIZED, U&'\00E4bc' IS NFD NORMALIZED, 'abc' IS NOT NFKC NORMALIZED, NULL::text IS NORMALIZED;
SELECT pg_catalog.normalize('abc', 'def');
SELECT is_normalized('abc', 'def');
SELECT pg_catalog.normalize('abc', NULL);
-- Names of objects.
SELECT to_regproc('now'), to_regproc('nope'), to_regprocedure('abs(int4)'), to_regprocedure('abs(nope)'), to_regoper('||/'), to_regoperator('+(int4,int4)'), to_regrole('nobody_at_all'), to_regcollation('"C"'), to_regcollation('nope');
-- Sizes in words.
SELECT pg_size_bytes(x) FROM (VALUES ('1'), ('123bytes'), ('1kB'), ('1MB'), (' 1 GB'), ('1.5 GB '), ('1TB'), ('3000 TB'), ('1e6 MB'), ('99 PB'), ('-1kB'), ('-.5kb'), ('+.1e-2 gb')) x(x);
SELECT pg_size_bytes('1 AB');
SELECT pg_size_bytes('1 AB A');
SELECT pg_size_bytes('9223372036854775807.9');
SELECT pg_size_bytes('1e100');
SELECT pg_size_bytes('abc');
SELECT pg_size_bytes('');
SELECT pg_size_bytes('kb');
SELECT pg_size_bytes('..');
SELECT pg_column_compression('a'::text), pg_trigger_depth(), pg_is_in_recovery();
-- The session and the server.
SELECT inet_client_addr() = inet_server_addr(), inet_client_port() > 0, pg_typeof(inet_server_addr()), inet_server_port() > 0;
SELECT current_query();
SELECT pg_postmaster_start_time() <= now(), pg_conf_load_time() >= pg_postmaster_start_time() - interval '1 hour', pg_typeof(pg_postmaster_start_time());
SELECT pg_is_wal_replay_paused();
SELECT getpgusername() = current_user, pg_jit_available() IS NOT NULL;
-- Sizes of relations.
CREATE TABLE sized (a int PRIMARY KEY, b text);
CREATE INDEX sized_b ON sized (b);
SELECT pg_indexes_size('sized') >= 0, pg_total_relation_size('sized') = pg_table_size('sized') + pg_indexes_size('sized'), pg_relation_size('sized_b') >= 0, pg_indexes_size('sized_b'), pg_indexes_size(0), pg_relation_size(0);
SELECT pg_tablespace_size('pg_default') >= 0, pg_tablespace_size('pg_global') >= 0, pg_tablespace_size(1663) >= 0, pg_tablespace_size(99);
SELECT pg_tablespace_size('nope');
DROP TABLE sized;
-- Zones.
SELECT count(*) > 500, count(*) FILTER (WHERE name = 'Europe/Berlin') FROM pg_timezone_names;
SELECT abbrev, utc_offset, is_dst FROM pg_timezone_abbrevs WHERE abbrev IN ('CET', 'CEST', 'EST', 'MSK', 'IST', 'BST') ORDER BY 1;
SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names WHERE name IN ('UTC', 'Asia/Tokyo', 'Asia/Kolkata') ORDER BY 1;
SELECT count(*) FROM pg_timezone_abbrevs();
SELECT DISTINCT is_dst FROM pg_timezone_names() WHERE name = 'Asia/Kolkata';
