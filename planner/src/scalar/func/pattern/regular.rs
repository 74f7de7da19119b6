//! POSIX "advanced" regular expressions as PostgreSQL reads them, extended and basic ones too.
//!
//! ```text
//! text ──lexer──▶ words ──parser──▶ syntax ──┬──▶ tree: which part prefers what      ──┐
//!                                            ├──▶ automaton: where matches end        ─┼─▶ search: match and groups
//!                                            └──▶ `regex` crate: where a match begins ─┘
//! ```
//! The first match is the one that begins first; of those, the longest, or the shortest where the expression prefers so. The `regex` crate
//! prefers alternatives by their order instead, so only where a match begins, and whether there is one, is taken from it. An expression
//! without back references takes time linear in the text for each match; with them, exponential at worst, ended as any other statement is.

mod automaton;
mod lexer;
mod parser;
mod repetitions;
mod search;
mod set;
mod syntax;
mod tree;

pub(crate) use search::Text;

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{self, Class, ClassUnicode, Hir};
use repr::{ValueError, poll};
use set::CharSet;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;
use syntax::{Node, Place};
use tree::Part;

/// Compiled programs of the `regex` crate may take this many bytes.
const PROGRAM_BYTES_MAX: usize = 4 << 20;
/// Expressions that each thread keeps compiled.
const CACHED_MAX: usize = 64;

/// Which characters of an expression are special.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    #[default]
    Advanced,
    Extended,
    Basic,
    /// None is.
    Literal,
}

/// The flags of the regexp_* functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    /// b, e, q
    language: Language,
    /// i
    insensitive: bool,
    /// g
    pub(crate) global: bool,
    /// `.` and `[^…]` do not match a newline: n, m, p.
    newline_stops: bool,
    /// `^` and `$` match at newlines: n, m, w.
    line_anchors: bool,
    /// x
    expanded: bool,
}

impl Options {
    /// No flag, or that cases do not matter.
    pub(crate) fn case(insensitive: bool) -> Options {
        Options { insensitive, ..Options::default() }
    }

    /// Those of a path's `like_regex`, whose dots match no newline unless that is said.
    pub(crate) fn of_path(pattern: &repr::jsonpath::Pattern) -> Options {
        let case = Options::case(pattern.is_insensitive);
        if pattern.is_literal {
            return Options { language: Language::Literal, ..case };
        }
        Options { newline_stops: !pattern.dot_is_all, line_anchors: pattern.has_lines, ..case }
    }

    /// Reads a string of flags.
    pub(crate) fn parse(flags: &str) -> Result<Options, ValueError> {
        let mut options = Options::default();
        for flag in flags.chars() {
            if flag == 'g' {
                options.global = true;
            } else if flag == 'e' {
                // PostgreSQL's functions read this flag as they read "b", though not `(?e)`.
                options.language = Language::Basic;
            } else if !options.set(flag) {
                return Err(ValueError::new("22023", format!("invalid regular expression option: \"{flag}\"")));
            }
        }
        Ok(options)
    }

    fn set(&mut self, flag: char) -> bool {
        match flag {
            'i' => self.insensitive = true,
            'c' => self.insensitive = false,
            'n' | 'm' => (self.newline_stops, self.line_anchors) = (true, true),
            's' => (self.newline_stops, self.line_anchors) = (false, false),
            'p' => (self.newline_stops, self.line_anchors) = (true, false),
            'w' => (self.newline_stops, self.line_anchors) = (false, true),
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => self.language = Language::Literal,
            'e' => self.language = Language::Extended,
            'b' => self.language = Language::Basic,
            _ => return false,
        }
        true
    }
}

/// What is wrong with an expression, in PostgreSQL's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Invalid {
    Argument,
    Braces,
    Brackets,
    CharacterClass,
    CollatingElement,
    Complex,
    Escape,
    Operand,
    Option,
    Parentheses,
    Range,
    Reference,
    Repetition,
}

impl From<Invalid> for ValueError {
    fn from(invalid: Invalid) -> ValueError {
        let reason = match invalid {
            Invalid::Argument => "invalid argument to regex function",
            Invalid::Braces => "braces {} not balanced",
            Invalid::Brackets => "brackets [] not balanced",
            Invalid::CharacterClass => "invalid character class",
            Invalid::CollatingElement => "invalid collating element",
            Invalid::Complex => "regular expression is too complex",
            Invalid::Escape => "invalid escape \\ sequence",
            Invalid::Operand => "quantifier operand invalid",
            Invalid::Option => "invalid embedded option",
            Invalid::Parentheses => "parentheses () not balanced",
            Invalid::Range => "invalid character range",
            Invalid::Reference => "invalid backreference number",
            Invalid::Repetition => "invalid repetition count(s)",
        };
        ValueError::new("2201B", format!("invalid regular expression: {reason}"))
    }
}

/// Why a search ended without an answer: the statement is to end, or the expression is too complex to be tried.
type Stopped = ValueError;

/// Where a group's characters begin and end; None if it took no part in the match.
type GroupSpan = Option<(usize, usize)>;

/// A match, in characters of its text.
#[derive(Debug)]
pub(crate) struct TextMatch {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// The groups that capture, from the first one on.
    pub(crate) groups: Vec<GroupSpan>,
}

impl TextMatch {
    /// Where to go on after this match: an empty one would be found again.
    pub(crate) fn next(&self) -> usize {
        self.end + usize::from(self.end == self.begin)
    }
}

/// A compiled expression.
pub(crate) struct Regular {
    part: Part,
    groups: usize,
    references: bool,
    insensitive: bool,
    /// Finds where matches begin, if it could be made. Without back references and looks, it finds that exactly.
    quick: Option<Regex>,
    exact: bool,
}

thread_local! {
    /// Patterns are few and compiling is slow; a full cache is emptied.
    static COMPILED: RefCell<HashMap<(String, Options), Rc<Regular>>> = RefCell::default();
}

/// The compiled expression.
pub(crate) fn compile(pattern: &str, options: Options) -> Result<Rc<Regular>, ValueError> {
    let key = (pattern.to_owned(), Options { global: false, ..options });
    COMPILED.with_borrow_mut(|compiled| {
        if let Some(regular) = compiled.get(&key) {
            return Ok(regular.clone());
        }
        let regular = Rc::new(Regular::new(pattern, key.1)?);
        if compiled.len() >= CACHED_MAX {
            compiled.clear();
        }
        compiled.insert(key, regular.clone());
        Ok(regular)
    })
}

impl Regular {
    fn new(pattern: &str, mut options: Options) -> Result<Regular, Invalid> {
        let pattern: Vec<char> = prefixed(pattern, &mut options)?.chars().collect();
        if options.language == Language::Literal && (options.expanded || options.newline_stops || options.line_anchors)
        {
            return Err(Invalid::Argument);
        }
        let (node, groups) = parser::parse(&pattern, options)?;
        let part = Part::new(&node)?;
        let mut quick = Quick { program: String::new(), exact: true, references: false };
        quick.write(&node);
        let made = RegexBuilder::new(&quick.program)
            .size_limit(PROGRAM_BYTES_MAX)
            .dfa_size_limit(PROGRAM_BYTES_MAX)
            .nest_limit(1000)
            .build()
            .ok();
        let Quick { exact, references, .. } = quick;
        Ok(Regular { part, groups, references, insensitive: options.insensitive, quick: made, exact })
    }

    /// Whether it matches anywhere in a text.
    pub(crate) fn is_match(&self, source: &str) -> Result<bool, ValueError> {
        if let (Some(quick), true) = (&self.quick, self.exact) {
            return Ok(quick.is_match(source));
        }
        Ok(self.find(&Text::new(source), 0)?.is_some())
    }

    /// The first match that begins at a character or after it.
    pub(crate) fn find(&self, text: &Text<'_>, from: usize) -> Result<Option<TextMatch>, ValueError> {
        let mut begin = from;
        loop {
            if let Some(quick) = &self.quick {
                let byte = if begin == 0 {
                    0
                } else if begin > text.length() {
                    return Ok(None);
                } else {
                    text.byte(begin)
                };
                match quick.find_at(text.source(), byte) {
                    None => return Ok(None),
                    Some(found) => begin = text.character(found.start()),
                }
            }
            if begin > text.length() {
                return Ok(None);
            }
            poll::step()?;
            let found = search::match_at(&self.part, text, begin, self.groups, self.references, self.insensitive)?;
            if found.is_some() {
                let is_tried = begin < text.length() || begin == from || !self.references;
                return Ok(if is_tried || self.tries_end(text, from)? { found } else { None });
            }
            begin += 1;
        }
    }

    /// Whether PostgreSQL tries the very end of a text, where nothing before it matches. Of an expression with back references it
    /// first looks for the earliest end of what might match, tries all that begin before that, and goes on behind it, unless the
    /// text ends there.
    fn tries_end(&self, text: &Text<'_>, from: usize) -> Result<bool, ValueError> {
        let automaton = self.part.automaton()?;
        let mut tried = from;
        while tried < text.length() {
            let mut end = text.length();
            let mut begin = tried;
            while begin < end {
                poll::step()?;
                end = automaton.shortest(text, begin, begin, end)?.unwrap_or(end);
                begin += 1;
            }
            if end == text.length() {
                return Ok(true);
            }
            tried = end + 1;
        }
        Ok(false)
    }
}

/// What an expression says of itself before it begins: `***=`, `***:`, `(?flags)`.
fn prefixed<'a>(pattern: &'a str, options: &mut Options) -> Result<&'a str, Invalid> {
    let mut rest = pattern;
    if let Some(after) = pattern.strip_prefix("***").filter(|_| options.language != Language::Literal) {
        if let Some(literal) = after.strip_prefix('=') {
            options.language = Language::Literal;
            (options.expanded, options.newline_stops, options.line_anchors) = (false, false, false);
            return Ok(literal);
        }
        rest = after.strip_prefix(':').ok_or(Invalid::Operand)?;
        options.language = Language::Advanced;
    }
    if options.language != Language::Advanced {
        return Ok(rest);
    }
    let Some(flags) = rest.strip_prefix("(?") else { return Ok(rest) };
    if !flags.starts_with(|character: char| character.is_ascii_alphabetic()) {
        return Ok(rest);
    }
    let letters = flags.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(flags.len());
    for flag in flags[..letters].chars() {
        if flag == 'g' || !options.set(flag) {
            return Err(Invalid::Option);
        }
    }
    let rest = flags[letters..].strip_prefix(')').ok_or(Invalid::Option)?;
    if options.language == Language::Literal {
        (options.expanded, options.newline_stops, options.line_anchors) = (false, false, false);
    }
    Ok(rest)
}

/// An expression as the `regex` crate's, where it can say the same; else one that matches no less.
struct Quick {
    program: String,
    exact: bool,
    references: bool,
}

impl Quick {
    fn write(&mut self, node: &Node) {
        match node {
            Node::Empty => {}
            Node::Set(set) => self.program.push_str(&Hir::class(Class::Unicode(set.class().clone())).to_string()),
            Node::Place(place) => self.program.push_str(match place {
                Place::TextStart => r"\A",
                Place::TextEnd => r"\z",
                Place::LineStart => "(?m:^)",
                Place::LineEnd => "(?m:$)",
                Place::WordStart => r"\b{start}",
                Place::WordEnd => r"\b{end}",
                Place::WordEdge => r"\b",
                Place::NoWordEdge => r"\B",
            }),
            Node::Look(_) => self.exact = false,
            Node::Reference { body, .. } => {
                (self.exact, self.references) = (false, true);
                self.group(body);
            }
            Node::Group { body, .. } => self.group(body),
            Node::Alternatives(branches) => {
                for (at, branch) in branches.iter().enumerate() {
                    self.program.push_str(if at == 0 { "" } else { "|" });
                    self.write(branch);
                }
            }
            Node::Branch(parts) => parts.iter().for_each(|part| self.write(part)),
            Node::Repeat { body, bounds, .. } => {
                self.group(body);
                self.program.push_str(&match bounds.max {
                    None => format!("{{{},}}", bounds.min),
                    Some(max) => format!("{{{},{max}}}", bounds.min),
                });
            }
        }
    }

    fn group(&mut self, node: &Node) {
        self.program.push_str("(?:");
        self.write(node);
        self.program.push(')');
    }
}

/// Whether a character belongs to words.
fn is_word(character: char) -> bool {
    static WORD: LazyLock<CharSet> =
        LazyLock::new(|| CharSet::new(set::named("word", false).expect("the class exists")));
    WORD.contains(character)
}

/// Whether two characters differ in case alone.
fn same_but_case(one: char, other: char) -> bool {
    let mut class = ClassUnicode::new([hir::ClassUnicodeRange::new(one, one)]);
    class.case_fold_simple();
    CharSet::new(class).contains(other)
}
