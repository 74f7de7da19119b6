//! Rows that come in order, read before their commit and after it, and what is left of them.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Bound;
use std::sync::Arc;

use repr::{RelationId, Row, RowKey};

use crate::batch::Batch;
use crate::config::StoreOptions;
use crate::spill::{SpilledRow, SpilledRows};
use crate::store::Store;
use crate::temporary_folder::TemporaryFolder;

const CITIES: RelationId = RelationId(16_385);
const WORD: &str = "Quorxelion";
const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);
/// Enough for several files.
const ROWS: u32 = 400_000;

fn open(name: &str) -> (TemporaryFolder, Store) {
    let folder = TemporaryFolder::new(&format!("run-{name}"));
    let store = reopen(&folder);
    (folder, store)
}

fn reopen(folder: &TemporaryFolder) -> Store {
    Store::open(&StoreOptions { block_cache_bytes: 8 << 20, ..StoreOptions::new(&**folder) }).expect("opens")
}

fn left(folder: &TemporaryFolder) -> usize {
    fs::read_dir(folder.join("ingest")).map_or(0, Iterator::count)
}

fn key(number: u32) -> RowKey {
    RowKey::new(&number.to_be_bytes())
}

fn row(number: u32) -> Row {
    Row::from_bytes(format!("{WORD} {number:0100}").into_bytes().into())
}

fn keyed(numbers: impl Iterator<Item = u32>) -> Vec<(RowKey, Row)> {
    numbers.map(|number| (key(number), row(number))).collect()
}

/// Pushes rows, all of which it has to take.
fn push(spilled: &SpilledRows, numbers: impl Iterator<Item = u32>) {
    let rows = keyed(numbers);
    for some in rows.chunks(3_000) {
        assert!(spilled.push_in_order(some.to_vec()).expect("writes").is_none());
    }
}

fn run(store: &Store, numbers: impl Iterator<Item = u32>) -> Arc<SpilledRows> {
    let spilled = Arc::new(store.begin_spill_in_order(CITIES, 1).expect("begins"));
    push(&spilled, numbers);
    spilled
}

/// Writes rows beside those that came in order.
fn put(store: &Store, spilled: &SpilledRows, numbers: impl Iterator<Item = u32>) {
    let mut batch = spilled.begin_batch().expect("begins");
    numbers.for_each(|number| batch.put_row(&key(number), &row(number)));
    spilled.write(store, batch).expect("writes");
}

fn told(spilled: &Arc<SpilledRows>, reverse: bool) -> Vec<(RowKey, Row)> {
    let rows = spilled.rows(ALL, reverse).map(|item| item.map(|(key, row)| (key, row.after.expect("stays"))));
    rows.collect::<Result<_, _>>().expect("reads")
}

fn stored(store: &Store) -> Vec<(RowKey, Row)> {
    store.snapshot().scan(CITIES, false).map(|row| row.expect("reads")).collect()
}

#[test]
fn what_came_in_order_is_committed_as_it_stands() {
    let (folder, store) = open("committed");
    let spilled = run(&store, 0..ROWS);
    assert_eq!((spilled.len(), spilled.in_order()), (ROWS as usize, Some((key(0), key(ROWS - 1)))));
    // A commit that loses a race is made anew.
    for attempt in 0..2 {
        let mut batch = Batch::default();
        store.drop_relation(&mut batch, CITIES);
        assert!(store.take_in_order(&mut batch, &spilled).expect("is taken"));
        assert!(batch.is_set_aside());
        store.set_aside(&mut batch).expect("is whole");
        if attempt == 1 {
            batch.put_commit_time(&store, 1);
            store.write(batch).expect("writes");
            store.flush().expect("flushes");
        }
    }
    assert!(stored(&store) == keyed(0..ROWS), "as they were written");
    // Its own names of the files, which others may read by.
    assert!(told(&spilled, false) == keyed(0..ROWS));
    assert!(left(&folder) > 0 && store.side_folder().holds_before(u64::MAX));
    drop(spilled);
    assert_eq!(left(&folder), 0);
    assert!(!store.side_folder().holds_before(u64::MAX));
    drop(store);
    assert!(stored(&reopen(&folder)) == keyed(0..ROWS), "opened again");
}

#[test]
fn who_reads_a_run_ends_it() {
    let (folder, store) = open("read");
    let spilled = run(&store, (0..ROWS).step_by(2));
    let before: BTreeMap<_, _> = fs::read_dir(folder.join("ingest"))
        .expect("reads")
        .map(|entry| entry.expect("reads").path())
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).expect("reads")))
        .collect();
    assert_eq!(spilled.get(&key(5)).expect("reads"), None);
    assert_eq!(spilled.get(&key(6)).expect("reads"), Some(SpilledRow { before: None, after: Some(row(6)) }));
    assert!(spilled.contains(&key(ROWS - 2)).expect("reads") && !spilled.contains(&key(ROWS)).expect("reads"));
    assert_eq!(spilled.push_in_order(keyed(ROWS..ROWS + 3)).expect("is asked").map(|rows| rows.len()), Some(3));
    put(&store, &spilled, (1..ROWS + 3).step_by(2));
    let expected = keyed((0..ROWS + 3).filter(|number| *number < ROWS || number % 2 == 1));
    assert_eq!(spilled.len(), expected.len());
    assert!(told(&spilled, false) == expected);
    let mut turned = told(&spilled, true);
    turned.reverse();
    assert!(turned == expected);
    assert_eq!(spilled.rows_out_of_order(ALL, false).count(), (ROWS as usize).div_ceil(2) + 1);
    // Who reads changes nothing in what is to be committed. The last file was being written.
    let whole = before.len().saturating_sub(1);
    let same = before.iter().filter(|(path, bytes)| fs::read(path).is_ok_and(|now| now == **bytes)).count();
    assert!(same >= whole, "{same} of {}", before.len());
    let mut batch = Batch::default();
    assert!(store.take_in_order(&mut batch, &spilled).expect("is taken"));
    store.set_aside(&mut batch).expect("is whole");
    batch.put_commit_time(&store, 1);
    store.write(batch).expect("writes");
    assert!(stored(&store) == keyed((0..ROWS).step_by(2)));
}

#[test]
fn rows_out_of_order_are_given_back() {
    let (_folder, store) = open("disorder");
    let spilled = run(&store, 0..10_000);
    for rows in [keyed([10_001, 10_000].into_iter()), keyed(9_999..10_002), keyed([10_000, 10_000].into_iter())] {
        let count = rows.len();
        assert_eq!(spilled.push_in_order(rows).expect("is asked").map(|rows| rows.len()), Some(count));
    }
    push(&spilled, 10_000..10_001);
    assert!(told(&spilled, false) == keyed(0..10_001));
    let other = Arc::new(store.begin_spill(CITIES).expect("begins"));
    assert_eq!(
        other.push_in_order(keyed(0..2)).expect("is asked").map(|rows| rows.len()),
        Some(2),
        "nobody asked for it"
    );
    // Few are written with others.
    assert!(!store.take_in_order(&mut Batch::default(), &spilled).expect("is asked"));
}

#[test]
fn whether_parts_are_apart_is_known() {
    let (_folder, store) = open("apart");
    let (one, two) = (run(&store, 0..2_000), run(&store, 2_000..3_000));
    let (first, second) = (one.in_order().expect("is there"), two.in_order().expect("is there"));
    assert!(one.is_apart_from(&second) && two.is_apart_from(&first) && !one.is_apart_from(&first));
    put(&store, &two, 1..2);
    assert!(!two.is_apart_from(&first) && two.in_order().is_some());
    let mut batch = one.begin_batch().expect("begins");
    batch.put_again(&key(7), None, None);
    one.write(&store, batch).expect("writes");
    assert_eq!(one.in_order(), None, "one has changed again");
    assert_eq!(one.get(&key(7)).expect("reads"), Some(SpilledRow { before: None, after: None }));
    assert_eq!(one.rows(ALL, false).count(), 2_000);
}

#[test]
fn what_is_dropped_leaves_nothing_and_nothing_stands_in_clear() {
    let (folder, store) = open("dropped");
    let spilled = run(&store, 0..ROWS);
    for entry in fs::read_dir(folder.join("ingest")).expect("reads") {
        let bytes = fs::read(entry.expect("reads").path()).expect("reads");
        assert!(!bytes.windows(WORD.len()).any(|window| window == WORD.as_bytes()));
    }
    drop(spilled);
    assert_eq!(left(&folder), 0);
    let spilled = run(&store, 0..10);
    assert_eq!(told(&spilled, false).len(), 10);
    drop(spilled);
    assert_eq!(left(&folder), 0);
    assert!(!store.side_folder().holds_before(u64::MAX));
}

#[test]
fn a_relation_of_which_nothing_was_ever_written_is_not_deleted() {
    let (folder, store) = open("bare");
    let deletes = |store: &Store| {
        let mut batch = Batch::default();
        store.drop_relation(&mut batch, CITIES);
        !batch.is_empty()
    };
    assert!(!deletes(&store));
    let mut batch = Batch::default();
    batch.put_impersonal(&store, CITIES, &key(1), &row(1), 1).expect("seals");
    batch.put_commit_time(&store, 1);
    store.write(batch).expect("writes");
    store.flush().expect("flushes");
    assert!(deletes(&store), "in memory");
    drop(store);
    let store = reopen(&folder);
    assert!(deletes(&store), "in a file, since a start");
    let mut batch = Batch::default();
    batch.delete_impersonal(CITIES, &key(1));
    batch.put_commit_time(&store, 2);
    store.write(batch).expect("writes");
    drop(store);
    assert!(deletes(&reopen(&folder)), "deleted, and still there");
    let (_folder, store) = open("taken-in");
    let spilled = run(&store, 0..ROWS);
    let mut batch = Batch::default();
    assert!(store.take_in_order(&mut batch, &spilled).expect("is taken"));
    store.set_aside(&mut batch).expect("is whole");
    batch.put_commit_time(&store, 1);
    store.write(batch).expect("writes");
    assert!(deletes(&store), "taken in as files");
}
