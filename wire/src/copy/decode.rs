//! COPY FROM STDIN: bytes, cut anywhere, into lines, lines into fields, fields into datums.
//!
//! Follows PostgreSQL 15's copyfromparse.c: one style of line end per transfer, backslash escapes in text, quotes
//! that may hold line ends in CSV, `\.` as the end. Keeps at most one line, of bounded length. Errors say which
//! line and column, never the value.

use crate::decode::MESSAGE_BYTES_MAX;
use crate::types::binary::parameter_text;
use crate::types::text::{self, TextContext};
use engine::SqlError;
use engine::protocol::{CopyFormat, CopyHeader, OutputColumn};
use repr::Datum;
use std::ops::Range;

/// Reads one transfer.
pub struct CopyDecoder {
    table: String,
    columns: Vec<OutputColumn>,
    format: CopyFormat,
    header_pending: bool,
    received: Received,
    lines: Lines,
    split: Split,
    // The client's `\.`, or its CopyDone.
    ended: bool,
}

/// Bytes; the current line starts at `line_start`, and all before `scanned` has been looked at.
#[derive(Default)]
struct Received {
    buffer: Vec<u8>,
    line_start: usize,
    scanned: usize,
}

/// How lines end, and how many have.
struct Lines {
    end: LineEnd,
    quotes: QuoteState,
    number: u64,
    // Line ends inside the current record's quotes, for the count.
    inner: u64,
}

/// The current line's fields, unescaped.
#[derive(Default)]
struct Split {
    // Where in `text` each one stands; `None` is NULL. At most one more than there are columns.
    fields: Vec<Option<Range<usize>>>,
    // How many there are, counted to the end in a header only.
    count: usize,
    text: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Unknown,
    LineFeed,
    CarriageReturn,
    Both,
}

#[derive(Clone, Copy, Default)]
struct QuoteState {
    inside: bool,
    after_escape: bool,
}

impl CopyDecoder {
    /// A decoder for a table's columns.
    pub fn new(table: &str, columns: &[OutputColumn], format: &CopyFormat) -> Self {
        CopyDecoder {
            table: table.to_string(),
            columns: columns.to_vec(),
            header_pending: format.header != CopyHeader::Absent,
            format: format.clone(),
            received: Received::default(),
            lines: Lines { end: LineEnd::Unknown, quotes: QuoteState::default(), number: 0, inner: 0 },
            split: Split::default(),
            ended: false,
        }
    }

    /// Adds the bytes of one CopyData message; after `\.` they are ignored.
    pub fn feed(&mut self, data: &[u8]) {
        if self.ended {
            return;
        }
        self.received.buffer.drain(..self.received.line_start);
        self.received.scanned -= self.received.line_start;
        self.received.line_start = 0;
        self.received.buffer.extend_from_slice(data);
    }

    /// The next row; `None` when more bytes are needed, or at the end if `finished` says that none will come.
    pub fn row(&mut self, finished: bool, context: &TextContext) -> Result<Option<Vec<Datum>>, SqlError> {
        loop {
            if self.ended {
                return Ok(None);
            }
            let line = match self.next_line(finished) {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(None),
                Err(error) => return Err(self.at_line(error)),
            };
            if self.header_pending {
                self.header_pending = false;
                if self.format.header == CopyHeader::Match {
                    self.match_header(line).map_err(|error| self.at_line(error))?;
                }
                continue;
            }
            let row = self.split(line).and_then(|()| self.datums(context));
            return match row {
                Ok(row) => Ok(Some(row)),
                Err(error) if error.context.is_some() => Err(error),
                Err(error) => Err(self.at_line(error)),
            };
        }
    }

    /// Adds "COPY t, line n" to an error of the row that was read last.
    pub(crate) fn at_line(&self, error: SqlError) -> SqlError {
        if error.context.is_some() {
            return error;
        }
        error.context(format!("COPY {}, line {}", self.table, self.lines.number))
    }

    fn at_column(&self, error: SqlError, index: usize) -> SqlError {
        let column = &self.columns[index].name;
        error.context(format!("COPY {}, line {}, column {column}", self.table, self.lines.number))
    }

    /// Finds the end of the current line and steps over it.
    fn next_line(&mut self, finished: bool) -> Result<Option<Range<usize>>, SqlError> {
        if self.received.scanned == self.received.line_start {
            self.lines.inner = 0;
        }
        let start = self.received.line_start;
        while let Some(&byte) = self.received.buffer.get(self.received.scanned) {
            let following = self.received.buffer.get(self.received.scanned + 1).copied();
            if following.is_none() && !finished && matches!(byte, b'\\' | b'\r') {
                return self.more_needed(start);
            }
            if self.format.is_csv() {
                self.lines.quotes.step(byte, &self.format);
                if self.lines.quotes.inside {
                    self.lines.inner += u64::from(byte == b'\n');
                    self.received.scanned += 1;
                    continue;
                }
            }
            match byte {
                b'\n' | b'\r' => {
                    let width = self.line_end_width(byte, following)?;
                    let line = start..self.received.scanned;
                    self.step_over(width);
                    return Ok(Some(line));
                }
                b'\\' if following == Some(b'.') && (!self.format.is_csv() || self.received.scanned == start) => {
                    match self.end_marker(start, finished)? {
                        EndMarker::MoreNeeded => return self.more_needed(start),
                        EndMarker::Data => self.received.scanned += 1,
                        EndMarker::End(line) => {
                            self.ended = true;
                            // A marker behind data ends that line as well.
                            if line.is_empty() {
                                return Ok(None);
                            }
                            self.lines.number += 1;
                            return Ok(Some(line));
                        }
                    }
                }
                // What a backslash escapes is never a line end.
                b'\\' if !self.format.is_csv() => self.received.scanned += 2,
                _ => self.received.scanned += 1,
            }
        }
        // A backslash at the very end may have stepped past it.
        self.received.scanned = self.received.scanned.min(self.received.buffer.len());
        if !finished {
            return self.more_needed(start);
        }
        if self.lines.quotes.inside {
            self.lines.number += 1 + self.lines.inner;
            return Err(SqlError::new("22P04", "unterminated CSV quoted field"));
        }
        self.ended = true;
        if start == self.received.buffer.len() {
            return Ok(None);
        }
        self.lines.number += 1 + self.lines.inner;
        Ok(Some(start..self.received.buffer.len()))
    }

    fn more_needed(&mut self, start: usize) -> Result<Option<Range<usize>>, SqlError> {
        if self.received.buffer.len() - start > MESSAGE_BYTES_MAX {
            self.lines.number += 1 + self.lines.inner;
            let message = format!("a line of more than {MESSAGE_BYTES_MAX} bytes is not taken");
            return Err(SqlError::new("54000", message).hint("A row can be written in that many bytes at most."));
        }
        Ok(None)
    }

    fn step_over(&mut self, width: usize) {
        self.lines.number += 1 + self.lines.inner;
        self.received.scanned += width;
        self.received.line_start = self.received.scanned;
        self.lines.quotes = QuoteState::default();
    }

    /// By how many bytes the line ends here. The first line end decides the style of all.
    fn line_end_width(&mut self, byte: u8, following: Option<u8>) -> Result<usize, SqlError> {
        if self.lines.end == LineEnd::Unknown {
            self.lines.end = match (byte, following) {
                (b'\r', Some(b'\n')) => LineEnd::Both,
                (b'\r', _) => LineEnd::CarriageReturn,
                _ => LineEnd::LineFeed,
            };
        }
        match (self.lines.end, byte) {
            (LineEnd::LineFeed, b'\n') | (LineEnd::CarriageReturn, b'\r') => Ok(1),
            (LineEnd::Both, b'\r') if following == Some(b'\n') => Ok(2),
            (_, b'\r') => {
                self.lines.number += 1 + self.lines.inner;
                Err(if self.format.is_csv() {
                    SqlError::new("22P04", "unquoted carriage return found in data")
                        .hint("Use quoted CSV field to represent carriage return.")
                } else {
                    SqlError::new("22P04", "literal carriage return found in data")
                        .hint("Use \"\\r\" to represent carriage return.")
                })
            }
            _ => {
                self.lines.number += 1 + self.lines.inner;
                Err(if self.format.is_csv() {
                    SqlError::new("22P04", "unquoted newline found in data")
                        .hint("Use quoted CSV field to represent newline.")
                } else {
                    SqlError::new("22P04", "literal newline found in data").hint("Use \"\\n\" to represent newline.")
                })
            }
        }
    }

    /// Looks at what follows `\.`: only a line end or nothing may.
    fn end_marker(&self, start: usize, finished: bool) -> Result<EndMarker, SqlError> {
        let after = &self.received.buffer[self.received.scanned + 2..];
        let corrupt = || SqlError::new("22P04", "end-of-copy marker corrupt");
        match (after, self.lines.end) {
            ([], _) if !finished => Ok(EndMarker::MoreNeeded),
            ([b'\r'], LineEnd::Both | LineEnd::Unknown) if !finished => Ok(EndMarker::MoreNeeded),
            ([] | [b'\n' | b'\r', ..], _) => Ok(EndMarker::End(start..self.received.scanned)),
            // In CSV `\.` may begin an ordinary value.
            _ if self.format.is_csv() => Ok(EndMarker::Data),
            _ => Err(corrupt()),
        }
    }

    /// 22P04 unless the header names the columns, in their order.
    fn match_header(&mut self, line: Range<usize>) -> Result<(), SqlError> {
        let mismatch = |message: String| SqlError::new("22P04", message);
        self.split.clear();
        if self.format.is_csv() {
            self.split_csv(line, LineKind::Header);
        } else {
            self.split_text(line, LineKind::Header);
        }
        if self.split.count != self.columns.len() {
            let (count, expected) = (self.split.count, self.columns.len());
            return Err(mismatch(format!("wrong number of fields in header line: got {count}, expected {expected}")));
        }
        for (number, (field, column)) in self.split.fields.iter().zip(&self.columns).enumerate() {
            let place = format!("column name mismatch in header line field {}", number + 1);
            let Some(range) = field else {
                let (null, name) = (&self.format.null, &column.name);
                return Err(mismatch(format!("{place}: got null value (\"{null}\"), expected \"{name}\"")));
            };
            let name = parameter_text(&self.split.text[range.clone()], &TextContext::default())?;
            if name != column.name {
                return Err(mismatch(format!("{place}: got \"{name}\", expected \"{}\"", column.name)));
            }
        }
        Ok(())
    }

    /// Splits a line into `fields`.
    fn split(&mut self, line: Range<usize>) -> Result<(), SqlError> {
        self.split.clear();
        // A table without columns has empty lines.
        if self.columns.is_empty() {
            return if line.is_empty() { Ok(()) } else { Err(extra_data()) };
        }
        if self.format.is_csv() {
            self.split_csv(line, LineKind::Row);
        } else {
            self.split_text(line, LineKind::Row);
        }
        if self.split.fields.len() > self.columns.len() { Err(extra_data()) } else { Ok(()) }
    }

    fn split_text(&mut self, line: Range<usize>, part: LineKind) {
        let line = &self.received.buffer[line];
        let mut at = 0;
        loop {
            let raw_start = at;
            let start = self.split.text.len();
            let mut raw_end = line.len();
            let mut more = false;
            while let Some(&byte) = line.get(at) {
                at += 1;
                if byte == self.format.delimiter {
                    raw_end = at - 1;
                    more = true;
                    break;
                }
                at = push_byte(line, at, byte, &mut self.split.text);
            }
            let null = line[raw_start..raw_end] == *self.format.null.as_bytes();
            self.split.push(null, start, self.columns.len());
            // One field too many is enough to know.
            if !more || (part == LineKind::Row && self.split.count > self.columns.len()) {
                return;
            }
        }
    }

    fn split_csv(&mut self, line: Range<usize>, part: LineKind) {
        let line = &self.received.buffer[line];
        let CopyFormat { delimiter, quote, escape, .. } = self.format;
        let mut at = 0;
        loop {
            let start = self.split.text.len();
            let mut quoted = false;
            let mut inside = false;
            let mut more = false;
            while let Some(&byte) = line.get(at) {
                at += 1;
                if inside {
                    match line.get(at) {
                        Some(&escaped) if byte == escape && (escaped == quote || escaped == escape) => {
                            self.split.text.push(escaped);
                            at += 1;
                        }
                        _ if byte == quote => inside = false,
                        _ => self.split.text.push(byte),
                    }
                } else if byte == delimiter {
                    more = true;
                    break;
                } else if byte == quote {
                    quoted = true;
                    inside = true;
                } else {
                    self.split.text.push(byte);
                }
            }
            let (place, forced) = (self.split.count, &self.format.forced);
            let means_null = match part {
                LineKind::Header => !quoted,
                LineKind::Row if quoted => forced.null.contains(&place),
                LineKind::Row => !forced.not_null.contains(&place),
            };
            let null = means_null && self.split.text[start..] == *self.format.null.as_bytes();
            self.split.push(null, start, self.columns.len());
            if !more || (part == LineKind::Row && self.split.count > self.columns.len()) {
                return;
            }
        }
    }

    fn datums(&self, context: &TextContext) -> Result<Vec<Datum>, SqlError> {
        let mut row = Vec::with_capacity(self.columns.len());
        for (index, column) in self.columns.iter().enumerate() {
            let datum = match self.split.fields.get(index) {
                Some(None) => Datum::Null,
                // Escapes can have made bytes that are not UTF-8.
                Some(Some(range)) => text::decode_column(&self.split.text[range.clone()], &column.column_type, context)
                    .map_err(|error| self.at_column(error, index))?,
                None => {
                    return Err(SqlError::new("22P04", format!("missing data for column \"{}\"", column.name)));
                }
            };
            row.push(datum);
        }
        Ok(row)
    }
}

impl Split {
    fn clear(&mut self) {
        self.fields.clear();
        self.text.clear();
        self.count = 0;
    }

    /// Adds the field whose text begins there; beyond one more than there are columns it is counted only.
    fn push(&mut self, null: bool, start: usize, columns: usize) {
        self.count += 1;
        if self.fields.len() <= columns {
            self.fields.push(if null { None } else { Some(start..self.text.len()) });
        }
    }
}

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Header,
    Row,
}

enum EndMarker {
    MoreNeeded,
    Data,
    End(Range<usize>),
}

impl QuoteState {
    // As CopyReadLineText: where quote and escape are one character, it is just a toggle.
    fn step(&mut self, byte: u8, format: &CopyFormat) {
        let escape = (format.escape != format.quote).then_some(format.escape);
        if self.inside && Some(byte) == escape {
            self.after_escape = !self.after_escape;
        }
        if byte == format.quote && !self.after_escape {
            self.inside = !self.inside;
        }
        if Some(byte) != escape {
            self.after_escape = false;
        }
    }
}

/// A value of the text format without its escapes.
pub(crate) fn unescaped(value: &[u8]) -> Vec<u8> {
    let (mut text, mut at) = (Vec::with_capacity(value.len()), 0);
    while let Some(&byte) = value.get(at) {
        at = push_byte(value, at + 1, byte, &mut text);
    }
    text
}

/// Appends a byte of a value, or what it escapes with those behind it; gives the place after them. `at` is that behind the byte.
fn push_byte(line: &[u8], at: usize, byte: u8, text: &mut Vec<u8>) -> usize {
    match (byte, line.get(at)) {
        (b'\\', Some(&escaped)) => unescape(line, at, escaped, text),
        _ => {
            text.push(byte);
            at
        }
    }
}

/// Appends what the escape stands for; gives the place after it. `at` is the place of `escaped`.
fn unescape(line: &[u8], at: usize, escaped: u8, text: &mut Vec<u8>) -> usize {
    let digits = |from: usize, most: usize, radix: u32| {
        let mut value = 0u32;
        let mut end = from;
        while let Some(digit) = line.get(end).and_then(|&byte| char::from(byte).to_digit(radix)) {
            value = value * radix + digit;
            end += 1;
            if end == from + most {
                break;
            }
        }
        ((value & 0xff) as u8, end)
    };
    let (byte, end) = match escaped {
        b'0'..=b'7' => digits(at, 3, 8),
        b'x' => match digits(at + 1, 2, 16) {
            (_, end) if end == at + 1 => (b'x', at + 1),
            found => found,
        },
        b'b' => (0x08, at + 1),
        b'f' => (0x0c, at + 1),
        b'n' => (b'\n', at + 1),
        b'r' => (b'\r', at + 1),
        b't' => (b'\t', at + 1),
        b'v' => (0x0b, at + 1),
        other => (other, at + 1),
    };
    text.push(byte);
    end
}

fn extra_data() -> SqlError {
    SqlError::new("22P04", "extra data after last expected column")
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::protocol::CopyContent;
    use engine::protocol::{CopyLayout, Forced};
    use repr::{ColumnType, ScalarType};

    fn columns(types: &[ScalarType]) -> Vec<OutputColumn> {
        let names = ["a", "b", "c"];
        types
            .iter()
            .zip(names)
            .map(|(scalar, name)| OutputColumn {
                name: name.to_string(),
                column_type: ColumnType::nullable(scalar.clone()),
                origin: None,
            })
            .collect()
    }

    fn text_format() -> CopyFormat {
        CopyFormat {
            layout: CopyLayout::Text,
            delimiter: b'\t',
            null: "\\N".to_string(),
            header: CopyHeader::Absent,
            quote: b'"',
            escape: b'"',
            forced: Forced::default(),
            content: CopyContent::default(),
        }
    }

    fn csv_format() -> CopyFormat {
        CopyFormat { layout: CopyLayout::Csv, delimiter: b',', null: String::new(), ..text_format() }
    }

    fn show(row: &[Datum]) -> String {
        let fields: Vec<String> = row
            .iter()
            .map(|datum| match datum {
                Datum::Null => "∅".to_string(),
                Datum::Int4(value) => value.to_string(),
                Datum::Text(value) => format!("{value:?}"),
                other => panic!("{other:?} is not of these tests"),
            })
            .collect();
        fields.join("|")
    }

    /// Reads the data cut into messages of this size; an error ends the list as "code message @context".
    fn read_cut(format: &CopyFormat, types: &[ScalarType], data: &[u8], size: usize) -> Vec<String> {
        let context = TextContext::default();
        let mut decoder = CopyDecoder::new("t", &columns(types), format);
        let mut rows = Vec::new();
        let mut messages: Vec<(&[u8], bool)> = data.chunks(size).map(|chunk| (chunk, false)).collect();
        messages.push((b"", true));
        for (message, finished) in messages {
            decoder.feed(message);
            loop {
                match decoder.row(finished, &context) {
                    Ok(Some(row)) => rows.push(show(&row)),
                    Ok(None) => break,
                    Err(error) => {
                        rows.push(format!("{} {} @{}", error.code, error.message, error.context.expect("a line")));
                        return rows;
                    }
                }
            }
        }
        rows
    }

    /// However the data is cut, the rows are the same.
    fn read(format: &CopyFormat, types: &[ScalarType], data: &[u8]) -> Vec<String> {
        let whole = read_cut(format, types, data, data.len().max(1));
        for size in [1, 2, 3, 7] {
            assert_eq!(read_cut(format, types, data, size), whole, "cut by {size}");
        }
        whole
    }

    const TWO: [ScalarType; 2] = [ScalarType::Int4, ScalarType::Text];

    #[test]
    fn text_is_read_as_postgres_reads_it() {
        for (data, expected) in [
            (&b"1\tone\n2\ttwo\n"[..], &["1|\"one\"", "2|\"two\""][..]),
            (b"1\tone\n2\ttwo", &["1|\"one\"", "2|\"two\""]),
            (b"1\tone\r\n2\ttwo\r\n", &["1|\"one\"", "2|\"two\""]),
            (b"1\tone\r2\ttwo\r", &["1|\"one\"", "2|\"two\""]),
            (b"\\N\t\\N\n", &["∅|∅"]),
            (b"1\t\n", &["1|\"\""]),
            (b"1\t\\\\N\n", &["1|\"\\\\N\""]),
            (b"1\ta\\tb\\nc\\\\d\\x41\\101\\q\n", &["1|\"a\\tb\\nc\\\\dAAq\""]),
            (b"1\ta\\\nb\n", &["1|\"a\\nb\""]),
            (b"1\ta\\\tb\n", &["1|\"a\\tb\""]),
            (b"1\t\xc3\xa9\\xc3\\xa9\n", &["1|\"éé\""]),
            (b"1\tone\n\\.\n2\ttwo\n", &["1|\"one\""]),
            (b"1\tone\n\\.", &["1|\"one\""]),
            (b"1\tone\\.\n2\ttwo\n", &["1|\"one\""]),
            (b"", &[]),
            (b"1\n", &["22P04 missing data for column \"b\" @COPY t, line 1"]),
            (b"1\ta\n\n", &["1|\"a\"", "22P02 invalid input syntax for type integer: \"\" @COPY t, line 2, column a"]),
            (b"1\ta\tb\n", &["22P04 extra data after last expected column @COPY t, line 1"]),
            (
                b"1\ta\nx\tb\n",
                &["1|\"a\"", "22P02 invalid input syntax for type integer: \"x\" @COPY t, line 2, column a"],
            ),
            (b"1\ta\n2\tb\rc\n", &["1|\"a\"", "22P04 literal carriage return found in data @COPY t, line 2"]),
            (b"1\ta\r\n2\tb\n", &["1|\"a\"", "22P04 literal newline found in data @COPY t, line 2"]),
            (
                b"1\ta\n2\t\xff\n",
                &["1|\"a\"", "22021 invalid byte sequence for encoding \"UTF8\": 0xff @COPY t, line 2, column b"],
            ),
            (b"1\t\\xff\n", &["22021 invalid byte sequence for encoding \"UTF8\": 0xff @COPY t, line 1, column b"]),
            (b"1\t\\0\n", &["22021 invalid byte sequence for encoding \"UTF8\": 0x00 @COPY t, line 1, column b"]),
            (b"\\.x\n", &["22P04 end-of-copy marker corrupt @COPY t, line 0"]),
        ] {
            assert_eq!(read(&text_format(), &TWO, data), expected, "{}", String::from_utf8_lossy(data));
        }
    }

    #[test]
    fn csv_is_read_as_postgres_reads_it() {
        for (data, expected) in [
            (&b"1,one\n2,two\n"[..], &["1|\"one\"", "2|\"two\""][..]),
            (b"1,\"o,n\"\"e\"\n", &["1|\"o,n\\\"e\""]),
            (b"1,\"two\nlines\"\n2,x\n", &["1|\"two\\nlines\"", "2|\"x\""]),
            (b"1,a\"b,c\"d\n", &["1|\"ab,cd\""]),
            (b"1,\n2,\"\"\n", &["1|∅", "2|\"\""]),
            (b"1,a\r\n2,\"b\r\n\"\r\n", &["1|\"a\"", "2|\"b\\r\\n\""]),
            (b"1,a\\.b\n\\.\n3,c\n", &["1|\"a\\\\.b\""]),
            (b"1,\\.x\n", &["1|\"\\\\.x\""]),
            (b"1,\\n\n", &["1|\"\\\\n\""]),
            (b"1,\"open\n", &["22P04 unterminated CSV quoted field @COPY t, line 2"]),
            (
                b"1,\"a\nb\"\nx,c\n",
                &["1|\"a\\nb\"", "22P02 invalid input syntax for type integer: \"x\" @COPY t, line 3, column a"],
            ),
            (b"1,a\n2,b\rc\n", &["1|\"a\"", "22P04 unquoted carriage return found in data @COPY t, line 2"]),
        ] {
            assert_eq!(read(&csv_format(), &TWO, data), expected, "{}", String::from_utf8_lossy(data));
        }
    }

    #[test]
    fn options_change_what_separates_quotes_and_escapes() {
        let format = CopyFormat {
            delimiter: b';',
            quote: b'\'',
            escape: b'\\',
            null: "nil".to_string(),
            header: CopyHeader::Present,
            ..csv_format()
        };
        let rows = read(&format, &TWO, b"a;b\n1;'it\\'s; \\\\'\n2;nil\n3;'nil'\n");
        assert_eq!(rows, ["1|\"it's; \\\\\"", "2|∅", "3|\"nil\""]);
    }

    #[test]
    fn tables_of_one_and_of_no_column() {
        assert_eq!(read(&text_format(), &[ScalarType::Text], b"\nx\n"), ["\"\"", "\"x\""]);
        assert_eq!(read(&csv_format(), &[ScalarType::Text], b"\nx\n"), ["∅", "\"x\""]);
        assert_eq!(read(&text_format(), &[], b"\n\n"), ["", ""]);
    }

    #[test]
    fn any_bytes_give_rows_or_an_error() {
        let mut seed = 1u64;
        for _ in 0..20_000 {
            let mut data = Vec::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                data.push(b"1a\t\n\r\\.\",\xffxN"[(seed >> 33) as usize % 12]);
            }
            for format in [text_format(), csv_format()] {
                read(&format, &TWO, &data);
            }
        }
    }
}
