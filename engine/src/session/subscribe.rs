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
use crate::session::subscribed::{KeptView, Looked, Subscribed, fails_below, gone, is_readable, may_be_personal};
use planner::SubscribePlan;
use planner::lift::Lifted;
use planner::physical::costs::KEYS_MAX;
use repr::{CommitTime, Datum, RelationId, Row, poll};
use state::SqlError;
use state::view_states::{Stage, ViewState};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use views::automatic::{Entry, PlannedShape};
use views::read;
use views::subscription::{Begun, Recheck, Watch as Watching, row_error};

/// Views that DDL takes away while they are waited for; then the query has to be planned anew.
const ATTEMPTS_MAX: usize = 3;

impl Session {
    /// Begins a subscription.
    pub(super) fn subscribe(&mut self, plan: &SubscribePlan, params: Arc<[Datum]>) -> Result<Subscribed, SqlError> {
        let database = self.database.clone();
        let catalog = self.catalog();
        let context = self.eval_context(params.clone(), &catalog);
        for _ in 0..ATTEMPTS_MAX {
            // While rows fail in a view below, a view is made of the tables, in which the failing rows have keys.
            let mut plan = plan;
            let mut lifted = plan.watched.with(&params, &catalog)?;
            if let Some(expanded) = &plan.expanded
                && fails_below(&database.latest(), &lifted.reads)
            {
                plan = expanded;
                lifted = plan.watched.with(&params, &catalog)?;
            }
            let lifted = Arc::new(lifted.into_owned());
            let keys = read::keys(&lifted, &context)?.ok_or_else(too_many_keys)?;
            let project: Arc<[usize]> = lifted.finishing.project.as_slice().into();
            let shape = PlannedShape::new(lifted.clone(), &catalog);
            let (entry, view) =
                database.automatic_views.hold(&shape, &plan.text, &|request| database.ask_views(request));
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
            let recheck: Recheck = {
                let watched = watched.clone();
                Arc::new(move |state| watched.check(state))
            };
            let personal = may_be_personal(&database.latest(), &lifted.reads);
            let watching = Watching { recheck, personal };
            // Registered before the snapshot is taken: nothing falls in between.
            let subscription = match plan.as_of {
                None => database.subscriptions.subscribe(view, keys.clone(), readable_at, watching),
                Some(time) if time > readable_at => return Err(in_the_future(time, readable_at)),
                Some(time) => {
                    let resumed = database.subscriptions.resume(view, keys.clone(), time, watching);
                    resumed.map_err(|held_since| no_longer_held(time, held_since))?
                }
            };
            // Held until its rows stand in the queue: an erasure finds them there, or waits.
            let (published, _hold) = database.held(&self.control.holder);
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
            let opening = match plan.snapshot {
                true => self.opening(state, &keys)?,
                false => Vec::new(),
            };
            let since = plan.as_of.unwrap_or(published.time);
            if plan.progress {
                subscription.follow();
            }
            let begun = Begun { backend: self.client.backend, since };
            subscription.begin(begun, &self.control.holder, plan.as_of.is_none().then_some(opening));
            return Ok(Subscribed {
                columns: plan.columns.as_slice().into(),
                project: project.clone(),
                ready: VecDeque::new(),
                in_hand: None,
                rows_max: usize::MAX,
                subscription,
                progress: plan.progress,
                marks: plan.as_of.is_some(),
                told: since,
                closed: since,
                said: Instant::now(),
                cancel: self.control.cancel.clone(),
                _held: held,
            });
        }
        Err(gone())
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
