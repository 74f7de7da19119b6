//! Set-returning functions.

use super::EvalContext;
use repr::{Datum, ScalarType, ValueError};

/// What a set-returning function gives: rows of one or more columns.
pub type TableRows = Box<dyn Iterator<Item = Result<Vec<Datum>, ValueError>> + Send>;

/// What runs: arguments in, rows out. The types are those of the output columns.
pub type EvaluateRows = fn(&EvalContext, &[Datum], &[ScalarType]) -> Result<TableRows, ValueError>;

/// One overload of a set-returning function.
pub struct TableFunction {
    /// SQL name.
    pub name: &'static str,
    /// The rows for one list of arguments; lazy, so that LIMIT stops it.
    pub evaluate: EvaluateRows,
}

/// All set-returning functions with their signatures.
pub(crate) fn definitions() -> Vec<(&'static str, EvaluateRows)> {
    Vec::new()
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
