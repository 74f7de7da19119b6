//! Access paths: which predicates on a table become a lookup or a range, and which remain.
//!
//! A lookup needs a value for every column of the primary key or of an index, by the column's own equality:
//! key bytes of equal values agree within a `KeyClass`, so a comparison across classes is never a lookup.

use super::estimate::{INDEX_ROWS, TABLE_ROWS};
use super::{Planner, through};
use crate::catalog::Table;
use crate::error::PlanError;
use crate::mir::expr;
use crate::plan::{Access, Lookup, MatchKind, Plan};
use crate::scalar::func::Comparison;
use crate::scalar::{Mfp, ScalarExpr};
use crate::transform::shape;
use repr::{ColumnIndex, ColumnType, Datum, RelationId, Row, ScalarType};

/// More keys than this are not listed in a plan.
const KEYS_MAX: usize = 65_536;

/// An access path, and what is left to check.
pub(super) struct Found {
    /// How rows are found.
    pub(super) access: Access,
    /// Predicates that it does not answer, over the columns before projection.
    pub(super) residual: Vec<ScalarExpr>,
}

/// A column fixed by a predicate.
struct Fixed {
    column: ColumnIndex,
    /// The values that it may have.
    values: Vec<ScalarExpr>,
    /// Which predicate says so.
    predicate: usize,
}

/// A bound of a column.
struct Bound {
    column: ColumnIndex,
    comparison: Comparison,
    value: ScalarExpr,
}

impl Planner<'_> {
    /// Reads a stored relation through `mfp`.
    pub(super) fn get(&mut self, relation: RelationId, with_key: bool, mfp: Mfp) -> Result<Plan, PlanError> {
        let found = self.access(relation, &mfp);
        if matches!(found.access, Access::Scan)
            && !self.maintained
            && let Some(plan) = self.keys_from_array(relation, with_key, &mfp)?
        {
            return Ok(plan);
        }
        let mfp = with_filters(mfp, found.residual);
        Ok(Plan::Get { relation, access: found.access, with_key, mfp })
    }

    /// The best access path for a table under `mfp`'s predicates.
    pub(super) fn access(&self, relation: RelationId, mfp: &Mfp) -> Found {
        let predicates: Vec<&ScalarExpr> = mfp.filter.iter().map(|(_, predicate)| predicate).collect();
        let all = || predicates.iter().map(|predicate| (*predicate).clone()).collect();
        let looked_up = !predicates.is_empty() && !self.maintained;
        let Some(table) = self.catalog.table(relation).filter(|_| looked_up) else {
            return Found { access: Access::Scan, residual: all() };
        };
        let fixed: Vec<Fixed> =
            predicates.iter().enumerate().filter_map(|(at, predicate)| fixed_column(table, predicate, at)).collect();
        let mut best: Option<(f64, Access, Vec<usize>)> = None;
        for (lookup, columns) in lookups(table) {
            let Some((keys, used)) = keys(columns, &fixed) else { continue };
            let rows = keys.len() as f64 * self.lookup_rows(table, lookup);
            if best.as_ref().is_none_or(|(least, ..)| rows < *least) {
                best = Some((rows, Access::Lookup { lookup, keys }, used));
            }
        }
        if best.is_none() && self.forms.ordered(relation) {
            best = self.range(table, &predicates, &fixed);
        }
        let Some((_, access, used)) = best else {
            return Found { access: Access::Scan, residual: all() };
        };
        let residual = predicates.into_iter().enumerate().filter(|(at, _)| !used.contains(at));
        Found { access, residual: residual.map(|(_, predicate)| predicate.clone()).collect() }
    }

    /// Rows that one key finds.
    pub(super) fn lookup_rows(&self, table: &Table, lookup: Lookup) -> f64 {
        match lookup {
            Lookup::PrimaryKey => 1.0,
            Lookup::Index(id) if table.index(id).is_some_and(|index| index.unique) => 1.0,
            Lookup::Index(_) => INDEX_ROWS,
        }
    }

    /// Equality on the first columns of a key, then bounds on the next. Bounds stay as predicates too: where
    /// NULLs stand in an index is not for the plan to know.
    fn range(&self, table: &Table, predicates: &[&ScalarExpr], fixed: &[Fixed]) -> Option<(f64, Access, Vec<usize>)> {
        let bounds: Vec<Bound> = predicates.iter().filter_map(|predicate| bounded_column(table, predicate)).collect();
        let mut best: Option<(f64, Access, Vec<usize>)> = None;
        for (lookup, columns) in lookups(table) {
            let mut prefix = Vec::new();
            let mut used = Vec::new();
            for column in columns {
                let Some(fixed) = fixed.iter().find(|fixed| fixed.column == *column && fixed.values.len() == 1) else {
                    break;
                };
                prefix.push(fixed.values[0].clone());
                used.push(fixed.predicate);
            }
            let next = columns.get(prefix.len());
            let bound = |wanted: [Comparison; 2]| {
                let found =
                    bounds.iter().find(|bound| Some(&bound.column) == next && wanted.contains(&bound.comparison));
                found.map(|bound| (bound.value.clone(), bound.comparison == wanted[1]))
            };
            let lower = bound([Comparison::Greater, Comparison::GreaterOrEqual]);
            let upper = bound([Comparison::Less, Comparison::LessOrEqual]);
            if prefix.is_empty() && lower.is_none() && upper.is_none() {
                continue;
            }
            let access = Access::Range { lookup, prefix, lower, upper, reverse: false };
            let rows = self.access_rows(table.id, &access);
            if best.as_ref().is_none_or(|(least, ..)| rows < *least) {
                best = Some((rows, access, used));
            }
        }
        best.filter(|(rows, ..)| *rows < TABLE_ROWS)
    }

    /// `column = ANY ($1)`: as many keys as the array will have, met by a lookup join.
    fn keys_from_array(&mut self, relation: RelationId, with_key: bool, mfp: &Mfp) -> Result<Option<Plan>, PlanError> {
        let Some(table) = self.catalog.table(relation) else { return Ok(None) };
        let width = table.columns.len() + usize::from(with_key);
        for (at, (_, predicate)) in mfp.filter.iter().enumerate() {
            let Some((left, array)) = shape::equal_to_any(predicate) else { continue };
            let ScalarExpr::Column(column) = shape::relabelled(left) else { continue };
            let array_type = array.scalar_type(&|_| ScalarType::Unknown);
            let Some(element) = array_type.element() else { continue };
            let agrees =
                table.columns.get(*column).is_some_and(|found| same_class(&found.column_type.scalar, &element));
            if !agrees || !expr::is_constant(array) || expr::is_volatile(array) {
                continue;
            }
            let Some((lookup, _)) = lookups(table).find(|(_, columns)| *columns == [*column]) else { continue };
            let unit = Plan::Constant { rows: vec![Row::pack([])], arity: 0 };
            let elements = Plan::TableFunction {
                input: Box::new(unit),
                functions: vec![(shape::unnest(&array_type)?, vec![array.clone()], vec![element])],
                ordinality: false,
            };
            let distinct = Plan::Reduce {
                input: Box::new(elements),
                keys: vec![ScalarExpr::Column(0)],
                aggregates: Vec::new(),
                scalar: false,
            };
            let residual = mfp.filter.iter().enumerate().filter(|(other, _)| *other != at);
            let residual = residual.map(|(_, (_, predicate))| predicate.clone()).collect();
            let mut rest = with_filters(mfp.clone(), residual);
            rest.permute_input(1 + width, &|column| column + 1);
            let joined = Plan::LookupJoin {
                input: Box::new(distinct),
                relation,
                lookup,
                key: vec![ScalarExpr::Column(0)],
                kind: MatchKind::Inner,
                condition: Vec::new(),
                with_key,
                mfp: Mfp::identity(1 + width),
            };
            return Ok(Some(through(joined, rest)));
        }
        Ok(None)
    }
}

/// The primary key and the indexes, with their columns.
pub(super) fn lookups(table: &Table) -> impl Iterator<Item = (Lookup, &[ColumnIndex])> {
    let primary = table.primary_key;
    let own = table.primary_key_columns().map(|columns| (Lookup::PrimaryKey, columns));
    let others = table.indexes.iter().filter(move |index| Some(index.id) != primary);
    own.into_iter().chain(others.map(|index| (Lookup::Index(index.id), index.columns.as_slice())))
}

/// The same `Mfp` with other predicates.
pub(super) fn with_filters(mut mfp: Mfp, predicates: Vec<ScalarExpr>) -> Mfp {
    let every = (0..mfp.mapped_arity()).collect();
    let project = std::mem::replace(&mut mfp.project, every);
    mfp.filter.clear();
    predicates.into_iter().for_each(|predicate| mfp.add_filter(predicate));
    mfp.project = project;
    mfp
}

/// Whether values of two types have the same key bytes exactly when they are equal.
pub(super) fn same_class(left: &ScalarType, right: &ScalarType) -> bool {
    let class = shape::key_class(left);
    class.is_some() && class == shape::key_class(right)
}

/// Every combination of the values that the columns may have, and the predicates that say so.
fn keys(columns: &[ColumnIndex], fixed: &[Fixed]) -> Option<(Vec<Vec<ScalarExpr>>, Vec<usize>)> {
    let mut keys: Vec<Vec<ScalarExpr>> = vec![Vec::with_capacity(columns.len())];
    let mut used = Vec::with_capacity(columns.len());
    for column in columns {
        let fixed = fixed.iter().filter(|fixed| fixed.column == *column).min_by_key(|fixed| fixed.values.len())?;
        used.push(fixed.predicate);
        if let [value] = fixed.values.as_slice() {
            keys.iter_mut().for_each(|key| key.push(value.clone()));
            continue;
        }
        if keys.len() * fixed.values.len() > KEYS_MAX {
            return None;
        }
        keys = keys
            .iter()
            .flat_map(|key| fixed.values.iter().map(|value| key.iter().chain([value]).cloned().collect()))
            .collect();
    }
    Some((keys, used))
}

fn fixed_column(table: &Table, predicate: &ScalarExpr, at: usize) -> Option<Fixed> {
    let (column, values) = equal_values(table, predicate)?;
    Some(Fixed { column, values, predicate: at })
}

/// The column that a predicate restricts to certain values: `=`, `= ANY` of a constant array, OR of these.
fn equal_values(table: &Table, predicate: &ScalarExpr) -> Option<(ColumnIndex, Vec<ScalarExpr>)> {
    if let Some((left, right)) = shape::equality(predicate) {
        let (column, value) =
            column_and_constant(table, left, right).or_else(|| column_and_constant(table, right, left))?;
        return Some((column, vec![value.clone()]));
    }
    if let Some((left, array)) = shape::equal_to_any(predicate) {
        let ScalarExpr::Literal(Datum::Array(array), array_type) = array else { return None };
        let element = array_type.scalar.element()?;
        let ScalarExpr::Column(column) = shape::relabelled(left) else { return None };
        if !same_class(&table.columns.get(*column)?.column_type.scalar, &element) {
            return None;
        }
        let element = ColumnType::nullable(element);
        let values = array.elements.iter().filter(|value| !value.is_null());
        return Some((*column, values.map(|value| ScalarExpr::Literal(value.clone(), element.clone())).collect()));
    }
    if let ScalarExpr::Or(terms) = predicate {
        let mut column = None;
        let mut values = Vec::new();
        for term in terms {
            let (own, more) = equal_values(table, term)?;
            if *column.get_or_insert(own) != own {
                return None;
            }
            values.extend(more);
        }
        return Some((column?, values));
    }
    None
}

fn column_and_constant<'e>(
    table: &Table,
    column: &ScalarExpr,
    value: &'e ScalarExpr,
) -> Option<(ColumnIndex, &'e ScalarExpr)> {
    let ScalarExpr::Column(column) = shape::relabelled(column) else { return None };
    let column_type = &table.columns.get(*column)?.column_type.scalar;
    let value = shape::relabelled(value);
    if !expr::is_constant(value) || expr::is_volatile(value) {
        return None;
    }
    same_class(column_type, &value.scalar_type(&|_| ScalarType::Unknown)).then_some((*column, value))
}

fn bounded_column(table: &Table, predicate: &ScalarExpr) -> Option<Bound> {
    let (comparison, left, right) = shape::compared(predicate)?;
    let ordered = match comparison {
        Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => true,
        Comparison::Equal | Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct => false,
    };
    if !ordered {
        return None;
    }
    if let Some((column, value)) = column_and_constant(table, left, right) {
        return Some(Bound { column, comparison, value: value.clone() });
    }
    let (column, value) = column_and_constant(table, right, left)?;
    Some(Bound { column, comparison: comparison.commuted(), value: value.clone() })
}
