//! EXPLAIN of subject requests: the plan of the traversal, and under ANALYZE what each of its operators did.
//!
//! An erasure that is analyzed takes place, receipt and all, as any other write.

use crate::session::Session;
use crate::session::explain::analyze::{actual, set};
use operators::request_profile::RequestProfile;
use operators::traversal;
use planner::explain::report::{OperatorLine, Path, Report};
use planner::resolve::{Forgetting, GdprRequest};
use planner::scalar::ScalarExpr;
use repr::{Datum, RelationId};
use state::SqlError;
use state::interrupt::Watch;
use state::reader::Reader;
use std::sync::Arc;
use std::time::{Duration, Instant};
use subject_requests::access::AccessRows;
use subject_requests::erase::named;
use subject_requests::explain;

impl Session {
    /// What a subject request would do, whomever it names.
    pub(super) fn subject_report(&mut self, request: &GdprRequest, table: RelationId) -> Result<Report, SqlError> {
        let by_microdb = match request {
            GdprRequest::Get(_) => !self.snapshot()?.has_changes(),
            // An erasure stands at the beginning of its transaction.
            GdprRequest::Forget(_) => true,
            GdprRequest::ExplainForget(_)
            | GdprRequest::Export(..)
            | GdprRequest::Unforget
            | GdprRequest::Restrict(_)
            | GdprRequest::Rekey
            | GdprRequest::Enter(..) => {
                return Err(SqlError::unsupported("EXPLAIN of this statement"));
            }
        };
        Ok(Report {
            operators: self.subject_operators(request, table, by_microdb, &RequestProfile::default())?,
            path: Path::Traversal { by_microdb },
            why_no_view: None,
            ordered_indexes: Vec::new(),
            planning: None,
            execution: None,
        })
    }

    fn subject_operators(
        &mut self,
        request: &GdprRequest,
        table: RelationId,
        by_microdb: bool,
        profile: &RequestProfile,
    ) -> Result<Vec<OperatorLine>, SqlError> {
        let snapshot = self.snapshot()?;
        let plan = traversal::plan(&snapshot, snapshot.shape(table)?)?;
        Ok(match request {
            GdprRequest::Forget(Forgetting { parts, .. }) | GdprRequest::ExplainForget(parts) if parts.is_empty() => {
                explain::erasure(snapshot.schema(), plan, profile)
            }
            GdprRequest::Forget(Forgetting { parts, .. }) | GdprRequest::ExplainForget(parts) => {
                explain::erasure_in_part(snapshot.schema(), table, (parts, &named(&snapshot, parts)?), profile)
            }
            GdprRequest::Get(_)
            | GdprRequest::Export(..)
            | GdprRequest::Unforget
            | GdprRequest::Restrict(_)
            | GdprRequest::Rekey
            | GdprRequest::Enter(..) => explain::access(snapshot.schema(), plan, by_microdb, profile),
        })
    }

    /// Runs it. How long it took.
    pub(super) fn analyze_subject_request(
        &mut self,
        report: &mut Report,
        (request, table, key): (&GdprRequest, RelationId, &[ScalarExpr]),
        params: &Arc<[Datum]>,
        timing: bool,
    ) -> Result<Duration, SqlError> {
        let mut profile = RequestProfile::counting(timing);
        let started = Instant::now();
        let by_microdb = report.path == Path::Traversal { by_microdb: true };
        if let GdprRequest::Forget(forgetting) = request {
            let counts = self.forget((table, key, forgetting), params, &mut profile)?;
            let took = started.elapsed();
            report.operators = self.subject_operators(request, table, by_microdb, &profile)?;
            let rows = counts.values().map(|table| table.deleted + table.anonymized).sum();
            set(report.operators.first_mut(), actual(rows, timing.then_some((None, took))));
            return Ok(took);
        }
        self.refuse_restoring()?;
        let snapshot = self.snapshot()?;
        let subject = self.subject(&snapshot, table, key, params.clone())?;
        let limits = self.limits(snapshot.time());
        let watch = Watch::new(limits.clone());
        let found = traversal::find(&snapshot, &subject, &watch, &mut profile)?;
        let reached = (found.count() as u64, started.elapsed());
        let context = self.eval_context(params.clone(), snapshot.schema().catalog());
        let (mut rows, mut first) = (0, None);
        for row in AccessRows::new(found, snapshot, &context, limits.ended) {
            watch.check()?;
            row?;
            first.get_or_insert_with(|| started.elapsed());
            rows += 1;
        }
        let took = started.elapsed();
        report.operators = self.subject_operators(request, table, by_microdb, &profile)?;
        set(report.operators.get_mut(0), actual(rows, timing.then_some((first, took))));
        set(report.operators.get_mut(1), actual(reached.0, timing.then_some((None, reached.1))));
        Ok(took)
    }
}
