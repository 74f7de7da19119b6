//! One reading of a table for all views of a worker that are filled from it: most of what filling takes is reading.
//!
//! ```text
//! leaves ─▶ iterator ─▶ rows that were read last ─▶ each view, from where it is
//!                                              └──▶ whoever comes while none of them has gone begins with the first
//! ```
//!
//! A view may join what was begun at an earlier commit as long as nobody has written the table since. Whoever falls behind
//! what is kept reads by itself. Holds rows in clear, up to a bound and as long as a view is being filled.

use planner::catalog::Table;
use repr::{CommitTime, RelationId, Row};
use state::SqlError;
use state::reader::{Reader, RowIterator};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// What is kept of the rows of one table.
const KEPT_BYTES_MAX: usize = 32 << 20;
/// What a row costs beside its bytes.
const OVERHEAD_BYTES: usize = 32;

/// The readings that a worker has under way.
#[derive(Default)]
pub struct SharedScans {
    scans: RefCell<Vec<Weak<RefCell<Scan>>>>,
    /// When tables were last written, of those that views of this worker read.
    written: RefCell<BTreeMap<RelationId, CommitTime>>,
}

/// A table that is being read.
struct Scan {
    table: Arc<Table>,
    /// The state that it is read from, and its time.
    reader: Arc<dyn Reader>,
    time: CommitTime,
    rows: RowIterator,
    /// Rows that were read last, and how many were before them.
    kept: VecDeque<Row>,
    before: usize,
    kept_bytes: usize,
    /// All rows are read, or one could not be.
    ended: Option<Ended>,
}

#[derive(Clone, Copy)]
enum Ended {
    All,
    Failed,
}

/// A table's rows, as one view reads them.
pub struct SharedRows {
    scan: Rc<RefCell<Scan>>,
    at: usize,
    /// After it has fallen behind.
    own: Option<RowIterator>,
}

impl SharedScans {
    /// The rows of a table at a state of this time: read with others if they are the same.
    pub fn open(&self, reader: &Arc<dyn Reader>, table: &Arc<Table>, time: CommitTime) -> Result<SharedRows, SqlError> {
        let mut scans = self.scans.borrow_mut();
        scans.retain(|scan| scan.strong_count() > 0);
        let written = self.written.borrow().get(&table.id).copied().unwrap_or_default();
        let may_be_joined = |scan: &Rc<RefCell<Scan>>| scan.borrow().may_be_joined(table, time, written);
        let found = scans.iter().filter_map(Weak::upgrade).find(may_be_joined);
        if let Some(scan) = found {
            return Ok(SharedRows { scan, at: 0, own: None });
        }
        let scan = Scan {
            table: table.clone(),
            reader: reader.clone(),
            time,
            rows: reader.scan_once(table)?,
            kept: VecDeque::new(),
            before: 0,
            kept_bytes: 0,
            ended: None,
        };
        let scan = Rc::new(RefCell::new(scan));
        scans.push(Rc::downgrade(&scan));
        Ok(SharedRows { scan, at: 0, own: None })
    }

    /// These tables were written at this time: who comes later has other rows.
    pub fn close(&self, tables: impl Iterator<Item = RelationId>, time: CommitTime) {
        self.written.borrow_mut().extend(tables.map(|table| (table, time)));
    }

    /// A person was forgotten: no row is kept.
    pub fn forget(&self) {
        for scan in self.scans.borrow().iter().filter_map(Weak::upgrade) {
            scan.borrow_mut().keep_none();
        }
    }
}

impl Scan {
    /// By a view at this time, where the table was last written at that.
    fn may_be_joined(&self, table: &Arc<Table>, time: CommitTime, written: CommitTime) -> bool {
        let is_whole = self.before == 0 && !matches!(self.ended, Some(Ended::Failed));
        is_whole && time >= self.time && written <= self.time && Arc::ptr_eq(&self.table, table)
    }

    /// The row at a place, which is kept or comes next; none behind the last.
    fn row(&mut self, at: usize) -> Option<Result<Row, SqlError>> {
        if let Some(row) = self.kept.get(at - self.before) {
            return Some(Ok(row.clone()));
        }
        if self.ended.is_some() {
            return None;
        }
        match self.rows.next() {
            Some(Ok((_, row))) => {
                self.keep(row.clone());
                Some(Ok(row))
            }
            Some(Err(error)) => {
                self.ended = Some(Ended::Failed);
                Some(Err(error))
            }
            None => {
                self.ended = Some(Ended::All);
                None
            }
        }
    }

    fn keep_none(&mut self) {
        self.before += self.kept.len();
        self.kept_bytes = 0;
        self.kept.clear();
    }

    fn keep(&mut self, row: Row) {
        self.kept_bytes += row.bytes().len() + OVERHEAD_BYTES;
        self.kept.push_back(row);
        while self.kept_bytes > KEPT_BYTES_MAX
            && let Some(first) = self.kept.pop_front()
        {
            self.kept_bytes -= first.bytes().len() + OVERHEAD_BYTES;
            self.before += 1;
        }
    }

    /// Whether a view that is there has to read by itself.
    fn is_beyond(&self, at: usize) -> bool {
        at < self.before || (matches!(self.ended, Some(Ended::Failed)) && at == self.before + self.kept.len())
    }
}

impl Iterator for SharedRows {
    type Item = Result<Row, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.own.is_none() {
            let mut scan = self.scan.borrow_mut();
            if !scan.is_beyond(self.at) {
                let row = scan.row(self.at);
                self.at += usize::from(matches!(row, Some(Ok(_))));
                return row;
            }
            // Of the same state: there its rows have the same order.
            match scan.reader.scan_once(&scan.table) {
                Ok(rows) => self.own = Some(Box::new(rows.skip(self.at))),
                Err(error) => return Some(Err(error)),
            }
        }
        self.own.as_mut()?.next().map(|row| row.map(|(_, row)| row))
    }
}
