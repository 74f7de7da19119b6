//! The database as one graph of operators: what every row goes through, from the tables it is written to to whoever reads it.
//!
//! ```text
//! table ─▶ index ─┬─▶ ownership ─▶ owners ─┬─▶ subject requests
//!   │             └─▶ access ──────────────┘
//!   └──────▶ operators of a view ─▶ arrangement ─▶ view ─▶ subscription
//! ```
//! Made from the catalog, its compiled form, what is published, and the operators that a view worker says it has: nobody who
//! commits waits for it. An arrow says what an operator reads. Knows schemas and sizes, never a row, a key or a person.

mod dot;
mod leaves;
mod views;

use crate::system::inspection::inspect;
pub use dot::dot;
use planner::catalog::Catalog;
use planner::scalar::Environment;
use repr::{Array, Datum, IndexId, RelationId};
use state::SqlError;
use state::shape::Schema;
use std::collections::BTreeSet;
use std::sync::Arc;
use transactions::database::Database;

/// What an operator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperatorKind {
    /// A table: rows in the leaves.
    Table,
    /// A key or an index of a table: its rows arranged in the leaves.
    Index,
    /// Joins rows with the owners of others: whose they are.
    Ownership,
    /// The µDBs in which each row of a table stands.
    Owners,
    /// Joins rows with who owns or may access others.
    Access,
    /// What GET and FORGET of a data subject read.
    SubjectRequests,
    /// A part of a view's plan.
    Operator,
    /// A view's rows by a key.
    Arrangement,
    /// A view that is computed by whoever reads it.
    View,
    /// A view that follows every commit.
    MaterializedView,
    /// A view that queries have earned.
    AutomaticView,
    /// An index's order, in memory.
    OrderedIndex,
    /// Who is told a view's changes.
    Subscription,
}

/// One operator.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphOperator {
    /// Its id: its kind and number.
    pub id: String,
    /// What it is.
    pub kind: OperatorKind,
    /// What it is called, or what it does.
    pub name: String,
    /// The table or view that it belongs to.
    pub relation: Option<RelationId>,
    /// The operators that it reads.
    pub inputs: Vec<String>,
    /// How far a view is.
    pub stage: Option<&'static str>,
    /// Rows that it holds, with those that are not merged away yet.
    pub rows: Option<usize>,
    /// What it holds.
    pub bytes: Option<usize>,
}

impl OperatorKind {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            OperatorKind::Table => "table",
            OperatorKind::Index => "index",
            OperatorKind::Ownership => "ownership",
            OperatorKind::Owners => "owners",
            OperatorKind::Access => "access",
            OperatorKind::SubjectRequests => "subject requests",
            OperatorKind::Operator => "operator",
            OperatorKind::Arrangement => "arrangement",
            OperatorKind::View => "view",
            OperatorKind::MaterializedView => "materialized view",
            OperatorKind::AutomaticView => "automatic view",
            OperatorKind::OrderedIndex => "ordered index",
            OperatorKind::Subscription => "subscription",
        }
    }
}

impl GraphOperator {
    fn new(id: String, kind: OperatorKind, name: impl Into<String>, relation: RelationId) -> GraphOperator {
        GraphOperator {
            id,
            kind,
            name: name.into(),
            relation: Some(relation),
            inputs: Vec::new(),
            stage: None,
            rows: None,
            bytes: None,
        }
    }

    fn reading(mut self, inputs: impl IntoIterator<Item = String>) -> GraphOperator {
        for input in inputs {
            if !self.inputs.contains(&input) {
                self.inputs.push(input);
            }
        }
        self
    }

    fn holding(mut self, rows: Option<usize>, bytes: Option<usize>) -> GraphOperator {
        (self.rows, self.bytes) = (rows, bytes);
        self
    }
}

/// All operators of a database, as a session with this catalog sees it: leaves first, what reads them after them.
pub fn operators(
    database: &Database,
    catalog: &Arc<Catalog>,
    environment: &dyn Environment,
) -> Result<Vec<GraphOperator>, SqlError> {
    let inspected = inspect(database, environment)?;
    let published = database.published.load_full();
    let schema = match Arc::ptr_eq(published.schema.catalog(), catalog) {
        true => published.schema.clone(),
        // A transaction's own definitions.
        false => Arc::new(Schema::new(catalog.clone())),
    };
    let mut operators = leaves::operators(database, &schema);
    operators.extend(views::operators(database, catalog, &published.views, &inspected));
    operators.extend(database.views.subscriptions.list().into_iter().map(|listed| {
        let (rows, bytes) = (Some(listed.queued_changes), Some(listed.queued_bytes));
        let name = format!("subscription {}", listed.number);
        let own = GraphOperator::new(
            format!("subscription:{}", listed.number),
            OperatorKind::Subscription,
            name,
            listed.view,
        );
        own.reading([view_id(listed.view)]).holding(rows, bytes)
    }));
    // What was dropped between two looks is read by nobody.
    let there: BTreeSet<String> = operators.iter().map(|operator| operator.id.clone()).collect();
    operators.iter_mut().for_each(|operator| operator.inputs.retain(|input| there.contains(input)));
    Ok(operators)
}

/// An operator's row in `dogwood.dataflow`.
pub fn datums(operator: &GraphOperator) -> Vec<Datum> {
    let text = |text: &str| Datum::Text(text.into());
    let number = |number: Option<usize>| {
        number.map_or(Datum::Null, |number| Datum::Int8(i64::try_from(number).unwrap_or(i64::MAX)))
    };
    let inputs = operator.inputs.iter().map(|input| text(input)).collect();
    vec![
        text(&operator.id),
        text(operator.kind.name()),
        text(&operator.name),
        operator.relation.map_or(Datum::Null, |relation| Datum::Oid(relation.0)),
        Datum::Array(Arc::new(Array::vector(inputs))),
        operator.stage.map_or(Datum::Null, text),
        number(operator.rows),
        number(operator.bytes),
    ]
}

/// The graph as JSON: operators as the relation has them, in one list.
pub fn json(operators: &[GraphOperator]) -> String {
    let text = |text: &str| serde_json::Value::from(text);
    let operator = |operator: &GraphOperator| {
        serde_json::json!({
            "id": operator.id,
            "kind": operator.kind.name(),
            "name": operator.name,
            "relation": operator.relation.map(|relation| relation.0),
            "inputs": operator.inputs,
            "stage": operator.stage.map(text),
            "rows": operator.rows,
            "bytes": operator.bytes,
        })
    };
    serde_json::Value::from(operators.iter().map(operator).collect::<Vec<_>>()).to_string()
}

fn table_id(table: RelationId) -> String {
    format!("table:{table}")
}

fn index_id(index: IndexId) -> String {
    format!("index:{index}")
}

fn view_id(view: RelationId) -> String {
    format!("view:{view}")
}

/// Where the rows of a relation come from.
fn source(catalog: &Catalog, relation: RelationId) -> String {
    match catalog.table(relation) {
        Some(table) if table.is_stored() => table_id(relation),
        Some(_) | None => view_id(relation),
    }
}
