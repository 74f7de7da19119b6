//! Settings that all sessions share: set by any of them, at once, and until the server stops.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What automatic views may hold together, and any view alone.
pub(crate) const VIEW_MEMORY: &str = "dogwood.view_memory";
/// What may wait for all subscribers together.
pub(crate) const SUBSCRIPTION_MEMORY: &str = "dogwood.subscription_memory";

/// What all sessions may hold together.
pub(crate) const SERVER_MEMORY: &str = "server_memory";

/// See the module.
#[derive(Debug)]
pub struct ServerSettings {
    /// `dogwood.view_memory`.
    pub view_memory: SharedSize,
    /// `dogwood.subscription_memory`.
    pub subscription_memory: SharedSize,
    /// `server_memory`.
    pub server_memory: SharedSize,
    /// What sessions begin with, where that is not the default.
    given: BTreeMap<String, String>,
}

/// A size in bytes that one session sets for all.
#[derive(Debug)]
pub struct SharedSize {
    bytes: AtomicUsize,
    /// What RESET goes back to.
    start_bytes: usize,
}

impl SharedSize {
    /// As the configuration has it.
    pub fn new(start_bytes: usize) -> Self {
        SharedSize { bytes: AtomicUsize::new(start_bytes), start_bytes }
    }

    /// As it is.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// What RESET goes back to.
    pub(crate) fn start_bytes(&self) -> usize {
        self.start_bytes
    }

    /// Sets it; `None` goes back to the start.
    pub fn set(&self, bytes: Option<usize>) {
        self.bytes.store(bytes.unwrap_or(self.start_bytes), Ordering::Relaxed);
    }
}

/// Whether a setting is shared.
pub fn is_shared(name: &str) -> bool {
    matches!(name, VIEW_MEMORY | SUBSCRIPTION_MEMORY | SERVER_MEMORY)
}

impl ServerSettings {
    /// As the configuration has them.
    pub fn new(view_memory_bytes: usize, subscription_memory_bytes: usize, server_memory_bytes: usize) -> Self {
        ServerSettings {
            view_memory: SharedSize::new(view_memory_bytes),
            subscription_memory: SharedSize::new(subscription_memory_bytes),
            server_memory: SharedSize::new(server_memory_bytes),
            given: BTreeMap::new(),
        }
    }

    /// Has a shared one start with another value.
    pub(super) fn start_with(&mut self, name: &str, bytes: usize) {
        match name {
            VIEW_MEMORY => self.view_memory = SharedSize::new(bytes),
            SUBSCRIPTION_MEMORY => self.subscription_memory = SharedSize::new(bytes),
            SERVER_MEMORY => self.server_memory = SharedSize::new(bytes),
            _ => {}
        }
    }

    /// Has every session begin with this value; `name` in lower case.
    pub(super) fn give(&mut self, name: String, value: String) {
        self.given.insert(name, value);
    }

    /// What sessions begin with.
    pub(super) fn given(&self, lower: &str) -> Option<&str> {
        self.given.get(lower).map(String::as_str)
    }

    /// The one of this name.
    pub fn shared(&self, name: &str) -> Option<&SharedSize> {
        match name {
            VIEW_MEMORY => Some(&self.view_memory),
            SUBSCRIPTION_MEMORY => Some(&self.subscription_memory),
            SERVER_MEMORY => Some(&self.server_memory),
            _ => None,
        }
    }
}
