//! A statement whose WITH writes: its parts, each a plan of its own.

use super::{Query, WritePlan};
use crate::hir::OutputColumn;
use repr::RelationId;
use std::sync::Arc;

/// A statement, and those in its WITH that write: all over one snapshot, each once.
#[derive(Clone, Debug, PartialEq)]
pub struct WithPlan {
    /// In the order in which they are run: each after those whose rows it reads, and what nothing reads last.
    pub parts: Vec<WithPart>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub enum WithPart {
    /// A WITH query that writes.
    Write {
        /// Under which `table_func::RETURNED_ROWS` reads what it returns.
        number: usize,
        /// What it is called.
        name: String,
        /// What it does.
        plan: Arc<WritePlan>,
    },
    /// The statement itself, if it reads.
    Query(Arc<Query>),
    /// The statement itself, if it writes.
    Main(Arc<WritePlan>),
}

impl WithPart {
    /// What gives its rows.
    pub fn source(&self) -> &Query {
        match self {
            WithPart::Write { plan, .. } | WithPart::Main(plan) => plan.source(),
            WithPart::Query(query) => query,
        }
    }

    /// What it writes.
    pub fn write(&self) -> Option<&Arc<WritePlan>> {
        match self {
            WithPart::Write { plan, .. } | WithPart::Main(plan) => Some(plan),
            WithPart::Query(_) => None,
        }
    }
}

impl WithPlan {
    /// The statement itself.
    pub fn main(&self) -> &WithPart {
        let main = self.parts.iter().find(|part| !matches!(part, WithPart::Write { .. }));
        main.expect("there is one that is no WITH query")
    }

    /// The tables that it writes.
    pub fn tables(&self) -> Vec<RelationId> {
        self.parts.iter().filter_map(WithPart::write).map(|plan| plan.table()).collect()
    }

    /// The columns of its result.
    pub fn columns(&self) -> Option<&[OutputColumn]> {
        match self.main() {
            WithPart::Query(query) => Some(&query.columns),
            WithPart::Write { plan, .. } | WithPart::Main(plan) => {
                plan.returning().map(|returning| returning.columns.as_slice())
            }
        }
    }
}
