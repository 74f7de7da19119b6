//! Triggers, as SQL writes them.

use crate::catalog::{Table, Trigger};
use crate::scalar::quote_identifier;
use crate::system::definition_text::DefinitionText;

/// A trigger, for a reader.
#[derive(Clone, Copy)]
pub(crate) struct TriggerText<'a> {
    pub(crate) table: &'a Table,
    pub(crate) trigger: &'a Trigger,
    pub(crate) shown: &'a DefinitionText,
}

impl TriggerText<'_> {
    /// `pg_get_triggerdef`: for dumps the table's name has its schema.
    pub(crate) fn definition(&self, pretty: bool) -> String {
        let scope = self.shown.scope();
        let table = match pretty {
            true => scope.spelled_table(self.table),
            false => scope.qualified(self.table.namespace, &self.table.name),
        };
        let name = quote_identifier(&self.trigger.name);
        format!("CREATE TRIGGER {name} AFTER INSERT ON {table} FOR EACH ROW {}", self.action())
    }

    /// `EXECUTE FUNCTION f('a')`
    pub(crate) fn action(&self) -> String {
        let literal = |argument: &String| format!("'{}'", argument.replace('\'', "''"));
        let arguments: Vec<String> = self.trigger.arguments.iter().map(literal).collect();
        format!("EXECUTE FUNCTION {}({})", self.shown.routine_name(self.trigger.function), arguments.join(", "))
    }
}
