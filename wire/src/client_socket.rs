//! One client's socket, as far as it is shared: by the conversation over it, and by whoever ends, cancels or watches that.
//!
//! A connection has this one descriptor. The socket blocks; whoever must not wait says so with each call. To end a conversation from
//! outside, its reading side is closed: a thread that waits for the client wakes up, and last words can still be sent.

use crate::busy_wait::{BusyWait, Watcher};
use crate::error::{admin_shutdown, crowded_out, snapshot_held, unread};
use crate::parking::Place;
use engine::SqlError;
use rustix::net::{RecvFlags, SendFlags, sockopt};
use std::io::{self, Read};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// How long a write may stand still before its thread looks whether the conversation has been ended.
const WRITE_ROUND: Duration = Duration::from_millis(500);

/// A silent client is asked after so long whether it is still there, and then so often before it counts as gone.
const KEEPALIVE_IDLE: Duration = Duration::from_mins(1);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 6;
/// Beside the reason for the end: what statements gave is being written.
const WRITING: u8 = 1 << 7;

/// See the module.
pub struct ClientSocket {
    socket: TcpStream,
    /// Why it was ended, if it was, and whether something is being written.
    state: AtomicU8,
    busy: AtomicBool,
    /// Something waits for the client, which its conversation is to tell it.
    called: AtomicBool,
    /// Where the conversation runs.
    pub place: Place,
    busy_wait: Arc<BusyWait>,
}

/// Why a conversation is ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The server stops.
    Shutdown = 1,
    /// It holds a snapshot that an erasure has ended.
    Evicted = 2,
    /// It had not logged in when others came.
    Crowded = 3,
    /// It has not read what it was told.
    Unread = 4,
    /// Another session has ended it.
    Terminated = 5,
}

impl End {
    /// What the client is told.
    pub fn error(self) -> SqlError {
        match self {
            End::Shutdown | End::Terminated => admin_shutdown(),
            End::Evicted => snapshot_held(),
            End::Crowded => crowded_out(),
            End::Unread => unread(),
        }
    }
}

impl ClientSocket {
    /// Takes over a blocking socket, beside those that share the waiting awake.
    pub fn new(socket: TcpStream, busy_wait: &Arc<BusyWait>) -> io::Result<ClientSocket> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITE_ROUND))?;
        // Whoever vanishes without a word is noticed in two minutes, not in two hours.
        sockopt::set_socket_keepalive(&socket, true)?;
        sockopt::set_tcp_keepidle(&socket, KEEPALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(&socket, KEEPALIVE_INTERVAL)?;
        sockopt::set_tcp_keepcnt(&socket, KEEPALIVE_PROBES)?;
        let busy_wait = Arc::clone(busy_wait);
        Ok(ClientSocket {
            socket,
            state: AtomicU8::new(0),
            busy: AtomicBool::new(false),
            called: AtomicBool::new(false),
            place: Place::default(),
            busy_wait,
        })
    }

    /// Both ends: the client's and the server's.
    pub(crate) fn ends(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        (self.socket.peer_addr().ok(), self.socket.local_addr().ok())
    }

    /// The server's address that the client has come to.
    pub(crate) fn local_address(&self) -> io::Result<IpAddr> {
        Ok(self.socket.local_addr()?.ip())
    }

    /// Ends the conversation, whatever it waits for, and does not wait. The first reason stays. What a client that is evicted has
    /// not taken by now it does not get any more.
    pub fn end(&self, end: End) {
        let first = |state: u8| (state & !WRITING == 0).then_some(state | end as u8);
        if let Ok(before) = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, first) {
            if end == End::Evicted && before & WRITING != 0 {
                self.cut_off();
            }
            // It fails if the client has closed already: then there is nobody to wake.
            let _closed = self.socket.shutdown(Shutdown::Read);
            self.place.wake();
        }
    }

    /// Whether it was ended, and why.
    pub fn ended(&self) -> Option<End> {
        match self.state.load(Ordering::Acquire) & !WRITING {
            0 => None,
            1 => Some(End::Shutdown),
            2 => Some(End::Evicted),
            3 => Some(End::Crowded),
            4 => Some(End::Unread),
            _ => Some(End::Terminated),
        }
    }

    /// Breaks the connection, with what waits in it.
    fn cut_off(&self) {
        if rustix::net::connect_unspec(&self.socket).is_err() {
            // A thread is in the midst of a write: it ends, and what is left goes when the socket is closed.
            let _gone = rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
            let _gone = self.socket.shutdown(Shutdown::Both);
        }
    }

    /// Begins to write what statements gave, until `has_written`; false if the client is evicted, and is to be told nothing of it.
    pub fn writes(&self) -> bool {
        let evicted = self.state.fetch_or(WRITING, Ordering::AcqRel) & !WRITING == End::Evicted as u8;
        if evicted {
            self.has_written();
        }
        !evicted
    }

    /// See `writes`.
    pub(crate) fn has_written(&self) {
        self.state.fetch_and(!WRITING, Ordering::AcqRel);
    }

    /// Has the conversation look for what waits for its client, as soon as it waits for it.
    pub(crate) fn call(&self) {
        self.called.store(true, Ordering::Release);
        self.place.wake();
    }

    /// Whether it was called since it was last asked.
    pub(crate) fn take_call(&self) -> bool {
        self.called.load(Ordering::Acquire) && self.called.swap(false, Ordering::AcqRel)
    }

    /// Whether it was called and was not asked since.
    pub(crate) fn is_called(&self) -> bool {
        self.called.load(Ordering::Acquire)
    }

    /// Marks that a statement runs or has ended.
    pub(crate) fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::Release);
    }

    /// Whether a statement runs on a thread that does not look at the socket, and the client has closed it.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.busy.load(Ordering::Acquire) && !self.place.is_parked() && self.is_closed()
    }

    /// Whether the peer has closed its side and left nothing to read.
    fn is_closed(&self) -> bool {
        match rustix::net::recv(&self.socket, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((read, _)) => read == 0,
            Err(error) => error != rustix::io::Errno::AGAIN,
        }
    }

    /// How long a read waits; for ever if nothing is said.
    pub fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(patience)
    }

    /// Reads what is there, waiting for it; `WouldBlock` when patience is over.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match (&self.socket).read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// Its part in the waiting awake.
    pub fn watcher(&self) -> Watcher {
        self.busy_wait.watcher()
    }

    /// As `read`, looking for a moment before it sleeps if that is worth it.
    pub(crate) fn read_watched(&self, watcher: &mut Watcher, buffer: &mut [u8]) -> io::Result<usize> {
        watcher.read(&self.socket, buffer, |buffer| self.read(buffer))
    }

    /// Whether the client says something, or closes, in so much time.
    pub(crate) fn speaks_within(&self, patience: Duration) -> bool {
        let waited = self.set_patience(Some(patience)).and_then(|()| self.peek(&mut [0]));
        !waited.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Looks at what is there without taking it, waiting for it.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.peek(buffer)
    }

    /// Writes some of it; `WouldBlock` if nothing can be written now, or, waiting, for a while.
    pub fn write(&self, bytes: &[u8], wait: bool) -> io::Result<usize> {
        let how = if wait { SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL | SendFlags::DONTWAIT };
        loop {
            match rustix::net::send(&self.socket, bytes, how) {
                Err(rustix::io::Errno::INTR) => {}
                written => return Ok(written?),
            }
        }
    }

    /// Writes all of it, waiting; gives up if the client goes or the conversation is ended.
    pub fn write_all(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.write(bytes, true) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.ended().is_none() => {}
                Err(_) => return,
            }
        }
    }

    /// Says that nothing more will be written.
    pub(crate) fn close_writing(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }
}

impl AsRawFd for ClientSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
