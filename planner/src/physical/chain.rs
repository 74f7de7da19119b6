//! An operator, and all that is mapped, filtered and projected right over it, as one `Mfp`.

use crate::mir::Mir;
use crate::scalar::Mfp;

/// A relation as its first real operator and what is done with each of its rows.
pub(super) struct Chain<'a> {
    /// Not a map, filter or projection.
    pub(super) core: &'a Mir,
    /// Over the core's columns.
    pub(super) mfp: Mfp,
}

impl<'a> Chain<'a> {
    /// Takes a relation apart.
    pub(super) fn of(mir: &'a Mir) -> Chain<'a> {
        match mir {
            Mir::Map { input, exprs } => {
                let mut chain = Chain::of(input);
                exprs.iter().for_each(|expr| chain.mfp.add_map(expr.clone()));
                chain
            }
            Mir::Filter { input, predicates } => {
                let mut chain = Chain::of(input);
                predicates.iter().for_each(|predicate| chain.mfp.add_filter(predicate.clone()));
                chain
            }
            Mir::Project { input, columns } => {
                let mut chain = Chain::of(input);
                chain.mfp.add_project(columns);
                chain
            }
            core => Chain { core, mfp: Mfp::identity(core.arity()) },
        }
    }
}
