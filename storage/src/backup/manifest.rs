//! A backup's manifest: which files it has, what state they are, and whose; JSON, signed.
//!
//! ```text
//! {"kind":"dogwood backup 1","database":…,"id":…,"base":…,"lineage":…,"log":…,"time_us":…,"sequence":…,"commit":…,"records":…,"head":…,
//!  "receipts":…,"slots":…,"files":[{"name":…,"object":…,"bytes":…,"hash":…},…],"signature":…}
//! ```
//! The signature covers the text before it, as a receipt's does.

use serde_json::{Value, json};

use crate::backup::fault::BackupFault;
use crate::crypto::hex;
use crate::crypto::sodium::{self, SigningKey};

/// Where manifests stand.
pub(super) const BACKUPS: &str = "backups/";
/// Where files stand.
pub(super) const FILES: &str = "files/";

const KIND: &str = "dogwood backup 1";
const SIGNATURE_START: &str = ",\"signature\":\"";
const SIGNATURE_END: &str = "\"}\n";
const SIGNATURE_DIGITS: usize = 128;

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BackedFile {
    /// Its path in a data folder.
    pub(super) name: String,
    /// Its name at the target.
    pub(super) object: String,
    pub(super) bytes: u64,
    pub(super) hash: [u8; 32],
}

/// The state that a backup holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackedState {
    /// When it was taken, in microseconds since 2000-01-01 UTC.
    pub time_us: i64,
    /// The last write.
    pub sequence: u64,
    /// The last commit.
    pub commit: u64,
    /// The audit log's last record, and its hash.
    pub records: u64,
    /// See `records`.
    pub head: [u8; 32],
    /// Receipts of erasures.
    pub receipts: u64,
    /// Slots of the keyring: its key backup has as many.
    pub slots: u64,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) database: [u8; 16],
    pub(super) id: [u8; 8],
    /// The backup that an incremental one added to.
    pub(super) base: Option<[u8; 8]>,
    /// Of the folder: within one a file's number and size tell it. A restored one has another.
    pub(super) lineage: [u8; 16],
    /// The log that follows on it, if one was shipped.
    pub(super) log: Option<[u8; 8]>,
    pub(super) state: BackedState,
    pub(super) files: Vec<BackedFile>,
}

impl Manifest {
    /// As operators name the backup.
    pub(super) fn name(&self) -> String {
        hex::encode(&self.id)
    }

    /// Its name at the target: they sort by time.
    pub(super) fn object(&self) -> String {
        format!("{BACKUPS}{:020}-{}.json", self.state.time_us.max(0), self.name())
    }

    /// The signed text.
    pub(super) fn signed(&self, key: &SigningKey) -> Vec<u8> {
        let file = |file: &BackedFile| json!({"name": file.name, "object": file.object, "bytes": file.bytes, "hash": hex::encode(&file.hash)});
        let state = &self.state;
        let content = json!({
            "kind": KIND,
            "database": hex::encode(&self.database),
            "id": self.name(),
            "base": self.base.map(|base| hex::encode(&base)),
            "lineage": hex::encode(&self.lineage),
            "log": self.log.map(|log| hex::encode(&log)),
            "time_us": state.time_us,
            "sequence": state.sequence,
            "commit": state.commit,
            "records": state.records,
            "head": hex::encode(&state.head),
            "receipts": state.receipts,
            "slots": state.slots,
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
        });
        let mut text = content.to_string();
        let closing = text.pop();
        assert_eq!(closing, Some('}'), "an object's text ends with a brace");
        let signature = key.sign(&message(text.as_bytes()));
        text.push_str(SIGNATURE_START);
        text.push_str(&hex::encode(&signature));
        text.push_str(SIGNATURE_END);
        text.into_bytes()
    }

    /// Reads one whose signature holds.
    pub(super) fn verified(bytes: &[u8], public: &[u8; 32], object: &str) -> Result<Manifest, BackupFault> {
        let malformed = || BackupFault::malformed(object);
        let rest = bytes.strip_suffix(SIGNATURE_END.as_bytes()).ok_or_else(malformed)?;
        let split = rest.len().checked_sub(SIGNATURE_DIGITS).ok_or_else(malformed)?;
        let (start, digits) = rest.split_at(split);
        let content = start.strip_suffix(SIGNATURE_START.as_bytes()).ok_or_else(malformed)?;
        let signature = hex::decode::<64>(digits).ok_or_else(malformed)?;
        if !sodium::verify(public, &message(content), &signature) {
            return Err(BackupFault::Signature { object: object.to_owned() });
        }
        Manifest::parse(bytes).ok_or_else(malformed)
    }

    /// Reads one that may not be believed yet.
    pub(super) fn parse(bytes: &[u8]) -> Option<Manifest> {
        let value: Value = serde_json::from_slice(bytes.trim_ascii_end()).ok()?;
        if value.get("kind")?.as_str()? != KIND {
            return None;
        }
        let number = |member: &str| value.get(member)?.as_u64();
        let file = |file: &Value| {
            Some(BackedFile {
                name: plain(file.get("name")?.as_str()?)?,
                object: plain(file.get("object")?.as_str()?)?,
                bytes: file.get("bytes")?.as_u64()?,
                hash: bytes_of(file.get("hash")?)?,
            })
        };
        let perhaps = |member: &str| match value.get(member)? {
            Value::Null => Some(None),
            id => bytes_of(id).map(Some),
        };
        Some(Manifest {
            database: bytes_of(value.get("database")?)?,
            id: bytes_of(value.get("id")?)?,
            base: perhaps("base")?,
            lineage: bytes_of(value.get("lineage")?)?,
            log: perhaps("log")?,
            state: BackedState {
                time_us: value.get("time_us")?.as_i64()?,
                sequence: number("sequence")?,
                commit: number("commit")?,
                records: number("records")?,
                head: bytes_of(value.get("head")?)?,
                receipts: number("receipts")?,
                slots: number("slots")?,
            },
            files: value.get("files")?.as_array()?.iter().map(file).collect::<Option<_>>()?,
        })
    }
}

/// A name that leads nowhere but down.
fn plain(name: &str) -> Option<String> {
    let leads_down = name.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    leads_down.then(|| name.to_owned())
}

fn bytes_of<const N: usize>(value: &Value) -> Option<[u8; N]> {
    hex::decode(value.as_str()?.as_bytes())
}

fn message(content: &[u8]) -> Vec<u8> {
    [b"dogwood manifest 1\0".as_slice(), content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_is_found() {
        let key = SigningKey::from_seed(&[7; 32]);
        let file = BackedFile { name: "rocks/000012.sst".into(), object: "files/x".into(), bytes: 9, hash: [3; 32] };
        let state = BackedState { time_us: 5, sequence: 7, commit: 3, ..BackedState::default() };
        let manifest = Manifest {
            database: [1; 16],
            id: [2; 8],
            base: Some([4; 8]),
            lineage: [5; 16],
            log: None,
            state,
            files: vec![file],
        };
        let bytes = manifest.signed(&key);
        assert_eq!(Manifest::verified(&bytes, &key.public(), "x").ok(), Some(manifest));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Manifest::verified(&changed, &key.public(), "x").is_err(), "byte {at}");
            assert!(Manifest::verified(&bytes[..at], &key.public(), "x").is_err(), "cut at {at}");
        }
        let other = SigningKey::from_seed(&[8; 32]);
        assert!(matches!(Manifest::verified(&bytes, &other.public(), "x"), Err(BackupFault::Signature { .. })));
    }

    /// Also of one that may not be believed yet: whatever it says, it is read or refused, and leads nowhere but down.
    #[test]
    fn changed_manifests_are_read_or_refused() {
        let key = SigningKey::from_seed(&[7; 32]);
        let file = |number: u64| BackedFile {
            name: format!("rocks/{number:06}.sst"),
            object: format!("files/{number}"),
            bytes: number,
            hash: [number as u8; 32],
        };
        let manifest = Manifest {
            database: [1; 16],
            id: [2; 8],
            base: None,
            lineage: [5; 16],
            log: Some([6; 8]),
            state: BackedState::default(),
            files: (0..5).map(file).collect(),
        };
        let whole = manifest.signed(&key);
        let pieces: [&[u8]; 12] = [
            b"null",
            b"-1",
            b"1e999",
            b"\"",
            b"{",
            b"[",
            b"..",
            b"/",
            b"18446744073709551616",
            b"\xff",
            b"\\u0000",
            b",",
        ];
        let mut state = 3_u64;
        let mut below = |most: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % most
        };
        for _ in 0..20_000 {
            let mut changed = whole.clone();
            for _ in 0..=below(3) {
                let from = below(changed.len());
                let to = (from + below(20)).min(changed.len());
                changed.splice(from..to, pieces[below(pieces.len())].iter().copied());
            }
            assert!(Manifest::verified(&changed, &key.public(), "x").is_err() || changed == whole);
            for file in Manifest::parse(&changed).into_iter().flat_map(|manifest| manifest.files) {
                assert!([file.name, file.object].iter().all(|name| plain(name).is_some()));
            }
        }
    }

    #[test]
    fn names_lead_down_only() {
        for name in ["../x", "/x", "a/../x", "a//x", "", "a/."] {
            assert_eq!(plain(name), None, "{name}");
        }
        assert_eq!(plain("rocks/CURRENT"), Some("rocks/CURRENT".to_owned()));
    }
}
