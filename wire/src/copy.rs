//! COPY's data, both ways: what stands between CopyData messages and rows.
//!
//! `decode` turns the client's lines into rows, however they are cut into messages; `encode` writes rows as lines. `binary` does
//! both for PostgreSQL's binary form. The values themselves go through `types`.

pub mod binary;
pub mod decode;
pub mod encode;

use crate::types::Format;
use crate::types::text::TextContext;
use binary::{BinaryDecoder, BinaryEncoder};
use decode::CopyDecoder;
use encode::CopyEncoder;
use engine::SqlError;
use engine::protocol::{AnswerRow, CopyFormat, CopyLayout, OutputColumn};
use repr::Datum;

/// Reads one transfer.
pub enum RowDecoder {
    /// Of lines.
    Lines(Box<CopyDecoder>),
    /// Of the binary form.
    Binary(BinaryDecoder),
}

impl RowDecoder {
    /// A decoder for a table's columns.
    pub fn new(table: &str, columns: &[OutputColumn], format: &CopyFormat) -> Self {
        match format.layout {
            CopyLayout::Text | CopyLayout::Csv => RowDecoder::Lines(Box::new(CopyDecoder::new(table, columns, format))),
            CopyLayout::Binary => RowDecoder::Binary(BinaryDecoder::new(table, columns)),
        }
    }

    /// Adds the bytes of one CopyData message.
    pub fn feed(&mut self, data: &[u8]) {
        match self {
            RowDecoder::Lines(lines) => lines.feed(data),
            RowDecoder::Binary(binary) => binary.feed(data),
        }
    }

    /// The next row; `None` when more bytes are needed, or at the end if `finished` says that none will come.
    pub fn row(&mut self, finished: bool, context: &TextContext) -> Result<Option<Vec<Datum>>, SqlError> {
        match self {
            RowDecoder::Lines(lines) => lines.row(finished, context),
            RowDecoder::Binary(binary) => binary.row(finished, context),
        }
    }

    /// Adds "COPY t, line n" to an error of the row that was read last.
    pub(crate) fn at_line(&self, error: SqlError) -> SqlError {
        match self {
            RowDecoder::Lines(lines) => lines.at_line(error),
            RowDecoder::Binary(binary) => binary.at_line(error),
        }
    }
}

/// Writes one transfer, as CopyData messages.
pub enum RowEncoder {
    /// As lines.
    Lines(CopyEncoder),
    /// In the binary form.
    Binary(BinaryEncoder),
}

impl RowEncoder {
    /// An encoder for these columns.
    pub fn new(columns: &[OutputColumn], format: &CopyFormat) -> Self {
        match format.layout {
            CopyLayout::Text | CopyLayout::Csv => RowEncoder::Lines(CopyEncoder::new(columns, format)),
            CopyLayout::Binary => RowEncoder::Binary(BinaryEncoder::new(columns)),
        }
    }

    /// Appends what comes before all rows, if it is a message of its own.
    pub fn header(&mut self, out: &mut Vec<u8>) -> Result<(), SqlError> {
        match self {
            RowEncoder::Lines(lines) => lines.header(out),
            RowEncoder::Binary(_) => Ok(()),
        }
    }

    /// Appends one row's message; on an error nothing of it remains.
    pub fn row(&mut self, row: &AnswerRow<'_>, context: &TextContext, out: &mut Vec<u8>) -> Result<(), SqlError> {
        match self {
            RowEncoder::Lines(lines) => lines.row(row, context, out),
            RowEncoder::Binary(binary) => binary.row(row, context, out),
        }
    }

    /// Appends what comes behind all rows.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), SqlError> {
        match self {
            RowEncoder::Lines(_) => Ok(()),
            RowEncoder::Binary(binary) => binary.end(out),
        }
    }

    /// Whether another transfer would write the next row alike.
    pub fn is_under_way(&self) -> bool {
        match self {
            RowEncoder::Lines(_) => true,
            RowEncoder::Binary(binary) => binary.is_under_way(),
        }
    }
}

/// What a transfer in this format announces.
pub(crate) fn announced(format: &CopyFormat) -> Format {
    match format.layout {
        CopyLayout::Text | CopyLayout::Csv => Format::Text,
        CopyLayout::Binary => Format::Binary,
    }
}
