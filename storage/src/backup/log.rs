//! Pieces of the log at a target: batches as they were written behind a backup, in order and without gaps.
//!
//! ```text
//! log/BACKUP/FIRST-LAST-TIME = "DOGSHIP1" ‖ database(16) ‖ backup(8) ‖ first(8) ‖ last(8) ‖ before(32) ‖ batch… ‖ signature(64)
//!   batch = time(8) ‖ commit(8) ‖ records(8) ‖ last(8) ‖ length(8) ‖ as RocksDB takes it
//! ```
//! `before` is the hash of the piece before, so that none is left out or put in another's place. Numbers are RocksDB's.

use crate::backup::fault::BackupFault;
use crate::backup::signed::{self, Kind, Reading, Written};
use crate::backup::target::Target;
use crate::backup::tee::{Teed, WrittenAt};
use crate::crypto::hex;
use crate::crypto::sodium::{self, SigningKey};

/// Where pieces stand.
pub(super) const LOG: &str = "log/";
const KIND: Kind = b"DOGSHIP1";

/// How far a chain of pieces goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChainEnd {
    pub(super) database: [u8; 16],
    pub(super) backup: [u8; 8],
    /// The last write.
    pub(super) last: u64,
    /// The last piece's hash.
    pub(super) hash: [u8; 32],
}

impl ChainEnd {
    /// A chain without pieces, behind a backup.
    pub(super) fn behind(database: [u8; 16], backup: [u8; 8], last: u64) -> ChainEnd {
        ChainEnd { database, backup, last, hash: sodium::hash(&backup) }
    }

    /// The next piece: its name, its bytes, and where the chain ends with it.
    pub(super) fn piece(&self, batches: &[Teed], key: &SigningKey) -> (String, Vec<u8>, ChainEnd) {
        let (first, last) = (self.last + 1, batches.last().map_or(self.last, |teed| teed.at.last));
        let time_us = batches.last().map_or(0, |teed| teed.time_us.max(0));
        let mut content = Written::default();
        content.fixed(&self.database).fixed(&self.backup).number(first).number(last).fixed(&self.hash);
        for teed in batches {
            let WrittenAt { last, commit, records } = teed.at;
            content.number(teed.time_us as u64).number(commit).number(records).number(last).part(&teed.batch);
        }
        let bytes = signed::sign(KIND, &content.0, key);
        let object = format!("{}{first:020}-{last:020}-{time_us:020}", folder(&self.backup));
        let end = ChainEnd { last, hash: sodium::hash(&bytes), ..*self };
        (object, bytes, end)
    }

    /// Reads the next piece, and goes on to its end. Its batches.
    fn follow(&mut self, bytes: &[u8], public: &[u8; 32], object: &str) -> Result<Vec<Teed>, BackupFault> {
        let mut reading = Reading(signed::verified(KIND, bytes, public, object)?);
        let mut head = || Some((reading.fixed()?, reading.fixed()?, reading.number()?, reading.number()?, reading.fixed()?));
        let malformed = || BackupFault::malformed(object);
        let (database, backup, first, last, before): ([u8; 16], [u8; 8], u64, u64, [u8; 32]) =
            head().ok_or_else(malformed)?;
        if (database, backup) != (self.database, self.backup) {
            return Err(malformed());
        }
        if first != self.last + 1 || before != self.hash {
            return Err(BackupFault::LogGap { backup: hex::encode(&self.backup), after: self.last });
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
        (self.last, self.hash) = (last, sodium::hash(bytes));
        Ok(batches)
    }
}

fn folder(backup: &[u8; 8]) -> String {
    format!("{LOG}{}/", hex::encode(backup))
}

/// When the last batch behind a backup was written, by the name of its piece; none where there is no piece.
pub(super) fn last_time(target: &dyn Target, backup: &[u8; 8]) -> Result<Option<i64>, BackupFault> {
    let Some((object, _)) = target.list(&folder(backup))?.pop() else { return Ok(None) };
    let time = object.rsplit('-').next().and_then(|time| time.parse().ok());
    time.map(Some).ok_or_else(|| BackupFault::malformed(&object))
}

/// Reads the pieces behind a backup in order, until `each` has had enough. Where they end.
pub(super) fn follow<E: From<BackupFault>>(
    target: &dyn Target,
    behind: ChainEnd,
    public: &[u8; 32],
    mut each: impl FnMut(&Teed) -> Result<Enough, E>,
) -> Result<ChainEnd, E> {
    let mut end = behind;
    for (object, _) in target.list(&folder(&behind.backup)).map_err(BackupFault::from)? {
        let bytes = target.get(&object).map_err(BackupFault::from)?;
        // Listed, and gone: as if it had never been there.
        let Some(bytes) = bytes else {
            return Err(BackupFault::LogGap { backup: hex::encode(&behind.backup), after: end.last }.into());
        };
        for teed in end.follow(&bytes, public, &object)? {
            if each(&teed)? == Enough::Yes {
                return Ok(end);
            }
        }
    }
    Ok(end)
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
        let begin = ChainEnd::behind([1; 16], [2; 8], 10);
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
        let (_, other, _) = ChainEnd::behind([1; 16], [3; 8], 10).piece(&[teed(12)], &key);
        assert!(matches!({ begin }.follow(&other, &key.public(), "x"), Err(BackupFault::Malformed { .. })));
        for at in 0..one.len() {
            let mut changed = one.clone();
            changed[at] ^= 1;
            assert!({ begin }.follow(&changed, &key.public(), "x").is_err(), "byte {at}");
        }
    }
}
