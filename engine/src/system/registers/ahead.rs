//! Counts for the registers what is at rest, before somebody asks: the first to ask finds most of it told.
//!
//! ```text
//! each LOOKS_EVERY ─▶ large tables of people ─▶ segments that are not told, and were not written to for a while ─▶ counted, told
//! ```
//! Works for a part of the time, on one thread. What is written all the time is left to who asks; so is a table that has too many values.

use super::counting::{TOLD_ROWS_MIN, count_ahead};
use crate::housekeeping::Housekeeping;
use planner::catalog::own_tables::is_own;
use repr::RelationId;
use repr::id::is_temporary;
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

/// Starts the thread. Dropped, it has ended.
pub(crate) fn start(database: &Arc<Database>) -> Housekeeping {
    let mut looks = Looks::new(database.published.load().snapshot.sequence());
    let mut given_up: HashMap<RelationId, u32> = HashMap::new();
    let database = Arc::downgrade(database);
    Housekeeping::looking("registers", LOOKS_EVERY, move || {
        let Some(database) = database.upgrade() else { return };
        let published = database.published.load_full();
        let written_until = looks.at_rest(published.snapshot.sequence());
        let until = Instant::now() + WORKS_FOR;
        for relation in large(&database, &published) {
            let Some(shape) = published.schema.shape(relation).filter(|shape| shape.personal) else { continue };
            let version = shape.table().schema_version;
            if given_up.get(&relation) == Some(&version) || Instant::now() >= until {
                continue;
            }
            let numbers = published.snapshot.untold_at_rest(relation, written_until);
            // Somebody may be forgotten, or the table dropped, under it: then the next look goes on.
            if let Ok(false) = count_ahead(&published.snapshot, shape, now_micros(), &numbers, until) {
                given_up.insert(relation, version);
            }
        }
    })
}

/// Tables for which it is worth while.
fn large(database: &Database, published: &Published) -> Vec<RelationId> {
    let known = database.views.statistics.tables.known();
    let is_large = |relation: &RelationId| {
        known.tables.get(relation).is_some_and(|known| known.whole.rows >= TOLD_ROWS_MIN)
            && !is_temporary(relation.0)
            && !is_own(relation.0)
    };
    published.catalog().stored_tables().map(|table| table.id).filter(is_large).collect()
}

/// The sequence numbers of looks.
struct Looks(VecDeque<(Instant, u64)>);

impl Looks {
    fn new(sequence: u64) -> Looks {
        Looks(VecDeque::from([(Instant::now(), sequence)]))
    }

    /// One more look, at that number: what was written up to the number that it gives is at rest.
    fn at_rest(&mut self, sequence: u64) -> u64 {
        self.0.push_back((Instant::now(), sequence));
        while self.0.get(1).is_some_and(|(at, _)| at.elapsed() >= AT_REST_AFTER) {
            self.0.pop_front();
        }
        self.0.front().map_or(sequence, |(_, sequence)| *sequence)
    }
}
