//! Positions in a log, transactions by their numbers, and which of them a snapshot shows: `pg_lsn`, `xid`, `xid8`, `pg_snapshot`.

use super::arguments::{int4, integer, numeric, oid, text, truth};
use super::{FunctionDefinition, lenient, strict};
use crate::scalar::Answer;
use repr::unsigned::TransactionSnapshot;
use repr::{Datum, Numeric, ValueError};

/// xid8, pg_lsn, tid
pub(crate) fn unsigned(arg: &Datum) -> Result<u64, ValueError> {
    match arg {
        Datum::Unsigned(value) => Ok(*value),
        _ => Err(ValueError::new("XX000", "a function got a value of another type than planned")),
    }
}

/// pg_snapshot, txid_snapshot
pub(crate) fn snapshot(arg: &Datum) -> Result<TransactionSnapshot, ValueError> {
    TransactionSnapshot::parse(text(arg)?)
}

fn lsn_of(number: &Numeric) -> Answer {
    let refused = |what: &str| Err(ValueError::new("0A000", format!("cannot convert {what} to pg_lsn")));
    match number {
        Numeric::NaN => return refused("NaN"),
        Numeric::Infinity | Numeric::NegativeInfinity => return refused("infinity"),
        Numeric::Finite { .. } => {}
    }
    let value = number.to_i128().ok().and_then(|value| u64::try_from(value).ok());
    value.map(Datum::Unsigned).ok_or_else(|| ValueError::new("22003", "pg_lsn out of range"))
}

fn as_number(lsn: &Datum) -> Result<Numeric, ValueError> {
    Ok(Numeric::from(i128::from(unsigned(lsn)?)))
}

fn distance(args: &[Datum]) -> Answer {
    Ok(Datum::Numeric(as_number(&args[0])?.sub(&as_number(&args[1])?)?))
}

fn moved(lsn: &Datum, by: &Datum, back: bool) -> Answer {
    let (lsn, by) = (as_number(lsn)?, numeric(by)?);
    if by.is_nan() {
        return Err(match back {
            true => ValueError::new("0A000", "cannot subtract NaN from pg_lsn"),
            false => ValueError::new("0A000", "cannot add NaN to pg_lsn"),
        });
    }
    lsn_of(&if back { lsn.sub(by)? } else { lsn.add(by)? })
}

/// A transaction's number and an integer of the same bits.
fn is_numbered(args: &[Datum]) -> Result<bool, ValueError> {
    Ok(oid(&args[0])? == int4(&args[1])?.cast_unsigned())
}

fn is_not_distinct(args: &[Datum]) -> Result<bool, ValueError> {
    match args.iter().filter(|arg| arg.is_null()).count() {
        0 => is_numbered(args),
        nulls => Ok(nulls == args.len()),
    }
}

fn whole(number: u64) -> Answer {
    Ok(Datum::Int8(i64::try_from(number).unwrap_or(i64::MAX)))
}

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("-(pg_lsn, pg_lsn) numeric", |_, a, _| distance(a)),
    strict("+(pg_lsn, numeric) pg_lsn", |_, a, _| moved(&a[0], &a[1], false)),
    strict("+(numeric, pg_lsn) pg_lsn", |_, a, _| moved(&a[1], &a[0], false)),
    strict("-(pg_lsn, numeric) pg_lsn", |_, a, _| moved(&a[0], &a[1], true)),
    strict("=(xid, int4) bool", |_, a, _| truth(is_numbered(a)?)),
    strict("<>(xid, int4) bool", |_, a, _| truth(!is_numbered(a)?)),
    lenient("IS NOT DISTINCT FROM(xid, int4) bool", |_, a, _| truth(is_not_distinct(a)?)),
    lenient("IS DISTINCT FROM(xid, int4) bool", |_, a, _| truth(!is_not_distinct(a)?)),
];

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("pg_lsn(numeric) pg_lsn", |_, a, _| lsn_of(numeric(&a[0])?)),
    strict("pg_wal_lsn_diff(pg_lsn, pg_lsn) numeric", |_, a, _| distance(a)),
    strict("pg_snapshot_xmin(pg_snapshot) xid8", |_, a, _| Ok(Datum::Unsigned(snapshot(&a[0])?.first_open))),
    strict("pg_snapshot_xmax(pg_snapshot) xid8", |_, a, _| Ok(Datum::Unsigned(snapshot(&a[0])?.end))),
    strict("pg_visible_in_snapshot(xid8, pg_snapshot) bool", |_, a, _| {
        Ok(Datum::Bool(snapshot(&a[1])?.shows(unsigned(&a[0])?)))
    }),
    strict("txid_snapshot_xmin(txid_snapshot) int8", |_, a, _| whole(snapshot(&a[0])?.first_open)),
    strict("txid_snapshot_xmax(txid_snapshot) int8", |_, a, _| whole(snapshot(&a[0])?.end)),
    strict("txid_visible_in_snapshot(int8, txid_snapshot) bool", |_, a, _| {
        Ok(Datum::Bool(snapshot(&a[1])?.shows(integer(&a[0])?.cast_unsigned())))
    }),
];
