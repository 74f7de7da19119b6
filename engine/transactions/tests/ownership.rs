//! Whose rows are whose, against owners computed anew from all rows: random histories of transactions, alone, several at once
//! and several in one commit group, through the writer and the commit pipeline.
//!
//! After each round the stored rows, their owners with the number of derivations, the copies in each µDB, the index entries
//! and the data subjects are what the model says; a refused transaction has written nothing.

#[path = "../../../storage/tests/support/folder.rs"]
mod folder;
#[path = "support/house.rs"]
mod house;
#[path = "ownership/model.rs"]
mod model;
#[path = "../../state/tests/support/random.rs"]
mod random;

use house::{House, Numbers, delete, impatience, insert, numbers, rows_of, update};
use model::{Changes, DEFINITIONS, Person, Place, State, Statement, TABLES, WIDTHS, is_personal, target};
use random::Random;
use repr::{Datum, MicroDbId, RowKey, key};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::reader::Reader;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::channel;
use transactions::commit::{Committed, PreparedCommit};
use transactions::modes::Isolation;
use transactions::transaction::Transaction;

const SEEDS: u64 = 8;
const ROUNDS: usize = 36;
const KEYS: usize = 5;

/// How often what happened, so that the histories cannot run dry.
#[derive(Debug, Default)]
struct Totals {
    committed: usize,
    erased: usize,
    refused: BTreeMap<&'static str, usize>,
    /// Of a group of several.
    grouped: usize,
    joint: usize,
}

struct History {
    house: House,
    /// What statements write stands on the disk until it is committed, as far as it may.
    spills: bool,
    state: State,
    next_person: Person,
    microdbs: BTreeMap<Person, MicroDbId>,
    random: Random,
    totals: Totals,
}

/// A transaction that has written, and what it should make of the state.
struct Written {
    transaction: Transaction,
    changes: Changes,
}

#[test]
fn owners_are_what_all_rows_say() {
    // Side by side: most of their time they wait for the disk.
    let histories: Vec<Totals> = std::thread::scope(|scope| {
        let histories: Vec<_> = (1..=SEEDS).map(|seed| scope.spawn(move || history(seed))).collect();
        histories.into_iter().map(|history| history.join().expect("the model agrees")).collect()
    });
    let mut all = Totals::default();
    for Totals { committed, erased, refused, grouped, joint } in histories {
        (all.committed, all.erased) = (all.committed + committed, all.erased + erased);
        (all.grouped, all.joint) = (all.grouped + grouped, all.joint + joint);
        refused.into_iter().for_each(|(code, count)| *all.refused.entry(code).or_default() += count);
    }
    println!("{all:?}");
    let often = |code| all.refused.get(code).is_some_and(|count| *count >= 10);
    assert!(all.committed > 200 && all.erased > 20 && all.grouped > 50 && all.joint > 500, "{all:?}");
    assert!(["23503", "23505", "DG001", "55P03"].into_iter().all(often), "{all:?}");
}

fn history(seed: u64) -> Totals {
    let spills = seed.is_multiple_of(2);
    let name = format!("ownership-{seed}");
    let house = if spills { House::holding(0, &name, DEFINITIONS) } else { House::new(&name, DEFINITIONS) };
    let mut history = History {
        house,
        spills,
        state: State::default(),
        next_person: 0,
        microdbs: BTreeMap::new(),
        random: Random(seed),
        totals: Totals::default(),
    };
    for round in 0..ROUNDS {
        history.round(&format!("seed {seed}, round {round}"));
    }
    history.house = history.house.reopened();
    history.compare(&format!("seed {seed}, opened anew"));
    history.totals
}

impl History {
    /// Some transactions side by side, each over the same state; then they are committed one after another.
    fn round(&mut self, at: &str) {
        let count = 1 + self.random.below(4);
        let written: Vec<Written> = (0..count).map(|_| self.write(at, count > 1)).collect();
        let (base, mut erased) = (self.state.clone(), false);
        let mut waiting: Vec<(Transaction, Box<PreparedCommit>, Changes)> = Vec::new();
        let mut prepared = Vec::new();
        for Written { mut transaction, changes } in written {
            let outcome = transaction.prepare_apart(&impatience());
            prepared.push((transaction, changes, outcome));
        }
        for (transaction, changes, outcome) in prepared {
            let orphans = base.with(&changes).has_orphans();
            match outcome {
                Err(error) => {
                    assert!(orphans && error.code == "DG001", "{at}: {error:?}");
                    self.refused("DG001");
                }
                Ok(Some(prepared)) => {
                    assert!(!orphans, "{at}: what would be orphaned is refused");
                    waiting.push((transaction, prepared, changes));
                }
                // Nothing to commit, or somebody is erased: by the connection itself.
                Ok(None) => {
                    self.finish(std::mem::take(&mut waiting), &mut erased, at);
                    let outcome = transaction.commit(&impatience());
                    self.note(outcome, &changes, &mut erased, at);
                }
            }
        }
        self.finish(waiting, &mut erased, at);
        self.compare(at);
    }

    fn finish(&mut self, waiting: Vec<(Transaction, Box<PreparedCommit>, Changes)>, erased: &mut bool, at: &str) {
        if self.random.chance(3) {
            for (transaction, prepared, changes) in waiting {
                let (heard, outcome) = channel();
                Box::new(transaction)
                    .hand_over(prepared, move |outcome| heard.send(outcome).expect("somebody listens"));
                self.note(outcome.recv().expect("it is told"), &changes, erased, at);
            }
            return;
        }
        let before = self.house.database.latest().time.0;
        let (group, changes): (Vec<_>, Vec<_>) =
            waiting.into_iter().map(|(transaction, prepared, changes)| ((transaction, prepared), changes)).unzip();
        let several = group.len() > 1;
        for ((outcome, heard_at), changes) in self.house.commit_together(group).into_iter().zip(changes) {
            if outcome.is_ok() {
                // Whose rows stand on the disk is committed by itself.
                let is_one = heard_at == before + 1 || self.spills;
                assert!(is_one, "{at}: one group, published when it is told");
                self.totals.grouped += usize::from(several);
            }
            self.note(outcome, &changes, erased, at);
        }
    }

    /// The outcome of a commit is that of its changes over the state that it found.
    fn note(&mut self, outcome: Result<Committed, SqlError>, changes: &Changes, erased: &mut bool, at: &str) {
        let after = self.state.with(changes);
        match outcome {
            Ok(committed) => {
                assert!(!after.has_orphans(), "{at}: an orphan was committed");
                let gone: BTreeMap<MicroDbId, Person> =
                    after.gone_since(&self.state).into_iter().map(|person| (self.microdbs[&person], person)).collect();
                let receipts: BTreeSet<MicroDbId> = committed.erasures.iter().map(|erasure| erasure.microdb).collect();
                assert_eq!(receipts, gone.keys().copied().collect(), "{at}: a receipt for everybody who is gone");
                let all_gone: BTreeSet<Person> = gone.values().copied().collect();
                for erasure in &committed.erasures {
                    let counts = erasure.counts.iter();
                    let counts: BTreeMap<String, [u64; 3]> =
                        counts.map(|(table, of)| (table.clone(), [of.deleted, of.anonymized, of.disowned])).collect();
                    let expected = after.counts_since(&self.state, gone[&erasure.microdb], &all_gone);
                    assert_eq!(counts, expected, "{at}: what the receipt counts");
                }
                *erased |= !gone.is_empty();
                self.totals.erased += gone.len();
                self.totals.committed += 1;
                self.state = after;
            }
            Err(error) => {
                let expected = if after.has_orphans() { "DG001" } else { "DG002" };
                assert!(error.code == expected || error.code == "DG002", "{at}: {error:?}");
                assert!(error.code != "DG002" || *erased, "{at}: nobody was forgotten meanwhile");
                self.refused(error.code);
            }
        }
    }

    fn refused(&mut self, code: &'static str) {
        *self.totals.refused.entry(code).or_default() += 1;
    }

    /// A transaction of some statements, not yet committed.
    fn write(&mut self, at: &str, beside_others: bool) -> Written {
        let mut transaction = self.house.begin(Isolation::ReadCommitted);
        let mut state = self.state.clone();
        let mut savepoint: Option<State> = None;
        for _ in 0..=self.random.below(5) {
            if self.random.chance(6) {
                transaction.savepoint("here".to_owned());
                savepoint = Some(state.clone());
            }
            let statement = self.statement(&state);
            let mut after = state.clone();
            let expected = after.apply(&statement, &mut self.next_person);
            match self.run(&mut transaction, &statement) {
                Ok(()) => {
                    assert_eq!(expected, Ok(()), "{at}: {statement:?}");
                    state = after;
                }
                Err(error) if error.code == "55P03" => {
                    assert!(beside_others, "{at}: {statement:?} waits for nobody");
                    self.refused("55P03");
                }
                Err(error) => {
                    assert_eq!(expected, Err(error.code), "{at}: {statement:?}: {error:?}");
                    self.refused(error.code);
                }
            }
            let snapshot = transaction.statement_snapshot().expect("nobody was forgotten");
            for (table, name) in TABLES.into_iter().enumerate() {
                assert_eq!(rows_of(&snapshot, name), rows(&state, table), "{at}: {name} within, after {statement:?}");
            }
            if self.random.chance(4)
                && let Some(then) = &savepoint
            {
                transaction.roll_back_to_savepoint("here").expect("it was set");
                state = then.clone();
            }
        }
        let changes = state.changes_since(&self.state);
        Written { transaction, changes }
    }

    fn statement(&mut self, state: &State) -> Statement {
        let random = &mut self.random;
        let table = random.below(TABLES.len());
        let row = |table: usize, key: i32, random: &mut Random| -> Numbers {
            let mut row = vec![Some(key)];
            row.extend((1..WIDTHS[table]).map(|column| {
                let there = rows(state, target(table, column));
                match random.below(8) {
                    0..2 => None,
                    2 => Some(random.below(KEYS) as i32),
                    // Mostly of what is there.
                    _ => there.get(random.below(there.len().max(1)))?[0],
                }
            }));
            row
        };
        let keys: Vec<i32> = rows(state, table).iter().filter_map(|row| row[0]).collect();
        let free: Vec<i32> = (0..KEYS as i32).filter(|key| !keys.contains(key)).collect();
        match random.below(6) {
            // Mostly into places that are free.
            0..3 => {
                let key =
                    if free.is_empty() || random.chance(8) { random.below(KEYS) as i32 } else { *random.pick(&free) };
                Statement::Insert(table, vec![row(table, key, random)])
            }
            3 if !keys.is_empty() && table == 0 && random.chance(2) => {
                // A person's key changes.
                let (old, new) = (*random.pick(&keys), random.below(KEYS + 2) as i32);
                Statement::Update(table, vec![(old, row(table, new, random))])
            }
            3..5 if !keys.is_empty() => {
                let some = keys.iter().filter(|_| random.chance(2)).copied().collect::<Vec<_>>();
                Statement::Update(table, some.into_iter().map(|key| (key, row(table, key, random))).collect())
            }
            _ => {
                let several = random.below(2);
                Statement::Delete(
                    table,
                    (0..=several).map(|_| random.below(KEYS) as i32).collect::<BTreeSet<_>>().into_iter().collect(),
                )
            }
        }
    }

    fn run(&self, transaction: &mut Transaction, statement: &Statement) -> Result<(), SqlError> {
        let id = |table: &usize| self.house.shape(TABLES[*table]).id();
        match statement {
            Statement::Insert(table, rows) => insert(transaction, id(table), rows),
            Statement::Update(table, rows) => update(transaction, id(table), rows).map(drop),
            Statement::Delete(table, keys) => delete(transaction, id(table), keys).map(drop),
        }
    }

    /// All that is stored is what the model says.
    fn compare(&mut self, at: &str) {
        let snapshot = self.house.snapshot();
        self.compare_people(&snapshot, at);
        let owners = self.state.owners();
        self.totals.joint += owners.values().filter(|owners| owners.len() > 1).count();
        for (table, name) in TABLES.into_iter().enumerate() {
            let expected = rows(&self.state, table);
            assert_eq!(rows_of(&snapshot, name), expected, "{at}: {name}");
            self.compare_indexes(&snapshot, table, &expected, at);
            if !is_personal(table) {
                continue;
            }
            let shape = self.house.shape(name);
            let mut copies: BTreeSet<(MicroDbId, RowKey, Numbers, bool)> = BTreeSet::new();
            let mut entries: BTreeSet<(RowKey, MicroDbId, u32)> = BTreeSet::new();
            for row in &expected {
                let number = row[0].expect("a key");
                let row_key = self.house.key(&shape, number);
                let of: BTreeMap<MicroDbId, u32> =
                    owners[&(table, number)].iter().map(|(person, count)| (self.microdbs[person], *count)).collect();
                for (place, (owner, count)) in of.iter().enumerate() {
                    copies.insert((*owner, row_key.clone(), row.clone(), place == 0));
                    entries.insert((row_key.clone(), *owner, *count));
                }
                let found = snapshot.owners(shape.table(), &row_key).expect("reads");
                assert_eq!(found, of.into_iter().collect::<Vec<_>>(), "{at}: owners of {row:?} in {name}");
            }
            let leaves = self.house.database.store.snapshot();
            let stored = leaves.scan_copies(shape.id()).map(|copy| copy.expect("opens"));
            let stored = stored.map(|copy| (copy.owner, copy.key, numbers(&shape, &copy.row), copy.canonical));
            assert_eq!(stored.collect::<BTreeSet<_>>(), copies, "{at}: copies of {name}");
            let stored = leaves.scan_owners(shape.id()).map(|entry| entry.expect("reads"));
            assert_eq!(stored.collect::<BTreeSet<_>>(), entries, "{at}: owner entries of {name}");
        }
    }

    /// A person keeps their µDB whatever becomes of their key; who is gone has no key.
    fn compare_people(&mut self, snapshot: &LayeredSnapshot, at: &str) {
        let mut expected: BTreeSet<MicroDbId> = BTreeSet::new();
        for ((table, number), person) in &self.state.people {
            let shape = self.house.shape(TABLES[*table]);
            let found = snapshot.subject(shape.id(), &self.house.key(&shape, *number)).expect("reads");
            let found = found.unwrap_or_else(|| panic!("{at}: {} {number} has no µDB", TABLES[*table]));
            let known = *self.microdbs.entry(*person).or_insert(found);
            assert_eq!(found, known, "{at}: µDB of {} {number}", TABLES[*table]);
            assert!(expected.insert(found), "{at}: two persons in one µDB");
        }
        let leaves = self.house.database.store.snapshot();
        let stored: BTreeSet<MicroDbId> = leaves.scan_subjects().map(|subject| subject.expect("reads").2).collect();
        assert_eq!(stored, expected, "{at}: persons");
        for microdb in self.microdbs.values() {
            let exists = self.house.database.store.key_exists(*microdb).expect("reads");
            assert_eq!(exists, expected.contains(microdb), "{at}: a key is there as long as the person");
        }
    }

    /// Every foreign key's index leads to the rows that refer, and each entry to a copy that can be read.
    fn compare_indexes(&self, snapshot: &LayeredSnapshot, table: usize, rows: &[Numbers], at: &str) {
        let shape = self.house.shape(TABLES[table]);
        for index in shape.table().indexes.iter().filter(|index| index.columns.len() == 1) {
            let column = index.columns[0];
            for value in 0..(KEYS + 2) as i32 {
                let located = snapshot.located_by_value(&shape, index.id, &key::encode_all(&[Datum::Int4(value)]));
                let read = |of| snapshot.get_located(&shape, &of).expect("reads").expect("an entry leads to a row");
                let mut found: Vec<Numbers> =
                    located.expect("reads").into_iter().map(|of| numbers(&shape, &read(of))).collect();
                found.sort();
                let expected: Vec<Numbers> = rows.iter().filter(|row| row[column] == Some(value)).cloned().collect();
                assert_eq!(found, expected, "{at}: {} = {value}", index.name);
            }
        }
    }
}

fn rows(state: &State, table: usize) -> Vec<Numbers> {
    let of_table = |(place, row): (&Place, &Numbers)| (place.0 == table).then(|| row.clone());
    state.rows.iter().filter_map(of_table).collect()
}
