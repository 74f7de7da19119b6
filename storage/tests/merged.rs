//! Capsules of several databases in one file: what is genuine passes, and no bit of it can be changed.

#[path = "support/folder.rs"]
mod support;

use storage::audit::{
    AuditOperation, LogReference, MergedError, VerifyError, merge_capsules, read_heads, read_heads_of, verify_capsule,
    verify_merged,
};
use storage::{Batch, Store};
use support::{Folder, entry};

fn write(store: &Store, records: u64) {
    for _ in 0..records {
        let mut batch = Batch::default();
        batch.append_audit(store, &entry(AuditOperation::Select, &[])).expect("records");
        store.write(batch).expect("writes");
    }
}

/// One refers to where the other ends now.
fn refer(one: &Store, other: &Store) {
    let line = other.snapshot().head_line().expect("reads").expect("there is one");
    let head = read_heads(&other.public_key(), line.text.as_bytes()).expect("genuine").remove(0);
    let reference = LogReference::to(&head, &other.public_key());
    let mut batch = Batch::default();
    batch.append_reference(one, reference, &entry(AuditOperation::Refer, &[])).expect("records");
    one.write(batch).expect("writes");
}

fn capsule(store: &Store, from: u64) -> Vec<u8> {
    let mut capsule = Vec::new();
    store.snapshot().export_capsule(from, &mut capsule).expect("exports");
    capsule
}

#[test]
fn each_capsule_is_held_by_what_the_others_refer_to() {
    let folders = [Folder::new("merged-one"), Folder::new("merged-other")];
    let [one, other] = folders.each_ref().map(Folder::open);
    let keys = [one.public_key(), other.public_key()];
    write(&one, 3);
    write(&other, 2);
    let early = capsule(&other, 1);
    refer(&one, &other);
    write(&other, 3);
    refer(&other, &one);
    refer(&one, &other);
    let all = [capsule(&one, 1), capsule(&other, 1)];
    let merged = merge_capsules(&keys, &all).expect("genuine");
    let lines = [&one, &other].map(|store| store.snapshot().head_line().expect("reads").expect("there is one").text);
    let heads = read_heads_of(&keys, lines.concat().as_bytes()).expect("genuine");
    let verified = verify_merged(&keys, &merged, &heads).expect("genuine");
    assert_eq!((verified.references, verified.earlier), (3, 0));
    assert!(verified.capsules.iter().all(|capsule| capsule.heads == 1), "each is compared with its own");
    assert_eq!(
        merge_capsules(&keys, std::slice::from_ref(&merged)),
        Ok(merged.clone()),
        "merging again changes nothing"
    );
    // What the other had before is not what the one refers to any more.
    let truncated = merge_capsules(&keys, &[all[0].clone(), early]);
    assert!(
        matches!(truncated, Err(MergedError::Truncated(by, database, 6)) if by.record == 5 && database == other.database_id()),
        "{truncated:?}"
    );
    assert_eq!(merge_capsules(&keys, &all[..1]), Err(MergedError::NoCapsule(other.public_key())));
    let alone = merge_capsules(&keys[..1], &all[..1]);
    assert!(
        matches!(alone, Err(MergedError::Missing(by, reference)) if (by.record, reference.sequence) == (4, 2)),
        "{alone:?}"
    );
    assert_eq!(merge_capsules(&keys[..1], &all), Err(MergedError::NoKey(other.database_id())));
    for place in 0..merged.len() {
        for bit in 0..8 {
            let mut changed = merged.clone();
            changed[place] ^= 1 << bit;
            assert!(verify_merged(&keys, &changed, &[]).is_err(), "byte {place} bit {bit}");
        }
        assert!(verify_merged(&keys, &merged[..place], &[]).is_err(), "cut at {place}");
    }
    // Alone each is as genuine as before.
    for (key, capsule) in keys.iter().zip(&all) {
        verify_capsule(key, capsule, None).expect("genuine");
        assert_eq!(verify_capsule(key, &merged, None), Err(VerifyError::Malformed));
    }
}

#[test]
fn references_to_records_before_a_capsules_first_are_counted() {
    let folders = [Folder::new("merged-late-one"), Folder::new("merged-late-other")];
    let [one, other] = folders.each_ref().map(Folder::open);
    let keys = [one.public_key(), other.public_key()];
    write(&other, 10);
    refer(&one, &other);
    write(&other, 600);
    refer(&one, &other);
    // From the checkpoint of record 512 on.
    let merged = merge_capsules(&keys, &[capsule(&one, 1), capsule(&other, 600)]).expect("genuine");
    let verified = verify_merged(&keys, &merged, &[]).expect("genuine");
    assert_eq!((verified.references, verified.earlier), (1, 1));
}
