//! COPY: how its rows are written, as `wire` needs it, and the rows that have come in and are not written yet.
//!
//! Never parses the client's bytes.

use planner::CopyInPlan;
use planner::hir::OutputColumn;
use planner::parse::utility::{self, CopyHeader, CopyOptions};
use planner::scalar::EvalContext;
use repr::{Datum, Encoding};
use state::SqlError;
use state::overlay::UndoPosition;
use state::progress::{LongCommand, ProgressSlot, ShownProgress};
use std::sync::Arc;
use transactions::writer::triggered::InsertedRows;

/// How COPY's rows are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFormat {
    /// FORMAT.
    pub layout: utility::CopyLayout,
    /// DELIMITER; tab for text, comma for CSV.
    pub delimiter: u8,
    /// NULL; `\N` for text, empty for CSV.
    pub null: String,
    /// HEADER.
    pub header: CopyHeader,
    /// QUOTE (CSV).
    pub quote: u8,
    /// ESCAPE (CSV).
    pub escape: u8,
    /// What is written or read otherwise in some columns (CSV).
    pub forced: Forced,
    /// What the bytes are.
    pub content: CopyContent,
}

/// What the bytes of a transfer are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyContent {
    /// The one column is a document of its own: each value is sent as it is, one a line, without quoting.
    pub raw: bool,
    /// ENCODING; none is the client's.
    pub encoding: Option<Encoding>,
}

/// Columns, by their positions in the column list, for which CSV has rules of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forced {
    /// FORCE_QUOTE: written in quotes, needed or not.
    pub quote: Vec<usize>,
    /// FORCE_NOT_NULL: the NULL string without quotes is a value.
    pub not_null: Vec<usize>,
    /// FORCE_NULL: the NULL string within quotes is NULL.
    pub null: Vec<usize>,
}

impl CopyFormat {
    /// Whether values stand in quotes and between commas.
    pub fn is_csv(&self) -> bool {
        self.layout == utility::CopyLayout::Csv
    }
}

/// Which way the rows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyWay {
    In,
    Out,
}

/// The format that the options describe, refused with PostgreSQL's errors where they contradict each other.
pub(super) fn format(options: &CopyOptions, way: CopyWay) -> Result<CopyFormat, SqlError> {
    let layout = options.format;
    let csv = layout == utility::CopyLayout::Csv;
    refuse_unsupported(options)?;
    if way == CopyWay::Out && options.header == CopyHeader::Match {
        return Err(SqlError::new("0A000", "cannot use \"match\" with HEADER in COPY TO"));
    }
    if layout == utility::CopyLayout::Binary {
        refuse_for_binary(options)?;
    }
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
    refuse_forced(options, way)?;
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
    let header = options.header;
    let content = CopyContent { raw: false, encoding: encoding(options)? };
    Ok(CopyFormat { layout, delimiter, null, header, quote, escape, forced: Forced::default(), content })
}

/// Options that have no meaning without text.
fn refuse_for_binary(options: &CopyOptions) -> Result<(), SqlError> {
    if options.delimiter.is_some() {
        return Err(SqlError::new("42601", "cannot specify DELIMITER in BINARY mode"));
    }
    if options.null.is_some() {
        return Err(SqlError::new("42601", "cannot specify NULL in BINARY mode"));
    }
    if options.header != CopyHeader::Absent {
        return Err(SqlError::new("0A000", "cannot specify HEADER in BINARY mode"));
    }
    Ok(())
}

/// Options of CSV with another format, and those of one way with the other.
fn refuse_forced(options: &CopyOptions, way: CopyWay) -> Result<(), SqlError> {
    let csv = options.format == utility::CopyLayout::Csv;
    let of_one_way = [
        ("quote", options.quote.is_some(), None),
        ("escape", options.escape.is_some(), None),
        ("force quote", options.force_quote.is_some(), Some((CopyWay::Out, "TO"))),
        ("force not null", !options.force_not_null.is_empty(), Some((CopyWay::In, "FROM"))),
        ("force null", !options.force_null.is_empty(), Some((CopyWay::In, "FROM"))),
    ];
    for (name, given, only) in of_one_way {
        if given && !csv {
            return Err(SqlError::new("0A000", format!("COPY {name} available only in CSV mode")));
        }
        if let Some((_, words)) = only.filter(|(only, _)| given && *only != way) {
            return Err(SqlError::new("0A000", format!("COPY {name} only available using COPY {words}")));
        }
    }
    Ok(())
}

fn refuse_unsupported(options: &CopyOptions) -> Result<(), SqlError> {
    if options.default.is_some() {
        return Err(SqlError::unsupported("COPY option DEFAULT")
            .hint("Leave the column out of COPY's column list: it then takes its default in every row."));
    }
    Ok(())
}

/// ENCODING
fn encoding(options: &CopyOptions) -> Result<Option<Encoding>, SqlError> {
    let Some(name) = &options.encoding else { return Ok(None) };
    let found = Encoding::named(name)
        .ok_or_else(|| invalid("argument to option \"encoding\" must be a valid encoding name"))?;
    if !found.is_supported() {
        return Err(SqlError::unsupported(format!("COPY with encoding \"{}\"", found.name())).hint("Use UTF8."));
    }
    Ok(Some(found))
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
    match &options.force_quote {
        None => Ok(Vec::new()),
        Some(names) if names.is_empty() => Ok((0..columns.len()).collect()),
        Some(names) => positions(names, columns, "FORCE_QUOTE"),
    }
}

fn positions(names: &[String], columns: &[OutputColumn], option: &str) -> Result<Vec<usize>, SqlError> {
    let mut positions = Vec::with_capacity(names.len());
    for name in names {
        let position = columns
            .iter()
            .position(|column| column.name == *name)
            .ok_or_else(|| SqlError::new("42P10", format!("{option} column \"{name}\" not referenced by COPY")))?;
        if positions.contains(&position) {
            return Err(SqlError::new("42701", format!("column \"{name}\" specified more than once")));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// COPY FROM STDIN under way.
pub struct CopyIn {
    pub(super) plan: Arc<CopyInPlan>,
    pub(super) format: CopyFormat,
    /// Full rows of the table that are not written yet.
    pub(super) rows: Vec<Vec<Datum>>,
    /// In what those are evaluated and written.
    pub(super) context: Option<EvalContext>,
    pub(super) copied: usize,
    /// Those written that triggers are called for, in the end.
    pub(super) inserted: InsertedRows,
    /// Where its transaction stood.
    pub(super) since: UndoPosition,
    /// What others see of it.
    pub(super) under_way: ShownProgress,
}

impl CopyIn {
    /// Ready for rows.
    pub(super) fn new(
        plan: Arc<CopyInPlan>,
        options: &CopyOptions,
        slot: &Arc<ProgressSlot>,
        since: UndoPosition,
    ) -> Result<CopyIn, SqlError> {
        let mut format = format(options, CopyWay::In)?;
        format.forced.not_null = positions(&options.force_not_null, &plan.columns, "FORCE_NOT_NULL")?;
        format.forced.null = positions(&options.force_null, &plan.columns, "FORCE_NULL")?;
        let under_way = ShownProgress::begin(slot, LongCommand::CopyIn, plan.insert.table, 0);
        let inserted = InsertedRows::default();
        Ok(CopyIn { plan, format, rows: Vec::new(), inserted, context: None, copied: 0, since, under_way })
    }

    /// So many bytes have come from the client.
    pub fn receive(&self, bytes: usize) {
        self.under_way.progress().add(0, bytes as u64);
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
    use super::{CopyWay, force_quote};
    use planner::hir::OutputColumn;
    use planner::parse::utility::{CopyHeader, CopyLayout};
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

    fn format(options: &CopyOptions) -> Result<super::CopyFormat, state::SqlError> {
        super::format(options, CopyWay::Out)
    }

    #[test]
    fn formats_have_their_own_defaults() {
        let text = format(&options("")).unwrap();
        assert_eq!((text.layout, text.delimiter, text.null.as_str()), (CopyLayout::Text, b'\t', "\\N"));
        assert_eq!(text.header, CopyHeader::Absent);
        let csv = format(&options("(FORMAT csv, HEADER, QUOTE '''')")).unwrap();
        assert_eq!((csv.layout, csv.delimiter, csv.null.as_str()), (CopyLayout::Csv, b',', ""));
        assert_eq!(csv.header, CopyHeader::Present);
        assert_eq!(format(&options("(FORMAT binary)")).unwrap().layout, CopyLayout::Binary);
        assert_eq!((csv.quote, csv.escape), (b'\'', b'\''));
        assert!(format(&options("(ENCODING 'utf-8')")).is_ok());
    }

    #[test]
    fn contradictions_are_refused_as_in_postgresql() {
        for (written, code, message) in [
            ("(FORMAT binary, DELIMITER ',')", "42601", "cannot specify DELIMITER in BINARY mode"),
            ("(FORMAT binary, NULL '')", "42601", "cannot specify NULL in BINARY mode"),
            ("(FORMAT binary, HEADER)", "0A000", "cannot specify HEADER in BINARY mode"),
            ("(FORMAT binary, QUOTE 'x')", "0A000", "COPY quote available only in CSV mode"),
            ("(FORCE_NULL (a))", "0A000", "COPY force null available only in CSV mode"),
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
            ("(HEADER match)", "0A000", "cannot use \"match\" with HEADER in COPY TO"),
            ("(DEFAULT 'x')", "0A000", "COPY option DEFAULT is not supported"),
            ("(FORMAT csv, FORCE_NULL (a))", "0A000", "COPY force null only available using COPY FROM"),
            ("(ENCODING 'euc_tw')", "0A000", "COPY with encoding \"EUC_TW\" is not supported"),
            ("(ENCODING 'none')", "22023", "argument to option \"encoding\" must be a valid encoding name"),
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
