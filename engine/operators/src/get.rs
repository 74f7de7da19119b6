//! The leaves, once: a table's rows by scan, lookup or range; a catalog relation's rows.

use crate::access::{Chosen, Places, choose, key_values, range, tell};
use crate::leaf::{KEYS_AT_ONCE_FIRST, KEYS_AT_ONCE_MAX, Leaf};
use crate::leaf_rows::{Find, InTurn, LeafRows, ScannedRows, stored};
use crate::mfp::through;
use crate::once::{NumberRange, OneShot, PackedPull, Pull, WantedColumns, WantedRows, Whole, bag, nothing};
use crate::plan::children;
use crate::sweep::Sweep;
use crate::top_k::{limit, offset};
use arrangements::ordered_row::encode_order;
use planner::physical::wanted_values;
use planner::plan::{Access, InOrder, Plan, Query, Way};
use planner::scalar::{EvalContext, Order, ScalarExpr};
use repr::hash::HashSet;
use repr::{Datum, Row, RowKey, ValueError, key, poll};
use state::SqlError;
use state::answer::Stored;
use state::interrupt::Ticker;
use state::reader::RowIterator;
use state::usage::CountedReads;
use state::view_states::KeyRows;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All columns of the rows of a `Get` (and the row key), read as they are asked for; of rows that its `mfp` will not let pass
/// maybe not all, and NULL for columns that it does not look at.
pub fn stream<'p>(plan: &'p Plan, shot: &OneShot) -> Result<Box<dyn Pull + 'p>, SqlError> {
    let Plan::Get { relation, access, with_key, mfp, .. } = plan else {
        return Err(SqlError::new("XX000", "what reads a table is no leaf"));
    };
    if let Some(found) = planner::system::find_by_id(*relation)
        && let values = wanted_values(found, mfp, &shot.eval)
        && let columns = WantedColumns::of(mfp)
        && let Some(rows) = shot.system.rows(*relation, WantedRows { numbers: numbers(access, shot)?, values, columns })
    {
        let (watch, mut ticker) = (shot.watch.clone(), Ticker::default());
        let rows = rows?.map(move |row| ticker.tick(&watch).and(row));
        return Ok(Box::new(Whole::new(rows)));
    }
    let leaf = Leaf::open(shot.reader.catalog(), *relation, access.lookup())?.read_by(mfp);
    let keys =
        |keys: &'p [Vec<ScalarExpr>]| Keys { keys: keys.iter(), several: keys.len() > 1, seen: HashSet::default() };
    let own: &[_] = if let Access::Lookup { keys, .. } = access { keys } else { &[] };
    Ok(match choose(plan, &leaf, None, shot)? {
        Chosen::AllRows => all_rows(leaf, *with_key, shot)?,
        Chosen::AllRowsUpTo(rows_max) => {
            let sweep = Sweep::new(plan, &leaf, rows_max, shot)?;
            let reads = leaf.whole_reads(&*shot.reader);
            Box::new(LeafRows::new(leaf, sweep, *with_key, reads))
        }
        Chosen::KeyByKey => {
            let reads = leaf.key_reads(&*shot.reader, own.len());
            Box::new(LeafRows::new(leaf, ByKey::new(keys(own), None, shot), *with_key, reads))
        }
        Chosen::FromPlaces(places) => {
            let reads = leaf.key_reads(&*shot.reader, own.len());
            Box::new(LeafRows::new(leaf, ByKey::new(keys(&[]), Some(places), shot), *with_key, reads))
        }
        Chosen::Standing(arrangement) => {
            let rows = KeyRows::of(arrangement);
            Box::new(ArrangedStream { leaf, keys: keys(own), rows, asked: 0, shot: shot.clone() })
        }
        Chosen::InOrder(rows, _) => {
            let reads = leaf.key_reads(&*shot.reader, 1);
            in_turn(leaf, rows, (*with_key, reads), shot)
        }
        Chosen::NoRow => nothing(),
    })
}

/// The rows of a `Get` that have one of these keys, each of which is there once, through its `mfp`.
pub(crate) fn of_keys<'p>(
    plan: &'p Plan,
    keys: Vec<Vec<Datum>>,
    shot: &OneShot,
) -> Result<Box<dyn Pull + 'p>, SqlError> {
    let Plan::Get { relation, access, with_key, mfp, .. } = plan else {
        return Err(SqlError::new("XX000", "what reads a table is no leaf"));
    };
    tell(plan, Way::KeyByKey, shot);
    let leaf = Leaf::open(shot.reader.catalog(), *relation, access.lookup())?.read_by(mfp);
    let reads = leaf.key_reads(&*shot.reader, keys.len());
    let keys =
        MetKeys { keys: keys.into_iter(), wanted: Vec::new(), found: Vec::new().into_iter(), shot: shot.clone() };
    let rows = through(Box::new(LeafRows::new(leaf, keys, *with_key, reads)), mfp, shot);
    Ok(match &shot.profile {
        Some(profile) => profile.counted(plan, rows),
        None => rows,
    })
}

/// Rows of keys that a join has met.
struct MetKeys {
    keys: std::vec::IntoIter<Vec<Datum>>,
    /// Those whose rows come next.
    wanted: Vec<Vec<Datum>>,
    found: std::vec::IntoIter<(RowKey, Row)>,
    shot: OneShot,
}

impl Find for MetKeys {
    fn next(&mut self, leaf: &Leaf) -> Result<Option<(RowKey, Row)>, SqlError> {
        loop {
            if let Some(found) = self.found.next() {
                return Ok(Some(found));
            }
            if self.wanted.is_empty() {
                self.wanted.extend(self.keys.by_ref().take(KEYS_AT_ONCE_MAX));
            }
            if self.wanted.is_empty() {
                return Ok(None);
            }
            let mut keys = 0;
            let found = leaf.find_first(self.shot.reader.as_ref(), &self.wanted, &mut |_| keys += 1)?;
            self.found = found.into_iter();
            self.wanted.drain(..keys);
        }
    }
}

fn all_rows<'p>(leaf: Leaf, with_key: bool, shot: &OneShot) -> Result<Box<dyn Pull + 'p>, SqlError> {
    if !with_key && let Some(rows) = shot.reader.scan_packed(leaf.table())? {
        let reads = leaf.whole_reads(&*shot.reader);
        return Ok(Box::new(ScannedRows::new(leaf, rows, reads, &shot.watch)));
    }
    let rows = shot.reader.scan(leaf.table())?;
    let reads = leaf.whole_reads(&*shot.reader);
    Ok(in_turn(leaf, rows, (with_key, reads), shot))
}

fn in_turn<'p>(
    leaf: Leaf,
    rows: RowIterator,
    (with_key, reads): (bool, CountedReads),
    shot: &OneShot,
) -> Box<dyn Pull + 'p> {
    Box::new(LeafRows::new(leaf, InTurn::new(rows, &shot.watch), with_key, reads))
}

/// Tells the profile which way the rows of each table of a query would be found now, as far as that is known before one is
/// read: not where its values are missing.
pub fn foresee(query: &Query, shot: &OneShot) {
    if let Some(Ok(wanted)) = ordered(query).map(|_| rows_wanted(query, shot)) {
        foresee_leaf(&query.plan, wanted, shot);
    } else {
        foresee_below(&query.plan, shot);
    }
}

fn foresee_below(plan: &Plan, shot: &OneShot) {
    foresee_leaf(plan, None, shot);
    children(plan).into_iter().for_each(|child| foresee_below(child, shot));
}

fn foresee_leaf(plan: &Plan, wanted: Option<usize>, shot: &OneShot) {
    if let Plan::Get { relation, access, .. } = plan
        && planner::system::find_by_id(*relation).is_none()
        && let Ok(leaf) = Leaf::open(shot.reader.catalog(), *relation, access.lookup())
    {
        // What fails here fails again when it runs.
        let _known_now = choose(plan, &leaf, wanted, shot);
    }
}

/// Rows that a query may show, and how they come.
pub enum RangeFirst<'p> {
    /// In its order.
    InOrder(Box<dyn Pull + 'p>),
    /// All that it can show, in any order.
    Unordered(Box<dyn Pull + 'p>),
}

/// How far the range of a query that is nothing else is in the order that it asks for, if it is in any.
fn ordered(query: &Query) -> Option<InOrder> {
    match &query.plan {
        // Catalog relations are in order as they are.
        Plan::Get { relation, access: Access::Range { in_order, .. }, .. } => Some(*in_order)
            .filter(|in_order| *in_order != InOrder::No && planner::system::find_by_id(*relation).is_none()),
        _ => None,
    }
}

/// How many rows OFFSET and LIMIT ask for.
fn rows_wanted(query: &Query, shot: &OneShot) -> Result<Option<usize>, SqlError> {
    let skipped = offset(query.finishing.offset.as_ref(), &shot.eval)?;
    Ok(limit(query.finishing.limit.as_ref(), &shot.eval)?.map(|limit| limit.saturating_add(skipped)))
}

/// The rows of a query whose range is in the order that it asks for. How they are found depends on how many are wanted.
pub fn in_order<'p>(query: &'p Query, shot: &OneShot) -> Result<Option<RangeFirst<'p>>, SqlError> {
    let (plan, Some(in_order)) = (&query.plan, ordered(query)) else { return Ok(None) };
    let Plan::Get { relation, access, with_key, mfp, .. } = plan else { return Ok(None) };
    let open = || Ok::<_, SqlError>(Leaf::open(shot.reader.catalog(), *relation, access.lookup())?.read_by(mfp));
    let leaf = open()?;
    let wanted = rows_wanted(query, shot)?;
    let counted = |rows: Box<dyn Pull + 'p>| match &shot.profile {
        Some(profile) => profile.counted(plan, rows),
        None => rows,
    };
    let wholly = in_order.columns().is_some();
    let given = |rows: Box<dyn Pull + 'p>| {
        if wholly { RangeFirst::InOrder(counted(rows)) } else { RangeFirst::Unordered(counted(rows)) }
    };
    let filtered = |leaf: Leaf, rows: RowIterator| {
        let reads = leaf.key_reads(&*shot.reader, 1);
        through(in_turn(leaf, rows, (*with_key, reads), shot), mfp, shot)
    };
    let unordered = |leaf: Leaf| {
        Ok::<_, SqlError>(Some(RangeFirst::Unordered(counted(through(all_rows(leaf, *with_key, shot)?, mfp, shot)))))
    };
    let (rows, rows_max) = match choose(plan, &leaf, wanted, shot)? {
        Chosen::InOrder(rows, rows_max) => (rows, rows_max),
        Chosen::NoRow => return Ok(Some(given(nothing()))),
        Chosen::AllRows | Chosen::AllRowsUpTo(_) | Chosen::KeyByKey | Chosen::FromPlaces(_) | Chosen::Standing(_) => {
            return unordered(leaf);
        }
    };
    let Some(wanted) = wanted.filter(|_| !wholly || (rows_max.is_some() && !mfp.filter.is_empty())) else {
        return Ok(Some(given(filtered(leaf, rows))));
    };
    // Predicates that few rows pass, or rows that are all equal, could have the whole range read for them.
    let rows_max = rows_max.unwrap_or(usize::MAX);
    let read = Arc::new(AtomicUsize::new(0));
    let reading = read.clone();
    let rows = rows.take(rows_max).inspect(move |_| {
        reading.fetch_add(1, Ordering::Relaxed);
    });
    let ties: &[Order] = if wholly { &[] } else { Order::written(&query.finishing.order_by) };
    let (kept, enough) = first(&mut *filtered(leaf, Box::new(rows)), wanted, ties)?;
    if !enough && read.load(Ordering::Relaxed) == rows_max {
        tell(plan, Way::InOrderThenAllRows, shot);
        return unordered(open()?);
    }
    Ok(Some(given(bag(kept))))
}

/// So many rows, and if there is an order by which they come those that are equal to the last. Whether there were enough.
fn first(input: &mut dyn Pull, wanted: usize, order: &[Order]) -> Result<(Vec<Row>, bool), SqlError> {
    let (mut kept, mut row) = (Vec::new(), Vec::new());
    let (mut code, mut last) = (Vec::new(), Vec::new());
    loop {
        if kept.len() >= wanted && (order.is_empty() || wanted == 0) {
            return Ok((kept, true));
        }
        if !input.next(&mut row)? {
            return Ok((kept, false));
        }
        code.clear();
        encode_order(&mut code, order, &row);
        if kept.len() >= wanted && code != last {
            return Ok((kept, true));
        }
        std::mem::swap(&mut code, &mut last);
        let packed = Row::pack(&row);
        poll::bytes(packed.bytes().len())?;
        kept.push(packed);
    }
}

/// The rows of a numbered catalog relation that a range leaves; bounds that are no integers leave all.
fn numbers(access: &Access, shot: &OneShot) -> Result<NumberRange, SqlError> {
    let Access::Range { prefix, lower, upper, reverse, .. } = access else { return Ok(NumberRange::ALL) };
    let Some(range) = range(prefix, lower.as_ref(), upper.as_ref(), *reverse, shot)? else {
        return Ok(NumberRange::NONE);
    };
    let mut numbers = NumberRange { reverse: *reverse, ..NumberRange::ALL };
    // Numbers are positive: what is below them is no bound from below, and leaves none from above.
    if let Some((Some(least), inclusive)) = range.lower.map(|(value, inclusive)| (value.as_i64(), inclusive)) {
        numbers.first = u64::try_from(least).map_or(0, |least| least + u64::from(!inclusive));
    }
    if let Some((Some(most), inclusive)) = range.upper.map(|(value, inclusive)| (value.as_i64(), inclusive)) {
        match u64::try_from(most).ok().and_then(|most| most.checked_sub(u64::from(!inclusive))) {
            Some(most) => numbers.last = most,
            None => return Ok(NumberRange::NONE),
        }
    }
    Ok(numbers)
}

/// Rows of one key after another.
struct ByKey<'p> {
    wanted: WantedKeys<'p>,
    /// Where rows are that are read first.
    places: Option<Places>,
    found: std::vec::IntoIter<(RowKey, Row)>,
    shot: OneShot,
}

/// Keys, some of which are looked up together.
struct WantedKeys<'p> {
    keys: Keys<'p>,
    /// Those whose rows come next.
    values: Vec<Vec<Datum>>,
    at_once: usize,
    /// Why the key after those could not be computed.
    failed: Option<SqlError>,
}

impl Find for ByKey<'_> {
    fn next(&mut self, leaf: &Leaf) -> Result<Option<(RowKey, Row)>, SqlError> {
        loop {
            if let Some(found) = self.found.next() {
                return Ok(Some(found));
            }
            if let Some(places) = self.places.take() {
                self.found = places.read(leaf, &self.shot)?.into_iter();
                continue;
            }
            if self.wanted.values.is_empty() {
                self.wanted.gather(&self.shot.eval);
            }
            if self.wanted.values.is_empty() {
                return self.wanted.failed.take().map_or(Ok(None), Err);
            }
            let mut keys = 0;
            let found = leaf.find_first(self.shot.reader.as_ref(), &self.wanted.values, &mut |_| keys += 1)?;
            self.found = found.into_iter();
            self.wanted.values.drain(..keys);
        }
    }
}

impl<'p> ByKey<'p> {
    fn new(keys: Keys<'p>, places: Option<Places>, shot: &OneShot) -> Self {
        let wanted = WantedKeys { keys, values: Vec::new(), at_once: KEYS_AT_ONCE_FIRST, failed: None };
        ByKey { wanted, places, found: Vec::new().into_iter(), shot: shot.clone() }
    }
}

impl WantedKeys<'_> {
    /// The next keys, up to one that cannot be computed.
    fn gather(&mut self, eval: &EvalContext) {
        while self.failed.is_none() && self.values.len() < self.at_once {
            match self.keys.next(eval) {
                Ok(Some(values)) => self.values.push(values),
                Ok(None) => break,
                Err(error) => self.failed = Some(error.into()),
            }
        }
        self.at_once = (self.at_once * 2).min(KEYS_AT_ONCE_MAX);
    }
}

/// The keys of a lookup.
struct Keys<'p> {
    keys: std::slice::Iter<'p, Vec<ScalarExpr>>,
    /// Only then can a key come twice.
    several: bool,
    seen: HashSet<Vec<u8>>,
}

impl Keys<'_> {
    /// The next key's values, of those that can find something and have not come before.
    fn next(&mut self, eval: &EvalContext) -> Result<Option<Vec<Datum>>, ValueError> {
        for key in self.keys.by_ref() {
            if let Some(values) = key_values(key, eval)?
                && (!self.several || self.seen.insert(key::encode_all(&values)))
            {
                return Ok(Some(values));
            }
        }
        Ok(None)
    }
}

/// Rows of a maintained view, of one key after another, where they stand.
struct ArrangedStream<'p> {
    leaf: Leaf,
    keys: Keys<'p>,
    rows: KeyRows,
    /// For how many keys was asked.
    asked: usize,
    shot: OneShot,
}

impl Pull for ArrangedStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let found = self.advance()?;
        if found {
            row.clear();
            self.leaf.append_bytes(self.rows.row(), row);
        }
        Ok(found)
    }

    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        Some(self)
    }
}

impl PackedPull for ArrangedStream<'_> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        while !self.rows.advance() {
            let Some(values) = self.keys.next(&self.shot.eval)? else { return Ok(false) };
            let key = key::encode_all(&values);
            self.asked += 1;
            if self.asked <= 2 {
                let only = (self.asked == 1).then_some(key.as_slice());
                self.shot.reader.note_arranged(self.leaf.table(), only);
            }
            self.rows.seek(&key);
        }
        Ok(true)
    }

    fn row(&mut self) -> Stored<'_> {
        stored(&self.leaf, self.rows.row())
    }
}
