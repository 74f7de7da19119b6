//! Options of headlines: `MaxWords = 10, StartSel = "<i>"`.

use repr::text::{self, TextContext};
use repr::{Datum, ScalarType, ValueError};

/// What a headline should be like.
pub(super) struct Options<'o> {
    pub(super) words_min: i32,
    pub(super) words_max: i32,
    pub(super) short_bytes_max: i32,
    pub(super) fragments_max: i32,
    pub(super) highlights_all: bool,
    pub(super) start: &'o str,
    pub(super) stop: &'o str,
    pub(super) delimiter: &'o str,
}

impl<'o> Options<'o> {
    pub(super) fn read(list: &'o [(String, String)]) -> Result<Options<'o>, ValueError> {
        let mut options = Options {
            words_min: 15,
            words_max: 35,
            short_bytes_max: 3,
            fragments_max: 0,
            highlights_all: false,
            start: "<b>",
            stop: "</b>",
            delimiter: " ... ",
        };
        for (name, value) in list {
            match name.to_ascii_lowercase().as_str() {
                "maxwords" => options.words_max = number(value)?,
                "minwords" => options.words_min = number(value)?,
                "shortword" => options.short_bytes_max = number(value)?,
                "maxfragments" => options.fragments_max = number(value)?,
                "startsel" => options.start = value,
                "stopsel" => options.stop = value,
                "fragmentdelimiter" => options.delimiter = value,
                "highlightall" => {
                    let words = ["1", "on", "true", "t", "y", "yes"];
                    options.highlights_all = words.iter().any(|word| value.eq_ignore_ascii_case(word));
                }
                _ => return Err(invalid(format!("unrecognized headline parameter: \"{name}\""))),
            }
        }
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), ValueError> {
        if self.highlights_all {
            return Ok(());
        }
        if self.words_min >= self.words_max {
            return Err(invalid("MinWords should be less than MaxWords"));
        }
        if self.words_min <= 0 {
            return Err(invalid("MinWords should be positive"));
        }
        if self.short_bytes_max < 0 {
            return Err(invalid("ShortWord should be >= 0"));
        }
        if self.fragments_max < 0 {
            return Err(invalid("MaxFragments should be >= 0"));
        }
        Ok(())
    }

    /// What is written between words may not be longer than they are.
    pub(super) fn check_marks(&self) -> Result<(), ValueError> {
        let marks = [("StartSel", self.start), ("StopSel", self.stop), ("FragmentDelimiter", self.delimiter)];
        match marks.iter().find(|(_, mark)| i16::try_from(mark.len()).is_err()) {
            Some((name, _)) => Err(invalid(format!("value for \"{name}\" is too long"))),
            None => Ok(()),
        }
    }

    /// How long a stretch may be that answers the query.
    pub(super) fn cover_words_max(&self) -> i32 {
        let cover = self.words_max.saturating_mul(10).max(100);
        if self.fragments_max > 0 { cover.saturating_mul(self.fragments_max) } else { cover }
    }
}

fn invalid(message: impl Into<String>) -> ValueError {
    ValueError::new("22023", message)
}

fn number(value: &str) -> Result<i32, ValueError> {
    match text::parse(&ScalarType::Int4, -1, value, &TextContext::default())? {
        Datum::Int4(number) => Ok(number),
        _ => Err(invalid("a number is expected")),
    }
}

/// Names with their values; either may stand in quotes.
pub(super) fn pairs(list: &str) -> Result<Vec<(String, String)>, ValueError> {
    let mut reader = OptionReader { list, rest: list };
    let mut pairs = Vec::new();
    loop {
        reader.rest = reader.rest.trim_start_matches(|character| character == ',' || is_space(character));
        if reader.rest.is_empty() {
            return Ok(pairs);
        }
        let name = reader.name()?;
        pairs.push((name, reader.value()?));
    }
}

struct OptionReader<'l> {
    list: &'l str,
    rest: &'l str,
}

impl OptionReader<'_> {
    /// Up to the sign behind it, that included.
    fn name(&mut self) -> Result<String, ValueError> {
        let name = match self.rest.strip_prefix('"') {
            Some(rest) => {
                self.rest = rest;
                self.quoted('"')?
            }
            None => {
                // Whatever it begins with belongs to it.
                let first = self.rest.chars().next().map_or(0, char::len_utf8);
                let behind = &self.rest[first..];
                let end =
                    first + behind.find(|character| character == '=' || is_space(character)).unwrap_or(behind.len());
                let name = self.rest[..end].to_owned();
                self.rest = &self.rest[end..];
                name
            }
        };
        match self.rest.trim_start_matches(is_space).strip_prefix('=') {
            Some(rest) => {
                self.rest = rest;
                Ok(name)
            }
            None => Err(self.error()),
        }
    }

    fn value(&mut self) -> Result<String, ValueError> {
        self.rest = self.rest.trim_start_matches(is_space);
        let quote = match self.rest.strip_prefix('E') {
            Some(rest) if rest.starts_with('\'') => {
                self.rest = rest;
                '\''
            }
            _ => self.rest.chars().next().ok_or_else(|| self.error())?,
        };
        if quote == '\'' || quote == '"' {
            self.rest = &self.rest[1..];
            return self.quoted(quote);
        }
        let first = quote.len_utf8();
        let behind = &self.rest[first..];
        let end = first + behind.find(|character| character == ',' || is_space(character)).unwrap_or(behind.len());
        let value = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        Ok(value)
    }

    /// Up to the quote that is not there twice. Between single ones a backslash may be there twice.
    fn quoted(&mut self, quote: char) -> Result<String, ValueError> {
        let mut value = String::new();
        loop {
            let mut characters = self.rest.chars();
            let Some(character) = characters.next() else { return Err(self.error()) };
            let behind = characters.as_str();
            let is_twice =
                behind.starts_with(character) && (character == quote || (character == '\\' && quote == '\''));
            if character == quote && !is_twice {
                self.rest = behind;
                return Ok(value);
            }
            value.push(character);
            self.rest = if is_twice { &behind[1..] } else { behind };
        }
    }

    fn error(&self) -> ValueError {
        ValueError::new("42601", format!("invalid parameter list format: \"{}\"", self.list))
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}
