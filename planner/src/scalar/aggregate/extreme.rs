//! min and max, by SQL order.

use super::{AggregateDefinition, AggregateKind, definition};
use repr::Datum;
use std::cmp::Ordering;

/// The least of some values, or the greatest.
pub(super) fn extreme<'a>(values: impl Iterator<Item = &'a Datum>, greatest: bool) -> Datum {
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let better = |best: &'a Datum, value: &'a Datum| if value.sql_cmp(best) == wanted { value } else { best };
    values.reduce(better).cloned().unwrap_or(Datum::Null)
}

const fn least(signature: &'static str) -> AggregateDefinition {
    definition(signature, AggregateKind::Extreme { greatest: false })
}

const fn greatest(signature: &'static str) -> AggregateDefinition {
    definition(signature, AggregateKind::Extreme { greatest: true })
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    least("min(int2) int2"),
    least("min(int4) int4"),
    least("min(int8) int8"),
    least("min(oid) oid"),
    least("min(float4) float4"),
    least("min(float8) float8"),
    least("min(numeric) numeric"),
    least("min(text) text"),
    least("min(bpchar) bpchar"),
    least("min(citext) citext"),
    least("min(date) date"),
    least("min(time) time"),
    least("min(timetz) timetz"),
    least("min(timestamp) timestamp"),
    least("min(timestamptz) timestamptz"),
    least("min(interval) interval"),
    least("min(inet) inet"),
    least("min(money) money"),
    least("min(xid8) xid8"),
    least("min(pg_lsn) pg_lsn"),
    least("min(tid) tid"),
    least("min(anyarray) anyarray"),
    least("min(anyenum) anyenum"),
    least("MIN BY KEY(bytea) bytea"),
    greatest("max(int2) int2"),
    greatest("max(int4) int4"),
    greatest("max(int8) int8"),
    greatest("max(oid) oid"),
    greatest("max(float4) float4"),
    greatest("max(float8) float8"),
    greatest("max(numeric) numeric"),
    greatest("max(text) text"),
    greatest("max(bpchar) bpchar"),
    greatest("max(citext) citext"),
    greatest("max(date) date"),
    greatest("max(time) time"),
    greatest("max(timetz) timetz"),
    greatest("max(timestamp) timestamp"),
    greatest("max(timestamptz) timestamptz"),
    greatest("max(interval) interval"),
    greatest("max(inet) inet"),
    greatest("max(money) money"),
    greatest("max(xid8) xid8"),
    greatest("max(pg_lsn) pg_lsn"),
    greatest("max(tid) tid"),
    greatest("max(anyarray) anyarray"),
    greatest("max(anyenum) anyenum"),
    greatest("MAX BY KEY(bytea) bytea"),
];
