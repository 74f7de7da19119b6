//! Whose rows a transaction wrote, for what the audit log says of its statements.

use crate::ownership::Derivation;
use repr::{MicroDbId, RelationId};
use state::overlay::Overlay;
use std::collections::BTreeSet;
use storage::audit::{AuditEntry, SUBJECTS_LISTED_MAX};

/// Adds to the entries of a transaction's statements whose rows it wrote in their tables. Where several statements wrote one
/// table, it is of none of them known whose rows it was.
pub(super) fn name_subjects(entries: &mut [AuditEntry], overlay: &Overlay, derivation: &Derivation) {
    let writes = |entry: &AuditEntry, relation: RelationId| entry.tables.contains(&relation);
    for place in 0..entries.len() {
        let tables = entries[place].tables.clone();
        let mut people = BTreeSet::new();
        let mut is_shared = false;
        for relation in &tables {
            let found = subjects(*relation, overlay, derivation);
            if found.is_empty() {
                continue;
            }
            is_shared |= entries.iter().filter(|entry| writes(entry, *relation)).count() > 1;
            people.extend(found);
        }
        let entry = &mut entries[place];
        entry.scope.may_be_more |= is_shared;
        if people.len() > SUBJECTS_LISTED_MAX {
            entry.scope.may_be_more = true;
        }
        entry.subjects.extend(people);
    }
}

/// The owners of a table's changed rows, before and after.
fn subjects(relation: RelationId, overlay: &Overlay, derivation: &Derivation) -> BTreeSet<MicroDbId> {
    let mut people = BTreeSet::new();
    for row in derivation.tables.get(&relation).into_iter().flat_map(|rows| rows.values()) {
        people.extend(row.old.iter().chain(&row.new).map(|(owner, _)| *owner));
    }
    let own = overlay.subjects().filter(|((table, _), _)| *table == relation);
    people.extend(own.filter_map(|(_, now)| *now));
    people
}
