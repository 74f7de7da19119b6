//! A catalog in the making: the copy that one definition changes, with its effects and notices.

use super::{DdlEffect, DdlNotice, DefinitionExpression, ExpressionHook, ExpressionPurpose, Labels};
use crate::catalog::{Catalog, Class, NamespaceId, Scope, SearchPath, Table};
use crate::error::PlanError;
use crate::parse::statement::{Identifier, ObjectName, SqlText};
use crate::resolve::kept_text::respelled;
use crate::resolve::relabel::Relabel;
use repr::id::FIRST_USER_ID;
use repr::{ColumnIndex, Id, IndexId, RelationId, SequenceId};
use std::sync::Arc;

/// A definition under way.
pub(super) struct DefinitionChange<'a> {
    pub(super) catalog: Catalog,
    pub(super) effects: Vec<DdlEffect>,
    pub(super) notices: Vec<DdlNotice>,
    pub(super) labels: Labels,
    /// Where the bare names of the definition are looked for.
    pub(super) path: SearchPath,
    /// The label of an enumeration that it renames.
    pub(super) relabel: Option<Relabel>,
    hook: &'a ExpressionHook<'a>,
}

impl<'a> DefinitionChange<'a> {
    pub(super) fn new(scope: Scope<'_>, labels: Labels, hook: &'a ExpressionHook<'a>) -> Self {
        let (mut catalog, path) = (scope.catalog.clone(), scope.path.clone());
        catalog.next_id = catalog.next_id.max(FIRST_USER_ID);
        DefinitionChange { catalog, effects: Vec::new(), notices: Vec::new(), labels, path, relabel: None, hook }
    }

    pub(super) fn next_id(&mut self) -> Id {
        let id = self.catalog.next_id;
        self.catalog.next_id += 1;
        id
    }

    pub(super) fn notice(&mut self, code: &'static str, message: String) {
        self.notices.push(DdlNotice { code, message, detail: None });
    }

    /// What names mean to whoever defines.
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { catalog: &self.catalog, path: &self.path }
    }

    /// What a name means among relations, if anything. 3F000 if there is no such schema, 0A000 if it is another database's,
    /// 42501 if it is the system's.
    pub(super) fn find(&self, name: &ObjectName) -> Result<Option<Class<'_>>, PlanError> {
        let found = (|| {
            name.require_own(&self.path)?;
            if let Some(schema) = &name.schema {
                self.scope().require_namespace(schema)?;
            }
            match self.scope().class(name.schema.as_deref(), &name.name) {
                Some(Class::System(_)) => {
                    Err(PlanError::new("42501", format!("permission denied: \"{}\" is a system catalog", name.name)))
                }
                found => Ok(found),
            }
        })();
        found.map_err(|error: PlanError| error.at(Some(name.position)))
    }

    /// For IF EXISTS of ALTER: whether there is no such thing, or not even its schema, with the notice that says so.
    pub(super) fn is_missing(&mut self, name: &ObjectName) -> Result<bool, PlanError> {
        match self.find(name) {
            Ok(Some(_)) => return Ok(false),
            Ok(None) => {}
            Err(error) if error.code == "3F000" => {}
            Err(error) => return Err(error),
        }
        self.notice("00000", format!("relation \"{}\" does not exist, skipping", name.name));
        Ok(true)
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
        match self.find(name)? {
            Some(Class::Relation(table)) => Ok(table.id),
            Some(_) => {
                Err(PlanError::new("42809", format!("\"{}\" is not a table", name.name)).at(Some(name.position)))
            }
            None => Err(no_relation(name)),
        }
    }

    /// The sequence of that name.
    pub(super) fn sequence(&self, name: &ObjectName) -> Result<SequenceId, PlanError> {
        match self.find(name)? {
            Some(Class::Sequence(sequence)) => Ok(sequence.id),
            Some(_) => {
                Err(PlanError::new("42809", format!("\"{}\" is not a sequence", name.name)).at(Some(name.position)))
            }
            None => Err(no_relation(name)),
        }
    }

    /// The index of that name and its table.
    pub(super) fn index(&self, name: &ObjectName) -> Result<(RelationId, IndexId), PlanError> {
        match self.find(name)? {
            Some(Class::Index(table, index)) => Ok((table.id, index.id)),
            Some(_) => {
                Err(PlanError::new("42809", format!("\"{}\" is not an index", name.name)).at(Some(name.position)))
            }
            None => Err(no_relation(name)),
        }
    }

    /// The schema in which a name is made: the one that is written, or the first that is searched.
    pub(super) fn place_of(&self, name: &ObjectName) -> Result<NamespaceId, PlanError> {
        let place = (|| {
            name.require_own(&self.path)?;
            let place = match &name.schema {
                Some(schema) => self.scope().require_namespace(schema)?,
                None => *self
                    .path
                    .named()
                    .first()
                    .ok_or_else(|| PlanError::new("3F000", "no schema has been selected to create in"))?,
            };
            if self.catalog.namespaces.contains_key(&place) {
                return Ok(place);
            }
            let schema = self.catalog.namespace_name(place).unwrap_or_default();
            Err(PlanError::new("42501", format!("permission denied to create \"{schema}.{}\"", name.name))
                .detail("System catalog modifications are currently disallowed."))
        })();
        place.map_err(|error: PlanError| error.at(Some(name.position)))
    }

    /// The same of a type: none is a session's own.
    pub(super) fn place_of_type(&self, name: &ObjectName) -> Result<NamespaceId, PlanError> {
        let is_temporary = name.schema.as_deref() == Some("pg_temp");
        let place = if is_temporary { Ok(NamespaceId::PG_TEMP) } else { self.place_of(name) }?;
        if place == NamespaceId::PG_TEMP {
            return Err(PlanError::unsupported("a type in a temporary schema")
                .hint("Create it in another schema, and drop it in the end.")
                .at(Some(name.position)));
        }
        Ok(place)
    }

    /// The same of what may be TEMPORARY: 42P16 if that is written with another schema.
    pub(super) fn place_for(&self, name: &ObjectName, temporary: bool) -> Result<NamespaceId, PlanError> {
        let is_ours = |schema: &String| self.scope().namespace(schema) == Some(NamespaceId::PG_TEMP);
        match &name.schema {
            None if temporary => Ok(NamespaceId::PG_TEMP),
            Some(schema) if temporary && !is_ours(schema) => {
                let message = "cannot create temporary relation in non-temporary schema";
                Err(PlanError::new("42P16", message).at(Some(name.position)))
            }
            _ => self.place_of(name),
        }
    }

    /// What already has this name in a schema among tables, views, sequences and indexes.
    pub(super) fn kind_in(&self, namespace: NamespaceId, name: &str) -> Option<&'static str> {
        self.scope().class_in(namespace, name).map(Class::kind)
    }

    /// 42P07 if a table, view, sequence or index of the schema has this name.
    pub(super) fn require_free(&self, namespace: NamespaceId, name: &str) -> Result<(), PlanError> {
        match self.kind_in(namespace, name) {
            Some(_) => Err(PlanError::new("42P07", format!("relation \"{name}\" already exists"))),
            None => Ok(()),
        }
    }

    /// 42710 if a type of the schema has this name: a relation is a type of its name, too.
    pub(super) fn require_no_type(&self, namespace: NamespaceId, name: &str) -> Result<(), PlanError> {
        match self.catalog.type_in(namespace, name) {
            Some(_) => Err(PlanError::new("42710", format!("type \"{name}\" already exists"))
                .hint("A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.")),
            None => Ok(()),
        }
    }

    /// An expression as the catalog keeps it, checked or about to be.
    pub(super) fn kept(&self, text: &str) -> String {
        respelled(text, self.scope(), Scope::from(&self.catalog))
    }

    /// What the catalog keeps as this definition would write it.
    pub(super) fn written(&self, kept: &str) -> String {
        respelled(kept, Scope::from(&self.catalog), self.scope())
    }

    /// A table or view as messages about dependencies name it: with its schema where it is not found without.
    pub(super) fn shown(&self, table: &Table) -> String {
        self.scope().spelled_table(table)
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
        self.require_same_operators(&expression.text, table)?;
        let (catalog, path) = (&self.catalog, &self.path);
        let expression_use = DefinitionExpression { purpose, text: &expression.text, table, catalog, path };
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

/// 42P01
pub(super) fn no_relation(name: &ObjectName) -> PlanError {
    PlanError::new("42P01", format!("relation \"{}\" does not exist", name.dotted())).at(Some(name.position))
}

/// `"a", "b"` for messages.
pub(super) fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
