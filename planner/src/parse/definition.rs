//! The nouns of data definition: tables, columns, constraints, annotations, rules, indexes, sequences.
//!
//! Read by `parse::table` and friends, given meaning by `resolve::ddl`. Nothing here is checked
//! against the catalog.

use super::rights::{RoleName, RowSecurityChange};
use super::statement::{DropBehavior, Identifier, ObjectKind, ObjectName, SqlText, TypeName};
use super::utility::SetValue;
use crate::catalog::{DescriptionKey, EdgeKind, OnCommit, Property, ReferentialAction, RetentionEnd, RuleEvent};
use sqlparser::ast;

/// CREATE [TEMP] [DATA_SUBJECT] TABLE
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub name: ObjectName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// TEMPORARY
    pub temporary: bool,
    /// DATA_SUBJECT
    pub data_subject: bool,
    /// Its columns.
    pub columns: Vec<ColumnDefinition>,
    /// Its table constraints, annotated foreign keys included.
    pub constraints: Vec<TableConstraint>,
    /// Tables whose columns it takes over.
    pub likes: Vec<LikeClause>,
    /// ON GET and ON DEL.
    pub rules: Vec<RuleDefinition>,
    /// What the statement asks for that is always refused (INHERITS, PARTITION BY, …).
    pub refused: Option<String>,
    /// ON COMMIT
    pub on_commit: Option<OnCommit>,
    /// WITH (retain = …)
    pub retention: RetentionDefinition,
}

/// How long rows are kept, as far as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionDefinition {
    /// retain
    pub retain: Option<String>,
    /// retain_basis
    pub basis: Option<String>,
    /// then
    pub then: Option<RetentionEnd>,
}

/// LIKE table [INCLUDING | EXCLUDING …]
#[derive(Clone, Debug, PartialEq)]
pub struct LikeClause {
    /// The table or view.
    pub table: ObjectName,
    /// How many of the statement's own columns stand before it.
    pub before: usize,
    /// What besides names, types and NOT NULL is taken over.
    pub parts: LikeParts,
}

/// INCLUDING and EXCLUDING; storage, compression and statistics are nothing here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LikeParts {
    /// COMMENTS
    pub comments: bool,
    /// CONSTRAINTS: CHECKs.
    pub constraints: bool,
    /// DEFAULTS
    pub defaults: bool,
    /// GENERATED
    pub generated: bool,
    /// IDENTITY
    pub identity: bool,
    /// INDEXES: keys too.
    pub indexes: bool,
}

/// CREATE TABLE … AS query
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableAs {
    /// Its name.
    pub name: ObjectName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// TEMPORARY
    pub temporary: bool,
    /// Column names, if given.
    pub columns: Vec<Identifier>,
    /// The query.
    pub query: Box<ast::Query>,
    /// The query's text.
    pub text: String,
    /// WITH NO DATA is false.
    pub with_data: bool,
    /// ON COMMIT
    pub on_commit: Option<OnCommit>,
}

/// A column in CREATE TABLE or ADD COLUMN.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Identifier,
    /// Its type.
    pub type_name: TypeName,
    /// What stands behind the type.
    pub constraints: Vec<ColumnConstraint>,
}

/// A column constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnConstraint {
    /// CONSTRAINT name
    pub name: Option<Identifier>,
    /// What it says.
    pub kind: ColumnConstraintKind,
    /// DEFERRABLE and INITIALLY DEFERRED.
    pub timing: Timing,
}

/// Kinds of column constraints.
#[allow(clippy::large_enum_variant)] // A statement has few of them, and each is read once.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnConstraintKind {
    /// NOT NULL
    NotNull,
    /// NULL
    Null,
    /// DEFAULT expression
    Default(SqlText),
    /// GENERATED ALWAYS AS (expression) STORED
    Generated(SqlText),
    /// GENERATED ALWAYS | BY DEFAULT AS IDENTITY
    Identity {
        /// ALWAYS
        always: bool,
        /// (sequence options)
        options: SequenceOptions,
    },
    /// PRIMARY KEY
    PrimaryKey,
    /// UNIQUE
    Unique {
        /// NULLS NOT DISTINCT
        nulls_not_distinct: bool,
    },
    /// CHECK (expression)
    Check(SqlText),
    /// REFERENCES [ONLY], OWNED_BY, OWNS, ACCESSED_BY, ACCESSES
    References(References),
    /// PURPOSES and its kin
    Property(Property),
    /// COLLATE name
    Collate(ObjectName),
}

/// When a constraint is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// DEFERRABLE
    pub deferrable: bool,
    /// INITIALLY DEFERRED
    pub initially_deferred: bool,
}

/// The far end of a foreign key, annotated or plain.
#[derive(Clone, Debug, PartialEq)]
pub struct References {
    /// The annotation; `None` for plain REFERENCES.
    pub annotation: Option<EdgeKind>,
    /// REFERENCES ONLY
    pub only: bool,
    /// The target.
    pub table: ObjectName,
    /// The target's columns; empty for its primary key.
    pub columns: Vec<Identifier>,
    /// ON DELETE
    pub on_delete: ReferentialAction,
    /// ON UPDATE
    pub on_update: ReferentialAction,
    /// MATCH FULL
    pub match_full: bool,
    /// 1-based character position of the keyword.
    pub position: u32,
}

/// A table constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct TableConstraint {
    /// CONSTRAINT name
    pub name: Option<Identifier>,
    /// What it says.
    pub kind: TableConstraintKind,
    /// DEFERRABLE and INITIALLY DEFERRED.
    pub timing: Timing,
    /// NOT VALID
    pub not_valid: bool,
    /// INCLUDE (columns), of keys.
    pub include: Vec<Identifier>,
    /// NULLS NOT DISTINCT, of UNIQUE.
    pub nulls_not_distinct: bool,
    /// 1-based character position.
    pub position: u32,
}

/// Kinds of table constraints.
#[derive(Clone, Debug, PartialEq)]
pub enum TableConstraintKind {
    /// PRIMARY KEY (columns)
    PrimaryKey(Vec<Identifier>),
    /// UNIQUE (columns)
    Unique(Vec<Identifier>),
    /// PRIMARY KEY (true) or UNIQUE (false) USING INDEX name
    UsingIndex(bool, Identifier),
    /// CHECK (expression)
    Check(SqlText),
    /// FOREIGN KEY (columns) REFERENCES | annotation …
    ForeignKey(Vec<Identifier>, References),
}

/// ON GET|DEL edge ANON (columns) | DELETE_ROW
#[derive(Clone, Debug, PartialEq)]
pub struct RuleDefinition {
    /// GET or DEL.
    pub event: RuleEvent,
    /// The edge.
    pub edge: EdgeName,
    /// What it does; `None` in ALTER TABLE … DROP ON GET|DEL edge, which takes any.
    pub action: Option<RuleActionDefinition>,
    /// 1-based character position.
    pub position: u32,
}

/// What a rule names as its edge: `column`, `(column, column)`, or `table(column, …)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeName {
    /// The referencing table, if it is another one.
    pub table: Option<ObjectName>,
    /// The referencing columns.
    pub columns: Vec<Identifier>,
}

/// ANON (columns) or DELETE_ROW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleActionDefinition {
    /// ANON (columns)
    Anon(Vec<Identifier>),
    /// DELETE_ROW
    DeleteRow,
}

/// ALTER TABLE, and what ALTER [MATERIALIZED] VIEW has of it
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// Which of these it says.
    pub kind: ObjectKind,
    /// The table.
    pub name: ObjectName,
    /// IF EXISTS
    pub if_exists: bool,
    /// What to change, in order.
    pub actions: Vec<AlterTableAction>,
}

/// One change of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableAction {
    /// ADD [COLUMN] [IF NOT EXISTS]
    AddColumn {
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// The column.
        column: ColumnDefinition,
    },
    /// DROP [COLUMN] [IF EXISTS]
    DropColumn {
        /// IF EXISTS
        if_exists: bool,
        /// The column.
        column: Identifier,
        /// CASCADE or RESTRICT.
        behavior: DropBehavior,
    },
    /// ALTER [COLUMN] c [SET DATA] TYPE
    AlterType {
        /// The column.
        column: Identifier,
        /// Its new type.
        type_name: TypeName,
        /// COLLATE
        collation: Option<ObjectName>,
        /// USING expression
        using: Option<SqlText>,
    },
    /// SET DEFAULT
    SetDefault(Identifier, SqlText),
    /// DROP DEFAULT
    DropDefault(Identifier),
    /// SET NOT NULL
    SetNotNull(Identifier),
    /// DROP NOT NULL
    DropNotNull(Identifier),
    /// DROP EXPRESSION [IF EXISTS]
    DropExpression {
        /// The column.
        column: Identifier,
        /// IF EXISTS
        if_exists: bool,
    },
    /// ADD GENERATED … AS IDENTITY
    AddIdentity {
        /// The column.
        column: Identifier,
        /// ALWAYS
        always: bool,
        /// The sequence's options.
        options: SequenceOptions,
    },
    /// SET GENERATED …, SET sequence option, RESTART
    SetIdentity {
        /// The column.
        column: Identifier,
        /// ALWAYS or BY DEFAULT, if named.
        always: Option<bool>,
        /// The sequence's options.
        options: SequenceOptions,
    },
    /// DROP IDENTITY [IF EXISTS]
    DropIdentity {
        /// The column.
        column: Identifier,
        /// IF EXISTS
        if_exists: bool,
    },
    /// ADD constraint
    AddConstraint(TableConstraint),
    /// DROP CONSTRAINT
    DropConstraint {
        /// Its name.
        name: Identifier,
        /// IF EXISTS
        if_exists: bool,
        /// CASCADE or RESTRICT.
        behavior: DropBehavior,
    },
    /// VALIDATE CONSTRAINT
    ValidateConstraint(Identifier),
    /// ALTER CONSTRAINT name DEFERRABLE …
    AlterConstraint(Identifier, Timing),
    /// ALTER CONSTRAINT name SET annotation (Dogwood's, for composite keys); `None` is DROP.
    AnnotateConstraint(Identifier, Option<EdgeKind>, EdgeKind),
    /// RENAME COLUMN a TO b
    RenameColumn(Identifier, Identifier),
    /// RENAME CONSTRAINT a TO b
    RenameConstraint(Identifier, Identifier),
    /// RENAME TO b
    RenameTable(Identifier),
    /// ALTER COLUMN c SET OWNED_BY t(x) and the other annotations
    SetAnnotation(Identifier, References),
    /// ALTER COLUMN c DROP OWNED_BY and the other annotations
    DropAnnotation(Identifier, EdgeKind),
    /// ALTER COLUMN c SET PURPOSES and its kin
    SetProperty(Identifier, Property),
    /// ALTER COLUMN c DROP PURPOSES and its kin
    DropProperty(Identifier, Property),
    /// SET (retain = …)
    SetRetention(RetentionDefinition),
    /// RESET (retain), and what goes with it
    ResetRetention(Vec<String>),
    /// SET DATA_SUBJECT
    SetDataSubject,
    /// DROP DATA_SUBJECT
    DropDataSubject,
    /// ADD ON GET|DEL …
    AddRule(RuleDefinition),
    /// DROP ON GET|DEL …
    DropRule(RuleDefinition),
    /// Storage advice that means nothing here: SET STATISTICS, SET (…), …
    Nothing,
    /// OWNER TO
    OwnerTo(RoleName),
    /// ENABLE ROW LEVEL SECURITY and its kind
    RowSecurity(RowSecurityChange),
    /// ENABLE TRIGGER, DISABLE TRIGGER
    EnableTriggers {
        /// One of them; all, of ALL and USER.
        name: Option<Identifier>,
        /// Whether they are called.
        enabled: bool,
    },
    /// Understood and refused with 0A000.
    Refused(String),
    /// SET SCHEMA
    SetSchema(Identifier),
}

/// CREATE [OR REPLACE] [MATERIALIZED] VIEW
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// Its name.
    pub name: ObjectName,
    /// Column names, if given.
    pub columns: Vec<Identifier>,
    /// The query, known to parse as one.
    pub query: SqlText,
    /// MATERIALIZED
    pub materialized: bool,
    /// OR REPLACE
    pub or_replace: bool,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// TEMPORARY
    pub temporary: bool,
    /// What is said of its rows.
    pub upkeep: ViewUpkeep,
}

/// What CREATE VIEW says of how its rows are kept, or looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewUpkeep {
    /// Not WITH NO DATA: whoever makes it waits until it is filled.
    pub with_data: bool,
    /// WITH (max_lag = …), in milliseconds.
    pub max_lag_ms: u64,
    /// WITH (…) and WITH CHECK OPTION of a plain view.
    pub options: Vec<(String, String)>,
}

/// ALTER VIEW … SET (…), RESET (…)
#[derive(Clone, Debug, PartialEq)]
pub struct ViewOptionsChange {
    /// Names and values.
    pub set: Vec<(String, String)>,
    /// Names.
    pub reset: Vec<String>,
}

/// CREATE INDEX
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// Its name, if given.
    pub name: Option<Identifier>,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// UNIQUE
    pub unique: bool,
    /// CONCURRENTLY
    pub concurrently: bool,
    /// The table.
    pub table: ObjectName,
    /// USING method
    pub method: Option<String>,
    /// Its elements.
    pub elements: Vec<IndexElement>,
    /// INCLUDE (columns)
    pub include: Vec<Identifier>,
    /// NULLS NOT DISTINCT
    pub nulls_not_distinct: bool,
    /// WHERE predicate
    pub predicate: Option<SqlText>,
}

/// One element of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexElement {
    /// A column, or an expression.
    pub key: IndexKey,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST (true) or LAST, if written.
    pub nulls_first: Option<bool>,
    /// COLLATE
    pub collation: Option<ObjectName>,
    /// The operator class.
    pub class: Option<ObjectName>,
}

/// What an index element indexes.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexKey {
    /// A column.
    Column(Identifier),
    /// An expression.
    Expression(SqlText),
}

/// Sequence options, in any order; `None` is not mentioned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceOptions {
    /// AS type
    pub data_type: Option<TypeName>,
    /// START [WITH]
    pub start: Option<i64>,
    /// INCREMENT [BY]
    pub increment: Option<i64>,
    /// MINVALUE n; `Some(None)` is NO MINVALUE.
    pub min_value: Option<Option<i64>>,
    /// MAXVALUE n; `Some(None)` is NO MAXVALUE.
    pub max_value: Option<Option<i64>>,
    /// CYCLE, NO CYCLE
    pub cycle: Option<bool>,
    /// CACHE n: shown only, blocks are reserved as the engine sees fit.
    pub cache: Option<i64>,
    /// OWNED BY table.column; `Some(None)` is OWNED BY NONE.
    pub owned_by: Option<Option<(ObjectName, Identifier)>>,
    /// RESTART [WITH n]; `Some(None)` is to its start.
    pub restart: Option<Option<i64>>,
    /// SEQUENCE NAME name, of identity columns.
    pub name: Option<ObjectName>,
}

impl SequenceOptions {
    /// Whether one of them says how a sequence counts, and not only whose it is.
    pub fn change_counting(&self) -> bool {
        let owned_by = self.owned_by.clone();
        *self != SequenceOptions { owned_by, ..SequenceOptions::default() }
    }
}

/// CREATE SCHEMA
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// Its name; none if it is called as its owner.
    pub name: Option<Identifier>,
    /// AUTHORIZATION; none is who asks, too.
    pub owner: Option<Identifier>,
    /// What is made in it at once.
    pub elements: Vec<super::Statement>,
}

/// CREATE DATABASE
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    /// Its name.
    pub name: Identifier,
    /// What was said of it, each once.
    pub options: Vec<DatabaseOption>,
}

/// An option of CREATE DATABASE.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseOption {
    /// Its name, in small letters.
    pub name: String,
    /// What it is to be.
    pub value: String,
    /// Where it stands.
    pub position: u32,
}

/// ALTER DATABASE … RENAME TO
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabase {
    /// The database.
    pub name: Identifier,
    /// Its new name.
    pub new_name: Identifier,
}

/// ALTER DATABASE … SET, ALTER ROLE … SET, and RESET: what later sessions start with.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterStart {
    /// Whose sessions.
    pub role: StartRole,
    /// In which database; in all, if none.
    pub database: Option<Identifier>,
    /// What is changed.
    pub change: StartChange,
}

/// Whose sessions start with a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum StartRole {
    /// Everybody's.
    All,
    /// Of whoever says so.
    Current,
    /// Of that login.
    Named(Identifier),
}

/// A change of what sessions start with.
#[derive(Clone, Debug, PartialEq)]
pub enum StartChange {
    /// SET name TO values
    Set(String, Vec<SetValue>),
    /// SET name FROM CURRENT
    FromCurrent(String),
    /// RESET name, and SET name TO DEFAULT
    Reset(String),
    /// RESET ALL
    ResetAll,
}

/// DROP DATABASE
#[derive(Clone, Debug, PartialEq)]
pub struct DropDatabase {
    /// IF EXISTS
    pub if_exists: bool,
    /// The database.
    pub name: Identifier,
    /// WITH (FORCE)
    pub force: bool,
}

/// Kinds of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// FUNCTION
    Function,
    /// PROCEDURE
    Procedure,
    /// ROUTINE: either.
    Routine,
    /// AGGREGATE
    Aggregate,
}

/// A function, by its name and perhaps the types of its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineName {
    /// Its name.
    pub name: ObjectName,
    /// The types of what goes in; none if there are no parentheses.
    pub arguments: Option<Vec<TypeName>>,
}

/// What is done to pg_description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptionVerb {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

/// A row that goes, one that comes, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptionChange {
    /// What goes.
    pub old: Option<DescriptionKey>,
    /// What comes, with its text.
    pub new: Option<(DescriptionKey, String)>,
}
