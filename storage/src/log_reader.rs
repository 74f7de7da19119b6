//! Reads RocksDB's log by itself, past what is damaged: what is lost is told from what a crash tore, and what can still be read
//! is counted. Only looked at when something is wrong; nothing here writes.
//!
//! ```text
//! log    = block(32 KiB)*
//! block  = record* ‖ fewer than 7 bytes of filling, or zeros that were written ahead
//! record = masked CRC-32C of all that follows(4) ‖ length(2) ‖ whole 1, first 2, middle 3, last 4 ‖ part of a batch
//! ```
//! Integers are little-endian. Batches are as `write_form` writes them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use repr::RelationId;

use crate::audit::log as audit_log;
use crate::error::StorageError;
use crate::keyspace::varint;
use crate::rocks::Family;
use crate::write_form::{self, WriteForm};

const BLOCK_BYTES: usize = 32 << 10;
const HEADER_BYTES: usize = 7;

const WHOLE: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// What stands in the logs of a folder.
#[derive(Debug, Default)]
pub(crate) struct LogContents {
    /// The first record that does not hold.
    pub(crate) damage: Option<(PathBuf, u64)>,
    /// Whether records that hold stand behind it: a torn tail has none.
    pub(crate) goes_on: bool,
    /// Batches of commits that were asked for.
    pub(crate) commits: u64,
    /// Receipts in them.
    pub(crate) receipts: u64,
    /// Copies of rows written and deleted in them.
    pub(crate) rows: BTreeMap<RelationId, (u64, u64)>,
}

/// Reads every log of a folder; counts the batches behind a sequence number.
pub(crate) fn examine(folder: &Path, form: &WriteForm, behind: u64) -> Result<LogContents, StorageError> {
    let mut found = LogContents::default();
    for path in logs(folder).map_err(StorageError::io("list", folder))? {
        let bytes = fs::read(&path).map_err(StorageError::io("read log", &path))?;
        found.read(&path, &bytes, form, behind);
    }
    Ok(found)
}

/// The logs, oldest first.
fn logs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut logs = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "log")
            && let Some(number) = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok())
        {
            logs.insert(number, path);
        }
    }
    Ok(logs.into_values().collect())
}

impl LogContents {
    fn read(&mut self, path: &Path, bytes: &[u8], form: &WriteForm, behind: u64) {
        let mut batch: Option<Vec<u8>> = None;
        for (number, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
            let mut at = 0;
            while let Some(rest) = block.get(at..).filter(|rest| rest.len() >= HEADER_BYTES) {
                let Some((kind, part)) = record(rest) else {
                    if rest.iter().any(|byte| *byte != 0) && self.damage.is_none() {
                        self.damage = Some((path.to_owned(), (number * BLOCK_BYTES + at) as u64));
                    }
                    // Where the next record would begin is not known before the next block.
                    batch = None;
                    break;
                };
                at += HEADER_BYTES + part.len();
                self.goes_on |= self.damage.is_some();
                match kind {
                    WHOLE => self.count(part, form, behind),
                    FIRST => batch = Some(part.to_vec()),
                    MIDDLE => batch.iter_mut().for_each(|batch| batch.extend_from_slice(part)),
                    LAST => {
                        if let Some(mut batch) = batch.take() {
                            batch.extend_from_slice(part);
                            self.count(&batch, form, behind);
                        }
                    }
                    // What RocksDB notes for itself.
                    _ => {}
                }
            }
        }
    }

    fn count(&mut self, batch: &[u8], form: &WriteForm, behind: u64) {
        let Some((header, mut rest)) = batch.split_first_chunk::<{ write_form::HEADER_BYTES }>() else { return };
        let Some(sequence) = header.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)) else { return };
        if sequence <= behind {
            return;
        }
        self.commits += 1;
        while let Some((tag, family, key, after)) = operation(rest, form) {
            rest = after;
            match family {
                Family::Rows => {
                    let Some(relation) = key.first_chunk().map(|bytes| RelationId(u32::from_be_bytes(*bytes))) else {
                        continue;
                    };
                    let counts = self.rows.entry(relation).or_default();
                    if tag == write_form::PUT { counts.0 += 1 } else { counts.1 += 1 }
                }
                Family::Audit => {
                    self.receipts += u64::from(tag == write_form::PUT && key.starts_with(audit_log::RECEIPTS));
                }
                Family::Index | Family::Owners | Family::Subjects | Family::Meta => {}
            }
        }
    }
}

/// A record that holds: its kind and its part of a batch.
fn record(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (checksum, rest) = bytes.split_first_chunk()?;
    let (length, _) = rest.split_first_chunk()?;
    let covered = rest.get(2..3 + usize::from(u16::from_le_bytes(*length)))?;
    let (kind, part) = covered.split_first()?;
    (*kind != 0 && masked(crc32c(covered)) == u32::from_le_bytes(*checksum)).then_some((*kind, part))
}

/// An operation's tag, family and key, and what follows.
fn operation<'a>(bytes: &'a [u8], form: &WriteForm) -> Option<(u8, Family, &'a [u8], &'a [u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (family, rest) = form.family(rest)?;
    let (key, rest) = part(rest)?;
    match *tag {
        write_form::DELETE => Some((*tag, family, key, rest)),
        write_form::PUT | write_form::DELETE_RANGE => part(rest).map(|(_, rest)| (*tag, family, key, rest)),
        _ => None,
    }
}

fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = varint::read(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// The checksum as RocksDB stores it, so that a checksum of checksums is none by accident.
fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), a byte at a time.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !bytes.iter().fold(!0, |sum: u32, byte| TABLE[usize::from(sum as u8 ^ byte)] ^ (sum >> 8))
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0x82f6_3b78 } else { sum >> 1 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn the_checksum_is_castagnolis() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
