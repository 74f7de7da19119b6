//! The rows that a subquery has locked, in the place where it stood: see `resolve::row_lock`.
//!
//! No SQL name leads here, and no rows come but those that the engine has put into the context.

use super::{EvaluateRows, TableFunction, known};
use repr::{Datum, ValueError};
use std::sync::Arc;

/// Rows of subqueries that lock, by number.
#[derive(Clone, Debug, Default)]
pub struct LockedRows(Option<Arc<Vec<(usize, Vec<Vec<Datum>>)>>>);

impl LockedRows {
    /// These, and those of one subquery more.
    #[must_use]
    pub fn with(mut self, number: usize, rows: Vec<Vec<Datum>>) -> Self {
        Arc::make_mut(self.0.get_or_insert_default()).push((number, rows));
        self
    }

    /// The rows of a subquery that has been run.
    fn of(&self, number: usize) -> Option<&[Vec<Datum>]> {
        self.0.iter().flat_map(|all| all.iter()).find(|(of, _)| *of == number).map(|(_, rows)| rows.as_slice())
    }
}

/// The rows of the subquery of this number.
pub static LOCKED_ROWS: TableFunction = TableFunction { name: "locked_rows", evaluate: EVALUATE };

const EVALUATE: EvaluateRows = |context, args, _types| {
    let number = match args {
        [Datum::Int4(number)] => usize::try_from(*number).ok(),
        _ => None,
    };
    match number.and_then(|number| context.locked.of(number)) {
        Some(rows) => known(rows.to_vec()),
        None => Err(ValueError::new("XX000", "a subquery that locks rows was not run")),
    }
};
