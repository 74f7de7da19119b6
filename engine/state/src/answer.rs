//! A query's rows on their way to `wire`: as values, or as they stand packed.
//!
//! Where they stand: one-shots and views give them, portals and cursors pull them. A row is lent until the next one is asked
//! for, so that one which comes packed and goes out encoded is never made of datums. Knows no plan and no format.

use crate::SqlError;
use crate::snapshot_holders::SnapshotHold;
use planner::catalog::Column;
use repr::row::Columns;
use repr::{Datum, Row, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Rows, one after another. Dropping it ends the query.
pub trait Answer: Send {
    /// Goes on to the next row; false at the end. After an error there are no more.
    fn advance(&mut self) -> Result<bool, SqlError>;
    /// The row that it stands on.
    fn row(&mut self) -> AnswerRow<'_>;
    /// The same, for good: what `row` gives afterwards is nothing.
    fn take(&mut self) -> Vec<Datum> {
        self.row().to_datums()
    }
    /// Goes on, and shows each row that comes without waiting, as long as `show` says so: one at least, unless there are no more.
    /// False at the end. What has been shown before an error stays shown.
    fn show(&mut self, show: &mut Show<'_>) -> Result<bool, SqlError> {
        let found = self.advance()?;
        if found {
            show(&self.row());
        }
        Ok(found)
    }
}

/// Looks at a row, and says whether to go on to the next.
pub type Show<'s> = dyn FnMut(&AnswerRow<'_>) -> bool + 's;

/// The rows of a query. As an iterator, of datums.
pub struct QueryRows(Box<dyn Answer>);

/// One row, lent.
pub enum AnswerRow<'r> {
    /// As values.
    Values(&'r [Datum]),
    /// As columns of a packed row.
    Packed(Stored<'r>, &'r [usize]),
}

/// A packed row of a relation.
#[derive(Clone, Copy)]
pub struct Stored<'r> {
    /// The row's bytes.
    pub bytes: &'r [u8],
    /// The relation's columns, for rows that were stored before the last of them were added; none if rows are whole.
    pub later: &'r [Column],
}

impl<'r> Stored<'r> {
    /// A row with all its columns.
    pub fn whole(bytes: &'r [u8]) -> Self {
        Stored { bytes, later: &[] }
    }

    /// One column of `columns`, which are over this row's bytes.
    #[inline(always)]
    pub fn value(&self, columns: &mut Columns<'r>, column: usize) -> Value<'r> {
        columns.value(column).unwrap_or_else(|| {
            let missing = self.later.get(column).and_then(|column| column.missing.as_ref());
            missing.map_or(Value::Null, Datum::value)
        })
    }
}

impl AnswerRow<'_> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            AnswerRow::Values(values) => values.len(),
            AnswerRow::Packed(_, columns) => columns.len(),
        }
    }

    /// About how much it holds.
    pub fn bytes(&self) -> usize {
        match self {
            AnswerRow::Values(values) => values.iter().map(Datum::bytes).sum(),
            AnswerRow::Packed(stored, _) => stored.bytes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shows all values, up to the first for which that fails.
    #[inline(always)]
    pub fn each<E>(&self, mut show: impl FnMut(usize, Value<'_>) -> Result<(), E>) -> Result<(), E> {
        match self {
            AnswerRow::Values(values) => {
                values.iter().enumerate().try_for_each(|(position, datum)| show(position, datum.value()))
            }
            AnswerRow::Packed(stored, columns) => {
                let mut values = Columns::over(stored.bytes);
                let mut columns = columns.iter().enumerate();
                columns.try_for_each(|(position, column)| show(position, stored.value(&mut values, *column)))
            }
        }
    }

    /// The values, each on its own.
    pub fn to_datums(&self) -> Vec<Datum> {
        match self {
            AnswerRow::Values(values) => values.to_vec(),
            AnswerRow::Packed(stored, columns) => {
                let mut values = Columns::over(stored.bytes);
                columns.iter().map(|column| datum(stored.value(&mut values, *column))).collect()
            }
        }
    }
}

/// A datum of its own.
pub fn datum(value: Value<'_>) -> Datum {
    value.into_datum().expect("packed from a datum")
}

/// So many times at most a row is gone through for columns that stand before one that came already.
const RETURNS_MAX: usize = 4;

/// Where the columns of `project`, which are columns of packed rows (in these places, if they do not stand where they are
/// counted), are found; none if rows are better unpacked first.
pub fn places<'p>(stand: Option<&[usize]>, project: &'p [usize]) -> Option<Cow<'p, [usize]>> {
    let places: Cow<'p, [usize]> = match stand {
        None => Cow::Borrowed(project),
        Some(stand) => project.iter().map(|column| stand[*column]).collect(),
    };
    let returns = places.windows(2).filter(|pair| pair[1] <= pair[0]).count();
    (returns <= RETURNS_MAX).then_some(places)
}

impl QueryRows {
    /// From an answer.
    pub fn of(answer: impl Answer + 'static) -> Self {
        QueryRows(Box::new(answer))
    }

    /// From rows of datums.
    pub fn new(rows: impl Iterator<Item = Result<Vec<Datum>, SqlError>> + Send + 'static) -> Self {
        QueryRows::of(ListedRows { rows, row: Vec::new() })
    }

    /// From rows that are there, as of a state that is held until they are given.
    pub fn holding(rows: Vec<Vec<Datum>>, hold: Option<Arc<SnapshotHold>>) -> Self {
        QueryRows::new(rows.into_iter().map(move |row| {
            let _held = &hold;
            Ok(row)
        }))
    }

    /// No rows.
    pub fn none() -> Self {
        QueryRows::new(std::iter::empty())
    }

    /// Of whole packed rows, these columns.
    pub fn packed(rows: Vec<Row>, columns: Vec<usize>) -> Self {
        match places(None, &columns) {
            Some(_) => QueryRows::of(PackedList { rows: rows.into_iter(), row: Row::default(), columns }),
            None => QueryRows::new(rows.into_iter().map(move |row| {
                let datums = row.unpack();
                Ok(columns.iter().map(|column| datums[*column].clone()).collect())
            })),
        }
    }

    /// The answer that gives them.
    pub(crate) fn into_answer(self) -> Box<dyn Answer> {
        self.0
    }

    /// Shows the next rows: see `Answer::show`.
    pub fn show(&mut self, show: &mut Show<'_>) -> Result<bool, SqlError> {
        self.0.show(show)
    }
}

impl Iterator for QueryRows {
    type Item = Result<Vec<Datum>, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.advance() {
            Ok(true) => Some(Ok(self.0.take())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Rows of datums.
struct ListedRows<I> {
    rows: I,
    row: Vec<Datum>,
}

impl<I: Iterator<Item = Result<Vec<Datum>, SqlError>> + Send> Answer for ListedRows<I> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        let Some(row) = self.rows.next() else { return Ok(false) };
        self.row = row?;
        Ok(true)
    }
    fn row(&mut self) -> AnswerRow<'_> {
        AnswerRow::Values(&self.row)
    }
    fn take(&mut self) -> Vec<Datum> {
        std::mem::take(&mut self.row)
    }
}

/// Packed rows.
struct PackedList {
    rows: std::vec::IntoIter<Row>,
    row: Row,
    columns: Vec<usize>,
}

impl Answer for PackedList {
    fn advance(&mut self) -> Result<bool, SqlError> {
        let Some(row) = self.rows.next() else { return Ok(false) };
        self.row = row;
        Ok(true)
    }
    fn row(&mut self) -> AnswerRow<'_> {
        AnswerRow::Packed(Stored::whole(self.row.bytes()), &self.columns)
    }
}
