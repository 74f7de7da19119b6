//! `WITH RECURSIVE`.
//!
//! ```text
//! once    by rounds, as PostgreSQL runs it: the step sees the last round's new rows only
//!
//!         base ─▶ round 1 ─▶ step ─▶ round 2 ─▶ step …      each row goes out as it is found
//!
//! kept    by iteration in a nested scope
//!
//!                 ┌────────────── + 1 round ───────────────┐
//!         base ──▶ concat ──▶ distinct (UNION) or consolidate (UNION ALL) ──▶ out
//!                 ▲                                        │
//!                 └────────────── step ◀───────────────────┘
//! ```
//!
//! Once, a LIMIT above ends a recursion that would not end; what bounds it is memory (UNION keeps a key of every row that it
//! has seen, a round's rows wait for the next). What a step's join holds of a side that is the same in each round is held once.
//!
//! Kept, differences of round i are what SQL's round i adds, provided that the step of a union of rows is the union of the
//! steps (`plan::is_additive`); other steps are refused. Consolidation in the loop is needed: additions and removals that
//! cancel would otherwise go round for ever.

use crate::context::{Bundle, Context, NodeId, RenderTime, Rows, both};
use crate::groups::reduce;
use crate::join::{COPIES_MAX, too_many_copies};
use crate::once::{Kept, OneShot, Pull, Scope};
use crate::open::open;
use crate::plan::{Recursion, children, is_additive};
use crate::render::render;
use arrangements::arrangement::{FlatBytes, arrange, metered};
use differential_dataflow::operators::iterate::VecVariable;
use planner::plan::Plan;
use repr::{Datum, Row, key, poll};
use state::SqlError;
use state::interrupt::Ticker;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use timely::order::Product;

/// The rows of all rounds.
pub struct Rounds<'p> {
    recursion: Recursion<'p>,
    current: Box<dyn Pull + 'p>,
    /// What this round has given so far: the next round's input.
    given: Vec<Row>,
    /// What the round at hand reads, charged to the query.
    seen: BTreeSet<Vec<u8>>,
    shot: OneShot,
    scope: Arc<Scope<'p>>,
    /// What the step's joins hold of plans that are the same in each round.
    kept: Arc<Kept>,
    ticker: Ticker,
}

impl<'p> Rounds<'p> {
    /// Starts with the base's rows.
    pub fn new(recursion: Recursion<'p>, shot: &OneShot, scope: &Arc<Scope<'p>>) -> Result<Self, SqlError> {
        Ok(Rounds {
            recursion,
            current: open(recursion.base, shot, scope)?,
            given: Vec::new(),
            seen: BTreeSet::new(),
            shot: shot.clone(),
            scope: scope.clone(),
            kept: Arc::default(),
            ticker: Ticker::default(),
        })
    }

    fn start_round(&mut self) -> Result<bool, SqlError> {
        if self.given.is_empty() {
            return Ok(false);
        }
        let round = Arc::new(std::mem::take(&mut self.given));
        let scope = self.scope.of_round(self.recursion.id, round, &self.kept);
        self.current = open(self.recursion.step, &self.shot, &scope)?;
        Ok(true)
    }
}

impl Pull for Rounds<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            self.ticker.tick(&self.shot.watch)?;
            if !self.current.next(row)? {
                if !self.start_round()? {
                    return Ok(false);
                }
                continue;
            }
            if self.recursion.distinct {
                let code = key::encode_all(row);
                if !self.seen.insert(code) {
                    continue;
                }
            }
            let packed = Row::pack(row.iter());
            poll::bytes(packed.bytes().len())?;
            self.given.push(packed);
            return Ok(true);
        }
    }
}

type RoundTime = Product<u64, u64>;

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
        outer.scoped::<RoundTime, _, _>("Recursion", |scope| {
            let (variable, rows) = VecVariable::new(scope, Product::new(Default::default(), 1));
            let enter = |bundle: &Bundle<'s, u64>| Bundle {
                oks: bundle.oks.clone().enter(scope),
                errs: bundle.errs.clone().map(|errs| errs.enter(scope)),
            };
            let mut inner = Context {
                scope,
                sources: context
                    .sources
                    .iter()
                    .filter(|(node, _)| inside.contains(node))
                    .map(|(node, bundle)| (*node, enter(bundle)))
                    .collect(),
                locals: context.locals.iter().map(|(id, bundle)| (*id, enter(bundle))).collect(),
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

impl RenderTime for RoundTime {
    fn render_recursion<'s>(
        _: &mut Context<'s, RoundTime>,
        _: Recursion<'_>,
    ) -> Result<Bundle<'s, RoundTime>, SqlError> {
        // `is_additive` lets no recursion into a step; sources inside a step are rendered outside.
        Err(SqlError::unsupported("a recursive query inside the recursive part of another")
            .hint("Name the inner query first, in the same WITH RECURSIVE."))
    }
}

/// Each row once by SQL equality, or the bag as it is; either way without rows that cancel.
fn settle<'s>(context: &Context<'s, RoundTime>, rows: Rows<'s, RoundTime>, distinct: bool) -> Rows<'s, RoundTime> {
    let meter = context.meter.clone();
    let mut datums = Vec::new();
    let keyed = rows.map(move |row| {
        row.unpack_into(&mut datums);
        let key = key::encode_all(&datums);
        // Nobody's row is kept until the next one comes.
        datums.clear();
        metered(&meter, key, row)
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

fn nodes(plan: &Plan, found: &mut HashSet<NodeId>) {
    found.insert(NodeId::of(plan));
    found.insert(NodeId::recursion(plan));
    for child in children(plan) {
        nodes(child, found);
    }
}
