//! Rows on their way through a pipeline, over one state.

use crate::delta::Changes;
use crate::delta::match_counts::{Matched, is_by_key_alone};
use crate::leaf::Leaf;
use crate::lookup_join::{LookupJoin, RowFailure, evaluate, holds};
use crate::table_function::FunctionRows;
use planner::delta::{JoinStep, Seed, SeedStart, Step, lookup_columns};
use planner::plan::{Lookup, MatchKind};
use planner::scalar::{EvalContext, Mfp};
use repr::hash::{HashMap, RandomState};
use repr::{Datum, RelationId, Row, RowKey, ValueError, key, poll};
use state::SqlError;
use state::interrupt::{Ticker, Watch};
use state::reader::Reader;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Rows on their way through one pipeline, over one state.
pub(super) struct Run<'r> {
    reader: &'r dyn Reader,
    eval: &'r EvalContext,
    watch: &'r Watch,
    ticker: Ticker,
    lookups: Lookups,
    /// What is known of matches in this state.
    matched: &'r [Matched],
    pub(super) changes: &'r mut Changes,
}

/// What each join looks up in one state, by its place in memory.
#[derive(Default)]
pub(super) struct Lookups(Vec<JoinLookups>);

/// The right side of a join.
struct JoinLookups {
    join: *const JoinStep,
    leaf: Rc<Leaf>,
    /// What it found last: rows that come one after another often ask for the same.
    last: Option<(Vec<u8>, FoundRows)>,
    existence: Option<Existence>,
}

/// Rows that one key found.
type FoundRows = Rc<[(RowKey, Row)]>;

/// Whether any row of a key satisfies a condition that names no column of the left side: found out once for all left rows of
/// the key, of which a group may have a million, as it may have matches.
#[derive(Default)]
struct Existence {
    by_key: HashMap<Vec<u8>, Result<bool, ValueError>>,
    bytes: usize,
}

/// Bytes that the keys of one join's `Existence` take at most.
const EXISTENCE_BYTES_MAX: usize = 1 << 20;
/// What one takes beside the bytes of its key.
const EXISTENCE_BYTES: usize = 64;

impl Existence {
    /// None if the left row has a say.
    fn of(join: &JoinStep) -> Option<Existence> {
        (is_by_key_alone(join) && !join.condition.is_empty()).then(Existence::default)
    }

    fn remember(&mut self, key: Vec<u8>, any: Result<bool, ValueError>) {
        self.bytes += key.len() + EXISTENCE_BYTES;
        if self.bytes > EXISTENCE_BYTES_MAX {
            *self = Existence::default();
        }
        self.by_key.insert(key, any);
    }
}

impl Lookups {
    /// Rows are kept no longer than the next ones come one after another.
    pub(super) fn forget_rows(&mut self) {
        self.0.iter_mut().for_each(|join| join.last = None);
    }

    fn of(&mut self, reader: &dyn Reader, join: &JoinStep) -> Result<&mut JoinLookups, SqlError> {
        let position = match self.0.iter().position(|known| std::ptr::eq(known.join, join)) {
            Some(position) => position,
            None => {
                let mut leaf = Leaf::open(reader.catalog(), join.relation, Some(join.lookup))?;
                leaf.read_columns(join.used.iter().copied());
                self.0.push(JoinLookups { join, leaf: Rc::new(leaf), last: None, existence: Existence::of(join) });
                self.0.len() - 1
            }
        };
        Ok(&mut self.0[position])
    }
}

impl JoinLookups {
    fn rows(&mut self, reader: &dyn Reader, values: &[Datum]) -> Result<FoundRows, SqlError> {
        let key = key::encode_all(values);
        if let Some((last, rows)) = &self.last
            && *last == key
        {
            return Ok(rows.clone());
        }
        let rows: FoundRows = self.leaf.find(reader, values)?.into();
        self.last = Some((key, rows.clone()));
        Ok(rows)
    }
}

impl<'r> Run<'r> {
    /// Over a state.
    pub(super) fn new(
        reader: &'r dyn Reader,
        eval: &'r EvalContext,
        watch: &'r Watch,
        changes: &'r mut Changes,
    ) -> Self {
        Run { reader, eval, watch, ticker: Ticker::default(), lookups: Lookups::default(), matched: &[], changes }
    }

    /// With what is known of matches in the same state.
    pub(super) fn knowing(self, matched: &'r [Matched]) -> Self {
        Run { matched, ..self }
    }

    /// With what was looked up in the same state before.
    pub(super) fn with(self, lookups: Lookups) -> Self {
        Run { lookups, ..self }
    }

    /// What it has looked up.
    pub(super) fn into_lookups(self) -> Lookups {
        self.lookups
    }

    /// Over the same state, with what comes of it kept apart.
    fn beside<'s>(&self, changes: &'s mut Changes) -> Run<'s>
    where
        'r: 's,
    {
        Run::new(self.reader, self.eval, self.watch, changes)
    }

    /// What rows are evaluated with.
    pub(super) fn eval(&self) -> &'r EvalContext {
        self.eval
    }

    /// The right side of a join, as it is read here: with NULL for columns that the join does not look at.
    pub(super) fn leaf(&mut self, join: &JoinStep) -> Result<Rc<Leaf>, SqlError> {
        Ok(self.lookups.of(self.reader, join)?.leaf.clone())
    }

    /// The rows of it that these values find.
    pub(super) fn found(&mut self, join: &JoinStep, values: &[Datum]) -> Result<FoundRows, SqlError> {
        self.lookups.of(self.reader, join)?.rows(self.reader, values)
    }

    /// One more row is looked at.
    pub(super) fn tick(&mut self) -> Result<(), SqlError> {
        self.ticker.tick(self.watch)
    }

    /// Stored rows of a table, through `mfp` and on.
    pub(super) fn table_rows<'a>(
        &mut self,
        relation: RelationId,
        rows: impl Iterator<Item = (&'a Row, isize)>,
        mfp: &Mfp,
        steps: &[Step],
    ) -> Result<(), SqlError> {
        let leaf = Leaf::open(self.reader.catalog(), relation, None)?.read_by(mfp);
        let mut datums = Vec::new();
        for (row, diff) in rows {
            datums.clear();
            leaf.append(row, &mut datums);
            self.filtered(&mut datums, diff, mfp, steps)?;
        }
        Ok(())
    }

    /// Changed rows of a table: those that `mfp` makes alike go on together, or not at all.
    pub(super) fn changed_rows(
        &mut self,
        relation: RelationId,
        rows: &[(Row, isize)],
        mfp: &Mfp,
        steps: &[Step],
    ) -> Result<(), SqlError> {
        if steps.is_empty() || rows.iter().all(|(_, diff)| *diff > 0) {
            return self.table_rows(relation, rows.iter().map(|(row, diff)| (row, *diff)), mfp, steps);
        }
        let mut passed = Changes::default();
        let mut run = self.beside(&mut passed);
        run.table_rows(relation, rows.iter().map(|(row, diff)| (row, *diff)), mfp, &[])?;
        self.changes.errs.append(&mut passed.errs);
        let mut sums: HashMap<Row, isize> = HashMap::with_capacity_and_hasher(passed.oks.len(), RandomState::default());
        for (row, diff) in passed.oks {
            *sums.entry(row).or_default() += diff;
        }
        for (row, diff) in sums {
            if diff != 0 {
                self.steps(&mut row.unpack(), diff, steps)?;
            }
        }
        Ok(())
    }

    pub(super) fn filtered(
        &mut self,
        row: &mut Vec<Datum>,
        diff: isize,
        mfp: &Mfp,
        steps: &[Step],
    ) -> Result<(), SqlError> {
        match mfp.evaluate(row, self.eval) {
            Ok(true) => self.steps(row, diff, steps),
            Ok(false) => Ok(()),
            Err(error) => {
                self.changes.errs.push((error, diff));
                Ok(())
            }
        }
    }

    /// A row through what is left of its way. `row` is used up.
    pub(super) fn steps(&mut self, row: &mut Vec<Datum>, diff: isize, steps: &[Step]) -> Result<(), SqlError> {
        self.ticker.tick(self.watch)?;
        let Some((step, rest)) = steps.split_first() else {
            let row = Row::pack(row.iter());
            let row_bytes = row.bytes().len();
            self.changes.bytes += row_bytes + size_of::<(Row, isize)>();
            self.changes.oks.push((row, diff));
            // What one feed brings is held here before the arrangements hear of it.
            return Ok(poll::bytes(row_bytes)?);
        };
        match step {
            Step::Mfp(mfp) => self.filtered(row, diff, mfp, rest),
            Step::Negate => self.steps(row, -diff, rest),
            Step::Join(join) => self.join(row, diff, join, rest),
            Step::Functions { functions, ordinality } => {
                let mut rows = match FunctionRows::call(functions, *ordinality, row, self.eval) {
                    Ok(rows) => rows,
                    Err(error) => {
                        self.changes.errs.push((error, diff));
                        return Ok(());
                    }
                };
                loop {
                    let mut extended = row.clone();
                    match rows.append(&mut extended) {
                        Ok(true) => self.steps(&mut extended, diff, rest)?,
                        Ok(false) => return Ok(()),
                        Err(error) => {
                            self.changes.errs.push((error, diff));
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    /// A row through a lookup join.
    pub(super) fn join(
        &mut self,
        row: &mut Vec<Datum>,
        diff: isize,
        join: &JoinStep,
        rest: &[Step],
    ) -> Result<(), SqlError> {
        let leaf = self.leaf(join)?;
        let values = match evaluate(&join.key, row, self.eval) {
            Ok(values) => values,
            Err(error) => {
                self.changes.errs.push((error, diff));
                return Ok(());
            }
        };
        match join.kind {
            MatchKind::Inner | MatchKind::Left => {
                let mut matched = false;
                let mut right = Vec::with_capacity(leaf.arity());
                for (_, found) in self.found(join, &values)?.iter() {
                    right.clear();
                    leaf.append(found, &mut right);
                    matched |= self.pair(row, &right, diff, join, rest)?;
                }
                if matched || join.kind == MatchKind::Inner {
                    return Ok(());
                }
                row.resize(row.len() + leaf.arity(), Datum::Null);
                self.filtered(row, diff, &join.mfp, rest)
            }
            MatchKind::Semi | MatchKind::Anti => {
                let any = match self.any(join, &leaf, &values, row)? {
                    Ok(any) => any,
                    Err(error) => {
                        self.changes.errs.push((error, diff));
                        return Ok(());
                    }
                };
                if any == (join.kind == MatchKind::Semi) {
                    self.filtered(row, diff, &join.mfp, rest)?;
                }
                Ok(())
            }
        }
    }

    /// Whether a left row, which is left as it is, has a match among the rows that these values find.
    fn any(
        &mut self,
        join: &JoinStep,
        leaf: &Leaf,
        values: &[Datum],
        row: &mut Vec<Datum>,
    ) -> Result<Result<bool, ValueError>, SqlError> {
        if join.condition.is_empty() {
            return Ok(Ok(leaf.any(self.reader, values)?));
        }
        let key = key::encode_all(values);
        if let Some(known) = &self.lookups.of(self.reader, join)?.existence {
            if let Some(any) = known.by_key.get(&key) {
                return Ok(any.clone());
            }
            let matched = self.matched.iter().find(|matched| matched.join == *join);
            if let Some(matched) = matched.filter(|_| !values.iter().any(Datum::is_null))
                && let Some(any) = matched.counts.borrow_mut().of_key(self, join, values)?
            {
                return Ok(Ok(any));
            }
        }
        let found = if values.iter().any(Datum::is_null) { Rc::default() } else { self.found(join, values)? };
        let lookup =
            LookupJoin { key: &join.key, kind: join.kind, condition: &join.condition, with_key: false, mfp: &join.mfp };
        let any = match lookup.any(leaf, &found, row, self.eval) {
            Ok(any) => Ok(any),
            Err(RowFailure::Value(error)) => Err(error),
            Err(RowFailure::Environment(error)) => return Err(error),
        };
        if let Some(existence) = &mut self.lookups.of(self.reader, join)?.existence {
            existence.remember(key, any.clone());
        }
        Ok(any)
    }

    /// A left row with a right row of its key. Whether they match; a pair that fails is an error by itself, and a match.
    pub(super) fn pair(
        &mut self,
        left: &[Datum],
        right: &[Datum],
        diff: isize,
        join: &JoinStep,
        rest: &[Step],
    ) -> Result<bool, SqlError> {
        let mut pair = [left, right].concat();
        match holds(&join.condition, &pair, self.eval) {
            Ok(true) => self.filtered(&mut pair, diff, &join.mfp, rest)?,
            Ok(false) => return Ok(false),
            Err(error) => self.changes.errs.push((error, diff)),
        }
        Ok(true)
    }

    /// The rows that seeds find by the values.
    pub(super) fn seeds(&mut self, seeds: &[Seed], values: &[Vec<Datum>]) -> Result<(), SqlError> {
        for seed in seeds {
            match &seed.start {
                SeedStart::Constant(rows) => {
                    for row in rows {
                        self.steps(&mut row.unpack(), 1, &seed.steps)?;
                    }
                }
                SeedStart::Rows { relation, lookup, key, mfp } => {
                    let leaf = Leaf::open(self.reader.catalog(), *relation, Some(*lookup))?.read_by(mfp);
                    for key in distinct(values, key) {
                        for (_, row) in leaf.find(self.reader, &key)? {
                            let mut datums = Vec::new();
                            leaf.append(&row, &mut datums);
                            self.filtered(&mut datums, 1, mfp, &seed.steps)?;
                        }
                    }
                }
                SeedStart::Through { lookup, key, seeds: inner, join } => {
                    self.through(values, (*lookup, key), inner, join, &seed.steps)?;
                }
            }
        }
        Ok(())
    }

    /// The rows of a join that its right side's rows with these values take part in.
    fn through(
        &mut self,
        values: &[Vec<Datum>],
        (lookup, key): (Lookup, &[usize]),
        seeds: &[Seed],
        join: &JoinStep,
        steps: &[Step],
    ) -> Result<(), SqlError> {
        let leaf = Leaf::open(self.reader.catalog(), join.relation, Some(lookup))?;
        let columns = lookup_columns(leaf.table(), join.lookup).unwrap_or_default();
        let mut found: HashMap<Vec<u8>, Vec<Vec<Datum>>> = HashMap::default();
        let mut wanted = Vec::new();
        for key in distinct(values, key) {
            for (_, row) in leaf.find(self.reader, &key)? {
                let mut datums = Vec::new();
                leaf.append(&row, &mut datums);
                let by: Vec<Datum> = columns.iter().map(|column| datums[*column].clone()).collect();
                if by.iter().any(Datum::is_null) {
                    continue;
                }
                let rows = found.entry(key::encode_all(&by)).or_default();
                if rows.is_empty() {
                    wanted.push(by);
                }
                rows.push(datums);
            }
        }
        let mut left = Changes::default();
        let mut run = self.beside(&mut left);
        run.seeds(seeds, &wanted)?;
        for (row, diff) in left.oks {
            let row = row.unpack();
            let Ok(by) = evaluate(&join.key, &row, self.eval) else { continue };
            for right in found.get(&key::encode_all(&by)).into_iter().flatten() {
                self.pair(&row, right, diff, join, steps)?;
            }
        }
        Ok(())
    }
}

/// These parts of the values, each combination once.
fn distinct(values: &[Vec<Datum>], parts: &[usize]) -> Vec<Vec<Datum>> {
    let mut seen = BTreeSet::new();
    let chosen = values.iter().map(|value| parts.iter().map(|part| value[*part].clone()).collect::<Vec<_>>());
    chosen.filter(|value| !value.iter().any(Datum::is_null) && seen.insert(key::encode_all(value))).collect()
}
