//! How a transaction was begun, and what it sees of others.

use planner::parse::utility::{IsolationLevel, TransactionModes};
use state::SqlError;

/// What a transaction sees of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// All statements see what was committed before the first; first committer wins.
    RepeatableRead,
}

/// How a transaction was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Isolation level.
    pub isolation: Isolation,
    /// READ ONLY.
    pub read_only: bool,
}

impl Modes {
    /// The value of a setting that is one of a transaction's modes.
    pub fn shown(self, setting: &str) -> Option<&'static str> {
        if setting.eq_ignore_ascii_case("transaction_isolation") {
            return Some(match self.isolation {
                Isolation::ReadCommitted => "read committed",
                Isolation::RepeatableRead => "repeatable read",
            });
        }
        setting.eq_ignore_ascii_case("transaction_read_only").then_some(if self.read_only { "on" } else { "off" })
    }

    /// With what was said, elsewhere as they are. 0A000 for SERIALIZABLE.
    pub fn with(self, said: TransactionModes) -> Result<Modes, SqlError> {
        let isolation = match said.isolation {
            None => self.isolation,
            Some(IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted) => Isolation::ReadCommitted,
            Some(IsolationLevel::RepeatableRead) => Isolation::RepeatableRead,
            Some(IsolationLevel::Serializable) => {
                return Err(SqlError::unsupported("ISOLATION LEVEL SERIALIZABLE")
                    .hint("use REPEATABLE READ, and SELECT … FOR UPDATE for what must not change"));
            }
        };
        Ok(Modes { isolation, read_only: said.read_only.unwrap_or(self.read_only) })
    }
}
