//! A view worker's way through commits: each component by itself, a slice at a time.
//!
//! What is done within its first slice is there before the commit is durable, most often. What is not goes on between
//! messages, and what comes meanwhile is folded. An erasure is over once nobody is behind it; whoever holds it up for too
//! long is filled anew.

use crate::component::{CommitGroup, Component, Found, Passage};
use crate::dataflow::CLOCK;
use crate::maintained::{Maintained, ViewProgress};
use crate::message::Message;
use crate::publication::{ComponentId, Passed};
use crate::sources::{changes_much, table_changes};
use crate::subscription::Deltas;
use crate::worker::ViewWorker;
use crate::worker::merge::Unmerged;
use operators::delta::{Feed, Group};
use repr::{RelationId, Row};
use state::SqlError;
use state::view_states::Stage;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// So long others wait for a component that is quick …
const FIRST_SLICE: Duration = Duration::from_millis(1);
/// … and for one that lags.
const SLICE: Duration = Duration::from_micros(300);

/// How a view came through a group.
enum Followed {
    /// It has followed.
    Well,
    /// So it has, and other rows of it fail than before.
    WithOtherErrors,
    /// It has to be filled anew.
    Not,
    /// It is not through yet.
    UnderWay,
}

impl ViewWorker {
    /// A group, and those that come behind it until all whom it concerns have had their first slice: who has several to go through
    /// goes through them as one. A boundary is alone: what an erasure took is told before anything that came after it. The message
    /// that came behind them, if it is another.
    pub(super) fn groups(&mut self, first: CommitGroup, messages: &Receiver<Message>) -> Option<Message> {
        let (started, mut quick, mut next) = (Instant::now(), VecDeque::new(), None);
        let mut is_alone = first.is_boundary();
        // It has rested for what came meanwhile: also where only ordered indexes follow, which need no passage.
        let takes_all = first.is_deferred;
        self.take_in(&Arc::new(first), &mut quick);
        let mut concerned = quick.len();
        loop {
            while !is_alone && (concerned > 0 || takes_all) {
                // One that is disconnected is heard of when it is waited for.
                match messages.try_recv() {
                    Ok(Message::Group(behind)) if !behind.is_boundary() => {
                        self.take_in(&Arc::new(behind), &mut quick);
                    }
                    Ok(other) => (is_alone, next) = (true, Some(other)),
                    Err(_nothing) => break,
                }
            }
            let Some(id) = quick.pop_front() else { break };
            self.go_through(id, FIRST_SLICE);
            concerned = concerned.saturating_sub(1);
        }
        if std::mem::take(&mut self.at.amid_group) {
            self.wake_waiting();
            self.tell_all();
        }
        self.around.statistics.views.record(started.elapsed());
        self.settle();
        next
    }

    /// A group is laid before the components that read what it wrote. Those that had nothing to go through are noted.
    fn take_in(&mut self, group: &Arc<CommitGroup>, quick: &mut VecDeque<ComponentId>) {
        self.at.state = group.after.clone();
        self.at.told = Some(Instant::now());
        if group.changes_schema() {
            let mut deltas = Deltas::default();
            self.at.amid_group = true;
            self.follow_catalog(&mut deltas);
            // With how much lag others bear may be another.
            self.known.is_read_said = false;
            // What DDL ended is told with it.
            self.pass(Passed::only(self.at.state.time, deltas));
        }
        self.follow_ordered(&group.layers);
        self.upkeep.scans.close(group.tables(), group.after.time);
        let overview = self.overview();
        let mut concerned: BTreeSet<ComponentId> =
            group.tables().flat_map(|table| overview.components.get(&table).into_iter().flatten().copied()).collect();
        if group.erases() {
            self.upkeep.scans.forget();
            // What is filled from a state before it would miss rows that it must take back later.
            concerned.extend(overview.hydrating.iter().filter_map(|id| Some(self.views.get(id)?.component)));
        }
        // Whoever wrote them may have known of views that are no more.
        let awaited = || group.awaited.iter().copied();
        concerned.extend(awaited().filter(|component| overview.members.contains_key(component)));
        awaited().filter(|component| overview.is_gone(*component)).for_each(|component| self.retire(component));
        for id in concerned {
            let component = self.components.of.entry(id).or_default();
            if !component.is_pending() {
                quick.push_back(id);
            }
            component.push(group.clone());
        }
        self.tell_all();
    }

    /// A slice for the next component that lags.
    pub(super) fn go_on(&mut self) {
        let pending = |after: Option<ComponentId>, worker: &ViewWorker| {
            let mut found = worker.components.of.iter().filter(|(_, component)| component.is_pending());
            found.find(|(id, _)| after.is_none_or(|after| **id > after)).map(|(id, _)| *id)
        };
        let Some(next) = pending(self.components.served, self).or_else(|| pending(None, self)) else { return };
        self.components.served = Some(next);
        self.go_through(next, SLICE);
        self.settle();
    }

    /// Once nobody is behind, all know it.
    pub(super) fn settle(&mut self) {
        self.say();
        if self.is_pending() {
            return;
        }
        self.around.publication.settle(self.place.number, self.at.state.time);
    }

    /// Whoever holds up an erasure for too long is filled anew, from a state after it.
    pub(super) fn give_up(&mut self) {
        let given_up = self.around.publication.given_up().0;
        if self.at.given_up.swap(given_up, Ordering::Relaxed) >= given_up {
            return;
        }
        let pending: BTreeSet<ComponentId> =
            self.components.of.iter().filter(|(_, component)| component.is_pending()).map(|(id, _)| *id).collect();
        for id in pending {
            self.abandon(id, "a data subject was forgotten, and the subscribed query could not follow in time");
        }
        self.settle();
    }

    /// A component takes no more notice of what waits for it: its views are filled anew from the newest state.
    fn abandon(&mut self, id: ComponentId, why: &str) {
        if let Some(component) = self.components.of.get_mut(&id) {
            component.clear();
        }
        let members: BTreeSet<RelationId> = self
            .views
            .iter()
            .filter(|(_, view)| view.component == id && view.flow.is_some())
            .map(|(id, _)| *id)
            .collect();
        let mut deltas = Deltas::default();
        for view in &members {
            deltas.end(*view, SqlError::new("55000", why).hint("Subscribe again."));
        }
        self.fill_anew(members);
        self.tell(id, None, deltas);
    }

    /// Takes a component through what waits for it, as long as a slice lasts.
    pub(super) fn go_through(&mut self, id: ComponentId, slice: Duration) {
        if self.components.of.get(&id).is_some_and(Component::may_be_slow) {
            // What is through already does not wait for it.
            self.say();
        }
        let until = Instant::now() + slice;
        loop {
            let folds = self.folds(id);
            let Some(component) = self.components.of.get_mut(&id) else { return };
            let (passage, group) = match component.passage.take() {
                Some(passage) => (passage, None),
                None => match component.next_group(folds) {
                    Some(group) => (Box::new(self.begin_passage(&group)), Some(group)),
                    None => return,
                },
            };
            if let Some(component) = self.components.of.get_mut(&id) {
                component.passage = Some(passage);
            }
            if let Some(group) = group {
                self.enter(id, &group);
            }
            if !self.walk(id, until) {
                self.say();
                return;
            }
            self.end_passage(id);
            if Instant::now() >= until {
                return;
            }
        }
    }

    /// Whether a component may go through what waits as one: nobody watches its views, and who begins to does so behind it.
    fn folds(&mut self, id: ComponentId) -> bool {
        let Some(component) = self.components.of.get(&id).filter(|component| component.is_behind()) else {
            return false;
        };
        let Some(until) = component.last_waiting() else { return false };
        let overview = self.overview();
        overview.members.get(&id).is_none_or(|views| self.around.subscriptions.fold(views, until))
    }

    fn begin_passage(&mut self, group: &CommitGroup) -> Passage {
        Passage {
            before: self.reader(&group.before, &self.at.current),
            after: group.after.clone(),
            affected: BTreeSet::new(),
            changes: BTreeMap::new(),
            under_way: None,
            found: Found::default(),
            began: Instant::now(),
        }
    }

    /// What a group changed is laid before a component's views.
    fn enter(&mut self, id: ComponentId, group: &CommitGroup) {
        let overview = self.overview();
        let Some(before) = self.passage(id).map(|passage| passage.before.clone()) else { return };
        let own = |view: &RelationId| self.views.get(view).is_some_and(|view| view.component == id);
        let read: BTreeSet<RelationId> = group
            .tables()
            .filter(|table| overview.components.get(table).is_some_and(|components| components.contains(&id)))
            .collect();
        let (mut affected, mut changes, mut cleared) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        for relation in read {
            let rows = if changes_much(&group.layers, relation) {
                table_changes(before.as_ref(), &group.layers, relation, self.fed_rows_max(relation)).map(Arc::new)
            } else {
                Some(group.changes(before.as_ref(), relation))
            };
            match rows {
                Some(rows) if rows.is_empty() => {}
                Some(rows) => {
                    changes.insert(relation, rows);
                    affected.extend(overview.readers.get(&relation).into_iter().flatten().filter(|view| own(view)));
                }
                None => {
                    cleared.insert(relation);
                }
            }
        }
        if group.ticks {
            let due = |view: &RelationId| self.views.get(view).is_some_and(|view| view.is_due(group.after.clock));
            affected.extend(overview.readers.get(&CLOCK).into_iter().flatten().filter(|view| own(view) && due(view)));
        }
        let hydrating: BTreeSet<RelationId> = match group.erases() {
            true => overview.hydrating.iter().filter(|view| own(view)).copied().collect(),
            false => BTreeSet::new(),
        };
        let Some(passage) = self.passage(id) else { return };
        (passage.affected, passage.changes) = (affected, changes);
        let mut deltas = Deltas::default();
        self.refill_readers(&cleared, id, &mut deltas);
        self.fill_anew(hydrating);
        if let Some(passage) = self.passage(id) {
            passage.found.deltas = deltas;
        }
    }

    pub(super) fn passage(&mut self, id: ComponentId) -> Option<&mut Passage> {
        self.components.of.get_mut(&id)?.passage.as_deref_mut()
    }

    /// Takes the views that read what was written through it, those that they are read by after them. Whether all are through.
    fn walk(&mut self, id: ComponentId, until: Instant) -> bool {
        let overview = self.overview();
        loop {
            let Some(passage) = self.passage(id) else { return true };
            let (under_way, before, after) = (passage.under_way.take(), passage.before.clone(), passage.after.clone());
            let resumed = under_way.is_some();
            let Some(view_id) = under_way.or_else(|| passage.affected.pop_first()) else { return true };
            let changes = (!resumed).then(|| passage.changes.clone());
            // DDL may have made it another, which goes through commits with others.
            let is_own = self.views.get(&view_id).is_some_and(|view| view.component == id);
            if !is_own {
                continue;
            }
            let Some(mut view) = self.views.remove(&view_id) else { continue };
            let group = changes.map(|changes| {
                let time = after.time;
                Arc::new(Group {
                    before,
                    after: self.reader(&after, &self.at.current),
                    changes,
                    time,
                    clock: after.clock,
                })
            });
            let readers = overview.readers.get(&view_id);
            let followed = self.follow(view_id, &mut view, group, readers.is_some(), until);
            self.views.insert(view_id, view);
            let joined = overview.joined.get(&view_id).is_some_and(|below| self.one_fails(below));
            let Some(passage) = self.passage(id) else { return true };
            match followed {
                Ok(Followed::UnderWay) => {
                    passage.under_way = Some(view_id);
                    return false;
                }
                Ok(Followed::Not) => {
                    passage.found.left_behind.insert(view_id);
                }
                Ok(Followed::WithOtherErrors) => {
                    passage.found.doubtful.insert(view_id);
                }
                Ok(Followed::Well) => {
                    // What is joined with a view below may ask for other rows of it, and so for one that fails.
                    if joined {
                        passage.found.doubtful.insert(view_id);
                    }
                }
                Err(error) => {
                    passage.found.failing.insert(view_id, error);
                }
            }
            if passage.changes.contains_key(&view_id) {
                passage.affected.extend(readers.into_iter().flatten());
            }
        }
    }

    /// A component is through: what has become of it is told.
    fn end_passage(&mut self, id: ComponentId) {
        let Some(component) = self.components.of.get_mut(&id) else { return };
        let Some(passage) = component.passage.take() else { return };
        let Passage { after, found, began, .. } = *passage;
        component.took(began.elapsed());
        let Found { mut deltas, failing, doubtful, left_behind } = found;
        self.end_failing(failing, &mut deltas);
        self.refill_left_behind(left_behind, &mut deltas);
        if !doubtful.is_empty() {
            self.doubt(doubtful, &after, &mut deltas);
        }
        self.wake_waiting();
        self.tell(id, Some(after), deltas);
    }

    /// Views that have no rows any more, and those who read them.
    fn end_failing(&mut self, failing: BTreeMap<RelationId, SqlError>, deltas: &mut Deltas) {
        for (id, error) in failing {
            for reader in self.readers_of(&BTreeSet::from([id])) {
                deltas.end(reader, error.clone());
            }
            deltas.end(id, error);
        }
    }

    /// Takes one view through a group, or goes on with it. An error is why it has no rows any more.
    fn follow(
        &mut self,
        id: RelationId,
        view: &mut Maintained,
        group: Option<Arc<Group>>,
        read_by_others: bool,
        until: Instant,
    ) -> Result<Followed, SqlError> {
        let group_time = group.as_ref().map(|group| group.time);
        let patience = view.patience();
        match (&mut view.progress, group) {
            (ViewProgress::Waiting | ViewProgress::Failed, _) | (ViewProgress::Hydrating(_), None) => {
                return Ok(Followed::Well);
            }
            (ViewProgress::Hydrating(hydration), Some(group)) => {
                // What it is filled from has it already.
                if group_time > Some(view.since) {
                    hydration.backlog.push_back(group);
                }
                return Ok(Followed::Well);
            }
            (ViewProgress::Ready, group) => {
                let Some(flow) = &mut view.flow else { return Ok(Followed::Well) };
                group.into_iter().for_each(|group| flow.feed([Feed::Group(group)]));
                let began = self.passage(view.component).map_or_else(Instant::now, |passage| passage.began);
                let budget_bytes = self.around.settings.view_memory.bytes();
                let started = Instant::now();
                let slice = until.saturating_duration_since(started);
                let advanced = flow.advance(slice, began + patience, budget_bytes);
                self.around.statistics.view(id, started.elapsed(), matches!(advanced, Ok(true)));
                match advanced {
                    Ok(true) => {}
                    Ok(false) => return Ok(Followed::UnderWay),
                    Err(error) => return self.give_up_view(id, view, error),
                }
            }
        }
        if view.widens() {
            return Ok(Followed::Not);
        }
        Ok(self.follow_through(id, view, read_by_others))
    }

    /// A view cannot go on: it is filled anew, or fails.
    fn give_up_view(&mut self, id: RelationId, view: &mut Maintained, error: SqlError) -> Result<Followed, SqlError> {
        let by_erasure = self.around.publication.given_up().0 > self.at.given_up.load(Ordering::Relaxed);
        if error.code == "54000" && (by_erasure || view.may_be_left_behind()) {
            return Ok(Followed::Not);
        }
        self.fail(id, view, error.clone());
        Err(error)
    }

    /// What became of a view that is through.
    fn follow_through(&mut self, id: RelationId, view: &mut Maintained, read_by_others: bool) -> Followed {
        let Some(flow) = &mut view.flow else { return Followed::Well };
        let (fresh, state, errors_changed) = (flow.take_fresh(), flow.state(Stage::Ready), flow.take_errors_changed());
        let first = state.arrangements.first();
        let ordered = first.is_some_and(|first| first.ordered);
        let mut rows = Vec::new();
        for batch in fresh.iter().filter(|_| read_by_others) {
            batch.for_each(|_key, bytes, diff| {
                let bytes = first.map_or(bytes, |first| first.row(bytes));
                rows.push((Row::from_bytes(bytes.into()), diff));
            });
        }
        self.upkeep.unmerged.entry(id).or_insert(Unmerged::AFTER_A_GROUP);
        self.set(view.component, id, state);
        if let Some(passage) = self.passage(view.component) {
            if !rows.is_empty() {
                passage.changes.insert(id, Arc::new(rows));
            }
            passage.found.deltas.push(id, fresh, ordered);
        }
        if errors_changed { Followed::WithOtherErrors } else { Followed::Well }
    }
}
