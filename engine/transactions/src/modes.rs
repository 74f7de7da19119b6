//! How a transaction was begun, and what it sees of others.

use planner::catalog::DatabaseId;
use planner::parse::utility::{IsolationLevel, TransactionModes};
use state::exported_snapshots::Reading;

/// What a transaction sees of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// As READ COMMITTED, under its own name.
    ReadUncommitted,
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// All statements see what was committed before the first; first committer wins.
    RepeatableRead,
    /// The same, and as if nobody else had been there: whoever writes, after others wrote what it has read, is refused.
    Serializable,
}

impl Isolation {
    /// Whether all statements see one snapshot.
    pub fn is_of_one_snapshot(self) -> bool {
        match self {
            Isolation::ReadUncommitted | Isolation::ReadCommitted => false,
            Isolation::RepeatableRead | Isolation::Serializable => true,
        }
    }
}

/// How a transaction was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Isolation level.
    pub isolation: Isolation,
    /// READ ONLY.
    pub read_only: bool,
    /// DEFERRABLE: shown, and changes nothing, since readers are never refused for what others write.
    pub deferrable: bool,
}

impl Modes {
    /// The value of a setting that is one of a transaction's modes.
    pub fn shown(self, setting: &str) -> Option<&'static str> {
        if setting.eq_ignore_ascii_case("transaction_isolation") {
            return Some(match self.isolation {
                Isolation::ReadUncommitted => "read uncommitted",
                Isolation::ReadCommitted => "read committed",
                Isolation::RepeatableRead => "repeatable read",
                Isolation::Serializable => "serializable",
            });
        }
        let is_on = match setting.to_ascii_lowercase().as_str() {
            "transaction_read_only" => self.read_only,
            "transaction_deferrable" => self.deferrable,
            _ => return None,
        };
        Some(if is_on { "on" } else { "off" })
    }

    /// What who shares a snapshot with it must have in common with it, or may not.
    pub fn reading(self, database: DatabaseId) -> Reading {
        Reading { serializable: self.isolation == Isolation::Serializable, read_only: self.read_only, database }
    }

    /// With what was said, elsewhere as they are.
    #[must_use]
    pub fn with(self, said: TransactionModes) -> Modes {
        let isolation = match said.isolation {
            None => self.isolation,
            Some(IsolationLevel::ReadUncommitted) => Isolation::ReadUncommitted,
            Some(IsolationLevel::ReadCommitted) => Isolation::ReadCommitted,
            Some(IsolationLevel::RepeatableRead) => Isolation::RepeatableRead,
            Some(IsolationLevel::Serializable) => Isolation::Serializable,
        };
        Modes {
            isolation,
            read_only: said.read_only.unwrap_or(self.read_only),
            deferrable: said.deferrable.unwrap_or(self.deferrable),
        }
    }
}
