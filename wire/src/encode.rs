//! Results on their way out: RowDescription, DataRow, command tags.
//!
//! Rows are written straight into the connection's buffer, without a message object each.

use crate::types::text::{self, TextContext};
use crate::types::{ColumnFormat, Format, binary};
use bytes::{BufMut, BytesMut};
use engine::SqlError;
use engine::protocol::{OutputColumn, RowTag};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{FieldDescription, RowDescription};
use repr::Datum;

/// What the columns are; formats as Bind asked for them, or text.
pub fn row_description(columns: &[OutputColumn], formats: &[ColumnFormat]) -> PgWireBackendMessage {
    let fields = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let scalar = &column.column_type.scalar;
            let (table, number) = match column.origin {
                Some((relation, position)) => (relation.0, i16::try_from(position + 1).unwrap_or(0)),
                None => (0, 0),
            };
            FieldDescription::new(
                column.name.clone(),
                // An OID's bits, whatever the library takes them for.
                table.cast_signed(),
                number,
                scalar.oid(),
                scalar.length(),
                column.column_type.modifier,
                formats.get(index).map_or(Format::Text, |column| column.format).code(),
            )
        })
        .collect();
    PgWireBackendMessage::RowDescription(RowDescription::new(fields))
}

/// Appends one DataRow; on an error nothing of it remains.
pub fn data_row(
    row: &[Datum],
    columns: &[ColumnFormat],
    context: &TextContext,
    out: &mut BytesMut,
) -> Result<(), SqlError> {
    let start = out.len();
    let result = data_row_open(row, columns, context, out, start);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn data_row_open(
    row: &[Datum],
    columns: &[ColumnFormat],
    context: &TextContext,
    out: &mut BytesMut,
    start: usize,
) -> Result<(), SqlError> {
    if row.len() != columns.len() {
        return Err(SqlError::new(
            "XX000",
            format!("a row of {} values came for {} columns", row.len(), columns.len()),
        ));
    }
    out.put_u8(b'D');
    out.put_i32(0);
    out.put_u16(u16::try_from(row.len()).map_err(|_| SqlError::new("54011", "too many columns in a result"))?);
    for (datum, column) in row.iter().zip(columns) {
        match column.format {
            Format::Binary => binary::encode_with_length(datum, &column.scalar, context, out)?,
            Format::Text => text::encode_with_length(datum, &column.scalar, context, out)?,
        }
    }
    let length = i32::try_from(out.len() - start - 1)
        .map_err(|_| SqlError::new("54000", "row is too large for the protocol"))?;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// The command tag of a stream that gave this many rows.
pub fn command_tag(tag: &RowTag, rows: u64) -> String {
    match tag {
        RowTag::Counted(word) => format!("{word} {rows}"),
        RowTag::Fixed(tag) => tag.clone(),
    }
}
