//! CREATE and DROP EXTENSION: what is built in, and is there once it was created.

use super::change::DefinitionChange;
use crate::error::PlanError;
use crate::parse::statement::Identifier;
use crate::scalar::func::quote_identifier;
use crate::system::extension;
use crate::system::schemas::PG_CATALOG;

impl DefinitionChange<'_> {
    pub(super) fn create_extension(
        &mut self,
        if_not_exists: bool,
        name: &Identifier,
        schema: Option<&Identifier>,
        version: Option<&str>,
    ) -> Result<&'static str, PlanError> {
        const TAG: &str = "CREATE EXTENSION";
        let name = &name.name;
        if name == extension::OWN || self.extension(name).is_some() {
            let message = format!("extension \"{name}\" already exists");
            if if_not_exists {
                self.notice("42710", format!("{message}, skipping"));
                return Ok(TAG);
            }
            return Err(PlanError::new("42710", message));
        }
        let Some(known) = extension::named(name) else {
            let names: Vec<&str> = extension::KNOWN.iter().map(|known| known.name).collect();
            return Err(PlanError::new("0A000", format!("extension \"{name}\" is not available"))
                .hint(format!("These are: {}.", names.join(", "))));
        };
        if let Some(schema) = schema.filter(|schema| schema.name != "public") {
            self.scope().require_namespace(&schema.name)?;
            return Err(PlanError::unsupported("CREATE EXTENSION in another schema than public"));
        }
        if let Some(version) = version.filter(|version| *version != known.version) {
            let message =
                format!("extension \"{name}\" has no installation script nor update path for version \"{version}\"");
            return Err(PlanError::new("22023", message));
        }
        let id = self.next_id();
        self.extensions().insert(name.clone(), id);
        Ok(TAG)
    }

    pub(super) fn drop_extension(&mut self, if_exists: bool, names: &[Identifier]) -> Result<&'static str, PlanError> {
        for name in names.iter().map(|name| &name.name) {
            self.require_unused_types(name)?;
            if let Some(id) = self.extensions().remove(name) {
                self.catalog.comments.remove(&id);
                continue;
            }
            if name == extension::OWN || extension::named(name).is_some_and(|known| known.schema == PG_CATALOG) {
                let message = format!("cannot drop extension {name} because it is required by the database system");
                return Err(PlanError::new("2BP01", message));
            }
            let message = format!("extension \"{name}\" does not exist");
            if !if_exists {
                return Err(PlanError::new("42704", message));
            }
            self.notice("00000", format!("{message}, skipping"));
        }
        Ok("DROP EXTENSION")
    }

    /// Columns keep their types, whether or not CASCADE is written.
    fn require_unused_types(&mut self, name: &str) -> Result<(), PlanError> {
        if self.extension(name).is_none() {
            return Ok(());
        }
        let home = self.path.home();
        let tables = self.catalog.relations.values();
        let tables = tables.filter(|table| self.catalog.database_of(table.namespace) == home);
        let columns = tables.flat_map(|table| table.columns.iter().map(move |column| (table, column)));
        let uses = columns.filter(|(_, column)| {
            !column.hidden && column.column_type.scalar.any_part(|part| part.extension() == Some(name))
        });
        let lines: Vec<String> = uses
            .map(|(table, column)| {
                let shown = self.scope().spelled_scalar(&column.column_type.scalar, -1);
                let (column, kind, table) = (quote_identifier(&column.name), table.kind(), self.shown(table));
                format!("column {column} of {kind} {table} depends on type {shown}")
            })
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        Err(PlanError::new("2BP01", format!("cannot drop extension {name} because other objects depend on it"))
            .detail(lines.join("\n"))
            .hint("Drop these columns, or give them another type, before the extension."))
    }
}
