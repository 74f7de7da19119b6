//! Documents made of documents: joined, stripped, weighed, without some of their lexemes.

use super::super::{PLACE_MAX, POSITIONS_MAX};
use super::{Builder, Position, TsVector};
use crate::{ValueError, poll};
use std::cmp::Ordering;

impl TsVector {
    /// One behind the other: the second's places go on behind the first's last one.
    ///
    /// # Errors
    /// 54000 if both are too large together.
    pub fn concat(&self, other: &TsVector) -> Result<TsVector, ValueError> {
        let last = self.0.positions.iter().map(|position| position.place()).max().unwrap_or(0);
        let (mut one, mut two) = (self.iter().peekable(), other.iter().peekable());
        let mut built = Builder::default();
        let mut joined = Vec::new();
        loop {
            poll::step()?;
            let order = match (one.peek(), two.peek()) {
                (Some((first, _)), Some((second, _))) => first.as_bytes().cmp(second.as_bytes()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return built.finish(),
            };
            joined.clear();
            let first = one.next_if(|_| order.is_le());
            let second = two.next_if(|_| order.is_ge());
            joined.extend(first.iter().flat_map(|(_, positions)| *positions));
            for position in second.iter().flat_map(|(_, positions)| *positions) {
                let is_full = joined.last().is_some_and(|last: &Position| last.place() == PLACE_MAX);
                if joined.len() >= POSITIONS_MAX || is_full {
                    break;
                }
                joined.push(Position::new(position.place() + last, position.weight()));
            }
            if let Some((lexeme, _)) = first.or(second) {
                built.push(lexeme, &joined);
            }
        }
    }

    /// Without positions.
    ///
    /// # Errors
    /// As for all that is made.
    pub fn stripped(&self) -> Result<TsVector, ValueError> {
        self.changed(|lexeme, _, built| built.push(lexeme, &[]))
    }

    /// With a weight for all positions, of all lexemes or of those, which are sorted.
    ///
    /// # Errors
    /// As for all that is made.
    pub fn weighed(&self, weight: u8, only: Option<&[&str]>) -> Result<TsVector, ValueError> {
        self.changed(|lexeme, positions, built| {
            if only.is_none_or(|only| only.binary_search(&lexeme).is_ok()) {
                let weighed: Vec<_> =
                    positions.iter().map(|position| Position::new(position.place(), weight)).collect();
                built.push(lexeme, &weighed);
            } else {
                built.push(lexeme, positions);
            }
        })
    }

    /// Only the positions with one of these weights, and lexemes that have some.
    ///
    /// # Errors
    /// As for all that is made.
    pub fn filtered(&self, weights: u8) -> Result<TsVector, ValueError> {
        self.changed(|lexeme, positions, built| {
            let kept: Vec<_> =
                positions.iter().copied().filter(|position| weights & 1 << position.weight() != 0).collect();
            if !kept.is_empty() {
                built.push(lexeme, &kept);
            }
        })
    }

    /// Without these lexemes, which are sorted.
    ///
    /// # Errors
    /// As for all that is made.
    pub fn without(&self, lexemes: &[&str]) -> Result<TsVector, ValueError> {
        self.changed(|lexeme, positions, built| {
            if lexemes.binary_search(&lexeme).is_err() {
                built.push(lexeme, positions);
            }
        })
    }

    fn changed(&self, mut change: impl FnMut(&str, &[Position], &mut Builder)) -> Result<TsVector, ValueError> {
        let mut built = Builder::default();
        for (lexeme, positions) in self.iter() {
            poll::step()?;
            change(lexeme, positions, &mut built);
        }
        built.finish()
    }
}
