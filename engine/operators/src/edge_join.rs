//! Joins along an edge of ownership or access: from far rows to the near rows that have the same value.
//!
//! ```text
//! µDB's rows of the near table ──▶ held by value ─┐
//! values ─▶ the near table's index ─▶ rows ───────┴▶ by value ◀── far rows, each once
//! ```
//! Only once: what is kept of ownership derives owners, and no person's rows. Rows are numbers of a `Witness`. What is known of
//! a value stays known: an edge of another node may ask for it again.

use crate::witness::Witness;
use planner::ownership::traversal::{Join, NodeId, Relation};
use repr::hash::HashMap;
use repr::{IndexId, RowKey};
use state::SqlError;
use state::layered_snapshot::{LayeredSnapshot, Located};

/// Rows by the value of the columns that an index is over.
type ByValue = HashMap<Vec<u8>, Vec<usize>>;

/// The near rows of all joins of a request, as far as they are known.
#[derive(Default)]
pub struct EdgeJoins {
    held: HashMap<(NodeId, IndexId), ByValue>,
}

impl EdgeJoins {
    /// Joins far rows with near rows that are all at hand. `meet` is told of each far row that has a value the rows that it
    /// leads to; how many pairs there are.
    pub fn in_memory(
        &mut self,
        snapshot: &LayeredSnapshot,
        join: &Join,
        witness: &mut Witness,
        (fars, nears): (&[usize], &[usize]),
        mut meet: impl FnMut(&mut Witness, usize, &[u8], &[usize]),
    ) -> Result<usize, SqlError> {
        let edge = &join.edge;
        let (near_shape, far_shape) = (snapshot.shape(edge.near)?, snapshot.shape(edge.far)?);
        let mut value = Vec::new();
        if let [far] = fars {
            // As it is with all that hangs on the person's own row.
            let Some(only) = far_shape.value_of(&edge.far_columns, &witness.row(*far).row) else { return Ok(0) };
            let mut met = Vec::new();
            for near in nears {
                if near_shape.value_into(&edge.near_columns, &witness.row(*near).row, &mut value) && value == only {
                    met.push(*near);
                }
            }
            meet(witness, *far, &only, &met);
            return Ok(met.len());
        }
        let held = self.held.entry((join.near, edge.near_index)).or_insert_with(|| {
            let mut held = ByValue::default();
            for near in nears {
                if near_shape.value_into(&edge.near_columns, &witness.row(*near).row, &mut value) {
                    match held.get_mut(value.as_slice()) {
                        Some(met) => met.push(*near),
                        None => drop(held.insert(value.clone(), vec![*near])),
                    }
                }
            }
            held
        });
        let mut pairs = 0;
        for far in fars {
            if far_shape.value_into(&edge.far_columns, &witness.row(*far).row, &mut value) {
                let met = held.get(value.as_slice()).map_or(&[][..], Vec::as_slice);
                meet(witness, *far, &value, met);
                pairs += met.len();
            }
        }
        Ok(pairs)
    }

    /// Joins far rows with what the near table's index leads to. Rows that were not reached before go to `found`; how many
    /// pairs there are.
    pub fn by_index(
        &mut self,
        snapshot: &LayeredSnapshot,
        (join, role): (&Join, Relation),
        witness: &mut Witness,
        fars: &[usize],
        found: &mut Vec<usize>,
    ) -> Result<usize, SqlError> {
        let far_shape = snapshot.shape(join.edge.far)?;
        let held = self.held.entry((join.near, join.edge.near_index)).or_default();
        let mut pairs: Vec<(usize, Vec<u8>)> = Vec::with_capacity(fars.len());
        let mut unknown: HashMap<Vec<u8>, usize> = HashMap::default();
        for far in fars {
            if let Some(value) = far_shape.value_of(&join.edge.far_columns, &witness.row(*far).row) {
                if !held.contains_key(&value) {
                    unknown.entry(value.clone()).or_insert(*far);
                }
                pairs.push((*far, value));
            }
        }
        look_up(snapshot, (join, role), witness, &unknown, (held, found))?;
        let mut count = 0;
        for (far, value) in pairs {
            for near in &held[&value] {
                witness.step(join.edge.reference, far, *near);
            }
            count += held[&value].len();
        }
        Ok(count)
    }
}

/// Holds what the near table's index leads to from values, each with a far row that has it; all asked for together.
fn look_up(
    snapshot: &LayeredSnapshot,
    (join, role): (&Join, Relation),
    witness: &mut Witness,
    unknown: &HashMap<Vec<u8>, usize>,
    (held, found): (&mut ByValue, &mut Vec<usize>),
) -> Result<(), SqlError> {
    let edge = &join.edge;
    let near_shape = snapshot.shape(edge.near)?;
    let values: Vec<Vec<u8>> = unknown.keys().cloned().collect();
    let located = snapshot.located_together(near_shape, edge.near_index, values)?;
    // What was reached before is not read again.
    let mut first: HashMap<RowKey, usize> = HashMap::default();
    let mut unread: Vec<Located> = Vec::new();
    for (value, located) in &located {
        for located in located {
            if witness.number(edge.near, &located.0).is_none() && !first.contains_key(&located.0) {
                first.insert(located.0.clone(), unknown[value]);
                unread.push(located.clone());
            }
        }
    }
    for ((row_key, _), row) in snapshot.rows_together(near_shape, unread)? {
        let Some(row) = row else { continue };
        let level = witness.level(first[&row_key]) + 1;
        found.push(witness.add((edge.near, row_key), role, row, level));
    }
    for (value, located) in located {
        let numbers = located.iter().filter_map(|(row_key, _)| witness.number(edge.near, row_key));
        // What leads back to the subject's own row leads nowhere.
        held.insert(value, numbers.filter(|number| *number != Witness::SUBJECT).collect());
    }
    Ok(())
}
