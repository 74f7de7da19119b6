//! Retention: entries that are older than what is kept are dropped, and the chain goes on over what is left of their records.
//!
//! ```text
//! record ─▶ its links and the hash of its body      postings of its segment ─▶ nothing
//! ```
//! A segment at a time, from the first: what has lost its entries is a beginning of the log, and `verify` holds it to that. Never the
//! last record, from which the log goes on. Receipts of erasures stay.

use std::collections::BTreeSet;

use crate::audit::group::Emptied;
use crate::audit::log::{self, number_of};
use crate::audit::logged::FORM_OF_ONE;
use crate::audit::mentioned::Mentioned;
use crate::audit::postings::{Posted, SEGMENT, key_in, mentions, records};
use crate::batch::Batch;
use crate::error::{StorageError, StoredEntry};
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::store::Store;

const EMPTIED: &[u8] = &[9];
const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Audit };

impl Snapshot {
    /// How many of the first segments have lost their entries.
    fn emptied(&self) -> Result<u64, StorageError> {
        let emptied = self.get(Family::Audit, EMPTIED, "read how much of the audit log is kept")?;
        Ok(emptied.as_deref().and_then(number_of).unwrap_or(0))
    }
}

impl Store {
    /// Drops the entries of the next segments in which all are of before a time, `segments` of them at most. Whether there may be more.
    pub fn drop_audit_before(&self, time_us: i64, segments: u64) -> Result<bool, StorageError> {
        self.check_writable()?;
        let snapshot = self.snapshot();
        // Of the last segment the log goes on.
        let (emptied, whole) = (snapshot.emptied()?, snapshot.last_record()?.saturating_sub(1) / SEGMENT);
        for segment in emptied..whole.min(emptied + segments) {
            let behind = *records(segment).end() + 1;
            if log::beginning(behind, &snapshot.audit_record(behind)?)?.time_us >= time_us {
                return Ok(false);
            }
            self.empty(&snapshot, segment)?;
        }
        Ok(whole > emptied + segments)
    }

    fn empty(&self, snapshot: &Snapshot, segment: u64) -> Result<(), StorageError> {
        let (mut batch, mut gone, mut stay) = (Batch::default(), BTreeSet::new(), BTreeSet::new());
        // Of each run the people who are still mentioned, if it has shelves.
        let mut runs: Vec<_> = snapshot.runs_of(segment)?.into_iter().map(|run| (run, Posted::default())).collect();
        for sequence in records(segment) {
            let record = snapshot.audit_record(sequence)?;
            // Records of a version before are hashed as a whole, and stay.
            let stays = record.first() == Some(&FORM_OF_ONE);
            if let Some((run, people)) = runs.iter_mut().rev().find(|(run, _)| run.first < sequence) {
                let place = u8::try_from(sequence - run.first - 1).map_err(|_| MALFORMED)?;
                let keys = if stays { &mut stay } else { &mut gone };
                mentions(sequence, &record, |mentioned| match mentioned {
                    Mentioned::Person(_) if run.is_shelved() && stays => people.add(mentioned, place),
                    Mentioned::Person(_) if run.is_shelved() => {}
                    _ => drop(keys.insert((mentioned, run.first))),
                })?;
            }
            if !stays {
                batch.put(Family::Audit, &log::record_key(sequence), &Emptied::left_of(&record).ok_or(MALFORMED)?);
            }
        }
        for (mentioned, run) in gone.difference(&stay) {
            batch.delete(Family::Audit, &key_in(*run, *mentioned));
        }
        for (run, people) in runs.into_iter().filter(|(run, _)| run.is_shelved()) {
            people.put_people(run.first, &mut batch);
        }
        batch.put(Family::Audit, EMPTIED, &(segment + 1).to_be_bytes());
        self.check_room(&batch)?;
        self.write(batch)
    }
}
