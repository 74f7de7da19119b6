//! FROM: tables, subqueries, functions and joins become one relation with names.

use super::build::conjunction;
use super::identity::behind_its_columns;
use super::levels::shift_hir;
use super::query::locks;
use super::relation::{NamedRelation, Stored};
use super::scope::{Binding, Clause, Frame, FromItem, Presence, Source, Visibility, Visible, fold};
use super::{Needs, Resolver, Typed};
use crate::catalog::{PolicyCommand, Privilege, Table};
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr, JoinKind};
use crate::parse::join_alias;
use crate::scalar::cast::select_common_type_for;
use repr::id::is_temporary;
use repr::{ColumnType, RelationId};
use sqlparser::ast::{
    Expr, FunctionArg, Join, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Spanned, TableAlias,
    TableFactor, TableWithJoins,
};
use std::sync::Arc;

impl FromItem {
    pub(super) fn unit() -> Self {
        FromItem { hir: Hir::unit(), tables: Vec::new(), columns: Vec::new() }
    }

    /// One relation under one name.
    pub(super) fn single(hir: Hir, binding: Binding) -> Self {
        let columns = binding.columns.clone();
        FromItem { hir, tables: vec![binding], columns }
    }

    /// The row as a frame that shows all names.
    pub(super) fn frame(&self) -> Frame {
        Frame { tables: self.tables.clone(), columns: self.columns.clone(), ..Frame::default() }
    }

    fn nullable(&mut self) {
        let columns = self.tables.iter_mut().flat_map(|table| &mut table.columns).chain(&mut self.columns);
        for column in columns {
            column.column_type.nullable = true;
        }
    }
}

impl Resolver<'_> {
    pub(super) fn from_clause(&mut self, items: &[TableWithJoins]) -> Result<FromItem, PlanError> {
        let floor = std::mem::replace(&mut self.nesting.lateral_floor, self.frames.len());
        let lefts = std::mem::take(&mut self.row_locks.lefts);
        let result = self.from_items(items);
        self.nesting.lateral_floor = floor;
        self.row_locks.lefts = lefts;
        result
    }

    fn from_items(&mut self, items: &[TableWithJoins]) -> Result<FromItem, PlanError> {
        let Some((first, rest)) = items.split_first() else { return Ok(FromItem::unit()) };
        let mut left = self.table_with_joins(first)?;
        for item in rest {
            left = self.cross(left, item, 0)?;
        }
        Ok(left)
    }

    /// `left, item`. The first `hidden` columns are of the table that is written, to which LATERAL may not refer.
    pub(super) fn cross(
        &mut self,
        left: FromItem,
        item: &TableWithJoins,
        hidden: usize,
    ) -> Result<FromItem, PlanError> {
        let lateral = may_be_lateral(&item.relation) || item.joins.iter().any(|join| may_be_lateral(&join.relation));
        let (right, used) = self.right_of(&left, &item.relation, |resolver| {
            resolver.right_side(&left, lateral, |resolver| resolver.table_with_joins(item))
        })?;
        if let Some((_, position)) = used.iter().find(|(index, _)| *index < hidden) {
            let name = left.tables.first().map_or("", |table| table.name.as_str());
            return Err(invalid_reference(name)
                .hint(format!(
                    "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
                ))
                .at(*position));
        }
        self.combine(left, right, JoinKind::Inner, &JoinConstraint::None, !used.is_empty())
    }

    fn table_with_joins(&mut self, item: &TableWithJoins) -> Result<FromItem, PlanError> {
        let mut left = self.factor(&item.relation)?;
        for join in &item.joins {
            left = self.join(left, join)?;
        }
        Ok(left)
    }

    fn join(&mut self, left: FromItem, join: &Join) -> Result<FromItem, PlanError> {
        let (kind, constraint) = match &join.join_operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) | JoinOperator::CrossJoin(constraint) => {
                (JoinKind::Inner, constraint)
            }
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (JoinKind::Left, constraint),
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (JoinKind::Right, constraint),
            JoinOperator::FullOuter(constraint) => (JoinKind::Full, constraint),
            _ => return Err(PlanError::new("42601", "syntax error in a join")),
        };
        if matches!(constraint, JoinConstraint::None) && !matches!(join.join_operator, JoinOperator::CrossJoin(_)) {
            return Err(PlanError::new("42601", "a join needs ON, USING, NATURAL or CROSS"));
        }
        let lateral = may_be_lateral(&join.relation);
        let (right, used) = self.right_of(&left, &join.relation, |resolver| {
            resolver.right_side(&left, lateral, |resolver| resolver.factor(&join.relation))
        })?;
        if !used.is_empty() && matches!(kind, JoinKind::Right | JoinKind::Full) {
            let name = left.tables.first().map_or("", |table| table.name.as_str());
            return Err(invalid_reference(name)
                .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference."));
        }
        self.combine(left, right, kind, constraint, !used.is_empty())
    }

    /// Resolves what stands right of `left`, which keeps that for an item that is LATERAL and locks rows.
    fn right_of<T>(
        &mut self,
        left: &FromItem,
        item: &TableFactor,
        resolve: impl FnOnce(&mut Self) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        let locks = matches!(item, TableFactor::Derived { lateral: true, subquery, .. } if locks(subquery));
        self.row_locks.lefts.push(locks.then(|| left.hir.clone()));
        let result = resolve(self);
        self.row_locks.lefts.pop();
        result
    }

    /// Resolves what stands right of `left`; says where it refers to which of its columns.
    fn right_side(
        &mut self,
        left: &FromItem,
        lateral: bool,
        resolve: impl FnOnce(&mut Self) -> Result<FromItem, PlanError>,
    ) -> Result<(FromItem, Vec<(usize, Option<u32>)>), PlanError> {
        if !lateral {
            return Ok((resolve(self)?, Vec::new()));
        }
        let frame = Frame { visibility: Visibility::LateralHidden, ..left.frame() };
        let (mut right, frame) = self.with_frame(frame, resolve)?;
        if frame.references.is_empty() {
            shift_hir(&mut right.hir, 0, -1);
        }
        Ok((right, frame.references))
    }

    /// Resolves with the FROM items before it in sight.
    pub(super) fn lateral<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T, PlanError>) -> Result<T, PlanError> {
        let floor = self.nesting.lateral_floor;
        let mut opened = Vec::new();
        for (index, frame) in self.frames.iter_mut().enumerate().skip(floor) {
            if frame.visibility == Visibility::LateralHidden {
                frame.visibility = Visibility::LateralOpen;
                opened.push(index);
            }
        }
        let result = body(self);
        for index in opened {
            if let Some(frame) = self.frames.get_mut(index) {
                frame.visibility = Visibility::LateralHidden;
            }
        }
        result
    }

    /// MERGE's target beside its source.
    pub(super) fn merged_with(
        &mut self,
        target: FromItem,
        source: FromItem,
        kind: JoinKind,
        on: &Expr,
    ) -> Result<FromItem, PlanError> {
        self.combine(target, source, kind, &JoinConstraint::On(on.clone()), false)
    }

    pub(super) fn combine(
        &mut self,
        mut left: FromItem,
        mut right: FromItem,
        kind: JoinKind,
        constraint: &JoinConstraint,
        lateral: bool,
    ) -> Result<FromItem, PlanError> {
        require_distinct_names(&left, &right)?;
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            self.tell_absent(&mut right);
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            self.tell_absent(&mut left);
        }
        let offset = left.hir.arity();
        for table in &mut right.tables {
            table.offset(offset);
        }
        for column in &mut right.columns {
            column.index += offset;
        }
        let shared = shared_names(&left, &right, constraint)?;
        let (mut conditions, pairs) = self.equal_columns(&left, &right, &shared)?;
        if let JoinConstraint::On(condition) = constraint {
            conditions.extend(self.join_condition(&left, &right, condition)?);
        }
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            right.nullable();
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            left.nullable();
        }
        let mut hir = left.hir.join(right.hir, kind, conjunction(conditions), lateral);
        let mut columns = Vec::new();
        for (left_column, right_column) in &pairs {
            let (merged, column) = self.merged(kind, left_column, right_column)?;
            let (next, places) = hir.with_columns(vec![merged.clone()]);
            hir = next;
            columns.push(Visible {
                name: left_column.name.clone(),
                index: places[0],
                column_type: merged.column_type,
                origin: column,
            });
        }
        if let JoinConstraint::Using(names) = constraint
            && let (Some(name), _) = join_alias::of(names)
        {
            let binding = Binding { source: Source::Using, ..Binding::of(name, columns.clone()) };
            require_free_name(left.tables.iter().chain(&right.tables), &binding)?;
            left.tables.push(binding);
        }
        let is_shared = |column: &Visible| shared.contains(&column.name);
        columns.extend(left.columns.into_iter().filter(|column| !is_shared(column)));
        columns.extend(right.columns.into_iter().filter(|column| !is_shared(column)));
        left.tables.extend(right.tables);
        Ok(FromItem { hir, tables: left.tables, columns })
    }

    /// The conditions of USING, and the columns of both sides that they equate.
    fn equal_columns(
        &mut self,
        left: &FromItem,
        right: &FromItem,
        shared: &[String],
    ) -> Result<(Vec<HirExpr>, Vec<(Visible, Visible)>), PlanError> {
        let mut conditions = Vec::new();
        let mut pairs = Vec::new();
        for name in shared {
            let left_column = using_column(&left.columns, name, "left")?.clone();
            let right_column = using_column(&right.columns, name, "right")?.clone();
            for column in [&left_column, &right_column] {
                self.trace_read(column.origin);
                self.needs_column(column.origin);
            }
            let left_side = Typed::column(left_column.index, left_column.column_type.clone());
            let right_side = Typed::column(right_column.index, right_column.column_type.clone());
            conditions.push(self.operate("=", left_side, right_side, None)?.expr);
            pairs.push((left_column, right_column));
        }
        Ok((conditions, pairs))
    }

    /// The condition that ON gives, over both sides.
    fn join_condition(
        &mut self,
        left: &FromItem,
        right: &FromItem,
        condition: &Expr,
    ) -> Result<Vec<HirExpr>, PlanError> {
        let frame = Frame {
            tables: left.tables.iter().chain(&right.tables).cloned().collect(),
            columns: left.columns.iter().chain(&right.columns).cloned().collect(),
            clause: Clause::JoinOn,
            ..Frame::default()
        };
        let position = self.position_of(condition);
        let (condition, _) = self.with_frame(frame, |resolver| {
            let typed = resolver.expr(condition)?;
            resolver.condition(typed, "JOIN/ON", position)
        })?;
        self.behind_policies(super::build::conjuncts(condition))
    }

    /// Sees to it that of the item's relations an outer join's row without one can be told from a row of NULLs: by the primary
    /// key, or else by a column that is true.
    fn tell_absent(&self, item: &mut FromItem) {
        for table in item.tables.iter_mut().filter(|table| table.presence.is_none()) {
            let Some(stored) = table.relation.and_then(|relation| self.catalog.table(relation)) else { continue };
            let Some(first) = stored.primary_key_columns().and_then(<[usize]>::first) else { continue };
            let key = table.columns.iter().find(|column| column.origin == Some((stored.id, *first)));
            table.presence = key.map(|key| Presence { index: key.index, column_type: key.column_type.clone() });
        }
        if item.tables.iter().all(|table| table.presence.is_some()) {
            return;
        }
        let present = Typed::boolean(super::build::true_literal());
        let hir = std::mem::replace(&mut item.hir, Hir::unit());
        let (hir, places) = hir.with_columns(vec![present.clone()]);
        item.hir = hir;
        for table in item.tables.iter_mut().filter(|table| table.presence.is_none()) {
            table.presence = Some(Presence { index: places[0], column_type: present.column_type.clone() });
        }
    }

    /// A column of USING: the side that is always there, or whichever is.
    fn merged(
        &mut self,
        kind: JoinKind,
        left: &Visible,
        right: &Visible,
    ) -> Result<(Typed, Option<(RelationId, usize)>), PlanError> {
        let types = [left.column_type.scalar.clone(), right.column_type.scalar.clone()];
        let common = select_common_type_for("JOIN/USING", &types)?;
        let side = |resolver: &mut Self, column: &Visible| {
            resolver.coerce(Typed::column(column.index, column.column_type.clone()), &common)
        };
        Ok(match kind {
            // Either will do: rather the one that is of the type already.
            JoinKind::Inner if types[0] != common && types[1] == common => (side(self, right)?, right.origin),
            JoinKind::Inner | JoinKind::Left => (side(self, left)?, left.origin),
            JoinKind::Right => (side(self, right)?, right.origin),
            JoinKind::Full => {
                let items = vec![side(self, left)?.expr, side(self, right)?.expr];
                (Typed::new(HirExpr::Coalesce(items, common.clone()), common), None)
            }
        })
    }

    pub(super) fn factor(&mut self, factor: &TableFactor) -> Result<FromItem, PlanError> {
        match factor {
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, sample: None, .. } => {
                let written: Vec<&FunctionArg> = args.args.iter().collect();
                self.function_item(name, &written, *with_ordinality, alias.as_ref())
            }
            TableFactor::Table { name, alias, args: None, sample, version, with_ordinality: false, .. } => {
                if version.is_some() {
                    return Err(PlanError::unsupported("a table's past version"));
                }
                match sample {
                    Some(sample) => self.sampled_relation(name, alias.as_ref(), sample),
                    None => self.named_relation(name, alias.as_ref()),
                }
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                let Some(alias) = alias else {
                    return Err(PlanError::new("42601", "subquery in FROM must have an alias")
                        .hint("For example, FROM (SELECT ...) [AS] foo."));
                };
                let resolve = |resolver: &mut Self| resolver.derived(subquery, &fold(&alias.name));
                let FromItem { hir, mut tables, .. } = if *lateral { self.lateral(resolve) } else { resolve(self) }?;
                Ok(self.from_item(hir, aliased(tables.swap_remove(0), Some(alias))?))
            }
            TableFactor::Function { name, args, with_ordinality, alias, .. } => {
                let written: Vec<&FunctionArg> = args.iter().collect();
                self.function_item(name, &written, *with_ordinality, alias.as_ref())
            }
            TableFactor::UNNEST { alias, array_exprs, with_ordinality, with_offset: false, .. } => {
                self.unnest_item(array_exprs, *with_ordinality, alias.as_ref())
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let item = self.table_with_joins(table_with_joins)?;
                match alias {
                    None => Ok(item),
                    Some(alias) => {
                        let row_keys = item.tables.iter().flat_map(|table| table.row_keys.clone()).collect();
                        let source = Source::Join(item.tables);
                        let binding = Binding { row_keys, source, ..Binding::of("", item.columns) };
                        Ok(self.from_item(item.hir, aliased(binding, Some(alias))?))
                    }
                }
            }
            TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
                Err(PlanError::new("42601", "syntax error at or near \"TABLESAMPLE\""))
            }
            other => Err(PlanError::unsupported(format!("\"{other}\" in FROM"))),
        }
    }

    /// A table, catalog relation or CTE by name.
    pub(super) fn named_relation(
        &mut self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
    ) -> Result<FromItem, PlanError> {
        let found = self.find_relation(name)?;
        let id = match &found {
            NamedRelation::Stored(Stored { id, is_system: false, .. }) => Some(*id),
            NamedRelation::View(view) => Some(view.id),
            NamedRelation::Stored(_) | NamedRelation::Cte(_) | NamedRelation::Sequence(_) => None,
        };
        if let (Some(id), Some(ident)) = (id, name.0.last().and_then(|part| part.as_ident())) {
            self.trace_relation(ident.span, name.span(), id, alias.is_some());
        }
        match found {
            NamedRelation::View(view) => {
                self.needs.add(view.id.0, Privilege::Select);
                let called = alias.map_or_else(|| view.name.clone(), |alias| fold(&alias.name));
                let covering = if self.row_locks.with_row_keys { self.covering(&called) } else { Vec::new() };
                let FromItem { hir, mut tables, .. } = self.expand_view(&view, covering)?;
                let hir = behind_its_columns(&view, hir);
                let columns = view_columns(&view, &hir.types);
                let binding = Binding {
                    schema: self.schema_of(view.namespace),
                    relation: Some(view.id),
                    row_keys: std::mem::take(&mut tables[0].row_keys),
                    ..Binding::of(&view.name, columns)
                };
                Ok(self.from_item(hir, aliased(binding, alias)?))
            }
            NamedRelation::Cte(index) => {
                let position = self.at(name.span());
                let (hir, binding) = self.cte_reference(index).map_err(|error| error.at(position))?;
                Ok(self.from_item(hir, aliased(binding, alias)?))
            }
            NamedRelation::Sequence(sequence) => {
                self.needs.add(sequence.id.0, Privilege::Select);
                let (hir, columns) = self.sequence_row(&sequence)?;
                let source = Source::Sequence;
                let schema = self.schema_of(sequence.namespace);
                let binding = Binding { schema, source, ..Binding::of(&sequence.name, columns) };
                Ok(self.from_item(hir, aliased(binding, alias)?))
            }
            NamedRelation::Stored(stored) => self.stored_item(stored, alias),
        }
    }

    /// A table, a maintained view or a relation of the system, as far as its rows are there for the role.
    fn stored_item(&mut self, stored: Stored, alias: Option<&TableAlias>) -> Result<FromItem, PlanError> {
        let Stored { id, schema, name, columns, types, is_system } = stored;
        let is_table = self.catalog.table(id).is_some_and(|table| table.is_stored());
        if is_system {
            self.refuse_for_subject(schema.as_deref(), &name)?;
            self.needs.system(id);
        } else {
            self.needs.add(id.0, Privilege::Select);
        }
        if !is_table && !is_system {
            self.views.maintained.insert(id);
            self.needs.below(id, Needs::of_maintained(self.catalog, id));
        }
        let with_key = self.row_locks.with_row_keys && is_table;
        let row_keys = if with_key { vec![(id, types.len())] } else { Vec::new() };
        let binding = Binding { schema, relation: Some(id), row_keys, ..Binding::of(name, columns) };
        let binding = aliased(binding, alias)?;
        let hir = Hir::get(id, types, with_key);
        let hir = match self.catalog.table(id).filter(|_| is_table).map(Arc::clone) {
            Some(table) => self.rows_of(hir, &table, with_key)?,
            None => hir,
        };
        let renamed = alias.is_some_and(|alias| !alias.columns.is_empty());
        let hir = if renamed { hir.with_column_names(&binding) } else { hir };
        Ok(self.from_item(hir, binding))
    }

    /// The rows of a table that are there for the role; with their keys where they are to be locked.
    pub(super) fn rows_of(&mut self, hir: Hir, table: &Table, with_key: bool) -> Result<Hir, PlanError> {
        let hir = if !is_temporary(table.id.0) && self.is_subject() {
            match self.person_key_at {
                Some(first) => self.kept_subject_rows(table, first)?,
                None => self.subject_rows(table, with_key, false)?,
            }
        } else {
            let hir = self.for_purpose(hir, table)?;
            // A cursor's rows have keys, too: it is read, and whoever writes by it is asked then.
            match with_key && !self.row_locks.clauses.is_empty() {
                true => self.under_policies(hir, table, &[PolicyCommand::Select, PolicyCommand::Update])?,
                false => self.under_policies(hir, table, &[PolicyCommand::Select])?,
            }
        };
        self.unexpired(hir, table)
    }
}

/// The columns of a view whose rows these are.
pub(super) fn view_columns(view: &Table, types: &[ColumnType]) -> Vec<Visible> {
    view.columns
        .iter()
        .zip(types)
        .enumerate()
        .map(|(index, (column, column_type))| Visible {
            name: column.name.clone(),
            index,
            column_type: column_type.clone(),
            origin: Some((view.id, index)),
        })
        .collect()
}

/// Gives a relation its alias, and its columns theirs.
pub(super) fn aliased(mut binding: Binding, alias: Option<&TableAlias>) -> Result<Binding, PlanError> {
    let Some(alias) = alias else { return Ok(binding) };
    let name = fold(&alias.name);
    if alias.columns.len() > binding.columns.len() {
        return Err(PlanError::new(
            "42P10",
            format!(
                "table \"{name}\" has {} columns available but {} columns specified",
                binding.columns.len(),
                alias.columns.len()
            ),
        ));
    }
    for (column, alias) in binding.columns.iter_mut().zip(&alias.columns) {
        column.name = fold(&alias.name);
    }
    binding.hidden_name = (!binding.name.is_empty() && binding.name != name).then(|| std::mem::take(&mut binding.name));
    binding.name = name;
    binding.schema = None;
    Ok(binding)
}

fn invalid_reference(name: &str) -> PlanError {
    PlanError::new("42P10", format!("invalid reference to FROM-clause entry for table \"{name}\""))
}

/// Whether an item could refer to those before it.
fn may_be_lateral(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { args, .. } => args.is_some(),
        TableFactor::Derived { lateral, .. } => *lateral,
        TableFactor::Function { .. } | TableFactor::UNNEST { .. } => true,
        TableFactor::NestedJoin { table_with_joins, .. } => {
            may_be_lateral(&table_with_joins.relation)
                || table_with_joins.joins.iter().any(|join| may_be_lateral(&join.relation))
        }
        _ => false,
    }
}

fn using_name(name: &ObjectName) -> Result<String, PlanError> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Ok(fold(ident)),
        _ => Err(PlanError::new("42601", format!("syntax error at or near \"{name}\""))),
    }
}

fn using_column<'c>(columns: &'c [Visible], name: &str, side: &str) -> Result<&'c Visible, PlanError> {
    let mut matches = columns.iter().filter(|column| column.name == name);
    match (matches.next(), matches.next()) {
        (Some(column), None) => Ok(column),
        (Some(_), Some(_)) => Err(PlanError::new(
            "42702",
            format!("common column name \"{name}\" appears more than once in {side} table"),
        )),
        (None, _) => Err(PlanError::new(
            "42703",
            format!("column \"{name}\" specified in USING clause does not exist in {side} table"),
        )),
    }
}

/// The position of a column of the row at hand, if an expression is just that.
pub(super) fn plain_column(expr: &HirExpr) -> Option<usize> {
    match expr {
        HirExpr::Column(HirColumn::Column { level: 0, index }) => Some(*index),
        _ => None,
    }
}

fn require_distinct_names(left: &FromItem, right: &FromItem) -> Result<(), PlanError> {
    right.tables.iter().try_for_each(|table| require_free_name(left.tables.iter(), table))
}

fn require_free_name<'b>(mut others: impl Iterator<Item = &'b Binding>, table: &Binding) -> Result<(), PlanError> {
    let clashes = |other: &Binding| {
        other.name == table.name && (other.schema == table.schema || other.schema.is_none() || table.schema.is_none())
    };
    if others.any(clashes) {
        return Err(PlanError::new("42712", format!("table name \"{}\" specified more than once", table.name)));
    }
    Ok(())
}

/// The names of the columns that USING or NATURAL equates.
pub(super) fn shared_names(
    left: &FromItem,
    right: &FromItem,
    constraint: &JoinConstraint,
) -> Result<Vec<String>, PlanError> {
    Ok(match constraint {
        JoinConstraint::Using(names) => join_alias::of(names).1.iter().map(using_name).collect::<Result<_, _>>()?,
        JoinConstraint::Natural => left
            .columns
            .iter()
            .filter(|column| right.columns.iter().any(|other| other.name == column.name))
            .map(|column| column.name.clone())
            .collect(),
        JoinConstraint::On(_) | JoinConstraint::None => Vec::new(),
    })
}
