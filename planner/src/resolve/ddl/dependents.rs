//! What goes with an object that is dropped: foreign keys and views, in the order in which PostgreSQL tells of them.

use super::DdlNotice;
use super::change::DefinitionChange;
use crate::error::PlanError;
use repr::{Id, RelationId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A foreign key that leads to the object: its table, its constraint, and what messages call it.
pub(super) type ReferringKey = (RelationId, Id, String);

enum Object {
    ForeignKey(RelationId, Id),
    View(RelationId),
}

struct Dependent {
    object: Object,
    line: String,
    /// What it depends on.
    on: String,
}

impl DefinitionChange<'_> {
    /// Refuses, or drops these foreign keys and views, with the views over them, and says so.
    pub(super) fn drop_dependents(
        &mut self,
        what: &str,
        keys: Vec<ReferringKey>,
        views: Vec<RelationId>,
        except: &BTreeSet<RelationId>,
        cascade: bool,
    ) -> Result<(), PlanError> {
        let dependents = self.dependents(what, keys, views, except);
        if dependents.is_empty() {
            return Ok(());
        }
        if !cascade {
            let detail: Vec<String> =
                dependents.iter().map(|found| format!("{} depends on {}", found.line, found.on)).collect();
            return Err(PlanError::new("2BP01", format!("cannot drop {what} because other objects depend on it"))
                .detail(detail.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let lines: Vec<String> = dependents.iter().map(|found| format!("drop cascades to {}", found.line)).collect();
        match lines.as_slice() {
            [only] => self.notice("00000", only.clone()),
            several => self.notices.push(DdlNotice {
                code: "00000",
                message: format!("drop cascades to {} other objects", several.len()),
                detail: Some(several.join("\n")),
            }),
        }
        for dependent in dependents {
            match dependent.object {
                Object::ForeignKey(table, key) => self.remove_foreign_key(table, key),
                Object::View(view) => self.remove_view(view),
            }
        }
        Ok(())
    }

    /// Views whose grouping relies on a table's primary key.
    pub(super) fn grouped_by_key(&self, table: RelationId) -> Vec<RelationId> {
        self.catalog.views().filter(|(_, view)| view.primary_keys.contains(&table)).map(|(view, _)| view.id).collect()
    }

    /// Older objects first, and what hangs on a view right behind it.
    fn dependents(
        &self,
        what: &str,
        keys: Vec<ReferringKey>,
        views: Vec<RelationId>,
        except: &BTreeSet<RelationId>,
    ) -> Vec<Dependent> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut first: Vec<(Id, Option<ReferringKey>)> = keys.into_iter().map(|key| (key.1, Some(key))).collect();
        first.extend(views.into_iter().map(|view| (view.0, None)));
        first.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        for (id, key) in first {
            match key {
                Some((table, key, line)) => {
                    found.push(Dependent { object: Object::ForeignKey(table, key), line, on: what.to_string() });
                }
                None => self.collect_view(RelationId(id), what, except, &mut seen, &mut found),
            }
        }
        found.reverse();
        found
    }

    /// The newest first, and what depends on a view before it: reversed in the end, as PostgreSQL has it.
    fn collect_view(
        &self,
        id: RelationId,
        on: &str,
        except: &BTreeSet<RelationId>,
        seen: &mut BTreeSet<RelationId>,
        found: &mut Vec<Dependent>,
    ) {
        if except.contains(&id) || !seen.insert(id) {
            return;
        }
        let table = Arc::clone(self.get(id));
        let line = format!("{} {}", table.kind(), table.name);
        for reader in self.readers(id, None).into_iter().rev() {
            self.collect_view(reader, &line, except, seen, found);
        }
        found.push(Dependent { object: Object::View(id), line, on: on.to_string() });
    }
}
