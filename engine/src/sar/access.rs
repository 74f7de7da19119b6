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
use std::fmt::Write;
use std::sync::Arc;

/// What most rows take as text.
const ROW_BYTES: usize = 160;

/// One row of the answer.
pub struct AccessRow {
    /// `owner` or `accessor`.
    pub relation: &'static str,
    /// The row as JSON, hidden columns NULL: the text of a jsonb value.
    pub row: String,
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
    /// The columns in the order of an object, each as what stands before its value; those that are hidden without their place.
    members: Vec<(String, Option<(ColumnIndex, ScalarType)>)>,
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
            // The text of a jsonb value is its value, to whoever writes it out.
            Datum::Text(self.row.into()),
            Datum::Array(self.form.redacted_names.clone()),
        ]
    }
}

impl Form {
    /// `None` if every edge says to leave the row out.
    fn new(shape: &TableShape, schema: &Schema, edges: &[EdgeRef]) -> Option<Form> {
        let hidden = hidden_columns(shape, edges)?;
        let mut redacted = Vec::new();
        let mut members: Vec<(&str, _)> = Vec::new();
        for (position, column) in shape.table().live_columns() {
            let shown = !hidden.contains(&position);
            if !shown {
                redacted.push(column.name.clone());
            }
            let place = shown.then(|| (position, column.column_type.scalar.clone()));
            members.push((column.name.as_str(), place));
        }
        // The order in which objects keep their keys: `repr::Jsonb`.
        members.sort_by(|(one, _), (other, _)| (one.len(), one.as_bytes()).cmp(&(other.len(), other.as_bytes())));
        let before = |(number, (name, place)): (usize, (&str, _))| {
            let mut text = String::from(if number == 0 { "" } else { ", " });
            Jsonb::string(name).write_text(&mut text);
            (text + ": ", place)
        };
        let members = members.into_iter().enumerate().map(before).collect();
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

    /// A row as JSON, as `Jsonb` is written: without making one, since nobody reads it but as text.
    fn show(&self, row: &[Datum], text: &TextContext) -> Result<String, SqlError> {
        let mut shown = String::with_capacity(ROW_BYTES);
        shown.push('{');
        for (before, place) in &self.members {
            shown.push_str(before);
            match place {
                Some((position, scalar)) => write_value(&mut shown, &row[*position], scalar, text)?,
                None => shown.push_str("null"),
            }
        }
        shown.push('}');
        Ok(shown)
    }
}

fn write_value(shown: &mut String, datum: &Datum, scalar: &ScalarType, text: &TextContext) -> Result<(), SqlError> {
    match (datum, scalar) {
        (Datum::Null, _) => shown.push_str("null"),
        (Datum::Bool(value), _) => shown.push_str(if *value { "true" } else { "false" }),
        (Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_), _) => {
            let value = datum.as_i64().unwrap_or_default();
            write!(shown, "{value}").expect("writing to a String does not fail");
        }
        (Datum::Text(value), scalar) if !matches!(scalar, ScalarType::Json) => {
            Jsonb::String(value.clone()).write_text(shown);
        }
        (other, _) => planner::scalar::datum_to_jsonb(other, scalar, text)?.write_text(shown),
    }
    Ok(())
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
