//! An owned iterator over one range of one column family of a snapshot.
//!
//! RocksDB's iterator borrows the database; this one owns its snapshot, so it may travel between threads and outlive its maker.

use std::ops::Bound;

use rocksdb::{DB, DBRawIteratorWithThreadMode, ReadOptions};
use self_cell::self_cell;

use crate::error::StorageError;
use crate::keyspace;
use crate::rocks::{self, Family};
use crate::snapshot::Snapshot;

type RawIterator<'a> = DBRawIteratorWithThreadMode<'a, DB>;

self_cell!(
    struct Position {
        owner: Snapshot,
        #[covariant]
        dependent: RawIterator,
    }
);

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// By rising keys.
    Forward,
    /// By falling keys.
    Reverse,
}

impl Direction {
    pub(crate) fn of(reverse: bool) -> Direction {
        if reverse { Direction::Reverse } else { Direction::Forward }
    }
}

/// How far a cursor is.
enum CursorProgress {
    Before(Vec<u8>),
    On,
    Done,
}

/// Entries of one range, one after the other.
pub(crate) struct Cursor {
    position: Position,
    direction: Direction,
    progress: CursorProgress,
}

impl Cursor {
    /// What it reads.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        self.position.borrow_owner()
    }

    /// For `find` and `find_all`, any number of times: the entries with a prefix that the family's filter knows, whichever is
    /// asked for; in families without such a filter, with any prefix.
    pub(crate) fn probe(snapshot: &Snapshot, family: Family) -> Cursor {
        let mut options = ReadOptions::default();
        // It ends with the prefix by itself: bounds would only be copied.
        options.set_prefix_same_as_start(true);
        let position = Cursor::position(snapshot, family, options);
        Cursor { position, direction: Direction::Forward, progress: CursorProgress::Done }
    }

    /// The first entry with this prefix, wherever the cursor stood before.
    pub(crate) fn find<T>(
        &mut self,
        prefix: &[u8],
        tried: &'static str,
        read: impl FnOnce(&[u8], &[u8]) -> T,
    ) -> Result<Option<T>, StorageError> {
        self.position.with_dependent_mut(|_, iterator| {
            iterator.seek(prefix);
            match iterator.item() {
                Some((key, value)) if key.starts_with(prefix) => Ok(Some(read(key, value))),
                Some(_) => Ok(None),
                None => {
                    iterator.status().map_err(rocks::failed(tried))?;
                    Ok(None)
                }
            }
        })
    }

    /// Visits the entries with this prefix, in order, wherever the cursor stood before; `visit` says whether to go on.
    pub(crate) fn find_all(
        &mut self,
        prefix: &[u8],
        tried: &'static str,
        mut visit: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StorageError> {
        self.position.with_dependent_mut(|_, iterator| {
            iterator.seek(prefix);
            while let Some((key, value)) = iterator.item() {
                if !key.starts_with(prefix) {
                    return Ok(());
                }
                if !visit(key, value) {
                    return Ok(());
                }
                iterator.next();
            }
            iterator.status().map_err(rocks::failed(tried))
        })
    }

    /// The entries with any prefix, in order.
    pub(crate) fn all(snapshot: &Snapshot, family: Family, prefix: &[u8]) -> Cursor {
        Cursor::range(snapshot, family, prefix, Bound::Unbounded, Bound::Unbounded, Direction::Forward)
    }

    /// The same, read once: what is read leaves what others read in the cache.
    pub(crate) fn all_once(snapshot: &Snapshot, family: Family, prefix: &[u8]) -> Cursor {
        Cursor::between_once(snapshot, family, prefix.to_vec(), keyspace::successor(prefix))
    }

    /// The same of entries from one key up to before another.
    pub(crate) fn between_once(snapshot: &Snapshot, family: Family, from: Vec<u8>, to: Option<Vec<u8>>) -> Cursor {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        options.fill_cache(false);
        Cursor::open(snapshot, family, options, from, to, Direction::Forward)
    }

    /// The entries under a prefix between two bounds, which are prefixes of what follows it: `Included` takes every
    /// entry that starts with the bound, `Excluded` none of them.
    pub(crate) fn range(
        snapshot: &Snapshot,
        family: Family,
        prefix: &[u8],
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Cursor {
        let under = |bound: &[u8]| [prefix, bound].concat();
        let mut nothing = false;
        let from = match lower {
            Bound::Unbounded => prefix.to_vec(),
            Bound::Included(bound) => under(bound),
            Bound::Excluded(bound) => keyspace::successor(&under(bound)).unwrap_or_else(|| {
                nothing = true;
                Vec::new()
            }),
        };
        let to = match upper {
            Bound::Unbounded => keyspace::successor(prefix),
            Bound::Included(bound) => keyspace::successor(&under(bound)),
            Bound::Excluded(bound) => Some(under(bound)),
        };
        nothing |= to.as_ref().is_some_and(|to| *to <= from);
        let mut options = ReadOptions::default();
        // Without this a family with a prefix filter silently skips keys of other prefixes.
        options.set_total_order_seek(true);
        let mut cursor = Cursor::open(snapshot, family, options, from, to, direction);
        if nothing {
            cursor.progress = CursorProgress::Done;
        }
        cursor
    }

    fn open(
        snapshot: &Snapshot,
        family: Family,
        mut options: ReadOptions,
        from: Vec<u8>,
        to: Option<Vec<u8>>,
        direction: Direction,
    ) -> Cursor {
        options.set_iterate_lower_bound(from.clone());
        if let Some(to) = to {
            options.set_iterate_upper_bound(to);
        }
        let position = Cursor::position(snapshot, family, options);
        Cursor { position, direction, progress: CursorProgress::Before(from) }
    }

    fn position(snapshot: &Snapshot, family: Family, options: ReadOptions) -> Position {
        Position::new(snapshot.clone(), |snapshot| {
            snapshot.rocks().raw_iterator_cf_opt(family.handle(snapshot.store().db()), options)
        })
    }

    /// Moves to the next entry and reads it; nothing at the end.
    pub(crate) fn next<T>(
        &mut self,
        tried: &'static str,
        read: impl FnOnce(&[u8], &[u8]) -> T,
    ) -> Result<Option<T>, StorageError> {
        let (progress, direction) = (&mut self.progress, self.direction);
        self.position.with_dependent_mut(|_, iterator| {
            match (&*progress, direction) {
                (CursorProgress::Done, _) => return Ok(None),
                (CursorProgress::Before(from), Direction::Forward) => iterator.seek(from),
                (CursorProgress::Before(_), Direction::Reverse) => iterator.seek_to_last(),
                (CursorProgress::On, Direction::Forward) => iterator.next(),
                (CursorProgress::On, Direction::Reverse) => iterator.prev(),
            }
            match iterator.item() {
                Some((key, value)) => {
                    *progress = CursorProgress::On;
                    Ok(Some(read(key, value)))
                }
                None => {
                    *progress = CursorProgress::Done;
                    // An iterator that met damage ends early: without this the rest would read as absent.
                    iterator.status().map_err(rocks::failed(tried))?;
                    Ok(None)
                }
            }
        })
    }

    /// There are no more.
    pub(crate) fn end(&mut self) {
        self.progress = CursorProgress::Done;
    }

    /// The entries as an iterator. After an error it ends.
    pub(crate) fn entries<T, F>(
        self,
        tried: &'static str,
        mut read: F,
    ) -> impl Iterator<Item = Result<T, StorageError>> + Send
    where
        F: FnMut(&[u8], &[u8]) -> Result<T, StorageError> + Send,
    {
        self.filtered(tried, move |key, value| read(key, value).map(Some))
    }

    /// As `entries`, without those for which `read` gives nothing.
    pub(crate) fn filtered<T, F>(
        mut self,
        tried: &'static str,
        mut read: F,
    ) -> impl Iterator<Item = Result<T, StorageError>> + Send
    where
        F: FnMut(&[u8], &[u8]) -> Result<Option<T>, StorageError> + Send,
    {
        std::iter::from_fn(move || {
            loop {
                match self.next(tried, &mut read) {
                    Ok(None) => return None,
                    Ok(Some(Ok(None))) => {}
                    Ok(Some(Ok(Some(entry)))) => return Some(Ok(entry)),
                    Ok(Some(Err(error))) | Err(error) => {
                        self.progress = CursorProgress::Done;
                        return Some(Err(error));
                    }
                }
            }
        })
    }
}
