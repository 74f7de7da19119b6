//! Operations on ranges and multiranges, held to sets of points: each value, each gap between two, and what lies outside.

mod support;

use repr::range::{Bound, difference, intersection, of_ranges};
use repr::{Datum, Range};
use support::Random;

/// Halves from -1 to 7: bounds are whole numbers, so that between two of them there is a point.
fn points(ranges: &[Range]) -> Vec<bool> {
    let point = |half: i32| Datum::Numeric(format!("{}e-1", half * 5).parse().expect("a number"));
    (-2..15).map(|half| ranges.iter().any(|range| range.contains_value(&point(half)))).collect()
}

fn combined(one: &[bool], other: &[bool], holds: impl Fn(bool, bool) -> bool) -> Vec<bool> {
    one.iter().zip(other).map(|(one, other)| holds(*one, *other)).collect()
}

#[test]
fn ranges_are_the_sets_of_their_points() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let (one, other) = (random.range(false), random.range(false));
        let (left, right) = (points(std::slice::from_ref(&one)), points(std::slice::from_ref(&other)));
        let common = combined(&left, &right, |left, right| left && right);
        assert_eq!(points(&[one.intersection(&other)]), common, "{one:?} * {other:?}");
        assert_eq!(one.overlaps(&other), common.contains(&true), "{one:?} && {other:?}");
        assert_eq!(one.contains(&other), common == right, "{one:?} @> {other:?}");
        let either = combined(&left, &right, |left, right| left || right);
        match one.union(&other) {
            Ok(union) => assert_eq!(points(&[union]), either, "{one:?} + {other:?}"),
            Err(_) => assert!(!one.overlaps(&other) && !one.is_adjacent(&other), "{one:?} + {other:?}"),
        }
        let rest = combined(&left, &right, |left, right| left && !right);
        if let Ok(minus) = one.minus(&other) {
            assert_eq!(points(&[minus]), rest, "{one:?} - {other:?}");
        }
        assert_eq!(one.sql_cmp(&other).is_eq(), left == right, "{one:?} = {other:?}");
        assert_eq!(one.sql_cmp(&other), other.sql_cmp(&one).reverse());
        assert_eq!(one.is_adjacent(&other), other.is_adjacent(&one));
    }
}

#[test]
fn multiranges_are_the_sets_of_their_points() {
    let mut random = Random(11);
    for _ in 0..20_000 {
        let (one, other) = (random.multirange(), random.multirange());
        let (left, right) = (points(&one), points(&other));
        assert_eq!(points(&intersection(&one, &other)), combined(&left, &right, |left, right| left && right));
        assert_eq!(points(&difference(&one, &other)), combined(&left, &right, |left, right| left && !right));
        let all: Vec<Range> = one.iter().chain(&other).cloned().collect();
        assert_eq!(points(&of_ranges(all)), combined(&left, &right, |left, right| left || right));
        for pair in one.windows(2) {
            assert!(pair[0].is_before(&pair[1]) && !pair[0].is_adjacent(&pair[1]), "{one:?}");
        }
    }
}

/// Of what can be counted every set is written in one way.
#[test]
fn integers_are_counted() {
    let mut random = Random(13);
    for _ in 0..5_000 {
        let (one, other) = (random.range(true), random.range(true));
        let members =
            |range: &Range| (-1..8).map(|value| range.contains_value(&Datum::Int4(value))).collect::<Vec<_>>();
        let is_open = |range: &Range| range.bounds().map(|(from, to)| (from.value.is_none(), to.value.is_none()));
        let same = members(&one) == members(&other) && is_open(&one) == is_open(&other);
        assert_eq!(one == other, same, "{one:?} {other:?}");
        assert_eq!(one.sql_cmp(&other).is_eq(), same);
    }
    let last = |inclusive| Bound::new(Datum::Int4(i32::MAX), inclusive);
    assert_eq!(Range::counted(last(true), last(true)).expect_err("there is no number behind it").code, "22003");
    assert!(Range::counted(last(false), last(false)).expect("nothing is in it").is_empty());
}
