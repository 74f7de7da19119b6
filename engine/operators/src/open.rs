//! Plans as operators that are pulled, for what runs once: each node by its operator's `once` form, whose inputs are opened here.
//!
//! ```text
//! Get ─▶ Mfp ─▶ LookupJoin ─▶ TableFunction ─▶ Union …      one row at a time
//! Join, Reduce, TopK, Window, Threshold                     one side, or the groups, held while the rest streams
//! ```
//! Never starts a thread, never reads more than what is pulled asks for.

use crate::bags::{ConstantRows, LocalRows, Signed, ThresholdRows, UnionRows};
use crate::get;
use crate::join::HashJoin;
use crate::join::by_range::{RangeJoin, RangeJoinRows};
use crate::join::hashed::HashJoinRows;
use crate::lookup_join::{LookupJoin, LookupJoinRows};
use crate::mfp::through;
use crate::once::{Local, OneShot, Pull, Scope, Whole, materialise, nothing};
use crate::plan::Recursion;
use crate::plan::{arity, negates, uses};
use crate::recursion::Rounds;
use crate::reduce::GroupRows;
use crate::table_function::TableFunctionRows;
use crate::temporal::TemporalRows;
use crate::top_k::{AtMostOneRows, FirstRows, TopKRows};
use crate::window::WindowRows;
use planner::plan::{Counting, LocalId, MatchKind, Plan};
use planner::scalar::Mfp;
use state::SqlError;
use std::sync::Arc;

/// The rows of a plan.
pub fn open<'p>(plan: &'p Plan, shot: &OneShot, scope: &Arc<Scope<'p>>) -> Result<Box<dyn Pull + 'p>, SqlError> {
    let rows = operator(plan, shot, scope)?;
    Ok(match &shot.profile {
        Some(profile) => profile.counted(plan, rows),
        None => rows,
    })
}

fn operator<'p>(plan: &'p Plan, shot: &OneShot, scope: &Arc<Scope<'p>>) -> Result<Box<dyn Pull + 'p>, SqlError> {
    match plan {
        Plan::Constant { rows, .. } => Ok(Box::new(ConstantRows::new(rows))),
        Plan::Get { mfp, .. } => Ok(through(get::stream(plan, shot)?, mfp, shot)),
        Plan::GetLocal { id, .. } => match scope.local(*id) {
            Some(Local::Bag(rows)) => Ok(Box::new(LocalRows::new(rows))),
            Some(Local::Plan(value, scope)) => open(value, shot, scope),
            Some(Local::Recursion(recursion, scope)) => Ok(Box::new(Rounds::new(*recursion, shot, scope)?)),
            None => Err(SqlError::new("XX000", format!("local relation {} is used outside its scope", id.0))),
        },
        Plan::Mfp(input, mfp) => Ok(through(open(input, shot, scope)?, mfp, shot)),
        Plan::TableFunction { input, functions, ordinality, .. } => {
            let input = open(input, shot, scope)?;
            Ok(Box::new(TableFunctionRows::new(input, functions, *ordinality, shot)))
        }
        Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, mfp, .. } => {
            let input = open(input, shot, scope)?;
            let join = LookupJoin { key, kind: *kind, condition, with_key: *with_key, mfp };
            Ok(Box::new(LookupJoinRows::new(input, *relation, *lookup, join, shot)?))
        }
        Plan::Join { .. } => join(plan, shot, scope),
        Plan::Union(inputs, _) => {
            let inputs = inputs.iter().map(|input| open(input, shot, scope)).collect::<Result<Vec<_>, _>>()?;
            Ok(Box::new(UnionRows::new(inputs)))
        }
        Plan::Threshold(input) => {
            let mut inputs = Vec::new();
            signed(input, false, &[], shot, scope, &mut inputs)?;
            Ok(Box::new(Whole::new(ThresholdRows::new(inputs, shot))))
        }
        Plan::Negate(_) => Err(SqlError::new("XX000", "a negated bag stands outside a threshold")),
        Plan::TopK { input, keys, order, limit, offset, counting } => {
            let input = open(input, shot, scope)?;
            let first = FirstRows::new(input, limit.as_ref(), offset.as_ref(), shot)?;
            if keys.is_empty() && order.is_empty() && *counting == Counting::Rows {
                return Ok(Box::new(first));
            }
            Ok(Box::new(Whole::new(TopKRows::new(first, keys, order, *counting, shot))))
        }
        Plan::AtMostOne { input, keys } => Ok(Box::new(AtMostOneRows::new(open(input, shot, scope)?, keys))),
        Plan::Reduce { input, keys, aggregates, scalar } => {
            let input = open(input, shot, scope)?;
            Ok(Box::new(Whole::new(GroupRows::new(input, keys, aggregates, *scalar, shot))))
        }
        Plan::Temporal { input, conditions } => {
            Ok(Box::new(TemporalRows::new(open(input, shot, scope)?, conditions, shot)))
        }
        Plan::Window { input, partition, order, calls } => {
            let input = open(input, shot, scope)?;
            Ok(Box::new(Whole::new(WindowRows::new(input, partition, order, calls, shot))))
        }
        Plan::Let { id, value, body } => open(body, shot, &with_local(*id, value, body, shot, scope)?),
        Plan::LetRec { body, .. } => open(body, shot, &with_recursion(plan, shot, scope)?),
    }
}

/// A join, one side held.
fn join<'p>(plan: &'p Plan, shot: &OneShot, scope: &Arc<Scope<'p>>) -> Result<Box<dyn Pull + 'p>, SqlError> {
    let Plan::Join { left, right, left_key, right_key, null_safe, kind, range, mfp } = plan else {
        return Err(SqlError::new("XX000", "a join is none"));
    };
    // What rounds of a recursion have in common is held once, and is not opened again.
    let keeping = |side: &'p Plan| -> Result<_, SqlError> {
        let keeping = scope.keeping(side);
        let filled = keeping.as_ref().is_some_and(crate::once::Keeping::is_filled);
        Ok((if filled { nothing() } else { open(side, shot, scope)? }, keeping))
    };
    if let Some(range) = range {
        let join = RangeJoin { left_key, right_key, null_safe: *null_safe, range, mfp };
        let (held, keeping) = keeping(right)?;
        return Ok(Box::new(RangeJoinRows::new(open(left, shot, scope)?, held, keeping, join, shot)));
    }
    let join = HashJoin {
        left_key,
        right_key,
        right_arity: arity(right),
        null_safe: *null_safe,
        kind: *kind,
        swapped: false,
        mfp,
    };
    if *kind == MatchKind::Inner && scope.varies(right) && !scope.varies(left) {
        let join =
            HashJoin { left_key: right_key, right_key: left_key, right_arity: arity(left), swapped: true, ..join };
        let (held, keeping) = keeping(left)?;
        return Ok(Box::new(HashJoinRows::new(open(right, shot, scope)?, held, keeping, join, shot)));
    }
    let (held, keeping) = keeping(right)?;
    let joined = HashJoinRows::new(open(left, shot, scope)?, held, keeping, join, shot);
    Ok(Box::new(joined.met_by(left)))
}

/// The inputs of a threshold: what stands below unions and negations, through the filters and projections between.
fn signed<'p>(
    plan: &'p Plan,
    negated: bool,
    above: &[&'p Mfp],
    shot: &OneShot,
    scope: &Arc<Scope<'p>>,
    inputs: &mut Vec<Signed<'p>>,
) -> Result<(), SqlError> {
    let first = inputs.len();
    match plan {
        Plan::Union(parts, _) => {
            parts.iter().try_for_each(|part| signed(part, negated, above, shot, scope, inputs))?;
        }
        Plan::Negate(input) => signed(input, !negated, above, shot, scope, inputs)?,
        Plan::Mfp(input, mfp) if negates(input) => {
            let above: Vec<&Mfp> = std::iter::once(mfp).chain(above.iter().copied()).collect();
            signed(input, negated, &above, shot, scope, inputs)?;
        }
        Plan::Let { id, value, body } if negates(body) => {
            let scope = with_local(*id, value, body, shot, scope)?;
            signed(body, negated, above, shot, &scope, inputs)?;
        }
        _ => {
            let rows = above.iter().fold(open(plan, shot, scope)?, |rows, mfp| through(rows, mfp, shot));
            inputs.push(Signed { rows, negated });
            return Ok(());
        }
    }
    if let Some(profile) = &shot.profile {
        profile.count_parts(plan, inputs[first..].iter_mut().map(|input| &mut input.rows));
    }
    Ok(())
}

/// The scope of a `Let`'s body: a value that is read more than once is computed first.
fn with_local<'p>(
    id: LocalId,
    value: &'p Plan,
    body: &Plan,
    shot: &OneShot,
    scope: &Arc<Scope<'p>>,
) -> Result<Arc<Scope<'p>>, SqlError> {
    let local = if uses(body, id) > 1 {
        Local::Bag(Arc::new(materialise(&mut *open(value, shot, scope)?, shot)?))
    } else {
        Local::Plan(value, scope.clone())
    };
    Ok(scope.with(id, local, value))
}

/// The scope of a `LetRec`'s body, likewise.
fn with_recursion<'p>(plan: &'p Plan, shot: &OneShot, scope: &Arc<Scope<'p>>) -> Result<Arc<Scope<'p>>, SqlError> {
    let Plan::LetRec { id, base, step, distinct, body } = plan else {
        return Err(SqlError::new("XX000", "a recursion is none"));
    };
    let recursion = Recursion { id: *id, base, step, distinct: *distinct };
    let local = if uses(body, *id) > 1 {
        Local::Bag(Arc::new(materialise(&mut Rounds::new(recursion, shot, scope)?, shot)?))
    } else {
        Local::Recursion(recursion, scope.clone())
    };
    Ok(scope.with(*id, local, plan))
}
