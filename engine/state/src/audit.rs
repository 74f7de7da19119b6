//! What statements did, on its way to the audit log.
//!
//! ```text
//! statement ─▶ ReadObserver (which tables, whose rows) ─▶ entry ─┬─ it wrote: with its transaction, into that one's commit
//!                                                               └─ it read:  AuditQueue ─▶ the next commit, or one of its own
//! ```
//! Never holds a row, a key or a literal.

mod rounds;

pub use rounds::{Heard, Rounds};

use crate::SqlError;
use crate::settled_people::SettledPeople;
use crate::unwritten_requests::UnwrittenRequests;
use parking_lot::Mutex;
use repr::{CommitTime, MicroDbId, RelationId, RowKey};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use storage::StorageError;
use storage::audit::{AuditScope, LoggedEntry, SUBJECTS_LISTED_MAX};
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
pub struct AuditQueue {
    /// Whether there is a log to write to. A folder that is only read has none.
    is_open: bool,
    shards: [Mutex<Shard>; SHARDS],
    waiting: AtomicUsize,
    statements: Mutex<Statements>,
    /// Who must know that they are durable waits there.
    pub rounds: Rounds,
    /// Requests that were answered and stand in their book soon.
    pub requests: UnwrittenRequests,
    /// Who waits for nothing that stands there.
    pub settled: SettledPeople,
}

#[derive(Default)]
struct Shard {
    entries: Vec<LoggedEntry>,
    /// The last round that has taken what was here.
    round: u64,
}

/// Where an entry waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The round that takes it.
    pub round: u64,
    /// How many wait with it.
    pub entries: usize,
}

/// What a commit takes.
#[derive(Default)]
pub struct Taken {
    /// In no order: their record has them by their times.
    pub entries: Arc<Vec<LoggedEntry>>,
    /// The round that it is; none where nothing waited.
    pub round: Option<u64>,
    /// Texts of statements that are not stored yet.
    pub statements: Vec<([u8; 8], String)>,
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
            rounds: Rounds::default(),
            requests: UnwrittenRequests::default(),
            settled: SettledPeople::default(),
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

    /// Adds one, of this session. None where there is no log.
    pub fn put(&self, session: u64, entry: LoggedEntry) -> Option<Waits> {
        if !self.is_open {
            return None;
        }
        let shard = (session % SHARDS as u64) as usize;
        let mut shard = self.shards[shard].lock();
        // Counted before anybody can take it.
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        shard.entries.push(entry);
        Some(Waits { round: shard.round + 1, entries: before + 1 })
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// All that wait, for a commit that comes after `time`; only one takes at a time. What becomes of the round is to be said.
    pub fn take(&self, time: CommitTime) -> Taken {
        let mut taken = Taken::default();
        if self.waiting() > 0 {
            let round = self.rounds.take();
            let mut entries = Vec::with_capacity(self.waiting());
            for shard in &self.shards {
                let mut shard = shard.lock();
                entries.append(&mut shard.entries);
                shard.round = round;
            }
            self.waiting.fetch_sub(entries.len(), Ordering::Relaxed);
            // What was done without a commit was done at that time at the latest.
            entries.iter_mut().for_each(|entry| entry.commit = entry.commit.min(time));
            (taken.entries, taken.round) = (Arc::new(entries), Some(round));
        }
        // Last: an entry's text is stored no later than it is.
        taken.statements = std::mem::take(&mut self.statements.lock().new);
        taken
    }

    /// What was taken could not be written: it waits again, for whichever commit can.
    pub fn put_back(&self, taken: Taken, error: &SqlError) {
        let Taken { entries, round, statements } = taken;
        self.statements.lock().new.extend(statements);
        self.waiting.fetch_add(entries.len(), Ordering::Relaxed);
        self.shards[0].lock().entries.append(&mut Arc::unwrap_or_clone(entries));
        round.into_iter().for_each(|round| self.rounds.refused(round, error.clone()));
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
#[derive(Default)]
struct TablesRead {
    /// The tables and views, in order.
    relations: Vec<RelationId>,
    /// Those of the last statement that has read any: the next one mostly reads the same.
    last: Arc<[RelationId]>,
    /// The key by which a view was read; none if there were several.
    key: Option<[u8; 8]>,
    /// A view was read, of whose rows it is not known whose they are.
    through_view: bool,
}

impl TablesRead {
    fn add(&mut self, relation: RelationId) {
        if let Err(at) = self.relations.binary_search(&relation) {
            self.relations.insert(at, relation);
        }
    }

    /// From here on nothing is read yet.
    fn renew(&mut self) {
        self.relations.clear();
        (self.key, self.through_view) = (None, false);
    }

    /// The tables and views, for an entry.
    fn list(&mut self) -> Arc<[RelationId]> {
        if *self.last != *self.relations {
            self.last = self.relations.as_slice().into();
        }
        self.last.clone()
    }
}

/// What was read, for an entry.
#[derive(Clone, Debug, Default)]
pub struct ReadBy {
    /// Which tables and views.
    pub tables: Arc<[RelationId]>,
    /// By which key a view was read.
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
        self.tables.get_mut().renew();
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
        self.tables.lock().add(relation);
    }

    /// A maintained view over personal tables is read, by a key or as a whole.
    pub fn note_view(&self, view: RelationId, below: &[RelationId], key: Option<[u8; 8]>) {
        let mut tables = self.tables.lock();
        let again = tables.through_view;
        tables.key = key.filter(|_| !again || tables.key == key);
        tables.through_view = true;
        tables.add(view);
        below.iter().for_each(|table| tables.add(*table));
    }

    /// What was read until now: none if nothing was that is personal. From here on it is noted anew.
    pub fn take(&self) -> Result<Option<ReadBy>, SqlError> {
        let mut read = self.tables.lock();
        let owners = self.owners.lock().take();
        if read.relations.is_empty() {
            read.renew();
            return Ok(None);
        }
        let (tables, key, through_view) = (read.list(), read.key, read.through_view);
        read.renew();
        drop(read);
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
        Ok(Some(ReadBy { tables, key, subjects: people, scope }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::audit::AuditOperation;

    fn entry(time_us: i64) -> LoggedEntry {
        LoggedEntry {
            number: 0,
            time_us,
            commit: CommitTime(5),
            actor: Arc::default(),
            operation: AuditOperation::Select,
            statement: [0; 8],
            tables: Arc::default(),
            key: None,
            subjects_total: 0,
            subjects: Vec::new(),
            scope: AuditScope::default(),
            rows: 0,
            commitment: None,
            reference: None,
            payload: None,
        }
    }

    #[test]
    fn an_entry_knows_the_round_that_takes_it() {
        let queue = AuditQueue::new(true);
        assert_eq!(queue.put(3, entry(2)), Some(Waits { round: 1, entries: 1 }));
        assert_eq!(queue.put(4, entry(1)), Some(Waits { round: 1, entries: 2 }));
        let taken = queue.take(CommitTime(3));
        let mut times: Vec<_> = taken.entries.iter().map(|entry| (entry.time_us, entry.commit)).collect();
        times.sort_unstable();
        assert_eq!(times, [(1, CommitTime(3)), (2, CommitTime(3))]);
        assert_eq!(taken.round, Some(1));
        assert_eq!(queue.take(CommitTime(3)).round, None, "where nothing waits there is no round");
        assert_eq!(queue.put(3, entry(3)), Some(Waits { round: 2, entries: 1 }));
        let refused = SqlError::new("53100", "the disk is full");
        queue.put_back(taken, &refused);
        assert_eq!(queue.waiting(), 3, "what was read stays so");
        assert_eq!(queue.rounds.wait(1, || panic!("it was taken")), Err(refused));
        let again = queue.take(CommitTime(3));
        assert_eq!((again.entries.len(), again.round), (3, Some(2)));
        queue.statement("SELECT");
        let taken = queue.take(CommitTime(3));
        assert_eq!(taken.statements.len(), 1);
        queue.put_back(taken, &SqlError::new("53100", "the disk is full"));
        assert_eq!(queue.take(CommitTime(3)).statements.len(), 1, "a text that was not stored is stored with the next");
        assert_eq!(AuditQueue::new(false).put(1, entry(1)), None);
    }

    #[test]
    fn what_was_read_is_listed_once_in_order_and_shared_with_the_statement_before() {
        let observer = ReadObserver::new(Arc::default());
        let listed = |tables: &[u32]| {
            tables.iter().for_each(|table| observer.note_table(RelationId(*table)));
            observer.take().expect("nobody is asked").map(|read| read.tables)
        };
        let first = listed(&[7, 3, 7, 5, 3]).expect("tables");
        assert_eq!(*first, [3, 5, 7].map(RelationId));
        assert!(listed(&[]).is_none());
        assert!(listed(&[5, 3, 7]).is_some_and(|second| Arc::ptr_eq(&first, &second)));
        assert_eq!(listed(&[5]).as_deref(), Some([RelationId(5)].as_slice()));
        observer.note_view(RelationId(9), &[RelationId(4)], Some([1; 8]));
        let read = observer.take().expect("nobody is asked").expect("a view");
        assert_eq!(
            (&*read.tables, read.key, read.scope.may_be_more),
            ([4, 9].map(RelationId).as_slice(), Some([1; 8]), true)
        );
        observer.note_table(RelationId(4));
        let read = observer.take().expect("nobody is asked").expect("a table");
        assert_eq!((read.key, read.scope.may_be_more), (None, false), "the view was the statement's before");
    }
}
