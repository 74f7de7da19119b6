//! One client's socket: bytes in, whole messages out, and back; no knowledge of what they mean.
//!
//! Messages to the client gather in a buffer until `flush`; nothing else writes to the socket. On the conversation's own
//! thread reads and writes block; a conversation that is parked, or has nothing to read for a while, waits on the shared threads.

use crate::client_socket::{ClientSocket, End};
use crate::decode::{Frame, MESSAGE_BYTES_MAX, PASSED_OVER_BYTES_MAX, Taken};
use crate::error::WireError;
use crate::incoming_memory::{Arriving, UNCOUNTED_BYTES};
use crate::parking::watch;
use crate::transcode::transcode;
use crate::transport::Transport;
use bytes::{Buf, BytesMut};
use engine::protocol::ListedConnection;
use pgwire::messages::PgWireBackendMessage;
use repr::Encoding;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Rows are flushed when this much is waiting.
pub(crate) const FLUSH_BYTES: usize = 32 << 10;
// A buffer that one large message has blown up beyond this is given back.
const KEEP_BYTES_MAX: usize = 1 << 20;
/// A client that is silent for so long gives its thread back until it speaks again.
pub(crate) const AWAKE: Duration = Duration::from_secs(5);
/// How long a closing connection tries to get its last words out.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// See the module.
pub struct Connection {
    transport: Transport,
    incoming: Incoming,
    outgoing: Outgoing,
    /// The reactor's eye on the socket, while the conversation is parked.
    watch: Option<AsyncFd<Arc<ClientSocket>>>,
}

/// How long a client may say nothing.
pub(crate) struct Silence {
    /// Altogether; for ever if nothing is said.
    pub limit: Option<Duration>,
    /// Before its thread is given back.
    pub awake: Duration,
    /// When it is over, once the thread was given back.
    pub until: Option<Instant>,
}

/// What ends the wait for a client.
pub(crate) enum Heard {
    /// Its next message.
    Frame(Frame),
    /// It has said nothing for too long.
    Silence,
    /// Something waits for it.
    Call,
}

/// What comes from the client.
#[derive(Default)]
struct Incoming {
    bytes: BytesMut,
    /// What it counts among what arrives everywhere.
    arriving: Arriving,
    /// The message that is arriving is one too many.
    refuse: bool,
    /// Bytes of a message that was too long, which are still to come.
    passing_over: usize,
}

/// What goes to the client.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    /// Where messages are made that are not written in place.
    message: BytesMut,
    // Up to here `bytes` is whole messages; behind it one may be under construction.
    sealed: usize,
    /// How often something was sent.
    flushes: u64,
    /// In which text is sent.
    encoding: Encoding,
}

/// What waits to be sent, to be sent by somebody else while the connection reads on. Until then nothing else may be sent.
pub struct Answer {
    socket: Arc<ClientSocket>,
    bytes: Vec<u8>,
}

/// A place between messages to the client.
pub struct Mark {
    flushes: u64,
    sealed: usize,
}

impl Connection {
    /// Takes over a socket on which nothing has been read ahead.
    pub fn new(transport: Transport) -> Self {
        Connection { transport, incoming: Incoming::default(), outgoing: Outgoing::default(), watch: None }
    }

    /// Text comes and goes in this encoding from now on, but for values, whose types see to it themselves.
    pub fn speak(&mut self, encoding: &str) {
        self.outgoing.encoding = Encoding::named(encoding).unwrap_or_default();
    }

    /// The client's encoding.
    pub fn encoding(&self) -> Encoding {
        self.outgoing.encoding
    }

    /// The next message, if it is here already.
    pub fn arrived(&mut self, body_bytes_max: usize) -> Result<Option<Frame>, WireError> {
        if self.socket().ended() == Some(End::Evicted) {
            return Err(WireError::fatal(End::Evicted.error()));
        }
        let passed = self.incoming.passing_over.min(self.incoming.bytes.len());
        self.incoming.bytes.advance(passed);
        self.incoming.passing_over -= passed;
        if self.incoming.passing_over > 0 {
            return Ok(None);
        }
        let (kind, length) = match Frame::take(&mut self.incoming.bytes, body_bytes_max)? {
            Taken::Frame(frame) => return Ok(Some(frame)),
            Taken::Part if std::mem::take(&mut self.incoming.refuse) => {
                let Some((kind, length)) = Frame::begun(&self.incoming.bytes) else { return Ok(None) };
                self.incoming.passing_over = 1 + length;
                self.incoming.arriving.hold(0);
                return Ok(Some(Frame::no_memory(kind, length)));
            }
            Taken::Part => return Ok(None),
            Taken::TooLong(kind, length) => (kind, length),
        };
        // Whoever has not logged in yet has nothing long to say.
        if body_bytes_max < MESSAGE_BYTES_MAX || length > PASSED_OVER_BYTES_MAX {
            let limit = body_bytes_max;
            return Err(WireError::violation(format!(
                "message of {length} bytes is larger than the limit of {limit} bytes"
            )));
        }
        // Refused at once, while the client may still be sending it: the answer is there when it is done.
        self.incoming.passing_over = 1 + length;
        Ok(Some(Frame::too_long(kind, length, body_bytes_max)))
    }

    /// The next message, if it is here after one wait of at most this long.
    pub(crate) fn frame_now(&mut self, body_bytes_max: usize, patience: Duration) -> Result<Option<Frame>, WireError> {
        if let Some(frame) = self.arrived(body_bytes_max)? {
            return Ok(Some(frame));
        }
        self.read(patience)?;
        self.arrived(body_bytes_max)
    }

    /// The next message of at most this length, or none if the client says nothing for longer than the limit. Ends with 57P01 when the
    /// server stops, with 40001 when it is evicted.
    pub async fn frame(&mut self, body_bytes_max: usize, limit: Option<Duration>) -> Result<Option<Frame>, WireError> {
        let mut silence = Silence { limit, awake: AWAKE, until: None };
        loop {
            match self.heard(body_bytes_max, &mut silence).await? {
                Heard::Frame(frame) => return Ok(Some(frame)),
                Heard::Silence => return Ok(None),
                // Nothing waits for who has not logged in.
                Heard::Call => {}
            }
        }
    }

    /// The same, or that the conversation is called: it may be parked then, and need not leave for what only sends.
    pub(crate) async fn heard(&mut self, body_bytes_max: usize, silence: &mut Silence) -> Result<Heard, WireError> {
        loop {
            if let Some(frame) = self.arrived(body_bytes_max)? {
                self.leave().await;
                return Ok(Heard::Frame(frame));
            }
            if self.socket().take_call() {
                return Ok(Heard::Call);
            }
            if self.watch.is_none() {
                // The same at each message: another patience is another system call.
                if self.read(silence.limit.map_or(silence.awake, |limit| limit.min(silence.awake)))? {
                    continue;
                }
            }
            if let Some(limit) = silence.limit {
                let until = *silence.until.get_or_insert_with(|| Instant::now() + limit.saturating_sub(silence.awake));
                if Instant::now() >= until {
                    self.leave().await;
                    return Ok(Heard::Silence);
                }
            }
            self.park().await?;
            let spoken = self.until_spoken(silence.until).await;
            if !self.socket().is_called() || spoken.is_err() {
                self.leave().await;
            }
            spoken?;
        }
    }

    /// Reads what comes; whether something did.
    fn read(&mut self, patience: Duration) -> Result<bool, WireError> {
        if self.incoming.bytes.is_empty() && self.incoming.bytes.capacity() > KEEP_BYTES_MAX {
            self.incoming.bytes = BytesMut::new();
        }
        match self.transport.read(&mut self.incoming.bytes, Some(patience)) {
            Ok(Some(0)) => Err(self.gone()),
            Ok(read) => {
                if self.incoming.passing_over == 0
                    && (self.incoming.bytes.len() > UNCOUNTED_BYTES || self.incoming.arriving.is_held())
                {
                    self.incoming.refuse = !self.incoming.arriving.hold(self.incoming.bytes.len());
                }
                Ok(read.is_some())
            }
            // Ended from outside, an encrypted connection looks cut off.
            Err(_) if self.socket().ended().is_some() => Err(self.gone()),
            Err(error) => Err(error.into()),
        }
    }

    /// Why nothing more can be read.
    fn gone(&self) -> WireError {
        self.socket().ended().map_or(WireError::Gone, |end| WireError::fatal(end.error()))
    }

    /// Gives the thread back, and what memory is not needed for waiting.
    pub(crate) async fn park(&mut self) -> Result<(), WireError> {
        self.socket().place.park().await;
        if self.watch.is_none() {
            match watch(self.socket(), Interest::READABLE | Interest::WRITABLE) {
                Ok(watch) => self.watch = Some(watch),
                Err(error) => {
                    self.leave().await;
                    return Err(error.into());
                }
            }
        }
        self.outgoing.message = BytesMut::new();
        if self.incoming.bytes.is_empty() {
            self.incoming.bytes = BytesMut::new();
        }
        if self.outgoing.bytes.is_empty() {
            self.outgoing.bytes = Vec::new();
        }
        Ok(())
    }

    /// Takes a thread again, on which everything may block.
    pub async fn leave(&mut self) {
        self.watch = None;
        self.socket().place.leave().await;
    }

    /// Parked: waits until the client says something, or says that it has nothing more to say, or it is called, or until then.
    async fn until_spoken(&self, until: Option<Instant>) -> Result<(), WireError> {
        let Some(watch) = &self.watch else { return Ok(()) };
        let spoken = async {
            // Whether it is only an old readiness that shows, the next read finds out.
            watch.readable().await.map(drop)
        };
        let ended = poll_fn(|_| if self.socket().ended().is_some() { Poll::Ready(()) } else { Poll::Pending });
        let called = poll_fn(|_| if self.socket().is_called() { Poll::Ready(()) } else { Poll::Pending });
        tokio::select! {
            biased;
            () = ended => Err(self.gone()),
            spoken = spoken => Ok(spoken?),
            () = called => Ok(()),
            () = at(until) => Ok(()),
        }
    }

    /// Parked: waits until anything wakes the conversation, or until then. Fails if the client has gone, or is to go.
    pub(crate) async fn until_woken(&self, until: Option<Instant>) -> Result<(), WireError> {
        let Some(watch) = &self.watch else { return Ok(()) };
        let mut asleep = false;
        let woken = poll_fn(|context| {
            if self.socket().ended().is_some() {
                return Poll::Ready(Err(self.gone()));
            }
            while let Poll::Ready(ready) = watch.poll_read_ready(context) {
                let mut ready = ready?;
                if ready.ready().is_read_closed() {
                    return Poll::Ready(Err(WireError::Gone));
                }
                // What it says is read later; most say nothing.
                ready.clear_ready();
            }
            if std::mem::replace(&mut asleep, true) { Poll::Ready(Ok(())) } else { Poll::Pending }
        });
        tokio::select! {
            biased;
            woken = woken => woken,
            () = at(until) => Ok(()),
        }
    }

    /// Waits until then, without a thread. Fails if the client goes, or is to go.
    pub async fn rest(&mut self, until: Instant) -> Result<(), WireError> {
        self.park().await?;
        let mut rested = Ok(());
        while rested.is_ok() && Instant::now() < until {
            rested = self.until_woken(Some(until)).await;
        }
        self.leave().await;
        rested
    }

    /// Parked: waits until the socket may take something.
    async fn until_writable(&self) -> Result<(), WireError> {
        let Some(watch) = &self.watch else { return Ok(()) };
        poll_fn(|context| {
            if self.socket().ended().is_some() {
                // Nothing more can be said to a client that does not read: part of a message may be out.
                return Poll::Ready(Err(WireError::Gone));
            }
            match watch.poll_write_ready(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(ready) => {
                    // It was tried just now: only what comes next counts.
                    let mut ready = ready?;
                    if ready.ready().is_write_closed() {
                        return Poll::Ready(Err(WireError::Gone));
                    }
                    ready.clear_ready();
                    Poll::Ready(Ok(()))
                }
            }
        })
        .await
    }

    /// Puts a message behind the others that wait to be flushed.
    pub fn feed(&mut self, message: PgWireBackendMessage) -> Result<(), WireError> {
        self.outgoing.message.clear();
        message
            .encode(&mut self.outgoing.message)
            .map_err(|error| WireError::Socket(io::Error::other(error.to_string())))?;
        let start = self.outgoing.bytes.len();
        self.outgoing.bytes.extend_from_slice(&self.outgoing.message);
        if !self.outgoing.encoding.is_same() {
            transcode(&mut self.outgoing.bytes, start, self.outgoing.encoding);
        }
        if self.outgoing.message.capacity() > KEEP_BYTES_MAX {
            self.outgoing.message = BytesMut::new();
        }
        self.seal();
        Ok(())
    }

    /// Puts a message that `write` appends behind the others.
    pub fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.outgoing.bytes.len();
        write(&mut self.outgoing.bytes);
        if !self.outgoing.encoding.is_same() {
            transcode(&mut self.outgoing.bytes, start, self.outgoing.encoding);
        }
        self.seal();
    }

    /// The bytes that wait to be flushed, for rows encoded in place.
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing.bytes
    }

    /// Says that what was written to `outgoing` is a whole message.
    pub fn seal(&mut self) {
        self.outgoing.sealed = self.outgoing.bytes.len();
    }

    /// Takes back what a panic left half written.
    pub(crate) fn unseal(&mut self) {
        self.outgoing.bytes.truncate(self.outgoing.sealed);
    }

    /// Where the client's next message will stand.
    pub fn mark(&self) -> Mark {
        Mark { flushes: self.outgoing.flushes, sealed: self.outgoing.sealed }
    }

    /// Takes back all messages since the mark, unless the client may have read one of them.
    pub fn take_back(&mut self, mark: &Mark) -> bool {
        let waits = self.outgoing.flushes == mark.flushes;
        if waits {
            self.outgoing.bytes.truncate(mark.sealed);
            self.outgoing.sealed = mark.sealed;
        }
        waits
    }

    /// What waits is not sent.
    pub(crate) fn discard(&mut self) {
        self.outgoing.bytes.clear();
        self.outgoing.sealed = 0;
    }

    /// Whether enough waits for it to be sent now.
    pub(crate) fn wants_flush(&self) -> bool {
        self.outgoing.bytes.len() >= FLUSH_BYTES
    }

    /// Whether nothing waits to be flushed.
    pub(crate) fn has_sent(&self) -> bool {
        self.outgoing.bytes.is_empty()
    }

    /// Sends all that waits, however long that takes.
    pub async fn flush(&mut self) -> Result<(), WireError> {
        self.flush_within(None).await
    }

    /// Sends all that waits. A client that takes nothing at all for longer than this has gone.
    pub(crate) async fn flush_within(&mut self, patience: Option<Duration>) -> Result<(), WireError> {
        if self.outgoing.bytes.is_empty() {
            return Ok(());
        }
        self.outgoing.flushes += 1;
        if !self.socket().writes() {
            self.outgoing.bytes.clear();
            self.outgoing.sealed = 0;
            return Err(WireError::fatal(End::Evicted.error()));
        }
        let sent = self.send_all(patience).await;
        self.socket().has_written();
        sent?;
        if self.outgoing.bytes.capacity() > KEEP_BYTES_MAX {
            self.outgoing.bytes = Vec::new();
        } else {
            self.outgoing.bytes.clear();
        }
        self.outgoing.sealed = 0;
        Ok(())
    }

    async fn send_all(&mut self, patience: Option<Duration>) -> Result<(), WireError> {
        let mut sent = 0;
        let mut stalled: Option<(usize, Instant)> = None;
        loop {
            let wait = self.watch.is_none();
            let mut rest = &self.outgoing.bytes[sent..];
            let outcome = self.transport.send(&mut rest, wait);
            sent = self.outgoing.bytes.len() - rest.len();
            match outcome {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.socket().ended().is_some() {
                        return Err(WireError::Gone);
                    }
                    let since = match stalled {
                        Some((at, since)) if at == sent => since,
                        _ => stalled.insert((sent, Instant::now())).1,
                    };
                    if patience.is_some_and(|patience| since.elapsed() >= patience) {
                        return Err(WireError::Gone);
                    }
                    self.until_writable().await?;
                }
                Err(_) if self.socket().ended().is_some() => return Err(WireError::Gone),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether somebody else may send what waits: it is as it will stand on the socket, and short.
    pub(crate) fn can_hand_over(&self) -> bool {
        !self.transport.is_encrypted() && !self.wants_flush()
    }

    /// Leaves what waits to be sent by somebody else.
    pub fn hand_over(&mut self) -> Answer {
        self.outgoing.flushes += 1;
        self.outgoing.sealed = 0;
        Answer { socket: Arc::clone(self.socket()), bytes: std::mem::take(&mut self.outgoing.bytes) }
    }

    /// Sends what waits if the client takes it soon, and closes.
    pub async fn close(mut self) {
        self.leave().await;
        let deadline = Instant::now() + LAST_WORDS;
        let mut rest = &self.outgoing.bytes[..];
        while let Err(error) = self.transport.send(&mut rest, true) {
            if error.kind() != io::ErrorKind::WouldBlock || Instant::now() >= deadline {
                return;
            }
        }
        // Whether they arrive is no longer anyone's business.
        let _closed = self.transport.close();
    }

    /// How the client has come, from that address.
    pub(crate) fn listed(&self, from: IpAddr) -> ListedConnection {
        self.transport.listed(from)
    }

    /// The socket.
    pub fn socket(&self) -> &Arc<ClientSocket> {
        self.transport.socket()
    }
}

impl Answer {
    /// Puts a message behind the others. All of ours can be encoded.
    pub fn feed(&mut self, message: PgWireBackendMessage) {
        let mut made = BytesMut::new();
        if message.encode(&mut made).is_ok() {
            self.bytes.extend_from_slice(&made);
        }
    }

    /// Puts a message that `write` appends behind the others.
    pub fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
    }

    /// Takes back what it says.
    pub fn discard(&mut self) {
        self.bytes.clear();
    }

    /// Sends it without waiting, then calls `sent`. A client that takes nothing now is waited for elsewhere.
    pub fn send(self, sent: impl FnOnce() + Send + 'static) {
        let Answer { socket, bytes } = self;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match socket.write(rest, false) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // It has gone; who reads from it will see that.
                Err(_) => return sent(),
            }
        }
        if rest.is_empty() {
            return sent();
        }
        let (rest, waited) = (rest.to_vec(), Arc::clone(&socket));
        let send_rest = move || {
            waited.write_all(&rest);
            sent();
        };
        if std::thread::Builder::new().name("answer".to_string()).spawn(send_rest).is_err() {
            socket.end(End::Shutdown);
        }
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}
