//! GDPR FORGET: which rows go, which are blanked, which only lose a copy; to the fixpoint, as ordinary writes.
//!
//! The subject's row goes first. A row that goes fires the rules of the edges that lead to it: the near row is
//! blanked, or goes too. Then owners are derived as for any transaction, and a row that is left without one
//! goes as well, which fires again. What comes out is an overlay, and takes the one commit path.

mod part;

pub use part::{KeptByOthers, erase_part, named};

use crate::disposition::{self, Disposition, fires_nothing};
use crate::{no_such_subject, read_ahead};
use operators::request_profile::{Counted, RequestProfile};
use operators::traversal::Subject;
use operators::witness::Place;
use planner::catalog::own_tables;
use planner::catalog::{EdgeRef, ReferentialAction};
use planner::ownership::Edge;
use repr::hash::HashMap;
use repr::{ColumnIndex, CommitTime, Datum, MicroDbId, RelationId, Row, RowKey, key};
use state::SqlError;
use state::layered_snapshot::{Ahead, Asks, LayeredSnapshot};
use state::locks::{LockKey, LockMode};
use state::overlay::Change;
use state::reader::Reader;
use state::shape::{Referrer, RowValues, TableShape};
use state::validation::Marks;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use transactions::ownership::{self, Between};
use transactions::transaction::Derived;
use transactions::writer::{Writer, foreign_key};

/// While others commit, what is read holds for a few rows only.
const DISTURBED_ROWS_MAX: usize = 16;

/// Erases a subject in a transaction's overlay; nothing is committed.
pub fn erase(writer: &mut Writer<'_>, subject: &Subject, profile: &mut RequestProfile) -> Result<(), SqlError> {
    writer.transaction.keep_reads();
    let outcome = erase_recalling(writer, subject, profile);
    writer.transaction.forget_reads();
    outcome
}

/// Locks a person's own row: nobody gives them anything meanwhile. The row.
fn locked_subject(writer: &mut Writer<'_>, subject: &Subject) -> Result<Row, SqlError> {
    writer.transaction.bring_back_spilled(|_| true)?;
    writer.lock_table(subject.shape.id())?;
    // Another FORGET may have come first while this one waited for the person's row.
    let row = writer.lock_row(&subject.shape, &subject.row_key, LockMode::Exclusive)?;
    let microdb = writer.transaction.latest_snapshot().subject(subject.shape.id(), &subject.row_key)?;
    match row {
        Some(row) if microdb == Some(subject.microdb) => Ok(Row::pack(&row)),
        Some(_) | None => {
            let snapshot = writer.transaction.latest_snapshot();
            Err(no_such_subject(&snapshot, &subject.shape, &subject.row_key)?)
        }
    }
}

fn erase_recalling(writer: &mut Writer<'_>, subject: &Subject, profile: &mut RequestProfile) -> Result<(), SqlError> {
    locked_subject(writer, subject)?;
    let snapshot = writer.transaction.committed_snapshot();
    let started = profile.start();
    let (recalled, ahead) = read_ahead::recall(&snapshot, subject)?;
    profile.stop(Counted::MicroDb, started, recalled);
    // Owners that the transaction itself has given are not derived yet.
    let is_untouched = writer.transaction.overlay().changes_only(|relation| own_tables::is_own(relation.0));
    let by_owner = is_untouched.then_some(subject.microdb);
    let since = snapshot.time();
    drop(snapshot);
    let mut eraser = Eraser { by_owner, ..Eraser::new(writer, since, profile) };
    eraser.remove(&subject.shape, (subject.shape.id(), subject.row_key.clone()))?;
    eraser.fire_all(Some(ahead))
}

/// A row that is tied to one which has gone without its rules being fired, and what becomes of it.
pub struct Loose {
    /// Its table.
    pub shape: Arc<TableShape>,
    /// Its key.
    pub row_key: RowKey,
    /// What becomes of it.
    pub falls: Disposition,
    /// The foreign key that leads nowhere, for its defaults.
    pub referrer: Option<Referrer>,
}

/// Does with loose rows what the erasure of what they are tied to would have done, to the fixpoint; in the transaction's overlay.
pub fn settle(writer: &mut Writer<'_>, loose: &[Loose]) -> Result<(), SqlError> {
    writer.transaction.bring_back_spilled(|_| true)?;
    let since = writer.transaction.committed_snapshot().time();
    let mut profile = RequestProfile::default();
    let mut eraser = Eraser::new(writer, since, &mut profile);
    for Loose { shape, row_key, falls, referrer } in loose {
        let place = (shape.id(), row_key.clone());
        match (falls, referrer) {
            (Disposition::Erase, _) => eraser.remove(shape, place)?,
            (Disposition::Blank(columns), _) => eraser.blank(shape, place, columns)?,
            (Disposition::Default(_), Some(referrer)) => eraser.set_default(shape, place, referrer)?,
            (Disposition::Default(columns), None) => eraser.blank(shape, place, columns)?,
        }
    }
    eraser.fire_all(None)
}

struct Eraser<'a, 'b> {
    writer: &'a mut Writer<'b>,
    /// The subject, if what it owns alone can be told by its committed owners.
    by_owner: Option<MicroDbId>,
    /// The state that it began with.
    since: CommitTime,
    /// The tables of which it has locked rows.
    tables: BTreeSet<RelationId>,
    /// The rows that it has locked.
    held: HashMap<Place, Fate>,
    open: Vec<Open>,
    profile: &'a mut RequestProfile,
}

/// What was done to a row that is locked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Nothing yet.
    Untouched,
    /// It stays, without what was blanked.
    Blanked,
    /// It went.
    Erased,
}

/// A row that went and whose edges have not fired yet.
struct Open {
    shape: Arc<TableShape>,
    /// As it was committed.
    row: Row,
    /// What will be asked for about it was asked for with the person's µDB.
    foreseen: bool,
}

/// A row that is locked.
struct Newest {
    row: Row,
    /// What is committed of it, if this transaction has changed it.
    committed: Option<Row>,
}

impl<'a, 'b> Eraser<'a, 'b> {
    /// One that has done nothing yet, and takes no owner for the only one.
    fn new(writer: &'a mut Writer<'b>, since: CommitTime, profile: &'a mut RequestProfile) -> Self {
        let (tables, held, open) = (BTreeSet::new(), HashMap::default(), Vec::new());
        Eraser { writer, by_owner: None, since, tables, held, open, profile }
    }

    /// Fires the rules of all rows that have gone, and of those that go by that.
    fn fire_all(&mut self, ahead: Option<Ahead>) -> Result<(), SqlError> {
        let mut ahead = ahead;
        loop {
            let started = self.profile.start();
            while !self.open.is_empty() {
                let open = self.take_open()?;
                for Open { shape, row, .. } in &open {
                    self.fire(shape, row)?;
                }
                // What hangs on the person's own row was dealt with meanwhile.
                ahead.take().map_or(Ok(()), Ahead::finish)?;
                self.profile.round(Counted::Rounds);
                self.profile.stop_rounds(Counted::Rounds, None, open.len());
            }
            self.profile.stop_rounds(Counted::Rounds, started, 0);
            let started = self.profile.start();
            let orphans = self.remove_orphans()?;
            self.profile.stop(Counted::Owners, started, orphans);
            if orphans == 0 {
                return Ok(());
            }
        }
    }

    fn remove(&mut self, shape: &Arc<TableShape>, place: Place) -> Result<(), SqlError> {
        self.take_out(shape, place, false)
    }

    fn take_out(&mut self, shape: &Arc<TableShape>, place: Place, foreseen: bool) -> Result<(), SqlError> {
        if let Some(Newest { row, committed }) = self.newest(shape, &place, Fate::Erased)? {
            // As committed: a column blanked meanwhile must not hide what the row was tied to.
            let as_committed = committed.unwrap_or_else(|| row.clone());
            self.open.push(Open { shape: shape.clone(), row: as_committed, foreseen });
            // What is not changed yet stands as it was read: it is locked.
            self.writer.transaction.overlay_mut().set(shape, place.1.clone(), Some(row), None);
            if shape.table().data_subject {
                self.writer.transaction.overlay_mut().set_subject(place.0, place.1, None);
            }
        }
        Ok(())
    }

    /// Locks a row, unless it is locked already; whether that was to be done.
    fn hold(&mut self, place: &Place) -> Result<bool, SqlError> {
        let Entry::Vacant(unheld) = self.held.entry(place.clone()) else { return Ok(false) };
        self.writer.patience.check()?;
        if self.tables.insert(place.0) {
            self.writer.lock_table(place.0)?;
        }
        let key = LockKey::Row(place.0, place.1.clone());
        self.writer.transaction.lock(key, LockMode::Exclusive, &self.writer.patience)?;
        unheld.insert(Fate::Untouched);
        Ok(true)
    }

    /// A row as it meets its fate, locked; nothing if it is not there, or went before.
    fn newest(&mut self, shape: &TableShape, place: &Place, fate: Fate) -> Result<Option<Newest>, SqlError> {
        self.hold(place)?;
        let held = self.held.get_mut(place).expect("it is held");
        if *held == Fate::Erased {
            return Ok(None);
        }
        let before = std::mem::replace(held, fate);
        // Without changes from before, the rows that are changed and still there are the blanked ones.
        let changed = self.by_owner.is_none() || before == Fate::Blanked;
        if let Some(changes) = self.writer.transaction.overlay().table(place.0).filter(|_| changed) {
            if let Some(Change { before, after, .. }) = changes.rows.get(&place.1) {
                return Ok(after.clone().map(|row| Newest { row, committed: before.clone() }));
            }
            if changes.truncated {
                return Ok(None);
            }
        }
        let row = self.committed().get(shape.table(), &place.1)?;
        Ok(row.map(|row| Newest { row, committed: None }))
    }

    /// Rows whose edges are to fire, with what will be asked for about them read.
    fn take_open(&mut self) -> Result<Vec<Open>, SqlError> {
        let snapshot = self.committed();
        let undisturbed = snapshot.time() == self.since;
        let left = if undisturbed { 0 } else { self.open.len().saturating_sub(DISTURBED_ROWS_MAX) };
        let open = self.open.split_off(left);
        let mut asks = Asks::default();
        for Open { shape, row, .. } in open.iter().filter(|open| !(open.foreseen && undisturbed)) {
            read_ahead::foresee(&snapshot, &mut asks, shape, row)?;
        }
        snapshot.read_ahead(asks)?;
        Ok(open)
    }

    /// A row has gone: its edges' rules, then every foreign key that still names it.
    fn fire(&mut self, shape: &Arc<TableShape>, row: &Row) -> Result<(), SqlError> {
        for edge in shape.owner_dependents.iter().chain(&shape.access_dependents) {
            // As committed: what another rule has blanked meanwhile does not decide which rules fire.
            let near_shape = self.committed().shape(edge.near)?.clone();
            if fires_nothing(&near_shape, edge) {
                continue;
            }
            let started = self.profile.start();
            let places = self.locked(|eraser| near_rows(&eraser.committed(), edge, shape, row))?;
            let count = places.len();
            for place in places {
                self.fire_edge(&near_shape, edge, place)?;
            }
            self.profile.stop(Counted::Edge(edge.reference), started, count);
        }
        // OWNED_BY and ACCESSED_BY have fired above; all others may still name the row.
        for (referrer, value) in self.naming(shape, row)? {
            let started = self.profile.start();
            let count = self.fire_foreign_key(referrer, &value)?;
            let foreign_key = EdgeRef { table: referrer.table, foreign_key: referrer.foreign_key.constraint.id };
            self.profile.stop(Counted::ForeignKey(foreign_key), started, count);
        }
        Ok(())
    }

    /// The foreign keys that name a row which has gone, each with the value that it does so by. Nothing that is done for one of
    /// them makes another one name it.
    fn naming<'r>(&mut self, shape: &'r TableShape, row: &Row) -> Result<Vec<(&'r Referrer, Vec<u8>)>, SqlError> {
        let committed = self.committed();
        let overlay = self.writer.transaction.overlay();
        let (mut naming, mut values) = (Vec::new(), RowValues::new(shape, row));
        for referrer in shape.referrers.iter().filter(|referrer| !referrer.is_near_end()) {
            let (near, index) = (committed.shape(referrer.table)?, referrer.foreign_key.index);
            let Some(value) = values.of(&referrer.foreign_key.target_columns) else { continue };
            let changed = overlay.table(referrer.table).is_some_and(|changes| {
                // A primary key has no entries.
                near.table().primary_key == Some(index) || changes.index_keys(near, index, value).next().is_some()
            });
            if changed || committed.leads(near, index, value)? {
                naming.push((referrer, value.to_vec()));
            }
        }
        Ok(naming)
    }

    fn committed(&mut self) -> Arc<LayeredSnapshot> {
        self.writer.transaction.committed_snapshot_again()
    }

    /// Places as they are found once they are locked: one that was waited for may have been given to somebody else.
    fn locked(&mut self, find: impl Fn(&mut Self) -> Result<Vec<Place>, SqlError>) -> Result<Vec<Place>, SqlError> {
        loop {
            let found_at = self.writer.transaction.database().latest().time;
            let places = find(self)?;
            let mut found_locked = true;
            for place in &places {
                found_locked &= !self.hold(place)?;
            }
            // Whoever changed one of them meanwhile kept it locked until that was published.
            if found_locked || self.writer.transaction.database().latest().time == found_at {
                return Ok(places);
            }
        }
    }

    fn fire_edge(&mut self, near: &Arc<TableShape>, edge: &Edge, place: Place) -> Result<(), SqlError> {
        // What only the subject owns goes whatever the rules blank in it.
        if let Some(subject) = self.by_owner
            && near.personal
            && let [(only, _)] = self.committed().owners_of(place.0, &place.1)?.as_slice()
            && *only == subject
        {
            return self.take_out(near, place, near.one_owner);
        }
        match disposition::at_edge(near, edge) {
            Disposition::Erase => self.remove(near, place),
            Disposition::Blank(columns) => self.blank(near, place, &columns),
            Disposition::Default(_) => Err(SqlError::new("XX000", "an edge has no default")),
        }
    }

    /// A key that a foreign key may name has gone. How many rows named it.
    fn fire_foreign_key(&mut self, referrer: &Referrer, value: &[u8]) -> Result<usize, SqlError> {
        let foreign_key = &referrer.foreign_key;
        let shape = self.committed().shape(referrer.table)?.clone();
        let places = self.locked(|eraser| {
            let snapshot = eraser.writer.transaction.latest_snapshot();
            let mut keys = snapshot.keys_by_value(&shape, foreign_key.index, value)?;
            if foreign_key.annotation.is_none() && foreign_key.on_delete == ReferentialAction::Cascade {
                keys.extend(eraser.committed().keys_by_value(&shape, foreign_key.index, value)?);
            }
            Ok(keys.into_iter().map(|row_key| (shape.id(), row_key)).collect())
        })?;
        let (falls, count) = (disposition::at_foreign_key(&shape, foreign_key), places.len());
        for place in places {
            match &falls {
                Disposition::Erase => self.remove(&shape, place)?,
                Disposition::Blank(columns) => self.blank(&shape, place, columns)?,
                Disposition::Default(_) => self.set_default(&shape, place, referrer)?,
            }
        }
        Ok(count)
    }

    fn set_default(&mut self, shape: &Arc<TableShape>, place: Place, referrer: &Referrer) -> Result<(), SqlError> {
        let columns = &referrer.foreign_key.columns;
        let defaults = foreign_key::defaults(self.writer, shape, columns)?;
        let snapshot = self.writer.transaction.latest_snapshot();
        let target = snapshot.shape(referrer.foreign_key.target)?.clone();
        let exists = match target.unique_index(&referrer.foreign_key.target_columns) {
            Some(index) if !defaults.iter().any(Datum::is_null) => {
                !snapshot.keys_by_value(&target, index.id, &key::encode_all(&defaults))?.is_empty()
            }
            Some(_) | None => false,
        };
        drop(snapshot);
        // A key cannot change here, and a default may be taken where values are unique.
        let keyed = shape
            .table()
            .indexes
            .iter()
            .any(|index| index.unique && columns.iter().any(|column| index.mentions(*column)));
        if !exists || keyed {
            return match disposition::unnamed(shape, columns) {
                Disposition::Blank(columns) => self.blank(shape, place, &columns),
                Disposition::Erase | Disposition::Default(_) => self.remove(shape, place),
            };
        }
        self.rewrite(shape, place, |row| {
            for (column, default) in columns.iter().zip(&defaults) {
                row[*column] = default.clone();
            }
        })
    }

    fn blank(
        &mut self,
        shape: &Arc<TableShape>,
        place: Place,
        columns: &BTreeSet<ColumnIndex>,
    ) -> Result<(), SqlError> {
        self.rewrite(shape, place, |row| columns.iter().for_each(|column| row[*column] = Datum::Null))
    }

    fn rewrite(
        &mut self,
        shape: &Arc<TableShape>,
        place: Place,
        change: impl FnOnce(&mut [Datum]),
    ) -> Result<(), SqlError> {
        let Some(Newest { row: stored, .. }) = self.newest(shape, &place, Fate::Blanked)? else { return Ok(()) };
        let before = shape.unpack(&stored);
        let mut after = before.clone();
        change(&mut after);
        // A generated column must not keep what it was computed from; where it cannot be computed without, it is blank.
        for (column, expression) in &self.writer.row_checks(shape)?.generated {
            after[*column] = expression.eval(&after, &self.writer.context).unwrap_or(Datum::Null);
        }
        let packed = Row::pack(&after);
        if Row::pack(&before) == packed {
            return Ok(());
        }
        self.writer.transaction.overlay_mut().set(shape, place.1.clone(), Some(stored.clone()), Some(packed));
        // A blanked column may itself be a key that others name.
        for referrer in &shape.referrers {
            let columns = &referrer.foreign_key.target_columns;
            if columns.iter().any(|column| before[*column] != after[*column])
                && let Some(value) = shape.value_of(columns, &stored)
            {
                self.fire_foreign_key(referrer, &value)?;
            }
        }
        Ok(())
    }

    /// Rows that all this leaves without an owner: how many there were.
    fn remove_orphans(&mut self) -> Result<usize, SqlError> {
        let transaction = &mut *self.writer.transaction;
        let old = transaction.committed_snapshot();
        let overlay = transaction.shared_overlay();
        let new = old.clone().under(overlay.clone());
        let derivation = ownership::derive(&Between { old: &old, new: &new, overlay: &overlay })?;
        let mut orphans: Vec<(Arc<TableShape>, Place)> = Vec::new();
        for (relation, rows) in &derivation.tables {
            for (row_key, row) in rows {
                if row.after.is_some() && row.new.is_empty() {
                    orphans.push((new.shape(*relation)?.clone(), (*relation, row_key.clone())));
                }
            }
        }
        if orphans.is_empty() {
            transaction.keep_derived(Derived { old, overlay, derivation });
            return Ok(0);
        }
        drop((new, overlay));
        let count = orphans.len();
        for (shape, place) in orphans {
            self.remove(&shape, place)?;
        }
        Ok(count)
    }
}

/// The rows at the near end of an edge from this far row.
fn near_rows(snapshot: &LayeredSnapshot, edge: &Edge, far: &TableShape, row: &Row) -> Result<Vec<Place>, SqlError> {
    let Some(value) = ownership::far_value(far, edge, row) else { return Ok(Vec::new()) };
    let near = snapshot.shape(edge.near)?.clone();
    let keys = ownership::near_keys(snapshot, &near, edge, &value, &mut Marks::default())?;
    Ok(keys.into_iter().map(|row_key| (edge.near, row_key)).collect())
}
