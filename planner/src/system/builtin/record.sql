-- What PostgreSQL 15 says of its own functions, operators and casts, over the types that there are here.
-- psql -h … -d postgres -X -f record.sql      in this folder; read what changed
\set QUIET on
\pset format unaligned
\pset fieldsep '\t'
\pset footer off
\pset null '\\N'
SET search_path TO pg_catalog;
CREATE TEMP TABLE known (id oid PRIMARY KEY);
INSERT INTO known SELECT t FROM unnest(ARRAY['bool', 'int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'numeric', 'text', 'varchar',
    'bpchar', 'name', '"char"', 'bytea', 'date', 'time', 'timetz', 'timestamp', 'timestamptz', 'interval', 'inet', 'cidr', 'macaddr', 'macaddr8', 'bit', 'varbit', 'money', 'point', 'lseg', 'path', 'box', 'polygon', 'line', 'circle', 'xml', 'uuid', 'json', 'jsonb', 'tsvector', 'tsquery', 'jsonpath',
    'regclass', 'regtype', 'regproc', 'regprocedure', 'regoper', 'regoperator', 'regrole', 'regcollation', 'regnamespace', 'regconfig', 'regdictionary', 'int2vector', 'oidvector', 'xid', 'xid8', 'tid', 'pg_lsn', 'pg_snapshot', 'txid_snapshot', 'aclitem',
    'int4range', 'numrange', 'tsrange', 'tstzrange', 'daterange', 'int8range', 'int4multirange', 'nummultirange', 'tsmultirange', 'tstzmultirange', 'datemultirange', 'int8multirange']::regtype[]) t;
INSERT INTO known SELECT typarray FROM pg_type JOIN known ON oid = id WHERE typarray <> 0;
INSERT INTO known SELECT oid FROM pg_type WHERE typname IN ('void', 'unknown', 'record', '_record', 'cstring', '_cstring', 'internal',
    'any', 'anyelement', 'anyarray', 'anynonarray', 'anyenum', 'anycompatible', 'anycompatiblearray', 'anycompatiblenonarray', 'anyrange', 'anymultirange', 'anycompatiblerange', 'anycompatiblemultirange',
    'trigger', 'language_handler', 'index_am_handler', 'table_am_handler');
-- Node trees are texts here.
CREATE FUNCTION pg_temp.ours(oid) RETURNS oid LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE $1 WHEN 'pg_node_tree'::regtype THEN 25 ELSE $1 END $$;
CREATE FUNCTION pg_temp.is_known(oid) RETURNS bool LANGUAGE sql AS $$ SELECT $1 = 0 OR pg_temp.ours($1) IN (SELECT id FROM known) $$;
CREATE FUNCTION pg_temp.is_own(oid) RETURNS bool LANGUAGE sql AS $$ SELECT $1 = 0 OR $1 IN (SELECT id FROM known) $$;
CREATE TEMP TABLE operator AS
    SELECT * FROM pg_operator WHERE pg_temp.is_own(oprleft) AND pg_temp.is_own(oprright) AND pg_temp.is_own(oprresult) AND oprcode <> 0;
CREATE TEMP TABLE castable AS
    SELECT * FROM pg_cast WHERE pg_temp.is_own(castsource) AND pg_temp.is_own(casttarget);
CREATE TEMP TABLE amop AS
    SELECT * FROM pg_amop WHERE amopmethod IN (403, 405) AND pg_temp.is_own(amoplefttype) AND pg_temp.is_own(amoprighttype)
        AND amopopr IN (SELECT oid FROM operator);
CREATE TEMP TABLE amproc AS
    SELECT a.* FROM pg_amproc a JOIN pg_opfamily f ON f.oid = amprocfamily
    WHERE opfmethod IN (403, 405) AND pg_temp.is_own(amproclefttype) AND pg_temp.is_own(amprocrighttype)
        AND amprocfamily IN (SELECT amopfamily FROM amop);
CREATE TEMP TABLE aggregate AS
    SELECT a.* FROM pg_aggregate a JOIN pg_proc p ON p.oid = aggfnoid
    WHERE NOT EXISTS (SELECT FROM unnest(proargtypes) t WHERE NOT pg_temp.is_known(t)) AND pg_temp.is_known(prorettype);
-- What other rows name is there, whether or not SQL can call it.
CREATE TEMP TABLE named AS SELECT DISTINCT f AS id FROM (
    SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze, typsubscript]::oid[]) FROM pg_type JOIN known ON oid = id
    UNION ALL SELECT unnest(ARRAY['enum_in', 'enum_out', 'enum_recv', 'enum_send', 'domain_in', 'domain_recv']::regproc[]::oid[])
    UNION ALL SELECT unnest(ARRAY[oprcode, oprrest, oprjoin]::oid[]) FROM operator
    UNION ALL SELECT castfunc FROM castable
    UNION ALL SELECT amproc FROM amproc
    UNION ALL SELECT unnest(ARRAY[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn, aggmfinalfn]::oid[]) FROM aggregate
    UNION ALL SELECT unnest(ARRAY[rngcanonical, rngsubdiff]::oid[]) FROM pg_range
    UNION ALL SELECT prosupport FROM pg_proc
    UNION ALL SELECT amhandler FROM pg_am WHERE amname IN ('heap', 'btree', 'hash')) AS all_named (f) WHERE f <> 0;

\o pg_type.tsv
SELECT oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, typsubscript::oid, typelem,
    CASE WHEN typarray IN (SELECT id FROM known) THEN typarray ELSE 0 END AS typarray,
    typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typmodin::oid, typmodout::oid, typanalyze::oid, typalign, typstorage,
    typtypmod, typcollation, obj_description(oid, 'pg_type') AS description
FROM pg_type JOIN known ON oid = id ORDER BY oid;
\o pg_proc.tsv
SELECT oid, proname, prolang, procost, prorows, pg_temp.ours(provariadic) AS provariadic, prosupport::oid, prokind, proleakproof, proisstrict, proretset,
    provolatile, proparallel, pronargs, pronargdefaults, pg_temp.ours(prorettype) AS prorettype,
    (SELECT coalesce(string_agg(pg_temp.ours(t)::text, ' ' ORDER BY n), '') FROM unnest(proargtypes) WITH ORDINALITY u (t, n)) AS proargtypes,
    proallargtypes, proargmodes, proargnames, prosrc, oid IN (SELECT id FROM named) AS named,
    CASE WHEN pronargdefaults > 0 OR prokind = 'a' THEN pg_get_function_arguments(oid) END AS arguments,
    replace(pg_get_function_sqlbody(oid), E'\n', '\n') AS body, obj_description(oid, 'pg_proc') AS description
FROM pg_proc
WHERE oid IN (SELECT id FROM named) OR (pronamespace = 11 AND pg_temp.is_known(prorettype) AND prorettype NOT IN (2281, 2275)
    AND NOT EXISTS (SELECT FROM unnest(coalesce(proallargtypes, proargtypes)) t WHERE NOT pg_temp.is_known(t) OR t IN (2281, 2275)))
ORDER BY oid;
\o pg_operator.tsv
SELECT oid, oprname, oprkind, oprcanmerge, oprcanhash, oprleft, oprright, oprresult,
    CASE WHEN oprcom IN (SELECT oid FROM operator) THEN oprcom ELSE 0 END AS oprcom,
    CASE WHEN oprnegate IN (SELECT oid FROM operator) THEN oprnegate ELSE 0 END AS oprnegate,
    oprcode::oid, oprrest::oid, oprjoin::oid, obj_description(oid, 'pg_operator') AS description
FROM operator ORDER BY oid;
\o pg_cast.tsv
SELECT oid, castsource, casttarget, castfunc, castcontext, castmethod FROM castable ORDER BY oid;
\o pg_opfamily.tsv
SELECT oid, opfmethod, opfname FROM pg_opfamily WHERE oid IN (SELECT amopfamily FROM amop) ORDER BY oid;
\o pg_range.tsv
SELECT rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc, rngcanonical::oid, rngsubdiff::oid FROM pg_range ORDER BY rngtypid;
\o pg_amop.tsv
SELECT oid, amopfamily, amoplefttype, amoprighttype, amopstrategy, amoppurpose, amopopr, amopmethod, amopsortfamily FROM amop ORDER BY oid;
\o pg_amproc.tsv
SELECT oid, amprocfamily, amproclefttype, amprocrighttype, amprocnum, amproc::oid FROM amproc ORDER BY oid;
\o pg_aggregate.tsv
SELECT aggfnoid::oid, aggkind, aggnumdirectargs, aggtransfn::oid, aggfinalfn::oid, aggcombinefn::oid, aggserialfn::oid, aggdeserialfn::oid,
    aggmtransfn::oid, aggminvtransfn::oid, aggmfinalfn::oid, aggfinalextra, aggmfinalextra, aggfinalmodify, aggmfinalmodify, aggsortop,
    aggtranstype, aggtransspace, aggmtranstype, aggmtransspace, agginitval, aggminitval
FROM aggregate ORDER BY aggfnoid;
\o
