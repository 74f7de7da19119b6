//! What the view thread counts about itself, for the introspection relations.

use parking_lot::Mutex;
use repr::RelationId;
use std::collections::BTreeMap;
use std::time::Duration;
use timely::worker::Worker;

/// See the module.
#[derive(Default)]
pub struct Statistics {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    names: BTreeMap<RelationId, String>,
}

impl Statistics {
    /// Listens to what the worker logs.
    pub fn register(&self, _worker: &Worker) {}
    /// A view was made.
    pub fn created(&self, view: RelationId, name: &str) {
        self.inner.lock().names.insert(view, name.to_owned());
    }
    /// A view took this long over a group.
    pub fn view(&self, _view: RelationId, _took: Duration) {}
    /// A group took this long through so many views.
    pub fn group(&self, _took: Duration, _affected: usize) {}
}
