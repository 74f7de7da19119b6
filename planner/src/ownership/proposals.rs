//! What an unannotated schema's tables, columns and foreign keys suggest: statements that annotate it, for a person to judge.
//!
//! ```text
//! names      a table of people, with columns that look personal    ─▶  DATA_SUBJECT
//! references of a table that is nobody's, to what is somebody's     ─▶  OWNED_BY, from the people outwards
//! ```
//! Nothing is declared by it. What one does not follow, the next report proposes again.

use super::compliance::looks_personal;
use super::graph::Dog;
use crate::catalog::{Catalog, ForeignKey, Table};
use crate::scalar::func::quote_identifier;
use repr::{ColumnIndex, RelationId};
use std::collections::{BTreeMap, BTreeSet};

/// An annotation that might be meant.
pub(super) struct Proposal<'a> {
    /// Why.
    pub(super) message: String,
    /// What would declare it.
    pub(super) statement: String,
    /// The foreign key that it annotates, if it annotates one.
    pub(super) key: Option<&'a ForeignKey>,
}

/// What tables of people are called, each in the singular.
const PEOPLE: [&str; 28] = [
    "account",
    "applicant",
    "attendee",
    "author",
    "citizen",
    "client",
    "contact",
    "customer",
    "donor",
    "driver",
    "employee",
    "guest",
    "human",
    "individual",
    "learner",
    "lead",
    "member",
    "participant",
    "passenger",
    "patient",
    "people",
    "person",
    "player",
    "resident",
    "student",
    "subscriber",
    "teacher",
    "user",
];

/// By table, what is proposed.
pub(super) fn proposals<'a>(catalog: &'a Catalog, dog: &Dog) -> BTreeMap<RelationId, Vec<Proposal<'a>>> {
    let mut found: BTreeMap<RelationId, Vec<Proposal<'a>>> = BTreeMap::new();
    let mut somebodys: BTreeSet<RelationId> =
        catalog.stored_tables().map(|table| table.id).filter(|table| dog.is_personal(*table)).collect();
    if !catalog.stored_tables().any(|table| table.data_subject) {
        for table in people(catalog) {
            somebodys.insert(table.id);
            found.insert(table.id, vec![subject(catalog, table)]);
        }
    }
    // From the people outwards: who is nearer to them is in the round before.
    loop {
        let nobodys = catalog.stored_tables().filter(|table| {
            let is_connected = somebodys.contains(&table.id) || !dog.outgoing(table.id).is_empty();
            !is_connected
        });
        let owned: Vec<(RelationId, Vec<Proposal<'a>>)> = nobodys
            .map(|table| (table.id, edges(catalog, table, &somebodys)))
            .filter(|(_, proposed)| !proposed.is_empty())
            .collect();
        if owned.is_empty() {
            return found;
        }
        somebodys.extend(owned.iter().map(|(table, _)| *table));
        found.extend(owned);
    }
}

/// Tables that look as if each row were a person.
fn people(catalog: &Catalog) -> Vec<&Table> {
    let looks = |table: &&Table| {
        let personal = table.live_columns().any(|(_, column)| looks_personal(&column.name));
        personal && table.primary_key.is_some()
    };
    let all: Vec<&Table> = catalog.stored_tables().map(AsRef::as_ref).filter(looks).collect();
    let named: Vec<&Table> = all.iter().copied().filter(|table| is_of_people(&table.name)).collect();
    if !named.is_empty() {
        return named;
    }
    let references = |table: &&&Table| {
        let refers = |other: &ForeignKey| other.target == table.id;
        catalog.stored_tables().filter(|other| other.id != table.id && other.foreign_keys.iter().any(refers)).count()
    };
    // Without a name that says so, the one that most others refer to.
    all.iter().max_by_key(references).filter(|table| references(table) > 0).copied().into_iter().collect()
}

/// By the last word of its name: `auth_user`, `customers`, but not `user_roles`.
fn is_of_people(name: &str) -> bool {
    let lower = name.to_lowercase();
    let last = lower.rsplit(|character: char| !character.is_alphabetic()).find(|word| !word.is_empty());
    last.is_some_and(|word| PEOPLE.contains(&word) || word.strip_suffix('s').is_some_and(|one| PEOPLE.contains(&one)))
}

fn subject<'a>(catalog: &'a Catalog, table: &Table) -> Proposal<'a> {
    Proposal {
        message: format!("if each row of \"{}\" is one natural person, these are the data subjects", table.name),
        statement: format!("SECURITY LABEL FOR dogwood ON TABLE {} IS 'DATA_SUBJECT';", spelled(catalog, table)),
        key: None,
    }
}

/// The references by which a table's rows may be somebody's: of those that cannot be NULL all, if there are any.
fn edges<'a>(catalog: &'a Catalog, table: &'a Table, somebodys: &BTreeSet<RelationId>) -> Vec<Proposal<'a>> {
    let is_candidate = |key: &&ForeignKey| {
        key.annotation.is_none() && !key.only && key.target != table.id && somebodys.contains(&key.target)
    };
    let keys: Vec<&ForeignKey> = table.foreign_keys.iter().filter(is_candidate).collect();
    let is_certain = |key: &&ForeignKey| key.columns.iter().all(|column| !table.columns[*column].column_type.nullable);
    let certain: Vec<&ForeignKey> = keys.iter().copied().filter(is_certain).collect();
    let chosen = if certain.is_empty() { &keys } else { &certain };
    chosen.iter().filter_map(|key| edge(catalog, table, key, chosen.len())).collect()
}

fn edge<'a>(catalog: &'a Catalog, table: &Table, key: &'a ForeignKey, of: usize) -> Option<Proposal<'a>> {
    let target = catalog.table(key.target)?;
    let listed = |table: &Table, columns: &[ColumnIndex]| {
        let names: Vec<String> = columns.iter().map(|column| quote_identifier(&table.columns[*column].name)).collect();
        names.join(", ")
    };
    let owner = format!("OWNED_BY {}({})", spelled(catalog, target), listed(target, &key.target_columns));
    let own = listed(table, &key.columns);
    let (object, label) = match key.columns.as_slice() {
        [_] => (format!("COLUMN {}.{own}", spelled(catalog, table)), owner),
        _ => (format!("TABLE {}", spelled(catalog, table)), format!("FOREIGN KEY ({own}) {owner}")),
    };
    let whose = match of {
        1 => format!("who owns the row of \"{}\" that it refers to may own it", target.name),
        _ => format!(
            "who owns the row of \"{}\" that it refers to may own it with others; say ACCESSED_BY of who shall only see it",
            target.name
        ),
    };
    let nullable = key.columns.iter().any(|column| table.columns[*column].column_type.nullable);
    let unless = if nullable { "; a row with NULL there would be nobody's" } else { "" };
    Some(Proposal {
        message: format!("{whose}{unless}"),
        statement: format!("SECURITY LABEL FOR dogwood ON {object} IS '{}';", label.replace('\'', "''")),
        key: Some(key),
    })
}

/// A table as SQL names it from any schema.
fn spelled(catalog: &Catalog, table: &Table) -> String {
    let name = quote_identifier(&table.name);
    match catalog.namespace_name(table.namespace).filter(|schema| *schema != "public") {
        Some(schema) => format!("{}.{name}", quote_identifier(schema)),
        None => name,
    }
}
