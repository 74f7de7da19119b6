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

use crate::catalog::{Catalog, Table};
use crate::error::PlanError;
use crate::lower::MirQuery;
use crate::mir::{Mir, expr};
use crate::physical::{self, MaintainedPlan};
use crate::plan::{Finishing, MatchKind, Query};
use crate::scalar::{Order, ScalarExpr, Volatility};
use crate::transform::{self, shape};
use repr::{ColumnType, Datum, RelationId, ScalarType};
use std::collections::BTreeSet;
use std::sync::Arc;

const PARAMETER: &str = "a parameter is used other than by equality with a column";
const APART: &str = "branches of a UNION ask for different keys";

// Alternatives of one query. Unions of unions multiply them.
const ALTERNATIVES_MAX: usize = 64;

/// A query as a view that is asked by key.
#[derive(Clone, Debug, PartialEq)]
pub struct Lifted {
    /// What is maintained. Its rows are those that `finishing` stands over.
    pub view: MaintainedPlan,
    /// Two queries of the same identity share a view.
    pub identity: String,
    /// Columns of the view's rows that are the key.
    pub key: Vec<usize>,
    /// What they are called where they come from.
    pub key_names: Vec<String>,
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
    /// This branch of a UNION has no such column: it is NULL in all its rows.
    Absent,
}

/// Whether a reason is none any more once the parameters' values are known.
pub(crate) fn waits_for_values(reason: &str) -> bool {
    reason == PARAMETER || reason == APART
}

/// Makes a query a view by key. The reason if that cannot be.
///
/// # Errors
/// Those of planning.
pub fn lift(query: MirQuery, catalog: &Catalog, absent: AbsentKeys) -> Result<Result<Lifted, String>, PlanError> {
    if !query.locks.is_empty() {
        return Ok(Err("it locks rows".into()));
    }
    let union = match absent {
        AbsentKeys::Computed => union_without_distinct(&query),
        AbsentKeys::Avoided => None,
    };
    let lifted = lift_relation(query, catalog, absent, false)?;
    let has_key = |lifted: &Result<Lifted, String>| lifted.as_ref().is_ok_and(|lifted| !lifted.key.is_empty());
    let Some(union) = union.filter(|_| !has_key(&lifted)) else { return Ok(lifted) };
    // Its branches are asked for different keys: readers make the rows distinct.
    let apart = lift_relation(union, catalog, absent, true)?;
    Ok(if has_key(&apart) { apart } else { lifted })
}

/// A query that is a UNION as the UNION ALL below it.
fn union_without_distinct(query: &MirQuery) -> Option<MirQuery> {
    let Mir::Reduce { input, keys, aggregates, scalar: false } = &query.relation else { return None };
    let every = keys.iter().cloned().eq((0..input.arity()).map(ScalarExpr::Column));
    (every && aggregates.is_empty() && matches!(**input, Mir::Union(_)))
        .then(|| MirQuery { relation: (**input).clone(), ..query.clone() })
}

fn lift_relation(
    query: MirQuery,
    catalog: &Catalog,
    absent: AbsentKeys,
    distinct: bool,
) -> Result<Result<Lifted, String>, PlanError> {
    let mut lifting = Lifting {
        literals: !mentions_parameters(&query.relation),
        count: 0,
        asked: vec![Vec::new()],
        several: true,
        through_scalar: absent == AbsentKeys::Computed,
        scalar: false,
        apart: false,
    };
    let MirQuery { relation, finishing, columns, locks, next_local } = query;
    let arity = relation.arity();
    let without_rows = over_no_rows(&relation);
    let relation = lifting.lift(relation);
    let key_names = (arity..relation.arity()).map(|column| origin(&relation, column, catalog)).collect();
    match maintainable(&relation, catalog) {
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
        project: finishing.project.iter().map(&place).collect(),
        limit: finishing.limit,
        offset: finishing.offset,
    };
    let (kept, key) = kept(&relation, own, arity, distinct);
    let inner = Finishing { order_by: finishing.order_by, limit: None, offset: None, project: kept };
    let optimized = transform::optimize(MirQuery { relation, finishing: inner, columns, locks, next_local }, catalog)?;
    // Plans have no statistics or clocks in them: equal text is an equal view.
    let identity = format!("{:?} by {:?}, {key:?}", optimized.relation, optimized.finishing);
    let view = physical::maintained(optimized, catalog)?;
    Ok(Ok(Lifted {
        view,
        identity,
        key,
        key_names,
        asked: lifting.asked,
        finishing: outer,
        reads: read,
        absent,
        distinct,
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
            let input = Box::new(Mir::Constant { rows: Vec::new(), types: input.types().into() });
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
fn maintainable(mir: &Mir, catalog: &Catalog) -> Result<(), String> {
    if let Mir::Get { relation, with_key, .. } = mir {
        return match catalog.table(*relation) {
            _ if *with_key => Err("it locks or names stored rows".into()),
            None => Err("it reads a catalog relation".into()),
            Some(_) => Ok(()),
        };
    }
    for own in mir.clone().exprs_mut() {
        if mentions_parameter(own) {
            return Err(PARAMETER.into());
        }
        if own.volatility() != Volatility::Immutable {
            return Err("it depends on the session, the clock or chance".into());
        }
    }
    mir.children().into_iter().try_for_each(|child| maintainable(child, catalog))
}

/// What a column is called where it comes from: `table.column`, or `expression`.
fn origin(mir: &Mir, column: usize, catalog: &Catalog) -> String {
    let computed = || "expression".to_string();
    let below = |input: &Mir, expr: &ScalarExpr| match expr {
        ScalarExpr::Column(column) => origin(input, *column, catalog),
        ScalarExpr::Cast { expr, .. } => match &**expr {
            ScalarExpr::Column(column) => origin(input, *column, catalog),
            _ => computed(),
        },
        _ => computed(),
    };
    match mir {
        Mir::Get { relation, .. } => {
            let name = |table: &Table| Some(format!("{}.{}", table.name, table.columns.get(column)?.name));
            catalog.table(*relation).and_then(|table| name(table)).unwrap_or_else(computed)
        }
        Mir::Map { input, exprs } => match column.checked_sub(input.arity()) {
            // A mapped column sees those before it.
            Some(mapped) => exprs.get(mapped).map_or_else(computed, |expr| below(mir, expr)),
            None => origin(input, column, catalog),
        },
        Mir::Project { input, columns } => {
            columns.get(column).map_or_else(computed, |column| origin(input, *column, catalog))
        }
        Mir::Filter { input, .. } | Mir::TopK { input, .. } | Mir::AtMostOne { input, .. } => {
            origin(input, column, catalog)
        }
        Mir::Window { input, .. } | Mir::TableFunction { input, .. } if column < input.arity() => {
            origin(input, column, catalog)
        }
        Mir::Join { inputs, .. } => {
            let mut start = 0;
            for input in inputs {
                if column < start + input.arity() {
                    return origin(input, column - start, catalog);
                }
                start += input.arity();
            }
            computed()
        }
        Mir::Match { left, right, .. } => match column.checked_sub(left.arity()) {
            Some(column) => origin(right, column, catalog),
            None => origin(left, column, catalog),
        },
        Mir::Reduce { input, keys, .. } => keys.get(column).map_or_else(computed, |key| below(input, key)),
        Mir::Let { body, .. } => origin(body, column, catalog),
        Mir::Constant { .. }
        | Mir::GetLocal { .. }
        | Mir::Window { .. }
        | Mir::TableFunction { .. }
        | Mir::Union(_)
        | Mir::Negate(_)
        | Mir::Threshold(_)
        | Mir::LetRec { .. } => computed(),
    }
}

/// The stored relations in a relation.
fn reads(mir: &Mir, found: &mut BTreeSet<RelationId>) {
    if let Mir::Get { relation, .. } = mir {
        found.insert(*relation);
    }
    mir.children().into_iter().for_each(|child| reads(child, found));
}

fn mentions_parameters(mir: &Mir) -> bool {
    mir.clone().exprs_mut().into_iter().any(|own| mentions_parameter(own))
        || mir.children().into_iter().any(mentions_parameters)
}

fn mentions_parameter(expr: &ScalarExpr) -> bool {
    matches!(expr, ScalarExpr::Param(..)) || expr.children().into_iter().any(mentions_parameter)
}

/// The types of the columns that were lifted, behind the relation's own.
fn lifted_types(branch: &Mir, arity: usize) -> impl Iterator<Item = ScalarType> {
    branch.types().into_iter().skip(arity).map(|own| own.scalar)
}

/// Columns that have room for those of every branch: where each is in each branch, if it is, and their types.
fn common_columns(branches: &[Vec<ScalarType>]) -> (Vec<Vec<Option<usize>>>, Vec<ScalarType>) {
    let mut columns: Vec<ScalarType> = Vec::new();
    let mut places: Vec<Vec<Option<usize>>> = Vec::with_capacity(branches.len());
    for types in branches {
        let mut own: Vec<Option<usize>> = vec![None; columns.len()];
        for (index, scalar) in types.iter().enumerate() {
            match (0..columns.len()).find(|&column| own[column].is_none() && columns[column] == *scalar) {
                Some(column) => own[column] = Some(index),
                None => {
                    columns.push(scalar.clone());
                    own.push(Some(index));
                }
            }
        }
        places.push(own);
    }
    places.iter_mut().for_each(|own| own.resize(columns.len(), None));
    (places, columns)
}

/// A branch with these columns behind its own rather than those that were lifted in it: NULL where it has none.
fn with_columns(branch: Mir, arity: usize, places: &[Option<usize>], columns: &[ScalarType]) -> Mir {
    let width = branch.arity();
    let missing = || places.iter().zip(columns).filter(|(place, _)| place.is_none());
    let nulls: Vec<ScalarExpr> =
        missing().map(|(_, own)| ScalarExpr::Literal(Datum::Null, ColumnType::nullable(own.clone()))).collect();
    let mut next_null = width;
    let mut column = |place: &Option<usize>| match place {
        Some(lifted) => arity + lifted,
        None => {
            next_null += 1;
            next_null - 1
        }
    };
    let projected: Vec<usize> = (0..arity).chain(places.iter().map(&mut column)).collect();
    branch.map(nulls).project(projected)
}

/// Lifting under way. Lifted columns stand behind the relation's own, in the order of each alternative's values.
#[derive(Clone)]
struct Lifting {
    /// Literals are lifted.
    literals: bool,
    /// How many columns were lifted.
    count: usize,
    /// Their values, one list for each alternative.
    asked: Vec<Vec<KeyValues>>,
    /// A column may have several values here: nothing above tells rows of different keys apart.
    several: bool,
    /// Conditions may be lifted through a group that is there without rows.
    through_scalar: bool,
    /// They were.
    scalar: bool,
    /// Branches that ask for different keys were left as they are.
    apart: bool,
}

impl Lifting {
    /// The relation without liftable conditions, its columns followed by what was lifted in it.
    fn lift(&mut self, mir: Mir) -> Mir {
        let before = self.count;
        match mir {
            Mir::Filter { input, predicates } => {
                let input = self.lift(*input);
                let types = input.types();
                let (mut kept, mut lifted) = (Vec::new(), Vec::new());
                for predicate in predicates {
                    match self.condition(&predicate, &types) {
                        Some((column, values)) => {
                            lifted.push(column);
                            self.ask(&values);
                        }
                        None => kept.push(predicate),
                    }
                }
                input.filter(kept).map(lifted)
            }
            Mir::Map { input, exprs } => {
                let arity = input.arity();
                let input = self.lift(*input);
                let lifted = self.count - before;
                let count = exprs.len();
                let moved = |column: usize| if column < arity { column } else { column + lifted };
                let exprs = exprs.iter().map(|own| expr::renumber(own, moved)).collect();
                let columns = (0..arity).chain(arity + lifted..arity + lifted + count).chain(arity..arity + lifted);
                input.map(exprs).project(columns.collect())
            }
            Mir::Project { input, columns } => {
                let arity = input.arity();
                let input = self.lift(*input);
                let lifted = self.count - before;
                input.project(columns.into_iter().chain(arity..arity + lifted).collect())
            }
            Mir::Join { inputs, on, same } => self.join(inputs, &on, &same),
            Mir::Match { left, right, kind, on, same } => {
                let (arity, width) = (left.arity(), right.arity());
                let left = self.lift(*left);
                let lifted = self.count - before;
                let moved = |column: usize| if column < arity { column } else { column + lifted };
                let matched = Mir::Match {
                    left: Box::new(left),
                    right,
                    kind,
                    on: on.iter().map(|own| expr::renumber(own, moved)).collect(),
                    same: same.iter().map(|(left, right)| (moved(*left), moved(*right))).collect(),
                };
                match kind {
                    MatchKind::Semi | MatchKind::Anti => matched,
                    MatchKind::Inner | MatchKind::Left => {
                        let right = arity + lifted..arity + lifted + width;
                        matched.project((0..arity).chain(right).chain(arity..arity + lifted).collect())
                    }
                }
            }
            Mir::Reduce { input, keys, aggregates, scalar: true } if !self.through_scalar => {
                Mir::Reduce { input, keys, aggregates, scalar: true }
            }
            Mir::Reduce { input, mut keys, aggregates, scalar } => {
                let (input, whole) = self.of_whole_groups(*input, &keys);
                if !whole.is_empty() {
                    let reduced = Mir::Reduce { input: Box::new(input), keys, aggregates, scalar };
                    return self.lift(reduced.filter(whole));
                }
                let arity = input.arity();
                let input = Box::new(self.within_groups(input));
                let lifted = self.count - before;
                let (own, calls) = (keys.len(), aggregates.len());
                keys.extend((arity..arity + lifted).map(ScalarExpr::Column));
                let keyed = scalar && lifted > 0;
                self.scalar |= keyed;
                let reduced = Mir::Reduce { input, keys, aggregates, scalar: scalar && !keyed };
                let aggregates = own + lifted..own + lifted + calls;
                reduced.project((0..own).chain(aggregates).chain(own..own + lifted).collect())
            }
            Mir::TopK { input, mut keys, order, limit, offset } => {
                let arity = input.arity();
                let input = Box::new(self.within_groups(*input));
                keys.extend(arity..arity + self.count - before);
                Mir::TopK { input, keys, order, limit, offset }
            }
            Mir::AtMostOne { input, mut keys } => {
                let arity = input.arity();
                let input = Box::new(self.within_groups(*input));
                keys.extend(arity..arity + self.count - before);
                Mir::AtMostOne { input, keys }
            }
            Mir::Window { input, mut partition, order, calls } => {
                let arity = input.arity();
                let count = calls.len();
                let input = Box::new(self.within_groups(*input));
                let lifted = self.count - before;
                partition.extend(arity..arity + lifted);
                // Calls see the input's columns only, which have kept their places.
                let windowed = Mir::Window { input, partition, order, calls };
                let calls = arity + lifted..arity + lifted + count;
                windowed.project((0..arity).chain(calls).chain(arity..arity + lifted).collect())
            }
            Mir::Let { id, value, body } => Mir::Let { id, value, body: Box::new(self.lift(*body)) },
            other @ (Mir::Constant { .. }
            | Mir::Get { .. }
            | Mir::GetLocal { .. }
            | Mir::TableFunction { .. }
            | Mir::Negate(_)
            | Mir::Threshold(_)
            | Mir::LetRec { .. }) => other,
            Mir::Union(inputs) => self.union(inputs),
        }
    }

    /// One more lifted column, with the same values whatever else is asked for.
    fn ask(&mut self, values: &KeyValues) {
        self.count += 1;
        self.asked.iter_mut().for_each(|alternative| alternative.push(values.clone()));
    }

    /// Branches that ask for the same values are asked by them; those that ask for different ones by the branch's number too,
    /// unless rows of different keys are told apart above. Else nothing is lifted in them.
    fn union(&mut self, inputs: Vec<Mir>) -> Mir {
        let mut branches = Vec::with_capacity(inputs.len());
        for input in &inputs {
            // A branch that has a row without rows of its key would be missed where another branch has rows.
            let mut own = Lifting { count: 0, asked: vec![Vec::new()], through_scalar: false, ..self.clone() };
            let lifted = own.lift(input.clone());
            self.apart |= own.apart;
            branches.push((lifted, own));
        }
        let arity = inputs.first().map_or(0, Mir::arity);
        let types: Vec<Vec<ScalarType>> =
            branches.iter().map(|(branch, _)| lifted_types(branch, arity).collect()).collect();
        let Some((first, (_, Lifting { asked, .. }))) = types.first().zip(branches.first()) else {
            return Mir::Union(inputs);
        };
        if types.iter().all(|types| types == first) && branches.iter().all(|(_, own)| own.asked == *asked) {
            self.alternatives(first.len(), asked.clone());
            return Mir::Union(branches.into_iter().map(|(branch, _)| branch).collect());
        }
        let count: usize = branches.iter().map(|(_, own)| own.asked.len()).sum();
        self.apart |= !self.several;
        if !self.several || self.asked.len() * count > ALTERNATIVES_MAX {
            return Mir::Union(inputs);
        }
        let (places, columns) = common_columns(&types);
        let (mut numbered, mut all) = (Vec::with_capacity(branches.len()), Vec::with_capacity(count));
        for ((number, (branch, own)), places) in (0..).zip(branches).zip(places) {
            let number = ScalarExpr::Literal(
                Datum::Int4(number),
                ColumnType { nullable: false, ..ColumnType::nullable(ScalarType::Int4) },
            );
            numbered.push(with_columns(branch, arity, &places, &columns).map(vec![number.clone()]));
            all.extend(own.asked.into_iter().map(|asked| {
                let of_place = |place: &Option<usize>| place.map_or(KeyValues::Absent, |own| asked[own].clone());
                places.iter().map(of_place).chain([KeyValues::One(number.clone())]).collect()
            }));
        }
        self.alternatives(columns.len() + 1, all);
        Mir::Union(numbered)
    }

    /// More lifted columns: each alternative so far with each of these.
    fn alternatives(&mut self, columns: usize, more: Vec<Vec<KeyValues>>) {
        self.count += columns;
        let with =
            |asked: &Vec<KeyValues>| more.iter().map(|more| [asked.as_slice(), more].concat()).collect::<Vec<_>>();
        self.asked = self.asked.iter().flat_map(with).collect();
    }

    /// Conditions below a group that give one of its keys several values hold for whole groups: they are put above it, where
    /// rows of different keys are told apart. Gives the input without them, and them.
    fn of_whole_groups(&self, input: Mir, keys: &[ScalarExpr]) -> (Mir, Vec<ScalarExpr>) {
        let Mir::Filter { input, predicates } = input else { return (input, Vec::new()) };
        let types = input.types();
        let (mut kept, mut whole) = (Vec::new(), Vec::new());
        for predicate in predicates {
            let key = match self.condition(&predicate, &types) {
                Some((column @ ScalarExpr::Column(from), KeyValues::Several(_) | KeyValues::Elements(_))) => {
                    keys.iter().position(|key| *key == column).map(|key| (from, key))
                }
                _ => None,
            };
            match key {
                Some((from, key)) => whole.push(expr::renumber(&predicate, |own| if own == from { key } else { own })),
                None => kept.push(predicate),
            }
        }
        (input.filter(kept), whole)
    }

    /// Below an operator that looks at rows of one key together.
    fn within_groups(&mut self, input: Mir) -> Mir {
        let several = std::mem::replace(&mut self.several, false);
        let input = self.lift(input);
        self.several = several;
        input
    }

    fn join(&mut self, inputs: Vec<Mir>, on: &[ScalarExpr], same: &[(usize, usize)]) -> Mir {
        let (mut places, mut lifted, mut joined) = (Vec::new(), Vec::new(), Vec::with_capacity(inputs.len()));
        let mut start = 0;
        for input in inputs {
            let arity = input.arity();
            let input = self.lift(input);
            places.extend(start..start + arity);
            lifted.extend(start + arity..start + input.arity());
            start += input.arity();
            joined.push(input);
        }
        let join = Mir::Join {
            inputs: joined,
            on: on.iter().map(|own| expr::renumber(own, |column| places[column])).collect(),
            same: same.iter().map(|(left, right)| (places[*left], places[*right])).collect(),
        };
        join.project(places.into_iter().chain(lifted).collect())
    }

    /// The column and its values, if that is what a condition says.
    fn condition(&self, predicate: &ScalarExpr, types: &[ColumnType]) -> Option<(ScalarExpr, KeyValues)> {
        if let Some((left, right)) = shape::equality(predicate) {
            let (column, value) = self.sides(left, right, types).or_else(|| self.sides(right, left, types))?;
            return Some((column.clone(), KeyValues::One(value.clone())));
        }
        if !self.several {
            return None;
        }
        if let Some((left, array)) = shape::equal_to_any(predicate) {
            let fits = self.is_column(left, types) && self.is_value(array);
            return fits.then(|| (left.clone(), KeyValues::Elements(array.clone())));
        }
        if let ScalarExpr::Or(terms) = predicate {
            let mut column = None;
            let mut values = Vec::with_capacity(terms.len());
            for term in terms {
                let (left, right) = shape::equality(term)?;
                let (own, value) = self.sides(left, right, types).or_else(|| self.sides(right, left, types))?;
                if *column.get_or_insert(own) != own {
                    return None;
                }
                values.push(value.clone());
            }
            return Some((column?.clone(), KeyValues::Several(values)));
        }
        None
    }

    fn sides<'e>(
        &self,
        column: &'e ScalarExpr,
        value: &'e ScalarExpr,
        types: &[ColumnType],
    ) -> Option<(&'e ScalarExpr, &'e ScalarExpr)> {
        (self.is_column(column, types) && self.is_value(value)).then_some((column, value))
    }

    fn is_column(&self, side: &ScalarExpr, types: &[ColumnType]) -> bool {
        !expr::is_constant(side)
            && !mentions_parameter(side)
            && side.volatility() == Volatility::Immutable
            && shape::key_class(&expr::scalar_type(side, types)).is_some()
    }

    fn is_value(&self, side: &ScalarExpr) -> bool {
        expr::is_constant(side) && !expr::is_volatile(side) && (self.literals || mentions_parameter(side))
    }
}
