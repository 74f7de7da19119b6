//! Functions that act in their session or on others: advisory locks, notifications, transaction numbers, signals. What they do is
//! the environment's.

use super::arguments::{integer, string, text, truth, vector};
use super::{FunctionDefinition, lenient, strict};
use crate::scalar::env::session_acts::{AdvisoryKey, AdvisoryLock, AdvisoryScope};
use crate::scalar::{Answer, EvalContext};
use repr::{Datum, ValueError};
use std::time::Duration;

/// Functions that last until the transaction's end, so that a query that calls one has a transaction.
pub(crate) fn acts_in_transaction(name: &str) -> bool {
    name.starts_with("pg_advisory_xact_")
        || name.starts_with("pg_try_advisory_xact_")
        || matches!(name, "pg_notify" | "txid_current" | "pg_current_xact_id" | "pg_export_snapshot")
}

/// One number is cut in two, two stay what they are.
fn advisory_key(ctx: &EvalContext, args: &[Datum]) -> Result<AdvisoryKey, ValueError> {
    let database = ctx.environment.database_id();
    let first = integer(&args[0])?;
    Ok(match args.get(1) {
        Some(second) => AdvisoryKey { database, class: first as u32, object: integer(second)? as u32, form: 2 },
        None => AdvisoryKey { database, class: (first >> 32) as u32, object: first as u32, form: 1 },
    })
}

const EXCLUSIVE: bool = false;
const SHARED: bool = true;
const WAITS: bool = true;
const TRIES: bool = false;

fn lock(ctx: &EvalContext, args: &[Datum], shared: bool, scope: AdvisoryScope, waits: bool) -> Answer {
    let wish = AdvisoryLock { key: advisory_key(ctx, args)?, shared, scope, waits };
    let taken = ctx.environment.acts()?.advisory_lock(&wish)?;
    if waits { string("") } else { truth(taken) }
}

fn unlock(ctx: &EvalContext, args: &[Datum], shared: bool) -> Answer {
    truth(ctx.environment.acts()?.advisory_unlock(advisory_key(ctx, args)?, shared)?)
}

/// NULL is the empty string, which no channel is called.
fn notify(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let said = |arg: &Datum| if arg.is_null() { Ok(String::new()) } else { text(arg).map(str::to_owned) };
    ctx.environment.acts()?.notify(&said(&args[0])?, &said(&args[1])?)?;
    string("")
}

fn transaction_number(ctx: &EvalContext, only_if_given: bool) -> Answer {
    let number = ctx.environment.acts()?.transaction_number(only_if_given)?;
    Ok(number.map_or(Datum::Null, Datum::Unsigned))
}

/// Of old they are signed.
fn signed_transaction_number(ctx: &EvalContext, only_if_given: bool) -> Answer {
    Ok(match transaction_number(ctx, only_if_given)? {
        Datum::Unsigned(number) => Datum::Int8(i64::try_from(number).unwrap_or(i64::MAX)),
        other => other,
    })
}

fn backend(arg: &Datum) -> Result<i32, ValueError> {
    Ok(i32::try_from(integer(arg)?).unwrap_or(0))
}

fn terminate(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let milliseconds = args.get(1).map_or(Ok(0), integer)?;
    let wait = u64::try_from(milliseconds).map_err(|_| ValueError::new("22003", "\"timeout\" must not be negative"))?;
    truth(ctx.environment.acts()?.terminate_backend(backend(&args[0])?, Duration::from_millis(wait))?)
}

use AdvisoryScope::{Session, Transaction};

/// Two signatures of each: one number, or two.
pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("pg_advisory_lock(int8) void", |ctx, a, _| lock(ctx, a, EXCLUSIVE, Session, WAITS)).volatile(),
    strict("pg_advisory_lock(int4, int4) void", |ctx, a, _| lock(ctx, a, EXCLUSIVE, Session, WAITS)).volatile(),
    strict("pg_advisory_lock_shared(int8) void", |ctx, a, _| lock(ctx, a, SHARED, Session, WAITS)).volatile(),
    strict("pg_advisory_lock_shared(int4, int4) void", |ctx, a, _| lock(ctx, a, SHARED, Session, WAITS)).volatile(),
    strict("pg_try_advisory_lock(int8) bool", |ctx, a, _| lock(ctx, a, EXCLUSIVE, Session, TRIES)).volatile(),
    strict("pg_try_advisory_lock(int4, int4) bool", |ctx, a, _| lock(ctx, a, EXCLUSIVE, Session, TRIES)).volatile(),
    strict("pg_try_advisory_lock_shared(int8) bool", |ctx, a, _| lock(ctx, a, SHARED, Session, TRIES)).volatile(),
    strict("pg_try_advisory_lock_shared(int4, int4) bool", |ctx, a, _| lock(ctx, a, SHARED, Session, TRIES)).volatile(),
    strict("pg_advisory_xact_lock(int8) void", |ctx, a, _| lock(ctx, a, EXCLUSIVE, Transaction, WAITS)).volatile(),
    strict("pg_advisory_xact_lock(int4, int4) void", |ctx, a, _| lock(ctx, a, EXCLUSIVE, Transaction, WAITS))
        .volatile(),
    strict("pg_advisory_xact_lock_shared(int8) void", |ctx, a, _| lock(ctx, a, SHARED, Transaction, WAITS)).volatile(),
    strict("pg_advisory_xact_lock_shared(int4, int4) void", |ctx, a, _| lock(ctx, a, SHARED, Transaction, WAITS))
        .volatile(),
    strict("pg_try_advisory_xact_lock(int8) bool", |ctx, a, _| lock(ctx, a, EXCLUSIVE, Transaction, TRIES)).volatile(),
    strict("pg_try_advisory_xact_lock(int4, int4) bool", |ctx, a, _| lock(ctx, a, EXCLUSIVE, Transaction, TRIES))
        .volatile(),
    strict("pg_try_advisory_xact_lock_shared(int8) bool", |ctx, a, _| lock(ctx, a, SHARED, Transaction, TRIES))
        .volatile(),
    strict("pg_try_advisory_xact_lock_shared(int4, int4) bool", |ctx, a, _| lock(ctx, a, SHARED, Transaction, TRIES))
        .volatile(),
    strict("pg_advisory_unlock(int8) bool", |ctx, a, _| unlock(ctx, a, EXCLUSIVE)).volatile(),
    strict("pg_advisory_unlock(int4, int4) bool", |ctx, a, _| unlock(ctx, a, EXCLUSIVE)).volatile(),
    strict("pg_advisory_unlock_shared(int8) bool", |ctx, a, _| unlock(ctx, a, SHARED)).volatile(),
    strict("pg_advisory_unlock_shared(int4, int4) bool", |ctx, a, _| unlock(ctx, a, SHARED)).volatile(),
    strict("pg_advisory_unlock_all() void", |ctx, _, _| {
        ctx.environment.acts()?.advisory_unlock_all();
        string("")
    })
    .volatile(),
    strict("txid_current() int8", |ctx, _, _| signed_transaction_number(ctx, false)).volatile(),
    strict("pg_current_xact_id() xid8", |ctx, _, _| transaction_number(ctx, false)).volatile(),
    strict("txid_current_if_assigned() int8", |ctx, _, _| signed_transaction_number(ctx, true)).volatile(),
    strict("pg_current_xact_id_if_assigned() xid8", |ctx, _, _| transaction_number(ctx, true)).volatile(),
    strict("pg_export_snapshot() text", |ctx, _, _| string(ctx.environment.acts()?.export_snapshot()?)).volatile(),
    strict("pg_cancel_backend(int4) bool", |ctx, a, _| truth(ctx.environment.acts()?.cancel_backend(backend(&a[0])?)?))
        .volatile(),
    strict("pg_terminate_backend(int4, int8?) bool", |ctx, a, _| terminate(ctx, a)).volatile(),
    strict("pg_reload_conf() bool", |ctx, _, _| truth(ctx.environment.acts()?.reload_configuration()?)).volatile(),
    strict("rotate_keys() int8", |ctx, _, _| Ok(Datum::Int8(ctx.environment.acts()?.rotate_keys()?))).volatile(),
    strict("rotate_root_key() int8", |ctx, _, _| Ok(Datum::Int8(ctx.environment.acts()?.rotate_root_key()?)))
        .volatile(),
    strict("pg_blocking_pids(int4) int4[]", |ctx, a, _| {
        vector(ctx.environment.acts()?.blocking(backend(&a[0])?).into_iter().map(Datum::Int4).collect())
    })
    .volatile(),
    lenient("pg_notify(text, text) void", |ctx, a, _| notify(ctx, a)).volatile(),
    strict("pg_notification_queue_usage() float8", |ctx, _, _| {
        Ok(Datum::Float8(ctx.environment.acts()?.notification_queue_usage()))
    })
    .volatile(),
];
