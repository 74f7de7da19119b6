//! Joins of a one-shot's chains: the right side is held by key, the left streams past it.
//!
//! Where they stand: chains (one_shot::stream). The answers are those of the dataflow's join (render::join); a query that
//! runs once needs no arrangement of its left side, and no dataflow to start. What is held is charged to the query.

use crate::one_shot::OneShot;
use crate::one_shot::held::{Keys, Sides};
use crate::one_shot::stream::Pull;
use planner::plan::MatchKind;
use planner::scalar::{EvalContext, Mfp, ScalarExpr};
use repr::{Datum, Row, poll};
use state::SqlError;

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
    sides: Sides<'p, Row>,
    join: HashJoin<'p>,
    /// The next match of the left row.
    position: usize,
    /// Whether there is a left row with matches to go through.
    matching: bool,
}

impl<'p> HashJoinStream<'p> {
    /// Joins two chains.
    pub fn new(left: Box<dyn Pull + 'p>, right: Box<dyn Pull + 'p>, join: HashJoin<'p>, shot: &OneShot) -> Self {
        HashJoinStream { sides: Sides::new(left, right, shot), join, position: 0, matching: false }
    }

    /// The next row before `mfp`.
    fn joined(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let HashJoin { left_key, right_key, null_safe, kind, right_arity, .. } = self.join;
        // Semi and anti joins ask only whether a key is there.
        let lone = matches!(kind, MatchKind::Semi | MatchKind::Anti);
        loop {
            self.sides.ticker.tick(&self.sides.shot.watch)?;
            if self.matching
                && let Some(found) = self.sides.matches().and_then(|rows| rows.get(self.position))
            {
                self.position += 1;
                row.clone_from(&self.sides.left_row);
                row.extend(found.iter());
                return Ok(true);
            }
            self.matching = false;
            let keys = Keys { left: left_key, right: right_key, null_safe };
            let holds = |row: &[Datum], _: &EvalContext| {
                if lone {
                    return Ok(None);
                }
                let packed = Row::pack(row);
                poll::bytes(packed.bytes().len())?;
                Ok(Some(packed))
            };
            if !self.sides.advance(keys, holds, |_, _| Ok(()))? {
                return Ok(false);
            }
            match (kind, self.sides.matches().is_some()) {
                (MatchKind::Inner | MatchKind::Left, true) => {
                    self.position = 0;
                    self.matching = true;
                }
                (MatchKind::Inner | MatchKind::Semi, false) | (MatchKind::Anti, true) => {}
                (MatchKind::Left, false) => {
                    row.clone_from(&self.sides.left_row);
                    row.resize(row.len() + right_arity, Datum::Null);
                    return Ok(true);
                }
                (MatchKind::Semi, true) | (MatchKind::Anti, false) => {
                    std::mem::swap(row, &mut self.sides.left_row);
                    return Ok(true);
                }
            }
        }
    }
}

impl Pull for HashJoinStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while self.joined(row)? {
            if self.join.mfp.evaluate(row, &self.sides.shot.eval)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
