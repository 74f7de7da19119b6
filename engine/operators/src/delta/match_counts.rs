//! How many rows of a join's right side match, for the keys that change.
//!
//! ```text
//! key ──▶ the left's columns that the condition names ──▶ matches, failures
//! ```
//! Whether a left row has a match changes only where a count leaves zero or comes to it. A count is made once, by reading
//! what matches when its key first changes, and follows from then on: a key of a million rows costs what one of ten does.
//! Has to hear of every group. Counts that would take too much room are forgotten, and made again when they are asked for.

use crate::delta::changed::ChangedRows;
use crate::delta::run::Run;
use crate::lookup_join::holds;
use planner::delta::JoinStep;
use planner::plan::MatchKind;
use planner::scalar::{EvalContext, ScalarExpr};
use repr::hash::HashMap;
use repr::{Datum, Row, key};
use state::SqlError;
use std::collections::BTreeSet;
use std::ops::{AddAssign, Sub};

/// Bytes that the counts of one join take at most.
const BYTES_MAX: usize = 1 << 20;
/// What a count takes beside the bytes of its key.
const COUNT_BYTES: usize = 128;

/// Pairs of a left row.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// That satisfy the condition.
    pub(super) matches: isize,
    /// Whose condition fails.
    pub(super) failures: isize,
}

impl Count {
    /// Counts a pair.
    fn add(&mut self, join: &JoinStep, pair: &[Datum], diff: isize, eval: &EvalContext) {
        match holds(&join.condition, pair, eval) {
            Ok(true) => self.matches += diff,
            Ok(false) => {}
            Err(_) => self.failures += diff,
        }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.matches += other.matches;
        self.failures += other.failures;
    }
}

impl Sub for Count {
    type Output = Count;

    fn sub(self, other: Count) -> Count {
        Count { matches: self.matches - other.matches, failures: self.failures - other.failures }
    }
}

/// See the module.
pub(super) struct MatchCounts {
    /// All that the condition names.
    columns: BTreeSet<usize>,
    counts: HashMap<Vec<u8>, HashMap<Row, Count>>,
    bytes: usize,
}

impl MatchCounts {
    /// None yet.
    pub(super) fn of(join: &JoinStep) -> Self {
        let columns = join.condition.iter().flat_map(ScalarExpr::columns).collect();
        MatchCounts { columns, counts: HashMap::default(), bytes: 0 }
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
            // What matches nothing any more may have been somebody's who is to leave nothing behind. It is soon counted.
            counts.retain(|_, count| *count != Count::default());
            if counts.is_empty() {
                self.counts.remove(key);
            }
        }
        let is_lone = matches!(join.kind, MatchKind::Semi | MatchKind::Anti);
        if !is_lone || self.columns.range(..join.mfp.input_arity).next().is_some() {
            return Ok(());
        }
        // The left row decides nothing: NULLs stand for it.
        let left = vec![Datum::Null; join.mfp.input_arity];
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
        if change == Count::default() && !any_fails {
            return Ok(None);
        }
        let code = key::encode_all(values);
        let named = (0..left.len()).map(|at| if self.columns.contains(&at) { left[at].clone() } else { Datum::Null });
        let named = Row::pack(&named.collect::<Vec<Datum>>());
        if let Some(after) = self.counts.get(&code).and_then(|counts| counts.get(&named)) {
            return Ok(Some((*after - change, *after)));
        }
        let after = count(run, join, left, values)?;
        if after == Count::default() {
            return Ok(Some((after - change, after)));
        }
        self.bytes += code.len() + named.bytes().len() + COUNT_BYTES;
        if self.bytes > BYTES_MAX {
            self.counts.clear();
            self.bytes = 0;
        } else {
            self.counts.entry(code).or_default().insert(named, after);
        }
        Ok(Some((after - change, after)))
    }
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
        return Ok(Count { matches: found.len() as isize, failures: 0 });
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
