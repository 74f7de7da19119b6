-- What PostgreSQL 15 says of the objects of an extension that is written here, under OIDs of our own.
-- psql -h … -d DATABASE_OF_ITS_OWN -X -v extension=citext -v own=2147418112 -v others=2147418127 -f ../record_extension.sql
--                                         hstore -v own=2147418114 -v others=2147418367
-- in the folder of its name; read what changed
\set QUIET on
\pset format unaligned
\pset fieldsep '\t'
\pset footer off
\pset null '\\N'
CREATE EXTENSION IF NOT EXISTS :"extension" WITH SCHEMA public;
SET search_path TO pg_catalog, public;
-- But for what belongs to GIN and GiST, and what is not here. The class and family of hstore's GIN stand by hand behind the others.
CREATE TEMP TABLE member AS SELECT classid, objid AS id FROM pg_depend
    WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = :'extension')
    AND pg_describe_object(classid, objid, 0) !~ '(ghstore|gin_|access method gi|hstore\(record\)|hstore_version_diag)';
-- The types have the OIDs that they have in storage/repr/src/types/table.rs; behind them come the others.
CREATE TEMP TABLE numbered AS
    SELECT oid AS id, 'pg_type'::regclass AS class, :own::oid AS ours FROM pg_type WHERE typname = :'extension'
    UNION ALL SELECT oid, 'pg_type', (:own + 1)::oid FROM pg_type WHERE typname = '_' || :'extension'
    UNION ALL SELECT id, class, (:others + row_number() OVER (ORDER BY class::oid, id))::int::oid FROM (
        SELECT id, classid::regclass AS class FROM member WHERE classid <> 'pg_type'::regclass
        UNION ALL SELECT oid, 'pg_amop' FROM pg_amop WHERE amopfamily IN (SELECT id FROM member)
        UNION ALL SELECT oid, 'pg_amproc' FROM pg_amproc WHERE amprocfamily IN (SELECT id FROM member)) AS others;
CREATE FUNCTION pg_temp.ours(oid) RETURNS oid LANGUAGE sql STABLE AS
    $$ SELECT coalesce((SELECT ours FROM numbered WHERE id = $1 LIMIT 1), $1) $$;
CREATE FUNCTION pg_temp.of(regclass) RETURNS SETOF oid LANGUAGE sql STABLE AS $$ SELECT id FROM numbered WHERE class = $1 $$;

\o pg_type.tsv
SELECT pg_temp.ours(oid) AS oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, pg_temp.ours(typsubscript::oid) AS typsubscript,
    pg_temp.ours(typelem) AS typelem, pg_temp.ours(typarray) AS typarray, pg_temp.ours(typinput::oid) AS typinput,
    pg_temp.ours(typoutput::oid) AS typoutput, pg_temp.ours(typreceive::oid) AS typreceive, pg_temp.ours(typsend::oid) AS typsend,
    typmodin::oid, typmodout::oid, typanalyze::oid, typalign, typstorage, typtypmod, typcollation
FROM pg_type WHERE oid IN (SELECT pg_temp.of('pg_type')) ORDER BY 1;
\o pg_proc.tsv
SELECT pg_temp.ours(oid) AS oid, proname, prolang, procost, prorows, provariadic, prosupport::oid, prokind, proleakproof, proisstrict, proretset,
    provolatile, proparallel, pronargs, pronargdefaults, pg_temp.ours(prorettype) AS prorettype,
    (SELECT coalesce(string_agg(pg_temp.ours(t)::text, ' ' ORDER BY n), '') FROM unnest(proargtypes) WITH ORDINALITY u (t, n)) AS proargtypes,
    proallargtypes, proargmodes, proargnames, regexp_replace(trim(prosrc, E' \n'), '\s+', ' ', 'g') AS prosrc, true AS named,
    CASE WHEN prokind = 'a' THEN pg_get_function_arguments(oid) END AS arguments
FROM pg_proc WHERE oid IN (SELECT pg_temp.of('pg_proc')) ORDER BY 1;
\o pg_operator.tsv
SELECT pg_temp.ours(oid) AS oid, oprname, oprkind, oprcanmerge, oprcanhash, pg_temp.ours(oprleft) AS oprleft, pg_temp.ours(oprright) AS oprright,
    pg_temp.ours(oprresult) AS oprresult, pg_temp.ours(oprcom) AS oprcom, pg_temp.ours(oprnegate) AS oprnegate, pg_temp.ours(oprcode::oid) AS oprcode, oprrest::oid, oprjoin::oid
FROM pg_operator WHERE oid IN (SELECT pg_temp.of('pg_operator')) ORDER BY 1;
\o pg_cast.tsv
SELECT pg_temp.ours(oid) AS oid, pg_temp.ours(castsource) AS castsource, pg_temp.ours(casttarget) AS casttarget, pg_temp.ours(castfunc) AS castfunc,
    castcontext, castmethod
FROM pg_cast WHERE oid IN (SELECT pg_temp.of('pg_cast')) ORDER BY 1;
\o pg_opfamily.tsv
SELECT pg_temp.ours(oid) AS oid, opfmethod, opfname FROM pg_opfamily WHERE oid IN (SELECT pg_temp.of('pg_opfamily')) ORDER BY 1;
\o pg_opclass.tsv
SELECT pg_temp.ours(oid) AS oid, opcmethod, opcname, pg_temp.ours(opcfamily) AS opcfamily, pg_temp.ours(opcintype) AS opcintype, opcdefault, opckeytype
FROM pg_opclass WHERE oid IN (SELECT pg_temp.of('pg_opclass')) ORDER BY 1;
\o pg_amop.tsv
SELECT pg_temp.ours(oid) AS oid, pg_temp.ours(amopfamily) AS amopfamily, pg_temp.ours(amoplefttype) AS amoplefttype,
    pg_temp.ours(amoprighttype) AS amoprighttype, amopstrategy, amoppurpose, pg_temp.ours(amopopr) AS amopopr, amopmethod, amopsortfamily
FROM pg_amop WHERE oid IN (SELECT pg_temp.of('pg_amop')) ORDER BY 1;
\o pg_amproc.tsv
SELECT pg_temp.ours(oid) AS oid, pg_temp.ours(amprocfamily) AS amprocfamily, pg_temp.ours(amproclefttype) AS amproclefttype,
    pg_temp.ours(amprocrighttype) AS amprocrighttype, amprocnum, pg_temp.ours(amproc::oid) AS amproc
FROM pg_amproc WHERE oid IN (SELECT pg_temp.of('pg_amproc')) ORDER BY 1;
\o pg_aggregate.tsv
SELECT pg_temp.ours(aggfnoid::oid) AS aggfnoid, aggkind, aggnumdirectargs, pg_temp.ours(aggtransfn::oid) AS aggtransfn, aggfinalfn::oid,
    pg_temp.ours(aggcombinefn::oid) AS aggcombinefn, aggserialfn::oid, aggdeserialfn::oid, aggmtransfn::oid, aggminvtransfn::oid, aggmfinalfn::oid,
    aggfinalextra, aggmfinalextra, aggfinalmodify, aggmfinalmodify, pg_temp.ours(aggsortop) AS aggsortop, pg_temp.ours(aggtranstype) AS aggtranstype,
    aggtransspace, aggmtranstype, aggmtransspace, agginitval, aggminitval
FROM pg_aggregate WHERE aggfnoid::oid IN (SELECT pg_temp.of('pg_proc')) ORDER BY 1;
\o
