//! What a statement says, before any name is looked up: the parser's output, the resolver's input.
//!
//! Queries and DML stay sqlparser's trees; everything that Dogwood reads itself (DDL, annotations,
//! subject requests, session commands) has its own noun here. Names are folded and cut as PostgreSQL
//! does; nothing here knows the catalog.

use super::definition::{
    AlterDatabase, AlterStart, AlterTable, CreateDatabase, CreateIndex, CreateSchema, CreateTable, CreateTableAs,
    CreateView, DescriptionChange, DropDatabase, RoutineKind, RoutineName, RuleDefinition, SequenceOptions,
    ViewOptionsChange,
};
pub use super::explain_options::{ExplainFormat, ExplainOptions, Rung};
use super::request::{ExportFormat, Forget, Purge, RequestStatement, SubjectReference};
use super::rights::RightsStatement;
use super::type_definition::{AddEnumValue, AlterComposite, AlterDomain, CreateComposite, CreateDomain, CreateRange};
use super::type_definition::{
    AlterRoutine, Call, CreateRoutine, DoBlock, DropRoutines, OperatorName, OperatorStatement, TriggerStatement,
};
use super::utility::{Begin, Copy, DeclareCursor, Fetch, LockTable, ReindexNames, Set, Show, TransactionModes, Vacuum};
use crate::catalog::{NamespaceId, SearchPath};
use crate::error::PlanError;
use repr::{ColumnType, CommitTime};
use sqlparser::ast;
use std::sync::Arc;

/// One statement of a query string.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedStatement {
    /// What it says. Spans inside sqlparser's trees are relative to `text`.
    pub statement: Statement,
    /// Its own text, without the semicolon.
    pub text: String,
    /// Characters of the query string before `text`; added to positions of later errors.
    pub offset: u32,
    /// Names besides columns that it may use: of a body's variables, which are its parameters.
    pub variables: Option<Arc<Variables>>,
}

/// The names that a text in a body may use for its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables {
    /// The innermost last.
    pub list: Vec<Variable>,
    /// How many of them may be called `$1`, `$2`, …
    pub positional: usize,
    /// What a name means that is a column's, too.
    pub conflict: Conflict,
}

/// What a name means that is a variable's and a column's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conflict {
    /// Nothing: 42702
    #[default]
    Error,
    /// The variable.
    Variable,
    /// The column.
    Column,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// What may stand before its name: the label of its block, the name of its function.
    pub qualifier: Option<String>,
    /// Its name.
    pub name: String,
    /// Which of the parameters it is, from 0.
    pub place: usize,
    /// Its type; none of a record that was not assigned yet.
    pub column_type: Option<ColumnType>,
}

/// An identifier, folded to lower case unless it was quoted, cut to 63 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifier {
    /// The name.
    pub name: String,
    /// 1-based character position in the statement.
    pub position: u32,
}

/// A possibly qualified object name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// The database, if one was written before the schema.
    pub database: Option<String>,
    /// The schema, if one was written.
    pub schema: Option<String>,
    /// The object.
    pub name: String,
    /// 1-based character position in the statement.
    pub position: u32,
}

impl ObjectName {
    /// As it was written, without quotes.
    pub fn dotted(&self) -> String {
        let parts = [self.database.as_deref(), self.schema.as_deref(), Some(&*self.name)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(".")
    }

    /// 0A000 if it begins with another database.
    ///
    /// # Errors
    /// See above.
    pub fn require_own(&self, path: &SearchPath) -> Result<(), PlanError> {
        path.require_own(self.database.as_deref(), self.schema.as_deref().unwrap_or_default(), &self.name)
    }
}

/// An expression kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlText {
    /// The text, known to parse as an expression.
    pub text: String,
    /// 1-based character position of its first character in the statement.
    pub position: u32,
}

/// A type name.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// As sqlparser read it.
    pub data_type: ast::DataType,
    /// 1-based character position in the statement.
    pub position: u32,
}

/// RESTRICT (the default) or CASCADE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropBehavior {
    /// Refuse if something depends on the object.
    Restrict,
    /// Drop what depends on it too.
    Cascade,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES, TABLE, WITH, INSERT, UPDATE, DELETE, MERGE.
    Sql(Box<ast::Statement>),
    /// A PostgreSQL command that Dogwood knows by name only; to be refused with 0A000.
    Unsupported {
        /// Its first words, e.g. `CREATE FUNCTION`.
        command: String,
    },

    /// CREATE FUNCTION, PROCEDURE
    CreateRoutine(Box<CreateRoutine>),
    /// ALTER FUNCTION, PROCEDURE, ROUTINE
    AlterRoutine(Box<AlterRoutine>),
    /// DROP FUNCTION, PROCEDURE, ROUTINE, AGGREGATE
    DropRoutines(Box<DropRoutines>),
    /// What a write of pg_description comes to: nobody writes it so.
    Descriptions(Vec<DescriptionChange>),
    /// CREATE, ALTER and DROP OPERATOR
    Operator(Box<OperatorStatement>),
    /// CALL
    Call(Box<Call>),
    /// DO
    Do(Box<DoBlock>),
    /// CREATE TRIGGER, DROP TRIGGER
    Trigger(Box<TriggerStatement>),
    /// Roles and privileges.
    Rights(Box<RightsStatement>),
    /// CREATE EXTENSION
    CreateExtension {
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// Its name.
        name: Identifier,
        /// SCHEMA
        schema: Option<Identifier>,
        /// VERSION
        version: Option<String>,
    },
    /// DROP EXTENSION
    DropExtension {
        /// IF EXISTS
        if_exists: bool,
        /// The extensions.
        names: Vec<Identifier>,
    },
    /// CREATE SCHEMA
    CreateSchema(Box<CreateSchema>),
    /// CREATE DATABASE
    CreateDatabase(Box<CreateDatabase>),
    /// ALTER DATABASE
    AlterDatabase(AlterDatabase),
    /// ALTER DATABASE … SET and ALTER ROLE … SET
    AlterStart(Box<AlterStart>),
    /// DROP DATABASE
    DropDatabase(DropDatabase),
    /// ALTER … SET SCHEMA
    SetSchema {
        /// What kind of object the statement names.
        kind: ObjectKind,
        /// IF EXISTS
        if_exists: bool,
        /// The object.
        name: ObjectName,
        /// Where it goes.
        schema: Identifier,
    },
    /// CREATE [DATA_SUBJECT] TABLE
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE … AS query
    CreateTableAs(Box<CreateTableAs>),
    /// ALTER TABLE
    AlterTable(Box<AlterTable>),
    /// CREATE INDEX
    CreateIndex(Box<CreateIndex>),
    /// CREATE [MATERIALIZED] VIEW
    CreateView(Box<CreateView>),
    /// REFRESH MATERIALIZED VIEW: a maintained view is always fresh.
    RefreshView {
        /// The view.
        name: ObjectName,
        /// Not WITH NO DATA.
        with_data: bool,
    },
    /// ALTER INDEX | SEQUENCE | VIEW | TYPE | SCHEMA … RENAME TO
    Rename {
        /// What kind of object the statement names.
        kind: ObjectKind,
        /// IF EXISTS
        if_exists: bool,
        /// The object.
        name: ObjectName,
        /// Its new name.
        new_name: Identifier,
    },
    /// ALTER [MATERIALIZED] VIEW … RENAME [COLUMN] a TO b
    RenameViewColumn {
        /// MATERIALIZED
        materialized: bool,
        /// IF EXISTS
        if_exists: bool,
        /// The view.
        name: ObjectName,
        /// The column.
        column: Identifier,
        /// Its new name.
        new_name: Identifier,
    },
    /// ALTER MATERIALIZED VIEW … SET (max_lag = …), RESET (max_lag)
    SetMaxLag {
        /// IF EXISTS
        if_exists: bool,
        /// The view.
        name: ObjectName,
        /// In milliseconds.
        max_lag_ms: u64,
    },
    /// ALTER VIEW … SET (…), RESET (…)
    SetViewOptions {
        /// IF EXISTS
        if_exists: bool,
        /// The view.
        name: ObjectName,
        /// What becomes of its options.
        change: ViewOptionsChange,
    },
    /// ALTER … SET (…) and the like, on an object that must exist.
    AlterNothing {
        /// What kind of object the statement names.
        kind: ObjectKind,
        /// IF EXISTS
        if_exists: bool,
        /// The object.
        name: ObjectName,
    },
    /// DROP TABLE | VIEW | INDEX | SEQUENCE | TYPE | SCHEMA
    Drop {
        /// What kind of object.
        kind: ObjectKind,
        /// IF EXISTS
        if_exists: bool,
        /// The objects.
        names: Vec<ObjectName>,
        /// CONCURRENTLY
        concurrently: bool,
        /// CASCADE or RESTRICT.
        behavior: DropBehavior,
    },
    /// CREATE SEQUENCE
    CreateSequence {
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// TEMPORARY
        temporary: bool,
        /// Its name.
        name: ObjectName,
        /// Its options.
        options: SequenceOptions,
    },
    /// ALTER SEQUENCE … options
    AlterSequence {
        /// IF EXISTS
        if_exists: bool,
        /// The sequence.
        name: ObjectName,
        /// The options to change.
        options: SequenceOptions,
    },
    /// CREATE TYPE … AS ENUM
    CreateEnum {
        /// Its name.
        name: ObjectName,
        /// Its labels, in order.
        labels: Vec<String>,
    },
    /// CREATE TYPE … AS (…)
    CreateComposite(Box<CreateComposite>),
    /// CREATE TYPE … AS RANGE (…)
    CreateRange(Box<CreateRange>),
    /// ALTER TYPE … ADD, DROP, ALTER, RENAME ATTRIBUTE
    AlterComposite(Box<AlterComposite>),
    /// CREATE DOMAIN
    CreateDomain(Box<CreateDomain>),
    /// ALTER DOMAIN
    AlterDomain(Box<AlterDomain>),
    /// ALTER TYPE … ADD VALUE
    AddEnumValue(Box<AddEnumValue>),
    /// ALTER TYPE … RENAME VALUE
    RenameEnumValue {
        /// The type.
        name: ObjectName,
        /// The label.
        old: String,
        /// What it is called from now on.
        new: String,
    },
    /// TRUNCATE
    Truncate {
        /// The tables.
        tables: Vec<ObjectName>,
        /// RESTART IDENTITY
        restart_identity: bool,
        /// CASCADE or RESTRICT.
        behavior: DropBehavior,
    },
    /// COMMENT ON
    Comment {
        /// On what.
        object: LabelledObject,
        /// The text; NULL removes it.
        text: Option<String>,
    },
    /// SECURITY LABEL
    SecurityLabel {
        /// FOR provider.
        provider: Option<String>,
        /// On what.
        object: LabelledObject,
        /// The label; NULL removes it.
        label: Option<String>,
        /// 1-based character position of the label.
        position: u32,
    },

    /// GDPR GET table key [WITH AUDIT]
    GdprGet {
        /// Whose data.
        subject: SubjectReference,
        /// Whether it says who read them, too.
        audit: bool,
    },
    /// GDPR FORGET table key, perhaps with GRACE or IN
    GdprForget(Forget),
    /// What is done about people's requests.
    Request(RequestStatement),
    /// GDPR PURGE: what has expired is deleted, anonymized or handed over.
    GdprPurge(Purge),
    /// GDPR EXPORT table key [FORMAT json|csv] [WITH AUDIT]
    GdprExport {
        /// Whose data.
        subject: SubjectReference,
        /// The document's form.
        format: ExportFormat,
        /// Whether it says who read them, too.
        audit: bool,
    },
    /// EXPLAIN GDPR FORGET table key [IN …]
    ExplainGdprForget(Forget),
    /// EXPLAIN [(FORMAT …)] COMPLIANCE
    ExplainCompliance {
        /// Rows, or the graph.
        format: ComplianceFormat,
    },
    /// EXPLAIN [(FORMAT …)] DATAFLOW
    ExplainDataflow {
        /// Rows, or the graph.
        format: ComplianceFormat,
    },
    /// CTX START | COMMIT | ROLLBACK
    Ctx(CtxCommand),
    /// SUBSCRIBE (query) [WITH (…)]
    Subscribe(Subscribe),

    /// EXPLAIN of a statement.
    Explain {
        /// What to show.
        options: ExplainOptions,
        /// Of what.
        statement: Box<Statement>,
    },
    /// COPY
    Copy(Box<Copy>),
    /// DECLARE … CURSOR
    DeclareCursor(Box<DeclareCursor>),
    /// FETCH and MOVE
    Fetch(Fetch),
    /// CLOSE; `None` is ALL.
    Close(Option<String>),
    /// BEGIN, START TRANSACTION
    Begin(Begin),
    /// COMMIT, END
    Commit {
        /// AND CHAIN
        chain: bool,
    },
    /// ROLLBACK, ABORT
    Rollback {
        /// AND CHAIN
        chain: bool,
    },
    /// SAVEPOINT
    Savepoint(String),
    /// RELEASE [SAVEPOINT]
    ReleaseSavepoint(String),
    /// ROLLBACK TO [SAVEPOINT]
    RollbackToSavepoint(String),
    /// PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK PREPARED: always refused.
    TwoPhaseCommit,
    /// SET TRANSACTION
    SetTransaction {
        /// The modes.
        modes: TransactionModes,
        /// SET SESSION CHARACTERISTICS AS TRANSACTION: for later transactions.
        session: bool,
    },
    /// SET TRANSACTION SNAPSHOT: the name of an exported one.
    SetTransactionSnapshot(String),
    /// SET CONSTRAINTS
    SetConstraints {
        /// Names; `None` is ALL.
        names: Option<Vec<ObjectName>>,
        /// DEFERRED rather than IMMEDIATE.
        deferred: bool,
    },
    /// SET a setting.
    Set(Set),
    /// RESET; `None` is ALL.
    Reset(Option<String>),
    /// SHOW
    Show(Show),
    /// DISCARD
    Discard(DiscardTarget),
    /// PREPARE name (types) AS statement
    Prepare {
        /// The prepared statement's name.
        name: String,
        /// Declared parameter types.
        types: Vec<TypeName>,
        /// The statement.
        statement: Box<Statement>,
        /// The statement's own text; spans inside it are relative to the whole PREPARE.
        text: String,
    },
    /// EXECUTE name (arguments)
    Execute {
        /// The prepared statement's name.
        name: String,
        /// Its arguments.
        arguments: Vec<ast::Expr>,
    },
    /// DEALLOCATE; `None` is ALL.
    Deallocate(Option<String>),
    /// LOCK TABLE
    LockTable(LockTable),
    /// VACUUM
    Vacuum(Vacuum),
    /// ANALYZE
    Analyze(Vacuum),
    /// CHECKPOINT
    Checkpoint,
    /// REINDEX: nothing to do.
    Reindex {
        /// Why it runs in no transaction block: of what it is (`SCHEMA`, `DATABASE`, `SYSTEM`), or how (`CONCURRENTLY`).
        alone: Option<&'static str>,
        /// What must be there.
        names: ReindexNames,
    },
    /// CLUSTER: nothing to do.
    Cluster {
        /// Of all tables.
        all: bool,
    },
    /// LISTEN channel
    Listen(String),
    /// UNLISTEN; `None` is `*`.
    Unlisten(Option<String>),
    /// NOTIFY channel, payload
    Notify {
        /// The channel.
        channel: String,
        /// The payload.
        payload: String,
    },
}

impl Statement {
    /// Whether it makes something temporary by what it says.
    pub fn makes_temporary(&self, path: &SearchPath) -> bool {
        let by_name = |name: &ObjectName| match &name.schema {
            Some(schema) => schema.starts_with("pg_temp"),
            None => path.first() == Some(NamespaceId::PG_TEMP),
        };
        match self {
            Statement::CreateTable(create) => create.temporary || by_name(&create.name),
            Statement::CreateView(create) => create.temporary || by_name(&create.name),
            Statement::CreateSequence { temporary, name, .. } => *temporary || by_name(name),
            _ => false,
        }
    }

    /// The command, if it runs only where nothing else is of its transaction.
    pub fn runs_alone(&self) -> Option<&'static str> {
        match self {
            Statement::Vacuum(_) => Some("VACUUM"),
            Statement::CreateDatabase(_) => Some("CREATE DATABASE"),
            Statement::DropDatabase(_) => Some("DROP DATABASE"),
            Statement::Reindex { alone: Some("CONCURRENTLY"), .. } => Some("REINDEX CONCURRENTLY"),
            Statement::Reindex { alone: Some("SCHEMA"), .. } => Some("REINDEX SCHEMA"),
            Statement::Reindex { alone: Some("DATABASE"), .. } => Some("REINDEX DATABASE"),
            Statement::Reindex { alone: Some(_), .. } => Some("REINDEX SYSTEM"),
            Statement::Cluster { all: true } => Some("CLUSTER"),
            Statement::Discard(DiscardTarget::All) => Some("DISCARD ALL"),
            Statement::CreateIndex(create) if create.concurrently => Some("CREATE INDEX CONCURRENTLY"),
            Statement::Drop { concurrently: true, .. } => Some("DROP INDEX CONCURRENTLY"),
            _ => None,
        }
    }

    /// Whether it is a transaction statement: BEGIN, COMMIT, SAVEPOINT and their kind.
    pub fn ends_or_begins_transaction(&self) -> bool {
        matches!(
            self,
            Statement::Begin(_)
                | Statement::Commit { .. }
                | Statement::Rollback { .. }
                | Statement::Savepoint(_)
                | Statement::ReleaseSavepoint(_)
                | Statement::RollbackToSavepoint(_)
                | Statement::Ctx(_)
        )
    }
}

/// Kinds of objects that statements name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// TABLE
    Table,
    /// VIEW
    View,
    /// MATERIALIZED VIEW
    MaterializedView,
    /// INDEX
    Index,
    /// SEQUENCE
    Sequence,
    /// TYPE
    Type,
    /// DOMAIN
    Domain,
    /// SCHEMA
    Schema,
}

/// What COMMENT ON and SECURITY LABEL ON name.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelledObject {
    /// A table, view, index, sequence, type or schema.
    Object(ObjectKind, ObjectName),
    /// COLUMN table.column
    Column(ObjectName, Identifier),
    /// CONSTRAINT name ON table
    Constraint(Identifier, ObjectName),
    /// CONSTRAINT name ON DOMAIN domain
    DomainConstraint(Identifier, ObjectName),
    /// DATABASE name
    Database(String),
    /// EXTENSION name
    Extension(Identifier),
    /// FUNCTION, PROCEDURE, ROUTINE name(types)
    Routine(RoutineKind, RoutineName),
    /// OPERATOR symbol(left, right)
    Operator(Box<OperatorName>),
    /// ROLE name
    Role(Identifier),
    /// Anything else, by its kind: refused, except where nothing hangs on it.
    Other(String),
}

/// What EXPLAIN COMPLIANCE gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplianceFormat {
    /// Result rows.
    Text,
    /// The graph for Graphviz.
    Dot,
    /// The graph as JSON.
    Json,
}

/// CTX START | COMMIT | ROLLBACK: BEGIN, COMMIT and ROLLBACK by other names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CtxCommand {
    /// BEGIN
    Start,
    /// COMMIT
    Commit,
    /// ROLLBACK
    Rollback,
}

/// SUBSCRIBE [TO] (query) | relation [form] [WITH (snapshot, progress)] [AS OF time] [UP TO time]
#[derive(Clone, Debug, PartialEq)]
pub struct Subscribe {
    /// The query to follow.
    pub query: Box<ast::Query>,
    /// The query's text.
    pub text: String,
    /// From when to when.
    pub terms: SubscribeTerms,
    /// How changes are told.
    pub form: SubscribeForm,
}

/// From when to when a subscription tells changes, and what it says besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscribeTerms {
    /// Begins with the rows as they are.
    pub snapshot: bool,
    /// Says from time to time that nothing more will come up to a time.
    pub progress: bool,
    /// Goes on after this time, with the changes since.
    pub as_of: Option<CommitTime>,
    /// Ends before the changes of this time.
    pub up_to: Option<CommitTime>,
}

/// How a subscription tells the changes of one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubscribeForm {
    /// Row by row, with differences.
    Diffs,
    /// WITHIN TIMESTAMP ORDER BY: the same in this order.
    Ordered(Vec<SubscribeOrder>),
    /// ENVELOPE UPSERT (KEY (…)): what each key has now.
    Upsert(Vec<Identifier>),
    /// ENVELOPE DEBEZIUM (KEY (…)): what each key had and has.
    Debezium(Vec<Identifier>),
}

/// One column of WITHIN TIMESTAMP ORDER BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscribeOrder {
    /// A column of what is told.
    pub column: Identifier,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

/// DISCARD's targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardTarget {
    /// ALL
    All,
    /// PLANS
    Plans,
    /// SEQUENCES
    Sequences,
    /// TEMP
    Temp,
}

/// A rule on its own, as labels carry it.
pub type Rule = RuleDefinition;
