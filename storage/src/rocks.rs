//! RocksDB as we use it: column families, options, and its errors without their contents.
//!
//! Plain `DB` and `WriteBatch`: the transaction API has no compaction and no range deletes, so it cannot
//! erase. No compression (ciphertext), no recycled or archived log files (they would keep erased rows).

mod stand_in_logs;

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread::{self, JoinHandle};
use std::{fs, io};

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBRecoveryMode,
    DataBlockIndexType, Env, ErrorKind, LogLevel, Options, SliceTransform,
};

use crate::error::{RocksFailure, StorageError};
use crate::keyspace::FILTER_PREFIX_BYTES;
use stand_in_logs::StandInLogs;

/// A column family: one for each kind of data, never one for a table or a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    /// Sealed rows.
    Rows,
    /// Index entries.
    Index,
    /// Ownership entries.
    Owners,
    /// Data subjects' records.
    Subjects,
    /// Catalog, sequences, commit time: sealed values.
    Meta,
    /// The audit log and receipts.
    Audit,
}

/// Write buffers of all families, those being written to files included.
pub(crate) const WRITE_BUFFER_BYTES_MAX: usize = 128 << 20;
/// What a start after a crash replays at most, and so what bounds its time.
pub(crate) const WAL_BYTES_MAX: u64 = 32 << 20;

/// All families, in the order of their tags.
pub(crate) const FAMILIES: [Family; 6] =
    [Family::Rows, Family::Index, Family::Owners, Family::Subjects, Family::Meta, Family::Audit];

impl Family {
    /// Its name in RocksDB.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Family::Rows => "rows",
            Family::Index => "index",
            Family::Owners => "owners",
            Family::Subjects => "subjects",
            Family::Meta => "meta",
            Family::Audit => "audit",
        }
    }

    /// Its handle.
    pub(crate) fn handle(self, db: &DB) -> &ColumnFamily {
        db.cf_handle(self.name()).expect("every family is opened with the database")
    }

    fn options(self, cache: &Cache) -> Result<Options, StorageError> {
        self.options_with(cache, Filters::AsRead)
    }

    fn options_with(self, cache: &Cache, filters: Filters) -> Result<Options, StorageError> {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(cache);
        // Keys are mostly keyed hashes, which share little: few are read on the way to one.
        blocks.set_block_restart_interval(4);
        blocks.set_pin_top_level_index_and_filter(true);
        blocks.set_format_version(6);
        if filters == Filters::AsRead {
            blocks.set_hybrid_ribbon_filter(10.0, 1);
        }
        blocks.set_optimize_filters_for_memory(true);
        // Index and filter blocks count against the one cache, so that memory has one bound.
        blocks.set_cache_index_and_filter_blocks(true);
        blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
        // A write buffer looks for a key's place from where it put the last one of the same relation or index: batches come in
        // order. The crate binds this option only as text.
        let hints = match self {
            Family::Rows | Family::Index | Family::Owners => {
                "memtable_insert_with_hint_prefix_extractor=rocksdb.FixedPrefix.4"
            }
            // Records come in order, beside the head.
            Family::Audit => "memtable_insert_with_hint_prefix_extractor=rocksdb.FixedPrefix.1",
            Family::Subjects | Family::Meta => "",
        };
        let mut options = from_text(hints)?;
        options.set_write_buffer_size(32 << 20);
        options.set_max_write_buffer_number(3);
        options.set_level_compaction_dynamic_level_bytes(true);
        match self {
            // Filters of write buffers are allocated as wholes when the store is opened: some ten bits a key.
            // Rows are asked for by their whole key, one here and one there: small blocks, and a whole index, which is small
            // beside them and looked through once.
            Family::Rows | Family::Subjects => {
                blocks.set_block_size(8 << 10);
                options.set_target_file_size_base(32 << 20);
                // So a block says at once where a key would stand.
                blocks.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
                blocks.set_data_block_hash_ratio(0.75);
                options.set_memtable_whole_key_filtering(true);
                options.set_memtable_prefix_bloom_ratio(0.01);
                // Who asks for a row mostly knows from an index that it is there: the last level needs no filter.
                options.set_optimize_filters_for_hits(self == Family::Rows);
            }
            // These are asked for by their prefix alone: which entries does this value or row have?
            Family::Index | Family::Owners => {
                options.set_prefix_extractor(SliceTransform::create_fixed_prefix(FILTER_PREFIX_BYTES));
                options.set_memtable_prefix_bloom_ratio(0.02);
                blocks.set_whole_key_filtering(false);
                blocks.set_block_size(16 << 10);
                options.set_target_file_size_base(64 << 20);
                // The filter of such a file is over a megabyte: more than a shard of a small cache holds, so that each
                // read would fetch it anew. In parts it is cached as entries are.
                blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
                blocks.set_partition_filters(true);
                blocks.set_metadata_block_size(16 << 10);
            }
            Family::Meta => options.set_write_buffer_size(8 << 20),
            Family::Audit => {
                options.set_write_buffer_size(8 << 20);
                // Postings are short: the filter of a file of them has two megabytes, as above.
                blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
                blocks.set_partition_filters(true);
                blocks.set_metadata_block_size(16 << 10);
            }
        }
        options.set_block_based_table_factory(&blocks);
        Ok(options)
    }
}

/// Options that the crate binds only as text, over the defaults.
fn from_text(text: &str) -> Result<Options, StorageError> {
    Options::default().get_options_from_string(text).map_err(failed("set the storage engine's options"))
}

/// How a family's files are written by whoever writes one by itself.
pub(crate) fn file_options(family: Family, cache: &Cache) -> Result<Options, StorageError> {
    family.options(cache)
}

/// The same of rows that come to the last level as they are, which is read without filters.
pub(crate) fn last_file_options(cache: &Cache) -> Result<Options, StorageError> {
    Family::Rows.options_with(cache, Filters::None)
}

/// Which filters files have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filters {
    /// Those by which the family is read.
    AsRead,
    /// They take a tenth of the time in which a file is written.
    None,
}

/// The number of a file of sorted entries, by its name.
pub(crate) fn file_number(name: &str) -> Option<u64> {
    name.trim_start_matches('/').strip_suffix(".sst")?.parse().ok()
}

/// A file of the write-ahead log, by its number.
pub(crate) fn log_name(number: u64) -> String {
    format!("{number:06}.log")
}

/// The number of a file of the write-ahead log, by its name.
pub(crate) fn log_number(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}

/// How many files of a family wait to be merged into the levels below before that is done.
pub(crate) fn set_waiting_files(db: &DB, family: Family, most: u32) -> Result<(), StorageError> {
    db.set_options_cf(family.handle(db), &[("level0_file_num_compaction_trigger", &most.to_string())])
        .map_err(failed("set the storage engine's options"))
}

/// How the database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is made, or what a crash left half made.
    Create,
    /// It must be there.
    Write,
    /// Nothing is written, the log is replayed in memory up to where it would be.
    Read,
    /// The same for the families that say how far the whole leads: the log is read whole, and of the others kept nothing.
    Judge,
    /// The same for the files of all families, and no log: only where the manifest names none.
    Files,
    /// Nothing is written, and what is damaged is passed over.
    Salvage,
}

/// Refuses a folder whose first files are not there or do not fit, before RocksDB would make them anew.
pub(crate) fn check_files(path: &Path) -> Result<(), StorageError> {
    let missing = |path: &Path| StorageError::FileMissing { path: path.to_owned() };
    if !path.is_dir() {
        return Err(missing(path));
    }
    let current = path.join("CURRENT");
    let text = match fs::read(&current) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing(&current)),
        Err(error) => return Err(StorageError::io("read", &current)(error)),
    };
    let name = std::str::from_utf8(&text).ok().and_then(|text| text.strip_suffix('\n'));
    let named = |name: &&str| {
        let number = name.strip_prefix("MANIFEST-");
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let Some(name) = name.filter(named) else {
        let what = "it names no manifest";
        return Err(StorageError::FileDamaged { path: current, what });
    };
    let manifest = path.join(name);
    if manifest.is_file() { Ok(()) } else { Err(missing(&manifest)) }
}

/// How much merging gives way to statements, where processors are short: see nice(2). It is never held up for good: writers wait
/// when too much waits to be merged.
const MERGING_NICENESS: i32 = 5;

/// Starts the thread that merges, once a process: it would start with the first merge, as an equal of whoever brings that about.
fn start_merging_thread() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let start = || {
            let Ok(mut threads) = Env::new() else { return };
            // A thread is as patient as the one that starts it.
            let _as_before = rustix::process::nice(MERGING_NICENESS);
            threads.set_low_priority_background_threads(1);
        };
        // Where there is no thread to be had RocksDB says so itself.
        let starting = thread::Builder::new().name("merging".into()).spawn(start);
        let _started = starting.map(JoinHandle::join);
    });
}

/// Opens the database with its families.
pub(crate) fn open(path: &Path, cache: &Cache, access: Access) -> Result<DB, StorageError> {
    start_merging_thread();
    let opened = match access {
        Access::Create | Access::Write => DB::open_cf_descriptors(&options(access)?, path, families(cache, access)?),
        Access::Read | Access::Judge => open_to_read(path, None, cache, access)?,
        // There are none of its logs.
        Access::Files => open_to_read(path, path.parent(), cache, access)?,
        Access::Salvage => match open_to_read(path, None, cache, access)? {
            Err(error) => salvage(path, cache, error)?,
            opened => opened,
        },
    };
    opened.map_err(failed("open the storage engine"))
}

type Opened = Result<DB, rocksdb::Error>;

fn open_to_read(path: &Path, logs: Option<&Path>, cache: &Cache, access: Access) -> Result<Opened, StorageError> {
    let mut options = options(access)?;
    logs.into_iter().for_each(|logs| options.set_wal_dir(logs));
    Ok(DB::open_cf_descriptors_read_only(&options, path, families(cache, access)?, false))
}

/// Opens what an error stands against, if it is of its logs: as if they were whole.
fn salvage(path: &Path, cache: &Cache, mut error: rocksdb::Error) -> Result<Opened, StorageError> {
    let folder = std::env::temp_dir();
    let logs = StandInLogs::of(path).map_err(StorageError::io("make a folder in", &folder))?;
    while logs.replace(&error).map_err(StorageError::io("write", logs.folder()))? {
        match open_to_read(path, Some(logs.folder()), cache, Access::Salvage)? {
            Err(next) => error = next,
            opened => return Ok(opened),
        }
    }
    Ok(Err(error))
}

fn families(cache: &Cache, access: Access) -> Result<Vec<ColumnFamilyDescriptor>, StorageError> {
    let is_judged = |family: &Family| access != Access::Judge || matches!(family, Family::Meta | Family::Audit);
    let opened = |family: Family| Ok(ColumnFamilyDescriptor::new(family.name(), family.options(cache)?));
    FAMILIES.into_iter().filter(is_judged).map(opened).collect()
}

fn options(access: Access) -> Result<Options, StorageError> {
    // A manifest quotes the first and last key of every file there ever was: written anew with each change of files,
    // it names no row that is gone.
    let mut options = from_text("max_manifest_file_size=1;max_manifest_space_amp_pct=0")?;
    options.create_if_missing(access == Access::Create);
    options.create_missing_column_families(access == Access::Create);
    options.set_paranoid_checks(access != Access::Salvage);
    options.set_wal_recovery_mode(match access {
        Access::Create | Access::Write | Access::Read | Access::Judge | Access::Files => DBRecoveryMode::PointInTime,
        Access::Salvage => DBRecoveryMode::SkipAnyCorruptedRecord,
    });
    // Never off: a manifest that names logs is then written to, and RocksDB 11.8 ends the process where it may only read.
    options.set_track_and_verify_wals_in_manifest(true);
    options.set_recycle_log_file_num(0);
    options.set_wal_ttl_seconds(0);
    options.set_wal_size_limit_mb(0);
    options.set_db_write_buffer_size(WRITE_BUFFER_BYTES_MAX);
    options.set_max_total_wal_size(WAL_BYTES_MAX);
    options.set_manifest_preallocation_size(64 << 10);
    options.set_max_background_jobs(2);
    options.set_max_open_files(1024);
    options.set_bytes_per_sync(1 << 20);
    options.set_keep_log_file_num(2);
    options.set_log_level(LogLevel::Warn);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    // Begun for each family, whatever files it has: more take longer to begin than what they open.
    options.set_max_file_opening_threads(if matches!(access, Access::Judge | Access::Files) { 1 } else { 4 });
    Ok(options)
}

/// Whether a log was not even tried, since something failed at it before.
pub(crate) fn is_of_before(error: &rocksdb::Error) -> bool {
    error.to_string().contains("Writer has previous error")
}

/// Whether the system refused more bytes, and not to bring those it had taken to the disk: they are as they were.
pub(crate) fn is_of_appending(error: &rocksdb::Error) -> bool {
    error.to_string().contains("While appending to file")
}

/// Keeps of a RocksDB error its class and the file it names: messages can quote keys.
pub(crate) fn failed(tried: &'static str) -> impl FnOnce(rocksdb::Error) -> StorageError {
    move |error| {
        let message = error.to_string();
        let failure = match error.kind() {
            ErrorKind::IOError if message.contains("No space left on device") => RocksFailure::NoSpace,
            ErrorKind::Corruption => RocksFailure::Corruption,
            ErrorKind::IOError => RocksFailure::Io,
            ErrorKind::Busy | ErrorKind::TimedOut | ErrorKind::TryAgain => RocksFailure::Transient,
            _ => RocksFailure::Other,
        };
        StorageError::Rocks { tried, failure, file: file_named(&message) }
    }
}

fn file_named(message: &str) -> Option<PathBuf> {
    message
        .split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | ';' | ':' | '"' | '\'' | '(' | ')'))
        .find(|word| word.ends_with(".sst") || word.ends_with(".log") || word.contains("MANIFEST-"))
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use rocksdb::{Cache, DB, FlushOptions};

    use super::{Access, FAMILIES, Family, file_named, open};
    use crate::temporary_folder::TemporaryFolder;

    /// A store that was killed when its manifest named a log that was still needed; that log's name.
    fn killed_with_a_named_log(name: &str) -> (TemporaryFolder, PathBuf) {
        let folder = TemporaryFolder::new(&format!("rocks-{name}"));
        let (lived, killed) = (folder.join("lived"), folder.join("killed"));
        fs::create_dir_all(&lived).and_then(|()| fs::create_dir(&killed)).expect("the test has a folder");
        let db = open(&lived, &Cache::new_lru_cache(1 << 20), Access::Create).expect("an empty database is made");
        let put = |family: Family, key| db.put_cf(family.handle(&db), key, [7; 100]).expect("is written");
        let flush = |family: Family| db.flush_cf_opt(family.handle(&db), &FlushOptions::default()).expect("is flushed");
        put(Family::Rows, "first");
        put(Family::Meta, "first");
        flush(Family::Meta);
        put(Family::Rows, "second");
        put(Family::Meta, "second");
        db.flush_wal(true).expect("the log is brought to the disk");
        let mut logs = Vec::new();
        for entry in fs::read_dir(&lived).expect("the folder is listed") {
            let name = entry.expect("the folder is listed").file_name();
            fs::copy(lived.join(&name), killed.join(&name)).expect("is copied");
            logs.extend(name.to_str().filter(|name| name.ends_with(".log")).map(|name| killed.join(name)));
        }
        logs.sort();
        assert_eq!(logs.len(), 2, "a log that was ended, and one that was not");
        (folder, logs.swap_remove(0))
    }

    fn rows(db: &DB) -> Vec<&'static str> {
        let is_there = |key: &&str| db.get_cf(Family::Rows.handle(db), key).expect("is read").is_some();
        ["first", "second"].into_iter().filter(is_there).collect()
    }

    #[test]
    fn logs_that_a_manifest_names() {
        let cache = Cache::new_lru_cache(1 << 20);
        let (folder, _) = killed_with_a_named_log("whole");
        let killed = folder.join("killed");
        // Its logs are not where it looks: refused, and the process goes on.
        assert!(open(&killed, &cache, Access::Files).is_err());
        for access in [Access::Judge, Access::Read, Access::Salvage, Access::Write] {
            let db = open(&killed, &cache, access).expect("is opened");
            assert_eq!(
                db.get_cf(Family::Meta.handle(&db), "second").expect("is read"),
                Some(vec![7; 100]),
                "{access:?}"
            );
            if access != Access::Judge {
                assert_eq!(rows(&db), ["first", "second"], "{access:?}");
            }
        }
    }

    #[test]
    fn logs_that_do_not_fit_are_salvaged() {
        let cache = Cache::new_lru_cache(1 << 20);
        for (name, left) in [("missing", None), ("short", Some(8))] {
            let (folder, named) = killed_with_a_named_log(name);
            let killed = folder.join("killed");
            match left {
                None => fs::remove_file(&named).expect("is removed"),
                Some(bytes) => {
                    let log = fs::File::options().write(true).open(&named).expect("is there");
                    log.set_len(bytes).expect("is cut off");
                }
            }
            assert!(open(&killed, &cache, Access::Read).is_err(), "{name}");
            let db = open(&killed, &cache, Access::Salvage).expect("is salvaged");
            // What the other log holds is there.
            assert_eq!(rows(&db), ["second"], "{name}");
        }
    }

    #[test]
    fn errors_keep_the_file_and_nothing_else() {
        let message = "Corruption: block checksum mismatch: stored = 1, computed = 2, type = 4  in /d/rocks/000012.sst offset 0 size 9";
        assert_eq!(file_named(message), Some("/d/rocks/000012.sst".into()));
        assert_eq!(file_named("Corruption: bad entry for key 'secret'"), None);
    }

    #[test]
    fn tags_are_positions() {
        for (position, family) in FAMILIES.into_iter().enumerate() {
            assert_eq!(family as usize, position);
        }
    }
}
