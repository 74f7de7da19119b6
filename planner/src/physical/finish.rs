//! Finishing: LIMIT of a subquery that is the whole query, and ORDER BY that the access path already gives.

use super::KeyForms;
use super::access::lookups;
use super::costs::{LIMIT_ROWS, LOOKUP_COST, TABLE_ROWS};
use super::estimate::selectivity;
use crate::catalog::{Catalog, Table};
use crate::mir::Mir;
use crate::plan::{Access, Counting, Finishing, InOrder, Lookup, Plan, Query};
use crate::scalar::{Mfp, Order, ScalarExpr};
use crate::system;
use repr::{ColumnIndex, Datum};

/// Moves the order and limit of an outermost TopK without groups to the finishing, if that has no other.
pub(super) fn lift_limit(relation: Mir, finishing: Finishing) -> (Mir, Finishing) {
    if finishing.limit.is_some() || finishing.offset.is_some() {
        return (relation, finishing);
    }
    let (columns, top_k) = match &relation {
        Mir::Project { input, columns } => (columns.clone(), &**input),
        other => ((0..other.arity()).collect(), other),
    };
    let Mir::TopK { input, keys, order, limit, offset, counting: Counting::Rows } = top_k else {
        return (relation, finishing);
    };
    let wanted: Vec<Order> =
        finishing.order_by.iter().map(|order| Order { column: columns[order.column], ..*order }).collect();
    if !keys.is_empty() || !(wanted.is_empty() || wanted == *order) {
        return (relation, finishing);
    }
    let project = finishing.project.iter().map(|column| columns[*column]).collect();
    let (order_by, limit, offset) = (order.clone(), limit.clone(), offset.clone());
    let lifted = Finishing { order_by, limit, offset, late: Vec::new(), project };
    ((**input).clone(), lifted)
}

/// Leaves what is volatile, and nothing below needs, to be computed for the rows that come out, in their order:
/// a dataflow takes rows back that it has given, and knows no order.
pub(super) fn defer_volatile(mut query: Query) -> Query {
    let mut top = &mut query.plan;
    let mfp = loop {
        match top {
            Plan::Let { body, .. } | Plan::LetRec { body, .. } => top = body,
            Plan::Mfp(_, mfp) | Plan::Get { mfp, .. } | Plan::LookupJoin { mfp, .. } | Plan::Join { mfp, .. } => {
                break mfp;
            }
            Plan::Constant { .. }
            | Plan::GetLocal { .. }
            | Plan::TableFunction { .. }
            | Plan::Reduce { .. }
            | Plan::TopK { .. }
            | Plan::Window { .. }
            | Plan::AtMostOne { .. }
            | Plan::Union(..)
            | Plan::Negate(_)
            | Plan::Threshold(_)
            | Plan::Temporal { .. } => return query,
        }
    };
    let finishing = &mut query.finishing;
    let needed = finishing.order_by.iter().map(|order| order.column);
    let needed: Vec<usize> = needed.chain(query.locks.iter().map(|lock| lock.key_column)).collect();
    let Some((late, places)) = mfp.defer_volatile(&needed) else { return query };
    finishing.late = late;
    finishing.project.iter_mut().for_each(|column| *column = places[*column]);
    finishing.order_by.iter_mut().for_each(|order| order.column = places[order.column]);
    query.locks.iter_mut().for_each(|lock| lock.key_column = places[lock.key_column]);
    query
}

/// Reads a table in the order that is asked for, where its primary key stands in that order, or where one of its keys or
/// indexes can be in memory in that order and few of its rows are wanted.
pub(super) fn order_from_access(
    plan: Plan,
    finishing: Finishing,
    catalog: &Catalog,
    forms: &dyn KeyForms,
) -> (Plan, Finishing) {
    let Plan::Get { relation, access, with_key, names, mfp } = plan else { return (plan, finishing) };
    let in_order = |finishing: Finishing| Finishing { order_by: Vec::new(), ..finishing };
    let (access, finishing) = if system::find_by_id(relation).is_some_and(|system| system.is_numbered) {
        // Numbers are like a primary key of the first column.
        let range = from_all(&access, Lookup::PrimaryKey);
        match range.and_then(|range| in_key_order(range, &OrderKey::of(&[0], true), &finishing.order_by, &mfp)) {
            Some(ordered) => (ordered, in_order(finishing)),
            None => (access, finishing),
        }
    } else {
        match catalog.table(relation).filter(|table| table.is_stored()) {
            None => (access, finishing),
            Some(table) if !forms.ordered(relation) => {
                let ordered = in_memory_order(&access, table, &finishing, &mfp);
                (ordered.unwrap_or(access), finishing)
            }
            Some(table) => {
                let ordered = table.primary_key_columns().and_then(|key| {
                    let access = from_all(&access, Lookup::PrimaryKey)?;
                    in_key_order(access, &OrderKey::of(key, true), &finishing.order_by, &mfp)
                });
                match ordered {
                    Some(ordered) => (ordered, in_order(finishing)),
                    None => (access, finishing),
                }
            }
        }
    };
    (Plan::Get { relation, access, with_key, names, mfp }, finishing)
}

/// A range of a hashed table in the order that is asked for, if there is one that is worth it: the range that its
/// predicates give, or else, under a small LIMIT, all of a key or index.
fn in_memory_order(access: &Access, table: &Table, finishing: &Finishing, mfp: &Mfp) -> Option<Access> {
    let few = |finishing: &Finishing| {
        let passing: f64 = mfp.filter.iter().map(|(_, predicate)| selectivity(predicate)).product();
        let wanted = match (&finishing.limit, &finishing.offset) {
            (Some(limit), offset) => literal(limit) + offset.as_ref().map_or(0.0, literal),
            (None, _) => return false,
        };
        wanted / passing * LOOKUP_COST < TABLE_ROWS
    };
    if matches!(access, Access::Scan | Access::Listed { .. } | Access::Met { .. }) && !few(finishing) {
        return None;
    }
    let primary_key = table.primary_key_columns();
    // Its first columns may be held without the others.
    let parts =
        |(lookup, columns)| (1..=<[ColumnIndex]>::len(columns)).rev().map(move |count| (lookup, columns, count));
    let wholly = lookups(table).flat_map(parts).find_map(|(lookup, columns, count)| {
        let access = from_all(access, lookup)?;
        let first = &columns[..count];
        let beyond = primary_key.unwrap_or_default().iter().filter(|column| !first.contains(column));
        let all: Vec<ColumnIndex> = first.iter().chain(beyond).copied().collect();
        let key = OrderKey { columns: &all, own: count, unique: primary_key.is_some() };
        in_key_order(access, &key, &finishing.order_by, mfp).filter(|access| bound_columns(access) <= count)
    });
    // Of which few rows are wanted, those that the written order leaves equal are put in order as they are read.
    let written = Order::written(&finishing.order_by);
    wholly.or_else(|| {
        finishing.limit.as_ref()?;
        lookups(table).find_map(|(lookup, columns)| {
            let mut access = in_key_order(from_all(access, lookup)?, &OrderKey::of(columns, false), written, mfp)?;
            if let Access::Range { in_order, .. } = &mut access {
                *in_order = InOrder::ButForTies;
            }
            Some(access)
        })
    })
}

/// LIMIT or OFFSET.
fn literal(expr: &ScalarExpr) -> f64 {
    match expr {
        ScalarExpr::Literal(Datum::Int8(value), _) => *value as f64,
        _ => LIMIT_ROWS,
    }
}

/// The access as a range of this key or index, if it is one or reads all rows.
fn from_all(access: &Access, wanted: Lookup) -> Option<Access> {
    match access {
        Access::Scan | Access::Listed { .. } | Access::Met { .. } => Some(Access::Range {
            lookup: wanted,
            prefix: Vec::new(),
            lower: None,
            upper: None,
            reverse: false,
            in_order: InOrder::No,
        }),
        Access::Range { lookup, .. } if *lookup == wanted => Some(access.clone()),
        Access::Range { .. } | Access::Inverted { .. } | Access::Lookup { .. } => None,
    }
}

/// What rows stand by.
struct OrderKey<'k> {
    columns: &'k [ColumnIndex],
    /// How many of them are the key's or index's own.
    own: usize,
    /// No two rows are the same in all of them, and none has a NULL there.
    unique: bool,
}

impl<'k> OrderKey<'k> {
    fn of(columns: &'k [ColumnIndex], unique: bool) -> OrderKey<'k> {
        OrderKey { columns, own: columns.len(), unique }
    }
}

/// How many columns of its key or index a range looks at.
fn bound_columns(access: &Access) -> usize {
    match access {
        Access::Range { prefix, lower, upper, .. } => prefix.len() + usize::from(lower.is_some() || upper.is_some()),
        Access::Scan | Access::Listed { .. } | Access::Met { .. } | Access::Inverted { .. } | Access::Lookup { .. } => {
            0
        }
    }
}

/// The range that gives rows by `order`, if the key's columns do.
fn in_key_order(range: Access, key: &OrderKey<'_>, order: &[Order], mfp: &Mfp) -> Option<Access> {
    let Access::Range { lookup, prefix, lower, upper, .. } = range else { return None };
    let reverse = order.first()?.descending;
    let (fixed, mut rest) = key.columns.split_at_checked(prefix.len())?;
    for item in order {
        let column = *mfp.project.get(item.column)?;
        if fixed.contains(&column) {
            continue;
        }
        let Some((next, after)) = rest.split_first() else {
            if key.unique {
                // What is asked for beyond it does not matter.
                break;
            }
            return None;
        };
        // NULLs stand last in an index; a primary key has none.
        let nulls = item.nulls_first == item.descending || lookup == Lookup::PrimaryKey;
        if *next != column || item.descending != reverse || !nulls {
            return None;
        }
        rest = after;
    }
    let in_order = InOrder::By { columns: key.own };
    Some(Access::Range { lookup, prefix, lower, upper, reverse, in_order })
}
