//! A catalog in the making: the copy that one definition changes, with its effects and notices.

use super::{DdlEffect, DdlNotice, DefinitionExpression, ExpressionHook, ExpressionPurpose, Labels};
use crate::catalog::{Catalog, Table};
use crate::error::PlanError;
use crate::parse::statement::{Identifier, ObjectName, SqlText};
use repr::id::FIRST_USER_ID;
use repr::{ColumnIndex, Id, RelationId, SequenceId};
use std::sync::Arc;

/// A definition under way.
pub(super) struct DefinitionChange<'a> {
    pub(super) catalog: Catalog,
    pub(super) effects: Vec<DdlEffect>,
    pub(super) notices: Vec<DdlNotice>,
    pub(super) labels: Labels,
    hook: &'a ExpressionHook<'a>,
}

impl<'a> DefinitionChange<'a> {
    pub(super) fn new(catalog: &Catalog, labels: Labels, hook: &'a ExpressionHook<'a>) -> Self {
        let mut catalog = catalog.clone();
        catalog.next_id = catalog.next_id.max(FIRST_USER_ID);
        DefinitionChange { catalog, effects: Vec::new(), notices: Vec::new(), labels, hook }
    }

    pub(super) fn next_id(&mut self) -> Id {
        let id = self.catalog.next_id;
        self.catalog.next_id += 1;
        id
    }

    pub(super) fn notice(&mut self, code: &'static str, message: String) {
        self.notices.push(DdlNotice { code, message, detail: None });
    }

    /// The stored table of that name: 42P01 if there is none, 42809 if it is something else.
    pub(super) fn table(&self, name: &ObjectName) -> Result<RelationId, PlanError> {
        let id = self.relation(name)?;
        if self.get(id).is_stored() {
            return Ok(id);
        }
        Err(PlanError::new("42809", format!("\"{}\" is not a table", name.name)).at(Some(name.position)))
    }

    /// The table or view of that name: 42P01 if there is none, 42809 if it is something else.
    pub(super) fn relation(&self, name: &ObjectName) -> Result<RelationId, PlanError> {
        let display = public_name(name)?;
        if let Some(id) = self.catalog.relation_names.get(&name.name) {
            return Ok(*id);
        }
        let other = self.kind_of_relation(&name.name);
        Err(match other {
            Some(_) => PlanError::new("42809", format!("\"{}\" is not a table", name.name)),
            None => PlanError::new("42P01", format!("relation \"{display}\" does not exist")),
        }
        .at(Some(name.position)))
    }

    /// The sequence of that name.
    pub(super) fn sequence(&self, name: &ObjectName) -> Result<SequenceId, PlanError> {
        let display = public_name(name)?;
        if let Some(id) = self.catalog.sequence_names.get(&name.name) {
            return Ok(*id);
        }
        Err(match self.kind_of_relation(&name.name) {
            Some(_) => PlanError::new("42809", format!("\"{}\" is not a sequence", name.name)),
            None => PlanError::new("42P01", format!("relation \"{display}\" does not exist")),
        }
        .at(Some(name.position)))
    }

    /// The index of that name and its table.
    pub(super) fn find_index(&self, name: &str) -> Option<(RelationId, repr::IndexId)> {
        self.catalog.relations.values().find_map(|table| {
            let index = table.indexes.iter().find(|index| index.name == name)?;
            Some((table.id, index.id))
        })
    }

    /// What already has this name among tables, views, sequences and indexes.
    pub(super) fn kind_of_relation(&self, name: &str) -> Option<&'static str> {
        if let Some(id) = self.catalog.relation_names.get(name) {
            Some(self.get(*id).kind())
        } else if self.catalog.sequence_names.contains_key(name) {
            Some("sequence")
        } else if self.find_index(name).is_some() {
            Some("index")
        } else {
            None
        }
    }

    /// 42P07 if a table, sequence, index or type has this name.
    pub(super) fn require_free(&self, name: &str) -> Result<(), PlanError> {
        match self.kind_of_relation(name) {
            Some(_) => Err(PlanError::new("42P07", format!("relation \"{name}\" already exists"))),
            None => Ok(()),
        }
    }

    pub(super) fn get(&self, id: RelationId) -> &Arc<Table> {
        self.catalog.relations.get(&id).expect("ids come from this catalog")
    }

    /// The table, for changing.
    pub(super) fn edit(&mut self, id: RelationId) -> &mut Table {
        Arc::make_mut(self.catalog.relations.get_mut(&id).expect("ids come from this catalog"))
    }

    /// The live column of that name: 42703 else.
    pub(super) fn column(&self, id: RelationId, column: &Identifier) -> Result<ColumnIndex, PlanError> {
        let table = self.get(id);
        table.column_by_name(&column.name).map(|(index, _)| index).ok_or_else(|| {
            PlanError::new("42703", format!("column \"{}\" of relation \"{}\" does not exist", column.name, table.name))
                .at(Some(column.position))
        })
    }

    /// Has the resolver look at an expression.
    pub(super) fn check_expression(
        &self,
        purpose: ExpressionPurpose<'_>,
        expression: &SqlText,
        table: &Table,
    ) -> Result<(), PlanError> {
        let expression_use = DefinitionExpression { purpose, text: &expression.text, table, catalog: &self.catalog };
        (self.hook)(&expression_use).map_err(|mut error| {
            // That something is not immutable is said of no place.
            if error.code == "42P17" && error.position.is_none() {
                return error;
            }
            // The hook counts from the expression's own beginning.
            error.position =
                Some(error.position.map_or(expression.position, |at| at + expression.position.saturating_sub(1)));
            error
        })
    }
}

/// Checks the schema: there is only `public`. Gives the name as it was written, for messages.
pub(super) fn public_name(name: &ObjectName) -> Result<String, PlanError> {
    match name.schema.as_deref() {
        None => Ok(name.name.clone()),
        Some("public") => Ok(format!("public.{}", name.name)),
        Some(schema @ ("pg_catalog" | "information_schema")) => {
            Err(PlanError::new("42501", format!("permission denied: \"{schema}.{}\" is a system catalog", name.name))
                .at(Some(name.position)))
        }
        Some(schema) => {
            Err(PlanError::new("3F000", format!("schema \"{schema}\" does not exist")).at(Some(name.position)))
        }
    }
}

/// `"a", "b"` for messages.
pub(super) fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
