//! Queries that run once, over one reader. Where they stand: session → plan → here → rows to `wire`.
//!
//! ```text
//! lookups, scans, their joins and groups   chains of pull iterators on the caller's thread    one_shot::stream
//! all else                                 a dataflow on a thread of the pool, fed in chunks   render::source
//! ```
//!
//! The plan's shape decides, the answers are the same. Both read through the `Reader` only, both end early:
//! when enough rows were pulled, at a cancel, at the deadline, past the memory limit, or when a data subject
//! in the snapshot was forgotten. Never writes (but for `nextval` and its like, through the environment).

pub mod expand;
pub mod get;
pub mod group;
pub mod hash_join;
mod held;
pub mod members;
pub mod packed;
pub mod pool;
pub mod profile;
pub mod range_join;
pub mod rounds;
pub mod stream;

pub use pool::add_dataflow_threads;
pub use state::interrupt::QueryLimits;

use crate::render::finish::Finish;
use packed::Whole;
use planner::plan::Query;
use planner::scalar::EvalContext;
use profile::Profile;
use repr::{Datum, RelationId, Row};
use state::SqlError;
use state::answer::{Answer, AnswerRow, QueryRows};
use state::interrupt::Watch;
use state::reader::Reader;
use std::sync::Arc;
use stream::{Locals, Pull, stream, streams};

/// The rows of catalog relations, which no storage holds.
pub trait SystemRows: Send + Sync {
    /// All rows of a catalog relation, of a numbered one those within the range, in its order; `None` if the relation is
    /// not one.
    fn rows(&self, relation: RelationId, numbers: &NumberRange) -> Option<Result<FoundRows, SqlError>>;
}

/// Rows as they are found.
pub type FoundRows = Box<dyn Iterator<Item = Result<Row, SqlError>> + Send>;

/// Which rows of a numbered relation are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberRange {
    /// From this number on.
    pub first: u64,
    /// Up to this one.
    pub last: u64,
    /// From high to low.
    pub reverse: bool,
}

impl NumberRange {
    /// All, in order.
    pub const ALL: NumberRange = NumberRange { first: 0, last: u64::MAX, reverse: false };
    /// None.
    pub const NONE: NumberRange = NumberRange { first: u64::MAX, last: 0, reverse: false };
}

/// No catalog relations: for evaluations below the level of statements.
pub struct NoSystemRows;

impl SystemRows for NoSystemRows {
    fn rows(&self, _relation: RelationId, _numbers: &NumberRange) -> Option<Result<FoundRows, SqlError>> {
        None
    }
}

/// What all parts of one query share.
#[derive(Clone)]
pub struct OneShot {
    /// What is read.
    pub reader: Arc<dyn Reader>,
    /// Catalog relations.
    pub system: Arc<dyn SystemRows>,
    /// What expressions are evaluated with.
    pub eval: EvalContext,
    /// What may end the query.
    pub watch: Arc<Watch>,
    /// What counts its operators, under EXPLAIN ANALYZE.
    pub profile: Option<Arc<Profile>>,
}

/// Runs a query without catalog relations.
pub fn run(
    query: Arc<Query>,
    reader: Arc<dyn Reader>,
    context: EvalContext,
    limits: QueryLimits,
) -> Result<QueryRows, SqlError> {
    run_with_system(query, reader, context, limits, Arc::new(NoSystemRows), None)
}

/// Runs a query. Errors that no row is needed for come at once, the rest from the iterator, which ends with them.
pub fn run_with_system(
    query: Arc<Query>,
    reader: Arc<dyn Reader>,
    context: EvalContext,
    limits: QueryLimits,
    system: Arc<dyn SystemRows>,
    profile: Option<Arc<Profile>>,
) -> Result<QueryRows, SqlError> {
    if let Some(profile) = &profile {
        profile.follow(&query.plan);
    }
    let ended = limits.ended.clone();
    // A scan needs no more than the leaves; the reader is what says for whom they are held.
    let held = reader.clone();
    let shot = OneShot { reader, system, eval: context, watch: Arc::new(Watch::new(limits)), profile };
    shot.watch.check()?;
    let rows = RunningQuery::try_new(query, |query| -> Result<Finish<'_>, SqlError> {
        if let Some(input) = get::in_order(query, &shot)? {
            return Finish::in_order(input, &query.finishing, &shot.eval, shot.watch.clone());
        }
        let input: Box<dyn Pull + '_> = if streams(&query.plan, &|_| false) {
            stream(&query.plan, &shot, &Arc::new(Locals::new()))?
        } else {
            Box::new(Whole::new(pool::start(query.clone(), shot.clone())?))
        };
        Finish::new(input, &query.finishing, &shot.eval, shot.watch.clone())
    })?;
    Ok(QueryRows::of(HeldQuery { rows, ended, _held: held }))
}

self_cell::self_cell!(
    /// The rows, beside the plan that they borrow.
    struct RunningQuery {
        owner: Arc<Query>,
        #[covariant]
        dependent: Finish,
    }
);

/// The rows, as long as the snapshot is one that may be read.
struct HeldQuery {
    rows: RunningQuery,
    ended: Arc<dyn Fn() -> Option<SqlError> + Send + Sync>,
    _held: Arc<dyn Reader>,
}

impl Answer for HeldQuery {
    fn advance(&mut self) -> Result<bool, SqlError> {
        let found = self.rows.with_dependent_mut(|_query, finish| finish.advance())?;
        // A portal or cursor is pulled long after its rows were found: none is given once the snapshot has ended.
        match (self.ended)() {
            Some(error) if found => Err(error),
            Some(_) | None => Ok(found),
        }
    }

    fn row(&mut self) -> AnswerRow<'_> {
        self.rows.with_dependent_mut(|_query, finish| finish.row())
    }

    fn take(&mut self) -> Vec<Datum> {
        self.rows.with_dependent_mut(|_query, finish| finish.take())
    }
}
