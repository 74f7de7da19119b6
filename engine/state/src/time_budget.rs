//! How long work may take that others wait for: a view's tick, most of all.

use std::fs::File;
use std::os::unix::fs::FileExt;
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

/// The processor time of the thread that made it.
pub struct ThreadClock {
    told: Option<File>,
    began: Instant,
}

impl ThreadClock {
    /// Of this thread.
    pub fn new() -> ThreadClock {
        ThreadClock { told: File::open("/proc/thread-self/schedstat").ok(), began: Instant::now() }
    }

    /// What it has had so far; where the system does not say it, the time since this clock was made.
    pub fn now(&self) -> Duration {
        self.worked().unwrap_or_else(|| self.began.elapsed())
    }

    fn worked(&self) -> Option<Duration> {
        let mut told = [0; 64];
        let length = self.told.as_ref()?.read_at(&mut told, 0).ok()?;
        std::str::from_utf8(&told[..length]).ok()?.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    }
}

impl Default for ThreadClock {
    fn default() -> ThreadClock {
        ThreadClock::new()
    }
}

/// The processor time that this thread has had, where Linux says it.
fn thread_worked() -> Option<Duration> {
    ThreadClock::new().worked()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_s_clock_stands_while_it_sleeps_and_goes_while_it_works() {
        let clock = ThreadClock::new();
        let began = clock.now();
        std::thread::sleep(Duration::from_millis(50));
        let slept = clock.now().saturating_sub(began);
        assert!(slept < Duration::from_millis(40), "{slept:?}");
        let (mut turns, until) = (0_u64, Instant::now() + Duration::from_secs(20));
        while clock.now().saturating_sub(began) < Duration::from_millis(60) {
            turns += std::hint::black_box(1);
            assert!(Instant::now() < until, "it stands still after {turns} turns");
        }
    }
}
