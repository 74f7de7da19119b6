//! memcached's text protocol, as far as a web application uses it: get of one or of many keys, set, delete, and its statistics.
//!
//! The same client language as on the side of SQL. Keys are letters, digits and colons; values hold any bytes.

use std::io::{BufRead, BufReader, Read, Write};

use crate::server::{CacheServer, Failure};
use crate::tls::Link;

/// A connection.
pub struct Cache {
    stream: BufReader<Link>,
    line: String,
}

impl Cache {
    /// Connects on loopback, as its server wants it.
    pub fn connect(server: &CacheServer) -> Result<Cache, Failure> {
        Ok(Cache { stream: BufReader::new(server.link()?), line: String::new() })
    }

    /// Protocol and cipher of a connection that is encrypted.
    pub fn encryption(server: &CacheServer) -> Result<Option<String>, Failure> {
        let mut cache = Cache::connect(server)?;
        cache.statistic("pid")?;
        Ok(cache.stream.get_ref().agreed())
    }

    /// The value of a key.
    pub fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.get_many(&[key.to_string()])?.pop().flatten())
    }

    /// The values of keys, in their order.
    pub fn get_many(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        self.send(format!("get {}\r\n", keys.join(" ")).as_bytes())?;
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
            self.stream.read_exact(&mut value)?;
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
        self.send(&message)?;
        self.expect(&["STORED"])
    }

    /// Forgets a value, if it is there.
    pub fn delete(&mut self, key: &str) -> Result<(), Failure> {
        self.send(format!("delete {key}\r\n").as_bytes())?;
        self.expect(&["DELETED", "NOT_FOUND"])
    }

    /// A number of its statistics.
    pub fn statistic(&mut self, name: &str) -> Result<u64, Failure> {
        self.send(b"stats\r\n")?;
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

    fn send(&mut self, message: &[u8]) -> Result<(), Failure> {
        self.stream.get_mut().write_all(message)?;
        Ok(self.stream.get_mut().flush()?)
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
        if self.stream.read_line(&mut self.line)? == 0 {
            return Err("memcached has closed the connection".into());
        }
        self.line.truncate(self.line.trim_end().len());
        Ok(())
    }
}
