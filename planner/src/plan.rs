//! The last rung: physical plans, in which rendering has no decision left but those that `Way` names.
//!
//! The same plan renders once (a one-shot over a snapshot) or for ever (a maintained view). Lookups name
//! the index they read; joins name the side that is looked up in the leaves or arranged.

mod with;

pub use crate::hir::CurrentOfHir as CurrentOf;
pub use with::{WithPart, WithPlan};

use crate::hir::{LockGroups, OutputColumn, RowLock};
use crate::names::Names;
use crate::row_term::RowTerm;
use crate::scalar::inverted::Asked;
use crate::scalar::{AggregateCall, Mfp, Order, ScalarExpr, TableFunction, WindowCall};
use crate::temporal::ClockCondition;
use repr::{Array, ColumnIndex, ColumnType, IndexId, RelationId, Row, ScalarType};
use std::sync::Arc;

/// A set-returning function, its arguments, and the types of its columns.
pub type PlanFunctionCall = (&'static TableFunction, Vec<ScalarExpr>, Vec<ScalarType>);

/// A relation to be computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Rows known while planning.
    Constant {
        /// The rows.
        rows: Vec<Row>,
        /// Their width.
        arity: usize,
        /// Their columns'.
        names: Names,
    },
    /// Rows of a stored table or catalog relation, all columns (`with_key`: then the row key), through `mfp`.
    Get {
        /// The relation.
        relation: RelationId,
        /// How its rows are found.
        access: Access,
        /// Appends the row key as bytea before `mfp`.
        with_key: bool,
        /// What the query calls it.
        names: Names,
        /// Applied at once.
        mfp: Mfp,
    },
    /// A `Let` or `LetRec` in scope.
    GetLocal {
        /// Which.
        id: LocalId,
        /// Its width.
        arity: usize,
        /// What the query calls it, if it has it in FROM.
        names: Names,
    },
    /// Map, filter, project.
    Mfp(Box<Plan>, Mfp),
    /// Set-returning functions, as `hir::HirNode::TableFunction`.
    TableFunction {
        /// The rows to extend.
        input: Box<Plan>,
        /// The functions, run in step, each with the types of the columns it appends.
        functions: Vec<PlanFunctionCall>,
        /// Appends a counter.
        ordinality: bool,
        /// Of the columns that it appends.
        names: Names,
    },
    /// Each input row meets the rows of a stored table whose index (or primary key) equals `key`, read in
    /// the leaves. Stateless. Output before `mfp`: input columns, then (Inner, Left) the table's columns,
    /// then the row key if `with_key`.
    LookupJoin {
        /// The streamed side.
        input: Box<Plan>,
        /// The table that is looked up.
        relation: RelationId,
        /// Its primary key or an index; all its columns are given.
        lookup: Lookup,
        /// The key, over the input's columns. A NULL matches nothing, but a literal NULL rows that have NULL there.
        key: Vec<ScalarExpr>,
        /// Which input rows come out.
        kind: MatchKind,
        /// Further conditions over input and table columns that a match must satisfy.
        condition: Vec<ScalarExpr>,
        /// Appends the row key.
        with_key: bool,
        /// What the query calls the table.
        names: Names,
        /// Applied at once.
        mfp: Mfp,
    },
    /// Both sides arranged by key.
    Join {
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// Key over the left's columns; empty for a cross join.
        left_key: Vec<ScalarExpr>,
        /// Key over the right's columns, of the same types.
        right_key: Vec<ScalarExpr>,
        /// NULLs match each other (joins that the planner itself made).
        null_safe: bool,
        /// Inner and Left give left then right columns; Semi and Anti the left's only.
        kind: MatchKind,
        /// Of an inner join that runs once: which pairs of equal keys need not be looked at.
        range: Option<Box<JoinRange>>,
        /// Applied at once. For Inner it may carry the join's other conditions.
        mfp: Mfp,
    },
    /// Keys then aggregates.
    Reduce {
        /// Input.
        input: Box<Plan>,
        /// Group keys; equal by SQL equality, NULLs together.
        keys: Vec<ScalarExpr>,
        /// Aggregates; none makes it DISTINCT over the keys.
        aggregates: Vec<AggregateCall>,
        /// One row over an empty input.
        scalar: bool,
    },
    /// The first rows of each group.
    TopK {
        /// Input.
        input: Box<Plan>,
        /// Group columns.
        keys: Vec<usize>,
        /// Order; what it leaves equal is alike in all that the query shows.
        order: Vec<Order>,
        /// LIMIT: over no columns.
        limit: Option<ScalarExpr>,
        /// OFFSET.
        offset: Option<ScalarExpr>,
        /// What LIMIT counts.
        counting: Counting,
    },
    /// Window functions: input columns, then one per call.
    Window {
        /// Input.
        input: Box<Plan>,
        /// PARTITION BY.
        partition: Vec<usize>,
        /// ORDER BY.
        order: Vec<Order>,
        /// The calls.
        calls: Vec<WindowCall>,
    },
    /// At most one row per group of `keys`, else SQLSTATE 21000 (scalar subqueries).
    AtMostOne {
        /// Input.
        input: Box<Plan>,
        /// The columns within which there may be one row.
        keys: Vec<usize>,
    },
    /// UNION ALL.
    Union(Vec<Plan>, Names),
    /// Every multiplicity times -1.
    Negate(Box<Plan>),
    /// Rows whose multiplicity is positive, by that multiplicity; rows are told apart by SQL equality.
    Threshold(Box<Plan>),
    /// Rows as long as conditions hold that turn with the clock: in plans that are maintained.
    Temporal {
        /// Where they come from.
        input: Box<Plan>,
        /// All of them hold.
        conditions: Vec<ClockCondition>,
    },
    /// Computes `value` once for all uses in `body`.
    Let {
        /// Its name in `body`.
        id: LocalId,
        /// What it is.
        value: Box<Plan>,
        /// Where it is used.
        body: Box<Plan>,
    },
    /// The least fixpoint of `value`, which contains `id` (UNION), or the bag of all rounds (UNION ALL).
    LetRec {
        /// Its name in `step` and `body`.
        id: LocalId,
        /// The rows of round 0.
        base: Box<Plan>,
        /// From the last round's new rows to the next's.
        step: Box<Plan>,
        /// Rows seen before are dropped.
        distinct: bool,
        /// Where the result is used.
        body: Box<Plan>,
    },
}

/// What the conditions of an inner join say of the order of its sides: a right row matches a left one only if its value
/// is within the left's bounds. `mfp` has the conditions, too: whoever looks at all pairs gives the same rows.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinRange {
    /// Over the right's columns; NULL is within no bounds.
    pub value: ScalarExpr,
    /// Over the left's columns: (bound, inclusive).
    pub lower: Option<(ScalarExpr, bool)>,
    /// Likewise.
    pub upper: Option<(ScalarExpr, bool)>,
    /// How many of the pairs of a left row that pass `mfp` are asked for; none asks for all.
    pub ends: Option<Ends>,
}

/// Pairs of a left row from both ends of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// So many with the least values.
    pub low: usize,
    /// So many with the greatest.
    pub high: usize,
    /// What orders right rows of equal values: (expression over the right's columns, descending, NULLs first), as seen from
    /// the low end.
    pub ties: Vec<(ScalarExpr, bool, bool)>,
}

/// A relation named within one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub usize);

/// How rows of one relation are found.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// All of them.
    Scan,
    /// All of them, or of a large table those with one of a long list of values, which `mfp` asks for, too.
    Listed {
        /// Primary key or index, of that one column.
        lookup: Lookup,
        /// The values.
        values: Arc<Array>,
    },
    /// All of them; or, where a join finds that what they meet has few keys, those of each key.
    Met {
        /// Primary key or index.
        lookup: Lookup,
        /// Its columns' places among the join's keys.
        places: Vec<usize>,
        /// Of more keys all rows are read.
        keys_max: usize,
    },
    /// Those whose key equals one of several (IN lists); duplicates in the list count once.
    Lookup {
        /// Primary key or index.
        lookup: Lookup,
        /// The keys: constants and parameters only, cast to the columns' types. A literal NULL stands for IS NULL, and a
        /// key may be of an index's first columns only, where `KeyForm::Ordered`. A parameter that is NULL finds nothing.
        keys: Vec<Vec<ScalarExpr>>,
        /// What else could find them, by sizes that are known late.
        besides: Besides,
    },
    /// Those that an inverted index finds for all of some conditions, if it is in memory; else all rows. `mfp` asks the
    /// conditions of each.
    Inverted {
        /// The index.
        index: IndexId,
        /// Which of its columns, what is asked of it, and the constant.
        conditions: Vec<(usize, Asked, ScalarExpr)>,
    },
    /// A range of a key or index in its order. Of relations with `KeyForm::Hashed` it is read where the order is in memory,
    /// and all rows where it is not: nothing above may rely on it, but for what `in_order` says.
    Range {
        /// Primary key or index.
        lookup: Lookup,
        /// Equality on the first columns.
        prefix: Vec<ScalarExpr>,
        /// Lower bound of the next column: (value, inclusive).
        lower: Option<(ScalarExpr, bool)>,
        /// Upper bound of the next column.
        upper: Option<(ScalarExpr, bool)>,
        /// From high to low.
        reverse: bool,
        /// How far the range is in the order that is asked for. Whoever reads all rows instead has to put them in order.
        in_order: InOrder,
    },
}

impl Access {
    /// The key or index that it names.
    pub fn lookup(&self) -> Option<Lookup> {
        match self {
            Access::Scan => None,
            Access::Inverted { index, .. } => Some(Lookup::Index(*index)),
            Access::Listed { lookup, .. }
            | Access::Met { lookup, .. }
            | Access::Lookup { lookup, .. }
            | Access::Range { lookup, .. } => Some(*lookup),
        }
    }
}

/// What could find the rows of a lookup besides its own key: of hashed indexes, whose entries are read before the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Besides {
    /// Nothing.
    None,
    /// Of one key: other indexes, with the value that its rows have there. Those that do not stand there need not be read.
    Narrowing(Vec<(IndexId, ScalarExpr)>),
    /// Of many whole keys: the index of a column of which all have the same value.
    InCommon {
        /// Where it is in the keys.
        place: usize,
        /// The index of this column alone.
        index: IndexId,
    },
}

/// The way that was chosen late, where an access leaves one to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Each key by itself.
    KeyByKey,
    /// The rows that all indexes lead to.
    WhereIndexesAgree,
    /// The rows of the value that all keys have in common.
    ByValueInCommon,
    /// All rows.
    AllRows,
    /// All rows were more than it is worth: then key by key.
    AllRowsThenKeys,
    /// By the inverted index in memory.
    Inverted,
    /// In the order in memory.
    InOrder,
    /// In the order in memory were not enough rows as far as it is worth: then all rows.
    InOrderThenAllRows,
}

impl Way {
    /// As EXPLAIN says it.
    pub fn words(self) -> &'static str {
        match self {
            Way::KeyByKey => "key by key",
            Way::WhereIndexesAgree => "where indexes agree",
            Way::ByValueInCommon => "by the value in common",
            Way::AllRows => "all rows",
            Way::AllRowsThenKeys => "all rows, then key by key",
            Way::Inverted => "by the index in memory",
            Way::InOrder => "in order",
            Way::InOrderThenAllRows => "in order, then all rows",
        }
    }
}

/// How far a range is in the order that a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InOrder {
    /// Nothing is known of it.
    No,
    /// As it was written; rows that are equal in that come in any order.
    ButForTies,
    /// Wholly: it stands by so many first columns of the key or index, then by the primary key.
    By {
        /// How many.
        columns: usize,
    },
}

impl InOrder {
    /// How many first columns of the key or index rows have to stand by; none if all.
    pub fn columns(self) -> Option<usize> {
        match self {
            InOrder::No | InOrder::ButForTies => None,
            InOrder::By { columns } => Some(columns),
        }
    }
}

/// The primary key, or an index with all its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// By primary key.
    PrimaryKey,
    /// By an index.
    Index(IndexId),
}

/// What the limit of the first rows counts. Peers are those that the written order leaves equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counting {
    /// Rows.
    Rows,
    /// Rows, and with the last of them its peers come: rows up to a rank. Never with OFFSET.
    RowsWithPeers,
    /// Groups of peers: rows up to a dense rank. Never with OFFSET.
    PeerGroups,
}

/// What becomes of an input row by its matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// One row per match.
    Inner,
    /// One row per match, or one with NULLs.
    Left,
    /// Once if there is a match.
    Semi,
    /// Once if there is none.
    Anti,
}

/// A subquery that locks rows.
#[derive(Clone, Debug, PartialEq)]
pub struct LockingQuery {
    /// By which the rows that it was left with are asked for.
    pub number: usize,
    /// The query.
    pub query: Arc<Query>,
    /// Of a LATERAL one: whose rows they are.
    pub groups: Option<LockGroups>,
}

/// A SELECT, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The relation.
    pub plan: Plan,
    /// How its rows become the result.
    pub finishing: Finishing,
    /// The result's columns.
    pub columns: Vec<OutputColumn>,
    /// FOR UPDATE/SHARE, by columns of `plan`.
    pub locks: Vec<RowLock>,
    /// Subqueries that lock rows, by number, to be run before it in this order: `table_func::LOCKED_ROWS` reads what they give.
    pub locking: Vec<LockingQuery>,
    /// It calls functions whose doing lasts until the transaction's end.
    pub acts: bool,
    /// It calls functions that somebody created.
    pub calls: bool,
    /// What it computes of literals and parameters alone and may fail: computed before any row is looked for.
    pub constants: Vec<ScalarExpr>,
}

impl Query {
    /// Whether it is of a transaction, though it only reads: there is something for its end to do.
    pub fn needs_transaction(&self) -> bool {
        self.acts || self.locks_rows()
    }

    /// Whether it locks rows, by itself or in a subquery.
    pub fn locks_rows(&self) -> bool {
        !self.locks.is_empty() || !self.locking.is_empty()
    }
}

/// Order, limits and projection of a result, outside the dataflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finishing {
    /// ORDER BY; empty if rows already come in order or none was asked.
    pub order_by: Vec<Order>,
    /// LIMIT, over no columns. NULL is no limit.
    pub limit: Option<ScalarExpr>,
    /// OFFSET.
    pub offset: Option<ScalarExpr>,
    /// Volatile expressions, over the plan's columns and one another: computed for rows that come out, in their order.
    pub late: Vec<ScalarExpr>,
    /// Output columns of the plan, then of `late`.
    pub project: Vec<usize>,
}

/// A write, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub enum WritePlan {
    /// INSERT, also under COPY FROM.
    Insert(InsertPlan),
    /// UPDATE [FROM].
    Update(UpdatePlan),
    /// DELETE [USING].
    Delete(DeletePlan),
    /// MERGE.
    Merge(MergePlan),
}

impl WritePlan {
    /// What gives its rows.
    pub fn source(&self) -> &Query {
        match self {
            WritePlan::Insert(plan) => &plan.source,
            WritePlan::Update(plan) => &plan.source,
            WritePlan::Delete(plan) => &plan.source,
            WritePlan::Merge(plan) => &plan.source,
        }
    }

    /// The table that it writes.
    pub fn table(&self) -> RelationId {
        match self {
            WritePlan::Insert(plan) => plan.table,
            WritePlan::Update(plan) => plan.table,
            WritePlan::Delete(plan) => plan.table,
            WritePlan::Merge(plan) => plan.table,
        }
    }

    /// The row that it is about, if a cursor stands on that.
    pub fn current_of(&self) -> Option<&CurrentOf> {
        match self {
            WritePlan::Update(plan) => plan.current_of.as_ref(),
            WritePlan::Delete(plan) => plan.current_of.as_ref(),
            WritePlan::Insert(_) | WritePlan::Merge(_) => None,
        }
    }

    /// RETURNING.
    pub fn returning(&self) -> Option<&Returning> {
        match self {
            WritePlan::Insert(plan) => plan.returning.as_ref(),
            WritePlan::Update(plan) => plan.returning.as_ref(),
            WritePlan::Delete(plan) => plan.returning.as_ref(),
            WritePlan::Merge(_) => None,
        }
    }

    /// The queries beside rows at hand.
    pub fn besides(&self) -> Vec<&Beside> {
        let mut besides: Vec<&Beside> =
            self.returning().and_then(|returning| returning.beside.as_ref()).into_iter().collect();
        if let WritePlan::Insert(InsertPlan { on_conflict: Some(conflict), .. }) = self
            && let ConflictAction::Update { beside, beside_condition, .. } = &conflict.action
        {
            besides.extend(beside_condition.iter().chain(beside));
        }
        let checks = match self {
            WritePlan::Insert(insert) => Some(&insert.checks),
            WritePlan::Update(update) => Some(&update.checks),
            WritePlan::Merge(merge) => Some(&merge.checks),
            WritePlan::Delete(_) => None,
        };
        besides.extend(checks.and_then(|checks| checks.views.as_ref()).and_then(|views| views.beside.as_ref()));
        besides
    }
}

/// What every stored row of a table must pass, in terms of its physical columns.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChecks {
    /// GENERATED columns, computed after all else is known: (column, expression).
    pub generated: Vec<(ColumnIndex, ScalarExpr)>,
    /// Columns of domains, with what is evaluated for its errors.
    pub domains: Vec<(ColumnIndex, ScalarExpr)>,
    /// NOT NULL columns.
    pub not_null: Vec<ColumnIndex>,
    /// CHECK: (constraint name, expression); false refuses, NULL passes.
    pub checks: Vec<(String, ScalarExpr)>,
    /// Conditions of partial indexes: what they give is no matter here, but an error refuses.
    pub index_predicates: Vec<ScalarExpr>,
    /// Conditions of policies and their kin; all but true refuses.
    pub terms: Vec<(RowTerm, ScalarExpr)>,
    /// WITH CHECK OPTION of the views by which the table is written.
    pub views: Option<ViewChecks>,
    /// Holds: (name, which rows); none are all. True keeps the row.
    pub holds: Vec<(String, Option<ScalarExpr>)>,
}

/// What views ask of rows that are written by them, once these are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewChecks {
    /// What the conditions read of other tables: columns behind the row's.
    pub beside: Option<Beside>,
    /// The view, and its condition: all but true refuses.
    pub conditions: Vec<(String, ScalarExpr)>,
}

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertPlan {
    /// Into which table.
    pub table: RelationId,
    /// Gives one value per physical column, defaults and casts applied (dropped and generated: NULL).
    pub source: Arc<Query>,
    /// What rows must pass.
    pub checks: RowChecks,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING over the stored row's physical columns.
    pub returning: Option<Returning>,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// The unique indexes that count as conflict; empty means any.
    pub arbiters: Vec<IndexId>,
    /// DO NOTHING, or DO UPDATE.
    pub action: ConflictAction,
}

/// DO NOTHING or DO UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictAction {
    /// The new row is left out.
    Nothing,
    /// The existing row is changed.
    Update {
        /// What SET reads of other tables.
        beside: Option<Beside>,
        /// Assignments over [existing physical row ++ EXCLUDED physical row ++ `beside`'s columns].
        assignments: Vec<(ColumnIndex, ScalarExpr)>,
        /// What WHERE reads of other tables.
        beside_condition: Option<Beside>,
        /// WHERE over [existing physical row ++ EXCLUDED physical row ++ `beside_condition`'s columns].
        condition: Option<ScalarExpr>,
    },
}

/// Columns that subqueries give for rows at hand: a row per row, in their order, over the statement's snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// Under which `table_func::ROWS_AT_HAND` reads the rows.
    pub number: usize,
    /// Gives the columns.
    pub query: Arc<Query>,
}

/// UPDATE. The source gives per target row: its n physical columns, its row key (column n), then what
/// the assignments and RETURNING need of other tables. A row matched twice is updated once.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdatePlan {
    /// Which table.
    pub table: RelationId,
    /// The rows and the context of each.
    pub source: Arc<Query>,
    /// Over the source's columns.
    pub assignments: Vec<(ColumnIndex, ScalarExpr)>,
    /// What the new rows must pass.
    pub checks: RowChecks,
    /// Over [new physical row, row key, rest of the source's columns].
    pub returning: Option<Returning>,
    /// WHERE CURRENT OF
    pub current_of: Option<CurrentOf>,
}

/// DELETE. Source as for UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletePlan {
    /// Which table.
    pub table: RelationId,
    /// The rows.
    pub source: Arc<Query>,
    /// Over the source's columns.
    pub returning: Option<Returning>,
    /// WHERE CURRENT OF
    pub current_of: Option<CurrentOf>,
}

/// MERGE. Source as for UPDATE; its row key is NULL where a row of the data source matches none.
#[derive(Clone, Debug, PartialEq)]
pub struct MergePlan {
    /// Which table.
    pub table: RelationId,
    /// The rows of the join.
    pub source: Arc<Query>,
    /// In their order: of those for a row the first counts whose condition holds.
    pub whens: Vec<MergeWhen>,
    /// What new rows must pass.
    pub checks: RowChecks,
}

/// WHEN … THEN.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeWhen {
    /// MATCHED, rather than NOT MATCHED.
    pub matched: bool,
    /// AND, over the source's columns.
    pub condition: Option<ScalarExpr>,
    /// THEN.
    pub action: MergeAction,
}

/// What becomes of a row: expressions over the source's columns.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// DO NOTHING
    Nothing,
    /// DELETE
    Delete,
    /// UPDATE SET
    Update(Vec<(ColumnIndex, ScalarExpr)>),
    /// INSERT: one value per physical column.
    Insert(Vec<ScalarExpr>),
}

/// RETURNING.
#[derive(Clone, Debug, PartialEq)]
pub struct Returning {
    /// Whether `xmax` stands behind the row's columns: 0 for a row that is new, the transaction's number for one that was there.
    pub has_xmax: bool,
    /// What they read of other tables: columns behind the row's.
    pub beside: Option<Beside>,
    /// The expressions.
    pub exprs: Vec<ScalarExpr>,
    /// Their names and types.
    pub columns: Vec<OutputColumn>,
}

/// Types of a plan's parameters, in order.
pub type ParamTypes = Vec<ColumnType>;
