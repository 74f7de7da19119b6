//! Ordered indexes of tables whose keys and index entries on disk are keyed hashes: value → row key, in memory.
//!
//! ```text
//! groups ──▶ entry out, entry in ──▶ Entries ──▶ published with the leaves of the same commit
//! leaves ──▶ a chunk of rows, in the order of their row keys ──▶┘
//!
//! value  primary key  its length (1, or 4 and 255)      an entry, of which the row key is computed
//! value  row key (16)                                   of a table without a primary key
//! ```
//! Rows of one value stand in the order of their primary keys, as ORDER BY wants them.
//! Filled chunk by chunk, each from the newest state: rows up to a row key are in, and changes of those beyond are
//! left to the chunks to come. So no old snapshot is held, and an erasure disturbs nothing. Kept by a view worker.

pub use arrangements::ordered_set::Entries;

use crate::sources::{SourceChange, change};
use planner::catalog::{Catalog, Table};
use planner::ownership::{Dog, KeyForm, key_form};
use repr::{RelationId, Row, RowKey};
use state::SqlError;
use state::order_entries::entries;
use state::overlay::{Overlay, TableChanges};
use state::published::Published;
use state::shape::TableShape;
use state::view_states::{OrderId, OrderedIndexState, Stage, ViewState};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::StorageError;

/// Commits wait for no chunk longer than this.
const CHUNK_MAX: Duration = Duration::from_millis(1);
/// The clock is looked at after so many rows.
const CHUNK_ROWS: usize = 16;

/// What an ordered index is of.
#[derive(Clone)]
pub struct OrderedBy {
    /// The table, as it was when the index was asked for.
    pub table: Arc<Table>,
    /// The order of its primary key or of one of its indexes.
    pub id: OrderId,
}

/// One ordered index.
struct OrderedIndex {
    by: OrderedBy,
    /// How keys of its rows stood on disk when it began.
    form: KeyForm,
    entries: Entries,
    /// How many rows these are of.
    rows: usize,
    filled: Filled,
    rows_read: u64,
}

/// Which rows it has.
enum Filled {
    /// Those with row keys up to this.
    UpTo(Option<RowKey>),
    /// All.
    All,
    /// It gave up.
    Failed,
}

/// All of them, by the ids that automatic views have.
#[derive(Default)]
pub struct OrderedIndexes(BTreeMap<RelationId, OrderedIndex>);

/// What became of one.
pub type Became = (RelationId, ViewState);

impl OrderedIndexes {
    /// A new one, empty. False if its table is no longer what it was.
    pub fn create(&mut self, id: RelationId, by: OrderedBy, catalog: &Catalog) -> bool {
        if change(&by.table, catalog.table(by.table.id)) == SourceChange::Other {
            return false;
        }
        let form = key_form(catalog, by.table.id);
        let index =
            OrderedIndex { by, form, entries: Entries::default(), rows: 0, filled: Filled::UpTo(None), rows_read: 0 };
        self.0.insert(id, index);
        true
    }

    /// Drops one.
    pub fn remove(&mut self, id: RelationId) {
        self.0.remove(&id);
    }

    /// Drops those whose tables have become others.
    pub(crate) fn follow_catalog(&mut self, catalog: &Catalog) -> Vec<RelationId> {
        let dog = OnceCell::new();
        let form = |table| dog.get_or_init(|| Dog::new(catalog)).key_form(catalog, table);
        let other = |index: &OrderedIndex| {
            let table = index.by.table.id;
            change(&index.by.table, catalog.table(table)) == SourceChange::Other || form(table) != index.form
        };
        let stale: Vec<RelationId> = self.0.iter().filter(|(_, index)| other(index)).map(|(id, _)| *id).collect();
        stale.iter().for_each(|id| self.remove(*id));
        stale
    }

    /// Takes those through commit groups whose tables they changed.
    pub fn follow(&mut self, layers: &[Arc<Overlay>], after: &Published, budget_bytes: usize) -> Vec<Became> {
        let mut became = Vec::new();
        for (id, index) in &mut self.0 {
            let relation = index.by.table.id;
            let Some(shape) = after.schema.shape(relation) else { continue };
            let mut changes = layers.iter().filter_map(|layer| layer.table(relation)).peekable();
            if changes.peek().is_none() || matches!(index.filled, Filled::Failed) {
                continue;
            }
            became.push(match changes.try_for_each(|changes| index.follow(shape, changes)) {
                Ok(()) => (*id, index.state(*id, budget_bytes)),
                Err(error) => (*id, index.fail(error)),
            });
        }
        became
    }

    /// They, with the tables that they are of.
    pub fn read(&self) -> impl Iterator<Item = (RelationId, RelationId)> {
        self.0.iter().map(|(id, index)| (*id, index.by.table.id))
    }

    /// Whether one is being filled.
    pub(crate) fn is_filling(&self) -> bool {
        self.0.values().any(OrderedIndex::is_filling)
    }

    /// Reads a chunk for the first that is being filled.
    pub fn fill(&mut self, state: &Published, budget_bytes: usize) -> Option<Became> {
        let (id, index) = self.0.iter_mut().find(|(_, index)| index.is_filling())?;
        let state = match index.fill(state) {
            Ok(()) => index.state(*id, budget_bytes),
            Err(error) => index.fail(error),
        };
        Some((*id, state))
    }
}

impl OrderedIndex {
    fn is_filling(&self) -> bool {
        matches!(self.filled, Filled::UpTo(_))
    }

    /// Whether a row is among those that it has.
    fn has(&self, row_key: &RowKey) -> bool {
        match &self.filled {
            Filled::UpTo(last) => last.as_ref().is_some_and(|last| row_key <= last),
            Filled::All => true,
            Filled::Failed => false,
        }
    }

    fn follow(&mut self, shape: &TableShape, changes: &TableChanges) -> Result<(), SqlError> {
        if changes.truncated {
            (self.entries, self.rows) = (Entries::default(), 0);
        }
        let OrderId { index, columns } = self.by.id;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        changes.each(|row_key, change| {
            if !self.has(row_key) {
                return Ok(());
            }
            let (old, new) = (change.before.as_ref().filter(|_| !changes.truncated), change.after.as_ref());
            self.rows = self.rows + usize::from(new.is_some()) - usize::from(old.is_some());
            let entries = |row| entries(shape, (shape.index(index), columns), row, row_key);
            before.clear();
            before.extend(old.into_iter().flat_map(entries));
            after.clear();
            after.extend(new.into_iter().flat_map(entries));
            if before != after {
                before.iter().for_each(|entry| _ = self.entries.remove(entry));
                after.iter().for_each(|entry| _ = self.entries.insert(entry));
            }
            Ok(())
        })
    }

    fn fill(&mut self, state: &Published) -> Result<(), SqlError> {
        let Filled::UpTo(last) = &self.filled else { return Ok(()) };
        let relation = self.by.table.id;
        let gone = || SqlError::new("42P01", "a table has gone while its ordered index was filled");
        let shape = state.schema.shape(relation).ok_or_else(gone)?;
        let index = (shape.index(self.by.id.index), self.by.id.columns);
        let (started, mut last, mut chunk_rows) = (Instant::now(), last.clone(), 0);
        for item in rows_after(state, shape, last.clone()) {
            let (row_key, row) = item?;
            entries(shape, index, &row, &row_key).for_each(|entry| _ = self.entries.insert(&entry));
            self.rows += 1;
            last = Some(row_key);
            self.rows_read += 1;
            chunk_rows += 1;
            if chunk_rows % CHUNK_ROWS == 0 && started.elapsed() >= CHUNK_MAX {
                self.filled = Filled::UpTo(last);
                return Ok(());
            }
        }
        self.filled = Filled::All;
        Ok(())
    }

    fn fail(&mut self, error: SqlError) -> ViewState {
        (self.entries, self.rows) = (Entries::default(), 0);
        self.filled = Filled::Failed;
        ViewState::at(Stage::Failed(error))
    }

    /// What readers see of it.
    fn state(&mut self, id: RelationId, budget_bytes: usize) -> ViewState {
        if self.entries.bytes() > budget_bytes {
            return self.fail(crate::dataflow::over_budget(&crate::automatic::name(id), budget_bytes));
        }
        match self.filled {
            Filled::All => {
                let order = OrderedIndexState { id: self.by.id, entries: self.entries.clone(), rows: self.rows };
                ViewState { order: Some(order), ..ViewState::at(Stage::Ready) }
            }
            Filled::UpTo(_) | Filled::Failed => ViewState::at(Stage::Hydrating { rows: self.rows_read }),
        }
    }
}

type StoredRows = Box<dyn Iterator<Item = Result<(RowKey, Row), SqlError>>>;

/// Stored rows in the order of their row keys.
fn rows_after(state: &Published, shape: &Arc<TableShape>, after: Option<RowKey>) -> StoredRows {
    let (relation, snapshot) = (shape.id(), state.snapshot.clone());
    if shape.personal {
        let keys = snapshot.personal_rows_after(relation, shape.table().data_subject, after.as_ref());
        return Box::new(keys.map(move |item| {
            let (row_key, owner) = item?;
            match snapshot.get_copy(relation, &row_key, owner)? {
                Some(row) => Ok((row_key, row)),
                None => Err(StorageError::CopyMissing { relation }.into()),
            }
        }));
    }
    let lower = after.as_ref().map_or(std::ops::Bound::Unbounded, |after| std::ops::Bound::Excluded(after.bytes()));
    let rows = snapshot.scan_impersonal_range(relation, lower, std::ops::Bound::Unbounded, false);
    Box::new(rows.map(|item| item.map_err(SqlError::from)))
}
