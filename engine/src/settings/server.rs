//! Settings that all sessions share: set by any of them, at once, and until the server stops.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What automatic views may hold together, and any view alone.
pub const VIEW_MEMORY: &str = "dogwood.view_memory";

/// See the module.
#[derive(Debug)]
pub struct ServerSettings {
    view_memory_bytes: AtomicUsize,
    /// What RESET goes back to.
    view_memory_start_bytes: usize,
}

impl ServerSettings {
    /// As the configuration has them.
    pub fn new(view_memory_bytes: usize) -> Self {
        ServerSettings {
            view_memory_bytes: AtomicUsize::new(view_memory_bytes),
            view_memory_start_bytes: view_memory_bytes,
        }
    }

    /// `dogwood.view_memory` in bytes.
    pub fn view_memory_bytes(&self) -> usize {
        self.view_memory_bytes.load(Ordering::Relaxed)
    }

    /// Sets it; `None` goes back to the start.
    pub fn set_view_memory_bytes(&self, bytes: Option<usize>) {
        self.view_memory_bytes.store(bytes.unwrap_or(self.view_memory_start_bytes), Ordering::Relaxed);
    }
}
