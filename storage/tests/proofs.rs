//! Proofs of one record and published heads: what is genuine passes, and nothing that was changed does.

#[path = "support/folder.rs"]
mod support;

use storage::audit::{
    AuditOperation, EntryRange, PublishedHead, VerifyError, read_heads, verify_capsule, verify_proof,
};
use storage::{Batch, Snapshot, Store};
use support::{Folder, entry};

/// Groups of one to five entries, a record each.
fn write_groups(store: &Store, groups: u64) {
    for group in 1..=groups {
        let mut batch = Batch::default();
        for _ in 0..=(group % 5) {
            let mut transaction = Batch::default();
            transaction.append_audit(store, &entry(AuditOperation::Select, &[])).expect("records");
            batch.append(transaction);
        }
        store.write(batch).expect("writes");
    }
}

fn line(snapshot: &Snapshot) -> String {
    snapshot.head_line().expect("reads").expect("there are records").text
}

fn pairs(heads: &[PublishedHead]) -> Vec<(u64, [u8; 32])> {
    heads.iter().map(|head| (head.sequence, head.hash)).collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % below
    }

    /// Something like it: bytes changed, cut out, doubled or cut off.
    fn changed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        for _ in 0..=self.next(3) {
            let place = self.next(changed.len().max(1));
            match self.next(5) {
                0 => changed.truncate(place),
                1 if place < changed.len() => drop(changed.remove(place)),
                2 => changed.insert(place, self.next(256) as u8),
                3 => {
                    let end = (place + self.next(40)).min(changed.len());
                    let doubled = changed[place.min(end)..end].to_vec();
                    changed.splice(place..place, doubled);
                }
                _ => {
                    if let Some(byte) = changed.get_mut(place) {
                        *byte ^= 1 << self.next(8);
                    }
                }
            }
        }
        changed
    }
}

#[test]
fn every_record_is_proved_in_few_steps() {
    let folder = Folder::new("proofs");
    let store = folder.open();
    let public = store.public_key();
    assert_eq!(store.snapshot().head_line().expect("reads"), None);
    assert_eq!(store.snapshot().prove(1, None).expect("reads"), None);
    write_groups(&store, 300);
    let early = read_heads(&public, line(&store.snapshot()).as_bytes()).expect("genuine");
    write_groups(&store, 233);
    let snapshot = store.snapshot();
    let now = read_heads(&public, line(&snapshot).as_bytes()).expect("genuine");
    assert_eq!((early[0].sequence, now[0].sequence), (300, 533));
    for record in 1..=533 {
        let proof = snapshot.prove(record, None).expect("reads").expect("is there");
        let proved = verify_proof(&public, &proof, None).expect("genuine");
        assert_eq!((proved.record, proved.head), (record, (now[0].sequence, now[0].hash)));
        assert!(proved.steps <= 20, "{} steps to {record}", proved.steps);
        let own = |number: u64| EntryRange { numbers: number..=number, ..EntryRange::ALL };
        for entry in &proved.entries {
            let mut stored = snapshot.audit(&own(entry.number)).expect("reads");
            assert_eq!(stored.next().expect("is there").expect("reads"), *entry);
            assert_eq!(snapshot.record_of_entry(entry.number).expect("reads"), Some(record));
        }
        verify_proof(&public, &proof, pairs(&now)).expect("from the published head");
        assert_eq!(verify_proof(&public, &proof, pairs(&early)), Err(VerifyError::HeadNotPublished));
        let older = snapshot.prove(record, Some(&early[0])).expect("reads");
        assert_eq!(older.is_some(), record <= 300, "from the head of 300 to {record}");
        if let Some(older) = older {
            verify_proof(&public, &older, pairs(&early)).expect("from the older head");
        }
    }
    for none in [0, 534, u64::MAX] {
        assert_eq!(snapshot.prove(none, None).expect("reads"), None);
    }
    assert_eq!(snapshot.record_of_entry(0).expect("reads"), None);
    assert_eq!(snapshot.record_of_entry(u64::MAX).expect("reads"), None);
}

#[test]
fn no_changed_byte_of_a_proof_passes() {
    let folder = Folder::new("proof-changed");
    let store = folder.open();
    let public = store.public_key();
    write_groups(&store, 100);
    let snapshot = store.snapshot();
    let proof = snapshot.prove(37, None).expect("reads").expect("is there");
    let genuine = verify_proof(&public, &proof, None).expect("genuine");
    for place in 0..proof.len() {
        for bit in 0..8 {
            let mut changed = proof.clone();
            changed[place] ^= 1 << bit;
            assert!(verify_proof(&public, &changed, None).is_err(), "byte {place} bit {bit}");
        }
        assert!(verify_proof(&public, &proof[..place], None).is_err(), "cut at {place}");
    }
    assert!(verify_proof(&public, &[proof.as_slice(), &[0]].concat(), None).is_err());
    assert_eq!(verify_proof(&[7; 32], &proof, None), Err(VerifyError::Signature));
    let mut random = Random(2);
    for _ in 0..20_000 {
        let changed = random.changed(&proof);
        if changed != proof {
            assert!(verify_proof(&public, &changed, None).is_err(), "{genuine:?}");
        }
    }
}

#[test]
fn heads_tell_a_log_that_was_cut_off_or_replaced() {
    let folder = Folder::new("heads");
    let store = folder.open();
    let public = store.public_key();
    let mut lines = String::new();
    let mut capsules = Vec::new();
    for _ in 0..3 {
        write_groups(&store, 300);
        let snapshot = store.snapshot();
        lines += &line(&snapshot);
        let mut capsule = Vec::new();
        snapshot.export_capsule(1, &mut capsule).expect("exports");
        capsules.push(capsule);
    }
    let heads = read_heads(&public, lines.as_bytes()).expect("genuine");
    assert_eq!(
        read_heads(&public, (lines.clone() + "{\"head\":").as_bytes()),
        Ok(heads.clone()),
        "a line that was cut is none"
    );
    let verified = verify_capsule(&public, &capsules[2], pairs(&heads)).expect("genuine");
    assert_eq!(verified.heads, 3);
    for capsule in &capsules[..2] {
        assert_eq!(verify_capsule(&public, capsule, pairs(&heads)), Err(VerifyError::Truncated));
    }
    let mut late = Vec::new();
    // From the checkpoint before that on: 512.
    store.snapshot().export_capsule(700, &mut late).expect("exports");
    assert_eq!(verify_capsule(&public, &late, pairs(&heads[..1])), Err(VerifyError::HeadsBefore));
    assert_eq!(verify_capsule(&public, &late, pairs(&heads)).map(|capsule| capsule.heads), Ok(2));
    let forged = (heads[1].sequence, [1; 32]);
    let replaced = Err(VerifyError::Replaced { sequence: heads[1].sequence });
    assert_eq!(verify_capsule(&public, &capsules[2], [forged]), replaced);
    assert_eq!(verify_capsule(&public, &capsules[2], [pairs(&heads)[1], forged]), replaced, "two heads of one number");
    assert_eq!(read_heads(&[7; 32], lines.as_bytes()), Err(VerifyError::Head));
    assert_eq!(read_heads(&public, b""), Err(VerifyError::Head));
    let mut random = Random(3);
    for _ in 0..5_000 {
        let changed = random.changed(lines.as_bytes());
        // White space and the order of lines are nobody's concern; what is read is what was signed.
        if let Ok(read) = read_heads(&public, &changed) {
            assert!(read.iter().all(|head| heads.contains(head)));
        }
    }
}

#[test]
fn dropped_entries_leave_the_chain() {
    let folder = Folder::new("retention");
    let store = folder.open();
    let public = store.public_key();
    let timed = |time_us: i64| {
        let mut old = entry(AuditOperation::Select, &[]);
        old.time_us = time_us;
        let mut batch = Batch::default();
        batch.append_audit(&store, &old).expect("records");
        store.write(batch).expect("writes");
    };
    (1..=800).for_each(timed);
    store.post_audit(10).expect("posts");
    let before = store.snapshot();
    let heads = read_heads(&public, line(&before).as_bytes()).expect("genuine");
    let kept = |store: &Store| -> Vec<u64> {
        let entries = store.snapshot().audit(&EntryRange::ALL).expect("reads");
        entries.map(|entry| entry.expect("reads").number).collect()
    };
    let by_role = |store: &Store| {
        let role = storage::audit::Mentioned::Role(entry(AuditOperation::Select, &[]).actor.role);
        let found = store.snapshot().audit_of(&[role], &EntryRange::ALL).expect("reads");
        found.map(|entry| entry.expect("reads").number).collect::<Vec<u64>>()
    };
    // The second segment ends with 512: not all of it is of before.
    assert!(!store.drop_audit_before(512, 10).expect("drops"));
    assert_eq!(kept(&store), (257..=800).collect::<Vec<u64>>());
    assert_eq!(by_role(&store), kept(&store));
    let capsule = |from: u64| {
        let mut capsule = Vec::new();
        store.snapshot().export_capsule(from, &mut capsule).expect("exports");
        capsule
    };
    let verified = verify_capsule(&public, &capsule(1), pairs(&heads)).expect("genuine");
    assert_eq!((verified.first, verified.last, verified.emptied, verified.heads), (1, 800, 256, 1));
    assert_eq!(verify_capsule(&public, &capsule(300), None).expect("genuine").emptied, 0);
    for record in [1, 255, 256, 257, 800] {
        let proof = store.snapshot().prove(record, Some(&heads[0])).expect("reads").expect("is there");
        let proved = verify_proof(&public, &proof, pairs(&heads)).expect("genuine");
        assert_eq!(proved.entries.is_empty(), record <= 256, "record {record}");
    }
    assert!(!store.drop_audit_before(i64::MAX, 10).expect("drops"), "all but the last segment");
    assert_eq!(kept(&store), (769..=800).collect::<Vec<u64>>());
    assert!(!store.drop_audit_before(i64::MAX, 10).expect("drops"), "twice is once");
    assert_eq!(verify_capsule(&public, &capsule(1), pairs(&heads)).expect("genuine").emptied, 768);
    drop(before);
    drop(store);
    let store = folder.open();
    write_groups(&store, 3);
    assert_eq!(kept(&store)[0], 769, "it goes on after it was opened anew");
    let mut whole = Vec::new();
    store.snapshot().export_capsule(1, &mut whole).expect("exports");
    assert_eq!(verify_capsule(&public, &whole, pairs(&heads)).expect("genuine").last, 803);
}

#[test]
fn no_changed_capsule_passes() {
    let folder = Folder::new("capsule-changed");
    let store = folder.open();
    let public = store.public_key();
    write_groups(&store, 40);
    let mut capsule = Vec::new();
    store.snapshot().export_capsule(1, &mut capsule).expect("exports");
    let mut random = Random(4);
    for _ in 0..20_000 {
        let changed = random.changed(&capsule);
        if changed != capsule {
            assert!(verify_capsule(&public, &changed, None).is_err());
        }
    }
}
