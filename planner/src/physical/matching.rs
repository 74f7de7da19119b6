//! Left, semi and anti joins: by looking the right side up, by arranging both sides, or, for conditions that
//! are no equalities, by first joining the distinct left values with the right side.

use super::chain::Chain;
use super::costs::{BETTER_SHARE, HASHED_COST, HELD_COST, JOINED_COST, LOOKUP_COST};
use super::join::{LookedUp, Pending};
use super::order::Links;
use super::{Planner, gives_right, through};
use crate::error::PlanError;
use crate::mir::{Mir, expr};
use crate::names::Names;
use crate::plan::{Lookup, MatchKind, Plan};
use crate::scalar::{Mfp, ScalarExpr};
use repr::ColumnType;
use std::collections::BTreeSet;

/// A relation beside the distinct values of another, and what makes them equal.
struct WithValues {
    inputs: [Mir; 2],
    on: Vec<ScalarExpr>,
}

impl Planner<'_> {
    /// Plans a join that keeps its left side.
    pub(super) fn matching(
        &mut self,
        (left, right): (&Mir, &Mir),
        kind: MatchKind,
        on: &[ScalarExpr],
        same: &[(usize, usize)],
        mut mfp: Mfp,
    ) -> Result<Plan, PlanError> {
        if same.is_empty()
            && let Some(joined) = self.sooner((left, right), kind, on)
        {
            return Ok(through(self.plan(&joined)?, mfp));
        }
        let arity = left.arity();
        let types: Vec<ColumnType> = left.types().into_iter().chain(right.types()).collect();
        let on_left = |expr: &ScalarExpr| expr::reads_only(expr, |column| column < arity);
        let links = Links::between(on, &[], &(arity..types.len()), &types, on_left);
        let linked: BTreeSet<usize> = links.found.iter().filter_map(|link| link.condition).collect();
        let others = on.iter().enumerate().filter(|(at, _)| !linked.contains(at)).map(|(_, condition)| condition);
        let (left_only, both): (Vec<ScalarExpr>, Vec<ScalarExpr>) =
            others.cloned().partition(|condition| on_left(condition) && !expr::is_volatile(condition));
        if same.is_empty()
            && let Some(looked_up) = self.look_up(right, &links, &types)
            && (kind != MatchKind::Left || Chain::of(right, self.maintained).mfp.map.is_empty())
        {
            if self.maintained {
                let input = self.plan(left)?;
                if self.may_look_up(&input, &looked_up.key) {
                    return self.match_by_lookup(left, right, kind, (on, &links), looked_up, mfp);
                }
            } else if !both.is_empty() || self.is_better_looked_up((left, right), kind, on, &looked_up) {
                return self.match_by_lookup(left, right, kind, (on, &links), looked_up, mfp);
            }
        }
        let plain = both.is_empty() && left_only.is_empty() && same.is_empty() && !links.is_empty();
        if kind == MatchKind::Semi
            && plain
            && let Some(values) = self.small_right((left, right), (on, &links))?
        {
            mfp.permute_input(arity + links.found.len(), &|column| column);
            return self.join(&values.inputs, &values.on, &[], mfp);
        }
        if both.is_empty() && (same.is_empty() || on.is_empty()) {
            let (left_key, right_key) = match_keys(links, same, left_only, arity, &types);
            let width = if gives_right(kind) { types.len() } else { arity };
            let left = self.plan(left)?;
            let left = if kind == MatchKind::Semi && same.is_empty() { self.met(left, &left_key) } else { left };
            let plan = Plan::Join {
                left: Box::new(left),
                right: Box::new(self.plan(right)?),
                left_key,
                right_key,
                null_safe: !same.is_empty(),
                kind,
                range: None,
                mfp: Mfp::identity(width),
            };
            return Ok(through(plan, mfp));
        }
        self.match_by_values(left, right, kind, (on, same), mfp)
    }

    /// Whether asking for each left row takes less than reading the right side as a whole.
    fn is_better_looked_up(
        &self,
        (left, right): (&Mir, &Mir),
        kind: MatchKind,
        on: &[ScalarExpr],
        looked_up: &LookedUp,
    ) -> bool {
        let (left, right) = (self.estimate(left), self.estimate(right));
        if self.sizes.is_none() {
            return left.rows * LOOKUP_COST < right.cost + right.rows + left.rows;
        }
        // Where only that there is a row counts, none is read.
        let asks_more = gives_right(kind) || !looked_up.mfp.filter.is_empty() || looked_up.used.len() < on.len();
        let read = if asks_more || looked_up.lookup == Lookup::PrimaryKey { looked_up.rows } else { 0.0 };
        left.rows * (1.0 + read) * LOOKUP_COST < right.cost + right.rows * HELD_COST + left.rows * HASHED_COST
    }

    /// The left side with the distinct values of a small right side, which come first: of these a left row equals one at most.
    /// None if it takes less to read the left side as a whole.
    fn small_right(
        &self,
        (left, right): (&Mir, &Mir),
        (on, links): (&[ScalarExpr], &Links),
    ) -> Result<Option<WithValues>, PlanError> {
        let (left_size, right_size) = (self.estimate(left), self.estimate(right));
        if self.sizes.is_none() && right_size.cost * LOOKUP_COST >= left_size.cost {
            return Ok(None);
        }
        let (arity, width) = (left.arity(), right.arity());
        let inner = links.found.iter().map(|link| link.inner.clone()).collect();
        let values = right.clone().map(inner).project((width..width + links.found.len()).collect()).distinct();
        let mut conditions = Vec::with_capacity(links.found.len());
        for (index, link) in links.found.iter().enumerate() {
            let Some(ScalarExpr::Call { function, result, .. }) = link.condition.map(|condition| &on[condition]) else {
                return Err(PlanError::new("XX000", "a link stands for no condition"));
            };
            let args = vec![link.outer.clone(), ScalarExpr::Column(arity + index)];
            conditions.push(ScalarExpr::Call { function, args, result: result.clone() });
        }
        let values = WithValues { inputs: [left.clone(), values], on: conditions };
        if self.sizes.is_some() {
            let asked = left_size.cost
                + right_size.cost
                + right_size.rows * HELD_COST
                + left_size.rows * (HASHED_COST + JOINED_COST);
            let pending = Pending::new(&values.inputs, &values.on, &[], self);
            if self.join_order(&pending, &[]).is_none_or(|order| order.cost >= asked * BETTER_SHARE) {
                return Ok(None);
            }
        }
        Ok(Some(values))
    }

    fn match_by_lookup(
        &mut self,
        left: &Mir,
        right: &Mir,
        kind: MatchKind,
        (on, links): (&[ScalarExpr], &Links),
        looked_up: LookedUp,
        mfp: Mfp,
    ) -> Result<Plan, PlanError> {
        let arity = left.arity();
        // Everything over the left's columns, then the table's own.
        let raw = over_table(&looked_up.mfp, arity);
        let whole = Chain::of(right, self.maintained).mfp.project.len();
        let column = |column: usize| {
            if column < arity { ScalarExpr::Column(column) } else { raw[looked_up.mfp.project[column - arity]].clone() }
        };
        debug_assert_eq!(whole, looked_up.mfp.project.len(), "the lookup keeps the right side's columns");
        let answered: BTreeSet<usize> = looked_up.used.iter().filter_map(|link| links.found[*link].condition).collect();
        let mut condition: Vec<ScalarExpr> = looked_up
            .mfp
            .filter
            .iter()
            .map(|(_, predicate)| expr::replace(predicate, |column| raw[column].clone()))
            .collect();
        let unanswered = on.iter().enumerate().filter(|(at, _)| !answered.contains(at));
        condition.extend(unanswered.map(|(_, predicate)| expr::replace(predicate, column)));
        let mut own = Mfp::identity(if gives_right(kind) { arity + looked_up.table.width } else { arity });
        if gives_right(kind) {
            own.project = (0..arity).chain(looked_up.mfp.project.iter().map(|column| arity + column)).collect();
        }
        let plan = Plan::LookupJoin {
            input: Box::new(self.plan(left)?),
            relation: looked_up.table.relation,
            lookup: looked_up.lookup,
            key: looked_up.key,
            kind,
            condition,
            // Nothing of the right side comes out of a semi join, so neither does its key.
            with_key: looked_up.table.with_key && gives_right(kind),
            names: looked_up.table.names,
            mfp: own,
        };
        Ok(through(plan, mfp))
    }

    /// ```text
    ///   left ──┬──────────────────────────────────────┐
    ///          └─ distinct values ─ inner join right ─┴─ kind join on the values, NULL = NULL
    /// ```
    fn match_by_values(
        &mut self,
        left: &Mir,
        right: &Mir,
        kind: MatchKind,
        (on, same): (&[ScalarExpr], &[(usize, usize)]),
        mfp: Mfp,
    ) -> Result<Plan, PlanError> {
        let arity = left.arity();
        let width = right.arity();
        let read = on.iter().flat_map(|condition| condition.columns()).chain(same.iter().map(|(left, _)| *left));
        let values: BTreeSet<usize> = read.filter(|column| *column < arity).collect();
        let values: Vec<usize> = values.into_iter().collect();
        let count = values.len();
        let place = |column: usize| match column.checked_sub(arity) {
            Some(column) => count + column,
            None => values.partition_point(|value| *value < column),
        };
        let id = self.fresh();
        let name = Mir::GetLocal { id, types: left.types().into(), names: Names::default() };
        let distinct = name.clone().project(values.clone()).distinct();
        let joined = Mir::Join {
            inputs: vec![distinct, right.clone()],
            on: on.iter().map(|condition| expr::renumber(condition, place)).collect(),
            same: same.iter().map(|(left, right)| (place(*left), place(*right))).collect(),
        };
        // Where only that there is a match counts, one of each value is enough to look for.
        let joined =
            if gives_right(kind) || self.maintained { joined } else { joined.project((0..count).collect()).distinct() };
        let kept = Mir::Match {
            left: Box::new(name),
            right: Box::new(joined),
            kind,
            on: Vec::new(),
            same: values.iter().enumerate().map(|(index, value)| (*value, arity + index)).collect(),
        };
        let kept = match gives_right(kind) {
            true => kept.project((0..arity).chain(arity + count..arity + count + width).collect()),
            false => kept,
        };
        let whole = Mir::Let { id, value: Box::new(left.clone()), body: Box::new(kept) };
        Ok(through(self.plan(&whole)?, mfp))
    }
}

/// What each column of a table's `Mfp` is, over `arity` columns of another relation and then the table's.
fn over_table(mfp: &Mfp, arity: usize) -> Vec<ScalarExpr> {
    let mut columns: Vec<ScalarExpr> = (0..mfp.input_arity).map(|column| ScalarExpr::Column(arity + column)).collect();
    for mapped in &mfp.map {
        let mapped = expr::replace(mapped, |column| columns[column].clone());
        columns.push(mapped);
    }
    columns
}

/// What both sides of a match are arranged by.
fn match_keys(
    links: Links,
    same: &[(usize, usize)],
    left_only: Vec<ScalarExpr>,
    arity: usize,
    types: &[ColumnType],
) -> (Vec<ScalarExpr>, Vec<ScalarExpr>) {
    let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
    for (one, other) in same {
        left_key.push(ScalarExpr::Column(*one));
        right_key.push(ScalarExpr::Column(other - arity));
    }
    for link in links.found {
        left_key.push(link.outer);
        right_key.push(link.inner);
    }
    if !left_only.is_empty() {
        // NULL matches nothing: a left row that fails its own condition gets NULL as key.
        if left_key.is_empty() {
            left_key.push(expr::boolean(true));
            right_key.push(expr::boolean(true));
        }
        let result = expr::scalar_type(&left_key[0], types);
        let key = left_key[0].clone();
        left_key[0] = ScalarExpr::Case {
            branches: vec![(ScalarExpr::And(left_only), key)],
            otherwise: Box::new(expr::null(result.clone())),
            result,
        };
    }
    (left_key, right_key)
}
