//! A connection that subscribes and does nothing else: PostgreSQL's protocol by hand on one socket, so that ten thousand fit in a thread.
//!
//! Speaks to servers without a password. Reads what has come without waiting, or waits.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::server::{Failure, Server};

/// How long a client waits for what must come.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// One subscription over COPY.
pub struct Subscriber {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Subscriber {
    /// Connects, subscribes to a query, and reads until the marker after the rows as they are.
    pub fn open(server: &Server, query: &str) -> Result<Subscriber, Failure> {
        let stream = TcpStream::connect(("127.0.0.1", server.port))
            .map_err(|error| format!("no further connection ({error}): `ulimit -n` bounds both sides"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(WAIT_MAX))?;
        let mut subscriber = Subscriber { stream, unread: Vec::new() };
        let mut startup = 196_608_u32.to_be_bytes().to_vec();
        startup.extend_from_slice(b"user\0controller\0database\0dogwood\0\0");
        subscriber.send(&startup)?;
        while subscriber.message()?.0 != b'Z' {}
        let sql = format!("COPY (SUBSCRIBE ({query}) WITH (snapshot)) TO STDOUT\0");
        subscriber.stream.write_all(b"Q")?;
        subscriber.send(sql.as_bytes())?;
        loop {
            let (kind, body) = subscriber.message()?;
            if kind == b'd' && String::from_utf8_lossy(&body).split('\t').nth(1) == Some("\\N") {
                break;
            }
        }
        Ok(subscriber)
    }

    /// The changes that have come: their lines, perhaps none.
    pub fn changes(&mut self) -> Result<Vec<String>, Failure> {
        self.stream.set_nonblocking(true)?;
        while self.receive()? {}
        self.stream.set_nonblocking(false)?;
        self.lines()
    }

    fn lines(&mut self) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        while let Some((kind, body)) = self.next_message()? {
            if kind == b'd' {
                lines.push(String::from_utf8_lossy(&body).trim_end().to_string());
            }
        }
        Ok(lines)
    }

    /// Waits until so many changes have come, asleep: ten thousand clients that look for themselves would take the server's processors.
    pub fn wait(&mut self, count: usize) -> Result<Vec<String>, Failure> {
        let mut lines = self.lines()?;
        while lines.len() < count {
            if !self.receive()? {
                return Err(format!("{} of {count} changes within {WAIT_MAX:?}", lines.len()).into());
            }
            lines.extend(self.lines()?);
        }
        Ok(lines)
    }

    fn send(&mut self, body: &[u8]) -> Result<(), Failure> {
        let length = u32::try_from(body.len() + 4)?;
        self.stream.write_all(&[&length.to_be_bytes(), body].concat())?;
        Ok(())
    }

    /// Reads what is there; false if nothing came.
    fn receive(&mut self) -> Result<bool, Failure> {
        let mut part = [0; 4_096];
        match self.stream.read(&mut part) {
            Ok(0) => Err("the server has closed a subscription".into()),
            Ok(length) => {
                self.unread.extend_from_slice(&part[..length]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn message(&mut self) -> Result<(u8, Vec<u8>), Failure> {
        loop {
            if let Some(message) = self.next_message()? {
                return Ok(message);
            }
            if !self.receive()? {
                return Err(format!("the server said nothing within {WAIT_MAX:?}").into());
            }
        }
    }

    fn next_message(&mut self) -> Result<Option<(u8, Vec<u8>)>, Failure> {
        let Some(&[kind, a, b, c, d]) = self.unread.first_chunk::<5>() else { return Ok(None) };
        let end = u32::from_be_bytes([a, b, c, d]) as usize + 1;
        if self.unread.len() < end {
            return Ok(None);
        }
        let body = self.unread[5..end].to_vec();
        self.unread.drain(..end);
        if kind == b'E' {
            return Err(format!("the server refused: {}", String::from_utf8_lossy(&body).replace('\0', " ")).into());
        }
        Ok(Some((kind, body)))
    }
}
