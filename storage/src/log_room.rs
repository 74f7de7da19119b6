//! Room in the write-ahead log's file, made before it is needed.
//!
//! RocksDB allocates a log's blocks ahead of what it writes, but lets the file grow with each write, so that each flush has
//! the file's new length to write, too: a third of its time. Here the file is made as long as its blocks reach. A log that is
//! read after a crash ends where zeros begin; RocksDB cuts off what is left when it closes the file.

use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A new log is found after so long at the latest. Until then it grows as it is written. The file itself must not be looked
/// at: once its time of change has been asked for, Linux notes it anew with each write, and each flush has that to write.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// See the module.
pub(crate) struct LogRoom {
    folder: PathBuf,
    bytes: u64,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    /// When a new log was looked for.
    looked: Option<Instant>,
    /// The number of the one that has room.
    log: u64,
}

impl LogRoom {
    /// For the logs of a folder, each of so many bytes at most, but for its last write.
    pub(crate) fn new(folder: &Path, bytes: u64) -> Self {
        LogRoom { folder: folder.to_path_buf(), bytes, last: Mutex::default() }
    }

    /// Gives room to the newest log, if it has none. What fails costs time only: RocksDB does without.
    pub(crate) fn make(&self) {
        let mut last = self.last.lock();
        let now = Instant::now();
        if last.looked.is_some_and(|looked| now.duration_since(looked) < LOOK_AGAIN) {
            return;
        }
        last.looked = Some(now);
        let Ok(Some((log, path))) = self.newest() else { return };
        if log != last.log
            && let Ok(file) = File::options().write(true).open(path)
        {
            // Never shorter: RocksDB may have written beyond. Not every file system can.
            let _made = fallocate(&file, FallocateFlags::empty(), 0, self.bytes);
            last.log = log;
        }
    }

    fn newest(&self) -> io::Result<Option<(u64, PathBuf)>> {
        let mut newest = None;
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".log")).and_then(|stem| stem.parse().ok());
            newest = newest.max(number.map(|number: u64| (number, name)));
        }
        Ok(newest.map(|(number, name)| (number, self.folder.join(name))))
    }
}
