//! Physical plans → dataflows: the one place that knows timely and differential dataflow.
//!
//! ```text
//! source   a one-shot's feeds, or a view's deltas    ──▶ render ──▶ Bundle (rows, errors)
//! mfp table_function lookup_join union                    stateless: update in, updates out
//! settle                                                  rows made certain before what is volatile sees them
//! rendered arrangement_log                                which operators stand for which plan, and what they hold
//! join reduce top_k window recursive                      arranged by `repr::key` bytes
//! inner ordered                                           groups of times in total order: one operator each
//! arrangement shared offsets times told meter merging     what is arranged: its layout, its bytes, and when it is merged
//! finish                                                  ORDER BY, LIMIT, projection, outside the dataflow
//! ```
//!
//! Everything is generic over time, so that a one-shot (time 0 only) and a maintained view (one time a
//! commit group) run the same operators. The rungs above have made every choice; nothing is chosen here
//! but how to carry it out. Multiplicities stay differences until the very end.

pub mod context;
pub mod delta;
pub mod finish;
pub mod groups;
pub mod join;
pub mod leaf;
pub mod lookup_join;
pub mod mfp;
pub mod ordered;
pub mod recursive;
pub mod reduce;
pub mod rendered;
pub mod settle;
pub mod source;
pub mod table_function;
pub mod top_k;
pub mod union;
pub mod window;

use arrangements::time::ArrangeTime;
use context::{Bundle, Context, NodeId};
use leaf::Leaf;
use planner::plan::Plan;
use planner::scalar::Mfp;
use state::SqlError;

/// The times that plans are rendered at.
pub trait RenderTime: ArrangeTime {
    /// Renders a `LetRec` by iteration in a nested scope, where times allow nesting.
    fn render_recursion<'s>(
        context: &mut Context<'s, Self>,
        recursion: recursive::Recursion<'_>,
    ) -> Result<Bundle<'s, Self>, SqlError>;
}

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
        Plan::Constant { rows, .. } => Ok(source::constant(context, rows.clone())),
        Plan::Get { relation, .. } => {
            Err(SqlError::new("XX000", format!("relation {relation} has no source in this dataflow")))
        }
        Plan::GetLocal { id, .. } => context
            .locals
            .get(id)
            .cloned()
            .ok_or_else(|| SqlError::new("XX000", format!("local relation {} is used outside its scope", id.0))),
        Plan::Mfp(input, mfp) => {
            let input = certain(context, input, mfp.is_volatile())?;
            Ok(mfp::render(context, input, mfp))
        }
        Plan::TableFunction { input, functions, ordinality, .. } => {
            let volatile = settle::any_volatile(functions.iter().flat_map(|(_, args, _)| args));
            let input = certain(context, input, volatile)?;
            Ok(table_function::render(context, input, functions, *ordinality))
        }
        Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, mfp, .. } => {
            let volatile = mfp.is_volatile() || settle::any_volatile(key.iter().chain(condition));
            let input = certain(context, input, volatile)?;
            if let Some(context::Follow { feeds, catalog }) = context.follow.clone() {
                let step = planner::delta::join_step(plan, &catalog)
                    .ok_or_else(|| SqlError::new("XX000", "a maintained plan has a lookup that cannot be followed"))?;
                return Ok(delta::derived::render(context, feeds, input, step));
            }
            let reader = (context.readers)(*relation, &T::minimum());
            let leaf = Leaf::open(reader.catalog(), *relation, Some(*lookup))?;
            let join = lookup_join::LookupJoin { key, kind: *kind, condition, with_key: *with_key, mfp };
            Ok(lookup_join::render(context, input, *relation, leaf, join))
        }
        Plan::Join { left, right, left_key, right_key, null_safe, kind, range: _, mfp } => {
            let (left_arity, right_arity) = (arity(left), arity(right));
            let left_rows = certain(context, left, settle::any_volatile(left_key))?;
            let right_rows = certain(context, right, settle::any_volatile(right_key))?;
            let left = join::Side { rows: left_rows, key: left_key, arity: left_arity };
            let right = join::Side { rows: right_rows, key: right_key, arity: right_arity };
            if mfp.is_volatile() {
                let pairs = Mfp::identity(mfp.input_arity);
                let joined = join::render(context, left, right, *kind, *null_safe, &pairs);
                return Ok(mfp::render(context, settle::settle(context, joined), mfp));
            }
            Ok(join::render(context, left, right, *kind, *null_safe, mfp))
        }
        Plan::Reduce { input, keys, aggregates, scalar } => {
            let input = render(context, input)?;
            Ok(reduce::render(context, input, keys, aggregates, *scalar))
        }
        Plan::TopK { input, keys, order, limit, offset } => {
            let input = render(context, input)?;
            top_k::render(context, input, keys, order, limit.as_ref(), offset.as_ref())
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
            Ok(union::union(context, inputs))
        }
        Plan::Negate(input) => Ok(union::negate(render(context, input)?)),
        Plan::Threshold(input) => {
            let input = render(context, input)?;
            Ok(union::threshold(context, input))
        }
        Plan::Let { id, value, body } => {
            let value = render(context, value)?;
            let errs = value.errs.clone();
            context.locals.insert(*id, Bundle::infallible(value.oks));
            let body = render(context, body)?;
            Ok(body.with_errs(errs))
        }
        Plan::LetRec { id, base, step, distinct, body } => {
            let value = match context.sources.get(&NodeId::recursion(plan)) {
                Some(value) => value.clone(),
                None => {
                    let recursion = recursive::Recursion { id: *id, base, step, distinct: *distinct };
                    T::render_recursion(context, recursion)?
                }
            };
            context.locals.insert(*id, Bundle::infallible(value.oks));
            let body = render(context, body)?;
            Ok(body.with_errs(value.errs))
        }
    }
}

/// Renders a plan whose rows are certain, if that is needed.
fn certain<'s, T: RenderTime>(
    context: &mut Context<'s, T>,
    plan: &Plan,
    needed: bool,
) -> Result<Bundle<'s, T>, SqlError> {
    let rows = render(context, plan)?;
    Ok(if needed { settle::settle(context, rows) } else { rows })
}

/// The plans right below a plan.
pub fn children(plan: &Plan) -> Vec<&Plan> {
    match plan {
        Plan::Constant { .. } | Plan::Get { .. } | Plan::GetLocal { .. } => Vec::new(),
        Plan::Mfp(input, _)
        | Plan::TableFunction { input, .. }
        | Plan::LookupJoin { input, .. }
        | Plan::Reduce { input, .. }
        | Plan::TopK { input, .. }
        | Plan::Window { input, .. }
        | Plan::AtMostOne { input, .. }
        | Plan::Negate(input)
        | Plan::Threshold(input) => vec![input],
        Plan::Join { left, right, .. } => vec![left, right],
        Plan::Union(inputs, _) => inputs.iter().collect(),
        Plan::Let { value, body, .. } => vec![value, body],
        Plan::LetRec { base, step, body, .. } => vec![base, step, body],
    }
}

/// How many columns a plan's rows have.
pub fn arity(plan: &Plan) -> usize {
    match plan {
        Plan::Constant { arity, .. } | Plan::GetLocal { arity, .. } => *arity,
        Plan::Get { mfp, .. } | Plan::Mfp(_, mfp) | Plan::LookupJoin { mfp, .. } | Plan::Join { mfp, .. } => {
            mfp.project.len()
        }
        Plan::TableFunction { input, functions, ordinality, .. } => {
            arity(input) + functions.iter().map(|(_, _, types)| types.len()).sum::<usize>() + usize::from(*ordinality)
        }
        Plan::Reduce { keys, aggregates, .. } => keys.len() + aggregates.len(),
        Plan::Window { input, calls, .. } => arity(input) + calls.len(),
        Plan::TopK { input, .. } | Plan::AtMostOne { input, .. } | Plan::Negate(input) | Plan::Threshold(input) => {
            arity(input)
        }
        Plan::Union(inputs, _) => inputs.first().map_or(0, arity),
        Plan::Let { body, .. } | Plan::LetRec { body, .. } => arity(body),
    }
}

/// Whether a one-shot of the plan may take rows back that it has given: then its rows are consolidated.
pub fn may_retract(plan: &Plan) -> bool {
    use planner::plan::MatchKind;
    match plan {
        Plan::Constant { .. } | Plan::Get { .. } | Plan::Reduce { .. } | Plan::TopK { .. } | Plan::Window { .. } => {
            false
        }
        Plan::AtMostOne { .. } | Plan::Threshold(_) => false,
        // A local may stand for anything.
        Plan::GetLocal { .. } | Plan::Negate(_) | Plan::LetRec { .. } => true,
        Plan::Join { left, right, kind, .. } => match kind {
            MatchKind::Inner | MatchKind::Semi => may_retract(left) || may_retract(right),
            MatchKind::Left | MatchKind::Anti => true,
        },
        Plan::Mfp(input, _) | Plan::TableFunction { input, .. } | Plan::LookupJoin { input, .. } => may_retract(input),
        Plan::Union(inputs, _) => inputs.iter().any(may_retract),
        Plan::Let { value, body, .. } => may_retract(value) || may_retract(body),
    }
}
