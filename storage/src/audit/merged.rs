//! Capsules of several databases in one file: each its own chain under its own key, held together by what their records refer to.
//!
//! ```text
//! "DOGWMRG1" ‖ { length(varint) ‖ capsule }…      in order of their databases' ids, each database once
//!
//! a   1 ─▶ 2 ─▶ 3 ─▶ 4 ─▶ 5        record 4 of a says where b ended; record 3 of b says where a ended
//!          ▲         │
//! b   1 ───┼──▶ 2 ◀──┘ ─▶ 3
//!          └──────────────┘
//! ```
//! Nobody has to sign the file. A capsule that is cut off, replaced or left out is found by the others' records that refer to it.
//! A circle of references cannot be: each holds a hash of all that is before the record that it leads to.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::audit::capsule::CapsuleReader;
use crate::audit::group::{self, Links};
use crate::audit::log::log_name;
use crate::audit::logged::LogReference;
use crate::audit::published::PublishedHead;
use crate::audit::verify::{CapsuleSummary, VerifyError, follow};
use crate::crypto::{hex, sodium};
use crate::keyspace::varint;

/// What a merged file begins with.
pub const MERGED_MAGIC: &[u8; 8] = b"DOGWMRG1";

/// What a genuine merged file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedSummary {
    /// What each capsule holds.
    pub capsules: Vec<CapsuleSummary>,
    /// References that lead to the record that they name.
    pub references: u64,
    /// References to records before a capsule's first.
    pub earlier: u64,
}

/// A record that refers to another log: its database and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Referring {
    /// The database.
    pub database: [u8; 16],
    /// The number.
    pub record: u64,
}

/// Why a merged file is not what it claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergedError {
    /// It does not have the form of one.
    Malformed,
    /// A part of it, from 1, does not have the form of a capsule.
    Part(usize),
    /// None of the public keys that are given is this database's.
    NoKey([u8; 16]),
    /// A public key is given, and no capsule is of its database: one was left out.
    NoCapsule([u8; 32]),
    /// A published head is of a database whose capsule is not there.
    HeadWithout([u8; 16]),
    /// The capsule of a database stands twice, or not in its place.
    Misplaced([u8; 16]),
    /// A capsule is not what it claims to be.
    Capsule([u8; 16], VerifyError),
    /// A record that its database has signed cannot be read.
    Record(Referring),
    /// A record refers to a log whose capsule is not there.
    Missing(Referring, LogReference),
    /// A capsule ends before the record that another refers to.
    Truncated(Referring, [u8; 16], u64),
    /// A record is not the one that another refers to.
    Replaced(Referring, [u8; 16], u64),
}

impl fmt::Display for Referring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} of database {}", self.record, hex::encode(&self.database))
    }
}

impl fmt::Display for MergedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergedError::Malformed => f.write_str("these are no merged capsules, or they were damaged"),
            MergedError::Part(place) => write!(f, "part {place} of the file is no capsule, or it was damaged"),
            MergedError::NoKey(database) => {
                write!(f, "none of the public keys is that of database {}", hex::encode(database))
            }
            MergedError::NoCapsule(key) => {
                write!(f, "no capsule is of public key {}: it is missing", hex::encode(key))
            }
            MergedError::HeadWithout(database) => {
                write!(f, "a published head is of database {}, whose capsule is missing", hex::encode(database))
            }
            MergedError::Misplaced(database) => {
                write!(f, "the capsule of database {} stands twice, or was moved", hex::encode(database))
            }
            MergedError::Capsule(database, error) => write!(f, "database {}: {error}", hex::encode(database)),
            MergedError::Record(record) => write!(f, "{record} cannot be read"),
            MergedError::Missing(by, LogReference { log, sequence, .. }) => {
                write!(f, "{by} refers to record {sequence} of log {}, whose capsule is missing", hex::encode(log))
            }
            MergedError::Truncated(by, database, sequence) => {
                let database = hex::encode(database);
                write!(f, "the capsule of database {database} ends before record {sequence}, to which {by} refers")
            }
            MergedError::Replaced(by, database, sequence) => {
                write!(f, "record {sequence} of database {} is not the one to which {by} refers", hex::encode(database))
            }
        }
    }
}

impl std::error::Error for MergedError {}

/// Puts capsules, and those of merged files, into one file. What does not verify is not merged.
pub fn merge_capsules(public_keys: &[[u8; 32]], files: &[Vec<u8>]) -> Result<Vec<u8>, MergedError> {
    let mut capsules: Vec<&[u8]> = Vec::new();
    for file in files {
        match file.starts_with(MERGED_MAGIC) {
            true => capsules.extend(parts(file)?),
            false => capsules.push(file),
        }
    }
    let mut merged: Vec<([u8; 16], &[u8])> = Vec::new();
    for (place, capsule) in (1..).zip(capsules) {
        merged.push((CapsuleReader::open(capsule).ok_or(MergedError::Part(place))?.database, capsule));
    }
    merged.sort_by_key(|(database, _)| *database);
    let mut file = MERGED_MAGIC.to_vec();
    for (_, capsule) in merged {
        varint::write(capsule.len() as u64, &mut file);
        file.extend_from_slice(capsule);
    }
    verify_merged(public_keys, &file, &[])?;
    Ok(file)
}

/// Checks each capsule against its own of the public keys and its own of the published heads, and what their records refer to. Each
/// key's and each head's capsule has to be there.
pub fn verify_merged(
    public_keys: &[[u8; 32]],
    file: &[u8],
    heads: &[PublishedHead],
) -> Result<MergedSummary, MergedError> {
    sodium::initialize();
    let mut readers: Vec<CapsuleReader<'_>> = Vec::new();
    for (place, part) in (1..).zip(parts(file)?) {
        let reader = CapsuleReader::open(part).ok_or(MergedError::Part(place))?;
        if readers.last().is_some_and(|before| before.database >= reader.database) {
            return Err(MergedError::Misplaced(reader.database));
        }
        if !public_keys.contains(&reader.public_key) {
            return Err(MergedError::NoKey(reader.database));
        }
        readers.push(reader);
    }
    // What nobody refers to could be left out unseen: whoever verifies says of which databases there is something.
    let unused = public_keys.iter().find(|key| readers.iter().all(|reader| reader.public_key != **key));
    if let Some(key) = unused {
        return Err(MergedError::NoCapsule(*key));
    }
    if let Some(head) = heads.iter().find(|head| readers.iter().all(|reader| reader.database != head.database)) {
        return Err(MergedError::HeadWithout(head.database));
    }
    let mut references = References::default();
    readers.iter().for_each(|reader| references.collect(reader.clone()));
    let mut logs = HashMap::new();
    let mut capsules = Vec::new();
    for reader in readers {
        let (name, database) = (log_name(&reader.database, &reader.public_key), reader.database);
        let own = heads.iter().filter(|head| head.database == database);
        let own: Vec<_> = own.map(|head| (head.sequence, head.hash)).collect();
        // Of the records that others refer to, the hashes.
        let mut hashes = references.wanted(&name);
        let key = reader.public_key;
        let capsule = follow(&key, reader, own, &mut |sequence, hash| {
            hashes.entry(sequence).and_modify(|wanted| *wanted = Some(*hash));
        });
        let capsule = capsule.map_err(|error| MergedError::Capsule(database, error))?;
        logs.insert(name, (hashes, capsule.clone()));
        capsules.push(capsule);
    }
    let mut summary = MergedSummary { capsules, references: 0, earlier: 0 };
    if let Some(record) = references.unread {
        return Err(MergedError::Record(record));
    }
    for (by, reference) in references.all {
        let Some((hashes, capsule)) = logs.get(&reference.log) else {
            return Err(MergedError::Missing(by, reference));
        };
        let LogReference { sequence, hash, .. } = reference;
        match hashes.get(&sequence).copied().flatten() {
            Some(found) if found == hash => summary.references += 1,
            Some(_) => return Err(MergedError::Replaced(by, capsule.database, sequence)),
            None if sequence > capsule.last => return Err(MergedError::Truncated(by, capsule.database, sequence)),
            None => summary.earlier += 1,
        }
    }
    Ok(summary)
}

/// What records refer to, as they say; nothing of it is verified yet.
#[derive(Default)]
struct References {
    all: Vec<(Referring, LogReference)>,
    /// The first record that cannot be read.
    unread: Option<Referring>,
}

impl References {
    fn collect(&mut self, mut reader: CapsuleReader<'_>) {
        let database = reader.database;
        let Some(first) = reader.first_record() else { return };
        // Where it is cut or damaged is told by who verifies it.
        let records = std::iter::from_fn(move || reader.next_record().flatten());
        for (record, stored) in (first..).zip(records) {
            let Some((_, body)) = Links::of(stored) else { continue };
            let by = Referring { database, record };
            match group::references(body) {
                Some(found) => self.all.extend(found.into_iter().map(|reference| (by, reference))),
                None => drop(self.unread.get_or_insert(by)),
            }
        }
    }

    /// The records of a log that are referred to.
    fn wanted(&self, log: &[u8; 32]) -> BTreeMap<u64, Option<[u8; 32]>> {
        let to = self.all.iter().filter(|(_, reference)| reference.log == *log);
        to.map(|(_, reference)| (reference.sequence, None)).collect()
    }
}

/// The capsules of a merged file.
fn parts(file: &[u8]) -> Result<Vec<&[u8]>, MergedError> {
    let mut rest = file.strip_prefix(MERGED_MAGIC).ok_or(MergedError::Malformed)?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let read = || {
            let (length, rest) = varint::read(rest)?;
            rest.split_at_checked(usize::try_from(length).ok()?)
        };
        let (part, behind) = read().ok_or(MergedError::Part(parts.len() + 1))?;
        parts.push(part);
        rest = behind;
    }
    match parts.is_empty() {
        true => Err(MergedError::Malformed),
        false => Ok(parts),
    }
}
