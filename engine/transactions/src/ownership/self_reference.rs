//! Owners through a table's references to itself: what was reachable is derived again.
//!
//! A comment that is owned by its parent's owners, to any depth. Such derivations are stored with number 0:
//! counted derivations start a chain, the others follow from it.

use crate::ownership::{Between, Derivation, RowDelta, far_keys, far_value, near_keys, near_value};
use planner::ownership::Edge;
use repr::{MicroDbId, Row, RowKey, poll};
use state::SqlError;
use state::overlay::Owners;
use state::reader::Reader;
use state::shape::TableShape;
use state::validation::Mark;
use std::collections::{BTreeMap, BTreeSet};

/// Completes `rows`, whose counted owners are derived, with owners through self-references.
pub fn derive(
    between: &Between<'_>,
    shape: &TableShape,
    rows: &mut BTreeMap<RowKey, RowDelta>,
    derivation: &mut Derivation,
) -> Result<(), SqlError> {
    let edges: Vec<&Edge> = shape.owner_edges.iter().filter(|edge| edge.is_self()).collect();
    let reached = reachable(between, shape, &edges, rows, derivation)?;
    let mut owners: BTreeMap<RowKey, BTreeSet<MicroDbId>> = BTreeMap::new();
    for row_key in &reached {
        poll::step()?;
        if !rows.contains_key(row_key) {
            derivation.reads.note(&Mark::Owners(shape.id(), row_key));
            let old = between.old.owners_of(shape.id(), row_key)?;
            rows.insert(row_key.clone(), RowDelta { before: None, after: None, old: old.clone(), new: old });
        }
        let counted = rows[row_key].new.iter().filter(|(_, count)| *count > 0);
        owners.insert(row_key.clone(), counted.map(|(owner, _)| *owner).collect());
    }
    let mut sources: BTreeMap<RowKey, Vec<RowKey>> = BTreeMap::new();
    for row_key in &reached {
        poll::step()?;
        let Some(row) = between.new.get(shape.table(), row_key)? else { continue };
        for edge in &edges {
            let Some(value) = near_value(shape, edge, &row) else { continue };
            for far_key in far_keys(between.new, edge, &value, &mut derivation.reads)? {
                if reached.contains(&far_key) {
                    sources.entry(row_key.clone()).or_default().push(far_key);
                } else {
                    derivation.reads.note(&Mark::Owners(shape.id(), &far_key));
                    let outside = between.old.owners_of(shape.id(), &far_key)?;
                    owners.entry(row_key.clone()).or_default().extend(outside.iter().map(|(owner, _)| *owner));
                }
            }
        }
    }
    flow(&mut owners, &sources)?;
    for (row_key, set) in owners {
        let exists = between.new.exists(shape, &row_key)?;
        let row = rows.get_mut(&row_key).expect("every reached row has a delta");
        let counts: BTreeMap<MicroDbId, u32> = row.new.iter().copied().collect();
        let set = set.into_iter().filter(|_| exists);
        row.new = set.map(|owner| (owner, counts.get(&owner).copied().unwrap_or(0))).collect::<Owners>();
    }
    rows.retain(|_, row| row.before.is_some() || row.after.is_some() || row.old != row.new);
    Ok(())
}

/// The least fixpoint: owners flow from far to near until nothing is gained. Only what gained flows on.
fn flow(
    owners: &mut BTreeMap<RowKey, BTreeSet<MicroDbId>>,
    sources: &BTreeMap<RowKey, Vec<RowKey>>,
) -> Result<(), SqlError> {
    let mut near: BTreeMap<&RowKey, Vec<&RowKey>> = BTreeMap::new();
    for (row_key, far_keys) in sources {
        owners.entry(row_key.clone()).or_default();
        far_keys.iter().for_each(|far_key| near.entry(far_key).or_default().push(row_key));
    }
    let mut open: Vec<&RowKey> = near.keys().copied().collect();
    while let Some(far_key) = open.pop() {
        let Some(flowing) = owners.get(far_key).filter(|owners| !owners.is_empty()).cloned() else { continue };
        for row_key in near.get(far_key).into_iter().flatten().copied() {
            poll::step()?;
            let mine = owners.entry(row_key.clone()).or_default();
            let size = mine.len();
            mine.extend(&flowing);
            if mine.len() > size {
                open.push(row_key);
            }
        }
    }
    Ok(())
}

/// All rows that changed rows lead to through self-references, before or after.
fn reachable(
    between: &Between<'_>,
    shape: &TableShape,
    edges: &[&Edge],
    rows: &BTreeMap<RowKey, RowDelta>,
    derivation: &mut Derivation,
) -> Result<BTreeSet<RowKey>, SqlError> {
    // A table that is new in this transaction, or was emptied by it, had no rows before.
    let nothing_before = between.old.schema().shape(shape.id()).is_none()
        || between.overlay.table(shape.id()).is_some_and(|changes| changes.truncated);
    let mut reached: BTreeSet<RowKey> = BTreeSet::new();
    let mut open: Vec<RowKey> = rows.keys().cloned().collect();
    while let Some(row_key) = open.pop() {
        poll::step()?;
        if !reached.insert(row_key.clone()) {
            continue;
        }
        let before = if nothing_before { None } else { between.old.get(shape.table(), &row_key)? };
        let after = between.new.get(shape.table(), &row_key)?;
        for edge in edges {
            let value = |row: &Option<Row>| row.as_ref().and_then(|row| far_value(shape, edge, row));
            if let Some(value) = value(&before) {
                open.extend(near_keys(between.old, shape, edge, &value, &mut derivation.reads)?);
            }
            if let Some(value) = value(&after) {
                open.extend(near_keys(between.new, shape, edge, &value, &mut derivation.reads)?);
            }
        }
    }
    Ok(reached)
}
