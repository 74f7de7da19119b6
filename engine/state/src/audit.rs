//! What statements did, on its way to the audit log.
//!
//! ```text
//! statement ─▶ ReadObserver (which tables, whose rows) ─▶ entry ─┬─ it wrote: with its transaction, into that one's commit
//!                                                               └─ it read:  AuditQueue ─▶ the next commit, or one of its own
//! ```
//! Never holds a row, a key or a literal.

mod rounds;

pub use rounds::Rounds;

use crate::SqlError;
use crate::unwritten_requests::UnwrittenRequests;
use parking_lot::Mutex;
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
}

#[derive(Default)]
struct Shard {
    entries: Vec<AuditEntry>,
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
    /// In the order of their times.
    pub entries: Vec<AuditEntry>,
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
    pub fn put(&self, session: u64, entry: AuditEntry) -> Option<Waits> {
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

    /// All that wait, for a commit; only one takes at a time. What becomes of the round is to be said.
    pub fn take(&self) -> Taken {
        let mut taken = Taken::default();
        if self.waiting() > 0 {
            let round = self.rounds.take();
            for shard in &self.shards {
                let mut shard = shard.lock();
                taken.entries.append(&mut shard.entries);
                shard.round = round;
            }
            self.waiting.fetch_sub(taken.entries.len(), Ordering::Relaxed);
            taken.entries.sort_by_key(|entry| entry.time_us);
            taken.round = Some(round);
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
        self.shards[0].lock().entries.extend(entries);
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
    use repr::CommitTime;
    use storage::audit::AuditOperation;

    fn entry(time_us: i64) -> AuditEntry {
        AuditEntry {
            time_us,
            commit: CommitTime(1),
            actor: Arc::default(),
            operation: AuditOperation::Select,
            statement: [0; 8],
            tables: Vec::new(),
            key: None,
            subjects: Vec::new(),
            scope: AuditScope::default(),
            rows: 0,
            payload: None,
        }
    }

    #[test]
    fn an_entry_knows_the_round_that_takes_it() {
        let queue = AuditQueue::new(true);
        assert_eq!(queue.put(3, entry(2)), Some(Waits { round: 1, entries: 1 }));
        assert_eq!(queue.put(4, entry(1)), Some(Waits { round: 1, entries: 2 }));
        let taken = queue.take();
        assert_eq!(taken.entries.iter().map(|entry| entry.time_us).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(taken.round, Some(1));
        assert_eq!(queue.take().round, None, "where nothing waits there is no round");
        assert_eq!(queue.put(3, entry(3)), Some(Waits { round: 2, entries: 1 }));
        let refused = SqlError::new("53100", "the disk is full");
        queue.put_back(taken, &refused);
        assert_eq!(queue.waiting(), 3, "what was read stays so");
        assert_eq!(queue.rounds.wait(1, || panic!("it was taken")), Err(refused));
        let again = queue.take();
        assert_eq!((again.entries.len(), again.round), (3, Some(2)));
        queue.statement("SELECT");
        let taken = queue.take();
        assert_eq!(taken.statements.len(), 1);
        queue.put_back(taken, &SqlError::new("53100", "the disk is full"));
        assert_eq!(queue.take().statements.len(), 1, "a text that was not stored is stored with the next");
        assert_eq!(AuditQueue::new(false).put(1, entry(1)), None);
    }
}
