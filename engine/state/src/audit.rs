//! What statements did, on its way to the audit log.
//!
//! ```text
//! statement ─▶ ReadObserver (which tables, whose rows) ─▶ entry ─┬─ it wrote: with its transaction, into that one's commit
//!                                                               └─ it read:  AuditQueue ─▶ the next commit, or one of its own
//! ```
//! Never holds a row, a key or a literal.

use crate::SqlError;
use crate::unwritten_requests::UnwrittenRequests;
use parking_lot::{Condvar, Mutex};
use repr::{MicroDbId, RelationId, RowKey};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use storage::StorageError;
use storage::audit::{AuditEntry, AuditScope, SUBJECTS_LISTED_MAX};
use storage::people_read::{PeopleRead, Seen};

/// How sure what is recorded is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditMode {
    /// Erasures and refused requests alone.
    Off,
    /// What was read in the last moment before a crash may be lost.
    #[default]
    Batched,
    /// Before a statement is answered it is on the disk.
    Strict,
}

impl AuditMode {
    /// By its name in settings.
    pub fn named(name: &str) -> AuditMode {
        match name {
            "off" => AuditMode::Off,
            "strict" => AuditMode::Strict,
            _ => AuditMode::Batched,
        }
    }
}

const SHARDS: usize = 8;

/// Entries that wait for the next commit.
///
/// ```text
/// put ─▶ shards ─┬─▶ the next commit
///                └─▶ recorded: who must know that they are durable waits in rounds; one of them has all written, for all
/// ```
pub struct AuditQueue {
    /// Whether there is a log to write to. A folder that is only read has none.
    is_open: bool,
    shards: [Mutex<Vec<AuditEntry>>; SHARDS],
    waiting: AtomicUsize,
    statements: Mutex<Statements>,
    rounds: Mutex<Rounds>,
    ended: Condvar,
    /// Requests that were answered and stand in their book soon.
    pub requests: UnwrittenRequests,
}

/// Rounds in which what waits is made durable, one after the other.
#[derive(Default)]
struct Rounds {
    /// How many have begun.
    begun: u64,
    /// The last of them that has succeeded.
    durable: u64,
    /// One is under way.
    runs: bool,
}

/// The texts of statements, without literals.
#[derive(Default)]
struct Statements {
    /// Stored, or about to be.
    known: HashSet<[u8; 8]>,
    /// About to be.
    new: Vec<([u8; 8], String)>,
}

/// More are stored again.
const STATEMENTS_MAX: usize = 1 << 16;

impl AuditQueue {
    /// Nothing waits, and nothing will unless there is a log to write to.
    pub fn new(is_open: bool) -> AuditQueue {
        AuditQueue {
            is_open,
            shards: Default::default(),
            waiting: AtomicUsize::new(0),
            statements: Mutex::default(),
            rounds: Mutex::default(),
            ended: Condvar::new(),
            requests: UnwrittenRequests::default(),
        }
    }

    /// What a statement's text, without literals, is called. It is stored with the next commit.
    pub fn statement(&self, text: &str) -> [u8; 8] {
        let hash = storage::content_hash(text.as_bytes());
        let mut name = [0; 8];
        name.copy_from_slice(&hash[..8]);
        let mut statements = self.statements.lock();
        if statements.known.len() >= STATEMENTS_MAX {
            statements.known.clear();
        }
        if self.is_open && statements.known.insert(name) {
            statements.new.push((name, text.to_owned()));
        }
        name
    }

    /// Texts that are not stored yet.
    pub fn new_statements(&self) -> Vec<([u8; 8], String)> {
        std::mem::take(&mut self.statements.lock().new)
    }

    /// Adds one, of this session. How many wait by now.
    pub fn put(&self, session: u64, entry: AuditEntry) -> usize {
        if !self.is_open {
            return 0;
        }
        let shard = (session % SHARDS as u64) as usize;
        let mut shard = self.shards[shard].lock();
        // Counted before anybody can take it.
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        shard.push(entry);
        before + 1
    }

    /// Waits until what was put before is durable. `write` makes all durable that waits: whoever comes while nobody is at it does so
    /// for all who have come by then, and of those who come meanwhile the next does. One flush serves them all.
    pub fn recorded<E>(&self, write: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut rounds = self.rounds.lock();
        // One that has begun may have taken what waited before.
        let own = rounds.begun + 1;
        while rounds.durable < own {
            if rounds.runs {
                self.ended.wait(&mut rounds);
                continue;
            }
            rounds.begun += 1;
            rounds.runs = true;
            let round = rounds.begun;
            drop(rounds);
            let _ends = RoundEnds { queue: self };
            let written = write();
            if written.is_ok() {
                self.rounds.lock().durable = round;
            }
            // Who waited beside a round that failed tries again, and hears by itself why.
            return written;
        }
        Ok(())
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// All that wait, in the order of their times.
    pub fn take(&self) -> Vec<AuditEntry> {
        if self.waiting() == 0 {
            return Vec::new();
        }
        let mut all: Vec<AuditEntry> = Vec::new();
        for shard in &self.shards {
            all.append(&mut shard.lock());
        }
        self.waiting.fetch_sub(all.len(), Ordering::Relaxed);
        all.sort_by_key(|entry| entry.time_us);
        all
    }

    /// What could not be written waits again.
    pub fn put_back(&self, entries: Vec<AuditEntry>) {
        self.waiting.fetch_add(entries.len(), Ordering::Relaxed);
        self.shards[0].lock().extend(entries);
    }
}

/// A round under way; it is over also where its writer was unwound.
struct RoundEnds<'q> {
    queue: &'q AuditQueue,
}

impl Drop for RoundEnds<'_> {
    fn drop(&mut self) {
        self.queue.rounds.lock().runs = false;
        self.queue.ended.notify_all();
    }
}

/// What a statement reads.
pub struct ReadObserver {
    people: Arc<PeopleRead>,
    tables: Mutex<TablesRead>,
    /// Who owns a row of the state that it reads.
    owners: Mutex<Option<OwnersOf>>,
}

type OwnersOf = Box<dyn Fn(RelationId, &RowKey) -> Result<Vec<MicroDbId>, StorageError> + Send>;

/// Which personal tables a statement has read, by themselves or within views.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablesRead {
    /// The tables and views.
    pub relations: BTreeSet<RelationId>,
    /// The key by which a view was read; none if there were several.
    pub key: Option<[u8; 8]>,
    /// A view was read, of whose rows it is not known whose they are.
    pub through_view: bool,
}

/// What was read, for an entry.
#[derive(Clone, Debug, Default)]
pub struct ReadBy {
    /// Which tables and views.
    pub tables: Vec<RelationId>,
    /// See `TablesRead`.
    pub key: Option<[u8; 8]>,
    /// Whose rows.
    pub subjects: Vec<MicroDbId>,
    /// Whether there may be more.
    pub scope: AuditScope,
}

impl ReadObserver {
    /// Of a statement that has read nothing yet.
    pub fn new(joint: Arc<HashSet<RelationId>>) -> ReadObserver {
        ReadObserver { people: Arc::new(PeopleRead::new(joint)), tables: Mutex::default(), owners: Mutex::default() }
    }

    /// For another statement, which has read nothing yet either.
    pub fn renew(&mut self, joint: Arc<HashSet<RelationId>>) {
        match Arc::get_mut(&mut self.people) {
            Some(people) => people.renew(joint),
            // Somebody may note there still what the one before read.
            None => self.people = Arc::new(PeopleRead::new(joint)),
        }
        *self.tables.get_mut() = TablesRead::default();
        *self.owners.get_mut() = None;
    }

    /// What storage tells of whose rows are read.
    pub fn people(&self) -> &Arc<PeopleRead> {
        &self.people
    }

    /// A state is read in which these are the owners.
    pub(crate) fn reads(&self, owners: impl FnOnce() -> OwnersOf) {
        if self.people.has_joint() {
            self.owners.lock().get_or_insert_with(owners);
        }
    }

    /// A personal table is read.
    pub(crate) fn note_table(&self, relation: RelationId) {
        let mut tables = self.tables.lock();
        if tables.relations.last() != Some(&relation) {
            tables.relations.insert(relation);
        }
    }

    /// A maintained view over personal tables is read, by a key or as a whole.
    pub fn note_view(&self, view: RelationId, below: &[RelationId], key: Option<[u8; 8]>) {
        let mut tables = self.tables.lock();
        let again = tables.through_view;
        tables.key = key.filter(|_| !again || tables.key == key);
        tables.through_view = true;
        tables.relations.insert(view);
        tables.relations.extend(below);
    }

    /// What was read until now: none if nothing was that is personal. From here on it is noted anew.
    pub fn take(&self) -> Result<Option<ReadBy>, SqlError> {
        let TablesRead { relations, key, through_view } = std::mem::take(&mut *self.tables.lock());
        let owners = self.owners.lock().take();
        if relations.is_empty() {
            return Ok(None);
        }
        let Seen { mut people, joint, mut many } = self.people.take();
        for (relation, row_key) in joint {
            let owners = owners.as_ref().map(|owners| owners(relation, &row_key)).transpose()?;
            people.extend(owners.into_iter().flatten());
        }
        people.sort_unstable();
        people.dedup();
        many |= people.len() > SUBJECTS_LISTED_MAX;
        if many {
            people.clear();
        }
        let scope = AuditScope { may_be_more: many || through_view, undone: false };
        Ok(Some(ReadBy { tables: relations.into_iter().collect(), key, subjects: people, scope }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn who_waits_for_what_is_written_waits_in_groups() {
        let queue = Arc::new(AuditQueue::new(true));
        let (put, written, rounds) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let threads: Vec<_> = (0..16)
            .map(|_| {
                let (queue, put, written, rounds) = (queue.clone(), put.clone(), written.clone(), rounds.clone());
                std::thread::spawn(move || {
                    for _ in 0..50 {
                        let own = put.fetch_add(1, Ordering::SeqCst) + 1;
                        let write = || {
                            rounds.fetch_add(1, Ordering::SeqCst);
                            let all = put.load(Ordering::SeqCst);
                            std::thread::sleep(std::time::Duration::from_micros(300));
                            written.store(all, Ordering::SeqCst);
                            Ok::<(), ()>(())
                        };
                        queue.recorded(write).expect("it is written");
                        assert!(written.load(Ordering::SeqCst) >= own, "it was put before, and is durable");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(rounds.load(Ordering::SeqCst) < 800, "not each by itself");
    }

    #[test]
    fn a_round_that_fails_is_the_failure_of_who_tried() {
        let queue = Arc::new(AuditQueue::new(true));
        let fails = AtomicBool::new(true);
        let write = || if fails.load(Ordering::SeqCst) { Err(()) } else { Ok(()) };
        assert_eq!(queue.recorded(write), Err(()));
        fails.store(false, Ordering::SeqCst);
        assert_eq!(queue.recorded(write), Ok(()));
        let unwound = queue.clone();
        let panicked = std::thread::spawn(move || unwound.recorded::<()>(|| std::panic::resume_unwind(Box::new(()))));
        assert!(panicked.join().is_err());
        assert_eq!(queue.recorded(write), Ok(()), "nobody waits for one that was unwound");
    }
}
