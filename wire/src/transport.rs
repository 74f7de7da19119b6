//! Bytes over one client's socket, encrypted or not.
//!
//! Knows nothing of messages. Reads always wait, as long as patience lasts; writes wait if they are told to.

use crate::busy_wait::Watcher;
use crate::client_socket::ClientSocket;
use bytes::BytesMut;
use engine::protocol::{ListedConnection, ListedTls};
use rustls::{ProtocolVersion, ServerConnection};
use rustls_pki_types::CertificateDer;
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// What one read takes at most.
const READ_BYTES: usize = 16 << 10;

thread_local! {
    /// Where bytes arrive: one place a thread, so that a connection's own buffer is as large as what it keeps.
    static ARRIVING: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// See the module.
pub struct Transport {
    socket: Arc<ClientSocket>,
    tls: Option<Box<ServerConnection>>,
    patience: Option<Duration>,
    watcher: Watcher,
}

/// The socket for the encryption, which reads and writes by itself.
struct Bare<'a> {
    socket: &'a ClientSocket,
    wait: bool,
}

impl Read for Bare<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Bare<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes, self.wait)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The same for one that reads messages.
struct WatchedSocket<'a> {
    socket: &'a ClientSocket,
    watcher: &'a mut Watcher,
}

impl Read for WatchedSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read_watched(self.watcher, buffer)
    }
}

impl Write for WatchedSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes, true)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Transport {
    /// Plain text.
    pub fn plain(socket: Arc<ClientSocket>) -> Self {
        let watcher = socket.watcher();
        Transport { socket, tls: None, patience: None, watcher }
    }

    /// The socket.
    pub fn socket(&self) -> &Arc<ClientSocket> {
        &self.socket
    }

    /// Whether it is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// How the client has come, from that address.
    pub(crate) fn listed(&self, from: IpAddr) -> ListedConnection {
        let tls = self.tls.as_ref().and_then(|tls| {
            let version = match tls.protocol_version()? {
                ProtocolVersion::TLSv1_2 => "TLSv1.2",
                _ => "TLSv1.3",
            };
            let cipher = tls.negotiated_cipher_suite()?.suite().as_str()?;
            let bits = if cipher.contains("AES_128") { 128 } else { 256 };
            Some(ListedTls { version, cipher: cipher.replace("TLS13_", "TLS_"), bits })
        });
        let (client, server) = self.socket.ends();
        ListedConnection { client: client.map(|end| SocketAddr::new(from, end.port())), server, tls }
    }

    /// The protocol that the client has chosen while it began to encrypt.
    pub(crate) fn alpn_protocol(&self) -> Option<&[u8]> {
        self.tls.as_ref().and_then(|tls| tls.alpn_protocol())
    }

    /// The certificates that the client has shown, its own first. Whose key it is was proved, and nothing else.
    pub(crate) fn client_certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.tls.as_ref().and_then(|tls| tls.peer_certificates())
    }

    /// Begins to encrypt. `patience` says how long each wait may still last.
    pub fn encrypt(&mut self, tls: ServerConnection, patience: impl Fn() -> io::Result<Duration>) -> io::Result<()> {
        let tls = self.tls.insert(Box::new(tls));
        while tls.is_handshaking() {
            let mut bare = Bare { socket: &self.socket, wait: true };
            if tls.wants_write() {
                tls.write_tls(&mut bare)?;
                continue;
            }
            // One system call: the time that is left is another one at each wait.
            let left = patience()?;
            self.socket.set_patience(Some(left))?;
            self.patience = Some(left);
            if tls.read_tls(&mut bare)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            process(tls, &mut bare)?;
        }
        self.send(&mut &[][..], true)
    }

    /// Reads what is there; zero at the end, nothing if there was nothing as long as patience lasted.
    pub fn read(&mut self, buffer: &mut BytesMut, patience: Option<Duration>) -> io::Result<Option<usize>> {
        if patience != self.patience {
            self.socket.set_patience(patience)?;
            self.patience = patience;
        }
        ARRIVING.with_borrow_mut(|arriving| {
            arriving.resize(READ_BYTES, 0);
            let read = match &mut self.tls {
                None => self.socket.read_watched(&mut self.watcher, arriving),
                Some(tls) => {
                    decrypt(tls, &mut WatchedSocket { socket: &self.socket, watcher: &mut self.watcher }, arriving)
                }
            };
            match read {
                Ok(read) => {
                    buffer.extend_from_slice(&arriving[..read]);
                    Ok(Some(read))
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    /// Looks at the first byte without taking it; none at the end.
    pub fn peek(&mut self, patience: Duration) -> io::Result<Option<u8>> {
        self.socket.set_patience(Some(patience))?;
        self.patience = Some(patience);
        let mut first = [0];
        Ok((self.socket.peek(&mut first)? > 0).then_some(first[0]))
    }

    /// Fills the buffer. `patience` says how long each wait may still last.
    pub fn read_exact(&mut self, buffer: &mut [u8], patience: impl Fn() -> io::Result<Duration>) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            let left = patience()?;
            self.socket.set_patience(Some(left))?;
            self.patience = Some(left);
            let rest = &mut buffer[filled..];
            // No more than is asked for: what follows may be another's to read.
            let read = match &mut self.tls {
                None => self.socket.read(rest)?,
                Some(tls) => decrypt(tls, &mut Bare { socket: &self.socket, wait: true }, rest)?,
            };
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            filled += read;
        }
        Ok(())
    }

    /// Sends the bytes, and moves them behind what was sent; `WouldBlock` if not all could be.
    pub fn send(&mut self, bytes: &mut &[u8], wait: bool) -> io::Result<()> {
        let mut bare = Bare { socket: &self.socket, wait };
        let Some(tls) = &mut self.tls else {
            while !bytes.is_empty() {
                let written = bare.write(bytes)?;
                *bytes = &bytes[written..];
            }
            return Ok(());
        };
        loop {
            while tls.wants_write() {
                tls.write_tls(&mut bare)?;
            }
            if bytes.is_empty() {
                return Ok(());
            }
            let taken = tls.writer().write(bytes)?;
            *bytes = &bytes[taken..];
        }
    }

    /// Says goodbye.
    pub fn close(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            self.send(&mut &[][..], true)?;
        }
        self.socket.close_writing()
    }
}

fn decrypt(tls: &mut ServerConnection, bare: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match tls.reader().read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read,
        }
        tls.read_tls(bare)?;
        process(tls, bare)?;
    }
}

fn process(tls: &mut ServerConnection, bare: &mut impl Write) -> io::Result<()> {
    let processed = tls.process_new_packets();
    if processed.is_err() {
        // The client is told what was wrong, if it can be.
        let _told = tls.write_tls(bare);
    }
    processed.map(|_| ()).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
