//! From a query's calls to operators: grouping, windows and set-returning functions, one above the other.
//!
//! While a SELECT is resolved, each aggregate, window or set-returning call stands in its expressions as
//! a column numbered from `VIRTUAL`. Here the operators are built and those columns become real.

use super::calls::{Call, VIRTUAL};
use super::levels::{Step, rewrite_expr, shift_expr};
use super::scope::{Frame, Visible};
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, HirNode};
use crate::names::{Label, Names};
use crate::scalar::{AggregateCall, Order, WindowCall};
use repr::{ColumnType, Datum, ScalarType};

/// GROUP BY: all keys, and which of them each grouping set has.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    pub(super) keys: Vec<GroupKey>,
    pub(super) sets: Vec<Vec<usize>>,
}

/// A key of groups. Two that are the same expression of different outputs are two: a set may have one of them only.
#[derive(Clone, Debug)]
pub(super) struct GroupKey {
    pub(super) typed: Typed,
    /// The output that it is.
    pub(super) target: Option<usize>,
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

    /// Whether there are set-returning calls that have not been expanded.
    pub(super) fn has_sets(&self) -> bool {
        self.calls.iter().zip(&self.columns).any(|(call, known)| matches!(call, Call::Set { .. }) && known.is_none())
    }

    /// Whether an expression is computed from what a set-returning call gives.
    pub(super) fn over_sets(&self, expr: &HirExpr) -> bool {
        let mut found = false;
        super::levels::expr_levels(expr, &mut |level, index| {
            let call = if level == 0 { index.checked_sub(VIRTUAL).and_then(|call| self.calls.get(call)) } else { None };
            found |= matches!(call, Some(Call::Set { .. }));
        });
        found
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
    fn groupings(&self, keys: &[GroupKey]) -> Result<Vec<Vec<usize>>, PlanError> {
        self.calls
            .iter()
            .filter_map(|call| match call {
                Call::Grouping(exprs) => Some(exprs),
                Call::Aggregate(_) | Call::Window(_) | Call::Set { .. } => None,
            })
            .map(|exprs| {
                exprs
                    .iter()
                    .map(|expr| keys.iter().position(|key| key.typed.expr == *expr))
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
        let (input, key_sets) = self.expand_keys(input, &grouping)?;
        let written = grouping.keys.len();
        resolver.add_dependent_columns(frame, &mut grouping);
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
            let keys: Vec<Typed> = grouping.keys.iter().map(|key| self.placed(key)).collect::<Result<_, _>>()?;
            reduce(input, &keys.iter().collect::<Vec<_>>(), &aggregates, written == 0)
        } else {
            let keys: Vec<Typed> = grouping.keys.iter().map(|key| self.placed(key)).collect::<Result<_, _>>()?;
            grouping_sets(input, (&keys, &grouping.sets), &aggregates, &groupings, resolver)
        };
        for (index, call) in key_sets {
            let key = HirExpr::Column(HirColumn::Column { level: 0, index });
            let same = (0..self.calls.len()).filter(|other| self.calls[*other] == self.calls[call]);
            same.for_each(|other| self.columns[other] = Some(key.clone()));
        }
        let grouped = Grouped {
            keys: grouping.keys,
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
        for (call, _) in calls.iter_mut().zip(&self.columns).filter(|(_, known)| known.is_none()) {
            for expr in call.expressions() {
                grouped.rewrite(expr, self)?;
            }
        }
        self.calls = calls;
        Ok((relation, grouped))
    }

    /// Expands the set-returning calls that are keys, below the groups: the relation, and which key is which call.
    fn expand_keys(&mut self, input: Hir, grouping: &Grouping) -> Result<(Hir, Vec<(usize, usize)>), PlanError> {
        let call_of = |key: &GroupKey| own_column(&key.typed.expr, 0).and_then(|index| index.checked_sub(VIRTUAL));
        let keys = grouping.keys.iter().enumerate();
        let sets: Vec<(usize, usize)> =
            keys.filter_map(|(index, key)| call_of(key).map(|call| (index, call))).collect();
        let relation = self.expand(input, &|call| sets.iter().any(|(_, set)| *set == call))?;
        Ok((relation, sets))
    }

    /// A key over the relation that is grouped.
    fn placed(&self, key: &GroupKey) -> Result<Typed, PlanError> {
        let mut typed = key.typed.clone();
        self.place(&mut typed.expr)?;
        Ok(typed)
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
    pub(super) fn sets(&mut self, relation: Hir) -> Result<Hir, PlanError> {
        self.expand(relation, &|_| true)
    }

    fn expand(&mut self, mut relation: Hir, wanted: &dyn Fn(usize) -> bool) -> Result<Hir, PlanError> {
        loop {
            let mut functions = Vec::new();
            let mut types = relation.types.clone();
            let mut placed = Vec::new();
            for index in 0..self.calls.len() {
                let Call::Set { function, mut args, columns } = self.calls[index].clone() else { continue };
                if self.columns[index].is_some() || !wanted(index) {
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
    keys: Vec<GroupKey>,
    names: Vec<(usize, String)>,
    references: Vec<(usize, Option<u32>)>,
}

impl Grouped {
    /// The same for an output: one that is a key is that key, whatever other key is the same expression.
    pub(super) fn rewrite_output(&self, target: usize, expr: &mut HirExpr, calls: &Calls) -> Result<(), PlanError> {
        match self.keys.iter().position(|key| key.target == Some(target)) {
            Some(index) => *expr = HirExpr::Column(HirColumn::Column { level: 0, index }),
            None => self.rewrite(expr, calls)?,
        }
        Ok(())
    }

    /// The keys with their places, those of outputs first and in their order: so the first that is an expression is found.
    fn in_order(&self) -> Vec<(usize, &HirExpr)> {
        let mut keys: Vec<(usize, &GroupKey)> = self.keys.iter().enumerate().collect();
        keys.sort_by_key(|(index, key)| (key.target.unwrap_or(usize::MAX), *index));
        keys.into_iter().map(|(index, key)| (index, &key.typed.expr)).collect()
    }

    /// Puts an expression over the groups; 42803 if it needs a column that is not grouped.
    pub(super) fn rewrite(&self, expr: &mut HirExpr, calls: &Calls) -> Result<(), PlanError> {
        let keys = self.in_order();
        rewrite_expr(expr, 0, &mut |expr, depth| {
            for &(index, key) in &keys {
                // Inside subqueries only columns and whole rows that are grouped are known, as in PostgreSQL, not what is
                // computed of them.
                let same = match own_column(key, 0) {
                    Some(column) => own_column(expr, depth) == Some(column),
                    None if depth == 0 => *key == *expr,
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
            // In every set: where one lacks the primary key, a group has several of the table's rows.
            let is_key =
                |visible: &Visible, key: usize| own_column(&grouping.keys[key].typed.expr, 0) == Some(visible.index);
            let grouped = primary_key.iter().all(|&column| {
                table
                    .columns
                    .iter()
                    .filter(|visible| visible.origin == Some((stored.id, column)))
                    .any(|visible| grouping.sets.iter().all(|set| set.iter().any(|&key| is_key(visible, key))))
            });
            if !grouped {
                continue;
            }
            for visible in &table.columns {
                let referred = frame.references.iter().any(|(index, _)| *index == visible.index);
                let present = grouping.keys.iter().any(|key| own_column(&key.typed.expr, 0) == Some(visible.index));
                if referred && !present {
                    self.trace_primary_key(stored.id);
                    let place = grouping.keys.len();
                    grouping.sets.iter_mut().for_each(|set| set.push(place));
                    let typed = Typed::column(visible.index, visible.column_type.clone());
                    grouping.keys.push(GroupKey { typed, target: None });
                }
            }
        }
    }
}

fn aggregate_type(aggregate: &AggregateCall<HirColumn>) -> ColumnType {
    let nullable = aggregate.function.name != "count";
    ColumnType { nullable, ..ColumnType::nullable(aggregate.result.clone()) }
}

fn reduce(input: Hir, keys: &[&Typed], aggregates: &[AggregateCall<HirColumn>], scalar: bool) -> Hir {
    let types = keys.iter().map(|key| key.column_type.clone()).chain(aggregates.iter().map(aggregate_type)).collect();
    let keys = keys.iter().map(|key| key.expr.clone()).collect();
    Hir { node: HirNode::Reduce { input: Box::new(input), keys, aggregates: aggregates.to_vec(), scalar }, types }
}

/// One Reduce a grouping set over the shared input: all keys (NULL where the set has them not), aggregates,
/// then the bit mask of each GROUPING call.
fn grouping_sets(
    input: Hir,
    (all, sets): (&[Typed], &[Vec<usize>]),
    aggregates: &[AggregateCall<HirColumn>],
    groupings: &[Vec<usize>],
    resolver: &mut Resolver<'_>,
) -> Hir {
    let id = resolver.fresh_cte();
    let shared = Hir { node: HirNode::GetCte(id, Names::default()), types: input.types.clone() };
    let mut branches = Vec::with_capacity(sets.len());
    for set in sets {
        let keys: Vec<&Typed> = set.iter().map(|&key| &all[key]).collect();
        let reduced = reduce(shared.clone(), &keys, aggregates, set.is_empty());
        let mut exprs = Vec::new();
        let mut project = Vec::new();
        let arity = reduced.arity();
        for (key, typed) in all.iter().enumerate() {
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
