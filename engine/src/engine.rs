//! The engine's door: open a data folder, connect sessions, stop.

use crate::eraser::Eraser;
use crate::housekeeping::Housekeeping;
use crate::session::{ConnectOptions, Session};
use crate::templates::Templates;
use state::SqlError;
use state::config::Config;
use std::sync::Arc;
use transactions::database::{Database, tell_operator};

/// A running engine.
pub struct Engine {
    // First, so that the folder is free once the engine and its sessions are gone.
    _keeper: Housekeeping,
    eraser: Eraser,
    database: Arc<Database>,
    templates: Arc<Templates>,
}

impl Engine {
    /// Opens a data folder, making it if it is empty. Refuses to start over anything that is not whole.
    pub fn open(config: Config) -> Result<Arc<Engine>, SqlError> {
        let database = Database::open(config)?;
        Ok(Arc::new(Engine {
            _keeper: Housekeeping::start(&database),
            eraser: Eraser::start(&database),
            database,
            templates: Arc::default(),
        }))
    }

    /// Opens a session for an authenticated login.
    pub fn connect(&self, options: ConnectOptions) -> Result<Session, SqlError> {
        Session::connect(&self.database, &self.templates, options)
    }

    /// Whether a write has failed for good, and would not if the folder was opened anew now: whoever serves it should.
    pub fn wants_reopening(&self) -> bool {
        self.database.store.would_write_again()
    }

    /// Has what erasures still owe rewritten if that is little. Makes everything written durable and leaves the next start no log to replay; sessions that are still open hear
    /// 57P01 from `wire`.
    pub fn shutdown(&self) -> Result<(), SqlError> {
        self.eraser.finish(&self.database);
        tell_operator(&self.database.store);
        Ok(self.database.store.settle()?)
    }
}
