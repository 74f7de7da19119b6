//! Settings that all sessions share: set by any of them, at once, and until the server stops.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What automatic views may hold together, and any view alone.
pub(crate) const VIEW_MEMORY: &str = "dogwood.view_memory";
/// What may wait for all subscribers together.
pub(crate) const SUBSCRIPTION_MEMORY: &str = "dogwood.subscription_memory";

/// How many bytes of files erasures may have rewritten in a second.
pub(crate) const ERASURE_RATE: &str = "dogwood.erasure_rate";
/// As many as rewrite a gigabyte of index entries with its rows within a minute.
const ERASURE_RATE_BYTES: usize = 64 << 20;

/// After how long the key-encryption key is replaced.
pub(crate) const KEY_ROTATION: &str = "dogwood.key_rotation";
const KEY_ROTATION_MINUTES: usize = 30 * 24 * 60;

/// How old entries of the audit log become.
pub(crate) const AUDIT_RETENTION: &str = "dogwood.audit_retention";

/// What all sessions may hold together.
pub(crate) const SERVER_MEMORY: &str = "server_memory";

/// See the module.
#[derive(Debug)]
pub struct ServerSettings {
    /// `dogwood.view_memory`.
    pub view_memory: SharedNumber,
    /// `dogwood.subscription_memory`.
    pub subscription_memory: SharedNumber,
    /// `server_memory`.
    pub server_memory: SharedNumber,
    /// `dogwood.erasure_rate`, in a second.
    pub erasure_rate: SharedNumber,
    /// `dogwood.key_rotation`, in minutes; 0 is never.
    pub key_rotation: SharedNumber,
    /// `dogwood.audit_retention`, in minutes; 0 is for ever.
    pub audit_retention: SharedNumber,
    /// What sessions begin with, where that is not the default.
    given: BTreeMap<String, String>,
}

/// A number that one session sets for all, as it is kept: kilobytes or minutes.
#[derive(Debug)]
pub struct SharedNumber {
    kept: AtomicUsize,
    /// What RESET goes back to.
    start: usize,
}

impl SharedNumber {
    /// Begins with this number.
    pub fn new(start: usize) -> Self {
        SharedNumber { kept: AtomicUsize::new(start), start }
    }

    /// Begins with this size.
    fn of_bytes(bytes: usize) -> Self {
        SharedNumber::new(bytes >> 10)
    }

    /// As it is.
    pub fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    /// The size that it is, where it counts kilobytes.
    pub fn bytes(&self) -> usize {
        self.kept() << 10
    }

    /// What RESET goes back to.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Sets it; `None` goes back to the start.
    pub fn set(&self, kept: Option<usize>) {
        self.kept.store(kept.unwrap_or(self.start), Ordering::Relaxed);
    }
}

/// Whether a setting is shared.
pub fn is_shared(name: &str) -> bool {
    matches!(name, VIEW_MEMORY | SUBSCRIPTION_MEMORY | SERVER_MEMORY | ERASURE_RATE | KEY_ROTATION | AUDIT_RETENTION)
}

impl ServerSettings {
    /// As the configuration has them.
    pub fn new(view_memory_bytes: usize, subscription_memory_bytes: usize, server_memory_bytes: usize) -> Self {
        ServerSettings {
            view_memory: SharedNumber::of_bytes(view_memory_bytes),
            subscription_memory: SharedNumber::of_bytes(subscription_memory_bytes),
            server_memory: SharedNumber::of_bytes(server_memory_bytes),
            erasure_rate: SharedNumber::of_bytes(ERASURE_RATE_BYTES),
            key_rotation: SharedNumber::new(KEY_ROTATION_MINUTES),
            audit_retention: SharedNumber::new(0),
            given: BTreeMap::new(),
        }
    }

    /// Has a shared one start with another value.
    pub(super) fn start_with(&mut self, name: &str, kept: usize) {
        match name {
            VIEW_MEMORY => self.view_memory = SharedNumber::new(kept),
            SUBSCRIPTION_MEMORY => self.subscription_memory = SharedNumber::new(kept),
            SERVER_MEMORY => self.server_memory = SharedNumber::new(kept),
            ERASURE_RATE => self.erasure_rate = SharedNumber::new(kept),
            KEY_ROTATION => self.key_rotation = SharedNumber::new(kept),
            AUDIT_RETENTION => self.audit_retention = SharedNumber::new(kept),
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
    pub fn shared(&self, name: &str) -> Option<&SharedNumber> {
        match name {
            VIEW_MEMORY => Some(&self.view_memory),
            SUBSCRIPTION_MEMORY => Some(&self.subscription_memory),
            SERVER_MEMORY => Some(&self.server_memory),
            ERASURE_RATE => Some(&self.erasure_rate),
            KEY_ROTATION => Some(&self.key_rotation),
            AUDIT_RETENTION => Some(&self.audit_retention),
            _ => None,
        }
    }
}
