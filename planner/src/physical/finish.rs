//! Finishing: LIMIT of a subquery that is the whole query, and ORDER BY that the access path already gives.

use super::KeyForms;
use crate::catalog::Catalog;
use crate::mir::Mir;
use crate::plan::{Access, Finishing, Lookup, Plan};
use crate::scalar::{Mfp, Order};
use repr::ColumnIndex;

/// Moves the order and limit of an outermost TopK without groups to the finishing, if that has no other.
pub(super) fn lift_limit(relation: Mir, finishing: Finishing) -> (Mir, Finishing) {
    if finishing.limit.is_some() || finishing.offset.is_some() {
        return (relation, finishing);
    }
    let (columns, top_k) = match &relation {
        Mir::Project { input, columns } => (columns.clone(), &**input),
        other => ((0..other.arity()).collect(), other),
    };
    let Mir::TopK { input, keys, order, limit, offset } = top_k else { return (relation, finishing) };
    let wanted: Vec<Order> =
        finishing.order_by.iter().map(|order| Order { column: columns[order.column], ..*order }).collect();
    if !keys.is_empty() || !(wanted.is_empty() || wanted == *order) {
        return (relation, finishing);
    }
    let project = finishing.project.iter().map(|column| columns[*column]).collect();
    let lifted = Finishing { order_by: order.clone(), limit: limit.clone(), offset: offset.clone(), project };
    ((**input).clone(), lifted)
}

/// Reads a table in the order that is asked for, where its primary key stands in that order.
pub(super) fn order_from_access(
    plan: Plan,
    finishing: Finishing,
    catalog: &Catalog,
    forms: &dyn KeyForms,
) -> (Plan, Finishing) {
    let Plan::Get { relation, access, with_key, mfp } = plan else { return (plan, finishing) };
    let key = catalog.table(relation).and_then(|table| table.primary_key_columns()).filter(|_| forms.ordered(relation));
    let ordered = key.and_then(|key| in_key_order(&access, key, &finishing.order_by, &mfp));
    match ordered {
        Some(access) => {
            (Plan::Get { relation, access, with_key, mfp }, Finishing { order_by: Vec::new(), ..finishing })
        }
        None => (Plan::Get { relation, access, with_key, mfp }, finishing),
    }
}

/// The access that gives rows by `order`, if the primary key does. Its columns hold no NULLs.
fn in_key_order(access: &Access, key: &[ColumnIndex], order: &[Order], mfp: &Mfp) -> Option<Access> {
    let first = order.first()?;
    let reverse = first.descending;
    let (prefix, lower, upper) = match access {
        Access::Scan => (Vec::new(), None, None),
        Access::Range { lookup: Lookup::PrimaryKey, prefix, lower, upper, .. } => {
            (prefix.clone(), lower.clone(), upper.clone())
        }
        Access::Range { .. } | Access::Lookup { .. } => return None,
    };
    let (fixed, mut rest) = key.split_at(prefix.len());
    for item in order {
        let column = *mfp.project.get(item.column)?;
        if fixed.contains(&column) {
            continue;
        }
        let Some((next, after)) = rest.split_first() else { break };
        if *next != column || item.descending != reverse {
            return None;
        }
        rest = after;
    }
    Some(Access::Range { lookup: Lookup::PrimaryKey, prefix, lower, upper, reverse })
}
