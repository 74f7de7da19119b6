//! Long runs of literals, each of them one token: a bulk of them costs what its bytes cost.
//!
//! ```text
//! SELECT a FROM t WHERE id IN (1, 2, 3, … 2000000)      INSERT INTO t VALUES (1, 'x'), (2, 'y'), … RETURNING a
//!                              └────── list ─────┘                           └─────── rows ───────┘
//! ```
//!
//! Stands in front of the tokenizer, which would make a token of every literal, and the parser a tree of every token. A run is a
//! placeholder that has its text; who types it reads the values from that. A list is some of the elements of IN or ARRAY, the
//! others stay as they are; rows are all those of a VALUES, or some of IN. Literals that are cast are in one run with others that
//! are cast to the same, by its writing. Expressions, parameters, comments, rows of different lengths, and all that is wrong
//! are in no run. Looks at bytes, and knows of the grammar only what brackets follow.

mod scanner;

pub(crate) use scanner::WrittenCast;

use super::dialect;
use crate::error::PlanError;
use repr::{Datum, poll};
use scanner::{Element, LiteralScanner, Shape, is_word};
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

/// Elements of a list: NULL, booleans, `integer`, `bigint`, `numeric`; texts are of no type yet.
pub(crate) struct List<'a> {
    /// Where they stand, or where the rows do whose column they are.
    pub(crate) text: &'a str,
    /// As they are before they are cast.
    pub(crate) values: Vec<Datum>,
    /// What all of them are cast to.
    pub(crate) cast: Option<WrittenCast<'a>>,
}

/// The same for rows, all of one length.
pub(crate) struct Rows<'a> {
    pub(crate) values: Vec<Vec<Datum>>,
    /// What each column is cast to.
    pub(crate) casts: Vec<Option<WrittenCast<'a>>>,
    /// Only the first row is.
    pub(crate) is_first_only: bool,
}

/// The same, column by column; each is cast as a whole.
pub(crate) type Columns<'a> = Vec<List<'a>>;

/// The elements of a list.
pub(crate) fn elements(list: &str) -> List<'_> {
    let mut scanner = LiteralScanner::new(list);
    let mut elements = List { text: list, values: Vec::new(), cast: None };
    loop {
        poll::step_or_unwind();
        scanner.blanks();
        if let Some(Element { value, cast }) = scanner.element() {
            elements.values.push(value);
            join(&mut elements.cast, cast);
        }
        if !scanner.next_is(b',') {
            return elements;
        }
    }
}

/// The rows of a run.
pub(crate) fn rows(text: &str) -> Rows<'_> {
    let mut rows = Rows { values: Vec::new(), casts: Vec::new(), is_first_only: false };
    each_of_rows(text, |row, place, Element { value, cast }| {
        if row == 0 {
            rows.casts.push(cast);
        } else {
            rows.is_first_only |= cast.is_none() && rows.casts[place].is_some();
            join(&mut rows.casts[place], cast);
        }
        if place == 0 {
            rows.values.push(Vec::with_capacity(rows.values.last().map_or(4, Vec::len)));
        }
        rows.values[row].push(value);
    });
    rows
}

/// The columns of a run of rows.
pub(crate) fn columns(text: &str) -> Columns<'_> {
    let mut columns: Columns<'_> = Vec::new();
    each_of_rows(text, |row, place, Element { value, cast }| {
        if row == 0 {
            columns.push(List { text, values: Vec::new(), cast });
        }
        columns[place].values.push(value);
        join(&mut columns[place].cast, cast);
    });
    columns
}

/// Takes note of a sign.
fn join<'a>(cast: &mut Option<WrittenCast<'a>>, own: Option<WrittenCast<'a>>) {
    match (cast, own) {
        (Some(cast), Some(own)) => cast.signed |= own.signed,
        (none @ None, own) => *none = own,
        (Some(_), None) => {}
    }
}

/// Each literal of rows with its row's number and its place there.
fn each_of_rows<'a>(text: &'a str, mut each: impl FnMut(usize, usize, Element<'a>)) {
    let mut scanner = LiteralScanner::new(text);
    let mut row = 0;
    loop {
        scanner.next_is(b'(');
        let mut place = 0;
        loop {
            poll::step_or_unwind();
            scanner.blanks();
            if let Some(element) = scanner.element() {
                each(row, place, element);
            }
            place += 1;
            if !scanner.next_is(b',') {
                break;
            }
        }
        scanner.next_is(b')');
        row += 1;
        if !scanner.next_is(b',') {
            return;
        }
    }
}

/// The elements of a list, or the rows of a run, as they are without it.
///
/// # Errors
/// As for `parse`.
pub(crate) fn spread(text: &str) -> Result<Vec<Expr>, PlanError> {
    // Of two elements at least it is a row.
    let row = super::parse_expression(&format!("({text}, NULL)"))?;
    let Expr::Tuple(mut elements) = row else { return Ok(vec![row]) };
    elements.pop();
    Ok(elements)
}

/// The rows of a run as they are without it.
///
/// # Errors
/// As for `parse`.
pub(crate) fn spread_rows(text: &str) -> Result<Vec<Vec<Expr>>, PlanError> {
    let row = |row| match row {
        Expr::Tuple(elements) => elements,
        Expr::Nested(only) => vec![*only],
        only => vec![only],
    };
    Ok(spread(text)?.into_iter().map(row).collect())
}

/// Where the literals of the first row stand in rows, in characters.
pub(crate) fn first_row(text: &str) -> Vec<u32> {
    let mut scanner = LiteralScanner::new(text);
    let mut places = Vec::new();
    scanner.next_is(b'(');
    loop {
        scanner.blanks();
        places.push(text[..scanner.at].chars().count() as u32);
        if scanner.skip_element().is_none() || !scanner.next_is(b',') {
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
        let mark = if run.kind == FoundKind::Elements { LIST } else { ROWS };
        let token = Token::Placeholder([mark, written].concat());
        let token = TokenWithSpan::new(token, Span::new(start, here));
        if run.kind == FoundKind::Values {
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
    kind: FoundKind,
    literals: usize,
}

/// What a run in a text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FoundKind {
    /// Some elements of IN or ARRAY.
    Elements,
    /// Some elements of IN that are rows.
    RowElements,
    /// The rows of a VALUES, all of them.
    Values,
}

/// An open bracket, or the text around all of them.
#[derive(Clone, Copy, Default)]
struct Open {
    /// Of IN or ARRAY.
    is_list: bool,
    /// Of IN.
    has_rows: bool,
    /// Of POSITION, whose IN has no list.
    is_position: bool,
}

/// What stood before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BeforeLiteral {
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

impl<'a> Finder<'a> {
    fn find(&mut self) -> Option<()> {
        let mut before = BeforeLiteral::Other;
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
            before = BeforeLiteral::Other;
        }
        Some(())
    }

    /// A word, or a string with one in front.
    fn word(&mut self) -> Option<BeforeLiteral> {
        let word = self.scanner.word();
        let before = if word.eq_ignore_ascii_case("in") {
            BeforeLiteral::In
        } else if word.eq_ignore_ascii_case("values") {
            BeforeLiteral::Values
        } else if word.eq_ignore_ascii_case("array") {
            BeforeLiteral::Array
        } else if word.eq_ignore_ascii_case("position") {
            BeforeLiteral::Position
        } else {
            BeforeLiteral::Other
        };
        if word.eq_ignore_ascii_case("e") && self.scanner.peek() == b'\'' {
            self.scanner.skip_escaped()?;
        }
        Some(before)
    }

    fn opened(&mut self, bracket: u8, before: BeforeLiteral) {
        let around = self.open.last().copied().unwrap_or_default();
        let is_list = match before {
            BeforeLiteral::In => bracket == b'(' && !around.is_position,
            BeforeLiteral::Array => bracket == b'[',
            BeforeLiteral::Values | BeforeLiteral::Position | BeforeLiteral::Other => false,
        };
        if before == BeforeLiteral::Values && bracket == b'(' && self.rows() {
            return;
        }
        self.scanner.at += 1;
        let is_position = before == BeforeLiteral::Position && bracket == b'(';
        self.open.push(Open { is_list, has_rows: is_list && before == BeforeLiteral::In, is_position });
        self.list();
    }

    /// Takes the run that begins here, if elements of a list do.
    fn list(&mut self) {
        let Some(open) = self.open.last().copied().filter(|open| open.is_list) else { return };
        self.scanner.blanks();
        if self.scanner.at < self.tried {
            return;
        }
        let start = self.scanner.at;
        let (end, literals, kind) = if open.has_rows && self.scanner.peek() == b'(' {
            let (end, shape) = self.row_elements(start);
            (end, shape.literals(), FoundKind::RowElements)
        } else {
            let (end, literals) = self.elements(start);
            (end, literals, FoundKind::Elements)
        };
        self.scanner.at = if literals < LITERALS_MIN { start } else { end };
        if literals >= LITERALS_MIN {
            self.found.push(FoundRun { place: start..end, kind, literals });
        }
    }

    /// Literals from here that are cast to one type, or not: up to where, and how many.
    fn elements(&mut self, start: usize) -> (usize, usize) {
        let (mut end, mut literals, mut first) = (start, 0, None);
        loop {
            poll::step_or_unwind();
            self.scanner.blanks();
            self.tried = self.scanner.at;
            let Some(cast) = self.scanner.skip_element() else { break };
            if *first.get_or_insert(cast) != cast || !self.ends_here() {
                break;
            }
            (end, literals) = (self.scanner.at, literals + 1);
            if !self.scanner.next_is(b',') {
                break;
            }
        }
        self.tried = self.tried.max(start + 1);
        (end, literals)
    }

    /// The same for rows.
    fn row_elements(&mut self, start: usize) -> (usize, Shape<'a>) {
        let (mut end, mut shape) = (start, Shape::default());
        loop {
            self.scanner.blanks();
            self.tried = self.scanner.at;
            let row = self.scanner.skip_row(&mut shape);
            // A value in parentheses is no row.
            if row.is_none() || shape.is_first_only || shape.literals() == shape.rows || !self.ends_here() {
                shape.rows -= usize::from(row.is_some());
                break;
            }
            end = self.scanner.at;
            if !self.scanner.next_is(b',') {
                break;
            }
        }
        self.tried = self.tried.max(start + 1);
        (end, shape)
    }

    /// Whether an element ends here.
    fn ends_here(&self) -> bool {
        let rest = &self.scanner.bytes[self.scanner.at..];
        let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        matches!(next, Some(b',' | b')' | b']'))
    }

    /// Takes the rows of a VALUES that begin here, if all of them are plain.
    fn rows(&mut self) -> bool {
        let start = self.scanner.at;
        let taken = self.all_rows().filter(|shape| shape.rows > 1).map(|shape| shape.literals());
        match taken.filter(|literals| *literals >= LITERALS_MIN) {
            Some(literals) => {
                let place = start..self.scanner.at;
                self.found.push(FoundRun { place, kind: FoundKind::Values, literals });
                true
            }
            None => {
                self.scanner.at = start;
                false
            }
        }
    }

    /// The rows from here, none if they are not of one shape.
    fn all_rows(&mut self) -> Option<Shape<'a>> {
        let mut shape = Shape::default();
        loop {
            self.scanner.skip_row(&mut shape)?;
            let end = self.scanner.at;
            if !self.scanner.next_is(b',') {
                self.scanner.at = end;
                return Some(shape);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LiteralRun, WrittenCast, columns, elements, found, rows, run, spread, tokenize};
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
        assert!(elements(list).values.chunks(8).all(|eight| eight == wanted));
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
        let read = rows(text).values;
        assert_eq!((values.rows.len(), read.len()), (1, sql.matches("'x'").count()));
        assert!(read.iter().all(|row| *row == [Datum::Int4(1), Datum::Text("x".into())]));
    }

    #[test]
    fn literals_that_are_cast_to_one_type_are_one_run() {
        for (item, to) in [
            ("'x'::text", "text"),
            ("'1' :: varchar(20)", "varchar(20)"),
            ("2::pg_catalog.int4", "pg_catalog.int4"),
            ("'x'::timestamp (3) with time zone", "timestamp (3) with time zone"),
            ("'{}'::double precision[]", "double precision[]"),
            ("date '2020-01-01'", "date"),
            ("cast('x' as numeric( 10 , 2 ))", "numeric( 10 , 2 )"),
            ("NULL::int", "int"),
        ] {
            let sql = repeated(item, "SELECT a IN (", ")");
            let [list] = runs(&sql)[..] else { panic!("one run: {item}") };
            let read = elements(list);
            assert_eq!(read.cast, Some(WrittenCast { to, signed: false }), "{item}");
            assert_eq!(read.values.len(), spread(list).unwrap().len(), "{item}");
            let sql = repeated(&format!("({item}, 7)"), "SELECT (a, b) IN (", ")");
            let [text] = runs(&sql)[..] else { panic!("one run: {item}") };
            let read = columns(text);
            assert_eq!(read.iter().map(|column| column.cast.map(|cast| cast.to)).collect::<Vec<_>>(), [Some(to), None]);
            let sql = repeated(&format!("({item})"), "VALUES", "");
            assert!(!rows(runs(&sql)[0]).is_first_only, "{item}");
        }
        let signed = repeated("1::int, -2::int", "SELECT a IN (", ")");
        assert_eq!(elements(runs(&signed)[0]).cast, Some(WrittenCast { to: "int", signed: true }));
        let first = repeated("(1, 'x')", "VALUES (1::int, 'x'::text),", "");
        let read = rows(runs(&first)[0]);
        assert!(read.is_first_only && read.casts.iter().all(Option::is_some));
        for sql in [
            repeated("1::int, 2", "SELECT a IN (", ")"),
            repeated("1::int and true", "SELECT a IN (", ")"),
            repeated("(1, 2) + 3", "SELECT a IN (", ")"),
            repeated("(1, 2)", "SELECT ARRAY[", "]"),
            repeated("(1)", "SELECT a IN (", ")"),
        ] {
            assert_eq!(runs(&sql), [""; 0], "{}", &sql[..40]);
        }
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
            ("SELECT a IN (1::int, ", ", 2::int,", ")", 2),
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
            repeated("(1, 'a'::text::varchar)", plain, ""),
            repeated("(1, 'a'::\"T\")", plain, ""),
            repeated("(1, CAST(-2 AS int))", plain, ""),
            repeated("(1, 2::int), (1::int, 2)", plain, ""),
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
