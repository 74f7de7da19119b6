//! What joins that run once share: the right side held by key, the left streaming past it.
//!
//! Nothing of the right is asked for before the left has given a row.

use crate::once::{Keeping, OneShot, Pull};
use planner::scalar::{EvalContext, ScalarExpr};
use repr::hash::HashMap;
use repr::{Datum, ValueError, key};
use state::SqlError;
use state::interrupt::Ticker;
use std::sync::Arc;

/// Both sides of a join, `T` being what is held of a right row.
pub(super) struct JoinSides<'p, T> {
    left: Box<dyn Pull + 'p>,
    right: Box<dyn Pull + 'p>,
    /// The right's rows by key, once the left has given a row.
    held: Option<Arc<HeldByKey<T>>>,
    /// Where it is kept for the next round of a recursion.
    keeping: Option<Keeping>,
    pub(super) at: LeftRow,
    pub(super) shot: OneShot,
    pub(super) ticker: Ticker,
}

/// The left row at hand.
#[derive(Default)]
pub(super) struct LeftRow {
    pub(super) row: Vec<Datum>,
    /// Its key, if it has one.
    code: Vec<u8>,
    keyed: bool,
}

/// A side's rows by key.
type HeldByKey<T> = HashMap<Vec<u8>, Vec<T>>;

/// The keys by which both sides meet.
#[derive(Clone, Copy)]
pub(super) struct Keys<'p> {
    pub(super) left: &'p [ScalarExpr],
    pub(super) right: &'p [ScalarExpr],
    /// NULLs match each other.
    pub(super) null_safe: bool,
}

impl<'p, T: Send + Sync + 'static> JoinSides<'p, T> {
    pub(super) fn new(
        left: Box<dyn Pull + 'p>,
        right: Box<dyn Pull + 'p>,
        keeping: Option<Keeping>,
        shot: &OneShot,
    ) -> Self {
        JoinSides {
            left,
            right,
            held: None,
            keeping,
            at: LeftRow::default(),
            shot: shot.clone(),
            ticker: Ticker::default(),
        }
    }

    /// Goes to the next left row; false at the end. `holds` says what of a right row is held, under its key in any case, and
    /// `finish` sees all that are.
    pub(super) fn advance(
        &mut self,
        keys: Keys<'_>,
        holds: impl FnMut(&[Datum], &EvalContext) -> Result<Option<T>, SqlError>,
        finish: impl FnOnce(&mut HeldByKey<T>, &OneShot) -> Result<(), SqlError>,
    ) -> Result<bool, SqlError> {
        if !self.left.next(&mut self.at.row)? {
            return Ok(false);
        }
        if self.held.is_none() {
            self.held = self.keeping.as_ref().and_then(Keeping::held);
        }
        if self.held.is_none() {
            let mut held = self.hold(keys, holds)?;
            finish(&mut held, &self.shot)?;
            let held = Arc::new(held);
            self.keeping.iter().for_each(|keeping| keeping.keep(&held));
            self.held = Some(held);
        }
        self.at.keyed = encode(&mut self.at.code, keys.left, &self.at.row, keys.null_safe, &self.shot.eval)?;
        Ok(true)
    }

    /// What is held under the left row's key; none if there is no such key.
    pub(super) fn matches(&self) -> Option<&[T]> {
        if !self.at.keyed {
            return None;
        }
        self.held.as_ref()?.get(self.at.code.as_slice()).map(Vec::as_slice)
    }

    fn hold(
        &mut self,
        keys: Keys<'_>,
        mut holds: impl FnMut(&[Datum], &EvalContext) -> Result<Option<T>, SqlError>,
    ) -> Result<HeldByKey<T>, SqlError> {
        let mut held: HeldByKey<T> = HashMap::default();
        let mut row = Vec::new();
        while self.right.next(&mut row)? {
            self.ticker.tick(&self.shot.watch)?;
            if !encode(&mut self.at.code, keys.right, &row, keys.null_safe, &self.shot.eval)? {
                continue;
            }
            if !held.contains_key(self.at.code.as_slice()) {
                held.insert(self.at.code.clone(), Vec::new());
            }
            if let Some(value) = holds(&row, &self.shot.eval)? {
                held.get_mut(self.at.code.as_slice()).expect("inserted if it was not there").push(value);
            }
        }
        Ok(held)
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
