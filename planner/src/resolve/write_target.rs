//! What a write names: a table, or a view whose rows are those of one table, row for row.
//!
//! ```text
//! UPDATE over SET x = 1 WHERE z     over:  SELECT a AS x, b + 1 AS z FROM base WHERE c
//!   rows     base's, where base's policies let them be and c holds; b + 1 stands behind them
//!   SET      base's column a
//!   checks   base's, then c of the new row, if the view says WITH CHECK OPTION
//! ```
//! Whose rows are whose, policies, keys and constraints are base's: nothing below here knows of the view.

use super::dml::row_types;
use super::levels::{Step, rewrite_expr, shift_expr};
use super::relation::NamedRelation;
use super::scope::{Binding, Clause, Frame, FromItem, Source, Visible, fold};
use super::updatable::{ViewWrite, refused, single_base};
use super::{Needs, Resolver, Typed};
use crate::catalog::{CheckOption, Privilege, Table};
use crate::error::PlanError;
use crate::hir::{HirColumn, HirExpr, ViewChecksHir};
use crate::parse::parse_query;
use repr::ColumnIndex;
use std::ops::Deref;
use std::sync::Arc;

/// The table that a statement writes, and how it names it.
pub(super) struct WriteTarget {
    pub(super) table: Arc<Table>,
    pub(super) through: Option<Through>,
}

/// The view by which a table is written, and the views below that.
pub(super) struct Through {
    columns: Vec<SeenColumn>,
    /// The view that is named first.
    levels: Vec<Level>,
    /// What is read below the view, by whom.
    reads: Needs,
}

/// What a view's column is of the table's row.
#[derive(Clone)]
struct SeenColumn {
    typed: Typed,
    /// The view, and its column, for which nothing can be given.
    computed_in: Option<(String, String)>,
}

/// One view.
pub(super) struct Level {
    pub(super) view: Arc<Table>,
    /// Of which column of the relation below each of its columns is.
    pub(super) places: Vec<Option<ColumnIndex>>,
    /// What its rows meet, over the table's row.
    conditions: Vec<HirExpr>,
}

impl Deref for WriteTarget {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.table
    }
}

impl From<Arc<Table>> for WriteTarget {
    fn from(table: Arc<Table>) -> WriteTarget {
        WriteTarget { table, through: None }
    }
}

impl SeenColumn {
    /// The table's column that it is.
    fn plain(&self) -> Option<ColumnIndex> {
        match &self.typed.expr {
            HirExpr::Column(HirColumn::Column { level: 0, index }) if self.computed_in.is_none() => Some(*index),
            _ => None,
        }
    }
}

impl WriteTarget {
    /// The table or the view that the statement names.
    pub(super) fn named(&self) -> &Arc<Table> {
        self.through.as_ref().map_or(&self.table, |through| &through.levels[0].view)
    }

    /// The columns that have names, by their places in what is named: the table's column, or that there is none.
    pub(super) fn columns(&self) -> Vec<(ColumnIndex, Option<ColumnIndex>)> {
        match &self.through {
            None => self.live_columns().map(|(index, _)| (index, Some(index))).collect(),
            Some(through) => through.columns.iter().map(SeenColumn::plain).enumerate().collect(),
        }
    }

    /// A column by its name: its place in what is named, and in the table.
    pub(super) fn column(&self, name: &str, write: ViewWrite) -> Result<(ColumnIndex, ColumnIndex), PlanError> {
        let named = self.named();
        let missing =
            || PlanError::new("42703", format!("column \"{name}\" of relation \"{}\" does not exist", named.name));
        let (place, _) = named.column_by_name(name).ok_or_else(missing)?;
        match &self.through {
            None => Ok((place, place)),
            Some(through) => match through.columns.get(place).and_then(SeenColumn::plain) {
                Some(index) => Ok((place, index)),
                None => Err(self.computed_column(place, write).unwrap_or_else(missing)),
            },
        }
    }

    /// 0A000 for a value of a column that the view computes.
    pub(super) fn computed_column(&self, place: ColumnIndex, write: ViewWrite) -> Option<PlanError> {
        let (view, column) = self.through.as_ref()?.columns.get(place)?.computed_in.as_ref()?;
        Some(not_writable(view, column, write))
    }

    /// The views by which the table is written, the one that is named first.
    pub(super) fn views(&self) -> impl Iterator<Item = &Level> {
        self.through.iter().flat_map(|through| &through.levels)
    }

    /// The column of the table that a view's column is, of the view at that level.
    pub(super) fn base_of(&self, level: usize, place: ColumnIndex) -> Option<ColumnIndex> {
        self.views().skip(level).try_fold(place, |place, level| level.places[place])
    }

    /// The name that a view's column has in the relation below the view.
    pub(super) fn name_below(&self, level: usize, place: ColumnIndex) -> &str {
        let mut views = self.views().skip(level);
        let below = views.next().and_then(|view| view.places[place]).unwrap_or(place);
        let relation = views.next().map_or(&self.table, |view| &view.view);
        &relation.columns[below].name
    }

    /// 0A000 for a default of a column that is no column of the table's.
    pub(super) fn computed_below(&self, level: usize, place: ColumnIndex) -> PlanError {
        let (mut view, mut at) = (self.named(), place);
        for level in self.views().skip(level) {
            view = &level.view;
            match level.places[at] {
                Some(below) => at = below,
                None => break,
            }
        }
        not_writable(&view.name, &view.columns[at].name, ViewWrite::Insert)
    }

    /// What the view computes of a row that begins at that place: columns that stand for no column of the table.
    pub(super) fn computed(&self, offset: usize) -> Vec<Typed> {
        let columns = self.through.iter().flat_map(|through| &through.columns);
        let mut computed: Vec<Typed> =
            columns.filter(|column| column.plain().is_none()).map(|column| column.typed.clone()).collect();
        let moved = |index| HirExpr::Column(HirColumn::Column { level: 0, index: index + offset });
        computed.iter_mut().for_each(|typed| over(&mut typed.expr, &mut { moved }));
        computed
    }

    /// What WITH CHECK OPTION asks of new rows, the innermost view first. Its columns are those of the table's row.
    fn checks(&self) -> Vec<(String, HirExpr)> {
        let Some(through) = &self.through else { return Vec::new() };
        let mut checks = Vec::new();
        let mut cascaded = false;
        for level in &through.levels {
            let own = level.view.view.as_ref().and_then(|view| view.check_option());
            cascaded |= own == Some(CheckOption::Cascaded);
            if cascaded || own.is_some() {
                let of_level = level.conditions.iter().map(|condition| (level.view.name.clone(), condition.clone()));
                checks.splice(0..0, of_level);
            }
        }
        checks
    }

    /// What the view's rows meet, the innermost view's conditions first.
    pub(super) fn conditions(&self) -> Vec<HirExpr> {
        let levels = self.through.iter().flat_map(|through| through.levels.iter().rev());
        levels.flat_map(|level| level.conditions.iter().cloned()).collect()
    }
}

/// 0A000 for a value of a column that a view computes.
fn not_writable(view: &str, column: &str, write: ViewWrite) -> PlanError {
    let doing = if write == ViewWrite::Insert { "insert into" } else { "update" };
    let message = format!("cannot {doing} column \"{column}\" of view \"{view}\"");
    let detail = "View columns that are not columns of their base relation are not updatable.";
    PlanError::new("0A000", message).detail(detail)
}

/// Puts something in the place of each column of the row at hand.
fn over(expr: &mut HirExpr, put: &mut dyn FnMut(usize) -> HirExpr) {
    let replaced = rewrite_expr(expr, 0, &mut |expr, depth| match expr {
        HirExpr::Column(HirColumn::Column { level, index }) if *level == depth => {
            let mut other = put(*index);
            shift_expr(&mut other, depth.cast_signed());
            Ok(Step::Replace(other))
        }
        _ => Ok(Step::Descend),
    });
    replaced.expect("putting columns in the place of columns does not fail");
}

impl Resolver<'_> {
    /// What is written where a view is named.
    pub(super) fn written_through(&mut self, view: &Arc<Table>, write: ViewWrite) -> Result<WriteTarget, PlanError> {
        let written = self.nested(|resolver| resolver.level(view, write))?;
        if self.is_subject() {
            return Err(PlanError::unsupported("writing through a view by a person's own login")
                .hint("Name the table that the view reads."));
        }
        Ok(written)
    }

    /// One view over what it selects from, which may be a view.
    fn level(&mut self, view: &Arc<Table>, write: ViewWrite) -> Result<WriteTarget, PlanError> {
        let Some(definition) = &view.view else { return Ok(WriteTarget::from(Arc::clone(view))) };
        if definition.materialized {
            return Err(PlanError::new("42809", format!("cannot change materialized view \"{}\"", view.name)));
        }
        let query = parse_query(&definition.query)?;
        let base = single_base(&query, definition, self.catalog).map_err(|why| refused(write, &view.name, why))?;
        let (found, _) = self.in_view(|inner| inner.find_relation(base.relation))?;
        let below = match &found {
            NamedRelation::View(below) => Some(below),
            NamedRelation::Stored(stored) => self.catalog.table(stored.id),
            NamedRelation::Sequence(_) | NamedRelation::Cte(_) => None,
        };
        let Some(below) = below.filter(|below| !below.is_maintained()).map(Arc::clone) else {
            let why = "Views that do not select from a single table or view are not automatically updatable.";
            return Err(refused(write, &view.name, why));
        };
        let mut below = self.nested(|resolver| resolver.level(&below, write))?;
        let ((columns, mut conditions), needs) = self.in_view(|inner| {
            let mut binding = below.seen(inner, base.alias.map(|alias| fold(&alias.name)));
            let names = base.alias.iter().flat_map(|alias| &alias.columns);
            for (column, name) in binding.columns.iter_mut().zip(names) {
                column.name = fold(&name.name);
            }
            let frame = Frame {
                columns: binding.columns.clone(),
                tables: vec![binding],
                clause: Clause::Other,
                ..Frame::default()
            };
            let (resolved, _) = inner.with_frame(frame, |inner| {
                let targets = inner.targets(base.items, super::outputs::Outputs::Settled)?;
                let conditions = inner.where_clause(base.condition)?;
                Ok((targets, conditions))
            })?;
            Ok(resolved)
        })?;
        let mut seen = Vec::with_capacity(columns.len());
        let mut places = Vec::with_capacity(columns.len());
        for (target, own) in columns.into_iter().zip(view.columns.iter()) {
            let place = match &target.typed.expr {
                HirExpr::Column(HirColumn::Column { level: 0, index }) => Some(*index),
                _ => None,
            };
            places.push(place);
            let mut typed = target.typed;
            let mut computed_in = None;
            match (&below.through, place) {
                (Some(through), Some(place)) => computed_in.clone_from(&through.columns[place].computed_in),
                (None, Some(_)) => {}
                (_, None) => computed_in = Some((view.name.clone(), own.name.clone())),
            }
            below.compose(&mut typed.expr);
            seen.push(SeenColumn { typed, computed_in });
        }
        if write != ViewWrite::Delete && places.iter().all(Option::is_none) {
            let detail = "Views that have no updatable columns are not automatically updatable.";
            return Err(refused(write, &view.name, detail));
        }
        conditions.iter_mut().for_each(|condition| below.compose(condition));
        let mut reads = Needs::default();
        reads.below_view(view, needs);
        let mut levels = vec![Level { view: Arc::clone(view), places, conditions }];
        if let Some(through) = below.through.take() {
            levels.extend(through.levels);
            reads.add_all(through.reads);
        }
        Ok(WriteTarget { table: below.table, through: Some(Through { columns: seen, levels, reads }) })
    }

    /// A right that the write takes, on the relation as a whole and on these columns of what is named: of the role that runs it
    /// on what is named and on the table, of each view's owner on what stands below the view.
    pub(super) fn needs_written(&mut self, written: &WriteTarget, privilege: Privilege, columns: &[ColumnIndex]) {
        let needs = |relation: &Table, columns: &[ColumnIndex]| {
            let mut needs = Needs::default();
            needs.add(relation.id.0, privilege);
            columns.iter().for_each(|column| needs.add_on(relation.id, *column, privilege));
            needs
        };
        self.needs.add_all(needs(written.named(), columns));
        let Some(through) = &written.through else { return };
        let mut columns = columns.to_vec();
        for (place, level) in through.levels.iter().enumerate() {
            let below = through.levels.get(place + 1).map_or(&written.table, |level| &level.view);
            columns = columns.iter().filter_map(|column| level.places[*column]).collect();
            self.needs.below_view(&level.view, needs(below, &columns));
        }
        self.needs.through_view(needs(&written.table, &columns));
    }

    /// What reading the rows below the view takes.
    pub(super) fn needs_rows(&mut self, written: &WriteTarget) {
        if let Some(through) = &written.through {
            self.needs.add_all(through.reads.clone());
        }
    }

    /// What WITH CHECK OPTION asks of rows of these types.
    pub(super) fn view_checks(&mut self, written: &WriteTarget) -> Option<ViewChecksHir> {
        let checks = written.checks();
        if checks.is_empty() {
            return None;
        }
        let types = row_types(&written.table);
        let width = types.len();
        let mut computed = Vec::new();
        let conditions = checks
            .into_iter()
            .map(|(view, expr)| {
                (view, super::write_subquery::computed_beside(Typed::boolean(expr), width, &mut computed))
            })
            .collect();
        Some(ViewChecksHir { beside: self.beside(types, Vec::new(), computed), conditions })
    }

    /// The columns by their names, at those places in a row: the table's from `offset` on, computed ones from `computed`.
    pub(super) fn written_binding(
        &self,
        written: &WriteTarget,
        alias: &str,
        offset: usize,
        computed: usize,
    ) -> Binding {
        let Some(through) = &written.through else { return self.table_binding(&written.table, alias, offset) };
        let named = written.named();
        let mut next = computed;
        let columns = named.columns.iter().zip(&through.columns).enumerate().map(|(place, (column, seen))| {
            let index = seen.plain().map_or_else(
                || {
                    next += 1;
                    next - 1
                },
                |index| index + offset,
            );
            Visible {
                name: column.name.clone(),
                index,
                column_type: seen.typed.column_type.clone(),
                origin: Some((named.id, place)),
            }
        });
        Binding {
            schema: if alias == named.name { self.schema_of(named.namespace) } else { None },
            hidden_name: (alias != named.name).then(|| named.name.clone()),
            relation: Some(named.id),
            source: Source::Relation,
            ..Binding::of(alias, columns.collect())
        }
    }

    /// The table's row by the names that stand for its columns.
    pub(super) fn written_frame(&self, written: &WriteTarget, clause: Clause) -> Frame {
        let mut binding = self.written_binding(written, &written.named().name, 0, usize::MAX / 2);
        binding.columns.retain(|column| column.index < written.table.columns.len());
        Frame { columns: binding.columns.clone(), tables: vec![binding], clause, ..Frame::default() }
    }

    /// The target's rows with the view's columns: what it computes stands behind the row key.
    pub(super) fn seen_through(
        &mut self,
        written: &WriteTarget,
        alias: &str,
        item: FromItem,
    ) -> Result<FromItem, PlanError> {
        if written.through.is_none() {
            return Ok(item);
        }
        let width = item.hir.arity();
        let conditions = self.behind_policies(written.conditions())?;
        let mut binding = self.written_binding(written, alias, 0, width);
        binding.row_keys.clone_from(&item.tables[0].row_keys);
        let hir = item.hir.filter(conditions).map(written.computed(0));
        Ok(FromItem { hir, columns: binding.columns.clone(), tables: vec![binding] })
    }
}

impl WriteTarget {
    /// As a view over it sees it: a column of the table stands at its place in the row, one of a view at its place there.
    fn seen(&self, resolver: &Resolver<'_>, alias: Option<String>) -> Binding {
        let named = self.named();
        let schema = if alias.is_none() { resolver.schema_of(named.namespace) } else { None };
        let name = alias.unwrap_or_else(|| named.name.clone());
        let Some(through) = &self.through else { return resolver.table_binding(&self.table, &name, 0) };
        let columns = named.columns.iter().zip(&through.columns).enumerate().map(|(place, (column, seen))| Visible {
            name: column.name.clone(),
            index: place,
            column_type: seen.typed.column_type.clone(),
            origin: Some((named.id, place)),
        });
        Binding { schema, ..Binding::of(name, columns.collect()) }
    }

    /// An expression over it as one over the table's row.
    fn compose(&self, expr: &mut HirExpr) {
        if let Some(through) = &self.through {
            over(expr, &mut |place| through.columns[place].typed.expr.clone());
        }
    }
}
