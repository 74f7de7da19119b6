//! Who may cancel what: the running connections by process id and secret, and the watch over their sockets.
//!
//! A CancelRequest comes on a connection of its own and names (pid, secret). Secrets are compared in constant
//! time and are never logged. A client that vanishes while its statement runs is noticed here too, because the
//! connection's own thread is busy evaluating and does not read.

use engine::protocol::CancelFlag;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::Notify;

/// What one connection shares with the rest of the server.
pub struct Cancellable {
    secret: Vec<u8>,
    flag: Arc<CancelFlag>,
    /// Wakes a connection that waits for its client inside a statement (COPY FROM STDIN).
    notify: Arc<Notify>,
    /// Set while a statement runs.
    busy: Arc<AtomicBool>,
    // A second handle on the same non-blocking socket, only ever peeked at.
    socket: TcpStream,
}

/// All connections that have logged in.
#[derive(Default)]
pub struct CancelRegistry {
    connections: Mutex<BTreeMap<i32, Cancellable>>,
}

/// Held by a connection; leaves the registry when dropped.
pub struct Registration {
    registry: Arc<CancelRegistry>,
    pid: i32,
    /// The engine's flag.
    pub flag: Arc<CancelFlag>,
    /// Rings when the flag is raised.
    pub notify: Arc<Notify>,
    busy: Arc<AtomicBool>,
}

impl CancelRegistry {
    /// Adds a connection.
    pub fn register(
        self: &Arc<Self>,
        pid: i32,
        secret: Vec<u8>,
        flag: Arc<CancelFlag>,
        socket: TcpStream,
    ) -> Registration {
        let notify = Arc::new(Notify::new());
        let busy = Arc::new(AtomicBool::new(false));
        let entry = Cancellable {
            secret,
            flag: Arc::clone(&flag),
            notify: Arc::clone(&notify),
            busy: Arc::clone(&busy),
            socket,
        };
        self.lock().insert(pid, entry);
        Registration { registry: Arc::clone(self), pid, flag, notify, busy }
    }

    /// Does what a CancelRequest asks. Whether it matched is not told to anyone.
    pub fn cancel(&self, pid: i32, secret: &[u8]) {
        if let Some(entry) = self.lock().get(&pid)
            && constant_time_equal(&entry.secret, secret)
        {
            entry.raise();
        }
    }

    /// Stops every running statement, at shutdown.
    pub fn cancel_all(&self) {
        for entry in self.lock().values() {
            entry.raise();
        }
    }

    /// Cancels the statements whose clients have closed their sockets.
    pub fn cancel_abandoned(&self) {
        for entry in self.lock().values() {
            if entry.busy.load(Ordering::Acquire) && is_closed(&entry.socket) {
                entry.raise();
            }
        }
    }

    // A panic while the lock is held cannot leave the map half changed: every change is one call.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, Cancellable>> {
        self.connections.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Cancellable {
    fn raise(&self) {
        self.flag.cancel();
        self.notify.notify_waiters();
    }
}

impl Registration {
    /// Marks the connection as running a statement until the guard is dropped, and starts it uncancelled.
    pub fn running(&self) -> Running {
        self.flag.clear();
        self.busy.store(true, Ordering::Release);
        Running(Arc::clone(&self.busy))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.pid);
    }
}

/// See `Registration::running`.
pub struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Whether the peer has closed its side and left nothing to read.
pub fn is_closed(socket: &TcpStream) -> bool {
    match socket.peek(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// Compares without telling by its time where the first difference is.
pub fn constant_time_equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |difference, (l, r)| difference | (l ^ r)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let client = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let (server, _) = listener.accept().expect("accept");
        server.set_nonblocking(true).expect("nonblocking");
        (client, server)
    }

    #[test]
    fn only_the_right_secret_cancels_and_only_while_registered() {
        let registry = Arc::new(CancelRegistry::default());
        let (_client, server) = pair();
        let flag = Arc::new(CancelFlag::default());
        let registration = registry.register(7, vec![1, 2, 3, 4], Arc::clone(&flag), server);
        for (pid, secret) in [(7, &[1, 2, 3][..]), (7, &[1, 2, 3, 5]), (8, &[1, 2, 3, 4]), (7, &[])] {
            registry.cancel(pid, secret);
            assert!(!flag.is_cancelled());
        }
        registry.cancel(7, &[1, 2, 3, 4]);
        assert!(flag.is_cancelled());
        drop(registration.running());
        assert!(!flag.is_cancelled());
        drop(registration);
        registry.cancel(7, &[1, 2, 3, 4]);
        assert!(!flag.is_cancelled());
    }

    #[test]
    fn a_vanished_client_cancels_its_running_statement_only() {
        let registry = Arc::new(CancelRegistry::default());
        let (client, server) = pair();
        let flag = Arc::new(CancelFlag::default());
        let registration = registry.register(7, vec![0; 4], Arc::clone(&flag), server);
        let running = registration.running();
        registry.cancel_abandoned();
        assert!(!flag.is_cancelled());
        drop(client);
        while !flag.is_cancelled() {
            registry.cancel_abandoned();
        }
        drop(running);
    }
}
