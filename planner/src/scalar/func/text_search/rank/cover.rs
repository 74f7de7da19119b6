//! Cover density: the stretches of a document that answer a query, each worth more the shorter it is.

use super::{BY_DISTANCE, BY_ITSELF, BY_LENGTH, BY_LEXEMES, BY_LOG_LENGTH, BY_LOG_LEXEMES, Weights, found, length};
use repr::text_search::query::{Document, Found};
use repr::text_search::{Operand, Position};
use repr::{TsQuery, TsVector, ValueError, poll};

/// A place of the document that has something to do with the query.
struct Spot {
    position: Position,
    /// The operands that are found there, by where they stand in the query.
    operands: Vec<usize>,
}

/// A stretch that answers the query, by numbers of its spots, the last one included.
struct Cover {
    first: usize,
    last: usize,
}

/// What has been seen of the document, going one way.
struct SeenWords {
    /// For each item of the query.
    places: Vec<Vec<u16>>,
    is_backward: bool,
}

impl SeenWords {
    fn nothing(query: &TsQuery, is_backward: bool) -> SeenWords {
        SeenWords { places: vec![Vec::new(); query.items().len()], is_backward }
    }

    fn see(&mut self, spot: &Spot) {
        for operand in &spot.operands {
            let places = &mut self.places[*operand];
            if places.last() != Some(&spot.position.place()) {
                places.push(spot.position.place());
            }
        }
    }
}

impl Document for SeenWords {
    fn has(&self, at: usize, _: &Operand) -> bool {
        !self.places[at].is_empty()
    }

    fn places(&self, at: usize, _: &Operand) -> Found {
        let mut places = self.places[at].clone();
        if self.is_backward {
            places.reverse();
        }
        if places.is_empty() { Found::Nowhere } else { Found::At(places) }
    }
}

/// `ts_rank_cd`
pub(in super::super) fn cover_density(
    weights: &Weights,
    vector: &TsVector,
    query: &TsQuery,
    method: i32,
) -> Result<f32, ValueError> {
    let spots = spots(vector, query)?;
    if spots.is_empty() {
        return Ok(0.0);
    }
    let worth = weights.map(|weight| 1.0 / f64::from(weight));
    let (mut rank, mut distances, mut covers, mut middle_before) = (0.0_f64, 0.0_f64, 0_i32, 0.0_f64);
    let mut from = 0;
    while let Some(cover) = next_cover(&spots, query, &mut from)? {
        let within = &spots[cover.first..=cover.last];
        let worths = within.iter().fold(0.0, |sum, spot| sum + worth[usize::from(spot.position.weight())]);
        let (first, last) = (place(&spots[cover.first]), place(&spots[cover.last]));
        let between = (cover.last - cover.first) as i32;
        // Where places end, what is between is guessed.
        let noise = match last - first - between {
            noise if noise < 0 => between / 2,
            noise => noise,
        };
        rank += within.len() as f64 / worths / f64::from(1 + noise);
        let middle = f64::from(last + first) / 2.0;
        if covers > 0 && middle > middle_before {
            distances += 1.0 / (middle - middle_before);
        }
        middle_before = middle;
        covers += 1;
    }
    if method & BY_LOG_LENGTH != 0 {
        rank /= f64::from(length(vector) + 1).ln();
    }
    if method & BY_LENGTH != 0 && length(vector) > 0 {
        rank /= f64::from(length(vector));
    }
    if method & BY_DISTANCE != 0 && covers > 0 && distances > 0.0 {
        rank /= f64::from(covers) / distances;
    }
    if method & BY_LEXEMES != 0 {
        rank /= vector.len() as f64;
    }
    if method & BY_LOG_LEXEMES != 0 {
        rank /= (vector.len() as f64 + 1.0).ln() / 2.0_f64.ln();
    }
    if method & BY_ITSELF != 0 {
        rank /= rank + 1.0;
    }
    Ok(rank as f32)
}

fn place(spot: &Spot) -> i32 {
    i32::from(spot.position.place())
}

/// The spots of a document, ascending.
fn spots(vector: &TsVector, query: &TsQuery) -> Result<Vec<Spot>, ValueError> {
    let mut single: Vec<(Position, usize, usize)> = Vec::new();
    for (at, operand) in query.operands() {
        for index in found(vector, operand) {
            poll::steps(1 + vector.positions(index).len() / 16)?;
            let allowed = vector.positions(index).iter().filter(|position| operand.allows(**position));
            single.extend(allowed.map(|position| (*position, index, at)));
        }
    }
    poll::sort_by(&mut single, |(a, a_lexeme, _), (b, b_lexeme, _)| {
        (a.place(), a.weight(), a_lexeme).cmp(&(b.place(), b.weight(), b_lexeme))
    })?;
    let mut spots: Vec<Spot> = Vec::new();
    let mut before = None;
    for (position, lexeme, at) in single {
        match spots.last_mut() {
            Some(spot) if before == Some((position, lexeme)) => spot.operands.push(at),
            _ => spots.push(Spot { position, operands: vec![at] }),
        }
        before = Some((position, lexeme));
    }
    Ok(spots)
}

/// The next stretch from a spot on; then the one behind where it begins is the next.
fn next_cover(spots: &[Spot], query: &TsQuery, from: &mut usize) -> Result<Option<Cover>, ValueError> {
    loop {
        let mut seen = SeenWords::nothing(query, false);
        let mut last = None;
        for (index, spot) in spots.iter().enumerate().skip(*from) {
            seen.see(spot);
            if query.matches(&seen)? {
                last = Some(index).filter(|_| place(spot) > 0);
                break;
            }
        }
        let Some(last) = last else { return Ok(None) };
        let mut seen = SeenWords::nothing(query, true);
        let mut first = None;
        for index in (*from..=last).rev() {
            seen.see(&spots[index]);
            if query.matches(&seen)? {
                first = Some(index);
                break;
            }
        }
        match first {
            Some(first) => {
                *from = first + 1;
                return Ok(Some(Cover { first, last }));
            }
            None => *from += 1,
        }
    }
}
