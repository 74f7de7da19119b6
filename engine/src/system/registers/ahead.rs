//! Counts for the registers what is at rest, before somebody asks: the first to ask finds most of it told.
//!
//! ```text
//! each LOOKS_EVERY ─▶ large tables of people ─▶ segments that are not told, and were not written to for a while ─▶ counted, told
//! ```
//! Works for a part of the time, on one thread; for most of it while nobody commits and no statement runs, so that what a load or a
//! start leaves is counted in seconds. What is written all the time is left to who asks; so is a table that has too many values.

use super::counting::{TOLD_ROWS_MIN, count_ahead};
use crate::housekeeping::Housekeeping;
use planner::catalog::own_tables::is_own;
use repr::id::is_temporary;
use repr::{CommitTime, RelationId};
use state::clock::now_micros;
use state::published::Published;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use transactions::database::Database;

const LOOKS_EVERY: Duration = Duration::from_millis(500);
/// A look works so long: nobody may ever ask.
const WORKS_FOR: Duration = Duration::from_millis(25);
/// What was not written to for so long is at rest.
const AT_REST_AFTER: Duration = Duration::from_secs(30);
/// So long nobody has committed: then everything is at rest.
const QUIET_AFTER: Duration = Duration::from_secs(2);
/// A look works so long while it is quiet, and no statement runs.
const WORKS_ALONE_FOR: Duration = Duration::from_millis(400);

/// Starts the thread. Dropped, it has ended.
pub(crate) fn start(database: &Arc<Database>) -> Housekeeping {
    let mut looks = Looks::new(&database.published.load());
    let mut given_up: HashMap<RelationId, u32> = HashMap::new();
    let database = Arc::downgrade(database);
    Housekeeping::looking("registers", LOOKS_EVERY, move || {
        let Some(database) = database.upgrade() else { return };
        let published = database.published.load_full();
        let Rest { written_until, came_until, is_quiet } = looks.at_rest(&published);
        let began = Instant::now();
        let is_alone = || is_quiet && began.elapsed() < WORKS_ALONE_FOR && !database.sessions.holders.any_at_work();
        let goes_on = || began.elapsed() < WORKS_FOR || is_alone();
        for relation in large(&database, &published) {
            let Some(shape) = published.schema.shape(relation).filter(|shape| shape.personal) else { continue };
            let version = shape.table().schema_version;
            let store = &database.store;
            if given_up.get(&relation) == Some(&version) {
                store.settle_arrived(relation, 0, false);
                continue;
            }
            if !goes_on() {
                continue;
            }
            let is_known = store.knows_arrived(relation);
            let until = if is_known { came_until } else { written_until };
            let numbers = published.snapshot.untold_at_rest(relation, until);
            // Somebody may be forgotten, or the table dropped, under it: then the next look goes on.
            match count_ahead(&published.snapshot, shape, now_micros(), &numbers, &goes_on) {
                Ok(true) if is_known => store.settle_arrived(relation, until, true),
                Ok(false) => {
                    given_up.insert(relation, version);
                }
                Ok(true) | Err(_) => {}
            }
        }
    })
}

/// Sequence numbers up to which what was written is at rest.
struct Rest {
    /// So that it is opened.
    written_until: u64,
    /// So that what was noted as it came is counted, which is soon done and takes less room.
    came_until: u64,
    /// Everything is.
    is_quiet: bool,
}

/// Tables for which it is worth while.
fn large(database: &Database, published: &Published) -> Vec<RelationId> {
    let statistics = &database.views.statistics.tables;
    let known = statistics.known();
    // What was loaded just now its statistics do not know yet.
    let is_large = |relation: &RelationId| {
        let rows = known.tables.get(relation).map_or(0, |known| known.whole.rows);
        let is_large = rows.max(statistics.changed(*relation)) >= TOLD_ROWS_MIN;
        (is_large || database.store.knows_arrived(*relation)) && !is_temporary(relation.0) && !is_own(relation.0)
    };
    published.catalog().stored_tables().map(|table| table.id).filter(is_large).collect()
}

/// What was there at each look.
struct Looks {
    /// Sequence numbers.
    sequences: VecDeque<(Instant, u64)>,
    /// The last commit, and when it was first seen.
    commit: (Instant, CommitTime),
}

impl Looks {
    fn new(published: &Published) -> Looks {
        let now = Instant::now();
        let sequences = VecDeque::from([(now, published.snapshot.sequence())]);
        Looks { sequences, commit: (now, published.time) }
    }

    /// One more look: what is at rest.
    fn at_rest(&mut self, published: &Published) -> Rest {
        let (now, sequence) = (Instant::now(), published.snapshot.sequence());
        if self.commit.1 != published.time {
            self.commit = (now, published.time);
        }
        self.sequences.push_back((now, sequence));
        while self.sequences.get(1).is_some_and(|(at, _)| at.elapsed() >= AT_REST_AFTER) {
            self.sequences.pop_front();
        }
        if self.commit.0.elapsed() >= QUIET_AFTER {
            return Rest { written_until: sequence, came_until: sequence, is_quiet: true };
        }
        let of = |look: Option<&(Instant, u64)>| look.map_or(sequence, |(_, sequence)| *sequence);
        let first = self.sequences.front();
        let soon = self.sequences.iter().rev().find(|(at, _)| at.elapsed() >= QUIET_AFTER).or(first);
        Rest { written_until: of(first), came_until: of(soon), is_quiet: false }
    }
}
