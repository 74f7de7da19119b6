//! Erasures by number, and when each of them was clean of what.
//!
//! ```text
//! meta   erasure/owed                   → see erasure/owed
//!        erasure/one/ number(8)         → time(8) ‖ receipt's number(8) ‖ receipt's id(16)     zeros where there is none
//!        erasure/pass/ last number(8)   → first number(8) ‖ bytes(8) ‖ { moment(8) }…           in the order of `Moments`
//! ```
//! Times are microseconds since 2000-01-01 UTC. All of it is sealed, as metadata is; nothing says who was erased.

use std::ops::{Bound, RangeInclusive};
use std::time::Instant;

use crate::batch::Batch;
use crate::erasure::Owed;
use crate::error::{StorageError, StoredEntry};
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::{Cursor, Direction};
use crate::store::Store;

pub(super) const OWED: &[u8] = b"erasure/owed";
const ONE: &[u8] = b"erasure/one/";
const PASS: &[u8] = b"erasure/pass/";

const MALFORMED: StorageError = StorageError::Malformed { entry: StoredEntry::Erasure };

const MOMENTS: usize = 9;
const MOMENTS_AT_FIRST: usize = 6;

/// When what was clean of an erasure; nothing where it is not yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Data keys.
    pub keys: Option<i64>,
    /// What views hold.
    pub arrangements: Option<i64>,
    /// Snapshots, cursors and caches: nobody reads what was before.
    pub readers: Option<i64>,
    /// Files of the write-ahead log.
    pub log: Option<i64>,
    /// Files with index entries.
    pub indexes: Option<i64>,
    /// Files with rows, their owners, and metadata: the last of all.
    pub rows: Option<i64>,
    /// Opened rows and keys that are kept for whoever asks again: looked through when nobody read from before any more.
    pub caches: Option<i64>,
    /// All that held it in memory had let go, and what is freed is overwritten: the last of views, readers and caches.
    pub memory: Option<i64>,
    /// Copies of the files that are made for backups.
    pub checkpoints: Option<i64>,
}

impl Moments {
    fn all(&self) -> [Option<i64>; MOMENTS] {
        let Moments { keys, arrangements, readers, log, indexes, rows, caches, memory, checkpoints } = *self;
        [keys, arrangements, readers, log, indexes, rows, caches, memory, checkpoints]
    }

    /// Memory is clean as soon as nobody holds anything of it.
    pub(super) fn settle_memory(&mut self, now_us: i64) {
        if self.memory.is_none() && [self.arrangements, self.readers, self.caches].iter().all(Option::is_some) {
            self.memory = Some(now_us);
        }
    }
}

/// An erasure, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureRecord {
    /// From 1, without gaps.
    pub number: u64,
    /// When.
    pub time_us: i64,
    /// Its receipt's number and id; a definition has none.
    pub receipt: Option<(u64, [u8; 16])>,
    /// When what was clean.
    pub moments: Moments,
    /// What the pass that cleaned it has rewritten, once it has.
    pub bytes: Option<u64>,
}

/// An erasure, as it is noted with its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) time_us: i64,
    pub(crate) receipt: Option<(u64, [u8; 16])>,
}

impl Entry {
    fn encode(self) -> [u8; 32] {
        let (number, id) = self.receipt.unwrap_or_default();
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.time_us.to_be_bytes());
        bytes[8..16].copy_from_slice(&number.to_be_bytes());
        bytes[16..].copy_from_slice(&id);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Entry> {
        let (time, rest) = bytes.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (time_us, number) = (i64::from_be_bytes(*time), u64::from_be_bytes(*number));
        let id = rest.try_into().ok()?;
        Some(Entry { time_us, receipt: (number > 0).then_some((number, id)) })
    }
}

/// A pass: the erasures that it cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassRecord {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) bytes: u64,
    pub(super) moments: Moments,
}

impl PassRecord {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = [self.first.to_be_bytes(), self.bytes.to_be_bytes()].concat();
        self.moments.all().iter().for_each(|moment| bytes.extend_from_slice(&moment.unwrap_or(0).to_be_bytes()));
        bytes
    }

    fn decode(last: u64, bytes: &[u8]) -> Option<PassRecord> {
        let (numbers, []) = bytes.as_chunks::<8>() else { return None };
        let [first, rewritten, moments @ ..] = numbers else { return None };
        // Of a pass from before some were noted these are not known.
        if ![MOMENTS_AT_FIRST, MOMENTS].contains(&moments.len()) {
            return None;
        }
        let mut all = [None; MOMENTS];
        for (moment, bytes) in all.iter_mut().zip(moments) {
            *moment = Some(i64::from_be_bytes(*bytes)).filter(|moment| *moment != 0);
        }
        let [keys, arrangements, readers, log, indexes, rows, caches, memory, checkpoints] = all;
        let moments = Moments { keys, arrangements, readers, log, indexes, rows, caches, memory, checkpoints };
        Some(PassRecord { first: u64::from_be_bytes(*first), last, bytes: u64::from_be_bytes(*rewritten), moments })
    }
}

impl Batch {
    /// Notes erasures from this number on, and what is owed with them.
    pub(crate) fn put_erasures(&mut self, store: &Store, owed: &Owed, first: u64, entries: &[Entry]) {
        let last = first + entries.len() as u64 - 1;
        for (entry, number) in entries.iter().zip(first..) {
            self.put_meta(store, &numbered(ONE, number), &entry.encode());
        }
        self.put_meta(store, OWED, &owed.encode(last));
    }

    /// Notes that a pass is over, and what is owed still.
    pub(super) fn put_pass(&mut self, store: &Store, pass: &PassRecord, owed: &Owed, last: u64) {
        if pass.first <= pass.last {
            self.put_meta(store, &numbered(PASS, pass.last), &pass.encode());
        }
        self.put_meta(store, OWED, &owed.encode(last));
    }
}

impl Store {
    /// Takes over what was owed when the store was last closed. A folder in which nothing was ever noted, and somebody was
    /// forgotten, owes everything.
    pub(crate) fn read_owed(&self) -> Result<(), StorageError> {
        let snapshot = self.snapshot();
        let (owed, last) = match snapshot.meta(OWED)? {
            Some(bytes) => Owed::decode(&bytes).ok_or(MALFORMED)?,
            None if self.keyring().receipts_done() > 0 => (Owed::everything(), 0),
            None => (Owed::default(), 0),
        };
        let passed = snapshot.last_pass()?.map_or(0, |pass| pass.last);
        let mut state = self.erasures().lock();
        state.last = last;
        if !owed.is_nothing() || last > passed {
            state.owe(&owed, last, snapshot.sequence());
            // Those of all receipts are gone once a folder is open.
            state.keys_at = Some(Instant::now());
        }
        Ok(())
    }
}

impl Snapshot {
    /// The erasures of these numbers, in order or from the last to the first.
    pub fn erasures(
        &self,
        numbers: RangeInclusive<u64>,
        reverse: bool,
    ) -> impl Iterator<Item = Result<ErasureRecord, StorageError>> + Send + use<> {
        let (first, last) = (numbers.start().to_be_bytes(), numbers.end().to_be_bytes());
        let (lower, upper) = (Bound::Included(first.as_slice()), Bound::Included(last.as_slice()));
        let cursor = Cursor::range(self, Family::Meta, ONE, lower, upper, Direction::of(reverse));
        let (snapshot, mut pass) = (self.clone(), None);
        cursor.entries("read erasures", move |key, sealed| {
            let number = key.last_chunk().map(|number| u64::from_be_bytes(*number)).ok_or(MALFORMED)?;
            let entry = Entry::decode(&snapshot.open_meta(key, sealed)?).ok_or(MALFORMED)?;
            if pass.is_none_or(|pass: PassRecord| number < pass.first || number > pass.last) {
                pass = snapshot.pass_of(number)?;
            }
            let cleaned = pass.filter(|pass| pass.first <= number && number <= pass.last);
            let moments = match cleaned {
                Some(pass) => pass.moments,
                None => snapshot.store().erasures().lock().moments_of(number),
            };
            let Entry { time_us, receipt } = entry;
            Ok(ErasureRecord { number, time_us, receipt, moments, bytes: cleaned.map(|pass| pass.bytes) })
        })
    }

    /// The first pass that went so far.
    pub(super) fn pass_of(&self, number: u64) -> Result<Option<PassRecord>, StorageError> {
        let from = number.to_be_bytes();
        let cursor =
            Cursor::range(self, Family::Meta, PASS, Bound::Included(&from), Bound::Unbounded, Direction::Forward);
        self.one_pass(cursor)
    }

    /// The last pass of all.
    pub(super) fn last_pass(&self) -> Result<Option<PassRecord>, StorageError> {
        self.one_pass(Cursor::range(self, Family::Meta, PASS, Bound::Unbounded, Bound::Unbounded, Direction::Reverse))
    }

    fn one_pass(&self, cursor: Cursor) -> Result<Option<PassRecord>, StorageError> {
        let snapshot = self.clone();
        let mut passes = cursor.entries("read passes of erasures", move |key, sealed| {
            let last = key.last_chunk().map(|number| u64::from_be_bytes(*number)).ok_or(MALFORMED)?;
            PassRecord::decode(last, &snapshot.open_meta(key, sealed)?).ok_or(MALFORMED)
        });
        passes.next().transpose()
    }
}

fn numbered(prefix: &[u8], number: u64) -> Vec<u8> {
    [prefix, &number.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        for receipt in [None, Some((7, [3; 16]))] {
            let entry = Entry { time_us: -5, receipt };
            assert_eq!(Entry::decode(&entry.encode()), Some(entry));
            assert_eq!(Entry::decode(&entry.encode()[1..]), None);
        }
        let moments = Moments { keys: Some(1), rows: Some(-2), memory: Some(3), ..Moments::default() };
        let pass = PassRecord { first: 3, last: 9, bytes: 1 << 40, moments };
        assert_eq!(PassRecord::decode(9, &pass.encode()), Some(pass));
        for length in 0..pass.encode().len() {
            let read = PassRecord::decode(9, &pass.encode()[..length]);
            assert_eq!(read.is_some(), length == 16 + MOMENTS_AT_FIRST * 8, "cut at {length}");
        }
        let read = PassRecord::decode(9, &pass.encode()[..16 + MOMENTS_AT_FIRST * 8]).expect("one of before");
        assert_eq!((read.moments.rows, read.moments.memory), (Some(-2), None));
    }
}
