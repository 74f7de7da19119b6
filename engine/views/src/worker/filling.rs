//! A view worker's hand on filling views: begun, a chunk at a time, and anew where that is better than to follow.

use crate::hydrate::{self, Hydration, UnderWay};
use crate::maintained::{Maintained, ViewProgress};
use crate::publication::ComponentId;
use crate::sources::FedMax;
use crate::subscription::Deltas;
use crate::worker::ViewWorker;
use crate::worker::merge::Unmerged;
use operators::delta::Feed;
use repr::RelationId;
use state::SqlError;
use state::clock::now_micros;
use state::view_states::{Stage, ViewState};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// TRUNCATE is taken back row by row up to so many rows; beyond, views are filled anew …
const TRUNCATED_ROWS_MAX: usize = 1_000;
/// … and their subscriptions end.
const TRUNCATED_WATCHED_ROWS_MAX: usize = 20_000;
/// New rows of a large statement are fed row by row up to so many, and all of them where somebody watches.
const SPILLED_ROWS_MAX: usize = 300_000;

impl ViewWorker {
    /// A failed view of the catalog, from the newest state.
    pub(super) fn refill(&mut self, id: RelationId) {
        let failed = |view: &Maintained| matches!(view.progress, ViewProgress::Failed) && !view.automatic;
        if !self.views.get(&id).is_some_and(failed) {
            return;
        }
        let catalog = self.at.state.catalog().clone();
        if let Some(table) = catalog.table(id) {
            self.known.overview = None;
            self.views.remove(&id);
            self.create(table, &catalog);
        }
    }

    /// How many rows of a table are fed one by one, where much of it changed: more where somebody watches.
    pub(super) fn fed_rows_max(&self, relation: RelationId) -> FedMax {
        let readers = self.readers_of(&BTreeSet::from([relation]));
        match readers.iter().any(|view| self.around.subscriptions.is_watched(*view)) {
            true => FedMax { truncated: TRUNCATED_WATCHED_ROWS_MAX, spilled: usize::MAX },
            false => FedMax { truncated: TRUNCATED_ROWS_MAX, spilled: SPILLED_ROWS_MAX },
        }
    }

    /// What lost or got more rows than are fed one by one is filled anew.
    pub(super) fn refill_readers(
        &mut self,
        cleared: &BTreeSet<RelationId>,
        component: ComponentId,
        deltas: &mut Deltas,
    ) {
        if cleared.is_empty() {
            return;
        }
        let mut readers = self.readers_of(cleared);
        readers.retain(|id| self.views.get(id).is_some_and(|view| view.component == component));
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

    /// These views again, from where their component stands.
    pub(super) fn fill_anew(&mut self, ids: BTreeSet<RelationId>) {
        // Most often there are none, and then nothing is to be drawn up again for all views.
        if ids.is_empty() {
            return;
        }
        self.known.overview = None;
        // All are unreadable before the first looks at the others.
        for id in &ids {
            let Some(component) = self.views.get(id).map(|view| view.component) else { continue };
            self.set(component, *id, ViewState::at(Stage::Waiting));
        }
        for id in ids {
            let Some(mut view) = self.views.remove(&id) else { continue };
            if let Some(flow) = view.flow.take() {
                view.sources.truncate(usize::from(!view.automatic));
                view.progress = ViewProgress::Waiting;
                let definition = flow.definition.clone();
                flow.end();
                self.start(&mut view, definition);
            }
            self.views.insert(id, view);
        }
    }

    pub(super) fn begin(&mut self, id: RelationId, view: &mut Maintained) {
        self.known.overview = None;
        let Some(flow) = &view.flow else { return };
        let catalog = self.at.state.catalog();
        let is_view = |id: &RelationId| catalog.table(*id).is_some_and(|table| table.is_maintained());
        // Amid a group some views are as before it, and some as after it; and before DDL there is less to read.
        let is_amid = self.components.of.get(&view.component).is_some_and(|component| component.passage.is_some());
        let is_older = self.position(view.component).catalog().version != catalog.version;
        let amid_group = self.at.amid_group || is_amid || is_older;
        let (mut failed, mut waits) = (None, false);
        for source in flow.reads.iter().filter(|id| is_view(id)) {
            match self.at.current.get(*source).map(|state| (&state.stage, state.errors)) {
                Some((Stage::Ready, 0)) if !amid_group => {}
                Some((Stage::Failed(error), _)) => failed = Some(error.clone()),
                Some(_) | None => waits = true,
            }
        }
        if waits {
            if !self.at.current.get(id).is_some_and(|state| matches!(state.stage, Stage::Waiting)) {
                self.set(view.component, id, ViewState::at(Stage::Waiting));
            }
            return;
        }
        if let Some(error) = failed {
            self.fail(id, view, error);
            return;
        }
        let state = self.position(view.component);
        let reader = self.reader(&state, &self.at.current);
        // The last commit may be long ago.
        let clock = state.clock.max(now_micros());
        let hydration = Hydration::new(reader, (state.time, clock), &flow.chains, self.upkeep.scans.clone());
        view.progress = ViewProgress::Hydrating(Box::new(hydration));
        tracing::debug!(target: "dogwood::views", view = self.name(id), "filling a view");
        (view.since, view.began) = (state.time, Instant::now());
        self.set(view.component, id, ViewState::at(Stage::Hydrating { rows: 0 }));
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

    /// The view whose filling is next. Those that somebody asks for come first, as a query's own view is asked for. Of
    /// these, whichever has had least time so far, by powers of two, so that small ones and those that somebody has just
    /// asked for do not wait for large ones, and large ones are not all filled at once.
    fn next_hydrating(&mut self) -> Option<RelationId> {
        let overview = self.overview();
        let order = |id: &RelationId| match self.views.get(id) {
            Some(Maintained { progress: ViewProgress::Hydrating(hydration), automatic, .. }) => {
                let is_asked = *automatic || self.around.statistics.of(*id).missed > 0;
                (!is_asked, hydration.so_far.took.as_millis().checked_ilog2().map_or(0, |log| log + 1))
            }
            _ => (false, 0),
        };
        overview.hydrating.iter().min_by_key(|id| (order(id), **id)).copied()
    }

    /// One chunk of a view that is being filled, or one group of its backlog.
    pub(super) fn hydrate(&mut self) {
        let Some(id) = self.next_hydrating() else { return };
        let Some(mut view) = self.views.remove(&id) else { return };
        let began = Instant::now();
        let became = self.hydrate_some(id, &mut view);
        if let ViewProgress::Hydrating(hydration) = &mut view.progress {
            hydration.so_far.took += began.elapsed();
        }
        let is_short = matches!(became, Ok(Hydrated::All)) && view.widens();
        let failed = became.as_ref().err().cloned();
        if let Some(error) = failed {
            self.fail(id, &mut view, error);
        }
        self.views.insert(id, view);
        if matches!(became, Ok(Hydrated::Some)) {
            return;
        }
        // It may have been drawn up while the view was out.
        self.known.overview = None;
        if is_short {
            self.fill_anew(BTreeSet::from([id]));
        } else {
            self.wake_waiting();
        }
        self.tell_all();
    }

    fn hydrate_some(&mut self, id: RelationId, view: &mut Maintained) -> Result<Hydrated, SqlError> {
        let component = view.component;
        let aim = hydrate::aim(self.at.told.map_or(Duration::MAX, |told| told.elapsed()));
        let (Some(flow), ViewProgress::Hydrating(hydration)) = (&mut view.flow, &mut view.progress) else {
            return Ok(Hydrated::Some);
        };
        let fed = match hydration.under_way.take() {
            Some(fed) => Some(fed),
            None => {
                if let Some(feed) = hydration.next_chunk(aim)? {
                    flow.feed([feed]);
                    Some(UnderWay::rows())
                } else if !hydration.backlog.is_empty() {
                    // Several at once, or a view that looks at large groups would never catch up with its writers.
                    flow.feed(hydration.next_groups().into_iter().map(Feed::Group));
                    Some(UnderWay::groups())
                } else {
                    None
                }
            }
        };
        let budget_bytes = self.around.settings.view_memory.bytes();
        if let Some(mut fed) = fed {
            let (started, worked) = (Instant::now(), hydration.worked());
            let until = started + hydrate::PATIENCE.saturating_sub(fed.took);
            let through = flow.advance(aim, until, budget_bytes)?;
            fed.took += started.elapsed();
            fed.worked += hydration.worked().saturating_sub(worked);
            if through {
                hydration.has_gone_through(fed, aim);
                flow.take_fresh();
                let rows = hydration.so_far.rows;
                self.set(component, id, ViewState::at(Stage::Hydrating { rows }));
            } else {
                hydration.under_way = Some(fed);
            }
            return Ok(Hydrated::Some);
        }
        if flow.is_cutting() {
            flow.apply(Vec::new(), budget_bytes)?;
        }
        flow.take_fresh();
        if flow.is_short() {
            return Ok(Hydrated::All);
        }
        let (state, rows, took) = (flow.state(Stage::Ready), hydration.so_far.rows, view.began.elapsed());
        view.progress = ViewProgress::Ready;
        // Those of queries come and go.
        if view.automatic {
            tracing::debug!(target: "dogwood::views", view = self.name(id), rows, bytes = state.bytes(), "a view is filled");
        } else {
            tracing::info!(target: "dogwood::views", view = self.name(id), rows, bytes = state.bytes(), "a view is filled");
        }
        let pace = &mut self.components.of.entry(component).or_default().pace;
        pace.filling = pace.filling.max(took);
        self.upkeep.unmerged.insert(id, Unmerged::AFTER_FILLING);
        self.set(component, id, state);
        Ok(Hydrated::All)
    }
}

/// How far a view came that is being filled.
#[derive(Clone, Copy, Debug)]
enum Hydrated {
    /// A part.
    Some,
    /// All of it has gone through.
    All,
}
