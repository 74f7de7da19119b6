//! That what a subscription tells may be told, still.

use planner::catalog::{Catalog, DatabaseId, EdgeKind, Person, RoleId, Table};
use planner::resolve::Needs;
use repr::{Datum, RelationId};
use state::SqlError;
use state::reader::Reader;
use std::sync::Arc;
use subject_requests::own;
use transactions::database::Database;

/// That a role may read what a subscription tells it, asked again whenever the catalog has changed.
pub struct Permit {
    pub(super) database: Arc<Database>,
    pub(super) needs: Arc<Needs>,
    pub(super) role: RoleId,
    pub(super) home: DatabaseId,
    /// Whose own login it is.
    pub(super) person: Option<Person>,
    /// By which catalog it was permitted last.
    pub(super) catalog: Arc<Catalog>,
    /// Whether policies have a say in what it reads.
    pub(super) of_role: bool,
    /// Whether its purpose asks for the consent of whoever owns what it reads.
    pub(super) by_consent: bool,
}

impl Permit {
    /// The parameters of what is watched: behind the statement's own, to a person's login, the person's key.
    pub(super) fn with_person_key(&self, params: Arc<[Datum]>) -> Result<Arc<[Datum]>, SqlError> {
        let Some(person) = &self.person else { return Ok(params) };
        let snapshot = self.database.latest_snapshot();
        let subject = own::living(&snapshot, person)?.ok_or_else(gone)?;
        let row = snapshot.get(subject.shape.table(), &subject.row_key)?.ok_or_else(gone)?;
        let row = subject.shape.unpack(&row);
        let key = subject.shape.table().primary_key_columns().unwrap_or_default();
        Ok(params.iter().cloned().chain(key.iter().map(|column| row[*column].clone())).collect())
    }

    /// 28000 if the person is not there any more, though another may have the key.
    fn check_person(&self) -> Result<(), SqlError> {
        let Some(person) = &self.person else { return Ok(()) };
        own::living(&self.database.latest_snapshot(), person)?.map(|_| ()).ok_or_else(gone)
    }

    /// 42501 if it was taken away.
    pub(super) fn check(&mut self) -> Result<(), SqlError> {
        self.check_person()?;
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
        if (self.person.is_some() || self.of_role && self.by_consent) && !same_ownership(&self.catalog, catalog) {
            return Err(SqlError::new("42501", "who owns what this subscription reads is declared otherwise now")
                .hint("subscribe again"));
        }
        self.catalog = catalog.clone();
        Ok(())
    }
}

/// Of somebody who was forgotten, or whose key is another's.
fn gone() -> SqlError {
    SqlError::new("28000", "the person whose login this is is not there any more")
}

/// Whether two catalogs declare the same of whose rows are whose, and of what is shown of them.
fn same_ownership(one: &Catalog, other: &Catalog) -> bool {
    let says_nothing =
        |table: &Table| !table.data_subject && table.foreign_keys.iter().all(|key| key.annotation.is_none());
    let same = |id: &RelationId, table: &Arc<Table>| match other.relations.get(id) {
        Some(now) if Arc::ptr_eq(table, now) => true,
        Some(now) => (table.data_subject, &table.rules, edges(table)) == (now.data_subject, &now.rules, edges(now)),
        None => says_nothing(table),
    };
    let is_new = |id: &RelationId| !one.relations.contains_key(id);
    one.relations.iter().all(|(id, table)| same(id, table))
        && other.relations.iter().filter(|(id, _)| is_new(id)).all(|(_, table)| says_nothing(table))
}

/// What a table's foreign keys say of ownership, and of what.
fn edges(table: &Table) -> Vec<(u32, Option<EdgeKind>)> {
    table.foreign_keys.iter().map(|key| (key.constraint.id, key.annotation)).collect()
}
