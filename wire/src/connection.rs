//! One client's socket: bytes in, whole messages out, and back; no knowledge of what they mean.
//!
//! Messages to the client gather in a buffer until `flush`; nothing else writes to the socket. Every wait for the
//! client also listens for the server's shutdown.

use crate::decode::Frame;
use crate::error::{WireError, admin_shutdown, snapshot_held};
use crate::shutdown::Shutdown;
use bytes::BytesMut;
use futures::future::{BoxFuture, Fuse, FutureExt};
use pgwire::messages::PgWireBackendMessage;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

/// Rows are flushed when this much is waiting.
pub const FLUSH_BYTES: usize = 32 << 10;
// Reads are asked for in this size; larger messages take several.
const READ_BYTES: usize = 8 << 10;
// A buffer that one large message has blown up beyond this is given back.
const KEEP_BYTES_MAX: usize = 1 << 20;
// How long a closing connection tries to get its last words out.
/// A look at the socket takes so long if there is nothing to see.
const LOOK: Duration = Duration::from_millis(1);
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The socket, encrypted or not.
pub enum Transport {
    /// Plain TCP.
    Plain(TcpStream),
    /// TLS over it.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Transport {
    async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.read_buf(buffer).await,
            Transport::Tls(socket) => socket.read_buf(buffer).await,
        }
    }
    /// Writes what can be written without waiting; says how much.
    fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let Transport::Plain(socket) = self else { return Ok(0) };
        match socket.try_write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            written => written,
        }
    }
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Transport::Plain(socket) => socket.write_all(bytes).await,
            Transport::Tls(socket) => {
                socket.write_all(bytes).await?;
                socket.flush().await
            }
        }
    }
    async fn close(&mut self) -> io::Result<()> {
        match self {
            Transport::Plain(socket) => socket.shutdown().await,
            Transport::Tls(socket) => socket.shutdown().await,
        }
    }
}

/// Closes one connection from outside, whatever it waits for.
#[derive(Clone)]
pub struct Eviction {
    sender: watch::Sender<bool>,
}

impl Eviction {
    /// Says so and does not wait.
    pub fn evict(&self) {
        self.sender.send_replace(true);
    }
}

/// See the module.
pub struct Connection {
    transport: Transport,
    incoming: BytesMut,
    outgoing: BytesMut,
    // Up to here `outgoing` is whole messages; behind it one may be under construction.
    sealed: usize,
    shutdown: Shutdown,
    eviction: Eviction,
    evicted: watch::Receiver<bool>,
    // Made once: to listen anew at each wait would take two locks each time. Once it has come, nothing is waited for.
    end: Fuse<BoxFuture<'static, End>>,
}

/// Why a wait for the client ends without the client.
enum End {
    Shutdown,
    Evicted,
}

impl Connection {
    /// Takes over a socket on which nothing has been read ahead.
    pub fn new(transport: Transport, shutdown: Shutdown) -> Self {
        let (sender, evicted) = watch::channel(false);
        let (mut stop, mut eviction) = (shutdown.clone(), evicted.clone());
        let end = async move {
            tokio::select! {
                biased;
                () = stop.requested() => End::Shutdown,
                _ = eviction.wait_for(|evicted| *evicted) => End::Evicted,
            }
        };
        Connection {
            transport,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            sealed: 0,
            shutdown,
            eviction: Eviction { sender },
            evicted,
            end: end.boxed().fuse(),
        }
    }

    /// The next message, if it is here already.
    pub fn arrived(&mut self, body_bytes_max: usize) -> Result<Option<Frame>, WireError> {
        if *self.evicted.borrow() {
            return Err(WireError::Fatal(snapshot_held()));
        }
        Frame::take(&mut self.incoming, body_bytes_max)
    }

    /// The next message of at most this length. Ends with 57P01 when the server stops, with 40001 when it is evicted.
    pub async fn frame(&mut self, body_bytes_max: usize) -> Result<Frame, WireError> {
        loop {
            if let Some(frame) = self.arrived(body_bytes_max)? {
                return Ok(frame);
            }
            if self.incoming.is_empty() && self.incoming.capacity() > KEEP_BYTES_MAX {
                self.incoming = BytesMut::new();
            }
            self.incoming.reserve(READ_BYTES);
            let read = tokio::select! {
                biased;
                read = self.transport.read(&mut self.incoming) => read?,
                end = &mut self.end => return Err(WireError::Fatal(match end {
                    End::Shutdown => admin_shutdown(),
                    End::Evicted => snapshot_held(),
                })),
            };
            if read == 0 {
                return Err(WireError::Gone);
            }
        }
    }

    /// Puts a message behind the others that wait to be flushed.
    pub fn feed(&mut self, message: PgWireBackendMessage) -> Result<(), WireError> {
        let start = self.outgoing.len();
        message.encode(&mut self.outgoing).map_err(|error| {
            self.outgoing.truncate(start);
            WireError::Socket(io::Error::other(error.to_string()))
        })?;
        self.seal();
        Ok(())
    }

    /// The bytes that wait to be flushed, for rows encoded in place.
    pub fn outgoing(&mut self) -> &mut BytesMut {
        &mut self.outgoing
    }

    /// Says that what was written to `outgoing` is a whole message.
    pub fn seal(&mut self) {
        self.sealed = self.outgoing.len();
    }

    /// Takes back what a panic left half written.
    pub fn unseal(&mut self) {
        self.outgoing.truncate(self.sealed);
    }

    /// Whether enough waits for it to be sent now.
    pub fn wants_flush(&self) -> bool {
        self.outgoing.len() >= FLUSH_BYTES
    }

    /// Sends all that waits.
    pub async fn flush(&mut self) -> Result<(), WireError> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        // Nearly always the socket takes all at once, and there is nothing to wait for.
        let taken = self.transport.write_now(&self.outgoing)?;
        if taken < self.outgoing.len() {
            tokio::select! {
                biased;
                written = self.transport.write(&self.outgoing[taken..]) => written?,
                // Nothing more can be said to a client that does not read: part of a message may be out.
                _ = &mut self.end => return Err(WireError::Gone),
            };
        }
        if self.outgoing.capacity() > KEEP_BYTES_MAX {
            self.outgoing = BytesMut::new();
        } else {
            self.outgoing.clear();
        }
        self.sealed = 0;
        Ok(())
    }

    /// Fails if the client has gone, though nothing is to be read or written now.
    pub async fn check_present(&mut self) -> Result<(), WireError> {
        let socket = match &self.transport {
            Transport::Plain(socket) => socket,
            Transport::Tls(socket) => socket.get_ref().0,
        };
        match tokio::time::timeout(LOOK, socket.peek(&mut [0])).await {
            Ok(Ok(0) | Err(_)) => Err(WireError::Gone),
            // What it says is read when the stream ends; most say nothing.
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    }

    /// Sends what waits if the client takes it soon, and closes.
    pub async fn close(mut self) {
        let last_words = async {
            self.transport.write(&self.outgoing).await?;
            self.transport.close().await
        };
        // Whether they arrive is no longer anyone's business.
        drop(tokio::time::timeout(LAST_WORDS, last_words).await);
    }

    /// What closes this connection from outside.
    pub fn eviction(&self) -> Eviction {
        self.eviction.clone()
    }

    /// The server's stop signal.
    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }
}
