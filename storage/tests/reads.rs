//! What is kept in memory of rows and index entries that were read: never another answer than the snapshot's own.

#[path = "support/folder.rs"]
mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use repr::{IndexId, MicroDbId, RelationId, RowKey};
use storage::{Batch, Snapshot, StorageError, Store};
use support::{Folder, put, row};

const POSTS: RelationId = RelationId(16_385);
const CITIES: RelationId = RelationId(16_386);
const BY_PARITY: IndexId = IndexId(16_390);
const COMMITS: u64 = 4_000;

/// Every commit writes its number to every row, and moves one index entry.
struct Rows {
    store: Store,
    owners: [MicroDbId; 2],
    posts: Vec<RowKey>,
    cities: Vec<RowKey>,
}

impl Rows {
    fn new(store: Store) -> Rows {
        let owners = [(); 2].map(|()| store.allocate_microdb().expect("allocates"));
        let posts = (0..4_u8).map(|of| store.hash_key(POSTS, &[of])).collect();
        let cities = (0..3_u8).map(|of| RowKey::new(&[of])).collect();
        Rows { store, owners, posts, cities }
    }

    fn commit(&self, number: u64) {
        let mut batch = Batch::default();
        let bytes = number.to_be_bytes();
        self.posts.iter().for_each(|key| put(&mut batch, &self.store, POSTS, key, &bytes, &self.owners));
        for key in &self.cities {
            batch.put_impersonal(&self.store, CITIES, key, &row(&bytes), 1).expect("seals");
        }
        let parity = |number: u64| self.store.hash_index(BY_PARITY, &[(number % 2) as u8]);
        batch.delete_index_hashed(BY_PARITY, &parity(number + 1), &self.posts[0]);
        batch.put_index_hashed(BY_PARITY, &parity(number), &self.posts[0], Some(self.owners[0]));
        self.store.write(batch).expect("writes");
    }

    fn index(&self, snapshot: &Snapshot, parity: u8) -> usize {
        let value = self.store.hash_index(BY_PARITY, &[parity]);
        if let Some(rows) = snapshot.held_index_rows(BY_PARITY, &value) {
            return rows.len();
        }
        let rows = snapshot.index_hashed(BY_PARITY, &value).expect("reads");
        snapshot.keep_index_rows(BY_PARITY, &value, &rows);
        rows.len()
    }

    /// The number that a snapshot has, everywhere the same.
    fn read(&self, snapshot: &Snapshot) -> u64 {
        let mut rows = snapshot.get_personals(POSTS, &self.posts).expect("reads");
        rows.extend(snapshot.get_impersonals(CITIES, &self.cities).expect("reads"));
        // Which of the owners has the canonical copy is chance.
        let copies: Vec<_> = self.posts.iter().flat_map(|key| self.owners.map(|owner| (key, owner))).collect();
        rows.extend(snapshot.get_copies(POSTS, &copies).expect("reads"));
        rows.push(snapshot.get_personal(POSTS, &self.posts[1]).expect("reads"));
        rows.push(snapshot.get_impersonal(CITIES, &self.cities[2]).expect("reads"));
        let numbers: Vec<u64> = rows
            .into_iter()
            .map(|row| u64::from_be_bytes(row.expect("is there").bytes().try_into().expect("eight bytes")))
            .collect();
        let number = numbers[0];
        assert!(numbers.iter().all(|other| *other == number), "one commit as a whole: {numbers:?}");
        let parity = (number % 2) as u8;
        assert_eq!((self.index(snapshot, parity), self.index(snapshot, 1 - parity)), (1, 0));
        number
    }
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn many_readers_see_each_commit_as_a_whole() {
    let folder = Folder::new("reads");
    let rows = Rows::new(folder.open());
    rows.commit(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (rows, done) = (&rows, &done);
            scope.spawn(move || {
                let mut old: Vec<(Snapshot, u64)> = Vec::new();
                let mut last = 0;
                while !done.load(Ordering::Acquire) {
                    let snapshot = rows.store.snapshot();
                    let snapshot = if reader == 2 { snapshot } else { snapshot.keeping() };
                    let number = rows.read(&snapshot);
                    assert!(number >= last, "later snapshots have later commits");
                    last = number;
                    for (old, number) in &old {
                        assert_eq!(rows.read(old), *number, "an old snapshot keeps what it saw");
                    }
                    if old.len() == 4 {
                        old.remove(0);
                    }
                    old.push((snapshot, number));
                }
            });
        }
        // The readers end with it, though a commit fail.
        let _ending = Ending(&done);
        (1..=COMMITS).for_each(|number| rows.commit(number));
    });
    let snapshot = rows.store.snapshot().keeping();
    for _ in 0..3 {
        assert_eq!(rows.read(&snapshot), COMMITS);
    }
    // One after the other, so that no other key takes its place at the door.
    for _ in 0..2 {
        rows.index(&snapshot, (COMMITS % 2) as u8);
    }
    let value = rows.store.hash_index(BY_PARITY, &[(COMMITS % 2) as u8]);
    assert_eq!(snapshot.held_index_rows(BY_PARITY, &value).map(|rows| rows.len()), Some(1), "it is in memory now");
}

#[test]
fn what_is_erased_is_not_in_memory() {
    let folder = Folder::new("erased-reads");
    let rows = Rows::new(folder.open());
    rows.commit(7);
    let [ann, bob] = rows.owners;
    let before = rows.store.snapshot().keeping();
    for _ in 0..3 {
        rows.read(&before);
    }
    let held = rows.store.statistics().read_cache_bytes;
    let mut batch = Batch::default();
    for key in &rows.posts {
        batch.delete_copy(POSTS, key, ann);
        batch.delete_owner(POSTS, key, ann);
    }
    rows.store.write(batch).expect("writes");
    let left = rows.store.statistics().read_cache_bytes;
    assert!(left < held, "{left} of {held} bytes are left");
    // The key is there yet, so an older snapshot has its rows, and leaves none of them.
    assert!(before.get_copy(POSTS, &rows.posts[0], ann).expect("reads").is_some());
    assert_eq!(rows.store.statistics().read_cache_bytes, left);
    let after = rows.store.snapshot().keeping();
    assert_eq!(after.get_copy(POSTS, &rows.posts[0], ann).expect("reads"), None);
    assert!(after.get_copy(POSTS, &rows.posts[0], bob).expect("reads").is_some());
    rows.store.destroy_keys(&[ann]).expect("destroys");
    assert!(matches!(before.get_copy(POSTS, &rows.posts[0], ann), Err(StorageError::KeyDestroyed)));
    // A key that goes alone takes what was opened with it along.
    rows.store.destroy_keys(&[bob]).expect("destroys");
    assert!(matches!(after.get_copy(POSTS, &rows.posts[0], bob), Err(StorageError::KeyDestroyed)));
}
