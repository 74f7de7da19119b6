//! Which records of the log say something of a person, a role or a table: found without reading all.
//!
//! ```text
//! 7 ‖ kind(1) ‖ value(16) ‖ segment(8)  → the records' places in the segment, a byte each
//! 8                                     → how many segments have postings
//! ```
//! A segment is 256 records. Its postings are made once it is full, beside other work; what comes behind is read whole. All of
//! it is derived, and can be made anew.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use repr::{Id, RelationId};

use crate::audit::Pseudonym;
use crate::audit::log::{self, CHECKPOINT_RECORDS};
use crate::audit::logged::LoggedEntry;
use crate::audit::reader::{EntryRange, LoggedEntries};
use crate::batch::Batch;
use crate::error::{StorageError, StoredEntry};
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::Cursor;
use crate::store::Store;

const POSTINGS: u8 = 7;
const POSTED: &[u8] = &[8];
pub(crate) const SEGMENT: u64 = CHECKPOINT_RECORDS;
const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Audit };

/// What entries may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mentioned {
    /// They list this person.
    Person(Pseudonym),
    /// This role logged in for them, or they were done as it.
    Role(Id),
    /// They are of this table, and do not list all whose data it was.
    Unlisted(RelationId),
}

impl Mentioned {
    pub(crate) fn key(self) -> [u8; 18] {
        let (kind, value) = match self {
            Mentioned::Person(person) => (1, person),
            Mentioned::Role(role) => (2, widened(role)),
            Mentioned::Unlisted(table) => (3, widened(table.0)),
        };
        let mut key = [0; 18];
        (key[0], key[1]) = (POSTINGS, kind);
        key[2..].copy_from_slice(&value);
        key
    }

    /// Whether an entry mentions it.
    pub fn is_in(self, entry: &LoggedEntry) -> bool {
        match self {
            Mentioned::Person(person) => entry.subjects.contains(&person),
            Mentioned::Role(role) => entry.actor.login == role || entry.actor.role == role,
            Mentioned::Unlisted(table) => entry.scope.may_be_more && entry.tables.contains(&table),
        }
    }

    /// All that an entry mentions.
    pub(crate) fn all_of(entry: &LoggedEntry, mut mention: impl FnMut(Mentioned)) {
        entry.subjects.iter().for_each(|person| mention(Mentioned::Person(*person)));
        mention(Mentioned::Role(entry.actor.login));
        mention(Mentioned::Role(entry.actor.role));
        if entry.scope.may_be_more {
            entry.tables.iter().for_each(|table| mention(Mentioned::Unlisted(*table)));
        }
    }
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

impl Snapshot {
    /// How many segments have postings.
    fn posted(&self) -> Result<u64, StorageError> {
        let posted = self.get(Family::Audit, POSTED, "read the audit log's postings")?;
        Ok(posted.as_deref().and_then(log::number_of).unwrap_or(0))
    }

    /// The entries of a range that mention any of these, in order.
    pub fn audit_of(&self, mentioned: &[Mentioned], range: &EntryRange) -> Result<LoggedEntries, StorageError> {
        let (posted, last) = (self.posted()?, self.last_record()?);
        let mut found = BTreeSet::new();
        for one in mentioned {
            let prefix = one.key();
            let mut cursor = Cursor::all(self, Family::Audit, &prefix);
            while let Some(records) = cursor.next("read the audit log's postings", |key, places| {
                let segment = log::number_of(key)?;
                Some(places.iter().map(|place| segment * SEGMENT + 1 + u64::from(*place)).collect::<Vec<_>>())
            })? {
                found.extend(records.ok_or(MALFORMED)?);
            }
        }
        let wanted = mentioned.to_vec();
        let mentions = move |entry: &LoggedEntry| wanted.iter().any(|one| one.is_in(entry));
        let snapshot = self.clone();
        let own = range.clone();
        let posted_entries = found.into_iter().flat_map(move |record| {
            let entries = snapshot.entries_of(&(record..=record), own.clone());
            entries.collect::<Vec<_>>()
        });
        let behind = self.entries_of(&(posted * SEGMENT + 1..=last), range.clone());
        Ok(Box::new(posted_entries.chain(behind).filter(move |entry| entry.as_ref().map_or(true, &mentions))))
    }
}

impl Store {
    /// Makes the postings of the next segments that are full, `segments` of them at most. Whether there are more.
    pub fn post_audit(&self, segments: u64) -> Result<bool, StorageError> {
        self.check_writable()?;
        let snapshot = self.snapshot();
        let (posted, full) = (snapshot.posted()?, snapshot.last_record()? / SEGMENT);
        for segment in posted..full.min(posted + segments) {
            let mut places: BTreeMap<Mentioned, Vec<u8>> = BTreeMap::new();
            for record in records(segment) {
                let place = u8::try_from(record - *records(segment).start()).expect("a segment has 256 records");
                for entry in snapshot.entries_of(&(record..=record), EntryRange::ALL) {
                    Mentioned::all_of(&entry?, |mentioned| {
                        let places = places.entry(mentioned).or_default();
                        if places.last() != Some(&place) {
                            places.push(place);
                        }
                    });
                }
            }
            let mut batch = Batch::default();
            for (mentioned, places) in places {
                let key = [mentioned.key().as_slice(), &segment.to_be_bytes()].concat();
                batch.put(Family::Audit, &key, &places);
            }
            batch.put(Family::Audit, POSTED, &(segment + 1).to_be_bytes());
            self.check_room(&batch)?;
            self.write(batch)?;
        }
        Ok(full > posted + segments)
    }
}
