//! COPY in PostgreSQL's binary form, both ways.
//!
//! ```text
//! signature (11) │ flags (4) │ length (4) │ extension │ row … │ -1 (2)
//!                                                        row = fields (2) │ length (4) value │ …     NULL has length -1
//! ```
//! Follows PostgreSQL 15's copyfromparse.c. Keeps at most one row, of bounded length. Errors say which row and column,
//! never the value.

use crate::decode::MESSAGE_BYTES_MAX;
use crate::types::binary;
use crate::types::text::TextContext;
use bytes::BufMut;
use engine::SqlError;
use engine::protocol::{AnswerRow, OutputColumn};
use repr::{Datum, poll};
use std::ops::Range;

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
const OID_FLAG: u32 = 1 << 16;
const CRITICAL_FLAGS: u32 = 0xffff_0000;
const END: i16 = -1;
/// PostgreSQL takes no value of as many bytes.
const FIELD_BYTES_END: usize = 0x3fff_ffff;

/// Reads one transfer.
pub struct BinaryDecoder {
    table: String,
    columns: Vec<OutputColumn>,
    buffer: Vec<u8>,
    /// Where the next row, or what is left of the header, begins.
    at: usize,
    next: Next,
    rows: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Header,
    /// So many bytes of the header's extension.
    Extension(usize),
    Row,
    /// The last row has been; nothing may follow.
    Nothing,
}

impl BinaryDecoder {
    /// A decoder for a table's columns.
    pub fn new(table: &str, columns: &[OutputColumn]) -> Self {
        let columns = columns.to_vec();
        BinaryDecoder { table: table.to_string(), columns, buffer: Vec::new(), at: 0, next: Next::Header, rows: 0 }
    }

    /// Adds the bytes of one CopyData message.
    pub fn feed(&mut self, data: &[u8]) {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.extend_from_slice(data);
    }

    /// The next row; `None` when more bytes are needed, or at the end if `finished` says that none will come.
    pub fn row(&mut self, finished: bool, context: &TextContext) -> Result<Option<Vec<Datum>>, SqlError> {
        loop {
            let known = self.buffer.len() - self.at;
            match self.next {
                Next::Header => {
                    if !self.header(finished)? {
                        return Ok(None);
                    }
                }
                Next::Extension(length) => {
                    let skipped = length.min(known);
                    self.at += skipped;
                    self.next = if skipped == length { Next::Row } else { Next::Extension(length - skipped) };
                    if skipped < length {
                        return if finished {
                            Err(damaged("invalid COPY file header (wrong length)"))
                        } else {
                            Ok(None)
                        };
                    }
                }
                Next::Row => return self.next_row(finished, context),
                Next::Nothing if known > 0 => {
                    return Err(self.at_line(damaged("received copy data after EOF marker")));
                }
                Next::Nothing => return Ok(None),
            }
        }
    }

    /// Adds "COPY t, line n" to an error of the row that was read last.
    pub(crate) fn at_line(&self, error: SqlError) -> SqlError {
        if error.context.is_some() {
            return error;
        }
        error.context(format!("COPY {}, line {}", self.table, self.rows))
    }

    fn at_column(&self, error: SqlError, index: usize) -> SqlError {
        let column = &self.columns[index].name;
        error.context(format!("COPY {}, line {}, column {column}", self.table, self.rows))
    }

    /// Steps over the signature, the flags and the extension's length, if they are there.
    fn header(&mut self, finished: bool) -> Result<bool, SqlError> {
        let rest = &self.buffer[self.at..];
        let known = rest.len().min(SIGNATURE.len());
        if rest[..known] != SIGNATURE[..known] || (finished && known < SIGNATURE.len()) {
            return Err(damaged("COPY file signature not recognized"));
        }
        let number = |from: usize| {
            let bytes = rest.get(from..from + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().expect("four bytes were asked for")))
        };
        let Some(flags) = number(SIGNATURE.len()) else {
            return if finished { Err(damaged("invalid COPY file header (missing flags)")) } else { Ok(false) };
        };
        if flags & OID_FLAG != 0 {
            return Err(damaged("invalid COPY file header (WITH OIDS)"));
        }
        if flags & CRITICAL_FLAGS != 0 {
            return Err(damaged("unrecognized critical flags in COPY file header"));
        }
        let Some(length) = number(SIGNATURE.len() + 4) else {
            return if finished { Err(damaged("invalid COPY file header (missing length)")) } else { Ok(false) };
        };
        if length > i32::MAX as u32 {
            return Err(damaged("invalid COPY file header (missing length)"));
        }
        self.at += SIGNATURE.len() + 8;
        self.next = Next::Extension(length as usize);
        Ok(true)
    }

    fn next_row(&mut self, finished: bool, context: &TextContext) -> Result<Option<Vec<Datum>>, SqlError> {
        let Some(count) = self.buffer.get(self.at..self.at + 2) else {
            // As PostgreSQL: what ends without its mark has ended as well.
            return Ok(None);
        };
        let count = i16::from_be_bytes([count[0], count[1]]);
        if count == END {
            self.rows += 1;
            self.at += 2;
            self.next = Next::Nothing;
            return if self.at < self.buffer.len() { self.row(finished, context) } else { Ok(None) };
        }
        let fields = match self.fields(count) {
            Ok(Some(fields)) => fields,
            Ok(None) if !finished => return self.more_needed(),
            Ok(None) | Err(Misshapen) => {
                self.rows += 1;
                return Err(self.wrong_row(count, context));
            }
        };
        self.rows += 1;
        let mut row = Vec::with_capacity(fields.values.len());
        for (index, value) in fields.values.into_iter().enumerate() {
            poll::step()?;
            row.push(match value {
                None => Datum::Null,
                Some(range) => binary::decode_column(&self.buffer[range], &self.columns[index].column_type, context)
                    .map_err(|error| self.at_column(error, index))?,
            });
        }
        self.at = fields.end;
        Ok(Some(row))
    }

    /// Where the values of the row that begins here stand; none if it is not all there.
    fn fields(&self, count: i16) -> Result<Option<Fields>, Misshapen> {
        if usize::try_from(count).ok() != Some(self.columns.len()) {
            return Err(Misshapen);
        }
        let mut end = self.at + 2;
        let mut values = Vec::with_capacity(self.columns.len());
        for _ in &self.columns {
            let Some(length) = self.length(end) else { return Ok(None) };
            end += 4;
            if length == -1 {
                values.push(None);
                continue;
            }
            let length = usize::try_from(length).ok().filter(|length| *length < FIELD_BYTES_END).ok_or(Misshapen)?;
            if length > self.buffer.len() - end {
                return Ok(None);
            }
            values.push(Some(end..end + length));
            end += length;
        }
        Ok(Some(Fields { values, end }))
    }

    fn length(&self, at: usize) -> Option<i32> {
        let bytes = self.buffer.get(at..at + 4)?;
        Some(i32::from_be_bytes(bytes.try_into().expect("four bytes were asked for")))
    }

    /// What is wrong first with the row that begins here, its values among it.
    fn wrong_row(&self, count: i16, context: &TextContext) -> SqlError {
        if usize::try_from(count).ok() != Some(self.columns.len()) {
            let message = format!("row field count is {count}, expected {}", self.columns.len());
            return self.at_line(damaged(&message));
        }
        let mut end = self.at + 2;
        for (index, column) in self.columns.iter().enumerate() {
            let Some(length) = self.length(end) else {
                return self.at_column(damaged("unexpected EOF in COPY data"), index);
            };
            end += 4;
            let wrong = match usize::try_from(length) {
                Err(_) if length == -1 => continue,
                Err(_) => damaged("invalid field size"),
                Ok(length) if length >= FIELD_BYTES_END => SqlError::new("54000", "out of memory"),
                Ok(length) if length > self.buffer.len() - end => damaged("unexpected EOF in COPY data"),
                Ok(length) => {
                    let value = &self.buffer[end..end + length];
                    end += length;
                    match binary::decode_column(value, &column.column_type, context) {
                        Ok(_) => continue,
                        Err(error) => error,
                    }
                }
            };
            return self.at_column(wrong, index);
        }
        self.at_line(damaged("unexpected EOF in COPY data"))
    }

    fn more_needed(&mut self) -> Result<Option<Vec<Datum>>, SqlError> {
        if self.buffer.len() - self.at > MESSAGE_BYTES_MAX {
            self.rows += 1;
            let message = format!("a row of more than {MESSAGE_BYTES_MAX} bytes is not taken");
            return Err(self.at_line(SqlError::new("54000", message)));
        }
        Ok(None)
    }
}

/// A row's fields: where each value stands, and where the row ends.
struct Fields {
    values: Vec<Option<Range<usize>>>,
    end: usize,
}

/// Bytes that are no row, however many follow.
struct Misshapen;

fn damaged(message: &str) -> SqlError {
    SqlError::new("22P04", message)
}

/// Writes one transfer.
pub struct BinaryEncoder {
    columns: Vec<OutputColumn>,
    /// Whether the header is written: it stands in the first message, as PostgreSQL's does.
    begun: bool,
}

impl BinaryEncoder {
    /// An encoder for these columns.
    pub fn new(columns: &[OutputColumn]) -> Self {
        BinaryEncoder { columns: columns.to_vec(), begun: false }
    }

    /// Whether the header is written.
    pub fn is_under_way(&self) -> bool {
        self.begun
    }

    /// Appends one row's message; on an error nothing of it remains.
    pub fn row(&mut self, row: &AnswerRow<'_>, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
        let start = out.len();
        let result = self.message(out, |columns, out| {
            out.put_i16(field_count(columns)?);
            row.each(|index, value| match columns.get(index) {
                Some(column) => binary::encode_with_length(value, &column.column_type.scalar, context, out),
                None => Ok(()),
            })
        });
        match result {
            Ok(()) => self.begun = true,
            Err(_) => out.truncate(start),
        }
        result
    }

    /// Appends the mark of the end.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), SqlError> {
        self.message(out, |_, out| {
            out.put_i16(END);
            Ok(())
        })?;
        self.begun = true;
        Ok(())
    }

    fn message(
        &self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&[OutputColumn], &mut Vec<u8>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let start = out.len();
        out.put_u8(b'd');
        out.put_i32(0);
        if !self.begun {
            out.put_slice(SIGNATURE);
            out.put_i32(0);
            out.put_i32(0);
        }
        write(&self.columns, out)?;
        super::encode::close(start, out)
    }
}

fn field_count(columns: &[OutputColumn]) -> Result<i16, SqlError> {
    i16::try_from(columns.len()).map_err(|_| SqlError::new("54011", "too many columns for COPY"))
}
