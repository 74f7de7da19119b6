//! New rows as they are written: what they say of themselves is told with them, so that a table that was loaded just now is counted
//! for the registers without opening a row of it.
//!
//! Tells of large statements' rows alone: whoever is not told of a row opens it, and the rows of a segment with it.

use planner::catalog::own_tables::is_own;
use repr::{MicroDbId, RelationId, Row};
use state::row_sayings::PropertyColumns;
use state::shape::TableShape;
use std::sync::Arc;
use storage::{Batch, Store};

/// Of fewer rows it takes longer to tell than to open what stands beside them.
const MANY_ROWS_MIN: usize = 1_000;

/// See the module.
pub(super) struct Newcomers<'a> {
    store: &'a Store,
    are_many: bool,
    /// The table whose row came last, and by what its rows say something, if they are told of.
    table: Option<(RelationId, Option<Telling>)>,
    key: Vec<u8>,
}

struct Telling {
    columns: PropertyColumns,
    form: Arc<[u8]>,
}

impl<'a> Newcomers<'a> {
    /// Of so many rows in all.
    pub(super) fn among(store: &'a Store, rows: usize) -> Self {
        Newcomers { store, are_many: rows >= MANY_ROWS_MIN, table: None, key: Vec::new() }
    }

    /// Tells of a row that was not there, whose these copies are.
    pub(super) fn note(
        &mut self,
        batch: &mut Batch,
        shape: &TableShape,
        row: &Row,
        owners: impl Iterator<Item = MicroDbId>,
    ) {
        let relation = shape.id();
        if self.table.as_ref().is_none_or(|(known, _)| *known != relation) {
            let is_told = self.are_many && !is_own(relation.0) && self.store.may_know_arriving(relation);
            let telling = is_told.then(|| {
                let columns = PropertyColumns::of(shape.table());
                Telling { form: columns.form(), columns }
            });
            self.table = Some((relation, telling));
        }
        let Some((_, Some(Telling { columns, form }))) = &self.table else { return };
        self.key.clear();
        let end = columns.spell(row, &mut self.key);
        batch.note_arrival(relation, form, (&self.key, end), owners);
    }
}
