//! Who owns which row, how often derived; and which row is a data subject.
//!
//! One small entry for each owner and row, so that a group of ten thousand members is ten thousand
//! entries and not one long value. Entries of a row follow each other by µDB id: the first names the canonical copy.

use std::ops::Bound;

use repr::{MicroDbId, RelationId, RowKey};

use crate::batch::Batch;
use crate::error::{StorageError, StoredEntry};
use crate::keyspace::{self, varint};
use crate::microdb::{self, MICRODB_BYTES};
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::{Cursor, Direction};

impl Batch {
    /// Records that a row is owned, through `derivations` paths.
    pub fn put_owner(&mut self, relation: RelationId, key: &RowKey, owner: MicroDbId, derivations: u32) {
        let mut value = Vec::new();
        // Nearly all rows are owned through one path: for them the entry's presence says it.
        if derivations != 1 {
            varint::write(u64::from(derivations), &mut value);
        }
        self.put(Family::Owners, &keyspace::owner(relation, key, owner), &value);
    }

    /// Removes an owner's entry.
    pub fn delete_owner(&mut self, relation: RelationId, key: &RowKey, owner: MicroDbId) {
        self.delete(Family::Owners, &keyspace::owner(relation, key, owner));
    }

    /// Records that a row is a data subject with this µDB, findable from either side.
    pub fn put_subject(&mut self, relation: RelationId, key: &RowKey, microdb: MicroDbId) {
        let by_row = keyspace::subject_by_row(relation, key);
        self.put(Family::Subjects, &by_row, &microdb::stored(microdb));
        self.put(Family::Subjects, &keyspace::subject_by_microdb(microdb), &by_row[1..]);
    }

    /// Removes a data subject's record, both sides.
    pub fn delete_subject(&mut self, relation: RelationId, key: &RowKey, microdb: MicroDbId) {
        self.delete(Family::Subjects, &keyspace::subject_by_row(relation, key));
        self.delete(Family::Subjects, &keyspace::subject_by_microdb(microdb));
    }
}

impl Snapshot {
    /// A row's owners and their derivations, smallest µDB id first; none when the row is absent.
    pub fn owners(&self, relation: RelationId, key: &RowKey) -> Result<Vec<(MicroDbId, u32)>, StorageError> {
        self.owner_probe().owners(relation, key)
    }

    // Whoever asks for a row's owners mostly reads the row next.
    pub(crate) fn hint(&self, relation: RelationId, key: &RowKey, owners: &[(MicroDbId, u32)]) {
        if let Some((canonical, _)) = owners.first() {
            self.store().hints().set(relation, key, *canonical);
        }
    }

    /// The owner whose copy is canonical; nothing when the row is absent.
    pub fn canonical_owner(&self, relation: RelationId, key: &RowKey) -> Result<Option<MicroDbId>, StorageError> {
        self.owner_probe().canonical(relation, key)
    }

    /// Asks for the owners of many rows.
    pub fn owner_probe(&self) -> OwnerProbe {
        OwnerProbe { cursor: Cursor::probe(self, Family::Owners) }
    }

    /// All ownership entries of a relation, by row key, then by µDB id.
    pub fn scan_owners(
        &self,
        relation: RelationId,
    ) -> impl Iterator<Item = Result<(RowKey, MicroDbId, u32), StorageError>> + Send + use<> {
        let cursor = Cursor::all(self, Family::Owners, &keyspace::relation(relation));
        cursor.entries("scan owners", move |key, value| parse(key, value).ok_or(malformed(relation)))
    }

    /// The rows of a personal relation in the order of their keys, from the first after `after`, each once with the owner
    /// whose copy is canonical; of a relation of data subjects with their own µDBs.
    pub fn personal_rows_after(
        &self,
        relation: RelationId,
        subjects: bool,
        after: Option<&RowKey>,
    ) -> impl Iterator<Item = Result<(RowKey, MicroDbId), StorageError>> + Send + use<> {
        let lower = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.bytes()));
        let (family, prefix) = if subjects {
            (Family::Subjects, keyspace::subjects_of(relation))
        } else {
            (Family::Owners, keyspace::relation(relation).to_vec())
        };
        let cursor = Cursor::range(self, family, &prefix, lower, Bound::Unbounded, Direction::Forward);
        let mut last: Option<RowKey> = None;
        cursor.filtered("scan a relation's row keys", move |key, value| {
            if subjects {
                let (_, row) = keyspace::parse_relation_row(&key[1..]).ok_or(SUBJECT)?;
                return Ok(Some((row, parse_microdb(value)?)));
            }
            let (row, owner) = keyspace::parse_owner(key).ok_or(malformed(relation))?;
            if last.as_ref() == Some(&row) {
                return Ok(None);
            }
            last = Some(row.clone());
            Ok(Some((row, owner)))
        })
    }

    /// The µDB of the data subject that this row is, if it is one.
    pub fn subject(&self, relation: RelationId, key: &RowKey) -> Result<Option<MicroDbId>, StorageError> {
        let (record, at) = (keyspace::subject_by_row(relation, key), self.sequence());
        let subjects = self.store().subjects();
        if let Some(microdb) = subjects.find(&record, at) {
            return Ok(Some(microdb));
        }
        let found = self.get(Family::Subjects, &record, "read a data subject")?;
        let microdb = found.map(|value| parse_microdb(&value)).transpose()?;
        microdb.inspect(|microdb| subjects.put(&record, at, *microdb));
        Ok(microdb)
    }

    /// The row that is the data subject of this µDB, if there is one.
    pub fn subject_of(&self, microdb: MicroDbId) -> Result<Option<(RelationId, RowKey)>, StorageError> {
        let found = self.get(Family::Subjects, &keyspace::subject_by_microdb(microdb), "read a data subject")?;
        found.map(|value| keyspace::parse_relation_row(&value).ok_or(SUBJECT)).transpose()
    }

    /// All data subjects, by relation and row key.
    pub fn scan_subjects(
        &self,
    ) -> impl Iterator<Item = Result<(RelationId, RowKey, MicroDbId), StorageError>> + Send + use<> {
        let cursor = Cursor::all(self, Family::Subjects, &keyspace::SUBJECTS_BY_ROW);
        cursor.entries("scan data subjects", |key, value| {
            let (relation, row) = keyspace::parse_relation_row(&key[1..]).ok_or(SUBJECT)?;
            Ok((relation, row, parse_microdb(value)?))
        })
    }

    /// All data subjects as found from their µDBs, for the check that both sides agree.
    pub(crate) fn scan_microdbs(
        &self,
    ) -> impl Iterator<Item = Result<(MicroDbId, RelationId, RowKey), StorageError>> + Send + use<> {
        let cursor = Cursor::all(self, Family::Subjects, &keyspace::SUBJECTS_BY_MICRODB);
        cursor.entries("scan data subjects", |key, value| {
            let microdb = parse_microdb(&key[1..])?;
            let (relation, row) = keyspace::parse_relation_row(value).ok_or(SUBJECT)?;
            Ok((microdb, relation, row))
        })
    }
}

/// Asks for one personal row after another whether it is there, without the cost of an iterator for each.
pub struct OwnerProbe {
    cursor: Cursor,
}

impl OwnerProbe {
    /// Whether the row is there.
    pub fn exists(&mut self, relation: RelationId, key: &RowKey) -> Result<bool, StorageError> {
        let found = self.cursor.find(&keyspace::owners_of(relation, key), "read owners", |_, _| ())?;
        Ok(found.is_some())
    }

    /// The owner whose copy is canonical; nothing when the row is absent.
    pub fn canonical(&mut self, relation: RelationId, key: &RowKey) -> Result<Option<MicroDbId>, StorageError> {
        let prefix = keyspace::owners_of(relation, key);
        match self.cursor.find(&prefix, "read owners", |key, _| keyspace::parse_owner(key))? {
            Some(Some((_, owner))) => Ok(Some(owner)),
            Some(None) => Err(malformed(relation)),
            None => Ok(None),
        }
    }

    /// The row's owners and their derivations, smallest µDB id first; none when the row is absent.
    pub fn owners(&mut self, relation: RelationId, key: &RowKey) -> Result<Vec<(MicroDbId, u32)>, StorageError> {
        let mut owners = Vec::with_capacity(1);
        let mut parsed = true;
        self.cursor.find_all(&keyspace::owners_of(relation, key), "read owners", |key, value| {
            match parse(key, value) {
                Some((_, owner, derivations)) => owners.push((owner, derivations)),
                None => parsed = false,
            }
            true
        })?;
        if !parsed {
            return Err(malformed(relation));
        }
        self.cursor.snapshot().hint(relation, key, &owners);
        Ok(owners)
    }
}

const SUBJECT: StorageError = StorageError::Malformed { entry: StoredEntry::Subject };

fn malformed(relation: RelationId) -> StorageError {
    StorageError::Malformed { entry: StoredEntry::Owner(relation) }
}

fn parse(key: &[u8], value: &[u8]) -> Option<(RowKey, MicroDbId, u32)> {
    let (row, owner) = keyspace::parse_owner(key)?;
    if value.is_empty() {
        return Some((row, owner, 1));
    }
    let (derivations, rest) = varint::read(value)?;
    rest.is_empty().then_some((row, owner, u32::try_from(derivations).ok()?))
}

fn parse_microdb(value: &[u8]) -> Result<MicroDbId, StorageError> {
    let bytes: [u8; MICRODB_BYTES] = value.try_into().map_err(|_| SUBJECT)?;
    Ok(microdb::loaded(bytes))
}
