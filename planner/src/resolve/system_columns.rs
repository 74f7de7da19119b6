//! PostgreSQL's system columns: those of them that are known, and what is said of the others.

use super::scope::Visible;
use super::{Resolver, Typed};
use crate::error::PlanError;
use repr::{ColumnType, Datum, RelationId, ScalarType};

const SYSTEM_COLUMNS: [&str; 6] = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"];

/// Whether a column of that name says how a row is stored.
pub(super) fn is_system_column(name: &str) -> bool {
    SYSTEM_COLUMNS.contains(&name)
}

/// Of transaction numbers.
pub(super) fn xid() -> ColumnType {
    ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Xid) }
}

impl Resolver<'_> {
    /// The innermost relation whose system column an unqualified name means, with its level.
    pub(super) fn having_system_column(
        &self,
        name: &str,
        position: Option<u32>,
    ) -> Result<Option<(usize, RelationId)>, PlanError> {
        if !is_system_column(name) {
            return Ok(None);
        }
        for (level, frame) in self.visible_frames() {
            let relations = frame.tables.iter().filter_map(|table| table.relation);
            let mut having = relations.filter(|relation| self.has_system_columns(*relation));
            if let Some(relation) = having.next() {
                if having.next().is_some() {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(PlanError::new("42702", message).at(position));
                }
                return Ok(Some((level, relation)));
            }
        }
        Ok(None)
    }

    /// `tableoid` is known, and `xmax` of what an INSERT has just written; the others say how PostgreSQL stores rows, and we do
    /// not store them so.
    pub(super) fn system_column(
        &mut self,
        name: &str,
        level: usize,
        relation: RelationId,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        if name == "tableoid" {
            return Ok(Typed::literal(Datum::Oid(relation.0), ScalarType::Oid));
        }
        let xmax = self.frames[self.frames.len() - 1 - level].xmax;
        if let Some(index) = xmax.filter(|_| name == "xmax") {
            // PostgreSQL grants it with the table only.
            let table = self.catalog.table(relation);
            let columns: Vec<_> =
                table.iter().flat_map(|table| table.live_columns()).map(|(column, _)| column).collect();
            columns.into_iter().for_each(|column| self.needs_column(Some((relation, column))));
            let visible = Visible { name: name.to_owned(), index, column_type: xid(), origin: None };
            return Ok(self.reference(level, &visible, position));
        }
        if name == "xmax" {
            return Err(PlanError::unsupported("system column \"xmax\" of other rows than INSERT returns")
                .hint("Name rows by their primary key.")
                .at(position));
        }
        Err(PlanError::unsupported(format!("system column \"{name}\""))
            .hint("Name rows by their primary key.")
            .at(position))
    }

    /// Everything that has rows of its own: all but plain views.
    pub(super) fn has_system_columns(&self, relation: RelationId) -> bool {
        self.catalog.table(relation).is_none_or(|table| table.is_stored() || table.is_maintained())
    }
}
