//! CREATE TABLE … AS: a table made of a query's columns, filled with its rows.
//!
//! Both halves take the paths of CREATE TABLE and INSERT. The table is an ordinary one: whose the rows were that the
//! query read, it does not know.

use crate::response::Response;
use crate::session::Session;
use planner::catalog::{OnCommit, Scope};
use planner::hir::OutputColumn;
use planner::ownership::quote_identifier;
use planner::parse::definition::CreateTableAs;
use planner::plan::Query;
use repr::{Datum, ScalarType};
use state::SqlError;
use std::sync::Arc;
use transactions::writer::Writer;

const TAG: &str = "CREATE TABLE AS";
// Rows are found before they are written, this many at a time.
const CHUNK_ROWS: usize = 1_000;

impl Session {
    pub(super) fn create_table_as(
        &mut self,
        create: &CreateTableAs,
        query: &Arc<Query>,
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        self.refuse_read_only(TAG)?;
        let catalog = self.catalog();
        let name = &create.name.name;
        if create.if_not_exists && self.table_made(&catalog, &create.name, create.temporary).is_some() {
            self.notice("NOTICE", "42P07", format!("relation \"{name}\" already exists, skipping"));
            return Ok(Response::Complete(TAG.into()));
        }
        let path = self.search_path(&catalog);
        let definition = definition(create, query, Scope { catalog: &catalog, path: &path })?;
        self.transaction();
        let mark = self.transaction().mark();
        match self.create_and_fill(create, query, &definition, params) {
            Ok(rows) if create.with_data => Ok(Response::Complete(format!("SELECT {rows}"))),
            Ok(_) => Ok(Response::Complete(TAG.into())),
            Err(error) => {
                self.transaction().undo_failed(mark);
                Err(error)
            }
        }
    }

    fn create_and_fill(
        &mut self,
        create: &CreateTableAs,
        query: &Arc<Query>,
        definition: &str,
        params: Arc<[Datum]>,
    ) -> Result<usize, SqlError> {
        let noted = self.transaction().note_personal();
        // Opened first: the query reads the state without the table.
        let rows = self.query_rows(query, params)?;
        for parsed in self.parse(definition)? {
            self.ddl(&parsed.statement)?;
        }
        if !create.with_data {
            return Ok(0);
        }
        let patience = self.patience();
        let catalog = self.catalog();
        let made = self.table_made(&catalog, &create.name, create.temporary).cloned();
        let context = self.eval_context(Arc::from([]), &catalog);
        let mut writer = Writer::new(self.transaction(), context, patience);
        let table = made.map(|table| table.id);
        let table = table.ok_or_else(|| SqlError::new("XX000", "the table that was made is not there"))?;
        let shape = writer.shape(table)?;
        let checks = writer.row_checks(&shape)?;
        let (mut count, mut chunk) = (0, Vec::with_capacity(CHUNK_ROWS));
        for row in rows {
            let mut row = row?;
            writer.complete(&shape, &checks, &mut row, None)?;
            chunk.push(row);
            if chunk.len() == CHUNK_ROWS {
                count += writer.insert_rows(&shape, &chunk)?.len();
                chunk.clear();
                writer.pass_inserted()?;
            }
        }
        count += writer.insert_rows(&shape, &chunk)?.len();
        writer.finish()?;
        self.taint(&[table], Some(noted));
        Ok(count)
    }
}

/// The table as CREATE TABLE says it.
fn definition(create: &CreateTableAs, query: &Query, scope: Scope<'_>) -> Result<String, SqlError> {
    if create.columns.len() > query.columns.len() {
        return Err(SqlError::new("42601", "too many column names were specified"));
    }
    let given = create.columns.iter().map(|column| Some(&column.name)).chain(std::iter::repeat(None));
    let columns = query.columns.iter().zip(given).map(|(column, given)| {
        let name = given.unwrap_or(&column.name);
        Ok(format!("{} {}", quote_identifier(name), type_text(column, name, scope)?))
    });
    let columns = columns.collect::<Result<Vec<_>, SqlError>>()?.join(", ");
    let words = if create.temporary { "CREATE TEMPORARY TABLE" } else { "CREATE TABLE" };
    let before = create.name.database.iter().chain(&create.name.schema);
    let schema = before.map(|part| format!("{}.", quote_identifier(part))).collect::<String>();
    let on_commit = match create.on_commit {
        None => "",
        Some(OnCommit::PreserveRows) => " ON COMMIT PRESERVE ROWS",
        Some(OnCommit::DeleteRows) => " ON COMMIT DELETE ROWS",
        Some(OnCommit::Drop) => " ON COMMIT DROP",
    };
    Ok(format!("{words} {schema}{} ({columns}){on_commit}", quote_identifier(&create.name.name)))
}

fn type_text(column: &OutputColumn, name: &str, scope: Scope<'_>) -> Result<String, SqlError> {
    let (element, suffix) = match &column.column_type.scalar {
        ScalarType::Array(element) => (element.as_ref(), "[]"),
        scalar => (scalar, ""),
    };
    match element {
        ScalarType::Unknown => Ok(format!("text{suffix}")),
        refused if matches!(refused, ScalarType::Cstring | ScalarType::Void) || refused.is_anonymous() => {
            let shown = element.format_type(-1);
            Err(SqlError::new("42P16", format!("column \"{name}\" has pseudo-type {shown}")))
        }
        _ if column.column_type.domain != 0 => Ok(scope.spelled_domain(column.column_type.domain).unwrap_or_default()),
        _ => Ok(scope.spelled_scalar(&column.column_type.scalar, column.column_type.modifier)),
    }
}
