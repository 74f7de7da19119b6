//! No row without an owner: the refusal at COMMIT.

use crate::key_text::key_text;
use crate::ownership::Derivation;
use planner::catalog::EdgeKind;
use planner::ownership::Edge;
use repr::Row;
use state::SqlError;
use state::shape::{Schema, TableShape};

/// DG001 if the transaction would leave a row of a personal table without an owner.
pub fn check(derivation: &Derivation, schema: &Schema) -> Result<(), SqlError> {
    for (relation, rows) in &derivation.tables {
        let Some(shape) = schema.shape(*relation) else { continue };
        for row in rows.values() {
            if let Some(after) = &row.after
                && row.new.is_empty()
            {
                return Err(refusal(shape, after, schema));
            }
        }
    }
    Ok(())
}

// The transaction itself wrote or read this row, so its key is the client's own knowledge.
pub(super) fn refusal(shape: &TableShape, row: &Row, schema: &Schema) -> SqlError {
    let table = shape.full_name();
    let edges: Vec<String> = shape.owner_edges.iter().map(|edge| describe(edge, schema)).collect();
    let key = match shape.table().primary_key_columns() {
        Some(columns) => key_text(shape, columns, &shape.unpack(row)),
        None => "A row".into(),
    };
    SqlError::new("DG001", format!("row of table \"{table}\" would have no owner"))
        .detail(format!("{key} would be orphaned; it can gain an owner through {}.", edges.join(", ")))
        .hint("give it an owner in the same transaction, or delete it there")
        .on(shape.place(), None)
}

/// `stories.author OWNED_BY users(id)`
pub fn describe(edge: &Edge, schema: &Schema) -> String {
    let catalog = schema.catalog();
    let name =
        |relation| catalog.table(relation).map_or_else(String::new, |table| catalog.full_name(table).into_owned());
    let columns = |relation, columns: &[usize]| {
        let table = catalog.table(relation);
        let names = columns.iter().filter_map(|column| Some(table?.columns.get(*column)?.name.clone()));
        names.collect::<Vec<_>>().join(", ")
    };
    let (near, far) = ((edge.near, &edge.near_columns), (edge.far, &edge.far_columns));
    let (from, to, word) = match edge.kind {
        EdgeKind::OwnedBy => (near, far, "OWNED_BY"),
        EdgeKind::AccessedBy => (near, far, "ACCESSED_BY"),
        EdgeKind::Owns => (far, near, "OWNS"),
        EdgeKind::Accesses => (far, near, "ACCESSES"),
    };
    format!("{}.{} {word} {}({})", name(from.0), columns(from.0, from.1), name(to.0), columns(to.0, to.1))
}
