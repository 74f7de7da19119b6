//! The portals of one connection: statements bound to parameters, and how far they have run.
//!
//! What they are bound to is bounded in bytes; what their rows hold is charged to the queries that make them.

use crate::types::Formats;
use engine::SqlError;
use engine::protocol::{ResultColumns, RowStream, RowTag, Stored};
use repr::Datum;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the parameters of all portals of a connection may take together: more than the longest Bind.
const PORTALS_BYTES_MAX: usize = 128 << 20;
/// One portal and one parameter, beside the parameter's own bytes.
const PORTAL_BYTES: usize = 1 << 10;
const PARAMETER_BYTES: usize = 64;

/// A statement with its parameters, and how far it has run.
pub(super) struct Portal {
    pub stored: Arc<Stored>,
    pub parameters: Arc<[Datum]>,
    // What Bind asked for, for statements whose columns are known only when they run (FETCH).
    pub codes: Vec<i16>,
    pub formats: Formats,
    pub state: PortalState,
    /// The columns as they were when it was bound.
    pub columns: Option<Arc<ResultColumns>>,
    /// Whether the client was told of them.
    pub described: bool,
    pub bytes: usize,
}

pub(super) enum PortalState {
    Ready,
    Suspended(RowStream),
    // With the tag that an empty rest of rows has; `None` if the statement gave no rows.
    Done(Option<RowTag>),
}

/// See the module.
#[derive(Default)]
pub(super) struct Portals {
    // Boxed: they are taken out while they run, and put back.
    named: BTreeMap<String, Box<Portal>>,
    unnamed: Option<Box<Portal>>,
    bytes: usize,
}

/// What a portal of so many parameters, of so many bytes together, is charged.
pub(super) fn charge(parameters: usize, bytes: usize) -> usize {
    PORTAL_BYTES + parameters * PARAMETER_BYTES + bytes
}

impl Portals {
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Portal> {
        if name.is_empty() { self.unnamed.as_deref_mut() } else { self.named.get_mut(name).map(Box::as_mut) }
    }

    /// 42P03 if one of that name is open; the unnamed one gives way.
    pub(crate) fn make_way(&mut self, name: &str) -> Result<(), SqlError> {
        if name.is_empty() {
            self.remove("");
        } else if self.named.contains_key(name) {
            return Err(SqlError::new("42P03", format!("cursor \"{name}\" already exists")));
        }
        Ok(())
    }

    pub fn insert(&mut self, name: &str, portal: Box<Portal>) -> Result<(), SqlError> {
        let bytes = self.bytes + portal.bytes;
        if bytes > PORTALS_BYTES_MAX {
            return Err(SqlError::new("53200", "out of memory for the portals of this connection")
                .detail(format!(
                    "{} portals hold {} bytes, of at most {PORTALS_BYTES_MAX}.",
                    self.named.len() + usize::from(self.unnamed.is_some()),
                    self.bytes
                ))
                .hint("Close those that are no longer needed."));
        }
        self.bytes = bytes;
        if name.is_empty() {
            self.unnamed = Some(portal);
        } else {
            self.named.insert(name.to_string(), portal);
        }
        Ok(())
    }

    pub fn remove(&mut self, name: &str) -> Option<Box<Portal>> {
        let removed = if name.is_empty() { self.unnamed.take() } else { self.named.remove(name) }?;
        self.bytes -= removed.bytes;
        Some(removed)
    }

    pub fn clear(&mut self) {
        self.named.clear();
        self.unnamed = None;
        self.bytes = 0;
    }
}
