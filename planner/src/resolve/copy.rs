//! COPY: a table's rows or a query's on their way out, and rows on their way in.

use super::Resolver;
use super::copy_terms::{check_in_query, check_in_table};
use super::dml::system_catalog;
use super::relation::{NamedRelation, Stored};
use super::scope::Visible;
use super::statement::Resolved;
use super::subject;
use super::updatable::ViewWrite;
use super::write_target::WriteTarget;
use crate::catalog::own_tables::is_own;
use crate::catalog::{Privilege, Table};
use crate::error::PlanError;
use crate::hir::{Hir, HirQuery, OutputColumn, WriteHir};
use crate::parse::statement::ObjectName;
use crate::parse::utility::{Copy, CopyDirection, CopySource};
use repr::{ColumnType, RelationId};
use std::sync::Arc;

/// COPY names tables only.
fn refuse_copied_view(table: &Table, direction: &str, hint: &str) -> Result<(), PlanError> {
    match &table.view {
        None => Ok(()),
        Some(view) if view.materialized && direction == "to" => {
            Err(PlanError::new("42809", format!("cannot copy to materialized view \"{}\"", table.name)))
        }
        Some(view) => {
            let kind = if view.materialized { "materialized view" } else { "view" };
            Err(PlanError::new("42809", format!("cannot copy {direction} {kind} \"{}\"", table.name)).hint(hint))
        }
    }
}

impl Resolver<'_> {
    pub(super) fn copy(&mut self, copy: &Copy) -> Result<Resolved, PlanError> {
        if let CopyDirection::Server(_) = &copy.direction {
            return Err(PlanError::new("42501", "COPY to or from a file or program on the server is not allowed")
                .hint("Use COPY … FROM STDIN or TO STDOUT, or psql's \\copy."));
        }
        let options = copy.options.clone();
        let (name, written) = match &copy.source {
            CopySource::Statement(statement, _) => {
                let what = self.statement(statement)?;
                if copy.direction == CopyDirection::FromStdin {
                    return Err(PlanError::new("42601", "COPY FROM needs a table"));
                }
                if let Resolved::Write(write) = &what
                    && let WriteHir::Merge(_) = &**write
                {
                    return Err(PlanError::new("0A000", "MERGE not supported in COPY"));
                }
                if let Resolved::Write(write) = &what
                    && write.returning().is_none()
                {
                    return Err(PlanError::new("0A000", "COPY query must have a RETURNING clause"));
                }
                if let Resolved::Query(query) = &what {
                    check_in_query(&options, &query.columns)?;
                }
                return Ok(Resolved::CopyTo { what: Box::new(what), options });
            }
            CopySource::Table(name, written) => (name, written),
        };
        if copy.direction == CopyDirection::ToStdout {
            let query = self.copied_table(name, written)?;
            if let Some(table) = self.catalog.table_by_name(&name.name) {
                check_in_table(&options, table)?;
            }
            return Ok(Resolved::CopyTo { what: Box::new(Resolved::Query(Box::new(query))), options });
        }
        let table = WriteTarget::from(self.table_named(name)?);
        if is_own(table.id.0) {
            return Err(system_catalog(&table.name));
        }
        refuse_copied_view(&table, "to", "To enable copying to a view, provide an INSTEAD OF INSERT trigger.")?;
        check_in_table(&options, &table)?;
        let mut columns = Vec::new();
        for column in written {
            let found = table.column(&column.name, ViewWrite::Insert);
            let (index, _) = found.map_err(|error| error.at(Some(column.position)))?;
            if columns.contains(&index) {
                return Err(PlanError::new("42701", format!("column \"{}\" specified more than once", column.name))
                    .at(Some(column.position)));
            }
            columns.push(index);
        }
        if written.is_empty() {
            columns = table
                .live_columns()
                .filter(|(_, column)| !matches!(column.default, Some(crate::catalog::DefaultValue::Generated(_))))
                .map(|(index, _)| index)
                .collect();
        }
        if self.is_subject() {
            return Err(subject::may_not_write(&table.name));
        }
        self.refuse_policies(&table, "COPY FROM")?;
        let condition = options.condition.as_ref().map(|written| self.copy_condition(&table, written)).transpose()?;
        let (insert, columns) = self.copy_from(&table, &columns)?;
        Ok(Resolved::CopyFrom { insert: Box::new(insert), columns, condition, table: table.name.clone(), options })
    }

    /// COPY table (columns) TO.
    fn copied_table(
        &mut self,
        name: &ObjectName,
        written: &[crate::parse::statement::Identifier],
    ) -> Result<HirQuery, PlanError> {
        let found = self.written_relation(name)?;
        let table = match &found {
            NamedRelation::View(view) => Some(view),
            NamedRelation::Stored(stored) => self.catalog.table(stored.id),
            NamedRelation::Sequence(_) | NamedRelation::Cte(_) => None,
        };
        if let Some(table) = table {
            refuse_copied_view(table, "from", "Try the COPY (SELECT ...) TO variant.")?;
        }
        let NamedRelation::Stored(Stored { id, columns: visible, types, .. }) = found else {
            return Err(PlanError::new("42P01", format!("relation \"{}\" does not exist", name.name)));
        };
        let generated = |index: usize| {
            self.catalog.table(id).is_some_and(|table| {
                matches!(table.columns[index].default, Some(crate::catalog::DefaultValue::Generated(_)))
            })
        };
        let mut chosen = Vec::new();
        for column in written {
            let found = visible.iter().find(|candidate| candidate.name == column.name).ok_or_else(|| {
                PlanError::new(
                    "42703",
                    format!("column \"{}\" of relation \"{}\" does not exist", column.name, name.name),
                )
                .at(Some(column.position))
            })?;
            if generated(found.index) {
                return Err(PlanError::new("42P10", format!("column \"{}\" is a generated column", column.name))
                    .detail("Generated columns cannot be used in COPY."));
            }
            chosen.push(found.clone());
        }
        if written.is_empty() {
            chosen = visible.iter().filter(|column| !generated(column.index)).cloned().collect();
        }
        let hir = self.copied_rows(id, types, &chosen)?;
        let columns = chosen
            .iter()
            .map(|column| OutputColumn {
                name: column.name.clone(),
                column_type: column.column_type.clone(),
                origin: column.origin,
            })
            .collect();
        let project = chosen.iter().map(|column| column.index).collect();
        Ok(HirQuery::of(hir, project, columns))
    }

    /// The rows of a table that COPY names, as far as they are there for the role.
    fn copied_rows(&mut self, id: RelationId, types: Vec<ColumnType>, chosen: &[Visible]) -> Result<Hir, PlanError> {
        let hir = Hir::get(id, types, false);
        let Some(table) = self.catalog.table(id).map(Arc::clone) else {
            if let Some(found) = crate::system::find_by_id(id) {
                self.refuse_for_subject(Some(found.schema), found.name)?;
                self.needs.system(id);
            }
            return Ok(hir);
        };
        self.needs.add(id.0, Privilege::Select);
        chosen.iter().for_each(|column| self.needs_column(column.origin));
        self.rows_of(hir, &table, false)
    }
}
