//! What a session has for itself, laid over the catalog that all share and taken off it again.
//!
//! ```text
//! shared ──┐
//!          ├─ over ─▶ the catalog as the session sees it ─ a definition ─▶ another ─┬─ without_temporary ─▶ shared
//! its own ─┘                                                                        └─ of ─▶ its own
//! ```
//! By their ids temporary objects are known everywhere. Never stored, and never published.

use super::{Catalog, DatabaseId, Namespace, NamespaceId, OnCommit, Sequence, Table};
use repr::id::{FIRST_USER_ID, is_temporary};
use repr::{Id, RelationId, SequenceId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The temporary objects of one session.
#[derive(Clone, Debug, Default)]
pub struct TemporaryObjects {
    /// Tables and views.
    pub relations: BTreeMap<RelationId, Arc<Table>>,
    /// Sequences.
    pub sequences: BTreeMap<SequenceId, Arc<Sequence>>,
    /// COMMENT ON of others than tables and columns.
    comments: BTreeMap<Id, String>,
}

impl TemporaryObjects {
    /// Those in a catalog.
    pub fn of(catalog: &Catalog) -> TemporaryObjects {
        TemporaryObjects {
            relations: own(&catalog.relations, |id| id.0),
            sequences: own(&catalog.sequences, |id| id.0),
            comments: own(&catalog.comments, |id| *id),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty() && self.sequences.is_empty()
    }

    /// Whether none of them has its name among what all share, as one that was numbered among these but is none of them.
    pub fn are_in_place(&self) -> bool {
        let relations = self.relations.values().map(|table| table.namespace);
        let mut all = relations.chain(self.sequences.values().map(|sequence| sequence.namespace));
        all.all(|namespace| namespace == NamespaceId::PG_TEMP)
    }

    /// The shared catalog with these, in a schema of that name and database. A view whose tables have gone is gone with them.
    pub fn over(&self, shared: &Catalog, (schema, database): (&str, DatabaseId), version: u64) -> Catalog {
        let mut catalog = Catalog { version, ..shared.clone() };
        catalog.namespaces.insert(NamespaceId::PG_TEMP, Namespace { name: schema.to_owned(), database });
        let is_there = |id: &RelationId| {
            id.0 < FIRST_USER_ID || shared.relations.contains_key(id) || self.relations.contains_key(id)
        };
        for table in self.relations.values() {
            if table.view.as_ref().is_none_or(|view| view.reads.keys().all(is_there)) {
                catalog.add_relation(table.clone());
            }
        }
        self.sequences.values().for_each(|sequence| catalog.add_sequence(sequence.clone()));
        catalog.comments.extend(self.comments.iter().map(|(id, comment)| (*id, comment.clone())));
        catalog
    }

    /// Without the tables that COMMIT drops: what goes with them.
    pub fn drop_at_commit(&mut self) -> bool {
        let dropped = |table: &&Arc<Table>| table.on_commit == OnCommit::Drop;
        let mut gone: BTreeSet<RelationId> = self.relations.values().filter(dropped).map(|table| table.id).collect();
        if gone.is_empty() {
            return false;
        }
        loop {
            let reads_gone = |table: &&Arc<Table>| {
                table.view.as_ref().is_some_and(|view| view.reads.keys().any(|id| gone.contains(id)))
            };
            let more: Vec<RelationId> = self.relations.values().filter(reads_gone).map(|table| table.id).collect();
            let before = gone.len();
            gone.extend(more);
            if gone.len() == before {
                break;
            }
        }
        self.relations.retain(|id, _| !gone.contains(id));
        self.sequences.retain(|_, sequence| sequence.owned_by.is_none_or(|(table, _)| !gone.contains(&table)));
        true
    }

    /// Whether these are the same objects.
    pub fn is_same(&self, other: &TemporaryObjects) -> bool {
        same(&self.relations, &other.relations)
            && same(&self.sequences, &other.sequences)
            && self.comments == other.comments
    }
}

impl Catalog {
    /// What all share of it, at a version.
    #[must_use]
    pub fn without_temporary(&self, version: u64) -> Catalog {
        let mut shared = Catalog { version, ..self.clone() };
        shared.namespaces.remove(&NamespaceId::PG_TEMP);
        for id in self.relations.keys().filter(|id| is_temporary(id.0)) {
            shared.remove_relation(*id);
        }
        for id in self.sequences.keys().filter(|id| is_temporary(id.0)) {
            shared.remove_sequence(*id);
        }
        shared.comments.retain(|id, _| !is_temporary(*id));
        shared
    }

    /// Whether what all share of it is what they share of another.
    pub fn shares_all_with<'a>(&'a self, other: &'a Catalog) -> bool {
        let namespaces =
            |catalog: &'a Catalog| catalog.namespaces.iter().filter(|(id, _)| **id != NamespaceId::PG_TEMP);
        let relations = |catalog: &'a Catalog| shared(&catalog.relations, |id| id.0);
        let sequences = |catalog: &'a Catalog| shared(&catalog.sequences, |id| id.0);
        let comments = |catalog: &'a Catalog| shared(&catalog.comments, |id| *id);
        are_same(relations(self), relations(other))
            && are_same(sequences(self), sequences(other))
            && same(&self.types, &other.types)
            && comments(self).eq(comments(other))
            && namespaces(self).eq(namespaces(other))
            && self.databases == other.databases
            && self.pending_annotations == other.pending_annotations
            && self.labelled_edges == other.labelled_edges
            && self.extensions == other.extensions
            && self.start_settings == other.start_settings
            && self.roles == other.roles
            && self.first_login == other.first_login
            && self.routines == other.routines
            && self.operators == other.operators
            && self.loose_comments == other.loose_comments
            && (Arc::ptr_eq(&self.rights, &other.rights) || self.rights == other.rights)
    }
}

fn own<K: Ord + Copy, V: Clone>(objects: &BTreeMap<K, V>, id: impl Fn(&K) -> Id) -> BTreeMap<K, V> {
    let own = objects.iter().filter(|(key, _)| is_temporary(id(key)));
    own.map(|(key, object)| (*key, object.clone())).collect()
}

fn shared<K, V>(objects: &BTreeMap<K, V>, id: impl Fn(&K) -> Id) -> impl Iterator<Item = (&K, &V)> {
    objects.iter().filter(move |(key, _)| !is_temporary(id(key)))
}

fn same<K: Ord, V>(some: &BTreeMap<K, Arc<V>>, others: &BTreeMap<K, Arc<V>>) -> bool {
    some.len() == others.len() && are_same(some.iter(), others.iter())
}

fn are_same<'a, K: PartialEq + 'a, V: 'a>(
    some: impl Iterator<Item = (&'a K, &'a Arc<V>)>,
    others: impl Iterator<Item = (&'a K, &'a Arc<V>)>,
) -> bool {
    some.map(|(id, object)| (id, Arc::as_ptr(object))).eq(others.map(|(id, object)| (id, Arc::as_ptr(object))))
}
