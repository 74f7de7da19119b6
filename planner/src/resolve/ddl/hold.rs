//! Holds: made and ended.

use super::change::DefinitionChange;
use super::{DdlEffect, ExpressionPurpose};
use crate::catalog::{Catalog, Hold, hold};
use crate::error::PlanError;
use crate::parse::rights::HoldStatement;
use crate::parse::statement::{Identifier, ObjectName, SqlText};
use repr::RelationId;

impl DefinitionChange<'_> {
    /// 42501 for who is no controller.
    pub(super) fn hold(&mut self, statement: &HoldStatement) -> Result<&'static str, PlanError> {
        if !self.catalog.is_controller(self.path.actor().role) {
            return Err(PlanError::new("42501", "permission denied to change holds")
                .hint("Only a controller says what must be kept."));
        }
        match statement {
            HoldStatement::Create { name, table, condition, reason } => {
                self.create_hold(name, table, condition.as_ref(), reason.as_deref())
            }
            HoldStatement::Drop { if_exists, names } => self.drop_holds(*if_exists, names),
        }
    }

    fn create_hold(
        &mut self,
        name: &Identifier,
        table: &ObjectName,
        condition: Option<&SqlText>,
        reason: Option<&str>,
    ) -> Result<&'static str, PlanError> {
        let id = self.table(table)?;
        let held = self.get(id).clone();
        if !held.is_stored() || repr::id::is_temporary(id.0) {
            let message = format!("\"{}\" is not a table whose rows are stored", held.name);
            return Err(PlanError::new("42809", message).at(Some(table.position)));
        }
        if held.holds.iter().any(|hold| hold.name == name.name) {
            let message = format!("hold \"{}\" on table \"{}\" already exists", name.name, held.name);
            return Err(PlanError::new("42710", message).at(Some(name.position)));
        }
        if let Some(condition) = condition {
            self.check_expression(ExpressionPurpose::Hold, condition, &held)?;
        }
        let hold = Hold {
            id: self.next_id(),
            name: name.name.clone(),
            expression: condition.map(|condition| self.kept(&condition.text)),
            reason: reason.map(str::to_owned),
            by: self.path.actor().role,
        };
        self.edit(id).holds.push(hold);
        Ok("CREATE HOLD")
    }

    fn drop_holds(&mut self, if_exists: bool, names: &[Identifier]) -> Result<&'static str, PlanError> {
        for name in names {
            let home = self.path.home();
            let of = |found: &&std::sync::Arc<crate::catalog::Table>| {
                self.catalog.database_of(found.namespace) == home
                    && found.holds.iter().any(|hold| hold.name == name.name)
            };
            let tables: Vec<RelationId> = self.catalog.relations.values().filter(of).map(|table| table.id).collect();
            if tables.is_empty() {
                let message = format!("hold \"{}\" does not exist", name.name);
                if !if_exists {
                    return Err(PlanError::new("42704", message).at(Some(name.position)));
                }
                self.notice("00000", format!("{message}, skipping"));
            }
            for table in tables {
                self.edit(table).holds.retain(|hold| hold.name != name.name);
            }
        }
        Ok("DROP HOLD")
    }

    /// DG006 where a definition would take rows away that a hold keeps.
    pub(super) fn refuse_held(&self, old: &Catalog) -> Result<(), PlanError> {
        for effect in &self.effects {
            match effect {
                DdlEffect::DropTable(table) => hold::refuse_held(&old.relations, *table, "drop")?,
                DdlEffect::Truncate(tables) => {
                    tables.iter().try_for_each(|table| hold::refuse_held(&old.relations, *table, "truncate"))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
