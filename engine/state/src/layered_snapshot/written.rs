//! Rows of the layers in the order in which they were written: in which PostgreSQL shows what nobody has ordered.

use crate::SqlError;
use crate::layered_snapshot::LayeredSnapshot;
use repr::{RelationId, Row, RowKey, poll};

impl LayeredSnapshot {
    /// Those that are in memory.
    pub(super) fn as_written(&self, relation: RelationId) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let mut found = Vec::new();
        for (place, layer) in self.layers.iter().enumerate() {
            let Some(changes) = layer.table(relation) else { continue };
            let above = || self.layers[place + 1..].iter().filter_map(|layer| layer.table(relation));
            for (row_key, change) in &changes.rows {
                let Some(row) = &change.after else { continue };
                if !above().any(|newer| newer.truncated || newer.rows.contains_key(row_key)) {
                    found.push((place, change.written, row_key, row));
                }
            }
        }
        poll::sort_by(&mut found, |one, other| (one.0, one.1).cmp(&(other.0, other.1)))?;
        Ok(found.into_iter().map(|(.., row_key, row)| (row_key.clone(), row.clone())).collect())
    }
}
