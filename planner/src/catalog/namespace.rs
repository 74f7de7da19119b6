//! Schemas, and the names of what is in them.
//!
//! A name is an object's own within its schema only: two schemas may each have a table of one name. What a written
//! name means to somebody is `search_path`'s question.

use super::{Catalog, EnumType, Index, Sequence, Table};
use crate::system::schemas;
use repr::{Id, RelationId, SequenceId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A schema's OID: of one that was created, of `public`, or of one of the system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamespaceId(pub Id);

impl NamespaceId {
    /// The `public` that every database begins with. Kept texts name what is in it without a schema.
    pub const PUBLIC: NamespaceId = NamespaceId(schemas::PUBLIC);
    /// `pg_catalog`
    pub const PG_CATALOG: NamespaceId = NamespaceId(schemas::PG_CATALOG);
    /// Where a session's own objects are: `pg_temp`, and to all others `pg_temp_` and its number.
    pub const PG_TEMP: NamespaceId = NamespaceId(16_300);

    /// As old folders have it, which know no other.
    pub(super) fn public() -> NamespaceId {
        NamespaceId::PUBLIC
    }
}

/// A schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// Its name.
    pub name: String,
}

/// What a catalog begins with.
pub(super) fn at_first() -> BTreeMap<NamespaceId, Namespace> {
    BTreeMap::from([(NamespaceId::PUBLIC, Namespace { name: "public".to_owned() })])
}

/// Ids by schema and name: follows from the objects, and is not stored.
#[derive(Clone, Debug, Default)]
pub(super) struct NamesInUse {
    relations: BTreeMap<(NamespaceId, String), RelationId>,
    sequences: BTreeMap<(NamespaceId, String), SequenceId>,
}

impl NamesInUse {
    pub(super) fn of(catalog: &Catalog) -> NamesInUse {
        let tables = catalog.relations.values().map(|table| ((table.namespace, table.name.clone()), table.id));
        let sequences = catalog.sequences.values();
        let sequences = sequences.map(|sequence| ((sequence.namespace, sequence.name.clone()), sequence.id));
        NamesInUse { relations: tables.collect(), sequences: sequences.collect() }
    }
}

impl Catalog {
    /// The table or view of that name in a schema.
    pub fn table_in(&self, namespace: NamespaceId, name: &str) -> Option<&Arc<Table>> {
        self.relations.get(self.names.relations.get(&(namespace, name.to_owned()))?)
    }

    /// The table or view of that name in `public`.
    pub fn table_by_name(&self, name: &str) -> Option<&Arc<Table>> {
        self.table_in(NamespaceId::PUBLIC, name)
    }

    /// The sequence of that name in a schema.
    pub fn sequence_in(&self, namespace: NamespaceId, name: &str) -> Option<&Arc<Sequence>> {
        self.sequences.get(self.names.sequences.get(&(namespace, name.to_owned()))?)
    }

    /// The index of that name in a schema, which is its table's, and the table.
    pub(crate) fn index_in(&self, namespace: NamespaceId, name: &str) -> Option<(&Arc<Table>, &Index)> {
        let tables = self.relations.values().filter(|table| table.namespace == namespace);
        tables
            .flat_map(|table| table.indexes.iter().map(move |index| (table, index)))
            .find(|(_, index)| index.name == name)
    }

    /// The enum type of that name in a schema.
    pub(crate) fn enum_in(&self, namespace: NamespaceId, name: &str) -> Option<&Arc<EnumType>> {
        self.enums.values().find(|found| found.namespace == namespace && found.name == name)
    }

    /// The created schema of that name.
    pub(crate) fn namespace_by_name(&self, name: &str) -> Option<NamespaceId> {
        self.namespaces.iter().find(|(_, found)| found.name == name).map(|(id, _)| *id)
    }

    /// A schema's name: created, or the system's.
    pub fn namespace_name(&self, id: NamespaceId) -> Option<&str> {
        match self.namespaces.get(&id) {
            Some(found) => Some(&found.name),
            None => schemas::SYSTEM.iter().find(|(_, known)| *known == id.0).map(|(name, _)| *name),
        }
    }

    /// What reports and receipts call a table, whoever reads them: its name, behind its schema's unless that is `public`.
    pub fn full_name<'c>(&'c self, table: &'c Table) -> Cow<'c, str> {
        match self.namespaces.get(&table.namespace) {
            Some(found) if found.name != "public" => Cow::Owned(format!("{}.{}", found.name, table.name)),
            Some(_) | None => Cow::Borrowed(&table.name),
        }
    }

    /// Puts a table or view in, under its name.
    pub fn add_relation(&mut self, table: Arc<Table>) {
        self.names.relations.insert((table.namespace, table.name.clone()), table.id);
        self.relations.insert(table.id, table);
    }

    /// Takes a table or view out.
    pub(crate) fn remove_relation(&mut self, id: RelationId) -> Option<Arc<Table>> {
        let table = self.relations.remove(&id)?;
        self.names.relations.remove(&(table.namespace, table.name.clone()));
        Some(table)
    }

    /// Gives a table or view another place and name.
    pub(crate) fn move_relation(&mut self, id: RelationId, namespace: NamespaceId, name: &str) {
        if let Some(mut table) = self.remove_relation(id) {
            let moved = Arc::make_mut(&mut table);
            (moved.namespace, moved.name) = (namespace, name.to_owned());
            self.add_relation(table);
        }
    }

    /// Puts a sequence in, under its name.
    pub fn add_sequence(&mut self, sequence: Arc<Sequence>) {
        self.names.sequences.insert((sequence.namespace, sequence.name.clone()), sequence.id);
        self.sequences.insert(sequence.id, sequence);
    }

    /// Takes a sequence out.
    pub(crate) fn remove_sequence(&mut self, id: SequenceId) -> Option<Arc<Sequence>> {
        let sequence = self.sequences.remove(&id)?;
        self.names.sequences.remove(&(sequence.namespace, sequence.name.clone()));
        Some(sequence)
    }

    /// Gives a sequence another place and name.
    pub(crate) fn move_sequence(&mut self, id: SequenceId, namespace: NamespaceId, name: &str) {
        if let Some(mut sequence) = self.remove_sequence(id) {
            let moved = Arc::make_mut(&mut sequence);
            (moved.namespace, moved.name) = (namespace, name.to_owned());
            self.add_sequence(sequence);
        }
    }
}
