//! Writes that RocksDB refuses for want of room, and whether it goes on so for good.
//!
//! ```text
//! refused ─▶ there is room ─ RESUMES_WITHIN ─▶ still refused: it does not resume by itself
//!               └─ written ─▶ forgotten
//! ```
//! RocksDB looks for room every five seconds and resumes then. Not from each such error: where it found none to begin another log,
//! it takes no write until it is opened anew, and says the same words.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longer than it takes RocksDB to find out.
const RESUMES_WITHIN: Duration = Duration::from_secs(12);

/// See the module.
#[derive(Default)]
pub(crate) struct NoRoom {
    is_refused: AtomicBool,
    moments: Mutex<Moments>,
}

#[derive(Default)]
struct Moments {
    /// The last that was refused, and nothing was written since.
    tried: Option<Instant>,
    /// Since when there has been room.
    room: Option<Instant>,
}

impl NoRoom {
    /// A write was refused.
    pub(crate) fn refused(&self) {
        self.moments.lock().tried = Some(Instant::now());
        self.is_refused.store(true, Ordering::Release);
    }

    /// One was not.
    pub(crate) fn written(&self) {
        if self.is_refused.load(Ordering::Relaxed) {
            *self.moments.lock() = Moments::default();
            self.is_refused.store(false, Ordering::Release);
        }
    }

    /// Whether writes are refused though there has been room for long. To be asked every few seconds.
    pub(crate) fn lasts(&self, has_room: impl FnOnce() -> bool) -> bool {
        self.is_refused.load(Ordering::Acquire) && self.lasts_at(Instant::now(), has_room)
    }

    fn lasts_at(&self, now: Instant, has_room: impl FnOnce() -> bool) -> bool {
        let has_room = has_room();
        let mut moments = self.moments.lock();
        if !has_room {
            moments.room = None;
            return false;
        }
        let resumes = *moments.room.get_or_insert(now) + RESUMES_WITHIN;
        moments.tried.is_some_and(|tried| tried > resumes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_refused_long_after_there_was_room_lasts() {
        let no_room = NoRoom::default();
        let began = Instant::now();
        assert!(!no_room.lasts(|| panic!("nothing was refused")));
        no_room.refused();
        assert!(!no_room.lasts_at(began, || false));
        assert!(!no_room.lasts_at(began, || true), "it may resume");
        let late = began + RESUMES_WITHIN + Duration::from_secs(1);
        assert!(!no_room.lasts_at(late, || true), "nobody has tried since");
        no_room.moments.lock().tried = Some(late);
        assert!(no_room.lasts_at(late, || true));
        assert!(!no_room.lasts_at(late, || false), "the room has gone again");
        no_room.moments.lock().room = Some(began);
        no_room.written();
        assert!(!no_room.lasts(|| panic!("it was written")));
    }
}
