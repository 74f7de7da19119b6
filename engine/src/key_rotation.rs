//! Rotation of the key-encryption key: `dogwood rotate` and `dogwood shred` over a stopped server's folder, and by itself
//! while a server runs.

use state::SqlError;
use state::clock::now_micros;
use std::path::Path;
use std::time::{Duration, Instant};
use storage::{Batch, Mode, RootKeySource, Rotation, StorageError, Store};
use transactions::database::{Database, open_stopped};

/// Where the moment of the last rotation stands: microseconds since 2000-01-01 UTC.
const ROTATED: &[u8] = b"keys/rotated";
const LOOKS_EVERY: Duration = Duration::from_secs(20);

/// Rewrites a stopped server's data keys under a fresh key-encryption key. With `root` the root key becomes another, too: that
/// which is named, or a new one in the file of the present. How many keys there are.
pub fn rotate(
    data: &Path,
    root_key: RootKeySource,
    root: Option<Option<&RootKeySource>>,
    rotation: Rotation,
) -> Result<u64, SqlError> {
    let store = open_stopped(data, &root_key, Mode::Serve)?;
    match root {
        Some(to) => store.replace_root_key(to, rotation)?,
        None => store.rotate_keyring(rotation)?,
    }
    Ok(keys_of(&store))
}

/// When the next rotation is due.
#[derive(Default)]
pub(crate) struct RotationSchedule {
    looked: Option<Instant>,
}

impl RotationSchedule {
    /// Rotates if it is time.
    pub(crate) fn look(&mut self, database: &Database) {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOKS_EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        if let Err(error) = rotate_if_due(database) {
            tracing::warn!(target: "dogwood::storage", "the key-encryption key could not be replaced: {error}");
        }
    }
}

/// Rotates now. How many keys there are.
pub(crate) fn rotate_now(database: &Database) -> Result<u64, StorageError> {
    replace(database, "the key-encryption key", || database.store.rotate_keyring(Rotation::Rotate))
}

/// The same under a new root key, in the file of the present. How many keys there are.
pub(crate) fn replace_root_now(database: &Database) -> Result<u64, StorageError> {
    replace(database, "the root key", || database.store.replace_root_key(None, Rotation::Rotate))
}

fn replace(
    database: &Database,
    what: &str,
    act: impl FnOnce() -> Result<(), StorageError>,
) -> Result<u64, StorageError> {
    let began = Instant::now();
    act()?;
    let (keys, took_ms) = (keys_of(&database.store), began.elapsed().as_secs_f64() * 1e3);
    tracing::info!(target: "dogwood::storage", keys, took_ms, "{what} is replaced");
    note_rotation(database)?;
    Ok(keys)
}

fn keys_of(store: &Store) -> u64 {
    let statistics = store.statistics();
    statistics.keyring_slots - statistics.keyring_slots_free
}

/// From now on the time to the next counts.
fn note_rotation(database: &Database) -> Result<(), StorageError> {
    let mut batch = Batch::default();
    batch.put_meta(&database.store, ROTATED, &now_micros().to_be_bytes());
    database.store.check_room(&batch)?;
    database.store.write(batch)?;
    database.store.flush()
}

fn rotate_if_due(database: &Database) -> Result<(), StorageError> {
    let minutes = database.sessions.settings.key_rotation.kept();
    if minutes == 0 || database.store.is_read_only() {
        return Ok(());
    }
    let rotated = database.store.snapshot().meta(ROTATED)?.and_then(|moment| moment.try_into().ok());
    let now = now_micros();
    match rotated.map(i64::from_be_bytes) {
        Some(rotated) if now.saturating_sub(rotated) / 60_000_000 < minutes as i64 => Ok(()),
        Some(_) => rotate_now(database).map(|_keys| ()),
        // Of a new folder, and one of before there were rotations, the time begins now.
        None => note_rotation(database),
    }
}
