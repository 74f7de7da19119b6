//! Merging without updates: what an arrangement holds in several batches becomes fewer while its worker has nothing else
//! to do.
//!
//! Differential merges as updates come, by the measure of how many; merges that are under way when no more come stay so,
//! with both sources and what is done of the result in memory. An arrangement's operator goes on with them when it runs
//! and is allowed to. It is allowed to here alone, for a slice of time: never while a commit goes through a view.

use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::trace::{ExertionLogic, TraceReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};
use timely::WorkerConfig;
use timely::worker::Worker;

/// Updates that are merged at a time, of each merge.
const EFFORT: usize = 1 << 11;
/// Smaller merges are left to the next updates: 2 to the power of this.
const LEVEL_MIN: usize = 10;
/// A commit waits no longer for what merges meanwhile, unless one key has more rows than that time is enough for.
const SLICE: Duration = Duration::from_micros(500);

/// How far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Large merges that are under way are finished: no work that would not be done later.
    UnderWay,
    /// To one batch: worth it once, after many have come.
    All,
}

/// A worker's arrangements.
#[derive(Default)]
pub struct Merging(Arc<Allowed>);

#[derive(Default)]
struct Allowed {
    /// `NOTHING`, `UNDER_WAY` or `ALL`.
    extent: AtomicU8,
    /// An arrangement has said that it has something to merge.
    wanted: AtomicBool,
}

/// Where differential's own operators look for it.
const LOGIC: &str = "differential/default_exert_logic";

const NOTHING: u8 = 0;
const UNDER_WAY: u8 = 1;
const ALL: u8 = 2;

impl Allowed {
    /// What to do for one arrangement: for each level, its number, how many batches it has, and their updates.
    fn effort(&self, levels: &[(usize, usize, usize)]) -> Option<usize> {
        let wanted = match self.extent.load(Ordering::Relaxed) {
            NOTHING => false,
            UNDER_WAY => levels.iter().any(|(level, batches, _)| *batches > 1 && *level >= LEVEL_MIN),
            _ => {
                let filled = levels.iter().filter(|(_, _, updates)| *updates > 0).count();
                filled > 1 || levels.iter().any(|(_, batches, _)| *batches > 1)
            }
        };
        wanted.then(|| {
            self.wanted.store(true, Ordering::Relaxed);
            EFFORT
        })
    }
}

/// What a slice of time has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Something was merged.
    pub some: bool,
    /// Something is left.
    pub more: bool,
}

impl Merging {
    /// Has all arrangements of a worker to be ask here.
    pub fn configure(&self, config: &mut WorkerConfig) {
        let allowed = self.0.clone();
        let logic: ExertionLogic = Arc::new(move |levels| allowed.effort(levels));
        config.set::<ExertionLogic>(LOGIC.to_string(), logic);
    }

    /// Merges for a while. `consider` has the arrangements that are meant look whether there is something to merge.
    pub fn some(&self, worker: &mut Worker, extent: Extent, mut consider: impl FnMut()) -> Merged {
        let extent = match extent {
            Extent::UnderWay => UNDER_WAY,
            Extent::All => ALL,
        };
        self.0.extent.store(extent, Ordering::Relaxed);
        let until = Instant::now() + SLICE;
        let mut merged = Merged { some: false, more: false };
        loop {
            self.0.wanted.store(false, Ordering::Relaxed);
            consider();
            // Asked once more by the operators that work at it: what has no operator any more merges nothing.
            merged.more = self.0.wanted.swap(false, Ordering::Relaxed) && {
                worker.step();
                self.0.wanted.load(Ordering::Relaxed)
            };
            merged.some |= merged.more;
            if !merged.more || Instant::now() >= until {
                break;
            }
        }
        self.0.extent.store(NOTHING, Ordering::Relaxed);
        merged
    }
}

/// What a new arrangement of a worker asks, if the worker's are configured.
pub fn logic(worker: &Worker) -> Option<ExertionLogic> {
    worker.config().get::<ExertionLogic>(LOGIC).cloned()
}

/// Has an arrangement look whether there is something to merge.
pub fn consider<Tr: TraceReader>(trace: &mut TraceAgent<Tr>) {
    // It looks whenever it is told how far it may merge; nothing new is told.
    let until = trace.get_physical_compaction().to_owned();
    trace.set_physical_compaction(until.borrow());
}
