//! Whether a document is what a query asks for.
//!
//! Above phrases it only matters whether lexemes are there; within them, where. A part of a phrase is found at places, or
//! everywhere but at places; a document that has lexemes without places has no phrases.

use super::{Operand, Operator, QueryItem, TsQuery};
use crate::text_search::{PLACE_MAX, Position, TsVector};
use crate::{ValueError, poll};

/// What is known of where a lexeme stands.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// It is not there.
    Nowhere,
    /// It is there, but not known where.
    Somewhere,
    /// There, ascending; some.
    At(Vec<u16>),
}

/// What queries are asked of.
pub trait Document {
    /// Whether the operand, which stands there in the query, is found.
    fn has(&self, at: usize, operand: &Operand) -> bool;
    /// Where it is found.
    fn places(&self, at: usize, operand: &Operand) -> Found;
}

impl Document for TsVector {
    fn has(&self, _: usize, operand: &Operand) -> bool {
        self.found(&operand.lexeme, operand.is_prefix).any(|index| {
            let positions = self.positions(index);
            // Without positions there are no weights, and any is right.
            operand.weights == 0 || positions.is_empty() || positions.iter().any(|position| operand.allows(*position))
        })
    }

    fn places(&self, _: usize, operand: &Operand) -> Found {
        let mut places = Vec::new();
        for index in self.found(&operand.lexeme, operand.is_prefix) {
            let positions = self.positions(index);
            if positions.is_empty() {
                return Found::Somewhere;
            }
            places.extend(
                positions.iter().filter(|position| operand.allows(**position)).map(|position| position.place()),
            );
        }
        if operand.is_prefix {
            places.sort_unstable();
            places.dedup();
        }
        if places.is_empty() { Found::Nowhere } else { Found::At(places) }
    }
}

impl Operand {
    /// Whether a position has one of its weights.
    pub fn allows(&self, position: Position) -> bool {
        self.weights == 0 || self.weights & 1 << position.weight() != 0
    }
}

/// What was found of a part of a phrase.
enum Match {
    No,
    /// Some lexeme has no places.
    Unknown,
    Yes(Places),
}

/// Where a part of a phrase ends.
struct Places {
    places: Vec<u16>,
    /// How many words it has, less one.
    width: i32,
    /// Whether it is everywhere but there.
    is_negated: bool,
}

impl TsQuery {
    /// Whether it finds the document.
    ///
    /// # Errors
    /// Why the statement ends.
    pub fn matches(&self, document: &dyn Document) -> Result<bool, ValueError> {
        if self.is_empty() { Ok(false) } else { self.holds(0, document) }
    }

    fn holds(&self, mut at: usize, document: &dyn Document) -> Result<bool, ValueError> {
        let mut outer = Vec::new();
        let mut holds = loop {
            poll::step()?;
            match &self.items()[at] {
                QueryItem::Operand(operand) => break document.has(at, operand),
                QueryItem::Operator { operator: Operator::Not, .. } => break !self.holds(at + 1, document)?,
                QueryItem::Operator { operator: Operator::Phrase(_), .. } => {
                    break matches!(self.phrase(at, document)?, Match::Yes(_));
                }
                QueryItem::Operator { operator, left } => {
                    outer.push((*operator == Operator::And, at + 1));
                    at += *left as usize;
                }
            }
        };
        while let Some((is_and, right)) = outer.pop() {
            if holds == is_and {
                holds = self.holds(right, document)?;
            }
        }
        Ok(holds)
    }

    fn phrase(&self, mut at: usize, document: &dyn Document) -> Result<Match, ValueError> {
        let mut outer = Vec::new();
        let mut found = loop {
            poll::step()?;
            match &self.items()[at] {
                QueryItem::Operand(operand) => {
                    break match document.places(at, operand) {
                        Found::Nowhere => Match::No,
                        Found::Somewhere => Match::Unknown,
                        Found::At(places) => Match::Yes(Places { places, width: 0, is_negated: false }),
                    };
                }
                QueryItem::Operator { operator: Operator::Not, .. } => break negated(self.phrase(at + 1, document)?),
                QueryItem::Operator { operator, left } => {
                    outer.push((*operator, at + 1));
                    at += *left as usize;
                }
            }
        };
        while let Some((operator, right)) = outer.pop() {
            if matches!(found, Match::No) && operator != Operator::Or {
                continue;
            }
            let right = self.phrase(right, document)?;
            found = joined(operator, found, right)?;
        }
        Ok(found)
    }
}

fn negated(found: Match) -> Match {
    match found {
        Match::No => Match::Yes(Places { places: Vec::new(), width: 0, is_negated: true }),
        Match::Unknown => Match::Unknown,
        Match::Yes(found) if found.places.is_empty() => Match::No,
        Match::Yes(found) => Match::Yes(Places { is_negated: !found.is_negated, ..found }),
    }
}

/// Which places are kept: of the left alone, of the right alone, of both.
type KeptSides = [bool; 3];

fn joined(operator: Operator, left: Match, right: Match) -> Result<Match, ValueError> {
    let is_or = operator == Operator::Or;
    if matches!(right, Match::No) && (!is_or || matches!(left, Match::No)) {
        return Ok(Match::No);
    }
    let nowhere = || Places { places: Vec::new(), width: 0, is_negated: false };
    let (left, right) = match (left, right) {
        (Match::Unknown, _) | (_, Match::Unknown) => return Ok(Match::Unknown),
        (Match::Yes(left), Match::Yes(right)) => (left, right),
        (Match::No, Match::Yes(right)) => (nowhere(), right),
        (Match::Yes(left), Match::No) => (left, nowhere()),
        (Match::No, Match::No) => return Ok(Match::No),
    };
    let (left_offset, right_offset, width) = match operator {
        Operator::Phrase(distance) => {
            let distance = i32::from(distance);
            (distance + right.width, 0, distance + left.width + right.width)
        }
        Operator::Not | Operator::And | Operator::Or => {
            let width = left.width.max(right.width);
            (width - left.width, width - right.width, width)
        }
    };
    // Of what is negated the opposite is made of the opposites.
    let (kept, is_negated): (KeptSides, bool) = match (is_or, left.is_negated, right.is_negated) {
        (false, true, true) => ([true, true, true], true),
        (false, true, false) => ([false, true, false], false),
        (false, false, true) => ([true, false, false], false),
        (false, false, false) => ([false, false, true], false),
        (true, true, true) => ([false, false, true], true),
        (true, true, false) => ([true, false, false], true),
        (true, false, true) => ([false, true, false], true),
        (true, false, false) => ([true, true, true], false),
    };
    let places = merged((&left.places, left_offset), (&right.places, right_offset), kept)?;
    let is_found = is_negated || !places.is_empty();
    Ok(if is_found { Match::Yes(Places { places, width, is_negated }) } else { Match::No })
}

fn merged(left: (&[u16], i32), right: (&[u16], i32), kept: KeptSides) -> Result<Vec<u16>, ValueError> {
    poll::bytes(2 * (left.0.len() + right.0.len()))?;
    let place = |(places, offset): (&[u16], i32), index: usize| {
        places.get(index).map(|place| i32::from(place & PLACE_MAX) + offset)
    };
    let (mut places, mut left_at, mut right_at) = (Vec::new(), 0, 0);
    loop {
        let (kind, found) = match (place(left, left_at), place(right, right_at)) {
            (Some(one), Some(other)) if one == other => (2, one),
            (Some(one), Some(other)) if one > other => (1, other),
            (Some(one), _) => (0, one),
            (None, Some(other)) => (1, other),
            (None, None) => return Ok(places),
        };
        left_at += usize::from(kind != 1);
        right_at += usize::from(kind != 0);
        if kept[kind] && found > 0 {
            places.push(found as u16);
        }
    }
}
