//! An overlay as it was at a place in its undo log, made anew: where much more goes than stays.

use super::{LazyValues, Overlay, TableChanges, Undo, UndoPosition};
use repr::RelationId;
use std::collections::BTreeMap;

impl Overlay {
    /// This overlay as it was at `mark`: what was changed before it, as it was changed then.
    pub(super) fn kept_until(&self, mark: UndoPosition) -> Overlay {
        let (before, since) = self.undo.split_at(mark.0);
        let mut kept = Overlay {
            actor: self.actor.clone(),
            in_part: self.in_part.clone(),
            schema: self.schema.clone(),
            schema_changed: before.iter().any(|undo| matches!(undo, Undo::Schema { .. })),
            session: self.session.clone(),
            tables: BTreeMap::new(),
            subjects: BTreeMap::new(),
            owners: self.owners.clone(),
            dropped: self.dropped.clone(),
            begun_indexes: self.begun_indexes.clone(),
            undo: before.to_vec(),
            held_bytes: self.held_bytes,
            written_before: self.written_before,
        };
        // Tables that were taken away as a whole: what stood in them, and what in the log is later than that.
        let mut replaced: BTreeMap<RelationId, (usize, &TableChanges)> = BTreeMap::new();
        for (place, undo) in since.iter().enumerate() {
            if let Undo::Table { relation, previous } = undo {
                replaced.entry(*relation).or_insert((place, previous.as_ref()));
            }
        }
        let standing = |relation: &RelationId| match replaced.get(relation) {
            Some((_, previous)) => Some(*previous),
            None => self.tables.get(relation),
        };
        for relation in self.tables.keys().chain(replaced.keys()) {
            if let Some(changes) = standing(relation) {
                kept.tables.insert(*relation, changes.without_rows());
            }
        }
        for undo in before {
            match undo {
                Undo::Row { relation, key, .. } => {
                    let change = standing(relation).and_then(|table| table.rows.get(key));
                    let own = kept.tables.get_mut(relation).zip(change);
                    own.into_iter().for_each(|(own, change)| _ = own.rows.insert(key.clone(), change.clone()));
                }
                Undo::Subject { relation, key, .. } => {
                    let subject = (*relation, key.clone());
                    kept.subjects.extend(self.subjects.get(&subject).map(|microdb| (subject, *microdb)));
                }
                _ => {}
            }
        }
        // What came new since is not among what is kept, unless its table had been taken away before it.
        let may_be_kept = before.iter().any(|undo| matches!(undo, Undo::Table { .. }));
        let is_new = |undo: &Undo| matches!(undo, Undo::Row { previous: None, .. });
        for (place, undo) in since.iter().enumerate().rev().filter(|(_, undo)| may_be_kept || !is_new(undo)) {
            let stands = |relation: &RelationId| replaced.get(relation).is_none_or(|(until, _)| place < *until);
            kept.take_back(undo, stands);
        }
        kept.tables.retain(|_, table| !table.is_untouched());
        kept
    }

    /// Takes one change back of what is kept. `stands` tells whether what the change
    /// was made to was not taken away as a whole before it.
    fn take_back(&mut self, undo: &Undo, stands: impl Fn(&RelationId) -> bool) {
        match undo {
            Undo::Row { relation, key, previous } if stands(relation) => {
                if let Some(changes) = self.tables.get_mut(relation) {
                    set_back(&mut changes.rows, key, previous.as_ref());
                }
            }
            Undo::Reindexed { relation, index } if stands(relation) => {
                if let Some(changes) = self.tables.get_mut(relation) {
                    changes.reindexed.remove(index);
                }
            }
            Undo::Filled { relation, index } => {
                self.begun_indexes.retain(|begun| begun != index);
                if let Some(changes) = self.tables.get_mut(relation).filter(|_| stands(relation)) {
                    changes.filled.remove(index);
                }
            }
            Undo::Spilled { relation } if stands(relation) => {
                if let Some(changes) = self.tables.get_mut(relation) {
                    changes.spilled.pop();
                }
            }
            Undo::Subject { relation, key, previous } if !self.subjects.is_empty() => {
                set_back(&mut self.subjects, &(*relation, key.clone()), previous.as_ref());
            }
            Undo::Schema { previous } => self.schema = previous.clone(),
            Undo::Temporary { previous } => self.session = previous.clone(),
            Undo::DroppedTable => _ = self.dropped.tables.pop(),
            Undo::DroppedIndex => _ = self.dropped.indexes.pop(),
            Undo::Row { .. }
            | Undo::Subject { .. }
            | Undo::Reindexed { .. }
            | Undo::Spilled { .. }
            | Undo::Table { .. } => {}
        }
    }
}

impl TableChanges {
    /// All but rows and their values.
    fn without_rows(&self) -> TableChanges {
        TableChanges {
            rows: BTreeMap::new(),
            spilled: self.spilled.clone(),
            values: LazyValues::default(),
            truncated: self.truncated,
            reindexed: self.reindexed.clone(),
            filled: self.filled.clone(),
        }
    }
}

/// What is kept becomes what it was; what is not was not there.
fn set_back<K: Ord, V: Clone>(kept: &mut BTreeMap<K, V>, key: &K, previous: Option<&V>) {
    match previous {
        Some(previous) => {
            if let Some(value) = kept.get_mut(key) {
                value.clone_from(previous);
            }
        }
        None => _ = kept.remove(key),
    }
}
