//! The end of a definition: what waited is tried again, and the effects on rows' places are worked out.

use super::change::DefinitionChange;
use super::{DdlEffect, DdlPlan};
use crate::catalog::own_tables::{self, is_own};
use crate::catalog::{Catalog, Table, with_tables_below};
use crate::error::PlanError;
use crate::ownership::{Dog, Incomplete, incomplete, malformed};
use crate::resolve::dml::system_catalog;
use crate::resolve::identity::tells_rows_apart;
use crate::resolve::view::is_changed;
use repr::RelationId;
use repr::id::is_temporary;
use std::collections::BTreeSet;
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn finish(mut self, old: &Catalog, tag: &str) -> Result<DdlPlan, PlanError> {
        self.refuse_personal()?;
        self.apply_pending()?;
        self.check_views(old)?;
        self.check_unique(old)?;
        self.settle_graph(old);
        self.permit_references(old)?;
        self.permit_emptied()?;
        self.refuse_own(old)?;
        self.refuse_held(old)?;
        self.settle_owners(old);
        self.settle_policies(old)?;
        self.permit_filling(old)?;
        self.catalog.version = old.version + 1;
        Ok(DdlPlan { catalog: self.catalog, effects: self.effects, tag: tag.to_string(), notices: self.notices })
    }

    /// 0A000: what is temporary is nobody's.
    fn refuse_personal(&self) -> Result<(), PlanError> {
        let temporary = self.catalog.relations.values().filter(|table| is_temporary(table.id.0));
        let is_annotated = |table: &&Arc<Table>| {
            let edge = table.foreign_keys.iter().any(|key| key.annotation.is_some());
            table.data_subject || !table.rules.is_empty() || edge
        };
        let waits = |table: &&Arc<Table>| self.catalog.pending_annotations.contains_key(&table.id);
        match temporary.into_iter().find(|table| is_annotated(table) || waits(table)) {
            None => Ok(()),
            Some(table) => Err(PlanError::unsupported(format!("an annotation of temporary table \"{}\"", table.name))
                .hint("Its rows are nobody's. One that was filled from personal rows is emptied when a person is forgotten.")),
        }
    }

    /// 42501: what the server writes itself nobody defines, refers to, grants or empties.
    fn refuse_own(&self, old: &Catalog) -> Result<(), PlanError> {
        let name = |id: RelationId| old.table(id).map_or_else(String::new, |table| table.name.clone());
        for id in own_tables::all() {
            let (before, now) = (old.table(id), self.catalog.table(id));
            let is_same = match (before, now) {
                (Some(before), Some(now)) => Arc::ptr_eq(before, now),
                (before, now) => before.is_none() && now.is_none(),
            };
            let rights = &self.catalog.rights;
            if !is_same
                || rights.acls.contains_key(&id.0)
                || rights.columns.contains_key(&id)
                || rights.row_security.contains_key(&id)
            {
                return Err(system_catalog(&name(id)));
            }
        }
        let others = self.catalog.relations.values().filter(|table| !is_own(table.id.0));
        let referred = others.flat_map(|table| &table.foreign_keys).map(|key| key.target);
        let emptied = self.effects.iter().filter_map(|effect| match effect {
            DdlEffect::Truncate(tables) => Some(tables),
            _ => None,
        });
        match referred.chain(emptied.flatten().copied()).find(|id| is_own(id.0)) {
            Some(id) => Err(system_catalog(&name(id))),
            None => Ok(()),
        }
    }

    /// 2BP01: indexes of maintained views stay unique, since their queries tell the rows apart.
    fn check_unique(&self, old: &Catalog) -> Result<(), PlanError> {
        let views = self.catalog.relations.values().filter(|table| table.is_maintained());
        for view in views {
            for index in view.indexes.iter().filter(|index| index.unique) {
                // Of what no definition below it has changed the keys are what they were.
                let below = || with_tables_below(&self.catalog, [view.id]).into_iter();
                if below().any(|id| is_changed(old, &self.catalog, id))
                    && !tells_rows_apart(&self.catalog, view.id, &index.columns)?
                {
                    let message = format!(
                        "index \"{}\" of materialized view \"{}\" would not be unique any more",
                        index.name, view.name
                    );
                    return Err(PlanError::new("2BP01", message).hint("Drop the index first."));
                }
            }
        }
        Ok(())
    }

    /// What the definition makes of the ownership graph. What a session has for itself is nobody's and not in it.
    fn settle_graph(&mut self, old: &Catalog) {
        if self.catalog.shares_all_with(old) {
            return;
        }
        let graph = Dog::new(&self.catalog);
        self.mark_pending(&graph);
        self.place_again(old, &graph);
    }

    /// `Table::pending` says why INSERT must be refused.
    fn mark_pending(&mut self, graph: &Dog) {
        let mut waiting = malformed(&self.catalog, graph);
        waiting.extend(incomplete(&self.catalog, graph));
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
    fn place_again(&mut self, old: &Catalog, after: &Dog) {
        let before = Dog::new(old);
        let mut moved: BTreeSet<RelationId> = BTreeSet::new();
        let kept: Vec<RelationId> =
            self.catalog.relations.keys().copied().filter(|id| old.relations.contains_key(id)).collect();
        for &id in &kept {
            if before.ownership(id).ne(after.ownership(id)) || before.is_subject(id) != after.is_subject(id) {
                moved.extend(after.owned_through(id));
                moved.extend(before.owned_through(id));
            }
            if before.key_form(old, id) != after.key_form(&self.catalog, id) {
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
    incomplete(catalog, &Dog::new(catalog))
}
