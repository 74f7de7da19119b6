//! How a chain of lookups follows the changes of its tables: half-joins, planned.
//!
//! A chain is a plan of table reads, maps, filters, projections, set-returning functions, unions and lookup
//! joins. Its change over a commit group is the sum over its tables of what one table's change brings:
//!
//! ```text
//! Δ(A ⋈ B)  =  ΔA ⋈ B after   +   (A before, found by the keys of ΔB) ⋈ (B after − B before)
//! ```
//!
//! This holds for inner, left, semi and anti joins alike, since the right side only decides what becomes of
//! each left row. Both terms read the leaves; nothing is kept in memory. Each summand is a `Pipeline`. A change of
//! columns that a join does not use is none: `JoinStep::used` says which those are.
//! Pure: says where to look, never looks.

use crate::catalog::{Catalog, Table};
use crate::plan::{Access, Lookup, MatchKind, Plan};
use crate::scalar::{Mfp, ScalarExpr, TableFunction};
use crate::transform::shape;
use repr::{ColumnIndex, RelationId, Row, ScalarType};
use std::collections::BTreeSet;

/// One summand of a chain's change: where rows enter, and what they go through.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// Where rows enter.
    pub entry: PipelineEntry,
    /// What they go through, in order; lookups read the state after the group.
    pub steps: Vec<Step>,
}

/// Where rows enter a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub enum PipelineEntry {
    /// Rows known while planning: there from the beginning, never changed.
    Constant(Vec<Row>),
    /// The changed rows of a table, all columns, through `mfp`.
    Rows {
        /// The table or maintained view.
        relation: RelationId,
        /// Applied at once.
        mfp: Mfp,
    },
    /// The rows of a join's left side, as before the group, whose matches may have changed: what the join
    /// gives for each after the group, minus what it gave before.
    Match {
        /// Finds the left rows by the values of the right side's changed keys.
        seeds: Vec<Seed>,
        /// The join.
        join: JoinStep,
    },
}

/// What happens to a row on its way.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Map, filter, project.
    Mfp(Mfp),
    /// Set-returning functions.
    Functions {
        /// As in `Plan::TableFunction`.
        functions: Vec<(&'static TableFunction, Vec<ScalarExpr>, Vec<ScalarType>)>,
        /// Appends a counter.
        ordinality: bool,
    },
    /// A lookup join.
    Join(JoinStep),
    /// Every multiplicity times -1.
    Negate,
}

/// A lookup join, as in `Plan::LookupJoin`.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinStep {
    /// The table that is looked up.
    pub relation: RelationId,
    /// By which key.
    pub lookup: Lookup,
    /// The key over the left side's columns.
    pub key: Vec<ScalarExpr>,
    /// What becomes of left rows.
    pub kind: MatchKind,
    /// Further conditions of a match.
    pub condition: Vec<ScalarExpr>,
    /// Applied at once.
    pub mfp: Mfp,
    /// The columns of the table that the key, the condition or the rows that come out depend on.
    pub used: Vec<ColumnIndex>,
}

/// Finds the rows of a chain by some of their columns. It may find more than asked for, never fewer.
#[derive(Clone, Debug, PartialEq)]
pub struct Seed {
    /// Where to begin.
    pub start: SeedStart,
    /// Then as in a pipeline.
    pub steps: Vec<Step>,
}

/// Where a seed begins. `key` says for each column of the lookup which of the given values it must equal.
#[derive(Clone, Debug, PartialEq)]
pub enum SeedStart {
    /// Rows known while planning.
    Constant(Vec<Row>),
    /// The rows of a table, through `mfp`.
    Rows {
        /// Which.
        relation: RelationId,
        /// By which key.
        lookup: Lookup,
        /// The values.
        key: Vec<usize>,
        /// Applied at once.
        mfp: Mfp,
    },
    /// The values are those of a table that is joined later: its rows say by which values to find the others, and are
    /// joined with what is found.
    Through {
        /// By which key of the join's table.
        lookup: Lookup,
        /// The values.
        key: Vec<usize>,
        /// Where to go on: by the columns that the join looks up.
        seeds: Vec<Seed>,
        /// The join, inner or left.
        join: JoinStep,
    },
}

/// The pipelines of a plan, if it is a chain whose every table can be followed.
pub fn pipelines(plan: &Plan, catalog: &Catalog) -> Option<Vec<Pipeline>> {
    match plan {
        Plan::Constant { rows, .. } => {
            Some(vec![Pipeline { entry: PipelineEntry::Constant(rows.clone()), steps: Vec::new() }])
        }
        Plan::Get { relation, access: Access::Scan, with_key: false, mfp, .. } => {
            catalog.table(*relation)?;
            let entry = PipelineEntry::Rows { relation: *relation, mfp: mfp.clone() };
            Some(vec![Pipeline { entry, steps: Vec::new() }])
        }
        Plan::LookupJoin { input, .. } => {
            let join = join_step(plan, catalog)?;
            let mut all = pipelines(input, catalog)?;
            let seeds = seeds(input, &key_columns(&join.key), catalog)?;
            all.iter_mut().for_each(|pipeline| pipeline.steps.push(Step::Join(join.clone())));
            all.push(Pipeline { entry: PipelineEntry::Match { seeds, join }, steps: Vec::new() });
            Some(all)
        }
        Plan::Union(inputs, _) => {
            let mut all = Vec::new();
            for input in inputs {
                all.extend(pipelines(input, catalog)?);
            }
            Some(all)
        }
        Plan::Mfp(input, _) | Plan::TableFunction { input, .. } | Plan::Negate(input) => {
            let step = linear_step(plan)?;
            let mut all = pipelines(input, catalog)?;
            all.iter_mut().for_each(|pipeline| pipeline.steps.push(step.clone()));
            Some(all)
        }
        Plan::Get { .. }
        | Plan::GetLocal { .. }
        | Plan::Join { .. }
        | Plan::Reduce { .. }
        | Plan::TopK { .. }
        | Plan::Window { .. }
        | Plan::AtMostOne { .. }
        | Plan::Threshold(_)
        | Plan::Temporal { .. }
        | Plan::Let { .. }
        | Plan::LetRec { .. } => None,
    }
}

/// Whether a table may be looked up by `key` over a plan's rows in a plan that is maintained: the plan must
/// be a chain whose rows can be found by that key.
pub(crate) fn can_look_up(input: &Plan, key: &[ScalarExpr], catalog: &Catalog) -> bool {
    pipelines(input, catalog).is_some() && seeds(input, &key_columns(key), catalog).is_some()
}

/// A column of a relation that must equal one of the given values.
#[derive(Clone, Copy)]
struct WantedValue {
    column: usize,
    value: usize,
}

/// The parts of a key that are plain columns; the others restrict nothing.
fn key_columns(key: &[ScalarExpr]) -> Vec<WantedValue> {
    let column = |(value, part): (usize, &ScalarExpr)| match shape::relabelled(part) {
        ScalarExpr::Column(column) => Some(WantedValue { column: *column, value }),
        _ => None,
    };
    key.iter().enumerate().filter_map(column).collect()
}

/// The lookup join that a plan is, over whatever comes in; none if it asks for row keys.
pub fn join_step(plan: &Plan, catalog: &Catalog) -> Option<JoinStep> {
    let Plan::LookupJoin { relation, lookup, key, kind, condition, with_key: false, mfp, .. } = plan else {
        return None;
    };
    let table = catalog.table(*relation)?;
    let looked_up = lookup_columns(table, *lookup)?.iter().copied();
    let left = left_arity(*kind, mfp, table)?;
    let named = condition.iter().flat_map(ScalarExpr::columns).chain(mfp.columns());
    let right = named.filter_map(|column| column.checked_sub(left)).filter(|column| *column < table.columns.len());
    let used: BTreeSet<ColumnIndex> = looked_up.chain(right).collect();
    Some(JoinStep {
        relation: *relation,
        lookup: *lookup,
        key: key.clone(),
        kind: *kind,
        condition: condition.clone(),
        mfp: mfp.clone(),
        used: used.into_iter().collect(),
    })
}

/// How many of the columns that a join's `mfp` is given are the left side's.
fn left_arity(kind: MatchKind, mfp: &Mfp, table: &Table) -> Option<usize> {
    match kind {
        MatchKind::Inner | MatchKind::Left => mfp.input_arity.checked_sub(table.columns.len()),
        // They give the left's columns only.
        MatchKind::Semi | MatchKind::Anti => Some(mfp.input_arity),
    }
}

fn linear_step(plan: &Plan) -> Option<Step> {
    match plan {
        Plan::Mfp(_, mfp) => Some(Step::Mfp(mfp.clone())),
        Plan::TableFunction { functions, ordinality, .. } => {
            Some(Step::Functions { functions: functions.clone(), ordinality: *ordinality })
        }
        Plan::Negate(_) => Some(Step::Negate),
        _ => None,
    }
}

/// Ways to find the rows of a chain by columns, which together find them all.
fn seeds(plan: &Plan, wanted: &[WantedValue], catalog: &Catalog) -> Option<Vec<Seed>> {
    match plan {
        Plan::Constant { rows, .. } => Some(vec![Seed { start: SeedStart::Constant(rows.clone()), steps: Vec::new() }]),
        Plan::Get { relation, access: Access::Scan, with_key: false, mfp, .. } => {
            let wanted = through_mfp(wanted, mfp);
            let (lookup, key) = find_lookup(catalog.table(*relation)?, &wanted)?;
            let start = SeedStart::Rows { relation: *relation, lookup, key, mfp: mfp.clone() };
            Some(vec![Seed { start, steps: Vec::new() }])
        }
        Plan::LookupJoin { input, relation, key, kind, mfp, .. } => {
            let join = join_step(plan, catalog)?;
            let table = catalog.table(*relation)?;
            let wanted = through_mfp(wanted, mfp);
            let arity = left_arity(*kind, mfp, table)?;
            let (left, right): (Vec<WantedValue>, Vec<WantedValue>) =
                wanted.into_iter().partition(|wanted| wanted.column < arity);
            if !left.is_empty()
                && let Some(mut found) = seeds(input, &left, catalog)
            {
                found.iter_mut().for_each(|seed| seed.steps.push(Step::Join(join.clone())));
                return Some(found);
            }
            let right: Vec<WantedValue> =
                right.into_iter().map(|wanted| WantedValue { column: wanted.column - arity, ..wanted }).collect();
            let (lookup, values) = find_lookup(table, &right)?;
            let seeds = seeds(input, &key_columns(key), catalog)?;
            Some(vec![Seed { start: SeedStart::Through { lookup, key: values, seeds, join }, steps: Vec::new() }])
        }
        Plan::Mfp(input, mfp) => follow(plan, input, &through_mfp(wanted, mfp), catalog),
        Plan::TableFunction { input, .. } => {
            let arity = arity(input)?;
            let wanted: Vec<WantedValue> = wanted.iter().copied().filter(|wanted| wanted.column < arity).collect();
            follow(plan, input, &wanted, catalog)
        }
        Plan::Negate(input) => follow(plan, input, wanted, catalog),
        Plan::Union(inputs, _) => {
            let mut all = Vec::new();
            for input in inputs {
                all.extend(seeds(input, wanted, catalog)?);
            }
            Some(all)
        }
        _ => None,
    }
}

fn follow(plan: &Plan, input: &Plan, wanted: &[WantedValue], catalog: &Catalog) -> Option<Vec<Seed>> {
    let step = linear_step(plan)?;
    let mut found = seeds(input, wanted, catalog)?;
    found.iter_mut().for_each(|seed| seed.steps.push(step.clone()));
    Some(found)
}

/// The columns of a chain.
fn arity(plan: &Plan) -> Option<usize> {
    match plan {
        Plan::Constant { arity, .. } => Some(*arity),
        Plan::Get { mfp, .. } | Plan::Mfp(_, mfp) | Plan::LookupJoin { mfp, .. } => Some(mfp.project.len()),
        Plan::TableFunction { input, functions, ordinality, .. } => {
            let appended: usize = functions.iter().map(|(_, _, types)| types.len()).sum();
            Some(arity(input)? + appended + usize::from(*ordinality))
        }
        Plan::Negate(input) => arity(input),
        Plan::Union(inputs, _) => arity(inputs.first()?),
        _ => None,
    }
}

/// The same columns before an `Mfp`; those that it computes are left out.
fn through_mfp(wanted: &[WantedValue], mfp: &Mfp) -> Vec<WantedValue> {
    let before = |wanted: &WantedValue| {
        let mut column = *mfp.project.get(wanted.column)?;
        while let Some(mapped) = column.checked_sub(mfp.input_arity) {
            let ScalarExpr::Column(earlier) = shape::relabelled(mfp.map.get(mapped)?) else { return None };
            column = *earlier;
        }
        Some(WantedValue { column, ..*wanted })
    };
    wanted.iter().filter_map(before).collect()
}

/// The columns that a lookup needs values for.
pub fn lookup_columns(table: &Table, lookup: Lookup) -> Option<&[ColumnIndex]> {
    match lookup {
        Lookup::PrimaryKey => table.primary_key_columns(),
        Lookup::Index(id) => table.index(id).map(|index| index.columns.as_slice()),
    }
}

/// The most selective lookup whose every column is wanted: the primary key, a unique index, the widest other.
fn find_lookup(table: &Table, wanted: &[WantedValue]) -> Option<(Lookup, Vec<usize>)> {
    let value = |column: &ColumnIndex| wanted.iter().find(|wanted| wanted.column == *column).map(|found| found.value);
    let values = |columns: &[ColumnIndex]| columns.iter().map(value).collect::<Option<Vec<usize>>>();
    if let Some(key) = table.primary_key_columns().and_then(values) {
        return Some((Lookup::PrimaryKey, key));
    }
    let candidates = table.whole_indexes().filter(|index| !index.columns.is_empty());
    let found = candidates.filter_map(|index| Some((index, values(&index.columns)?)));
    let (index, key) = found.max_by_key(|(index, _)| (index.unique, index.columns.len()))?;
    Some((Lookup::Index(index.id), key))
}
