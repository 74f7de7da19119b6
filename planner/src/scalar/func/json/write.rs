//! Any value as JSON: `to_json` and `to_jsonb`.

use repr::datetime::{format_date, format_timestamp, format_timestamptz};
use repr::text::{TextContext, format};
use repr::{Array, Datum, Hstore, Jsonb, Numeric, ScalarType, ValueError, poll};

/// Appends a JSON string literal.
pub(crate) fn append_json_string(shown: &mut String, text: &str) {
    Jsonb::string(text).write_text(shown);
}

/// Appends what `to_json` gives; nested types are followed as deep as their types go.
pub(crate) fn append_json(shown: &mut String, value: &Datum, scalar: &ScalarType, context: &TextContext) {
    match (value, scalar) {
        (Datum::Null, _) => shown.push_str("null"),
        (Datum::Bool(value), _) => shown.push_str(if *value { "true" } else { "false" }),
        (Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_), _) => shown.push_str(&format(value, scalar, context)),
        (Datum::Float4(_) | Datum::Float8(_) | Datum::Numeric(_), _) => {
            let number = format(value, scalar, context);
            if is_number(value) { shown.push_str(&number) } else { append_json_string(shown, &number) }
        }
        (Datum::Text(text), ScalarType::Json) => shown.push_str(text),
        (Datum::Jsonb(document), _) => document.write_text(shown),
        (Datum::Hstore(pairs), _) => append_hstore(shown, pairs, false),
        (Datum::Array(array), _) => {
            let element = scalar.element().unwrap_or(ScalarType::Text);
            append_array(shown, array, &element, &mut 0, 0, context);
        }
        (Datum::Record(fields), ScalarType::Record(types)) => {
            shown.push('{');
            for (index, (field, (name, scalar))) in fields.iter().zip(types.iter()).enumerate() {
                if index > 0 {
                    shown.push(',');
                }
                append_json_string(shown, name);
                shown.push(':');
                append_json(shown, field, scalar, context);
            }
            shown.push('}');
        }
        (other, _) => append_json_string(shown, &json_text(other, scalar, context)),
    }
}

/// Appends an object of texts; loosely, what looks like a number or a boolean is one.
pub(crate) fn append_hstore(shown: &mut String, pairs: &Hstore, loosely: bool) {
    shown.push('{');
    for (place, (key, value)) in pairs.pairs().enumerate() {
        shown.push_str(if place == 0 { "" } else { ", " });
        append_json_string(shown, key);
        shown.push_str(": ");
        match value {
            None => shown.push_str("null"),
            Some("t") if loosely => shown.push_str("true"),
            Some("f") if loosely => shown.push_str("false"),
            Some(number) if loosely && is_written_number(number) => shown.push_str(number),
            Some(value) => append_json_string(shown, value),
        }
    }
    shown.push('}');
}

/// A number of JSON's grammar.
fn is_written_number(text: &str) -> bool {
    fn digits(text: &str) -> Option<&str> {
        let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
        (rest.len() < text.len()).then_some(rest)
    }
    let whole = text.strip_prefix('-').unwrap_or(text);
    let Some(mut rest) = whole.strip_prefix('0').or_else(|| digits(whole)) else { return false };
    if let Some(fraction) = rest.strip_prefix('.') {
        let Some(behind) = digits(fraction) else { return false };
        rest = behind;
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) == Some(""),
        None => rest.is_empty(),
    }
}

fn is_number(value: &Datum) -> bool {
    match value {
        Datum::Numeric(number) => number.is_finite(),
        float => float.as_f64().is_some_and(f64::is_finite),
    }
}

/// Text forms within JSON: dates and timestamps are ISO 8601 in every session.
fn json_text(value: &Datum, scalar: &ScalarType, context: &TextContext) -> String {
    match value {
        Datum::Date(days) => format_date(*days),
        Datum::Timestamp(micros) => format_timestamp(*micros).replacen(' ', "T", 1),
        Datum::Timestamptz(micros) => {
            let mut text = format_timestamptz(*micros, &context.zone).replacen(' ', "T", 1);
            // JSON's offsets have minutes.
            let era = text.find(" BC").unwrap_or(text.len());
            if era >= 3 && matches!(text.as_bytes()[era - 3], b'+' | b'-') {
                text.insert_str(era, ":00");
            }
            text
        }
        _ => format(value, scalar, context),
    }
}

fn append_array(
    shown: &mut String,
    array: &Array,
    element: &ScalarType,
    next: &mut usize,
    dimension: usize,
    context: &TextContext,
) {
    let Some((length, _)) = array.dimensions.get(dimension) else {
        return shown.push_str("[]");
    };
    shown.push('[');
    for index in 0..*length {
        poll::step_or_unwind();
        if index > 0 {
            shown.push(',');
        }
        if dimension + 1 < array.dimensions.len() {
            append_array(shown, array, element, next, dimension + 1, context);
        } else {
            append_json(shown, array.elements.get(*next).unwrap_or(&Datum::Null), element, context);
            *next += 1;
        }
    }
    shown.push(']');
}

/// What `to_jsonb` gives.
pub(crate) fn to_jsonb(value: &Datum, scalar: &ScalarType, context: &TextContext) -> Result<Jsonb, ValueError> {
    Ok(match (value, scalar) {
        (Datum::Null, _) => Jsonb::Null,
        (Datum::Bool(value), _) => Jsonb::Bool(*value),
        (Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_), _) => {
            Jsonb::Number(Numeric::from(value.as_i64().unwrap_or_default()))
        }
        (Datum::Numeric(number), _) if number.is_finite() => Jsonb::Number(number.clone()),
        (Datum::Float4(_) | Datum::Float8(_), _) if is_number(value) => {
            Jsonb::Number(format(value, scalar, context).parse()?)
        }
        (Datum::Text(text), ScalarType::Json) => text.parse()?,
        (Datum::Text(text), _) => Jsonb::String(text.clone()),
        (Datum::Jsonb(document), _) => document.clone(),
        (Datum::Hstore(pairs), _) => {
            let value = |value: Option<&str>| value.map_or(Jsonb::Null, Jsonb::string);
            Jsonb::object(pairs.pairs().map(|(key, text)| (key.into(), value(text))).collect())
        }
        (Datum::Array(array), _) => {
            let element = scalar.element().unwrap_or(ScalarType::Text);
            array_to_jsonb(array, &element, &mut 0, 0, context)?
        }
        (Datum::Record(fields), ScalarType::Record(types)) => {
            let mut pairs = Vec::with_capacity(types.len());
            for (field, (name, scalar)) in fields.iter().zip(types.iter()) {
                pairs.push((name.as_str().into(), to_jsonb(field, scalar, context)?));
            }
            Jsonb::object(pairs)
        }
        (other, _) => Jsonb::string(json_text(other, scalar, context)),
    })
}

fn array_to_jsonb(
    array: &Array,
    element: &ScalarType,
    next: &mut usize,
    dimension: usize,
    context: &TextContext,
) -> Result<Jsonb, ValueError> {
    let length = array.dimensions.get(dimension).map_or(0, |(length, _)| *length);
    let mut items = Vec::with_capacity(length);
    for _ in 0..length {
        items.push(if dimension + 1 < array.dimensions.len() {
            array_to_jsonb(array, element, next, dimension + 1, context)?
        } else {
            *next += 1;
            to_jsonb(array.elements.get(*next - 1).unwrap_or(&Datum::Null), element, context)?
        });
    }
    Ok(Jsonb::array(items))
}
