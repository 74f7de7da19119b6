//! What every reader starts from: one pointer to one consistent state of the whole database.

use crate::shape::Schema;
use crate::view::published::Views;
use planner::catalog::Catalog;
use repr::CommitTime;
use std::sync::Arc;
use storage::Snapshot;

/// The database as of one commit. Immutable; replaced as a whole by the pipeline.
#[derive(Clone)]
pub struct Published {
    /// The last commit in it.
    pub time: CommitTime,
    /// The catalog, compiled.
    pub schema: Arc<Schema>,
    /// The leaves.
    pub snapshot: Snapshot,
    /// The maintained views.
    pub views: Views,
}

impl Published {
    /// The catalog at this time.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.schema.catalog()
    }
}
