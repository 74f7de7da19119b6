//! What is missing from a folder that leads to less than was acknowledged, and what can still be read of it: for whoever must
//! decide between a backup and what is left. Names relations and counts, never rows or people.

use std::fmt;
use std::path::PathBuf;

use repr::RelationId;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// The folder of the storage engine.
    pub path: PathBuf,
    /// The last commit that was acknowledged.
    pub acknowledged_time: u64,
    /// The last commit that is found.
    pub found_time: u64,
    /// The last write that was acknowledged, audit records and counters included.
    pub acknowledged_write: u64,
    /// The last write that is found.
    pub found_write: u64,
    /// Erasures that were acknowledged. Their keys are destroyed.
    pub acknowledged_receipts: u64,
    /// Erasures whose receipts are found.
    pub found_receipts: u64,
    /// The log that is damaged, and the byte at which its damage begins.
    pub damaged_log: Option<(PathBuf, u64)>,
    /// Commits that can be read behind the damage.
    pub behind_commits: u64,
    /// Receipts of erasures that can be read behind the damage.
    pub behind_receipts: u64,
    /// What those commits did.
    pub behind_rows: Vec<LostRows>,
}

/// What commits behind the damage did in one relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRows {
    /// Which.
    pub relation: RelationId,
    /// Its name, where it is known.
    pub name: Option<String>,
    /// Copies of rows written.
    pub put: u64,
    /// Copies of rows deleted.
    pub deleted: u64,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" leads to less than was acknowledged: ", self.path.display())?;
        write!(f, "to commit {} of {}", self.found_time, self.acknowledged_time)?;
        if self.found_write < self.acknowledged_write {
            write!(f, ", write {} of {}", self.found_write, self.acknowledged_write)?;
        }
        if self.found_receipts < self.acknowledged_receipts {
            let (found, all) = (self.found_receipts, self.acknowledged_receipts);
            write!(f, ", receipt {found} of {all} (keys of the erased are destroyed)")?;
        }
        if let Some((log, byte)) = &self.damaged_log {
            write!(f, "; log \"{}\" is damaged at byte {byte}", log.display())?;
        }
        if self.behind_commits > 0 {
            write!(f, "; behind the damage {} commits can be read", self.behind_commits)?;
            for LostRows { relation, name, put, deleted } in &self.behind_rows {
                match name {
                    Some(name) => write!(f, ", table \"{name}\"")?,
                    None => write!(f, ", relation {relation}")?,
                }
                write!(f, ": {put} row copies written and {deleted} deleted")?;
            }
            if self.behind_receipts > 0 {
                write!(f, ", {} receipts", self.behind_receipts)?;
            }
        }
        f.write_str("; nothing was changed")
    }
}
