//! What a transaction's statements leave in the audit log.

use super::Transaction;
use state::audit::ReadObserver;
use std::sync::Arc;
use storage::audit::{AuditActor, AuditEntry};

impl Transaction {
    /// What the statement under way reads is noted there.
    pub fn observe(&mut self, observer: Option<Arc<ReadObserver>>) {
        self.reads.statement.observer = observer;
    }

    /// What is written from here on is written by them, for the audit log.
    pub fn act_as(&mut self, actor: &Arc<AuditActor>) {
        if !Arc::ptr_eq(self.overlay.actor(), actor) && self.overlay.actor() != actor {
            self.overlay_mut().act_as(actor.clone());
        }
    }

    /// Has the audit log say this of a statement, with the commit or, of one that is taken back, as that.
    pub fn audit(&mut self, entry: AuditEntry) {
        self.pending.audit.push(entry);
    }

    /// What the statements did stands in the log: with the commit, or without one as they changed nothing.
    pub(super) fn audited(&mut self, committed: bool) {
        for entry in std::mem::take(&mut self.pending.audit) {
            if !committed {
                self.audit_apart(entry);
            }
        }
    }

    /// What was not committed was done all the same, and taken back.
    pub(super) fn audit_undone(&mut self) {
        for mut entry in std::mem::take(&mut self.pending.audit) {
            entry.scope.undone = true;
            self.audit_apart(entry);
        }
    }

    fn audit_apart(&self, entry: AuditEntry) {
        if let Err(error) = self.database.audit_apart(self.holder.session.0, entry) {
            tracing::error!(target: "dogwood::audit", "what was done could not be recorded: {error}");
        }
    }
}
