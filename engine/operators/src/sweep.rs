//! A table's rows that have one of a long list of values: all rows are read, or those of each value, whichever are fewer.
//!
//! How many rows a table has nobody knows beforehand. They are read up to as many as `access` says; of a table that has more
//! the values are looked up then, and what was given is not given again.

use crate::access::tell;
use crate::leaf::Leaf;
use crate::leaf_rows::Find;
use crate::once::OneShot;
use planner::plan::{Access, Plan, Way};
use repr::hash::HashSet;
use repr::{Array, Datum, Row, RowKey, key};
use state::SqlError;
use state::interrupt::Ticker;
use state::reader::RowIterator;
use std::sync::Arc;

/// Values that are looked up together.
const AT_ONCE: usize = 64;

/// See the module.
pub(crate) struct Sweep<'p> {
    plan: &'p Plan,
    values: ListedValues,
    read: AllRows,
    found: std::vec::IntoIter<(RowKey, Row)>,
    shot: OneShot,
    ticker: Ticker,
}

/// The values.
struct ListedValues {
    column: usize,
    array: Arc<Array>,
    /// The one that is looked up next, and those that were, by their codes.
    next: usize,
    seen: HashSet<Vec<u8>>,
    wanted: Vec<Vec<Datum>>,
}

/// The rows that are read first.
struct AllRows {
    /// Those that are left, and how many at most; none once the values are looked up.
    left: Option<(RowIterator, usize)>,
    given: HashSet<RowKey>,
}

impl<'p> Sweep<'p> {
    /// Of a `Get` that lists values.
    pub(crate) fn new(plan: &'p Plan, leaf: &Leaf, rows_max: usize, shot: &OneShot) -> Result<Self, SqlError> {
        let columns =
            leaf.index().map_or_else(|| leaf.table().primary_key_columns(), |index| Some(index.columns.as_slice()));
        let (Plan::Get { access: Access::Listed { values, .. }, .. }, Some([column])) = (plan, columns) else {
            return Err(SqlError::new("XX000", "a sweep without a list of one column"));
        };
        Ok(Sweep {
            plan,
            read: AllRows { left: Some((shot.reader.scan(leaf.table())?, rows_max)), given: HashSet::default() },
            values: ListedValues {
                column: *column,
                array: values.clone(),
                next: 0,
                seen: HashSet::default(),
                wanted: Vec::new(),
            },
            found: Vec::new().into_iter(),
            shot: shot.clone(),
            ticker: Ticker::default(),
        })
    }

    /// The next of the rows that are read first.
    fn read(&mut self, leaf: &Leaf) -> Result<Option<(RowKey, Row)>, SqlError> {
        while let Some((rows, left)) = &mut self.read.left {
            self.ticker.tick(&self.shot.watch)?;
            let Some(next) = rows.next() else { return Ok(None) };
            if *left == 0 {
                self.read.left = None;
                tell(self.plan, Way::AllRowsThenKeys, &self.shot);
                break;
            }
            *left -= 1;
            let (key, row) = next?;
            let missing = || leaf.table().columns[self.values.column].missing.clone().unwrap_or(Datum::Null);
            let value = row.get(self.values.column).unwrap_or_else(missing);
            if !value.is_null() && self.values.array.find(&value)?.found {
                self.read.given.insert(key.clone());
                return Ok(Some((key, row)));
            }
        }
        Ok(None)
    }

    /// The next values to be looked up, each once.
    fn gather(&mut self) -> Result<(), SqlError> {
        while self.values.wanted.len() < AT_ONCE
            && let Some(value) = self.values.array.elements.get(self.values.next)
        {
            self.ticker.tick(&self.shot.watch)?;
            self.values.next += 1;
            let mut code = Vec::with_capacity(12);
            key::encode(&mut code, value);
            if !value.is_null() && self.values.seen.insert(code) {
                self.values.wanted.push(vec![value.clone()]);
            }
        }
        Ok(())
    }
}

impl Find for Sweep<'_> {
    fn next(&mut self, leaf: &Leaf) -> Result<Option<(RowKey, Row)>, SqlError> {
        if self.read.left.is_some() {
            let found = self.read(leaf)?;
            if found.is_some() || self.read.left.is_some() {
                return Ok(found);
            }
        }
        loop {
            for (key, row) in self.found.by_ref() {
                if !self.read.given.contains(&key) {
                    return Ok(Some((key, row)));
                }
            }
            if self.values.wanted.is_empty() {
                self.gather()?;
            }
            if self.values.wanted.is_empty() {
                return Ok(None);
            }
            let mut values = 0;
            let found = leaf.find_first(self.shot.reader.as_ref(), &self.values.wanted, &mut |_| values += 1)?;
            self.found = found.into_iter();
            self.values.wanted.drain(..values);
        }
    }
}
