//! Map, filter, project.
//!
//! ```text
//! once    leaf ─▶ Mfp without maps ─▶ the answer     the filter's columns are unpacked, the others stay as they are
//! kept    a row is unpacked once into a reused buffer, evaluated there, and packed once
//! ```

use crate::context::{Bundle, Context, RenderTime, split_operator};
use crate::in_list::InLists;
use crate::once::{OneShot, PackedPull, Pull};
use planner::scalar::{EvalContext, Mfp};
use repr::row::Columns;
use repr::{Datum, Row};
use state::SqlError;
use state::answer::{Stored, datum};
use state::interrupt::{Ticker, Watch};
use std::sync::Arc;

/// `input` through an `Mfp`, once, unless that changes nothing.
pub fn through<'p>(input: Box<dyn Pull + 'p>, mfp: &'p Mfp, shot: &OneShot) -> Box<dyn Pull + 'p> {
    if mfp.is_identity() {
        return input;
    }
    Box::new(MfpRows::new(input, mfp, &shot.eval, &shot.watch))
}

/// Rows through an `Mfp`.
pub struct MfpRows<'p> {
    input: Box<dyn Pull + 'p>,
    in_lists: InLists,
    mfp: &'p Mfp,
    /// What passes packed rows on, if they are asked for so, and can be.
    narrowing: Option<Narrowing>,
    eval: EvalContext,
    watch: Arc<Watch>,
    ticker: Ticker,
}

/// A filter over packed rows.
struct Narrowing {
    /// Where the output's columns stand.
    places: Vec<usize>,
    /// The columns that the filter looks at, and where they stand.
    read: Vec<(usize, usize)>,
    /// These columns, the others being NULL.
    row: Vec<Datum>,
}

impl<'p> MfpRows<'p> {
    /// `input` through `mfp`.
    pub fn new(input: Box<dyn Pull + 'p>, mfp: &'p Mfp, eval: &EvalContext, watch: &Arc<Watch>) -> Self {
        MfpRows {
            input,
            in_lists: InLists::of(mfp, eval),
            mfp,
            narrowing: None,
            eval: eval.clone(),
            watch: watch.clone(),
            ticker: Ticker::default(),
        }
    }

    fn narrow(&mut self) -> Option<Narrowing> {
        if !self.mfp.map.is_empty() {
            return None;
        }
        let stand = self.input.packed()?.places();
        let place = |column: usize| stand.map_or(column, |stand| stand[column]);
        let mut read: Vec<(usize, usize)> = Vec::new();
        self.mfp.filter.iter().for_each(|(_, predicate)| {
            predicate.each_column(&mut |column| {
                if let Err(at) = read.binary_search_by_key(&column, |(other, _)| *other) {
                    read.insert(at, (column, place(column)));
                }
            });
        });
        Some(Narrowing {
            places: self.mfp.project.iter().map(|column| place(*column)).collect(),
            read,
            row: vec![Datum::Null; self.mfp.input_arity],
        })
    }
}

impl Pull for MfpRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while self.input.next(row)? {
            if let Some(mfp) = self.in_lists.after(self.mfp, row)
                && mfp.evaluate(row, &self.eval)?
            {
                return Ok(true);
            }
            // A filter that nothing passes must still hear of a cancel.
            self.ticker.tick(&self.watch)?;
        }
        Ok(false)
    }

    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        if self.narrowing.is_none() {
            self.narrowing = self.narrow();
        }
        if self.narrowing.is_some() { Some(self) } else { None }
    }
}

impl PackedPull for MfpRows<'_> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        let (Some(input), Some(narrowing)) = (self.input.packed(), &mut self.narrowing) else { return Ok(false) };
        while input.advance()? {
            if self.mfp.filter.is_empty() {
                return Ok(true);
            }
            let stored = input.row();
            let mut values = Columns::over(stored.bytes);
            for (column, place) in &narrowing.read {
                narrowing.row[*column] = datum(stored.value(&mut values, *place));
            }
            let row = narrowing.row.as_slice();
            if let Some(mfp) = self.in_lists.after(self.mfp, row)
                && mfp.passes(row, &self.eval)?
            {
                return Ok(true);
            }
            self.ticker.tick(&self.watch)?;
        }
        Ok(false)
    }

    fn row(&mut self) -> Stored<'_> {
        self.input.packed().expect("asked for before the first row").row()
    }

    fn places(&self) -> Option<&[usize]> {
        self.narrowing.as_ref().map(|narrowing| narrowing.places.as_slice())
    }
}

/// Renders an `Mfp`.
pub fn render<'s, T: RenderTime>(context: &Context<'s, T>, input: Bundle<'s, T>, mfp: &Mfp) -> Bundle<'s, T> {
    if mfp.is_identity() {
        return input;
    }
    let fallible = can_fail(mfp);
    let (mfp, eval, watch) = (mfp.clone(), context.eval.clone(), context.watch.clone());
    let mut ticker = Ticker::default();
    let mut datums = Vec::new();
    let split = split_operator(input.oks, "Mfp", move |updates, oks, errs| {
        let _joined = watch.join();
        for (row, time, diff) in updates.drain(..) {
            if ticker.stops(&watch) {
                return;
            }
            row.unpack_into(&mut datums);
            match mfp.evaluate(&mut datums, &eval) {
                Ok(true) => oks.push((Row::pack(&datums), time, diff)),
                Ok(false) => {}
                Err(error) => errs.push((error, time, diff)),
            }
        }
        // Nobody's row is kept until the next one comes.
        datums.clear();
    });
    if fallible { split.with_errs(input.errs) } else { Bundle { oks: split.oks, errs: input.errs } }
}

/// Whether evaluation can give an error at all: a projection cannot.
pub(crate) fn can_fail(mfp: &Mfp) -> bool {
    !(mfp.map.is_empty() && mfp.filter.is_empty())
}
