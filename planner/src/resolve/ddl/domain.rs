//! CREATE, ALTER and DROP DOMAIN.
//!
//! A column of a domain is of the type that the domain is over, and says the domain beside. What its values must pass is asked
//! where rows are written, and of those that are there by an effect.

use super::change::DefinitionChange;
use super::column::column_collation;
use super::drop::is_of;
use super::{DdlEffect, DomainCondition, DomainValidation, ExpressionPurpose};
use crate::catalog::{Check, Column, ConstraintName, CreatedType, Domain, TypeKind};
use crate::error::PlanError;
use crate::parse::statement::{Identifier, ObjectName, SqlText};
use crate::parse::type_definition::{AlterDomain, CreateDomain, DomainAction, DomainConstraint, DomainConstraintKind};
use crate::resolve::domain::{chain, of_elements, value_table};
use repr::{ColumnIndex, ColumnType, Id, RelationId, ScalarType};
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn create_domain(&mut self, create: &CreateDomain) -> Result<&'static str, PlanError> {
        let name = &create.name;
        let namespace = self.place_of_type(name)?;
        self.require_free_type(namespace, &name.name).map_err(|error| error.at(Some(name.position)))?;
        let mut base = self.column_type(&create.type_name).map_err(|error| {
            let message = "is not a valid base type for a domain";
            if error.code == "42P16" { PlanError::new("42804", format!("the type {message}")) } else { error }
        })?;
        if let Some(collation) = &create.collation {
            base.collation = column_collation(collation, &base.scalar)?;
        }
        let inherited = self.catalog.types.get(&base.domain).and_then(|found| found.domain()?.default.clone());
        let mut domain = Domain { base, not_null: false, default: inherited, checks: Vec::new() };
        if let Some(text) = &create.default {
            domain.default = self.domain_default(&name.name, &domain, text)?;
        }
        let mut nullability = None;
        for constraint in &create.constraints {
            let nullable = match &constraint.kind {
                DomainConstraintKind::NotNull => false,
                DomainConstraintKind::Null => true,
                DomainConstraintKind::Check(_) => continue,
            };
            if nullability.replace(nullable).is_some_and(|said| said != nullable) {
                return Err(PlanError::new("42601", "conflicting NULL/NOT NULL constraints"));
            }
        }
        domain.not_null = nullability == Some(false);
        let id = self.next_id();
        // The next is kept for an array of it.
        self.next_id();
        for constraint in &create.constraints {
            self.add_domain_check(&name.name, &mut domain, constraint)?;
        }
        let found = CreatedType { id, name: name.name.clone(), namespace, kind: TypeKind::Domain(domain) };
        self.insert_type(found);
        Ok("CREATE DOMAIN")
    }

    pub(super) fn alter_domain(&mut self, alter: &AlterDomain) -> Result<&'static str, PlanError> {
        let id = self.domain_named(&alter.name).map_err(|error| match error.code {
            "42809" => PlanError::new("42809", format!("{} is not a domain", alter.name.dotted())),
            _ => error,
        })?;
        let found = Arc::clone(&self.catalog.types[&id]);
        let Some(domain) = found.domain() else { return Err(no_domain(&alter.name)) };
        let mut domain = domain.clone();
        match &alter.action {
            DomainAction::SetDefault(None) => domain.default = None,
            DomainAction::SetDefault(Some(text)) => {
                domain.default = self.domain_default(&found.name, &domain, text)?;
            }
            DomainAction::SetNotNull(not_null) => {
                if *not_null && !domain.not_null {
                    self.validate(id, &DomainCondition::NotNull)?;
                }
                domain.not_null = *not_null;
            }
            DomainAction::Add(constraint) => {
                self.add_domain_check(&found.name, &mut domain, constraint)?;
                if let Some(check) = domain.checks.last().filter(|_| !constraint.not_valid) {
                    self.validate(id, &DomainCondition::Check(id, check.expression.clone()))?;
                }
            }
            DomainAction::Drop { constraint, if_exists } => {
                let missing = no_constraint(&constraint.name, &found.name);
                let before = domain.checks.len();
                for check in domain.checks.iter().filter(|check| check.constraint.name == constraint.name) {
                    self.catalog.comments.remove(&check.constraint.id);
                }
                domain.checks.retain(|check| check.constraint.name != constraint.name);
                if before == domain.checks.len() {
                    if !if_exists {
                        return Err(missing);
                    }
                    self.notice("00000", format!("{missing}, skipping"));
                }
            }
            DomainAction::Validate(name) => {
                let mut checks = domain.checks.iter_mut();
                let check = checks.find(|check| check.constraint.name == name.name);
                let check = check.ok_or_else(|| no_constraint(&name.name, &found.name))?;
                if std::mem::take(&mut check.constraint.not_valid) {
                    let condition = DomainCondition::Check(id, check.expression.clone());
                    self.validate(id, &condition)?;
                }
            }
            DomainAction::Rename { old, new } => self.rename_check(id, &mut domain, old, new)?,
        }
        if let Some(found) = self.catalog.types.get_mut(&id) {
            Arc::make_mut(found).kind = TypeKind::Domain(domain);
        }
        Ok("ALTER DOMAIN")
    }

    fn rename_check(&self, id: Id, domain: &mut Domain, old: &Identifier, new: &Identifier) -> Result<(), PlanError> {
        let shown = self.shown_type(id);
        if !domain.checks.iter().any(|check| check.constraint.name == old.name) {
            let message = format!("constraint \"{}\" for domain {shown} does not exist", old.name);
            return Err(PlanError::new("42704", message));
        }
        if domain.checks.iter().any(|check| check.constraint.name == new.name) {
            let message = format!("constraint \"{}\" for domain {shown} already exists", new.name);
            return Err(PlanError::new("42710", message));
        }
        for check in domain.checks.iter_mut().filter(|check| check.constraint.name == old.name) {
            check.constraint.name.clone_from(&new.name);
        }
        Ok(())
    }

    /// A default as the catalog keeps it; none if it is NULL.
    fn domain_default(&self, name: &str, domain: &Domain, text: &SqlText) -> Result<Option<String>, PlanError> {
        let mut table = value_table(&domain.base);
        let column = Column { name: name.to_owned(), ..table.columns.remove(0) };
        self.check_expression(ExpressionPurpose::Default(&column), text, &table)?;
        Ok(Some(self.kept(&text.text)).filter(|text| !text.trim().eq_ignore_ascii_case("null")))
    }

    fn add_domain_check(
        &mut self,
        name: &str,
        domain: &mut Domain,
        constraint: &DomainConstraint,
    ) -> Result<(), PlanError> {
        let DomainConstraintKind::Check(text) = &constraint.kind else { return Ok(()) };
        let taken = |wanted: &str| domain.checks.iter().any(|check| check.constraint.name == wanted);
        let chosen = match &constraint.name {
            Some(given) if taken(&given.name) => {
                let message = format!("constraint \"{}\" for domain \"{name}\" already exists", given.name);
                return Err(PlanError::new("42710", message));
            }
            Some(given) => given.name.clone(),
            None => super::names::numbered(name, "", "check", taken),
        };
        let table = value_table(&domain.base);
        self.check_expression(ExpressionPurpose::Check, text, &table)?;
        let constraint = ConstraintName {
            name: chosen,
            deferrable: false,
            initially_deferred: false,
            id: self.next_id(),
            not_valid: constraint.not_valid,
        };
        domain.checks.push(Check { constraint, expression: self.kept(&text.text) });
        Ok(())
    }

    /// Has the values of all columns of a domain, and of those over it, pass something.
    fn validate(&mut self, id: Id, condition: &DomainCondition) -> Result<(), PlanError> {
        self.require_in_no_composite(id)?;
        for (table, column) in self.columns_below(id) {
            // Whoever writes it waits.
            self.edit(table);
            let condition = condition.clone();
            self.effects.push(DdlEffect::ValidateDomain(DomainValidation { table, column, condition }));
        }
        Ok(())
    }

    /// 0A000 while values that are stored have fields or elements of the domain.
    fn require_in_no_composite(&self, id: Id) -> Result<(), PlanError> {
        let elements = |domain: Id| of_elements(&self.catalog, domain);
        let of_it = |domain: Id| {
            let mut levels = chain(&self.catalog, elements(domain).unwrap_or(domain));
            levels.any(|(found, own)| found.id == id || elements(own.base.domain) == Some(id))
        };
        let in_elements = |domain: Id| {
            let over = chain(&self.catalog, domain).last().map_or(domain, |(_, lowest)| lowest.base.domain);
            elements(over).is_some_and(of_it)
        };
        let has_it = |part: &ScalarType| match part {
            ScalarType::Record(record) => (0..record.len()).any(|place| of_it(record.domain(place))),
            _ => false,
        };
        for table in self.catalog.stored_tables() {
            let mut columns = table.live_columns();
            let has_it = |own: &ColumnType| in_elements(own.domain) || own.scalar.any_part(has_it);
            if let Some((_, column)) = columns.find(|(_, column)| has_it(&column.column_type)) {
                let (domain, user) = (self.shown_type(id), format!("{}.{}", table.name, column.name));
                let message = format!("cannot alter type \"{domain}\" because column \"{user}\" uses it");
                return Err(PlanError::new("0A000", message).hint("Create another domain, and a type with it."));
            }
        }
        Ok(())
    }

    /// Has the values of a column pass all of its domain.
    pub(super) fn validate_domain(&mut self, table: RelationId, column: ColumnIndex) {
        let condition = DomainCondition::Whole;
        self.effects.push(DdlEffect::ValidateDomain(DomainValidation { table, column, condition }));
    }

    fn columns_below(&self, id: Id) -> Vec<(RelationId, ColumnIndex)> {
        let of_it =
            |column_type: &ColumnType| chain(&self.catalog, column_type.domain).any(|(found, _)| found.id == id);
        let of_table = |table: &Arc<crate::catalog::Table>| {
            let columns = table.live_columns().filter(|(_, column)| of_it(&column.column_type));
            columns.map(|(index, _)| (table.id, index)).collect::<Vec<_>>()
        };
        self.catalog.stored_tables().flat_map(of_table).collect()
    }

    /// Domains that are over a type themselves.
    pub(super) fn domains_over(&self, id: Id) -> Vec<Id> {
        let over = |found: &&Arc<CreatedType>| found.domain().is_some_and(|domain| is_of(&domain.base, id));
        self.catalog.types.values().filter(over).map(|found| found.id).collect()
    }

    /// A created type as messages name it.
    pub(super) fn shown_type(&self, id: Id) -> String {
        self.catalog.types.get(&id).map_or_else(String::new, |found| self.scope().spelled_type(found))
    }

    /// The domain of that name: 42809 if it is another type.
    pub(super) fn domain_named(&self, name: &ObjectName) -> Result<Id, PlanError> {
        let is_type = crate::resolve::types::builtin(&name.name).is_some()
            && name.schema.is_none()
            && self.scope().type_named(None, &name.name).is_none();
        if is_type {
            return Err(no_domain(name));
        }
        let id = self.type_named(name)?;
        match self.catalog.types[&id].domain() {
            Some(_) => Ok(id),
            None => Err(no_domain(name)),
        }
    }
}

fn no_domain(name: &ObjectName) -> PlanError {
    PlanError::new("42809", format!("\"{}\" is not a domain", name.dotted()))
}

fn no_constraint(constraint: &str, domain: &str) -> PlanError {
    PlanError::new("42704", format!("constraint \"{constraint}\" of domain \"{domain}\" does not exist"))
}
