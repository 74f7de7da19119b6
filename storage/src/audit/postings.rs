//! Which records of the log say something of a person, a role or a table: found without reading all.
//!
//! ```text
//! 7 ‖ kind(1) ‖ value(16) ‖ run(8)  → the records' places in the run, a byte each
//! 12 ‖ shelf(1) ‖ run(8)            → people, in order, each: of the pseudonym(3) ‖ the record's place in the run(1)
//! 10                                → up to which record there are postings
//! 11 ‖ run(8)                       → a byte where its people stand on shelves, else nothing: each has a key of kind 1
//! 8                                 → the same in folders of before, by other keys; nothing reads it
//! ```
//! There are as many people as entries, and a key of its own for each costs more than the entry does. So those of a run whose
//! pseudonyms begin alike, a 64th of all, share a value. It holds no whole pseudonym: who is found there is looked for in the record.
//!
//! A run is named by its first record, less one. It ends with a segment of 256 records, or once its records have many entries. Its
//! postings are made then, beside other work; what comes behind is looked through. All of it is derived, and can be made anew.

use std::collections::BTreeSet;
use std::ops::{Bound, RangeInclusive};

use repr::{Id, RelationId};

use crate::audit::Pseudonym;
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
/// The kind of what is found by tables of which entries do not list all whose data it was.
const UNLISTED: u8 = 3;
const POSTED: &[u8] = &[10];
const RUNS: &[u8] = &[11];
const PEOPLE: u8 = 12;
/// What a run's key says whose people stand on shelves.
const SHELVED: &[u8] = &[1];
const SHELVES: u8 = 64;
/// Bytes of one of the people there.
const PERSON_BYTES: usize = 4;
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
        Mentioned::Unlisted(table) => (UNLISTED, widened(table.0)),
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
fn run_key(run: u64) -> Vec<u8> {
    [RUNS, &run.to_be_bytes()].concat()
}

/// A run, by its first record, less one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostedRun {
    pub(crate) first: u64,
    is_shelved: bool,
}

impl PostedRun {
    /// Whether its people stand on shelves.
    pub(crate) fn is_shelved(self) -> bool {
        self.is_shelved
    }

    fn stored(key: &[u8], value: &[u8]) -> Option<PostedRun> {
        Some(PostedRun { first: log::number_of(key)?, is_shelved: value == SHELVED })
    }
}

/// Where a person stands in a run: the shelf, and what is there of the pseudonym.
fn shelf_of(person: &Pseudonym) -> (u8, [u8; PERSON_BYTES - 1]) {
    (person[0] / (u8::MAX / SHELVES + 1), [person[1], person[2], person[3]])
}

fn shelf_key(shelf: u8, run: u64) -> Vec<u8> {
    [[PEOPLE, shelf].as_slice(), &run.to_be_bytes()].concat()
}

/// What some of a run's records mention, and where in the run.
#[derive(Default)]
pub(crate) struct Posted {
    /// The shelf, what is there of a pseudonym, the place: a byte each, the last one the lowest.
    people: Vec<u64>,
    others: Vec<(Mentioned, u8)>,
}

impl Posted {
    /// A record at this place of the run mentions it.
    pub(crate) fn add(&mut self, mentioned: Mentioned, place: u8) {
        match mentioned {
            Mentioned::Person(person) => {
                let (shelf, [one, two, three]) = shelf_of(&person);
                self.people.push(u64::from_be_bytes([0, 0, 0, shelf, one, two, three, place]));
            }
            other => self.others.push((other, place)),
        }
    }

    /// In order, each once.
    fn sort(&mut self) {
        self.people.sort_unstable();
        self.people.dedup();
        self.others.sort_unstable();
        self.others.dedup();
    }

    /// What stands on each shelf where there is anybody.
    fn shelves(&self) -> impl Iterator<Item = (u8, Vec<u8>)> {
        let shelf = |person: &u64| person.to_be_bytes()[3];
        self.people.chunk_by(move |one, other| shelf(one) == shelf(other)).map(move |people| {
            let bytes = people.iter().flat_map(|person| (*person as u32).to_be_bytes()).collect();
            (shelf(&people[0]), bytes)
        })
    }

    /// The places of each of the others.
    fn others(&self) -> impl Iterator<Item = (Mentioned, Vec<u8>)> {
        let same = self.others.chunk_by(|(one, _), (other, _)| one == other);
        same.map(|same| (same[0].0, same.iter().map(|(_, place)| *place).collect()))
    }

    /// Of a run with shelves: no others stand there from here on.
    pub(crate) fn put_people(mut self, run: u64, batch: &mut Batch) {
        self.sort();
        (0..SHELVES).for_each(|shelf| batch.delete(Family::Audit, &shelf_key(shelf, run)));
        self.shelves().for_each(|(shelf, people)| batch.put(Family::Audit, &shelf_key(shelf, run), &people));
    }
}

impl Snapshot {
    /// Up to which record there are postings.
    fn posted(&self) -> Result<u64, StorageError> {
        let posted = self.get(Family::Audit, POSTED, "read the audit log's postings")?;
        Ok(posted.as_deref().and_then(log::number_of).unwrap_or(0))
    }

    /// The runs that begin within a segment.
    pub(crate) fn runs_of(&self, segment: u64) -> Result<Vec<PostedRun>, StorageError> {
        let (first, behind) = ((segment * SEGMENT).to_be_bytes(), ((segment + 1) * SEGMENT).to_be_bytes());
        let (lower, upper) = (Bound::Included(first.as_slice()), Bound::Excluded(behind.as_slice()));
        let mut cursor = Cursor::range(self, Family::Audit, RUNS, lower, upper, Direction::Forward);
        let mut runs = Vec::new();
        while let Some(run) = cursor.next("read the audit log's postings", PostedRun::stored)? {
            runs.push(run.ok_or(MALFORMED)?);
        }
        Ok(runs)
    }

    /// The entries of a range that mention any of these, in order.
    pub fn audit_of(&self, mentioned: &[Mentioned], range: &EntryRange) -> Result<LoggedEntries, StorageError> {
        let (posted, within) = (self.posted()?, self.records_of(range)?);
        let (from, to) = (*within.start(), *within.end());
        let mut found = BTreeSet::new();
        for one in mentioned {
            self.add_records(&key_of(*one), &within, |places, found| found.extend(places), &mut found)?;
            if let Mentioned::Person(person) = one {
                let (shelf, wanted) = shelf_of(person);
                let on_shelf = |people: &[u8], found: &mut Vec<u8>| {
                    let own = people.chunks_exact(PERSON_BYTES).filter(|one| one.starts_with(&wanted));
                    found.extend(own.map(|one| one[PERSON_BYTES - 1]));
                };
                self.add_records(&[PEOPLE, shelf], &within, on_shelf, &mut found)?;
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

    /// The tables, those that are gone among them, of which entries do not list all whose data it was.
    pub fn unlisted_tables(&self) -> Result<BTreeSet<RelationId>, StorageError> {
        const READ: &str = "read the audit log's postings";
        let (mut tables, mut next) = (BTreeSet::new(), Some(0));
        while let Some(least) = next {
            let lower = widened(least);
            let from = Bound::Included(lower.as_slice());
            let mut cursor =
                Cursor::range(self, Family::Audit, &[POSTINGS, UNLISTED], from, Bound::Unbounded, Direction::Forward);
            let table = |key: &[u8], _: &[u8]| key.get(14..18)?.try_into().ok().map(Id::from_be_bytes);
            let Some(table) = cursor.next(READ, table)? else { break };
            let table = table.ok_or(MALFORMED)?;
            tables.insert(RelationId(table));
            next = table.checked_add(1);
        }
        for record in self.posted()? + 1..=self.last_record()? {
            mentions(record, &self.audit_record(record)?, |mentioned| {
                if let Mentioned::Unlisted(table) = mentioned {
                    tables.insert(table);
                }
            })?;
        }
        Ok(tables)
    }

    /// Adds the records in a range that postings of a kind name, in all runs: `places` reads a value.
    fn add_records(
        &self,
        kind: &[u8],
        within: &RangeInclusive<u64>,
        places: impl Fn(&[u8], &mut Vec<u8>),
        found: &mut BTreeSet<u64>,
    ) -> Result<(), StorageError> {
        // Its run begins no earlier than its segment does.
        let first = (within.start().saturating_sub(1) / SEGMENT * SEGMENT).to_be_bytes();
        let last = within.end().to_be_bytes();
        let (lower, upper) = (Bound::Included(first.as_slice()), Bound::Included(last.as_slice()));
        let mut cursor = Cursor::range(self, Family::Audit, kind, lower, upper, Direction::Forward);
        let mut of_run = Vec::new();
        while let Some(run) = cursor.next("read the audit log's postings", |key, value| {
            of_run.clear();
            places(value, &mut of_run);
            log::number_of(key)
        })? {
            let run = run.ok_or(MALFORMED)?;
            let records = of_run.iter().map(|place| run + 1 + u64::from(*place));
            found.extend(records.filter(|record| within.contains(record)));
        }
        Ok(())
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
fn posted_in(snapshot: &Snapshot, run: RangeInclusive<u64>) -> Result<Posted, StorageError> {
    let (first, mut found) = (*run.start(), Posted::default());
    for record in run {
        let place = u8::try_from(record - first).expect("a run has 256 records at most");
        mentions(record, &snapshot.audit_record(record)?, |mentioned| found.add(mentioned, place))?;
    }
    found.sort();
    Ok(found)
}

impl Snapshot {
    /// The first record of the first run whose postings do not tell all that its records mention; none where all do.
    pub(crate) fn ill_posted(&self) -> Result<Option<u64>, StorageError> {
        let posted = self.posted()?;
        let mut cursor = Cursor::all_once(self, Family::Audit, RUNS);
        let mut runs = Vec::new();
        while let Some(run) = cursor.next("read the audit log's postings", PostedRun::stored)? {
            runs.push(run.ok_or(MALFORMED)?);
        }
        let ends = runs.iter().skip(1).map(|run| run.first).chain([posted]);
        for (run, end) in runs.iter().zip(ends) {
            // Longer than any run: the beginning of one is gone.
            if end <= run.first || end - run.first > SEGMENT || !self.is_posted(*run, end)? {
                return Ok(Some(run.first + 1));
            }
        }
        // Where there are none, some may be missing all the same.
        Ok(if runs.is_empty() && posted > 0 { Some(1) } else { None })
    }

    /// Whether the postings of a run, up to a record, tell all that its records mention.
    fn is_posted(&self, run: PostedRun, end: u64) -> Result<bool, StorageError> {
        const READ: &str = "read the audit log's postings";
        let found = posted_in(self, run.first + 1..=end)?;
        for (mentioned, places) in found.others() {
            let stored = self.get(Family::Audit, &key_in(run.first, mentioned), READ)?;
            if !stored.is_some_and(|stored| places.iter().all(|place| stored.contains(place))) {
                return Ok(false);
            }
        }
        if run.is_shelved {
            for (shelf, people) in found.shelves() {
                if self.get(Family::Audit, &shelf_key(shelf, run.first), READ)?.as_deref() != Some(people.as_slice()) {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        self.has_posted_each(run, end)
    }

    /// Whether a run of before has a key for each person in each of its records.
    fn has_posted_each(&self, run: PostedRun, end: u64) -> Result<bool, StorageError> {
        let mut is_whole = true;
        for record in run.first + 1..=end {
            let place = u8::try_from(record - run.first - 1).expect("a run has 256 records at most");
            let mut people = BTreeSet::new();
            mentions(record, &self.audit_record(record)?, |mentioned| {
                if matches!(mentioned, Mentioned::Person(_)) {
                    people.insert(mentioned);
                }
            })?;
            for person in people {
                let key = key_in(run.first, person);
                let stored = self.get(Family::Audit, &key, "read the audit log's postings")?;
                is_whole &= stored.is_some_and(|places| places.contains(&place));
            }
        }
        Ok(is_whole)
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
            for (mentioned, places) in found.others() {
                batch.put(Family::Audit, &key_in(posted, mentioned), &places);
            }
            for (shelf, people) in found.shelves() {
                batch.put(Family::Audit, &shelf_key(shelf, posted), &people);
            }
            batch.put(Family::Audit, &run_key(posted), SHELVED);
            posted = *run.end();
            batch.put(Family::Audit, POSTED, &posted.to_be_bytes());
            self.check_room(&batch)?;
            self.write(batch)?;
        }
        Ok(snapshot.next_run(posted)?.is_some())
    }
}
