//! Order below the top: relations are bags, so what depends on the order of a subquery takes the order's
//! columns along (ARRAY(subquery), array_agg over an ordered subquery).

use crate::hir::{Hir, HirColumn, HirExpr, HirNode};
use crate::scalar::{AggregateCall, Order, ScalarExpr};
use std::borrow::Cow;

/// The same relation with columns appended so that its order is at hand, and that order.
/// `None` if the relation has no order.
pub(super) fn carry(hir: &Hir) -> Option<(Hir, Vec<Order>)> {
    match &hir.node {
        HirNode::TopK { keys, order, .. } if keys.is_empty() && !order.is_empty() => Some((hir.clone(), order.clone())),
        HirNode::Project(input, columns) => {
            let (input, mut order) = carry(input)?;
            let mut columns = columns.clone();
            for order in &mut order {
                columns.push(order.column);
                order.column = columns.len() - 1;
            }
            Some((project(input, columns), order))
        }
        HirNode::Map(input, exprs) => {
            let plain = input.types.len();
            let (input, mut order) = carry(input)?;
            let carried = input.types.len();
            let mut types = input.types.clone();
            types.extend_from_slice(&hir.types[plain..]);
            let mapped = Hir { node: HirNode::Map(Box::new(input), exprs.clone()), types };
            let end = carried + exprs.len();
            for order in &mut order {
                if order.column >= plain {
                    order.column += exprs.len();
                }
            }
            Some((project(mapped, (0..plain).chain(carried..end).chain(plain..carried).collect()), order))
        }
        HirNode::Filter(input, predicates) => {
            let (input, order) = carry(input)?;
            let types = input.types.clone();
            Some((Hir { node: HirNode::Filter(Box::new(input), predicates.clone()), types }, order))
        }
        HirNode::TopK { .. }
        | HirNode::Constant(_)
        | HirNode::Get { .. }
        | HirNode::GetCte(_)
        | HirNode::Join { .. }
        | HirNode::TableFunction { .. }
        | HirNode::Reduce { .. }
        | HirNode::Distinct(_)
        | HirNode::Window { .. }
        | HirNode::Union(_)
        | HirNode::Except { .. }
        | HirNode::Intersect { .. }
        | HirNode::Let { .. }
        | HirNode::LetRec { .. } => None,
    }
}

fn project(input: Hir, columns: Vec<usize>) -> Hir {
    let types = columns.iter().map(|column| input.types[*column].clone()).collect();
    Hir { node: HirNode::Project(Box::new(input), columns), types }
}

/// The order as an aggregate's ORDER BY.
pub(super) fn as_aggregate_order(order: &[Order]) -> Vec<(HirExpr, bool, bool)> {
    let column = |index| ScalarExpr::Column(HirColumn::Column { level: 0, index });
    order.iter().map(|order| (column(order.column), order.descending, order.nulls_first)).collect()
}

/// Aggregates over an ordered input: those that depend on order, and name none, take the input's.
pub(super) fn with_input_order<'a>(
    input: &'a Hir,
    aggregates: &'a [AggregateCall<HirColumn>],
) -> (Cow<'a, Hir>, Cow<'a, [AggregateCall<HirColumn>]>) {
    let wants = |call: &AggregateCall<HirColumn>| call.function.ordered && call.order_by.is_empty() && !call.distinct;
    if !aggregates.iter().any(wants) {
        return (Cow::Borrowed(input), Cow::Borrowed(aggregates));
    }
    let Some((input, order)) = carry(input) else {
        return (Cow::Borrowed(input), Cow::Borrowed(aggregates));
    };
    let mut aggregates = aggregates.to_vec();
    for call in aggregates.iter_mut().filter(|call| wants(call)) {
        call.order_by = as_aggregate_order(&order);
    }
    (Cow::Owned(input), Cow::Owned(aggregates))
}
