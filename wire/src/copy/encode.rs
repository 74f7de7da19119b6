//! COPY TO STDOUT: rows into lines of PostgreSQL's text or CSV format, one CopyData message each.

use crate::types::text::{self, TextContext};
use bytes::{BufMut, BytesMut};
use engine::SqlError;
use engine::protocol::{CopyFormat, OutputColumn};
use repr::Datum;

/// Writes one transfer.
pub struct CopyEncoder {
    columns: Vec<OutputColumn>,
    format: CopyFormat,
    // One value, printed but not escaped.
    value: BytesMut,
}

impl CopyEncoder {
    /// An encoder for these columns.
    pub fn new(columns: &[OutputColumn], format: &CopyFormat) -> Self {
        CopyEncoder { columns: columns.to_vec(), format: format.clone(), value: BytesMut::new() }
    }

    /// Appends the header's message if there is to be one.
    pub fn header(&mut self, out: &mut BytesMut) -> Result<(), SqlError> {
        if !self.format.header {
            return Ok(());
        }
        let start = open(out);
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                out.put_u8(self.format.delimiter);
            }
            self.field(column.name.as_bytes(), false, out);
        }
        close(start, out)
    }

    /// Appends one row's message; on an error nothing of it remains.
    pub fn row(&mut self, row: &[Datum], context: &TextContext, out: &mut BytesMut) -> Result<(), SqlError> {
        let start = open(out);
        let result = self.fields(row, context, out).and_then(|()| close(start, out));
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn fields(&mut self, row: &[Datum], context: &TextContext, out: &mut BytesMut) -> Result<(), SqlError> {
        let mut value = std::mem::take(&mut self.value);
        for (index, (datum, column)) in row.iter().zip(&self.columns).enumerate() {
            if index > 0 {
                out.put_u8(self.format.delimiter);
            }
            if matches!(datum, Datum::Null) {
                out.put_slice(self.format.null.as_bytes());
                continue;
            }
            value.clear();
            text::encode(datum, &column.column_type.scalar, context, &mut value)?;
            self.field(&value, self.format.force_quote.contains(&index), out);
        }
        self.value = value;
        Ok(())
    }

    fn field(&self, value: &[u8], force_quote: bool, out: &mut BytesMut) {
        if self.format.csv { self.csv(value, force_quote, out) } else { self.text(value, out) }
    }

    fn text(&self, value: &[u8], out: &mut BytesMut) {
        let mut rest = value;
        while let Some(at) = rest.iter().position(|&byte| byte == self.format.delimiter || is_special(byte)) {
            out.put_slice(&rest[..at]);
            out.put_u8(b'\\');
            out.put_u8(match rest[at] {
                0x08 => b'b',
                0x0c => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                0x0b => b'v',
                other => other,
            });
            rest = &rest[at + 1..];
        }
        out.put_slice(rest);
    }

    fn csv(&self, value: &[u8], force_quote: bool, out: &mut BytesMut) {
        let CopyFormat { delimiter, quote, escape, .. } = self.format;
        let needs_quotes = force_quote
            || value == self.format.null.as_bytes()
            // Alone on its line it would be taken for the end of the data.
            || (self.columns.len() == 1 && value == b"\\.")
            || value.iter().any(|&byte| byte == delimiter || byte == quote || byte == b'\n' || byte == b'\r');
        if !needs_quotes {
            out.put_slice(value);
            return;
        }
        out.put_u8(quote);
        for &byte in value {
            if byte == quote || byte == escape {
                out.put_u8(escape);
            }
            out.put_u8(byte);
        }
        out.put_u8(quote);
    }
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | 0x08 | 0x0c | b'\n' | b'\r' | b'\t' | 0x0b)
}

fn open(out: &mut BytesMut) -> usize {
    let start = out.len();
    out.put_u8(b'd');
    out.put_i32(0);
    start
}

fn close(start: usize, out: &mut BytesMut) -> Result<(), SqlError> {
    out.put_u8(b'\n');
    let length =
        i32::try_from(out.len() - start - 1).map_err(|_| SqlError::new("54000", "row is too large for the protocol"))?;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
