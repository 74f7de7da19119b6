//! What GET shows of a row, by the edges that led there.

use crate::catalog::{EdgeRef, RuleAction, RuleEvent, Table};
use repr::ColumnIndex;
use std::collections::BTreeSet;

/// What is not shown of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    /// The columns that every edge hides.
    pub hidden: BTreeSet<ColumnIndex>,
    /// Whether every edge says to leave the row out.
    pub leaves_out: bool,
}

impl Redaction {
    /// Of a row that was reached by these edges: nothing is hidden of what no edge led to, a person's own row.
    pub fn of(table: &Table, edges: &[EdgeRef]) -> Redaction {
        let mut redactions = edges.iter().map(|edge| Redaction::by(table, *edge));
        let Some(first) = redactions.next() else { return Redaction::default() };
        redactions.fold(first, |one, other| Redaction {
            hidden: one.hidden.intersection(&other.hidden).copied().collect(),
            leaves_out: one.leaves_out && other.leaves_out,
        })
    }

    fn by(table: &Table, edge: EdgeRef) -> Redaction {
        let mut found = Redaction::default();
        for rule in table.rules.iter().filter(|rule| rule.event == RuleEvent::Get && rule.edge == edge) {
            match &rule.action {
                RuleAction::Anon(columns) => found.hidden.extend(columns),
                RuleAction::DeleteRow => found.leaves_out = true,
            }
        }
        if found.leaves_out {
            found.hidden.extend(table.live_columns().map(|(column, _)| column));
        }
        found
    }

    /// Whether it hides a column.
    pub fn hides(&self, column: ColumnIndex) -> bool {
        self.hidden.contains(&column)
    }
}
