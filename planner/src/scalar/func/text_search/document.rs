//! Texts as documents: `to_tsvector`.

use super::configuration::Configuration;
use super::tokens::Tokens;
use crate::scalar::func::document::{JsonKind, elements, entries, kind, unquoted};
use repr::text_search::{LEXEME_BYTES_END, PLACE_MAX, POSITIONS_MAX, Position};
use repr::{Jsonb, TsVector, ValueError, poll};

/// From so many words on there is asked for room each time that there are twice as many.
const ROOM_FROM: usize = 1024;

/// The lexemes of a text, in its order.
#[derive(Default)]
pub(super) struct Words {
    pub(super) words: Vec<(String, u16)>,
    /// How many places there are, those of words that are left out among them.
    places: usize,
}

impl Words {
    /// Those of a text.
    pub(super) fn of(configuration: Configuration, text: &str) -> Result<Words, ValueError> {
        let mut words = Words::default();
        words.read(configuration, text)?;
        Ok(words)
    }

    /// Goes on with another text.
    pub(super) fn read(&mut self, configuration: Configuration, text: &str) -> Result<(), ValueError> {
        let mut tokens = Tokens::of(text);
        while let Some(token) = tokens.next()? {
            // What is too long is left out, and has no place.
            if token.text.len() >= LEXEME_BYTES_END {
                continue;
            }
            let Some(dictionary) = configuration.dictionary(token.kind) else { continue };
            self.places += 1;
            if let Some(lexeme) = dictionary.lexeme(token.text) {
                poll::bytes(lexeme.len())?;
                let place = u16::try_from(self.places).unwrap_or(PLACE_MAX).min(PLACE_MAX);
                if self.words.len() >= ROOM_FROM && self.words.len().is_power_of_two() {
                    poll::room_for::<(String, u16)>(2 * self.words.len())?;
                }
                self.words.push((lexeme, place));
            }
        }
        Ok(())
    }

    /// The next text is no continuation of what was read.
    fn part(&mut self, configuration: Configuration, text: &str) -> Result<(), ValueError> {
        let before = self.words.len();
        self.read(configuration, text)?;
        self.places += usize::from(self.words.len() > before);
        Ok(())
    }

    pub(super) fn into_vector(mut self) -> Result<TsVector, ValueError> {
        // One place less than a document may have.
        const PLACES_MAX: usize = POSITIONS_MAX - 1;
        poll::sort_by(&mut self.words, |(a, a_place), (b, b_place)| {
            a.as_bytes().cmp(b.as_bytes()).then(a_place.cmp(b_place))
        })?;
        let mut lexemes: Vec<(String, Vec<Position>)> = Vec::new();
        for (lexeme, place) in self.words {
            let position = Position::new(place, 0);
            match lexemes.last_mut() {
                Some((last, positions)) if *last == lexeme => {
                    if positions.len() < PLACES_MAX {
                        positions.push(position);
                    }
                }
                _ => lexemes.push((lexeme, vec![position])),
            }
        }
        TsVector::of_lexemes(lexemes)
    }
}

/// Which members of a JSON document are read.
#[derive(Clone, Copy, Default)]
pub(super) struct Members {
    pub(super) strings: bool,
    pub(super) numbers: bool,
    pub(super) booleans: bool,
    pub(super) keys: bool,
}

impl Members {
    pub(super) const STRINGS: Members = Members { strings: true, numbers: false, booleans: false, keys: false };

    /// As `jsonb_to_tsvector` is told.
    pub(super) fn parse(wanted: &Jsonb) -> Result<Members, ValueError> {
        let wrong_type = || ValueError::new("22023", "wrong flag type, only arrays and scalars are allowed");
        let list = match wanted {
            Jsonb::Array(list) => list.to_vec(),
            Jsonb::Object(_) => return Err(wrong_type()),
            scalar => vec![scalar.clone()],
        };
        let mut members = Members::default();
        for flag in &list {
            let hint = "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".";
            let Jsonb::String(flag) = flag else {
                return Err(ValueError {
                    hint: Some(hint.to_owned()),
                    ..ValueError::new("22023", "flag array element is not a string")
                });
            };
            match flag.to_ascii_lowercase().as_str() {
                "all" => members = Members { strings: true, numbers: true, booleans: true, keys: true },
                "key" => members.keys = true,
                "string" => members.strings = true,
                "numeric" => members.numbers = true,
                "boolean" => members.booleans = true,
                _ => {
                    return Err(ValueError {
                        hint: Some(hint.to_owned()),
                        ..ValueError::new("22023", format!("wrong flag in flag array: \"{flag}\""))
                    });
                }
            }
        }
        Ok(members)
    }
}

/// The document of a jsonb.
pub(super) fn of_jsonb(configuration: Configuration, value: &Jsonb, members: Members) -> Result<TsVector, ValueError> {
    let mut words = Words::default();
    read_jsonb(&mut words, configuration, value, members)?;
    words.into_vector()
}

fn read_jsonb(
    words: &mut Words,
    configuration: Configuration,
    value: &Jsonb,
    members: Members,
) -> Result<(), ValueError> {
    poll::step()?;
    match value {
        Jsonb::String(text) if members.strings => words.part(configuration, text),
        Jsonb::Number(number) if members.numbers => words.part(configuration, &number.to_string()),
        Jsonb::Bool(value) if members.booleans => words.part(configuration, &value.to_string()),
        Jsonb::Null | Jsonb::String(_) | Jsonb::Number(_) | Jsonb::Bool(_) => Ok(()),
        Jsonb::Array(elements) => {
            elements.iter().try_for_each(|element| read_jsonb(words, configuration, element, members))
        }
        Jsonb::Object(pairs) => pairs.iter().try_for_each(|(key, value)| {
            if members.keys {
                words.part(configuration, key)?;
            }
            read_jsonb(words, configuration, value, members)
        }),
    }
}

/// The document of a json, whose members stand in any order, and may be there twice.
pub(super) fn of_json(configuration: Configuration, source: &str, members: Members) -> Result<TsVector, ValueError> {
    let mut words = Words::default();
    read_json(&mut words, configuration, source, members)?;
    words.into_vector()
}

fn read_json(
    words: &mut Words,
    configuration: Configuration,
    source: &str,
    members: Members,
) -> Result<(), ValueError> {
    poll::step()?;
    match kind(source) {
        JsonKind::String if members.strings => words.part(configuration, &unquoted(source)?),
        JsonKind::Number if members.numbers => words.part(configuration, source),
        JsonKind::Boolean if members.booleans => words.part(configuration, source),
        JsonKind::Null | JsonKind::String | JsonKind::Number | JsonKind::Boolean => Ok(()),
        JsonKind::Array => {
            elements(source)?.into_iter().try_for_each(|element| read_json(words, configuration, element, members))
        }
        JsonKind::Object => entries(source)?.into_iter().try_for_each(|(key, value)| {
            if members.keys {
                words.part(configuration, &key)?;
            }
            read_json(words, configuration, value, members)
        }),
    }
}
