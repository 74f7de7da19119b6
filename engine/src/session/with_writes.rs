//! A statement whose WITH writes: its parts one after another, over one snapshot, as one statement.
//!
//! ```text
//! rows that subqueries lock ─▶ one snapshot ─▶ part ─▶ part ─▶ … ─▶ constraints of all of them
//!    ▲                                  rows returned ──┘
//!    └── a row that one of them changes was changed by somebody else meanwhile: all is taken back ◀──┘
//! ```

use crate::response::{Response, RowStream, RowTag};
use crate::session::Session;
use crate::session::statement::{Writes, verb, written_response};
use planner::plan::{WithPart, WithPlan};
use repr::Datum;
use repr::id::is_temporary;
use state::SqlError;
use state::answer::QueryRows;
use std::sync::Arc;
use transactions::writer::dml::{self, Written};

impl Session {
    pub(super) fn write_with(&mut self, plan: &WithPlan, params: Arc<[Datum]>) -> Result<Response, SqlError> {
        let written = self.with_written(plan, params)?;
        Ok(match plan.main() {
            WithPart::Query(query) => Response::Rows(RowStream {
                columns: query.columns.as_slice().into(),
                rows: QueryRows::new(written.returned.into_rows()),
                tag: RowTag::Counted("SELECT"),
            }),
            WithPart::Main(main) | WithPart::Write { plan: main, .. } => written_response(main, written),
        })
    }

    /// What the statement itself did, or its rows.
    pub(super) fn with_written(&mut self, plan: &WithPlan, params: Arc<[Datum]>) -> Result<Written, SqlError> {
        if !plan.tables().iter().all(|table| is_temporary(table.0)) {
            self.refuse_read_only(match plan.main() {
                WithPart::Query(_) => "SELECT",
                WithPart::Main(main) | WithPart::Write { plan: main, .. } => verb(main),
            })?;
        }
        self.may_write()?;
        let mark = self.transaction().mark();
        let targets = plan.tables();
        let moved = self.transaction().pending.moved.len();
        let written = loop {
            let parts = plan.parts.iter().filter_map(WithPart::write).map(|part| &**part).collect();
            let what = Writes { locking: plan.main().source(), targets: &targets, parts };
            let written =
                self.writing(&what, &params, |writer, evaluation| dml::execute_with(writer, plan, evaluation));
            if !self.transaction().end_shared_snapshot() {
                break written;
            }
            self.transaction().roll_back_to(mark);
            self.transaction().pending.moved.truncate(moved);
            self.patience().check()?;
        };
        let written = written.and_then(|written| self.triggered(written));
        self.conclude(&written, mark);
        written
    }
}
