//! Letters and digits of a text as numbers, each within an alphabet of its own kind. What a letter becomes is a letter of the same
//! case, of as many bytes.
//!
//! ```text
//! 'Ada@x.org' ─▶ tweak 'aaa@a.aaa', symbols 0 3 0 23 14 17 6, each of 26; which are capitals is kept beside them
//! ```
//! So two texts that differ by case alone are masked as two that do.

use std::collections::HashMap;
use std::sync::Arc;

/// The characters that one may become.
type Alphabet = Arc<[char]>;

/// A text taken apart.
pub(super) struct Spelled {
    /// What is no letter and no digit, with a mark for each that is.
    pub tweak: String,
    /// The letters and digits, as places in their alphabets.
    pub symbols: Vec<u32>,
    /// How many characters each alphabet has.
    pub radices: Vec<u32>,
    parts: Vec<Glyph>,
}

enum Glyph {
    Fixed(char),
    Symbol { alphabet: Alphabet, upper: bool },
}

/// All alphabets that were needed so far.
pub(super) struct Alphabets {
    letters: Alphabet,
    digits: Alphabet,
    /// Of other scripts: by the first of 256 code points, those with capitals, and the others.
    blocks: HashMap<u32, (Alphabet, Alphabet)>,
}

impl Default for Alphabets {
    fn default() -> Self {
        Alphabets { letters: ('a'..='z').collect(), digits: ('0'..='9').collect(), blocks: HashMap::new() }
    }
}

impl Alphabets {
    pub fn spell(&mut self, text: &str) -> Spelled {
        let mut spelled = Spelled { tweak: String::new(), symbols: Vec::new(), radices: Vec::new(), parts: Vec::new() };
        for character in text.chars() {
            let (alphabet, lower) = self.of(character);
            let place = alphabet.iter().position(|found| *found == lower);
            let Some(place) = place.filter(|_| alphabet.len() > 1) else {
                spelled.tweak.push(character);
                spelled.parts.push(Glyph::Fixed(character));
                continue;
            };
            // One mark for each alphabet: its first character, which stands for itself nowhere.
            spelled.tweak.push(alphabet[0]);
            spelled.symbols.push(place as u32);
            spelled.radices.push(alphabet.len() as u32);
            spelled.parts.push(Glyph::Symbol { alphabet, upper: lower != character });
        }
        // A char(n) is padded in one table and not in another that refers to it.
        spelled.tweak.truncate(spelled.tweak.trim_end_matches(' ').len());
        spelled
    }

    /// What a character may become, and how that has it: in lower case, if it has cases.
    fn of(&mut self, character: char) -> (Alphabet, char) {
        if character.is_ascii_alphabetic() {
            return (self.letters.clone(), character.to_ascii_lowercase());
        }
        if character.is_ascii_digit() {
            return (self.digits.clone(), character);
        }
        if character.is_ascii() || !character.is_alphanumeric() {
            return (Arc::from([]), character);
        }
        let lower = lowered(character).unwrap_or(character);
        let (cased, others) = self.block(u32::from(lower));
        match raised(lower) {
            Some(_) => (cased, lower),
            None => (others, character),
        }
    }

    fn block(&mut self, code: u32) -> (Alphabet, Alphabet) {
        let first = code & !0xff;
        let made = self.blocks.entry(first).or_insert_with(|| {
            let all =
                || (first.max(0x80)..first + 256).filter_map(char::from_u32).filter(|found| found.is_alphanumeric());
            let cased = all().filter(|found| raised(*found).is_some()).collect();
            let others = all().filter(|found| raised(*found).is_none() && lowered(*found).is_none()).collect();
            (cased, others)
        });
        made.clone()
    }
}

impl Spelled {
    /// The text with other letters and digits.
    pub fn text(&self, symbols: &[u32]) -> String {
        let mut symbols = symbols.iter();
        let mut next = |alphabet: &Alphabet| symbols.next().and_then(|place| alphabet.get(*place as usize)).copied();
        let character = |part: &Glyph| match part {
            Glyph::Fixed(character) => *character,
            Glyph::Symbol { alphabet, upper } => {
                let lower = next(alphabet).unwrap_or('?');
                if *upper {
                    if lower.is_ascii() { lower.to_ascii_uppercase() } else { raised(lower).unwrap_or(lower) }
                } else {
                    lower
                }
            }
        };
        self.parts.iter().map(character).collect()
    }
}

/// The capital of a letter, if there is one of as many bytes that is no other letter's.
fn raised(lower: char) -> Option<char> {
    let upper = only(lower.to_uppercase())?;
    (upper != lower && only(upper.to_lowercase()) == Some(lower) && upper.len_utf8() == lower.len_utf8())
        .then_some(upper)
}

/// What a capital is the capital of.
fn lowered(upper: char) -> Option<char> {
    only(upper.to_lowercase()).filter(|lower| *lower != upper && raised(*lower) == Some(upper))
}

fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}
