//! SUBSCRIBE's query as what is watched: a view by key, which all who ask for a query of its shape share.
//!
//! ```text
//! WHERE a = $1                      ─▶  Watched::ByKey    one view, whatever $1 is
//! WHERE a > $1, LIMIT $1, …         ─▶  Watched::ByValue  one view for each value: known when it begins
//! WHERE t > '2026-01-01'            ─▶  Watched::ByValue  the same: the session's time zone says which moment that is
//! ```
//!
//! Never gives up because of a parameter: what cannot be a key is put into the plan with its value.

use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::hir::{HirQuery, OutputColumn};
use crate::lift::{AbsentKeys, Lifted, lift, waits_for_session, waits_for_values};
use crate::lower::{MirQuery, lower_query};
use crate::mir::Mir;
use crate::parse::statement::{Identifier, SubscribeForm, SubscribeOrder, SubscribeTerms};
use crate::plan::{Counting, Query};
use crate::scalar::{EvalContext, Order, ScalarExpr, collation};
use repr::{ColumnType, Datum, ScalarType};
use std::borrow::Cow;
use std::sync::Arc;

/// SUBSCRIBE, ready to run.
#[derive(Clone)]
pub struct SubscribePlan {
    /// What is watched, and which keys of it.
    pub watched: Watched,
    /// `dogwood_time`, `dogwood_diff` or `dogwood_state`, then what is told of the query's.
    pub columns: Vec<OutputColumn>,
    /// From when to when.
    pub terms: SubscribeTerms,
    /// How the changes of one time are told.
    pub told: ToldForm,
    /// The query's text.
    pub text: String,
    /// The query by itself, whose rows are what is watched.
    pub query: Arc<Query>,
    /// The same over tables alone, if it reads maintained views: for when rows of these cannot be evaluated.
    pub expanded: Option<Arc<SubscribePlan>>,
}

/// How the changes of one time are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldForm {
    /// Row by row.
    Diffs,
    /// Row by row, in this order of the columns that are told.
    Ordered(Vec<Order>),
    /// What each key has now.
    Upsert(KeyedColumns),
    /// What each key had and has.
    Debezium(KeyedColumns),
}

/// The query's columns, parted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedColumns {
    /// The key's, in its order.
    pub key: Vec<usize>,
    /// The others.
    pub others: Vec<usize>,
}

/// What is watched.
#[derive(Clone)]
pub enum Watched {
    /// Keys of a view.
    ByKey(Lifted),
    /// What the query is for the parameters' values, which no key can say, and for who reads its literals.
    ByValue(Box<MirQuery>),
}

impl Watched {
    /// The view, and the keys of it, for these values of the parameters, in that session.
    ///
    /// # Errors
    /// Those of planning; 0A000 if the query cannot be maintained.
    pub fn with(&self, context: &EvalContext, catalog: &Catalog) -> Result<Cow<'_, Lifted>, PlanError> {
        match self {
            Watched::ByKey(lifted) => Ok(Cow::Borrowed(lifted)),
            Watched::ByValue(query) => {
                let mut query = MirQuery::clone(query);
                give_values(&mut query.relation, &context.params);
                read_literals(&mut query.relation, context);
                lift(query, catalog, AbsentKeys::Avoided, None)?.map(Cow::Owned).map_err(refused)
            }
        }
    }
}

/// What of a query is watched.
pub(crate) fn watched(query: &HirQuery, catalog: &Catalog) -> Result<Watched, PlanError> {
    let mut lowered = lower_query(query, catalog)?;
    // The first rows are watched, rather than the rows and then cut.
    if lowered.finishing.limit.is_some() || lowered.finishing.offset.is_some() {
        lowered.relation = Mir::TopK {
            input: Box::new(lowered.relation),
            keys: Vec::new(),
            order: lowered.finishing.order_by.clone(),
            limit: lowered.finishing.limit.take(),
            offset: lowered.finishing.offset.take(),
            counting: Counting::Rows,
        };
    }
    lowered.finishing.order_by.clear();
    match lift(lowered.clone(), catalog, AbsentKeys::Avoided, None)? {
        Ok(lifted) => Ok(Watched::ByKey(lifted)),
        Err(reason) if waits_for_values(&reason) => Ok(Watched::ByValue(Box::new(lowered))),
        Err(reason) if waits_for_session(&reason) => {
            // Whether that is all is seen as some session would read them.
            let mut read = lowered.clone();
            read_literals(&mut read.relation, &EvalContext::immutable());
            match lift(read, catalog, AbsentKeys::Avoided, None)? {
                Err(reason) if !waits_for_values(&reason) => Err(refused(reason)),
                _ => Ok(Watched::ByValue(Box::new(lowered))),
            }
        }
        Err(reason) => Err(refused(reason)),
    }
}

/// How changes of these columns are told, and the columns of that.
pub(crate) fn told(form: &SubscribeForm, columns: &[OutputColumn]) -> Result<(ToldForm, Vec<OutputColumn>), PlanError> {
    let own = |name: &str, scalar: ScalarType| OutputColumn {
        name: name.into(),
        column_type: ColumnType::nullable(scalar),
        origin: None,
    };
    let time = own("dogwood_time", ScalarType::Int8);
    let state = own("dogwood_state", ScalarType::Text);
    // What is not there is NULL.
    let side = |side: &str, column: &usize| {
        let OutputColumn { name, column_type, .. } = &columns[*column];
        own(&format!("{side}{name}"), column_type.scalar.clone())
    };
    let keys = |keyed: &KeyedColumns| keyed.key.iter().map(|column| columns[*column].clone()).collect::<Vec<_>>();
    Ok(match form {
        SubscribeForm::Diffs | SubscribeForm::Ordered(_) => {
            let told: Vec<OutputColumn> =
                [time, own("dogwood_diff", ScalarType::Int8)].into_iter().chain(columns.iter().cloned()).collect();
            let form = match form {
                SubscribeForm::Ordered(order) => {
                    ToldForm::Ordered(order.iter().map(|item| ordered_by(item, &told)).collect::<Result<_, _>>()?)
                }
                _ => ToldForm::Diffs,
            };
            (form, told)
        }
        SubscribeForm::Upsert(key) => {
            let keyed = keyed(key, columns)?;
            let others = keyed.others.iter().map(|column| side("", column));
            let told = [time, state].into_iter().chain(keys(&keyed)).chain(others).collect();
            (ToldForm::Upsert(keyed), told)
        }
        SubscribeForm::Debezium(key) => {
            let keyed = keyed(key, columns)?;
            let before = keyed.others.iter().map(|column| side("before_", column));
            let after = keyed.others.iter().map(|column| side("after_", column));
            let told = [time, state].into_iter().chain(keys(&keyed)).chain(before).chain(after).collect();
            (ToldForm::Debezium(keyed), told)
        }
    })
}

fn keyed(names: &[Identifier], columns: &[OutputColumn]) -> Result<KeyedColumns, PlanError> {
    let mut key = Vec::new();
    for name in names {
        let column = find(name, columns)?;
        let scalar = &columns[column].column_type.scalar;
        if scalar.is_without_equality() {
            let message = format!("could not identify an equality operator for type {}", scalar.name());
            return Err(PlanError::new("42883", message).at(Some(name.position)));
        }
        if key.contains(&column) {
            let message = format!("column \"{}\" appears twice in the key", name.name);
            return Err(PlanError::new("42701", message).at(Some(name.position)));
        }
        key.push(column);
    }
    let others = (0..columns.len()).filter(|column| !key.contains(column)).collect();
    Ok(KeyedColumns { key, others })
}

fn ordered_by(item: &SubscribeOrder, told: &[OutputColumn]) -> Result<Order, PlanError> {
    let column = find(&item.column, told)?;
    let scalar = &told[column].column_type.scalar;
    if !scalar.is_ordered() {
        let message = format!("could not identify an ordering operator for type {}", scalar.name());
        return Err(PlanError::new("42883", message).at(Some(item.column.position)));
    }
    let own = told[column].column_type.collation;
    if collation::has_keys(own) {
        return Err(PlanError::unsupported(format!("ORDER BY of collation {}", collation::quoted(own)))
            .hint("Subscribe without it, and order the rows where they arrive.")
            .at(Some(item.column.position)));
    }
    Ok(Order { column, descending: item.descending, nulls_first: item.nulls_first, tie: false })
}

/// The one column of this name.
fn find(name: &Identifier, columns: &[OutputColumn]) -> Result<usize, PlanError> {
    let mut named = columns.iter().enumerate().filter(|(_, column)| column.name == name.name);
    match (named.next(), named.next()) {
        (Some((column, _)), None) => Ok(column),
        (None, _) => {
            let message = format!("column \"{}\" does not exist", name.name);
            Err(PlanError::new("42703", message)
                .hint("Name a column of what is subscribed to.")
                .at(Some(name.position)))
        }
        (Some(_), Some(_)) => {
            let message = format!("column reference \"{}\" is ambiguous", name.name);
            Err(PlanError::new("42702", message).at(Some(name.position)))
        }
    }
}

fn refused(reason: String) -> PlanError {
    PlanError::unsupported("SUBSCRIBE to this query").hint(format!("it cannot be maintained: {reason}"))
}

/// Has the session read the literals that depend on it.
fn read_literals(mir: &mut Mir, context: &EvalContext) {
    mir.exprs_mut().into_iter().for_each(|own| own.fold_of_session(context));
    mir.children_mut().into_iter().for_each(|child| read_literals(child, context));
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
