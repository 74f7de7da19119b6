//! Subqueries seen as (bases, predicates, outputs): where correlation is in the predicates only, the bases
//! stand alone and the subquery is a plain join.

use super::env::has_subquery;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode, JoinKind};
use crate::mir::expr;
use crate::scalar::ScalarExpr;

/// A select-project-join relation taken apart. Level 0 of all expressions is the bases' columns, in order.
pub(super) struct Peeled<'a> {
    /// Relations that are multiplied.
    pub(super) bases: Vec<&'a Hir>,
    /// What must be true.
    pub(super) predicates: Vec<HirExpr>,
    /// The output columns.
    pub(super) outputs: Vec<HirExpr>,
}

/// Takes projections, maps, filters and inner joins off. Always succeeds: in the end the relation itself is the base.
pub(super) fn peel(hir: &Hir) -> Peeled<'_> {
    match &hir.node {
        HirNode::Filter(input, predicates) if !predicates.iter().any(has_subquery) => {
            let mut peeled = peel(input);
            for predicate in predicates {
                let predicate = over_bases(predicate, &peeled.outputs);
                expr::conjuncts(&predicate, &mut peeled.predicates);
            }
            peeled
        }
        HirNode::TopK { input, limit: None, offset: None, .. } => peel(input),
        HirNode::Project(input, columns) => {
            let mut peeled = peel(input);
            peeled.outputs = columns.iter().map(|column| peeled.outputs[*column].clone()).collect();
            peeled
        }
        HirNode::Map(input, exprs) if !exprs.iter().any(|expr| has_subquery(expr) || expr::is_volatile(expr)) => {
            let mut peeled = peel(input);
            let mapped: Vec<HirExpr> = exprs.iter().map(|expr| over_bases(expr, &peeled.outputs)).collect();
            peeled.outputs.extend(mapped);
            peeled
        }
        HirNode::Join { left, right, kind: JoinKind::Inner, on, lateral: false } if !has_subquery(on) => {
            let mut peeled = peel(left);
            let right = peel(right);
            let offset: usize = peeled.bases.iter().map(|base| base.types.len()).sum();
            peeled.bases.extend(right.bases);
            peeled.predicates.extend(right.predicates.iter().map(|predicate| moved(predicate, offset)));
            peeled.outputs.extend(right.outputs.iter().map(|output| moved(output, offset)));
            let on = over_bases(on, &peeled.outputs);
            expr::conjuncts(&on, &mut peeled.predicates);
            peeled
        }
        _ => Peeled {
            bases: vec![hir],
            predicates: Vec::new(),
            outputs: (0..hir.types.len())
                .map(|index| ScalarExpr::Column(HirColumn::Column { level: 0, index }))
                .collect(),
        },
    }
}

/// What EXISTS does not see taken off: DISTINCT, sorts, and a constant LIMIT above zero.
pub(super) fn without_order(hir: &Hir, limits_too: bool) -> &Hir {
    match &hir.node {
        HirNode::Distinct(input) => without_order(input, limits_too),
        HirNode::TopK { input, limit: None, offset: None, .. } => without_order(input, limits_too),
        HirNode::TopK {
            input, limit: Some(ScalarExpr::Literal(repr::Datum::Int8(limit), _)), offset: None, ..
        } if limits_too && *limit > 0 => without_order(input, limits_too),
        HirNode::Project(input, _) if limits_too => without_order(input, limits_too),
        _ => hir,
    }
}

/// An expression over a relation as one over what the relation's columns are.
pub(super) fn over_bases(expr: &HirExpr, outputs: &[HirExpr]) -> HirExpr {
    replaced(expr, |column| match column {
        HirColumn::Column { level: 0, index } => outputs[*index].clone(),
        other => ScalarExpr::Column(other.clone()),
    })
}

fn moved(expr: &HirExpr, by: usize) -> HirExpr {
    replaced(expr, |column| {
        ScalarExpr::Column(match column {
            HirColumn::Column { level: 0, index } => HirColumn::Column { level: 0, index: index + by },
            other => other.clone(),
        })
    })
}

fn replaced(expr: &HirExpr, mut with: impl FnMut(&HirColumn) -> HirExpr) -> HirExpr {
    let Ok(replaced) = expr::try_replace::<_, _, std::convert::Infallible>(expr, &mut |column| Ok(with(column)));
    replaced
}
