//! Names of catalog objects as reg* values, enums and error texts need them.

mod routine;

use super::Environment;
use crate::catalog::{Actor, Catalog, Class, CreatedType, NamespaceId, RoleId, Scope, SearchPath, Sequence, Table};
use crate::scalar::func::{parse_identifier, quote_identifier};
use crate::system::{access_list, builtin};
use repr::text::TextCatalog;
use repr::{Id, ScalarType, ValueError};
use std::sync::Arc;

/// The catalog behind text forms, and the search path of whoever reads and writes them.
#[derive(Clone)]
pub(crate) struct CatalogNames {
    catalog: Arc<Catalog>,
    path: SearchPath,
    /// Whose session it is, if any. By name only: sessions keep this, so it must keep none of them.
    actor: Option<Actor>,
}

impl CatalogNames {
    /// As a session sees it.
    pub(crate) fn of_session(session: &dyn Environment) -> CatalogNames {
        let catalog = Arc::clone(session.catalog());
        let path = search_path(session, &catalog);
        CatalogNames { catalog, path, actor: Some(session.actor()) }
    }

    /// As kept texts see it.
    pub(crate) fn kept(catalog: Arc<Catalog>) -> CatalogNames {
        CatalogNames { catalog, path: SearchPath::kept().clone(), actor: None }
    }

    /// What names mean here.
    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope { catalog: &self.catalog, path: &self.path }
    }

    /// The role of that name.
    pub(crate) fn role(&self, name: &str) -> Option<RoleId> {
        self.actor.as_ref()?.find(&self.catalog, name)
    }

    /// What a role is called.
    pub(crate) fn role_name(&self, role: RoleId) -> Option<String> {
        self.actor.as_ref()?.name_of(&self.catalog, role).map(std::borrow::Cow::into_owned)
    }

    /// A table as SQL must spell it to be found.
    pub(crate) fn spelled(&self, table: &Table) -> String {
        self.scope().spelled_table(table)
    }

    /// A sequence as SQL must spell it to be found.
    pub(crate) fn spelled_sequence(&self, sequence: &Sequence) -> String {
        self.scope().spelled_sequence(sequence)
    }

    /// The relation, index or sequence named as in SQL.
    pub(crate) fn class(&self, name: &str) -> Result<Option<Class<'_>>, ValueError> {
        let parts = parse_identifier(name, true)?;
        let (database, schema, name) = match parts.as_slice() {
            [name] => (None, None, name.as_str()),
            [schema, name] => (None, Some(schema.as_str()), name.as_str()),
            [database, schema, name] => (Some(database.as_str()), Some(schema.as_str()), name.as_str()),
            _ => {
                return Err(ValueError::new(
                    "42601",
                    format!("improper relation name (too many dotted names): {name}"),
                ));
            }
        };
        if let Some(schema) = schema {
            self.path.require_own(database, schema, name).map_err(value_error)?;
            if !self.path.is_of_kept_texts() {
                self.scope().require_namespace(schema).map_err(value_error)?;
            }
        }
        Ok(self.scope().class((database, schema), name))
    }

    /// The name of a relation, index or sequence.
    pub(crate) fn class_name(&self, oid: Id) -> Option<String> {
        self.catalog.class_by_oid(oid).map(|found| found.name().to_owned())
    }

    /// The name of a type with its modifier: `format_type`.
    pub(crate) fn type_name(&self, oid: Id, modifier: i32) -> Option<String> {
        if let Some(scalar) = ScalarType::from_oid(oid) {
            return Some(self.scope().spelled_scalar(&scalar, modifier));
        }
        if let Some(found) = self.catalog.types.get(&oid) {
            return Some(self.spelled_type(found));
        }
        if let Some(table) = self.catalog.table_of_row_type(oid) {
            return Some(self.spelled(table));
        }
        if let Some(table) = oid.checked_sub(1).and_then(|element| self.catalog.table_of_row_type(element)) {
            return Some(format!("{}[]", self.spelled(table)));
        }
        // An enum's array type has the next OID.
        match self.catalog.types.get(&oid.checked_sub(1)?) {
            Some(element) => Some(format!("{}[]", self.spelled_type(element))),
            None => builtin::type_name(oid),
        }
    }

    /// A created type by its OID.
    pub(crate) fn created(&self, oid: Id) -> Option<String> {
        let row = || self.catalog.table_of_row_type(oid).map(|table| self.spelled(table));
        self.scope().spelled_domain(oid).or_else(row)
    }

    /// The schema and the name of a created type.
    pub(crate) fn created_by(&self, oid: Id) -> Option<(String, String)> {
        let found = self.catalog.types.get(&oid)?;
        Some((self.catalog.namespaces.get(&found.namespace)?.name.clone(), found.name.clone()))
    }

    fn spelled_type(&self, found: &CreatedType) -> String {
        self.scope().spelled_type(found)
    }

    /// The OID of a type named as in SQL.
    pub(crate) fn type_oid(&self, name: &str) -> Option<Id> {
        let name = name.trim();
        let (bare, is_array) = name.strip_suffix("[]").map_or((name, false), |bare| (bare.trim_end(), true));
        let unqualified = bare.strip_prefix("pg_catalog.").unwrap_or(bare);
        let unmodified = match (unqualified.find('('), unqualified.find(')')) {
            (Some(open), Some(close)) if open < close => {
                format!("{}{}", unqualified[..open].trim_end(), &unqualified[close + 1..])
            }
            _ => unqualified.to_owned(),
        };
        if let Ok(parts) = parse_identifier(bare, true)
            && let [before @ .., name] = parts.as_slice()
            && (!before.is_empty() || ScalarType::from_type_name(name).is_none() || self.hides(bare, name))
            && before.len() < 2
            && let Some(found) = self.scope().type_named(before.last().map(String::as_str), name)
            && found.domain().is_some()
        {
            let has_array = !found.column_type().scalar.is_array();
            return if is_array { has_array.then_some(found.id + 1) } else { Some(found.id) };
        }
        if let Some(array) = self.array_of_domain(bare).filter(|_| !is_array) {
            return Some(array);
        }
        let is_hidden = |name: &str| self.hides(bare, name);
        let built_in = ScalarType::from_name(&unmodified.to_lowercase());
        let scalar = built_in.filter(|_| !is_hidden(&unmodified.to_lowercase())).or_else(|| {
            let parts = parse_identifier(bare, true).ok()?;
            match parts.as_slice() {
                [name] => {
                    ScalarType::from_type_name(name).filter(|_| !is_hidden(name)).or_else(|| self.user_type(None, name))
                }
                [before @ .., schema, name] => {
                    self.path.require_own(before.last().map(String::as_str), schema, name).ok()?;
                    match schema.as_str() {
                        "pg_catalog" => ScalarType::from_type_name(name),
                        schema => self.user_type(Some(schema), name),
                    }
                }
                [] => None,
            }
        });
        match scalar {
            Some(scalar) => Some(if is_array { scalar.array_oid() } else { scalar.oid() }),
            None if is_array => None,
            None => builtin::pseudo_type(unqualified.trim_matches('"')),
        }
    }

    /// An array of a domain by its own name, `_domain`.
    fn array_of_domain(&self, name: &str) -> Option<Id> {
        let parts = parse_identifier(name, true).ok()?;
        let [before @ .., name] = parts.as_slice() else { return None };
        let schema = match before {
            [] => None,
            [schema] => Some(schema.as_str()),
            _ => return None,
        };
        let found = self.scope().element_named(schema, name)?;
        let has_array = found.domain().is_some_and(|domain| !domain.base.scalar.is_array());
        has_array.then_some(found.id + 1)
    }

    /// Whether a created type is found before the built-in one of that bare name.
    fn hides(&self, written: &str, name: &str) -> bool {
        let is_word = ScalarType::is_word(name) && !written.starts_with('"');
        !is_word && !written.starts_with("pg_catalog.") && self.scope().hides_built_in(name)
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<ScalarType> {
        self.scope().created_type(schema, name)
    }
}

/// A session's search path over a catalog.
pub(crate) fn search_path(session: &dyn Environment, catalog: &Catalog) -> SearchPath {
    match session.setting("search_path") {
        Some(path) => {
            let database = session.database();
            SearchPath::of(&path, session.actor(), (&database, session.database_id()), catalog)
        }
        None => SearchPath::kept().clone(),
    }
}

fn value_error(error: crate::error::PlanError) -> ValueError {
    ValueError { detail: error.detail, hint: error.hint, ..ValueError::new(error.code, error.message) }
}

impl TextCatalog for CatalogNames {
    fn enum_name(&self, id: Id) -> Option<String> {
        self.catalog.types.get(&id).map(|found| self.spelled_type(found))
    }

    fn enum_position(&self, id: Id, label: &str) -> Option<u32> {
        self.catalog.types.get(&id)?.enumeration()?.label(label).map(|found| found.place)
    }

    fn object_name(&self, kind: &ScalarType, oid: Id) -> Option<String> {
        match kind {
            ScalarType::Regclass => self.scope().spelled_by_oid(oid),
            ScalarType::Regtype => self.type_name(oid, -1),
            ScalarType::Regnamespace => self.catalog.namespace_name(NamespaceId(oid)).map(quote_identifier),
            ScalarType::Regrole => self.role_name(RoleId(oid)).map(|name| quote_identifier(&name)),
            ScalarType::Regproc | ScalarType::Regprocedure if self.catalog.routines.contains_key(&oid) => {
                let (routine, scope) = (&self.catalog.routines[&oid], self.scope());
                let name = scope.spelled_routine(routine);
                Some(if *kind == ScalarType::Regproc { name } else { routine.called(&name, scope) })
            }
            ScalarType::Regoper | ScalarType::Regoperator if self.catalog.operators.contains_key(&oid) => {
                let (operator, scope) = (&self.catalog.operators[&oid], self.scope());
                let name = scope.spelled_operator(operator);
                Some(if *kind == ScalarType::Regoper { name } else { operator.called(&name, scope) })
            }
            _ => routine::name(kind, oid),
        }
    }

    fn object_oid(&self, kind: &ScalarType, name: &str) -> Result<Option<Id>, ValueError> {
        let lone = || match parse_identifier(name, true).ok()?.as_slice() {
            [name] => Some(name.clone()),
            _ => None,
        };
        Ok(match kind {
            ScalarType::Regclass => self.class(name)?.map(Class::oid),
            ScalarType::Regtype => self.type_oid(name),
            ScalarType::Regnamespace => lone().and_then(|name| self.scope().namespace(&name)).map(|found| found.0),
            ScalarType::Regrole => lone().and_then(|name| self.role(&name)).map(|role| role.0),
            ScalarType::Regproc | ScalarType::Regprocedure if !self.catalog.routines.is_empty() => {
                match routine::created(self.scope(), kind, name, &|name| self.type_oid(name))? {
                    Some(found) => Some(found),
                    None => routine::oid(kind, name, &|name| self.type_oid(name))?,
                }
            }
            ScalarType::Regoper | ScalarType::Regoperator if !self.catalog.operators.is_empty() => {
                match routine::created_operator(self.scope(), kind, name, &|name| self.type_oid(name))? {
                    Some(found) => Some(found),
                    None => routine::oid(kind, name, &|name| self.type_oid(name))?,
                }
            }
            _ => routine::oid(kind, name, &|name| self.type_oid(name))?,
        })
    }

    fn grant(&self, text: &str) -> Result<String, ValueError> {
        let found = access_list::parse(text, &|name| self.role(name))?;
        Ok(found.written(&|role| self.role_name(role).unwrap_or_else(|| role.0.to_string())))
    }
}
