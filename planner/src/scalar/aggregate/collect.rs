//! string_agg, array_agg, json_agg and json_object_agg: aggregates whose value holds all rows.

use super::{AggregateDefinition, ArgumentRows, listed};
use crate::scalar::Answer;
use crate::scalar::eval::stack_arrays;
use crate::scalar::func::append_json_string;
use crate::scalar::func::arguments::{bytea, jsonb, string, text, vector};
use repr::{Datum, Jsonb, ValueError, poll};

/// The largest value that is put together.
const BYTES_MAX: usize = 0x3fff_ffff;

fn too_large() -> ValueError {
    ValueError::new("54000", "aggregate value is too large")
}

fn string_agg(rows: ArgumentRows<'_, '_>) -> Answer {
    let append = |joined: &mut String, value: &Datum| {
        joined.push_str(text(value)?);
        Ok(())
    };
    let joined = joined(rows, append, String::len)?;
    joined.map_or(Ok(Datum::Null), string)
}

fn bytes_agg(rows: ArgumentRows<'_, '_>) -> Answer {
    let append = |joined: &mut Vec<u8>, value: &Datum| {
        joined.extend_from_slice(bytea(value)?);
        Ok(())
    };
    let joined = joined(rows, append, Vec::len)?;
    Ok(joined.map_or(Datum::Null, |joined| Datum::Bytea(joined.into())))
}

/// Values one behind the other, before each but the first its delimiter; nothing of no values.
fn joined<J: Default>(
    rows: ArgumentRows<'_, '_>,
    append: impl Fn(&mut J, &Datum) -> Result<(), ValueError>,
    length: impl Fn(&J) -> usize,
) -> Result<Option<J>, ValueError> {
    let mut joined: Option<J> = None;
    for (args, times) in rows {
        if args[0].is_null() {
            continue;
        }
        for _ in 0..times {
            poll::bytes(args[0].bytes())?;
            if let Some(joined) = joined.as_mut().filter(|_| !args[1].is_null()) {
                append(joined, &args[1])?;
            }
            let joined = joined.get_or_insert_default();
            append(joined, &args[0])?;
            if length(joined) > BYTES_MAX {
                return Err(too_large());
            }
        }
    }
    Ok(joined)
}

fn all_values(rows: ArgumentRows<'_, '_>) -> Result<Vec<Datum>, ValueError> {
    let mut values = Vec::new();
    for (args, times) in rows {
        for _ in 0..times {
            if values.len() >= BYTES_MAX / 16 {
                return Err(too_large());
            }
            poll::step()?;
            values.push(args[0].clone());
        }
    }
    Ok(values)
}

/// What stands between elements: rows and arrays have a line of their own.
fn json_agg(rows: ArgumentRows<'_, '_>, have_lines: bool) -> Answer {
    let mut shown: Option<String> = None;
    for (args, times) in rows {
        for _ in 0..times {
            let element = if args[0].is_null() { "null" } else { text(&args[0])? };
            poll::bytes(element.len())?;
            match &mut shown {
                None => shown = Some(format!("[{element}")),
                Some(shown) => {
                    shown.push_str(if have_lines && !args[0].is_null() { ", \n " } else { ", " });
                    shown.push_str(element);
                    if shown.len() > BYTES_MAX {
                        return Err(too_large());
                    }
                }
            }
        }
    }
    shown.map_or(Ok(Datum::Null), |shown| string(shown + "]"))
}

fn jsonb_or_null(arg: &Datum) -> Result<Jsonb, ValueError> {
    if arg.is_null() { Ok(Jsonb::Null) } else { jsonb(arg).cloned() }
}

fn jsonb_agg(rows: ArgumentRows<'_, '_>) -> Answer {
    let values = all_values(rows)?;
    if values.is_empty() {
        return Ok(Datum::Null);
    }
    let elements = values.iter().map(jsonb_or_null).collect::<Result<Vec<_>, _>>()?;
    Ok(Datum::Jsonb(Jsonb::array(elements)))
}

fn null_key() -> ValueError {
    ValueError::new("22023", "field name must not be null")
}

fn json_object_agg(rows: ArgumentRows<'_, '_>) -> Answer {
    let mut shown: Option<String> = None;
    for (args, times) in rows {
        for _ in 0..times {
            if args[0].is_null() {
                return Err(null_key());
            }
            poll::bytes(args[0].bytes() + args[1].bytes())?;
            let mut object = shown.take().map_or_else(|| "{ ".to_owned(), |shown| shown + ", ");
            append_json_string(&mut object, text(&args[0])?);
            object.push_str(" : ");
            object.push_str(if args[1].is_null() { "null" } else { text(&args[1])? });
            if object.len() > BYTES_MAX {
                return Err(too_large());
            }
            shown = Some(object);
        }
    }
    shown.map_or(Ok(Datum::Null), |shown| string(shown + " }"))
}

fn jsonb_object_agg(rows: ArgumentRows<'_, '_>) -> Answer {
    let mut entries = Vec::new();
    for (args, _) in rows {
        if args[0].is_null() {
            return Err(null_key());
        }
        poll::bytes(args[0].bytes())?;
        entries.push((text(&args[0])?.into(), jsonb_or_null(&args[1])?));
    }
    Ok(if entries.is_empty() { Datum::Null } else { Datum::Jsonb(Jsonb::object(entries)) })
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    listed("string_agg(text, text) text", |_, rows, _| string_agg(rows)).sees_nulls(),
    listed("string_agg(bytea, bytea) bytea", |_, rows, _| bytes_agg(rows)).sees_nulls(),
    listed("array_agg(anynonarray) anyarray", |_, rows, _| {
        let values = all_values(rows)?;
        if values.is_empty() { Ok(Datum::Null) } else { vector(values) }
    })
    .sees_nulls(),
    listed("array_agg(anyarray) anyarray", |_, rows, _| {
        let values = all_values(rows)?;
        if values.iter().any(Datum::is_null) {
            return Err(ValueError::new("22004", "cannot accumulate null arrays"));
        }
        if values.iter().any(|value| matches!(value, Datum::Array(array) if array.dimensions.is_empty())) {
            return Err(ValueError::new("2202E", "cannot accumulate empty arrays"));
        }
        if values.is_empty() { Ok(Datum::Null) } else { stack_arrays(values) }
    })
    .sees_nulls(),
    listed("json_agg(anyjson) json", |_, rows, _| json_agg(rows, false)).sees_nulls(),
    listed("JSON_AGG OF ROWS(anyjson) json", |_, rows, _| json_agg(rows, true)).sees_nulls(),
    listed("jsonb_agg(anyjsonb) jsonb", |_, rows, _| jsonb_agg(rows)).sees_nulls(),
    listed("json_object_agg(anytext, anyjson) json", |_, rows, _| json_object_agg(rows)).sees_nulls(),
    listed("jsonb_object_agg(anytext, anyjsonb) jsonb", |_, rows, _| jsonb_object_agg(rows)).sees_nulls(),
];
