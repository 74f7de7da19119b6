//! `jsonpath`: a path through a JSON document, as it is read and written. How it is followed stands in the planner.
//!
//! ```text
//! lax $.items[*] ? (@.price > 10).name
//!
//! chain   Root ─ Key(items) ─ AnyArray ─ Filter ─ Key(name)
//!                                          │
//! chain                                 Binary(>)
//!                                       │       │
//! chains                  Current ─ Key(price)  Literal(10)
//! ```
//! A chain's first step gives items, each further one is applied to those before it. Chains are long, but nest at most
//! `DEPTH_MAX` deep: whatever walks over a path recurses into nested chains only.

mod lexer;
mod parser;
mod text;

use crate::{Jsonb, ValueError, poll};
use std::sync::Arc;

/// How deep chains may nest; deeper ones are refused with 54001.
const DEPTH_MAX: usize = 500;

/// A path. Cloning shares it.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath(Arc<Path>);

/// What a path consists of. However it was written, it is the same.
pub struct Path {
    /// Whether arrays are unwrapped and what is missing is no error: not `strict`.
    pub is_lax: bool,
    /// Its steps.
    pub chain: Chain,
    /// How long the text was that it was read from.
    length: usize,
}

impl PartialEq for Path {
    fn eq(&self, other: &Path) -> bool {
        self.is_lax == other.is_lax && self.chain == other.chain
    }
}

impl std::fmt::Debug for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Path").field("is_lax", &self.is_lax).field("chain", &self.chain).finish_non_exhaustive()
    }
}

/// Steps, each applied to what the one before it gives. There is at least one.
pub type Chain = Vec<Step>;

/// One step of a chain.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// `null`, a truth, a number or a string.
    Literal(Jsonb),
    /// `$name`
    Variable(Arc<str>),
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `.key`
    Key(Arc<str>),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyArray,
    /// `[1, 3 to last]`
    Subscripts(Vec<Subscript>),
    /// `.**{first to last}`
    Any(Levels),
    /// `? (predicate)`
    Filter(Chain),
    /// `&&`, `||` of two predicates and more, from left to right.
    Junction(Junction, Vec<Chain>),
    /// Two chains and what stands between them.
    Binary(Operator, Chain, Chain),
    /// `+`, `-` before a chain, which is negated if this is true.
    Sign(bool, Chain),
    /// `!(predicate)`
    Not(Chain),
    /// `(predicate) is unknown`
    IsUnknown(Chain),
    /// `exists (chain)`
    Exists(Chain),
    /// `chain like_regex "pattern" flag "flags"`
    LikeRegex(Chain, Pattern),
    /// `.size()` and its like.
    Method(Method),
    /// `.datetime("template")`
    Datetime(Option<Arc<str>>),
}

/// One subscript, or all from the first to the second.
#[derive(Debug, PartialEq)]
pub struct Subscript {
    /// The first.
    pub from: Chain,
    /// The last, if it is not the same.
    pub to: Option<Chain>,
}

/// Levels of a document below an item; `LEAVES` is the last one, however deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// From this one.
    pub first: u32,
    /// To this one.
    pub last: u32,
}

impl Levels {
    /// `last`
    pub const LEAVES: u32 = u32::MAX;
}

/// What joins predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Junction {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// What stands between two chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    LessOrEqual,
    /// `>=`
    GreaterOrEqual,
    /// `starts with`
    StartsWith,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

impl Operator {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::Greater => ">",
            Operator::LessOrEqual => "<=",
            Operator::GreaterOrEqual => ">=",
            Operator::StartsWith => "starts with",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Modulo => "%",
        }
    }

    /// Whether it gives a number, not a truth.
    pub fn is_arithmetic(self) -> bool {
        self.priority() > COMPARISON
    }

    /// How strongly it binds.
    fn priority(self) -> u8 {
        match self {
            Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::Greater
            | Operator::LessOrEqual
            | Operator::GreaterOrEqual
            | Operator::StartsWith => COMPARISON,
            Operator::Add | Operator::Subtract => 3,
            Operator::Multiply | Operator::Divide | Operator::Modulo => 4,
        }
    }
}

impl Junction {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Junction::And => "&&",
            Junction::Or => "||",
        }
    }

    /// How strongly it binds.
    fn priority(self) -> u8 {
        match self {
            Junction::Or => 0,
            Junction::And => 1,
        }
    }
}

/// The priority of comparisons, between junctions and arithmetic.
const COMPARISON: u8 = 2;

/// A regular expression and its flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The expression.
    pub expression: Arc<str>,
    /// `i`: cases do not matter.
    pub is_insensitive: bool,
    /// `s`: a dot matches a newline.
    pub dot_is_all: bool,
    /// `m`: `^` and `$` match at newlines.
    pub has_lines: bool,
    /// `x`, which counts only beside `q`, and is ignored there.
    has_blanks: bool,
    /// `q`: nothing is special.
    pub is_literal: bool,
}

/// Methods without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `.type()`
    Type,
    /// `.size()`
    Size,
    /// `.abs()`
    Abs,
    /// `.floor()`
    Floor,
    /// `.ceiling()`
    Ceiling,
    /// `.double()`
    Double,
    /// `.keyvalue()`
    KeyValue,
}

impl Method {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Type => "type",
            Method::Size => "size",
            Method::Abs => "abs",
            Method::Floor => "floor",
            Method::Ceiling => "ceiling",
            Method::Double => "double",
            Method::KeyValue => "keyvalue",
        }
    }

    fn named(name: &str) -> Option<Method> {
        [Method::Type, Method::Size, Method::Abs, Method::Floor, Method::Ceiling, Method::Double, Method::KeyValue]
            .into_iter()
            .find(|method| method.name() == name)
    }
}

impl JsonPath {
    /// Reads a path. Its regular expressions are not compiled: whoever follows it does that.
    ///
    /// # Errors
    /// 42601 and 22P02 for what is no path, 54001 for one that nests too deep.
    pub fn parse(text: &str) -> Result<JsonPath, ValueError> {
        let (is_lax, chain) = parser::parse(text, poll::step)?;
        Ok(JsonPath(Arc::new(Path { is_lax, chain, length: text.len() })))
    }

    /// Reads what a path was written as; none if it is no path's.
    pub(crate) fn unpack(packed: &[u8]) -> Option<JsonPath> {
        let text = std::str::from_utf8(packed).ok()?;
        let (is_lax, chain) = parser::parse(text, || Ok(())).ok()?;
        Some(JsonPath(Arc::new(Path { is_lax, chain, length: text.len() })))
    }

    /// What it consists of.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// About how much it holds.
    pub fn bytes(&self) -> usize {
        self.0.length * size_of::<Step>() / 2
    }

    /// Its regular expressions, to be checked before any is used.
    pub fn patterns(&self) -> Vec<&Pattern> {
        let mut found = Vec::new();
        collect_patterns(&self.0.chain, &mut found);
        found
    }
}

fn collect_patterns<'p>(chain: &'p Chain, found: &mut Vec<&'p Pattern>) {
    for step in chain {
        match step {
            Step::Filter(inner)
            | Step::Sign(_, inner)
            | Step::Not(inner)
            | Step::IsUnknown(inner)
            | Step::Exists(inner) => collect_patterns(inner, found),
            Step::Junction(_, terms) => terms.iter().for_each(|term| collect_patterns(term, found)),
            Step::Binary(_, left, right) => {
                collect_patterns(left, found);
                collect_patterns(right, found);
            }
            Step::Subscripts(subscripts) => {
                for subscript in subscripts {
                    collect_patterns(&subscript.from, found);
                    subscript.to.iter().for_each(|to| collect_patterns(to, found));
                }
            }
            Step::LikeRegex(inner, pattern) => {
                collect_patterns(inner, found);
                found.push(pattern);
            }
            Step::Literal(_)
            | Step::Variable(_)
            | Step::Root
            | Step::Current
            | Step::Last
            | Step::Key(_)
            | Step::AnyKey
            | Step::AnyArray
            | Step::Any(_)
            | Step::Method(_)
            | Step::Datetime(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::JsonPath;

    fn shown(text: &str) -> String {
        match JsonPath::parse(text) {
            Ok(path) => {
                let mut out = String::new();
                path.write_text(&mut out);
                let packed = path.packed();
                let unpacked = JsonPath::unpack(packed.as_bytes()).expect("what is packed can be read");
                assert_eq!(unpacked.path().chain, path.path().chain, "{packed}");
                assert_eq!(unpacked.path().is_lax, path.path().is_lax);
                out
            }
            Err(error) => format!("{}: {}", error.code, error.message),
        }
    }

    #[test]
    fn paths_are_written_as_postgresql_writes_them() {
        let cases = [
            ("$", "$"),
            ("strict $.a.b[*] ? (@.c > 1).d", "strict $.\"a\".\"b\"[*]?(@.\"c\" > 1).\"d\""),
            ("1 * 2 + 4 % -3 != false", "(1 * 2 + 4 % -3 != false)"),
            ("$.a && 1", "42601: syntax error at or near \"&&\" of jsonpath input"),
            ("$ == 1 && $ == 2 && $ == 3 || $ == 4", "(($ == 1 && $ == 2) && $ == 3 || $ == 4)"),
            ("$ == 1 && ($ == 2 && $ == 3)", "($ == 1 && ($ == 2 && $ == 3))"),
            ("((1)) == ((1 + 2).abs())", "(1 == 1 + 2.abs())"),
            ("(($ == 1)) is unknown", "($ == 1) is unknown"),
            ("!exists($.a)", "!(exists ($.\"a\"))"),
            ("(exists($.a)).type() == (-$.a).size()", "(exists ($.\"a\").type() == -$.\"a\".size())"),
            ("$.**{2 to last}.a", "$.**{2 to last}.\"a\""),
            ("-(-1)", "1"),
            ("-(1).a", "(-(1).\"a\")"),
            ("1.2.e3", "(1.2).\"e3\""),
            ("$.to.strict.\"x y\\u0041\"", "$.\"to\".\"strict\".\"x yA\""),
            ("$.a/* lost */.b", "42601: syntax error at or near \".\" of jsonpath input"),
            ("00", "42601: trailing junk after numeric literal at or near \"00\" of jsonpath input"),
            ("000", "42601: syntax error at end of jsonpath input"),
            ("@", "42601: @ is not allowed in root expressions"),
            ("$[last, last - 1 to 2]", "$[last,last - 1 to 2]"),
            ("last", "42601: LAST is allowed only in array subscripts"),
            ("", "22P02: invalid input syntax for type jsonpath: \"\""),
            (
                "$ ? (@ like_regex \"a\" flag \"xsms\")",
                "0A000: XQuery \"x\" flag (expanded regular expressions) is not implemented",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        // What is not optimized takes more.
        let stack = if cfg!(debug_assertions) { 8 << 20 } else { 2 << 20 };
        let deep = std::thread::Builder::new().stack_size(stack).spawn(|| {
            let nested = |open: &str, inner: &str, close: &str, times: usize| {
                JsonPath::parse(&format!("{}{inner}{}", open.repeat(times), close.repeat(times)))
            };
            for (open, inner, close) in
                [("(", "1", ")"), ("-", "$", ""), ("$ ? (@ == ", "1", ")"), ("$[", "1", "]"), ("1 + ", "1", "")]
            {
                assert_eq!(nested(open, inner, close, 100_000).unwrap_err().code, "54001", "{open}");
                nested(open, inner, close, 240).expect("it is not that deep");
            }
            // Long ones are not deep.
            nested("$ == 1 || ", "$ == 1", "", 100_000).expect("it is long");
            nested("", "$", ".a", 100_000).expect("it is long");
        });
        deep.expect("there are threads").join().expect("no stack is too small");
    }
}
