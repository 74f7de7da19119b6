//! What a transaction does with what its session has for itself: it is laid over what all share, and set apart again at COMMIT.

use super::{OneSnapshot, Transaction};
use planner::catalog::{DatabaseId, TemporaryObjects};
use repr::RelationId;
use state::shape::Schema;
use state::snapshot_holders::Holder;
use state::temporary::{PersonalReads, TemporaryChanges, TemporarySpace};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Transaction {
    /// Its session.
    pub(crate) fn holder(&self) -> &Arc<Holder> {
        &self.holder
    }

    /// The database of its session.
    pub(crate) fn database_id(&self) -> DatabaseId {
        self.holder.activity.owner.database_id
    }

    /// What the session has for itself.
    pub fn temporary(&self) -> &TemporarySpace {
        &self.holder.temporary
    }

    /// The catalog that the transaction sees, compiled: with its own definitions, and with what is temporary.
    pub fn seen_schema(&self) -> Arc<Schema> {
        let shared = match self.overlay.changes_schema() {
            true => self.overlay.schema().clone(),
            false => self.database.published.load().schema.clone(),
        };
        match self.temporary().in_use() {
            true => self.temporary().schema(&shared, self.overlay.temporary()),
            false => shared,
        }
    }

    /// For a statement that may fill a temporary table: whether it reads what is personal.
    pub fn note_personal(&mut self) -> Arc<PersonalReads> {
        let noted = Arc::new(PersonalReads::new(self.tainted()));
        self.reads.statement.personal = Some(noted.clone());
        noted
    }

    /// The statement is over.
    pub fn forget_noted(&mut self) {
        self.reads.statement.personal = None;
    }

    /// A definition has made another schema of the one that it saw: what all share of it and what is temporary go each to its place.
    pub(crate) fn define(&mut self, old: &Schema, new: Arc<Schema>) {
        let overlay = Arc::make_mut(&mut self.overlay);
        if !self.holder.temporary.in_use() {
            overlay.set_schema(new);
            return;
        }
        if !new.catalog().shares_all_with(old.catalog()) {
            let shared = new.catalog().without_temporary(overlay.catalog().version + 1);
            overlay.set_schema(Arc::new(Schema::new(Arc::new(shared))));
        }
        let (before, objects) = (TemporaryObjects::of(old.catalog()), TemporaryObjects::of(new.catalog()));
        if objects.is_same(&before) {
            overlay.see(new);
        } else {
            overlay.set_temporary(Arc::new(objects), new);
        }
    }

    /// All temporary objects go (DISCARD TEMP).
    pub fn discard_temporary(&mut self) {
        if self.temporary().in_use() {
            let none = Arc::new(TemporaryObjects::default());
            let seen = self.temporary().schema(self.overlay.schema(), Some(&none));
            Arc::make_mut(&mut self.overlay).set_temporary(none, seen);
        }
    }

    /// A statement that has read what is personal has filled a temporary table.
    pub fn taint(&mut self, relation: RelationId) {
        let now = self.database.published.load().time;
        let time = match &self.reads.snapshot {
            OneSnapshot::Taken(base, _) => base.time,
            OneSnapshot::Open | OneSnapshot::Ended => now,
        };
        self.at_commit.tainted.entry(relation).or_insert(time);
    }

    /// Temporary tables that an erasure would empty, its own among them.
    pub fn tainted(&self) -> Arc<BTreeSet<RelationId>> {
        let tainted = self.temporary().tainted();
        if self.at_commit.tainted.is_empty() {
            return tainted;
        }
        Arc::new(tainted.iter().chain(self.at_commit.tainted.keys()).copied().collect())
    }

    /// What it has put in temporary tables from personal rows goes, if a person has been forgotten since.
    pub fn forget_tainted(&mut self) {
        let forgotten_at = self.database.forgotten_at();
        let gone: Vec<RelationId> =
            self.at_commit.tainted.extract_if(.., |_, time| *time < forgotten_at).map(|(id, _)| id).collect();
        for relation in gone {
            let seen = self.seen_schema();
            let Some(table) = seen.catalog().table(relation) else { continue };
            self.temporary().tell_emptied([table.name.clone()]);
            Arc::make_mut(&mut self.overlay).truncate(relation);
        }
    }

    /// Sets apart what is temporary of its changes: that never comes to the pipeline.
    pub(super) fn set_temporary_apart(&mut self) {
        if !self.temporary().in_use() {
            return;
        }
        let changes = Arc::make_mut(&mut self.overlay).take_temporary();
        if let Some(changes) = changes {
            let tainted = self.at_commit.tainted.keys().copied().collect();
            self.at_commit.temporary = Some(TemporaryChanges { tainted, ..changes });
        }
    }

    /// It has committed, and so has what is temporary.
    pub(super) fn keep_temporary(&mut self) {
        let Some(changes) = self.at_commit.temporary.take() else { return };
        let before = self.temporary().absorb(changes);
        let now = self.temporary().objects();
        let gone = before.sequences.keys().filter(|id| !now.sequences.contains_key(id)).copied();
        self.database.sequences.forget(gone);
    }
}
