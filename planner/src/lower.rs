//! HIR → MIR: subqueries and laterals become joins.
//!
//! Second step of planning, between `resolve` and `transform`. In the manner of Materialize: a relation is
//! *applied* to an outer relation, and the result has the outer's columns, then its own, for every outer
//! row. What cannot be applied row by row (aggregates, limits, outer joins …) is applied to the distinct
//! values of the outer columns that it reads, and joined back, NULL equal to NULL. Those values are told
//! apart by SQL equality, so a correlated subquery sees one representation of equal ones (1.0 and 1.00).
//!
//! A subquery is computed for all rows of the relation that its expression stands over, except under CASE:
//! there only rows that reach the branch count. AND, OR and COALESCE give no such promise, as in SQL.
//! Never evaluates an expression, never chooses an access path.

mod aggregate;
mod branch;
mod constants;
mod env;
mod extreme;
mod filter;
mod mark_join;
mod ordered;
mod peel;
mod redundant_order;
mod relation;
mod scalar;
mod set;
mod stored_order;
mod subquery;
mod where_pushdown;
mod write;

use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::hir::walk::Visitor;
use crate::hir::{CteId, Hir, HirExpr, HirNode, HirQuery};
use crate::mir::{Mir, Types};
use crate::names::Names;
use crate::physical::{self, KeyForms};
use crate::plan::{self, LocalId};
use crate::scalar::{ScalarExpr, func};
use crate::transform;
use constants::constants;
use env::{Env, OuterColumn};
use ordered::By;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use write::plan_checks;
pub use write::{plan_with, plan_write};

/// Plans a SELECT: HIR → MIR → optimized MIR → physical plan.
pub fn plan_query(hir: &HirQuery, catalog: &Catalog, forms: &dyn KeyForms) -> Result<plan::Query, PlanError> {
    let lowered = lower_query(hir, catalog)?;
    let optimized = transform::optimize(lowered, catalog)?;
    refuse_absent(&optimized)?;
    let mut planned = physical::query(optimized, catalog, forms)?;
    planned.acts = acts_in_transaction(hir);
    planned.calls = calls_routines(hir);
    // What functions do is done once, in its place.
    planned.constants = if planned.calls { Vec::new() } else { constants(hir)? };
    for locking in &hir.locking {
        let query = Arc::new(plan_query(&locking.query, catalog, forms)?);
        planned.locking.push(plan::LockingQuery { number: locking.number, query, groups: locking.groups });
    }
    Ok(planned)
}

fn acts_in_transaction(query: &HirQuery) -> bool {
    let mut acts = false;
    let calls =
        |expr: &HirExpr| matches!(expr, HirExpr::Call { function, .. } if func::acts_in_transaction(function.name));
    acts |= calls_routines(query);
    Visitor { operator: &mut |_| {}, expression: &mut |expr| acts |= calls(expr) }.query(query);
    acts
}

/// Whether it calls functions that somebody created.
pub(crate) fn calls_routines(query: &HirQuery) -> bool {
    let (mut rows, mut values) = (false, false);
    Visitor {
        operator: &mut |hir| {
            rows |= matches!(&hir.node, HirNode::TableFunction { functions, .. }
                if functions.iter().any(|(function, ..)| **function == func::routine::ROWS));
        },
        expression: &mut |expr| {
            values |= matches!(expr, HirExpr::Call { function, .. } if func::routine::is_call(function));
        },
    }
    .query(query);
    rows || values
}

/// 0A000 where a row that is to be locked may be none: of an outer join that is still one.
fn refuse_absent(query: &MirQuery) -> Result<(), PlanError> {
    if query.locks.is_empty() {
        return Ok(());
    }
    let types = query.relation.types();
    match query.locks.iter().find(|lock| types[lock.key_column].nullable) {
        Some(lock) => {
            let clause = lock.strength.clause();
            Err(PlanError::new("0A000", format!("{clause} cannot be applied to the nullable side of an outer join")))
        }
        None => Ok(()),
    }
}

/// A query on the MIR rungs: the relation, and what is done with its rows outside the dataflow.
#[derive(Clone, Debug, PartialEq)]
pub struct MirQuery {
    /// The relation.
    pub relation: Mir,
    /// Order, limits, projection, by columns of `relation`.
    pub finishing: plan::Finishing,
    /// The result's columns.
    pub columns: Vec<crate::hir::OutputColumn>,
    /// FOR UPDATE/SHARE, by columns of `relation`.
    pub locks: Vec<crate::hir::RowLock>,
    /// The next free local.
    pub next_local: usize,
}

/// Lowers a whole SELECT.
pub fn lower_query(hir: &HirQuery, catalog: &Catalog) -> Result<MirQuery, PlanError> {
    let mut lowering = Lowering { catalog, next_local: 0, ctes: BTreeMap::new() };
    // The order of a subquery that is all there is holds for the result, as users of PostgreSQL expect.
    let inherits = hir.order_by.is_empty();
    let carried = if inherits { ordered::carry(&hir.relation, By::OrderBy, &|_| None) } else { None };
    let (source, order_by) = match &carried {
        Some((relation, order)) => (relation, order),
        None => (&hir.relation, &hir.order_by),
    };
    let mut relation = lowering.apply(source, Mir::unit(), true, &Env::root())?;
    let mut order_by = order_by.clone();
    redundant_order::without_determined(&mut relation, &mut order_by, catalog);
    let finishing = plan::Finishing {
        order_by,
        limit: hir.limit.as_ref().map(|limit| columnless(limit, "LIMIT")).transpose()?,
        offset: hir.offset.as_ref().map(|offset| columnless(offset, "OFFSET")).transpose()?,
        late: Vec::new(),
        project: hir.project.clone(),
    };
    Ok(MirQuery {
        relation,
        finishing,
        columns: hir.columns.clone(),
        locks: hir.locks.clone(),
        next_local: lowering.next_local,
    })
}

/// An expression over no row: LIMIT and OFFSET.
fn columnless(expr: &HirExpr, place: &str) -> Result<ScalarExpr, PlanError> {
    crate::mir::expr::try_replace(expr, &mut |_| {
        Err(PlanError::unsupported(format_args!("a column or subquery in {place}"))
            .hint("Use a constant or a parameter."))
    })
}

/// A lowering in progress.
struct Lowering<'a> {
    catalog: &'a Catalog,
    next_local: usize,
    ctes: BTreeMap<CteId, Cte>,
}

/// A common table expression that has been lowered.
#[derive(Clone)]
struct Cte {
    /// What it is in MIR.
    id: LocalId,
    /// The outer columns that it depends on: its first columns, in this order.
    key: Vec<OuterColumn>,
    /// All its columns' types, the key's first, those that order it last.
    types: Types,
    /// Its order, the key left out.
    order: Option<ordered::Ordered>,
}

impl Lowering<'_> {
    fn fresh(&mut self) -> LocalId {
        let id = LocalId(self.next_local);
        self.next_local += 1;
        id
    }

    /// Makes a relation usable more than once: what `body` gives for its name, under a `Let`.
    fn bind(
        &mut self,
        value: Mir,
        body: impl FnOnce(&mut Self, Mir) -> Result<Mir, PlanError>,
    ) -> Result<Mir, PlanError> {
        let cheap = match &value {
            Mir::GetLocal { .. } => true,
            Mir::Constant { rows, .. } => rows.len() <= 1,
            _ => false,
        };
        if cheap {
            return body(self, value);
        }
        let id = self.fresh();
        let get = Mir::GetLocal { id, types: value.types().into(), names: Names::default() };
        let body = body(self, get)?;
        Ok(Mir::Let { id, value: Box::new(value), body: Box::new(body) })
    }

    /// The order of a common table expression in scope.
    fn cte_order(&self, id: CteId) -> Option<ordered::Ordered> {
        self.ctes.get(&id)?.order.clone()
    }

    /// The outer columns that a relation reads, with `scopes` scopes around it.
    fn free(&self, hir: &Hir, scopes: usize) -> std::collections::BTreeSet<OuterColumn> {
        env::free(hir, scopes, &|id| self.ctes.get(&id).map_or(&[], |cte| cte.key.as_slice()))
    }
}

/// Plans a SELECT as a view that is maintained.
pub(crate) fn plan_maintained(hir: &HirQuery, catalog: &Catalog) -> Result<physical::MaintainedPlan, PlanError> {
    let lowered = lower_query(hir, catalog)?;
    let optimized = transform::optimize(lowered, catalog)?;
    physical::maintained(optimized, catalog)
}
