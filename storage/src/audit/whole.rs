//! Whether the log in the folder is whole: read once from its first record to its head, for `dogwood check`.

use crate::audit::log::{self, CHECKPOINT_RECORDS, Head};
use crate::audit::verify::{Chain, VerifyError, verify_receipt};
use crate::error::StorageError;
use crate::rocks::Family;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::Cursor;

impl Snapshot {
    /// Whether each record follows on the one before, checkpoints and head say the same, and all receipts are there.
    pub(crate) fn check_log(&self) -> Result<Result<(), VerifyError>, StorageError> {
        let (public, database) = (self.store().public_key(), self.store().database_id());
        let name = log::log_name(&database, &public);
        let head = self.signed_head()?.and_then(|head| Head::verified(name, &head, &public));
        let mut chain = Chain::after((0, name));
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
            log::entries(chain.sequence, &record)?;
        }
        if head.as_ref().map_or((0, name), |head| (head.sequence, head.hash)) != (chain.sequence, chain.hash) {
            return Ok(Err(VerifyError::Chain { after: chain.sequence }));
        }
        self.check_receipts(head.map_or(0, |head| head.receipts))
    }

    /// By their numbers, ids and signatures. After a restore to before an erasure its receipt is there, and its entry is not.
    fn check_receipts(&self, count: u64) -> Result<Result<(), VerifyError>, StorageError> {
        let public = self.store().public_key();
        let mut expected = 1;
        for receipt in self.receipts(1..=u64::MAX, false) {
            let receipt = receipt?;
            let is_signed = verify_receipt(&public, receipt.text.as_bytes()).is_ok();
            let is_found = self.receipt(&receipt.id)?.is_some_and(|found| found.number == receipt.number);
            if receipt.number != expected || !is_signed || !is_found {
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
