//! Databases: schemas of their own in the one store. Nothing leads from one to another, so each comes and goes whole.

use super::change::DefinitionChange;
use crate::catalog::{DEFAULT_DATABASE, Database, DatabaseId, Namespace, NamespaceId, RoleId, StartScope};
use crate::error::PlanError;
use crate::parse::definition::{
    AlterDatabase, AlterStart, CreateDatabase, DatabaseOption, DropDatabase, StartChange, StartRole,
};
use crate::system::extension;
use repr::Id;
use std::collections::BTreeMap;

/// Names by which new databases are asked for, and which cannot be connected to.
const TEMPLATES: [&str; 2] = ["template0", "template1"];

impl DefinitionChange<'_> {
    pub(super) fn create_database(&mut self, create: &CreateDatabase) -> Result<&'static str, PlanError> {
        let name = &create.name.name;
        for option in &create.options {
            self.check_option(option).map_err(|error| error.at(Some(option.position)))?;
        }
        if self.has_database(name) {
            return Err(PlanError::new("42P04", format!("database \"{name}\" already exists")));
        }
        let owner = create.options.iter().find(|option| option.name == "owner" && option.value != "default");
        let owner = owner.map(|option| self.new_owner(&option.value)).transpose()?;
        let database = DatabaseId(self.next_id());
        let public = NamespaceId(self.next_id());
        self.catalog.databases.insert(database, Database { name: name.clone(), extensions: BTreeMap::new() });
        self.catalog.namespaces.insert(public, Namespace { name: "public".to_owned(), database });
        self.catalog.rights_mut().owners.insert(public.0, RoleId::DATABASE_OWNER);
        if let Some(owner) = owner {
            self.catalog.rights_mut().owners.insert(database.0, owner);
        }
        Ok("CREATE DATABASE")
    }

    /// Whom something is made for: 42501 for who is no member.
    pub(super) fn new_owner(&self, name: &str) -> Result<RoleId, PlanError> {
        let role = self.path.actor().find(&self.catalog, name).ok_or_else(|| super::role::no_role(name))?;
        self.require_member(role)?;
        Ok(role)
    }

    /// What would change an answer is refused; the rest says what holds anyway.
    fn check_option(&self, option: &DatabaseOption) -> Result<(), PlanError> {
        let DatabaseOption { name, value, .. } = option;
        let refused = || {
            Err(PlanError::unsupported(format!("CREATE DATABASE … {} {value}", name.to_uppercase().replace('_', " "))))
        };
        let is_off = matches!(&*value.to_ascii_lowercase(), "false" | "off" | "0");
        match &**name {
            "owner" => Ok(()),
            _ if value == "default" => Ok(()),
            "template" => self.check_template(value),
            "encoding" => check_encoding(value),
            "locale" | "lc_collate" | "lc_ctype" if !is_by_code_points(value) => {
                Err(PlanError::unsupported(format!("locale \"{value}\""))
                    .hint("text is compared by code points, as locales \"C\" and \"C.UTF-8\" do"))
            }
            "locale" | "lc_collate" | "lc_ctype" => Ok(()),
            "locale_provider" if value.eq_ignore_ascii_case("libc") => Ok(()),
            "connection_limit" if value == "-1" => Ok(()),
            "connection_limit" if value.parse::<i32>().is_ok_and(|limit| limit < -1) => {
                Err(PlanError::new("22023", format!("invalid connection limit: {value}")))
            }
            "allow_connections" if !is_off => Ok(()),
            "is_template" if is_off => Ok(()),
            "tablespace" if value == "pg_default" => Ok(()),
            "tablespace" => Err(PlanError::new("42704", format!("tablespace \"{value}\" does not exist"))),
            "strategy" if matches!(&*value.to_ascii_lowercase(), "wal_log" | "file_copy") => Ok(()),
            "strategy" => Err(PlanError::new("22023", format!("invalid create database strategy \"{value}\""))
                .hint("Valid strategies are \"wal_log\", and \"file_copy\".")),
            "locale_provider" | "connection_limit" | "allow_connections" | "is_template" | "icu_locale" | "oid"
            | "collation_version" => refused(),
            _ => Err(PlanError::new("42601", format!("option \"{name}\" not recognized"))),
        }
    }

    fn check_template(&self, template: &str) -> Result<(), PlanError> {
        if TEMPLATES.contains(&template) {
            return Ok(());
        }
        if self.has_database(template) {
            return Err(PlanError::unsupported(format!("a copy of database \"{template}\""))
                .hint("a new database is empty: template0, template1 and DEFAULT say so"));
        }
        Err(PlanError::new("3D000", format!("template database \"{template}\" does not exist")))
    }

    /// ALTER DATABASE … RENAME TO
    pub(super) fn alter_database(&mut self, alter: &AlterDatabase) -> Result<&'static str, PlanError> {
        let AlterDatabase { name, new_name: new } = alter;
        if !self.has_database(&name.name) {
            return Err(no_database(&name.name));
        }
        if self.has_database(&new.name) {
            return Err(PlanError::new("42P04", format!("database \"{}\" already exists", new.name)));
        }
        if self.path.database() == Some(&*name.name) {
            return Err(PlanError::new("0A000", "current database cannot be renamed"));
        }
        let id = self.created(&name.name)?;
        self.renaming(|change| {
            if let Some(found) = change.catalog.databases.get_mut(&id) {
                found.name.clone_from(&new.name);
            }
        });
        Ok("ALTER DATABASE")
    }

    /// ALTER DATABASE … SET and ALTER ROLE … SET. What a value may be, the session has asked.
    pub(super) fn alter_start(&mut self, alter: &AlterStart) -> Result<&'static str, PlanError> {
        let role = match &alter.role {
            StartRole::All => None,
            StartRole::Current => Some(self.path.actor().name.to_string()),
            StartRole::Named(role) => self.role_named(role).map(|_| Some(role.name.clone()))?,
        };
        let tag = if role.is_none() && alter.database.is_some() { "ALTER DATABASE" } else { "ALTER ROLE" };
        let database = match &alter.database {
            Some(name) => Some(self.start_database(&name.name)?),
            None => None,
        };
        let scope = StartScope { database, role };
        match &alter.change {
            StartChange::Set(name, values) => {
                let value = values.first().map(|value| value.text().to_owned());
                self.catalog.change_start_setting(scope, name, value);
            }
            StartChange::Reset(name) | StartChange::FromCurrent(name) => {
                self.catalog.change_start_setting(scope, name, None);
            }
            StartChange::ResetAll => self.catalog.start_settings.retain(|found| found.scope != scope),
        }
        Ok(tag)
    }

    pub(super) fn start_database(&self, name: &str) -> Result<DatabaseId, PlanError> {
        if TEMPLATES.contains(&name) {
            return Err(
                PlanError::unsupported(format!("a change of database \"{name}\"")).hint("nobody connects to it")
            );
        }
        match self.catalog.database_by_name(name) {
            Some(id) => Ok(id),
            None if self.path.database() == Some(name) => Ok(self.path.home()),
            None if DEFAULT_DATABASE.contains(&name) => Ok(DatabaseId::FIRST),
            None => Err(no_database(name)),
        }
    }

    /// DROP DATABASE. Whether others are in it, the session has asked.
    pub(super) fn drop_database(&mut self, drop: &DropDatabase) -> Result<&'static str, PlanError> {
        const TAG: &str = "DROP DATABASE";
        let name = &drop.name;
        if !self.has_database(&name.name) {
            if !drop.if_exists {
                return Err(no_database(&name.name));
            }
            self.notice("00000", format!("database \"{}\" does not exist, skipping", name.name));
            return Ok(TAG);
        }
        if TEMPLATES.contains(&&*name.name) {
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
        self.catalog.start_settings.retain(|found| found.scope.database != Some(id));
        self.catalog.comments.remove(&id.0);
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
        TEMPLATES.contains(&name)
            || DEFAULT_DATABASE.contains(&name)
            || self.path.database() == Some(name)
            || self.catalog.database_by_name(name).is_some()
    }

    /// 0A000 for the database that is always there.
    fn created(&self, name: &str) -> Result<DatabaseId, PlanError> {
        self.catalog.database_by_name(name).ok_or_else(|| {
            PlanError::unsupported(format!("a change of database \"{name}\", which was not created"))
                .hint("it is always there; what CREATE DATABASE makes can be renamed and dropped")
        })
    }
}

fn check_encoding(encoding: &str) -> Result<(), PlanError> {
    let name: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
    if matches!(&*name.to_ascii_lowercase(), "utf8" | "unicode" | "6") {
        return Ok(());
    }
    Err(PlanError::unsupported(format!("encoding {encoding}")).hint("all text is UTF8"))
}

fn is_by_code_points(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase().replace('-', "");
    matches!(&*locale, "c" | "posix" | "c.utf8" | "ucs_basic")
}

fn no_database(name: &str) -> PlanError {
    PlanError::new("3D000", format!("database \"{name}\" does not exist"))
}
