//! Arrangements of rows: flat bytes by key, in differential's spines.
//!
//! A key is `repr::key` bytes, so that equal keys are SQL-equal; the value is a packed row (or bytes
//! that sort like an ORDER BY). Every arrangement has a name. Keys leave an arrangement as datums where `key_columns` says
//! so only: of most types the encoding does not decode, so what is needed later travels in the value.

use crate::meter::{HeapBytes, Meter, trim_vec};
use crate::offsets::Offsets;
use crate::shared::{Shared, SharedBuilder};
use crate::time::ArrangeTime;
use crate::times::Times;
use differential_dataflow::VecCollection;
use differential_dataflow::difference::Semigroup;
use differential_dataflow::operators::arrange::arrangement::arrange_core;
use differential_dataflow::operators::arrange::{Arranged, TraceAgent};
use differential_dataflow::trace::implementations::containers::BatchContainer;
use differential_dataflow::trace::implementations::merge_batcher::{MergeBatcher, vec::VecMerger};
use differential_dataflow::trace::implementations::ord_neu::{OrdValBatch, OrdValBuilder};
use differential_dataflow::trace::implementations::spine_fueled::Spine;
use differential_dataflow::trace::implementations::{ContainerChunker, Layout};
use repr::Row;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Range;
use timely::container::PushInto;
use timely::dataflow::channels::pact::Pipeline;

/// A key as an arrangement holds it.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub Box<[u8]>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A key or row inside a batch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes<'a>(pub &'a [u8]);

/// What can stand in a `Flat` container.
pub trait FlatBytes: Clone + Ord + 'static {
    /// From bytes of the same type's.
    fn copy_from(bytes: &[u8]) -> Self;
    /// Its bytes, in whose order it sorts.
    fn flat(&self) -> &[u8];
}

impl FlatBytes for Key {
    fn copy_from(bytes: &[u8]) -> Self {
        Key(bytes.into())
    }
    fn flat(&self) -> &[u8] {
        &self.0
    }
}

impl FlatBytes for Row {
    fn copy_from(bytes: &[u8]) -> Self {
        Row::from_bytes(bytes.into())
    }
    fn flat(&self) -> &[u8] {
        self.bytes()
    }
}

impl<'a> PartialEq<&'a Key> for Bytes<'a> {
    fn eq(&self, other: &&'a Key) -> bool {
        self.0 == other.flat()
    }
}

impl<'a> PartialEq<&'a Row> for Bytes<'a> {
    fn eq(&self, other: &&'a Row) -> bool {
        self.0 == other.flat()
    }
}

/// Byte strings one after another: mostly a byte or less of overhead each (see `offsets`) instead of an allocation.
pub struct Flat<B> {
    /// Where each string ends.
    ends: Offsets,
    bytes: Vec<u8>,
    owned: PhantomData<B>,
}

impl<B: FlatBytes> Flat<B> {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    /// Where a string begins.
    pub fn start(&self, index: usize) -> usize {
        if index == 0 { 0 } else { self.ends.index(index - 1) }
    }

    /// Where a string ends, which is where the next one begins.
    #[inline]
    pub fn end(&self, index: usize) -> usize {
        self.ends.index(index)
    }

    /// Where this string is, of strings in order and each once. Looking from the middle on takes half as long as from the beginning,
    /// where a cursor begins.
    pub fn find(&self, bytes: &[u8]) -> Option<usize> {
        let (mut first, mut end) = (0, self.ends.len());
        while first < end {
            let middle = first.midpoint(end);
            match self.index(middle).0.cmp(bytes) {
                Ordering::Less => first = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => end = middle,
            }
        }
        None
    }

    /// What stands there.
    #[inline]
    pub(crate) fn stretch(&self, place: Range<usize>) -> Bytes<'_> {
        Bytes(&self.bytes[place])
    }
}

impl<B: FlatBytes> PushInto<B> for Flat<B> {
    fn push_into(&mut self, item: B) {
        self.push(item.flat());
    }
}

impl<B: FlatBytes> BatchContainer for Flat<B> {
    type Owned = B;
    type ReadItem<'a> = Bytes<'a>;

    fn into_owned(item: Bytes<'_>) -> B {
        B::copy_from(item.0)
    }
    fn push_ref(&mut self, item: Bytes<'_>) {
        self.push(item.0);
    }
    fn push_own(&mut self, item: &B) {
        self.push(item.flat());
    }
    fn clear(&mut self) {
        self.ends.clear();
        // What is kept for the next rows is room, not the last ones.
        self.bytes.fill(0);
        self.bytes.clear();
    }
    fn with_capacity(size: usize) -> Self {
        Flat { ends: Offsets::with_capacity(size), bytes: Vec::new(), owned: PhantomData }
    }
    fn merge_capacity(left: &Self, right: &Self) -> Self {
        Flat {
            ends: Offsets::merge_capacity(&left.ends, &right.ends),
            bytes: Vec::with_capacity(left.bytes.len() + right.bytes.len()),
            owned: PhantomData,
        }
    }
    fn reborrow<'b, 'a: 'b>(item: Bytes<'a>) -> Bytes<'b> {
        item
    }
    fn index(&self, index: usize) -> Bytes<'_> {
        Bytes(&self.bytes[self.ends.range(index)])
    }
    fn len(&self) -> usize {
        self.ends.len()
    }
}

impl<B> HeapBytes for Flat<B> {
    fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.heap_bytes()
    }
    fn trim(&mut self) {
        trim_vec(&mut self.bytes);
        self.ends.trim();
    }
}

/// Rows by key, with their times and differences.
pub struct RowLayout<T, R>(PhantomData<(T, R)>);

impl<T: ArrangeTime, R: RowDiff> Layout for RowLayout<T, R> {
    type KeyContainer = Flat<Key>;
    type ValContainer = Flat<Row>;
    type TimeContainer = Times<T>;
    type DiffContainer = R::Column;
    type OffsetContainer = Offsets;
}

/// What the updates of a row add up to.
pub trait RowDiff: Semigroup + Ord + 'static {
    /// Holds those of a batch.
    type Column: BatchContainer<Owned = Self> + HeapBytes;
}

impl RowDiff for isize {
    type Column = Vec<isize>;
}

/// How rows by key are sorted.
pub type RowBatcher<T, R> = MergeBatcher<VecMerger<(Key, Row), T, R>>;
/// How batches of them are made.
pub type RowBuilder<T, R> = SharedBuilder<OrdValBuilder<RowLayout<T, R>, Vec<((Key, Row), T, R)>>>;
/// A batch of rows by key.
pub type RowBatch<T, R> = Shared<OrdValBatch<RowLayout<T, R>>>;
/// The trace of rows by key.
pub type RowSpine<T, R> = Spine<RowBatch<T, R>>;
/// Rows arranged by key.
pub type RowsByKey<'s, T, R = isize> = Arranged<'s, TraceAgent<RowSpine<T, R>>>;

/// Arranges rows by key.
pub fn arrange<'s, T: ArrangeTime, R: RowDiff>(
    meter: &Meter,
    rows: VecCollection<'s, T, (Key, Row), R>,
    name: &str,
) -> RowsByKey<'s, T, R> {
    let arranged = arrange_core::<
        _,
        _,
        ContainerChunker<Vec<((Key, Row), T, R)>>,
        RowBatcher<T, R>,
        RowBuilder<T, R>,
        RowSpine<T, R>,
    >(rows.inner, Pipeline, name);
    meter.watch(&arranged.trace);
    arranged
}

/// Tells the meter of what is about to be arranged.
pub fn metered(meter: &Meter, key: Vec<u8>, row: Row) -> (Key, Row) {
    meter.count(key.len() + row.bytes().len());
    (Key(key.into_boxed_slice()), row)
}

/// Rows packed one behind the other are one packed row.
pub fn concatenate(left: &[u8], right: &[u8]) -> Row {
    let mut bytes = Vec::with_capacity(left.len() + right.len());
    bytes.extend_from_slice(left);
    bytes.extend_from_slice(right);
    Row::from_bytes(bytes.into_boxed_slice())
}

/// One group as `reduce` shows it: values in byte order with what they add up to, never zero.
pub type Group<'g, 'a, R> = &'g [(Bytes<'a>, R)];

/// Each key that has values, once, arranged.
pub fn distinct_keys<'s, T: ArrangeTime>(meter: &Meter, arranged: RowsByKey<'s, T>, name: &str) -> RowsByKey<'s, T> {
    let distinct = arranged.reduce_abelian::<_, RowBuilder<T, isize>, RowSpine<T, isize>, Flat<Key>, _>(
        name,
        |_key, input, output| {
            if input.iter().any(|(_, diff)| *diff > 0) {
                output.push((Row::default(), 1));
            }
        },
        |updates, key, rows| {
            updates.clear();
            let key = Flat::<Key>::into_owned(key);
            updates.extend(rows.drain(..).map(|(row, time, diff)| ((key.clone(), row), time, diff)));
        },
    );
    meter.watch(&distinct.trace);
    distinct
}
