//! What backups may still hold of what was erased, as the last that was done at each target has left it.
//!
//! ```text
//! meta   backup/erased/ target's hash(16) ‖ erasures(8)   → since when(8) all backups there have so many erasures
//!        backup/kept/ key target's hash(16)               → the oldest key backup there(8) ‖ how long they are kept(8)
//! ```
//! Times are microseconds since 2000-01-01 UTC. What somebody has copied from a target elsewhere is not known here.

use crate::backup::fault::BackupFault;
use crate::backup::keys::{self, KEYS};
use crate::backup::take::TARGETS;
use crate::backup::target::Target;
use crate::batch::Batch;
use crate::crypto::sodium;
use crate::error::{StorageError, StoredEntry};
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::Cursor;
use crate::store::Store;

const ERASED: &[u8] = b"backup/erased/";
const KEPT: &[u8] = b"backup/kept/";

const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Erasure };

/// What is known of all targets.
#[derive(Clone, Debug, Default)]
pub struct HeldByBackups {
    /// Of each target, from when on its backups have how many erasures: both rise.
    targets: Vec<Vec<(u64, i64)>>,
    /// Of each target of keys the oldest, and how long they are kept.
    keys: Vec<(i64, i64)>,
}

impl HeldByBackups {
    /// Since when no backup is from before an erasure, by the number of its receipt; none while one may be.
    pub fn clean_at(&self, receipt: u64, erased_us: i64) -> Option<i64> {
        let of_target = |told: &Vec<(u64, i64)>| told.iter().find(|(has, _)| *has >= receipt).map(|(_, since)| *since);
        self.targets.iter().map(of_target).try_fold(erased_us, |last, since| Some(last.max(since?)))
    }

    /// Up to when key backups may be kept that hold a key which was destroyed then; none where there is no such.
    pub fn keys_until(&self, erased_us: i64) -> Option<i64> {
        let from_before = self.keys.iter().filter(|(oldest, _)| *oldest <= erased_us);
        from_before.map(|(_, keep)| erased_us.saturating_add(*keep)).max()
    }
}

impl Batch {
    /// Notes that all backups at a target have so many erasures now.
    pub(super) fn put_erased(&mut self, store: &Store, target: &[u8; 16], erasures: u64, now_us: i64) {
        self.put_meta(store, &[ERASED, target, &erasures.to_be_bytes()].concat(), &now_us.to_be_bytes());
    }
}

impl Store {
    /// Notes which key backups are left at a target.
    pub(super) fn note_keys(&self, target: &dyn Target, keep_us: i64) -> Result<(), StorageError> {
        let listed = target.list(KEYS).map_err(BackupFault::from)?;
        let oldest = listed.iter().filter_map(|(object, _)| keys::time_of(object)).min().unwrap_or(i64::MAX);
        let key = [KEPT, &sodium::hash::<16>(target.name().as_bytes())].concat();
        let noted = [oldest.to_be_bytes(), keep_us.to_be_bytes()].concat();
        if self.snapshot().meta(&key)?.as_deref() != Some(&noted) {
            let mut batch = Batch::default();
            batch.put_meta(self, &key, &noted);
            self.check_room(&batch)?;
            self.write(batch)?;
            self.flush()?;
        }
        Ok(())
    }
}

impl Snapshot {
    /// What backups may hold.
    pub fn held_by_backups(&self) -> Result<HeldByBackups, StorageError> {
        let mut held = HeldByBackups::default();
        for (target, _) in self.noted(TARGETS)? {
            let told = self.noted(&[ERASED, &target].concat())?.into_iter().map(|(erasures, since)| {
                let erasures = erasures.try_into().map_err(|_| MALFORMED)?;
                Ok((u64::from_be_bytes(erasures), i64::from_be_bytes(since.try_into().map_err(|_| MALFORMED)?)))
            });
            held.targets.push(told.collect::<Result<_, StorageError>>()?);
        }
        for (_, noted) in self.noted(KEPT)? {
            let (oldest, keep) = noted.split_first_chunk::<8>().ok_or(MALFORMED)?;
            let keep = keep.try_into().map_err(|_| MALFORMED)?;
            held.keys.push((i64::from_be_bytes(*oldest), i64::from_be_bytes(keep)));
        }
        Ok(held)
    }

    /// Metadata under a prefix: what follows that, and the values.
    fn noted(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StorageError> {
        let (of, length) = (self.clone(), prefix.len());
        let cursor = Cursor::all(self, Family::Meta, prefix);
        let entries = cursor.entries("read where backups are", move |key, sealed| {
            Ok((key[length..].to_vec(), of.open_meta(key, sealed)?))
        });
        entries.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::HeldByBackups;

    #[test]
    fn all_targets_are_waited_for() {
        let none = HeldByBackups::default();
        assert_eq!((none.clean_at(7, 50), none.keys_until(50)), (Some(50), None));
        let two = HeldByBackups {
            targets: vec![vec![(3, 40), (8, 90)], vec![(0, 10), (7, 70)]],
            keys: vec![(45, 100), (60, 900)],
        };
        assert_eq!(two.clean_at(7, 50), Some(90));
        assert_eq!(two.clean_at(8, 50), None, "the second has only seven");
        assert_eq!(two.keys_until(50), Some(150), "the second holds only later ones");
        assert_eq!(two.keys_until(44), None);
    }
}
