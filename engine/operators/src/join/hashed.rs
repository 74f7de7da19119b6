//! Joins by key that run once: one side is held by key, packed, and the other streams past it.
//!
//! ```text
//! right ─▶ key, columns that are looked at ─▶ held, one after the other in one place
//! left  ─▶ key ─▶ those that have it ─▶ columns of both, packed as they stood ─▶ filter ─▶ whoever is above
//! ```
//! A row is made of values only where somebody computes with it. Nothing of the right is asked for before the left has given a
//! row, and nothing more of the left once nothing is held that could match.

use crate::access::tell;
use crate::get::of_keys;
use crate::join::HashJoin;
use crate::join::held::encode;
use crate::lookup_join::evaluate;
use crate::once::{Keeping, OneShot, PackedPull, Pull};
use crate::standing_columns::StandingColumns;
use planner::plan::{Access, MatchKind, Plan, Way};
use planner::scalar::{Mfp, ScalarExpr};
use repr::hash::{HashSet, RandomState};
use repr::row::{RowIter, write_datum};
use repr::{Datum, key, poll};
use state::SqlError;
use state::answer::Stored;
use state::interrupt::Ticker;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::Arc;

/// The joined rows.
pub struct HashJoinRows<'p> {
    left: KeyedSide<'p>,
    right: KeyedSide<'p>,
    join: HashJoin<'p>,
    keeping: Option<Keeping>,
    /// The right's rows, once the left has given one.
    held: Option<Arc<HeldRows>>,
    at: At,
    /// How the rows that come out are made.
    output: Output,
    shot: OneShot,
}

/// Where the join is.
#[derive(Default)]
struct At {
    /// The next match of the left row, if it has one.
    entry: Option<u32>,
    /// The left row's columns that are looked at.
    left: Vec<u8>,
    /// The joined row.
    row: Vec<u8>,
    ticker: Ticker,
}

/// One input, and what is taken of its rows.
struct KeyedSide<'p> {
    input: Box<dyn Pull + 'p>,
    key: &'p [ScalarExpr],
    /// The columns of the key with where they stand, in that order.
    key_columns: StandingColumns,
    /// Columns that are kept, by where they stand, in that order; by their numbers where rows come as values.
    kept: Vec<usize>,
    is_packed: bool,
    /// The row as values: all, or those of the key.
    row: Vec<Datum>,
    code: Vec<u8>,
    /// Of the left: what reads a table as a whole, or by the keys of the right if these are few.
    met: Option<&'p Plan>,
}

/// The different keys of what is held, as long as they are few.
struct FewKeys<'p> {
    plan: &'p Plan,
    /// Where those that are looked up are among the join's keys.
    places: &'p [usize],
    keys_max: usize,
    keys: Vec<Vec<Datum>>,
    seen: HashSet<Vec<u8>>,
}

/// What is made of the rows that come out.
struct Output {
    /// The columns that are looked at with where they stand in the joined row, in that order.
    columns: StandingColumns,
    /// The columns that come out, if nothing is computed, by where they stand.
    project: Option<Vec<usize>>,
    /// The columns that filters look at, with where they stand.
    filtered: StandingColumns,
    scratch: Vec<Datum>,
}

/// Rows by key.
#[derive(Default)]
pub(super) struct HeldRows {
    /// First and last entry by the hash of the key.
    chains: HashMap<u64, (u32, u32), BuildHasherDefault<AsItIs>>,
    entries: Vec<HeldEntry>,
    /// Of each entry its key, then its row.
    bytes: Vec<u8>,
    hasher: RandomState,
}

struct HeldEntry {
    /// The next with this hash; itself at the end.
    next: u32,
    at: usize,
    key: u32,
    row: u32,
}

/// What is hashed already.
#[derive(Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl HeldRows {
    fn first(&self, key: &[u8]) -> Option<u32> {
        let (first, _) = *self.chains.get(&self.hasher.hash_one(key))?;
        if self.key(first) == key { Some(first) } else { self.after(first, key) }
    }

    /// The next entry of a key.
    fn after(&self, entry: u32, key: &[u8]) -> Option<u32> {
        let mut at = entry;
        loop {
            let next = self.entries[at as usize].next;
            if next == at {
                return None;
            }
            if self.key(next) == key {
                return Some(next);
            }
            at = next;
        }
    }

    fn key(&self, entry: u32) -> &[u8] {
        let HeldEntry { at, key, .. } = self.entries[entry as usize];
        &self.bytes[at..at + key as usize]
    }

    fn row(&self, entry: u32) -> &[u8] {
        let HeldEntry { at, key, row, .. } = self.entries[entry as usize];
        let start = at + key as usize;
        &self.bytes[start..start + row as usize]
    }

    /// Adds a row that `write` appends; of a key that is there already only if all are kept.
    fn add(&mut self, key: &[u8], all: bool, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), SqlError> {
        let hash = self.hasher.hash_one(key);
        if !all && self.first(key).is_some() {
            return Ok(());
        }
        let entry = u32::try_from(self.entries.len()).map_err(|_| too_many_held())?;
        let at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let start = self.bytes.len();
        write(&mut self.bytes);
        poll::bytes(self.bytes.len() - at)?;
        let length = |bytes: usize| u32::try_from(bytes).map_err(|_| too_many_held());
        let (key, row) = (length(key.len())?, length(self.bytes.len() - start)?);
        self.entries.push(HeldEntry { next: entry, at, key, row });
        match self.chains.get_mut(&hash) {
            Some((_, last)) => {
                self.entries[*last as usize].next = entry;
                *last = entry;
            }
            None => {
                self.chains.insert(hash, (entry, entry));
            }
        }
        Ok(())
    }
}

/// 54000.
fn too_many_held() -> SqlError {
    SqlError::new("54000", "a join holds too many rows")
        .hint("More than four billion rows, or a row of more than four gigabytes, are not joined at once.")
}

impl<'p> KeyedSide<'p> {
    /// Of an input whose columns `kept` are looked at; those in the order in which they are written. If it has packed rows
    /// it is asked for these from then on, but for what rounds hand on: there all rows look alike.
    fn new(
        mut input: Box<dyn Pull + 'p>,
        key: &'p [ScalarExpr],
        kept: &BTreeSet<usize>,
        in_rounds: bool,
    ) -> (Self, Vec<usize>) {
        let packed = if in_rounds { None } else { input.packed() };
        let stand = packed.map(|packed| packed.places().map(<[usize]>::to_vec));
        let is_packed = stand.is_some();
        let stand = stand.flatten();
        let place = |column: usize| stand.as_ref().map_or(column, |stand| stand[column]);
        let of_key: BTreeSet<usize> = key.iter().flat_map(ScalarExpr::columns).collect();
        let width = of_key.last().map_or(0, |last| last + 1);
        let key_columns = StandingColumns::of(of_key.into_iter().map(|column| (column, place(column))));
        let mut by_place: Vec<(usize, usize)> = kept.iter().map(|column| (place(*column), *column)).collect();
        by_place.sort_unstable();
        let columns = by_place.iter().map(|(_, column)| *column).collect();
        let kept = by_place.into_iter().map(|(place, _)| place).collect();
        let row = if is_packed { vec![Datum::Null; width] } else { Vec::new() };
        (KeyedSide { input, key, key_columns, kept, is_packed, row, code: Vec::new(), met: None }, columns)
    }

    /// Goes to the next row; false at the end. Whether it has a key stands in the second.
    fn advance(&mut self, null_safe: bool, shot: &OneShot) -> Result<Option<bool>, SqlError> {
        if self.is_packed {
            let packed = self.input.packed().expect("an input that gave packed rows goes on with them");
            if !packed.advance()? {
                return Ok(None);
            }
            self.key_columns.read(packed.row(), &mut self.row);
        } else if !self.input.next(&mut self.row)? {
            return Ok(None);
        }
        Ok(Some(encode(&mut self.code, self.key, &self.row, null_safe, &shot.eval)?))
    }

    /// Appends the columns that are kept of the row it stands on.
    fn write(&mut self, out: &mut Vec<u8>) {
        if self.is_packed {
            let packed = self.input.packed().expect("an input that gave packed rows goes on with them");
            append_columns(packed.row(), &self.kept, out);
        } else {
            self.kept.iter().for_each(|column| write_datum(out, &self.row[*column]));
        }
    }
}

impl<'p> FewKeys<'p> {
    fn of(plan: &'p Plan) -> Option<Self> {
        let Plan::Get { access: Access::Met { places, keys_max, .. }, .. } = plan else { return None };
        Some(FewKeys { plan, places, keys_max: *keys_max, keys: Vec::new(), seen: HashSet::default() })
    }

    /// With a key more; none if these are too many.
    fn with(mut self, values: &[Datum]) -> Option<Self> {
        let key: Vec<Datum> = self.places.iter().map(|place| values[*place].clone()).collect();
        if self.seen.insert(key::encode_all(&key)) {
            self.keys.push(key);
        }
        (self.keys.len() <= self.keys_max).then_some(self)
    }
}

fn is_met(plan: &Plan) -> bool {
    matches!(plan, Plan::Get { access: Access::Met { .. }, .. })
}

/// Appends some columns of a packed row as they stand, in the order of their places.
fn append_columns(stored: Stored<'_>, places: &[usize], out: &mut Vec<u8>) {
    let mut columns = RowIter::over(stored.bytes);
    let (mut next, mut last) = (0, None);
    for place in places {
        // A column that is asked for twice is there twice.
        if let Some((before, bytes)) = last
            && before == *place
        {
            out.extend_from_slice(bytes);
            continue;
        }
        while next < *place && columns.pass() {
            next += 1;
        }
        let from = columns.rest();
        if next == *place && columns.pass() {
            let bytes = &from[..from.len() - columns.rest().len()];
            out.extend_from_slice(bytes);
            last = Some((*place, bytes));
            next += 1;
        } else {
            // Stored before the column was added.
            let missing = stored.later.get(*place).and_then(|column| column.missing.as_ref());
            write_datum(out, missing.unwrap_or(&Datum::Null));
        }
    }
}

impl Output {
    fn new(mfp: &Mfp, columns: impl IntoIterator<Item = usize>) -> Output {
        let columns: Vec<(usize, usize)> =
            columns.into_iter().enumerate().map(|(place, column)| (column, place)).collect();
        let mut places = vec![None; mfp.input_arity];
        columns.iter().for_each(|(column, place)| places[*column] = Some(*place));
        let at = |column: usize| places.get(column).copied().flatten();
        let project = if mfp.map.is_empty() { mfp.project.iter().map(|column| at(*column)).collect() } else { None };
        let looked_at: BTreeSet<usize> =
            mfp.filter.iter().flat_map(|(_, predicate)| ScalarExpr::columns(predicate)).collect();
        let filtered = StandingColumns::of(looked_at.into_iter().filter_map(|column| Some((column, at(column)?))));
        let (columns, scratch) = (StandingColumns::of(columns), vec![Datum::Null; mfp.input_arity]);
        Output { columns, project, filtered, scratch }
    }
}

impl<'p> HashJoinRows<'p> {
    /// Joins two inputs; what is held of the right is kept there, if anywhere.
    pub fn new(
        left: Box<dyn Pull + 'p>,
        right: Box<dyn Pull + 'p>,
        keeping: Option<Keeping>,
        join: HashJoin<'p>,
        shot: &OneShot,
    ) -> Self {
        let (left_at, right_at) = match (join.kind, join.swapped) {
            (MatchKind::Semi | MatchKind::Anti, _) => (0, join.mfp.input_arity),
            (MatchKind::Inner | MatchKind::Left, true) => (join.right_arity, 0),
            (MatchKind::Inner | MatchKind::Left, false) => (0, join.mfp.input_arity - join.right_arity),
        };
        let read: BTreeSet<usize> = join.mfp.columns().into_iter().collect();
        let of_left = |column: &usize| if join.swapped { *column >= left_at } else { *column < right_at };
        let (of_left, of_right): (BTreeSet<usize>, BTreeSet<usize>) =
            read.into_iter().filter(|column| *column < join.mfp.input_arity).partition(of_left);
        let own = |columns: &BTreeSet<usize>, at: usize| columns.iter().map(|column| column - at).collect();
        let (left, left_columns) = KeyedSide::new(left, join.left_key, &own(&of_left, left_at), false);
        let (right, right_columns) =
            KeyedSide::new(right, join.right_key, &own(&of_right, right_at), keeping.is_some());
        let columns = left_columns
            .into_iter()
            .map(|column| column + left_at)
            .chain(right_columns.into_iter().map(|column| column + right_at));
        let output = Output::new(join.mfp, columns);
        HashJoinRows { left, right, join, keeping, held: None, at: At::default(), output, shot: shot.clone() }
    }

    /// The left is what this plan reads: if it says so, by the keys of the right, where these are few.
    #[must_use]
    pub(crate) fn met_by(mut self, left: &'p Plan) -> Self {
        let finds = matches!(self.join.kind, MatchKind::Inner | MatchKind::Semi) && !self.join.null_safe;
        self.left.met = Some(left).filter(|_| finds && self.keeping.is_none());
        self
    }

    /// What is held, once the left has given a row; or before, if its keys may tell which rows of the left are read.
    fn held(&mut self) -> Result<Arc<HeldRows>, SqlError> {
        if let Some(held) = self.held.clone().or_else(|| self.keeping.as_ref().and_then(Keeping::held)) {
            self.held = Some(held.clone());
            return Ok(held);
        }
        let all = matches!(self.join.kind, MatchKind::Inner | MatchKind::Left);
        let mut held = HeldRows::default();
        let mut few = self.left.met.take().and_then(FewKeys::of);
        let was_asked = few.as_ref().map(|few| few.plan);
        while let Some(keyed) = self.right.advance(self.join.null_safe, &self.shot)? {
            self.at.ticker.tick(&self.shot.watch)?;
            if keyed {
                let code = std::mem::take(&mut self.right.code);
                if few.as_mut().is_some_and(|_| held.first(&code).is_none()) {
                    let values = evaluate(self.right.key, &self.right.row, &self.shot.eval)?;
                    few = few.and_then(|few| few.with(&values));
                }
                let added = held.add(&code, all, |bytes| self.right.write(bytes));
                self.right.code = code;
                added?;
            }
        }
        if let Some(FewKeys { plan, keys, .. }) = few {
            self.left.input = of_keys(plan, keys, &self.shot)?;
            // As whoever is asked for packed rows goes on with them.
            let _packed = self.left.is_packed && self.left.input.packed().is_some();
        } else if let Some(plan) = was_asked {
            tell(plan, Way::AllRows, &self.shot);
        }
        let held = Arc::new(held);
        self.keeping.iter().for_each(|keeping| keeping.keep(&held));
        self.held = Some(held.clone());
        Ok(held)
    }

    /// Goes to the next row before `mfp`, which stands in `at.row`; of a semi or anti join the left's columns alone.
    fn join(&mut self) -> Result<bool, SqlError> {
        let kind = self.join.kind;
        loop {
            self.at.ticker.tick(&self.shot.watch)?;
            if let (Some(entry), Some(held)) = (self.at.entry, &self.held) {
                self.at.row.clear();
                self.at.row.extend_from_slice(&self.at.left);
                self.at.row.extend_from_slice(held.row(entry));
                self.at.entry = held.after(entry, &self.left.code);
                return Ok(true);
            }
            if self.left.met.is_some_and(is_met) {
                self.held()?;
            }
            let Some(keyed) = self.left.advance(self.join.null_safe, &self.shot)? else { return Ok(false) };
            let held = self.held()?;
            let finds = matches!(kind, MatchKind::Inner | MatchKind::Semi);
            if finds && held.entries.is_empty() {
                return Ok(false);
            }
            let found = if keyed { held.first(&self.left.code) } else { None };
            match (kind, found) {
                (MatchKind::Inner | MatchKind::Semi, None) | (MatchKind::Anti, Some(_)) => {}
                (MatchKind::Inner | MatchKind::Left, Some(_)) => {
                    self.at.left.clear();
                    self.left.write(&mut self.at.left);
                    self.at.entry = found;
                }
                (MatchKind::Semi, Some(_)) | (MatchKind::Anti, None) => {
                    self.at.row.clear();
                    self.left.write(&mut self.at.row);
                    return Ok(true);
                }
                (MatchKind::Left, None) => {
                    self.at.row.clear();
                    self.left.write(&mut self.at.row);
                    self.right.kept.iter().for_each(|_| write_datum(&mut self.at.row, &Datum::Null));
                    return Ok(true);
                }
            }
        }
    }
}

impl Pull for HashJoinRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while self.join()? {
            row.clear();
            row.resize(self.join.mfp.input_arity, Datum::Null);
            self.output.columns.read(Stored::whole(&self.at.row), row);
            if self.join.mfp.evaluate(row, &self.shot.eval)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        if self.output.project.is_some() { Some(self) } else { None }
    }
}

impl PackedPull for HashJoinRows<'_> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        while self.join()? {
            if self.join.mfp.filter.is_empty() {
                return Ok(true);
            }
            self.output.filtered.read(Stored::whole(&self.at.row), &mut self.output.scratch);
            if self.join.mfp.passes(&self.output.scratch, &self.shot.eval)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&mut self) -> Stored<'_> {
        Stored::whole(&self.at.row)
    }

    fn places(&self) -> Option<&[usize]> {
        self.output.project.as_deref()
    }
}
