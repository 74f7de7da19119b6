//! EXCEPT and INTERSECT, by multiplicities. The outer's columns are part of each row, so that every outer
//! row has its own difference.

use super::Lowering;
use super::env::Env;
use crate::error::PlanError;
use crate::hir::Hir;
use crate::mir::Mir;
use crate::names::Names;
use crate::plan::MatchKind;

impl Lowering<'_> {
    pub(super) fn except(
        &mut self,
        left: &Hir,
        right: &Hir,
        all: bool,
        outer: Mir,
        env: &Env,
    ) -> Result<Mir, PlanError> {
        let (left, right) = self.sides(left, right, outer, env)?;
        Ok(if all { minus(left, right) } else { minus(left.distinct(), right.distinct()) })
    }

    pub(super) fn intersect(
        &mut self,
        left: &Hir,
        right: &Hir,
        all: bool,
        outer: Mir,
        env: &Env,
    ) -> Result<Mir, PlanError> {
        let (left, right) = self.sides(left, right, outer, env)?;
        if all {
            // What is left of the left when its surplus over the right is taken away.
            return self.bind(left, |_, left| Ok(minus(left.clone(), minus(left, right))));
        }
        let arity = left.arity();
        Ok(Mir::Match {
            left: Box::new(left.distinct()),
            right: Box::new(right),
            kind: MatchKind::Semi,
            on: Vec::new(),
            same: (0..arity).map(|column| (column, arity + column)).collect(),
        })
    }

    fn sides(&mut self, left: &Hir, right: &Hir, outer: Mir, env: &Env) -> Result<(Mir, Mir), PlanError> {
        // Both sides read the outer: it is a name or a single row here, as `attach` and `bind` make it.
        Ok((self.apply(left, outer.clone(), true, env)?, self.apply(right, outer, true, env)?))
    }
}

fn minus(left: Mir, right: Mir) -> Mir {
    Mir::Threshold(Box::new(Mir::Union(vec![left, Mir::Negate(Box::new(right))], Names::default())))
}
