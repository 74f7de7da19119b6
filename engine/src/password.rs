//! What passwords are checked against: SCRAM-SHA-256's verifiers, as PostgreSQL writes them.
//!
//! ```text
//! SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>       bytes in base64
//! ```
//!
//! A password in clear goes no further than here: the catalog, the log and other sessions never have it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use planner::resolve::ddl::{SCRAM, other_hash};
use sha2::{Digest, Sha256};
use state::SqlError;
use std::borrow::Cow;
use std::fmt;

const ITERATIONS: u32 = 4096;
const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// What a login's password is checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordVerifier {
    /// How often the password is hashed.
    pub iterations: usize,
    /// With what.
    pub salt: Vec<u8>,
    /// The hash of the key that the client proves to have.
    pub stored_key: Vec<u8>,
    /// The key that the server proves to have.
    pub server_key: Vec<u8>,
}

impl PasswordVerifier {
    /// Of a password in clear, with a salt of its own.
    pub fn of(password: &str) -> PasswordVerifier {
        let prepared = stringprep::saslprep(password).map_or_else(|_| password.to_owned(), Cow::into_owned);
        let mut salt = [0; SALT_BYTES];
        storage::random_bytes(&mut salt);
        let salted = pbkdf2::pbkdf2_hmac_array::<Sha256, KEY_BYTES>(prepared.as_bytes(), &salt, ITERATIONS);
        let keyed = |what: &[u8]| {
            let mac = Hmac::<Sha256>::new_from_slice(&salted).expect("a key of any length is one");
            mac.chain_update(what).finalize().into_bytes()
        };
        PasswordVerifier {
            iterations: ITERATIONS as usize,
            salt: salt.to_vec(),
            stored_key: Sha256::digest(keyed(b"Client Key")).to_vec(),
            server_key: keyed(b"Server Key").to_vec(),
        }
    }

    /// Of a text that is one.
    pub fn parse(text: &str) -> Option<PasswordVerifier> {
        let (derivation, keys) = text.strip_prefix(SCRAM)?.split_once('$')?;
        let (iterations, salt) = derivation.split_once(':')?;
        let (stored_key, server_key) = keys.split_once(':')?;
        let bytes = |text: &str| STANDARD.decode(text).ok();
        let key = |text: &str| bytes(text).filter(|key| key.len() == KEY_BYTES);
        Some(PasswordVerifier {
            iterations: iterations.parse().ok().filter(|iterations| *iterations > 0)?,
            salt: bytes(salt).filter(|salt| !salt.is_empty())?,
            stored_key: key(stored_key)?,
            server_key: key(server_key)?,
        })
    }
}

impl fmt::Display for PasswordVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored_key, server_key] =
            [&self.salt, &self.stored_key, &self.server_key].map(|bytes| STANDARD.encode(bytes));
        write!(f, "{SCRAM}{}:{salt}${stored_key}:{server_key}", self.iterations)
    }
}

/// What the catalog keeps of a password; of what is a verifier already, itself.
///
/// # Errors
/// 0A000 for a hash of another kind.
pub(crate) fn kept(password: &str) -> Result<String, SqlError> {
    if PasswordVerifier::parse(password).is_some() {
        return Ok(password.to_owned());
    }
    let is_md5 = password
        .strip_prefix("md5")
        .is_some_and(|hash| hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_md5 || password.starts_with(SCRAM) {
        return Err(other_hash().into());
    }
    Ok(PasswordVerifier::of(password).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_can_be_read() {
        let text = kept("pencil").expect("made");
        assert!(text.starts_with(SCRAM) && !text.contains("pencil"));
        let verifier = PasswordVerifier::parse(&text).expect("read");
        assert_eq!((verifier.iterations, verifier.salt.len()), (4096, SALT_BYTES));
        assert_eq!(kept(&text).expect("one"), text);
        assert_ne!(kept("pencil").expect("made"), text, "each has its own salt");
        for wrong in ["md5d41d8cd98f00b204e9800998ecf8427e", "SCRAM-SHA-256$4096:x$y:z"] {
            assert_eq!(kept(wrong).expect_err(wrong).code, "0A000");
        }
    }
}
