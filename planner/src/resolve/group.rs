//! From a query's calls to operators: grouping, windows and set-returning functions, one above the other.
//!
//! While a SELECT is resolved, each aggregate, window or set-returning call stands in its expressions as
//! a column numbered from `VIRTUAL`. Here the operators are built and those columns become real.

use super::calls::{Call, VIRTUAL};
use super::levels::{Step, rewrite_expr, shift_expr};
use super::scope::Frame;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode};
use crate::names::{Label, Names};
use crate::scalar::{AggregateCall, Order, WindowCall};
use repr::{ColumnType, Datum, ScalarType};

/// GROUP BY: all keys, and which of them each grouping set has.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    pub(super) keys: Vec<Typed>,
    pub(super) sets: Vec<Vec<usize>>,
}

/// A column of the row that an expression at `depth` belongs to.
fn own_column(expr: &HirExpr, depth: usize) -> Option<usize> {
    match expr {
        HirExpr::Column(HirColumn::Column { level, index }) if *level == depth => Some(*index),
        _ => None,
    }
}

/// Whether an expression is a relation's row, as `Resolver::whole_row` makes it: a row that is written has no names.
fn is_whole_row(expr: &HirExpr) -> bool {
    match expr {
        HirExpr::Record(_, ScalarType::Record(fields)) => fields.first().is_none_or(|(name, _)| name != "f1"),
        HirExpr::Case { branches, .. } => matches!(branches.as_slice(), [(_, row)] if is_whole_row(row)),
        _ => false,
    }
}

fn column_at(depth: usize, index: usize) -> Step {
    Step::Replace(HirExpr::Column(HirColumn::Column { level: depth, index }))
}

/// The query's calls while its operators are built.
pub(super) struct Calls {
    calls: Vec<Call>,
    /// What each call's column becomes, once known.
    columns: Vec<Option<HirExpr>>,
}

impl Calls {
    pub(super) fn new(calls: Vec<Call>) -> Self {
        let columns = vec![None; calls.len()];
        Calls { calls, columns }
    }

    pub(super) fn has_aggregates(&self) -> bool {
        self.calls.iter().any(|call| matches!(call, Call::Aggregate(_) | Call::Grouping(_)))
    }

    pub(super) fn has_windows(&self) -> bool {
        self.calls.iter().any(|call| matches!(call, Call::Window(_)))
    }

    pub(super) fn has_sets(&self) -> bool {
        self.calls.iter().any(|call| matches!(call, Call::Set { .. }))
    }

    /// Puts the calls that are known into an expression.
    pub(super) fn place(&self, expr: &mut HirExpr) -> Result<(), PlanError> {
        rewrite_expr(expr, 0, &mut |expr, depth| {
            if let Some(index) = own_column(expr, depth)
                && index >= VIRTUAL
                && let Some(known) = &self.columns[index - VIRTUAL]
            {
                let mut known = known.clone();
                shift_expr(&mut known, isize::try_from(depth).unwrap_or(0));
                return Ok(Step::Replace(known));
            }
            Ok(Step::Descend)
        })
    }

    fn refers_to_calls(&self, expr: &HirExpr) -> bool {
        let mut found = false;
        super::levels::expr_levels(expr, &mut |level, index| found |= level == 0 && index >= VIRTUAL);
        found
    }

    /// The keys that each GROUPING call is about.
    fn groupings(&self, keys: &[Typed]) -> Result<Vec<Vec<usize>>, PlanError> {
        self.calls
            .iter()
            .filter_map(|call| match call {
                Call::Grouping(exprs) => Some(exprs),
                Call::Aggregate(_) | Call::Window(_) | Call::Set { .. } => None,
            })
            .map(|exprs| {
                exprs
                    .iter()
                    .map(|expr| keys.iter().position(|key| key.expr == *expr))
                    .collect::<Option<Vec<_>>>()
                    .ok_or_else(|| {
                        PlanError::new(
                            "42803",
                            "arguments to GROUPING must be grouping expressions of the associated query level",
                        )
                    })
            })
            .collect::<Result<_, _>>()
    }

    /// The grouped relation, and what `rewrite` must know to put expressions over it.
    pub(super) fn group(
        &mut self,
        input: Hir,
        frame: &Frame,
        mut grouping: Grouping,
        resolver: &mut Resolver<'_>,
    ) -> Result<(Hir, Grouped), PlanError> {
        let written = grouping.keys.len();
        if grouping.sets.len() == 1 {
            resolver.add_dependent_columns(frame, &mut grouping);
        }
        let aggregates: Vec<AggregateCall<HirColumn>> = self
            .calls
            .iter()
            .filter_map(|call| match call {
                Call::Aggregate(aggregate) => Some(aggregate.clone()),
                Call::Grouping(_) | Call::Window(_) | Call::Set { .. } => None,
            })
            .collect();
        let groupings = self.groupings(&grouping.keys[..written])?;
        let keys = grouping.keys.len();
        let (mut next_aggregate, mut next_grouping) = (keys, keys + aggregates.len());
        for (call, column) in self.calls.iter().zip(&mut self.columns) {
            let next = match call {
                Call::Aggregate(_) => &mut next_aggregate,
                Call::Grouping(_) => &mut next_grouping,
                Call::Window(_) | Call::Set { .. } => continue,
            };
            *column = Some(HirExpr::Column(HirColumn::Column { level: 0, index: *next }));
            *next += 1;
        }
        let relation = if grouping.sets.len() == 1 && groupings.is_empty() {
            reduce(input, &grouping.keys, &aggregates, written == 0)
        } else {
            grouping_sets(input, &grouping, &aggregates, &groupings, resolver)
        };
        let grouped = Grouped {
            keys: grouping.keys.into_iter().map(|key| key.expr).collect(),
            names: frame
                .tables
                .iter()
                .flat_map(|table| table.columns.iter().map(|column| column.index))
                .map(|index| (index, frame.qualified_name(index)))
                .chain(frame.tables.iter().filter_map(|table| {
                    table.presence.as_ref().map(|presence| (presence.index, format!("{}.*", table.name)))
                }))
                .collect(),
            references: frame.references.clone(),
        };
        // What windows and sets are computed from is grouped too.
        let mut calls = std::mem::take(&mut self.calls);
        for call in &mut calls {
            for expr in call.expressions() {
                grouped.rewrite(expr, self)?;
            }
        }
        self.calls = calls;
        Ok((relation, grouped))
    }

    /// Computes the window calls.
    pub(super) fn windows(&mut self, mut relation: Hir, resolver: &Resolver<'_>) -> Result<Hir, PlanError> {
        let mut done = vec![false; self.calls.len()];
        for first in 0..self.calls.len() {
            let Call::Window(leader) = self.calls[first].clone() else { continue };
            if done[first] {
                continue;
            }
            let keys = leader.partition.iter().chain(leader.order.iter().map(|(typed, _, _)| typed)).cloned().collect();
            let (input, columns) = relation.with_columns(keys);
            let (partition, order_columns) = columns.split_at(leader.partition.len());
            let order = order_columns
                .iter()
                .zip(&leader.order)
                .map(|(&column, (_, descending, nulls_first))| Order {
                    column,
                    descending: *descending,
                    nulls_first: *nulls_first,
                    tie: false,
                })
                .collect::<Vec<Order>>();
            let needs_order = |call: &Call| match call {
                Call::Window(call) => {
                    call.partition == leader.partition && call.order == leader.order && call.tells_peers_apart()
                }
                Call::Aggregate(_) | Call::Grouping(_) | Call::Set { .. } => false,
            };
            let (input, order) = if !order.is_empty() && self.calls[first..].iter().any(needs_order) {
                resolver.completed(input, order)?
            } else {
                (input, order)
            };
            let mut types = input.types.clone();
            let mut calls = Vec::new();
            for (index, call) in self.calls.iter().enumerate().skip(first) {
                let Call::Window(call) = call else { continue };
                if call.partition != leader.partition || call.order != leader.order {
                    continue;
                }
                done[index] = true;
                self.columns[index] = Some(HirExpr::Column(HirColumn::Column { level: 0, index: types.len() }));
                types.push(ColumnType::nullable(call.result.clone()));
                calls.push(WindowCall {
                    function: call.function,
                    args: call.args.clone(),
                    filter: call.filter.clone(),
                    frame: call.frame.clone(),
                    result: call.result.clone(),
                    label: Label::default(),
                });
            }
            relation = Hir {
                node: HirNode::Window { input: Box::new(input), partition: partition.to_vec(), order, calls },
                types,
            };
        }
        Ok(relation)
    }

    /// Expands the set-returning calls, those of one nesting depth in step.
    pub(super) fn sets(&mut self, mut relation: Hir) -> Result<Hir, PlanError> {
        loop {
            let mut functions = Vec::new();
            let mut types = relation.types.clone();
            let mut placed = Vec::new();
            for index in 0..self.calls.len() {
                let Call::Set { function, mut args, columns } = self.calls[index].clone() else { continue };
                if self.columns[index].is_some() {
                    continue;
                }
                for arg in &mut args {
                    self.place(arg)?;
                }
                if args.iter().any(|arg| self.refers_to_calls(arg)) {
                    continue;
                }
                let start = types.len();
                types.extend(columns.iter().cloned());
                let items: Vec<HirExpr> =
                    (start..types.len()).map(|index| HirExpr::Column(HirColumn::Column { level: 0, index })).collect();
                placed.push((index, items, columns.clone()));
                functions.push((function, args, columns));
            }
            if functions.is_empty() {
                return Ok(relation);
            }
            for (index, mut items, columns) in placed {
                self.columns[index] = Some(if items.len() == 1 {
                    items.swap_remove(0)
                } else {
                    let fields: Vec<(String, ScalarType)> = match &self.calls[index] {
                        Call::Set { .. } => columns
                            .iter()
                            .enumerate()
                            .map(|(place, column)| (format!("f{}", place + 1), column.scalar.clone()))
                            .collect(),
                        Call::Aggregate(_) | Call::Grouping(_) | Call::Window(_) => Vec::new(),
                    };
                    HirExpr::Record(items, ScalarType::Record(fields.into()))
                });
            }
            relation = {
                let (input, names) = (Box::new(relation), Names::default());
                Hir { node: HirNode::TableFunction { input, functions, ordinality: false, names }, types }
            };
        }
    }
}

impl Call {
    /// The expressions that it is computed from, above grouping.
    fn expressions(&mut self) -> Vec<&mut HirExpr> {
        match self {
            Call::Aggregate(_) | Call::Grouping(_) => Vec::new(),
            Call::Window(call) => call
                .args
                .iter_mut()
                .chain(call.filter.iter_mut())
                .chain(call.partition.iter_mut().map(|typed| &mut typed.expr))
                .chain(call.order.iter_mut().map(|(typed, _, _)| &mut typed.expr))
                .collect(),
            Call::Set { args, .. } => args.iter_mut().collect(),
        }
    }
}

/// What expressions over a grouped query may refer to.
pub(super) struct Grouped {
    keys: Vec<HirExpr>,
    names: Vec<(usize, String)>,
    references: Vec<(usize, Option<u32>)>,
}

impl Grouped {
    /// Puts an expression over the groups; 42803 if it needs a column that is not grouped.
    pub(super) fn rewrite(&self, expr: &mut HirExpr, calls: &Calls) -> Result<(), PlanError> {
        rewrite_expr(expr, 0, &mut |expr, depth| {
            for (index, key) in self.keys.iter().enumerate() {
                // Inside subqueries only columns and whole rows that are grouped are known, as in PostgreSQL, not what is
                // computed of them.
                let same = match own_column(key, 0) {
                    Some(column) => own_column(expr, depth) == Some(column),
                    None if depth == 0 => key == expr,
                    None if is_whole_row(key) => {
                        let mut key = key.clone();
                        shift_expr(&mut key, isize::try_from(depth).unwrap_or(0));
                        key == *expr
                    }
                    None => false,
                };
                if same && !matches!(key, HirExpr::Literal(..)) {
                    return Ok(column_at(depth, index));
                }
            }
            let Some(index) = own_column(expr, depth) else { return Ok(Step::Descend) };
            if index >= VIRTUAL {
                return Ok(match &calls.columns[index - VIRTUAL] {
                    Some(known) => {
                        let mut known = known.clone();
                        shift_expr(&mut known, isize::try_from(depth).unwrap_or(0));
                        Step::Replace(known)
                    }
                    None => Step::Replace(expr.clone()),
                });
            }
            let name = self.names.iter().find(|(at, _)| *at == index).map_or("?", |(_, name)| name);
            let position = self.references.iter().find(|(at, _)| *at == index).and_then(|(_, position)| *position);
            Err(if depth == 0 {
                PlanError::new(
                    "42803",
                    format!("column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"),
                )
            } else {
                PlanError::new("42803", format!("subquery uses ungrouped column \"{name}\" from outer query"))
            }
            .at(position))
        })
    }
}

impl Resolver<'_> {
    /// A table grouped by its primary key has each of its columns once a group.
    fn add_dependent_columns(&mut self, frame: &Frame, grouping: &mut Grouping) {
        for table in &frame.tables {
            let Some(stored) = table.relation.and_then(|relation| self.catalog.table(relation)) else { continue };
            let Some(primary_key) = stored.primary_key_columns() else { continue };
            let grouped = primary_key.iter().all(|&column| {
                table.columns.iter().any(|visible| {
                    visible.origin == Some((stored.id, column))
                        && grouping.keys.iter().any(|key| own_column(&key.expr, 0) == Some(visible.index))
                })
            });
            if !grouped {
                continue;
            }
            for visible in &table.columns {
                let referred = frame.references.iter().any(|(index, _)| *index == visible.index);
                let present = grouping.keys.iter().any(|key| own_column(&key.expr, 0) == Some(visible.index));
                if referred && !present {
                    self.trace_primary_key(stored.id);
                    grouping.sets[0].push(grouping.keys.len());
                    grouping.keys.push(Typed::column(visible.index, visible.column_type.clone()));
                }
            }
        }
    }
}

fn aggregate_type(aggregate: &AggregateCall<HirColumn>) -> ColumnType {
    let nullable = aggregate.function.name != "count";
    ColumnType { nullable, ..ColumnType::nullable(aggregate.result.clone()) }
}

fn reduce(input: Hir, keys: &[Typed], aggregates: &[AggregateCall<HirColumn>], scalar: bool) -> Hir {
    let types = keys.iter().map(|key| key.column_type.clone()).chain(aggregates.iter().map(aggregate_type)).collect();
    let keys = keys.iter().map(|key| key.expr.clone()).collect();
    Hir { node: HirNode::Reduce { input: Box::new(input), keys, aggregates: aggregates.to_vec(), scalar }, types }
}

/// One Reduce a grouping set over the shared input: all keys (NULL where the set has them not), aggregates,
/// then the bit mask of each GROUPING call.
fn grouping_sets(
    input: Hir,
    grouping: &Grouping,
    aggregates: &[AggregateCall<HirColumn>],
    groupings: &[Vec<usize>],
    resolver: &mut Resolver<'_>,
) -> Hir {
    let id = resolver.fresh_cte();
    let shared = Hir { node: HirNode::GetCte(id, Names::default()), types: input.types.clone() };
    let mut branches = Vec::with_capacity(grouping.sets.len());
    for set in &grouping.sets {
        let keys: Vec<Typed> = set.iter().map(|&key| grouping.keys[key].clone()).collect();
        let reduced = reduce(shared.clone(), &keys, aggregates, set.is_empty());
        let mut exprs = Vec::new();
        let mut project = Vec::new();
        let arity = reduced.arity();
        for (key, typed) in grouping.keys.iter().enumerate() {
            match set.iter().position(|&other| other == key) {
                Some(position) => project.push(position),
                None => {
                    project.push(arity + exprs.len());
                    exprs.push(Typed::of(
                        HirExpr::Literal(Datum::Null, ColumnType::nullable(typed.scalar().clone())),
                        ColumnType { nullable: true, ..typed.column_type.clone() },
                    ));
                }
            }
        }
        project.extend(keys.len()..arity);
        for call in groupings {
            let mask = call.iter().fold(0_i32, |mask, key| mask << 1 | i32::from(!set.contains(key)));
            project.push(arity + exprs.len());
            exprs.push(Typed::literal(Datum::Int4(mask), ScalarType::Int4));
        }
        branches.push(reduced.map(exprs).project(project));
    }
    let types = branches[0]
        .types
        .iter()
        .enumerate()
        .map(|(index, column)| ColumnType {
            nullable: branches.iter().any(|branch| branch.types[index].nullable),
            ..column.clone()
        })
        .collect::<Vec<_>>();
    let body = Hir { node: HirNode::Union(branches, Names::default()), types: types.clone() };
    Hir {
        node: HirNode::Let { id, name: "grouping sets".to_owned(), value: Box::new(input), body: Box::new(body) },
        types,
    }
}

impl Calls {
    /// Window calls inside the arguments of set-returning ones become columns.
    pub(super) fn place_in_sets(&mut self) -> Result<(), PlanError> {
        for index in 0..self.calls.len() {
            if let Call::Set { function, mut args, columns } = self.calls[index].clone() {
                for arg in &mut args {
                    self.place(arg)?;
                }
                self.calls[index] = Call::Set { function, args, columns };
            }
        }
        Ok(())
    }
}
