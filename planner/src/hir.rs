//! The first rung: what the query says, names and types resolved, subqueries and laterals still inside.
//!
//! Made by `resolve::query`, consumed by `lower`. Every relation knows its output types; joins, laterals
//! and subqueries refer to outer rows by level.

pub mod walk;

use crate::names::Names;
use crate::row_term::RowTerm;
use crate::scalar::{AggregateCall, Order, ScalarExpr, TableFunction, WindowCall};
use repr::{ColumnIndex, ColumnType, Datum, IndexId, RelationId};

/// A column reference while subqueries still nest.
#[derive(Clone, Debug, PartialEq)]
pub enum HirColumn {
    /// A column `level` scopes out; level 0 is the relation that this expression is evaluated over.
    Column {
        /// How many scopes out.
        level: usize,
        /// Its position there.
        index: usize,
    },
    /// EXISTS (relation)
    Exists(Box<Hir>),
    /// A scalar subquery: one column; no row is NULL, two rows are 21000.
    Scalar(Box<Hir>),
    /// `left op ANY (relation)` (`IN` is `= ANY`, `NOT IN` its negation): three-valued OR over the rows.
    /// `condition` is evaluated over the subquery's row at level 0 and the outer row at level 1.
    Any {
        /// The subquery.
        relation: Box<Hir>,
        /// The comparison for one row.
        condition: Box<HirExpr>,
    },
    /// ARRAY(relation): one column, in the relation's order.
    ArrayOf(Box<Hir>, repr::ScalarType),
}

/// An expression of this rung.
pub type HirExpr = ScalarExpr<HirColumn>;

/// A set-returning function, its arguments, and the types of its columns.
pub type HirFunctionCall = (&'static TableFunction, Vec<HirExpr>, Vec<ColumnType>);

/// A relation and the types of its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Hir {
    /// The operator.
    pub node: HirNode,
    /// Output types.
    pub types: Vec<ColumnType>,
}

/// A common table expression within one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CteId(pub usize);

/// Which unmatched rows a join keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// None (CROSS is INNER ON true).
    Inner,
    /// Those of the left.
    Left,
    /// Those of the right.
    Right,
    /// Those of both.
    Full,
}

/// A relational operator over subtrees.
#[derive(Clone, Debug, PartialEq)]
pub enum HirNode {
    /// VALUES, or the one empty row of a SELECT without FROM.
    Constant(Vec<Vec<Datum>>, Names),
    /// A stored table's or catalog relation's physical columns, dropped ones included, in order;
    /// `with_key` appends the row key as bytea (for writes and row locks).
    Get {
        /// Which.
        relation: RelationId,
        /// Appends the row key.
        with_key: bool,
        /// What the query calls it.
        names: Names,
    },
    /// A CTE in scope, and what the query calls it.
    GetCte(CteId, Names),
    /// Appends columns. Expressions see the input's columns at level 0 (not each other's).
    Map(Box<Hir>, Vec<HirExpr>),
    /// Keeps rows for which all are true.
    Filter(Box<Hir>, Vec<HirExpr>),
    /// Chooses and repeats columns.
    Project(Box<Hir>, Vec<usize>),
    /// Left columns then right columns. `on` sees both at level 0. If `lateral`, `right` sees the left
    /// row at level 1 (its own enclosing scopes start at level 2); otherwise enclosing scopes start at level 1.
    Join {
        /// Left input.
        left: Box<Hir>,
        /// Right input.
        right: Box<Hir>,
        /// INNER, LEFT, RIGHT, FULL.
        kind: JoinKind,
        /// The condition.
        on: HirExpr,
        /// Whether `right` refers to `left`.
        lateral: bool,
    },
    /// Appends the columns of a set-returning function to each input row (once per result row; no result,
    /// no row), and if `ordinality` a bigint counting from 1. Arguments see the input at level 0.
    /// A function alone in FROM stands over `Constant` with one empty row; one that refers to tables
    /// before it is a lateral join with that.
    TableFunction {
        /// The rows to extend.
        input: Box<Hir>,
        /// The functions, run in step and padded with NULLs (ROWS FROM, select lists).
        functions: Vec<HirFunctionCall>,
        /// WITH ORDINALITY.
        ordinality: bool,
        /// Of the columns that it appends.
        names: Names,
    },
    /// Group keys then aggregates. Without keys: exactly one row, also over nothing.
    Reduce {
        /// Input.
        input: Box<Hir>,
        /// GROUP BY expressions; groups by SQL equality, NULLs together.
        keys: Vec<HirExpr>,
        /// Aggregates.
        aggregates: Vec<AggregateCall<HirColumn>>,
        /// Whether there was no GROUP BY at all (one row over an empty input).
        scalar: bool,
    },
    /// DISTINCT on all columns, by SQL equality.
    Distinct(Box<Hir>),
    /// Per group of `keys` the first rows by `order`: LIMIT/OFFSET below the top, DISTINCT ON (limit 1).
    TopK {
        /// Input.
        input: Box<Hir>,
        /// Group columns; empty for one group.
        keys: Vec<usize>,
        /// The order, completed by what tells rows apart (see `resolve`, identity).
        order: Vec<Order>,
        /// LIMIT, sees enclosing scopes from level 1 on.
        limit: Option<HirExpr>,
        /// OFFSET.
        offset: Option<HirExpr>,
    },
    /// Appends one column per call, over partitions.
    Window {
        /// Input.
        input: Box<Hir>,
        /// PARTITION BY columns.
        partition: Vec<usize>,
        /// ORDER BY.
        order: Vec<Order>,
        /// The calls.
        calls: Vec<WindowCall<HirColumn>>,
    },
    /// UNION ALL of relations with the same types.
    Union(Vec<Hir>, Names),
    /// EXCEPT [ALL]
    Except {
        /// Rows to keep.
        left: Box<Hir>,
        /// Rows to take away.
        right: Box<Hir>,
        /// By multiplicity.
        all: bool,
    },
    /// INTERSECT [ALL]
    Intersect {
        /// One side.
        left: Box<Hir>,
        /// The other.
        right: Box<Hir>,
        /// By multiplicity.
        all: bool,
    },
    /// WITH: `value` is in scope as `id` in `body`.
    Let {
        /// Its id, unique in the statement.
        id: CteId,
        /// Its name, for EXPLAIN.
        name: String,
        /// The CTE.
        value: Box<Hir>,
        /// Where it is in scope.
        body: Box<Hir>,
    },
    /// WITH RECURSIVE id AS (base UNION [ALL] step): `step` refers to `id` as the rows of the last round.
    LetRec {
        /// Its id.
        id: CteId,
        /// Its name.
        name: String,
        /// The non-recursive term.
        base: Box<Hir>,
        /// The recursive term.
        step: Box<Hir>,
        /// UNION (drops rows seen before) rather than UNION ALL.
        distinct: bool,
        /// Where it is in scope.
        body: Box<Hir>,
    },
}

/// A whole SELECT: the relation, and how its rows are finished.
#[derive(Clone, Debug, PartialEq)]
pub struct HirQuery {
    /// The relation; may have columns beyond the output (sort keys, row keys).
    pub relation: Hir,
    /// The outermost ORDER BY.
    pub order_by: Vec<Order>,
    /// The outermost LIMIT: no columns, parameters allowed.
    pub limit: Option<HirExpr>,
    /// The outermost OFFSET.
    pub offset: Option<HirExpr>,
    /// The output columns of `relation`.
    pub project: Vec<usize>,
    /// Their names and types.
    pub columns: Vec<OutputColumn>,
    /// FOR UPDATE/SHARE: the tables, with the column of `relation` that has the row key.
    pub locks: Vec<RowLock>,
    /// Subqueries that lock rows, by number: each is run once, before the rest, in this order. `table_func::LOCKED_ROWS` gives
    /// the rows that it was left with.
    pub locking: Vec<LockingQuery>,
}

/// A subquery that locks rows.
#[derive(Clone, Debug, PartialEq)]
pub struct LockingQuery {
    /// By which the rows that it was left with are asked for.
    pub number: usize,
    /// The query.
    pub query: HirQuery,
    /// Of a LATERAL one: whose rows they are.
    pub groups: Option<LockGroups>,
}

/// The columns of a query that locks rows for each of several drivers, in this order; its rows are ordered by the drivers first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockGroups {
    /// How many columns it gives.
    pub outputs: usize,
    /// How many say for whom a row is.
    pub drivers: usize,
    /// Whether the next one is their LIMIT.
    pub limit: bool,
    /// Whether the next one is their OFFSET.
    pub offset: bool,
}

impl HirQuery {
    /// These columns of a relation: in no order, all of its rows, and none locked.
    pub(crate) fn of(relation: Hir, project: Vec<usize>, columns: Vec<OutputColumn>) -> HirQuery {
        HirQuery {
            relation,
            order_by: Vec::new(),
            limit: None,
            offset: None,
            project,
            columns,
            locks: Vec::new(),
            locking: Vec::new(),
        }
    }
}

/// One column of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// Its label.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
    /// The table column that it is, if it is just that (RowDescription's table OID and attnum).
    pub origin: Option<(RelationId, usize)>,
}

/// How strongly a row is locked, from the weakest: each conflicts with all that the one before conflicts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    /// FOR KEY SHARE: against deletion and new keys.
    KeyShare,
    /// FOR SHARE: against every change.
    Share,
    /// FOR NO KEY UPDATE: alone, but for KEY SHARE.
    NoKeyUpdate,
    /// FOR UPDATE: alone.
    Update,
}

impl LockStrength {
    /// All of them.
    pub const ALL: [LockStrength; 4] =
        [LockStrength::KeyShare, LockStrength::Share, LockStrength::NoKeyUpdate, LockStrength::Update];

    /// As it is written behind FOR, in lower case.
    pub fn words(self) -> &'static str {
        match self {
            LockStrength::KeyShare => "key share",
            LockStrength::Share => "share",
            LockStrength::NoKeyUpdate => "no key update",
            LockStrength::Update => "update",
        }
    }

    /// As messages name the clause.
    pub fn clause(self) -> String {
        format!("FOR {}", self.words().to_uppercase())
    }
}

/// FOR UPDATE, NO KEY UPDATE, SHARE, KEY SHARE of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLock {
    /// The table.
    pub table: RelationId,
    /// The column with its row key.
    pub key_column: usize,
    /// How strongly.
    pub strength: LockStrength,
    /// What to do when the row is locked.
    pub wait: LockWait,
}

/// NOWAIT and SKIP LOCKED. Of two for one table the later here counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockWait {
    /// Wait (up to lock_timeout).
    Wait,
    /// Leave the row out.
    SkipLocked,
    /// 55P03 at once.
    NoWait,
}

/// A whole write. Expressions here have no subqueries and no outer levels (`Column { level: 0, .. }` only):
/// what needs other tables is a column of the source, or of a query beside the rows at hand.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteHir {
    /// INSERT, also under COPY FROM.
    Insert(InsertHir),
    /// UPDATE [FROM].
    Update(UpdateHir),
    /// DELETE [USING].
    Delete(DeleteHir),
    /// MERGE.
    Merge(MergeHir),
}

impl WriteHir {
    /// RETURNING.
    pub(crate) fn returning(&self) -> Option<&ReturningHir> {
        match self {
            WriteHir::Insert(insert) => insert.returning.as_ref(),
            WriteHir::Update(update) => update.returning.as_ref(),
            WriteHir::Delete(delete) => delete.returning.as_ref(),
            WriteHir::Merge(_) => None,
        }
    }

    /// What gives its rows.
    pub(crate) fn source(&self) -> &HirQuery {
        match self {
            WriteHir::Insert(insert) => &insert.source,
            WriteHir::Update(update) => &update.source,
            WriteHir::Delete(delete) => &delete.source,
            WriteHir::Merge(merge) => &merge.source,
        }
    }

    /// The queries beside rows at hand.
    pub(crate) fn besides(&self) -> impl Iterator<Item = &BesideHir> {
        let conflict = match self {
            WriteHir::Insert(insert) => insert.on_conflict.as_ref().and_then(|conflict| conflict.update.as_ref()),
            WriteHir::Update(_) | WriteHir::Delete(_) | WriteHir::Merge(_) => None,
        };
        let conflict = conflict.into_iter().flat_map(|update| update.beside.iter().chain(&update.beside_condition));
        let checked = self.checks().and_then(|checks| checks.views.as_ref()).and_then(|views| views.beside.as_ref());
        self.returning().and_then(|returning| returning.beside.as_ref()).into_iter().chain(conflict).chain(checked)
    }

    /// What its rows must pass.
    fn checks(&self) -> Option<&RowChecksHir> {
        match self {
            WriteHir::Insert(insert) => Some(&insert.checks),
            WriteHir::Update(update) => Some(&update.checks),
            WriteHir::Merge(merge) => Some(&merge.checks),
            WriteHir::Delete(_) => None,
        }
    }

    /// What gives its rows, to be changed.
    pub(crate) fn source_mut(&mut self) -> &mut HirQuery {
        match self {
            WriteHir::Insert(insert) => &mut insert.source,
            WriteHir::Update(update) => &mut update.source,
            WriteHir::Delete(delete) => &mut delete.source,
            WriteHir::Merge(merge) => &mut merge.source,
        }
    }
}

/// `plan::WithPlan` before lowering: a statement, and those in its WITH that write.
#[derive(Clone, Debug, PartialEq)]
pub struct WithHir {
    /// In the order in which they are written.
    pub writes: Vec<WithWrite>,
    /// The statement itself.
    pub main: WithMain,
}

/// A WITH query that writes.
#[derive(Clone, Debug, PartialEq)]
pub struct WithWrite {
    /// Under which `table_func::RETURNED_ROWS` gives what it returns.
    pub number: usize,
    /// What it is called.
    pub name: String,
    /// What it does.
    pub write: WriteHir,
}

/// What stands under WITH.
#[derive(Clone, Debug, PartialEq)]
pub enum WithMain {
    /// SELECT, VALUES, TABLE.
    Query(HirQuery),
    /// INSERT, UPDATE, DELETE.
    Write(WriteHir),
}

/// `plan::RowChecks` before lowering, over the physical row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowChecksHir {
    /// GENERATED columns: (column, expression).
    pub generated: Vec<(ColumnIndex, HirExpr)>,
    /// Columns of domains, with what is evaluated for its errors.
    pub domains: Vec<(ColumnIndex, HirExpr)>,
    /// NOT NULL columns.
    pub not_null: Vec<ColumnIndex>,
    /// CHECK: (constraint name, expression).
    pub checks: Vec<(String, HirExpr)>,
    /// Conditions of partial indexes.
    pub index_predicates: Vec<HirExpr>,
    /// Conditions of policies and their kin.
    pub terms: Vec<RowTermHir>,
    /// WITH CHECK OPTION of the views by which the table is written.
    pub views: Option<ViewChecksHir>,
    /// Holds: (name, which rows).
    pub holds: Vec<(String, Option<HirExpr>)>,
}

/// What views ask of rows that are written by them.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewChecksHir {
    /// What the conditions read of other tables.
    pub beside: Option<BesideHir>,
    /// What must be true of the stored row, and that; and the view whose condition it is.
    pub conditions: Vec<(String, HirExpr)>,
}

/// What is asked of a row that is made.
#[derive(Clone, Debug, PartialEq)]
pub struct RowTermHir {
    /// By what.
    pub term: RowTerm,
    /// What must be true.
    pub expr: HirExpr,
}

/// `plan::InsertPlan` before lowering.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertHir {
    /// Into which table.
    pub table: RelationId,
    /// `project` gives one value per physical column, defaults and casts applied.
    pub source: HirQuery,
    /// What rows must pass.
    pub checks: RowChecksHir,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflictHir>,
    /// RETURNING over the stored row's physical columns.
    pub returning: Option<ReturningHir>,
}

/// `plan::OnConflict` before lowering.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflictHir {
    /// The unique indexes that count as conflict; empty means any.
    pub arbiters: Vec<IndexId>,
    /// DO NOTHING (`None`), or DO UPDATE.
    pub update: Option<ConflictUpdateHir>,
}

/// DO UPDATE, over [existing physical row ++ EXCLUDED physical row].
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictUpdateHir {
    /// What SET reads of other tables.
    pub beside: Option<BesideHir>,
    /// SET, over the rows and that.
    pub assignments: Vec<(ColumnIndex, HirExpr)>,
    /// What WHERE reads of other tables.
    pub beside_condition: Option<BesideHir>,
    /// WHERE, over the rows and that.
    pub condition: Option<HirExpr>,
}

/// `plan::Beside` before lowering.
#[derive(Clone, Debug, PartialEq)]
pub struct BesideHir {
    /// Under which the rows at hand are given.
    pub number: usize,
    /// Gives the columns.
    pub query: HirQuery,
}

/// `plan::UpdatePlan` before lowering. The relation of `source` has the target's n physical columns, its
/// row key as column n, then columns of FROM and of subqueries in assignments; `project` is all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateHir {
    /// Which table.
    pub table: RelationId,
    /// The rows and the context of each.
    pub source: HirQuery,
    /// Over the source's columns.
    pub assignments: Vec<(ColumnIndex, HirExpr)>,
    /// What the new rows must pass.
    pub checks: RowChecksHir,
    /// Over [new physical row, row key, rest of the source's columns].
    pub returning: Option<ReturningHir>,
    /// WHERE CURRENT OF
    pub current_of: Option<CurrentOfHir>,
}

/// The row that a cursor stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentOfHir {
    /// Under which `table_func::ROWS_AT_HAND` reads it.
    pub number: usize,
    /// The cursor.
    pub cursor: String,
}

/// `plan::DeletePlan` before lowering; source as for UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteHir {
    /// Which table.
    pub table: RelationId,
    /// The rows.
    pub source: HirQuery,
    /// Over the source's columns.
    pub returning: Option<ReturningHir>,
    /// WHERE CURRENT OF
    pub current_of: Option<CurrentOfHir>,
}

/// `plan::MergePlan` before lowering; source as for UPDATE, with NULL for the row key where no row matches.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeHir {
    /// Which table.
    pub table: RelationId,
    /// The rows of the join.
    pub source: HirQuery,
    /// In their order.
    pub whens: Vec<MergeWhenHir>,
    /// What new rows must pass.
    pub checks: RowChecksHir,
}

/// `plan::MergeWhen` before lowering.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeWhenHir {
    /// MATCHED, rather than NOT MATCHED.
    pub matched: bool,
    /// AND, over the source's columns.
    pub condition: Option<HirExpr>,
    /// THEN.
    pub action: MergeActionHir,
}

/// `plan::MergeAction` before lowering: expressions over the source's columns.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeActionHir {
    /// DO NOTHING
    Nothing,
    /// DELETE
    Delete,
    /// UPDATE SET
    Update(Vec<(ColumnIndex, HirExpr)>),
    /// INSERT: one value per physical column.
    Insert(Vec<HirExpr>),
}

/// RETURNING.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturningHir {
    /// Whether `xmax` stands behind the row's columns.
    pub has_xmax: bool,
    /// What they read of other tables: columns behind the row's.
    pub beside: Option<BesideHir>,
    /// The expressions.
    pub exprs: Vec<HirExpr>,
    /// Their names and types.
    pub columns: Vec<OutputColumn>,
}
