//! A mix of operations, drawn apart from being done: run by connections as fast as each can (closed), or offered at a rate (open).
//!
//! A closed loop tells what a system bears. Systems that bear more then show longer latencies, and a connection that waits asks nothing;
//! so they are compared at the same offered rates, chosen from what they bore.

use std::time::Duration;

use crate::measure::{Lane, Operation, Random, race, told};
use crate::open::{Arrival, Outcome, arrivals, offer};
use crate::options::Options;
use crate::report::{Offered, Report};
use crate::server::{Failure, Meter};

/// How far behind its arrivals a system may fall before it is cut off.
const BEHIND_MAX: Duration = Duration::from_millis(500);
/// A backlog that grows from the beginning on is 1.7 times as long in the last third of a slice as in the middle one: so many times, and so many
/// microseconds, are taken for it.
const GROWS: (f64, f64) = (1.3, 10_000.0);
/// How long a rate is offered before it is measured.
const WARMING: Duration = Duration::from_millis(300);

/// A connection: does one operation and checks its answer.
pub type Worker<'a, T> = Box<dyn FnMut(&T) -> Result<(), Failure> + Send + 'a>;

/// Draws an operation from a number that differs between all operations of a run of slices.
type Draw<'a, T> = Box<dyn Fn(&mut Random, u64) -> T + Sync + 'a>;

/// What is asked, the same of all systems.
pub struct Mix<'a, T> {
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Draws an operation.
    pub draw: Draw<'a, T>,
    /// The place of an operation's class.
    pub class: fn(&T) -> usize,
}

/// One system: how a connection is opened and made ready.
pub struct Candidate<'a, T> {
    /// As in the report's columns.
    pub system: &'a str,
    /// Of its servers.
    pub meters: Vec<Meter>,
    /// Opens a connection.
    pub open: Box<dyn Fn() -> Result<Worker<'a, T>, Failure> + Sync + 'a>,
}

/// What a system bore in a closed loop, in operations a second.
pub type Borne<'a> = (&'a str, f64);

/// All systems in turn, each connection as fast as it can.
pub fn closed<'a, T>(
    report: &mut Report,
    options: &Options,
    mix: &Mix<'_, T>,
    candidates: &[Candidate<'a, T>],
    connections: u64,
) -> Result<Vec<Borne<'a>>, Failure> {
    let lanes: Vec<Lane<'_>> = candidates
        .iter()
        .map(|candidate| {
            Lane::new(candidate.system, &candidate.meters, || {
                let mut work = (candidate.open)()?;
                let operation: Operation<'_> = Box::new(move |random, unique| {
                    let what = (mix.draw)(random, unique);
                    work(&what)?;
                    Ok((mix.class)(&what))
                });
                Ok(operation)
            })
        })
        .collect();
    let samples = race(&lanes, mix.classes.len(), options.plan(connections))?;
    for (class, samples) in mix.classes.iter().zip(&samples) {
        report.samples(&format!("{class}, {connections} conn."), samples)?;
    }
    let of = |place: usize| samples.iter().map(|class| class[place].rate()).sum();
    Ok(candidates.iter().enumerate().map(|(place, candidate)| (candidate.system, of(place))).collect())
}

/// The rates to offer, and what each is: the one that was asked for, or half of what the slowest system bears and half of what `reference` bears.
pub fn rates(options: &Options, borne: &[Borne<'_>], reference: &str) -> Vec<(f64, String)> {
    if let Some(rate) = options.rate {
        return vec![(rate, "as asked for".into())];
    }
    let slowest = borne.iter().min_by(|one, other| one.1.total_cmp(&other.1));
    let reference = borne.iter().find(|(system, _)| *system == reference);
    let mut chosen: Vec<&Borne<'_>> = slowest.into_iter().chain(reference).collect();
    chosen.dedup_by_key(|(system, _)| *system);
    // Whole operations: the same arrivals can then be asked for by `--rate`.
    chosen
        .into_iter()
        .map(|(system, borne)| ((borne / 2.0).floor().max(1.0), format!("half of what {system} bears")))
        .collect()
}

/// All systems in turn, slice by slice, under the same arrivals.
pub fn offered<T: Sync>(
    report: &mut Report,
    options: &Options,
    mix: &Mix<'_, T>,
    candidates: &[Candidate<'_, T>],
    rate: f64,
    why: &str,
) -> Result<(), Failure> {
    let what = format!("{rate:.0} a second offered, {why}");
    let plan = options.plan(options.connections);
    let mut tries = Vec::new();
    for candidate in candidates {
        let workers = (0..options.connections).map(|_| (candidate.open)()).collect::<Result<Vec<_>, _>>()?;
        tries.push(Try { candidate, workers, outcomes: Vec::new() });
    }
    for round in 0..=plan.rounds {
        let length = if round == 0 { WARMING } else { plan.slice };
        let mut random = Random::new((1 + plan.seed) * 1_000_003 + round);
        let first = round * 10_000_000;
        let arrivals = arrivals(rate, length, &mut random, |random, place| (mix.draw)(random, first + place));
        if round > 0 {
            eprintln!("{what}: slice {round} of {} of each system", plan.rounds);
        }
        for one in tries.iter_mut().filter(|one| !one.is_cut()) {
            let outcome = one.offer(mix, &arrivals)?;
            if round > 0 {
                one.outcomes.push(outcome);
            }
        }
    }
    let all = |of: fn(&Outcome) -> &[Vec<f64>], one: &Try<'_, '_, T>, class: usize| {
        let mut all: Vec<f64> = one.outcomes.iter().flat_map(|outcome| of(outcome)[class].iter().copied()).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    for (class, name) in mix.classes.iter().enumerate() {
        let offered: Vec<Offered> = tries
            .iter()
            .map(|one| Offered {
                system: one.candidate.system.into(),
                latencies: all(|outcome| &outcome.latencies, one, class),
                services: all(|outcome| &outcome.services, one, class),
                processor_us: one.processor_us(),
                cut: one.is_cut(),
                grows: one.outcomes.iter().filter(|slice| slice.grows(GROWS.0, GROWS.1)).count() * 2
                    > one.outcomes.len(),
            })
            .collect();
        report.offered(&format!("{name}; {what}"), rate, &offered)?;
    }
    for one in tries.iter().filter(|one| one.is_cut()) {
        let (cut, served) = one.outcomes.iter().fold((0, 0), |sum, slice| (sum.0 + slice.cut, sum.1 + slice.served));
        report.note(&format!(
            "{what}: {} does not bear it: it fell more than {} ms behind, {cut} of {} operations of its slice{} were cut off, and the slices that were left were not offered to it",
            one.candidate.system,
            BEHIND_MAX.as_millis(),
            cut + served,
            if one.outcomes.len() > 1 { "s" } else { "" },
        ))?;
    }
    let late = tries.iter().map(|one| {
        let arrivals = one.outcomes.iter().map(|outcome| outcome.served + outcome.cut).sum();
        let woke = one.outcomes.iter().flat_map(|outcome| outcome.woke_late.iter().copied()).collect();
        (one.candidate.system, woke, arrivals)
    });
    report.late(&what, late.collect())
}

/// One system under an offered rate.
struct Try<'a, 'b, T> {
    candidate: &'a Candidate<'b, T>,
    workers: Vec<Worker<'b, T>>,
    outcomes: Vec<Outcome>,
}

impl<T: Sync> Try<'_, '_, T> {
    fn offer(&mut self, mix: &Mix<'_, T>, arrivals: &[Arrival<T>]) -> Result<Outcome, Failure> {
        let Candidate { system, meters, .. } = self.candidate;
        let workers = self.workers.iter_mut().collect();
        offer(workers, meters, arrivals, mix.classes.len(), mix.class, BEHIND_MAX)
            .map_err(|failure| format!("{system}: {}", told(&*failure)).into())
    }
}

impl<T> Try<'_, '_, T> {
    fn is_cut(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.cut > 0)
    }

    /// Of the servers, for an operation of the mix.
    fn processor_us(&self) -> f64 {
        let seconds: f64 = self.outcomes.iter().map(|outcome| outcome.processor_s).sum();
        let served: usize = self.outcomes.iter().map(|outcome| outcome.served).sum();
        seconds * 1e6 / served.max(1) as f64
    }
}
