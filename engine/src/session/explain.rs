//! EXPLAIN: the plan of a statement, which way it goes, and why it does not read a view.
//!
//! Goes the way that the statement itself would go, up to the point of reading, and with ANALYZE to its end: what is
//! said is what happens. Explaining is no execution, and earns no view.

mod analyze;
mod dataflow;
mod subject;

use crate::response::{Response, RowStream, RowTag, text_rows};
use crate::session::Session;
use crate::session::names::Seen;
use crate::session::ordered_indexes::source;
use crate::session::plan::{self, CachedPlan};
use crate::session::plan::{Prepared, is_lookup, reads_rows};
use crate::session::result_columns::explain_columns;
use crate::session::view_choice::{Asking, OwnView};
use operators::plan::children;
use operators::profile::Profile;
use operators::query;
use planner::catalog::Catalog;
use planner::explain::report::{OperatorLine, Path, Report};
use planner::explain::{ViewRead, query_operators, view_read, with_operators, write_operators};
use planner::parse::statement::ExplainFormat;
use planner::parse::{ParsedStatement, Statement};
use planner::plan::{Plan, Query};
use planner::{Explained, Planned};
use repr::Datum;
use state::SqlError;
use state::answer::QueryRows;
use state::reader::Reader;
use std::sync::Arc;
use std::time::Instant;
use views::automatic;
use views::no_view::NoView;

impl Session {
    pub(super) fn explain(
        &mut self,
        explained: &Explained,
        prepared: &Prepared,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        let options = match explained {
            Explained::Statement(options) => options,
            Explained::Rung(lines) => {
                let rows = lines.iter().map(|line| vec![line.clone()]).collect();
                return Ok(text_rows(explain_columns(explained), rows, "EXPLAIN"));
            }
        };
        let started = Instant::now();
        let (inner, params) = self.explained(prepared, &params)?;
        let cached = self.current_plan(&inner)?;
        self.permitted(&cached)?;
        let unread = self.unreadable(&cached)?;
        let cached = self.readable_plan(&inner, cached)?;
        self.take_styles(&cached)?;
        let planning = started.elapsed();
        let (mut report, own) = self.way(&inner, &cached, unread, &params)?;
        if own.is_none() && options.costs {
            self.expect(&mut report, &cached);
        }
        let ordered_indexes = if own.is_none() { self.explain_orders(&cached)? } else { Vec::new() };
        if options.analyze {
            if in_script {
                self.transaction();
            }
            // How long it took tells of rows that are hidden from whoever asks.
            let tells = !cached.permission.needs.hides_rows();
            let execution = self.analyze(&mut report, own, &cached, &params, options.timing && tells)?;
            report.execution = (options.summary && tells).then_some(execution);
        } else if own.is_none() {
            self.foresee(&mut report, &cached, &params)?;
        }
        report.ordered_indexes = ordered_indexes;
        report.planning = options.summary.then_some(planning);
        let lines = match options.format {
            ExplainFormat::Text => report.text(),
            ExplainFormat::Json => vec![report.json()],
            ExplainFormat::Xml => vec![report.xml()],
            ExplainFormat::Yaml => vec![report.yaml()],
        };
        let rows = lines.into_iter().map(|line| Ok(vec![Datum::Text(line.into())])).collect::<Vec<_>>();
        Ok(Response::Rows(RowStream {
            columns: explain_columns(explained),
            rows: QueryRows::new(rows.into_iter()),
            tag: RowTag::Fixed("EXPLAIN".into()),
        }))
    }

    /// The statement inside, and the values of its parameters.
    fn explained(&self, prepared: &Prepared, params: &Arc<[Datum]>) -> Result<(Arc<Prepared>, Arc<[Datum]>), SqlError> {
        let Statement::Explain { statement, .. } = &prepared.statement else {
            return Err(SqlError::new("XX000", "EXPLAIN without a statement inside"));
        };
        if let Statement::Execute { name, arguments } = &**statement {
            return self.executed(name, arguments, params);
        }
        let known: Vec<_> = prepared.param_types.iter().cloned().map(Some).collect();
        let parsed = ParsedStatement { statement: Statement::clone(statement), ..prepared.parsed.clone() };
        let inner = plan::prepare(parsed, &self.seen(), &known)?;
        Ok((Arc::new(inner), params.clone()))
    }

    /// Says how many rows are expected of each operator, where statistics tell.
    fn expect(&self, report: &mut Report, cached: &CachedPlan) {
        let Some(query) = source(&cached.planned) else { return };
        let Seen { catalog, statistics, .. } = self.seen();
        let expected = planner::expected_rows(&query.plan, &catalog, &statistics, !cached.is_of_role());
        for operator in &mut report.operators {
            operator.foreseen.rows = operator.node.and_then(|node| expected.get(&node).copied());
        }
    }

    /// Says which way each table's rows would be found now, where that depends on sizes and on what is in memory.
    fn foresee(&mut self, report: &mut Report, cached: &CachedPlan, params: &Arc<[Datum]>) -> Result<(), SqlError> {
        let Some(query) = source(&cached.planned) else { return Ok(()) };
        let snapshot = self.snapshot()?;
        let context = self.eval_context(params.clone(), snapshot.catalog());
        let profile = Profile::new(&query.plan, false);
        let limits = self.limits(snapshot.time());
        query::foresee(query, self.readable(snapshot), context, limits, profile.clone());
        for operator in &mut report.operators {
            operator.foreseen.way = operator.node.and_then(|node| profile.way(node));
        }
        Ok(())
    }

    /// Which way a statement goes, and the view of its own that it reads. `unread`: why its plan computes the views
    /// that it names.
    fn way(
        &mut self,
        inner: &Prepared,
        cached: &CachedPlan,
        unread: Option<NoView>,
        params: &[Datum],
    ) -> Result<(Report, Option<OwnView>), SqlError> {
        let catalog = self.catalog();
        let report = match &cached.planned {
            Planned::Query(query) => {
                let own = match unread {
                    Some(why) => Err(why),
                    None => self.own_view(inner, cached, query, Asking::ToExplain)?,
                };
                match own {
                    Ok(own) => {
                        let name = automatic::name(own.id);
                        let ViewRead { operators, keys } = view_read(&own.lifted, &query.columns, &name, &catalog);
                        let rows_min = own.state.rows_min();
                        return Ok((report(operators, Path::Automatic { name, keys, rows_min }, None), Some(own)));
                    }
                    Err(why) => one_shot(query, cached, why, &catalog),
                }
            }
            Planned::Write(plan) => {
                let why = unread.unwrap_or(NoView::Writes);
                Report { operators: write_operators(plan, &catalog), ..one_shot(plan.source(), cached, why, &catalog) }
            }
            Planned::With(plan) => {
                let why = unread.unwrap_or(NoView::Writes).text(&catalog);
                report(with_operators(plan, &catalog), Path::OneShot { over: Vec::new() }, Some(why))
            }
            Planned::CreateTableAs(_, query) => one_shot(query, cached, unread.unwrap_or(NoView::Writes), &catalog),
            Planned::Subscribe(plan) => {
                let lifted = plan.watched.with(&self.eval_context(params.into(), &catalog), &catalog)?;
                let known = self.database.views.automatic.find(&lifted.identity).and_then(|entry| entry.view());
                let name = known.map_or_else(|| "(made when it begins)".into(), automatic::name);
                let ViewRead { operators, keys } = view_read(&lifted, &plan.query.columns, &name, &catalog);
                report(operators, Path::Automatic { name, keys, rows_min: None }, None)
            }
            Planned::Gdpr(request, table, _) => self.subject_report(request, *table)?,
            _ => return Err(SqlError::unsupported("EXPLAIN of this statement")),
        };
        Ok((report, None))
    }
}

fn report(operators: Vec<OperatorLine>, path: Path, why_no_view: Option<String>) -> Report {
    Report { operators, path, why_no_view, ordered_indexes: Vec::new(), planning: None, execution: None }
}

/// A query that is answered from no view of its own.
fn one_shot(query: &Query, cached: &CachedPlan, why: NoView, catalog: &Catalog) -> Report {
    let (path, why) = computed(query, cached, why, catalog);
    report(query_operators(query, catalog), path, why.map(|why| why.text(catalog)))
}

/// The path of a query that is answered from no view of its own.
fn computed(query: &Query, cached: &CachedPlan, why: NoView, catalog: &Catalog) -> (Path, Option<NoView>) {
    let names = cached.views.list.iter().filter_map(|view| catalog.table(*view)).map(|view| view.name.clone());
    let over: Vec<String> = names.collect();
    if let ([view], true) = (over.as_slice(), reads_rows(&query.plan)) {
        return (Path::Maintained(view.clone()), None);
    }
    if reads_nothing(&query.plan) {
        return (Path::OneShot { over }, Some(NoView::NoTable));
    }
    if is_lookup(&query.plan) { (Path::Lookup, None) } else { (Path::OneShot { over }, Some(why)) }
}

/// Whether a plan has no table in it.
fn reads_nothing(plan: &Plan) -> bool {
    !matches!(plan, Plan::Get { .. } | Plan::LookupJoin { .. }) && children(plan).into_iter().all(reads_nothing)
}
