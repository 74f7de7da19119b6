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

/// Each range of the first, and those of the other that meet it.
fn meeting<'m>(one: &'m Multirange, other: &'m Multirange) -> impl Iterator<Item = (&'m Range, &'m Multirange)> {
    let mut others = other;
    one.iter().map(move |range| {
        others = &others[others.partition_point(|other| other.is_before(range))..];
        (range, &others[..others.partition_point(|other| !range.is_before(other))])
    })
}

/// What is in both.
pub fn intersection(one: &Multirange, other: &Multirange) -> Vec<Range> {
    of_ranges(meeting(one, other).flat_map(|(range, others)| others.iter().map(|other| range.intersection(other))))
}

/// What is in the first and not in the other.
pub fn difference(one: &Multirange, other: &Multirange) -> Vec<Range> {
    let mut found = Vec::new();
    for (range, others) in meeting(one, other) {
        let mut rest = range.clone();
        for other in others {
            let (before, after) = rest.without(other);
            found.push(before);
            rest = after;
        }
        found.push(rest);
    }
    of_ranges(found)
}
