//! A state as a view that is being filled reads it: what was looked up is kept for a while, since many rows ask for the
//! same.
//!
//! Holds rows in clear, as long as the view is being filled and up to a bound. Never asked by what follows commits.

use parking_lot::Mutex;
use planner::catalog::{Catalog, Index, Table};
use planner::scalar::inverted::Wanted;
use repr::{CommitTime, Datum, MicroDbId, Row, RowKey, key};
use state::SqlError;
use state::reader::{KeyRange, Located, RangeRows, Reader, RowIterator};
use state::view_states::Arrangement;
use std::collections::HashMap;
use std::sync::Arc;

/// What is kept may take twice this.
const GENERATION_BYTES_MAX: usize = 8 << 20;
/// What a row and a key cost beside their bytes.
const OVERHEAD_BYTES: usize = 64;

type CachedRows = Arc<[(RowKey, Row)]>;

/// See the module.
pub struct CachedReader {
    reader: Arc<dyn Reader>,
    // Asked by a view worker alone.
    found: Mutex<Generations>,
}

/// By table, index and key. Once the young are too many, those that were not asked for again since they were old are let go.
#[derive(Default)]
struct Generations {
    young: HashMap<Vec<u8>, CachedRows>,
    young_bytes: usize,
    old: HashMap<Vec<u8>, CachedRows>,
}

impl Generations {
    fn get(&mut self, key: &[u8]) -> Option<CachedRows> {
        if let Some(rows) = self.young.get(key) {
            return Some(rows.clone());
        }
        let (key, rows) = self.old.remove_entry(key)?;
        self.keep(key, rows.clone());
        Some(rows)
    }

    fn keep(&mut self, key: Vec<u8>, rows: CachedRows) {
        let row_bytes = |(key, row): &(RowKey, Row)| key.bytes().len() + row.bytes().len() + OVERHEAD_BYTES;
        let bytes = key.len() + OVERHEAD_BYTES + rows.iter().map(row_bytes).sum::<usize>();
        if self.young_bytes + bytes > GENERATION_BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
            if bytes > GENERATION_BYTES_MAX {
                return;
            }
        }
        self.young_bytes += bytes;
        self.young.insert(key, rows);
    }
}

impl CachedReader {
    /// Nothing looked up yet.
    pub fn over(reader: Arc<dyn Reader>) -> Arc<CachedReader> {
        Arc::new(CachedReader { reader, found: Mutex::default() })
    }
}

impl Reader for CachedReader {
    fn time(&self) -> CommitTime {
        self.reader.time()
    }
    fn catalog(&self) -> &Arc<Catalog> {
        self.reader.catalog()
    }
    fn row_key(&self, table: &Table, primary_key: &[Datum]) -> RowKey {
        self.reader.row_key(table, primary_key)
    }
    fn get(&self, table: &Table, key: &RowKey) -> Result<Option<Row>, SqlError> {
        self.reader.get(table, key)
    }
    fn index(&self, table: &Table, index: &Index, values: &[Datum]) -> Result<Vec<(RowKey, Row)>, SqlError> {
        self.reader.index(table, index, values)
    }
    fn locate(
        &self,
        table: &Table,
        index: &Index,
        values: &[Datum],
        at_most: usize,
    ) -> Result<Option<Vec<Located>>, SqlError> {
        self.reader.locate(table, index, values, at_most)
    }
    fn read_located(&self, table: &Table, located: Vec<Located>) -> Result<Vec<(RowKey, Row)>, SqlError> {
        self.reader.read_located(table, located)
    }
    fn arranged(&self, table: &Table, index: Option<&Index>) -> Result<Option<Arrangement>, SqlError> {
        self.reader.arranged(table, index)
    }
    fn note_arranged(&self, table: &Table, key: Option<&[u8]>) {
        self.reader.note_arranged(table, key);
    }
    fn find(&self, table: &Table, index: Option<&Index>, values: &[Datum]) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let mut asked = key::encode_all(values);
        asked.extend(table.id.0.to_be_bytes());
        asked.push(u8::from(index.is_some()));
        asked.extend(index.map_or([0; 4], |index| index.id.0.to_be_bytes()));
        if let Some(rows) = self.found.lock().get(&asked) {
            return Ok(rows.to_vec());
        }
        let rows = self.reader.find(table, index, values)?;
        self.found.lock().keep(asked, rows.as_slice().into());
        Ok(rows)
    }
    fn find_first(
        &self,
        table: &Table,
        index: Option<&Index>,
        keys: &[Vec<Datum>],
        tell: &mut dyn FnMut(usize),
    ) -> Result<Vec<(RowKey, Row)>, SqlError> {
        self.reader.find_first(table, index, keys, tell)
    }
    fn index_any(&self, table: &Table, index: &Index, values: &[Datum]) -> Result<bool, SqlError> {
        self.reader.index_any(table, index, values)
    }
    fn range(&self, table: &Table, index: Option<&Index>, range: &KeyRange) -> Result<Option<RangeRows>, SqlError> {
        self.reader.range(table, index, range)
    }
    fn inverted(&self, table: &Table, index: &Index, wanted: &Wanted) -> Result<Option<RangeRows>, SqlError> {
        self.reader.inverted(table, index, wanted)
    }
    fn scan(&self, table: &Table) -> Result<RowIterator, SqlError> {
        self.reader.scan(table)
    }
    fn scan_once(&self, table: &Table) -> Result<RowIterator, SqlError> {
        self.reader.scan_once(table)
    }
    fn owners(&self, table: &Table, key: &RowKey) -> Result<Vec<(MicroDbId, u32)>, SqlError> {
        self.reader.owners(table, key)
    }
}

#[cfg(test)]
mod tests {
    use super::{CachedRows, GENERATION_BYTES_MAX, Generations, Row, RowKey};

    #[test]
    fn what_is_asked_for_again_stays_and_the_rest_goes() {
        let rows = |bytes: usize| -> CachedRows {
            [(RowKey::new(&[]), Row::from_bytes(vec![0; bytes].into_boxed_slice()))].into()
        };
        let mut found = Generations::default();
        let key = |number: u8| vec![number];
        found.keep(key(0), rows(GENERATION_BYTES_MAX / 4));
        for number in 1..40 {
            assert!(found.get(&key(0)).is_some(), "asked for before each of the others");
            found.keep(key(number), rows(GENERATION_BYTES_MAX / 4));
            assert!(found.young.len() + found.old.len() <= 7, "no more than two generations");
        }
        assert!(found.get(&key(1)).is_none());
        found.keep(key(40), rows(2 * GENERATION_BYTES_MAX));
        assert!(found.get(&key(40)).is_none(), "more than fits");
    }
}
