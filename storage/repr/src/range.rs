//! Ranges of an ordered type, and multiranges: sets of ranges, kept in order and apart from one another.
//!
//! ```text
//! empty        nothing
//! [1,5)        1, and what is greater, but not 5
//! (,5]         no lower bound
//! {[1,3),[7,9)}
//! ```
//! Of the built-in ranges of integers and dates, whose values can be counted, one includes its lower bound and not its upper one,
//! however it was written; so equal ranges are written alike. Created ones stay as they are written: nothing says how to count.

mod multirange;
mod text;

pub use multirange::{Multirange, difference, intersection, of_ranges};
pub(crate) use text::{parse_multirange, parse_range, write_multirange, write_range};

use crate::{Datum, ScalarType, ValueError};
use std::cmp::Ordering;

/// One end of a range. Without a value there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The value that it is at.
    pub value: Option<Datum>,
    /// Whether the value itself is in the range.
    pub inclusive: bool,
}

/// A range; see the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Range(Option<(Bound, Bound)>);

/// A bound, and which of the two it is.
#[derive(Clone, Copy)]
struct End<'a> {
    bound: &'a Bound,
    is_lower: bool,
}

impl End<'_> {
    /// Which of two ends comes first.
    fn order(self, other: End<'_>) -> Ordering {
        let outward = |is_lower: bool| if is_lower { Ordering::Less } else { Ordering::Greater };
        let inward = |is_lower: bool| outward(is_lower).reverse();
        let values = match (&self.bound.value, &other.bound.value) {
            (None, None) if self.is_lower == other.is_lower => return Ordering::Equal,
            (None, _) => return outward(self.is_lower),
            (_, None) => return outward(other.is_lower).reverse(),
            (Some(one), Some(another)) => one.sql_cmp(another),
        };
        values.then_with(|| match (self.bound.inclusive, other.bound.inclusive) {
            (true, true) => Ordering::Equal,
            (false, false) if self.is_lower == other.is_lower => Ordering::Equal,
            (false, _) => inward(self.is_lower),
            (true, false) => inward(other.is_lower).reverse(),
        })
    }
}

fn lower(bound: &Bound) -> End<'_> {
    End { bound, is_lower: true }
}

fn upper(bound: &Bound) -> End<'_> {
    End { bound, is_lower: false }
}

impl Bound {
    /// At a value; none if that is NULL.
    pub fn new(value: Datum, inclusive: bool) -> Bound {
        match value {
            Datum::Null => Bound { value: None, inclusive: false },
            value => Bound { value: Some(value), inclusive },
        }
    }

    /// Where another range ends that begins here, or begins that ends here.
    fn turned(&self) -> Bound {
        Bound { value: self.value.clone(), inclusive: self.value.is_some() && !self.inclusive }
    }

    /// The same as the lower bound (included) or the upper one (not included) of values that can be counted.
    fn counted(self, is_lower: bool) -> Result<Bound, ValueError> {
        let integer = || ValueError::new("22003", "integer out of range");
        let next = match &self.value {
            _ if self.inclusive == is_lower => return Ok(self),
            Some(Datum::Int4(value)) => Datum::Int4(value.checked_add(1).ok_or_else(integer)?),
            Some(Datum::Int8(value)) => {
                Datum::Int8(value.checked_add(1).ok_or_else(|| ValueError::new("22003", "bigint out of range"))?)
            }
            Some(Datum::Date(i32::MAX | i32::MIN)) | None => return Ok(self),
            Some(Datum::Date(value)) => Datum::Date(crate::datetime::check_date(i64::from(*value) + 1)?),
            Some(_) => return Ok(self),
        };
        Ok(Bound { value: Some(next), inclusive: is_lower })
    }
}

impl Range {
    /// Nothing.
    pub const EMPTY: Range = Range(None);

    /// Of a type of ranges, from one bound to another; 22000 if they are the wrong way round.
    pub fn of(scalar: &ScalarType, from: Bound, to: Bound) -> Result<Range, ValueError> {
        if scalar.is_counted_range() { Range::counted(from, to) } else { Range::new(from, to) }
    }

    /// Of values that can be counted.
    pub fn counted(from: Bound, to: Bound) -> Result<Range, ValueError> {
        match Range::new(from, to)? {
            Range(Some((from, to))) => Range::new(from.counted(true)?, to.counted(false)?),
            empty => Ok(empty),
        }
    }

    /// As it is written.
    pub fn new(from: Bound, to: Bound) -> Result<Range, ValueError> {
        if let (Some(one), Some(other)) = (&from.value, &to.value) {
            match one.sql_cmp(other) {
                Ordering::Greater => {
                    let message = "range lower bound must be less than or equal to range upper bound";
                    return Err(ValueError::new("22000", message));
                }
                Ordering::Equal if !(from.inclusive && to.inclusive) => return Ok(Range::EMPTY),
                Ordering::Equal | Ordering::Less => {}
            }
        }
        Ok(Range(Some((from, to))))
    }

    /// The same with other values for bounds, which are in the same order.
    #[must_use]
    pub fn with_values(&self, other: impl Fn(&Datum) -> Datum) -> Range {
        let other = |bound: &Bound| Bound { value: bound.value.as_ref().map(&other), inclusive: bound.inclusive };
        Range(self.0.as_ref().map(|(from, to)| (other(from), other(to))))
    }

    /// Both bounds; none of the empty range.
    pub fn bounds(&self) -> Option<&(Bound, Bound)> {
        self.0.as_ref()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a bound can be written in several ways that are equal in SQL.
    pub(crate) fn has_several_writings(&self) -> bool {
        let mut bounds = self.0.iter().flat_map(|(from, to)| [&from.value, &to.value]).flatten();
        bounds.any(Datum::has_several_writings)
    }

    /// By the lower bound, then by the upper one; the empty range comes first.
    pub fn sql_cmp(&self, other: &Range) -> Ordering {
        match (&self.0, &other.0) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Less,
            (_, None) => Ordering::Greater,
            (Some((from, to)), Some((from_other, to_other))) => {
                lower(from).order(lower(from_other)).then_with(|| upper(to).order(upper(to_other)))
            }
        }
    }

    /// Whether a value is in it.
    pub fn contains_value(&self, value: &Datum) -> bool {
        let Some((from, to)) = &self.0 else { return false };
        let within = |bound: &Bound, outside: Ordering| match &bound.value {
            None => true,
            Some(end) => match value.sql_cmp(end) {
                Ordering::Equal => bound.inclusive,
                order => order != outside,
            },
        };
        within(from, Ordering::Less) && within(to, Ordering::Greater)
    }

    /// Whether all of another is in it; of the empty range all is.
    pub fn contains(&self, other: &Range) -> bool {
        match (&self.0, &other.0) {
            (_, None) => true,
            (None, _) => false,
            (Some((from, to)), Some((from_other, to_other))) => {
                lower(from).order(lower(from_other)).is_le() && upper(to).order(upper(to_other)).is_ge()
            }
        }
    }

    /// Whether a value is in both.
    pub fn overlaps(&self, other: &Range) -> bool {
        self.both(other, |(from, to), (from_other, to_other)| {
            lower(from).order(upper(to_other)).is_le() && lower(from_other).order(upper(to)).is_le()
        })
    }

    /// Whether all of it is less than all of the other.
    pub fn is_before(&self, other: &Range) -> bool {
        self.both(other, |(_, to), (from_other, _)| upper(to).order(lower(from_other)).is_lt())
    }

    /// Whether it ends no later than the other.
    pub fn ends_by(&self, other: &Range) -> bool {
        self.both(other, |(_, to), (_, to_other)| upper(to).order(upper(to_other)).is_le())
    }

    /// Whether it begins no earlier than the other.
    pub fn begins_from(&self, other: &Range) -> bool {
        self.both(other, |(from, _), (from_other, _)| lower(from).order(lower(from_other)).is_ge())
    }

    /// Whether they have nothing in common, and nothing is between them.
    pub fn is_adjacent(&self, other: &Range) -> bool {
        self.both(other, |(from, to), (from_other, to_other)| meet(to, from_other) || meet(to_other, from))
    }

    fn both(&self, other: &Range, holds: impl FnOnce(&(Bound, Bound), &(Bound, Bound)) -> bool) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(others)) => holds(own, others),
            _ => false,
        }
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Range) -> Range {
        match (&self.0, &other.0) {
            (Some((from, to)), Some((from_other, to_other))) if self.overlaps(other) => {
                let from = if lower(from).order(lower(from_other)).is_ge() { from } else { from_other };
                let to = if upper(to).order(upper(to_other)).is_le() { to } else { to_other };
                Range(Some((from.clone(), to.clone())))
            }
            _ => Range::EMPTY,
        }
    }

    /// The least range that has both.
    #[must_use]
    pub fn merged(&self, other: &Range) -> Range {
        match (&self.0, &other.0) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (Some((from, to)), Some((from_other, to_other))) => {
                let from = if lower(from).order(lower(from_other)).is_le() { from } else { from_other };
                let to = if upper(to).order(upper(to_other)).is_ge() { to } else { to_other };
                Range(Some((from.clone(), to.clone())))
            }
        }
    }

    /// What is in either; 22000 if something is between them.
    pub fn union(&self, other: &Range) -> Result<Range, ValueError> {
        let apart = !self.is_empty() && !other.is_empty() && !self.overlaps(other) && !self.is_adjacent(other);
        if apart {
            return Err(ValueError::new("22000", "result of range union would not be contiguous"));
        }
        Ok(self.merged(other))
    }

    /// What is in this one and not in the other; 22000 if that is in two pieces.
    pub fn minus(&self, other: &Range) -> Result<Range, ValueError> {
        match self.without(other) {
            (Range(Some(_)), Range(Some(_))) => {
                Err(ValueError::new("22000", "result of range difference would not be contiguous"))
            }
            (Range(None), rest) | (rest, Range(None)) => Ok(rest),
        }
    }

    /// What of it comes before the other, and what after it.
    fn without(&self, other: &Range) -> (Range, Range) {
        let (Some((from, to)), Some((from_other, to_other))) = (&self.0, &other.0) else {
            return (self.clone(), Range::EMPTY);
        };
        if !self.overlaps(other) {
            return (self.clone(), Range::EMPTY);
        }
        let before = lower(from).order(lower(from_other)).is_lt();
        let after = upper(to).order(upper(to_other)).is_gt();
        let piece =
            |is_some: bool, from: Bound, to: Bound| if is_some { Range(Some((from, to))) } else { Range::EMPTY };
        (piece(before, from.clone(), from_other.turned()), piece(after, to_other.turned(), to.clone()))
    }
}

/// Whether one range that ends there and one that begins here leave nothing between them, and have nothing in common.
fn meet(to: &Bound, from: &Bound) -> bool {
    match (&to.value, &from.value) {
        (Some(end), Some(start)) => end.sql_cmp(start).is_eq() && to.inclusive != from.inclusive,
        _ => false,
    }
}
