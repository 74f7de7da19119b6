//! Who may come in, read again while the server runs: at SIGHUP, or as SQL asks by `pg_reload_conf()`.

use crate::admission::{Admission, WayIn};
use arc_swap::ArcSwap;
use std::path::Path;

/// Reads it again. Whether it was understood.
pub type Reload = Box<dyn Fn() -> bool + Send>;

/// Reads it again; where that fails, what held before holds on, and the log says why.
pub(crate) fn reload(current: &ArcSwap<Admission>, data: &Path, files: &WayIn) -> bool {
    let read = Admission::load(data, files, Some(&current.load()));
    match read {
        Ok(read) => {
            tracing::info!(target: "dogwood::server", rules = read.rules(), "read again who may come in");
            current.store(read.into());
            true
        }
        Err(error) => {
            tracing::warn!(target: "dogwood::server", "who may come in is not changed: {error}");
            false
        }
    }
}
