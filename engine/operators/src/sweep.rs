//! A table's rows that have one of a long list of values: all rows are read, or those of each value, whichever are fewer.
//!
//! How many rows a table has nobody knows beforehand. They are read up to as many as `access` says; of a table that has more
//! the values are looked up then, and what was given is not given again.

use crate::access::tell;
use crate::get::{fill, stored};
use crate::leaf::Leaf;
use crate::once::{OneShot, PackedPull, Pull};
use planner::plan::{Access, Plan, Way};
use repr::hash::HashSet;
use repr::{Array, Datum, Row, RowKey, key};
use state::SqlError;
use state::answer::Stored;
use state::interrupt::Ticker;
use state::reader::RowIterator;
use std::sync::Arc;

/// Values that are looked up together.
const AT_ONCE: usize = 64;

/// See the module.
pub(crate) struct Sweep<'p> {
    plan: &'p Plan,
    leaf: Leaf,
    column: usize,
    values: Arc<Array>,
    /// Rows to be read, and how many at most; none once the values are looked up.
    rows: Option<(RowIterator, usize)>,
    /// Rows that were read and given.
    given: HashSet<RowKey>,
    /// The value that is looked up next, and those that were, by their codes.
    next: usize,
    seen: HashSet<Vec<u8>>,
    wanted: Vec<Vec<Datum>>,
    found: std::vec::IntoIter<(RowKey, Row)>,
    standing: (RowKey, Row),
    with_key: bool,
    shot: OneShot,
    ticker: Ticker,
}

impl<'p> Sweep<'p> {
    /// Of a `Get` that lists values.
    pub(crate) fn new(plan: &'p Plan, leaf: Leaf, rows_max: usize, shot: &OneShot) -> Result<Self, SqlError> {
        let columns =
            leaf.index().map_or_else(|| leaf.table().primary_key_columns(), |index| Some(index.columns.as_slice()));
        let (Plan::Get { access: Access::Listed { values, .. }, with_key, .. }, Some([column])) = (plan, columns)
        else {
            return Err(SqlError::new("XX000", "a sweep without a list of one column"));
        };
        Ok(Sweep {
            plan,
            rows: Some((shot.reader.scan(leaf.table())?, rows_max)),
            column: *column,
            leaf,
            values: values.clone(),
            given: HashSet::default(),
            next: 0,
            seen: HashSet::default(),
            wanted: Vec::new(),
            found: Vec::new().into_iter(),
            standing: (RowKey::new(&[]), Row::default()),
            with_key: *with_key,
            shot: shot.clone(),
            ticker: Ticker::default(),
        })
    }

    /// The next of the rows that are read first.
    fn read(&mut self) -> Result<bool, SqlError> {
        while let Some((rows, left)) = &mut self.rows {
            self.ticker.tick(&self.shot.watch)?;
            let Some(next) = rows.next() else { return Ok(false) };
            if *left == 0 {
                self.rows = None;
                tell(self.plan, Way::AllRowsThenKeys, &self.shot);
                break;
            }
            *left -= 1;
            let (key, row) = next?;
            let missing = || self.leaf.table().columns[self.column].missing.clone().unwrap_or(Datum::Null);
            let value = row.get(self.column).unwrap_or_else(missing);
            if !value.is_null() && self.values.find(&value)?.found {
                self.given.insert(key.clone());
                self.standing = (key, row);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The next values to be looked up, each once.
    fn gather(&mut self) -> Result<(), SqlError> {
        while self.wanted.len() < AT_ONCE
            && let Some(value) = self.values.elements.get(self.next)
        {
            self.ticker.tick(&self.shot.watch)?;
            self.next += 1;
            let mut code = Vec::with_capacity(12);
            key::encode(&mut code, value);
            if !value.is_null() && self.seen.insert(code) {
                self.wanted.push(vec![value.clone()]);
            }
        }
        Ok(())
    }
}

impl Pull for Sweep<'_> {
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

impl PackedPull for Sweep<'_> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        if self.rows.is_some() {
            let found = self.read()?;
            if found || self.rows.is_some() {
                return Ok(found);
            }
        }
        loop {
            for (key, row) in self.found.by_ref() {
                if !self.given.contains(&key) {
                    self.standing = (key, row);
                    return Ok(true);
                }
            }
            if self.wanted.is_empty() {
                self.gather()?;
            }
            if self.wanted.is_empty() {
                return Ok(false);
            }
            let mut values = 0;
            let found = self.leaf.find_first(self.shot.reader.as_ref(), &self.wanted, &mut |_| values += 1)?;
            self.found = found.into_iter();
            self.wanted.drain(..values);
        }
    }

    fn row(&mut self) -> Stored<'_> {
        stored(&self.leaf, self.standing.1.bytes())
    }
}
