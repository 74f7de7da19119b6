//! Published heads: where the log ended at a moment, signed, and kept where it cannot be taken back.
//!
//! ```text
//! {"head":"dogwood log 1","database":…,"records":…,"receipts":…,"hash":…,"signature":…}      a line each
//! ```
//! Each is signed as it is published. Numbers and hashes: nothing of anybody.

use serde_json::{Value, json};

use crate::audit::log::{HEAD_BYTES, Head, log_name};
use crate::audit::verify::VerifyError;
use crate::crypto::hex;
use crate::crypto::sodium;
use crate::error::StorageError;
use crate::snapshot::Snapshot;

const KIND: &str = "dogwood log 1";

/// A head whose signature holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedHead {
    /// The database whose log it is of.
    pub database: [u8; 16],
    /// Its last record's number.
    pub sequence: u64,
    /// That record's hash.
    pub hash: [u8; 32],
    pub(crate) signed: [u8; HEAD_BYTES],
}

/// A head as it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadLine {
    /// The last record's number.
    pub sequence: u64,
    /// The line, with its end.
    pub text: String,
}

impl Snapshot {
    /// Where the log ends; none while it is empty. It is to be published once what the snapshot sees is durable.
    pub fn head_line(&self) -> Result<Option<HeadLine>, StorageError> {
        let Some(head) = self.signed_head()? else { return Ok(None) };
        let number = |from: usize| u64::from_be_bytes(head[from..from + 8].try_into().expect("eight bytes"));
        let line = json!({
            "head": KIND,
            "database": hex::encode(&self.store().database_id()),
            "records": number(0),
            "receipts": number(8),
            "hash": hex::encode(&head[16..48]),
            "signature": hex::encode(&head[48..]),
        });
        Ok(Some(HeadLine { sequence: number(0), text: format!("{line}\n") }))
    }
}

/// The heads of a file in which each is a line, in its order. A last line without its end, as a crash leaves it, is none.
pub fn read_heads(public_key: &[u8; 32], file: &[u8]) -> Result<Vec<PublishedHead>, VerifyError> {
    read_heads_of(std::slice::from_ref(public_key), file)
}

/// The same of several databases' heads, each signed by one of these keys.
pub fn read_heads_of(public_keys: &[[u8; 32]], file: &[u8]) -> Result<Vec<PublishedHead>, VerifyError> {
    sodium::initialize();
    let whole = match file.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &file[..end],
        None => file,
    };
    let lines = whole.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let read = |line| {
        let of_one = |key: &[u8; 32]| read_head(key, line).ok();
        public_keys.iter().find_map(of_one).ok_or(VerifyError::Head)
    };
    let heads: Vec<PublishedHead> = lines.map(read).collect::<Result<_, _>>()?;
    if heads.is_empty() { Err(VerifyError::Head) } else { Ok(heads) }
}

fn read_head(public_key: &[u8; 32], line: &[u8]) -> Result<PublishedHead, VerifyError> {
    let value: Value = serde_json::from_slice(line).map_err(|_no_json| VerifyError::Head)?;
    let read = || {
        let member = |name: &str| value.get(name)?.as_str();
        if member("head")? != KIND {
            return None;
        }
        let database = hex::decode::<16>(member("database")?.as_bytes())?;
        let mut signed = [0; HEAD_BYTES];
        signed[..8].copy_from_slice(&value.get("records")?.as_u64()?.to_be_bytes());
        signed[8..16].copy_from_slice(&value.get("receipts")?.as_u64()?.to_be_bytes());
        signed[16..48].copy_from_slice(&hex::decode::<32>(member("hash")?.as_bytes())?);
        signed[48..].copy_from_slice(&hex::decode::<64>(member("signature")?.as_bytes())?);
        let head = Head::verified(log_name(&database, public_key), &signed, public_key)?;
        Some(PublishedHead { database, sequence: head.sequence, hash: head.hash, signed })
    };
    read().ok_or(VerifyError::Head)
}
