//! Whether the log in the folder is whole: read once from its first record to its head, for `dogwood check`.

use std::collections::BTreeSet;

use crate::audit::group::FORM_OF_EMPTIED;
use crate::audit::log::{self, CHECKPOINT_RECORDS, Head};
use crate::audit::verify::{Chain, VerifyError};
use crate::crypto::sodium;
use crate::error::StorageError;
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::Cursor;

impl Snapshot {
    /// Whether each record follows on the one before, checkpoints and head say the same, and every receipt is vouched for.
    pub(crate) fn check_log(&self) -> Result<Result<(), VerifyError>, StorageError> {
        let (public, database) = (self.store().public_key(), self.store().database_id());
        let name = log::log_name(&database, &public);
        let head = self.signed_head()?.and_then(|head| Head::verified(name, &head, &public));
        let (mut chain, mut vouched) = (Chain::after((0, name)), BTreeSet::new());
        let mut cursor = Cursor::all_once(self, Family::Audit, log::RECORDS);
        while let Some((sequence, record)) =
            cursor.next("read the audit log", |key, record| (log::number_of(key), record.to_vec()))?
        {
            if sequence != Some(chain.sequence + 1) {
                return Ok(Err(VerifyError::Chain { after: chain.sequence }));
            }
            if let Err(error) = chain.follow(&record) {
                return Ok(Err(error));
            }
            if chain.sequence.is_multiple_of(CHECKPOINT_RECORDS) {
                let stored = self.get(Family::Audit, &log::checkpoint_key(chain.sequence), "read a checkpoint")?;
                let stored = stored.as_deref().and_then(|stored| stored.try_into().ok());
                let checkpoint = stored.and_then(|stored| Head::verified(name, stored, &public));
                if checkpoint
                    .is_none_or(|checkpoint| (checkpoint.sequence, checkpoint.hash) != (chain.sequence, chain.hash))
                {
                    return Ok(Err(VerifyError::Checkpoint { sequence: chain.sequence }));
                }
            }
            let entries = log::entries(chain.sequence, &record)?;
            vouched.extend(entries.into_iter().filter_map(|entry| entry.commitment));
            if record.first() == Some(&FORM_OF_EMPTIED) {
                // What vouched for receipts went with it.
                vouched.insert([0; 32]);
            }
        }
        if head.as_ref().map_or((0, name), |head| (head.sequence, head.hash)) != (chain.sequence, chain.hash) {
            return Ok(Err(VerifyError::Chain { after: chain.sequence }));
        }
        self.check_receipts(head.map_or(0, |head| head.receipts), &vouched)
    }

    fn check_receipts(
        &self,
        count: u64,
        vouched: &BTreeSet<[u8; 32]>,
    ) -> Result<Result<(), VerifyError>, StorageError> {
        let mut expected = 1;
        for receipt in self.receipts(1..=u64::MAX, false) {
            let receipt = receipt?;
            let hash = sodium::hash::<32>(receipt.text.as_bytes());
            let is_vouched = vouched.contains(&hash) || vouched.contains(&[0; 32]);
            let is_found = self.receipt(&receipt.id)?.is_some_and(|found| found.number == receipt.number);
            if receipt.number != expected || !is_vouched || !is_found {
                return Ok(Err(VerifyError::Receipt { number: expected }));
            }
            expected += 1;
        }
        match expected == count + 1 {
            true => Ok(Ok(())),
            false => Ok(Err(VerifyError::Receipt { number: expected })),
        }
    }
}
