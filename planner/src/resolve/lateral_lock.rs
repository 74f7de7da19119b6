//! LATERAL subqueries that lock rows: each row beside them locks rows of its own, up to a limit of its own.
//!
//! They are run before the statement, as one query over the distinct values that they refer to, the *drivers*:
//! ```text
//! q CROSS JOIN LATERAL (SELECT f.id FROM f WHERE f.q = q.id ORDER BY f.at LIMIT q.n FOR UPDATE)
//!   ─▶  SELECT f.id, d.id, d.n, d.n AS limit FROM (SELECT DISTINCT q.id, q.n FROM q) d, f WHERE f.q = d.id ORDER BY d.id, d.n, f.at
//!       FOR UPDATE of the first rows of each group, and what it gives is joined by `d.id` and `d.n`
//! ```
//! The drivers are those rows alone that the conditions over them let through: no row is locked for others.

use super::build::true_literal;
use super::levels::{Step, expr_levels, has_subquery, outer_references, rewrite_expr, rewrite_hir};
use super::returned::returned_to;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, HirQuery, JoinKind, LockGroups, LockingQuery, OutputColumn};
use crate::names::Names;
use crate::scalar::Order;
use crate::scalar::func::Volatility;
use crate::scalar::table_func::LOCKED_ROWS;
use repr::{ColumnType, ScalarType};
use std::collections::BTreeSet;

/// What such a query is made of, for when its drivers become fewer.
pub(super) struct LateralLock {
    number: usize,
    left: Hir,
    /// The columns of `left` that are referred to.
    drivers: Vec<usize>,
    right: Hir,
    bounds: Vec<Typed>,
}

impl LateralLock {
    /// What is run before the statement, with the WITH queries that it reads.
    fn relation(&self, resolver: &Resolver<'_>) -> Hir {
        let drivers = self.left.clone().project(self.drivers.clone()).distinct();
        let joined = drivers.join(self.right.clone(), JoinKind::Inner, true_literal(), true);
        let mut relation = joined.map(self.bounds.clone());
        resolver.under_definitions(&mut relation);
        relation
    }

    fn place(&self, index: usize) -> usize {
        self.drivers.iter().position(|driver| *driver == index).unwrap_or_default()
    }
}

/// The columns just around a query that it refers to; none if it refers to what is further out.
fn drivers(query: &mut HirQuery) -> Option<BTreeSet<usize>> {
    let (mut found, mut further) = (BTreeSet::new(), false);
    let mut add = |level: usize, index: usize| {
        further |= level > 0;
        found.insert(index);
    };
    outer_references(&mut query.relation, &mut add);
    for bound in [&query.limit, &query.offset].into_iter().flatten() {
        // Bounds have a scope of their own, without columns.
        expr_levels(bound, &mut |level, index| add(level.saturating_sub(1), index));
    }
    (!further).then_some(found)
}

/// An expression's or a relation's columns of the rows around it, in their new places.
fn moved(lock: &LateralLock, lowered: usize) -> impl FnMut(&HirExpr, usize) -> Result<Step, PlanError> + '_ {
    move |expr, depth| {
        Ok(match expr {
            HirExpr::Column(HirColumn::Column { level, index }) if *level == depth => {
                let column = HirColumn::Column { level: level - lowered, index: lock.place(*index) };
                Step::Replace(HirExpr::Column(column))
            }
            _ => Step::Descend,
        })
    }
}

impl Resolver<'_> {
    /// A subquery that locks rows and refers to the rows beside it, as the relation that it was left with. None if it does not stand
    /// where that is known.
    pub(super) fn locked_beside(
        &mut self,
        mut resolved: HirQuery,
        columns: &[OutputColumn],
    ) -> Result<Option<Hir>, PlanError> {
        let [Some(left)] = self.row_locks.lefts.as_slice() else { return Ok(None) };
        let left = left.clone();
        let Some(drivers) = drivers(&mut resolved) else { return Ok(None) };
        let has_no_equality = |driver: &usize| left.types[*driver].scalar.is_without_equality();
        let bounds = || [&resolved.limit, &resolved.offset].into_iter().flatten();
        let after_write = !returned_to(&left).is_empty();
        if after_write || drivers.iter().any(has_no_equality) || bounds().any(has_subquery) {
            return Ok(None);
        }
        let HirQuery { mut relation, order_by, limit, offset, project, locks, .. } = resolved;
        let number = self.row_locks.subqueries.len();
        let drivers: Vec<usize> = drivers.into_iter().collect();
        let mut lock = LateralLock { number, left, drivers, right: Hir::unit(), bounds: Vec::new() };
        rewrite_hir(&mut relation, 1, &mut moved(&lock, 0))?;
        let groups = LockGroups {
            outputs: columns.len(),
            drivers: lock.drivers.len(),
            limit: limit.is_some(),
            offset: offset.is_some(),
        };
        let mut bounds = Vec::new();
        for mut bound in limit.into_iter().chain(offset) {
            rewrite_expr(&mut bound, 1, &mut moved(&lock, 1))?;
            bounds.push(Typed::new(bound, ScalarType::Int8));
        }
        (lock.right, lock.bounds) = (relation, bounds);
        let relation = lock.relation(self);
        let (width, behind) = (groups.drivers, relation.arity() - lock.bounds.len());
        let ascending = (0..width).map(|column| Order { column, descending: false, nulls_first: false, tie: false });
        let ordered = order_by.into_iter().map(|order| Order { column: width + order.column, ..order });
        let order_by = ascending.chain(ordered).collect();
        let outputs = project.iter().map(|column| width + column);
        let project: Vec<usize> = outputs.chain(0..width).chain(behind..relation.arity()).collect();
        let unnamed = |column: &usize| OutputColumn {
            name: String::new(),
            column_type: relation.types[*column].clone(),
            origin: None,
        };
        let all = columns.iter().cloned().chain(project[columns.len()..].iter().map(unnamed)).collect();
        let locks = locks.into_iter().map(|mut lock| {
            lock.key_column += width;
            lock
        });
        let query = HirQuery { order_by, locks: locks.collect(), ..HirQuery::of(relation, project, all) };
        let given = self.given_beside(&lock, &query.columns[..groups.outputs + width])?;
        self.row_locks.subqueries.push(Some(LockingQuery { number, query, groups: Some(groups) }));
        self.row_locks.laterals.push(lock);
        Ok(Some(given))
    }

    /// The rows that were locked, of them those for the row beside.
    fn given_beside(&mut self, lock: &LateralLock, columns: &[OutputColumn]) -> Result<Hir, PlanError> {
        let types: Vec<ColumnType> = columns.iter().map(|column| column.column_type.clone()).collect();
        let outputs = columns.len() - lock.drivers.len();
        let names = Names::bare(columns.iter().map(|column| column.name.as_str()));
        let mut same = Vec::new();
        for (place, driver) in lock.drivers.iter().enumerate() {
            let column_type = types[outputs + place].clone();
            let around = HirExpr::Column(HirColumn::Column { level: 1, index: *driver });
            let (given, around) = (Typed::column(outputs + place, column_type.clone()), Typed::of(around, column_type));
            same.push(self.operate_built_in("IS NOT DISTINCT FROM", given, around, None)?.expr);
        }
        let rows = super::write_subquery::given_rows(&LOCKED_ROWS, lock.number, types, names, false);
        Ok(rows.filter(same).project((0..outputs).collect()))
    }

    /// Conditions over the FROM clause at hand: those over the drivers alone hold for them already.
    pub(super) fn narrow_laterals(&mut self, first: usize, predicates: &[HirExpr]) {
        for lock in self.row_locks.laterals.split_off(first.min(self.row_locks.laterals.len())) {
            let width = lock.left.arity();
            let is_over_left = |predicate: &&HirExpr| {
                let mut over_left = predicate.volatility() < Volatility::Volatile && !has_subquery(predicate);
                expr_levels(predicate, &mut |level, index| over_left &= level == 0 && index < width);
                over_left
            };
            let over_left: Vec<HirExpr> = predicates.iter().filter(is_over_left).cloned().collect();
            if over_left.is_empty() {
                continue;
            }
            let LateralLock { number, left, drivers, right, bounds } = lock;
            let relation = LateralLock { number, left: left.filter(over_left), drivers, right, bounds }.relation(self);
            if let Some(Some(locking)) = self.row_locks.subqueries.get_mut(number) {
                locking.query.relation = relation;
            }
        }
    }
}
