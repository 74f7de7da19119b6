//! Inner joins by order, once: the right side is held by key and sorted by its value, and each left row reads
//! the range that its bounds say, or as much of its ends as is asked for.
//!
//! The answers are those of the dataflow's join, which looks at
//! all pairs: `mfp` has the conditions.

use super::held::{JoinSides, Keys};
use crate::once::{Keeping, OneShot, Pull};
use planner::plan::JoinRange;
use planner::scalar::{EvalContext, Mfp, ScalarExpr};
use repr::hash::HashMap;
use repr::{Datum, Row, key, poll};
use state::SqlError;
use std::ops::Range;

/// The join, borrowed from its plan node.
#[derive(Clone, Copy)]
pub struct RangeJoin<'p> {
    /// Over the left's columns.
    pub left_key: &'p [ScalarExpr],
    /// Over the right's columns.
    pub right_key: &'p [ScalarExpr],
    /// NULLs in keys match each other.
    pub null_safe: bool,
    /// The bounds, and how many rows within them are wanted.
    pub range: &'p JoinRange,
    /// Applied to what comes out; has all conditions.
    pub mfp: &'p Mfp,
}

/// The joined rows.
pub struct RangeJoinRows<'p> {
    sides: JoinSides<'p, CodedRow>,
    join: RangeJoin<'p>,
    /// Rows of the key at hand that are still to be looked at.
    within: Range<usize>,
    /// How many pairs are still wanted from each end.
    low: usize,
    high: usize,
}

/// A right row behind the code that orders it.
struct CodedRow {
    code: Box<[u8]>,
    /// How much of the code is the value's; the rest orders what is equal.
    value_bytes: usize,
    row: Row,
}

impl CodedRow {
    fn value(&self) -> &[u8] {
        &self.code[..self.value_bytes]
    }
}

impl<'p> RangeJoinRows<'p> {
    /// Joins two inputs; what is held of the right is kept there, if anywhere.
    pub fn new(
        left: Box<dyn Pull + 'p>,
        right: Box<dyn Pull + 'p>,
        keeping: Option<Keeping>,
        join: RangeJoin<'p>,
        shot: &OneShot,
    ) -> Self {
        RangeJoinRows { sides: JoinSides::new(left, right, keeping, shot), join, within: 0..0, low: 0, high: 0 }
    }

    /// Goes to the next left row, and to what is within its bounds; false at the end.
    fn advance(&mut self) -> Result<bool, SqlError> {
        let RangeJoin { left_key, right_key, null_safe, range, .. } = self.join;
        let keys = Keys { left: left_key, right: right_key, null_safe };
        let mut code = Vec::new();
        let holds = |row: &[Datum], eval: &EvalContext| hold(range, row, &mut code, eval);
        if !self.sides.advance(keys, holds, in_order)? {
            return Ok(false);
        }
        self.within = 0..0;
        let JoinSides { at, shot, .. } = &self.sides;
        let Some(rows) = self.sides.matches() else { return Ok(true) };
        let mut bound = Vec::new();
        let mut end = rows.len();
        if let Some((upper, inclusive)) = &range.upper {
            let value = upper.operand(&at.row, &shot.eval)?;
            if value.is_null() {
                return Ok(true);
            }
            key::encode(&mut bound, &value);
            let below =
                |held: &CodedRow| if *inclusive { held.value() <= &bound[..] } else { held.value() < &bound[..] };
            end = rows.partition_point(below);
        }
        let mut start = 0;
        if let Some((lower, inclusive)) = &range.lower {
            let value = lower.operand(&at.row, &shot.eval)?;
            if value.is_null() {
                return Ok(true);
            }
            bound.clear();
            key::encode(&mut bound, &value);
            let below =
                |held: &CodedRow| if *inclusive { held.value() < &bound[..] } else { held.value() <= &bound[..] };
            start = rows.partition_point(below);
        }
        self.within = start..end.max(start);
        (self.low, self.high) = match &range.ends {
            None => (usize::MAX, 0),
            Some(ends) => (ends.low, ends.high),
        };
        Ok(true)
    }

    /// The next pair before `mfp`: from the low end while any are wanted there, then from the high end.
    fn joined(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            self.sides.ticker.tick(&self.sides.shot.watch)?;
            let next = if self.low > 0 {
                self.within.next()
            } else if self.high > 0 {
                self.within.next_back()
            } else {
                None
            };
            if let (Some(next), Some(rows)) = (next, self.sides.matches()) {
                row.clone_from(&self.sides.at.row);
                row.extend(rows[next].row.iter());
                return Ok(true);
            }
            if !self.advance()? {
                return Ok(false);
            }
        }
    }
}

/// What is held of a right row; none if it is in no range.
fn hold(
    range: &JoinRange,
    row: &[Datum],
    code: &mut Vec<u8>,
    eval: &EvalContext,
) -> Result<Option<CodedRow>, SqlError> {
    let value = range.value.operand(row, eval)?;
    if value.is_null() {
        return Ok(None);
    }
    code.clear();
    key::encode(code, &value);
    let value_bytes = code.len();
    for (tie, descending, nulls_first) in range.ends.as_ref().map_or(&[] as &[_], |ends| &ends.ties) {
        key::encode_ordered(code, &*tie.operand(row, eval)?, *descending, *nulls_first);
    }
    let held = CodedRow { code: code.as_slice().into(), value_bytes, row: Row::pack(row) };
    poll::bytes(held.row.bytes().len())?;
    Ok(Some(held))
}

/// Puts the rows of each key in the order of their values.
fn in_order(held: &mut HashMap<Vec<u8>, Vec<CodedRow>>, shot: &OneShot) -> Result<(), SqlError> {
    for rows in held.values_mut() {
        shot.watch.check()?;
        poll::sort_by(rows, |one, other| one.code.cmp(&other.code))?;
    }
    Ok(())
}

impl Pull for RangeJoinRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while self.joined(row)? {
            if self.join.mfp.evaluate(row, &self.sides.shot.eval)? {
                let wanted = if self.low > 0 { &mut self.low } else { &mut self.high };
                *wanted -= 1;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
