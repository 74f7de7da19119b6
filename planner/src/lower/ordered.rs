//! Order below the top: relations are bags, so what depends on the order of a subquery takes the order's
//! columns along (the result itself, LIMIT, ARRAY(subquery), array_agg and row_number over an ordered subquery).
//!
//! The order is that of PostgreSQL's plans: rows keep it through projections, filters, set-returning functions and
//! laterals; UNION ALL has its branches one after another; lists and functions give their rows in order. Joins, groups
//! and DISTINCT promise none.

use super::env::has_subquery;
use super::stored_order::stored_order;
use crate::catalog::Catalog;
use crate::hir::{CteId, Hir, HirColumn, HirExpr, HirFunctionCall, HirNode, JoinKind};
use crate::mir::expr;
use crate::names::Names;
use crate::scalar::{AggregateCall, FrameBound, FrameUnit, Order, ScalarExpr, WindowCall, WindowFrame, WindowKind};
use repr::{ColumnType, Datum, ScalarType};
use std::borrow::Cow;

/// A relation's order: the types of its columns, those that order it appended; and by which.
#[derive(Clone, Debug)]
pub(super) struct Ordered {
    types: Vec<ColumnType>,
    order: Vec<Order>,
    /// ORDER BY gave it.
    written: bool,
}

impl Ordered {
    /// That of a common table expression, and the expression with what orders it.
    pub(super) fn of(value: &Hir, ctes: &CteOrders<'_>) -> Option<(Hir, Ordered)> {
        let written = carry(value, By::OrderBy, ctes);
        let is_written = written.is_some();
        let (value, order) = written.or_else(|| carry(value, By::Coming, ctes))?;
        let types = value.types.clone();
        Some((value, Ordered { types, order, written: is_written }))
    }
}

/// The order of the common table expressions in scope.
pub(super) type CteOrders<'c> = dyn Fn(CteId) -> Option<Ordered> + 'c;

/// Which order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// One that ORDER BY gave.
    OrderBy,
    /// That, or else the one in which rows come from lists and functions. What streams keeps it without being told.
    Coming,
}

/// The same relation with columns appended so that its order is at hand, and that order.
/// `None` if the relation has no order.
pub(super) fn carry(hir: &Hir, by: By, ctes: &CteOrders<'_>) -> Option<(Hir, Vec<Order>)> {
    match &hir.node {
        HirNode::TopK { keys, order, .. } if keys.is_empty() && !order.is_empty() => Some((hir.clone(), order.clone())),
        HirNode::TopK { input, keys, limit, offset, .. } if keys.is_empty() => {
            first_rows(input, (limit.as_ref(), offset.as_ref()), by, ctes)
        }
        HirNode::Project(input, columns) => projected(input, columns, by, ctes),
        HirNode::Map(input, exprs) => {
            let plain = input.types.len();
            let (input, order) = carry(input, by, ctes)?;
            Some(extended(input, plain, &hir.types[plain..], order, |input| HirNode::Map(input, exprs.clone())))
        }
        HirNode::TableFunction { input, functions, ordinality, names } => {
            numbered(&hir.types, input, (functions, *ordinality, names), by, ctes)
        }
        HirNode::Window { input, partition, order, calls } if partition.is_empty() && order.is_empty() => {
            let plain = input.types.len();
            // What is numbered does not stream: it would lose any order.
            let (input, order) = carry(input, By::Coming, ctes)?;
            let (sorts, calls) = match in_order(calls) {
                Some(calls) => (order.clone(), calls),
                None => (Vec::new(), calls.clone()),
            };
            let node = |input| HirNode::Window { input, partition: Vec::new(), order: sorts, calls };
            Some(extended(input, plain, &hir.types[plain..], order, node))
        }
        HirNode::Join { left, right, kind, on, lateral: true } if !has_subquery(on) && keeps_left(*kind) => {
            lateral_join((left, right), *kind, on, by, ctes)
        }
        HirNode::Filter(input, predicates) => {
            let (input, order) = carry(input, by, ctes)?;
            let types = input.types.clone();
            Some((Hir { node: HirNode::Filter(Box::new(input), predicates.clone()), types }, order))
        }
        HirNode::GetCte(id, names) => {
            let Ordered { types, order, written } = ctes(*id)?;
            (written || by == By::Coming).then(|| (Hir { node: HirNode::GetCte(*id, names.clone()), types }, order))
        }
        HirNode::Let { id, name, value, body } => {
            let carried = Ordered::of(value, ctes);
            let known = carried.as_ref().map(|(_, order)| order.clone());
            let (body, order) = carry(body, by, &|other| if other == *id { known.clone() } else { ctes(other) })?;
            let value = carried.map_or_else(|| value.clone(), |(value, _)| Box::new(value));
            let types = body.types.clone();
            Some((
                Hir { node: HirNode::Let { id: *id, name: name.clone(), value, body: Box::new(body) }, types },
                order,
            ))
        }
        HirNode::LetRec { id, name, base, step, distinct, body } => {
            let (body, order) = carry(body, by, &|other| if other == *id { None } else { ctes(other) })?;
            let types = body.types.clone();
            let (id, name, base, step, distinct) = (*id, name.clone(), base.clone(), step.clone(), *distinct);
            Some((Hir { node: HirNode::LetRec { id, name, base, step, distinct, body: Box::new(body) }, types }, order))
        }
        HirNode::Union(inputs, names) => one_after_another(hir, (inputs, names), by, ctes),
        HirNode::Constant(rows, names) if by == By::Coming => Some(listed(hir, rows, names)),
        HirNode::TopK { .. }
        | HirNode::Constant(..)
        | HirNode::Get { .. }
        | HirNode::Join { .. }
        | HirNode::Reduce { .. }
        | HirNode::Distinct(_)
        | HirNode::Window { .. }
        | HirNode::Except { .. }
        | HirNode::Intersect { .. } => None,
    }
}

/// The first rows of an order.
fn first_rows(
    input: &Hir,
    (limit, offset): (Option<&HirExpr>, Option<&HirExpr>),
    by: By,
    ctes: &CteOrders<'_>,
) -> Option<(Hir, Vec<Order>)> {
    let (input, order, sorts) = match carry(input, By::OrderBy, ctes) {
        Some((input, order)) => (input, order.clone(), order),
        // The first rows are those that come first: no sort, which would wait for all.
        None if by == By::Coming => {
            let (input, order) = carry(input, by, ctes)?;
            (input, order, Vec::new())
        }
        None => return None,
    };
    let types = input.types.clone();
    let (limit, offset) = (limit.cloned(), offset.cloned());
    let node = HirNode::TopK { input: Box::new(input), keys: Vec::new(), order: sorts, limit, offset };
    Some((Hir { node, types }, order))
}

/// Columns of a relation, and behind them those that order it and are not among them.
fn projected(input: &Hir, columns: &[usize], by: By, ctes: &CteOrders<'_>) -> Option<(Hir, Vec<Order>)> {
    let (input, mut order) = carry(input, by, ctes)?;
    let mut columns = columns.to_vec();
    for order in &mut order {
        order.column = columns.iter().position(|column| *column == order.column).unwrap_or_else(|| {
            columns.push(order.column);
            columns.len() - 1
        });
    }
    Some((project(input, columns), order))
}

/// Functions give their rows in the order of their numbers, which stand behind what was asked for if nobody asked for them.
fn numbered(
    types: &[ColumnType],
    input: &Hir,
    (functions, ordinality, names): (&[HirFunctionCall], bool, &Names),
    by: By,
    ctes: &CteOrders<'_>,
) -> Option<(Hir, Vec<Order>)> {
    let plain = input.types.len();
    let (input, order) = rows_of(input, by, ctes)?;
    let (functions, names) = (functions.to_vec(), names.clone());
    let node = |input| HirNode::TableFunction { input, functions, ordinality: true, names };
    let mut added = types[plain..].to_vec();
    if !ordinality {
        added.push(ColumnType::not_null(ScalarType::Int8));
    }
    let (over, mut order) = extended(input, plain, &added, order, node);
    let numbered = plain + added.len() - 1;
    order.push(Order::ascending(numbered));
    if ordinality {
        return Some((over, order));
    }
    let width = over.types.len();
    for order in &mut order {
        order.column = match order.column {
            column if column == numbered => width - 1,
            column if column > numbered => column - 1,
            column => column,
        };
    }
    Some((project(over, (0..numbered).chain(numbered + 1..width).chain([numbered]).collect()), order))
}

/// The rows of the left in their order, with those of the right in theirs for each.
fn lateral_join(
    (left, right): (&Hir, &Hir),
    kind: JoinKind,
    on: &HirExpr,
    by: By,
    ctes: &CteOrders<'_>,
) -> Option<(Hir, Vec<Order>)> {
    let (plain_left, plain_right) = (left.types.len(), right.types.len());
    let (left, mut order) = rows_of(left, by, ctes)?;
    let (right, right_order) = carry(right, By::Coming, ctes).unwrap_or_else(|| (right.clone(), Vec::new()));
    let (width, end) = (left.types.len(), left.types.len() + right.types.len());
    let on = moved(on, plain_left, width - plain_left);
    let types = left.types.iter().chain(&right.types).map(|column| ColumnType { nullable: true, ..column.clone() });
    let types = types.collect();
    let node = HirNode::Join { left: Box::new(left), right: Box::new(right), kind, on, lateral: true };
    for order in &mut order {
        if order.column >= plain_left {
            order.column += plain_right;
        }
    }
    let behind = |column: usize| if column < plain_right { plain_left + column } else { width + column };
    order.extend(right_order.iter().map(|order| Order { column: behind(order.column), ..*order }));
    let asked = (0..plain_left).chain(width..width + plain_right);
    let columns = asked.chain(plain_left..width).chain(width + plain_right..end).collect();
    Some((project(Hir { node, types }, columns), order))
}

/// A list of rows, numbered.
fn listed(hir: &Hir, rows: &[Vec<Datum>], names: &Names) -> (Hir, Vec<Order>) {
    if rows.len() <= 1 {
        return (hir.clone(), Vec::new());
    }
    let numbered = rows.iter().enumerate().map(|(at, row)| row.iter().cloned().chain([place(at)]).collect());
    let mut types = hir.types.clone();
    types.push(number());
    let order = vec![Order::ascending(types.len() - 1)];
    (Hir { node: HirNode::Constant(numbered.collect(), names.clone()), types }, order)
}

/// What a function or a lateral is computed of, row by row: in its order, or else in any, in which what belongs to a row
/// stays together.
fn rows_of(input: &Hir, by: By, ctes: &CteOrders<'_>) -> Option<(Hir, Vec<Order>)> {
    carry(input, by, ctes)
        .or_else(|| (by == By::Coming).then(|| (input.clone(), (0..input.types.len()).map(Order::ascending).collect())))
}

/// The type of a row's place in a list.
fn number() -> ColumnType {
    ColumnType::not_null(ScalarType::Int4)
}

fn place(at: usize) -> Datum {
    Datum::Int4(i32::try_from(at).unwrap_or(i32::MAX))
}

/// An operator that appends columns of types `added` to `input`, which itself has `plain` columns, then those that order it:
/// what it appends stands before those.
pub(super) fn extended(
    input: Hir,
    plain: usize,
    added: &[ColumnType],
    mut order: Vec<Order>,
    node: impl FnOnce(Box<Hir>) -> HirNode,
) -> (Hir, Vec<Order>) {
    let carried = input.types.len();
    let end = carried + added.len();
    let mut types = input.types.clone();
    types.extend_from_slice(added);
    let over = Hir { node: node(Box::new(input)), types };
    for order in &mut order {
        if order.column >= plain {
            order.column += added.len();
        }
    }
    (project(over, (0..plain).chain(carried..end).chain(plain..carried).collect()), order)
}

fn keeps_left(kind: JoinKind) -> bool {
    match kind {
        JoinKind::Inner | JoinKind::Left => true,
        JoinKind::Right | JoinKind::Full => false,
    }
}

/// A join condition whose right columns, from `from` on, have moved.
fn moved(on: &HirExpr, from: usize, by: usize) -> HirExpr {
    let Ok(moved) = expr::try_replace::<_, _, std::convert::Infallible>(on, &mut |column| {
        Ok(ScalarExpr::Column(match column {
            HirColumn::Column { level: 0, index } if *index >= from => {
                HirColumn::Column { level: 0, index: index + by }
            }
            other => other.clone(),
        }))
    });
    moved
}

/// UNION ALL of relations of which one at least is ordered: ordered by the number of the branch, then as the branch is.
fn one_after_another(
    hir: &Hir,
    (inputs, names): (&[Hir], &Names),
    by: By,
    ctes: &CteOrders<'_>,
) -> Option<(Hir, Vec<Order>)> {
    let carried: Vec<Option<(Hir, Vec<Order>)>> = inputs.iter().map(|input| carry(input, by, ctes)).collect();
    if carried.iter().all(Option::is_none) {
        return None;
    }
    let branches: Vec<(Hir, Vec<Order>)> = carried
        .into_iter()
        .zip(inputs)
        .map(|(carried, input)| carried.unwrap_or_else(|| (input.clone(), Vec::new())))
        .collect();
    let plain = hir.types.len();
    let mut types = hir.types.clone();
    types.push(number());
    let mut order = vec![Order::ascending(plain)];
    // Each branch's order has columns of its own, NULL in the others.
    for (branch, own) in &branches {
        for item in own {
            order.push(Order { column: types.len(), ..*item });
            types.push(ColumnType { nullable: true, ..branch.types[item.column].clone() });
        }
    }
    let mut before = plain + 1;
    let mut numbered = Vec::with_capacity(branches.len());
    for (at, (branch, own)) in branches.into_iter().enumerate() {
        let mut exprs = vec![ScalarExpr::Literal(place(at), number())];
        exprs.extend(types[plain + 1..].iter().map(|column| ScalarExpr::Literal(Datum::Null, column.clone())));
        for (index, item) in own.iter().enumerate() {
            exprs[before - plain + index] = ScalarExpr::Column(HirColumn::Column { level: 0, index: item.column });
        }
        before += own.len();
        let carried = branch.types.len();
        let end = carried + exprs.len();
        let mut all = branch.types.clone();
        all.extend_from_slice(&types[plain..]);
        let mapped = Hir { node: HirNode::Map(Box::new(branch), exprs), types: all };
        numbered.push(project(mapped, (0..plain).chain(carried..end).collect()));
    }
    Some((Hir { node: HirNode::Union(numbered, names.clone()), types }, order))
}

/// Calls over one partition without ORDER BY, where all rows are peers, as calls over the same rows in some order, where
/// none need be. `None` if one asks for its rank among peers.
fn in_order(calls: &[WindowCall<HirColumn>]) -> Option<Vec<WindowCall<HirColumn>>> {
    const RANKS: [&str; 4] = ["rank", "dense_rank", "percent_rank", "cume_dist"];
    let rows = |call: &WindowCall<HirColumn>| {
        let is_rank = matches!(call.function, WindowKind::Function(function) if RANKS.contains(&function.name));
        if is_rank {
            return None;
        }
        let mut call = call.clone();
        if call.frame.unit == FrameUnit::Range {
            let WindowFrame { start, end, .. } = &mut call.frame;
            if *start == FrameBound::CurrentRow {
                *start = FrameBound::UnboundedPreceding;
            }
            if *end == FrameBound::CurrentRow {
                *end = FrameBound::UnboundedFollowing;
            }
            call.frame.unit = FrameUnit::Rows;
        }
        Some(call)
    };
    calls.iter().map(rows).collect()
}

pub(super) fn project(input: Hir, columns: Vec<usize>) -> Hir {
    let types = columns.iter().map(|column| input.types[*column].clone()).collect();
    Hir { node: HirNode::Project(Box::new(input), columns), types }
}

/// The order as an aggregate's ORDER BY.
pub(super) fn as_aggregate_order(order: &[Order]) -> Vec<(HirExpr, bool, bool)> {
    let column = |index| ScalarExpr::Column(HirColumn::Column { level: 0, index });
    order.iter().map(|order| (column(order.column), order.descending, order.nulls_first)).collect()
}

/// Aggregates over an ordered input: those that depend on order, and name none, take the input's.
pub(super) fn with_input_order<'a>(
    input: &'a Hir,
    aggregates: &'a [AggregateCall<HirColumn>],
    ctes: &CteOrders<'_>,
    catalog: &Catalog,
) -> (Cow<'a, Hir>, Cow<'a, [AggregateCall<HirColumn>]>) {
    let wants =
        |call: &AggregateCall<HirColumn>| call.function.is_ordered() && call.order_by.is_empty() && !call.distinct;
    if !aggregates.iter().any(wants) {
        return (Cow::Borrowed(input), Cow::Borrowed(aggregates));
    }
    let Some((input, order)) = carry(input, By::Coming, ctes).or_else(|| stored_order(input, catalog)) else {
        return (Cow::Borrowed(input), Cow::Borrowed(aggregates));
    };
    let mut aggregates = aggregates.to_vec();
    for call in aggregates.iter_mut().filter(|call| wants(call)) {
        call.order_by = as_aggregate_order(&order);
    }
    (Cow::Owned(input), Cow::Owned(aggregates))
}

/// A window or limit that asks for no order of its own, over an ordered input: it takes the input's. The columns that
/// come out are the same. `None` if there is nothing to take.
pub(super) fn inheriting(hir: &Hir, by: By, ctes: &CteOrders<'_>) -> Option<Hir> {
    let (HirNode::Window { input, .. } | HirNode::TopK { input, .. }) = &hir.node else { return None };
    let (input, order) = match &hir.node {
        HirNode::Window { partition, order, .. } if partition.is_empty() && order.is_empty() => {
            carry(input, By::Coming, ctes)?
        }
        HirNode::TopK { keys, order, .. } if keys.is_empty() && order.is_empty() => carry(input, by, ctes)?,
        _ => return None,
    };
    if order.is_empty() {
        return None;
    }
    let sorted = match &hir.node {
        HirNode::Window { input: plain, calls, .. } => {
            let calls = in_order(calls)?;
            let added = &hir.types[plain.types.len()..];
            let node = |input| HirNode::Window { input, partition: Vec::new(), order: order.clone(), calls };
            extended(input, plain.types.len(), added, order.clone(), node).0
        }
        HirNode::TopK { limit, offset, .. } => {
            let (types, limit, offset) = (input.types.clone(), limit.clone(), offset.clone());
            Hir { node: HirNode::TopK { input: Box::new(input), keys: Vec::new(), order, limit, offset }, types }
        }
        _ => return None,
    };
    Some(project(sorted, (0..hir.types.len()).collect()))
}
