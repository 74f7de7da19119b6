//! Groups and aggregates of a one-shot's chain, folded on the thread that asks.
//!
//! Where they stand: chains (one_shot::stream). The fold is render::reduce's own, so the answers are the dataflow's;
//! a query that runs once needs no dataflow to start. What groups hold is charged to the query.

use crate::one_shot::OneShot;
use crate::one_shot::stream::Pull;
use crate::render::reduce;
use planner::scalar::{AggregateCall, ScalarExpr};
use repr::Row;
use state::SqlError;

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

impl GroupStream<'_> {
    fn rows(&mut self) -> Result<&mut std::vec::IntoIter<Row>, SqlError> {
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => reduce::fold(&mut *self.input, self.keys, self.aggregates, self.scalar, &self.shot)?.into_iter(),
        };
        Ok(self.rows.insert(rows))
    }
}

impl Iterator for GroupStream<'_> {
    type Item = Result<Row, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rows() {
            Ok(rows) => rows.next().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}
