//! What WITH queries that write return to the others: which query writes, and who reads what it returns.

use crate::hir::walk::Visitor;
use crate::hir::{CteId, Hir, HirExpr, HirNode, OutputColumn, WriteHir};
use crate::scalar::table_func::RETURNED_ROWS;
use repr::Datum;
use sqlparser::ast::{Query, SetExpr};
use std::collections::BTreeSet;

/// A WITH query that writes, as those see it that read it.
pub(super) struct Returned {
    /// What it returns.
    pub(super) value: Hir,
    /// The columns of that.
    pub(super) outputs: Vec<OutputColumn>,
    /// Whether it has RETURNING at all.
    pub(super) returns: bool,
}

/// Whether a query is a write.
pub(super) fn writes(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

/// Whether a query's own WITH writes.
pub(super) fn writes_in_with(query: &Query) -> bool {
    match &*query.body {
        SetExpr::Query(inner) if query.with.is_none() => writes_in_with(inner),
        _ => query.with.iter().flat_map(|with| &with.cte_tables).any(|cte| writes(&cte.query)),
    }
}

/// The numbers of the writes whose rows a write reads.
pub(crate) fn returned_to_write(write: &WriteHir) -> BTreeSet<usize> {
    let mut numbers = returned_to(&write.source().relation);
    for beside in write.besides() {
        numbers.extend(returned_to(&beside.query.relation));
    }
    numbers
}

/// The numbers of the writes whose rows a relation reads; definitions around it that nothing reads do not count.
pub(crate) fn returned_to(relation: &Hir) -> BTreeSet<usize> {
    match &relation.node {
        HirNode::Let { id, value, body, .. } => {
            let mut numbers = returned_to(body);
            if reads(body, *id) {
                numbers.extend(returned_to(value));
            }
            numbers
        }
        _ => {
            let mut numbers = BTreeSet::new();
            Visitor { operator: &mut |hir| numbers.extend(given_here(hir)), expression: &mut |_| () }
                .relation(relation);
            numbers
        }
    }
}

/// The number of the write whose rows an operator gives.
fn given_here(hir: &Hir) -> Option<usize> {
    let HirNode::TableFunction { functions, .. } = &hir.node else { return None };
    functions.iter().find_map(|(function, args, _)| match args.as_slice() {
        [HirExpr::Literal(Datum::Int4(number), _)] if std::ptr::eq(*function, &raw const RETURNED_ROWS) => {
            usize::try_from(*number).ok()
        }
        _ => None,
    })
}

pub(super) fn reads(relation: &Hir, id: CteId) -> bool {
    let mut found = false;
    Visitor {
        operator: &mut |hir| found |= matches!(hir.node, HirNode::GetCte(read, _) if read == id),
        expression: &mut |_| (),
    }
    .relation(relation);
    found
}
