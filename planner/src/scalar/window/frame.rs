//! Window frames: for each row of a sorted partition, which rows its frame holds.

use crate::scalar::func::{compare, is_nan, shift_by};
use crate::scalar::{EvalContext, FrameBound, FrameExclusion, FrameUnit, Order, WindowFrame};
use repr::{Datum, Numeric, ValueError, poll};
use std::ops::Range;

/// A sorted partition and its groups of peers.
pub(super) struct Peers<'a> {
    ctx: &'a EvalContext,
    rows: &'a [Vec<Datum>],
    order: &'a [Order],
    /// For each row the number of its group.
    pub(super) group_of: Vec<usize>,
    /// Each group's rows.
    pub(super) groups: Vec<Range<usize>>,
}

impl<'a> Peers<'a> {
    pub(super) fn new(
        rows: &'a [Vec<Datum>],
        order: &'a [Order],
        ctx: &'a EvalContext,
    ) -> Result<Peers<'a>, ValueError> {
        let mut peers = Peers { ctx, rows, order, group_of: Vec::with_capacity(rows.len()), groups: Vec::new() };
        for index in 0..rows.len() {
            poll::step()?;
            let same =
                index > 0 && order.iter().all(|item| rows[index - 1][item.column].sql_eq(&rows[index][item.column]));
            if !same {
                peers.groups.push(index..index);
            }
            peers.group_of.push(peers.groups.len() - 1);
            if let Some(group) = peers.groups.last_mut() {
                group.end = index + 1;
            }
        }
        Ok(peers)
    }

    /// The rows of the frame of row `index`, in order, as disjoint ranges.
    pub(super) fn frame(&self, frame: &WindowFrame, index: usize) -> Result<Vec<Range<usize>>, ValueError> {
        let start = self.bound(frame, &frame.start, index, true)?;
        let end = self.bound(frame, &frame.end, index, false)?;
        let whole = start..end.max(start);
        let group = self.groups[self.group_of[index]].clone();
        Ok(match frame.exclude {
            FrameExclusion::NoOthers => vec![whole],
            FrameExclusion::CurrentRow => without(&[whole], &(index..index + 1)),
            FrameExclusion::Group => without(&[whole], &group),
            FrameExclusion::Ties => {
                let before = without(&[whole], &(group.start..index));
                without(&before, &(index + 1..group.end))
            }
        })
    }

    /// The first row of the frame, or the row after its last.
    fn bound(&self, frame: &WindowFrame, bound: &FrameBound, index: usize, start: bool) -> Result<usize, ValueError> {
        let count = self.rows.len();
        let (offset, following) = match bound {
            FrameBound::UnboundedPreceding => return Ok(0),
            FrameBound::UnboundedFollowing => return Ok(count),
            FrameBound::CurrentRow => {
                return Ok(match (frame.unit, start) {
                    (FrameUnit::Rows, true) => index,
                    (FrameUnit::Rows, false) => index + 1,
                    (FrameUnit::Range | FrameUnit::Groups, true) => self.groups[self.group_of[index]].start,
                    (FrameUnit::Range | FrameUnit::Groups, false) => self.groups[self.group_of[index]].end,
                });
            }
            FrameBound::Preceding(offset) => (offset, false),
            FrameBound::Following(offset) => (offset, true),
        };
        let side = if start { "starting" } else { "ending" };
        let offset = &offset.value(self.ctx);
        if offset.is_null() {
            return Err(ValueError::new("22004", format!("frame {side} offset must not be null")));
        }
        match frame.unit {
            FrameUnit::Range => self.range_bound(offset, following, index, start),
            FrameUnit::Rows => {
                let moved = moved(index, counted(offset, side)?, following);
                Ok(usize::try_from(moved + i128::from(!start)).unwrap_or(0).min(count))
            }
            FrameUnit::Groups => {
                let moved = moved(self.group_of[index], counted(offset, side)?, following);
                let last = self.groups.len() - 1;
                Ok(match usize::try_from(moved) {
                    Err(_) => 0,
                    Ok(group) if group > last => count,
                    Ok(group) if start => self.groups[group].start,
                    Ok(group) => self.groups[group].end,
                })
            }
        }
    }

    fn range_bound(&self, offset: &Datum, following: bool, index: usize, start: bool) -> Result<usize, ValueError> {
        let [order] = self.order else {
            return Err(ValueError::new(
                "42P20",
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
            ));
        };
        let key = |row: usize| &self.rows[row][order.column];
        let current = key(index);
        if current.is_null() {
            // NULLs are peers of each other and of nothing else.
            let group = &self.groups[self.group_of[index]];
            return Ok(if start { group.start } else { group.end });
        }
        let limit = match shift_by(current, offset, following != order.descending)? {
            // From one end of all numbers to beyond the other: every number lies within that.
            limit if is_nan(&limit) && !is_nan(current) => endless(current, start == order.descending),
            limit => limit,
        };
        // NULLs stand together, at one end.
        let is_null = |row: &Vec<Datum>| row[order.column].is_null();
        let first = if self.rows.first().is_some_and(is_null) { self.rows.partition_point(is_null) } else { 0 };
        let last = first + self.rows[first..].partition_point(|row| !is_null(row));
        let before = |row: &Vec<Datum>| {
            let compared = compare(&row[order.column], &limit);
            let compared = if order.descending { compared.reverse() } else { compared };
            if start { compared.is_lt() } else { compared.is_le() }
        };
        Ok(first + self.rows[first..last].partition_point(before))
    }
}

/// The greatest of all numbers, or the least.
fn endless(like: &Datum, greatest: bool) -> Datum {
    match (like, greatest) {
        (Datum::Numeric(_), true) => Datum::Numeric(Numeric::Infinity),
        (Datum::Numeric(_), false) => Datum::Numeric(Numeric::NegativeInfinity),
        (_, true) => Datum::Float8(f64::INFINITY),
        (_, false) => Datum::Float8(f64::NEG_INFINITY),
    }
}

fn moved(from: usize, by: i64, following: bool) -> i128 {
    let from = from as i128;
    if following { from + i128::from(by) } else { from - i128::from(by) }
}

fn counted(offset: &Datum, side: &str) -> Result<i64, ValueError> {
    match offset.as_i64() {
        Some(count) if count >= 0 => Ok(count),
        Some(_) => Err(ValueError::new("22013", format!("frame {side} offset must not be negative"))),
        None => Err(ValueError::new("42804", "argument of ROWS must be type bigint")),
    }
}

fn without(ranges: &[Range<usize>], excluded: &Range<usize>) -> Vec<Range<usize>> {
    let mut left = Vec::with_capacity(ranges.len() + 1);
    for range in ranges {
        left.push(range.start..range.end.min(excluded.start).max(range.start));
        left.push(range.start.max(excluded.end).min(range.end)..range.end);
    }
    left.retain(|range| !range.is_empty());
    left
}
