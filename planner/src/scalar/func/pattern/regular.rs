//! POSIX "advanced" regular expressions as PostgreSQL reads them, run by the `regex` crate.
//!
//! Matching takes linear time. Refused with 0A000: back references and look-around, which that engine
//! does not have. Alternatives are tried in order (first match), where POSIX takes the longest.

use regex::{Regex, RegexBuilder};
use repr::ValueError;
use std::cell::RefCell;
use std::collections::HashMap;

/// Compiled programs may take this many bytes.
const PROGRAM_BYTES_MAX: usize = 4 << 20;
/// Expressions that each thread keeps compiled.
const CACHED_MAX: usize = 64;

/// The flags of the regexp_* functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    /// i
    pub(crate) insensitive: bool,
    /// g
    pub(crate) global: bool,
    /// `.` and `[^…]` do not match a newline: n, m, p.
    pub(super) newline_stops: bool,
    /// `^` and `$` match at newlines: n, m, w.
    pub(super) line_anchors: bool,
    /// x
    pub(super) expanded: bool,
    /// q
    pub(super) quoted: bool,
}

impl Options {
    /// Reads a string of flags.
    pub(crate) fn parse(flags: &str) -> Result<Options, ValueError> {
        let mut options = Options::default();
        for flag in flags.chars() {
            if flag == 'g' {
                options.global = true;
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
            'q' => self.quoted = true,
            'e' | 'b' => {}
            _ => return false,
        }
        true
    }
}

thread_local! {
    /// Patterns are few and compiling is slow; a full cache is emptied.
    static COMPILED: RefCell<HashMap<(String, Options), Regex>> = RefCell::new(HashMap::new());
}

/// The compiled expression.
pub(crate) fn compile(pattern: &str, options: Options) -> Result<Regex, ValueError> {
    let options = Options { global: false, ..options };
    COMPILED.with_borrow_mut(|compiled| {
        if let Some(regex) = compiled.get(&(pattern.to_owned(), options)) {
            return Ok(regex.clone());
        }
        let regex = build(pattern, options)?;
        if compiled.len() >= CACHED_MAX {
            compiled.clear();
        }
        compiled.insert((pattern.to_owned(), options), regex.clone());
        Ok(regex)
    })
}

fn build(pattern: &str, mut options: Options) -> Result<Regex, ValueError> {
    let translated = if let Some(literal) = pattern.strip_prefix("***=") {
        regex::escape(literal)
    } else if options.quoted {
        regex::escape(pattern)
    } else {
        let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
        translate(embedded_options(pattern, &mut options)?, options)?
    };
    RegexBuilder::new(&translated)
        .case_insensitive(options.insensitive)
        .dot_matches_new_line(!options.newline_stops)
        .multi_line(options.line_anchors)
        .size_limit(PROGRAM_BYTES_MAX)
        .dfa_size_limit(PROGRAM_BYTES_MAX)
        .nest_limit(500)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => ValueError::new("54001", "regular expression is too complex"),
            other => invalid(reason(&other.to_string())),
        })
}

/// `(?imx)` at the very beginning.
fn embedded_options<'a>(pattern: &'a str, options: &mut Options) -> Result<&'a str, ValueError> {
    let Some(rest) = pattern.strip_prefix("(?") else { return Ok(pattern) };
    let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
    if letters == 0 || rest.as_bytes().get(letters) != Some(&b')') {
        return Ok(pattern);
    }
    for flag in rest[..letters].chars() {
        if !options.set(flag) {
            return Err(invalid("invalid embedded option"));
        }
    }
    Ok(&rest[letters + 1..])
}

fn invalid(reason: &str) -> ValueError {
    ValueError::new("2201B", format!("invalid regular expression: {reason}"))
}

fn refused(what: &str) -> ValueError {
    ValueError {
        hint: Some("Matching takes linear time; rewrite the expression without it.".to_owned()),
        ..ValueError::new("0A000", format!("regular expression {what} is not supported"))
    }
}

fn reason(error: &str) -> &'static str {
    let known = [
        ("unclosed group", "parentheses () not balanced"),
        ("unopened group", "parentheses () not balanced"),
        ("unclosed character class", "brackets [] not balanced"),
        ("unclosed counted repetition", "braces {} not balanced"),
        ("repetition operator missing", "quantifier operand invalid"),
        ("invalid character class range", "invalid character range"),
        ("invalid repetition count range", "invalid repetition count(s)"),
        ("POSIX", "invalid character class"),
        ("escape", "invalid escape \\ sequence"),
    ];
    known.iter().find(|(theirs, _)| error.contains(theirs)).map_or("invalid pattern", |(_, ours)| ours)
}

/// PostgreSQL's syntax in the `regex` crate's.
fn translate(pattern: &str, options: Options) -> Result<String, ValueError> {
    let characters: Vec<char> = pattern.chars().collect();
    let mut result = String::with_capacity(pattern.len() + 8);
    let mut at = 0;
    while at < characters.len() {
        let (character, next) = (characters[at], characters.get(at + 1).copied());
        match character {
            '\\' => at += escape(&characters[at + 1..], &mut result, false)?,
            '[' => at += brackets(&characters[at..], &mut result, options)? - 1,
            '(' if next == Some('?') => match characters.get(at + 2) {
                Some(':') => {
                    result.push_str("(?:");
                    at += 2;
                }
                Some('#') => {
                    let close = characters[at..].iter().position(|other| *other == ')');
                    at += close.ok_or_else(|| invalid("parentheses () not balanced"))?;
                }
                Some('=' | '!' | '<') => return Err(refused("look-around")),
                Some(_) | None => return Err(invalid("quantifier operand invalid")),
            },
            // A brace that starts no bound is itself.
            '{' if !next.is_some_and(|next| next.is_ascii_digit()) => result.push_str("\\{"),
            '}' => {
                let opens = result.rfind('{').is_some_and(|open| {
                    !result[..open].ends_with('\\')
                        && result[open + 1..].bytes().all(|b| b.is_ascii_digit() || b == b',')
                });
                result.push_str(if opens { "}" } else { "\\}" });
            }
            '#' if options.expanded => {
                let line = characters[at..].iter().position(|other| *other == '\n');
                at += line.unwrap_or(characters.len() - at) - usize::from(line.is_none());
            }
            blank if options.expanded && blank.is_whitespace() => {}
            other => result.push(other),
        }
        at += 1;
    }
    Ok(result)
}

/// One escape; says how many characters after the backslash it took.
fn escape(after: &[char], result: &mut String, in_brackets: bool) -> Result<usize, ValueError> {
    let Some(character) = after.first() else { return Err(invalid("invalid escape \\ sequence")) };
    let hex = |count: usize| -> Result<u32, ValueError> {
        let digits: String = after.iter().skip(1).take(count).collect();
        u32::from_str_radix(&digits, 16)
            .ok()
            .filter(|_| digits.len() == count)
            .ok_or_else(|| invalid("invalid escape \\ sequence"))
    };
    match character {
        'm' if !in_brackets => result.push_str(r"\b{start}"),
        'M' if !in_brackets => result.push_str(r"\b{end}"),
        'y' if !in_brackets => result.push_str(r"\b"),
        'Y' if !in_brackets => result.push_str(r"\B"),
        'A' if !in_brackets => result.push_str(r"\A"),
        'Z' if !in_brackets => result.push_str(r"\z"),
        'b' => result.push_str(r"\x08"),
        'B' => result.push_str(r"\\"),
        'e' => result.push_str(r"\x1B"),
        '0' => result.push_str(r"\x00"),
        'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'n' | 't' | 'r' | 'f' | 'v' | 'a' => result.extend(['\\', *character]),
        'c' => {
            let control = after.get(1).ok_or_else(|| invalid("invalid escape \\ sequence"))?;
            result.push_str(&format!("\\x{:02X}", *control as u32 & 0x1f));
            return Ok(2);
        }
        'u' => {
            result.push_str(&format!("\\u{{{:X}}}", hex(4)?));
            return Ok(5);
        }
        'U' => {
            result.push_str(&format!("\\u{{{:X}}}", hex(8)?));
            return Ok(9);
        }
        'x' => {
            let count = after.iter().skip(1).take_while(|digit| digit.is_ascii_hexdigit()).take(8).count();
            result.push_str(&format!("\\x{{{:X}}}", hex(count.max(1))?));
            return Ok(1 + count);
        }
        '1'..='9' if !in_brackets => return Err(refused("back reference")),
        letter if letter.is_ascii_alphanumeric() => return Err(invalid("invalid escape \\ sequence")),
        other => result.push_str(&regex::escape(&other.to_string())),
    }
    Ok(1)
}

/// A bracket expression; says how many characters it took.
fn brackets(source: &[char], result: &mut String, options: Options) -> Result<usize, ValueError> {
    let unbalanced = || invalid("brackets [] not balanced");
    let starts = |text: &str| text.chars().eq(source.iter().take(text.len()).copied());
    if starts("[[:<:]]") {
        result.push_str(r"\b{start}");
        return Ok(7);
    }
    if starts("[[:>:]]") {
        result.push_str(r"\b{end}");
        return Ok(7);
    }
    let mut at = 1;
    result.push('[');
    if source.get(at) == Some(&'^') {
        result.push('^');
        if options.newline_stops {
            result.push_str(r"\n");
        }
        at += 1;
    }
    let first = at;
    loop {
        match *source.get(at).ok_or_else(unbalanced)? {
            ']' if at > first => {
                result.push(']');
                return Ok(at + 1);
            }
            '[' if matches!(source.get(at + 1), Some(':' | '.' | '=')) => {
                let kind = source[at + 1];
                let close = (at + 2..source.len().saturating_sub(1))
                    .find(|place| source[*place] == kind && source[*place + 1] == ']')
                    .ok_or_else(unbalanced)?;
                let name: String = source[at + 2..close].iter().collect();
                if kind == ':' {
                    result.push_str(match name.as_str() {
                        // Unicode's classes: the crate's POSIX names are ASCII only.
                        "alpha" => r"\p{Alphabetic}",
                        "alnum" => r"\p{Alphabetic}\p{Nd}",
                        "digit" => r"\d",
                        "lower" => r"\p{Lowercase}",
                        "upper" => r"\p{Uppercase}",
                        "space" => r"\s",
                        "punct" => "[:punct:]",
                        "blank" => "[:blank:]",
                        "cntrl" => "[:cntrl:]",
                        "graph" => "[:graph:]",
                        "print" => "[:print:]",
                        "xdigit" => "[:xdigit:]",
                        "word" => r"\w",
                        _ => return Err(invalid("invalid character class")),
                    });
                } else {
                    result.push_str(&regex::escape(&name));
                }
                at = close + 2;
            }
            '\\' => at += 1 + escape(&source[at + 1..], result, true)?,
            '-' => {
                // A range between two members, else itself.
                let plain = at == first || matches!(source.get(at + 1), Some(']'));
                result.push_str(if plain { r"\-" } else { "-" });
                at += 1;
            }
            special @ ('[' | ']' | '&' | '~' | '^') => {
                result.extend(['\\', special]);
                at += 1;
            }
            other => {
                result.push(other);
                at += 1;
            }
        }
    }
}
