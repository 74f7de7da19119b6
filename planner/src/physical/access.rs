//! Access paths: which predicates on a table become a lookup or a range, and which remain.
//!
//! A lookup needs a value for every column of the primary key or of an index, by the column's own equality:
//! key bytes of equal values agree within a `KeyClass`, so a comparison across classes is never a lookup.

use super::bounds::{ColumnBound, bounded_columns, numbered_range};
use super::costs::{ARRAY_KEYS, INDEX_ROWS, KEY_ROWS, KEYS_MAX, RANGE_SHARE, SMALL_KEY_REACH, TABLE_ROWS};
use super::{Planner, through};
use crate::catalog::{Index, Table};
use crate::error::PlanError;
use crate::mir::expr;
use crate::names::Names;
use crate::plan::{Access, Besides, InOrder, Lookup, MatchKind, Plan};
use crate::resolve::index_predicate::index_predicates;
use crate::scalar::func::Comparison;
use crate::scalar::implication::implies;
use crate::scalar::{Mfp, ScalarExpr};
use crate::system::SystemRelation;
use crate::transform::shape;
use repr::{ColumnIndex, ColumnType, Datum, IndexId, RelationId, Row, ScalarType};

/// An access path, and what is left to check.
pub(super) struct AccessPath {
    /// How rows are found.
    pub(super) access: Access,
    /// Predicates that it does not answer, over the columns before projection.
    pub(super) residual: Vec<ScalarExpr>,
}

/// A column fixed by a predicate.
pub(super) struct Fixed {
    pub(super) column: ColumnIndex,
    /// The values that it may have. A literal NULL is one that equals NULL.
    values: Vec<ScalarExpr>,
    /// Which predicate says so.
    pub(super) predicate: usize,
}

impl Planner<'_> {
    /// Reads a stored relation through `mfp`.
    pub(super) fn get(
        &mut self,
        relation: RelationId,
        with_key: bool,
        names: &Names,
        mfp: Mfp,
    ) -> Result<Plan, PlanError> {
        let mfp = self.with_kept(relation, mfp);
        let found = self.access(relation, &mfp);
        if !self.maintained
            && let Some(plan) = self.keys_from_arrays(relation, (with_key, names), &mfp, &found.access)?
        {
            return Ok(plan);
        }
        let mfp = with_filters(mfp, found.residual);
        let access = if self.maintained { found.access } else { self.with_besides(relation, found.access, &mfp) };
        Ok(Plan::Get { relation, access, with_key, names: names.clone(), mfp })
    }

    /// The best access path for a table under `mfp`'s predicates.
    pub(super) fn access(&self, relation: RelationId, mfp: &Mfp) -> AccessPath {
        let predicates: Vec<&ScalarExpr> = mfp.filter.iter().map(|(_, predicate)| predicate).collect();
        let all = || predicates.iter().map(|predicate| (*predicate).clone()).collect();
        let looked_up = !predicates.is_empty() && !self.maintained;
        let Some(table) = self.catalog.table(relation).filter(|_| looked_up) else {
            let range = if self.maintained { None } else { numbered_range(relation, &predicates) };
            return AccessPath { access: range.unwrap_or(Access::Scan), residual: all() };
        };
        let ordered = self.forms.ordered(relation);
        let fixed = fixed_columns(table, predicates.iter().copied(), true);
        let mut best: Option<(Merit, Access, Vec<usize>)> = None;
        let partial = self.partial_lookups(table, &predicates);
        for (lookup, columns) in lookups(table).chain(partial.iter().copied()) {
            let with_nulls = ordered || holds_nulls(table, lookup);
            let Some((keys, used)) = keys(columns, &fixed, with_nulls) else { continue };
            // Rows with nothing but NULLs stand in no index of hashed keys.
            if !ordered && keys.iter().any(|key| key.iter().all(is_null_literal)) {
                continue;
            }
            // Of a hashed index nothing but the whole key is found; one key's range is read row by row, below.
            let nulls = keys.iter().flatten().any(is_null_literal);
            let parts = ordered && matches!(lookup, Lookup::Index(_)) && (keys.len() > 1 || nulls);
            if used.len() < columns.len() && !parts {
                continue;
            }
            let rows = self.lookup_rows(table, lookup, used.len());
            let rows = if nulls { rows.max(KEY_ROWS) } else { rows };
            if self.is_too_much(relation, keys.len(), rows) {
                continue;
            }
            let merit = Merit::lookup(lookup, rows, used.len(), keys.len());
            if best.as_ref().is_none_or(|(most, ..)| merit.beats(most)) {
                best = Some((merit, Access::Lookup { lookup, keys, besides: Besides::None }, used));
            }
        }
        if let Some(found) = self.row_lookup(table, &predicates, &fixed)
            && best.as_ref().is_none_or(|(most, ..)| found.0.beats(most))
        {
            best = Some(found);
        }
        // Of hashed keys a range is read in memory or not at all: any lookup is better.
        if (ordered || (best.is_none() && table.is_stored()))
            && let Some((merit, access, used)) = self.range(table, &predicates, &fixed)
            && best.as_ref().is_none_or(|(most, ..)| merit.beats(most))
        {
            best = Some((merit, access, used));
        }
        let Some((_, access, mut used)) = best else {
            let inverted = super::inverted::access(table, &predicates);
            return AccessPath { access: inverted.unwrap_or(Access::Scan), residual: all() };
        };
        if self.reads_all(relation, &access) {
            used.clear();
        }
        let residual = predicates.into_iter().enumerate().filter(|(at, _)| !used.contains(at));
        AccessPath { access, residual: residual.map(|(_, predicate)| predicate.clone()).collect() }
    }

    /// Whether all rows are read, or may be: a range of hashed keys needs its order in memory.
    pub(super) fn reads_all(&self, relation: RelationId, access: &Access) -> bool {
        match access {
            Access::Scan | Access::Listed { .. } | Access::Met { .. } | Access::Inverted { .. } => true,
            Access::Lookup { .. } => false,
            Access::Range { .. } => !self.forms.ordered(relation),
        }
    }

    /// Rows that one key finds, of which the first `bound` columns are given.
    pub(super) fn lookup_rows(&self, table: &Table, lookup: Lookup, bound: usize) -> f64 {
        let unique = match lookup {
            Lookup::PrimaryKey => true,
            Lookup::Index(id) => table.index(id).is_some_and(|index| index.unique && bound == index.columns.len()),
        };
        if let Some(rows) = self.known_rows(table, lookup, bound).filter(|_| !unique) {
            return rows;
        }
        match (unique, bound) {
            (true, _) => 1.0,
            (false, 0 | 1) => INDEX_ROWS,
            (false, _) => KEY_ROWS,
        }
    }

    /// The partial indexes in which all rows stand that pass these predicates.
    fn partial_lookups<'t>(&self, table: &'t Table, predicates: &[&ScalarExpr]) -> Vec<(Lookup, &'t [ColumnIndex])> {
        if table.indexes.iter().all(Index::is_whole) || predicates.is_empty() {
            return Vec::new();
        }
        // Each was planned when it was defined.
        let conditions = index_predicates(self.catalog, table).unwrap_or_default();
        let implied = conditions.iter().filter(|(_, condition)| implies(predicates, condition));
        let lookup = |(id, _): &(IndexId, ScalarExpr)| {
            let index = table.index(*id).filter(|index| !index.is_inverted())?;
            Some((Lookup::Index(*id), index.columns.as_slice()))
        };
        implied.filter_map(lookup).collect()
    }

    /// Equality on the first columns of a key, then bounds on the next. Bounds stay as predicates too: where
    /// NULLs stand in an index is not for the plan to know.
    fn range(&self, table: &Table, predicates: &[&ScalarExpr], fixed: &[Fixed]) -> Option<(Merit, Access, Vec<usize>)> {
        let bounds: Vec<ColumnBound> =
            predicates.iter().flat_map(|predicate| bounded_columns(table, predicate)).collect();
        let mut best: Option<(f64, Merit, Access, Vec<usize>)> = None;
        let partial = self.partial_lookups(table, predicates);
        for (lookup, columns) in lookups(table).chain(partial.iter().copied()) {
            let mut prefix = Vec::new();
            let mut used = Vec::new();
            for column in columns {
                let Some(fixed) = fixed.iter().find(|fixed| fixed.column == *column && fixed.value().is_some()) else {
                    break;
                };
                prefix.extend(fixed.value().cloned());
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
            let bounds = [&lower, &upper].into_iter().flatten().count();
            let merit = Merit::range(prefix.len(), bounds);
            let access = Access::Range { lookup, prefix, lower, upper, reverse: false, in_order: InOrder::No };
            let rows = self.access_rows(table.id, &access);
            if best.as_ref().is_none_or(|(least, ..)| rows < *least) {
                best = Some((rows, merit, access, used));
            }
        }
        best.map(|(_, merit, access, used)| (merit, access, used))
    }

    /// `column = ANY ($1)`, `(column, column) IN ((1, 2), …)`: as many keys as the arrays will have elements, met by a lookup join.
    /// The other columns of the key have one value each. Unless what was found instead is better.
    fn keys_from_arrays(
        &self,
        relation: RelationId,
        (with_key, names): (bool, &Names),
        mfp: &Mfp,
        instead_of: &Access,
    ) -> Result<Option<Plan>, PlanError> {
        let Some(table) = self.catalog.table(relation) else { return Ok(None) };
        let fixed = fixed_columns(table, mfp.filter.iter().map(|(_, predicate)| predicate), false);
        let mut best: Option<ArrayKeys> = None;
        for (at, (_, predicate)) in mfp.filter.iter().enumerate() {
            let Some(listed) = ListedColumns::of(table, predicate) else { continue };
            for (lookup, columns) in lookups(table) {
                let Some((key, arrays, mut used)) = listed.key(columns, &fixed) else { continue };
                if listed.is_whole && arrays.len() == listed.columns.len() {
                    used.push(at);
                }
                let rows = self.lookup_rows(table, lookup, columns.len());
                let merit = Merit::lookup(lookup, rows, columns.len(), listed.keys);
                if best.as_ref().is_none_or(|best| merit.beats(&best.merit)) {
                    best = Some(ArrayKeys { merit, lookup, key, used, arrays });
                }
            }
        }
        let Some(ArrayKeys { merit, lookup, key, used, arrays }) = best else { return Ok(None) };
        match instead_of {
            access if self.reads_all(relation, access) => {}
            Access::Lookup { lookup, keys, .. } => {
                let bound = keys.first().map_or(0, Vec::len);
                let rows = self.lookup_rows(table, *lookup, bound);
                if !merit.beats(&Merit::lookup(*lookup, rows, bound, keys.len())) {
                    return Ok(None);
                }
            }
            Access::Scan
            | Access::Listed { .. }
            | Access::Met { .. }
            | Access::Inverted { .. }
            | Access::Range { .. } => return Ok(None),
        }
        let count = arrays.len();
        let width = table.columns.len() + usize::from(with_key);
        let residual = mfp.filter.iter().enumerate().filter(|(other, _)| !used.contains(other));
        let residual = residual.map(|(_, (_, predicate))| predicate.clone()).collect();
        let mut rest = with_filters(mfp.clone(), residual);
        rest.permute_input(count + width, &|column| column + count);
        let joined = Plan::LookupJoin {
            input: Box::new(distinct_elements(arrays)?),
            relation,
            lookup,
            key,
            kind: MatchKind::Inner,
            condition: Vec::new(),
            with_key,
            names: names.clone(),
            mfp: Mfp::identity(count + width),
        };
        Ok(Some(through(joined, rest)))
    }
}

/// What is looked up for the elements of arrays.
struct ArrayKeys {
    merit: Merit,
    lookup: Lookup,
    /// Over the elements.
    key: Vec<ScalarExpr>,
    /// The predicates that the lookup answers.
    used: Vec<usize>,
    /// With their elements' types.
    arrays: Vec<(ScalarExpr, ScalarType)>,
}

/// Columns that a predicate compares with the elements of constant arrays, those of one place together.
struct ListedColumns<'e> {
    columns: Vec<(ColumnIndex, &'e ScalarExpr, ScalarType)>,
    /// The predicate says no more than that.
    is_whole: bool,
    /// How many elements there are, or may be.
    keys: usize,
}

impl<'e> ListedColumns<'e> {
    fn of(table: &Table, predicate: &'e ScalarExpr) -> Option<ListedColumns<'e>> {
        let pairs: Vec<_> = match shape::among_rows(predicate) {
            Some(fields) => fields.collect(),
            None => vec![shape::equal_to_any(predicate)?],
        };
        let keys = array_length(pairs.first()?.1).unwrap_or(ARRAY_KEYS);
        let columns: Vec<_> = pairs.iter().filter_map(|(left, array)| array_column(table, left, array)).collect();
        (keys <= KEYS_MAX).then_some(ListedColumns { is_whole: columns.len() == pairs.len(), columns, keys })
    }

    /// A key over elements of some of the arrays, those arrays, and the other predicates that it answers.
    #[allow(clippy::type_complexity, reason = "a key and what it is of")]
    fn key(
        &self,
        columns: &[ColumnIndex],
        fixed: &[Fixed],
    ) -> Option<(Vec<ScalarExpr>, Vec<(ScalarExpr, ScalarType)>, Vec<usize>)> {
        let (mut key, mut arrays, mut used) = (Vec::with_capacity(columns.len()), Vec::new(), Vec::new());
        for wanted in columns {
            if let Some((_, array, element)) = self.columns.iter().find(|(column, ..)| column == wanted) {
                key.push(ScalarExpr::Column(arrays.len()));
                arrays.push(((*array).clone(), element.clone()));
            } else {
                let fixed = fixed.iter().find(|fixed| fixed.column == *wanted && fixed.value().is_some())?;
                used.push(fixed.predicate);
                key.push(fixed.value().cloned()?);
            }
        }
        (!arrays.is_empty()).then_some((key, arrays, used))
    }
}

/// The elements of arrays, in step, each once.
fn distinct_elements(arrays: Vec<(ScalarExpr, ScalarType)>) -> Result<Plan, PlanError> {
    let unit = Plan::Constant { rows: vec![Row::pack([])], arity: 0, names: Names::default() };
    let keys = (0..arrays.len()).map(ScalarExpr::Column).collect();
    let mut functions = Vec::with_capacity(arrays.len());
    for (array, element) in arrays {
        let array_type = array.scalar_type(&|_| ScalarType::Unknown);
        functions.push((shape::unnest(&array_type)?, vec![array], vec![element]));
    }
    let input = Box::new(unit);
    let elements = Plan::TableFunction { input, functions, ordinality: false, names: Names::default() };
    Ok(Plan::Reduce { input: Box::new(elements), keys, aggregates: Vec::new(), scalar: false })
}

/// How good an access path is. Without statistics the number of rows under one column's value may be anything, that
/// under a unique key or several columns' values is small: a few dozen keys of the latter beat one of the former.
pub(super) struct Merit {
    /// What may be touched, in rows.
    reach: f64,
    /// The primary key is read without an index entry.
    direct: bool,
    unique: bool,
    columns: usize,
    keys: usize,
}

impl Merit {
    /// Of so many keys, each of so many columns that finds so many rows.
    pub(super) fn lookup(lookup: Lookup, rows: f64, columns: usize, keys: usize) -> Merit {
        let each = if rows < INDEX_ROWS { SMALL_KEY_REACH } else { rows };
        let direct = lookup == Lookup::PrimaryKey;
        Merit { reach: keys as f64 * each, direct, unique: rows <= 1.0, columns, keys }
    }

    /// Of one range.
    fn range(prefix: usize, bounds: usize) -> Merit {
        let within = match prefix {
            0 => TABLE_ROWS,
            1 => INDEX_ROWS,
            _ => SMALL_KEY_REACH,
        };
        let reach = within * RANGE_SHARE.powi(bounds as i32);
        Merit { reach, direct: false, unique: false, columns: prefix, keys: 1 }
    }

    pub(super) fn beats(&self, other: &Merit) -> bool {
        self.reach
            .total_cmp(&other.reach)
            .then(other.direct.cmp(&self.direct))
            .then(other.unique.cmp(&self.unique))
            .then(other.columns.cmp(&self.columns))
            .then(self.keys.cmp(&other.keys))
            .is_lt()
    }
}

/// The primary key and the indexes of all rows, with their columns.
pub(super) fn lookups(table: &Table) -> impl Iterator<Item = (Lookup, &[ColumnIndex])> {
    let primary = table.primary_key;
    let own = table.primary_key_columns().map(|columns| (Lookup::PrimaryKey, columns));
    let others = table.whole_indexes().filter(move |index| Some(index.id) != primary);
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
pub(crate) fn same_class(left: &ScalarType, right: &ScalarType) -> bool {
    let class = shape::key_class(left);
    class.is_some() && class == shape::key_class(right)
}

/// Every combination of the values that the first columns may have, as many columns as have any, and the predicates
/// that say so. NULL is a value only `with_nulls`.
fn keys(columns: &[ColumnIndex], fixed: &[Fixed], with_nulls: bool) -> Option<(Vec<Vec<ScalarExpr>>, Vec<usize>)> {
    let mut keys: Vec<Vec<ScalarExpr>> = vec![Vec::with_capacity(columns.len())];
    let mut used = Vec::with_capacity(columns.len());
    for column in columns {
        let usable =
            |fixed: &&Fixed| fixed.column == *column && (with_nulls || !fixed.values.iter().any(is_null_literal));
        let fixed = fixed.iter().filter(usable).min_by_key(|fixed| fixed.values.len());
        let Some(fixed) = fixed.filter(|fixed| keys.len() * fixed.values.len() <= KEYS_MAX) else { break };
        used.push(fixed.predicate);
        if let [value] = fixed.values.as_slice() {
            keys.iter_mut().for_each(|key| key.push(value.clone()));
            continue;
        }
        keys = keys
            .iter()
            .flat_map(|key| fixed.values.iter().map(|value| key.iter().chain([value]).cloned().collect()))
            .collect();
    }
    (!used.is_empty()).then_some((keys, used))
}

impl Planner<'_> {
    /// Whether a key of an index may have NULLs, which are told by a literal NULL.
    pub(super) fn has_nulls(&self, table: &Table, lookup: Lookup) -> bool {
        matches!(lookup, Lookup::Index(_)) && (self.forms.ordered(table.id) || holds_nulls(table, lookup))
    }
}

/// Whether rows stand in an index of hashed keys of which a column, but not every column, is NULL.
fn holds_nulls(table: &Table, lookup: Lookup) -> bool {
    match lookup {
        Lookup::PrimaryKey => false,
        Lookup::Index(id) => table.index(id).is_some_and(|index| index.nulls),
    }
}

impl Fixed {
    /// The one value that the column may have, if it is one and no NULL.
    pub(super) fn value(&self) -> Option<&ScalarExpr> {
        match self.values.as_slice() {
            [value] if !is_null_literal(value) => Some(value),
            _ => None,
        }
    }
}

pub(super) fn is_null_literal(value: &ScalarExpr) -> bool {
    matches!(value, ScalarExpr::Literal(Datum::Null, _))
}

/// The columns that predicates restrict to certain values; to NULL only where NULLs stand in indexes.
fn fixed_columns<'e>(table: &Table, predicates: impl Iterator<Item = &'e ScalarExpr>, nulls: bool) -> Vec<Fixed> {
    let fixed = predicates.enumerate().filter_map(|(at, predicate)| {
        let (column, values) = equal_values(table, predicate)?;
        let usable = nulls || !values.iter().any(is_null_literal);
        usable.then_some(Fixed { column, values, predicate: at })
    });
    fixed.collect()
}

/// The column that is compared with elements of a constant array, and their type.
fn array_column<'e>(
    table: &Table,
    left: &ScalarExpr,
    array: &'e ScalarExpr,
) -> Option<(ColumnIndex, &'e ScalarExpr, ScalarType)> {
    let ScalarExpr::Column(column) = shape::relabelled(left) else { return None };
    let element = array.scalar_type(&|_| ScalarType::Unknown).element()?;
    let agrees = same_class(&table.columns.get(*column)?.column_type.scalar, &element);
    (agrees && expr::is_constant(array) && !expr::is_volatile(array)).then_some((*column, array, element))
}

/// How many elements an array has, if that is known.
fn array_length(array: &ScalarExpr) -> Option<usize> {
    match array.as_literal()? {
        Datum::Array(array) => Some(array.elements.len()),
        _ => None,
    }
}

/// The column that a predicate restricts to certain values: `=`, `IS NULL` (a literal NULL), `= ANY` of a constant array,
/// OR of these.
fn equal_values(table: &Table, predicate: &ScalarExpr) -> Option<(ColumnIndex, Vec<ScalarExpr>)> {
    if let Some(ScalarExpr::Column(column)) = shape::null_test(predicate).map(shape::relabelled) {
        let column_type = &table.columns.get(*column)?.column_type;
        let null = || ScalarExpr::Literal(Datum::Null, ColumnType::nullable(column_type.scalar.clone()));
        return shape::key_class(&column_type.scalar).map(|_| (*column, vec![null()]));
    }
    if let Some((left, right)) = shape::equality(predicate) {
        let (column, value) =
            column_and_constant(table, left, right).or_else(|| column_and_constant(table, right, left))?;
        return Some((column, vec![value.clone()]));
    }
    if let Some((left, array)) = shape::equal_to_any(predicate) {
        let ScalarExpr::Literal(Datum::Array(array), array_type) = array else { return None };
        if array.elements.len() > KEYS_MAX {
            return None;
        }
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

/// What has columns of certain types.
pub(super) trait TypedColumns {
    /// One column's.
    fn scalar(&self, column: ColumnIndex) -> Option<&ScalarType>;
}

impl TypedColumns for Table {
    fn scalar(&self, column: ColumnIndex) -> Option<&ScalarType> {
        Some(&self.columns.get(column)?.column_type.scalar)
    }
}

impl TypedColumns for SystemRelation {
    fn scalar(&self, column: ColumnIndex) -> Option<&ScalarType> {
        Some(&self.columns.get(column)?.scalar)
    }
}

pub(super) fn column_and_constant<'e>(
    relation: &impl TypedColumns,
    column: &ScalarExpr,
    value: &'e ScalarExpr,
) -> Option<(ColumnIndex, &'e ScalarExpr)> {
    let ScalarExpr::Column(column) = shape::relabelled(column) else { return None };
    let column_type = relation.scalar(*column)?;
    let value = shape::relabelled(value);
    if !expr::is_constant(value) || expr::is_volatile(value) || is_null_literal(value) {
        return None;
    }
    same_class(column_type, &value.scalar_type(&|_| ScalarType::Unknown)).then_some((*column, value))
}
