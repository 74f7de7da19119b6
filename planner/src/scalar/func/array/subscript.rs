//! `array[i][j]`, `array[i:j]` and `name[i]`.

use super::super::arguments::{array, integer, text};
use super::{Answer, made};
use repr::text::char_of_byte;
use repr::{Array, Datum};
use std::sync::Arc;

/// The element at the subscripts; NULL outside, or with another number of subscripts than dimensions.
pub(super) fn element(args: &[Datum]) -> Answer {
    let array = array(&args[0])?;
    if array.dimensions.len() != args.len() - 1 {
        return Ok(Datum::Null);
    }
    let mut place = 0;
    for ((length, lower), subscript) in array.dimensions.iter().zip(&args[1..]) {
        let offset = integer(subscript)? - i64::from(*lower);
        match usize::try_from(offset) {
            Ok(offset) if offset < *length => place = place * length + offset,
            _ => return Ok(Datum::Null),
        }
    }
    Ok(array.elements.get(place).cloned().unwrap_or(Datum::Null))
}

/// The byte of a name at the subscript, as a "char": nothing behind its end, NULL outside of what a name can hold.
pub(super) fn byte(args: &[Datum]) -> Answer {
    const NAME_BYTES: usize = 64;
    let (name, place) = (text(&args[0])?, usize::try_from(integer(&args[1])?));
    let Some(place) = place.ok().filter(|place| *place < NAME_BYTES) else { return Ok(Datum::Null) };
    Ok(Datum::Text(char_of_byte(name.as_bytes().get(place).copied().unwrap_or(0))))
}

/// Bounds come in pairs; one that was left out is the least or the greatest integer, and a NULL makes all NULL. Dimensions without bounds stay whole. The result counts from 1.
pub(super) fn slice(args: &[Datum]) -> Answer {
    let array = array(&args[0])?;
    let nothing = || Ok(Datum::Array(Arc::new(Array::vector(Vec::new()))));
    let bounds = &args[1..];
    if array.dimensions.is_empty() || bounds.len() / 2 > array.dimensions.len() {
        return nothing();
    }
    let mut ranges = Vec::with_capacity(array.dimensions.len());
    for (index, (length, lower)) in array.dimensions.iter().enumerate() {
        let (first, last) = (i64::from(*lower), i64::from(*lower) + *length as i64 - 1);
        let bound = |place: usize, otherwise: i64| bounds.get(place).map_or(Ok(otherwise), integer);
        let from = bound(2 * index, first)?.max(first);
        let to = bound(2 * index + 1, last)?.min(last);
        if from > to {
            return nothing();
        }
        ranges.push((from - first) as usize..(to - first) as usize + 1);
    }
    let mut places = vec![0];
    for (range, (length, _)) in ranges.iter().zip(&array.dimensions) {
        places = places.iter().flat_map(|place| range.clone().map(move |offset| place * length + offset)).collect();
    }
    let elements = places.into_iter().map(|place| array.elements[place].clone()).collect();
    made(ranges.into_iter().map(|range| (range.len(), 1)).collect(), elements)
}
