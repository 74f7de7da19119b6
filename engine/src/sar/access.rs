//! GDPR GET: every row of a subject, redacted by the rules of the edges that led to it.

use super::traverse::{Relation, Traversal};
use crate::SqlError;
use crate::layered::Layered;
use crate::ownership::orphan::describe;
use crate::shape::{Schema, TableShape};
use planner::catalog::{EdgeRef, RuleAction, RuleEvent};
use planner::hir::OutputColumn;
use planner::scalar::EvalContext;
use repr::text::TextContext;
use repr::{Array, ColumnIndex, ColumnType, Datum, Jsonb, ScalarType};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One row of the answer.
pub struct AccessRow {
    /// The table's name.
    pub table: String,
    /// `owner` or `accessor`.
    pub relation: &'static str,
    /// The edges through which it was reached.
    pub path: String,
    /// The row as JSON, hidden columns NULL.
    pub row: Jsonb,
    /// Names of the hidden columns.
    pub redacted: Vec<String>,
}

/// The columns of GDPR GET.
pub fn columns() -> Arc<[OutputColumn]> {
    let column = |name: &str, scalar| OutputColumn {
        name: name.into(),
        column_type: ColumnType { scalar, modifier: -1, nullable: false },
        origin: None,
    };
    Arc::from([
        column("table_name", ScalarType::Text),
        column("relation", ScalarType::Text),
        column("path", ScalarType::Text),
        column("row", ScalarType::Jsonb),
        column("redacted", ScalarType::Array(Box::new(ScalarType::Text))),
    ])
}

/// The answer, row by row.
pub fn rows(
    traversal: Traversal,
    view: Layered,
    context: EvalContext,
) -> impl Iterator<Item = Result<AccessRow, SqlError>> + Send {
    let text = context.text_context();
    let places: Vec<_> = traversal.rows.keys().cloned().collect();
    places.into_iter().filter_map(move |place| {
        let edges = traversal.edges(&place);
        let reached = &traversal.rows[&place];
        let schema = view.schema();
        let shape = schema.shape(place.0)?;
        let hidden = hidden_columns(shape, &edges)?;
        let row = shape.unpack(&reached.row);
        Some(access_row(shape, schema, reached.relation, &edges, &row, &hidden, &text))
    })
}

impl AccessRow {
    /// As a result row of `columns()`.
    pub fn into_datums(self) -> Vec<Datum> {
        let text = |value: &str| Datum::Text(value.into());
        let redacted = Array::vector(self.redacted.iter().map(|name| text(name)).collect());
        vec![
            text(&self.table),
            text(self.relation),
            text(&self.path),
            Datum::Jsonb(self.row),
            Datum::Array(Arc::new(redacted)),
        ]
    }
}

/// A column is hidden only if every edge hides it; `None`: every edge says to leave the row out.
fn hidden_columns(shape: &TableShape, edges: &BTreeSet<EdgeRef>) -> Option<BTreeSet<ColumnIndex>> {
    let mut hidden: Option<BTreeSet<ColumnIndex>> = None;
    let mut dropped = !edges.is_empty();
    for edge in edges {
        let mut columns: BTreeSet<ColumnIndex> = BTreeSet::new();
        let mut deletes = false;
        for rule in &shape.table().rules {
            if rule.event == RuleEvent::Get && rule.edge == *edge {
                match &rule.action {
                    RuleAction::Anon(anon) => columns.extend(anon),
                    RuleAction::DeleteRow => deletes = true,
                }
            }
        }
        if deletes {
            columns.extend(shape.table().live_columns().map(|(column, _)| column));
        }
        dropped &= deletes;
        hidden = Some(match hidden {
            None => columns,
            Some(hidden) => hidden.intersection(&columns).copied().collect(),
        });
    }
    if dropped { None } else { Some(hidden.unwrap_or_default()) }
}

fn access_row(
    shape: &TableShape,
    schema: &Schema,
    relation: Relation,
    edges: &BTreeSet<EdgeRef>,
    row: &[Datum],
    hidden: &BTreeSet<ColumnIndex>,
    text: &TextContext,
) -> Result<AccessRow, SqlError> {
    let mut members: Vec<(Arc<str>, Jsonb)> = Vec::new();
    let mut redacted = Vec::new();
    for (position, column) in shape.table().live_columns() {
        let value = if hidden.contains(&position) {
            redacted.push(column.name.clone());
            Jsonb::Null
        } else {
            planner::scalar::datum_to_jsonb(&row[position], &column.column_type.scalar, text)?
        };
        members.push((column.name.as_str().into(), value));
    }
    let own_edges = shape.owner_edges.iter().chain(&shape.access_edges);
    let mut path: Vec<String> =
        own_edges.filter(|edge| edges.contains(&edge.reference)).map(|edge| describe(edge, schema)).collect();
    path.sort();
    Ok(AccessRow {
        table: shape.table().name.clone(),
        relation: match relation {
            Relation::Owner => "owner",
            Relation::Accessor => "accessor",
        },
        path: path.join(", "),
        row: Jsonb::object(members),
        redacted,
    })
}
