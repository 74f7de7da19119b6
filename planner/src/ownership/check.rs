//! Whether the DOG is well formed: asked when a DDL transaction commits.
//!
//! SQLSTATEs, each refusal with the edge and a hint:
//!   42P16 invalid_table_definition   a data-subject table without primary key, or whose primary key is a foreign key
//!                                    into rows that can be erased; a rule that cannot be (primary keys, other
//!                                    ownership edges, DELETE_ROW of people, a subject's own key, foreign edges)
//!   DG004 incomplete_ownership       an ownership path or access edge that reaches no data subject; also the answer
//!                                    to INSERT into a table that is pending for that reason
//!   DG005 ownership_cycle            ownership that runs in a circle between different tables
//! What labels and comments left incomplete is pending instead, as long as the tables are empty: see `incomplete`.

use super::graph::{Dog, Edge};
use super::{column_names, describe_edge_ref};
use crate::catalog::{Catalog, DefaultValue, EdgeRef, Rule, RuleAction, RuleEvent, Table};
use crate::error::PlanError;
use repr::{ColumnIndex, RelationId};
use std::collections::BTreeSet;

/// A table whose part of the graph is not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// The table: its rows could not be placed.
    pub table: RelationId,
    /// Why, as the refusal it becomes if the table has rows, or on INSERT.
    pub error: PlanError,
    /// Declared by labels, comments or ALTER, one at a time: may stay pending. Otherwise refused at commit.
    pub may_wait: bool,
}

/// Checks the graph at commit.
///
/// While `restoring`, incomplete graphs wait even where DDL clauses declared them; everything else is refused
/// in any case. A table that may wait must be empty: the engine looks, and answers with `Incomplete::error` if not.
///
/// # Errors
/// The first refusal, in order of tables.
pub fn check(catalog: &Catalog, restoring: bool) -> Result<(), PlanError> {
    let dog = Dog::new(catalog);
    if let Some(found) = malformed(catalog, &dog).into_iter().next() {
        return Err(found.error);
    }
    if restoring {
        return Ok(());
    }
    match incomplete(catalog, &dog).into_iter().find(|found| !found.may_wait) {
        Some(found) => Err(found.error),
        None => Ok(()),
    }
}

/// Every table that must not be as it is, however complete the graph.
pub fn malformed(catalog: &Catalog, dog: &Dog) -> Vec<Incomplete> {
    let mut found = Vec::new();
    let mut add = |table: RelationId, error: PlanError| found.push(Incomplete { table, error, may_wait: false });
    if let (_, Some(cycle)) = dog.ownership_order() {
        let error = cycle_error(catalog, &cycle);
        cycle.iter().for_each(|edge| add(edge.near, error.clone()));
    }
    let erasable = erasable_tables(catalog, dog);
    for table in catalog.stored_tables() {
        let subject = check_subject(catalog, table, &erasable);
        let rules = table.rules.iter().map(|rule| check_rule(catalog, dog, table, rule));
        let refused = std::iter::once(subject).chain(rules).find_map(Result::err);
        refused.into_iter().for_each(|error| add(table.id, error));
    }
    found
}

/// Every table whose rows could not be placed yet.
pub(crate) fn incomplete(catalog: &Catalog, dog: &Dog) -> Vec<Incomplete> {
    let owning = dog.reaching_subjects(false);
    let any = dog.reaching_subjects(true);
    let mut found = Vec::new();
    for table in catalog.stored_tables() {
        if let Some(entry) = catalog.pending_annotations.get(&table.id).and_then(|entries| entries.first()) {
            let place = match entry.column {
                Some(column) => format!("{}.{}", table.name, table.columns[column].name),
                None => table.name.clone(),
            };
            found.push(Incomplete {
                table: table.id,
                error: PlanError::new(
                    "DG004",
                    format!("table \"{}\" waits for what its annotations name", table.name),
                )
                .detail(format!("on {place}: {}", entry.text))
                .hint("create the table, key or edge that it names, or remove the label; rows may come first with SET dogwood.restoring = on"),
                may_wait: true,
            });
        }
        if let Err(error) = super::require_retention(catalog, table) {
            found.push(Incomplete { table: table.id, error, may_wait: false });
        }
        let only_self = dog.ownership(table.id).all(Edge::is_self);
        for edge in dog.outgoing(table.id) {
            let error = if edge.is_ownership() && only_self && edge.is_self() && !table.data_subject {
                PlanError::new("DG004", format!("table \"{}\" is owned by nothing but itself", table.name))
                    .hint("add an OWNED_BY edge to a table that belongs to a data subject, or use a plain REFERENCES")
            } else if edge.is_ownership() && !owning.contains(&edge.far) {
                PlanError::new(
                    "DG004",
                    format!("rows of table \"{}\" would have no owner: the edge reaches no data subject", table.name),
                )
                .hint(format!(
                    "declare table \"{}\" DATA_SUBJECT, or give it an ownership edge that leads to a data subject",
                    name_of(catalog, edge.far)
                ))
            } else if !edge.is_ownership() && !any.contains(&edge.far) {
                PlanError::new(
                    "DG004",
                    format!(
                        "nobody could access rows of table \"{}\" by this edge: it reaches no data subject",
                        table.name
                    ),
                )
                .hint(format!(
                    "connect table \"{}\" to a data subject first, or use a plain REFERENCES",
                    name_of(catalog, edge.far)
                ))
            } else {
                continue;
            };
            let error = error.detail(format!("edge: {}", describe_edge_ref(catalog, edge.reference)));
            let may_wait = catalog.labelled_edges.contains_key(&edge.reference);
            found.push(Incomplete { table: table.id, error, may_wait });
        }
    }
    found
}

fn cycle_error(catalog: &Catalog, cycle: &[Edge]) -> PlanError {
    let edges: Vec<String> = cycle.iter().map(|edge| describe_edge_ref(catalog, edge.reference)).collect();
    let tables: Vec<String> = cycle.iter().map(|edge| format!("\"{}\"", name_of(catalog, edge.near))).collect();
    PlanError::new("DG005", format!("ownership runs in a circle between tables {}", tables.join(", ")))
        .detail(format!("edges: {}", edges.join("; ")))
        .hint("make one of these edges ACCESSED_BY, or a plain REFERENCES")
}

fn check_subject(catalog: &Catalog, table: &Table, erasable: &BTreeSet<RelationId>) -> Result<(), PlanError> {
    if !table.data_subject {
        return Ok(());
    }
    let Some(primary_key) = table.primary_key_columns() else {
        return Err(PlanError::new("42P16", format!("data-subject table \"{}\" has no primary key", table.name))
            .detail("A data subject is identified by its table and primary key.")
            .hint("declare a PRIMARY KEY"));
    };
    for key in &table.foreign_keys {
        let in_primary_key = key.columns.iter().all(|column| primary_key.contains(column));
        if in_primary_key && erasable.contains(&key.target) && key.target != table.id {
            return Err(PlanError::new(
                "42P16",
                format!("the primary key of data-subject table \"{}\" refers to rows that can be erased", table.name),
            )
            .detail(format!("edge: {}", super::describe_edge(catalog, table, key)))
            .hint("erasing the referenced row would have to erase this person too: give the table a key of its own"));
        }
    }
    Ok(())
}

/// Tables whose rows an erasure may delete: personal ones, and those that follow them by CASCADE or because a
/// primary-key column would be blanked.
pub(super) fn erasable_tables(catalog: &Catalog, dog: &Dog) -> BTreeSet<RelationId> {
    use crate::catalog::ReferentialAction;
    let mut erasable: BTreeSet<RelationId> = dog.tables().filter(|table| dog.is_personal(*table)).collect();
    loop {
        let before = erasable.len();
        for table in catalog.stored_tables() {
            let primary_key = table.primary_key_columns().unwrap_or_default();
            let follows = table.foreign_keys.iter().any(|key| {
                erasable.contains(&key.target)
                    && (key.on_delete == ReferentialAction::Cascade
                        || key.columns.iter().all(|column| primary_key.contains(column)))
            });
            if follows {
                erasable.insert(table.id);
            }
        }
        if erasable.len() == before {
            return erasable;
        }
    }
}

fn check_rule(catalog: &Catalog, dog: &Dog, table: &Table, rule: &Rule) -> Result<(), PlanError> {
    let description = describe_edge_ref(catalog, rule.edge);
    let event = match rule.event {
        RuleEvent::Get => "ON GET",
        RuleEvent::Del => "ON DEL",
    };
    let refuse = |message: String, hint: &str| Err(refused(message, &description, hint));
    let Some(edge) = dog.edge(rule.edge).filter(|edge| edge.near == table.id) else {
        return refuse(
            format!("a rule {event} of table \"{}\" names an edge that is not one of its rows' edges", table.name),
            "a rule is about the rows at the edge's far side from the data subject; drop it, or attach it there",
        );
    };
    let primary_key = table.primary_key_columns().unwrap_or_default();
    if rule.event == RuleEvent::Get {
        return Ok(());
    }
    if table.data_subject && edge.own_columns().iter().any(|column| primary_key.contains(column)) {
        return refuse(
            format!("ON DEL cannot stand on the own key of data-subject table \"{}\"", table.name),
            "a data subject's own row is erased by its own request only; drop the rule",
        );
    }
    match &rule.action {
        RuleAction::DeleteRow if table.data_subject => refuse(
            format!(
                "ON DEL … DELETE_ROW would erase a person of data-subject table \"{}\" by another's request",
                table.name
            ),
            "use ANON, which blanks the columns and leaves the person",
        ),
        RuleAction::DeleteRow => Ok(()),
        RuleAction::Anon(columns) => {
            columns.iter().try_for_each(|&column| check_blanked(catalog, dog, table, (rule.edge, columns), column))
        }
    }
}

/// That ON DEL may blank a column, which is among those of the rule on an edge.
fn check_blanked(
    catalog: &Catalog,
    dog: &Dog,
    table: &Table,
    (edge, columns): (EdgeRef, &[ColumnIndex]),
    column: ColumnIndex,
) -> Result<(), PlanError> {
    let description = describe_edge_ref(catalog, edge);
    let primary_key = table.primary_key_columns().unwrap_or_default();
    let name = &table.columns[column].name;
    if primary_key.contains(&column) {
        return Err(refused(
            format!("ON DEL cannot blank \"{name}\", a primary-key column of table \"{}\"", table.name),
            &description,
            "leave the column out, or use DELETE_ROW",
        ));
    }
    if matches!(table.columns[column].default, Some(DefaultValue::Generated(_))) {
        return Err(refused(
            format!("ON DEL cannot blank \"{name}\", a generated column of table \"{}\"", table.name),
            &description,
            "blank the columns that it is computed from",
        ));
    }
    let other = dog
        .ownership(table.id)
        .chain(dog.incoming(table.id).iter().filter(|other| other.is_ownership() && !other.along_foreign_key()))
        .find(|other| {
            let own = if other.along_foreign_key() { &other.near_columns } else { &other.far_columns };
            let stands_here = other.reference.table == table.id;
            other.reference != edge && stands_here && own.contains(&column)
        });
    if let Some(other) = other {
        return Err(PlanError::new(
            "42P16",
            format!(
                "ON DEL cannot blank \"{name}\", which another ownership edge of table \"{}\" stands on",
                table.name
            ),
        )
        .detail(format!(
            "rule on edge: {description}; columns ({}); other edge: {}",
            column_names(table, columns),
            describe_edge_ref(catalog, other.reference)
        ))
        .hint("blanking it would take the row from its other owners; leave the column out"));
    }
    Ok(())
}

fn refused(message: String, edge: &str, hint: &str) -> PlanError {
    PlanError::new("42P16", message).detail(format!("edge: {edge}")).hint(hint)
}

fn name_of(catalog: &Catalog, table: RelationId) -> String {
    catalog.table(table).map(|table| catalog.full_name(table).into_owned()).unwrap_or_default()
}
