//! Values on the wire: which format a client asked for, and the way from datum to bytes and back.
//!
//! `text` prints and reads through `repr::text`, under the session's settings; `binary` is PostgreSQL's own
//! send/receive format. A new SQL type is added there and nowhere else in this crate.

pub mod binary;
pub mod numeric;
pub mod text;

use engine::SqlError;
use std::sync::Arc;

/// How one value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As PostgreSQL prints it.
    Text,
    /// As PostgreSQL's send function writes it.
    Binary,
}

impl Format {
    /// The code of Bind and RowDescription.
    pub fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }
    /// From a code.
    pub(crate) fn from_code(code: i16) -> Result<Format, SqlError> {
        match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => Err(SqlError::new("22023", format!("unsupported format code: {other}"))),
        }
    }
}

/// How a result's values are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formats {
    /// All alike, however many they are.
    All(Format),
    /// Each column's.
    Each(Arc<[Format]>),
}

impl Formats {
    /// Of a column.
    pub fn of(&self, index: usize) -> Format {
        match self {
            Formats::All(format) => *format,
            Formats::Each(formats) => formats.get(index).copied().unwrap_or(Format::Text),
        }
    }

    /// Whether they are for so many columns.
    pub fn fit(&self, columns: usize) -> bool {
        match self {
            Formats::All(_) => true,
            Formats::Each(formats) => formats.len() == columns,
        }
    }
}

/// Bind's format codes spread over so many columns: none is all text, one is for all, else one each.
pub fn formats(columns: usize, codes: &[i16]) -> Result<Formats, SqlError> {
    match codes {
        [] => Ok(Formats::All(Format::Text)),
        [all] => Ok(Formats::All(Format::from_code(*all)?)),
        each if each.len() != columns => Err(crate::error::protocol_violation(format!(
            "bind message has {} result formats but query has {columns} columns",
            each.len()
        ))),
        each => Ok(Formats::Each(each.iter().map(|code| Format::from_code(*code)).collect::<Result<_, _>>()?)),
    }
}

/// The format of the value at this position.
pub(crate) fn format_of(codes: &[i16], index: usize) -> Result<Format, SqlError> {
    match codes {
        [] => Ok(Format::Text),
        [all] => Format::from_code(*all),
        each => Format::from_code(each[index]),
    }
}
