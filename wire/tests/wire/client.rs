//! A client made of bytes: it logs in as a driver does, and then sends whatever a test wants.

use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_mins(2);

/// One message from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its type.
    pub kind: u8,
    /// What follows its length.
    pub body: Vec<u8>,
}

/// A connection, in plain text or encrypted.
pub struct Client<S = TcpStream> {
    /// The socket.
    pub stream: S,
    address: SocketAddr,
    /// From BackendKeyData.
    pub pid: i32,
    /// From BackendKeyData.
    pub secret: Vec<u8>,
}

/// A startup packet.
pub fn startup(version: i32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    }
    body.push(0);
    packet(&body)
}

/// A packet without type.
pub fn packet(body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as i32 + 4).to_be_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

/// A message.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&packet(body));
    bytes
}

impl Client {
    /// Opens a socket and says nothing.
    pub fn open(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        stream.set_nodelay(true).expect("nodelay");
        Client { stream, address, pid: 0, secret: Vec::new() }
    }

    /// Logs in, or gives the ErrorResponse.
    pub fn login(address: SocketAddr, user: &str, password: &str) -> Result<Client, Message> {
        let mut client = Client::open(address);
        client.write(&startup(3 << 16, &[("user", user), ("database", "test")]));
        client.authenticate(password)?;
        Ok(client)
    }

    /// Asks on a connection of its own to cancel what this one does.
    pub fn cancel(&self, secret: &[u8]) {
        let mut body = 80_877_102i32.to_be_bytes().to_vec();
        body.extend_from_slice(&self.pid.to_be_bytes());
        body.extend_from_slice(secret);
        let mut other = Client::open(self.address);
        other.write(&packet(&body));
        // The server closes when it has done it.
        assert_eq!(other.stream.read(&mut [0]).expect("closed"), 0);
    }
}

impl<S: Read + Write> Client<S> {
    /// Goes on over what stands between, such as TLS.
    pub fn over<T>(self, layer: impl FnOnce(S) -> T) -> Client<T> {
        Client { stream: layer(self.stream), address: self.address, pid: self.pid, secret: self.secret }
    }

    /// From after the startup packet to ReadyForQuery.
    pub fn authenticate(&mut self, password: &str) -> Result<Vec<Message>, Message> {
        let mut seen = Vec::new();
        self.authenticate_seeing(password, &mut seen)?;
        Ok(seen)
    }

    /// The same; `seen` is what came before the end, whichever that is.
    pub fn authenticate_seeing(&mut self, password: &str, seen: &mut Vec<Message>) -> Result<(), Message> {
        let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        loop {
            let message = self.read().expect("a message during startup");
            match (message.kind, message.body.get(..4)) {
                (b'E', _) => return Err(message),
                (b'R', Some([0, 0, 0, 10])) => {
                    let mut body = format!("{SCRAM_SHA_256}\0").into_bytes();
                    body.extend_from_slice(&packet(scram.message())[..4]);
                    let length = (scram.message().len() as i32).to_be_bytes();
                    let at = body.len() - 4;
                    body[at..].copy_from_slice(&length);
                    body.extend_from_slice(scram.message());
                    self.send(b'p', &body);
                }
                (b'R', Some([0, 0, 0, 11])) => {
                    scram.update(&message.body[4..]).expect("server-first");
                    let response = scram.message().to_vec();
                    self.send(b'p', &response);
                }
                (b'R', Some([0, 0, 0, 12])) => scram.finish(&message.body[4..]).expect("the server knows the key"),
                (b'K', Some(pid)) => {
                    self.pid = i32::from_be_bytes(pid.try_into().expect("four bytes"));
                    self.secret = message.body[4..].to_vec();
                }
                (b'Z', _) => return Ok(()),
                _ => {}
            }
            seen.push(message);
        }
    }

    /// Sends bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("write");
    }

    /// Sends a message.
    pub fn send(&mut self, kind: u8, body: &[u8]) {
        self.write(&message(kind, body));
    }

    /// The next message; an error when the server has closed.
    pub fn read(&mut self) -> io::Result<Message> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes(head[1..].try_into().expect("four bytes")) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body)?;
        Ok(Message { kind: head[0], body })
    }

    /// All up to ReadyForQuery, which is the last.
    pub fn until_ready(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            let message = self.read().expect("a message before ReadyForQuery");
            let ready = message.kind == b'Z';
            messages.push(message);
            if ready {
                return messages;
            }
        }
    }

    /// Runs a query string.
    pub fn query(&mut self, sql: &str) -> Vec<Message> {
        self.send(b'Q', format!("{sql}\0").as_bytes());
        self.until_ready()
    }

    /// Runs a query string that must not fail; gives the rows as text.
    pub fn rows(&mut self, sql: &str) -> Vec<String> {
        let messages = self.query(sql);
        if let Some(error) = messages.iter().find(|message| message.kind == b'E') {
            panic!("{sql}: {}", error.describe());
        }
        messages.iter().filter(|message| message.kind == b'D').map(Message::row).collect()
    }

    /// Whether the server has closed after what was read.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0)) || {
            // A reset is a closed connection as well.
            self.stream.write_all(b"S\0\0\0\x04").is_err() || self.read().is_err()
        }
    }
}

impl Message {
    /// An error's field.
    pub fn field(&self, code: u8) -> Option<String> {
        assert!(self.kind == b'E' || self.kind == b'N', "{self:?} has no fields");
        self.body
            .split(|&byte| byte == 0)
            .find(|field| field.first() == Some(&code))
            .map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
    }

    /// An error's SQLSTATE.
    pub fn code(&self) -> String {
        self.field(b'C').expect("every error has a code")
    }

    /// A row's values as text.
    pub fn row(&self) -> String {
        let mut rest = &self.body[2..];
        let mut values = Vec::new();
        while !rest.is_empty() {
            let length = i32::from_be_bytes(rest[..4].try_into().expect("four bytes"));
            rest = &rest[4..];
            match usize::try_from(length) {
                Err(_) => values.push("∅".to_string()),
                Ok(length) => {
                    values.push(String::from_utf8_lossy(&rest[..length]).into_owned());
                    rest = &rest[length..];
                }
            }
        }
        values.join("|")
    }

    /// The kind, and what tells messages of a kind apart.
    pub fn describe(&self) -> String {
        match self.kind {
            b'E' => format!("E {} {}", self.code(), self.field(b'M').unwrap_or_default()),
            b'C' => format!("C {}", String::from_utf8_lossy(&self.body[..self.body.len() - 1])),
            b'D' => format!("D {}", self.row()),
            b'Z' => format!("Z {}", self.body[0] as char),
            kind => (kind as char).to_string(),
        }
    }
}

/// What the messages are, one word or line each.
pub fn describe(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::describe).collect()
}
