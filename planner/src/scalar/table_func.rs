//! Set-returning functions.

mod audit;
mod catalog;
mod context_rows;
mod documents;
mod search;
mod series;
mod sets;

pub use context_rows::GivenRows;
pub(crate) use context_rows::{LOCKED_ROWS, ONE_ROW, RETURNED_ROWS, ROWS_AT_HAND, SUBJECT_ROWS};

use super::EvalContext;
use repr::{Datum, ScalarType, ValueError};

/// What a set-returning function gives: rows of one or more columns.
pub type TableRows = Box<dyn Iterator<Item = Result<Vec<Datum>, ValueError>> + Send>;
/// What an evaluation gives: rows, or why there are none.
type TableAnswer = Result<TableRows, ValueError>;

/// What runs: arguments in, rows out. The types are those of the output columns.
pub type EvaluateRows = fn(&EvalContext, &[Datum], &[ScalarType]) -> TableAnswer;

/// One overload of a set-returning function.
pub struct TableFunction {
    /// SQL name.
    pub name: &'static str,
    /// The rows for one list of arguments; lazy, so that LIMIT stops it.
    pub evaluate: EvaluateRows,
}

/// One function as a family declares it; columns other than one named after the function stand in the signature.
pub(crate) type TableFunctionDefinition = (&'static str, EvaluateRows);

/// All set-returning functions with their signatures.
pub(crate) fn definitions() -> Vec<TableFunctionDefinition> {
    let families = [audit::FUNCTIONS, catalog::FUNCTIONS, documents::FUNCTIONS, search::FUNCTIONS];
    [families.concat(), [series::FUNCTIONS, sets::FUNCTIONS].concat()].concat()
}

/// Rows that are known at once.
fn known(rows: Vec<Vec<Datum>>) -> TableAnswer {
    Ok(Box::new(rows.into_iter().map(Ok)))
}

/// Rows of one column that are known at once.
fn column(values: Vec<Datum>) -> TableAnswer {
    Ok(Box::new(values.into_iter().map(|value| Ok(vec![value]))))
}

/// NULL in gives no rows.
fn strict(args: &[Datum], rows: impl FnOnce(&[Datum]) -> TableAnswer) -> TableAnswer {
    if args.iter().any(Datum::is_null) { known(Vec::new()) } else { rows(args) }
}

impl PartialEq for TableFunction {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for TableFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
