//! Long lists of rows of plain literals, read without tokens or trees: a bulk of them costs what its bytes cost.
//!
//! ```text
//! INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y'), … RETURNING a
//! └────────────── head ─────────────┘ └── cut ──┘ └── head ──┘      rows: 1, 'x'   2, 'y'   …
//! ```
//!
//! The head has one row and goes the usual way. Whatever is not as plain as this has no bulk, and is read as anything else
//! is: expressions, DEFAULT, parameters, comments, rows of different lengths, and all that is wrong.

use super::statement::{ParsedStatement, Statement};
use repr::{Datum, Numeric, poll};
use sqlparser::ast::{self, SetExpr};
use std::ops::Range;

/// Shorter texts are not looked at.
const TEXT_BYTES_MIN: usize = 8 << 10;

/// The rows of an INSERT of whose tree only the first is in the statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Bulk {
    /// All rows, the first included: NULL, booleans, `integer`, `bigint`, `numeric`; texts are of no type yet.
    pub rows: Vec<Vec<Datum>>,
    /// What was parsed: the statement's text without the other rows.
    pub head: String,
    /// Where those stand in the statement's text, in bytes.
    cut: Range<usize>,
}

impl Bulk {
    /// From a position in the head to that in the statement's text, both in characters from 1.
    pub fn position(&self, text: &str, position: u32) -> u32 {
        let characters = |bytes: Range<usize>| text.get(bytes).map_or(0, |part| part.chars().count() as u32);
        let before = characters(0..self.cut.start);
        if position <= before { position } else { position + characters(self.cut.clone()) }
    }
}

/// The statement of a text that is one INSERT of such rows; `parse` reads its head.
pub(super) fn parse(sql: &str, parse: impl FnOnce(&str) -> Option<ParsedStatement>) -> Option<ParsedStatement> {
    let text = sql.trim_ascii_start();
    if text.len() < TEXT_BYTES_MIN || !text.get(..6)?.eq_ignore_ascii_case("insert") {
        return None;
    }
    let mut scanner = Scanner { bytes: text.as_bytes(), text, at: 0 };
    scanner.to_values()?;
    let mut rows = Vec::new();
    let first = scanner.row()?;
    let width = first.len();
    rows.push(first);
    let first_end = scanner.at;
    let mut end = first_end;
    while scanner.next_is(b',') {
        rows.push(scanner.row().filter(|row| row.len() == width)?);
        end = scanner.at;
    }
    let whole = ParsedStatement { text: String::new(), ..parse(&[&text[..first_end], &text[end..]].concat())? };
    if rows.len() < 2 || !has_one_row(&whole.statement) {
        return None;
    }
    let last = text.trim_ascii_end();
    let last = last.strip_suffix(';').unwrap_or(last).trim_ascii_end();
    let head = [&text[..first_end], last.get(end..).unwrap_or_default()].concat();
    let offset = sql[..sql.len() - text.len()].chars().count() as u32;
    let bulk = Bulk { rows, head, cut: first_end..end };
    Some(ParsedStatement { text: last.to_owned(), offset, bulk: Some(bulk.into()), ..whole })
}

/// Whether a statement is an INSERT of just one row of VALUES.
fn has_one_row(statement: &Statement) -> bool {
    let Statement::Sql(statement) = statement else { return false };
    let ast::Statement::Insert(insert) = &**statement else { return false };
    let Some(query) = &insert.source else { return false };
    matches!(&*query.body, SetExpr::Values(values) if values.rows.len() == 1)
}

struct Scanner<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Takes a byte behind blanks, if it is next.
    fn next_is(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    fn word(&mut self) -> &str {
        let start = self.at;
        while self.peek().is_ascii_alphanumeric() || self.peek() == b'_' {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// Behind the word VALUES outside parentheses.
    fn to_values(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                b'(' => depth += 1,
                b')' => depth = depth.checked_sub(1)?,
                b'"' => {
                    self.at += 1 + self.bytes[self.at + 1..].iter().position(|byte| *byte == b'"')?;
                }
                byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
                    if self.word().eq_ignore_ascii_case("values") && depth == 0 {
                        return Some(());
                    }
                    continue;
                }
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b'.' => {}
                _ => return None,
            }
            self.at += 1;
        }
    }

    fn row(&mut self) -> Option<Vec<Datum>> {
        if !self.next_is(b'(') {
            return None;
        }
        let mut row = Vec::new();
        loop {
            poll::step_or_unwind();
            self.blanks();
            row.push(self.literal()?);
            if self.next_is(b')') {
                return Some(row);
            }
            if !self.next_is(b',') {
                return None;
            }
        }
    }

    fn literal(&mut self) -> Option<Datum> {
        match self.peek() {
            b'\'' => self.string(),
            b'0'..=b'9' | b'-' => self.number(),
            byte if byte.is_ascii_alphabetic() => match self.word() {
                word if word.eq_ignore_ascii_case("null") => Some(Datum::Null),
                word if word.eq_ignore_ascii_case("true") => Some(Datum::Bool(true)),
                word if word.eq_ignore_ascii_case("false") => Some(Datum::Bool(false)),
                _ => None,
            },
            _ => None,
        }
    }

    fn string(&mut self) -> Option<Datum> {
        let start = self.at + 1;
        let mut doubled = false;
        let mut end = start;
        loop {
            end += self.bytes.get(end..)?.iter().position(|byte| *byte == b'\'')?;
            if self.bytes.get(end + 1) != Some(&b'\'') {
                break;
            }
            doubled = true;
            end += 2;
        }
        self.at = end + 1;
        let content = &self.text[start..end];
        if content.contains('\0') {
            return None;
        }
        Some(Datum::Text(if doubled { content.replace("''", "'").into() } else { content.into() }))
    }

    /// As the resolver reads it: an integer if it fits, then a bigint, else a numeric.
    fn number(&mut self) -> Option<Datum> {
        let start = self.at;
        self.at += usize::from(self.peek() == b'-');
        self.digits()?;
        let mut whole = true;
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
            whole = false;
        }
        if self.peek().is_ascii_alphabetic() || matches!(self.peek(), b'_' | b'.') {
            return None;
        }
        let digits = &self.text[start..self.at];
        if whole {
            if let Ok(value) = digits.parse() {
                return Some(Datum::Int4(value));
            }
            if let Ok(value) = digits.parse() {
                return Some(Datum::Int8(value));
            }
        }
        digits.parse::<Numeric>().ok().map(Datum::Numeric)
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;
    use repr::Datum;

    fn long(row: &str, head: &str, tail: &str) -> String {
        let rows = vec![row; 10_000 / row.len()].join(",\n ");
        format!("{head} {rows}{tail}")
    }

    #[test]
    fn plain_rows_are_read_as_they_are() {
        let sql = long(
            "(1, -2, 3000000000, 4.50, 'it''s', '', NULL, TRUE)",
            " insert INTO \"t\" (a,b) values",
            "\n returning x ;\n",
        );
        let parsed = parse(&sql).unwrap();
        let [statement] = parsed.as_slice() else { panic!("one statement") };
        let bulk = statement.bulk.as_ref().expect("the rows are plain");
        assert_eq!(bulk.rows.len(), sql.matches("it''s").count());
        let text = |text: &str| Datum::Text(text.into());
        let numeric = Datum::Numeric("4.50".parse().unwrap());
        let wanted = vec![
            Datum::Int4(1),
            Datum::Int4(-2),
            Datum::Int8(3_000_000_000),
            numeric,
            text("it's"),
            text(""),
            Datum::Null,
            Datum::Bool(true),
        ];
        assert!(bulk.rows.iter().all(|row| *row == wanted));
        assert_eq!(statement.text, sql.trim().trim_end_matches(';').trim_end());
        assert_eq!(statement.offset, 1);
        let at = |text: &str| text[..text.find("returning").unwrap()].chars().count() as u32 + 1;
        assert_eq!(bulk.position(&statement.text, at(&bulk.head)), at(&statement.text));
    }

    #[test]
    fn anything_else_has_no_bulk() {
        let plain = "INSERT INTO t VALUES";
        for sql in [
            long("(1, DEFAULT)", plain, ""),
            long("(1, 2 + 3)", plain, ""),
            long("(1, $1)", plain, ""),
            long("(1, 'a'::text)", plain, ""),
            long("(1, E'a')", plain, ""),
            long("(1, 1e3)", plain, ""),
            long("(1, /* */ 2)", plain, ""),
            long("(1, 2)", plain, "; SELECT 1"),
            long("(1, 2)", "INSERT INTO t SELECT 1, 2 UNION VALUES", ""),
            long("(1, 2)", "EXPLAIN INSERT INTO t VALUES", ""),
            "INSERT INTO t VALUES (1), (2)".to_owned(),
        ] {
            assert!(parse(&sql).is_ok_and(|parsed| parsed.iter().all(|one| one.bulk.is_none())), "{}", &sql[..40]);
        }
        for sql in [long("(1, 2", plain, ""), long("(1, 2)", plain, ","), long("(1, 'x)", plain, "")] {
            assert!(parse(&sql).is_err(), "{}", &sql[..40]);
        }
    }
}
