//! `ts_headline` of documents: of each string in them, the document staying as it is otherwise.

use super::super::append_json_string;
use crate::scalar::func::document::{JsonKind, elements, entries, kind, unquoted};
use repr::{Jsonb, ValueError, poll};
use std::sync::Arc;

/// What is shown of a text.
type Headline<'a> = &'a dyn Fn(&str) -> Result<String, ValueError>;

/// As deep as documents nest, which is bounded where they are read.
pub(super) fn of_jsonb(value: &Jsonb, shown: Headline<'_>) -> Result<Jsonb, ValueError> {
    poll::step()?;
    Ok(match value {
        Jsonb::String(text) => Jsonb::String(Arc::from(shown(text)?)),
        Jsonb::Array(values) => {
            let values = values.iter().map(|value| of_jsonb(value, shown));
            Jsonb::Array(values.collect::<Result<_, _>>()?)
        }
        Jsonb::Object(pairs) => {
            let pairs = pairs.iter().map(|(name, value)| Ok((Arc::clone(name), of_jsonb(value, shown)?)));
            Jsonb::Object(pairs.collect::<Result<_, ValueError>>()?)
        }
        Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) => value.clone(),
    })
}

/// The same of a json: no blanks stay between its members.
pub(super) fn of_json(out: &mut String, source: &str, shown: Headline<'_>) -> Result<(), ValueError> {
    poll::step()?;
    match kind(source) {
        JsonKind::String => append_json_string(out, &shown(&unquoted(source)?)?),
        JsonKind::Null | JsonKind::Number | JsonKind::Boolean => out.push_str(source.trim()),
        JsonKind::Array => {
            out.push('[');
            for (place, element) in elements(source)?.into_iter().enumerate() {
                out.push_str(if place == 0 { "" } else { "," });
                of_json(out, element, shown)?;
            }
            out.push(']');
        }
        JsonKind::Object => {
            out.push('{');
            for (place, (name, value)) in entries(source)?.into_iter().enumerate() {
                out.push_str(if place == 0 { "" } else { "," });
                append_json_string(out, &name);
                out.push(':');
                of_json(out, value, shown)?;
            }
            out.push('}');
        }
    }
    Ok(())
}
