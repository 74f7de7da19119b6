//! Calls over packed rows that need no datum: counts, and sums and averages of integers and numerics, of their `+`, `-` and `*`, too.
//!
//! ```text
//! packed row ─▶ columns, each read once ─▶ steps, what several calls compute computed once ─▶ totals of the group
//!                     └▶ group columns as they stand          └▶ what is not plain: to the general way, call by call
//! ```
//! What is added up is given to the group's accumulators in the end: the value is theirs.

use crate::once::Pull;
use crate::plain::{Arithmetic, Plain};
use crate::reduce::distinct::is_distinct;
use crate::standing_columns::StandingColumns;
use planner::scalar::aggregate::AggregateKind;
use planner::scalar::aggregate::accumulators::Accumulators;
use planner::scalar::aggregate::plain_sum::{PlainSum, PlainTotal};
use planner::scalar::cast::CastMethod;
use planner::scalar::{AggregateCall, EvalContext, ScalarExpr};
use repr::row::{Columns, write_datum};
use repr::{Datum, ScalarType, ValueError};
use state::SqlError;
use state::answer::{Stored, datum};
use std::collections::BTreeSet;

/// See the module. Of a node and its input, which is asked for packed rows from then on.
pub(super) struct PlainCalls {
    calls: Vec<PlainCall>,
    steps: Vec<Computation>,
    /// What the steps came to for the row at hand.
    values: Vec<Plain<'static>>,
    /// The columns that steps begin with, by where they stand, rising; the steps of each.
    columns: Vec<(usize, usize)>,
    /// Where the group's columns stand, in the order of the keys.
    keys: Vec<usize>,
    /// The columns that the other calls look at, with where they stand, in that order.
    others: StandingColumns,
    /// Those that the plain calls look at, the same.
    own: StandingColumns,
    width: usize,
}

struct PlainCall {
    /// Its place among the node's calls.
    position: usize,
    sum: PlainSum,
    /// The step of its argument, if it has one.
    step: usize,
}

#[derive(Clone, PartialEq)]
enum Computation {
    /// The column that stands there.
    Column(usize),
    Constant(Plain<'static>),
    /// An integer as numeric.
    Numeric(usize),
    Compute(Arithmetic, usize, usize),
}

impl PlainCalls {
    /// None if rows do not come packed, or if the keys are computed.
    pub(super) fn of(
        input: &mut dyn Pull,
        keys: &[ScalarExpr],
        calls: &[AggregateCall],
        eval: &EvalContext,
    ) -> Option<PlainCalls> {
        let keys: Vec<usize> = keys.iter().map(column).collect::<Option<_>>()?;
        let stand = input.packed()?.places();
        let place = |column: usize| stand.map_or(column, |stand| stand[column]);
        let mut found = PlainCalls {
            calls: Vec::new(),
            steps: Vec::new(),
            values: Vec::new(),
            columns: Vec::new(),
            keys: keys.into_iter().map(place).collect(),
            others: StandingColumns::default(),
            own: StandingColumns::default(),
            width: 0,
        };
        let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
        for (position, call) in calls.iter().enumerate() {
            let columns = call.args.iter().chain(&call.filter).flat_map(ScalarExpr::columns);
            match found.plain(position, call, &place, eval) {
                Some(plain) => {
                    found.calls.push(plain);
                    own.extend(columns);
                }
                None => others.extend(columns),
            }
        }
        let standing =
            |columns: &BTreeSet<usize>| StandingColumns::of(columns.iter().map(|column| (*column, place(*column))));
        found.width = own.iter().chain(&others).max().map_or(0, |last| last + 1);
        (found.own, found.others) = (standing(&own), standing(&others));
        let steps = found.steps.iter().enumerate();
        found.columns = steps
            .filter_map(|(number, step)| match step {
                Computation::Column(place) => Some((*place, number)),
                Computation::Constant(_) | Computation::Numeric(_) | Computation::Compute(..) => None,
            })
            .collect();
        found.columns.sort_unstable();
        found.values = vec![Plain::Null; found.steps.len()];
        Some(found)
    }

    /// Whether a call is one of these.
    pub(super) fn has(&self, position: usize) -> bool {
        self.calls.iter().any(|call| call.position == position)
    }

    /// What a group begins with.
    pub(super) fn totals(&self) -> Box<[PlainTotal]> {
        vec![PlainTotal::default(); self.calls.len()].into()
    }

    fn plain(
        &mut self,
        position: usize,
        call: &AggregateCall,
        place: &impl Fn(usize) -> usize,
        eval: &EvalContext,
    ) -> Option<PlainCall> {
        let AggregateKind::Summed(summed) = call.function.kind else { return None };
        let sum = summed.plain?;
        if call.filter.is_some() || is_distinct(call) {
            return None;
        }
        let before = self.steps.len();
        let step = match (sum, call.args.as_slice()) {
            (PlainSum::Rows, []) => Some(0),
            // Of a column it is known whether it is NULL, whatever it is.
            (PlainSum::Values, [ScalarExpr::Column(column)]) => Some(self.step(Computation::Column(place(*column)))),
            (PlainSum::Integers | PlainSum::Decimals, [argument]) => self.compile(argument, place, eval),
            (PlainSum::Rows | PlainSum::Values | PlainSum::Integers | PlainSum::Decimals, _) => None,
        };
        if step.is_none() {
            self.steps.truncate(before);
        }
        Some(PlainCall { position, sum, step: step? })
    }

    fn step(&mut self, step: Computation) -> usize {
        match self.steps.iter().position(|other| *other == step) {
            Some(number) => number,
            None => {
                self.steps.push(step);
                self.steps.len() - 1
            }
        }
    }

    /// The step of an expression.
    fn compile(
        &mut self,
        expression: &ScalarExpr,
        place: &impl Fn(usize) -> usize,
        eval: &EvalContext,
    ) -> Option<usize> {
        let step = match expression {
            ScalarExpr::Column(column) => Computation::Column(place(*column)),
            ScalarExpr::Literal(..) | ScalarExpr::Param(..) => {
                let constant = expression.operand(&[], eval).ok()?;
                match Plain::of_datum(&constant) {
                    Plain::Decimal { unscaled, scale } => Computation::Constant(Plain::Decimal { unscaled, scale }),
                    Plain::Null | Plain::Integer(_) | Plain::Counted(..) | Plain::Text(_) | Plain::Other => {
                        return None;
                    }
                }
            }
            ScalarExpr::Cast { expr, cast, to } => {
                let is_integer = matches!(cast.from, ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8);
                if !is_integer
                    || cast.method != CastMethod::Number
                    || to.scalar != ScalarType::Numeric
                    || to.modifier != -1
                {
                    return None;
                }
                Computation::Numeric(self.compile(expr, place, eval)?)
            }
            ScalarExpr::Call { function, args, result: ScalarType::Numeric } => {
                let arithmetic = match function.name {
                    "+" => Arithmetic::Add,
                    "-" => Arithmetic::Subtract,
                    "*" => Arithmetic::Multiply,
                    _ => return None,
                };
                let [left, right] = args.as_slice() else { return None };
                Computation::Compute(arithmetic, self.compile(left, place, eval)?, self.compile(right, place, eval)?)
            }
            _ => return None,
        };
        Some(self.step(step))
    }

    /// Goes on to the next row: its group's columns stand packed in `group_row` afterwards, and in `row` what the calls look at that
    /// are not plain. False at the end.
    pub(super) fn next(
        &mut self,
        input: &mut dyn Pull,
        group_row: &mut Vec<u8>,
        row: &mut Vec<Datum>,
    ) -> Result<bool, SqlError> {
        let packed = input.packed().expect("an input that gave packed rows goes on with them");
        if !packed.advance()? {
            return Ok(false);
        }
        let stored = packed.row();
        self.read_keys(stored, group_row);
        let mut values = Columns::over(stored.bytes);
        for (place, step) in &self.columns {
            // A text is nothing that is added up: that it is there is all that counts.
            self.values[*step] = match Plain::of(stored.value(&mut values, *place)) {
                Plain::Null => Plain::Null,
                Plain::Integer(value) => Plain::Integer(value),
                Plain::Decimal { unscaled, scale } => Plain::Decimal { unscaled, scale },
                Plain::Counted(..) | Plain::Text(_) | Plain::Other => Plain::Other,
            };
        }
        for (number, step) in self.steps.iter().enumerate() {
            let value = match step {
                Computation::Column(_) => continue,
                Computation::Constant(value) => *value,
                Computation::Numeric(of) => match self.values[*of] {
                    Plain::Integer(value) => Plain::Decimal { unscaled: i128::from(value), scale: 0 },
                    Plain::Null => Plain::Null,
                    Plain::Decimal { .. } | Plain::Counted(..) | Plain::Text(_) | Plain::Other => Plain::Other,
                },
                Computation::Compute(operator, left, right) => {
                    self.values[*left].computed(*operator, self.values[*right])
                }
            };
            self.values[number] = value;
        }
        if !self.others.is_empty() {
            self.read(stored, &self.others, row);
        }
        Ok(true)
    }

    fn read_keys(&self, stored: Stored<'_>, group_row: &mut Vec<u8>) {
        group_row.clear();
        let mut columns = Columns::over(stored.bytes);
        for place in &self.keys {
            match columns.packed(*place) {
                Some(bytes) => group_row.extend_from_slice(bytes),
                // Stored before the column was added.
                None => write_datum(group_row, &datum(stored.value(&mut columns, *place))),
            }
        }
    }

    fn read(&self, stored: Stored<'_>, columns: &StandingColumns, row: &mut Vec<Datum>) {
        row.resize(self.width, Datum::Null);
        columns.read(stored, row);
    }

    /// Reads what the plain calls look at of the row at hand, for the general way.
    pub(super) fn read_own(&self, input: &mut dyn Pull, row: &mut Vec<Datum>) {
        let packed = input.packed().expect("an input that gave packed rows goes on with them");
        self.read(packed.row(), &self.own, row);
    }

    /// Adds the row at hand to what its group adds up to. `otherwise` adds to a call's accumulators what is not plain.
    #[inline]
    pub(super) fn add(
        &self,
        totals: &mut [PlainTotal],
        accumulators: &mut Accumulators,
        mut otherwise: impl FnMut(usize, &mut Accumulators) -> Result<(), ValueError>,
    ) -> Result<(), ValueError> {
        for (call, total) in self.calls.iter().zip(totals) {
            let number = match (call.sum, self.values.get(call.step)) {
                (PlainSum::Rows, _) => None,
                (_, None | Some(Plain::Null)) => continue,
                (PlainSum::Values, Some(_)) => None,
                (PlainSum::Integers, Some(Plain::Integer(value))) => Some((i128::from(*value), 0)),
                (PlainSum::Decimals, Some(Plain::Decimal { unscaled, scale })) => Some((*unscaled, *scale)),
                (PlainSum::Integers | PlainSum::Decimals, Some(_)) => {
                    otherwise(call.position, accumulators)?;
                    continue;
                }
            };
            match number {
                None => total.count(),
                Some((unscaled, scale)) if total.add(unscaled, scale) => {}
                Some((unscaled, scale)) => {
                    total.give(call.sum, &mut accumulators.contribution(call.position, 1));
                    assert!(total.add(unscaled, scale), "there is room where nothing is");
                }
            }
        }
        Ok(())
    }

    /// Gives what a group's rows add up to, to its accumulators.
    pub(super) fn give(&self, totals: &mut [PlainTotal], accumulators: &mut Accumulators) {
        for (call, total) in self.calls.iter().zip(totals) {
            total.give(call.sum, &mut accumulators.contribution(call.position, 1));
        }
    }
}

fn column(key: &ScalarExpr) -> Option<usize> {
    match key {
        ScalarExpr::Column(column) => Some(*column),
        _ => None,
    }
}
