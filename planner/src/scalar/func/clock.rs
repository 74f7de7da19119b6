//! What time it is: for the transaction, the statement, and now.

use super::arguments::int4;
use super::{FunctionDefinition, strict};
use crate::scalar::cast::{timestamp_to_date, utc_to_local};
use crate::scalar::{Answer, EvalContext};
use repr::datetime::{DAY_MICROS, round_to_precision};
use repr::{Datum, TimeTz, ValueError};

fn precision(args: &[Datum]) -> Result<i32, ValueError> {
    args.first().map_or(Ok(-1), |digits| int4(digits).map(|digits| digits.clamp(0, 6)))
}

fn transaction(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let now = ctx.environment.transaction_timestamp();
    Ok(Datum::Timestamptz(round_to_precision(now, precision(args)?)))
}

fn local(ctx: &EvalContext) -> Result<i64, ValueError> {
    utc_to_local(ctx.environment.transaction_timestamp(), &ctx.zone())
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("now() timestamptz", |ctx, a, _| transaction(ctx, a)).stable(),
    strict("transaction_timestamp() timestamptz", |ctx, a, _| transaction(ctx, a)).stable(),
    strict("current_timestamp() timestamptz", |ctx, a, _| transaction(ctx, a)).stable(),
    strict("current_timestamp(int4) timestamptz", |ctx, a, _| transaction(ctx, a)).stable(),
    strict("statement_timestamp() timestamptz", |ctx, _, _| {
        Ok(Datum::Timestamptz(ctx.environment.statement_timestamp()))
    })
    .stable(),
    strict("clock_timestamp() timestamptz", |ctx, _, _| Ok(Datum::Timestamptz(ctx.environment.clock_timestamp())))
        .volatile(),
    strict("current_time(int4?) timetz", |ctx, a, _| {
        let now = TimeTz::of_moment(ctx.environment.transaction_timestamp(), &ctx.zone());
        Ok(Datum::TimeTz(now.rounded(precision(a)?)))
    })
    .stable(),
    strict("localtimestamp(int4?) timestamp", |ctx, a, _| {
        Ok(Datum::Timestamp(round_to_precision(local(ctx)?, precision(a)?)))
    })
    .stable(),
    strict("localtime(int4?) time", |ctx, a, _| {
        Ok(Datum::Time(round_to_precision(local(ctx)?.rem_euclid(DAY_MICROS), precision(a)?)))
    })
    .stable(),
    strict("current_date() date", |ctx, _, _| Ok(Datum::Date(timestamp_to_date(local(ctx)?)))).stable(),
    strict("timeofday() text", |ctx, _, _| {
        let now = ctx.environment.clock_timestamp();
        let shown = repr::to_char::timestamptz_to_char(now, &ctx.zone(), "Dy Mon DD HH24:MI:SS.US YYYY TZ")?;
        Ok(shown.map_or(Datum::Null, Datum::text))
    })
    .volatile(),
];
