//! Relations applied to an outer relation.
//!
//! `apply` gives the outer's columns, then the relation's own. Operators that are linear in the outer
//! relation take it as it is; the others need it to be a set (`set`), and get one from `attach` if it is not.

use super::branch::{pair, position, row_by_row};
use super::env::{Env, OuterColumn, free_in_expr, has_subquery};
use super::ordered::{self, By};
use super::scalar::Rel;
use super::{Cte, Lowering, columnless, where_pushdown};
use crate::error::PlanError;
use crate::hir::{CteId, Hir, HirExpr, HirFunctionCall, HirNode, JoinKind};
use crate::mir::{Mir, as_nullable, expr};
use crate::names::Names;
use crate::plan::{Counting, MatchKind};
use crate::resolve::with_columns_moved;
use crate::scalar::Order;
use repr::{ColumnType, Datum, RelationId, poll};
use std::collections::BTreeSet;

impl Lowering<'_> {
    /// Applies a relation to `outer`, whose rows are all different if `set`.
    pub(super) fn apply(&mut self, hir: &Hir, outer: Mir, set: bool, env: &Env) -> Result<Mir, PlanError> {
        let used = if outer.is_unit() { BTreeSet::new() } else { self.free(hir, env.scopes) };
        if used.is_empty() && !outer.is_unit() {
            let inner = self.apply(hir, Mir::unit(), true, &env.closed())?;
            return Ok(outer.product(inner));
        }
        match &hir.node {
            HirNode::Constant(rows, names) => Ok(outer.product(constant(rows, &hir.types, names)?)),
            HirNode::Get { relation, with_key, names } => {
                Ok(outer.product(self.get(*relation, *with_key, &hir.types, names)))
            }
            HirNode::GetCte(id, names) => self.get_cte(*id, names, hir.types.len(), outer, env),
            HirNode::Map(input, exprs) => {
                let rel = self.input(input, outer, set, env)?;
                self.map(rel, exprs)
            }
            HirNode::Filter(input, predicates) if where_pushdown::worthwhile(input) => {
                self.sunk_filter(input, predicates, outer, set, env)
            }
            HirNode::Filter(input, predicates) => {
                let rel = self.input(input, outer, set, env)?;
                self.filter(rel, predicates)
            }
            HirNode::Project(input, columns) => {
                let arity = outer.arity();
                let input = self.apply(input, outer, set, env)?;
                Ok(input.project((0..arity).chain(columns.iter().map(|column| arity + column)).collect()))
            }
            HirNode::Join { left, right, kind: JoinKind::Inner, on, lateral } => {
                let arity = outer.arity();
                let left_rel = self.input(left, outer, set, env)?;
                let right_env = if *lateral { env.entered(&left_rel.columns) } else { env.clone() };
                let joined = self.apply(right, left_rel.mir, false, &right_env)?;
                let rel = Rel::over(joined, arity, env);
                self.filter(rel, std::slice::from_ref(on))
            }
            HirNode::Join { left, right, kind: JoinKind::Left, on, lateral } => {
                let left = self.input(left, outer, set, env)?;
                self.left_join(left, right, on, *lateral)
            }
            HirNode::Join { left, right, kind: JoinKind::Right, on, .. } => {
                self.right_join((left, right), on, outer, set, env)
            }
            HirNode::TableFunction { input, functions, ordinality, names } => {
                let rel = self.input(input, outer, set, env)?;
                self.functions(rel, functions, *ordinality, names)
            }
            HirNode::Union(inputs, names) => self.bind(outer, |this, outer| {
                let inputs = inputs.iter().map(|input| this.apply(input, outer.clone(), set, env));
                let names = names.behind(outer.arity());
                Ok(Mir::Union(inputs.collect::<Result<_, _>>()?, names))
            }),
            // A sort below the top: what depends on it has taken the order for itself (`ordered`).
            HirNode::TopK { input, limit: None, offset: None, .. } => self.apply(input, outer, set, env),
            HirNode::Let { id, value, body, .. } => self.let_cte(*id, value, body, outer, set, env),
            HirNode::LetRec { id, base, step, distinct, body, .. } => {
                self.let_rec(*id, (base, step, *distinct), body, outer, set, env)
            }
            HirNode::Join { kind: JoinKind::Full, .. }
            | HirNode::Reduce { .. }
            | HirNode::Distinct(_)
            | HirNode::TopK { .. }
            | HirNode::Window { .. }
            | HirNode::Except { .. }
            | HirNode::Intersect { .. } => self.apply_grouping(hir, outer, set, env, used),
        }
    }

    /// Operators that see groups of rows, applied to rows of which some may be equal unless `set`.
    fn apply_grouping(
        &mut self,
        hir: &Hir,
        outer: Mir,
        set: bool,
        env: &Env,
        used: BTreeSet<OuterColumn>,
    ) -> Result<Mir, PlanError> {
        if set {
            return self.apply_to_set(hir, outer, env);
        }
        let width = outer.arity();
        let (outer, env, used) = row_by_row(outer, env.clone(), used, hir)?;
        let numbered = outer.arity();
        let applied = self
            .attach(outer, &env, &used, MatchKind::Inner, &[], |this, keys, env| this.apply_to_set(hir, keys, env))?;
        let arity = applied.arity();
        Ok(applied.project((0..width).chain(numbered..arity).collect()))
    }

    /// A filter of which parts go further down.
    fn sunk_filter(
        &mut self,
        input: &Hir,
        predicates: &[HirExpr],
        outer: Mir,
        set: bool,
        env: &Env,
    ) -> Result<Mir, PlanError> {
        let mut conjuncts = Vec::new();
        predicates.iter().for_each(|predicate| expr::conjuncts(predicate, &mut conjuncts));
        let (stay, go): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(where_pushdown::stays);
        let sunk = where_pushdown::sink(input, go);
        // What could not go further down stands at the top of `sunk`, as a plain filter.
        let rel = match &sunk.node {
            HirNode::Filter(input, rest) => {
                let rel = self.input(input, outer, set, env)?;
                let columns = rel.columns.clone();
                let mir = self.filter(rel, rest)?;
                Rel { mir, columns, env: env.clone() }
            }
            _ => self.input(&sunk, outer, set, env)?,
        };
        self.filter(rel, &stay)
    }

    /// A left join from the other side.
    fn right_join(
        &mut self,
        (left, right): (&Hir, &Hir),
        on: &HirExpr,
        outer: Mir,
        set: bool,
        env: &Env,
    ) -> Result<Mir, PlanError> {
        let arity = outer.arity();
        let (left_arity, right_arity) = (left.types.len(), right.types.len());
        let swap = |index: usize| if index < left_arity { right_arity + index } else { index - left_arity };
        let on = with_columns_moved(on, &swap);
        let right = self.input(right, outer, set, env)?;
        let joined = self.left_join(right, left, &on, false)?;
        Ok(joined.project((0..arity).chain((0..left_arity + right_arity).map(|index| arity + swap(index))).collect()))
    }

    /// Set-returning functions over rows, without the columns that their arguments took.
    fn functions(
        &mut self,
        mut rel: Rel,
        functions: &[HirFunctionCall],
        ordinality: bool,
        names: &Names,
    ) -> Result<Mir, PlanError> {
        let kept = rel.mir.arity();
        let mut lowered = Vec::with_capacity(functions.len());
        for (function, args, types) in functions {
            let args = self.scalars(args, &mut rel)?;
            lowered.push((*function, args, types.clone()));
        }
        let appended = rel.mir.arity();
        let (input, names) = (Box::new(rel.mir), names.clone());
        let mir = Mir::TableFunction { input, functions: lowered, ordinality, names };
        let arity = mir.arity();
        Ok(mir.project((0..kept).chain(appended..arity).collect()))
    }

    /// Operators that see groups of rows: each outer row is one, so no two may be equal.
    fn apply_to_set(&mut self, hir: &Hir, outer: Mir, env: &Env) -> Result<Mir, PlanError> {
        let arity = outer.arity();
        // Alone, the first rows that come are found without looking at the others.
        let by = if outer.is_unit() { By::OrderBy } else { By::Coming };
        if let Some(ordered) = ordered::inheriting(hir, by, &|id| self.cte_order(id)) {
            return self.apply(&ordered, outer, true, env);
        }
        match &hir.node {
            HirNode::Join { left, right, kind: JoinKind::Full, on, .. } => self.full_join(left, right, on, outer, env),
            HirNode::Reduce { input, keys, aggregates, scalar } => {
                self.reduce(input, (keys, aggregates, *scalar), outer, env)
            }
            HirNode::Distinct(input) => Ok(self.apply(input, outer, true, env)?.distinct()),
            HirNode::TopK { input, keys, order, limit, offset } => {
                let input = self.apply(input, outer, true, env)?;
                Ok(Mir::TopK {
                    input: Box::new(input),
                    keys: (0..arity).chain(keys.iter().map(|key| arity + key)).collect(),
                    order: shifted(order, arity),
                    limit: limit.as_ref().map(|limit| columnless(limit, "LIMIT")).transpose()?,
                    offset: offset.as_ref().map(|offset| columnless(offset, "OFFSET")).transpose()?,
                    counting: Counting::Rows,
                })
            }
            HirNode::Window { input, partition, order, calls } => {
                let mut rel = self.input(input, outer, true, env)?;
                let kept = rel.mir.arity();
                let mut lowered = Vec::with_capacity(calls.len());
                for call in calls {
                    lowered.push(expr::try_replace_window(call, &mut |expr| self.scalar(expr, &mut rel, &[]))?);
                }
                let appended = rel.mir.arity();
                let count = lowered.len();
                let mir = Mir::Window {
                    input: Box::new(rel.mir),
                    partition: (0..arity).chain(partition.iter().map(|column| arity + column)).collect(),
                    order: shifted(order, arity),
                    calls: lowered,
                };
                Ok(mir.project((0..kept).chain(appended..appended + count).collect()))
            }
            HirNode::Except { left, right, all } => self.except(left, right, *all, outer, env),
            HirNode::Intersect { left, right, all } => self.intersect(left, right, *all, outer, env),
            HirNode::Constant(..)
            | HirNode::Get { .. }
            | HirNode::GetCte(..)
            | HirNode::Map(..)
            | HirNode::Filter(..)
            | HirNode::Project(..)
            | HirNode::Join { .. }
            | HirNode::TableFunction { .. }
            | HirNode::Union(..)
            | HirNode::Let { .. }
            | HirNode::LetRec { .. } => self.apply(hir, outer, true, env),
        }
    }

    /// A relation applied to `outer`, ready for expressions over it.
    pub(super) fn input(&mut self, hir: &Hir, outer: Mir, set: bool, env: &Env) -> Result<Rel, PlanError> {
        let arity = outer.arity();
        Ok(Rel::over(self.apply(hir, outer, set, env)?, arity, env))
    }

    /// Appends expressions.
    pub(super) fn map(&mut self, mut rel: Rel, exprs: &[HirExpr]) -> Result<Mir, PlanError> {
        let kept = rel.mir.arity();
        let exprs = self.scalars(exprs, &mut rel)?;
        let appended = rel.mir.arity();
        let count = exprs.len();
        Ok(rel.mir.map(exprs).project((0..kept).chain(appended..appended + count).collect()))
    }

    /// A stored relation. Of its columns only the primary key's certainly hold no NULL.
    pub(super) fn get(&self, relation: RelationId, with_key: bool, types: &[ColumnType], names: &Names) -> Mir {
        let key = self.catalog.table(relation).and_then(|table| table.primary_key_columns()).unwrap_or(&[]);
        let columns = types.len() - usize::from(with_key);
        let typed = |(index, column_type): (usize, &ColumnType)| {
            let mut column_type = column_type.clone();
            column_type.nullable = index < columns && !key.contains(&index);
            column_type
        };
        let types = types.iter().enumerate().map(typed).collect();
        Mir::Get { relation, with_key, types, names: names.clone() }
    }

    fn get_cte(&mut self, id: CteId, names: &Names, width: usize, outer: Mir, env: &Env) -> Result<Mir, PlanError> {
        let cte = self.ctes.get(&id).cloned();
        let cte = cte.ok_or_else(|| PlanError::new("XX000", "a common table expression is out of scope"))?;
        let key = cte.key.iter().map(|column| position(env, *column)).collect::<Result<Vec<_>, _>>()?;
        // What orders it stands behind its columns, for those who ask for more of them.
        let width = outer.arity() + width;
        let local = Mir::GetLocal { id: cte.id, types: cte.types, names: names.behind(key.len()) };
        let paired = pair(outer, local, &key, MatchKind::Inner);
        Ok(paired.project((0..width).collect()))
    }

    /// The distinct values of some outer columns, `outer` itself remaining usable.
    fn keys(outer: &Mir, used: &BTreeSet<OuterColumn>, env: &Env) -> Result<Mir, PlanError> {
        if used.is_empty() {
            return Ok(Mir::unit());
        }
        let columns = used.iter().map(|column| position(env, *column)).collect::<Result<Vec<_>, _>>()?;
        Ok(outer.clone().project(columns).distinct())
    }

    fn let_cte(
        &mut self,
        id: CteId,
        value: &Hir,
        body: &Hir,
        outer: Mir,
        set: bool,
        env: &Env,
    ) -> Result<Mir, PlanError> {
        let carried = ordered::Ordered::of(value, &|id| self.cte_order(id));
        let order = carried.as_ref().map(|(_, order)| order.clone());
        let value = carried.as_ref().map_or(value, |(value, _)| value);
        let used = self.free(value, env.scopes);
        self.bind(outer, |this, outer| {
            let keys = Self::keys(&outer, &used, env)?;
            let value = this.apply(value, keys, true, &env.narrowed(&used))?;
            let local = this.fresh();
            let key = used.into_iter().collect();
            this.ctes.insert(id, Cte { id: local, key, types: value.types().into(), order });
            let body = this.apply(body, outer, set, env)?;
            Ok(Mir::Let { id: local, value: Box::new(value), body: Box::new(body) })
        })
    }

    fn let_rec(
        &mut self,
        id: CteId,
        (base, step, distinct): (&Hir, &Hir, bool),
        body: &Hir,
        outer: Mir,
        set: bool,
        env: &Env,
    ) -> Result<Mir, PlanError> {
        let mut used = self.free(base, env.scopes);
        used.extend(self.free(step, env.scopes));
        let narrowed = env.narrowed(&used);
        self.bind(outer, |this, outer| {
            let keys = Self::keys(&outer, &used, env)?;
            this.bind(keys, |this, keys| {
                let base = this.apply(base, keys.clone(), true, &narrowed)?;
                let local = this.fresh();
                let types: Vec<ColumnType> = base.types().into_iter().map(as_nullable).collect();
                let key = used.into_iter().collect();
                this.ctes.insert(id, Cte { id: local, key, types: types.into(), order: None });
                let step = this.apply(step, keys, true, &narrowed)?;
                let body = this.apply(body, outer, set, env)?;
                Ok(Mir::LetRec {
                    id: local,
                    base: Box::new(base),
                    step: Box::new(step),
                    distinct,
                    body: Box::new(body),
                })
            })
        })
    }

    /// `left` LEFT JOIN `right`: at once where the right side stands alone, else per distinct left values.
    fn left_join(&mut self, left: Rel, right: &Hir, on: &HirExpr, lateral: bool) -> Result<Mir, PlanError> {
        let env = left.env.clone();
        let arity = left.mir.arity();
        let left_width = left.columns.len();
        let right_env = env.entered(&left.columns);
        // Without LATERAL the right side does not see the left's scope.
        let right_scopes = env.scopes + usize::from(lateral);
        let mut used = self.free(right, right_scopes);
        if used.is_empty() && !has_subquery(on) {
            let right = self.apply(right, Mir::unit(), true, &Env::scopes(right_scopes))?;
            let mut rel = left;
            rel.columns.extend((arity..arity + right.arity()).map(Some));
            let on = self.pure_conjuncts(on, &rel)?;
            return Ok(Mir::Match {
                left: Box::new(rel.mir),
                right: Box::new(right),
                kind: MatchKind::Left,
                on,
                same: Vec::new(),
            });
        }
        used.extend(self.free_in_on(on, env.scopes, left_width));
        let (left, right_env, used) = row_by_row(left.mir, right_env, used, right)?;
        let numbered = left.arity();
        let joined = self.attach(left, &right_env, &used, MatchKind::Left, &[], |this, keys, keys_env| {
            let key_width = keys.arity();
            let own: Vec<Option<usize>> = (0..left_width).map(|index| keys_env.position((env.scopes, index))).collect();
            let outer_env = keys_env.with_scopes(right_scopes);
            let right = this.apply(right, keys, true, &outer_env)?;
            let columns = own.into_iter().chain((key_width..right.arity()).map(Some)).collect();
            let rel = Rel { mir: right, columns, env: keys_env.with_scopes(env.scopes) };
            this.filter(rel, std::slice::from_ref(on))
        })?;
        let width = joined.arity();
        Ok(joined.project((0..arity).chain(numbered..width).collect()))
    }

    /// Outer columns, and columns of the left side (as scope `scopes`), that a join condition reads.
    fn free_in_on(&self, on: &HirExpr, scopes: usize, left_width: usize) -> BTreeSet<OuterColumn> {
        let key = |id| self.ctes.get(&id).map_or(&[] as &[OuterColumn], |cte| cte.key.as_slice());
        let mut used = free_in_expr(on, scopes, true, &key);
        used.retain(|(scope, index)| *scope < scopes || *index < left_width);
        used
    }

    /// FULL: left join ∪ right rows without a match.
    fn full_join(&mut self, left: &Hir, right: &Hir, on: &HirExpr, outer: Mir, env: &Env) -> Result<Mir, PlanError> {
        if has_subquery(on) {
            return Err(PlanError::unsupported("a subquery in the condition of FULL JOIN"));
        }
        let arity = outer.arity();
        let (left_width, right_width) = (left.types.len(), right.types.len());
        self.bind(outer, |this, outer| {
            let left = this.apply(left, outer.clone(), true, env)?;
            let right = this.apply(right, outer, true, env)?;
            this.bind(left, |this, left| {
                this.bind(right, |this, right| {
                    let left_types = left.types();
                    let left_arity = arity + left_width;
                    let right_arity = arity + right_width;
                    let same = |offset: usize| (0..arity).map(|column| (column, offset + column)).collect::<Vec<_>>();
                    let left_columns = |offset: usize| (offset + arity..offset + left_arity).map(Some);
                    let right_columns = |offset: usize| (offset + arity..offset + right_arity).map(Some);
                    let forward = left_columns(0).chain(right_columns(left_arity)).collect();
                    let rel = Rel { mir: left.clone(), columns: forward, env: env.clone() };
                    let matched = Mir::Match {
                        on: this.pure_conjuncts(on, &rel)?,
                        left: Box::new(left.clone()),
                        right: Box::new(right.clone()),
                        kind: MatchKind::Left,
                        same: same(left_arity),
                    };
                    let matched =
                        matched.project((0..left_arity).chain(left_arity + arity..left_arity + right_arity).collect());
                    let backward = left_columns(right_arity).chain(right_columns(0)).collect();
                    let rel = Rel { mir: right.clone(), columns: backward, env: env.clone() };
                    let rest = Mir::Match {
                        on: this.pure_conjuncts(on, &rel)?,
                        left: Box::new(right),
                        right: Box::new(left),
                        kind: MatchKind::Anti,
                        same: same(right_arity),
                    };
                    let nulls = left_types[arity..].iter().map(|column| expr::null(column.scalar.clone())).collect();
                    let rest = rest.map(nulls).project(
                        (0..arity).chain(right_arity..right_arity + left_width).chain(arity..right_arity).collect(),
                    );
                    Ok(Mir::Union(vec![matched, rest], Names::default()))
                })
            })
        })
    }
}

/// Orders over columns that have moved.
pub(super) fn shifted(order: &[Order], by: usize) -> Vec<Order> {
    order.iter().map(|order| Order { column: order.column + by, ..*order }).collect()
}

/// The rows of a list.
fn constant(rows: &[Vec<Datum>], types: &[ColumnType], names: &Names) -> Result<Mir, PlanError> {
    let types: Vec<ColumnType> = types.iter().cloned().map(as_nullable).collect();
    let mut copied = Vec::with_capacity(rows.len());
    for row in rows {
        poll::steps(row.len())?;
        copied.push(row.clone());
    }
    Ok(Mir::Constant { rows: copied, types: types.into(), names: names.clone() })
}
