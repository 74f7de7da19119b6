//! Set-returning functions: one row in, the functions' rows in step out.
//!
//! Once, endless functions are stopped by a LIMIT above.

use crate::context::{Bundle, Context, RenderTime, split_operator};
use crate::once::{OneShot, Pull};
use planner::scalar::table_func::TableRows;
use planner::scalar::{EvalContext, ScalarExpr, TableFunction};
use repr::{Datum, Row, ScalarType, ValueError, poll};
use state::SqlError;
use state::interrupt::Ticker;

/// The functions of one node, each with its arguments and the types of the columns it appends.
pub type Functions = [(&'static TableFunction, Vec<ScalarExpr>, Vec<ScalarType>)];

/// The rows that one input row expands to, one after another.
pub struct FunctionRows {
    /// Each function's rows while there are any, and its width.
    functions: Vec<(Option<TableRows>, usize)>,
    ordinality: bool,
    rows: i64,
}

impl FunctionRows {
    /// Calls the functions for one input row.
    pub fn call(
        functions: &Functions,
        ordinality: bool,
        input: &[Datum],
        eval: &EvalContext,
    ) -> Result<Self, ValueError> {
        let mut called = Vec::with_capacity(functions.len());
        for (function, args, types) in functions {
            let mut values = Vec::with_capacity(args.len());
            for arg in args {
                values.push(arg.eval(input, eval)?);
            }
            called.push((Some((function.evaluate)(eval, &values, types)?), types.len()));
        }
        Ok(FunctionRows { functions: called, ordinality, rows: 0 })
    }

    /// Appends the next row's columns; false, with `row` as it was, once all functions have ended.
    ///
    /// Functions that have ended before give NULLs.
    pub fn append(&mut self, row: &mut Vec<Datum>) -> Result<bool, ValueError> {
        poll::step()?;
        let start = row.len();
        let mut any = false;
        for (rows, width) in &mut self.functions {
            let end = row.len() + *width;
            match rows.as_mut().and_then(Iterator::next).transpose()? {
                Some(values) => {
                    any = true;
                    row.extend(values);
                }
                None => *rows = None,
            }
            row.resize(end, Datum::Null);
        }
        if !any {
            row.truncate(start);
            return Ok(false);
        }
        self.rows += 1;
        if self.ordinality {
            row.push(Datum::Int8(self.rows));
        }
        Ok(true)
    }
}

/// Set-returning functions, row by row.
pub struct TableFunctionRows<'p> {
    input: Box<dyn Pull + 'p>,
    functions: &'p Functions,
    ordinality: bool,
    input_row: Vec<Datum>,
    rows: Option<FunctionRows>,
    shot: OneShot,
    ticker: Ticker,
}

impl<'p> TableFunctionRows<'p> {
    /// Extends `input` by the functions' columns.
    pub fn new(input: Box<dyn Pull + 'p>, functions: &'p Functions, ordinality: bool, shot: &OneShot) -> Self {
        TableFunctionRows {
            input,
            functions,
            ordinality,
            input_row: Vec::new(),
            rows: None,
            shot: shot.clone(),
            ticker: Ticker::default(),
        }
    }
}

impl Pull for TableFunctionRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            self.ticker.tick(&self.shot.watch)?;
            if let Some(rows) = &mut self.rows {
                row.clone_from(&self.input_row);
                if rows.append(row)? {
                    return Ok(true);
                }
                self.rows = None;
            }
            if !self.input.next(&mut self.input_row)? {
                return Ok(false);
            }
            self.rows = Some(FunctionRows::call(self.functions, self.ordinality, &self.input_row, &self.shot.eval)?);
        }
    }
}

/// Renders the functions over a collection.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    functions: &Functions,
    ordinality: bool,
) -> Bundle<'s, T> {
    let (functions, eval, watch) = (functions.to_vec(), context.eval.clone(), context.watch.clone());
    let mut ticker = Ticker::default();
    let mut datums = Vec::new();
    split_operator(input.oks, "TableFunction", move |updates, oks, errs| {
        let _joined = watch.join();
        for (row, time, diff) in updates.drain(..) {
            row.unpack_into(&mut datums);
            let width = datums.len();
            let mut expand = || -> Result<(), ValueError> {
                let mut rows = FunctionRows::call(&functions, ordinality, &datums, &eval)?;
                while !ticker.stops(&watch) && rows.append(&mut datums)? {
                    let row = Row::pack(&datums);
                    poll::bytes(row.bytes().len())?;
                    oks.push((row, time.clone(), diff));
                    datums.truncate(width);
                }
                Ok(())
            };
            if let Err(error) = expand() {
                errs.push((error, time, diff));
            }
        }
        // Nobody's row is kept until the next one comes.
        datums.clear();
    })
    .with_errs(input.errs)
}
