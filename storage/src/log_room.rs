//! Room in the write-ahead log's file, made before it is needed.
//!
//! RocksDB allocates a log's blocks ahead of what it writes, but lets the file grow with each write, so that each flush has
//! the file's new length to write, too; and a block that was allocated and never written is noted anew when it is. Either is
//! one more request to the disk in each flush: a third of its time. Here the file is made as long as its blocks reach, and
//! zeros are written some way ahead of RocksDB:
//!
//! ```text
//! 0 ─ records ─ end ── MARGIN ── zeros written ahead, a STEP at a time ─ zeroed ── allocated ─ bytes
//!               └ where what was written so far ends at the latest
//! ```
//! Zeros never meet a record: every write to the log goes through `write`, which keeps them apart, and `end` is no less than
//! what RocksDB may have written. A log that is read after a crash ends where zeros begin; RocksDB cuts off what is left when
//! it closes the file. The price is that each log is written twice.
//!
//! Whoever writes alone begins to bring what was written to the disk before it waits for that: `begin`.

use crate::error::StorageError;
use crate::rocks;
use parking_lot::Mutex;
use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A new log is found after so long at the latest. Until then it grows as it is written. The file itself must not be looked
/// at: once its time of change has been asked for, Linux notes it anew with each write, and each flush has that to write.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Zeros that are written at once: the flush that follows has them to write, too.
const STEP: u64 = 256 << 10;
/// Left between what RocksDB may have written and the zeros, though `log_bytes` is enough by itself.
const MARGIN: u64 = 64 << 10;
const PAGE: u64 = 4 << 10;
/// More is left to the flush: it is long by itself.
const BEGUN_BYTES_MAX: u64 = 8 * PAGE;

/// RocksDB's log: blocks, and in them records with a header each.
const BLOCK: u64 = 32 << 10;
const HEADER: u64 = 7;

static ZEROS: [u8; STEP as usize] = [0; STEP as usize];

/// See the module.
pub(crate) struct LogRoom {
    folder: PathBuf,
    bytes: u64,
    /// When a new log was looked for.
    looked: Mutex<Option<Instant>>,
    // Held while RocksDB writes.
    log: Mutex<Log>,
}

/// The newest log that was found. RocksDB may be at a newer one already; then nothing is written to this one any more.
#[derive(Default)]
struct Log {
    number: u64,
    /// None where no zeros can be written. Closed when there is a newer log, and by `leave`: a log that RocksDB deletes is
    /// gone then.
    file: Option<Arc<File>>,
    end: u64,
    zeroed: u64,
    /// Where the last record ends, and where that began which the disk has not been given. Only a guess: RocksDB may write
    /// otherwise, which costs time and nothing else.
    written: u64,
    begun: u64,
}

impl LogRoom {
    /// For the logs of a folder, each of so many bytes at most, but for its last write.
    pub(crate) fn new(folder: &Path, bytes: u64) -> Self {
        LogRoom { folder: folder.to_path_buf(), bytes, looked: Mutex::default(), log: Mutex::default() }
    }

    /// Has RocksDB write a batch of so many bytes to the log.
    pub(crate) fn write<T>(&self, batch_bytes: usize, write: impl FnOnce() -> T) -> T {
        let mut log = self.log.lock();
        log.end += log_bytes(batch_bytes as u64);
        log.written = record_end(log.written, batch_bytes as u64);
        log.write_ahead(self.bytes);
        write()
    }

    /// Begins to bring what was written to the disk, without waiting for it. Not more than a hint.
    pub(crate) fn begin(&self) {
        let (file, from, to) = {
            let mut log = self.log.lock();
            let Some(file) = log.file.clone() else { return };
            let (from, to) = (log.begun, log.written);
            log.begun = to;
            (file, from, to)
        };
        if to - from > BEGUN_BYTES_MAX {
            return;
        }
        // Linux begins to write the pages that it is advised to let go of. Asked for a part of one page it lets go of none.
        for page in from / PAGE..to.div_ceil(PAGE) {
            let _hint = fadvise(&file, page * PAGE + 1, NonZeroU64::new(1), Advice::DontNeed);
        }
    }

    /// Lets go of the log, which is about to be replaced.
    pub(crate) fn leave(&self) {
        *self.log.lock() = Log::default();
    }

    /// Gives room to the newest log, if it has none. What fails costs time only: RocksDB does without.
    pub(crate) fn make(&self) {
        {
            let mut looked = self.looked.lock();
            let now = Instant::now();
            if looked.is_some_and(|looked| now.duration_since(looked) < LOOK_AGAIN) {
                return;
            }
            *looked = Some(now);
        }
        let Ok(Some((number, path))) = self.newest() else { return };
        // Whoever writes may do so for long; there is a next time.
        let Some(mut log) = self.log.try_lock() else { return };
        if number == log.number {
            return;
        }
        *log = Log { number, ..Log::default() };
        if let Ok(mut file) = File::options().write(true).open(&path)
            // Nobody writes now: RocksDB's next write begins here.
            && let Ok(end) = file.seek(SeekFrom::End(0))
            // Never shorter: RocksDB may have written beyond. Not every file system can.
            && fallocate(&file, FallocateFlags::empty(), 0, self.bytes).is_ok()
        {
            *log = Log { number, file: Some(Arc::new(file)), end, zeroed: 0, written: end, begun: end };
        }
    }

    /// Flushes every log by itself, where RocksDB does not.
    pub(crate) fn flush_all(&self) -> Result<(), StorageError> {
        let tried = "flush the write-ahead log in";
        for entry in std::fs::read_dir(&self.folder).map_err(StorageError::io(tried, &self.folder))? {
            let path = entry.map_err(StorageError::io(tried, &self.folder))?.path();
            if path.extension().is_some_and(|extension| extension == "log") {
                let flushed = File::open(&path).and_then(|log| log.sync_data());
                flushed.map_err(StorageError::io("flush write-ahead log", &path))?;
            }
        }
        Ok(())
    }

    fn newest(&self) -> io::Result<Option<(u64, PathBuf)>> {
        let mut newest = None;
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(rocks::log_number);
            newest = newest.max(number.map(|number| (number, name)));
        }
        Ok(newest.map(|(number, name)| (number, self.folder.join(name))))
    }
}

impl Log {
    /// Writes zeros before RocksDB comes near the end of the last ones.
    fn write_ahead(&mut self, bytes: u64) {
        let from = (self.end + MARGIN).next_multiple_of(PAGE);
        let to = (from + STEP).min(bytes);
        if from <= self.zeroed || from >= to {
            return;
        }
        let Some(file) = &self.file else { return };
        match file.write_all_at(&ZEROS[..(to - from) as usize], from) {
            Ok(()) => self.zeroed = to,
            Err(_) => self.file = None,
        }
    }
}

/// What a batch takes in the log at most: itself, and the headers of its parts, which end with blocks of 32 KiB.
fn log_bytes(batch: u64) -> u64 {
    batch + (batch / BLOCK + 2) * 64
}

/// Where a batch's record ends that begins here.
fn record_end(mut at: u64, batch: u64) -> u64 {
    let mut left = batch;
    loop {
        let room = BLOCK - at % BLOCK;
        if room < HEADER {
            at += room;
            continue;
        }
        let part = left.min(room - HEADER);
        at += HEADER + part;
        left -= part;
        if left == 0 {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LogRoom, STEP};
    use crate::temporary_folder::TemporaryFolder;
    use rocksdb::{DB, Options, WriteBatch};

    /// Where the last byte that is not zero stands, or has stood.
    fn written(path: &std::path::Path) -> u64 {
        let bytes = std::fs::read(path).expect("the log is there");
        bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
    }

    #[test]
    fn zeros_keep_away_from_records() {
        let folder = TemporaryFolder::new("log-room");
        let mut options = Options::default();
        options.create_if_missing(true);
        let db = DB::open(&options, &*folder).expect("opens");
        let room = LogRoom::new(&folder, 8 << 20);
        let number = std::cell::Cell::new(0_u64);
        let write = |bytes: usize| {
            let mut batch = WriteBatch::default();
            number.set(number.get() + 1);
            let number = number.get();
            // No zeros in it.
            batch.put(format!("{number:08}"), vec![0xaa; bytes + 1]);
            room.write(batch.size_in_bytes(), || db.write(batch)).expect("written");
        };
        // Of what was written before the log was found the file's length tells.
        write(100);
        write(70_000);
        room.make();
        assert!(room.log.lock().file.is_some(), "a log of its own");
        let (_, path) = room.newest().expect("the folder is read").expect("there is a log");
        let mut ahead = 0;
        for round in 0..2_000_usize {
            write(round * 7919 % 3_000);
            if round % 100 == 0 {
                write(round * 104_729 % 200_000);
            }
            if round % 7 == 0 {
                room.begin();
            }
            if round % 50 == 0 {
                let (end, zeroed, record_end) = {
                    let log = room.log.lock();
                    (log.end, log.zeroed, log.written)
                };
                let written = written(&path);
                assert_eq!(written, record_end);
                assert!(written <= end, "{written} bytes are more than {end}");
                assert!(end - written < 400_000, "{written} bytes are far fewer than {end}");
                ahead += u64::from(zeroed > end);
            }
        }
        assert!(ahead > 20, "zeros were seldom ahead");
        assert!(room.log.lock().end > 4 * STEP);
        drop(db);
        let db = DB::open(&options, &*folder).expect("opens again");
        let all = db.iterator(rocksdb::IteratorMode::Start).map(|entry| entry.expect("reads").1);
        assert_eq!(all.filter(|value| value.iter().all(|byte| *byte == 0xaa)).count() as u64, number.get());
    }
}
