//! Members of JSON documents as rows.

use super::{TableAnswer, TableFunctionDefinition, column, known, strict};
use crate::scalar::EvalContext;
use crate::scalar::func::arguments::{jsonb, text};
use crate::scalar::func::document::{JsonKind, check_escapes, elements, entries, kind, unquoted};
use crate::scalar::func::jsonpath::query;
use crate::scalar::func::records;
use repr::{Datum, Jsonb, ScalarType, ValueError};

/// A part of a json text as text: strings bare, null as NULL.
fn bare(part: &str) -> Result<Datum, ValueError> {
    Ok(match kind(part) {
        JsonKind::Null => Datum::Null,
        JsonKind::String => Datum::text(unquoted(part)?),
        JsonKind::Object | JsonKind::Array | JsonKind::Number | JsonKind::Boolean => Datum::text(part),
    })
}

fn members(source: &str, as_text: bool) -> TableAnswer {
    check_escapes(source)?;
    match kind(source) {
        JsonKind::Object => {}
        JsonKind::Array => return Err(ValueError::new("22023", "cannot deconstruct an array as an object")),
        JsonKind::Null | JsonKind::Boolean | JsonKind::Number | JsonKind::String => {
            return Err(ValueError::new("22023", "cannot deconstruct a scalar"));
        }
    }
    let row = |(name, value): (String, &str)| {
        Ok(vec![Datum::text(name), if as_text { bare(value)? } else { Datum::text(value) }])
    };
    known(entries(source)?.into_iter().map(row).collect::<Result<_, ValueError>>()?)
}

fn items(source: &str, function: &str, as_text: bool) -> TableAnswer {
    if as_text {
        check_escapes(source)?;
    }
    match kind(source) {
        JsonKind::Array => {}
        JsonKind::Object => return Err(ValueError::new("22023", format!("cannot call {function} on a non-array"))),
        JsonKind::Null | JsonKind::Boolean | JsonKind::Number | JsonKind::String => {
            return Err(ValueError::new("22023", format!("cannot call {function} on a scalar")));
        }
    }
    let item = |item: &str| if as_text { bare(item) } else { Ok(Datum::text(item)) };
    column(elements(source)?.into_iter().map(item).collect::<Result<_, ValueError>>()?)
}

fn keys(source: &str) -> TableAnswer {
    check_escapes(source)?;
    match kind(source) {
        JsonKind::Object => {}
        JsonKind::Array => return Err(ValueError::new("22023", "cannot call json_object_keys on an array")),
        JsonKind::Null | JsonKind::Boolean | JsonKind::Number | JsonKind::String => {
            return Err(ValueError::new("22023", "cannot call json_object_keys on a scalar"));
        }
    }
    column(entries(source)?.into_iter().map(|(name, _)| Datum::text(name)).collect())
}

/// As text: strings bare, null as NULL.
fn value_text(value: &Jsonb) -> Datum {
    value.as_text().map_or(Datum::Null, Datum::text)
}

fn pairs(source: &Jsonb, function: &str, as_text: bool) -> TableAnswer {
    let row = |(name, value): &(std::sync::Arc<str>, Jsonb)| {
        vec![Datum::Text(name.clone()), if as_text { value_text(value) } else { Datum::Jsonb(value.clone()) }]
    };
    known(source.each(function)?.iter().map(row).collect())
}

/// The objects of an array as records.
fn rows_of(ctx: &EvalContext, given: (&Datum, &Datum), types: &[ScalarType], function: &str) -> TableAnswer {
    column(records(ctx, given, types, function)?)
}

/// The items that a path finds.
fn found(ctx: &EvalContext, args: &[Datum], is_zoned: bool) -> TableAnswer {
    strict(args, |args| column(query(ctx, args, is_zoned)?.into_iter().map(Datum::Jsonb).collect()))
}

pub(super) const FUNCTIONS: &[TableFunctionDefinition] = &[
    ("jsonb_path_query(jsonb, jsonpath, jsonb?, bool?) jsonb", |ctx, args, _| found(ctx, args, false)),
    ("jsonb_path_query_tz(jsonb, jsonpath, jsonb?, bool?) jsonb", |ctx, args, _| found(ctx, args, true)),
    ("json_to_recordset(json) emptyrecord", |ctx, args, types| {
        rows_of(ctx, (&Datum::Null, &args[0]), types, "json_to_recordset")
    }),
    ("jsonb_to_recordset(jsonb) emptyrecord", |ctx, args, types| {
        rows_of(ctx, (&Datum::Null, &args[0]), types, "jsonb_to_recordset")
    }),
    ("json_populate_recordset(record, json, bool?) emptyrecord", |ctx, args, types| {
        rows_of(ctx, (&args[0], &args[1]), types, "json_populate_recordset")
    }),
    ("jsonb_populate_recordset(record, jsonb) emptyrecord", |ctx, args, types| {
        rows_of(ctx, (&args[0], &args[1]), types, "jsonb_populate_recordset")
    }),
    ("json_each(json) (key text, value json)", |_, args, _| strict(args, |args| members(text(&args[0])?, false))),
    ("json_each_text(json) (key text, value text)", |_, args, _| strict(args, |args| members(text(&args[0])?, true))),
    ("json_array_elements(json) (value json)", |_, args, _| {
        strict(args, |args| items(text(&args[0])?, "json_array_elements", false))
    }),
    ("json_array_elements_text(json) (value text)", |_, args, _| {
        strict(args, |args| items(text(&args[0])?, "json_array_elements_text", true))
    }),
    ("json_object_keys(json) text", |_, args, _| strict(args, |args| keys(text(&args[0])?))),
    ("jsonb_each(jsonb) (key text, value jsonb)", |_, args, _| {
        strict(args, |args| pairs(jsonb(&args[0])?, "jsonb_each", false))
    }),
    ("jsonb_each_text(jsonb) (key text, value text)", |_, args, _| {
        strict(args, |args| pairs(jsonb(&args[0])?, "jsonb_each_text", true))
    }),
    ("jsonb_array_elements(jsonb) (value jsonb)", |_, args, _| {
        strict(args, |args| column(jsonb(&args[0])?.array_elements()?.iter().cloned().map(Datum::Jsonb).collect()))
    }),
    ("jsonb_array_elements_text(jsonb) (value text)", |_, args, _| {
        strict(args, |args| column(jsonb(&args[0])?.array_elements()?.iter().map(value_text).collect()))
    }),
    ("jsonb_object_keys(jsonb) text", |_, args, _| {
        strict(args, |args| column(jsonb(&args[0])?.object_keys()?.into_iter().map(Datum::Text).collect()))
    }),
];
