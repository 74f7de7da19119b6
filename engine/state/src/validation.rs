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
use std::collections::{HashSet, VecDeque};
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
    /// The rows of a personal table, and whose they are.
    Placed(RelationId),
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

/// As many as a transaction of one row mostly has.
const MARKS_ROOM: usize = 12;

/// A set of marks.
#[derive(Clone, Debug, Default)]
pub struct Marks(Vec<u64>);

impl Marks {
    /// None yet, with room for those of a small transaction.
    pub fn with_room() -> Marks {
        Marks(Vec::with_capacity(MARKS_ROOM))
    }

    /// Notes one.
    pub fn note(&mut self, mark: &Mark<'_>) {
        self.0.push(HASHES.hash_one(mark));
    }

    /// These, too.
    pub fn extend(&mut self, others: &Marks) {
        self.0.extend_from_slice(&others.0);
    }

    /// Whether they are remembered by themselves.
    fn is_large(&self) -> bool {
        self.0.len() > LARGE_MARKS_MIN
    }

    /// All are noted: many are brought into their order, which whoever orders commits has no time for.
    pub fn settle(&mut self) {
        if self.is_large() && !self.0.is_sorted() {
            self.0.sort_unstable();
            self.0.dedup();
        }
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

// 128 k marks are some 4 MB. Transactions older than those remembered are derived again.
const GENERATION_MARKS_MAX: usize = 1 << 17;
/// Commits of more marks are remembered each by itself.
const LARGE_MARKS_MIN: usize = 1 << 13;
/// Marks of all of those: some 32 MB.
const LARGE_MARKS_MAX: usize = 1 << 22;

/// The marks that recent commits wrote, each with its latest commit.
#[derive(Default)]
pub struct RecentWrites {
    /// Of small commits, and of those before them.
    written: HashMap<u64, CommitTime>,
    written_before: HashMap<u64, CommitTime>,
    /// The last commit among those before.
    before_until: CommitTime,
    /// Of large commits, each in order, the newest last.
    large: VecDeque<(CommitTime, Vec<u64>)>,
    last: CommitTime,
    forgotten_until: CommitTime,
}

impl RecentWrites {
    /// Notes what a commit wrote. Takes the marks of a large one.
    pub fn record(&mut self, marks: &mut Marks, time: CommitTime) {
        if marks.is_large() {
            // In order already, if whoever noted them has seen to it.
            marks.settle();
            self.large.push_back((time, std::mem::take(&mut marks.0)));
            while self.large.len() > 1
                && self.large.iter().map(|(_, marks)| marks.len()).sum::<usize>() > LARGE_MARKS_MAX
            {
                let forgotten = self.large.pop_front().map_or(time, |(forgotten, _)| forgotten);
                self.forgotten_until = self.forgotten_until.max(forgotten);
            }
        } else {
            if self.written.len() + marks.0.len() > GENERATION_MARKS_MAX {
                self.written_before = std::mem::take(&mut self.written);
                self.forgotten_until = self.forgotten_until.max(self.before_until);
                self.before_until = self.last;
            }
            self.written.extend(marks.0.iter().map(|bits| (*bits, time)));
        }
        self.last = time;
    }

    /// Whether nothing of `reads` was written after `time`.
    pub fn unchanged_since(&self, reads: &Marks, time: CommitTime) -> bool {
        if time >= self.last {
            return true;
        }
        let large = || self.large.iter().rev().take_while(|(written, _)| *written > time);
        let is_later = |written: Option<&CommitTime>| written.is_some_and(|written| *written > time);
        time >= self.forgotten_until
            && reads.0.iter().all(|bits| {
                !is_later(self.written.get(bits))
                    && !is_later(self.written_before.get(bits))
                    && large().all(|(_, marks)| marks.binary_search(bits).is_err())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::{GENERATION_MARKS_MAX, LARGE_MARKS_MAX, LARGE_MARKS_MIN, Marks, RecentWrites};
    use repr::CommitTime;

    fn marks(from: usize, count: usize) -> Marks {
        Marks((from..from + count).rev().map(|bits| bits as u64).collect())
    }

    #[test]
    fn a_large_commit_forgets_nothing_of_others() {
        let mut recent = RecentWrites::default();
        recent.record(&mut marks(1, 2), CommitTime(5));
        recent.record(&mut marks(100, LARGE_MARKS_MAX - 100), CommitTime(6));
        recent.record(&mut marks(3, 1), CommitTime(7));
        let read = |recent: &RecentWrites, of: usize, at| recent.unchanged_since(&marks(of, 1), CommitTime(at));
        assert!(read(&recent, 10, 0) && !read(&recent, 1, 4) && read(&recent, 1, 5));
        assert!(!read(&recent, 100, 5) && read(&recent, 100, 6) && !read(&recent, 3, 6) && read(&recent, 3, 7));
        // A second one is too much for both: what is older than the first is derived again.
        recent.record(&mut marks(1 << 30, LARGE_MARKS_MIN + 1), CommitTime(8));
        assert!(!read(&recent, 10, 5) && read(&recent, 10, 6) && !read(&recent, (1 << 30) + 7, 7));
    }

    #[test]
    fn small_commits_are_remembered_by_generations() {
        let mut recent = RecentWrites::default();
        let half = GENERATION_MARKS_MAX / 2;
        for time in 1..=1 << 10 {
            let count = half >> 4;
            recent.record(&mut marks(time * count, count), CommitTime(time as u64));
            let before = CommitTime(time as u64 - 1);
            assert!(recent.unchanged_since(&marks(0, 1), before), "commit {time} is remembered");
            assert!(!recent.unchanged_since(&marks(time * count, 1), before), "commit {time}");
        }
        assert!(!recent.unchanged_since(&marks(0, 1), CommitTime(900)), "long forgotten");
        assert!(recent.unchanged_since(&marks(0, 1), CommitTime(1000)));
    }
}
