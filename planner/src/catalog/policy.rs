//! Row policies: which rows of a table are there for whom.

use super::{Catalog, DatabaseId, RoleId};
use repr::{Id, RelationId};
use serde::{Deserialize, Serialize};

/// CREATE POLICY
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// `pg_policy.oid`
    pub id: Id,
    /// Its name, within its table.
    pub name: String,
    /// AS PERMISSIVE: of these one is enough; of restrictive ones all are needed.
    pub permissive: bool,
    /// FOR
    pub command: PolicyCommand,
    /// TO; everybody, where none.
    pub roles: Vec<Option<RoleId>>,
    /// USING, as SQL text: of rows that are there.
    pub using: Option<String>,
    /// WITH CHECK, as SQL text: of rows that are made.
    pub check: Option<String>,
}

/// What a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyCommand {
    /// ALL
    All,
    /// SELECT
    Select,
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

impl PolicyCommand {
    /// As it is written, and its letter in `pg_policy`.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            PolicyCommand::All => ("ALL", "*"),
            PolicyCommand::Select => ("SELECT", "r"),
            PolicyCommand::Insert => ("INSERT", "a"),
            PolicyCommand::Update => ("UPDATE", "w"),
            PolicyCommand::Delete => ("DELETE", "d"),
        }
    }
}

/// A table's row security.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSecurity {
    /// ENABLE ROW LEVEL SECURITY
    pub enabled: bool,
    /// FORCE ROW LEVEL SECURITY: its owner and controllers are bound too.
    pub forced: bool,
    /// Its policies, by name.
    pub policies: Vec<Policy>,
}

impl RowSecurity {
    /// Whether there is nothing to it.
    pub fn is_nothing(&self) -> bool {
        *self == RowSecurity::default()
    }
}

impl Catalog {
    /// A table's policies, if they bind a role.
    pub fn binding_policies(&self, role: RoleId, relation: RelationId, database: DatabaseId) -> Option<&RowSecurity> {
        let found = self.rights.row_security.get(&relation).filter(|found| found.enabled)?;
        (found.forced || !self.owns(role, relation.0, database)).then_some(found)
    }

    /// Whether policies bind a role below a relation: on it, or on what a view reads.
    pub fn is_bound_below(&self, role: RoleId, relation: RelationId, database: DatabaseId) -> bool {
        if self.binds_to_purpose_below(role, relation, database) {
            return true;
        }
        if self.rights.row_security.values().all(|found| !found.enabled) {
            return false;
        }
        let below = super::with_tables_below(self, [relation]);
        below.iter().any(|table| self.binding_policies(role, *table, database).is_some())
    }
}
