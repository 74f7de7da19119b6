//! Statements that are run again: those that stand alone, of which the client has read nothing yet, and under which the
//! snapshot has ended because somebody was forgotten. Applications do not expect that of a single statement.

use super::{Handler, Stop};
use crate::connection::Mark;
use engine::SqlError;
use engine::protocol::{Prepared, Response};
use repr::Datum;
use std::sync::Arc;

/// Runs of one statement at most.
const RUNS_MAX: u32 = 10;
/// After so many, erasures wait for it: where one follows the other it would never come to its end.
const RUNS_AMID_ERASURES: u32 = 5;

/// What is known of the runs of one statement.
pub(super) struct Runs {
    /// Before its first message.
    mark: Mark,
    alone: bool,
    ended: u32,
}

/// One run of a statement.
#[derive(Clone, Copy)]
pub(super) enum Run {
    First,
    Again,
    /// Again, while no erasure ends the snapshot underneath, unless that takes too long.
    Undisturbed,
}

impl Runs {
    /// How it is run next.
    pub(super) fn next(&self) -> Run {
        match self.ended {
            0 => Run::First,
            1..RUNS_AMID_ERASURES => Run::Again,
            _ => Run::Undisturbed,
        }
    }
}

impl Handler<'_> {
    /// Before a statement's first run. `more`: other statements of its query string follow.
    pub(super) fn runs(&self, prepared: &Prepared, more: bool) -> Runs {
        Runs { mark: self.connection.mark(), alone: !more && self.session.stands_alone(prepared), ended: 0 }
    }

    /// One run.
    pub(super) fn execute_run(
        &mut self,
        prepared: &Arc<Prepared>,
        parameters: Arc<[Datum]>,
        more: bool,
        run: Run,
    ) -> Result<Response, SqlError> {
        match run {
            Run::First => return self.session.execute(prepared, parameters, more),
            Run::Again => {}
            Run::Undisturbed => self.session.hold_off_erasures()?,
        }
        self.session.execute_again(prepared, parameters, more)
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
