//! The highest load that a system bears: short probes, by doubling, then between the last that was borne and the first that was not.

use std::time::Duration;

use crate::discussion::data::Data;
use crate::discussion::load::{Lane, Visits};
use crate::open::Outcome;
use crate::server::Failure;

/// Nineteen of twenty pages have to be there within this, in microseconds.
pub const BORNE_US: f64 = 100_000.0;
const RATE_MAX: f64 = 20_000.0;
const STEPS: usize = 4;
/// By how much a rate is lowered that was too much in the long run.
const BACK: f64 = 0.9;

/// How probes are made.
pub struct Probes<'a> {
    /// Of the tables.
    pub data: &'a Data,
    /// Who visits.
    pub visits: &'a Visits,
    /// Of one probe.
    pub length: Duration,
    /// Of the visits.
    pub seed: u64,
    /// Numbers of visits that nobody has had yet.
    pub unique: u64,
}

impl Probes<'_> {
    /// Offers a rate once.
    pub fn offer(&mut self, lane: &mut Lane, rate: f64) -> Result<Outcome, Failure> {
        let arrivals = self.visits.arrivals(rate, self.length, self.seed, self.unique);
        self.unique += arrivals.len() as u64;
        lane.offer(self.data, &arrivals)
    }

    /// Does it bear this rate? A probe that fails is made once more: the machine has other work too.
    fn bears(&mut self, lane: &mut Lane, rate: f64) -> Result<bool, Failure> {
        for _ in 0..2 {
            let outcome = self.offer(lane, rate)?;
            let bears = outcome.cut == 0 && outcome.quantile(0.95) < BORNE_US && !outcome.grows(2.0, BORNE_US / 4.0);
            eprintln!(
                "{}: {rate:.0} pages/s: p50 {:.1} ms, p95 {:.1} ms, {} cut off: {}",
                lane.name,
                outcome.quantile(0.5) / 1e3,
                outcome.quantile(0.95) / 1e3,
                outcome.cut,
                if bears { "borne" } else { "too much" }
            );
            if bears {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The highest rate that was borne, three times as long at the end; nothing if even the first is too much.
    pub fn saturation(&mut self, lane: &mut Lane, first: f64) -> Result<Option<f64>, Failure> {
        let (mut low, mut high) = (None, first);
        while high < RATE_MAX && self.bears(lane, high)? {
            low = Some(high);
            high *= 2.0;
        }
        let mut floor = low.unwrap_or(first / 8.0);
        for _ in 0..STEPS {
            let middle = (floor * high).sqrt();
            if self.bears(lane, middle)? {
                (floor, low) = (middle, Some(middle));
            } else {
                high = middle;
            }
        }
        // What short probes bear may be too much in the long run.
        let length = self.length;
        while let Some(rate) = low.filter(|rate| *rate >= 1.0) {
            self.length = 3 * length;
            let bears = self.bears(lane, rate);
            self.length = length;
            if bears? {
                return Ok(Some(rate));
            }
            low = Some(rate * BACK);
        }
        Ok(None)
    }
}
