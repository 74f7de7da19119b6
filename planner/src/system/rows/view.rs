//! pg_tables, pg_views, pg_matviews, pg_indexes, pg_sequences.

use super::object::shown_indexes;
use super::{Rows, Source, flag, text};
use crate::catalog::{Privilege, Privileges};
use crate::system::asker::Held;
use crate::system::definition_text::DefinitionText;
use repr::Datum;

impl Source<'_> {
    pub(super) fn tables_view(&self, rows: &mut Rows) {
        for table in self.catalog.stored_tables() {
            rows.add(&[
                ("schemaname", self.schema(table.namespace)),
                ("tablename", text(&table.name)),
                ("tableowner", self.owner_name(table.id.0)),
                ("hasindexes", flag(shown_indexes(table).next().is_some())),
                ("hasrules", flag(false)),
                ("hastriggers", flag(!table.foreign_keys.is_empty() || !table.triggers.is_empty())),
                ("rowsecurity", flag(self.security(table.id).is_some_and(|found| found.enabled))),
            ]);
        }
        for relation in crate::system::relations().iter().filter(|relation| !relation.is_view) {
            rows.add(&[
                ("schemaname", text(relation.schema)),
                ("tablename", text(relation.name)),
                ("tableowner", self.owner_name(relation.id.0)),
                ("hasindexes", flag(false)),
                ("hasrules", flag(false)),
                ("hastriggers", flag(false)),
                ("rowsecurity", flag(false)),
            ]);
        }
    }

    pub(super) fn views(&self, rows: &mut Rows) {
        for (table, view) in self.catalog.views().filter(|(_, view)| !view.materialized) {
            rows.add(&[
                ("schemaname", self.schema(table.namespace)),
                ("viewname", text(&table.name)),
                ("viewowner", self.owner_name(table.id.0)),
                ("definition", self.view_definition(view)),
            ]);
        }
        for relation in crate::system::relations().iter().filter(|relation| relation.is_view) {
            rows.add(&[
                ("schemaname", text(relation.schema)),
                ("viewname", text(relation.name)),
                ("viewowner", self.owner_name(relation.id.0)),
            ]);
        }
    }

    pub(super) fn materialized_views(&self, rows: &mut Rows) {
        for (table, view) in self.catalog.views().filter(|(_, view)| view.materialized) {
            rows.add(&[
                ("schemaname", self.schema(table.namespace)),
                ("matviewname", text(&table.name)),
                ("matviewowner", self.owner_name(table.id.0)),
                ("hasindexes", flag(shown_indexes(table).next().is_some())),
                ("ispopulated", flag(true)),
                ("definition", self.view_definition(view)),
            ]);
        }
    }

    pub(super) fn indexes_view(&self, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for table in self.catalog.relations.values() {
            for index in shown_indexes(table) {
                rows.add(&[
                    ("schemaname", self.schema(table.namespace)),
                    ("tablename", text(&table.name)),
                    ("indexname", text(&index.name)),
                    ("indexdef", text(&shown.index(table, index, false))),
                ]);
            }
        }
    }

    pub(super) fn sequences_view(&self, rows: &mut Rows) {
        let asker = self.asker();
        let reads = Held { privileges: Privileges::of(&[Privilege::Select, Privilege::Usage]), ..Held::default() };
        for sequence in self.catalog.sequences.values() {
            let state = self.environment.sequence_state(sequence.id);
            rows.add(&[
                ("schemaname", self.schema(sequence.namespace)),
                ("sequencename", text(&sequence.name)),
                ("sequenceowner", self.owner_name(sequence.id.0)),
                ("data_type", Datum::Oid(sequence.data_type.oid())),
                ("start_value", Datum::Int8(sequence.start)),
                ("min_value", Datum::Int8(sequence.min_value)),
                ("max_value", Datum::Int8(sequence.max_value)),
                ("increment_by", Datum::Int8(sequence.increment)),
                ("cycle", flag(sequence.cycle)),
                ("cache_size", Datum::Int8(sequence.cache)),
                (
                    "last_value",
                    match state.ok().filter(|_| asker.on_sequence(sequence).has_any(reads)) {
                        Some((value, true)) => Datum::Int8(value),
                        Some((_, false)) | None => Datum::Null,
                    },
                ),
            ]);
        }
    }
}
