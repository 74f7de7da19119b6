//! The offline check of what storage alone can know: seals, canonical marks, owners, index entries, subjects, the log, files.
//!
//! Nothing is repaired. What a schema says (foreign keys, annotations, missing index entries) is the
//! engine's to check, over the same iterators. Problems name relations, indexes and files, never people.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::PathBuf;

use repr::{IndexId, RelationId, RowKey};
use rocksdb::ReadOptions;

use crate::audit::verify::VerifyError;
use crate::error::StorageError;
use crate::keyspace;
use crate::rocks::{self, Family};
use crate::side_files::MARKER;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::{Cursor, Direction};

/// A relation to check.
#[derive(Clone, Debug)]
pub struct CheckedRelation {
    /// Which.
    pub relation: RelationId,
    /// Whether its rows belong to people.
    pub personal: bool,
    /// Its hashed indexes.
    pub hashed: Vec<IndexId>,
    /// Its ordered indexes.
    pub ordered: Vec<IndexId>,
}

/// Something that is not as it must be.
#[derive(Debug)]
pub enum Problem {
    /// A scan stopped: damage, a broken seal, a destroyed key.
    Unreadable {
        /// In which relation, where it is known.
        relation: Option<RelationId>,
        /// Why.
        error: StorageError,
    },
    /// A stored copy whose owner has no ownership entry.
    CopyWithoutOwner(RelationId),
    /// An ownership entry whose copy is not stored.
    OwnerWithoutCopy(RelationId),
    /// A canonical mark on another copy than the smallest owner's, or none, or two.
    CanonicalMark(RelationId),
    /// Copies of one row that differ.
    CopiesDiffer(RelationId),
    /// An index entry that points to no row.
    DanglingIndexEntry(IndexId),
    /// An index entry whose locator owns no copy of the row.
    DanglingLocator(IndexId),
    /// Entries of an index that no relation has, and that nobody was making.
    UnknownIndex(IndexId),
    /// Rows or ownership entries of a relation that there is not.
    UnknownRelation(RelationId),
    /// A data subject found from one side only.
    SubjectSides,
    /// A data subject whose key is gone.
    SubjectWithoutKey,
    /// A data subject one of whose key's two copies is damaged.
    DamagedKeyCopy,
    /// What the store tells an operator by itself.
    Notice(String),
    /// A damaged file.
    DamagedFile(PathBuf),
    /// The audit log.
    Audit(VerifyError),
    /// What leads to records of the audit log by whom they mention does not lead to all, from this one on.
    Postings(u64),
}

/// What was looked at and what was found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Logical rows.
    pub rows: u64,
    /// Stored copies of personal rows.
    pub copies: u64,
    /// Index entries.
    pub index_entries: u64,
    /// Data subjects.
    pub subjects: u64,
    /// Files read from end to end.
    pub files: u64,
    /// The problems, at most `PROBLEMS_MAX`.
    pub problems: Vec<Problem>,
}

/// Problems kept in a report.
pub const PROBLEMS_MAX: usize = 1000;

/// Checks everything that storage knows of these relations.
pub fn check(snapshot: &Snapshot, relations: &[CheckedRelation]) -> CheckReport {
    let mut report = CheckReport::default();
    snapshot.store().take_notices().into_iter().for_each(|notice| report.add(Problem::Notice(notice)));
    report.files(snapshot);
    for relation in relations {
        let checked = match relation.personal {
            true => report.personal(snapshot, relation.relation),
            false => report.impersonal(snapshot, relation.relation),
        };
        let checked = checked.and_then(|()| report.indexes(snapshot, relation));
        if let Err(error) = checked {
            report.add(Problem::Unreadable { relation: Some(relation.relation), error });
        }
    }
    if let Err(error) = report.strangers(snapshot, relations) {
        report.add(Problem::Unreadable { relation: None, error });
    }
    if let Err(error) = report.people(snapshot) {
        report.add(Problem::Unreadable { relation: None, error });
    }
    if let Err(error) = report.log(snapshot) {
        report.add(Problem::Unreadable { relation: None, error });
    }
    report
}

impl CheckReport {
    fn add(&mut self, problem: Problem) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    /// Reads every file's blocks against their checksums.
    fn files(&mut self, snapshot: &Snapshot) {
        let db = snapshot.store().db();
        let files = match db.live_files() {
            Ok(files) => files,
            Err(error) => {
                let error = rocks::failed("list files")(error);
                return self.add(Problem::Unreadable { relation: None, error });
            }
        };
        let mut damaged = BTreeSet::new();
        for file in files {
            let Some(family) = rocks::FAMILIES.into_iter().find(|family| family.name() == file.column_family_name)
            else {
                continue;
            };
            let (Some(start), Some(end)) = (file.start_key, file.end_key) else { continue };
            self.files += 1;
            if let Err(error) = read_range(snapshot, family, start, &end) {
                let name = match error {
                    StorageError::Rocks { file: Some(ref file), .. } => file.clone(),
                    _ => PathBuf::from(file.name.trim_start_matches('/')),
                };
                damaged.insert(name);
            }
        }
        damaged.into_iter().for_each(|file| self.add(Problem::DamagedFile(file)));
    }

    fn personal(&mut self, snapshot: &Snapshot, relation: RelationId) -> Result<(), StorageError> {
        for copy in snapshot.scan_copies(relation) {
            let copy = copy?;
            self.copies += 1;
            let owners = snapshot.owners(relation, &copy.key)?;
            if !owners.iter().any(|(owner, _)| *owner == copy.owner) {
                self.add(Problem::CopyWithoutOwner(relation));
                continue;
            }
            let smallest = owners[0].0 == copy.owner;
            if smallest != copy.canonical {
                self.add(Problem::CanonicalMark(relation));
            }
            if copy.canonical {
                self.rows += 1;
            } else if snapshot.get_personal(relation, &copy.key)? != Some(copy.row) {
                self.add(Problem::CopiesDiffer(relation));
            }
        }
        for entry in snapshot.scan_owners(relation) {
            // Owners through self-references stand with no derivation of their own: the engine's to judge.
            let (key, owner, _) = entry?;
            if snapshot.get_copy(relation, &key, owner)?.is_none() {
                self.add(Problem::OwnerWithoutCopy(relation));
            }
        }
        Ok(())
    }

    fn impersonal(&mut self, snapshot: &Snapshot, relation: RelationId) -> Result<(), StorageError> {
        for row in snapshot.scan(relation, false) {
            row?;
            self.rows += 1;
        }
        Ok(())
    }

    fn indexes(&mut self, snapshot: &Snapshot, relation: &CheckedRelation) -> Result<(), StorageError> {
        let present = |key: &RowKey| match relation.personal {
            true => snapshot.canonical_owner(relation.relation, key).map(|owner| owner.is_some()),
            false => snapshot.get_impersonal(relation.relation, key).map(|row| row.is_some()),
        };
        for &index in &relation.hashed {
            for entry in snapshot.scan_index_hashed_all(index) {
                let (_, key, locator) = entry?;
                self.index_entries += 1;
                if !present(&key)? {
                    self.add(Problem::DanglingIndexEntry(index));
                } else if let Some(owner) = locator
                    && snapshot.get_copy(relation.relation, &key, owner)?.is_none()
                {
                    self.add(Problem::DanglingLocator(index));
                }
            }
        }
        for &index in &relation.ordered {
            for entry in snapshot.scan_index_ordered_all(index) {
                let (_, key) = entry?;
                self.index_entries += 1;
                if !present(&key)? {
                    self.add(Problem::DanglingIndexEntry(index));
                }
            }
        }
        Ok(())
    }

    /// What stands under numbers that nobody has.
    fn strangers(&mut self, snapshot: &Snapshot, relations: &[CheckedRelation]) -> Result<(), StorageError> {
        let mut indexes: BTreeSet<u32> =
            relations.iter().flat_map(|one| one.hashed.iter().chain(&one.ordered)).map(|index| index.0).collect();
        // The next start takes these away.
        indexes.extend(snapshot.store().unfinished_indexes()?.into_iter().map(|index| index.0));
        for number in numbers_in(snapshot, Family::Index)? {
            if !indexes.contains(&number) {
                self.add(Problem::UnknownIndex(IndexId(number)));
            }
        }
        let mut numbers = numbers_in(snapshot, Family::Rows)?;
        numbers.extend(numbers_in(snapshot, Family::Owners)?);
        relations.iter().for_each(|known| {
            numbers.remove(&known.relation.0);
        });
        numbers.into_iter().for_each(|number| self.add(Problem::UnknownRelation(RelationId(number))));
        Ok(())
    }

    fn people(&mut self, snapshot: &Snapshot) -> Result<(), StorageError> {
        for subject in snapshot.scan_subjects() {
            let (relation, key, microdb) = subject?;
            self.subjects += 1;
            if snapshot.subject_of(microdb)? != Some((relation, key)) {
                self.add(Problem::SubjectSides);
            }
            if !snapshot.store().key_exists(microdb)? {
                self.add(Problem::SubjectWithoutKey);
            } else if snapshot.store().keyring().has_damaged_copy(microdb)? {
                self.add(Problem::DamagedKeyCopy);
            }
        }
        for subject in snapshot.scan_microdbs() {
            let (microdb, relation, key) = subject?;
            if snapshot.subject(relation, &key)? != Some(microdb) {
                self.add(Problem::SubjectSides);
            }
        }
        Ok(())
    }

    fn log(&mut self, snapshot: &Snapshot) -> Result<(), StorageError> {
        match snapshot.check_log()? {
            Err(error) => self.add(Problem::Audit(error)),
            Ok(()) => {
                if let Some(record) = snapshot.ill_posted()? {
                    self.add(Problem::Postings(record));
                }
            }
        }
        Ok(())
    }
}

/// The numbers with which a family's keys begin, without reading what lies between.
pub(crate) fn numbers_in(snapshot: &Snapshot, family: Family) -> Result<BTreeSet<u32>, StorageError> {
    let mut numbers = BTreeSet::new();
    let mut from = Some(Vec::new());
    while let Some(lower) = from {
        let (lower, upper) = (Bound::Included(lower.as_slice()), Bound::Unbounded);
        let mut cursor = Cursor::range(snapshot, family, &[], lower, upper, Direction::Forward);
        let found = cursor.next("look for what is stored", |key, _| {
            // No number, but what a start takes away.
            (key != MARKER).then(|| key.first_chunk().copied().unwrap_or_default())
        })?;
        let Some(Some(number)) = found else { break };
        numbers.insert(u32::from_be_bytes(number));
        from = keyspace::successor(&number);
    }
    Ok(numbers)
}

/// Reads a file's range with checksums, past the cache.
fn read_range(snapshot: &Snapshot, family: Family, start: Vec<u8>, end: &[u8]) -> Result<(), StorageError> {
    let db = snapshot.store().db();
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    options.set_verify_checksums(true);
    options.fill_cache(false);
    // The end itself belongs to the file: the first key after it bounds the read.
    options.set_iterate_upper_bound([end, &[0]].concat());
    let mut iterator = db.raw_iterator_cf_opt(family.handle(db), options);
    iterator.seek(&start);
    while iterator.valid() {
        iterator.next();
    }
    iterator.status().map_err(rocks::failed("read a file"))
}
