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
        let (written_until, is_quiet) = looks.at_rest(&published);
        let began = Instant::now();
        let is_alone = || is_quiet && began.elapsed() < WORKS_ALONE_FOR && !database.sessions.holders.any_at_work();
        let goes_on = || began.elapsed() < WORKS_FOR || is_alone();
        for relation in large(&database, &published) {
            let Some(shape) = published.schema.shape(relation).filter(|shape| shape.personal) else { continue };
            let version = shape.table().schema_version;
            if given_up.get(&relation) == Some(&version) || !goes_on() {
                continue;
            }
            let numbers = published.snapshot.untold_at_rest(relation, written_until);
            // Somebody may be forgotten, or the table dropped, under it: then the next look goes on.
            if let Ok(false) = count_ahead(&published.snapshot, shape, now_micros(), &numbers, &goes_on) {
                given_up.insert(relation, version);
            }
        }
    })
}

/// Tables for which it is worth while.
fn large(database: &Database, published: &Published) -> Vec<RelationId> {
    let statistics = &database.views.statistics.tables;
    let known = statistics.known();
    // What was loaded just now its statistics do not know yet.
    let is_large = |relation: &RelationId| {
        let rows = known.tables.get(relation).map_or(0, |known| known.whole.rows);
        rows.max(statistics.changed(*relation)) >= TOLD_ROWS_MIN && !is_temporary(relation.0) && !is_own(relation.0)
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

    /// One more look: what was written up to the number that it gives is at rest; and whether that is everything.
    fn at_rest(&mut self, published: &Published) -> (u64, bool) {
        let (now, sequence) = (Instant::now(), published.snapshot.sequence());
        if self.commit.1 != published.time {
            self.commit = (now, published.time);
        }
        self.sequences.push_back((now, sequence));
        while self.sequences.get(1).is_some_and(|(at, _)| at.elapsed() >= AT_REST_AFTER) {
            self.sequences.pop_front();
        }
        match self.commit.0.elapsed() >= QUIET_AFTER {
            true => (sequence, true),
            false => (self.sequences.front().map_or(sequence, |(_, sequence)| *sequence), false),
        }
    }
}
