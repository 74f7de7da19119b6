//! What all writes share: the target table, defaults, checks, assignments, RETURNING.

use super::operator::{Field, row_items};
use super::outputs::{Limits, Outputs};
use super::part::Assignee;
use super::scope::{Binding, Clause, Frame, FromItem, Source, Visible};
use super::select::Target;
use super::system_columns::xid;
use super::updatable::{ViewWrite, unmergeable};
use super::write_subquery::computed_beside;
use super::write_target::WriteTarget;
use super::{Resolver, SessionInfo, Typed};
use crate::catalog::own_tables::is_own;
use crate::catalog::{Catalog, Column, DefaultValue, Privilege, Table};
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirQuery, OutputColumn, ReturningHir, RowChecksHir};
use crate::parse::parse_expression;
use repr::id::is_temporary;
use repr::{ColumnIndex, ColumnType, Datum, ScalarType, SequenceId};
use sqlparser::ast::{Assignment, AssignmentTarget, Expr, ObjectName, Query, SelectItem};
use std::sync::Arc;

/// What stored rows of a table must pass, for cascades and definitions.
///
/// # Errors
/// Those of the stored expressions.
pub fn row_checks(catalog: &Catalog, table: &Table) -> Result<RowChecksHir, PlanError> {
    Resolver::new(catalog, &SessionInfo::default(), "", &[]).row_checks(table)
}

/// 42501: the server alone writes it.
pub(crate) fn system_catalog(name: &str) -> PlanError {
    PlanError::new("42501", format!("permission denied: \"{name}\" is a system catalog"))
}

/// A column's default; NULL if it has none.
///
/// # Errors
/// Those of the stored expression.
pub(crate) fn default_expression(catalog: &Catalog, table: &Table, column: ColumnIndex) -> Result<HirExpr, PlanError> {
    Ok(Resolver::new(catalog, &SessionInfo::default(), "", &[]).default_value(table, column)?.expr)
}

/// The next value of a sequence, cast to a column's type.
///
/// # Errors
/// 42804 if the column is no number.
pub(crate) fn next_value_expression(
    catalog: &Catalog,
    sequence: SequenceId,
    to: &ColumnType,
) -> Result<HirExpr, PlanError> {
    let session = SessionInfo::default();
    let mut resolver = Resolver::new(catalog, &session, "", &[]);
    let next = resolver.next_value(sequence)?;
    Ok(resolver.assign(next, to, "", None)?.expr)
}

/// What SET says.
pub(super) struct Assignments {
    /// Columns behind the row's: rows of subqueries, from which several columns are set.
    pub(super) rows: Vec<Typed>,
    /// Values by column.
    pub(super) columns: Vec<(ColumnIndex, Typed)>,
}

impl Resolver<'_> {
    /// The table that a statement writes; catalog relations are refused.
    pub(super) fn written_table(&mut self, name: &ObjectName, write: ViewWrite) -> Result<WriteTarget, PlanError> {
        use super::relation::{NamedRelation, Stored};
        // CTEs cannot be written, and do not hide tables here.
        let ctes = std::mem::take(&mut self.ctes.in_scope);
        let found = self.find_relation(name);
        self.ctes.in_scope = ctes;
        let found = found?;
        if let NamedRelation::Stored(Stored { id, name, is_system: false, .. }) = &found
            && write != ViewWrite::Update
            && !is_temporary(id.0)
            && self.is_subject()
        {
            return Err(super::subject::may_not_write(name));
        }
        match found {
            NamedRelation::View(view) if write == ViewWrite::Merge => Err(unmergeable(&view)),
            NamedRelation::View(view) => self.written_through(&view, write),
            NamedRelation::Stored(Stored { id, name, .. }) if is_own(id.0) => Err(system_catalog(&name)),
            NamedRelation::Stored(Stored { id, is_system: false, name, .. }) => match self.catalog.table(id) {
                Some(table) if !table.is_stored() && write == ViewWrite::Merge => Err(unmergeable(table)),
                Some(table) if !table.is_stored() => self.written_through(table, write),
                Some(table) => Ok(WriteTarget::from(Arc::clone(table))),
                None => Err(PlanError::new("42P01", format!("relation \"{name}\" does not exist"))),
            },
            NamedRelation::Stored(Stored { name, .. }) => Err(system_catalog(&name)),
            NamedRelation::Sequence(sequence) => {
                Err(PlanError::new("42809", format!("cannot change sequence \"{}\"", sequence.name)).hint("use setval"))
            }
            NamedRelation::Cte(_) => Err(PlanError::new("42P01", "a WITH query cannot be written")),
        }
    }

    /// The table's columns by name, at those places in a row.
    pub(super) fn table_binding(&self, table: &Table, name: &str, offset: usize) -> Binding {
        let primary_key = table.primary_key_columns().unwrap_or_default();
        let columns = table
            .live_columns()
            .map(|(index, column)| Visible {
                name: column.name.clone(),
                index: index + offset,
                column_type: ColumnType { nullable: !primary_key.contains(&index), ..column.column_type.clone() },
                origin: Some((table.id, index)),
            })
            .collect();
        Binding {
            name: name.to_owned(),
            schema: if name == table.name { self.schema_of(table.namespace) } else { None },
            hidden_name: (name != table.name).then(|| table.name.clone()),
            relation: Some(table.id),
            columns,
            row_keys: Vec::new(),
            source: Source::Relation,
            is_scalar: false,
            presence: None,
            row_type: None,
        }
    }

    /// The rows of an UPDATE's or DELETE's target: physical columns, then the row key.
    pub(super) fn target_item(&mut self, table: &Table, alias: &str) -> FromItem {
        let mut binding = self.table_binding(table, alias, 0);
        binding.row_keys = vec![(table.id, table.columns.len())];
        self.from_item(Hir::get(table.id, row_types(table), true), binding)
    }

    /// An expression of the catalog over a table's row. Its text is not the statement's: no positions.
    pub(super) fn catalog_expression<T>(
        &mut self,
        text: &str,
        frame: Frame,
        finish: impl FnOnce(&mut Resolver<'_>, Typed) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        self.expression_for(self.session, text, frame, finish)
    }

    /// The same of one that the catalog keeps: read by the search path of all kept texts, whatever the session's is.
    pub(super) fn kept_expression<T>(
        &mut self,
        text: &str,
        frame: Frame,
        finish: impl FnOnce(&mut Resolver<'_>, Typed) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        let session = SessionInfo { views: self.session.views, ..SessionInfo::default() };
        self.expression_for(&session, text, frame, finish)
    }

    fn expression_for<T>(
        &mut self,
        session: &SessionInfo,
        text: &str,
        frame: Frame,
        finish: impl FnOnce(&mut Resolver<'_>, Typed) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        let parsed = parse_expression(text)?;
        let mut inner = Resolver::new(self.catalog, session, "", &[]);
        inner.ctes.next = self.ctes.next;
        inner.as_shown = self.as_shown;
        inner.keeps |= self.keeps;
        inner.domains.clone_from(&self.domains);
        let (result, frame) = inner.with_frame(frame, |resolver| {
            let typed = resolver.expr(&parsed)?;
            finish(resolver, typed)
        })?;
        inner.refuse_parameters()?;
        debug_assert!(frame.calls.is_empty(), "no clause of the catalog allows calls over rows");
        self.ctes.next = inner.ctes.next;
        Ok(result)
    }

    /// The value of a column that a write leaves out.
    pub(super) fn default_value(&mut self, table: &Table, index: ColumnIndex) -> Result<Typed, PlanError> {
        let column = &table.columns[index];
        let to = &column.column_type;
        match &column.default {
            _ if column.dropped => Ok(null_of(to)),
            None if column.column_type.domain != 0 => {
                let Some(text) = self.domain_default(column.column_type.domain) else { return Ok(null_of(to)) };
                let frame = Frame::default().clause(Clause::ColumnDefault);
                self.kept_expression(text, frame, |resolver, typed| resolver.assign(typed, to, &column.name, None))
            }
            None | Some(DefaultValue::Generated(_)) => Ok(null_of(to)),
            Some(DefaultValue::Expr(text)) => {
                let frame = Frame::default().clause(Clause::ColumnDefault);
                self.kept_expression(text, frame, |resolver, typed| resolver.assign(typed, to, &column.name, None))
            }
            Some(DefaultValue::Serial(sequence) | DefaultValue::Identity { sequence, .. }) => {
                let next = self.next_value(*sequence)?;
                self.assign(next, to, &column.name, None)
            }
        }
    }

    fn next_value(&mut self, sequence: SequenceId) -> Result<Typed, PlanError> {
        self.call_named("nextval", vec![Typed::literal(Datum::Oid(sequence.0), ScalarType::Regclass)], None)
    }

    /// What stored rows of the table must pass.
    pub(super) fn row_checks(&mut self, table: &Table) -> Result<RowChecksHir, PlanError> {
        let required = table.live_columns().filter(|(_, column)| !column.column_type.nullable);
        let not_null = required.map(|(index, _)| index).collect();
        let mut checks = RowChecksHir { not_null, ..RowChecksHir::default() };
        for (index, column) in table.live_columns().filter(|(_, column)| column.column_type.domain != 0) {
            let frame = self.row_frame(table, Clause::CheckConstraint);
            let (test, _) = self.with_frame(frame, |resolver| resolver.domain_test(index, &column.column_type))?;
            checks.domains.push((index, test));
        }
        for (index, column, text) in table.computed_columns() {
            let frame = self.row_frame(table, Clause::ColumnGenerated);
            let value = self.kept_expression(text, frame, |resolver, typed| resolver.computed(typed, column))?;
            checks.generated.push((index, value.expr));
        }
        for check in &table.checks {
            let frame = self.row_frame(table, Clause::CheckConstraint);
            let condition = self.kept_expression(&check.expression, frame, |resolver, typed| {
                resolver.condition(typed, "CHECK", None)
            })?;
            checks.checks.push((check.constraint.name.clone(), condition));
        }
        for predicate in table.indexes.iter().filter_map(|index| index.declared.predicate.as_ref()) {
            let frame = self.row_frame(table, Clause::IndexPredicate);
            let condition = self.kept_expression(&predicate.expression, frame, |resolver, typed| {
                resolver.condition(typed, "WHERE", None)
            })?;
            checks.index_predicates.push(condition);
        }
        for hold in &table.holds {
            let frame = self.row_frame(table, Clause::CheckConstraint);
            let condition = hold.expression.as_ref().map(|text| {
                self.kept_expression(text, frame, |resolver, typed| resolver.condition(typed, "HOLD", None))
            });
            checks.holds.push((hold.name.clone(), condition.transpose()?));
        }
        checks.terms.extend(self.region_term(table)?);
        Ok(checks)
    }

    /// A table's physical row.
    pub(super) fn row_frame(&self, table: &Table, clause: Clause) -> Frame {
        let binding = self.table_binding(table, &table.name, 0);
        Frame { columns: binding.columns.clone(), tables: vec![binding], clause, ..Frame::default() }
    }

    /// SET: values by column, over the innermost frame of that width, and over columns behind it.
    pub(super) fn assignments(
        &mut self,
        table: &WriteTarget,
        written: &[Assignment],
        (width, write): (usize, ViewWrite),
    ) -> Result<Assignments, PlanError> {
        let mut assigned: Vec<(Assignee, Typed)> = Vec::new();
        let mut rows: Vec<Typed> = Vec::new();
        for assignment in written {
            match &assignment.target {
                AssignmentTarget::ColumnName(name) => {
                    let target = self.assignee(table, name, write)?;
                    let value = self.assigned_value(table, &target, &assignment.value)?;
                    assigned.push((target, value));
                }
                AssignmentTarget::Tuple(names) => {
                    let mut targets = Vec::with_capacity(names.len());
                    for name in names {
                        targets.push(self.assignee(table, name, write)?);
                    }
                    let Expr::Subquery(query) = super::expr::unnested(&assignment.value) else {
                        let values = self.assigned_row(table, &targets, &assignment.value)?;
                        assigned.extend(targets.into_iter().zip(values));
                        continue;
                    };
                    let position = self.position_of(&assignment.value);
                    let row = self.row_subquery(query)?;
                    let source = Typed::column(width + rows.len(), row.column_type.clone());
                    rows.push(row);
                    let values = self.assigned_fields(table, &targets, source, position)?;
                    assigned.extend(targets.into_iter().zip(values));
                }
            }
        }
        let named: Vec<ColumnIndex> = assigned.iter().map(|(target, _)| target.named).collect();
        self.needs_written(table, Privilege::Update, &named);
        let columns = self.whole_columns(table, assigned)?;
        Ok(Assignments { rows, columns })
    }

    /// The values of several targets from one row, of as many fields.
    fn assigned_fields(
        &mut self,
        table: &Table,
        targets: &[Assignee],
        row: Typed,
        position: Option<u32>,
    ) -> Result<Vec<Typed>, PlanError> {
        let ScalarType::Record(fields) = row.scalar() else { return Err(wrong_count()) };
        if fields.len() != targets.len() {
            return Err(wrong_count().at(position));
        }
        let mut values = Vec::with_capacity(targets.len());
        for (place, target) in targets.iter().enumerate() {
            self.check_assigned(&table.columns[target.index])?;
            let value = self.field_at(row.clone(), place)?;
            values.push(self.assign_to(table, target, value, None)?);
        }
        Ok(values)
    }

    /// The same from a row that is written as such.
    fn assigned_row(
        &mut self,
        table: &WriteTarget,
        targets: &[Assignee],
        written: &Expr,
    ) -> Result<Vec<Typed>, PlanError> {
        let position = self.position_of(written);
        let items = row_items(written).ok_or_else(|| {
            PlanError::new("0A000", "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression")
                .at(position)
        })?;
        let mut values = Vec::with_capacity(targets.len());
        for field in items {
            let target = targets.get(values.len()).ok_or_else(|| wrong_count().at(position))?;
            match field {
                Field::Value(expr) => values.push(self.assigned_value(table, target, expr)?),
                starred => {
                    let fields = self.several_fields(&starred)?;
                    if fields.len() > targets.len() - values.len() {
                        return Err(wrong_count().at(position));
                    }
                    for (target, typed) in targets[values.len()..].iter().zip(fields) {
                        values.push(self.assign_to(table, target, typed, position)?);
                    }
                }
            }
        }
        if values.len() != targets.len() {
            return Err(wrong_count().at(position));
        }
        Ok(values)
    }

    /// A subquery's one row as a composite value: NULL without a row, 21000 for two.
    fn row_subquery(&mut self, query: &Query) -> Result<Typed, PlanError> {
        let (relation, _) = self.sublink(query, Limits::Rows)?;
        let fields = relation.types.iter().enumerate();
        let row = super::expr::record(fields.map(|(index, own)| Typed::column(index, own.clone())).collect());
        let (scalar, arity) = (row.scalar().clone(), relation.arity());
        let relation = relation.map(vec![row]).project(vec![arity]);
        Ok(Typed::new(HirExpr::Column(crate::hir::HirColumn::Scalar(Box::new(relation))), scalar))
    }

    fn assigned_value(&mut self, table: &WriteTarget, target: &Assignee, written: &Expr) -> Result<Typed, PlanError> {
        if is_default(written) {
            target.check_default()?;
            if table.through.is_none() {
                return self.default_value(table, target.index);
            }
            // The named view's column has one or none: what is below is not asked.
            let own = &table.columns[target.index];
            return match self.default_of_view(&Arc::clone(table.named()), target.named)? {
                Some(value) => self.assign(value, &own.column_type, &own.name, None),
                None => Ok(null_of(&own.column_type)),
            };
        }
        self.check_assigned(&table.columns[target.index])?;
        let position = self.position_of(written);
        let typed = self.expr(written)?;
        self.assign_to(table, target, typed, position)
    }

    /// 428C9 for a column that takes DEFAULT only.
    fn check_assigned(&self, column: &Column) -> Result<(), PlanError> {
        let only_default = |detail: String| {
            PlanError::new("428C9", format!("column \"{}\" can only be updated to DEFAULT", column.name)).detail(detail)
        };
        match &column.default {
            Some(DefaultValue::Generated(_)) => {
                Err(only_default(format!("Column \"{}\" is a generated column.", column.name)))
            }
            Some(DefaultValue::Identity { always: true, .. }) => Err(only_default(format!(
                "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                column.name
            ))),
            Some(DefaultValue::Identity { always: false, .. } | DefaultValue::Expr(_) | DefaultValue::Serial(_))
            | None => Ok(()),
        }
    }

    /// RETURNING over the row of `frame`, of these types, and over what a view computes of it.
    pub(super) fn returning(
        &mut self,
        items: Option<&[SelectItem]>,
        frame: Frame,
        (mut types, seen): (Vec<ColumnType>, Vec<Typed>),
    ) -> Result<Option<ReturningHir>, PlanError> {
        let Some(items) = items else { return Ok(None) };
        let (targets, frame) =
            self.with_frame(frame.clause(Clause::Returning), |resolver| resolver.targets(items, Outputs::Settled))?;
        let has_xmax = frame.references.iter().any(|(index, _)| Some(*index) == frame.xmax);
        types.extend(has_xmax.then(xid));
        let (mut exprs, mut columns) = (Vec::with_capacity(targets.len()), Vec::with_capacity(targets.len()));
        let mut computed = Vec::new();
        for Target { typed, name, origin } in targets {
            columns.push(OutputColumn { name, column_type: typed.column_type.clone(), origin });
            exprs.push(computed_beside(typed, types.len() + seen.len(), &mut computed));
        }
        Ok(Some(ReturningHir { has_xmax, beside: self.beside(types, seen, computed), exprs, columns }))
    }
}

/// The types of a table's physical row.
pub(super) fn row_types(table: &Table) -> Vec<ColumnType> {
    let primary_key = table.primary_key_columns().unwrap_or_default();
    let columns = table.columns.iter().enumerate();
    let typed = |(index, column): (usize, &Column)| ColumnType {
        nullable: !primary_key.contains(&index),
        ..column.column_type.clone()
    };
    columns.map(typed).collect()
}

/// NULL of a type.
pub(super) fn null_of(to: &ColumnType) -> Typed {
    let column_type = ColumnType { nullable: true, ..to.clone() };
    Typed::of(HirExpr::Literal(Datum::Null, column_type.clone()), column_type)
}

/// The word DEFAULT, which the parser reads as a name.
pub(super) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// All columns of a relation, as a source of a write.
pub(super) fn source_query(relation: Hir, project: Vec<usize>) -> HirQuery {
    let columns = project
        .iter()
        .enumerate()
        .map(|(place, &column)| OutputColumn {
            name: format!("column{}", place + 1),
            column_type: relation.types[column].clone(),
            origin: None,
        })
        .collect();
    HirQuery::of(relation, project, columns)
}

fn wrong_count() -> PlanError {
    PlanError::new("42601", "number of columns does not match number of values")
}
