//! Objects of JSON as rows: `json_to_record`, `json_populate_record`, and the same of arrays of objects.
//!
//! A field is read from the value of its name, as a text of its type is read; arrays are read element by element. What has no
//! value keeps that of the base record.

use super::append_json_string;
use super::document::{JsonKind, check_escapes, elements, entries, kind, unquoted};
use crate::scalar::EvalContext;
use crate::scalar::func::arguments::text as json_text;
use repr::text::{self, TextContext};
use repr::{Array, Datum, Jsonb, ScalarType, ValueError, poll};
use std::collections::HashMap;
use std::sync::Arc;

/// A field's name and type.
type RecordField = (String, ScalarType);

/// A value in a document of either type.
#[derive(Clone, Copy)]
enum DocumentPart<'a> {
    Json(&'a str),
    Jsonb(&'a Jsonb),
}

/// The values of an object, by name.
enum ObjectMembers<'a> {
    Json(HashMap<String, &'a str>),
    Jsonb(&'a Jsonb),
}

impl<'a> DocumentPart<'a> {
    fn of(arg: &'a Datum) -> Result<DocumentPart<'a>, ValueError> {
        match arg {
            Datum::Jsonb(value) => Ok(DocumentPart::Jsonb(value)),
            other => {
                let source = json_text(other)?;
                check_escapes(source)?;
                Ok(DocumentPart::Json(source))
            }
        }
    }

    fn kind(self) -> JsonKind {
        match self {
            DocumentPart::Json(source) => kind(source),
            DocumentPart::Jsonb(Jsonb::Null) => JsonKind::Null,
            DocumentPart::Jsonb(Jsonb::Bool(_)) => JsonKind::Boolean,
            DocumentPart::Jsonb(Jsonb::Number(_)) => JsonKind::Number,
            DocumentPart::Jsonb(Jsonb::String(_)) => JsonKind::String,
            DocumentPart::Jsonb(Jsonb::Array(_)) => JsonKind::Array,
            DocumentPart::Jsonb(Jsonb::Object(_)) => JsonKind::Object,
        }
    }

    fn elements(self) -> Result<Vec<DocumentPart<'a>>, ValueError> {
        match self {
            DocumentPart::Json(source) => Ok(elements(source)?.into_iter().map(DocumentPart::Json).collect()),
            DocumentPart::Jsonb(value) => Ok(value.array_elements()?.iter().map(DocumentPart::Jsonb).collect()),
        }
    }

    /// The values of an object.
    fn members(self) -> Result<ObjectMembers<'a>, ValueError> {
        let refused = |what: &str| Err(ValueError::new("22023", format!("cannot call populate_composite on {what}")));
        match (self.kind(), self) {
            // Of equal names the last one counts.
            (JsonKind::Object, DocumentPart::Json(source)) => {
                Ok(ObjectMembers::Json(entries(source)?.into_iter().collect()))
            }
            (JsonKind::Object, DocumentPart::Jsonb(value)) => Ok(ObjectMembers::Jsonb(value)),
            (JsonKind::Array, _) => refused("an array"),
            (JsonKind::Null | JsonKind::Boolean | JsonKind::Number | JsonKind::String, _) => refused("a scalar"),
        }
    }

    /// As a text that is read: a string bare, all else as it is written.
    fn bare(self) -> Result<String, ValueError> {
        match self {
            DocumentPart::Json(source) if kind(source) == JsonKind::String => unquoted(source),
            DocumentPart::Json(source) => Ok(source.trim().to_owned()),
            DocumentPart::Jsonb(value) => Ok(value.as_text().unwrap_or_default()),
        }
    }

    /// As a value of json.
    fn as_json(self) -> Result<Datum, ValueError> {
        match self {
            // What its escapes stand for is written out.
            DocumentPart::Json(source) if kind(source) == JsonKind::String => {
                let mut shown = String::new();
                append_json_string(&mut shown, &unquoted(source)?);
                Ok(Datum::Text(shown.into()))
            }
            DocumentPart::Json(source) => Ok(Datum::text(source.trim())),
            DocumentPart::Jsonb(value) => Ok(Datum::text(value.to_string())),
        }
    }

    fn as_jsonb(self) -> Result<Datum, ValueError> {
        match self {
            DocumentPart::Json(source) => Ok(Datum::Jsonb(source.parse()?)),
            DocumentPart::Jsonb(value) => Ok(Datum::Jsonb(value.clone())),
        }
    }
}

impl<'a> ObjectMembers<'a> {
    fn get(&self, name: &str) -> Option<DocumentPart<'a>> {
        match self {
            ObjectMembers::Json(members) => members.get(name).copied().map(DocumentPart::Json),
            ObjectMembers::Jsonb(object) => object.get(name).map(DocumentPart::Jsonb),
        }
    }
}

/// Reads values of fields.
struct FieldReader {
    context: TextContext,
}

impl FieldReader {
    fn new(ctx: &EvalContext, fields: &[RecordField]) -> FieldReader {
        let asks = |scalar: &ScalarType| scalar.reads_settings() || matches!(scalar, ScalarType::Enum(_));
        let asks = fields.iter().any(|(_, scalar)| asks(scalar) || scalar.element().as_ref().is_some_and(asks));
        FieldReader { context: if asks { ctx.text_context() } else { TextContext::default() } }
    }

    fn record(
        &self,
        base: Option<&[Datum]>,
        members: &ObjectMembers<'_>,
        fields: &[RecordField],
    ) -> Result<Datum, ValueError> {
        let mut values = Vec::with_capacity(fields.len());
        for (place, (name, scalar)) in fields.iter().enumerate() {
            poll::step()?;
            let base = base.and_then(|base| base.get(place));
            values.push(match members.get(name) {
                Some(part) => self.value(part, (scalar, base), name)?,
                None => base.cloned().unwrap_or(Datum::Null),
            });
        }
        Ok(Datum::Record(values.into()))
    }

    /// Of a type, over what the base record has there.
    fn value(
        &self,
        part: DocumentPart<'_>,
        (scalar, base): (&ScalarType, Option<&Datum>),
        name: &str,
    ) -> Result<Datum, ValueError> {
        let found = part.kind();
        if found == JsonKind::Null {
            return Ok(Datum::Null);
        }
        match scalar {
            ScalarType::Json => part.as_json(),
            ScalarType::Jsonb => part.as_jsonb(),
            ScalarType::Array(element) if found != JsonKind::String => self.array(part, element, name),
            ScalarType::Record(fields) if found != JsonKind::String => {
                self.record(base.and_then(base_of), &part.members()?, fields)
            }
            scalar => text::parse(scalar, -1, &part.bare()?, &self.context),
        }
    }

    fn array(&self, part: DocumentPart<'_>, element: &ScalarType, name: &str) -> Result<Datum, ValueError> {
        let mut shape = ArrayShape { name, lengths: Vec::new(), known: None, at: Vec::new(), elements: Vec::new() };
        self.level(&mut shape, part, element, 0)?;
        let dimensions: Vec<(usize, i32)> = shape.lengths.iter().map(|length| (length.unwrap_or(0), 1)).collect();
        if shape.elements.is_empty() {
            return Ok(Datum::Array(Arc::new(Array::vector(Vec::new()))));
        }
        Ok(Datum::Array(Arc::new(Array::new(dimensions, shape.elements))))
    }

    /// One array of a level. How many levels there are is known from the first element that is none.
    fn level(
        &self,
        shape: &mut ArrayShape<'_>,
        part: DocumentPart<'_>,
        element: &ScalarType,
        level: usize,
    ) -> Result<(), ValueError> {
        if part.kind() != JsonKind::Array {
            return Err(shape.no_array());
        }
        if level == shape.lengths.len() {
            if level == DIMENSIONS_MAX {
                let message = format!("number of array dimensions ({}) exceeds the maximum allowed (6)", level + 1);
                return Err(ValueError::new("54000", message));
            }
            shape.lengths.push(None);
        }
        let parts = part.elements()?;
        if shape.known.is_none() && parts.first().is_none_or(|first| first.kind() != JsonKind::Array) {
            shape.known = Some(level + 1);
        }
        for (place, part) in parts.iter().enumerate() {
            poll::step()?;
            shape.at.push(place);
            if shape.known == Some(level + 1) {
                let value = self.value(*part, (element, None), shape.name)?;
                shape.elements.push(value);
            } else {
                self.level(shape, *part, element, level + 1)?;
            }
            shape.at.pop();
        }
        match shape.lengths[level].replace(parts.len()) {
            Some(other) if other != parts.len() => Err(ValueError {
                detail: Some("Multidimensional arrays must have sub-arrays with matching dimensions.".to_owned()),
                ..ValueError::new("22P02", "malformed JSON array")
            }),
            Some(_) | None => Ok(()),
        }
    }
}

const DIMENSIONS_MAX: usize = 6;

/// An array that is being read.
struct ArrayShape<'n> {
    /// The field's.
    name: &'n str,
    /// How long the arrays of each level are.
    lengths: Vec<Option<usize>>,
    /// How many levels there are.
    known: Option<usize>,
    /// Where it is being read.
    at: Vec<usize>,
    elements: Vec<Datum>,
}

impl ArrayShape<'_> {
    fn no_array(&self) -> ValueError {
        let place: String = self.at.iter().map(|place| format!("[{place}]")).collect();
        let what = if place.is_empty() { "value".to_owned() } else { format!("array element {place}") };
        let hint = Some(format!("See the {what} of key \"{}\".", self.name));
        ValueError { hint, ..ValueError::new("22P02", "expected JSON array") }
    }
}

fn fields(record: &ScalarType) -> Result<&[RecordField], ValueError> {
    match record {
        ScalarType::Record(fields) => Ok(fields),
        _ => Err(ValueError::new("XX000", "a record is made of another type")),
    }
}

fn base_of(arg: &Datum) -> Option<&[Datum]> {
    match arg {
        Datum::Record(values) => Some(values),
        _ => None,
    }
}

/// An object as a record; without one, the base.
pub(in crate::scalar::func) fn record(
    ctx: &EvalContext,
    (base, document): (&Datum, &Datum),
    result: &ScalarType,
) -> Result<Datum, ValueError> {
    if document.is_null() {
        return Ok(base.clone());
    }
    let fields = fields(result)?;
    let members = DocumentPart::of(document)?.members()?;
    FieldReader::new(ctx, fields).record(base_of(base), &members, fields)
}

/// An array of objects as records.
pub(crate) fn records(
    ctx: &EvalContext,
    (base, document): (&Datum, &Datum),
    types: &[ScalarType],
    function: &str,
) -> Result<Vec<Datum>, ValueError> {
    if document.is_null() {
        return Ok(Vec::new());
    }
    let fields = types.first().map_or_else(|| Ok(Default::default()), fields)?;
    let part = DocumentPart::of(document)?;
    let refused = |what: &str| Err(ValueError::new("22023", format!("cannot call {function} on {what}")));
    match (part.kind(), part) {
        (JsonKind::Array, _) => {}
        (_, DocumentPart::Jsonb(_)) => return refused("a non-array"),
        (JsonKind::Object, DocumentPart::Json(_)) => return refused("an object"),
        (_, DocumentPart::Json(_)) => return refused("a scalar"),
    }
    let reader = FieldReader::new(ctx, fields);
    let mut records = Vec::new();
    for element in part.elements()? {
        if element.kind() != JsonKind::Object {
            let message = format!("argument of {function} must be an array of objects");
            return Err(ValueError::new("22023", message));
        }
        records.push(reader.record(base_of(base), &element.members()?, fields)?);
    }
    Ok(records)
}
