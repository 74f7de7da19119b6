//! EXPLAIN DATAFLOW: the graph of operators of the whole database, as `dogwood.dataflow` has it, or to draw.

use crate::graph;
use crate::response::{Response, RowStream, RowTag};
use crate::session::Session;
use crate::session::result_columns::dataflow_columns;
use planner::parse::statement::ComplianceFormat;
use repr::Datum;
use state::SqlError;
use state::answer::QueryRows;
use std::sync::Arc;

impl Session {
    pub(in crate::session) fn explain_dataflow(&mut self, format: ComplianceFormat) -> Result<Response, SqlError> {
        self.refuse_persons("view dataflow")?;
        let catalog = self.catalog();
        let context = self.eval_context(Arc::from([]), &catalog);
        let operators = graph::operators(&self.database, &catalog, context.environment.as_ref())?;
        let rows: Vec<Vec<Datum>> = match format {
            ComplianceFormat::Text => operators.iter().map(graph::datums).collect(),
            ComplianceFormat::Dot => vec![vec![Datum::Text(graph::dot(&operators, &catalog).into())]],
            ComplianceFormat::Json => vec![vec![Datum::Text(graph::json(&operators).into())]],
        };
        Ok(Response::Rows(RowStream {
            columns: dataflow_columns(format),
            rows: QueryRows::new(rows.into_iter().map(Ok)),
            tag: RowTag::Fixed("EXPLAIN".into()),
        }))
    }
}
