//! The eraser: a thread that has what was erased leave every file, some erasures at a time.
//!
//! ```text
//! first erasure ── WINDOW ──▶ `Store::erase`, no faster than dogwood.erasure_rate
//!                                 │ views have not merged what they hold: not waited for longer than PATIENCE
//!                                 │ somebody reads from before, or from files that are replaced
//!                                 │ a backup copies files from before: after PATIENCE it begins anew
//!                                 └─ a tick, so that nobody does out of habit; after PATIENCE they end
//! ```
//! What it does is the store's; when, and who is in the way, is decided here. Never on a thread that somebody waits for.

use crate::key_renewal::LeftRenewals;
use crate::key_rotation::RotationSchedule;
use crate::reader_release::{PATIENCE, ReaderRelease};
use parking_lot::Mutex;
use state::clock::now_micros;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use storage::{ErasurePace, PassStep, StorageError, ViewsMerged, Waits};
use transactions::database::Database;
use views::message::ViewRequest;

/// Erasures are put together for so long.
const WINDOW: Duration = Duration::from_secs(10);
const LOOKS_EVERY: Duration = Duration::from_millis(200);
/// After a failure.
const PAUSE: Duration = Duration::from_secs(5);
/// A stop waits until so much is rewritten, and no longer than this. More is left to the next start.
const LAST_BYTES_MAX: u64 = 256 << 20;
const LAST_WAIT: Duration = Duration::from_secs(10);

/// The thread. Dropped, it has let go of the database.
pub struct ErasurePasses {
    stops: Arc<AtomicBool>,
    /// None once it has ended.
    runs: Mutex<Option<Runs>>,
}

struct Runs {
    stays: Sender<()>,
    thread: JoinHandle<()>,
}

impl ErasurePasses {
    /// Starts it.
    pub fn start(database: &Arc<Database>) -> ErasurePasses {
        let stops = Arc::<AtomicBool>::default();
        let (stays, ended) = channel();
        let (database, stopped) = (Arc::downgrade(database), stops.clone());
        let body = move || run(&database, &ended, &stopped);
        let thread = std::thread::Builder::new().name("eraser".into()).spawn(body);
        let thread = thread.expect("the process can start its eraser");
        ErasurePasses { stops, runs: Mutex::new(Some(Runs { stays, thread })) }
    }

    fn end(&self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(Runs { stays, thread }) = self.runs.lock().take() {
            drop(stays);
            // One that has panicked has let go, too.
            let _ended = thread.join();
        }
    }

    /// Before the database is closed: nobody reads any more, and what is owed goes at once, if it is little.
    pub fn finish(&self, database: &Arc<Database>) {
        self.end();
        let store = &database.store;
        if store.is_read_only() || store.owing().is_none() {
            return;
        }
        let bytes = store.owed_bytes();
        let until = Instant::now() + LAST_WAIT;
        let mut last = Erasing::new(&self.stops);
        while bytes <= LAST_BYTES_MAX && Instant::now() < until {
            match last.go_on(database, None) {
                Gone::Pass => {}
                // Nobody makes room any more.
                Gone::Waits if last.waits_for() == Waits::Room.name() => break,
                Gone::Waits => {}
                Gone::Nothing => break,
                // Nor does a disk that fails come back soon.
                Gone::Failed(error) => {
                    tracing::warn!(target: "dogwood::erasures", "erased bytes could not be taken out of files: {error}");
                    break;
                }
            }
        }
        if store.owing().is_some() {
            let waits = last.waits_for();
            tracing::info!(
                target: "dogwood::erasures",
                bytes,
                waits,
                "erased bytes are still in files: they leave after the next start"
            );
        }
    }
}

impl Drop for ErasurePasses {
    fn drop(&mut self) {
        self.end();
    }
}

fn run(database: &Weak<Database>, ended: &Receiver<()>, stops: &AtomicBool) {
    let (mut erasing, mut rotations) = (Erasing::new(stops), RotationSchedule::default());
    let mut renewals = LeftRenewals::default();
    let mut pause = LOOKS_EVERY;
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let Some(database) = database.upgrade() else { return };
        rotations.look(&database);
        renewals.look(&database, &|| stops.load(Ordering::Relaxed));
        let due = database.store.owing().is_some_and(|owing| owing.is_passing || owing.since.elapsed() >= WINDOW);
        pause = match due && !database.store.is_read_only() {
            true => erasing.look(&database),
            false => LOOKS_EVERY,
        };
    }
}

/// One pass after the other.
struct Erasing<'a> {
    stops: &'a AtomicBool,
    /// Of the present pass.
    merging: ViewsMerging,
    /// What is waited for, and since when.
    waits: Option<(Waits, Instant)>,
    release: ReaderRelease,
}

/// What has come of it.
enum Gone {
    /// There is nothing more to do.
    Nothing,
    /// A pass is over.
    Pass,
    /// Somebody is waited for.
    Waits,
    /// It failed.
    Failed(StorageError),
}

impl<'a> Erasing<'a> {
    fn new(stops: &'a AtomicBool) -> Self {
        Erasing { stops, merging: ViewsMerging::default(), waits: None, release: ReaderRelease::default() }
    }

    /// Goes on, and says after how long to look again.
    fn look(&mut self, database: &Arc<Database>) -> Duration {
        let settings = database.sessions.settings.clone();
        let rate = move || settings.erasure_rate.bytes() as u64;
        match self.go_on(database, Some(&rate)) {
            Gone::Nothing | Gone::Pass | Gone::Waits => LOOKS_EVERY,
            Gone::Failed(error) => {
                tracing::warn!(target: "dogwood::erasures", "erased bytes could not be taken out of files: {error}");
                PAUSE
            }
        }
    }

    fn go_on(&mut self, database: &Arc<Database>, rate: Option<&dyn Fn() -> u64>) -> Gone {
        if database.store.owing().is_none() {
            return Gone::Nothing;
        }
        let pace = ErasurePace {
            now_us: &now_micros,
            bytes_per_second: &|| rate.map(|rate| rate()),
            views: &|| self.merging.look(database),
            // The last pass is for when the thread has ended.
            stops: &|| rate.is_some() && self.stops.load(Ordering::Relaxed),
        };
        match database.store.erase(&pace) {
            Ok(PassStep::Waits(waits)) => {
                self.see_to(database, waits);
                Gone::Waits
            }
            Ok(PassStep::Cleaned { erasures, bytes, took }) => {
                (self.merging, self.waits) = (ViewsMerging::default(), None);
                let took_ms = took.as_secs_f64() * 1e3;
                tracing::info!(target: "dogwood::erasures", erasures, bytes, took_ms, "erased bytes have left all files");
                Gone::Pass
            }
            Ok(PassStep::Nothing | PassStep::Stopped) => Gone::Nothing,
            Err(error) => Gone::Failed(error),
        }
    }

    /// In a word, whom it waits for.
    fn waits_for(&self) -> &'static str {
        self.waits.map_or("nobody", |(waits, _)| waits.name())
    }

    /// Somebody is in the way.
    fn see_to(&mut self, database: &Arc<Database>, waits: Waits) {
        let waits_already = self.waits.filter(|(waited_for, _)| *waited_for == waits);
        let (_, since) = *self.waits.insert(waits_already.unwrap_or_else(|| (waits, Instant::now())));
        match waits {
            Waits::Readers | Waits::Files => {
                let closed = self.release.urge(database, since);
                if closed > 0 {
                    tracing::warn!(target: "dogwood::connections", closed, "sessions are closed that kept erased bytes in files");
                }
            }
            // It begins anew with what is left: not waited for long, as its target may be slow.
            Waits::Backup => {
                if since.elapsed() >= PATIENCE
                    && let Err(error) = database.store.take_from_backup()
                {
                    tracing::warn!(target: "dogwood::erasures", "files that a backup copies could not be removed: {error}");
                }
            }
            Waits::Views | Waits::Log => {}
            Waits::Room => {
                if waits_already.is_none() {
                    tracing::warn!(target: "dogwood::erasures", "there is no room on the disk to rewrite files with erased bytes");
                }
            }
        }
    }
}

/// Views that merge what they hold, once for each pass.
#[derive(Default)]
struct ViewsMerging {
    asked: RefCell<Option<(Receiver<()>, Instant)>>,
    are_late: Cell<bool>,
}

impl ViewsMerging {
    /// Asks them if they are not asked yet, and says how far they are.
    fn look(&self, database: &Arc<Database>) -> ViewsMerged {
        let mut asked = self.asked.borrow_mut();
        let (answers, since) = asked.get_or_insert_with(|| {
            let (reply, answers) = channel();
            database.ask_views(ViewRequest::Merge(reply));
            (answers, Instant::now())
        });
        let waits = if self.are_late.get() { Duration::ZERO } else { LOOKS_EVERY / 10 };
        // Each worker answers by itself; when all have, nobody is left who could.
        loop {
            match answers.recv_timeout(waits) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => return ViewsMerged::Yes,
                Err(RecvTimeoutError::Timeout) if since.elapsed() < PATIENCE => return ViewsMerged::NotYet,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        if !self.are_late.replace(true) {
            tracing::info!(target: "dogwood::erasures", "views take long to merge what they hold: files are rewritten meanwhile");
        }
        ViewsMerged::Late
    }
}
