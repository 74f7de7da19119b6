//! Rows of chains as they stand packed: what comes from a leaf and leaves unchanged is never made of datums.
//!
//! ```text
//! leaf ─▶ Mfp without maps ─▶ the answer         the filter's columns are unpacked, the others stay as they are
//! ```
//!
//! Beside `stream`: an operator that can give its rows so says so by `Pull::packed`. Both ways give the same rows.

use crate::one_shot::members::Members;
use crate::one_shot::stream::Pull;
use planner::scalar::{EvalContext, Mfp, ScalarExpr};
use repr::row::Columns;
use repr::{Datum, Row};
use state::SqlError;
use state::answer::{Stored, datum};
use state::interrupt::{Ticker, Watch};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows one after another, packed.
pub trait PackedPull {
    /// Goes on to the next row; false at the end.
    fn advance(&mut self) -> Result<bool, SqlError>;
    /// The row that it stands on.
    fn row(&mut self) -> Stored<'_>;
    /// Where each column stands in the packed row; none if each stands where it is counted.
    fn places(&self) -> Option<&[usize]> {
        None
    }
}

/// Rows that come packed, with all their columns.
pub struct Whole<I> {
    rows: I,
    row: Row,
}

impl<I: Iterator<Item = Result<Row, SqlError>> + Send> Whole<I> {
    /// The same rows.
    pub fn new(rows: I) -> Self {
        Whole { rows, row: Row::default() }
    }
}

impl<I: Iterator<Item = Result<Row, SqlError>> + Send> Pull for Whole<I> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let Some(next) = self.rows.next() else { return Ok(false) };
        next?.unpack_into(row);
        Ok(true)
    }
    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        Some(self)
    }
}

impl<I: Iterator<Item = Result<Row, SqlError>> + Send> PackedPull for Whole<I> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        let Some(next) = self.rows.next() else { return Ok(false) };
        self.row = next?;
        Ok(true)
    }
    fn row(&mut self) -> Stored<'_> {
        Stored::whole(self.row.bytes())
    }
}

/// Rows through an `Mfp`.
pub struct MfpStream<'p> {
    input: Box<dyn Pull + 'p>,
    members: Members,
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

impl<'p> MfpStream<'p> {
    /// `input` through `mfp`.
    pub fn new(input: Box<dyn Pull + 'p>, mfp: &'p Mfp, eval: &EvalContext, watch: &Arc<Watch>) -> Self {
        MfpStream {
            input,
            members: Members::of(mfp, eval),
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
        let looked_at: BTreeSet<usize> =
            self.mfp.filter.iter().flat_map(|(_, predicate)| ScalarExpr::columns(predicate)).collect();
        Some(Narrowing {
            places: self.mfp.project.iter().map(|column| place(*column)).collect(),
            read: looked_at.into_iter().map(|column| (column, place(column))).collect(),
            row: vec![Datum::Null; self.mfp.input_arity],
        })
    }
}

impl Pull for MfpStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        while self.input.next(row)? {
            if let Some(mfp) = self.members.after(self.mfp, row)
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

impl PackedPull for MfpStream<'_> {
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
            if let Some(mfp) = self.members.after(self.mfp, row)
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
