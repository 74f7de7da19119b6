//! Erasures on a restored state that is older than they are: which rows are tied to people whose rows went by their keys.
//!
//! ```text
//! a foreign key that leads nowhere ─▶ what its rule or its ON DELETE says
//! a row that the ledger names ─▶ columns of a rule whose reference stood in the row that went
//! ```
//! Storage takes a person's rows out without opening them. What others' rows say of them is found here, from the rows that are left:
//! all are read once, by brute force, as `dogwood check` does.

use crate::disposition::{Disposition, at_edge, at_foreign_key};
use crate::erase::Loose;
use planner::catalog::{EdgeRef, RuleAction, RuleEvent};
use planner::ownership::Edge;
use repr::hash::HashMap;
use repr::{ColumnIndex, IndexId, RelationId, RowKey, key};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::reader::Reader;
use state::shape::{Referrer, TableShape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use storage::backup::{BlankedRow, Forgotten};

/// Rows whose foreign keys lead nowhere, and what becomes of each.
pub fn dangling(snapshot: &LayeredSnapshot) -> Result<Vec<Loose>, SqlError> {
    let mut loose = Vec::new();
    // Most rows name what others name, too.
    let mut named: HashMap<(RelationId, IndexId), HashMap<Vec<u8>, bool>> = HashMap::default();
    for shape in snapshot.schema().shapes().values() {
        let table = shape.table();
        let mut targets = Vec::with_capacity(table.foreign_keys.len());
        for foreign_key in &table.foreign_keys {
            let target = snapshot.shape(foreign_key.target)?.clone();
            // Only people's rows have gone.
            let index = target.unique_index(&foreign_key.target_columns).map(|index| index.id);
            targets.extend(index.filter(|_| target.personal).map(|index| (foreign_key, target, index)));
        }
        if targets.is_empty() {
            continue;
        }
        for item in snapshot.scan(table)? {
            let (row_key, row) = item?;
            let datums = shape.unpack(&row);
            for (foreign_key, target, index) in &targets {
                let Some(values) = shape.values(&foreign_key.columns, &datums) else { continue };
                let (value, known) = (key::encode_all(&values), named.entry((target.id(), *index)).or_default());
                let leads = match known.get(&value) {
                    Some(leads) => *leads,
                    None => {
                        let leads = !snapshot.keys_by_value(target, *index, &value)?.is_empty();
                        known.insert(value, leads);
                        leads
                    }
                };
                if leads {
                    continue;
                }
                let reference = EdgeRef { table: table.id, foreign_key: foreign_key.constraint.id };
                let falls = match edge_of(shape, reference) {
                    Some(edge) => at_edge(shape, edge),
                    None => at_foreign_key(shape, foreign_key),
                };
                let referrer = Some(Referrer { table: table.id, foreign_key: (*foreign_key).clone() });
                loose.push(Loose { shape: shape.clone(), row_key: row_key.clone(), falls, referrer });
            }
        }
    }
    Ok(loose)
}

/// The edge along a foreign key of the table itself, if it is one.
fn edge_of(shape: &TableShape, reference: EdgeRef) -> Option<&Edge> {
    let mut edges = shape.owner_edges.iter().chain(&shape.access_edges);
    edges.find(|edge| edge.reference == reference && edge.along_foreign_key())
}

/// Rows that the ledger names, as far as they are there and were tied to who was forgotten.
pub fn named(snapshot: &LayeredSnapshot, forgotten: &Forgotten) -> Result<Vec<Loose>, SqlError> {
    let mut columns_of: BTreeMap<(RelationId, RowKey), BTreeSet<ColumnIndex>> = BTreeMap::new();
    for BlankedRow { relation, key, columns } in &forgotten.blanked {
        let Some(shape) = snapshot.schema().shape(*relation) else { continue };
        let disowned = forgotten.disowned.contains(&(*relation, key.clone()));
        let ruled = ruled_from_afar(shape, disowned);
        let blank = columns.iter().map(|column| *column as ColumnIndex).filter(|column| ruled.contains(column));
        columns_of.entry((*relation, key.clone())).or_default().extend(blank);
    }
    let mut loose = Vec::new();
    for ((relation, row_key), columns) in columns_of {
        let shape: Arc<TableShape> = snapshot.shape(relation)?.clone();
        if !columns.is_empty() && snapshot.exists(&shape, &row_key)? {
            loose.push(Loose { shape, row_key, falls: Disposition::Blank(columns), referrer: None });
        }
    }
    Ok(loose)
}

/// What erasures in part took, as far as it is there again and is of the same person: another may have had the key before.
pub fn in_part(snapshot: &LayeredSnapshot, forgotten: &Forgotten) -> Result<Vec<Loose>, SqlError> {
    let mut loose = Vec::new();
    for (person, BlankedRow { relation, key, columns }) in &forgotten.parts {
        let Some(shape) = snapshot.schema().shape(*relation).filter(|shape| shape.personal) else { continue };
        if !snapshot.exists(shape, key)? {
            continue;
        }
        let owners = snapshot.owners_of(*relation, key)?;
        if !owners.iter().any(|(owner, _)| snapshot.store().pseudonym(*owner) == *person) {
            continue;
        }
        let falls = match columns.as_slice() {
            [] => Disposition::Erase,
            columns => Disposition::Blank(columns.iter().map(|column| *column as ColumnIndex).collect()),
        };
        loose.push(Loose { shape: shape.clone(), row_key: key.clone(), falls, referrer: None });
    }
    Ok(loose)
}

/// Columns that a rule blanks by an edge whose reference stands in the row that goes. By an ownership edge only a row that lost an
/// owner was tied.
fn ruled_from_afar(shape: &TableShape, disowned: bool) -> BTreeSet<ColumnIndex> {
    let owners = shape.owner_edges.iter().filter(|_| disowned);
    let edges: Vec<&Edge> = owners.chain(&shape.access_edges).filter(|edge| !edge.along_foreign_key()).collect();
    let mut columns = BTreeSet::new();
    for rule in shape.table().rules.iter().filter(|rule| rule.event == RuleEvent::Del) {
        if let RuleAction::Anon(blanked) = &rule.action
            && edges.iter().any(|edge| edge.reference == rule.edge)
        {
            columns.extend(blanked);
        }
    }
    columns
}
