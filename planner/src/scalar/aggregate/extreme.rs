//! min and max, by SQL order.

use super::{AggregateDefinition, Rows, plain};
use crate::scalar::EvalContext;
use repr::{Datum, ScalarType, ValueError};
use std::cmp::Ordering;

fn extreme(rows: Rows<'_, '_>, wanted: Ordering) -> Datum {
    let mut best: Option<&Datum> = None;
    for (args, _) in rows {
        if best.is_none_or(|best| args[0].sql_cmp(best) == wanted) {
            best = Some(&args[0]);
        }
    }
    best.cloned().unwrap_or(Datum::Null)
}

fn min(_: &EvalContext, rows: Rows<'_, '_>, _: &ScalarType) -> Result<Datum, ValueError> {
    Ok(extreme(rows, Ordering::Less))
}

fn max(_: &EvalContext, rows: Rows<'_, '_>, _: &ScalarType) -> Result<Datum, ValueError> {
    Ok(extreme(rows, Ordering::Greater))
}

const fn least(signature: &'static str) -> AggregateDefinition {
    let mut definition = plain(signature, min);
    definition.prefers_greater = Some(false);
    definition
}

const fn greatest(signature: &'static str) -> AggregateDefinition {
    let mut definition = plain(signature, max);
    definition.prefers_greater = Some(true);
    definition
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
    least("min(date) date"),
    least("min(time) time"),
    least("min(timestamp) timestamp"),
    least("min(timestamptz) timestamptz"),
    least("min(interval) interval"),
    least("min(anyarray) anyarray"),
    least("min(anyenum) anyenum"),
    greatest("max(int2) int2"),
    greatest("max(int4) int4"),
    greatest("max(int8) int8"),
    greatest("max(oid) oid"),
    greatest("max(float4) float4"),
    greatest("max(float8) float8"),
    greatest("max(numeric) numeric"),
    greatest("max(text) text"),
    greatest("max(bpchar) bpchar"),
    greatest("max(date) date"),
    greatest("max(time) time"),
    greatest("max(timestamp) timestamp"),
    greatest("max(timestamptz) timestamptz"),
    greatest("max(interval) interval"),
    greatest("max(anyarray) anyarray"),
    greatest("max(anyenum) anyenum"),
];
