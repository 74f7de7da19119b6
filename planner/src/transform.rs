//! MIR → MIR: the same rows for less work.
//!
//! Third step of planning, between `lower` and `physical`. Volatile expressions are neither moved nor
//! duplicated. A predicate may come to see rows that another would have kept from it, as in PostgreSQL.
//! Never reads data, never chooses access paths.

pub mod demand;
pub mod equality;
mod factor;
pub mod fold;
pub mod pushdown;
pub mod ranks;
pub mod reuse;
pub mod shape;

use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::lower::MirQuery;
use crate::scalar::Order;
use std::collections::BTreeSet;

/// Runs all transforms in their order.
pub fn optimize(mut query: MirQuery, _catalog: &Catalog) -> Result<MirQuery, PlanError> {
    let mut relation = query.relation;
    fold::fold(&mut relation);
    relation = reuse::inline(relation);
    factor::factor(&mut relation);
    relation = pushdown::push(relation, Vec::new());
    // Unused locals and pass-through projections come up when predicates have moved.
    relation = reuse::inline(relation);
    let needed: BTreeSet<usize> = query
        .finishing
        .project
        .iter()
        .copied()
        .chain(query.finishing.order_by.iter().map(|order| order.column))
        .chain(query.locks.iter().map(|lock| lock.key_column))
        .collect();
    let needed: Vec<usize> = needed.into_iter().collect();
    query.relation = demand::prune(relation, &needed);
    let place = |column: usize| needed.iter().position(|other| *other == column).expect("every needed column was kept");
    query.finishing.project.iter_mut().for_each(|column| *column = place(*column));
    query.finishing.order_by.iter_mut().for_each(|order: &mut Order| order.column = place(order.column));
    query.locks.iter_mut().for_each(|lock| lock.key_column = place(lock.key_column));
    query.finishing.limit.iter_mut().chain(&mut query.finishing.offset).for_each(|expr| expr.fold());
    Ok(query)
}
