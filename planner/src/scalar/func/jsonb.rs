//! jsonb: access, containment, change, construction.

use super::arguments::{boolean, integer, jsonb, string, text, text_array, truth};
use super::json::object_key;
use super::{FunctionDefinition, json, lenient, strict};
use crate::scalar::Answer;
use repr::{Datum, Jsonb, ValueError};

fn document(value: Jsonb) -> Answer {
    Ok(Datum::Jsonb(value))
}

fn part(found: Option<&Jsonb>) -> Answer {
    Ok(found.map_or(Datum::Null, |found| Datum::Jsonb(found.clone())))
}

fn part_text(found: Option<String>) -> Answer {
    found.map_or(Ok(Datum::Null), string)
}

/// A path for changes: NULL steps are refused.
fn path(arg: &Datum) -> Result<Vec<&str>, ValueError> {
    text_array(arg)?
        .into_iter()
        .enumerate()
        .map(|(index, step)| {
            step.ok_or_else(|| ValueError::new("22004", format!("path element at position {} is null", index + 1)))
        })
        .collect()
}

/// A path for access: a NULL step leads nowhere.
fn reachable(steps: Vec<Option<&str>>) -> Option<Vec<&str>> {
    steps.into_iter().collect()
}

fn follow<'a>(source: &'a Datum, steps: Vec<Option<&str>>) -> Result<Option<&'a Jsonb>, ValueError> {
    let source = jsonb(source)?;
    Ok(reachable(steps).and_then(|steps| source.get_path(&steps)))
}

fn variadic(args: &[Datum]) -> Result<Vec<Option<&str>>, ValueError> {
    args.iter().map(|arg| if arg.is_null() { Ok(None) } else { text(arg).map(Some) }).collect()
}

fn or_null(arg: &Datum) -> Result<Jsonb, ValueError> {
    if arg.is_null() { Ok(Jsonb::Null) } else { jsonb(arg).cloned() }
}

fn build_object(args: &[Datum]) -> Answer {
    if !args.len().is_multiple_of(2) {
        return Err(ValueError {
            hint: Some("The arguments of jsonb_build_object() must consist of alternating keys and values.".to_owned()),
            ..ValueError::new("22023", "argument list must have even number of elements")
        });
    }
    let mut pairs = Vec::with_capacity(args.len() / 2);
    for (index, pair) in args.chunks_exact(2).enumerate() {
        if pair[0].is_null() {
            return Err(ValueError::new("22023", format!("argument {}: key must not be null", 2 * index + 1)));
        }
        pairs.push((object_key(&pair[0])?.into(), or_null(&pair[1])?));
    }
    document(Jsonb::object(pairs))
}

fn exists_in(args: &[Datum], all: bool) -> Answer {
    let source = jsonb(&args[0])?;
    let keys = text_array(&args[1])?;
    let mut keys = keys.into_iter().flatten();
    truth(if all { keys.all(|key| source.exists(key)) } else { keys.any(|key| source.exists(key)) })
}

fn delete_keys(args: &[Datum]) -> Answer {
    let mut source = jsonb(&args[0])?.clone();
    for key in text_array(&args[1])?.into_iter().flatten() {
        source = source.delete_key(key)?;
    }
    document(source)
}

/// `jsonb_set_lax`: what a NULL value means is the last argument's choice.
fn set_lax(args: &[Datum]) -> Answer {
    if args[0].is_null() || args[1].is_null() || args.get(3).is_some_and(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let creates = args.get(3).map_or(Ok(true), boolean)?;
    let (source, steps) = (jsonb(&args[0])?, path(&args[1])?);
    if !args[2].is_null() {
        return document(source.set(&steps, jsonb(&args[2])?, creates)?);
    }
    let treatment = match args.get(4) {
        None => "use_json_null",
        Some(Datum::Null) => return Err(unknown_treatment()),
        Some(given) => text(given)?,
    };
    match treatment {
        "raise_exception" => Err(ValueError {
            detail: Some("Exception was raised because null_value_treatment is \"raise_exception\".".to_owned()),
            ..ValueError::new("22004", "JSON value must not be null")
        }),
        "use_json_null" => document(source.set(&steps, &Jsonb::Null, creates)?),
        "delete_key" => document(source.delete_path(&steps)?),
        "return_target" => Ok(args[0].clone()),
        _ => Err(unknown_treatment()),
    }
}

fn unknown_treatment() -> ValueError {
    ValueError::new(
        "22023",
        "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"",
    )
}

/// `jsonb[a][b] = value`: NULL becomes JSON's null, and a NULL that is assigned to an array or an object.
fn set_element(args: &[Datum]) -> Answer {
    let mut path = Vec::with_capacity(args.len() - 3);
    for step in &args[3..] {
        if step.is_null() {
            return Err(ValueError::new("22004", "jsonb subscript in assignment must not be null"));
        }
        path.push(text(step)?);
    }
    let source = match (args[0].is_null(), boolean(&args[2])?) {
        (true, true) => Jsonb::array(Vec::new()),
        (true, false) => Jsonb::object(Vec::new()),
        (false, _) => jsonb(&args[0])?.clone(),
    };
    document(source.assign(&path, &or_null(&args[1])?)?)
}

fn object(args: &[Datum]) -> Answer {
    let pairs = json::object_pairs(args)?.into_iter();
    let value = |value: Option<String>| value.map_or(Jsonb::Null, Jsonb::string);
    document(Jsonb::object(pairs.map(|(name, item)| (name.into(), value(item))).collect()))
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("to_jsonb(anyjsonb) jsonb", |_, a, _| Ok(a[0].clone())),
    lenient("jsonb_set_element(jsonb, jsonb, bool, variadic text[]) jsonb", |_, a, _| set_element(a)),
    lenient("jsonb_build_object() jsonb", |_, a, _| build_object(a)),
    lenient("jsonb_build_object(variadic jsonbpairs) jsonb", |_, a, _| build_object(a)),
    lenient("jsonb_build_array() jsonb", |_, _, _| document(Jsonb::array(Vec::new()))),
    lenient("jsonb_build_array(variadic anyjsonb) jsonb", |_, a, _| {
        document(Jsonb::array(a.iter().map(or_null).collect::<Result<_, _>>()?))
    }),
    strict("jsonb_object(text[], text[]?) jsonb", |_, a, _| object(a)),
    strict("jsonb_array_length(jsonb) int4", |_, a, _| Ok(Datum::Int4(jsonb(&a[0])?.array_length()?))),
    strict("jsonb_to_record(jsonb) emptyrecord", |ctx, a, result| {
        json::record::record(ctx, (&Datum::Null, &a[0]), result)
    })
    .stable(),
    lenient("jsonb_populate_record(record, jsonb) emptyrecord", |ctx, a, result| {
        json::record::record(ctx, (&a[0], &a[1]), result)
    })
    .stable(),
    strict("jsonb_typeof(jsonb) text", |_, a, _| string(jsonb(&a[0])?.type_name())),
    strict("jsonb_pretty(jsonb) text", |_, a, _| string(jsonb(&a[0])?.pretty())),
    strict("jsonb_strip_nulls(jsonb) jsonb", |_, a, _| document(jsonb(&a[0])?.strip_nulls())),
    strict("jsonb_extract_path(jsonb, variadic text[]) jsonb", |_, a, _| part(follow(&a[0], variadic(&a[1..])?)?)),
    strict("jsonb_extract_path_text(jsonb, variadic text[]) text", |_, a, _| {
        part_text(follow(&a[0], variadic(&a[1..])?)?.and_then(Jsonb::as_text))
    }),
    strict("jsonb_set(jsonb, text[], jsonb, bool?) jsonb", |_, a, _| {
        document(jsonb(&a[0])?.set(&path(&a[1])?, jsonb(&a[2])?, a.get(3).map_or(Ok(true), boolean)?)?)
    }),
    lenient("jsonb_set_lax(jsonb, text[], jsonb, bool?, text?) jsonb", |_, a, _| set_lax(a)),
    strict("jsonb_insert(jsonb, text[], jsonb, bool?) jsonb", |_, a, _| {
        document(jsonb(&a[0])?.insert(&path(&a[1])?, jsonb(&a[2])?, a.get(3).map_or(Ok(false), boolean)?)?)
    }),
    strict("jsonb_exists(jsonb, text) bool", |_, a, _| truth(jsonb(&a[0])?.exists(text(&a[1])?))),
    strict("jsonb_exists_any(jsonb, text[]) bool", |_, a, _| exists_in(a, false)),
    strict("jsonb_exists_all(jsonb, text[]) bool", |_, a, _| exists_in(a, true)),
    strict("jsonb_contains(jsonb, jsonb) bool", |_, a, _| truth(jsonb(&a[0])?.contains(jsonb(&a[1])?))),
];

/// The operators' functions, by the names that PostgreSQL has for them.
pub(crate) const NAMED_OPERATORS: &[FunctionDefinition] = &[
    strict("jsonb_object_field(jsonb, text) jsonb", |_, a, _| part(jsonb(&a[0])?.get(text(&a[1])?))),
    strict("jsonb_object_field_text(jsonb, text) text", |_, a, _| part_text(jsonb(&a[0])?.get_text(text(&a[1])?))),
    strict("jsonb_array_element(jsonb, int4) jsonb", |_, a, _| part(jsonb(&a[0])?.get_index(integer(&a[1])?))),
    strict("jsonb_array_element_text(jsonb, int4) text", |_, a, _| {
        part_text(jsonb(&a[0])?.get_index_text(integer(&a[1])?))
    }),
    strict("jsonb_contained(jsonb, jsonb) bool", |_, a, _| truth(jsonb(&a[1])?.contains(jsonb(&a[0])?))),
    strict("jsonb_concat(jsonb, jsonb) jsonb", |_, a, _| document(jsonb(&a[0])?.concat(jsonb(&a[1])?))),
    strict("jsonb_delete(jsonb, text) jsonb", |_, a, _| document(jsonb(&a[0])?.delete_key(text(&a[1])?)?)),
    strict("jsonb_delete(jsonb, int4) jsonb", |_, a, _| document(jsonb(&a[0])?.delete_index(integer(&a[1])?)?)),
    strict("jsonb_delete(jsonb, variadic text[]) jsonb", |_, a, _| {
        let keys = variadic(&a[1..])?.into_iter().flatten();
        document(keys.into_iter().try_fold(jsonb(&a[0])?.clone(), |source, key| source.delete_key(key))?)
    }),
    strict("jsonb_delete_path(jsonb, text[]) jsonb", |_, a, _| document(jsonb(&a[0])?.delete_path(&path(&a[1])?)?)),
];

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    strict("->(jsonb, text) jsonb", |_, a, _| part(jsonb(&a[0])?.get(text(&a[1])?))),
    strict("->(jsonb, int4) jsonb", |_, a, _| part(jsonb(&a[0])?.get_index(integer(&a[1])?))),
    strict("->>(jsonb, text) text", |_, a, _| part_text(jsonb(&a[0])?.get_text(text(&a[1])?))),
    strict("->>(jsonb, int4) text", |_, a, _| part_text(jsonb(&a[0])?.get_index_text(integer(&a[1])?))),
    strict("#>(jsonb, text[]) jsonb", |_, a, _| part(follow(&a[0], text_array(&a[1])?)?)),
    strict("#>>(jsonb, text[]) text", |_, a, _| part_text(follow(&a[0], text_array(&a[1])?)?.and_then(Jsonb::as_text))),
    strict("@>(jsonb, jsonb) bool", |_, a, _| truth(jsonb(&a[0])?.contains(jsonb(&a[1])?))),
    strict("<@(jsonb, jsonb) bool", |_, a, _| truth(jsonb(&a[1])?.contains(jsonb(&a[0])?))),
    strict("?(jsonb, text) bool", |_, a, _| truth(jsonb(&a[0])?.exists(text(&a[1])?))),
    strict("?|(jsonb, text[]) bool", |_, a, _| exists_in(a, false)),
    strict("?&(jsonb, text[]) bool", |_, a, _| exists_in(a, true)),
    strict("||(jsonb, jsonb) jsonb", |_, a, _| document(jsonb(&a[0])?.concat(jsonb(&a[1])?))),
    strict("-(jsonb, text) jsonb", |_, a, _| document(jsonb(&a[0])?.delete_key(text(&a[1])?)?)),
    strict("-(jsonb, int4) jsonb", |_, a, _| document(jsonb(&a[0])?.delete_index(integer(&a[1])?)?)),
    strict("-(jsonb, text[]) jsonb", |_, a, _| delete_keys(a)),
    strict("#-(jsonb, text[]) jsonb", |_, a, _| document(jsonb(&a[0])?.delete_path(&path(&a[1])?)?)),
];
