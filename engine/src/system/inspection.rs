//! What goes on inside: the operators and arrangements of views, who watches them, and who reads which snapshot.

use crate::graph;
use crate::system::Catalogs;
use planner::scalar::Environment;
use repr::{Datum, RelationId, Row};
use state::SqlError;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use transactions::commit::shutting_down;
use transactions::database::Database;
use views::automatic::{self, without_values};
use views::inspection::{Inspected, in_words};
use views::message::ViewRequest;

/// All operators of all views, once their workers have done what was asked of them before. Waits no longer than the
/// statement may.
pub fn inspect(database: &Database, environment: &dyn Environment) -> Result<Vec<Inspected>, SqlError> {
    let (reply, answer) = channel();
    database.ask_views(ViewRequest::Inspect(reply));
    let (mut found, mut answers) = (Vec::new(), 0);
    while answers < database.config.view_workers {
        match answer.recv_timeout(Duration::from_millis(10)) {
            Ok(more) => {
                answers += 1;
                found.extend(more);
            }
            Err(RecvTimeoutError::Timeout) => environment.sleep(Duration::ZERO)?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(shutting_down());
            }
        }
    }
    Ok(in_words(found, database.published.load().catalog()))
}

fn text(value: &str) -> Datum {
    Datum::Text(value.into())
}

fn number(value: impl TryInto<i64>) -> Datum {
    Datum::Int8(value.try_into().unwrap_or(i64::MAX))
}

impl Catalogs {
    /// `dogwood.operators`
    pub(super) fn operators(&self) -> Result<Vec<Row>, SqlError> {
        let inspected = inspect(&self.database, self.context.environment.as_ref())?;
        let rows = inspected.iter().map(|found| {
            let mut row = self.operator(found);
            row.extend([number(found.invocations), number(found.elapsed.as_micros())]);
            Row::pack(&row)
        });
        Ok(rows.collect())
    }

    /// `dogwood.arrangements`
    pub(super) fn arrangements(&self) -> Result<Vec<Row>, SqlError> {
        let inspected = inspect(&self.database, self.context.environment.as_ref())?;
        let rows = inspected.iter().filter_map(|found| {
            let arranged = found.arranged?;
            let mut row = self.operator(found);
            row.extend([number(arranged.updates), number(arranged.batches), number(arranged.bytes)]);
            Some(Row::pack(&row))
        });
        Ok(rows.collect())
    }

    /// `dogwood.dataflow`
    pub(super) fn dataflow(&self) -> Result<Vec<Row>, SqlError> {
        let operators = graph::operators(&self.database, &self.catalog, self.context.environment.as_ref())?;
        Ok(operators.iter().map(|operator| Row::pack(&graph::datums(operator))).collect())
    }

    /// Which operator of which view, and what it stands for.
    fn operator(&self, found: &Inspected) -> Vec<Datum> {
        let [view, relation] = self.view(found.view);
        // What the plan compares with is of whoever asked.
        let renders = if found.line.is_some() { without_values(&found.renders) } else { found.renders.clone() };
        vec![view, relation, number(found.operator), text(&found.name), text(&renders)]
    }

    /// A view's name and id.
    fn view(&self, view: RelationId) -> [Datum; 2] {
        let table = self.catalog.table(view);
        let name = table.map_or_else(|| automatic::name(view), |table| self.catalog.server_name(table).into_owned());
        [text(&name), Datum::Oid(view.0)]
    }

    /// `dogwood.subscriptions`
    pub(super) fn subscriptions(&self) -> Vec<Row> {
        let listed = self.database.views.subscriptions.list().into_iter().map(|listed| {
            let [view, relation] = self.view(listed.view);
            Row::pack(&[
                number(listed.number),
                listed.begun.map_or(Datum::Null, |begun| Datum::Int4(begun.backend)),
                view,
                relation,
                listed.begun.map_or(Datum::Null, |begun| number(begun.since.0)),
                number(listed.queued_changes),
                number(listed.queued_bytes),
                number(listed.delivered_changes),
                listed.ended.map_or(Datum::Null, |error| text(&error.message)),
            ])
        });
        listed.collect()
    }

    /// `dogwood.snapshots`
    pub(super) fn snapshots(&self) -> Vec<Row> {
        let now = self.database.published.load().time;
        let held = self.database.sessions.holders.held();
        held.into_iter()
            .map(|(backend, time, since)| {
                Row::pack(&[
                    Datum::Int4(backend),
                    number(time.0),
                    number(now.0.saturating_sub(time.0)),
                    number(since.elapsed().as_micros()),
                ])
            })
            .collect()
    }
}
