//! EXPLAIN ANALYZE: the statement is run, its rows are counted and thrown away.
//!
//! A write writes, within the transaction, as in PostgreSQL. Nothing here is on the way of a statement that is not
//! explained: what counts its operators is made here, and gone afterwards.

use crate::session::Session;
use crate::session::explain::one_shot;
use crate::session::plan::CachedPlan;
use crate::session::view_choice::OwnView;
use crate::system::inspection::inspect;
use operators::profile::Profile;
use planner::Planned;
use planner::explain::report::{Actual, OperatorLine, Report};
use planner::plan::Query;
use repr::Datum;
use state::SqlError;
use state::reader::Reader;
use state::view_states::ViewState;
use std::sync::Arc;
use std::time::{Duration, Instant};
use views::no_view::NoView;
use views::read;

impl Session {
    /// Runs what is explained, and says of its operators what they did. How long the statement itself took.
    pub(super) fn analyze(
        &mut self,
        report: &mut Report,
        own: Option<OwnView>,
        cached: &CachedPlan,
        params: &Arc<[Datum]>,
        timing: bool,
    ) -> Result<Duration, SqlError> {
        match &cached.planned {
            Planned::Query(query) => {
                if let Some(own) = own {
                    match self.analyze_view(report, &own, params, timing)? {
                        Ok(took) => return Ok(took),
                        Err(why) => *report = one_shot(query, cached, why, &self.catalog()),
                    }
                }
                self.analyze_query(report, query, params, timing)
            }
            Planned::Write(plan) => {
                let profile = Profile::new(&plan.source().plan, timing);
                let started = Instant::now();
                self.statement.profile = Some(profile.clone());
                let written = self.written(plan, params.clone());
                self.statement.profile = None;
                let (rows, took) = (written?.rows as u64, started.elapsed());
                self.fill(report, &profile);
                set(report.operators.first_mut(), actual(rows, timing.then_some((None, took))));
                Ok(took)
            }
            Planned::With(plan) => {
                let started = Instant::now();
                self.with_written(plan, params.clone())?;
                Ok(started.elapsed())
            }
            Planned::Gdpr(request, table, key) => {
                self.analyze_subject_request(report, (request, *table, key), params, timing)
            }
            _ => Err(SqlError::unsupported("EXPLAIN ANALYZE of this statement")),
        }
    }

    fn analyze_query(
        &mut self,
        report: &mut Report,
        query: &Arc<Query>,
        params: &Arc<[Datum]>,
        timing: bool,
    ) -> Result<Duration, SqlError> {
        let profile = Profile::new(&query.plan, timing);
        if query.locks_rows() {
            self.transaction();
        }
        let started = Instant::now();
        self.statement.profile = Some(profile.clone());
        let rows = self.query_rows(query, params.clone());
        self.statement.profile = None;
        let (mut count, mut first) = (0, None);
        for row in rows? {
            row?;
            first.get_or_insert_with(|| started.elapsed());
            count += 1;
        }
        let all = started.elapsed();
        self.fill(report, &profile);
        set(report.operators.first_mut(), actual(count, timing.then_some((first, all))));
        Ok(all)
    }

    /// How long it took, or why the view has no answer for the keys.
    fn analyze_view(
        &mut self,
        report: &mut Report,
        own: &OwnView,
        params: &Arc<[Datum]>,
        timing: bool,
    ) -> Result<Result<Duration, NoView>, SqlError> {
        let context = self.eval_context(params.clone(), own.snapshot.catalog());
        let started = Instant::now();
        let rows = match self.rows_of(own, params)? {
            Ok(rows) => rows,
            Err(why) => return Ok(Err(why)),
        };
        let mut count = 0;
        for row in rows {
            row?;
            count += 1;
        }
        let (rows, took) = (count, started.elapsed());
        let times = timing.then_some((None, took));
        set(report.operators.get_mut(0), actual(rows, times));
        set(report.operators.get_mut(1), actual(rows, times));
        if let Some(read) = report.operators.get_mut(1) {
            read.held.push(("keys", read::keys(&own.lifted, &context)?.map_or(0, |keys| keys.len() as u64)));
            read.held.extend(sizes(&own.state));
        }
        let environment = context.environment.as_ref();
        let operators = inspect(&self.database, environment)?;
        let operators = operators.into_iter().filter(|operator| operator.view == own.id);
        // The lines of the view's plan follow that of the read.
        for (line, arranged) in operators.filter_map(|operator| Some((operator.line?, operator.arranged?))) {
            let Some(shown) = report.operators.get_mut(2 + line) else { continue };
            for (name, more) in [("updates", arranged.updates), ("bytes", arranged.bytes)] {
                match shown.held.iter_mut().find(|(held, _)| *held == name) {
                    Some((_, sum)) => *sum += more as u64,
                    None => shown.held.push((name, more as u64)),
                }
            }
        }
        Ok(Ok(took))
    }

    /// What each operator of a plan did, and what is held of the views that it reads.
    fn fill(&mut self, report: &mut Report, profile: &Profile) {
        let catalog = self.own(&self.catalog());
        let published = self.database.published.load_full();
        for operator in &mut report.operators {
            let Some(actual) = operator.node.and_then(|node| profile.actual(node)) else { continue };
            let view = operator.relation.as_ref().and_then(|name| {
                catalog.relations.values().find(|table| planner::explain::shown_relation(&catalog, table.id) == *name)
            });
            if let Some(state) = view.filter(|view| view.is_maintained()).and_then(|view| published.views.get(view.id))
            {
                operator.held.extend(sizes(state));
            }
            operator.foreseen.way = operator.node.and_then(|node| profile.way(node));
            operator.actual = Some(actual);
        }
    }
}

pub(super) fn actual(rows: u64, times: Option<(Option<Duration>, Duration)>) -> Actual {
    Actual { loops: 1, rows, times }
}

pub(super) fn set(operator: Option<&mut OperatorLine>, actual: Actual) {
    if let Some(operator) = operator {
        operator.actual = Some(actual);
    }
}

/// What is read of a view: its first arrangement.
fn sizes(state: &ViewState) -> impl Iterator<Item = (&'static str, u64)> {
    let sizes = |arrangement: &state::view_states::Arrangement| {
        [("batches", arrangement.batches.len() as u64), ("updates", arrangement.updates() as u64)]
    };
    state.arrangements.first().map(sizes).into_iter().flatten()
}
