//! What a row says of itself by its columns with properties: spelled, so that rows that say the same are known by their bytes, and
//! read back from that.
//!
//! When a row ends is not spelled: it is another of each.

use crate::answer::Stored;
use planner::catalog::{Property, Table};
use repr::row::Columns as RowColumns;
use repr::{Array, ColumnIndex, Datum, Row, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use storage::RowEnd;

const MICROSECONDS_A_DAY: i64 = 86_400_000_000;

/// What rows say of themselves, by property.
pub type ValuesSaid = BTreeMap<Property, BTreeSet<Box<str>>>;

/// A table's columns that hold properties.
pub struct PropertyColumns {
    table: Arc<Table>,
    /// In the order of their columns.
    properties: Vec<(ColumnIndex, Property)>,
}

impl PropertyColumns {
    /// Of a table.
    pub fn of(table: &Arc<Table>) -> Self {
        let properties = table.live_columns().filter_map(|(index, column)| Some((index, column.property?))).collect();
        PropertyColumns { table: table.clone(), properties }
    }

    /// Whether rows say nothing of themselves.
    pub fn say_nothing(&self) -> bool {
        self.properties.is_empty()
    }

    /// Whether rows say the same by others.
    pub fn say_the_same(&self, other: &PropertyColumns) -> bool {
        self.table.schema_version == other.table.schema_version && self.properties == other.properties
    }

    /// By what a saying is read: others are not of these columns.
    pub fn form(&self) -> Arc<[u8]> {
        let version = self.table.schema_version.to_le_bytes();
        let columns = self.properties.iter().flat_map(|(column, property)| {
            (*column as u64).to_le_bytes().into_iter().chain(property.word().bytes()).chain([0])
        });
        version.into_iter().chain(columns).collect()
    }

    /// Appends what a row says to `key`. When it ends is given, if a column says that.
    pub fn spell(&self, row: &Row, key: &mut Vec<u8>) -> RowEnd {
        let stored = Stored { bytes: row.bytes(), later: &self.table.columns };
        let mut columns = RowColumns::over(row.bytes());
        let mut end = RowEnd::Unsaid;
        for (column, property) in &self.properties {
            let value = stored.value(&mut columns, *column);
            match property {
                Property::Expires => end = end_of(&value),
                _ => spell(&value, key),
            }
        }
        end
    }

    /// What a row says that is spelled so.
    pub fn read(&self, key: &[u8]) -> ValuesSaid {
        let (mut said, mut rest) = (ValuesSaid::new(), key);
        for (_, property) in self.properties.iter().filter(|(_, property)| *property != Property::Expires) {
            said.insert(*property, property.words(&read(&mut rest)));
        }
        said
    }
}

fn end_of(value: &Value<'_>) -> RowEnd {
    match value {
        Value::Timestamptz(at) | Value::Timestamp(at) => RowEnd::At(*at),
        Value::Date(days) => RowEnd::At(i64::from(*days).saturating_mul(MICROSECONDS_A_DAY)),
        _ => RowEnd::Without,
    }
}

const SILENT: u8 = 0;
const TEXT: u8 = 1;
const ELEMENT: u8 = 2;
const SILENT_ELEMENT: u8 = 3;
const ARRAY_END: u8 = 4;

/// A value so that no two are spelled the same, but for those that say nothing.
fn spell(value: &Value<'_>, key: &mut Vec<u8>) {
    let mut text = |tag: u8, bytes: &[u8]| {
        key.push(tag);
        key.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        key.extend_from_slice(bytes);
    };
    match value {
        Value::Text(bytes) => text(TEXT, bytes),
        Value::Array(array) => {
            for element in &array.elements {
                match element {
                    Datum::Text(element) => text(ELEMENT, element.as_bytes()),
                    _ => text(SILENT_ELEMENT, &[]),
                }
            }
            text(ARRAY_END, &[]);
        }
        _ => text(SILENT, &[]),
    }
}

/// The next value that is spelled there.
fn read(rest: &mut &[u8]) -> Datum {
    let mut elements = Vec::new();
    loop {
        let (tag, text) = take(rest).expect("written by `spell`");
        let text = || Datum::Text(String::from_utf8_lossy(text).into_owned().into());
        match tag {
            TEXT => return text(),
            ELEMENT => elements.push(text()),
            SILENT_ELEMENT => elements.push(Datum::Null),
            ARRAY_END => return Datum::Array(Arc::new(Array::vector(elements))),
            _ => return Datum::Null,
        }
    }
}

fn take<'k>(rest: &mut &'k [u8]) -> Option<(u8, &'k [u8])> {
    let (tag, after) = rest.split_first()?;
    let (length, after) = after.split_first_chunk::<4>()?;
    let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some((*tag, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use planner::catalog::{Column, NamespaceId};
    use repr::{ColumnType, RelationId, ScalarType};

    fn table() -> Arc<Table> {
        let array = ScalarType::Array(Box::new(ScalarType::Text));
        let columns = [
            ("purposes", array, Some(Property::Purposes)),
            ("name", ScalarType::Text, None),
            ("shared", ScalarType::Text, Some(Property::SharedWith)),
            ("until", ScalarType::Date, Some(Property::Expires)),
            ("kind", ScalarType::Text, Some(Property::Category)),
        ];
        let mut table = Table::new(RelationId(7), NamespaceId(1), "contact");
        table.columns = columns
            .into_iter()
            .map(|(name, scalar, property)| {
                let mut column = Column::new(name, ColumnType::nullable(scalar));
                column.property = property;
                column
            })
            .collect();
        Arc::new(table)
    }

    fn texts(texts: &[Option<&str>]) -> Datum {
        let texts = texts.iter().map(|text| text.map_or(Datum::Null, Datum::text));
        Datum::Array(Arc::new(Array::vector(texts.collect())))
    }

    #[test]
    fn what_is_spelled_is_read_as_the_row_says_it() {
        let columns = PropertyColumns::of(&table());
        let purposes = [Datum::Null, texts(&[]), texts(&[Some("ads")]), texts(&[Some("a"), None, Some("")])];
        let words = [Datum::Null, Datum::text(""), Datum::text("bank, post"), Datum::text("ä,,b")];
        let mut spelled = BTreeMap::new();
        for purpose in &purposes {
            for shared in &words {
                for kind in &words {
                    let row =
                        Row::pack(&[purpose.clone(), Datum::text("x"), shared.clone(), Datum::Date(1), kind.clone()]);
                    let mut key = Vec::new();
                    assert_eq!(columns.spell(&row, &mut key), RowEnd::At(MICROSECONDS_A_DAY));
                    let said = columns.read(&key);
                    assert_eq!(said[&Property::Purposes], Property::Purposes.words(purpose));
                    assert_eq!(said[&Property::SharedWith], Property::SharedWith.words(shared));
                    assert_eq!(said[&Property::Category], Property::Category.words(kind));
                    assert!(spelled.insert(key, said).is_none(), "another row is spelled so");
                }
            }
        }
    }

    #[test]
    fn columns_added_later_say_what_they_say_of_rows_of_before() {
        let mut later = (*table()).clone();
        later.columns[4].missing = Some(Datum::text("old"));
        let (columns, mut key) = (PropertyColumns::of(&Arc::new(later)), Vec::new());
        let row = Row::pack(&[Datum::Null, Datum::Null, Datum::Null, Datum::Null]);
        assert_eq!(columns.spell(&row, &mut key), RowEnd::Without);
        assert!(columns.read(&key)[&Property::Category].contains("old"));
        assert_ne!(
            columns.form(),
            PropertyColumns::of(&Arc::new(Table::new(RelationId(7), NamespaceId(1), "t"))).form()
        );
    }
}
