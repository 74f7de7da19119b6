//! Damage: a flipped byte in any file is refused, reported or harmless, and never gives a wrong row.

#[path = "support/folder.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use repr::{IndexId, RelationId};
use storage::check::{CheckedRelation, Problem, check};
use storage::{Batch, Reclaim, Store, StoreOptions};
use support::{Folder, copy_folder, put, row};

const POSTS: RelationId = RelationId(16_385);
const CITIES: RelationId = RelationId(16_386);
const BY_AUTHOR: IndexId = IndexId(16_390);
const BY_NAME: IndexId = IndexId(16_391);

fn relations() -> [CheckedRelation; 2] {
    [
        CheckedRelation { relation: POSTS, personal: true, hashed: vec![BY_AUTHOR], ordered: vec![] },
        CheckedRelation { relation: CITIES, personal: false, hashed: vec![], ordered: vec![BY_NAME] },
    ]
}

fn content(n: u16) -> [u8; 2] {
    n.to_be_bytes()
}

fn fill(store: &Store) {
    let people: Vec<_> = (0..5).map(|_| store.allocate_microdb().expect("allocates")).collect();
    let mut batch = Batch::default();
    for (n, person) in people.iter().enumerate() {
        batch.put_subject(RelationId(16_384), &store.hash_key(RelationId(16_384), &[n as u8]), *person);
    }
    for n in 0..200_u16 {
        let key = store.hash_key(POSTS, &content(n));
        let owners = [people[usize::from(n) % 5], people[usize::from(n) % 3]];
        put(&mut batch, store, POSTS, &key, &content(n), &owners);
        batch.put_index_hashed(BY_AUTHOR, &store.hash_index(BY_AUTHOR, &[1]), &key, Some(owners[0]));
        let key = repr::RowKey::new(&content(n));
        batch.put_impersonal(store, CITIES, &key, &row(&content(n)), 1).expect("seals");
        batch.put_index_ordered(BY_NAME, &content(n), &key);
    }
    batch.put_meta(store, b"time", b"1");
    store.write(batch).expect("writes");
    store.flush().expect("flushes");
}

#[test]
fn a_sound_store_has_no_problems_and_each_kind_of_unsoundness_is_named() {
    let folder = Folder::new("check");
    let store = folder.open();
    fill(&store);
    store.reclaim(&[Reclaim::Everything]).expect("flushes");
    let report = check(&store.snapshot(), &relations());
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert_eq!((report.rows, report.index_entries, report.subjects), (400, 400, 5));
    assert!(report.files >= 5);
    let key = store.hash_key(POSTS, &content(7));
    let owners = store.snapshot().owners(POSTS, &key).expect("reads");
    let spoil = |spoil: &dyn Fn(&mut Batch)| {
        let mut batch = Batch::default();
        spoil(&mut batch);
        store.write(batch).expect("writes");
        check(&store.snapshot(), &relations()).problems
    };
    let found = spoil(&|batch| batch.delete_owner(POSTS, &key, owners[1].0));
    assert!(found.iter().any(|problem| matches!(problem, Problem::CopyWithoutOwner(POSTS))));
    let found = spoil(&|batch| {
        batch.put_owner(POSTS, &key, owners[1].0, 1);
        batch.delete_copy(POSTS, &key, owners[1].0);
    });
    assert!(found.iter().any(|problem| matches!(problem, Problem::OwnerWithoutCopy(POSTS))));
    let found = spoil(&|batch| {
        let later = storage::OwnerSet::single(owners[1].0);
        batch.put_personal(&store, POSTS, &key, &row(b"another"), &later, 1).expect("seals");
    });
    assert!(found.iter().any(|problem| matches!(problem, Problem::CanonicalMark(POSTS))));
    let found = spoil(&|batch| batch.delete_impersonal(CITIES, &repr::RowKey::new(&content(3))));
    assert!(found.iter().any(|problem| matches!(problem, Problem::DanglingIndexEntry(BY_NAME))));
    let found = spoil(&|batch| {
        let (other, value) = (IndexId(BY_NAME.0 + 7), store.hash_index(BY_AUTHOR, &[1]));
        batch.put_index_hashed(other, &value, &key, None);
        batch.put_impersonal(&store, RelationId(9), &repr::RowKey::new(b"x"), &row(b"x"), 1).expect("seals");
    });
    assert!(found.iter().any(|problem| matches!(problem, Problem::UnknownIndex(IndexId(16_398)))));
    assert!(found.iter().any(|problem| matches!(problem, Problem::UnknownRelation(RelationId(9)))));
    store.begin_index(IndexId(16_398)).expect("takes away what stands there");
    let found = spoil(&|batch| batch.put_index_ordered(IndexId(16_398), b"made", &key));
    assert!(!found.iter().any(|problem| matches!(problem, Problem::UnknownIndex(_))), "one that is being made");
    let person = owners[0].0;
    store.destroy_keys(&[person]).expect("destroys");
    let found = check(&store.snapshot(), &relations()).problems;
    assert!(found.iter().any(|problem| matches!(problem, Problem::SubjectWithoutKey)));
}

#[test]
fn a_flipped_byte_in_a_sorted_file_is_reported_by_its_name() {
    let folder = Folder::new("flip-sst");
    let store = folder.open();
    fill(&store);
    store.reclaim(&[Reclaim::Everything]).expect("flushes");
    drop(store);
    let files: Vec<PathBuf> =
        folder.files().into_iter().filter(|file| file.extension().is_some_and(|name| name == "sst")).collect();
    assert!(files.len() >= 5);
    for file in files {
        let sound = fs::read(&file).expect("reads");
        // The first block holds data: what a scan reads.
        flip(&file, &sound, 50.min(sound.len() / 4));
        if let Ok(store) = Store::open(&folder.options()) {
            let problems = check(&store.snapshot(), &relations()).problems;
            let name = file.file_name().expect("a file");
            let named =
                |problem: &Problem| matches!(problem, Problem::DamagedFile(path) if path.file_name() == Some(name));
            assert!(problems.iter().any(named), "{} in {problems:?}", file.display());
        }
        fs::write(&file, &sound).expect("restores");
    }
}

#[test]
fn a_flipped_byte_anywhere_never_gives_wrong_data() {
    let folder = Folder::new("flip-any");
    let store = folder.open();
    fill(&store);
    let flushed = folder.open_copy(&store);
    fill(&store);
    drop(store);
    for folder in [&folder, &flushed] {
        let mut state = 7_u64;
        for file in folder.files() {
            let sound = fs::read(&file).expect("reads");
            if sound.is_empty() {
                continue;
            }
            for _ in 0..6 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let copy = Folder(folder.0.with_extension("flipped"));
                let _ = fs::remove_dir_all(&copy.0);
                copy_folder(&folder.0, &copy.0);
                let place = copy.0.join(file.strip_prefix(&folder.0).expect("below the folder"));
                flip(&place, &sound, (state >> 33) as usize % sound.len());
                let Ok(store) = Store::open(&StoreOptions { path: copy.0.clone(), ..folder.options() }) else {
                    continue;
                };
                read_only_truths(&store);
            }
        }
    }
}

/// Whatever is read is what was written, or an error, or absent together with the tail of the log.
fn read_only_truths(store: &Store) {
    let snapshot = store.snapshot();
    for n in 0..200 {
        let key = store.hash_key(POSTS, &content(n));
        if let Ok(Some(found)) = snapshot.get_personal(POSTS, &key) {
            assert_eq!(found, row(&content(n)));
        }
    }
    for found in snapshot.scan(CITIES, false).flatten() {
        assert_eq!(found.0.bytes(), found.1.bytes());
    }
    if let Ok(Some(value)) = snapshot.meta(b"time") {
        assert_eq!(value, b"1");
    }
}

trait OpenCopy {
    fn open_copy(&self, store: &Store) -> Folder;
}

impl OpenCopy for Folder {
    /// A copy of the folder whose data stands in sorted files.
    fn open_copy(&self, store: &Store) -> Folder {
        store.reclaim(&[Reclaim::Everything]).expect("flushes");
        let copy = Folder(self.0.with_extension("copy"));
        let _ = fs::remove_dir_all(&copy.0);
        copy_folder(&self.0, &copy.0);
        copy
    }
}

fn flip(file: &Path, sound: &[u8], position: usize) {
    let mut damaged = sound.to_vec();
    damaged[position] ^= 0x10;
    fs::write(file, damaged).expect("writes");
}
