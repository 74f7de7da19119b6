//! What is read of others' making, by whoever verifies: capsules, merged ones, proofs, receipts, published heads, backups. Bytes are
//! changed, cut, doubled and taken from one another; nothing panics, nothing that was changed is genuine.
//!
//! HOSTILE_SECONDS (1) for each, HOSTILE_SEED (1).

#[path = "support/folder.rs"]
mod support;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use storage::audit::{
    AuditOperation, LogReference, MERGED_MAGIC, merge_capsules, read_heads, verify_capsule, verify_merged,
    verify_proof, verify_receipt,
};
use storage::audit::{Receipt, ReceiptRequest};
use storage::backup::{BackupRequest, Form, RestoreRequest, Target, TargetError, Until, restore, verify_backups};
use storage::{Batch, RootKeySource, Store};
use support::{Folder, PEOPLE, entry, put};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % below.max(1)
    }

    /// Something like one of these.
    fn mutant(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = corpus[self.next(corpus.len())].clone();
        for _ in 0..=self.next(4) {
            let place = self.next(bytes.len());
            let end = (place + self.next(64)).min(bytes.len());
            match self.next(7) {
                0 => bytes.truncate(place),
                1 => drop(bytes.drain(place..end)),
                2 => bytes.insert(place, self.next(256) as u8),
                3 => bytes.splice(place..place, bytes[place..end].to_vec()).for_each(drop),
                // Lengths and counts: far too large, or nothing.
                4 => bytes[place..end].fill(if self.next(2) == 0 { 0xff } else { 0 }),
                5 => {
                    let other = &corpus[self.next(corpus.len())];
                    let from = self.next(other.len());
                    let part = &other[from..(from + self.next(200)).min(other.len())];
                    bytes.splice(place..end, part.iter().copied()).for_each(drop);
                }
                _ => {
                    if let Some(byte) = bytes.get_mut(place) {
                        *byte ^= 1 << self.next(8);
                    }
                }
            }
        }
        bytes
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Mutants of a corpus for some time; `passes` says whether one is taken for genuine.
fn attack(name: &str, corpus: &[Vec<u8>], passes: impl Fn(&[u8]) -> bool) {
    assert!(corpus.iter().all(|one| passes(one)), "{name}: what is genuine passes");
    let until = Instant::now() + Duration::from_secs(number("HOSTILE_SECONDS", 1));
    let mut dice = Dice(number("HOSTILE_SEED", 1));
    let mut tried = 0_u64;
    while Instant::now() < until {
        let seed = dice.0;
        let mutant = dice.mutant(corpus);
        if !corpus.contains(&mutant) {
            let place = corpus.iter().map(|one| one.iter().zip(&mutant).position(|(one, other)| one != other));
            let place = place.collect::<Vec<_>>();
            assert!(!passes(&mutant), "{name}: from byte {place:?} on; HOSTILE_SEED={seed} repeats it");
        }
        tried += 1;
    }
    println!("{name}: {tried} mutants");
}

fn filled(name: &str) -> (Folder, Store, Receipt) {
    let folder = Folder::new(name);
    let store = folder.open();
    let person = store.allocate_microdb().expect("a key");
    let mut batch = Batch::default();
    put(&mut batch, &store, PEOPLE, &store.hash_key(PEOPLE, b"one"), b"row", &[person]);
    store.write(batch).expect("writes");
    for _ in 0..20 {
        let mut batch = Batch::default();
        batch.append_audit(&store, &entry(AuditOperation::Select, &[person])).expect("records");
        store.write(batch).expect("writes");
    }
    let request =
        ReceiptRequest { time_us: 5, subject: person, parts: vec!["notes".into()], tables: Vec::new(), plan: [3; 32] };
    let receipt = store.sign_receipt(&request);
    (folder, store, receipt)
}

fn capsule(store: &Store) -> Vec<u8> {
    let mut capsule = Vec::new();
    store.snapshot().export_capsule(1, &mut capsule).expect("exports");
    capsule
}

fn head(store: &Store) -> Vec<u8> {
    store.snapshot().head_line().expect("reads").expect("there is one").text.into_bytes()
}

#[test]
fn documents() {
    let (_one_folder, one, receipt) = filled("hostile-one");
    let (_other_folder, other, _) = filled("hostile-other");
    let key = one.public_key();
    let capsules = vec![capsule(&one)];
    attack("capsules", &capsules, |bytes| verify_capsule(&key, bytes, None).is_ok());
    let published = read_heads(&other.public_key(), &head(&other)).expect("genuine").remove(0);
    let mut batch = Batch::default();
    let reference = LogReference::to(&published, &other.public_key());
    batch.append_reference(&one, reference, &entry(AuditOperation::Refer, &[])).expect("records");
    one.write(batch).expect("writes");
    let keys = [key, other.public_key()];
    let merged = vec![merge_capsules(&keys, &[capsule(&one), capsule(&other)]).expect("genuine")];
    assert!(merged[0].starts_with(MERGED_MAGIC));
    attack("merged capsules", &merged, |bytes| verify_merged(&keys, bytes, &[]).is_ok());
    let snapshot = one.snapshot();
    let proof = |record| snapshot.prove(record, None).expect("reads").expect("is there");
    attack("proofs", &[proof(1), proof(7), proof(16)], |bytes| verify_proof(&key, bytes, None).is_ok());
    let receipts = [receipt.text().as_bytes().to_vec()];
    // White space behind it is nobody's concern.
    attack("receipts", &receipts, |bytes| {
        verify_receipt(&key, bytes).is_ok() && (bytes == receipts[0] || bytes.trim_ascii_end() != receipts[0])
    });
    let genuine = read_heads(&key, &head(&one)).expect("genuine");
    // White space is nobody's concern, nor whether a line stands twice.
    let is_other =
        |bytes: &[u8]| read_heads(&key, bytes).is_ok_and(|heads| heads.iter().any(|head| !genuine.contains(head)));
    let until = Instant::now() + Duration::from_secs(number("HOSTILE_SECONDS", 1));
    let mut dice = Dice(number("HOSTILE_SEED", 1));
    while Instant::now() < until {
        assert!(!is_other(&dice.mutant(&[head(&one)])), "a head that nobody signed");
    }
}

/// Objects in memory.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Target for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn put(&self, object: &str, bytes: &[u8]) -> Result<(), TargetError> {
        self.0.lock().expect("no panic").insert(object.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn get(&self, object: &str) -> Result<Option<Vec<u8>>, TargetError> {
        Ok(self.0.lock().expect("no panic").get(object).cloned())
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, TargetError> {
        let objects = self.0.lock().expect("no panic");
        Ok(objects
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(name, bytes)| (name.clone(), bytes.len() as u64))
            .collect())
    }

    fn remove(&self, object: &str) -> Result<(), TargetError> {
        self.0.lock().expect("no panic").remove(object);
        Ok(())
    }
}

#[test]
fn backups() {
    let (folder, store, _) = filled("hostile-backup");
    let key = store.public_key();
    let (data, keys) = (Memory::default(), Memory::default());
    let request = BackupRequest {
        data: &data,
        keys: &keys,
        form: Form::Full,
        keep_us: None,
        keep_keys_us: i64::MAX / 2,
        now_us: || 9,
        stops: &|| false,
    };
    store.back_up(&request).expect("taken");
    verify_backups(&data, &key).expect("whole");
    let objects: Vec<String> = data.0.lock().expect("no panic").keys().cloned().collect();
    let content = |object: &str| data.get(object).expect("reads").expect("is there");
    let all: Vec<Vec<u8>> = objects.iter().map(|object| content(object)).collect();
    for (object, genuine) in objects.iter().zip(&all) {
        // Of data files one is as good as another.
        if object.starts_with("files/") && !object.contains("CURRENT") {
            continue;
        }
        attack(object, std::slice::from_ref(genuine), |bytes| {
            data.put(object, bytes).expect("puts");
            let is_whole = verify_backups(&data, &key).is_ok();
            data.put(object, genuine).expect("puts");
            is_whole
        });
    }
    let (object, _) = keys.list("").expect("lists").remove(0);
    let genuine = keys.get(&object).expect("reads").expect("is there");
    let to = Folder::new("hostile-restored");
    let restored = |bytes: &[u8]| {
        keys.put(&object, bytes).expect("puts");
        let request = RestoreRequest {
            data: &data,
            keys: &keys,
            ledger: None,
            until: Until::End,
            folder: to.0.clone(),
            root_key: RootKeySource::File(folder.0.join("root.key")),
            overwrites: false,
        };
        restore(&request).is_ok()
    };
    attack("key backups", std::slice::from_ref(&genuine), restored);
    assert!(!to.0.with_extension("restoring").exists(), "nothing half-done is left");
}
