//! PL/pgSQL: what a body says, statement by statement.
//!
//! A station beside `parse`: bodies of functions and DO are read here, the SQL in them stays text, which `parse` reads when it is
//! about to run. Never sees the catalog. `engine::session::routines` carries it out.

mod block;
mod conditions;
mod control;
mod lexer;
mod raise;
mod source;
mod sql;

pub use conditions::{conditions_named, is_known_code};
pub use raise::{Raise, RaiseLevel, RaiseOption, code_of, filled};

pub use crate::parse::statement::Conflict;

use crate::error::PlanError;
use crate::parse::utility::FetchDirection;

/// A body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// What it does.
    pub block: Block,
    /// `#variable_conflict`: what a name means that is a variable's and a column's.
    pub conflict: Conflict,
}

/// Statements with names of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// `<<label>>`
    pub label: Option<String>,
    /// DECLARE
    pub declarations: Vec<Declaration>,
    /// BEGIN
    pub statements: Vec<NumberedStep>,
    /// EXCEPTION
    pub handlers: Vec<Handler>,
}

/// A statement, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedStep {
    /// The line of the body, from 1.
    pub number: u32,
    /// What stands there.
    pub statement: BodyStep,
}

/// EXCEPTION WHEN … THEN
#[derive(Clone, Debug, PartialEq)]
pub struct Handler {
    /// The SQLSTATEs, or their first two characters with three zeros; none are OTHERS.
    pub codes: Vec<String>,
    /// What is done.
    pub statements: Vec<NumberedStep>,
}

/// A name that a block declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The name.
    pub name: String,
    /// What it is.
    pub kind: Declared,
    /// The line of the body, from 1.
    pub line: u32,
}

/// What is declared.
#[derive(Clone, Debug, PartialEq)]
pub enum Declared {
    /// A variable.
    Variable {
        /// Its type.
        of: VariableType,
        /// CONSTANT
        constant: bool,
        /// NOT NULL
        not_null: bool,
        /// DEFAULT
        value: Option<Expression>,
    },
    /// `name CURSOR (parameters) FOR query`
    Cursor {
        /// Its parameters and their types.
        parameters: Vec<(String, VariableType)>,
        /// The query.
        query: Expression,
        /// SCROLL
        scroll: Option<bool>,
    },
    /// ALIAS FOR another name, or `$n`.
    Alias(Vec<String>),
}

/// The type of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum VariableType {
    /// As SQL writes it.
    Named(String),
    /// `record`
    Record,
    /// `name%TYPE`: of a variable or a column.
    OfName(Vec<String>),
    /// `table%ROWTYPE`
    RowOf(Vec<String>),
}

/// SQL text: an expression, a query, a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// The text, as it is given to the parser.
    pub text: String,
    /// Which one of the body it is: what is known of it is kept by that number.
    pub number: usize,
}

/// Where values go: a variable, or a field of one, by what is written between its points; with subscripts behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The name, and fields.
    pub path: Vec<String>,
    /// `[…]`
    pub subscripts: Vec<Expression>,
}

/// INTO [STRICT]
#[derive(Clone, Debug, PartialEq)]
pub struct Into {
    /// One record or row, or a variable for each column.
    pub targets: Vec<Target>,
    /// STRICT
    pub strict: bool,
}

/// A query: one that is written, or a text that is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum QuerySource {
    /// As it stands.
    Static(Expression),
    /// EXECUTE … USING
    Dynamic(Expression, Vec<Expression>),
}

/// WHEN … THEN, IF … THEN
pub type Branch = (Vec<Expression>, Vec<NumberedStep>);

/// A loop's label and what it does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loop {
    /// `<<label>>`
    pub label: Option<String>,
    /// What is repeated.
    pub statements: Vec<NumberedStep>,
}

/// FOR … IN low .. high
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// From.
    pub from: Expression,
    /// To.
    pub to: Expression,
    /// BY
    pub by: Option<Expression>,
    /// REVERSE
    pub reverse: bool,
}

/// What GET DIAGNOSTICS asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagnostic {
    /// ROW_COUNT
    RowCount,
    /// PG_CONTEXT
    Context,
    /// PG_ROUTINE_OID
    RoutineOid,
    /// RETURNED_SQLSTATE
    ReturnedCode,
    /// MESSAGE_TEXT
    Message,
    /// PG_EXCEPTION_DETAIL
    Detail,
    /// PG_EXCEPTION_HINT
    Hint,
    /// PG_EXCEPTION_CONTEXT
    ExceptionContext,
    /// COLUMN_NAME
    Column,
    /// CONSTRAINT_NAME
    Constraint,
    /// PG_DATATYPE_NAME
    DataType,
    /// TABLE_NAME
    Table,
    /// SCHEMA_NAME
    Schema,
}

/// A statement of the language.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyStep {
    /// BEGIN … END within another.
    Block(Box<Block>),
    /// `target := value`
    Assign(Target, Expression),
    /// IF
    If(Vec<Branch>, Vec<NumberedStep>),
    /// CASE; of an operand the conditions are values.
    Case {
        /// What is compared.
        operand: Option<Expression>,
        /// WHEN … THEN
        branches: Vec<Branch>,
        /// ELSE
        otherwise: Option<Vec<NumberedStep>>,
    },
    /// LOOP
    Loop(Loop),
    /// WHILE
    While(Expression, Loop),
    /// FOR over integers.
    ForIntegers(String, Steps, Loop),
    /// FOR over a query's rows.
    ForRows(Vec<Target>, QuerySource, Loop),
    /// FOR over a cursor's rows.
    ForCursor(String, (String, Vec<Argument>), Loop),
    /// FOREACH, with how many dimensions each slice has.
    ForEach(Vec<Target>, u32, Expression, Loop),
    /// EXIT and CONTINUE: of which loop, and when.
    Exit {
        /// CONTINUE
        continues: bool,
        /// The label.
        label: Option<String>,
        /// WHEN
        condition: Option<Expression>,
    },
    /// RETURN
    Return(Option<Expression>),
    /// RETURN NEXT
    ReturnNext(Option<Expression>),
    /// RETURN QUERY
    ReturnQuery(QuerySource),
    /// RAISE
    Raise(Raise),
    /// ASSERT
    Assert(Expression, Option<Expression>),
    /// A statement of SQL.
    Sql(Expression, Option<Into>),
    /// PERFORM, as a SELECT.
    Perform(Expression),
    /// CALL
    Call(Expression),
    /// EXECUTE
    Execute(Expression, Option<Into>, Vec<Expression>),
    /// GET [STACKED] DIAGNOSTICS
    GetDiagnostics {
        /// STACKED
        stacked: bool,
        /// What goes where.
        items: Vec<(Target, Diagnostic)>,
    },
    /// OPEN
    Open(String, Opened),
    /// FETCH, and MOVE, which has no targets.
    Fetch(String, Direction, Option<Vec<Target>>),
    /// CLOSE
    Close(String),
    /// NULL
    Null,
    /// COMMIT and ROLLBACK, which end transactions.
    EndTransaction(&'static str),
}

/// An argument of a cursor, perhaps by name.
pub type Argument = (Option<String>, Expression);

/// What a cursor is opened for.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// What it was declared with.
    Declared(Vec<Argument>),
    /// FOR a query; SCROLL.
    For(QuerySource, Option<bool>),
}

/// Where FETCH goes: so many rows by an expression, or as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Direction {
    /// As it is written.
    To(FetchDirection),
    /// ABSOLUTE
    Absolute(Expression),
    /// RELATIVE
    Relative(Expression),
    /// FORWARD
    Forward(Expression),
    /// BACKWARD
    Backward(Expression),
}

/// Reads a body.
///
/// # Errors
/// 42601 and the like, in PostgreSQL's words; 0A000 for what is not carried out here.
pub fn parse(text: &str) -> Result<Body, PlanError> {
    source::BodyReader::new(text)?.body()
}
