//! A session's account: what ends its statement (cancel, timeout, memory), asked at every poll.
//!
//! ```text
//! wire ─ begin ─▶ account ◀─ look ─ repr::poll ◀─ parser, planner, evaluator, functions, operators, writes, encoders
//!                   ▲ joined: the connection's thread, the statement's dataflow, helping threads
//! ```
//! Memory is what the allocator counts: each thread that works for the statement adds what it was given and has not given
//! back since it was asked last, so that nothing has to be counted by hand. What caches keep of what passes through is not
//! the statement's, nor what scratch stores hold, which another thread frees; what is left to `parallel::discard` is until it is gone. A refusal stands until the next statement begins. Views have an account each; subject requests that of
//! their session.

use crate::SqlError;
use crate::cancel::CancelFlag;
use crate::settings::server::ServerSettings;
use crate::time_budget::TimeBudget;
use parking_lot::Mutex;
use repr::ValueError;
use repr::poll::Overseer;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Weak};
use std::time::{Duration, Instant};
use tikv_jemalloc_ctl::thread::{ThreadLocal, allocatedp, deallocatedp};

/// No deadline.
const NEVER: u64 = u64::MAX;
/// Not looked at yet.
const UNKNOWN: i64 = -1;
/// Who holds less is not asked for the server's sake, nor does it ask what caches have taken.
const SMALL_BYTES: i64 = 1 << 20;
/// How old what the server holds may be when a statement is judged by it, and when something small is kept.
const SERVER_LOOK: Duration = Duration::from_millis(10);
const KEEPING_LOOK: Duration = Duration::from_millis(100);

/// Deadlines are counted from here.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

thread_local! {
    /// What this thread has allocated and freed since it began.
    static COUNTERS: Cell<Option<(ThreadLocal<u64>, ThreadLocal<u64>)>> = const { Cell::new(None) };
    /// The account that this thread works for, by its address.
    static JOINED: Cell<usize> = const { Cell::new(0) };
    /// What it had at the last look.
    static LAST: Cell<i64> = const { Cell::new(0) };
}

/// What this thread has been given and not given back.
fn thread_bytes() -> i64 {
    let counters = COUNTERS.get().or_else(|| {
        COUNTERS.set(allocatedp::read().ok().zip(deallocatedp::read().ok()));
        COUNTERS.get()
    });
    counters.map_or(0, |(allocated, freed)| allocated.get().wrapping_sub(freed.get()).cast_signed())
}

/// See the module.
pub struct Account {
    cancel: Arc<CancelFlag>,
    /// Nanoseconds from the epoch.
    until: AtomicU64,
    memory: Memory,
    /// Work that must not take longer, whoever waits for it.
    patience: Mutex<Option<TimeBudget>>,
    is_patient: AtomicBool,
    verdict: Verdict,
    /// Those of the same server, if it is a session's.
    server: Option<Arc<Accounts>>,
}

/// What the statement that runs holds.
struct Memory {
    bytes_max: AtomicUsize,
    /// On all threads.
    used: AtomicI64,
    /// What caches held when the statement's memory was first worth a look.
    cached_before: AtomicI64,
    /// What they have taken since: not the statement's.
    cached: AtomicI64,
}

/// Whether the statement that runs may go on.
struct Verdict {
    refused: AtomicBool,
    refusal: Mutex<Option<SqlError>>,
    /// What it was to do is done: nothing ends it any more.
    stands: AtomicBool,
}

impl Account {
    /// A session's.
    pub fn of_session(server: &Arc<Accounts>, cancel: Arc<CancelFlag>) -> Arc<Account> {
        let account = Arc::new(Account { server: Some(server.clone()), ..Account::apart(cancel, None, usize::MAX) });
        server.register(&account);
        account
    }

    /// One that is no session's.
    pub fn new(cancel: Arc<CancelFlag>, deadline: Option<Instant>, bytes_max: usize) -> Arc<Account> {
        Arc::new(Account::apart(cancel, deadline, bytes_max))
    }

    fn apart(cancel: Arc<CancelFlag>, deadline: Option<Instant>, bytes_max: usize) -> Account {
        Account {
            cancel,
            until: AtomicU64::new(from_epoch(deadline)),
            memory: Memory {
                bytes_max: AtomicUsize::new(bytes_max),
                used: AtomicI64::new(0),
                cached_before: AtomicI64::new(UNKNOWN),
                cached: AtomicI64::new(0),
            },
            patience: Mutex::new(None),
            is_patient: AtomicBool::new(false),
            verdict: Verdict {
                refused: AtomicBool::new(false),
                refusal: Mutex::new(None),
                stands: AtomicBool::new(false),
            },
            server: None,
        }
    }

    /// The next statement begins: with this deadline, and so much memory.
    pub fn begin(&self, deadline: Option<Instant>, bytes_max: usize) {
        self.until.store(from_epoch(deadline), Ordering::Relaxed);
        self.memory.bytes_max.store(bytes_max, Ordering::Relaxed);
        self.verdict.stands.store(false, Ordering::Relaxed);
        self.end();
        if self.verdict.refused.swap(false, Ordering::Relaxed) {
            *self.verdict.refusal.lock() = None;
        }
    }

    /// What the statement was to do is committed: until the next begins nothing is refused, so that its answer says so.
    pub fn stand(&self) {
        self.verdict.stands.store(true, Ordering::Relaxed);
    }

    /// The statement has ended: what it leaves behind is the session's, and counts for the server only.
    pub fn end(&self) {
        if JOINED.get() == self.address() {
            LAST.set(thread_bytes());
        }
        self.memory.used.store(0, Ordering::Relaxed);
        self.memory.cached_before.store(UNKNOWN, Ordering::Relaxed);
        self.memory.cached.store(0, Ordering::Relaxed);
    }

    /// What may be held.
    pub fn bytes_max(&self) -> usize {
        self.memory.bytes_max.load(Ordering::Relaxed)
    }

    /// Changes what may be held from here on.
    pub fn set_bytes_max(&self, bytes: usize) {
        self.memory.bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Work that goes on for longer is ended (54000).
    pub fn set_patience(&self, patience: Option<TimeBudget>) {
        self.is_patient.store(patience.is_some(), Ordering::Relaxed);
        *self.patience.lock() = patience;
    }

    /// What has been refused, so that the same is heard wherever it is asked.
    pub fn refusal(&self) -> Option<SqlError> {
        if self.verdict.refused.load(Ordering::Relaxed) { self.verdict.refusal.lock().clone() } else { None }
    }

    /// Whether the statement may go on.
    pub fn check(&self) -> Result<(), SqlError> {
        self.check_with(0)
    }

    /// Whether it may, holding so many bytes more.
    fn check_with(&self, wanted_bytes: usize) -> Result<(), SqlError> {
        if self.verdict.stands.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.refusal().or_else(|| self.found(wanted_bytes)) {
            None => Ok(()),
            Some(error) => {
                let refusal = self.verdict.refusal.lock().get_or_insert(error).clone();
                self.verdict.refused.store(true, Ordering::Relaxed);
                Err(refusal)
            }
        }
    }

    fn found(&self, wanted_bytes: usize) -> Option<SqlError> {
        if self.cancel.is_cancelled() {
            return Some(SqlError::new("57014", "canceling statement due to user request"));
        }
        let until = self.until.load(Ordering::Relaxed);
        if until != NEVER && EPOCH.elapsed().as_nanos() >= u128::from(until) {
            return Some(SqlError::new("57014", "canceling statement due to statement timeout"));
        }
        if self.is_patient.load(Ordering::Relaxed) && self.patience.lock().as_mut().is_some_and(TimeBudget::is_over) {
            return Some(SqlError::new("54000", "the work takes too long"));
        }
        let used = self.count().saturating_add(i64::try_from(wanted_bytes).unwrap_or(i64::MAX));
        if used <= SMALL_BYTES { None } else { self.too_much(used) }
    }

    /// Adds what this thread has used, if it works for this account. The sum.
    fn count(&self) -> i64 {
        if JOINED.get() != self.address() {
            return self.memory.used.load(Ordering::Relaxed);
        }
        let now = thread_bytes();
        let more = now.wrapping_sub(LAST.replace(now));
        self.memory.used.fetch_add(more, Ordering::Relaxed) + more
    }

    /// Why so much is too much, if it is.
    fn too_much(&self, used: i64) -> Option<SqlError> {
        let bytes_max = self.bytes_max();
        let limit = i64::try_from(bytes_max).unwrap_or(i64::MAX);
        if let Some(server) = &self.server
            && self.memory.cached_before.load(Ordering::Relaxed) == UNKNOWN
        {
            self.memory.cached_before.store(server.cached(), Ordering::Relaxed);
        }
        if used.saturating_sub(self.memory.cached.load(Ordering::Relaxed)) > limit {
            if let Some(server) = &self.server {
                let taken = server.cached() - self.memory.cached_before.load(Ordering::Relaxed);
                self.memory.cached.fetch_max(taken, Ordering::Relaxed);
            }
            if used.saturating_sub(self.memory.cached.load(Ordering::Relaxed)) > limit {
                return Some(
                    SqlError::new("53200", "out of memory")
                        .detail(format!("The statement needs more than {} of working memory.", in_units(bytes_max)))
                        .hint(
                            "Narrow the statement, give its joins and filters an index, or raise \"statement_memory\".",
                        ),
                );
            }
        }
        let server = self.server.as_ref()?;
        let over = server.is_over(SERVER_LOOK) && server.holds_most(self);
        over.then(|| server.is_full())
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Overseer for Account {
    fn joined(&self) {
        JOINED.set(self.address());
        LAST.set(thread_bytes());
    }

    fn left(&self) {
        self.count();
        JOINED.set(0);
    }

    fn look(&self, wanted_bytes: usize) -> Result<(), ValueError> {
        self.check_with(wanted_bytes).map_err(|error| ValueError {
            detail: error.detail,
            hint: error.hint,
            ..ValueError::new(error.code, error.message)
        })
    }
}

fn from_epoch(deadline: Option<Instant>) -> u64 {
    deadline
        .map_or(NEVER, |deadline| u64::try_from(deadline.saturating_duration_since(*EPOCH).as_nanos()).unwrap_or(NEVER))
}

/// As SHOW writes a size, where it is a whole one.
fn in_units(bytes: usize) -> String {
    match bytes {
        _ if bytes > 0 && bytes.is_multiple_of(1 << 30) => format!("{} GB", bytes >> 30),
        _ if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{} MB", bytes >> 20),
        _ => format!("{} kB", bytes >> 10),
    }
}

/// How what the server holds is measured, in bytes.
pub struct Gauges {
    /// What caches hold that fill while statements run.
    pub cached: Box<dyn Fn() -> usize + Send + Sync>,
    /// What sessions hold, running or not.
    pub sessions: Box<dyn Fn() -> usize + Send + Sync>,
}

/// The accounts of all sessions, and what they hold together.
pub struct Accounts {
    gauges: Gauges,
    settings: Arc<ServerSettings>,
    all: Mutex<Vec<Weak<Account>>>,
    /// When what they hold was asked last, in nanoseconds from the epoch.
    asked: AtomicU64,
    is_over: AtomicBool,
}

impl Accounts {
    /// None yet.
    pub fn new(gauges: Gauges, settings: Arc<ServerSettings>) -> Accounts {
        let (asked, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        Accounts { gauges, settings, all: Mutex::default(), asked, is_over }
    }

    fn register(&self, account: &Arc<Account>) {
        let mut all = self.all.lock();
        // Those that have gone are passed over once they are as many as those that are there.
        if all.len() == all.capacity() {
            all.retain(|account| account.strong_count() > 0);
        }
        all.push(Arc::downgrade(account));
    }

    /// Whether all that is allocated, but for what caches and views account for, is more than it may be, or was that long ago.
    fn is_over(&self, age_max: Duration) -> bool {
        let now = u64::try_from(EPOCH.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let asked = self.asked.load(Ordering::Relaxed);
        let due = asked == 0 || u128::from(now.saturating_sub(asked)) >= age_max.as_nanos();
        if due && self.asked.compare_exchange(asked, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let over = (self.gauges.sessions)() > self.settings.server_memory.bytes();
            self.is_over.store(over, Ordering::Relaxed);
        }
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether nobody's statement holds more: one has to end, the others may go on.
    fn holds_most(&self, account: &Account) -> bool {
        let used = account.memory.used.load(Ordering::Relaxed);
        let all = self.all.lock();
        all.iter().filter_map(Weak::upgrade).all(|other| other.memory.used.load(Ordering::Relaxed) <= used)
    }

    fn cached(&self) -> i64 {
        i64::try_from((self.gauges.cached)()).unwrap_or(i64::MAX)
    }

    fn is_full(&self) -> SqlError {
        let bytes_max = self.settings.server_memory.bytes();
        SqlError::new("53200", "out of memory")
            .detail(format!("All sessions together need more than {}.", in_units(bytes_max)))
            .hint("Try again later, close cursors and prepared statements that are not needed, or raise \"server_memory\".")
    }

    /// Before a session keeps something for later: 53200 if all sessions hold too much already.
    pub fn check_keeping(&self) -> Result<(), SqlError> {
        // What says so may be old: nobody is refused without another look.
        let over = self.is_over(KEEPING_LOOK) && self.is_over(Duration::ZERO);
        if over { Err(self.is_full()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Account;
    use crate::cancel::CancelFlag;
    use std::sync::Arc;

    #[test]
    fn what_is_committed_is_answered() {
        let cancel = Arc::new(CancelFlag::default());
        let account = Account::new(cancel.clone(), None, usize::MAX);
        cancel.cancel();
        assert!(account.check().is_err_and(|error| error.code == "57014"));
        account.stand();
        assert!(account.check().is_ok(), "cancelled too late");
        account.begin(None, usize::MAX);
        assert!(account.check().is_err(), "the next statement is another");
    }
}
