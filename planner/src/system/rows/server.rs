//! What the server has without anyone creating it: schemas, the database, settings, functions; and what its sessions do.

use super::super::extension;
use super::super::schemas::{LANGUAGES, SYSTEM, TABLESPACES};
use super::{HEAP, OWNER, PG_CATALOG, PUBLIC, Rows, Source, array, flag, optional, text};
use crate::catalog::{DEFAULT_DATABASE, DatabaseId, IndexMethod, RoleId};
use crate::scalar::collation::{self, Provider};
use crate::scalar::func::connection_end;
use crate::scalar::{ListedCommand, ListedLockKey, ListedProgress};
use repr::datetime::zone::listed::{ListedZone, abbreviations, zones};
use repr::{Array, Datum, Interval, ScalarType};
use std::sync::Arc;

impl Source<'_> {
    pub(super) fn namespaces(&self, rows: &mut Rows) {
        let created = self.catalog.namespaces.iter().map(|(id, found)| (found.name.as_str(), id.0));
        for (name, id) in SYSTEM.into_iter().chain(created) {
            rows.add(&[
                ("oid", Datum::Oid(id)),
                ("nspname", text(name)),
                ("nspowner", self.owner(id)),
                ("nspacl", self.schema_acl(id)),
            ]);
        }
    }

    pub(super) fn extensions(&self, rows: &mut Rows) {
        let mut row = |oid: u32, name: &str, schema: u32, relocatable: bool, version: &str| {
            rows.add(&[
                ("oid", Datum::Oid(oid)),
                ("extname", text(name)),
                ("extowner", Datum::Oid(OWNER)),
                ("extnamespace", Datum::Oid(schema)),
                ("extrelocatable", flag(relocatable)),
                ("extversion", text(version)),
            ]);
        };
        for (oid, found) in extension::installed(self.catalog) {
            let is_public = found.schema == PUBLIC;
            row(oid, found.name, if is_public { self.public() } else { found.schema }, is_public, found.version);
        }
    }

    /// pg_available_extensions and pg_available_extension_versions: there is one version of each.
    pub(super) fn available_extensions(&self, rows: &mut Rows) {
        for found in extension::KNOWN {
            let installed = extension::id(self.catalog, found.name).is_some();
            let schema = (found.schema == PG_CATALOG).then_some("pg_catalog");
            rows.add(&[
                ("name", text(found.name)),
                ("default_version", text(found.version)),
                ("installed_version", optional(installed.then_some(found.version))),
                ("version", text(found.version)),
                ("installed", flag(installed)),
                ("superuser", flag(true)),
                ("trusted", flag(true)),
                ("relocatable", flag(found.schema == PUBLIC)),
                ("schema", optional(schema)),
                ("comment", text(found.comment)),
            ]);
        }
    }

    /// No client speaks GSSAPI.
    pub(super) fn gssapi(&self, rows: &mut Rows) {
        rows.add(&[
            ("pid", Datum::Int4(self.environment.backend_pid())),
            ("gss_authenticated", flag(false)),
            ("encrypted", flag(false)),
        ]);
    }

    pub(super) fn access_methods(&self, rows: &mut Rows) {
        let indexes = IndexMethod::ALL.map(|method| {
            let (id, handler) = method.oids();
            (id, method.name(), handler, "i")
        });
        for (id, name, handler, kind) in [(HEAP, "heap", 3, "t")].into_iter().chain(indexes) {
            rows.add(&[
                ("oid", Datum::Oid(id)),
                ("amname", text(name)),
                ("amhandler", Datum::Oid(handler)),
                ("amtype", text(kind)),
            ]);
        }
    }

    pub(super) fn collations(&self, rows: &mut Rows) {
        for (collation, known) in collation::all() {
            let (name, provider) = (&*known.name, known.provider);
            let locale = match provider {
                Provider::Icu(locale) => Some(locale),
                Provider::Database | Provider::CodePoints | Provider::OperatingSystem(_) => None,
            };
            let of_system = (provider.letter() == "c").then_some(if name == "ucs_basic" { "C" } else { name });
            rows.add(&[
                ("oid", Datum::Oid(collation.0)),
                ("collname", text(name)),
                ("collnamespace", Datum::Oid(PG_CATALOG)),
                ("collowner", Datum::Oid(OWNER)),
                ("collprovider", text(provider.letter())),
                ("collisdeterministic", flag(true)),
                (
                    "collencoding",
                    Datum::Int4(if provider == Provider::CodePoints && name.contains('.') { 6 } else { -1 }),
                ),
                ("collcollate", optional(of_system)),
                ("collctype", optional(of_system)),
                ("colliculocale", optional(locale)),
                ("collversion", optional(known.version)),
            ]);
        }
    }

    /// The first is called what this session has called it.
    pub(super) fn databases(&self, rows: &mut Rows) {
        for (id, name) in self.named_databases() {
            self.database(id.0, &name, rows);
        }
    }

    /// The databases and their names.
    pub(super) fn named_databases(&self) -> Vec<(DatabaseId, String)> {
        let own = self.environment.database();
        let is_first = self.environment.database_id() == DatabaseId::FIRST;
        // That name may have been given to another since.
        let is_called = is_first && self.catalog.database_by_name(&own).is_none();
        let first = (DatabaseId::FIRST, if is_called { own } else { DEFAULT_DATABASE[0].to_owned() });
        let created = self.catalog.databases.iter().map(|(id, found)| (*id, found.name.clone()));
        std::iter::once(first).chain(created).collect()
    }

    fn database(&self, id: u32, name: &str, rows: &mut Rows) {
        rows.add(&[
            ("oid", Datum::Oid(id)),
            ("datname", text(name)),
            ("datdba", self.owner(id)),
            ("encoding", Datum::Int4(6)),
            ("datlocprovider", text("c")),
            ("datallowconn", flag(true)),
            ("datconnlimit", Datum::Int4(-1)),
            ("dattablespace", Datum::Oid(1663)),
            ("datcollate", text("C")),
            ("datctype", text("C")),
            ("datacl", self.acl(id)),
        ]);
    }

    /// pg_timezone_names and pg_timezone_abbrevs, as zones are now.
    pub(super) fn time_zones(&self, rows: &mut Rows) {
        let now = self.environment.statement_timestamp();
        let listed: Vec<ListedZone> = match rows.relation.name {
            "pg_timezone_names" => zones(now).collect(),
            _ => abbreviations(now).collect(),
        };
        for zone in listed {
            let offset = Interval { months: 0, days: 0, micros: i64::from(zone.offset) * 1_000_000 };
            rows.add(&[
                ("name", text(&zone.name)),
                ("abbrev", text(&zone.abbreviation)),
                ("utc_offset", Datum::Interval(offset)),
                ("is_dst", flag(zone.is_summer)),
            ]);
        }
    }

    pub(super) fn tablespaces(&self, rows: &mut Rows) {
        for (name, id) in TABLESPACES {
            rows.add(&[("oid", Datum::Oid(id)), ("spcname", text(name)), ("spcowner", Datum::Oid(OWNER))]);
        }
    }

    pub(super) fn languages(&self, rows: &mut Rows) {
        for (name, id) in LANGUAGES {
            rows.add(&[
                ("oid", Datum::Oid(id)),
                ("lanname", text(name)),
                ("lanowner", Datum::Oid(OWNER)),
                ("lanispl", flag(name == "plpgsql")),
                ("lanpltrusted", flag(id != 12)),
            ]);
        }
    }

    pub(super) fn settings(&self, rows: &mut Rows) {
        for listed in self.environment.settings() {
            let (low, high) = listed.bounds.unzip();
            rows.add(&[
                ("name", text(listed.name)),
                ("setting", text(&listed.value)),
                ("unit", optional(listed.unit)),
                ("category", text(listed.category)),
                ("short_desc", text(listed.description)),
                ("extra_desc", optional(listed.further)),
                ("context", text(listed.context)),
                ("vartype", text(listed.kind)),
                ("source", text(listed.source)),
                ("min_val", optional(low.as_deref())),
                ("max_val", optional(high.as_deref())),
                (
                    "enumvals",
                    listed.words.map_or(Datum::Null, |words| array(words.iter().map(|word| text(word)).collect())),
                ),
                ("boot_val", text(&listed.default)),
                ("reset_val", text(&listed.reset)),
                ("pending_restart", flag(false)),
            ]);
        }
    }

    /// This session's. PostgreSQL's generic plans are those that are made without values, as all are here.
    pub(super) fn prepared_statements(&self, rows: &mut Rows) {
        let types = |types: &[ScalarType]| {
            let oids = types.iter().map(|scalar| Datum::Oid(scalar.oid())).collect();
            Datum::Array(Arc::new(Array::vector(oids)))
        };
        for listed in self.environment.prepared_statements() {
            rows.add(&[
                ("name", text(&listed.name)),
                ("statement", text(&listed.text)),
                ("prepare_time", Datum::Timestamptz(listed.made_at)),
                ("parameter_types", types(&listed.parameter_types)),
                ("result_types", listed.result_types.as_deref().map_or(Datum::Null, types)),
                ("from_sql", flag(listed.from_sql)),
                ("generic_plans", Datum::Int8(listed.executions)),
                ("custom_plans", Datum::Int8(0)),
            ]);
        }
    }

    /// All sessions. Of what others run the literals are left out: they may be of anyone. What a role runs that whoever asks
    /// has not the privileges of is not for them at all.
    pub(super) fn activity(&self, rows: &mut Rows) {
        let Ok(acts) = self.environment.acts() else { return };
        let time = |at: Option<i64>| at.map_or(Datum::Null, Datum::Timestamptz);
        let asker = self.asker();
        let sees_all = asker.has_privileges_of(RoleId::READ_ALL_STATS);
        for listed in acts.sessions() {
            let role = self.catalog.role_of_login(&listed.user);
            if self.is_persons() && role != self.actor.role {
                continue;
            }
            let mut row = vec![
                ("datid", Datum::Oid(listed.database_id.0)),
                ("datname", text(&listed.database)),
                ("pid", Datum::Int4(listed.backend)),
                ("usesysid", Datum::Oid(role.0)),
                ("usename", text(&listed.user)),
                ("application_name", text(&listed.application)),
            ];
            if !sees_all && !asker.has_privileges_of(role) {
                row.push(("query", text("<insufficient privilege>")));
                rows.add(&row);
                continue;
            }
            let (wait_kind, wait) = listed.waits.unzip();
            let client = listed.connection.client;
            row.extend([
                ("client_addr", connection_end(client)),
                ("client_port", client.map_or(Datum::Null, |client| Datum::Int4(i32::from(client.port())))),
                ("backend_start", Datum::Timestamptz(listed.began_at)),
                ("xact_start", time(listed.transaction_at)),
                ("query_start", time(listed.query_at)),
                ("state_change", Datum::Timestamptz(listed.changed_at)),
                ("wait_event_type", optional(wait_kind)),
                ("wait_event", optional(wait)),
                ("state", text(listed.state)),
                ("query", text(&listed.query)),
                ("backend_type", text("client backend")),
            ]);
            rows.add(&row);
        }
    }

    /// What every row of a long command has. Of one whose role whoever asks has not the privileges of, only that it is there.
    fn long_command(&self, listed: &ListedProgress) -> (Vec<(&'static str, Datum)>, bool) {
        let row = vec![
            ("pid", Datum::Int4(listed.backend)),
            ("datid", Datum::Oid(listed.database_id.0)),
            ("datname", text(&listed.database)),
        ];
        let (asker, role) = (self.asker(), self.catalog.role_of_login(&listed.user));
        let sees = asker.has_privileges_of(RoleId::READ_ALL_STATS) || asker.has_privileges_of(role);
        (row, sees)
    }

    /// How far long commands are.
    pub(super) fn progress(&self, name: &str, rows: &mut Rows) {
        match name {
            "pg_stat_progress_create_index" => self.index_progress(rows),
            "pg_stat_progress_copy" => self.copy_progress(rows),
            // Of what is not done here, or not so slowly.
            _ => {}
        }
    }

    /// Indexes that are filled. Rows are read in PostgreSQL's blocks, as far as the table stands in files.
    fn index_progress(&self, rows: &mut Rows) {
        const BLOCK_BYTES: i64 = 8 << 10;
        let Ok(acts) = self.environment.acts() else { return };
        for listed in acts.progress() {
            let ListedCommand::CreateIndex { index, compares, bytes_total } = listed.command else { continue };
            let (mut row, sees) = self.long_command(&listed);
            if sees {
                let phase =
                    if compares { "building index: sorting live tuples" } else { "building index: scanning table" };
                let (blocks, read) = (bytes_total / BLOCK_BYTES, listed.bytes / BLOCK_BYTES);
                // How many rows there are is known when all are read.
                let (total, done) = if compares { (listed.rows, blocks) } else { (0, read.min(blocks)) };
                row.extend([
                    ("relid", Datum::Oid(listed.relation)),
                    ("index_relid", Datum::Oid(index)),
                    ("command", text("CREATE INDEX")),
                    ("phase", text(phase)),
                    ("blocks_total", Datum::Int8(blocks)),
                    ("blocks_done", Datum::Int8(done)),
                    ("tuples_total", Datum::Int8(total)),
                    ("tuples_done", Datum::Int8(listed.rows)),
                ]);
                let unused =
                    ["lockers_total", "lockers_done", "current_locker_pid", "partitions_total", "partitions_done"];
                row.extend(unused.map(|column| (column, Datum::Int8(0))));
            }
            rows.add(&row);
        }
    }

    /// Rows that come in by COPY.
    fn copy_progress(&self, rows: &mut Rows) {
        let Ok(acts) = self.environment.acts() else { return };
        for listed in acts.progress() {
            let ListedCommand::CopyIn { excluded } = listed.command else { continue };
            let (mut row, sees) = self.long_command(&listed);
            if sees {
                row.extend([
                    ("relid", Datum::Oid(listed.relation)),
                    ("command", text("COPY FROM")),
                    ("type", text("PIPE")),
                    ("bytes_processed", Datum::Int8(listed.bytes)),
                    ("bytes_total", Datum::Int8(0)),
                    ("tuples_processed", Datum::Int8(listed.rows)),
                    ("tuples_excluded", Datum::Int8(excluded)),
                ]);
            }
            rows.add(&row);
        }
    }

    /// Tables, advisory locks, and what is waited for.
    pub(super) fn locks(&self, rows: &mut Rows) {
        let Ok(acts) = self.environment.acts() else { return };
        for listed in acts.locks() {
            let place = format!("{}/{}", listed.backend, listed.holder);
            let mut row = vec![
                ("virtualtransaction", text(&place)),
                ("pid", Datum::Int4(listed.backend)),
                ("mode", text(listed.mode)),
                ("granted", flag(listed.waits_since.is_none())),
                ("fastpath", flag(false)),
                ("waitstart", listed.waits_since.map_or(Datum::Null, Datum::Timestamptz)),
            ];
            match listed.key {
                ListedLockKey::Relation(id) => row.extend([
                    ("locktype", text("relation")),
                    ("database", Datum::Oid(listed.database.0)),
                    ("relation", Datum::Oid(id)),
                ]),
                ListedLockKey::Row(id) => row.extend([
                    ("locktype", text("tuple")),
                    ("database", Datum::Oid(listed.database.0)),
                    ("relation", Datum::Oid(id)),
                ]),
                ListedLockKey::Session => row.extend([("locktype", text("virtualxid")), ("virtualxid", text(&place))]),
                ListedLockKey::Advisory(key) => row.extend([
                    ("locktype", text("advisory")),
                    ("database", Datum::Oid(key.database.0)),
                    ("classid", Datum::Oid(key.class)),
                    ("objid", Datum::Oid(key.object)),
                    ("objsubid", Datum::Int2(key.form)),
                ]),
            }
            rows.add(&row);
        }
    }

    /// This session's.
    pub(super) fn cursors(&self, rows: &mut Rows) {
        let Ok(acts) = self.environment.acts() else { return };
        for listed in acts.cursors() {
            rows.add(&[
                ("name", text(&listed.name)),
                ("statement", text(&listed.text)),
                ("is_holdable", flag(listed.hold)),
                ("is_binary", flag(listed.binary)),
                ("is_scrollable", flag(listed.scroll)),
                ("creation_time", Datum::Timestamptz(listed.made_at)),
            ]);
        }
    }
}
