//! NOT VALID and VALIDATE CONSTRAINT: what a constraint says of rows that were there before it.

use super::DdlEffect;
use super::alter::no_constraint;
use super::annotate::edge_word;
use super::change::DefinitionChange;
use super::names::has_constraint;
use crate::error::PlanError;
use crate::parse::definition::{References, TableConstraint, TableConstraintKind};
use crate::parse::statement::Identifier;
use repr::{Id, RelationId};
use std::sync::Arc;

/// What a new constraint says of the rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    /// There are none.
    None,
    /// They keep it.
    Checked,
    /// NOT VALID: nothing.
    Unchecked,
}

impl DefinitionChange<'_> {
    /// VALIDATE CONSTRAINT: what is not valid is checked of all rows.
    pub(super) fn validate_constraint(&mut self, id: RelationId, name: &Identifier) -> Result<(), PlanError> {
        let table = Arc::clone(self.get(id));
        if let Some(key) = table.foreign_keys.iter().find(|key| key.constraint.name == name.name) {
            self.validate_foreign_key(id, key.constraint.id);
            return Ok(());
        }
        let Some(place) = table.checks.iter().position(|check| check.constraint.name == name.name) else {
            let error = match has_constraint(&table, &name.name) {
                false => no_constraint(&name.name, &table.name),
                true => PlanError::new(
                    "42809",
                    format!(
                        "constraint \"{}\" of relation \"{}\" is not a foreign key or check constraint",
                        name.name, table.name
                    ),
                ),
            };
            return Err(error.at(Some(name.position)));
        };
        let check = &table.checks[place];
        if check.constraint.not_valid {
            self.edit(id).checks[place].constraint.not_valid = false;
            let expression = check.expression.clone();
            self.effects.push(DdlEffect::ValidateCheck { table: id, name: name.name.clone(), expression });
        }
        Ok(())
    }

    /// Has a foreign key checked of all rows, if it was not.
    pub(super) fn validate_foreign_key(&mut self, id: RelationId, foreign_key: Id) {
        let mut keys = self.edit(id).foreign_keys.iter_mut();
        if let Some(key) = keys.find(|key| key.constraint.id == foreign_key && key.constraint.not_valid) {
            key.constraint.not_valid = false;
            self.effects.push(DdlEffect::ValidateForeignKey { table: id, foreign_key });
        }
    }
}

/// 0A000: an index cannot leave rows out that it was not asked to.
pub(super) fn refuse_keys_not_valid(constraint: &TableConstraint) -> Result<(), PlanError> {
    let what = match &constraint.kind {
        TableConstraintKind::PrimaryKey(_) | TableConstraintKind::UsingIndex(true, _) => "PRIMARY KEY",
        TableConstraintKind::Unique(_) | TableConstraintKind::UsingIndex(false, _) => "UNIQUE",
        TableConstraintKind::Check(_) | TableConstraintKind::ForeignKey(..) => return Ok(()),
    };
    if !constraint.not_valid {
        return Ok(());
    }
    Err(PlanError::new("0A000", format!("{what} constraints cannot be marked NOT VALID")))
}

/// 0A000: rows that lead to nobody would have no owner, and an erasure would not find them.
pub(super) fn refuse_edge_not_valid(references: &References, existing: Existing) -> Result<(), PlanError> {
    match references.annotation {
        Some(kind) if existing == Existing::Unchecked => {
            Err(PlanError::unsupported(format!("NOT VALID of {}", edge_word(kind)))
                .hint("Whose rows are whose must be known of all rows: add it without NOT VALID.")
                .at(Some(references.position)))
        }
        _ => Ok(()),
    }
}
