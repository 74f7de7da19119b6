//! Inverted indexes (`USING gin`): what a value stands by, and by what the rows are found that a condition may hold for.
//!
//! ```text
//! '{red,blue}'              ─▶  red, blue
//! tags @> '{red}'           ─▶  rows that stand by red
//! tags && '{red,green}'     ─▶  rows that stand by red, or by green
//! body LIKE '%wood%'        ─▶  rows that stand by woo and by ood
//! words @@ 'dog & !wo:*'    ─▶  rows that stand by dog
//! ```
//! What is found may be too much: the condition is asked of each row. It is never too little.

use crate::scalar::Function;
use repr::text_search::{Operator, QueryItem};
use repr::{Datum, Jsonb, TsQuery, key};
use std::collections::BTreeSet;

/// What a condition asks of a value that stands in an inverted index, beside a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// `column @> constant`: all of it is there.
    Contains,
    /// `column && constant`: some of it is there.
    Overlaps,
    /// `constant = ANY (column)`.
    Has,
    /// `column ? constant`
    Exists,
    /// `column ?| constant`
    ExistsAny,
    /// `column ?& constant`
    ExistsAll,
    /// `column LIKE constant`, `column ILIKE constant`
    Like,
    /// `column @@ constant`
    Matches,
}

/// Which rows are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All: nothing is known of them.
    All,
    /// Those that stand by this.
    By(Vec<u8>),
    /// Those that stand by something that begins so.
    ByPrefix(Vec<u8>),
    /// Those that all of these want.
    Every(Vec<Wanted>),
    /// Those that one of these wants; of none, none.
    Any(Vec<Wanted>),
}

impl Asked {
    /// What an operator asks of its left operand, if an inverted index can tell.
    pub(crate) fn of_operator(function: &Function) -> Option<Asked> {
        Some(match function.name {
            "@>" => Asked::Contains,
            "&&" => Asked::Overlaps,
            "?" => Asked::Exists,
            "?|" => Asked::ExistsAny,
            "?&" => Asked::ExistsAll,
            "~~" | "~~*" => Asked::Like,
            "@@" | "@@@" => Asked::Matches,
            _ => return None,
        })
    }

    /// The rows for which this may hold of a constant.
    pub fn wanted(self, constant: &Datum) -> Wanted {
        match (self, constant) {
            // What is compared with NULL holds of none.
            (_, Datum::Null) => Wanted::Any(Vec::new()),
            (Asked::Contains, Datum::Array(array)) => {
                // No array contains a NULL.
                if array.elements.iter().any(Datum::is_null) {
                    Wanted::Any(Vec::new())
                } else {
                    every(elements(constant))
                }
            }
            (Asked::Contains, Datum::Jsonb(_)) => every(elements(constant)),
            (Asked::Contains, Datum::Hstore(pairs)) => every(pairs.pairs().map(of_pair).collect()),
            (Asked::Overlaps, Datum::Array(_)) => any(elements(constant)),
            (Asked::Has, element) => Wanted::By(of_element(element)),
            (Asked::Exists, Datum::Text(text)) => Wanted::By(of_name(text)),
            (Asked::ExistsAny, Datum::Array(array)) => any(names(&array.elements)),
            (Asked::ExistsAll, Datum::Array(array)) => every(names(&array.elements)),
            (Asked::Like, Datum::Text(pattern)) => match parts(pattern) {
                Some(parts) => every(parts.iter().flat_map(|part| trigrams(part)).collect()),
                None => Wanted::All,
            },
            (Asked::Matches, Datum::TsQuery(query)) => matching(query),
            _ => Wanted::All,
        }
    }
}

impl Wanted {
    /// The same by the bytes by which rows stand in an index, of one of its columns.
    #[must_use]
    pub fn of_column(self, place: usize) -> Wanted {
        let all = |parts: Vec<Wanted>| parts.into_iter().map(|part| part.of_column(place)).collect();
        match self {
            Wanted::All => Wanted::All,
            Wanted::By(element) => Wanted::By(value(place, &element)),
            Wanted::ByPrefix(element) => {
                let mut bytes = value(place, &element);
                bytes.truncate(bytes.len() - key::END_BYTES);
                Wanted::ByPrefix(bytes)
            }
            Wanted::Every(parts) => Wanted::Every(all(parts)),
            Wanted::Any(parts) => Wanted::Any(all(parts)),
        }
    }
}

fn every(elements: BTreeSet<Vec<u8>>) -> Wanted {
    if elements.is_empty() { Wanted::All } else { Wanted::Every(elements.into_iter().map(Wanted::By).collect()) }
}

fn any(elements: BTreeSet<Vec<u8>>) -> Wanted {
    Wanted::Any(elements.into_iter().map(Wanted::By).collect())
}

/// The bytes by which rows stand for an element of one of an index's columns.
pub fn value(place: usize, element: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(element.len() + 8);
    key::encode(&mut bytes, &Datum::Int4(place as i32));
    key::encode_bytea(&mut bytes, element);
    bytes
}

/// What a value stands by.
pub fn elements(value: &Datum) -> BTreeSet<Vec<u8>> {
    match value {
        Datum::Array(array) => array.elements.iter().filter(|element| !element.is_null()).map(of_element).collect(),
        Datum::Jsonb(document) => {
            let mut found = BTreeSet::new();
            document_elements(document, true, &mut found);
            found
        }
        Datum::Hstore(pairs) => pairs.pairs().flat_map(|(key, value)| [of_name(key), of_pair((key, value))]).collect(),
        Datum::TsVector(vector) => vector.iter().map(|(lexeme, _)| lexeme.as_bytes().to_vec()).collect(),
        Datum::Text(text) | Datum::Bpchar(text) => trigrams(text),
        _ => BTreeSet::new(),
    }
}

fn of_element(element: &Datum) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::encode(&mut bytes, element);
    bytes
}

/// Of documents: names of fields, and strings that stand in arrays or alone; other values. Of hstore: keys; keys with their values.
const NAME: u8 = b'n';
const VALUE: u8 = b'v';

fn of_name(text: &str) -> Vec<u8> {
    [&[NAME], text.as_bytes()].concat()
}

/// A key with its value: of what length the key is tells where it ends.
fn of_pair((key, value): (&str, Option<&str>)) -> Vec<u8> {
    let length = (key.len() as u64).to_be_bytes();
    let value = value.map_or(Vec::new(), |value| [&[VALUE], value.as_bytes()].concat());
    [&[VALUE], &length[..], key.as_bytes(), &value].concat()
}

fn names(texts: &[Datum]) -> BTreeSet<Vec<u8>> {
    let text = |datum: &Datum| match datum {
        Datum::Text(text) => Some(of_name(text)),
        _ => None,
    };
    texts.iter().filter_map(text).collect()
}

/// The documents that a query may match. Words stand in its items behind what joins them, so that it is read from its end.
fn matching(query: &TsQuery) -> Wanted {
    let mut operands: Vec<Wanted> = Vec::new();
    for item in query.items().iter().rev() {
        let operator = match item {
            QueryItem::Operand(operand) => {
                let lexeme = operand.lexeme.as_bytes().to_vec();
                operands.push(if operand.is_prefix { Wanted::ByPrefix(lexeme) } else { Wanted::By(lexeme) });
                continue;
            }
            QueryItem::Operator { operator, .. } => operator,
        };
        let Some(right) = operands.pop() else { return Wanted::All };
        if *operator == Operator::Not {
            operands.push(Wanted::All);
            continue;
        }
        let Some(left) = operands.pop() else { return Wanted::All };
        // A chain of one operator is one list: it nests no deeper than what is written to the right.
        operands.push(match (operator, left) {
            (Operator::Or, Wanted::Any(mut parts)) => {
                parts.push(right);
                Wanted::Any(parts)
            }
            (Operator::Or, left) => Wanted::Any(vec![left, right]),
            (_, Wanted::Every(mut parts)) => {
                parts.push(right);
                Wanted::Every(parts)
            }
            (_, left) => Wanted::Every(vec![left, right]),
        });
    }
    // One without words matches nothing.
    operands.pop().unwrap_or(Wanted::Any(Vec::new()))
}

/// Every name and scalar anywhere in a document. As deep as documents nest, which is bounded where they are read.
fn document_elements(document: &Jsonb, as_name: bool, found: &mut BTreeSet<Vec<u8>>) {
    match document {
        Jsonb::Object(pairs) => {
            for (name, value) in pairs.iter() {
                found.insert(of_name(name));
                document_elements(value, false, found);
            }
        }
        Jsonb::Array(values) => values.iter().for_each(|value| document_elements(value, true, found)),
        Jsonb::String(text) if as_name => _ = found.insert(of_name(text)),
        Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => {
            let mut bytes = vec![VALUE];
            key::encode(&mut bytes, &Datum::Jsonb(document.clone()));
            found.insert(bytes);
        }
    }
}

/// Every three characters that stand side by side, letters in lower case each by itself: so LIKE and ILIKE find the same. How
/// sigma is written where a word ends tells nothing.
fn trigrams(text: &str) -> BTreeSet<Vec<u8>> {
    let lower = text.chars().flat_map(char::to_lowercase);
    let lower: Vec<char> = lower.map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect();
    lower.windows(3).map(|three| three.iter().collect::<String>().into_bytes()).collect()
}

/// The parts of a pattern that stand in every text which is like it; none of one that is an error.
fn parts(pattern: &str) -> Option<Vec<String>> {
    let (mut parts, mut part, mut characters) = (Vec::new(), String::new(), pattern.chars());
    while let Some(character) = characters.next() {
        match character {
            '%' | '_' => parts.push(std::mem::take(&mut part)),
            '\\' => part.push(characters.next()?),
            other => part.push(other),
        }
    }
    parts.push(part);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::{Asked, Wanted, elements};
    use repr::Datum;
    use std::collections::BTreeSet;

    fn holds(wanted: &Wanted, elements: &BTreeSet<Vec<u8>>) -> bool {
        match wanted {
            Wanted::All => true,
            Wanted::By(element) => elements.contains(element),
            Wanted::ByPrefix(start) => elements.iter().any(|element| element.starts_with(start)),
            Wanted::Every(parts) => parts.iter().all(|part| holds(part, elements)),
            Wanted::Any(parts) => parts.iter().any(|part| holds(part, elements)),
        }
    }

    #[test]
    fn an_hstore_stands_by_its_keys_and_by_what_they_have() {
        let value = |text: &str| {
            let scalar = repr::ScalarType::Hstore;
            repr::text::parse(&scalar, -1, text, &repr::text::TextContext::default()).expect(text)
        };
        let stands = elements(&value("a=>1, ab=>NULL, b=>\"\""));
        for (asked, constant, expected) in [
            (Asked::Contains, value("a=>1, b=>\"\""), true),
            (Asked::Contains, value("ab=>NULL"), true),
            (Asked::Contains, value("b=>NULL"), false),
            (Asked::Contains, value("a=>b1"), false),
            (Asked::Contains, value(""), true),
            (Asked::Exists, Datum::Text("ab".into()), true),
            (Asked::Exists, Datum::Text("1".into()), false),
        ] {
            assert_eq!(holds(&asked.wanted(&constant), &stands), expected, "{asked:?} {constant:?}");
        }
    }

    #[test]
    fn a_text_stands_by_what_patterns_ask_for() {
        let text = |text: &str| Datum::Text(text.into());
        for (pattern, value, expected) in [
            ("%wood%", "Dogwood", true),
            ("%wo_d%", "Dogwood", true),
            ("%WOOD", "Dogwood", true),
            ("%wool%", "Dogwood", false),
            ("a\\%b%c", "a%b and c", true),
            ("_", "anything", true),
            ("%οδος%", "ΟΔΟΣ", true),
        ] {
            assert_eq!(
                holds(&Asked::Like.wanted(&text(pattern)), &elements(&text(value))),
                expected,
                "{value} ~~ {pattern}"
            );
        }
    }
}
