//! Measures the leaves: bytes on disk for a million 100-byte rows, point reads, opening keys lazily.
//!
//! `cargo run --release -p storage --example leaves -- <folder> [rows] [aegis|gcm]`; the folder is removed before and kept after.

use std::path::Path;
use std::time::Instant;

use repr::{IndexId, RelationId, Row};
use storage::{Batch, Cipher, OwnerSet, Reclaim, Snapshot, Store, StoreOptions};

const PEOPLE: RelationId = RelationId(16_384);
const POSTS: RelationId = RelationId(16_385);
const BY_AUTHOR: IndexId = IndexId(16_390);

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: leaves <folder> [rows] [aegis|gcm]")?;
    let rows: u32 = arguments.next().map_or(Ok(1_000_000), |rows| rows.parse())?;
    let cipher = match arguments.next().as_deref() {
        Some("gcm") => Cipher::Aes256Gcm,
        _ => Cipher::Aegis256,
    };
    if Path::new(&folder).exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let options = StoreOptions { cipher, ..StoreOptions::new(&folder) };
    let store = Store::open(&options)?;
    let started = Instant::now();
    let people = rows / 10;
    fill(&store, people)?;
    store.flush()?;
    let filled = started.elapsed();
    println!("filled {rows} rows in {filled:.1?}, {:.1} µs a row", filled.as_secs_f64() * 1e6 / f64::from(rows));
    store.reclaim(&[Reclaim::Everything])?;
    let bytes = folder_bytes(Path::new(&folder))?;
    println!("on disk {bytes} bytes, {:.3} times the rows", bytes as f64 / (f64::from(rows) * 100.0));
    println!("{:?}", store.statistics());
    drop(store);

    let started = Instant::now();
    let store = Store::open(&options)?;
    println!("opened in {:.1?}", started.elapsed());
    let snapshot = store.snapshot();
    read_points(&store, &snapshot, rows)?;
    let started = Instant::now();
    for n in 0..100_000_u32 {
        assert!(snapshot.get_personal(POSTS, &store.hash_key(POSTS, &(rows + n).to_be_bytes()))?.is_none());
    }
    println!("absent: {:.2} µs", started.elapsed().as_secs_f64() * 10.0);
    read_by_index(&store, &snapshot, people)?;
    let started = Instant::now();
    let scanned = snapshot.scan(POSTS, true).try_fold(0_u32, |rows, row| row.map(|_| rows + 1))?;
    println!("scanned {scanned} rows: {:.2} µs a row", started.elapsed().as_secs_f64() * 1e6 / f64::from(scanned));
    Ok(())
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// People, each with ten posts.
fn fill(store: &Store, people: u32) -> Outcome {
    for person in 0..people {
        let owner = store.allocate_microdb()?;
        let owners = OwnerSet::single(owner);
        let mut batch = Batch::default();
        batch.put_subject(PEOPLE, &store.hash_key(PEOPLE, &person.to_be_bytes()), owner);
        let value = store.hash_index(BY_AUTHOR, &person.to_be_bytes());
        for post in person * 10..person * 10 + 10 {
            let key = store.hash_key(POSTS, &post.to_be_bytes());
            let mut bytes = [0x5a; 100];
            bytes[..4].copy_from_slice(&post.to_be_bytes());
            batch.put_personal(store, POSTS, &key, &Row::from_bytes(bytes.into()), &owners, 1)?;
            batch.put_owner(POSTS, &key, owner, 1);
            batch.put_index_hashed(BY_AUTHOR, &value, &key, Some(owner));
        }
        store.write(batch)?;
    }
    Ok(())
}

fn read_points(store: &Store, snapshot: &Snapshot, rows: u32) -> Outcome {
    for round in ["cold", "warm"] {
        let started = Instant::now();
        let mut state = 1_u32;
        for _ in 0..100_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let post = ((u64::from(state) * u64::from(rows)) >> 32) as u32;
            let found = snapshot.get_personal(POSTS, &store.hash_key(POSTS, &post.to_be_bytes()))?;
            assert!(found.is_some_and(|row| row.bytes()[..4] == post.to_be_bytes()));
        }
        println!("{round} point reads: {:.2} µs", started.elapsed().as_secs_f64() * 10.0);
    }
    Ok(())
}

fn read_by_index(store: &Store, snapshot: &Snapshot, people: u32) -> Outcome {
    let started = Instant::now();
    for person in 0..10_000_u32 {
        let value = store.hash_index(BY_AUTHOR, &(person % people).to_be_bytes());
        for (key, locator) in snapshot.index_hashed(BY_AUTHOR, &value)? {
            let owner = locator.ok_or("every entry has a locator")?;
            assert!(snapshot.get_copy(POSTS, &key, owner)?.is_some());
        }
    }
    println!("index and its ten rows: {:.2} µs", started.elapsed().as_secs_f64() * 100.0);
    let started = Instant::now();
    let mut probe = snapshot.index_probe();
    for person in 0..10_000_u32 {
        let value = store.hash_index(BY_AUTHOR, &(person % people).to_be_bytes());
        let entries = probe.rows(BY_AUTHOR, &value)?;
        let copies: Option<Vec<_>> = entries.iter().map(|(key, locator)| Some((key, (*locator)?))).collect();
        let copies = copies.ok_or("every entry has a locator")?;
        assert!(snapshot.get_copies(POSTS, &copies)?.iter().all(Option::is_some));
    }
    println!("index by one cursor and its ten rows at once: {:.2} µs", started.elapsed().as_secs_f64() * 100.0);
    Ok(())
}

fn folder_bytes(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { folder_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
