//! What a statement is without what it is about: the text for a log, in which no literal and no word of the client's own stands.
//!
//! ```text
//! SELECT u.name AS "Ada" FROM users u WHERE id = 7 -- for Ada   ─▶   SELECT n1.name AS n2 FROM users n1 WHERE id = $1
//! ```
//!
//! Literals become parameters, behind those that the text has. A word stays if it is SQL's or the catalog's; every other, which
//! may be a person's name as the alias of a column, is numbered. Comments go. Looks at bytes, and knows no grammar: what is
//! not understood is left out rather than shown. `parse::template` takes literals out to find a statement again; this never does.

use crate::catalog::Catalog;
use crate::resolve::types;
use crate::scalar::registry::{is_aggregate, is_function, is_table_function, is_window_function};
use sqlparser::keywords::ALL_KEYWORDS;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::LazyLock;

/// A shape is cut here.
pub(crate) const SHAPE_BYTES_MAX: usize = 2 << 10;

/// The shape of a statement. The catalog's names are no secret, nor are those of settings.
pub fn shape(sql: &str, catalog: &Catalog, is_setting: impl Fn(&str) -> bool) -> String {
    let names = names(catalog);
    let is_known = |word: &str, quoted: bool| {
        names.contains(word)
            || SYSTEM.contains(word)
            || !quoted
                && (is_keyword(word) || types::by_name(word, catalog).is_some() || is_called(word) || is_setting(word))
    };
    let parameters = parameters(sql);
    let mut scanner =
        ShapeScanner { bytes: sql.as_bytes(), sql, at: 0, out: String::new(), parameters, words: BTreeMap::new() };
    while scanner.at < scanner.bytes.len() && scanner.out.len() < SHAPE_BYTES_MAX {
        scanner.token(&is_known);
    }
    let mut shape = scanner.out;
    shape.truncate(shape.trim_end_matches([' ', ';']).len());
    if scanner.at < scanner.bytes.len() {
        shape.push('…');
    }
    shape
}

/// Every name that a definition gave.
fn names(catalog: &Catalog) -> BTreeSet<&str> {
    let tables = catalog.relations.values().flat_map(|table| {
        let columns = table.columns.iter().map(|column| column.name.as_str());
        let indexes = table.indexes.iter().map(|index| index.name.as_str());
        let keys = table.foreign_keys.iter().map(|key| key.constraint.name.as_str());
        let checks = table.checks.iter().map(|check| check.constraint.name.as_str());
        columns.chain(indexes).chain(keys).chain(checks).chain([table.name.as_str()])
    });
    let sequences = catalog.sequences.values().map(|sequence| sequence.name.as_str());
    let enums = catalog.types.values().map(|found| found.name.as_str());
    // GDPR PURGE … BASIS.
    let bases = catalog.relations.values().filter_map(|table| table.retention.as_ref()?.basis.as_deref());
    let schemas = catalog.namespaces.values().map(|found| found.name.as_str());
    tables.chain(sequences).chain(enums).chain(schemas).chain(bases).collect()
}

/// Those of the relations that every database has.
static SYSTEM: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let relations = crate::system::relations().iter();
    let names =
        relations.flat_map(|found| found.columns.iter().map(|column| column.name).chain([found.schema, found.name]));
    names.chain(["public"]).collect()
});

fn is_called(word: &str) -> bool {
    is_function(word) || is_aggregate(word) || is_window_function(word) || is_table_function(word)
}

fn is_keyword(word: &str) -> bool {
    /// Words of ours that the parser's list has not.
    const OWN: [&str; 18] = [
        "accessed_by",
        "accesses",
        "anon",
        "breach",
        "cascade",
        "compliance",
        "dataflow",
        "data_subject",
        "discard",
        "forget",
        "gdpr",
        "notified",
        "owned_by",
        "owns",
        "rekey",
        "subscribe",
        "unforget",
        "unrestrict",
    ];
    let upper = word.to_ascii_uppercase();
    ALL_KEYWORDS.binary_search(&upper.as_str()).is_ok() || OWN.contains(&word)
}

/// The highest number of a parameter in the text; a `$7` within a string only has later numbers begin later.
fn parameters(sql: &str) -> usize {
    let number = |part: &str| part[..part.bytes().take_while(u8::is_ascii_digit).count().min(5)].parse().unwrap_or(0);
    sql.split('$').skip(1).map(number).max().unwrap_or(0)
}

struct ShapeScanner<'a> {
    bytes: &'a [u8],
    sql: &'a str,
    at: usize,
    out: String,
    /// Parameters so far.
    parameters: usize,
    /// Words of the client's own, by their numbers.
    words: BTreeMap<String, usize>,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl ShapeScanner<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn token(&mut self, is_known: &impl Fn(&str, bool) -> bool) {
        let byte = self.peek(0);
        match byte {
            _ if byte.is_ascii_whitespace() => self.space(1),
            b'-' if self.peek(1) == b'-' => {
                let length = self.bytes[self.at..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                self.space(length.unwrap_or(self.bytes.len() - self.at));
            }
            b'/' if self.peek(1) == b'*' => self.comment(),
            b'\'' => self.literal(|scanner| scanner.quoted(b'\'', false)),
            b'"' => self.identifier(is_known),
            b'$' if self.peek(1).is_ascii_digit() => {
                self.out.push('$');
                self.at += 1;
                while self.peek(0).is_ascii_digit() {
                    self.out.push(char::from(self.peek(0)));
                    self.at += 1;
                }
            }
            b'$' => self.literal(ShapeScanner::dollar_quoted),
            b'0'..=b'9' => self.literal(ShapeScanner::number),
            b'.' if self.peek(1).is_ascii_digit() => self.literal(ShapeScanner::number),
            _ if is_word(byte) => self.word(is_known),
            _ if byte.is_ascii_graphic() => {
                self.out.push(char::from(byte));
                self.at += 1;
            }
            _ => self.at += 1,
        }
    }

    /// Passes over what separates: one space stays of it.
    fn space(&mut self, length: usize) {
        self.at += length;
        if !self.out.is_empty() && !self.out.ends_with(' ') {
            self.out.push(' ');
        }
    }

    /// Comments nest.
    fn comment(&mut self) {
        let (start, mut depth) = (self.at, 0);
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => (depth, self.at) = (depth + 1, self.at + 2),
                (b'*', b'/') => (depth, self.at) = (depth - 1, self.at + 2),
                _ => self.at += 1,
            }
            if depth == 0 {
                break;
            }
        }
        let length = self.at.min(self.bytes.len()) - start;
        self.at = start;
        self.space(length);
    }

    fn literal(&mut self, pass: impl FnOnce(&mut Self)) {
        pass(self);
        // A string goes on after a line's end.
        self.parameters += 1;
        let number = self.parameters;
        write!(self.out, "${number}").expect("writing to a string does not fail");
    }

    /// To behind the closing quote, or the end.
    fn quoted(&mut self, quote: u8, escapes: bool) {
        self.at += 1;
        while self.at < self.bytes.len() {
            let (byte, next) = (self.peek(0), self.peek(1));
            match byte {
                b'\\' if escapes => self.at += 2,
                _ if byte == quote && next == quote => self.at += 2,
                _ if byte == quote => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.bytes.len();
    }

    /// `$$ … $$`, `$tag$ … $tag$`. Where there is no such quote to the end: what begins like one is not understood.
    fn dollar_quoted(&mut self) {
        let rest = &self.sql[self.at..];
        let tag = rest[1..].bytes().take_while(|byte| is_word(*byte)).count() + 2;
        let end = match rest.get(..tag).filter(|tag| tag.ends_with('$')) {
            Some(tag) => rest[tag.len()..].find(tag).map(|found| found + 2 * tag.len()),
            None => None,
        };
        self.at += end.unwrap_or(rest.len());
    }

    fn number(&mut self) {
        let start = self.at;
        loop {
            let byte = self.peek(0);
            let sign = matches!(byte, b'+' | b'-') && matches!(self.bytes[self.at - 1], b'e' | b'E') && self.at > start;
            let hexadecimal = self.bytes[start..self.at].get(1).is_some_and(|second| matches!(second, b'x' | b'X'));
            if !(is_word(byte) || byte == b'.' || sign && !hexadecimal) {
                return;
            }
            self.at += 1;
        }
    }

    fn identifier(&mut self, is_known: &impl Fn(&str, bool) -> bool) {
        let start = self.at;
        self.quoted(b'"', false);
        let written = &self.sql[start..self.at];
        let name =
            written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().replace("\"\"", "\"");
        if is_known(&name, true) {
            self.out.push_str(written);
        } else {
            self.own_word(name);
        }
    }

    fn word(&mut self, is_known: &impl Fn(&str, bool) -> bool) {
        let length = self.bytes[self.at..].iter().take_while(|byte| is_word(**byte) || **byte == b'$').count();
        let word = &self.sql[self.at..self.at + length];
        let lower = word.to_lowercase();
        let next = self.peek(length);
        match (lower.as_str(), next) {
            ("e", b'\'') => {
                self.at += length;
                return self.literal(|scanner| scanner.quoted(b'\'', true));
            }
            ("b" | "x" | "n", b'\'') => {
                self.at += length;
                return self.literal(|scanner| scanner.quoted(b'\'', false));
            }
            ("u", b'&') if matches!(self.peek(length + 1), b'\'' | b'"') => {
                self.at += length + 1;
                let quote = self.peek(0);
                return self.literal(|scanner| scanner.quoted(quote, false));
            }
            _ => {}
        }
        self.at += length;
        if is_known(&lower, false) {
            self.out.push_str(word);
        } else {
            self.own_word(lower);
        }
    }

    fn own_word(&mut self, word: String) {
        let next = self.words.len() + 1;
        let number = *self.words.entry(word).or_insert(next);
        write!(self.out, "n{number}").expect("writing to a string does not fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> String {
        shape(sql, &Catalog::default(), |word| word == "application_name")
    }

    #[test]
    fn no_literal_and_no_word_of_ones_own_stays() {
        for (sql, wanted) in [
            ("SELECT 'ada', 7, 1.5e-3, 0x1F, .5, NULL;", "SELECT $1, $2, $3, $4, $5, NULL"),
            (
                "select  a\n, \"Ada\" ,A -- ada\n from b /* ada /* ada */ */ where c=$3",
                "select n1 , n2 ,n1 from n3 where n4=$3",
            ),
            ("SELECT $3 + 4", "SELECT $3 + $4"),
            (
                "SELECT E'it\\'s ada', 'it''s ada', $$ada$$, $a$ada $$ ada$a$ || U&'ada' || x'ada'",
                "SELECT $1, $2, $3, $4 || $5 || $6",
            ),
            ("SELECT 'ada", "SELECT $1"),
            ("SELECT \"ada", "SELECT n1"),
            ("SELECT $ada", "SELECT $1"),
            ("SELECT 1 /* ada", "SELECT $1"),
            ("SELECT lower(oid::text) FROM pg_class", "SELECT lower(oid::text) FROM pg_class"),
            ("SET application_name TO ada", "SET application_name TO n1"),
            ("SELECT '\u{e4}d\u{e4}', \u{e4}d\u{e4}, \"\u{e4}\"", "SELECT $1, n1, n2"),
            ("GDPR FORGET people 'ada'", "GDPR FORGET n1 $1"),
            ("", ""),
        ] {
            assert_eq!(of(sql), wanted, "{sql}");
        }
    }

    #[test]
    fn any_bytes_are_passed_over_and_a_shape_has_an_end() {
        let pieces = [
            "'", "\"", "$", "$$", "\\", "--", "/*", "*/", "\n", "E'", "canary", "7", "\u{e4}", "$1", "U&", ".", "(",
            ";",
        ];
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            let mut sql = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sql.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
            }
            assert!(!of(&sql).contains("canary"), "{sql}");
        }
        let long = of(&format!("SELECT {}", "7, ".repeat(10_000)));
        assert!(long.len() < SHAPE_BYTES_MAX + 20 && long.ends_with('…'), "{}", long.len());
    }
}
