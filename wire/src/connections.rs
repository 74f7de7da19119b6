//! All that is connected: how many there may be, who gives way to whom, and how all are ended.
//!
//! Clients that have not logged in share what sessions leave, and never keep anyone out: where there is no room, the one that came
//! first gives way, of those from the address that has most of them. So a flood of silent sockets displaces itself.

use crate::client_socket::{ClientSocket, End};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// As many may be on their way out: they need the processor more than the next that comes.
const LEAVING_MAX: usize = 64;

/// See the module.
pub struct Connections {
    open: Mutex<Open>,
    closed: Condvar,
    connections_max: usize,
}

#[derive(Default)]
struct Open {
    sockets: BTreeMap<u64, Arc<ClientSocket>>,
    /// Those that have not logged in, and from where they come.
    arriving: BTreeMap<u64, IpAddr>,
    /// Those that have given way, and are about to end.
    leaving: BTreeSet<u64>,
    next: u64,
}

/// One that is connected, until dropped.
pub struct Connected {
    connections: Arc<Connections>,
    number: u64,
}

impl Connections {
    /// None yet, and never more than this but for a moment.
    pub fn new(connections_max: usize) -> Self {
        Connections { open: Mutex::default(), closed: Condvar::new(), connections_max }
    }

    /// Adds one that has not logged in. Another gives way if it must; nothing if there is none that can.
    pub fn connect(self: &Arc<Self>, socket: &Arc<ClientSocket>, from: IpAddr) -> Option<Connected> {
        let mut open = self.lock();
        if open.sockets.len() - open.leaving.len() >= self.connections_max {
            if open.leaving.len() >= LEAVING_MAX {
                return None;
            }
            let number = open.first_of_the_most()?;
            open.arriving.remove(&number);
            open.leaving.insert(number);
            if let Some(socket) = open.sockets.get(&number) {
                socket.end(End::Crowded);
            }
        }
        let number = open.next;
        open.next += 1;
        open.sockets.insert(number, Arc::clone(socket));
        open.arriving.insert(number, from);
        Some(Connected { connections: Arc::clone(self), number })
    }

    /// Ends all.
    pub(crate) fn end_all(&self, end: End) {
        self.lock().sockets.values().for_each(|socket| socket.end(end));
    }

    /// Waits until all are gone, at most so long; after every round does what has to be done again.
    pub(crate) fn wait_until_gone(&self, at_most: Duration, round: Duration, again: impl Fn()) {
        let deadline = Instant::now() + at_most;
        let mut open = self.lock();
        while !open.sockets.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            (open, _) = self.closed.wait_timeout(open, left.min(round)).unwrap_or_else(PoisonError::into_inner);
            again();
        }
    }

    // A panic while the lock is held cannot leave the maps half changed: every change is one call.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The first to come, of those from the address that has most of them.
    fn first_of_the_most(&self) -> Option<u64> {
        let mut addresses: BTreeMap<IpAddr, (usize, u64)> = BTreeMap::new();
        for (number, from) in &self.arriving {
            addresses.entry(*from).or_insert((0, *number)).0 += 1;
        }
        let most = addresses.into_values().max_by_key(|(count, first)| (*count, std::cmp::Reverse(*first)))?;
        Some(most.1)
    }
}

impl Connected {
    /// It has logged in, and gives way to nobody from now on. Whether it had not been told to already.
    pub(crate) fn logged_in(&self) -> bool {
        self.connections.lock().arriving.remove(&self.number).is_some()
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        open.sockets.remove(&self.number);
        open.arriving.remove(&self.number);
        open.leaving.remove(&self.number);
        if open.sockets.is_empty() {
            self.connections.closed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::busy_wait::BusyWait;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn whoever_comes_displaces_the_first_of_the_most() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let busy_wait = BusyWait::new(Duration::ZERO);
        let mut clients = Vec::new();
        let mut socket = || {
            clients.push(TcpStream::connect(listener.local_addr().expect("address")).expect("connect"));
            Arc::new(ClientSocket::new(listener.accept().expect("accept").0, &busy_wait).expect("socket"))
        };
        let connections = Arc::new(Connections::new(4));
        let from = |last: u8| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let mut connect = |last: u8| {
            let socket = socket();
            let connected = connections.connect(&socket, from(last));
            (socket, connected)
        };
        let session = connect(2);
        assert!(session.1.as_ref().expect("room").logged_in());
        let lonely = connect(1);
        let flood: Vec<_> = (0..2 * LEAVING_MAX).map(|_| connect(2)).collect();
        let stays = flood.iter().filter(|(socket, connected)| connected.is_some() && socket.ended().is_none()).count();
        assert_eq!(stays, 2, "the flood displaces itself");
        assert!(session.0.ended().is_none() && lonely.0.ended().is_none());
        assert!(flood[0].0.ended() == Some(End::Crowded));
        assert!(!flood[0].1.as_ref().expect("room then").logged_in(), "too late");
        assert!(flood.iter().any(|(_, connected)| connected.is_none()), "until those that leave have left");
        drop(flood);
        let late = connect(1);
        assert!(late.1.expect("room").logged_in());
        drop((session, lonely));
        assert!(
            connections.lock().arriving.is_empty()
                && connections.lock().leaving.is_empty()
                && connections.lock().sockets.is_empty()
        );
    }
}
