//! What a session has for itself, and what it is told of it.

use super::Session;
use state::temporary::TemporarySpace;

impl Session {
    /// What the session has for itself.
    pub(crate) fn temporary(&self) -> &TemporarySpace {
        &self.control.holder.temporary
    }

    /// Says which temporary tables an erasure has emptied.
    pub(crate) fn tell_emptied(&mut self) {
        if let Some(active) = &mut self.transaction.active {
            active.transaction.forget_tainted();
        }
        for name in self.temporary().take_emptied() {
            let message = format!(
                "temporary table \"{name}\" is emptied: it was filled from personal rows, and a person was forgotten"
            );
            self.notice("NOTICE", "00000", message);
        }
    }
}
