//! What is noted of a snapshot's reads: for SERIALIZABLE, for owners, for temporary tables.

use super::LayeredSnapshot;
use crate::audit::ReadObserver;
use crate::ownership_hints::ObservedOwners;
use crate::temporary::PersonalReads;
use crate::validation::ReadSet;
use planner::catalog::{Index, Table};
use repr::{Datum, key};
use std::sync::Arc;
use storage::Snapshot;

impl LayeredSnapshot {
    /// For a statement that changes what it looks up: whose copies it reads is noted, where rows have one owner.
    #[must_use]
    pub fn noting(mut self, seen: Arc<ObservedOwners>) -> Self {
        self.seen = Some(seen);
        self
    }

    /// For the statements of a SERIALIZABLE transaction: what they read is noted.
    #[must_use]
    pub fn noting_reads(mut self, reads: Option<Arc<ReadSet>>) -> Self {
        self.reads = reads;
        self
    }

    /// A table is read, or what a view is made of.
    pub(super) fn note_table(&self, table: &Table) {
        self.note_personal(table);
        let Some(reads) = &self.reads else { return };
        match &table.view {
            None => reads.table(table.id),
            Some(view) => {
                view.reads
                    .keys()
                    .filter_map(|id| self.schema.catalog().table(*id))
                    .for_each(|below| self.note_table(below));
            }
        }
    }

    /// A value of an index is looked up: all of it, or first columns.
    pub(super) fn note_value(&self, table: &Table, index: &Index, values: &[Datum]) {
        self.note_personal(table);
        let Some(reads) = &self.reads else { return };
        if table.is_stored() && values.len() == index.columns.len() && table.primary_key != Some(index.id) {
            reads.value(table.id, index.id, &key::encode_all(values));
        } else {
            self.note_table(table);
        }
    }

    /// For a statement that may write to temporary tables: whether it reads what is personal is noted.
    #[must_use]
    pub fn noting_personal(mut self, personal: Option<Arc<PersonalReads>>) -> Self {
        self.personal = personal;
        self
    }

    /// For a statement of a client: which tables it reads, and whose rows, is noted for the audit log.
    #[must_use]
    pub fn observed(mut self, observer: Option<Arc<ReadObserver>>) -> Self {
        self.observed = observer.map(|observer| {
            let base = &self.base;
            observer.reads(|| {
                let base = base.clone();
                Box::new(move |relation, row_key| {
                    Ok(base.owners(relation, row_key)?.into_iter().map(|(owner, _)| owner).collect())
                })
            });
            let leaves = if self.keeps { &self.base.kept } else { &self.base.snapshot };
            let leaves = leaves.observed(Some(observer.people().clone()));
            (observer, leaves)
        });
        self
    }

    /// The leaves below all layers, for reads that are not worth keeping.
    pub(super) fn leaves(&self) -> Snapshot {
        let observer = self.observed.as_ref().map(|(observer, _)| observer.people().clone());
        self.base.snapshot.observed(observer)
    }

    /// For the audit log: a maintained view is read.
    pub(super) fn note_view_key(&self, view: &Table, key: Option<&[u8]>) {
        let Some((observer, _)) = &self.observed else { return };
        let below = self.base.schema.personal_below(view.id);
        if !below.is_empty() {
            observer.note_view(view.id, &below, key.map(|key| self.store.audit_key(view.id, key)));
        }
    }

    pub(super) fn note_personal(&self, table: &Table) {
        if let Some((observer, _)) = &self.observed
            && self.schema.shape(table.id).is_some_and(|shape| shape.personal)
        {
            observer.note_table(table.id);
        }
        let Some(personal) = &self.personal else { return };
        match &table.view {
            None => {
                let is_personal = self.schema.shape(table.id).is_some_and(|shape| shape.personal);
                personal.note(table.id, is_personal);
            }
            Some(view) => {
                let below = view.reads.keys().filter_map(|id| self.schema.catalog().table(*id));
                below.for_each(|below| self.note_personal(below));
            }
        }
    }
}
