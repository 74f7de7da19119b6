//! A function of one SELECT in the place of its call: an expression, a subquery, rows in FROM.
//!
//! What it reads is read by the rights of whoever calls, under their policies, and recorded as theirs, as all else in the statement.

use super::body_names::{Argument, BodyNames};
use super::outputs::{Limits, Outputs};
use super::query::{as_subquery, locks};
use super::returned::writes_in_with;
use super::scope::{Clause, Frame};
use super::{Resolver, SessionInfo, Typed};
use crate::catalog::{Language, Parameter, ResultKind, Routine, SearchPath};
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr};
use crate::parse::statement::{Statement, Variable, Variables};
use crate::plpgsql::Conflict;
use crate::scalar::cast::CastContext;
use crate::scalar::func::Volatility;
use crate::scalar::registry;
use repr::{ColumnType, Datum};
use sqlparser::ast::{self, Expr, GroupByExpr, LimitClause, Query, SelectItem, SetExpr, Value};
use std::sync::Arc;

/// How deep functions stand in each other's place.
const DEPTH_MAX: usize = 32;

/// The one query that a body is, if it is that.
pub(crate) fn only_query(text: &str) -> Option<Box<Query>> {
    let parsed = crate::parse::parse(text).ok()?;
    let [parsed] = <[_; 1]>::try_from(parsed).ok()?;
    let Statement::Sql(sql) = parsed.statement else { return None };
    let ast::Statement::Query(query) = *sql else { return None };
    let reads = matches!(
        &*query.body,
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::SetOperation { .. } | SetExpr::Values(_)
    );
    (reads && !writes_in_with(&query) && !locks(&query)).then_some(query)
}

/// The one expression that a query is of, if it reads nothing by itself.
fn only_expression(query: &Query) -> Option<&Expr> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let is_bare = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && select.from.is_empty()
        && select.selection.is_none()
        && select.having.is_none()
        && select.distinct.is_none()
        && select.named_window.is_empty()
        && matches!(&select.group_by, GroupByExpr::Expressions(list, _) if list.is_empty());
    match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] if is_bare => Some(expr),
        _ => None,
    }
}

/// The names of a function's parameters.
pub(crate) fn parameter_names(routine: &Routine, types: &dyn Fn(&ColumnType) -> ColumnType) -> Variables {
    let variable = |(place, parameter): (usize, &Parameter)| Variable {
        qualifier: Some(routine.name.clone()),
        name: parameter.name.clone().unwrap_or_default(),
        place,
        column_type: Some(types(&parameter.column_type)),
    };
    let list: Vec<Variable> = routine.inputs().enumerate().map(variable).collect();
    Variables { positional: list.len(), list, conflict: Conflict::Column }
}

impl<'a> Resolver<'a> {
    fn is_inlined(&self, routine: &Routine) -> bool {
        routine.body.language == Language::Sql
            && routine.body.settings.is_empty()
            && !self.as_shown
            && self.nesting.inlined < DEPTH_MAX
    }

    /// What stands in the place of a call among expressions; nothing where it stays a call.
    pub(super) fn inlined_value(&mut self, routine: &'a Routine, args: &[Typed]) -> Result<Option<Typed>, PlanError> {
        let ResultKind::Value(result) = &routine.result.kind else { return Ok(None) };
        if routine.result.is_set || !self.is_inlined(routine) {
            return Ok(None);
        }
        let Some(query) = only_query(&routine.body.text) else { return Ok(None) };
        let result = self.catalog.current_type(result);
        let plain = ColumnType { domain: 0, modifier: -1, ..result.clone() };
        let found = match only_expression(&query) {
            Some(expr) => self.in_body(routine, args, 1, |inner| {
                let frame = Frame::default().clause(Clause::SelectList);
                let (typed, frame) = inner.with_frame(frame, |inner| {
                    let typed = inner.expr(expr)?;
                    inner.cast(typed, &plain, CastContext::Assignment)
                })?;
                // An aggregate is over a row of its own, a set gives several.
                Ok(frame.calls.is_empty().then_some(typed))
            })?,
            None => {
                let Some(query) = first_row(*query) else { return Ok(None) };
                self.in_body(routine, args, 0, |inner| {
                    let (relation, columns) = inner.sublink(&query, Limits::Ordered)?;
                    if columns.len() != 1 {
                        return Ok(None);
                    }
                    let own = ColumnType { nullable: true, ..relation.types[0].clone() };
                    let value = Typed::of(HirExpr::Column(HirColumn::Scalar(Box::new(relation))), own);
                    inner.cast(value, &plain, CastContext::Assignment).map(Some)
                })?
            }
        };
        let Some(value) = found else { return Ok(None) };
        let value = if routine.terms.strict { strict(value, args) } else { value };
        if result.domain == 0 { Ok(Some(value)) } else { self.domain_value(value, result.domain).map(Some) }
    }

    /// The rows of a function in FROM, as those of its query.
    pub(super) fn inlined_rows(
        &mut self,
        routine: &'a Routine,
        args: &[Typed],
        columns: &[(String, ColumnType)],
    ) -> Result<Option<Hir>, PlanError> {
        if !routine.result.is_set || routine.terms.strict || !self.is_inlined(routine) {
            return Ok(None);
        }
        if matches!(routine.result.kind, ResultKind::Void | ResultKind::Trigger | ResultKind::EventTrigger)
            || columns.iter().any(|(_, own)| own.domain != 0)
        {
            return Ok(None);
        }
        let Some(query) = only_query(&routine.body.text) else { return Ok(None) };
        self.in_body(routine, args, 1, |inner| {
            let (relation, found) = as_subquery(inner.query(&query, Outputs::Settled)?, Limits::Ordered);
            if found.len() != columns.len() {
                return Ok(None);
            }
            let mut values = Vec::with_capacity(columns.len());
            for (place, (_, own)) in columns.iter().enumerate() {
                let column = Typed::column(place, relation.types[place].clone());
                let to = ColumnType { modifier: -1, ..own.clone() };
                values.push(inner.cast(column, &to, CastContext::Assignment)?);
            }
            let (mapped, places) = relation.with_columns(values);
            Ok(Some(mapped.project(places)))
        })
    }

    /// Reads a function's text where it is called. Nothing if what a call gives must not be computed as often as it stands there.
    fn in_body<T>(
        &mut self,
        routine: &'a Routine,
        args: &[Typed],
        base: isize,
        read: impl FnOnce(&mut Resolver<'_>) -> Result<Option<T>, PlanError>,
    ) -> Result<Option<T>, PlanError> {
        let session = SessionInfo { path: self.path_within(routine), ..self.session.clone() };
        let catalog = self.catalog;
        let variables = parameter_names(routine, &|own| catalog.current_type(own));
        let arguments = args.iter().map(|value| Argument { value: value.clone(), uses: 0 }).collect();
        let mut inner = Resolver::new(catalog, &session, "", &self.params);
        inner.body = Some(BodyNames { variables: Arc::new(variables), arguments: Some(arguments), base });
        inner.param_domains.clone_from(&self.param_domains);
        inner.ctes.next = self.ctes.next;
        inner.nesting.items = self.nesting.items;
        inner.nesting.depth = self.nesting.depth;
        inner.nesting.inlined = self.nesting.inlined + 1;
        inner.under_policies_of.clone_from(&self.under_policies_of);
        inner.views.depth = self.views.depth;
        inner.views.expanded = self.views.expanded;
        inner.keeps = self.keeps;
        inner.trace = self.trace.is_some().then(Default::default);
        let error = |error: PlanError| PlanError { position: None, ..error };
        let found = inner.nested(read).map_err(error)?;
        let arguments = inner.body.take().and_then(|body| body.arguments).unwrap_or_default();
        let is_once =
            |argument: &Argument| argument.uses == 1 || argument.value.expr.volatility() < Volatility::Volatile;
        let strict = routine.terms.strict;
        let once = arguments
            .iter()
            .all(|argument| is_once(argument) && !(strict && argument.value.expr.volatility() == Volatility::Volatile));
        if found.is_none() || !once {
            return Ok(None);
        }
        if inner.calls > 0 {
            self.refuse_kept()?;
        }
        self.take_up(&mut inner);
        self.needs.add_all(std::mem::take(&mut inner.needs));
        if let (Some(own), Some(read)) = (&mut self.trace, inner.trace.take()) {
            own.reads_more(read);
        }
        Ok(found)
    }

    /// Where names in a body are looked for: as in the statement around it; in what is kept by the schema of the function.
    fn path_within(&self, routine: &Routine) -> SearchPath {
        let path = &self.session.path;
        if !path.is_of_kept_texts() {
            return path.clone();
        }
        let home = self.catalog.database_of(routine.namespace);
        SearchPath::within(home, self.catalog).behind(routine.namespace).as_of(path.actor().clone())
    }
}

/// A query of its first row; nothing if it has limits of its own.
fn first_row(mut query: Query) -> Option<Query> {
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return None;
    }
    let one = Expr::Value(Value::Number("1".to_owned(), false).into());
    query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(one), offset: None, limit_by: Vec::new() });
    Some(query)
}

/// NULL where any argument is.
fn strict(value: Typed, args: &[Typed]) -> Typed {
    let may_be_null: Vec<&Typed> = args.iter().filter(|arg| !is_never_null(&arg.expr)).collect();
    if may_be_null.is_empty() {
        return value;
    }
    let result = value.scalar().clone();
    let null = || HirExpr::Literal(Datum::Null, ColumnType::nullable(result.clone()));
    let branches =
        may_be_null.into_iter().map(|arg| (registry::null_test(arg.expr.clone(), arg.scalar()), null())).collect();
    let case = HirExpr::Case { branches, otherwise: Box::new(value.expr), result: result.clone() };
    Typed::of(case, ColumnType { nullable: true, ..value.column_type })
}

fn is_never_null(expr: &HirExpr) -> bool {
    matches!(expr, HirExpr::Literal(value, _) if *value != Datum::Null)
}
