//! Who is there: SCRAM-SHA-256 against verifiers in the data folder, with channel binding over TLS.
//!
//! First start writes one random secret to `controller.secret` (0600) and its verifier to `logins` (0600); the
//! secret's file may be deleted once it is kept elsewhere. Passwords are never stored or logged, and an unknown
//! user goes through the same exchange as a known one, and waits as long after failures (`failed_logins`).
//!
//! ```text
//! logins:  mock <64 hex digits>                                   what salts of unknown users are derived from
//!          login <name> <iterations> <salt> <stored key> <server key>     one line each, numbers in hex
//! ```

use crate::connection::Connection;
use crate::decode::{AUTHENTICATION_BYTES_MAX, Body};
use crate::error::{WireError, protocol_violation};
use crate::failed_logins::{Attempt, FailedLogins, Told, TooMany};
use crate::tls::write_new;
use engine::{Engine, PasswordVerifier, SqlError, hexadecimal};
use pgwire::api::auth::sasl::scram::{ScramSecret, ScramServerAuth, gen_salted_password};
use pgwire::error::PgWireError;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::Authentication;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

/// The login that first start creates.
pub(crate) const CONTROLLER: &str = "controller";

const MECHANISM: &str = "SCRAM-SHA-256";
const MECHANISM_BINDING: &str = "SCRAM-SHA-256-PLUS";
const ITERATIONS: usize = 4096;
const SALT_BYTES: usize = 16;
const SECRET_BYTES: usize = 24;

/// What is known of the logins.
pub struct Logins {
    mock: [u8; 32],
    verifiers: BTreeMap<String, PasswordVerifier>,
}

impl Logins {
    /// Reads the data folder's logins, or makes the first one.
    pub fn open(data: &Path) -> io::Result<Logins> {
        let path = data.join("logins");
        match fs::read_to_string(&path) {
            Ok(text) => Logins::parse(&text).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("\"{}\" is damaged", path.display()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Logins::create(data),
            Err(error) => Err(error),
        }
    }

    fn create(data: &Path) -> io::Result<Logins> {
        // The secret first: a crash in between leaves one to go on with, never a verifier that nobody can meet.
        let path = data.join("controller.secret");
        let secret = match fs::read_to_string(&path) {
            Ok(text) => text.trim_end().to_string(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let secret = hexadecimal(&random::<SECRET_BYTES>()?);
                write_new(&path, format!("{secret}\n").as_bytes(), 0o600)?;
                secret
            }
            Err(error) => return Err(error),
        };
        if secret.len() != 2 * SECRET_BYTES || unhex(&secret).is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("\"{}\" is damaged", path.display())));
        }
        let verifiers = BTreeMap::from([(CONTROLLER.to_owned(), PasswordVerifier::of(&secret))]);
        let logins = Logins { mock: random::<32>()?, verifiers };
        write_new(&data.join("logins"), logins.print().as_bytes(), 0o600)?;
        Ok(logins)
    }

    fn parse(text: &str) -> Option<Logins> {
        let mut mock = None;
        let mut verifiers = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["mock", key] => mock = Some(unhex(key)?.try_into().ok()?),
                ["login", name, iterations, salt, stored_key, server_key] => {
                    let verifier = PasswordVerifier {
                        iterations: iterations.parse().ok().filter(|&iterations| iterations > 0)?,
                        salt: unhex(salt)?,
                        stored_key: unhex(stored_key).filter(|key| key.len() == 32)?,
                        server_key: unhex(server_key).filter(|key| key.len() == 32)?,
                    };
                    verifiers.insert((*name).to_string(), verifier);
                }
                _ => return None,
            }
        }
        Some(Logins { mock: mock?, verifiers })
    }

    fn print(&self) -> String {
        let mut text = format!("mock {}\n", hexadecimal(&self.mock));
        for (name, verifier) in &self.verifiers {
            writeln!(
                text,
                "login {name} {} {} {} {}",
                verifier.iterations,
                hexadecimal(&verifier.salt),
                hexadecimal(&verifier.stored_key),
                hexadecimal(&verifier.server_key)
            )
            .expect("writing to a string does not fail");
        }
        text
    }

    /// The user's verifier, or one that looks the same from outside and that no password meets.
    fn verifier(&self, user: &str, engine: &Engine) -> io::Result<(ScramSecret, bool)> {
        self.verifier_or(user, engine.password_of(user), engine.first_password_ended())
    }

    /// `of_role`: what the catalog has. `first_ended`: first start's password counts no more.
    fn verifier_or(
        &self,
        user: &str,
        of_role: Option<PasswordVerifier>,
        first_ended: bool,
    ) -> io::Result<(ScramSecret, bool)> {
        let first = self.verifiers.get(user).filter(|_| !first_ended).cloned();
        let (verifier, known) = match of_role.or(first) {
            Some(verifier) => (verifier, true),
            None => {
                let mut salt = gen_salted_password(&format!("user {user}"), &self.mock, 1);
                salt.truncate(SALT_BYTES);
                let mock = PasswordVerifier {
                    iterations: ITERATIONS,
                    salt,
                    stored_key: random::<32>()?.to_vec(),
                    server_key: random::<32>()?.to_vec(),
                };
                (mock, false)
            }
        };
        let PasswordVerifier { iterations, salt, stored_key, server_key } = verifier;
        Ok((ScramSecret::Verifier { salt, iterations, stored_key, server_key }, known))
    }
}

/// Runs the exchange to its end, until the deadline at the latest. `binding` is what binds it to the connection's encryption, if
/// anything does.
pub async fn authenticate(
    connection: &mut Connection,
    (logins, engine): (&Logins, &Engine),
    failed_logins: &FailedLogins,
    attempt: &Attempt,
    binding: Option<&ScramServerAuth>,
    deadline: Instant,
) -> Result<(), WireError> {
    let user = attempt.role();
    let scram = binding.cloned().unwrap_or_default();
    let binding = binding.is_some();
    let mut mechanisms = vec![MECHANISM.to_string()];
    if binding {
        mechanisms.insert(0, MECHANISM_BINDING.to_string());
    }
    send(connection, Authentication::SASL(mechanisms)).await?;

    let first = password_message(connection, deadline)?;
    let mut body = Body::new(&first);
    let mechanism = body.string().map_err(fatal)?;
    if mechanism != MECHANISM && !(binding && mechanism == MECHANISM_BINDING) {
        return Err(WireError::violation("client selected an invalid SASL authentication mechanism"));
    }
    let client_first = body.value().map_err(fatal)?.ok_or_else(malformed)?;
    body.end().map_err(fatal)?;
    if (mechanism == MECHANISM_BINDING) != client_first.starts_with(b"p=") {
        return Err(malformed());
    }
    let (secret, known) = logins.verifier(user, engine)?;
    // A role whose password has ended, too.
    let named = known || engine.has_login(user);
    let (server_first, exchange) =
        scram.on_client_first_message_with_secret(client_first, secret).map_err(|_| malformed())?;
    send(connection, Authentication::SASLContinue(server_first.into())).await?;

    let last = password_message(connection, deadline)?;
    let wait = failed_logins.wait(attempt, Instant::now(), deadline).map_err(|TooMany| {
        tell(failed_logins.turned_away(attempt, named, Instant::now()), Duration::ZERO);
        too_many(user)
    })?;
    if !wait.is_zero() {
        connection.rest(Instant::now() + wait).await?;
    }
    match exchange.on_client_final_message(&last) {
        Ok(server_final) if known => {
            failed_logins.succeeded(attempt);
            connection.feed(PgWireBackendMessage::Authentication(Authentication::SASLFinal(server_final.into())))?;
            connection.feed(PgWireBackendMessage::Authentication(Authentication::Ok))
        }
        Ok(_) | Err(PgWireError::InvalidPassword(_)) => {
            tell(failed_logins.failed(attempt, named, Instant::now()), wait);
            Err(WireError::fatal(
                SqlError::new("28P01", format!("password authentication failed for user \"{user}\"")).fatal(),
            ))
        }
        Err(_) => Err(malformed()),
    }
}

/// Writes to the log what there is to say of a failure. `waited`: before it was looked at.
pub(crate) fn tell(told: Option<Told>, waited: Duration) {
    if let Some(Told { line, left_out }) = told {
        let waited_ms = waited.as_secs_f64() * 1e3;
        tracing::warn!(target: "dogwood::logins", waited_ms, left_out, "{line}");
    }
}

async fn send(connection: &mut Connection, message: Authentication) -> Result<(), WireError> {
    connection.feed(PgWireBackendMessage::Authentication(message))?;
    connection.flush().await
}

fn password_message(connection: &mut Connection, deadline: Instant) -> Result<Vec<u8>, WireError> {
    let frame = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(WireError::fatal(SqlError::new("08006", "canceling authentication due to timeout").fatal()));
        }
        if let Some(frame) = connection.frame_now(AUTHENTICATION_BYTES_MAX, left)? {
            break frame;
        }
    };
    match frame.kind {
        b'p' => Ok(frame.body().map_err(fatal)?.to_vec()),
        b'X' => Err(WireError::Gone),
        kind => Err(WireError::violation(format!("expected SASL response, got message type {kind}"))),
    }
}

fn fatal(error: SqlError) -> WireError {
    WireError::fatal(error.fatal())
}

fn too_many(user: &str) -> WireError {
    let message = format!("too many failed logins as user \"{user}\" from this address");
    WireError::fatal(SqlError::new("53300", message).hint("Wait some seconds.").fatal())
}

fn malformed() -> WireError {
    WireError::fatal(protocol_violation("malformed SCRAM message").fatal())
}

/// Random bytes from the operating system.
pub fn random<const LENGTH: usize>() -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("the operating system gives no random bytes"))?;
    Ok(bytes)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok())).collect();
    let digits = digits?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn first_start_writes_one_secret_for_the_owner_only() {
        let data = std::env::temp_dir().join(format!("dogwood-auth-{}", std::process::id()));
        let _gone = fs::remove_dir_all(&data);
        fs::create_dir_all(&data).expect("folder");
        let made = Logins::open(&data).expect("made");
        let secret = fs::read_to_string(data.join("controller.secret")).expect("secret");
        assert_eq!(secret.trim_end().len(), 2 * SECRET_BYTES);
        for file in ["controller.secret", "logins"] {
            let mode = fs::metadata(data.join(file)).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let text = fs::read_to_string(data.join("logins")).expect("logins");
        assert!(!text.contains(secret.trim_end()));
        let read = Logins::open(&data).expect("read");
        assert_eq!(read.print(), made.print());
        fs::write(data.join("logins"), "login x").expect("written");
        assert!(Logins::open(&data).is_err());
        fs::remove_file(data.join("logins")).expect("removed");
        Logins::open(&data).expect("made again");
        assert_eq!(fs::read_to_string(data.join("controller.secret")).expect("secret"), secret, "of the same secret");
        fs::remove_file(data.join("logins")).expect("removed");
        fs::write(data.join("controller.secret"), &secret[..9]).expect("cut short");
        assert!(Logins::open(&data).is_err());
        fs::remove_dir_all(&data).expect("removed");
    }

    #[test]
    fn an_unknown_user_has_a_steady_salt() {
        let logins = Logins { mock: [7; 32], verifiers: BTreeMap::new() };
        let salt = |user: &str| match logins.verifier_or(user, None, false).expect("random") {
            (ScramSecret::Verifier { salt, .. }, false) => salt,
            _ => panic!("not a mock verifier"),
        };
        assert_eq!(salt("nobody"), salt("nobody"));
        assert_ne!(salt("nobody"), salt("somebody"));
        assert_eq!(salt("nobody").len(), SALT_BYTES);
    }
}
