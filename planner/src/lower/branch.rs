//! Branches: a relation that reads columns of another, computed once per distinct values of these columns.
//!
//! ```text
//!   relation ──┬─────────────────────────────┐
//!              └─ distinct key ─ inner(key) ─┴─ join (Inner, Left, Semi, Anti) on key, NULL = NULL
//! ```

use super::Lowering;
use super::env::{Env, OuterColumn, ROW_NUMBER, is_volatile};
use crate::error::PlanError;
use crate::hir::Hir;
use crate::mir::Mir;
use crate::plan::MatchKind;
use crate::scalar::ScalarExpr;
use crate::transform::shape;
use std::collections::BTreeSet;

impl Lowering<'_> {
    /// Joins `relation` with what `inner` gives for the distinct values of its columns `used`, found through
    /// `env`. `inner` gets the relation of these values and must return its columns first. Only rows for
    /// which `guard` is true ask for a value. Gives the relation's columns, then (Inner, Left) `inner`'s others.
    pub(super) fn attach(
        &mut self,
        relation: Mir,
        env: &Env,
        used: &BTreeSet<OuterColumn>,
        kind: MatchKind,
        guard: &[ScalarExpr],
        inner: impl FnOnce(&mut Self, Mir, &Env) -> Result<Mir, PlanError>,
    ) -> Result<Mir, PlanError> {
        let inner_env = env.narrowed(used);
        if used.is_empty() && guard.is_empty() {
            let inner = inner(self, Mir::unit(), &inner_env)?;
            return Ok(pair(relation, inner, &[], kind));
        }
        let key = used.iter().map(|column| position(env, *column)).collect::<Result<Vec<_>, _>>()?;
        self.bind(relation, |this, relation| {
            let keys = relation.clone().filter(guard.to_vec()).project(key.clone()).distinct();
            this.bind(keys, |this, keys| {
                let inner = inner(this, keys, &inner_env)?;
                Ok(pair(relation, inner, &key, kind))
            })
        })
    }
}

/// What `attach` needs so that `sub` is computed for each row of the relation by itself, not once for equal ones, if it
/// has a value of its own each time: the relation with its rows numbered, and the number among what `sub` reads.
pub(super) fn row_by_row(
    relation: Mir,
    env: Env,
    mut used: BTreeSet<OuterColumn>,
    sub: &Hir,
) -> Result<(Mir, Env, BTreeSet<OuterColumn>), PlanError> {
    // What reads no row around it is computed once for all, as in PostgreSQL.
    if used.is_empty() || !is_volatile(sub) {
        return Ok((relation, env, used));
    }
    let number = relation.arity();
    let calls = vec![shape::row_number()?];
    let relation = Mir::Window { input: Box::new(relation), partition: Vec::new(), order: Vec::new(), calls };
    used.insert(ROW_NUMBER);
    Ok((relation, env.with_row_number(number), used))
}

/// Where a column of an enclosing scope is; that it is at hand is what lowering sees to.
pub(super) fn position(env: &Env, column: OuterColumn) -> Result<usize, PlanError> {
    env.position(column).ok_or_else(|| PlanError::new("XX000", "an outer column is out of reach"))
}

/// Joins two relations, `right` beginning with columns that correspond to the left's columns `key`.
pub(super) fn pair(left: Mir, right: Mir, key: &[usize], kind: MatchKind) -> Mir {
    let arity = left.arity();
    let same = key.iter().enumerate().map(|(index, column)| (*column, arity + index)).collect();
    let width = right.arity();
    let joined = match kind {
        MatchKind::Inner if key.is_empty() => left.product(right),
        MatchKind::Inner => Mir::Join { inputs: vec![left, right], on: Vec::new(), same },
        MatchKind::Left | MatchKind::Semi | MatchKind::Anti => {
            Mir::Match { left: Box::new(left), right: Box::new(right), kind, on: Vec::new(), same }
        }
    };
    match kind {
        MatchKind::Inner | MatchKind::Left => {
            joined.project((0..arity).chain(arity + key.len()..arity + width).collect())
        }
        MatchKind::Semi | MatchKind::Anti => joined,
    }
}
