//! Joins whose one side is looked up in the leaves, row by row: "half-joins".
//!
//! Stateless: the same code serves a pull iterator, a one-shot dataflow, and a maintained view, which
//! differ in the reader they pass. A view reads relation j as after the group or as before it, by the
//! order of relations, and passes the reader of that time for each update.

use crate::render::RenderTime;
use crate::render::context::{Bundle, Context, RowFailure, split_operator};
use crate::render::leaf::{Leaf, key_datum};
use planner::plan::MatchKind;
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

/// Renders the join over a collection.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    relation: RelationId,
    leaf: Leaf,
    join: LookupJoin<'_>,
) -> Bundle<'s, T> {
    let (key, condition, mfp) = (join.key.to_vec(), join.condition.to_vec(), join.mfp.clone());
    let (kind, with_key) = (join.kind, join.with_key);
    let readers = context.readers.clone();
    let (eval, watch) = (context.eval.clone(), context.watch.clone());
    let mut ticker = Ticker::default();
    let (mut input_row, mut output_row) = (Vec::new(), Vec::new());
    let errs = input.errs;
    let rendered = split_operator(input.oks, "LookupJoin", move |updates, oks, errs| {
        let _joined = watch.join();
        let join = LookupJoin { key: &key, kind, condition: &condition, with_key, mfp: &mfp };
        for (row, time, diff) in updates.drain(..) {
            if ticker.stops(&watch) {
                return;
            }
            row.unpack_into(&mut input_row);
            let reader = readers(relation, &time);
            let joined =
                join_one(&join, &leaf, reader.as_ref(), &mut input_row, &mut output_row, &eval, &mut |result| {
                    match result {
                        Ok(row) => oks.push((row, time.clone(), diff)),
                        Err(error) => errs.push((error, time.clone(), diff)),
                    }
                    ticker.stops(&watch)
                });
            match joined {
                Ok(()) => {}
                Err(RowFailure::Value(error)) => errs.push((error, time, diff)),
                Err(RowFailure::Environment(error)) => {
                    watch.fail(error);
                    return;
                }
            }
        }
    });
    rendered.with_errs(errs)
}

/// All output rows of one input row. `emit` says whether to stop.
fn join_one(
    join: &LookupJoin<'_>,
    leaf: &Leaf,
    reader: &dyn Reader,
    input: &mut Vec<Datum>,
    output: &mut Vec<Datum>,
    eval: &EvalContext,
    emit: &mut dyn FnMut(Result<Row, ValueError>) -> bool,
) -> Result<(), RowFailure> {
    let matches = join.find(leaf, reader, input, eval)?;
    let mut finish = |row: &mut Vec<Datum>| match join.mfp.evaluate(row, eval) {
        Ok(true) => emit(Ok(Row::pack(row.iter()))),
        Ok(false) => false,
        Err(error) => emit(Err(error)),
    };
    match join.kind {
        MatchKind::Inner | MatchKind::Left => {
            let mut matched = false;
            for found in &matches {
                output.clone_from(input);
                if join.extend(leaf, found, output, eval)? {
                    matched = true;
                    if finish(output) {
                        return Ok(());
                    }
                }
            }
            if !matched && join.kind == MatchKind::Left {
                output.clone_from(input);
                join.pad(leaf, output);
                finish(output);
            }
        }
        MatchKind::Semi | MatchKind::Anti => {
            if join.any(leaf, &matches, input, eval)? == (join.kind == MatchKind::Semi) {
                finish(input);
            }
        }
    }
    Ok(())
}

/// Which reader an update at some time is joined against.
pub type Readers<T> = std::rc::Rc<dyn Fn(RelationId, &T) -> std::sync::Arc<dyn Reader>>;

impl From<RowFailure> for SqlError {
    fn from(failure: RowFailure) -> Self {
        match failure {
            RowFailure::Value(error) => error.into(),
            RowFailure::Environment(error) => error,
        }
    }
}
