//! Optimistic validation: what a derivation read, and what recent commits wrote, as 64-bit marks.
//!
//! A connection derives placements against a snapshot and notes a mark for each thing that it looked at.
//! The commit thread compares them with the marks of commits since. A collision of hashes costs one more
//! derivation and nothing else.

use repr::hash::{HashMap, RandomState};
use repr::{CommitTime, IndexId, RelationId, RowKey};
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
