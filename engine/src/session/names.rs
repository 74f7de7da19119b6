//! What names mean to a session: its search path, and what it finds by it.

use super::Session;
use crate::analyzer::analyze;
use crate::response::Response;
use planner::catalog::{Catalog, Class, DatabaseId, NamespaceId, Scope, SearchPath, Table};
use planner::parse::statement::{Identifier, ObjectName};
use planner::parse::utility::Vacuum;
use planner::statistics::KnownStatistics;
use state::SqlError;
use std::sync::Arc;

/// The catalog as a session sees it.
pub struct Seen {
    /// What there is.
    pub catalog: Arc<Catalog>,
    /// Where bare names are looked for.
    pub path: Arc<SearchPath>,
    /// What is known of the sizes of tables.
    pub statistics: Arc<KnownStatistics>,
}

impl Seen {
    /// For the planner.
    pub fn scope(&self) -> Scope<'_> {
        Scope { catalog: &self.catalog, path: &self.path }
    }
}

impl Session {
    /// What is in this session's database, for whoever lists it.
    pub(super) fn own(&self, catalog: &Arc<Catalog>) -> Arc<Catalog> {
        if catalog.databases.is_empty() && self.client.database_id == DatabaseId::FIRST {
            return catalog.clone();
        }
        let mut state = self.state.lock();
        match &state.remembered.own {
            Some((of, own)) if Arc::ptr_eq(of, catalog) => own.clone(),
            Some(_) | None => {
                let own = Catalog::of_database(catalog, self.client.database_id);
                state.remembered.own = Some((catalog.clone(), own.clone()));
                own
            }
        }
    }

    /// The catalog, and where this session looks for bare names in it.
    pub(super) fn seen(&self) -> Seen {
        let catalog = self.catalog();
        Seen { path: self.search_path(&catalog), catalog, statistics: self.database.views.statistics.tables.known() }
    }

    /// Where this session looks for bare names.
    pub(super) fn search_path(&self, catalog: &Arc<Catalog>) -> Arc<SearchPath> {
        let mut state = self.state.lock();
        let version = state.settings.version();
        if let Some((made_at, made_for, path)) = &state.remembered.path
            && *made_at == version
            && Arc::ptr_eq(made_for, catalog)
        {
            return path.clone();
        }
        let setting = state.settings.get("search_path").unwrap_or_default();
        let actor = self.client.login.actor(&state.settings, catalog);
        let database = (&*self.client.database, self.client.database_id);
        let path = Arc::new(SearchPath::of(setting, actor, database, catalog));
        state.remembered.path = Some((version, catalog.clone(), path.clone()));
        path
    }

    /// The table or view that a name means, if it is one. 3F000 if there is no such schema, 0A000 of another database.
    pub(super) fn table_named<'c>(
        &self,
        catalog: &'c Arc<Catalog>,
        name: &ObjectName,
    ) -> Result<Option<&'c Arc<Table>>, SqlError> {
        let path = self.search_path(catalog);
        name.require_own(&path)?;
        let scope = Scope { catalog, path: &path };
        if let Some(schema) = name.schema.as_ref().filter(|schema| scope.namespace(schema).is_none()) {
            return Err(SqlError::new("3F000", format!("schema \"{schema}\" does not exist")));
        }
        let found = match scope.class(name.schema.as_deref(), &name.name) {
            Some(Class::Relation(table)) => table.id,
            Some(_) | None => return Ok(None),
        };
        Ok(catalog.table(found))
    }

    /// What maintains a relation has nothing to do, but for saying that there is none: 42P01, or 3F000 for a schema.
    pub(super) fn maintained(
        &self,
        names: &[ObjectName],
        schema: Option<&Identifier>,
        tag: &str,
    ) -> Result<Response, SqlError> {
        let seen = self.seen();
        if let Some(schema) = schema {
            seen.scope().require_namespace(&schema.name)?;
        }
        for name in names {
            self.table_named(&seen.catalog, name)?;
            if seen.scope().class(name.schema.as_deref(), &name.name).is_none() {
                return Err(SqlError::new("42P01", format!("relation \"{}\" does not exist", name.dotted())));
            }
            if tag == "REINDEX" {
                self.require_ownership(name)?;
            }
        }
        Ok(Response::Complete(tag.into()))
    }

    /// VACUUM, which has nothing to do but for ANALYZE.
    pub(super) fn vacuum(&mut self, vacuum: &Vacuum) -> Result<Response, SqlError> {
        if vacuum.analyze {
            return self.analyze_tables(&vacuum.tables, "VACUUM");
        }
        self.maintained(&vacuum.tables, None, "VACUUM")
    }

    /// ANALYZE: of these tables, or of all in this database.
    pub(super) fn analyze_tables(&mut self, names: &[ObjectName], tag: &str) -> Result<Response, SqlError> {
        let done = self.maintained(names, None, tag)?;
        let catalog = self.catalog();
        let (role, home) = (self.actor(&catalog).role, self.client.database_id);
        let mut tables = Vec::new();
        for name in names {
            let Some(table) = self.table_named(&catalog, name)? else { continue };
            let (id, name) = (table.id, table.name.clone());
            if catalog.owns(role, id.0, home) {
                tables.push(id);
            } else {
                let message = format!("skipping \"{name}\" --- only table or database owner can analyze it");
                self.notice("WARNING", "01000", message);
            }
        }
        if names.is_empty() {
            tables.extend(self.own(&catalog).relations.keys().filter(|id| catalog.owns(role, id.0, home)).copied());
        }
        let account = self.control.account.clone();
        for table in tables {
            analyze(&self.database, table, || account.check())?;
        }
        Ok(done)
    }

    /// The table or view that a definition of that name makes, or would find in its place.
    pub(super) fn table_made<'c>(
        &self,
        catalog: &'c Arc<Catalog>,
        name: &ObjectName,
        temporary: bool,
    ) -> Option<&'c Arc<Table>> {
        let path = self.search_path(catalog);
        let place = match &name.schema {
            _ if temporary => NamespaceId::PG_TEMP,
            Some(schema) => Scope { catalog, path: &path }.namespace(schema)?,
            None => path.first()?,
        };
        catalog.table_in(place, &name.name)
    }
}
