//! pg_trigger, and information_schema.triggers.

use super::information::number;
use super::{Rows, Source, flag, small, text, vector};
use crate::catalog::{Privilege, Privileges};
use crate::system::asker::Held;
use crate::system::definition_text::DefinitionText;
use crate::system::trigger_text::TriggerText;
use repr::Datum;

/// FOR EACH ROW and INSERT, in `tgtype`.
const ROW_AND_INSERT: usize = 1 + 4;

impl Source<'_> {
    pub(super) fn triggers(&self, rows: &mut Rows) {
        for (table, trigger) in self.catalog.triggers() {
            let ended = trigger.arguments.iter().flat_map(|argument| argument.bytes().chain([0]));
            rows.add(&[
                ("oid", Datum::Oid(trigger.id)),
                ("tgrelid", Datum::Oid(table.id.0)),
                ("tgparentid", Datum::Oid(0)),
                ("tgname", text(&trigger.name)),
                ("tgfoid", Datum::Oid(trigger.function)),
                ("tgtype", small(ROW_AND_INSERT)),
                ("tgenabled", text(if trigger.disabled { "D" } else { "O" })),
                ("tgisinternal", flag(false)),
                ("tgconstrrelid", Datum::Oid(0)),
                ("tgconstrindid", Datum::Oid(0)),
                ("tgconstraint", Datum::Oid(0)),
                ("tgdeferrable", flag(false)),
                ("tginitdeferred", flag(false)),
                ("tgnargs", small(trigger.arguments.len())),
                ("tgattr", vector(Vec::new())),
                ("tgargs", Datum::Bytea(ended.collect::<Vec<u8>>().into())),
            ]);
        }
    }

    /// Of tables that whoever asks owns, or with which they may do more than read.
    pub(super) fn information_triggers(&self, database: &str, rows: &mut Rows) {
        let (asker, shown) = (self.asker(), DefinitionText::new(self.environment));
        let beyond = [
            Privilege::Insert,
            Privilege::Update,
            Privilege::Delete,
            Privilege::Truncate,
            Privilege::References,
            Privilege::Trigger,
        ];
        let beyond = Held { privileges: Privileges::of(&beyond), grantable: Privileges::NONE };
        for (table, trigger) in self.catalog.triggers() {
            if !asker.owns(table.id.0) && !asker.on_table(table).has_any(beyond) {
                continue;
            }
            let place = table.triggers.iter().position(|known| known.id == trigger.id).unwrap_or_default();
            let schema = self.schema(table.namespace);
            rows.add(&[
                ("trigger_catalog", text(database)),
                ("trigger_schema", schema.clone()),
                ("trigger_name", text(&trigger.name)),
                ("event_manipulation", text("INSERT")),
                ("event_object_catalog", text(database)),
                ("event_object_schema", schema),
                ("event_object_table", text(&table.name)),
                ("action_order", number(place + 1)),
                ("action_statement", text(&TriggerText { table, trigger, shown: &shown }.action())),
                ("action_orientation", text("ROW")),
                ("action_timing", text("AFTER")),
            ]);
        }
    }
}
