//! mode and percentiles: WITHIN GROUP (ORDER BY …). The last argument is the sort expression's value; rows come sorted.

use super::{AggregateDefinition, AggregateKind, ArgumentRows, EvaluatePlaces, Places, definition, placed};
use crate::scalar::Answer;
use crate::scalar::func::arguments::float;
use repr::{Array, Datum, Interval, ValueError};
use std::sync::Arc;

/// Evaluates over rows that come in their order.
pub(super) fn placed_among(evaluate: EvaluatePlaces, rows: ArgumentRows<'_, '_>) -> Answer {
    let mut count = 0;
    // Each with the place of the row after it.
    let mut ends: Vec<(u64, &[Datum])> = Vec::new();
    for (args, times) in rows {
        count += times;
        ends.push((count, args));
    }
    let row = |place: u64| ends[ends.partition_point(|(end, _)| *end <= place)].1.to_vec();
    evaluate(&Places { count, row: &row })
}

impl Places<'_> {
    /// The value at a place.
    fn value(&self, place: u64) -> Datum {
        (self.row)(place).pop().unwrap_or(Datum::Null)
    }

    /// Applies `pick` to the fraction, or to each of an array of fractions.
    fn each(&self, pick: impl Fn(&Places<'_>, f64) -> Answer) -> Answer {
        // All rows name the same.
        let fraction = if self.count == 0 { Datum::Null } else { (self.row)(0).swap_remove(0) };
        let one = |fraction: &Datum| {
            if fraction.is_null() {
                return Ok(Datum::Null);
            }
            let fraction = float(fraction)?;
            if !(0.0..=1.0).contains(&fraction) {
                return Err(ValueError::new("22003", format!("percentile value {fraction} is not between 0 and 1")));
            }
            pick(self, fraction)
        };
        match &fraction {
            Datum::Array(fractions) => {
                let picked = fractions.elements.iter().map(one).collect::<Result<_, _>>()?;
                Ok(Datum::Array(Arc::new(Array::new(fractions.dimensions.clone(), picked))))
            }
            fraction => one(fraction),
        }
    }
}

fn discrete(places: &Places<'_>, fraction: f64) -> Answer {
    let number = (fraction * places.count as f64).ceil() as u64;
    Ok(places.value(number.saturating_sub(1)))
}

fn continuous(places: &Places<'_>, fraction: f64) -> Answer {
    let place = fraction * (places.count - 1) as f64;
    let (low, high) = (places.value(place.floor() as u64), places.value(place.ceil() as u64));
    let share = place - place.floor();
    match (low, high) {
        (Datum::Float8(low), Datum::Float8(high)) => Ok(Datum::Float8(low + share * (high - low))),
        (Datum::Interval(low), Datum::Interval(high)) => {
            let difference = Interval {
                months: high.months.wrapping_sub(low.months),
                days: high.days.wrapping_sub(low.days),
                micros: high.micros.wrapping_sub(low.micros),
            };
            let part = difference.mul(share)?;
            Ok(Datum::Interval(Interval {
                months: low.months.wrapping_add(part.months),
                days: low.days.wrapping_add(part.days),
                micros: low.micros.wrapping_add(part.micros),
            }))
        }
        (low, _) => Ok(low),
    }
}

/// The argument that comes most often, of rows in their order.
pub(super) fn mode(rows: ArgumentRows<'_, '_>) -> Datum {
    let mut best: (Datum, u64) = (Datum::Null, 0);
    let mut current: (Datum, u64) = (Datum::Null, 0);
    for (args, times) in rows {
        if current.1 > 0 && current.0.sql_eq(&args[0]) {
            current.1 += times;
        } else {
            current = (args[0].clone(), times);
        }
        if current.1 > best.1 {
            best = current.clone();
        }
    }
    best.0
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    definition("mode(anyelement) anyelement", AggregateKind::MostFrequent),
    placed("percentile_disc(float8, anyelement) anyelement", |places| places.each(discrete)),
    placed("percentile_disc(float8[], anyelement) anyarray", |places| places.each(discrete)),
    placed("percentile_cont(float8, float8) float8", |places| places.each(continuous)),
    placed("percentile_cont(float8[], float8) float8[]", |places| places.each(continuous)),
    placed("percentile_cont(float8, interval) interval", |places| places.each(continuous)),
    placed("percentile_cont(float8[], interval) interval[]", |places| places.each(continuous)),
];
