//! Filling a view from its tables, a bounded number of rows at a time, while commits go on.
//!
//! Every chain is fed the rows of the tables that its pipelines start from; all else is looked up in the same
//! state. Commit groups that come meanwhile wait in a backlog and are applied after the last row.

use crate::cached_reader::CachedReader;
use crate::shared_scan::SharedScans;
use operators::delta::{Chunk, Feed, Group};
use planner::catalog::Table;
use planner::delta::{Pipeline, PipelineEntry};
use repr::{CommitTime, RelationId, Row};
use state::SqlError;
use state::reader::Reader;
use state::time_budget::ThreadClock;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows that are fed at once, at most.
const CHUNK_ROWS_MAX: usize = 8_192;
/// Groups of a backlog that are applied together. Two at least, or a view would never catch up with its writers.
const BACKLOG_GROUPS_MIN: usize = 2;
const BACKLOG_GROUPS_MAX: usize = 256;
/// As much is fed at a time as takes this long in the dataflow: one row may bring thousands. What takes longer is
/// interrupted for those who commit. Half as long at most is read for it.
const AIM: Duration = Duration::from_millis(2);
/// The same where nobody has committed of late what the worker's views read: in large chunks a row takes less.
const AIM_CALM: Duration = Duration::from_millis(16);
/// How long that is.
const CALM: Duration = Duration::from_millis(500);

/// How long a chunk may take that long after the last commit that concerned the worker's views.
pub(crate) fn aim(since_commit: Duration) -> Duration {
    if since_commit >= CALM { AIM_CALM } else { AIM }
}

/// Whatever is fed has gone through the dataflow when it had so much time, or the view is given up.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// A hydration under way.
pub struct Hydration {
    leaves: Leaves,
    /// (chain, pipeline, where its rows come from): what is left, from the last to the next.
    left: Vec<(usize, usize, Option<RelationId>)>,
    current: Option<(usize, usize, RowsToFeed)>,
    paces: Paces,
    /// Rows of the last chunk, or groups of it.
    fed: usize,
    /// What it has had.
    pub so_far: SoFar,
    /// Groups that wait.
    pub backlog: VecDeque<Arc<Group>>,
    /// What is on its way through the dataflow.
    pub under_way: Option<UnderWay>,
}

/// What a filling has had so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoFar {
    /// Rows read.
    pub rows: u64,
    /// Time.
    pub took: Duration,
}

/// Where rows to feed come from.
struct Leaves {
    state: Arc<dyn Reader>,
    /// The same, for what is looked up.
    remembered: Arc<dyn Reader>,
    time: CommitTime,
    /// The clock's moment for which it is filled.
    clock: i64,
    scans: Rc<SharedScans>,
}

type RowsToFeed = Box<dyn Iterator<Item = Result<Row, SqlError>>>;

impl Leaves {
    /// Tables are read with others that are filled from them, views by each.
    fn rows(&self, table: &Arc<Table>) -> Result<RowsToFeed, SqlError> {
        if table.is_maintained() {
            return Ok(Box::new(self.state.scan_once(table)?.map(|row| row.map(|(_, row)| row))));
        }
        Ok(Box::new(self.scans.open(&self.state, table, self.time)?))
    }
}

/// How much comes next.
struct Paces {
    /// Rows of the next chunk.
    rows: ChunkPace,
    /// Groups that are applied next.
    groups: ChunkPace,
    /// Of the worker that fills it.
    clock: ThreadClock,
}

/// What was fed and has not gone through the dataflow yet.
#[derive(Clone, Copy)]
pub struct UnderWay {
    /// Groups of the backlog, not rows of tables.
    groups: bool,
    /// The time that it had so far.
    pub took: Duration,
    /// The processor time of that: what others do on the machine makes no chunk small.
    pub worked: Duration,
}

impl UnderWay {
    /// Rows of tables that were just fed.
    pub fn rows() -> UnderWay {
        UnderWay { groups: false, took: Duration::ZERO, worked: Duration::ZERO }
    }

    /// Groups of the backlog that were just fed.
    pub fn groups() -> UnderWay {
        UnderWay { groups: true, ..UnderWay::rows() }
    }
}

/// Chunks of one size before a larger one is tried; twice as many each time that it did not pay.
const ALIKE: u32 = 8;
const ALIKE_MAX: u32 = 256;

/// How much comes next, by what the last ones took: a line through them, of which the newest counts most.
struct ChunkPace {
    next: usize,
    least: usize,
    most: usize,
    line: Line,
    /// So many were of the size of the next in a row.
    alike: u32,
    patience: u32,
}

/// Sums over (rows, microseconds), halved with each that comes.
#[derive(Default)]
struct Line {
    weight: f64,
    rows: f64,
    micros: f64,
    rows_squared: f64,
    product: f64,
}

impl Line {
    fn add(&mut self, rows: f64, micros: f64) {
        self.weight = self.weight / 2.0 + 1.0;
        self.rows = self.rows / 2.0 + rows;
        self.micros = self.micros / 2.0 + micros;
        self.rows_squared = self.rows_squared / 2.0 + rows * rows;
        self.product = self.product / 2.0 + rows * micros;
    }

    /// What a chunk takes before its first row, and what each row takes.
    fn costs(&self) -> (f64, f64) {
        let (rows, micros) = (self.rows / self.weight, self.micros / self.weight);
        let variance = self.rows_squared / self.weight - rows * rows;
        let covariance = self.product / self.weight - rows * micros;
        let by_itself = micros / rows;
        // Chunks of one size say nothing of what the first row costs.
        let slope = if variance > rows * rows / 100.0 { covariance / variance } else { by_itself };
        let a_row = slope.clamp(0.0, by_itself);
        (micros - a_row * rows, a_row)
    }
}

impl ChunkPace {
    fn new(least: usize, most: usize) -> Self {
        ChunkPace { next: least, least, most, line: Line::default(), alike: 0, patience: ALIKE }
    }

    /// So many took so long, where a chunk may take that long.
    fn took(&mut self, count: usize, took: Duration, aim: Duration) {
        self.line.add(count.max(1) as f64, took.as_micros().max(1) as f64);
        let (beforehand, a_row) = self.line.costs();
        // Half of the time at least is for rows, or a dear chunk would only be done more often.
        let budget = (aim.as_micros() as f64 - beforehand).max(beforehand);
        let fitting = if a_row > 0.0 { (budget / a_row) as usize } else { self.most };
        let twice = self.most.min(self.next * 2).max(self.least);
        let next = fitting.clamp(self.least, twice);
        self.alike = if next == self.next { self.alike + 1 } else { 0 };
        self.next = next;
        // Chunks of one size could be small for ever because each takes long before its first row.
        if self.alike >= self.patience && next < twice {
            self.next = twice;
            self.alike = 0;
            self.patience = ALIKE_MAX.min(self.patience * 2);
        }
    }
}

impl Hydration {
    /// From a state, for a moment of the clock.
    pub fn new(
        reader: Arc<dyn Reader>,
        (time, clock): (CommitTime, i64),
        chains: &[Vec<Pipeline>],
        scans: Rc<SharedScans>,
    ) -> Self {
        let mut left = Vec::new();
        for (chain, pipelines) in chains.iter().enumerate() {
            for (position, pipeline) in pipelines.iter().enumerate() {
                match &pipeline.entry {
                    PipelineEntry::Constant(_) => left.push((chain, position, None)),
                    PipelineEntry::Rows { relation, .. } => {
                        // The other pipelines of the chain follow changes of tables that are looked up here.
                        left.push((chain, position, Some(*relation)));
                    }
                    PipelineEntry::Match { .. } => {}
                }
            }
        }
        // Even over empty tables there may be a row, such as a count of zero: something is always fed.
        left.push((0, usize::MAX, None));
        left.reverse();
        Hydration {
            leaves: Leaves { state: reader.clone(), remembered: CachedReader::over(reader), time, clock, scans },
            left,
            current: None,
            paces: Paces {
                rows: ChunkPace::new(1, CHUNK_ROWS_MAX),
                groups: ChunkPace::new(BACKLOG_GROUPS_MIN, BACKLOG_GROUPS_MAX),
                clock: ThreadClock::new(),
            },
            fed: 0,
            so_far: SoFar::default(),
            backlog: VecDeque::new(),
            under_way: None,
        }
    }

    /// The processor time of the worker that fills it.
    pub(crate) fn worked(&self) -> Duration {
        self.paces.clock.now()
    }

    /// What was fed has gone through the dataflow. What comes next may take that long.
    pub(crate) fn has_gone_through(&mut self, fed: UnderWay, aim: Duration) {
        let pace = if fed.groups { &mut self.paces.groups } else { &mut self.paces.rows };
        pace.took(self.fed, fed.worked, aim);
    }

    /// The next groups of the backlog.
    pub(crate) fn next_groups(&mut self) -> Vec<Arc<Group>> {
        self.fed = self.paces.groups.next.min(self.backlog.len());
        self.backlog.drain(..self.fed).collect()
    }

    /// The next rows to feed, which may take that long; none once all are read.
    pub fn next_chunk(&mut self, aim: Duration) -> Result<Option<Feed>, SqlError> {
        loop {
            if let Some((chain, pipeline, rows)) = &mut self.current {
                let started = Instant::now();
                let mut read = Vec::new();
                // Nothing read means that nothing is left: the clock is looked at after a row, not before the first.
                for row in rows.by_ref() {
                    read.push(row?);
                    if read.len() >= self.paces.rows.next || started.elapsed() >= aim / 2 {
                        break;
                    }
                }
                if !read.is_empty() {
                    self.so_far.rows += read.len() as u64;
                    self.fed = read.len();
                    let (chain, pipeline) = (*chain, *pipeline);
                    return Ok(Some(self.feed(chain, pipeline, read)));
                }
                self.current = None;
            }
            let Some((chain, pipeline, relation)) = self.left.pop() else { return Ok(None) };
            match relation {
                None => {
                    self.fed = 0;
                    return Ok(Some(self.feed(chain, pipeline, Vec::new())));
                }
                Some(relation) => {
                    let table = self.leaves.state.catalog().table(relation).cloned().ok_or_else(|| {
                        SqlError::new("42P01", "a table of the view has gone while the view was filled")
                    })?;
                    let rows = self.leaves.rows(&table)?;
                    // What the last table's rows brought says nothing of this one's.
                    self.paces.rows = ChunkPace::new(1, CHUNK_ROWS_MAX);
                    self.current = Some((chain, pipeline, rows));
                }
            }
        }
    }

    fn feed(&self, chain: usize, pipeline: usize, rows: Vec<repr::Row>) -> Feed {
        let Leaves { remembered, clock, .. } = &self.leaves;
        Feed::Rows(Arc::new(Chunk { chain, pipeline, rows, reader: remembered.clone(), clock: *clock }))
    }
}

#[cfg(test)]
mod tests {
    use super::{AIM, CHUNK_ROWS_MAX, ChunkPace};
    use std::time::Duration;

    /// Chunks and the largest of them for so many rows, each taking so long before its first row and by the row.
    fn chunks(rows: usize, beforehand_us: u64, a_row_us: u64) -> (usize, Vec<usize>) {
        let mut pace = ChunkPace::new(1, CHUNK_ROWS_MAX);
        let (mut left, mut sizes) = (rows, Vec::new());
        while left > 0 {
            let next = pace.next.min(left);
            left -= next;
            sizes.push(next);
            pace.took(next, Duration::from_micros(beforehand_us + a_row_us * next as u64), AIM);
        }
        (sizes.len(), sizes)
    }

    #[test]
    fn what_each_chunk_takes_beforehand_does_not_make_it_small_for_ever() {
        for beforehand_us in [0, 900, 1_700, 3_000, 20_000] {
            let (count, _) = chunks(100_000, beforehand_us, 1);
            assert!(count < 500, "{count} chunks where each takes {beforehand_us} us before its first row");
        }
    }

    #[test]
    fn dear_rows_come_in_small_chunks() {
        let (count, sizes) = chunks(10_000, 10, 5_000);
        let large = sizes.iter().filter(|size| **size > 1).count();
        assert!(sizes.iter().all(|size| *size <= 2) && large * 50 < count, "{large} of {count} chunks have two rows");
    }
}
