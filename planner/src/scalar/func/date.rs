//! Dates, times, timestamps and intervals: arithmetic, fields, truncation, construction, time zones.

use super::arguments::{date, float, int4, integer, interval, text, time, time_tz, timestamp, truth};
use super::{FunctionDefinition, lenient, strict};
use crate::scalar::cast::{date_to_timestamp, local_to_utc, utc_to_local};
use crate::scalar::{Answer, EvalContext};
use repr::datetime::{self, Zone, arithmetic, check_timestamp, fields, is_infinite, is_infinite_date};
use repr::{Datum, Interval, Numeric, TimeTz, ValueError};

fn stamp(micros: i64) -> Answer {
    Ok(Datum::Timestamp(micros))
}

fn moment(micros: i64) -> Answer {
    Ok(Datum::Timestamptz(micros))
}

fn span(interval: Interval) -> Answer {
    Ok(Datum::Interval(interval))
}

/// A field as numeric (`extract`), or as a double (`date_part`).
fn field(found: Option<Numeric>, as_double: bool) -> Answer {
    Ok(match found {
        Some(value) if as_double => Datum::Float8(value.to_f64_lossy()),
        Some(value) => Datum::Numeric(value),
        None => Datum::Null,
    })
}

/// `date - interval` and its kin.
fn minus(interval: Interval) -> Result<Interval, ValueError> {
    interval.negate()
}

fn difference(left: i64, right: i64) -> Answer {
    if is_infinite(left) || is_infinite(right) {
        return Err(ValueError::new("22008", "cannot subtract infinite timestamps"));
    }
    span(arithmetic::timestamp_sub(left, right)?)
}

fn add(micros: i64, interval: &Interval) -> Result<i64, ValueError> {
    if is_infinite(micros) { Ok(micros) } else { arithmetic::timestamp_add(micros, interval) }
}

fn add_zoned(micros: i64, interval: &Interval, zone: &Zone) -> Result<i64, ValueError> {
    if is_infinite(micros) { Ok(micros) } else { arithmetic::timestamptz_add(micros, interval, zone) }
}

fn date_plus_time(days: i32, micros: i64) -> Answer {
    let midnight = date_to_timestamp(days)?;
    stamp(if is_infinite(midnight) { midnight } else { check_timestamp(midnight + micros)? })
}

fn date_plus_time_tz(days: i32, time: TimeTz) -> Answer {
    let midnight = date_to_timestamp(days)?;
    let out_of_range = |_| ValueError::new("22008", "date out of range for timestamp");
    moment(if is_infinite(midnight) {
        midnight
    } else {
        check_timestamp(midnight + time.utc_micros()).map_err(out_of_range)?
    })
}

fn time_with_zone(time: TimeTz) -> Answer {
    Ok(Datum::TimeTz(time))
}

fn date_plus(days: i32, more: i64) -> Answer {
    if is_infinite_date(days) {
        return Ok(Datum::Date(days));
    }
    arithmetic::date_add(days, more).map(Datum::Date)
}

fn zone_of(arg: &Datum) -> Result<Zone, ValueError> {
    match arg {
        Datum::Interval(offset) => {
            if offset.months != 0 || offset.days != 0 {
                return Err(ValueError::new(
                    "22023",
                    format!("interval time zone \"{offset}\" must not include months or days"),
                ));
            }
            Ok(Zone::Fixed((offset.micros / 1_000_000) as i32))
        }
        name => Zone::parse(text(name)?),
    }
}

/// OVERLAPS of two periods, each given by start and end or length; NULLs as SQL wants them.
fn overlaps(args: &[Datum], plus: impl Fn(&Datum, &Datum) -> Answer) -> Answer {
    let period = |start: &Datum, end: &Datum| -> Result<(Datum, Datum), ValueError> {
        let end = if let Datum::Interval(_) = end {
            if start.is_null() { Datum::Null } else { plus(start, end)? }
        } else {
            end.clone()
        };
        // The earlier bound first; a lone bound is the start.
        Ok(if start.is_null() || (!end.is_null() && start.sql_cmp(&end).is_gt()) {
            (end, start.clone())
        } else {
            (start.clone(), end)
        })
    };
    let (first, second) = (period(&args[0], &args[1])?, period(&args[2], &args[3])?);
    if first.0.is_null() || second.0.is_null() {
        return Ok(Datum::Null);
    }
    let order = first.0.sql_cmp(&second.0);
    if order.is_eq() {
        return if first.1.is_null() || second.1.is_null() { Ok(Datum::Null) } else { truth(true) };
    }
    let (earlier_end, later_start) = if order.is_gt() { (&second.1, &first.0) } else { (&first.1, &second.0) };
    if earlier_end.is_null() {
        return Ok(Datum::Null);
    }
    if later_start.sql_cmp(earlier_end).is_lt() {
        return truth(true);
    }
    let later_end = if order.is_gt() { &first.1 } else { &second.1 };
    if later_end.is_null() { Ok(Datum::Null) } else { truth(false) }
}

/// Where a stretch of time ends, or begins if its length is negative.
fn plus_interval(start: &Datum, length: &Datum) -> Answer {
    let length = match length {
        Datum::Interval(length) => length,
        other => return Ok(other.clone()),
    };
    match start {
        Datum::Timestamp(start) => Ok(Datum::Timestamp(add(*start, length)?)),
        Datum::Time(start) => {
            let end = start.saturating_add(length.micros % datetime::DAY_MICROS);
            Ok(Datum::Time(end.rem_euclid(datetime::DAY_MICROS)))
        }
        other => Ok(other.clone()),
    }
}

/// The same in a zone, in which days have their lengths.
fn plus_zoned(ctx: &EvalContext, start: &Datum, length: &Datum) -> Answer {
    match length {
        Datum::Interval(length) => moment(add_zoned(timestamp(start)?, length, &ctx.zone())?),
        other => Ok(other.clone()),
    }
}

fn overlaps_zoned(ctx: &EvalContext, args: &[Datum]) -> Answer {
    overlaps(args, |start, length| plus_zoned(ctx, start, length))
}

fn make_interval(args: &[Datum]) -> Answer {
    let whole = |place: usize| args.get(place).map_or(Ok(0), int4);
    let seconds = args.get(6).map_or(Ok(0.0), float)?;
    span(arithmetic::make_interval((whole(0)?, whole(1)?, whole(2)?, whole(3)?), (whole(4)?, whole(5)?, seconds))?)
}

fn age(left: i64, right: i64) -> Answer {
    if is_infinite(left) || is_infinite(right) {
        return Err(ValueError::new("22008", "interval out of range"));
    }
    span(arithmetic::age(left, right)?)
}

/// A value moved by a window frame's offset, up or down. Past the end of its type it stays at the end.
pub(crate) fn shift_by(value: &Datum, offset: &Datum, up: bool) -> Result<Datum, ValueError> {
    let invalid = || ValueError::new("22013", "invalid preceding or following size in window function");
    if let Some(whole) = value.as_i64() {
        let by = offset.as_i64().ok_or_else(invalid)?;
        if by < 0 {
            return Err(invalid());
        }
        return Ok(Datum::Int8(if up { whole.saturating_add(by) } else { whole.saturating_sub(by) }));
    }
    if let Some(number) = value.as_f64() {
        let by = offset.as_f64().ok_or_else(invalid)?;
        if by.is_nan() || by < 0.0 {
            return Err(invalid());
        }
        return Ok(Datum::Float8(if up { number + by } else { number - by }));
    }
    if let (Datum::Numeric(number), Datum::Numeric(by)) = (value, offset) {
        if by.is_negative() || by.is_nan() {
            return Err(invalid());
        }
        return Ok(Datum::Numeric(if up { number.add(by)? } else { number.sub(by)? }));
    }
    let Datum::Interval(by) = offset else { return Err(invalid()) };
    if by.comparison_value() < 0 {
        return Err(invalid());
    }
    let by = if up { *by } else { by.negate()? };
    Ok(match value {
        // Between two days, maybe.
        Datum::Date(days) => Datum::Timestamp(add(date_to_timestamp(*days)?, &by)?),
        Datum::Timestamp(micros) => Datum::Timestamp(add(*micros, &by)?),
        Datum::Timestamptz(micros) => Datum::Timestamptz(add(*micros, &by)?),
        Datum::Time(micros) => Datum::Time(micros.saturating_add(by.micros)),
        Datum::TimeTz(time) => Datum::TimeTz(TimeTz { micros: time.micros.saturating_add(by.micros), ..*time }),
        Datum::Interval(length) => Datum::Interval(length.add(&by)?),
        _ => return Err(invalid()),
    })
}

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    strict("+(date, int4) date", |_, a, _| date_plus(date(&a[0])?, integer(&a[1])?)),
    strict("+(int4, date) date", |_, a, _| date_plus(date(&a[1])?, integer(&a[0])?)),
    strict("-(date, int4) date", |_, a, _| date_plus(date(&a[0])?, -integer(&a[1])?)),
    strict("-(date, date) int4", |_, a, _| {
        let (left, right) = (date(&a[0])?, date(&a[1])?);
        if is_infinite_date(left) || is_infinite_date(right) {
            return Err(ValueError::new("22008", "cannot subtract infinite dates"));
        }
        arithmetic::date_sub(left, right).map(Datum::Int4)
    }),
    strict("+(date, interval) timestamp", |_, a, _| stamp(add(date_to_timestamp(date(&a[0])?)?, &interval(&a[1])?)?)),
    strict("+(interval, date) timestamp", |_, a, _| stamp(add(date_to_timestamp(date(&a[1])?)?, &interval(&a[0])?)?)),
    strict("-(date, interval) timestamp", |_, a, _| {
        stamp(add(date_to_timestamp(date(&a[0])?)?, &minus(interval(&a[1])?)?)?)
    }),
    strict("+(date, time) timestamp", |_, a, _| date_plus_time(date(&a[0])?, time(&a[1])?)),
    strict("+(time, date) timestamp", |_, a, _| date_plus_time(date(&a[1])?, time(&a[0])?)),
    strict("+(date, timetz) timestamptz", |_, a, _| date_plus_time_tz(date(&a[0])?, time_tz(&a[1])?)),
    strict("+(timetz, date) timestamptz", |_, a, _| date_plus_time_tz(date(&a[1])?, time_tz(&a[0])?)),
    strict("+(timetz, interval) timetz", |_, a, _| time_with_zone(time_tz(&a[0])?.plus(interval(&a[1])?))),
    strict("+(interval, timetz) timetz", |_, a, _| time_with_zone(time_tz(&a[1])?.plus(interval(&a[0])?))),
    strict("-(timetz, interval) timetz", |_, a, _| time_with_zone(time_tz(&a[0])?.minus(interval(&a[1])?))),
    strict("+(timestamp, interval) timestamp", |_, a, _| stamp(add(timestamp(&a[0])?, &interval(&a[1])?)?)),
    strict("+(interval, timestamp) timestamp", |_, a, _| stamp(add(timestamp(&a[1])?, &interval(&a[0])?)?)),
    strict("-(timestamp, interval) timestamp", |_, a, _| stamp(add(timestamp(&a[0])?, &minus(interval(&a[1])?)?)?)),
    strict("-(timestamp, timestamp) interval", |_, a, _| difference(timestamp(&a[0])?, timestamp(&a[1])?)),
    strict("+(timestamptz, interval) timestamptz", |ctx, a, _| {
        moment(add_zoned(timestamp(&a[0])?, &interval(&a[1])?, &ctx.zone())?)
    })
    .stable(),
    strict("+(interval, timestamptz) timestamptz", |ctx, a, _| {
        moment(add_zoned(timestamp(&a[1])?, &interval(&a[0])?, &ctx.zone())?)
    })
    .stable(),
    strict("-(timestamptz, interval) timestamptz", |ctx, a, _| {
        moment(add_zoned(timestamp(&a[0])?, &minus(interval(&a[1])?)?, &ctx.zone())?)
    })
    .stable(),
    strict("-(timestamptz, timestamptz) interval", |_, a, _| difference(timestamp(&a[0])?, timestamp(&a[1])?)),
    strict("+(time, interval) time", |_, a, _| Ok(Datum::Time(arithmetic::time_add(time(&a[0])?, &interval(&a[1])?)))),
    strict("+(interval, time) time", |_, a, _| Ok(Datum::Time(arithmetic::time_add(time(&a[1])?, &interval(&a[0])?)))),
    strict("-(time, interval) time", |_, a, _| Ok(Datum::Time(arithmetic::time_sub(time(&a[0])?, &interval(&a[1])?)))),
    strict("-(time, time) interval", |_, a, _| span(arithmetic::time_difference(time(&a[0])?, time(&a[1])?))),
    strict("+(interval, interval) interval", |_, a, _| span(interval(&a[0])?.add(&interval(&a[1])?)?)),
    strict("-(interval, interval) interval", |_, a, _| span(interval(&a[0])?.sub(&interval(&a[1])?)?)),
    strict("-(interval) interval", |_, a, _| span(interval(&a[0])?.negate()?)),
    strict("*(interval, float8) interval", |_, a, _| span(interval(&a[0])?.mul(float(&a[1])?)?)),
    strict("*(float8, interval) interval", |_, a, _| span(interval(&a[1])?.mul(float(&a[0])?)?)),
    strict("/(interval, float8) interval", |_, a, _| span(interval(&a[0])?.div(float(&a[1])?)?)),
];

/// `extract` and `date_part` of one type of argument.
macro_rules! field_functions {
    ($type:literal, $get:expr) => {
        [
            strict(concat!("extract(text, ", $type, ") numeric"), |ctx, a, _| {
                let get: fn(&crate::scalar::EvalContext, &str, &Datum) -> Result<Option<Numeric>, ValueError> = $get;
                field(get(ctx, text(&a[0])?, &a[1])?, false)
            }),
            strict(concat!("date_part(text, ", $type, ") float8"), |ctx, a, _| {
                let get: fn(&crate::scalar::EvalContext, &str, &Datum) -> Result<Option<Numeric>, ValueError> = $get;
                field(get(ctx, text(&a[0])?, &a[1])?, true)
            }),
        ]
    };
}

pub(super) static FIELDS: [[FunctionDefinition; 2]; 5] = [
    field_functions!("date", |_, name, value| fields::extract_date(name, date(value)?)),
    field_functions!("time", |_, name, value| fields::extract_time(name, time(value)?)),
    field_functions!("timetz", |_, name, value| fields::extract_time_tz(name, time_tz(value)?)),
    field_functions!("timestamp", |_, name, value| fields::extract_timestamp(name, timestamp(value)?)),
    field_functions!("interval", |_, name, value| fields::extract_interval(name, &interval(value)?)),
];

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("extract(text, timestamptz) numeric", |ctx, a, _| {
        field(fields::extract_timestamptz(text(&a[0])?, timestamp(&a[1])?, &ctx.zone())?, false)
    })
    .stable(),
    strict("date_part(text, timestamptz) float8", |ctx, a, _| {
        field(fields::extract_timestamptz(text(&a[0])?, timestamp(&a[1])?, &ctx.zone())?, true)
    })
    .stable(),
    strict("date_trunc(text, timestamp) timestamp", |_, a, _| {
        stamp(fields::trunc_timestamp(text(&a[0])?, timestamp(&a[1])?)?)
    }),
    strict("date_trunc(text, timestamptz) timestamptz", |ctx, a, _| {
        moment(fields::trunc_timestamptz(text(&a[0])?, timestamp(&a[1])?, &ctx.zone())?)
    })
    .stable(),
    strict("date_trunc(text, timestamptz, text) timestamptz", |_, a, _| {
        moment(fields::trunc_timestamptz(text(&a[0])?, timestamp(&a[1])?, &Zone::parse(text(&a[2])?)?)?)
    })
    .stable(),
    strict("date_trunc(text, interval) interval", |_, a, _| {
        span(fields::trunc_interval(text(&a[0])?, &interval(&a[1])?)?)
    }),
    strict("age(timestamp, timestamp) interval", |_, a, _| age(timestamp(&a[0])?, timestamp(&a[1])?)),
    strict("age(timestamptz, timestamptz) interval", |ctx, a, _| {
        let zone = ctx.zone();
        age(utc_to_local(timestamp(&a[0])?, &zone)?, utc_to_local(timestamp(&a[1])?, &zone)?)
    })
    .stable(),
    strict("age(timestamp) interval", |ctx, a, _| {
        let today = utc_to_local(ctx.environment.transaction_timestamp(), &ctx.zone())?;
        age(today - today.rem_euclid(datetime::DAY_MICROS), timestamp(&a[0])?)
    })
    .stable(),
    strict("age(timestamptz) interval", |ctx, a, _| {
        let zone = ctx.zone();
        let today = utc_to_local(ctx.environment.transaction_timestamp(), &zone)?;
        age(today - today.rem_euclid(datetime::DAY_MICROS), utc_to_local(timestamp(&a[0])?, &zone)?)
    })
    .stable(),
    strict("make_date(int4, int4, int4) date", |_, a, _| {
        Ok(Datum::Date(arithmetic::make_date(int4(&a[0])?, int4(&a[1])?, int4(&a[2])?)?))
    }),
    strict("make_time(int4, int4, float8) time", |_, a, _| {
        Ok(Datum::Time(arithmetic::make_time(int4(&a[0])?, int4(&a[1])?, float(&a[2])?)?))
    }),
    strict("make_timestamp(int4, int4, int4, int4, int4, float8) timestamp", |_, a, _| {
        let day = (int4(&a[0])?, int4(&a[1])?, int4(&a[2])?);
        stamp(arithmetic::make_timestamp(day, (int4(&a[3])?, int4(&a[4])?, float(&a[5])?))?)
    }),
    strict("make_timestamptz(int4, int4, int4, int4, int4, float8, text?) timestamptz", |ctx, a, _| {
        let day = (int4(&a[0])?, int4(&a[1])?, int4(&a[2])?);
        let local = arithmetic::make_timestamp(day, (int4(&a[3])?, int4(&a[4])?, float(&a[5])?))?;
        let zone = a.get(6).map_or_else(|| Ok(ctx.zone()), |zone| Zone::given(text(zone)?))?;
        moment(local_to_utc(local, &zone)?)
    })
    .stable(),
    strict("make_interval(int4?, int4?, int4?, int4?, int4?, int4?, float8?) interval", |_, a, _| make_interval(a)),
    strict("date_bin(interval, timestamp, timestamp) timestamp", |_, a, _| {
        stamp(arithmetic::date_bin(&interval(&a[0])?, timestamp(&a[1])?, timestamp(&a[2])?)?)
    }),
    strict("date_bin(interval, timestamptz, timestamptz) timestamptz", |_, a, _| {
        moment(arithmetic::date_bin(&interval(&a[0])?, timestamp(&a[1])?, timestamp(&a[2])?)?)
    }),
    strict("to_timestamp(float8) timestamptz", |_, a, _| moment(arithmetic::timestamp_from_unix(float(&a[0])?)?)),
    strict("justify_hours(interval) interval", |_, a, _| span(interval(&a[0])?.justify_hours()?)),
    strict("justify_days(interval) interval", |_, a, _| span(interval(&a[0])?.justify_days()?)),
    strict("justify_interval(interval) interval", |_, a, _| span(interval(&a[0])?.justify_interval()?)),
    strict("isfinite(date) bool", |_, a, _| truth(!is_infinite_date(date(&a[0])?))),
    strict("isfinite(timestamp) bool", |_, a, _| truth(!is_infinite(timestamp(&a[0])?))),
    strict("isfinite(timestamptz) bool", |_, a, _| truth(!is_infinite(timestamp(&a[0])?))),
    strict("isfinite(interval) bool", |_, _, _| truth(true)),
    strict("timezone(text, timestamp) timestamptz", |_, a, _| {
        moment(local_to_utc(timestamp(&a[1])?, &zone_of(&a[0])?)?)
    }),
    strict("timezone(interval, timestamp) timestamptz", |_, a, _| {
        moment(local_to_utc(timestamp(&a[1])?, &zone_of(&a[0])?)?)
    }),
    strict("timezone(text, timestamptz) timestamp", |_, a, _| {
        stamp(utc_to_local(timestamp(&a[1])?, &zone_of(&a[0])?)?)
    }),
    strict("timezone(interval, timestamptz) timestamp", |_, a, _| {
        stamp(utc_to_local(timestamp(&a[1])?, &zone_of(&a[0])?)?)
    }),
    strict("timezone(text, timetz) timetz", |ctx, a, _| {
        time_with_zone(time_tz(&a[1])?.at_zone(&zone_of(&a[0])?, ctx.environment.transaction_timestamp()))
    })
    .stable(),
    strict("timezone(interval, timetz) timetz", |_, a, _| {
        // No zone of this kind has more than one offset.
        time_with_zone(time_tz(&a[1])?.at_zone(&zone_of(&a[0])?, 0))
    }),
    strict("timestamptz(date, timetz) timestamptz", |_, a, _| date_plus_time_tz(date(&a[0])?, time_tz(&a[1])?)),
    strict("timestamptz(date, time) timestamptz", |ctx, a, _| {
        let local = timestamp(&date_plus_time(date(&a[0])?, time(&a[1])?)?)?;
        moment(local_to_utc(local, &ctx.zone())?)
    })
    .stable(),
    lenient("overlaps(timestamp, timestamp, timestamp, timestamp) bool", |_, a, _| overlaps(a, plus_interval)),
    lenient("overlaps(timestamp, interval, timestamp, interval) bool", |_, a, _| overlaps(a, plus_interval)),
    lenient("overlaps(timestamp, timestamp, timestamp, interval) bool", |_, a, _| overlaps(a, plus_interval)),
    lenient("overlaps(timestamp, interval, timestamp, timestamp) bool", |_, a, _| overlaps(a, plus_interval)),
    lenient("overlaps(timestamptz, timestamptz, timestamptz, timestamptz) bool", |_, a, _| overlaps(a, plus_interval)),
    lenient("overlaps(timestamptz, interval, timestamptz, interval) bool", |ctx, a, _| overlaps_zoned(ctx, a)).stable(),
    lenient("overlaps(timestamptz, timestamptz, timestamptz, interval) bool", |ctx, a, _| overlaps_zoned(ctx, a))
        .stable(),
    lenient("overlaps(timestamptz, interval, timestamptz, timestamptz) bool", |ctx, a, _| overlaps_zoned(ctx, a))
        .stable(),
    lenient("overlaps(timetz, timetz, timetz, timetz) bool", |_, a, _| overlaps(a, plus_interval)),
    lenient("overlaps(time, time, time, time) bool", |_, a, _| overlaps(a, plus_interval)),
    lenient("overlaps(time, interval, time, interval) bool", |_, a, _| overlaps(a, plus_interval)),
    lenient("overlaps(time, time, time, interval) bool", |_, a, _| overlaps(a, plus_interval)),
    lenient("overlaps(time, interval, time, time) bool", |_, a, _| overlaps(a, plus_interval)),
];
