//! Joins of a one-shot's chains: the right side is held by key, the left streams past it.
//!
//! Where they stand: chains (one_shot::stream). The answers are those of the dataflow's join (render::join); a query that
//! runs once needs no arrangement of its left side, and no dataflow to start. What is held is charged to the query.

use super::OneShot;
use super::stream::Pull;
use super::watch::Ticker;
use crate::SqlError;
use planner::plan::MatchKind;
use planner::scalar::{EvalContext, Mfp, ScalarExpr};
use repr::{Datum, Row, ValueError, key, poll};
use std::collections::HashMap;

/// The join, borrowed from its plan node.
#[derive(Clone, Copy)]
pub struct HashJoin<'p> {
    /// Over the left's columns.
    pub left_key: &'p [ScalarExpr],
    /// Over the right's columns.
    pub right_key: &'p [ScalarExpr],
    /// How many columns the right has.
    pub right_arity: usize,
    /// NULLs match each other.
    pub null_safe: bool,
    /// Which left rows come out.
    pub kind: MatchKind,
    /// Applied to what comes out.
    pub mfp: &'p Mfp,
}

/// The joined rows.
pub struct HashJoinStream<'p> {
    left: Box<dyn Pull + 'p>,
    right: Box<dyn Pull + 'p>,
    join: HashJoin<'p>,
    /// The right's rows by key, once the left has given a row.
    held: Option<HashMap<Vec<u8>, Vec<Row>>>,
    left_row: Vec<Datum>,
    code: Vec<u8>,
    /// The next match of the left row: `code` names the matches.
    position: usize,
    /// Whether there is a left row with matches to go through.
    matching: bool,
    shot: OneShot,
    ticker: Ticker,
}

impl<'p> HashJoinStream<'p> {
    /// Joins two chains.
    pub fn new(left: Box<dyn Pull + 'p>, right: Box<dyn Pull + 'p>, join: HashJoin<'p>, shot: &OneShot) -> Self {
        HashJoinStream {
            left,
            right,
            join,
            held: None,
            left_row: Vec::new(),
            code: Vec::new(),
            position: 0,
            matching: false,
            shot: shot.clone(),
            ticker: Ticker::default(),
        }
    }

    /// The right's rows by key.
    fn hold(&mut self) -> Result<HashMap<Vec<u8>, Vec<Row>>, SqlError> {
        let mut held: HashMap<Vec<u8>, Vec<Row>> = HashMap::new();
        let mut row = Vec::new();
        let lone = matches!(self.join.kind, MatchKind::Semi | MatchKind::Anti);
        while self.right.next(&mut row)? {
            self.ticker.tick(&self.shot.watch)?;
            if !encode(&mut self.code, self.join.right_key, &row, self.join.null_safe, &self.shot.eval)? {
                continue;
            }
            if !held.contains_key(self.code.as_slice()) {
                held.insert(self.code.clone(), Vec::new());
            }
            // Semi and anti joins ask only whether a key is there.
            if !lone {
                let packed = Row::pack(&row);
                poll::bytes(packed.bytes().len())?;
                held.get_mut(self.code.as_slice()).expect("inserted if it was not there").push(packed);
            }
        }
        Ok(held)
    }

    /// The next row before `mfp`.
    fn joined(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            self.ticker.tick(&self.shot.watch)?;
            if self.matching
                && let Some(held) = &self.held
                && let Some(found) = held.get(self.code.as_slice()).and_then(|rows| rows.get(self.position))
            {
                self.position += 1;
                row.clone_from(&self.left_row);
                row.extend(found.iter());
                return Ok(true);
            }
            self.matching = false;
            if !self.left.next(&mut self.left_row)? {
                return Ok(false);
            }
            if self.held.is_none() {
                self.held = Some(self.hold()?);
            }
            let HashJoin { left_key, null_safe, kind, right_arity, .. } = self.join;
            let keyed = encode(&mut self.code, left_key, &self.left_row, null_safe, &self.shot.eval)?;
            let matched = keyed && self.held.as_ref().is_some_and(|held| held.contains_key(self.code.as_slice()));
            match (kind, matched) {
                (MatchKind::Inner | MatchKind::Left, true) => {
                    self.position = 0;
                    self.matching = true;
                }
                (MatchKind::Inner | MatchKind::Semi, false) | (MatchKind::Anti, true) => {}
                (MatchKind::Left, false) => {
                    row.clone_from(&self.left_row);
                    row.resize(row.len() + right_arity, Datum::Null);
                    return Ok(true);
                }
                (MatchKind::Semi, true) | (MatchKind::Anti, false) => {
                    std::mem::swap(row, &mut self.left_row);
                    return Ok(true);
                }
            }
        }
    }
}

impl Pull for HashJoinStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while self.joined(row)? {
            if self.join.mfp.evaluate(row, &self.shot.eval)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Replaces `code` with the key's bytes; false if it has a NULL that matches nothing.
pub(super) fn encode(
    code: &mut Vec<u8>,
    expressions: &[ScalarExpr],
    datums: &[Datum],
    null_safe: bool,
    eval: &EvalContext,
) -> Result<bool, ValueError> {
    code.clear();
    for expression in expressions {
        let value = expression.operand(datums, eval)?;
        if value.is_null() && !null_safe {
            return Ok(false);
        }
        key::encode(code, &value);
    }
    Ok(true)
}
