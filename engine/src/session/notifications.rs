//! LISTEN, NOTIFY and UNLISTEN: what the transaction leaves for its commit, and what the client is told while it is idle.

use crate::response::Response;
use crate::session::{Session, TransactionStatus};
use state::SqlError;
use state::locks::Patience;
use state::notifications::{Caller, Listening, Notification};
use std::sync::Arc;
use transactions::commit::Committed;
use transactions::transaction::Transaction;

/// As many are taken at once: they are on their way before more are.
const TAKEN_MAX: usize = 256;

impl Session {
    /// Says how the connection is reached when something waits for its client.
    pub fn set_caller(&self, caller: Caller) {
        self.control.holder.listener.set_caller(caller);
    }

    /// Whether notifications may come at any time.
    pub fn is_listening(&self) -> bool {
        self.control.holder.listener.is_listening()
    }

    /// The next notifications for the client; none in a transaction, which hears of them when it has ended.
    pub fn take_notifications(&mut self) -> Vec<Arc<Notification>> {
        match self.status() {
            TransactionStatus::Idle => self.control.holder.listener.take(TAKEN_MAX),
            TransactionStatus::InTransaction | TransactionStatus::Failed => Vec::new(),
        }
    }

    /// LISTEN, UNLISTEN: from the commit on.
    pub(super) fn listen(&mut self, wish: Listening, tag: &str) -> Result<Response, SqlError> {
        if matches!(wish, Listening::To(_)) {
            self.refuse_persons("LISTEN")?;
        }
        self.transaction();
        let listens_to = self.control.holder.listener.channels().len();
        self.state.lock().pending.listen(wish, listens_to)?;
        Ok(Response::Complete(tag.into()))
    }

    /// NOTIFY, at the commit.
    pub(super) fn notify(&mut self, channel: &str, payload: &str) -> Result<Response, SqlError> {
        self.refuse_persons("NOTIFY")?;
        self.transaction();
        self.state.lock().pending.notify(channel, payload)?;
        Ok(Response::Complete("NOTIFY".into()))
    }

    /// UNLISTEN *, at once: of DISCARD ALL, and when the session ends.
    pub(super) fn listen_to_nothing(&self) {
        let listener = &self.control.holder.listener;
        if listener.is_listening() {
            self.database.sessions.exchange.notifications.listen(listener, &[Listening::ToNothing]);
        }
    }

    /// COMMIT, with what it tells others and begins to hear.
    pub(super) fn commit_and_tell(
        &mut self,
        mut transaction: Transaction,
        patience: &Patience,
    ) -> Result<Committed, SqlError> {
        let pending = std::mem::take(&mut self.state.lock().pending);
        if pending.is_empty() {
            return transaction.commit(patience);
        }
        let (hub, listener) =
            (self.database.sessions.exchange.notifications.clone(), self.control.holder.listener.clone());
        let (wishes, announcement) = pending.announced(self.client.backend, self.client.database_id, &hub);
        transaction.announce(announcement);
        // Before it commits: it hears of every commit from its own on, and of itself.
        let before = listener.channels();
        let fresh = |wish: &&Listening| matches!(wish, Listening::To(channel) if !before.contains(channel));
        let begun: Vec<Listening> = wishes.iter().filter(fresh).cloned().collect();
        hub.listen(&listener, &begun);
        let outcome = transaction.commit(patience);
        match &outcome {
            Ok(_) => hub.listen(&listener, &wishes),
            Err(_) => {
                let ended = begun.into_iter().filter_map(|wish| match wish {
                    Listening::To(channel) => Some(Listening::NoMoreTo(channel)),
                    Listening::NoMoreTo(_) | Listening::ToNothing => None,
                });
                hub.listen(&listener, &ended.collect::<Vec<_>>());
            }
        }
        outcome
    }
}
