//! How many rows each operator of a plan is expected to give: for EXPLAIN, by the same statistics and shares as the plan's order.
//!
//! Nothing is expected of a plan over small tables alone, nor where nothing is known.

use super::KeyForms;
use super::costs::{CATALOG_ROWS, FUNCTION_ROWS, OTHER_SHARE, RECURSION_GROWTH, TABLE_ROWS};
use super::estimate::limit_rows;
use super::sizes::{
    Size, column_statistics, equal_shares, mapped, share_by, share_by_all, share_of, size_of_groups, sized,
};
use crate::catalog::{Catalog, Table};
use crate::delta::lookup_columns;
use crate::plan::{Access, LocalId, Lookup, MatchKind, Plan};
use crate::scalar::{Mfp, ScalarExpr};
use crate::statistics::{LARGE_ROWS, TableStatistics};
use repr::{ColumnIndex, Datum, RelationId};
use std::collections::BTreeMap;

/// Rows by the place of a plan in memory.
pub type ExpectedRows = BTreeMap<usize, u64>;

/// See the module.
pub fn expected_rows(plan: &Plan, catalog: &Catalog, forms: &dyn KeyForms) -> ExpectedRows {
    let mut expecting = Expecting { catalog, forms, locals: BTreeMap::new(), rows: BTreeMap::new(), known: false };
    expecting.size(plan);
    if expecting.known { expecting.rows } else { ExpectedRows::new() }
}

struct Expecting<'a> {
    catalog: &'a Catalog,
    forms: &'a dyn KeyForms,
    locals: BTreeMap<LocalId, Size>,
    rows: ExpectedRows,
    /// A large table has statistics: among small ones they count for nothing.
    known: bool,
}

impl<'a> Expecting<'a> {
    fn size(&mut self, plan: &Plan) -> Size {
        let mut size = self.size_of(plan);
        size.rows = size.rows.max(1.0);
        self.rows.insert(std::ptr::from_ref(plan).addr(), size.rows.round() as u64);
        size
    }

    fn size_of(&mut self, plan: &Plan) -> Size {
        match plan {
            Plan::Constant { rows, arity, .. } => Size::of(rows.len() as f64, 0.0, *arity),
            Plan::Get { relation, access, mfp, .. } => self.leaf(*relation, access, mfp),
            Plan::GetLocal { id, arity, .. } => {
                self.locals.get(id).cloned().unwrap_or_else(|| Size::of(TABLE_ROWS, 0.0, *arity))
            }
            Plan::Mfp(input, mfp) => through(self.size(input), mfp),
            Plan::TableFunction { input, functions, ordinality, .. } => {
                let mut size = self.size(input);
                let columns =
                    functions.iter().map(|(_, _, types)| types.len()).sum::<usize>() + usize::from(*ordinality);
                size.distinct.extend(std::iter::repeat_n(None, columns));
                Size { rows: size.rows * FUNCTION_ROWS, ..size }
            }
            Plan::LookupJoin { .. } => self.looked_up(plan),
            Plan::Join { left, right, left_key, right_key, kind, mfp, .. } => {
                let (left, right) = (self.size(left), self.size(right));
                let keys = left_key
                    .iter()
                    .zip(right_key)
                    .map(|(one, other)| (left.distinct_of(one), right.distinct_of(other)));
                let share = matching_share(&left, &right, keys.collect());
                through(joined(left, right, *kind, share), mfp)
            }
            Plan::Reduce { input, keys, aggregates, .. } => size_of_groups(&self.size(input), keys, aggregates.len()),
            Plan::TopK { input, keys, limit, .. } => {
                let size = self.size(input);
                if keys.is_empty() { Size { rows: limit_rows(limit.as_ref(), size.rows), ..size } } else { size }
            }
            Plan::Window { input, calls, .. } => {
                let mut size = self.size(input);
                size.distinct.extend(calls.iter().map(|_| None));
                size
            }
            Plan::AtMostOne { input, .. }
            | Plan::Negate(input)
            | Plan::Threshold(input)
            | Plan::Temporal { input, .. } => self.size(input),
            Plan::Union(inputs, _) => {
                let sizes: Vec<Size> = inputs.iter().map(|input| self.size(input)).collect();
                let arity = sizes.first().map_or(0, |size| size.distinct.len());
                Size::of(sizes.iter().map(|size| size.rows).sum(), 0.0, arity)
            }
            Plan::Let { id, value, body } => {
                let value = self.size(value);
                self.locals.insert(*id, value);
                self.size(body)
            }
            Plan::LetRec { id, base, step, body, .. } => {
                let base = self.size(base);
                let grown = Size::of(base.rows * RECURSION_GROWTH, 0.0, base.distinct.len());
                self.locals.insert(*id, grown);
                self.size(step);
                self.size(body)
            }
        }
    }

    fn known(&mut self, relation: RelationId) -> Option<(&'a Table, &'a TableStatistics)> {
        let found = Some((&**self.catalog.table(relation)?, self.forms.statistics(relation)?));
        self.known |= found.is_some_and(|(_, known)| known.rows >= LARGE_ROWS);
        found
    }

    /// A table's rows by its access, then by what is asked of each.
    fn leaf(&mut self, relation: RelationId, access: &Access, mfp: &Mfp) -> Size {
        let Some((table, known)) = self.known(relation) else {
            let rows = if self.catalog.table(relation).is_some() { TABLE_ROWS } else { CATALOG_ROWS };
            return through(Size::of(rows, 0.0, mfp.input_arity), mfp);
        };
        let of_column = |column: usize| column_statistics(table, known, column);
        let share_of_key = |(column, value): (&ColumnIndex, &ScalarExpr)| match (of_column(*column), value) {
            (Some(known), ScalarExpr::Literal(Datum::Null, _)) => known.null_share,
            (Some(known), ScalarExpr::Literal(value, _)) => known.share_of(value),
            (Some(known), _) => known.share_of_any(),
            (None, _) => OTHER_SHARE,
        };
        let columns = access.lookup().and_then(|lookup| lookup_columns(table, lookup)).unwrap_or_default();
        let unique = |lookup: &Lookup| is_unique(table, *lookup);
        let found = match access {
            Access::Lookup { lookup, keys, .. } => {
                let share = |key: &Vec<ScalarExpr>| match unique(lookup) && key.len() == columns.len() {
                    true => 1.0 / known.rows.max(1) as f64,
                    false => columns.iter().zip(key).map(share_of_key).product::<f64>(),
                };
                keys.iter().map(share).sum::<f64>().min(1.0)
            }
            Access::Range { prefix, .. } => columns.iter().zip(prefix).map(share_of_key).product(),
            Access::Scan | Access::Listed { .. } | Access::Met { .. } | Access::Inverted { .. } => 1.0,
        };
        let mut size = sized(table, known, mfp.input_arity);
        size.refers(table, |target| Some(self.forms.statistics(target)?.rows));
        let share = share_by_all(mfp.filter.iter().map(|(_, predicate)| predicate), &of_column);
        size.rows *= found * share;
        size.distinct = mapped(&size, mfp);
        size
    }

    fn looked_up(&mut self, plan: &Plan) -> Size {
        let Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, mfp, .. } = plan else {
            return Size::default();
        };
        let left = self.size(input);
        let arity = left.distinct.len();
        let width = self.catalog.table(*relation).map_or(0, |table| table.columns.len()) + usize::from(*with_key);
        let Some((table, known)) = self.known(*relation) else {
            let right = Size::of(TABLE_ROWS, 0.0, width);
            return through(joined(left, right, *kind, 1.0 / TABLE_ROWS), mfp);
        };
        let mut right = sized(table, known, width);
        right.refers(table, |target| Some(self.forms.statistics(target)?.rows));
        let share = if is_unique(table, *lookup) {
            1.0 / right.rows
        } else {
            let columns = lookup_columns(table, *lookup).unwrap_or_default().iter().zip(key);
            let keys = columns.map(|(column, value)| (left.distinct_of(value), right.distinct[*column]));
            matching_share(&left, &right, keys.collect())
        };
        let of_table =
            |column: usize| column.checked_sub(arity).and_then(|column| column_statistics(table, known, column));
        let conditions: f64 = condition.iter().map(|condition| share_by(condition, &of_table)).product();
        let filters = share_by_all(mfp.filter.iter().map(|(_, predicate)| predicate), &of_table);
        let mut size = joined(left, right, *kind, share * conditions);
        size.rows *= filters;
        size.distinct = mapped(&size, mfp);
        size
    }
}

fn through(mut size: Size, mfp: &Mfp) -> Size {
    size.rows *= mfp.filter.iter().map(|(_, predicate)| share_of(predicate, &size)).product::<f64>();
    size.distinct = mapped(&size, mfp);
    size
}

/// The share of all pairs that match.
fn matching_share(left: &Size, right: &Size, keys: Vec<(Option<f64>, Option<f64>)>) -> f64 {
    let values = |distinct: Option<f64>, size: &Size| distinct.unwrap_or(size.all_rows).max(1.0);
    let pairs: Vec<(f64, f64)> = keys.iter().map(|(one, other)| (values(*one, left), values(*other, right))).collect();
    let (apart, together) = equal_shares(&pairs, left.all_rows, right.all_rows);
    if pairs.len() < 2 { apart } else { apart.max(together) }
}

fn joined(left: Size, right: Size, kind: MatchKind, share: f64) -> Size {
    let each = right.rows * share;
    let rows = match kind {
        MatchKind::Inner => left.rows * each,
        MatchKind::Left => left.rows * each.max(1.0),
        MatchKind::Semi => left.rows * each.min(1.0),
        MatchKind::Anti => left.rows * (1.0 - each.min(0.99)),
    };
    let distinct = match kind {
        MatchKind::Inner | MatchKind::Left => left.left_distinct().chain(right.left_distinct()).collect(),
        MatchKind::Semi | MatchKind::Anti => left.distinct,
    };
    Size { rows, cost: 0.0, distinct, all_rows: rows }
}

fn is_unique(table: &Table, lookup: Lookup) -> bool {
    match lookup {
        Lookup::PrimaryKey => true,
        Lookup::Index(id) => table.index(id).is_some_and(|index| index.unique),
    }
}
