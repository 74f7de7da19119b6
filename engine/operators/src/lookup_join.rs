//! Joins whose one side is looked up in the leaves.
//!
//! Stateless: what is known of one input row. Once, it is pulled match by match, and the matches of some input rows are looked up
//! together, of few at first, as few may be wanted; kept, it is one of the steps of a `delta` chain,
//! or `delta::derived` where its input cannot be looked up in turn. They differ in the reader that they pass: a view reads a
//! relation as after the group or as before it.

use crate::leaf::{KEYS_AT_ONCE_FIRST, KEYS_AT_ONCE_MAX, Leaf, key_datum};
use crate::once::{OneShot, Pull};
use planner::plan::{Lookup, MatchKind};
use planner::scalar::{EvalContext, Mfp, ScalarExpr};
use repr::{Datum, RelationId, Row, RowKey, ValueError};
use state::SqlError;
use state::interrupt::Ticker;
use state::reader::Reader;
use state::usage::CountedReads;
use std::collections::VecDeque;

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

    /// The table's columns that are looked at.
    fn of_table(&self, leaf: &Leaf) -> Vec<usize> {
        let gives_table = matches!(self.kind, MatchKind::Inner | MatchKind::Left);
        let of_table = if gives_table { leaf.arity() + usize::from(self.with_key) } else { 0 };
        let start = self.mfp.input_arity - of_table;
        let of_condition = self.condition.iter().flat_map(ScalarExpr::columns);
        self.mfp
            .columns()
            .into_iter()
            .filter(|_| gives_table)
            .chain(of_condition)
            .filter_map(|column| column.checked_sub(start))
            .collect()
    }

    /// Whether an index's entries say all that is asked, so that no row is opened.
    fn asks_existence(&self, leaf: &Leaf) -> bool {
        let is_asked = matches!(self.kind, MatchKind::Semi | MatchKind::Anti);
        is_asked && self.condition.is_empty() && leaf.index().is_some() && !self.key.iter().any(is_literal)
    }

    /// Appends the NULLs of an outer join.
    pub fn pad(&self, leaf: &Leaf, row: &mut Vec<Datum>) {
        row.resize(row.len() + leaf.arity() + usize::from(self.with_key), Datum::Null);
    }
}

fn is_literal(expression: &ScalarExpr) -> bool {
    matches!(expression, ScalarExpr::Literal(..))
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
    inputs: Inputs<'p>,
    leaf: Leaf,
    join: LookupJoin<'p>,
    matches: Matches,
    shot: OneShot,
    ticker: Ticker,
    reads: CountedReads,
}

/// What the input rows meet.
struct Matches {
    /// What was found for the rows from the next one on.
    found: std::vec::IntoIter<(RowKey, Row)>,
    /// How many of these each key has.
    counts: VecDeque<usize>,
    /// Those of the row that the join stands on that are still to be joined.
    left: usize,
    /// A left join's input row that has met nothing so far.
    unmatched: bool,
}

/// Input rows that are looked up together.
struct Inputs<'p> {
    input: Box<dyn Pull + 'p>,
    /// As many as there ever were at once; those of now are the first.
    rows: Vec<Vec<Datum>>,
    gathered: usize,
    /// The one after that which the join stands on.
    next: usize,
    /// Of each row whether it has a key, which no row has that is NULL.
    keyed: Vec<bool>,
    /// The keys that are still to be looked up.
    keys: Vec<Vec<Datum>>,
    at_once: usize,
    /// Why there is no row behind these, if it is for an error.
    failed: Option<SqlError>,
}

impl Inputs<'_> {
    /// Replaces the rows by the next ones, up to one that cannot be computed; whether there are any.
    fn gather(&mut self, key: &[ScalarExpr], eval: &EvalContext) -> Result<bool, SqlError> {
        (self.gathered, self.next) = (0, 0);
        self.keyed.clear();
        while self.gathered < self.at_once && self.failed.is_none() {
            if self.rows.len() == self.gathered {
                self.rows.push(Vec::new());
            }
            let row = &mut self.rows[self.gathered];
            match self.input.next(row) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
            match evaluate(key, row, eval) {
                Ok(values) => {
                    // A literal NULL asks for NULLs.
                    let is_null = |(value, of): (&Datum, &ScalarExpr)| value.is_null() && !is_literal(of);
                    let keyed = !values.iter().zip(key).any(is_null);
                    self.keyed.push(keyed);
                    if keyed {
                        self.keys.push(values);
                    }
                    self.gathered += 1;
                }
                Err(error) => self.failed = Some(error.into()),
            }
        }
        self.at_once = (self.at_once * 2).min(KEYS_AT_ONCE_MAX);
        match self.failed.take_if(|_| self.gathered == 0) {
            Some(error) => Err(error),
            None => Ok(self.gathered > 0),
        }
    }
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
        let inputs = Inputs {
            input,
            rows: Vec::new(),
            gathered: 0,
            next: 0,
            keyed: Vec::new(),
            keys: Vec::new(),
            at_once: KEYS_AT_ONCE_FIRST,
            failed: None,
        };
        let mut leaf = Leaf::open(shot.reader.catalog(), relation, Some(lookup))?;
        leaf.read_columns(join.of_table(&leaf));
        let reads = leaf.key_reads(&*shot.reader, 0);
        Ok(LookupJoinRows {
            inputs,
            leaf,
            join,
            matches: Matches { found: Vec::new().into_iter(), counts: VecDeque::new(), left: 0, unmatched: false },
            shot: shot.clone(),
            ticker: Ticker::default(),
            reads,
        })
    }

    /// Goes on to the next input row, with the number of its matches; none at the end.
    fn advance(&mut self) -> Result<Option<usize>, SqlError> {
        let LookupJoinRows { inputs, leaf, join, matches: Matches { found, counts, .. }, shot, reads, .. } = self;
        if inputs.next == inputs.gathered && !inputs.gather(join.key, &shot.eval)? {
            return Ok(None);
        }
        inputs.next += 1;
        if !inputs.keyed[inputs.next - 1] {
            return Ok(Some(0));
        }
        if counts.is_empty() && join.asks_existence(leaf) {
            let any = leaf.any(shot.reader.as_ref(), inputs.keys.first().expect("a row with a key has one"))?;
            counts.push_back(usize::from(any));
            reads.begin(1);
            reads.find(u64::from(any));
            inputs.keys.remove(0);
        } else if counts.is_empty() {
            let rows = leaf.find_first(shot.reader.as_ref(), &inputs.keys, &mut |count| counts.push_back(count))?;
            reads.begin(counts.len() as u64);
            reads.find(rows.len() as u64);
            *found = rows.into_iter();
            inputs.keys.drain(..counts.len());
        }
        Ok(counts.pop_front())
    }

    /// The next row before `mfp`.
    fn joined(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            self.ticker.tick(&self.shot.watch)?;
            while self.matches.left > 0 {
                self.matches.left -= 1;
                let found = self.matches.found.next().expect("as many as were counted");
                row.clone_from(&self.inputs.rows[self.inputs.next - 1]);
                if self.join.extend(&self.leaf, &found, row, &self.shot.eval)? {
                    self.matches.unmatched = false;
                    return Ok(true);
                }
                self.ticker.tick(&self.shot.watch)?;
            }
            if std::mem::take(&mut self.matches.unmatched) {
                row.clone_from(&self.inputs.rows[self.inputs.next - 1]);
                self.join.pad(&self.leaf, row);
                return Ok(true);
            }
            let Some(matches) = self.advance()? else { return Ok(false) };
            match self.join.kind {
                MatchKind::Inner | MatchKind::Left => {
                    self.matches.left = matches;
                    self.matches.unmatched = self.join.kind == MatchKind::Left;
                }
                MatchKind::Semi | MatchKind::Anti => {
                    let input_row = &mut self.inputs.rows[self.inputs.next - 1];
                    let any = if self.join.condition.is_empty() {
                        matches > 0
                    } else {
                        let found = &self.matches.found.as_slice()[..matches];
                        self.join.any(&self.leaf, found, input_row, &self.shot.eval)?
                    };
                    self.matches.found.by_ref().take(matches).for_each(drop);
                    if any == (self.join.kind == MatchKind::Semi) {
                        std::mem::swap(row, input_row);
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
