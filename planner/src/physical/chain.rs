//! An operator, and all that is mapped, filtered and projected right over it, as one `Mfp`.

use crate::mir::Mir;
use crate::scalar::Mfp;
use crate::temporal;

/// A relation as its first real operator and what is done with each of its rows.
pub(super) struct Chain<'a> {
    /// Not a map, filter or projection.
    pub(super) core: &'a Mir,
    /// Over the core's columns.
    pub(super) mfp: Mfp,
}

impl<'a> Chain<'a> {
    /// Takes a relation apart. In a plan that is maintained a temporal filter is an operator by itself.
    pub(super) fn of(mir: &'a Mir, maintained: bool) -> Chain<'a> {
        match mir {
            Mir::Filter { predicates, .. } if maintained && predicates.iter().any(temporal::reads_clock) => {
                Chain { core: mir, mfp: Mfp::identity(mir.arity()) }
            }
            Mir::Map { input, exprs } => {
                let mut chain = Chain::of(input, maintained);
                exprs.iter().for_each(|expr| chain.mfp.add_map(expr.clone()));
                chain
            }
            Mir::Filter { input, predicates } => {
                let mut chain = Chain::of(input, maintained);
                predicates.iter().for_each(|predicate| chain.mfp.add_filter(predicate.clone()));
                chain
            }
            Mir::Project { input, columns } => {
                let mut chain = Chain::of(input, maintained);
                chain.mfp.add_project(columns);
                chain
            }
            core => Chain { core, mfp: Mfp::identity(core.arity()) },
        }
    }
}
