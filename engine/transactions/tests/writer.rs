//! Changes of rows through the writer: keys, references and their actions, NOT NULL and CHECK, within one transaction and
//! against another, and what the overlay holds afterwards.

#[path = "../../../storage/tests/support/folder.rs"]
mod folder;
#[path = "support/house.rs"]
mod house;

use house::{House, Numbers, delete, impatience, insert, rows_of, update};
use repr::Row;
use state::SqlError;
use state::reader::Reader;
use std::sync::atomic::{AtomicUsize, Ordering};
use transactions::commit::Committed;
use transactions::modes::Isolation;
use transactions::transaction::Transaction;

/// What one statement does, in the words of the tests' tables.
#[derive(Clone)]
enum Do {
    Insert(&'static str, Vec<Numbers>),
    Update(&'static str, Vec<(i32, Numbers)>),
    Delete(&'static str, Vec<i32>),
}

use Do::{Delete, Insert, Update};

fn row(values: &[i32]) -> Numbers {
    values.iter().map(|value| (*value >= 0).then_some(*value)).collect()
}

/// Some cases at a time: most of theirs they wait for the disk.
fn each<T: Sync>(cases: &[T], check: impl Fn(usize, &T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(case) = cases.get(number)
                {
                    check(number, case);
                }
            });
        }
    });
}

impl House {
    fn run(&self, transaction: &mut Transaction, what: &Do) -> Result<(), SqlError> {
        match what {
            Insert(table, rows) => insert(transaction, self.shape(table).id(), rows),
            Update(table, rows) => update(transaction, self.shape(table).id(), rows).map(drop),
            Delete(table, keys) => delete(transaction, self.shape(table).id(), keys).map(drop),
        }
    }

    /// A transaction of its own for each.
    fn commit(&self, what: &[Do]) -> Result<Vec<Committed>, SqlError> {
        what.iter().map(|what| self.write(|transaction| self.run(transaction, what))).collect()
    }
}

/// What becomes of the child, or how its parent's change is refused.
type Child = Result<&'static [i32], &'static str>;

/// Of each referential action: parents 1 and 2, the child 1 that refers to parent 1; the default of children is 2.
#[test]
fn referential_actions_are_taken() {
    let outcomes: [(&str, Child, Child); 6] = [
        // After the parent is deleted; after its key is changed to 3.
        ("NO ACTION", Err("23503"), Err("23503")),
        ("DEFERRED NO ACTION", Err("23503"), Err("23503")),
        ("RESTRICT", Err("23503"), Err("23503")),
        ("CASCADE", Ok(&[]), Ok(&[1, 3])),
        ("SET NULL", Ok(&[1, -1]), Ok(&[1, -1])),
        ("SET DEFAULT", Ok(&[1, 2]), Ok(&[1, 2])),
    ];
    let mut cases: Vec<(&str, Do, Child)> = Vec::new();
    for (action, deleted, updated) in outcomes {
        cases.push((action, Delete("parents", vec![1]), deleted));
        cases.push((action, Update("parents", vec![(1, row(&[3, 10]))]), updated));
        // What does not touch the key asks nobody.
        cases.push((action, Update("parents", vec![(1, row(&[1, 11]))]), Ok(&[1, 1])));
        cases.push((action, Delete("parents", vec![2]), Ok(&[1, 1])));
    }
    each(&cases, |number, (action, what, child)| take_action(number, action, what, *child));
}

fn take_action(number: usize, action: &str, what: &Do, child: Child) {
    let at = format!("{action}, case {number}");
    let (on, timing) = match action.strip_prefix("DEFERRED ") {
        Some(on) => (on, "DEFERRABLE INITIALLY DEFERRED"),
        None => (action, ""),
    };
    let definitions = format!(
        "CREATE TABLE parents (id INT PRIMARY KEY, name INT UNIQUE);
         CREATE TABLE children (id INT PRIMARY KEY,
             parent INT DEFAULT 2 REFERENCES parents(id) ON DELETE {on} ON UPDATE {on} {timing});"
    );
    let house = House::new(&format!("actions-{number}"), &definitions);
    let parents = vec![row(&[1, 10]), row(&[2, 20])];
    house.commit(&[Insert("parents", parents.clone()), Insert("children", vec![row(&[1, 1])])]).expect("commits");
    let mut transaction = house.begin(Isolation::ReadCommitted);
    let run = house.run(&mut transaction, what);
    // A deferred one may be made good until the end.
    assert_eq!(run.is_err(), child.is_err() && timing.is_empty(), "{at}: {run:?}");
    let at_end = run.and_then(|()| transaction.commit(&impatience()));
    match child {
        Err(code) => {
            let error = at_end.err().unwrap_or_else(|| panic!("{at}: is refused"));
            assert_eq!(error.code, code, "{at}");
            assert_eq!(error.object.constraint.as_deref(), Some("children_parent_fkey"), "{at}");
            assert_eq!(house.rows("parents"), parents, "{at}");
            assert_eq!(house.rows("children"), [row(&[1, 1])], "{at}");
        }
        Ok(child) => {
            at_end.unwrap_or_else(|error| panic!("{at}: {error:?}"));
            let expected: Vec<Numbers> = (!child.is_empty()).then(|| row(child)).into_iter().collect();
            assert_eq!(house.rows("children"), expected, "{at}");
        }
    }
}

const RULES: &str = "
    CREATE TABLE parents (id INT PRIMARY KEY, name INT UNIQUE);
    CREATE TABLE children (id INT PRIMARY KEY, parent INT REFERENCES parents(id), needed INT NOT NULL CHECK (needed < 9),
        a INT, b INT, twice INT GENERATED ALWAYS AS (needed * 2) STORED, UNIQUE (a, b));
    CREATE TABLE chain (id INT PRIMARY KEY, next INT REFERENCES chain(id) ON DELETE CASCADE);
    CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
    CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id));";

fn child(id: i32, parent: i32, needed: i32, a: i32, b: i32) -> Numbers {
    row(&[id, parent, needed, a, b, -1])
}

/// Where, and the SQLSTATE.
type Refusal = Option<(usize, &'static str)>;

/// Transactions of several statements; the place of the one that is refused, and how; the number of statements is COMMIT.
#[test]
fn rules_hold_at_the_end_of_each_statement() {
    let cases: Vec<(Vec<Do>, Refusal)> = vec![
        // Keys.
        (vec![Insert("parents", vec![row(&[1, -1])])], Some((0, "23505"))),
        (vec![Insert("parents", vec![row(&[5, -1]), row(&[5, -1])])], Some((0, "23505"))),
        (vec![Insert("parents", vec![row(&[5, -1])]), Insert("parents", vec![row(&[5, -1])])], Some((1, "23505"))),
        (vec![Delete("parents", vec![2]), Insert("parents", vec![row(&[2, -1])])], None),
        (vec![Update("parents", vec![(2, row(&[1, 20]))])], Some((0, "23505"))),
        // Unique values: NULL is no value, and another row of the same statement may leave one.
        (vec![Insert("parents", vec![row(&[5, 20])])], Some((0, "23505"))),
        (vec![Insert("parents", vec![row(&[5, 50]), row(&[6, 50])])], Some((0, "23505"))),
        (vec![Insert("parents", vec![row(&[5, -1]), row(&[6, -1])])], None),
        (vec![Update("parents", vec![(1, row(&[1, 20])), (2, row(&[2, 10]))])], None),
        (vec![Update("parents", vec![(1, row(&[1, 20]))])], Some((0, "23505"))),
        (vec![Insert("children", vec![child(5, -1, 1, 3, 4)])], Some((0, "23505"))),
        (vec![Insert("children", vec![child(5, -1, 1, 3, -1), child(6, -1, 1, 3, -1)])], None),
        // Two keys change places.
        (vec![Update("chain", vec![(8, row(&[9, -1])), (9, row(&[8, -1]))])], None),
        // References, in both directions.
        (vec![Insert("children", vec![child(5, 7, 1, -1, -1)])], Some((0, "23503"))),
        (vec![Insert("parents", vec![row(&[7, -1])]), Insert("children", vec![child(5, 7, 1, -1, -1)])], None),
        (vec![Update("children", vec![(1, child(1, 7, 1, 3, 4))])], Some((0, "23503"))),
        (vec![Delete("parents", vec![1])], Some((0, "23503"))),
        (vec![Delete("children", vec![1]), Delete("parents", vec![1])], None),
        (vec![Delete("parents", vec![2]), Insert("children", vec![child(5, 2, 1, -1, -1)])], Some((1, "23503"))),
        (vec![Insert("chain", vec![row(&[5, 6]), row(&[6, 5])])], None),
        (vec![Delete("chain", vec![1])], None),
        // NOT NULL and CHECK.
        (vec![Insert("children", vec![child(5, -1, -1, -1, -1)])], Some((0, "23502"))),
        (vec![Update("children", vec![(1, child(1, 1, -1, 3, 4))])], Some((0, "23502"))),
        (vec![Insert("children", vec![child(5, -1, 9, -1, -1)])], Some((0, "23514"))),
        (vec![Update("children", vec![(1, child(1, 1, 9, 3, 4))])], Some((0, "23514"))),
        // Nobody's rows: until COMMIT.
        (vec![Insert("notes", vec![row(&[1, -1])])], Some((1, "DG001"))),
        (vec![Insert("notes", vec![row(&[1, -1])]), Update("notes", vec![(1, row(&[1, 1]))])], None),
        (vec![Insert("notes", vec![row(&[1, -1])]), Delete("notes", vec![1])], None),
        (vec![Insert("notes", vec![row(&[1, 5])])], Some((0, "23503"))),
    ];
    each(&cases, |number, (statements, refused)| follow_rules(number, statements, *refused));
}

fn follow_rules(number: usize, statements: &[Do], refused: Option<(usize, &str)>) {
    let house = House::new(&format!("rules-{number}"), RULES);
    let filled = [
        Insert("parents", vec![row(&[1, 10]), row(&[2, 20])]),
        Insert("children", vec![child(1, 1, 1, 3, 4)]),
        Insert("chain", vec![row(&[1, -1]), row(&[2, 1]), row(&[3, 2]), row(&[8, -1]), row(&[9, -1])]),
        Insert("users", vec![row(&[1])]),
    ];
    house.commit(&filled).expect("commits");
    let tables = ["parents", "children", "chain", "users", "notes"];
    let before: Vec<Vec<Numbers>> = tables.iter().map(|table| house.rows(table)).collect();
    assert_eq!(before[1], [row(&[1, 1, 1, 3, 4, 2])], "the last column is computed");
    let mut transaction = house.begin(Isolation::ReadCommitted);
    let mut within = before.clone();
    for (place, statement) in statements.iter().enumerate() {
        let outcome = house.run(&mut transaction, statement);
        match refused {
            Some((at, code)) if at == place => {
                assert_eq!(outcome.expect_err("is refused").code, code, "case {number}");
            }
            Some(_) | None => outcome.unwrap_or_else(|error| panic!("case {number}, {place}: {error:?}")),
        }
        let snapshot = transaction.statement_snapshot().expect("reads");
        let now: Vec<Vec<Numbers>> = tables.iter().map(|table| rows_of(&snapshot, table)).collect();
        if refused.is_some_and(|(at, _)| at == place) {
            assert_eq!(now, within, "case {number}: what a refused statement did is taken back");
        }
        within = now;
    }
    // The overlay holds each changed row once, as it was committed and as it is.
    for (table, changes) in transaction.overlay().tables() {
        let shape = house.snapshot().shape(table).expect("is there").clone();
        for (row_key, change) in &changes.rows {
            let snapshot = house.snapshot();
            let stored = snapshot.get(shape.table(), row_key).expect("reads");
            let read = |row: &Option<Row>| row.as_ref().map(|row| house::numbers(&shape, row));
            assert_eq!(read(&change.before), read(&stored), "case {number}: before");
        }
    }
    let outcome = transaction.commit(&impatience());
    let after: Vec<Vec<Numbers>> = tables.iter().map(|table| house.rows(table)).collect();
    match refused {
        Some((at, code)) if at == statements.len() => {
            let error = outcome.err().expect("is refused");
            assert_eq!((error.code, error.object.table.as_deref()), (code, Some("notes")), "case {number}");
            let detail =
                "Key (id)=(1) would be orphaned; it can gain an owner through notes.author OWNED_BY users(id).";
            assert_eq!(error.detail.as_deref(), Some(detail), "case {number}");
            assert_eq!(after, before, "case {number}: nothing of a refused transaction stands");
        }
        Some(_) | None => {
            outcome.unwrap_or_else(|error| panic!("case {number}: {error:?}"));
            assert_eq!(after, within, "case {number}: what it saw is what stands");
        }
    }
}

/// What another transaction has done and not committed is waited for; what it did decides.
#[test]
fn writers_wait_for_each_other() {
    let filled = [Insert("parents", vec![row(&[1, 10]), row(&[2, 20])]), Insert("users", vec![row(&[1])])];
    // (by the first, by the second, once the first has committed, once it was rolled back)
    let cases: Vec<(Do, Do, Option<&str>, Option<&str>)> = vec![
        (Insert("parents", vec![row(&[5, -1])]), Insert("parents", vec![row(&[5, -1])]), Some("23505"), None),
        (Insert("parents", vec![row(&[5, 50])]), Insert("parents", vec![row(&[6, 50])]), Some("23505"), None),
        (Delete("parents", vec![2]), Insert("parents", vec![row(&[2, -1])]), None, Some("23505")),
        (Update("parents", vec![(2, row(&[2, 21]))]), Insert("parents", vec![row(&[6, 20])]), None, Some("23505")),
        (Delete("parents", vec![2]), Insert("chain", vec![row(&[5, -1])]), None, None),
        (Delete("users", vec![1]), Insert("notes", vec![row(&[1, 1])]), Some("23503"), None),
        (Insert("notes", vec![row(&[1, 1])]), Delete("users", vec![1]), Some("23503"), None),
    ];
    each(&cases, |number, (first, second, after_commit, after_rollback)| {
        for (commits, refused) in [(true, after_commit), (false, after_rollback)] {
            let house = House::new(&format!("waits-{number}-{commits}"), RULES);
            house.commit(&filled).expect("commits");
            let mut one = house.begin(Isolation::ReadCommitted);
            let mut other = house.begin(Isolation::ReadCommitted);
            house.run(&mut one, first).expect("is alone");
            let met = house.run(&mut other, second);
            let independent = number == 4;
            assert_eq!(met.err().map(|error| error.code), (!independent).then_some("55P03"), "case {number}");
            if commits {
                one.commit(&impatience()).unwrap_or_else(|error| panic!("case {number}: {error:?}"));
            } else {
                drop(one);
            }
            let outcome = if independent { Ok(()) } else { house.run(&mut other, second) };
            assert_eq!(outcome.as_ref().err().map(|error| &error.code), refused.as_ref(), "case {number}, {commits}");
            if outcome.is_ok() {
                other.commit(&impatience()).unwrap_or_else(|error| panic!("case {number}, {commits}: {error:?}"));
            }
        }
    });
}
