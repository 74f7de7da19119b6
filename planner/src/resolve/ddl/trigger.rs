//! Triggers: made, enabled, dropped.

use super::change::DefinitionChange;
use crate::catalog::{ObjectClass, Privilege, ResultKind, Trigger};
use crate::error::PlanError;
use crate::parse::statement::{Identifier, ObjectName};
use crate::parse::type_definition::{CreateTrigger, TriggerStatement};
use repr::id::is_temporary;
use repr::{Id, RelationId};

impl DefinitionChange<'_> {
    pub(super) fn trigger(&mut self, statement: &TriggerStatement) -> Result<&'static str, PlanError> {
        match statement {
            TriggerStatement::Create(create) => self.create_trigger(create),
            TriggerStatement::Drop { if_exists, name, table } => self.drop_trigger(*if_exists, name, table),
        }
    }

    fn create_trigger(&mut self, create: &CreateTrigger) -> Result<&'static str, PlanError> {
        let table = self.triggered_table(&create.table)?;
        let function = self.trigger_function(&create.function)?;
        let name = &create.name.name;
        let known = self.get(table).triggers.iter().find(|known| known.name == *name).map(|known| known.id);
        if known.is_some() && !create.or_replace {
            let message = format!("trigger \"{name}\" for relation \"{}\" already exists", create.table.name);
            return Err(PlanError::new("42710", message));
        }
        let id = known.unwrap_or_else(|| self.next_id());
        let arguments = create.arguments.clone();
        let trigger = Trigger { id, name: name.clone(), function, arguments, disabled: false };
        let triggers = &mut self.edit(table).triggers;
        triggers.retain(|known| known.name != *name);
        triggers.push(trigger);
        triggers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok("CREATE TRIGGER")
    }

    /// The table that may have triggers: 42809 for a view, 42501 without TRIGGER.
    fn triggered_table(&self, name: &ObjectName) -> Result<RelationId, PlanError> {
        let id = self.relation(name).map_err(|error| PlanError { position: None, ..error })?;
        let table = self.get(id);
        match &table.view {
            None => {}
            Some(view) if view.materialized => {
                return Err(PlanError::new("42809", format!("relation \"{}\" cannot have triggers", table.name))
                    .detail("This operation is not supported for materialized views."));
            }
            Some(_) => {
                return Err(PlanError::new("42809", format!("\"{}\" is a view", table.name))
                    .detail("Views cannot have row-level BEFORE or AFTER triggers."));
            }
        }
        if is_temporary(id.0) {
            return Err(PlanError::unsupported("a trigger on a temporary table"));
        }
        if !self.holds(ObjectClass::Table, id.0, Privilege::Trigger) {
            return Err(PlanError::denied("table", &table.name));
        }
        Ok(id)
    }

    /// The function without parameters that a trigger calls.
    fn trigger_function(&self, name: &ObjectName) -> Result<Id, PlanError> {
        name.require_own(&self.path)?;
        let found = self.scope().routines(name.schema.as_deref(), &name.name);
        let Some(routine) =
            found.into_iter().find(|routine| !routine.is_procedure && routine.inputs().next().is_none())
        else {
            return Err(PlanError::new("42883", format!("function {}() does not exist", name.dotted())));
        };
        if !self.holds(ObjectClass::Function, routine.id, Privilege::Execute) {
            return Err(PlanError::denied("function", &routine.name));
        }
        if !matches!(routine.result.kind, ResultKind::Trigger) {
            return Err(PlanError::new("42P17", format!("function {} must return type trigger", name.dotted())));
        }
        Ok(routine.id)
    }

    fn drop_trigger(
        &mut self,
        if_exists: bool,
        name: &Identifier,
        table: &ObjectName,
    ) -> Result<&'static str, PlanError> {
        const TAG: &str = "DROP TRIGGER";
        let id = match self.relation(table) {
            Ok(id) => id,
            Err(error) if if_exists && matches!(error.code, "42P01" | "3F000") => {
                self.notice("00000", format!("{error}, skipping"));
                return Ok(TAG);
            }
            Err(error) => return Err(PlanError { position: None, ..error }),
        };
        let Some(trigger) = self.get(id).triggers.iter().find(|known| known.name == name.name).map(|known| known.id)
        else {
            if if_exists {
                let message =
                    format!("trigger \"{}\" for relation \"{}\" does not exist, skipping", name.name, table.name);
                self.notice("00000", message);
                return Ok(TAG);
            }
            return Err(no_trigger(name, &table.name));
        };
        self.require_owner(id.0, "relation", &table.name)?;
        self.remove_trigger(id, trigger);
        Ok(TAG)
    }

    pub(super) fn remove_trigger(&mut self, table: RelationId, trigger: Id) {
        self.edit(table).triggers.retain(|known| known.id != trigger);
    }

    /// ALTER TABLE … ENABLE TRIGGER, DISABLE TRIGGER
    pub(super) fn enable_triggers(
        &mut self,
        table: RelationId,
        name: Option<&Identifier>,
        enabled: bool,
    ) -> Result<(), PlanError> {
        let is_meant = |trigger: &Trigger| name.is_none_or(|name| trigger.name == name.name);
        if let Some(name) = name.filter(|_| !self.get(table).triggers.iter().any(is_meant)) {
            return Err(no_trigger(name, &self.get(table).name));
        }
        let triggers = &mut self.edit(table).triggers;
        triggers.iter_mut().filter(|trigger| is_meant(trigger)).for_each(|trigger| trigger.disabled = !enabled);
        Ok(())
    }
}

fn no_trigger(name: &Identifier, table: &str) -> PlanError {
    PlanError::new("42704", format!("trigger \"{}\" for table \"{table}\" does not exist", name.name))
}
