//! Inner joins by order, in a one-shot's chains: the right side is held by key and sorted by its value, and each left row reads
//! the range that its bounds say, or as much of its ends as is asked for.
//!
//! Where they stand: chains (one_shot::stream), as `hash_join`. The answers are those of the dataflow's join, which looks at
//! all pairs: `mfp` has the conditions.

use super::OneShot;
use super::hash_join::encode;
use super::stream::Pull;
use super::watch::Ticker;
use crate::SqlError;
use planner::plan::JoinRange;
use planner::scalar::{Mfp, ScalarExpr};
use repr::{Datum, Row, key, poll};
use std::collections::HashMap;
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
pub struct RangeJoinStream<'p> {
    left: Box<dyn Pull + 'p>,
    right: Box<dyn Pull + 'p>,
    join: RangeJoin<'p>,
    /// The right's rows by key, once the left has given a row.
    held: Option<HashMap<Vec<u8>, Vec<Held>>>,
    left_row: Vec<Datum>,
    code: Vec<u8>,
    /// Rows of the key at hand that are still to be looked at.
    within: Range<usize>,
    /// How many pairs are still wanted from each end.
    low: usize,
    high: usize,
    shot: OneShot,
    ticker: Ticker,
}

/// A right row behind the code that orders it.
struct Held {
    code: Box<[u8]>,
    /// How much of the code is the value's; the rest orders what is equal.
    value_bytes: usize,
    row: Row,
}

impl Held {
    fn value(&self) -> &[u8] {
        &self.code[..self.value_bytes]
    }
}

impl<'p> RangeJoinStream<'p> {
    /// Joins two chains.
    pub fn new(left: Box<dyn Pull + 'p>, right: Box<dyn Pull + 'p>, join: RangeJoin<'p>, shot: &OneShot) -> Self {
        RangeJoinStream {
            left,
            right,
            join,
            held: None,
            left_row: Vec::new(),
            code: Vec::new(),
            within: 0..0,
            low: 0,
            high: 0,
            shot: shot.clone(),
            ticker: Ticker::default(),
        }
    }

    /// The right's rows by key, in the order of their values.
    fn hold(&mut self) -> Result<HashMap<Vec<u8>, Vec<Held>>, SqlError> {
        let mut held: HashMap<Vec<u8>, Vec<Held>> = HashMap::new();
        let (mut row, mut code) = (Vec::new(), Vec::new());
        let ties = self.join.range.ends.as_ref().map_or(&[] as &[_], |ends| &ends.ties);
        while self.right.next(&mut row)? {
            self.ticker.tick(&self.shot.watch)?;
            if !encode(&mut self.code, self.join.right_key, &row, self.join.null_safe, &self.shot.eval)? {
                continue;
            }
            let value = self.join.range.value.operand(&row, &self.shot.eval)?;
            if value.is_null() {
                continue;
            }
            code.clear();
            key::encode(&mut code, &value);
            let value_bytes = code.len();
            for (tie, descending, nulls_first) in ties {
                key::encode_ordered(&mut code, &*tie.operand(&row, &self.shot.eval)?, *descending, *nulls_first);
            }
            let held_row = Held { code: code.as_slice().into(), value_bytes, row: Row::pack(&row) };
            poll::bytes(held_row.row.bytes().len())?;
            if let Some(rows) = held.get_mut(self.code.as_slice()) {
                rows.push(held_row);
            } else {
                held.insert(self.code.clone(), vec![held_row]);
            }
        }
        for rows in held.values_mut() {
            self.shot.watch.check()?;
            poll::sort_by(rows, |one, other| one.code.cmp(&other.code))?;
        }
        Ok(held)
    }

    /// Goes to the next left row, and to what is within its bounds; false at the end.
    fn advance(&mut self) -> Result<bool, SqlError> {
        if !self.left.next(&mut self.left_row)? {
            return Ok(false);
        }
        if self.held.is_none() {
            self.held = Some(self.hold()?);
        }
        let RangeJoin { left_key, null_safe, range, .. } = self.join;
        self.within = 0..0;
        if !encode(&mut self.code, left_key, &self.left_row, null_safe, &self.shot.eval)? {
            return Ok(true);
        }
        let Some(rows) = self.held.as_ref().and_then(|held| held.get(self.code.as_slice())) else { return Ok(true) };
        let mut bound = Vec::new();
        let mut end = rows.len();
        if let Some((upper, inclusive)) = &range.upper {
            let value = upper.operand(&self.left_row, &self.shot.eval)?;
            if value.is_null() {
                return Ok(true);
            }
            key::encode(&mut bound, &value);
            let below = |held: &Held| if *inclusive { held.value() <= &bound } else { held.value() < &bound[..] };
            end = rows.partition_point(below);
        }
        let mut start = 0;
        if let Some((lower, inclusive)) = &range.lower {
            let value = lower.operand(&self.left_row, &self.shot.eval)?;
            if value.is_null() {
                return Ok(true);
            }
            bound.clear();
            key::encode(&mut bound, &value);
            let below = |held: &Held| if *inclusive { held.value() < &bound[..] } else { held.value() <= &bound };
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
            self.ticker.tick(&self.shot.watch)?;
            let next = if self.low > 0 {
                self.within.next()
            } else if self.high > 0 {
                self.within.next_back()
            } else {
                None
            };
            let rows = self.held.as_ref().and_then(|held| held.get(self.code.as_slice()));
            if let (Some(next), Some(rows)) = (next, rows) {
                row.clone_from(&self.left_row);
                row.extend(rows[next].row.iter());
                return Ok(true);
            }
            if !self.advance()? {
                return Ok(false);
            }
        }
    }
}

impl Pull for RangeJoinStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while self.joined(row)? {
            if self.join.mfp.evaluate(row, &self.shot.eval)? {
                let wanted = if self.low > 0 { &mut self.low } else { &mut self.high };
                *wanted -= 1;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
