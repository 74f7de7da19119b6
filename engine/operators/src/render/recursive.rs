//! `WITH RECURSIVE` by iteration in a nested scope.
//!
//! ```text
//!            ┌────────────── + 1 round ───────────────┐
//! base ──▶ concat ──▶ distinct (UNION) or consolidate (UNION ALL) ──▶ out
//!            ▲                                        │
//!            └────────────── step ◀───────────────────┘
//! ```
//!
//! Differences of round i are what SQL's round i adds, provided that the step of a union of rows is the
//! union of the steps (`is_additive`). Other steps run by rounds, see `one_shot::rounds`. Consolidation in
//! the loop is needed: additions and removals that cancel would otherwise go round for ever.

use crate::render::context::{Bundle, Context, NodeId, Rows, both};
use crate::render::groups::reduce;
use crate::render::join::{COPIES_MAX, too_many_copies};
use crate::render::{RenderTime, children, render};
use arrangements::arrangement::{FlatBytes, arrange, metered};
use differential_dataflow::operators::iterate::VecVariable;
use planner::plan::{LocalId, MatchKind, Plan};
use repr::{Row, key};
use state::SqlError;
use std::collections::HashSet;
use std::rc::Rc;
use timely::order::Product;

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

type Rounds = Product<u64, u64>;

impl RenderTime for u64 {
    fn render_recursion<'s>(
        context: &mut Context<'s, u64>,
        recursion: Recursion<'_>,
    ) -> Result<Bundle<'s, u64>, SqlError> {
        if !is_additive(recursion.step, recursion.id) {
            return Err(SqlError::unsupported(
                "a recursive query whose recursive part aggregates, sorts or subtracts its own rows together with other common table expressions",
            )
            .hint("Write the other common table expressions as tables or inline them."));
        }
        let base = render(context, recursion.base)?;
        let outer = context.scope;
        let mut inside = HashSet::new();
        nodes(recursion.step, &mut inside);
        outer.scoped::<Rounds, _, _>("Recursion", |scope| {
            let (variable, rows) = VecVariable::new(scope, Product::new(Default::default(), 1));
            let enter = |bundle: &Bundle<'s, u64>| Bundle {
                oks: bundle.oks.clone().enter(scope),
                errs: bundle.errs.clone().map(|errs| errs.enter(scope)),
            };
            let readers = context.readers.clone();
            let mut inner = Context {
                scope,
                sources: context
                    .sources
                    .iter()
                    .filter(|(node, _)| inside.contains(node))
                    .map(|(node, bundle)| (*node, enter(bundle)))
                    .collect(),
                locals: context.locals.iter().map(|(id, bundle)| (*id, enter(bundle))).collect(),
                readers: Rc::new(move |relation, time: &Rounds| readers(relation, &time.outer)),
                eval: context.eval.clone(),
                watch: context.watch.clone(),
                meter: context.meter.clone(),
                follow: None,
                rendered: context.rendered.clone(),
            };
            inner.locals.insert(recursion.id, Bundle::infallible(rows));
            let step = match render(&mut inner, recursion.step) {
                Ok(step) => step,
                Err(error) => {
                    // Timely panics at a loop that nobody closed.
                    variable.set(enter(&base).oks);
                    return Err(error);
                }
            };
            let all = enter(&base).oks.concat(step.oks);
            let settled = settle(&inner, all, recursion.distinct);
            variable.set(settled.clone());
            Ok(Bundle { oks: settled.leave(outer), errs: both(base.errs, step.errs.map(|errs| errs.leave(outer))) })
        })
    }
}

impl RenderTime for Rounds {
    fn render_recursion<'s>(_: &mut Context<'s, Rounds>, _: Recursion<'_>) -> Result<Bundle<'s, Rounds>, SqlError> {
        // `is_additive` lets no recursion into a step; sources inside a step are rendered outside.
        Err(SqlError::unsupported("a recursive query inside the recursive part of another")
            .hint("Name the inner query first, in the same WITH RECURSIVE."))
    }
}

/// Each row once by SQL equality, or the bag as it is; either way without rows that cancel.
fn settle<'s>(context: &Context<'s, Rounds>, rows: Rows<'s, Rounds>, distinct: bool) -> Rows<'s, Rounds> {
    let meter = context.meter.clone();
    let mut datums = Vec::new();
    let keyed = rows.map(move |row| {
        row.unpack_into(&mut datums);
        metered(&meter, key::encode_all(&datums), row)
    });
    let arranged = arrange(&context.meter, keyed, "ArrangeRecursion");
    if distinct {
        reduce(arranged, "DistinctRecursion", |_key, rows, output| {
            if let Some((first, _)) = rows.iter().find(|(_, diff)| *diff > 0) {
                output.push((Ok(Row::copy_from(first.0)), 1));
            }
        })
        .oks
    } else {
        // Each round may multiply what the one before it gave.
        let watch = context.watch.clone();
        let settled = arranged.as_collection(|_key, row| Row::copy_from(row.0));
        settled.inspect(move |(_, _, copies)| {
            if copies.unsigned_abs() > COPIES_MAX {
                watch.fail(too_many_copies());
            }
        })
    }
}

/// Whether `step` of a union of two bags for `id` is the union of its results for each, and can be in the loop.
pub fn is_additive(step: &Plan, id: LocalId) -> bool {
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

fn nodes(plan: &Plan, found: &mut HashSet<NodeId>) {
    found.insert(NodeId::of(plan));
    found.insert(NodeId::recursion(plan));
    for child in children(plan) {
        nodes(child, found);
    }
}
