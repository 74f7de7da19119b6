//! A query's end: order, OFFSET, LIMIT, projection. Outside any dataflow, over rows that are pulled.
//!
//! ORDER BY with a LIMIT keeps only the rows it may need; ORDER BY alone sorts what fits the memory limit;
//! LIMIT alone stops pulling, and so the whole query.

use crate::once::Pull;
use crate::top_k::{limit, offset};
use arrangements::ordered_row::encode_order;
use planner::plan::Finishing;
use planner::scalar::{EvalContext, Order, ScalarExpr};
use repr::{Datum, Row, poll};
use state::SqlError;
use state::answer::{Answer, AnswerRow, Stored, places};
use state::interrupt::{Ticker, Watch};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The finished rows.
pub struct Finish<'p> {
    input: Box<dyn Pull + 'p>,
    output: Output<'p>,
    order_by: &'p [Order],
    sorted: Option<std::vec::IntoIter<Sorted>>,
    page: Page,
    at: Standing,
    watch: Arc<Watch>,
    ticker: Ticker,
}

/// How rows go out.
struct Output<'p> {
    project: &'p [usize],
    /// What is computed of each row as it comes out.
    late: Option<(&'p [ScalarExpr], EvalContext)>,
    /// Where the result's columns stand in packed rows, if rows go out so.
    places: Option<Cow<'p, [usize]>>,
    /// The projection takes each column once, so datums can be moved out.
    moves: bool,
}

/// What is still to be skipped, and to be given.
struct Page {
    skip: usize,
    left: Option<usize>,
    ended: bool,
}

/// The row at hand.
#[derive(Default)]
struct Standing {
    row: Vec<Datum>,
    /// As it goes out, as datums.
    given: Vec<Datum>,
    /// The same, of sorted rows, packed.
    packed: Row,
}

/// A row behind its codes; `sequence` keeps equal ones in the order they came.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Sorted {
    code: Vec<u8>,
    sequence: u64,
    row: Row,
}

impl<'p> Finish<'p> {
    /// Prepares the end of a query. Fails if LIMIT or OFFSET is negative.
    pub fn new(
        input: Box<dyn Pull + 'p>,
        finishing: &'p Finishing,
        eval: &EvalContext,
        watch: Arc<Watch>,
    ) -> Result<Self, SqlError> {
        Finish::over(input, &finishing.order_by, finishing, eval, watch)
    }

    /// The same over rows that come in the order that is asked for.
    pub fn in_order(
        input: Box<dyn Pull + 'p>,
        finishing: &'p Finishing,
        eval: &EvalContext,
        watch: Arc<Watch>,
    ) -> Result<Self, SqlError> {
        Finish::over(input, &[], finishing, eval, watch)
    }

    fn over(
        mut input: Box<dyn Pull + 'p>,
        order_by: &'p [Order],
        finishing: &'p Finishing,
        eval: &EvalContext,
        watch: Arc<Watch>,
    ) -> Result<Self, SqlError> {
        let project = finishing.project.as_slice();
        let late = (!finishing.late.is_empty()).then(|| (finishing.late.as_slice(), eval.clone()));
        let places = match order_by {
            _ if late.is_some() => None,
            [] => input.packed().and_then(|input| places(input.places(), project)),
            // Rows are packed where they are sorted.
            _ => places(None, project),
        };
        let moves = project.iter().enumerate().all(|(position, column)| !project[..position].contains(column));
        let (skip, left) = (offset(finishing.offset.as_ref(), eval)?, limit(finishing.limit.as_ref(), eval)?);
        Ok(Finish {
            input,
            output: Output { project, late, places, moves },
            order_by,
            sorted: None,
            page: Page { skip, left, ended: false },
            at: Standing::default(),
            watch,
            ticker: Ticker::default(),
        })
    }

    /// One row of the input, which stands in `row` unless rows go out packed.
    fn step(&mut self) -> Result<bool, SqlError> {
        self.ticker.tick(&self.watch)?;
        match (&self.output.places, self.input.packed()) {
            (Some(_), Some(input)) => input.advance(),
            (Some(_) | None, _) => self.input.next(&mut self.at.row),
        }
    }

    fn pull(&mut self) -> Result<bool, SqlError> {
        if self.order_by.is_empty() {
            while self.page.skip > 0 {
                if !self.step()? {
                    return Ok(false);
                }
                self.page.skip -= 1;
            }
            return self.step();
        }
        self.ticker.tick(&self.watch)?;
        let sorted = match &mut self.sorted {
            Some(sorted) => sorted,
            None => {
                let mut sorted = self.sort()?.into_iter();
                if self.page.skip > 0 {
                    sorted.nth(self.page.skip - 1);
                }
                self.sorted.insert(sorted)
            }
        };
        match sorted.next() {
            Some(next) => {
                if self.output.places.is_some() {
                    self.at.packed = next.row;
                } else {
                    next.row.unpack_into(&mut self.at.row);
                }
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// All rows in order, or as many of the first as OFFSET and LIMIT can reach.
    fn sort(&mut self) -> Result<Vec<Sorted>, SqlError> {
        let kept_max = self.page.left.map(|left| left.saturating_add(self.page.skip));
        let mut heap = BinaryHeap::new();
        let mut rows = Vec::new();
        let mut code = Vec::new();
        let mut sequence = 0;
        while self.input.next(&mut self.at.row)? {
            self.ticker.tick(&self.watch)?;
            code.clear();
            encode_order(&mut code, self.order_by, &self.at.row);
            if kept_max.is_some_and(|kept_max| heap.len() == kept_max)
                && heap.peek().is_none_or(|last: &Sorted| last.code.as_slice().cmp(&code) != Ordering::Greater)
            {
                continue;
            }
            let item = Sorted { code: code.clone(), sequence, row: Row::pack(&self.at.row) };
            sequence += 1;
            poll::bytes(item.row.bytes().len())?;
            match kept_max {
                None => rows.push(item),
                Some(kept_max) => {
                    heap.push(item);
                    if heap.len() > kept_max {
                        heap.pop();
                    }
                }
            }
        }
        if kept_max.is_some() {
            return Ok(heap.into_sorted_vec());
        }
        poll::sort_by(&mut rows, Sorted::cmp)?;
        Ok(rows)
    }

    fn append_late(&mut self) -> Result<(), SqlError> {
        let Some((exprs, eval)) = &self.output.late else { return Ok(()) };
        for expr in *exprs {
            let value = expr.eval(&self.at.row, eval)?;
            self.at.row.push(value);
        }
        Ok(())
    }

    fn project(&mut self) {
        self.at.given.clear();
        let row = &mut self.at.row;
        if self.output.moves {
            self.at
                .given
                .extend(self.output.project.iter().map(|column| std::mem::replace(&mut row[*column], Datum::Null)));
        } else {
            self.at.given.extend(self.output.project.iter().map(|column| row[*column].clone()));
        }
    }
}

impl Answer for Finish<'_> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        if self.page.ended || self.page.left == Some(0) {
            return Ok(false);
        }
        let pulled = self.pull();
        match pulled {
            Ok(true) => {
                self.page.left = self.page.left.map(|left| left - 1);
                if let Err(error) = self.append_late() {
                    self.page.ended = true;
                    return Err(error);
                }
                if self.output.places.is_none() {
                    self.project();
                }
            }
            Ok(false) | Err(_) => self.page.ended = true,
        }
        pulled
    }

    fn row(&mut self) -> AnswerRow<'_> {
        let Some(places) = &self.output.places else { return AnswerRow::Values(&self.at.given) };
        match self.input.packed().filter(|_| self.order_by.is_empty()) {
            Some(input) => AnswerRow::Packed(input.row(), places),
            None => AnswerRow::Packed(Stored::whole(self.at.packed.bytes()), places),
        }
    }

    fn take(&mut self) -> Vec<Datum> {
        match self.output.places {
            Some(_) => self.row().to_datums(),
            None => std::mem::take(&mut self.at.given),
        }
    }
}
