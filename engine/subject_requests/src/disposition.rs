//! What becomes of the rows that a row which goes had tied to a person, or that name it: read from the schema.
//!
//! Decides by rules and foreign keys alone. That a row which only the person owns goes whatever they say, `erase` sees.

use planner::catalog::{ForeignKey, ReferentialAction, RuleAction, RuleEvent};
use planner::ownership::Edge;
use planner::ownership::blanking::blankable;
use repr::ColumnIndex;
use state::shape::TableShape;
use std::collections::BTreeSet;

/// What becomes of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It goes.
    Erase,
    /// It stays, with these columns blank; perhaps none.
    Blank(BTreeSet<ColumnIndex>),
    /// It stays, with these columns at their defaults, or blank where these name nothing.
    Default(BTreeSet<ColumnIndex>),
}

/// Of a row at the near end of an edge from a row that goes.
pub fn at_edge(near: &TableShape, edge: &Edge) -> Disposition {
    let mut blanked: BTreeSet<ColumnIndex> = BTreeSet::new();
    for rule in &near.table().rules {
        if rule.event == RuleEvent::Del && rule.edge == edge.reference {
            match &rule.action {
                RuleAction::Anon(columns) => blanked.extend(columns),
                RuleAction::DeleteRow => return Disposition::Erase,
            }
        }
    }
    // No column of a survivor names an erased row, whatever the rules leave out.
    if edge.along_foreign_key() && !edge.near_columns.iter().any(|column| blanked.contains(column)) {
        match blankable(near.table(), &edge.near_columns) {
            Some(columns) => blanked.extend(columns),
            None => return Disposition::Erase,
        }
    }
    Disposition::Blank(blanked)
}

/// Of a row that names a row which goes.
pub fn at_foreign_key(shape: &TableShape, foreign_key: &ForeignKey) -> Disposition {
    // An annotated edge follows its rules alone; here, its far row survives without the key it was named by.
    let action = match foreign_key.annotation {
        Some(_) => ReferentialAction::SetNull,
        None => foreign_key.on_delete,
    };
    match action {
        ReferentialAction::Cascade if !shape.table().data_subject => Disposition::Erase,
        ReferentialAction::SetDefault => Disposition::Default(foreign_key.columns.iter().copied().collect()),
        ReferentialAction::Cascade
        | ReferentialAction::NoAction
        | ReferentialAction::Restrict
        | ReferentialAction::SetNull => unnamed(shape, &foreign_key.columns),
    }
}

/// Of a row whose foreign key must name nothing: one whose key would have to be blanked goes.
pub fn unnamed(shape: &TableShape, columns: &[ColumnIndex]) -> Disposition {
    match blankable(shape.table(), columns) {
        Some(columns) => Disposition::Blank(columns.into_iter().collect()),
        None => Disposition::Erase,
    }
}

/// Whether an edge has no rule and no key to blank in rows that are nobody's: what opened them to others goes, they stay.
pub fn fires_nothing(near: &TableShape, edge: &Edge) -> bool {
    let rules = &near.table().rules;
    !near.personal
        && !edge.along_foreign_key()
        && !rules.iter().any(|rule| rule.event == RuleEvent::Del && rule.edge == edge.reference)
}
