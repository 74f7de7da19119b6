//! Arrays made from arrays: append, concatenate, remove, replace, fill, trim.

use super::super::arguments::{array, integer};
use super::{Answer, made, one_dimension};
use repr::{Array, Datum, ValueError, poll};
use std::sync::Arc;

fn empty() -> Arc<Array> {
    Arc::new(Array::vector(Vec::new()))
}

fn or_empty(arg: &Datum) -> Result<Arc<Array>, ValueError> {
    if arg.is_null() { Ok(empty()) } else { array(arg).cloned() }
}

pub(super) fn append(list: &Datum, element: &Datum) -> Answer {
    attach(or_empty(list)?.as_ref(), element, false)
}

pub(super) fn prepend(element: &Datum, list: &Datum) -> Answer {
    attach(or_empty(list)?.as_ref(), element, true)
}

fn attach(array: &Array, element: &Datum, front: bool) -> Answer {
    let (length, lower) = match array.dimensions.as_slice() {
        [] => (0, 1),
        [single] => *single,
        _ => return Err(ValueError::new("22000", "argument must be empty or one-dimensional array")),
    };
    let mut elements = Vec::with_capacity(length + 1);
    if front {
        elements.push(element.clone());
    }
    elements.extend(array.elements.iter().cloned());
    if !front {
        elements.push(element.clone());
    }
    made(vec![(length + 1, lower)], elements)
}

pub(super) fn concatenate(left: &Datum, right: &Datum) -> Answer {
    if left.is_null() || right.is_null() {
        return Ok(if left.is_null() { right.clone() } else { left.clone() });
    }
    let (first, second) = (array(left)?, array(right)?);
    if first.dimensions.is_empty() || second.dimensions.is_empty() {
        return Ok(if first.dimensions.is_empty() { right.clone() } else { left.clone() });
    }
    let mismatch = |detail: &str| ValueError {
        detail: Some(detail.to_owned()),
        ..ValueError::new("2202E", "cannot concatenate incompatible arrays")
    };
    let lengths = |array: &Array, skip: usize| array.dimensions[skip..].iter().map(|d| d.0).collect::<Vec<_>>();
    let (ranks, dimensions) = ((first.dimensions.len(), second.dimensions.len()), |from: &Array, count: usize| {
        let mut dimensions = from.dimensions.clone();
        dimensions[0].0 = count;
        dimensions
    });
    let (joined, same) = if ranks.0 == ranks.1 {
        let count = first.dimensions[0].0 + second.dimensions[0].0;
        (dimensions(first, count), lengths(first, 1) == lengths(second, 1))
    } else if ranks.0 == ranks.1 + 1 {
        (dimensions(first, first.dimensions[0].0 + 1), lengths(first, 1) == lengths(second, 0))
    } else if ranks.1 == ranks.0 + 1 {
        (dimensions(second, second.dimensions[0].0 + 1), lengths(second, 1) == lengths(first, 0))
    } else {
        return Err(mismatch(&format!(
            "Arrays of {} and {} dimensions are not compatible for concatenation.",
            ranks.0, ranks.1
        )));
    };
    if !same {
        return Err(mismatch("Arrays with differing element dimensions are not compatible for concatenation."));
    }
    made(joined, first.elements.iter().chain(&second.elements).cloned().collect())
}

pub(super) fn remove(args: &[Datum]) -> Answer {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let source = array(&args[0])?;
    one_dimension(source, "removing elements from")?;
    let kept: Vec<Datum> = source.elements.iter().filter(|element| !element.sql_eq(&args[1])).cloned().collect();
    if kept.is_empty() {
        return Ok(Datum::Array(empty()));
    }
    let lower = source.dimensions.first().map_or(1, |dimension| dimension.1);
    made(vec![(kept.len(), lower)], kept)
}

pub(super) fn replace(args: &[Datum]) -> Answer {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let source = array(&args[0])?;
    let replaced = source.elements.iter().map(|element| if element.sql_eq(&args[1]) { &args[2] } else { element });
    made(source.dimensions.clone(), replaced.cloned().collect())
}

pub(super) fn fill(args: &[Datum]) -> Answer {
    if args[1..].iter().any(Datum::is_null) {
        return Err(ValueError::new("22004", "dimension array or low bound array cannot be null"));
    }
    for bounds in &args[1..] {
        if array(bounds)?.dimensions.len() > 1 {
            return Err(ValueError {
                detail: Some("Dimension array must be one dimensional.".to_owned()),
                ..ValueError::new("2202E", "wrong number of array subscripts")
            });
        }
    }
    let lengths = &array(&args[1])?.elements;
    let lowers = match args.get(2) {
        Some(lowers) => array(lowers)?.elements.clone(),
        None => vec![Datum::Int4(1); lengths.len()],
    };
    if lowers.len() != lengths.len() {
        return Err(ValueError {
            detail: Some("Low bound array has different size than dimensions array.".to_owned()),
            ..ValueError::new("2202E", "wrong number of array subscripts")
        });
    }
    if lengths.iter().chain(&lowers).any(Datum::is_null) {
        return Err(ValueError::new("22004", "dimension values cannot be null"));
    }
    if lengths.len() > 6 {
        return Err(ValueError::new(
            "54000",
            format!("number of array dimensions ({}) exceeds the maximum allowed (6)", lengths.len()),
        ));
    }
    let mut dimensions = Vec::with_capacity(lengths.len());
    let mut count: usize = usize::from(!lengths.is_empty());
    for (length, lower) in lengths.iter().zip(&lowers) {
        let length = usize::try_from(integer(length)?).map_err(|_| super::too_large())?;
        count = count.saturating_mul(length);
        dimensions.push((length, i32::try_from(integer(lower)?).unwrap_or(1)));
    }
    if count > super::ELEMENTS_MAX {
        return Err(super::too_large());
    }
    if count == 0 {
        return Ok(Datum::Array(empty()));
    }
    poll::room_for::<Datum>(count)?;
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        poll::step()?;
        elements.push(args[0].clone());
    }
    made(dimensions, elements)
}

pub(super) fn trim(source: &Array, count: i64) -> Answer {
    let length = source.dimensions.first().map_or(0, |dimension| dimension.0);
    let Some(kept) = usize::try_from(count).ok().and_then(|count| length.checked_sub(count)) else {
        return Err(ValueError::new("2202E", format!("number of elements to trim must be between 0 and {length}")));
    };
    if kept == 0 {
        return Ok(Datum::Array(empty()));
    }
    let mut dimensions = source.dimensions.clone();
    let width = source.elements.len() / length;
    dimensions[0] = (kept, 1);
    made(dimensions, source.elements[..kept * width].to_vec())
}
