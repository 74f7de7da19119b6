//! Long runs of plain literals, each of them one token: a bulk of them costs what its bytes cost.
//!
//! ```text
//! SELECT a FROM t WHERE id IN (1, 2, 3, … 2000000)      INSERT INTO t VALUES (1, 'x'), (2, 'y'), … RETURNING a
//!                              └────── list ─────┘                           └─────── rows ───────┘
//! ```
//!
//! Stands in front of the tokenizer, which would make a token of every literal, and the parser a tree of every token. A run is a
//! placeholder that has its text; who types it reads the values from that. A list is some of the elements of IN or ARRAY, the
//! others stay as they are; rows are all those of a VALUES. Expressions, parameters, casts, comments, rows of different
//! lengths, and all that is wrong are in no run. Looks at bytes, and knows of the grammar only what brackets follow.

use super::dialect;
use repr::{Datum, Numeric, poll};
use sqlparser::ast::{Expr, Value};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, TokenizerError};
use std::ops::Range;

/// Shorter texts are not looked at.
const TEXT_BYTES_MIN: usize = 8 << 10;
/// Fewer literals are no run.
const LITERALS_MIN: usize = 64;
/// How placeholders begin that are a run. The tokenizer makes none like these.
const LIST: &str = "$(";
const ROWS: &str = "$[";

/// What a run stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiteralRun<'a> {
    /// Elements, of this text.
    List(&'a str),
    /// Rows, of this text.
    Rows(&'a str),
}

/// The run that an expression is, if it is one.
pub(crate) fn run(expr: &Expr) -> Option<LiteralRun<'_>> {
    let Expr::Value(value) = expr else { return None };
    let Value::Placeholder(text) = &value.value else { return None };
    run_of(text)
}

/// The run that a placeholder is, if it is one.
pub(crate) fn run_of(text: &str) -> Option<LiteralRun<'_>> {
    match (text.strip_prefix(LIST), text.strip_prefix(ROWS)) {
        (Some(list), _) => Some(LiteralRun::List(list)),
        (None, Some(rows)) => Some(LiteralRun::Rows(rows)),
        (None, None) => None,
    }
}

/// The values of a list: NULL, booleans, `integer`, `bigint`, `numeric`; texts are of no type yet.
pub(crate) fn elements(list: &str) -> Vec<Datum> {
    let mut scanner = LiteralScanner::new(list);
    let mut elements = Vec::new();
    loop {
        poll::step_or_unwind();
        scanner.blanks();
        elements.extend(scanner.literal());
        if !scanner.next_is(b',') {
            return elements;
        }
    }
}

/// The same for rows, all of one length.
pub(crate) fn rows(text: &str) -> Vec<Vec<Datum>> {
    let mut scanner = LiteralScanner::new(text);
    let mut rows: Vec<Vec<Datum>> = Vec::new();
    loop {
        let mut row = Vec::with_capacity(rows.first().map_or(4, Vec::len));
        scanner.next_is(b'(');
        loop {
            poll::step_or_unwind();
            scanner.blanks();
            row.extend(scanner.literal());
            if !scanner.next_is(b',') {
                break;
            }
        }
        scanner.next_is(b')');
        rows.push(row);
        if !scanner.next_is(b',') {
            return rows;
        }
    }
}

/// Where the literals of the first row stand in rows, in characters.
pub(crate) fn first_row(text: &str) -> Vec<u32> {
    let mut scanner = LiteralScanner::new(text);
    let mut places = Vec::new();
    scanner.next_is(b'(');
    loop {
        scanner.blanks();
        places.push(text[..scanner.at].chars().count() as u32);
        if scanner.literal().is_none() || !scanner.next_is(b',') {
            return places;
        }
    }
}

/// The runs of a text: where they are, in bytes, and of how many literals.
pub fn within(text: &str) -> Vec<(Range<usize>, usize)> {
    if text.len() < TEXT_BYTES_MIN {
        return Vec::new();
    }
    found(text).into_iter().map(|found| (found.place, found.literals)).collect()
}

/// The tokens of a text, with its runs.
///
/// # Errors
/// The tokenizer's.
pub(super) fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let runs = if text.len() < TEXT_BYTES_MIN { Vec::new() } else { found(text) };
    if runs.is_empty() {
        return dialect::tokenize(text);
    }
    match tokens_around(text, &runs) {
        Ok(tokens) => Ok(tokens),
        // Said of the whole text, as of any.
        Err(_) => dialect::tokenize(text),
    }
}

fn tokens_around(text: &str, runs: &[FoundRun]) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let mut tokens = Vec::new();
    let mut here = Location { line: 1, column: 1 };
    let mut at = 0;
    for run in runs {
        let before = &text[at..run.place.start];
        tokens.extend(moved(dialect::tokenize(before)?, here));
        let start = behind(here, before);
        let written = &text[run.place.clone()];
        here = behind(start, written);
        at = run.place.end;
        let mark = if run.is_rows { ROWS } else { LIST };
        let token = Token::Placeholder([mark, written].concat());
        let token = TokenWithSpan::new(token, Span::new(start, here));
        if run.is_rows {
            // In parentheses it is a row for the parser.
            let first = Location { column: start.column + 1, ..start };
            tokens.push(TokenWithSpan::new(Token::LParen, Span::new(start, first)));
            tokens.push(TokenWithSpan::new(token.token, Span::new(first, here)));
            let last = Location { column: here.column.saturating_sub(1), ..here };
            tokens.push(TokenWithSpan::new(Token::RParen, Span::new(last, here)));
        } else {
            tokens.push(token);
        }
    }
    tokens.extend(moved(dialect::tokenize(&text[at..])?, here));
    Ok(tokens)
}

/// Tokens of a text that stands at a place.
fn moved(mut tokens: Vec<TokenWithSpan>, to: Location) -> Vec<TokenWithSpan> {
    let shift = |location: &mut Location| {
        if location.line == 1 {
            location.column += to.column - 1;
        }
        location.line += to.line - 1;
    };
    for token in &mut tokens {
        shift(&mut token.span.start);
        shift(&mut token.span.end);
    }
    tokens
}

/// The place behind a text that stands at another.
fn behind(mut place: Location, text: &str) -> Location {
    for line in text.split_inclusive('\n') {
        poll::step_or_unwind();
        if line.ends_with('\n') {
            place = Location { line: place.line + 1, column: 1 };
        } else {
            place.column += line.chars().count() as u64;
        }
    }
    place
}

/// A run in a text.
struct FoundRun {
    /// In bytes.
    place: Range<usize>,
    is_rows: bool,
    literals: usize,
}

/// An open bracket, or the text around all of them.
#[derive(Clone, Copy, Default)]
struct Open {
    /// Of IN or ARRAY.
    is_list: bool,
    /// Of POSITION, whose IN has no list.
    is_position: bool,
}

/// What stood before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    In,
    Values,
    Array,
    Position,
    Other,
}

/// The runs of a text, none if its strings or comments do not end.
fn found(text: &str) -> Vec<FoundRun> {
    let mut finder =
        Finder { scanner: LiteralScanner::new(text), open: vec![Open::default()], tried: 0, found: Vec::new() };
    match finder.find() {
        Some(()) => finder.found,
        None => Vec::new(),
    }
}

struct Finder<'a> {
    scanner: LiteralScanner<'a>,
    open: Vec<Open>,
    /// Up to here it is known what there is.
    tried: usize,
    found: Vec<FoundRun>,
}

impl Finder<'_> {
    fn find(&mut self) -> Option<()> {
        let mut before = Before::Other;
        while self.scanner.at < self.scanner.bytes.len() {
            poll::step_or_unwind();
            let byte = self.scanner.peek();
            let next = self.scanner.bytes.get(self.scanner.at + 1).copied().unwrap_or(0);
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    self.scanner.at += 1;
                    continue;
                }
                b'-' if next == b'-' => {
                    self.scanner.to_line_end();
                    continue;
                }
                b'/' if next == b'*' => {
                    self.scanner.skip_comment()?;
                    continue;
                }
                b'\'' | b'"' => self.scanner.skip_quoted(byte)?,
                b'$' => self.scanner.skip_dollar()?,
                _ if is_word(byte) => {
                    before = self.word()?;
                    continue;
                }
                b'(' | b'[' => self.opened(byte, before),
                b')' | b']' => {
                    self.scanner.at += 1;
                    if self.open.len() > 1 {
                        self.open.pop();
                    }
                }
                b',' => {
                    self.scanner.at += 1;
                    self.list();
                }
                _ => self.scanner.at += 1,
            }
            before = Before::Other;
        }
        Some(())
    }

    /// A word, or a string with one in front.
    fn word(&mut self) -> Option<Before> {
        let word = self.scanner.word();
        let before = if word.eq_ignore_ascii_case("in") {
            Before::In
        } else if word.eq_ignore_ascii_case("values") {
            Before::Values
        } else if word.eq_ignore_ascii_case("array") {
            Before::Array
        } else if word.eq_ignore_ascii_case("position") {
            Before::Position
        } else {
            Before::Other
        };
        if word.eq_ignore_ascii_case("e") && self.scanner.peek() == b'\'' {
            self.scanner.skip_escaped()?;
        }
        Some(before)
    }

    fn opened(&mut self, bracket: u8, before: Before) {
        let around = self.open.last().copied().unwrap_or_default();
        let is_list = match before {
            Before::In => bracket == b'(' && !around.is_position,
            Before::Array => bracket == b'[',
            Before::Values | Before::Position | Before::Other => false,
        };
        if before == Before::Values && bracket == b'(' && self.rows() {
            return;
        }
        self.scanner.at += 1;
        self.open.push(Open { is_list, is_position: before == Before::Position && bracket == b'(' });
        self.list();
    }

    /// Takes the run that begins here, if elements of a list do.
    fn list(&mut self) {
        let is_list = self.open.last().is_some_and(|open| open.is_list);
        if !is_list || self.scanner.at < self.tried {
            return;
        }
        self.scanner.blanks();
        let start = self.scanner.at;
        let (mut end, mut literals) = (start, 0);
        loop {
            poll::step_or_unwind();
            self.scanner.blanks();
            if self.scanner.skip_literal().is_none() {
                break;
            }
            let behind = self.scanner.at;
            self.scanner.blanks();
            match self.scanner.peek() {
                b',' => self.scanner.at += 1,
                b')' | b']' => {}
                _ => break,
            }
            (end, literals) = (behind, literals + 1);
            if self.scanner.peek() == b')' || self.scanner.peek() == b']' {
                break;
            }
        }
        self.tried = self.scanner.at;
        self.scanner.at = if literals < LITERALS_MIN { start } else { end };
        if literals >= LITERALS_MIN {
            self.found.push(FoundRun { place: start..end, is_rows: false, literals });
        }
    }

    /// Takes the rows of a VALUES that begin here, if all of them are plain.
    fn rows(&mut self) -> bool {
        let start = self.scanner.at;
        let taken = self.scanner.skip_rows().filter(|(rows, literals)| *rows > 1 && *literals >= LITERALS_MIN);
        match taken {
            Some((_, literals)) => {
                self.found.push(FoundRun { place: start..self.scanner.at, is_rows: true, literals });
            }
            None => self.scanner.at = start,
        }
        taken.is_some()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

struct LiteralScanner<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl<'a> LiteralScanner<'a> {
    fn new(text: &'a str) -> Self {
        LiteralScanner { bytes: text.as_bytes(), text, at: 0 }
    }

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

    fn word(&mut self) -> &'a str {
        let start = self.at;
        while is_word(self.peek()) || self.peek() == b'$' && self.at > start {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn to_line_end(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    /// Behind a comment, which may have others in it.
    fn skip_comment(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            poll::step_or_unwind();
            match (self.peek(), *self.bytes.get(self.at + 1)?) {
                (b'/', b'*') => depth += 1,
                (b'*', b'/') => depth -= 1,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Behind what is quoted; doubled quotes are two of them in turn.
    fn skip_quoted(&mut self, quote: u8) -> Option<()> {
        let rest = self.bytes.get(self.at + 1..)?;
        self.at += 2 + rest.iter().position(|byte| *byte == quote)?;
        Some(())
    }

    /// Behind a string with escapes.
    fn skip_escaped(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            poll::step_or_unwind();
            match *self.bytes.get(self.at)? {
                b'\\' => self.at += 2,
                b'\'' => {
                    self.at += 1;
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// Behind `$1` or `$tag$…$tag$`.
    fn skip_dollar(&mut self) -> Option<()> {
        let start = self.at;
        self.at += 1;
        while is_word(self.peek()) {
            self.at += 1;
        }
        if self.peek() != b'$' || self.bytes[start + 1].is_ascii_digit() {
            return Some(());
        }
        self.at += 1;
        let tag = &self.text[start..self.at];
        self.at += self.text[self.at..].find(tag)? + tag.len();
        Some(())
    }

    /// Behind rows: how many, and how many literals. None if any of them is not plain, or as long as the first.
    fn skip_rows(&mut self) -> Option<(usize, usize)> {
        let (mut width, mut rows, mut literals) = (None, 0, 0);
        loop {
            if !self.next_is(b'(') {
                return None;
            }
            let mut own = 0_usize;
            loop {
                poll::step_or_unwind();
                self.blanks();
                self.skip_literal()?;
                own += 1;
                if !self.next_is(b',') {
                    break;
                }
            }
            if !self.next_is(b')') || *width.get_or_insert(own) != own {
                return None;
            }
            (rows, literals) = (rows + 1, literals + own);
            let end = self.at;
            if !self.next_is(b',') {
                self.at = end;
                return Some((rows, literals));
            }
        }
    }

    /// Behind a plain literal.
    fn skip_literal(&mut self) -> Option<()> {
        match self.peek() {
            b'\'' => {
                let content = self.string()?.0;
                (!content.contains('\0')).then_some(())
            }
            b'0'..=b'9' | b'-' => self.number().map(|_| ()),
            byte if byte.is_ascii_alphabetic() => constant(self.word()).map(|_| ()),
            _ => None,
        }
    }

    fn literal(&mut self) -> Option<Datum> {
        match self.peek() {
            b'\'' => {
                let (content, doubled) = self.string()?;
                Some(Datum::Text(if doubled { content.replace("''", "'").into() } else { content.into() }))
            }
            b'0'..=b'9' | b'-' => number(self.number()?),
            byte if byte.is_ascii_alphabetic() => constant(self.word()),
            _ => None,
        }
    }

    /// What is between quotes, and whether some are doubled.
    fn string(&mut self) -> Option<(&'a str, bool)> {
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
        Some((&self.text[start..end], doubled))
    }

    fn number(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.at += usize::from(self.peek() == b'-');
        self.digits()?;
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if is_word(self.peek()) || self.peek() == b'.' {
            return None;
        }
        Some(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

/// A word that is a value.
fn constant(word: &str) -> Option<Datum> {
    match word {
        word if word.eq_ignore_ascii_case("null") => Some(Datum::Null),
        word if word.eq_ignore_ascii_case("true") => Some(Datum::Bool(true)),
        word if word.eq_ignore_ascii_case("false") => Some(Datum::Bool(false)),
        _ => None,
    }
}

/// As the resolver reads it: an integer if it fits, then a bigint, else a numeric.
fn number(digits: &str) -> Option<Datum> {
    if let Ok(value) = digits.parse() {
        return Some(Datum::Int4(value));
    }
    if let Ok(value) = digits.parse() {
        return Some(Datum::Int8(value));
    }
    digits.parse::<Numeric>().ok().map(Datum::Numeric)
}

#[cfg(test)]
mod tests {
    use super::{LiteralRun, elements, found, rows, run, tokenize};
    use crate::parse::{Statement, dialect, parse};
    use repr::Datum;
    use sqlparser::ast;
    use sqlparser::tokenizer::Token;

    fn repeated(item: &str, head: &str, tail: &str) -> String {
        let items = vec![item; 10_000 / item.len()].join(",\n ");
        format!("{head} {items}{tail}")
    }

    /// The runs of a text.
    fn runs(sql: &str) -> Vec<&str> {
        found(sql).into_iter().map(|found| &sql[found.place]).collect()
    }

    #[test]
    fn lists_of_plain_literals_are_one_token_each() {
        let sql = repeated("1, -2, 3000000000, 4.50, 'it''s', '', NULL, TRUE", "select a from t where b in (", " ) ;");
        let tokens = tokenize(&sql).unwrap();
        assert!(tokens.len() < 40, "{}", tokens.len());
        let parsed = parse(&sql).unwrap();
        let [statement] = parsed.as_slice() else { panic!("one statement") };
        assert_eq!(statement.text, sql.trim_end_matches([';', ' ']));
        let [list] = runs(&sql)[..] else { panic!("one run") };
        let text = |text: &str| Datum::Text(text.into());
        let wanted = [
            Datum::Int4(1),
            Datum::Int4(-2),
            Datum::Int8(3_000_000_000),
            Datum::Numeric("4.50".parse().unwrap()),
            text("it's"),
            text(""),
            Datum::Null,
            Datum::Bool(true),
        ];
        assert!(elements(list).chunks(8).all(|eight| eight == wanted));
    }

    #[test]
    fn rows_of_plain_literals_are_one() {
        let sql = repeated("(1, 'x')", " insert INTO \"t\" (a,b) values", "\n returning x ;\n");
        let parsed = parse(&sql).unwrap();
        let [statement] = parsed.as_slice() else { panic!("one statement") };
        assert_eq!((statement.offset, statement.text.as_str()), (1, sql.trim().trim_end_matches(';').trim_end()));
        let Statement::Sql(statement) = &statement.statement else { panic!("a statement") };
        let ast::Statement::Insert(insert) = &**statement else { panic!("an INSERT") };
        let ast::SetExpr::Values(values) = &*insert.source.as_ref().unwrap().body else { panic!("VALUES") };
        let Some(LiteralRun::Rows(text)) = run(&values.rows[0].content[0]) else { panic!("a run") };
        let read = rows(text);
        assert_eq!((values.rows.len(), read.len()), (1, sql.matches("'x'").count()));
        assert!(read.iter().all(|row| *row == [Datum::Int4(1), Datum::Text("x".into())]));
    }

    #[test]
    fn what_stands_between_stays_as_it_is() {
        let ones = vec!["1"; 100].join(", ");
        let many = vec!["22"; 4_000].join(",");
        for (head, between, tail, count) in [
            ("SELECT a IN (", ", $1, ", ")", 2),
            ("SELECT a IN ($1, ", ", b + 1, ", ") OR c", 2),
            ("SELECT a IN ('x'::date, ", ") AND b NOT IN (", ")", 2),
            ("SELECT ARRAY[", "], ARRAY[", "]", 2),
            ("SELECT position('a' IN (", ")), b IN (", ")", 1),
            (
                "SELECT 'IN (1, 2', \"IN (\", E'\\' IN (', $$ IN ( $$, $a$ IN ($$a$ WHERE a IN (",
                ") -- IN (1\n AND b IN (",
                ")",
                2,
            ),
            ("SELECT a IN /* IN ( /* */ */ (", ") OR b IN (f(", "))", 1),
            ("SELECT ROW(", "), f(", ")", 0),
        ] {
            let sql = format!("{head}{ones}{between}{many}{tail}");
            assert_eq!(runs(&sql).len(), count, "{head} {between} {tail}");
            let whole = dialect::tokenize(&sql).unwrap();
            let mut whole = whole.into_iter().peekable();
            for token in tokenize(&sql).unwrap() {
                match &token.token {
                    Token::Placeholder(text) if text.starts_with("$(") => {
                        while whole.next_if(|other| other.span.start < token.span.end).is_some() {}
                    }
                    _ => assert_eq!(whole.next(), Some(token)),
                }
            }
            assert_eq!(whole.next(), None);
        }
    }

    #[test]
    fn anything_else_is_no_run_of_rows() {
        let plain = "INSERT INTO t VALUES";
        for sql in [
            repeated("(1, DEFAULT)", plain, ""),
            repeated("(1, 2 + 3)", plain, ""),
            repeated("(1, $1)", plain, ""),
            repeated("(1, 'a'::text)", plain, ""),
            repeated("(1, E'a')", plain, ""),
            repeated("(1, 1e3)", plain, ""),
            repeated("(1, /* */ 2)", plain, ""),
            repeated("(1, 2)", plain, ", (1)"),
            "INSERT INTO t VALUES (1), (2)".to_owned(),
        ] {
            assert_eq!(runs(&sql), [""; 0], "{}", &sql[..40]);
            assert!(parse(&sql).is_ok(), "{}", &sql[..40]);
        }
        for sql in [repeated("(1, 2", plain, ""), repeated("(1, 2)", plain, ","), repeated("(1, 'x)", plain, "")] {
            assert!(parse(&sql).is_err(), "{}", &sql[..40]);
        }
        for end in ["", "; SELECT 1", " UNION SELECT 1, 2"] {
            assert_eq!(runs(&repeated("(1, 2)", plain, end)).len(), 1);
        }
    }
}
