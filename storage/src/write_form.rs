//! Batches as RocksDB takes them: the bytes of its own write batches, which stand in its log as they are.
//!
//! ```text
//! sequence number(8, its own) ‖ operations(4) ‖ operation*                    integers little-endian, lengths as varints
//! operation = tag ‖ family ‖ key length ‖ key ‖ value length ‖ value          a deletion has no value
//! ```
//! Written here at once, since a call for each of thousands of keys takes longer than what it does. What numbers the families
//! have is read from what RocksDB writes itself.

use rocksdb::{DB, WriteBatch};

use crate::batch::{Batch, Operation};
use crate::keyspace::varint;
use crate::rocks::{FAMILIES, Family};

/// Before the operations.
pub(crate) const HEADER_BYTES: usize = 12;
/// Where their number stands.
pub(crate) const COUNT_AT: usize = 8;

/// Deletes a key.
pub(crate) const DELETE: u8 = 0x04;
/// Writes a value.
pub(crate) const PUT: u8 = 0x05;
/// Deletes a range of keys.
pub(crate) const DELETE_RANGE: u8 = 0x0e;

/// Longer than any number.
const NO_NUMBER: [u8; 6] = [0xff; 6];

/// The families' numbers in one database, each as a varint.
pub(crate) struct WriteForm([Vec<u8>; FAMILIES.len()]);

/// Operations that are being written down.
pub(crate) struct Writes<'a> {
    form: &'a WriteForm,
    bytes: Vec<u8>,
    count: u32,
}

impl WriteForm {
    /// As RocksDB numbers the families. Those that are not open have no number.
    pub(crate) fn of(db: &DB) -> WriteForm {
        WriteForm(FAMILIES.map(|family| {
            let Some(handle) = db.cf_handle(family.name()) else { return NO_NUMBER.to_vec() };
            let mut one = WriteBatch::default();
            one.delete_cf(handle, b"");
            match &one.data()[HEADER_BYTES..] {
                [DELETE, number @ .., 0] => number.to_vec(),
                _ => panic!("RocksDB writes deletions in families that are not its default one in this form"),
            }
        }))
    }

    /// The family whose number stands first, and what follows.
    pub(crate) fn family<'a>(&self, bytes: &'a [u8]) -> Option<(Family, &'a [u8])> {
        let numbered = FAMILIES.into_iter().zip(&self.0);
        numbered.into_iter().find_map(|(family, number)| Some((family, bytes.strip_prefix(number.as_slice())?)))
    }

    /// Nothing yet, with room for so many bytes.
    pub(crate) fn begin(&self, bytes: usize) -> Writes<'_> {
        let mut room = Vec::with_capacity(HEADER_BYTES + bytes);
        room.resize(HEADER_BYTES, 0);
        Writes { form: self, bytes: room, count: 0 }
    }
}

impl Writes<'_> {
    /// Adds the operations of a batch, in their order.
    pub(crate) fn add(&mut self, batch: &Batch) {
        for operation in batch.operations() {
            match operation {
                Operation::Put(family, key, value) => self.put(family, key, value),
                Operation::Delete(family, key) => self.start(DELETE, family, key),
                Operation::DeleteRange(family, from, to) => {
                    self.start(DELETE_RANGE, family, from);
                    self.part(to);
                }
            }
        }
    }

    /// Adds a value that is written.
    pub(crate) fn put(&mut self, family: Family, key: &[u8], value: &[u8]) {
        self.start(PUT, family, key);
        self.part(value);
    }

    fn start(&mut self, tag: u8, family: Family, key: &[u8]) {
        self.count += 1;
        self.bytes.push(tag);
        self.bytes.extend_from_slice(&self.form.0[family as usize]);
        self.part(key);
    }

    fn part(&mut self, part: &[u8]) {
        varint::write(part.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(part);
    }

    /// How many bytes there are.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// For RocksDB.
    pub(crate) fn finish(mut self) -> WriteBatch {
        self.bytes[COUNT_AT..HEADER_BYTES].copy_from_slice(&self.count.to_le_bytes());
        WriteBatch::from_data(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_folder::TemporaryFolder;
    use rocksdb::Options;

    #[test]
    fn it_is_what_rocksdb_writes_itself() {
        let folder = TemporaryFolder::new("write-form");
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        {
            let db = DB::open_cf(&options, &*folder, FAMILIES.map(Family::name)).expect("an empty database opens");
            let (mut batch, mut theirs) = (Batch::default(), WriteBatch::default());
            for (number, family) in FAMILIES.into_iter().cycle().take(300).enumerate() {
                let (key, value) = (vec![7; number], vec![9; 3 * number]);
                match number % 3 {
                    0 => {
                        batch.put(family, &key, &value);
                        theirs.put_cf(family.handle(&db), &key, &value);
                    }
                    1 => {
                        batch.delete(family, &key);
                        theirs.delete_cf(family.handle(&db), &key);
                    }
                    _ => {
                        batch.delete_range(family, &key, &value);
                        theirs.delete_range_cf(family.handle(&db), &key, &value);
                    }
                }
            }
            let form = WriteForm::of(&db);
            let mut ours = form.begin(batch.bytes());
            ours.add(&batch);
            let bytes = ours.bytes();
            let ours = ours.finish();
            assert_eq!((ours.data(), ours.size_in_bytes()), (theirs.data(), bytes));
        }
    }
}
