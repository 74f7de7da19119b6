//! Reading arguments. The registry guarantees the types; a mismatch is a bug and answers XX000, not a panic.

use repr::range::Multirange;
use repr::{Array, Bits, Datum, Interval, Jsonb, MacAddress, Numeric, Range, TimeTz, ValueError};
use std::sync::Arc;

pub(crate) fn wrong(wanted: &str) -> ValueError {
    ValueError::new("XX000", format!("a function got an argument that is not {wanted}"))
}

/// text and its kin; a character(n) without its padding.
pub(crate) fn text(arg: &Datum) -> Result<&str, ValueError> {
    match arg {
        Datum::Text(text) | Datum::Citext(text) => Ok(text),
        Datum::Bpchar(text) => Ok(text.trim_end_matches(' ')),
        Datum::Enum { label, .. } => Ok(label),
        _ => Err(wrong("text")),
    }
}

/// An integer of any width, or an oid.
pub(crate) fn integer(arg: &Datum) -> Result<i64, ValueError> {
    arg.as_i64().ok_or_else(|| wrong("an integer"))
}

/// An int4.
pub(crate) fn int4(arg: &Datum) -> Result<i32, ValueError> {
    match arg {
        Datum::Int4(value) => Ok(*value),
        Datum::Int2(value) => Ok(i32::from(*value)),
        _ => Err(wrong("an int4")),
    }
}

/// An oid or reg*.
pub(crate) fn oid(arg: &Datum) -> Result<u32, ValueError> {
    match arg {
        Datum::Oid(value) => Ok(*value),
        _ => Err(wrong("an oid")),
    }
}

/// A float of either width.
pub(crate) fn float(arg: &Datum) -> Result<f64, ValueError> {
    arg.as_f64().ok_or_else(|| wrong("a float"))
}

/// numeric
pub(crate) fn numeric(arg: &Datum) -> Result<&Numeric, ValueError> {
    match arg {
        Datum::Numeric(value) => Ok(value),
        _ => Err(wrong("a numeric")),
    }
}

/// boolean
pub(crate) fn boolean(arg: &Datum) -> Result<bool, ValueError> {
    arg.as_bool().ok_or_else(|| wrong("a boolean"))
}

/// bytea
pub(crate) fn bytea(arg: &Datum) -> Result<&[u8], ValueError> {
    match arg {
        Datum::Bytea(value) => Ok(value),
        _ => Err(wrong("a bytea")),
    }
}

/// date
pub(crate) fn date(arg: &Datum) -> Result<i32, ValueError> {
    match arg {
        Datum::Date(value) => Ok(*value),
        _ => Err(wrong("a date")),
    }
}

/// time
pub(crate) fn time(arg: &Datum) -> Result<i64, ValueError> {
    match arg {
        Datum::Time(value) => Ok(*value),
        _ => Err(wrong("a time")),
    }
}

/// time with time zone
pub(crate) fn time_tz(arg: &Datum) -> Result<TimeTz, ValueError> {
    match arg {
        Datum::TimeTz(value) => Ok(*value),
        _ => Err(wrong("a time with time zone")),
    }
}

/// timestamp or timestamptz
pub(crate) fn timestamp(arg: &Datum) -> Result<i64, ValueError> {
    match arg {
        Datum::Timestamp(value) | Datum::Timestamptz(value) => Ok(*value),
        _ => Err(wrong("a timestamp")),
    }
}

/// interval
pub(crate) fn interval(arg: &Datum) -> Result<Interval, ValueError> {
    match arg {
        Datum::Interval(value) => Ok(*value),
        _ => Err(wrong("an interval")),
    }
}

/// bit, bit varying
pub(crate) fn bits(arg: &Datum) -> Result<&Bits, ValueError> {
    match arg {
        Datum::Bits(value) => Ok(value),
        _ => Err(wrong("a bit string")),
    }
}

/// macaddr, macaddr8
pub(crate) fn mac_address(arg: &Datum) -> Result<MacAddress, ValueError> {
    match arg {
        Datum::MacAddress(value) => Ok(*value),
        _ => Err(wrong("a macaddr")),
    }
}

/// money, in cents
pub(crate) fn money(arg: &Datum) -> Result<i64, ValueError> {
    match arg {
        Datum::Money(value) => Ok(*value),
        _ => Err(wrong("an amount of money")),
    }
}

/// jsonb
pub(crate) fn jsonb(arg: &Datum) -> Result<&Jsonb, ValueError> {
    match arg {
        Datum::Jsonb(value) => Ok(value),
        _ => Err(wrong("a jsonb")),
    }
}

/// An array
pub(crate) fn array(arg: &Datum) -> Result<&Arc<Array>, ValueError> {
    match arg {
        Datum::Array(value) => Ok(value),
        _ => Err(wrong("an array")),
    }
}

/// A range, or all of a multirange.
pub(crate) fn ranges(arg: &Datum) -> Result<&Multirange, ValueError> {
    match arg {
        Datum::Range(range) => Ok(std::slice::from_ref(range)),
        Datum::Multirange(ranges) => Ok(ranges),
        _ => Err(wrong("a range")),
    }
}

/// A range
pub(crate) fn range(arg: &Datum) -> Result<&Range, ValueError> {
    match arg {
        Datum::Range(range) => Ok(range),
        _ => Err(wrong("a range")),
    }
}

/// The elements of a text array; NULLs are `None`.
pub(crate) fn text_array(arg: &Datum) -> Result<Vec<Option<&str>>, ValueError> {
    array(arg)?
        .elements
        .iter()
        .map(|element| if element.is_null() { Ok(None) } else { text(element).map(Some) })
        .collect()
}

/// A boolean result.
pub(crate) fn truth(value: bool) -> Result<Datum, ValueError> {
    Ok(Datum::Bool(value))
}

/// A text result.
pub(crate) fn string(value: impl Into<Arc<str>>) -> Result<Datum, ValueError> {
    Ok(Datum::Text(value.into()))
}

/// A one-dimensional array result.
pub(crate) fn vector(elements: Vec<Datum>) -> Result<Datum, ValueError> {
    Ok(Datum::Array(Arc::new(Array::vector(elements))))
}
