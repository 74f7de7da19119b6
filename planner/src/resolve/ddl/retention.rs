//! How long rows of a table are kept: said, changed and taken back.

use super::change::DefinitionChange;
use super::{DdlEffect, RewriteColumn, RewriteValue};
use crate::catalog::{Property, Retention, RetentionEnd};
use crate::error::PlanError;
use crate::ownership::{quote_identifier, require_retention};
use crate::parse::definition::RetentionDefinition;
use crate::parse::retention::expiry_column;
use repr::RelationId;
use repr::id::is_temporary;
use std::sync::Arc;

/// The column of a table that is told how long its rows are kept, and has none for it.
const COLUMN: &str = "expires_at";

impl DefinitionChange<'_> {
    /// WITH (retain = …), ALTER TABLE … SET (retain = …), and RETAIN of a label. Rows that do not say until when they are there
    /// are kept from now on for so long.
    ///
    /// # Errors
    /// 22023 where a basis or an end is said of no retention; 42P16 where rows cannot be anonymized.
    pub(super) fn set_retention(&mut self, id: RelationId, written: &RetentionDefinition) -> Result<(), PlanError> {
        if *written == RetentionDefinition::default() {
            return Ok(());
        }
        let table = Arc::clone(self.get(id));
        if is_temporary(id.0) {
            return Err(PlanError::unsupported(format!(
                "how long rows of temporary table \"{}\" are kept",
                table.name
            )));
        }
        let was = table.retention.clone();
        let RetentionDefinition { retain, basis, then } = written.clone();
        let retain = retain.or_else(|| was.as_ref().map(|was| was.retain.clone())).ok_or_else(|| {
            PlanError::new("22023", format!("nothing says how long rows of table \"{}\" are kept", table.name))
                .hint("retain_basis and then go with retain = '90 days'.")
        })?;
        let retention = Retention {
            retain,
            basis: basis.or_else(|| was.as_ref()?.basis.clone()),
            then: then.or_else(|| Some(was.as_ref()?.then)).unwrap_or_default(),
        };
        if table.property(Property::Expires).is_none() {
            self.add_expiry(id, &retention)?;
        } else if was.is_none() {
            self.fill_expiry(id, &retention);
        }
        self.edit(id).retention = Some(retention);
        require_retention(&self.catalog, self.get(id))
    }

    /// ALTER TABLE … RESET (retain): the EXPIRES column stays.
    pub(super) fn reset_retention(&mut self, id: RelationId, names: &[String]) {
        let Some(mut retention) = self.get(id).retention.clone() else { return };
        for name in names {
            match name.as_str() {
                "retain" => {
                    self.edit(id).retention = None;
                    return;
                }
                "then" => retention.then = RetentionEnd::default(),
                _ => retention.basis = None,
            }
        }
        self.edit(id).retention = Some(retention);
    }

    /// A table without an EXPIRES column gets one; its rows are counted from now on.
    fn add_expiry(&mut self, id: RelationId, retention: &Retention) -> Result<(), PlanError> {
        let fresh = self.effects.contains(&DdlEffect::CreateTable(id));
        self.add_column(id, false, &expiry_column(COLUMN)?).map_err(|error| {
            let hint =
                format!("ALTER TABLE … ALTER COLUMN {COLUMN} SET EXPIRES, if it says until when rows are there.");
            error.hint(hint)
        })?;
        if !fresh {
            let index = self.get(id).columns.len() - 1;
            let added = self.get(id).columns[index].clone();
            let value = RewriteValue::Default(retention.end(&added));
            let column = RewriteColumn { column: index, value, column_type: added.column_type };
            self.effects.push(DdlEffect::RewriteTable { table: id, columns: vec![column] });
        }
        Ok(())
    }

    /// Rows that say nothing are counted from now on, too.
    fn fill_expiry(&mut self, id: RelationId, retention: &Retention) {
        let table = self.get(id);
        let Some(index) = table.property(Property::Expires) else { return };
        let column = table.columns[index].clone();
        if !column.column_type.nullable || self.effects.contains(&DdlEffect::CreateTable(id)) {
            return;
        }
        let text = format!("coalesce({}, {})", quote_identifier(&column.name), retention.end(&column));
        let column = RewriteColumn { column: index, value: RewriteValue::Using(text), column_type: column.column_type };
        self.effects.push(DdlEffect::RewriteTable { table: id, columns: vec![column] });
    }
}
