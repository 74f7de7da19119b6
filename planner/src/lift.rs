//! Parameters become keys: one view for every execution of a query.
//!
//! ```text
//! SELECT … WHERE s.id = $1 AND …      ─▶   the same without that condition, s.id appended to its columns,
//!                                          and "the rows whose s.id is $1"
//! ```
//!
//! A condition `expression = parameter` can be moved up as a column through anything that works row by row,
//! and through groups, limits and windows by making it part of their key. A query without parameters has its
//! literals lifted instead, so that ad-hoc statements of one shape share a view. Done on the MIR as lowered.

mod copies;
mod lifting;

use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::lower::MirQuery;
use crate::mir::Mir;
use crate::names::Names;
use crate::physical::{self, MaintainedPlan};
use crate::plan::{Finishing, Query};
use crate::scalar::{EvalContext, Order, ScalarExpr, Volatility};
use crate::temporal;
use crate::transform::{self, reuse};
use lifting::Lifting;
use repr::id::is_temporary;
use repr::{RelationId, ValueError};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A view that is asked for ranks holds the rows up to one of these: the first that is no less than what is asked for.
pub const RANKS_HELD: [i64; 5] = [16, 64, 256, 1_024, 4_096];

const PARAMETER: &str = "a parameter is used other than by equality with a column";
const OF_SESSION: &str = "it depends on the session, the clock or chance";
const APART: &str = "branches of a UNION ask for different keys";

/// A query as a view that is asked by key.
#[derive(Clone, Debug, PartialEq)]
pub struct Lifted {
    /// What is maintained. Its rows are those that `finishing` stands over.
    pub view: MaintainedPlan,
    /// Two queries of the same identity share a view.
    pub identity: String,
    /// Columns of the view's rows that are the key.
    pub key: Vec<usize>,
    /// Which keys are asked for: those of each alternative (the branches of a UNION ALL may ask for different ones).
    pub asked: Vec<Vec<KeyValues>>,
    /// How the rows of those keys become the result.
    pub finishing: Finishing,
    /// The tables and maintained views that it reads.
    pub reads: BTreeSet<RelationId>,
    /// What the result is for a key that the view has no rows for.
    pub absent: Absent,
    /// The result has each row once, but rows of several keys can be equal in the columns before the key.
    pub distinct: bool,
    /// It is what a role sees of one maintained view: worth keeping as a whole, as that is.
    pub of_kept_view: bool,
}

impl Lifted {
    /// Up to which rank it holds rows, if it is asked for ranks.
    pub fn ranks_held(&self) -> Option<i64> {
        self.asked.iter().flatten().find_map(|values| match values {
            KeyValues::Ranks(range) => Some(range.held),
            KeyValues::One(_) | KeyValues::Several(_) | KeyValues::Elements(_) | KeyValues::Absent => None,
        })
    }
}

/// The result for a key that a view has no rows for.
#[derive(Clone, Debug, PartialEq)]
pub enum Absent {
    /// It has no rows.
    Empty,
    /// That of this query, whichever the key: the groups over no rows (a count of zero). It reads no table.
    Known(Arc<Query>),
    /// It has to be computed, key by key.
    Computed,
}

/// What becomes of keys that a view has no rows for, though the query has a result for them (a count of zero).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsentKeys {
    /// Readers compute it.
    Computed,
    /// There must be none: conditions stay below such groups.
    Avoided,
}

/// The values of one column of the key: constants and parameters only.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyValues {
    /// One.
    One(ScalarExpr),
    /// Each of several.
    Several(Vec<ScalarExpr>),
    /// Each element of an array.
    Elements(ScalarExpr),
    /// Each rank of these.
    Ranks(RankRange),
    /// This branch of a UNION has no such column: it is NULL in all its rows.
    Absent,
}

/// Ranks from one on up to another, by integers that are known when the view is read.
#[derive(Clone, Debug, PartialEq)]
pub struct RankRange {
    /// From the first on, if there is none.
    pub first: Option<RankEnd>,
    /// Up to there.
    pub last: RankEnd,
    /// Rows of greater ranks are not in the view.
    pub held: i64,
}

/// An end of a range of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct RankEnd {
    /// An integer, over no columns.
    pub value: ScalarExpr,
    /// Whether it is among them.
    pub inclusive: bool,
}

impl RankRange {
    /// The ranks: none beside NULL.
    ///
    /// # Errors
    /// Those of the values.
    pub fn ranks(&self, eval: &EvalContext) -> Result<RangeInclusive<i64>, ValueError> {
        let value = |end: &RankEnd| Ok::<_, ValueError>((end.value.eval(&[], eval)?.as_i64(), end.inclusive));
        let last = match value(&self.last)? {
            (Some(last), true) => last,
            (Some(last), false) => last.saturating_sub(1),
            (None, _) => 0,
        };
        let first = match self.first.as_ref().map(value).transpose()? {
            None => 1,
            Some((Some(first), true)) => first.max(1),
            Some((Some(first), false)) => first.saturating_add(1).max(1),
            Some((None, _)) => return Ok(RangeInclusive::new(1, 0)),
        };
        Ok(first..=last)
    }
}

/// Whether a reason is none any more once the session has read the literals, if these are what depends on it.
pub(crate) fn waits_for_session(reason: &str) -> bool {
    reason == OF_SESSION
}

/// Whether a reason is none any more once the parameters' values are known.
pub(crate) fn waits_for_values(reason: &str) -> bool {
    reason == PARAMETER || reason == APART
}

/// Makes a query a view by key. The reason if that cannot be. With `ranks_held` parameters may be compared with ranks, too:
/// rows of greater ranks are not in the view.
///
/// # Errors
/// Those of planning.
pub fn lift(
    query: MirQuery,
    catalog: &Catalog,
    absent: AbsentKeys,
    ranks_held: Option<i64>,
) -> Result<Result<Lifted, String>, PlanError> {
    if !query.locks.is_empty() {
        return Ok(Err("it locks rows".into()));
    }
    // What is used once says more where it stands.
    let query = MirQuery { relation: reuse::inline(query.relation), ..query };
    let union = match absent {
        AbsentKeys::Computed => union_without_distinct(&query),
        AbsentKeys::Avoided => None,
    };
    let lifted = lift_relation(query, catalog, (Lifting::new(absent, ranks_held), absent), false)?;
    let has_key = |lifted: &Result<Lifted, String>| lifted.as_ref().is_ok_and(|lifted| !lifted.key.is_empty());
    let Some(union) = union.filter(|_| !has_key(&lifted)) else { return Ok(lifted) };
    // Its branches are asked for different keys: readers make the rows distinct.
    let apart = lift_relation(union, catalog, (Lifting::new(absent, ranks_held), absent), true)?;
    Ok(if has_key(&apart) { apart } else { lifted })
}

/// A query that is a UNION as the UNION ALL below it.
fn union_without_distinct(query: &MirQuery) -> Option<MirQuery> {
    let Mir::Reduce { input, keys, aggregates, scalar: false } = &query.relation else { return None };
    let every = keys.iter().cloned().eq((0..input.arity()).map(ScalarExpr::Column));
    (every && aggregates.is_empty() && matches!(**input, Mir::Union(..)))
        .then(|| MirQuery { relation: (**input).clone(), ..query.clone() })
}

fn lift_relation(
    query: MirQuery,
    catalog: &Catalog,
    (mut lifting, absent_keys): (Lifting, AbsentKeys),
    distinct: bool,
) -> Result<Result<Lifted, String>, PlanError> {
    lifting.literals = !mentions_parameters(&query.relation);
    let MirQuery { relation, finishing, columns, locks, next_local } = query;
    let arity = relation.arity();
    let without_rows = over_no_rows(&relation);
    let relation = lifting.lift(relation);
    match maintainable(&relation, catalog, absent_keys) {
        Ok(()) => {}
        Err(reason) if lifting.apart && reason == PARAMETER => return Ok(Err(APART.into())),
        Err(reason) => return Ok(Err(reason)),
    }
    let absent = match without_rows {
        _ if !lifting.scalar => Absent::Empty,
        None => Absent::Computed,
        Some(relation) => {
            let (finishing, columns) = (finishing.clone(), columns.clone());
            let query = MirQuery { relation, finishing, columns, locks: Vec::new(), next_local };
            Absent::Known(Arc::new(physical::query(transform::optimize(query, catalog)?, catalog, catalog)?))
        }
    };
    let mut read = BTreeSet::new();
    reads(&relation, &mut read);
    // Rows are distinct by all columns, shown or not.
    let whole = if distinct { 0..arity } else { 0..0 };
    let shown = finishing.project.iter().copied().chain(finishing.order_by.iter().map(|order| order.column));
    let own: BTreeSet<usize> = shown.chain(whole).collect();
    let own: Vec<usize> = own.into_iter().collect();
    let place = |column: &usize| own.iter().position(|kept| kept == column).unwrap_or(0);
    let outer = Finishing {
        order_by: finishing.order_by.iter().map(|order| Order { column: place(&order.column), ..*order }).collect(),
        late: Vec::new(),
        project: finishing.project.iter().map(&place).collect(),
        limit: finishing.limit,
        offset: finishing.offset,
    };
    let (kept, key) = kept(&relation, own, arity, distinct);
    let inner = Finishing { order_by: finishing.order_by, limit: None, offset: None, late: Vec::new(), project: kept };
    let optimized = transform::optimize(MirQuery { relation, finishing: inner, columns, locks, next_local }, catalog)?;
    if temporal::set_apart(&mut optimized.relation.clone()).is_err() {
        return Ok(Err(OF_SESSION.into()));
    }
    // Plans have no statistics or clocks in them: equal text is an equal view.
    let identity = format!("{:?} by {:?}, {key:?}", optimized.relation, optimized.finishing);
    let view = physical::maintained(optimized, catalog)?;
    Ok(Ok(Lifted {
        view,
        identity,
        key,
        asked: lifting.asked,
        finishing: outer,
        reads: read,
        absent,
        distinct,
        of_kept_view: false,
    }))
}

/// The columns that a view holds: those that are shown and, behind them, of those that were lifted the ones that are not
/// shown anyway. Which of them are the key.
fn kept(relation: &Mir, own: Vec<usize>, arity: usize, distinct: bool) -> (Vec<usize>, Vec<usize>) {
    let mut kept = own;
    let mut key = Vec::with_capacity(relation.arity() - arity);
    for lifted in arity..relation.arity() {
        let source = copies::source(relation, lifted);
        let is_copy = |own: &usize| copies::source(relation, *own) == source;
        // Rows that are made distinct end where the key begins.
        let shown = if distinct { None } else { kept.iter().position(is_copy) };
        key.push(shown.unwrap_or(kept.len()));
        if shown.is_none() {
            kept.push(lifted);
        }
    }
    (kept, key)
}

/// The relation as it is over no rows, if it is one group of them all and what is computed of that. Whatever is lifted
/// then restricts the group's rows: a key that has no group has no rows. A group below, or a filter above, leaves that open.
fn over_no_rows(mir: &Mir) -> Option<Mir> {
    match mir {
        Mir::Reduce { input, keys, aggregates, scalar: true } if keys.is_empty() && !has_scalar_group(input) => {
            let input =
                Box::new(Mir::Constant { rows: Vec::new(), types: input.types().into(), names: Names::default() });
            Some(Mir::Reduce { input, keys: Vec::new(), aggregates: aggregates.clone(), scalar: true })
        }
        Mir::Map { input, exprs } => Some(over_no_rows(input)?.map(exprs.clone())),
        Mir::Project { input, columns } => Some(over_no_rows(input)?.project(columns.clone())),
        _ => None,
    }
}

/// Whether there is a group in it that has a row without rows.
fn has_scalar_group(mir: &Mir) -> bool {
    matches!(mir, Mir::Reduce { scalar: true, .. }) || mir.children().into_iter().any(has_scalar_group)
}

/// Why a relation cannot be maintained, if it cannot.
fn maintainable(mir: &Mir, catalog: &Catalog, absent: AbsentKeys) -> Result<(), String> {
    if let Mir::Get { relation, with_key, .. } = mir {
        return match catalog.table(*relation) {
            _ if *with_key => Err("it locks or names stored rows".into()),
            _ if is_temporary(relation.0) => Err("it reads a temporary table".into()),
            None => Err("it reads a catalog relation".into()),
            Some(_) => Ok(()),
        };
    }
    if has_frame_by_parameter(mir) {
        return Err(PARAMETER.into());
    }
    for own in mir.clone().exprs_mut() {
        if mentions_parameter(own) {
            return Err(PARAMETER.into());
        }
        // Where it stands is looked at once predicates have moved.
        let is_temporal = temporal::reads_clock(own)
            && match absent {
                // Whoever asks has a time zone of its own.
                AbsentKeys::Computed => temporal::is_of_no_zone(own),
                AbsentKeys::Avoided => temporal::is_of_utc(own),
            };
        if own.volatility() != Volatility::Immutable && !is_temporal {
            return Err(OF_SESSION.into());
        }
    }
    mir.children().into_iter().try_for_each(|child| maintainable(child, catalog, absent))
}

/// The stored relations in a relation.
fn reads(mir: &Mir, found: &mut BTreeSet<RelationId>) {
    if let Mir::Get { relation, .. } = mir {
        found.insert(*relation);
    }
    mir.children().into_iter().for_each(|child| reads(child, found));
}

/// Whether it has a window whose frame goes as far as a parameter says.
fn has_frame_by_parameter(mir: &Mir) -> bool {
    matches!(mir, Mir::Window { calls, .. } if calls.iter().any(|call| call.frame.parameter().is_some()))
}

fn mentions_parameters(mir: &Mir) -> bool {
    has_frame_by_parameter(mir)
        || mir.clone().exprs_mut().into_iter().any(|own| mentions_parameter(own))
        || mir.children().into_iter().any(mentions_parameters)
}

fn mentions_parameter(expr: &ScalarExpr) -> bool {
    matches!(expr, ScalarExpr::Param(..)) || expr.children().into_iter().any(mentions_parameter)
}
