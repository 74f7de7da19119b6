//! Offline verification: a receipt or a capsule against the published public key, with no server and no other secret.
//!
//! The public key comes from the verifier, never from what is verified: one that travels with a receipt proves nothing.

use std::fmt;

use serde_json::Value;

use crate::audit::capsule::CapsuleReader;
use crate::audit::group::Links;
use crate::audit::log::{Head, hash_after, log_name};
use crate::audit::receipt::{ReceiptTable, SIGNATURE_END, SIGNATURE_START, message};
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
    /// The capsule ends before the head that was published.
    Truncated,
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
    /// The id of the key that was destroyed.
    pub key_destroyed: [u8; 16],
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
    if receipt.get("kind")?.as_str()? != "dogwood erasure 1" {
        return None;
    }
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
        key_destroyed: bytes(receipt, "key_destroyed")?,
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
}

/// Checks a capsule against the public key, and against a head published elsewhere where one is given: that finds truncation.
pub fn verify_capsule(
    public_key: &[u8; 32],
    capsule: &[u8],
    published: Option<(u64, [u8; 32])>,
) -> Result<CapsuleSummary, VerifyError> {
    sodium::initialize();
    let mut reader = CapsuleReader::open(capsule).ok_or(VerifyError::Malformed)?;
    if reader.public_key != *public_key {
        return Err(VerifyError::OtherLog);
    }
    let name = log_name(&reader.database, public_key);
    let checked = |head: &[u8; crate::audit::log::HEAD_BYTES]| {
        Head::verified(name, head, public_key).ok_or(VerifyError::Signature)
    };
    let head = checked(&reader.head)?;
    let (mut sequence, mut hash) = match &reader.start {
        Some(start) => checked(start).map(|start| (start.sequence, start.hash))?,
        None => (0, name),
    };
    let first = sequence + 1;
    let mut published_met = published.is_none() || published == Some((sequence, hash));
    let mut peaks = Peaks::default();
    while let Some(body) = reader.next_record().ok_or(VerifyError::Malformed)? {
        sequence += 1;
        if !peaks.fit(sequence, body) {
            return Err(VerifyError::Chain { after: sequence - 1 });
        }
        hash = hash_after(&hash, sequence, body).ok_or(VerifyError::Chain { after: sequence - 1 })?;
        peaks.note(sequence, hash);
        published_met |= published == Some((sequence, hash));
    }
    if (sequence, hash) != (head.sequence, head.hash) {
        return Err(VerifyError::Chain { after: first - 1 });
    }
    if !published_met {
        let (published_sequence, _) = published.expect("met when nothing was published");
        let inside = published_sequence >= first && published_sequence <= sequence;
        return Err(if inside { VerifyError::OtherLog } else { VerifyError::Truncated });
    }
    Ok(CapsuleSummary { database: reader.database, first, last: sequence, hash })
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
    fn fit(&self, sequence: u64, record: &[u8]) -> bool {
        let Some((links, _)) = Links::of(record) else { return true };
        let fits = |(place, pointer): (u32, &[u8; 32])| match self.0.get(place as usize) {
            Some((peak, hash)) if *peak != 0 && 1_u64.checked_shl(place).is_some_and(|far| peak + far == sequence) => {
                hash == pointer
            }
            Some(_) | None => true,
        };
        (1..).zip(&links.pointers).all(fits)
    }
}
