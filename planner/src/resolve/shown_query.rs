//! A view's query as it is shown: its clauses with what stands in them resolved, before anything is built of them.
//!
//! ```text
//! text ─▶ clauses of resolved expressions, and the names of the rows they stand over ─▶ system::view_text writes them
//! ```
//! A query with a clause that is not among these is shown as it is kept: WITH, set operations, VALUES, windows, sets, functions in
//! FROM, subqueries in expressions, grouping sets.

use super::calls::{Call, VIRTUAL};
use super::levels::{Step, rewrite_expr, rewrite_hir};
use super::relation::{NamedRelation, Stored};
use super::scope::{Clause, Frame, FromItem, Source, fold};
use super::select::SelectParts;
use super::{Resolver, SessionInfo, ViewUse};
use crate::catalog::Scope;
use crate::error::PlanError;
use crate::hir::{HirColumn, HirExpr, HirQuery, JoinKind};
use crate::parse::parse_query;
use crate::scalar::AggregateCall;
use crate::scalar::cast::{Cast, CastMethod};
use repr::{ColumnType, Datum, RelationId, ScalarType};
use sqlparser::ast::{
    Distinct, Expr, Join, JoinConstraint, JoinOperator, OrderByKind, Query, Select, SetExpr, TableFactor,
    TableWithJoins,
};
use std::collections::BTreeMap;

/// A SELECT with its ORDER BY and limits.
pub(crate) struct ShownQuery {
    /// DISTINCT; the expressions of DISTINCT ON.
    pub(crate) distinct: Option<Vec<HirExpr>>,
    pub(crate) outputs: Vec<(HirExpr, String)>,
    pub(crate) from: Vec<ShownItem>,
    pub(crate) filter: Option<HirExpr>,
    pub(crate) group: Vec<HirExpr>,
    pub(crate) having: Option<HirExpr>,
    /// (expression, descending, nulls first)
    pub(crate) order: Vec<(HirExpr, bool, bool)>,
    pub(crate) limit: Option<HirExpr>,
    pub(crate) offset: Option<HirExpr>,
    /// Of the row that all but the limits stand over.
    pub(crate) names: ShownNames,
}

/// What stands in FROM.
pub(crate) enum ShownItem {
    Relation { id: RelationId, name: String, schema: Option<String>, called: Called },
    Subquery { query: Box<ShownQuery>, called: Called },
    Join { left: Box<ShownItem>, right: Box<ShownItem>, kind: JoinKind, by: ShownJoin },
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

/// The columns of a row by their places, and the aggregates over it.
#[derive(Default)]
pub(crate) struct ShownNames {
    columns: BTreeMap<usize, (Option<String>, String, ScalarType)>,
    calls: Vec<Option<AggregateCall<HirColumn>>>,
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
        let calls = frame.calls.iter().map(|call| match call {
            Call::Aggregate(call) => Some(call.clone()),
            Call::Grouping(_) | Call::Window(_) | Call::Set { .. } => None,
        });
        ShownNames { columns, calls: calls.collect() }
    }

    /// The relation, if a name of one is needed, the name and the type of a column.
    pub(crate) fn column(&self, index: usize) -> Option<(Option<&str>, &str, &ScalarType)> {
        self.columns.get(&index).map(|(table, name, scalar)| (table.as_deref(), name.as_str(), scalar))
    }

    /// The aggregate that a column stands for.
    pub(crate) fn aggregate(&self, index: usize) -> Option<&AggregateCall<HirColumn>> {
        self.calls.get(index.checked_sub(VIRTUAL)?)?.as_ref()
    }
}

/// The clauses of a kept query; none if it has others than those that are shown.
pub(crate) fn shown_query(text: &str, scope: Scope<'_>) -> Option<ShownQuery> {
    let query = parse_query(text).ok()?;
    let session = session(scope);
    let mut resolver = shown_resolver(&session, text, scope);
    resolver.clauses(&query).ok().flatten()
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
    let mut resolved = shown_resolver(&session, text, scope).query(&query, super::outputs::Outputs::Settled)?;
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
    fn clauses(&mut self, query: &Query) -> Result<Option<ShownQuery>, PlanError> {
        let SetExpr::Select(select) = &*query.body else { return Ok(None) };
        let others = query.with.is_some()
            || !query.locks.is_empty()
            || query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties)
            || !select.named_window.is_empty();
        let order_by = match &query.order_by {
            None => &[][..],
            Some(order_by) => match &order_by.kind {
                OrderByKind::Expressions(items) => items,
                OrderByKind::All(_) => return Ok(None),
            },
        };
        if others {
            return Ok(None);
        }
        let Some(from) = self.shown_items(&select.from)? else { return Ok(None) };
        let FromItem { tables, columns, .. } = self.from_clause(&select.from)?;
        let frame = Frame { tables, columns, ..Frame::default() };
        let outputs = super::outputs::Outputs::Settled;
        let (parts, frame) = self.with_frame(frame, |resolver| resolver.select_parts(select, order_by, outputs))?;
        let (limit, offset) = self.limits(query)?;
        Ok(shown_parts(select, parts, ShownNames::of(&frame)).map(|shown| ShownQuery { from, limit, offset, ..shown }))
    }

    fn shown_items(&mut self, items: &[TableWithJoins]) -> Result<Option<Vec<ShownItem>>, PlanError> {
        let mut shown = Vec::with_capacity(items.len());
        for item in items {
            match self.shown_joins(item)? {
                Some((item, _)) => shown.push(item),
                None => return Ok(None),
            }
        }
        Ok(Some(shown))
    }

    fn shown_joins(&mut self, item: &TableWithJoins) -> Result<Option<(ShownItem, FromItem)>, PlanError> {
        let Some((mut shown, mut left)) = self.shown_factor(&item.relation)? else { return Ok(None) };
        for join in &item.joins {
            let Some((right_shown, right)) = self.shown_factor(&join.relation)? else { return Ok(None) };
            let Some((kind, constraint)) = kind_of(join) else { return Ok(None) };
            let Some(by) = self.shown_join(&left, &right, constraint)? else { return Ok(None) };
            left = self.combine(left, right, kind, constraint, false)?;
            shown = ShownItem::Join { left: Box::new(shown), right: Box::new(right_shown), kind, by };
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
                    NamedRelation::View(view) => (view.id, view.name.clone(), None),
                    NamedRelation::Stored(Stored { id, name, schema, is_system, .. }) => {
                        (id, name, schema.filter(|_| is_system))
                    }
                    NamedRelation::Sequence(_) | NamedRelation::Cte(_) => return Ok(None),
                };
                let alias = alias.as_ref().map(|alias| (fold(&alias.name), !alias.columns.is_empty()));
                let renamed = alias.as_ref().is_some_and(|(_, renamed)| *renamed);
                let alias = alias.map(|(alias, _)| alias).filter(|alias| *alias != own || renamed);
                (ShownItem::Relation { id, name: own, schema, called: Called { alias, ..Called::default() } }, renamed)
            }
            TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None } => {
                let Some(query) = self.clauses(subquery)? else { return Ok(None) };
                let called = Called { alias: Some(fold(&alias.name)), ..Called::default() };
                (ShownItem::Subquery { query: Box::new(query), called }, !alias.columns.is_empty())
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => return self.shown_joins(table_with_joins),
            _ => return Ok(None),
        };
        let item = self.factor(factor)?;
        let (mut shown, renamed) = shown;
        if renamed && let ShownItem::Relation { called, .. } | ShownItem::Subquery { called, .. } = &mut shown {
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
fn shown_parts(select: &Select, parts: SelectParts, names: ShownNames) -> Option<ShownQuery> {
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
    Some(ShownQuery {
        distinct,
        from: Vec::new(),
        filter: (!predicates.is_empty()).then(|| super::build::conjunction(predicates)),
        group,
        having,
        order: order.iter().map(|item| (target(item.column), item.descending, item.nulls_first)).collect(),
        limit: None,
        offset: None,
        names,
        outputs: targets[..outputs].iter().map(|item| (item.typed.expr.clone(), item.name.clone())).collect(),
    })
}
