//! What others read who read the same.

use super::LayeredSnapshot;
use crate::published::Published;
use crate::snapshot_holders::SnapshotHold;
use std::sync::Arc;

impl LayeredSnapshot {
    /// The published state below all layers, if it is held for a session.
    pub fn held_state(&self) -> Option<(Arc<Published>, Arc<SnapshotHold>)> {
        self.hold.clone().map(|hold| (self.base.clone(), hold))
    }
}
