//! Rows that the engine has put into the context, in the place where a query reads them: those that a subquery has locked
//! (`resolve::row_lock`), those that a write has at hand (`resolve::write_subquery`), and those that a write in WITH has
//! returned (`resolve::with_write`).
//!
//! No SQL name leads here.

use super::{EvaluateRows, TableFunction, known};
use repr::{Datum, ValueError};
use std::sync::Arc;

type Numbered = (usize, Vec<Vec<Datum>>);

/// Rows by number.
#[derive(Clone, Debug, Default)]
pub struct GivenRows(Option<Arc<Vec<Numbered>>>);

impl GivenRows {
    /// These, and those of one number more.
    #[must_use]
    pub fn with(mut self, number: usize, rows: Vec<Vec<Datum>>) -> Self {
        Arc::make_mut(self.0.get_or_insert_default()).push((number, rows));
        self
    }

    fn of(&self, number: usize) -> Option<&[Vec<Datum>]> {
        self.0.iter().flat_map(|all| all.iter()).find(|(of, _)| *of == number).map(|(_, rows)| rows.as_slice())
    }
}

/// The rows that the subquery of this number has locked.
pub(crate) static LOCKED_ROWS: TableFunction = TableFunction { name: "locked_rows", evaluate: EVALUATE };

/// The rows that a write has at hand, by the number of the query that is about them.
pub(crate) static ROWS_AT_HAND: TableFunction = TableFunction { name: "rows_at_hand", evaluate: EVALUATE };

/// The rows that the write of this number in WITH has returned.
pub(crate) static RETURNED_ROWS: TableFunction = TableFunction { name: "returned_rows", evaluate: EVALUATE };

/// The rows of a table that are a person's, to that person's login: the table, who it is, and whether only what they may change.
pub(crate) static SUBJECT_ROWS: TableFunction = TableFunction {
    name: "subject_rows",
    evaluate: |context, args, _types| match args {
        [Datum::Oid(table), _, Datum::Bool(owned)] => {
            known(context.environment.subject_rows(repr::RelationId(*table), *owned)?)
        }
        _ => Err(ValueError::new("XX000", "a person's rows of no table were asked for")),
    },
};

/// Its arguments: one value as a function of rows.
pub(crate) static ONE_ROW: TableFunction =
    TableFunction { name: "one_row", evaluate: |_context, args, _types| known(vec![args.to_vec()]) };

const EVALUATE: EvaluateRows = |context, args, _types| {
    let number = match args {
        [Datum::Int4(number)] => usize::try_from(*number).ok(),
        _ => None,
    };
    match number.and_then(|number| context.given.of(number)) {
        Some(rows) => known(rows.to_vec()),
        None => Err(ValueError::new("XX000", "no rows were given where a query reads them")),
    }
};
