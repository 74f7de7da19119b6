//! min and max, by SQL order.

use super::{Definition, Rows, plain};
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

pub(super) const AGGREGATES: &[Definition] = &[
    plain("min(int2) int2", min),
    plain("min(int4) int4", min),
    plain("min(int8) int8", min),
    plain("min(oid) oid", min),
    plain("min(float4) float4", min),
    plain("min(float8) float8", min),
    plain("min(numeric) numeric", min),
    plain("min(text) text", min),
    plain("min(bpchar) bpchar", min),
    plain("min(date) date", min),
    plain("min(time) time", min),
    plain("min(timestamp) timestamp", min),
    plain("min(timestamptz) timestamptz", min),
    plain("min(interval) interval", min),
    plain("min(anyarray) anyarray", min),
    plain("min(anyenum) anyenum", min),
    plain("max(int2) int2", max),
    plain("max(int4) int4", max),
    plain("max(int8) int8", max),
    plain("max(oid) oid", max),
    plain("max(float4) float4", max),
    plain("max(float8) float8", max),
    plain("max(numeric) numeric", max),
    plain("max(text) text", max),
    plain("max(bpchar) bpchar", max),
    plain("max(date) date", max),
    plain("max(time) time", max),
    plain("max(timestamp) timestamp", max),
    plain("max(timestamptz) timestamptz", max),
    plain("max(interval) interval", max),
    plain("max(anyarray) anyarray", max),
    plain("max(anyenum) anyenum", max),
];
