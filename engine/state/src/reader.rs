//! The one reader interface: a snapshot, or a snapshot under a transaction's overlay.
//!
//! Every path reads through it: lookups, one-shots, constraint checks, ownership, subject requests.
//! Owned and shareable, so that a dataflow on another thread can hold it.

use crate::SqlError;
use crate::usage::Usage;
use crate::view_states::Arrangement;
use planner::catalog::{Catalog, Index, Table};
use planner::scalar::inverted::Wanted;
use repr::{CommitTime, Datum, MicroDbId, Row, RowKey, poll};
use std::sync::Arc;
use storage::{BulkScan, OpenedRows};

/// Rows with their keys, read as they are asked for.
pub type RowIterator = Box<dyn Iterator<Item = Result<(RowKey, Row), SqlError>> + Send>;

/// Rows that are read and opened some at a time, and stand packed one behind the other.
pub struct PackedRows {
    scan: BulkScan,
    rows: OpenedRows,
    /// Behind the row that it stands on.
    next: usize,
}

impl PackedRows {
    pub(crate) fn of(scan: BulkScan) -> PackedRows {
        PackedRows { scan, rows: OpenedRows::default(), next: 0 }
    }

    /// Goes on to the next row; false at the end. After an error there are no more.
    #[inline]
    pub fn advance(&mut self) -> Result<bool, SqlError> {
        if self.next == self.rows.len() {
            self.next = 0;
            self.scan.next(&mut self.rows)?;
            if self.rows.is_empty() {
                return Ok(false);
            }
            poll::steps(self.rows.len())?;
        }
        self.next += 1;
        Ok(true)
    }

    /// The row that it stands on.
    #[inline]
    pub fn row(&self) -> &[u8] {
        self.rows.row(self.next - 1)
    }
}

/// A row's key, and the µDB of the copy to read if it is known.
pub type Located = (RowKey, Option<MicroDbId>);

/// Rows of a range, in its order: none is read before it is asked for.
pub struct RangeRows {
    /// The rows.
    pub rows: RowIterator,
    /// Where the order is in memory, how many rows there are; none where they stand in it on disk.
    pub in_memory: Option<OrderSizes>,
}

/// How many rows an order in memory has.
#[derive(Clone, Copy, Debug)]
pub struct OrderSizes {
    /// Those of the table.
    pub table_rows: usize,
    /// Those of the range.
    pub range_rows: usize,
}

/// Bounds of an ordered read: equality on the first columns, then a range on the next.
#[derive(Clone, Debug, Default)]
pub struct KeyRange {
    /// Values of the first columns.
    pub prefix: Vec<Datum>,
    /// (value, inclusive) of the column after the prefix.
    pub lower: Option<(Datum, bool)>,
    /// (value, inclusive) of the column after the prefix.
    pub upper: Option<(Datum, bool)>,
    /// High to low.
    pub reverse: bool,
    /// Rows are wanted by so many first columns of an index, then by the primary key; none says by all of its columns.
    pub columns: Option<usize>,
}

/// A consistent view of all stored rows at one time.
pub trait Reader: Send + Sync {
    /// The time of the snapshot underneath.
    fn time(&self) -> CommitTime;
    /// The catalog at that time, with this transaction's own DDL.
    fn catalog(&self) -> &Arc<Catalog>;
    /// The key of the row with this primary key (values of the columns' own types).
    fn row_key(&self, table: &Table, primary_key: &[Datum]) -> RowKey;
    /// Where is counted what is read through it, if it is.
    fn usage(&self) -> Option<&Usage> {
        None
    }
    /// One row.
    fn get(&self, table: &Table, key: &RowKey) -> Result<Option<Row>, SqlError>;
    /// The rows whose indexed columns equal `values` (all of them, none NULL; for ordered tables a prefix and NULLs will do).
    fn index(&self, table: &Table, index: &Index, values: &[Datum]) -> Result<Vec<(RowKey, Row)>, SqlError>;
    /// Where the rows are whose indexed columns equal `values`; none if that is not known before they are read, or if they
    /// are more than `at_most`.
    fn locate(
        &self,
        _table: &Table,
        _index: &Index,
        _values: &[Datum],
        _at_most: usize,
    ) -> Result<Option<Vec<Located>>, SqlError> {
        Ok(None)
    }
    /// The rows of places that `locate` has told.
    fn read_located(&self, table: &Table, located: Vec<Located>) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let read = |(key, _): Located| Ok(self.get(table, &key)?.map(|row| (key, row)));
        located.into_iter().filter_map(|located| read(located).transpose()).collect()
    }
    /// A maintained view's rows by an index of it, where they stand; none if the relation is no such view.
    fn arranged(&self, _table: &Table, _index: Option<&Index>) -> Result<Option<Arrangement>, SqlError> {
        Ok(None)
    }
    /// For the audit log: what `arranged` gave is read by this key; by several, if none is said.
    fn note_arranged(&self, _table: &Table, _key: Option<&[u8]>) {}
    /// The rows of one key: of the primary key (`index` None), or as for `index`.
    fn find(&self, table: &Table, index: Option<&Index>, key: &[Datum]) -> Result<Vec<(RowKey, Row)>, SqlError> {
        match index {
            Some(index) => self.index(table, index, key),
            None => {
                let row_key = self.row_key(table, key);
                Ok(self.get(table, &row_key)?.map(|row| (row_key, row)).into_iter().collect())
            }
        }
    }
    /// The rows of the first of several keys, one key's after another's. Tells of each of these keys how many rows it has: of one
    /// key at least.
    fn find_first(
        &self,
        table: &Table,
        index: Option<&Index>,
        keys: &[Vec<Datum>],
        tell: &mut dyn FnMut(usize),
    ) -> Result<Vec<(RowKey, Row)>, SqlError> {
        find_one(self, table, index, keys, tell)
    }
    /// Whether there is such a row. `values` are those of all columns.
    fn index_any(&self, table: &Table, index: &Index, values: &[Datum]) -> Result<bool, SqlError> {
        Ok(!self.index(table, index, values)?.is_empty())
    }
    /// A range of the primary key (`index` None) or of an index, in order. None if keys on disk have no order and the
    /// index is not in memory.
    fn range(&self, table: &Table, index: Option<&Index>, range: &KeyRange) -> Result<Option<RangeRows>, SqlError>;
    /// The rows that may be wanted by an inverted index, and others; none if it is not in memory.
    fn inverted(&self, _table: &Table, _index: &Index, _wanted: &Wanted) -> Result<Option<RangeRows>, SqlError> {
        Ok(None)
    }
    /// All rows, each logical row once.
    fn scan(&self, table: &Table) -> Result<RowIterator, SqlError>;
    /// The same rows, packed and without their keys; none where they are not to be had so.
    fn scan_packed(&self, _table: &Table) -> Result<Option<PackedRows>, SqlError> {
        Ok(None)
    }
    /// The same for one who reads all rows of a table and will not come again.
    fn scan_once(&self, table: &Table) -> Result<RowIterator, SqlError> {
        self.scan(table)
    }
    /// A personal row's owners and the number of derivations of each, sorted.
    fn owners(&self, table: &Table, key: &RowKey) -> Result<Vec<(MicroDbId, u32)>, SqlError>;
}

/// As `Reader::find_first`, of the first key alone.
pub(crate) fn find_one<R: Reader + ?Sized>(
    reader: &R,
    table: &Table,
    index: Option<&Index>,
    keys: &[Vec<Datum>],
    tell: &mut dyn FnMut(usize),
) -> Result<Vec<(RowKey, Row)>, SqlError> {
    let Some(first) = keys.first() else { return Ok(Vec::new()) };
    let found = reader.find(table, index, first)?;
    tell(found.len());
    Ok(found)
}
