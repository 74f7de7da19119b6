//! The pairs of rows that have a key in common, some thousand at a time.
//!
//! differential's own tactic makes all pairs of a key before it gives the first: two sides without a key in common have one
//! key, and whoever shares the worker would wait until all of their pairs are made. Here a key is left in the middle, and what
//! stands under it is loaded again when the join goes on.
//!
//! ```text
//! driver (differential) ── next ──▶ keys in step ──▶ load both sides ──▶ pairs from the place where it stopped ──▶ rows
//! ```

use crate::context::RenderTime;
use arrangements::arrangement::{Bytes, RowBatch};
use differential_dataflow::Data;
use differential_dataflow::consolidation::{consolidate_from, consolidate_updates};
use differential_dataflow::operators::join::{Fresh, JoinTactic};
use differential_dataflow::trace::cursor::{CursorList, cursor_list};
use differential_dataflow::trace::{Cursor, Navigable};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

/// Rows that are given at a time.
const GIVEN_ROWS: usize = 8_192;
/// So many pairs are made of a key before it is left, and as many for each row that is loaded: loading costs less than they do.
const PAIRS_MIN: usize = 32_768;
const PAIRS_A_ROW: usize = 4;

type RowCursor<T> = <RowBatch<T, isize> as Navigable>::Cursor;

/// What a pair's rows come to, with the copies that there are of each.
pub(super) trait Pairing<D>: FnMut(Bytes<'_>, Bytes<'_>, isize, isize) -> Option<(D, isize)> {}

impl<D, P: FnMut(Bytes<'_>, Bytes<'_>, isize, isize) -> Option<(D, isize)>> Pairing<D> for P {}

/// See the module.
pub(super) struct PairsTactic<L>(Rc<RefCell<L>>);

impl<L> PairsTactic<L> {
    /// Makes this of each pair.
    pub(super) fn new(logic: L) -> Self {
        PairsTactic(Rc::new(RefCell::new(logic)))
    }
}

impl<T: RenderTime, D: Data, L: Pairing<D> + 'static>
    JoinTactic<RowBatch<T, isize>, RowBatch<T, isize>, Vec<(D, T, isize)>> for PairsTactic<L>
{
    fn prep(
        &mut self,
        left: Vec<RowBatch<T, isize>>,
        right: Vec<RowBatch<T, isize>>,
        fresh: Fresh,
        meet: T,
    ) -> Box<dyn Iterator<Item = Vec<(D, T, isize)>>> {
        // What was there before is brought to the time of what is new, so that each row has few times.
        let (left_meet, right_meet) = match fresh {
            Fresh::Input0 => (None, Some(meet)),
            Fresh::Input1 => (Some(meet), None),
        };
        Box::new(Pairs {
            left: Side::new(left, left_meet),
            right: Side::new(right, right_meet),
            made: 0,
            logic: self.0.clone(),
            rows: Vec::new(),
        })
    }
}

/// One unit of work: two lists of batches.
struct Pairs<T: RenderTime, D, L> {
    left: Side<T>,
    right: Side<T>,
    /// How many pairs of the present key are made.
    made: usize,
    logic: Rc<RefCell<L>>,
    /// Not given yet.
    rows: Vec<(D, T, isize)>,
}

struct Side<T: RenderTime> {
    cursor: CursorList<RowCursor<T>>,
    batches: Vec<RowBatch<T, isize>>,
    meet: Option<T>,
}

/// The rows of a key: each with its time and how many copies come or go.
type Edits<'b, T> = Vec<(Bytes<'b>, T, isize)>;

impl<T: RenderTime> Side<T> {
    fn new(batches: Vec<RowBatch<T, isize>>, meet: Option<T>) -> Self {
        let (cursor, batches) = cursor_list(batches);
        Side { cursor, batches, meet }
    }

    /// The rows of the present key.
    fn load<'b>(
        cursor: &mut CursorList<RowCursor<T>>,
        batches: &'b Vec<RowBatch<T, isize>>,
        meet: Option<&T>,
        edits: &mut Edits<'b, T>,
    ) {
        edits.clear();
        let mut times: Vec<(T, isize)> = Vec::new();
        cursor.rewind_vals(batches);
        while let Some(row) = cursor.get_val(batches) {
            cursor.map_times(batches, |time, copies| {
                let mut time = RowCursor::<T>::owned_time(time);
                if let Some(meet) = meet {
                    time.join_assign(meet);
                }
                times.push((time, RowCursor::<T>::owned_diff(copies)));
            });
            consolidate_from(&mut times, 0);
            edits.extend(times.drain(..).map(|(time, copies)| (row, time, copies)));
            cursor.step_val(batches);
        }
    }
}

impl<T: RenderTime, D: Data, L: Pairing<D>> Iterator for Pairs<T, D, L> {
    type Item = Vec<(D, T, isize)>;

    fn next(&mut self) -> Option<Self::Item> {
        let Pairs { left, right, made, logic, rows } = self;
        let mut logic = logic.borrow_mut();
        let (mut lefts, mut rights) = (Edits::new(), Edits::new());
        while rows.len() < GIVEN_ROWS {
            let (Some(key), Some(other)) = (left.cursor.get_key(&left.batches), right.cursor.get_key(&right.batches))
            else {
                break;
            };
            match key.cmp(&other) {
                Ordering::Less => left.cursor.seek_key(&left.batches, other),
                Ordering::Greater => right.cursor.seek_key(&right.batches, key),
                Ordering::Equal => {
                    Side::load(&mut left.cursor, &left.batches, left.meet.as_ref(), &mut lefts);
                    Side::load(&mut right.cursor, &right.batches, right.meet.as_ref(), &mut rights);
                    let pairs = lefts.len() * rights.len();
                    let enough = PAIRS_MIN.max(PAIRS_A_ROW * (lefts.len() + rights.len()));
                    let end = pairs.min(*made + enough);
                    while *made < end {
                        let (place, first) = (*made / rights.len(), *made % rights.len());
                        let (left_row, left_time, left_copies) = &lefts[place];
                        let last = rights.len().min(first + (end - *made));
                        for (right_row, right_time, right_copies) in &rights[first..last] {
                            if let Some((data, copies)) = logic(*left_row, *right_row, *left_copies, *right_copies) {
                                rows.push((data, left_time.join(right_time), copies));
                            }
                        }
                        *made += last - first;
                    }
                    if *made < pairs {
                        // Not even its pairs that came to nothing are gone through at once.
                        consolidate_updates(rows);
                        return Some(std::mem::take(rows));
                    }
                    *made = 0;
                    left.cursor.step_key(&left.batches);
                    right.cursor.step_key(&right.batches);
                }
            }
        }
        if rows.is_empty() {
            return None;
        }
        consolidate_updates(rows);
        Some(std::mem::take(rows))
    }
}
