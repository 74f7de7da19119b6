//! Offline verification: a receipt or a capsule against the published public key, with no server and no other secret.
//!
//! The public key comes from the verifier, never from what is verified: one that travels with a receipt proves nothing.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::audit::capsule::CapsuleReader;
use crate::audit::group::{FORM_OF_EMPTIED, Links};
use crate::audit::log::{HEAD_BYTES, Head, hash_after, log_name};
use crate::audit::receipt::{IN_PART, ReceiptTable, SIGNATURE_END, SIGNATURE_START, WHOLE, message};
use crate::crypto::{hex, sodium};

const SIGNATURE_DIGITS: usize = 128;

/// Why something is not what it claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// It does not have the form of a receipt or capsule.
    Malformed,
    /// The signature was not made by this key over this text.
    Signature,
    /// A capsule of another database or another key.
    OtherLog,
    /// A record was changed, removed, added or moved.
    Chain {
        /// The first record from which the head does not follow, as far as checkpoints tell.
        after: u64,
    },
    /// The capsule ends before a head that was published.
    Truncated,
    /// Another record has the number of one whose head was published.
    Replaced {
        /// That number.
        sequence: u64,
    },
    /// A record has lost its entries, and one before it has not: nothing that is kept for a time only does that.
    Emptied {
        /// Its number.
        sequence: u64,
    },
    /// A checkpoint of the log is missing, or was changed.
    Checkpoint {
        /// Of which record.
        sequence: u64,
    },
    /// A receipt is missing or was changed.
    Receipt {
        /// Its number.
        number: u64,
    },
    /// All heads that were published are of records before the capsule's first.
    HeadsBefore,
    /// No published head of this log, or one that was changed.
    Head,
    /// A proof leads from a head that is none of those published.
    HeadNotPublished,
    /// A proof does not lead to its record.
    Proof {
        /// The record that is not the one which the head leads to.
        at: u64,
    },
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyError::Malformed => f.write_str("this is no receipt or capsule, or it was damaged"),
            VerifyError::Signature => f.write_str("the signature does not match this text and public key"),
            VerifyError::OtherLog => f.write_str("the capsule belongs to another database or public key"),
            VerifyError::Chain { after } => {
                write!(f, "a record after number {after} was changed, removed, added or moved")
            }
            VerifyError::Truncated => f.write_str("the capsule ends before the published head"),
            VerifyError::Replaced { sequence } => {
                write!(f, "record {sequence} is not the one whose head was published")
            }
            VerifyError::Emptied { sequence } => {
                write!(f, "the entries of record {sequence} are missing, and earlier ones are there")
            }
            VerifyError::Checkpoint { sequence } => {
                write!(f, "the signed checkpoint of record {sequence} is missing or was changed")
            }
            VerifyError::Receipt { number } => {
                write!(f, "receipt {number} is missing or was changed")
            }
            VerifyError::HeadsBefore => f.write_str(
                "all published heads are of records before the capsule's first: export it from an earlier record",
            ),
            VerifyError::Head => f.write_str("a published head was changed, or is of another database or public key"),
            VerifyError::HeadNotPublished => f.write_str("the proof leads from a head that is none of those published"),
            VerifyError::Proof { at } => {
                write!(f, "the proof does not hold: record {at} is not the one that the signed head leads to")
            }
        }
    }
}

impl std::error::Error for VerifyError {}

/// What a genuine receipt says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptSummary {
    /// Its id.
    pub id: [u8; 16],
    /// The database that issued it.
    pub database: [u8; 16],
    /// Microseconds since 2000-01-01 UTC.
    pub time_us: i64,
    /// The person's pseudonym.
    pub subject: [u8; 16],
    /// What was done in each table.
    pub tables: Vec<ReceiptTable>,
    /// Of what it was, if it was not of everything.
    pub parts: Vec<String>,
    /// The id of the key that was destroyed; an erasure in part leaves it.
    pub key_destroyed: Option<[u8; 16]>,
    /// The hash of the erasure's plan.
    pub plan: [u8; 32],
    /// The log's last record when it was signed.
    pub log_sequence: u64,
    /// That record's hash.
    pub previous: [u8; 32],
}

/// Checks a receipt against the public key. Trailing white space is allowed; any other changed byte fails.
pub fn verify_receipt(public_key: &[u8; 32], receipt: &[u8]) -> Result<ReceiptSummary, VerifyError> {
    sodium::initialize();
    let text = receipt.trim_ascii_end();
    let rest = text.strip_suffix(SIGNATURE_END.as_bytes()).ok_or(VerifyError::Malformed)?;
    let split = rest.len().checked_sub(SIGNATURE_DIGITS).ok_or(VerifyError::Malformed)?;
    let (start, digits) = rest.split_at(split);
    let content = start.strip_suffix(SIGNATURE_START.as_bytes()).ok_or(VerifyError::Malformed)?;
    let signature = hex::decode::<64>(digits).ok_or(VerifyError::Malformed)?;
    if !sodium::verify(public_key, &message(content), &signature) {
        return Err(VerifyError::Signature);
    }
    let value: Value = serde_json::from_slice(text).map_err(|_| VerifyError::Malformed)?;
    summarise(&value).ok_or(VerifyError::Malformed)
}

fn summarise(receipt: &Value) -> Option<ReceiptSummary> {
    let (parts, key_destroyed) = match receipt.get("kind")?.as_str()? {
        WHOLE => (Vec::new(), Some(bytes(receipt, "key_destroyed")?)),
        IN_PART => {
            let part = |part: &Value| part.as_str().map(str::to_owned);
            (receipt.get("parts")?.as_array()?.iter().map(part).collect::<Option<_>>()?, None)
        }
        _ => return None,
    };
    let table = |table: &Value| {
        Some(ReceiptTable {
            table: table.get("table")?.as_str()?.to_owned(),
            deleted: table.get("deleted")?.as_u64()?,
            anonymized: table.get("anonymized")?.as_u64()?,
            disowned: table.get("disowned")?.as_u64()?,
        })
    };
    Some(ReceiptSummary {
        id: bytes(receipt, "receipt")?,
        database: bytes(receipt, "database")?,
        time_us: receipt.get("time_us")?.as_i64()?,
        subject: bytes(receipt, "subject")?,
        tables: receipt.get("tables")?.as_array()?.iter().map(table).collect::<Option<_>>()?,
        parts,
        key_destroyed,
        plan: bytes(receipt, "plan")?,
        log_sequence: receipt.get("log_sequence")?.as_u64()?,
        previous: bytes(receipt, "previous")?,
    })
}

fn bytes<const N: usize>(receipt: &Value, member: &str) -> Option<[u8; N]> {
    hex::decode(receipt.get(member)?.as_str()?.as_bytes())
}

/// What a genuine capsule holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapsuleSummary {
    /// The database that issued it.
    pub database: [u8; 16],
    /// Its first record's number.
    pub first: u64,
    /// Its last record's number: the signed head's.
    pub last: u64,
    /// The last record's hash.
    pub hash: [u8; 32],
    /// How many of its first records have lost their entries, as they were older than what is kept.
    pub emptied: u64,
    /// How many published heads it was compared with.
    pub heads: usize,
}

/// Checks a capsule against the public key, and against heads published elsewhere where any are given: that finds truncation, and
/// that records were replaced.
pub fn verify_capsule(
    public_key: &[u8; 32],
    capsule: &[u8],
    published: impl IntoIterator<Item = (u64, [u8; 32])>,
) -> Result<CapsuleSummary, VerifyError> {
    sodium::initialize();
    let reader = CapsuleReader::open(capsule).ok_or(VerifyError::Malformed)?;
    follow(public_key, reader, published, &mut |_, _| ())
}

/// The same, and tells each record's number and hash, the one before the first among them.
pub(crate) fn follow(
    public_key: &[u8; 32],
    mut reader: CapsuleReader<'_>,
    published: impl IntoIterator<Item = (u64, [u8; 32])>,
    tell: &mut dyn FnMut(u64, &[u8; 32]),
) -> Result<CapsuleSummary, VerifyError> {
    let mut published = Heads::of(published)?;
    if reader.public_key != *public_key {
        return Err(VerifyError::OtherLog);
    }
    let name = log_name(&reader.database, public_key);
    let checked = |head: &[u8; HEAD_BYTES]| Head::verified(name, head, public_key).ok_or(VerifyError::Signature);
    let head = checked(&reader.head)?;
    let start = reader.start.as_ref().map(checked).transpose()?;
    let mut chain = Chain::after(start.map_or((0, name), |start| (start.sequence, start.hash)));
    let first = chain.sequence + 1;
    published.meet(chain.sequence, &chain.hash)?;
    tell(chain.sequence, &chain.hash);
    while let Some(record) = reader.next_record().ok_or(VerifyError::Malformed)? {
        chain.follow(record)?;
        published.meet(chain.sequence, &chain.hash)?;
        tell(chain.sequence, &chain.hash);
    }
    let Chain { sequence, hash, emptied, .. } = chain;
    if (sequence, hash) != (head.sequence, head.hash) {
        return Err(VerifyError::Chain { after: first - 1 });
    }
    let heads = published.met(sequence)?;
    Ok(CapsuleSummary { database: reader.database, first, last: sequence, hash, emptied, heads })
}

/// Records that follow each other, as far as they were read.
pub(crate) struct Chain {
    before_first: u64,
    /// The last one's number.
    pub(crate) sequence: u64,
    /// Its hash.
    pub(crate) hash: [u8; 32],
    /// How many of the first have lost their entries.
    emptied: u64,
    peaks: Peaks,
}

impl Chain {
    /// Of what comes after the record of this number and hash.
    pub(crate) fn after((sequence, hash): (u64, [u8; 32])) -> Chain {
        Chain { before_first: sequence, sequence, hash, emptied: 0, peaks: Peaks::default() }
    }

    /// The next record.
    pub(crate) fn follow(&mut self, record: &[u8]) -> Result<(), VerifyError> {
        let sequence = self.sequence + 1;
        let broken = VerifyError::Chain { after: self.sequence };
        self.hash = match Links::with_hash(record) {
            Some((links, of_body)) => {
                if links.previous != self.hash || !self.peaks.fit(sequence, &links) {
                    return Err(broken);
                }
                links.hash(sequence, &of_body)
            }
            // Of a version before.
            None => hash_after(&self.hash, sequence, record).ok_or(broken)?,
        };
        self.sequence = sequence;
        self.peaks.note(sequence, self.hash);
        if record.first() == Some(&FORM_OF_EMPTIED) {
            self.emptied += 1;
            if self.emptied != sequence - self.before_first {
                return Err(VerifyError::Emptied { sequence });
            }
        }
        Ok(())
    }
}

/// Heads that were published, by their numbers.
struct Heads {
    all: BTreeMap<u64, [u8; 32]>,
    met: usize,
}

impl Heads {
    fn of(published: impl IntoIterator<Item = (u64, [u8; 32])>) -> Result<Heads, VerifyError> {
        let mut all = BTreeMap::new();
        for (sequence, hash) in published {
            // Two that are signed: one log was shown to some, another to others.
            if all.insert(sequence, hash).is_some_and(|other| other != hash) {
                return Err(VerifyError::Replaced { sequence });
            }
        }
        Ok(Heads { all, met: 0 })
    }

    fn meet(&mut self, sequence: u64, hash: &[u8; 32]) -> Result<(), VerifyError> {
        match self.all.get(&sequence) {
            None => Ok(()),
            Some(published) if published == hash => {
                self.met += 1;
                Ok(())
            }
            Some(_) => Err(VerifyError::Replaced { sequence }),
        }
    }

    /// How many were met in a capsule that ends there.
    fn met(&self, last: u64) -> Result<usize, VerifyError> {
        match self.all.last_key_value() {
            Some((sequence, _)) if *sequence > last => Err(VerifyError::Truncated),
            Some(_) if self.met == 0 => Err(VerifyError::HeadsBefore),
            Some(_) | None => Ok(self.met),
        }
    }
}

/// At place k the last record whose number is a multiple of 2^k, and its hash.
#[derive(Default)]
struct Peaks(Vec<(u64, [u8; 32])>);

impl Peaks {
    fn note(&mut self, sequence: u64, hash: [u8; 32]) {
        let places = sequence.trailing_zeros() as usize + 1;
        if self.0.len() < places {
            self.0.resize(places, (0, [0; 32]));
        }
        self.0[..places].fill((sequence, hash));
    }

    /// Whether a record points to what it says it points to, as far as that was seen.
    fn fit(&self, sequence: u64, links: &Links) -> bool {
        let fits = |(place, pointer): (u32, &[u8; 32])| match self.0.get(place as usize) {
            Some((peak, hash)) if *peak != 0 && 1_u64.checked_shl(place).is_some_and(|far| peak + far == sequence) => {
                hash == pointer
            }
            Some(_) | None => true,
        };
        (1..).zip(&links.pointers).all(fits)
    }
}
