//! The door of `resolve`: one parsed statement in, names and types resolved out.

use super::body_names::BodyNames;
use super::forget::{ErasedPart, Forgetting};
use super::levels::has_subquery;
use super::outputs::Outputs;
use super::positioned::CursorTables;
use super::returned::writes_in_with;
use super::scope::{Clause, Frame};
use super::{Needs, Resolver, SessionInfo};
use crate::catalog::own_tables::is_own;
use crate::catalog::{Catalog, Column, Privilege, Table};
use crate::error::PlanError;
use crate::hir::{HirExpr, HirQuery, InsertHir, LockingQuery, OutputColumn, WithHir, WithMain, WriteHir};
use crate::parse::definition::{CreateTableAs, DescriptionVerb};
use crate::parse::request::SubjectReference;
use crate::parse::request::{ExportFormat, RequestKind};
use crate::parse::statement::{ExplainOptions, ObjectName, Subscribe, SubscribeForm, SubscribeTerms};
use crate::parse::utility::{CopyOptions, DeclareCursor};
use crate::parse::{ParsedStatement, Statement};
use crate::plan::ParamTypes;
use crate::scalar::cast::{Cast, CastContext};
use crate::scalar::func::Volatility;
use repr::{ColumnType, RelationId, ScalarType};
use sqlparser::ast;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A statement with its names and types resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// SELECT, VALUES, TABLE.
    Query(Box<HirQuery>),
    /// INSERT, UPDATE, DELETE.
    Write(Box<WriteHir>),
    /// One of these, and what its WITH writes.
    With(Box<WithHir>),
    /// CREATE TABLE … AS.
    CreateTableAs {
        /// As it was parsed.
        create: Box<CreateTableAs>,
        /// What fills the table.
        query: Box<HirQuery>,
    },
    /// INSERT, UPDATE or DELETE of pg_description.
    Described {
        /// Which of them.
        verb: DescriptionVerb,
        /// The keys of rows that go, and the rows that come.
        query: Box<HirQuery>,
    },
    /// COPY … FROM STDIN: an INSERT whose parameters are a row's values.
    CopyFrom {
        /// Inserts one row of parameters.
        insert: Box<InsertHir>,
        /// The columns that each row has.
        columns: Vec<OutputColumn>,
        /// What a row, with its defaults, must meet.
        condition: Option<HirExpr>,
        /// The table's name, for the context of errors.
        table: String,
        /// How the data is written.
        options: CopyOptions,
    },
    /// COPY … TO STDOUT.
    CopyTo {
        /// A query, a write with RETURNING, SUBSCRIBE, or a subject request.
        what: Box<Resolved>,
        /// How the data is to be written.
        options: CopyOptions,
    },
    /// DECLARE CURSOR.
    DeclareCursor {
        /// As it was parsed.
        cursor: Box<DeclareCursor>,
        /// A query or SUBSCRIBE.
        what: Box<Resolved>,
        /// Whose rows it gives.
        tables: CursorTables,
    },
    /// SUBSCRIBE.
    Subscribe {
        /// The query to follow.
        query: Box<HirQuery>,
        /// From when to when.
        terms: SubscribeTerms,
        /// How changes are told.
        form: SubscribeForm,
        /// The query's text.
        text: String,
    },
    /// GDPR GET, FORGET, EXPORT, and EXPLAIN GDPR FORGET.
    Gdpr {
        /// What is asked.
        request: GdprRequest,
        /// The data-subject table.
        table: RelationId,
        /// The key, in the types of the primary key's columns and in their order: literals and parameters.
        key: Vec<HirExpr>,
    },
    /// EXPLAIN.
    Explain {
        /// What to show.
        options: ExplainOptions,
        /// Of what.
        what: Box<Resolved>,
    },
    /// CALL: a query of what comes out.
    Call(Box<HirQuery>),
    /// Everything that names no columns: for DDL and the session.
    Other(Box<Statement>),
}

impl Resolved {
    /// Adds the subqueries that are run before the statement.
    fn run_first(&mut self, locking: Vec<LockingQuery>) -> Result<(), PlanError> {
        if locking.is_empty() {
            return Ok(());
        }
        match self {
            Resolved::Query(query) | Resolved::CreateTableAs { query, .. } | Resolved::Described { query, .. } => {
                query.locking = locking;
            }
            Resolved::Write(write) => write.source_mut().locking = locking,
            Resolved::With(with) => match &mut with.main {
                WithMain::Query(query) => query.locking = locking,
                WithMain::Write(write) => write.source_mut().locking = locking,
            },
            Resolved::CopyTo { what, .. } | Resolved::DeclareCursor { what, .. } | Resolved::Explain { what, .. } => {
                what.run_first(locking)?;
            }
            Resolved::CopyFrom { .. }
            | Resolved::Subscribe { .. }
            | Resolved::Gdpr { .. }
            | Resolved::Call(_)
            | Resolved::Other(_) => {
                return Err(PlanError::unsupported("FOR UPDATE in a subquery of this statement"));
            }
        }
        Ok(())
    }
}

/// What a subject request asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GdprRequest {
    /// The right of access; whether it says who read them, too.
    Get(bool),
    /// The right to erasure.
    Forget(Forgetting),
    /// An erasure taken back.
    Unforget,
    /// The right to restriction: whether it begins.
    Restrict(bool),
    /// Another data key.
    Rekey,
    /// A request that is not answered yet, and when it came.
    Enter(RequestKind, Option<i64>),
    /// What FORGET would do: to all, or to these.
    ExplainForget(Arc<[ErasedPart]>),
    /// The portable form of GET; whether it says who read them, too.
    Export(ExportFormat, bool),
}

impl GdprRequest {
    /// What it takes. What FORGET would do is told to whoever may do it.
    fn privilege(&self) -> Privilege {
        match self {
            GdprRequest::Get(_) => Privilege::GdprGet,
            GdprRequest::Forget(_)
            | GdprRequest::ExplainForget(_)
            | GdprRequest::Unforget
            | GdprRequest::Restrict(_)
            | GdprRequest::Rekey
            | GdprRequest::Enter(..) => Privilege::GdprForget,
            GdprRequest::Export(..) => Privilege::GdprExport,
        }
    }
}

/// A resolved statement, and what goes with it.
pub(crate) struct Resolution {
    /// The statement.
    pub resolved: Resolved,
    /// The types of its parameters.
    pub params: ParamTypes,
    /// The maintained views that it reads as relations.
    pub views: BTreeSet<RelationId>,
    /// Those that it computes.
    pub computed: BTreeSet<RelationId>,
    /// What whoever runs it must be allowed.
    pub needs: Needs,
    /// Whether it is for the role alone that runs it.
    pub of_role: bool,
    /// Whether it names one relation, a maintained view whose rows are not all there for the role.
    pub of_kept_view: bool,
}

impl Resolved {
    /// The query, of a statement that is one or stands around one.
    pub(crate) fn query(&self) -> Option<&HirQuery> {
        match self {
            Resolved::Query(query) | Resolved::CreateTableAs { query, .. } | Resolved::Subscribe { query, .. } => {
                Some(query)
            }
            Resolved::CopyTo { what, .. } | Resolved::DeclareCursor { what, .. } | Resolved::Explain { what, .. } => {
                what.query()
            }
            _ => None,
        }
    }
}

/// Resolves a statement. `param_types` are the parameter types that the client gave; those of the rest
/// are deduced. Positions of errors count from the start of the query string.
///
/// # Errors
/// PostgreSQL's, with its SQLSTATEs; 0A000 for what is not supported.
pub fn resolve(
    parsed: &ParsedStatement,
    catalog: &Catalog,
    session: &SessionInfo,
    param_types: &[Option<ScalarType>],
) -> Result<(Resolved, ParamTypes), PlanError> {
    resolve_reads(parsed, catalog, session, param_types).map(|found| (found.resolved, found.params))
}

/// `resolve`, with what goes with the statement.
pub(crate) fn resolve_reads(
    parsed: &ParsedStatement,
    catalog: &Catalog,
    session: &SessionInfo,
    param_types: &[Option<ScalarType>],
) -> Result<Resolution, PlanError> {
    let mut resolver = Resolver::new(catalog, session, &parsed.text, param_types);
    resolver.body = parsed.variables.clone().map(|variables| BodyNames { variables, arguments: None, base: 0 });
    let result = resolver.statement(&parsed.statement).and_then(|mut resolved| {
        resolved.with_writes(std::mem::take(&mut resolver.ctes.writes))?;
        resolved.run_first(resolver.take_locking())?;
        resolver.refuse_calls(&resolved)?;
        Ok((resolved, resolver.finish_params()?))
    });
    let (resolved, params) = result.map_err(|mut error| {
        error.position = error.position.map(|position| position + parsed.offset);
        error
    })?;
    let views = std::mem::take(&mut resolver.views.maintained);
    let computed = std::mem::take(&mut resolver.views.computed);
    let mut needs = std::mem::take(&mut resolver.needs);
    if resolver.is_subject() {
        // What is read is the person's own; what is changed takes a right.
        needs.keep_changes();
    }
    let of_kept_view = resolver.views.kept_from_it == 1 && resolver.views.named == 1;
    Ok(Resolution { resolved, params, views, computed, needs, of_role: resolver.of_role, of_kept_view })
}

/// EXECUTE's arguments, as values of the prepared statement's parameters.
///
/// # Errors
/// 42601 for a wrong number of arguments; 42804 for one of a wrong type.
pub(crate) fn resolve_arguments(
    name: &str,
    arguments: &[ast::Expr],
    types: &[ColumnType],
    catalog: &Catalog,
    session: &SessionInfo,
) -> Result<Vec<HirExpr>, PlanError> {
    if arguments.len() != types.len() {
        return Err(PlanError::new("42601", format!("wrong number of parameters for prepared statement \"{name}\""))
            .detail(format!("Expected {} parameters but got {}.", types.len(), arguments.len())));
    }
    let mut resolver = Resolver::new(catalog, session, "", &[]);
    let frame = Frame::default().clause(Clause::ExecuteParameters);
    let (values, _) = resolver.with_frame(frame, |resolver| {
        let mut values = Vec::with_capacity(arguments.len());
        for (number, (argument, wanted)) in arguments.iter().zip(types).enumerate() {
            let typed = resolver.expr(argument)?;
            let given = resolver.type_label(typed.scalar());
            let cast = resolver.cast(typed, wanted, CastContext::Assignment).map_err(|error| {
                // A literal that is no value of the type says so itself.
                if error.code != "42846" || error.detail.is_some() {
                    return error;
                }
                PlanError::new(
                    "42804",
                    format!(
                        "parameter ${} of type {given} cannot be coerced to the expected type {}",
                        number + 1,
                        resolver.type_label(&wanted.scalar)
                    ),
                )
                .hint("You will need to rewrite or cast the expression.")
            })?;
            if has_subquery(&cast.expr) {
                return Err(PlanError::new("0A000", "cannot use subquery in EXECUTE parameter"));
            }
            values.push(cast.expr);
        }
        Ok(values)
    })?;
    Ok(values)
}

/// What an expression of a table's definition is for.
#[derive(Clone, Copy, Debug)]
pub enum ExpressionUse<'a> {
    /// CHECK: a condition over the row.
    Check,
    /// WHERE of a hold: a condition over the row that is not volatile.
    Hold,
    /// WHERE of an index: an immutable condition over the row.
    IndexPredicate,
    /// A key of an index: an immutable expression over the row.
    IndexKey,
    /// DEFAULT of this column: over nothing.
    Default(&'a Column),
    /// GENERATED ALWAYS AS … STORED of this column: over the row, immutable.
    Generated(&'a Column),
    /// ALTER COLUMN … TYPE … USING, to this type: over the row.
    Using(&'a ColumnType),
}

/// Checks an expression of a table's definition and gives it, cast to what it is for, over the table's
/// physical columns (level 0). DDL's hook.
///
/// # Errors
/// Those of any expression, without positions; 0A000 for subqueries and for columns in DEFAULT; 42P17 for
/// a generation expression that is not immutable.
pub(crate) fn check_expression(
    text: &str,
    table: &Table,
    catalog: &Catalog,
    session: &SessionInfo,
    usage: ExpressionUse<'_>,
) -> Result<HirExpr, PlanError> {
    let mut resolver = Resolver::new(catalog, session, "", &[]);
    let (expr, clause) = match usage {
        ExpressionUse::Check => {
            let frame = resolver.row_frame(table, Clause::CheckConstraint);
            (
                resolver.catalog_expression(text, frame, |resolver, typed| resolver.condition(typed, "CHECK", None))?,
                "check constraint",
            )
        }
        ExpressionUse::Hold => {
            let frame = resolver.row_frame(table, Clause::CheckConstraint);
            let expr =
                resolver.catalog_expression(text, frame, |resolver, typed| resolver.condition(typed, "HOLD", None))?;
            if volatility(&expr) == Volatility::Volatile {
                return Err(PlanError::new("42P17", "functions in the condition of a hold must not be VOLATILE")
                    .hint("Whether a row is kept must not change while nobody changes it."));
            }
            (expr, "check constraint")
        }
        ExpressionUse::IndexPredicate => {
            let frame = resolver.row_frame(table, Clause::IndexPredicate);
            let expr = resolver.index_condition(frame, text)?;
            if volatility(&expr) != Volatility::Immutable {
                return Err(PlanError::new("42P17", "functions in index predicate must be marked IMMUTABLE"));
            }
            (expr, "index predicate")
        }
        ExpressionUse::IndexKey => {
            let frame = resolver.row_frame(table, Clause::IndexExpression);
            let key = resolver.catalog_expression(text, frame, |resolver, typed| resolver.key_of_index(typed))?;
            if volatility(&key.expr) != Volatility::Immutable {
                return Err(PlanError::new("42P17", "functions in index expression must be marked IMMUTABLE"));
            }
            (key.expr, "index expression")
        }
        ExpressionUse::Default(column) => (default_of_column(&mut resolver, text, column)?, "DEFAULT expression"),
        ExpressionUse::Generated(column) => {
            let frame = resolver.row_frame(table, Clause::ColumnGenerated);
            let expr = resolver.catalog_expression(text, frame, |resolver, typed| resolver.computed(typed, column))?;
            if volatility(&expr.expr) != Volatility::Immutable {
                return Err(PlanError::new("42P17", "generation expression is not immutable"));
            }
            (expr.expr, "column generation expression")
        }
        ExpressionUse::Using(to) => {
            let frame = resolver.row_frame(table, Clause::Transform);
            let expr = resolver
                .catalog_expression(text, frame, |resolver, typed| resolver.cast(typed, to, CastContext::Assignment))?;
            (expr.expr, "transform expression")
        }
    };
    if has_subquery(&expr) {
        return Err(PlanError::new("0A000", format!("cannot use subquery in {clause}")));
    }
    Ok(expr)
}

fn default_of_column(resolver: &mut Resolver<'_>, text: &str, column: &Column) -> Result<HirExpr, PlanError> {
    let frame = Frame::default().clause(Clause::ColumnDefault);
    let assigned = resolver.catalog_expression(text, frame, |resolver, typed| {
        let given = resolver.type_label(typed.scalar());
        resolver.assign(typed, &column.column_type, &column.name, None).map_err(|error| match error.code {
            "42804" => PlanError::new(
                "42804",
                format!(
                    "column \"{}\" is of type {} but default expression is of type {given}",
                    column.name,
                    resolver.type_label(&column.column_type.scalar)
                ),
            )
            .hint("You will need to rewrite or cast the expression."),
            _ => error,
        })
    });
    let named = assigned.map_err(|error| match error.code {
        "42703" | "42P01" => PlanError::new("0A000", "cannot use column reference in DEFAULT expression"),
        _ => error,
    })?;
    Ok(named.expr)
}

fn volatility(expr: &HirExpr) -> Volatility {
    let mut most = Volatility::Immutable;
    super::levels::rewrite_expr(&mut expr.clone(), 0, &mut |expr, _| {
        most = most.max(match expr {
            HirExpr::Call { function, .. } => function.volatility,
            HirExpr::Cast { expr: inner, cast, .. } if inner.as_literal().is_none() && !is_printed_alike(cast) => {
                expr.own_volatility()
            }
            _ => Volatility::Immutable,
        });
        Ok(super::levels::Step::Descend)
    })
    .expect("looking does not fail");
    most
}

/// Casts that PostgreSQL calls immutable although a setting says how much of the value they show.
fn is_printed_alike(cast: &Cast) -> bool {
    matches!(cast.from, ScalarType::Float4 | ScalarType::Float8 | ScalarType::Bytea)
}

impl Resolver<'_> {
    pub(super) fn statement(&mut self, statement: &Statement) -> Result<Resolved, PlanError> {
        match statement {
            Statement::Sql(sql) => match self.description_write(sql)? {
                Some(described) => Ok(described),
                None => self.sql(sql),
            },
            Statement::CreateTableAs(create) => {
                self.ctes.at_top = true;
                let query = self.query(&create.query, Outputs::Settled)?;
                Ok(Resolved::CreateTableAs { create: create.clone(), query: Box::new(query) })
            }
            Statement::Copy(copy) => self.copy(copy),
            Statement::DeclareCursor(cursor) => {
                if let Statement::Sql(sql) = &*cursor.statement
                    && let ast::Statement::Query(query) = &**sql
                {
                    self.ask_for_row_keys(query);
                }
                let mut what = Box::new(self.statement(&cursor.statement)?);
                let tables = match &mut *what {
                    Resolved::Query(query) => self.cursor_tables(query),
                    _ => CursorTables::default(),
                };
                Ok(Resolved::DeclareCursor { cursor: cursor.clone(), what, tables })
            }
            Statement::Subscribe(subscribe) => self.subscribe(subscribe),
            Statement::GdprGet { subject, audit } => self.gdpr(GdprRequest::Get(*audit), subject),
            Statement::GdprForget(forget) => {
                let forgetting = self.forgetting(forget)?;
                self.gdpr(GdprRequest::Forget(forgetting), &forget.subject)
            }
            Statement::Request(request) => self.request(request, statement),
            Statement::ExplainGdprForget(forget) => {
                let Forgetting { parts, .. } = self.forgetting(forget)?;
                self.gdpr(GdprRequest::ExplainForget(parts), &forget.subject)
            }
            Statement::GdprExport { subject, format, audit } => {
                self.gdpr(GdprRequest::Export(*format, *audit), subject)
            }
            Statement::GdprPurge(purge) => self.purge(purge),
            Statement::Call(call) => self.procedure_call(call).map(Box::new).map(Resolved::Call),
            Statement::Explain { options, statement } => {
                let what = Box::new(self.statement(statement)?);
                Ok(Resolved::Explain { options: options.clone(), what })
            }
            other => Ok(Resolved::Other(Box::new(other.clone()))),
        }
    }

    pub(super) fn sql(&mut self, sql: &ast::Statement) -> Result<Resolved, PlanError> {
        let ast::Statement::Query(query) = sql else {
            return Ok(Resolved::Write(Box::new(self.bare_write(sql)?)));
        };
        match &*query.body {
            ast::SetExpr::Insert(inner)
            | ast::SetExpr::Update(inner)
            | ast::SetExpr::Delete(inner)
            | ast::SetExpr::Merge(inner) => Ok(Resolved::Write(Box::new(self.write_under_with(query, inner, true)?))),
            ast::SetExpr::Select(_)
            | ast::SetExpr::Query(_)
            | ast::SetExpr::SetOperation { .. }
            | ast::SetExpr::Values(_)
            | ast::SetExpr::Table(_) => {
                self.ctes.at_top = true;
                Ok(Resolved::Query(Box::new(self.query(query, Outputs::Settled)?)))
            }
        }
    }

    /// INSERT, UPDATE, DELETE without WITH.
    fn bare_write(&mut self, sql: &ast::Statement) -> Result<WriteHir, PlanError> {
        Ok(match sql {
            ast::Statement::Insert(insert) => WriteHir::Insert(self.insert(insert)?),
            ast::Statement::Update(update) => WriteHir::Update(self.update(update)?),
            ast::Statement::Delete(delete) => WriteHir::Delete(self.delete(delete)?),
            ast::Statement::Merge(merge) => WriteHir::Merge(self.merge(merge)?),
            other => {
                let text = other.to_string();
                let words: Vec<&str> = text.split_whitespace().take(2).collect();
                return Err(PlanError::unsupported(words.join(" ")));
            }
        })
    }

    /// WITH … INSERT, UPDATE, DELETE: the CTEs stand around the source.
    pub(super) fn write_under_with(
        &mut self,
        query: &ast::Query,
        inner: &ast::Statement,
        at_top: bool,
    ) -> Result<WriteHir, PlanError> {
        let mark = self.ctes.in_scope.len();
        let definitions = match &query.with {
            Some(with) if with.recursive && matches!(inner, ast::Statement::Merge(_)) => {
                return Err(PlanError::new("42601", "WITH RECURSIVE is not supported for MERGE statement"));
            }
            Some(with) => self.with_clause(with, at_top)?,
            None => Vec::new(),
        };
        let write = self.bare_write(inner);
        self.leave_ctes(mark);
        let mut write = write?;
        let source = write.source_mut();
        for definition in definitions.into_iter().rev() {
            let relation = std::mem::replace(&mut source.relation, crate::hir::Hir::unit());
            source.relation = definition.wrap(relation);
        }
        Ok(write)
    }

    /// What stands in FROM by a name that our own grammar read.
    pub(super) fn written_relation(&mut self, name: &ObjectName) -> Result<super::relation::NamedRelation, PlanError> {
        let own = name.require_own(&self.session.path);
        let there = own.and_then(|()| match &name.schema {
            Some(schema) => self.scope().require_namespace(schema).map(|_| ()),
            None => Ok(()),
        });
        let found = there.and_then(|()| self.stored_relation((None, name.schema.as_deref()), &name.name));
        found.map_err(|error| error.at(Some(name.position)))
    }

    /// A table by a name that our own grammar read.
    pub(super) fn table_named(&mut self, name: &ObjectName) -> Result<Arc<Table>, PlanError> {
        use super::relation::{NamedRelation, Stored};
        let position = Some(name.position);
        match self.written_relation(name)? {
            NamedRelation::Stored(Stored { id, is_system: false, .. }) => {
                self.catalog.table(id).map(Arc::clone).ok_or_else(|| {
                    PlanError::new("42P01", format!("relation \"{}\" does not exist", name.name)).at(position)
                })
            }
            NamedRelation::View(view) => Ok(view),
            NamedRelation::Sequence(sequence) => {
                Err(PlanError::new("42809", format!("\"{}\" is not a table", sequence.name)).at(position))
            }
            NamedRelation::Stored(_) | NamedRelation::Cte(_) => {
                Err(PlanError::new("42501", format!("permission denied: \"{}\" is a system catalog", name.name))
                    .at(position))
            }
        }
    }

    fn subscribe(&mut self, subscribe: &Subscribe) -> Result<Resolved, PlanError> {
        if writes_in_with(&subscribe.query) {
            let message = "SUBSCRIBE must not contain data-modifying statements in WITH";
            return Err(PlanError::new("0A000", message));
        }
        if self.is_subject() {
            // How many parameters are the statement's own is known once it was read.
            self.person_key_at = Some(0);
            self.query(&subscribe.query, Outputs::Settled)?;
            self.person_key_at = Some(self.params.len());
        }
        let query = self.query(&subscribe.query, Outputs::Settled)?;
        Ok(Resolved::Subscribe {
            query: Box::new(query),
            terms: subscribe.terms,
            form: subscribe.form.clone(),
            text: subscribe.text.clone(),
        })
    }

    pub(super) fn gdpr(&mut self, request: GdprRequest, subject: &SubjectReference) -> Result<Resolved, PlanError> {
        let table = self.table_named(&subject.table)?;
        let position = Some(subject.table.position);
        if !table.data_subject || is_own(table.id.0) {
            return Err(PlanError::new("42809", format!("\"{}\" is not a data-subject table", table.name))
                .hint("Name a table that was declared DATA_SUBJECT.")
                .at(position));
        }
        let columns = table.primary_key_columns().unwrap_or_default().to_vec();
        if subject.key.len() != columns.len() {
            return Err(PlanError::new(
                "42601",
                format!(
                    "the primary key of \"{}\" has {} columns, but {} values were given",
                    table.name,
                    columns.len(),
                    subject.key.len()
                ),
            )
            .at(position));
        }
        let (key, _) = self.with_frame(Frame::default().clause(Clause::Values), |resolver| {
            let mut key = Vec::with_capacity(columns.len());
            for (&index, written) in columns.iter().zip(&subject.key) {
                let column = &table.columns[index];
                let at = resolver.position_of(written);
                let typed = resolver.expr(written)?;
                if has_subquery(&typed.expr) {
                    return Err(PlanError::unsupported("a subquery as a subject's key").at(at));
                }
                key.push(resolver.assign(typed, &column.column_type, &column.name, at)?.expr);
            }
            Ok(key)
        })?;
        // Whose person it is the session finds out.
        match request {
            GdprRequest::Rekey if self.is_subject() => {
                return Err(PlanError::new("42501", "permission denied to replace a data key")
                    .hint("Those who keep the database do it, and whoever may forget the person."));
            }
            _ if self.is_subject() => {}
            _ => self.needs.add(table.id.0, request.privilege()),
        }
        self.refuse_bound(&request)?;
        Ok(Resolved::Gdpr { request, table: table.id, key })
    }

    /// 42501 for a processor: a request is of all that there is of a person, whatever the purpose of it.
    fn refuse_bound(&mut self, request: &GdprRequest) -> Result<(), PlanError> {
        let says = |table: &&Arc<Table>| table.says_purposes();
        if matches!(request, GdprRequest::Enter(..) | GdprRequest::Rekey)
            || !self.catalog.relations.values().any(|table| says(&table))
        {
            return Ok(());
        }
        self.of_role = true;
        let (role, home) = (self.session.path.actor().role, self.session.path.home());
        let mut saying = self.catalog.relations.values().filter(says);
        match saying.any(|table| self.catalog.binds_to_purpose(role, table, home)) {
            true => Err(PlanError::new("42501", "permission denied to answer the requests of data subjects")
                .hint("A processor is bound to its purposes, and a request is of all data. Let a role answer it that is none.")),
            false => Ok(()),
        }
    }
}
