//! Rows of a table as a way finds them: unpacked with their keys, or packed as they stand.
//!
//! What is read, and in which order, is the way's; how it is given is the same for all.

use crate::leaf::{Leaf, key_datum};
use crate::once::{PackedPull, Pull};
use repr::{Datum, Row, RowKey};
use state::SqlError;
use state::answer::Stored;
use state::interrupt::{Ticker, Watch};
use state::reader::{PackedRows, RowIterator};
use state::usage::CountedReads;
use std::sync::Arc;

/// A way in which the rows of a table are found.
pub(crate) trait Find: Send {
    /// The next row, with its key; none at the end.
    fn next(&mut self, leaf: &Leaf) -> Result<Option<(RowKey, Row)>, SqlError>;
}

/// The rows that a way finds.
pub(crate) struct LeafRows<F> {
    leaf: Leaf,
    way: F,
    standing: (RowKey, Row),
    with_key: bool,
    reads: CountedReads,
}

impl<F: Find> LeafRows<F> {
    /// Rows of a leaf; their keys behind their columns, if asked for.
    pub(crate) fn new(leaf: Leaf, way: F, with_key: bool, reads: CountedReads) -> Self {
        LeafRows { leaf, way, standing: (RowKey::new(&[]), Row::default()), with_key, reads }
    }
}

impl<F: Find> Pull for LeafRows<F> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let found = self.advance()?;
        if found {
            let (key, stored) = &self.standing;
            row.clear();
            self.leaf.append(stored, row);
            if self.with_key {
                row.push(key_datum(key));
            }
        }
        Ok(found)
    }

    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        if self.with_key { None } else { Some(self) }
    }
}

impl<F: Find> PackedPull for LeafRows<F> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        let Some(next) = self.way.next(&self.leaf)? else { return Ok(false) };
        self.reads.find(1);
        self.standing = next;
        Ok(true)
    }

    fn row(&mut self) -> Stored<'_> {
        stored(&self.leaf, self.standing.1.bytes())
    }
}

/// All rows of a table, without their keys, as they stand where they were opened.
pub(crate) struct ScannedRows {
    leaf: Leaf,
    rows: PackedRows,
    reads: CountedReads,
    watch: Arc<Watch>,
    ticker: Ticker,
}

impl ScannedRows {
    /// Those of a leaf.
    pub(crate) fn new(leaf: Leaf, rows: PackedRows, reads: CountedReads, watch: &Arc<Watch>) -> Self {
        ScannedRows { leaf, rows, reads, watch: watch.clone(), ticker: Ticker::default() }
    }
}

impl Pull for ScannedRows {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let found = self.advance()?;
        if found {
            row.clear();
            self.leaf.append_bytes(self.rows.row(), row);
        }
        Ok(found)
    }

    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        Some(self)
    }
}

impl PackedPull for ScannedRows {
    fn advance(&mut self) -> Result<bool, SqlError> {
        self.ticker.tick(&self.watch)?;
        let found = self.rows.advance()?;
        if found {
            self.reads.find(1);
        }
        Ok(found)
    }

    fn row(&mut self) -> Stored<'_> {
        stored(&self.leaf, self.rows.row())
    }
}

/// Rows of a scan or range, as they come.
pub(crate) struct InTurn {
    rows: RowIterator,
    watch: Arc<Watch>,
    ticker: Ticker,
}

impl InTurn {
    /// All of them.
    pub(crate) fn new(rows: RowIterator, watch: &Arc<Watch>) -> Self {
        InTurn { rows, watch: watch.clone(), ticker: Ticker::default() }
    }
}

impl Find for InTurn {
    fn next(&mut self, _leaf: &Leaf) -> Result<Option<(RowKey, Row)>, SqlError> {
        self.ticker.tick(&self.watch)?;
        self.rows.next().transpose()
    }
}

/// A row of a relation, some of whose columns may have been added since it was stored.
pub(crate) fn stored<'r>(leaf: &'r Leaf, bytes: &'r [u8]) -> Stored<'r> {
    Stored { bytes, later: &leaf.table().columns }
}
