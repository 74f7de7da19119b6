//! The part of the graph that stands in memory: views, their plans' operators, and the ways in which their rows are arranged.

use super::{GraphOperator, OperatorKind, index_id, source, table_id, view_id};
use operators::plan::children;
use planner::catalog::own_tables::is_own;
use planner::catalog::{Catalog, Table};
use planner::explain::plan_operators;
use planner::explain::report::OperatorLine;
use planner::plan::{LocalId, Lookup, Plan};
use repr::RelationId;
use state::view_states::{Arrangement, ViewState, Views};
use std::collections::{BTreeMap, HashMap};
use transactions::database::Database;
use views::automatic::{self, without_values};
use views::inspection::Inspected;

/// Operators of dataflows by their views.
type Inspection<'a> = BTreeMap<RelationId, Vec<&'a Inspected>>;

/// Of every view.
pub(super) fn operators(
    database: &Database,
    catalog: &Catalog,
    views: &Views,
    inspected: &[Inspected],
) -> Vec<GraphOperator> {
    let mut by_view = Inspection::new();
    for found in inspected {
        by_view.entry(found.view).or_default().push(found);
    }
    let mut operators = Vec::new();
    for (table, view) in catalog.views().filter(|(table, _)| !table.is_maintained() && !is_own(table.id.0)) {
        let own = GraphOperator::new(view_id(table.id), OperatorKind::View, &table.name, table.id);
        operators.push(own.reading(view.reads.keys().map(|read| source(catalog, *read))));
    }
    for table in catalog.relations.values().filter(|table| table.is_maintained()) {
        operators.extend(maintained(catalog, table, views, &by_view));
    }
    let entries = database.views.automatic.all();
    for (id, state) in views.iter().filter(|(id, _)| catalog.table(**id).is_none()) {
        let Some(entry) = entries.iter().find(|entry| entry.view() == Some(*id)) else { continue };
        let name = automatic::name(*id);
        if entry.is_order() {
            let own = GraphOperator::new(view_id(*id), OperatorKind::OrderedIndex, name, *id);
            let index = state.order.as_ref().map(|order| index_id(order.id.index));
            operators.push(staged(own.reading(index.or_else(|| entry.table().map(table_id))), state, views));
        } else {
            let own = GraphOperator::new(view_id(*id), OperatorKind::AutomaticView, name, *id);
            operators.extend(rendered(catalog, own, (state, views), &by_view));
        }
    }
    operators
}

/// Of a materialized view. One that waits or has failed has no operators: whoever reads it computes it from what it is over.
fn maintained(catalog: &Catalog, table: &Table, views: &Views, inspected: &Inspection<'_>) -> Vec<GraphOperator> {
    let own = GraphOperator::new(view_id(table.id), OperatorKind::MaterializedView, &table.name, table.id);
    let over = || {
        let reads = table.view.iter().flat_map(|view| view.reads.keys());
        reads.map(|read| source(catalog, *read)).collect::<Vec<_>>()
    };
    match views.get(table.id) {
        Some(state) if inspected.contains_key(&table.id) => rendered(catalog, own, (state, views), inspected),
        Some(state) => vec![staged(own.reading(over()), state, views)],
        // Not begun, or of a transaction's own.
        None => vec![own.reading(over())],
    }
}

/// A view's operators, its arrangements, and itself.
fn rendered(
    catalog: &Catalog,
    own: GraphOperator,
    (state, views): (&ViewState, &Views),
    inspected: &Inspection<'_>,
) -> Vec<GraphOperator> {
    let view = own.relation.expect("a view's operator is of the view");
    let found = inspected.get(&view).map_or(&[][..], Vec::as_slice);
    let Some(first) = found.first() else { return vec![staged(own, state, views)] };
    let mut walk = Walk::new(catalog, view, &first.plan);
    let root = walk.walk(&first.plan);
    let mut operators = walk.operators;
    for found in found {
        if let (Some(line), Some(arranged)) = (found.line, found.arranged)
            && let Some(operator) = operators.get_mut(line)
        {
            operator.rows = Some(operator.rows.unwrap_or(0) + arranged.updates);
            operator.bytes = Some(operator.bytes.unwrap_or(0) + arranged.bytes);
        }
    }
    operators.extend(walk.rounds);
    let arrangements: Vec<GraphOperator> =
        state.arrangements.iter().map(|arrangement| arranged(catalog, view, &own.name, arrangement, &root)).collect();
    let ways: Vec<String> = arrangements.iter().map(|arrangement| arrangement.id.clone()).collect();
    operators.extend(arrangements);
    operators.push(staged(own.reading(if ways.is_empty() { root } else { ways }), state, views));
    operators
}

fn arranged(
    catalog: &Catalog,
    view: RelationId,
    name: &str,
    arrangement: &Arrangement,
    root: &[String],
) -> GraphOperator {
    let id = format!("arrangement:{view}/{}", arrangement.index);
    let name = catalog
        .table(view)
        .and_then(|table| table.index(arrangement.index))
        .map_or_else(|| format!("{name} by its key"), |index| index.name.clone());
    let bytes = arrangement.batches.iter().map(|batch| batch.bytes()).sum();
    let own = GraphOperator::new(id, OperatorKind::Arrangement, name, view).reading(root.iter().cloned());
    own.holding(Some(arrangement.updates()), Some(bytes))
}

/// With how far the view is, and what it holds in all.
fn staged(mut own: GraphOperator, state: &ViewState, views: &Views) -> GraphOperator {
    let rows = match &state.order {
        Some(order) => order.entries.len(),
        None => state.arrangements.first().map_or(0, Arrangement::updates),
    };
    own.stage = own.relation.and_then(|view| views.stage_name(view));
    own.holding(Some(rows), Some(state.bytes()))
}

/// A plan's nodes as operators: each is a line of EXPLAIN.
struct Walk<'a> {
    catalog: &'a Catalog,
    view: RelationId,
    /// Lines by the plans that they are of.
    lines: HashMap<usize, usize>,
    operators: Vec<GraphOperator>,
    /// The rounds of recursions.
    rounds: Vec<GraphOperator>,
    locals: BTreeMap<LocalId, Vec<String>>,
}

impl<'a> Walk<'a> {
    fn new(catalog: &'a Catalog, view: RelationId, plan: &Plan) -> Walk<'a> {
        let lines: Vec<OperatorLine> = plan_operators(plan, catalog);
        let by_node = lines.iter().enumerate().filter_map(|(line, shown)| Some((shown.node?, line))).collect();
        let operator = |(line, shown): (usize, &OperatorLine)| {
            GraphOperator::new(
                format!("operator:{view}/{line}"),
                OperatorKind::Operator,
                without_values(&shown.text),
                view,
            )
        };
        let operators = lines.iter().enumerate().map(operator).collect();
        Walk { catalog, view, lines: by_node, operators, rounds: Vec::new(), locals: BTreeMap::new() }
    }

    /// The operators that give a plan's rows.
    fn walk(&mut self, plan: &Plan) -> Vec<String> {
        let inputs = match plan {
            Plan::Get { relation, access, .. } => {
                vec![self.stored(*relation, access.lookup())]
            }
            Plan::LookupJoin { input, relation, lookup, .. } => {
                let mut inputs = self.walk(input);
                inputs.push(self.stored(*relation, Some(*lookup)));
                inputs
            }
            Plan::GetLocal { id, .. } => self.locals.get(id).cloned().unwrap_or_default(),
            Plan::Let { id, value, body } => {
                let value = self.walk(value);
                self.locals.insert(*id, value);
                self.walk(body)
            }
            Plan::LetRec { id, base, step, body, .. } => {
                let rounds = format!("rounds:{}/{}", self.view, id.0);
                self.locals.insert(*id, vec![rounds.clone()]);
                let within = [self.walk(base), self.walk(step)].concat();
                let own = GraphOperator::new(rounds, OperatorKind::Operator, format!("rounds of l{}", id.0), self.view);
                self.rounds.push(own.reading(within));
                self.walk(body)
            }
            _ => children(plan).into_iter().flat_map(|child| self.walk(child)).collect(),
        };
        match self.lines.get(&std::ptr::from_ref(plan).addr()).copied() {
            Some(line) => {
                let own = self.operators[line].clone().reading(inputs);
                let id = own.id.clone();
                self.operators[line] = own;
                vec![id]
            }
            None => inputs,
        }
    }

    /// The rows of a table or view, by the index that they are looked up in.
    fn stored(&self, relation: RelationId, lookup: Option<Lookup>) -> String {
        let table = self.catalog.table(relation).filter(|table| table.is_stored());
        let index = table.zip(lookup).and_then(|(table, lookup)| match lookup {
            Lookup::PrimaryKey => table.primary_key,
            Lookup::Index(index) => Some(index),
        });
        index.map_or_else(|| source(self.catalog, relation), index_id)
    }
}
