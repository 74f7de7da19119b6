//! A statement's text without its literals, by which statements of one shape are known again before they are parsed.
//!
//! ```text
//! SELECT a FROM t WHERE id = 7 AND b IN ('x', 'y')   ─▶   SELECT a FROM t WHERE id = $1 AND b IN ($2, $3)     7, 'x', 'y'
//! ```
//!
//! Only literals that stand where a parameter means the same are taken out: beside a comparison, in arithmetic, between
//! BETWEEN and AND, in a list of IN, in VALUES of INSERT. All others stay, as part of the shape: the ordinals of ORDER BY, limits,
//! arguments, typed and cast literals. A text with anything unusual in it has no template. Looks at bytes, and knows no grammar:
//! whether the template may stand for the statement, who plans both decides.

use super::grammar::NAME_BYTES_MAX;

/// What is taken out of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// An integer that is an `integer`.
    Int4(i32),
    /// One that is a `bigint`.
    Int8(i64),
    /// A string, of no type yet.
    Text(String),
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The text, with parameters.
    pub text: String,
    /// What they stand for.
    pub literals: Vec<Literal>,
}

/// Longer ones are not looked at.
pub const TEXT_BYTES_MAX: usize = 4 << 10;
const LITERALS_MAX: usize = 256;

/// Words behind which a sign is no operator between two operands.
const NO_OPERANDS: &[&str] = &[
    "select",
    "limit",
    "offset",
    "by",
    "and",
    "or",
    "not",
    "then",
    "else",
    "when",
    "case",
    "returning",
    "distinct",
    "all",
    "fetch",
    "first",
    "next",
    "values",
    "in",
    "like",
    "ilike",
    "is",
    "on",
    "set",
    "from",
    "using",
    "escape",
    "to",
    "as",
    "where",
    "having",
    "between",
    "any",
    "some",
    "similar",
    "for",
    "rows",
    "range",
    "groups",
    "with",
    "default",
    "array",
    "row",
    "only",
    "into",
    "interval",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "if",
    "do",
    "end",
    "union",
    "except",
    "intersect",
    "join",
];

/// What stood before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BeforeToken {
    /// Something behind which a literal may be taken out.
    Taking,
    /// An operand: behind it a sign is an operator.
    Operand,
    Other,
}

struct TemplateScanner<'a> {
    bytes: &'a [u8],
    sql: &'a str,
    at: usize,
    /// Up to here the text is copied.
    copied: usize,
    out: Template,
    before: BeforeToken,
    depth: usize,
    /// Depths at which BETWEEN waits for its AND.
    between: Vec<usize>,
    /// The depth of a list of IN that has only literals so far.
    list: Option<usize>,
    /// Whether IN came just now.
    after_in: bool,
    is_insert: bool,
    in_values: bool,
}

/// The template of a text of one statement: a SELECT, INSERT, UPDATE or DELETE with literals. None if it has none.
pub fn template(sql: &str) -> Option<Template> {
    let sql = sql.trim_ascii();
    let sql = sql.strip_suffix(';').unwrap_or(sql).trim_ascii_end();
    if sql.len() > TEXT_BYTES_MAX || sql.contains('$') || sql.contains('\0') {
        return None;
    }
    let first = sql.bytes().take_while(u8::is_ascii_alphabetic).count();
    let first = sql[..first].to_ascii_lowercase();
    if !matches!(first.as_str(), "select" | "insert" | "update" | "delete") {
        return None;
    }
    let out = Template { text: String::with_capacity(sql.len() + 8), literals: Vec::new() };
    let mut scanner = TemplateScanner {
        bytes: sql.as_bytes(),
        sql,
        at: 0,
        copied: 0,
        out,
        before: BeforeToken::Other,
        depth: 0,
        between: Vec::new(),
        list: None,
        after_in: false,
        is_insert: first == "insert",
        in_values: false,
    };
    while scanner.at < scanner.bytes.len() {
        scanner.token()?;
    }
    scanner.copy_to(sql.len());
    (!scanner.out.literals.is_empty()).then_some(scanner.out)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_operator(byte: u8) -> bool {
    b"+-*/<>=~!@#%^&|`?".contains(&byte)
}

impl TemplateScanner<'_> {
    fn copy_to(&mut self, end: usize) {
        self.out.text.push_str(&self.sql[self.copied..end]);
        self.copied = end;
    }

    fn peek(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// One token; none if the text is unusual.
    fn token(&mut self) -> Option<()> {
        let byte = self.bytes[self.at];
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
            b'\'' => self.string()?,
            b'"' => {
                let begin = self.at;
                self.at = self.quoted(b'"')?;
                // A name that is cut is told of, each time.
                if self.at - begin > NAME_BYTES_MAX {
                    return None;
                }
                self.stand(BeforeToken::Operand);
            }
            b'0'..=b'9' => self.number()?,
            b'.' if self.peek(self.at + 1).is_ascii_digit() => return None,
            _ if is_word(byte) => self.word()?,
            _ if is_operator(byte) => self.operator()?,
            b'(' => {
                self.depth += 1;
                self.at += 1;
                let after_in = std::mem::take(&mut self.after_in);
                if after_in {
                    self.list = Some(self.depth);
                }
                let opens_row = self.in_values && self.depth == 1;
                self.before = if after_in || opens_row { BeforeToken::Taking } else { BeforeToken::Other };
            }
            b')' => {
                if self.list == Some(self.depth) {
                    self.list = None;
                }
                let depth = self.depth;
                self.between.retain(|between| *between < depth);
                self.depth = self.depth.checked_sub(1)?;
                self.at += 1;
                self.stand(BeforeToken::Operand);
            }
            b',' => {
                self.at += 1;
                let in_row = self.in_values && self.depth == 1;
                let in_list = self.list == Some(self.depth);
                self.stand(if in_row || in_list { BeforeToken::Taking } else { BeforeToken::Other });
            }
            b'.' | b'[' | b']' => {
                self.at += 1;
                self.stand(if byte == b']' { BeforeToken::Operand } else { BeforeToken::Other });
            }
            b':' if self.peek(self.at + 1) == b':' => {
                self.at += 2;
                self.stand(BeforeToken::Other);
            }
            _ => return None,
        }
        Some(())
    }

    fn stand(&mut self, before: BeforeToken) {
        self.before = before;
        self.after_in = false;
    }

    /// Where what is quoted ends, behind the quote.
    fn quoted(&self, quote: u8) -> Option<usize> {
        let mut at = self.at + 1;
        loop {
            if self.peek(at) == quote {
                if self.peek(at + 1) != quote {
                    return Some(at + 1);
                }
                at += 1;
            }
            at += 1;
            if at >= self.bytes.len() {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        // E'…', U&'…' and their kind.
        if self.at > 0 && (is_word(self.bytes[self.at - 1]) || self.bytes[self.at - 1] == b'&') {
            return None;
        }
        let end = self.quoted(b'\'')?;
        if self.takes(end) {
            let content = self.sql[self.at + 1..end - 1].replace("''", "'");
            self.take(Literal::Text(content), end)?;
        }
        self.at = end;
        self.stand(BeforeToken::Operand);
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        let length = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = self.at + length;
        if self.peek(end) == b'.' || is_word(self.peek(end)) {
            // No integer: it stays, as it is.
            while is_word(self.peek(end)) || self.peek(end) == b'.' {
                let exponent = matches!(self.peek(end), b'e' | b'E') && matches!(self.peek(end + 1), b'+' | b'-');
                end += if exponent { 2 } else { 1 };
            }
        } else if self.takes(end) {
            let digits = &self.sql[self.at..end];
            if let Ok(small) = digits.parse::<i32>() {
                self.take(Literal::Int4(small), end)?;
            } else if let Ok(large) = digits.parse::<i64>() {
                self.take(Literal::Int8(large), end)?;
            }
        }
        self.at = end;
        self.stand(BeforeToken::Operand);
        Some(())
    }

    /// Whether the literal that ends there is taken out: it is not if it is cast, or goes on.
    fn takes(&self, end: usize) -> bool {
        let rest = self.bytes[end..].iter().position(|byte| !byte.is_ascii_whitespace());
        let next = rest.map_or(0, |rest| self.bytes[end + rest]);
        self.before == BeforeToken::Taking && !matches!(next, b':' | b'\'' | b'[' | b'.')
    }

    fn take(&mut self, literal: Literal, end: usize) -> Option<()> {
        if self.out.literals.len() == LITERALS_MAX {
            return None;
        }
        self.copy_to(self.at);
        self.out.literals.push(literal);
        let number = self.out.literals.len().to_string();
        self.out.text.push('$');
        self.out.text.push_str(&number);
        self.copied = end;
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let length = self.bytes[self.at..].iter().take_while(|byte| is_word(**byte)).count();
        if length > NAME_BYTES_MAX {
            return None;
        }
        let word = self.sql[self.at..self.at + length].to_ascii_lowercase();
        self.at += length;
        if self.list == Some(self.depth) {
            self.list = None;
        }
        if self.depth == 0 {
            self.in_values = self.is_insert && word == "values";
        }
        let before = match word.as_str() {
            "between" => {
                self.between.push(self.depth);
                BeforeToken::Taking
            }
            "and" if self.between.last() == Some(&self.depth) => {
                self.between.pop();
                BeforeToken::Taking
            }
            _ if NO_OPERANDS.contains(&word.as_str()) => BeforeToken::Other,
            _ => BeforeToken::Operand,
        };
        self.stand(before);
        self.after_in = word == "in";
        Some(())
    }

    fn operator(&mut self) -> Option<()> {
        let length = self.bytes[self.at..].iter().take_while(|byte| is_operator(**byte)).count();
        let operator = &self.sql[self.at..self.at + length];
        if operator.contains("--") || operator.contains("/*") {
            return None;
        }
        self.at += length;
        let before = match operator {
            "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" => BeforeToken::Taking,
            // Between operands, or a sign where a literal may be taken out.
            "+" | "-" if self.before != BeforeToken::Other => BeforeToken::Taking,
            _ => BeforeToken::Other,
        };
        self.stand(before);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Option<(String, Vec<Literal>)> {
        template(sql).map(|template| (template.text, template.literals))
    }

    #[test]
    fn literals_are_taken_out_where_parameters_mean_the_same() {
        let (int, text) = (Literal::Int4, |text: &str| Literal::Text(text.to_string()));
        for (sql, wanted, literals) in [
            ("SELECT a FROM t WHERE id = 7;", "SELECT a FROM t WHERE id = $1", vec![int(7)]),
            (
                "select 1 from t where a='it''s' and b>=3000000000",
                "select 1 from t where a=$1 and b>=$2",
                vec![text("it's"), Literal::Int8(3_000_000_000)],
            ),
            (
                "UPDATE t SET a = a + -5, b = 'x' WHERE c <> 2",
                "UPDATE t SET a = a + -$1, b = $2 WHERE c <> $3",
                vec![int(5), text("x"), int(2)],
            ),
            (
                "INSERT INTO t (a, b) VALUES (1, 'x'), (-2, f(3)) RETURNING 4",
                "INSERT INTO t (a, b) VALUES ($1, $2), (-$3, f(3)) RETURNING 4",
                vec![int(1), text("x"), int(2)],
            ),
            (
                "SELECT * FROM t WHERE a IN (1, 2) AND b BETWEEN 3 AND 4 AND 5 < c",
                "SELECT * FROM t WHERE a IN ($1, $2) AND b BETWEEN $3 AND $4 AND 5 < c",
                vec![int(1), int(2), int(3), int(4)],
            ),
            // What means something else as a parameter stays.
            (
                "SELECT a, b FROM t WHERE a = 1 GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 3 OFFSET -4",
                "SELECT a, b FROM t WHERE a = $1 GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 3 OFFSET -4",
                vec![int(1)],
            ),
            (
                "SELECT a FROM t WHERE a = 1 AND b IN (SELECT c FROM u ORDER BY c, 1)",
                "SELECT a FROM t WHERE a = $1 AND b IN (SELECT c FROM u ORDER BY c, 1)",
                vec![int(1)],
            ),
            (
                "SELECT a FROM t WHERE a = 1 AND b = '2'::int AND c = DATE '2020-01-01'",
                "SELECT a FROM t WHERE a = $1 AND b = '2'::int AND c = DATE '2020-01-01'",
                vec![int(1)],
            ),
            (
                "SELECT -1, a - 1, x.\"q 1\" FROM t WHERE a = 1.5 AND b = 2e-5 AND c = 1",
                "SELECT -1, a - $1, x.\"q 1\" FROM t WHERE a = 1.5 AND b = 2e-5 AND c = $2",
                vec![int(1), int(1)],
            ),
        ] {
            assert_eq!(of(sql), Some((wanted.to_string(), literals)), "{sql}");
        }
    }

    #[test]
    fn what_is_unusual_has_no_template() {
        for sql in [
            "",
            "SELECT a FROM t",
            "SELECT a FROM t WHERE a = $1",
            "SELECT a FROM t WHERE a = 1; SELECT 2",
            "SELECT a FROM t WHERE a = 1 -- b",
            "SELECT a FROM t WHERE a = /* b */ 1",
            "SELECT a FROM t WHERE a = E'\\n'",
            "SELECT a FROM t WHERE a = U&'x'",
            "SELECT a FROM t WHERE a = 'x",
            "SELECT a FROM t) WHERE a = 1",
            "CREATE TABLE t (a int DEFAULT 1)",
            "EXPLAIN SELECT a FROM t WHERE a = 1",
            "SELECT a FROM t WHERE a = .5 AND b = 1",
        ] {
            assert_eq!(of(sql), None, "{sql}");
        }
    }
}
