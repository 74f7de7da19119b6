//! Cuts the client's bytes into messages, checks each one's shape, and only then lets pgwire decode it.
//!
//! pgwire's decoders read from the whole stream buffer, trust inner counts and lengths (a short message panics or
//! eats the next one) and replace invalid UTF-8. So a message is split off by its own length first, walked
//! here to its last byte, and refused by SQLSTATE if anything does not fit. Nothing is ever allocated by a
//! number that the client merely claims. Must not know any SQL.

use crate::error::{WireError, protocol_violation};
use bytes::BytesMut;
use engine::SqlError;
use pgwire::messages::{DecodeContext, PgWireFrontendMessage, ProtocolVersion};
use repr::Encoding;

/// The largest message taken from a client that has logged in.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// A message longer than this is nonsense. One between the two limits is passed over and refused, and the conversation goes
/// on; a client that is still sending it would not find the reason behind a closed connection.
pub(crate) const PASSED_OVER_BYTES_MAX: usize = 1 << 30;
/// The largest message taken during authentication.
pub(crate) const AUTHENTICATION_BYTES_MAX: usize = 64 << 10;

/// One message with its type, whole but not yet checked; or a message that was too long, of which only these are left.
pub struct Frame {
    /// The type byte.
    pub kind: u8,
    // Type byte, length and body: exactly one message.
    bytes: BytesMut,
    /// What is to be said of a message that was too long.
    refused: Option<Box<SqlError>>,
}

/// What stands first in the client's bytes.
pub enum Taken {
    /// A whole message.
    Frame(Frame),
    /// The beginning of one.
    Part,
    /// The beginning of one that is longer than what is taken: its type and what its length says.
    TooLong(u8, usize),
}

impl Frame {
    /// Takes the first message off the buffer, if it is all there and not too long.
    ///
    /// A length that cannot be is an error after which the stream is lost.
    pub fn take(buffer: &mut BytesMut, body_bytes_max: usize) -> Result<Taken, WireError> {
        let Some(&kind) = buffer.first() else { return Ok(Taken::Part) };
        if !is_frontend_kind(kind) {
            return Err(WireError::violation(format!("invalid frontend message type {kind}")));
        }
        let Some(length) = buffer.get(1..5) else { return Ok(Taken::Part) };
        let length = i32::from_be_bytes(length.try_into().expect("four bytes were asked for"));
        let Ok(length) = usize::try_from(length) else {
            return Err(WireError::violation("invalid message length"));
        };
        if length < 4 {
            return Err(WireError::violation("invalid message length"));
        }
        if length > body_bytes_max {
            return Ok(Taken::TooLong(kind, length));
        }
        if buffer.len() < 1 + length {
            return Ok(Taken::Part);
        }
        Ok(Taken::Frame(Frame { kind, bytes: buffer.split_to(1 + length), refused: None }))
    }

    /// What stands for a message that is passed over, since it is longer than what is taken.
    pub fn too_long(kind: u8, length: usize, body_bytes_max: usize) -> Frame {
        let message = format!("a message of {length} bytes is longer than the limit of {body_bytes_max} bytes");
        let hint = match kind {
            b'd' => "Send the rows of COPY in smaller messages.",
            _ => "Send less at once, or rows by COPY.",
        };
        Frame { kind, bytes: BytesMut::new(), refused: Some(SqlError::new("54000", message).hint(hint).into()) }
    }

    /// The beginning of a message for which there is no memory: its type, and what its length says.
    pub fn begun(buffer: &BytesMut) -> Option<(u8, usize)> {
        let (kind, length) = (*buffer.first()?, buffer.get(1..5)?);
        Some((kind, usize::try_from(i32::from_be_bytes(length.try_into().ok()?)).ok()?))
    }

    /// What stands for a message that is passed over, since too many long ones are arriving at once.
    pub(crate) fn no_memory(kind: u8, length: usize) -> Frame {
        let refused = SqlError::new("53200", "out of memory for messages that are arriving")
            .detail(format!("This one is of {length} bytes."))
            .hint("Send less at once, or again later.");
        Frame { kind, bytes: BytesMut::new(), refused: Some(refused.into()) }
    }

    /// What follows the length. 54000 if it was too long to be kept, 53200 if there was no memory for it.
    pub fn body(&self) -> Result<&[u8], SqlError> {
        match &self.refused {
            Some(refused) => Err((**refused).clone()),
            None => Ok(&self.bytes[5..]),
        }
    }

    /// The typed message. An error is the statement's, not the connection's.
    pub fn decode(mut self, encoding: Encoding) -> Result<PgWireFrontendMessage, SqlError> {
        if !encoding.is_same() {
            self.transcode(encoding)?;
        }
        check(self.kind, self.body()?)?;
        let mut context = DecodeContext::new(ProtocolVersion::PROTOCOL3_0);
        context.awaiting_frontend_ssl = false;
        context.awaiting_frontend_startup = false;
        match PgWireFrontendMessage::decode(&mut self.bytes, &context) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(invalid_format()),
            Err(error) => Err(protocol_violation(format!("invalid message format: {error}"))),
        }
    }
}

impl Frame {
    /// Puts its strings into UTF-8. Values have an encoding of their own, which their types know.
    fn transcode(&mut self, encoding: Encoding) -> Result<(), SqlError> {
        let (before, strings) = match self.kind {
            b'Q' | b'f' | b'E' => (0, 1),
            b'P' | b'B' => (0, 2),
            b'D' | b'C' => (1, 1),
            _ => return Ok(()),
        };
        let body = self.body()?;
        // What is too short is told by whoever checks it.
        let Some(mut rest) = body.get(before..) else { return Ok(()) };
        let mut bytes = BytesMut::with_capacity(self.bytes.len() * 2);
        bytes.extend_from_slice(&[self.kind, 0, 0, 0, 0]);
        bytes.extend_from_slice(&body[..before]);
        for _ in 0..strings {
            let Some(end) = rest.iter().position(|&byte| byte == 0) else { return Ok(()) };
            bytes.extend_from_slice(encoding.decode(&rest[..end])?.as_bytes());
            bytes.extend_from_slice(&[0]);
            rest = &rest[end + 1..];
        }
        bytes.extend_from_slice(rest);
        let length = i32::try_from(bytes.len() - 1).map_err(|_| invalid_format())?;
        bytes[1..5].copy_from_slice(&length.to_be_bytes());
        self.bytes = bytes;
        Ok(())
    }
}

fn is_frontend_kind(kind: u8) -> bool {
    matches!(kind, b'Q' | b'P' | b'B' | b'D' | b'E' | b'C' | b'H' | b'S' | b'X' | b'd' | b'c' | b'f' | b'p' | b'F')
}

/// Walks a message's body as its type demands.
fn check(kind: u8, body: &[u8]) -> Result<(), SqlError> {
    let mut body = Body::new(body);
    match kind {
        b'Q' | b'f' => {
            body.string()?;
        }
        b'P' => {
            body.string()?;
            body.string()?;
            let types = body.count()?;
            body.bytes(types * 4)?;
        }
        b'B' => {
            body.string()?;
            body.string()?;
            let formats = body.count()?;
            body.bytes(formats * 2)?;
            for _ in 0..body.count()? {
                body.value()?;
            }
            let formats = body.count()?;
            body.bytes(formats * 2)?;
        }
        b'D' | b'C' => {
            let target = body.byte()?;
            if target != b'S' && target != b'P' {
                let name = if kind == b'D' { "DESCRIBE" } else { "CLOSE" };
                return Err(protocol_violation(format!("invalid {name} message subtype {target}")));
            }
            body.string()?;
        }
        b'E' => {
            body.string()?;
            body.bytes(4)?;
        }
        b'd' => return Ok(()),
        b'H' | b'S' | b'X' | b'c' => {}
        _ => return Err(protocol_violation(format!("unexpected message type 0x{kind:02X}"))),
    }
    body.end()
}

/// A reader over one message's body that cannot leave it.
pub struct Body<'a> {
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    /// Starts at the first byte.
    pub fn new(body: &'a [u8]) -> Self {
        Body { rest: body }
    }
    /// One byte.
    pub fn byte(&mut self) -> Result<u8, SqlError> {
        self.bytes(1).map(|taken| taken[0]).map_err(|_| protocol_violation("no data left in message"))
    }
    /// This many bytes.
    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], SqlError> {
        if length > self.rest.len() {
            return Err(insufficient());
        }
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }
    /// A 16-bit count.
    pub fn count(&mut self) -> Result<usize, SqlError> {
        let bytes = self.bytes(2)?;
        Ok(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    }
    /// A 32-bit integer.
    pub fn int4(&mut self) -> Result<i32, SqlError> {
        let bytes = self.bytes(4)?;
        Ok(i32::from_be_bytes(bytes.try_into().expect("four bytes were asked for")))
    }
    /// A length and as many bytes; -1 is NULL.
    pub fn value(&mut self) -> Result<Option<&'a [u8]>, SqlError> {
        match self.int4()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| insufficient())?;
                self.bytes(length).map(Some)
            }
        }
    }
    /// A NUL-terminated string of valid UTF-8.
    pub fn string(&mut self) -> Result<&'a str, SqlError> {
        let end = self
            .rest
            .iter()
            .position(|&byte| byte == 0)
            .ok_or_else(|| protocol_violation("invalid string in message"))?;
        let text = utf8(&self.rest[..end])?;
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }
    /// Whether all is read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
    /// Demands that nothing is left.
    pub fn end(&self) -> Result<(), SqlError> {
        if self.rest.is_empty() { Ok(()) } else { Err(invalid_format()) }
    }
}

/// Text from a client, or 22021 naming the first bytes that are not UTF-8.
fn utf8(bytes: &[u8]) -> Result<&str, SqlError> {
    Ok(Encoding::checked(bytes)?)
}

fn insufficient() -> SqlError {
    protocol_violation("insufficient data left in message")
}

fn invalid_format() -> SqlError {
    protocol_violation("invalid message format")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, body: &[u8]) -> BytesMut {
        let mut bytes = BytesMut::new();
        bytes.extend_from_slice(&[kind]);
        bytes.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn decode(kind: u8, body: &[u8]) -> Result<PgWireFrontendMessage, &'static str> {
        let mut bytes = frame(kind, body);
        let Taken::Frame(frame) = Frame::take(&mut bytes, MESSAGE_BYTES_MAX).expect("length fits") else {
            panic!("whole");
        };
        assert!(bytes.is_empty());
        frame.decode(Encoding::UTF8).map_err(|error| error.code)
    }

    #[test]
    fn whole_messages_decode() {
        for (kind, body) in [
            (b'Q', &b"select 1\0"[..]),
            (b'P', b"name\0select $1\0\0\x01\0\0\0\x17"),
            (b'B', b"\0name\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\0"),
            (b'D', b"Sname\0"),
            (b'C', b"P\0"),
            (b'E', b"\0\x7f\xff\xff\xff"),
            (b'H', b""),
            (b'S', b""),
            (b'X', b""),
            (b'd', b"1\t2\n"),
            (b'c', b""),
            (b'f', b"no\0"),
        ] {
            assert!(decode(kind, body).is_ok(), "{}", kind as char);
        }
    }

    #[test]
    fn misshapen_messages_are_refused_and_never_panic() {
        for (kind, body, code) in [
            (b'Q', &b"select 1"[..], "08P01"),
            (b'Q', b"select 1\0more\0", "08P01"),
            (b'Q', b"select '\xff'\0", "22021"),
            (b'P', b"\0\0", "08P01"),
            (b'P', b"\0\0\xff\xff\0\0\0\0", "08P01"),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0", "08P01"),
            (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0", "08P01"),
            (b'B', b"\0\0\xff\xff", "08P01"),
            (b'D', b"Zname\0", "08P01"),
            (b'D', b"", "08P01"),
            (b'E', b"\0\0", "08P01"),
            (b'S', b"x", "08P01"),
            (b'F', b"", "08P01"),
        ] {
            assert_eq!(decode(kind, body).expect_err("refused"), code, "{}", kind as char);
        }
    }

    #[test]
    fn every_prefix_and_every_flipped_byte_is_handled() {
        let bind = b"portal\0statement\0\0\x02\0\0\0\x01\0\x02\0\0\0\x03abc\0\0\0\x04\0\0\0\x07\0\x01\0\x01";
        for end in 0..bind.len() {
            assert!(decode(b'B', &bind[..end]).is_err());
        }
        for at in 0..bind.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = bind.to_vec();
                changed[at] = value;
                drop(decode(b'B', &changed));
            }
        }
    }

    /// Bytes of messages that hold, changed, moved and mixed: each is a message or an error, and none takes more memory than it has.
    #[test]
    fn changed_messages_are_decoded_or_refused() {
        let corpus: [(u8, &[u8]); 12] = [
            (b'Q', b"select 1\0"),
            (b'P', b"name\0select $1\0\0\x02\0\0\0\x17\0\0\0\x19"),
            (b'B', b"portal\0name\0\0\x02\0\0\0\x01\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\x01x\0\x01\0\x01"),
            (b'D', b"Sname\0"),
            (b'D', b"Pportal\0"),
            (b'C', b"P\0"),
            (b'E', b"portal\0\x7f\xff\xff\xff"),
            (b'd', b"1\t2\n"),
            (b'f', b"no\0"),
            (b'p', b"SCRAM-SHA-256\0\0\0\0\x08n,,n=,r="),
            (b'S', b""),
            (b'X', b""),
        ];
        let mut state = 11_u64;
        let mut below = |most: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % most
        };
        for _ in 0..50_000 {
            let (kind, body) = corpus[below(corpus.len())];
            let mut changed = body.to_vec();
            for _ in 0..=below(4) {
                let from = below(changed.len() + 1);
                let to = (from + below(4)).min(changed.len());
                let piece = match below(3) {
                    0 => vec![below(256) as u8; below(5)],
                    1 => [&[0_u8, 0], &[0xff, 0xff][..], &[0x7f, 0xff, 0xff, 0xff], &[0]][below(4)].to_vec(),
                    _ => {
                        let (_, other) = corpus[below(corpus.len())];
                        other[..below(other.len() + 1)].to_vec()
                    }
                };
                changed.splice(from..to, piece);
            }
            let kind = if below(8) == 0 { below(256) as u8 } else { kind };
            let mut bytes = frame(kind, &changed);
            // What follows a message is the next one's.
            bytes.extend_from_slice(b"Q");
            match Frame::take(&mut bytes, MESSAGE_BYTES_MAX) {
                Ok(Taken::Frame(frame)) => {
                    assert_eq!(&bytes[..], b"Q");
                    drop(frame.decode(Encoding::UTF8));
                }
                Ok(Taken::Part | Taken::TooLong(..)) | Err(_) => {}
            }
        }
    }

    #[test]
    fn lengths_are_bounded_before_anything_is_allocated() {
        for (bytes, expected) in [
            (&b"Q\0\0\0\x03"[..], "lost"),
            (b"Q\xff\xff\xff\xff", "lost"),
            (b"Q\x7f\xff\xff\xff", "too long"),
            (b"z\0\0\0\x04", "lost"),
            (b"Q\0\0\0\x20sel", "part"),
            (b"Q\0\0", "part"),
            (b"", "part"),
        ] {
            let found = match Frame::take(&mut BytesMut::from(bytes), MESSAGE_BYTES_MAX) {
                Ok(Taken::Frame(_)) => "whole",
                Ok(Taken::Part) => "part",
                Ok(Taken::TooLong(..)) => "too long",
                Err(_) => "lost",
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn invalid_utf8_is_named_as_postgres_names_it() {
        let message = |bytes: &[u8]| utf8(bytes).expect_err("invalid").message;
        assert_eq!(message(b"ab\xff"), "invalid byte sequence for encoding \"UTF8\": 0xff");
        assert_eq!(message(b"\xe2\x28\xa1"), "invalid byte sequence for encoding \"UTF8\": 0xe2 0x28 0xa1");
        assert_eq!(message(b"\xc3"), "invalid byte sequence for encoding \"UTF8\": 0xc3");
    }
}
