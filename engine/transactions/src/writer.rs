//! Changes of rows on the connection: what INSERT, UPDATE, DELETE, cascades and erasure are made of.
//!
//! Every change locks, keeps keys unique, and queues the foreign-key checks and actions that follow. Reads go
//! through the transaction's readers; writes go to its overlay, never to storage.

pub mod dml;
pub mod foreign_key;
mod merge;
mod passing;
pub mod returned;
mod targets;
pub mod triggered;
pub mod unique;

use crate::transaction::{Moved, Transaction};
use foreign_key::{DeferredCheck, KeyGone, ParentNeeded};
use planner::plan::RowChecks;
use planner::scalar::EvalContext;
use repr::hash::{HashMap, HashSet};
use repr::id::is_temporary;
use repr::{Datum, Id, IndexId, RelationId, Row, RowKey, poll};
use state::SqlError;
use state::locks::{LockKey, LockMode, Patience};
use state::overlay::UndoPosition;
use state::parallel::Bulk;
use state::reader::Reader;
use state::shape::TableShape;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use triggered::InsertedRows;
use unique::UniqueCheck;

/// Fewer rows are written faster by way of memory.
const STRAIGHT_ROWS_MIN: usize = 256;

/// New rows that go to the disk together.
struct NewRows {
    rows: Vec<(RowKey, Row)>,
    /// The keys of their table.
    keys: HashSet<RowKey>,
}

impl NewRows {
    fn new(count: usize) -> Self {
        NewRows { rows: Vec::with_capacity(count), keys: HashSet::default() }
    }

    /// Whether no other of them has a key.
    fn claim(&mut self, row_key: &RowKey) -> bool {
        self.keys.insert(row_key.clone())
    }
}

/// One statement's writing.
pub struct Writer<'a> {
    /// The transaction.
    pub transaction: &'a mut Transaction,
    /// For expressions.
    pub context: EvalContext,
    /// How long to wait for locks.
    pub patience: Patience,
    checks: Checks,
    row_checks: HashMap<RelationId, Arc<RowChecks>>,
    before: Before,
    /// Rows that were inserted, changed or deleted, where a statement has several parts: no other one changes them again.
    changed: Option<HashSet<(RelationId, RowKey)>>,
    /// Whether people who were forgotten may come again, whatever the session says.
    brings_back: bool,
}

/// Where the transaction stood when the statement began.
struct Before {
    mark: UndoPosition,
    /// How many rows had moved.
    moved: usize,
}

/// What is to be looked at once a statement has written all its rows.
#[derive(Default)]
struct Checks {
    unique: Bulk<Vec<UniqueCheck>>,
    parents: Bulk<Vec<ParentNeeded>>,
    gone: Bulk<Vec<KeyGone>>,
    /// Keys that are gone, and that nothing may refer to once all referential actions have been taken.
    unreferenced: Bulk<Vec<KeyGone>>,
    /// The first key of MATCH FULL that mixes NULL with others.
    mixed: Option<SqlError>,
    /// Rows that triggers are called for.
    inserted: InsertedRows,
}

/// A row before and after.
pub struct RowUpdate {
    /// Its key.
    pub row_key: RowKey,
    /// Its columns before.
    pub before: Vec<Datum>,
    /// Its columns after, completed.
    pub after: Vec<Datum>,
}

/// Whether keys are the same to look at: 0 and -0 are equal, and a reference follows from one to the other.
fn is_same_image(one: &[Datum], other: &[Datum]) -> bool {
    let has_one_image =
        |datum: &Datum| matches!(datum, Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_) | Datum::Text(_));
    one == other && (one.iter().all(has_one_image) || Row::pack(one) == Row::pack(other))
}

const CASCADE_DEPTH_MAX: usize = 1_000;
/// Of a table whose columns have never changed.
const SCHEMA_VERSION_FIRST: u32 = 1;

impl<'a> Writer<'a> {
    /// For one statement.
    pub fn new(transaction: &'a mut Transaction, context: EvalContext, patience: Patience) -> Self {
        Writer {
            before: Before { mark: transaction.mark(), moved: transaction.pending.moved.len() },
            transaction,
            context,
            patience,
            checks: Checks::default(),
            row_checks: HashMap::default(),
            changed: None,
            brings_back: false,
        }
    }

    /// For a statement that has written some of its rows already.
    #[must_use]
    pub fn begun_at(mut self, mark: UndoPosition) -> Self {
        self.before.mark = mark;
        self
    }

    /// An erasure is taken back.
    pub fn bring_back(&mut self) {
        self.brings_back = true;
    }

    /// As `new`, for a statement of several parts, which share a snapshot.
    pub(crate) fn note_changes(&mut self) {
        self.changed = Some(HashSet::default());
    }

    /// Whether a part of the statement has changed that row.
    pub(crate) fn has_changed(&self, relation: RelationId, row_key: &RowKey) -> bool {
        self.changed.as_ref().is_some_and(|changed| changed.contains(&(relation, row_key.clone())))
    }

    /// A row has another key now, or none: the cursors that stand on it follow.
    fn note_move(&mut self, relation: RelationId, from: &RowKey, to: Option<&RowKey>) {
        let pending = &mut self.transaction.pending;
        if !pending.cursors.is_empty() {
            let (statement, from, to) = (self.before.moved, from.clone(), to.cloned());
            pending.moved.push(Moved { statement, relation, from, to });
        }
    }

    fn note_change(&mut self, relation: RelationId, row_key: &RowKey) {
        if let Some(changed) = &mut self.changed {
            changed.insert((relation, row_key.clone()));
        }
    }

    /// A table of the transaction's catalog, compiled.
    pub fn shape(&mut self, relation: RelationId) -> Result<Arc<TableShape>, SqlError> {
        self.transaction.latest_snapshot().shape(relation).cloned()
    }

    /// Locks a table against DDL, as every write does.
    pub fn lock_table(&mut self, relation: RelationId) -> Result<(), SqlError> {
        self.transaction.lock(LockKey::Table(relation), LockMode::Shared, &self.patience)?;
        Ok(())
    }

    /// Completes a row: generated columns, then NOT NULL and CHECK. `before` is there for updates: a NULL that
    /// an erasure left in a NOT NULL column may stay.
    pub fn complete(
        &self,
        shape: &TableShape,
        checks: &RowChecks,
        row: &mut [Datum],
        before: Option<&[Datum]>,
    ) -> Result<(), SqlError> {
        poll::step()?;
        let table = shape.table();
        for (column, expression) in &checks.generated {
            row[*column] = expression.eval(row, &self.context)?;
        }
        for (column, expression) in &checks.domains {
            // What stays was let in by the domain as it was.
            if before.is_none_or(|before| before[*column] != row[*column]) {
                expression.eval(row, &self.context)?;
            }
        }
        for column in &checks.not_null {
            let left_alone = before.is_some_and(|before| matches!(before[*column], Datum::Null));
            if matches!(row[*column], Datum::Null) && !left_alone {
                let name = &table.columns[*column].name;
                let message = format!(
                    "null value in column \"{name}\" of relation \"{}\" violates not-null constraint",
                    table.name
                );
                let mut error = SqlError::new("23502", message).on(shape.place(), None);
                error.object.column = Some(name.clone());
                return Err(error);
            }
        }
        for (name, expression) in &checks.checks {
            if matches!(expression.eval(row, &self.context)?, Datum::Bool(false)) {
                let message = format!("new row for relation \"{}\" violates check constraint \"{name}\"", table.name);
                return Err(SqlError::new("23514", message).on(shape.place(), Some(name)));
            }
        }
        for (term, expression) in &checks.terms {
            if !matches!(expression.eval(row, &self.context)?, Datum::Bool(true)) {
                return Err(term.broken(table).into());
            }
        }
        for predicate in &checks.index_predicates {
            predicate.eval(row, &self.context)?;
        }
        Ok(())
    }

    /// Stores new rows, already completed, in their order. 23505 if a key is taken.
    pub fn insert_rows<R: AsRef<[Datum]>>(
        &mut self,
        shape: &Arc<TableShape>,
        rows: &[R],
    ) -> Result<Vec<RowKey>, SqlError> {
        if let Some(reason) = &shape.table().pending
            && self.context.environment.setting("dogwood.restoring").as_deref() != Some("on")
        {
            let message = format!("table \"{}\" cannot take rows yet", shape.full_name());
            return Err(SqlError::new("DG004", message).detail(reason.clone()).hint(
                "complete the annotations of its schema first, or SET dogwood.restoring = on while rows are loaded",
            ));
        }
        let relation = shape.id();
        let mut row_keys = Vec::with_capacity(rows.len());
        for row in rows {
            let row_key = self.new_row_key(shape, row.as_ref())?;
            // A key that is made for the row nobody else can have.
            if shape.table().primary_key.is_some() {
                self.transaction.lock(LockKey::Row(relation, row_key.clone()), LockMode::Exclusive, &self.patience)?;
            }
            row_keys.push(row_key);
        }
        // All are locked: what is committed under these keys stands still from here on.
        let below = self.transaction.database().latest_snapshot();
        self.refuse_forgotten(shape, &row_keys)?;
        let mut stored = below.stored_rows(relation);
        // Of a temporary table nothing is stored.
        let own = is_temporary(relation.0).then(|| self.transaction.committed_snapshot());
        let mut straight = self.goes_straight(shape, rows.len()).then(|| NewRows::new(rows.len()));
        for (row, row_key) in rows.iter().map(AsRef::as_ref).zip(&row_keys) {
            let mut before = None;
            if let Some(index) = shape.table().primary_key {
                let is_stored = || match &own {
                    Some(own) => Ok(own.exists(shape, row_key)?),
                    None => Ok(stored.contains(row_key)?),
                };
                let (taken, committed) = self.is_taken(relation, row_key, is_stored)?;
                if taken || straight.as_mut().is_some_and(|straight| !straight.claim(row_key)) {
                    return Err(unique::violation(shape, index, row));
                }
                before = committed;
            }
            self.claim_unique(shape, row_key, None, row)?;
            self.note_change(relation, row_key);
            match &mut straight {
                // What memory has of a row stands over what the disk has.
                Some(straight) if before.is_none() && !self.is_in_memory(shape, row_key) => {
                    straight.rows.push((row_key.clone(), Row::pack(row)));
                }
                Some(_) | None => {
                    self.transaction.overlay_mut().set(shape, row_key.clone(), before, Some(Row::pack(row)));
                }
            }
            if shape.table().data_subject {
                let microdb = self.transaction.database().store.allocate_microdb()?;
                self.transaction.overlay_mut().set_subject(relation, row_key.clone(), Some(microdb));
            }
            self.need_parents(shape, None, row);
        }
        if let Some(straight) = straight {
            self.transaction.add_to_part(shape, straight.rows)?;
        }
        self.transaction.uses(relation).inserted.fetch_add(rows.len() as u64, Ordering::Relaxed);
        Ok(row_keys)
    }

    /// Whether a key is another row's, and what was committed under it, as far as the transaction has changed that.
    fn is_taken(
        &self,
        relation: RelationId,
        row_key: &RowKey,
        is_stored: impl FnOnce() -> Result<bool, SqlError>,
    ) -> Result<(bool, Option<Row>), SqlError> {
        let Some(changes) = self.transaction.overlay().table(relation) else { return Ok((is_stored()?, None)) };
        if let Some(change) = changes.rows.get(row_key) {
            return Ok((change.after.is_some(), None));
        }
        match changes.spilled_change(row_key)? {
            Some(change) => Ok((change.after.is_some(), change.before)),
            None if changes.truncated => Ok((false, None)),
            None => Ok((is_stored()?, None)),
        }
    }

    /// Whether memory has something under a new row's key; keys that are made for rows are nobody's.
    fn is_in_memory(&self, shape: &TableShape, row_key: &RowKey) -> bool {
        let changes = self.transaction.overlay().table(shape.id());
        shape.table().primary_key.is_some() && changes.is_some_and(|changes| changes.rows.contains_key(row_key))
    }

    /// Whether new rows of a statement of which many stand on the disk by now go there without a stay in memory.
    fn goes_straight(&self, shape: &TableShape, rows: usize) -> bool {
        rows >= STRAIGHT_ROWS_MIN
            && self.changed.is_none()
            && !shape.table().data_subject
            && self.transaction.overlay().adds_to_part(shape, self.before.mark)
    }

    /// DG006 for people who were forgotten, where the session says so.
    fn refuse_forgotten(&self, shape: &TableShape, row_keys: &[RowKey]) -> Result<(), SqlError> {
        let environment = &self.context.environment;
        let suppresses = || environment.setting("dogwood.suppress_forgotten").as_deref() == Some("on");
        if !shape.table().data_subject || self.brings_back || !suppresses() {
            return Ok(());
        }
        let store = &self.transaction.database().store;
        let snapshot = store.snapshot();
        for row_key in row_keys {
            if let Some(receipt) = snapshot.meta(&store.forgotten_key(shape.id(), row_key))? {
                let message = format!("a person of table \"{}\" who was forgotten would come back", shape.full_name());
                return Err(SqlError::new("DG006", message)
                    .detail(format!("Forgotten: receipt {}.", String::from_utf8_lossy(&receipt)))
                    .on(shape.place(), None)
                    .hint(
                        "Leave the person out, or SET dogwood.suppress_forgotten = off if somebody else has that key.",
                    ));
            }
        }
        Ok(())
    }

    /// The key for a new row.
    pub(crate) fn new_row_key(&mut self, shape: &TableShape, row: &[Datum]) -> Result<RowKey, SqlError> {
        let database = self.transaction.database();
        let hidden = if shape.table().primary_key.is_none() { database.sequences.next_row_id()? } else { 0 };
        Ok(shape.row_key(&database.store, row, hidden))
    }

    /// Puts a row under a key that must be free, with its other unique keys.
    fn place_row(&mut self, shape: &Arc<TableShape>, row_key: &RowKey, row: &[Datum]) -> Result<(), SqlError> {
        self.transaction.lock(LockKey::Row(shape.id(), row_key.clone()), LockMode::Exclusive, &self.patience)?;
        if let Some(index) = shape.table().primary_key
            && self.transaction.latest_snapshot().exists(shape, row_key)?
        {
            return Err(unique::violation(shape, index, row));
        }
        self.claim_unique(shape, row_key, None, row)?;
        self.set(shape, row_key, Some(Row::pack(row)))
    }

    /// Changes rows, locked and completed. New keys may be those that other rows of the same statement leave.
    pub fn update_rows(&mut self, shape: &Arc<TableShape>, updates: &[RowUpdate]) -> Result<(), SqlError> {
        let relation = shape.id();
        let mut moving = Vec::new();
        for update in updates {
            poll::step()?;
            self.refuse_held(shape, &update.before, Some(&update.after))?;
            self.note_change(relation, &update.row_key);
            self.need_parents(shape, Some(&update.before), &update.after);
            self.key_gone(shape, &update.before, Some(&update.after));
            let same_key = || {
                let key = shape.table().primary_key_columns().unwrap_or_default();
                key.iter()
                    .all(|column| is_same_image(&update.before[*column..=*column], &update.after[*column..=*column]))
            };
            let new_key = match shape.table().primary_key {
                Some(_) if !same_key() => shape.row_key(&self.transaction.database().store, &update.after, 0),
                Some(_) | None => update.row_key.clone(),
            };
            if new_key == update.row_key {
                self.claim_unique(shape, &new_key, Some(&update.before), &update.after)?;
                self.replace(shape, &new_key, &update.before, Some(Row::pack(&update.after)))?;
                continue;
            }
            let subject = if shape.table().data_subject {
                self.transaction.latest_snapshot().subject(relation, &update.row_key)?
            } else {
                None
            };
            self.refuse_forgotten(shape, std::slice::from_ref(&new_key))?;
            self.replace(shape, &update.row_key, &update.before, None)?;
            if subject.is_some() {
                self.transaction.overlay_mut().set_subject(relation, update.row_key.clone(), None);
            }
            moving.push((&update.row_key, new_key, &update.after, subject));
        }
        self.transaction.uses(relation).updated.fetch_add(updates.len() as u64, Ordering::Relaxed);
        for (old_key, new_key, after, subject) in moving {
            self.place_row(shape, &new_key, after)?;
            self.note_change(relation, &new_key);
            self.note_move(relation, old_key, Some(&new_key));
            if subject.is_some() {
                // The person stays the same: µDB and key follow the row to its new key.
                self.transaction.overlay_mut().set_subject(relation, new_key, subject);
            }
        }
        Ok(())
    }

    /// The holds that keep a row. A condition that cannot be computed is an error that names its hold: the row may have to stay.
    pub fn holds_of(&mut self, shape: &TableShape, row: &[Datum]) -> Result<Vec<String>, SqlError> {
        let mut holds = Vec::new();
        if shape.table().holds.is_empty() {
            return Ok(holds);
        }
        let checks = self.row_checks(shape)?;
        for (name, condition) in &checks.holds {
            let keeps = match condition {
                Some(condition) => {
                    let met = condition.eval(row, &self.context).map_err(|error| {
                        let of = format!("In the condition of hold \"{name}\" of table \"{}\".", shape.full_name());
                        SqlError::from(error).detail(of)
                    })?;
                    met == Datum::Bool(true)
                }
                None => true,
            };
            holds.extend(keeps.then(|| name.clone()));
        }
        Ok(holds)
    }

    /// DG006 if a hold keeps the row, or would keep it no more.
    fn refuse_held(&mut self, shape: &TableShape, row: &[Datum], after: Option<&[Datum]>) -> Result<(), SqlError> {
        if shape.table().holds.is_empty() {
            return Ok(());
        }
        let left = match after {
            Some(after) => self.holds_of(shape, after)?,
            None => Vec::new(),
        };
        match self.holds_of(shape, row)?.into_iter().find(|hold| !left.contains(hold)) {
            Some(hold) => {
                let message = format!("a row of table \"{}\" is kept by hold \"{hold}\"", shape.full_name());
                Err(SqlError::new("DG006", message).on(shape.place(), None).hint("DROP HOLD ends it."))
            }
            None => Ok(()),
        }
    }

    /// Removes a locked row.
    pub fn delete_row(&mut self, shape: &Arc<TableShape>, row_key: &RowKey, row: &[Datum]) -> Result<(), SqlError> {
        self.refuse_held(shape, row, None)?;
        self.note_change(shape.id(), row_key);
        self.note_move(shape.id(), row_key, None);
        self.replace(shape, row_key, row, None)?;
        if shape.table().data_subject {
            self.transaction.overlay_mut().set_subject(shape.id(), row_key.clone(), None);
        }
        self.key_gone(shape, row, None);
        self.transaction.uses(shape.id()).deleted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Writes a row's new version to the overlay.
    pub fn set(&mut self, shape: &TableShape, row_key: &RowKey, row: Option<Row>) -> Result<(), SqlError> {
        poll::step()?;
        let relation = shape.id();
        let changes = self.transaction.overlay().table(relation);
        let known = changes.is_some_and(|changes| changes.truncated || changes.rows.contains_key(row_key));
        let before = if known {
            None
        } else {
            let below = self.transaction.committed_snapshot();
            // A table that this transaction made has nothing below.
            match below.schema().shape(relation) {
                Some(_) => below.get(shape.table(), row_key)?,
                None => None,
            }
        };
        self.transaction.overlay_mut().set(shape, row_key.clone(), before, row);
        Ok(())
    }

    /// As `set`, of a locked row whose newest version is at hand.
    fn replace(
        &mut self,
        shape: &TableShape,
        row_key: &RowKey,
        newest: &[Datum],
        row: Option<Row>,
    ) -> Result<(), SqlError> {
        let overlay = self.transaction.overlay();
        let untouched = match overlay.table(shape.id()) {
            Some(changes) => {
                !changes.truncated && !changes.rows.contains_key(row_key) && !changes.has_spilled(row_key)?
            }
            None => true,
        };
        // A row that was stored with fewer columns is not the same bytes again.
        if untouched && !overlay.changes_schema() && shape.table().schema_version == SCHEMA_VERSION_FIRST {
            self.transaction.overlay_mut().set(shape, row_key.clone(), Some(Row::pack(newest)), row);
            return Ok(());
        }
        self.set(shape, row_key, row)
    }

    /// Locks an existing row and gives its newest version; `None` if it is gone.
    pub fn lock_row(
        &mut self,
        shape: &TableShape,
        row_key: &RowKey,
        mode: LockMode,
    ) -> Result<Option<Vec<Datum>>, SqlError> {
        let key = LockKey::Row(shape.id(), row_key.clone());
        self.transaction.lock(key, mode, &self.patience)?;
        let newest = self.transaction.latest_snapshot().get(shape.table(), row_key)?;
        Ok(newest.map(|row| shape.unpack(&row)))
    }

    /// NOT NULL, CHECK and generated columns of a table that the statement's plan does not name (cascades, DDL).
    pub fn row_checks(&mut self, shape: &TableShape) -> Result<Arc<RowChecks>, SqlError> {
        if let Some(checks) = self.row_checks.get(&shape.id()) {
            return Ok(checks.clone());
        }
        let catalog = self.transaction.latest_snapshot().catalog().clone();
        let checks = Arc::new(planner::plan_row_checks(&catalog, shape.table())?);
        self.row_checks.insert(shape.id(), checks.clone());
        Ok(checks)
    }

    /// The end of the statement: referential actions until nothing is left, then unique keys and parents.
    pub fn finish(&mut self) -> Result<(), SqlError> {
        for _ in 0..CASCADE_DEPTH_MAX {
            let gone = std::mem::take(&mut self.checks.gone);
            if gone.is_empty() {
                return self.check();
            }
            gone.into_iter().try_for_each(|key| foreign_key::act(self, key))?;
        }
        Err(SqlError::new("54001", "referential actions nest too deeply"))
    }

    /// What must hold once every referential action has been taken: of the rows that are left, and no others.
    fn check(&mut self) -> Result<(), SqlError> {
        if let Some(error) = self.checks.mixed.take() {
            return Err(error);
        }
        for key in std::mem::take(&mut self.checks.unreferenced) {
            foreign_key::require_no_referrer(self.transaction, &self.patience, &key)?;
        }
        for check in std::mem::take(&mut self.checks.unique) {
            unique::check(self.transaction, &check, &self.patience)?;
        }
        for parent in std::mem::take(&mut self.checks.parents) {
            foreign_key::require_parent(self.transaction, &self.patience, &parent)?;
        }
        Ok(())
    }

    /// Asks for one foreign key's parent at the end of the statement (a constraint added to a filled table).
    pub(crate) fn need_parent(&mut self, shape: &Arc<TableShape>, constraint: Id, row: &[Datum]) {
        let mut keys = shape.table().foreign_keys.iter().enumerate();
        let Some((position, key)) = keys.find(|(_, key)| key.constraint.id == constraint) else { return };
        match shape.values(&key.columns, row) {
            Some(values) => self.checks.parents.push(ParentNeeded::new(shape, position, values)),
            None => self.refuse_mixed(shape, position, row),
        }
    }

    fn need_parents(&mut self, shape: &Arc<TableShape>, before: Option<&[Datum]>, after: &[Datum]) {
        for (position, foreign_key) in shape.table().foreign_keys.iter().enumerate() {
            let unchanged =
                before.is_some_and(|before| foreign_key.columns.iter().all(|column| before[*column] == after[*column]));
            if unchanged {
                continue;
            }
            let Some(values) = shape.values(&foreign_key.columns, after) else {
                self.refuse_mixed(shape, position, after);
                continue;
            };
            let needed = ParentNeeded::new(shape, position, values);
            if self.transaction.is_deferred(&foreign_key.constraint) {
                self.transaction.pending.deferred.push(DeferredCheck::Parent(needed));
            } else {
                self.checks.parents.push(needed);
            }
        }
    }

    /// Notes a key of MATCH FULL of which some columns are NULL, and others not. What an erasure blanks is not asked.
    fn refuse_mixed(&mut self, shape: &Arc<TableShape>, position: usize, row: &[Datum]) {
        let key = &shape.table().foreign_keys[position];
        if key.match_full && key.columns.iter().any(|column| !row[*column].is_null()) && self.checks.mixed.is_none() {
            let table = &shape.table().name;
            let name = &key.constraint.name;
            let message = format!("insert or update on table \"{table}\" violates foreign key constraint \"{name}\"");
            let error = SqlError::new("23503", message)
                .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
                .on(shape.place(), Some(name));
            self.checks.mixed = Some(error);
        }
    }

    fn key_gone(&mut self, shape: &Arc<TableShape>, before: &[Datum], after: Option<&[Datum]>) {
        for referrer in &shape.referrers {
            let columns = &referrer.foreign_key.target_columns;
            let Some(old) = shape.values(columns, before) else { continue };
            let new = after.map(|after| columns.iter().map(|column| after[*column].clone()).collect::<Vec<_>>());
            if !new.as_ref().is_some_and(|new| is_same_image(new, &old)) {
                self.checks.gone.push(KeyGone { target: shape.id(), referrer: referrer.clone(), old, new });
            }
        }
    }

    fn claim_unique(
        &mut self,
        shape: &Arc<TableShape>,
        row_key: &RowKey,
        before: Option<&[Datum]>,
        after: &[Datum],
    ) -> Result<(), SqlError> {
        for index in shape.table().indexes.iter().filter(|index| index.unique) {
            if !shape.is_unique_in(index, after) {
                continue;
            }
            // The primary key has no index value: its key is locked as the row.
            let Some(value) = shape.index_value(index, after) else { continue };
            if before.is_some_and(|before| shape.index_value(index, before).as_ref() == Some(&value)) {
                continue;
            }
            self.claim_value(shape, index.id, value, row_key)?;
        }
        Ok(())
    }

    fn claim_value(
        &mut self,
        shape: &Arc<TableShape>,
        index: IndexId,
        value: Vec<u8>,
        row_key: &RowKey,
    ) -> Result<(), SqlError> {
        self.transaction.lock(LockKey::Unique(index, value.clone()), LockMode::Exclusive, &self.patience)?;
        let check = UniqueCheck { shape: shape.clone(), index, value, row_key: row_key.clone() };
        let constraint = shape.index(index).constraint.as_ref();
        if constraint.is_some_and(|constraint| self.transaction.is_deferred(constraint)) {
            self.transaction.pending.deferred.push(DeferredCheck::Unique(check));
        } else {
            self.checks.unique.push(check);
        }
        Ok(())
    }
}
