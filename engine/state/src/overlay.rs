//! A transaction's own changes, laid over a snapshot: what it wrote, not yet committed.
//!
//! One map of current row versions with an undo log: a savepoint is a length of the log. The same type
//! holds the changes of the transactions that stand earlier in a commit group. Knows rows and index
//! values, never files or locks.

pub mod held_rows;
mod kept;
pub mod spilled;

use crate::parallel::{self, HELPED_ITEMS_MIN};
use crate::shape::{Schema, TableShape};
use crate::temporary::{TemporaryChanges, goes_at_commit, is_shared_index};
use planner::catalog::{Catalog, Table, TemporaryObjects};
use repr::hash::HashMap;
use repr::id::is_temporary;
use repr::{CommitTime, IndexId, MicroDbId, RelationId, Row, RowKey};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};
use storage::SpilledRows;
use storage::audit::AuditActor;

/// The owners of one row: µDBs with their number of derivations, sorted by µDB.
pub type Owners = Vec<(MicroDbId, u32)>;

/// One changed row: as committed before, and as it is now. `None` is absence.
#[derive(Clone, Debug)]
pub struct Change {
    /// The committed version under this overlay.
    pub before: Option<Row>,
    /// The version after this overlay.
    pub after: Option<Row>,
    /// When it was written, by the overlay's undo log: what is read in no order comes in this one, as in PostgreSQL.
    pub written: usize,
}

/// The changes of one table.
#[derive(Clone, Debug, Default)]
pub struct TableChanges {
    /// Changed rows by key. A row changed back still stands here.
    pub rows: BTreeMap<RowKey, Change>,
    /// Rows that stand on the disk, by statement: see `spilled`. What stands of them in `rows`, too, is newer.
    pub(crate) spilled: Vec<Arc<SpilledRows>>,
    values: LazyValues,
    /// The table was truncated by this overlay: nothing below shows.
    pub truncated: bool,
    /// Indexes without entries below: all that they have is in this overlay, which holds every row.
    pub reindexed: BTreeSet<IndexId>,
    /// Indexes that this overlay's transaction has filled beside commits, each as of a commit: their entries stand below, in
    /// newer snapshots than the transaction's.
    pub filled: BTreeMap<IndexId, CommitTime>,
}

/// For each index: canonical value → keys of changed rows that have it now.
type ChangedValues = HashMap<IndexId, BTreeMap<Vec<u8>, BTreeSet<RowKey>>>;

/// The same, made when somebody asks and kept up from then on: most transactions ask for none.
#[derive(Clone, Debug, Default)]
struct LazyValues(OnceLock<ChangedValues>);

/// About what a changed row takes in memory beside its bytes: in maps, in the undo log, as a lock.
const ROW_BYTES: usize = 256;
/// About what its value in an index takes.
const ENTRY_BYTES: usize = 256;

/// About what whose µDB is whose takes, there and in the undo log.
const SUBJECT_BYTES: usize = 192;

/// A place in the undo log, to roll back to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UndoPosition(usize);

#[derive(Clone, Debug)]
enum Undo {
    Row {
        relation: RelationId,
        key: RowKey,
        previous: Option<Change>,
    },
    Subject {
        relation: RelationId,
        key: RowKey,
        previous: Option<Option<MicroDbId>>,
    },
    // Apart: a row's entry is as small as it can be, and there are millions of them.
    Table {
        relation: RelationId,
        previous: Box<TableChanges>,
    },
    Schema {
        previous: Arc<Schema>,
    },
    Temporary {
        previous: SessionSchema,
    },
    DroppedTable,
    DroppedIndex,
    Reindexed {
        relation: RelationId,
        index: IndexId,
    },
    Filled {
        relation: RelationId,
        index: IndexId,
    },
    /// All rows that a statement had written so far.
    Spilled {
        relation: RelationId,
    },
}

/// What a session has beside the schema that all share.
#[derive(Clone, Debug, Default)]
struct SessionSchema {
    /// Temporary objects as the overlay leaves them, if it has changed them.
    temporary: Option<Arc<TemporaryObjects>>,
    /// The schema with temporary objects, where there are any.
    seen: Option<Arc<Schema>>,
}

impl SessionSchema {
    /// The schema that the session sees, over what all share.
    fn over<'s>(&'s self, shared: &'s Arc<Schema>) -> &'s Arc<Schema> {
        self.seen.as_ref().unwrap_or(shared)
    }
}

/// Of people's rows, with their µDBs; of a row that is no longer a person's nothing.
type Subjects = BTreeMap<(RelationId, RowKey), Option<MicroDbId>>;

/// What is dropped, in order.
#[derive(Clone, Debug, Default)]
struct Dropped {
    tables: Vec<Arc<Table>>,
    indexes: Vec<IndexId>,
}

/// Uncommitted changes.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// The catalog as this overlay sees it, compiled.
    schema: Arc<Schema>,
    schema_changed: bool,
    session: SessionSchema,
    tables: BTreeMap<RelationId, TableChanges>,
    /// µDBs of new, moved (key changed) and deleted subjects.
    subjects: Subjects,
    /// Owner sets derived by transactions earlier in the group. A transaction's own are derived at commit.
    owners: HashMap<(RelationId, RowKey), Owners>,
    dropped: Dropped,
    /// Indexes that its transaction has filled beside commits, those of tables that it has emptied or dropped since, too.
    begun_indexes: Vec<IndexId>,
    undo: Vec<Undo>,
    /// About what rows take that were set since some were spilled.
    held_bytes: usize,
    /// What was written to temporary tables by transactions before, as `Change::written` counts it.
    written_before: usize,
    /// Who changes it, for the audit log.
    actor: Arc<AuditActor>,
    /// Of whom it erases a part.
    in_part: Option<Arc<ErasedInPart>>,
}

/// A person of whose data a part is erased, and what it is, as it was asked.
#[derive(Clone, Debug)]
pub struct ErasedInPart {
    /// The person, who stays.
    pub microdb: MicroDbId,
    /// The part.
    pub parts: Vec<String>,
}

impl Overlay {
    /// No changes, over this catalog.
    pub fn new(schema: Arc<Schema>) -> Self {
        Overlay {
            schema,
            schema_changed: false,
            session: SessionSchema::default(),
            tables: BTreeMap::new(),
            subjects: BTreeMap::new(),
            owners: HashMap::default(),
            dropped: Dropped::default(),
            begun_indexes: Vec::new(),
            undo: Vec::new(),
            held_bytes: 0,
            written_before: 0,
            actor: Arc::default(),
            in_part: None,
        }
    }

    /// Of whom it erases a part, if it does.
    pub fn erased_in_part(&self) -> Option<&ErasedInPart> {
        self.in_part.as_deref()
    }

    /// Says that its changes erase a part of somebody's data: a receipt goes with them.
    pub fn erase_in_part(&mut self, erased: ErasedInPart) {
        self.in_part = Some(Arc::new(erased));
    }

    /// Who changes it, for the audit log.
    pub fn actor(&self) -> &Arc<AuditActor> {
        &self.actor
    }

    /// From here on it is changed by them.
    pub fn act_as(&mut self, actor: Arc<AuditActor>) {
        self.actor = actor;
    }

    /// The compiled catalog.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }
    /// The catalog.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.schema.catalog()
    }
    /// Whether this overlay carries DDL.
    pub fn changes_schema(&self) -> bool {
        self.schema_changed
    }
    /// Follows the published catalog, unless it has changes of its own.
    pub fn follow(&mut self, schema: &Arc<Schema>) {
        if !self.schema_changed {
            self.schema = schema.clone();
        }
    }
    /// Temporary objects as this overlay leaves them, if it has changed them.
    pub fn temporary(&self) -> Option<&Arc<TemporaryObjects>> {
        self.session.temporary.as_ref()
    }
    /// Whether it defines anything, temporary or not.
    pub fn has_definitions(&self) -> bool {
        self.schema_changed || self.session.temporary.is_some()
    }
    /// Says which schema its session sees, temporary objects and all.
    pub fn see(&mut self, seen: Arc<Schema>) {
        self.session.seen = Some(seen);
    }
    /// One table, compiled.
    fn shape(&self, relation: RelationId) -> Option<&Arc<TableShape>> {
        self.session.over(&self.schema).shape(relation)
    }
    /// Whether nothing was changed, nor any owner derived.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.subjects.is_empty() && self.owners.is_empty() && !self.has_definitions()
    }
    /// Whether anything is changed of what all share.
    pub fn changes_shared(&self) -> bool {
        self.schema_changed
            || !self.subjects.is_empty()
            || !self.owners.is_empty()
            || self.tables.keys().any(|id| !is_temporary(id.0))
    }
    /// Whether nothing is changed but in these tables, and no definition.
    pub fn changes_only(&self, are_these: impl Fn(RelationId) -> bool) -> bool {
        !self.has_definitions()
            && self.tables.keys().all(|id| are_these(*id))
            && self.subjects.keys().all(|(id, _)| are_these(*id))
            && self.owners.is_empty()
    }
    /// Number of changed rows.
    pub fn len(&self) -> usize {
        self.tables.values().map(TableChanges::len).sum()
    }
    /// The changes of one table.
    pub fn table(&self, relation: RelationId) -> Option<&TableChanges> {
        self.tables.get(&relation)
    }
    /// All changed tables.
    pub fn tables(&self) -> impl Iterator<Item = (RelationId, &TableChanges)> {
        self.tables.iter().map(|(relation, changes)| (*relation, changes))
    }
    /// The µDB of a subject that this overlay made, moved or removed, as far as memory has it.
    pub fn subject(&self, relation: RelationId, key: &RowKey) -> Option<Option<MicroDbId>> {
        if self.subjects.is_empty() {
            return None;
        }
        self.subjects.get(&(relation, key.clone())).copied()
    }
    /// All subjects that changed, but those who are new and stand on the disk.
    pub fn subjects(&self) -> impl Iterator<Item = (&(RelationId, RowKey), &Option<MicroDbId>)> {
        self.subjects.iter()
    }
    /// The owners of a row as an earlier transaction of the group left them.
    pub fn owners(&self, relation: RelationId, key: &RowKey) -> Option<&Owners> {
        if self.owners.is_empty() {
            return None;
        }
        self.owners.get(&(relation, key.clone()))
    }
    /// Tables that are dropped.
    pub fn dropped_tables(&self) -> &[Arc<Table>] {
        &self.dropped.tables
    }
    /// Indexes that are dropped, or made anew.
    pub fn dropped_indexes(&self) -> &[IndexId] {
        &self.dropped.indexes
    }
    /// Where the undo log stands.
    pub fn mark(&self) -> UndoPosition {
        UndoPosition(self.undo.len())
    }

    /// Sets a row's version. `before` is its committed version, asked for only at the row's first change.
    pub fn set(&mut self, shape: &TableShape, key: RowKey, before: Option<Row>, after: Option<Row>) {
        let relation = shape.id();
        let row_bytes: usize = before.iter().chain(&after).map(|row| row.bytes().len()).sum();
        self.held_bytes += ROW_BYTES + row_bytes + shape.table().indexes.len() * ENTRY_BYTES;
        let written = self.written_before + self.undo.len();
        let TableChanges { rows, values, .. } = self.tables.entry(relation).or_default();
        let previous = match rows.entry(key.clone()) {
            Entry::Vacant(untouched) => {
                values.enter(shape, &key, after.as_ref());
                untouched.insert(Change { before, after, written });
                None
            }
            Entry::Occupied(mut changed) => {
                let before = changed.get().before.clone();
                values.leave(shape, &key, changed.get().after.as_ref());
                values.enter(shape, &key, after.as_ref());
                Some(changed.insert(Change { before, after, written }))
            }
        };
        self.undo.push(Undo::Row { relation, key, previous });
    }

    /// Says which µDB a subject's row has now (`None`: no longer one).
    pub fn set_subject(&mut self, relation: RelationId, key: RowKey, microdb: Option<MicroDbId>) {
        let previous = self.subjects.insert((relation, key.clone()), microdb);
        self.held_bytes += SUBJECT_BYTES;
        self.undo.push(Undo::Subject { relation, key, previous });
    }

    /// Hides all that lies below in a table and drops what this overlay wrote to it.
    pub fn truncate(&mut self, relation: RelationId) {
        let cleared = TableChanges { truncated: true, ..TableChanges::default() };
        let previous = self.tables.insert(relation, cleared).unwrap_or_default();
        self.undo.push(Undo::Table { relation, previous: Box::new(previous) });
    }

    /// Takes a new catalog (DDL).
    pub fn set_schema(&mut self, schema: Arc<Schema>) {
        let previous = std::mem::replace(&mut self.schema, schema);
        self.undo.push(Undo::Schema { previous });
        self.schema_changed = true;
        self.forget_values();
    }

    /// Rows may have other values in indexes.
    fn forget_values(&mut self) {
        self.tables.values_mut().for_each(|changes| changes.values = LazyValues::default());
    }

    /// Takes other temporary objects, and the schema with them.
    pub fn set_temporary(&mut self, objects: Arc<TemporaryObjects>, seen: Arc<Schema>) {
        let session = SessionSchema { temporary: Some(objects), seen: Some(seen) };
        let previous = std::mem::replace(&mut self.session, session);
        self.undo.push(Undo::Temporary { previous });
        self.forget_values();
    }

    /// A dropped table's stored rows go with this overlay.
    pub fn drop_table(&mut self, table: &Arc<Table>) {
        let previous = self.tables.remove(&table.id).unwrap_or_default();
        self.undo.push(Undo::Table { relation: table.id, previous: Box::new(previous) });
        self.dropped.tables.push(table.clone());
        self.undo.push(Undo::DroppedTable);
    }

    /// An index's stored entries go with this overlay.
    pub fn drop_index(&mut self, index: IndexId) {
        self.dropped.indexes.push(index);
        self.undo.push(Undo::DroppedIndex);
    }

    /// Says that an index has no entries below this overlay.
    pub fn reindex(&mut self, relation: RelationId, index: IndexId) {
        if self.tables.entry(relation).or_default().reindexed.insert(index) {
            self.undo.push(Undo::Reindexed { relation, index });
        }
    }

    /// Says that an index is filled beside commits, from what was committed up to a time; rows of this overlay that were changed
    /// before it have entries by their values from here on.
    pub fn fill(&mut self, relation: RelationId, index: IndexId, as_of: CommitTime) {
        let changes = self.tables.entry(relation).or_default();
        changes.filled.insert(index, as_of);
        changes.values = LazyValues::default();
        self.begun_indexes.push(index);
        self.undo.push(Undo::Filled { relation, index });
    }

    /// Indexes that are filled beside commits, with their tables.
    pub fn filled(&self) -> impl Iterator<Item = (RelationId, IndexId)> {
        let tables = self.tables.iter();
        tables.flat_map(|(relation, changes)| changes.filled.keys().map(|index| (*relation, *index)))
    }

    /// Indexes that were begun to be filled beside commits, whatever has become of their tables.
    pub fn begun_indexes(&self) -> &[IndexId] {
        &self.begun_indexes
    }

    /// Takes back everything since `mark`.
    pub fn roll_back(&mut self, mark: UndoPosition) {
        match self.kept(mark) {
            Some(kept) => parallel::discard(std::mem::replace(self, kept)),
            None => self.undo_since(mark),
        }
    }

    /// This overlay as it was at `mark`, made anew, where that is much less than what goes: whoever ends a statement waits for it.
    pub fn kept(&self, mark: UndoPosition) -> Option<Overlay> {
        let undone = self.undo.len().saturating_sub(mark.0);
        if undone < HELPED_ITEMS_MIN {
            return None;
        }
        if mark.0 == 0 {
            let first_schema = self.undo.iter().find_map(|undo| match undo {
                Undo::Schema { previous } => Some(previous.clone()),
                _ => None,
            });
            return Some(Overlay::new(first_schema.unwrap_or_else(|| self.schema.clone())));
        }
        (undone > mark.0).then(|| self.kept_until(mark))
    }

    /// Takes back one change after another.
    fn undo_since(&mut self, mark: UndoPosition) {
        let mut defined = false;
        while self.undo.len() > mark.0 {
            match self.undo.pop().expect("the log is longer than the mark") {
                Undo::Row { relation, key, previous } => self.restore_row(relation, key, previous),
                Undo::Subject { relation, key, previous } => {
                    match previous {
                        Some(previous) => self.subjects.insert((relation, key), previous),
                        None => self.subjects.remove(&(relation, key)),
                    };
                }
                Undo::Table { relation, previous } => {
                    self.tables.insert(relation, *previous);
                }
                Undo::Schema { previous } => {
                    defined = true;
                    self.schema = previous;
                }
                Undo::Temporary { previous } => {
                    defined = true;
                    self.session = previous;
                }
                Undo::DroppedTable => {
                    self.dropped.tables.pop();
                }
                Undo::DroppedIndex => {
                    self.dropped.indexes.pop();
                }
                Undo::Reindexed { relation, index } => {
                    if let Some(changes) = self.tables.get_mut(&relation) {
                        changes.reindexed.remove(&index);
                    }
                }
                Undo::Filled { relation, index } => {
                    self.begun_indexes.retain(|begun| *begun != index);
                    if let Some(changes) = self.tables.get_mut(&relation) {
                        changes.filled.remove(&index);
                    }
                }
                Undo::Spilled { relation } => {
                    if let Some(changes) = self.tables.get_mut(&relation) {
                        changes.spilled.pop();
                    }
                }
            }
        }
        self.schema_changed = self.undo.iter().any(|undo| matches!(undo, Undo::Schema { .. }));
        self.tables.retain(|_, table| !table.is_untouched());
        // Under a definition that is taken back rows had other values in indexes, and an index's number comes again.
        if defined {
            self.forget_values();
        }
    }

    fn restore_row(&mut self, relation: RelationId, key: RowKey, previous: Option<Change>) {
        // A table that the rolled-back DDL made is gone from the schema; so are its changes.
        let Some(shape) = self.shape(relation).cloned() else {
            self.tables.remove(&relation);
            return;
        };
        let changes = self.tables.entry(relation).or_default();
        if let Some(change) = changes.rows.remove(&key) {
            changes.values.leave(&shape, &key, change.after.as_ref());
        }
        if let Some(change) = previous {
            changes.values.enter(&shape, &key, change.after.as_ref());
            changes.rows.insert(key, change);
        }
    }

    /// Takes out what is temporary; none if nothing is. There is no going back to before it.
    pub fn take_temporary(&mut self) -> Option<TemporaryChanges> {
        let of_session = |id: &RelationId| is_temporary(id.0);
        if self.session.temporary.is_none() && !self.tables.keys().any(of_session) {
            return None;
        }
        let objects = self.session.temporary.take();
        let tables: BTreeMap<RelationId, TableChanges> = self.tables.extract_if(.., |id, _| of_session(id)).collect();
        self.dropped.tables.retain(|table| !of_session(&table.id));
        self.dropped.indexes.retain(is_shared_index);
        self.undo.clear();
        let schema = self.session.seen.take();
        Some(TemporaryChanges { objects, tables, schema, ..TemporaryChanges::default() })
    }

    /// Takes what a transaction has left of temporary tables, which have nothing below.
    pub(crate) fn absorb_temporary(
        &mut self,
        schema: Arc<Schema>,
        objects: &TemporaryObjects,
        tables: BTreeMap<RelationId, TableChanges>,
    ) {
        self.undo.clear();
        let redefined = self.session.seen.as_ref().is_none_or(|seen| !Arc::ptr_eq(seen, &schema));
        let written_before = self.written_before;
        for (relation, theirs) in tables {
            let Some(shape) = schema.shape(relation) else { continue };
            let mine = self.tables.entry(relation).or_default();
            if theirs.truncated {
                *mine = TableChanges::default();
            }
            mine.truncated = true;
            for (key, change) in theirs.rows {
                if let Some(previous) = mine.rows.remove(&key) {
                    mine.values.leave(shape, &key, previous.after.as_ref());
                }
                if change.after.is_some() {
                    mine.values.enter(shape, &key, change.after.as_ref());
                    let written = written_before + change.written;
                    self.written_before = self.written_before.max(written + 1);
                    mine.rows.insert(key, Change { before: None, written, ..change });
                }
            }
        }
        self.tables.retain(|id, _| objects.relations.get(id).is_some_and(|table| !goes_at_commit(table)));
        if redefined {
            self.forget_values();
        }
        self.session.seen = Some(schema);
    }

    /// Takes away the rows of temporary tables.
    pub(crate) fn empty_temporary(&mut self, tables: &BTreeSet<RelationId>) {
        self.tables.retain(|id, _| !tables.contains(id));
    }

    /// Adds a committed transaction's changes and derived owners: the group's overlay grows.
    pub fn absorb(&mut self, other: &Overlay, owners: impl IntoIterator<Item = ((RelationId, RowKey), Owners)>) {
        if other.schema_changed {
            self.schema = other.schema.clone();
            self.schema_changed = true;
        }
        for table in &other.dropped.tables {
            self.tables.remove(&table.id);
        }
        for (relation, theirs) in &other.tables {
            let Some(shape) = other.schema.shape(*relation) else { continue };
            if theirs.truncated {
                self.tables.insert(*relation, TableChanges { truncated: true, ..TableChanges::default() });
            }
            let mine = self.tables.entry(*relation).or_default();
            mine.reindexed.extend(&theirs.reindexed);
            mine.filled.extend(&theirs.filled);
            mine.spilled.extend(theirs.spilled.iter().cloned());
            for (key, change) in &theirs.rows {
                let previous = mine.rows.remove(key);
                if let Some(previous) = &previous {
                    mine.values.leave(shape, key, previous.after.as_ref());
                }
                mine.values.enter(shape, key, change.after.as_ref());
                let before = previous.map_or_else(|| change.before.clone(), |previous| previous.before);
                mine.rows.insert(key.clone(), Change { before, ..change.clone() });
            }
        }
        for (subject, microdb) in &other.subjects {
            self.subjects.insert(subject.clone(), *microdb);
        }
        self.owners.extend(owners);
        if other.in_part.is_some() {
            self.in_part.clone_from(&other.in_part);
        }
    }
}

impl TableChanges {
    /// Whether nothing is changed, as when all was taken back.
    fn is_untouched(&self) -> bool {
        self.is_empty() && !self.truncated && self.reindexed.is_empty() && self.filled.is_empty()
    }

    /// How many rows are changed, those on the disk that have changed again twice.
    pub fn len(&self) -> usize {
        self.rows.len() + self.spilled_rows()
    }

    /// Whether no row is changed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn values(&self, shape: &TableShape) -> &ChangedValues {
        self.values.0.get_or_init(|| {
            let mut values = ChangedValues::default();
            self.rows.iter().for_each(|(key, change)| enter(&mut values, shape, key, change.after.as_ref()));
            values
        })
    }

    /// Keys of changed rows whose indexed columns have this canonical value now.
    pub fn index_keys(&self, shape: &TableShape, index: IndexId, value: &[u8]) -> impl Iterator<Item = &RowKey> {
        self.values(shape).get(&index).and_then(|values| values.get(value)).into_iter().flatten()
    }

    /// Index entries of changed rows within a range of canonical values.
    pub(crate) fn index_range(
        &self,
        shape: &TableShape,
        index: IndexId,
        bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    ) -> impl Iterator<Item = (&Vec<u8>, &RowKey)> {
        // What lies between two bounds the wrong way round is nothing, but must not be asked of a map.
        self.values(shape).get(&index).filter(|_| !is_empty(&bounds)).into_iter().flat_map(move |values| {
            values.range(bounds.clone()).flat_map(|(value, keys)| keys.iter().map(move |key| (value, key)))
        })
    }
}

/// Whether nothing can lie between two bounds.
fn is_empty(bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> bool {
    match bounds {
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower >= upper
        }
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
    }
}

impl LazyValues {
    fn enter(&mut self, shape: &TableShape, key: &RowKey, row: Option<&Row>) {
        if let Some(values) = self.0.get_mut() {
            enter(values, shape, key, row);
        }
    }

    fn leave(&mut self, shape: &TableShape, key: &RowKey, row: Option<&Row>) {
        let (Some(values), Some(row)) = (self.0.get_mut(), row) else { return };
        for index in &shape.table().indexes {
            if let Some(value) = shape.index_value_of(index, row)
                && let Some(values) = values.get_mut(&index.id)
                && let Some(keys) = values.get_mut(&value)
            {
                keys.remove(key);
                if keys.is_empty() {
                    values.remove(&value);
                }
            }
        }
    }
}

fn enter(values: &mut ChangedValues, shape: &TableShape, key: &RowKey, row: Option<&Row>) {
    let Some(row) = row else { return };
    for index in &shape.table().indexes {
        if let Some(value) = shape.index_value_of(index, row) {
            values.entry(index.id).or_default().entry(value).or_default().insert(key.clone());
        }
    }
}
