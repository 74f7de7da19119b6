//! What a session does not wait for, commits and strict audit records: the pipeline answers the client, while the session reads on.
//!
//! ```text
//! Sync ─▶ complete_apart ─▶ commit ─────▶ pipeline ─▶ durable, published, locks freed ─▶ tell the client
//!                             └─▶ next message ─▶ settle: waits for that, so the client never overtakes its own commit
//! rows that were read under the strict mode ─▶ owed: nothing of the answer is sent before their record is durable
//! ```
//! Waking the session only to say what is known already would cost each commit two more switches between threads.

use crate::session::settlement::{Settlement, Settling};
use crate::session::{Active, Session};
use repr::poll;
use state::SqlError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use transactions::commit::{Committed, PreparedCommit};
use transactions::database::Database;
use transactions::transaction::Transaction;

/// What is ready for the pipeline.
pub struct Apart<'a> {
    what: Left,
    settlement: &'a mut Settlement,
}

enum Left {
    Commit(Box<Transaction>, Box<PreparedCommit>),
    /// What was read, and is to be recorded by a round. What the session's last commit gave stays so.
    Record(Arc<Database>, u64, Committed),
}

/// What became of a commit. The session goes on once this is dropped: by then the client's answer must be on its way.
pub struct Answered {
    // None once it was told.
    outcome: Option<Result<Committed, SqlError>>,
    session: Settling,
}

impl Answered {
    /// Why nothing was committed, if so.
    pub fn error(&self) -> Option<&SqlError> {
        self.outcome.as_ref().and_then(|outcome| outcome.as_ref().err())
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            self.session.tell(outcome);
        }
    }
}

impl Apart<'_> {
    /// Whether it commits. Else what was read is recorded; where it cannot be, nothing of it may be told.
    pub fn commits(&self) -> bool {
        matches!(self.what, Left::Commit(..))
    }

    /// Commits. `tell` is called on any thread, and must not wait there; if the server stops, never.
    pub fn commit(self, tell: impl FnOnce(Answered) + Send + 'static) {
        let session = self.settlement.begin();
        match self.what {
            Left::Commit(transaction, prepared) => {
                transaction.hand_over(prepared, move |outcome| tell(Answered { outcome: Some(outcome), session }));
            }
            Left::Record(database, round, committed) => {
                let hear = move |recorded: Result<(), SqlError>| {
                    tell(Answered { outcome: Some(recorded.map(|()| committed)), session });
                };
                database.audit.rounds.follow(round, || database.pipeline.record_soon(), hear);
            }
        }
    }
}

impl Session {
    /// As `complete`, up to where the pipeline takes over. None if the session must be there when it is done: nothing has
    /// happened then.
    pub fn complete_apart(&mut self) -> Result<Option<Apart<'_>>, SqlError> {
        let _overseen = self.oversee();
        let quiet = self.client.notices.is_empty()
            && !self.is_listening()
            && self.cursors.open.is_empty()
            && self.cursors.subscribed.is_empty()
            && self.transaction.unfilled.is_empty()
            && self.transaction.dropped.is_none()
            && {
                let state = self.state.lock();
                !state.settings.awaits_end()
                    && state.pending.is_empty()
                    && state.notices.is_empty()
                    && state.settings.version() == self.client.reported_version
            };
        if self.audit.owed.is_owed() {
            return if quiet { self.record_apart() } else { Ok(None) };
        }
        let patience = self.patience();
        match self.transaction.active.take() {
            Some(Active { mut transaction, block: false, failed: false }) if quiet => {
                if let Some(prepared) = poll::unwinds_to(|| transaction.prepare_apart(&patience))? {
                    self.transaction.company = None;
                    self.state.lock().end_transaction(true);
                    self.control.counters.committed.fetch_add(1, Ordering::Relaxed);
                    let what = Left::Commit(transaction, prepared);
                    return Ok(Some(Apart { what, settlement: &mut self.transaction.settlement }));
                }
                self.transaction.active = Some(Active { transaction, block: false, failed: false });
            }
            active => self.transaction.active = active,
        }
        Ok(None)
    }

    /// The same of what was only read.
    fn record_apart(&mut self) -> Result<Option<Apart<'_>>, SqlError> {
        let only_reads = self
            .transaction
            .active
            .as_ref()
            .is_none_or(|active| !active.block && !active.failed && active.transaction.overlay().is_empty());
        if !only_reads {
            return Ok(None);
        }
        self.complete()?;
        let round = self.audit.owed.take();
        Ok(round.map(|round| Apart {
            what: Left::Record(self.database.clone(), round, std::mem::take(&mut self.transaction.committed)),
            settlement: &mut self.transaction.settlement,
        }))
    }

    /// Whether the statement that is to be run may leave it to who answers that its record is durable before.
    pub fn may_owe(&mut self, may: bool) {
        self.audit.may_owe = may;
    }

    /// Waits until all is recorded that must be before anything of the answer is sent. Where it fails nothing may be.
    pub fn settle_owed(&mut self) -> Result<(), SqlError> {
        let Some(round) = self.audit.owed.take() else { return Ok(()) };
        self.database.audit.rounds.wait(round, || self.database.pipeline.record_soon())
    }

    /// Waits for a commit that was left to the pipeline. Nothing else may be asked of the session before.
    pub fn settle(&mut self) {
        // The client has been told; nothing of a transaction that failed is left here. No outcome: the server stops.
        if let Some(Ok(committed)) = self.transaction.settlement.wait() {
            self.transaction.committed = committed;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.control.lending.is_inner {
            // What it is made of is the other's.
            return;
        }
        // The transaction holds the database, which must not end on a thread of its own pipeline.
        self.settle();
        self.database.sessions.locks.unlock_all_advisory(self.control.holder.session);
        self.listen_to_nothing();
        let gone = self.control.holder.temporary.clear();
        self.database.sequences.forget(gone.sequences.keys().copied());
        self.control.holder.activity.end();
    }
}
