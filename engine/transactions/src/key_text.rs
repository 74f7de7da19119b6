//! Keys as error messages show them.

use repr::text::{self, TextContext};
use repr::{ColumnIndex, Datum};
use state::shape::TableShape;

/// `Key (a, b)=(1, x)`, of values that the client itself sent.
pub(crate) fn key_text(shape: &TableShape, columns: &[ColumnIndex], row: &[Datum]) -> String {
    let values: Vec<Datum> = columns.iter().map(|column| row[*column].clone()).collect();
    values_text(shape, columns, &values)
}

/// The same, of the values alone.
pub(crate) fn values_text(shape: &TableShape, columns: &[ColumnIndex], values: &[Datum]) -> String {
    let context = TextContext::default();
    let columns: Vec<_> = columns.iter().map(|column| &shape.table().columns[*column]).collect();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let texts: Vec<String> = columns
        .iter()
        .zip(values)
        .map(|(column, value)| match value {
            Datum::Null => "null".to_owned(),
            value => text::format(value, &column.column_type.scalar, &context),
        })
        .collect();
    format!("Key ({})=({})", names.join(", "), texts.join(", "))
}
