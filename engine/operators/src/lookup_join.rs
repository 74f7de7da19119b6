//! Joins whose one side is looked up in the leaves, row by row.
//!
//! Stateless: what is known of one input row. Once, it is pulled match by match; kept, it is one of the steps of a `delta` chain,
//! or `delta::derived` where its input cannot be looked up in turn. They differ in the reader that they pass: a view reads a
//! relation as after the group or as before it.

use crate::leaf::{Leaf, key_datum};
use crate::once::{OneShot, Pull};
use planner::plan::{Lookup, MatchKind};
use planner::scalar::{EvalContext, Mfp, ScalarExpr};
use repr::{Datum, RelationId, Row, RowKey, ValueError};
use state::SqlError;
use state::interrupt::Ticker;
use state::reader::Reader;

/// The join, borrowed from its plan node.
#[derive(Clone, Copy)]
pub struct LookupJoin<'p> {
    /// Columns of the input side.
    pub key: &'p [ScalarExpr],
    /// What becomes of input rows.
    pub kind: MatchKind,
    /// What a match must satisfy besides.
    pub condition: &'p [ScalarExpr],
    /// Appends the row key.
    pub with_key: bool,
    /// Applied to what comes out.
    pub mfp: &'p Mfp,
}

impl LookupJoin<'_> {
    /// The rows that meet `input`, before the condition.
    pub fn find(
        &self,
        leaf: &Leaf,
        reader: &dyn Reader,
        input: &[Datum],
        eval: &EvalContext,
    ) -> Result<Vec<(RowKey, Row)>, RowFailure> {
        leaf.find(reader, &evaluate(self.key, input, eval)?).map_err(RowFailure::Environment)
    }

    /// Appends a match to `row`, which holds the input's columns; whether it satisfies the condition.
    pub fn extend(
        &self,
        leaf: &Leaf,
        (key, found): &(RowKey, Row),
        row: &mut Vec<Datum>,
        eval: &EvalContext,
    ) -> Result<bool, RowFailure> {
        leaf.append(found, row);
        if !holds(self.condition, row, eval)? {
            return Ok(false);
        }
        if self.with_key {
            row.push(key_datum(key));
        }
        Ok(true)
    }

    /// Whether any of the matches satisfies the condition; `row` holds the input's columns, and does so again. One that
    /// does outweighs one that fails, so that the order in which they are found decides nothing.
    pub fn any(
        &self,
        leaf: &Leaf,
        matches: &[(RowKey, Row)],
        row: &mut Vec<Datum>,
        eval: &EvalContext,
    ) -> Result<bool, RowFailure> {
        if self.condition.is_empty() {
            return Ok(!matches.is_empty());
        }
        let width = row.len();
        let mut failure = None;
        for found in matches {
            let satisfied = self.extend(leaf, found, row, eval);
            row.truncate(width);
            match satisfied {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(RowFailure::Value(error)) if failure.as_ref().is_none_or(|least| error < *least) => {
                    failure = Some(error);
                }
                Err(RowFailure::Value(_)) => {}
                Err(error) => return Err(error),
            }
        }
        failure.map_or(Ok(false), |error| Err(error.into()))
    }

    /// Appends the NULLs of an outer join.
    pub fn pad(&self, leaf: &Leaf, row: &mut Vec<Datum>) {
        row.resize(row.len() + leaf.arity() + usize::from(self.with_key), Datum::Null);
    }
}

/// These expressions over a row.
pub fn evaluate(expressions: &[ScalarExpr], row: &[Datum], eval: &EvalContext) -> Result<Vec<Datum>, ValueError> {
    expressions.iter().map(|expression| expression.eval(row, eval)).collect()
}

/// Whether all predicates are true of a row.
pub fn holds(predicates: &[ScalarExpr], row: &[Datum], eval: &EvalContext) -> Result<bool, ValueError> {
    for predicate in predicates {
        if !predicate.holds(row, eval)? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl From<RowFailure> for SqlError {
    fn from(failure: RowFailure) -> Self {
        match failure {
            RowFailure::Value(error) => error.into(),
            RowFailure::Environment(error) => error,
        }
    }
}

/// A lookup join, match by match.
pub struct LookupJoinRows<'p> {
    input: Box<dyn Pull + 'p>,
    leaf: Leaf,
    join: LookupJoin<'p>,
    input_row: Vec<Datum>,
    matches: std::vec::IntoIter<(RowKey, Row)>,
    /// A left join's input row that has met nothing so far.
    unmatched: bool,
    shot: OneShot,
    ticker: Ticker,
}

impl<'p> LookupJoinRows<'p> {
    /// Joins `input` with the rows that its key finds.
    pub fn new(
        input: Box<dyn Pull + 'p>,
        relation: RelationId,
        lookup: Lookup,
        join: LookupJoin<'p>,
        shot: &OneShot,
    ) -> Result<Self, SqlError> {
        Ok(LookupJoinRows {
            input,
            leaf: Leaf::open(shot.reader.catalog(), relation, Some(lookup))?,
            join,
            input_row: Vec::new(),
            matches: Vec::new().into_iter(),
            unmatched: false,
            shot: shot.clone(),
            ticker: Ticker::default(),
        })
    }

    /// The next row before `mfp`.
    fn joined(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            self.ticker.tick(&self.shot.watch)?;
            if let Some(found) = self.matches.next() {
                row.clone_from(&self.input_row);
                if self.join.extend(&self.leaf, &found, row, &self.shot.eval)? {
                    self.unmatched = false;
                    return Ok(true);
                }
                continue;
            }
            if std::mem::take(&mut self.unmatched) {
                row.clone_from(&self.input_row);
                self.join.pad(&self.leaf, row);
                return Ok(true);
            }
            if !self.input.next(&mut self.input_row)? {
                return Ok(false);
            }
            let eval = &self.shot.eval;
            let matches = self.join.find(&self.leaf, self.shot.reader.as_ref(), &self.input_row, eval)?;
            match self.join.kind {
                MatchKind::Inner | MatchKind::Left => {
                    self.matches = matches.into_iter();
                    self.unmatched = self.join.kind == MatchKind::Left;
                }
                MatchKind::Semi | MatchKind::Anti => {
                    let any = self.join.any(&self.leaf, &matches, &mut self.input_row, eval)?;
                    if any == (self.join.kind == MatchKind::Semi) {
                        std::mem::swap(row, &mut self.input_row);
                        return Ok(true);
                    }
                }
            }
        }
    }
}

impl Pull for LookupJoinRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while self.joined(row)? {
            if self.join.mfp.evaluate(row, &self.shot.eval)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Why one row gave no answer.
pub enum RowFailure {
    /// Its evaluation failed: data.
    Value(ValueError),
    /// Storage failed, or the snapshot ended: the whole computation fails.
    Environment(SqlError),
}

impl From<ValueError> for RowFailure {
    fn from(error: ValueError) -> Self {
        RowFailure::Value(error)
    }
}
