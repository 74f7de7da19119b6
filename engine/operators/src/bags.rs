//! Bags: rows at hand, UNION ALL, and what EXCEPT and INTERSECT are made of: negation and threshold.
//!
//! A negated bag stands below a threshold, with nothing but unions, filters and projections between: so its rows are never
//! seen by themselves, and once they are only counted.

use crate::context::{Bundle, Context, RenderTime, both};
use crate::groups::reduce;
use crate::once::{OneShot, PackedPull, Pull};
use arrangements::arrangement::{FlatBytes, arrange, metered};
use differential_dataflow::AsCollection;
use repr::{Datum, Row, key, poll};
use state::SqlError;
use state::answer::Stored;
use state::interrupt::Ticker;
use std::collections::BTreeMap;
use std::collections::btree_map::{IntoIter, IntoValues};
use std::sync::Arc;
use timely::dataflow::operators::ToStream;

/// Rows at hand, once.
pub struct ConstantRows<'p> {
    rows: std::slice::Iter<'p, Row>,
}

impl<'p> ConstantRows<'p> {
    /// The rows of a plan.
    pub fn new(rows: &'p [Row]) -> Self {
        ConstantRows { rows: rows.iter() }
    }
}

impl Pull for ConstantRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let Some(next) = self.rows.next() else { return Ok(false) };
        poll::step()?;
        next.unpack_into(row);
        Ok(true)
    }
}

/// The rows of a local that several read, once.
pub struct LocalRows {
    rows: Arc<Vec<Row>>,
    position: usize,
}

impl LocalRows {
    /// From the first one on.
    pub fn new(rows: &Arc<Vec<Row>>) -> Self {
        LocalRows { rows: rows.clone(), position: 0 }
    }
}

impl Pull for LocalRows {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let found = self.advance()?;
        if found {
            self.rows[self.position - 1].unpack_into(row);
        }
        Ok(found)
    }

    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        Some(self)
    }
}

impl PackedPull for LocalRows {
    fn advance(&mut self) -> Result<bool, SqlError> {
        let found = self.position < self.rows.len();
        self.position += usize::from(found);
        Ok(found)
    }

    fn row(&mut self) -> Stored<'_> {
        Stored::whole(self.rows[self.position - 1].bytes())
    }
}

/// One input after another, once.
pub struct UnionRows<'p> {
    inputs: std::vec::IntoIter<Box<dyn Pull + 'p>>,
    current: Option<Box<dyn Pull + 'p>>,
}

impl<'p> UnionRows<'p> {
    /// Of these inputs.
    pub fn new(inputs: Vec<Box<dyn Pull + 'p>>) -> Self {
        UnionRows { inputs: inputs.into_iter(), current: None }
    }
}

impl Pull for UnionRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            if let Some(current) = &mut self.current
                && current.next(row)?
            {
                return Ok(true);
            }
            self.current = self.inputs.next();
            if self.current.is_none() {
                return Ok(false);
            }
        }
    }
}

/// An input of a threshold.
pub struct Signed<'p> {
    /// Its rows.
    pub rows: Box<dyn Pull + 'p>,
    /// Whether they are taken away.
    pub negated: bool,
}

/// Rows with a positive total, once: in the order of their keys.
pub struct ThresholdRows<'p> {
    inputs: Vec<Signed<'p>>,
    totals: Option<IntoValues<Vec<u8>, Total>>,
    /// How many rows of the key at hand are still to go out.
    left: usize,
    /// Its representations, by their bytes.
    given: IntoIter<Row, usize>,
    /// The one at hand, and how many copies of it are still to go out.
    current: Option<(Row, usize)>,
    shot: OneShot,
}

/// What the rows of one key come to.
#[derive(Default)]
struct Total {
    copies: isize,
    /// How often each representation was given.
    given: BTreeMap<Row, usize>,
}

impl<'p> ThresholdRows<'p> {
    /// Of these inputs.
    pub fn new(inputs: Vec<Signed<'p>>, shot: &OneShot) -> Self {
        ThresholdRows {
            inputs,
            totals: None,
            left: 0,
            given: BTreeMap::new().into_iter(),
            current: None,
            shot: shot.clone(),
        }
    }

    fn count(&mut self) -> Result<BTreeMap<Vec<u8>, Total>, SqlError> {
        let mut totals: BTreeMap<Vec<u8>, Total> = BTreeMap::new();
        let (mut ticker, mut row) = (Ticker::default(), Vec::new());
        for Signed { rows, negated } in &mut self.inputs {
            while rows.next(&mut row)? {
                ticker.tick(&self.shot.watch)?;
                let total = totals.entry(key::encode_all(&row)).or_default();
                if *negated {
                    total.copies -= 1;
                    continue;
                }
                total.copies += 1;
                let packed = Row::pack(&row);
                poll::bytes(packed.bytes().len())?;
                *total.given.entry(packed).or_default() += 1;
            }
        }
        Ok(totals)
    }
}

impl Iterator for ThresholdRows<'_> {
    type Item = Result<Row, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.totals.is_none() {
            match self.count() {
                Ok(totals) => self.totals = Some(totals.into_values()),
                Err(error) => return Some(Err(error)),
            }
        }
        loop {
            if let Some((row, copies)) = &mut self.current
                && *copies > 0
            {
                *copies -= 1;
                return Some(Ok(row.clone()));
            }
            self.current = self.given.next().map(|(row, copies)| (row, copies.min(self.left)));
            match &self.current {
                Some((_, taken)) => self.left -= taken,
                None => {
                    let total = self.totals.as_mut()?.next()?;
                    self.left = usize::try_from(total.copies).unwrap_or(0);
                    self.given = total.given.into_iter();
                }
            }
        }
    }
}

/// Rows known while rendering.
pub fn constant<'s, T: RenderTime>(context: &Context<'s, T>, rows: Vec<Row>) -> Bundle<'s, T> {
    let updates = rows.into_iter().map(|row| (row, T::minimum(), 1));
    Bundle::infallible(updates.to_stream(context.scope).as_collection())
}

/// UNION ALL.
pub fn union<'s, T: RenderTime>(context: &Context<'s, T>, inputs: Vec<Bundle<'s, T>>) -> Bundle<'s, T> {
    let mut errs = None;
    let mut oks = Vec::with_capacity(inputs.len());
    for input in inputs {
        oks.push(input.oks);
        errs = both(errs, input.errs);
    }
    match oks.pop() {
        None => constant(context, Vec::new()),
        Some(first) => Bundle { oks: first.concatenate(oks), errs },
    }
}

/// Every multiplicity times -1. Errors stay errors.
pub fn negate<T: RenderTime>(input: Bundle<'_, T>) -> Bundle<'_, T> {
    Bundle { oks: input.oks.negate(), errs: input.errs }
}

/// Rows with a positive total, by that total; of SQL-equal representations the first ones by bytes.
pub fn threshold<'s, T: RenderTime>(context: &Context<'s, T>, input: Bundle<'s, T>) -> Bundle<'s, T> {
    let meter = context.meter.clone();
    let mut datums = Vec::new();
    let keyed = input.oks.map(move |row| {
        row.unpack_into(&mut datums);
        let key = key::encode_all(&datums);
        // Nobody's row is kept until the next one comes.
        datums.clear();
        metered(&meter, key, row)
    });
    let mut bundle = reduce(arrange(&context.meter, keyed, "ArrangeThreshold"), "Threshold", |_key, rows, output| {
        let mut total: isize = rows.iter().map(|(_, diff)| diff).sum();
        for (row, diff) in rows {
            if total > 0 && *diff > 0 {
                let taken = total.min(*diff);
                output.push((Ok(Row::copy_from(row.0)), taken));
                total -= taken;
            }
        }
    });
    bundle.errs = input.errs;
    bundle
}
