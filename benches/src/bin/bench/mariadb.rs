//! MariaDB's protocol, as far as a web application uses it: text statements, and prepared statements with their rows in binary.
//!
//! Without a password, over loopback, in plain text or under TLS, as the other clients here. Knows numbers, text and NULL; never more than the answer at hand.

use std::io::{BufReader, Read, Write};

use crate::server::Failure;
use crate::tls::{Link, Tls};

/// A value that is sent or was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// Text, and whatever is sent as text.
    Text(String),
    /// Received, and of a type that nobody here reads.
    Other,
}

/// What the server refused, with its number.
#[derive(Debug)]
pub struct Refused {
    /// MariaDB's own number of it.
    pub number: u16,
    message: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "MariaDB error {}: {}", self.number, self.message)
    }
}

impl std::error::Error for Refused {}

/// A connection.
pub struct Maria {
    stream: BufReader<Link>,
    sequence: u8,
}

/// A statement that the server has prepared.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    id: u32,
    parameters: usize,
}

/// Rows, or how many were changed.
#[derive(Debug, Default)]
pub struct Answer {
    /// The rows, if it was a query.
    pub rows: Vec<Vec<Cell>>,
    /// Rows changed, if it was none.
    pub changed: u64,
}

// Long password, rows found rather than changed, long flag, protocol 4.1, transactions, secure connection, plugin authentication, connect with a database.
const CAPABILITIES: u32 = 0x1 | 0x2 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
const WITH_TLS: u32 = 0x800;
const UTF8_BINARY: u8 = 46;
const TYPE_LONGLONG: u8 = 8;
const TYPE_NULL: u8 = 6;
const TYPE_VAR_STRING: u8 = 253;

impl Maria {
    /// Connects on loopback as root, without a password.
    pub fn connect(port: u16, database: &str, tls: Option<&Tls>) -> Result<Maria, Failure> {
        let mut client = Maria { stream: BufReader::new(Link::Plain(Link::plain(port)?)), sequence: 0 };
        refusal(&client.receive()?)?;
        let capabilities = CAPABILITIES | if tls.is_some() { WITH_TLS } else { 0 };
        let mut hello = Vec::new();
        hello.extend(capabilities.to_le_bytes());
        hello.extend((1_u32 << 24).to_le_bytes());
        hello.push(UTF8_BINARY);
        hello.extend([0; 23]);
        if let Some(tls) = tls {
            // So much of it in plain text, then all of it again.
            client.send(&hello)?;
            let Link::Plain(stream) = client.stream.into_inner() else { return Err("encrypted before it was".into()) };
            client = Maria { stream: BufReader::new(tls.stream(stream)?), sequence: client.sequence };
        }
        // An empty password is answered by nothing.
        hello.extend(b"root\0\0");
        hello.extend(database.as_bytes());
        hello.extend(b"\0mysql_native_password\0");
        client.send(&hello)?;
        let mut answer = client.receive()?;
        if answer.first() == Some(&0xfe) {
            client.send(&[])?;
            answer = client.receive()?;
        }
        refusal(&answer)?;
        Ok(client)
    }

    /// Protocol and cipher of a connection that is encrypted.
    pub fn encryption(&self) -> Option<String> {
        self.stream.get_ref().agreed()
    }

    /// A statement as text, whose rows nobody wants.
    pub fn run(&mut self, sql: &str) -> Result<u64, Failure> {
        self.command(0x03, sql.as_bytes())?;
        Ok(self.answer(false)?.changed)
    }

    /// Prepares a statement with `?` for its parameters.
    pub fn prepare(&mut self, sql: &str) -> Result<Prepared, Failure> {
        self.command(0x16, sql.as_bytes())?;
        let head = self.receive()?;
        refusal(&head)?;
        let mut bytes = Bytes { rest: head.get(1..).unwrap_or_default() };
        let (id, columns, parameters) = (bytes.number(4)? as u32, bytes.number(2)?, bytes.number(2)? as usize);
        for count in [parameters as u64, columns] {
            // The descriptions and the packet that ends them.
            for _ in 0..if count > 0 { count + 1 } else { 0 } {
                self.receive()?;
            }
        }
        Ok(Prepared { id, parameters })
    }

    /// Executes a prepared statement.
    pub fn execute(&mut self, statement: Prepared, parameters: &[Cell]) -> Result<Answer, Failure> {
        if parameters.len() != statement.parameters {
            return Err(format!("{} parameters for {}", parameters.len(), statement.parameters).into());
        }
        let mut packet = Vec::with_capacity(16 + 12 * parameters.len());
        packet.extend(statement.id.to_le_bytes());
        packet.extend([0, 1, 0, 0, 0]);
        if !parameters.is_empty() {
            let mut nulls = vec![0_u8; parameters.len().div_ceil(8)];
            for (place, _) in parameters.iter().enumerate().filter(|(_, cell)| **cell == Cell::Null) {
                nulls[place / 8] |= 1 << (place % 8);
            }
            packet.extend(nulls);
            packet.push(1);
            for cell in parameters {
                let kind = match cell {
                    Cell::Int(_) => TYPE_LONGLONG,
                    Cell::Text(_) => TYPE_VAR_STRING,
                    Cell::Null | Cell::Other => TYPE_NULL,
                };
                packet.extend([kind, 0]);
            }
            for cell in parameters {
                match cell {
                    Cell::Int(number) => packet.extend(number.to_le_bytes()),
                    Cell::Text(text) => {
                        let length = text.len() as u32;
                        if length < 251 {
                            packet.push(length as u8);
                        } else {
                            packet.push(0xfd);
                            packet.extend(&length.to_le_bytes()[..3]);
                        }
                        packet.extend(text.as_bytes());
                    }
                    Cell::Null | Cell::Other => {}
                }
            }
        }
        self.command(0x17, &packet)?;
        self.answer(true)
    }

    fn answer(&mut self, wanted: bool) -> Result<Answer, Failure> {
        let head = self.receive()?;
        refusal(&head)?;
        let mut bytes = Bytes { rest: &head };
        let columns = bytes.length()?;
        if columns == 0 {
            return Ok(Answer { rows: Vec::new(), changed: bytes.length()? });
        }
        let mut kinds = Vec::with_capacity(columns as usize);
        for _ in 0..columns {
            let description = self.receive()?;
            let mut bytes = Bytes { rest: &description };
            for _ in 0..6 {
                bytes.text()?;
            }
            bytes.take(7)?;
            kinds.push(bytes.number(1)? as u8);
        }
        self.receive()?;
        let mut rows = Vec::new();
        loop {
            let packet = self.receive()?;
            refusal(&packet)?;
            if packet.first() == Some(&0xfe) && packet.len() < 9 {
                return Ok(Answer { rows, changed: 0 });
            }
            if wanted {
                rows.push(row(&packet, &kinds)?);
            }
        }
    }

    fn command(&mut self, code: u8, rest: &[u8]) -> Result<(), Failure> {
        self.sequence = 0;
        let mut packet = Vec::with_capacity(rest.len() + 1);
        packet.push(code);
        packet.extend(rest);
        self.send(&packet)
    }

    fn send(&mut self, payload: &[u8]) -> Result<(), Failure> {
        if payload.len() >= (1 << 24) - 1 {
            return Err("a statement of more than 16 MB".into());
        }
        let mut packet = Vec::with_capacity(payload.len() + 4);
        packet.extend(&(payload.len() as u32).to_le_bytes()[..3]);
        packet.push(self.sequence);
        packet.extend(payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.get_mut().write_all(&packet)?;
        Ok(self.stream.get_mut().flush()?)
    }

    fn receive(&mut self) -> Result<Vec<u8>, Failure> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head)?;
        self.sequence = head[3].wrapping_add(1);
        let mut payload = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }
}

/// An error packet as an error: 0xff, a number, `#` and a state of five letters, text.
fn refusal(packet: &[u8]) -> Result<(), Failure> {
    if packet.first() != Some(&0xff) {
        return Ok(());
    }
    let number = u16::from_le_bytes([packet.get(1).copied().unwrap_or(0), packet.get(2).copied().unwrap_or(0)]);
    let message = String::from_utf8_lossy(packet.get(9..).unwrap_or_default()).into_owned();
    Err(Box::new(Refused { number, message }))
}

/// A row in binary: 0, a bit for each NULL from the third on, values.
fn row(packet: &[u8], kinds: &[u8]) -> Result<Vec<Cell>, Failure> {
    let mut bytes = Bytes { rest: packet };
    bytes.take(1)?;
    let nulls = bytes.take((kinds.len() + 9) / 8)?;
    kinds
        .iter()
        .enumerate()
        .map(|(place, kind)| {
            if nulls[(place + 2) / 8] & (1 << ((place + 2) % 8)) != 0 {
                return Ok(Cell::Null);
            }
            Ok(match kind {
                1 => Cell::Int(i64::from(bytes.number(1)? as i8)),
                2 | 13 => Cell::Int(i64::from(bytes.number(2)? as i16)),
                3 | 9 => Cell::Int(i64::from(bytes.number(4)? as i32)),
                8 => Cell::Int(bytes.number(8)? as i64),
                4 => bytes.take(4).map(|_| Cell::Other)?,
                5 => bytes.take(8).map(|_| Cell::Other)?,
                // Dates and times of day: their length in a byte before them.
                7 | 10..=12 => {
                    let length = bytes.number(1)? as usize;
                    bytes.take(length).map(|_| Cell::Other)?
                }
                _ => Cell::Text(String::from_utf8_lossy(bytes.text()?).into_owned()),
            })
        })
        .collect()
}

/// What of a packet has not been read.
struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Failure> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("a packet of MariaDB's is too short")?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self, count: usize) -> Result<u64, Failure> {
        Ok(self.take(count)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number of one, three, four or nine bytes.
    fn length(&mut self) -> Result<u64, Failure> {
        match self.number(1)? {
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            small => Ok(small),
        }
    }

    fn text(&mut self) -> Result<&'a [u8], Failure> {
        let length = self.length()? as usize;
        self.take(length)
    }
}
