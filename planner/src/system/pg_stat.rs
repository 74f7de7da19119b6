//! The statistics relations of pg_catalog and their columns, as PostgreSQL 15 has them. Generated from a running PostgreSQL; only data.

/// (name, OID, columns) of pg_catalog's statistics, by name.
pub(super) const RELATIONS: &[(&str, u32, &str)] = &[
    (
        "pg_file_settings",
        12110,
        "sourcefile text, sourceline int4, seqno int4, name text, setting text, applied bool, error text",
    ),
    ("pg_replication_origin_status", 12332, "local_id oid, external_id text, remote_lsn text, local_lsn text"),
    (
        "pg_stat_archiver",
        12285,
        "archived_count int8, last_archived_wal text, last_archived_time timestamptz, failed_count int8, \
     last_failed_wal text, last_failed_time timestamptz, stats_reset timestamptz",
    ),
    (
        "pg_stat_bgwriter",
        12289,
        "checkpoints_timed int8, checkpoints_req int8, checkpoint_write_time float8, checkpoint_sync_time \
     float8, buffers_checkpoint int8, buffers_clean int8, maxwritten_clean int8, buffers_backend int8, \
     buffers_backend_fsync int8, buffers_alloc int8, stats_reset timestamptz",
    ),
    (
        "pg_stat_database_conflicts",
        12271,
        "datid oid, datname name, confl_tablespace int8, confl_lock int8, confl_snapshot int8, \
     confl_bufferpin int8, confl_deadlock int8",
    ),
    (
        "pg_stat_progress_analyze",
        12297,
        "pid int4, datid oid, datname name, relid oid, phase text, sample_blks_total int8, \
     sample_blks_scanned int8, ext_stats_total int8, ext_stats_computed int8, child_tables_total int8, \
     child_tables_done int8, current_child_table_relid oid",
    ),
    (
        "pg_stat_progress_basebackup",
        12317,
        "pid int4, phase text, backup_total int8, backup_streamed int8, tablespaces_total int8, \
     tablespaces_streamed int8",
    ),
    (
        "pg_stat_progress_cluster",
        12307,
        "pid int4, datid oid, datname name, relid oid, command text, phase text, cluster_index_relid oid, \
     heap_tuples_scanned int8, heap_tuples_written int8, heap_blks_total int8, heap_blks_scanned int8, \
     index_rebuild_count int8",
    ),
    (
        "pg_stat_progress_vacuum",
        12302,
        "pid int4, datid oid, datname name, relid oid, phase text, heap_blks_total int8, heap_blks_scanned \
     int8, heap_blks_vacuumed int8, index_vacuum_count int8, max_dead_tuples int8, num_dead_tuples int8",
    ),
    (
        "pg_stat_recovery_prefetch",
        12240,
        "stats_reset timestamptz, prefetch int8, hit int8, skip_init int8, skip_new int8, skip_fpw int8, \
     skip_rep int8, wal_distance int4, block_distance int4, io_depth int4",
    ),
    (
        "pg_stat_replication_slots",
        12262,
        "slot_name text, spill_txns int8, spill_count int8, spill_bytes int8, stream_txns int8, stream_count \
     int8, stream_bytes int8, total_txns int8, total_bytes int8, stats_reset timestamptz",
    ),
    (
        "pg_stat_slru",
        12232,
        "name text, blks_zeroed int8, blks_hit int8, blks_read int8, blks_written int8, blks_exists int8, \
     flushes int8, truncates int8, stats_reset timestamptz",
    ),
    (
        "pg_stat_ssl",
        12249,
        "pid int4, ssl bool, version text, cipher text, bits int4, client_dn text, client_serial numeric, \
     issuer_dn text",
    ),
    (
        "pg_stat_subscription",
        12244,
        "subid oid, subname name, pid int4, relid oid, received_lsn text, last_msg_send_time timestamptz, \
     last_msg_receipt_time timestamptz, latest_end_lsn text, latest_end_time timestamptz",
    ),
    (
        "pg_stat_subscription_stats",
        12336,
        "subid oid, subname name, apply_error_count int8, sync_error_count int8, stats_reset timestamptz",
    ),
    (
        "pg_stat_sys_indexes",
        12188,
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, \
     idx_tup_read int8, idx_tup_fetch int8",
    ),
    (
        "pg_stat_sys_tables",
        12152,
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, \
     idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup \
     int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, \
     last_autovacuum timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count \
     int8, autovacuum_count int8, analyze_count int8, autoanalyze_count int8",
    ),
    (
        "pg_stat_user_functions",
        12275,
        "funcid oid, schemaname name, funcname name, calls int8, total_time float8, self_time float8",
    ),
    (
        "pg_stat_wal",
        12293,
        "wal_records int8, wal_fpi int8, wal_bytes numeric, wal_buffers_full int8, wal_write int8, wal_sync \
     int8, wal_write_time float8, wal_sync_time float8, stats_reset timestamptz",
    ),
    (
        "pg_stat_wal_receiver",
        12236,
        "pid int4, status text, receive_start_lsn text, receive_start_tli int4, written_lsn text, flushed_lsn \
     text, received_tli int4, last_msg_send_time timestamptz, last_msg_receipt_time timestamptz, \
     latest_end_lsn text, latest_end_time timestamptz, slot_name text, sender_host text, sender_port \
     int4, conninfo text",
    ),
    (
        "pg_stat_xact_all_tables",
        12147,
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, \
     idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8",
    ),
    (
        "pg_stat_xact_sys_tables",
        12157,
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, \
     idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8",
    ),
    (
        "pg_stat_xact_user_functions",
        12280,
        "funcid oid, schemaname name, funcname name, calls int8, total_time float8, self_time float8",
    ),
    (
        "pg_stat_xact_user_tables",
        12166,
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, \
     idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8",
    ),
    (
        "pg_statio_all_indexes",
        12196,
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, \
     idx_blks_hit int8",
    ),
    ("pg_statio_all_sequences", 12209, "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8"),
    (
        "pg_statio_sys_indexes",
        12201,
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, \
     idx_blks_hit int8",
    ),
    ("pg_statio_sys_sequences", 12214, "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8"),
    (
        "pg_statio_sys_tables",
        12175,
        "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read \
     int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, \
     tidx_blks_hit int8",
    ),
    (
        "pg_statio_user_indexes",
        12205,
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, \
     idx_blks_hit int8",
    ),
    ("pg_statio_user_sequences", 12218, "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8"),
    (
        "pg_stats_ext",
        12058,
        "schemaname name, tablename name, statistics_schemaname name, statistics_name name, statistics_owner \
     name, attnames _name, exprs _text, kinds _char, inherited bool, n_distinct text, dependencies text, \
     most_common_vals _text, most_common_val_nulls _bool, most_common_freqs _float8, \
     most_common_base_freqs _float8",
    ),
    (
        "pg_stats_ext_exprs",
        12063,
        "schemaname name, tablename name, statistics_schemaname name, statistics_name name, statistics_owner \
     name, expr text, inherited bool, null_frac float4, avg_width int4, n_distinct float4, \
     most_common_vals _text, most_common_freqs _float4, histogram_bounds _text, correlation float4, \
     most_common_elems _text, most_common_elem_freqs _float4, elem_count_histogram _float4",
    ),
    ("pg_timezone_abbrevs", 12122, "abbrev text, utc_offset interval, is_dst bool"),
];
