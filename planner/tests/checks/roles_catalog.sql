-- Roles and rights as the catalog shows them, one statement a line: definitions, SET ROLE, and questions. The first role is
-- called controller; `planner/tests/roles_catalog.rs` runs it, and `engine/tests/checks/roles_catalog.py` on both servers.
CREATE ROLE readers NOLOGIN
CREATE ROLE writers NOLOGIN CREATEDB
CREATE ROLE ada LOGIN CONNECTION LIMIT 3 VALID UNTIL '2031-02-03 04:05:06+00'
CREATE ROLE ben LOGIN NOINHERIT CREATEROLE IN ROLE readers
CREATE ROLE "Dot.Role" LOGIN
CREATE ROLE "quo""te" LOGIN
CREATE ROLE stats LOGIN IN ROLE pg_read_all_data
GRANT readers TO writers
GRANT writers TO ada WITH ADMIN OPTION
ALTER ROLE ada SET work_mem = '5MB'
CREATE SCHEMA app
CREATE SCHEMA hidden
CREATE TYPE app.mood AS ENUM ('sad', 'ok')
CREATE TABLE app.docs (id int PRIMARY KEY, title text CHECK (title <> ''), body text)
CREATE TABLE app.parts (id int PRIMARY KEY, doc int REFERENCES app.docs (id), note text UNIQUE)
CREATE TABLE app.own (id int PRIMARY KEY, note text)
CREATE TABLE app.gone (id int, note text)
CREATE TABLE hidden.secret (id int)
CREATE VIEW app.titles AS SELECT id, title FROM app.docs
CREATE SEQUENCE app.counter
CREATE SEQUENCE app.lone
GRANT USAGE ON SCHEMA app TO readers
GRANT CREATE ON SCHEMA app TO writers WITH GRANT OPTION
GRANT SELECT ON app.docs TO readers
GRANT INSERT, UPDATE ON app.docs TO writers WITH GRANT OPTION
GRANT SELECT (id, note), UPDATE (id) ON app.parts TO ben
GRANT REFERENCES (note) ON app.parts TO "Dot.Role" WITH GRANT OPTION
GRANT SELECT ON app.titles TO PUBLIC
GRANT ALL ON app.own TO "quo""te"
GRANT TRUNCATE, TRIGGER ON app.own TO "Dot.Role"
GRANT SELECT, INSERT ON app.gone TO ben
REVOKE ALL ON app.gone FROM ben
GRANT SELECT (id) ON app.gone TO ben
REVOKE SELECT (id) ON app.gone FROM ben
GRANT USAGE ON SEQUENCE app.counter TO readers
GRANT SELECT, UPDATE ON SEQUENCE app.counter TO ada WITH GRANT OPTION
REVOKE USAGE ON TYPE app.mood FROM PUBLIC
GRANT USAGE ON TYPE app.mood TO ada
ALTER TABLE app.own OWNER TO ada
ALTER DEFAULT PRIVILEGES IN SCHEMA app GRANT SELECT ON TABLES TO readers
ALTER DEFAULT PRIVILEGES FOR ROLE ada REVOKE USAGE ON TYPES FROM PUBLIC
ALTER DEFAULT PRIVILEGES FOR ROLE ada GRANT USAGE ON SEQUENCES TO ben WITH GRANT OPTION
GRANT CREATE, CONNECT ON DATABASE postgres TO ada
SELECT rolname, rolsuper AND rolname <> 'controller', rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication AND rolname <> 'controller', rolconnlimit, rolpassword, rolvaliduntil, rolbypassrls AND rolname <> 'controller', rolconfig FROM pg_roles WHERE rolname !~ '^dogwood_' ORDER BY 1
SELECT oid, rolname FROM pg_roles WHERE rolname ~ '^pg_' OR rolname = 'controller' ORDER BY 1
SELECT rolname, rolpassword IS NULL, rolvaliduntil FROM pg_authid WHERE rolname ~ '^(a|b|r|w)' ORDER BY 1
SELECT usename, usecreatedb, passwd, valuntil, useconfig FROM pg_user ORDER BY 1
SELECT usename, usecreatedb, valuntil FROM pg_shadow ORDER BY 1
SELECT groname, (SELECT array_agg(rolname ORDER BY rolname) FROM pg_roles r WHERE r.oid = ANY (grolist)) FROM pg_group WHERE groname !~ '^dogwood_' ORDER BY 1
SELECT roleid::regrole::text, member::regrole::text, grantor::regrole::text, admin_option FROM pg_auth_members ORDER BY 1, 2
SELECT setdatabase, setrole::regrole::text, setconfig FROM pg_db_role_setting ORDER BY 2
SELECT defaclrole::regrole::text, defaclnamespace::regnamespace::text, defaclobjtype, defaclacl FROM pg_default_acl ORDER BY 1, 2, 3
SELECT nspname, nspowner::regrole::text, nspacl FROM pg_namespace WHERE nspname IN ('app', 'hidden', 'public', 'pg_catalog', 'information_schema') ORDER BY 1
SELECT relname, relkind, pg_get_userbyid(relowner), relacl FROM pg_class WHERE relnamespace = 'app'::regnamespace ORDER BY 1
SELECT attrelid::regclass::text, attname, attacl FROM pg_attribute WHERE attrelid IN ('app.parts'::regclass, 'app.gone'::regclass, 'app.docs'::regclass) AND attnum > 0 ORDER BY 1, attnum
SELECT typname, pg_get_userbyid(typowner), typacl FROM pg_type WHERE typname IN ('mood', '_mood') ORDER BY 1
SELECT datname, datdba::regrole::text, datacl FROM pg_database WHERE datname = 'postgres'
SELECT relname, relacl FROM pg_class WHERE relname IN ('pg_class', 'pg_authid', 'pg_shadow', 'pg_roles', 'pg_statistic', 'tables', 'pg_index') ORDER BY 1
SELECT relname, privtype, initprivs FROM pg_init_privs JOIN pg_class c ON c.oid = objoid AND classoid = 'pg_class'::regclass WHERE relname IN ('pg_class', 'pg_authid', 'pg_roles', 'tables') ORDER BY 1
SELECT schemaname, tablename, tableowner FROM pg_tables WHERE schemaname = 'app' ORDER BY 2
SELECT viewname, viewowner FROM pg_views WHERE schemaname = 'app'
SELECT sequencename, sequenceowner FROM pg_sequences WHERE schemaname = 'app' ORDER BY 1
SELECT pg_get_userbyid(10), pg_get_userbyid(6171), pg_get_userbyid(4242)
SELECT relname, a.grantor::regrole::text, a.grantee::regrole::text, privilege_type, is_grantable FROM pg_class c, aclexplode(c.relacl) a WHERE relname IN ('docs', 'own', 'counter') ORDER BY 1, 2, 3, 4
SELECT acldefault('r', 10), acldefault('s', 10), acldefault('c', 10), acldefault('d', 10), acldefault('f', 10), acldefault('l', 10), acldefault('L', 10), acldefault('n', 10), acldefault('p', 10), acldefault('t', 10), acldefault('F', 10), acldefault('S', 10), acldefault('T', 10), acldefault('r', 4242)
SELECT acldefault('r', oid), acldefault('f', oid) FROM pg_roles WHERE rolname IN ('Dot.Role', 'quo"te', 'ada') ORDER BY rolname
SELECT acldefault('q', 10)
SELECT makeaclitem(10, 10, 'SELECT', true), makeaclitem(0, 10, 'update', false), makeaclitem(0, 4242, 'TEMP', false)
SELECT makeaclitem(10, 10, 'SELECT, INSERT', true)
SELECT relname, aclcontains(relacl, makeaclitem('readers'::regrole, 10, 'SELECT', false)), aclcontains(relacl, makeaclitem('readers'::regrole, 10, 'SELECT', true)) FROM pg_class WHERE relname IN ('docs', 'own') ORDER BY 1
SELECT grantor, grantee, table_schema, table_name, privilege_type, is_grantable, with_hierarchy FROM information_schema.table_privileges WHERE table_schema IN ('app', 'hidden') ORDER BY 4, 2, 5, 1
SELECT grantor, grantee, table_name, privilege_type, is_grantable FROM information_schema.table_privileges WHERE table_name IN ('pg_class', 'pg_authid') ORDER BY 3, 2, 4
SELECT grantor, grantee, table_name, column_name, privilege_type, is_grantable FROM information_schema.column_privileges WHERE table_schema = 'app' AND table_name IN ('parts', 'titles', 'own') ORDER BY 3, 4, 2, 5, 1
SELECT grantor, grantee, object_schema, object_name, object_type, privilege_type, is_grantable FROM information_schema.usage_privileges WHERE object_type = 'SEQUENCE' OR object_name IN ('C', 'POSIX') ORDER BY 4, 2
SELECT role_name FROM information_schema.enabled_roles WHERE role_name !~ '^dogwood_' ORDER BY 1
SELECT grantee, role_name, is_grantable FROM information_schema.applicable_roles ORDER BY 1, 2
SELECT grantee, role_name, is_grantable FROM information_schema.administrable_role_authorizations ORDER BY 1, 2
SELECT table_name FROM information_schema.tables WHERE table_schema IN ('app', 'hidden') ORDER BY 1
SELECT table_name, column_name FROM information_schema.columns WHERE table_schema IN ('app', 'hidden') ORDER BY 1, 2
SELECT r.rolname, has_table_privilege(r.rolname, 'app.docs', 'SELECT'), has_table_privilege(r.oid, 'app.docs', 'INSERT'), has_table_privilege(r.oid, 'app.docs'::regclass, 'DELETE, INSERT'), has_table_privilege(r.rolname, 'app.docs'::regclass, 'INSERT WITH GRANT OPTION') FROM pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' ORDER BY 1
SELECT r.rolname, has_table_privilege(r.rolname, 'app.own', 'SELECT'), has_table_privilege(r.rolname, 'app.own', 'TRUNCATE'), has_table_privilege(r.rolname, 'app.own', 'SELECT WITH GRANT OPTION'), has_table_privilege(r.rolname, 'app.titles', 'SELECT'), has_table_privilege(r.rolname, 'hidden.secret', 'SELECT'), has_table_privilege(r.rolname, 'app.own_pkey', 'SELECT'), has_table_privilege(r.rolname, 'app.counter', 'SELECT') FROM pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' ORDER BY 1
SELECT r.rolname, has_table_privilege(r.rolname, 'pg_class', 'SELECT'), has_table_privilege(r.rolname, 'pg_authid', 'SELECT'), has_table_privilege(r.rolname, 'pg_shadow', 'SELECT'), has_table_privilege(r.rolname, 'pg_class', 'INSERT'), has_table_privilege(r.rolname, 'information_schema.tables', 'SELECT') FROM pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' AND r.rolname <> 'stats' ORDER BY 1
SELECT r.rolname, has_column_privilege(r.rolname, 'app.parts', 'id', 'SELECT'), has_column_privilege(r.oid, 'app.parts'::regclass, 'title', 'SELECT') FROM pg_roles r WHERE r.rolname = 'ada'
SELECT r.rolname, has_column_privilege(r.rolname, 'app.parts', 'id', 'SELECT'), has_column_privilege(r.oid, 'app.parts'::regclass, 3::int2, 'UPDATE'), has_column_privilege(r.oid, 'app.parts', 'note', 'UPDATE, SELECT'), has_column_privilege(r.rolname, 'app.parts'::regclass, 'id', 'REFERENCES WITH GRANT OPTION'), has_column_privilege(r.rolname, 'app.docs', 'body', 'SELECT') FROM pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' ORDER BY 1
SELECT r.rolname, has_any_column_privilege(r.rolname, 'app.parts', 'SELECT'), has_any_column_privilege(r.rolname, 'app.parts', 'REFERENCES WITH GRANT OPTION'), has_any_column_privilege(r.oid, 'app.docs'::regclass, 'UPDATE') FROM pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' ORDER BY 1
SELECT r.rolname, has_schema_privilege(r.rolname, 'app', 'USAGE'), has_schema_privilege(r.oid, 'app', 'CREATE'), has_schema_privilege(r.oid, 'app'::regnamespace, 'CREATE WITH GRANT OPTION'), has_schema_privilege(r.rolname, 'hidden'::regnamespace, 'CREATE, USAGE'), has_schema_privilege(r.rolname, 'public', 'USAGE'), has_schema_privilege(r.rolname, 'public', 'CREATE'), has_schema_privilege(r.rolname, 'pg_catalog', 'USAGE') FROM pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' ORDER BY 1
SELECT r.rolname, has_sequence_privilege(r.rolname, 'app.counter', 'USAGE'), has_sequence_privilege(r.rolname, 'app.counter', 'UPDATE WITH GRANT OPTION'), has_sequence_privilege(r.oid, 'app.lone'::regclass, 'USAGE, SELECT') FROM pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' ORDER BY 1
SELECT r.rolname, has_database_privilege(r.rolname, 'postgres', 'CREATE'), has_database_privilege(r.rolname, 'postgres', 'CONNECT'), has_database_privilege(r.oid, 5::oid, 'TEMP'), has_database_privilege(r.oid, 'postgres', 'TEMPORARY WITH GRANT OPTION') FROM pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' ORDER BY 1
SELECT r.rolname, has_type_privilege(r.rolname, 'app.mood', 'USAGE'), has_type_privilege(r.rolname, 'app.mood[]', 'USAGE'), has_type_privilege(r.rolname, 'int4', 'USAGE'), has_function_privilege(r.rolname, 'length(text)', 'EXECUTE'), has_language_privilege(r.rolname, 'sql', 'USAGE'), has_tablespace_privilege(r.rolname, 'pg_default', 'CREATE') FROM pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' ORDER BY 1
SELECT a.rolname, b.rolname, pg_has_role(a.rolname, b.rolname, 'USAGE'), pg_has_role(a.oid, b.rolname, 'MEMBER'), pg_has_role(a.rolname, b.oid, 'USAGE WITH ADMIN OPTION'), pg_has_role(a.oid, b.oid, 'MEMBER WITH GRANT OPTION, MEMBER') FROM pg_roles a, pg_roles b WHERE a.rolname IN ('controller', 'ada', 'ben', 'writers', 'stats') AND b.rolname IN ('controller', 'ada', 'readers', 'writers', 'pg_read_all_data', 'pg_database_owner') ORDER BY 1, 2
SELECT has_table_privilege('nobody', 'app.docs', 'SELECT')
SELECT has_table_privilege('public', 'app.titles', 'SELECT'), has_table_privilege('public', 'app.docs', 'SELECT'), has_schema_privilege('public', 'app', 'USAGE')
SELECT has_table_privilege('app.docs', 'SELECT, FOO')
SELECT has_table_privilege('app.docs', '')
SELECT has_table_privilege('app.docs', ' select , insert '), has_table_privilege('app.docs', 'rule'), has_table_privilege(4242::oid, 'app.titles', 'SELECT')
SELECT has_table_privilege('app.nowhere', 'SELECT')
SELECT has_table_privilege(4242::oid, 'SELECT'), has_any_column_privilege(4242::oid, 'SELECT'), has_column_privilege(4242::oid, 'x', 'SELECT'), has_column_privilege('app.docs', 9::int2, 'SELECT'), has_sequence_privilege(4242::oid, 'USAGE'), has_schema_privilege(4242::oid, 'USAGE'), has_database_privilege(4242::oid, 'CONNECT'), has_type_privilege(42424::oid, 'USAGE'), has_function_privilege(42424::oid, 'EXECUTE'), has_language_privilege(4242::oid, 'USAGE'), has_tablespace_privilege(4242::oid, 'CREATE'), has_server_privilege(4242::oid, 'USAGE'), has_foreign_data_wrapper_privilege(4242::oid, 'USAGE')
SELECT has_table_privilege(4242::oid, 'SELECTED')
SELECT has_column_privilege('app.docs', 'nope', 'SELECT')
SELECT has_column_privilege('app.docs', 'ctid', 'SELECT'), has_column_privilege('app.docs', (-1)::int2, 'SELECT')
SELECT has_any_column_privilege('app.docs', 'DELETE')
SELECT has_sequence_privilege('app.docs', 'USAGE')
SELECT has_sequence_privilege('app.counter', 'INSERT')
SELECT has_schema_privilege('nope', 'USAGE')
SELECT has_database_privilege('nope', 'CONNECT')
SELECT has_type_privilege('nope', 'USAGE')
SELECT has_function_privilege('nope(int4)', 'EXECUTE')
SELECT has_language_privilege('nope', 'USAGE')
SELECT has_tablespace_privilege('nope', 'CREATE')
SELECT has_server_privilege('nope', 'USAGE')
SELECT has_foreign_data_wrapper_privilege('nope', 'USAGE')
SELECT pg_has_role('nope', 'USAGE')
SELECT pg_has_role('public', 'controller', 'USAGE')
SELECT pg_has_role('controller', 'SET')
SELECT row_security_active('app.docs'), row_security_active('app.docs'::regclass)
SELECT row_security_active('app.nowhere')
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' END as "Type", pg_catalog.array_to_string(c.relacl, E'\n') AS "Access privileges", pg_catalog.array_to_string(ARRAY( SELECT attname || E':\n ' || pg_catalog.array_to_string(attacl, E'\n ') FROM pg_catalog.pg_attribute a WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL ), E'\n') AS "Column privileges", pg_catalog.array_to_string(ARRAY( SELECT polname || CASE WHEN NOT polpermissive THEN E' (RESTRICTIVE)' ELSE '' END || CASE WHEN polcmd != '*' THEN E' (' || polcmd::pg_catalog.text || E'):' ELSE E':' END || CASE WHEN polqual IS NOT NULL THEN E'\n (u): ' || pg_catalog.pg_get_expr(polqual, polrelid) ELSE E'' END || CASE WHEN polwithcheck IS NOT NULL THEN E'\n (c): ' || pg_catalog.pg_get_expr(polwithcheck, polrelid) ELSE E'' END || CASE WHEN polroles <> '{0}' THEN E'\n to: ' || pg_catalog.array_to_string( ARRAY( SELECT rolname FROM pg_catalog.pg_roles WHERE oid = ANY (polroles) ORDER BY 1 ), E', ') ELSE E'' END FROM pg_catalog.pg_policy pol WHERE polrelid = c.oid), E'\n') AS "Policies" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','v','m','S','f','p') AND n.nspname OPERATOR(pg_catalog.~) '^(app)$' COLLATE pg_catalog.default ORDER BY 1, 2
SELECT pg_catalog.pg_get_userbyid(d.defaclrole) AS "Owner", n.nspname AS "Schema", CASE d.defaclobjtype WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'function' WHEN 'T' THEN 'type' WHEN 'n' THEN 'schema' END AS "Type", pg_catalog.array_to_string(d.defaclacl, E'\n') AS "Access privileges" FROM pg_catalog.pg_default_acl d LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace ORDER BY 1, 2, 3
SELECT n.nspname AS "Name", pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner", pg_catalog.array_to_string(n.nspacl, E'\n') AS "Access privileges", pg_catalog.obj_description(n.oid, 'pg_namespace') AS "Description" FROM pg_catalog.pg_namespace n WHERE n.nspname OPERATOR(pg_catalog.~) '^(app)$' COLLATE pg_catalog.default ORDER BY 1
SELECT r.rolname, r.rolsuper AND r.rolname <> 'controller', r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit, r.rolvaliduntil, ARRAY(SELECT b.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles b ON (m.roleid = b.oid) WHERE m.member = r.oid) as memberof , r.rolreplication AND r.rolname <> 'controller' FROM pg_catalog.pg_roles r WHERE r.rolname !~ '^(pg|dogwood)_' ORDER BY 1
SELECT rolname AS "Role", datname AS "Database", pg_catalog.array_to_string(setconfig, E'\n') AS "Settings" FROM pg_catalog.pg_db_role_setting s LEFT JOIN pg_catalog.pg_database d ON d.oid = setdatabase LEFT JOIN pg_catalog.pg_roles r ON r.oid = setrole ORDER BY 1, 2
SELECT n.nspname as "Schema", pg_catalog.format_type(t.oid, NULL) AS "Name", t.typname AS "Internal name", CASE WHEN t.typrelid != 0 THEN CAST('tuple' AS pg_catalog.text) WHEN t.typlen < 0 THEN CAST('var' AS pg_catalog.text) ELSE CAST(t.typlen AS pg_catalog.text) END AS "Size", pg_catalog.array_to_string( ARRAY( SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder ), E'\n' ) AS "Elements", pg_catalog.pg_get_userbyid(t.typowner) AS "Owner", pg_catalog.array_to_string(t.typacl, E'\n') AS "Access privileges", pg_catalog.obj_description(t.oid, 'pg_type') as "Description" FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)) AND NOT EXISTS(SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid) AND n.nspname OPERATOR(pg_catalog.~) '^(app)$' COLLATE pg_catalog.default ORDER BY 1, 2
SELECT d.datname as "Name", pg_catalog.pg_get_userbyid(d.datdba) as "Owner", pg_catalog.pg_encoding_to_char(d.encoding) as "Encoding", d.datcollate as "Collate", d.datctype as "Ctype", d.daticulocale as "ICU Locale", CASE d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider", pg_catalog.array_to_string(d.datacl, E'\n') AS "Access privileges" FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.~) '^(postgres)$' COLLATE pg_catalog.default ORDER BY 1
SELECT n.nspname, n.nspacl, acldefault('n', n.nspowner) AS acldefault FROM pg_namespace n WHERE n.nspname = 'app'
SELECT c.relname, c.relacl, acldefault(CASE WHEN c.relkind = 'S' THEN 's'::"char" ELSE 'r'::"char" END, c.relowner) AS acldefault FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'app' AND c.relkind IN ('r', 'S', 'v') ORDER BY 1
SELECT defaclobjtype, defaclacl, CASE WHEN defaclnamespace = 0 THEN acldefault(CASE WHEN defaclobjtype = 'S' THEN 's'::"char" ELSE defaclobjtype END, defaclrole) ELSE '{}' END AS acldefault FROM pg_default_acl ORDER BY 1
SET ROLE ada
SELECT current_user, session_user
SELECT role_name FROM information_schema.enabled_roles ORDER BY 1
SELECT grantee, role_name, is_grantable FROM information_schema.applicable_roles ORDER BY 1, 2
SELECT grantee, role_name, is_grantable FROM information_schema.administrable_role_authorizations ORDER BY 1, 2
SELECT schema_name, schema_owner FROM information_schema.schemata WHERE schema_name !~ '^pg_t' ORDER BY 1
SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema IN ('app', 'hidden') OR table_name IN ('pg_authid', 'pg_class') ORDER BY 2
SELECT table_name, column_name FROM information_schema.columns WHERE table_schema IN ('app', 'hidden') ORDER BY 1, 2
SELECT table_name, view_definition IS NULL FROM information_schema.views WHERE table_schema = 'app'
SELECT sequence_name FROM information_schema.sequences WHERE sequence_schema = 'app'
SELECT constraint_name, table_name, constraint_type FROM information_schema.table_constraints WHERE table_schema = 'app' AND constraint_name !~ '_not_null$' ORDER BY 1
SELECT constraint_name, column_name FROM information_schema.key_column_usage WHERE table_schema = 'app' ORDER BY 1
SELECT constraint_name, column_name FROM information_schema.constraint_column_usage WHERE table_schema = 'app' ORDER BY 1
SELECT constraint_name FROM information_schema.check_constraints WHERE constraint_schema = 'app' AND constraint_name !~ '_not_null$'
SELECT constraint_name FROM information_schema.referential_constraints WHERE constraint_schema = 'app'
SELECT grantor, grantee, table_name, privilege_type, is_grantable FROM information_schema.table_privileges WHERE table_schema = 'app' ORDER BY 3, 2, 4
SELECT grantor, grantee, table_name, privilege_type, is_grantable FROM information_schema.role_table_grants WHERE table_schema = 'app' ORDER BY 3, 2, 4
SELECT grantor, grantee, table_name, column_name, privilege_type, is_grantable FROM information_schema.role_column_grants WHERE table_schema = 'app' ORDER BY 3, 4, 2, 5
SELECT grantor, grantee, object_name, privilege_type, is_grantable FROM information_schema.role_usage_grants ORDER BY 3, 2
SELECT view_name, table_name FROM information_schema.view_table_usage WHERE view_schema = 'app'
SELECT has_table_privilege('app.docs', 'SELECT'), has_table_privilege('app.docs', 'DELETE'), has_schema_privilege('app', 'CREATE'), has_database_privilege('postgres', 'CREATE'), pg_has_role('writers', 'USAGE'), pg_has_role('ben', 'MEMBER'), has_column_privilege('app.parts', 'id', 'SELECT'), has_sequence_privilege('app.counter', 'SELECT')
SELECT rolname, rolpassword FROM pg_roles WHERE rolname IN ('ada', 'ben') ORDER BY 1
SELECT relname, relacl FROM pg_class WHERE relname = 'own'
RESET ROLE
SET ROLE ben
SELECT role_name FROM information_schema.enabled_roles ORDER BY 1
SELECT grantee, role_name, is_grantable FROM information_schema.applicable_roles ORDER BY 1, 2
SELECT schema_name FROM information_schema.schemata WHERE schema_name !~ '^pg_t' ORDER BY 1
SELECT table_name FROM information_schema.tables WHERE table_schema = 'app' ORDER BY 1
SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'app' ORDER BY 1, 2
SELECT constraint_name FROM information_schema.table_constraints WHERE table_schema = 'app' AND constraint_name !~ '_not_null$' ORDER BY 1
SELECT constraint_name, column_name FROM information_schema.key_column_usage WHERE table_schema = 'app' ORDER BY 1
SELECT grantor, grantee, table_name, column_name, privilege_type, is_grantable FROM information_schema.role_column_grants WHERE table_schema = 'app' ORDER BY 3, 4, 2, 5
SELECT pg_has_role('readers', 'USAGE'), pg_has_role('readers', 'MEMBER'), pg_has_role('writers', 'MEMBER')
RESET ROLE
SET ROLE "Dot.Role"
SELECT table_name FROM information_schema.tables WHERE table_schema = 'app' ORDER BY 1
SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'app' ORDER BY 1, 2
SELECT constraint_name, table_name FROM information_schema.table_constraints WHERE table_schema = 'app' AND constraint_name !~ '_not_null$' ORDER BY 1
SELECT grantor, grantee, table_name, privilege_type, is_grantable FROM information_schema.table_privileges WHERE table_schema = 'app' ORDER BY 3, 2, 4
SELECT has_table_privilege(c.oid, 'SELECT'), relname FROM pg_class c WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'app') ORDER BY 2
RESET ROLE
SET ROLE stats
SELECT table_name FROM information_schema.tables WHERE table_schema IN ('app', 'hidden') ORDER BY 1
SELECT schema_name FROM information_schema.schemata WHERE schema_name !~ '^pg_t' ORDER BY 1
SELECT constraint_name FROM information_schema.table_constraints WHERE table_schema = 'app' AND constraint_name !~ '_not_null$' ORDER BY 1
RESET ROLE
COMMENT ON ROLE readers IS 'who read'
COMMENT ON ROLE writers IS 'who write'
COMMENT ON DATABASE postgres IS 'the first'
COMMENT ON ROLE nobody_here IS 'x'
SELECT rolname, shobj_description(oid, 'pg_authid'), obj_description(oid, 'pg_authid'), shobj_description(oid, 'pg_database') FROM pg_roles WHERE rolname IN ('readers', 'writers') ORDER BY 1
SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'postgres'
SELECT classoid::regclass, description FROM pg_shdescription WHERE description IN ('who read', 'who write', 'the first') ORDER BY 1, 2
SELECT count(*) FROM pg_description WHERE description IN ('who read', 'who write', 'the first')
COMMENT ON ROLE writers IS NULL
COMMENT ON DATABASE postgres IS NULL
CREATE ROLE said
COMMENT ON ROLE said IS 'bye'
DROP ROLE said
SELECT description FROM pg_shdescription WHERE description IN ('who read', 'who write', 'the first', 'bye')
