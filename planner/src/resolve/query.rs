//! A query as a whole: WITH, its body, ORDER BY, LIMIT, row locks.

use super::calls::VIRTUAL;
use super::collate::derived;
use super::comparable::require_ordering;
use super::direction::direction;
use super::from::plain_column;
use super::limit::is_computed;
use super::naming::value_names;
use super::operator::Field;
use super::outputs::{Limits, Outputs};
use super::scope::{Clause, Frame, fold};
use super::unlockable::{refuse_sets, refuse_values};
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirNode, HirQuery, OutputColumn};
use crate::parse::literals::{self, LiteralRun};
use repr::{ColumnType, Datum, ScalarType};
use sqlparser::ast::{Expr, LimitClause, OrderByExpr, OrderByKind, Query, SetExpr, Value, ValueWithSpan, Values};

impl Resolver<'_> {
    /// A query with its finishing apart.
    pub(super) fn query(&mut self, query: &Query, outputs: Outputs<'_>) -> Result<HirQuery, PlanError> {
        self.nested(|resolver| {
            let mark = resolver.ctes.in_scope.len();
            let result = resolver.query_inner(query, outputs);
            resolver.leave_ctes(mark);
            result
        })
    }

    fn query_inner(&mut self, query: &Query, outputs: Outputs<'_>) -> Result<HirQuery, PlanError> {
        if query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty()
        {
            return Err(PlanError::new("42601", "syntax error at the end of the query"));
        }
        let at_top = std::mem::take(&mut self.ctes.at_top);
        if let SetExpr::Query(inner) = &*query.body {
            self.ctes.at_top = at_top;
            return self.query(&without_parentheses(query, inner)?, outputs);
        }
        let mark = self.ctes.in_scope.len();
        let definitions = match &query.with {
            Some(with) => self.with_clause(with, at_top)?,
            None => Vec::new(),
        };
        let order_by = order_items(query)?;
        let mut resolved = match &*query.body {
            SetExpr::Select(select) => {
                let with_row_keys = self.row_locks.for_cursor || !query.locks.is_empty();
                let before = std::mem::replace(&mut self.row_locks.with_row_keys, with_row_keys);
                let around = std::mem::replace(&mut self.row_locks.clauses, query.locks.clone());
                let result = self.select(select, order_by, outputs, &query.locks);
                self.row_locks.with_row_keys = before;
                self.row_locks.clauses = around;
                result?
            }
            body => {
                if matches!(body, SetExpr::Values(_)) {
                    refuse_values(&query.locks)?;
                }
                refuse_sets(&query.locks)?;
                let (relation, columns) = self.set_operand(body, &outputs)?;
                let order_by = self.order_by_outputs(order_by, &columns)?;
                let project = (0..relation.arity()).collect();
                HirQuery { order_by, ..HirQuery::of(relation, project, columns) }
            }
        };
        resolved = self.with_sort_keys(resolved)?;
        resolved = self.with_ties_ordered(resolved)?;
        (resolved.limit, resolved.offset) = self.limits(query)?;
        if query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties) {
            resolved = self.with_ties(resolved)?;
        }
        if [&resolved.limit, &resolved.offset].into_iter().flatten().any(is_computed) {
            resolved = self.limited_by_numbers(resolved)?;
        }
        self.leave_ctes(mark);
        for definition in definitions.into_iter().rev() {
            resolved.relation = definition.wrap(resolved.relation);
        }
        Ok(resolved)
    }

    /// A query as a relation of just its output columns.
    pub(super) fn subquery(&mut self, query: &Query, limits: Limits) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        self.subquery_with(query, limits, Outputs::Settled)
    }

    pub(super) fn subquery_with(
        &mut self,
        query: &Query,
        limits: Limits,
        outputs: Outputs<'_>,
    ) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        let row_keys = std::mem::replace(&mut self.row_locks.with_row_keys, false);
        if locks(query) {
            let locked = self.locking_subquery(query, outputs);
            self.row_locks.with_row_keys = row_keys;
            return locked;
        }
        let resolved = self.query(query, outputs);
        self.row_locks.with_row_keys = row_keys;
        Ok(as_subquery(resolved?, limits))
    }

    /// One side of a set operation, or a body that is no SELECT.
    pub(super) fn set_operand(
        &mut self,
        body: &SetExpr,
        outputs: &Outputs<'_>,
    ) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        match body {
            SetExpr::Select(select) => {
                let row_keys = std::mem::replace(&mut self.row_locks.with_row_keys, false);
                let resolved = self.nested(|resolver| resolver.select(select, &[], *outputs, &[]));
                self.row_locks.with_row_keys = row_keys;
                let resolved = resolved?;
                Ok((resolved.relation.project(resolved.project), resolved.columns))
            }
            SetExpr::Query(query) => {
                refuse_sets(&query.locks)?;
                self.subquery_with(query, Limits::Ordered, *outputs)
            }
            SetExpr::SetOperation { .. } => self.nested(|resolver| resolver.set_operation(body)),
            SetExpr::Values(values) => self.values(values, outputs),
            // The parser has written out those that can stand where they do.
            SetExpr::Table(_) => Err(PlanError::new("42601", "syntax error at or near \"TABLE\"")),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(PlanError::unsupported("a data-modifying statement inside a query"))
            }
        }
    }

    fn values(&mut self, values: &Values, outputs: &Outputs<'_>) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        if let [row] = values.rows.as_slice()
            && let [only] = row.content.as_slice()
            && let Some(LiteralRun::Rows(text)) = literals::run(only)
        {
            if let Some(relation) = self.run_values(literals::rows(text), outputs)? {
                return Ok(relation);
            }
            let rows = literals::spread_rows(text)?;
            return self.written_values(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), outputs);
        }
        let rows: Vec<&[Expr]> = values.rows.iter().map(|row| row.content.as_slice()).collect();
        self.written_values(&rows, outputs)
    }

    fn written_values(
        &mut self,
        rows: &[&[Expr]],
        outputs: &Outputs<'_>,
    ) -> Result<(Hir, Vec<OutputColumn>), PlanError> {
        let rows = self.value_rows(rows)?;
        let (width, height) = (rows.first().map_or(0, Vec::len), rows.len());
        let mut columns: Vec<Vec<Typed>> = (0..width).map(|_| Vec::with_capacity(height)).collect();
        for row in rows {
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
        let mut typed = Vec::with_capacity(width);
        let mut named = Vec::with_capacity(width);
        for (index, column) in columns.into_iter().enumerate() {
            let unknown = column.iter().all(Typed::is_unknown);
            let column = match outputs {
                Outputs::Kept if unknown => column,
                Outputs::Hinted(hints) if unknown && index < hints.len() => column
                    .into_iter()
                    .map(|value| self.coerce(value, &hints[index].scalar))
                    .collect::<Result<_, _>>()?,
                Outputs::Settled | Outputs::Kept | Outputs::Hinted(_) => self.unify("VALUES", column)?.0,
            };
            let modifier = column.first().map_or(-1, |value| value.column_type.modifier);
            let column_type = ColumnType {
                scalar: column.first().map_or(ScalarType::Text, |value| value.scalar().clone()),
                modifier: if column.iter().all(|value| value.column_type.modifier == modifier) { modifier } else { -1 },
                nullable: column.iter().any(|value| value.column_type.nullable),
                collation: derived(&column)?.0,
                domain: 0,
            };
            named.push(OutputColumn { name: format!("column{}", index + 1), column_type, origin: None });
            typed.push(column);
        }
        let mut iterators: Vec<_> = typed.into_iter().map(Vec::into_iter).collect();
        let rows = (0..height).map(|_| iterators.iter_mut().filter_map(Iterator::next).collect()).collect();
        let types = named.iter().map(|column| column.column_type.clone()).collect();
        Ok((rows_relation(rows, types), named))
    }

    /// The expressions of a VALUES list; 42601 if rows differ in length.
    pub(super) fn value_rows(&mut self, rows: &[&[Expr]]) -> Result<Vec<Vec<Typed>>, PlanError> {
        let frame = Frame::default().clause(Clause::Values);
        let (rows, _) = self.with_frame(frame, |resolver| {
            let mut typed: Vec<Vec<Typed>> = Vec::with_capacity(rows.len());
            for row in rows {
                let values = resolver.fields(&row.iter().map(Field::of).collect::<Vec<_>>())?;
                if typed.first().is_some_and(|first| first.len() != values.len()) {
                    let position = row.first().and_then(|expr| resolver.position_of(expr));
                    return Err(PlanError::new("42601", "VALUES lists must all be the same length").at(position));
                }
                typed.push(values);
            }
            Ok(typed)
        })?;
        Ok(rows)
    }

    /// ORDER BY over output columns alone, as set operations have it.
    pub(super) fn order_by_outputs(
        &mut self,
        items: &[OrderByExpr],
        columns: &[OutputColumn],
    ) -> Result<Vec<crate::scalar::Order>, PlanError> {
        let mut order = Vec::with_capacity(items.len());
        for item in items {
            let position = self.position_of(&item.expr);
            let column = match &item.expr {
                Expr::Identifier(ident) => {
                    let name = fold(ident);
                    columns.iter().position(|column| column.name == name).ok_or_else(|| {
                        PlanError::new("42703", format!("column \"{name}\" does not exist")).at(position)
                    })?
                }
                Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
                    ordinal(digits, columns.len(), "ORDER BY").map_err(|error| error.at(position))?
                }
                _ => {
                    return Err(PlanError::new("0A000", "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                        .detail("Only result column names can be used, not expressions or functions.")
                        .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
                        .at(position));
                }
            };
            require_ordering(&columns[column].column_type.scalar).map_err(|error| error.at(position))?;
            let (descending, nulls_first) = direction(&item.options)?;
            order.push(crate::scalar::Order { column, descending, nulls_first, tie: false });
        }
        Ok(order)
    }
}

/// A query as a relation of just its output columns.
pub(super) fn as_subquery(query: HirQuery, limits: Limits) -> (Hir, Vec<OutputColumn>) {
    let HirQuery { relation, order_by, limit, offset, project, columns, .. } = query;
    let ordered = !order_by.is_empty() && limits == Limits::Ordered;
    let relation = if limit.is_some() || offset.is_some() || ordered {
        relation.top_k(Vec::new(), order_by, limit, offset)
    } else {
        relation
    };
    (relation.project(project), columns)
}

/// Whether a query locks its rows, in parentheses or not.
pub(super) fn locks(query: &Query) -> bool {
    match &*query.body {
        SetExpr::Query(inner) if query.locks.is_empty() => locks(inner),
        _ => !query.locks.is_empty(),
    }
}

/// A query around one in parentheses is one query with the clauses of both, as in PostgreSQL; none may be there twice.
pub(super) fn without_parentheses(outer: &Query, inner: &Query) -> Result<Query, PlanError> {
    let twice = |clause: &str| Err(PlanError::new("42601", format!("multiple {clause} clauses not allowed")));
    let (limits, inner_limits) = (LimitParts::of(outer), LimitParts::of(inner));
    if outer.order_by.is_some() && inner.order_by.is_some() {
        return twice("ORDER BY");
    }
    if limits.offset && inner_limits.offset {
        return twice("OFFSET");
    }
    if limits.limit && inner_limits.limit {
        return twice("LIMIT");
    }
    if outer.with.is_some() && inner.with.is_some() {
        return twice("WITH");
    }
    let mut query = inner.clone();
    query.with = query.with.or_else(|| outer.with.clone());
    query.order_by = query.order_by.or_else(|| outer.order_by.clone());
    query.limit_clause = match (query.limit_clause.take(), outer.limit_clause.clone()) {
        (
            Some(LimitClause::LimitOffset { limit, offset, limit_by }),
            Some(LimitClause::LimitOffset { limit: outer_limit, offset: outer_offset, .. }),
        ) => Some(LimitClause::LimitOffset { limit: limit.or(outer_limit), offset: offset.or(outer_offset), limit_by }),
        (own, outer) => own.or(outer),
    };
    query.fetch = query.fetch.or_else(|| outer.fetch.clone());
    query.locks.extend(outer.locks.iter().cloned());
    Ok(query)
}

/// Which limits a query has, however they are written.
struct LimitParts {
    limit: bool,
    offset: bool,
}

impl LimitParts {
    fn of(query: &Query) -> LimitParts {
        let (limit, offset) = match &query.limit_clause {
            None => (false, false),
            Some(LimitClause::LimitOffset { limit, offset, .. }) => (limit.is_some(), offset.is_some()),
            Some(LimitClause::OffsetCommaLimit { .. }) => (true, true),
        };
        LimitParts { limit: limit || query.fetch.is_some(), offset }
    }
}

fn order_items(query: &Query) -> Result<&[OrderByExpr], PlanError> {
    match &query.order_by {
        None => Ok(&[]),
        Some(order_by) if order_by.interpolate.is_none() => match &order_by.kind {
            OrderByKind::Expressions(items) => Ok(items),
            OrderByKind::All(_) => Err(PlanError::new("42601", "syntax error at or near \"ALL\"")),
        },
        Some(_) => Err(PlanError::new("42601", "syntax error at or near \"INTERPOLATE\"")),
    }
}

/// A position in the select list, written as a number.
pub(super) fn ordinal(digits: &str, columns: usize, clause: &str) -> Result<usize, PlanError> {
    let number: usize =
        digits.parse().map_err(|_| PlanError::new("42601", format!("non-integer constant in {clause}")))?;
    if (1..=columns).contains(&number) {
        Ok(number - 1)
    } else {
        Err(PlanError::new("42P10", format!("{clause} position {number} is not in select list")))
    }
}

/// Rows of expressions over nothing as a relation: constants at once, others computed.
pub(super) fn rows_relation(rows: Vec<Vec<Typed>>, types: Vec<ColumnType>) -> Hir {
    let names = value_names(types.len());
    let constant = rows.iter().flatten().all(|value| matches!(value.expr, HirExpr::Literal(..)));
    if constant && !types.is_empty() {
        let rows = rows
            .into_iter()
            .map(|row| {
                row.into_iter()
                    .map(|value| match value.expr {
                        HirExpr::Literal(datum, _) => datum,
                        _ => Datum::Null,
                    })
                    .collect()
            })
            .collect();
        return Hir { node: HirNode::Constant(rows, names), types };
    }
    let mut branches: Vec<Hir> =
        rows.into_iter().map(|row| Hir { types: types.clone(), ..Hir::unit().map(row) }).collect();
    if branches.len() == 1 {
        return branches.swap_remove(0);
    }
    Hir { node: HirNode::Union(branches, names), types }
}

/// Whether an expression is a stored column of the row rather than a call's.
pub(super) fn is_source_column(expr: &HirExpr) -> Option<usize> {
    plain_column(expr).filter(|index| *index < VIRTUAL)
}
