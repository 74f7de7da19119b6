//! Which columns of rows that outlive an erasure it may blank. Declarations only, and on the safe side: a column that
//! is not named here is never blanked.

use super::check::erasable_tables;
use super::graph::Dog;
use super::{describe_edge, describe_edge_ref};
use crate::catalog::{Catalog, EdgeKind, EdgeRef, ForeignKey, ReferentialAction, RuleAction, RuleEvent, Table};
use repr::{ColumnIndex, RelationId};
use std::collections::{BTreeMap, BTreeSet};

/// Each column that an erasure may blank, with the first reason found.
pub(crate) fn blanked_columns(
    catalog: &Catalog,
    dog: &Dog,
    erasable: &BTreeSet<RelationId>,
    table: &Table,
) -> BTreeMap<ColumnIndex, String> {
    let mut blanked = BTreeMap::new();
    for rule in table.rules.iter().filter(|rule| rule.event == RuleEvent::Del) {
        if let RuleAction::Anon(columns) = &rule.action {
            let why = format!("ON DEL on edge {}", describe_edge_ref(catalog, rule.edge));
            columns.iter().for_each(|&column| {
                blanked.entry(column).or_insert_with(|| why.clone());
            });
        }
    }
    let primary_key = table.primary_key_columns().unwrap_or_default();
    for key in table.foreign_keys.iter().filter(|key| erasable.contains(&key.target)) {
        if outlives(catalog, dog, erasable, table, key) {
            let why = format!("erasure through {}", describe_edge(catalog, table, key));
            key.columns.iter().for_each(|&column| {
                blanked.entry(column).or_insert_with(|| why.clone());
            });
        }
    }
    // A row whose primary key would have to be blanked goes.
    blanked.retain(|column, _| !primary_key.contains(column));
    blanked
}

/// Whether a row may outlive the row that its foreign key refers to, were it not for what its primary key says.
pub fn outlives(
    catalog: &Catalog,
    dog: &Dog,
    erasable: &BTreeSet<RelationId>,
    table: &Table,
    key: &ForeignKey,
) -> bool {
    let edge = EdgeRef { table: table.id, foreign_key: key.constraint.id };
    if deletes_rows(table, Some(edge)) {
        return false;
    }
    match key.annotation {
        // A cascade spares data subjects.
        None => key.on_delete != ReferentialAction::Cascade || table.data_subject,
        Some(EdgeKind::OwnedBy) => !is_sole_ownership(dog, table, edge),
        // Who owns the row owns the other one too, which is erased before it only by a rule or a key of its own.
        Some(EdgeKind::Owns) => {
            let Some(target) = catalog.table(key.target) else { return true };
            let primary_key = target.primary_key_columns().unwrap_or_default();
            target.data_subject
                || deletes_rows(target, None)
                || target.foreign_keys.iter().filter(|own| erasable.contains(&own.target)).any(|own| {
                    let cascades = own.annotation.is_none() && own.on_delete == ReferentialAction::Cascade;
                    cascades || own.columns.iter().any(|column| primary_key.contains(column))
                })
        }
        Some(EdgeKind::AccessedBy | EdgeKind::Accesses) => true,
    }
}

/// Whether an edge is all that gives the table's rows owners: each has the owners of the row that it names, and goes
/// with it.
pub(crate) fn is_sole_ownership(dog: &Dog, table: &Table, edge: EdgeRef) -> bool {
    let mut edges = dog.ownership(table.id);
    let only = edges.next().filter(|_| edges.next().is_none());
    !table.data_subject
        && only.is_some_and(|only| only.reference == edge && only.along_foreign_key() && !only.is_self())
}

/// Whether a rule erases the table's rows for everyone: one on that edge, or any.
fn deletes_rows(table: &Table, edge: Option<EdgeRef>) -> bool {
    table.rules.iter().any(|rule| {
        rule.event == RuleEvent::Del
            && matches!(rule.action, RuleAction::DeleteRow)
            && edge.is_none_or(|edge| edge == rule.edge)
    })
}

/// All columns that an erasure may blank.
pub(crate) fn all_blanked(catalog: &Catalog) -> BTreeSet<(RelationId, ColumnIndex)> {
    let dog = Dog::new(catalog);
    let erasable = erasable_tables(catalog, &dog);
    let of_table = |table: &Table| {
        let id = table.id;
        blanked_columns(catalog, &dog, &erasable, table).into_keys().map(move |column| (id, column))
    };
    catalog.stored_tables().flat_map(|table| of_table(table)).collect()
}

/// Which columns of a foreign key are blanked so that it names nothing: those in no primary key and no other
/// foreign key, else those outside the primary key. `None`: only key columns are left, the row must go.
pub fn blankable(table: &Table, columns: &[ColumnIndex]) -> Option<Vec<ColumnIndex>> {
    let primary = table.primary_key_columns().unwrap_or(&[]);
    let outside: Vec<ColumnIndex> = columns.iter().copied().filter(|column| !primary.contains(column)).collect();
    let users = |column: &ColumnIndex| table.foreign_keys.iter().filter(|key| key.columns.contains(column)).count();
    let alone: Vec<ColumnIndex> = outside.iter().copied().filter(|column| users(column) <= 1).collect();
    if !alone.is_empty() {
        return Some(alone);
    }
    if outside.is_empty() { None } else { Some(outside) }
}
