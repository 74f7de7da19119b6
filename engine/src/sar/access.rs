//! GDPR GET: every row of a subject, redacted by the rules of the edges that led to it.

use super::traverse::{Relation, Traversal};
use crate::SqlError;
use crate::layered::Layered;
use crate::ownership::orphan::describe;
use crate::shape::{Schema, TableShape};
use planner::catalog::{EdgeRef, RuleAction, RuleEvent};
use planner::hir::OutputColumn;
use planner::scalar::EvalContext;
use repr::hash::HashMap;
use repr::text::TextContext;
use repr::{Array, ColumnIndex, ColumnType, Datum, Jsonb, RelationId, ScalarType};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One row of the answer.
pub struct AccessRow {
    /// `owner` or `accessor`.
    pub relation: &'static str,
    /// The row as JSON, hidden columns NULL.
    pub row: Jsonb,
    /// What it has in common with others.
    pub form: Arc<Form>,
}

/// What rows of one table have in common that were reached through the same edges.
pub struct Form {
    /// The table's name.
    pub table: Arc<str>,
    /// The edges.
    pub path: Arc<str>,
    /// Names of the hidden columns.
    pub redacted: Vec<String>,
    redacted_names: Arc<Array>,
    /// The columns by name, in the order of an object; those that are hidden without their place.
    members: Vec<(Arc<str>, Option<(ColumnIndex, ScalarType)>)>,
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
    let mut forms: HashMap<(RelationId, Vec<EdgeRef>), Option<Arc<Form>>> = HashMap::default();
    let mut datums = Vec::new();
    traversal.ordered().into_iter().filter_map(move |number| {
        let reached = traversal.row(number);
        let schema = view.schema();
        let shape = schema.shape(reached.place.0)?;
        let form = forms
            .entry((reached.place.0, traversal.edges(number)))
            .or_insert_with_key(|(_, edges)| Form::new(shape, schema, edges).map(Arc::new))
            .clone()?;
        let relation = match reached.relation {
            Relation::Owner => "owner",
            Relation::Accessor => "accessor",
        };
        shape.unpack_into(&reached.row, &mut datums);
        let row = form.show(&datums, &text);
        Some(row.map(|row| AccessRow { relation, row, form }))
    })
}

impl AccessRow {
    /// As a result row of `columns()`.
    pub fn into_datums(self) -> Vec<Datum> {
        vec![
            Datum::Text(self.form.table.clone()),
            Datum::Text(self.relation.into()),
            Datum::Text(self.form.path.clone()),
            Datum::Jsonb(self.row),
            Datum::Array(self.form.redacted_names.clone()),
        ]
    }
}

impl Form {
    /// `None` if every edge says to leave the row out.
    fn new(shape: &TableShape, schema: &Schema, edges: &[EdgeRef]) -> Option<Form> {
        let hidden = hidden_columns(shape, edges)?;
        let mut redacted = Vec::new();
        let mut members: Vec<(Arc<str>, _)> = Vec::new();
        for (position, column) in shape.table().live_columns() {
            let shown = !hidden.contains(&position);
            if !shown {
                redacted.push(column.name.clone());
            }
            let place = shown.then(|| (position, column.column_type.scalar.clone()));
            members.push((Arc::from(column.name.as_str()), place));
        }
        // The order in which objects keep their keys: `repr::Jsonb`.
        members.sort_by(|(one, _), (other, _)| (one.len(), one.as_bytes()).cmp(&(other.len(), other.as_bytes())));
        let own_edges = shape.owner_edges.iter().chain(&shape.access_edges);
        let mut path: Vec<String> =
            own_edges.filter(|edge| edges.contains(&edge.reference)).map(|edge| describe(edge, schema)).collect();
        path.sort();
        let names = redacted.iter().map(|name| Datum::Text(name.as_str().into()));
        Some(Form {
            table: shape.table().name.as_str().into(),
            path: path.join(", ").into(),
            redacted_names: Arc::new(Array::vector(names.collect())),
            redacted,
            members,
        })
    }

    /// A row as JSON.
    fn show(&self, row: &[Datum], text: &TextContext) -> Result<Jsonb, SqlError> {
        let mut members = Vec::with_capacity(self.members.len());
        for (name, place) in &self.members {
            let value = match place {
                Some((position, scalar)) => planner::scalar::datum_to_jsonb(&row[*position], scalar, text)?,
                None => Jsonb::Null,
            };
            members.push((name.clone(), value));
        }
        // Names of columns are each there once.
        Ok(Jsonb::Object(members.into()))
    }
}

/// A column is hidden only if every edge hides it; `None`: every edge says to leave the row out.
fn hidden_columns(shape: &TableShape, edges: &[EdgeRef]) -> Option<BTreeSet<ColumnIndex>> {
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
