//! A view's query as it is shown: its clauses with what stands in them resolved, before anything is built of them.
//!
//! ```text
//! text ─▶ clauses of resolved expressions, and the names of the rows they stand over ─▶ system::view_text writes them
//! ```
//! A query with a clause that is not among these is shown as it is kept: VALUES, WINDOW, sets, functions in FROM, grouping
//! sets, and what nests too deeply.

use super::calls::{Call, VIRTUAL};
use super::levels::{Step, rewrite_expr, rewrite_hir, shift_expr};
use super::outputs::Outputs;
use super::relation::{NamedRelation, Stored};
use super::scope::{Clause, Frame, FromItem, Source, fold};
use super::select::SelectParts;
use super::{Resolver, SessionInfo, ViewUse};
use crate::catalog::Scope;
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, HirQuery, JoinKind};
use crate::parse::parse_query;
use crate::scalar::cast::{Cast, CastMethod};
use crate::scalar::{AggregateCall, WindowFrame, WindowKind};
use repr::{ColumnType, Datum, RelationId, ScalarType};
use sqlparser::ast::{
    CteAsMaterialized, Distinct, Expr, Join, JoinConstraint, JoinOperator, OrderByExpr, OrderByKind, Query, Select,
    SetExpr, SetOperator, SetQuantifier, TableFactor, TableWithJoins, With,
};
use std::collections::BTreeMap;

/// How deep queries may stand in each other: each level is read once more for those within it.
const DEPTH_MAX: usize = 5;

/// A query with its limits.
pub(crate) struct ShownQuery {
    pub(crate) with: Option<ShownWith>,
    pub(crate) body: ShownBody,
    pub(crate) limit: Option<HirExpr>,
    pub(crate) offset: Option<HirExpr>,
}

/// The queries that another one names.
pub(crate) struct ShownWith {
    pub(crate) is_recursive: bool,
    pub(crate) queries: Vec<ShownCte>,
}

/// One of them.
pub(crate) struct ShownCte {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    /// Whether it says to be computed by itself, or not.
    pub(crate) materialized: Option<bool>,
    pub(crate) query: ShownQuery,
}

/// What a query is of.
pub(crate) enum ShownBody {
    Select(Box<ShownSelect>),
    Set(ShownSet),
}

/// UNION and its like.
pub(crate) struct ShownSet {
    pub(crate) operator: &'static str,
    pub(crate) all: bool,
    pub(crate) left: Box<ShownQuery>,
    pub(crate) right: Box<ShownQuery>,
    /// (number of the column, descending, nulls first)
    pub(crate) order: Vec<(usize, bool, bool)>,
}

/// A SELECT with its ORDER BY.
pub(crate) struct ShownSelect {
    /// DISTINCT; the expressions of DISTINCT ON.
    pub(crate) distinct: Option<Vec<HirExpr>>,
    pub(crate) outputs: Vec<(HirExpr, String)>,
    pub(crate) from: Vec<ShownItem>,
    pub(crate) filter: Option<HirExpr>,
    pub(crate) group: Vec<HirExpr>,
    pub(crate) having: Option<HirExpr>,
    /// (expression, descending, nulls first)
    pub(crate) order: Vec<(HirExpr, bool, bool)>,
    /// Of the row that all but the limits stand over.
    pub(crate) names: ShownNames,
}

impl ShownQuery {
    fn of(body: ShownBody) -> ShownQuery {
        ShownQuery { with: None, body, limit: None, offset: None }
    }

    /// Whether it names others, its rows are in an order, or are some of them only.
    pub(crate) fn is_finished(&self) -> bool {
        let ordered = match &self.body {
            ShownBody::Select(select) => !select.order.is_empty(),
            ShownBody::Set(set) => !set.order.is_empty(),
        };
        ordered || self.with.is_some() || self.limit.is_some() || self.offset.is_some()
    }

    /// The names of its columns.
    pub(crate) fn columns(&self) -> Vec<String> {
        match &self.body {
            ShownBody::Select(select) => select.outputs.iter().map(|(_, name)| name.clone()).collect(),
            ShownBody::Set(set) => set.left.columns(),
        }
    }
}

/// The queries within one that is being read.
#[derive(Default)]
pub(super) struct ShownWithin {
    depth: usize,
    subqueries: Subqueries,
}

/// Subqueries of expressions by what they mean.
pub(crate) type Subqueries = Vec<(Hir, ShownQuery)>;

/// What stands in FROM.
pub(crate) enum ShownItem {
    Relation { id: RelationId, name: String, schema: Option<String>, called: Called },
    Cte { name: String, called: Called },
    Subquery { query: Box<ShownQuery>, called: Called },
    Join { left: Box<ShownItem>, right: Box<ShownItem>, kind: JoinKind, by: ShownJoin, called: Called },
}

impl ShownItem {
    /// What its columns are called by.
    pub(crate) fn name(&self) -> Option<&String> {
        match self {
            ShownItem::Relation { name, called, .. } | ShownItem::Cte { name, called } => {
                called.alias.as_ref().or(Some(name))
            }
            ShownItem::Subquery { called, .. } | ShownItem::Join { called, .. } => called.alias.as_ref(),
        }
    }

    /// The names of all that stands in it, in that order.
    pub(crate) fn names(&self, names: &mut Vec<String>) {
        if let ShownItem::Join { left, right, .. } = self {
            left.names(names);
            right.names(names);
        }
        names.extend(self.name().cloned());
    }
}

/// An alias; the names of all columns, where some have others by it.
#[derive(Default)]
pub(crate) struct Called {
    pub(crate) alias: Option<String>,
    pub(crate) columns: Vec<String>,
}

/// What a join is by.
pub(crate) enum ShownJoin {
    Cross,
    Using(Vec<String>),
    On(HirExpr, ShownNames),
}

/// A call over rows as a whole.
pub(crate) enum ShownCall {
    Aggregate(AggregateCall<HirColumn>),
    Window(Box<ShownWindow>),
    /// It has no form.
    Other,
}

/// A call with OVER.
pub(crate) struct ShownWindow {
    pub(crate) name: &'static str,
    pub(crate) args: Vec<HirExpr>,
    pub(crate) filter: Option<HirExpr>,
    pub(crate) partition: Vec<HirExpr>,
    pub(crate) order: Vec<(HirExpr, bool, bool)>,
    pub(crate) frame: WindowFrame,
    pub(crate) result: ScalarType,
}

impl ShownCall {
    fn of(call: &Call) -> ShownCall {
        match call {
            Call::Aggregate(call) => ShownCall::Aggregate(call.clone()),
            Call::Window(call) => ShownCall::Window(Box::new(ShownWindow {
                name: match call.function {
                    WindowKind::Function(function) => function.name,
                    WindowKind::Aggregate(aggregate) => aggregate.name,
                },
                args: call.args.clone(),
                filter: call.filter.clone(),
                partition: call.partition.iter().map(|key| key.expr.clone()).collect(),
                order: call.order.iter().map(|(key, down, first)| (key.expr.clone(), *down, *first)).collect(),
                frame: call.frame.clone(),
                result: call.result.clone(),
            })),
            Call::Grouping(_) | Call::Set { .. } => ShownCall::Other,
        }
    }
}

/// The columns of a row by their places, and the aggregates over it.
#[derive(Default)]
pub(crate) struct ShownNames {
    columns: BTreeMap<usize, (Option<String>, String, ScalarType)>,
    calls: Vec<ShownCall>,
}

impl ShownNames {
    fn of(frame: &Frame) -> ShownNames {
        let mut columns = BTreeMap::new();
        for table in frame.tables.iter().filter(|table| !matches!(table.source, Source::Using)) {
            for column in &table.columns {
                let named = (Some(table.name.clone()), column.name.clone(), column.column_type.scalar.clone());
                columns.entry(column.index).or_insert(named);
            }
        }
        for column in &frame.columns {
            let named = (None, column.name.clone(), column.column_type.scalar.clone());
            columns.entry(column.index).or_insert(named);
        }
        let calls = frame.calls.iter().map(ShownCall::of);
        ShownNames { columns, calls: calls.collect() }
    }

    /// The relation, if a name of one is needed, the name and the type of a column.
    pub(crate) fn column(&self, index: usize) -> Option<(Option<&str>, &str, &ScalarType)> {
        self.columns.get(&index).map(|(table, name, scalar)| (table.as_deref(), name.as_str(), scalar))
    }

    /// The call that a column stands for.
    pub(crate) fn call(&self, index: usize) -> Option<&ShownCall> {
        self.calls.get(index.checked_sub(VIRTUAL)?)
    }
}

/// The clauses of a kept query, and of the subqueries in its expressions; none if it has others than those that are shown.
pub(crate) fn shown_query(text: &str, scope: Scope<'_>) -> Option<(ShownQuery, Subqueries)> {
    let query = parse_query(text).ok()?;
    let session = session(scope);
    let mut resolver = shown_resolver(&session, text, scope);
    resolver.shown = Some(ShownWithin::default());
    let shown = resolver.clauses(&query).ok().flatten()?;
    Some((shown, resolver.shown.take()?.subqueries))
}

/// What a subquery's rows are compared with, and by which operator, seen from outside of it.
pub(crate) fn compared_with(condition: &HirExpr) -> Option<(HirExpr, &'static str)> {
    let HirExpr::Call { function, args, .. } = condition else { return None };
    let [left, right] = args.as_slice() else { return None };
    let row = match right {
        HirExpr::Cast { expr, cast, .. } if !cast.explicit => expr,
        other => other,
    };
    let is_output = matches!(row, HirExpr::Column(HirColumn::Column { level: 0, index: 0 }));
    let mut left = left.clone();
    shift_expr(&mut left, -1);
    is_output.then_some((left, function.name))
}

/// What a string becomes as a value of a type.
pub(crate) type ReadLiteral<'r> = &'r dyn Fn(&str, &ColumnType) -> Option<Datum>;

/// Whether two texts, each read in its scope, are the same but for casts that one of them writes out, and literals that one of
/// them writes in full.
pub(crate) fn same_query(
    (text, scope): (&str, Scope<'_>),
    (other, other_scope): (&str, Scope<'_>),
    read: ReadLiteral<'_>,
) -> bool {
    match (shown_meaning(text, scope, read), shown_meaning(other, other_scope, read)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn session(scope: Scope<'_>) -> SessionInfo {
    SessionInfo { path: scope.path.clone(), views: ViewUse::Opaque, ..SessionInfo::default() }
}

fn shown_resolver<'a>(session: &'a SessionInfo, text: &'a str, scope: Scope<'a>) -> Resolver<'a> {
    let mut resolver = Resolver::new(scope.catalog, session, text, &[]);
    (resolver.as_shown, resolver.keeps) = (true, true);
    resolver
}

fn shown_meaning(text: &str, scope: Scope<'_>, read: ReadLiteral<'_>) -> Result<HirQuery, PlanError> {
    let query = parse_query(text)?;
    let session = session(scope);
    let mut resolved = shown_resolver(&session, text, scope).query(&query, Outputs::Settled)?;
    let mut unmarked = |expr: &HirExpr, depth: usize| unmarked(expr, depth, read);
    rewrite_hir(&mut resolved.relation, 0, &mut unmarked)?;
    for bound in [&mut resolved.limit, &mut resolved.offset].into_iter().flatten() {
        rewrite_expr(bound, 0, &mut unmarked)?;
    }
    Ok(resolved)
}

/// Casts as if nobody had written them, and literals as what they are read as.
fn unmarked(expr: &HirExpr, depth: usize, read: ReadLiteral<'_>) -> Result<Step, PlanError> {
    let HirExpr::Cast { expr: inner, cast, to } = expr else { return Ok(Step::Descend) };
    if let (HirExpr::Literal(Datum::Text(text), _), ScalarType::Unknown) = (&**inner, &cast.from)
        && let Some(datum) = read(text, to)
    {
        return Ok(Step::Replace(HirExpr::Literal(datum, to.clone())));
    }
    let mut inner = inner.clone();
    rewrite_expr(&mut inner, depth, &mut |expr, depth| unmarked(expr, depth, read))?;
    Ok(Step::Replace(HirExpr::Cast { expr: inner, cast: unwritten(cast), to: to.clone() }))
}

fn unwritten(cast: &Cast) -> Cast {
    let method = match &cast.method {
        CastMethod::Elements(element) => CastMethod::Elements(Box::new(unwritten(element))),
        other => other.clone(),
    };
    Cast { method, explicit: false, ..cast.clone() }
}

impl Resolver<'_> {
    /// A query within another: what it is shown as is kept beside what it means.
    pub(super) fn show_subquery(&mut self, query: &Query, meaning: &Hir) -> Result<(), PlanError> {
        if self.shown.is_none() {
            return Ok(());
        }
        let clauses = self.clauses(query)?;
        if let (Some(clauses), Some(within)) = (clauses, &mut self.shown) {
            within.subqueries.push((meaning.clone(), clauses));
        }
        Ok(())
    }

    fn clauses(&mut self, query: &Query) -> Result<Option<ShownQuery>, PlanError> {
        match &mut self.shown {
            Some(within) if within.depth < DEPTH_MAX => within.depth += 1,
            Some(_) | None => return Ok(None),
        }
        let mark = self.ctes.in_scope.len();
        let shown = self.nested(|resolver| resolver.clauses_within(query));
        self.leave_ctes(mark);
        if let Some(within) = &mut self.shown {
            within.depth -= 1;
        }
        shown
    }

    fn clauses_within(&mut self, query: &Query) -> Result<Option<ShownQuery>, PlanError> {
        if let SetExpr::Query(inner) = &*query.body {
            return self.clauses_within(&super::query::without_parentheses(query, inner)?);
        }
        let order_by = match &query.order_by {
            None => &[][..],
            Some(order_by) => match &order_by.kind {
                OrderByKind::Expressions(items) => items,
                OrderByKind::All(_) => return Ok(None),
            },
        };
        let ties = query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties);
        if !query.locks.is_empty() || ties {
            return Ok(None);
        }
        let with = match &query.with {
            None => None,
            Some(with) => match self.shown_with(with)? {
                None => return Ok(None),
                shown => shown,
            },
        };
        let body = match &*query.body {
            SetExpr::Select(select) => {
                self.shown_select(select, order_by)?.map(|select| ShownBody::Select(Box::new(select)))
            }
            body => self.shown_set(body, order_by)?.map(ShownBody::Set),
        };
        let (limit, offset) = self.limits(query)?;
        Ok(body.map(|body| ShownQuery { with, body, limit, offset }))
    }

    fn shown_with(&mut self, with: &With) -> Result<Option<ShownWith>, PlanError> {
        self.with_clause(with, false)?;
        let mut queries = Vec::with_capacity(with.cte_tables.len());
        for cte in &with.cte_tables {
            let Some(query) = self.clauses(&cte.query)? else { return Ok(None) };
            let columns = cte.alias.columns.iter().map(|column| fold(&column.name)).collect();
            let materialized = cte.materialized.as_ref().map(|said| matches!(said, CteAsMaterialized::Materialized));
            queries.push(ShownCte { name: fold(&cte.alias.name), columns, materialized, query });
        }
        Ok(Some(ShownWith { is_recursive: with.recursive, queries }))
    }

    fn shown_set(&mut self, body: &SetExpr, order_by: &[OrderByExpr]) -> Result<Option<ShownSet>, PlanError> {
        let SetExpr::SetOperation { op, set_quantifier, left, right } = body else { return Ok(None) };
        let operator = match op {
            SetOperator::Union => "UNION",
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Except | SetOperator::Minus => "EXCEPT",
        };
        let Some(left) = self.shown_operand(left)? else { return Ok(None) };
        let Some(right) = self.shown_operand(right)? else { return Ok(None) };
        let (_, columns) = self.set_operand(body, &Outputs::Settled)?;
        let order = self.order_by_outputs(order_by, &columns)?;
        let order = order.iter().map(|item| (item.column + 1, item.descending, item.nulls_first)).collect();
        let all = *set_quantifier == SetQuantifier::All;
        Ok(Some(ShownSet { operator, all, left: Box::new(left), right: Box::new(right), order }))
    }

    fn shown_operand(&mut self, body: &SetExpr) -> Result<Option<ShownQuery>, PlanError> {
        let body = match body {
            SetExpr::Query(query) => return self.clauses(query),
            SetExpr::Select(select) => {
                self.shown_select(select, &[])?.map(|select| ShownBody::Select(Box::new(select)))
            }
            other => self.shown_set(other, &[])?.map(ShownBody::Set),
        };
        Ok(body.map(ShownQuery::of))
    }

    fn shown_select(&mut self, select: &Select, order_by: &[OrderByExpr]) -> Result<Option<ShownSelect>, PlanError> {
        if !select.named_window.is_empty() {
            return Ok(None);
        }
        let Some((from, FromItem { tables, columns, .. })) = self.shown_from(&select.from)? else { return Ok(None) };
        let frame = Frame { tables, columns, ..Frame::default() };
        let parts = |resolver: &mut Self| resolver.select_parts(select, order_by, Outputs::Settled);
        let (parts, frame) = self.with_frame(frame, parts)?;
        Ok(shown_parts(select, parts, ShownNames::of(&frame)).map(|shown| ShownSelect { from, ..shown }))
    }

    fn shown_from(&mut self, items: &[TableWithJoins]) -> Result<Option<(Vec<ShownItem>, FromItem)>, PlanError> {
        let mut shown = Vec::with_capacity(items.len());
        let mut all = FromItem::unit();
        for (place, item) in items.iter().enumerate() {
            let Some((item, right)) = self.shown_joins(item)? else { return Ok(None) };
            shown.push(item);
            all = match place {
                0 => right,
                _ => self.combine(all, right, JoinKind::Inner, &JoinConstraint::None, false)?,
            };
        }
        Ok(Some((shown, all)))
    }

    fn shown_joins(&mut self, item: &TableWithJoins) -> Result<Option<(ShownItem, FromItem)>, PlanError> {
        let Some((mut shown, mut left)) = self.shown_factor(&item.relation)? else { return Ok(None) };
        for join in &item.joins {
            let Some((right_shown, right)) = self.shown_factor(&join.relation)? else { return Ok(None) };
            let Some((kind, constraint)) = kind_of(join) else { return Ok(None) };
            let Some(by) = self.shown_join(&left, &right, constraint)? else { return Ok(None) };
            left = self.combine(left, right, kind, constraint, false)?;
            let called = Called::default();
            shown = ShownItem::Join { left: Box::new(shown), right: Box::new(right_shown), kind, by, called };
        }
        Ok(Some((shown, left)))
    }

    fn shown_join(
        &mut self,
        left: &FromItem,
        right: &FromItem,
        constraint: &JoinConstraint,
    ) -> Result<Option<ShownJoin>, PlanError> {
        Ok(match constraint {
            JoinConstraint::None => Some(ShownJoin::Cross),
            JoinConstraint::Using(names) if crate::parse::join_alias::of(names).0.is_some() => None,
            JoinConstraint::Using(_) | JoinConstraint::Natural => {
                let names = super::from::shared_names(left, right, constraint)?;
                // Without a name in common it is no join by any.
                (!names.is_empty()).then_some(ShownJoin::Using(names))
            }
            JoinConstraint::On(condition) => Some(self.shown_condition(left, right, condition)?),
        })
    }

    fn shown_condition(&mut self, left: &FromItem, right: &FromItem, condition: &Expr) -> Result<ShownJoin, PlanError> {
        let offset = left.hir.arity();
        let (mut tables, mut columns) = (right.tables.clone(), right.columns.clone());
        tables.iter_mut().for_each(|table| table.offset(offset));
        columns.iter_mut().for_each(|column| column.index += offset);
        let frame = Frame {
            tables: left.tables.iter().cloned().chain(tables).collect(),
            columns: left.columns.iter().cloned().chain(columns).collect(),
            clause: Clause::JoinOn,
            ..Frame::default()
        };
        let names = ShownNames::of(&frame);
        let (condition, _) = self.with_frame(frame, |resolver| {
            let typed = resolver.expr(condition)?;
            resolver.condition(typed, "JOIN/ON", None)
        })?;
        Ok(ShownJoin::On(condition, names))
    }

    fn shown_factor(&mut self, factor: &TableFactor) -> Result<Option<(ShownItem, FromItem)>, PlanError> {
        let shown = match factor {
            TableFactor::Table { name, args: None, sample: None, with_ordinality: false, alias, .. } => {
                let (id, own, schema) = match self.find_relation(name)? {
                    NamedRelation::View(view) => (Some(view.id), view.name.clone(), None),
                    NamedRelation::Stored(Stored { id, name, schema, is_system, .. }) => {
                        (Some(id), name, schema.filter(|_| is_system))
                    }
                    NamedRelation::Cte(index) => (None, self.ctes.in_scope[index].name.clone(), None),
                    NamedRelation::Sequence(_) => return Ok(None),
                };
                let alias = alias.as_ref().map(|alias| (fold(&alias.name), !alias.columns.is_empty()));
                let renamed = alias.as_ref().is_some_and(|(_, renamed)| *renamed);
                let alias = alias.map(|(alias, _)| alias).filter(|alias| *alias != own || renamed);
                let called = Called { alias, ..Called::default() };
                let shown = match id {
                    Some(id) => ShownItem::Relation { id, name: own, schema, called },
                    None => ShownItem::Cte { name: own, called },
                };
                (shown, renamed)
            }
            TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None } => {
                let Some(query) = self.clauses(subquery)? else { return Ok(None) };
                let called = Called { alias: Some(fold(&alias.name)), ..Called::default() };
                (ShownItem::Subquery { query: Box::new(query), called }, !alias.columns.is_empty())
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let Some((mut shown, item)) = self.shown_joins(table_with_joins)? else { return Ok(None) };
                let (Some(alias), ShownItem::Join { called, .. }) = (alias, &mut shown) else {
                    return Ok(alias.is_none().then_some((shown, item)));
                };
                called.alias = Some(fold(&alias.name));
                (shown, !alias.columns.is_empty())
            }
            _ => return Ok(None),
        };
        let item = self.factor(factor)?;
        let (mut shown, renamed) = shown;
        if renamed {
            let (ShownItem::Relation { called, .. }
            | ShownItem::Cte { called, .. }
            | ShownItem::Subquery { called, .. }
            | ShownItem::Join { called, .. }) = &mut shown;
            called.columns = item.columns.iter().map(|column| column.name.clone()).collect();
        }
        Ok(Some((shown, item)))
    }
}

fn kind_of(join: &Join) -> Option<(JoinKind, &JoinConstraint)> {
    match &join.join_operator {
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) | JoinOperator::CrossJoin(constraint) => {
            Some((JoinKind::Inner, constraint))
        }
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => Some((JoinKind::Left, constraint)),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => Some((JoinKind::Right, constraint)),
        JoinOperator::FullOuter(constraint) => Some((JoinKind::Full, constraint)),
        _ => None,
    }
}

/// The clauses of a SELECT but FROM and the limits.
fn shown_parts(select: &Select, parts: SelectParts, names: ShownNames) -> Option<ShownSelect> {
    let SelectParts { targets, outputs, predicates, having, order, grouping, distinct_on } = parts;
    let target = |index: usize| targets[index].typed.expr.clone();
    let group = match grouping {
        None => Vec::new(),
        Some(grouping) => {
            let all: Vec<usize> = (0..grouping.keys.len()).collect();
            if grouping.sets != [all] || grouping.keys.is_empty() {
                return None;
            }
            grouping.keys.into_iter().map(|key| key.typed.expr).collect()
        }
    };
    let distinct = match (&select.distinct, distinct_on) {
        (_, Some(on)) => Some(on.into_iter().map(target).collect()),
        (Some(Distinct::Distinct), None) => Some(Vec::new()),
        (Some(Distinct::All | Distinct::On(_)) | None, None) => None,
    };
    Some(ShownSelect {
        distinct,
        from: Vec::new(),
        filter: (!predicates.is_empty()).then(|| super::build::conjunction(predicates)),
        group,
        having,
        order: order.iter().map(|item| (target(item.column), item.descending, item.nulls_first)).collect(),
        names,
        outputs: targets[..outputs].iter().map(|item| (item.typed.expr.clone(), item.name.clone())).collect(),
    })
}
