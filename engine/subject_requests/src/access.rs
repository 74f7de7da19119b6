//! GDPR GET: every row of a subject, redacted by the rules of the edges that led to it.

use operators::witness::Witness;
use planner::catalog::{EdgeRef, Table};
use planner::hir::OutputColumn;
use planner::ownership::redaction::Redaction;
use planner::ownership::traversal::Relation;
use planner::scalar::EvalContext;
use repr::hash::HashMap;
use repr::jsonb::write_string;
use repr::row::Columns;
use repr::text::{TextContext, integer};
use repr::{Array, ColumnIndex, ColumnType, Datum, Jsonb, RelationId, Row, ScalarType, Value};
use state::SqlError;
use state::answer::{self, Answer, AnswerRow, Stored};
use state::layered_snapshot::LayeredSnapshot;
use state::shape::{Schema, TableShape};
use std::sync::Arc;
use transactions::ownership::orphan::describe;

/// Where a row stands among the columns.
const ROW_COLUMN: usize = 3;
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
    /// The table.
    pub of: Arc<Table>,
    /// The columns in the order of an object, each as what stands before its value; those that are hidden without their place.
    members: Vec<(String, Option<(ColumnIndex, ScalarType)>)>,
}

/// The columns of GDPR GET.
pub fn columns() -> Arc<[OutputColumn]> {
    let column = |name: &str, scalar| OutputColumn {
        name: name.into(),
        column_type: ColumnType::not_null(scalar),
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

/// What somebody did with the person's data, as a row of the answer.
pub fn audit_row(entry: &Jsonb) -> Vec<Datum> {
    let text = |text: &str| Datum::Text(text.into());
    let none = Datum::Array(Arc::new(Array::vector(Vec::new())));
    // As other rows: the text of a jsonb value is its value.
    vec![text("dogwood.audit"), text("audit"), text(""), Datum::Text(entry.to_string().into()), none]
}

/// The answer, row by row.
pub struct AccessRows {
    snapshot: LayeredSnapshot,
    text: TextContext,
    witness: Witness,
    /// Rows that are still to be shown.
    numbers: std::vec::IntoIter<usize>,
    forms: HashMap<(RelationId, Vec<EdgeRef>), Option<Arc<Form>>>,
    /// That of the row before: most rows have it, too.
    last: Option<((RelationId, Vec<EdgeRef>), Option<Arc<Form>>)>,
    edges: Vec<EdgeRef>,
    ended: Arc<dyn Fn() -> Option<SqlError> + Send + Sync>,
}

impl AccessRows {
    /// Of what a subject reached. `ended` says why the snapshot ended, if it has.
    pub fn new(
        witness: Witness,
        snapshot: LayeredSnapshot,
        context: &EvalContext,
        ended: Arc<dyn Fn() -> Option<SqlError> + Send + Sync>,
    ) -> AccessRows {
        AccessRows {
            snapshot,
            text: context.text_context(),
            numbers: witness.ordered().into_iter(),
            witness,
            forms: HashMap::default(),
            last: None,
            edges: Vec::new(),
            ended,
        }
    }

    /// Appends the JSON of the next row that is shown, and says what it is to the subject; `None` at the end.
    fn show_next(&mut self, shown: &mut String) -> Result<Option<&'static str>, SqlError> {
        if let Some(ended) = (self.ended)() {
            return Err(ended);
        }
        loop {
            let Some(number) = self.numbers.next() else { return Ok(None) };
            let place = self.witness.row(number).place.0;
            self.witness.edges(number, &mut self.edges);
            if self.last.as_ref().is_none_or(|((relation, edges), _)| *relation != place || *edges != self.edges) {
                let by = (place, self.edges.clone());
                let form = self.forms.entry(by.clone()).or_insert_with_key(|(_, edges)| {
                    let schema = self.snapshot.schema();
                    schema.shape(place).and_then(|shape| Form::new(shape, schema, edges)).map(Arc::new)
                });
                self.last = Some((by, form.clone()));
            }
            let Some((_, Some(form))) = &self.last else { continue };
            let reached = self.witness.row(number);
            let relation = match reached.relation {
                Relation::Owner => "owner",
                Relation::Accessor => "accessor",
            };
            form.show(&reached.row, &self.text, shown)?;
            return Ok(Some(relation));
        }
    }

    /// What the row that was shown last has in common with others.
    fn form(&self) -> &Arc<Form> {
        let (_, form) = self.last.as_ref().expect("a row was shown");
        form.as_ref().expect("it was shown")
    }
}

impl Iterator for AccessRows {
    type Item = Result<AccessRow, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut row = String::with_capacity(ROW_BYTES);
        let relation = self.show_next(&mut row).transpose()?;
        Some(relation.map(|relation| AccessRow { relation, row, form: self.form().clone() }))
    }
}

/// The answer as result rows of `columns()`.
pub struct AccessAnswer {
    rows: AccessRows,
    shown: String,
    /// What the row before was told with.
    told: Option<(&'static str, Arc<Form>)>,
    row: Vec<Datum>,
}

impl AccessAnswer {
    /// Of these rows.
    pub fn new(rows: AccessRows) -> AccessAnswer {
        AccessAnswer { rows, shown: String::with_capacity(ROW_BYTES), told: None, row: Vec::new() }
    }
}

impl Answer for AccessAnswer {
    fn advance(&mut self) -> Result<bool, SqlError> {
        self.shown.clear();
        let Some(relation) = self.rows.show_next(&mut self.shown)? else { return Ok(false) };
        let form = self.rows.form();
        // The text of a jsonb value is its value, to whoever writes it out.
        let shown = Datum::Text(self.shown.as_str().into());
        let same = |(before, of): &(&'static str, Arc<Form>)| *before == relation && Arc::ptr_eq(of, form);
        if let Some(place) = self.row.get_mut(ROW_COLUMN)
            && self.told.as_ref().is_some_and(same)
        {
            *place = shown;
            return Ok(true);
        }
        self.row = vec![
            Datum::Text(form.table.clone()),
            Datum::Text(relation.into()),
            Datum::Text(form.path.clone()),
            shown,
            Datum::Array(form.redacted_names.clone()),
        ];
        self.told = Some((relation, form.clone()));
        Ok(true)
    }

    fn row(&mut self) -> AnswerRow<'_> {
        AnswerRow::Values(&self.row)
    }
}

impl Form {
    /// `None` if every edge says to leave the row out.
    fn new(shape: &TableShape, schema: &Schema, edges: &[EdgeRef]) -> Option<Form> {
        let Redaction { hidden, leaves_out } = Redaction::of(shape.table(), edges);
        if leaves_out {
            return None;
        }
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
            write_string(&mut text, name);
            (text + ": ", place)
        };
        let members = members.into_iter().enumerate().map(before).collect();
        let own_edges = shape.owner_edges.iter().chain(&shape.access_edges);
        let mut path: Vec<String> =
            own_edges.filter(|edge| edges.contains(&edge.reference)).map(|edge| describe(edge, schema)).collect();
        path.sort();
        let names = redacted.iter().map(|name| Datum::Text(name.as_str().into()));
        Some(Form {
            table: shape.full_name().into(),
            of: shape.table().clone(),
            path: path.join(", ").into(),
            redacted_names: Arc::new(Array::vector(names.collect())),
            redacted,
            members,
        })
    }

    /// A row as JSON, as `Jsonb` is written: without making one, since nobody reads it but as text.
    fn show(&self, row: &Row, text: &TextContext, shown: &mut String) -> Result<(), SqlError> {
        let stored = Stored { bytes: row.bytes(), later: &self.of.columns };
        let mut values = Columns::over(row.bytes());
        shown.push('{');
        for (before, place) in &self.members {
            shown.push_str(before);
            match place {
                Some((position, scalar)) => write_value(shown, stored.value(&mut values, *position), scalar, text)?,
                None => shown.push_str("null"),
            }
        }
        shown.push('}');
        Ok(())
    }
}

/// A row as JSON, nothing hidden.
pub(crate) fn row_json(
    snapshot: &LayeredSnapshot,
    relation: RelationId,
    row: &Row,
    text: &TextContext,
) -> Result<Datum, SqlError> {
    let shape = snapshot.shape(relation)?;
    let form = Form::new(shape, snapshot.schema(), &[]);
    let mut shown = String::with_capacity(ROW_BYTES);
    form.ok_or_else(|| SqlError::new("XX000", "a row is left out by no edge"))?.show(row, text, &mut shown)?;
    Ok(repr::text::parse(&ScalarType::Jsonb, -1, &shown, text)?)
}

fn write_value(shown: &mut String, value: Value<'_>, scalar: &ScalarType, text: &TextContext) -> Result<(), SqlError> {
    match value {
        Value::Null => shown.push_str("null"),
        Value::Int2(value) => integer::push(shown, i64::from(value)),
        Value::Int4(value) => integer::push(shown, i64::from(value)),
        Value::Int8(value) => integer::push(shown, value),
        Value::Text(bytes) if !matches!(scalar, ScalarType::Json) => {
            let string =
                std::str::from_utf8(bytes).map_err(|_| SqlError::new("XX001", "a stored text is not UTF-8"))?;
            write_string(shown, string);
        }
        other => planner::scalar::datum_to_jsonb(&answer::datum(other), scalar, text)?.write_text(shown),
    }
    Ok(())
}
