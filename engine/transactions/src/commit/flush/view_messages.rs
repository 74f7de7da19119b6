//! The flush stage's way of telling view workers of commits: whom each concerns, several as one where that tells nobody less.
//!
//! ```text
//! groups ─▶ whose views read what they wrote? ─▶ one queue a worker ─▶ VIEW WORKERS
//!                                                └─ at once, or to be left for later
//! DDL ────▶ placed anew ─▶ what moves is let go of ─▶ all workers
//! ```

use crate::commit::flush::{GroupChanges, WrittenGroup};
use repr::CommitTime;
use state::published::Published;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender};
use views::automatic::AutomaticViews;
use views::component::{CommitGroup, erases, is_boundary};
use views::dataflow::Definition;
use views::inspection::InspectedOperator;
use views::message::{self, Message, ViewRequest};
use views::placement::{Moves, Placement};
use views::publication::{ComponentId, Publication};
use views::subscription::Subscriptions;

/// After so many groups that do not concern it a worker is told of one: it holds the state of the last.
const UNTOLD_MAX: u64 = 256;
/// After so many groups that may come later a worker goes through them: what waits for it holds their rows.
const DEFERRED_GROUPS_MAX: u64 = 256;

/// See the module.
pub(in crate::commit) struct ViewsToTell {
    workers: Vec<Told>,
    /// By worker, structural messages to it.
    pub(super) told: Vec<u64>,
    placement: Placement,
    publication: Arc<Publication>,
    subscriptions: Arc<Subscriptions>,
    automatic: Arc<AutomaticViews>,
}

/// What workers were told of some groups.
#[derive(Default)]
pub(super) struct Following {
    /// The time of the last erasure, of which all were told.
    pub(super) erased: Option<CommitTime>,
    /// Components that may come later.
    pub(super) deferred: BTreeSet<ComponentId>,
}

/// A worker, and what it has been told.
struct Told {
    messages: SyncSender<Message>,
    /// Groups since then of which it was not told.
    untold: u64,
    /// Groups that may come later, one after the other.
    deferred: u64,
    /// Groups that it is told of together, from the first of them on.
    together: Option<(usize, CommitGroup)>,
}

impl ViewsToTell {
    /// Tells these, of whom nobody has been told anything.
    pub(in crate::commit) fn new(
        messages: Vec<SyncSender<Message>>,
        placement: Placement,
        publication: Arc<Publication>,
        subscriptions: Arc<Subscriptions>,
        automatic: Arc<AutomaticViews>,
    ) -> Self {
        let told = vec![message::START; messages.len()];
        let workers = messages
            .into_iter()
            .map(|messages| Told { messages, untold: 0, deferred: 0, together: None })
            .collect::<Vec<_>>();
        ViewsToTell { workers, told, placement, publication, subscriptions, automatic }
    }

    fn tell(&mut self, worker: usize, message: Message) {
        self.told[worker] += u64::from(message.is_structural());
        let told = &mut self.workers[worker];
        told.untold = 0;
        let is_deferred = matches!(&message, Message::Group(group) if group.is_deferred);
        told.deferred += 1;
        told.messages.send(message).expect("view workers outlive the flush stage or abort the process");
        if !is_deferred || told.deferred >= DEFERRED_GROUPS_MAX {
            told.deferred = 0;
            self.publication.demand(worker);
        }
    }

    /// Views are made for queries, dropped, filled again, inspected, from this state on.
    pub(super) fn request(&mut self, request: ViewRequest, state: Arc<Published>) {
        match request {
            ViewRequest::Create(definition) => self.create(definition, state),
            ViewRequest::Order(index, by) => {
                let worker = self.placement.place_ordered(index);
                self.tell(worker, Message::Order(index, by, state));
            }
            ViewRequest::Drop(view) => {
                if let Some(worker) = self.placement.worker(view) {
                    self.placement.forget(view);
                    self.tell(worker, Message::Drop(view, state));
                }
            }
            ViewRequest::Refill(view) => {
                if let Some(worker) = self.placement.worker(view) {
                    self.tell(worker, Message::Refill(view, state));
                }
            }
            ViewRequest::Inspect(reply) => self.inspect(&reply),
            ViewRequest::Merge(reply) => {
                for worker in 0..self.workers.len() {
                    self.tell(worker, Message::Merge(reply.clone(), state.clone()));
                }
            }
        }
    }

    fn create(&mut self, definition: Box<Definition>, state: Arc<Published>) {
        let subscriptions = self.subscriptions.clone();
        let is_watched = |view| subscriptions.is_watched(view);
        let placed = self.placement.place(definition.id, &definition.planned_over, state.catalog(), is_watched);
        let Some((worker, moves)) = placed else {
            // The query has to earn another, until what it reads can be kept together.
            return self.automatic.ended(definition.id);
        };
        if !moves.is_empty() {
            self.make_room(moves, &state);
            self.tell(worker, Message::Adopt(state.clone()));
        }
        self.tell(worker, Message::Create(definition, state));
    }

    /// Who loses views lets go of them before anybody else makes them.
    fn make_room(&mut self, moves: Moves, state: &Arc<Published>) {
        if !moves.is_empty() {
            for (worker, views) in moves {
                self.tell(worker, Message::Release(views, state.clone()));
            }
            let _heard = self.publication.routes(&self.told);
        }
        let placed = self.placement.placed();
        for worker in 0..self.workers.len() {
            self.tell(worker, Message::Place(placed.clone()));
        }
    }

    fn inspect(&mut self, reply: &Sender<Vec<InspectedOperator>>) {
        for worker in 0..self.workers.len() {
            self.tell(worker, Message::Inspect(reply.clone()));
        }
    }

    /// Tells of those of these groups that concern views, and finds what they have to wait for.
    pub(super) fn follow(&mut self, groups: &mut [WrittenGroup]) -> Following {
        let mut following = Following::default();
        for position in 0..groups.len() {
            let Some(changes) = groups[position].changes.take() else { continue };
            let time = groups[position].state.time;
            let alone = changes.changes_schema || is_boundary(&changes.layer);
            if alone {
                self.tell_together(groups, position, &mut following);
            }
            if changes.changes_schema {
                let moves = self.placement.follow(groups[position].state.catalog());
                // As it was before DDL: what is let go of has no more to go through.
                self.make_room(moves, &changes.before);
            }
            if erases(&changes.layer) {
                self.publication.expect_erasure(time);
                following.erased = Some(time);
            }
            self.add(&mut groups[position], position, changes, alone);
            if alone {
                self.tell_together(groups, position + 1, &mut following);
            }
        }
        self.tell_together(groups, groups.len(), &mut following);
        following
    }

    /// One more for the workers that it concerns; a boundary concerns all.
    fn add(&mut self, group: &mut WrittenGroup, position: usize, changes: GroupChanges, alone: bool) {
        let GroupChanges { before, layer, ticks, .. } = changes;
        let after = group.state.clone();
        let routes = self.publication.routes(&self.told);
        let readers = |(relation, _)| routes.readers.get(&relation).into_iter().flatten().copied();
        group.waits = layer.tables().flat_map(readers).map(|component| (component, after.time)).collect();
        if ticks {
            group
                .waits
                .extend(self.publication.due_by(after.clock).into_iter().map(|component| (component, after.time)));
        }
        let concerned: BTreeSet<usize> = group.waits.keys().map(|component| component.worker).collect();
        for (number, worker) in self.workers.iter_mut().enumerate() {
            if !alone && worker.untold < UNTOLD_MAX && !concerned.contains(&number) {
                worker.untold += 1;
                continue;
            }
            let first = || (position, CommitGroup::new(before.clone(), after.clone(), Vec::new()));
            let (_, group) = worker.together.get_or_insert_with(first);
            group.layers.push(layer.clone());
            group.ticks |= ticks;
        }
    }

    /// Of groups that a worker is told together each waits for the last. That is the same for all workers: subscriptions to
    /// views of several are told of one commit at one time.
    fn tell_together(&mut self, groups: &mut [WrittenGroup], end: usize, following: &mut Following) {
        for number in 0..self.workers.len() {
            let Some((first, mut group)) = self.workers[number].together.take() else { continue };
            group.after = groups[end - 1].state.clone();
            for waits in groups[first..end].iter_mut().map(|group| &mut group.waits) {
                for (component, time) in waits.iter_mut().filter(|(component, _)| component.worker == number) {
                    *time = group.after.time;
                    group.awaited.insert(*component);
                }
            }
            if group.is_boundary() || group.ticks {
                // It brings along what was told before it.
                following.deferred.retain(|component| component.worker != number);
            } else {
                let deferred = self.publication.deferrable(&group.awaited);
                group.is_deferred = deferred == group.awaited;
                following
                    .deferred
                    .retain(|component| deferred.contains(component) || !group.awaited.contains(component));
                following.deferred.extend(deferred);
            }
            self.tell(number, Message::Group(group));
        }
    }
}
