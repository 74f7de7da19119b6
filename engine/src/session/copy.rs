//! COPY: how its rows are written, as `wire` needs it, and the rows that have come in and are not written yet.
//!
//! Never parses the client's bytes.

use planner::CopyInPlan;
use planner::hir::OutputColumn;
use planner::parse::utility::{self, CopyHeader, CopyOptions};
use repr::{Datum, ScalarType};
use state::SqlError;
use std::sync::Arc;

/// The text formats of COPY (binary is refused by name).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFormat {
    /// CSV rather than text.
    pub csv: bool,
    /// DELIMITER; tab for text, comma for CSV.
    pub delimiter: u8,
    /// NULL; `\N` for text, empty for CSV.
    pub null: String,
    /// HEADER.
    pub header: bool,
    /// QUOTE (CSV).
    pub quote: u8,
    /// ESCAPE (CSV).
    pub escape: u8,
    /// FORCE_QUOTE columns (positions in the column list); `None` entry list means only where needed.
    pub force_quote: Vec<usize>,
    /// The one column is a document of its own: each value is sent as it is, one a line, without quoting.
    pub raw: bool,
}

/// The format that the options describe, refused with PostgreSQL's errors where they contradict each other.
pub(super) fn format(options: &CopyOptions) -> Result<CopyFormat, SqlError> {
    let csv = match options.format {
        utility::CopyFormat::Text => false,
        utility::CopyFormat::Csv => true,
        utility::CopyFormat::Binary => {
            return Err(SqlError::unsupported("COPY with format \"binary\"").hint("Use format \"text\" or \"csv\"."));
        }
    };
    refuse_unsupported(options)?;
    let delimiter = one_byte(options.delimiter.as_deref(), "delimiter", if csv { b',' } else { b'\t' })?;
    let null = options.null.clone().unwrap_or_else(|| if csv { String::new() } else { "\\N".to_string() });
    if matches!(delimiter, b'\r' | b'\n') {
        return Err(invalid("COPY delimiter cannot be newline or carriage return"));
    }
    if null.contains(['\r', '\n']) {
        return Err(invalid("COPY null representation cannot use newline or carriage return"));
    }
    if !csv && matches!(delimiter, b'\\' | b'.' | b'a'..=b'z' | b'0'..=b'9') {
        return Err(invalid(&format!("COPY delimiter cannot be \"{}\"", char::from(delimiter))));
    }
    if !csv {
        let csv_only = [
            ("quote", options.quote.is_some()),
            ("escape", options.escape.is_some()),
            ("force quote", options.force_quote.is_some()),
            ("force not null", !options.force_not_null.is_empty()),
        ];
        if let Some((name, _)) = csv_only.iter().find(|(_, given)| *given) {
            return Err(SqlError::new("0A000", format!("COPY {name} available only in CSV mode")));
        }
    }
    let quote = one_byte(options.quote.as_deref(), "quote", b'"')?;
    if csv && delimiter == quote {
        return Err(invalid("COPY delimiter and quote must be different"));
    }
    let escape = one_byte(options.escape.as_deref(), "escape", quote)?;
    if null.as_bytes().contains(&delimiter) {
        return Err(SqlError::new("0A000", "COPY delimiter must not appear in the NULL specification"));
    }
    if csv && null.as_bytes().contains(&quote) {
        return Err(SqlError::new("0A000", "CSV quote character must not appear in the NULL specification"));
    }
    let header = options.header != CopyHeader::Absent;
    Ok(CopyFormat { csv, delimiter, null, header, quote, escape, force_quote: Vec::new(), raw: false })
}

fn refuse_unsupported(options: &CopyOptions) -> Result<(), SqlError> {
    if options.default.is_some() {
        return Err(SqlError::unsupported("COPY option DEFAULT")
            .hint("Leave the column out of COPY's column list: it then takes its default in every row."));
    }
    if !options.force_null.is_empty() {
        return Err(SqlError::unsupported("COPY option FORCE_NULL")
            .hint("Leave NULL values unquoted, or set them with UPDATE after the COPY."));
    }
    if options.header == CopyHeader::Match {
        return Err(SqlError::unsupported("COPY option HEADER MATCH")
            .hint("Use HEADER, and list the columns in the order of the data."));
    }
    if let Some(encoding) = &options.encoding
        && !state::settings::is_utf8(encoding)
    {
        return Err(
            SqlError::unsupported(format!("COPY with encoding \"{encoding}\"")).hint("Send and read the data as UTF8.")
        );
    }
    Ok(())
}

fn invalid(message: &str) -> SqlError {
    SqlError::new("22023", message)
}

fn one_byte(given: Option<&str>, name: &str, default: u8) -> Result<u8, SqlError> {
    match given.map(str::as_bytes) {
        None => Ok(default),
        Some([byte]) => Ok(*byte),
        Some(_) => Err(SqlError::new("0A000", format!("COPY {name} must be a single one-byte character"))),
    }
}

/// COPY TO's FORCE_QUOTE as positions among the copied columns.
pub(super) fn force_quote(options: &CopyOptions, columns: &[OutputColumn]) -> Result<Vec<usize>, SqlError> {
    if !options.force_not_null.is_empty() {
        return Err(SqlError::new("0A000", "COPY force not null only available using COPY FROM"));
    }
    match &options.force_quote {
        None => Ok(Vec::new()),
        Some(names) if names.is_empty() => Ok((0..columns.len()).collect()),
        Some(names) => positions(names, columns, "FORCE_QUOTE"),
    }
}

fn positions(names: &[String], columns: &[OutputColumn], option: &str) -> Result<Vec<usize>, SqlError> {
    let position = |name: &String| {
        columns
            .iter()
            .position(|column| column.name == *name)
            .ok_or_else(|| SqlError::new("42P10", format!("{option} column \"{name}\" not referenced by COPY")))
    };
    names.iter().map(position).collect()
}

/// COPY FROM's FORCE_NOT_NULL. Only strings can be the null string itself.
fn force_not_null(options: &CopyOptions, columns: &[OutputColumn]) -> Result<Vec<usize>, SqlError> {
    let positions = positions(&options.force_not_null, columns, "FORCE_NOT_NULL")?;
    for position in &positions {
        let column = &columns[*position];
        let limited = column.column_type.modifier >= 0;
        if limited || !matches!(column.column_type.scalar, ScalarType::Text | ScalarType::Varchar) {
            return Err(SqlError::unsupported(format!("COPY option FORCE_NOT_NULL for column \"{}\"", column.name))
                .detail("It is supported for columns of type text and of type character varying without length.")
                .hint("Leave the option out, or quote the column's empty values in the data."));
        }
    }
    Ok(positions)
}

/// COPY FROM STDIN under way.
pub struct CopyIn {
    pub(super) plan: Arc<CopyInPlan>,
    pub(super) format: CopyFormat,
    /// Positions in the column list whose NULLs are the null string.
    pub(super) not_null: Vec<usize>,
    pub(super) rows: Vec<Vec<Datum>>,
    pub(super) copied: usize,
}

impl CopyIn {
    /// Ready for rows.
    pub(super) fn new(plan: Arc<CopyInPlan>, options: &CopyOptions) -> Result<CopyIn, SqlError> {
        let format = format(options)?;
        if options.force_quote.is_some() {
            return Err(SqlError::new("0A000", "COPY force quote only available using COPY TO"));
        }
        let not_null = force_not_null(options, &plan.columns)?;
        Ok(CopyIn { plan, format, not_null, rows: Vec::new(), copied: 0 })
    }

    /// The table's name, for the context of errors: "COPY t, line 3".
    pub fn table(&self) -> &str {
        &self.plan.table_name
    }

    /// The types and names of the columns that each row must have.
    pub fn columns(&self) -> &[OutputColumn] {
        &self.plan.columns
    }

    /// How the client's data is to be read.
    pub fn format(&self) -> &CopyFormat {
        &self.format
    }
}

#[cfg(test)]
mod tests {
    use super::{force_quote, format};
    use planner::hir::OutputColumn;
    use planner::parse::{Statement, utility::CopyOptions};
    use repr::{ColumnType, ScalarType};

    fn options(written: &str) -> CopyOptions {
        let sql = format!("COPY t TO STDOUT {written}");
        let statements = planner::parse::parse(&sql).unwrap();
        match &statements[0].statement {
            Statement::Copy(copy) => copy.options.clone(),
            other => panic!("no COPY: {other:?}"),
        }
    }

    #[test]
    fn formats_have_their_own_defaults() {
        let text = format(&options("")).unwrap();
        assert_eq!((text.csv, text.delimiter, text.null.as_str(), text.header), (false, b'\t', "\\N", false));
        let csv = format(&options("(FORMAT csv, HEADER, QUOTE '''')")).unwrap();
        assert_eq!((csv.csv, csv.delimiter, csv.null.as_str(), csv.header), (true, b',', "", true));
        assert_eq!((csv.quote, csv.escape), (b'\'', b'\''));
        assert!(format(&options("(ENCODING 'utf-8')")).is_ok());
    }

    #[test]
    fn contradictions_are_refused_as_in_postgresql() {
        for (written, code, message) in [
            ("(FORMAT binary)", "0A000", "COPY with format \"binary\" is not supported"),
            ("(DELIMITER 'ab')", "0A000", "COPY delimiter must be a single one-byte character"),
            ("(DELIMITER 'é')", "0A000", "COPY delimiter must be a single one-byte character"),
            ("(DELIMITER 'a')", "22023", "COPY delimiter cannot be \"a\""),
            ("(DELIMITER E'\\n')", "22023", "COPY delimiter cannot be newline or carriage return"),
            ("(NULL E'a\\r')", "22023", "COPY null representation cannot use newline or carriage return"),
            ("(QUOTE '|')", "0A000", "COPY quote available only in CSV mode"),
            ("(ESCAPE '|')", "0A000", "COPY escape available only in CSV mode"),
            ("(FORCE_QUOTE *)", "0A000", "COPY force quote available only in CSV mode"),
            ("(FORMAT csv, QUOTE ',')", "22023", "COPY delimiter and quote must be different"),
            ("(FORMAT csv, QUOTE '||')", "0A000", "COPY quote must be a single one-byte character"),
            ("(FORMAT csv, ESCAPE '')", "0A000", "COPY escape must be a single one-byte character"),
            ("(DELIMITER '|', NULL 'a|')", "0A000", "COPY delimiter must not appear in the NULL specification"),
            ("(FORMAT csv, NULL '\"')", "0A000", "CSV quote character must not appear in the NULL specification"),
            ("(HEADER match)", "0A000", "COPY option HEADER MATCH is not supported"),
            ("(DEFAULT 'x')", "0A000", "COPY option DEFAULT is not supported"),
            ("(FORMAT csv, FORCE_NULL (a))", "0A000", "COPY option FORCE_NULL is not supported"),
            ("(ENCODING 'latin1')", "0A000", "COPY with encoding \"latin1\" is not supported"),
        ] {
            let error = format(&options(written)).unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (code, message), "{written}");
        }
    }

    #[test]
    fn forced_quotes_are_positions() {
        let column = |name: &str| OutputColumn {
            name: name.to_string(),
            column_type: ColumnType::nullable(ScalarType::Text),
            origin: None,
        };
        let columns = [column("a"), column("b")];
        let quoted = |written: &str| force_quote(&options(written), &columns);
        assert_eq!(quoted("(FORMAT csv, FORCE_QUOTE *)"), Ok(vec![0, 1]));
        assert_eq!(quoted("(FORMAT csv, FORCE_QUOTE (b))"), Ok(vec![1]));
        assert_eq!(quoted("(FORMAT csv)"), Ok(vec![]));
        assert_eq!(quoted("(FORMAT csv, FORCE_QUOTE (c))").unwrap_err().code, "42P10");
    }
}
