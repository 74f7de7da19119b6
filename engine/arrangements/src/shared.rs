//! Batches behind `Arc`: what a view publishes, readable from any thread with no second copy.
//!
//! Differential's batches are immutable; only its `Rc` keeps them on one thread. `Shared` is that `Rc` as an
//! `Arc`, and works unmodified with arrangements and spines. A reader holds a list of batches, and adds up
//! what they say of a key: `for_key`. A merged batch lets go of room that it does not need; it never changes afterwards.

use crate::arrangement::{Bytes, Key, RowDiff, RowLayout};
use crate::meter::{batch_bytes, trim_batch};
use crate::time::ArrangeTime;
use differential_dataflow::trace::cursor::{Cursor, Navigable};
use differential_dataflow::trace::implementations::containers::BatchContainer;
use differential_dataflow::trace::implementations::ord_neu::val_batch::{OrdValBatch, OrdValBuilder, OrdValStorage};
use differential_dataflow::trace::implementations::spine_fueled::Spine;
use differential_dataflow::trace::{Batch, BatchReader, Builder, Description, Merger};
use repr::Row;
use std::ops::Range;
use std::sync::Arc;
use timely::progress::{Antichain, frontier::AntichainRef};

/// A batch that any thread may read.
pub struct Shared<B>(Arc<B>);

impl<B> Clone for Shared<B> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

impl<B: BatchReader + Navigable> Navigable for Shared<B> {
    type Cursor = SharedCursor<B::Cursor>;
    fn cursor(&self) -> Self::Cursor {
        SharedCursor(self.0.cursor())
    }
}

impl<B: BatchReader> BatchReader for Shared<B> {
    type Time = B::Time;
    fn len(&self) -> usize {
        self.0.len()
    }
    fn description(&self) -> &Description<B::Time> {
        self.0.description()
    }
}

/// Batches that can let go of room for what is not there.
pub trait Trim {
    /// Does so.
    fn trim(&mut self);
}

impl<T: ArrangeTime, R: RowDiff> Trim for OrdValBatch<RowLayout<T, R>> {
    fn trim(&mut self) {
        trim_batch(self);
    }
}

impl<B: Batch + Trim> Batch for Shared<B> {
    type Merger = SharedMerger<B>;
    fn empty(lower: Antichain<B::Time>, upper: Antichain<B::Time>) -> Self {
        Shared(Arc::new(B::empty(lower, upper)))
    }
}

/// A cursor over a shared batch.
pub struct SharedCursor<C>(C);

impl<C: Cursor> Cursor for SharedCursor<C> {
    type Storage = Shared<C::Storage>;
    type Key<'a> = C::Key<'a>;
    type ValOwn = C::ValOwn;
    type Val<'a> = C::Val<'a>;
    type Time = C::Time;
    type TimeGat<'a> = C::TimeGat<'a>;
    type Diff = C::Diff;
    type DiffGat<'a> = C::DiffGat<'a>;
    type KeyContainer = C::KeyContainer;
    type ValContainer = C::ValContainer;
    type TimeContainer = C::TimeContainer;
    type DiffContainer = C::DiffContainer;

    fn key_valid(&self, storage: &Self::Storage) -> bool {
        self.0.key_valid(&storage.0)
    }
    fn val_valid(&self, storage: &Self::Storage) -> bool {
        self.0.val_valid(&storage.0)
    }
    fn key<'a>(&self, storage: &'a Self::Storage) -> Self::Key<'a> {
        self.0.key(&storage.0)
    }
    fn val<'a>(&self, storage: &'a Self::Storage) -> Self::Val<'a> {
        self.0.val(&storage.0)
    }
    fn get_key<'a>(&self, storage: &'a Self::Storage) -> Option<Self::Key<'a>> {
        self.0.get_key(&storage.0)
    }
    fn get_val<'a>(&self, storage: &'a Self::Storage) -> Option<Self::Val<'a>> {
        self.0.get_val(&storage.0)
    }
    fn map_times<L: FnMut(Self::TimeGat<'_>, Self::DiffGat<'_>)>(&mut self, storage: &Self::Storage, logic: L) {
        self.0.map_times(&storage.0, logic);
    }
    fn step_key(&mut self, storage: &Self::Storage) {
        self.0.step_key(&storage.0);
    }
    fn seek_key(&mut self, storage: &Self::Storage, key: Self::Key<'_>) {
        self.0.seek_key(&storage.0, key);
    }
    fn step_val(&mut self, storage: &Self::Storage) {
        self.0.step_val(&storage.0);
    }
    fn seek_val(&mut self, storage: &Self::Storage, val: Self::Val<'_>) {
        self.0.seek_val(&storage.0, val);
    }
    fn rewind_keys(&mut self, storage: &Self::Storage) {
        self.0.rewind_keys(&storage.0);
    }
    fn rewind_vals(&mut self, storage: &Self::Storage) {
        self.0.rewind_vals(&storage.0);
    }
}

/// A merge of shared batches under way.
pub struct SharedMerger<B: Batch>(B::Merger);

impl<B: Batch + Trim> Merger<Shared<B>> for SharedMerger<B> {
    fn new(left: &Shared<B>, right: &Shared<B>, frontier: AntichainRef<'_, B::Time>) -> Self {
        SharedMerger(B::begin_merge(&left.0, &right.0, frontier))
    }
    fn work(&mut self, left: &Shared<B>, right: &Shared<B>, fuel: &mut isize) {
        self.0.work(&left.0, &right.0, fuel);
    }
    fn done(self) -> Shared<B> {
        // Room was made for the sum of both.
        let mut merged = self.0.done();
        merged.trim();
        Shared(Arc::new(merged))
    }
}

/// Builds shared batches.
pub struct SharedBuilder<B: Builder>(B);

impl<B: Builder> Builder for SharedBuilder<B> {
    type Input = B::Input;
    type Time = B::Time;
    type Output = Shared<B::Output>;
    fn with_capacity(keys: usize, vals: usize, updates: usize) -> Self {
        SharedBuilder(B::with_capacity(keys, vals, updates))
    }
    fn push(&mut self, chunk: &mut Self::Input) {
        self.0.push(chunk);
    }
    fn done(self, description: Description<Self::Time>) -> Self::Output {
        Shared(Arc::new(self.0.done(description)))
    }
    fn seal(chain: &mut Vec<Self::Input>, description: Description<Self::Time>) -> Self::Output {
        Shared(Arc::new(B::seal(chain, description)))
    }
}

type ViewLayout = RowLayout<u64, isize>;
/// How batches are made.
pub type ViewBuilder = SharedBuilder<OrdValBuilder<ViewLayout, Vec<((Key, Row), u64, isize)>>>;
/// A batch of a view.
pub type ViewBatch = Shared<OrdValBatch<ViewLayout>>;
/// The trace of a view.
pub type ViewSpine = Spine<ViewBatch>;

impl<T: ArrangeTime, R: RowDiff> Shared<OrdValBatch<RowLayout<T, R>>> {
    /// How many updates it holds.
    pub fn updates(&self) -> usize {
        self.len()
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        batch_bytes(&self.0)
    }

    /// Whether nobody else holds it.
    pub fn is_held_once(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl ViewBatch {
    /// Every update: key, row and difference.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], &[u8], isize)) {
        let mut cursor = self.cursor();
        while let Some(key) = cursor.get_key(self) {
            while let Some(row) = cursor.get_val(self) {
                visit(key.0, row.0, total(&mut cursor, self));
                cursor.step_val(self);
            }
            cursor.step_key(self);
        }
    }
}

impl ViewBatch {
    /// Every key.
    pub fn for_each_key(&self, mut visit: impl FnMut(&[u8])) {
        let keys = &self.0.storage.keys;
        (0..keys.len()).for_each(|at| visit(keys.index(at).0));
    }
}

type ViewCursor = <ViewBatch as Navigable>::Cursor;

fn total(cursor: &mut ViewCursor, batch: &ViewBatch) -> isize {
    let mut total = 0;
    cursor.map_times(batch, |_time, diff| total += *diff);
    total
}

fn storage(batch: &ViewBatch) -> &OrdValStorage<ViewLayout> {
    &batch.0.storage
}

/// The rows of one key in some batches, in byte order. Goes through the same batches always, and holds none of them.
#[derive(Default)]
pub struct KeyCursor {
    found: Vec<OfKey>,
    /// Which batch's, and where its bytes stand in it.
    row: (usize, Range<usize>),
}

/// Where the rows of the key stand in a batch, those that are still to come.
struct OfKey {
    batch: usize,
    rows: Range<usize>,
    /// Where the bytes of the first of them begin.
    start: usize,
}

impl OfKey {
    fn find(batches: &[ViewBatch], batch: usize, key: &[u8]) -> Option<Self> {
        let storage = storage(&batches[batch]);
        let (first, end) = storage.vals.bounds(storage.keys.find(key)?);
        Some(OfKey { batch, rows: first..end, start: storage.vals.vals.start(first) })
    }

    /// Where the bytes of its first row stand. Rows stand one behind the other: each tells where the next one begins.
    fn place(&self, batches: &[ViewBatch]) -> Range<usize> {
        self.start..storage(&batches[self.batch]).vals.vals.end(self.rows.start)
    }

    fn row<'b>(&self, batches: &'b [ViewBatch]) -> Option<Bytes<'b>> {
        let vals = &storage(&batches[self.batch]).vals.vals;
        (!self.rows.is_empty()).then(|| vals.stretch(self.place(batches)))
    }

    /// What the updates of its first row, which stands there, add up to; goes on to the next.
    fn take(&mut self, batches: &[ViewBatch], place: &Range<usize>) -> isize {
        let updates = &storage(&batches[self.batch]).upds;
        let row = self.rows.start;
        self.rows.start += 1;
        self.start = place.end;
        // Updates that are all alike stand there once.
        if let [only] = updates.diffs.as_slice() {
            return *only;
        }
        let (first, end) = updates.bounds(row);
        updates.diffs[first..end].iter().sum()
    }
}

impl KeyCursor {
    /// Before the first row of a key.
    pub fn seek(&mut self, batches: &[ViewBatch], key: &[u8]) {
        self.found.clear();
        self.found.extend((0..batches.len()).filter_map(|batch| OfKey::find(batches, batch, key)));
    }

    /// Goes on to the next row: what the batches add up to (never zero). None at the end.
    pub fn advance(&mut self, batches: &[ViewBatch]) -> Option<isize> {
        if let [only] = self.found.as_mut_slice() {
            while !only.rows.is_empty() {
                let place = only.place(batches);
                let total = only.take(batches, &place);
                self.row = (only.batch, place);
                if total != 0 {
                    return Some(total);
                }
            }
            return None;
        }
        loop {
            let rows = self.found.iter().filter_map(|of_key| Some((of_key.row(batches)?, of_key)));
            let (least, first) = rows.min_by(|one, other| one.0.cmp(&other.0))?;
            self.row = (first.batch, first.place(batches));
            let here = self.found.iter_mut().filter(|of_key| of_key.row(batches) == Some(least));
            let total: isize = here
                .map(|of_key| {
                    let place = of_key.place(batches);
                    of_key.take(batches, &place)
                })
                .sum();
            if total != 0 {
                return Some(total);
            }
        }
    }

    /// The row that it stands on.
    pub fn row<'b>(&self, batches: &'b [ViewBatch]) -> &'b [u8] {
        storage(&batches[self.row.0]).vals.vals.stretch(self.row.1.clone()).0
    }
}

/// How many rows of a key the batches name together: no fewer than there are different ones.
pub fn named_rows(batches: &[ViewBatch], key: &[u8]) -> usize {
    (0..batches.len()).filter_map(|batch| OfKey::find(batches, batch, key)).map(|of_key| of_key.rows.len()).sum()
}

/// The rows of one key, in byte order, each with what the batches add up to (never zero). `visit` says
/// whether to go on.
pub fn for_key(batches: &[ViewBatch], key: &[u8], mut visit: impl FnMut(&[u8], isize) -> bool) {
    let mut rows = KeyCursor::default();
    rows.seek(batches, key);
    while let Some(total) = rows.advance(batches) {
        if !visit(rows.row(batches), total) {
            return;
        }
    }
}

/// The first key at or after `from` (or after it, if `past`).
pub fn next_key(batches: &[ViewBatch], from: &[u8], past: bool) -> Option<Vec<u8>> {
    let mut least: Option<&[u8]> = None;
    for batch in batches {
        let mut cursor = batch.cursor();
        cursor.seek_key(batch, Bytes(from));
        if past && cursor.get_key(batch) == Some(Bytes(from)) {
            cursor.step_key(batch);
        }
        if let Some(key) = cursor.get_key(batch)
            && least.is_none_or(|least| key.0 < least)
        {
            least = Some(key.0);
        }
    }
    least.map(<[u8]>::to_vec)
}
