//! A small thread for what nobody waits for: it drops automatic views that are idle or over the budget, has files of the
//! store merged, and what waits for the audit log written. It ends before the engine does: what it looks at is open no longer than that.

use state::clock::now_micros;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;
use transactions::database::{Database, tell_operator};

const LOOKS_EVERY: Duration = Duration::from_millis(500);
/// Of the audit log, whose postings are made at a look.
const SEGMENTS_AT_ONCE: u64 = 16;

/// The thread. Dropped, it looks no more, and has let go of the database.
pub struct Housekeeping {
    /// None once it is to end.
    stays: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Housekeeping {
    /// Starts it.
    pub fn start(database: &Arc<Database>) -> Housekeeping {
        let database: Weak<Database> = Arc::downgrade(database);
        Housekeeping::looking("keeper", LOOKS_EVERY, move || {
            database.upgrade().iter().for_each(|database| look(database));
        })
    }

    /// Looks by a thread of that name.
    pub(crate) fn looking(name: &str, every: Duration, mut look: impl FnMut() + Send + 'static) -> Housekeeping {
        let (stays, ended) = channel();
        let keep = move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                look();
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(keep);
        Housekeeping { stays: Some(stays), thread: Some(thread.expect("the process can start its keeper")) }
    }
}

impl Drop for Housekeeping {
    fn drop(&mut self) {
        drop(self.stays.take());
        // One that has panicked has let go, too.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn look(database: &Database) {
    let views = database.published.load().views.clone();
    let budget = database.sessions.settings.view_memory.bytes();
    database.views.automatic.allow_again(budget);
    database.views.automatic.evict(&views, budget, &|request| database.ask_views(request));
    database.views.subscriptions.trim();
    if database.audit.waiting() > 0 {
        database.pipeline.record_soon();
    }
    // What fails now (no room on the disk) is tried again; until then more of the log is read whole.
    let _posted = database.store.post_audit(SEGMENTS_AT_ONCE);
    drop_old_entries(database);
    tell_operator(&database.store);
    // A store that cannot note it now (no room on the disk) is as right as before; the next look tries again.
    let _tried_again = database.store.look_after_files();
}

/// Drops entries of the audit log that are older than what is kept.
fn drop_old_entries(database: &Database) {
    let minutes = database.sessions.settings.audit_retention.kept();
    if minutes == 0 || database.store.is_read_only() {
        return;
    }
    let kept_us = i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60_000_000);
    // What fails now is tried again at the next look.
    let _dropped = database.store.drop_audit_before(now_micros().saturating_sub(kept_us), SEGMENTS_AT_ONCE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_let_go_when_it_has_ended() {
        let held = Arc::new(());
        let (looks, looking) = channel();
        let keeper = {
            let database = Arc::downgrade(&held);
            Housekeeping::looking("keeper", Duration::from_millis(1), move || {
                let _database = database.upgrade();
                // Whoever ends it does not listen any more.
                let _gone = looks.send(());
                std::thread::sleep(Duration::from_millis(50));
            })
        };
        looking.recv().expect("it looks");
        drop(keeper);
        assert!(Arc::into_inner(held).is_some(), "it still holds the database");
    }
}
