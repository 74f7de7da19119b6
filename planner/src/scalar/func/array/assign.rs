//! `array[i] = x` and `array[i:j] = xs`: an array with a part of it set, as PostgreSQL's `array_set_element` and `array_set_slice`.

use super::super::arguments::{array, integer};
use super::{Answer, ELEMENTS_MAX, made, too_large};
use repr::{Array, Datum, ValueError, poll};
use std::borrow::Cow;

/// Bounds that a slice is written with, in pairs.
type Bounds = Vec<(Option<i64>, Option<i64>)>;

fn wrong(message: &str) -> ValueError {
    ValueError::new("2202E", message)
}

/// The array, or the empty one for NULL.
fn source(arg: &Datum) -> Result<Cow<'_, Array>, ValueError> {
    if arg.is_null() { Ok(Cow::Owned(Array::vector(Vec::new()))) } else { Ok(Cow::Borrowed(array(arg)?)) }
}

fn subscript(arg: &Datum) -> Result<i64, ValueError> {
    if arg.is_null() {
        return Err(ValueError::new("22004", "array subscript in assignment must not be null"));
    }
    integer(arg)
}

/// `array_set_element(array, value, subscripts …)`
pub(super) fn element(args: &[Datum]) -> Answer {
    let subscripts = args[2..].iter().map(subscript).collect::<Result<Vec<_>, _>>()?;
    let source = source(&args[0])?;
    let mut dimensions = spans(&source);
    if dimensions.is_empty() {
        let dimensions = subscripts.into_iter().map(|subscript| (subscript, subscript)).collect();
        return sized(dimensions, vec![args[1].clone()]);
    }
    if dimensions.len() != subscripts.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    let mut elements = Cow::Borrowed(&source.elements);
    if let ([span], [subscript]) = (dimensions.as_mut_slice(), subscripts.as_slice()) {
        elements = Cow::Owned(extended(&elements, span, *subscript, *subscript)?);
    }
    let mut place = 0;
    for ((first, last), subscript) in dimensions.iter().zip(&subscripts) {
        if !(first..=last).contains(&subscript) {
            return Err(wrong("array subscript out of range"));
        }
        place = place * length((*first, *last))? + length((*first, *subscript))? - 1;
    }
    let mut elements = elements.into_owned();
    elements[place] = args[1].clone();
    sized(dimensions, elements)
}

/// `array_set_slice(array, values, given, bounds …)`: a bit of `given` for each bound that was not left out.
pub(super) fn slice(args: &[Datum]) -> Answer {
    let given = integer(&args[2])?;
    let is_given = |place: usize| given >> place & 1 == 1;
    let bounds = args[3..].iter().enumerate();
    let bounds = bounds.map(|(place, bound)| is_given(place).then(|| subscript(bound)).transpose());
    let bounds = bounds.collect::<Result<Vec<_>, _>>()?;
    let bounds: Bounds = bounds.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let source = source(&args[0])?;
    if args[1].is_null() {
        return made(source.dimensions.clone(), source.elements.clone());
    }
    let values = &array(&args[1])?.elements;
    let mut dimensions = spans(&source);
    if dimensions.is_empty() {
        return new_slice(&bounds, values);
    }
    if dimensions.len() < bounds.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    let mut ranges = Vec::with_capacity(dimensions.len());
    for (place, &(first, last)) in dimensions.iter().enumerate() {
        let (lower, upper) = bounds.get(place).copied().unwrap_or_default();
        let range = (lower.unwrap_or(first), upper.unwrap_or(last));
        if range.0 > range.1 {
            return Err(wrong("upper bound cannot be less than lower bound"));
        }
        if dimensions.len() > 1 && (range.0 < first || range.1 > last) {
            return Err(wrong("array subscript out of range"));
        }
        ranges.push(range);
    }
    let mut elements = source.elements.clone();
    if let ([span], [(first, last)]) = (dimensions.as_mut_slice(), ranges.as_slice()) {
        elements = extended(&elements, span, *first, *last)?;
    }
    let places = places(&dimensions, &ranges)?;
    if places.len() > values.len() {
        return Err(wrong("source array too small"));
    }
    for (place, value) in places.into_iter().zip(values) {
        elements[place] = value.clone();
    }
    sized(dimensions, elements)
}

/// A slice of an empty array is all of the new one. More values than it has room for are left out.
fn new_slice(bounds: &Bounds, values: &[Datum]) -> Answer {
    let mut dimensions = Vec::with_capacity(bounds.len());
    let mut count = 1_usize;
    for bound in bounds {
        let (Some(first), Some(last)) = *bound else {
            let detail = "When assigning to a slice of an empty array value, slice boundaries must be fully specified."
                .to_owned();
            let error = wrong("array slice subscript must provide both boundaries");
            return Err(ValueError { detail: Some(detail), ..error });
        };
        count = count.saturating_mul(length((first, last))?);
        dimensions.push((first, last));
    }
    if count > ELEMENTS_MAX {
        return Err(too_large());
    }
    if values.len() < count {
        return Err(wrong("source array too small"));
    }
    sized(dimensions, values[..count].to_vec())
}

/// The first and last subscript of each dimension.
fn spans(array: &Array) -> Vec<(i64, i64)> {
    let span = |(length, lower): &(usize, i32)| (i64::from(*lower), i64::from(*lower) + *length as i64 - 1);
    array.dimensions.iter().map(span).collect()
}

fn length((first, last): (i64, i64)) -> Result<usize, ValueError> {
    if last - first >= i64::from(i32::MAX) {
        return Err(too_large());
    }
    usize::try_from(last - first + 1).map_err(|_| too_large())
}

/// The elements of one dimension, with NULLs where it grows.
fn extended(elements: &[Datum], span: &mut (i64, i64), first: i64, last: i64) -> Result<Vec<Datum>, ValueError> {
    let wider = (span.0.min(first), span.1.max(last));
    let count = length(wider)?;
    if count > ELEMENTS_MAX {
        return Err(too_large());
    }
    poll::room_for::<Datum>(count)?;
    let mut grown = vec![Datum::Null; (span.0 - wider.0) as usize];
    grown.extend_from_slice(elements);
    grown.resize(count, Datum::Null);
    *span = wider;
    Ok(grown)
}

/// Where the elements of a slice stand, in order.
fn places(dimensions: &[(i64, i64)], ranges: &[(i64, i64)]) -> Result<Vec<usize>, ValueError> {
    let mut places = vec![0];
    for (span, range) in dimensions.iter().zip(ranges) {
        let width = length(*span)?;
        let (from, to) = ((range.0 - span.0) as usize, (range.1 - span.0) as usize);
        poll::steps(places.len())?;
        places = places.iter().flat_map(|place| (from..=to).map(move |offset| place * width + offset)).collect();
    }
    Ok(places)
}

fn sized(spans: Vec<(i64, i64)>, elements: Vec<Datum>) -> Answer {
    if elements.is_empty() {
        return made(Vec::new(), elements);
    }
    let mut dimensions = Vec::with_capacity(spans.len());
    for span in spans {
        // The last subscript must be one, and so must what follows it.
        let lower = i32::try_from(span.0).map_err(|_| too_large())?;
        if span.1 >= i64::from(i32::MAX) {
            return Err(ValueError::new("54000", format!("array lower bound is too large: {lower}")));
        }
        dimensions.push((length(span)?, lower));
    }
    made(dimensions, elements)
}
