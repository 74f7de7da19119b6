//! Queries that run once, over one reader. Where they stand: session → plan → here → rows to `wire`.
//!
//! ```text
//! plan ─▶ open ─▶ operators, pulled on the caller's thread ─▶ finish ─▶ rows
//! ```
//! They read through the `Reader` only, and end early: when enough rows were pulled, at a cancel, at the deadline, past the
//! memory limit, or when a data subject in the snapshot was forgotten. Never write (but for `nextval` and its like, through
//! the environment).

use crate::finish::Finish;
use crate::get::{self, RangeFirst};
use crate::once::{NoSystemRows, OneShot, SystemRows};
use crate::open::open;
use crate::profile::Profile;
use planner::plan::{Finishing, Plan, Query};
use planner::scalar::EvalContext;
use repr::{Datum, Row, poll};
use state::SqlError;
use state::answer::{Answer, AnswerRow, QueryRows};
pub use state::interrupt::QueryLimits;
use state::interrupt::Watch;
use state::reader::Reader;
use std::sync::Arc;

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
        let input = match get::in_order(query, &shot)? {
            Some(RangeFirst::InOrder(input)) => {
                return Finish::in_order(input, &query.finishing, &shot.eval, shot.watch.clone());
            }
            Some(RangeFirst::Unordered(input)) => input,
            None => open(&query.plan, &shot, &Arc::default())?,
        };
        Finish::new(input, &query.finishing, &shot.eval, shot.watch.clone())
    })?;
    Ok(QueryRows::of(HeldQuery { rows, ended, _held: held }))
}

/// More rows go through operators, which hear of a cancel between them.
const COMPUTED_ROWS_MAX: usize = 64;

/// The rows of a query that computes something of a few constants and reads nothing, as an INSERT's VALUES mostly do: no operator
/// is opened for them. None of any other query.
pub fn computed(query: &Query, context: &EvalContext) -> Option<Result<Vec<Vec<Datum>>, SqlError>> {
    let (input, mfp) = match &query.plan {
        Plan::Mfp(input, mfp) => (&**input, Some(mfp)),
        plan => (plan, None),
    };
    let (Plan::Constant { rows, .. }, Finishing { order_by, limit: None, offset: None, late, project }) =
        (input, &query.finishing)
    else {
        return None;
    };
    if rows.len() > COMPUTED_ROWS_MAX || !order_by.is_empty() || query.locks_rows() {
        return None;
    }
    let row = |constants: &Row| -> Result<Option<Vec<Datum>>, SqlError> {
        poll::step()?;
        let mut row = constants.unpack();
        if let Some(mfp) = mfp
            && !mfp.evaluate(&mut row, context)?
        {
            return Ok(None);
        }
        for expr in late {
            let value = expr.eval(&row, context)?;
            row.push(value);
        }
        if !project.iter().copied().eq(0..row.len()) {
            row = project.iter().map(|column| row[*column].clone()).collect();
        }
        Ok(Some(row))
    };
    Some(rows.iter().filter_map(|constants| row(constants).transpose()).collect())
}

/// Tells the profile which way a query's rows would be found now, and reads none.
pub fn foresee(
    query: &Query,
    reader: Arc<dyn Reader>,
    context: EvalContext,
    limits: QueryLimits,
    profile: Arc<Profile>,
) {
    let watch = Arc::new(Watch::new(limits));
    let shot = OneShot { reader, system: Arc::new(NoSystemRows), eval: context, watch, profile: Some(profile) };
    get::foresee(query, &shot);
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
