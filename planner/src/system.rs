//! pg_catalog and information_schema as relations: which there are, their columns, and their rows.
//!
//! Read by `resolve` like any table; the engine asks for their rows, which are computed from the catalog
//! when a query reads them. Never stored, never written.

pub(crate) mod access_list;
pub(crate) mod asker;
pub(crate) mod builtin;
pub(crate) mod comments;
pub(crate) mod definition_text;
pub(crate) mod extension;
mod information_schema;
pub(crate) mod opclass;
mod pg_catalog;
mod pg_stat;
pub(crate) mod routine_text;
mod rows;
pub(crate) mod schemas;
pub(crate) mod trigger_text;
pub(crate) mod view_text;

pub use rows::{WantedValues, rows};

use crate::catalog::NamespaceId;
use crate::resolve::types::builtin;
use repr::{ColumnType, RelationId, ScalarType};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A catalog relation.
#[derive(Debug)]
pub struct SystemRelation {
    /// Its OID, as in PostgreSQL 15; always below `repr::id::FIRST_USER_ID`.
    pub id: RelationId,
    /// Its schema.
    pub schema: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<SystemColumn>,
    /// A view in PostgreSQL rather than a table.
    pub is_view: bool,
    /// Its first column, an int8, numbers its rows: ranges of it are read by themselves, from either end.
    pub is_numbered: bool,
}

/// A column of a catalog relation.
#[derive(Debug)]
pub struct SystemColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub scalar: ScalarType,
}

/// Relations of our own, whose rows are the engine's: (name, OID, columns).
const DOGWOOD: &[(&str, u32, &str)] = &[
    ("receipts", RECEIPTS.0, "number int8, receipt_id text, issued_at timestamptz, receipt text"),
    (
        "erasures",
        ERASURES.0,
        "number int8, receipt_number int8, receipt_id text, erased_at timestamptz, keys_at timestamptz, \
         arrangements_at timestamptz, readers_at timestamptz, log_at timestamptz, indexes_at timestamptz, \
         rows_at timestamptz, pending text, lag_us int8, bytes int8, caches_at timestamptz, memory_at timestamptz, \
         checkpoints_at timestamptz, backups_at timestamptz, backup_keys_until timestamptz",
    ),
    (
        "audit",
        AUDIT.0,
        "number int8, recorded_at timestamptz, operation text, tables _text, subjects _text, subject_count int8, \
         row_count int8, login text, role text, address text, dogwood_time int8, statement text, view_key text, \
         may_be_more bool, undone bool, purpose text",
    ),
    (
        "views",
        VIEWS.0,
        "name text, relation oid, kind text, stage text, message text, rows_read int8, updates int8, batches int8, \
         bytes int8, dataflow_bytes int8, failing_rows int8, subscriptions int8, groups int8, busy_us int8, \
         busiest_us int8, worker int8, lag_us int8, definition text",
    ),
    ("memory", MEMORY.0, "part text, within text, bytes int8, bytes_max int8"),
    (
        "operators",
        OPERATORS.0,
        "view text, relation oid, operator int8, name text, renders text, invocations int8, elapsed_us int8",
    ),
    (
        "arrangements",
        ARRANGEMENTS.0,
        "view text, relation oid, operator int8, name text, renders text, rows int8, batches int8, bytes int8",
    ),
    (
        "subscriptions",
        SUBSCRIPTIONS.0,
        "id int8, backend int4, view text, relation oid, since int8, queued_changes int8, queued_bytes int8, \
         delivered_changes int8, message text",
    ),
    (
        "dataflow",
        DATAFLOW.0,
        "id text, kind text, name text, relation oid, inputs _text, stage text, rows int8, bytes int8",
    ),
    ("holds", HOLDS.0, "hold text, table_schema text, table_name text, condition text, reason text, made_by text"),
    ("purposes", PURPOSES.0, "purpose text, granted_to _text, by_consent bool"),
    ("properties", PROPERTIES.0, "table_schema text, table_name text, column_name text, property text"),
    ("features", FEATURES.0, "feature text, articles text, means text, in_use bool"),
    (
        "inventory",
        INVENTORY.0,
        "table_schema text, table_name text, property text, value text, row_count int8, subject_count int8",
    ),
    (
        "processing_activities",
        PROCESSING_ACTIVITIES.0,
        "purpose text, declared bool, table_schema text, table_name text, data_subjects _text, columns _text, \
         categories _text, bases _text, origins _text, recipients _text, decisions _text, regions _text, \
         retention text, granted_to _text, readers _text, row_count int8, subject_count int8",
    ),
    ("data_map", DATA_MAP.0, "table_schema text, table_name text, tie text, leads_to text, path text, on_erasure text"),
    (
        "retention_schedule",
        RETENTION_SCHEDULE.0,
        "table_schema text, table_name text, rule text, retain text, basis text, action text, demanded bool, row_count int8, \
         without_end int8, ended int8, first_end timestamptz, last_end timestamptz",
    ),
    (
        "impact_assessment",
        IMPACT_ASSESSMENT.0,
        "input text, articles text, table_schema text, table_name text, detail text, row_count int8, \
         subject_count int8",
    ),
    ("snapshots", SNAPSHOTS.0, "backend int4, dogwood_time int8, commits_behind int8, age_us int8"),
    ("latency", LATENCY.0, "stage text, count int8, p50_us int8, p95_us int8, p99_us int8, max_us int8"),
];

/// `dogwood.views`: maintained views, materialized and automatic.
pub const VIEWS: RelationId = RelationId(15_003);
/// `dogwood.latency`: how long the stages of the commit pipeline take; microseconds, within a factor of two.
pub const LATENCY: RelationId = RelationId(15_004);
/// `dogwood.memory`: the process's memory by part, each within another, against the resident set.
pub const MEMORY: RelationId = RelationId(15_005);
/// `dogwood.operators`: what the dataflows of views are made of, and what each part took.
pub const OPERATORS: RelationId = RelationId(15_011);
/// `dogwood.arrangements`: what they hold.
pub const ARRANGEMENTS: RelationId = RelationId(15_012);
/// `dogwood.snapshots`: which sessions read from which snapshots.
pub const SNAPSHOTS: RelationId = RelationId(15_013);
/// `dogwood.subscriptions`: who watches which view, and what waits for them.
pub const SUBSCRIPTIONS: RelationId = RelationId(15_014);
/// `dogwood.dataflow`: the operators of the whole database, and what each reads.
pub const DATAFLOW: RelationId = RelationId(15_015);
/// `dogwood.holds`: what keeps which rows, whatever expires or is asked.
pub const HOLDS: RelationId = RelationId(15_040);
/// `dogwood.purposes`: for what data may be used, by whom.
pub const PURPOSES: RelationId = RelationId(15_016);
/// `dogwood.properties`: which columns say what of their rows to those who govern data.
pub const PROPERTIES: RelationId = RelationId(15_017);
/// `dogwood.features`: what there is for which articles of the GDPR.
pub const FEATURES: RelationId = RelationId(15_018);
/// `dogwood.inventory`: how much personal data there is, of how many people, by what columns say of it.
pub const INVENTORY: RelationId = RelationId(15_031);
/// `dogwood.processing_activities`: the record of processing, for each purpose and table.
pub const PROCESSING_ACTIVITIES: RelationId = RelationId(15_032);
/// `dogwood.data_map`: whose rows are where, and what erases them.
pub const DATA_MAP: RelationId = RelationId(15_033);
/// `dogwood.retention_schedule`: how long what is kept.
pub const RETENTION_SCHEDULE: RelationId = RelationId(15_034);
/// `dogwood.impact_assessment`: what an assessment of risks has to look at.
pub const IMPACT_ASSESSMENT: RelationId = RelationId(15_035);
/// `dogwood.receipts`: the signed receipts of all erasures.
pub const RECEIPTS: RelationId = RelationId(15_001);
/// `dogwood.erasures`: when the bytes of each erasure had left what.
pub const ERASURES: RelationId = RelationId(15_006);
/// `dogwood.audit`: the records of the audit log. Subjects appear as keyed hashes.
pub const AUDIT: RelationId = RelationId(15_002);

struct System {
    relations: Vec<SystemRelation>,
    by_name: BTreeMap<(&'static str, &'static str), usize>,
    by_id: BTreeMap<RelationId, usize>,
}

static SYSTEM: LazyLock<System> = LazyLock::new(|| {
    let schemas = [
        ("pg_catalog", pg_catalog::RELATIONS),
        ("pg_catalog", pg_stat::RELATIONS),
        ("information_schema", information_schema::RELATIONS),
        ("dogwood", DOGWOOD),
    ];
    let mut system = System { relations: Vec::new(), by_name: BTreeMap::new(), by_id: BTreeMap::new() };
    for (schema, relations) in schemas {
        for (name, id, columns) in relations {
            let columns = columns
                .split(", ")
                .filter_map(|column| column.split_once(' '))
                .map(|(name, type_name)| SystemColumn { name, scalar: builtin(type_name).unwrap_or(ScalarType::Text) })
                .collect();
            let index = system.relations.len();
            system.by_name.insert((schema, name), index);
            system.by_id.insert(RelationId(*id), index);
            // PostgreSQL numbers its views from 12000 on.
            system.relations.push(SystemRelation {
                id: RelationId(*id),
                schema,
                name,
                columns,
                is_view: *id >= 12_000,
                is_numbered: [AUDIT, RECEIPTS, ERASURES].contains(&RelationId(*id)),
            });
        }
    }
    system
});

/// `pg_hba_file_rules`: whom the server lets in.
pub const HBA_RULES: RelationId = RelationId(12_114);
/// `pg_ident_file_mappings`: what roles the names in certificates are.
pub const IDENTITIES: RelationId = RelationId(12_118);

/// Registers: what a data-protection officer keeps. Controllers and regulators read them.
const REGISTERS: [RelationId; 5] = [INVENTORY, PROCESSING_ACTIVITIES, DATA_MAP, RETENTION_SCHEDULE, IMPACT_ASSESSMENT];

/// Relations of the system that are not for everybody: controllers alone read them.
const SECRETS: [&str; 8] = [
    "pg_authid",
    "pg_shadow",
    "pg_statistic",
    "pg_statistic_ext_data",
    "pg_user_mapping",
    "pg_largeobject",
    "pg_hba_file_rules",
    "pg_ident_file_mappings",
];

impl SystemRelation {
    /// Whether controllers alone read it, or regulators too.
    pub fn is_secret(&self) -> bool {
        self.schema == "pg_catalog" && SECRETS.contains(&self.name) || self.is_for_auditors() || self.is_register()
    }

    /// Whether controllers and regulators alone read it.
    pub fn is_register(&self) -> bool {
        REGISTERS.contains(&self.id)
    }

    /// Whether regulators read it, and people's own logins what is about them.
    pub fn is_for_auditors(&self) -> bool {
        self.id == AUDIT
    }

    /// Whether people's own logins read what is about them.
    pub(crate) fn is_told_to_persons(&self) -> bool {
        [AUDIT, RECEIPTS].contains(&self.id)
    }

    /// The schema that it is in.
    pub(crate) fn namespace(&self) -> NamespaceId {
        let found = schemas::SYSTEM.iter().find(|(name, _)| *name == self.schema);
        NamespaceId(found.expect("every relation here is in a schema of the system's").1)
    }

    /// The columns' types.
    pub(crate) fn column_types(&self) -> Vec<ColumnType> {
        self.columns.iter().map(|column| ColumnType::nullable(column.scalar.clone())).collect()
    }
}

/// The catalog relation of that schema and name.
pub fn find(schema: &str, name: &str) -> Option<&'static SystemRelation> {
    SYSTEM.by_name.get(&(schema, name)).map(|&index| &SYSTEM.relations[index])
}

/// The catalog relation of that id.
pub fn find_by_id(id: RelationId) -> Option<&'static SystemRelation> {
    SYSTEM.by_id.get(&id).map(|&index| &SYSTEM.relations[index])
}

/// All of them, by schema and name.
pub fn relations() -> &'static [SystemRelation] {
    &SYSTEM.relations
}
