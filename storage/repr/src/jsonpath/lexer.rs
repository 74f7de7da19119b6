//! Words of a path: as flex finds them for PostgreSQL, the longest first.

use crate::ValueError;

/// A word's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing is left.
    End,
    /// A name that stands for itself.
    Name,
    /// A name that the grammar knows, in lower case.
    Keyword(&'static str),
    /// `"…"`
    String,
    /// Digits alone.
    Integer,
    /// Any other number.
    Number,
    /// `$name`, `$"name"`
    Variable,
    /// One or two characters.
    Symbol(&'static str),
}

/// A word.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// A name's or a string's characters, a number's digits.
    pub(super) text: String,
    /// What PostgreSQL's messages show of it; nothing if it ended before something else.
    near: String,
}

pub(super) struct Lexer<'a> {
    source: &'a str,
    place: usize,
}

/// Words in any case, but for `null`, `true` and `false`.
const KEYWORDS: [&str; 22] = [
    "is",
    "to",
    "abs",
    "lax",
    "flag",
    "last",
    "null",
    "size",
    "true",
    "type",
    "with",
    "false",
    "floor",
    "double",
    "exists",
    "starts",
    "strict",
    "ceiling",
    "unknown",
    "datetime",
    "keyvalue",
    "like_regex",
];
/// Longer before shorter.
const SYMBOLS: [&str; 30] = [
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "!", "<", ">", "?", "%", "$", ".", "[", "]", "{", "}", "(", ")",
    "|", "&", "=", "@", "#", ",", "*", ":", "-",
];
const BLANKS: &[u8] = b" \t\n\r\x0c";

fn is_special(byte: u8) -> bool {
    b"?%$.[]{}()|&!=<>@#,*:-+/".contains(&byte)
}

/// What names are made of.
fn is_other(byte: u8) -> bool {
    !is_special(byte) && !BLANKS.contains(&byte) && byte != b'\\' && byte != b'"'
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| belongs(**byte)).count()
}

/// An error of PostgreSQL's parser, near a piece of the path.
fn refused(message: &str, near: &str) -> ValueError {
    let place = if near.is_empty() { "at end".to_owned() } else { format!("at or near \"{near}\"") };
    ValueError::new("42601", format!("{message} {place} of jsonpath input"))
}

impl Token {
    /// The end, or what stands where nothing has been read.
    pub(super) fn end() -> Token {
        Token { kind: Kind::End, text: String::new(), near: String::new() }
    }

    /// It does not belong there.
    pub(super) fn unexpected(&self) -> ValueError {
        refused("syntax error", &self.near)
    }
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Lexer<'a> {
        Lexer { source, place: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.place..]
    }

    /// The next word.
    pub(super) fn next(&mut self) -> Result<Token, ValueError> {
        loop {
            self.place += run(self.rest().as_bytes(), |byte| BLANKS.contains(&byte));
            let rest = self.rest();
            let bytes = rest.as_bytes();
            let Some(first) = bytes.first() else { return Ok(Token::end()) };
            if rest.starts_with("/*") {
                self.comment()?;
                continue;
            }
            if let Some(number) = self.number()? {
                return Ok(number);
            }
            match first {
                b'"' => return self.quoted(1, Kind::String),
                b'$' if bytes.get(1) == Some(&b'"') => return self.quoted(2, Kind::Variable),
                b'$' if bytes.get(1).is_some_and(|byte| is_other(*byte)) => {
                    let length = 1 + run(&bytes[1..], is_other);
                    self.place += length;
                    let near = rest[..length].to_owned();
                    return Ok(Token { kind: Kind::Variable, text: near[1..].to_owned(), near });
                }
                byte if *byte == b'\\' || is_other(*byte) => match self.name()? {
                    Some(name) => return Ok(name),
                    // A name right before a comment is lost in PostgreSQL.
                    None => continue,
                },
                _ => {}
            }
            let symbol = SYMBOLS.into_iter().chain(["+", "/"]).find(|symbol| rest.starts_with(symbol));
            let symbol = symbol.ok_or_else(|| refused("syntax error", rest))?;
            self.place += symbol.len();
            return Ok(Token { kind: Kind::Symbol(symbol), text: String::new(), near: symbol.to_owned() });
        }
    }

    fn comment(&mut self) -> Result<(), ValueError> {
        let length = self.rest()[2..].find("*/").ok_or_else(|| refused("unexpected end of comment", ""))?;
        self.place += 2 + length + 2;
        Ok(())
    }

    /// A number, if none of the other words that begin here is longer.
    fn number(&mut self) -> Result<Option<Token>, ValueError> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |from: usize| run(&bytes[from.min(bytes.len())..], |byte| byte.is_ascii_digit());
        let whole = match bytes[0] {
            b'0' => 1,
            b'1'..=b'9' => digits(0),
            _ => 0,
        };
        let mut decimal = 0;
        if bytes.get(whole) == Some(&b'.') && (whole > 0 || digits(1) > 0) {
            decimal = whole + 1 + digits(whole + 1);
        }
        let mantissa = whole.max(decimal);
        if mantissa == 0 {
            return Ok(None);
        }
        let (mut real, mut broken) = (0, 0);
        if matches!(bytes.get(mantissa), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(mantissa + 1), Some(b'+' | b'-')));
            let exponent = digits(mantissa + 1 + sign);
            real = if exponent > 0 { mantissa + 1 + sign + exponent } else { 0 };
            broken = if sign > 0 { mantissa + 2 } else { 0 };
        }
        let valid = mantissa.max(real);
        let junk = valid + usize::from(bytes.get(valid).is_some_and(|byte| is_other(*byte)));
        // Part of a longer number may be one itself, with junk behind it: `00`.
        let name = run(bytes, is_other);
        let longest = valid.max(broken).max(junk).max(name);
        let near = |length: usize| rest.get(..length).unwrap_or(rest).to_owned();
        if valid == longest {
            self.place += valid;
            let kind = if valid == whole { Kind::Integer } else { Kind::Number };
            return Ok(Some(Token { kind, text: near(valid), near: near(valid) }));
        }
        if broken == longest {
            return Err(refused("invalid numeric literal", &near(broken)));
        }
        if junk == longest {
            return Err(refused("trailing junk after numeric literal", &near(junk)));
        }
        Ok(None)
    }

    /// A string, or a variable's name, behind its opening quote.
    fn quoted(&mut self, opening: usize, kind: Kind) -> Result<Token, ValueError> {
        self.place += opening;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find(['"', '\\']).unwrap_or(rest.len());
            text.push_str(&rest[..plain]);
            self.place += plain;
            match rest[plain..].bytes().next() {
                Some(b'"') => {
                    self.place += 1;
                    return Ok(Token { kind, text, near: "\"".to_owned() });
                }
                Some(_) => self.escape(&mut text)?,
                None => return Err(refused("unexpected end of quoted string", "")),
            }
        }
    }

    /// A name; none if a comment follows at once.
    fn name(&mut self) -> Result<Option<Token>, ValueError> {
        let mut text = String::new();
        let near = loop {
            let rest = self.rest();
            let plain = run(rest.as_bytes(), is_other);
            text.push_str(&rest[..plain]);
            self.place += plain;
            let rest = self.rest();
            match rest.bytes().next() {
                Some(b'\\') => self.escape(&mut text)?,
                Some(byte) if BLANKS.contains(&byte) => {
                    let blanks = run(rest.as_bytes(), |byte| BLANKS.contains(&byte));
                    self.place += blanks;
                    break rest[..blanks].to_owned();
                }
                _ if rest.starts_with("/*") => {
                    self.comment()?;
                    return Ok(None);
                }
                _ => break String::new(),
            }
        };
        let keyword = KEYWORDS.into_iter().find(|keyword| keyword.eq_ignore_ascii_case(&text));
        let keyword = keyword.filter(|keyword| !matches!(*keyword, "null" | "true" | "false") || *keyword == text);
        Ok(Some(Token { kind: keyword.map_or(Kind::Name, Kind::Keyword), text, near }))
    }

    /// What stands behind a backslash.
    fn escape(&mut self, text: &mut String) -> Result<(), ValueError> {
        let rest = self.rest();
        let Some(kind) = rest[1..].chars().next().filter(|kind| *kind != '\n') else {
            return Err(refused("unexpected end after backslash", "\\"));
        };
        if kind == 'u' {
            return self.unicode(text);
        }
        if kind == 'x' {
            let digits = run(&rest.as_bytes()[2..], |byte| byte.is_ascii_hexdigit()).min(2);
            let value = u32::from_str_radix(&rest[2..2 + digits], 16).ok().filter(|_| digits == 2);
            let value = value.ok_or_else(|| refused("invalid hex character sequence", &rest[..2 + digits]))?;
            self.place += 4;
            return push_code(text, value);
        }
        self.place += 1 + kind.len_utf8();
        text.push(match kind {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            other => other,
        });
        Ok(())
    }

    /// Escapes by number that stand together: two halves of a pair make one character.
    fn unicode(&mut self, text: &mut String) -> Result<(), ValueError> {
        let begin = self.place;
        let mut codes = Vec::new();
        while self.rest().starts_with("\\u") {
            let rest = &self.rest()[2..];
            let is_braced = rest.starts_with('{');
            let (from, most) = if is_braced { (1, 6) } else { (0, 4) };
            let digits = run(&rest.as_bytes()[from..], |byte| byte.is_ascii_hexdigit()).min(most);
            let is_whole = if is_braced { digits > 0 && rest[from + digits..].starts_with('}') } else { digits == 4 };
            self.place += 2 + from + digits;
            if !is_whole {
                return Err(refused("invalid unicode sequence", &self.source[begin..self.place]));
            }
            self.place += usize::from(is_braced);
            codes.push(u32::from_str_radix(&rest[from..from + digits], 16).expect("these are digits"));
        }
        let mut high = None;
        for code in codes {
            match (high.take(), code) {
                (None, 0xD800..=0xDBFF) => high = Some(code),
                (Some(_), 0xD800..=0xDBFF) => {
                    return Err(surrogate("Unicode high surrogate must not follow a high surrogate."));
                }
                (Some(high), 0xDC00..=0xDFFF) => {
                    push_code(text, 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00))?;
                }
                (None, 0xDC00..=0xDFFF) | (Some(_), _) => return Err(surrogate(LOW_FOLLOWS)),
                (None, _) => push_code(text, code)?,
            }
        }
        if high.is_some() { Err(surrogate(LOW_FOLLOWS)) } else { Ok(()) }
    }
}

const LOW_FOLLOWS: &str = "Unicode low surrogate must follow a high surrogate.";

fn surrogate(detail: &str) -> ValueError {
    ValueError { detail: Some(detail.to_owned()), ..ValueError::new("22P02", "invalid input syntax for type jsonpath") }
}

fn push_code(text: &mut String, code: u32) -> Result<(), ValueError> {
    if code == 0 {
        let detail = Some("\\u0000 cannot be converted to text.".to_owned());
        return Err(ValueError { detail, ..ValueError::new("22P05", "unsupported Unicode escape sequence") });
    }
    text.push(char::from_u32(code).ok_or_else(|| ValueError::new("42601", "invalid Unicode code point"))?);
    Ok(())
}
