//! Crashes and damage of the keyring's file, byte by byte.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::rotation::{self, Rotation};
use super::*;
use crate::temporary_folder::TemporaryFolder;

struct Folder(TemporaryFolder);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = TemporaryFolder::new(&format!("keyring-{name}"));
        fs::create_dir(&*folder).expect("temporary folder");
        sodium::initialize();
        Folder(folder)
    }

    fn keyring(&self) -> PathBuf {
        self.0.join("keyring")
    }

    fn open(&self) -> Result<Keyring, StorageError> {
        Keyring::open(&self.keyring(), &ROOT, true, None)
    }

    fn file(&self) -> File {
        OpenOptions::new().read(true).write(true).open(self.keyring()).expect("keyring")
    }
}

const ROOT: Root = Root([1; 32]);

/// A root key that is known.
struct Root([u8; 32]);

impl RootKey for Root {
    fn read(&self, _derivation: Option<&sodium::Argon2id>) -> Result<[u8; 32], StorageError> {
        Ok(self.0)
    }

    fn place(&self) -> PathBuf {
        PathBuf::from("a test")
    }
}

fn key(keyring: &Keyring, microdb: MicroDbId) -> Result<[u8; 32], StorageError> {
    keyring.with_key(microdb, |key| *key)
}

#[test]
fn keys_survive_reopening_and_are_never_given_twice() {
    let folder = Folder::new("reopen");
    Keyring::create(&folder.keyring(), &ROOT).expect("creates");
    let mut all = Vec::new();
    for _ in 0..3 {
        let keyring = folder.open().expect("opens");
        for (microdb, expected) in &all {
            assert_eq!(key(&keyring, *microdb).expect("a key of an earlier start"), *expected);
        }
        for _ in 0..300 {
            let microdb = keyring.allocate().expect("allocates");
            all.push((microdb, key(&keyring, microdb).expect("its key")));
        }
    }
    let mut ids: Vec<_> = all.iter().map(|(microdb, _)| *microdb).collect();
    let mut keys: Vec<_> = all.iter().map(|(_, key)| *key).collect();
    ids.sort_unstable();
    ids.dedup();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((ids.len(), keys.len()), (900, 900));
}

#[test]
fn a_torn_copy_is_read_from_the_other_and_two_are_reported() {
    let folder = Folder::new("torn");
    Keyring::create(&folder.keyring(), &ROOT).expect("creates");
    let microdb = folder.open().expect("opens").allocate().expect("allocates");
    let expected = key(&folder.open().expect("opens"), microdb).expect("its key");
    for copy in [0, 1] {
        let mut bytes = [0; SLOT_BYTES];
        folder.file().read_exact_at(&mut bytes, offset(0, copy)).expect("reads");
        for position in 0..SLOT_BYTES {
            let mut torn = bytes;
            torn[position] ^= 0x40;
            folder.file().write_all_at(&torn, offset(0, copy)).expect("writes");
            let found = key(&folder.open().expect("opens"), microdb).expect("the other copy");
            assert_eq!(found, expected, "copy {copy}, byte {position}");
        }
        folder.file().write_all_at(&bytes, offset(0, copy)).expect("writes");
    }
    for copy in [0, 1] {
        folder.file().write_all_at(&[0; SLOT_BYTES], offset(0, copy)).expect("writes");
    }
    let refused = key(&folder.open().expect("opens"), microdb);
    assert!(matches!(refused, Err(StorageError::KeyDamaged { .. })));
}

#[test]
fn a_destruction_cut_in_half_still_holds() {
    let folder = Folder::new("half");
    Keyring::create(&folder.keyring(), &ROOT).expect("creates");
    let microdb = folder.open().expect("opens").allocate().expect("allocates");
    folder.file().write_all_at(&slot::destroyed(), offset(0, 0)).expect("writes");
    let keyring = folder.open().expect("opens");
    assert!(matches!(key(&keyring, microdb), Err(StorageError::KeyDestroyed)));
    assert!(keyring.is_live(microdb).expect("reads"), "the second copy still has it, so a receipt destroys it");
    keyring.destroy(&[microdb]).expect("destroys");
    assert!(!keyring.is_live(microdb).expect("reads"));
}

#[test]
fn destroyed_keys_leave_memory_and_file() {
    let folder = Folder::new("destroy");
    Keyring::create(&folder.keyring(), &ROOT).expect("creates");
    let keyring = folder.open().expect("opens");
    let people: Vec<_> = (0..10).map(|_| keyring.allocate().expect("allocates")).collect();
    let keys: Vec<_> = people.iter().map(|microdb| key(&keyring, *microdb).expect("its key")).collect();
    let before = fs::read(folder.keyring()).expect("reads");
    keyring.destroy(&people[..5]).expect("destroys");
    let after = fs::read(folder.keyring()).expect("reads");
    for (slot, microdb) in people.iter().enumerate() {
        let found = key(&keyring, *microdb);
        match slot < 5 {
            true => assert!(matches!(found, Err(StorageError::KeyDestroyed))),
            false => assert_eq!(found.expect("not destroyed"), keys[slot]),
        }
        for copy in [0, 1] {
            let at = offset(slot as u64, copy) as usize;
            let wrapped = &before[at..at + SLOT_BYTES];
            let still = after.windows(16).any(|window| wrapped.windows(16).any(|part| part == window));
            assert_eq!(still, slot >= 5, "slot {slot}");
        }
    }
    assert!(matches!(key(&keyring, crate::microdb::loaded([9; 6])), Err(StorageError::UnknownMicroDb)));
    let reopened = folder.open().expect("opens");
    assert!(matches!(key(&reopened, people[0]), Err(StorageError::KeyDestroyed)));
}

#[test]
fn a_file_cut_anywhere_opens_or_is_refused_and_gives_no_wrong_key() {
    let folder = Folder::new("cut");
    Keyring::create(&folder.keyring(), &ROOT).expect("creates");
    let keyring = folder.open().expect("opens");
    let microdb = keyring.allocate().expect("allocates");
    let expected = key(&keyring, microdb).expect("its key");
    drop(keyring);
    let whole = fs::read(folder.keyring()).expect("reads");
    for length in [0, 1, 100, 4095, 4096, 5000, 8192, 8193, 8255, 8256, 9000, 12_288, 12_352, whole.len() - 1] {
        fs::write(folder.keyring(), &whole[..length]).expect("writes");
        match folder.open() {
            Err(error) => assert!(matches!(error, StorageError::KeyringDamaged { .. }) && length < 4096),
            Ok(keyring) => {
                if let Ok(found) = key(&keyring, microdb) {
                    assert_eq!(found, expected);
                }
                let fresh = keyring.allocate().expect("allocates behind the cut");
                assert_ne!(key(&keyring, fresh).expect("its key"), expected);
            }
        }
    }
}

#[test]
fn either_header_copy_is_enough_and_the_newer_counts() {
    let folder = Folder::new("header");
    Keyring::create(&folder.keyring(), &ROOT).expect("creates");
    let old = fs::read(folder.keyring()).expect("reads");
    folder.open().expect("opens").set_receipts_done(7).expect("writes");
    let new = fs::read(folder.keyring()).expect("reads");
    // As a crash between the two copies leaves it.
    folder.file().write_all_at(&old[4096..8192], 4096).expect("writes");
    assert_eq!(folder.open().expect("opens").receipts_done(), 7);
    for position in (0..4096).step_by(37) {
        let mut damaged = new.clone();
        damaged[position] ^= 1;
        fs::write(folder.keyring(), &damaged).expect("writes");
        assert_eq!(folder.open().expect("opens from the second copy").receipts_done(), 7);
        damaged[4096 + position] ^= 1;
        fs::write(folder.keyring(), &damaged).expect("writes");
        assert!(matches!(folder.open(), Err(StorageError::KeyringDamaged { .. })), "byte {position}");
    }
}

#[test]
fn a_rotation_keeps_the_living_and_buries_the_dead() {
    let folder = Folder::new("rotate");
    Keyring::create(&folder.keyring(), &ROOT).expect("creates");
    let keyring = folder.open().expect("opens");
    let people: Vec<_> = (0..200).map(|_| keyring.allocate().expect("allocates")).collect();
    let keys: Vec<_> = people.iter().map(|microdb| key(&keyring, *microdb).expect("its key")).collect();
    keyring.destroy(&people[..2]).expect("destroys");
    let before = fs::read(folder.keyring()).expect("reads");
    assert!(matches!(keyring.rotate(&Root([2; 32]), &ROOT, Rotation::Rotate), Err(StorageError::WrongRootKey { .. })));
    keyring.rotate(&ROOT, &ROOT, Rotation::Rotate).expect("rotates");
    let reopened = folder.open().expect("opens");
    for keyring in [&keyring, &reopened] {
        for (microdb, expected) in people.iter().zip(&keys).skip(2) {
            assert_eq!(key(keyring, *microdb).expect("still there"), *expected);
        }
        assert!(matches!(key(keyring, people[0]), Err(StorageError::KeyDestroyed)));
    }
    // The old slots under the new header open nothing: their key-encryption key is gone.
    let mut old = before;
    let new = fs::read(folder.keyring()).expect("reads");
    old[..8192].copy_from_slice(&new[..8192]);
    fs::write(folder.keyring(), &old).expect("writes");
    let found = key(&folder.open().expect("opens"), people[5]);
    assert!(matches!(found, Err(StorageError::KeyDamaged { .. })));
}

#[test]
fn a_rotation_cut_anywhere_leaves_one_keyring_and_no_other() {
    let folder = Folder::new("cut-rotation");
    let (new, old) = (folder.0.join("keyring.new"), folder.0.join("keyring.old"));
    Keyring::create(&folder.keyring(), &ROOT).expect("creates");
    let keyring = folder.open().expect("opens");
    let people: Vec<_> = (0..100).map(|_| keyring.allocate().expect("allocates")).collect();
    let keys: Vec<_> = people.iter().map(|microdb| key(&keyring, *microdb).expect("its key")).collect();
    keyring.destroy(&people[..1]).expect("destroys");
    let before = fs::read(folder.keyring()).expect("reads");
    keyring.rotate(&ROOT, &ROOT, Rotation::Shred).expect("rotates");
    drop(keyring);
    assert!(!new.exists() && !old.exists());
    let after = fs::read(folder.keyring()).expect("reads");
    // What a crash leaves at each step: the keyring, what is being written, the old one's second name.
    let half = &after[..after.len() / 2];
    let is_whole = |expected: &[u8]| {
        let keyring = folder.open().expect("opens");
        assert!(matches!(key(&keyring, people[0]), Err(StorageError::KeyDestroyed)));
        for (microdb, expected) in people.iter().zip(&keys).skip(1) {
            assert_eq!(key(&keyring, *microdb).expect("still there"), *expected);
        }
        drop(keyring);
        assert_eq!(fs::read(folder.keyring()).expect("reads"), expected);
    };
    for written in [half, &after] {
        fs::write(folder.keyring(), &before).expect("writes");
        fs::write(&new, written).expect("writes");
        assert_eq!(rotation::clear(&folder.keyring()).expect("clears"), 1);
        is_whole(&before);
        fs::write(&new, written).expect("writes");
        fs::hard_link(folder.keyring(), &old).expect("links");
        assert_eq!(rotation::clear(&folder.keyring()).expect("clears"), 2);
        is_whole(&before);
    }
    fs::write(folder.keyring(), &after).expect("writes");
    fs::write(&old, &before).expect("writes");
    let held = OpenOptions::new().read(true).open(&old).expect("opens");
    assert_eq!(rotation::clear(&folder.keyring()).expect("clears"), 1);
    is_whole(&after);
    let mut left = vec![0; before.len()];
    held.read_exact_at(&mut left, 0).expect("reads");
    let same = left.windows(16).filter(|window| before.windows(16).any(|other| other == *window)).count();
    assert_eq!(same, 0, "nothing of the old file is left in its blocks");
    assert_eq!(rotation::clear(&folder.keyring()).expect("clears"), 0);
}
