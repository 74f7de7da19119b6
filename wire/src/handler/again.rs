//! Statements that are run again: those that stand alone, of which the client has read nothing yet, and under which the
//! snapshot has ended because somebody was forgotten. Applications do not expect that of a single statement.

use super::{Handler, Stop};
use crate::connection::Mark;
use engine::protocol::Prepared;

/// Runs of one statement at most.
const RUNS_MAX: u32 = 10;

/// What is known of the runs of one statement.
pub(super) struct Runs {
    /// Before its first message.
    mark: Mark,
    alone: bool,
    ended: u32,
}

impl Runs {
    /// Whether the statement has not been run before.
    pub(super) fn is_first(&self) -> bool {
        self.ended == 0
    }
}

impl Handler<'_> {
    /// Before a statement's first run. `more`: other statements of its query string follow.
    pub(super) fn runs(&self, prepared: &Prepared, more: bool) -> Runs {
        Runs { mark: self.connection.mark(), alone: !more && self.session.stands_alone(prepared), ended: 0 }
    }

    /// After a run: how it ended, or nothing if it was taken back and is to be run again.
    pub(super) fn outcome<T>(&mut self, runs: &mut Runs, outcome: Result<T, Stop>) -> Option<Result<T, Stop>> {
        runs.ended += 1;
        match &outcome {
            Err(Stop::Statement(error))
                if runs.alone
                    && runs.ended < RUNS_MAX
                    && error.is_snapshot_ended()
                    && self.connection.take_back(&runs.mark) =>
            {
                self.session.take_back(error);
                None
            }
            _ => Some(outcome),
        }
    }
}
