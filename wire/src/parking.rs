//! Where a conversation runs: on a thread of its own as long as it may block, or parked, where it only waits.
//!
//! ```text
//! ITS OWN THREAD  every call may block: sockets, ──── park ───▶  PARKED  one task among thousands on few threads:
//!                 locks, the engine              ◀── leave ────          waits, and sends what the socket takes
//! ```
//!
//! A conversation is one future. On its own thread it never waits for anything but `park`, so that thread needs no reactor
//! and no descriptor of its own. Parked it has neither thread nor stack: ten thousand quiet subscriptions are ten thousand
//! small objects. Must not be parked while it holds anything that another thread may wait for.

use futures::task::AtomicWaker;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::client_socket::ClientSocket;

/// One client's whole conversation.
pub type Conversation = Pin<Box<dyn Future<Output = ()> + Send>>;

// Expressions nest; the parser bounds how deep.
const STACK_BYTES: usize = 16 << 20;
/// Threads that parked conversations share: few, so that they leave the processors to those who write.
const SHARED_THREADS_MAX: usize = 4;

/// Where one conversation runs.
#[derive(Default)]
pub struct Place {
    parked: AtomicBool,
    waker: AtomicWaker,
}

impl Place {
    /// Whether it is parked.
    pub(crate) fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Acquire)
    }

    /// Wakes it, if it is parked, to look around.
    pub fn wake(&self) {
        self.waker.wake();
    }

    /// The conversation gives up its thread.
    pub(crate) async fn park(&self) {
        self.go(true).await;
    }

    /// The conversation takes a thread of its own, on which it may block.
    pub async fn leave(&self) {
        self.go(false).await;
    }

    async fn go(&self, parked: bool) {
        if self.parked.swap(parked, Ordering::AcqRel) == parked {
            return;
        }
        // Whoever drives it sees where it wants to be, and polls it again only there.
        let mut moved = false;
        poll_fn(|_| if std::mem::replace(&mut moved, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

/// Waits without a thread until the client says something, or has gone. Fails if the conversation is ended, or at the deadline.
pub(crate) async fn until_readable(socket: &Arc<ClientSocket>, deadline: Instant) -> io::Result<()> {
    socket.place.park().await;
    let readable = async {
        let watch = watch(socket, Interest::READABLE)?;
        let ended = poll_fn(|_| if socket.ended().is_some() { Poll::Ready(()) } else { Poll::Pending });
        tokio::select! {
            biased;
            () = ended => Err(io::ErrorKind::ConnectionAborted.into()),
            readable = watch.readable() => readable.map(drop),
            () = tokio::time::sleep_until(deadline.into()) => Err(io::ErrorKind::TimedOut.into()),
        }
    };
    let readable = readable.await;
    // An end needs no thread.
    if readable.is_ok() {
        socket.place.leave().await;
    }
    readable
}

/// The reactor's eye on a socket. Only for who is parked.
pub fn watch(socket: &Arc<ClientSocket>, interest: Interest) -> io::Result<AsyncFd<Arc<ClientSocket>>> {
    #[expect(deprecated, reason = "its successor is unsafe; it keeps its one socket as long as it lives")]
    AsyncFd::with_interest(Arc::clone(socket), interest)
}

/// What parks conversations on the shared threads, and starts threads for the others.
pub struct Lot {
    // Not the runtime itself: whichever conversation goes last must not be the one to end it.
    shared: Handle,
}

impl Lot {
    /// Starts the shared threads, which run as long as the runtime is held.
    pub fn open() -> io::Result<(Runtime, Lot)> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (processors / 2).clamp(1, SHARED_THREADS_MAX);
        let runtime = Builder::new_multi_thread().worker_threads(threads).thread_name("parked").enable_all().build()?;
        let shared = runtime.handle().clone();
        Ok((runtime, Lot { shared }))
    }

    /// Drives a conversation on a thread of its own, and wherever it goes from there.
    pub fn start(self: &Arc<Self>, socket: Arc<ClientSocket>, conversation: Conversation) -> io::Result<()> {
        let lot = Arc::clone(self);
        let drive = move || lot.drive(socket, conversation);
        std::thread::Builder::new().name("connection".to_string()).stack_size(STACK_BYTES).spawn(drive).map(drop)
    }

    fn drive(self: Arc<Self>, socket: Arc<ClientSocket>, mut conversation: Conversation) {
        match conversation.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(()) => {}
            Poll::Pending => {
                assert!(
                    socket.place.is_parked(),
                    "a conversation on its own thread waits for nothing but to be parked"
                );
                let lot = Arc::clone(&self);
                self.shared.spawn(lot.keep(socket, conversation));
            }
        }
    }

    /// A parked conversation, until it ends or wants a thread again.
    async fn keep(self: Arc<Self>, socket: Arc<ClientSocket>, mut conversation: Conversation) {
        let ended = poll_fn(|context| {
            socket.place.waker.register(context.waker());
            match conversation.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(true),
                Poll::Pending if !socket.place.is_parked() => Poll::Ready(false),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        if !ended && let Err(error) = self.start(socket, conversation) {
            // With the conversation, its socket is closed.
            tracing::error!(target: "dogwood::connections", "could not start a connection's thread: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::busy_wait::BusyWait;
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_parked_conversation_has_no_thread_of_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let _client = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let socket = Arc::new(
            ClientSocket::new(listener.accept().expect("accept").0, &BusyWait::new(Duration::ZERO)).expect("socket"),
        );
        let (_runtime, lot) = Lot::open().expect("threads");
        let lot = Arc::new(lot);
        let (said, heard) = channel();
        let conversation = {
            let socket = Arc::clone(&socket);
            let say = move || {
                let name = std::thread::current().name().unwrap_or_default().to_string();
                said.send(name).expect("the test listens");
            };
            async move {
                say();
                socket.place.park().await;
                // Again is no move.
                socket.place.park().await;
                say();
                let mut woken = false;
                poll_fn(|_| if std::mem::replace(&mut woken, true) { Poll::Ready(()) } else { Poll::Pending }).await;
                say();
                socket.place.leave().await;
                socket.place.leave().await;
                say();
            }
        };
        lot.start(Arc::clone(&socket), Box::pin(conversation)).expect("a thread");
        assert_eq!(heard.recv().as_deref(), Ok("connection"));
        assert_eq!(heard.recv().as_deref(), Ok("parked"));
        assert!(socket.place.is_parked());
        assert!(heard.try_recv().is_err());
        socket.place.wake();
        assert_eq!(heard.recv().as_deref(), Ok("parked"));
        assert_eq!(heard.recv().as_deref(), Ok("connection"));
        assert!(!socket.place.is_parked());
        assert!(heard.recv().is_err(), "it has ended");
    }
}
