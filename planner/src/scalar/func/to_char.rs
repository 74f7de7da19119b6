//! to_char, to_date, to_timestamp and to_number: values by templates.

use super::arguments::{float, integer, interval, numeric, string, text, timestamp};
use super::{FunctionDefinition, strict};
use repr::{Datum, ValueError, to_char};

fn shown(value: Option<String>) -> Result<Datum, ValueError> {
    value.map_or(Ok(Datum::Null), string)
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("to_char(timestamp, text) text", |_, a, _| {
        shown(to_char::timestamp_to_char(timestamp(&a[0])?, text(&a[1])?)?)
    }),
    strict("to_char(timestamptz, text) text", |ctx, a, _| {
        shown(to_char::timestamptz_to_char(timestamp(&a[0])?, &ctx.zone(), text(&a[1])?)?)
    })
    .stable(),
    strict("to_char(interval, text) text", |_, a, _| {
        shown(to_char::interval_to_char(&interval(&a[0])?, text(&a[1])?)?)
    }),
    strict("to_char(int4, text) text", |_, a, _| string(to_char::integer_to_char(integer(&a[0])?, text(&a[1])?)?)),
    strict("to_char(int8, text) text", |_, a, _| string(to_char::bigint_to_char(integer(&a[0])?, text(&a[1])?)?)),
    strict("to_char(numeric, text) text", |_, a, _| string(to_char::numeric_to_char(numeric(&a[0])?, text(&a[1])?)?)),
    strict("to_char(float4, text) text", |_, a, _| string(to_char::float_to_char(float(&a[0])?, true, text(&a[1])?)?)),
    strict("to_char(float8, text) text", |_, a, _| string(to_char::float_to_char(float(&a[0])?, false, text(&a[1])?)?)),
    strict("to_number(text, text) numeric", |_, a, _| {
        Ok(to_char::to_number(text(&a[0])?, text(&a[1])?)?.map_or(Datum::Null, Datum::Numeric))
    }),
    strict("to_date(text, text) date", |_, a, _| Ok(Datum::Date(to_char::to_date(text(&a[0])?, text(&a[1])?)?))),
    strict("to_timestamp(text, text) timestamptz", |ctx, a, _| {
        Ok(Datum::Timestamptz(to_char::to_timestamp(text(&a[0])?, text(&a[1])?, &ctx.zone())?))
    })
    .stable(),
];
