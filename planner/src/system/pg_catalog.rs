//! The relations of pg_catalog and their columns, as PostgreSQL 15 has them. Types that we do not have
//! (node trees, ACLs, LSNs, addresses) are text here. Generated from a running PostgreSQL; only data.

/// (name, OID, columns) of pg_catalog, by name.
pub(super) const RELATIONS: &[(&str, u32, &str)] = &[
    (
        "pg_aggregate",
        2600,
        "aggfnoid regproc, aggkind char, aggnumdirectargs int2, aggtransfn regproc, \
     aggfinalfn regproc, aggcombinefn regproc, aggserialfn regproc, aggdeserialfn regproc, \
     aggmtransfn regproc, aggminvtransfn regproc, aggmfinalfn regproc, aggfinalextra bool, \
     aggmfinalextra bool, aggfinalmodify char, aggmfinalmodify char, aggsortop oid, \
     aggtranstype oid, aggtransspace int4, aggmtranstype oid, aggmtransspace int4, \
     agginitval text, aggminitval text",
    ),
    ("pg_am", 2601, "oid oid, amname name, amhandler regproc, amtype char"),
    (
        "pg_amop",
        2602,
        "oid oid, amopfamily oid, amoplefttype oid, amoprighttype oid, amopstrategy int2, \
     amoppurpose char, amopopr oid, amopmethod oid, amopsortfamily oid",
    ),
    (
        "pg_amproc",
        2603,
        "oid oid, amprocfamily oid, amproclefttype oid, amprocrighttype oid, amprocnum int2, \
     amproc regproc",
    ),
    ("pg_attrdef", 2604, "oid oid, adrelid oid, adnum int2, adbin text"),
    (
        "pg_attribute",
        1249,
        "attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2, attnum int2, \
     attndims int4, attcacheoff int4, atttypmod int4, attbyval bool, attalign char, \
     attstorage char, attcompression char, attnotnull bool, atthasdef bool, atthasmissing bool, \
     attidentity char, attgenerated char, attisdropped bool, attislocal bool, attinhcount int4, \
     attcollation oid, attacl _aclitem, attoptions _text, attfdwoptions _text, attmissingval _text",
    ),
    ("pg_auth_members", 1261, "roleid oid, member oid, grantor oid, admin_option bool"),
    (
        "pg_authid",
        1260,
        "oid oid, rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, \
     rolcreatedb bool, rolcanlogin bool, rolreplication bool, rolbypassrls bool, \
     rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz",
    ),
    (
        "pg_available_extension_versions",
        12085,
        "name name, version text, installed bool, superuser bool, trusted bool, relocatable bool, \
     schema name, requires _name, comment text",
    ),
    ("pg_available_extensions", 12081, "name name, default_version text, installed_version text, comment text"),
    ("pg_cast", 2605, "oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char, castmethod char"),
    (
        "pg_class",
        1259,
        "oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, relowner oid, \
     relam oid, relfilenode oid, reltablespace oid, relpages int4, reltuples float4, \
     relallvisible int4, reltoastrelid oid, relhasindex bool, relisshared bool, \
     relpersistence char, relkind char, relnatts int2, relchecks int2, relhasrules bool, \
     relhastriggers bool, relhassubclass bool, relrowsecurity bool, relforcerowsecurity bool, \
     relispopulated bool, relreplident char, relispartition bool, relrewrite oid, \
     relfrozenxid xid, relminmxid xid, relacl _aclitem, reloptions _text, relpartbound text",
    ),
    (
        "pg_collation",
        3456,
        "oid oid, collname name, collnamespace oid, collowner oid, collprovider char, \
     collisdeterministic bool, collencoding int4, collcollate text, collctype text, \
     colliculocale text, collversion text",
    ),
    (
        "pg_constraint",
        2606,
        "oid oid, conname name, connamespace oid, contype char, condeferrable bool, \
     condeferred bool, convalidated bool, conrelid oid, contypid oid, conindid oid, \
     conparentid oid, confrelid oid, confupdtype char, confdeltype char, confmatchtype char, \
     conislocal bool, coninhcount int4, connoinherit bool, conkey _int2, confkey _int2, \
     conpfeqop _oid, conppeqop _oid, conffeqop _oid, confdelsetcols _int2, conexclop _oid, \
     conbin text",
    ),
    (
        "pg_conversion",
        2607,
        "oid oid, conname name, connamespace oid, conowner oid, conforencoding int4, \
     contoencoding int4, conproc regproc, condefault bool",
    ),
    (
        "pg_cursors",
        12077,
        "name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, \
     creation_time timestamptz",
    ),
    (
        "pg_database",
        1262,
        "oid oid, datname name, datdba oid, encoding int4, datlocprovider char, datistemplate bool, \
     datallowconn bool, datconnlimit int4, datfrozenxid xid, datminmxid xid, dattablespace oid, \
     datcollate text, datctype text, daticulocale text, datcollversion text, datacl _aclitem",
    ),
    ("pg_db_role_setting", 2964, "setdatabase oid, setrole oid, setconfig _text"),
    ("pg_default_acl", 826, "oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype char, defaclacl _aclitem"),
    (
        "pg_depend",
        2608,
        "classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, refobjsubid int4, \
     deptype char",
    ),
    ("pg_description", 2609, "objoid oid, classoid oid, objsubid int4, description text"),
    ("pg_enum", 3501, "oid oid, enumtypid oid, enumsortorder float4, enumlabel name"),
    (
        "pg_event_trigger",
        3466,
        "oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled char, \
     evttags _text",
    ),
    (
        "pg_extension",
        3079,
        "oid oid, extname name, extowner oid, extnamespace oid, extrelocatable bool, \
     extversion text, extconfig _oid, extcondition _text",
    ),
    (
        "pg_foreign_data_wrapper",
        2328,
        "oid oid, fdwname name, fdwowner oid, fdwhandler oid, fdwvalidator oid, fdwacl _aclitem, \
     fdwoptions _text",
    ),
    (
        "pg_foreign_server",
        1417,
        "oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text, srvversion text, \
     srvacl _aclitem, srvoptions _text",
    ),
    ("pg_foreign_table", 3118, "ftrelid oid, ftserver oid, ftoptions _text"),
    ("pg_group", 12010, "groname name, grosysid oid, grolist _oid"),
    (
        "pg_hba_file_rules",
        super::HBA_RULES.0,
        "line_number int4, type text, database _text, user_name _text, address text, netmask text, \
     auth_method text, options _text, error text",
    ),
    (
        "pg_ident_file_mappings",
        super::IDENTITIES.0,
        "line_number int4, map_name text, sys_name text, pg_username text, error text",
    ),
    (
        "pg_index",
        2610,
        "indexrelid oid, indrelid oid, indnatts int2, indnkeyatts int2, indisunique bool, \
     indnullsnotdistinct bool, indisprimary bool, indisexclusion bool, indimmediate bool, \
     indisclustered bool, indisvalid bool, indcheckxmin bool, indisready bool, indislive bool, \
     indisreplident bool, indkey int2vector, indcollation oidvector, indclass oidvector, \
     indoption int2vector, indexprs text, indpred text",
    ),
    ("pg_indexes", 12043, "schemaname name, tablename name, indexname name, tablespace name, indexdef text"),
    ("pg_inherits", 2611, "inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool"),
    ("pg_init_privs", 3394, "objoid oid, classoid oid, objsubid int4, privtype char, initprivs _aclitem"),
    (
        "pg_language",
        2612,
        "oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool, lanplcallfoid oid, \
     laninline oid, lanvalidator oid, lanacl _aclitem",
    ),
    ("pg_largeobject", 2613, "loid oid, pageno int4, data bytea"),
    ("pg_largeobject_metadata", 2995, "oid oid, lomowner oid, lomacl _aclitem"),
    (
        "pg_locks",
        12073,
        "locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, \
     transactionid xid, classid oid, objid oid, objsubid int2, virtualtransaction text, \
     pid int4, mode text, granted bool, fastpath bool, waitstart timestamptz",
    ),
    (
        "pg_matviews",
        12038,
        "schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool, \
     ispopulated bool, definition text",
    ),
    ("pg_namespace", 2615, "oid oid, nspname name, nspowner oid, nspacl _aclitem"),
    (
        "pg_opclass",
        2616,
        "oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid, opcfamily oid, \
     opcintype oid, opcdefault bool, opckeytype oid",
    ),
    (
        "pg_operator",
        2617,
        "oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char, oprcanmerge bool, \
     oprcanhash bool, oprleft oid, oprright oid, oprresult oid, oprcom oid, oprnegate oid, \
     oprcode regproc, oprrest regproc, oprjoin regproc",
    ),
    ("pg_opfamily", 2753, "oid oid, opfmethod oid, opfname name, opfnamespace oid, opfowner oid"),
    ("pg_parameter_acl", 6243, "oid oid, parname text, paracl _aclitem"),
    (
        "pg_partitioned_table",
        3350,
        "partrelid oid, partstrat char, partnatts int2, partdefid oid, partattrs int2vector, \
     partclass oidvector, partcollation oidvector, partexprs text",
    ),
    (
        "pg_policies",
        12018,
        "schemaname name, tablename name, policyname name, permissive text, roles _name, cmd text, \
     qual text, with_check text",
    ),
    (
        "pg_policy",
        3256,
        "oid oid, polname name, polrelid oid, polcmd char, polpermissive bool, polroles _oid, \
     polqual text, polwithcheck text",
    ),
    (
        "pg_prepared_statements",
        12095,
        "name text, statement text, prepare_time timestamptz, parameter_types _regtype, \
     result_types _regtype, from_sql bool, generic_plans int8, custom_plans int8",
    ),
    ("pg_prepared_xacts", 12090, "transaction xid, gid text, prepared timestamptz, owner name, database name"),
    (
        "pg_proc",
        1255,
        "oid oid, proname name, pronamespace oid, proowner oid, prolang oid, procost float4, \
     prorows float4, provariadic oid, prosupport regproc, prokind char, prosecdef bool, \
     proleakproof bool, proisstrict bool, proretset bool, provolatile char, proparallel char, \
     pronargs int2, pronargdefaults int2, prorettype oid, proargtypes oidvector, \
     proallargtypes _oid, proargmodes _char, proargnames _text, proargdefaults text, \
     protrftypes _oid, prosrc text, probin text, prosqlbody text, proconfig _text, proacl _aclitem",
    ),
    (
        "pg_publication",
        6104,
        "oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool, \
     pubdelete bool, pubtruncate bool, pubviaroot bool",
    ),
    ("pg_publication_namespace", 6237, "oid oid, pnpubid oid, pnnspid oid"),
    ("pg_publication_rel", 6106, "oid oid, prpubid oid, prrelid oid, prqual text, prattrs int2vector"),
    ("pg_publication_tables", 12068, "pubname name, schemaname name, tablename name, attnames _name, rowfilter text"),
    (
        "pg_range",
        3541,
        "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, \
     rngcanonical regproc, rngsubdiff regproc",
    ),
    ("pg_replication_origin", 6000, "roident oid, roname text"),
    (
        "pg_replication_slots",
        12257,
        "slot_name name, plugin name, slot_type text, datoid oid, database name, temporary bool, \
     active bool, active_pid int4, xmin xid, catalog_xmin xid, restart_lsn text, \
     confirmed_flush_lsn text, wal_status text, safe_wal_size int8, two_phase bool",
    ),
    (
        "pg_rewrite",
        2618,
        "oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char, is_instead bool, \
     ev_qual text, ev_action text",
    ),
    (
        "pg_roles",
        12000,
        "rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, \
     rolcanlogin bool, rolreplication bool, rolconnlimit int4, rolpassword text, \
     rolvaliduntil timestamptz, rolbypassrls bool, rolconfig _text, oid oid",
    ),
    ("pg_rules", 12023, "schemaname name, tablename name, rulename name, definition text"),
    ("pg_seclabel", 3596, "objoid oid, classoid oid, objsubid int4, provider text, label text"),
    (
        "pg_seclabels",
        12099,
        "objoid oid, classoid oid, objsubid int4, objtype text, objnamespace oid, objname text, \
     provider text, label text",
    ),
    (
        "pg_sequence",
        2224,
        "seqrelid oid, seqtypid oid, seqstart int8, seqincrement int8, seqmax int8, seqmin int8, \
     seqcache int8, seqcycle bool",
    ),
    (
        "pg_sequences",
        12048,
        "schemaname name, sequencename name, sequenceowner name, data_type regtype, \
     start_value int8, min_value int8, max_value int8, increment_by int8, cycle bool, \
     cache_size int8, last_value int8",
    ),
    (
        "pg_settings",
        12104,
        "name text, setting text, unit text, category text, short_desc text, extra_desc text, \
     context text, vartype text, source text, min_val text, max_val text, enumvals _text, \
     boot_val text, reset_val text, sourcefile text, sourceline int4, pending_restart bool",
    ),
    (
        "pg_shadow",
        12005,
        "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, \
     usebypassrls bool, passwd text, valuntil timestamptz, useconfig _text",
    ),
    (
        "pg_shdepend",
        1214,
        "dbid oid, classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, \
     deptype char",
    ),
    ("pg_shdescription", 2396, "objoid oid, classoid oid, description text"),
    ("pg_shseclabel", 3592, "objoid oid, classoid oid, provider text, label text"),
    (
        "pg_stat_activity",
        12222,
        "datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, \
     application_name text, client_addr inet, client_hostname text, client_port int4, \
     backend_start timestamptz, xact_start timestamptz, query_start timestamptz, \
     state_change timestamptz, wait_event_type text, wait_event text, state text, \
     backend_xid xid, backend_xmin xid, query_id int8, query text, backend_type text",
    ),
    (
        "pg_stat_all_indexes",
        12183,
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, \
     idx_tup_read int8, idx_tup_fetch int8",
    ),
    (
        "pg_stat_all_tables",
        12142,
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, \
     idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, \
     n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, \
     last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz, \
     last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8, \
     autoanalyze_count int8",
    ),
    (
        "pg_stat_database",
        12266,
        "datid oid, datname name, numbackends int4, xact_commit int8, xact_rollback int8, \
     blks_read int8, blks_hit int8, tup_returned int8, tup_fetched int8, tup_inserted int8, \
     tup_updated int8, tup_deleted int8, conflicts int8, temp_files int8, temp_bytes int8, \
     deadlocks int8, checksum_failures int8, checksum_last_failure timestamptz, \
     blk_read_time float8, blk_write_time float8, session_time float8, active_time float8, \
     idle_in_transaction_time float8, sessions int8, sessions_abandoned int8, \
     sessions_fatal int8, sessions_killed int8, stats_reset timestamptz",
    ),
    ("pg_stat_gssapi", 12253, "pid int4, gss_authenticated bool, principal text, encrypted bool"),
    (
        "pg_stat_progress_copy",
        12322,
        "pid int4, datid oid, datname name, relid oid, command text, type text, \
     bytes_processed int8, bytes_total int8, tuples_processed int8, tuples_excluded int8",
    ),
    (
        "pg_stat_progress_create_index",
        12312,
        "pid int4, datid oid, datname name, relid oid, index_relid oid, command text, phase text, \
     lockers_total int8, lockers_done int8, current_locker_pid int8, blocks_total int8, \
     blocks_done int8, tuples_total int8, tuples_done int8, partitions_total int8, \
     partitions_done int8",
    ),
    (
        "pg_stat_replication",
        12227,
        "pid int4, usesysid oid, usename name, application_name text, client_addr inet, \
     client_hostname text, client_port int4, backend_start timestamptz, backend_xmin xid, \
     state text, sent_lsn text, write_lsn text, flush_lsn text, replay_lsn text, \
     write_lag interval, flush_lag interval, replay_lag interval, sync_priority int4, \
     sync_state text, reply_time timestamptz",
    ),
    (
        "pg_stat_user_indexes",
        12192,
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, \
     idx_tup_read int8, idx_tup_fetch int8",
    ),
    (
        "pg_stat_user_tables",
        12161,
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, \
     idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, \
     n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, \
     last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz, \
     last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8, \
     autoanalyze_count int8",
    ),
    (
        "pg_statio_all_tables",
        12170,
        "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, \
     idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, \
     tidx_blks_read int8, tidx_blks_hit int8",
    ),
    (
        "pg_statio_user_tables",
        12179,
        "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, \
     idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, \
     tidx_blks_read int8, tidx_blks_hit int8",
    ),
    (
        "pg_statistic",
        2619,
        "starelid oid, staattnum int2, stainherit bool, stanullfrac float4, stawidth int4, \
     stadistinct float4, stakind1 int2, stakind2 int2, stakind3 int2, stakind4 int2, \
     stakind5 int2, staop1 oid, staop2 oid, staop3 oid, staop4 oid, staop5 oid, stacoll1 oid, \
     stacoll2 oid, stacoll3 oid, stacoll4 oid, stacoll5 oid, stanumbers1 _float4, \
     stanumbers2 _float4, stanumbers3 _float4, stanumbers4 _float4, stanumbers5 _float4, \
     stavalues1 _text, stavalues2 _text, stavalues3 _text, stavalues4 _text, stavalues5 _text",
    ),
    (
        "pg_statistic_ext",
        3381,
        "oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, stxstattarget int4, \
     stxkeys int2vector, stxkind _char, stxexprs text",
    ),
    (
        "pg_statistic_ext_data",
        3429,
        "stxoid oid, stxdinherit bool, stxdndistinct text, stxddependencies text, stxdmcv text, \
     stxdexpr text",
    ),
    (
        "pg_stats",
        12053,
        "schemaname name, tablename name, attname name, inherited bool, null_frac float4, \
     avg_width int4, n_distinct float4, most_common_vals _text, most_common_freqs _float4, \
     histogram_bounds _text, correlation float4, most_common_elems _text, \
     most_common_elem_freqs _float4, elem_count_histogram _float4",
    ),
    (
        "pg_subscription",
        6100,
        "oid oid, subdbid oid, subskiplsn text, subname name, subowner oid, subenabled bool, \
     subbinary bool, substream bool, subtwophasestate char, subdisableonerr bool, \
     subconninfo text, subslotname name, subsynccommit text, subpublications _text",
    ),
    ("pg_subscription_rel", 6102, "srsubid oid, srrelid oid, srsubstate char, srsublsn text"),
    (
        "pg_tables",
        12033,
        "schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, \
     hasrules bool, hastriggers bool, rowsecurity bool",
    ),
    ("pg_tablespace", 1213, "oid oid, spcname name, spcowner oid, spcacl _aclitem, spcoptions _text"),
    ("pg_timezone_names", 12126, "name text, abbrev text, utc_offset interval, is_dst bool"),
    ("pg_transform", 3576, "oid oid, trftype oid, trflang oid, trffromsql regproc, trftosql regproc"),
    (
        "pg_trigger",
        2620,
        "oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype int2, tgenabled char, \
     tgisinternal bool, tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, \
     tgdeferrable bool, tginitdeferred bool, tgnargs int2, tgattr int2vector, tgargs bytea, \
     tgqual text, tgoldtable name, tgnewtable name",
    ),
    ("pg_ts_config", 3602, "oid oid, cfgname name, cfgnamespace oid, cfgowner oid, cfgparser oid"),
    ("pg_ts_config_map", 3603, "mapcfg oid, maptokentype int4, mapseqno int4, mapdict oid"),
    (
        "pg_ts_dict",
        3600,
        "oid oid, dictname name, dictnamespace oid, dictowner oid, dicttemplate oid, \
     dictinitoption text",
    ),
    (
        "pg_ts_parser",
        3601,
        "oid oid, prsname name, prsnamespace oid, prsstart regproc, prstoken regproc, \
     prsend regproc, prsheadline regproc, prslextype regproc",
    ),
    ("pg_ts_template", 3764, "oid oid, tmplname name, tmplnamespace oid, tmplinit regproc, tmpllexize regproc"),
    (
        "pg_type",
        1247,
        "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, typbyval bool, \
     typtype char, typcategory char, typispreferred bool, typisdefined bool, typdelim char, \
     typrelid oid, typsubscript regproc, typelem oid, typarray oid, typinput regproc, \
     typoutput regproc, typreceive regproc, typsend regproc, typmodin regproc, \
     typmodout regproc, typanalyze regproc, typalign char, typstorage char, typnotnull bool, \
     typbasetype oid, typtypmod int4, typndims int4, typcollation oid, typdefaultbin text, \
     typdefault text, typacl _aclitem",
    ),
    (
        "pg_user",
        12014,
        "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, \
     usebypassrls bool, passwd text, valuntil timestamptz, useconfig _text",
    ),
    ("pg_user_mapping", 1418, "oid oid, umuser oid, umserver oid, umoptions _text"),
    ("pg_user_mappings", 12327, "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions _text"),
    ("pg_views", 12028, "schemaname name, viewname name, viewowner name, definition text"),
];
