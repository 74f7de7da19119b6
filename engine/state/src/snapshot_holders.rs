//! Who still holds which snapshot: what an erasure waits for before it answers, and whose connections it closes.
//!
//! Every session is a holder. A snapshot that one of its statements, transactions, cursors or dataflows reads is
//! held until the last reader over it is gone, on whichever thread. Never says what may be read: that a snapshot
//! has ended is for its readers to find.

use crate::activity::{Activity, Owner};
use crate::locks::TransactionId;
use crate::notifications::Listener;
use crate::temporary::TemporarySpace;
use crate::transaction_fate::Fate;
use parking_lot::Mutex;
use repr::CommitTime;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// Closes a session's connection, from another thread and without waiting.
pub type Closer = Box<dyn Fn() + Send + Sync>;

/// How others cancel a session's statement, or end it: from another thread, and without waiting.
pub struct Signals {
    /// 57014
    pub cancel: Closer,
    /// 57P01
    pub terminate: Closer,
}

/// All sessions of a database.
#[derive(Default)]
pub struct Holders {
    sessions: Mutex<Vec<Weak<Holder>>>,
    /// Snapshots from before it were ended for an erasure's bytes.
    ended: Mutex<CommitTime>,
}

/// One session: the times of the snapshots that it reads from and since when, one entry for each reader.
pub struct Holder {
    times: Mutex<Vec<(CommitTime, Instant)>>,
    /// Its transaction's.
    pub fate: Fate,
    /// The session's number.
    pub backend: i32,
    /// Under which it holds locks beyond its transactions.
    pub session: TransactionId,
    /// What it listens to.
    pub listener: Arc<Listener>,
    /// What it is doing.
    pub activity: Activity,
    /// What it has for itself.
    pub temporary: TemporarySpace,
    reach: Reach,
}

/// How others reach a session.
#[derive(Default)]
struct Reach {
    signals: OnceLock<Signals>,
    closer: Mutex<Option<Closer>>,
}

/// One snapshot, held until this is dropped.
pub struct SnapshotHold {
    holder: Arc<Holder>,
    time: CommitTime,
}

// How often an erasure looks at those whom it waits for.
const POLL_MIN: Duration = Duration::from_micros(50);
const POLL_MAX: Duration = Duration::from_millis(2);

impl Holders {
    /// A new session, by its number and that under which it holds locks.
    pub fn register(&self, backend: i32, session: TransactionId, owner: Owner) -> Arc<Holder> {
        let holder = Arc::new(Holder {
            times: Mutex::default(),
            fate: Fate::default(),
            backend,
            session,
            listener: Arc::new(Listener::of(owner.database_id)),
            temporary: TemporarySpace::new(backend, owner.database_id),
            activity: Activity::new(owner),
            reach: Reach::default(),
        });
        let mut sessions = self.sessions.lock();
        // Not at every session: they come by thousands.
        if sessions.len() == sessions.capacity() {
            sessions.retain(|session| session.strong_count() > 0);
        }
        sessions.push(Arc::downgrade(&holder));
        holder
    }

    /// All that is held, the oldest first: by which session, of which time, and since when.
    pub fn held(&self) -> Vec<(i32, CommitTime, Instant)> {
        let sessions = self.all();
        let of = |session: &Arc<Holder>| {
            session.times.lock().iter().map(|(time, since)| (session.backend, *time, *since)).collect::<Vec<_>>()
        };
        let mut held: Vec<_> = sessions.iter().flat_map(of).collect();
        held.sort_by_key(|(backend, time, since)| (*time, *since, *backend));
        held
    }

    /// All that are there, and some that have ended.
    fn all(&self) -> Vec<Arc<Holder>> {
        self.sessions.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// All that have not ended.
    pub fn living(&self) -> Vec<Arc<Holder>> {
        let mut living = self.all();
        living.retain(|session| !session.activity.is_ended());
        living
    }

    /// Whether a statement of somebody's runs.
    pub fn any_at_work(&self) -> bool {
        self.living().iter().any(|session| session.activity.is_at_work())
    }

    /// The session of this number, if it has not ended.
    pub fn of_backend(&self, backend: i32) -> Option<Arc<Holder>> {
        self.living().into_iter().find(|session| session.backend == backend)
    }

    /// Ends a transaction, if it may be ended.
    pub fn end_transaction(&self, transaction: TransactionId) -> bool {
        let sessions = self.sessions.lock();
        let mut its = sessions.iter().filter_map(Weak::upgrade).filter(|session| session.fate.is_of(transaction));
        its.next().is_some_and(|session| session.fate.end(transaction))
    }

    /// Waits until no session but `own` holds a snapshot older than `time`, and `others_do` not either. Those that still do
    /// after `wait` are closed, and the others are told that they are late.
    pub fn end_older(&self, time: CommitTime, own: &Arc<Holder>, wait: Duration, others_do: impl Fn(bool) -> bool) {
        let deadline = Instant::now() + wait;
        self.all().iter().for_each(|session| session.temporary.forget());
        let mut pause = POLL_MIN;
        loop {
            let sessions = self.all();
            let older = |session: &&Arc<Holder>| !Arc::ptr_eq(session, own) && session.holds_older(time);
            let mut older = sessions.iter().filter(older).peekable();
            let late = Instant::now() >= deadline;
            // In this order: what is held may be on its way to them.
            if older.peek().is_none() & !others_do(late) {
                return;
            }
            if late {
                older.for_each(|session| {
                    let backend = session.backend;
                    tracing::warn!(
                        target: "dogwood::connections",
                        backend,
                        "a session is closed: it held a snapshot from before an erasure"
                    );
                    session.close();
                });
                return;
            }
            std::thread::sleep(pause);
            pause = POLL_MAX.min(pause * 2);
        }
    }
}

impl Holders {
    /// Snapshots that have been held for so long are to end, if there is a newer one: those from before this time.
    pub fn end_held_for(&self, long: Duration, newest: CommitTime) -> Option<CommitTime> {
        let held = self.held().into_iter().filter(|(_, time, since)| since.elapsed() >= long && *time < newest);
        let ended = held.map(|(_, time, _)| CommitTime(time.0 + 1)).max()?;
        let mut before = self.ended.lock();
        *before = ended.max(*before);
        Some(*before)
    }

    /// Closes the sessions that go on with a snapshot which was to end. How many.
    pub fn close_ended(&self) -> usize {
        let time = *self.ended.lock();
        let older: Vec<_> = self.all().into_iter().filter(|session| session.holds_older(time)).collect();
        older.iter().for_each(|session| session.close());
        older.len()
    }
}

impl Holder {
    /// Holds the snapshot of a time.
    pub fn hold(self: &Arc<Self>, time: CommitTime) -> SnapshotHold {
        self.times.lock().push((time, Instant::now()));
        SnapshotHold { holder: self.clone(), time }
    }

    /// Says how others cancel and end it.
    pub fn set_signals(&self, signals: Signals) {
        // The first stay.
        let _first = self.reach.signals.set(signals);
        if self.activity.is_to_end() {
            self.terminate();
        }
    }

    /// Ends it; as soon as it can be reached, if it has only begun.
    pub fn terminate(&self) {
        self.activity.is_told_to_end();
        if let Some(signals) = self.reach.signals.get() {
            (signals.terminate)();
        }
    }

    /// How others cancel and end it, once that is known.
    pub fn signals(&self) -> Option<&Signals> {
        self.reach.signals.get()
    }

    /// Whether it holds or waits under this number, as itself or as its transaction.
    pub fn is(&self, id: TransactionId) -> bool {
        self.session == id || self.fate.is_of(id)
    }

    /// Says how the session's connection is closed.
    pub fn set_closer(&self, closer: Closer) {
        *self.reach.closer.lock() = Some(closer);
    }

    fn holds_older(&self, time: CommitTime) -> bool {
        self.times.lock().iter().any(|(held, _)| *held < time)
    }

    fn close(&self) {
        if let Some(close) = &*self.reach.closer.lock() {
            close();
        }
    }
}

impl Drop for SnapshotHold {
    fn drop(&mut self) {
        let mut times = self.holder.times.lock();
        let position = times.iter().position(|(held, _)| *held == self.time).expect("what is held was noted");
        times.swap_remove(position);
    }
}

#[cfg(test)]
mod tests {
    use super::Holders;
    use crate::activity::Owner;
    use crate::locks::TransactionId;
    use repr::CommitTime;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    const WAIT: Duration = Duration::from_millis(300);

    #[test]
    fn only_older_snapshots_of_others_are_waited_for_and_closed() {
        let holders = Holders::default();
        let register = |backend: i32| holders.register(backend, TransactionId(backend as u64), Owner::default());
        let (own, old, fresh) = (register(1), register(2), register(3));
        let closed = Arc::new(AtomicUsize::new(0));
        for session in [&own, &old, &fresh] {
            let closed = closed.clone();
            session.set_closer(Box::new(move || {
                closed.fetch_add(1, Ordering::SeqCst);
            }));
        }
        let _own = own.hold(CommitTime(1));
        let _fresh = fresh.hold(CommitTime(5));
        let held = [old.hold(CommitTime(4)), old.hold(CommitTime(4)), old.hold(CommitTime(5))];
        let shown: Vec<_> = holders.held().iter().map(|(backend, time, _)| (*backend, time.0)).collect();
        assert_eq!(shown, [(1, 1), (2, 4), (2, 4), (3, 5), (2, 5)]);
        let waiting = Instant::now();
        holders.end_older(CommitTime(5), &own, WAIT, |_| false);
        assert!(waiting.elapsed() >= WAIT);
        assert_eq!(closed.load(Ordering::SeqCst), 1);
        drop(held);
        // Whoever is waited for until the end is closed.
        holders.end_older(CommitTime(5), &own, WAIT, |_| false);
        drop(old);
        holders.end_older(CommitTime(5), &own, WAIT, |_| false);
        assert_eq!(closed.load(Ordering::SeqCst), 1);
    }
}
