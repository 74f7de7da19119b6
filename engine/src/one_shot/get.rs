//! The leaves of a chain: a table's rows by scan, lookup or range; a catalog relation's rows.

use super::rounds::held_bytes;
use super::stream::{Pull, bag, through};
use super::watch::{Ticker, Watch};
use super::{FoundRows, NumberRange, OneShot};
use crate::SqlError;
use crate::reader::{KeyRange, RangeRows, RowIterator};
use crate::render::leaf::{Leaf, key_datum};
use crate::render::top_k::{limit, offset};
use planner::plan::{Access, Plan, Query};
use planner::scalar::ScalarExpr;
use repr::{Datum, RelationId, Row, RowKey, key};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All columns of the relation's rows (and the row key), read as they are asked for.
pub fn stream<'p>(
    relation: RelationId,
    access: &'p Access,
    with_key: bool,
    shot: &OneShot,
) -> Result<Box<dyn Pull + 'p>, SqlError> {
    if let Some(rows) = shot.system.rows(relation, &numbers(access, shot)?) {
        return Ok(Box::new(SystemStream { rows: rows?, watch: shot.watch.clone(), ticker: Ticker::default() }));
    }
    let reader = shot.reader.as_ref();
    match access {
        Access::Scan => {
            let leaf = Leaf::open(reader.catalog(), relation, None)?;
            let rows = reader.scan(leaf.table())?;
            Ok(Box::new(LeafStream::new(leaf, rows, with_key, shot)))
        }
        Access::Lookup { lookup, keys } => {
            let leaf = Leaf::open(reader.catalog(), relation, Some(*lookup))?;
            Ok(Box::new(LookupStream {
                leaf,
                keys: keys.iter(),
                several: keys.len() > 1,
                seen: BTreeSet::new(),
                found: Vec::new().into_iter(),
                with_key,
                shot: shot.clone(),
            }))
        }
        Access::Range { lookup, prefix, lower, upper, reverse, .. } => {
            let leaf = Leaf::open(reader.catalog(), relation, Some(*lookup))?;
            let rows = match range(prefix, lower.as_ref(), upper.as_ref(), *reverse, shot)? {
                Some(range) => match reader.range(leaf.table(), leaf.index(), &range)? {
                    Some(range) => range.rows,
                    None => reader.scan(leaf.table())?,
                },
                None => Box::new(std::iter::empty()),
            };
            Ok(Box::new(LeafStream::new(leaf, rows, with_key, shot)))
        }
    }
}

/// The rows of a query whose range is in the order that it asks for, if they can be read so now and it is worth it: for
/// that counts how many are wanted by OFFSET and LIMIT.
pub fn in_order<'p>(query: &'p Query, shot: &OneShot) -> Result<Option<Box<dyn Pull + 'p>>, SqlError> {
    let Plan::Get { relation, access, with_key, mfp } = &query.plan else { return Ok(None) };
    let Access::Range { lookup, prefix, lower, upper, reverse, in_order: true } = access else { return Ok(None) };
    if planner::system::find_by_id(*relation).is_some() {
        // In order as it is.
        return Ok(None);
    }
    let leaf = Leaf::open(shot.reader.catalog(), *relation, Some(*lookup))?;
    let skipped = offset(query.finishing.offset.as_ref(), &shot.eval)?;
    let wanted = limit(query.finishing.limit.as_ref(), &shot.eval)?.map(|limit| limit.saturating_add(skipped));
    let range = match range(prefix, lower.as_ref(), upper.as_ref(), *reverse, shot)? {
        Some(range) => shot.reader.range(leaf.table(), leaf.index(), &KeyRange { wanted, ..range })?,
        None => Some(RangeRows { rows: Box::new(std::iter::empty()), worth_rows: usize::MAX }),
    };
    let Some(RangeRows { rows, worth_rows }) = range else { return Ok(None) };
    let counted = |rows: Box<dyn Pull + 'p>| match &shot.profile {
        Some(profile) => profile.counted(&query.plan, rows),
        None => rows,
    };
    let filtered = |rows| through(Box::new(LeafStream::new(leaf, rows, *with_key, shot)), mfp, shot);
    let Some(wanted) = wanted.filter(|_| worth_rows < usize::MAX && !mfp.filter.is_empty()) else {
        return Ok(Some(counted(filtered(rows))));
    };
    // Predicates that few rows pass could have the whole range read for them.
    let read = Arc::new(AtomicUsize::new(0));
    let reading = read.clone();
    let rows = rows.take(worth_rows).inspect(move |_| {
        reading.fetch_add(1, Ordering::Relaxed);
    });
    let kept = first(&mut *filtered(Box::new(rows)), wanted, shot)?;
    if kept.len() < wanted && read.load(Ordering::Relaxed) == worth_rows {
        kept.iter().for_each(|row| shot.watch.release(held_bytes(row)));
        return Ok(None);
    }
    Ok(Some(counted(bag(kept))))
}

/// So many rows, charged to the query.
fn first(input: &mut dyn Pull, wanted: usize, shot: &OneShot) -> Result<Vec<Row>, SqlError> {
    let (mut kept, mut row) = (Vec::new(), Vec::new());
    while kept.len() < wanted && input.next(&mut row)? {
        let packed = Row::pack(&row);
        shot.watch.charge(held_bytes(&packed))?;
        kept.push(packed);
    }
    Ok(kept)
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
    Ok(Some(KeyRange { prefix, lower, upper, reverse, wanted: None }))
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
    with_key: bool,
    watch: Arc<Watch>,
    ticker: Ticker,
}

impl LeafStream {
    fn new(leaf: Leaf, rows: RowIterator, with_key: bool, shot: &OneShot) -> Self {
        LeafStream { leaf, rows, with_key, watch: shot.watch.clone(), ticker: Ticker::default() }
    }
}

impl Pull for LeafStream {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        self.ticker.tick(&self.watch)?;
        match self.rows.next() {
            Some(next) => {
                fill(&self.leaf, &next?, self.with_key, row);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// Rows of one key after another.
struct LookupStream<'p> {
    leaf: Leaf,
    keys: std::slice::Iter<'p, Vec<ScalarExpr>>,
    /// Only then can a key come twice.
    several: bool,
    seen: BTreeSet<Vec<u8>>,
    found: std::vec::IntoIter<(RowKey, Row)>,
    with_key: bool,
    shot: OneShot,
}

impl Pull for LookupStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            if let Some(found) = self.found.next() {
                fill(&self.leaf, &found, self.with_key, row);
                return Ok(true);
            }
            let Some(key) = self.keys.next() else { return Ok(false) };
            row.clear();
            let mut compares = true;
            for value in key {
                row.push(value.eval(&[], &self.shot.eval)?);
                compares &=
                    matches!(value, ScalarExpr::Literal(..)) || row.last().is_some_and(|value| !value.is_null());
            }
            if compares && (!self.several || self.seen.insert(key::encode_all(row))) {
                self.found = self.leaf.find_same(self.shot.reader.as_ref(), row)?.into_iter();
            }
        }
    }
}

/// Rows of a catalog relation.
struct SystemStream {
    rows: FoundRows,
    watch: Arc<Watch>,
    ticker: Ticker,
}

impl Pull for SystemStream {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        self.ticker.tick(&self.watch)?;
        let Some(next) = self.rows.next() else { return Ok(false) };
        next?.unpack_into(row);
        Ok(true)
    }
}

fn fill(leaf: &Leaf, (key, stored): &(RowKey, Row), with_key: bool, row: &mut Vec<Datum>) {
    row.clear();
    leaf.append(stored, row);
    if with_key {
        row.push(key_datum(key));
    }
}
