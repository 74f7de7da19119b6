//! Rows and other content sealed into a batch: personal rows under the keys of their owners, all else under the database's.
//!
//! A personal row enters only with an `OwnerSet`, which is never empty.

use crate::batch::Batch;
use crate::crypto::seal::{Header, SealKind, SealPlace};
use crate::error::StorageError;
use crate::keyspace;
use crate::microdb::OwnerSet;
use crate::rocks::Family;
use crate::store::{COMMIT_TIME, Store};
use repr::{MicroDbId, RelationId, Row, RowKey};

impl Batch {
    /// Stores a personal row: one sealed copy for each owner, the canonical mark on the smallest µDB id.
    ///
    /// Replaces this row's copies of the same owners; copies of owners that it lost are deleted with `delete_copy`.
    /// Fails when an owner's key is gone.
    pub fn put_personal(
        &mut self,
        store: &Store,
        relation: RelationId,
        key: &RowKey,
        row: &Row,
        owners: &OwnerSet,
        schema_version: u32,
    ) -> Result<(), StorageError> {
        let all: Vec<MicroDbId> = owners.iter().collect();
        self.put_personal_copies(store, relation, key, row, owners, &all, schema_version)
    }

    /// Stores some owners' copies of a personal row, where the others' stand already and are as they must be.
    #[allow(clippy::too_many_arguments)] // A row's whole place.
    pub fn put_personal_copies(
        &mut self,
        store: &Store,
        relation: RelationId,
        key: &RowKey,
        row: &Row,
        owners: &OwnerSet,
        copies: &[MicroDbId],
        schema_version: u32,
    ) -> Result<(), StorageError> {
        for owner in copies.iter().copied().filter(|owner| owners.contains(*owner)) {
            let kind = SealKind::Personal { canonical: owner == owners.canonical() };
            let header = Header { kind, cipher: store.cipher(), schema_version };
            let place = SealPlace::Personal(relation, owner, key.bytes());
            let at = keyspace::personal_row(relation, owner, key);
            self.make_room(row.bytes().len());
            self.put_with(Family::Rows, &at, |out| store.seal_personal(owner, place, header, row.bytes(), out))?;
        }
        Ok(())
    }

    /// Stores a row that is nobody's, sealed under the database's key.
    pub fn put_impersonal(
        &mut self,
        store: &Store,
        relation: RelationId,
        key: &RowKey,
        row: &Row,
        schema_version: u32,
    ) -> Result<(), StorageError> {
        let header = Header { kind: SealKind::Impersonal, cipher: store.cipher(), schema_version };
        let place = SealPlace::Impersonal(relation, key.bytes());
        let at = keyspace::impersonal_row(relation, key.bytes());
        self.put_with(Family::Rows, &at, |out| {
            store.seal_impersonal(place, header, row.bytes(), out);
            Ok(())
        })
    }

    /// Stores a metadata value, sealed under the database's key. The key itself stands in clear.
    pub fn put_meta(&mut self, store: &Store, key: &[u8], value: &[u8]) {
        let header = Header { kind: SealKind::Impersonal, cipher: store.cipher(), schema_version: 0 };
        self.put_with(Family::Meta, key, |out| {
            store.seal_impersonal(SealPlace::Meta(key), header, value, out);
            Ok::<(), std::convert::Infallible>(())
        })
        .unwrap_or_else(|never| match never {});
    }

    /// Notes the commit's time, which grows from batch to batch: what is acknowledged is vouched for by it.
    pub fn put_commit_time(&mut self, store: &Store, time: u64) {
        self.put_meta(store, COMMIT_TIME, &time.to_be_bytes());
        self.commit_time = Some(time);
    }
}
