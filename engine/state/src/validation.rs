//! Optimistic validation: what a derivation or a SERIALIZABLE transaction read, and what recent commits wrote, as 64-bit marks.
//!
//! ```text
//! derivation ───────────▶ Marks ───┐                       read before a commit since? derived again
//!                                  ├─▶ RecentWrites ◀── commits
//! statements ─▶ ReadSet ─▶ Marks ──┘                       read before a commit since? 40001
//! ```
//! A connection derives placements against a snapshot and notes a mark for each thing that it looked at.
//! The commit thread compares them with the marks of commits since. A collision of hashes costs one more
//! derivation, or one more attempt of the client, and nothing else.

use parking_lot::Mutex;
use repr::hash::{HashMap, RandomState};
use repr::{CommitTime, IndexId, RelationId, RowKey};
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

/// Something that a derivation may depend on.
#[derive(Hash)]
pub enum Mark<'a> {
    /// The owner set of a row, or its existence.
    Owners(RelationId, &'a RowKey),
    /// What stands in a row, which is copied to whom it gains.
    Row(RelationId, &'a RowKey),
    /// Which rows have this value in an index.
    Index(IndexId, &'a [u8]),
    /// The µDB of a subject.
    Subject(RelationId, &'a RowKey),
    /// The catalog.
    Catalog,
    /// Anything in a table.
    Table(RelationId),
    /// For statements: a row of a table, there or not.
    RowOf(RelationId, &'a RowKey),
    /// For statements: the rows with this value in an index.
    ValueOf(IndexId, &'a [u8]),
    /// For statements: what a commit changed in a table is not told by rows and values.
    Untold(RelationId),
    /// Anything at all.
    Anything,
}

/// The same for all, and another one at each start.
static HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// A set of marks.
#[derive(Clone, Debug, Default)]
pub struct Marks(Vec<u64>);

impl Marks {
    /// Notes one.
    pub fn note(&mut self, mark: &Mark<'_>) {
        self.0.push(HASHES.hash_one(mark));
    }
}

/// What the statements of a SERIALIZABLE transaction have read, as far as others may write it.
#[derive(Default)]
pub struct ReadSet(Mutex<HashSet<u64>>);

/// Who has read more is held against any commit.
const READS_MAX: usize = 1 << 16;

impl ReadSet {
    /// One row, there or not.
    pub fn row(&self, relation: RelationId, row_key: &RowKey) {
        self.note(&[Mark::RowOf(relation, row_key), Mark::Untold(relation)]);
    }
    /// The rows that have a canonical value in an index.
    pub fn value(&self, relation: RelationId, index: IndexId, value: &[u8]) {
        self.note(&[Mark::ValueOf(index, value), Mark::Untold(relation)]);
    }
    /// A table.
    pub fn table(&self, relation: RelationId) {
        self.note(&[Mark::Table(relation)]);
    }
    /// All that was read.
    pub fn marks(&self) -> Marks {
        Marks(self.0.lock().iter().copied().collect())
    }

    fn note(&self, marks: &[Mark<'_>]) {
        let mut noted = self.0.lock();
        if noted.len() >= READS_MAX {
            noted.clear();
            noted.insert(HASHES.hash_one(&Mark::Anything));
        }
        noted.extend(marks.iter().map(|mark| HASHES.hash_one(mark)));
    }
}

// 256 k marks are some 9 MB. Transactions older than those remembered are derived again.
const RECENT_MARKS_MAX: usize = 1 << 18;

/// The marks that recent commits wrote, each with its latest commit.
#[derive(Default)]
pub struct RecentWrites {
    written: HashMap<u64, CommitTime>,
    forgotten_until: CommitTime,
}

impl RecentWrites {
    /// Notes what a commit wrote.
    pub fn record(&mut self, marks: &Marks, time: CommitTime) {
        if self.written.len() + marks.0.len() > RECENT_MARKS_MAX {
            self.written.clear();
            self.forgotten_until = time;
        }
        for bits in &marks.0 {
            self.written.insert(*bits, time);
        }
    }
    /// Whether nothing of `reads` was written after `time`.
    pub fn unchanged_since(&self, reads: &Marks, time: CommitTime) -> bool {
        time >= self.forgotten_until
            && reads.0.iter().all(|bits| self.written.get(bits).is_none_or(|written| *written <= time))
    }
}
