//! Timed slices: threads as connections, latencies kept one by one, systems in turn, answers checked while they are timed.

use std::time::{Duration, Instant};

use postgres::Client;

use crate::server::{Failure, Meter, Server};

/// A small generator: the same seeds give the same keys on all systems.
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Zipf's distribution over 0..n: the k-th has weight 1 / (k + 1)^s.
#[derive(Clone)]
pub struct Zipf {
    sums: Vec<f64>,
    alike: u64,
}

impl Zipf {
    /// Over so many, with that exponent.
    pub fn new(count: u64, exponent: f64) -> Zipf {
        Zipf::of_alike(count, exponent, 1)
    }

    /// The same where so many that follow each other weigh the same: that many times the things, each part of them skewed
    /// as a whole was that many times smaller.
    pub fn of_alike(count: u64, exponent: f64, alike: u64) -> Zipf {
        let mut sum = 0.0;
        let sums = (0..(count / alike).max(1))
            .map(|place| {
                sum += 1.0 / ((place + 1) as f64).powf(exponent);
                sum
            })
            .collect();
        Zipf { sums, alike }
    }

    /// One of them.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let whole = self.sums.last().copied().unwrap_or(1.0);
        let at = random.below(1 << 53) as f64 / (1_u64 << 53) as f64 * whole;
        let group = (self.sums.partition_point(|sum| *sum < at) as u64).min(self.sums.len() as u64 - 1);
        if self.alike == 1 { group } else { group * self.alike + random.below(self.alike) }
    }
}

/// Bounds on which the numbers of operations are built.
pub const CONNECTIONS_MAX: u64 = 64;
/// Operations of a connection in a slice.
pub const OPERATIONS_MAX: u64 = 100_000;

/// What one system did in all its slices, of one class of operations.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Which system, as in the report's columns.
    pub system: String,
    /// Sorted, in microseconds.
    pub latencies: Vec<f64>,
    /// Operations a second of each slice.
    pub rates: Vec<f64>,
    /// Microseconds of the servers' processor time for an operation, over all classes: it does not count other work of the machine.
    pub processor_us: Option<f64>,
}

impl Samples {
    /// Latencies that were taken over so many seconds.
    pub fn of(system: &str, mut latencies: Vec<f64>, seconds: f64) -> Samples {
        latencies.sort_by(f64::total_cmp);
        let rates = vec![latencies.len() as f64 / seconds];
        Samples { system: system.into(), latencies, rates, processor_us: None }
    }

    /// A quantile of the latencies in microseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        quantile(&self.latencies, part)
    }

    /// The median slice's operations a second.
    pub fn rate(&self) -> f64 {
        let mut rates = self.rates.clone();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(0.0)
    }

    /// How far the slices lie apart: (highest - lowest) / median.
    pub fn spread(&self) -> f64 {
        let low = self.rates.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.rates.iter().copied().fold(0.0, f64::max);
        if self.rate() > 0.0 { (high - low) / self.rate() } else { 0.0 }
    }
}

/// A quantile of what is sorted; of nothing, 0.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = (sorted.len().saturating_sub(1) as f64 * part).round() as usize;
    sorted.get(place).copied().unwrap_or(0.0)
}

/// How a workload is timed.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Threads, each with its connection.
    pub connections: u64,
    /// Slices of each system, interleaved.
    pub rounds: u64,
    /// Length of a slice.
    pub slice: Duration,
    /// Of keys and choices.
    pub seed: u64,
}

/// One operation on an open connection, which checks its answer, and tells its class. The number that it is given differs between
/// all operations on all connections.
pub type Operation<'a> = Box<dyn FnMut(&mut Random, u64) -> Result<usize, Failure> + 'a>;

/// One system at one workload: how a connection is opened and made ready.
pub struct Lane<'a> {
    /// The system, as in the report's columns.
    pub system: String,
    /// Opens a connection.
    pub open: Box<dyn Fn() -> Result<Operation<'a>, Failure> + Sync + 'a>,
    /// Of its servers.
    meters: Vec<Meter>,
}

impl<'a> Lane<'a> {
    /// A system by name, and how it is connected to.
    pub fn new(
        system: &str,
        meters: &[Meter],
        open: impl Fn() -> Result<Operation<'a>, Failure> + Sync + 'a,
    ) -> Lane<'a> {
        Lane { system: system.into(), open: Box::new(open), meters: meters.to_vec() }
    }

    /// Processor seconds of its servers, once its connections' processes have ended.
    fn processor_seconds(&self) -> Result<f64, Failure> {
        std::thread::sleep(Duration::from_millis(50));
        self.meters.iter().map(|meter| meter.seconds()).sum()
    }
}

/// Runs all lanes, slice by slice in turn; for each of so many classes of operations the samples of each lane.
pub fn race(lanes: &[Lane<'_>], classes: usize, plan: Plan) -> Result<Vec<Vec<Samples>>, Failure> {
    let fresh = |lane: &Lane<'_>| Samples {
        system: lane.system.clone(),
        latencies: Vec::new(),
        rates: Vec::new(),
        processor_us: None,
    };
    let mut all: Vec<Vec<Samples>> = (0..classes).map(|_| lanes.iter().map(fresh).collect()).collect();
    let mut processor = vec![0.0; lanes.len()];
    for round in 0..plan.rounds {
        for (place, lane) in lanes.iter().enumerate() {
            let before = lane.processor_seconds()?;
            let slices = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..plan.connections)
                    .map(|connection| scope.spawn(move || slice(lane, classes, plan, round, connection)))
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|_| Err("a connection's thread panicked".into())))
                    .collect::<Result<Vec<_>, Failure>>()
            })
            .map_err(|failure| format!("{}: {}", lane.system, told(&*failure)))?;
            processor[place] += lane.processor_seconds()? - before;
            for (class, samples) in all.iter_mut().enumerate() {
                let rate =
                    slices.iter().map(|(latencies, took)| latencies[class].len() as f64 / took.as_secs_f64()).sum();
                samples[place].rates.push(rate);
                samples[place].latencies.extend(slices.iter().flat_map(|(latencies, _)| &latencies[class]));
            }
        }
    }
    for (place, seconds) in processor.into_iter().enumerate() {
        let operations: usize = all.iter().map(|samples| samples[place].latencies.len()).sum();
        for samples in &mut all {
            samples[place].processor_us = Some(seconds * 1e6 / operations.max(1) as f64);
            samples[place].latencies.sort_by(f64::total_cmp);
        }
    }
    Ok(all)
}

/// An error with all its causes: a database's own words are the cause of the driver's.
pub fn told(failure: &(dyn std::error::Error + 'static)) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

fn slice(
    lane: &Lane<'_>,
    classes: usize,
    plan: Plan,
    round: u64,
    connection: u64,
) -> Result<(Vec<Vec<f64>>, Duration), Failure> {
    let mut operation = (lane.open)()?;
    let mut random = Random::new(1 + plan.seed * 1_000_000 + round * 1_000 + connection);
    let mut unique = (round * CONNECTIONS_MAX + connection) * OPERATIONS_MAX;
    let mut latencies: Vec<Vec<f64>> = vec![Vec::with_capacity(1 << 12); classes];
    let started = Instant::now();
    while started.elapsed() < plan.slice {
        let before = Instant::now();
        let class = operation(&mut random, unique)?;
        latencies[class].push(before.elapsed().as_secs_f64() * 1e6);
        unique += 1;
    }
    Ok((latencies, started.elapsed()))
}

/// One operation on servers that speak SQL, the same statements on all.
pub trait Workload: Sync {
    /// What a connection needs.
    type State;
    /// Prepares a connection.
    fn prepare(&self, client: &mut Client) -> Result<Self::State, Failure>;
    /// One operation, which checks its answer. `unique` differs between all operations on all connections.
    fn run(&self, client: &mut Client, state: &Self::State, random: &mut Random, unique: u64) -> Result<(), Failure>;
}

/// A lane of a workload on a server.
pub fn lane<'a, W: Workload>(server: &'a Server, workload: &'a W) -> Lane<'a> {
    Lane::new(server.kind.name(), &[server.meter()], move || {
        let mut client = server.connect()?;
        let state = workload.prepare(&mut client)?;
        Ok(Box::new(move |random: &mut Random, unique| {
            workload.run(&mut client, &state, random, unique)?;
            Ok(0)
        }))
    })
}

/// Runs a workload on all servers, slice by slice in turn.
pub fn measure<W: Workload>(servers: &[&Server], plan: Plan, workload: &W) -> Result<Vec<Samples>, Failure> {
    let lanes: Vec<Lane<'_>> = servers.iter().map(|server| lane(server, workload)).collect();
    race(&lanes, 1, plan)?.pop().ok_or_else(|| "no class of operations".into())
}
