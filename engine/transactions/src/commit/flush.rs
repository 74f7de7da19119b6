//! The flush stage: makes what is written durable, has the views follow meanwhile, publishes, answers.
//!
//! ```text
//! written ─▶ all that has come ─┬─▶ views: its groups, as one where that tells nobody less ─┐
//!                               └─▶ fdatasync ──────────────────────────────────────────────┴─▶ publish, answer
//! ```
//! One flush serves many groups, and so does one pass through a view: nobody reads a state between two flushes. An
//! erasure keeps its own time in subscriptions, so its group goes alone. Of a group that wrote nothing that a view
//! reads the view thread is not told.

use crate::commit::stage::Worker;
use crate::commit::{Committed, Flushes, Outcome, Reply};
use crate::receipt::Erasure;
use repr::{CommitTime, MicroDbId};
use state::overlay::Overlay;
use state::published::Published;
use state::statistics::Statistics;
use state::view_states::Views;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Instant;
use storage::Store;
use views::message::Message;
use views::results::ViewResults;
use views::subscription::{Deltas, Subscriptions};

/// After so many groups that do not concern it the view thread is told of one: it holds the state of the last.
const UNTOLD_MAX: u64 = 256;

/// What the commit stage hands on, in its order.
pub(super) enum Work {
    /// A group was written.
    Group(WrittenGroup),
    /// Something for the view thread, at this place in the order.
    View(Message),
}

/// A group that was written.
pub(super) struct WrittenGroup {
    /// The state after it, without views.
    pub(super) state: Arc<Published>,
    /// What views need to follow it, if there are any.
    pub(super) changes: Option<GroupChanges>,
    /// Whose keys go.
    pub(super) destroyed: Vec<MicroDbId>,
    /// Who waits.
    pub(super) replies: Vec<(Reply, Vec<Erasure>)>,
}

/// What a group changed.
pub(super) struct GroupChanges {
    /// The state before it, without views.
    pub(super) before: Arc<Published>,
    /// The changes.
    pub(super) layer: Arc<Overlay>,
    /// The catalog is among them.
    pub(super) changes_schema: bool,
}

/// See the module.
pub(super) struct Flusher {
    pub(super) store: Store,
    pub(super) line: Arc<ViewResults>,
    pub(super) views: SyncSender<Message>,
    pub(super) forgotten_at: Arc<AtomicU64>,
    pub(super) subscriptions: Arc<Subscriptions>,
    pub(super) statistics: Arc<Statistics>,
    /// Messages to the view thread.
    pub(super) told: u64,
    /// Groups since then of which it was not told.
    pub(super) untold: u64,
}

impl Worker for Flusher {
    type Work = Work;

    fn work(&mut self, written: Vec<Work>) {
        let mut groups = Vec::new();
        for work in written {
            match work {
                Work::Group(group) => groups.push(group),
                Work::View(message) => {
                    self.flush(std::mem::take(&mut groups));
                    self.tell_views(message);
                }
            }
        }
        self.flush(groups);
    }
}

/// Says that people were forgotten: by receipt and counts, never whom.
fn tell_erasures(groups: &[WrittenGroup], keys_destroyed: usize) {
    for erasure in groups.iter().flat_map(|group| &group.replies).flat_map(|(_, erasures)| erasures) {
        let counts = |of: fn(&crate::receipt::TableCounts) -> u64| erasure.counts.values().map(of).sum::<u64>();
        tracing::info!(
            target: "dogwood::erasures",
            receipt = erasure.receipt.id_text(),
            deleted = counts(|table| table.deleted),
            anonymized = counts(|table| table.anonymized),
            disowned = counts(|table| table.disowned),
            "a data subject is forgotten"
        );
    }
    if keys_destroyed > 0 {
        tracing::info!(target: "dogwood::erasures", keys = keys_destroyed, "data keys are destroyed");
    }
}

impl Flusher {
    fn tell_views(&mut self, message: Message) {
        self.told += 1;
        self.untold = 0;
        self.views.send(message).expect("the view thread outlives the flush stage or aborts the process");
    }

    fn flush(&mut self, mut groups: Vec<WrittenGroup>) {
        let Some(last) = groups.last().map(|group| group.state.clone()) else { return };
        let destroyed: Vec<MicroDbId> = groups.iter().flat_map(|group| group.destroyed.iter().copied()).collect();
        let followed = self.have_followed(&mut groups);
        let started = Instant::now();
        let mut flushes = Flushes::default();
        let mut flushed = self.store.flush();
        flushes.log = started.elapsed();
        self.statistics.flush.record(flushes.log);
        let (views, mut deltas) = self.views_at(followed);
        self.statistics.wait_for_views.record(started.elapsed().saturating_sub(flushes.log));
        if flushed.is_ok() && !destroyed.is_empty() {
            // Before the keys go: who reads older snapshots is told so, and who comes now waits for the new one.
            self.forgotten_at.fetch_max(last.time.0, Ordering::SeqCst);
            // Views have read what they retract.
            let started = Instant::now();
            flushed = self.store.destroy_keys(&destroyed);
            flushes.keys = started.elapsed();
        }
        if let Err(error) = flushed {
            tracing::error!(
                target: "dogwood::storage",
                "stopping at once: what was written could not be made durable: {error}"
            );
            std::process::abort();
        }
        let _before = self.line.publish(&last, views);
        if self.untold > 0 && self.subscriptions.are_followed() {
            deltas.push((last.time, Deltas::default()));
        }
        self.subscriptions.tell(deltas);
        tell_erasures(&groups, destroyed.len());
        // What is held no longer goes once all have their answers.
        for (reply, erasures) in groups.iter_mut().flat_map(|group| group.replies.drain(..)) {
            reply.answer(Outcome::Committed(Committed { erasures, flushes }));
        }
    }

    /// Tells the view thread of those of these groups that concern it. The time of the last of them.
    fn have_followed(&mut self, groups: &mut [WrittenGroup]) -> Option<CommitTime> {
        let mut followed = None;
        let mut together: Option<Message> = None;
        for group in groups {
            let Some(GroupChanges { before, layer, changes_schema }) = group.changes.take() else { continue };
            let after = group.state.clone();
            let alone = changes_schema
                || layer.subjects().any(|(_, microdb)| microdb.is_none())
                || layer.tables().any(|(_, changes)| changes.truncated);
            let concerns = || self.line.concerns(self.told, layer.tables().map(|(relation, _)| relation));
            if !alone && self.untold < UNTOLD_MAX && together.is_none() && !concerns() {
                self.untold += 1;
                continue;
            }
            followed = Some(after.time);
            if !alone && let Some(Message::Group { after: last, layers, .. }) = &mut together {
                *last = after;
                layers.push(layer);
                continue;
            }
            together.take().into_iter().for_each(|message| self.tell_views(message));
            let message = Message::Group { before, after, layers: vec![layer] };
            if alone {
                self.tell_views(message);
            } else {
                together = Some(message);
            }
        }
        together.into_iter().for_each(|message| self.tell_views(message));
        followed
    }

    /// The views as of a time, if it is told of, and what changed in them since the last one.
    fn views_at(&self, followed: Option<CommitTime>) -> (Option<Views>, Vec<(CommitTime, Deltas)>) {
        let (mut views, mut deltas) = (None, Vec::new());
        for made in followed.into_iter().flat_map(|time| self.line.fetch(time)) {
            views = Some(made.views);
            deltas.push((made.time, made.deltas));
        }
        (views, deltas)
    }
}
