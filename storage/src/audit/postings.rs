//! Which records of the log say something of a person, a role or a table: found without reading all.
//!
//! ```text
//! 7 ‖ kind(1) ‖ value(16) ‖ run(8)  → the records' places in the run, a byte each
//! 10                                → up to which record there are postings
//! 11 ‖ run(8)                       → nothing
//! 8                                 → the same in folders of before, by other keys; nothing reads it
//! ```
//! A run is named by its first record, less one. It ends with a segment of 256 records, or once its records have many entries. Its
//! postings are made then, beside other work; what comes behind is looked through. All of it is derived, and can be made anew.

use std::collections::BTreeSet;
use std::ops::{Bound, RangeInclusive};

use repr::Id;

use crate::audit::group;
use crate::audit::log::{self, CHECKPOINT_RECORDS};
use crate::audit::logged::LoggedEntry;
use crate::audit::mentioned::Mentioned;
use crate::audit::reader::{EntryRange, LoggedEntries};
use crate::batch::Batch;
use crate::error::{StorageError, StoredEntry};
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::{Cursor, Direction};
use crate::store::Store;

const POSTINGS: u8 = 7;
const POSTED: &[u8] = &[10];
const RUNS: &[u8] = &[11];
pub(crate) const SEGMENT: u64 = CHECKPOINT_RECORDS;
/// A run of so many entries ends before its segment does: what has no postings is looked through by each question.
const RUN_ENTRIES: u64 = 16_384;
const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Audit };

/// All that a record's entries mention, some of it several times.
pub(crate) fn mentions(sequence: u64, record: &[u8], mut mention: impl FnMut(Mentioned)) -> Result<(), StorageError> {
    match group::Links::of(record) {
        // What its entries share stands before them, once.
        Some((_, body)) => group::mentions(body, &mut mention).ok_or(MALFORMED),
        None => {
            log::entries(sequence, record)?.iter().for_each(|entry| Mentioned::all_of(entry, &mut mention));
            Ok(())
        }
    }
}

/// Where the postings of what is mentioned stand.
fn key_of(mentioned: Mentioned) -> [u8; 18] {
    let (kind, value) = match mentioned {
        Mentioned::Person(person) => (1, person),
        Mentioned::Role(role) => (2, widened(role)),
        Mentioned::Unlisted(table) => (3, widened(table.0)),
        Mentioned::Table(table) => (4, widened(table.0)),
    };
    let mut key = [0; 18];
    (key[0], key[1]) = (POSTINGS, kind);
    key[2..].copy_from_slice(&value);
    key
}

/// The same, in a run.
pub(crate) fn key_in(run: u64, mentioned: Mentioned) -> Vec<u8> {
    [key_of(mentioned).as_slice(), &run.to_be_bytes()].concat()
}

fn widened(id: Id) -> [u8; 16] {
    let mut value = [0; 16];
    value[12..].copy_from_slice(&id.to_be_bytes());
    value
}

/// The records of a segment.
pub(crate) fn records(segment: u64) -> RangeInclusive<u64> {
    segment * SEGMENT + 1..=(segment + 1) * SEGMENT
}

/// The key that says that a run begins there.
pub(crate) fn run_key(run: u64) -> Vec<u8> {
    [RUNS, &run.to_be_bytes()].concat()
}

impl Snapshot {
    /// Up to which record there are postings.
    fn posted(&self) -> Result<u64, StorageError> {
        let posted = self.get(Family::Audit, POSTED, "read the audit log's postings")?;
        Ok(posted.as_deref().and_then(log::number_of).unwrap_or(0))
    }

    /// The runs that begin within a segment.
    pub(crate) fn runs_of(&self, segment: u64) -> Result<Vec<u64>, StorageError> {
        let (first, behind) = ((segment * SEGMENT).to_be_bytes(), ((segment + 1) * SEGMENT).to_be_bytes());
        let (lower, upper) = (Bound::Included(first.as_slice()), Bound::Excluded(behind.as_slice()));
        let mut cursor = Cursor::range(self, Family::Audit, RUNS, lower, upper, Direction::Forward);
        let mut runs = Vec::new();
        while let Some(run) = cursor.next("read the audit log's postings", |key, _| log::number_of(key))? {
            runs.push(run.ok_or(MALFORMED)?);
        }
        Ok(runs)
    }

    /// The entries of a range that mention any of these, in order.
    pub fn audit_of(&self, mentioned: &[Mentioned], range: &EntryRange) -> Result<LoggedEntries, StorageError> {
        let (posted, within) = (self.posted()?, self.records_of(range)?);
        let (from, to) = (*within.start(), *within.end());
        // Its run begins no earlier than its segment does.
        let (first, last) = ((from.saturating_sub(1) / SEGMENT * SEGMENT).to_be_bytes(), to.to_be_bytes());
        let mut found = BTreeSet::new();
        for one in mentioned {
            let (lower, upper) = (Bound::Included(first.as_slice()), Bound::Included(last.as_slice()));
            let mut cursor = Cursor::range(self, Family::Audit, &key_of(*one), lower, upper, Direction::Forward);
            while let Some(records) = cursor.next("read the audit log's postings", |key, places| {
                let run = log::number_of(key)?;
                Some(places.iter().map(|place| run + 1 + u64::from(*place)).collect::<Vec<_>>())
            })? {
                found.extend(records.ok_or(MALFORMED)?.into_iter().filter(|record| within.contains(record)));
            }
        }
        if mentioned.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        let (wanted, snapshot, own) = (mentioned.to_vec(), self.clone(), range.clone());
        // What has no postings yet is looked through as it stands, one record after the other.
        let in_order = EntryRange { reverse: false, ..range.clone() };
        let behind = self.entries_of(&(from.max(posted + 1)..=to), in_order, mentioned.to_vec());
        let found = found.into_iter().flat_map(move |record| match snapshot.mentioning(record, &own, &wanted) {
            Ok(entries) => entries.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        });
        Ok(Box::new(found.chain(behind)))
    }

    /// The entries of a record in a range that mention any of these.
    fn mentioning(
        &self,
        sequence: u64,
        range: &EntryRange,
        wanted: &[Mentioned],
    ) -> Result<Vec<LoggedEntry>, StorageError> {
        let record = self.audit_record(sequence)?;
        log::wanted_entries(sequence, &record, &|number, time_us| range.has(number, time_us), wanted)
    }

    /// The records of the next run; none while it is not full.
    fn next_run(&self, posted: u64) -> Result<Option<RangeInclusive<u64>>, StorageError> {
        let (first, last) = (posted + 1, self.last_record()?);
        let end = *records(posted / SEGMENT).end();
        if first > last {
            return Ok(None);
        }
        let began = |sequence: u64| {
            let record = self.audit_record(sequence)?;
            Ok::<_, StorageError>(log::beginning(sequence, &record)?.first)
        };
        // The first record with which so many entries are behind it: numbers rise.
        let enough = began(first)? + RUN_ENTRIES;
        let (mut before, mut behind) = (first, end.min(last) + 1);
        while before + 1 < behind {
            let middle = before + (behind - before) / 2;
            if began(middle)? < enough { before = middle } else { behind = middle }
        }
        // Up to it; or the whole segment, once that is there.
        Ok((behind <= last.min(end) || last >= end).then_some(first..=before))
    }
}

/// What a run's records mention, and where in the run.
fn posted_in(snapshot: &Snapshot, run: RangeInclusive<u64>) -> Result<Vec<(Mentioned, u8)>, StorageError> {
    let (first, mut found) = (*run.start(), Vec::new());
    for record in run {
        let place = u8::try_from(record - first).expect("a run has 256 records at most");
        mentions(record, &snapshot.audit_record(record)?, |mentioned| found.push((mentioned, place)))?;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

impl Snapshot {
    /// The first record of the first run whose postings do not tell all that its records mention; none where all do.
    pub(crate) fn ill_posted(&self) -> Result<Option<u64>, StorageError> {
        let posted = self.posted()?;
        let mut cursor = Cursor::all_once(self, Family::Audit, RUNS);
        let mut runs = Vec::new();
        while let Some(run) = cursor.next("read the audit log's postings", |key, _| log::number_of(key))? {
            runs.push(run.ok_or(MALFORMED)?);
        }
        let ends = runs.iter().skip(1).copied().chain([posted]);
        for (run, end) in runs.iter().copied().zip(ends) {
            // Longer than any run: the beginning of one is gone.
            if end <= run || end - run > SEGMENT {
                return Ok(Some(run + 1));
            }
            for same in posted_in(self, run + 1..=end)?.chunk_by(|(one, _), (other, _)| one == other) {
                let places = self.get(Family::Audit, &key_in(run, same[0].0), "read the audit log's postings")?;
                let has = |place: &u8| places.as_ref().is_some_and(|places| places.contains(place));
                if !same.iter().all(|(_, place)| has(place)) {
                    return Ok(Some(run + 1));
                }
            }
        }
        // Where there are none, some may be missing all the same.
        Ok(if runs.is_empty() && posted > 0 { Some(1) } else { None })
    }
}

impl Store {
    /// Makes the postings of the next runs that are full, `runs` of them at most. Whether there are more.
    pub fn post_audit(&self, runs: u64) -> Result<bool, StorageError> {
        self.check_writable()?;
        let snapshot = self.snapshot();
        let mut posted = snapshot.posted()?;
        for _ in 0..runs {
            let Some(run) = snapshot.next_run(posted)? else { return Ok(false) };
            let found = posted_in(&snapshot, run.clone())?;
            let mut batch = Batch::default();
            for same in found.chunk_by(|(one, _), (other, _)| one == other) {
                let places: Vec<u8> = same.iter().map(|(_, place)| *place).collect();
                batch.put(Family::Audit, &key_in(posted, same[0].0), &places);
            }
            batch.put(Family::Audit, &run_key(posted), &[]);
            posted = *run.end();
            batch.put(Family::Audit, POSTED, &posted.to_be_bytes());
            self.check_room(&batch)?;
            self.write(batch)?;
        }
        Ok(snapshot.next_run(posted)?.is_some())
    }
}
