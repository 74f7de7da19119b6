//! GDPR FORGET: for how long it may be taken back, and of which tables and columns it is, where it is not of everything.
//!
//! Refuses by name what cannot be taken from a person who stays: the person's own row, keys, references, what must have a value.

use super::Resolver;
use super::requests::grace_period;
use crate::catalog::own_tables::is_own;
use crate::catalog::{Catalog, DefaultValue, Table};
use crate::error::PlanError;
use crate::ownership::Dog;
use crate::parse::request::{Forget, ForgetPart};
use repr::{ColumnIndex, Interval, RelationId};
use std::sync::Arc;

/// What of a person is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgetting {
    /// For how long it may be taken back.
    pub grace: Option<Interval>,
    /// Of what alone; where nothing is named the person goes, and all that is theirs.
    pub parts: Arc<[ErasedPart]>,
}

/// A table of which a person's rows go, or lose some columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedPart {
    /// The table.
    pub table: RelationId,
    /// The columns that lose their values; rows go whole where none are named.
    pub columns: Vec<ColumnIndex>,
}

impl Resolver<'_> {
    /// What a FORGET of somebody in this table names.
    pub(super) fn forgetting(&mut self, forget: &Forget) -> Result<Forgetting, PlanError> {
        let grace = forget.grace.as_ref().map(grace_period).transpose()?;
        if let (Some((_, position)), false) = (&forget.grace, forget.parts.is_empty()) {
            return Err(PlanError::unsupported("GRACE of an erasure in part")
                .hint("What is kept for a while is kept of whole erasures: leave GRACE out.")
                .at(Some(*position)));
        }
        let subjects = self.table_named(&forget.subject.table)?;
        let mut parts: Vec<ErasedPart> = Vec::new();
        for part in &forget.parts {
            let found = self.erased_part(subjects.id, part)?;
            if parts.iter().any(|other| other.table == found.table) {
                let message = format!("table \"{}\" specified more than once", part.table.name);
                return Err(PlanError::new("42712", message).at(Some(part.table.position)));
            }
            parts.push(found);
        }
        Ok(Forgetting { grace, parts: parts.into() })
    }

    fn erased_part(&mut self, subjects: RelationId, part: &ForgetPart) -> Result<ErasedPart, PlanError> {
        let table = self.table_named(&part.table)?;
        let at = Some(part.table.position);
        if is_own(table.id.0) {
            let message = format!("permission denied: \"{}\" is a system catalog", table.name);
            return Err(PlanError::new("42501", message).at(at));
        }
        if !table.is_stored() || !Dog::new(self.catalog).is_personal(table.id) {
            return Err(PlanError::new("42809", format!("table \"{}\" has no rows that people own", table.name))
                .hint("EXPLAIN COMPLIANCE lists the tables that have.")
                .at(at));
        }
        if table.id == subjects && part.columns.is_empty() {
            return Err(PlanError::new("42809", "a person's own row stays where only a part is forgotten")
                .hint("Name its columns, or leave IN out.")
                .at(at));
        }
        let mut columns = Vec::with_capacity(part.columns.len());
        for written in &part.columns {
            let at = |error: PlanError| error.at(Some(written.position));
            let Some((position, _)) = table.column_by_name(&written.name) else {
                let message = format!("column \"{}\" of relation \"{}\" does not exist", written.name, table.name);
                return Err(at(PlanError::new("42703", message)));
            };
            if columns.contains(&position) {
                let message = format!("column \"{}\" specified more than once", written.name);
                return Err(at(PlanError::new("42701", message)));
            }
            refuse_kept(self.catalog, &table, position).map_err(at)?;
            columns.push(position);
        }
        Ok(ErasedPart { table: table.id, columns })
    }
}

/// 42P16 for a column that a row which stays needs.
fn refuse_kept(catalog: &Catalog, table: &Table, position: ColumnIndex) -> Result<(), PlanError> {
    let column = &table.columns[position];
    let is_referred_to = |other: &Arc<Table>| {
        other.foreign_keys.iter().any(|key| key.target == table.id && key.target_columns.contains(&position))
    };
    let why = if table.primary_key_columns().unwrap_or_default().contains(&position) {
        "it is in the primary key"
    } else if table.foreign_keys.iter().any(|key| key.columns.contains(&position)) {
        "it is a foreign key"
    } else if catalog.relations.values().any(is_referred_to) {
        "foreign keys refer to it"
    } else if table.indexes.iter().any(|index| index.declared.nulls_not_distinct && index.mentions(position)) {
        "it is in a key in which NULL is a value"
    } else if matches!(column.default, Some(DefaultValue::Generated(_))) {
        "it is computed from others"
    } else if !column.column_type.nullable {
        "it is NOT NULL"
    } else {
        return Ok(());
    };
    Err(PlanError::new(
        "42P16",
        format!("column \"{}\" of table \"{}\" cannot be forgotten alone", column.name, table.name),
    )
    .detail(format!("Rows that stay need it: {why}."))
    .hint("Name the table without columns: whole rows go."))
}
