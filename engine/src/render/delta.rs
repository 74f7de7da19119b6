//! Half-joins at work: what a commit group changes in a chain of lookups, as an operator of a dataflow.
//!
//! ```text
//! Feed (a group, or rows to hydrate with) ──▶ DeltaJoin ──▶ rows, errors         planned by `planner::delta`
//!                                              │ reads the leaves before and after the group
//! ```
//!
//! Rows go through a pipeline one by one, depth first: nothing is collected on the way. A row that fails
//! becomes an error with the row's difference, so that the error goes when the row goes. Keeps no state.

use super::RenderTime;
use super::context::{Bundle, Context, RowFailure};
use super::leaf::Leaf;
use super::lookup_join::LookupJoin;
use super::table_function::FunctionRows;
use crate::SqlError;
use crate::one_shot::watch::{Ticker, Watch};
use crate::reader::Reader;
use planner::delta::{Entry, JoinStep, Pipeline, Seed, SeedStart, Step, lookup_columns};
use planner::plan::MatchKind;
use planner::scalar::{EvalContext, Mfp};
use repr::{Datum, RelationId, Row, ValueError, key};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
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
}

/// What enters a view's dataflow.
#[derive(Clone)]
pub enum Feed {
    /// A commit group.
    Group(Arc<Group>),
    /// Rows of a table that one pipeline of one chain starts from, as they are stored, and where all else is read.
    Rows(Arc<Chunk>),
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

/// A chain being followed.
pub struct DeltaJoin {
    pipelines: Vec<Pipeline>,
    eval: EvalContext,
    watch: Arc<Watch>,
}

impl DeltaJoin {
    /// Follows these pipelines.
    pub fn new(pipelines: Vec<Pipeline>, eval: EvalContext, watch: Arc<Watch>) -> Self {
        DeltaJoin { pipelines, eval, watch }
    }

    /// What the group changes.
    fn group(&self, group: &Group, changes: &mut Changes) -> Result<(), SqlError> {
        for pipeline in &self.pipelines {
            match &pipeline.entry {
                Entry::Constant(_) => {}
                Entry::Rows { relation, mfp } => {
                    let Some(changed) = group.changes.get(relation) else { continue };
                    let mut run = self.run(group.after.as_ref(), changes);
                    run.table_rows(*relation, changed, mfp, &pipeline.steps)?;
                }
                Entry::Match { seeds, join } => {
                    let Some(changed) = group.changes.get(&join.relation) else { continue };
                    self.matches(group, changed, (seeds, join), &pipeline.steps, changes)?;
                }
            }
        }
        Ok(())
    }

    /// What rows bring that are fed while hydrating.
    fn chunk(&self, chunk: &Chunk, changes: &mut Changes) -> Result<(), SqlError> {
        let Some(pipeline) = self.pipelines.get(chunk.pipeline) else { return Ok(()) };
        let mut run = self.run(chunk.reader.as_ref(), changes);
        match &pipeline.entry {
            Entry::Constant(rows) => {
                for row in rows {
                    run.steps(&mut row.unpack(), 1, &pipeline.steps)?;
                }
                Ok(())
            }
            Entry::Rows { relation, mfp } => {
                let rows: Vec<(Row, isize)> = chunk.rows.iter().map(|row| (row.clone(), 1)).collect();
                run.table_rows(*relation, &rows, mfp, &pipeline.steps)
            }
            // The left side's own pipelines bring the matches along.
            Entry::Match { .. } => Ok(()),
        }
    }

    fn run<'r>(&'r self, reader: &'r dyn Reader, changes: &'r mut Changes) -> Run<'r> {
        Run { reader, eval: &self.eval, watch: &self.watch, ticker: Ticker::default(), changes }
    }

    /// What changes for a left row whose matches need no further condition: the matches that came and went, and what there is
    /// of it when there is none. A row has as many as it likes; only those that changed are looked at.
    fn matched(
        &self,
        group: &Group,
        changed: &ChangedRows,
        (row, diff): (&Row, isize),
        join: &JoinStep,
        steps: &[Step],
        changes: &mut Changes,
    ) -> Result<(), SqlError> {
        let left = row.unpack();
        // A key that cannot be computed is an error in both states.
        let Ok(values) = join.key.iter().map(|key| key.eval(&left, &self.eval)).collect::<Result<Vec<_>, _>>() else {
            return Ok(());
        };
        let any =
            |reader: &dyn Reader| Leaf::open(reader.catalog(), join.relation, Some(join.lookup))?.any(reader, &values);
        let (before, after) = (any(group.before.as_ref())?, any(group.after.as_ref())?);
        let mut run = self.run(group.after.as_ref(), changes);
        if join.kind == MatchKind::Left {
            for (right, times) in changed.rows.get(&key::encode_all(&values)).into_iter().flatten() {
                let mut joined = [left.as_slice(), right].concat();
                run.filtered(&mut joined, diff * times, &join.mfp, steps)?;
            }
        }
        let by_match = isize::from(after) - isize::from(before);
        match join.kind {
            _ if by_match == 0 => Ok(()),
            MatchKind::Inner => Ok(()),
            MatchKind::Semi => run.filtered(&mut left.clone(), diff * by_match, &join.mfp, steps),
            MatchKind::Anti => run.filtered(&mut left.clone(), -diff * by_match, &join.mfp, steps),
            MatchKind::Left => {
                let arity = Leaf::open(group.after.catalog(), join.relation, Some(join.lookup))?.arity();
                let mut padded = left;
                padded.resize(padded.len() + arity, Datum::Null);
                run.filtered(&mut padded, -diff * by_match, &join.mfp, steps)
            }
        }
    }

    /// Left rows whose matches may have changed: their rows after, minus their rows before.
    fn matches(
        &self,
        group: &Group,
        changed: &[(Row, isize)],
        (seeds, join): (&[Seed], &JoinStep),
        steps: &[Step],
        changes: &mut Changes,
    ) -> Result<(), SqlError> {
        let changed = ChangedRows::read(group, join, changed)?;
        let mut left = Changes::default();
        self.run(group.before.as_ref(), &mut left).seeds(seeds, &changed.keys)?;
        if join.condition.is_empty() && join.kind != MatchKind::Inner {
            let left = left.oks.iter();
            return left.map(|(row, diff)| self.matched(group, &changed, (row, *diff), join, steps, changes)).collect();
        }
        // The group may move a left row out of reach of both keys; what both states agree on cancels later.
        let mut before = Changes::default();
        for (row, diff) in &left.oks {
            let mut run = self.run(group.after.as_ref(), changes);
            run.join(&mut row.unpack(), *diff, join, steps)?;
            let mut run = self.run(group.before.as_ref(), &mut before);
            run.join(&mut row.unpack(), -*diff, join, &[])?;
        }
        changes.errs.append(&mut before.errs);
        // What came before goes on through lookups that read the state after, as its counterpart does.
        for (row, diff) in before.oks {
            self.run(group.after.as_ref(), changes).steps(&mut row.unpack(), diff, steps)?;
        }
        Ok(())
    }
}

/// Changed rows of the right side, by the looked-up columns; NULLs match nothing.
struct ChangedRows {
    /// Each key once.
    keys: Vec<Vec<Datum>>,
    /// By encoded key.
    rows: HashMap<Vec<u8>, Vec<(Vec<Datum>, isize)>>,
}

impl ChangedRows {
    fn read(group: &Group, join: &JoinStep, changed: &[(Row, isize)]) -> Result<Self, SqlError> {
        let (mut keys, mut rows) = (Vec::new(), HashMap::new());
        for (row, diff) in changed {
            // A row is read by the catalog of its own time.
            let reader = if *diff < 0 { &group.before } else { &group.after };
            let leaf = Leaf::open(reader.catalog(), join.relation, Some(join.lookup))?;
            let columns = lookup_columns(leaf.table(), join.lookup).unwrap_or_default();
            let mut datums = Vec::new();
            leaf.append(row, &mut datums);
            let key: Vec<Datum> = columns.iter().map(|column| datums[*column].clone()).collect();
            if key.iter().any(Datum::is_null) {
                continue;
            }
            let rows: &mut Vec<_> = rows.entry(key::encode_all(&key)).or_default();
            if rows.is_empty() {
                keys.push(key);
            }
            rows.push((datums, *diff));
        }
        Ok(ChangedRows { keys, rows })
    }
}

/// Rows on their way through one pipeline, over one state.
struct Run<'r> {
    reader: &'r dyn Reader,
    eval: &'r EvalContext,
    watch: &'r Watch,
    ticker: Ticker,
    changes: &'r mut Changes,
}

impl Run<'_> {
    /// Stored rows of a table, through `mfp` and on.
    fn table_rows(
        &mut self,
        relation: RelationId,
        rows: &[(Row, isize)],
        mfp: &Mfp,
        steps: &[Step],
    ) -> Result<(), SqlError> {
        let leaf = Leaf::open(self.reader.catalog(), relation, None)?;
        let mut datums = Vec::new();
        for (row, diff) in rows {
            datums.clear();
            leaf.append(row, &mut datums);
            self.filtered(&mut datums, *diff, mfp, steps)?;
        }
        Ok(())
    }

    fn filtered(&mut self, row: &mut Vec<Datum>, diff: isize, mfp: &Mfp, steps: &[Step]) -> Result<(), SqlError> {
        match mfp.evaluate(row, self.eval) {
            Ok(true) => self.steps(row, diff, steps),
            Ok(false) => Ok(()),
            Err(error) => {
                self.changes.errs.push((error, diff));
                Ok(())
            }
        }
    }

    /// A row through what is left of its way. `row` is used up.
    fn steps(&mut self, row: &mut Vec<Datum>, diff: isize, steps: &[Step]) -> Result<(), SqlError> {
        self.ticker.tick(self.watch)?;
        let Some((step, rest)) = steps.split_first() else {
            let row = Row::pack(row.iter());
            self.changes.bytes += row.bytes().len() + size_of::<(Row, isize)>();
            self.changes.oks.push((row, diff));
            // What one feed brings is held here before the arrangements hear of it.
            return self.watch.check_memory(self.changes.bytes);
        };
        match step {
            Step::Mfp(mfp) => self.filtered(row, diff, mfp, rest),
            Step::Negate => self.steps(row, -diff, rest),
            Step::Join(join) => self.join(row, diff, join, rest),
            Step::Functions { functions, ordinality } => {
                let mut rows = match FunctionRows::call(functions, *ordinality, row, self.eval) {
                    Ok(rows) => rows,
                    Err(error) => {
                        self.changes.errs.push((error, diff));
                        return Ok(());
                    }
                };
                loop {
                    let mut extended = row.clone();
                    match rows.append(&mut extended) {
                        Ok(true) => self.steps(&mut extended, diff, rest)?,
                        Ok(false) => return Ok(()),
                        Err(error) => {
                            self.changes.errs.push((error, diff));
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    /// A row through a lookup join. The first error of a row is all that it gives from there on, in both states.
    fn join(&mut self, row: &mut Vec<Datum>, diff: isize, join: &JoinStep, rest: &[Step]) -> Result<(), SqlError> {
        let leaf = Leaf::open(self.reader.catalog(), join.relation, Some(join.lookup))?;
        let lookup =
            LookupJoin { key: &join.key, kind: join.kind, condition: &join.condition, with_key: false, mfp: &join.mfp };
        let mut joined = Vec::new();
        match self.joined(&leaf, &lookup, row, &mut joined) {
            Ok(()) => {}
            Err(RowFailure::Environment(error)) => return Err(error),
            Err(RowFailure::Value(error)) => {
                // Matches are found in no certain order: an error stands for all of them.
                self.changes.errs.push((error, diff));
                return Ok(());
            }
        }
        for mut row in joined {
            self.filtered(&mut row, diff, &join.mfp, rest)?;
        }
        Ok(())
    }

    fn joined(
        &mut self,
        leaf: &Leaf,
        join: &LookupJoin<'_>,
        row: &mut Vec<Datum>,
        joined: &mut Vec<Vec<Datum>>,
    ) -> Result<(), RowFailure> {
        let matches = join.find(leaf, self.reader, row, self.eval)?;
        match join.kind {
            MatchKind::Inner | MatchKind::Left => {
                for found in &matches {
                    let mut extended = row.clone();
                    if join.extend(leaf, found, &mut extended, self.eval)? {
                        joined.push(extended);
                    }
                }
                if joined.is_empty() && join.kind == MatchKind::Left {
                    join.pad(leaf, row);
                    joined.push(std::mem::take(row));
                }
            }
            MatchKind::Semi | MatchKind::Anti => {
                if join.any(leaf, &matches, row, self.eval)? == (join.kind == MatchKind::Semi) {
                    joined.push(std::mem::take(row));
                }
            }
        }
        Ok(())
    }

    /// The rows that seeds find by the values.
    fn seeds(&mut self, seeds: &[Seed], values: &[Vec<Datum>]) -> Result<(), SqlError> {
        for seed in seeds {
            match &seed.start {
                SeedStart::Constant(rows) => {
                    for row in rows {
                        self.steps(&mut row.unpack(), 1, &seed.steps)?;
                    }
                }
                SeedStart::Rows { relation, lookup, key, mfp } => {
                    let leaf = Leaf::open(self.reader.catalog(), *relation, Some(*lookup))?;
                    for key in distinct(values, key) {
                        for (_, row) in leaf.find(self.reader, &key)? {
                            let mut datums = Vec::new();
                            leaf.append(&row, &mut datums);
                            self.filtered(&mut datums, 1, mfp, &seed.steps)?;
                        }
                    }
                }
                SeedStart::Through { relation, lookup, key, columns, seeds: inner } => {
                    let leaf = Leaf::open(self.reader.catalog(), *relation, Some(*lookup))?;
                    let mut found = Vec::new();
                    for key in distinct(values, key) {
                        for (_, row) in leaf.find(self.reader, &key)? {
                            let mut datums = Vec::new();
                            leaf.append(&row, &mut datums);
                            found.push(columns.iter().map(|column| datums[*column].clone()).collect::<Vec<_>>());
                        }
                    }
                    let all: Vec<usize> = (0..columns.len()).collect();
                    let found = distinct(&found, &all);
                    let mut rows = Changes::default();
                    let (eval, watch) = (self.eval, self.watch);
                    let mut run =
                        Run { reader: self.reader, eval, watch, ticker: Ticker::default(), changes: &mut rows };
                    run.seeds(inner, &found)?;
                    for (row, diff) in rows.oks {
                        self.steps(&mut row.unpack(), diff, &seed.steps)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// These parts of the values, each combination once.
fn distinct(values: &[Vec<Datum>], parts: &[usize]) -> Vec<Vec<Datum>> {
    let mut seen = BTreeSet::new();
    let chosen = values.iter().map(|value| parts.iter().map(|part| value[*part].clone()).collect::<Vec<_>>());
    chosen.filter(|value| !value.iter().any(Datum::is_null) && seen.insert(key::encode_all(value))).collect()
}

/// Renders a chain over what is fed.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    feeds: Stream<'s, T, Vec<Feed>>,
    chain: usize,
    pipelines: Vec<Pipeline>,
) -> Bundle<'s, T> {
    let watch = context.watch.clone();
    let delta = DeltaJoin::new(pipelines, context.eval.clone(), watch.clone());
    let mut builder = OperatorBuilder::new("DeltaJoin".to_owned(), context.scope);
    let mut input = builder.new_input(feeds, Local);
    builder.set_notify_for(0, FrontierInterest::Never);
    let (oks_output, oks) = builder.new_output::<Vec<(Row, T, isize)>>();
    let (errs_output, errs) = builder.new_output::<Vec<(ValueError, T, isize)>>();
    let mut oks_output = OutputBuilder::from(oks_output);
    let mut errs_output = OutputBuilder::from(errs_output);
    builder.build(move |_| {
        move |_frontiers| {
            let mut oks_handle = oks_output.activate();
            let mut errs_handle = errs_output.activate();
            input.for_each(|capability, feeds| {
                let mut changes = Changes::default();
                for feed in feeds.drain(..) {
                    let done = match &feed {
                        Feed::Group(group) => delta.group(group, &mut changes),
                        Feed::Rows(chunk) if chunk.chain == chain => delta.chunk(chunk, &mut changes),
                        Feed::Rows(_) => Ok(()),
                    };
                    if let Err(error) = done {
                        watch.fail(error);
                        return;
                    }
                }
                let time = capability.time().clone();
                let mut oks: Vec<_> = changes.oks.into_iter().map(|(row, diff)| (row, time.clone(), diff)).collect();
                if !oks.is_empty() {
                    oks_handle.session(&capability).give_container(&mut oks);
                }
                let mut errs: Vec<_> =
                    changes.errs.into_iter().map(|(error, diff)| (error, time.clone(), diff)).collect();
                if !errs.is_empty() {
                    errs_handle.session(&capability).give_container(&mut errs);
                }
            });
        }
    });
    use differential_dataflow::AsCollection;
    Bundle { oks: oks.as_collection(), errs: Some(errs.as_collection()) }
}
