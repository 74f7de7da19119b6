//! Lookup joins whose left side cannot be found again in the leaves: groups, first rows, chains without an index.
//!
//! ```text
//! feeds ───────────────────────────┐
//! left rows ───────────────────────┼──▶ DerivedJoin ──▶ rows, errors
//! left rows ──▶ arranged by the key┘
//!
//! Δ(L ⋈ T)  =  ΔL ⋈ T after   +   L before ⋈ (T after − T before)
//! ```
//!
//! The table is looked up in the leaves; of the left side, what was there before is held in memory, by the join's key.
//! A key that is NULL meets nothing, and one that cannot be computed is an error whenever its row comes or goes: neither
//! is arranged.

use crate::context::{Bundle, Context, RenderTime, both};
use crate::delta::changed::ChangedRows;
use crate::delta::match_counts::Matched;
use crate::delta::slices::Slices;
use crate::delta::{Changes, Feed, Follower, Group, Joined};
use crate::lookup_join::evaluate;
use arrangements::arrangement::{Bytes, Key, RowBatch, RowSpine, arrange, metered};
use arrangements::key_columns::KeyColumns;
use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::consolidate;
use differential_dataflow::lattice::antichain_join_into;
use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::trace::cursor::cursor_list;
use differential_dataflow::trace::{BatchReader, Cursor, TraceReader};
use planner::delta::JoinStep;
use planner::scalar::ScalarExpr;
use repr::{Datum, RelationId, Row, ValueError, key};
use state::SqlError;
use state::reader::Reader;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Pipeline as Local;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::order::PartialOrder;
use timely::progress::Antichain;
use timely::progress::frontier::AntichainRef;

/// The first tick of which nothing more can come.
fn first_complete<T: RenderTime>(
    ticks: &mut BTreeMap<T, Tick<T>>,
    frontiers: [AntichainRef<'_, T>; 3],
) -> Option<(T, Tick<T>)> {
    let first = ticks.first_entry()?;
    let is_open = frontiers.iter().any(|frontier| frontier.less_equal(first.key()));
    (!is_open).then(|| first.remove_entry())
}

/// A row by its key; none if that has a NULL or cannot be had.
fn keys_of<T: RenderTime>(
    context: &Context<'_, T>,
    join: &JoinStep,
    told: Rc<KeyColumns>,
) -> impl FnMut(Row) -> Option<(Key, Row)> + use<T> {
    let (keys, eval, meter) = (join.key.clone(), context.eval.clone(), context.meter.clone());
    let mut datums = Vec::new();
    move |row| {
        row.unpack_into(&mut datums);
        let values = evaluate(&keys, &datums, &eval).ok().filter(|values| !values.iter().any(Datum::is_null));
        let keyed = values.map(|values| metered(&meter, key::encode_all(&values), told.value(&datums, row)));
        // Nobody's row is kept until the next one comes.
        datums.clear();
        keyed
    }
}

/// Renders the join. Needs times in total order.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    feeds: Stream<'s, T, Vec<Feed>>,
    input: Bundle<'s, T>,
    join: JoinStep,
) -> Bundle<'s, T> {
    let follower = Follower { eval: context.eval.clone(), watch: context.watch.clone() };
    let told = Rc::new(KeyColumns::new(columns(&join.key).unwrap_or_default()));
    let keyed = input.oks.clone().flat_map(keys_of(context, &join, told.clone()));
    let arranged = arrange(&context.meter, keyed, "ArrangeDerived");
    let mut builder = OperatorBuilder::new("DerivedJoin".to_owned(), context.scope);
    let activator = context.scope.activator_for(builder.operator_info().address);
    let mut feeds = builder.new_input(feeds, Local);
    let mut rows = builder.new_input(input.oks.inner, Local);
    let mut batches = builder.new_input(arranged.stream, Local);
    let (oks_output, oks) = builder.new_output::<Vec<(Row, T, isize)>>();
    let (errs_output, errs) = builder.new_output::<Vec<(ValueError, T, isize)>>();
    let mut oks_output = OutputBuilder::from(oks_output);
    let mut errs_output = OutputBuilder::from(errs_output);
    let mut left = Left::new(arranged.trace, told);
    let matched = Matched::by(&join);
    builder.build(move |_| {
        let mut ticks: BTreeMap<T, Tick<T>> = BTreeMap::new();
        let mut slices = Slices::new(activator, follower.watch.clone());
        move |frontiers| {
            let mut oks_handle = oks_output.activate();
            let mut errs_handle = errs_output.activate();
            feeds.for_each(|capability, some| {
                let tick = ticks.entry(capability.time().clone());
                let tick = tick.or_insert_with(|| Tick::new([capability.retain(0), capability.retain(1)]));
                tick.feeds.append(some);
            });
            rows.for_each(|capability, some| {
                for (row, time, diff) in some.drain(..) {
                    let at = |output| capability.delayed(&time, output);
                    let tick = ticks.entry(time.clone()).or_insert_with(|| Tick::new([at(0), at(1)]));
                    tick.rows.push((row, diff));
                }
            });
            batches.for_each(|_capability, some| left.receive(some));
            left.advance(frontiers[2].frontier());
            let (fed, come) = (frontiers[0].frontier(), frontiers[1].frontier());
            while let Some((time, tick)) = first_complete(&mut ticks, [fed, come, left.upper.borrow()]) {
                let mut changes = Changes::default();
                let told = follower.tick(&matched, &mut left, &time, (tick.feeds, tick.rows), &mut changes);
                if let Err(error) = told {
                    follower.watch.fail(error);
                    return;
                }
                slices.push(changes, tick.capabilities);
            }
            slices.give(
                |capability, rows| oks_handle.session(capability).give_container(rows),
                |capability, errors| errs_handle.session(capability).give_container(errors),
            );
            left.settle(fed, come);
        }
    });
    Bundle { oks: oks.as_collection(), errs: both(Some(errs.as_collection()), input.errs) }
}

/// The columns that make a key, if each of its expressions is one.
fn columns(key: &[ScalarExpr]) -> Option<Vec<usize>> {
    let column = |expression: &ScalarExpr| match expression {
        ScalarExpr::Column(column) => Some(*column),
        _ => None,
    };
    key.iter().map(column).collect()
}

/// What came at one time.
struct Tick<T: RenderTime> {
    feeds: Vec<Feed>,
    rows: Vec<(Row, isize)>,
    capabilities: [Capability<T>; 2],
}

impl<T: RenderTime> Tick<T> {
    fn new(capabilities: [Capability<T>; 2]) -> Self {
        Tick { feeds: Vec::new(), rows: Vec::new(), capabilities }
    }
}

impl Follower {
    fn tick<T: RenderTime>(
        &self,
        matched: &Matched,
        left: &mut Left<T>,
        time: &T,
        (feeds, mut rows): (Vec<Feed>, Vec<(Row, isize)>),
        changes: &mut Changes,
    ) -> Result<(), SqlError> {
        consolidate(&mut rows);
        let join = &matched.join;
        let Some((after, group)) = fed(&feeds, join.relation) else {
            if rows.is_empty() {
                return Ok(());
            }
            return Err(SqlError::new("XX000", "rows of a view came at a time at which nothing was fed"));
        };
        let mut changed = None;
        if let Some(group) = &group
            && let Some(rows) = group.changes.get(&join.relation)
        {
            let mut rows = ChangedRows::read(group, join, rows)?;
            matched.counts.borrow_mut().hear(&mut self.run(group.after.as_ref(), changes), join, &mut rows)?;
            changed = Some((group, rows));
        }
        // What views are filled from is no group, and no state to follow from.
        let known = if group.is_some() { std::slice::from_ref(matched) } else { &[] };
        let mut run = self.run(after.as_ref(), changes).knowing(known);
        for (row, diff) in rows {
            run.join(&mut row.unpack(), diff, join, &[])?;
        }
        let Some((group, changed)) = changed.filter(|(_, changed)| !changed.keys.is_empty()) else { return Ok(()) };
        let before = left.before(time, changed.rows.keys().map(Vec::as_slice));
        self.matches(&Joined { group, changed: &changed, join, steps: &[] }, matched, (&before, known), changes)
    }
}

/// The state after what was fed at one time and, if commit groups were, all of them as one, as far as it concerns a table.
fn fed(feeds: &[Feed], relation: RelationId) -> Option<(Arc<dyn Reader>, Option<Arc<Group>>)> {
    let group = |feed: &Feed| match feed {
        Feed::Group(group) => Some(group.clone()),
        Feed::Rows(_) => None,
    };
    let (first, last) = (feeds.first()?, feeds.last()?);
    if let Feed::Rows(chunk) = last {
        return Some((chunk.reader.clone(), None));
    }
    let (first, last) = (group(first)?, group(last)?);
    if Arc::ptr_eq(&first, &last) {
        return Some((last.after.clone(), Some(last)));
    }
    let changes = feeds.iter().filter_map(group).filter_map(|group| group.changes.get(&relation).cloned());
    let changes: Vec<(Row, isize)> = changes.flat_map(|rows| rows.as_ref().clone()).collect();
    let changes = BTreeMap::from([(relation, Arc::new(changes))]);
    let all =
        Group { before: first.before.clone(), after: last.after.clone(), changes, time: last.time, clock: last.clock };
    Some((last.after.clone(), Some(Arc::new(all))))
}

/// The left side's rows by key.
struct Left<T: RenderTime> {
    trace: TraceAgent<RowSpine<T, isize>>,
    told: Rc<KeyColumns>,
    /// All that came before is looked at no more.
    lower: Antichain<T>,
    /// All that comes before has come.
    upper: Antichain<T>,
    /// Batches between the two.
    fresh: Vec<RowBatch<T, isize>>,
}

impl<T: RenderTime> Left<T> {
    fn new(trace: TraceAgent<RowSpine<T, isize>>, told: Rc<KeyColumns>) -> Self {
        let start = Antichain::from_elem(T::minimum());
        Left { trace, told, lower: start.clone(), upper: start, fresh: Vec::new() }
    }

    fn receive(&mut self, batches: &mut Vec<RowBatch<T, isize>>) {
        for batch in batches.drain(..) {
            self.upper.clone_from(batch.upper());
            self.fresh.push(batch);
        }
    }

    fn advance(&mut self, frontier: AntichainRef<'_, T>) {
        self.trace.advance_upper(&mut self.upper);
        let mut complete = Antichain::new();
        antichain_join_into(&self.upper.borrow()[..], &frontier[..], &mut complete);
        self.upper = complete;
    }

    /// Lets what came be merged, once all of it was looked at.
    fn settle(&mut self, fed: AntichainRef<'_, T>, come: AntichainRef<'_, T>) {
        let upper = self.upper.borrow();
        if self.upper != self.lower && PartialOrder::less_equal(&upper, &fed) && PartialOrder::less_equal(&upper, &come)
        {
            self.trace.set_logical_compaction(upper);
            self.trace.set_physical_compaction(upper);
            self.lower.clone_from(&self.upper);
            self.fresh.clear();
        }
    }

    /// The rows with one of these keys that were there before a time.
    fn before<'k>(&mut self, time: &T, keys: impl Iterator<Item = &'k [u8]>) -> Vec<(Row, isize)> {
        let mut keys: Vec<&[u8]> = keys.collect();
        keys.sort_unstable();
        let mut rows = Vec::new();
        let settled = self.trace.batches_through(self.lower.borrow()).expect("nothing was compacted beyond here");
        collect(settled, &keys, &self.told, |_| true, &mut rows);
        collect(self.fresh.clone(), &keys, &self.told, |at| at.less_than(time), &mut rows);
        consolidate(&mut rows);
        rows
    }
}

/// The rows with one of the sorted keys, as of some times.
fn collect<T: RenderTime>(
    batches: Vec<RowBatch<T, isize>>,
    keys: &[&[u8]],
    told: &KeyColumns,
    is_wanted: impl Fn(&T) -> bool,
    rows: &mut Vec<(Row, isize)>,
) {
    let (mut cursor, storage) = cursor_list(batches);
    for key in keys {
        cursor.seek_key(&storage, Bytes(key));
        if cursor.get_key(&storage) != Some(Bytes(key)) {
            continue;
        }
        while let Some(row) = cursor.get_val(&storage) {
            let mut total = 0;
            cursor.map_times(&storage, |at, diff| {
                if is_wanted(at) {
                    total += *diff;
                }
            });
            if total != 0 {
                rows.push((told.row(key, row.0), total));
            }
            cursor.step_val(&storage);
        }
    }
}
