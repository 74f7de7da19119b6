//! What of a commit that erases several people each of their receipts counts: their own rows, and what named these.

use super::{Counts, TableCounts, by_name, is_of_people};
use crate::ownership::{Between, Derivation, RowDelta};
use repr::hash::{HashMap, HashSet};
use repr::{MicroDbId, RelationId, RowKey};
use state::SqlError;
use state::overlay::Change;
use state::shape::TableShape;
use std::collections::BTreeMap;
use std::sync::Arc;

/// By person and table.
type Shares = HashMap<MicroDbId, BTreeMap<RelationId, TableCounts>>;

/// What each of those who go has lost.
pub(super) fn by_person(
    between: &Between<'_>,
    derivation: &Derivation,
    people: impl Iterator<Item = MicroDbId>,
) -> Result<HashMap<MicroDbId, Counts>, SqlError> {
    let mut sharing = Sharing { between, derivation, shares: people.map(|one| (one, BTreeMap::new())).collect() };
    for (relation, changes) in between.overlay.tables().filter(|(relation, _)| is_of_people(*relation)) {
        let Some(shape) = between.new.schema().shape(relation).cloned() else { continue };
        changes.each(|row_key, change| sharing.changed(&shape, row_key, change))?;
    }
    sharing.disowned();
    Ok(sharing.shares.into_iter().map(|(person, tables)| (person, by_name(between, tables))).collect())
}

struct Sharing<'a> {
    between: &'a Between<'a>,
    derivation: &'a Derivation,
    /// All who go stand in it from the beginning.
    shares: Shares,
}

impl Sharing<'_> {
    /// A row that goes, or stays and is another, is counted for who owned it; else for who owned what it named.
    fn changed(&mut self, shape: &Arc<TableShape>, row_key: &RowKey, change: &Change) -> Result<(), SqlError> {
        let Some(before) = &change.before else { return Ok(()) };
        if change.after.as_ref() == Some(before) {
            return Ok(());
        }
        let mut concerned = self.owners_who_go(shape, row_key)?;
        if concerned.is_empty() {
            let value = |key, row| shape.value_of(key, row);
            for key in &shape.table().foreign_keys {
                let Some(named) = value(&key.columns, before) else { continue };
                if change.after.as_ref().is_some_and(|after| value(&key.columns, after).as_ref() == Some(&named)) {
                    continue;
                }
                let Some(target) = self.between.old.schema().shape(key.target).cloned() else { continue };
                let Some(index) = target.unique_index(&key.target_columns) else { continue };
                for far_key in self.between.old.keys_by_value(&target, index.id, &named)? {
                    concerned.extend(self.owners_who_go(&target, &far_key)?);
                }
            }
        }
        for person in concerned {
            self.shares.entry(person).or_default().entry(shape.id()).or_default().count(change);
        }
        Ok(())
    }

    /// Of those who owned a row before, who goes.
    fn owners_who_go(&self, shape: &TableShape, row_key: &RowKey) -> Result<HashSet<MicroDbId>, SqlError> {
        if !shape.personal {
            return Ok(HashSet::default());
        }
        let derived = self.derivation.tables.get(&shape.id()).and_then(|rows| rows.get(row_key));
        let stored;
        let owners = match derived {
            Some(row) => &row.old,
            None => {
                stored = self.between.old.owners_of(shape.id(), row_key)?;
                &stored
            }
        };
        Ok(owners.iter().map(|(owner, _)| *owner).filter(|owner| self.shares.contains_key(owner)).collect())
    }

    /// Rows that stay, and are theirs no more.
    fn disowned(&mut self) {
        for (relation, rows) in self.derivation.tables.iter().filter(|(relation, _)| is_of_people(**relation)) {
            for owner in rows.values().flat_map(RowDelta::disowned) {
                if let Some(tables) = self.shares.get_mut(&owner) {
                    tables.entry(*relation).or_default().disowned += 1;
                }
            }
        }
    }
}
