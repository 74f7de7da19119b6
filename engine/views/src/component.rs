//! Views that are tied by views over views, and the commits that they have still to go through, together.
//!
//! ```text
//! groups ─▶ queue ─▶ folded up to a boundary ─▶ passage: view after view, each of them in slices ─▶ published
//! ```
//! What lags goes through all that waits as one group: each view looks at two states only, before it and after it. An
//! erasure, TRUNCATE and DDL are boundaries, and go through alone. Where somebody watches, each group does: what is told
//! has the time at which it became so.

use crate::publication::{ComponentId, Pace};
use crate::sources::{FedMax, table_changes};
use crate::subscription::Deltas;
use repr::{CommitTime, RelationId, Row};
use state::SqlError;
use state::overlay::Overlay;
use state::published::Published;
use state::reader::Reader;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Changed rows of a relation, with their differences.
pub type ChangedRows = Arc<Vec<(Row, isize)>>;

/// So many groups are folded into one at most.
const FOLDED_MAX: usize = 1_024;

/// Commits that were written together.
pub struct CommitGroup {
    /// The state before them; its views are not looked at.
    pub before: Arc<Published>,
    /// The state after them; likewise.
    pub after: Arc<Published>,
    /// The changes, in order.
    pub layers: Vec<Arc<Overlay>>,
    /// Whoever wrote them waits for these.
    pub awaited: BTreeSet<ComponentId>,
    /// A tick of the clock is among them.
    pub ticks: bool,
    /// Nobody waits for it: what comes soon after may go through views with it.
    pub is_deferred: bool,
    /// What was found of a table's changes: many views may read it.
    memo: Arc<OnceLock<BTreeMap<RelationId, ChangedRows>>>,
}

impl CommitGroup {
    /// One group, or several that follow each other. Only one by itself is a boundary.
    pub fn new(before: Arc<Published>, after: Arc<Published>, layers: Vec<Arc<Overlay>>) -> Self {
        CommitGroup {
            before,
            after,
            layers,
            awaited: BTreeSet::new(),
            ticks: false,
            is_deferred: false,
            memo: Arc::default(),
        }
    }

    /// The tables that they write.
    pub fn tables(&self) -> impl Iterator<Item = RelationId> {
        self.layers.iter().flat_map(|layer| layer.tables().map(|(relation, _)| relation))
    }

    /// Whether people are forgotten.
    pub fn erases(&self) -> bool {
        self.layers.iter().any(|layer| erases(layer))
    }

    /// Whether the catalog is another after it.
    pub fn changes_schema(&self) -> bool {
        !Arc::ptr_eq(&self.before.schema, &self.after.schema)
    }

    /// Whether it goes through views by itself.
    pub fn is_boundary(&self) -> bool {
        self.changes_schema() || self.layers.iter().any(|layer| is_boundary(layer))
    }

    /// The changed rows of a table that was not truncated, all of which are in memory.
    pub(crate) fn changes(&self, before: &dyn Reader, relation: RelationId) -> ChangedRows {
        let of = |relation| {
            Arc::new(
                table_changes(before, &self.layers, relation, FedMax { truncated: 0, spilled: 0 }).unwrap_or_default(),
            )
        };
        let memo = self.memo.get_or_init(|| {
            let tables: BTreeSet<RelationId> = self.tables().collect();
            // Those that are written by more than is worth keeping are looked through by each who reads them.
            let few = |relation: &RelationId| self.rows(*relation) <= MEMO_ROWS_MAX;
            tables.into_iter().filter(few).map(|relation| (relation, of(relation))).collect()
        });
        memo.get(&relation).cloned().unwrap_or_else(|| of(relation))
    }

    fn rows(&self, relation: RelationId) -> usize {
        let changes = self.layers.iter().filter_map(|layer| layer.table(relation));
        changes.map(|changes| if changes.truncated { usize::MAX / 2 } else { changes.len() }).sum()
    }
}

/// A table's changes up to this are put together once for all views.
const MEMO_ROWS_MAX: usize = 10_000;

/// Whether people are forgotten by a commit, or a part of their data.
pub fn erases(layer: &Overlay) -> bool {
    layer.erased_in_part().is_some() || layer.subjects().any(|(_, microdb)| microdb.is_none())
}

/// Whether a commit's changes go through views alone: it erases people, truncates a table, or has more rows than memory has held.
pub fn is_boundary(layer: &Overlay) -> bool {
    erases(layer) || layer.tables().any(|(_, changes)| changes.truncated || changes.spilled_rows() > 0)
}

/// See the module.
#[derive(Default)]
pub struct Component {
    queue: VecDeque<Arc<CommitGroup>>,
    /// What it is going through.
    pub passage: Option<Box<Passage>>,
    /// How long things take it.
    pub pace: Pace,
    /// So many groups have still to go through it quickly before it is taken to be quick.
    slow_for: u32,
}

/// Who is through a group within this is quick.
const QUICK: Duration = Duration::from_millis(1);
/// After so many quick groups one that was slow once is taken to be quick again.
const SLOW_FOR: u32 = 64;

impl Component {
    /// Whether it has something to go through.
    pub fn is_pending(&self) -> bool {
        self.passage.is_some() || !self.queue.is_empty()
    }

    /// One more, after all before.
    pub fn push(&mut self, group: Arc<CommitGroup>) {
        self.queue.push_back(group);
    }

    /// Nothing is left of what waits.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.passage = None;
    }

    /// The state from which it goes on: that which its passage leads to, else that of its last one.
    pub fn position(&self) -> Option<&Arc<Published>> {
        match &self.passage {
            Some(passage) => Some(&passage.after),
            None => self.queue.front().map(|group| &group.before),
        }
    }

    /// A group took it so long.
    pub fn took(&mut self, time: Duration) {
        self.pace.group = time;
        self.slow_for = if time > QUICK { SLOW_FOR } else { self.slow_for.saturating_sub(1) };
    }

    /// Whether the next group may take it long: then nobody else is to wait for it.
    pub fn may_be_slow(&self) -> bool {
        self.passage.is_some() || self.slow_for > 0
    }

    /// Whether several groups wait.
    pub fn is_behind(&self) -> bool {
        self.queue.len() > 1
    }

    /// The time of the last group that waits.
    pub fn last_waiting(&self) -> Option<CommitTime> {
        self.queue.back().map(|group| group.after.time)
    }

    /// What it goes through next: one group, or what waits as one.
    pub fn next_group(&mut self, folds: bool) -> Option<Arc<CommitGroup>> {
        let first = self.queue.pop_front()?;
        if !folds || first.is_boundary() || self.queue.front().is_none_or(|next| next.is_boundary()) {
            return Some(first);
        }
        let (mut layers, mut after, mut ticks) = (first.layers.clone(), first.after.clone(), first.ticks);
        while layers.len() < FOLDED_MAX
            && let Some(next) = self.queue.pop_front_if(|next| !next.is_boundary())
        {
            layers.extend(next.layers.iter().cloned());
            after = next.after.clone();
            ticks |= next.ticks;
        }
        Some(Arc::new(CommitGroup { ticks, ..CommitGroup::new(first.before.clone(), after, layers) }))
    }
}

/// Going through a group.
pub struct Passage {
    /// The state before it, with the views as they were.
    pub before: Arc<dyn Reader>,
    /// The state after it.
    pub after: Arc<Published>,
    /// Views that have still to go through it.
    pub affected: BTreeSet<RelationId>,
    /// What changed in tables, and in the views that are through.
    pub changes: BTreeMap<RelationId, ChangedRows>,
    /// The view that has been fed, and is not through yet.
    pub under_way: Option<RelationId>,
    /// What became of those that are through.
    pub found: Found,
    /// When it began.
    pub began: Instant,
}

/// What a passage has found out.
#[derive(Default)]
pub struct Found {
    /// What changed in views that are watched.
    pub deltas: Deltas,
    /// Views that have no rows any more.
    pub failing: BTreeMap<RelationId, SqlError>,
    /// Views of which other rows fail than before, or may.
    pub doubtful: BTreeSet<RelationId>,
    /// Views that have to be filled anew.
    pub left_behind: BTreeSet<RelationId>,
}

impl Passage {
    /// The time of the last of its groups.
    pub fn time(&self) -> CommitTime {
        self.after.time
    }
}
