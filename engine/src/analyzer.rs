//! Makes the statistics of tables: by itself, for those that have changed much, and for ANALYZE.
//!
//! ```text
//! each LOOKS_EVERY ─▶ tables that changed by a tenth ─▶ a sample of each, some rows at a time ─▶ state::table_statistics
//! ```
//! Rests in between, so that it takes a part of a core at most. What it has read is dropped when somebody is forgotten.

use crate::housekeeping::Housekeeping;
use planner::catalog::{Catalog, Table};
use planner::statistics::TableStatistics;
use repr::id::is_temporary;
use repr::{Datum, RelationId, ScalarType};
use state::SqlError;
use state::clock::now_micros;
use state::published::Published;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::SampledRows;
use transactions::database::Database;

const LOOKS_EVERY: Duration = Duration::from_millis(500);
/// Rows of a sample, about.
const SAMPLE_ROWS: usize = 15_000;
/// It is asked so often whether to go on.
const ROWS_AT_ONCE: u64 = 4_096;
/// For each part of the time that it works it rests so many.
const RESTS: u32 = 2;
/// After a table it rests so many times as long before it looks at that one again, unless as many rows have changed as there were.
const RESTS_AFTER: u32 = 100;
/// So many rows and a tenth of the table have to change.
const CHANGED_MIN: u64 = 500;
/// Smaller tables are looked at again after so long, however little they change.
const SMALL_ROWS: u64 = 5_000;
const SMALL_KEPT_US: i64 = 2_000_000;
/// Of a personal table that changes they are made anew after so long, however little that is.
const VALUES_KEPT_US: i64 = 600_000_000;

/// Starts the thread. Dropped, it has ended.
pub fn start(database: &Arc<Database>) -> Housekeeping {
    let database = Arc::downgrade(database);
    let mut seen = HashMap::new();
    Housekeeping::looking("analyzer", LOOKS_EVERY, move || {
        let Some(held) = database.upgrade() else { return };
        let due = due(&held, &mut seen);
        drop(held);
        for relation in due {
            let Some(held) = database.upgrade() else { return };
            let began = Instant::now();
            let mut since = began;
            let book = &held.views.statistics.tables;
            let made_at = || book.known().tables.get(&relation).map(|known| known.whole.made_at);
            let made_before = made_at();
            let rest = || {
                // Somebody has asked for them meanwhile: ANALYZE rests for nobody, and is through sooner.
                if made_at() != made_before {
                    return Err(SqlError::new("57014", "the table's statistics were made by somebody else"));
                }
                std::thread::sleep(since.elapsed() * RESTS);
                since = Instant::now();
                Ok(())
            };
            // What cannot be read now is tried again once it has changed.
            let _made = analyze(&held, relation, rest);
            seen.insert(relation, Instant::now() + began.elapsed() * RESTS_AFTER);
        }
    })
}

/// Tables whose statistics are not what they could be. Of those that were seen, until when they are let be.
fn due(database: &Database, seen: &mut HashMap<RelationId, Instant>) -> Vec<RelationId> {
    let published = database.published.load();
    let book = &database.views.statistics.tables;
    book.retain(|relation| published.catalog().table(relation).is_some());
    seen.retain(|relation, _| published.catalog().table(*relation).is_some());
    let known = book.known();
    let now = now_micros();
    let is_due = |table: &&Arc<Table>| {
        let changed = book.changed(table.id);
        match known.tables.get(&table.id).map(|known| &known.whole) {
            // Values of rows that were deleted do not stay for long.
            Some(known) if known.personal && now - known.made_at > VALUES_KEPT_US => changed > 0,
            // Reading a small one takes nothing.
            Some(known) if known.rows < SMALL_ROWS && now - known.made_at > SMALL_KEPT_US => changed > 0,
            Some(known) if seen.get(&table.id).is_some_and(|until| Instant::now() < *until) => {
                changed > CHANGED_MIN + known.rows
            }
            Some(known) => changed > CHANGED_MIN + known.rows / 10,
            None => changed > 0 || !seen.contains_key(&table.id),
        }
    };
    published
        .catalog()
        .relations
        .values()
        .filter(|table| is_sampled(table))
        .filter(is_due)
        .map(|table| table.id)
        .collect()
}

/// Whether a relation's rows are in the leaves, for all to read.
fn is_sampled(table: &Table) -> bool {
    table.is_stored() && !is_temporary(table.id.0)
}

/// Makes the statistics of a table. `go_on` is asked between some rows and the next.
pub fn analyze(
    database: &Database,
    relation: RelationId,
    mut go_on: impl FnMut() -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let published: Arc<Published> = database.published.load_full();
    let catalog: &Catalog = published.catalog();
    let Some(table) = catalog.table(relation).filter(|table| is_sampled(table)) else { return Ok(()) };
    let Some(shape) = published.schema.shape(relation) else { return Ok(()) };
    let book = &database.views.statistics.tables;
    let making = book.begin(relation);
    let mut ended = Ok(());
    let goes_on = |rows: u64| {
        if rows.is_multiple_of(ROWS_AT_ONCE) {
            ended = go_on();
        }
        ended.is_ok() && !book.is_over(&making)
    };
    let sampled = published.snapshot.sample(relation, shape.personal, SAMPLE_ROWS, goes_on)?;
    ended?;
    let Some(SampledRows { rows, sample }) = sampled else { return Ok(()) };
    let types: Vec<ScalarType> = table.columns.iter().map(|column| column.column_type.scalar.clone()).collect();
    let sample: Vec<Vec<Datum>> = sample.iter().map(|row| shape.unpack(row)).collect();
    let mut made = TableStatistics::of_sample(rows, &types, &sample);
    made.made_at = now_micros();
    made.personal = shape.personal;
    book.put(&making, made);
    Ok(())
}
