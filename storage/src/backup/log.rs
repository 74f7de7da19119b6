//! Pieces of the log at a target: batches as they were written, in order and without gaps.
//!
//! ```text
//! log/LOG/FIRST-LAST-TIME = "DOGSHIP1" ‖ database(16) ‖ log(8) ‖ first(8) ‖ last(8) ‖ before(32) ‖ batch… ‖ signature(64)
//!   batch = time(8) ‖ commit(8) ‖ records(8) ‖ last(8) ‖ length(8) ‖ as RocksDB takes it
//! ```
//! A log begins with its server and goes on while backups are taken: each says which log it stands in, and after which write.
//! `before` is the hash of the piece before, so that none is left out or put in another's place. Numbers are RocksDB's.

use crate::backup::fault::BackupFault;
use crate::backup::manifest::Manifest;
use crate::backup::signed::{self, Kind, Reading, SignedContent};
use crate::backup::target::Target;
use crate::backup::tee::{Teed, WrittenAt};
use crate::crypto::hex;
use crate::crypto::sodium::{self, SigningKey};

/// Where pieces stand.
pub(super) const LOG: &str = "log/";
const KIND: Kind = b"DOGSHIP1";

/// How far a log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    pub(super) database: [u8; 16],
    pub(super) log: [u8; 8],
    /// The last write.
    pub(super) last: u64,
    /// The last piece's hash; none where that was not read.
    hash: Option<[u8; 32]>,
}

impl LogEnd {
    /// A log without pieces, after a write.
    pub(super) fn after(database: [u8; 16], log: [u8; 8], last: u64) -> LogEnd {
        LogEnd { database, log, last, hash: None }
    }

    /// The next piece: its name, its bytes, and where the log ends with it.
    pub(super) fn piece(&self, batches: &[Teed], key: &SigningKey) -> (String, Vec<u8>, LogEnd) {
        let (first, last) = (self.last + 1, batches.last().map_or(self.last, |teed| teed.at.last));
        let time_us = batches.last().map_or(0, |teed| teed.time_us.max(0));
        let mut content = SignedContent::default();
        content.fixed(&self.database).fixed(&self.log).number(first).number(last);
        content.fixed(&self.hash.unwrap_or_default());
        for teed in batches {
            let WrittenAt { last, commit, records } = teed.at;
            content.number(teed.time_us as u64).number(commit).number(records).number(last).part(&teed.batch);
        }
        let bytes = signed::sign(KIND, &content.0, key);
        let object = format!("{}{first:020}-{last:020}-{time_us:020}", folder(&self.log));
        let end = LogEnd { last, hash: Some(sodium::hash(&bytes)), ..*self };
        (object, bytes, end)
    }

    /// Reads the next piece, and goes on to its end. Its batches; of the first piece also those that are not new.
    fn follow(&mut self, bytes: &[u8], public: &[u8; 32], object: &str) -> Result<Vec<Teed>, BackupFault> {
        let mut reading = Reading(signed::verified(KIND, bytes, public, object)?);
        let mut head =
            || Some((reading.fixed()?, reading.fixed()?, reading.number()?, reading.number()?, reading.fixed()?));
        let malformed = || BackupFault::malformed(object);
        let (database, log, first, last, before): ([u8; 16], [u8; 8], u64, u64, [u8; 32]) =
            head().ok_or_else(malformed)?;
        if (database, log) != (self.database, self.log) {
            return Err(malformed());
        }
        let follows = match self.hash {
            Some(hash) => first == self.last + 1 && before == hash,
            None => first <= self.last + 1,
        };
        if !follows {
            return Err(self.gap());
        }
        let mut batches = Vec::new();
        while !reading.0.is_empty() {
            let mut batch = || {
                let (time, commit, records) = (reading.number()?, reading.number()?, reading.number()?);
                let at = WrittenAt { last: reading.number()?, commit, records };
                Some(Teed { time_us: time as i64, at, batch: reading.part()?.to_vec() })
            };
            batches.push(batch().ok_or_else(malformed)?);
        }
        if batches.last().map(|teed| teed.at.last) != Some(last) {
            return Err(malformed());
        }
        (self.last, self.hash) = (last, Some(sodium::hash(bytes)));
        Ok(batches)
    }

    fn gap(&self) -> BackupFault {
        BackupFault::LogGap { log: hex::encode(&self.log), after: self.last }
    }
}

/// Where the pieces of a log stand.
pub(super) fn folder(log: &[u8; 8]) -> String {
    format!("{LOG}{}/", hex::encode(log))
}

/// When the last batch of a log was written, by the name of its piece; none where there is no piece.
pub(super) fn last_time(target: &dyn Target, log: &[u8; 8]) -> Result<Option<i64>, BackupFault> {
    let Some((object, _)) = target.list(&folder(log))?.pop() else { return Ok(None) };
    let time = object.rsplit('-').next().and_then(|time| time.parse().ok());
    time.map(Some).ok_or_else(|| BackupFault::malformed(&object))
}

/// The last write of a piece, by its name.
pub(super) fn last_write(object: &str) -> Option<u64> {
    object.rsplit('-').nth(1)?.parse().ok()
}

/// Reads what was written after a backup in order, until `each` has had enough. The last write that was read.
pub(super) fn follow<E: From<BackupFault>>(
    target: &dyn Target,
    backup: &Manifest,
    public: &[u8; 32],
    mut each: impl FnMut(&Teed) -> Result<Enough, E>,
) -> Result<u64, E> {
    let after = backup.state.sequence;
    let Some(log) = backup.log else { return Ok(after) };
    let mut end = LogEnd::after(backup.database, log, after);
    for (object, _) in target.list(&folder(&log)).map_err(BackupFault::from)? {
        let last = last_write(&object).ok_or_else(|| BackupFault::malformed(&object))?;
        if last <= after {
            continue;
        }
        // Listed, and gone: as if it had never been there.
        let bytes = target.get(&object).map_err(BackupFault::from)?.ok_or_else(|| end.gap())?;
        for teed in end.follow(&bytes, public, &object)? {
            if teed.at.last > after && each(&teed)? == Enough::Yes {
                return Ok(teed.at.last);
            }
        }
    }
    Ok(end.last)
}

/// Whether to read on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Enough {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn teed(last: u64) -> Teed {
        Teed { time_us: 5, at: WrittenAt { last, commit: 1, records: 2 }, batch: vec![last as u8; 20] }
    }

    #[test]
    fn pieces_follow_each_other() {
        let key = SigningKey::from_seed(&[7; 32]);
        let begin = LogEnd::after([1; 16], [2; 8], 10);
        let (_, one, end) = begin.piece(&[teed(12), teed(13)], &key);
        let (_, two, last) = end.piece(&[teed(20)], &key);
        let mut read = begin;
        let numbers = |batches: Vec<Teed>| batches.iter().map(|teed| teed.at.last).collect::<Vec<_>>();
        assert_eq!(read.follow(&one, &key.public(), "1").map(numbers).ok(), Some(vec![12, 13]));
        assert_eq!(read, end);
        assert!(matches!(read.follow(&one, &key.public(), "1"), Err(BackupFault::LogGap { after: 13, .. })));
        assert_eq!(read.follow(&two, &key.public(), "2").map(numbers).ok(), Some(vec![20]));
        assert_eq!(read, last);
        assert!(matches!({ begin }.follow(&two, &key.public(), "2"), Err(BackupFault::LogGap { after: 10, .. })));
        assert!(matches!(
            LogEnd::after([1; 16], [2; 8], 9).follow(&one, &key.public(), "1"),
            Err(BackupFault::LogGap { after: 9, .. })
        ));
        assert!(LogEnd::after([1; 16], [2; 8], 12).follow(&one, &key.public(), "1").is_ok(), "from within a piece");
        let (_, other, _) = LogEnd::after([1; 16], [3; 8], 10).piece(&[teed(12)], &key);
        assert!(matches!({ begin }.follow(&other, &key.public(), "x"), Err(BackupFault::Malformed { .. })));
        for at in 0..one.len() {
            let mut changed = one.clone();
            changed[at] ^= 1;
            assert!({ begin }.follow(&changed, &key.public(), "x").is_err(), "byte {at}");
        }
    }
}
