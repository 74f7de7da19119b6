//! What readers see of views: for each its batches as of one commit, in a map that is replaced as a whole.
//!
//! Cheap to make anew: a commit changes the entries of affected views only. Never changes once published.

use crate::SqlError;
use crate::clock::ClockSpan;
use arrangements::ordered_row::OrderedRow;
use arrangements::ordered_set::Entries;
use arrangements::shared::{KeyCursor, ViewBatch, for_key, next_key};
use repr::{IndexId, RelationId, Row, ValueError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// All maintained views at one commit, some of one id after another in a part: a commit copies the parts of the views
/// that it changes, and pointers to the others.
#[derive(Clone, Default)]
pub struct Views {
    parts: Arc<BTreeMap<u32, Arc<StatesById>>>,
    /// Which of them is the ordered index for an index.
    orders: Arc<BTreeMap<OrderId, RelationId>>,
    /// Those that commits have still to go through, and until when their readers bear with it; most often none.
    behind: Arc<BTreeMap<RelationId, Instant>>,
}

/// The order of an index, or of a primary key, by its first columns; then by the primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderId {
    /// The index.
    pub index: IndexId,
    /// How many columns.
    pub columns: usize,
}

type StatesById = BTreeMap<RelationId, Arc<ViewState>>;

const PART_IDS: u32 = 32;

fn part(view: RelationId) -> u32 {
    view.0 / PART_IDS
}

impl Views {
    /// One view.
    pub fn get(&self, view: RelationId) -> Option<&Arc<ViewState>> {
        self.parts.get(&part(view))?.get(&view)
    }
    /// The view, if it can be read.
    pub fn ready(&self, view: RelationId) -> Option<&Arc<ViewState>> {
        self.get(view).filter(|state| state.is_readable() && !self.is_overdue(view))
    }
    /// The view, if it can be read by whoever's `now()` is that moment.
    pub fn ready_at(&self, view: RelationId, moment: i64) -> Option<&Arc<ViewState>> {
        self.ready(view).filter(|_| self.holds_at(view, moment))
    }
    /// Whether the clock is where a view has it; whoever bears with its lag bears with that, too.
    pub fn holds_at(&self, view: RelationId, moment: i64) -> bool {
        let span = self.get(view).and_then(|state| state.span);
        span.is_none_or(|span| span.holds(moment)) || self.is_behind(view)
    }
    /// Whether the clock of one of these views has still to come to a moment: a tick has to go through it.
    pub fn are_before(&self, views: &[RelationId], moment: i64) -> bool {
        let span = |view: &RelationId| self.ready(*view).and_then(|state| state.span);
        views.iter().filter(|view| !self.is_behind(**view)).filter_map(span).any(|span| span.until <= moment)
    }
    /// Whether commits of this state have still to go through a view: then its rows are of an earlier one.
    pub fn is_behind(&self, view: RelationId) -> bool {
        self.behind.contains_key(&view)
    }
    /// Whether it is behind, and has been for longer than its readers bear with.
    pub fn is_overdue(&self, view: RelationId) -> bool {
        self.behind.get(&view).is_some_and(|until| Instant::now() >= *until)
    }
    /// Whether it is being filled.
    pub fn is_filling(&self, view: RelationId) -> bool {
        self.get(view).is_some_and(|state| matches!(state.stage, Stage::Waiting | Stage::Hydrating { .. }))
    }
    /// Whether any is behind.
    pub fn are_any_behind(&self) -> bool {
        !self.behind.is_empty()
    }
    /// How far a view is, in a word.
    pub fn stage_name(&self, view: RelationId) -> Option<&'static str> {
        Some(match self.get(view)?.stage {
            Stage::Waiting => "waiting",
            Stage::Hydrating { .. } => "hydrating",
            Stage::Ready if self.is_behind(view) => "behind",
            Stage::Ready => "ready",
            Stage::Failed(_) => "failed",
        })
    }
    /// From now on these are behind, and no others: with each its readers bear until then.
    pub fn set_behind(&mut self, behind: BTreeMap<RelationId, Instant>) {
        if *self.behind != behind {
            self.behind = Arc::new(behind);
        }
    }
    /// All views.
    pub fn iter(&self) -> impl Iterator<Item = (&RelationId, &Arc<ViewState>)> {
        self.parts.values().flat_map(|views| views.iter())
    }
    /// Sets a view's state.
    pub fn set(&mut self, view: RelationId, state: Arc<ViewState>) {
        if let Some(order) = &state.order
            && self.orders.get(&order.id) != Some(&view)
        {
            Arc::make_mut(&mut self.orders).insert(order.id, view);
        }
        let part = Arc::make_mut(&mut self.parts).entry(part(view)).or_default();
        Arc::make_mut(part).insert(view, state);
    }
    /// Forgets a view.
    pub fn remove(&mut self, view: RelationId) {
        if self.get(view).is_some() {
            let views = Arc::make_mut(&mut self.parts).entry(part(view)).or_default();
            Arc::make_mut(views).remove(&view);
        }
        if self.orders.values().any(|order| *order == view) {
            Arc::make_mut(&mut self.orders).retain(|_, order| *order != view);
        }
    }
    /// An order, if it is in memory.
    pub fn order(&self, id: OrderId) -> Option<&OrderedIndexState> {
        self.ready(*self.orders.get(&id)?)?.order.as_ref()
    }
}

/// How far a view is.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Waits for other views that it reads.
    Waiting,
    /// Reads its tables; so many rows so far.
    Hydrating {
        /// Rows read.
        rows: u64,
    },
    /// Follows every commit.
    Ready,
    /// Gave up: its readers compute it themselves.
    Failed(SqlError),
}

/// One view as of one commit.
#[derive(Clone)]
pub struct ViewState {
    /// How far it is.
    pub stage: Stage,
    /// Its rows, arranged in one or more ways.
    pub arrangements: Vec<Arrangement>,
    /// Rows that could not be evaluated.
    pub errors: usize,
    /// Why one of them could not.
    pub error: Option<ValueError>,
    /// Bytes that its dataflow holds besides, as far as they are counted.
    pub dataflow_bytes: usize,
    /// Its entries, if it is an ordered index.
    pub order: Option<OrderedIndexState>,
    /// If it has temporal filters: for whose `now()` these are its rows.
    pub span: Option<ClockSpan>,
}

/// An ordered index as of one commit.
#[derive(Clone)]
pub struct OrderedIndexState {
    /// Which.
    pub id: OrderId,
    /// Its entries: see `order_entries`.
    pub entries: Entries,
    /// How many rows they are of.
    pub rows: usize,
}

impl ViewState {
    /// Without rows.
    pub fn at(stage: Stage) -> Self {
        ViewState {
            stage,
            arrangements: Vec::new(),
            errors: 0,
            error: None,
            dataflow_bytes: 0,
            order: None,
            span: None,
        }
    }
    /// Whether its rows are those of the commit. While a row fails, readers compute for themselves, so that
    /// the error is only theirs whose rows it concerns.
    pub fn is_readable(&self) -> bool {
        matches!(self.stage, Stage::Ready) && self.errors == 0
    }
    /// A key that has fewer rows here has no others; none: all rows of all keys are here.
    pub fn rows_min(&self) -> Option<usize> {
        self.arrangements.first()?.rows_min
    }
    /// The arrangement behind an index.
    pub fn arrangement(&self, index: IndexId) -> Option<&Arrangement> {
        self.arrangements.iter().find(|arrangement| arrangement.index == index)
    }
    /// Bytes of all arrangements.
    pub fn bytes(&self) -> usize {
        let order_bytes = self.order.as_ref().map_or(0, |order| order.entries.bytes());
        self.arrangements.iter().map(Arrangement::bytes).sum::<usize>() + self.dataflow_bytes + order_bytes
    }
}

/// Rows by key.
#[derive(Clone)]
pub struct Arrangement {
    /// The index that it stands for.
    pub index: IndexId,
    /// Whether rows stand behind the codes of an order.
    pub ordered: bool,
    /// A key that has fewer rows here has no others; one that has so many may. None: all rows of all keys are here.
    pub rows_min: Option<usize>,
    /// What adds up to the rows.
    pub batches: Arc<[ViewBatch]>,
}

impl Arrangement {
    /// The rows of one key, each as often as it occurs, in the arrangement's order. `visit` says whether to go on.
    pub fn for_key(&self, key: &[u8], mut visit: impl FnMut(&[u8]) -> bool) {
        for_key(&self.batches, key, |bytes, copies| {
            let row = self.row(bytes);
            (0..copies).all(|_| visit(row))
        });
    }

    /// All rows, each as often as it occurs, by key.
    pub fn rows(&self) -> ArrangementRows {
        ArrangementRows { arrangement: self.clone(), key: None, rows: Vec::new().into_iter() }
    }

    /// The row's own bytes.
    pub fn row<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        if self.ordered { OrderedRow::row(bytes) } else { bytes }
    }

    /// Bytes of the batches.
    pub fn bytes(&self) -> usize {
        self.batches.iter().map(ViewBatch::bytes).sum()
    }

    /// Updates in the batches: rows, and those not merged away yet.
    pub fn updates(&self) -> usize {
        self.batches.iter().map(ViewBatch::updates).sum()
    }
}

/// The rows of one key after another's, each as often as it occurs, where they stand in an arrangement.
pub struct KeyRows {
    arrangement: Arrangement,
    cursor: KeyCursor,
    /// Of the row that it stands on, with this one.
    copies: isize,
}

impl KeyRows {
    /// Of an arrangement; of no key yet.
    pub fn of(arrangement: Arrangement) -> Self {
        KeyRows { arrangement, cursor: KeyCursor::default(), copies: 0 }
    }

    /// Before the first row of a key.
    pub fn seek(&mut self, key: &[u8]) {
        self.copies = 0;
        self.cursor.seek(&self.arrangement.batches, key);
    }

    /// Goes on to the next row, in the arrangement's order; false at the end.
    pub fn advance(&mut self) -> bool {
        self.copies -= 1;
        while self.copies <= 0 {
            match self.cursor.advance(&self.arrangement.batches) {
                Some(copies) => self.copies = copies,
                None => return false,
            }
        }
        true
    }

    /// The row that it stands on.
    pub fn row(&self) -> &[u8] {
        self.arrangement.row(self.cursor.row(&self.arrangement.batches))
    }
}

/// See `Arrangement::rows`.
pub struct ArrangementRows {
    arrangement: Arrangement,
    key: Option<Vec<u8>>,
    rows: std::vec::IntoIter<Row>,
}

impl Iterator for ArrangementRows {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(row);
            }
            let batches = &self.arrangement.batches;
            let key = match &self.key {
                None => next_key(batches, &[], false),
                Some(last) => next_key(batches, last, true),
            }?;
            let mut rows = Vec::new();
            self.arrangement.for_key(&key, |bytes| {
                rows.push(Row::from_bytes(bytes.into()));
                true
            });
            self.key = Some(key);
            self.rows = rows.into_iter();
        }
    }
}
