//! Databases: schemas of their own in the one store. Nothing leads from one to another, so each comes and goes whole.

use super::change::DefinitionChange;
use crate::catalog::{Database, DatabaseId, Namespace, NamespaceId};
use crate::error::PlanError;
use crate::parse::definition::CreateDatabase;
use crate::parse::statement::Identifier;
use crate::system::extension;
use repr::Id;
use std::collections::BTreeMap;

/// Names that are there without being created.
const ALWAYS: [&str; 3] = ["postgres", "template0", "template1"];

impl DefinitionChange<'_> {
    pub(super) fn create_database(&mut self, create: &CreateDatabase) -> Result<&'static str, PlanError> {
        let name = &create.name.name;
        if self.has_database(name) {
            return Err(PlanError::new("42P04", format!("database \"{name}\" already exists")));
        }
        if let Some(template) = &create.template {
            if !self.has_database(&template.name) {
                let message = format!("template database \"{}\" does not exist", template.name);
                return Err(PlanError::new("3D000", message));
            }
            if !template.name.starts_with("template") {
                self.notice("00000", format!("the new database is empty: template \"{}\" is not copied", template.name));
            }
        }
        if let Some(encoding) = &create.encoding
            && !matches!(&*encoding.to_ascii_lowercase().replace(['-', '_'], ""), "utf8" | "unicode" | "6" | "default")
        {
            return Err(PlanError::unsupported(format!("encoding {encoding}")).hint("all text is UTF8"));
        }
        let is_plain = |locale: &String| {
            let locale = locale.to_ascii_lowercase();
            matches!(locale.split('.').next().unwrap_or_default(), "c" | "posix" | "default")
        };
        if let Some(locale) = create.locales.iter().find(|locale| !is_plain(locale)) {
            self.notice("00000", format!("text is compared by code points, and not as locale \"{locale}\" has it"));
        }
        let database = DatabaseId(self.next_id());
        let public = NamespaceId(self.next_id());
        self.catalog.databases.insert(database, Database { name: name.clone(), extensions: BTreeMap::new() });
        self.catalog.namespaces.insert(public, Namespace { name: "public".to_owned(), database });
        Ok("CREATE DATABASE")
    }

    /// ALTER DATABASE … RENAME TO, or what changes nothing.
    pub(super) fn alter_database(
        &mut self,
        name: &Identifier,
        new: Option<&Identifier>,
    ) -> Result<&'static str, PlanError> {
        if !self.has_database(&name.name) {
            return Err(no_database(&name.name));
        }
        let Some(new) = new else { return Ok("ALTER DATABASE") };
        if self.path.database() == Some(&*name.name) {
            return Err(PlanError::new("0A000", "current database cannot be renamed"));
        }
        if self.has_database(&new.name) {
            return Err(PlanError::new("42P04", format!("database \"{}\" already exists", new.name)));
        }
        let id = self.created(&name.name)?;
        self.renaming(|change| {
            if let Some(found) = change.catalog.databases.get_mut(&id) {
                found.name.clone_from(&new.name);
            }
        });
        Ok("ALTER DATABASE")
    }

    /// DROP DATABASE. Whether others are in it, the session has asked.
    pub(super) fn drop_database(&mut self, if_exists: bool, name: &Identifier) -> Result<&'static str, PlanError> {
        const TAG: &str = "DROP DATABASE";
        if !self.has_database(&name.name) {
            if !if_exists {
                return Err(no_database(&name.name));
            }
            self.notice("00000", format!("database \"{}\" does not exist, skipping", name.name));
            return Ok(TAG);
        }
        if name.name.starts_with("template") && ALWAYS.contains(&&*name.name) {
            return Err(PlanError::new("42809", "cannot drop a template database"));
        }
        if self.path.database() == Some(&*name.name) {
            return Err(PlanError::new("55006", "cannot drop the currently open database"));
        }
        let id = self.created(&name.name)?;
        let schemas = self.catalog.namespaces.iter().filter(|(_, found)| found.database == id);
        let schemas: Vec<(NamespaceId, String)> = schemas.map(|(id, found)| (*id, found.name.clone())).collect();
        // All of it goes, and nothing is told of it.
        let told = self.notices.len();
        self.drop_members(&schemas, true)?;
        self.notices.truncate(told);
        for (schema, _) in schemas {
            self.catalog.namespaces.remove(&schema);
            self.catalog.comments.remove(&schema.0);
        }
        if let Some(database) = self.catalog.databases.remove(&id) {
            for extension in database.extensions.values() {
                self.catalog.comments.remove(extension);
            }
        }
        Ok(TAG)
    }

    /// The extensions of the database at hand.
    pub(super) fn extensions(&mut self) -> &mut BTreeMap<String, Id> {
        match self.catalog.databases.get_mut(&self.path.home()) {
            Some(database) => &mut database.extensions,
            None => &mut self.catalog.extensions,
        }
    }

    /// An extension that the database at hand has.
    pub(super) fn extension(&mut self, name: &str) -> Option<Id> {
        extension::always(name).or_else(|| self.extensions().get(name).copied())
    }

    fn has_database(&self, name: &str) -> bool {
        ALWAYS.contains(&name) || self.path.database() == Some(name) || self.catalog.database_by_name(name).is_some()
    }

    /// 0A000 for the database that is always there.
    fn created(&self, name: &str) -> Result<DatabaseId, PlanError> {
        self.catalog.database_by_name(name).ok_or_else(|| {
            PlanError::unsupported(format!("changing database \"{name}\", which was not created"))
                .hint("every name that was not created leads to one database, which stays")
        })
    }
}

fn no_database(name: &str) -> PlanError {
    PlanError::new("3D000", format!("database \"{name}\" does not exist"))
}
