//! Sizes by statistics: how many rows a relation gives, and how many different values its columns have.
//!
//! Asked where a large table has statistics; where none has, `estimate` guesses. Values come to be told by their own column's
//! statistics alone: what several columns have to do with each other nobody knows.

use super::chain::Chain;
use super::costs::{
    BOUNDS_MIN, CATALOG_ROWS, FUNCTION_ROWS, GROUP_SHARE, JOINED_COST, LOOKUP_COST, OTHER_SHARE, RANGE_SHARE,
    RECURSION_GROWTH, TABLE_ROWS,
};
use super::estimate::{limit_rows, selectivity};
use super::join_order::JoinGraph;
use super::{KeyForms, Planner};
use crate::catalog::Table;
use crate::mir::{Mir, expr};
use crate::plan::{Access, LocalId, Lookup, MatchKind};
use crate::scalar::{EvalContext, Mfp, ScalarExpr, Volatility};
use crate::statistics::{ColumnStatistics, LARGE_ROWS, TableStatistics};
use crate::transform::shape;
use repr::{ColumnIndex, Datum, RelationId, poll};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Where statistics count.
pub(super) struct Sizes {
    /// Of locals in scope.
    locals: RefCell<BTreeMap<LocalId, Size>>,
}

/// How large a relation is.
#[derive(Clone, Debug, Default)]
pub(super) struct Size {
    /// Rows that come out.
    pub(super) rows: f64,
    /// What is done for them, in rows of a scan.
    pub(super) cost: f64,
    /// The different values of each column, before predicates took rows away; none if nothing is known.
    pub(super) distinct: Vec<Option<f64>>,
    /// The rows before predicates took some away.
    pub(super) all_rows: f64,
}

impl Sizes {
    /// Of a relation, if a large table in it has statistics: among small ones any plan will do.
    pub(super) fn of(mir: &Mir, forms: &dyn KeyForms) -> Option<Sizes> {
        has_large(mir, forms).then(|| Sizes { locals: RefCell::default() })
    }
}

fn has_large(mir: &Mir, forms: &dyn KeyForms) -> bool {
    poll::step_or_unwind();
    match mir {
        Mir::Get { relation, .. } => forms.statistics(*relation).is_some_and(|known| known.rows >= LARGE_ROWS),
        other => other.children().into_iter().any(|child| has_large(child, forms)),
    }
}

impl Size {
    pub(super) fn of(rows: f64, cost: f64, arity: usize) -> Size {
        Size { rows, cost, distinct: vec![None; arity], all_rows: rows }
    }

    /// What refers to a key has no more values than that has rows.
    pub(super) fn refers(&mut self, table: &Table, rows: impl Fn(RelationId) -> Option<u64>) {
        for key in &table.foreign_keys {
            if let ([column], Some(rows)) = (key.columns.as_slice(), rows(key.target))
                && let Some(distinct) = &mut self.distinct[*column]
            {
                *distinct = distinct.min((rows as f64).max(1.0));
            }
        }
    }

    /// The different values of each column that are left: no more than rows.
    pub(super) fn left_distinct(&self) -> impl Iterator<Item = Option<f64>> {
        self.distinct.iter().map(|distinct| distinct.map(|distinct| distinct.min(self.rows)))
    }

    /// The different values of an expression over the columns; as many as rows if nothing is known.
    pub(super) fn distinct_of(&self, expr: &ScalarExpr) -> Option<f64> {
        match shape::relabelled(expr) {
            ScalarExpr::Column(column) => self.distinct.get(*column).copied().flatten(),
            other => {
                let columns = other.columns();
                let mut known = columns.iter().map(|column| self.distinct.get(*column).copied().flatten());
                known.try_fold(1.0, |product: f64, distinct| Some(product * distinct?))
            }
        }
    }
}

impl Planner<'_> {
    /// What is known of a table's sizes, where they count.
    fn known(&self, relation: RelationId) -> Option<&TableStatistics> {
        self.sizes.as_ref().and_then(|_| self.forms.statistics(relation))
    }

    /// Rows that one value of the first columns of an index finds, where statistics say it.
    pub(super) fn known_rows(&self, table: &Table, lookup: Lookup, bound: usize) -> Option<f64> {
        let known = self.known(table.id)?;
        let Lookup::Index(id) = lookup else { return None };
        let columns = table.index(id)?.columns.iter().take(bound);
        let shares = columns.map(|column| Some(column_statistics(table, known, *column)?.share_of_any()));
        let share = shares.collect::<Option<Vec<f64>>>()?.into_iter().product::<f64>();
        Some((known.rows as f64 * share).max(1.0))
    }

    /// The rows of a table that is known to be large.
    pub(super) fn large_rows(&self, relation: RelationId) -> Option<f64> {
        self.known(relation).filter(|known| known.rows >= LARGE_ROWS).map(|known| known.rows as f64)
    }

    /// How many times as many rows have NULLs in these columns as have any one value there, where statistics say it.
    pub(super) fn times_null(&self, table: &Table, columns: &[ColumnIndex]) -> f64 {
        let of_column = |column: &ColumnIndex| {
            let known = column_statistics(table, self.known(table.id)?, *column)?;
            Some(known.null_share / known.share_of_any().max(f64::MIN_POSITIVE))
        };
        columns.iter().map(|column| of_column(column).unwrap_or(1.0)).product()
    }

    /// Whether so many keys of an index find so much that reading all rows is quicker.
    pub(super) fn is_too_much(&self, relation: RelationId, keys: usize, rows: f64) -> bool {
        let Some(known) = self.known(relation) else { return false };
        known.rows >= LARGE_ROWS && keys as f64 * rows * LOOKUP_COST > known.rows as f64
    }

    /// Keeps how large a local is.
    pub(super) fn know_local(&self, id: LocalId, value: &Mir) {
        if let Some(sizes) = &self.sizes {
            let size = self.size(value, sizes);
            sizes.locals.borrow_mut().insert(id, size);
        }
    }

    /// The size of a relation.
    pub(super) fn size(&self, mir: &Mir, sizes: &Sizes) -> Size {
        let Chain { core, mfp } = Chain::of(mir, false);
        let (mut size, share) = match core {
            Mir::Get { relation, .. } => self.size_of_table(*relation, core.arity(), &mfp),
            other => {
                let size = self.size_of_core(other, sizes);
                let share = mfp.filter.iter().map(|(_, predicate)| share_of(predicate, &size)).product();
                (size, share)
            }
        };
        size.rows = (size.rows * share).max(1.0);
        size.distinct = mapped(&size, &mfp);
        size
    }

    /// A table's rows with the share of them that pass, what finding them costs.
    fn size_of_table(&self, relation: RelationId, arity: usize, mfp: &Mfp) -> (Size, f64) {
        let table = self.catalog.table(relation);
        let Some((table, known)) = table.and_then(|table| Some((table, self.known(relation)?))) else {
            let rows = if table.is_some() { TABLE_ROWS } else { CATALOG_ROWS };
            let size = Size::of(rows, rows, arity);
            let share = mfp.filter.iter().map(|(_, predicate)| selectivity(predicate)).product();
            return (size, share);
        };
        let of_column = |column: usize| column_statistics(table, known, column);
        let mut size = sized(table, known, arity);
        let rows = size.rows;
        size.cost = rows;
        for index in table.indexes.iter().filter(|index| index.unique && index.is_whole()) {
            if let [column] = index.columns.as_slice() {
                size.distinct[*column] = Some(rows);
            }
        }
        size.refers(table, |target| Some(self.known(target)?.rows));
        let share = share_by_all(mfp.filter.iter().map(|(_, predicate)| predicate), &of_column);
        let found = self.access(relation, &self.with_kept(relation, mfp.clone()));
        if let Access::Lookup { lookup, keys, .. } = &found.access {
            let bound = keys.first().map_or(0, Vec::len);
            let each = self.lookup_rows(table, *lookup, bound);
            size.cost = keys.len() as f64 * (1.0 + each) * LOOKUP_COST;
        } else if !self.reads_all(relation, &found.access) {
            size.cost = (rows * share).max(1.0) * LOOKUP_COST;
        }
        (size, share)
    }

    fn size_of_core(&self, core: &Mir, sizes: &Sizes) -> Size {
        let arity = core.arity();
        match core {
            Mir::Constant { rows, .. } => Size::of(rows.len() as f64, rows.len() as f64, arity),
            Mir::GetLocal { id, .. } => {
                let known = sizes.locals.borrow().get(id).cloned();
                known
                    .map_or_else(|| Size::of(TABLE_ROWS, TABLE_ROWS, arity), |known| Size { cost: known.rows, ..known })
            }
            Mir::Join { inputs, on, same } => {
                let inputs: Vec<Size> = inputs.iter().map(|input| self.size(input, sizes)).collect();
                let cost: f64 = inputs.iter().map(|input| input.cost + input.rows).sum();
                let distinct = inputs.iter().flat_map(Size::left_distinct).collect();
                let rows = JoinGraph::new(inputs, on, same).all_rows();
                Size { rows, cost: cost + rows * JOINED_COST, distinct, all_rows: rows }
            }
            Mir::Match { left, right, kind, on, same } => {
                self.size_of_match((self.size(left, sizes), self.size(right, sizes)), *kind, on, same)
            }
            Mir::Reduce { input, keys, aggregates, .. } => {
                let input = self.size(input, sizes);
                size_of_groups(&input, keys, aggregates.len())
            }
            Mir::TableFunction { input, .. } => {
                let input = self.size(input, sizes);
                let rows = input.rows * FUNCTION_ROWS;
                let mut size = Size::of(rows, input.cost + rows, arity);
                size.distinct[..input.distinct.len()].copy_from_slice(&input.distinct);
                size
            }
            Mir::TopK { input, keys, limit, .. } => {
                let mut size = self.size(input, sizes);
                size.cost += size.rows;
                if keys.is_empty() {
                    size.rows = limit_rows(limit.as_ref(), size.rows);
                }
                size
            }
            Mir::Union(inputs, _) => {
                let inputs: Vec<Size> = inputs.iter().map(|input| self.size(input, sizes)).collect();
                let sum = |of: fn(&Size) -> f64| inputs.iter().map(of).sum::<f64>();
                Size::of(sum(|input| input.rows), sum(|input| input.cost), arity)
            }
            Mir::Window { input, .. } => {
                let input = self.size(input, sizes);
                let mut size = Size::of(input.rows, input.cost + input.rows, arity);
                size.distinct[..input.distinct.len()].copy_from_slice(&input.distinct);
                size
            }
            Mir::AtMostOne { input, .. } | Mir::Negate(input) | Mir::Threshold(input) => {
                let mut size = self.size(input, sizes);
                size.cost += size.rows;
                size
            }
            Mir::Let { .. } | Mir::LetRec { .. } => self.size_under_local(core, sizes),
            Mir::Filter { input, .. } => self.size(input, sizes),
            Mir::Get { .. } | Mir::Map { .. } | Mir::Project { .. } => Size::of(TABLE_ROWS, TABLE_ROWS, arity),
        }
    }

    /// What a local is for, now that it is known how large that is.
    fn size_under_local(&self, core: &Mir, sizes: &Sizes) -> Size {
        match core {
            Mir::Let { id, value, body } => {
                let value = self.size(value, sizes);
                let cost = value.cost;
                sizes.locals.borrow_mut().insert(*id, value);
                let mut size = self.size(body, sizes);
                size.cost += cost;
                size
            }
            Mir::LetRec { id, base, body, .. } => {
                let base = self.size(base, sizes);
                let cost = base.cost * RECURSION_GROWTH;
                let grown = Size::of(base.rows * RECURSION_GROWTH, 0.0, base.distinct.len());
                sizes.locals.borrow_mut().insert(*id, grown);
                let mut size = self.size(body, sizes);
                size.cost += cost;
                size
            }
            other => Size::of(TABLE_ROWS, TABLE_ROWS, other.arity()),
        }
    }

    fn size_of_match(
        &self,
        (left, right): (Size, Size),
        kind: MatchKind,
        on: &[ScalarExpr],
        same: &[(usize, usize)],
    ) -> Size {
        let width = left.distinct.len();
        let cost = left.cost + right.cost.min(left.rows * LOOKUP_COST) + left.rows;
        let mut size = Size { rows: left.rows, cost, distinct: left.distinct.clone(), all_rows: left.rows };
        match kind {
            MatchKind::Inner | MatchKind::Left => {
                size.distinct = left.left_distinct().chain(right.left_distinct()).collect();
                let joined = JoinGraph::new(vec![left.clone(), right], on, same).all_rows();
                size.rows = if kind == MatchKind::Left { joined.max(left.rows) } else { joined };
            }
            MatchKind::Semi | MatchKind::Anti => {
                let matched = self.matched_share((&left, &right), width, on, same);
                size.rows = left.rows * if kind == MatchKind::Semi { matched } else { 1.0 - matched };
            }
        }
        size.rows = size.rows.max(1.0);
        size
    }

    /// The share of left rows that have a match: as many of their values as the right has at most.
    fn matched_share(
        &self,
        (left, right): (&Size, &Size),
        width: usize,
        on: &[ScalarExpr],
        same: &[(usize, usize)],
    ) -> f64 {
        let known = |size: &Size, column: usize| size.distinct.get(column).copied().flatten();
        let pair = |condition: &ScalarExpr| {
            let (one, other) = shape::equality(condition)?;
            let is_left = |expr: &ScalarExpr| expr::reads_only(expr, |column| column < width);
            let (of_left, of_right) = if is_left(one) { (one, other) } else { (other, one) };
            let crosses = is_left(of_left) && expr::reads_only(of_right, |column| column >= width);
            let of_right = crosses.then(|| expr::renumber(of_right, |column| column - width))?;
            Some((left.distinct_of(of_left), right.distinct_of(&of_right)))
        };
        let mut pairs: Vec<(Option<f64>, Option<f64>)> = on.iter().filter_map(pair).collect();
        let others = on.len() - pairs.len();
        pairs.extend(same.iter().map(|(one, other)| (known(left, *one), known(right, other - width))));
        let mut share = 1.0_f64;
        for (of_left, of_right) in pairs {
            let has = of_right.unwrap_or(right.rows).min(right.rows);
            share = share.min(of_left.map_or(OTHER_SHARE, |wanted| (has / wanted.max(1.0)).min(1.0)));
        }
        (share * OTHER_SHARE.powi(i32::try_from(others).unwrap_or(i32::MAX))).clamp(0.01, 0.99)
    }
}

/// All rows of a table, at no cost.
pub(super) fn sized(table: &Table, known: &TableStatistics, width: usize) -> Size {
    let rows = (known.rows as f64).max(1.0);
    let mut size = Size::of(rows, 0.0, width);
    for (column, distinct) in size.distinct.iter_mut().enumerate() {
        *distinct = column_statistics(table, known, column).map(|known| known.distinct.clamp(1.0, rows));
    }
    size
}

/// The share of all pairs of two relations' rows that are equal in some columns, of which these are the different values: if each
/// column says by itself, and if together they have no more values than either has rows.
pub(super) fn equal_shares(pairs: &[(f64, f64)], left_rows: f64, right_rows: f64) -> (f64, f64) {
    let apart: f64 = pairs.iter().map(|(left, right)| 1.0 / left.max(*right)).product();
    let of_left = pairs.iter().map(|(left, _)| left).product::<f64>().min(left_rows);
    let of_right = pairs.iter().map(|(_, right)| right).product::<f64>().min(right_rows);
    // Whose rows are fewer is what the other refers to.
    (apart, 1.0 / of_left.min(of_right).max(1.0))
}

pub(super) fn size_of_groups(input: &Size, keys: &[ScalarExpr], aggregates: usize) -> Size {
    let known: Option<Vec<f64>> = keys.iter().map(|key| input.distinct_of(key)).collect();
    let rows = match &known {
        _ if keys.is_empty() => 1.0,
        Some(known) => known.iter().product::<f64>().min(input.rows),
        None => input.rows * GROUP_SHARE,
    };
    let rows = rows.max(1.0);
    let mut distinct: Vec<Option<f64>> =
        keys.iter().map(|key| input.distinct_of(key).map(|distinct| distinct.min(rows))).collect();
    if let [only] = distinct.as_mut_slice() {
        *only = Some(rows);
    }
    distinct.extend(std::iter::repeat_n(None, aggregates));
    Size { rows, cost: input.cost + input.rows, distinct, all_rows: rows }
}

/// The different values of what comes out.
pub(super) fn mapped(size: &Size, mfp: &Mfp) -> Vec<Option<f64>> {
    let of_column = |column: usize| match column.checked_sub(mfp.input_arity) {
        None => size.distinct.get(column).copied().flatten(),
        Some(index) => mfp
            .map
            .get(index)
            .filter(|expr| expr::reads_only(expr, |column| column < mfp.input_arity))
            .and_then(|expr| size.distinct_of(expr)),
    };
    mfp.project.iter().map(|column| of_column(*column)).collect()
}

pub(super) fn column_statistics<'k>(
    table: &Table,
    known: &'k TableStatistics,
    column: usize,
) -> Option<&'k ColumnStatistics> {
    known.column(column, &table.columns.get(column)?.column_type.scalar)
}

/// The share of rows that pass a predicate over what is no table.
pub(super) fn share_of(predicate: &ScalarExpr, size: &Size) -> f64 {
    poll::step_or_unwind();
    match predicate {
        ScalarExpr::And(terms) => return terms.iter().map(|term| share_of(term, size)).product(),
        ScalarExpr::Or(terms) => return 1.0 - terms.iter().map(|term| 1.0 - share_of(term, size)).product::<f64>(),
        _ => {}
    }
    if let Some((left, right)) = shape::equality(predicate) {
        let distinct = [left, right].into_iter().filter(|side| !expr::is_constant(side));
        let most = distinct
            .filter_map(|side| size.distinct_of(side))
            .fold(None, |most: Option<f64>, distinct| Some(most.map_or(distinct, |most| most.max(distinct))));
        if let Some(distinct) = most {
            return 1.0 / distinct.max(1.0);
        }
    }
    selectivity(predicate)
}

/// The share of a table's rows that pass all of some predicates: those over one column are asked together.
pub(super) fn share_by_all<'k, 'e>(
    predicates: impl Iterator<Item = &'e ScalarExpr>,
    of_column: &impl Fn(usize) -> Option<&'k ColumnStatistics>,
) -> f64 {
    let mut by_column: BTreeMap<usize, Vec<&ScalarExpr>> = BTreeMap::new();
    let mut share = 1.0;
    for predicate in predicates {
        let mut columns = predicate.columns().into_iter();
        match (columns.next(), columns.next()) {
            (Some(column), None) if is_known(predicate) => by_column.entry(column).or_default().push(predicate),
            (None | Some(_), _) => share *= share_by(predicate, of_column),
        }
    }
    for (column, predicates) in by_column {
        share *= match (predicates.as_slice(), of_column(column)) {
            ([only], _) => share_by(only, of_column),
            (several, known) => {
                let all = ScalarExpr::And(several.iter().map(|predicate| (*predicate).clone()).collect());
                let together = known.and_then(|known| share_passing(known, &all, column));
                together.unwrap_or_else(|| share_by(&all, of_column))
            }
        };
    }
    share
}

/// Whether a predicate says the same of a value at any time.
fn is_known(predicate: &ScalarExpr) -> bool {
    predicate.volatility() == Volatility::Immutable && !has_params(predicate)
}

/// The share of a table's rows that pass a predicate.
pub(super) fn share_by<'k>(predicate: &ScalarExpr, of_column: &impl Fn(usize) -> Option<&'k ColumnStatistics>) -> f64 {
    poll::step_or_unwind();
    match predicate {
        ScalarExpr::And(terms) => return terms.iter().map(|term| share_by(term, of_column)).product(),
        ScalarExpr::Or(terms) => {
            return 1.0 - terms.iter().map(|term| 1.0 - share_by(term, of_column)).product::<f64>();
        }
        _ => {}
    }
    let columns = predicate.columns();
    let mut columns = columns.iter();
    let (first, second) = (columns.next(), columns.next());
    let known = first.and_then(|column| Some((*column, of_column(*column)?)));
    match (known, second) {
        (Some((column, known)), None) => {
            if let Some((left, right)) = shape::equality(predicate) {
                let value = if expr::is_constant(left) { left } else { right };
                match value {
                    ScalarExpr::Literal(value, _) => {
                        let is_column = matches!(shape::relabelled(left), ScalarExpr::Column(_))
                            || matches!(shape::relabelled(right), ScalarExpr::Column(_));
                        if is_column {
                            return known.share_of(value);
                        }
                    }
                    _ if expr::is_constant(value) => return known.share_of_any(),
                    _ => {}
                }
            }
            if let Some((ScalarExpr::Column(_), ScalarExpr::Literal(Datum::Array(array), _))) =
                shape::equal_to_any(predicate).map(|(left, array)| (shape::relabelled(left), array))
            {
                return array.elements.iter().map(|value| known.share_of(value)).sum::<f64>().min(1.0);
            }
            let share = if is_known(predicate) { share_passing(known, predicate, column) } else { None };
            share.unwrap_or_else(|| selectivity(predicate))
        }
        (Some((_, known)), Some(other)) => match (shape::equality(predicate), of_column(*other)) {
            (Some(_), Some(other)) => 1.0 / known.distinct.max(other.distinct).max(1.0),
            (Some(_), None) | (None, _) if shape::compared(predicate).is_some() => RANGE_SHARE,
            (Some(_), None) | (None, _) => selectivity(predicate),
        },
        (None, _) => selectivity(predicate),
    }
}

/// The share of rows that pass a predicate over a column alone, found by asking it of the values that are kept; none if too few
/// are.
fn share_passing(known: &ColumnStatistics, predicate: &ScalarExpr, column: usize) -> Option<f64> {
    if known.common.is_empty() && known.bounds.len() < BOUNDS_MIN {
        return None;
    }
    let ctx = EvalContext::immutable();
    let mut row = vec![Datum::Null; column + 1];
    let mut passes = |value: &Datum| {
        poll::step_or_unwind();
        row[column] = value.clone();
        // What cannot be computed says nothing.
        predicate.holds(&row, &ctx).ok()
    };
    let mut share = 0.0;
    for (value, of_rows) in &known.common {
        share += if passes(value)? { *of_rows } else { 0.0 };
    }
    if !known.bounds.is_empty() {
        let mut count = 0_usize;
        for value in &known.bounds {
            count += usize::from(passes(value)?);
        }
        // Between two of them there may be some.
        share += (count as f64).max(0.25) / known.bounds.len() as f64 * known.share_of_others();
    }
    share += if passes(&Datum::Null)? { known.null_share } else { 0.0 };
    Some(share.clamp(0.0, 1.0))
}

fn has_params(predicate: &ScalarExpr) -> bool {
    let mut found = false;
    predicate.visit(&mut |part| found |= matches!(part, ScalarExpr::Param(..)));
    found
}
