//! Queries whose rows are no table's: what is said where they are to be locked.

use crate::error::PlanError;
use crate::parse::row_lock::read;
use sqlparser::ast::LockClause;

/// What a SELECT must not have, for its rows to be those of its tables.
pub(super) struct Unlockable {
    pub(super) groups: bool,
    pub(super) having: bool,
    pub(super) aggregates: bool,
    pub(super) distinct: bool,
    pub(super) windows: bool,
    pub(super) sets: bool,
}

impl Unlockable {
    /// Whether the rows of a SELECT are its tables'.
    pub(super) fn is_lockable(&self) -> bool {
        !(self.groups || self.having || self.aggregates || self.distinct || self.windows || self.sets)
    }

    /// 0A000 where the rows of a SELECT with these clauses are no table's.
    pub(super) fn refuse(&self, clauses: &[LockClause]) -> Result<(), PlanError> {
        let Some(clause) = clauses.first() else { return Ok(()) };
        let refused = [
            (self.distinct, "DISTINCT clause"),
            (self.groups, "GROUP BY clause"),
            (self.having, "HAVING clause"),
            (self.aggregates, "aggregate functions"),
            (self.windows, "window functions"),
            (self.sets, "set-returning functions in the target list"),
        ];
        match refused.into_iter().find(|(there, _)| *there) {
            Some((_, what)) => {
                Err(PlanError::new("0A000", format!("{} is not allowed with {what}", read(clause).0.clause())))
            }
            None => Ok(()),
        }
    }
}

/// 0A000: the rows of a set operation are no table's.
pub(super) fn refuse_sets(clauses: &[LockClause]) -> Result<(), PlanError> {
    let Some(clause) = clauses.first() else { return Ok(()) };
    let clause = read(clause).0.clause();
    Err(PlanError::new("0A000", format!("{clause} is not allowed with UNION/INTERSECT/EXCEPT")))
}

/// 0A000: the rows of VALUES are no table's.
pub(super) fn refuse_values(clauses: &[LockClause]) -> Result<(), PlanError> {
    let Some(clause) = clauses.first() else { return Ok(()) };
    Err(PlanError::new("0A000", format!("{} cannot be applied to VALUES", read(clause).0.clause())))
}
