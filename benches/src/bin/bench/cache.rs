//! memcached's text protocol, as far as a web application uses it: get of one or of many keys, set, delete, and its statistics.
//!
//! The same client language as on the side of SQL. Keys are letters, digits and colons; values hold any bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::server::Failure;

/// A connection.
pub struct Cache {
    reader: BufReader<TcpStream>,
    stream: TcpStream,
    line: String,
}

impl Cache {
    /// Connects on loopback.
    pub fn connect(port: u16) -> Result<Cache, Failure> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Cache { reader: BufReader::new(stream.try_clone()?), stream, line: String::new() })
    }

    /// The value of a key.
    pub fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.get_many(&[key.to_string()])?.pop().flatten())
    }

    /// The values of keys, in their order.
    pub fn get_many(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        self.stream.write_all(format!("get {}\r\n", keys.join(" ")).as_bytes())?;
        let mut values = vec![None; keys.len()];
        let mut next = 0;
        loop {
            self.read_line()?;
            if self.line == "END" {
                return Ok(values);
            }
            let words: Vec<&str> = self.line.split(' ').collect();
            let &["VALUE", key, _flags, length] = words.as_slice() else {
                return Err(format!("memcached answered {:?}", self.line).into());
            };
            // It answers in the order of the keys, and leaves out what it does not have.
            while keys.get(next).is_some_and(|wanted| wanted != key) {
                next += 1;
            }
            let length: usize = length.parse()?;
            let mut value = vec![0; length + 2];
            self.reader.read_exact(&mut value)?;
            value.truncate(length);
            *values.get_mut(next).ok_or("memcached answered a key that was not asked for")? = Some(value);
            next += 1;
        }
    }

    /// Keeps a value.
    pub fn set(&mut self, key: &str, value: &[u8]) -> Result<(), Failure> {
        let mut message = format!("set {key} 0 0 {}\r\n", value.len()).into_bytes();
        message.extend_from_slice(value);
        message.extend_from_slice(b"\r\n");
        self.stream.write_all(&message)?;
        self.expect(&["STORED"])
    }

    /// Forgets a value, if it is there.
    pub fn delete(&mut self, key: &str) -> Result<(), Failure> {
        self.stream.write_all(format!("delete {key}\r\n").as_bytes())?;
        self.expect(&["DELETED", "NOT_FOUND"])
    }

    /// A number of its statistics.
    pub fn statistic(&mut self, name: &str) -> Result<u64, Failure> {
        self.stream.write_all(b"stats\r\n")?;
        let mut found = None;
        loop {
            self.read_line()?;
            if self.line == "END" {
                return found.ok_or_else(|| format!("memcached has no statistic {name}").into());
            }
            if let Some(value) = self.line.strip_prefix(&format!("STAT {name} ")) {
                found = Some(value.parse()?);
            }
        }
    }

    fn expect(&mut self, answers: &[&str]) -> Result<(), Failure> {
        self.read_line()?;
        if answers.contains(&self.line.as_str()) {
            return Ok(());
        }
        Err(format!("memcached answered {:?}", self.line).into())
    }

    fn read_line(&mut self) -> Result<(), Failure> {
        self.line.clear();
        if self.reader.read_line(&mut self.line)? == 0 {
            return Err("memcached has closed the connection".into());
        }
        self.line.truncate(self.line.trim_end().len());
        Ok(())
    }
}
