//! The columns that a node looks at, taken from rows as they stand: the others are passed over.
//!
//! For what folds rows once. Rows that do not stand packed are pulled as they come.

use crate::once::Pull;
use crate::standing_columns::StandingColumns;
use planner::scalar::{AggregateCall, ScalarExpr};
use repr::Datum;
use state::SqlError;
use std::collections::BTreeSet;

/// Which columns of an input are looked at.
pub(super) struct LookedAt {
    /// With where they stand in a packed row, in that order; none if rows are pulled as values.
    places: Option<StandingColumns>,
    /// The columns up to the last of them.
    width: usize,
}

impl LookedAt {
    /// What the keys and calls of a node look at. The input is asked for packed rows from then on, if it has them.
    pub(super) fn of(input: &mut dyn Pull, keys: &[ScalarExpr], calls: &[AggregateCall]) -> LookedAt {
        let of_call = |call: &AggregateCall| {
            let ordered = call.order_by.iter().map(|(value, ..)| value);
            let columns = call.args.iter().chain(&call.filter).chain(ordered).flat_map(ScalarExpr::columns);
            columns.collect::<Vec<_>>()
        };
        let columns: BTreeSet<usize> =
            keys.iter().flat_map(ScalarExpr::columns).chain(calls.iter().flat_map(of_call)).collect();
        let width = columns.last().map_or(0, |last| last + 1);
        let places = input.packed().map(|packed| {
            let stand = packed.places();
            let place = |column: usize| stand.map_or(column, |stand| stand[column]);
            StandingColumns::of(columns.iter().map(|column| (*column, place(*column))))
        });
        LookedAt { places, width }
    }

    /// Goes on to the next row, whose columns stand in `row` afterwards, those that are not looked at maybe as NULL; false at the
    /// end.
    pub(super) fn next(&self, input: &mut dyn Pull, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let Some(places) = &self.places else { return input.next(row) };
        let packed = input.packed().expect("an input that gave packed rows goes on with them");
        if !packed.advance()? {
            return Ok(false);
        }
        row.resize(self.width, Datum::Null);
        places.read(packed.row(), row);
        Ok(true)
    }
}
