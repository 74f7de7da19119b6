//! The columns of what a statement gives: told before it runs, and compared when it runs again.

use crate::session::cases::{request_columns, restrict_columns, unforget_columns};
use planner::hir::OutputColumn;
use planner::parse::Statement;
use planner::parse::request::RequestStatement;
use planner::parse::statement::{ComplianceFormat, ExplainFormat, ExplainOptions};
use planner::parse::utility::Show;
use planner::plan::WritePlan;
use planner::resolve::GdprRequest;
use planner::system::{DATAFLOW, find_by_id};
use planner::{Explained, Planned};
use repr::{ColumnType, ScalarType};
use state::SqlError;
use state::error::REVALIDATE_CACHED_QUERY;
use state::settings::spelled;
use std::sync::{Arc, OnceLock};

/// The columns of a result, and what was made of them for the client.
#[derive(Debug)]
pub struct ResultColumns {
    /// The columns.
    pub list: Arc<[OutputColumn]>,
    /// The message that describes them if all are text, and if all are binary: most clients ask with every execution.
    pub described: [OnceLock<Box<[u8]>>; 2],
}

impl ResultColumns {
    /// Of a result, not yet described.
    pub fn new(list: Arc<[OutputColumn]>) -> Self {
        ResultColumns { list, described: Default::default() }
    }
}

/// Those of a statement as it is planned; none if it gives no rows.
pub fn result_columns(statement: &Statement, planned: &Planned) -> Option<Arc<[OutputColumn]>> {
    match planned {
        Planned::Query(query) => Some(query.columns.as_slice().into()),
        Planned::Write(plan) => returning(plan).map(Into::into),
        Planned::With(plan) => plan.columns().map(Into::into),
        Planned::Explain(explained) => Some(explain_columns(explained)),
        Planned::Gdpr(GdprRequest::Get(_), ..) => Some(subject_requests::access::columns()),
        Planned::Gdpr(GdprRequest::Forget(_) | GdprRequest::ExplainForget(_), ..) => Some(forget_columns()),
        Planned::Gdpr(GdprRequest::Unforget, ..) => Some(unforget_columns()),
        Planned::Gdpr(GdprRequest::Enter(..), ..) => Some(request_columns()),
        Planned::Gdpr(GdprRequest::Restrict(_), ..) => Some(restrict_columns()),
        Planned::Gdpr(GdprRequest::Rekey, ..) => Some(rekey_columns()),
        Planned::Call(query) => (!query.columns.is_empty()).then(|| query.columns.as_slice().into()),
        Planned::Subscribe(plan) => Some(plan.columns.as_slice().into()),
        Planned::Other => utility_columns(statement),
        Planned::Gdpr(GdprRequest::Export(..), ..)
        | Planned::CopyIn(..)
        | Planned::CopyOut(..)
        | Planned::CreateTableAs(..)
        | Planned::Described(..)
        | Planned::SubscribeCursor(..)
        | Planned::Cursor(..) => None,
    }
}

/// Those of RETURNING.
pub fn returning(plan: &WritePlan) -> Option<&[OutputColumn]> {
    plan.returning().map(|returning| returning.columns.as_slice())
}

/// The columns that a statement without a plan of its own gives.
pub(crate) fn utility_columns(statement: &Statement) -> Option<Arc<[OutputColumn]>> {
    match statement {
        Statement::Show(Show::Setting(name)) => Some(text_columns(&[spelled(name)])),
        Statement::Show(Show::All) => Some(text_columns(&["name", "setting", "description"])),
        Statement::Request(RequestStatement::Answer { extends: true, .. }) => Some(request_columns()),
        Statement::ExplainCompliance { format } => Some(compliance_columns(*format)),
        Statement::ExplainDataflow { format } => Some(dataflow_columns(*format)),
        _ => None,
    }
}

/// Nullable text columns of these names.
pub(crate) fn text_columns(names: &[&str]) -> Arc<[OutputColumn]> {
    let column = |name: &&str| OutputColumn {
        name: (*name).to_string(),
        column_type: ColumnType::nullable(ScalarType::Text),
        origin: None,
    };
    names.iter().map(column).collect()
}

const COLUMN: &str = "QUERY PLAN";

/// The columns of EXPLAIN DATAFLOW: those of the relation, or the graph in one.
pub(crate) fn dataflow_columns(format: ComplianceFormat) -> Arc<[OutputColumn]> {
    match (format, find_by_id(DATAFLOW)) {
        (ComplianceFormat::Text, Some(relation)) => {
            let column = |column: &planner::system::SystemColumn| OutputColumn {
                name: column.name.to_string(),
                column_type: ColumnType::nullable(column.scalar.clone()),
                origin: None,
            };
            relation.columns.iter().map(column).collect()
        }
        (ComplianceFormat::Dot | ComplianceFormat::Json | ComplianceFormat::Text, _) => text_columns(&["graph"]),
    }
}

/// EXPLAIN's one column.
pub(crate) fn explain_columns(explained: &Explained) -> Arc<[OutputColumn]> {
    match explained {
        Explained::Statement(ExplainOptions { format: ExplainFormat::Json, .. }) => Arc::from([OutputColumn {
            name: COLUMN.into(),
            column_type: ColumnType::nullable(ScalarType::Json),
            origin: None,
        }]),
        Explained::Statement(_) | Explained::Rung(_) => text_columns(&[COLUMN]),
    }
}

/// A column that is never NULL.
pub(super) fn column(name: &str, scalar: ScalarType) -> OutputColumn {
    OutputColumn { name: name.into(), column_type: ColumnType::not_null(scalar), origin: None }
}

/// The columns of GDPR REKEY.
pub(crate) fn rekey_columns() -> Arc<[OutputColumn]> {
    Arc::from([column("rows", ScalarType::Int8)])
}

/// The columns of GDPR FORGET and of its EXPLAIN.
pub(crate) fn forget_columns() -> Arc<[OutputColumn]> {
    Arc::from([
        column("table_name", ScalarType::Text),
        column("deleted", ScalarType::Int8),
        column("anonymized", ScalarType::Int8),
        column("disowned", ScalarType::Int8),
    ])
}

/// The columns of EXPLAIN COMPLIANCE.
pub(crate) fn compliance_columns(format: ComplianceFormat) -> Arc<[OutputColumn]> {
    match format {
        ComplianceFormat::Text => text_columns(&["severity", "table_name", "subject", "path", "message", "hint"]),
        ComplianceFormat::Dot | ComplianceFormat::Json => text_columns(&["graph"]),
    }
}

/// Whether two results differ for a client that was told of the first: in number, names or types of their columns. A composite that
/// has other attributes by now is the type that it was.
pub fn differ(told: Option<&[OutputColumn]>, found: Option<&[OutputColumn]>) -> bool {
    match (told, found) {
        (Some(told), Some(found)) => {
            let same = |(told, found): (&OutputColumn, &OutputColumn)| {
                let (one, other) = (&told.column_type, &found.column_type);
                told.name == found.name && one.scalar.oid() == other.scalar.oid() && one.modifier == other.modifier
            };
            told.len() != found.len() || !told.iter().zip(found).all(same)
        }
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    }
}

/// 0A000 with PostgreSQL's words and routine: drivers that keep statements prepare it again when they read them.
pub fn result_changed() -> SqlError {
    SqlError::new("0A000", "cached plan must not change result type").routine(&REVALIDATE_CACHED_QUERY)
}
