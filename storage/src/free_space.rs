//! Room on the data folder's disk. Some of it is kept, so that writes are refused before RocksDB fails at one.
//!
//! ```text
//! free on the disk = room for new rows ‖ what write buffers will take ‖ kept
//!                                          erasures, deletions, merging ┘
//! ```
//! The disk is asked now and then, and what was written since is taken off. What else fills the disk meanwhile is what the
//! kept part is for.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, fallocate};

use crate::error::StorageError;

/// Kept if nothing is said, but never more than a part of a small disk.
const KEPT_BYTES: u64 = 64 << 20;
const KEPT_PART: u64 = 8;
/// The disk is asked again after so long, or when little room is left.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// What makes room may use all but this part of what is kept.
const LAST_PART: u64 = 4;

/// See the module.
pub(crate) struct FreeSpace {
    folder: PathBuf,
    kept: Option<u64>,
    looked: Mutex<Option<Looked>>,
    /// Whether the last batch found no room: it is said when that changes.
    refused: AtomicBool,
}

struct Looked {
    at: Instant,
    /// Free, less what was written since.
    free: u64,
    /// What write buffers hold, and files will.
    buffered: u64,
    kept: u64,
}

impl FreeSpace {
    /// On a folder's disk; `kept` is what the operator wants to be kept, 0 for nothing and no watching.
    pub(crate) fn new(folder: &Path, kept: Option<u64>) -> FreeSpace {
        FreeSpace { folder: folder.to_owned(), kept, looked: Mutex::default(), refused: AtomicBool::new(false) }
    }

    /// Takes room for a batch: it stands in the log, and later in a file. `buffered` tells what write buffers hold.
    pub(crate) fn take(&self, bytes: u64, makes_room: bool, buffered: impl Fn() -> u64) -> Result<(), StorageError> {
        if self.kept == Some(0) {
            return Ok(());
        }
        let wanted = 2 * bytes;
        let mut looked = self.looked.lock();
        // Buffers are counted as they are allocated, in large pieces: for what makes room that is too much.
        let left = |looked: &Looked| match makes_room {
            true => looked.kept / LAST_PART,
            false => looked.kept + looked.buffered,
        };
        let fits = |looked: &Looked| looked.free >= left(looked) + wanted;
        let recent = looked.as_mut().filter(|looked| fits(looked) && looked.at.elapsed() < LOOK_AGAIN);
        let now = match recent {
            Some(recent) => recent,
            None => looked.insert(self.look(buffered())?),
        };
        if !fits(now) {
            if !self.refused.swap(true, Ordering::Relaxed) {
                let (free_mb, kept_mb) = (now.free >> 20, left(now) >> 20);
                tracing::error!(target: "dogwood::storage", free_mb, kept_mb, "the disk is full: writes are refused");
            }
            return Err(StorageError::DiskFull { free: now.free, kept: left(now) });
        }
        now.free -= wanted;
        if self.refused.load(Ordering::Relaxed) && !makes_room {
            self.refused.store(false, Ordering::Relaxed);
            tracing::info!(target: "dogwood::storage", free_mb = now.free >> 20, "there is room on the disk again");
        }
        Ok(())
    }

    /// Whether files of so many bytes can be written before those that they replace go.
    pub(crate) fn holds(&self, bytes: u64) -> Result<bool, StorageError> {
        if self.kept == Some(0) {
            return Ok(true);
        }
        let Looked { free, kept, .. } = self.look(0)?;
        Ok(free >= bytes + kept / LAST_PART)
    }

    fn look(&self, buffered: u64) -> Result<Looked, StorageError> {
        let asked = rustix::fs::statvfs(&self.folder);
        let disk =
            asked.map_err(|error| StorageError::io("ask for room on the disk of", &self.folder)(error.into()))?;
        let free = disk.f_bavail * disk.f_frsize;
        let kept = self.kept.unwrap_or_else(|| KEPT_BYTES.min(disk.f_blocks * disk.f_frsize / KEPT_PART));
        Ok(Looked { at: Instant::now(), free, buffered, kept })
    }
}

/// Whether a file of so many bytes can be made and flushed now. It is gone afterwards.
pub(crate) fn can_make(path: &Path, bytes: u64) -> bool {
    let make = || {
        let file = File::create(path)?;
        fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
        file.write_all_at(&[1; 4096], bytes.saturating_sub(4096))?;
        file.sync_all()
    };
    let made = make();
    // What cannot be removed is overwritten the next time.
    let _removed = std::fs::remove_file(path);
    made.is_ok()
}

#[cfg(test)]
mod tests {
    use super::{FreeSpace, KEPT_BYTES};
    use crate::error::StorageError;

    #[test]
    fn what_is_kept_is_for_what_makes_room() {
        let folder = std::env::temp_dir();
        let free = FreeSpace::new(&folder, None).look(0).expect("looks").free;
        let room = |kept| FreeSpace::new(&folder, Some(kept));
        assert!(room(0).take(u64::MAX / 4, false, || free).is_ok(), "nobody watches");
        let twice = room(2 * free);
        assert!(matches!(twice.take(1, false, || 0), Err(StorageError::DiskFull { .. })));
        assert!(twice.take(1, true, || 0).is_ok(), "half of what is kept is there");
        let buffered = || free - KEPT_BYTES / 2;
        assert!(matches!(room(KEPT_BYTES).take(1, false, buffered), Err(StorageError::DiskFull { .. })));
        assert!(room(KEPT_BYTES).take(1, true, buffered).is_ok());
        let small = room(KEPT_BYTES);
        assert!(small.take(free, false, || 0).is_err());
        assert!(small.take(free / 4, false, || 0).is_ok());
    }
}
