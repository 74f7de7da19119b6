//! What the name of a relation means: a query of WITH, a view, a sequence, a table, or one of the system's relations.

use super::scope::{Visible, fold};
use super::{Resolver, ViewUse};
use crate::catalog::{Class, NamespaceId, Sequence, Table};
use crate::error::PlanError;
use crate::system::SystemRelation;
use repr::{ColumnType, RelationId};
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Spanned};
use std::sync::Arc;

/// What a relation name means.
pub(super) enum NamedRelation {
    Cte(usize),
    /// A view whose query takes its place.
    View(Arc<Table>),
    /// A sequence: one row.
    Sequence(Arc<Sequence>),
    Stored(Stored),
}

/// A table, a maintained view, or a relation of the system.
pub(super) struct Stored {
    pub(super) id: RelationId,
    pub(super) schema: Option<String>,
    pub(super) name: String,
    pub(super) columns: Vec<Visible>,
    pub(super) types: Vec<ColumnType>,
    pub(super) is_system: bool,
}

impl Resolver<'_> {
    /// What a relation name means: CTEs, then the search path.
    pub(super) fn find_relation(&mut self, name: &ObjectName) -> Result<NamedRelation, PlanError> {
        let position = self.at(name.span());
        let parts: Vec<&Ident> = name
            .0
            .iter()
            .map(|part| match part {
                ObjectNamePart::Identifier(ident) => Ok(ident),
                ObjectNamePart::Function(_) => {
                    Err(PlanError::new("42601", format!("syntax error at or near \"{name}\"")))
                }
            })
            .collect::<Result<_, _>>()?;
        let (database, schema, relation) = match parts.as_slice() {
            [relation] => (None, None, fold(relation)),
            [schema, relation] => (None, Some(fold(schema)), fold(relation)),
            [database, schema, relation] => {
                let (database, schema, relation) = (fold(database), fold(schema), fold(relation));
                let own = self.session.path.require_own(Some(&database), &schema, &relation);
                own.map_err(|error| error.at(position))?;
                (Some(database), Some(schema), relation)
            }
            [] => return Err(PlanError::new("42601", "a relation needs a name")),
            several => {
                let dotted = several.iter().map(|ident| fold(ident)).collect::<Vec<_>>().join(".");
                let message = format!("improper qualified name (too many dotted names): {dotted}");
                return Err(PlanError::new("42601", message).at(position));
            }
        };
        if schema.is_none()
            && let Some(index) = self.ctes.in_scope.iter().rposition(|cte| cte.name == relation)
        {
            return Ok(NamedRelation::Cte(index));
        }
        self.stored_relation((database.as_deref(), schema.as_deref()), &relation).map_err(|error| error.at(position))
    }

    /// A table or catalog relation.
    pub(super) fn stored_relation(
        &mut self,
        (database, schema): (Option<&str>, Option<&str>),
        name: &str,
    ) -> Result<NamedRelation, PlanError> {
        self.may_look_in(schema)?;
        match self.scope().class((database, schema), name) {
            Some(Class::Relation(table)) => {
                let table = Arc::clone(table);
                Ok(self.table_relation(&table))
            }
            Some(Class::Sequence(sequence)) => Ok(NamedRelation::Sequence(Arc::clone(sequence))),
            Some(Class::System(found)) => Ok(system_relation(found)),
            Some(Class::Index(_, index)) if !index.automatic => {
                Err(PlanError::new("42809", format!("\"{}\" is an index", index.name)))
            }
            Some(Class::Composite(found)) => {
                Err(PlanError::new("42809", format!("\"{}\" is a composite type", found.name)))
            }
            Some(Class::Index(..)) | None => {
                let full = schema.map_or_else(|| name.to_owned(), |schema| format!("{schema}.{name}"));
                Err(PlanError::new("42P01", format!("relation \"{full}\" does not exist")))
            }
        }
    }

    /// 42501 for a schema in which the role may not look for names.
    fn may_look_in(&self, schema: Option<&str>) -> Result<(), PlanError> {
        let (actor, home) = (self.session.path.actor(), self.session.path.home());
        match schema.and_then(|schema| Some((schema, self.scope().namespace(schema)?))) {
            Some((schema, namespace)) if !self.catalog.may_look_in(actor.role, namespace, home) => {
                Err(PlanError::denied("schema", schema))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A schema's name, for who writes it before a table's.
    pub(super) fn schema_of(&self, namespace: NamespaceId) -> Option<String> {
        self.catalog.namespace_name(namespace).map(str::to_owned)
    }

    fn table_relation(&mut self, table: &Arc<Table>) -> NamedRelation {
        let expanded = match self.session.views {
            // What a maintained view holds is for those whom no policy below it binds.
            ViewUse::Read => !table.is_stored() && (!table.is_maintained() || self.is_bound_below(table)),
            ViewUse::Expand => !table.is_stored(),
            ViewUse::Opaque => false,
        };
        // What views read is counted with them.
        self.views.named += 1;
        if expanded {
            let is_kept = table.is_maintained() && self.session.views == ViewUse::Read;
            self.views.kept_from_it += usize::from(is_kept);
            if table.is_maintained() {
                self.views.computed.insert(table.id);
            }
            return NamedRelation::View(Arc::clone(table));
        }
        let primary_key = table.primary_key_columns().unwrap_or_default();
        // NOT NULL alone promises nothing: erasure may blank such a column.
        let types: Vec<ColumnType> = table
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| ColumnType { nullable: !primary_key.contains(&index), ..column.column_type.clone() })
            .collect();
        let columns = table
            .live_columns()
            .map(|(index, column)| Visible {
                name: column.name.clone(),
                index,
                column_type: types[index].clone(),
                origin: Some((table.id, index)),
            })
            .collect();
        NamedRelation::Stored(Stored {
            id: table.id,
            schema: self.schema_of(table.namespace),
            name: table.name.clone(),
            columns,
            types,
            is_system: false,
        })
    }
}

fn system_relation(found: &'static SystemRelation) -> NamedRelation {
    let types: Vec<ColumnType> = found.column_types();
    let columns = found
        .columns
        .iter()
        .zip(&types)
        .enumerate()
        .map(|(index, (column, column_type))| Visible {
            name: column.name.to_owned(),
            index,
            column_type: column_type.clone(),
            origin: Some((found.id, index)),
        })
        .collect();
    NamedRelation::Stored(Stored {
        id: found.id,
        schema: Some(found.schema.to_owned()),
        name: found.name.to_owned(),
        columns,
        types,
        is_system: true,
    })
}
