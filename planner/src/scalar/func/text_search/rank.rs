//! How well a document answers a query: `ts_rank` by how often lexemes are there, `ts_rank_cd` by how close together.
//!
//! Single and double precision are mixed as in PostgreSQL, so that ranks are the same to the last digit.

mod cover;
mod sort;

pub(super) use cover::cover_density;

use repr::text_search::{Operand, Operator, PLACE_MAX, Position, QueryItem};
use repr::{Array, Datum, TsQuery, TsVector, ValueError, poll};
use std::ops::Range;

/// What each weight counts, from D to A.
pub(super) type Weights = [f32; 4];

const WEIGHTS: Weights = [0.1, 0.2, 0.4, 1.0];

/// What a rank is divided by: a bit each.
const BY_LOG_LENGTH: i32 = 1;
const BY_LENGTH: i32 = 2;
const BY_DISTANCE: i32 = 4;
const BY_LEXEMES: i32 = 8;
const BY_LOG_LEXEMES: i32 = 16;
const BY_ITSELF: i32 = 32;

/// Weights as they are given, or the usual ones.
pub(super) fn weights(given: Option<&Array>) -> Result<Weights, ValueError> {
    let Some(given) = given else { return Ok(WEIGHTS) };
    if given.dimensions.len() != 1 {
        return Err(ValueError::new("2202E", "array of weight must be one-dimensional"));
    }
    if given.elements.len() < WEIGHTS.len() {
        return Err(ValueError::new("2202E", "array of weight is too short"));
    }
    if given.elements.iter().any(Datum::is_null) {
        return Err(ValueError::new("22004", "array of weight must not contain nulls"));
    }
    let mut weights = WEIGHTS;
    for (weight, element) in weights.iter_mut().zip(&given.elements) {
        if let Datum::Float4(value) = element
            && *value >= 0.0
        {
            *weight = *value;
        }
        if *weight > 1.0 {
            return Err(ValueError::new("22023", "weight out of range"));
        }
    }
    Ok(weights)
}

/// `ts_rank`
pub(super) fn frequency(weights: &Weights, vector: &TsVector, query: &TsQuery, method: i32) -> Result<f32, ValueError> {
    if vector.is_empty() || query.is_empty() {
        return Ok(0.0);
    }
    let joins = matches!(query.items()[0], QueryItem::Operator { operator: Operator::And | Operator::Phrase(_), .. });
    let operands = distinct(query)?;
    let mut rank = if joins && operands.len() > 1 {
        of_all(weights, vector, &operands)?
    } else {
        of_any(weights, vector, &operands)?
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    if method & BY_LOG_LENGTH != 0 {
        rank = (f64::from(rank) / (f64::from(length(vector) + 1).ln() / 2.0_f64.ln())) as f32;
    }
    if method & BY_LENGTH != 0 && length(vector) > 0 {
        rank /= length(vector) as f32;
    }
    if method & BY_LEXEMES != 0 {
        rank /= vector.len() as f32;
    }
    if method & BY_LOG_LEXEMES != 0 {
        rank = (f64::from(rank) / ((vector.len() as f64 + 1.0).ln() / 2.0_f64.ln())) as f32;
    }
    if method & BY_ITSELF != 0 {
        rank /= rank + 1.0;
    }
    Ok(rank)
}

/// The lexemes that are looked for, ascending, each once.
fn distinct(query: &TsQuery) -> Result<Vec<&Operand>, ValueError> {
    let mut operands: Vec<&Operand> = query.operands().map(|(_, operand)| operand).collect();
    sort::sort(&mut operands, &|a, b| a.lexeme.as_bytes().cmp(b.lexeme.as_bytes()))?;
    operands.dedup_by(|a, b| a.lexeme == b.lexeme);
    Ok(operands)
}

/// How many positions there are; a lexeme without any counts once.
fn length(vector: &TsVector) -> i32 {
    vector.iter().map(|(_, positions)| positions.len().max(1) as i32).sum()
}

fn found(vector: &TsVector, operand: &Operand) -> Range<usize> {
    vector.found(&operand.lexeme, operand.is_prefix)
}

/// A little for each place, less for each further one.
fn of_any(weights: &Weights, vector: &TsVector, operands: &[&Operand]) -> Result<f32, ValueError> {
    let nowhere = [Position::new(0, 0)];
    let mut rank = 0.0_f32;
    for operand in operands {
        for index in found(vector, operand) {
            poll::steps(1 + vector.positions(index).len() / 64)?;
            let positions = if vector.positions(index).is_empty() { &nowhere } else { vector.positions(index) };
            let (mut sum, mut most, mut most_at) = (0.0_f32, -1.0_f32, 0_i32);
            for (at, position) in (0_i32..).zip(positions) {
                let weight = weights[usize::from(position.weight())];
                sum += weight / ((at + 1) * (at + 1)) as f32;
                if weight > most {
                    (most, most_at) = (weight, at);
                }
            }
            let part = most + sum - most / ((most_at + 1) * (most_at + 1)) as f32;
            rank = (f64::from(rank) + f64::from(part) / 1.644_934_066_85) as f32;
        }
    }
    if !operands.is_empty() {
        rank /= operands.len() as f32;
    }
    Ok(rank)
}

/// The closer two lexemes are, the more.
fn of_all(weights: &Weights, vector: &TsVector, operands: &[&Operand]) -> Result<f32, ValueError> {
    let nowhere = [Position::new(PLACE_MAX, 0)];
    let mut rank = -1.0_f32;
    // Where each lexeme before was found; of a prefix, the last one of those that begin so.
    let mut before: Vec<(&[Position], bool)> = Vec::new();
    for operand in operands {
        let mut last = None;
        for index in found(vector, operand) {
            let known = !vector.positions(index).is_empty();
            let positions = if known { vector.positions(index) } else { &nowhere };
            for (others, others_known) in &before {
                poll::steps(1 + positions.len() * others.len() / 64)?;
                for (position, other) in positions.iter().flat_map(|one| others.iter().map(move |other| (one, other))) {
                    let apart = i32::from(position.place()) - i32::from(other.place());
                    let apart = match apart.abs() {
                        0 if known && *others_known => continue,
                        0 => i32::from(PLACE_MAX) + 1,
                        apart => apart,
                    };
                    let both = weights[usize::from(position.weight())] * weights[usize::from(other.weight())];
                    let closeness = f64::from(both * closeness(apart)).sqrt() as f32;
                    rank = if rank < 0.0 {
                        closeness
                    } else {
                        (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(closeness))) as f32
                    };
                }
            }
            last = Some((positions, known));
        }
        before.extend(last);
    }
    Ok(rank)
}

fn closeness(apart: i32) -> f32 {
    if apart > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * (f64::from(apart as f32) / 1.5 - 2.0).exp())) as f32
}
