//! What CREATE TYPE … AS, CREATE DOMAIN, CREATE FUNCTION and their ALTERs say; CALL, DO and triggers.

use super::definition::{RoutineKind, RoutineName};
use super::rights::RoleName;
use super::statement::{DropBehavior, Identifier, ObjectName, SqlText, TypeName};
use super::utility::SetValue;
use crate::catalog::ParameterMode;
use sqlparser::ast;

/// CREATE TYPE … AS (…)
#[derive(Clone, Debug, PartialEq)]
pub struct CreateComposite {
    /// Its name.
    pub name: ObjectName,
    /// Its attributes, in order.
    pub attributes: Vec<AttributeDefinition>,
}

/// CREATE TYPE … AS RANGE (…)
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRange {
    /// Its name.
    pub name: ObjectName,
    /// SUBTYPE
    pub subtype: Option<TypeName>,
    /// SUBTYPE_OPCLASS
    pub operator_class: Option<ObjectName>,
    /// COLLATION
    pub collation: Option<ObjectName>,
    /// SUBTYPE_DIFF
    pub difference: Option<ObjectName>,
    /// MULTIRANGE_TYPE_NAME
    pub multirange: Option<ObjectName>,
}

/// ALTER TYPE … ADD VALUE
#[derive(Clone, Debug, PartialEq)]
pub struct AddEnumValue {
    /// The type.
    pub name: ObjectName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// The new label.
    pub label: String,
    /// BEFORE (true) or AFTER an existing label.
    pub neighbour: Option<(bool, String)>,
}

/// ALTER TYPE … ADD, DROP, ALTER, RENAME ATTRIBUTE
#[derive(Clone, Debug, PartialEq)]
pub struct AlterComposite {
    /// The type.
    pub name: ObjectName,
    /// What changes, in order.
    pub changes: Vec<AttributeChange>,
}

/// An attribute of a composite type.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeDefinition {
    /// Its name.
    pub name: Identifier,
    /// Its type.
    pub type_name: TypeName,
    /// COLLATE
    pub collation: Option<ObjectName>,
}

/// One change of ALTER TYPE.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeChange {
    /// ADD ATTRIBUTE
    Add(AttributeDefinition),
    /// DROP ATTRIBUTE
    Drop {
        /// The attribute.
        name: Identifier,
        /// IF EXISTS
        if_exists: bool,
    },
    /// ALTER ATTRIBUTE … TYPE
    Retype(AttributeDefinition),
    /// RENAME ATTRIBUTE
    Rename {
        /// The attribute.
        old: Identifier,
        /// What it is called from now on.
        new: Identifier,
    },
}

impl AttributeChange {
    /// The name that means nothing any more.
    pub fn removed(&self) -> Option<&str> {
        match self {
            AttributeChange::Drop { name, .. } | AttributeChange::Rename { old: name, .. } => Some(&name.name),
            AttributeChange::Add(_) | AttributeChange::Retype(_) => None,
        }
    }
}

/// CREATE DOMAIN
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomain {
    /// Its name.
    pub name: ObjectName,
    /// What it is over.
    pub type_name: TypeName,
    /// COLLATE
    pub collation: Option<ObjectName>,
    /// DEFAULT
    pub default: Option<SqlText>,
    /// Its constraints.
    pub constraints: Vec<DomainConstraint>,
}

/// A constraint of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainConstraint {
    /// CONSTRAINT name
    pub name: Option<Identifier>,
    /// What it asks.
    pub kind: DomainConstraintKind,
    /// NOT VALID
    pub not_valid: bool,
    /// 1-based character position.
    pub position: u32,
}

/// What a constraint of a domain asks.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainConstraintKind {
    /// NOT NULL
    NotNull,
    /// NULL
    Null,
    /// CHECK
    Check(SqlText),
}

/// ALTER DOMAIN
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDomain {
    /// The domain.
    pub name: ObjectName,
    /// What becomes of it.
    pub action: DomainAction,
}

/// What becomes of a domain.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainAction {
    /// SET DEFAULT, DROP DEFAULT
    SetDefault(Option<SqlText>),
    /// SET NOT NULL (true), DROP NOT NULL
    SetNotNull(bool),
    /// ADD
    Add(DomainConstraint),
    /// DROP CONSTRAINT
    Drop {
        /// The constraint.
        constraint: Identifier,
        /// IF EXISTS
        if_exists: bool,
    },
    /// VALIDATE CONSTRAINT
    Validate(Identifier),
    /// RENAME CONSTRAINT
    Rename {
        /// The constraint.
        old: Identifier,
        /// Its new name.
        new: Identifier,
    },
}

/// CREATE [OR REPLACE] FUNCTION | PROCEDURE
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRoutine {
    /// OR REPLACE
    pub replace: bool,
    /// PROCEDURE
    pub is_procedure: bool,
    /// Its name.
    pub name: ObjectName,
    /// Its parameters, columns of RETURNS TABLE among them.
    pub parameters: Vec<ParameterDefinition>,
    /// RETURNS
    pub returns: Option<Returns>,
    /// What is said behind that.
    pub options: RoutineOptions,
}

/// A parameter as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterDefinition {
    /// Which way it goes.
    pub mode: ParameterMode,
    /// Its name.
    pub name: Option<Identifier>,
    /// Its type.
    pub of: WrittenType,
    /// DEFAULT
    pub default: Option<SqlText>,
}

/// A type, or a column's.
#[derive(Clone, Debug, PartialEq)]
pub enum WrittenType {
    /// By its name.
    Named(TypeName),
    /// `table.column%TYPE`
    OfColumn(ObjectName, Identifier),
}

/// RETURNS
#[derive(Clone, Debug, PartialEq)]
pub struct Returns {
    /// The type; none of TABLE, whose columns are parameters.
    pub of: Option<WrittenType>,
    /// SETOF, or TABLE.
    pub is_set: bool,
}

/// What may stand behind the parameters, in any order; each as far as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoutineOptions {
    /// LANGUAGE
    pub language: Option<String>,
    /// AS
    pub text: Option<String>,
    /// IMMUTABLE, STABLE, VOLATILE, by their letters.
    pub volatility: Option<char>,
    /// STRICT
    pub strict: Option<bool>,
    /// LEAKPROOF
    pub leakproof: Option<bool>,
    /// PARALLEL, by its letter.
    pub parallel: Option<char>,
    /// COST and ROWS
    pub estimates: Estimates,
    /// SET; no value is RESET. No name is all.
    pub settings: Vec<(Option<String>, Option<Vec<SetValue>>)>,
}

/// COST and ROWS
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimates {
    /// COST
    pub cost: Option<String>,
    /// ROWS
    pub rows: Option<String>,
}

/// ALTER FUNCTION | PROCEDURE | ROUTINE
#[derive(Clone, Debug, PartialEq)]
pub struct AlterRoutine {
    /// Which of them.
    pub kind: RoutineKind,
    /// Which one.
    pub routine: RoutineName,
    /// What is changed.
    pub change: RoutineChange,
}

/// What is changed of a routine.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutineChange {
    /// RENAME TO
    Rename(Identifier),
    /// OWNER TO
    Owner(RoleName),
    /// SET SCHEMA
    Schema(Identifier),
    /// IMMUTABLE, STRICT, SET, …
    Options(Box<RoutineOptions>),
}

/// DROP FUNCTION | PROCEDURE | ROUTINE | AGGREGATE
#[derive(Clone, Debug, PartialEq)]
pub struct DropRoutines {
    /// Which of them.
    pub kind: RoutineKind,
    /// IF EXISTS
    pub if_exists: bool,
    /// What is dropped.
    pub routines: Vec<RoutineName>,
    /// CASCADE
    pub behavior: DropBehavior,
}

/// CALL procedure(…)
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The call.
    pub function: ast::Function,
    /// 1-based character position of the name.
    pub position: u32,
}

/// DO
#[derive(Clone, Debug, PartialEq)]
pub struct DoBlock {
    /// LANGUAGE
    pub language: Option<String>,
    /// The body.
    pub text: String,
}

/// A statement about a trigger.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerStatement {
    /// CREATE TRIGGER
    Create(CreateTrigger),
    /// DROP TRIGGER name ON table
    Drop {
        /// IF EXISTS
        if_exists: bool,
        /// The trigger.
        name: Identifier,
        /// Its table.
        table: ObjectName,
    },
}

/// CREATE [OR REPLACE] TRIGGER name AFTER INSERT ON table FOR EACH ROW EXECUTE FUNCTION function(arguments)
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    /// OR REPLACE
    pub or_replace: bool,
    /// Its name.
    pub name: Identifier,
    /// The table whose rows it is about.
    pub table: ObjectName,
    /// What it calls.
    pub function: ObjectName,
    /// What stands behind that.
    pub arguments: Vec<String>,
}

/// A statement about operators.
#[derive(Clone, Debug, PartialEq)]
pub enum OperatorStatement {
    /// CREATE OPERATOR
    Create(CreateOperator),
    /// ALTER OPERATOR
    Alter(AlterOperator),
    /// DROP OPERATOR
    Drop {
        /// IF EXISTS
        if_exists: bool,
        /// What is dropped.
        operators: Vec<OperatorName>,
        /// CASCADE
        behavior: DropBehavior,
    },
}

/// What stands left and right of an operator; none is NONE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorArguments {
    /// LEFTARG
    pub left: Option<TypeName>,
    /// RIGHTARG
    pub right: Option<TypeName>,
}

/// An operator by its symbol and its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorName {
    /// Its symbol, perhaps with a schema.
    pub name: ObjectName,
    /// Its operands.
    pub arguments: OperatorArguments,
}

/// CREATE OPERATOR
#[derive(Clone, Debug, PartialEq)]
pub struct CreateOperator {
    /// Its symbol.
    pub name: ObjectName,
    /// LEFTARG, RIGHTARG
    pub arguments: OperatorArguments,
    /// FUNCTION, or PROCEDURE
    pub function: Option<ObjectName>,
    /// COMMUTATOR
    pub commutator: Option<ObjectName>,
    /// NEGATOR
    pub negator: Option<ObjectName>,
    /// RESTRICT and JOIN
    pub estimators: OperatorEstimators,
    /// HASHES and MERGES
    pub joins: OperatorJoins,
    /// Attributes that PostgreSQL does not know.
    pub unknown: Vec<String>,
}

impl CreateOperator {
    /// One of which nothing is said yet.
    pub(super) fn named(name: ObjectName) -> CreateOperator {
        CreateOperator {
            name,
            arguments: OperatorArguments::default(),
            function: None,
            commutator: None,
            negator: None,
            estimators: OperatorEstimators::default(),
            joins: OperatorJoins::default(),
            unknown: Vec::new(),
        }
    }
}

/// RESTRICT and JOIN
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorEstimators {
    /// RESTRICT
    pub restrict: Option<ObjectName>,
    /// JOIN
    pub join: Option<ObjectName>,
}

/// HASHES and MERGES
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperatorJoins {
    /// HASHES
    pub hashes: bool,
    /// MERGES
    pub merges: bool,
}

/// ALTER OPERATOR
#[derive(Clone, Debug, PartialEq)]
pub struct AlterOperator {
    /// Which one.
    pub operator: OperatorName,
    /// What is changed.
    pub change: OperatorChange,
}

/// What is changed of an operator.
#[derive(Clone, Debug, PartialEq)]
pub enum OperatorChange {
    /// OWNER TO
    Owner(RoleName),
    /// SET SCHEMA
    Schema(Identifier),
    /// SET (RESTRICT = …, JOIN = …)
    Estimators(Vec<OperatorAttribute>),
}

/// One assignment of ALTER OPERATOR … SET.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorAttribute {
    /// `restrict`, `join`, or what PostgreSQL refuses.
    pub name: Identifier,
    /// The function; none is NONE.
    pub function: Option<ObjectName>,
}
