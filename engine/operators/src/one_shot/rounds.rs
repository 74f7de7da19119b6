//! `WITH RECURSIVE` by rounds, as PostgreSQL runs it: the step sees the last round's new rows only.
//!
//! Streamed: rows come out as they are found, so that a LIMIT above ends a recursion that would not end.
//! What bounds it is memory (UNION keeps a key of every row it has seen; a round's rows wait for the next).

use crate::one_shot::OneShot;
use crate::one_shot::stream::{Local, Locals, Pull, rows, with};
use crate::render::recursive::Recursion;
use repr::{Datum, Row, key, poll};
use state::SqlError;
use state::interrupt::Ticker;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rows of all rounds.
pub struct RoundsStream<'p> {
    recursion: Recursion<'p>,
    current: Box<dyn Pull + 'p>,
    /// What this round has given so far: the next round's input.
    given: Vec<Row>,
    /// What the round at hand reads, charged to the query.
    seen: BTreeSet<Vec<u8>>,
    shot: OneShot,
    locals: Arc<Locals<'p>>,
    ticker: Ticker,
}

impl<'p> RoundsStream<'p> {
    /// Starts with the base's rows.
    pub fn new(recursion: Recursion<'p>, shot: &OneShot, locals: &Arc<Locals<'p>>) -> Result<Self, SqlError> {
        Ok(RoundsStream {
            recursion,
            current: rows(recursion.base, shot, locals)?,
            given: Vec::new(),
            seen: BTreeSet::new(),
            shot: shot.clone(),
            locals: locals.clone(),
            ticker: Ticker::default(),
        })
    }

    fn start_round(&mut self) -> Result<bool, SqlError> {
        if self.given.is_empty() {
            return Ok(false);
        }
        let input = Local::Bag(Arc::new(std::mem::take(&mut self.given)));
        let locals = with(&self.locals, self.recursion.id, input);
        self.current = rows(self.recursion.step, &self.shot, &locals)?;
        Ok(true)
    }
}

impl Pull for RoundsStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            self.ticker.tick(&self.shot.watch)?;
            if !self.current.next(row)? {
                if !self.start_round()? {
                    return Ok(false);
                }
                continue;
            }
            if self.recursion.distinct {
                let code = key::encode_all(row);
                if !self.seen.insert(code) {
                    continue;
                }
            }
            let packed = Row::pack(row.iter());
            poll::bytes(packed.bytes().len())?;
            self.given.push(packed);
            return Ok(true);
        }
    }
}
