//! What else could find the rows of an access, for the late step to choose: which of them is best only sizes tell.
//!
//! ```text
//! one key of an index               another column equals an integer       ▶ rows that both indexes lead to
//! many keys of several columns      all have one value in common           ▶ the rows of that value
//! all rows                          a column equals one of a long list     ▶ a key for each, of a large table
//! all rows, left of a join          the right side has few keys            ▶ each of these
//! ```
//! Named here, so that EXPLAIN shows them. Never changes what rows come out.

use super::Planner;
use super::access::{lookups, same_class};
use super::costs::{KEYS_IN_COMMON_MIN, KEYS_MAX, LOOKUP_COST};
use crate::catalog::Table;
use crate::plan::{Access, Besides, Lookup, Plan};
use crate::scalar::{Mfp, ScalarExpr};
use crate::transform::shape;
use repr::{ColumnIndex, ColumnType, Datum, IndexId, RelationId, ScalarType};

impl Planner<'_> {
    /// The access with what stands beside it.
    pub(super) fn with_besides(&self, relation: RelationId, access: Access, mfp: &Mfp) -> Access {
        let Some(table) = self.catalog.table(relation) else { return access };
        match access {
            Access::Scan => listed(table, mfp).unwrap_or(access),
            // Of what stands in order nobody knows the entries without reading them.
            Access::Lookup { lookup: lookup @ Lookup::Index(own), keys, .. }
                if table.is_stored() && !self.forms.ordered(relation) =>
            {
                let besides = match keys.as_slice() {
                    [_] => narrowing(table, own, mfp),
                    keys => in_common(table, own, keys),
                };
                Access::Lookup { lookup, keys, besides }
            }
            Access::Lookup { .. }
            | Access::Listed { .. }
            | Access::Met { .. }
            | Access::Inverted { .. }
            | Access::Range { .. } => access,
        }
    }
}

impl Planner<'_> {
    /// The left side of a join by key: where it is all rows of a large table, they may be found by the keys of the right side, if
    /// these turn out to be few.
    pub(super) fn met(&self, left: Plan, key: &[ScalarExpr]) -> Plan {
        let Plan::Get { relation, access: Access::Scan, with_key, names, mfp } = &left else { return left };
        let Some(table) = self.catalog.table(*relation).filter(|table| table.is_stored()) else { return left };
        let Some(rows) = self.large_rows(*relation) else { return left };
        let own = |expr: &ScalarExpr| match expr {
            ScalarExpr::Column(column) => mfp.project.get(*column).copied(),
            _ => None,
        };
        let columns: Vec<Option<ColumnIndex>> = key.iter().map(own).collect();
        let mut best: Option<(f64, Access)> = None;
        for (lookup, wanted) in lookups(table) {
            let place = |column: &ColumnIndex| columns.iter().position(|own| *own == Some(*column));
            let Some(places) = wanted.iter().map(place).collect::<Option<Vec<usize>>>() else { continue };
            let each = self.lookup_rows(table, lookup, wanted.len());
            let keys_max = rows / ((1.0 + each) * LOOKUP_COST);
            if keys_max >= 1.0 && best.as_ref().is_none_or(|(least, _)| each < *least) {
                let keys_max = (keys_max as usize).min(KEYS_MAX);
                best = Some((each, Access::Met { lookup, places, keys_max }));
            }
        }
        let Some((_, access)) = best else { return left };
        Plan::Get { relation: *relation, access, with_key: *with_key, names: names.clone(), mfp: mfp.clone() }
    }
}

/// The key or index of one column alone.
fn alone(table: &Table, column: ColumnIndex) -> Option<Lookup> {
    lookups(table).find(|(_, columns)| *columns == [column]).map(|(lookup, _)| lookup)
}

/// An index of one column alone, which is not the primary key.
fn index_alone(table: &Table, column: ColumnIndex, but: IndexId) -> Option<IndexId> {
    match alone(table, column)? {
        Lookup::Index(index) => Some(index).filter(|index| *index != but),
        Lookup::PrimaryKey => None,
    }
}

/// A column that must equal one of more values than a plan lists keys.
fn listed(table: &Table, mfp: &Mfp) -> Option<Access> {
    mfp.filter.iter().find_map(|(_, predicate)| {
        let (left, array) = shape::equal_to_any(predicate)?;
        let (ScalarExpr::Column(column), ScalarExpr::Literal(Datum::Array(values), array_type)) =
            (shape::relabelled(left), array)
        else {
            return None;
        };
        let agrees = same_class(&table.columns.get(*column)?.column_type.scalar, &array_type.scalar.element()?);
        let lookup = alone(table, *column).filter(|_| agrees && values.elements.len() > KEYS_MAX)?;
        Some(Access::Listed { lookup, values: values.clone() })
    })
}

/// Columns that must equal an integer, with an index of their own.
fn narrowing(table: &Table, own: IndexId, mfp: &Mfp) -> Besides {
    let is_integer = |value: &ScalarExpr| {
        let (ScalarExpr::Literal(_, ColumnType { scalar, .. }) | ScalarExpr::Param(_, scalar)) = value else {
            return false;
        };
        matches!(scalar, ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8 | ScalarType::Oid)
    };
    let beside = |(_, predicate): &(usize, ScalarExpr)| {
        let (column, value) = match shape::equality(predicate)? {
            (ScalarExpr::Column(column), value) | (value, ScalarExpr::Column(column)) => (*column, value),
            _ => return None,
        };
        is_integer(value).then_some((index_alone(table, column, own)?, value.clone()))
    };
    let found: Vec<_> = mfp.filter.iter().filter_map(beside).collect();
    if found.is_empty() { Besides::None } else { Besides::Narrowing(found) }
}

/// A value that all of many whole keys have in common, with an index of its own.
fn in_common(table: &Table, own: IndexId, keys: &[Vec<ScalarExpr>]) -> Besides {
    let Some(index) = table.index(own).filter(|_| keys.len() >= KEYS_IN_COMMON_MIN) else { return Besides::None };
    let columns = index.columns.iter().enumerate().filter(|_| index.columns.len() > 1);
    let of_all = |place: usize| keys.iter().all(|key| key.get(place) == keys[0].get(place));
    let found = columns.filter(|(place, _)| of_all(*place)).find_map(|(place, column)| {
        let index = index_alone(table, *column, own)?;
        Some(Besides::InCommon { place, index })
    });
    found.unwrap_or(Besides::None)
}
