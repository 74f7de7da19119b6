//! Which way a query goes: read from a maintained view, or computed.
//!
//! A plan that names materialized views reads them if all of them can be read at the statement's snapshot and
//! the transaction itself has changed none of their tables; else the views are expanded in the plan. A query
//! with parameters may have earned a view of its own (`views::automatic`).

use crate::session::Session;
use crate::session::long_text;
use crate::session::plan::CachedPlan;
use crate::session::plan::{Automatic, MadeFor, Prepared, ViewByKey, is_lookup};
use planner::catalog::with_tables_below;
use planner::catalog::{Catalog, Scope};
use planner::lift::{Absent, Lifted, RANKS_HELD};
use planner::plan::Query;
use planner::{MaintainedViewUse, PlannedStatement};
use repr::{Datum, RelationId};
use state::SqlError;
use state::answer::QueryRows;
use state::interrupt::Watch;
use state::layered_snapshot::LayeredSnapshot;
use state::reader::Reader;
use state::view_states::ViewState;
use std::sync::Arc;
use transactions::modes::Isolation;
use transactions::transaction::HeldState;
use views::bound::{greatest_rank, rows_shown, suffices};
use views::no_view::NoView;
use views::read;

const KEYLESS: &str = "no column must equal a parameter or a literal, so that it would be kept as a whole; \
                       CREATE MATERIALIZED VIEW keeps such a query";

const LONG: &str = "its text is too long to be kept";

/// Why a view is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asking<'p> {
    /// To answer the query with these parameters: an execution, which counts.
    ToRead(&'p Arc<[Datum]>),
    /// To explain it.
    ToExplain,
}

/// The view of its own from which a query can be answered now.
pub(super) struct OwnView {
    /// Its id.
    pub id: RelationId,
    /// What is asked of it.
    pub lifted: Arc<Lifted>,
    /// Its rows.
    pub state: Arc<ViewState>,
    /// The snapshot that they are of.
    pub snapshot: LayeredSnapshot,
}

impl Session {
    /// Why a materialized view that a plan names cannot be read now, if one cannot.
    pub(super) fn unreadable(&mut self, cached: &CachedPlan) -> Result<Option<NoView>, SqlError> {
        if cached.views.list.is_empty() {
            return Ok(None);
        }
        let known = cached.views.with_below.get().cloned();
        let below = known.unwrap_or_else(|| maintained(&self.catalog(), &cached.views.list));
        self.await_views(&below)?;
        let snapshot = self.snapshot()?;
        let now = self.transaction_moment();
        let all_ready = |below: &Vec<RelationId>| below.iter().all(|id| snapshot.views().ready_at(*id, now).is_some());
        if !snapshot.has_changes() && cached.views.with_below.get().is_some_and(all_ready) {
            return Ok(None);
        }
        let catalog = snapshot.schema().catalog();
        if catalog.version == cached.made_for.version {
            cached.views.with_below.get_or_init(|| maintained(catalog, &cached.views.list));
        }
        for view in &below {
            if let Some(NoView::Waiting | NoView::Hydrating { .. }) = NoView::of(snapshot.views(), *view) {
                self.database.views.statistics.missed(*view);
            }
        }
        Ok(unreadable((&snapshot, now), &cached.views.list).or_else(|| changed(&snapshot, &cached.views.list)))
    }

    /// The plan, or the one that computes the views which cannot be read now.
    pub(super) fn readable_plan(
        &mut self,
        prepared: &Prepared,
        cached: Arc<CachedPlan>,
    ) -> Result<Arc<CachedPlan>, SqlError> {
        if cached.views.list.is_empty() {
            return Ok(cached);
        }
        if self.unreadable(&cached)?.is_none() {
            return Ok(cached);
        }
        if let Some(expanded) = cached.expanded.get() {
            return Ok(expanded.clone());
        }
        let seen = self.seen();
        let known: Vec<_> = prepared.param_types.iter().cloned().map(Some).collect();
        let planned = planner::plan_statement(
            &prepared.parsed,
            seen.scope(),
            &known,
            MaintainedViewUse::Expand,
            &seen.statistics,
        )?;
        let PlannedStatement { planned, views, of_role, styled, .. } = planned;
        let (made_for, reads) = (MadeFor::of(&seen, of_role), (views, cached.permission.needs.clone()));
        let expanded = CachedPlan::new(made_for, planned, cached.columns.clone(), reads).computing(styled);
        let expanded = Arc::new(expanded);
        Ok(cached.expanded.get_or_init(|| expanded).clone())
    }

    /// The rows of a query from a view of its own, if it has one that can be read now.
    pub(super) fn rows_by_view(
        &mut self,
        prepared: &Prepared,
        cached: &CachedPlan,
        query: &Query,
        params: &Arc<[Datum]>,
    ) -> Result<Option<QueryRows>, SqlError> {
        let own = match self.own_view(prepared, cached, query, Asking::ToRead(params))? {
            Ok(own) => own,
            Err(_why) => return Ok(None),
        };
        match self.rows_of(&own, params)? {
            Ok(rows) => Ok(Some(rows)),
            Err(NoView::TooFewRows { shown, .. }) => {
                let views = &self.database.views.automatic;
                if let Some(entry) = views.find(&own.lifted.identity) {
                    views.was_short(&entry, shown, &|request| self.database.ask_views(request));
                }
                Ok(None)
            }
            Err(_why) => Ok(None),
        }
    }

    /// The rows of a query from its own view, or why they have to be computed.
    pub(super) fn rows_of(&self, own: &OwnView, params: &Arc<[Datum]>) -> Result<Result<QueryRows, NoView>, SqlError> {
        let context = self.eval_context(params.clone(), own.snapshot.catalog());
        let watch = Watch::new(self.limits(own.snapshot.time()));
        watch.check()?;
        if let Some(held) = own.lifted.ranks_held()
            && let asked = greatest_rank(&own.lifted, &context)?
            && asked > held
        {
            let rows = |rank: i64| usize::try_from(rank).unwrap_or(usize::MAX);
            return Ok(Err(NoView::TooFewRows { rows_min: rows(held), shown: rows(asked) }));
        }
        let Some(keys) = read::keys(&own.lifted, &context)? else { return Ok(Err(NoView::ManyKeys)) };
        if !suffices(&own.lifted, &keys, &own.state, &context) {
            let rows_min = own.state.rows_min().unwrap_or(0);
            return Ok(Err(NoView::TooFewRows { rows_min, shown: rows_shown(&own.lifted, &context) }));
        }
        self.audit_view(own.id, &own.lifted.reads, &keys);
        let rows = read::rows(&own.lifted, keys, (&own.state, &own.snapshot), &context, watch)?;
        match (&own.lifted.absent, rows) {
            (_, Some(rows)) => Ok(Ok(rows)),
            (Absent::Known(query), None) => Ok(Ok(self.rows_over(query, own.snapshot.clone(), params.clone())?)),
            (Absent::Empty | Absent::Computed, None) => Ok(Err(NoView::NoRows)),
        }
    }

    /// The view of its own that a query can be answered from now, or why there is none.
    pub(super) fn own_view(
        &mut self,
        prepared: &Prepared,
        cached: &CachedPlan,
        query: &Query,
        asking: Asking<'_>,
    ) -> Result<Result<OwnView, NoView>, SqlError> {
        if query.locks_rows() {
            return Ok(Err(NoView::RowLocks));
        }
        if is_lookup(&query.plan) {
            return Ok(Err(NoView::Lookup));
        }
        if !self.auto_views() {
            return Ok(Err(NoView::Off));
        }
        let shape = match self.automatic(prepared, cached)? {
            Automatic::ByKey(shape) => match self.wide_enough(prepared, shape, asking)? {
                Ok(shape) => shape,
                Err(why) => return Ok(Err(why)),
            },
            Automatic::Never(reason) => return Ok(Err(NoView::Never(reason.clone()))),
        };
        let lifted = &shape.planned.lifted;
        let snapshot = self.snapshot()?;
        let database = self.database.clone();
        let wanted = match asking {
            Asking::ToRead(params) => {
                let entry = shape.entry.get_or_init(|| database.views.automatic.entry(&shape.planned, &prepared.text));
                let rows = || rows_shown(lifted, &self.eval_context(params.clone(), snapshot.catalog()));
                let wanted = database.views.automatic.executed(entry, rows, &|request| database.ask_views(request));
                database.pipeline.publication.note_read(&wanted);
                // Told to nobody: the words are found again when they are asked for.
                wanted.ok_or(NoView::NotThere)
            }
            Asking::ToExplain => match database.views.automatic.find(&lifted.identity) {
                Some(entry) => entry.view().ok_or_else(|| entry.why_none()),
                None => Err(NoView::Seldom { runs: 0 }),
            },
        };
        let id = match wanted {
            Ok(id) => id,
            Err(why) => return Ok(Err(why)),
        };
        let now = self.transaction_moment();
        let snapshot = match snapshot.views().is_overdue(id) || snapshot.views().are_before(&[id], now) {
            true => {
                self.await_views(&[id])?;
                self.snapshot()?
            }
            false => snapshot,
        };
        let state = match snapshot.views().ready_at(id, now) {
            Some(state) => state.clone(),
            None => return Ok(Err(NoView::of(snapshot.views(), id).unwrap_or(NoView::OtherMoment))),
        };
        let catalog = snapshot.schema().catalog();
        let below = || shape.below.get_or_init(|| maintained(catalog, &lifted.reads));
        let all_ready = |below: &Vec<RelationId>| below.iter().all(|id| snapshot.views().ready_at(*id, now).is_some());
        let surely = !snapshot.has_changes() && catalog.version == cached.made_for.version && all_ready(below());
        if !surely
            && let Some(why) = changed(&snapshot, &lifted.reads).or_else(|| unreadable((&snapshot, now), &lifted.reads))
        {
            return Ok(Err(why));
        }
        Ok(Ok(OwnView { id, lifted: lifted.clone(), state, snapshot }))
    }

    /// The shape that holds the ranks that are asked for: the least one, or one that has a view already.
    fn wide_enough<'c>(
        &self,
        prepared: &Prepared,
        shape: &'c ViewByKey,
        asking: Asking<'_>,
    ) -> Result<Result<&'c ViewByKey, NoView>, SqlError> {
        let Some(least) = shape.planned.lifted.ranks_held() else { return Ok(Ok(shape)) };
        let asked = match asking {
            Asking::ToRead(params) => {
                greatest_rank(&shape.planned.lifted, &self.eval_context(params.clone(), &self.catalog()))?
            }
            Asking::ToExplain => least,
        };
        let views = &self.database.views.automatic;
        let has_view = |shape: &ViewByKey| {
            let entry = shape.entry.get().cloned().or_else(|| views.find(shape.identity()));
            entry.is_some_and(|entry| entry.view().is_some())
        };
        let wider = shape.wider.iter().map(|wider| wider.get().map(|shape| &**shape));
        let shapes = RANKS_HELD.iter().zip([Some(shape)].into_iter().chain(wider));
        let mut enough = shapes.filter(|(held, _)| **held >= asked).peekable();
        let Some((held, planned)) = enough.peek().copied() else {
            let rows_min = RANKS_HELD.last().map_or(0, |held| usize::try_from(*held).unwrap_or(usize::MAX));
            return Ok(Err(NoView::TooFewRows { rows_min, shown: usize::try_from(asked).unwrap_or(usize::MAX) }));
        };
        if let Some((_, Some(shape))) = enough.find(|(_, shape)| shape.is_some_and(has_view)) {
            return Ok(Ok(shape));
        }
        if let Some(shape) = planned {
            return Ok(Ok(shape));
        }
        let catalog = self.catalog();
        let place = RANKS_HELD.iter().skip(1).position(|other| other == held);
        match (place.and_then(|place| shape.wider.get(place)), self.as_view(prepared, &catalog, *held)?) {
            (Some(place), Some(Ok(lifted))) => Ok(Ok(place.get_or_init(|| Box::new(ViewByKey::new(lifted, &catalog))))),
            (_, Some(Err(reason))) => Ok(Err(NoView::Never(reason.into()))),
            (None, _) | (_, None) => Ok(Ok(shape)),
        }
    }

    /// A statement as a view by key, of ranks up to that one.
    fn as_view(
        &self,
        prepared: &Prepared,
        catalog: &Arc<Catalog>,
        ranks_held: i64,
    ) -> Result<Option<Result<Lifted, String>>, SqlError> {
        let known: Vec<_> = prepared.param_types.iter().cloned().map(Some).collect();
        let scope = Scope { catalog, path: &self.search_path(catalog) };
        Ok(planner::plan_lifted(&prepared.parsed, scope, &known, ranks_held)?)
    }

    /// The statement reads a state in which these views are not behind, nor the clock of any of them, if one comes before
    /// computing them would be quicker: from here on it reads no other.
    pub(super) fn await_views(&mut self, views: &[RelationId]) -> Result<(), SqlError> {
        let account = self.control.account.clone();
        let check = || account.check();
        // Who reads one snapshot throughout finds the clock in it where it is.
        if !self.has_snapshot() {
            self.database.await_clock(views, self.transaction_moment(), &check)?;
        }
        let (base, hold) = self.database.held_with_views(&self.control.holder, views, &check)?;
        self.pin(Some((base, Arc::new(hold))));
        Ok(())
    }

    /// Whether all statements of the transaction read one snapshot, which is taken.
    pub(super) fn has_snapshot(&self) -> bool {
        self.transaction.active.as_ref().is_some_and(|active| active.transaction.has_snapshot())
    }

    /// What the statement reads, if it was chosen.
    pub(super) fn pin(&mut self, pinned: Option<HeldState>) {
        if let Some(active) = &mut self.transaction.active {
            active.transaction.pin(pinned.clone());
        }
        self.transaction.pinned = pinned;
    }

    pub(super) fn auto_views(&self) -> bool {
        self.state.lock().everyday().auto_views && !self.is_serializable()
    }

    /// What a SERIALIZABLE transaction reads is told by tables: views of queries and orders in memory are not read.
    fn is_serializable(&self) -> bool {
        let active = self.transaction.active.as_ref();
        active.is_some_and(|active| active.transaction.modes.isolation == Isolation::Serializable)
    }

    /// Whether a query may be a view by its parameters; found out once a plan.
    pub(super) fn automatic<'c>(&self, prepared: &Prepared, cached: &'c CachedPlan) -> Result<&'c Automatic, SqlError> {
        if let Some(known) = cached.automatic.get() {
            return Ok(known);
        }
        if long_text::is_long(&prepared.text) {
            return Ok(cached.automatic.get_or_init(|| Automatic::Never(LONG.into())));
        }
        let catalog = self.catalog();
        let found = match self.as_view(prepared, &catalog, RANKS_HELD[0])? {
            None => Automatic::Never("it is no query".into()),
            Some(Err(reason)) => Automatic::Never(reason.into()),
            // Without a parameter that a column must equal it would be a copy of all there is; of a maintained view that is wanted.
            Some(Ok(lifted)) if lifted.key.is_empty() && !lifted.of_kept_view => Automatic::Never(KEYLESS.into()),
            Some(Ok(lifted)) => Automatic::ByKey(ViewByKey::new(lifted, &catalog)),
        };
        Ok(cached.automatic.get_or_init(|| found))
    }
}

/// Why one of the maintained views among these relations, or of those that they are made of, cannot be read: a row
/// that fails in one is missing in those above it. `now` is the reader's.
fn unreadable<'r>(
    (snapshot, now): (&LayeredSnapshot, i64),
    relations: impl IntoIterator<Item = &'r RelationId>,
) -> Option<NoView> {
    let below = maintained(snapshot.schema().catalog(), relations);
    let id = below.into_iter().find(|id| snapshot.views().ready_at(*id, now).is_none())?;
    Some(NoView::Below(id, Box::new(NoView::of(snapshot.views(), id).unwrap_or(NoView::OtherMoment))))
}

/// The maintained views among relations and those that they are made of.
fn maintained<'r>(catalog: &Catalog, relations: impl IntoIterator<Item = &'r RelationId>) -> Vec<RelationId> {
    let is_maintained = |id: &RelationId| catalog.table(*id).is_some_and(|table| table.is_maintained());
    with_tables_below(catalog, relations.into_iter().copied()).into_iter().filter(is_maintained).collect()
}

/// That the transaction has changed a table that one of these relations is or reads, if it has.
fn changed<'r>(snapshot: &LayeredSnapshot, relations: impl IntoIterator<Item = &'r RelationId>) -> Option<NoView> {
    if !snapshot.has_changes() {
        return None;
    }
    let below = with_tables_below(snapshot.schema().catalog(), relations.into_iter().copied());
    below.into_iter().find(|relation| snapshot.changes(*relation)).map(NoView::Changed)
}
