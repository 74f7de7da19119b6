//! What a written name means: the one place that turns a name and a search path into an object.
//!
//! `resolve` looks names up here for statements and definitions, `scalar::env::names` for `regclass` and its kind; both ways
//! round, so that what is shown can be read again.

use super::array_names::{named_by, stripped};
use super::composite::class_of;
use super::{Actor, Catalog, CreatedType, DatabaseId, Index, NamespaceId, Sequence, Table};
use crate::error::PlanError;
use crate::resolve::domain::of_elements;
use crate::resolve::types::{builtin, in_catalog};
use crate::scalar::func::quote_identifier;
use crate::scalar::registry;
use crate::system::{self, SystemRelation, schemas};
use repr::{Id, IndexId, RelationId, ScalarType, SequenceId};
use std::sync::{Arc, LazyLock};

/// Where somebody looks for bare names.
#[derive(Clone, Debug, Default)]
pub struct SearchPath {
    /// The schemas that were named and are there, in order.
    named: Vec<NamespaceId>,
    /// The same, behind `pg_catalog` unless that is among them.
    searched: Vec<NamespaceId>,
    /// The database that names of three parts may begin with; none for kept texts, which name schemas of all.
    database: Option<Arc<str>>,
    /// The database whose schemas are named without it.
    home: DatabaseId,
    /// Whose it is. What bare names mean to two is the same if they look in the same places.
    actor: Actor,
}

impl PartialEq for SearchPath {
    fn eq(&self, other: &Self) -> bool {
        let SearchPath { named, searched, database, home, actor: _ } = self;
        (named, searched, database, home) == (&other.named, &other.searched, &other.database, &other.home)
    }
}

impl Eq for SearchPath {}

/// How kept texts are read, whoever reads them: bare names are of `public`.
static KEPT: LazyLock<SearchPath> = LazyLock::new(|| SearchPath::through(vec![NamespaceId::PUBLIC], None));

impl SearchPath {
    /// A setting's value as a session has it: `$user` is the role's own schema, and what is not there, or not for it, is passed
    /// over.
    pub fn of(setting: &str, actor: Actor, database: (&str, DatabaseId), catalog: &Catalog) -> SearchPath {
        let (database, home) = database;
        let bare = SearchPath { home, ..SearchPath::default() };
        let scope = Scope { catalog, path: &bare };
        let mut named: Vec<NamespaceId> = Vec::new();
        for name in listed(setting) {
            let name = if name == "$user" { &*actor.name } else { &*name };
            if name == "pg_temp" && !named.contains(&NamespaceId::PG_TEMP) {
                // It is made when something is put in it.
                named.push(NamespaceId::PG_TEMP);
            }
            let found = scope.namespace(name).filter(|found| !named.contains(found));
            named.extend(found.filter(|found| catalog.may_look_in(actor.role, *found, home)));
        }
        let path = SearchPath { home, actor, ..SearchPath::through(named, Some(database.into())) };
        if catalog.namespaces.contains_key(&NamespaceId::PG_TEMP) { path.behind_temporary() } else { path }
    }

    /// A session's own objects are found first, unless it says when.
    fn behind_temporary(mut self) -> SearchPath {
        if !self.searched.contains(&NamespaceId::PG_TEMP) {
            self.searched.insert(0, NamespaceId::PG_TEMP);
        }
        self
    }

    /// How kept texts are read.
    pub fn kept() -> &'static SearchPath {
        &KEPT
    }

    /// How a database's kept labels are read: bare names are of its `public`.
    pub(crate) fn within(database: DatabaseId, catalog: &Catalog) -> SearchPath {
        match catalog.databases.get(&database) {
            Some(found) => {
                let named = catalog.namespace_by_name(database, "public").into_iter().collect();
                SearchPath { home: database, ..SearchPath::through(named, Some(found.name.as_str().into())) }
            }
            None => SearchPath::kept().clone(),
        }
    }

    fn through(named: Vec<NamespaceId>, database: Option<Arc<str>>) -> SearchPath {
        let mut searched = named.clone();
        if !searched.contains(&NamespaceId::PG_CATALOG) {
            searched.insert(0, NamespaceId::PG_CATALOG);
        }
        SearchPath { named, searched, database, home: DatabaseId::FIRST, actor: Actor::default() }
    }

    /// The same with a schema in front of it.
    pub(crate) fn behind(&self, first: NamespaceId) -> SearchPath {
        let rest = self.named.iter().copied().filter(|known| *known != first);
        let named = std::iter::once(first).chain(rest).collect();
        let path = SearchPath {
            actor: self.actor.clone(),
            home: self.home,
            ..SearchPath::through(named, self.database.clone())
        };
        if self.searched.contains(&NamespaceId::PG_TEMP) { path.behind_temporary() } else { path }
    }

    /// The database whose schemas are named without it.
    pub fn home(&self) -> DatabaseId {
        self.home
    }

    /// The database's name, if it is a session's.
    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Whose it is.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The same, for somebody else.
    #[must_use]
    pub fn as_of(&self, actor: Actor) -> SearchPath {
        SearchPath { actor, ..self.clone() }
    }

    /// The same, of a session's database.
    #[must_use]
    pub(crate) fn at_home(&self, home: DatabaseId) -> SearchPath {
        SearchPath { home, ..self.clone() }
    }

    /// The schema that new objects are made in.
    pub fn first(&self) -> Option<NamespaceId> {
        self.named.first().copied()
    }

    /// The schemas that were named and are there.
    pub(crate) fn named(&self) -> &[NamespaceId] {
        &self.named
    }

    /// Those in which bare names are found.
    pub(crate) fn searched(&self) -> &[NamespaceId] {
        &self.searched
    }

    /// Whether bare names mean what they mean in kept texts.
    pub fn is_as_kept(&self) -> bool {
        self.searched == KEPT.searched
    }

    /// Whether it is no session's.
    pub(crate) fn is_of_kept_texts(&self) -> bool {
        self.database.is_none()
    }

    /// 0A000 for a name that begins with another database.
    ///
    /// # Errors
    /// See above.
    pub(crate) fn require_own(&self, database: Option<&str>, schema: &str, name: &str) -> Result<(), PlanError> {
        match (database, &self.database) {
            (Some(named), Some(own)) if named != &**own => {
                let message = format!("cross-database references are not implemented: \"{named}.{schema}.{name}\"");
                Err(PlanError::new("0A000", message))
            }
            _ => Ok(()),
        }
    }
}

/// The names of a list as `SET search_path` keeps it.
fn listed(setting: &str) -> Vec<String> {
    let (mut names, mut name, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = setting.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                name.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => names.push(std::mem::take(&mut name)),
            blank if !quoted && blank.is_whitespace() => {}
            letter if !quoted => name.extend(letter.to_lowercase()),
            letter => name.push(letter),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

/// What stands before a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Qualifier<'n> {
    database: Option<&'n str>,
    schema: Option<&'n str>,
}

impl<'n> Qualifier<'n> {
    /// The parts before the last, of a name of at most three.
    pub fn of(before: &'n [String]) -> Self {
        let database = before.len().checked_sub(2).and_then(|place| before.get(place));
        Qualifier { database: database.map(String::as_str), schema: before.last().map(String::as_str) }
    }
}

impl Qualifier<'_> {
    /// Whether there is anything.
    pub(crate) fn is_written(self) -> bool {
        self.schema.is_some()
    }
}

/// A schema of one's own database.
impl<'n> From<Option<&'n str>> for Qualifier<'n> {
    fn from(schema: Option<&'n str>) -> Self {
        Qualifier { database: None, schema }
    }
}

/// A database and a schema.
impl<'n> From<(Option<&'n str>, Option<&'n str>)> for Qualifier<'n> {
    fn from((database, schema): (Option<&'n str>, Option<&'n str>)) -> Self {
        Qualifier { database, schema }
    }
}

/// The catalog as somebody sees it who writes names.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// What there is.
    pub catalog: &'a Catalog,
    /// Where bare names are looked for.
    pub path: &'a SearchPath,
}

/// By nobody in particular: as kept texts are read.
impl<'a> From<&'a Catalog> for Scope<'a> {
    fn from(catalog: &'a Catalog) -> Self {
        Scope { catalog, path: SearchPath::kept() }
    }
}

impl<'a> From<&'a Arc<Catalog>> for Scope<'a> {
    fn from(catalog: &'a Arc<Catalog>) -> Self {
        Scope { catalog, path: SearchPath::kept() }
    }
}

/// What has its name among relations, which share theirs.
#[derive(Clone, Copy)]
pub enum Class<'a> {
    /// A table or view.
    Relation(&'a Arc<Table>),
    /// A sequence.
    Sequence(&'a Arc<Sequence>),
    /// An index and its table.
    Index(&'a Arc<Table>, &'a Index),
    /// A composite type, which is a relation without rows.
    Composite(&'a Arc<CreatedType>),
    /// A relation of the system's.
    System(&'static SystemRelation),
}

impl Class<'_> {
    /// Its OID.
    pub fn oid(self) -> Id {
        match self {
            Class::Relation(table) => table.id.0,
            Class::Sequence(sequence) => sequence.id.0,
            Class::Index(_, index) => index.id.0,
            Class::Composite(found) => class_of(found.id),
            Class::System(relation) => relation.id.0,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Class::Relation(table) => &table.name,
            Class::Sequence(sequence) => &sequence.name,
            Class::Index(_, index) => &index.name,
            Class::Composite(found) => &found.name,
            Class::System(relation) => relation.name,
        }
    }

    /// The schema that it is in.
    pub(crate) fn namespace(&self) -> NamespaceId {
        match self {
            Class::Relation(table) | Class::Index(table, _) => table.namespace,
            Class::Sequence(sequence) => sequence.namespace,
            Class::Composite(found) => found.namespace,
            Class::System(relation) => relation.namespace(),
        }
    }

    /// What messages call it.
    pub fn kind(self) -> &'static str {
        match self {
            Class::Relation(table) => table.kind(),
            Class::Sequence(_) => "sequence",
            Class::Index(..) => "index",
            Class::Composite(_) => "composite type",
            Class::System(relation) if relation.is_view => "view",
            Class::System(_) => "table",
        }
    }
}

impl Catalog {
    /// The relation, sequence, index or system relation of that OID.
    pub(crate) fn class_by_oid(&self, oid: Id) -> Option<Class<'_>> {
        if let Some(table) = self.table(RelationId(oid)) {
            return Some(Class::Relation(table));
        }
        if let Some(sequence) = self.sequences.get(&SequenceId(oid)) {
            return Some(Class::Sequence(sequence));
        }
        if let Some(relation) = system::find_by_id(RelationId(oid)) {
            return Some(Class::System(relation));
        }
        let mut indexes = self.relations.values();
        let index = indexes.find_map(|table| table.index(IndexId(oid)).map(|index| Class::Index(table, index)));
        // Its type's OID is two before.
        let composite = || self.types.get(&oid.checked_sub(class_of(0))?).filter(|found| found.composite().is_some());
        index.or_else(|| composite().map(Class::Composite))
    }
}

impl<'a> Scope<'a> {
    /// The schema of that name, created or the system's.
    pub fn namespace(self, name: &str) -> Option<NamespaceId> {
        self.namespace_in(None, name)
    }

    /// The schema that is written before a name; none where nothing is.
    pub(crate) fn namespace_before(self, before: Qualifier<'_>) -> Option<NamespaceId> {
        self.namespace_in(before.database, before.schema?)
    }

    /// The same; kept texts may name another database before it.
    fn namespace_in(self, database: Option<&str>, name: &str) -> Option<NamespaceId> {
        if name == "pg_temp" {
            return self.catalog.namespaces.contains_key(&NamespaceId::PG_TEMP).then_some(NamespaceId::PG_TEMP);
        }
        let system = schemas::SYSTEM.iter().find(|(known, _)| *known == name);
        if let Some((_, id)) = system {
            return Some(NamespaceId(*id));
        }
        let home = match database.filter(|_| self.path.is_of_kept_texts()) {
            Some(database) => self.catalog.database_by_name(database)?,
            None => self.path.home,
        };
        self.catalog.namespace_by_name(home, name)
    }

    /// The schema of that name.
    ///
    /// # Errors
    /// 3F000 if there is none.
    pub fn require_namespace(self, name: &str) -> Result<NamespaceId, PlanError> {
        let missing = || PlanError::new("3F000", format!("schema \"{name}\" does not exist"));
        self.namespace(name).ok_or_else(missing)
    }

    /// The table, view, sequence, index or system relation that a name means.
    pub fn class<'n>(self, before: impl Into<Qualifier<'n>>, name: &str) -> Option<Class<'a>> {
        let Qualifier { database, schema } = before.into();
        match schema {
            Some(schema) => self.class_in(self.namespace_in(database, schema)?, name),
            None => self.path.searched().iter().find_map(|namespace| self.class_in(*namespace, name)),
        }
    }

    /// What has that name in a schema.
    pub(crate) fn class_in(self, namespace: NamespaceId, name: &str) -> Option<Class<'a>> {
        let catalog = self.catalog;
        if !catalog.namespaces.contains_key(&namespace) {
            if let Some(own) = catalog.table_in(namespace, name) {
                return Some(Class::Relation(own));
            }
            return system::find(catalog.namespace_name(namespace)?, name).map(Class::System);
        }
        let relation = catalog.table_in(namespace, name).map(Class::Relation);
        let sequence = || catalog.sequence_in(namespace, name).map(Class::Sequence);
        let index = || catalog.index_in(namespace, name).map(|(table, index)| Class::Index(table, index));
        let composite = || catalog.type_in(namespace, name).filter(|found| found.composite().is_some());
        relation.or_else(sequence).or_else(index).or_else(|| composite().map(Class::Composite))
    }

    /// The created type that a name means; none if a built-in one is found before it.
    pub fn type_named<'n>(self, before: impl Into<Qualifier<'n>>, name: &str) -> Option<&'a Arc<CreatedType>> {
        let Qualifier { database, schema } = before.into();
        match schema {
            Some(schema) => self.catalog.type_in(self.namespace_in(database, schema)?, name),
            None => self.type_before_catalog(name).or_else(|| {
                let searched = self.path.searched().iter();
                let found = searched.copied().find_map(|namespace| self.catalog.type_in(namespace, name));
                found.filter(|_| in_catalog(name).is_none())
            }),
        }
    }

    /// The created type whose array has that name.
    pub(crate) fn element_named<'n>(
        self,
        before: impl Into<Qualifier<'n>>,
        array: &str,
    ) -> Option<&'a Arc<CreatedType>> {
        let before = before.into();
        named_by(self.catalog, array, |name| self.type_named(before, name))
    }

    /// The created range or multirange that the name of a function means.
    pub(crate) fn range_named<'n>(self, before: impl Into<Qualifier<'n>>, name: &str) -> Option<&'a Arc<CreatedType>> {
        let before = before.into();
        if before.schema.is_none() && registry::is_function(name) && !self.hides_built_in(name) {
            return None;
        }
        self.type_named(before, name).filter(|found| found.range_type().is_some())
    }

    /// The created type of a bare name in a schema that is searched before `pg_catalog`.
    fn type_before_catalog(self, name: &str) -> Option<&'a Arc<CreatedType>> {
        let searched = self.path.searched().iter().take_while(|namespace| **namespace != NamespaceId::PG_CATALOG);
        searched.copied().find_map(|namespace| self.catalog.type_in(namespace, name))
    }

    /// Whether a bare name means a created type, or the array over one, though a built-in one has the name too.
    pub(crate) fn hides_built_in(self, name: &str) -> bool {
        let array = || name.strip_prefix('_').and_then(|element| self.type_before_catalog(element)?.scalar());
        (self.type_before_catalog(name).is_some() || array().is_some()) && in_catalog(name).is_some()
    }

    /// The type of that name that somebody created: an enum, a table's rows or an extension's, or the array over one; of a domain the
    /// type below.
    pub(crate) fn created_type<'n>(self, before: impl Into<Qualifier<'n>>, name: &str) -> Option<ScalarType> {
        let before = before.into();
        let plain = self.type_named(before, name).map(|found| found.column_type().scalar);
        let array = || {
            let element = self.element_named(before, name)?;
            element.scalar().map(|scalar| scalar.array())
        };
        // Kept texts name none: nothing would hold the table.
        let names_rows = !self.path.is_of_kept_texts();
        let relation = |name: &str| match names_rows.then(|| self.class(before, name))?? {
            Class::Relation(table) => Some(table),
            Class::Sequence(_) | Class::Index(..) | Class::Composite(_) | Class::System(_) => None,
        };
        let row = |table: &Table| table.row_type().map(ScalarType::Record);
        let rows = || {
            let names = self.catalog.array_names();
            let mut tables = stripped(name).filter_map(relation);
            row(tables.find(|table| names.of(table.id.0, &table.name) == name)?).map(|row| row.array())
        };
        plain
            .or_else(array)
            .or_else(|| row(relation(name)?))
            .or_else(rows)
            .or_else(|| self.extension_type(before, name))
    }

    /// The type of that name that an extension has, which stands in `public`. Kept texts were read when it was there.
    fn extension_type(self, before: Qualifier<'_>, name: &str) -> Option<ScalarType> {
        let (found, extension) = ScalarType::of_extension(name)?;
        if self.path.is_of_kept_texts() {
            return before.schema.is_none_or(|schema| schema == "public").then_some(found);
        }
        let public = self.catalog.namespace_by_name(self.path.home, "public")?;
        let is_seen = match before.schema {
            Some(schema) => self.namespace_in(before.database, schema) == Some(public),
            None => self.path.searched().contains(&public),
        };
        (is_seen && self.catalog.has_extension(self.path.home, extension)).then_some(found)
    }

    /// Whether an extension was created, or texts are read that were kept when it was.
    pub(crate) fn has_extension(self, extension: &str) -> bool {
        self.path.is_of_kept_texts() || self.catalog.has_extension(self.path.home, extension)
    }

    /// Whether the bare name of an extension's type means it.
    pub(crate) fn sees_extension_type(self, scalar: &ScalarType) -> bool {
        self.created_type(None, &scalar.type_name()).as_ref() == Some(scalar)
    }

    /// A type as SQL must spell it to be found, with its modifier.
    pub fn spelled_scalar(self, scalar: &ScalarType, modifier: i32) -> String {
        match scalar {
            ScalarType::Array(element) => format!("{}[]", self.spelled_scalar(element, modifier)),
            other if other.extension().is_some() && !self.sees_extension_type(other) => {
                format!("public.{}", other.format_type(modifier))
            }
            other => match other.created().and_then(|id| self.catalog.types.get(&id)) {
                Some(found) => self.spelled_type(found),
                None if other.created().is_some() => {
                    let table = other.created().and_then(|id| self.catalog.table_of_row_type(id));
                    table.map_or_else(String::new, |table| self.spelled_table(table))
                }
                None if self.sees_built_in(other) => other.format_type(modifier),
                None => format!("pg_catalog.{}", other.format_type(modifier)),
            },
        }
    }

    /// A domain, or an array of one, by what a column has for its domain, as SQL must spell it.
    pub fn spelled_domain(self, domain: Id) -> Option<String> {
        if let Some(found) = self.catalog.types.get(&domain) {
            return Some(self.spelled_type(found));
        }
        let element = self.catalog.types.get(&of_elements(self.catalog, domain)?)?;
        Some(format!("{}[]", self.spelled_type(element)))
    }

    /// Whether the bare name of a built-in type means it.
    pub(crate) fn sees_built_in(self, scalar: &ScalarType) -> bool {
        let name = scalar.type_name();
        // SQL's own words for types are theirs, whatever is created.
        scalar.name() != name || ScalarType::is_word(&name) || !self.hides_built_in(&name)
    }

    /// Whether the bare name of a relation, sequence or index means it.
    pub(crate) fn sees_class(self, name: &str, oid: Id) -> bool {
        self.class(None, name).is_some_and(|found| found.oid() == oid)
    }

    /// Whether the bare name of a type means it.
    pub(crate) fn sees_type(self, found: &CreatedType) -> bool {
        (builtin(&found.name).is_none() || self.type_before_catalog(&found.name).is_some())
            && self.type_named(None, &found.name).is_some_and(|seen| seen.id == found.id)
    }

    /// A relation, sequence or index as SQL must spell it to be found.
    pub(crate) fn spelled_by_oid(self, oid: Id) -> Option<String> {
        let class = self.catalog.class_by_oid(oid)?;
        Some(match class {
            Class::Relation(table) => self.spelled_table(table),
            Class::Sequence(sequence) => self.spelled_sequence(sequence),
            Class::Index(table, index) => self.spelled_index(table, index),
            Class::Composite(found) => self.spelled_type(found),
            Class::System(relation) if self.sees_class(relation.name, oid) => quote_identifier(relation.name),
            Class::System(relation) => format!("{}.{}", relation.schema, quote_identifier(relation.name)),
        })
    }

    /// A table or view as SQL must spell it to be found.
    pub fn spelled_table(self, table: &Table) -> String {
        self.spelled(table.namespace, &table.name, self.sees_class(&table.name, table.id.0))
    }

    /// A sequence as SQL must spell it to be found.
    pub fn spelled_sequence(self, sequence: &Sequence) -> String {
        self.spelled(sequence.namespace, &sequence.name, self.sees_class(&sequence.name, sequence.id.0))
    }

    /// An index as SQL must spell it to be found.
    pub(crate) fn spelled_index(self, table: &Table, index: &Index) -> String {
        self.spelled(table.namespace, &index.name, self.sees_class(&index.name, index.id.0))
    }

    /// A type as SQL must spell it to be found.
    pub fn spelled_type(self, found: &CreatedType) -> String {
        self.spelled(found.namespace, &found.name, self.sees_type(found))
    }

    fn spelled(self, namespace: NamespaceId, name: &str, seen: bool) -> String {
        if seen { quote_identifier(name) } else { self.qualified(namespace, name) }
    }

    /// A name behind its schema's.
    pub(crate) fn qualified(self, namespace: NamespaceId, name: &str) -> String {
        format!("{}.{}", self.qualifier(namespace), quote_identifier(name))
    }

    /// What stands before a name of that schema.
    pub(crate) fn qualifier(self, namespace: NamespaceId) -> String {
        let schema = quote_identifier(self.catalog.namespace_name(namespace).unwrap_or_default());
        // Kept texts are of all databases.
        let other = self.catalog.databases.get(&self.catalog.database_of(namespace));
        match other.filter(|_| self.path.is_of_kept_texts()) {
            Some(database) => format!("{}.{schema}", quote_identifier(&database.name)),
            None => schema,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, SearchPath, listed};
    use crate::catalog::{Actor, Catalog, DatabaseId, Namespace, NamespaceId, RoleId};

    #[test]
    fn lists_are_read_as_they_are_kept() {
        assert_eq!(listed("\"$user\", public"), ["$user", "public"]);
        assert_eq!(listed(" A ,\"B c\", \"d\"\"e\",\"\""), ["a", "B c", "d\"e"]);
        assert!(listed("").is_empty());
    }

    #[test]
    fn a_path_holds_what_is_there_behind_pg_catalog() {
        let mut catalog = Catalog::default();
        catalog.namespaces.insert(NamespaceId(20_000), Namespace { name: "ada".into(), database: DatabaseId::FIRST });
        let ada = || Actor::of_login(RoleId::FIRST, "ada".into());
        let path = |setting: &str| SearchPath::of(setting, ada(), ("d", DatabaseId::FIRST), &catalog);
        assert_eq!(path("\"$user\", public, gone").named(), [NamespaceId(20_000), NamespaceId::PUBLIC]);
        assert_eq!(path("public").searched(), [NamespaceId::PG_CATALOG, NamespaceId::PUBLIC]);
        assert_eq!(path("public, pg_catalog").searched(), [NamespaceId::PUBLIC, NamespaceId::PG_CATALOG]);
        assert!(path("public").is_as_kept() && !path("").is_as_kept());
        let scope = Scope { catalog: &catalog, path: &path("") };
        assert!(scope.class(None, "pg_class").is_some() && scope.class(Some("ada"), "pg_class").is_none());
    }
}
