//! The end of a definition: what waited is tried again, and the effects on rows' places are worked out.

use super::change::DefinitionChange;
use super::{DdlEffect, DdlPlan};
use crate::catalog::Catalog;
use crate::error::PlanError;
use crate::ownership::{Dog, Edge, Incomplete, incomplete, key_form, malformed};
use repr::RelationId;
use std::collections::BTreeSet;

impl DefinitionChange<'_> {
    pub(super) fn finish(mut self, old: &Catalog, tag: &str) -> Result<DdlPlan, PlanError> {
        self.apply_pending()?;
        self.mark_pending();
        self.check_views(old)?;
        self.place_again(old);
        self.catalog.version = old.version + 1;
        Ok(DdlPlan { catalog: self.catalog, effects: self.effects, tag: tag.to_string(), notices: self.notices })
    }

    /// `Table::pending` says why INSERT must be refused.
    fn mark_pending(&mut self) {
        let mut waiting = malformed(&self.catalog);
        waiting.extend(incomplete(&self.catalog));
        let tables: Vec<RelationId> = self.catalog.relations.keys().copied().collect();
        for id in tables {
            let reason = waiting.iter().find(|found| found.table == id).map(|found| match &found.error.detail {
                Some(detail) => format!("{} ({detail})", found.error.message),
                None => found.error.message.clone(),
            });
            if self.get(id).pending != reason {
                self.edit(id).pending = reason;
            }
        }
    }

    /// Tables whose rows stand elsewhere, or under other keys, than the old catalog said.
    fn place_again(&mut self, old: &Catalog) {
        let (before, after) = (Dog::new(old), Dog::new(&self.catalog));
        let owners = |dog: &Dog, table: RelationId| -> Vec<Edge> { dog.ownership(table).cloned().collect() };
        let mut moved: BTreeSet<RelationId> = BTreeSet::new();
        let kept: Vec<RelationId> =
            self.catalog.relations.keys().copied().filter(|id| old.relations.contains_key(id)).collect();
        for &id in &kept {
            if owners(&before, id) != owners(&after, id) || before.is_subject(id) != after.is_subject(id) {
                moved.extend(after.owned_through(id));
                moved.extend(before.owned_through(id));
            }
            if key_form(old, id) != key_form(&self.catalog, id) {
                moved.insert(id);
            }
            if before.is_personal(id) && !after.is_personal(id) {
                let name = &self.get(id).name;
                let error = PlanError::new("DG001", format!("rows of table \"{name}\" would belong to nobody"))
                    .detail("This takes away the table's last ownership edge.")
                    .hint("delete the rows first, or give the table another owner before");
                self.effects.push(DdlEffect::RequireEmpty { table: id, error });
            }
        }
        let moved: Vec<RelationId> = moved.into_iter().filter(|id| kept.contains(id)).collect();
        if !moved.is_empty() {
            self.effects.push(DdlEffect::Replace(moved));
        }
    }
}

/// Tables that may only be empty when the transaction commits, with the refusal if one is not.
pub fn pending_tables(catalog: &Catalog) -> Vec<Incomplete> {
    incomplete(catalog)
}
