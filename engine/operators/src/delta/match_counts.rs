//! How many rows of a join's right side match, for the keys that change.
//!
//! ```text
//! key ──▶ the left's columns that the condition names ──▶ matches, failures
//! ```
//! Whether a left row has a match changes only where a count leaves zero or comes to it. A count is made once, by reading
//! what matches when its key first changes or a left row first asks for it, and follows from then on: a key of a million rows
//! costs what one of ten does. Has to hear of every group. Counts that would take too much room are forgotten, and made again
//! when they are asked for.

use crate::delta::changed::ChangedRows;
use crate::delta::run::Run;
use crate::lookup_join::holds;
use planner::delta::JoinStep;
use planner::plan::MatchKind;
use planner::scalar::{EvalContext, ScalarExpr};
use repr::hash::HashMap;
use repr::{Datum, Row, key};
use state::SqlError;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::{AddAssign, Sub};

/// Bytes that the counts of one join take at most.
const BYTES_MAX: usize = 1 << 20;
/// What a count takes beside the bytes of its key.
const COUNT_BYTES: usize = 128;

/// Pairs of a left row.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// All of them.
    rows: isize,
    /// That satisfy the condition.
    pub(super) matches: isize,
    /// Whose condition fails.
    pub(super) failures: isize,
}

impl Count {
    /// Counts a pair.
    fn add(&mut self, join: &JoinStep, pair: &[Datum], diff: isize, eval: &EvalContext) {
        self.rows += diff;
        match holds(&join.condition, pair, eval) {
            Ok(true) => self.matches += diff,
            Ok(false) => {}
            Err(_) => self.failures += diff,
        }
    }

    /// Nothing matches, and nothing fails.
    fn is_none(self) -> bool {
        self.matches == 0 && self.failures == 0
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.rows += other.rows;
        self.matches += other.matches;
        self.failures += other.failures;
    }
}

impl Sub for Count {
    type Output = Count;

    fn sub(self, other: Count) -> Count {
        Count {
            rows: self.rows - other.rows,
            matches: self.matches - other.matches,
            failures: self.failures - other.failures,
        }
    }
}

/// A join whose right side changes, and what is known of its matches.
pub(super) struct Matched {
    pub(super) join: JoinStep,
    pub(super) counts: RefCell<MatchCounts>,
}

impl Matched {
    /// Nothing is known yet.
    pub(super) fn by(join: &JoinStep) -> Self {
        Matched { join: join.clone(), counts: RefCell::new(MatchCounts::of(join)) }
    }
}

/// See the module.
pub(super) struct MatchCounts {
    /// All that the condition names.
    columns: BTreeSet<usize>,
    /// The left row says by its key alone whether it has a match, and nothing else comes of that.
    by_key_alone: bool,
    counts: HashMap<Vec<u8>, HashMap<Row, Count>>,
    bytes: usize,
}

impl MatchCounts {
    /// None yet.
    fn of(join: &JoinStep) -> Self {
        let columns = join.condition.iter().flat_map(ScalarExpr::columns).collect();
        MatchCounts { columns, by_key_alone: is_by_key_alone(join), counts: HashMap::default(), bytes: 0 }
    }

    /// Hears of a group, and leaves out keys of which nothing comes because they have matches now if they had before.
    pub(super) fn hear(
        &mut self,
        run: &mut Run<'_>,
        join: &JoinStep,
        changed: &mut ChangedRows,
    ) -> Result<(), SqlError> {
        for (key, rows) in &changed.rows {
            let Some(counts) = self.counts.get_mut(key) else { continue };
            for (left, count) in counts.iter_mut() {
                *count += change(join, &left.unpack(), rows, run.eval()).0;
            }
            let by_key_alone = self.by_key_alone;
            counts.retain(|_, count| is_kept(*count, by_key_alone));
            if counts.is_empty() {
                self.counts.remove(key);
            }
        }
        if !self.by_key_alone {
            return Ok(());
        }
        let left = nobody(join);
        let mut keys = Vec::with_capacity(changed.keys.len());
        for values in std::mem::take(&mut changed.keys) {
            let code = key::encode_all(&values);
            let found = changed.rows.get(&code).map_or(&[][..], Vec::as_slice);
            match self.around(run, join, found, (&left, &values))? {
                Some((before, after)) if decides(before, after) => keys.push(values),
                Some(_) | None => drop(changed.rows.remove(&code)),
            }
        }
        changed.keys = keys;
        Ok(())
    }

    /// How many matches a left row had before a group that it has heard of, and has after it, which `run` reads; none if
    /// that does not matter.
    pub(super) fn around(
        &mut self,
        run: &mut Run<'_>,
        join: &JoinStep,
        changed: &[(Vec<Datum>, isize)],
        (left, values): (&[Datum], &[Datum]),
    ) -> Result<Option<(Count, Count)>, SqlError> {
        let (change, any_fails) = change(join, left, changed, run.eval());
        if change.is_none() && !any_fails {
            return Ok(None);
        }
        let after = self.after(run, join, (left, values))?;
        Ok(Some((after - change, after)))
    }

    /// How many matches rows with these values have, where that says all.
    pub(super) fn of_key(
        &mut self,
        run: &mut Run<'_>,
        join: &JoinStep,
        values: &[Datum],
    ) -> Result<Option<bool>, SqlError> {
        let count = self.after(run, join, (&nobody(join), values))?;
        // One that matches outweighs one that fails.
        Ok((count.matches > 0 || count.failures == 0).then_some(count.matches > 0))
    }

    /// How many matches a left row has in the state that `run` reads.
    fn after(
        &mut self,
        run: &mut Run<'_>,
        join: &JoinStep,
        (left, values): (&[Datum], &[Datum]),
    ) -> Result<Count, SqlError> {
        let code = key::encode_all(values);
        let named = (0..left.len()).map(|at| if self.columns.contains(&at) { left[at].clone() } else { Datum::Null });
        let named = Row::pack(&named.collect::<Vec<Datum>>());
        if let Some(after) = self.counts.get(&code).and_then(|counts| counts.get(&named)) {
            return Ok(*after);
        }
        let after = count(run, join, left, values)?;
        if !is_kept(after, self.by_key_alone) {
            return Ok(after);
        }
        self.bytes += code.len() + named.bytes().len() + COUNT_BYTES;
        if self.bytes > BYTES_MAX {
            self.counts.clear();
            self.bytes = 0;
        } else {
            self.counts.entry(code).or_default().insert(named, after);
        }
        Ok(after)
    }
}

/// Whether a left row says by its key alone whether it has a match, and nothing else comes of that.
pub(super) fn is_by_key_alone(join: &JoinStep) -> bool {
    let is_lone = matches!(join.kind, MatchKind::Semi | MatchKind::Anti);
    // What comes out of it are the columns of the left row alone, which come first.
    is_lone && join.condition.iter().flat_map(ScalarExpr::columns).all(|column| column >= join.mfp.input_arity)
}

/// NULLs stand for a left row that has no say.
fn nobody(join: &JoinStep) -> Vec<Datum> {
    vec![Datum::Null; join.mfp.input_arity]
}

/// Whether a count is kept. What matches nothing any more may have been somebody's who is to leave nothing behind; a key without
/// a match is that of others, too, as long as there are rows of it, of which there may be many to look at.
fn is_kept(count: Count, by_key_alone: bool) -> bool {
    if by_key_alone { count.rows != 0 } else { !count.is_none() }
}

/// Whether a row that has so many matches may become another thing when it has so many.
fn decides(before: Count, after: Count) -> bool {
    before.failures != 0 || after.failures != 0 || (before.matches > 0) != (after.matches > 0)
}

/// What changed rows add to the matches of a left row; whether any of them fails, be it that another did before.
fn change(join: &JoinStep, left: &[Datum], changed: &[(Vec<Datum>, isize)], eval: &EvalContext) -> (Count, bool) {
    let (mut count, mut any_fails) = (Count::default(), false);
    for (right, diff) in changed {
        let mut one = Count::default();
        one.add(join, &[left, right].concat(), *diff, eval);
        any_fails |= one.failures != 0;
        count += one;
    }
    (count, any_fails)
}

/// How many matches a left row has in the state that `run` reads.
fn count(run: &mut Run<'_>, join: &JoinStep, left: &[Datum], values: &[Datum]) -> Result<Count, SqlError> {
    let leaf = run.leaf(join)?;
    let found = run.found(join, values)?;
    if join.condition.is_empty() {
        let rows = found.len() as isize;
        return Ok(Count { rows, matches: rows, failures: 0 });
    }
    let mut count = Count::default();
    let mut pair = left.to_vec();
    for (_, right) in found.iter() {
        run.tick()?;
        pair.truncate(left.len());
        leaf.append(right, &mut pair);
        count.add(join, &pair, 1, run.eval());
    }
    Ok(count)
}
