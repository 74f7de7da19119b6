//! Arrays: subscripts, construction, search; and what is applied to each element (ANY, ALL, VARIADIC).

mod assign;
mod change;
mod subscript;

use super::arguments::{array, int4, integer, string, truth, vector};
use super::{Comparison, Function, FunctionDefinition, lenient, strict};
use crate::scalar::{Answer, EvalContext};
use repr::array::{Membership, find_row};
use repr::{Array, Datum, ScalarType, ValueError, poll};
use std::sync::Arc;

/// The most elements an array may have.
const ELEMENTS_MAX: usize = 134_217_727;

fn too_large() -> ValueError {
    ValueError::new("54000", format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})"))
}

fn made(dimensions: Vec<(usize, i32)>, elements: Vec<Datum>) -> Answer {
    if elements.len() > ELEMENTS_MAX {
        return Err(too_large());
    }
    Ok(Datum::Array(Arc::new(Array::new(dimensions, elements))))
}

/// The n-th dimension, from 1.
fn dimension(args: &[Datum]) -> Result<Option<(usize, i32)>, ValueError> {
    let number = int4(&args[1])?;
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    Ok(place.and_then(|place| array(&args[0]).ok()?.dimensions.get(place).copied()))
}

fn small(value: usize) -> Datum {
    Datum::Int4(i32::try_from(value).unwrap_or(i32::MAX))
}

fn last_subscript((length, lower): (usize, i32)) -> Datum {
    Datum::Int4(i32::try_from(i64::from(lower) + length as i64 - 1).unwrap_or(i32::MAX))
}

fn dimensions_text(array: &Array) -> Answer {
    if array.dimensions.is_empty() {
        return Ok(Datum::Null);
    }
    let shown =
        array.dimensions.iter().map(|(length, lower)| format!("[{lower}:{}]", i64::from(*lower) + *length as i64 - 1));
    string(shown.collect::<String>())
}

/// Whether every element of `inner` equals one of `outer`; NULL equals nothing.
fn contains(outer: &Array, inner: &Array) -> Result<bool, ValueError> {
    for wanted in &inner.elements {
        if !has(outer, wanted)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn overlaps(left: &Array, right: &Array) -> Result<bool, ValueError> {
    for wanted in &left.elements {
        if has(right, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has(array: &Array, wanted: &Datum) -> Result<bool, ValueError> {
    if wanted.is_null() {
        return Ok(false);
    }
    for element in &array.elements {
        poll::step()?;
        if element.sql_eq(wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn one_dimension(array: &Array, what: &str) -> Result<(), ValueError> {
    if array.dimensions.len() > 1 {
        return Err(ValueError::new("0A000", format!("{what} multidimensional arrays is not supported")));
    }
    Ok(())
}

/// Subscript of the first equal element at or after a subscript; NULL may be searched for.
fn position(args: &[Datum]) -> Answer {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let array = array(&args[0])?;
    one_dimension(array, "searching for elements in")?;
    let lower = array.dimensions.first().map_or(1, |dimension| dimension.1);
    let from = match args.get(2) {
        Some(Datum::Null) => return Err(ValueError::new("22004", "initial position must not be null")),
        Some(from) => int4(from)?,
        None => lower,
    };
    let mut places = (i64::from(lower)..).zip(&array.elements).filter(|(place, _)| *place >= i64::from(from));
    Ok(places
        .find(|(_, element)| element.sql_eq(&args[1]))
        .map_or(Datum::Null, |(place, _)| Datum::Int4(i32::try_from(place).unwrap_or(i32::MAX))))
}

fn positions(args: &[Datum]) -> Answer {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let array = array(&args[0])?;
    one_dimension(array, "searching for elements in")?;
    let lower = array.dimensions.first().map_or(1, |dimension| dimension.1);
    let places = (i64::from(lower)..).zip(&array.elements).filter(|(_, element)| element.sql_eq(&args[1]));
    vector(places.map(|(place, _)| Datum::Int4(i32::try_from(place).unwrap_or(i32::MAX))).collect())
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    lenient("array_append(anycompatiblearray, anycompatible) anycompatiblearray", |_, a, _| {
        change::append(&a[0], &a[1])
    }),
    lenient("array_prepend(anycompatible, anycompatiblearray) anycompatiblearray", |_, a, _| {
        change::prepend(&a[0], &a[1])
    }),
    lenient("array_cat(anycompatiblearray, anycompatiblearray) anycompatiblearray", |_, a, _| {
        change::concatenate(&a[0], &a[1])
    }),
    strict(
        "array_length(anyarray, int4) int4",
        |_, a, _| Ok(dimension(a)?.map_or(Datum::Null, |found| small(found.0))),
    ),
    strict("array_lower(anyarray, int4) int4", |_, a, _| {
        Ok(dimension(a)?.map_or(Datum::Null, |found| Datum::Int4(found.1)))
    }),
    strict("array_upper(anyarray, int4) int4", |_, a, _| Ok(dimension(a)?.map_or(Datum::Null, last_subscript))),
    strict("array_ndims(anyarray) int4", |_, a, _| match array(&a[0])?.dimensions.len() {
        0 => Ok(Datum::Null),
        count => Ok(small(count)),
    }),
    strict("array_dims(anyarray) text", |_, a, _| dimensions_text(array(&a[0])?)),
    strict("cardinality(anyarray) int4", |_, a, _| Ok(small(array(&a[0])?.elements.len()))),
    lenient("array_position(anycompatiblearray, anycompatible, int4?) int4", |_, a, _| position(a)),
    lenient("array_positions(anycompatiblearray, anycompatible) int4[]", |_, a, _| positions(a)),
    lenient("array_remove(anycompatiblearray, anycompatible) anycompatiblearray", |_, a, _| change::remove(a)),
    lenient("array_replace(anycompatiblearray, anycompatible, anycompatible) anycompatiblearray", |_, a, _| {
        change::replace(a)
    }),
    lenient("array_fill(anyelement, int4[], int4[]?) anyarray", |_, a, _| change::fill(a)),
    strict("trim_array(anyarray, int4) anyarray", |_, a, _| change::trim(array(&a[0])?, integer(&a[1])?)),
    strict("array_subscript(anyarray, variadic int4[]) anyelement", |_, a, _| subscript::element(a)),
    lenient("array_set_element(anyarray, anyelement, variadic int4[]) anyarray", |_, a, _| assign::element(a)),
    lenient("array_set_slice(anyarray, anyarray, int4, variadic int4[]) anyarray", |_, a, _| assign::slice(a)),
    strict("name_subscript(name, int4) char", |_, a, _| subscript::byte(a)),
    strict("array_slice(anyarray, variadic int4[]) anyarray", |_, a, _| subscript::slice(a)),
    lenient("record_field(record, int4) text", |_, a, _| match &a[0] {
        Datum::Record(fields) => {
            let place = usize::try_from(integer(&a[1])?).unwrap_or(usize::MAX);
            Ok(fields.get(place).cloned().unwrap_or(Datum::Null))
        }
        _ => Ok(Datum::Null),
    }),
    lenient("record_set_field(record, any, int4, int4) text", |_, a, _| {
        let (place, count) = (integer(&a[2])?, integer(&a[3])?);
        let mut fields = match &a[0] {
            Datum::Record(fields) => fields.to_vec(),
            _ => vec![Datum::Null; usize::try_from(count).unwrap_or(0)],
        };
        if let Some(field) = usize::try_from(place).ok().and_then(|place| fields.get_mut(place)) {
            *field = a[1].clone();
        }
        Ok(Datum::Record(fields.into()))
    }),
];

pub(crate) const OPERATORS: &[FunctionDefinition] = &[
    lenient("||(anycompatiblearray, anycompatiblearray) anycompatiblearray", |_, a, _| {
        change::concatenate(&a[0], &a[1])
    }),
    lenient("||(anycompatiblearray, anycompatible) anycompatiblearray", |_, a, _| change::append(&a[0], &a[1])),
    lenient("||(anycompatible, anycompatiblearray) anycompatiblearray", |_, a, _| change::prepend(&a[0], &a[1])),
    strict("@>(anyarray, anyarray) bool", |_, a, _| truth(contains(array(&a[0])?, array(&a[1])?)?)),
    strict("<@(anyarray, anyarray) bool", |_, a, _| truth(contains(array(&a[1])?, array(&a[0])?)?)),
    strict("&&(anyarray, anyarray) bool", |_, a, _| truth(overlaps(array(&a[0])?, array(&a[1])?)?)),
];

/// `left op ANY (array)` (`any`) and `left op ALL (array)`: three-valued OR and AND over the elements.
pub(super) fn quantified(
    operator: &'static Function,
    ctx: &EvalContext,
    args: &[Datum],
    any: bool,
) -> Result<Datum, ValueError> {
    if args[1].is_null() {
        return Ok(Datum::Null);
    }
    let array = array(&args[1])?;
    let elements = &array.elements;
    // `= ANY` and `<> ALL` ask for one value.
    let asks_for_one = match operator.kind {
        super::FunctionKind::Compare(Comparison::Equal) => any,
        super::FunctionKind::Compare(Comparison::NotEqual) => !any,
        _ => false,
    };
    if asks_for_one && operator.strict && !args[0].is_null() {
        let Membership { found, has_null } = array.find(&args[0])?;
        return Ok(match (found, has_null) {
            (true, _) => Datum::Bool(any),
            (false, true) => Datum::Null,
            (false, false) => Datum::Bool(!any),
        });
    }
    let mut unknown = false;
    let mut pair = [args[0].clone(), Datum::Null];
    for element in elements {
        poll::step()?;
        let outcome = match operator.kind {
            super::FunctionKind::Compare(comparison) => {
                if operator.strict && (pair[0].is_null() || element.is_null()) {
                    Datum::Null
                } else {
                    Datum::Bool(comparison.holds(&pair[0], element))
                }
            }
            _ => {
                pair[1] = element.clone();
                operator.call(ctx, &pair, &ScalarType::Bool)?
            }
        };
        match outcome {
            Datum::Bool(value) if value == any => return Ok(Datum::Bool(any)),
            Datum::Bool(_) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { Datum::Null } else { Datum::Bool(!any) })
}

/// Whether a row, the first half of the arguments, equals one of those whose fields stand in the arrays of the second.
pub(super) fn among_rows(args: &[Datum]) -> Result<Datum, ValueError> {
    let (row, fields) = args.split_at(args.len() / 2);
    let arrays = fields.iter().map(|field| array(field).map(|array| &**array)).collect::<Result<Vec<_>, _>>()?;
    Ok(find_row(&arrays, row)?.map_or(Datum::Null, Datum::Bool))
}

/// A variadic function whose last argument is an array of the variadic arguments.
pub(super) fn spread(
    function: &'static Function,
    ctx: &EvalContext,
    args: &[Datum],
    result: &ScalarType,
) -> Result<Datum, ValueError> {
    let Some((last, first)) = args.split_last() else { return function.call(ctx, args, result) };
    if last.is_null() {
        // Of these functions `format` alone takes no array for an empty one.
        return if function.name == "format" { function.call(ctx, first, result) } else { Ok(Datum::Null) };
    }
    let mut spread = first.to_vec();
    spread.extend(array(last)?.elements.iter().cloned());
    function.call(ctx, &spread, result)
}
