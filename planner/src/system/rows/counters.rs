//! pg_stat_…: what was done with tables, indexes and databases since the server began, and how clients are connected.
//!
//! Of a table that whoever asks may not read, or whose policies bind them, nothing is told; to a person's own login, of none. What
//! has no counterpart here, such as blocks of a shared buffer, is zero.

use super::object::shown_indexes;
use super::{Rows, Source, flag, optional, text};
use crate::catalog::own_tables::is_own;
use crate::catalog::{Privilege, Privileges, RoleId, Table};
use crate::statistics::{ReadUsage, TableUsage};
use crate::system::asker::Held;
use repr::{Datum, poll};

impl Source<'_> {
    /// pg_stat_… and pg_statio_….
    pub(super) fn statistics(&self, name: &str, rows: &mut Rows) {
        match name {
            "pg_stat_activity" => self.activity(rows),
            "pg_stat_ssl" => self.encryption(rows),
            "pg_stat_gssapi" => self.gssapi(rows),
            "pg_stat_database" | "pg_stat_database_conflicts" => self.database_counters(rows),
            "pg_stat_bgwriter" | "pg_stat_archiver" | "pg_stat_wal" => self.server_counters(rows),
            _ if name.starts_with("pg_stat_progress_") => self.progress(name, rows),
            _ if name.ends_with("_tables") => self.table_counters(rows),
            _ if name.ends_with("_indexes") => self.index_counters(rows),
            _ if name.ends_with("_sequences") => self.sequence_counters(rows),
            // Of what there is not: replicas, subscriptions, functions of one's own.
            _ => {}
        }
    }

    /// Whether whoever asks is told how a table is used.
    fn sees_use(&self, table: &Table) -> bool {
        let (asker, home) = (self.asker(), self.environment.database_id());
        let reads = Held { privileges: Privileges::of(&[Privilege::Select]), ..Held::default() };
        !self.is_persons()
            && self.catalog.binding_policies(asker.role, table.id, home).is_none()
            && (asker.has_privileges_of(RoleId::READ_ALL_STATS) || asker.has_any(table, reads))
    }

    /// The tables that have counters.
    fn counted_tables(&self) -> impl Iterator<Item = &Table> {
        let all = self.catalog.relations.values().map(|table| &**table);
        all.filter(|table| !is_own(table.id.0) && (table.is_stored() || table.is_maintained()))
    }

    /// pg_stat_all_tables and its kin. Of catalog relations nothing is counted, and of a transaction alone nothing either.
    fn table_counters(&self, rows: &mut Rows) {
        let name = rows.relation.name;
        if name.contains("_sys_") {
            return;
        }
        for table in self.counted_tables() {
            poll::step_or_unwind();
            let mut row = vec![
                ("relid", Datum::Oid(table.id.0)),
                ("schemaname", self.schema(table.namespace)),
                ("relname", text(&table.name)),
            ];
            if name.starts_with("pg_stat_") && !name.contains("_xact_") && self.sees_use(table) {
                row.extend(self.usage(table, self.environment.table_usage(table.id)));
            }
            row.extend(rows.counters());
            rows.add(&row);
        }
    }

    /// What was done with a table, by column.
    fn usage(&self, table: &Table, usage: TableUsage) -> Vec<(&'static str, Datum)> {
        let [inserted, updated, deleted] = usage.written;
        let known = self.environment.table_statistics();
        let known = known.tables.get(&table.id).map(|known| known.bare.rows as i64);
        let by_index = |count: i64| if table.indexes.is_empty() { Datum::Null } else { Datum::Int8(count) };
        vec![
            ("seq_scan", Datum::Int8(usage.whole.scans)),
            ("seq_tup_read", Datum::Int8(usage.whole.rows)),
            ("idx_scan", by_index(usage.by_index.scans)),
            ("idx_tup_fetch", by_index(usage.by_index.rows)),
            ("n_tup_ins", Datum::Int8(inserted)),
            ("n_tup_upd", Datum::Int8(updated)),
            ("n_tup_del", Datum::Int8(deleted)),
            ("n_live_tup", Datum::Int8(known.unwrap_or(inserted.saturating_sub(deleted)).max(0))),
        ]
    }

    /// pg_stat_all_indexes and its kin.
    fn index_counters(&self, rows: &mut Rows) {
        let name = rows.relation.name;
        if name.contains("_sys_") {
            return;
        }
        for table in self.counted_tables() {
            let sees = name.starts_with("pg_stat_") && self.sees_use(table);
            for index in shown_indexes(table) {
                poll::step_or_unwind();
                let mut row = vec![
                    ("relid", Datum::Oid(table.id.0)),
                    ("indexrelid", Datum::Oid(index.id.0)),
                    ("schemaname", self.schema(table.namespace)),
                    ("relname", text(&table.name)),
                    ("indexrelname", text(&index.name)),
                ];
                if sees {
                    let ReadUsage { scans, rows } = self.environment.index_usage(index.id);
                    row.push(("idx_scan", Datum::Int8(scans)));
                    row.push(("idx_tup_read", Datum::Int8(rows)));
                    row.push(("idx_tup_fetch", Datum::Int8(rows)));
                }
                row.extend(rows.counters());
                rows.add(&row);
            }
        }
    }

    /// pg_statio_all_sequences and its kin.
    fn sequence_counters(&self, rows: &mut Rows) {
        if rows.relation.name.contains("_sys_") {
            return;
        }
        for sequence in self.catalog.sequences.values() {
            let mut row = vec![
                ("relid", Datum::Oid(sequence.id.0)),
                ("schemaname", self.schema(sequence.namespace)),
                ("relname", text(&sequence.name)),
            ];
            row.extend(rows.counters());
            rows.add(&row);
        }
    }

    /// pg_stat_database and pg_stat_database_conflicts, of which there are none.
    fn database_counters(&self, rows: &mut Rows) {
        let sessions = self.environment.acts().map(|acts| acts.sessions()).unwrap_or_default();
        let since = self.environment.acts().map_or(Datum::Null, |acts| Datum::Timestamptz(acts.server_began_at()));
        for (id, name) in self.named_databases() {
            let mut row = vec![("datid", Datum::Oid(id.0)), ("datname", text(&name)), ("stats_reset", since.clone())];
            if rows.relation.name == "pg_stat_database" && !self.is_persons() {
                let there = sessions.iter().filter(|session| session.database_id == id).count();
                let usage = self.environment.database_usage(id);
                let tables = self.counted_tables().filter(|table| self.catalog.database_of(table.namespace) == id);
                let sum = tables.filter(|table| self.sees_use(table)).fold([0_i64; 5], |sum, table| {
                    let usage = self.environment.table_usage(table.id);
                    let [inserted, updated, deleted] = usage.written;
                    let more = [usage.whole.rows, usage.by_index.rows, inserted, updated, deleted];
                    std::array::from_fn(|place| sum[place].saturating_add(more[place]))
                });
                row.push(("numbackends", Datum::Int4(i32::try_from(there).unwrap_or(i32::MAX))));
                row.push(("xact_commit", Datum::Int8(usage.committed)));
                row.push(("xact_rollback", Datum::Int8(usage.rolled_back)));
                row.push(("sessions", Datum::Int8(usage.sessions)));
                let names = ["tup_returned", "tup_fetched", "tup_inserted", "tup_updated", "tup_deleted"];
                row.extend(names.into_iter().zip(sum.map(Datum::Int8)));
                let unmeasured =
                    ["blk_read_time", "blk_write_time", "session_time", "active_time", "idle_in_transaction_time"];
                row.extend(unmeasured.map(|column| (column, Datum::Float8(0.0))));
                // There are no checksums of PostgreSQL's pages.
                row.push(("checksum_failures", Datum::Null));
            }
            row.extend(rows.counters());
            rows.add(&row);
        }
    }

    /// pg_stat_bgwriter and pg_stat_archiver, which there are not; pg_stat_wal, of which nothing is counted.
    fn server_counters(&self, rows: &mut Rows) {
        let since = self.environment.acts().map_or(Datum::Null, |acts| Datum::Timestamptz(acts.server_began_at()));
        let mut row = vec![("stats_reset", since)];
        if rows.relation.name == "pg_stat_bgwriter" {
            row.extend(["checkpoint_write_time", "checkpoint_sync_time"].map(|column| (column, Datum::Float8(0.0))));
        }
        if rows.relation.name != "pg_stat_wal" {
            row.extend(rows.counters());
        }
        rows.add(&row);
    }

    /// pg_stat_ssl: how each session is encrypted. Who may not see that of another sees that it is there.
    fn encryption(&self, rows: &mut Rows) {
        let Ok(acts) = self.environment.acts() else { return };
        let asker = self.asker();
        for listed in acts.sessions() {
            let role = self.catalog.role_of_login(&listed.user);
            if self.is_persons() && role != self.actor.role {
                continue;
            }
            let mut row = vec![("pid", Datum::Int4(listed.backend))];
            if asker.has_privileges_of(RoleId::READ_ALL_STATS) || asker.has_privileges_of(role) {
                let tls = listed.connection.tls;
                row.push(("ssl", flag(tls.is_some())));
                row.push(("version", optional(tls.as_ref().map(|tls| tls.version))));
                row.push(("cipher", optional(tls.as_ref().map(|tls| &*tls.cipher))));
                row.push(("bits", tls.as_ref().map_or(Datum::Null, |tls| Datum::Int4(tls.bits))));
            }
            rows.add(&row);
        }
    }
}
