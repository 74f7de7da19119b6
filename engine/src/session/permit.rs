//! That what a subscription tells may be told, still.

use planner::catalog::{Catalog, DatabaseId, RoleId};
use planner::resolve::Needs;
use state::SqlError;
use std::sync::Arc;
use transactions::database::Database;

/// That a role may read what a subscription tells it, asked again whenever the catalog has changed.
pub struct Permit {
    pub(super) database: Arc<Database>,
    pub(super) needs: Arc<Needs>,
    pub(super) role: RoleId,
    pub(super) home: DatabaseId,
    /// By which catalog it was permitted last.
    pub(super) catalog: Arc<Catalog>,
    /// Whether policies have a say in what it reads.
    pub(super) of_role: bool,
}

impl Permit {
    /// 42501 if it was taken away.
    pub(super) fn check(&mut self) -> Result<(), SqlError> {
        let published = self.database.published.load();
        let catalog = published.catalog();
        if Arc::ptr_eq(&self.catalog, catalog) || self.catalog.version > catalog.version {
            return Ok(());
        }
        self.needs.check(catalog, self.role, self.home)?;
        let same = || {
            self.catalog.rights.row_security == catalog.rights.row_security
                && self.catalog.rights.purposes == catalog.rights.purposes
                && self.catalog.counted(self.role, self.home) == catalog.counted(self.role, self.home)
        };
        if self.of_role && !same() {
            return Err(SqlError::new("42501", "the policies of what this subscription reads have changed")
                .hint("subscribe again"));
        }
        self.catalog = catalog.clone();
        Ok(())
    }
}
