//! Results on their way out: RowDescription, DataRow, command tags.
//!
//! Rows are written straight into the connection's buffer, without a message object each.

use crate::types::text::{self, TextContext};
use crate::types::{Format, Formats, binary};
use engine::SqlError;
use engine::protocol::{AnswerRow, Notification, OutputColumn, RowTag, TransactionStatus};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{FieldDescription, RowDescription};
use repr::Value;
use repr::row::Columns;
use std::borrow::Cow;

/// What the columns are; formats as Bind asked for them, or text.
pub(crate) fn row_description(columns: &[OutputColumn], formats: &Formats) -> PgWireBackendMessage {
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
                formats.of(index).code(),
            )
        })
        .collect();
    PgWireBackendMessage::RowDescription(RowDescription::new(fields))
}

/// Appends one DataRow; on an error nothing of it remains.
pub(crate) fn data_row(
    row: &AnswerRow<'_>,
    columns: &[OutputColumn],
    formats: &Formats,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let start = out.len();
    let result = data_row_open(row, columns, formats, context, out, start);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn data_row_open(
    row: &AnswerRow<'_>,
    columns: &[OutputColumn],
    formats: &Formats,
    context: &TextContext,
    out: &mut Vec<u8>,
    start: usize,
) -> Result<(), SqlError> {
    if row.len() != columns.len() {
        return Err(SqlError::new(
            "XX000",
            format!("a row of {} values came for {} columns", row.len(), columns.len()),
        ));
    }
    out.reserve(16 + columns.len() * 16);
    out.extend_from_slice(&[b'D', 0, 0, 0, 0]);
    let count = u16::try_from(row.len()).map_err(|_| SqlError::new("54011", "too many columns in a result"))?;
    out.extend_from_slice(&count.to_be_bytes());
    match row {
        AnswerRow::Values(values) => {
            for (position, (datum, column)) in values.iter().zip(columns).enumerate() {
                value(datum.value(), column, formats.of(position), context, out)?;
            }
        }
        AnswerRow::Packed(stored, places) => {
            let mut values = Columns::over(stored.bytes);
            for (position, (place, column)) in places.iter().zip(columns).enumerate() {
                let format = formats.of(position);
                match (values.plain(*place), format) {
                    (Some(plain), Format::Binary) if binary::is_plain(&column.column_type.scalar) => {
                        binary::encode_plain(plain, context, out)?;
                    }
                    (Some(plain), Format::Text) => text::encode_plain(plain, context, out)?,
                    (Some(plain), Format::Binary) => value(plain.into(), column, format, context, out)?,
                    (None, _) => value(stored.value(&mut values, *place), column, format, context, out)?,
                }
            }
        }
    }
    close(start, out)
}

/// Appends one value of any kind.
fn value(
    value: Value<'_>,
    column: &OutputColumn,
    format: Format,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let scalar = &column.column_type.scalar;
    match format {
        Format::Binary => binary::encode_with_length(value, scalar, context, out),
        Format::Text => text::encode_with_length(value, scalar, context, out),
    }
}

/// Sets the length of the message that begins there.
fn close(start: usize, out: &mut [u8]) -> Result<(), SqlError> {
    let length = i32::try_from(out.len() - start - 1)
        .map_err(|_| SqlError::new("54000", "row is too large for the protocol"))?;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// A message without content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bare {
    /// ParseComplete
    Parsed = b'1',
    /// BindComplete
    Bound = b'2',
    /// CloseComplete
    Closed = b'3',
    /// NoData
    NoData = b'n',
    /// PortalSuspended
    Suspended = b's',
    /// EmptyQueryResponse
    Empty = b'I',
}

/// Appends a message without content.
pub fn bare(message: Bare, out: &mut Vec<u8>) {
    out.extend_from_slice(&[message as u8, 0, 0, 0, 4]);
}

/// Appends ReadyForQuery.
pub fn ready(status: TransactionStatus, out: &mut Vec<u8>) {
    let status = match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::InTransaction => b'T',
        TransactionStatus::Failed => b'E',
    };
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

/// Appends NotificationResponse.
pub fn notification(notification: &Notification, out: &mut Vec<u8>) {
    let (channel, payload) = (notification.channel.as_bytes(), notification.payload.as_bytes());
    // Both are bounded where they are made.
    let length = u32::try_from(4 + 4 + channel.len() + 1 + payload.len() + 1).unwrap_or(u32::MAX);
    out.push(b'A');
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&notification.backend.to_be_bytes());
    for text in [channel, payload] {
        out.extend_from_slice(text);
        out.push(0);
    }
}

/// Appends CommandComplete.
pub fn complete(tag: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[b'C', 0, 0, 0, 0]);
    out.extend_from_slice(tag.as_bytes());
    out.push(0);
    close(start, out).expect("a tag is short");
}

/// The command tag of a stream that gave this many rows.
pub(crate) fn command_tag(tag: &RowTag, rows: u64) -> Cow<'_, str> {
    match tag {
        RowTag::Counted(word) => {
            let rows = rows.to_string();
            Cow::Owned([word, " ", &rows].concat())
        }
        RowTag::Fixed(tag) => Cow::Borrowed(tag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::answer::Stored;
    use repr::{ColumnType, Datum, Row, ScalarType};

    /// Values of every type that a column can have, as text.
    const NUMERICS: [&str; 17] = [
        "0",
        "0.00",
        "-0.05",
        "1",
        "12.340",
        "-9999.9999",
        "10000",
        "100000000",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "-92233720368547758.08",
        "0.0000000000000000001",
        "123456789012345678901234567890123456789012345.678",
        "NaN",
        "Infinity",
        "-Infinity",
    ];

    fn samples() -> Vec<(ScalarType, Datum)> {
        let long = "é".repeat(100);
        let texts: Vec<(ScalarType, Vec<&str>)> = vec![
            (ScalarType::Bool, vec!["t", "f"]),
            (ScalarType::Int2, vec!["0", "-1", "32767", "-32768"]),
            (ScalarType::Int4, vec!["0", "127", "-128", "128", "65536", "2147483647", "-2147483648"]),
            (ScalarType::Int8, vec!["0", "1099511627776", "9223372036854775807", "-9223372036854775808"]),
            (ScalarType::Oid, vec!["0", "4294967295"]),
            (ScalarType::Float4, vec!["0", "-0", "1.5", "1e20", "NaN", "-Infinity"]),
            (ScalarType::Float8, vec!["0", "0.1", "1e-300", "123456789012345680", "NaN", "Infinity"]),
            (ScalarType::Numeric, NUMERICS.to_vec()),
            (ScalarType::Text, vec!["", "a", "tab\tnewline\n", &long]),
            (ScalarType::Varchar, vec!["", "x y"]),
            (ScalarType::Bpchar, vec!["ab ", &long]),
            (ScalarType::Name, vec!["n"]),
            (ScalarType::Char, vec!["", "q"]),
            (ScalarType::Bytea, vec!["", "\\x00ff7f"]),
            (ScalarType::Date, vec!["2000-01-01", "0044-03-15 BC", "infinity", "2024-02-29"]),
            (ScalarType::Time, vec!["00:00:00", "23:59:59.999999"]),
            (ScalarType::TimeTz, vec!["00:00:00+00", "23:59:59.999999-07:30"]),
            (ScalarType::Citext, vec!["", "aB"]),
            (ScalarType::Hstore, vec!["", "\"a\"=>\"1\", \"b\"=>NULL"]),
            (ScalarType::Timestamp, vec!["2000-01-01 00:00:00", "1969-07-20 20:17:40.5", "-infinity"]),
            (ScalarType::Timestamptz, vec!["2024-02-29 12:00:00+05:30", "infinity"]),
            (ScalarType::Interval, vec!["0", "1 year 2 mons -3 days 04:05:06.7"]),
            (ScalarType::Uuid, vec!["00112233-4455-6677-8899-aabbccddeeff"]),
            (ScalarType::MacAddr, vec!["08:00:2b:01:02:03"]),
            (ScalarType::MacAddr8, vec!["08:00:2b:01:02:03:04:05"]),
            (ScalarType::VarBit, vec!["", "101", "1111111100000000"]),
            (ScalarType::Money, vec!["$0.00", "-$92,233,720,368,547,758.08"]),
            (ScalarType::Point, vec!["(1,2)", "(NaN,-Infinity)"]),
            (ScalarType::Path, vec!["[(1,2),(3,4)]", "((0,0))"]),
            (ScalarType::Box.array(), vec!["{(1,1),(0,0);NULL}"]),
            (ScalarType::Xml, vec!["", "<?xml version=\"1.0\"?><a/>"]),
            (ScalarType::Json, vec!["{\"a\": [1, null]}"]),
            (ScalarType::Jsonb, vec!["null", "1.50", "{\"a\": [1, {\"b\": \"c\"}]}"]),
            (ScalarType::Int4.array(), vec!["{}", "{1,NULL,-3}", "{{1,2},{3,4}}"]),
            (ScalarType::Text.array(), vec!["{a,\"b\\\"c\",NULL}"]),
        ];
        let parse = |(scalar, texts): (ScalarType, Vec<&str>)| {
            let datum = |text: &str| repr::text::parse(&scalar, -1, text, &TextContext::default()).expect(text);
            let datums: Vec<Datum> = texts.into_iter().map(datum).chain([Datum::Null]).collect();
            datums.into_iter().map(move |datum| (scalar.clone(), datum)).collect::<Vec<_>>()
        };
        let label = Datum::Enum { position: 3, label: "blue".into() };
        let record = Datum::Record(vec![Datum::Int4(1), Datum::Null, Datum::text("x,y")].into());
        let fields = [("a", ScalarType::Int4), ("b", ScalarType::Int8), ("c", ScalarType::Text)];
        let fields = fields.map(|(name, scalar)| (name.to_string(), scalar));
        let nested = [(ScalarType::Enum(99_999), label), (ScalarType::Record(fields.to_vec().into()), record)];
        texts.into_iter().flat_map(parse).chain(nested).collect()
    }

    fn written(row: &AnswerRow<'_>, columns: &[OutputColumn], format: Format) -> Vec<u8> {
        let mut out = b"before".to_vec();
        data_row(row, columns, &Formats::All(format), &TextContext::default(), &mut out).expect("is written");
        out
    }

    #[test]
    fn a_packed_row_is_written_as_its_values_are() {
        let (types, datums): (Vec<ScalarType>, Vec<Datum>) = samples().into_iter().unzip();
        let column = |scalar: &ScalarType| OutputColumn {
            name: "c".to_string(),
            column_type: ColumnType::nullable(scalar.clone()),
            origin: None,
        };
        let packed = Row::pack(&datums);
        let all: Vec<usize> = (0..datums.len()).collect();
        let backwards: Vec<usize> = all.iter().rev().copied().collect();
        let repeated: Vec<usize> = all.iter().flat_map(|place| [*place, *place / 2]).collect();
        let alone = all.iter().map(|place| vec![*place]);
        for project in [all.clone(), backwards, repeated, Vec::new()].into_iter().chain(alone) {
            let columns: Vec<OutputColumn> = project.iter().map(|place| column(&types[*place])).collect();
            let values: Vec<Datum> = project.iter().map(|place| datums[*place].clone()).collect();
            let lent = AnswerRow::Packed(Stored::whole(packed.bytes()), &project);
            // As bytes: not a number equals no other.
            assert!(Row::pack(&lent.to_datums()) == Row::pack(&values), "{project:?}");
            for format in [Format::Text, Format::Binary] {
                let expected = written(&AnswerRow::Values(&values), &columns, format);
                assert!(written(&lent, &columns, format) == expected, "{project:?} {format:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let columns =
            [OutputColumn { name: "c".to_string(), column_type: ColumnType::nullable(ScalarType::Int4), origin: None }];
        let mut out = b"before".to_vec();
        let record = [Datum::Record(vec![Datum::Null].into())];
        let formats = Formats::All(Format::Binary);
        let refused = data_row(&AnswerRow::Values(&record), &columns, &formats, &TextContext::default(), &mut out);
        assert_eq!((refused.expect_err("no record").code, out.as_slice()), ("XX000", &b"before"[..]));
    }
}
