//! Rows sealed anew where a person's data key is replaced: at a place in the commit order, so that nobody's write is lost.

use super::{CommitPipeline, Committer, Request, shutting_down};
use repr::MicroDbId;
use state::SqlError;
use std::sync::mpsc::{SyncSender, sync_channel};
use storage::{RowsToReseal, StorageError};

/// See the module.
pub(super) struct ResealRequest {
    of: MicroDbId,
    /// None to hear only that all before it is written.
    rows: Option<RowsToReseal>,
    reply: SyncSender<Result<u64, StorageError>>,
}

impl CommitPipeline {
    /// Seals rows of a person anew under the present key, as they are when their turn comes. How many.
    pub fn reseal(&self, of: MicroDbId, rows: RowsToReseal) -> Result<u64, SqlError> {
        self.ask_to_reseal(of, Some(rows))
    }

    /// Waits until all that is in the commit order is written.
    pub fn await_written(&self, of: MicroDbId) -> Result<(), SqlError> {
        self.ask_to_reseal(of, None).map(|_none| ())
    }

    fn ask_to_reseal(&self, of: MicroDbId, rows: Option<RowsToReseal>) -> Result<u64, SqlError> {
        let (reply, resealed) = sync_channel(1);
        self.commit.put(Request::Reseal(ResealRequest { of, rows, reply }));
        self.commit.rouse();
        Ok(resealed.recv().map_err(|_| shutting_down())??)
    }
}

impl Committer {
    pub(super) fn reseal(&mut self, ResealRequest { of, rows, reply }: ResealRequest) {
        let resealed = rows.map_or(Ok(0), |rows| self.store.reseal(of, &rows));
        // Whoever asked may have gone; what is sealed anew stays so.
        let _heard = reply.send(resealed);
    }
}
