//! A view worker's hand on ordered indexes: made, filled, followed, ended, in the same commit order as views.

use crate::ordered_index::OrderedBy;
use crate::publication::ComponentId;
use crate::subscription::Deltas;
use crate::worker::ViewWorker;
use planner::catalog::Catalog;
use repr::RelationId;
use state::overlay::Overlay;
use state::view_states::{Stage, ViewState};
use std::sync::Arc;
use std::time::Instant;

impl ViewWorker {
    pub(super) fn create_ordered(&mut self, id: RelationId, by: OrderedBy) {
        let catalog = self.at.state.catalog().clone();
        self.known.overview = None;
        if self.ordered.create(id, by, &catalog) {
            self.around.statistics.created(id);
            self.set(ComponentId::ORDERED, id, ViewState::at(Stage::Hydrating { rows: 0 }));
        } else {
            // Planned before DDL and asked for after it.
            self.around.automatic.ended(id);
        }
    }

    /// Those whose tables have become others end.
    pub(super) fn end_ordered(&mut self, catalog: &Catalog) {
        for id in self.ordered.follow_catalog(catalog) {
            self.forget(id);
            self.around.automatic.ended(id);
        }
    }

    /// A group goes through those whose tables it changed.
    pub(super) fn follow_ordered(&mut self, layers: &[Arc<Overlay>]) {
        let started = Instant::now();
        let became = self.ordered.follow(layers, &self.at.state, self.around.settings.view_memory.bytes());
        for (id, state) in became {
            self.around.statistics.view(id, started.elapsed(), true);
            self.set(ComponentId::ORDERED, id, state);
        }
        // Whoever writes a table of one waits for all.
        if self.ordered.read().next().is_some() {
            self.tell(ComponentId::ORDERED, None, Deltas::default());
        }
    }

    /// One chunk of one that is being filled.
    pub(super) fn fill_ordered(&mut self) {
        let budget_bytes = self.around.settings.view_memory.bytes();
        if let Some((id, state)) = self.ordered.fill(&self.at.state, budget_bytes) {
            let under_way = matches!(state.stage, Stage::Hydrating { .. });
            self.set(ComponentId::ORDERED, id, state);
            if !under_way {
                self.tell(ComponentId::ORDERED, None, Deltas::default());
            }
        }
    }
}
