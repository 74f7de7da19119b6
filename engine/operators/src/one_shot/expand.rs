//! Chains' operators that give several rows for one: lookup joins and set-returning functions.

use crate::one_shot::OneShot;
use crate::one_shot::stream::Pull;
use crate::render::leaf::Leaf;
use crate::render::lookup_join::LookupJoin;
use crate::render::table_function::{FunctionRows, Functions};
use planner::plan::{Lookup, MatchKind};
use repr::{Datum, RelationId, Row, RowKey};
use state::SqlError;
use state::interrupt::Ticker;

/// A lookup join, match by match.
pub struct LookupJoinStream<'p> {
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

impl<'p> LookupJoinStream<'p> {
    /// Joins `input` with the rows that its key finds.
    pub fn new(
        input: Box<dyn Pull + 'p>,
        relation: RelationId,
        lookup: Lookup,
        join: LookupJoin<'p>,
        shot: &OneShot,
    ) -> Result<Self, SqlError> {
        Ok(LookupJoinStream {
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

impl Pull for LookupJoinStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while self.joined(row)? {
            if self.join.mfp.evaluate(row, &self.shot.eval)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Set-returning functions, row by row.
pub struct TableFunctionStream<'p> {
    input: Box<dyn Pull + 'p>,
    functions: &'p Functions,
    ordinality: bool,
    input_row: Vec<Datum>,
    rows: Option<FunctionRows>,
    shot: OneShot,
    ticker: Ticker,
}

impl<'p> TableFunctionStream<'p> {
    /// Extends `input` by the functions' columns.
    pub fn new(input: Box<dyn Pull + 'p>, functions: &'p Functions, ordinality: bool, shot: &OneShot) -> Self {
        TableFunctionStream {
            input,
            functions,
            ordinality,
            input_row: Vec::new(),
            rows: None,
            shot: shot.clone(),
            ticker: Ticker::default(),
        }
    }
}

impl Pull for TableFunctionStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            self.ticker.tick(&self.shot.watch)?;
            if let Some(rows) = &mut self.rows {
                row.clone_from(&self.input_row);
                if rows.append(row)? {
                    return Ok(true);
                }
                self.rows = None;
            }
            if !self.input.next(&mut self.input_row)? {
                return Ok(false);
            }
            self.rows = Some(FunctionRows::call(self.functions, self.ordinality, &self.input_row, &self.shot.eval)?);
        }
    }
}
