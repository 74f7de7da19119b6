//! The first packets of a connection: encryption asked for or started outright, cancel request, or login.
//!
//! Reads exactly as many bytes as each packet has. What a client (or someone between) appends in plain text to a
//! request for TLS is therefore the handshake's to read, and fails it; it is never taken for a message.

use crate::client_socket::ClientSocket;
use crate::decode::Body;
use crate::error::{WireError, protocol_violation};
use crate::tls::{ALPN, Tls};
use crate::transport::Transport;
use engine::SqlError;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

const CANCEL_REQUEST: i32 = 80_877_102;
const SSL_REQUEST: i32 = 80_877_103;
const GSS_REQUEST: i32 = 80_877_104;
/// As PostgreSQL's MAX_STARTUP_PACKET_LENGTH.
const STARTUP_BYTES_MAX: usize = 10_000;
// The first byte of a TLS handshake; no startup packet is long enough to begin with it.
const TLS_HANDSHAKE: u8 = 0x16;

/// What the client came for.
pub enum Arrival {
    /// To cancel another connection's statement.
    Cancel {
        /// Its process id.
        pid: i32,
        /// Its secret.
        secret: Vec<u8>,
    },
    /// To log in.
    Login(Transport, Login),
    /// Told why not; or what to tell and then close.
    Refused(Transport, SqlError),
}

/// A startup packet, read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The minor protocol version asked for.
    pub minor: u16,
    /// `_pq_.` options, none of which we know.
    pub unknown_options: Vec<String>,
    /// Who.
    pub user: String,
    /// Which database; the user's name by default.
    pub database: String,
    /// Session settings, those of `options` included.
    pub settings: Vec<(String, String)>,
}

/// Reads up to and including the startup packet, until the deadline at the latest. `tls` is absent if the server was started with
/// `--insecure`.
pub fn arrive(socket: &Arc<ClientSocket>, tls: Option<&Tls>, deadline: Instant) -> Result<Arrival, WireError> {
    let mut transport = Transport::plain(Arc::clone(socket));
    let first = transport.peek(left(deadline)?)?.ok_or(WireError::Gone)?;
    if first == TLS_HANDSHAKE {
        let tls = tls.ok_or(WireError::Gone)?;
        transport.encrypt(tls.connection()?, || left(deadline))?;
        if transport.alpn_protocol() != Some(ALPN) {
            return Err(WireError::Gone);
        }
        return packets(transport, None, true, deadline);
    }
    packets(transport, tls, tls.is_none(), deadline)
}

/// How long is left.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Reads packets; `tls` is what may still be switched to, `sufficient` whether the transport may carry a login.
fn packets(
    mut transport: Transport,
    tls: Option<&Tls>,
    mut sufficient: bool,
    deadline: Instant,
) -> Result<Arrival, WireError> {
    let mut asked_for_ssl = false;
    let mut asked_for_gss = false;
    loop {
        let packet = packet(&mut transport, deadline)?;
        let mut body = Body::new(&packet);
        let code = body.int4().map_err(fatal)?;
        match code {
            SSL_REQUEST if !asked_for_ssl && packet.len() == 4 => {
                asked_for_ssl = true;
                match tls {
                    Some(tls) if !transport.is_encrypted() => {
                        transport.send(&mut &b"S"[..], true)?;
                        transport.encrypt(tls.connection()?, || left(deadline))?;
                        sufficient = true;
                    }
                    Some(_) | None => transport.send(&mut &b"N"[..], true)?,
                }
            }
            GSS_REQUEST if !asked_for_gss && packet.len() == 4 => {
                asked_for_gss = true;
                transport.send(&mut &b"N"[..], true)?;
            }
            CANCEL_REQUEST => {
                let pid = body.int4().map_err(fatal)?;
                let secret = packet[8..].to_vec();
                return Ok(Arrival::Cancel { pid, secret });
            }
            version => {
                return Ok(match login(version, body) {
                    Ok(_) if !sufficient => Arrival::Refused(transport, encryption_required()),
                    Ok(login) => Arrival::Login(transport, login),
                    Err(error) => Arrival::Refused(transport, error.fatal()),
                });
            }
        }
    }
}

fn packet(transport: &mut Transport, deadline: Instant) -> Result<Vec<u8>, WireError> {
    let mut length = [0; 4];
    transport.read_exact(&mut length, || left(deadline))?;
    let length = usize::try_from(i32::from_be_bytes(length)).unwrap_or(0);
    if !(8..=STARTUP_BYTES_MAX).contains(&length) {
        // PostgreSQL too says nothing to what does not speak the protocol.
        return Err(WireError::Gone);
    }
    let mut body = vec![0; length - 4];
    transport.read_exact(&mut body, || left(deadline))?;
    Ok(body)
}

fn login(version: i32, mut body: Body<'_>) -> Result<Login, SqlError> {
    let (major, minor) = (version >> 16, version & 0xffff);
    if major != 3 {
        return Err(SqlError::new(
            "0A000",
            format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.2"),
        ));
    }
    let mut login = Login { minor: u16::try_from(minor).expect("sixteen bits are left"), ..Login::default() };
    loop {
        if body.is_empty() {
            return Err(protocol_violation("invalid startup packet layout: expected terminator as last byte"));
        }
        let name = body.string()?;
        if name.is_empty() {
            body.end()?;
            break;
        }
        let value = body.string()?;
        match name {
            "user" => login.user = value.to_string(),
            "database" => login.database = value.to_string(),
            "options" => login.settings.extend(options(value)?),
            "replication" if !matches!(value, "false" | "off" | "no" | "0") => {
                return Err(SqlError::unsupported("the replication protocol"));
            }
            "replication" => {}
            _ if name.starts_with("_pq_.") => login.unknown_options.push(name.to_string()),
            _ => login.settings.push((name.to_string(), unquoted(value))),
        }
    }
    if login.user.is_empty() {
        return Err(SqlError::new("28000", "no PostgreSQL user name specified in startup packet"));
    }
    if login.database.is_empty() {
        login.database.clone_from(&login.user);
    }
    Ok(login)
}

/// The settings in `-c name=value`, `-cname=value` and `--name=value`; a backslash escapes the next character.
fn options(text: &str) -> Result<Vec<(String, String)>, SqlError> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(characters.next()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    let mut settings = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let setting = if word == "-c" {
            words.next().ok_or_else(|| SqlError::new("42601", "option requires an argument -- 'c'"))?
        } else if let Some(rest) = word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
            rest.to_string()
        } else {
            return Err(SqlError::new("42601", format!("invalid command-line argument for server process: {word}")));
        };
        let (name, value) =
            setting.split_once('=').ok_or_else(|| SqlError::new("42601", format!("-c {setting} requires a value")))?;
        settings.push((name.replace('-', "_"), value.to_string()));
    }
    Ok(settings)
}

// asyncpg sends client_encoding='utf-8' with the quotes.
fn unquoted(value: &str) -> String {
    value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value).to_string()
}

fn encryption_required() -> SqlError {
    SqlError::new("28000", "connection requires TLS")
        .hint("Connect with sslmode=require, or start the server with --insecure on a loopback address.")
        .fatal()
}

fn fatal(error: SqlError) -> WireError {
    WireError::fatal(error.fatal())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(text: &[u8]) -> Result<Login, &'static str> {
        login(3 << 16, Body::new(text)).map_err(|error| error.code)
    }

    #[test]
    fn startup_packets_are_read() {
        let read = packet(
            b"user\0ada\0client_encoding\0'utf-8'\0options\0-c a.b=1\\ 2 --statement-timeout=5s\0_pq_.x\0\x31\0\0",
        )
        .expect("valid");
        assert_eq!(read.user, "ada");
        assert_eq!(read.database, "ada");
        assert_eq!(read.unknown_options, ["_pq_.x"]);
        let expected = [("client_encoding", "utf-8"), ("a.b", "1 2"), ("statement_timeout", "5s")];
        let settings: Vec<_> = read.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(settings, expected);
    }

    #[test]
    fn bad_startup_packets_are_refused() {
        for (text, code) in [
            (&b"user\0ada\0"[..], "08P01"),
            (b"user\0ada", "08P01"),
            (b"user\0ada\0\0x", "08P01"),
            (b"database\0d\0\0", "28000"),
            (b"user\0\xff\0\0", "22021"),
            (b"user\0a\0replication\0database\0\0", "0A000"),
            (b"user\0a\0options\0-x\0\0", "42601"),
            (b"user\0a\0options\0-c\0\0", "42601"),
            (b"user\0a\0options\0-c x\0\0", "42601"),
            (b"", "08P01"),
        ] {
            assert_eq!(packet(text).expect_err("refused"), code);
        }
        assert_eq!(login(2 << 16, Body::new(b"\0")).expect_err("too old").code, "0A000");
    }
}
