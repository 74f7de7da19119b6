//! Who must know that what it put into the audit log's queue is durable waits here.
//!
//! ```text
//! put ─▶ queue ─▶ ROUND: all that waits goes into one commit ─▶ flush ─▶ durable: all of the round go on
//!   └─ waits ─┬─ no round is under way:  it asks for one
//!             └─ one is:                 the flush stage asks for the next as soon as it is through
//! ```
//! Every commit takes what waits, so it is a round, and who reads shares the flush of who writes. Between two rounds no thread has to
//! wake up; nor has one where what is to follow is left here, to be done by whoever makes the round durable. Knows no commit: it counts.

use crate::SqlError;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// See the module.
#[derive(Default)]
pub struct Rounds {
    state: Mutex<State>,
    /// Who waits for a round sleeps by its number's parity: most often only who goes on is woken.
    ended: [Condvar; 2],
    /// As many as were waited for have come.
    gathered: Condvar,
}

/// Fewer are not waited for: they would save no flush.
const GATHERED_MIN: usize = 3;

/// What follows a round.
type Hear = Box<dyn FnOnce(Result<(), SqlError>) + Send>;

/// What follows rounds that are durable.
#[must_use]
pub struct Heard(Vec<Hear>);

impl Heard {
    /// How much it is.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Does it.
    pub fn tell(self) {
        self.0.into_iter().for_each(|hear| hear(Ok(())));
    }
}

#[derive(Default)]
struct State {
    /// How many rounds commits have taken.
    taken: u64,
    /// The last that is on the disk.
    durable: u64,
    /// So many are taken, and neither durable nor refused.
    under_way: usize,
    /// The next was asked for, and is not taken.
    asked: bool,
    /// The last that somebody waits for.
    wanted: u64,
    refusal: Refusal,
    /// What follows which round.
    hearers: Vec<(u64, Hear)>,
    gathering: Gathering,
}

/// Whom the next round waits for.
#[derive(Default)]
struct Gathering {
    /// How many heard of the last ones that were durable.
    told: usize,
    /// So many are waited for before the next is asked for; nobody waits if none.
    awaited: usize,
}

/// What could not be written last.
#[derive(Default)]
struct Refusal {
    /// The last round whose commit was not written.
    round: u64,
    /// How often one was asked for and not even taken.
    untaken: u64,
    error: Option<SqlError>,
}

impl Rounds {
    /// A commit takes what waits: the number of its round.
    pub(super) fn take(&self) -> u64 {
        let mut state = self.state.lock();
        state.taken += 1;
        state.under_way += 1;
        state.asked = false;
        self.end_gathering(&mut state);
        state.taken
    }

    /// Whether one is taken, and not durable.
    pub fn are_under_way(&self) -> bool {
        self.state.lock().under_way > 0
    }

    /// All up to a round are on the disk, so many of them since the last time: what follows is for the caller to do.
    pub fn durable(&self, round: u64, rounds: usize) -> Heard {
        let mut state = self.state.lock();
        let before = std::mem::replace(&mut state.durable, round);
        state.under_way -= rounds;
        let heard: Vec<_> = state.hearers.extract_if(.., |(own, _)| *own <= round).map(|(_, hear)| hear).collect();
        state.gathering.told = heard.len();
        drop(state);
        self.ended[(round % 2) as usize].notify_all();
        if round - before > 1 {
            self.ended[((round + 1) % 2) as usize].notify_all();
        }
        Heard(heard)
    }

    /// A round's commit was not written.
    pub fn refused(&self, round: u64, error: SqlError) {
        let mut state = self.state.lock();
        state.under_way -= 1;
        state.refusal = Refusal { round, untaken: state.refusal.untaken, error: Some(error.clone()) };
        self.wake_all(state, &error);
    }

    /// The one that was asked for cannot be taken: who waits for it hears why.
    pub fn not_taken(&self, error: SqlError) {
        let mut state = self.state.lock();
        state.asked = false;
        state.wanted = state.taken;
        state.refusal.untaken += 1;
        state.refusal.error = Some(error.clone());
        self.wake_all(state, &error);
    }

    /// Who waits looks again; what was to follow hears of the error, whichever round it was to follow: nobody would ask for that.
    fn wake_all(&self, mut state: MutexGuard<'_, State>, error: &SqlError) {
        let hearers = std::mem::take(&mut state.hearers);
        drop(state);
        self.ended.iter().for_each(|ended| {
            ended.notify_all();
        });
        hearers.into_iter().for_each(|(_, hear)| hear(Err(error.clone())));
    }

    /// Waits until half of those have come who come again and again, so that one flush serves them while the others are told of theirs.
    /// A commit that comes ends it: what waits is taken by that.
    pub fn gather(&self, patience: Duration) {
        let mut state = self.state.lock();
        let half = (state.gathering.told + state.hearers.len()).div_ceil(2);
        if half < GATHERED_MIN || half <= state.hearers.len() || !state.is_free() {
            return;
        }
        state.gathering.awaited = half;
        let until = Instant::now() + patience;
        while state.gathering.awaited > 0 {
            if self.gathered.wait_until(&mut state, until).timed_out() {
                state.gathering.awaited = 0;
            }
        }
    }

    fn end_gathering(&self, state: &mut State) {
        if std::mem::take(&mut state.gathering.awaited) > 0 {
            self.gathered.notify_one();
        }
    }

    /// Whether somebody waits for a round that nobody has asked for yet, while none is under way. Whoever is told so asks.
    pub fn claims(&self) -> bool {
        let mut state = self.state.lock();
        let claims = state.wanted > state.taken && state.is_free();
        state.asked |= claims;
        claims
    }

    /// Has something follow a round, on whichever thread makes it durable, or on this one if it is: it must not wait there.
    pub fn follow(&self, own: u64, ask: impl FnOnce(), hear: impl FnOnce(Result<(), SqlError>) + Send + 'static) {
        // Before the lock, for which many come at once.
        let hear: Hear = Box::new(hear);
        let mut state = self.state.lock();
        if state.durable >= own {
            drop(state);
            return hear(Ok(()));
        }
        if let (true, Some(error)) = (own <= state.refusal.round, &state.refusal.error) {
            let error = error.clone();
            drop(state);
            return hear(Err(error));
        }
        state.wanted = state.wanted.max(own);
        state.hearers.push((own, hear));
        if state.hearers.len() == state.gathering.awaited {
            self.end_gathering(&mut state);
            return;
        }
        if own > state.taken && state.is_free() {
            state.asked = true;
            drop(state);
            ask();
        }
    }

    /// Waits until a round is durable. `ask` has the next one taken by a commit, now or soon.
    pub fn wait(&self, own: u64, ask: impl Fn()) -> Result<(), SqlError> {
        let mut state = self.state.lock();
        let untaken = state.refusal.untaken;
        state.wanted = state.wanted.max(own);
        while state.durable < own {
            let is_taken = own <= state.taken;
            let is_refused = if is_taken { own <= state.refusal.round } else { untaken != state.refusal.untaken };
            if let (true, Some(error)) = (is_refused, &state.refusal.error) {
                return Err(error.clone());
            }
            if !is_taken && state.is_free() {
                state.asked = true;
                MutexGuard::unlocked(&mut state, &ask);
            } else {
                self.ended[(own % 2) as usize].wait(&mut state);
            }
        }
        Ok(())
    }
}

impl State {
    /// Nobody is at it, nor about to be.
    fn is_free(&self) -> bool {
        !self.asked && self.under_way == 0 && self.gathering.awaited == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn full() -> SqlError {
        SqlError::new("53100", "the disk is full")
    }

    #[test]
    fn who_waits_is_through_when_its_round_is_and_shares_it() {
        let rounds = Arc::new(Rounds::default());
        let (put, written, asked) =
            (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        // As the queue does it: whoever puts something in knows the number of the round that takes it.
        let queue = Arc::new(Mutex::new(0_u64));
        let threads: Vec<_> = (0..16)
            .map(|_| {
                let (rounds, put, written, asked) = (rounds.clone(), put.clone(), written.clone(), asked.clone());
                let queue = queue.clone();
                std::thread::spawn(move || {
                    for _ in 0..50 {
                        let (own, number) = {
                            let taken = queue.lock();
                            (*taken + 1, put.fetch_add(1, Ordering::SeqCst) + 1)
                        };
                        let commit = || {
                            asked.fetch_add(1, Ordering::SeqCst);
                            let (round, all) = {
                                let mut taken = queue.lock();
                                *taken = rounds.take();
                                (*taken, put.load(Ordering::SeqCst))
                            };
                            std::thread::sleep(Duration::from_micros(300));
                            written.fetch_max(all, Ordering::SeqCst);
                            rounds.durable(round, 1).tell();
                        };
                        let ask = || {
                            commit();
                            while rounds.claims() {
                                commit();
                            }
                        };
                        rounds.wait(own, ask).expect("it is written");
                        assert!(written.load(Ordering::SeqCst) >= number, "it was put before, and is durable");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(asked.load(Ordering::SeqCst) < 800, "not each by itself");
        assert!(!rounds.claims(), "nobody waits");
    }

    #[test]
    fn a_round_that_is_not_written_is_refused_and_the_next_is_tried() {
        let rounds = Rounds::default();
        let refused = || {
            let round = rounds.take();
            rounds.refused(round, full());
        };
        assert_eq!(rounds.wait(1, refused), Err(full()));
        assert_eq!(rounds.wait(2, || rounds.not_taken(full())), Err(full()));
        assert!(!rounds.claims(), "nobody waits any more");
        let written = || {
            let round = rounds.take();
            rounds.durable(round, 1).tell();
        };
        assert_eq!(rounds.wait(2, written), Ok(()), "it asks again, and hears of no refusal of before");
        assert_eq!(rounds.wait(2, || panic!("it stands")), Ok(()));
    }

    #[test]
    fn what_follows_a_round_is_done_once_it_is_durable_or_refused() {
        let rounds = Rounds::default();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = |name: &'static str| {
            let heard = heard.clone();
            move |outcome: Result<(), SqlError>| heard.lock().push((name, outcome.is_ok()))
        };
        let asked = std::cell::Cell::new(false);
        rounds.follow(1, || asked.set(true), hear("first"));
        assert!(asked.get(), "nobody else would");
        rounds.follow(1, || panic!("it was asked for"), hear("with it"));
        assert_eq!(rounds.take(), 1);
        rounds.follow(2, || panic!("one is under way"), hear("next"));
        assert!(heard.lock().is_empty());
        rounds.durable(1, 1).tell();
        assert_eq!(*heard.lock(), [("first", true), ("with it", true)]);
        rounds.follow(1, || panic!("it stands"), hear("late"));
        assert!(rounds.claims(), "who follows the next has nobody who asks");
        let round = rounds.take();
        rounds.refused(round, full());
        rounds.follow(round, || panic!("it was refused"), hear("later"));
        rounds.follow(3, || rounds.not_taken(full()), hear("untaken"));
        assert_eq!(heard.lock()[2..], [("late", true), ("next", false), ("later", false), ("untaken", false)]);
    }

    #[test]
    fn the_next_round_waits_for_half_of_those_who_come_again_or_for_a_commit() {
        let rounds = Arc::new(Rounds::default());
        let gathering = || {
            let round = rounds.take();
            (0..6).for_each(|_| rounds.follow(round, || panic!("it is taken"), |_| ()));
            rounds.durable(round, 1).tell();
            let gathers = rounds.clone();
            let thread = std::thread::spawn(move || gathers.gather(Duration::from_mins(10)));
            while rounds.state.lock().gathering.awaited == 0 {
                std::thread::yield_now();
            }
            thread
        };
        let thread = gathering();
        assert!(!rounds.claims(), "whoever gathers asks");
        (0..3).for_each(|_| rounds.follow(2, || panic!("whoever gathers asks"), |_| ()));
        thread.join().expect("half have come");
        assert!(rounds.claims());
        let thread = gathering();
        assert_eq!(rounds.take(), 3, "a commit takes what waits");
        thread.join().expect("there is nothing to gather for");
        rounds.gather(Duration::from_mins(10));
        rounds.durable(3, 1).tell();
        rounds.gather(Duration::from_mins(10));
    }

    #[test]
    fn who_comes_while_one_is_under_way_leaves_the_next_to_the_flush() {
        let rounds = Arc::new(Rounds::default());
        assert_eq!(rounds.take(), 1);
        let waits = {
            let rounds = rounds.clone();
            std::thread::spawn(move || rounds.wait(2, || panic!("a round is under way")))
        };
        while rounds.state.lock().wanted < 2 {
            std::thread::yield_now();
        }
        assert!(!rounds.claims(), "not before the one under way is through");
        rounds.durable(1, 1).tell();
        assert!(rounds.claims());
        assert!(!rounds.claims(), "once");
        let round = rounds.take();
        rounds.durable(round, 1).tell();
        assert_eq!(waits.join().expect("no panic"), Ok(()));
    }
}
