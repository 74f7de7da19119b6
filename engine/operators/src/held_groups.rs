//! Groups that are held in one tree, in order: what a group comes to is read from places in it.
//!
//! ```text
//! key ‖ 0 ‖ columns     what the key does not tell of the group's columns; every row of the group counts here
//! key ‖ 1 ‖ entry       what a row adds to the group, if it does
//! ```
//! A change finds its place in log n, as does whoever asks for the n-th row. Keys are prefix-free, so a group stands together.
//! Needs times in total order, of which the tree shows the last one only.

use crate::context::{Bundle, Context, RenderTime, Rows, give};
use crate::groups::Outcome;
use arrangements::ordered_set::Entries;
use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::consolidate_updates;
use differential_dataflow::logging::{DifferentialEvent, DifferentialEventBuilder, Logger, MergeEvent};
use repr::{Row, ValueError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::progress::operate::FrontierInterest;

const COLUMNS: u8 = 0;
const ROWS: u8 = 1;

/// A row as its group holds it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldRow {
    /// The group's key.
    pub key: Vec<u8>,
    /// What the key does not tell of the group's columns.
    pub columns: Row,
    /// What it adds, if it does.
    pub entry: Option<Row>,
}

/// What is grouped, and how.
pub struct HeldGrouping<K> {
    /// As the operator is called.
    pub name: &'static str,
    /// Gives rows their groups, and the errors of those that cannot be given one.
    pub keyed: K,
    /// The group without a key is there from the beginning.
    pub scalar: bool,
}

/// A change of a group.
pub type HeldChange = (HeldRow, isize);
type Update<T> = (HeldRow, T, isize);

/// A group of the tree.
pub struct HeldGroup<'g> {
    tree: &'g Entries,
    key: &'g [u8],
    rows: Vec<u8>,
}

impl<'g> HeldGroup<'g> {
    fn of(tree: &'g Entries, key: &'g [u8]) -> Self {
        HeldGroup { tree, key, rows: [key, &[ROWS]].concat() }
    }

    /// The group's key.
    pub fn key(&self) -> &'g [u8] {
        self.key
    }

    /// What the key does not tell of its columns, in the least writing; none if it has no row.
    pub fn columns(&self) -> Option<Vec<u8>> {
        let prefix = [self.key, &[COLUMNS]].concat();
        let mut found = None;
        self.tree.each_from(&prefix, |entry, count| {
            let Some(columns) = entry.strip_prefix(prefix.as_slice()) else { return false };
            if count > 0 {
                found = Some(columns.to_vec());
            }
            count <= 0
        });
        found
    }

    /// The rank of its first row in the tree, and how many it has.
    pub fn ranks(&self) -> (usize, usize) {
        let first = self.tree.rank(&self.rows);
        let after = [self.key, &[ROWS + 1]].concat();
        (first, self.tree.rank(&after) - first)
    }

    /// The entry of the row at a rank in the tree, within its ranks.
    pub fn at(&self, rank: usize) -> &'g [u8] {
        let entry = self.tree.at(rank).expect("ranks of a group are below that of the tree's end");
        &entry[self.rows.len()..]
    }

    /// How many of its rows stand before an entry, and before whatever stands behind it.
    pub fn ranks_of(&self, entry: &[u8]) -> (usize, usize) {
        let (first, _) = self.ranks();
        let mut place = [self.rows.as_slice(), entry].concat();
        let before = self.tree.rank(&place) - first;
        place.push(0);
        (before, self.tree.rank(&place) - first)
    }

    /// The entries of its rows of these ranks within it, one for each row.
    pub fn within(&self, ranks: Range<usize>) -> impl Iterator<Item = Box<[u8]>> {
        let (first, _) = self.ranks();
        let prefix = self.rows.len();
        self.tree.iter(first + ranks.start..first + ranks.end, false).map(move |entry| entry[prefix..].into())
    }

    /// Shows its entries in order, each with its rows.
    pub fn each(&self, mut show: impl FnMut(&[u8], u64) -> Result<(), ValueError>) -> Result<(), ValueError> {
        let mut shown = Ok(());
        self.tree.each_from(&self.rows, |entry, count| {
            let Some(entry) = entry.strip_prefix(self.rows.as_slice()) else { return false };
            if let Some(count) = u64::try_from(count).ok().filter(|count| *count > 0) {
                shown = show(entry, count);
            }
            shown.is_ok()
        });
        shown
    }
}

/// What becomes of each group that changes: its outcomes before and after, as far as they may differ, from its changes.
pub fn reduce_held<'s, T, K>(
    context: &Context<'s, T>,
    rows: Rows<'s, T>,
    grouping: HeldGrouping<K>,
    mut logic: impl FnMut(&HeldGroup<'_>, &[HeldChange], &mut Vec<(Outcome, isize)>) + 'static,
) -> Bundle<'s, T>
where
    T: RenderTime,
    K: FnMut(&mut Vec<(Row, T, isize)>, &mut Vec<Update<T>>, &mut Vec<(ValueError, T, isize)>) + 'static,
{
    assert!(T::IN_TOTAL_ORDER, "a tree shows one time");
    let HeldGrouping { name, mut keyed, scalar } = grouping;
    let mut builder = OperatorBuilder::new(name.to_owned(), context.scope);
    let operator = builder.operator_info().global_id;
    let mut input = builder.new_input(rows.inner, Pipeline);
    builder.set_notify_for(0, FrontierInterest::IfCapability);
    let (oks_output, oks) = builder.new_output::<Vec<(Row, T, isize)>>();
    let (errs_output, errs) = builder.new_output::<Vec<(ValueError, T, isize)>>();
    let mut oks_output = OutputBuilder::from(oks_output);
    let mut errs_output = OutputBuilder::from(errs_output);
    let mut held = HeldTree::new(context, operator);
    builder.build(move |at_first| {
        let mut capabilities = None;
        if scalar {
            let phantom = HeldRow { key: Vec::new(), columns: Row::default(), entry: None };
            held.take(&mut vec![(phantom, T::minimum(), 1)]);
            capabilities = Some(at_first);
        }
        let (mut updates, mut oks, mut errs) = (Vec::new(), Vec::new(), Vec::new());
        move |frontiers| {
            let mut oks_handle = oks_output.activate();
            let mut errs_handle = errs_output.activate();
            input.for_each(|capability, rows| {
                keyed(rows, &mut updates, &mut errs);
                give(&mut errs_handle, &capability, &mut errs);
                if !updates.is_empty() {
                    if held.earliest().is_none_or(|earliest| capability.time() < earliest) {
                        capabilities = Some(vec![capability.retain(0), capability.retain(1)]);
                    }
                    held.take(&mut updates);
                }
            });
            let frontier = frontiers[0].frontier();
            while let Some(time) = held.earliest().filter(|time| !frontier.less_equal(time)).cloned() {
                held.change(&time, &mut logic, &mut oks, &mut errs);
            }
            if let Some([of_oks, of_errs]) = capabilities.as_deref() {
                give(&mut oks_handle, of_oks, &mut oks);
                give(&mut errs_handle, of_errs, &mut errs);
            }
            match held.earliest() {
                Some(time) => capabilities.iter_mut().flatten().for_each(|capability| capability.downgrade(time)),
                None => capabilities = None,
            }
        }
    });
    Bundle { oks: oks.as_collection(), errs: Some(errs.as_collection()) }
}

/// The tree, and what is to change in it.
struct HeldTree<T> {
    operator: usize,
    tree: Rc<RefCell<Entries>>,
    waiting: BTreeMap<T, Vec<HeldChange>>,
    /// The place of a group or row, made anew for each.
    entry: Vec<u8>,
    logger: Option<Logger>,
}

impl<T: RenderTime> HeldTree<T> {
    fn new(context: &Context<'_, T>, operator: usize) -> Self {
        let tree = Rc::new(RefCell::new(Entries::default()));
        context.meter.watch_tree(operator, &tree);
        let worker = context.scope.worker();
        let logger = worker.logger_for::<DifferentialEventBuilder>("differential/arrange").map(Into::into);
        HeldTree { operator, tree, waiting: BTreeMap::new(), entry: Vec::new(), logger }
    }

    fn take(&mut self, updates: &mut Vec<Update<T>>) {
        for (row, time, diff) in updates.drain(..) {
            self.waiting.entry(time).or_default().push((row, diff));
        }
    }

    fn earliest(&self) -> Option<&T> {
        self.waiting.first_key_value().map(|(time, _)| time)
    }

    /// Makes the changes of the earliest time, and tells what the outcomes of their groups become.
    fn change(
        &mut self,
        time: &T,
        logic: &mut impl FnMut(&HeldGroup<'_>, &[HeldChange], &mut Vec<(Outcome, isize)>),
        oks: &mut Vec<(Row, T, isize)>,
        errs: &mut Vec<(ValueError, T, isize)>,
    ) {
        let mut rows = self.waiting.remove(time).unwrap_or_default();
        differential_dataflow::consolidation::consolidate(&mut rows);
        let entries = self.tree.borrow().entries();
        let (mut of_group, mut outcomes) = (Vec::new(), Vec::new());
        for group in rows.chunk_by(|(left, _), (right, _)| left.key == right.key) {
            let Some((HeldRow { key, .. }, _)) = group.first() else { continue };
            logic(&HeldGroup::of(&self.tree.borrow(), key), group, &mut outcomes);
            of_group.extend(outcomes.drain(..).map(|(outcome, count)| (outcome, time.clone(), -count)));
            group.iter().for_each(|(row, diff)| self.add(row, *diff as i64));
            logic(&HeldGroup::of(&self.tree.borrow(), key), group, &mut outcomes);
            of_group.extend(outcomes.drain(..).map(|(outcome, count)| (outcome, time.clone(), count)));
            consolidate_updates(&mut of_group);
            for (outcome, time, diff) in of_group.drain(..) {
                match outcome {
                    Ok(row) => oks.push((row, time, diff)),
                    Err(error) => errs.push((error, time, diff)),
                }
            }
        }
        // Nobody's row is kept until the next one comes.
        self.entry.fill(0);
        self.log(entries);
    }

    fn add(&mut self, row: &HeldRow, diff: i64) {
        let mut tree = self.tree.borrow_mut();
        let parts = [(COLUMNS, Some(&row.columns)), (ROWS, row.entry.as_ref())];
        for (part, bytes) in parts {
            let Some(bytes) = bytes else { continue };
            self.entry.clear();
            self.entry.extend_from_slice(&row.key);
            self.entry.push(part);
            self.entry.extend_from_slice(bytes.bytes());
            tree.add(&self.entry, diff);
        }
    }

    /// Tells differential's log how many entries there are: as if all were one batch, merged with what is new.
    fn log(&self, before: usize) {
        let now = self.tree.borrow().entries();
        if let Some(logger) = self.logger.as_ref().filter(|_| now != before) {
            let event =
                MergeEvent { operator: self.operator, scale: 0, length1: before, length2: 0, complete: Some(now) };
            logger.log(DifferentialEvent::from(event));
        }
    }
}
