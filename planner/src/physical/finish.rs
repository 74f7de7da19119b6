//! Finishing: LIMIT of a subquery that is the whole query, and ORDER BY that the access path already gives.

use super::KeyForms;
use crate::catalog::Catalog;
use crate::mir::Mir;
use crate::plan::{Access, Finishing, Lookup, Plan};
use crate::scalar::{Mfp, Order};
use repr::ColumnIndex;

/// Moves the order and limit of an outermost TopK without groups to the finishing.
pub(super) fn lift_limit(relation: Mir, finishing: Finishing) -> (Mir, Finishing) {
    if !finishing.order_by.is_empty() || finishing.limit.is_some() || finishing.offset.is_some() {
        return (relation, finishing);
    }
    match relation {
        Mir::TopK { input, keys, order, limit, offset } if keys.is_empty() => {
            (*input, Finishing { order_by: order, limit, offset, project: finishing.project })
        }
        Mir::Project { input, columns } => match *input {
            Mir::TopK { input, keys, order, limit, offset } if keys.is_empty() => {
                let project = finishing.project.iter().map(|column| columns[*column]).collect();
                (*input, Finishing { order_by: order, limit, offset, project })
            }
            other => (Mir::Project { input: Box::new(other), columns }, finishing),
        },
        other => (other, finishing),
    }
}

/// Reads a table in the order that is asked for, where its primary key stands in that order.
pub(super) fn order_from_access(plan: Plan, finishing: Finishing, catalog: &Catalog, forms: &dyn KeyForms) -> (Plan, Finishing) {
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
