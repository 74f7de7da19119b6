//! What of a table a person's own login is shown, as a relation that a dataflow keeps: for SUBSCRIBE.
//!
//! ```text
//! users ⋈ notes ⋈ comments    each path of GET's plan, a chain of joins  ─┐
//! users ⋈ comments                                                       ─┴▶ by key, which edges lead there ─▶ ⋈ comments
//!                                                                             columns that each of them hides are NULL
//! ```
//!
//! The person's key is a parameter behind those that the statement has: people who watch the same share a view by key.
//! Nothing is iterated here: a table whose rows lead to rows of its own is refused.

use super::{Resolver, Typed};
use crate::catalog::{EdgeRef, Table};
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirNode, JoinKind};
use crate::names::{Label, Names};
use crate::ownership::graph::Dog;
use crate::ownership::redaction::Redaction;
use crate::ownership::traversal::{Join, NodeId, SUBJECT_NODE, TraversalPlan};
use crate::scalar::{AggregateCall, registry};
use repr::{ColumnType, Datum, ScalarType};

/// More ways than this to one table are refused.
const PATHS_MAX: usize = 32;

/// A way from a person's own row to a table's rows.
type Way<'p> = Vec<&'p Join>;

/// How a way ends: by an edge, or with the person's own row.
type End = Option<EdgeRef>;

impl Resolver<'_> {
    /// The person's rows of a table: its physical columns, hidden ones NULL. `first` is the number of the parameter that has the
    /// first column of the person's key.
    pub(super) fn kept_subject_rows(&mut self, table: &Table, first: usize) -> Result<Hir, PlanError> {
        let person = self.catalog.person_of(self.session.path.actor().role);
        let subjects = person.and_then(|person| self.catalog.table(person.table)).cloned();
        let Some(subjects) = subjects else { return Ok(nothing(table)) };
        let plan = TraversalPlan::new(&Dog::new(self.catalog), subjects.id);
        let ways = ways(&plan, table)?;
        let only_by_keys = |way: &Way<'_>| way.iter().all(|join| join.edge.along_foreign_key());
        match &ways[..] {
            [] => Ok(nothing(table)),
            // Each row is met once.
            [way] if only_by_keys(way) => {
                let Redaction { hidden, leaves_out } = Redaction::of(table, end(way).as_slice());
                if leaves_out {
                    return Ok(nothing(table));
                }
                let (hir, place) = self.chain(&subjects, way, first)?;
                let hir = hir.project((place..place + table.columns.len()).collect());
                let null =
                    |column: &usize| Typed::literal(Datum::Null, table.columns[*column].column_type.scalar.clone());
                Ok(replaced(hir, &hidden.iter().map(|column| (*column, null(column))).collect::<Vec<_>>()))
            }
            ways => self.by_ends(table, &subjects, ways, first),
        }
    }

    /// The rows that several ways lead to, each once, with what not all of their ends hide.
    fn by_ends(&mut self, table: &Table, subjects: &Table, ways: &[Way<'_>], first: usize) -> Result<Hir, PlanError> {
        let Some(key) = table.primary_key_columns().map(<[usize]>::to_vec) else {
            return Err(refused(table, "has no primary key"));
        };
        let mut ends: Vec<End> = ways.iter().map(end).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut branches = Vec::with_capacity(ways.len());
        for way in ways {
            let (hir, place) = self.chain(subjects, way, first)?;
            let is = |own: &End| Typed::literal(Datum::Bool(*own == end(way)), ScalarType::Bool);
            let arity = hir.arity();
            let columns = key.iter().map(|column| place + column).chain(arity..arity + ends.len()).collect();
            branches.push(hir.map(ends.iter().map(is).collect()).project(columns));
        }
        let types = branches[0].types.clone();
        let all = Hir { node: HirNode::Union(branches, Names::default()), types };
        let reached = reached(all, key.len(), ends.len())?;
        let base = self.stored(table);
        let width = base.arity();
        let mut same = Vec::with_capacity(key.len());
        for (place, column) in key.iter().enumerate() {
            let (own, other) = (column_of(&base, *column, 0), column_of(&reached, place, width));
            same.push(self.operate_built_in("=", own, other, None)?.expr);
        }
        let hir = base.join(reached, JoinKind::Inner, super::build::conjunction(same), false);
        let flag = |at: usize| column_of(&hir, width + key.len() + at, 0).expr;
        let redactions: Vec<Redaction> = ends.iter().map(|end| Redaction::of(table, end.as_slice())).collect();
        // Reached by one of the ends that this holds for; whether that is by any.
        let by = |holds: &dyn Fn(&Redaction) -> bool| {
            let kept: Vec<HirExpr> = (0..ends.len()).filter(|at| holds(&redactions[*at])).map(flag).collect();
            (kept.len() < ends.len(), if kept.len() == 1 { kept[0].clone() } else { HirExpr::Or(kept) })
        };
        let mut shown = Vec::new();
        for (column, own) in table.columns.iter().enumerate() {
            let (some_hide, visible) = by(&|redaction| !redaction.hides(column));
            if some_hide {
                let scalar = own.column_type.scalar.clone();
                let otherwise = Typed::literal(Datum::Null, scalar.clone()).expr;
                let branches = vec![(visible, column_of(&hir, column, 0).expr)];
                let case = HirExpr::Case { branches, otherwise: Box::new(otherwise), result: scalar.clone() };
                shown.push((column, Typed::new(case, scalar)));
            }
        }
        let (some_leave_out, stays) = by(&|redaction| !redaction.leaves_out);
        let hir = if some_leave_out { hir.filter(vec![stays]) } else { hir };
        let whole = replaced(hir, &shown);
        Ok(whole.project((0..width).collect()))
    }

    /// The person's own row and what a way leads to from there, joined; where the columns of the last begin.
    fn chain(&mut self, subjects: &Table, way: &Way<'_>, first: usize) -> Result<(Hir, usize), PlanError> {
        let mut hir = self.stored(subjects);
        let key = subjects.primary_key_columns().unwrap_or_default().to_vec();
        let mut own = Vec::with_capacity(key.len());
        for (place, column) in key.iter().enumerate() {
            let column = column_of(&hir, *column, 0);
            let scalar = column.scalar().clone();
            let given = Typed::new(HirExpr::Param(first + place, scalar.clone()), scalar);
            own.push(self.operate_built_in("=", column, given, None)?.expr);
        }
        hir = hir.filter(own);
        let mut far = 0;
        for join in way {
            let Some(near_table) = self.catalog.table(join.edge.near).cloned() else {
                return Ok((nothing(subjects), 0));
            };
            let near = self.stored(&near_table);
            let place = hir.arity();
            let mut same = Vec::new();
            for (one, other) in join.edge.far_columns.iter().zip(&join.edge.near_columns) {
                let (one, other) = (column_of(&hir, far + one, 0), column_of(&near, *other, place));
                same.push(self.operate_built_in("=", one, other, None)?.expr);
            }
            hir = hir.join(near, JoinKind::Inner, super::build::conjunction(same), false);
            if join.edge.near == subjects.id {
                // What leads back to the person's own row leads nowhere.
                let mut differs = Vec::new();
                for column in &key {
                    let (one, other) = (column_of(&hir, *column, 0), column_of(&hir, place + column, 0));
                    differs.push(self.operate_built_in("<>", one, other, None)?.expr);
                }
                let differs = if differs.len() == 1 { differs.remove(0) } else { HirExpr::Or(differs) };
                hir = hir.filter(vec![differs]);
            }
            far = place;
        }
        Ok((hir, far))
    }

    fn stored(&self, table: &Table) -> Hir {
        Hir::get(table.id, table.columns.iter().map(|column| column.column_type.clone()).collect(), false)
    }
}

/// The ways to a table, none through another person. 0A000 where rows of it lead to rows of it.
fn ways<'p>(plan: &'p TraversalPlan, table: &Table) -> Result<Vec<Way<'p>>, PlanError> {
    let joins: Vec<&Join> =
        plan.components.iter().flat_map(|component| component.entering.iter().chain(&component.inner)).collect();
    let mut found = Vec::new();
    let targets = (0..plan.nodes.len()).filter(|node| plan.nodes[*node].relation == table.id);
    for target in targets {
        go_back(plan, &joins, target, table, &mut Vec::new(), &mut found)?;
    }
    Ok(found)
}

/// From a node back to the person. `way` is what was gone so far, the last edge first.
fn go_back<'p>(
    plan: &TraversalPlan,
    joins: &[&'p Join],
    node: NodeId,
    table: &Table,
    way: &mut Way<'p>,
    found: &mut Vec<Way<'p>>,
) -> Result<(), PlanError> {
    if node == SUBJECT_NODE {
        found.push(way.iter().rev().copied().collect());
        return if found.len() > PATHS_MAX { Err(refused(table, "is reached in too many ways")) } else { Ok(()) };
    }
    if plan.nodes[node].relation == table.id && !way.is_empty() {
        return Err(refused(table, "leads to itself in the ownership graph"));
    }
    for join in joins.iter().filter(|join| join.near == node) {
        if way.iter().any(|gone| gone.near == join.far) {
            return Err(refused(table, "is reached through tables that lead to themselves"));
        }
        way.push(join);
        go_back(plan, joins, join.far, table, way, found)?;
        way.pop();
    }
    Ok(())
}

/// By which edge a way ends.
fn end(way: &Way<'_>) -> End {
    way.last().map(|join| join.edge.reference)
}

/// By key, whether a row was reached by each of the ends.
fn reached(all: Hir, keys: usize, ends: usize) -> Result<Hir, PlanError> {
    let any = registry::resolve_aggregate("bool_or", &[ScalarType::Bool])?;
    let flag = |at: usize| AggregateCall {
        function: any.function,
        args: vec![column_of(&all, keys + at, 0).expr],
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        result: ScalarType::Bool,
        label: Label::default(),
    };
    let aggregates: Vec<_> = (0..ends).map(flag).collect();
    let own: Vec<HirExpr> = (0..keys).map(|column| column_of(&all, column, 0).expr).collect();
    let mut types: Vec<ColumnType> = all.types[..keys].to_vec();
    types.extend(vec![ColumnType::nullable(ScalarType::Bool); ends]);
    Ok(Hir { node: HirNode::Reduce { input: Box::new(all), keys: own, aggregates, scalar: false }, types })
}

/// The relation with other values in some of its columns.
fn replaced(hir: Hir, values: &[(usize, Typed)]) -> Hir {
    let arity = hir.arity();
    let place = |column| values.iter().position(|(own, _)| *own == column).map_or(column, |at| arity + at);
    let columns = (0..arity).map(place).collect();
    hir.map(values.iter().map(|(_, value)| value.clone()).collect()).project(columns)
}

/// A column of a relation that stands behind `before` others.
fn column_of(hir: &Hir, column: usize, before: usize) -> Typed {
    Typed::column(before + column, hir.types[column].clone())
}

/// The columns of a table, and no row.
fn nothing(table: &Table) -> Hir {
    let types = table.columns.iter().map(|column| column.column_type.clone()).collect();
    Hir { node: HirNode::Constant(Vec::new(), Names::default()), types }
}

fn refused(table: &Table, why: &str) -> PlanError {
    PlanError::unsupported("SUBSCRIBE by a person's own login to such a table")
        .detail(format!("Table \"{}\" {why}.", table.name))
        .hint("ask again by SELECT, or have a controller subscribe")
}
