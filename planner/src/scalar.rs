//! Typed scalar expressions, shared by every rung of the planner; and how they are evaluated.
//!
//! `ScalarExpr<C>` is generic over what a column reference is: `HirColumn` (levels, subqueries) while
//! resolving, a plain position from lowering on. All casts and overloads are explicit here: nothing is
//! looked up by name once an expression is resolved.

pub mod aggregate;
pub mod cast;
pub(crate) mod collation;
pub(crate) mod domain;
pub mod env;
pub mod eval;
pub mod func;
pub(crate) mod implication;
pub mod inverted;
pub mod registry;
pub mod table_func;
pub mod window;

pub use aggregate::Aggregate;
pub use env::session_acts::{
    AdvisoryKey, AdvisoryLock, AdvisoryScope, ListedCommand, ListedConnection, ListedCursor, ListedLock, ListedLockKey,
    ListedProgress, ListedSession, ListedTls, SessionActs,
};
pub use env::{AuditQuestion, Environment, EvalContext, ListedSetting, ListedStatement};
pub use func::{Comparison, Function, FunctionKind, Volatility, quote_identifier};
pub use table_func::{TableFunction, TableRows};
pub use window::WindowFunction;

use crate::names::Label;
use repr::{ColumnType, Datum, ScalarType, ValueError};

/// What an evaluation gives: a value, or why its row has none.
pub(crate) type Answer = Result<Datum, ValueError>;

/// An expression over one input row.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarExpr<C = usize> {
    /// A column.
    Column(C),
    /// A constant.
    Literal(Datum, ColumnType),
    /// `$n`, from 0.
    Param(usize, ScalarType),
    /// A function or operator, overload already chosen, arguments already cast.
    Call {
        /// The implementation.
        function: &'static Function,
        /// Its arguments.
        args: Vec<ScalarExpr<C>>,
        /// The result type (of polymorphic functions too).
        result: ScalarType,
    },
    /// Three-valued AND; short-circuits on false.
    And(Vec<ScalarExpr<C>>),
    /// Three-valued OR; short-circuits on true.
    Or(Vec<ScalarExpr<C>>),
    /// CASE WHEN … THEN … ELSE … END; only the taken branch is evaluated. (`CASE x WHEN` is expanded.)
    Case {
        /// (condition, result) in order.
        branches: Vec<(ScalarExpr<C>, ScalarExpr<C>)>,
        /// ELSE; NULL if absent.
        otherwise: Box<ScalarExpr<C>>,
        /// The common result type.
        result: ScalarType,
    },
    /// The first non-NULL argument; later ones are not evaluated. With the result type.
    Coalesce(Vec<ScalarExpr<C>>, ScalarType),
    /// ARRAY[…], elements already of one type; with the element type. Over arrays it has a dimension more.
    Array(Vec<ScalarExpr<C>>, ScalarType),
    /// ROW(…), with the record type.
    Record(Vec<ScalarExpr<C>>, ScalarType),
    /// What tests a volatile operand several times (CASE x WHEN, IN, NULLIF): it is evaluated once, where this stands, and its
    /// value is what `Operand` is in the body.
    Once {
        /// The operand.
        operand: Box<ScalarExpr<C>>,
        /// Made of its value.
        body: Box<ScalarExpr<C>>,
    },
    /// The operand, of which the body must give no error: for each element of an array, else once, but never of NULL.
    Tested {
        /// The operand, and the value.
        operand: Box<ScalarExpr<C>>,
        /// What is evaluated for its errors.
        body: Box<ScalarExpr<C>>,
    },
    /// The value of the innermost `Once` or `Tested` around it, with its type.
    Operand(ScalarType),
    /// A cast chosen by `cast::plan_cast`.
    Cast {
        /// What is cast.
        expr: Box<ScalarExpr<C>>,
        /// How.
        cast: cast::Cast,
        /// To what; its modifier is applied (lengths, scales).
        to: ColumnType,
    },
}

/// A value as jsonb, by the session's text forms.
///
/// # Errors
/// 22P02 and the like for values that JSON cannot hold.
pub fn datum_to_jsonb(
    datum: &Datum,
    scalar: &ScalarType,
    context: &repr::text::TextContext,
) -> Result<repr::Jsonb, repr::ValueError> {
    func::to_jsonb(datum, scalar, context)
}

/// One ORDER BY item over the columns of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The column.
    pub column: usize,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST (the default for DESC).
    pub nulls_first: bool,
    /// Orders what ORDER BY leaves equal, behind all that was written: it makes nobody a peer of fewer rows.
    pub tie: bool,
}

impl Order {
    /// By a column, from low to high.
    pub fn ascending(column: usize) -> Order {
        Order { column, descending: false, nulls_first: false, tie: false }
    }

    /// The items that were written.
    pub fn written(order: &[Order]) -> &[Order] {
        let count = order.iter().take_while(|item| !item.tie).count();
        &order[..count]
    }
}

/// An aggregate call in a `Reduce`.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall<C = usize> {
    /// The implementation, overload chosen.
    pub function: &'static Aggregate,
    /// Arguments, cast. Empty for count(*).
    pub args: Vec<ScalarExpr<C>>,
    /// DISTINCT.
    pub distinct: bool,
    /// FILTER (WHERE …)
    pub filter: Option<ScalarExpr<C>>,
    /// ORDER BY inside the call: (expression, descending, nulls first).
    pub order_by: Vec<(ScalarExpr<C>, bool, bool)>,
    /// The result type.
    pub result: ScalarType,
    /// What the query calls its value.
    pub label: Label,
}

/// A window function call. Partition and order columns belong to the enclosing `Window` operator.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall<C = usize> {
    /// What is computed.
    pub function: WindowKind,
    /// Arguments, cast.
    pub args: Vec<ScalarExpr<C>>,
    /// FILTER, for aggregates.
    pub filter: Option<ScalarExpr<C>>,
    /// The frame; the default is RANGE UNBOUNDED PRECEDING .. CURRENT ROW.
    pub frame: WindowFrame,
    /// The result type.
    pub result: ScalarType,
    /// What the query calls its value.
    pub label: Label,
}

/// The two kinds of window call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WindowKind {
    /// row_number, rank, lag, first_value, …
    Function(&'static WindowFunction),
    /// An aggregate over the frame.
    Aggregate(&'static Aggregate),
}

/// A window frame.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// ROWS, RANGE or GROUPS.
    pub unit: FrameUnit,
    /// Where it starts.
    pub start: FrameBound,
    /// Where it ends.
    pub end: FrameBound,
    /// EXCLUDE.
    pub exclude: FrameExclusion,
}

/// What frame offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Values of the one ORDER BY column.
    Range,
    /// Groups of peers.
    Groups,
}

/// How far a frame goes: the same for all rows.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameOffset {
    /// As it was written.
    Constant(Datum),
    /// By a parameter.
    Param(usize),
}

impl FrameOffset {
    /// What it is at a run.
    pub fn value(&self, ctx: &EvalContext) -> Datum {
        match self {
            FrameOffset::Constant(value) => value.clone(),
            FrameOffset::Param(index) => ctx.params.get(*index).cloned().unwrap_or(Datum::Null),
        }
    }

    /// The integer that was written.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            FrameOffset::Constant(value) => value.as_i64(),
            FrameOffset::Param(_) => None,
        }
    }
}

impl WindowFrame {
    /// The parameter that one of its ends is of.
    pub fn parameter(&self) -> Option<usize> {
        [&self.start, &self.end].into_iter().find_map(|bound| match bound {
            FrameBound::Preceding(FrameOffset::Param(index)) | FrameBound::Following(FrameOffset::Param(index)) => {
                Some(*index)
            }
            _ => None,
        })
    }
}

/// One end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// n PRECEDING
    Preceding(FrameOffset),
    /// CURRENT ROW
    CurrentRow,
    /// n FOLLOWING
    Following(FrameOffset),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
}

/// EXCLUDE of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameExclusion {
    /// EXCLUDE NO OTHERS
    NoOthers,
    /// EXCLUDE CURRENT ROW
    CurrentRow,
    /// EXCLUDE GROUP
    Group,
    /// EXCLUDE TIES
    Ties,
}

/// Map, filter, project, in that order of column numbering: `map` expressions see the input's columns
/// and those of earlier map expressions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mfp {
    /// Columns of the input.
    pub input_arity: usize,
    /// Columns appended.
    pub map: Vec<ScalarExpr>,
    /// (number of columns that must be there, predicate): evaluated as early as that allows.
    /// Rows pass whose predicates are all true.
    pub filter: Vec<(usize, ScalarExpr)>,
    /// The output columns.
    pub project: Vec<usize>,
}

impl Mfp {
    /// Passes rows on unchanged.
    pub fn identity(arity: usize) -> Self {
        Mfp { input_arity: arity, map: Vec::new(), filter: Vec::new(), project: (0..arity).collect() }
    }

    /// Calls `visitor` with the columns that are looked at, those that it appends among them; with some several times.
    pub fn each_column(&self, visitor: &mut impl FnMut(usize)) {
        let computed = self.map.iter().chain(self.filter.iter().map(|(_, predicate)| predicate));
        computed.for_each(|expr| expr.each_column(visitor));
        self.project.iter().copied().for_each(visitor);
    }

    /// The same columns.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.each_column(&mut |column| columns.push(column));
        columns
    }

    /// Whether it changes nothing.
    pub fn is_identity(&self) -> bool {
        self.map.is_empty() && self.filter.is_empty() && self.project.iter().copied().eq(0..self.input_arity)
    }
}
