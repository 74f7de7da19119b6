//! An index that is filled beside commits, before its definition is one: nobody reads its entries until then.
//!
//! ```text
//! intent in `meta` ─▶ entries, some at a time ─┬─▶ the definition's commit takes the intent away: the index is there
//!                                              └─▶ it comes to nothing, or a start finds the intent: the entries go
//! ```
//! The intent stands in the log before the first entry, so no crash leaves entries without it.

use repr::{IndexId, MicroDbId, RelationId, Row, RowKey};

use crate::batch::Batch;
use crate::crypto::seal::{Header, SealKind};
use crate::error::StorageError;
use crate::keyspace;
use crate::rocks::Family;
use crate::snapshot::cursor::Cursor;
use crate::snapshot::{Snapshot, open_copy, open_impersonal};
use crate::store::Store;

/// Under what intents stand in `meta`.
const INTENTS: &[u8] = b"building/";

fn intent(index: IndexId) -> Vec<u8> {
    [INTENTS, &keyspace::index(index)].concat()
}

/// Whether a key of `meta` is an intent's.
pub(crate) fn is_intent(key: &[u8]) -> bool {
    key.starts_with(INTENTS)
}

/// A row, and the µDB of its canonical copy where it is a person's.
pub type LocatedRow = (RowKey, Row, Option<MicroDbId>);

impl Store {
    /// Says that an index is being filled. Takes away what may stand under its number.
    pub fn begin_index(&self, index: IndexId) -> Result<(), StorageError> {
        let mut batch = Batch::default();
        let mut there = Cursor::all(&self.snapshot(), Family::Index, &keyspace::index(index));
        if there.next("read an index", |_, _| ())?.is_some() {
            self.drop_index(&mut batch, index);
        }
        batch.put_meta(self, &intent(index), &[]);
        self.write(batch)
    }

    /// Writes entries of an index that is being filled, if there is room on the disk.
    pub fn fill_index(&self, entries: Batch) -> Result<(), StorageError> {
        self.check_room(&entries)?;
        self.write(entries)
    }

    /// Takes away the entries of an index that came to nothing, from all files as at an erasure; the moment is in microseconds since
    /// 2000-01-01 UTC.
    pub fn remove_index(&self, index: IndexId, time_us: i64) -> Result<(), StorageError> {
        let mut batch = Batch::default();
        self.drop_index(&mut batch, index);
        batch.finish_index(index);
        batch.mark_erasing(time_us);
        self.write(batch)
    }

    /// Indexes that a server which was killed had not filled.
    pub fn unfinished_indexes(&self) -> Result<Vec<IndexId>, StorageError> {
        let mut cursor = Cursor::all(&self.snapshot(), Family::Meta, INTENTS);
        let mut found = Vec::new();
        while let Some(number) = cursor.next("read metadata", |key, _| key[INTENTS.len()..].try_into().ok())? {
            found.extend(number.map(|number| IndexId(u32::from_be_bytes(number))));
        }
        Ok(found)
    }
}

impl Batch {
    /// An index is filled: with this batch it is there, or gone.
    pub fn finish_index(&mut self, index: IndexId) {
        self.delete(Family::Meta, &intent(index));
    }
}

impl Snapshot {
    /// All rows of a relation, each once and with the µDB of its canonical copy, for one who will not come again.
    pub fn scan_located(
        &self,
        relation: RelationId,
        personal: bool,
    ) -> impl Iterator<Item = Result<LocatedRow, StorageError>> + Send + use<> {
        let store = self.store().clone();
        let cursor = Cursor::all_once(self, Family::Rows, &keyspace::relation(relation));
        cursor.filtered("scan a relation", move |key, sealed| {
            if !personal {
                let (row_key, row) = open_impersonal(&store, relation, key, sealed)?;
                return Ok(Some((row_key, row, None)));
            }
            match Header::parse(sealed).map(|(header, _)| header.kind) {
                Some(SealKind::Personal { canonical: false }) => Ok(None),
                Some(SealKind::Personal { canonical: true } | SealKind::Impersonal) | None => {
                    let copy = open_copy(&store, relation, key, sealed)?;
                    Ok(Some((copy.key, copy.row, Some(copy.owner))))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use repr::IndexId;

    use super::intent;

    #[test]
    fn intents_are_told_apart() {
        assert_eq!(intent(IndexId(258)), b"building/\x00\x00\x01\x02");
    }
}
