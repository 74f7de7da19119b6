//! Functions and operators of hstore, as PostgreSQL's extension of this name has them.
//!
//! What is over records takes their fields as texts; comparisons ask the values themselves.

use super::arguments::{array, string, text, text_array, truth, vector, wrong};
use super::json::append_hstore;
use super::{FunctionDefinition, lenient, strict};
use crate::scalar::{Answer, EvalContext};
use repr::hstore::null_key;
use repr::text::{self as text_form, TextContext};
use repr::types::RecordType;
use repr::{Array, Datum, Hstore, Jsonb, ScalarType, ValueError, poll};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

pub(crate) fn hstore(arg: &Datum) -> Result<&Hstore, ValueError> {
    match arg {
        Datum::Hstore(value) => Ok(value),
        _ => Err(wrong("an hstore")),
    }
}

type KeyWithValue<'a> = (&'a str, Option<&'a str>);

fn made<'a>(pairs: impl IntoIterator<Item = KeyWithValue<'a>>) -> Answer {
    let owned = pairs.into_iter().map(|(key, value)| (Cow::Borrowed(key), value.map(Cow::Borrowed)));
    Ok(Datum::Hstore(Hstore::of_pairs(owned.collect())))
}

/// A text, or NULL.
pub(crate) fn or_null(text: Option<&str>) -> Datum {
    text.map_or(Datum::Null, Datum::text)
}

fn get(args: &[Datum]) -> Answer {
    Ok(or_null(hstore(&args[0])?.get(text(&args[1])?).flatten()))
}

/// Keys of an array, without NULLs.
fn keys(arg: &Datum) -> Result<Vec<&str>, ValueError> {
    Ok(text_array(arg)?.into_iter().flatten().collect())
}

fn slice(args: &[Datum]) -> Answer {
    let (source, wanted) = (hstore(&args[0])?, keys(&args[1])?);
    let wanted: HashSet<&str> = wanted.into_iter().collect();
    made(source.pairs().filter(|(key, _)| wanted.contains(key)))
}

/// The keys' values, in their places.
fn values_of(args: &[Datum]) -> Answer {
    let source = hstore(&args[0])?;
    let given = array(&args[1])?;
    let of = |key: Option<&str>| or_null(key.and_then(|key| source.get(key)).flatten());
    let values: Vec<Datum> = text_array(&args[1])?.into_iter().map(of).collect();
    Ok(Datum::Array(Arc::new(Array::new(given.dimensions.clone(), values))))
}

fn exists_in(args: &[Datum], all: bool) -> Answer {
    let (source, wanted) = (hstore(&args[0])?, keys(&args[1])?);
    let mut found = wanted.iter().map(|key| source.get(key).is_some());
    truth(if all { found.all(|is_there| is_there) } else { found.any(|is_there| is_there) })
}

fn without(args: &[Datum]) -> Answer {
    let source = hstore(&args[0])?;
    match &args[1] {
        Datum::Hstore(other) => made(source.pairs().filter(|(key, value)| other.get(key) != Some(*value))),
        Datum::Array(_) => {
            let gone: HashSet<&str> = keys(&args[1])?.into_iter().collect();
            made(source.pairs().filter(|(key, _)| !gone.contains(key)))
        }
        key => {
            let gone = text(key)?;
            made(source.pairs().filter(|(key, _)| *key != gone))
        }
    }
}

/// Of equal keys the later value counts.
fn concatenated(args: &[Datum]) -> Answer {
    made(hstore(&args[1])?.pairs().chain(hstore(&args[0])?.pairs()))
}

fn contains(whole: &Datum, part: &Datum) -> Answer {
    let whole = hstore(whole)?;
    truth(hstore(part)?.pairs().all(|(key, value)| whole.get(key) == Some(value)))
}

fn of_texts(args: &[Datum]) -> Answer {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let value = if args[1].is_null() { None } else { Some(text(&args[1])?) };
    made([(text(&args[0])?, value)])
}

/// With the value of one key: what `h['key'] = value` makes of `h`.
fn set_element(args: &[Datum]) -> Answer {
    if args[2].is_null() {
        return Err(ValueError::new("22004", "hstore subscript in assignment must not be null"));
    }
    let value = if args[1].is_null() { None } else { Some(text(&args[1])?) };
    let pair = (text(&args[2])?, value);
    match &args[0] {
        Datum::Null => made([pair]),
        whole => made(std::iter::once(pair).chain(hstore(whole)?.pairs())),
    }
}

/// Keys and values one after the other, or in rows of two.
fn of_array(arg: &Datum) -> Answer {
    let (given, texts) = (array(arg)?, text_array(arg)?);
    match given.dimensions.as_slice() {
        [] => {}
        [(length, _)] if length % 2 == 0 => {}
        [_] => return Err(ValueError::new("2202E", "array must have even number of elements")),
        [_, (2, _)] => {}
        [_, _] => return Err(ValueError::new("2202E", "array must have two columns")),
        _ => return Err(ValueError::new("2202E", "wrong number of array subscripts")),
    }
    let pairs = texts.chunks(2).map(|pair| Ok((pair[0].ok_or_else(null_key)?, pair[1])));
    made(pairs.collect::<Result<Vec<_>, ValueError>>()?)
}

fn of_arrays(args: &[Datum]) -> Answer {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let wrong_number = || ValueError::new("2202E", "wrong number of array subscripts");
    let given = array(&args[0])?;
    if given.dimensions.len() > 1 {
        return Err(wrong_number());
    }
    let keys = text_array(&args[0])?;
    let values = if args[1].is_null() {
        vec![None; keys.len()]
    } else {
        let values = array(&args[1])?;
        if values.dimensions.len() > 1 {
            return Err(wrong_number());
        }
        if values.dimensions != given.dimensions {
            return Err(ValueError::new("2202E", "arrays must have same bounds"));
        }
        text_array(&args[1])?
    };
    let pairs = keys.into_iter().zip(values).map(|(key, value)| Ok((key.ok_or_else(null_key)?, value)));
    made(pairs.collect::<Result<Vec<_>, ValueError>>()?)
}

/// As json; loosely, numbers and booleans are no strings.
fn to_json(value: &Datum, loosely: bool) -> Answer {
    let mut shown = String::new();
    append_hstore(&mut shown, hstore(value)?, loosely);
    string(shown)
}

fn to_jsonb(value: &Datum, loosely: bool) -> Answer {
    Ok(Datum::Jsonb(text(&to_json(value, loosely)?)?.parse::<Jsonb>()?))
}

/// Its casts: from text[], to json and jsonb.
pub(crate) fn cast(value: &Datum, to: &ScalarType) -> Answer {
    match to {
        ScalarType::Hstore => of_array(value),
        ScalarType::Jsonb => to_jsonb(value, false),
        _ => to_json(value, false),
    }
}

/// All texts, keys and values in turn.
fn texts(value: &Hstore) -> Vec<Datum> {
    value.pairs().flat_map(|(key, value)| [Datum::text(key), or_null(value)]).collect()
}

fn matrix(value: &Hstore) -> Answer {
    let dimensions = if value.is_empty() { Vec::new() } else { vec![(value.len(), 1), (2, 1)] };
    Ok(Datum::Array(Arc::new(Array::new(dimensions, texts(value)))))
}

/// A record with the values of its fields' names; what has no such key stays.
fn populated(ctx: &EvalContext, args: &[Datum], result: &ScalarType) -> Answer {
    let ScalarType::Record(record) = result else {
        return Err(ValueError::new("42804", "first argument must be a rowtype"));
    };
    let base = match &args[0] {
        Datum::Record(fields) => Some(fields),
        _ => None,
    };
    if args[1].is_null() {
        return Ok(args[0].clone());
    }
    fields_of(ctx, record, base.map(|fields| &fields[..]), hstore(&args[1])?)
}

fn fields_of(ctx: &EvalContext, record: &RecordType, base: Option<&[Datum]>, pairs: &Hstore) -> Answer {
    let context: TextContext = ctx.text_context();
    let mut fields = Vec::with_capacity(record.len());
    for (place, (name, _)) in record.iter().enumerate() {
        poll::step()?;
        let own = record.column_type(place);
        fields.push(match pairs.get(name) {
            Some(Some(value)) => text_form::parse(&own.scalar, own.modifier, value, &context)?,
            Some(None) => Datum::Null,
            None => base.and_then(|base| base.get(place)).cloned().unwrap_or(Datum::Null),
        });
    }
    Ok(Datum::Record(fields.into()))
}

fn compared(args: &[Datum], holds: fn(Ordering) -> bool) -> Answer {
    truth(holds(args[0].sql_cmp(&args[1])))
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    lenient("hstore(text, text) hstore", |_, a, _| of_texts(a)),
    lenient("tconvert(text, text) hstore", |_, a, _| of_texts(a)),
    lenient("hstore(text[], text[]) hstore", |_, a, _| of_arrays(a)),
    strict("hstore(text[]) hstore", |_, a, _| of_array(&a[0])),
    lenient("hstore_set_element(hstore, text, text) hstore", |_, a, _| set_element(a)),
    strict("fetchval(hstore, text) text", |_, a, _| get(a)),
    strict("slice(hstore, text[]) hstore", |_, a, _| slice(a)),
    strict("slice_array(hstore, text[]) text[]", |_, a, _| values_of(a)),
    strict("exist(hstore, text) bool", |_, a, _| truth(hstore(&a[0])?.get(text(&a[1])?).is_some())),
    strict("isexists(hstore, text) bool", |_, a, _| truth(hstore(&a[0])?.get(text(&a[1])?).is_some())),
    strict("exists_any(hstore, text[]) bool", |_, a, _| exists_in(a, false)),
    strict("exists_all(hstore, text[]) bool", |_, a, _| exists_in(a, true)),
    strict("defined(hstore, text) bool", |_, a, _| truth(!get(a)?.is_null())),
    strict("isdefined(hstore, text) bool", |_, a, _| truth(!get(a)?.is_null())),
    strict("delete(hstore, text) hstore", |_, a, _| without(a)),
    strict("delete(hstore, text[]) hstore", |_, a, _| without(a)),
    strict("delete(hstore, hstore) hstore", |_, a, _| without(a)),
    strict("hs_concat(hstore, hstore) hstore", |_, a, _| concatenated(a)),
    strict("hs_contains(hstore, hstore) bool", |_, a, _| contains(&a[0], &a[1])),
    strict("hs_contained(hstore, hstore) bool", |_, a, _| contains(&a[1], &a[0])),
    strict("akeys(hstore) text[]", |_, a, _| vector(hstore(&a[0])?.pairs().map(|(key, _)| Datum::text(key)).collect())),
    strict("avals(hstore) text[]", |_, a, _| vector(hstore(&a[0])?.pairs().map(|(_, value)| or_null(value)).collect())),
    strict("hstore_to_array(hstore) text[]", |_, a, _| vector(texts(hstore(&a[0])?))),
    strict("hstore_to_matrix(hstore) text[]", |_, a, _| matrix(hstore(&a[0])?)),
    strict("hstore_to_json(hstore) json", |_, a, _| to_json(&a[0], false)),
    strict("hstore_to_json_loose(hstore) json", |_, a, _| to_json(&a[0], true)),
    strict("hstore_to_jsonb(hstore) jsonb", |_, a, _| to_jsonb(&a[0], false)),
    strict("hstore_to_jsonb_loose(hstore) jsonb", |_, a, _| to_jsonb(&a[0], true)),
    lenient("populate_record(record, hstore) emptyrecord", populated).stable(),
    strict("hstore_cmp(hstore, hstore) int4", |_, a, _| Ok(Datum::Int4(a[0].sql_cmp(&a[1]) as i32))),
    strict("hstore_eq(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_eq)),
    strict("hstore_ne(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_ne)),
    strict("hstore_lt(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_lt)),
    strict("hstore_le(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_le)),
    strict("hstore_gt(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_gt)),
    strict("hstore_ge(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_ge)),
];

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    strict("->(hstore, text) text", |_, a, _| get(a)),
    strict("->(hstore, text[]) text[]", |_, a, _| values_of(a)),
    strict("?(hstore, text) bool", |_, a, _| truth(hstore(&a[0])?.get(text(&a[1])?).is_some())),
    strict("?|(hstore, text[]) bool", |_, a, _| exists_in(a, false)),
    strict("?&(hstore, text[]) bool", |_, a, _| exists_in(a, true)),
    strict("||(hstore, hstore) hstore", |_, a, _| concatenated(a)),
    strict("-(hstore, text) hstore", |_, a, _| without(a)),
    strict("-(hstore, text[]) hstore", |_, a, _| without(a)),
    strict("-(hstore, hstore) hstore", |_, a, _| without(a)),
    strict("@>(hstore, hstore) bool", |_, a, _| contains(&a[0], &a[1])),
    strict("<@(hstore, hstore) bool", |_, a, _| contains(&a[1], &a[0])),
    strict("#<#(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_lt)),
    strict("#<=#(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_le)),
    strict("#>#(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_gt)),
    strict("#>=#(hstore, hstore) bool", |_, a, _| compared(a, Ordering::is_ge)),
];
