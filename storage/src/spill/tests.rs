//! Rows on the disk against a map, and what is left of them.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Bound;
use std::sync::Arc;

use repr::{IndexId, MicroDbId, RelationId, Row, RowKey};

use super::{SpilledRow, SpilledRows};
use crate::config::StoreOptions;
use crate::store::Store;
use crate::temporary_folder::TemporaryFolder;

const CITIES: RelationId = RelationId(16_385);
const BY_NAME: IndexId = IndexId(16_386);
const WORD: &str = "Quorxelion";

/// A store over a folder of its own.
fn open(name: &str) -> (TemporaryFolder, Store) {
    let folder = TemporaryFolder::new(&format!("spill-{name}"));
    let options = StoreOptions { block_cache_bytes: 8 << 20, ..StoreOptions::new(&*folder) };
    (folder, Store::open(&options).expect("opens"))
}

fn parts(folder: &TemporaryFolder) -> usize {
    fs::read_dir(folder.join("ingest")).map_or(0, Iterator::count)
}

fn key(number: u32) -> RowKey {
    RowKey::new(&number.to_be_bytes())
}

fn row(number: u32) -> Row {
    Row::from_bytes(format!("{WORD} {number}").into_bytes().into())
}

fn spill(store: &Store, numbers: impl Iterator<Item = u32>) -> Arc<SpilledRows> {
    let spilled = Arc::new(store.begin_spill(CITIES).expect("begins"));
    let numbers: Vec<u32> = numbers.collect();
    for some in numbers.chunks(700) {
        let mut batch = spilled.begin_batch().expect("begins");
        for number in some {
            batch.put_row(&key(*number), &row(*number));
            batch.put_entry(BY_NAME, &(number % 10).to_be_bytes(), &key(*number));
        }
        spilled.write(store, batch).expect("writes");
    }
    spilled
}

#[test]
fn rows_that_come_out_of_order_are_found() {
    let (_folder, store) = open("disorder");
    let spilled = spill(&store, (0..3_000).map(|number| number * 7919 % 3_001));
    let expected: std::collections::BTreeSet<u32> = (0..3_000).map(|number| number * 7919 % 3_001).collect();
    for number in 0..3_100 {
        let is_there = expected.contains(&number);
        assert_eq!(spilled.contains(&key(number)).expect("reads"), is_there, "{number}");
        let found = spilled.get(&key(number)).expect("reads");
        assert_eq!(found, is_there.then(|| SpilledRow { before: None, after: Some(row(number)) }), "{number}");
    }
}

#[test]
fn no_nonce_is_used_twice_under_a_key() {
    let (_folder, store) = open("nonces");
    let spilled = spill(&store, 0..2_000);
    // The same row again and again is another seal each time.
    let mut seals = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let mut batch = spilled.begin_batch().expect("begins");
        batch.put_again(&key(5), None, Some(&row(5)));
        seals.insert(batch.sealed.clone());
        spilled.write(&store, batch).expect("writes");
    }
    assert_eq!(seals.len(), 100);
    assert_eq!(spilled.get(&key(5)).expect("reads").and_then(|found| found.after), Some(row(5)));
}

#[test]
fn rows_are_found_by_their_keys_in_order_and_by_entries() {
    let (_folder, store) = open("found");
    let other = spill(&store, 0..2_000);
    let spilled = spill(&store, (0..10_000).filter(|number| number % 2 == 0));
    let expected: BTreeMap<RowKey, Row> = (0..10_000).step_by(2).map(|number| (key(number), row(number))).collect();
    assert_eq!((spilled.len(), other.len()), (5_000, 2_000));
    for number in 0..1_000 {
        let found = spilled.get(&key(number)).expect("reads");
        assert_eq!(found, expected.get(&key(number)).map(|row| SpilledRow { before: None, after: Some(row.clone()) }));
        assert_eq!(spilled.contains(&key(number)).expect("reads"), number % 2 == 0);
    }
    let read = |bounds: (Bound<&[u8]>, Bound<&[u8]>), reverse| -> Vec<(RowKey, Row)> {
        let rows = spilled.rows(bounds, reverse).map(|item| item.map(|(key, row)| (key, row.after.expect("stays"))));
        rows.collect::<Result<_, _>>().expect("reads")
    };
    let all: Vec<(RowKey, Row)> = expected.clone().into_iter().collect();
    assert!(read((Bound::Unbounded, Bound::Unbounded), false) == all);
    let mut turned = read((Bound::Unbounded, Bound::Unbounded), true);
    turned.reverse();
    assert!(turned == all);
    let (from, to) = (key(1_000), key(7_001));
    let within = read((Bound::Included(from.bytes()), Bound::Excluded(to.bytes())), true);
    assert!(within.iter().map(|(key, _)| key).eq(expected.range(from..to).map(|(key, _)| key).rev()));
    let keys = spilled.keys_at(BY_NAME, &4_u32.to_be_bytes()).expect("reads");
    assert!(keys == (0..10_000).filter(|number| number % 10 == 4).map(key).collect::<Vec<_>>());
    let (from, to) = (2_u32.to_be_bytes(), 5_u32.to_be_bytes());
    let entries = spilled.entries(BY_NAME, (Bound::Included(&from), Bound::Excluded(&to)), false);
    let entries: Vec<(Vec<u8>, RowKey)> = entries.collect::<Result<_, _>>().expect("reads");
    assert_eq!(entries.len(), 2_000, "of 2 and 4");
    assert!(entries.is_sorted());
}

#[test]
fn rows_that_were_there_before_are_told_with_what_they_were() {
    let (_folder, store) = open("changed");
    let spilled = spill(&store, 0..3);
    assert!(!spilled.covers());
    let mut batch = spilled.begin_batch().expect("begins");
    batch.put_changed(&key(3), &row(30), Some(&row(3)));
    batch.put_changed(&key(4), &row(40), None);
    let empty = Row::from_bytes(Box::default());
    batch.put_changed(&key(5), &empty, Some(&empty));
    batch.put_again(&key(2), None, None);
    batch.delete_entry(BY_NAME, &2_u32.to_be_bytes(), &key(2));
    spilled.write(&store, batch).expect("writes");
    assert!(spilled.covers());
    assert_eq!(spilled.len(), 6);
    let told = |before: Option<Row>, after: Option<Row>| Some(SpilledRow { before, after });
    let expected = [
        (1, told(None, Some(row(1)))),
        (2, told(None, None)),
        (3, told(Some(row(30)), Some(row(3)))),
        (4, told(Some(row(40)), None)),
        (5, told(Some(empty.clone()), Some(empty))),
        (6, None),
    ];
    for (number, expected) in expected {
        assert_eq!(spilled.get(&key(number)).expect("reads"), expected, "{number}");
    }
    assert!(spilled.keys_at(BY_NAME, &2_u32.to_be_bytes()).expect("reads").is_empty());
    assert!(spilled.keys_at(BY_NAME, &1_u32.to_be_bytes()).expect("reads") == [key(1)]);
}

#[test]
fn people_are_found_with_their_microdbs() {
    let (_folder, store) = open("people");
    let spilled = Arc::new(store.begin_spill(CITIES).expect("begins"));
    let microdbs: BTreeMap<RowKey, MicroDbId> =
        (0..2_000).map(|number| (key(number), store.allocate_microdb().expect("allocates"))).collect();
    let mut batch = spilled.begin_batch().expect("begins");
    for (key, microdb) in &microdbs {
        batch.put_row(key, &row(0));
        batch.put_subject(key, *microdb);
    }
    batch.put_row(&key(2_000), &row(0));
    spilled.write(&store, batch).expect("writes");
    assert_eq!(spilled.len(), 2_001);
    assert_eq!(spilled.subject(&key(7)).expect("reads"), microdbs.get(&key(7)).copied());
    assert_eq!(spilled.subject(&key(2_000)).expect("reads"), None);
    let found: Vec<(RowKey, MicroDbId)> = spilled.subjects().collect::<Result<_, _>>().expect("reads");
    assert!(found == microdbs.into_iter().collect::<Vec<_>>());
    assert_eq!(spilled.rows((Bound::Unbounded, Bound::Unbounded), false).count(), 2_001, "rows are apart");
}

#[test]
fn what_is_dropped_is_gone_and_nothing_stands_in_clear() {
    let (folder, store) = open("gone");
    let (one, other) = (spill(&store, 0..50_000), spill(&store, 0..50_000));
    assert_eq!(parts(&folder), 1);
    assert!(store.side_folder().holds_before(u64::MAX));
    drop(one);
    assert_eq!(other.rows((Bound::Unbounded, Bound::Unbounded), false).count(), 50_000, "the other is whole");
    for entry in fs::read_dir(folder.join("ingest"))
        .expect("reads")
        .flat_map(|entry| fs::read_dir(entry.expect("reads").path()).expect("reads"))
    {
        let bytes = fs::read(entry.expect("reads").path()).expect("reads");
        assert!(!bytes.windows(WORD.len()).any(|window| window == WORD.as_bytes()));
    }
    drop(other);
    assert_eq!(parts(&folder), 0);
    assert!(!store.side_folder().holds_before(u64::MAX));
}

#[test]
fn a_start_keeps_nothing_of_it() {
    let (folder, store) = open("start");
    let spilled = spill(&store, 0..10);
    let left = folder.join("ingest/left-spill");
    fs::create_dir_all(&left).and_then(|()| fs::write(left.join("000001.sst"), "killed")).expect("writes");
    drop((spilled, store));
    let options = StoreOptions { block_cache_bytes: 8 << 20, ..StoreOptions::new(&*folder) };
    let store = Store::open(&options).expect("opens");
    assert_eq!(parts(&folder), 0);
    drop(store);
}
