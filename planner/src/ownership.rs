//! The data ownership graph: who owns and who may access what, read from the catalog's annotated foreign keys.
//!
//! `graph` is the DOG itself, `path` its paths to people, `check` whether it is well formed, `blanking` what erasures may
//! blank, `anonymity` rows that outlive their owners, `compliance` what a data-protection officer should know about it, `data_map`
//! what becomes of whose rows, `drawing` the graph as text, `traversal` the plan of subject requests, `redaction` what they do not
//! show. Pure: knows declarations, never rows.

mod anonymity;
pub mod blanking;
pub mod check;
pub mod compliance;
pub mod data_map;
pub mod drawing;
pub mod graph;
pub mod path;
mod proposals;
pub mod redaction;
pub mod traversal;

pub(crate) use anonymity::{Anonymity, anonymity, require_retention};
pub(crate) use check::incomplete;
pub use check::{Incomplete, check, malformed};
pub use compliance::{About, ComplianceRow, Severity, compliance, looks_personal};
pub use data_map::{Mapped, data_map, people_of};
pub use drawing::{dot, json};
pub use graph::{Dog, Edge, KeyForm, key_form};
pub use path::OwnershipPath;

use crate::catalog::{Catalog, EdgeKind, EdgeRef, ForeignKey, Scope, Table};
use repr::{ColumnIndex, RelationId};

/// The word of an annotation.
pub fn edge_word(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::OwnedBy => "OWNED_BY",
        EdgeKind::Owns => "OWNS",
        EdgeKind::AccessedBy => "ACCESSED_BY",
        EdgeKind::Accesses => "ACCESSES",
    }
}

/// `stories.author OWNED_BY users(id)`, as it was declared.
pub(crate) fn describe_edge(catalog: &Catalog, table: &Table, key: &ForeignKey) -> String {
    let word = key.annotation.map_or("REFERENCES", edge_word);
    let target = catalog.table(key.target).map_or_else(String::new, |target| {
        format!("{}({})", catalog.full_name(target), column_names(target, &key.target_columns))
    });
    let name = catalog.full_name(table);
    match key.columns.as_slice() {
        [only] => format!("{name}.{} {word} {target}", table.columns[*only].name),
        several => format!("{name}({}) {word} {target}", column_names(table, several)),
    }
}

/// The same for an edge by its reference.
pub(crate) fn describe_edge_ref(catalog: &Catalog, edge: EdgeRef) -> String {
    foreign_key(catalog, edge).map_or_else(String::new, |(table, key)| describe_edge(catalog, table, key))
}

/// The edges that leave a table's rows towards people: those that rules on the table may name.
pub(crate) fn edges_of_rows(catalog: &Catalog, table: RelationId) -> Vec<EdgeRef> {
    let dog = Dog::new(catalog);
    dog.outgoing(table).iter().map(|edge| edge.reference).collect()
}

/// How a rule on `table` names an edge: `column`, `(column, column)`, or `other(columns)`.
pub(crate) fn edge_in_rules(scope: Scope<'_>, table: RelationId, edge: EdgeRef) -> String {
    let Some((holder, key)) = foreign_key(scope.catalog, edge) else { return String::new() };
    let columns: Vec<String> =
        key.columns.iter().map(|&column| quote_identifier(&holder.columns[column].name)).collect();
    let own = holder.id == table && matches!(key.annotation, Some(EdgeKind::OwnedBy | EdgeKind::AccessedBy));
    match (own, columns.as_slice()) {
        (true, [only]) => only.clone(),
        (true, several) => format!("({})", several.join(", ")),
        (false, columns) => format!("{}({})", scope.spelled_table(holder), columns.join(", ")),
    }
}

/// The foreign key of an edge and the table that has it.
pub fn foreign_key(catalog: &Catalog, edge: EdgeRef) -> Option<(&Table, &ForeignKey)> {
    let table = catalog.table(edge.table)?;
    let key = table.foreign_keys.iter().find(|key| key.constraint.id == edge.foreign_key)?;
    Some((table, key))
}

/// A name as it must be written in SQL.
pub fn quote_identifier(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !crate::parse::is_reserved(name);
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

pub(crate) fn column_names(table: &Table, columns: &[ColumnIndex]) -> String {
    columns.iter().map(|&column| table.columns[column].name.as_str()).collect::<Vec<_>>().join(", ")
}
