//! Offered load: operations that arrive at random times (Poisson), whether or not the system keeps up. Time counts from the arrival.
//!
//! All systems get the same arrivals at the same times of a slice. A connection takes the next one as soon as it is free, and sleeps until its
//! time: it never spins, as that would take the server's processor. How late it woke is kept, so that the client's own part is known.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::measure::{Random, quantile};
use crate::server::{Failure, Meter};

/// By how much the system may put off a wake-up to join it with others: not at all (50 µs without this).
const TIMER_SLACK_NS: Option<NonZeroU64> = NonZeroU64::new(1);
/// How long connections have to be in their places before the first arrival may come.
const PLACES: Duration = Duration::from_millis(10);

/// When, after the slice's start, and what.
pub struct Arrival<T> {
    /// When.
    pub at: Duration,
    /// What.
    pub what: T,
}

/// The arrivals of a slice. What each is, is drawn with its place among them.
pub fn arrivals<T>(
    rate: f64,
    length: Duration,
    random: &mut Random,
    mut draw: impl FnMut(&mut Random, u64) -> T,
) -> Vec<Arrival<T>> {
    let mut at = 0.0;
    let mut all = Vec::new();
    loop {
        let part = (random.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
        at += -part.ln() / rate;
        if at >= length.as_secs_f64() {
            return all;
        }
        let what = draw(random, all.len() as u64);
        all.push(Arrival { at: Duration::from_secs_f64(at), what });
    }
}

/// What became of a slice.
pub struct Outcome {
    /// Microseconds from arrival to the last answer, by class. Of those that were cut off, the time until then.
    pub latencies: Vec<Vec<f64>>,
    /// Microseconds from the moment that a connection began it, by class, without those that were cut off.
    pub services: Vec<Vec<f64>>,
    /// How many were served.
    pub served: usize,
    /// How many were cut off: the system was too far behind.
    pub cut: usize,
    /// How late they were begun on average, in the middle third and in the last third of the slice, in microseconds.
    pub waited: [f64; 2],
    /// Microseconds by which the client itself was late: of arrivals that a free connection slept for, from their time to when it was awake.
    pub woke_late: Vec<f64>,
    /// Seconds of the servers' processor time.
    pub processor_s: f64,
    /// How long it took.
    pub took: Duration,
}

/// One arrival that a connection took.
struct Taken {
    class: usize,
    at: Duration,
    late_us: f64,
    service_us: f64,
    slept: bool,
    cut: bool,
}

/// Offers arrivals to connections and waits until all are served. When one is begun more than `behind_max` after its time, the rest is cut off.
pub fn offer<T: Sync, W: FnMut(&T) -> Result<(), Failure> + Send>(
    connections: Vec<W>,
    meters: &[Meter],
    arrivals: &[Arrival<T>],
    classes: usize,
    class: impl Fn(&T) -> usize + Sync,
    behind_max: Duration,
) -> Result<Outcome, Failure> {
    let processor = || meters.iter().map(|meter| meter.seconds()).sum::<Result<f64, Failure>>();
    let before = processor()?;
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let slice = Slice { arrivals, next: &next, stopped: &stopped, behind_max, started: Instant::now() + PLACES };
    let (slice, class) = (&slice, &class);
    let parts = std::thread::scope(|scope| {
        let threads: Vec<_> =
            connections.into_iter().map(|serve| scope.spawn(move || slice.serve(serve, class))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a connection's thread panicked".into())))
            .collect::<Result<Vec<Vec<Taken>>, Failure>>()
    })?;
    let took = slice.started.elapsed();
    let mut outcome = Outcome {
        latencies: vec![Vec::new(); classes],
        services: vec![Vec::new(); classes],
        served: 0,
        cut: 0,
        waited: [0.0; 2],
        woke_late: Vec::new(),
        processor_s: processor()? - before,
        took,
    };
    let end = arrivals.last().map_or(0.0, |arrival| arrival.at.as_secs_f64()).max(1e-9);
    let mut waits = [(0.0, 0.0); 3];
    for taken in parts.iter().flatten() {
        outcome.latencies[taken.class].push(taken.late_us + taken.service_us);
        if taken.cut {
            outcome.cut += 1;
        } else {
            outcome.served += 1;
            outcome.services[taken.class].push(taken.service_us);
        }
        if taken.slept {
            outcome.woke_late.push(taken.late_us);
        }
        let third = ((taken.at.as_secs_f64() / end * 3.0) as usize).min(2);
        waits[third].0 += taken.late_us;
        waits[third].1 += 1.0;
    }
    let mean = |third: usize| if waits[third].1 > 0.0 { waits[third].0 / waits[third].1 } else { 0.0 };
    outcome.waited = [mean(1), mean(2)];
    Ok(outcome)
}

/// What the connections share during a slice.
struct Slice<'a, T> {
    arrivals: &'a [Arrival<T>],
    next: &'a AtomicUsize,
    stopped: &'a AtomicBool,
    behind_max: Duration,
    started: Instant,
}

impl<T> Slice<'_, T> {
    fn serve(
        &self,
        mut serve: impl FnMut(&T) -> Result<(), Failure>,
        class: impl Fn(&T) -> usize,
    ) -> Result<Vec<Taken>, Failure> {
        rustix::thread::set_current_timer_slack(TIMER_SLACK_NS)?;
        let mut all = Vec::new();
        while let Some(Arrival { at, what }) = self.arrivals.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let due = self.started + *at;
            let early = due.checked_duration_since(Instant::now());
            if let Some(early) = early {
                std::thread::sleep(early);
            }
            let begun = Instant::now();
            let late = begun.saturating_duration_since(due);
            if late > self.behind_max {
                self.stopped.store(true, Ordering::Relaxed);
            }
            let cut = self.stopped.load(Ordering::Relaxed);
            if !cut {
                // The others need not go on after a failure.
                serve(what).inspect_err(|_| self.stopped.store(true, Ordering::Relaxed))?;
            }
            all.push(Taken {
                class: class(what),
                at: *at,
                late_us: late.as_secs_f64() * 1e6,
                service_us: begun.elapsed().as_secs_f64() * 1e6,
                slept: early.is_some(),
                cut,
            });
        }
        Ok(all)
    }
}

impl Outcome {
    /// A quantile over all classes, in microseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut all: Vec<f64> = self.latencies.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        quantile(&all, part)
    }

    /// Does the backlog grow? In the last third operations wait by more than so many times what they wait in the middle one, and so many microseconds.
    pub fn grows(&self, times: f64, more_us: f64) -> bool {
        let [middle, last] = self.waited;
        last > times * middle + more_us
    }
}
