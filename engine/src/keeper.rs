//! A small thread for what nobody waits for: it drops automatic views that are idle or over the budget, and has files of the
//! store merged. It ends with the database.

use crate::database::Database;
use std::sync::{Arc, Weak};
use std::time::Duration;

const LOOKS_EVERY: Duration = Duration::from_millis(500);

/// Starts it.
pub fn start(database: &Arc<Database>) {
    let database: Weak<Database> = Arc::downgrade(database);
    std::thread::Builder::new()
        .name("keeper".into())
        .spawn(move || {
            loop {
                std::thread::sleep(LOOKS_EVERY);
                let Some(database) = database.upgrade() else { return };
                let views = database.published.load().views.clone();
                let budget = database.settings.view_memory.bytes();
                database.automatic_views.allow_again(budget);
                database.automatic_views.evict(&views, budget, &database.pipeline);
                database.subscriptions.trim();
                // A store that cannot note it now (no room on the disk) is as right as before; the next look tries again.
                let _tried_again = database.store.look_after_files();
            }
        })
        .expect("the process can start its keeper");
}
