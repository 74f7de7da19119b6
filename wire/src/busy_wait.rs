//! Looking for a client's next message for a moment before going to sleep over it.
//!
//! Waking a thread that sleeps takes longer than the whole answer to a small read. A client that asks again at once is therefore
//! waited for awake, but only while that can take nothing from others:
//!
//! - its connection is the only one that has said anything for some milliseconds, so that no other waits for the processor;
//! - there are two processors at least, and nobody else wanted this one when it was offered;
//! - it has asked again quickly the last time: clients that think, or wait for a commit, are slept over from then on.
//!
//! An idle server therefore sleeps. Knows no messages.

use rustix::net::{RecvFlags, recv};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a connection must have been the only one.
const ALONE: Duration = Duration::from_millis(5);
/// Whoever gives the processor away and has it back later than this was in somebody's way.
const WANTED_BY_OTHERS: Duration = Duration::from_micros(10);
/// A client that has taken longer is not waited for awake.
const QUICK: Duration = Duration::from_micros(150);

/// What the connections of a server know of each other.
pub struct BusyWait {
    awake: Duration,
    began: Instant,
    /// Who spoke last.
    last: AtomicU64,
    /// When someone else did, or the processor was wanted by others, in nanoseconds since it began.
    disturbed_ns: AtomicU64,
    next: AtomicU64,
}

/// One connection's part.
pub struct Watcher {
    busy_wait: Arc<BusyWait>,
    number: u64,
    /// Whether its client asked again quickly the last time.
    quick: bool,
}

impl BusyWait {
    /// Waits awake for so long at most; never, if that is zero.
    pub fn new(awake: Duration) -> Arc<BusyWait> {
        let several = std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        Arc::new(BusyWait {
            awake: if several { awake } else { Duration::ZERO },
            began: Instant::now(),
            last: AtomicU64::new(0),
            disturbed_ns: AtomicU64::new(0),
            next: AtomicU64::new(1),
        })
    }

    /// A connection.
    pub fn watcher(self: &Arc<Self>) -> Watcher {
        Watcher { busy_wait: Arc::clone(self), number: self.next.fetch_add(1, Ordering::Relaxed), quick: false }
    }

    fn disturb(&self, now: Instant) {
        self.disturbed_ns.store(nanoseconds(now - self.began), Ordering::Relaxed);
    }

    fn is_alone(&self, number: u64, now: Instant) -> bool {
        let disturbed = Duration::from_nanos(self.disturbed_ns.load(Ordering::Relaxed));
        self.last.load(Ordering::Relaxed) == number && (now - self.began).saturating_sub(disturbed) > ALONE
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Watcher {
    /// Reads by `sleep`, which waits, unless something comes before it has to.
    pub fn read<E>(
        &mut self,
        socket: &TcpStream,
        buffer: &mut [u8],
        sleep: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        if self.busy_wait.awake.is_zero() {
            return sleep(buffer);
        }
        let asked = Instant::now();
        let alone = self.quick && self.busy_wait.is_alone(self.number, asked);
        let came = if alone { self.look(socket, buffer, asked) } else { None };
        let read = match came {
            Some(read) => Ok(read),
            None => sleep(buffer),
        };
        let now = Instant::now();
        self.quick = now - asked < QUICK && (came.is_some() || !alone);
        if self.busy_wait.last.load(Ordering::Relaxed) != self.number {
            self.busy_wait.last.store(self.number, Ordering::Relaxed);
            self.busy_wait.disturb(now);
        }
        read
    }

    /// Looks for something to read, without sleeping.
    fn look(&self, socket: &TcpStream, buffer: &mut [u8], asked: Instant) -> Option<usize> {
        let mut offered = asked;
        loop {
            match recv(socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((read, _)) => return Some(read),
                Err(rustix::io::Errno::AGAIN) => {}
                // Who sleeps finds the same.
                Err(_) => return None,
            }
            if self.busy_wait.last.load(Ordering::Relaxed) != self.number || offered - asked >= self.busy_wait.awake {
                return None;
            }
            std::thread::yield_now();
            let now = Instant::now();
            if now - offered > WANTED_BY_OTHERS {
                self.busy_wait.disturb(now);
                return None;
            }
            offered = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::net::TcpListener;

    /// Reads one byte that is there already; whether it had to sleep over it.
    fn slept(watcher: &mut Watcher, client: &mut TcpStream, server: &TcpStream) -> bool {
        client.write_all(b"x").expect("sent");
        // It is there: only then is there nothing to be late for.
        server.peek(&mut [0]).expect("arrives");
        let mut slept = false;
        let read = watcher.read(server, &mut [0; 8], |_| {
            slept = true;
            recv(server, &mut [0_u8; 8], RecvFlags::empty()).map(|(read, _)| read).map_err(io::Error::from)
        });
        assert_eq!(read.expect("read"), 1);
        slept
    }

    #[test]
    fn who_is_alone_is_waited_for_awake_and_who_is_not_is_slept_over() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let pair = || {
            let client = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
            (client, listener.accept().expect("accept").0)
        };
        let busy_wait = BusyWait::new(Duration::from_micros(50));
        let ((mut client, server), (mut other_client, other_server)) = (pair(), pair());
        let (mut one, mut other) = (busy_wait.watcher(), busy_wait.watcher());
        let began = Instant::now();
        assert!(slept(&mut one, &mut client, &server), "nobody is alone at first");
        let again = slept(&mut one, &mut client, &server);
        assert!(again || began.elapsed() > ALONE, "nor so soon");
        if !busy_wait.awake.is_zero() {
            // A machine may be busy: it is awake at last.
            let began = Instant::now();
            while slept(&mut one, &mut client, &server) {
                assert!(began.elapsed() < Duration::from_mins(1), "always sleeps");
            }
        }
        assert!(slept(&mut other, &mut other_client, &other_server));
        assert!(slept(&mut one, &mut client, &server), "another has spoken");
        let mut never = BusyWait::new(Duration::ZERO).watcher();
        for _ in 0..3 {
            assert!(slept(&mut never, &mut client, &server));
        }
    }
}
