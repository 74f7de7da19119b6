//! Ranges and multiranges: making them, what they contain, where they lie, and what is in both, either or one of two.
//!
//! A range is taken for a set of one range wherever both kinds are accepted.

use super::arguments::{range, ranges, text, truth};
use super::{FunctionDefinition, lenient, strict};
use crate::scalar::Answer;
use repr::range::{Bound, difference, intersection, of_ranges};
use repr::{Datum, Range, ValueError, poll};
use std::sync::Arc;

/// The least range that has all of them.
fn span(arg: &Datum) -> Result<Range, ValueError> {
    let ranges = ranges(arg)?;
    Ok(match (ranges.first(), ranges.last()) {
        (Some(first), Some(last)) => first.merged(last),
        _ => Range::EMPTY,
    })
}

pub(crate) fn made(range: Range) -> Answer {
    Ok(Datum::Range(Arc::new(range)))
}

pub(crate) fn made_of(ranges: Vec<Range>) -> Answer {
    Ok(Datum::Multirange(Arc::from(ranges)))
}

/// `int4range(1, 5, '[)')`, made of the bounds by what the type says of them.
fn construct(args: &[Datum], make: fn(Bound, Bound) -> Result<Range, ValueError>) -> Answer {
    let (from_inclusive, to_inclusive) = match args.get(2) {
        None => (true, false),
        Some(Datum::Null) => return Err(ValueError::new("22000", "range constructor flags argument must not be null")),
        Some(flags) => match text(flags)? {
            "[]" => (true, true),
            "[)" => (true, false),
            "(]" => (false, true),
            "()" => (false, false),
            _ => {
                return Err(ValueError {
                    hint: Some("Valid values are \"[]\", \"[)\", \"(]\", and \"()\".".to_owned()),
                    ..ValueError::new("42601", "invalid range bound flags")
                });
            }
        },
    };
    made(make(Bound::new(args[0].clone(), from_inclusive), Bound::new(args[1].clone(), to_inclusive))?)
}

/// A multirange of ranges given one by one.
fn collect(args: &[Datum]) -> Answer {
    let mut found = Vec::with_capacity(args.len());
    for arg in args {
        poll::step()?;
        if arg.is_null() {
            return Err(ValueError::new("22004", "multirange values cannot contain null members"));
        }
        found.push(range(arg)?.clone());
    }
    made_of(of_ranges(found))
}

fn contains(outer: &Datum, inner: &Datum) -> Answer {
    let outer = ranges(outer)?;
    let has = |wanted: &Range| wanted.is_empty() || outer.iter().any(|range| range.contains(wanted));
    truth(ranges(inner)?.iter().all(has))
}

fn contains_value(outer: &Datum, value: &Datum) -> Answer {
    truth(ranges(outer)?.iter().any(|range| range.contains_value(value)))
}

fn overlaps(args: &[Datum]) -> Answer {
    let others = ranges(&args[1])?;
    truth(ranges(&args[0])?.iter().any(|range| others.iter().any(|other| range.overlaps(other))))
}

/// Whether this holds of the two as wholes.
fn compared(one: &Datum, other: &Datum, holds: fn(&Range, &Range) -> bool) -> Answer {
    truth(holds(&span(one)?, &span(other)?))
}

/// Whether this holds of one of the bounds; of nothing it does not.
fn of_bound(arg: &Datum, is_lower: bool, holds: fn(&Bound) -> bool) -> Answer {
    let whole = span(arg)?;
    truth(whole.bounds().is_some_and(|(from, to)| holds(if is_lower { from } else { to })))
}

fn value_of(arg: &Datum, is_lower: bool) -> Answer {
    let whole = span(arg)?;
    let value = whole.bounds().and_then(|(from, to)| if is_lower { &from.value } else { &to.value }.clone());
    Ok(value.unwrap_or(Datum::Null))
}

/// The operators over two sets that may be ranges or multiranges.
macro_rules! over_sets {
    ($symbol:literal, $evaluate:expr) => {
        [
            strict(concat!($symbol, "(anyrange, anyrange) bool"), $evaluate),
            strict(concat!($symbol, "(anyrange, anymultirange) bool"), $evaluate),
            strict(concat!($symbol, "(anymultirange, anyrange) bool"), $evaluate),
            strict(concat!($symbol, "(anymultirange, anymultirange) bool"), $evaluate),
        ]
    };
}

pub(super) static PREDICATES: [[FunctionDefinition; 4]; 8] = [
    over_sets!("@>", |_, a, _| contains(&a[0], &a[1])),
    over_sets!("<@", |_, a, _| contains(&a[1], &a[0])),
    over_sets!("&&", |_, a, _| overlaps(a)),
    over_sets!("<<", |_, a, _| compared(&a[0], &a[1], Range::is_before)),
    over_sets!(">>", |_, a, _| compared(&a[1], &a[0], Range::is_before)),
    over_sets!("&<", |_, a, _| compared(&a[0], &a[1], Range::ends_by)),
    over_sets!("&>", |_, a, _| compared(&a[0], &a[1], Range::begins_from)),
    over_sets!("-|-", |_, a, _| compared(&a[0], &a[1], Range::is_adjacent)),
];

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("@>(anyrange, anyelement) bool", |_, a, _| contains_value(&a[0], &a[1])),
    strict("<@(anyelement, anyrange) bool", |_, a, _| contains_value(&a[1], &a[0])),
    strict("@>(anymultirange, anyelement) bool", |_, a, _| contains_value(&a[0], &a[1])),
    strict("<@(anyelement, anymultirange) bool", |_, a, _| contains_value(&a[1], &a[0])),
    strict("+(anyrange, anyrange) anyrange", |_, a, _| made(range(&a[0])?.union(range(&a[1])?)?)),
    strict("-(anyrange, anyrange) anyrange", |_, a, _| made(range(&a[0])?.minus(range(&a[1])?)?)),
    strict("*(anyrange, anyrange) anyrange", |_, a, _| made(range(&a[0])?.intersection(range(&a[1])?))),
    strict("+(anymultirange, anymultirange) anymultirange", |_, a, _| {
        made_of(of_ranges([ranges(&a[0])?, ranges(&a[1])?].concat()))
    }),
    strict("-(anymultirange, anymultirange) anymultirange", |_, a, _| {
        made_of(difference(ranges(&a[0])?, ranges(&a[1])?))
    }),
    strict("*(anymultirange, anymultirange) anymultirange", |_, a, _| {
        made_of(intersection(ranges(&a[0])?, ranges(&a[1])?))
    }),
];

/// What is asked of the one set.
macro_rules! of_set {
    ($name:literal, $result:literal, $evaluate:expr) => {
        [
            strict(concat!($name, "(anyrange) ", $result), $evaluate),
            strict(concat!($name, "(anymultirange) ", $result), $evaluate),
        ]
    };
}

pub(super) static QUESTIONS: [[FunctionDefinition; 2]; 7] = [
    of_set!("lower", "anyelement", |_, a, _| value_of(&a[0], true)),
    of_set!("upper", "anyelement", |_, a, _| value_of(&a[0], false)),
    of_set!("isempty", "bool", |_, a, _| truth(span(&a[0])?.is_empty())),
    of_set!("lower_inc", "bool", |_, a, _| of_bound(&a[0], true, |bound| bound.inclusive)),
    of_set!("upper_inc", "bool", |_, a, _| of_bound(&a[0], false, |bound| bound.inclusive)),
    of_set!("lower_inf", "bool", |_, a, _| of_bound(&a[0], true, |bound| bound.value.is_none())),
    of_set!("upper_inf", "bool", |_, a, _| of_bound(&a[0], false, |bound| bound.value.is_none())),
];

/// The functions that make ranges of one type, and multiranges of these.
macro_rules! constructors {
    ($range:literal, $element:literal, $multirange:literal, $make:expr) => {
        [
            lenient(concat!($range, "(", $element, ", ", $element, ", text?) ", $range), |_, a, _| construct(a, $make)),
            strict(concat!($multirange, "() ", $multirange), |_, _, _| made_of(Vec::new())),
            strict(concat!($multirange, "(", $range, ") ", $multirange), |_, a, _| collect(a)),
            lenient(concat!($multirange, "(variadic ", $range, "[]) ", $multirange), |_, a, _| collect(a)),
        ]
    };
}

pub(super) static CONSTRUCTORS: [[FunctionDefinition; 4]; 6] = [
    constructors!("int4range", "int4", "int4multirange", Range::counted),
    constructors!("int8range", "int8", "int8multirange", Range::counted),
    constructors!("numrange", "numeric", "nummultirange", Range::new),
    constructors!("tsrange", "timestamp", "tsmultirange", Range::new),
    constructors!("tstzrange", "timestamptz", "tstzmultirange", Range::new),
    constructors!("daterange", "date", "datemultirange", Range::counted),
];

/// Makes ranges of created types; see `registry::resolve_range`.
pub(crate) const MAKE_RANGE: &str = "RANGE OF";
/// Makes multiranges of created types, of several ranges and of one.
pub(crate) const MAKE_MULTIRANGE: [&str; 2] = ["MULTIRANGE OF", "MULTIRANGE OF RANGE"];

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    lenient("RANGE OF(any, any, text?) anyrange", |_, a, _| construct(a, Range::new)),
    strict("MULTIRANGE OF RANGE(any) anymultirange", |_, a, _| collect(a)),
    lenient("MULTIRANGE OF(variadic any) anymultirange", |_, a, _| collect(a)),
    strict("range_merge(anyrange, anyrange) anyrange", |_, a, _| made(range(&a[0])?.merged(range(&a[1])?))),
    strict("range_merge(anymultirange) anyrange", |_, a, _| made(span(&a[0])?)),
    strict("multirange(anyrange) anymultirange", |_, a, _| collect(a)),
];
