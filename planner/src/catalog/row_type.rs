//! The type of a table's rows: a composite of the table's name, which is made and goes with the table.
//!
//! It is no entry of the catalog. Its OID follows from the table's, and what it is made of are the table's columns as they are.

use super::{Catalog, Table};
use repr::types::RecordType;
use repr::{Id, RelationId};
use std::sync::Arc;

/// Row types and their arrays have the OIDs from here on, two a table: above those that are handed out, below those of rules.
const FIRST: Id = 1 << 29;

/// Tables from here on have none.
const TABLES_MAX: Id = 1 << 28;

/// OID of a table's row type, its array's is the next. Relations of sessions have none.
pub fn row_type_of(relation: RelationId) -> Option<Id> {
    (relation.0 < TABLES_MAX).then(|| FIRST + 2 * relation.0)
}

/// The relation whose row type has that OID.
pub fn relation_of(id: Id) -> Option<RelationId> {
    let place = id.checked_sub(FIRST).filter(|place| place % 2 == 0)?;
    (place / 2 < TABLES_MAX).then_some(RelationId(place / 2))
}

impl Table {
    /// The type of its rows. A view's are of no type with a name, nor are those of a session's own tables.
    pub fn row_type(&self) -> Option<RecordType> {
        let id = row_type_of(self.id).filter(|_| self.view.is_none())?;
        let columns = self.live_columns();
        Some(RecordType::named(id, columns.map(|(_, column)| (column.name.as_str(), &column.column_type))))
    }
}

impl Catalog {
    /// The table whose row type has that OID.
    pub fn table_of_row_type(&self, id: Id) -> Option<&Arc<Table>> {
        self.relations.get(&relation_of(id)?).filter(|table| table.view.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::{relation_of, row_type_of};
    use repr::RelationId;

    #[test]
    fn a_row_type_tells_its_table() {
        for id in [16_384, 20_001, (1 << 28) - 1] {
            let row = row_type_of(RelationId(id)).expect("a table's");
            assert_eq!((relation_of(row), relation_of(row + 1)), (Some(RelationId(id)), None), "the array is no row");
        }
        assert_eq!(row_type_of(RelationId(1 << 31)), None, "a session's own table has none");
        assert_eq!(relation_of(16_384), None);
    }
}
