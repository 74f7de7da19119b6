//! Rows of views that cannot be evaluated: which views they are missing in, and who is to look whose they are.

use crate::subscription::Deltas;
use crate::worker::ViewWorker;
use repr::RelationId;
use state::SqlError;
use state::published::Published;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl ViewWorker {
    /// Whether rows of these views cannot be evaluated.
    pub(super) fn one_fails(&self, views: &[RelationId]) -> bool {
        views.iter().any(|id| self.at.current.get(*id).is_some_and(|state| state.error.is_some()))
    }

    /// Rows have come to fail in these views, or fail no more. A row that fails is missing in the views above, too.
    pub(super) fn doubt(&self, mut doubtful: BTreeSet<RelationId>, after: &Arc<Published>, deltas: &mut Deltas) {
        doubtful.extend(self.readers_of(&doubtful));
        let mut errors: BTreeMap<RelationId, SqlError> = BTreeMap::new();
        for (id, state) in self.at.current.iter() {
            if let Some(error) = &state.error {
                for view in self.readers_of(&BTreeSet::from([*id])).into_iter().chain([*id]) {
                    errors.entry(view).or_insert_with(|| error.clone().into());
                }
            }
        }
        let views = doubtful.into_iter().map(|id| (id, errors.remove(&id))).collect();
        let state = Published { views: self.at.current.clone(), ..Published::clone(after) };
        deltas.doubt(views, Arc::new(state));
    }
}
