//! What the commit pipeline and view workers count about themselves, for `dogwood.views` and `dogwood.latency`.

use crate::table_statistics::StatisticsBook;
use parking_lot::Mutex;
use repr::RelationId;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Times, counted by powers of two of microseconds.
pub struct Histogram {
    counts: [AtomicU64; 40],
    max_us: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: std::array::from_fn(|_| AtomicU64::new(0)), max_us: AtomicU64::new(0) }
    }
}

impl Histogram {
    /// Counts one.
    pub fn record(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = (u64::BITS - us.leading_zeros()) as usize;
        self.counts[bucket.min(self.counts.len() - 1)].fetch_add(1, Ordering::Relaxed);
        self.max_us.fetch_max(us, Ordering::Relaxed);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// The upper end of the bucket below which this share of all lies, in microseconds.
    pub fn quantile_us(&self, share: f64) -> u64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count.load(Ordering::Relaxed);
            if seen >= wanted.max(1) {
                return ((1u64 << bucket) - 1).min(self.max_us());
            }
        }
        0
    }

    /// The longest, in microseconds.
    pub fn max_us(&self) -> u64 {
        self.max_us.load(Ordering::Relaxed)
    }
}

/// What one view took, and whom it was not there for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ViewTimes {
    /// Commit groups that changed a table that it reads.
    pub groups: u64,
    /// Microseconds in all of them.
    pub busy_us: u64,
    /// Microseconds in the longest.
    pub busiest_us: u64,
    /// How often it was asked for while it was still to be filled.
    pub missed: u64,
}

/// See the module.
#[derive(Default)]
pub struct Statistics {
    /// Deciding on a group and writing it to the leaves.
    pub write: Histogram,
    /// Taking a group through all affected views.
    pub views: Histogram,
    /// Making groups durable.
    pub flush: Histogram,
    /// Waiting for views after that.
    pub wait_for_views: Histogram,
    /// What tables hold.
    pub tables: StatisticsBook,
    by_view: Mutex<BTreeMap<RelationId, ViewTimes>>,
}

impl Statistics {
    /// A view was made, or made anew: who asked for it before still asks.
    pub fn created(&self, view: RelationId) {
        let mut by_view = self.by_view.lock();
        let times = by_view.entry(view).or_default();
        *times = ViewTimes { missed: times.missed, ..ViewTimes::default() };
    }

    /// A view is no more.
    pub fn dropped(&self, view: RelationId) {
        self.by_view.lock().remove(&view);
    }

    /// A view took this long over a group, or over a part of it that was not the last.
    pub fn view(&self, view: RelationId, took: Duration, is_through: bool) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut by_view = self.by_view.lock();
        let times = by_view.entry(view).or_default();
        times.groups += u64::from(is_through);
        times.busy_us += us;
        times.busiest_us = times.busiest_us.max(us);
    }

    /// A view was asked for that is still to be filled.
    pub fn missed(&self, view: RelationId) {
        self.by_view.lock().entry(view).or_default().missed += 1;
    }

    /// What a view took so far.
    pub fn of(&self, view: RelationId) -> ViewTimes {
        self.by_view.lock().get(&view).copied().unwrap_or_default()
    }

    /// All stages with their names.
    pub fn stages(&self) -> [(&'static str, &Histogram); 4] {
        [
            ("decide and write a group", &self.write),
            ("take a group through its views", &self.views),
            ("make groups durable", &self.flush),
            ("wait for views after that", &self.wait_for_views),
        ]
    }
}
