//! A query's end: order, OFFSET, LIMIT, projection. Outside any dataflow, over rows that are pulled.
//!
//! ORDER BY with a LIMIT keeps only the rows it may need; ORDER BY alone sorts what fits the memory limit;
//! LIMIT alone stops pulling, and so the whole query.

use super::top_k::{encode_order, limit, offset};
use crate::SqlError;
use crate::one_shot::stream::Pull;
use crate::one_shot::watch::{Ticker, Watch};
use planner::plan::Finishing;
use planner::scalar::{EvalContext, Order};
use repr::{Datum, Row};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The finished rows.
pub struct Finish<'p> {
    input: Box<dyn Pull + 'p>,
    project: &'p [usize],
    order_by: &'p [Order],
    sorted: Option<std::vec::IntoIter<Sorted>>,
    skip: usize,
    left: Option<usize>,
    /// The projection takes each column once, so datums can be moved out.
    moves: bool,
    row: Vec<Datum>,
    watch: Arc<Watch>,
    ticker: Ticker,
    ended: bool,
}

/// A row behind its codes; `sequence` keeps equal ones in the order they came.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Sorted {
    code: Vec<u8>,
    sequence: u64,
    row: Row,
}

impl Sorted {
    fn bytes(&self) -> usize {
        self.code.len() + self.row.bytes().len() + size_of::<Sorted>() + 32
    }
}

impl Iterator for Finish<'_> {
    type Item = Result<Vec<Datum>, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended || self.left == Some(0) {
            return None;
        }
        match self.pull() {
            Ok(true) => {
                self.left = self.left.map(|left| left - 1);
                Some(Ok(self.projected()))
            }
            Ok(false) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}

impl<'p> Finish<'p> {
    /// Prepares the end of a query. Fails if LIMIT or OFFSET is negative.
    pub fn new(
        input: Box<dyn Pull + 'p>,
        finishing: &'p Finishing,
        eval: &EvalContext,
        watch: Arc<Watch>,
    ) -> Result<Self, SqlError> {
        let project = finishing.project.as_slice();
        Ok(Finish {
            input,
            project,
            order_by: &finishing.order_by,
            sorted: None,
            skip: offset(finishing.offset.as_ref(), eval)?,
            left: limit(finishing.limit.as_ref(), eval)?,
            moves: project.iter().enumerate().all(|(position, column)| !project[..position].contains(column)),
            row: Vec::new(),
            watch,
            ticker: Ticker::default(),
            ended: false,
        })
    }

    /// The same over rows that come in the order that is asked for.
    pub fn in_order(
        input: Box<dyn Pull + 'p>,
        finishing: &'p Finishing,
        eval: &EvalContext,
        watch: Arc<Watch>,
    ) -> Result<Self, SqlError> {
        Ok(Finish { order_by: &[], ..Finish::new(input, finishing, eval, watch)? })
    }

    fn pull(&mut self) -> Result<bool, SqlError> {
        if self.order_by.is_empty() {
            while self.skip > 0 {
                self.ticker.tick(&self.watch)?;
                if !self.input.next(&mut self.row)? {
                    return Ok(false);
                }
                self.skip -= 1;
            }
            self.ticker.tick(&self.watch)?;
            return self.input.next(&mut self.row);
        }
        self.ticker.tick(&self.watch)?;
        let sorted = match &mut self.sorted {
            Some(sorted) => sorted,
            None => {
                let mut sorted = self.sort()?.into_iter();
                if self.skip > 0 {
                    sorted.nth(self.skip - 1);
                }
                self.sorted.insert(sorted)
            }
        };
        match sorted.next() {
            Some(next) => {
                self.watch.release(next.bytes());
                next.row.unpack_into(&mut self.row);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// All rows in order, or as many of the first as OFFSET and LIMIT can reach.
    fn sort(&mut self) -> Result<Vec<Sorted>, SqlError> {
        let kept_max = self.left.map(|left| left.saturating_add(self.skip));
        let mut heap = BinaryHeap::new();
        let mut rows = Vec::new();
        let mut code = Vec::new();
        let mut sequence = 0;
        while self.input.next(&mut self.row)? {
            self.ticker.tick(&self.watch)?;
            code.clear();
            encode_order(&mut code, self.order_by, &self.row);
            if kept_max.is_some_and(|kept_max| heap.len() == kept_max)
                && heap.peek().is_none_or(|last: &Sorted| last.code.as_slice().cmp(&code) != Ordering::Greater)
            {
                continue;
            }
            let item = Sorted { code: code.clone(), sequence, row: Row::pack(&self.row) };
            sequence += 1;
            self.watch.charge(item.bytes())?;
            match kept_max {
                None => rows.push(item),
                Some(kept_max) => {
                    heap.push(item);
                    if heap.len() > kept_max
                        && let Some(last) = heap.pop()
                    {
                        self.watch.release(last.bytes());
                    }
                }
            }
        }
        if kept_max.is_some() {
            return Ok(heap.into_sorted_vec());
        }
        rows.sort_unstable();
        Ok(rows)
    }

    fn projected(&mut self) -> Vec<Datum> {
        if self.moves {
            let row = &mut self.row;
            self.project.iter().map(|column| std::mem::replace(&mut row[*column], Datum::Null)).collect()
        } else {
            self.project.iter().map(|column| self.row[*column].clone()).collect()
        }
    }
}
