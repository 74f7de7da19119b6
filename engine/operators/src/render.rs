//! Plans as dataflows, for what is maintained: each node by its operator's `render`, whose inputs are rendered here.
//!
//! ```text
//! the leaves' changes ──▶ delta ──▶ render ──▶ Bundle (rows, errors)
//! ```
//! Everything is generic over time: a view has one a commit group, a recursion within it rounds besides. The rungs above have
//! made every choice; nothing is chosen here but how to carry it out. Multiplicities stay differences until the very end.
//! Plans that run once are opened (`open`), not rendered.

use crate::context::{Bundle, Context, Follow, NodeId, RenderTime};
use crate::plan::{Recursion, arity};
use crate::top_k::First;
use crate::{bags, delta, join, mfp, reduce, table_function, temporal, top_k, window};
use planner::plan::{LocalId, Plan};
use state::SqlError;
use std::rc::Rc;
use timely::dataflow::Stream;

/// Renders a plan.
pub fn render<'s, T: RenderTime>(context: &mut Context<'s, T>, plan: &Plan) -> Result<Bundle<'s, T>, SqlError> {
    match context.rendered.clone() {
        Some(rendered) => rendered.around(context, plan, |context| operators(context, plan)),
        None => operators(context, plan),
    }
}

fn operators<'s, T: RenderTime>(context: &mut Context<'s, T>, plan: &Plan) -> Result<Bundle<'s, T>, SqlError> {
    if let Some(source) = context.sources.get(&NodeId::of(plan)) {
        return Ok(source.clone());
    }
    match plan {
        Plan::Constant { rows, .. } => Ok(bags::constant(context, rows.clone())),
        Plan::Get { relation, .. } => {
            Err(SqlError::new("XX000", format!("relation {relation} has no source in this dataflow")))
        }
        Plan::GetLocal { id, .. } => local(context, *id),
        Plan::Mfp(input, mfp) => {
            let input = render(context, input)?;
            Ok(mfp::render(context, input, mfp))
        }
        Plan::TableFunction { input, functions, ordinality, .. } => {
            let input = render(context, input)?;
            Ok(table_function::render(context, input, functions, *ordinality))
        }
        Plan::LookupJoin { input, .. } => {
            let input = render(context, input)?;
            let (feeds, step) = followed(context, plan)?;
            Ok(delta::derived::render(context, feeds, input, step))
        }
        Plan::Join { left, right, left_key, right_key, null_safe, kind, range: _, mfp } => {
            let left = join::Side { rows: render(context, left)?, key: left_key, arity: arity(left) };
            let right = join::Side { rows: render(context, right)?, key: right_key, arity: arity(right) };
            Ok(join::render(context, left, right, *kind, *null_safe, mfp))
        }
        Plan::Reduce { input, keys, aggregates, scalar } => {
            let input = render(context, input)?;
            Ok(reduce::render(context, input, keys, aggregates, *scalar))
        }
        Plan::TopK { input, keys, order, limit, offset, counting } => {
            let input = render(context, input)?;
            let first = First { limit: limit.as_ref(), offset: offset.as_ref(), counting: *counting };
            top_k::render(context, input, keys, order, first)
        }
        Plan::Window { input, partition, order, calls } => {
            let input = render(context, input)?;
            Ok(window::render(context, input, partition, order, calls))
        }
        Plan::AtMostOne { input, keys } => {
            let input = render(context, input)?;
            Ok(top_k::render_at_most_one(context, input, keys))
        }
        Plan::Union(inputs, _) => {
            let inputs = inputs.iter().map(|input| render(context, input)).collect::<Result<Vec<_>, _>>()?;
            Ok(bags::union(context, inputs))
        }
        Plan::Negate(input) => Ok(bags::negate(render(context, input)?)),
        Plan::Threshold(input) => {
            let input = render(context, input)?;
            Ok(bags::threshold(context, input))
        }
        Plan::Temporal { input, conditions } => {
            let input = render(context, input)?;
            Ok(temporal::render(context, clocked(context)?, input, conditions))
        }
        Plan::Let { id, value, body } => {
            let value = render(context, value)?;
            bound(context, *id, value, body)
        }
        Plan::LetRec { id, base, step, distinct, body } => {
            let recursion = Recursion { id: *id, base, step, distinct: *distinct };
            let known = context.sources.get(&NodeId::recursion(plan)).cloned();
            let value = known.map_or_else(|| T::render_recursion(context, recursion), Ok)?;
            bound(context, *id, value, body)
        }
    }
}

/// What a lookup join follows: the leaves' changes, and the step that they take.
fn followed<'s, T: RenderTime>(
    context: &Context<'s, T>,
    plan: &Plan,
) -> Result<(Stream<'s, T, Vec<delta::Feed>>, planner::delta::JoinStep), SqlError> {
    let follow = context.follow.clone();
    let followed =
        follow.and_then(|Follow { feeds, catalog, .. }| Some((feeds, planner::delta::join_step(plan, &catalog)?)));
    followed.ok_or_else(|| SqlError::new("XX000", "a maintained plan has a lookup that cannot be followed"))
}

fn local<'s, T: RenderTime>(context: &Context<'s, T>, id: LocalId) -> Result<Bundle<'s, T>, SqlError> {
    let outside = || SqlError::new("XX000", format!("local relation {} is used outside its scope", id.0));
    context.locals.get(&id).cloned().ok_or_else(outside)
}

/// What a temporal filter follows: the clock; and where its rows wait.
fn clocked<'s, T: RenderTime>(
    context: &Context<'s, T>,
) -> Result<(Stream<'s, T, Vec<delta::Feed>>, Rc<temporal::DueRows>), SqlError> {
    let Some(Follow { feeds, due, .. }) = &context.follow else {
        return Err(SqlError::new("XX000", "a temporal filter stands where there is no clock"));
    };
    let own = Rc::<temporal::DueRows>::default();
    due.borrow_mut().push(own.clone());
    Ok((feeds.clone(), own))
}

/// A plan over a local, with the local's errors.
fn bound<'s, T: RenderTime>(
    context: &mut Context<'s, T>,
    id: LocalId,
    value: Bundle<'s, T>,
    body: &Plan,
) -> Result<Bundle<'s, T>, SqlError> {
    context.locals.insert(id, Bundle::infallible(value.oks));
    let body = render(context, body)?;
    Ok(body.with_errs(value.errs))
}
