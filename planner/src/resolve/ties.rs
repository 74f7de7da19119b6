//! FETCH FIRST n ROWS WITH TIES: the first rows, and those that sort as the last of them does.
//!
//! A row is among them if its rank is: the order and OFFSET stay what they were, the limit becomes a condition.

use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode, HirQuery};
use crate::names::Label;
use crate::scalar::registry;
use crate::scalar::{FrameBound, FrameExclusion, FrameUnit, Order, WindowCall, WindowFrame, WindowKind};
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{NonBlock, Query};

/// What WITH TIES cannot stand with.
pub(super) fn refuse_ties(query: &Query) -> Result<(), PlanError> {
    if query.order_by.is_none() {
        return Err(PlanError::new("42601", "WITH TIES cannot be specified without ORDER BY clause"));
    }
    if query.locks.iter().any(|clause| matches!(clause.nonblock, Some(NonBlock::SkipLocked))) {
        return Err(PlanError::new("42601", "SKIP LOCKED and WITH TIES options cannot be used together"));
    }
    Ok(())
}

impl Resolver<'_> {
    /// The query with its limit as a condition on the rank.
    pub(super) fn with_ties(&mut self, query: HirQuery) -> Result<HirQuery, PlanError> {
        let HirQuery { relation, order_by, limit, offset, project, columns, locks, locking } = query;
        let bigint = |expr| Typed::new(expr, ScalarType::Int8);
        let zero = || Typed::literal(Datum::Int8(0), ScalarType::Int8);
        let null = || HirExpr::Literal(Datum::Null, ColumnType::nullable(ScalarType::Int8));
        // A count that is NULL bounds nothing, as LIMIT NULL.
        let count = self.call_named("rows_with_ties", vec![bigint(limit.unwrap_or_else(null))], None)?;
        let skipped = offset.clone().unwrap_or_else(|| zero().expr);
        let skipped = bigint(HirExpr::Coalesce(vec![skipped, zero().expr], ScalarType::Int8));
        let (ranked, rank) = numbered("rank", relation, Order::written(&order_by))?;
        let beyond = self.operate_built_in("-", rank, skipped, None)?;
        let within = self.operate_built_in("<=", beyond, count.clone(), None)?;
        let some = self.operate_built_in(">", count, zero(), None)?;
        let relation = ranked.filter(vec![some.expr, within.expr]);
        Ok(HirQuery { relation, order_by, limit: None, offset, project, columns, locks, locking })
    }
}

/// The relation with what a window function without arguments says of each row's place behind it.
pub(super) fn numbered(function: &str, relation: Hir, order: &[Order]) -> Result<(Hir, Typed), PlanError> {
    let found = registry::resolve_window(function, &[])?;
    let frame = WindowFrame {
        unit: FrameUnit::Range,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::CurrentRow,
        exclude: FrameExclusion::NoOthers,
    };
    let call: WindowCall<HirColumn> = WindowCall {
        function: WindowKind::Function(found.function),
        args: Vec::new(),
        filter: None,
        frame,
        result: ScalarType::Int8,
        label: Label::default(),
    };
    let place = relation.arity();
    let mut types = relation.types.clone();
    types.push(ColumnType::nullable(ScalarType::Int8));
    let node =
        HirNode::Window { input: Box::new(relation), partition: Vec::new(), order: order.to_vec(), calls: vec![call] };
    Ok((Hir { node, types }, Typed::column(place, ColumnType::nullable(ScalarType::Int8))))
}
