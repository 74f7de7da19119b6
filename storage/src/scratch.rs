//! A RocksDB without a log, for what no start keeps: made for the first that needs it, gone with the last.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use repr::poll;
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, DB, IngestExternalFileOptions, LogLevel, Options, WriteBatch,
};

use crate::crypto::{hex, sodium};
use crate::error::StorageError;
use crate::rocks;

/// What is written there at once stands in memory up to this, twice.
const WRITE_BUFFER_BYTES: usize = 8 << 20;
/// Blocks that were read last, indexes and filters of files.
const CACHE_BYTES: usize = 16 << 20;
/// A part of an index or a filter.
const METADATA_BLOCK_BYTES: usize = 8 << 10;
/// So much of each file is read at once when they are merged.
const READ_AHEAD_BYTES: usize = 256 << 10;
/// Files of equal keys that wait to be merged: each is looked into for a key.
const WAITING_FILES_MAX: i32 = 12;

/// The RocksDB that parts share.
pub(crate) struct Scratch {
    /// None once it is closed.
    db: Option<DB>,
    path: PathBuf,
    pub(crate) next: AtomicU64,
    /// A write has failed: it takes no further one.
    broken: AtomicBool,
}

/// Where new parts are written, while there are others.
#[derive(Default)]
pub(crate) struct CurrentScratch(Mutex<Weak<Scratch>>);

impl Scratch {
    /// The one that takes parts now, in a folder; made if there is none.
    pub(crate) fn current(current: &CurrentScratch, folder: &Path) -> Result<Arc<Scratch>, StorageError> {
        let mut current = current.0.lock();
        if let Some(scratch) = current.upgrade().filter(|scratch| !scratch.broken.load(Ordering::Relaxed)) {
            return Ok(scratch);
        }
        let mut scratch = Scratch::new(folder)?;
        // Where it cannot be opened, the folder goes with it.
        let opened = DB::open(&options(), &scratch.path);
        scratch.db = Some(opened.map_err(rocks::failed("make room for a large transaction"))?);
        let scratch = Arc::new(scratch);
        *current = Arc::downgrade(&scratch);
        Ok(scratch)
    }

    /// One of its own, in a folder, of files that are written already; they stay where they are.
    pub(crate) fn of_files(folder: &Path, files: Vec<PathBuf>) -> Result<Arc<Scratch>, StorageError> {
        let mut scratch = Scratch::new(folder)?;
        let opened = DB::open(&options(), &scratch.path).map_err(rocks::failed("read a large transaction"))?;
        let links = files.iter().enumerate().map(|(number, file)| {
            let link = scratch.path.join(format!("{number}.link"));
            fs::hard_link(file, &link).map_err(StorageError::io("link", &link)).map(|()| link)
        });
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let mut ingest = IngestExternalFileOptions::default();
        ingest.set_move_files(true);
        opened.ingest_external_file_opts(&ingest, links).map_err(rocks::failed("read a large transaction"))?;
        scratch.db = Some(opened);
        Ok(Arc::new(scratch))
    }

    /// A folder for one, which goes with it.
    fn new(folder: &Path) -> Result<Scratch, StorageError> {
        let name = format!("{}-spill", hex::encode(&sodium::random_array::<8>()));
        let path = folder.join(name);
        fs::create_dir_all(&path).map_err(StorageError::io("create", &path))?;
        Ok(Scratch { db: None, path, next: AtomicU64::new(0), broken: AtomicBool::new(false) })
    }

    pub(crate) fn db(&self) -> &DB {
        self.db.as_ref().expect("it is closed when it is dropped")
    }

    pub(crate) fn write(&self, writes: &WriteBatch) -> Result<(), StorageError> {
        // What it holds in memory has a bound, and goes with a thread of its own: it is not the statement's.
        let apart = poll::alone();
        let written = self.db().write_without_wal(WriteBatch::from_data(writes.data()));
        drop(apart);
        let written = written.map_err(rocks::failed("write rows of a large transaction"));
        if written.is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
        written
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.db.take();
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                // The next start removes it.
                tracing::error!(target: "dogwood::storage", "files of a transaction are left in \"{}\": {error}", self.path.display());
            }
            Err(_) | Ok(()) => {}
        }
    }
}

fn options() -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_bloom_filter(10.0, false);
    // As wholes those of a million rows are larger than what the cache takes in: each look for a key would read them anew.
    blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    blocks.set_partition_filters(true);
    blocks.set_metadata_block_size(METADATA_BLOCK_BYTES);
    blocks.set_pin_top_level_index_and_filter(true);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&blocks);
    options.set_write_buffer_size(WRITE_BUFFER_BYTES);
    options.set_max_write_buffer_number(2);
    options.set_level_zero_file_num_compaction_trigger(WAITING_FILES_MAX);
    options.set_compaction_readahead_size(READ_AHEAD_BYTES);
    options.set_max_background_jobs(2);
    options.set_max_open_files(256);
    options.set_keep_log_file_num(1);
    options.set_log_level(LogLevel::Error);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options
}

#[cfg(test)]
mod tests {
    use rocksdb::WriteBatch;
    use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};

    use super::{CurrentScratch, METADATA_BLOCK_BYTES, Scratch};
    use crate::temporary_folder::TemporaryFolder;

    #[test]
    fn a_key_among_a_million_is_found_by_reading_little() {
        const KEYS: u64 = 1_000_000;
        const LOOKS: u64 = 2_000;
        let folder = TemporaryFolder::new("scratch");
        let scratch = Scratch::current(&CurrentScratch::default(), &folder).expect("opens");
        for first in (0..KEYS).step_by(10_000) {
            let mut writes = WriteBatch::default();
            (first..first + 10_000).for_each(|key| writes.put(key.to_be_bytes(), [7; 16]));
            scratch.write(&writes).expect("is written");
        }
        scratch.db().compact_range::<&[u8], &[u8]>(None, None);
        set_perf_stats(PerfStatsLevel::EnableCount);
        let mut context = PerfContext::default();
        context.reset();
        for look in 0..LOOKS {
            let key = look * 7_919 % KEYS;
            assert!(scratch.db().get_pinned(key.to_be_bytes()).expect("is read").is_some());
            assert!(scratch.db().get_pinned((KEYS + key).to_be_bytes()).expect("is read").is_none());
        }
        let read = context.metric(PerfMetric::BlockReadByte);
        set_perf_stats(PerfStatsLevel::Disable);
        // A part of the filter, one of the index, and a block.
        let each = read / LOOKS;
        assert!(each < 3 * METADATA_BLOCK_BYTES as u64, "{each} bytes are read for each");
    }
}
