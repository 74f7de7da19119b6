//! First rows of maintained views: what is ordered holds the columns that order it and a primary key; the rows that are
//! chosen are looked up in the leaves.
//!
//! ```text
//! TopK over chain        ──▶   chain' over (lookup of the table over (TopK over chain, order and key only))
//! ```
//! The chain must have one row at most for each row of its table. Rows that the order leaves equal are chosen by their
//! primary keys.

use super::costs::LEFT_OUT_MIN;
use super::{Planner, through};
use crate::catalog::Catalog;
use crate::mir::expr;
use crate::plan::{Access, Counting, Lookup, MatchKind, Plan};
use crate::scalar::{Mfp, Order, ScalarExpr};
use repr::ColumnIndex;
use std::collections::BTreeSet;
use std::ops::Range;

/// How many rows of a group are the first ones.
pub(super) struct First {
    pub(super) limit: Option<ScalarExpr>,
    pub(super) offset: Option<ScalarExpr>,
    pub(super) counting: Counting,
}

impl Planner<'_> {
    /// The first rows of each group of `input`.
    pub(super) fn first_rows(
        &self,
        input: Plan,
        keys: Vec<usize>,
        order: Vec<Order>,
        First { limit, offset, counting }: First,
    ) -> Plan {
        if self.maintained
            && self.recursions == 0
            && let Some(Keyed { plan: keyed, columns, at }) = with_primary_key(&input, self.catalog)
        {
            let ordering = || keys.iter().copied().chain(order.iter().map(|order| order.column));
            let arity = at.start;
            // A column of the key that orders, too, is held once.
            let same = |column: &ColumnIndex| ordering().find(|other| origin(&input, *other) == Some(*column));
            let primary_key: Vec<usize> =
                columns.iter().zip(at.clone()).map(|(column, carried)| same(column).unwrap_or(carried)).collect();
            let kept: BTreeSet<usize> = ordering().chain(primary_key.iter().copied()).collect();
            let kept: Vec<usize> = kept.into_iter().collect();
            if kept.len() + LEFT_OUT_MIN <= arity {
                let place = |column: usize| kept.partition_point(|other| *other < column);
                let mut narrow = Mfp::identity(at.end);
                narrow.add_project(&kept);
                let first = Plan::TopK {
                    input: Box::new(through(keyed, narrow)),
                    keys: keys.iter().map(|column| place(*column)).collect(),
                    order: order.iter().map(|order| Order { column: place(order.column), ..*order }).collect(),
                    limit,
                    offset,
                    counting,
                };
                let key = primary_key.iter().map(|column| ScalarExpr::Column(place(*column))).collect();
                return over(input, first, kept.len(), key);
            }
        }
        Plan::TopK { input: Box::new(input), keys, order, limit, offset, counting }
    }
}

/// A chain with the primary key of the table that it starts from.
struct Keyed {
    plan: Plan,
    /// The key's columns in the table.
    columns: Vec<ColumnIndex>,
    /// Where they are, behind all others.
    at: Range<usize>,
}

/// None unless each of the table's rows gives one row at most.
fn with_primary_key(plan: &Plan, catalog: &Catalog) -> Option<Keyed> {
    match plan {
        Plan::Get { relation, access: Access::Scan, with_key: false, names, mfp } => {
            let columns = catalog.table(*relation)?.primary_key_columns()?.to_vec();
            let at = mfp.project.len()..mfp.project.len() + columns.len();
            let mut mfp = mfp.clone();
            mfp.project.extend(&columns);
            let names = names.clone();
            let plan = Plan::Get { relation: *relation, access: Access::Scan, with_key: false, names, mfp };
            Some(Keyed { plan, columns, at })
        }
        Plan::Mfp(input, mfp) => {
            let Keyed { plan, columns, at } = with_primary_key(input, catalog)?;
            let (mfp, at) = carrying(mfp, at);
            Some(Keyed { plan: Plan::Mfp(Box::new(plan), mfp), columns, at })
        }
        Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key: false, names, mfp } => {
            let one_match = match (kind, lookup) {
                (MatchKind::Semi | MatchKind::Anti, _) | (_, Lookup::PrimaryKey) => true,
                (MatchKind::Inner | MatchKind::Left, Lookup::Index(index)) => {
                    catalog.table(*relation)?.index(*index)?.unique
                }
            };
            if !one_match {
                return None;
            }
            let Keyed { plan, columns, at } = with_primary_key(input, catalog)?;
            let moved = |column: usize| if column < at.start { column } else { column + at.len() };
            let condition = condition.iter().map(|condition| expr::renumber(condition, moved)).collect();
            let (mfp, at) = carrying(mfp, at);
            let plan = Plan::LookupJoin {
                input: Box::new(plan),
                relation: *relation,
                lookup: *lookup,
                key: key.clone(),
                kind: *kind,
                condition,
                with_key: false,
                names: names.clone(),
                mfp,
            };
            Some(Keyed { plan, columns, at })
        }
        _ => None,
    }
}

/// The same over an input that has further columns there, which come out behind all others.
fn carrying(mfp: &Mfp, further: Range<usize>) -> (Mfp, Range<usize>) {
    let mut mfp = mfp.clone();
    let count = further.len();
    let moved = |column: usize| if column < further.start { column } else { column + count };
    mfp.permute_input(mfp.input_arity + count, &moved);
    let at = mfp.project.len()..mfp.project.len() + count;
    mfp.project.extend(further);
    (mfp, at)
}

/// Which column of a chain's table one of its columns is.
fn origin(chain: &Plan, column: usize) -> Option<ColumnIndex> {
    match chain {
        Plan::Get { mfp, .. } => mfp.project.get(column).copied().filter(|column| *column < mfp.input_arity),
        Plan::Mfp(input, mfp) | Plan::LookupJoin { input, mfp, .. } => {
            let column = *mfp.project.get(column)?;
            (column < arity(input)?).then(|| origin(input, column))?
        }
        _ => None,
    }
}

fn arity(chain: &Plan) -> Option<usize> {
    match chain {
        Plan::Get { mfp, .. } | Plan::Mfp(_, mfp) | Plan::LookupJoin { mfp, .. } => Some(mfp.project.len()),
        _ => None,
    }
}

/// A chain over chosen rows of its table, whose primary keys are given.
fn over(chain: Plan, chosen: Plan, arity: usize, primary_key: Vec<ScalarExpr>) -> Plan {
    match chain {
        Plan::Get { relation, names, mut mfp, .. } => {
            mfp.permute_input(arity + mfp.input_arity, &|column| arity + column);
            Plan::LookupJoin {
                input: Box::new(chosen),
                relation,
                lookup: Lookup::PrimaryKey,
                key: primary_key,
                kind: MatchKind::Inner,
                condition: Vec::new(),
                with_key: false,
                names,
                mfp,
            }
        }
        Plan::Mfp(input, mfp) => through(over(*input, chosen, arity, primary_key), mfp),
        Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, names, mfp } => {
            let input = Box::new(over(*input, chosen, arity, primary_key));
            Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, names, mfp }
        }
        other => other,
    }
}
