//! The planner's door for the engine: a statement to something that can be run, and the plans of a table's
//! own expressions. All rungs in one call; pure.

use crate::catalog::{Catalog, DatabaseId, Scope, Table};
use crate::error::PlanError;
use crate::explain;
use crate::hir::OutputColumn;
use crate::lift::{AbsentKeys, Lifted, lift};
use crate::lower::{self, lower_query, plan_query, plan_with, plan_write};
use crate::mir::row_expr::plan_expr;
use crate::ownership::graph::{Dog, KeyForm};
use crate::parse::definition::{CreateTableAs, DescriptionVerb};
use crate::parse::statement::{ExplainFormat, ExplainOptions, Rung, TypeName};
use crate::parse::utility::{CopyOptions, DeclareCursor};
use crate::parse::{ParsedStatement, Statement};
use crate::physical::expected::ExpectedRows;
use crate::physical::{self, KeyForms, MaintainedPlan};
use crate::plan::{InsertPlan, ParamTypes, Plan, Query, RowChecks, WithPlan, WritePlan};
use crate::resolve::ddl::{DdlPlan, DomainCondition, Labels, RewriteColumn, RewriteValue, plan_ddl, resolver_hook};
use crate::resolve::maintainable::depends_on_styles;
use crate::resolve::positioned::CursorTables;
use crate::resolve::statement::{ExpressionUse, check_expression, resolve_arguments};
use crate::resolve::view_query;
use crate::resolve::{
    GdprRequest, Needs, PolicyUse, Resolution, Resolved, SessionInfo, ViewUse, default_expression,
    next_value_expression, resolve_reads, row_checks,
};
use crate::scalar::ScalarExpr;
use crate::statistics::{KnownStatistics, TableStatistics};
use crate::subscribe::{SubscribePlan, told, watched};
use crate::transform;
use repr::{ColumnIndex, ColumnType, RelationId, ScalarType};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A statement, ready to run.
pub enum Planned {
    /// A query.
    Query(Arc<Query>),
    /// INSERT, UPDATE, DELETE.
    Write(Arc<WritePlan>),
    /// One of these whose WITH writes.
    With(Arc<WithPlan>),
    /// COPY … FROM STDIN.
    CopyIn(Arc<CopyInPlan>, CopyOptions),
    /// COPY … TO STDOUT of a planned statement.
    CopyOut(Box<Planned>, CopyOptions),
    /// CREATE TABLE … AS a query.
    CreateTableAs(Box<CreateTableAs>, Arc<Query>),
    /// INSERT, UPDATE or DELETE of pg_description.
    Described(DescriptionVerb, Arc<Query>),
    /// DECLARE … CURSOR FOR a query, with the keys of its tables' rows behind its columns.
    Cursor(Box<DeclareCursor>, Arc<Query>, CursorTables),
    /// SUBSCRIBE, within COPY.
    Subscribe(Arc<SubscribePlan>),
    /// DECLARE … CURSOR FOR SUBSCRIBE.
    SubscribeCursor(Box<DeclareCursor>, Arc<SubscribePlan>),
    /// GDPR GET, FORGET, EXPORT and EXPLAIN GDPR FORGET: the subject's table and key.
    Gdpr(GdprRequest, RelationId, Vec<ScalarExpr>),
    /// CALL: a row of what comes out, if anything does.
    Call(Arc<Query>),
    /// EXPLAIN.
    Explain(Explained),
    /// Anything else: for the session.
    Other,
}

/// A plan and the types of its parameters.
pub struct PlannedStatement {
    /// The plan.
    pub planned: Planned,
    /// The types of `$1`, `$2`, ….
    pub params: ParamTypes,
    /// Maintained views that it reads as relations.
    pub views: Vec<RelationId>,
    /// What whoever runs it must be allowed.
    pub needs: Needs,
    /// Whether the plan is for the role alone that it was planned for.
    pub of_role: bool,
    /// Of the maintained views that it computes.
    pub styled: StyledViews,
}

/// Whether maintained views that a statement computes depend on the styles in which values are read and written. Whoever asks,
/// these are those of no session: UTC and ISO dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StyledViews {
    /// None does.
    None,
    /// Some do, and nothing else of the statement.
    Alone,
    /// Some do, and something else may, for which the session's styles count.
    Beside,
}

/// What EXPLAIN shows.
pub enum Explained {
    /// A rung above the last, as lines.
    Rung(Vec<String>),
    /// What runs, and which way: found when it is asked for, of the statement inside.
    Statement(ExplainOptions),
}

/// What a maintained view in a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaintainedViewUse {
    /// A relation, whose rows a dataflow keeps.
    Read,
    /// Its query, as for a transaction that sees its own changes.
    Expand,
}

/// COPY FROM, ready to run.
pub struct CopyInPlan {
    /// The table's name.
    pub table_name: String,
    /// The columns that each row of the data has.
    pub columns: Vec<OutputColumn>,
    /// Where they stand in the physical row.
    pub positions: Vec<ColumnIndex>,
    /// Columns of the physical row.
    pub width: usize,
    /// Columns that the data does not have.
    pub absent: AbsentColumns,
    /// What values that are read must pass for the domains of fields in them: over a row of the value alone.
    pub tests: Vec<(ColumnIndex, ScalarExpr)>,
    /// What a row, with its defaults, must meet.
    pub condition: Option<ScalarExpr>,
    /// What is done with each row.
    pub insert: InsertPlan,
}

/// What columns hold that data do not have, over nothing.
pub struct AbsentColumns {
    /// Their defaults.
    pub defaults: Vec<(ColumnIndex, ScalarExpr)>,
    /// When a row ends that does not say it itself.
    pub expiry: Option<(ColumnIndex, ScalarExpr)>,
}

/// A column of a definition that every stored row gets anew.
pub struct Rewrite {
    /// The column.
    pub column: ColumnIndex,
    /// Its value.
    pub expr: ScalarExpr,
    /// Over the row as it becomes, rather than as it was (generated columns).
    pub over_new_row: bool,
}

/// What is known of relations while a statement is planned.
struct KnownRelations<'a> {
    catalog: &'a Catalog,
    dog: OnceCell<Dog>,
    statistics: &'a KnownStatistics,
    /// Whoever asks sees all rows: policies may keep some of them from others, who then learn no values either.
    sees_all: bool,
}

impl<'a> KnownRelations<'a> {
    fn new(catalog: &'a Catalog, statistics: &'a KnownStatistics, sees_all: bool) -> Self {
        KnownRelations { catalog, dog: OnceCell::new(), statistics, sees_all }
    }
}

impl KeyForms for KnownRelations<'_> {
    fn ordered(&self, relation: RelationId) -> bool {
        let form = || self.dog.get_or_init(|| Dog::new(self.catalog)).key_form(self.catalog, relation);
        self.catalog.table(relation).is_some() && form() == KeyForm::Ordered
    }

    fn statistics(&self, relation: RelationId) -> Option<&TableStatistics> {
        let known = self.statistics.tables.get(&relation)?;
        Some(if self.sees_all { &known.whole } else { &known.bare })
    }
}

/// Plans a statement. Some parameter types may be given; the rest are inferred. Statistics decide how its rows are found,
/// never which.
///
/// # Errors
/// PostgreSQL's, with positions in the whole query string.
pub fn plan_statement<'a>(
    parsed: &ParsedStatement,
    scope: impl Into<Scope<'a>>,
    param_types: &[Option<ScalarType>],
    views: MaintainedViewUse,
    statistics: &KnownStatistics,
) -> Result<PlannedStatement, PlanError> {
    let views = match views {
        MaintainedViewUse::Read => ViewUse::Read,
        MaintainedViewUse::Expand => ViewUse::Expand,
    };
    let Scope { catalog, path } = scope.into();
    let session = SessionInfo { path: path.clone(), views, policies: PolicyUse::Apply, relabel: None };
    let Resolution { resolved, params, views, computed, needs, of_role, .. } =
        resolve_reads(parsed, catalog, &session, param_types)?;
    let styled = match is_any_styled(&computed, catalog)? {
        false => StyledViews::None,
        // What a policy says is said in the session's styles.
        true if of_role => StyledViews::Beside,
        true => {
            let session = SessionInfo { views: ViewUse::Read, ..session.clone() };
            let found = resolve_reads(parsed, catalog, &session, param_types)?;
            let is_alone = found.resolved.query().is_some_and(|query| !depends_on_styles(query));
            if is_alone { StyledViews::Alone } else { StyledViews::Beside }
        }
    };
    let known = KnownRelations::new(catalog, statistics, !of_role);
    let mut planned = plan_resolved(resolved, catalog, &known)?;
    if let Some(plan) = subscribe_plan(&mut planned).filter(|_| !views.is_empty()) {
        let session = SessionInfo { views: ViewUse::Expand, ..session };
        let found = resolve_reads(parsed, catalog, &session, param_types)?;
        // A literal would be read in the session's styles there, too.
        if !is_any_styled(&found.computed, catalog)? {
            let mut expanded = plan_resolved(found.resolved, catalog, &known)?;
            Arc::make_mut(plan).expanded = subscribe_plan(&mut expanded).cloned();
        }
    }
    Ok(PlannedStatement { planned, params, views: views.into_iter().collect(), needs, of_role, styled })
}

/// Whether one of these views depends on them. What is computed below is among them.
fn is_any_styled(views: &BTreeSet<RelationId>, catalog: &Catalog) -> Result<bool, PlanError> {
    for view in views {
        if depends_on_styles(&view_query(catalog, *view)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many rows each operator of a plan is expected to give, by its place in memory; of nothing if no table has statistics.
/// Who does not see all rows is told nothing that follows from others' values.
pub fn expected_rows(plan: &Plan, catalog: &Catalog, statistics: &KnownStatistics, sees_all: bool) -> ExpectedRows {
    physical::expected::expected_rows(plan, catalog, &KnownRelations::new(catalog, statistics, sees_all))
}

/// SUBSCRIBE's plan, in whatever it stands.
fn subscribe_plan(planned: &mut Planned) -> Option<&mut Arc<SubscribePlan>> {
    match planned {
        Planned::Subscribe(plan) | Planned::SubscribeCursor(_, plan) => Some(plan),
        Planned::CopyOut(what, _) => subscribe_plan(what),
        _ => None,
    }
}

fn plan_resolved(resolved: Resolved, catalog: &Catalog, forms: &KnownRelations<'_>) -> Result<Planned, PlanError> {
    Ok(match resolved {
        Resolved::Query(query) => Planned::Query(Arc::new(plan_query(&query, catalog, forms)?)),
        Resolved::Write(write) => Planned::Write(Arc::new(plan_write(&write, catalog, forms)?)),
        Resolved::With(with) => Planned::With(Arc::new(plan_with(&with, catalog, forms)?)),
        Resolved::CreateTableAs { create, query } => {
            Planned::CreateTableAs(create, Arc::new(plan_query(&query, catalog, forms)?))
        }
        Resolved::Described { verb, query } => Planned::Described(verb, Arc::new(plan_query(&query, catalog, forms)?)),
        Resolved::CopyFrom { insert, columns, condition, table, options } => {
            let relation = insert.table;
            let plan = plan_write(&crate::hir::WriteHir::Insert(*insert), catalog, forms)?;
            let WritePlan::Insert(insert) = plan else {
                return Err(PlanError::new("XX000", "COPY FROM is planned as an INSERT"));
            };
            let target = catalog.table(relation).ok_or_else(|| PlanError::new("42P01", "the table is gone"))?;
            let condition = condition.as_ref().map(plan_expr).transpose()?;
            let plan = copy_in(catalog, target, table, columns, insert)?;
            Planned::CopyIn(Arc::new(CopyInPlan { condition, ..plan }), options)
        }
        Resolved::CopyTo { what, options } => {
            Planned::CopyOut(Box::new(plan_resolved(*what, catalog, forms)?), options)
        }
        Resolved::DeclareCursor { cursor, what, tables } => match plan_resolved(*what, catalog, forms)? {
            Planned::Query(query) => Planned::Cursor(cursor, query, tables),
            Planned::Subscribe(plan) => Planned::SubscribeCursor(cursor, plan),
            _ => return Err(PlanError::unsupported("DECLARE CURSOR for anything but a query")),
        },
        Resolved::Subscribe { query, terms, form, text } => {
            let watched = watched(&query, catalog)?;
            let (told, columns) = told(&form, &query.columns)?;
            let query = Arc::new(plan_query(&query, catalog, forms)?);
            let expanded = None;
            let plan = SubscribePlan { watched, columns, terms, told, text, query, expanded };
            Planned::Subscribe(Arc::new(plan))
        }
        Resolved::Gdpr { request, table, key } => {
            Planned::Gdpr(request, table, key.iter().map(plan_expr).collect::<Result<_, _>>()?)
        }
        Resolved::Explain { options, what } => Planned::Explain(explain_resolved(&options, &what, catalog)?),
        Resolved::Call(query) => Planned::Call(Arc::new(plan_query(&query, catalog, forms)?)),
        Resolved::Other(_) => Planned::Other,
    })
}

fn copy_in(
    catalog: &Catalog,
    table: &Table,
    table_name: String,
    columns: Vec<OutputColumn>,
    insert: InsertPlan,
) -> Result<CopyInPlan, PlanError> {
    let positions: Vec<ColumnIndex> =
        columns.iter().filter_map(|column| table.column_by_name(&column.name).map(|(position, _)| position)).collect();
    let mut defaults = Vec::new();
    for (position, column) in table.live_columns() {
        if !positions.contains(&position) && (column.default.is_some() || column.column_type.domain != 0) {
            defaults.push((position, plan_default(catalog, table, position)?));
        }
    }
    let mut tests = Vec::new();
    for position in &positions {
        let own = &table.columns[*position].column_type;
        if own.scalar.holds_domains() {
            tests.push((*position, plan_expr(&crate::resolve::domain::field_tests(catalog, own)?)?));
        }
    }
    let expiry = match table.filled_expiry() {
        None => None,
        Some((position, retention)) => {
            let column = &table.columns[position];
            let (text, session) = (retention.end(column), SessionInfo::default());
            let end = check_expression(&text, table, catalog, &session, ExpressionUse::Default(column))?;
            Some((position, plan_expr(&end)?))
        }
    };
    let width = table.columns.len();
    let absent = AbsentColumns { defaults, expiry };
    Ok(CopyInPlan { table_name, columns, positions, width, absent, tests, condition: None, insert })
}

fn explain_resolved(options: &ExplainOptions, what: &Resolved, catalog: &Catalog) -> Result<Explained, PlanError> {
    if options.rung == Rung::Physical {
        return match what {
            Resolved::Query(_)
            | Resolved::Write(_)
            | Resolved::With(_)
            | Resolved::Gdpr { request: GdprRequest::Get(_) | GdprRequest::Forget(_), .. } => {
                Ok(Explained::Statement(options.clone()))
            }
            // EXECUTE: the session knows what it stands for.
            Resolved::Other(_) => Ok(Explained::Statement(options.clone())),
            Resolved::CreateTableAs { .. } | Resolved::Subscribe { .. } if !options.analyze => {
                Ok(Explained::Statement(options.clone()))
            }
            Resolved::CreateTableAs { .. } | Resolved::Subscribe { .. } => {
                Err(PlanError::unsupported("EXPLAIN ANALYZE of this statement").hint("use EXPLAIN without ANALYZE"))
            }
            _ => Err(PlanError::unsupported("EXPLAIN of this statement")),
        };
    }
    if options.analyze || options.format != ExplainFormat::Text {
        let what = match options.format {
            _ if options.analyze => "ANALYZE",
            ExplainFormat::Xml => "FORMAT XML",
            ExplainFormat::Yaml => "FORMAT YAML",
            ExplainFormat::Json | ExplainFormat::Text => "FORMAT JSON",
        };
        return Err(PlanError::unsupported(format!("EXPLAIN ({what}) of an inner rung"))
            .hint("RESOLVED, LOWERED and OPTIMIZED are shown as text and never run"));
    }
    let Resolved::Query(query) = what else {
        return Err(PlanError::unsupported("EXPLAIN of an inner rung of anything but a query"));
    };
    let text = match options.rung {
        Rung::Resolved => explain::hir(query, catalog),
        Rung::Lowered => explain::mir(&lower_query(query, catalog)?, catalog),
        Rung::Optimized | Rung::Physical => {
            explain::mir(&transform::optimize(lower_query(query, catalog)?, catalog)?, catalog)
        }
    };
    Ok(Explained::Rung(text.lines().map(str::to_string).collect()))
}

/// Plans a definition over the resolver's hook.
///
/// # Errors
/// Those of `plan_ddl`; 0A000 for a materialized view that the clock changes in another way than by temporal filters.
pub fn plan_definition<'a>(
    statement: &Statement,
    scope: impl Into<Scope<'a>>,
    labels: Labels,
) -> Result<DdlPlan, PlanError> {
    let (scope, session) = (scope.into(), SessionInfo::default());
    let plan = plan_ddl(statement, scope, labels, &resolver_hook(&session))?;
    // Where conditions of the clock come to stand in a view is found out by planning it.
    let made = |table: &&Arc<Table>| table.is_maintained() && scope.catalog.table(table.id).is_none();
    if let Statement::CreateView(_) | Statement::CreateSchema(_) = statement {
        for view in plan.catalog.relations.values().filter(made) {
            plan_view(&plan.catalog, view.id)?;
        }
    }
    Ok(plan)
}

/// Plans the end of a restore over the resolver's hook.
///
/// # Errors
/// Those of `plan_restored`.
pub fn plan_restored(catalog: &Catalog, database: DatabaseId) -> Result<DdlPlan, PlanError> {
    let session = SessionInfo::default();
    crate::resolve::ddl::plan_restored(catalog, database, &resolver_hook(&session))
}

/// Plans a materialized view as what a dataflow maintains.
///
/// # Errors
/// Those of its stored query.
pub fn plan_view(catalog: &Catalog, relation: RelationId) -> Result<MaintainedPlan, PlanError> {
    lower::plan_maintained(&view_query(catalog, relation)?, catalog)
}

/// Plans a query as a view by key; none if the statement is no query. The reason, if it cannot be one. Asked for ranks by
/// parameters it holds the rows up to `ranks_held`.
///
/// # Errors
/// Those of `plan_statement`.
pub fn plan_lifted<'a>(
    parsed: &ParsedStatement,
    scope: impl Into<Scope<'a>>,
    param_types: &[Option<ScalarType>],
    ranks_held: i64,
) -> Result<Option<Result<Lifted, String>>, PlanError> {
    let Scope { catalog, path } = scope.into();
    let session = SessionInfo { path: path.clone(), policies: PolicyUse::Apply, ..SessionInfo::default() };
    let Resolution { resolved, of_kept_view, .. } = resolve_reads(parsed, catalog, &session, param_types)?;
    let (Resolved::Query(query) | Resolved::Subscribe { query, .. }) = resolved else { return Ok(None) };
    let lifted = lift(lower_query(&query, catalog)?, catalog, AbsentKeys::Computed, Some(ranks_held))?;
    Ok(Some(lifted.map(|lifted| Lifted { of_kept_view, ..lifted })))
}

/// What every row of a table must pass.
///
/// # Errors
/// Those of the stored expressions.
pub fn plan_row_checks(catalog: &Catalog, table: &Table) -> Result<RowChecks, PlanError> {
    lower::plan_checks(&row_checks(catalog, table)?)
}

/// What the values of a column must pass by a definition: over a row of that value alone. Of a condition false refuses, of all of
/// a domain the error says; none if it is asked that they are not NULL.
///
/// # Errors
/// Those of the domain's expressions.
pub fn plan_domain_condition(
    catalog: &Catalog,
    column_type: &ColumnType,
    condition: &DomainCondition,
) -> Result<Option<ScalarExpr>, PlanError> {
    match condition {
        DomainCondition::NotNull => Ok(None),
        DomainCondition::Whole => plan_expr(&crate::resolve::domain::domain_test(catalog, column_type)?).map(Some),
        DomainCondition::Check(domain, text) => {
            plan_expr(&crate::resolve::domain::domain_condition(catalog, *domain, text)?).map(Some)
        }
    }
}

/// A column's default, over nothing; NULL if it has none.
///
/// # Errors
/// Those of the stored expression.
pub fn plan_default(catalog: &Catalog, table: &Table, column: ColumnIndex) -> Result<ScalarExpr, PlanError> {
    plan_expr(&default_expression(catalog, table, column)?)
}

/// EXECUTE's arguments, cast to the statement's parameters.
///
/// # Errors
/// 42601, 42804.
pub fn plan_arguments<'a>(
    name: &str,
    arguments: &[sqlparser::ast::Expr],
    types: &[ScalarType],
    scope: impl Into<Scope<'a>>,
) -> Result<Vec<ScalarExpr>, PlanError> {
    let Scope { catalog, path } = scope.into();
    let session = SessionInfo { path: path.clone(), ..SessionInfo::default() };
    let types: Vec<ColumnType> = types.iter().cloned().map(ColumnType::nullable).collect();
    let values = resolve_arguments(name, arguments, &types, catalog, &session)?;
    values.iter().map(plan_expr).collect()
}

/// A value of one type as one of another, as assignment has it: over no columns, with the value as `$1`.
///
/// # Errors
/// 42804 where there is no way.
pub fn plan_conversion<'a>(
    from: &ScalarType,
    to: &ColumnType,
    scope: impl Into<Scope<'a>>,
) -> Result<ScalarExpr, PlanError> {
    plan_expr(&crate::resolve::routine_body::conversion(from, to, scope.into())?)
}

/// A type by its text.
///
/// # Errors
/// 42601, 42704.
pub fn plan_type_text<'a>(text: &str, scope: impl Into<Scope<'a>>) -> Result<ColumnType, PlanError> {
    let data_type = crate::parse::parse_type(text)?;
    crate::resolve::types::data_type(&data_type, scope)
}

/// A type by its written name.
///
/// # Errors
/// 42704.
pub fn plan_type<'a>(name: &TypeName, scope: impl Into<Scope<'a>>) -> Result<ColumnType, PlanError> {
    crate::resolve::types::data_type(&name.data_type, scope)
}

/// The expressions of a table rewrite.
///
/// # Errors
/// Those of the expressions.
pub fn plan_rewrite(
    columns: &[RewriteColumn],
    old_catalog: &Catalog,
    old_table: &Table,
    catalog: &Catalog,
    table: &Table,
) -> Result<Vec<Rewrite>, PlanError> {
    let session = SessionInfo::default();
    columns
        .iter()
        .map(|rewrite| {
            let column = &table.columns[rewrite.column];
            let (expr, over_new_row) = match &rewrite.value {
                RewriteValue::Using(text) => {
                    let usage = ExpressionUse::Using(&rewrite.column_type);
                    (check_expression(text, old_table, old_catalog, &session, usage)?, false)
                }
                RewriteValue::Default(text) => {
                    let usage = ExpressionUse::Default(column);
                    (check_expression(text, table, catalog, &session, usage)?, false)
                }
                RewriteValue::NextValue(sequence) => {
                    (next_value_expression(catalog, *sequence, &rewrite.column_type)?, false)
                }
                RewriteValue::Generated(text) => {
                    let usage = ExpressionUse::Generated(column);
                    (check_expression(text, table, catalog, &session, usage)?, true)
                }
            };
            Ok(Rewrite { column: rewrite.column, expr: plan_expr(&expr)?, over_new_row })
        })
        .collect()
}
