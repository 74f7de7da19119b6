//! Map, filter, project.
//!
//! ```text
//! once    leaf ─▶ Mfp without maps ─▶ the answer     the filter's columns are unpacked, the others stay as they are
//! kept    a row is unpacked once into a reused buffer, evaluated there, and packed once
//! ```

use crate::context::{Bundle, Context, RenderTime, split_operator};
use crate::in_list::InLists;
use crate::once::{OneShot, PackedPull, Pull};
use crate::plain_filter::PlainFilter;
use crate::standing_columns::StandingColumns;
use planner::scalar::{EvalContext, Mfp};
use repr::{Datum, Row};
use state::SqlError;
use state::answer::Stored;
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
    /// How packed rows are read, once it was asked whether they come so.
    narrowing: Option<Option<Narrowing>>,
    eval: EvalContext,
    watch: Arc<Watch>,
    ticker: Ticker,
}

/// How a packed row is filtered, and read.
struct Narrowing {
    /// Where the output's columns stand; none if some are computed.
    places: Option<Vec<usize>>,
    /// The columns that the predicates look at, and where they stand.
    read: StandingColumns,
    /// What is read of a row that passes: as an input of what is computed, or as it comes out.
    read_passed: StandingColumns,
    /// The columns that were read for the predicates, the others being NULL.
    row: Vec<Datum>,
    /// How many rows came until what is plain was looked for.
    rows: usize,
    plain: Option<Plainly>,
}

/// Of an `Mfp`, what is decided before any value is made, and what is left to do then.
struct Plainly {
    filter: PlainFilter,
    left: Mfp,
    in_lists: InLists,
    /// As that of `Narrowing`, of the predicates that are left.
    read: StandingColumns,
}

/// For so few rows it is not worth looking for what is plain.
const ROWS_FEW: usize = 8;

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

    /// Whether rows come packed. If so, they are asked for so from now on.
    fn is_packed(&mut self) -> bool {
        if self.narrowing.is_none() {
            self.narrowing = Some(self.narrow());
        }
        matches!(self.narrowing, Some(Some(_)))
    }

    fn narrow(&mut self) -> Option<Narrowing> {
        let mfp = self.mfp;
        let stand = self.input.packed()?.places();
        let place = |column: usize| stand.map_or(column, |stand| stand[column]);
        let is_computed = !mfp.map.is_empty();
        let passed: Vec<(usize, usize)> = if is_computed {
            let of_input = mfp.columns().into_iter().filter(|column| *column < mfp.input_arity);
            of_input.map(|column| (column, place(column))).collect()
        } else {
            mfp.project.iter().enumerate().map(|(output, column)| (output, place(*column))).collect()
        };
        Some(Narrowing {
            places: (!is_computed).then(|| mfp.project.iter().map(|column| place(*column)).collect()),
            read: looked_at(mfp, &place),
            read_passed: StandingColumns::of(passed),
            row: vec![Datum::Null; mfp.input_arity],
            rows: 0,
            plain: None,
        })
    }

    /// Goes to the next packed row that passes what can be asked of it before anything is computed; whether the plain conditions
    /// have decided that, so that what they leave is all that is left.
    fn advance_packed(&mut self) -> Result<Option<bool>, SqlError> {
        let (Some(input), Some(Some(narrowing))) = (self.input.packed(), &mut self.narrowing) else { return Ok(None) };
        while input.advance()? {
            if narrowing.rows <= ROWS_FEW && !self.mfp.filter.is_empty() {
                if narrowing.rows == ROWS_FEW {
                    narrowing.plain = Plainly::of(self.mfp, input.places(), &self.eval);
                }
                narrowing.rows += 1;
            }
            let stored = input.row();
            let decided = narrowing.plain.as_ref().map(|plain| (plain.filter.decide(stored), plain));
            let (mfp, in_lists, read) = match decided {
                Some((Some(false), _)) => {
                    // A filter that nothing passes must still hear of a cancel.
                    self.ticker.tick(&self.watch)?;
                    continue;
                }
                Some((Some(true), plain)) => (&plain.left, &plain.in_lists, &plain.read),
                Some((None, _)) | None => (self.mfp, &self.in_lists, &narrowing.read),
            };
            let is_decided = matches!(decided, Some((Some(true), _)));
            if narrowing.places.is_none() || mfp.filter.is_empty() {
                return Ok(Some(is_decided));
            }
            read.read(stored, &mut narrowing.row);
            if let Some(rest) = in_lists.after(mfp, &narrowing.row, &self.eval)
                && rest.passes(&narrowing.row, &self.eval)?
            {
                return Ok(Some(is_decided));
            }
            self.ticker.tick(&self.watch)?;
        }
        Ok(None)
    }

    /// The next row, of packed ones.
    fn next_of_packed(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while let Some(is_decided) = self.advance_packed()? {
            let (Some(input), Some(Some(narrowing))) = (self.input.packed(), &self.narrowing) else { break };
            row.clear();
            let width = if narrowing.places.is_some() { self.mfp.project.len() } else { self.mfp.input_arity };
            row.resize(width, Datum::Null);
            narrowing.read_passed.read(input.row(), row);
            if narrowing.places.is_some() {
                return Ok(true);
            }
            let (mfp, in_lists) = match narrowing.plain.as_ref().filter(|_| is_decided) {
                Some(plain) => (&plain.left, &plain.in_lists),
                None => (self.mfp, &self.in_lists),
            };
            if let Some(mfp) = in_lists.after(mfp, row, &self.eval)
                && mfp.evaluate(row, &self.eval)?
            {
                return Ok(true);
            }
            self.ticker.tick(&self.watch)?;
        }
        Ok(false)
    }
}

impl Plainly {
    fn of(mfp: &Mfp, stand: Option<&[usize]>, eval: &EvalContext) -> Option<Plainly> {
        let place = |column: usize| stand.map_or(column, |stand| stand[column]);
        let (filter, left) = PlainFilter::of(mfp, &place, eval)?;
        Some(Plainly { filter, in_lists: InLists::of(&left, eval), read: looked_at(&left, &place), left })
    }
}

/// The input's columns that predicates look at, with where they stand.
fn looked_at(mfp: &Mfp, place: &impl Fn(usize) -> usize) -> StandingColumns {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (_, predicate) in &mfp.filter {
        predicate.each_column(&mut |column| {
            if column < mfp.input_arity {
                found.push((column, place(column)));
            }
        });
    }
    StandingColumns::of(found)
}

impl Pull for MfpRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        if self.is_packed() {
            return self.next_of_packed(row);
        }
        while self.input.next(row)? {
            if let Some(mfp) = self.in_lists.after(self.mfp, row, &self.eval)
                && mfp.evaluate(row, &self.eval)?
            {
                return Ok(true);
            }
            self.ticker.tick(&self.watch)?;
        }
        Ok(false)
    }

    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        if self.mfp.map.is_empty() && self.is_packed() { Some(self) } else { None }
    }
}

impl PackedPull for MfpRows<'_> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        Ok(self.advance_packed()?.is_some())
    }

    fn row(&mut self) -> Stored<'_> {
        self.input.packed().expect("asked for before the first row").row()
    }

    fn places(&self) -> Option<&[usize]> {
        self.narrowing.as_ref().and_then(|narrowing| narrowing.as_ref()?.places.as_deref())
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
