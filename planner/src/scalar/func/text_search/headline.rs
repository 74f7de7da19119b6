//! Parts of a text that show where a query is found: `ts_headline`.

mod choice;
mod options;

use super::configuration::Configuration;
use super::tokens::{TokenKind, Tokens};
use options::Options;
use repr::text_search::query::{Document, Found};
use repr::text_search::{LEXEME_BYTES_END, Operand, PLACE_MAX};
use repr::{TsQuery, ValueError, poll};

/// A token of the text, with what the query has to do with it.
struct Word<'a> {
    text: &'a str,
    kind: TokenKind,
    /// The operand that it is, by where that stands in the query.
    operand: Option<usize>,
    place: u16,
    /// The same token once more, for another operand.
    is_repeated: bool,
    shown: Shown,
}

/// How a word is shown.
#[derive(Clone, Copy, Default)]
struct Shown {
    is_in: bool,
    is_marked: bool,
    /// As a blank.
    is_replaced: bool,
    is_skipped: bool,
}

impl Word<'_> {
    /// Whether it is looked for.
    fn is_wanted(&self) -> bool {
        self.operand.is_some() && !self.is_repeated
    }

    /// Blanks and tags, and what is shown once more by its parts.
    fn is_no_word(&self) -> bool {
        matches!(self.kind, TokenKind::Blank | TokenKind::Tag) || self.has_parts()
    }

    fn has_parts(&self) -> bool {
        use TokenKind::{AsciiHyphenated, Hyphenated, NumHyphenated, Url};
        matches!(self.kind, Url | NumHyphenated | AsciiHyphenated | Hyphenated)
    }

    /// Whether no headline should end here.
    fn is_bad_end(&self, short_bytes_max: i32) -> bool {
        use TokenKind::{Entity, Float, Protocol, Scientific, SignedInt, UnsignedInt, Version};
        let is_no_end = self.is_no_word()
            || matches!(self.kind, Scientific | Version | Float | SignedInt | UnsignedInt | Protocol | Entity);
        (is_no_end || i32::try_from(self.text.len()).unwrap_or(i32::MAX) <= short_bytes_max) && !self.is_wanted()
    }
}

/// Some words one behind the other, as a query sees them.
struct Stretch<'w, 'a>(&'w [Word<'a>]);

impl Document for Stretch<'_, '_> {
    fn has(&self, at: usize, _: &Operand) -> bool {
        self.0.iter().any(|word| word.operand == Some(at))
    }

    fn places(&self, at: usize, _: &Operand) -> Found {
        let mut places: Vec<u16> = Vec::new();
        for word in self.0.iter().filter(|word| word.operand == Some(at)) {
            if places.last().is_none_or(|last| *last < word.place) {
                places.push(word.place);
            }
        }
        if places.is_empty() { Found::Nowhere } else { Found::At(places) }
    }
}

/// `ts_headline`
pub(super) fn headline(
    configuration: Configuration,
    text: &str,
    query: &TsQuery,
    options: Option<&str>,
) -> Result<String, ValueError> {
    let list = options.map_or(Ok(Vec::new()), options::pairs)?;
    let mut words = words(configuration, text, query)?;
    let options = Options::read(&list)?;
    choice::choose(&mut words, query, &options)?;
    options.check_marks()?;
    shown(&words, &options)
}

fn words<'a>(configuration: Configuration, text: &'a str, query: &TsQuery) -> Result<Vec<Word<'a>>, ValueError> {
    let mut tokens = Tokens::of(text);
    let (mut words, mut places) = (Vec::new(), 0_usize);
    while let Some(token) = tokens.next()? {
        if token.text.len() >= LEXEME_BYTES_END {
            continue;
        }
        poll::steps(1 + query.items().len() / 16)?;
        let lexeme = configuration.dictionary(token.kind).and_then(|dictionary| {
            places += 1;
            dictionary.lexeme(token.text)
        });
        let place = u16::try_from(places).unwrap_or(PLACE_MAX).min(PLACE_MAX);
        let word = |operand, is_repeated| Word {
            text: token.text,
            kind: token.kind,
            operand,
            place,
            is_repeated,
            shown: Shown::default(),
        };
        let mut operands = query.operands().filter(|(_, operand)| {
            lexeme.as_ref().is_some_and(|lexeme| {
                if operand.is_prefix { lexeme.starts_with(&*operand.lexeme) } else { **lexeme == *operand.lexeme }
            })
        });
        if words.len() >= 1024 && words.len().is_power_of_two() {
            poll::room_for::<Word<'_>>(2 * words.len())?;
        }
        words.push(word(operands.next().map(|(at, _)| at), false));
        words.extend(operands.map(|(at, _)| word(Some(at), true)));
    }
    Ok(words)
}

/// What was chosen, as text.
fn shown(words: &[Word<'_>], options: &Options<'_>) -> Result<String, ValueError> {
    let mut out = String::new();
    let (mut fragments, mut is_within) = (0, false);
    for word in words.iter().filter(|word| !word.is_repeated) {
        if !word.shown.is_in {
            is_within = false;
            continue;
        }
        poll::bytes(word.text.len())?;
        if !is_within {
            is_within = true;
            fragments += 1;
            if fragments > 1 {
                out.push_str(options.delimiter);
            }
        }
        if word.shown.is_replaced {
            out.push(' ');
        } else if !word.shown.is_skipped {
            let (start, stop) = if word.shown.is_marked { (options.start, options.stop) } else { ("", "") };
            out.extend([start, word.text, stop]);
        }
    }
    Ok(out)
}
