//! The view thread's hand on filling views: begun, a chunk at a time, and anew where that is better than to follow.

use crate::hydrate::{self, Hydration, UnderWay};
use crate::maintained::{Maintained, Progress};
use crate::subscription::Deltas;
use crate::worker::ViewWorker;
use crate::worker::merge::Unmerged;
use operators::delta::Feed;
use repr::RelationId;
use state::SqlError;
use state::view_states::{Stage, ViewState};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// TRUNCATE is taken back row by row up to so many rows; beyond, views are filled anew …
const TRUNCATED_ROWS_MAX: usize = 1_000;
/// … and their subscriptions end.
const TRUNCATED_WATCHED_ROWS_MAX: usize = 20_000;

impl ViewWorker {
    /// A failed view of the catalog, from the newest state.
    pub(super) fn refill(&mut self, id: RelationId) {
        let failed = |view: &Maintained| matches!(view.progress, Progress::Failed) && !view.automatic;
        if !self.views.get(&id).is_some_and(failed) {
            return;
        }
        let catalog = self.state.catalog().clone();
        if let Some(table) = catalog.table(id) {
            self.overview = None;
            self.views.remove(&id);
            self.create(table, &catalog);
        }
    }

    /// How many rows of a truncated table are taken back one by one: more where somebody watches.
    pub(super) fn taken_back_rows_max(&self, relation: RelationId) -> usize {
        let readers = self.readers_of(&BTreeSet::from([relation]));
        let watched = readers.iter().any(|view| self.around.subscriptions.is_watched(*view));
        if watched { TRUNCATED_WATCHED_ROWS_MAX } else { TRUNCATED_ROWS_MAX }
    }

    /// What lost more rows than are taken back one by one is filled anew.
    pub(super) fn refill_readers(&mut self, cleared: &BTreeSet<RelationId>, deltas: &mut Deltas) {
        if cleared.is_empty() {
            return;
        }
        let readers = self.readers_of(cleared);
        for id in &readers {
            let ended = SqlError::new("55000", "a large table of the subscribed query was truncated");
            deltas.end(*id, ended.hint("Subscribe again."));
        }
        self.fill_anew(readers);
    }

    /// What could not follow a commit group, and the views above: nobody waits for them any longer.
    pub(super) fn refill_left_behind(&mut self, mut left_behind: BTreeSet<RelationId>, deltas: &mut Deltas) {
        if left_behind.is_empty() {
            return;
        }
        left_behind.extend(self.readers_of(&left_behind));
        for id in &left_behind {
            let ended = SqlError::new("55000", "a commit changed more of the subscribed query than it could follow");
            deltas.end(*id, ended.hint("Subscribe again."));
        }
        self.fill_anew(left_behind);
    }

    /// These views from the newest state again.
    pub(super) fn fill_anew(&mut self, ids: BTreeSet<RelationId>) {
        self.overview = None;
        // All are unreadable before the first looks at the others.
        for id in &ids {
            self.current.set(*id, ViewState::at(Stage::Waiting));
        }
        for id in ids {
            let Some(mut view) = self.views.remove(&id) else { continue };
            if let Some(flow) = view.flow.take() {
                view.sources.truncate(usize::from(!view.automatic));
                view.progress = Progress::Waiting;
                let definition = flow.definition.clone();
                flow.end(&mut self.worker);
                self.start(&mut view, definition);
            }
            self.views.insert(id, view);
        }
    }

    pub(super) fn begin(&mut self, id: RelationId, view: &mut Maintained) {
        self.overview = None;
        let Some(flow) = &view.flow else { return };
        let catalog = self.state.catalog();
        let is_view = |id: &RelationId| catalog.table(*id).is_some_and(|table| table.is_maintained());
        let mut failed = None;
        for source in flow.reads.iter().filter(|id| is_view(id)) {
            match self.current.get(*source).map(|state| (&state.stage, state.errors)) {
                Some((Stage::Ready, 0)) if !self.amid_group => {}
                Some((Stage::Failed(error), _)) => failed = Some(error.clone()),
                Some(_) | None => {
                    self.current.set(id, ViewState::at(Stage::Waiting));
                    return;
                }
            }
        }
        if let Some(error) = failed {
            self.fail(id, view, error);
            return;
        }
        let hydration = Hydration::new(self.reader(&self.state, &self.current), &flow.chains);
        view.progress = Progress::Hydrating(Box::new(hydration));
        tracing::debug!(target: "dogwood::views", view = self.name(id), "filling a view");
        view.since = self.state.time;
        self.current.set(id, ViewState::at(Stage::Hydrating { rows: 0 }));
    }

    pub(super) fn wake_waiting(&mut self) {
        let waiting = self.overview().waiting.clone();
        for id in waiting {
            if let Some(mut view) = self.views.remove(&id) {
                self.begin(id, &mut view);
                self.views.insert(id, view);
            }
        }
    }

    /// One chunk of the first view that is being filled, or one group of its backlog.
    pub(super) fn hydrate(&mut self) {
        let Some(&id) = self.overview().hydrating.first() else { return };
        let Some(mut view) = self.views.remove(&id) else { return };
        let is_short = match self.hydrate_some(id, &mut view) {
            Ok(is_through) => is_through && view.widens(),
            Err(error) => {
                self.fail(id, &mut view, error);
                self.views.insert(id, view);
                self.wake_waiting();
                self.republish();
                return;
            }
        };
        self.views.insert(id, view);
        if is_short {
            self.fill_anew(BTreeSet::from([id]));
        }
        // It may have been drawn up while the view was out.
        self.overview = None;
    }

    /// Whether all of it has gone through.
    fn hydrate_some(&mut self, id: RelationId, view: &mut Maintained) -> Result<bool, SqlError> {
        let (Some(flow), Progress::Hydrating(hydration)) = (&mut view.flow, &mut view.progress) else {
            return Ok(false);
        };
        let fed = match hydration.under_way.take() {
            Some(fed) => Some(fed),
            None => {
                if let Some(feed) = hydration.next_chunk()? {
                    flow.feed([feed]);
                    Some(UnderWay { groups: false, took: Duration::ZERO })
                } else if !hydration.backlog.is_empty() {
                    // Several at once, or a view that looks at large groups would never catch up with its writers.
                    flow.feed(hydration.next_groups().into_iter().map(Feed::Group));
                    Some(UnderWay { groups: true, took: Duration::ZERO })
                } else {
                    None
                }
            }
        };
        if let Some(mut fed) = fed {
            let started = Instant::now();
            let until = started + hydrate::PATIENCE.saturating_sub(fed.took);
            let budget_bytes = self.around.settings.view_memory.bytes();
            let through = flow.advance(&mut self.worker, hydrate::AIM, until, budget_bytes)?;
            fed.took += started.elapsed();
            if through {
                hydration.has_gone_through(fed);
                flow.take_fresh();
                self.current.set(id, ViewState::at(Stage::Hydrating { rows: hydration.rows }));
            } else {
                hydration.under_way = Some(fed);
            }
            return Ok(false);
        }
        if flow.is_cutting() {
            flow.apply(&mut self.worker, Vec::new(), self.around.settings.view_memory.bytes())?;
        }
        flow.take_fresh();
        if flow.is_short() {
            return Ok(true);
        }
        let state = flow.state(Stage::Ready);
        let rows = hydration.rows;
        view.progress = Progress::Ready;
        // Those of queries come and go.
        if view.automatic {
            tracing::debug!(target: "dogwood::views", view = self.name(id), rows, bytes = state.bytes(), "a view is filled");
        } else {
            tracing::info!(target: "dogwood::views", view = self.name(id), rows, bytes = state.bytes(), "a view is filled");
        }
        self.unmerged.insert(id, Unmerged::AFTER_FILLING);
        self.overview = None;
        self.current.set(id, state);
        self.wake_waiting();
        self.republish();
        Ok(true)
    }
}
