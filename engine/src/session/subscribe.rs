//! SUBSCRIBE: a query's rows as they are, then every change of them as it commits.
//!
//! ```text
//! (dogwood_time, dogwood_diff, columns …)      snapshot rows at the snapshot's time, then one marker
//!                                              (diff NULL), then each later change once, in commit order
//! ```
//!
//! A row whose `dogwood_diff` is NULL says that nothing more will come up to `dogwood_time`. With `as_of` the
//! changes after that time stand in the place of the snapshot. The query is watched as a view by key, which
//! many subscribers share and which is held as long as one is there. Holds no snapshot of the leaves and no
//! lock, but says what it has given and is not on the client's line yet, for which an erasure waits; runs outside the
//! transaction that it is asked in.

use crate::session::Session;
use crate::session::permit::Permit;
use crate::session::subscribed::{
    Giving, KeptView, Looked, Markers, Subscribed, fails_below, gone, is_readable, may_be_personal,
};
use planner::SubscribePlan;
use planner::catalog::Catalog;
use planner::lift::Lifted;
use planner::physical::costs::KEYS_MAX;
use planner::scalar::EvalContext;
use repr::{CommitTime, Datum, RelationId, Row, poll};
use state::SqlError;
use state::published::Published;
use state::snapshot_holders::SnapshotHold;
use state::view_states::{Stage, ViewState};
use std::sync::Arc;
use std::time::Duration;
use views::automatic::{Entry, PlannedShape};
use views::read;
use views::subscription::{Begun, Recheck, Subscription, SubscriptionTerms, row_error};

/// Views that DDL takes away while they are waited for; then the query has to be planned anew.
const ATTEMPTS_MAX: usize = 3;

impl Session {
    /// Begins a subscription.
    pub(super) fn subscribe(
        &mut self,
        permit: Permit,
        plan: &SubscribePlan,
        params: Arc<[Datum]>,
    ) -> Result<Subscribed, SqlError> {
        let database = self.database.clone();
        let catalog = self.catalog();
        let params = permit.with_person_key(params)?;
        let context = self.eval_context(params.clone(), &catalog);
        for _ in 0..ATTEMPTS_MAX {
            let (plan, lifted) = self.watched(plan, &context, &catalog)?;
            let lifted = Arc::new(lifted);
            let keys = read::keys(&lifted, &context)?.ok_or_else(too_many_keys)?;
            let project: Arc<[usize]> = lifted.finishing.project.as_slice().into();
            let shape = PlannedShape::new(lifted.clone(), &catalog);
            let (entry, view) =
                database.views.automatic.hold(&shape, &plan.text, &|request| database.ask_views(request));
            let held = KeptView { database: database.clone(), entry };
            let Some(readable_at) = self.wait_until_readable(&held.entry, view, &lifted)? else { continue };
            let watched = Looked {
                database: Arc::downgrade(&database),
                query: plan.expanded.as_ref().map_or(&plan.query, |expanded| &expanded.query).clone(),
                context: context.clone(),
                view,
                keys: keys.clone(),
                project: project.clone(),
                reads: lifted.reads.clone(),
            };
            let watched = Arc::new(watched);
            let checked = watched.clone();
            let recheck: Recheck = Arc::new(move |state| checked.check(state));
            let personal = may_be_personal(&database.latest(), &lifted.reads);
            let watching = SubscriptionTerms { recheck, personal };
            // Registered before the snapshot is taken: nothing falls in between.
            let subscription = self.registered((view, keys.clone()), plan.terms.as_of, readable_at, watching)?;
            // Held until its rows stand in the queue: an erasure finds them there, or waits.
            let (published, _hold) = self.held_with_view(view)?;
            let Some(state) = published.views.get(view).filter(|state| matches!(state.stage, Stage::Ready)) else {
                continue;
            };
            if fails_below(&published, &lifted.reads) {
                continue;
            }
            if let Some(error) = &state.error {
                // Rows of some keys fail: are they these?
                watched.check(&published).map_err(|found| row_error(found, &error.clone().into()))?;
            }
            let opening = if plan.terms.snapshot { self.opening(state, &keys)? } else { Vec::new() };
            let since = plan.terms.as_of.unwrap_or(published.time);
            if plan.terms.progress || plan.terms.up_to.is_some() {
                subscription.follow();
            }
            let begun = Begun { backend: self.client.backend, since };
            subscription.begin(begun, &self.control.holder, plan.terms.as_of.is_none().then_some(opening));
            return Ok(Subscribed {
                columns: plan.columns.as_slice().into(),
                project: project.clone(),
                giving: Giving::nothing(plan.told.clone()),
                subscription,
                markers: Markers::since(since, &plan.terms),
                cancel: self.control.cancel.clone(),
                permit,
                deliveries: self.audit_subscription(view, &lifted.reads, &keys)?,
                _held: held,
            });
        }
        Err(gone())
    }

    /// The plan that is watched, and its query with the keys lifted.
    fn watched<'p>(
        &self,
        plan: &'p SubscribePlan,
        context: &EvalContext,
        catalog: &Catalog,
    ) -> Result<(&'p SubscribePlan, Lifted), SqlError> {
        let lifted = plan.watched.with(context, catalog)?;
        // While rows fail in a view below, a view is made of the tables, in which the failing rows have keys.
        if let Some(expanded) = &plan.expanded
            && fails_below(&self.database.latest(), &lifted.reads)
        {
            let lifted = expanded.watched.with(context, catalog)?;
            return Ok((expanded, lifted.into_owned()));
        }
        Ok((plan, lifted.into_owned()))
    }

    /// A subscription to keys of a view, from now on or from a time on.
    fn registered(
        &self,
        (view, keys): (RelationId, Vec<Vec<u8>>),
        as_of: Option<CommitTime>,
        readable_at: CommitTime,
        watching: SubscriptionTerms,
    ) -> Result<Subscription, SqlError> {
        let subscriptions = &self.database.views.subscriptions;
        match as_of {
            None => Ok(subscriptions.subscribe(view, keys, readable_at, watching)),
            Some(time) if time > readable_at => Err(in_the_future(time, readable_at)),
            Some(time) => {
                let resumed = subscriptions.resume(view, keys, time, watching);
                resumed.map_err(|held_since| no_longer_held(time, held_since))
            }
        }
    }

    /// The rows as they are.
    fn opening(&self, state: &ViewState, keys: &[Vec<u8>]) -> Result<Vec<Row>, SqlError> {
        let arrangement = state.arrangements.first().ok_or_else(gone)?;
        let (mut rows, mut stopped) = (Vec::new(), Ok(()));
        for key in keys {
            arrangement.for_key(key, |bytes| {
                rows.push(Row::from_bytes(bytes.into()));
                stopped = poll::bytes(bytes.len());
                stopped.is_ok()
            });
        }
        stopped?;
        Ok(rows)
    }

    /// A state in which a view is not behind, nor of the midst of what it takes together, as long as the statement may wait for it.
    fn held_with_view(&self, view: RelationId) -> Result<(Arc<Published>, SnapshotHold), SqlError> {
        let folded_until = self.database.views.subscriptions.folded_until(view);
        loop {
            let check = || self.control.account.check();
            let held = self.database.held_with_views(&self.control.holder, &[view], &check)?;
            if !held.0.views.is_behind(view) && held.0.time >= folded_until {
                return Ok(held);
            }
            check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until a view can be read, and all that it is made of, as long as the statement may: a time at which
    /// it can. None if it is no more.
    fn wait_until_readable(
        &self,
        entry: &Entry,
        view: RelationId,
        lifted: &Lifted,
    ) -> Result<Option<CommitTime>, SqlError> {
        loop {
            if entry.view() != Some(view) {
                return Ok(None);
            }
            let published = self.database.latest();
            if is_readable(&published, &lifted.reads, view)? {
                return Ok(Some(published.time));
            }
            if fails_below(&published, &lifted.reads) {
                return Ok(None);
            }
            self.control.account.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn in_the_future(time: CommitTime, now: CommitTime) -> SqlError {
    SqlError::new("22023", format!("dogwood_time {} is in the future", time.0))
        .detail(format!("The last commit has the time {}.", now.0))
}

fn too_many_keys() -> SqlError {
    let detail = format!("The values of several columns make more than {KEYS_MAX} keys.");
    SqlError::new("54000", "too many keys are subscribed to").detail(detail)
}

fn no_longer_held(time: CommitTime, since: Option<CommitTime>) -> SqlError {
    let error = SqlError::new("72000", format!("the changes after dogwood_time {} are no longer held", time.0));
    let error = match since {
        Some(since) => error.detail(format!("Changes are held from the time {} on.", since.0)),
        None => error.detail("No changes of this query are held."),
    };
    error.hint("Subscribe without as_of: the snapshot brings you up to date.")
}
