//! The leaves, once: a table's rows by scan, lookup or range; a catalog relation's rows.

use crate::mfp::through;
use crate::once::{NumberRange, OneShot, PackedPull, Pull, Whole, bag};
use crate::sweep::Sweep;

use crate::leaf::{Leaf, key_datum};
use crate::top_k::{limit, offset};
use arrangements::ordered_row::encode_order;
use planner::plan::{Access, InOrder, Plan, Query};
use planner::scalar::{EvalContext, Mfp, Order, ScalarExpr};
use planner::transform::shape;
use repr::hash::HashSet;
use repr::{Datum, IndexId, RelationId, Row, RowKey, ValueError, key, poll};
use state::SqlError;
use state::answer::Stored;
use state::interrupt::{Ticker, Watch};
use state::reader::{KeyRange, RangeRows, RowIterator};
use state::view_states::KeyRows;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All columns of the relation's rows (and the row key), read as they are asked for; of rows that `mfp` will not let pass
/// maybe not all, and NULL for columns that it does not look at.
pub fn stream<'p>(
    relation: RelationId,
    access: &'p Access,
    with_key: bool,
    mfp: &Mfp,
    shot: &OneShot,
) -> Result<Box<dyn Pull + 'p>, SqlError> {
    if let Some(rows) = shot.system.rows(relation, &numbers(access, shot)?) {
        let (watch, mut ticker) = (shot.watch.clone(), Ticker::default());
        let rows = rows?.map(move |row| ticker.tick(&watch).and(row));
        return Ok(Box::new(Whole::new(rows)));
    }
    let reader = shot.reader.as_ref();
    match access {
        Access::Scan => {
            if let Some(sweep) = Sweep::of(relation, with_key, mfp, shot)? {
                return Ok(Box::new(sweep));
            }
            let leaf = Leaf::open(reader.catalog(), relation, None)?.read_by(mfp);
            let rows = reader.scan(leaf.table())?;
            Ok(Box::new(LeafStream::new(leaf, rows, with_key, shot)))
        }
        Access::Lookup { lookup, keys } => {
            let leaf = Leaf::open(reader.catalog(), relation, Some(*lookup))?.read_by(mfp);
            let beside = if keys.len() == 1 { indexed_beside(&leaf, mfp, shot) } else { Vec::new() };
            let few = few_of_all(&leaf, keys, shot)?;
            let keys: &[_] = if few.is_some() { &[] } else { keys };
            let keys = Keys { keys: keys.iter(), several: keys.len() > 1, seen: HashSet::default() };
            if !with_key && let Some(arrangement) = reader.arranged(leaf.table(), leaf.index())? {
                return Ok(Box::new(ArrangedStream { leaf, keys, rows: KeyRows::of(arrangement), shot: shot.clone() }));
            }
            Ok(Box::new(LookupStream {
                leaf,
                beside,
                keys,
                wanted: Vec::new(),
                at_once: KEYS_AT_ONCE_FIRST,
                failed: None,
                found: few.unwrap_or_default().into_iter(),
                standing: (RowKey::new(&[]), Row::default()),
                with_key,
                shot: shot.clone(),
            }))
        }
        Access::Range { lookup, prefix, lower, upper, reverse, in_order } => {
            let columns = in_order.columns();
            let leaf = Leaf::open(reader.catalog(), relation, Some(*lookup))?.read_by(mfp);
            let rows = match range(prefix, lower.as_ref(), upper.as_ref(), *reverse, shot)? {
                Some(range) => match reader.range(leaf.table(), leaf.index(), &KeyRange { columns, ..range })? {
                    Some(range) => range.rows,
                    None => reader.scan(leaf.table())?,
                },
                None => Box::new(std::iter::empty()),
            };
            Ok(Box::new(LeafStream::new(leaf, rows, with_key, shot)))
        }
    }
}

/// Rows that a query may show, and how they come.
pub enum RangeFirst<'p> {
    /// In its order.
    InOrder(Box<dyn Pull + 'p>),
    /// All that it can show and few others, in any order.
    Few(Box<dyn Pull + 'p>),
}

/// The rows of a query whose range is in the order that it asks for, if they can be read so now and it is worth it: for
/// that counts how many are wanted by OFFSET and LIMIT.
pub fn in_order<'p>(query: &'p Query, shot: &OneShot) -> Result<Option<RangeFirst<'p>>, SqlError> {
    let Plan::Get { relation, access, with_key, mfp, .. } = &query.plan else { return Ok(None) };
    let Access::Range { lookup, prefix, lower, upper, reverse, in_order } = access else { return Ok(None) };
    if *in_order == InOrder::No || planner::system::find_by_id(*relation).is_some() {
        // Catalog relations are in order as they are.
        return Ok(None);
    }
    let columns = in_order.columns();
    let leaf = Leaf::open(shot.reader.catalog(), *relation, Some(*lookup))?.read_by(mfp);
    let skipped = offset(query.finishing.offset.as_ref(), &shot.eval)?;
    let wanted = limit(query.finishing.limit.as_ref(), &shot.eval)?.map(|limit| limit.saturating_add(skipped));
    let range = match range(prefix, lower.as_ref(), upper.as_ref(), *reverse, shot)? {
        Some(range) => shot.reader.range(leaf.table(), leaf.index(), &KeyRange { wanted, columns, ..range })?,
        None => Some(RangeRows { rows: Box::new(std::iter::empty()), worth_rows: usize::MAX }),
    };
    let Some(RangeRows { rows, worth_rows }) = range else { return Ok(None) };
    let counted = |rows: Box<dyn Pull + 'p>| match &shot.profile {
        Some(profile) => profile.counted(&query.plan, rows),
        None => rows,
    };
    let filtered = |rows| through(Box::new(LeafStream::new(leaf, rows, *with_key, shot)), mfp, shot);
    let wholly = columns.is_some();
    let Some(wanted) = wanted.filter(|_| !wholly || (worth_rows < usize::MAX && !mfp.filter.is_empty())) else {
        return Ok(wholly.then(|| RangeFirst::InOrder(counted(filtered(rows)))));
    };
    // Predicates that few rows pass, or rows that are all equal, could have the whole range read for them.
    let read = Arc::new(AtomicUsize::new(0));
    let reading = read.clone();
    let rows = rows.take(worth_rows).inspect(move |_| {
        reading.fetch_add(1, Ordering::Relaxed);
    });
    let ties: &[Order] = if wholly { &[] } else { Order::written(&query.finishing.order_by) };
    let (kept, enough) = first(&mut *filtered(Box::new(rows)), wanted, ties)?;
    if !enough && read.load(Ordering::Relaxed) == worth_rows {
        return Ok(None);
    }
    let kept = counted(bag(kept));
    Ok(Some(if wholly { RangeFirst::InOrder(kept) } else { RangeFirst::Few(kept) }))
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

/// The range's values; none if one is NULL, which no row compares with.
fn range(
    prefix: &[ScalarExpr],
    lower: Option<&(ScalarExpr, bool)>,
    upper: Option<&(ScalarExpr, bool)>,
    reverse: bool,
    shot: &OneShot,
) -> Result<Option<KeyRange>, SqlError> {
    let bound = |bound: Option<&(ScalarExpr, bool)>| -> Result<Option<(Datum, bool)>, SqlError> {
        match bound {
            Some((expression, inclusive)) => Ok(Some((expression.eval(&[], &shot.eval)?, *inclusive))),
            None => Ok(None),
        }
    };
    let prefix = prefix.iter().map(|value| value.eval(&[], &shot.eval)).collect::<Result<Vec<_>, _>>()?;
    let (lower, upper) = (bound(lower)?, bound(upper)?);
    let is_null = |bound: &Option<(Datum, bool)>| bound.as_ref().is_some_and(|(value, _)| value.is_null());
    if prefix.iter().any(Datum::is_null) || is_null(&lower) || is_null(&upper) {
        return Ok(None);
    }
    Ok(Some(KeyRange { prefix, lower, upper, reverse, wanted: None, columns: None }))
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

/// Rows of a scan or range.
struct LeafStream {
    leaf: Leaf,
    rows: RowIterator,
    standing: (RowKey, Row),
    with_key: bool,
    watch: Arc<Watch>,
    ticker: Ticker,
}

impl LeafStream {
    fn new(leaf: Leaf, rows: RowIterator, with_key: bool, shot: &OneShot) -> Self {
        let standing = (RowKey::new(&[]), Row::default());
        LeafStream { leaf, rows, standing, with_key, watch: shot.watch.clone(), ticker: Ticker::default() }
    }
}

impl Pull for LeafStream {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let found = self.advance()?;
        if found {
            fill(&self.leaf, &self.standing, self.with_key, row);
        }
        Ok(found)
    }

    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        if self.with_key { None } else { Some(self) }
    }
}

impl PackedPull for LeafStream {
    fn advance(&mut self) -> Result<bool, SqlError> {
        self.ticker.tick(&self.watch)?;
        let Some(next) = self.rows.next() else { return Ok(false) };
        self.standing = next?;
        Ok(true)
    }

    fn row(&mut self) -> Stored<'_> {
        stored(&self.leaf, self.standing.1.bytes())
    }
}

/// Columns that must equal an integer, with an index of their own beside the one that is looked up.
fn indexed_beside(leaf: &Leaf, mfp: &Mfp, shot: &OneShot) -> Vec<(IndexId, Datum)> {
    let Some(own) = leaf.index() else { return Vec::new() };
    let beside = |(_, predicate): &(usize, ScalarExpr)| {
        let (column, value) = match shape::equality(predicate)? {
            (ScalarExpr::Column(column), value) | (value, ScalarExpr::Column(column)) => (*column, value),
            _ => return None,
        };
        let (ScalarExpr::Literal(..) | ScalarExpr::Param(..)) = value else { return None };
        let value = value.eval(&[], &shot.eval).ok()?;
        value.as_i64()?;
        let mut indexes = leaf.table().indexes.iter();
        let index = indexes.find(|index| index.columns == [column] && index.id != own.id)?;
        (leaf.table().primary_key != Some(index.id)).then_some((index.id, value))
    };
    mfp.filter.iter().filter_map(beside).collect()
}

/// Fewer keys are looked up one by one.
const KEYS_OF_ONE_MIN: usize = 8;
/// A row that is read takes as long as so many keys that are looked up and not found.
const KEYS_A_ROW: usize = 2;

/// The rows of all keys, if all have one value in common, and the rows with that value are few: they are read instead.
fn few_of_all(leaf: &Leaf, keys: &[Vec<ScalarExpr>], shot: &OneShot) -> Result<Option<Vec<(RowKey, Row)>>, SqlError> {
    let own = leaf.index().filter(|own| own.columns.len() > 1 && keys.len() >= KEYS_OF_ONE_MIN);
    // A key may give a first part of the columns only, where keys have an order.
    let Some(own) = own.filter(|own| keys[0].len() == own.columns.len()) else { return Ok(None) };
    let alone = |column| leaf.table().indexes.iter().find(|index| index.columns == [column]);
    let in_common = |place: &usize| keys.iter().all(|key| key[*place] == keys[0][*place]);
    let Some((place, index)) =
        (0..own.columns.len()).filter(in_common).find_map(|place| Some((place, alone(own.columns[place])?)))
    else {
        return Ok(None);
    };
    if leaf.table().primary_key == Some(index.id) {
        return Ok(None);
    }
    let mut wanted = HashSet::default();
    let mut value = None;
    for key in keys {
        // A key that cannot be computed may never be come to.
        match key_values(key, &shot.eval) {
            Ok(Some(values)) => {
                wanted.insert(key::encode_all(&values));
                value = values.into_iter().nth(place);
            }
            Ok(None) => {}
            Err(_) => return Ok(None),
        }
    }
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let found = shot.reader.index_few(leaf.table(), index, &value, wanted.len() / KEYS_A_ROW)?;
    let column = |row: &Row, column: usize| {
        let missing = || leaf.table().columns[column].missing.clone().unwrap_or(Datum::Null);
        row.get(column).unwrap_or_else(missing)
    };
    Ok(found.map(|mut rows| {
        rows.retain(|(_, row)| {
            let values: Vec<Datum> = own.columns.iter().map(|at| column(row, *at)).collect();
            wanted.contains(&key::encode_all(&values))
        });
        rows
    }))
}

/// A key's values, unless it finds nothing: nothing equals NULL but by IS NULL, which is a literal.
fn key_values(key: &[ScalarExpr], eval: &EvalContext) -> Result<Option<Vec<Datum>>, ValueError> {
    let (mut values, mut compares) = (Vec::with_capacity(key.len()), true);
    for value in key {
        let datum = value.eval(&[], eval)?;
        compares &= !datum.is_null() || matches!(value, ScalarExpr::Literal(..));
        values.push(datum);
    }
    Ok(compares.then_some(values))
}

/// Keys that are looked up together: a few at first, as few rows may be wanted.
pub(crate) const KEYS_AT_ONCE_FIRST: usize = 4;
pub(crate) const KEYS_AT_ONCE_MAX: usize = 64;

/// Rows of one key after another.
struct LookupStream<'p> {
    leaf: Leaf,
    /// What rows must equal besides: an index and its value.
    beside: Vec<(IndexId, Datum)>,
    keys: Keys<'p>,
    /// Keys whose rows come next.
    wanted: Vec<Vec<Datum>>,
    at_once: usize,
    /// Why the key after those could not be computed.
    failed: Option<SqlError>,
    found: std::vec::IntoIter<(RowKey, Row)>,
    standing: (RowKey, Row),
    with_key: bool,
    shot: OneShot,
}

impl Pull for LookupStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let found = self.advance()?;
        if found {
            fill(&self.leaf, &self.standing, self.with_key, row);
        }
        Ok(found)
    }

    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        if self.with_key { None } else { Some(self) }
    }
}

impl PackedPull for LookupStream<'_> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        loop {
            if let Some(found) = self.found.next() {
                self.standing = found;
                return Ok(true);
            }
            if self.wanted.is_empty() {
                self.gather();
            }
            if self.wanted.is_empty() {
                return self.failed.take().map_or(Ok(false), Err);
            }
            let reader = self.shot.reader.as_ref();
            let mut keys = 0;
            let found = match self.wanted.as_slice() {
                [key] if !self.beside.is_empty() => {
                    keys = 1;
                    self.leaf.find_narrowed(reader, key, &self.beside)?
                }
                wanted => self.leaf.find_first(reader, wanted, &mut |_| keys += 1)?,
            };
            self.found = found.into_iter();
            self.wanted.drain(..keys);
        }
    }

    fn row(&mut self) -> Stored<'_> {
        stored(&self.leaf, self.standing.1.bytes())
    }
}

impl LookupStream<'_> {
    /// The next keys, up to one that cannot be computed.
    fn gather(&mut self) {
        while self.failed.is_none() && self.wanted.len() < self.at_once {
            match self.keys.next(&self.shot.eval) {
                Ok(Some(values)) => self.wanted.push(values),
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
            self.rows.seek(&key::encode_all(&values));
        }
        Ok(true)
    }

    fn row(&mut self) -> Stored<'_> {
        stored(&self.leaf, self.rows.row())
    }
}

/// A row of a relation, some of whose columns may have been added since it was stored.
pub(crate) fn stored<'r>(leaf: &'r Leaf, bytes: &'r [u8]) -> Stored<'r> {
    Stored { bytes, later: &leaf.table().columns }
}

pub(crate) fn fill(leaf: &Leaf, (key, stored): &(RowKey, Row), with_key: bool, row: &mut Vec<Datum>) {
    row.clear();
    leaf.append(stored, row);
    if with_key {
        row.push(key_datum(key));
    }
}
