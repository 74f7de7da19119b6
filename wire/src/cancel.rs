//! Who may cancel what: the running connections by process id and secret, and the watch over their sockets.
//!
//! A CancelRequest comes on a connection of its own and names (pid, secret). Secrets are compared in constant
//! time and are never logged. A client that vanishes while its statement runs is noticed here too, because the
//! connection's own thread is busy evaluating and does not read.

use crate::client_socket::ClientSocket;
use engine::protocol::CancelFlag;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// What one connection shares with the rest of the server.
pub struct Cancellable {
    secret: Vec<u8>,
    flag: Arc<CancelFlag>,
    socket: Arc<ClientSocket>,
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
    socket: Arc<ClientSocket>,
}

impl CancelRegistry {
    /// Adds a connection.
    pub fn register(
        self: &Arc<Self>,
        pid: i32,
        secret: Vec<u8>,
        flag: Arc<CancelFlag>,
        socket: Arc<ClientSocket>,
    ) -> Registration {
        let entry = Cancellable { secret, flag: Arc::clone(&flag), socket: Arc::clone(&socket) };
        self.lock().insert(pid, entry);
        Registration { registry: Arc::clone(self), pid, flag, socket }
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
    pub(crate) fn cancel_all(&self) {
        for entry in self.lock().values() {
            entry.raise();
        }
    }

    /// Cancels the statements whose clients have closed their sockets.
    pub(crate) fn cancel_abandoned(&self) {
        for entry in self.lock().values() {
            if entry.socket.is_abandoned() {
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
        self.socket.place.wake();
    }
}

impl Registration {
    /// Marks the connection as running a statement until the guard is dropped, and starts it uncancelled.
    pub fn running(&self) -> Running {
        self.flag.clear();
        self.socket.set_busy(true);
        Running(Arc::clone(&self.socket))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.pid);
    }
}

/// See `Registration::running`.
pub struct Running(Arc<ClientSocket>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.set_busy(false);
    }
}

/// Compares without telling by its time where the first difference is.
pub(crate) fn constant_time_equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |difference, (l, r)| difference | (l ^ r)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::busy_wait::BusyWait;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    fn pair() -> (TcpStream, Arc<ClientSocket>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let client = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let (server, _) = listener.accept().expect("accept");
        (client, Arc::new(ClientSocket::new(server, &BusyWait::new(Duration::ZERO)).expect("socket")))
    }

    #[test]
    fn only_the_right_secret_cancels_and_only_while_registered() {
        let registry = Arc::new(CancelRegistry::default());
        let (_client, socket) = pair();
        let flag = Arc::new(CancelFlag::default());
        let registration = registry.register(7, vec![1, 2, 3, 4], Arc::clone(&flag), socket);
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
        let (client, socket) = pair();
        let flag = Arc::new(CancelFlag::default());
        let registration = registry.register(7, vec![0; 4], Arc::clone(&flag), socket);
        let running = registration.running();
        registry.cancel_abandoned();
        assert!(!flag.is_cancelled());
        drop(client);
        let began = Instant::now();
        while !flag.is_cancelled() {
            registry.cancel_abandoned();
            assert!(began.elapsed() < Duration::from_mins(1), "goes on for nobody");
        }
        drop(running);
    }
}
