//! A block that has failed: what is refused in it until its end.

use crate::session::Session;
use planner::parse::Statement;
use planner::parse::statement::CtxCommand;
use state::SqlError;

impl Session {
    pub(super) fn is_failed(&self) -> bool {
        self.transaction.active.as_ref().is_some_and(|active| active.failed)
    }

    /// 25P02 in a block that has failed, but for what ends it.
    pub(super) fn refuse_failed(&self, statement: &Statement) -> Result<(), SqlError> {
        if self.is_failed() && !ends_failed_block(statement) { Err(block_failed()) } else { Ok(()) }
    }
}

pub(super) fn block_failed() -> SqlError {
    SqlError::new("25P02", "current transaction is aborted, commands ignored until end of transaction block")
}

pub(super) fn ends_failed_block(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::RollbackToSavepoint(_)
            | Statement::Ctx(CtxCommand::Commit | CtxCommand::Rollback)
    )
}
