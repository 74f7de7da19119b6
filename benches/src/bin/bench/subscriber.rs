//! A connection that subscribes and does nothing else: PostgreSQL's protocol by hand on one socket, so that ten thousand fit in a thread.
//!
//! Speaks to servers without a password. Reads what has come without waiting, or waits.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::server::{Failure, Server};

/// How long a client waits for what must come.
const WAIT_MAX: Duration = Duration::from_mins(1);
/// So many connections come from one address: each has a port of its own there.
const OF_ONE_ADDRESS: u64 = 20_000;
/// Descriptors besides those of subscriptions, of this program and of a server.
const DESCRIPTORS: u64 = 2_000;

/// Lets this program and the servers that it starts from now on have so many connections; gives how many the machine lets them have.
pub fn allow(connections: u64) -> u64 {
    let wanted = connections + DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        // More than the hard limit is for those with privileges; without them the hard limit is what there is.
        let most = limit.maximum.map(|most| most.max(wanted));
        if setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: most }).is_err() {
            let _refused = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        }
    }
    let there = getrlimit(Resource::Nofile).current.unwrap_or(wanted);
    there.saturating_sub(DESCRIPTORS).min(connections)
}

/// One subscription over COPY.
pub struct Subscriber {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Subscriber {
    /// Connects, subscribes to a query, and reads until the marker after the rows as they are.
    pub fn open(server: &Server, query: &str) -> Result<Subscriber, Failure> {
        Subscriber::open_as(server, query, 0)
    }

    /// The same as one of very many, whose numbers differ.
    pub fn open_as(server: &Server, query: &str, number: u64) -> Result<Subscriber, Failure> {
        let mut subscriber = Subscriber::connected(server, number)?;
        subscriber.ask(&format!("COPY (SUBSCRIBE ({query}) WITH (snapshot)) TO STDOUT"))?;
        loop {
            let (kind, body) = subscriber.message()?;
            if kind == b'd' && String::from_utf8_lossy(&body).split('\t').nth(1) == Some("\\N") {
                break;
            }
        }
        Ok(subscriber)
    }

    /// Connects, and declares a cursor over each of these subscriptions; of each the row as it is and the marker are fetched. What
    /// comes later stays with the server: so a connection has as many as one wants.
    pub fn holding(server: &Server, queries: &[String], number: u64) -> Result<Subscriber, Failure> {
        let mut subscriber = Subscriber::connected(server, number)?;
        let each = |form: &dyn Fn(usize, &String) -> String| {
            queries.iter().enumerate().map(|(place, query)| form(place, query)).collect::<String>()
        };
        let declared = each(&|place, query| format!("DECLARE c{place} CURSOR FOR SUBSCRIBE ({query});"));
        let fetched = each(&|place, _| format!("FETCH 2 c{place} WITH (timeout = '60s');"));
        for sql in [format!("SET idle_in_transaction_session_timeout = 0; BEGIN; {declared}"), fetched] {
            subscriber.ask(&sql)?;
            while subscriber.message()?.0 != b'Z' {}
        }
        Ok(subscriber)
    }

    fn connected(server: &Server, number: u64) -> Result<Subscriber, Failure> {
        let stream = stream(server.port, number)
            .map_err(|error| format!("no further connection ({error}): `ulimit -n` bounds both sides"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(WAIT_MAX))?;
        let mut subscriber = Subscriber { stream, unread: Vec::new() };
        let mut startup = 196_608_u32.to_be_bytes().to_vec();
        startup.extend_from_slice(b"user\0controller\0database\0dogwood\0\0");
        subscriber.send(&startup)?;
        while subscriber.message()?.0 != b'Z' {}
        Ok(subscriber)
    }

    fn ask(&mut self, sql: &str) -> Result<(), Failure> {
        self.stream.write_all(b"Q")?;
        self.send(&[sql.as_bytes(), &[0]].concat())
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

    /// Listens for a while; whether a change came.
    pub fn hears(&mut self, within: Duration) -> Result<bool, Failure> {
        self.stream.set_read_timeout(Some(within))?;
        let mut came = !self.lines()?.is_empty();
        while !came && self.receive()? {
            came = !self.lines()?.is_empty();
        }
        self.stream.set_read_timeout(Some(WAIT_MAX))?;
        Ok(came)
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

/// A connection from an address that has ports left.
fn stream(port: u16, number: u64) -> Result<TcpStream, Failure> {
    let last = u8::try_from(1 + number / OF_ONE_ADDRESS)?;
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, last), 0))?;
    connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    Ok(TcpStream::from(socket))
}
