//! Half-joins at work: what a commit group changes in a chain of lookups, as an operator of a dataflow.
//!
//! ```text
//! Feed (a group, or rows to hydrate with) ──▶ DeltaJoin ──▶ rows, errors         planned by `planner::delta`
//!                                              │ reads the leaves before and after the group
//! ```
//!
//! Rows go through a pipeline one by one, depth first: nothing is collected on the way. A row that fails
//! becomes an error with the row's difference, so that the error goes when the row goes. Keeps no state but what it has
//! found and not given yet (see `slices`), how many matches keys have that change or are asked for (see `match_counts`), and
//! whether they have any while a view is filled.

mod changed;
pub mod derived;
mod match_counts;
mod run;
pub(crate) mod slices;

use crate::context::{Bundle, Context, RenderTime, give};
use crate::lookup_join::evaluate;
use changed::ChangedRows;
use differential_dataflow::AsCollection;
use match_counts::{Count, MatchCounts, Matched};
use planner::delta::{JoinStep, Pipeline, PipelineEntry, Step};
use planner::plan::MatchKind;
use planner::scalar::EvalContext;
use repr::{CommitTime, Datum, RelationId, Row, ValueError, key};
use run::{Lookups, Run};
use slices::{SLICE_ROWS, Slices};
use state::SqlError;
use state::interrupt::Watch;
use state::reader::Reader;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Pipeline as Local;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::progress::operate::FrontierInterest;

/// What a commit group did, as views see it.
pub struct Group {
    /// The state before it.
    pub before: Arc<dyn Reader>,
    /// The state after it.
    pub after: Arc<dyn Reader>,
    /// The changed rows of each table and view, as they are stored.
    pub changes: BTreeMap<RelationId, Arc<Vec<(Row, isize)>>>,
    /// That of the state after it.
    pub time: CommitTime,
    /// And the clock's moment then.
    pub clock: i64,
}

/// What enters a view's dataflow.
#[derive(Clone)]
pub enum Feed {
    /// A commit group.
    Group(Arc<Group>),
    /// Rows of a table that one pipeline of one chain starts from, as they are stored, and where all else is read.
    Rows(Arc<Chunk>),
}

impl Feed {
    /// The clock's moment when it is fed.
    pub fn clock(&self) -> i64 {
        match self {
            Feed::Group(group) => group.clock,
            Feed::Rows(chunk) => chunk.clock,
        }
    }

    /// How many rows it brings.
    pub fn rows(&self) -> usize {
        match self {
            Feed::Group(group) => group.changes.values().map(|rows| rows.len()).sum(),
            Feed::Rows(chunk) => chunk.rows.len(),
        }
    }
}

/// Rows to hydrate with.
pub struct Chunk {
    /// Which chain of the view.
    pub chain: usize,
    /// Which of its pipelines.
    pub pipeline: usize,
    /// The rows; none stands for a pipeline's constants.
    pub rows: Vec<Row>,
    /// The state that is hydrated from.
    pub reader: Arc<dyn Reader>,
    /// The clock's moment for which it is hydrated.
    pub clock: i64,
}

/// Rows and errors with their differences, in the order they came.
#[derive(Default)]
pub struct Changes {
    /// Rows.
    pub oks: Vec<(Row, isize)>,
    /// Errors.
    pub errs: Vec<(ValueError, isize)>,
    /// Bytes of the rows.
    bytes: usize,
}

impl Changes {
    /// One more row.
    pub(crate) fn push(&mut self, row: Row, diff: isize) {
        self.bytes += row.bytes().len() + size_of::<(Row, isize)>();
        self.oks.push((row, diff));
    }
}

/// A chain being followed.
struct DeltaJoin {
    pipelines: Vec<Pipeline>,
    /// Of the pipelines that enter by a join, in their order.
    matched: Vec<Matched>,
    follower: Follower,
    filling: Option<Filling>,
}

/// What the chunks of a hydration have looked up: all of them read one state.
struct Filling {
    reader: Weak<dyn Reader>,
    lookups: Lookups,
}

/// What rows are evaluated with on their way.
struct Follower {
    eval: EvalContext,
    watch: Arc<Watch>,
}

impl DeltaJoin {
    /// What a feed brings to the chain of this number.
    fn feed(&mut self, feed: &Feed, chain: usize, changes: &mut Changes) -> Result<(), SqlError> {
        let filling = self.filling.take();
        match feed {
            Feed::Group(group) => self.group(group, changes),
            Feed::Rows(chunk) if chunk.chain == chain => self.chunk(chunk, filling, changes),
            Feed::Rows(_) => Ok(()),
        }
    }

    /// What the group changes.
    fn group(&mut self, group: &Group, changes: &mut Changes) -> Result<(), SqlError> {
        // All that is known of matches is of the state after the group before anybody asks.
        let mut changed_rows = VecDeque::new();
        for Matched { join, counts } in &self.matched {
            let changed = group.changes.get(&join.relation).map(|changed| ChangedRows::read(group, join, changed));
            let mut changed = changed.transpose()?;
            if let Some(changed) = &mut changed {
                counts.borrow_mut().hear(&mut self.follower.run(group.after.as_ref(), changes), join, changed)?;
            }
            changed_rows.push_back(changed);
        }
        let mut matched = self.matched.iter();
        for pipeline in &self.pipelines {
            match &pipeline.entry {
                PipelineEntry::Constant(_) => {}
                PipelineEntry::Rows { relation, mfp } => {
                    let Some(changed) = group.changes.get(relation) else { continue };
                    let mut run = self.follower.run(group.after.as_ref(), changes).knowing(&self.matched);
                    run.changed_rows(*relation, changed, mfp, &pipeline.steps)?;
                }
                PipelineEntry::Match { seeds, join } => {
                    let (Some(matched), Some(changed)) = (matched.next(), changed_rows.pop_front().flatten()) else {
                        continue;
                    };
                    if changed.keys.is_empty() {
                        continue;
                    }
                    let mut left = Changes::default();
                    self.follower.run(group.before.as_ref(), &mut left).seeds(seeds, &changed.keys)?;
                    let joined = Joined { group, changed: &changed, join, steps: &pipeline.steps };
                    self.follower.matches(&joined, matched, (&left.oks, &self.matched), changes)?;
                }
            }
        }
        Ok(())
    }

    /// What rows bring that are fed while hydrating. The last chunk of all is of no pipeline, and nothing is kept after it.
    fn chunk(&mut self, chunk: &Chunk, filling: Option<Filling>, changes: &mut Changes) -> Result<(), SqlError> {
        let Some(pipeline) = self.pipelines.get(chunk.pipeline) else { return Ok(()) };
        let reader = Arc::downgrade(&chunk.reader);
        let before = filling.filter(|filling| filling.reader.ptr_eq(&reader));
        let lookups = before.map(|filling| filling.lookups).unwrap_or_default();
        let mut run = self.follower.run(chunk.reader.as_ref(), changes).with(lookups);
        match &pipeline.entry {
            PipelineEntry::Constant(rows) => {
                for row in rows {
                    run.steps(&mut row.unpack(), 1, &pipeline.steps)?;
                }
            }
            PipelineEntry::Rows { relation, mfp } => {
                run.table_rows(*relation, chunk.rows.iter().map(|row| (row, 1)), mfp, &pipeline.steps)?;
            }
            // The left side's own pipelines bring the matches along.
            PipelineEntry::Match { .. } => {}
        }
        let mut lookups = run.into_lookups();
        lookups.forget_rows();
        self.filling = Some(Filling { reader, lookups });
        Ok(())
    }
}

/// What is known of the matches of the joins that pipelines enter by: nothing yet.
fn matched(pipelines: &[Pipeline]) -> Vec<Matched> {
    let by = |pipeline: &Pipeline| match &pipeline.entry {
        PipelineEntry::Match { join, .. } => Some(Matched::by(join)),
        PipelineEntry::Constant(_) | PipelineEntry::Rows { .. } => None,
    };
    pipelines.iter().filter_map(by).collect()
}

/// A join whose right side changed.
struct Joined<'j> {
    group: &'j Group,
    changed: &'j ChangedRows,
    join: &'j JoinStep,
    /// What is left of the way.
    steps: &'j [Step],
}

impl Follower {
    fn run<'r>(&'r self, reader: &'r dyn Reader, changes: &'r mut Changes) -> Run<'r> {
        Run::new(reader, &self.eval, &self.watch, changes)
    }

    /// What comes of left rows after, minus what came of them before; on their way they know of these.
    fn matches(
        &self,
        joined: &Joined<'_>,
        matched: &Matched,
        (left, known): (&[(Row, isize)], &[Matched]),
        changes: &mut Changes,
    ) -> Result<(), SqlError> {
        let mut run = self.run(joined.group.after.as_ref(), changes).knowing(known);
        left.iter().try_for_each(|(row, diff)| self.matched(joined, &matched.counts, (row, *diff), &mut run))
    }

    /// What changes for a left row: the matches that came and went, and what there is of it when there is none. A row
    /// has as many as it likes; only those that changed are looked at.
    fn matched(
        &self,
        joined: &Joined<'_>,
        counts: &RefCell<MatchCounts>,
        (row, diff): (&Row, isize),
        run: &mut Run<'_>,
    ) -> Result<(), SqlError> {
        let Joined { changed, join, steps, .. } = joined;
        let left = row.unpack();
        // A key that cannot be computed is an error in both states.
        let Ok(values) = evaluate(&join.key, &left, &self.eval) else { return Ok(()) };
        let Some(found) = changed.rows.get(&key::encode_all(&values)) else { return Ok(()) };
        let is_lone = matches!(join.kind, MatchKind::Semi | MatchKind::Anti);
        if !is_lone {
            for (right, times) in found {
                run.pair(&left, right, diff * times, join, steps)?;
            }
        }
        if join.kind == MatchKind::Inner {
            return Ok(());
        }
        let around = counts.borrow_mut().around(run, join, found, (&left, &values))?;
        let Some((before, after)) = around else { return Ok(()) };
        if is_lone && before.failures.max(after.failures) > 0 {
            return self.compare(joined, (row, diff), run.changes);
        }
        // A match that fails is an error by itself, and a match.
        let any = |count: Count| isize::from(count.matches + count.failures > 0);
        let by_match = diff * (any(after) - any(before));
        match join.kind {
            _ if by_match == 0 => Ok(()),
            MatchKind::Inner => Ok(()),
            MatchKind::Semi => run.filtered(&mut left.clone(), by_match, &join.mfp, steps),
            MatchKind::Anti => run.filtered(&mut left.clone(), -by_match, &join.mfp, steps),
            MatchKind::Left => {
                let mut padded = left;
                padded.resize(padded.len() + run.leaf(join)?.arity(), Datum::Null);
                run.filtered(&mut padded, -by_match, &join.mfp, steps)
            }
        }
    }

    /// The same by asking both states.
    fn compare(&self, joined: &Joined<'_>, (row, diff): (&Row, isize), changes: &mut Changes) -> Result<(), SqlError> {
        let Joined { group, join, steps, .. } = joined;
        self.run(group.after.as_ref(), changes).join(&mut row.unpack(), diff, join, steps)?;
        let mut before = Changes::default();
        self.run(group.before.as_ref(), &mut before).join(&mut row.unpack(), -diff, join, &[])?;
        changes.errs.append(&mut before.errs);
        // What came before goes on through lookups that read the state after, as its counterpart does.
        for (row, diff) in before.oks {
            self.run(group.after.as_ref(), changes).steps(&mut row.unpack(), diff, steps)?;
        }
        Ok(())
    }
}

/// Renders a chain over what is fed.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    feeds: Stream<'s, T, Vec<Feed>>,
    chain: usize,
    pipelines: Vec<Pipeline>,
) -> Bundle<'s, T> {
    let watch = context.watch.clone();
    let follower = Follower { eval: context.eval.clone(), watch: watch.clone() };
    let mut delta = DeltaJoin { matched: matched(&pipelines), pipelines, follower, filling: None };
    let mut builder = OperatorBuilder::new("DeltaJoin".to_owned(), context.scope);
    let activator = context.scope.activator_for(builder.operator_info().address);
    let mut input = builder.new_input(feeds, Local);
    builder.set_notify_for(0, FrontierInterest::Never);
    let (oks_output, oks) = builder.new_output::<Vec<(Row, T, isize)>>();
    let (errs_output, errs) = builder.new_output::<Vec<(ValueError, T, isize)>>();
    let mut oks_output = OutputBuilder::from(oks_output);
    let mut errs_output = OutputBuilder::from(errs_output);
    builder.build(move |_| {
        let mut slices = Slices::new(activator, watch.clone());
        move |_frontiers| {
            let mut oks_handle = oks_output.activate();
            let mut errs_handle = errs_output.activate();
            let joined = watch.join();
            input.for_each(|capability, feeds| {
                let mut changes = Changes::default();
                for feed in feeds.drain(..) {
                    let done = delta.feed(&feed, chain, &mut changes);
                    if let Err(error) = done {
                        watch.fail(error);
                        return;
                    }
                }
                if changes.oks.len() + changes.errs.len() > SLICE_ROWS {
                    slices.push(changes, [capability.retain(0), capability.retain(1)]);
                    return;
                }
                let time = capability.time();
                let mut rows: Vec<_> = changes.oks.into_iter().map(|(row, diff)| (row, time.clone(), diff)).collect();
                give(&mut oks_handle, &capability, &mut rows);
                let mut errors: Vec<_> =
                    changes.errs.into_iter().map(|(error, diff)| (error, time.clone(), diff)).collect();
                give(&mut errs_handle, &capability, &mut errors);
            });
            drop(joined);
            slices.give(
                |capability, rows| oks_handle.session(capability).give_container(rows),
                |capability, errors| errs_handle.session(capability).give_container(errors),
            );
        }
    });
    Bundle { oks: oks.as_collection(), errs: Some(errs.as_collection()) }
}
