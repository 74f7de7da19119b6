//! What exists: tables, columns, constraints, indexes, sequences, enums, annotations and rules.
//!
//! An immutable value behind an `Arc`; DDL makes a new one with `version` + 1. It stands in the commit
//! order like data, so a plan is valid for exactly the version it was made against. Pure: no storage.

mod actor;
mod array_names;
pub(crate) mod composite;
mod created_type;
mod declaration;
mod domain;
mod edge_map;
mod enumeration;
mod foreign_key;
pub(crate) mod hold;
mod loose_comment;
mod namespace;
pub mod operator;
pub mod own_tables;
mod policy;
mod property;
mod purpose;
pub(crate) mod range;
mod retention;
mod rights;
mod role;
pub mod routine;
pub mod row_type;
mod search_path;
mod start_settings;
mod temporary;
mod trigger;

pub use actor::Actor;
pub(crate) use array_names::ArrayNames;
pub use composite::{Attribute, Composite};
pub use created_type::{CreatedType, TypeKind};
pub use declaration::{IndexColumn, IndexDeclaration, IndexMethod, IndexPredicate};
pub use domain::Domain;
pub use enumeration::{EnumLabel, Enumeration};
pub use foreign_key::{ForeignKey, ReferentialAction};
pub use hold::Hold;
pub use loose_comment::{DescriptionKey, LooseComment};
pub use namespace::{DEFAULT_DATABASE, Database, DatabaseId, Namespace, NamespaceId};
pub use operator::{Operator, OperatorHints};
pub use policy::{Policy, PolicyCommand, RowSecurity};
pub use property::Property;
pub use purpose::Purpose;
pub use range::RangeDefinition;
pub use retention::{Retention, RetentionEnd};
pub use rights::{Acl, AclItem, DefaultAcl, ObjectClass, Privilege, Privileges, REQUESTS, Revoked, Rights};
pub use role::{CONTROLLER, LoginTerms, Membership, PREDEFINED, Person, Role, RoleAttributes, RoleId, RoleKind};
pub use routine::{Language, Parameter, ParameterMode, ResultKind, Routine, RoutineBody, RoutineResult, RoutineTerms};
pub use search_path::{Class, Qualifier, Scope, SearchPath};
pub use start_settings::{StartScope, StartSettings};
pub use temporary::TemporaryObjects;
pub use trigger::Trigger;

use repr::{ColumnIndex, ColumnType, Datum, Id, IndexId, RelationId, SequenceId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Every object of all databases, at one version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Catalog {
    /// Grows by one with each DDL transaction.
    pub version: u64,
    /// The next object id to hand out (from `repr::id::FIRST_USER_ID`).
    pub next_id: Id,
    /// Tables and views by id.
    pub relations: BTreeMap<RelationId, Arc<Table>>,
    /// Sequences by id; within a schema they share the relations' names.
    pub sequences: BTreeMap<SequenceId, Arc<Sequence>>,
    /// Schemas by id, but for the system's.
    #[serde(default = "namespace::at_first")]
    pub namespaces: BTreeMap<NamespaceId, Namespace>,
    /// The databases that were created.
    #[serde(default)]
    pub databases: BTreeMap<DatabaseId, Database>,
    /// What names there are.
    #[serde(skip)]
    names: namespace::NamesInUse,
    /// Enumerations and domains by the OID of their `pg_type` row.
    #[serde(rename = "enums")]
    pub types: BTreeMap<Id, Arc<CreatedType>>,
    /// Annotations by label or comment that cannot be applied yet (target, key or edge is missing).
    /// Their tables are pending.
    pub pending_annotations: BTreeMap<RelationId, Vec<PendingAnnotation>>,
    /// Annotated foreign keys that no annotation clause in DDL declared; see `EdgeSource`.
    #[serde(with = "edge_map")]
    pub labelled_edges: BTreeMap<EdgeRef, EdgeSource>,
    /// COMMENT ON of objects other than tables and columns, by their OID.
    pub comments: BTreeMap<Id, String>,
    /// What CREATE EXTENSION made: the OIDs of their `pg_extension` rows, by name.
    #[serde(default)]
    pub extensions: BTreeMap<String, Id>,
    /// What sessions start with.
    #[serde(default)]
    pub start_settings: Vec<StartSettings>,
    /// The roles that were created.
    #[serde(default)]
    pub roles: BTreeMap<RoleId, Arc<Role>>,
    /// How the first role logs in, where it has another password than first start gave it.
    #[serde(default)]
    pub first_login: Option<LoginTerms>,
    /// Who owns what, and what was granted.
    #[serde(default)]
    pub rights: Arc<Rights>,
    /// Functions and procedures by OID.
    #[serde(default)]
    pub routines: BTreeMap<Id, Arc<Routine>>,
    /// Rows of pg_description that are no object's, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loose_comments: Vec<LooseComment>,
    /// Operators by OID.
    #[serde(default)]
    pub operators: BTreeMap<Id, Arc<Operator>>,
}

/// An annotation that waits for what it names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingAnnotation {
    /// The column that the label or comment is on; `None` for the table.
    pub column: Option<ColumnIndex>,
    /// The annotation in a label's spelling.
    pub text: String,
}

/// How an edge came to be, where it was not an annotation clause of CREATE or ALTER TABLE … ADD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EdgeSource {
    /// An annotation put on a foreign key that was declared by itself.
    Label,
    /// An annotation that came before its foreign key, and stands for it until it is declared.
    LabelOnly,
}

/// A stored table, or a view.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Its id.
    pub id: RelationId,
    /// Its name.
    pub name: String,
    /// The schema that it is in.
    #[serde(default = "NamespaceId::public")]
    pub namespace: NamespaceId,
    /// Physical columns, dropped ones included: stored rows are packed in this order and may be
    /// shorter, in which case `Column::missing` fills in.
    pub columns: Vec<Column>,
    /// The primary key, one of `indexes`.
    pub primary_key: Option<IndexId>,
    /// All equality and ordered indexes, those of keys, foreign keys and edges included.
    pub indexes: Vec<Index>,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// Foreign keys, annotated or plain. Annotated ones are the DOG's edges.
    pub foreign_keys: Vec<ForeignKey>,
    /// Declared `DATA_SUBJECT`.
    pub data_subject: bool,
    /// ON GET and ON DEL rules about this table's rows.
    pub rules: Vec<Rule>,
    /// What is called for each row that is inserted, in the order of names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
    /// COMMENT ON TABLE.
    pub comment: Option<String>,
    /// Grows with each change of the row format; part of each sealed row's additional data.
    pub schema_version: u32,
    /// What keeps rows of it from going.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Hold>,
    /// How long rows of it are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// Why INSERT must be refused for now (an annotation graph that is not complete yet).
    pub pending: Option<String>,
    /// What makes it a view; `None` for stored tables.
    #[serde(default)]
    pub view: Option<View>,
    /// Of a maintained view: for so many milliseconds its readers and the writers of its tables bear with its lag.
    #[serde(default)]
    pub max_lag_ms: u64,
    /// Of a temporary table: what COMMIT does to it.
    #[serde(skip)]
    pub on_commit: OnCommit,
}

/// ON COMMIT
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCommit {
    /// PRESERVE ROWS
    #[default]
    PreserveRows,
    /// DELETE ROWS
    DeleteRows,
    /// DROP
    Drop,
}

/// The definition of a view. Its columns are the table's; a maintained view's indexes are the columns that
/// its rows are arranged by in memory: those that were asked for, or else an automatic one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The query as SQL text.
    pub query: String,
    /// Kept up to date by a dataflow rather than expanded where it is used.
    pub materialized: bool,
    /// Tables and views that the query names, each with the physical columns that it reads.
    pub reads: BTreeMap<RelationId, Vec<ColumnIndex>>,
    /// Tables by whose primary key the query groups, so that their other columns need not be grouped.
    #[serde(default)]
    pub primary_keys: BTreeSet<RelationId>,
    /// WITH (…) and WITH CHECK OPTION of a plain view: names and values as `pg_class.reloptions` has them.
    #[serde(default)]
    pub options: Vec<(String, String)>,
}

/// WITH CHECK OPTION: a row that is written by the view must be there in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOption {
    /// By its own condition.
    Local,
    /// By those of the views below, too.
    Cascaded,
}

/// A column.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Its name; of a dropped column, PostgreSQL's `........pg.dropped.N........`.
    pub name: String,
    /// Type, modifier, and whether NULL may stand (as declared; erasure may blank NOT NULL columns).
    pub column_type: ColumnType,
    /// DEFAULT.
    pub default: Option<DefaultValue>,
    /// The value in rows stored before the column was added.
    #[serde(with = "packed_datum")]
    pub missing: Option<Datum>,
    /// Dropped: its values are never shown.
    pub dropped: bool,
    /// A key of indexes that is no column but an expression: computed as generated columns are, named as it is written, and
    /// never shown.
    #[serde(default)]
    pub hidden: bool,
    /// COMMENT ON COLUMN.
    pub comment: Option<String>,
    /// What it says of its row to those who govern data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<Property>,
}

/// Where a column's value comes from when INSERT names none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum DefaultValue {
    /// An expression, as SQL text (resolved when used; `pg_get_expr` shows it).
    Expr(String),
    /// serial: `nextval` of a sequence, may be overridden.
    Serial(SequenceId),
    /// GENERATED … AS IDENTITY; `always` refuses explicit values without OVERRIDING SYSTEM VALUE.
    Identity {
        /// The sequence behind it.
        sequence: SequenceId,
        /// ALWAYS rather than BY DEFAULT.
        always: bool,
    },
    /// GENERATED ALWAYS AS (expression) STORED.
    Generated(String),
}

/// An index over one table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Index {
    /// Its id.
    pub id: IndexId,
    /// Its name.
    pub name: String,
    /// The columns, in order.
    pub columns: Vec<ColumnIndex>,
    /// Refuses a second row with equal columns, none of them NULL.
    pub unique: bool,
    /// Made for a foreign key or edge, not by CREATE INDEX: hidden from `\d`.
    pub automatic: bool,
    /// The name of the UNIQUE or PRIMARY KEY constraint that it serves.
    pub constraint: Option<ConstraintName>,
    /// Of hashed keys: holds also rows of which a column, but not every column, is NULL. Indexes of old folders do not.
    #[serde(default)]
    pub nulls: bool,
    /// What else was declared.
    #[serde(default)]
    pub declared: IndexDeclaration,
}

/// A constraint's name and when it is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstraintName {
    /// The name; unique within the table.
    pub name: String,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub initially_deferred: bool,
    /// The constraint's own OID (`pg_constraint.oid`).
    pub id: Id,
    /// NOT VALID: rows that were there when it was added may break it.
    #[serde(default)]
    pub not_valid: bool,
}

/// CHECK (expression).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    /// Its name and OID.
    pub constraint: ConstraintName,
    /// The expression as SQL text over the table's columns.
    pub expression: String,
}

/// The four annotations on A(x) → B(y).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EdgeKind {
    /// Owners of the B row own the A row.
    OwnedBy,
    /// Owners of the A rows own the B row they point at.
    Owns,
    /// Owners and accessors of the B row may access the A row.
    AccessedBy,
    /// Owners and accessors of the A rows may access the B row.
    Accesses,
}

/// `ON GET|DEL edge ANON (columns) | DELETE_ROW`, about rows of the table that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// GET or DEL.
    pub event: RuleEvent,
    /// The edge it is attached to: the table that has the foreign key, and the key's constraint OID.
    pub edge: EdgeRef,
    /// What it does.
    pub action: RuleAction,
}

/// A DOG edge by its foreign key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EdgeRef {
    /// The referencing table.
    pub table: RelationId,
    /// `ForeignKey::constraint.id`.
    pub foreign_key: Id,
}

/// When a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuleEvent {
    /// GDPR GET.
    Get,
    /// GDPR FORGET.
    Del,
}

/// What a rule does to the row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuleAction {
    /// Hides (GET) or blanks (DEL) these columns.
    Anon(Vec<ColumnIndex>),
    /// Leaves the row out (GET) or erases it for everyone (DEL).
    DeleteRow,
}

/// A sequence. What it counts stands outside transactions, in storage; what it is, which counter it counts by among it, stands here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sequence {
    /// Its id.
    pub id: SequenceId,
    /// Its name.
    pub name: String,
    /// The schema that it is in.
    #[serde(default = "NamespaceId::public")]
    pub namespace: NamespaceId,
    /// smallint, integer or bigint bounds apply.
    pub data_type: repr::ScalarType,
    /// START WITH.
    pub start: i64,
    /// INCREMENT BY.
    pub increment: i64,
    /// MINVALUE.
    pub min_value: i64,
    /// MAXVALUE.
    pub max_value: i64,
    /// CYCLE.
    pub cycle: bool,
    /// CACHE: shown only, since values are reserved by blocks of our own.
    #[serde(default = "one")]
    pub cache: i64,
    /// OWNED BY: dropped with that column.
    pub owned_by: Option<(RelationId, ColumnIndex)>,
    /// Which counter it counts by: each making, restart and change has a new one, so that a rollback finds the one before as
    /// it was. 0 in folders that are older than this.
    #[serde(default)]
    pub generation: u64,
    /// The first value of this generation; none is START's.
    #[serde(default)]
    pub first: Option<i64>,
    /// The generation that this one goes on from, as long as it has counted nothing itself.
    #[serde(default)]
    pub continues: Option<u64>,
}

fn one() -> i64 {
    1
}

/// Empty, but for `public`.
impl Default for Catalog {
    fn default() -> Self {
        Catalog {
            version: 0,
            next_id: 0,
            relations: BTreeMap::new(),
            sequences: BTreeMap::new(),
            namespaces: namespace::at_first(),
            databases: BTreeMap::new(),
            names: namespace::NamesInUse::default(),
            types: BTreeMap::new(),
            pending_annotations: BTreeMap::new(),
            labelled_edges: BTreeMap::new(),
            comments: BTreeMap::new(),
            extensions: BTreeMap::new(),
            start_settings: Vec::new(),
            roles: BTreeMap::new(),
            first_login: None,
            rights: Arc::default(),
            routines: BTreeMap::new(),
            operators: BTreeMap::new(),
            loose_comments: Vec::new(),
        }
    }
}

/// Tables and views, and the tables and views that they read.
pub fn with_tables_below(catalog: &Catalog, relations: impl IntoIterator<Item = RelationId>) -> BTreeSet<RelationId> {
    let mut found = BTreeSet::new();
    let mut open: Vec<RelationId> = relations.into_iter().collect();
    while let Some(relation) = open.pop() {
        if found.insert(relation) {
            let view = catalog.table(relation).and_then(|table| table.view.as_ref());
            open.extend(view.iter().flat_map(|view| view.reads.keys()));
        }
    }
    found
}

impl Catalog {
    /// Empty, at that version and with that next id.
    pub fn empty(version: u64, next_id: Id) -> Catalog {
        Catalog { version, next_id, ..Catalog::default() }
    }

    /// The catalog as storage keeps it.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a catalog has no map keys but numbers and strings")
    }

    /// A stored catalog; `None` if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<Catalog> {
        let mut catalog: Catalog = serde_json::from_slice(bytes).ok()?;
        catalog.names = namespace::NamesInUse::of(&catalog);
        for (id, found) in &mut catalog.types {
            if let TypeKind::Enum(found) = &mut Arc::make_mut(found).kind {
                found.number_labels(*id);
            }
        }
        Some(catalog)
    }

    /// Everything that has stored rows.
    pub fn stored_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.relations.values().filter(|table| table.is_stored())
    }

    /// Views, plain and maintained.
    pub fn views(&self) -> impl Iterator<Item = (&Arc<Table>, &View)> {
        self.relations.values().filter_map(|table| Some((table, table.view.as_ref()?)))
    }

    /// The table or view of that id.
    pub fn table(&self, id: RelationId) -> Option<&Arc<Table>> {
        self.relations.get(&id)
    }
}

impl Index {
    /// Whether it is of that column, has it included, or asks for it.
    pub fn mentions(&self, column: ColumnIndex) -> bool {
        self.columns.contains(&column) || self.declared.include.contains(&column) || self.asks_for(column)
    }
    /// Whether a row's column says if the row stands in it.
    pub fn asks_for(&self, column: ColumnIndex) -> bool {
        self.declared.predicate.as_ref().is_some_and(|predicate| predicate.columns.contains(&column))
    }
    /// Whether all rows stand in it by the values of its columns.
    pub fn is_whole(&self) -> bool {
        self.declared.predicate.is_none() && !self.is_inverted()
    }
    /// Whether rows stand in it by what their values are made of: in memory only.
    pub fn is_inverted(&self) -> bool {
        self.declared.method == IndexMethod::Gin
    }
}

impl View {
    /// WITH CHECK OPTION.
    pub fn check_option(&self) -> Option<CheckOption> {
        match self.option("check_option")? {
            "local" => Some(CheckOption::Local),
            _ => Some(CheckOption::Cascaded),
        }
    }

    /// `security_invoker`: what it reads is read by the rights of whoever asks.
    pub fn is_of_invoker(&self) -> bool {
        self.option("security_invoker")
            .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "t" | "on" | "1" | "yes"))
    }

    fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The query as `pg_get_viewdef` shows it.
    pub fn definition(&self) -> String {
        format!("{};", self.query)
    }
}

impl Column {
    /// One without a value of its own.
    pub fn new(name: impl Into<String>, column_type: ColumnType) -> Column {
        Column {
            name: name.into(),
            column_type,
            default: None,
            missing: None,
            dropped: false,
            hidden: false,
            comment: None,
            property: None,
        }
    }
}

impl Table {
    /// All its constraints that have names.
    pub fn constraints(&self) -> impl Iterator<Item = &ConstraintName> {
        let indexes = self.indexes.iter().filter_map(|index| index.constraint.as_ref());
        let checks = self.checks.iter().map(|check| &check.constraint);
        indexes.chain(checks).chain(self.foreign_keys.iter().map(|key| &key.constraint))
    }

    /// One with nothing in it.
    pub fn new(id: RelationId, namespace: NamespaceId, name: impl Into<String>) -> Table {
        Table {
            id,
            name: name.into(),
            namespace,
            columns: Vec::new(),
            primary_key: None,
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            data_subject: false,
            rules: Vec::new(),
            comment: None,
            schema_version: 1,
            holds: Vec::new(),
            retention: None,
            triggers: Vec::new(),
            pending: None,
            view: None,
            max_lag_ms: 0,
            on_commit: OnCommit::default(),
        }
    }

    /// The index of that id.
    pub fn index(&self, id: IndexId) -> Option<&Index> {
        self.indexes.iter().find(|index| index.id == id)
    }
    /// The indexes in which every row stands.
    pub fn whole_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(|index| index.is_whole())
    }

    /// Whether rows of it are stored: it is no view.
    pub fn is_stored(&self) -> bool {
        self.view.is_none()
    }

    /// What it is, as messages say.
    pub fn kind(&self) -> &'static str {
        match &self.view {
            None => "table",
            Some(view) if view.materialized => "materialized view",
            Some(_) => "view",
        }
    }

    /// Whether it is a view that a dataflow maintains.
    pub fn is_maintained(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.materialized)
    }

    /// The columns of the primary key, if there is one.
    pub fn primary_key_columns(&self) -> Option<&[ColumnIndex]> {
        Some(&self.index(self.primary_key?)?.columns)
    }

    /// Columns that whoever names the table sees, with their physical positions.
    pub fn live_columns(&self) -> impl Iterator<Item = (ColumnIndex, &Column)> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.dropped && !column.hidden)
    }

    /// Columns that are computed from the others of their row, with how: generated ones, and keys of indexes on expressions.
    pub fn computed_columns(&self) -> impl Iterator<Item = (ColumnIndex, &Column, &str)> {
        self.columns.iter().enumerate().filter_map(|(index, column)| match &column.default {
            Some(DefaultValue::Generated(text)) if !column.dropped => Some((index, column, text.as_str())),
            _ => None,
        })
    }

    /// Of `computed_columns` the keys of indexes.
    pub fn expression_keys(&self) -> impl Iterator<Item = (ColumnIndex, &Column, &str)> {
        self.computed_columns().filter(|(_, column, _)| column.hidden)
    }

    /// A column goes: its values are never shown again, and its place stays.
    pub(crate) fn drop_column(&mut self, index: ColumnIndex) {
        self.schema_version += 1;
        let column = &mut self.columns[index];
        column.name = dropped_name(index);
        (column.dropped, column.hidden) = (true, false);
        (column.default, column.comment, column.property) = (None, None, None);
        column.column_type.nullable = true;
    }

    /// The live column of that name.
    pub fn column_by_name(&self, name: &str) -> Option<(ColumnIndex, &Column)> {
        self.live_columns().find(|(_, column)| column.name == name)
    }
}

/// What `pg_attribute` calls a column that nobody sees.
pub(crate) fn dropped_name(index: ColumnIndex) -> String {
    format!("........pg.dropped.{}........", index + 1)
}

/// A datum as the bytes of a row of one.
mod packed_datum {
    use repr::{Datum, Row};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub fn serialize<S: Serializer>(datum: &Option<Datum>, serializer: S) -> Result<S::Ok, S::Error> {
        datum.as_ref().map(|datum| Row::pack([datum]).bytes().to_vec()).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Datum>, D::Error> {
        let bytes: Option<Vec<u8>> = Option::deserialize(deserializer)?;
        bytes
            .map(|bytes| {
                let row = Row::validate(bytes.into_boxed_slice()).map_err(serde::de::Error::custom)?;
                row.unpack().pop().ok_or_else(|| serde::de::Error::custom("an empty row"))
            })
            .transpose()
    }
}
