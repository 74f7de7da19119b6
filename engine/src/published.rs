//! What every reader starts from: one pointer to one consistent state of the whole database.

use crate::shape::Schema;
use planner::catalog::Catalog;
use repr::CommitTime;
use std::sync::Arc;
use storage::Snapshot;

/// The database as of one commit. Immutable; replaced as a whole by the pipeline.
pub struct Published {
    /// The last commit in it.
    pub time: CommitTime,
    /// The catalog, compiled.
    pub schema: Arc<Schema>,
    /// The leaves.
    pub snapshot: Snapshot,
}

impl Published {
    /// The catalog at this time.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.schema.catalog()
    }
}
