//! How long work may take that others wait for: a view's tick, most of all.

use std::time::{Duration, Instant};

/// How long one thread may work at something: by its own processor time, so that what others do on a machine that is busy
/// ends nothing, and by the clock.
pub struct TimeBudget {
    started: Instant,
    /// Processor time of the thread.
    work: Duration,
    until: Instant,
    /// When it is looked at next.
    next: Instant,
    /// What the thread had worked when that was first asked, and when.
    worked: Option<(Duration, Instant)>,
}

impl TimeBudget {
    /// Work that is done sooner is not looked at.
    const FIRST_LOOK: Duration = Duration::from_millis(50);

    /// From now on; no longer than `until` anyway.
    pub fn new(work: Duration, until: Instant) -> Self {
        let started = Instant::now();
        TimeBudget { started, work, until, next: until.min(started + Self::FIRST_LOOK.min(work)), worked: None }
    }

    /// To be asked on the thread that works.
    pub fn is_over(&mut self) -> bool {
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
