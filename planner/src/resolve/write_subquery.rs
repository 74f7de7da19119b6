//! What a write computes from other tables for rows that it has at hand: in ON CONFLICT DO UPDATE, in RETURNING.
//!
//! A write's own expressions stand over one row and read no table. Those with subqueries become columns of a query of their
//! own, over the rows at hand: the engine gives it these, and runs it over the statement's snapshot.
//! ```text
//!   rows at hand, numbered ─ Map(expressions with subqueries) ─ in their order ─▶ columns behind the rows'
//! ```

use super::dml::source_query;
use super::levels::has_subquery;
use super::returned::reads;
use super::{Resolver, Typed};
use crate::hir::{BesideHir, Hir, HirExpr, HirNode};
use crate::names::Names;
use crate::scalar::Order;
use crate::scalar::table_func::{ROWS_AT_HAND, TableFunction};
use repr::{ColumnType, Datum, ScalarType};

impl Resolver<'_> {
    /// The query that computes columns for rows of these types; none if there is nothing to compute. Those of `first` stand over
    /// the rows alone, the others over them and those.
    pub(super) fn beside(
        &mut self,
        types: Vec<ColumnType>,
        first: Vec<Typed>,
        computed: Vec<Typed>,
    ) -> Option<BesideHir> {
        if first.is_empty() && computed.is_empty() {
            return None;
        }
        let number = self.row_locks.subqueries.len();
        self.row_locks.subqueries.push(None);
        let (width, firsts, count) = (types.len(), first.len(), computed.len());
        let mut relation = given_rows(&ROWS_AT_HAND, number, types, Names::default(), true);
        let turn = width + firsts;
        if firsts > 0 {
            // What is computed first stands before the row's number, where the other expressions look for it.
            relation = relation.map(first).project((0..width).chain(width + 1..=turn).chain([width]).collect());
        }
        let mut relation = relation.map(computed);
        self.under_definitions(&mut relation);
        let places = (width..turn).chain(turn + 1..turn + 1 + count).collect();
        let mut query = source_query(relation, places);
        query.order_by = vec![Order::ascending(turn)];
        Some(BesideHir { number, query })
    }

    /// Puts the WITH queries in scope that a relation reads around it, for it to be run apart from the statement.
    pub(super) fn under_definitions(&self, relation: &mut Hir) {
        for cte in self.ctes.in_scope.iter().rev() {
            if let Some(definition) = &cte.definition
                && reads(relation, definition.id())
            {
                let body = std::mem::replace(relation, Hir::unit());
                *relation = definition.clone().wrap(body);
            }
        }
    }
}

/// The rows of that number.
pub(super) fn given_rows(
    function: &'static TableFunction,
    number: usize,
    types: Vec<ColumnType>,
    names: Names,
    ordinality: bool,
) -> Hir {
    let int4 = ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int4) };
    let number = HirExpr::Literal(Datum::Int4(i32::try_from(number).unwrap_or(i32::MAX)), int4);
    let node = HirNode::TableFunction {
        input: Box::new(Hir::unit()),
        functions: vec![(function, vec![number], types.clone())],
        ordinality,
        names,
    };
    let place = ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int8) };
    Hir { node, types: types.into_iter().chain(ordinality.then_some(place)).collect() }
}

/// An expression over rows: itself, or the column behind `behind` others that it is computed as.
pub(super) fn computed_beside(typed: Typed, behind: usize, computed: &mut Vec<Typed>) -> HirExpr {
    if !has_subquery(&typed.expr) {
        return typed.expr;
    }
    let column = Typed::column(behind + computed.len(), typed.column_type.clone());
    computed.push(typed);
    column.expr
}
