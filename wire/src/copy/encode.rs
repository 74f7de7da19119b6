//! COPY TO STDOUT: rows into lines of PostgreSQL's text or CSV format, one CopyData message each.

use crate::types::text::{self, TextContext};
use bytes::BufMut;
use engine::SqlError;
use engine::protocol::{AnswerRow, CopyFormat, CopyHeader, OutputColumn};

/// Writes one transfer.
pub struct CopyEncoder {
    columns: Vec<OutputColumn>,
    format: CopyFormat,
    // One value, printed but not escaped.
    value: Vec<u8>,
}

impl CopyEncoder {
    /// An encoder for these columns.
    pub fn new(columns: &[OutputColumn], format: &CopyFormat) -> Self {
        CopyEncoder { columns: columns.to_vec(), format: format.clone(), value: Vec::new() }
    }

    /// Appends the header's message if there is to be one.
    pub fn header(&mut self, out: &mut Vec<u8>) -> Result<(), SqlError> {
        if self.format.header == CopyHeader::Absent {
            return Ok(());
        }
        let start = open(out);
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                out.put_u8(self.format.delimiter);
            }
            self.field(column.name.as_bytes(), false, out);
        }
        close_line(start, out)
    }

    /// Appends one row's message; on an error nothing of it remains.
    pub fn row(&mut self, row: &AnswerRow<'_>, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
        let start = open(out);
        let result = self.fields(row, context, out).and_then(|()| close_line(start, out));
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn fields(&mut self, row: &AnswerRow<'_>, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
        let mut printed = std::mem::take(&mut self.value);
        row.each(|index, value| -> Result<(), SqlError> {
            let Some(column) = self.columns.get(index) else { return Ok(()) };
            if index > 0 {
                out.put_u8(self.format.delimiter);
            }
            if value.is_null() {
                out.put_slice(self.format.null.as_bytes());
                return Ok(());
            }
            printed.clear();
            text::encode(value, &column.column_type.scalar, context, &mut printed)?;
            self.field(&printed, self.format.forced.quote.contains(&index), out);
            Ok(())
        })?;
        self.value = printed;
        Ok(())
    }

    fn field(&self, value: &[u8], force_quote: bool, out: &mut Vec<u8>) {
        if self.format.content.raw {
            out.put_slice(value);
            return;
        }
        if self.format.is_csv() {
            self.csv(value, force_quote, out);
        } else {
            escape(value, self.format.delimiter, out);
        }
    }

    fn csv(&self, value: &[u8], force_quote: bool, out: &mut Vec<u8>) {
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

/// Appends a value of the text format, with the escapes that it needs.
pub(crate) fn escape(value: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    let mut rest = value;
    while let Some(at) = rest.iter().position(|&byte| byte == delimiter || is_special(byte)) {
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

fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | 0x08 | 0x0c | b'\n' | b'\r' | b'\t' | 0x0b)
}

fn open(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.put_u8(b'd');
    out.put_i32(0);
    start
}

fn close_line(start: usize, out: &mut Vec<u8>) -> Result<(), SqlError> {
    out.put_u8(b'\n');
    close(start, out)
}

/// Writes a message's length where it begins.
pub(super) fn close(start: usize, out: &mut [u8]) -> Result<(), SqlError> {
    let length = i32::try_from(out.len() - start - 1)
        .map_err(|_| SqlError::new("54000", "row is too large for the protocol"))?;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::decode::CopyDecoder;
    use engine::protocol::CopyContent;
    use engine::protocol::{CopyLayout, Forced};
    use repr::{ColumnType, Datum, ScalarType};

    fn columns(count: usize) -> Vec<OutputColumn> {
        let column = |name: &str| OutputColumn {
            name: name.to_string(),
            column_type: ColumnType::nullable(ScalarType::Text),
            origin: None,
        };
        ["a", "b,c"].into_iter().take(count).map(column).collect()
    }

    fn format(csv: bool) -> CopyFormat {
        CopyFormat {
            layout: if csv { CopyLayout::Csv } else { CopyLayout::Text },
            delimiter: if csv { b',' } else { b'\t' },
            null: if csv { "" } else { "\\N" }.to_string(),
            header: CopyHeader::Absent,
            quote: b'"',
            escape: b'"',
            forced: Forced::default(),
            content: CopyContent::default(),
        }
    }

    fn write(format: &CopyFormat, rows: &[Vec<Datum>]) -> String {
        let width = rows.first().map_or(2, Vec::len);
        let mut encoder = CopyEncoder::new(&columns(width), format);
        let mut out = Vec::new();
        encoder.header(&mut out).expect("fits");
        for row in rows {
            encoder.row(&AnswerRow::Values(row), &TextContext::default(), &mut out).expect("fits");
        }
        let (mut lines, mut rest) = (Vec::new(), out.as_slice());
        while !rest.is_empty() {
            assert_eq!(rest[0], b'd');
            let length = u32::from_be_bytes(rest[1..5].try_into().expect("four bytes")) as usize;
            lines.extend_from_slice(&rest[5..=length]);
            rest = &rest[1 + length..];
        }
        String::from_utf8(lines).expect("text")
    }

    fn text(value: &str) -> Datum {
        Datum::Text(value.into())
    }

    #[test]
    fn lines_are_written_as_postgres_writes_them() {
        let row = |left: &str, right: &str| vec![vec![text(left), text(right)]];
        for (rows, as_text, as_csv) in [
            (row("a", "b"), "a\tb\n", "a,b\n"),
            (vec![vec![Datum::Null, text("")]], "\\N\t\n", ",\"\"\n"),
            (row("a\tb\nc\\d", "x,y\"z"), "a\\tb\\nc\\\\d\tx,y\"z\n", "\"a\tb\nc\\d\",\"x,y\"\"z\"\n"),
            (row("\u{8}\u{c}\r\u{b}", "\\N"), "\\b\\f\\r\\v\t\\\\N\n", "\"\u{8}\u{c}\r\u{b}\",\\N\n"),
            (vec![vec![text("\\.")]], "\\\\.\n", "\"\\.\"\n"),
        ] {
            assert_eq!(write(&format(false), &rows), as_text);
            assert_eq!(write(&format(true), &rows), as_csv);
        }
        let header = CopyFormat {
            header: CopyHeader::Present,
            forced: Forced { quote: vec![1], ..Forced::default() },
            ..format(true)
        };
        assert_eq!(write(&header, &row("a", "b")), "a,\"b,c\"\na,\"b\"\n");
    }

    #[test]
    fn a_document_is_sent_as_it_is() {
        let document = "{\"a\":\n\"\\t\"}";
        let raw = CopyFormat { content: CopyContent { raw: true, encoding: None }, ..format(false) };
        assert_eq!(write(&raw, &[vec![text(document)]]), format!("{document}\n"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let alphabet = ["a", "\\", "\t", ",", "\"", "\n", "\r", ".", "N", "é", ""];
        let mut seed = 7u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize
        };
        for _ in 0..5_000 {
            let mut value = || {
                if next() % 6 == 0 {
                    return Datum::Null;
                }
                let length = next() % 4;
                text(&(0..length).map(|_| alphabet[next() % alphabet.len()]).collect::<String>())
            };
            let rows = vec![vec![value(), value()], vec![value(), value()]];
            for format in [format(false), format(true)] {
                let written = write(&format, &rows);
                let mut decoder = CopyDecoder::new("t", &columns(2), &format);
                decoder.feed(written.as_bytes());
                let mut read = Vec::new();
                while let Some(row) = decoder.row(true, &TextContext::default()).expect("readable") {
                    read.push(row);
                }
                assert_eq!(read, rows, "{written:?}");
            }
        }
    }
}
