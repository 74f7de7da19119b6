//! Constructors of `hir` operators that keep output types right.

use super::Typed;
use super::levels::has_subquery;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode, JoinKind};
use crate::names::Names;
use crate::scalar::Order;
use repr::{ColumnType, Datum, RelationId, ScalarType};

impl Hir {
    /// The one row without columns.
    pub(super) fn unit() -> Hir {
        Hir { node: HirNode::Constant(vec![Vec::new()], Names::default()), types: Vec::new() }
    }

    /// How many columns come out.
    pub(super) fn arity(&self) -> usize {
        self.types.len()
    }

    pub(super) fn map(self, exprs: Vec<Typed>) -> Hir {
        if exprs.is_empty() {
            return self;
        }
        let mut types = self.types.clone();
        let (exprs, added): (Vec<_>, Vec<_>) = exprs.into_iter().map(|typed| (typed.expr, typed.column_type)).unzip();
        types.extend(added);
        Hir { node: HirNode::Map(Box::new(self), exprs), types }
    }

    pub(super) fn filter(self, predicates: Vec<HirExpr>) -> Hir {
        if predicates.is_empty() {
            return self;
        }
        let types = self.types.clone();
        Hir { node: HirNode::Filter(Box::new(self), predicates), types }
    }

    pub(super) fn project(self, columns: Vec<usize>) -> Hir {
        if columns.iter().copied().eq(0..self.arity()) {
            return self;
        }
        let types = columns.iter().map(|&column| self.types[column].clone()).collect();
        Hir { node: HirNode::Project(Box::new(self), columns), types }
    }

    pub(super) fn distinct(self) -> Hir {
        let types = self.types.clone();
        Hir { node: HirNode::Distinct(Box::new(self)), types }
    }

    pub(super) fn top_k(
        self,
        keys: Vec<usize>,
        order: Vec<Order>,
        limit: Option<HirExpr>,
        offset: Option<HirExpr>,
    ) -> Hir {
        let types = self.types.clone();
        Hir { node: HirNode::TopK { input: Box::new(self), keys, order, limit, offset }, types }
    }

    pub(super) fn join(self, right: Hir, kind: JoinKind, on: HirExpr, lateral: bool) -> Hir {
        let left_null = matches!(kind, JoinKind::Right | JoinKind::Full);
        let right_null = matches!(kind, JoinKind::Left | JoinKind::Full);
        let types = nulled(&self.types, left_null).chain(nulled(&right.types, right_null)).collect();
        Hir { node: HirNode::Join { left: Box::new(self), right: Box::new(right), kind, on, lateral }, types }
    }

    pub(super) fn get(relation: RelationId, mut types: Vec<ColumnType>, with_key: bool) -> Hir {
        if with_key {
            types.push(ColumnType::not_null(ScalarType::Bytea));
        }
        Hir { node: HirNode::Get { relation, with_key, names: Names::default() }, types }
    }

    /// Columns for all expressions: those that exist already as such, others appended.
    pub(super) fn with_columns(self, exprs: Vec<Typed>) -> (Hir, Vec<usize>) {
        let mut added: Vec<Typed> = Vec::new();
        let arity = self.arity();
        let columns = exprs
            .into_iter()
            .map(|typed| match typed.expr {
                HirExpr::Column(HirColumn::Column { level: 0, index }) => index,
                _ => match added.iter().position(|other| *other == typed && is_stable(&typed.expr)) {
                    Some(position) => arity + position,
                    None => {
                        added.push(typed);
                        arity + added.len() - 1
                    }
                },
            })
            .collect();
        (self.map(added), columns)
    }
}

/// Whether two evaluations over one row are one: nothing volatile inside.
pub(super) fn is_stable(expr: &HirExpr) -> bool {
    let mut stable = true;
    super::levels::rewrite_expr(&mut expr.clone(), 0, &mut |expr, _| {
        if let HirExpr::Call { function, .. } = expr {
            stable &= function.volatility != crate::scalar::func::Volatility::Volatile;
        }
        Ok(super::levels::Step::Descend)
    })
    .expect("looking does not fail");
    stable
}

/// An operand that several tests are made of: as it stands in each of them, and what `once` puts around them all if it has to be
/// evaluated once, for being volatile or a subquery.
pub(super) fn shared(operand: Typed) -> (Typed, Option<HirExpr>) {
    if is_stable(&operand.expr) && !has_subquery(&operand.expr) {
        return (operand, None);
    }
    named(operand)
}

/// The same, evaluated once whatever it is.
pub(super) fn named(operand: Typed) -> (Typed, Option<HirExpr>) {
    let stands = HirExpr::Operand(operand.scalar().clone());
    (Typed { expr: stands, ..operand.clone() }, Some(operand.expr))
}

/// `body` with its operand around it, if there is one to be evaluated once.
pub(super) fn once(operand: Option<HirExpr>, body: HirExpr) -> HirExpr {
    match operand {
        Some(operand) => HirExpr::Once { operand: Box::new(operand), body: Box::new(body) },
        None => body,
    }
}

/// Those types, nullable if the side may be missing.
pub(super) fn nulled(types: &[ColumnType], missing: bool) -> impl Iterator<Item = ColumnType> + '_ {
    types.iter().map(move |column| ColumnType { nullable: column.nullable || missing, ..column.clone() })
}

/// `true`.
pub(super) fn true_literal() -> HirExpr {
    HirExpr::Literal(Datum::Bool(true), ColumnType::not_null(ScalarType::Bool))
}

/// All of them; nothing is `true`.
pub(super) fn conjunction(mut conditions: Vec<HirExpr>) -> HirExpr {
    match conditions.len() {
        0 => true_literal(),
        1 => conditions.remove(0),
        _ => HirExpr::And(conditions),
    }
}

/// The conjuncts of a condition, one by one.
pub(super) fn conjuncts(condition: HirExpr) -> Vec<HirExpr> {
    match condition {
        HirExpr::And(items) => items.into_iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}
