//! Schemas, and the names of what is in them.
//!
//! A name is an object's own within its schema only: two schemas may each have a table of one name. What a written
//! name means to somebody is `search_path`'s question.

use super::own_tables::is_own;
use super::{Catalog, CreatedType, Index, Sequence, Table};
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

/// A database's OID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DatabaseId(pub Id);

impl Default for DatabaseId {
    fn default() -> Self {
        DatabaseId::FIRST
    }
}

impl DatabaseId {
    /// The one that is there without being created: see `DEFAULT_DATABASE`.
    pub const FIRST: DatabaseId = DatabaseId(5);
}

/// By what names the first database is always known. `postgres` is what PostgreSQL's tools connect to before they create
/// others.
pub const DEFAULT_DATABASE: [&str; 2] = ["postgres", "dogwood"];

/// A database that was created: schemas of its own, which nothing leads out of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Database {
    /// Its name.
    pub name: String,
    /// What CREATE EXTENSION made in it.
    #[serde(default)]
    pub extensions: BTreeMap<String, Id>,
}

/// A schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// The database that it is of.
    #[serde(default)]
    pub database: DatabaseId,
}

/// What a catalog begins with.
pub(super) fn at_first() -> BTreeMap<NamespaceId, Namespace> {
    BTreeMap::from([(NamespaceId::PUBLIC, Namespace { name: "public".to_owned(), database: DatabaseId::FIRST })])
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

    /// The created type of that name in a schema.
    pub(crate) fn type_in(&self, namespace: NamespaceId, name: &str) -> Option<&Arc<CreatedType>> {
        self.types.values().find(|found| found.namespace == namespace && found.name == name)
    }

    /// A database's schema of that name, but for the system's.
    pub(crate) fn namespace_by_name(&self, database: DatabaseId, name: &str) -> Option<NamespaceId> {
        let mut all = self.namespaces.iter();
        all.find(|(_, found)| found.database == database && found.name == name).map(|(id, _)| *id)
    }

    /// The created database of that name.
    pub fn database_by_name(&self, name: &str) -> Option<DatabaseId> {
        self.databases.iter().find(|(_, found)| found.name == name).map(|(id, _)| *id)
    }

    /// Whether an extension was created in a database.
    pub(crate) fn has_extension(&self, database: DatabaseId, name: &str) -> bool {
        self.databases.get(&database).map_or(&self.extensions, |found| &found.extensions).contains_key(name)
    }

    /// The database that a schema is of.
    pub fn database_of(&self, namespace: NamespaceId) -> DatabaseId {
        self.namespaces.get(&namespace).map_or(DatabaseId::FIRST, |found| found.database)
    }

    /// What is in one database, for whoever lists the catalog. Itself, where there is only the first.
    pub fn of_database(catalog: &Arc<Catalog>, database: DatabaseId) -> Arc<Catalog> {
        if catalog.databases.is_empty() && database == DatabaseId::FIRST {
            return Arc::clone(catalog);
        }
        let mut own = Catalog::clone(catalog);
        own.namespaces.retain(|_, found| found.database == database);
        // The server's own tables are in all of them.
        let holds = |namespace: NamespaceId| {
            catalog.database_of(namespace) == database || !catalog.namespaces.contains_key(&namespace)
        };
        own.relations.retain(|_, table| holds(table.namespace));
        own.sequences.retain(|_, sequence| holds(sequence.namespace));
        own.types.retain(|_, found| holds(found.namespace));
        own.routines.retain(|_, found| holds(found.namespace));
        own.operators.retain(|_, found| holds(found.namespace));
        own.loose_comments.retain(|found| found.database == database);
        own.pending_annotations.retain(|id, _| own.relations.contains_key(id));
        own.labelled_edges.retain(|edge, _| own.relations.contains_key(&edge.table));
        if let Some(found) = catalog.databases.get(&database) {
            own.extensions = found.extensions.clone();
        }
        own.names = NamesInUse::of(&own);
        Arc::new(own)
    }

    /// A schema's name: created, or the system's.
    pub fn namespace_name(&self, id: NamespaceId) -> Option<&str> {
        match self.namespaces.get(&id) {
            Some(found) => Some(&found.name),
            None => schemas::SYSTEM.iter().find(|(_, known)| *known == id.0).map(|(name, _)| *name),
        }
    }

    /// What reports call a table in its database, whoever reads them: its name, behind its schema's unless that is `public`.
    pub fn full_name<'c>(&'c self, table: &'c Table) -> Cow<'c, str> {
        match self.namespaces.get(&table.namespace) {
            Some(found) if found.name != "public" => Cow::Owned(format!("{}.{}", found.name, table.name)),
            None if is_own(table.id.0) => Cow::Owned(format!("dogwood.{}", table.name)),
            Some(_) | None => Cow::Borrowed(&table.name),
        }
    }

    /// What receipts and reports of the whole server call it: the same, and behind its database's name if that was created.
    pub fn server_name<'c>(&'c self, table: &'c Table) -> Cow<'c, str> {
        let Some(found) = self.namespaces.get(&table.namespace) else { return self.full_name(table) };
        match self.databases.get(&found.database) {
            Some(database) => Cow::Owned(format!("{}.{}.{}", database.name, found.name, table.name)),
            None => self.full_name(table),
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
