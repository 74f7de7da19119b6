//! Receipts: what an erasure did, signed, to be kept by the person and checked by anyone with the public key.
//!
//! A receipt is one line of JSON whose last member is the signature over all before it, so that the text itself is what is
//! signed and nothing needs to be put in a canonical form first. It names no one: the person is a keyed hash.
//!
//! One of an erasure in part is of another kind: it says of what it was, and no key goes with it.

use repr::MicroDbId;
use serde_json::{Value, json};

use crate::audit::PendingAudit;
use crate::crypto::seal::{Header, SealKind, SealPlace};
use crate::crypto::{hex, sodium};
use crate::microdb::{self, MICRODB_BYTES};
use crate::store::Store;

/// The kind of a receipt with which a person's key goes.
pub(crate) const WHOLE: &str = "dogwood erasure 1";
/// That of one of a part, which the person outlives.
pub(crate) const IN_PART: &str = "dogwood erasure in part 1";

/// What stands before the signature's digits.
pub(crate) const SIGNATURE_START: &str = ",\"signature\":\"";
/// What stands after them.
pub(crate) const SIGNATURE_END: &str = "\"}";

/// What an erasure did.
#[derive(Clone, Debug)]
pub struct ReceiptRequest {
    /// Microseconds since 2000-01-01 UTC, by the caller's clock.
    pub time_us: i64,
    /// Whose data it was; their key is to be destroyed, where it was all of it.
    pub subject: MicroDbId,
    /// Of what it was, as it was asked; of everything where nothing is named.
    pub parts: Vec<String>,
    /// Counts of each table touched.
    pub tables: Vec<ReceiptTable>,
    /// A hash of the erasure's plan.
    pub plan: [u8; 32],
}

/// What an erasure did in one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptTable {
    /// The table's name.
    pub table: String,
    /// Rows erased.
    pub deleted: u64,
    /// Survivors with a blanked column.
    pub anonymized: u64,
    /// Survivors that lost this person's copy.
    pub disowned: u64,
}

/// A signed receipt, not yet stored.
#[derive(Clone, Debug)]
pub struct Receipt {
    id: [u8; 16],
    text: String,
    /// Whose key is to be destroyed.
    doomed: Option<MicroDbId>,
    time_us: i64,
}

impl Receipt {
    /// Its public id.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Its public id in hexadecimal digits, as it stands in the text.
    pub fn id_text(&self) -> String {
        hex::encode(&self.id)
    }

    /// What the person is given.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn pending(&self, store: &Store) -> PendingAudit {
        let header = Header { kind: SealKind::Impersonal, cipher: store.cipher(), schema_version: 0 };
        // Where no key goes none is named: whoever rolls receipts forward destroys what they name.
        let mut plain = self.doomed.map_or([0; MICRODB_BYTES], microdb::stored).to_vec();
        plain.extend_from_slice(self.text.as_bytes());
        let mut sealed = Vec::new();
        store.seal_impersonal(SealPlace::Receipt(&self.id), header, &plain, &mut sealed);
        PendingAudit::Receipt { time_us: self.time_us, id: self.id, sealed }
    }
}

impl Store {
    /// A signature over a document that leaves the database, in hexadecimal digits.
    pub fn sign_document(&self, document: &[u8]) -> String {
        hex::encode(&self.keyring().signing().sign(&[b"dogwood document 1\0".as_slice(), document].concat()))
    }

    /// Makes and signs a receipt. It refers to the log's head of this moment, and `Batch::append_receipt` makes
    /// the log refer to it.
    pub fn sign_receipt(&self, request: &ReceiptRequest) -> Receipt {
        let id: [u8; 16] = sodium::random_array();
        let (sequence, hash) = self.log_head();
        let tables: Vec<Value> = request
            .tables
            .iter()
            .map(|table| {
                json!({
                    "table": table.table,
                    "deleted": table.deleted,
                    "anonymized": table.anonymized,
                    "disowned": table.disowned,
                })
            })
            .collect();
        let is_whole = request.parts.is_empty();
        let mut content = json!({
            "receipt": hex::encode(&id),
            "kind": if is_whole { WHOLE } else { IN_PART },
            "database": hex::encode(&self.database_id()),
            "time_us": request.time_us,
            "subject": hex::encode(&self.pseudonym(request.subject)),
            "tables": tables,
            "plan": hex::encode(&request.plan),
            "log_sequence": sequence,
            "previous": hex::encode(&hash),
        });
        if is_whole {
            let key: [u8; 16] = self.keyed_hash(b'd', &[&request.subject.0]);
            content["key_destroyed"] = hex::encode(&key).into();
        } else {
            content["parts"] = request.parts.clone().into();
        }
        let mut text = content.to_string();
        let closing = text.pop();
        assert_eq!(closing, Some('}'), "an object's text ends with a brace");
        let signature = self.keyring().signing().sign(&message(text.as_bytes()));
        text.push_str(SIGNATURE_START);
        text.push_str(&hex::encode(&signature));
        text.push_str(SIGNATURE_END);
        Receipt { id, text, doomed: is_whole.then_some(request.subject), time_us: request.time_us }
    }
}

/// Whether a person's key goes with a receipt. One that cannot be read says so: it is not of the kind that spares a key.
pub(crate) fn destroys_key(text: &str) -> bool {
    let content: Option<Value> = serde_json::from_str(text).ok();
    content.is_none_or(|content| content.get("kind").and_then(Value::as_str) != Some(IN_PART))
}

/// What is signed.
pub(crate) fn message(content: &[u8]) -> Vec<u8> {
    [b"dogwood receipt 1\0".as_slice(), content].concat()
}
