//! A pass: what erasures owe is taken out of every file, the newest first, no faster than it may.
//!
//! ```text
//! views ─▶ readers ─▶ log ─▶ index entries ─▶ their old files ─▶ rows, owners, subjects, metadata ─▶ their old files ─▶ noted
//! ```
//! What views hold merges meanwhile, and a pass does not wait for it long. While somebody reads from before the erasure RocksDB keeps what is erased, so that comes first. Then all write buffers go to
//! files, and with them the logs that hold the erased. A family is rewritten by ranges of its last level: a piece of it and what
//! lies over it are merged down to there, where deletions and what they delete meet, and both go. A file that an open cursor
//! still reads stays on the disk until that is closed; the pass is not over before.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use repr::{MicroDbId, RelationId};
use rocksdb::{BottommostLevelCompaction, CompactOptions, DB};

use crate::batch::Batch;
use crate::erasure::Owing;
use crate::erasure::history::{Moments, PassRecord};
use crate::erasure::owed::{KeyRange, Owed};
use crate::error::StorageError;
use crate::keyspace;
use crate::rocks::{self, Family};
use crate::store::Store;

/// About what is rewritten at once, if the last level's files allow. After it others have the disk.
const PIECE_BYTES: u64 = 32 << 20;
/// How long a pass waits by itself before whoever runs it is told.
const PATIENCE: Duration = Duration::from_millis(500);
/// RocksDB's name of it, which the crate does not list.
const OLDEST_SNAPSHOT: &str = "rocksdb.oldest-snapshot-sequence";
const POLL: Duration = Duration::from_millis(10);
/// How often a range is rewritten in which files are left as they were.
const ROUNDS_MAX: u32 = 3;
/// Of a record in a log, which is not zeros.
const LOG_HEADER: usize = 7;

/// How a pass goes.
pub struct ErasurePace<'a> {
    /// The wall clock, in microseconds since 2000-01-01 UTC.
    pub now_us: &'a dyn Fn() -> i64,
    /// How many bytes of files may be rewritten a second, looked at after each piece; none for as many as can be.
    pub bytes_per_second: &'a dyn Fn() -> Option<u64>,
    /// Whether views have merged what they hold since the pass began. Asked until they have, at each stage.
    pub views: &'a dyn Fn() -> ViewsMerged,
    /// Whether to leave off, to be gone on with later.
    pub stops: &'a dyn Fn() -> bool,
}

/// How far views are with merging what they hold, so that no retracted row stands beside its retraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewsMerged {
    /// All have.
    Yes,
    /// They are waited for.
    NotYet,
    /// They take too long to be waited for.
    Late,
}

/// What a pass waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Views have not merged what they hold.
    Views,
    /// Somebody holds a snapshot from before the erasure.
    Readers,
    /// An old log is still needed.
    Log,
    /// Somebody reads from files that are replaced.
    Files,
    /// There is no room on the disk to rewrite, or it failed.
    Room,
    /// A backup copies files from before.
    Backup,
}

impl Waits {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Waits::Views => "views",
            Waits::Readers => "readers",
            Waits::Log => "log",
            Waits::Files => "files",
            Waits::Room => "room",
            Waits::Backup => "backup",
        }
    }
}

/// What has come of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassStep {
    /// Nothing is owed.
    Nothing,
    /// It is to be gone on with.
    Waits(Waits),
    /// It was to leave off.
    Stopped,
    /// It is over.
    Cleaned {
        /// How many erasures it cleaned.
        erasures: u64,
        /// What was rewritten.
        bytes: u64,
        /// How long it took.
        took: Duration,
    },
}

/// A pass that is under way.
pub(crate) struct Pass {
    stage: Stage,
    owed: Owed,
    record: PassRecord,
    /// RocksDB's sequence number behind the last erasure.
    sequence: u64,
    began: Instant,
}

/// Where a pass is.
enum Stage {
    Views,
    Readers,
    /// Of the logs up to this number none is to be left, and no backup's files from before this one's.
    Log(u64, u64),
    Rewrite(Part),
    /// Files that are not live any more, and there; and the first backup from after that.
    Files(Part, BTreeSet<u64>, u64),
    Over,
}

/// What is rewritten together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Indexes,
    Rows,
}

impl Part {
    fn families(self) -> &'static [Family] {
        match self {
            Part::Indexes => &[Family::Index],
            Part::Rows => &[Family::Rows, Family::Owners, Family::Subjects, Family::Meta],
        }
    }
}

/// One step further.
enum Advance {
    To(Stage),
    Waits(Waits),
    Stopped,
}

impl Store {
    /// What no pass has cleaned yet.
    pub fn owing(&self) -> Option<Owing> {
        self.erasures().lock().owing()
    }

    /// About what a pass has to rewrite, in bytes of files; what stands in write buffers is not counted.
    pub fn owed_bytes(&self) -> u64 {
        let owed = self.erasures().lock().all_owed();
        let families = [Part::Indexes, Part::Rows].into_iter().flat_map(|part| part.families());
        let files = |family: &Family| files_in(self.db(), *family, &owed.ranges(*family)).unwrap_or_default();
        families.flat_map(files).map(|file| file.bytes).sum()
    }

    /// Whether nothing of a relation stands anywhere, not even deleted: nothing was written since the start, which leaves nothing in
    /// memory, and no file reaches there.
    pub(crate) fn has_never_held(&self, relation: RelationId) -> bool {
        let from = keyspace::relation(relation).to_vec();
        let ranges = [(from.clone(), keyspace::successor(&from))];
        let is_bare = |family| files_in(self.db(), family, &ranges).is_ok_and(|files| files.is_empty());
        !self.segments().has_heard_of(relation) && is_bare(Family::Rows) && is_bare(Family::Owners)
    }

    /// Goes on with the pass that is under way, or begins one over all that is owed; as far as it comes. What waits, and whoever
    /// is in the way, is for the caller to see to.
    pub fn erase(&self, pace: &ErasurePace<'_>) -> Result<PassStep, StorageError> {
        self.check_writable()?;
        let mut slot = self.erasures().pass.lock();
        let pass = match &mut *slot {
            Some(pass) => pass,
            None => match self.begin_pass()? {
                Some(pass) => slot.insert(pass),
                None => return Ok(PassStep::Nothing),
            },
        };
        loop {
            let advance = if (pace.stops)() { Advance::Stopped } else { self.advance(pass, pace)? };
            match advance {
                Advance::To(Stage::Over) => break,
                Advance::To(stage) => {
                    pass.stage = stage;
                    self.note_views(pass, pace);
                }
                Advance::Waits(waits) => return Ok(PassStep::Waits(waits)),
                Advance::Stopped => return Ok(PassStep::Stopped),
            }
        }
        let PassRecord { first, last, bytes, .. } = pass.record;
        let took = pass.began.elapsed();
        self.end_pass(pass)?;
        *slot = None;
        Ok(PassStep::Cleaned { erasures: (last + 1).saturating_sub(first), bytes, took })
    }

    /// The oldest sequence number that a snapshot reads from.
    fn oldest_snapshot(&self) -> Option<u64> {
        let number = self.db().property_int_value(OLDEST_SNAPSHOT).ok().flatten();
        number.filter(|number| *number > 0)
    }

    /// Whether somebody reads from before a write, or has made a batch then that is not written: it may hold what is erased.
    pub(crate) fn is_held_before(&self, sequence: u64) -> bool {
        self.oldest_snapshot().is_some_and(|oldest| oldest < sequence) || self.side_folder().holds_before(sequence)
    }

    /// The logs that are there, in order.
    fn log_numbers(&self) -> Result<BTreeSet<u64>, StorageError> {
        numbers_in(&self.rocks_folder(), rocks::log_number)
    }

    /// The newest log that a record stands in. One without holds nothing of before, and stays until something is written.
    fn last_written_log(&self) -> Result<u64, StorageError> {
        // Room is made in logs ahead, of zeros; no record begins with them.
        let is_written = |number: &u64| {
            let mut begins = [0; LOG_HEADER];
            let log = fs::File::open(self.rocks_folder().join(rocks::log_name(*number)));
            match log.and_then(|log| log.read_at(&mut begins, 0)) {
                Ok(read) => begins[..read].iter().any(|byte| *byte != 0),
                // One that is gone in between is not in the way.
                Err(error) => error.kind() != ErrorKind::NotFound,
            }
        };
        Ok(self.log_numbers()?.into_iter().rev().find(is_written).unwrap_or(0))
    }

    /// Files that are there and not live: who reads from them has begun before they were replaced.
    fn dead_files(&self) -> Result<BTreeSet<u64>, StorageError> {
        let mut there = numbers_in(&self.rocks_folder(), rocks::file_number)?;
        let live = self.db().live_files().map_err(rocks::failed("list the storage engine's files"))?;
        live.iter().filter_map(|file| rocks::file_number(&file.name)).for_each(|number| {
            there.remove(&number);
        });
        Ok(there)
    }

    fn begin_pass(&self) -> Result<Option<Pass>, StorageError> {
        let before = self.snapshot().last_pass()?.map_or(0, |pass| pass.last);
        let mut state = self.erasures().lock();
        let Some(owed) = state.take_on() else { return Ok(None) };
        let record = PassRecord { first: before + 1, last: state.last, bytes: 0, moments: Moments::default() };
        let sequence = state.sequence;
        Ok(Some(Pass { stage: Stage::Views, owed, record, sequence, began: Instant::now() }))
    }

    fn end_pass(&self, pass: &Pass) -> Result<(), StorageError> {
        {
            let mut state = self.erasures().lock();
            let mut batch = Batch::default();
            batch.put_pass(self, &pass.record, &state.owed, state.last);
            self.check_room(&batch)?;
            self.write(batch)?;
            state.end_pass();
        }
        self.flush()
    }

    fn note(&self, pass: &mut Pass, note: impl FnOnce(&mut Moments)) {
        note(&mut pass.record.moments);
        self.erasures().lock().note(pass.record.moments);
    }

    /// Asks how far views are, and notes when they have merged.
    fn note_views(&self, pass: &mut Pass, pace: &ErasurePace<'_>) -> ViewsMerged {
        if pass.record.moments.arrangements.is_some() {
            return ViewsMerged::Yes;
        }
        let merged = (pace.views)();
        if merged == ViewsMerged::Yes {
            let now = (pace.now_us)();
            self.note(pass, |moments| {
                moments.arrangements = Some(now);
                moments.settle_memory(now);
            });
        }
        merged
    }

    /// Nobody reads from before any more.
    fn note_readers(&self, pass: &mut Pass, pace: &ErasurePace<'_>) -> Result<(), StorageError> {
        let now = (pace.now_us)();
        // What is published comes after the keys are gone, so those of all these erasures are.
        let keys_at = self.erasures().lock().keys_at;
        let keys = keys_at.map(|at| now - i64::try_from(at.elapsed().as_micros()).unwrap_or(0));
        // Nobody who comes now reads what was, so it does not come back there.
        self.reads().forget(&self.erased_by(&pass.record)?);
        self.note(pass, |moments| {
            (moments.keys, moments.readers, moments.caches) = (keys, Some(now), Some(now));
            moments.settle_memory(now);
        });
        Ok(())
    }

    fn advance(&self, pass: &mut Pass, pace: &ErasurePace<'_>) -> Result<Advance, StorageError> {
        match &mut pass.stage {
            Stage::Views => Ok(match self.note_views(pass, pace) {
                ViewsMerged::NotYet => Advance::Waits(Waits::Views),
                ViewsMerged::Yes | ViewsMerged::Late => Advance::To(Stage::Readers),
            }),
            Stage::Readers => {
                let sequence = pass.sequence;
                if !waited(|| !self.is_held_before(sequence)) {
                    return Ok(Advance::Waits(Waits::Readers));
                }
                self.note_readers(pass, pace)?;
                let log = self.last_written_log()?;
                self.flush_buffers()?;
                Ok(Advance::To(Stage::Log(log, self.backups().pins.next())))
            }
            Stage::Log(last, pin) => {
                let (last, pin) = (*last, *pin);
                if !waited(|| self.log_numbers().is_ok_and(|logs| logs.first().is_none_or(|first| *first > last))) {
                    self.flush_buffers()?;
                    return Ok(Advance::Waits(Waits::Log));
                }
                if !waited(|| !self.backups().pins.holds_before(pin)) {
                    return Ok(Advance::Waits(Waits::Backup));
                }
                self.note(pass, |moments| moments.log = Some((pace.now_us)()));
                Ok(Advance::To(Stage::Rewrite(Part::Indexes)))
            }
            Stage::Rewrite(part) => {
                let part = *part;
                for family in part.families() {
                    if let Some(instead) = self.rewrite(pass, *family, pace)? {
                        return Ok(instead);
                    }
                }
                Ok(Advance::To(Stage::Files(part, self.dead_files()?, self.backups().pins.next())))
            }
            Stage::Files(part, dead, pin) => {
                let (part, pin) = (*part, *pin);
                let are_gone = || {
                    let still = self.dead_files().unwrap_or_else(|_| dead.clone());
                    dead.retain(|file| still.contains(file));
                    dead.is_empty()
                };
                if !waited(are_gone) {
                    return Ok(Advance::Waits(Waits::Files));
                }
                if !waited(|| !self.backups().pins.holds_before(pin)) {
                    return Ok(Advance::Waits(Waits::Backup));
                }
                let now = Some((pace.now_us)());
                Ok(match part {
                    Part::Indexes => {
                        self.note(pass, |moments| moments.indexes = now);
                        Advance::To(Stage::Rewrite(Part::Rows))
                    }
                    Part::Rows => {
                        self.note(pass, |moments| (moments.rows, moments.checkpoints) = (now, now));
                        Advance::To(Stage::Over)
                    }
                })
            }
            Stage::Over => Ok(Advance::To(Stage::Over)),
        }
    }

    /// The people whom the erasures of a pass took away whole.
    fn erased_by(&self, pass: &PassRecord) -> Result<Vec<MicroDbId>, StorageError> {
        let snapshot = self.snapshot();
        let mut people = Vec::new();
        for erasure in snapshot.erasures(pass.first..=pass.last, false) {
            let receipt = erasure?.receipt.map(|(_, id)| snapshot.receipt(&id)).transpose()?.flatten();
            people.extend(receipt.and_then(|receipt| receipt.microdb));
        }
        Ok(people)
    }

    /// Rewrites what is owed of a family. What came in between, if it is not done.
    fn rewrite(
        &self,
        pass: &mut Pass,
        family: Family,
        pace: &ErasurePace<'_>,
    ) -> Result<Option<Advance>, StorageError> {
        let ranges = pass.owed.ranges(family);
        let Some(newest) = files_in(self.db(), family, &ranges)?.iter().map(|file| file.number).max() else {
            return Ok(None);
        };
        for _round in 0..ROUNDS_MAX {
            for range in &ranges {
                if let Some(instead) = self.rewrite_range(pass, family, range, pace)? {
                    return Ok(Some(instead));
                }
            }
            if files_in(self.db(), family, &ranges)?.iter().all(|file| file.number > newest) {
                return Ok(None);
            }
        }
        Ok(Some(Advance::Waits(Waits::Room)))
    }

    fn rewrite_range(
        &self,
        pass: &mut Pass,
        family: Family,
        (from, to): &KeyRange,
        pace: &ErasurePace<'_>,
    ) -> Result<Option<Advance>, StorageError> {
        let mut from = from.clone();
        loop {
            let files = files_in(self.db(), family, &[(from.clone(), to.clone())])?;
            let Some(piece) = Piece::first(&files) else { return Ok(None) };
            if (pace.stops)() {
                return Ok(Some(Advance::Stopped));
            }
            if !self.has_room_to_rewrite(piece.bytes)? {
                return Ok(Some(Advance::Waits(Waits::Room)));
            }
            let began = Instant::now();
            let mut options = CompactOptions::default();
            options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
            self.db().compact_range_cf_opt(family.handle(self.db()), Some(&piece.begin), Some(&piece.end), &options);
            pass.record.bytes += piece.bytes;
            tracing::debug!(
                target: "dogwood::erasures",
                family = family.name(),
                bytes = piece.bytes,
                took_ms = began.elapsed().as_secs_f64() * 1e3,
                "a piece of a family is rewritten"
            );
            keep_pace(piece.bytes, began, pace);
            match piece.last {
                // The first key behind it.
                Some(last) => from = [last.as_slice(), &[0]].concat(),
                None => return Ok(None),
            }
        }
    }
}

/// Sleeps for as long as what was written should have taken.
fn keep_pace(bytes: u64, began: Instant, pace: &ErasurePace<'_>) {
    while !(pace.stops)()
        && let Some(rate) = (pace.bytes_per_second)()
        && let Some(left) = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64).checked_sub(began.elapsed())
        && !left.is_zero()
    {
        std::thread::sleep(left.min(PATIENCE / 10));
    }
}

/// Whether something comes true soon.
fn waited(mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(POLL);
    }
}

/// The numbers of a folder's files of one kind.
fn numbers_in(folder: &Path, number: fn(&str) -> Option<u64>) -> Result<BTreeSet<u64>, StorageError> {
    let failed = StorageError::io("list", folder);
    let names = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(failed)?;
    Ok(names.iter().filter_map(|entry| number(entry.file_name().to_str()?)).collect())
}

/// A live file.
struct File {
    number: u64,
    bytes: u64,
    level: i32,
    first: Vec<u8>,
    last: Vec<u8>,
}

/// The live files of a family that reach into these ranges.
fn files_in(db: &DB, family: Family, ranges: &[KeyRange]) -> Result<Vec<File>, StorageError> {
    let live = db.live_files().map_err(rocks::failed("list the storage engine's files"))?;
    let files = live.into_iter().filter(|file| file.column_family_name == family.name()).filter_map(|file| {
        Some(File {
            number: rocks::file_number(&file.name)?,
            bytes: file.size as u64,
            level: file.level,
            first: file.start_key?,
            last: file.end_key?,
        })
    });
    let reaches =
        |file: &File, (from, to): &KeyRange| file.last >= *from && to.as_ref().is_none_or(|to| file.first < *to);
    Ok(files.filter(|file| ranges.iter().any(|range| reaches(file, range))).collect())
}

/// The first part of a range that is rewritten at once.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    /// The last key of it; none where it is the whole rest.
    last: Option<Vec<u8>>,
    /// What is handed to RocksDB, which leaves alone a file that spans a range and has no key in it: of each file that is to be
    /// rewritten a key is within.
    begin: Vec<u8>,
    end: Vec<u8>,
    /// Of the files that reach into it.
    bytes: u64,
}

impl Piece {
    /// Of the files that reach into a range. None where there is no file.
    fn first(files: &[File]) -> Option<Piece> {
        let deepest = files.iter().map(|file| file.level).max()?;
        let mut bottom: Vec<&File> = files.iter().filter(|file| file.level == deepest).collect();
        bottom.sort_by(|one, other| one.first.cmp(&other.first));
        let mut bytes = 0;
        let full = bottom.iter().position(|file| {
            bytes += file.bytes;
            bytes >= PIECE_BYTES
        });
        // Files of the first level lie over each other: there is nothing to divide.
        let last = full.filter(|at| deepest > 0 && at + 1 < bottom.len()).map(|at| bottom[at].last.clone());
        let within = |file: &&File| last.as_ref().is_none_or(|last| file.first <= *last);
        let within: Vec<&File> = files.iter().filter(within).collect();
        let begin = within.iter().map(|file| &file.first).min()?.clone();
        let end = match &last {
            Some(last) => last.clone(),
            None => within.iter().map(|file| &file.last).max()?.clone(),
        };
        Some(Piece { begin, end, bytes: within.iter().map(|file| file.bytes).sum(), last })
    }
}

#[cfg(test)]
mod tests {
    use super::{File, PIECE_BYTES, Piece};

    fn file(level: i32, first: u8, last: u8, bytes: u64) -> File {
        File { number: 1, bytes, level, first: vec![first], last: vec![last] }
    }

    #[test]
    fn a_piece_ends_where_a_file_of_the_last_level_does() {
        assert_eq!(Piece::first(&[]), None);
        let half = PIECE_BYTES / 2;
        let files = [file(6, 30, 39, half), file(6, 10, 19, half), file(6, 20, 29, half), file(5, 15, 35, 7)];
        let first = Piece::first(&files).expect("there are files");
        assert_eq!((first.last, first.bytes), (Some(vec![29]), 2 * half + 7));
        let whole = |files: &[File]| {
            let piece = Piece::first(files).expect("there are files");
            assert_eq!(piece.last, None);
            piece.bytes
        };
        assert_eq!(whole(&files[..1]), half);
        assert_eq!(whole(&[file(6, 10, 19, half), file(6, 20, 29, half)]), 2 * half, "the rest is one piece");
        let new = [file(0, 0, 90, PIECE_BYTES), file(0, 10, 80, PIECE_BYTES)];
        assert_eq!(whole(&new), 2 * PIECE_BYTES);
    }

    #[test]
    fn of_each_file_of_a_piece_a_key_is_handed_on() {
        let half = PIECE_BYTES / 2;
        let files = [file(6, 10, 19, half), file(6, 20, 29, half), file(6, 30, 39, half), file(5, 5, 35, 7)];
        let first = Piece::first(&files).expect("there are files");
        assert_eq!((first.begin, first.end), (vec![5], vec![29]));
        let rest = Piece::first(&[file(6, 30, 39, half), file(0, 34, 60, 7)]).expect("there are files");
        assert_eq!((rest.begin, rest.end), (vec![30], vec![60]));
    }
}
