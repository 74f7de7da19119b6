//! json (kept as its text), and how any value becomes JSON.

pub(crate) mod document;
pub(crate) mod record;
mod write;

pub(crate) use write::{append_hstore, append_json, append_json_string, to_jsonb};

use super::arguments::{array, boolean, integer, string, text, text_array};
use super::{FunctionDefinition, lenient, strict};
use crate::scalar::Answer;
use document::{JsonKind, check_escapes, elements, entries, kind, unquoted};
use repr::{Datum, ValueError};

/// `->` by key: the last of equal keys counts.
pub(crate) fn get_key<'a>(source: &'a str, key: &str) -> Result<Option<&'a str>, ValueError> {
    check_escapes(source)?;
    if kind(source) != JsonKind::Object {
        return Ok(None);
    }
    let mut found = None;
    for (name, value) in entries(source)? {
        if name == key {
            found = Some(value);
        }
    }
    Ok(found)
}

/// `->` by index, from the end if negative.
pub(crate) fn get_index(source: &str, index: i64) -> Result<Option<&str>, ValueError> {
    check_escapes(source)?;
    if kind(source) != JsonKind::Array {
        return Ok(None);
    }
    let elements = elements(source)?;
    let place = if index < 0 { index + elements.len() as i64 } else { index };
    Ok(usize::try_from(place).ok().and_then(|place| elements.get(place).copied()))
}

fn get_path<'a>(source: &'a str, path: &[Option<&str>]) -> Result<Option<&'a str>, ValueError> {
    check_escapes(source)?;
    let mut at = source;
    for step in path {
        let Some(step) = step else { return Ok(None) };
        let next = match (kind(at), step.trim().parse::<i64>()) {
            (JsonKind::Object, _) => get_key(at, step)?,
            (JsonKind::Array, Ok(index)) => get_index(at, index)?,
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(Some(at.trim()))
}

/// A part as json.
fn part(found: Option<&str>) -> Answer {
    Ok(found.map_or(Datum::Null, |found| Datum::text(found.trim())))
}

/// A part as text: strings bare, null as NULL.
fn part_text(found: Option<&str>) -> Answer {
    let Some(found) = found else { return Ok(Datum::Null) };
    match kind(found) {
        JsonKind::Null => Ok(Datum::Null),
        JsonKind::String => string(unquoted(found)?),
        JsonKind::Object | JsonKind::Array | JsonKind::Number | JsonKind::Boolean => string(found.trim()),
    }
}

/// A key that is built: a text, no document and nothing with parts.
pub(super) fn object_key(key: &Datum) -> Result<&str, ValueError> {
    match key {
        Datum::Array(_) | Datum::Record(_) | Datum::Jsonb(_) => {
            Err(ValueError::new("22023", "key value must be scalar, not array, composite, or json"))
        }
        key => text(key),
    }
}

/// Keys and values in turns, as json.
fn build_object(args: &[Datum]) -> Answer {
    if !args.len().is_multiple_of(2) {
        return Err(ValueError {
            hint: Some("The arguments of json_build_object() must consist of alternating keys and values.".to_owned()),
            ..ValueError::new("22023", "argument list must have even number of elements")
        });
    }
    let mut shown = String::from("{");
    for (index, pair) in args.chunks_exact(2).enumerate() {
        if pair[0].is_null() {
            return Err(ValueError {
                hint: Some("Object keys should be text.".to_owned()),
                ..ValueError::new("22023", format!("argument {} cannot be null", 2 * index + 1))
            });
        }
        if index > 0 {
            shown.push_str(", ");
        }
        append_json_string(&mut shown, object_key(&pair[0])?);
        shown.push_str(" : ");
        shown.push_str(if pair[1].is_null() { "null" } else { text(&pair[1])? });
    }
    shown.push('}');
    string(shown)
}

fn build_array(args: &[Datum]) -> Answer {
    let items = args.iter().map(|arg| if arg.is_null() { Ok("null") } else { text(arg) });
    string(format!("[{}]", items.collect::<Result<Vec<_>, _>>()?.join(", ")))
}

/// Names and values for `json_object(text[])` and `json_object(text[], text[])`.
pub(super) fn object_pairs(args: &[Datum]) -> Result<Vec<(String, Option<String>)>, ValueError> {
    let owned = |item: Option<&str>| item.map(str::to_owned);
    let first = text_array(&args[0])?;
    let subscripts = || ValueError::new("2202E", "wrong number of array subscripts");
    let dimensions = &array(&args[0])?.dimensions;
    match (args.get(1), dimensions.as_slice()) {
        (Some(values), [_] | []) if array(values)?.dimensions.len() == dimensions.len() => {}
        (None, [] | [_] | [_, (2, _)]) => {}
        (None, [_, _]) => return Err(ValueError::new("2202E", "array must have two columns")),
        (Some(_) | None, _) => return Err(subscripts()),
    }
    let pairs: Vec<(Option<String>, Option<String>)> = match args.get(1) {
        Some(values) => {
            let values = text_array(values)?;
            if values.len() != first.len() {
                return Err(ValueError::new("2202E", "mismatched array dimensions"));
            }
            first.into_iter().map(owned).zip(values.into_iter().map(owned)).collect()
        }
        None => {
            if !first.len().is_multiple_of(2) {
                return Err(ValueError::new("2202E", "array must have even number of elements"));
            }
            first.chunks_exact(2).map(|pair| (owned(pair[0]), owned(pair[1]))).collect()
        }
    };
    let named = |(name, value): (Option<String>, Option<String>)| match name {
        Some(name) => Ok((name, value)),
        None => Err(ValueError::new("22004", "null value not allowed for object key")),
    };
    pairs.into_iter().map(named).collect()
}

fn object(args: &[Datum]) -> Answer {
    let mut shown = String::from("{");
    for (index, (name, value)) in object_pairs(args)?.into_iter().enumerate() {
        if index > 0 {
            shown.push_str(", ");
        }
        append_json_string(&mut shown, &name);
        shown.push_str(" : ");
        match value {
            Some(value) => append_json_string(&mut shown, &value),
            None => shown.push_str("null"),
        }
    }
    shown.push('}');
    string(shown)
}

fn array_length(source: &str) -> Answer {
    match kind(source) {
        JsonKind::Array => Ok(Datum::Int4(i32::try_from(elements(source)?.len()).unwrap_or(i32::MAX))),
        JsonKind::Object => Err(ValueError::new("22023", "cannot get array length of a non-array")),
        JsonKind::Null | JsonKind::Boolean | JsonKind::Number | JsonKind::String => {
            Err(ValueError::new("22023", "cannot get array length of a scalar"))
        }
    }
}

fn strip_nulls(source: &str, shown: &mut String) -> Result<(), ValueError> {
    match kind(source) {
        JsonKind::Object => {
            shown.push('{');
            let mut first = true;
            for (name, value) in entries(source)? {
                if kind(value) == JsonKind::Null {
                    continue;
                }
                if !std::mem::take(&mut first) {
                    shown.push(',');
                }
                append_json_string(shown, &name);
                shown.push(':');
                strip_nulls(value, shown)?;
            }
            shown.push('}');
        }
        JsonKind::Array => {
            shown.push('[');
            for (index, value) in elements(source)?.into_iter().enumerate() {
                if index > 0 {
                    shown.push(',');
                }
                strip_nulls(value, shown)?;
            }
            shown.push(']');
        }
        JsonKind::Null | JsonKind::Boolean | JsonKind::Number | JsonKind::String => shown.push_str(source.trim()),
    }
    Ok(())
}

/// With a line for each element or field, if that is asked for.
fn lined(args: &[Datum]) -> Answer {
    let source = text(&args[0])?;
    if !boolean(&args[1])? {
        return Ok(args[0].clone());
    }
    match kind(source) {
        JsonKind::Array => string(format!("[{}]", elements(source)?.join(",\n "))),
        JsonKind::Object => {
            let mut shown = String::from("{");
            for (index, (name, value)) in entries(source)?.into_iter().enumerate() {
                shown.push_str(if index > 0 { ",\n " } else { "" });
                append_json_string(&mut shown, &name);
                shown.push(':');
                shown.push_str(value);
            }
            shown.push('}');
            string(shown)
        }
        JsonKind::Null | JsonKind::Boolean | JsonKind::Number | JsonKind::String => Ok(args[0].clone()),
    }
}

/// The path steps of a variadic call.
fn steps(args: &[Datum]) -> Result<Vec<Option<&str>>, ValueError> {
    args.iter().map(|arg| if arg.is_null() { Ok(None) } else { text(arg).map(Some) }).collect()
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("to_json(anyjson) json", |_, a, _| Ok(a[0].clone())),
    strict("row_to_json(anyjson) json", |_, a, _| Ok(a[0].clone())),
    strict("array_to_json(anyjson) json", |_, a, _| Ok(a[0].clone())),
    strict("row_to_json(anyjson, bool) json", |_, a, _| lined(a)),
    strict("array_to_json(anyjson, bool) json", |_, a, _| lined(a)),
    lenient("json_build_object() json", |_, a, _| build_object(a)),
    lenient("json_build_object(variadic jsonpairs) json", |_, a, _| build_object(a)),
    lenient("json_build_array() json", |_, a, _| build_array(a)),
    lenient("json_build_array(variadic anyjson) json", |_, a, _| build_array(a)),
    strict("json_object(text[], text[]?) json", |_, a, _| object(a)),
    strict("json_array_length(json) int4", |_, a, _| array_length(text(&a[0])?)),
    strict("json_typeof(json) text", |_, a, _| string(kind(text(&a[0])?).name())),
    strict("json_extract_path(json, variadic text[]) json", |_, a, _| part(get_path(text(&a[0])?, &steps(&a[1..])?)?)),
    strict("json_extract_path_text(json, variadic text[]) text", |_, a, _| {
        part_text(get_path(text(&a[0])?, &steps(&a[1..])?)?)
    }),
    strict("json_to_record(json) emptyrecord", |ctx, a, result| record::record(ctx, (&Datum::Null, &a[0]), result))
        .stable(),
    lenient("json_populate_record(record, json, bool?) emptyrecord", |ctx, a, result| {
        record::record(ctx, (&a[0], &a[1]), result)
    })
    .stable(),
    strict("json_strip_nulls(json) json", |_, a, _| {
        check_escapes(text(&a[0])?)?;
        let mut shown = String::new();
        strip_nulls(text(&a[0])?, &mut shown)?;
        string(shown)
    }),
];

/// The operators' functions, by the names that PostgreSQL has for them.
pub(crate) const NAMED_OPERATORS: &[FunctionDefinition] = &[
    strict("json_object_field(json, text) json", |_, a, _| part(get_key(text(&a[0])?, text(&a[1])?)?)),
    strict("json_object_field_text(json, text) text", |_, a, _| part_text(get_key(text(&a[0])?, text(&a[1])?)?)),
    strict("json_array_element(json, int4) json", |_, a, _| part(get_index(text(&a[0])?, integer(&a[1])?)?)),
    strict("json_array_element_text(json, int4) text", |_, a, _| part_text(get_index(text(&a[0])?, integer(&a[1])?)?)),
];

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    strict("->(json, text) json", |_, a, _| part(get_key(text(&a[0])?, text(&a[1])?)?)),
    strict("->(json, int4) json", |_, a, _| part(get_index(text(&a[0])?, integer(&a[1])?)?)),
    strict("->>(json, text) text", |_, a, _| part_text(get_key(text(&a[0])?, text(&a[1])?)?)),
    strict("->>(json, int4) text", |_, a, _| part_text(get_index(text(&a[0])?, integer(&a[1])?)?)),
    strict("#>(json, text[]) json", |_, a, _| part(get_path(text(&a[0])?, &text_array(&a[1])?)?)),
    strict("#>>(json, text[]) text", |_, a, _| part_text(get_path(text(&a[0])?, &text_array(&a[1])?)?)),
];
