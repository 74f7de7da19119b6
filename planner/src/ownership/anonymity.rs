//! Rows that stay when they are kept no longer, and say no more whose they were.
//!
//! They are left as erasures of the people at the table's own edges with ON DEL rules would leave them. A row of a personal table
//! has an owner after every commit: another edge has to give it one.

use super::blanking::blankable;
use super::graph::Dog;
use crate::catalog::{Catalog, EdgeKind, ForeignKey, Property, Retention, RetentionEnd, RuleAction, RuleEvent, Table};
use crate::error::PlanError;
use repr::ColumnIndex;
use std::collections::BTreeSet;

/// 42P16 if what becomes of a table's rows cannot be done to them.
pub(crate) fn require_retention(catalog: &Catalog, table: &Table) -> Result<(), PlanError> {
    let Some(Retention { then, .. }) = &table.retention else { return Ok(()) };
    if table.property(Property::Expires).is_none() {
        let message = format!("no column of table \"{}\" says until when its rows are kept", table.name);
        return Err(PlanError::new("42P16", message)
            .hint("ALTER TABLE … RESET (retain) ends what is said of it; ALTER COLUMN … SET EXPIRES gives it one."));
    }
    match then {
        RetentionEnd::Delete => Ok(()),
        RetentionEnd::Anonymize => anonymity(catalog, table).map(|_| ()),
        RetentionEnd::HandOver if table.data_subject => {
            let message = format!("people's own rows in table \"{}\" cannot be handed over", table.name);
            Err(PlanError::new("42P16", message)
                .detail("Their keys go with them.")
                .hint("GDPR FORGET … GRACE keeps what an erasure takes for a while."))
        }
        RetentionEnd::HandOver => Ok(()),
    }
}

/// How a row is anonymized.
pub(crate) struct Anonymity {
    /// What is blanked.
    pub blanked: BTreeSet<ColumnIndex>,
    /// The columns of each edge by which the row keeps an owner; none in a table that is nobody's.
    pub kept: Vec<Vec<ColumnIndex>>,
}

/// How rows of a table are anonymized.
///
/// # Errors
/// 42P16 if a row could not stay so.
pub(crate) fn anonymity(catalog: &Catalog, table: &Table) -> Result<Anonymity, PlanError> {
    let refused = |detail: String| {
        PlanError::new("42P16", format!("rows of table \"{}\" cannot be anonymized", table.name)).detail(detail)
    };
    if table.data_subject {
        return Err(refused("Each of its rows is a person.".to_owned()).hint("then = 'delete' deletes them."));
    }
    let expires = table.property(Property::Expires).map(|column| &table.columns[column]);
    if let Some(column) = expires.filter(|column| !column.column_type.nullable) {
        return Err(refused(format!(
            "Its column \"{}\" is NOT NULL, and an anonymized row expires no more.",
            column.name
        ))
        .hint("ALTER TABLE … ALTER COLUMN … DROP NOT NULL"));
    }
    let mut blanked = BTreeSet::new();
    for key in table.foreign_keys.iter().filter(|key| stands_in(key)) {
        blanked.extend(blanked_at(table, key).map_err(refused)?);
    }
    if blanked.is_empty() {
        return Err(refused("No ON DEL rule on an edge of its own says which columns are blanked.".to_owned())
            .hint("ALTER TABLE … ADD ON DEL edge ANON (edge, columns)"));
    }
    let is_named = |key: &ForeignKey| key.target == table.id && key.target_columns.iter().any(|c| blanked.contains(c));
    if catalog.relations.values().flat_map(|other| &other.foreign_keys).any(is_named) {
        return Err(refused("A foreign key refers to a column that would be blanked.".to_owned()));
    }
    let keeps_owner = |key: &ForeignKey| {
        key.annotation == Some(EdgeKind::OwnedBy)
            && key.target != table.id
            && !key.columns.iter().any(|column| blanked.contains(column))
    };
    let kept: Vec<Vec<ColumnIndex>> =
        table.foreign_keys.iter().filter(|key| keeps_owner(key)).map(|key| key.columns.clone()).collect();
    if Dog::new(catalog).is_personal(table.id) && kept.is_empty() {
        return Err(refused(
            "They would be left without an owner: no other edge OWNED_BY stays when these are cut.".to_owned(),
        )
        .hint("then = 'delete' deletes them, then = 'hand over' keeps them sealed for controllers."));
    }
    Ok(Anonymity { blanked, kept })
}

/// Whether an edge's columns stand in the row that it gives owners or accessors.
fn stands_in(key: &ForeignKey) -> bool {
    matches!(key.annotation, Some(EdgeKind::OwnedBy | EdgeKind::AccessedBy))
}

/// What the rules on one of a table's own edges blank, with the edge; nothing where there is no rule.
fn blanked_at(table: &Table, key: &ForeignKey) -> Result<BTreeSet<ColumnIndex>, String> {
    let mut blanked = BTreeSet::new();
    let is_its = |edge: &crate::catalog::EdgeRef| edge.table == table.id && edge.foreign_key == key.constraint.id;
    for rule in table.rules.iter().filter(|rule| rule.event == RuleEvent::Del && is_its(&rule.edge)) {
        match &rule.action {
            RuleAction::Anon(columns) => blanked.extend(columns),
            RuleAction::DeleteRow => return Err("An ON DEL rule on one of its edges deletes the row.".to_owned()),
        }
    }
    if blanked.is_empty() || key.columns.iter().any(|column| blanked.contains(column)) {
        return Ok(blanked);
    }
    // As an erasure does: what tied the row to the person is cut, whatever the rule leaves out.
    blanked.extend(blankable(table, &key.columns).ok_or("Its primary key says whose a row is.")?);
    Ok(blanked)
}
