//! What a restored database is still owed: erasures from after its backup, as far as others' rows and logins go.

use crate::session::Session;
use repr::MicroDbId;
use state::SqlError;
use state::reader::Reader;
use std::sync::Arc;
use storage::backup::Forgotten;
use subject_requests::{erase, forget_again};
use transactions::writer::Writer;

impl Session {
    /// Does with the rows that are left what the erasures did with them. How many were changed or went.
    pub fn settle_restored(&mut self, forgotten: &Forgotten) -> Result<u64, SqlError> {
        let mut settled = 0;
        if forgotten.found > 0 || !forgotten.parts.is_empty() {
            let snapshot = self.transaction().latest_snapshot();
            let mut loose = forget_again::in_part(&snapshot, forgotten)?;
            if forgotten.found > 0 {
                loose.extend(forget_again::dangling(&snapshot)?);
                loose.extend(forget_again::named(&snapshot, forgotten)?);
            }
            settled = loose.len() as u64;
            let context = self.eval_context(Arc::from([]), snapshot.catalog());
            drop(snapshot);
            if !loose.is_empty() {
                let patience = self.patience();
                // What hangs on rows that go or are blanked by this it follows by itself.
                erase::settle(&mut Writer::new(self.transaction(), context, patience), &loose)?;
            }
            self.complete()?;
        }
        self.end_restored_logins(&forgotten.microdbs)?;
        Ok(settled)
    }

    fn end_restored_logins(&mut self, microdbs: &[MicroDbId]) -> Result<(), SqlError> {
        microdbs.iter().try_for_each(|microdb| self.end_logins(*microdb))
    }
}
