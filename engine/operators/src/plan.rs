//! What operators ask of a plan's shape.

use planner::plan::{LocalId, MatchKind, Plan};

/// A `LetRec` without its body.
#[derive(Clone, Copy)]
pub struct Recursion<'p> {
    /// Its name in `step`.
    pub id: LocalId,
    /// The rows of round 0.
    pub base: &'p Plan,
    /// From one round's rows to the next's.
    pub step: &'p Plan,
    /// UNION rather than UNION ALL.
    pub distinct: bool,
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
        | Plan::Temporal { input, .. }
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
        Plan::TopK { input, .. }
        | Plan::AtMostOne { input, .. }
        | Plan::Temporal { input, .. }
        | Plan::Negate(input)
        | Plan::Threshold(input) => arity(input),
        Plan::Union(inputs, _) => inputs.first().map_or(0, arity),
        Plan::Let { body, .. } | Plan::LetRec { body, .. } => arity(body),
    }
}

/// Whether a bag is negated below unions, filters and projections.
pub(crate) fn negates(plan: &Plan) -> bool {
    match plan {
        Plan::Negate(_) => true,
        Plan::Union(inputs, _) => inputs.iter().any(negates),
        Plan::Mfp(input, _) => negates(input),
        Plan::Let { body, .. } => negates(body),
        _ => false,
    }
}

/// How often a plan reads a local; inside the step of a recursion counts as often.
pub fn uses(plan: &Plan, id: LocalId) -> usize {
    match plan {
        Plan::GetLocal { id: local, .. } => usize::from(*local == id),
        Plan::LetRec { base, step, body, .. } => uses(base, id) + 2 * uses(step, id) + uses(body, id),
        _ => children(plan).into_iter().map(|child| uses(child, id)).sum(),
    }
}

/// Whether `step` of a union of two bags for `id` is the union of its results for each, and can be in the loop.
pub(crate) fn is_additive(step: &Plan, id: LocalId) -> bool {
    // Loops do not nest here: a step with a loop of its own runs by rounds.
    !recurses(step) && adds(step, id)
}

/// Whether there is a recursion in a plan.
pub fn recurses(plan: &Plan) -> bool {
    matches!(plan, Plan::LetRec { .. }) || children(plan).into_iter().any(recurses)
}

fn adds(step: &Plan, id: LocalId) -> bool {
    match step {
        Plan::Constant { .. } | Plan::Get { .. } | Plan::GetLocal { .. } => true,
        Plan::Mfp(input, _)
        | Plan::TableFunction { input, .. }
        | Plan::LookupJoin { input, .. }
        | Plan::Negate(input) => adds(input, id),
        Plan::Join { left, right, kind, .. } => match kind {
            MatchKind::Inner => (!mentions(left, id) || !mentions(right, id)) && adds(left, id) && adds(right, id),
            MatchKind::Left | MatchKind::Semi | MatchKind::Anti => adds(left, id) && !mentions(right, id),
        },
        // A branch without the local would come again each round.
        Plan::Union(inputs, _) => {
            !mentions(step, id) || inputs.iter().all(|input| mentions(input, id) && adds(input, id))
        }
        Plan::Let { value, body, .. } => !mentions(value, id) && adds(body, id),
        Plan::Reduce { .. }
        | Plan::TopK { .. }
        | Plan::Window { .. }
        | Plan::AtMostOne { .. }
        | Plan::Threshold(_)
        | Plan::Temporal { .. }
        | Plan::LetRec { .. } => !mentions(step, id),
    }
}

/// Whether a plan reads the local relation.
pub fn mentions(plan: &Plan, id: LocalId) -> bool {
    match plan {
        Plan::GetLocal { id: local, .. } => *local == id,
        _ => children(plan).into_iter().any(|child| mentions(child, id)),
    }
}
