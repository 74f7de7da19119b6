//! pg_tables, pg_views, pg_matviews, pg_indexes, pg_sequences.

use super::object::shown_indexes;
use super::{Rows, Source, flag, text};
use crate::system::definition_text::DefinitionText;
use repr::Datum;

impl Source<'_> {
    pub(super) fn tables_view(&self, rows: &mut Rows) {
        for table in self.catalog.stored_tables() {
            rows.add(&[
                ("schemaname", self.schema(table.namespace)),
                ("tablename", text(&table.name)),
                ("tableowner", text(&self.environment.session_user())),
                ("hasindexes", flag(shown_indexes(table).next().is_some())),
                ("hasrules", flag(false)),
                ("hastriggers", flag(!table.foreign_keys.is_empty())),
                ("rowsecurity", flag(false)),
            ]);
        }
        for relation in crate::system::relations().iter().filter(|relation| !relation.is_view) {
            rows.add(&[
                ("schemaname", text(relation.schema)),
                ("tablename", text(relation.name)),
                ("tableowner", text(&self.environment.session_user())),
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
                ("viewowner", text(&self.environment.session_user())),
                ("definition", self.view_definition(view)),
            ]);
        }
        for relation in crate::system::relations().iter().filter(|relation| relation.is_view) {
            rows.add(&[
                ("schemaname", text(relation.schema)),
                ("viewname", text(relation.name)),
                ("viewowner", text(&self.environment.session_user())),
            ]);
        }
    }

    pub(super) fn materialized_views(&self, rows: &mut Rows) {
        for (table, view) in self.catalog.views().filter(|(_, view)| view.materialized) {
            rows.add(&[
                ("schemaname", self.schema(table.namespace)),
                ("matviewname", text(&table.name)),
                ("matviewowner", text(&self.environment.session_user())),
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

    /// pg_stat_user_tables and pg_statio_user_tables: as in PostgreSQL without `track_counts`.
    pub(super) fn table_counters(&self, rows: &mut Rows) {
        for table in self.catalog.relations.values().filter(|table| table.is_stored() || table.is_maintained()) {
            let mut row = vec![
                ("relid", Datum::Oid(table.id.0)),
                ("schemaname", self.schema(table.namespace)),
                ("relname", text(&table.name)),
            ];
            row.extend(rows.counters());
            rows.add(&row);
        }
    }

    /// pg_stat_user_indexes: the same.
    pub(super) fn index_counters(&self, rows: &mut Rows) {
        for table in self.catalog.relations.values() {
            for index in shown_indexes(table) {
                let mut row = vec![
                    ("relid", Datum::Oid(table.id.0)),
                    ("indexrelid", Datum::Oid(index.id.0)),
                    ("schemaname", self.schema(table.namespace)),
                    ("relname", text(&table.name)),
                    ("indexrelname", text(&index.name)),
                ];
                row.extend(rows.counters());
                rows.add(&row);
            }
        }
    }

    pub(super) fn sequences_view(&self, rows: &mut Rows) {
        for sequence in self.catalog.sequences.values() {
            rows.add(&[
                ("schemaname", self.schema(sequence.namespace)),
                ("sequencename", text(&sequence.name)),
                ("sequenceowner", text(&self.environment.session_user())),
                ("data_type", Datum::Oid(sequence.data_type.oid())),
                ("start_value", Datum::Int8(sequence.start)),
                ("min_value", Datum::Int8(sequence.min_value)),
                ("max_value", Datum::Int8(sequence.max_value)),
                ("increment_by", Datum::Int8(sequence.increment)),
                ("cycle", flag(sequence.cycle)),
                ("cache_size", Datum::Int8(sequence.cache)),
                (
                    "last_value",
                    match self.environment.sequence_state(sequence.id) {
                        Ok((value, true)) => Datum::Int8(value),
                        Ok((_, false)) | Err(_) => Datum::Null,
                    },
                ),
            ]);
        }
    }
}
