//! Commits: one order and one time for a group, isolation, what is published, what a refusal leaves, receipts of the erased.

#[path = "../../../storage/tests/support/folder.rs"]
mod folder;
#[path = "support/house.rs"]
mod house;

use house::{House, Numbers, delete, execute, impatience, insert, patience, rows_of, update};
use state::SqlError;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use storage::audit::verify_receipt;
use transactions::commit::PreparedCommit;
use transactions::modes::Isolation;
use transactions::receipt;
use transactions::transaction::Transaction;

const DEFINITIONS: &str = "
    CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
    CREATE TABLE groups (id INT PRIMARY KEY, name INT);
    CREATE TABLE members (id INT PRIMARY KEY, uid INT OWNED_BY users(id) ON DELETE CASCADE, gid INT OWNS groups(id));
    CREATE TABLE documents (id INT PRIMARY KEY, gid INT OWNED_BY groups(id));
    CREATE TABLE counters (id INT PRIMARY KEY, n INT);";

fn row(values: &[i32]) -> Numbers {
    values.iter().copied().map(Some).collect()
}

/// Users 1 to 3; group 1 is owned by users 1 and 2, and has a document; a counter.
fn filled(name: &str) -> House {
    let house = House::new(name, DEFINITIONS);
    let id = |table| house.shape(table).id();
    house
        .write(|transaction| {
            insert(transaction, id("users"), &[row(&[1]), row(&[2]), row(&[3])])?;
            insert(transaction, id("groups"), &[row(&[1, 1])])?;
            insert(transaction, id("members"), &[row(&[1, 1, 1]), row(&[2, 2, 1])])?;
            insert(transaction, id("documents"), &[row(&[1, 1])])?;
            insert(transaction, id("counters"), &[row(&[1, 0])])
        })
        .expect("commits");
    house
}

impl House {
    /// A transaction that has done something and can be handed over.
    fn prepared(
        &self,
        run: impl FnOnce(&mut Transaction) -> Result<(), SqlError>,
    ) -> (Transaction, Box<PreparedCommit>) {
        let mut transaction = self.begin(Isolation::ReadCommitted);
        run(&mut transaction).expect("writes");
        let prepared = transaction.prepare_apart(&impatience()).expect("is prepared").expect("needs nothing more");
        (transaction, prepared)
    }

    fn owner_count(&self, table: &str, key: i32) -> usize {
        let shape = self.shape(table);
        self.snapshot().owners_of(shape.id(), &self.key(&shape, key)).expect("reads").len()
    }
}

/// Each of a group is decided over those before it, whatever it was prepared over.
#[test]
fn a_group_is_decided_in_its_order() {
    let house = filled("group");
    let id = |table| house.shape(table).id();
    let leaves = |member: i32| house.prepared(|transaction| delete(transaction, id("members"), &[member]).map(drop));
    let group = vec![
        house.prepared(|transaction| insert(transaction, id("members"), &[row(&[3, 3, 1])])),
        leaves(1),
        house.prepared(|transaction| insert(transaction, id("documents"), &[row(&[2, 1])])),
        leaves(2),
    ];
    let before = house.database.latest().time.0;
    let outcomes = house.commit_together(group);
    assert!(outcomes.iter().all(|(outcome, time)| outcome.is_ok() && *time == before + 1), "one commit");
    assert_eq!(house.rows("members"), [row(&[3, 3, 1])]);
    assert_eq!((house.owner_count("groups", 1), house.owner_count("documents", 1)), (1, 1));
    assert_eq!(house.owner_count("documents", 2), 1, "prepared for two others, derived again for who is left");

    // Two who take the last two owners: the second would leave orphans.
    let house = filled("last");
    let id = |table| house.shape(table).id();
    let leaves = |member: i32| house.prepared(|transaction| delete(transaction, id("members"), &[member]).map(drop));
    let counts = house.prepared(|transaction| insert(transaction, id("counters"), &[row(&[2, 0])]));
    let group = vec![leaves(1), leaves(2), counts];
    let before = house.database.latest().time.0;
    let outcomes = house.commit_together(group);
    let codes: Vec<Option<&str>> =
        outcomes.iter().map(|(outcome, _)| outcome.as_ref().err().map(|error| error.code)).collect();
    assert_eq!(codes, [None, Some("DG001"), None]);
    assert_eq!(house.database.latest().time.0, before + 1);
    assert_eq!(house.rows("members"), [row(&[2, 2, 1])]);
    assert_eq!(house.rows("counters").len(), 2, "who comes after a refused one is not concerned");
}

/// Who gains a row while somebody else changes it has a copy of what it became.
#[test]
fn a_new_owner_has_the_newest_row() {
    for together in [false, true] {
        let house = filled(&format!("newest-{together}"));
        let (groups, members) = (house.shape("groups"), house.shape("members"));
        let joins = house.prepared(|transaction| insert(transaction, members.id(), &[row(&[3, 3, 1])]));
        let renames = "UPDATE groups SET name = 7 WHERE id = 1";
        let renames = house.prepared(|transaction| execute(transaction, renames, &impatience()).map(drop));
        let groups_of = match together {
            true => vec![vec![renames, joins]],
            false => vec![vec![renames], vec![joins]],
        };
        for group in groups_of {
            assert!(house.commit_together(group).iter().all(|(outcome, _)| outcome.is_ok()));
        }
        let copies = house.database.store.snapshot().scan_copies(groups.id());
        let copies: Vec<Numbers> = copies.map(|copy| house::numbers(&groups, &copy.expect("opens").row)).collect();
        assert_eq!(copies, vec![row(&[1, 7]); 3], "in one group: {together}");
    }
}

/// Commits of many threads: each hears of its own when it is published, every time is one commit, and nothing is lost.
#[test]
fn what_is_heard_is_published() {
    const THREADS: i32 = 4;
    const COMMITS: i32 = 10;
    let house = filled("threads");
    let start = house.database.latest().time.0;
    let counters = house.shape("counters");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (house, counters) = (&house, &counters);
            scope.spawn(move || {
                let mut last = start;
                for commit in 0..COMMITS {
                    let key = 100 * (thread + 1) + commit;
                    house.write(|transaction| insert(transaction, counters.id(), &[row(&[key, 0])])).expect("commits");
                    let snapshot = house.snapshot();
                    assert!(snapshot.exists(counters, &house.key(counters, key)).expect("reads"), "its own row");
                    let time = house.database.latest().time.0;
                    assert!(time > last, "a later time");
                    last = time;
                }
            });
        }
    });
    assert_eq!(house.rows("counters").len() as i32, 1 + THREADS * COMMITS);
    let time = house.database.latest().time.0;
    assert!(time - start <= (THREADS * COMMITS) as u64, "at most one commit a transaction");
    let house = house.reopened();
    assert_eq!(house.database.latest().time.0, time, "the time is stored with the rows");
    assert_eq!(house.rows("counters").len() as i32, 1 + THREADS * COMMITS);
}

#[test]
fn a_refused_commit_leaves_nothing() {
    let house = filled("refused");
    let id = |table| house.shape(table).id();
    let (published, sequence) = (house.database.latest(), house.database.store.snapshot().sequence());
    let mut transaction = house.begin(Isolation::ReadCommitted);
    insert(&mut transaction, id("counters"), &[row(&[2, 0])]).expect("writes");
    insert(&mut transaction, id("groups"), &[row(&[2, 2])]).expect("writes");
    assert_eq!(house.rows("counters").len(), 1, "nobody else sees what is not committed");
    assert_eq!(transaction.commit(&impatience()).err().expect("nobody's group").code, "DG001");
    assert!(Arc::ptr_eq(&published, &house.database.latest()), "nothing was published");
    assert_eq!(house.database.store.snapshot().sequence(), sequence, "nothing was written");
    // Its locks are free.
    house.write(|transaction| insert(transaction, id("counters"), &[row(&[2, 0])])).expect("commits");
    // So is nothing of one that was cancelled before it was handed over.
    let cancelled = impatience();
    cancelled.cancel.cancel();
    let mut transaction = house.begin(Isolation::ReadCommitted);
    insert(&mut transaction, id("counters"), &[row(&[3, 0])]).expect("writes");
    assert_eq!(transaction.commit(&cancelled).err().expect("cancelled").code, "57014");
    assert_eq!(house.rows("counters").len(), 2);
}

/// READ COMMITTED looks again, REPEATABLE READ does not, and loses to whoever committed first.
#[test]
fn isolation_decides_what_is_seen_and_refused() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        let repeats = isolation == Isolation::RepeatableRead;
        let house = filled(&format!("isolation-{repeats}"));
        let id = house.shape("counters").id();
        let set = |n: i32| {
            house.write(|transaction| update(transaction, id, &[(1, row(&[1, n]))]).map(drop)).expect("commits")
        };
        let mut transaction = house.begin(isolation);
        let mut seen = || rows_of(&transaction.statement_snapshot().expect("reads"), "counters");
        assert_eq!(seen(), [row(&[1, 0])]);
        set(5);
        assert_eq!(seen(), [row(&[1, if repeats { 0 } else { 5 }])]);
        let outcome = execute(&mut transaction, "UPDATE counters SET n = n + 1", &impatience());
        match outcome {
            Err(error) => {
                assert!(repeats && error.code == "40001", "{error:?}");
                assert_eq!(error.message, "could not serialize access due to concurrent update");
            }
            Ok(count) => {
                assert!(!repeats && count == 1);
                transaction.commit(&impatience()).expect("commits");
                assert_eq!(house.rows("counters"), [row(&[1, 6])]);
            }
        }

        // Whoever waits for a row looks at it again.
        let house = Arc::new(filled(&format!("waiting-{repeats}")));
        for (sql, expected) in
            [("UPDATE counters SET n = n + 1 WHERE id = 1", 7), ("UPDATE counters SET n = 9 WHERE n = 0", 2)]
        {
            house
                .write(|transaction| update(transaction, house.shape("counters").id(), &[(1, row(&[1, 0]))]).map(drop))
                .expect("commits");
            let mut first = house.begin(Isolation::ReadCommitted);
            let n = if expected == 7 { 6 } else { 2 };
            update(&mut first, house.shape("counters").id(), &[(1, row(&[1, n]))]).expect("is alone");
            let (begun, begins) = channel();
            let waiting = house.clone();
            let second = std::thread::spawn(move || {
                let mut second = waiting.begin(isolation);
                let seen = rows_of(&second.statement_snapshot()?, "counters");
                assert_eq!(seen, [row(&[1, 0])], "what is not committed is not seen");
                begun.send(()).expect("somebody listens");
                execute(&mut second, sql, &patience(Duration::from_secs(20)))?;
                second.commit(&impatience()).map(drop)
            });
            begins.recv().expect("it begins");
            // Either it waits by now, or it comes after the commit: the outcome is the same.
            std::thread::sleep(Duration::from_millis(20));
            first.commit(&impatience()).expect("commits");
            let outcome = second.join().expect("does not panic");
            // A REPEATABLE READ that finds nothing to write in its snapshot is refused for what it found there.
            assert_eq!(outcome.err().map(|error| error.code), repeats.then_some("40001"), "{sql}");
            let kept = if repeats { n } else { expected };
            assert_eq!(house.rows("counters"), [row(&[1, kept])], "{sql}");
        }
    }
}

/// Several people who go in one commit have a receipt each, of their own rows and of what named them alone; what else the commit
/// does is in none.
#[test]
fn each_of_several_has_their_own_receipt() {
    let definitions = format!(
        "{DEFINITIONS}
         CREATE TABLE marks (id INT PRIMARY KEY, uid INT REFERENCES users(id) ON DELETE SET NULL);
         CREATE TABLE lines (id INT PRIMARY KEY, mark INT REFERENCES members(id) ON DELETE CASCADE);"
    );
    let house = House::new("receipts", &definitions);
    let id = |table| house.shape(table).id();
    house
        .write(|transaction| {
            insert(transaction, id("users"), &[row(&[1]), row(&[2]), row(&[3]), row(&[4])])?;
            insert(transaction, id("groups"), &[row(&[1, 1])])?;
            insert(transaction, id("members"), &[row(&[1, 1, 1]), row(&[2, 2, 1]), row(&[3, 3, 1])])?;
            insert(transaction, id("documents"), &[row(&[1, 1])])?;
            insert(transaction, id("counters"), &[row(&[1, 0]), row(&[2, 0])])?;
            insert(transaction, id("marks"), &[row(&[1, 1]), row(&[2, 2]), row(&[3, 2]), row(&[4, 4])])?;
            insert(transaction, id("lines"), &[row(&[1, 1]), row(&[2, 1]), row(&[3, 3])])
        })
        .expect("commits");
    let people = house.shape("users");
    let microdb = |key| house.snapshot().subject(people.id(), &house.key(&people, key)).expect("reads").expect("one");
    let gone: Vec<_> = [1, 2, 4].map(microdb).to_vec();
    let committed = house
        .write(|transaction| {
            delete(transaction, id("counters"), &[1])?;
            delete(transaction, people.id(), &[1, 2, 4]).map(drop)
        })
        .expect("commits");
    assert_eq!(committed.erasures.len(), 3);
    let counted = |microdb| {
        let erasure = committed.erasures.iter().find(|erasure| erasure.microdb == microdb).expect("has a receipt");
        let of = |(table, counts): (&String, &receipt::TableCounts)| {
            (table.clone(), [counts.deleted, counts.anonymized, counts.disowned])
        };
        erasure.counts.iter().map(of).collect::<Vec<_>>()
    };
    let told = |tables: &[(&str, [u64; 3])]| {
        tables.iter().map(|(table, counts)| ((*table).to_owned(), *counts)).collect::<Vec<_>>()
    };
    let shared = [("documents", [0, 0, 1]), ("groups", [0, 0, 1])];
    let first =
        [&shared[..], &[("lines", [2, 0, 0]), ("marks", [0, 1, 0]), ("members", [1, 0, 0]), ("users", [1, 0, 0])]];
    assert_eq!(counted(gone[0]), told(&first.concat()));
    let second = [&shared[..], &[("marks", [0, 2, 0]), ("members", [1, 0, 0]), ("users", [1, 0, 0])]];
    assert_eq!(counted(gone[1]), told(&second.concat()));
    assert_eq!(counted(gone[2]), told(&[("marks", [0, 1, 0]), ("users", [1, 0, 0])]));
}

/// A person who goes has a receipt in the same commit; who only changes their key has none.
#[test]
fn a_receipt_stands_with_the_erasure() {
    let house = filled("receipt");
    let users = house.shape("users");
    let (old_key, store) = (house.key(&users, 1), house.database.store.clone());
    let microdb = house.snapshot().subject(users.id(), &old_key).expect("reads").expect("a person");
    let id = |table| house.shape(table).id();
    // A person is who they are by another key, too; nobody refers to user 3.
    let renamed =
        house.write(|transaction| update(transaction, users.id(), &[(3, row(&[4]))]).map(drop)).expect("commits");
    assert!(renamed.erasures.is_empty());
    assert_eq!(house.database.forgotten_at().0, 0, "nobody was forgotten");

    let mut old = house.begin(Isolation::RepeatableRead);
    assert_eq!(rows_of(&old.statement_snapshot().expect("reads"), "members").len(), 2);
    // PreparedCommit to give a row to who is about to go.
    let late = house.prepared(|transaction| insert(transaction, id("documents"), &[row(&[2, 1])]));
    let committed = house.write(|transaction| delete(transaction, users.id(), &[1]).map(drop)).expect("commits");
    let [erasure] = committed.erasures.as_slice() else { panic!("one person is gone") };
    assert!(erasure.microdb == microdb);
    let of = |table: &str| erasure.counts.get(table).copied().unwrap_or_default();
    assert_eq!((of("users").deleted, of("members").deleted), (1, 1));
    assert_eq!((of("groups").disowned, of("documents").disowned, of("groups").deleted), (1, 1, 0));

    let snapshot = store.snapshot();
    let stored = snapshot.receipt(&erasure.receipt.id()).expect("reads").expect("is stored");
    let summary = verify_receipt(&store.public_key(), stored.text.as_bytes()).expect("is signed");
    assert!(summary.id == erasure.receipt.id() && summary.plan == house.snapshot().schema().content_hash());
    assert_eq!(summary.tables.len(), erasure.counts.len());
    let found = snapshot
        .meta(&house.snapshot().store().forgotten_key(users.id(), &old_key))
        .expect("reads")
        .expect("is found by its key");
    assert_eq!(receipt::id_of_text(&found), Some(erasure.receipt.id()));
    assert!(!store.key_exists(microdb).expect("reads"), "the key is destroyed before anybody hears of it");

    // Nobody reads what was there, and nobody gives them anything any more.
    assert_eq!(house.database.forgotten_at(), house.database.latest().time);
    assert_eq!(old.statement_snapshot().err().expect("it has ended").code, "40001");
    let outcomes = house.commit_together(vec![late]);
    assert_eq!(outcomes[0].0.as_ref().err().expect("is refused").code, "DG002");
    assert_eq!(house.rows("documents"), [row(&[1, 1])]);

    // Under the same key comes somebody else, whose rows are their own.
    house.write(|transaction| insert(transaction, users.id(), &[row(&[1])])).expect("commits");
    let new = house.snapshot().subject(users.id(), &old_key).expect("reads").expect("a person");
    assert!(new != microdb && store.key_exists(new).expect("reads"));
}
