//! Timed slices: threads as connections, latencies kept one by one, answers checked by the workload while it is timed.

use std::time::{Duration, Instant};

use postgres::Client;

use crate::server::{Failure, Kind, Server};

/// A small generator: the same seeds give the same keys on both systems.
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

/// Bounds on which the numbers of operations are built.
pub const CONNECTIONS_MAX: u64 = 64;
/// Operations of a connection in a slice.
pub const OPERATIONS_MAX: u64 = 100_000;

/// What one system did in all its slices.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Which system.
    pub kind: Kind,
    /// Sorted, in microseconds.
    pub latencies: Vec<f64>,
    /// Operations a second of each slice.
    pub rates: Vec<f64>,
}

impl Samples {
    /// A quantile of the latencies in microseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        if self.latencies.is_empty() {
            return 0.0;
        }
        let position = ((self.latencies.len() - 1) as f64 * part).round() as usize;
        self.latencies[position]
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

/// How a workload is timed.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Threads, each with its connection.
    pub connections: u64,
    /// Slices of each system, interleaved.
    pub rounds: u64,
    /// Length of a slice.
    pub slice: Duration,
}

/// One operation, which checks its answer: prepared statements are made by `prepare`.
pub trait Workload: Sync {
    /// What a connection needs.
    type State;
    /// Prepares a connection.
    fn prepare(&self, client: &mut Client) -> Result<Self::State, Failure>;
    /// One operation. `unique` differs between all operations on all connections.
    fn run(&self, client: &mut Client, state: &Self::State, random: &mut Random, unique: u64) -> Result<(), Failure>;
}

/// Runs a workload on all servers, slice by slice in turn.
pub fn measure<W: Workload>(servers: &[&Server], plan: Plan, workload: &W) -> Result<Vec<Samples>, Failure> {
    let mut all: Vec<Samples> = servers
        .iter()
        .map(|server| Samples { kind: server.kind, latencies: Vec::new(), rates: Vec::new() })
        .collect();
    for round in 0..plan.rounds {
        for (server, samples) in servers.iter().zip(&mut all) {
            let slices = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..plan.connections)
                    .map(|connection| scope.spawn(move || slice(server, plan, workload, round, connection)))
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|_| Err("a connection's thread panicked".into())))
                    .collect::<Result<Vec<_>, Failure>>()
            })?;
            let rate = slices.iter().map(|(latencies, took)| latencies.len() as f64 / took.as_secs_f64()).sum();
            samples.rates.push(rate);
            samples.latencies.extend(slices.into_iter().flat_map(|(latencies, _)| latencies));
        }
    }
    for samples in &mut all {
        samples.latencies.sort_by(f64::total_cmp);
    }
    Ok(all)
}

fn slice<W: Workload>(
    server: &Server,
    plan: Plan,
    workload: &W,
    round: u64,
    connection: u64,
) -> Result<(Vec<f64>, Duration), Failure> {
    let mut client = server.connect()?;
    let state = workload.prepare(&mut client)?;
    let mut random = Random::new(1 + round * 1_000 + connection);
    let mut unique = (round * CONNECTIONS_MAX + connection) * OPERATIONS_MAX;
    let mut latencies = Vec::with_capacity(1 << 16);
    let started = Instant::now();
    while started.elapsed() < plan.slice {
        let before = Instant::now();
        workload.run(&mut client, &state, &mut random, unique)?;
        latencies.push(before.elapsed().as_secs_f64() * 1e6);
        unique += 1;
    }
    Ok((latencies, started.elapsed()))
}
