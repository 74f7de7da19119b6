//! An answer whose time does not tell whether rows were hidden from whoever asks.
//!
//! ```text
//! a key that is not there     ──▶ no row ──┐
//! a key whose row is hidden   ──▶ no row ──┴─▶ the end of the step ──▶ the answer
//! a row that may be seen      ──▶ the answer
//! ```
//! To look for what is not there takes another time than to find and hide it, by some microseconds. Of one key nobody learns that.
//! How much work a large statement was is not hidden.

use crate::SqlError;
use crate::answer::{Answer, AnswerRow, QueryRows, Show};
use repr::Datum;
use std::time::{Duration, Instant};

/// Longer than it takes to look for a key, and to wake up again.
const STEP: Duration = Duration::from_micros(250);

/// See the module.
pub struct Even {
    rows: Box<dyn Answer>,
    /// When it began, until a row has come.
    since: Option<Instant>,
}

impl Even {
    /// Rows of a statement that began then.
    pub fn new(rows: QueryRows, since: Instant) -> Even {
        Even { rows: rows.into_answer(), since: Some(since) }
    }

    fn after(&mut self, found: Result<bool, SqlError>) -> Result<bool, SqlError> {
        if let (Some(since), Ok(false) | Err(_)) = (self.since.take(), &found) {
            wait(since);
        }
        found
    }
}

impl Answer for Even {
    fn advance(&mut self) -> Result<bool, SqlError> {
        let found = self.rows.advance();
        self.after(found)
    }

    fn row(&mut self) -> AnswerRow<'_> {
        self.rows.row()
    }

    fn take(&mut self) -> Vec<Datum> {
        self.rows.take()
    }

    fn show(&mut self, show: &mut Show<'_>) -> Result<bool, SqlError> {
        let found = self.rows.show(show);
        self.after(found)
    }
}

/// Until the end of the step that it is in.
pub fn wait(since: Instant) {
    let steps = since.elapsed().as_nanos() / STEP.as_nanos() + 1;
    let until = since + STEP * u32::try_from(steps).unwrap_or(u32::MAX);
    std::thread::sleep(until.saturating_duration_since(Instant::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_rows_comes_at_the_end_of_a_step_and_one_with_rows_at_once() {
        let took = |rows: Vec<Vec<Datum>>| {
            let since = Instant::now();
            let count = QueryRows::of(Even::new(QueryRows::new(rows.into_iter().map(Ok)), since)).count();
            (count, since.elapsed())
        };
        for _ in 0..20 {
            let (count, none) = took(Vec::new());
            assert_eq!(count, 0);
            assert!(none >= STEP, "{none:?}");
        }
        let quickest = (0..20).map(|_| took(vec![vec![Datum::Int4(1)]]).1).min();
        assert!(quickest < Some(STEP), "{quickest:?}");
    }
}
