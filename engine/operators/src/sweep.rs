//! A table's rows that have one of a long list of values: all rows are read, or those of each value, whichever are fewer.
//!
//! How many rows a table has nobody knows beforehand. They are read up to as many as the list's values take to be looked up;
//! of a table that has more the values are looked up then, and what was given is not given again.

use crate::get::{fill, stored};
use crate::leaf::Leaf;
use crate::once::{OneShot, PackedPull, Pull};
use planner::plan::Lookup;
use planner::scalar::{Mfp, ScalarExpr};
use planner::transform::shape;
use repr::hash::HashSet;
use repr::{Array, Datum, RelationId, Row, RowKey, key};
use state::SqlError;
use state::answer::Stored;
use state::interrupt::Ticker;
use state::reader::RowIterator;
use std::sync::Arc;

/// Lists that are not longer are looked up, by their plans.
const VALUES_MIN: usize = 65_536;
/// A row that is read takes as long as so many values that are looked up and not found.
const VALUES_A_ROW: usize = 2;
/// Values that are looked up together.
const AT_ONCE: usize = 64;

/// See the module.
pub struct Sweep {
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

impl Sweep {
    /// Of a table that is scanned for a list of that kind, and has an index for it.
    pub fn of(relation: RelationId, with_key: bool, mfp: &Mfp, shot: &OneShot) -> Result<Option<Sweep>, SqlError> {
        let catalog = shot.reader.catalog();
        let Some(table) = catalog.table(relation) else { return Ok(None) };
        let listed = |(_, predicate): &(usize, ScalarExpr)| {
            let (left, array) = shape::equal_to_any(predicate)?;
            let (ScalarExpr::Column(column), ScalarExpr::Literal(Datum::Array(values), array_type)) =
                (shape::relabelled(left), array)
            else {
                return None;
            };
            let class = shape::key_class(&table.columns.get(*column)?.column_type.scalar)?;
            let agrees = shape::key_class(&array_type.scalar.element()?)? == class;
            let lookup = if table.primary_key_columns() == Some(&[*column][..]) {
                Lookup::PrimaryKey
            } else {
                Lookup::Index(table.indexes.iter().find(|index| index.columns == [*column])?.id)
            };
            (agrees && values.elements.len() > VALUES_MIN).then(|| (lookup, *column, values.clone()))
        };
        let Some((lookup, column, values)) = mfp.filter.iter().find_map(listed) else { return Ok(None) };
        let leaf = Leaf::open(catalog, relation, Some(lookup))?.read_by(mfp);
        let rows = shot.reader.scan(leaf.table())?;
        Ok(Some(Sweep {
            rows: Some((rows, values.elements.len() / VALUES_A_ROW)),
            leaf,
            column,
            values,
            given: HashSet::default(),
            next: 0,
            seen: HashSet::default(),
            wanted: Vec::new(),
            found: Vec::new().into_iter(),
            standing: (RowKey::new(&[]), Row::default()),
            with_key,
            shot: shot.clone(),
            ticker: Ticker::default(),
        }))
    }

    /// The next of the rows that are read first.
    fn read(&mut self) -> Result<bool, SqlError> {
        while let Some((rows, left)) = &mut self.rows {
            self.ticker.tick(&self.shot.watch)?;
            let Some(next) = rows.next() else { return Ok(false) };
            if *left == 0 {
                self.rows = None;
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

impl Pull for Sweep {
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

impl PackedPull for Sweep {
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
