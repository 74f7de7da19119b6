//! NOTIFY: who listens to which channel, and what waits to be told.
//!
//! ```text
//! NOTIFY ─▶ PendingNotifications ─▶ COMMIT ─▶ Announcement ─▶ queue of each listener ─▶ its client, once it is idle
//! LISTEN ─▶ PendingNotifications ─▶ COMMIT ─▶ the listener's channels
//! ```
//! Whoever commits delivers, in the order in which commits are answered, and waits for no listener. What waits for all of them
//! together is bounded: beyond that the listener with the most of it is cut. Payloads are in memory only, never written or logged.

use crate::SqlError;
use parking_lot::Mutex;
use planner::catalog::DatabaseId;
use repr::hash::{HashMap, HashSet};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, OnceLock};

/// What may wait for all listeners together.
pub const QUEUE_BYTES_MAX: usize = 64 << 20;
/// What one transaction may leave for its commit.
const TRANSACTION_BYTES_MAX: usize = 16 << 20;
/// Channels that one session may listen to.
const CHANNELS_MAX: usize = 1 << 16;
/// As in PostgreSQL: the first length that a payload must not have.
const PAYLOAD_BYTES: usize = 8_000;
/// The same of a channel's name.
const CHANNEL_BYTES: usize = 64;
/// What a notification takes beside its texts, and its place in a queue.
const NOTIFICATION_BYTES: usize = 128;
const PLACE_BYTES: usize = 16;

/// As many are called by whoever commits; more by a thread that does nothing else.
const CALLED_AT_ONCE: usize = 16;

/// A notification that was committed.
pub struct Notification {
    /// Who sent it.
    pub backend: i32,
    /// Where to.
    pub channel: Arc<str>,
    /// What it says.
    pub payload: Arc<str>,
    /// It counts as long as it waits anywhere.
    _charge: Charge,
}

/// So many bytes of what waits.
struct Charge {
    bytes: usize,
    waiting: Arc<AtomicUsize>,
}

impl Charge {
    fn new(bytes: usize, waiting: &Arc<AtomicUsize>) -> Charge {
        waiting.fetch_add(bytes, Ordering::Relaxed);
        Charge { bytes, waiting: waiting.clone() }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What a listener's connection is told, from another thread: it must not wait there.
pub struct Caller {
    /// Something waits for it.
    pub call: Box<dyn Fn() + Send + Sync>,
    /// Too much has waited: it is to be closed.
    pub cut: Box<dyn Fn() + Send + Sync>,
}

/// One session as a listener.
#[derive(Default)]
pub struct Listener {
    /// The database that its channels are of.
    database: DatabaseId,
    state: Mutex<ListenerState>,
    caller: OnceLock<Caller>,
}

#[derive(Default)]
struct ListenerState {
    /// Each with its number, by which they are listed.
    channels: BTreeMap<Arc<str>, u64>,
    next: u64,
    queue: VecDeque<(Arc<Notification>, Charge)>,
}

impl Listener {
    /// Of a session of that database.
    pub fn of(database: DatabaseId) -> Listener {
        Listener { database, ..Listener::default() }
    }

    /// Says how its connection is reached.
    pub fn set_caller(&self, caller: Caller) {
        // The first stays.
        let _first = self.caller.set(caller);
    }

    /// The channels that it listens to, in the order in which it began.
    pub fn channels(&self) -> Vec<Arc<str>> {
        let state = self.state.lock();
        let mut channels: Vec<_> = state.channels.iter().map(|(channel, number)| (*number, channel.clone())).collect();
        channels.sort_unstable_by_key(|(number, _)| *number);
        channels.into_iter().map(|(_, channel)| channel).collect()
    }

    /// Whether it listens to anything, or something waits for it.
    pub fn is_listening(&self) -> bool {
        let state = self.state.lock();
        !state.channels.is_empty() || !state.queue.is_empty()
    }

    /// What has come, at most so many: of channels that it does not listen to any more nothing.
    pub fn take(&self, count_max: usize) -> Vec<Arc<Notification>> {
        let mut state = self.state.lock();
        let ListenerState { channels, queue, .. } = &mut *state;
        let count = count_max.min(queue.len());
        let taken = queue.drain(..count).map(|(notification, _)| notification);
        taken.filter(|notification| channels.contains_key(&notification.channel)).collect()
    }
}

type Listeners = HashMap<(DatabaseId, Arc<str>), Vec<Arc<Listener>>>;

/// All listeners of the server.
#[derive(Default)]
pub struct Notifications {
    /// By channel of a database.
    listeners: Mutex<Listeners>,
    waiting: Arc<AtomicUsize>,
}

impl Notifications {
    /// How much of what may wait does.
    pub fn usage(&self) -> f64 {
        self.waiting_bytes() as f64 / QUEUE_BYTES_MAX as f64
    }

    /// What waits, in bytes.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Changes what a session listens to.
    pub fn listen(&self, listener: &Arc<Listener>, wishes: &[Listening]) {
        let database = listener.database;
        let mut listeners = self.listeners.lock();
        let mut state = listener.state.lock();
        for wish in wishes {
            match wish {
                Listening::To(channel) => {
                    if !state.channels.contains_key(channel) {
                        state.next += 1;
                        let number = state.next;
                        state.channels.insert(channel.clone(), number);
                        listeners.entry((database, channel.clone())).or_default().push(listener.clone());
                    }
                }
                Listening::NoMoreTo(channel) => {
                    if state.channels.remove(channel).is_some() {
                        leave(&mut listeners, listener, channel);
                    }
                }
                Listening::ToNothing => {
                    // What waits may be of channels that it listens to again: `take` looks.
                    let channels = std::mem::take(&mut state.channels);
                    channels.keys().for_each(|channel| leave(&mut listeners, listener, channel));
                }
            }
        }
    }

    /// Puts what a transaction has said before all who listen in its database.
    fn deliver(&self, backend: i32, database: DatabaseId, said: &[Said]) {
        let mut called: Vec<Arc<Listener>> = Vec::new();
        // Held over all of it: a transaction's notifications stand together, and everywhere in the same order.
        let listeners = self.listeners.lock();
        for Said { channel, payload } in said {
            let Some(listening) = listeners.get(&(database, channel.clone())) else { continue };
            let charge = Charge::new(NOTIFICATION_BYTES + channel.len() + payload.len(), &self.waiting);
            let (channel, payload) = (channel.clone(), payload.clone());
            let notification = Arc::new(Notification { backend, channel, payload, _charge: charge });
            for listener in listening {
                let mut state = listener.state.lock();
                if state.queue.is_empty() {
                    called.push(listener.clone());
                }
                state.queue.push_back((notification.clone(), Charge::new(PLACE_BYTES, &self.waiting)));
            }
        }
        while self.waiting_bytes() > QUEUE_BYTES_MAX && cut_longest(&listeners) {}
        drop(listeners);
        call(called);
    }
}

fn leave(listeners: &mut Listeners, listener: &Arc<Listener>, channel: &Arc<str>) {
    let key = (listener.database, channel.clone());
    if let Some(listening) = listeners.get_mut(&key) {
        listening.retain(|other| !Arc::ptr_eq(other, listener));
        if listening.is_empty() {
            listeners.remove(&key);
        }
    }
}

/// Calls those for whom the first has come. Of many none is waited for, by whoever commits.
fn call(called: Vec<Arc<Listener>>) {
    fn all(called: &[Arc<Listener>]) {
        called.iter().filter_map(|listener| listener.caller.get()).for_each(|caller| (caller.call)());
    }
    static CALLING: LazyLock<Option<Mutex<Sender<Vec<Arc<Listener>>>>>> = LazyLock::new(|| {
        let (sender, receiver) = channel::<Vec<Arc<Listener>>>();
        let body = move || receiver.into_iter().for_each(|called| all(&called));
        std::thread::Builder::new().name("calling".into()).spawn(body).is_ok().then(|| Mutex::new(sender))
    });
    match &*CALLING {
        Some(sender) if called.len() > CALLED_AT_ONCE => {
            if let Err(unsent) = sender.lock().send(called) {
                all(&unsent.0);
            }
        }
        Some(_) | None => all(&called),
    }
}

/// Cuts the listener for which most waits; false if nothing waits for any.
fn cut_longest(listeners: &Listeners) -> bool {
    let waiting = |listener: &&Arc<Listener>| listener.state.lock().queue.len();
    let Some(longest) = listeners.values().flatten().max_by_key(waiting) else { return false };
    let queue = std::mem::take(&mut longest.state.lock().queue);
    if let Some(caller) = longest.caller.get() {
        (caller.cut)();
    }
    !queue.is_empty()
}

/// What LISTEN and UNLISTEN ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listening {
    /// LISTEN
    To(Arc<str>),
    /// UNLISTEN
    NoMoreTo(Arc<str>),
    /// UNLISTEN *
    ToNothing,
}

/// What NOTIFY says.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Said {
    channel: Arc<str>,
    payload: Arc<str>,
}

/// What a transaction will have said and asked for once it commits.
#[derive(Default)]
pub struct PendingNotifications {
    said: Vec<Said>,
    /// The same: what is said twice is told once.
    distinct: HashSet<Said>,
    bytes: usize,
    wishes: Vec<Listening>,
    /// How much of both there was at each savepoint.
    savepoints: Vec<(usize, usize)>,
}

impl PendingNotifications {
    /// Whether the end of the transaction changes or tells anything.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty() && self.wishes.is_empty()
    }

    /// NOTIFY. 22023 for what is no name of a channel or too long, 54000 for one too many.
    pub fn notify(&mut self, channel: &str, payload: &str) -> Result<(), SqlError> {
        if channel.is_empty() {
            return Err(SqlError::new("22023", "channel name cannot be empty"));
        }
        if channel.len() >= CHANNEL_BYTES {
            return Err(SqlError::new("22023", "channel name too long"));
        }
        if payload.len() >= PAYLOAD_BYTES {
            return Err(SqlError::new("22023", "payload string too long"));
        }
        let said = Said { channel: channel.into(), payload: payload.into() };
        if self.distinct.contains(&said) {
            return Ok(());
        }
        let bytes = NOTIFICATION_BYTES + channel.len() + payload.len();
        if self.bytes + bytes > TRANSACTION_BYTES_MAX {
            return Err(SqlError::new("54000", "too many notifications in the NOTIFY queue")
                .hint(format!("One transaction can send {} MB of them.", TRANSACTION_BYTES_MAX >> 20)));
        }
        self.bytes += bytes;
        self.distinct.insert(said.clone());
        self.said.push(said);
        Ok(())
    }

    /// LISTEN and UNLISTEN, of a session that listens to so many. 54000 for one too many.
    pub fn listen(&mut self, wish: Listening, listens_to: usize) -> Result<(), SqlError> {
        if matches!(wish, Listening::To(_)) && listens_to + self.wishes.len() >= CHANNELS_MAX {
            return Err(SqlError::new("54000", "too many channels are listened to")
                .hint(format!("A session can listen to {CHANNELS_MAX} channels.")));
        }
        self.wishes.push(wish);
        Ok(())
    }

    /// SAVEPOINT
    pub fn savepoint(&mut self) {
        self.savepoints.push((self.said.len(), self.wishes.len()));
    }

    /// RELEASE SAVEPOINT of the transaction's n-th.
    pub fn release_savepoint(&mut self, position: usize) {
        self.savepoints.truncate(position);
    }

    /// ROLLBACK TO SAVEPOINT, the transaction's n-th: nothing since was said.
    pub fn roll_back_to_savepoint(&mut self, position: usize) {
        self.savepoints.truncate(position + 1);
        let Some(&(said, wishes)) = self.savepoints.get(position) else { return };
        self.wishes.truncate(wishes);
        for said in self.said.drain(said..) {
            self.bytes -= NOTIFICATION_BYTES + said.channel.len() + said.payload.len();
            self.distinct.remove(&said);
        }
    }

    /// What it asks for, and what it says in the name of this session, in its database.
    pub fn announced(
        self,
        backend: i32,
        database: DatabaseId,
        hub: &Arc<Notifications>,
    ) -> (Vec<Listening>, Option<Announcement>) {
        let announcement = Announcement { backend, database, said: self.said, hub: hub.clone() };
        (self.wishes, Some(announcement).filter(|announcement| !announcement.said.is_empty()))
    }
}

/// What a transaction tells all who listen once it is committed.
pub struct Announcement {
    backend: i32,
    database: DatabaseId,
    said: Vec<Said>,
    hub: Arc<Notifications>,
}

impl Announcement {
    /// Tells it. Called once, when the commit stands.
    pub fn deliver(&self) {
        self.hub.deliver(self.backend, self.database, &self.said);
    }
}

#[cfg(test)]
mod tests {
    use super::{Caller, DatabaseId, Listener, Listening, Notifications, PendingNotifications, QUEUE_BYTES_MAX};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn to(channel: &str) -> Listening {
        Listening::To(channel.into())
    }

    fn taken(listener: &Listener) -> Vec<String> {
        let taken = listener.take(usize::MAX);
        taken.iter().map(|told| format!("{} {} {}", told.backend, told.channel, told.payload)).collect()
    }

    fn commit(pending: PendingNotifications, backend: i32, hub: &Arc<Notifications>) {
        pending
            .announced(backend, DatabaseId::FIRST, hub)
            .1
            .into_iter()
            .for_each(|announcement| announcement.deliver());
    }

    #[test]
    fn a_transaction_says_once_what_it_says_twice_and_nothing_of_what_it_takes_back() {
        let (hub, listener) = (Arc::<Notifications>::default(), Arc::<Listener>::default());
        hub.listen(&listener, &[to("a"), to("b"), to("a")]);
        let mut pending = PendingNotifications::default();
        for (channel, payload) in [("a", "1"), ("b", "1"), ("a", "1"), ("c", "")] {
            pending.notify(channel, payload).expect("short");
        }
        pending.savepoint();
        pending.notify("a", "2").expect("short");
        pending.notify("a", "1").expect("short");
        pending.savepoint();
        pending.notify("a", "3").expect("short");
        pending.roll_back_to_savepoint(0);
        pending.notify("a", "3").expect("short");
        commit(pending, 7, &hub);
        assert_eq!(taken(&listener), ["7 a 1", "7 b 1", "7 a 3"]);
        assert_eq!(hub.waiting_bytes(), 0);
        assert_eq!(listener.channels().iter().map(|channel| &**channel).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn what_is_not_listened_to_any_more_is_not_told() {
        let (hub, listener) = (Arc::<Notifications>::default(), Arc::<Listener>::default());
        hub.listen(&listener, &[to("a"), to("b")]);
        let mut pending = PendingNotifications::default();
        pending.notify("a", "").expect("short");
        pending.notify("b", "").expect("short");
        commit(pending, 1, &hub);
        hub.listen(&listener, &[Listening::NoMoreTo("a".into())]);
        assert_eq!(taken(&listener), ["1 b "]);
        hub.listen(&listener, &[Listening::ToNothing]);
        assert!(!listener.is_listening() && hub.listeners.lock().is_empty());
    }

    #[test]
    fn names_and_payloads_are_as_long_as_in_postgresql() {
        let mut pending = PendingNotifications::default();
        for (channel, payload, code) in [
            ("", 0, Some("22023")),
            (&"x".repeat(63), 7_999, None),
            (&"x".repeat(64), 0, Some("22023")),
            ("x", 8_000, Some("22023")),
        ] {
            assert_eq!(pending.notify(channel, &"p".repeat(payload)).err().map(|error| error.code), code);
        }
        let many = (0..100_000).find_map(|number| pending.notify("x", &format!("{number:0>7999}")).err());
        assert_eq!(many.map(|error| error.code), Some("54000"));
    }

    #[test]
    fn who_does_not_read_is_cut_and_others_are_not() {
        let (hub, slow, quick) =
            (Arc::<Notifications>::default(), Arc::<Listener>::default(), Arc::<Listener>::default());
        let (calls, cuts) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for (listener, is_slow) in [(&slow, true), (&quick, false)] {
            let (calls, cuts) = (calls.clone(), cuts.clone());
            listener.set_caller(Caller {
                call: Box::new(move || {
                    calls.fetch_add(1, Ordering::Relaxed);
                }),
                cut: Box::new(move || {
                    assert!(is_slow, "it has read all");
                    cuts.fetch_add(1, Ordering::Relaxed);
                }),
            });
            hub.listen(listener, &[to("a")]);
        }
        let (mut sent, mut read) = (0, 0);
        while cuts.load(Ordering::Relaxed) == 0 {
            let mut pending = PendingNotifications::default();
            pending.notify("a", &format!("{sent:0>7000}")).expect("short");
            commit(pending, 1, &hub);
            sent += 1;
            read += quick.take(usize::MAX).len();
        }
        assert_eq!(read, sent);
        assert!(sent > QUEUE_BYTES_MAX / 8_000 && sent < QUEUE_BYTES_MAX / 6_000, "{sent}");
        assert_eq!(calls.load(Ordering::Relaxed), sent + 1, "who has not read is called once");
        assert_eq!(hub.waiting_bytes(), 0);
    }
}
