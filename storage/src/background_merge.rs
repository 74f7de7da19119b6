//! Merges files that wait, now and then: each of them is one more to be asked for every row and index entry.
//!
//! RocksDB merges new files (level 0) into the levels below when four of them wait. A store that has been filled and is then
//! read, with few writes, would keep up to three for hours. What a merge rewrites is bounded by the size of the level below,
//! a quarter of a gigabyte, so that once a minute is cheap; and while much is written RocksDB comes to it by itself.

use std::time::{Duration, Instant};

use rocksdb::DB;

use crate::error::StorageError;
use crate::rocks::{self, FAMILIES, Family};

/// RocksDB's default.
const WAITING_MOST: u32 = 4;
/// After a start, a bulk load maybe comes first.
const FIRST_AFTER: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_mins(1);
/// Keys written since the last look: more is a load that had better not be disturbed.
const KEYS_OF_LOAD: u64 = 10_000;

/// When files were merged, and which are being.
pub(crate) struct BackgroundMerge {
    next: Instant,
    sequence: u64,
    merging: Vec<Family>,
}

impl BackgroundMerge {
    pub(crate) fn new() -> BackgroundMerge {
        BackgroundMerge { next: Instant::now() + FIRST_AFTER, sequence: 0, merging: Vec::new() }
    }

    /// To be called twice a second or so. Does not wait for what it starts.
    pub(crate) fn look(&mut self, db: &DB) -> Result<(), StorageError> {
        let written = db.latest_sequence_number().saturating_sub(self.sequence);
        self.sequence += written;
        let (is_loaded, is_due) = (written > KEYS_OF_LOAD, Instant::now() >= self.next);
        if !self.merging.is_empty() {
            // What has not been merged until the next time is given up, as it may never have begun, and tried again.
            let is_over = |family: Family| is_loaded || is_due || waiting(db, family) == 0;
            while let Some(family) = self.merging.last().copied().filter(|family| is_over(*family)) {
                rocks::set_waiting_files(db, family, WAITING_MOST)?;
                self.merging.pop();
            }
        } else if !is_loaded && is_due {
            self.next = Instant::now() + EVERY;
            for family in FAMILIES.into_iter().filter(|family| waiting(db, *family) > 0) {
                tracing::debug!(target: "dogwood::storage", family = family.name(), files = waiting(db, family), "merging files");
                self.merging.push(family);
                rocks::set_waiting_files(db, family, 1)?;
            }
        }
        Ok(())
    }
}

fn waiting(db: &DB, family: Family) -> u64 {
    let files = db.property_value_cf(family.handle(db), rocksdb::properties::num_files_at_level(0));
    files.ok().flatten().and_then(|files| files.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use rocksdb::Cache;

    use super::{BackgroundMerge, waiting};
    use crate::rocks::{self, Access, Family};
    use crate::temporary_folder::TemporaryFolder;

    #[test]
    fn a_file_that_waits_is_merged_when_little_is_written() {
        let folder = TemporaryFolder::new("settling");
        let db = rocks::open(&folder, &Cache::new_lru_cache(1 << 20), Access::Create).expect("opens");
        db.put_cf(Family::Rows.handle(&db), b"key of a row", b"row").expect("writes");
        db.flush_cf(Family::Rows.handle(&db)).expect("flushes");
        assert_eq!(waiting(&db, Family::Rows), 1);
        let mut settling = BackgroundMerge::new();
        settling.look(&db).expect("looks");
        assert!(settling.merging.is_empty(), "not before its time");
        settling.next = Instant::now();
        let began = Instant::now();
        while waiting(&db, Family::Rows) > 0 || !settling.merging.is_empty() {
            settling.look(&db).expect("looks");
            std::thread::sleep(Duration::from_millis(10));
            assert!(began.elapsed() < Duration::from_mins(2), "still waits");
        }
        assert!(settling.next > Instant::now());
    }
}
