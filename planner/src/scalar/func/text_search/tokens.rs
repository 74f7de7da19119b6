//! A text as PostgreSQL's default parser takes it apart: words, numbers, hosts, paths, tags, and what is between them.

mod characters;
mod states;

pub(super) use characters::folded;

use characters::{is_alnum, is_letter, is_special, is_url_character};
use repr::text_search::is_space;
use repr::{ValueError, poll};
use states::{Act, Beside, Forgotten, State, Test};

/// The kinds of tokens, by PostgreSQL's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    AsciiWord = 1,
    Word = 2,
    NumWord = 3,
    Email = 4,
    Url = 5,
    Host = 6,
    Scientific = 7,
    Version = 8,
    NumPart = 9,
    WordPart = 10,
    AsciiPart = 11,
    Blank = 12,
    Tag = 13,
    Protocol = 14,
    NumHyphenated = 15,
    AsciiHyphenated = 16,
    Hyphenated = 17,
    UrlPath = 18,
    File = 19,
    Float = 20,
    SignedInt = 21,
    UnsignedInt = 22,
    Entity = 23,
}

/// All of them, by their numbers.
pub(super) const ALL_KINDS: [TokenKind; 23] = [
    TokenKind::AsciiWord,
    TokenKind::Word,
    TokenKind::NumWord,
    TokenKind::Email,
    TokenKind::Url,
    TokenKind::Host,
    TokenKind::Scientific,
    TokenKind::Version,
    TokenKind::NumPart,
    TokenKind::WordPart,
    TokenKind::AsciiPart,
    TokenKind::Blank,
    TokenKind::Tag,
    TokenKind::Protocol,
    TokenKind::NumHyphenated,
    TokenKind::AsciiHyphenated,
    TokenKind::Hyphenated,
    TokenKind::UrlPath,
    TokenKind::File,
    TokenKind::Float,
    TokenKind::SignedInt,
    TokenKind::UnsignedInt,
    TokenKind::Entity,
];

/// The kinds' names and what they are, in the order of their numbers.
pub(super) const KINDS: [(&str, &str); 23] = [
    ("asciiword", "Word, all ASCII"),
    ("word", "Word, all letters"),
    ("numword", "Word, letters and digits"),
    ("email", "Email address"),
    ("url", "URL"),
    ("host", "Host"),
    ("sfloat", "Scientific notation"),
    ("version", "Version number"),
    ("hword_numpart", "Hyphenated word part, letters and digits"),
    ("hword_part", "Hyphenated word part, all letters"),
    ("hword_asciipart", "Hyphenated word part, all ASCII"),
    ("blank", "Space symbols"),
    ("tag", "XML tag"),
    ("protocol", "Protocol head"),
    ("numhword", "Hyphenated word, letters and digits"),
    ("asciihword", "Hyphenated word, all ASCII"),
    ("hword", "Hyphenated word, all letters"),
    ("url_path", "URL path"),
    ("file", "File or path name"),
    ("float", "Decimal notation"),
    ("int", "Signed integer"),
    ("uint", "Unsigned integer"),
    ("entity", "XML entity"),
];

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
}

/// A place in the text, and what is known there.
#[derive(Clone, Copy)]
struct TokenPlace {
    at: usize,
    /// How many bytes before it belong to the token.
    length: usize,
    state: State,
    /// The rule that put it aside.
    tried: Option<usize>,
}

/// Takes one token after the other from a text.
pub(super) struct Tokens<'a> {
    source: &'a str,
    /// The last one is where it stands, the others were put aside.
    places: Vec<TokenPlace>,
    /// Within `<script>` or `<style>`.
    ignores: bool,
    /// Only a host is looked for: of a URL that was found, or of an address.
    wants_host: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(source: &'a str) -> Self {
        Tokens::beginning(source, State::Base, false)
    }

    fn beginning(source: &'a str, state: State, wants_host: bool) -> Self {
        let base = TokenPlace { at: 0, length: 0, state: State::Base, tried: None };
        let places = if state == State::Base { vec![base] } else { vec![base, TokenPlace { state, ..base }] };
        Tokens { source, places, ignores: false, wants_host }
    }

    /// The next token; none at the end.
    ///
    /// # Errors
    /// Why the statement ends.
    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, ValueError> {
        let Some(mut place) = self.places.pop() else { return Ok(None) };
        let start = place.at;
        if start >= self.source.len() {
            return Ok(None);
        }
        place.tried = None;
        loop {
            poll::step()?;
            let rules = place.state.rules();
            let first = place.tried.take().map_or(0, |tried| tried + 1);
            let mut taken = rules.len() - 1;
            for (index, rule) in rules.iter().enumerate().skip(first) {
                if self.holds(rule.test, &mut place)? {
                    taken = index;
                    break;
                }
            }
            let rule = rules[taken];
            self.beside(rule.beside, start, &mut place);
            let mut found = None;
            match rule.act {
                Act::Next | Act::Again => {}
                Act::Try => {
                    if self.places.len() >= 1024 && self.places.len().is_power_of_two() {
                        poll::room_for::<TokenPlace>(2 * self.places.len())?;
                    }
                    self.places.push(TokenPlace { tried: Some(taken), ..place });
                }
                Act::Fail => match self.places.pop() {
                    Some(before) => place = before,
                    None => return Ok(None),
                },
                Act::Forget => drop(self.places.pop()),
                Act::Join => {
                    let before = self.places.pop().unwrap_or(place);
                    // What is next is tested from behind the rule that put it aside.
                    place = TokenPlace { at: place.at, length: place.length, ..before };
                }
                Act::Found(kind, forgotten) => {
                    found = Some(Token { kind, text: &self.source[start..start + place.length] });
                    place.length = 0;
                    match forgotten {
                        Forgotten::Nothing => {}
                        Forgotten::Last => drop(self.places.pop()),
                        Forgotten::All => self.places.clear(),
                    }
                }
            }
            place.state = rule.to.unwrap_or(place.state);
            let is_again = matches!(rule.act, Act::Again);
            if found.is_some() || (place.at >= self.source.len() && !is_again) {
                self.places.push(place);
                return Ok(found);
            }
            if !is_again && !matches!(rule.act, Act::Fail) {
                let width = self.character(&place).map_or(0, char::len_utf8);
                place.at += width;
                place.length += width;
            }
        }
    }

    fn character(&self, place: &TokenPlace) -> Option<char> {
        self.source[place.at..].chars().next()
    }

    fn holds(&mut self, test: Test, place: &mut TokenPlace) -> Result<bool, ValueError> {
        let Some(character) = self.character(place) else {
            return Ok(match test {
                Test::End | Test::Any | Test::NotAlnum => true,
                Test::Ignored => self.ignores,
                Test::HostAlone => std::mem::take(&mut self.wants_host),
                _ => false,
            });
        };
        Ok(match test {
            Test::Any => true,
            Test::End => false,
            Test::Is(wanted) => character == char::from(wanted),
            Test::AsciiLetter => character.is_ascii_alphabetic(),
            Test::Letter => is_letter(character),
            Test::Digit => character.is_ascii_digit(),
            Test::Alnum => is_alnum(character),
            Test::NotAlnum => !is_alnum(character),
            Test::Special => is_special(character),
            Test::Space => is_space(character),
            Test::Hex => character.is_ascii_hexdigit(),
            Test::UrlCharacter => is_url_character(character),
            Test::Ignored => self.ignores,
            Test::HostAlone => std::mem::take(&mut self.wants_host),
            Test::Host => self.passes(place, TokenKind::Host, State::Base, true)?,
            Test::UrlPath => self.passes(place, TokenKind::UrlPath, State::UrlPathFirst, false)?,
        })
    }

    /// Passes a token of that kind, if one begins there.
    fn passes(
        &self,
        place: &mut TokenPlace,
        kind: TokenKind,
        from: State,
        wants_host: bool,
    ) -> Result<bool, ValueError> {
        let mut ahead = Tokens::beginning(&self.source[place.at..], from, wants_host);
        match ahead.next()? {
            Some(token) if token.kind == kind => {
                place.at += token.text.len();
                place.length += token.text.len();
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn beside(&mut self, beside: Beside, start: usize, place: &mut TokenPlace) {
        match beside {
            Beside::Nothing => {}
            Beside::Tag => {
                let tag = &self.source[start..start + place.length];
                if ["</script", "</style"].iter().any(|name| tag.eq_ignore_ascii_case(name)) {
                    self.ignores = false;
                } else if ["<script", "<style"].iter().any(|name| tag.eq_ignore_ascii_case(name)) {
                    self.ignores = true;
                }
            }
            Beside::Back => place.at -= place.length,
            Beside::BackForHost => {
                self.wants_host = true;
                place.at -= place.length;
            }
            Beside::BackEmpty => {
                place.at -= place.length;
                place.length = 0;
            }
        }
    }
}
