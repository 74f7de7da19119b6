//! pg_stat_get_…: counters of use, as pg_stat_all_tables, pg_stat_all_indexes and pg_stat_database show them to whoever asks. What
//! these do not count stays at 0.

use super::super::arguments::oid;
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use crate::system;
use repr::{Datum, ScalarType};

/// A column of the row that has that OID in a relation's column; NULL if there is no such row.
fn shown(ctx: &EvalContext, relation: &str, key: &str, id: u32, column: &str) -> Option<Datum> {
    let relation = system::find("pg_catalog", relation)?;
    let place = |name: &str| relation.columns.iter().position(|column| column.name == name);
    let (key, column) = (place(key)?, place(column)?);
    let rows = system::rows(relation.id, ctx.environment.catalog(), &*ctx.environment, &[(key, Datum::Oid(id))]);
    let mut rows = rows.iter().map(repr::Row::unpack);
    rows.find(|row| row.get(key) == Some(&Datum::Oid(id)))?.get(column).cloned()
}

/// Of a table, or of an index if it has one of that name: 0 of anything else.
fn of_relation(ctx: &EvalContext, arg: &Datum, of_table: &str, of_index: Option<&str>) -> Answer {
    let id = oid(arg)?;
    let index = of_index.and_then(|column| shown(ctx, "pg_stat_all_indexes", "indexrelid", id, column));
    let found = index.or_else(|| shown(ctx, "pg_stat_all_tables", "relid", id, of_table));
    Ok(found.filter(|found| !found.is_null()).unwrap_or(Datum::Int8(0)))
}

fn of_database(ctx: &EvalContext, arg: &Datum, column: &str, none: Datum) -> Answer {
    Ok(shown(ctx, "pg_stat_database", "datid", oid(arg)?, column).unwrap_or(none))
}

fn none(_: &EvalContext, _: &[Datum], _: &ScalarType) -> Answer {
    Ok(Datum::Int8(0))
}

fn never(_: &EvalContext, _: &[Datum], _: &ScalarType) -> Answer {
    Ok(Datum::Null)
}

pub(in super::super) const STATISTICS: &[FunctionDefinition] = &[
    strict("pg_stat_get_numscans(oid) int8", |ctx, a, _| of_relation(ctx, &a[0], "seq_scan", Some("idx_scan")))
        .stable(),
    strict("pg_stat_get_tuples_returned(oid) int8", |ctx, a, _| {
        of_relation(ctx, &a[0], "seq_tup_read", Some("idx_tup_read"))
    })
    .stable(),
    strict("pg_stat_get_tuples_fetched(oid) int8", |ctx, a, _| {
        of_relation(ctx, &a[0], "idx_tup_fetch", Some("idx_tup_fetch"))
    })
    .stable(),
    strict("pg_stat_get_tuples_inserted(oid) int8", |ctx, a, _| of_relation(ctx, &a[0], "n_tup_ins", None)).stable(),
    strict("pg_stat_get_tuples_updated(oid) int8", |ctx, a, _| of_relation(ctx, &a[0], "n_tup_upd", None)).stable(),
    strict("pg_stat_get_tuples_deleted(oid) int8", |ctx, a, _| of_relation(ctx, &a[0], "n_tup_del", None)).stable(),
    strict("pg_stat_get_tuples_hot_updated(oid) int8", none).stable(),
    strict("pg_stat_get_live_tuples(oid) int8", |ctx, a, _| of_relation(ctx, &a[0], "n_live_tup", None)).stable(),
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
    strict("pg_stat_get_db_numbackends(oid) int4", |ctx, a, _| of_database(ctx, &a[0], "numbackends", Datum::Int4(0)))
        .stable(),
    strict("pg_stat_get_db_sessions(oid) int8", |ctx, a, _| of_database(ctx, &a[0], "sessions", Datum::Int8(0)))
        .stable(),
    strict("pg_stat_get_db_xact_commit(oid) int8", |ctx, a, _| of_database(ctx, &a[0], "xact_commit", Datum::Int8(0)))
        .stable(),
    strict("pg_stat_get_db_xact_rollback(oid) int8", |ctx, a, _| {
        of_database(ctx, &a[0], "xact_rollback", Datum::Int8(0))
    })
    .stable(),
    strict("pg_stat_get_db_blocks_fetched(oid) int8", none).stable(),
    strict("pg_stat_get_db_blocks_hit(oid) int8", none).stable(),
    strict("pg_stat_get_db_tuples_returned(oid) int8", |ctx, a, _| {
        of_database(ctx, &a[0], "tup_returned", Datum::Int8(0))
    })
    .stable(),
    strict("pg_stat_get_db_tuples_fetched(oid) int8", |ctx, a, _| {
        of_database(ctx, &a[0], "tup_fetched", Datum::Int8(0))
    })
    .stable(),
    strict("pg_stat_get_db_tuples_inserted(oid) int8", |ctx, a, _| {
        of_database(ctx, &a[0], "tup_inserted", Datum::Int8(0))
    })
    .stable(),
    strict("pg_stat_get_db_tuples_updated(oid) int8", |ctx, a, _| {
        of_database(ctx, &a[0], "tup_updated", Datum::Int8(0))
    })
    .stable(),
    strict("pg_stat_get_db_tuples_deleted(oid) int8", |ctx, a, _| {
        of_database(ctx, &a[0], "tup_deleted", Datum::Int8(0))
    })
    .stable(),
    strict("pg_stat_get_db_conflict_all(oid) int8", none).stable(),
    strict("pg_stat_get_db_temp_files(oid) int8", none).stable(),
    strict("pg_stat_get_db_temp_bytes(oid) int8", none).stable(),
    strict("pg_stat_get_db_deadlocks(oid) int8", none).stable(),
    strict("pg_stat_get_db_stat_reset_time(oid) timestamptz", |ctx, a, _| {
        of_database(ctx, &a[0], "stats_reset", Datum::Null)
    })
    .stable(),
];
