//! Branches: a relation that reads columns of another, computed once per distinct values of these columns.
//!
//! ```text
//!   relation ──┬─────────────────────────────┐
//!              └─ distinct key ─ inner(key) ─┴─ join (Inner, Left, Semi, Anti) on key, NULL = NULL
//! ```

use super::Lowering;
use super::env::{Env, OuterColumn};
use crate::error::PlanError;
use crate::mir::Mir;
use crate::plan::MatchKind;
use crate::scalar::ScalarExpr;
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
