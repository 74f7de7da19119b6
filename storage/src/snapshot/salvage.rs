//! Scans of a damaged store that is to be saved: of each row the first copy that can be opened, whosever it is.
//!
//! What cannot be opened is left out and counted, for the operator is told. Copies of people whose keys are destroyed are
//! among it: they were forgotten, though the store may not know of it any more.

use std::collections::BTreeSet;

use repr::{RelationId, Row, RowKey};

use crate::error::StorageError;
use crate::snapshot::cursor::Cursor;
use crate::snapshot::{open_copy, open_impersonal};
use crate::store::Store;

/// The rows under a cursor over a whole relation.
pub(super) fn scan(
    store: Store,
    cursor: Cursor,
    relation: RelationId,
    personal: bool,
) -> impl Iterator<Item = Result<(RowKey, Row), StorageError>> + Send {
    let mut seen = BTreeSet::new();
    cursor.filtered("scan a relation", move |key, sealed| {
        let opened = match personal {
            true => open_copy(&store, relation, key, sealed).map(|copy| (copy.key, copy.row)),
            false => open_impersonal(&store, relation, key, sealed),
        };
        match opened {
            Ok((key, row)) => Ok((!personal || seen.insert(key.clone())).then_some((key, row))),
            Err(_) => {
                store.note_unreadable();
                Ok(None)
            }
        }
    })
}
