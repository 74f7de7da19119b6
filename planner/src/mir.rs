//! The second rung: relational algebra. No subqueries, no laterals; columns are plain positions.
//!
//! Made by `lower`, rewritten by `transform`, consumed by `physical`. Every operator is on bags. Operators
//! never fail by themselves but for `AtMostOne`; expressions may, on rows that reach them.

pub mod expr;
pub(crate) mod row_expr;

use crate::names::Names;
use crate::plan::{Counting, LocalId, MatchKind};
use crate::scalar::{AggregateCall, Order, ScalarExpr, TableFunction, WindowCall};
use repr::{ColumnType, Datum, RelationId, ScalarType, poll};
use std::sync::Arc;

/// Types of a relation's columns.
pub type Types = Arc<[ColumnType]>;

/// A set-returning function in a `Mir::TableFunction`: itself, its arguments, its columns' types.
pub type TableFunctionCall = (&'static TableFunction, Vec<ScalarExpr>, Vec<ColumnType>);

/// A relational expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Mir {
    /// Known rows.
    Constant {
        /// The rows.
        rows: Vec<Vec<Datum>>,
        /// Their types.
        types: Types,
        /// Their columns'.
        names: Names,
    },
    /// A stored table or catalog relation; `with_key` appends the row key.
    Get {
        /// Which.
        relation: RelationId,
        /// Appends the row key.
        with_key: bool,
        /// Types of all columns, the row key's included. Only what can never be NULL is not nullable:
        /// erasure may blank columns that are declared NOT NULL.
        types: Types,
        /// What the query calls it.
        names: Names,
    },
    /// A `Let` or `LetRec` in scope.
    GetLocal {
        /// Which.
        id: LocalId,
        /// Its types.
        types: Types,
        /// What the query calls it, if it has it in FROM.
        names: Names,
    },
    /// Appends columns; each expression sees the input's columns and those appended before it.
    Map {
        /// Input.
        input: Box<Mir>,
        /// The new columns.
        exprs: Vec<ScalarExpr>,
    },
    /// Keeps rows for which all predicates are true.
    Filter {
        /// Input.
        input: Box<Mir>,
        /// The predicates.
        predicates: Vec<ScalarExpr>,
    },
    /// Chooses and repeats columns.
    Project {
        /// Input.
        input: Box<Mir>,
        /// The columns.
        columns: Vec<usize>,
    },
    /// Inner join of any number of inputs; columns are those of all inputs, in order.
    Join {
        /// The inputs; none gives one empty row.
        inputs: Vec<Mir>,
        /// What must be true of a combination.
        on: Vec<ScalarExpr>,
        /// Pairs of columns that must be equal, NULL being equal to NULL (made by lowering only).
        same: Vec<(usize, usize)>,
    },
    /// Left, semi or anti join. Conditions see left then right columns; Left gives both, the others the left's.
    Match {
        /// The side that is kept.
        left: Box<Mir>,
        /// The side that is looked at.
        right: Box<Mir>,
        /// Left, Semi or Anti; Inner is `Join`.
        kind: MatchKind,
        /// What must be true of a match.
        on: Vec<ScalarExpr>,
        /// Pairs of columns that must be equal, NULL being equal to NULL.
        same: Vec<(usize, usize)>,
    },
    /// Appends the columns of set-returning functions, and a counter if `ordinality`.
    TableFunction {
        /// Input.
        input: Box<Mir>,
        /// The functions, run in step.
        functions: Vec<TableFunctionCall>,
        /// WITH ORDINALITY.
        ordinality: bool,
        /// Of the columns that it appends.
        names: Names,
    },
    /// Keys, then aggregates. Without aggregates it is DISTINCT.
    Reduce {
        /// Input.
        input: Box<Mir>,
        /// Group keys; equal by SQL equality, NULLs together.
        keys: Vec<ScalarExpr>,
        /// Aggregates.
        aggregates: Vec<AggregateCall>,
        /// One row over an empty input (only without keys).
        scalar: bool,
    },
    /// The first rows of each group.
    TopK {
        /// Input.
        input: Box<Mir>,
        /// Group columns.
        keys: Vec<usize>,
        /// Order within a group.
        order: Vec<Order>,
        /// LIMIT, over no columns.
        limit: Option<ScalarExpr>,
        /// OFFSET, over no columns.
        offset: Option<ScalarExpr>,
        /// What LIMIT counts.
        counting: Counting,
    },
    /// Appends one column per call.
    Window {
        /// Input.
        input: Box<Mir>,
        /// PARTITION BY.
        partition: Vec<usize>,
        /// ORDER BY.
        order: Vec<Order>,
        /// The calls.
        calls: Vec<WindowCall>,
    },
    /// At most one row per group of `keys`, else SQLSTATE 21000.
    AtMostOne {
        /// Input.
        input: Box<Mir>,
        /// The columns within which there may be one row.
        keys: Vec<usize>,
    },
    /// UNION ALL; never empty.
    Union(Vec<Mir>, Names),
    /// Every multiplicity times -1.
    Negate(Box<Mir>),
    /// Rows of positive multiplicity; rows are told apart by SQL equality.
    Threshold(Box<Mir>),
    /// `value` is computed once for all uses in `body`.
    Let {
        /// Its name.
        id: LocalId,
        /// What it is.
        value: Box<Mir>,
        /// Where it is used.
        body: Box<Mir>,
    },
    /// Recursion, as `plan::Plan::LetRec`.
    LetRec {
        /// Its name in `step` and `body`.
        id: LocalId,
        /// The rows of round 0.
        base: Box<Mir>,
        /// From one round's rows to the next's.
        step: Box<Mir>,
        /// UNION rather than UNION ALL.
        distinct: bool,
        /// Where it is used.
        body: Box<Mir>,
    },
}

impl Mir {
    /// One row without columns: what a SELECT without FROM stands over.
    pub fn unit() -> Mir {
        Mir::Constant { rows: vec![Vec::new()], types: Arc::from([]), names: Names::default() }
    }

    /// Whether it is `unit`.
    pub(crate) fn is_unit(&self) -> bool {
        matches!(self, Mir::Constant { rows, types, .. } if types.is_empty() && rows.len() == 1)
    }

    /// No rows of these types.
    pub fn empty(types: impl Into<Types>) -> Mir {
        Mir::Constant { rows: Vec::new(), types: types.into(), names: Names::default() }
    }

    /// Appends columns, if there are any.
    #[must_use]
    pub fn map(self, exprs: Vec<ScalarExpr>) -> Mir {
        if exprs.is_empty() {
            return self;
        }
        Mir::Map { input: Box::new(self), exprs }
    }

    /// Keeps rows, if there is a condition.
    #[must_use]
    pub fn filter(self, predicates: Vec<ScalarExpr>) -> Mir {
        if predicates.is_empty() {
            return self;
        }
        Mir::Filter { input: Box::new(self), predicates }
    }

    /// Chooses columns, unless that changes nothing; projections are merged.
    #[must_use]
    pub fn project(self, columns: Vec<usize>) -> Mir {
        if columns.iter().copied().eq(0..self.arity()) {
            return self;
        }
        match self {
            Mir::Project { input, columns: inner } => {
                let columns = columns.into_iter().map(|column| inner[column]).collect();
                input.project(columns)
            }
            other => Mir::Project { input: Box::new(other), columns },
        }
    }

    /// All pairs of rows.
    #[must_use]
    pub fn product(self, right: Mir) -> Mir {
        if self.is_unit() {
            return right;
        }
        if right.is_unit() {
            return self;
        }
        Mir::Join { inputs: vec![self, right], on: Vec::new(), same: Vec::new() }
    }

    /// DISTINCT on all columns.
    #[must_use]
    pub fn distinct(self) -> Mir {
        let keys = (0..self.arity()).map(ScalarExpr::Column).collect();
        Mir::Reduce { input: Box::new(self), keys, aggregates: Vec::new(), scalar: false }
    }

    /// The number of columns.
    pub fn arity(&self) -> usize {
        poll::step_or_unwind();
        match self {
            Mir::Constant { types, .. } | Mir::Get { types, .. } | Mir::GetLocal { types, .. } => types.len(),
            Mir::Map { input, exprs } => input.arity() + exprs.len(),
            Mir::Filter { input, .. } | Mir::TopK { input, .. } | Mir::AtMostOne { input, .. } => input.arity(),
            Mir::Project { columns, .. } => columns.len(),
            Mir::Join { inputs, .. } => inputs.iter().map(Mir::arity).sum(),
            Mir::Match { left, right, kind, .. } => match kind {
                MatchKind::Inner | MatchKind::Left => left.arity() + right.arity(),
                MatchKind::Semi | MatchKind::Anti => left.arity(),
            },
            Mir::TableFunction { input, functions, ordinality, .. } => {
                input.arity()
                    + functions.iter().map(|(_, _, types)| types.len()).sum::<usize>()
                    + usize::from(*ordinality)
            }
            Mir::Reduce { keys, aggregates, .. } => keys.len() + aggregates.len(),
            Mir::Window { input, calls, .. } => input.arity() + calls.len(),
            Mir::Union(inputs, _) => inputs.first().map_or(0, Mir::arity),
            Mir::Negate(input) | Mir::Threshold(input) => input.arity(),
            Mir::Let { body, .. } | Mir::LetRec { body, .. } => body.arity(),
        }
    }

    /// The types of all columns.
    pub fn types(&self) -> Vec<ColumnType> {
        poll::step_or_unwind();
        match self {
            Mir::Constant { types, .. } | Mir::Get { types, .. } | Mir::GetLocal { types, .. } => types.to_vec(),
            Mir::Map { input, exprs } => {
                let mut types = input.types();
                for expr in exprs {
                    types.push(expr::column_type(expr, &types));
                }
                types
            }
            Mir::Filter { input, .. } | Mir::TopK { input, .. } | Mir::AtMostOne { input, .. } => input.types(),
            Mir::Negate(input) | Mir::Threshold(input) => input.types(),
            Mir::Project { input, columns } => {
                let types = input.types();
                columns.iter().map(|column| types[*column].clone()).collect()
            }
            Mir::Join { inputs, .. } => inputs.iter().flat_map(Mir::types).collect(),
            Mir::Match { left, right, kind, .. } => {
                let mut types = left.types();
                match kind {
                    MatchKind::Inner => types.extend(right.types()),
                    MatchKind::Left => types.extend(right.types().into_iter().map(as_nullable)),
                    MatchKind::Semi | MatchKind::Anti => {}
                }
                types
            }
            Mir::TableFunction { input, functions, ordinality, .. } => {
                let mut types = input.types();
                types.extend(functions.iter().flat_map(|(_, _, types)| types.iter().cloned().map(as_nullable)));
                if *ordinality {
                    types.push(ColumnType::nullable(ScalarType::Int8));
                }
                types
            }
            Mir::Reduce { input, keys, aggregates, .. } => {
                let input = input.types();
                let keys = keys.iter().map(|key| expr::column_type(key, &input));
                keys.chain(aggregates.iter().map(|call| ColumnType::nullable(call.result.clone()))).collect()
            }
            Mir::Window { input, calls, .. } => {
                let mut types = input.types();
                types.extend(calls.iter().map(|call| ColumnType::nullable(call.result.clone())));
                types
            }
            Mir::Union(inputs, _) => {
                let mut types = inputs.first().map(Mir::types).unwrap_or_default();
                for input in inputs.iter().skip(1) {
                    for (column, other) in types.iter_mut().zip(input.types()) {
                        column.nullable |= other.nullable;
                    }
                }
                types
            }
            Mir::Let { body, .. } | Mir::LetRec { body, .. } => body.types(),
        }
    }

    /// Its inputs, in order.
    pub fn children(&self) -> Vec<&Mir> {
        poll::step_or_unwind();
        match self {
            Mir::Constant { .. } | Mir::Get { .. } | Mir::GetLocal { .. } => Vec::new(),
            Mir::Map { input, .. }
            | Mir::Filter { input, .. }
            | Mir::Project { input, .. }
            | Mir::TableFunction { input, .. }
            | Mir::Reduce { input, .. }
            | Mir::TopK { input, .. }
            | Mir::Window { input, .. }
            | Mir::AtMostOne { input, .. }
            | Mir::Negate(input)
            | Mir::Threshold(input) => vec![input],
            Mir::Join { inputs, .. } | Mir::Union(inputs, _) => inputs.iter().collect(),
            Mir::Match { left, right, .. } => vec![left, right],
            Mir::Let { value, body, .. } => vec![value, body],
            Mir::LetRec { base, step, body, .. } => vec![base, step, body],
        }
    }

    /// Its inputs, to be replaced.
    pub(crate) fn children_mut(&mut self) -> Vec<&mut Mir> {
        poll::step_or_unwind();
        match self {
            Mir::Constant { .. } | Mir::Get { .. } | Mir::GetLocal { .. } => Vec::new(),
            Mir::Map { input, .. }
            | Mir::Filter { input, .. }
            | Mir::Project { input, .. }
            | Mir::TableFunction { input, .. }
            | Mir::Reduce { input, .. }
            | Mir::TopK { input, .. }
            | Mir::Window { input, .. }
            | Mir::AtMostOne { input, .. }
            | Mir::Negate(input)
            | Mir::Threshold(input) => vec![input],
            Mir::Join { inputs, .. } | Mir::Union(inputs, _) => inputs.iter_mut().collect(),
            Mir::Match { left, right, .. } => vec![left, right],
            Mir::Let { value, body, .. } => vec![value, body],
            Mir::LetRec { base, step, body, .. } => vec![base, step, body],
        }
    }

    /// Its own expressions, to be replaced; not those of its inputs.
    pub(crate) fn exprs_mut(&mut self) -> Vec<&mut ScalarExpr> {
        match self {
            Mir::Constant { .. }
            | Mir::Get { .. }
            | Mir::GetLocal { .. }
            | Mir::Project { .. }
            | Mir::AtMostOne { .. }
            | Mir::Union(..)
            | Mir::Negate(_)
            | Mir::Threshold(_)
            | Mir::Let { .. }
            | Mir::LetRec { .. } => Vec::new(),
            Mir::Map { exprs, .. } => exprs.iter_mut().collect(),
            Mir::Filter { predicates, .. } => predicates.iter_mut().collect(),
            Mir::Join { on, .. } | Mir::Match { on, .. } => on.iter_mut().collect(),
            Mir::TableFunction { functions, .. } => functions.iter_mut().flat_map(|(_, args, _)| args).collect(),
            Mir::Reduce { keys, aggregates, .. } => {
                keys.iter_mut().chain(aggregates.iter_mut().flat_map(expr::aggregate_exprs_mut)).collect()
            }
            Mir::TopK { limit, offset, .. } => limit.iter_mut().chain(offset.iter_mut()).collect(),
            Mir::Window { calls, .. } => calls.iter_mut().flat_map(expr::window_exprs_mut).collect(),
        }
    }

    /// How often a local is read in it.
    pub fn uses(&self, local: LocalId) -> usize {
        match self {
            Mir::GetLocal { id, .. } => usize::from(*id == local),
            other => other.children().into_iter().map(|child| child.uses(local)).sum(),
        }
    }
}

/// The type with NULL allowed: what the other side of an outer join becomes.
pub(crate) fn as_nullable(mut column_type: ColumnType) -> ColumnType {
    column_type.nullable = true;
    column_type
}
