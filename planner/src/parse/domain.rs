//! CREATE, ALTER and DROP DOMAIN.

use super::grammar::Grammar;
use super::statement::{ObjectKind, Statement};
use super::type_definition::{AlterDomain, CreateDomain, DomainAction, DomainConstraint, DomainConstraintKind};
use crate::error::PlanError;

impl Grammar<'_, '_> {
    /// What follows CREATE DOMAIN.
    pub(super) fn create_domain(&mut self) -> Result<Statement, PlanError> {
        let name = self.object_name()?;
        self.eat(&["AS"]);
        let type_name = self.type_name()?;
        let mut create = CreateDomain { name, type_name, collation: None, default: None, constraints: Vec::new() };
        loop {
            if self.eat(&["COLLATE"]) {
                create.collation = Some(self.object_name()?);
            } else if self.eat(&["DEFAULT"]) {
                let position = self.position();
                if create.default.is_some() {
                    return Err(PlanError::new("42601", "multiple default expressions").at(Some(position)));
                }
                create.default = Some(self.restricted_expression()?);
            } else if let Some(constraint) = self.domain_constraint()? {
                create.constraints.push(constraint);
            } else {
                return Ok(Statement::CreateDomain(Box::new(create)));
            }
        }
    }

    fn domain_constraint(&mut self) -> Result<Option<DomainConstraint>, PlanError> {
        let position = self.position();
        let name = if self.eat(&["CONSTRAINT"]) { Some(self.identifier()?) } else { None };
        let refused = |what: &str| {
            PlanError::new("42601", format!("{what} constraints not possible for domains")).at(Some(position))
        };
        let kind = if self.eat(&["NOT", "NULL"]) {
            DomainConstraintKind::NotNull
        } else if self.eat(&["NULL"]) {
            DomainConstraintKind::Null
        } else if self.eat(&["CHECK"]) {
            let check = self.parenthesized_expression()?;
            if self.eat(&["NO", "INHERIT"]) {
                return Err(PlanError::new("42P16", "check constraints for domains cannot be marked NO INHERIT"));
            }
            DomainConstraintKind::Check(check)
        } else if self.word_is(0, "UNIQUE") {
            return Err(refused("unique"));
        } else if self.words_are(&["PRIMARY", "KEY"]) {
            return Err(refused("primary key"));
        } else if self.word_is(0, "REFERENCES") || self.words_are(&["FOREIGN", "KEY"]) {
            return Err(refused("foreign key"));
        } else if self.word_is(0, "EXCLUDE") {
            return Err(refused("exclusion"));
        } else if name.is_some() {
            return Err(self.unexpected());
        } else {
            return Ok(None);
        };
        Ok(Some(DomainConstraint { name, kind, not_valid: self.eat(&["NOT", "VALID"]), position }))
    }

    /// What follows ALTER DOMAIN.
    pub(super) fn alter_domain(&mut self) -> Result<Statement, PlanError> {
        let name = self.object_name()?;
        let action = if self.eat(&["SET", "DEFAULT"]) {
            DomainAction::SetDefault(Some(self.expression()?))
        } else if self.eat(&["DROP", "DEFAULT"]) {
            DomainAction::SetDefault(None)
        } else if self.eat(&["SET", "NOT", "NULL"]) {
            DomainAction::SetNotNull(true)
        } else if self.eat(&["DROP", "NOT", "NULL"]) {
            DomainAction::SetNotNull(false)
        } else if self.eat(&["ADD"]) {
            let constraint = self.domain_constraint()?.ok_or_else(|| self.unexpected())?;
            DomainAction::Add(constraint)
        } else if self.eat(&["DROP", "CONSTRAINT"]) {
            let if_exists = self.eat(&["IF", "EXISTS"]);
            let constraint = self.identifier()?;
            self.behavior();
            DomainAction::Drop { constraint, if_exists }
        } else if self.eat(&["VALIDATE", "CONSTRAINT"]) {
            DomainAction::Validate(self.identifier()?)
        } else if self.eat(&["RENAME", "CONSTRAINT"]) {
            let old = self.identifier()?;
            self.expect(&["TO"])?;
            DomainAction::Rename { old, new: self.identifier()? }
        } else {
            let other = self.rename_or_nothing(ObjectKind::Domain, false, &name)?;
            return other.ok_or_else(|| self.unexpected());
        };
        Ok(Statement::AlterDomain(Box::new(AlterDomain { name, action })))
    }
}
