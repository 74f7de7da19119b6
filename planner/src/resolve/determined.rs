//! Which columns of a relation follow from others: those that are computed from them alone.
//!
//! Rows that are alike in some columns are alike in all that follow from these. So DISTINCT over a column and what is made of it is
//! DISTINCT over the column.

use super::levels::expr_levels;
use super::statement::volatility;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode};
use crate::scalar::func::Volatility;
use repr::ColumnType;
use std::collections::BTreeSet;

/// These columns, and those that follow from them.
pub(super) fn determined(hir: &Hir, known: BTreeSet<usize>) -> BTreeSet<usize> {
    match &hir.node {
        HirNode::Distinct(input) | HirNode::Filter(input, _) => determined(input, known),
        HirNode::Project(input, columns) => {
            let below = determined(input, known.iter().map(|column| columns[*column]).collect());
            (0..columns.len()).filter(|place| below.contains(&columns[*place])).collect()
        }
        HirNode::Map(input, exprs) => {
            let width = input.arity();
            let mut all = known;
            for (place, expr) in exprs.iter().enumerate() {
                if let (HirExpr::Column(HirColumn::Column { level: 0, index }), true) =
                    (expr, all.contains(&(width + place)))
                {
                    all.insert(*index);
                }
            }
            let below = determined(input, all.iter().copied().filter(|column| *column < width).collect());
            all.extend(below);
            for (place, expr) in exprs.iter().enumerate() {
                if follows(expr, &all, &hir.types) {
                    all.insert(width + place);
                }
            }
            all
        }
        _ => known,
    }
}

/// Whether an expression has one value where these columns have. Equal values of some types are written in several ways, and
/// functions may tell them apart.
fn follows(expr: &HirExpr, known: &BTreeSet<usize>, types: &[ColumnType]) -> bool {
    let mut follows = volatility(expr) < Volatility::Volatile;
    expr_levels(expr, &mut |level, index| {
        follows &= level == 0 && known.contains(&index) && types[index].scalar.has_one_writing();
    });
    follows
}
