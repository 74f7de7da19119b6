//! Where outer columns are: scopes numbered from the outermost, and their columns' positions.
//!
//! HIR counts levels outwards; here scopes have fixed numbers, so that nothing is renumbered when a
//! subquery is entered. Never holds columns of the relation under construction itself.

use crate::hir::walk::Visitor;
use crate::hir::{CteId, Hir, HirColumn, HirExpr, HirNode};
use crate::mir::expr::{aggregate_exprs, visit_columns};
use crate::scalar::Volatility;
use std::collections::{BTreeMap, BTreeSet};

/// A column of an enclosing scope: (scope, index), the outermost scope being 0.
pub(super) type OuterColumn = (usize, usize);

/// Tells the rows of the outer relation apart.
pub(super) const ROW_NUMBER: OuterColumn = (usize::MAX, 0);

/// The scopes around a relation, and where the outer relation has their columns.
#[derive(Clone, Debug)]
pub(super) struct Env {
    /// How many scopes there are.
    pub(super) scopes: usize,
    positions: BTreeMap<OuterColumn, usize>,
}

impl Env {
    /// No scope.
    pub(super) fn root() -> Env {
        Env { scopes: 0, positions: BTreeMap::new() }
    }

    /// So many scopes, none of whose columns are at hand.
    pub(super) fn scopes(scopes: usize) -> Env {
        Env { scopes, positions: BTreeMap::new() }
    }

    /// The columns of the outermost scopes only, within so many scopes.
    pub(super) fn with_scopes(&self, scopes: usize) -> Env {
        let positions = self.positions.range(..(scopes, 0)).map(|(column, position)| (*column, *position)).collect();
        Env { scopes, positions }
    }

    /// As many scopes, none of whose columns are at hand.
    pub(super) fn closed(&self) -> Env {
        Env { scopes: self.scopes, positions: BTreeMap::new() }
    }

    /// The same scopes over a relation that has just these columns, in order.
    pub(super) fn narrowed(&self, columns: &BTreeSet<OuterColumn>) -> Env {
        let positions = columns.iter().enumerate().map(|(position, column)| (*column, position)).collect();
        Env { scopes: self.scopes, positions }
    }

    /// One scope more, whose columns stand at `columns`.
    pub(super) fn entered(&self, columns: &[Option<usize>]) -> Env {
        let mut positions = self.positions.clone();
        for (index, position) in columns.iter().enumerate() {
            if let Some(position) = position {
                positions.insert((self.scopes, index), *position);
            }
        }
        Env { scopes: self.scopes + 1, positions }
    }

    /// The same scopes, and which row it is at `position`, as a column that no expression names.
    pub(super) fn with_row_number(mut self, position: usize) -> Env {
        self.positions.insert(ROW_NUMBER, position);
        self
    }

    /// Where a column is.
    pub(super) fn position(&self, column: OuterColumn) -> Option<usize> {
        self.positions.get(&column).copied()
    }
}

/// Whether something in a relation has a value of its own each time it is evaluated.
pub(super) fn is_volatile(hir: &Hir) -> bool {
    let mut found = false;
    let mut volatile = |expr: &HirExpr| {
        found |= matches!(expr, HirExpr::Call { function, .. } if function.volatility == Volatility::Volatile);
    };
    Visitor { operator: &mut |_| {}, expression: &mut volatile }.relation(hir);
    found
}

/// Whether an expression holds a subquery.
pub(super) fn has_subquery(expr: &HirExpr) -> bool {
    let mut found = false;
    visit_columns(expr, &mut |column| found |= !matches!(column, HirColumn::Column { .. }));
    found
}

/// The columns of enclosing scopes that a relation reads, `scopes` being how many there are around it.
/// `cte_key` gives those of a CTE defined outside it.
pub(super) fn free<'k>(
    hir: &Hir,
    scopes: usize,
    cte_key: &dyn Fn(CteId) -> &'k [OuterColumn],
) -> BTreeSet<OuterColumn> {
    let mut walk = Walk { limit: scopes, cte_key, found: BTreeSet::new() };
    walk.relation(hir, scopes);
    walk.found
}

/// The outer columns (scopes below `scopes`) that an expression reads, evaluated over a relation that has
/// `scopes` scopes around it; with `own`, that relation's columns count too, as scope `scopes`.
pub(super) fn free_in_expr<'k>(
    expr: &HirExpr,
    scopes: usize,
    own: bool,
    cte_key: &dyn Fn(CteId) -> &'k [OuterColumn],
) -> BTreeSet<OuterColumn> {
    let mut walk = Walk { limit: scopes + usize::from(own), cte_key, found: BTreeSet::new() };
    walk.expr(expr, scopes);
    walk.found
}

struct Walk<'a, 'k> {
    limit: usize,
    cte_key: &'a dyn Fn(CteId) -> &'k [OuterColumn],
    found: BTreeSet<OuterColumn>,
}

impl Walk<'_, '_> {
    /// `scopes`: how many stand around the relation that the expression is evaluated over.
    fn expr(&mut self, expr: &HirExpr, scopes: usize) {
        visit_columns(expr, &mut |column| match column {
            HirColumn::Column { level, index } => {
                if let Some(scope) = scopes.checked_sub(*level).filter(|scope| *scope < self.limit) {
                    self.found.insert((scope, *index));
                }
            }
            HirColumn::Exists(relation) | HirColumn::Scalar(relation) | HirColumn::ArrayOf(relation, _) => {
                self.relation(relation, scopes + 1);
            }
            HirColumn::Any { relation, condition } => {
                self.relation(relation, scopes + 1);
                self.expr(condition, scopes + 1);
            }
        });
    }

    fn relation(&mut self, hir: &Hir, scopes: usize) {
        match &hir.node {
            HirNode::Constant(..) | HirNode::Get { .. } => {}
            HirNode::GetCte(id, _) => {
                self.found.extend((self.cte_key)(*id).iter().filter(|(scope, _)| *scope < self.limit));
            }
            HirNode::Map(input, exprs) | HirNode::Filter(input, exprs) => {
                self.relation(input, scopes);
                exprs.iter().for_each(|expr| self.expr(expr, scopes));
            }
            HirNode::Project(input, _) | HirNode::Distinct(input) => self.relation(input, scopes),
            HirNode::Join { left, right, on, lateral, .. } => {
                self.relation(left, scopes);
                self.relation(right, scopes + usize::from(*lateral));
                self.expr(on, scopes);
            }
            HirNode::TableFunction { input, functions, .. } => {
                self.relation(input, scopes);
                functions.iter().flat_map(|(_, args, _)| args).for_each(|arg| self.expr(arg, scopes));
            }
            HirNode::Reduce { input, keys, aggregates, .. } => {
                self.relation(input, scopes);
                keys.iter().for_each(|key| self.expr(key, scopes));
                aggregates.iter().flat_map(aggregate_exprs).for_each(|expr| self.expr(expr, scopes));
            }
            HirNode::TopK { input, limit, offset, .. } => {
                self.relation(input, scopes);
                limit.iter().chain(offset).for_each(|expr| self.expr(expr, scopes));
            }
            HirNode::Window { input, calls, .. } => {
                self.relation(input, scopes);
                calls
                    .iter()
                    .flat_map(|call| call.args.iter().chain(&call.filter))
                    .for_each(|expr| self.expr(expr, scopes));
            }
            HirNode::Union(inputs, _) => inputs.iter().for_each(|input| self.relation(input, scopes)),
            HirNode::Except { left, right, .. } | HirNode::Intersect { left, right, .. } => {
                self.relation(left, scopes);
                self.relation(right, scopes);
            }
            HirNode::Let { value, body, .. } => {
                self.relation(value, scopes);
                self.relation(body, scopes);
            }
            HirNode::LetRec { base, step, body, .. } => {
                self.relation(base, scopes);
                self.relation(step, scopes);
                self.relation(body, scopes);
            }
        }
    }
}
