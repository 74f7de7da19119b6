//! The data map: for each table whose its rows are and by which paths, and what becomes of them when a person is forgotten.
//!
//! Read from declarations alone, as `compliance` is. `dogwood.data_map` gives it as rows.

use super::check::erasable_tables;
use super::graph::{Dog, Edge};
use super::path::OwnershipPath;
use super::{column_names, describe_edge};
use crate::catalog::{Catalog, ForeignKey, ReferentialAction, Rule, RuleAction, RuleEvent, Table};
use repr::id::is_temporary;
use repr::{ColumnIndex, RelationId};
use std::collections::BTreeSet;

/// How a table's rows are tied to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// Each row is a person.
    DataSubject,
    /// People own its rows by a path.
    Owner,
    /// People may access its rows by a path.
    Access,
    /// A plain foreign key leads to rows that can be erased.
    Reference,
    /// By none.
    Nobody,
}

impl Tie {
    /// As it stands in the relation.
    pub fn name(self) -> &'static str {
        match self {
            Tie::DataSubject => "data subject",
            Tie::Owner => "owner",
            Tie::Access => "access",
            Tie::Reference => "reference",
            Tie::Nobody => "nobody",
        }
    }
}

/// One way in which a table's rows are tied to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The table.
    pub table: RelationId,
    /// How.
    pub tie: Tie,
    /// The data-subject table at the path's end; of a reference the table that it leads to.
    pub leads_to: Option<RelationId>,
    /// The edges on the way.
    pub path: Option<String>,
    /// What becomes of a row when whoever it is tied to by this path is forgotten.
    pub on_erasure: String,
}

/// The map: tables by schema and name, of each its paths. What is temporary is not on it.
pub fn data_map(catalog: &Catalog) -> Vec<Mapped> {
    let catalog = &catalog.without_own_tables();
    let dog = Dog::new(catalog);
    let erasable = erasable_tables(catalog, &dog);
    let mut tables: Vec<&Table> =
        catalog.stored_tables().map(AsRef::as_ref).filter(|table| !is_temporary(table.id.0)).collect();
    tables.sort_by_key(|table| (catalog.namespace_name(table.namespace), &table.name));
    tables.into_iter().flat_map(|table| Mapping { catalog, dog: &dog, erasable: &erasable, table }.rows()).collect()
}

struct Mapping<'a> {
    catalog: &'a Catalog,
    dog: &'a Dog,
    erasable: &'a BTreeSet<RelationId>,
    table: &'a Table,
}

impl Mapping<'_> {
    fn rows(&self) -> Vec<Mapped> {
        let table = self.table.id;
        let row = |tie, leads_to, path, on_erasure| Mapped { table, tie, leads_to, path, on_erasure };
        let mut rows = Vec::new();
        if self.table.data_subject {
            rows.push(row(Tie::DataSubject, Some(table), None, "deleted".to_owned()));
        }
        for (tie, paths) in [(Tie::Owner, self.dog.ownership_paths(table)), (Tie::Access, self.dog.access_paths(table))]
        {
            rows.extend(
                paths
                    .iter()
                    .map(|path| row(tie, Some(path.subject), Some(path.describe(self.catalog)), self.erased_by(path))),
            );
        }
        let is_plain = |key: &&ForeignKey| key.annotation.is_none() && self.erasable.contains(&key.target);
        for key in self.table.foreign_keys.iter().filter(is_plain) {
            let path = describe_edge(self.catalog, self.table, key);
            rows.push(row(Tie::Reference, Some(key.target), Some(path), self.erased_with(key)));
        }
        if rows.is_empty() {
            rows.push(row(Tie::Nobody, None, None, "kept".to_owned()));
        }
        rows
    }

    /// By a path to a person.
    fn erased_by(&self, path: &OwnershipPath) -> String {
        let Some(edge) = path.edges.first() else { return "deleted".to_owned() };
        // Whoever accesses a row accesses what hangs on it: by that row's own edge it is decided.
        if edge.is_ownership() && !path.is_ownership() {
            return "kept, unless the row that it leads to goes".to_owned();
        }
        let is_this = |rule: &&Rule| rule.event == RuleEvent::Del && rule.edge == edge.reference;
        match self.table.rules.iter().find(is_this).map(|rule| &rule.action) {
            Some(RuleAction::DeleteRow) => return "deleted".to_owned(),
            Some(RuleAction::Anon(columns)) => return self.blanked(edge, columns),
            None => {}
        }
        if super::blanking::is_sole_ownership(self.dog, self.table, edge.reference) {
            return match self.dog.is_subject(edge.far) {
                true => "deleted".to_owned(),
                false => "deleted with the row that it leads to".to_owned(),
            };
        }
        let own = edge.own_columns();
        match () {
            () if self.is_key(own) => "deleted".to_owned(),
            () if !own.is_empty() => self.blanked(edge, own),
            () if edge.is_ownership() => "deleted with its last owner".to_owned(),
            () => "kept".to_owned(),
        }
    }

    fn blanked(&self, edge: &Edge, columns: &[ColumnIndex]) -> String {
        let columns = column_names(self.table, columns);
        match edge.is_ownership() {
            true => format!("deleted with its last owner, until then blanked: {columns}"),
            false => format!("blanked: {columns}"),
        }
    }

    /// By a plain foreign key.
    fn erased_with(&self, key: &ForeignKey) -> String {
        let cascades = key.on_delete == ReferentialAction::Cascade && !self.table.data_subject;
        if cascades || self.is_key(&key.columns) {
            return "deleted with the row that it leads to".to_owned();
        }
        format!("blanked: {}", column_names(self.table, &key.columns))
    }

    /// Whether blanking these would blank the primary key.
    fn is_key(&self, columns: &[ColumnIndex]) -> bool {
        let key = self.table.primary_key_columns().unwrap_or_default();
        columns.iter().any(|column| key.contains(column))
    }
}

/// The tables of people whose data a table holds, by name.
pub fn people_of(catalog: &Catalog, dog: &Dog, table: RelationId) -> BTreeSet<String> {
    let own = Some(table).filter(|table| dog.is_subject(*table));
    let owners = dog.ownership_paths(table).into_iter().map(|path| path.subject);
    let name = |id| catalog.table(id).map(|table| catalog.full_name(table).into_owned());
    own.into_iter().chain(owners).filter_map(name).collect()
}
