//! pg_stat_get_…: counters of use. Nothing is counted: they stay where PostgreSQL's are without `track_counts`.

use super::super::arguments::oid;
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use repr::{Datum, ScalarType};

fn none(_: &EvalContext, _: &[Datum], _: &ScalarType) -> Answer {
    Ok(Datum::Int8(0))
}

fn never(_: &EvalContext, _: &[Datum], _: &ScalarType) -> Answer {
    Ok(Datum::Null)
}

/// OID of the one database.
const DATABASE: u32 = 5;

pub(in super::super) const STATISTICS: &[FunctionDefinition] = &[
    strict("pg_stat_get_numscans(oid) int8", none).stable(),
    strict("pg_stat_get_tuples_returned(oid) int8", none).stable(),
    strict("pg_stat_get_tuples_fetched(oid) int8", none).stable(),
    strict("pg_stat_get_tuples_inserted(oid) int8", none).stable(),
    strict("pg_stat_get_tuples_updated(oid) int8", none).stable(),
    strict("pg_stat_get_tuples_deleted(oid) int8", none).stable(),
    strict("pg_stat_get_tuples_hot_updated(oid) int8", none).stable(),
    strict("pg_stat_get_live_tuples(oid) int8", none).stable(),
    strict("pg_stat_get_dead_tuples(oid) int8", none).stable(),
    strict("pg_stat_get_mod_since_analyze(oid) int8", none).stable(),
    strict("pg_stat_get_ins_since_vacuum(oid) int8", none).stable(),
    strict("pg_stat_get_blocks_fetched(oid) int8", none).stable(),
    strict("pg_stat_get_blocks_hit(oid) int8", none).stable(),
    strict("pg_stat_get_vacuum_count(oid) int8", none).stable(),
    strict("pg_stat_get_autovacuum_count(oid) int8", none).stable(),
    strict("pg_stat_get_analyze_count(oid) int8", none).stable(),
    strict("pg_stat_get_autoanalyze_count(oid) int8", none).stable(),
    strict("pg_stat_get_last_vacuum_time(oid) timestamptz", never).stable(),
    strict("pg_stat_get_last_autovacuum_time(oid) timestamptz", never).stable(),
    strict("pg_stat_get_last_analyze_time(oid) timestamptz", never).stable(),
    strict("pg_stat_get_last_autoanalyze_time(oid) timestamptz", never).stable(),
    // As pg_stat_activity, which shows a session itself alone.
    strict("pg_stat_get_db_numbackends(oid) int4", |_, a, _| Ok(Datum::Int4(i32::from(oid(&a[0])? == DATABASE))))
        .stable(),
    strict("pg_stat_get_db_xact_commit(oid) int8", none).stable(),
    strict("pg_stat_get_db_xact_rollback(oid) int8", none).stable(),
    strict("pg_stat_get_db_blocks_fetched(oid) int8", none).stable(),
    strict("pg_stat_get_db_blocks_hit(oid) int8", none).stable(),
    strict("pg_stat_get_db_tuples_returned(oid) int8", none).stable(),
    strict("pg_stat_get_db_tuples_fetched(oid) int8", none).stable(),
    strict("pg_stat_get_db_tuples_inserted(oid) int8", none).stable(),
    strict("pg_stat_get_db_tuples_updated(oid) int8", none).stable(),
    strict("pg_stat_get_db_tuples_deleted(oid) int8", none).stable(),
    strict("pg_stat_get_db_conflict_all(oid) int8", none).stable(),
    strict("pg_stat_get_db_temp_files(oid) int8", none).stable(),
    strict("pg_stat_get_db_temp_bytes(oid) int8", none).stable(),
    strict("pg_stat_get_db_deadlocks(oid) int8", none).stable(),
    strict("pg_stat_get_db_stat_reset_time(oid) timestamptz", never).stable(),
];
