//! Predicates of WHERE that need no subquery go below laterals and computed columns before these are
//! lowered: a lateral or a subquery then sees only the rows that count. (`transform` can no longer move a
//! predicate into a shared outer relation.)

use super::env::has_subquery;
use super::peel::over_bases;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode, JoinKind};
use crate::mir::expr;
use crate::scalar::ScalarExpr;

/// Whether below an operator stands something that is lowered per outer row.
pub(super) fn worthwhile(hir: &Hir) -> bool {
    match &hir.node {
        HirNode::Map(input, exprs) | HirNode::Filter(input, exprs) => {
            exprs.iter().any(has_subquery) || worthwhile(input)
        }
        HirNode::Project(input, _) | HirNode::TopK { input, limit: None, offset: None, .. } => worthwhile(input),
        HirNode::Join { left, right, lateral, on, .. } => {
            *lateral || has_subquery(on) || worthwhile(left) || worthwhile(right)
        }
        _ => false,
    }
}

/// `input` under predicates, each as far down as it goes.
pub(super) fn sink(input: &Hir, predicates: Vec<HirExpr>) -> Hir {
    if predicates.is_empty() {
        return input.clone();
    }
    match &input.node {
        HirNode::Filter(inner, own) => {
            let (stay, mut go): (Vec<_>, Vec<_>) = own.iter().cloned().partition(stays);
            go.extend(predicates);
            filtered(sink(inner, go), stay)
        }
        HirNode::Project(inner, columns) => {
            let outputs: Vec<HirExpr> = columns.iter().map(|column| own_column(*column)).collect();
            let predicates = predicates.iter().map(|predicate| over_bases(predicate, &outputs)).collect();
            let node = HirNode::Project(Box::new(sink(inner, predicates)), columns.clone());
            Hir { node, types: input.types.clone() }
        }
        HirNode::TopK { input: inner, keys, order, limit: None, offset: None } => {
            let inner = Box::new(sink(inner, predicates));
            let node =
                HirNode::TopK { input: inner, keys: keys.clone(), order: order.clone(), limit: None, offset: None };
            Hir { node, types: input.types.clone() }
        }
        HirNode::Map(inner, exprs) => {
            let arity = inner.types.len();
            let (go, stay) = split(predicates, |column| column < arity);
            let node = HirNode::Map(Box::new(sink(inner, go)), exprs.clone());
            filtered(Hir { node, types: input.types.clone() }, stay)
        }
        HirNode::Join { left, right, kind, on, lateral } => {
            let arity = left.types.len();
            let (mut to_left, mut rest) = (Vec::new(), predicates);
            if matches!(kind, JoinKind::Inner | JoinKind::Left) {
                (to_left, rest) = split(rest, |column| column < arity);
            }
            let mut to_right = Vec::new();
            if *kind == JoinKind::Inner && !lateral {
                (to_right, rest) = split(rest, |column| column >= arity);
            }
            let outputs: Vec<HirExpr> =
                (0..arity + right.types.len()).map(|column| own_column(column.saturating_sub(arity))).collect();
            let to_right = to_right.iter().map(|predicate| over_bases(predicate, &outputs)).collect();
            let node = HirNode::Join {
                left: Box::new(sink(left, to_left)),
                right: Box::new(sink(right, to_right)),
                kind: *kind,
                on: on.clone(),
                lateral: *lateral,
            };
            filtered(Hir { node, types: input.types.clone() }, rest)
        }
        _ => filtered(input.clone(), predicates),
    }
}

/// Whether a predicate has to be evaluated where it stands.
pub(super) fn stays(predicate: &HirExpr) -> bool {
    has_subquery(predicate) || expr::is_volatile(predicate)
}

fn own_column(index: usize) -> HirExpr {
    ScalarExpr::Column(HirColumn::Column { level: 0, index })
}

/// (those whose columns of level 0 are all within, the others).
fn split(predicates: Vec<HirExpr>, within: impl Fn(usize) -> bool) -> (Vec<HirExpr>, Vec<HirExpr>) {
    predicates.into_iter().partition(|predicate| {
        let mut all = true;
        expr::visit_columns(predicate, &mut |column| {
            if let HirColumn::Column { level: 0, index } = column {
                all &= within(*index);
            }
        });
        all
    })
}

fn filtered(input: Hir, predicates: Vec<HirExpr>) -> Hir {
    if predicates.is_empty() {
        return input;
    }
    let types = input.types.clone();
    Hir { node: HirNode::Filter(Box::new(input), predicates), types }
}
