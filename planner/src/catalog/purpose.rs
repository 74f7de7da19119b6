//! Purposes for which personal data may be used, and who may use it so.

use super::role::{RoleId, RoleKind};
use super::{Catalog, DatabaseId, Property, Table};
use repr::{Id, RelationId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// CREATE PURPOSE
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purpose {
    /// What the audit log calls it.
    pub id: Id,
    /// GRANT PURPOSE … TO; none is everybody.
    pub grantees: BTreeSet<Option<RoleId>>,
    /// BY CONSENT: whoever owns the data has to consent to it.
    #[serde(default)]
    pub by_consent: bool,
}

impl Catalog {
    /// Whether a role may use data for a purpose, if there is one of that name. A controller may use it for each.
    pub fn may_use_for(&self, role: RoleId, purpose: &str, database: DatabaseId) -> Option<bool> {
        let purpose = self.rights.purposes.get(purpose)?;
        let granted = |roles: &BTreeSet<RoleId>| roles.iter().any(|role| purpose.grantees.contains(&Some(*role)));
        Some(self.is_controller(role) || purpose.grantees.contains(&None) || granted(&self.counted(role, database)))
    }

    /// Whether a role sees of a table only what may be used for its purpose: a processor, of rows that say what they are for.
    pub fn binds_to_purpose(&self, role: RoleId, table: &Table, database: DatabaseId) -> bool {
        table.says_purposes()
            && self.inherited(role).contains(&RoleKind::Processor.role())
            && !self.owns(role, table.id.0, database)
    }

    /// The same of a relation and all that is below it; and whether there are rows of which a role sees nothing that is restricted.
    pub(super) fn binds_to_purpose_below(&self, role: RoleId, relation: RelationId, database: DatabaseId) -> bool {
        super::with_tables_below(self, [relation]).iter().filter_map(|id| self.table(*id)).any(|table| {
            table.may_be_restricted() && !self.is_controller(role) || self.binds_to_purpose(role, table, database)
        })
    }

    /// Whether rows below a relation say for what they may be used, or that they may not be.
    pub fn is_governed_below(&self, relation: RelationId) -> bool {
        let is_governed = |table: &std::sync::Arc<Table>| table.says_purposes() || table.may_be_restricted();
        super::with_tables_below(self, [relation]).iter().filter_map(|id| self.table(*id)).any(is_governed)
    }
}

impl Table {
    /// Whether its rows say that they may be stored, and nothing more.
    pub fn may_be_restricted(&self) -> bool {
        self.property(Property::Restricted).is_some()
    }

    /// Whether its rows say for what they may be used.
    pub fn says_purposes(&self) -> bool {
        self.property(Property::Purposes).is_some() || self.property(Property::Objections).is_some()
    }
}
