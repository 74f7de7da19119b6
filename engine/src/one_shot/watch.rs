//! What may end a query before its last row: cancel, deadline, an erased snapshot, too much memory.
//!
//! One `Watch` is shared by all threads of a query. It is asked between rows, between dataflow steps and
//! inside long operators; it never interrupts by force.

use crate::SqlError;
use crate::protocol::CancelFlag;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The bounds within which a query runs.
#[derive(Clone)]
pub struct QueryLimits {
    /// Raised by a CancelRequest.
    pub cancel: Arc<CancelFlag>,
    /// `statement_timeout`.
    pub deadline: Option<Instant>,
    /// Bytes that the query's dataflows, sorts and materialised parts may hold together.
    pub memory_bytes_max: usize,
    /// Why the snapshot underneath may no longer be read (a data subject was forgotten), if so.
    pub ended: Arc<dyn Fn() -> Option<SqlError> + Send + Sync>,
}

/// How long one thread may work at something: by its own processor time, so that what others do on a machine that is busy
/// ends nothing, and by the clock.
pub struct Patience {
    started: Instant,
    /// Processor time of the thread.
    work: Duration,
    until: Instant,
    /// When it is looked at next.
    next: Instant,
    /// What the thread had worked when that was first asked, and when.
    worked: Option<(Duration, Instant)>,
}

impl Patience {
    /// Work that is done sooner is not looked at.
    const FIRST_LOOK: Duration = Duration::from_millis(50);

    /// From now on; no longer than `until` anyway.
    pub fn new(work: Duration, until: Instant) -> Self {
        let started = Instant::now();
        Patience { started, work, until, next: until.min(started + Self::FIRST_LOOK.min(work)), worked: None }
    }

    /// To be asked on the thread that works.
    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        if now >= self.until {
            return true;
        }
        let before_first = self.worked.map_or(now, |(_, first)| first) - self.started;
        let worked = match (self.worked, thread_worked()) {
            (_, None) => now - self.started,
            (Some((then, _)), Some(worked)) => before_first + worked.saturating_sub(then),
            (None, Some(worked)) => {
                self.worked = Some((worked, now));
                before_first
            }
        };
        self.next = self.until.min(now + self.work.saturating_sub(worked));
        worked >= self.work
    }
}

/// The processor time that this thread has had, where Linux says it.
fn thread_worked() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// The state behind a query's limits.
pub struct Watch {
    limits: QueryLimits,
    /// As in `limits`, unless it was changed since.
    memory_bytes_max: AtomicUsize,
    /// Beside that in `limits`.
    patience: Mutex<Option<Patience>>,
    /// Charged by sorts and materialised parts.
    held_bytes: AtomicUsize,
    stopped: AtomicBool,
    failure: Mutex<Option<SqlError>>,
}

impl Watch {
    /// Starts watching.
    pub fn new(limits: QueryLimits) -> Self {
        Watch {
            memory_bytes_max: AtomicUsize::new(limits.memory_bytes_max),
            patience: Mutex::new(None),
            limits,
            held_bytes: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// Changes what may be held from here on.
    pub fn set_memory_bytes_max(&self, bytes: usize) {
        self.memory_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Work that goes on for longer is ended (54000).
    pub fn set_patience(&self, patience: Option<Patience>) {
        *self.patience.lock() = patience;
    }

    /// Whether the query is over; cheap, and never the first to notice.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends the query for lack of a reader of its result.
    pub fn abandon(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends the query with an error that no row carries, such as one of storage. The first one counts.
    pub fn fail(&self, error: SqlError) {
        self.failure.lock().get_or_insert(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Why the snapshot underneath may no longer be read, if so.
    pub fn ended(&self) -> Option<SqlError> {
        (self.limits.ended)()
    }

    /// Looks at every limit. Errors are 57014, 53200, 54000, or why the snapshot ended.
    pub fn check(&self) -> Result<(), SqlError> {
        let error = if let Some(error) = self.failure.lock().clone() {
            error
        } else if self.limits.cancel.is_cancelled() {
            SqlError::new("57014", "canceling statement due to user request")
        } else if self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            SqlError::new("57014", "canceling statement due to statement timeout")
        } else if self.patience.lock().as_mut().is_some_and(Patience::is_over) {
            SqlError::new("54000", "the work takes too long")
        } else if let Some(error) = (self.limits.ended)() {
            error
        } else if self.is_stopped() {
            SqlError::new("57014", "canceling statement because its result is no longer read")
        } else {
            return Ok(());
        };
        self.stopped.store(true, Ordering::Relaxed);
        Err(error)
    }

    /// Adds to what the query holds; 53200 if that is too much.
    pub fn charge(&self, bytes: usize) -> Result<(), SqlError> {
        let held = self.held_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bound(held)
    }

    /// Gives back what was charged.
    pub fn release(&self, bytes: usize) {
        self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// 53200 if what is charged and `dataflow_bytes` together are too much.
    pub fn check_memory(&self, dataflow_bytes: usize) -> Result<(), SqlError> {
        self.bound(self.held_bytes.load(Ordering::Relaxed).saturating_add(dataflow_bytes))
    }

    fn bound(&self, held: usize) -> Result<(), SqlError> {
        let memory_bytes_max = self.memory_bytes_max.load(Ordering::Relaxed);
        if held <= memory_bytes_max {
            return Ok(());
        }
        let error = SqlError::new("53200", "out of memory")
            .detail(format!("The query needs more than {memory_bytes_max} bytes of working memory."))
            .hint("Narrow the query, give its joins and filters an index, or raise the memory limit of queries.");
        self.fail(error.clone());
        Err(error)
    }
}

/// Counts rows, so that limits are looked at once in many.
#[derive(Default)]
pub struct Ticker {
    rows: u32,
}

impl Ticker {
    const ROWS_BETWEEN_CHECKS: u32 = 256;

    /// One more row: fails if a limit was found crossed.
    pub fn tick(&mut self, watch: &Watch) -> Result<(), SqlError> {
        self.rows = self.rows.wrapping_add(1);
        if self.rows.is_multiple_of(Self::ROWS_BETWEEN_CHECKS) { watch.check() } else { Ok(()) }
    }

    /// One more row: whether to stop work.
    pub fn stops(&mut self, watch: &Watch) -> bool {
        self.tick(watch).is_err() || watch.is_stopped()
    }
}
