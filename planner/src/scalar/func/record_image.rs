//! Comparisons of rows by how their values are stored: `*=`, `*<>`, `*<`, `*<=`, `*>`, `*>=`.
//!
//! Equal are values that cannot be told apart: `1.0` and `1.00` are two. The order is that of PostgreSQL's bytes on machines whose
//! least byte comes first, and means nothing: numbers below zero follow those above it. Values whose bytes are laid out in
//! another way here have no order.

use super::arguments::{truth, wrong};
use super::{FunctionDefinition, strict};
use repr::{Datum, Geometry, MacAddress, ValueError, poll};
use std::cmp::Ordering;

fn fields(value: &Datum) -> Result<&[Datum], ValueError> {
    match value {
        Datum::Record(fields) => Ok(fields),
        _ => Err(wrong("a record")),
    }
}

fn equal(args: &[Datum]) -> Result<bool, ValueError> {
    Ok(all_alike(fields(&args[0])?, fields(&args[1])?))
}

fn all_alike(left: &[Datum], right: &[Datum]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_alike(left, right))
}

/// Whether two values are stored alike.
fn is_alike(left: &Datum, right: &Datum) -> bool {
    poll::step_or_unwind();
    match (left, right) {
        // What is no number is one value here, and zero has a sign.
        (Datum::Float4(left), Datum::Float4(right)) => left.to_bits() == right.to_bits(),
        (Datum::Float8(left), Datum::Float8(right)) => left.to_bits() == right.to_bits(),
        (Datum::Geometry(left), Datum::Geometry(right)) => encoded(left) == encoded(right),
        (Datum::Array(left), Datum::Array(right)) => {
            left.dimensions == right.dimensions && all_alike(&left.elements, &right.elements)
        }
        (Datum::Record(left), Datum::Record(right)) => all_alike(left, right),
        (left, right) => left == right,
    }
}

fn encoded(shape: &Geometry) -> Vec<u8> {
    let mut bytes = Vec::new();
    shape.encode(&mut bytes);
    bytes
}

/// How a value is stored.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Image {
    /// In place.
    Word(u64),
    /// As bytes.
    Bytes(Vec<u8>),
    /// Not at all: NULLs are last.
    Null,
}

/// What is shorter than a word has its sign in front of it.
fn signed(value: impl Into<i64>) -> Image {
    Image::Word(value.into().cast_unsigned())
}

fn image(value: &Datum) -> Result<Image, ValueError> {
    Ok(match value {
        Datum::Null => Image::Null,
        Datum::Bool(value) => Image::Word(u64::from(*value)),
        Datum::Int2(value) => signed(*value),
        Datum::Int4(value) | Datum::Date(value) => signed(*value),
        Datum::Int8(value)
        | Datum::Time(value)
        | Datum::Timestamp(value)
        | Datum::Timestamptz(value)
        | Datum::Money(value) => signed(*value),
        Datum::Oid(value) => Image::Word(u64::from(*value)),
        Datum::Float4(value) => signed(value.to_bits().cast_signed()),
        Datum::Float8(value) => Image::Word(value.to_bits()),
        Datum::Text(text) | Datum::Bpchar(text) | Datum::Citext(text) | Datum::Xml(text) => {
            Image::Bytes(text.as_bytes().to_vec())
        }
        Datum::Bytea(bytes) => Image::Bytes(bytes.to_vec()),
        Datum::Uuid(bytes) => Image::Bytes(bytes.to_vec()),
        Datum::MacAddress(MacAddress::Six(bytes)) => Image::Bytes(bytes.to_vec()),
        Datum::MacAddress(MacAddress::Eight(bytes)) => Image::Bytes(bytes.to_vec()),
        Datum::Interval(value) => {
            let parts = [&value.micros.to_le_bytes()[..], &value.days.to_le_bytes(), &value.months.to_le_bytes()];
            Image::Bytes(parts.concat())
        }
        Datum::TimeTz(value) => Image::Bytes([&value.micros.to_le_bytes()[..], &value.west.to_le_bytes()].concat()),
        Datum::Geometry(shape) if !matches!(**shape, Geometry::Path(..) | Geometry::Polygon(_)) => {
            let mut bytes = encoded(shape);
            bytes.chunks_mut(size_of::<f64>()).for_each(<[u8]>::reverse);
            Image::Bytes(bytes)
        }
        _ => return Err(ValueError::new("0A000", "the order by which such a value is stored is not supported")),
    })
}

fn order(args: &[Datum]) -> Result<Ordering, ValueError> {
    for (left, right) in fields(&args[0])?.iter().zip(fields(&args[1])?) {
        poll::step()?;
        let order = image(left)?.cmp(&image(right)?);
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("record_image_eq(record, record) bool", |_, a, _| truth(equal(a)?)),
    strict("record_image_ne(record, record) bool", |_, a, _| truth(!equal(a)?)),
    strict("record_image_lt(record, record) bool", |_, a, _| truth(order(a)?.is_lt())),
    strict("record_image_le(record, record) bool", |_, a, _| truth(order(a)?.is_le())),
    strict("record_image_gt(record, record) bool", |_, a, _| truth(order(a)?.is_gt())),
    strict("record_image_ge(record, record) bool", |_, a, _| truth(order(a)?.is_ge())),
];

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    strict("*=(record, record) bool", |_, a, _| truth(equal(a)?)),
    strict("*<>(record, record) bool", |_, a, _| truth(!equal(a)?)),
    strict("*<(record, record) bool", |_, a, _| truth(order(a)?.is_lt())),
    strict("*<=(record, record) bool", |_, a, _| truth(order(a)?.is_le())),
    strict("*>(record, record) bool", |_, a, _| truth(order(a)?.is_gt())),
    strict("*>=(record, record) bool", |_, a, _| truth(order(a)?.is_ge())),
];
