//! Some rows of a relation, for statistics: all are counted, every so many is opened.

use crate::crypto::seal::{Header, SealKind};
use crate::error::StorageError;
use crate::keyspace;
use crate::rocks::Family;
use crate::snapshot::cursor::Cursor;
use crate::snapshot::{Snapshot, malformed, open_copy, open_impersonal};
use repr::{RelationId, Row};

/// See the module.
pub struct SampledRows {
    /// How many there are.
    pub rows: u64,
    /// Some of them, all parts of the relation alike.
    pub sample: Vec<Row>,
}

impl Snapshot {
    /// Counts a relation's rows and takes some of them, about as many as wanted. `go_on` hears of each row how many there were
    /// before it; nothing once it says no. The cache stays as it is, and nobody is noted to have read them.
    pub fn sample(
        &self,
        relation: RelationId,
        personal: bool,
        wanted: usize,
        mut go_on: impl FnMut(u64) -> bool,
    ) -> Result<Option<SampledRows>, StorageError> {
        let store = self.store();
        let mut cursor = Cursor::all_once(self, Family::Rows, &keyspace::relation(relation));
        let (mut rows, mut each, mut sample) = (0_u64, 1_u64, Vec::new());
        loop {
            if !go_on(rows) {
                return Ok(None);
            }
            let taken = rows.is_multiple_of(each);
            let read =
                cursor.next("sample a relation", |key, sealed| -> Result<Option<Option<Row>>, StorageError> {
                    if !personal {
                        return if taken {
                            Ok(Some(Some(open_impersonal(store, relation, key, sealed)?.1)))
                        } else {
                            Ok(Some(None))
                        };
                    }
                    let (header, _) = Header::parse(sealed).ok_or(malformed(relation))?;
                    match header.kind {
                        SealKind::Personal { canonical: true } if taken => {
                            match open_copy(store, relation, key, sealed) {
                                Ok(copy) => Ok(Some(Some(copy.row))),
                                // Forgotten since.
                                Err(StorageError::KeyDestroyed) => Ok(None),
                                Err(error) => Err(error),
                            }
                        }
                        SealKind::Personal { canonical: true } => Ok(Some(None)),
                        SealKind::Personal { canonical: false } => Ok(None),
                        SealKind::Impersonal => Err(malformed(relation)),
                    }
                })?;
            let Some(read) = read else { return Ok(Some(SampledRows { rows, sample })) };
            let Some(row) = read? else { continue };
            rows += 1;
            sample.extend(row);
            if sample.len() >= 2 * wanted {
                // From here on every second of those that were taken.
                let mut place = 0;
                sample.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                each *= 2;
            }
        }
    }
}
