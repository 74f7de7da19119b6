//! A dump as psql would read it: statements, the rows of COPY behind them, and psql's own commands.
//!
//! Read as it comes: at most one statement is kept, and no row.

use std::io::{self, BufRead};

/// The longest that a statement may be: one of more is no dump.
const STATEMENT_BYTES_MAX: usize = 1 << 30;

/// What a dump is made of.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A statement without its semicolon, and the line on which it begins.
    Statement(u64, String),
    /// A line that begins with a backslash.
    Command(u64, String),
}

/// A dump that is read.
pub struct Dump<R> {
    lines: R,
    /// How many lines have been read.
    line: u64,
    /// What is left of the line at hand.
    rest: Vec<u8>,
    /// The row that was read last.
    row: Vec<u8>,
}

/// Within what a byte stands.
enum Within {
    Nothing,
    /// A quote of this kind; whether a backslash escapes.
    Quote(u8, bool),
    /// A text between dollars, with these around it.
    Dollars(Vec<u8>),
    /// So many comments.
    Comment(usize),
}

/// A statement as far as it has been read.
struct Scan {
    text: Vec<u8>,
    within: Within,
    parentheses: usize,
    /// On which line it began.
    line: u64,
}

impl<R: BufRead> Dump<R> {
    /// From its first line.
    pub fn new(lines: R) -> Self {
        Dump { lines, line: 0, rest: Vec::new(), row: Vec::new() }
    }

    /// The line that was read last.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next piece; none at the end.
    pub fn next(&mut self) -> io::Result<Option<Piece>> {
        let mut scan = Scan { text: Vec::new(), within: Within::Nothing, parentheses: 0, line: 0 };
        loop {
            if self.rest.is_empty() && !self.read_line()? {
                let text = utf8(scan.text, scan.line)?;
                let left = Some(text.trim()).filter(|text| !text.is_empty());
                return Ok(left.map(|text| Piece::Statement(scan.line, text.to_owned())));
            }
            if scan.text.is_empty() && self.rest.starts_with(b"\\") {
                let command = utf8(std::mem::take(&mut self.rest), self.line)?;
                return Ok(Some(Piece::Command(self.line, command.trim().to_owned())));
            }
            let line = std::mem::take(&mut self.rest);
            if let Some(used) = scan.line(&line, self.line) {
                self.rest = line[used..].to_vec();
                return Ok(Some(Piece::Statement(scan.line, utf8(scan.text, scan.line)?)));
            }
            if scan.text.len() > STATEMENT_BYTES_MAX {
                return Err(io::Error::other(format!("line {}: a statement does not end", scan.line)));
            }
        }
    }

    /// The next line of a COPY's rows, with its end; none behind the last.
    pub fn row(&mut self) -> io::Result<Option<&[u8]>> {
        if !self.rest.iter().all(u8::is_ascii_whitespace) {
            return Err(io::Error::other(format!("line {}: something stands behind COPY", self.line)));
        }
        self.rest.clear();
        self.row.clear();
        if self.lines.read_until(b'\n', &mut self.row)? == 0 {
            return Err(io::Error::other(format!("line {}: the rows of COPY do not end", self.line)));
        }
        self.line += 1;
        Ok((self.row.trim_ascii_end() != b"\\.").then_some(&*self.row))
    }

    fn read_line(&mut self) -> io::Result<bool> {
        self.rest.clear();
        let read = self.lines.read_until(b'\n', &mut self.rest)?;
        self.line += u64::from(read > 0);
        Ok(read > 0)
    }
}

impl Scan {
    /// Takes a line, or what is left of it; how much of it, if the statement ends there.
    fn line(&mut self, line: &[u8], number: u64) -> Option<usize> {
        let mut at = 0;
        while at < line.len() {
            let (byte, rest) = (line[at], &line[at..]);
            let mut taken = 1;
            match &mut self.within {
                Within::Quote(quote, escapes) => {
                    if *escapes && byte == b'\\' {
                        taken = 2;
                    } else if byte == *quote {
                        // A doubled one closes, and opens again.
                        self.within = Within::Nothing;
                    }
                }
                Within::Dollars(tag) => {
                    if rest.starts_with(tag) {
                        taken = tag.len();
                        self.within = Within::Nothing;
                    }
                }
                Within::Comment(depth) => {
                    if rest.starts_with(b"*/") {
                        (*depth, taken) = (*depth - 1, 2);
                        if *depth == 0 {
                            self.within = Within::Nothing;
                        }
                    } else if rest.starts_with(b"/*") {
                        (*depth, taken) = (*depth + 1, 2);
                    }
                }
                Within::Nothing => {
                    if rest.starts_with(b"--") {
                        return self.skip();
                    }
                    if byte == b';' && self.parentheses == 0 {
                        if !self.text.is_empty() {
                            return Some(at + 1);
                        }
                        at += 1;
                        continue;
                    }
                    taken = self.opens(line, at);
                }
            }
            let taken = taken.min(line.len() - at);
            if self.text.is_empty() {
                if matches!(self.within, Within::Nothing) && byte.is_ascii_whitespace() {
                    at += taken;
                    continue;
                }
                self.line = number;
            }
            self.text.extend_from_slice(&line[at..at + taken]);
            at += taken;
        }
        None
    }

    /// A comment to the end of the line: the line ends, nothing else is said.
    fn skip(&mut self) -> Option<usize> {
        if !self.text.is_empty() {
            self.text.push(b'\n');
        }
        None
    }

    /// What begins at that byte, outside of everything; how many bytes that takes.
    fn opens(&mut self, line: &[u8], at: usize) -> usize {
        let rest = &line[at..];
        match rest[0] {
            b'\'' => {
                let escapes = self.text.last().is_some_and(|last| last.eq_ignore_ascii_case(&b'e'))
                    && self.text.iter().nth_back(1).is_none_or(|before| !is_word(*before));
                self.within = Within::Quote(b'\'', escapes);
            }
            b'"' => self.within = Within::Quote(b'"', false),
            b'$' if self.text.last().is_none_or(|last| !is_word(*last)) => {
                let tag = rest[1..].iter().take_while(|byte| is_word(**byte)).count() + 2;
                if rest.get(tag - 1) == Some(&b'$') {
                    self.within = Within::Dollars(rest[..tag].to_vec());
                    return tag;
                }
            }
            b'/' if rest.starts_with(b"/*") => {
                self.within = Within::Comment(1);
                return 2;
            }
            b'(' => self.parentheses += 1,
            b')' => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
        1
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn utf8(text: Vec<u8>, line: u64) -> io::Result<String> {
    String::from_utf8(text)
        .map_err(|_| io::Error::other(format!("line {line}: not in UTF-8: dump with --encoding=UTF8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        let mut dump = Dump::new(text.as_bytes());
        std::iter::from_fn(|| dump.next().unwrap()).collect()
    }

    fn statement(line: u64, text: &str) -> Piece {
        Piece::Statement(line, text.to_owned())
    }

    #[test]
    fn statements_end_where_psql_says() {
        let text = "-- a comment; with one\n\nSELECT 1; SELECT ';', \"a;b\", E'\\';' FROM t -- end;\n WHERE x;\n\
            /* ; /* ; */ ; */ DO $a$ x; $$ y; $a$;\n;;\nCREATE RULE r AS DO (SELECT 1; SELECT 2);\n\\connect x\nSELECT 'a\n;b'";
        assert_eq!(
            pieces(text),
            [
                statement(3, "SELECT 1"),
                statement(3, "SELECT ';', \"a;b\", E'\\';' FROM t \n WHERE x"),
                statement(5, "/* ; /* ; */ ; */ DO $a$ x; $$ y; $a$"),
                statement(7, "CREATE RULE r AS DO (SELECT 1; SELECT 2)"),
                Piece::Command(8, "\\connect x".to_owned()),
                statement(9, "SELECT 'a\n;b'"),
            ]
        );
    }

    #[test]
    fn rows_stand_behind_copy() {
        let mut dump = Dump::new("COPY t FROM stdin;\n1\ta;\n\\.\nSELECT 1;\n".as_bytes());
        assert_eq!(dump.next().unwrap(), Some(statement(1, "COPY t FROM stdin")));
        assert_eq!(dump.row().unwrap(), Some(b"1\ta;\n".as_slice()));
        assert_eq!(dump.row().unwrap(), None);
        assert_eq!(dump.next().unwrap(), Some(statement(4, "SELECT 1")));
        assert!(Dump::new(b"1\n".as_slice()).row().unwrap().is_some());
        assert!(Dump::new(b"".as_slice()).row().is_err());
    }
}
