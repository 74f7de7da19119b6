//! The leaves of a chain: a table's rows by scan, lookup or range; a catalog relation's rows.

use super::OneShot;
use super::stream::Pull;
use super::watch::{Ticker, Watch};
use crate::SqlError;
use crate::reader::{KeyRange, RowIterator};
use crate::render::leaf::{Leaf, key_datum};
use planner::plan::{Access, Lookup};
use planner::scalar::ScalarExpr;
use repr::{Datum, RelationId, Row, RowKey, key};
use std::collections::BTreeSet;
use std::sync::Arc;

/// All columns of the relation's rows (and the row key), read as they are asked for.
pub fn stream<'p>(
    relation: RelationId,
    access: &'p Access,
    with_key: bool,
    shot: &OneShot,
) -> Result<Box<dyn Pull + 'p>, SqlError> {
    if let Some(rows) = shot.system.rows(relation) {
        return Ok(Box::new(SystemStream {
            rows: rows?.into_iter(),
            watch: shot.watch.clone(),
            ticker: Ticker::default(),
        }));
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
        Access::Range { lookup, prefix, lower, upper, reverse } => {
            let leaf = Leaf::open(reader.catalog(), relation, Some(*lookup))?;
            let rows = match range(prefix, lower.as_ref(), upper.as_ref(), *reverse, shot)? {
                Some(range) => match lookup {
                    Lookup::PrimaryKey => reader.range(leaf.table(), None, &range)?,
                    Lookup::Index(_) => reader.range(leaf.table(), leaf.index(), &range)?,
                },
                None => Box::new(std::iter::empty()),
            };
            Ok(Box::new(LeafStream::new(leaf, rows, with_key, shot)))
        }
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
    Ok(Some(KeyRange { prefix, lower, upper, reverse }))
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
    rows: std::vec::IntoIter<Row>,
    watch: Arc<Watch>,
    ticker: Ticker,
}

impl Pull for SystemStream {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        self.ticker.tick(&self.watch)?;
        let Some(next) = self.rows.next() else { return Ok(false) };
        next.unpack_into(row);
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
