//! One client's socket, as far as it is shared: by the conversation over it, and by whoever ends, cancels or watches that.
//!
//! A connection has this one descriptor. The socket blocks; whoever must not wait says so with each call. To end a conversation from
//! outside, its reading side is closed: a thread that waits for the client wakes up, and last words can still be sent.

use crate::error::{admin_shutdown, snapshot_held};
use crate::parking::Place;
use crate::vigil::{Vigil, Watcher};
use engine::SqlError;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a write may stand still before its thread looks whether the conversation has been ended.
const WRITE_ROUND: Duration = Duration::from_millis(500);

/// See the module.
pub struct Line {
    socket: TcpStream,
    ended: AtomicU8,
    busy: AtomicBool,
    /// Where the conversation runs.
    pub place: Place,
    vigil: Arc<Vigil>,
}

/// Why a conversation is ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The server stops.
    Shutdown = 1,
    /// It holds a snapshot that an erasure has ended.
    Evicted = 2,
}

impl End {
    /// What the client is told.
    pub fn error(self) -> SqlError {
        match self {
            End::Shutdown => admin_shutdown(),
            End::Evicted => snapshot_held(),
        }
    }
}

impl Line {
    /// Takes over a blocking socket, beside those that share the vigil.
    pub fn new(socket: TcpStream, vigil: &Arc<Vigil>) -> io::Result<Line> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITE_ROUND))?;
        let vigil = Arc::clone(vigil);
        Ok(Line { socket, ended: AtomicU8::new(0), busy: AtomicBool::new(false), place: Place::default(), vigil })
    }

    /// Ends the conversation, whatever it waits for, and does not wait. The first reason stays.
    pub fn end(&self, end: End) {
        if self.ended.compare_exchange(0, end as u8, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            // It fails if the client has closed already: then there is nobody to wake.
            let _closed = self.socket.shutdown(Shutdown::Read);
            self.place.wake();
        }
    }

    /// Whether it was ended, and why.
    pub fn ended(&self) -> Option<End> {
        match self.ended.load(Ordering::Acquire) {
            0 => None,
            1 => Some(End::Shutdown),
            _ => Some(End::Evicted),
        }
    }

    /// Marks that a statement runs or has ended.
    pub fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::Release);
    }

    /// Whether a statement runs on a thread that does not look at the socket, and the client has closed it.
    pub fn is_abandoned(&self) -> bool {
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

    /// Its part in the vigil.
    pub fn watcher(&self) -> Watcher {
        self.vigil.watcher()
    }

    /// As `read`, looking for a moment before it sleeps if that is worth it.
    pub fn read_watched(&self, watcher: &mut Watcher, buffer: &mut [u8]) -> io::Result<usize> {
        watcher.read(&self.socket, buffer, |buffer| self.read(buffer))
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
    pub fn close_writing(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }
}

impl AsRawFd for Line {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// All that is connected: how many there may be, and how all are ended.
pub struct Lines {
    open: Mutex<Open>,
    closed: Condvar,
    lines_max: usize,
}

#[derive(Default)]
struct Open {
    lines: BTreeMap<u64, Arc<Line>>,
    next: u64,
}

/// One that is connected, until dropped.
pub struct Connected {
    lines: Arc<Lines>,
    number: u64,
}

impl Lines {
    /// None yet, and never more than this.
    pub fn new(lines_max: usize) -> Self {
        Lines { open: Mutex::default(), closed: Condvar::new(), lines_max }
    }

    /// Adds one, if there is room.
    pub fn connect(self: &Arc<Self>, line: &Arc<Line>) -> Option<Connected> {
        let mut open = self.lock();
        if open.lines.len() >= self.lines_max {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.lines.insert(number, Arc::clone(line));
        Some(Connected { lines: Arc::clone(self), number })
    }

    /// Ends all.
    pub fn end_all(&self, end: End) {
        self.lock().lines.values().for_each(|line| line.end(end));
    }

    /// Waits until all are gone, at most so long; after every round does what has to be done again.
    pub fn wait_until_gone(&self, at_most: Duration, round: Duration, again: impl Fn()) {
        let deadline = Instant::now() + at_most;
        let mut open = self.lock();
        while !open.lines.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            (open, _) = self.closed.wait_timeout(open, left.min(round)).unwrap_or_else(PoisonError::into_inner);
            again();
        }
    }

    // A panic while the lock is held cannot leave the map half changed: every change is one call.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut open = self.lines.lock();
        open.lines.remove(&self.number);
        if open.lines.is_empty() {
            self.lines.closed.notify_all();
        }
    }
}
