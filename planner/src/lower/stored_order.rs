//! The order in which tables' rows stand, for what holds rows in an order that nobody asked for: array_agg and its like,
//! ARRAY(subquery).
//!
//! SQL promises none there, and applications count on PostgreSQL's, which scans a table from its beginning: that of the primary
//! key here, which is that of insertion where keys are counted up. Of a join it is the left table's, then the right one's.

use super::ordered::{extended, project};
use crate::catalog::Catalog;
use crate::hir::{Hir, HirNode, JoinKind};
use crate::scalar::Order;

/// The relation with what orders it behind its columns, and that order; none if nothing is known of it.
pub(super) fn stored_order(hir: &Hir, catalog: &Catalog) -> Option<(Hir, Vec<Order>)> {
    match &hir.node {
        HirNode::Get { relation, .. } => {
            let table = catalog.table(*relation).filter(|table| table.is_stored())?;
            let order = table.primary_key_columns()?.iter().map(|column| Order::ascending(*column)).collect();
            Some((hir.clone(), order))
        }
        HirNode::Filter(input, predicates) => {
            let (input, order) = stored_order(input, catalog)?;
            let types = input.types.clone();
            Some((Hir { node: HirNode::Filter(Box::new(input), predicates.clone()), types }, order))
        }
        HirNode::Map(input, exprs) => {
            let plain = input.types.len();
            let (input, order) = stored_order(input, catalog)?;
            Some(extended(input, plain, &hir.types[plain..], order, |input| HirNode::Map(input, exprs.clone())))
        }
        HirNode::Project(input, columns) => {
            let (input, mut order) = stored_order(input, catalog)?;
            let mut kept = columns.clone();
            for item in &mut order {
                let place = kept.iter().position(|column| *column == item.column).unwrap_or_else(|| {
                    kept.push(item.column);
                    kept.len() - 1
                });
                item.column = place;
            }
            Some((project(input, kept), order))
        }
        HirNode::Join { left, right, kind: JoinKind::Inner | JoinKind::Left, lateral: false, .. } => {
            // Both as they are: the condition stands over their columns.
            let (first, mut order) = stored_order(left, catalog)?;
            let (second, behind) = stored_order(right, catalog)?;
            if first.types.len() != left.types.len() || second.types.len() != right.types.len() {
                return None;
            }
            let width = left.types.len();
            order.extend(behind.into_iter().map(|item| Order { column: item.column + width, ..item }));
            Some((hir.clone(), order))
        }
        HirNode::Constant(..)
        | HirNode::GetCte(..)
        | HirNode::Join { .. }
        | HirNode::TableFunction { .. }
        | HirNode::Reduce { .. }
        | HirNode::Distinct(_)
        | HirNode::TopK { .. }
        | HirNode::Window { .. }
        | HirNode::Union(..)
        | HirNode::Except { .. }
        | HirNode::Intersect { .. }
        | HirNode::Let { .. }
        | HirNode::LetRec { .. } => None,
    }
}
