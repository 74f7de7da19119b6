//! Groups and aggregates of a one-shot's chain, folded on the thread that asks.
//!
//! Where they stand: chains (one_shot::stream). The fold is render::reduce's own, so the answers are the dataflow's;
//! a query that runs once needs no dataflow to start. What groups hold is charged to the query.

use super::OneShot;
use super::stream::Pull;
use crate::SqlError;
use crate::render::reduce;
use planner::scalar::{AggregateCall, ScalarExpr};
use repr::{Datum, Row};

/// The groups' rows, computed when first asked for.
pub struct GroupStream<'p> {
    input: Box<dyn Pull + 'p>,
    keys: &'p [ScalarExpr],
    aggregates: &'p [AggregateCall],
    scalar: bool,
    rows: Option<std::vec::IntoIter<Row>>,
    shot: OneShot,
}

impl<'p> GroupStream<'p> {
    /// Groups a chain.
    pub fn new(
        input: Box<dyn Pull + 'p>,
        keys: &'p [ScalarExpr],
        aggregates: &'p [AggregateCall],
        scalar: bool,
        shot: &OneShot,
    ) -> Self {
        GroupStream { input, keys, aggregates, scalar, rows: None, shot: shot.clone() }
    }
}

impl Pull for GroupStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => {
                let rows = reduce::fold(&mut *self.input, self.keys, self.aggregates, self.scalar, &self.shot)?;
                self.rows.insert(rows.into_iter())
            }
        };
        let Some(next) = rows.next() else { return Ok(false) };
        next.unpack_into(row);
        Ok(true)
    }
}
