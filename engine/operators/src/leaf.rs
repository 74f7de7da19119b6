//! A stored relation as operators read it: found through the `Reader`, unpacked to all its columns.
//!
//! Shared by the pull iterators and the dataflow operators, so that both read alike. Never sees storage.

use planner::catalog::{Catalog, Index, Table};
use planner::plan::Lookup;
use planner::scalar::Mfp;
use repr::row::RowIter;
use repr::{Datum, RelationId, Row, RowKey};
use state::SqlError;
use state::reader::Reader;
use state::usage::CountedReads;
use std::sync::Arc;

/// Keys that are looked up together: a few at first, as few rows may be wanted.
pub(crate) const KEYS_AT_ONCE_FIRST: usize = 4;
pub(crate) const KEYS_AT_ONCE_MAX: usize = 64;

/// A table, and the key by which it is looked up if it is.
pub struct Leaf {
    table: Arc<Table>,
    /// Position in `table.indexes`; `None` is the primary key (or no lookup at all).
    index: Option<usize>,
    /// Of each column whether nobody looks at it; empty if all are looked at.
    unread: Vec<bool>,
}

impl Leaf {
    /// Finds the table, and the index that `lookup` names, in the reader's catalog.
    pub fn open(catalog: &Catalog, relation: RelationId, lookup: Option<Lookup>) -> Result<Self, SqlError> {
        let table = catalog
            .table(relation)
            .ok_or_else(|| SqlError::new("XX000", format!("relation {relation} of the plan is not in its catalog")))?;
        let index =
            match lookup {
                None | Some(Lookup::PrimaryKey) => None,
                Some(Lookup::Index(id)) => {
                    let position = table.indexes.iter().position(|index| index.id == id);
                    Some(position.ok_or_else(|| {
                        SqlError::new("XX000", format!("index {id} of the plan is not in its catalog"))
                    })?)
                }
            };
        Ok(Leaf { table: table.clone(), index, unread: Vec::new() })
    }

    /// For rows that go through `mfp` and nowhere else: `append` gives NULL for columns that it does not look at.
    #[must_use]
    pub(crate) fn read_by(mut self, mfp: &Mfp) -> Self {
        if mfp.is_identity() {
            return self;
        }
        let mut unread = vec![true; self.arity()];
        mfp.each_column(&mut |column| read(&mut unread, column));
        self.unread = unread;
        self
    }

    /// Nobody looks at any columns but these, which may be more than there are.
    pub(crate) fn read_columns(&mut self, columns: impl IntoIterator<Item = usize>) {
        let mut unread = vec![true; self.arity()];
        columns.into_iter().for_each(|column| read(&mut unread, column));
        self.unread = unread;
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The index, unless it is the primary key.
    pub fn index(&self) -> Option<&Index> {
        self.index.map(|position| &self.table.indexes[position])
    }

    /// Reads of all rows through that reader, from now on.
    pub(crate) fn whole_reads(&self, reader: &dyn Reader) -> CountedReads {
        let mut reads = CountedReads::of(reader.usage(), self.table.id, None);
        reads.begin(1);
        reads
    }

    /// Reads of so many keys by its index, or by the primary key.
    pub(crate) fn key_reads(&self, reader: &dyn Reader, keys: usize) -> CountedReads {
        let index = self.index().map(|index| index.id).or(self.table.primary_key);
        let mut reads = CountedReads::of(reader.usage(), self.table.id, index);
        reads.begin(keys as u64);
        reads
    }

    /// How many columns a row has.
    pub fn arity(&self) -> usize {
        self.table.columns.len()
    }

    /// The rows whose key equals `values`; none if one of them is NULL.
    pub fn find(&self, reader: &dyn Reader, values: &[Datum]) -> Result<Vec<(RowKey, Row)>, SqlError> {
        if values.iter().any(Datum::is_null) {
            return Ok(Vec::new());
        }
        self.find_same(reader, values)
    }

    /// The rows whose key is `values`, NULLs being like each other.
    pub(crate) fn find_same(&self, reader: &dyn Reader, values: &[Datum]) -> Result<Vec<(RowKey, Row)>, SqlError> {
        reader.find(&self.table, self.index(), values)
    }

    /// The rows of the first of these keys, NULLs being like each other; tells of each of them how many.
    pub fn find_first(
        &self,
        reader: &dyn Reader,
        keys: &[Vec<Datum>],
        tell: &mut dyn FnMut(usize),
    ) -> Result<Vec<(RowKey, Row)>, SqlError> {
        reader.find_first(&self.table, self.index(), keys, tell)
    }

    /// Whether there is a row whose key equals `values`.
    pub fn any(&self, reader: &dyn Reader, values: &[Datum]) -> Result<bool, SqlError> {
        match self.index() {
            Some(index) if !values.iter().any(Datum::is_null) => reader.index_any(&self.table, index, values),
            Some(_) | None => Ok(!self.find(reader, values)?.is_empty()),
        }
    }

    /// Appends a stored row's columns, those included that were added since it was stored.
    pub fn append(&self, row: &Row, datums: &mut Vec<Datum>) {
        self.append_bytes(row.bytes(), datums);
    }

    /// The same of a row that stands in another container.
    pub(crate) fn append_bytes(&self, bytes: &[u8], datums: &mut Vec<Datum>) {
        let start = datums.len();
        // And a key beside them.
        datums.reserve(self.table.columns.len() + 1);
        if self.unread.is_empty() {
            datums.extend(RowIter::over(bytes));
        } else {
            let mut stored = RowIter::over(bytes);
            for unread in &self.unread {
                let datum = if *unread { stored.pass().then_some(Datum::Null) } else { stored.next() };
                let Some(datum) = datum else { break };
                datums.push(datum);
            }
        }
        for column in &self.table.columns[(datums.len() - start).min(self.arity())..] {
            datums.push(column.missing.clone().unwrap_or(Datum::Null));
        }
    }
}

/// Somebody looks at a column, if there is one.
fn read(unread: &mut [bool], column: usize) {
    if let Some(unread) = unread.get_mut(column) {
        *unread = false;
    }
}

/// A row key as the bytea that plans `with_key` carry.
pub(crate) fn key_datum(key: &RowKey) -> Datum {
    Datum::Bytea(key.bytes().into())
}
