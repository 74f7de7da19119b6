//! Which view worker keeps which view.
//!
//! The flush thread places views, so that all workers hear the same in commit order. Views that are tied by views over views
//! are kept by one worker. What is tied to nothing goes to one that commits have given little to do of late; among those to one
//! that hears of its tables anyway, since each worker that is told of a commit has to wake. But a worker's views are filled, and
//! go through a commit, one after the other: more than a few over the same tables are shared out evenly among as many workers as
//! are worth waking. What filling takes decides between equals only: it ends, and waking does not.
//!
//! Whoever ties views of two workers has those of one filled anew by the other: a view of a query does so only where nobody
//! watches them, nor a query over them.

use planner::catalog::with_tables_below;
use planner::catalog::{Catalog, Table};
use repr::RelationId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Who has worked no longer than this of late has had little to do.
const LITTLE: Duration = Duration::from_millis(20);

/// So many views over the same tables are kept by one worker: to wake takes as long as a small commit takes in one or two of them.
const FEW: usize = 4;

/// More are shared out evenly among two workers, or among so many that none keeps more than these.
const TOGETHER: usize = 8;

/// How many workers are to keep so many views over the same tables.
fn workers_of(views: usize) -> usize {
    if views <= FEW { 1 } else { views.div_ceil(TOGETHER).max(2) }
}

/// Where the catalog's views are kept.
#[derive(Default)]
pub struct Placements {
    of: BTreeMap<RelationId, usize>,
}

impl Placements {
    /// Whether this worker keeps the view.
    pub fn is_at(&self, view: RelationId, worker: usize) -> bool {
        self.of.get(&view) == Some(&worker)
    }
}

/// How long a worker has been busy.
#[derive(Default)]
pub struct Busy {
    commits_us: AtomicU64,
    filling_us: AtomicU64,
}

/// What a worker was busy with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Occupation {
    /// Taking views through commits.
    Commits,
    /// Making and filling views, and merging what they hold.
    Filling,
}

impl Busy {
    /// For so long again.
    pub fn add(&self, with: Occupation, time: Duration) {
        let total = match with {
            Occupation::Commits => &self.commits_us,
            Occupation::Filling => &self.filling_us,
        };
        total.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Views that a worker is to let go of, by worker.
pub type Moves = BTreeMap<usize, BTreeSet<RelationId>>;

/// See the module.
pub struct Placement {
    workers: Vec<Load>,
    placed: Arc<Placements>,
    automatic: BTreeMap<RelationId, Automatic>,
}

/// What a worker has to do.
struct Load {
    busy: Arc<Busy>,
    commits: Recent,
    filling: Recent,
}

/// How much of late.
#[derive(Default)]
struct Recent {
    /// As much of the total has been looked at.
    seen_us: u64,
    recent_us: u64,
}

impl Recent {
    /// Of a total that has become this. What is little is nothing.
    fn look(&mut self, total: &AtomicU64) -> u64 {
        let total_us = total.load(Ordering::Relaxed);
        self.recent_us = self.recent_us / 2 + total_us.saturating_sub(self.seen_us);
        self.seen_us = total_us;
        if Duration::from_micros(self.recent_us) <= LITTLE { 0 } else { self.recent_us }
    }
}

/// A view of a query, or an ordered index.
struct Automatic {
    worker: usize,
    /// The tables and views that it reads.
    over: BTreeSet<RelationId>,
}

impl Placement {
    /// Over the catalog that the server starts with, among these workers.
    pub fn new(busy: Vec<Arc<Busy>>, catalog: &Catalog) -> Self {
        let workers = busy
            .into_iter()
            .map(|busy| Load { busy, commits: Recent::default(), filling: Recent::default() })
            .collect();
        let mut placement = Placement { workers, placed: Arc::default(), automatic: BTreeMap::new() };
        placement.follow(catalog);
        placement
    }

    /// Where the catalog's views are kept.
    pub fn placed(&self) -> Arc<Placements> {
        self.placed.clone()
    }

    /// The worker that keeps a view.
    pub fn worker(&self, view: RelationId) -> Option<usize> {
        self.placed.of.get(&view).copied().or_else(|| self.automatic.get(&view).map(|view| view.worker))
    }

    /// Places the views of a catalog. Which of them are to be let go of first, by whom.
    pub fn follow(&mut self, catalog: &Catalog) -> Moves {
        let (mut of, mut moves) = (BTreeMap::new(), Moves::new());
        let (mut kept, tied) = (Vec::new(), tied(catalog));
        // Those that have a place first: what is new goes where there is least.
        let (known, new): (Vec<_>, Vec<_>) =
            tied.into_iter().partition(|views| views.iter().any(|view| self.placed.of.contains_key(view)));
        for views in known.into_iter().chain(new) {
            let mut members = vec![0; self.workers.len()];
            let had: Vec<(RelationId, usize)> =
                views.iter().filter_map(|view| Some((*view, *self.placed.of.get(view)?))).collect();
            had.iter().for_each(|(_, worker)| members[*worker] += 1);
            let most = members.iter().enumerate().rev().max_by_key(|(_, members)| **members);
            let read = with_tables_below(catalog, views.iter().copied());
            let worker = match most {
                Some((worker, 1..)) => worker,
                _ => self.least(&kept, &read),
            };
            kept.push((worker, read));
            for (view, other) in had.into_iter().filter(|(_, other)| *other != worker) {
                self.leave(view, other, &mut moves);
            }
            of.extend(views.into_iter().map(|view| (view, worker)));
        }
        self.placed = Arc::new(Placements { of });
        moves
    }

    /// Places the view of a query over these tables and views, and says what is to be let go of first; nothing if it cannot be
    /// kept: it would tie views that somebody watches.
    pub fn place(
        &mut self,
        view: RelationId,
        over: &[Arc<Table>],
        catalog: &Catalog,
        is_watched: impl Fn(RelationId) -> bool,
    ) -> Option<(usize, Moves)> {
        let over: BTreeSet<RelationId> = over.iter().map(|table| table.id).collect();
        let (mut moves, mut moved) = (Moves::new(), BTreeMap::new());
        let tied: Vec<BTreeSet<RelationId>> =
            tied(catalog).into_iter().filter(|views| over.iter().any(|view| views.contains(view))).collect();
        let place_of = |views: &BTreeSet<RelationId>| views.iter().find_map(|view| self.placed.of.get(view)).copied();
        // Somebody may watch a query over them: its view would end.
        let ends_watched =
            |view: &RelationId| self.automatic.iter().any(|(id, query)| query.over.contains(view) && is_watched(*id));
        let holds_watched =
            |views: &&BTreeSet<RelationId>| views.iter().any(|view| is_watched(*view) || ends_watched(view));
        let watched: BTreeSet<usize> = tied.iter().filter(holds_watched).filter_map(place_of).collect();
        let places: BTreeSet<usize> = tied.iter().filter_map(place_of).collect();
        let worker = match (watched.len(), watched.first().or(places.first())) {
            (2.., _) => return None,
            (_, Some(worker)) => *worker,
            (_, None) => {
                let placed = self.placed.of.iter();
                let kept: Vec<KeptTogether> =
                    placed.map(|(view, worker)| (*worker, with_tables_below(catalog, [*view]))).collect();
                self.least(&kept, &over)
            }
        };
        for view in tied.iter().flatten() {
            let Some(other) = self.placed.of.get(view).copied().filter(|other| *other != worker) else { continue };
            self.leave(*view, other, &mut moves);
            moved.insert(*view, worker);
        }
        if !moved.is_empty() {
            let mut of = self.placed.of.clone();
            of.extend(moved);
            self.placed = Arc::new(Placements { of });
        }
        self.automatic.insert(view, Automatic { worker, over });
        Some((worker, moves))
    }

    /// An ordered index: all are kept by one.
    pub fn place_ordered(&mut self, index: RelationId) -> usize {
        let worker = crate::publication::ComponentId::ORDERED.worker;
        self.automatic.insert(index, Automatic { worker, over: BTreeSet::new() });
        worker
    }

    /// A view of a query is no more.
    pub fn forget(&mut self, view: RelationId) {
        self.automatic.remove(&view);
    }

    /// A view goes elsewhere; the views of queries that read it end.
    fn leave(&mut self, view: RelationId, worker: usize, moves: &mut Moves) {
        let left = moves.entry(worker).or_default();
        left.insert(view);
        self.automatic.retain(|id, automatic| {
            let goes = automatic.over.contains(&view);
            if goes {
                left.insert(*id);
            }
            !goes
        });
    }

    /// A worker that has had little to do, for a view that reads these, beside those of queries and the views of the catalog
    /// that are kept so. Where all have had much, that which has had least.
    fn least(&mut self, kept: &[KeptTogether], read: &BTreeSet<RelationId>) -> usize {
        let (mut counts, mut shared) = (vec![0_usize; self.workers.len()], vec![0_usize; self.workers.len()]);
        let of_catalog = kept.iter().map(|(worker, tables)| (*worker, tables));
        for (worker, tables) in of_catalog.chain(self.automatic.values().map(|view| (view.worker, &view.over))) {
            counts[worker] += 1;
            shared[worker] += usize::from(!tables.is_disjoint(read));
        }
        let hearing = shared.iter().filter(|views| **views > 0).count();
        let one_more = hearing < workers_of(shared.iter().sum::<usize>() + 1);
        let ranks = self.workers.iter_mut().enumerate().map(|(number, load)| {
            let (commits_us, filling_us) =
                (load.commits.look(&load.busy.commits_us), load.filling.look(&load.busy.filling_us));
            let hears = shared[number] > 0;
            (commits_us, hears == one_more, shared[number], filling_us, counts[number], number)
        });
        ranks.min().map_or(0, |(.., number)| number)
    }
}

/// Views that are kept together: by whom, and what they read.
type KeptTogether = (usize, BTreeSet<RelationId>);

/// The maintained views of a catalog, those together that are tied by views over views.
fn tied(catalog: &Catalog) -> Vec<BTreeSet<RelationId>> {
    let is_maintained = |id: &RelationId| catalog.table(*id).is_some_and(|table| table.is_maintained());
    let mut groups: BTreeMap<RelationId, BTreeSet<RelationId>> = BTreeMap::new();
    let mut group_of: BTreeMap<RelationId, RelationId> = BTreeMap::new();
    for table in catalog.relations.values().filter(|table| table.is_maintained()) {
        let own = with_tables_below(catalog, [table.id]).into_iter().filter(is_maintained);
        let mut views: BTreeSet<RelationId> = own.collect();
        // What it reads may have been looked at before, or be about to be.
        for view in views.clone() {
            views.extend(group_of.get(&view).and_then(|group| groups.remove(group)).into_iter().flatten());
        }
        views.iter().for_each(|view| {
            group_of.insert(*view, table.id);
        });
        groups.insert(table.id, views);
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::{Busy, FEW, KeptTogether, Occupation, Placement, TOGETHER, workers_of};
    use planner::catalog::Catalog;
    use repr::RelationId;
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::time::Duration;

    /// Places so many views over one table on three workers that have nothing to do.
    fn placed(views: usize) -> Vec<usize> {
        let busy = (0..3).map(|_| Arc::default()).collect();
        let mut placement = Placement::new(busy, &Catalog::empty(0, 0));
        let read = BTreeSet::from([RelationId(1)]);
        let mut kept: Vec<KeptTogether> = Vec::new();
        for _ in 0..views {
            kept.push((placement.least(&kept, &read), read.clone()));
        }
        kept.into_iter().map(|(worker, _)| worker).collect()
    }

    #[test]
    fn few_views_over_a_table_are_kept_together() {
        assert_eq!(placed(FEW), vec![0; FEW]);
    }

    #[test]
    fn more_than_a_few_are_shared_out_evenly() {
        for views in FEW + 1..=3 * TOGETHER {
            let placed = placed(views);
            let kept = |worker: usize| placed.iter().filter(|place| **place == worker).count();
            let (most, workers) = ((0..3).map(kept).max(), (0..3).filter(|worker| kept(*worker) > 0).count());
            assert_eq!(workers, workers_of(views), "{placed:?}");
            assert!(most <= Some(TOGETHER), "{placed:?}");
            if views >= 2 * FEW && workers == 2 {
                assert!(kept(0).abs_diff(kept(1)) <= 1, "{placed:?}");
            }
        }
    }

    #[test]
    fn filling_parts_nobody_who_hears_of_the_same_commits() {
        let busy: Vec<Arc<Busy>> = (0..3).map(|_| Arc::default()).collect();
        let mut placement = Placement::new(busy.clone(), &Catalog::empty(0, 0));
        let read = |table| BTreeSet::from([RelationId(table)]);
        let kept = vec![(0, read(1))];
        busy[0].add(Occupation::Filling, Duration::from_secs(1));
        assert_eq!(placement.least(&kept, &read(1)), 0);
        assert_ne!(placement.least(&kept, &read(2)), 0);
        busy[0].add(Occupation::Commits, Duration::from_secs(1));
        assert_ne!(placement.least(&kept, &read(1)), 0);
    }

    #[test]
    fn many_are_kept_by_all() {
        let placed = placed(TOGETHER * 3);
        for worker in 0..3 {
            assert_eq!(placed.iter().filter(|place| **place == worker).count(), TOGETHER, "{placed:?}");
        }
    }
}
