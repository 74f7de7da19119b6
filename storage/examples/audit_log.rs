//! Measures how the audit log grows: bytes an entry on the disk, and what questions take among ten times as many entries, and again.
//!
//! `cargo run --release -p storage --example audit_log -- <folder> [entries] [entries a record]`; the folder is removed before and after.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use repr::{CommitTime, Id, MicroDbId, RelationId};
use storage::audit::{AuditActor, AuditEntry, AuditOperation, AuditScope, EntryRange, Mentioned, verify_capsule};
use storage::{Batch, Snapshot, Store, StoreOptions};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Of everybody but one, who is mentioned in every ten thousandth entry of the first hundred thousand.
const PEOPLE: u64 = 50_000;
const RARE: u64 = 900_000;
const RARE_ROLE: Id = 50;
const RARE_TABLE: RelationId = RelationId(17_000);
/// Microseconds between two entries.
const APART_US: i64 = 50;

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: audit_log <folder> [entries] [entries a record]")?;
    let entries: u64 = arguments.next().map_or(Ok(1_000_000), |entries| entries.parse())?;
    let group: u64 = arguments.next().map_or(Ok(16), |group| group.parse())?;
    if Path::new(&folder).exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let store = Store::open(&StoreOptions::new(&folder))?;
    let (mut written, mut goal) = (0, 10_000);
    println!(
        "| entries | filled, µs each | bytes each | a person | a role | a table | a role within 5 ms | within 5 ms | proof | opened |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    while goal <= entries {
        let began = Instant::now();
        let before = written;
        while written < goal {
            write(&store, written, group.min(goal - written))?;
            written += group.min(goal - written);
            while written % 4_096 < group && store.post_audit(16)? {}
        }
        let filled = began.elapsed().as_secs_f64() * 1e6 / (written - before) as f64;
        store.flush()?;
        measure(&store, &folder, written, filled)?;
        goal *= 10;
    }
    verify(&store, written)?;
    drop(store);
    let began = Instant::now();
    drop(Store::open(&StoreOptions::new(&folder))?);
    println!("opened in {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn person(number: u64) -> MicroDbId {
    MicroDbId(u128::from(number).to_be_bytes())
}

fn write(store: &Store, from: u64, count: u64) -> Outcome {
    let mut batch = Batch::default();
    for number in from..from + count {
        let is_rare = number < 100_000 && number % 1000 == 500;
        let mix = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let actor = AuditActor {
            login: if is_rare { RARE_ROLE } else { 100 + (mix % 20) as Id },
            role: 100,
            purpose: None,
            address: Some([10, 0, 0, (mix % 8) as u8].into()),
        };
        batch.append_audit(
            store,
            &AuditEntry {
                time_us: number as i64 * APART_US,
                commit: CommitTime(number / 4),
                actor: Arc::new(actor),
                operation: AuditOperation::Select,
                statement: [(mix % 16) as u8; 8],
                tables: [if is_rare { RARE_TABLE } else { RelationId(16_384 + (mix % 10) as u32) }].into(),
                key: None,
                subjects: vec![person(if is_rare { RARE } else { 1 + mix % PEOPLE })],
                scope: AuditScope::default(),
                rows: 1,
                payload: None,
            },
        )?;
    }
    Ok(store.write(batch)?)
}

fn measure(store: &Store, folder: &str, written: u64, filled: f64) -> Outcome {
    let bytes = folder_bytes(Path::new(folder))? as f64 / written as f64;
    let snapshot = store.snapshot();
    let middle = written as i64 / 2 * APART_US;
    let within = EntryRange { times: middle..=middle + 5_000, ..EntryRange::ALL };
    let of = |mentioned: Mentioned, range: &EntryRange| timed(|| Ok(snapshot.audit_of(&[mentioned], range)?.count()));
    let questions = [
        of(Mentioned::Person(store.pseudonym(person(RARE))), &EntryRange::ALL)?,
        of(Mentioned::Role(RARE_ROLE), &EntryRange::ALL)?,
        of(Mentioned::Table(RARE_TABLE), &EntryRange::ALL)?,
        of(Mentioned::Role(100), &within)?,
        timed(|| Ok(snapshot.audit(&within)?.count()))?,
        timed(|| Ok(usize::from(prove(&snapshot, written / 3)?)))?,
    ];
    let questions: Vec<String> = questions.iter().map(|(found, ms)| format!("{found} in {ms:.2} ms")).collect();
    println!("| {written} | {filled:.1} | {bytes:.1} | {} |", questions.join(" | "));
    Ok(())
}

fn prove(snapshot: &Snapshot, entry: u64) -> Outcome<bool> {
    let record = snapshot.record_of_entry(entry)?.ok_or("no such entry")?;
    Ok(snapshot.prove(record, None)?.is_some())
}

/// What is found, and the median of some times in milliseconds.
fn timed(ask: impl Fn() -> Outcome<usize>) -> Outcome<(usize, f64)> {
    let mut times = Vec::new();
    let mut found = 0;
    for _ in 0..11 {
        let began = Instant::now();
        found = ask()?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok((found, times[5]))
}

fn verify(store: &Store, written: u64) -> Outcome {
    let began = Instant::now();
    let mut capsule = Vec::new();
    store.snapshot().export_capsule(1, &mut capsule)?;
    let exported = began.elapsed().as_secs_f64();
    let began = Instant::now();
    verify_capsule(&store.public_key(), &capsule, None)?;
    let took = began.elapsed().as_secs_f64();
    let rate = |took: f64| written as f64 / took;
    println!(
        "exported {:.0} and verified {:.0} entries a second, {:.1} bytes each",
        rate(exported),
        rate(took),
        capsule.len() as f64 / written as f64
    );
    Ok(())
}

fn folder_bytes(folder: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { folder_bytes(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
