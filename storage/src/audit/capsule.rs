//! Capsules: an exportable copy of the log, from its start or a checkpoint to the signed head.
//!
//! ```text
//! "DOGWCAP1" ‖ database id(16) ‖ public key(32) ‖ head(112)
//! ‖ 0, or 1 ‖ checkpoint before the first record(112) ‖ (length(varint) ‖ body)*
//! ```
//! A derived file: it can be made again from the database, and holds ciphertext and pseudonyms only.

use std::io::{self, Write};

use crate::audit::log::{self, CHECKPOINT_RECORDS, HEAD_BYTES};
use crate::error::{AuditFault, StorageError};
use crate::keyspace::varint;
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::Cursor;

const MAGIC: &[u8; 8] = b"DOGWCAP1";

/// Why a capsule could not be written.
#[derive(Debug)]
pub enum ExportError {
    /// Reading the log failed.
    Storage(StorageError),
    /// Writing the capsule failed.
    Write(io::Error),
}

impl From<StorageError> for ExportError {
    fn from(error: StorageError) -> ExportError {
        ExportError::Storage(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::Write(error)
    }
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExportError::Storage(error) => error.fmt(f),
            ExportError::Write(error) => write!(f, "could not write the capsule: {error}"),
        }
    }
}

impl std::error::Error for ExportError {}

impl Snapshot {
    /// Writes the log from the last checkpoint at or before `from` to its head. Gives false, and writes nothing, while the log is empty.
    pub fn export_capsule(&self, from: u64, out: &mut impl Write) -> Result<bool, ExportError> {
        let Some(head) = self.signed_head()? else { return Ok(false) };
        let checkpoint = from.saturating_sub(1) / CHECKPOINT_RECORDS * CHECKPOINT_RECORDS;
        let start = match checkpoint {
            0 => None,
            sequence => self.get(Family::Audit, &log::checkpoint_key(sequence), "read a checkpoint")?,
        };
        let first = if start.is_some() { checkpoint + 1 } else { 1 };
        out.write_all(MAGIC)?;
        out.write_all(&self.store().database_id())?;
        out.write_all(&self.store().public_key())?;
        out.write_all(&head)?;
        match start {
            Some(start) => {
                out.write_all(&[1])?;
                out.write_all(&start)?;
            }
            None => out.write_all(&[0])?,
        }
        let mut expected = first;
        let mut cursor = Cursor::range(
            self,
            Family::Audit,
            log::RECORDS,
            std::ops::Bound::Included(&first.to_be_bytes()),
            std::ops::Bound::Unbounded,
            crate::snapshot::cursor::Direction::Forward,
        );
        let mut framed = Vec::new();
        while let Some(sequence) = cursor.next("read the audit log", |key, body| {
            framed.clear();
            varint::write(body.len() as u64, &mut framed);
            framed.extend_from_slice(body);
            log::number_of(key)
        })? {
            if sequence != Some(expected) {
                return Err(StorageError::Audit(AuditFault::Missing { record: expected }).into());
            }
            expected += 1;
            out.write_all(&framed)?;
        }
        Ok(true)
    }
}

/// Reads a capsule's parts; checks nothing but its form.
#[derive(Clone)]
pub(crate) struct CapsuleReader<'a> {
    pub(crate) database: [u8; 16],
    pub(crate) public_key: [u8; 32],
    pub(crate) head: [u8; HEAD_BYTES],
    pub(crate) start: Option<[u8; HEAD_BYTES]>,
    rest: &'a [u8],
}

impl<'a> CapsuleReader<'a> {
    pub(crate) fn open(capsule: &'a [u8]) -> Option<CapsuleReader<'a>> {
        let rest = capsule.strip_prefix(MAGIC)?;
        let (database, rest) = rest.split_first_chunk()?;
        let (public_key, rest) = rest.split_first_chunk()?;
        let (head, rest) = rest.split_first_chunk()?;
        let (start, rest) = match rest.split_first()? {
            (0, rest) => (None, rest),
            (1, rest) => {
                let (start, rest) = rest.split_first_chunk()?;
                (Some(*start), rest)
            }
            _ => return None,
        };
        Some(CapsuleReader { database: *database, public_key: *public_key, head: *head, start, rest })
    }

    /// The first record's number, as the capsule says; none where there can be no such.
    pub(crate) fn first_record(&self) -> Option<u64> {
        let before = |start: &[u8; HEAD_BYTES]| u64::from_be_bytes(*start.first_chunk().expect("a head is longer"));
        self.start.as_ref().map_or(0, before).checked_add(1)
    }

    /// The next record's body, `Some(None)` at the end, `None` when the capsule is cut or damaged.
    pub(crate) fn next_record(&mut self) -> Option<Option<&'a [u8]>> {
        if self.rest.is_empty() {
            return Some(None);
        }
        let (length, rest) = varint::read(self.rest)?;
        let (body, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(Some(body))
    }
}
