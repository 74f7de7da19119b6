//! Sets of ranges.

use super::Range;

/// Ranges in order: none is empty, and between each and the next there is something. `of_ranges` makes one.
pub type Multirange = [Range];

/// What is in any of some ranges.
pub fn of_ranges(ranges: impl IntoIterator<Item = Range>) -> Vec<Range> {
    let mut ranges: Vec<Range> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
    ranges.sort_by(Range::sql_cmp);
    let mut apart: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut() {
            Some(last) if last.overlaps(&range) || last.is_adjacent(&range) => *last = last.merged(&range),
            _ => apart.push(range),
        }
    }
    apart
}

/// What is in both.
pub fn intersection(one: &Multirange, other: &Multirange) -> Vec<Range> {
    let (mut found, mut others) = (Vec::new(), other);
    for range in one {
        while let [first, rest @ ..] = others
            && first.is_before(range)
        {
            others = rest;
        }
        found.extend(others.iter().take_while(|other| !range.is_before(other)).map(|other| range.intersection(other)));
    }
    of_ranges(found)
}

/// What is in the first and not in the other.
pub fn difference(one: &Multirange, other: &Multirange) -> Vec<Range> {
    let (mut found, mut others) = (Vec::new(), other);
    for range in one {
        while let [first, rest @ ..] = others
            && first.is_before(range)
        {
            others = rest;
        }
        let mut rest = range.clone();
        for other in others.iter().take_while(|other| !range.is_before(other)) {
            let (before, after) = rest.without(other);
            // What does not meet the other is before it or behind it, and stays as it is.
            if rest.overlaps(other) {
                found.push(before);
                rest = after;
            }
        }
        found.push(rest);
    }
    of_ranges(found)
}
