//! mode and percentiles: WITHIN GROUP (ORDER BY …). The last argument is the sort expression's value; rows come sorted.

use super::{AggregateDefinition, Rows, plain};
use crate::scalar::func::arguments::{array, float, vector};
use repr::{Datum, Interval, ValueError};

type Answer = Result<Datum, ValueError>;

/// The sorted values with multiplicities, and the direct argument.
struct Sorted {
    values: Vec<(Datum, u64)>,
    count: u64,
    fraction: Datum,
}

fn sorted(rows: Rows<'_, '_>) -> Sorted {
    let mut sorted = Sorted { values: Vec::new(), count: 0, fraction: Datum::Null };
    for (args, times) in rows {
        if let [fraction, value] = args {
            sorted.fraction = fraction.clone();
            sorted.values.push((value.clone(), times));
            sorted.count += times;
        }
    }
    sorted
}

impl Sorted {
    /// The value of the row with that number, from 0.
    fn row(&self, mut number: u64) -> &Datum {
        for (value, times) in &self.values {
            if number < *times {
                return value;
            }
            number -= times;
        }
        &Datum::Null
    }

    /// Applies `pick` to the fraction, or to each of an array of fractions.
    fn each(&self, pick: impl Fn(&Sorted, f64) -> Answer) -> Answer {
        let one = |fraction: &Datum| {
            if fraction.is_null() || self.count == 0 {
                return Ok(Datum::Null);
            }
            let fraction = float(fraction)?;
            if !(0.0..=1.0).contains(&fraction) {
                return Err(ValueError::new("22003", format!("percentile value {fraction} is not between 0 and 1")));
            }
            pick(self, fraction)
        };
        match &self.fraction {
            Datum::Array(_) => vector(array(&self.fraction)?.elements.iter().map(one).collect::<Result<_, _>>()?),
            fraction => one(fraction),
        }
    }
}

fn discrete(sorted: &Sorted, fraction: f64) -> Answer {
    let number = (fraction * sorted.count as f64).ceil() as u64;
    Ok(sorted.row(number.saturating_sub(1)).clone())
}

fn continuous(sorted: &Sorted, fraction: f64) -> Answer {
    let place = fraction * (sorted.count - 1) as f64;
    let (low, high) = (sorted.row(place.floor() as u64), sorted.row(place.ceil() as u64));
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
        (low, _) => Ok(low.clone()),
    }
}

fn mode(rows: Rows<'_, '_>) -> Answer {
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
    Ok(best.0)
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    plain("mode(anyelement) anyelement", |_, rows, _| mode(rows)).ordered(),
    plain("percentile_disc(float8, anyelement) anyelement", |_, rows, _| sorted(rows).each(discrete)).ordered(),
    plain("percentile_disc(float8[], anyelement) anyarray", |_, rows, _| sorted(rows).each(discrete)).ordered(),
    plain("percentile_cont(float8, float8) float8", |_, rows, _| sorted(rows).each(continuous)).ordered(),
    plain("percentile_cont(float8[], float8) float8[]", |_, rows, _| sorted(rows).each(continuous)).ordered(),
    plain("percentile_cont(float8, interval) interval", |_, rows, _| sorted(rows).each(continuous)).ordered(),
    plain("percentile_cont(float8[], interval) interval[]", |_, rows, _| sorted(rows).each(continuous)).ordered(),
];
