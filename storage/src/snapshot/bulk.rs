//! All rows of a relation, some at a time: sealed bytes are taken from the store first, and opened then, a person's together.
//!
//! ```text
//! cursor ─▶ keys and seals of the next rows ─▶ by whose they are ─▶ opened, one behind the other, under one look at the keyring
//! ```
//! For who wants no keys. Rows and errors come as from `Snapshot::scan`: an error behind the rows that stand before it. Between two
//! calls no key is at hand, and of the rows no more is held than those that were given last.

use std::ops::Range;
use std::sync::Arc;

use repr::{RelationId, RowKey};

use crate::crypto::seal::{Header, SealKind, SealPlace};
use crate::error::StorageError;
use crate::keyspace::{self, ROW_PREFIX_BYTES};
use crate::people_read::PeopleRead;
use crate::snapshot::cursor::Cursor;
use crate::snapshot::malformed;
use crate::store::Store;

/// Rows that are opened together: few at first, as few may be wanted.
const ROWS_AT_ONCE_FIRST: usize = 4;
const ROWS_AT_ONCE_MAX: usize = 64;
/// No more are taken once their seals are so long.
const BYTES_AT_ONCE: usize = 64 << 10;

/// Rows that were opened together, as they are packed.
#[derive(Default)]
pub struct OpenedRows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl OpenedRows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One of them.
    pub fn row(&self, number: usize) -> &[u8] {
        let from = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[from..self.ends[number]]
    }

    fn clear(&mut self) {
        // Shorter ones that come next would leave their ends there.
        self.bytes.fill(0);
        self.bytes.clear();
        self.ends.clear();
    }
}

/// See the module.
pub struct BulkScan {
    store: Store,
    cursor: Cursor,
    relation: RelationId,
    personal: bool,
    observer: Option<Arc<PeopleRead>>,
    taken: TakenRows,
    at_once: usize,
    failed: Option<StorageError>,
}

/// Keys and seals of the rows to be opened, one behind the other.
#[derive(Default)]
struct TakenRows {
    bytes: Vec<u8>,
    entries: Vec<SealedEntry>,
}

/// Where a row's key and its seal stand among those that were taken.
struct SealedEntry {
    key: Range<usize>,
    seal: Range<usize>,
}

impl BulkScan {
    pub(super) fn new(cursor: Cursor, relation: RelationId, personal: bool, observer: Option<Arc<PeopleRead>>) -> Self {
        BulkScan {
            store: cursor.snapshot().store().clone(),
            cursor,
            relation,
            personal,
            observer,
            taken: TakenRows::default(),
            at_once: ROWS_AT_ONCE_FIRST,
            failed: None,
        }
    }

    /// Replaces `rows` with the next ones; there are none at the end, and after an error.
    pub fn next(&mut self, rows: &mut OpenedRows) -> Result<(), StorageError> {
        rows.clear();
        if let Some(error) = self.failed.take() {
            self.cursor.end();
            return Err(error);
        }
        if let Err(error) = self.take().and_then(|()| self.open(rows)) {
            if rows.is_empty() {
                self.cursor.end();
                return Err(error);
            }
            self.failed = Some(error);
        }
        self.at_once = (self.at_once * 2).min(ROWS_AT_ONCE_MAX);
        Ok(())
    }

    /// Takes keys and seals of the next rows; those before an entry that is no row's are opened before it is told.
    fn take(&mut self) -> Result<(), StorageError> {
        let BulkScan { cursor, relation, personal, taken: TakenRows { bytes, entries }, at_once, failed, .. } = self;
        bytes.clear();
        entries.clear();
        while entries.len() < *at_once && bytes.len() < BYTES_AT_ONCE {
            let taken = cursor.next("scan a relation", |key, seal| -> Result<(), StorageError> {
                if *personal && !is_row(*relation, key, seal)? {
                    return Ok(());
                }
                let start = bytes.len();
                bytes.extend_from_slice(key);
                bytes.extend_from_slice(seal);
                let middle = start + key.len();
                entries.push(SealedEntry { key: start..middle, seal: middle..bytes.len() });
                Ok(())
            });
            match taken {
                Ok(Some(Ok(()))) => {}
                Ok(None) => break,
                Ok(Some(Err(error))) | Err(error) if entries.is_empty() => return Err(error),
                Ok(Some(Err(error))) | Err(error) => {
                    *failed = Some(error);
                    break;
                }
            }
        }
        Ok(())
    }

    fn open(&self, rows: &mut OpenedRows) -> Result<(), StorageError> {
        let TakenRows { bytes, entries } = &self.taken;
        if !self.personal {
            for entry in entries {
                let place = SealPlace::Impersonal(self.relation, &bytes[entry.key.clone()][4..]);
                let (_, plain) = self.store.open_impersonal(place, &bytes[entry.seal.clone()])?;
                rows.bytes.extend_from_slice(&plain);
                rows.ends.push(rows.bytes.len());
            }
            return Ok(());
        }
        let owner_of = |entry: &SealedEntry| &bytes[entry.key.clone()][..ROW_PREFIX_BYTES];
        let mut seals: Vec<(SealPlace<'_>, &[u8])> = Vec::with_capacity(entries.len());
        for of_one in entries.chunk_by(|one, other| owner_of(one) == owner_of(other)) {
            let Some(first) = of_one.first() else { continue };
            let (owner, _) = keyspace::parse_personal_row(&bytes[first.key.clone()]).ok_or(malformed(self.relation))?;
            seals.clear();
            seals.extend(of_one.iter().map(|entry| {
                let key = &bytes[entry.key.clone()][ROW_PREFIX_BYTES..];
                (SealPlace::Personal(self.relation, owner, key), &bytes[entry.seal.clone()])
            }));
            let before = rows.len();
            let opened = self.store.open_personal_all(owner, &seals, &mut rows.bytes, &mut rows.ends);
            if let Some(observer) = &self.observer {
                for entry in &of_one[..rows.len() - before] {
                    let key = || RowKey::new(&bytes[entry.key.clone()][ROW_PREFIX_BYTES..]);
                    observer.note_by(self.relation, owner, key);
                }
            }
            opened?;
        }
        Ok(())
    }
}

/// Whether an entry is the copy of a row that scans read.
fn is_row(relation: RelationId, key: &[u8], seal: &[u8]) -> Result<bool, StorageError> {
    let (header, _) = Header::parse(seal).ok_or(malformed(relation))?;
    match header.kind {
        SealKind::Personal { canonical } => match keyspace::is_personal_row(key) {
            true => Ok(canonical),
            false => Err(malformed(relation)),
        },
        SealKind::Impersonal => Err(malformed(relation)),
    }
}
