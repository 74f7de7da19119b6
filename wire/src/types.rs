//! Values on the wire: which format a client asked for, and the way from datum to bytes and back.
//!
//! `text` prints and reads through `repr::text`, under the session's settings; `binary` is PostgreSQL's own
//! send/receive format. A new SQL type is added there and nowhere else in this crate.

pub mod binary;
pub mod numeric;
pub mod text;

use engine::SqlError;
use engine::protocol::OutputColumn;
use repr::ScalarType;

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
    pub fn from_code(code: i16) -> Result<Format, SqlError> {
        match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => Err(SqlError::new("22023", format!("unsupported format code: {other}"))),
        }
    }
}

/// What is needed to encode one column of a result.
#[derive(Clone, Debug)]
pub struct ColumnFormat {
    /// Its type.
    pub scalar: ScalarType,
    /// Its format.
    pub format: Format,
}

/// Bind's format codes spread over the columns: none is all text, one is for all, else one each.
pub fn column_formats(columns: &[OutputColumn], codes: &[i16]) -> Result<Vec<ColumnFormat>, SqlError> {
    if codes.len() > 1 && codes.len() != columns.len() {
        return Err(crate::error::protocol_violation(format!(
            "bind message has {} result formats but query has {} columns",
            codes.len(),
            columns.len()
        )));
    }
    columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let format = format_of(codes, index)?;
            Ok(ColumnFormat { scalar: column.column_type.scalar.clone(), format })
        })
        .collect()
}

/// The format of the value at this position.
pub fn format_of(codes: &[i16], index: usize) -> Result<Format, SqlError> {
    match codes {
        [] => Ok(Format::Text),
        [all] => Format::from_code(*all),
        each => Format::from_code(each[index]),
    }
}
