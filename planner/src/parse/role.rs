//! CREATE, ALTER and DROP ROLE.

use super::definition::{AlterStart, StartRole};
use super::grammar::Grammar;
use super::rights::{AlterRole, CreateRole, RightsStatement, RoleChange, RoleName, RoleOption, RoleOptionKind};
use super::statement::Statement;
use crate::error::PlanError;

impl Grammar<'_, '_> {
    /// A role; PUBLIC where that is one.
    pub(super) fn role_name(&mut self) -> Result<RoleName, PlanError> {
        if self.eat_one_of(&["CURRENT_ROLE", "CURRENT_USER"]).is_some() {
            return Ok(RoleName::CurrentUser);
        }
        if self.eat(&["SESSION_USER"]) {
            return Ok(RoleName::SessionUser);
        }
        let is_public = self.word_is(0, "PUBLIC");
        let name = self.identifier()?;
        Ok(if is_public { RoleName::Public(name.position) } else { RoleName::Named(name) })
    }

    /// Behind CREATE ROLE, which cannot log in unless it says so, and CREATE USER, which can.
    pub(super) fn create_role(&mut self, can_login: bool) -> Result<Statement, PlanError> {
        let position = self.position();
        let name = match self.role_name()? {
            RoleName::Named(name) => name,
            RoleName::Public(_) => {
                return Err(PlanError::new("42939", "role name \"public\" is reserved").at(Some(position)));
            }
            RoleName::CurrentUser | RoleName::SessionUser => {
                return Err(PlanError::new("42601", "a role needs a name of its own").at(Some(position)));
            }
        };
        let person = if can_login && self.eat(&["FOR"]) { Some(self.subject_reference()?) } else { None };
        self.eat(&["WITH"]);
        let mut options = self.role_options()?;
        options.extend(person.map(|person| RoleOption { kind: RoleOptionKind::For(person), position }));
        if can_login && !options.iter().any(|option| matches!(option.kind, RoleOptionKind::Login(_))) {
            options.push(RoleOption { kind: RoleOptionKind::Login(true), position });
        }
        Ok(Statement::Rights(Box::new(RightsStatement::CreateRole(CreateRole { name, options }))))
    }

    /// Behind ALTER ROLE and ALTER USER.
    pub(super) fn alter_role(&mut self) -> Result<Statement, PlanError> {
        if self.eat(&["ALL"]) {
            let database = if self.eat(&["IN", "DATABASE"]) { Some(self.identifier()?) } else { None };
            let Some(change) = self.start_change()? else { return Err(self.unexpected()) };
            return Ok(Statement::AlterStart(Box::new(AlterStart { role: StartRole::All, database, change })));
        }
        let role = self.role_name()?;
        if self.eat(&["RENAME", "TO"]) {
            let RoleName::Named(name) = role else { return Err(self.unexpected()) };
            let new = self.identifier()?;
            return Ok(Statement::Rights(Box::new(RightsStatement::RenameRole(name, new))));
        }
        let database = if self.eat(&["IN", "DATABASE"]) { Some(self.identifier()?) } else { None };
        let change = match self.start_change()? {
            Some(change) => RoleChange::Start(change),
            None if database.is_some() => return Err(self.unexpected()),
            None => {
                self.eat(&["WITH"]);
                RoleChange::Options(self.role_options()?)
            }
        };
        match change {
            RoleChange::Options(options) => {
                Ok(Statement::Rights(Box::new(RightsStatement::AlterRole(AlterRole { role, options }))))
            }
            RoleChange::Start(change) => {
                let role = match role {
                    RoleName::CurrentUser | RoleName::SessionUser => StartRole::Current,
                    RoleName::Named(name) => StartRole::Named(name),
                    RoleName::Public(_) => return Err(PlanError::new("42704", "role \"public\" does not exist")),
                };
                Ok(Statement::AlterStart(Box::new(AlterStart { role, database, change })))
            }
        }
    }

    /// ALTER GROUP name ADD | DROP USER …: as GRANT and REVOKE say it.
    pub(super) fn alter_group(&mut self) -> Result<Statement, PlanError> {
        let name = self.identifier()?;
        if self.eat(&["RENAME", "TO"]) {
            let new = self.identifier()?;
            return Ok(Statement::Rights(Box::new(RightsStatement::RenameRole(name, new))));
        }
        let grants = match self.eat_one_of(&["ADD", "DROP"]) {
            Some(word) => word == "ADD",
            None => return Err(self.unexpected()),
        };
        self.expect(&["USER"])?;
        let members = self.list(Self::role_name)?;
        Ok(self.granted_roles(grants, vec![name], members))
    }

    /// Behind DROP ROLE, USER, GROUP.
    pub(super) fn drop_roles(&mut self) -> Result<Statement, PlanError> {
        let if_exists = self.eat(&["IF", "EXISTS"]);
        let roles = self.list(Self::role_name)?;
        Ok(Statement::Rights(Box::new(RightsStatement::DropRoles { if_exists, roles })))
    }

    fn role_options(&mut self) -> Result<Vec<RoleOption>, PlanError> {
        let mut options = Vec::new();
        while !self.at_end() {
            let position = self.position();
            let kind = self.role_option()?;
            let same = |other: &RoleOption| std::mem::discriminant(&other.kind) == std::mem::discriminant(&kind);
            if options.iter().any(same) {
                return Err(PlanError::new("42601", "conflicting or redundant options").at(Some(position)));
            }
            options.push(RoleOption { kind, position });
        }
        Ok(options)
    }

    fn role_option(&mut self) -> Result<RoleOptionKind, PlanError> {
        const SWITCHES: [(&str, &str, fn(bool) -> RoleOptionKind); 7] = [
            ("SUPERUSER", "NOSUPERUSER", RoleOptionKind::Superuser),
            ("CREATEDB", "NOCREATEDB", RoleOptionKind::CreateDatabase),
            ("CREATEROLE", "NOCREATEROLE", RoleOptionKind::CreateRole),
            ("INHERIT", "NOINHERIT", RoleOptionKind::Inherit),
            ("LOGIN", "NOLOGIN", RoleOptionKind::Login),
            ("REPLICATION", "NOREPLICATION", RoleOptionKind::Replication),
            ("BYPASSRLS", "NOBYPASSRLS", RoleOptionKind::BypassPolicies),
        ];
        for (on, off, kind) in SWITCHES {
            if let Some(word) = self.eat_one_of(&[on, off]) {
                return Ok(kind(word == on));
            }
        }
        if self.eat(&["CONNECTION", "LIMIT"]) {
            return Ok(RoleOptionKind::ConnectionLimit(self.integer()?));
        }
        if self.eat(&["UNENCRYPTED", "PASSWORD"]) {
            return Err(PlanError::new("0A000", "UNENCRYPTED PASSWORD is no longer supported")
                .hint("Remove UNENCRYPTED to store the password in encrypted form instead."));
        }
        if self.eat(&["ENCRYPTED", "PASSWORD"]) {
            return Ok(RoleOptionKind::Password(Some(self.string()?)));
        }
        if self.eat(&["PASSWORD"]) {
            return Ok(RoleOptionKind::Password(if self.eat(&["NULL"]) { None } else { Some(self.string()?) }));
        }
        if self.eat(&["VALID", "UNTIL"]) {
            return Ok(RoleOptionKind::ValidUntil(self.string()?));
        }
        if self.eat(&["IN", "ROLE"]) || self.eat(&["IN", "GROUP"]) {
            return Ok(RoleOptionKind::InRole(self.list(Self::role_name)?));
        }
        if self.eat(&["ROLE"]) || self.eat(&["USER"]) {
            return Ok(RoleOptionKind::Members(self.list(Self::role_name)?));
        }
        if self.eat(&["ADMIN"]) {
            return Ok(RoleOptionKind::Administrators(self.list(Self::role_name)?));
        }
        if self.eat(&["SYSID"]) {
            self.integer()?;
            return Ok(RoleOptionKind::SystemId);
        }
        let position = self.position();
        match self.any_word() {
            Ok(word) if !matches!(&*word, "in" | "encrypted" | "connection" | "valid") => {
                Err(PlanError::new("42601", format!("unrecognized role option \"{word}\"")).at(Some(position)))
            }
            Ok(_) | Err(_) => Err(self.unexpected()),
        }
    }
}
