//! How rows of catalog relations are made: columns by name, and none that nobody wants.

use super::{SystemRelation, text};
use crate::catalog::Table;
use repr::{ColumnIndex, Datum, Row, ScalarType};

/// Columns and the values that rows have which are wanted: others need not be made.
pub type WantedValues = [(ColumnIndex, Datum)];

/// The columns that say which table or index a row is about.
const ABOUT: [&str; 7] = ["attrelid", "adrelid", "indrelid", "indexrelid", "conrelid", "relname", "table_name"];

/// Which tables and indexes rows are wanted of.
pub(super) struct WantedTables<'a> {
    ids: Vec<u32>,
    names: Vec<&'a str>,
}

impl<'a> WantedTables<'a> {
    pub(super) fn of(relation: &SystemRelation, wanted: &'a WantedValues) -> Self {
        let mut tables = WantedTables { ids: Vec::new(), names: Vec::new() };
        for (column, value) in wanted {
            let name = relation.columns[*column].name;
            match value {
                Datum::Oid(id) if ABOUT.contains(&name) || (relation.name, name) == ("pg_class", "oid") => {
                    tables.ids.push(*id);
                }
                Datum::Text(found) if ABOUT.contains(&name) => tables.names.push(found),
                _ => {}
            }
        }
        tables
    }

    /// Whether rows about that may be wanted.
    pub(super) fn has(&self, id: u32, name: &str) -> bool {
        self.ids.iter().all(|wanted| *wanted == id) && self.names.iter().all(|wanted| *wanted == name)
    }

    /// Whether rows about a table, its indexes or both may be.
    pub(super) fn has_table(&self, table: &Table) -> bool {
        let is_id = |wanted: &u32| table.id.0 == *wanted || table.indexes.iter().any(|index| index.id.0 == *wanted);
        let is_name = |wanted: &&str| table.name == *wanted || table.indexes.iter().any(|index| index.name == *wanted);
        self.ids.iter().all(is_id) && self.names.iter().all(is_name)
    }
}

/// Which value stands in each column, where those of these names are given in this order.
struct Layout {
    names: Vec<&'static str>,
    places: Vec<Option<usize>>,
}

impl Layout {
    /// Names are the same where they are written at one place: so it is told without reading them.
    fn is_of(&self, values: &[(&'static str, Datum)]) -> bool {
        let mut both = self.names.iter().zip(values);
        self.names.len() == values.len() && both.all(|(known, (name, _))| std::ptr::eq(*known, *name))
    }
}

/// The rows of one relation while they are made.
pub(super) struct Rows<'a> {
    pub(super) relation: &'static SystemRelation,
    rows: Vec<Row>,
    wanted: &'a WantedValues,
    /// What columns have of which a row does not say anything.
    blanks: Vec<Datum>,
    layouts: Vec<Layout>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(relation: &'static SystemRelation, wanted: &'a WantedValues) -> Self {
        let blank = |scalar: &ScalarType| if relation.is_view { Datum::Null } else { blank(scalar) };
        let blanks = relation.columns.iter().map(|column| blank(&column.scalar)).collect();
        Rows { relation, rows: Vec::new(), wanted, blanks, layouts: Vec::new() }
    }

    /// Adds a row of the named columns; a column that the relation has not is left out, and a row that is not wanted.
    pub(super) fn add(&mut self, values: &[(&'static str, Datum)]) {
        let known = self.layouts.iter().position(|layout| layout.is_of(values));
        let layout = known.unwrap_or_else(|| self.lay_out(values));
        let places = &self.layouts[layout].places;
        let value = |column: ColumnIndex| places[column].map_or(&self.blanks[column], |place| &values[place].1);
        if self.wanted.iter().any(|(column, wanted)| is_other(value(*column), wanted)) {
            return;
        }
        self.rows.push(Row::pack((0..places.len()).map(value)));
    }

    /// Adds those of them that are wanted.
    pub(super) fn add_made(&mut self, rows: &[Row]) {
        let is_wanted = |row: &&Row| {
            let mut wanted = self.wanted.iter();
            wanted.all(|(column, value)| row.get(*column).is_none_or(|found| !is_other(&found, value)))
        };
        self.rows.extend(rows.iter().filter(is_wanted).cloned());
    }

    fn lay_out(&mut self, values: &[(&'static str, Datum)]) -> usize {
        let columns = self.relation.columns.iter();
        let places = columns.map(|column| values.iter().position(|(name, _)| *name == column.name)).collect();
        self.layouts.push(Layout { names: values.iter().map(|(name, _)| *name).collect(), places });
        self.layouts.len() - 1
    }

    /// Zero in each counter: nothing is counted.
    pub(super) fn counters(&self) -> Vec<(&'static str, Datum)> {
        let counters = self.relation.columns.iter().filter(|column| column.scalar == ScalarType::Int8);
        counters.map(|column| (column.name, Datum::Int8(0))).collect()
    }

    pub(super) fn finish(self) -> Vec<Row> {
        self.rows
    }
}

/// Whether a value is certainly not the one that is wanted.
fn is_other(value: &Datum, wanted: &Datum) -> bool {
    match (value, wanted) {
        (Datum::Oid(value), Datum::Oid(wanted)) => value != wanted,
        (Datum::Text(value), Datum::Text(wanted)) => value != wanted,
        _ => false,
    }
}

/// What PostgreSQL's fixed-width columns have when there is nothing to say.
fn blank(scalar: &ScalarType) -> Datum {
    match scalar {
        ScalarType::Bool => Datum::Bool(false),
        ScalarType::Int2 => Datum::Int2(0),
        ScalarType::Int4 => Datum::Int4(0),
        ScalarType::Int8 => Datum::Int8(0),
        ScalarType::Float4 => Datum::Float4(0.0),
        ScalarType::Char => text(""),
        oid if oid.is_oid() => Datum::Oid(0),
        // Of other types no column is filled that a row does not name.
        _ => Datum::Null,
    }
}
