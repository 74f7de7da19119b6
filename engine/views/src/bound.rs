//! Of a key with many rows a view may hold the first ones only: as many as its readers ask for, and some to spare.
//!
//! ```text
//! in the view's order   first rows ........ │ last that is held │ ........ rows beyond: they come and go unseen
//! ```
//!
//! A key is cut once it has twice as many rows as are kept. Whatever comes or goes up to the last row that is held is
//! followed; so a key has all of its rows, or at least `rows_min` of the first ones, until too many of those have gone:
//! then the view is short of rows and has to be filled anew, with more to spare.

use arrangements::shared::{ViewBatch, for_key, named_rows};
use operators::top_k::{limit, offset};
use planner::lift::{KeyValues, Lifted};
use planner::scalar::EvalContext;
use repr::ValueError;
use state::view_states::ViewState;
use std::collections::HashMap;

/// Readers who ask for more have all rows held.
const ROWS_MAX: usize = 4_096;
/// Nobody's first rows are fewer.
const ROWS_MIN: usize = 16;
/// What is to spare at first, for each row that is asked for.
const SPARE: usize = 2;
/// How many times more after a view was short of rows.
const WIDER: usize = 8;

/// How many rows of a key are held at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    rows_min: usize,
    spare: usize,
}

impl Bound {
    /// For readers of so many rows of a key; none if all are to be held.
    pub(crate) fn for_rows(rows: usize) -> Option<Bound> {
        let rows_min = rows.checked_next_power_of_two()?.max(ROWS_MIN);
        (rows_min <= ROWS_MAX).then_some(Bound { rows_min, spare: rows_min * SPARE })
    }

    /// Exactly so many, and so many to spare.
    pub fn new(rows_min: usize, spare: usize) -> Bound {
        Bound { rows_min, spare }
    }

    /// A key that has fewer has no others.
    pub fn rows_min(self) -> usize {
        self.rows_min
    }

    /// For a view that was short of rows.
    #[must_use]
    pub(crate) fn wider(self) -> Bound {
        Bound { spare: self.spare.saturating_mul(WIDER).max(1), ..self }
    }

    /// What is left of a key that is cut.
    fn kept(self) -> usize {
        self.rows_min.saturating_add(self.spare)
    }
}

/// How many rows of a key an execution may show.
pub fn rows_shown(lifted: &Lifted, eval: &EvalContext) -> usize {
    let finishing = &lifted.finishing;
    match (limit(finishing.limit.as_ref(), eval), offset(finishing.offset.as_ref(), eval)) {
        // Rows that are shown once may have been others' copies: more are looked at then.
        (Ok(Some(limit)), Ok(skip)) if !lifted.distinct => limit.saturating_add(skip),
        // Whoever computes is told of a limit that is none.
        _ => usize::MAX,
    }
}

/// The greatest rank that an execution asks for.
pub fn greatest_rank(lifted: &Lifted, eval: &EvalContext) -> Result<i64, ValueError> {
    let mut greatest = 0;
    for values in lifted.asked.iter().flatten() {
        if let KeyValues::Ranks(range) = values {
            greatest = greatest.max(*range.ranks(eval)?.end());
        }
    }
    Ok(greatest)
}

/// Whether a view holds all rows of these keys that an execution shows.
pub fn suffices(lifted: &Lifted, keys: &[Vec<u8>], state: &ViewState, eval: &EvalContext) -> bool {
    let Some(arrangement) = state.arrangements.first() else { return true };
    let Some(rows_min) = arrangement.rows_min else { return true };
    let shown = rows_shown(lifted, eval);
    let is_held = |key: &Vec<u8>| {
        let mut held = 0;
        arrangement.for_key(key, |_| {
            held += 1;
            held < shown
        });
        held < rows_min || held >= shown
    };
    shown <= rows_min || keys.iter().all(is_held)
}

/// The keys of one arrangement that were cut.
pub struct Cuts {
    bound: Bound,
    by_key: HashMap<Box<[u8]>, Cut>,
    /// Keys that have too few rows left.
    short: usize,
    /// Rows are to be taken back that were beyond a cut.
    pub pending: bool,
}

/// The end of a key.
struct Cut {
    /// The last row that is held, or was.
    last: Box<[u8]>,
    rows: isize,
}

impl Cuts {
    /// None yet.
    pub fn new(bound: Bound) -> Cuts {
        Cuts { bound, by_key: HashMap::new(), short: 0, pending: false }
    }

    /// The bound.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// Whether a key has been left with fewer rows than readers may ask for, though there are others.
    pub(crate) fn are_short(&self) -> bool {
        self.short > 0
    }

    /// Whether an update is of a row that is held.
    pub fn hold(&mut self, key: &[u8], row: &[u8], diff: isize) -> bool {
        let Some(cut) = self.by_key.get_mut(key) else { return true };
        if row > &*cut.last {
            return false;
        }
        let rows_min = self.bound.rows_min.cast_signed();
        let was_short = cut.rows < rows_min;
        cut.rows += diff;
        match (was_short, cut.rows < rows_min) {
            (false, true) => self.short += 1,
            (true, false) => self.short -= 1,
            _ => {}
        }
        true
    }

    /// Cuts the keys of a batch that have too many rows by now in all batches: what goes is told as it is to be taken back.
    pub fn cut(&mut self, batch: &ViewBatch, all: &[ViewBatch], mut take_back: impl FnMut(&[u8], &[u8], isize)) {
        self.pending = false;
        let (kept, most) = (self.bound.kept(), self.bound.kept().saturating_mul(2));
        batch.for_each_key(|key| {
            let may_be_too_many = match self.by_key.get(key) {
                Some(cut) => cut.rows > most.cast_signed(),
                None => named_rows(all, key) > most,
            };
            if !may_be_too_many {
                return;
            }
            let mut rows = 0;
            for_key(all, key, |_, copies| {
                rows += copies;
                rows <= most.cast_signed()
            });
            if rows <= most.cast_signed() {
                return;
            }
            let mut cut = Cut { last: Box::default(), rows: 0 };
            for_key(all, key, |row, copies| {
                if cut.rows < kept.cast_signed() {
                    cut.rows += copies;
                    cut.last = row.into();
                } else {
                    take_back(key, row, -copies);
                }
                true
            });
            self.pending = true;
            self.by_key.insert(key.into(), cut);
        });
    }
}
