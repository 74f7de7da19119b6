//! SUBSCRIBE's query as what is watched: a view by key, which all who ask for a query of its shape share.
//!
//! ```text
//! WHERE a = $1                      ─▶  Watched::ByKey    one view, whatever $1 is
//! WHERE a > $1, LIMIT $1, …         ─▶  Watched::ByValue  one view for each value: known when it begins
//! ```
//!
//! Never gives up because of a parameter: what cannot be a key is put into the plan with its value.

use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::hir::{HirQuery, OutputColumn};
use crate::lift::{AbsentKeys, Lifted, lift, waits_for_values};
use crate::lower::{MirQuery, lower_query};
use crate::mir::Mir;
use crate::plan::Query;
use crate::scalar::ScalarExpr;
use repr::{ColumnType, CommitTime, Datum, ScalarType};
use std::borrow::Cow;
use std::sync::Arc;

/// SUBSCRIBE, ready to run.
#[derive(Clone)]
pub struct SubscribePlan {
    /// What is watched, and which keys of it.
    pub watched: Watched,
    /// `dogwood_time`, `dogwood_diff`, then the query's.
    pub columns: Vec<OutputColumn>,
    /// Begins with the rows as they are.
    pub snapshot: bool,
    /// Says from time to time that nothing more will come up to a time.
    pub progress: bool,
    /// Goes on after this time.
    pub as_of: Option<CommitTime>,
    /// The query's text.
    pub text: String,
    /// The query by itself, whose rows are what is watched.
    pub query: Arc<Query>,
    /// The same over tables alone, if it reads maintained views: for when rows of these cannot be evaluated.
    pub expanded: Option<Arc<SubscribePlan>>,
}

/// What is watched.
#[derive(Clone)]
pub enum Watched {
    /// Keys of a view.
    ByKey(Lifted),
    /// What the query is for the parameters' values, which no key can say.
    ByValue(Box<MirQuery>),
}

impl Watched {
    /// The view, and the keys of it, for these values of the parameters.
    ///
    /// # Errors
    /// Those of planning; 0A000 if the query cannot be maintained.
    pub fn with(&self, params: &[Datum], catalog: &Catalog) -> Result<Cow<'_, Lifted>, PlanError> {
        match self {
            Watched::ByKey(lifted) => Ok(Cow::Borrowed(lifted)),
            Watched::ByValue(query) => {
                let mut query = MirQuery::clone(query);
                give_values(&mut query.relation, params);
                lift(query, catalog, AbsentKeys::Avoided)?.map(Cow::Owned).map_err(refused)
            }
        }
    }
}

/// What is watched, and its columns after `dogwood_time` and `dogwood_diff`.
pub(crate) fn subscribe(query: &HirQuery, catalog: &Catalog) -> Result<(Watched, Vec<OutputColumn>), PlanError> {
    let mut lowered = lower_query(query, catalog)?;
    // The first rows are watched, rather than the rows and then cut.
    if lowered.finishing.limit.is_some() || lowered.finishing.offset.is_some() {
        lowered.relation = Mir::TopK {
            input: Box::new(lowered.relation),
            keys: Vec::new(),
            order: lowered.finishing.order_by.clone(),
            limit: lowered.finishing.limit.take(),
            offset: lowered.finishing.offset.take(),
        };
    }
    lowered.finishing.order_by.clear();
    let watched = match lift(lowered.clone(), catalog, AbsentKeys::Avoided)? {
        Ok(lifted) => Watched::ByKey(lifted),
        Err(reason) if waits_for_values(&reason) => Watched::ByValue(Box::new(lowered)),
        Err(reason) => return Err(refused(reason)),
    };
    let number = |name: &str| OutputColumn {
        name: name.into(),
        column_type: ColumnType::nullable(ScalarType::Int8),
        origin: None,
    };
    let columns = [number("dogwood_time"), number("dogwood_diff")].into_iter().chain(query.columns.clone());
    Ok((watched, columns.collect()))
}

fn refused(reason: String) -> PlanError {
    PlanError::unsupported("SUBSCRIBE to this query").hint(format!("it cannot be maintained: {reason}"))
}

/// Puts the parameters' values where they are named.
fn give_values(mir: &mut Mir, params: &[Datum]) {
    let mut give = |expr: &mut ScalarExpr| {
        if let ScalarExpr::Param(index, scalar) = expr
            && let Some(value) = params.get(*index)
        {
            *expr = ScalarExpr::Literal(value.clone(), ColumnType::nullable(scalar.clone()));
        }
    };
    mir.exprs_mut().into_iter().for_each(|own| own.visit_mut(&mut give));
    mir.children_mut().into_iter().for_each(|child| give_values(child, params));
}
