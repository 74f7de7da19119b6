//! SELECT: select list, WHERE, GROUP BY, HAVING, DISTINCT, ORDER BY over a FROM clause.

use super::comparable::{require_equality, require_ordering};
use super::direction::direction;
use super::expr::unnested;
use super::group::{Calls, Grouping};
use super::outputs::Outputs;
use super::query::{is_source_column, ordinal};
use super::scope::{Clause, Frame, FromItem, fold};
use super::unlockable::Unlockable;
use super::{Resolver, Typed};
use crate::catalog::Privilege;
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirQuery, OutputColumn};
use crate::parse::no_columns::is_nothing;
use crate::parse::star::without_star;
use crate::scalar::Order;
use repr::{Datum, RelationId, ScalarType};
use sqlparser::ast::{
    Distinct, Expr, Ident, LockClause, OrderByExpr, Select, SelectItem, SelectItemQualifiedWildcardKind, Value,
    ValueWithSpan, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;

/// One output of a select list, or a sort key beyond it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) typed: Typed,
    pub(super) name: String,
    pub(super) origin: Option<(RelationId, usize)>,
}

impl Target {
    fn output(&self) -> OutputColumn {
        OutputColumn { name: self.name.clone(), column_type: self.typed.column_type.clone(), origin: self.origin }
    }
}

/// What is resolved of a SELECT before its operators are built.
pub(super) struct SelectParts {
    pub(super) targets: Vec<Target>,
    /// How many of the targets are output.
    pub(super) outputs: usize,
    pub(super) predicates: Vec<HirExpr>,
    pub(super) having: Option<HirExpr>,
    pub(super) order: Vec<Order>,
    pub(super) grouping: Option<Grouping>,
    /// DISTINCT ON: targets.
    pub(super) distinct_on: Option<Vec<usize>>,
}

impl Resolver<'_> {
    /// A SELECT; the caller adds LIMIT.
    pub(super) fn select(
        &mut self,
        select: &Select,
        order_by: &[OrderByExpr],
        outputs: Outputs<'_>,
        locks: &[LockClause],
    ) -> Result<HirQuery, PlanError> {
        refuse_foreign_clauses(select)?;
        let laterals = self.row_locks.laterals.len();
        let for_cursor = std::mem::take(&mut self.row_locks.for_cursor);
        let FromItem { hir, tables, columns } = self.from_clause(&select.from)?;
        let frame = Frame { tables, columns, windows: self.named_windows(&select.named_window)?, ..Frame::default() };
        let (parts, mut frame) = self.with_frame(frame, |resolver| resolver.select_parts(select, order_by, outputs))?;
        self.narrow_laterals(laterals, &parts.predicates);
        let calls = Calls::new(std::mem::take(&mut frame.calls));
        let is_grouped = parts.grouping.is_some() || parts.having.is_some() || calls.has_aggregates();
        let unlockable = Unlockable {
            groups: parts.grouping.is_some(),
            having: parts.having.is_some(),
            aggregates: calls.has_aggregates(),
            distinct: matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))),
            windows: calls.has_windows(),
            sets: calls.has_sets(),
        };
        unlockable.refuse(locks)?;
        let keys = if for_cursor && unlockable.is_lockable() { frame.tables[0].row_keys.clone() } else { Vec::new() };
        let locks = self.row_locks(locks, &frame)?;
        if !locks.is_empty() && self.is_subject() {
            return Err(PlanError::unsupported("FOR UPDATE by a person's own login"));
        }
        locks.iter().for_each(|lock| self.needs.add(lock.table.0, Privilege::Update));
        let mut query = self.build(hir, parts, &frame, calls, select, is_grouped)?;
        query.locks = locks;
        self.with_row_keys(&mut query, &keys);
        Ok(query)
    }

    pub(super) fn select_parts(
        &mut self,
        select: &Select,
        order_by: &[OrderByExpr],
        outputs: Outputs<'_>,
    ) -> Result<SelectParts, PlanError> {
        let mut targets =
            self.in_clause(Clause::SelectList, |resolver| resolver.targets(&select.projection, outputs))?;
        let predicates = self.where_clause(select.selection.as_ref())?;
        let having = match &select.having {
            None => None,
            Some(condition) => {
                let position = self.position_of(condition);
                let typed = self.in_clause(Clause::Having, |resolver| resolver.expr(condition))?;
                let condition = self.condition(typed, "HAVING", position)?;
                let conjuncts = self.behind_policies(super::build::conjuncts(condition))?;
                Some(super::build::conjunction(conjuncts))
            }
        };
        let outputs = targets.len();
        let mut order = Vec::with_capacity(order_by.len());
        for item in order_by {
            let column = self.in_clause(Clause::OrderBy, |resolver| {
                resolver.sort_target(&item.expr, &mut targets, outputs, "ORDER BY")
            })?;
            let (descending, nulls_first) = direction(&item.options)?;
            // A key that was there before decides nothing more.
            if !order.iter().any(|earlier: &Order| earlier.column == column) {
                order.push(Order { column, descending, nulls_first, tie: false });
            }
        }
        let grouping = self.group_by(&select.group_by, &targets, outputs)?;
        let distinct_on = match &select.distinct {
            Some(Distinct::On(exprs)) => {
                let mut on = Vec::with_capacity(exprs.len());
                for expr in exprs {
                    on.push(self.in_clause(Clause::DistinctOn, |resolver| {
                        resolver.sort_target(expr, &mut targets, outputs, "DISTINCT ON")
                    })?);
                }
                let initial = order.iter().take(on.len()).find(|item| !on.contains(&item.column));
                if initial.is_some() {
                    return Err(PlanError::new(
                        "42P10",
                        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                    ));
                }
                Some(on)
            }
            Some(Distinct::Distinct) => {
                if outputs == 0 {
                    return Err(PlanError::new("42601", "SELECT DISTINCT must have at least one column"));
                }
                if order.iter().any(|item| item.column >= outputs) {
                    return Err(PlanError::new(
                        "42P10",
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                    ));
                }
                None
            }
            Some(Distinct::All) | None => None,
        };
        Ok(SelectParts { targets, outputs, predicates, having, order, grouping, distinct_on })
    }

    /// 42601 for a string where a label stands, which sqlparser takes. What was kept before this was asked is still read.
    fn refuse_string(&self, label: &Ident) -> Result<(), PlanError> {
        if label.quote_style != Some('\'') || self.session.path.is_of_kept_texts() {
            return Ok(());
        }
        let text = label.value.replace('\'', "''");
        Err(PlanError::new("42601", format!("syntax error at or near \"'{text}'\"")).at(self.at(label.span)))
    }

    /// The select list, stars expanded.
    pub(super) fn targets(&mut self, items: &[SelectItem], outputs: Outputs<'_>) -> Result<Vec<Target>, PlanError> {
        let mut targets: Vec<Target> = Vec::with_capacity(items.len());
        for item in items {
            match item {
                // Parentheses do not keep a star from being all columns.
                SelectItem::UnnamedExpr(expr) if matches!(unnested(expr), Expr::QualifiedWildcard(..)) => {
                    if let Expr::QualifiedWildcard(name, star) = unnested(expr) {
                        let kind = SelectItemQualifiedWildcardKind::ObjectName(name.clone());
                        self.qualified_star(&kind, star.0.span, &mut targets)?;
                    }
                }
                SelectItem::UnnamedExpr(expr) if without_star(expr).is_some() => {
                    let fields = self.expanded_row(expr)?;
                    targets.extend(fields.into_iter().map(|(name, typed)| Target { typed, name, origin: None }));
                }
                SelectItem::UnnamedExpr(expr) if is_nothing(expr) => {}
                SelectItem::UnnamedExpr(expr) => {
                    let typed = self.expr(expr)?;
                    if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
                        self.trace_output();
                    }
                    let name = super::names::output_name(expr);
                    targets.push(self.target(typed, name));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    self.refuse_string(alias)?;
                    let typed = self.expr(expr)?;
                    targets.push(self.target(typed, fold(alias)));
                }
                SelectItem::ExprWithAliases { .. } => {
                    return Err(PlanError::new("42601", "syntax error at or near \"(\""));
                }
                SelectItem::Wildcard(options) => {
                    refuse_star_options(options)?;
                    let position = self.at(options.wildcard_token.0.span);
                    let columns = self.star(position);
                    let named: Vec<_> = columns.iter().map(|(column, _)| column.clone()).collect();
                    self.trace_star(options.wildcard_token.0.span, &named);
                    if columns.is_empty() && self.frames.last().is_none_or(|frame| frame.tables.is_empty()) {
                        return Err(
                            PlanError::new("42601", "SELECT * with no tables specified is not valid").at(position)
                        );
                    }
                    targets.extend(columns.into_iter().map(|(column, typed)| Target {
                        typed,
                        name: column.name,
                        origin: column.origin,
                    }));
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    refuse_star_options(options)?;
                    self.qualified_star(kind, options.wildcard_token.0.span, &mut targets)?;
                }
            }
        }
        for (index, target) in targets.iter_mut().enumerate() {
            if !target.typed.is_unknown() {
                continue;
            }
            let typed = target.typed.clone();
            target.typed = match outputs {
                Outputs::Kept => typed,
                Outputs::Hinted(hints) if index < hints.len() => self.coerce(typed, &hints[index].scalar)?,
                Outputs::Settled | Outputs::Hinted(_) => self.settle(typed)?,
            };
        }
        Ok(targets)
    }

    fn qualified_star(
        &mut self,
        kind: &SelectItemQualifiedWildcardKind,
        star: Span,
        targets: &mut Vec<Target>,
    ) -> Result<(), PlanError> {
        match kind {
            SelectItemQualifiedWildcardKind::ObjectName(name) => {
                let parts: Vec<Ident> = name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
                if self.find_table(&parts)?.is_none()
                    && let [column] = parts.as_slice()
                    && let Some(value) = self.find_column(&fold(column), self.at(column.span))?
                {
                    return self.expand_record(value, targets);
                }
                let columns = self.table_star(&parts)?;
                if let Some(first) = parts.first() {
                    let named: Vec<_> = columns.iter().map(|(column, _)| column.clone()).collect();
                    self.trace_star(Span::new(first.span.start, star.end), &named);
                }
                targets.extend(columns.into_iter().map(|(column, typed)| Target {
                    typed,
                    name: column.name,
                    origin: column.origin,
                }));
                Ok(())
            }
            // Such stars are read as fields: see `parse::star`.
            SelectItemQualifiedWildcardKind::Expr(_) => Err(PlanError::new("42601", "syntax error at or near \"*\"")),
        }
    }

    /// `(row).*`.
    fn expand_record(&mut self, value: Typed, targets: &mut Vec<Target>) -> Result<(), PlanError> {
        let fields = self.row_fields(value)?;
        targets.extend(fields.into_iter().map(|(name, typed)| Target { typed, name, origin: None }));
        Ok(())
    }

    fn target(&self, typed: Typed, name: String) -> Target {
        let origin = is_source_column(&typed.expr).and_then(|index| {
            let frame = self.frames.last()?;
            let columns = frame.tables.iter().flat_map(|table| &table.columns).chain(&frame.columns);
            columns.filter(|column| column.index == index).find_map(|column| column.origin)
        });
        Target { typed, name, origin }
    }

    /// A sort key: an output by name or number, else an expression, found among the targets or added.
    fn sort_target(
        &mut self,
        expr: &Expr,
        targets: &mut Vec<Target>,
        outputs: usize,
        clause: &str,
    ) -> Result<usize, PlanError> {
        let position = self.position_of(expr);
        let require = if clause == "ORDER BY" { require_ordering } else { require_equality };
        let required = |scalar: &ScalarType| require(scalar).map_err(|error| error.at(position));
        match unnested(expr) {
            Expr::Identifier(ident) => {
                let name = fold(ident);
                let mut named = targets[..outputs].iter().enumerate().filter(|(_, target)| target.name == name);
                if let Some((index, first)) = named.next() {
                    if named.any(|(_, other)| other.typed.expr != first.typed.expr) {
                        return Err(PlanError::new("42702", format!("{clause} \"{name}\" is ambiguous")).at(position));
                    }
                    required(first.typed.scalar())?;
                    return Ok(index);
                }
            }
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
                let index = ordinal(digits, outputs, clause).map_err(|error| error.at(position))?;
                required(targets[index].typed.scalar())?;
                return Ok(index);
            }
            Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_) | Value::Boolean(_), .. }) => {
                return Err(PlanError::new("42601", format!("non-integer constant in {clause}")).at(position));
            }
            _ => {}
        }
        let typed = self.expr(expr)?;
        let typed = self.settle(typed)?;
        required(typed.scalar())?;
        if let Some(index) = targets.iter().position(|target| target.typed.expr == typed.expr) {
            return Ok(index);
        }
        targets.push(Target { typed, name: String::new(), origin: None });
        Ok(targets.len() - 1)
    }

    /// Operators bottom up: WHERE, grouping, HAVING, windows, sets, targets, DISTINCT.
    fn build(
        &mut self,
        from: Hir,
        parts: SelectParts,
        frame: &Frame,
        mut calls: Calls,
        select: &Select,
        is_grouped: bool,
    ) -> Result<HirQuery, PlanError> {
        let SelectParts { mut targets, outputs, predicates, having, mut order, grouping, mut distinct_on } = parts;
        let mut relation = from.filter(predicates);
        if is_grouped {
            let grouping = grouping.unwrap_or_else(|| Grouping { keys: Vec::new(), sets: vec![Vec::new()] });
            let (grouped, over) = calls.group(relation, frame, grouping, self)?;
            relation = grouped;
            for (index, target) in targets.iter_mut().enumerate() {
                over.rewrite_output(index, &mut target.typed.expr, &calls)?;
            }
            if let Some(mut having) = having {
                over.rewrite(&mut having, &calls)?;
                relation = relation.filter(super::build::conjuncts(having));
            }
        }
        relation = calls.windows(relation, self)?;
        if calls.has_sets() {
            calls.place_in_sets()?;
            // What ORDER BY makes the first of its group is chosen before sets are expanded, unless it is told by them.
            if let Some(on) = &distinct_on
                && !order.is_empty()
                && !on
                    .iter()
                    .chain(order.iter().map(|item| &item.column))
                    .any(|&at| calls.over_sets(&targets[at].typed.expr))
            {
                relation = self.first_before_sets(relation, &calls, &targets, (on, &order))?;
                distinct_on = None;
            }
            relation = calls.sets(relation)?;
        }
        targets.iter_mut().try_for_each(|target| calls.place(&mut target.typed.expr))?;
        let columns: Vec<OutputColumn> = targets[..outputs].iter().map(Target::output).collect();
        let (mut relation, places) = relation.with_columns(targets.into_iter().map(|target| target.typed).collect());
        for item in &mut order {
            item.column = places[item.column];
        }
        let mut project = places[..outputs].to_vec();
        match (&select.distinct, distinct_on) {
            (_, Some(on)) => {
                let keys: Vec<usize> = on.into_iter().map(|target| places[target]).collect();
                relation = self.first_of_groups(relation, keys, order.clone())?;
            }
            (Some(Distinct::Distinct), None) => {
                columns.iter().try_for_each(|column| require_equality(&column.column_type.scalar))?;
                relation = relation.project(project.clone()).distinct();
                for item in &mut order {
                    item.column = project.iter().position(|column| *column == item.column).unwrap_or(item.column);
                }
                project = (0..outputs).collect();
            }
            (Some(Distinct::All | Distinct::On(_)) | None, None) => {}
        }
        Ok(HirQuery { order_by: order, ..HirQuery::of(relation, project, columns) })
    }

    /// DISTINCT ON of rows whose set-returning calls are not expanded yet.
    fn first_before_sets(
        &mut self,
        relation: Hir,
        calls: &Calls,
        targets: &[Target],
        (on, order): (&[usize], &[Order]),
    ) -> Result<Hir, PlanError> {
        let mut exprs = Vec::with_capacity(on.len() + order.len());
        for target in on.iter().copied().chain(order.iter().map(|item| item.column)) {
            let mut typed = targets[target].typed.clone();
            calls.place(&mut typed.expr)?;
            exprs.push(typed);
        }
        let (relation, places) = relation.with_columns(exprs);
        let (keys, sorted) = places.split_at(on.len());
        let order = order.iter().zip(sorted).map(|(item, &column)| Order { column, ..*item }).collect();
        self.first_of_groups(relation, keys.to_vec(), order)
    }

    /// The first of each group, whichever way it is computed; groups themselves are told apart by their keys.
    fn first_of_groups(&mut self, relation: Hir, keys: Vec<usize>, order: Vec<Order>) -> Result<Hir, PlanError> {
        let one = HirExpr::Literal(
            Datum::Int8(1),
            repr::ColumnType { nullable: false, ..repr::ColumnType::nullable(ScalarType::Int8) },
        );
        let (keyed, order) = self.keyed(relation, order)?;
        let (completed, order) = self.completed(keyed, order)?;
        Ok(completed.top_k(keys, order, Some(one), None))
    }
}

fn refuse_star_options(options: &WildcardAdditionalOptions) -> Result<(), PlanError> {
    let plain = options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none();
    if plain { Ok(()) } else { Err(PlanError::new("42601", "syntax error after \"*\"")) }
}

/// Clauses of other dialects that the parser lets through.
fn refuse_foreign_clauses(select: &Select) -> Result<(), PlanError> {
    if select.into.is_some() {
        return Err(PlanError::new("42601", "SELECT ... INTO is not allowed here"));
    }
    let foreign = select.top.is_some()
        || select.exclude.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || select.qualify.is_some()
        || select.value_table_mode.is_some();
    if foreign { Err(PlanError::new("42601", "syntax error in SELECT")) } else { Ok(()) }
}
