//! Columns that somebody looks at of rows that stand packed: the others are passed over.

use repr::Datum;
use repr::row::Columns;
use state::answer::{Stored, datum};

/// The columns with where they stand, in that order, each once.
#[derive(Default)]
pub(crate) struct StandingColumns(Vec<(usize, usize)>);

impl StandingColumns {
    /// Those with where they stand, some maybe several times.
    pub(crate) fn of(columns: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut columns: Vec<(usize, usize)> = columns.into_iter().collect();
        columns.sort_unstable_by_key(|(column, place)| (*place, *column));
        columns.dedup();
        StandingColumns(columns)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads them from a row that stands packed, each to its place among the values.
    pub(crate) fn read(&self, stored: Stored<'_>, row: &mut [Datum]) {
        let mut values = Columns::over(stored.bytes);
        for (column, place) in &self.0 {
            row[*column] = datum(stored.value(&mut values, *place));
        }
    }
}
