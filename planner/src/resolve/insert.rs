//! INSERT, and COPY FROM as an INSERT of parameters.

use super::dml::{is_default, null_of, row_types, source_query};
use super::literals::{ColumnCast, literal_type, single, widened};
use super::naming::value_names;
use super::operator::Field;
use super::outputs::Outputs;
use super::part::Assignee;
use super::query::{locks, rows_relation};
use super::scope::{Clause, Frame, fold};
use super::updatable::ViewWrite;
use super::write_target::WriteTarget;
use super::{Resolver, Typed};
use crate::catalog::{DefaultValue, PolicyCommand, Privilege};
use crate::error::PlanError;
use crate::hir::{Hir, HirExpr, HirNode, HirQuery, InsertHir, OutputColumn, ReturningHir};
use crate::parse::literals::{self, LiteralRun};
use crate::parse::overriding::{self, Overriding};
use crate::parse::parse_query;
use crate::scalar::Order;
use crate::scalar::cast::CastContext;
use repr::{ColumnIndex, ColumnType, Datum, ScalarType, poll};
use sqlparser::ast::{Expr, Insert, ObjectName, OnConflictAction, OnInsert, Query, SelectItem, SetExpr, TableObject};

impl Resolver<'_> {
    pub(super) fn insert(&mut self, insert: &Insert) -> Result<InsertHir, PlanError> {
        let foreign = insert.or.is_some()
            || insert.ignore
            || insert.overwrite
            || insert.partitioned.is_some()
            || insert.replace_into
            || insert.priority.is_some()
            || insert.insert_alias.is_some()
            || insert.output.is_some()
            || !insert.assignments.is_empty()
            || !insert.after_columns.is_empty()
            || insert.has_table_keyword;
        let TableObject::TableName(name) = &insert.table else {
            return Err(PlanError::new("42601", "syntax error in INSERT"));
        };
        if foreign || !insert.into {
            return Err(PlanError::new("42601", "syntax error in INSERT"));
        }
        let table = self.written_table(name, ViewWrite::Insert)?;
        let alias = insert.table_alias.as_ref().map_or_else(|| table.named().name.clone(), |alias| fold(&alias.alias));
        let frame = Frame::default().clause(Clause::Values);
        let ((targets, named), _) =
            self.with_frame(frame, |resolver| resolver.inserted_columns(&table, &insert.columns))?;
        match &insert.source {
            Some(_) => self.needs_inserting(&table, targets.iter().map(|target| target.named)),
            None => self.needs_inserting(&table, std::iter::empty()),
        }
        if insert.returning.is_some() || insert.on.is_some() {
            self.needs_rows(&table);
        }
        let overriding = overriding::of(insert);
        let source = match &insert.source {
            None => self.insert_rows(&table, &[], &[vec![]], named, overriding)?,
            Some(query) => match plain_values(query) {
                Some(rows) => match rows.as_slice() {
                    [only] => match only.first().map(|first| (first, literals::run(first))) {
                        Some((first, Some(LiteralRun::Rows(text)))) => {
                            let position = self.position_of(first);
                            self.insert_run(&table, &targets, (text, position), (named, overriding))?
                        }
                        _ => self.insert_row(&table, &targets, only, named, overriding)?,
                    },
                    _ if has_stars(&rows) => self.insert_query(&table, &targets, query, named, overriding)?,
                    _ => self.insert_rows(&table, &targets, &rows, named, overriding)?,
                },
                None => self.insert_query(&table, &targets, query, named, overriding)?,
            },
        };
        let mut checks = self.row_checks(&table)?;
        checks.terms.extend(self.expiry_term(&table)?);
        checks.views = self.view_checks(&table);
        let mut source = source;
        let positions = source.project.clone();
        let reads = insert.returning.is_some();
        self.check_policies(&table, PolicyCommand::Insert, reads, (&mut checks, &mut source, &positions))?;
        let on_conflict = match &insert.on {
            None => None,
            Some(OnInsert::OnConflict(conflict)) => {
                if matches!(conflict.action, OnConflictAction::DoUpdate(_)) {
                    self.refuse_policies(&table, "INSERT ... ON CONFLICT DO UPDATE")?;
                }
                Some(self.on_conflict(&table, &alias, conflict)?)
            }
            Some(_) => return Err(PlanError::new("42601", "syntax error at or near \"ON\"")),
        };
        let returning = self.returning_inserted(&table, &alias, insert.returning.as_deref())?;
        Ok(InsertHir { table: table.id, source, checks, on_conflict, returning })
    }

    fn returning_inserted(
        &mut self,
        table: &WriteTarget,
        alias: &str,
        items: Option<&[SelectItem]>,
    ) -> Result<Option<ReturningHir>, PlanError> {
        let binding = self.written_binding(table, alias, 0, table.columns.len());
        // A view has no system columns, and what it computes stands there.
        let xmax = table.through.is_none().then_some(table.columns.len());
        let frame = Frame { columns: binding.columns.clone(), tables: vec![binding], xmax, ..Frame::default() };
        self.returning(items, frame, (row_types(table), table.computed(0)))
    }

    /// Refuses a value for a column that makes its own.
    pub(super) fn check_given(
        &self,
        table: &WriteTarget,
        index: ColumnIndex,
        overriding: Overriding,
    ) -> Result<(), PlanError> {
        let column = &table.columns[index];
        let refused =
            PlanError::new("428C9", format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name));
        match &column.default {
            Some(DefaultValue::Generated(_)) => {
                Err(refused.detail(format!("Column \"{}\" is a generated column.", column.name)))
            }
            Some(DefaultValue::Identity { always: true, .. }) if overriding == Overriding::Nothing => Err(refused
                .detail(format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name))
                .hint("Use OVERRIDING SYSTEM VALUE to override.")),
            Some(DefaultValue::Identity { .. } | DefaultValue::Expr(_) | DefaultValue::Serial(_)) | None => Ok(()),
        }
    }

    /// INSERT … VALUES of one row: a SELECT of it, where that makes a difference.
    fn insert_row(
        &mut self,
        table: &WriteTarget,
        targets: &[Assignee],
        row: &[&Expr],
        named: bool,
        overriding: Overriding,
    ) -> Result<HirQuery, PlanError> {
        let rows = [row.to_vec()];
        if !has_stars(&rows) {
            match self.insert_rows(table, targets, &rows, named, overriding) {
                Err(error) if error.code == "0A000" && error.message == NO_SETS => {}
                inserted => return inserted,
            }
        }
        let defaults = row.iter().filter(|expr| is_default(expr)).count();
        if defaults > 0 {
            // What is left to its default need not be selected.
            self.check_width((table, targets), row.len(), named, None)?;
        }
        let mut chosen = targets.to_vec();
        if defaults > 0 {
            let mut given = row.iter().map(|expr| !is_default(expr));
            for target in targets.iter().zip(row).filter(|(_, expr)| is_default(expr)).map(|(target, _)| target) {
                target.check_default()?;
            }
            chosen.retain(|_| given.next().unwrap_or(false));
        }
        let mut query = parse_query("SELECT NULL")?;
        if let SetExpr::Select(select) = &mut *query.body {
            let values = row.iter().filter(|expr| !is_default(expr));
            select.projection = values.map(|expr| SelectItem::UnnamedExpr((*expr).clone())).collect();
        }
        self.insert_query(table, &chosen, &query, named || defaults > 0, overriding)
    }

    /// What an INSERT gives values for, and whether it names that: all of the table's columns, if not.
    pub(super) fn inserted_columns(
        &mut self,
        table: &WriteTarget,
        names: &[ObjectName],
    ) -> Result<(Vec<Assignee>, bool), PlanError> {
        if names.is_empty() {
            // The first that the view computes ends what values can be given for.
            let columns = table.columns();
            let given = columns.iter().map_while(|(named, index)| Some((*named, (*index)?)));
            return Ok((given.map(|(named, index)| Assignee { named, ..Assignee::whole(index) }).collect(), false));
        }
        let mut targets: Vec<Assignee> = Vec::with_capacity(names.len());
        for name in names {
            let target = self.assignee(table, name, ViewWrite::Insert)?;
            let twice =
                |other: &Assignee| other.named == target.named && (other.part.is_none() || target.part.is_none());
            if targets.iter().any(twice) {
                let column = &table.named().columns[target.named].name;
                let position = name.0.first().and_then(|part| part.as_ident()).and_then(|ident| self.at(ident.span));
                return Err(
                    PlanError::new("42701", format!("column \"{column}\" specified more than once")).at(position)
                );
            }
            targets.push(target);
        }
        Ok((targets, true))
    }

    /// INSERT … VALUES.
    fn insert_rows(
        &mut self,
        table: &WriteTarget,
        targets: &[Assignee],
        rows: &[Vec<&Expr>],
        named: bool,
        overriding: Overriding,
    ) -> Result<HirQuery, PlanError> {
        let width = rows.first().map_or(0, Vec::len);
        let extra = rows.first().and_then(|row| row.get(targets.len()).copied());
        self.check_width((table, targets), width, named, extra.and_then(|expr| self.position_of(expr)))?;
        let targets = &targets[..width];
        let frame = Frame::default().clause(Clause::Values);
        let (values, _) = self.with_frame(frame, |resolver| {
            let mut values: Vec<Vec<Given>> = Vec::with_capacity(rows.len());
            for row in rows {
                if row.len() != width {
                    let position = row.first().and_then(|expr| resolver.position_of(expr));
                    return Err(PlanError::new("42601", "VALUES lists must all be the same length").at(position));
                }
                let mut given = Vec::with_capacity(width);
                for (target, expr) in targets.iter().zip(row) {
                    if is_default(expr) {
                        target.check_default()?;
                        given.push(Given { typed: None, position: None });
                        continue;
                    }
                    resolver.check_given(table, target.index, overriding)?;
                    let position = resolver.position_of(expr);
                    let typed = resolver.expr(expr)?;
                    let kept = !is_overridden(table, target.index, overriding);
                    given.push(Given { typed: kept.then_some(typed), position });
                }
                values.push(given);
            }
            Ok(values)
        })?;
        let relation = self.given_rows(table, targets, values)?;
        let places: Vec<usize> = (0..width).collect();
        self.complete_rows(table, (targets, overriding), relation, places, Vec::new())
    }

    /// INSERT … VALUES of many rows of plain literals; the text stands behind that position.
    fn insert_run(
        &mut self,
        table: &WriteTarget,
        targets: &[Assignee],
        (text, position): (&str, Option<u32>),
        (named, overriding): (bool, Overriding),
    ) -> Result<HirQuery, PlanError> {
        let rows = literals::rows(text);
        let casts = if rows.is_first_only { None } else { self.column_casts(&rows)? };
        let Some(casts) = casts else {
            let rows = literals::spread_rows(text)?;
            let rows: Vec<Vec<&Expr>> = rows.iter().map(|row| row.iter().collect()).collect();
            return self.insert_rows(table, targets, &rows, named, overriding);
        };
        let rows = rows.values;
        let places = literals::first_row(text);
        let width = places.len();
        // The expression begins behind the parenthesis that the text begins with.
        let positions: Vec<Option<u32>> = places.iter().map(|place| Some(position? + place - 1)).collect();
        self.check_width((table, targets), width, named, positions.get(targets.len()).copied().flatten())?;
        let targets = &targets[..width];
        for target in targets {
            self.check_given(table, target.index, overriding)?;
        }
        let wanted = |place: usize| &targets[place].column_type(table).scalar;
        let relation = match run_columns(&rows, width, wanted)? {
            Some(mut types) => {
                let rows = widened_rows(rows, &types)?;
                for (own, cast) in types.iter_mut().zip(&casts) {
                    cast.iter().for_each(|cast| *own = cast.from.clone());
                }
                let types: Vec<ColumnType> = types.into_iter().map(ColumnType::nullable).collect();
                let constants = Hir { node: HirNode::Constant(rows, value_names(targets.len())), types };
                self.given_constants(table, targets, constants, &casts, &positions)?
            }
            None if casts.iter().any(Option::is_some) => {
                let rows = literals::spread_rows(text)?;
                let rows: Vec<Vec<&Expr>> = rows.iter().map(|row| row.iter().collect()).collect();
                return self.insert_rows(table, targets, &rows, named, overriding);
            }
            None => {
                let given = |(value, position): (Datum, &Option<u32>)| Given {
                    typed: Some(single(value)),
                    position: *position,
                };
                let values = rows.into_iter().map(|row| row.into_iter().zip(&positions).map(given).collect()).collect();
                self.given_rows(table, targets, values)?
            }
        };
        let kept = targets.iter().cloned().enumerate();
        let kept = kept.filter(|(_, target)| !is_overridden(table, target.index, overriding));
        let (places, targets): (Vec<usize>, Vec<Assignee>) = kept.unzip();
        self.complete_rows(table, (&targets, overriding), relation, places, Vec::new())
    }

    /// Constants as a relation, each column cast once for all rows: as it is written, then to its own type.
    fn given_constants(
        &mut self,
        table: &WriteTarget,
        targets: &[Assignee],
        constants: Hir,
        written: &[Option<ColumnCast>],
        positions: &[Option<u32>],
    ) -> Result<Hir, PlanError> {
        let mut casts = Vec::with_capacity(targets.len());
        for (place, target) in targets.iter().enumerate() {
            let mut column = Typed::column(place, constants.types[place].clone());
            if let Some(Some(ColumnCast { to, .. })) = written.get(place) {
                column = self.cast(column, to, CastContext::Explicit)?;
            }
            casts.push(self.assign_to(table, target, column, positions[place])?);
        }
        let (relation, places) = constants.with_columns(casts);
        Ok(relation.project(places))
    }

    /// The given values as a relation, cast to their columns' types.
    fn given_rows(
        &mut self,
        table: &WriteTarget,
        targets: &[Assignee],
        mut values: Vec<Vec<Given>>,
    ) -> Result<Hir, PlanError> {
        let types: Vec<ColumnType> = targets.iter().map(|target| target.column_type(table).clone()).collect();
        // Long lists of literals stay constants: each column of one type, cast once for all rows.
        if values.len() > 1
            && let Some(literal_types) = literal_columns(&values, targets.len())
        {
            let rows = values.iter().map(|row| row.iter().map(Given::datum).collect()).collect();
            let constants = Hir { node: HirNode::Constant(rows, value_names(targets.len())), types: literal_types };
            let positions: Vec<Option<u32>> = values[0].iter().map(|given| given.position).collect();
            return self.given_constants(table, targets, constants, &[], &positions);
        }
        let mut rows = Vec::with_capacity(values.len());
        for row in values.drain(..) {
            let mut assigned = Vec::with_capacity(row.len());
            for (target, given) in targets.iter().zip(row) {
                assigned.push(match given.typed {
                    None => self.default_of_target(table, target)?,
                    Some(typed) => self.assign_to(table, target, typed, given.position)?,
                });
            }
            rows.push(assigned);
        }
        let types = types
            .into_iter()
            .enumerate()
            .map(|(place, column)| ColumnType {
                nullable: rows.iter().any(|row| row[place].column_type.nullable),
                ..column
            })
            .collect();
        Ok(rows_relation(rows, types))
    }

    /// INSERT … SELECT.
    fn insert_query(
        &mut self,
        table: &WriteTarget,
        targets: &[Assignee],
        query: &Query,
        named: bool,
        overriding: Overriding,
    ) -> Result<HirQuery, PlanError> {
        let hints: Vec<ColumnType> = targets.iter().map(|target| target.column_type(table).clone()).collect();
        let resolved = if locks(query) {
            let (relation, columns) = self.locking_subquery(query, Outputs::Hinted(&hints))?;
            let project = (0..relation.arity()).collect();
            HirQuery { columns, ..super::dml::source_query(relation, project) }
        } else {
            self.query(query, Outputs::Hinted(&hints))?
        };
        self.check_width((table, targets), resolved.project.len(), named, None)?;
        let targets = &targets[..resolved.project.len()];
        for target in targets {
            self.check_given(table, target.index, overriding)?;
        }
        let HirQuery { mut relation, order_by, limit, offset, project, .. } = resolved;
        let kept = targets.iter().zip(project).filter(|(target, _)| !is_overridden(table, target.index, overriding));
        let (targets, project): (Vec<Assignee>, Vec<usize>) =
            kept.map(|(target, place)| (target.clone(), place)).unzip();
        // Defaults are taken for the rows that are inserted only.
        if limit.is_some() || offset.is_some() {
            relation = relation.top_k(Vec::new(), order_by.clone(), limit, offset);
        }
        let mut assigned = Vec::with_capacity(targets.len());
        for (target, &place) in targets.iter().zip(&project) {
            let typed = Typed::column(place, relation.types[place].clone());
            assigned.push(self.assign_to(table, target, typed, None)?);
        }
        let (relation, places) = relation.with_columns(assigned);
        self.complete_rows(table, (&targets, overriding), relation, places, order_by)
    }

    pub(super) fn check_width(
        &self,
        (table, targets): (&WriteTarget, &[Assignee]),
        given: usize,
        named: bool,
        extra: Option<u32>,
    ) -> Result<(), PlanError> {
        if given > targets.len() {
            if let Some(error) = table.computed_column(targets.len(), ViewWrite::Insert).filter(|_| !named) {
                return Err(error);
            }
            return Err(PlanError::new("42601", "INSERT has more expressions than target columns").at(extra));
        }
        if named && given < targets.len() {
            return Err(PlanError::new("42601", "INSERT has more target columns than expressions"));
        }
        Ok(())
    }

    /// One value per physical column: given ones, and defaults of the others.
    fn complete_rows(
        &mut self,
        table: &WriteTarget,
        (targets, overriding): (&[Assignee], Overriding),
        relation: Hir,
        places: Vec<usize>,
        order_by: Vec<Order>,
    ) -> Result<HirQuery, PlanError> {
        self.refuse_computed_defaults(table)?;
        let mut row = Vec::with_capacity(table.columns.len());
        for (index, column) in table.columns.iter().enumerate() {
            let given = targets.iter().zip(&places).filter(|(target, _)| target.index == index);
            let given: Vec<(&Assignee, Typed)> =
                given.map(|(target, &place)| (target, Typed::column(place, relation.types[place].clone()))).collect();
            let first = given.first().map(|(target, _)| target.named);
            if given.iter().any(|(target, _)| Some(target.named) != first) {
                return Err(super::part::assigned_twice(&column.name));
            }
            let value = match first {
                Some(first) => {
                    self.refuse_default_beside(table, index, first)?;
                    self.inserted_value(table, index, given)?
                }
                None if column.dropped => null_of(&column.column_type),
                None => self.omitted_value(table, index, overriding)?,
            };
            row.push(self.kept_until(table, index, value)?);
        }
        // Two serial columns are two calls: no expression is shared here.
        let arity = relation.arity();
        let mut added = Vec::new();
        let mut project = Vec::with_capacity(row.len());
        for value in row {
            match super::from::plain_column(&value.expr) {
                Some(place) => project.push(place),
                None => {
                    project.push(arity + added.len());
                    added.push(value);
                }
            }
        }
        let query = source_query(relation.map(added), project);
        Ok(HirQuery { order_by, ..query })
    }

    /// What is given values of a table that is inserted into.
    pub(super) fn needs_inserting(&mut self, table: &WriteTarget, columns: impl Iterator<Item = ColumnIndex>) {
        self.needs_written(table, Privilege::Insert, &columns.collect::<Vec<_>>());
    }

    /// COPY table (columns) FROM: each value is a parameter of its column's type.
    pub(super) fn copy_from(
        &mut self,
        table: &WriteTarget,
        columns: &[ColumnIndex],
    ) -> Result<(InsertHir, Vec<OutputColumn>), PlanError> {
        self.needs_inserting(table, columns.iter().copied());
        let mut row = Vec::with_capacity(columns.len());
        let mut outputs = Vec::with_capacity(columns.len());
        for (number, &index) in columns.iter().enumerate() {
            let column = &table.columns[index];
            if matches!(column.default, Some(DefaultValue::Generated(_))) {
                return Err(PlanError::new("42P10", format!("column \"{}\" is a generated column", column.name))
                    .detail("Generated columns cannot be used in COPY."));
            }
            self.check_given(table, index, Overriding::System)?;
            outputs.push(OutputColumn {
                name: column.name.clone(),
                column_type: column.column_type.clone(),
                origin: Some((table.id, index)),
            });
            self.params.push(Some(column.column_type.scalar.clone()));
            let param = self.param(number)?;
            row.push(self.assign(param, &column.column_type, &column.name, None)?);
        }
        let places = (0..row.len()).collect();
        let targets: Vec<Assignee> = columns.iter().map(|&index| Assignee::whole(index)).collect();
        let targets = (targets.as_slice(), Overriding::System);
        let source = self.complete_rows(table, targets, Hir::unit().map(row), places, Vec::new())?;
        let checks = self.row_checks(table)?;
        Ok((InsertHir { table: table.id, source, checks, on_conflict: None, returning: None }, outputs))
    }
}

/// Whether a given value gives way to the column's own sequence.
pub(super) fn is_overridden(table: &WriteTarget, index: ColumnIndex, overriding: Overriding) -> bool {
    overriding == Overriding::User && matches!(table.columns[index].default, Some(DefaultValue::Identity { .. }))
}

/// Whether some values of a list are `(row).*` or `table.*`.
fn has_stars(rows: &[Vec<&Expr>]) -> bool {
    rows.iter().flatten().any(|expr| !matches!(Field::of(expr), Field::Value(_)))
}

/// What is said of a set in a list of values.
const NO_SETS: &str = "set-returning functions are not allowed in VALUES";

/// A value of a VALUES list; `None` is DEFAULT.
struct Given {
    typed: Option<Typed>,
    position: Option<u32>,
}

impl Given {
    fn datum(&self) -> Datum {
        match &self.typed {
            Some(Typed { expr: HirExpr::Literal(datum, _), .. }) => datum.clone(),
            Some(_) | None => Datum::Null,
        }
    }
}

/// The type of each column, if all values are literals and those of a column are of one type.
fn literal_columns(values: &[Vec<Given>], width: usize) -> Option<Vec<ColumnType>> {
    let mut types = vec![ScalarType::Unknown; width];
    let mut strings = vec![false; width];
    for row in values {
        for (place, given) in row.iter().enumerate() {
            let typed = given.typed.as_ref()?;
            let HirExpr::Literal(datum, _) = &typed.expr else { return None };
            if *datum == Datum::Null {
                continue;
            }
            if typed.is_unknown() {
                strings[place] = true;
            } else if types[place] == ScalarType::Unknown {
                types[place] = typed.scalar().clone();
            } else if types[place] != *typed.scalar() {
                return None;
            }
            if strings[place] && types[place] != ScalarType::Unknown {
                return None;
            }
        }
    }
    Some(types.into_iter().map(ColumnType::nullable).collect())
}

/// The type of each column of literals, if it has one: that of them all, or the widest of numbers for a column that takes any.
fn run_columns<'t>(
    rows: &[Vec<Datum>],
    width: usize,
    wanted: impl Fn(usize) -> &'t ScalarType,
) -> Result<Option<Vec<ScalarType>>, PlanError> {
    let rank = |scalar: &ScalarType| match scalar {
        ScalarType::Int4 => Some(0),
        ScalarType::Int8 => Some(1),
        ScalarType::Numeric => Some(2),
        _ => None,
    };
    let takes_numbers = |scalar: &ScalarType| {
        rank(scalar).is_some()
            || matches!(scalar, ScalarType::Int2 | ScalarType::Float4 | ScalarType::Float8)
            || matches!(scalar, ScalarType::Text | ScalarType::Varchar | ScalarType::Bpchar)
    };
    let mut types: Vec<Option<ScalarType>> = vec![None; width];
    for row in rows {
        poll::steps(width)?;
        for (place, value) in row.iter().enumerate() {
            if value.is_null() {
                continue;
            }
            let own = literal_type(value);
            match &mut types[place] {
                Some(known) if *known == own => {}
                Some(known) => match (rank(known), rank(&own)) {
                    (Some(before), Some(now)) if takes_numbers(wanted(place)) => {
                        if now > before {
                            *known = own;
                        }
                    }
                    _ => return Ok(None),
                },
                none => *none = Some(own),
            }
        }
    }
    Ok(Some(types.into_iter().map(|scalar| scalar.unwrap_or(ScalarType::Unknown)).collect()))
}

/// Numbers as those of their columns' types.
fn widened_rows(mut rows: Vec<Vec<Datum>>, types: &[ScalarType]) -> Result<Vec<Vec<Datum>>, PlanError> {
    for row in &mut rows {
        poll::steps(types.len())?;
        for (value, scalar) in row.iter_mut().zip(types) {
            if literal_type(value) != *scalar {
                *value = widened(value, scalar);
            }
        }
    }
    Ok(rows)
}

/// The rows of a query that is just VALUES.
fn plain_values(query: &Query) -> Option<Vec<Vec<&Expr>>> {
    if query.with.is_some() || query.order_by.is_some() || query.limit_clause.is_some() || query.fetch.is_some() {
        return None;
    }
    match &*query.body {
        SetExpr::Values(values) => Some(values.rows.iter().map(|row| row.content.iter().collect()).collect()),
        SetExpr::Query(inner) => plain_values(inner),
        SetExpr::Select(_)
        | SetExpr::SetOperation { .. }
        | SetExpr::Insert(_)
        | SetExpr::Update(_)
        | SetExpr::Delete(_)
        | SetExpr::Merge(_)
        | SetExpr::Table(_) => None,
    }
}
