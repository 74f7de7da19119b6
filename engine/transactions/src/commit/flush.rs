//! The flush stage: makes what is written durable, has the views follow meanwhile, publishes, answers.
//!
//! ```text
//! written ─▶ all that has come ─┬─▶ views: its groups, as one where that tells nobody less ─┐
//!                               └─▶ fdatasync ──────────────────────────────────────────────┴─▶ publish, answer
//! ```
//! One flush serves many groups, and so does one pass through a view: nobody reads a state between two flushes. An
//! erasure keeps its own time in subscriptions, so its group goes alone. Of a group that wrote nothing that a view of its
//! reads a view worker is not told. What takes views longer is published without them: whoever wrote it is answered
//! when they are through, and nobody else waits. Nobody waits for views that may follow later (`views::deferral`).

pub(super) mod view_messages;

use crate::commit::stage::Worker;
use crate::commit::teller::Teller;
use crate::commit::{Committed, Flushes, Hear, Outcome, Reply};
use crate::receipt::{Erased, Erasure};
use repr::MicroDbId;
use state::audit::AuditQueue;
use state::overlay::Overlay;
use state::published::Published;
use state::statistics::Statistics;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use storage::Store;
use view_messages::{Following, ViewsToTell};
use views::message::ViewRequest;
use views::publication::{Publication, Waits};

/// Views that are through soon after the flush are published with it.
const GRACE: Duration = Duration::from_millis(2);
/// What holds up an erasure for longer is filled anew: what is not there is retracted.
const ERASURE_PATIENCE: Duration = Duration::from_secs(1);

/// What the commit stage hands on, in its order.
pub(super) enum Work {
    /// A group was written.
    Group(WrittenGroup),
    /// Something for view workers, at this place in the order.
    View(ViewRequest, Arc<Published>),
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
    /// What views they wait for; nobody does after a tick.
    pub(super) waits: Waits,
    /// Who hears of a tick.
    pub(super) ticks: Vec<Hear>,
    /// What it brings into the audit log of those who have only read.
    pub(super) round: Option<u64>,
}

impl WrittenGroup {
    /// Of nothing but records of the audit log.
    pub(super) fn of_records(
        state: Arc<Published>,
        round: Option<u64>,
        replies: Vec<(Reply, Vec<Erasure>)>,
    ) -> WrittenGroup {
        let (destroyed, ticks, waits) = (Vec::new(), Vec::new(), Waits::new());
        WrittenGroup { state, changes: None, destroyed, replies, waits, ticks, round }
    }
}

/// What a group changed.
pub(super) struct GroupChanges {
    /// The state before it, without views.
    pub(super) before: Arc<Published>,
    /// The changes.
    pub(super) layer: Arc<Overlay>,
    /// The catalog is among them.
    pub(super) changes_schema: bool,
    /// Only the clock goes on.
    pub(super) ticks: bool,
}

/// See the module.
pub(super) struct Flusher {
    pub(super) store: Store,
    pub(super) publication: Arc<Publication>,
    pub(super) views: ViewsToTell,
    pub(super) forgotten_at: Arc<AtomicU64>,
    pub(super) statistics: Arc<Statistics>,
    pub(super) audit: Arc<AuditQueue>,
    pub(super) teller: Teller,
}

impl Worker for Flusher {
    type Work = Work;

    fn work(&mut self, written: Vec<Work>) {
        let mut groups = Vec::new();
        for work in written {
            match work {
                Work::Group(group) => groups.push(group),
                Work::View(request, state) => {
                    self.flush(std::mem::take(&mut groups));
                    self.views.request(request, state);
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
            "a data subject is forgotten{}",
            if erasure.of == Erased::Part { ", in part" } else { "" }
        );
    }
    if keys_destroyed > 0 {
        tracing::info!(target: "dogwood::erasures", keys = keys_destroyed, "data keys are destroyed");
    }
}

impl Flusher {
    /// Whoever waits only for its entry in the audit log waits for nothing that comes after the flush.
    fn tell_readers(&self, groups: &[WrittenGroup]) {
        let rounds = || groups.iter().filter_map(|group| group.round);
        if let Some(last) = rounds().max() {
            self.teller.tell(self.audit.rounds.durable(last, rounds().count()));
        }
    }

    fn flush(&mut self, mut groups: Vec<WrittenGroup>) {
        let Some(last) = groups.last().map(|group| group.state.clone()) else { return };
        let destroyed: Vec<MicroDbId> = groups.iter().flat_map(|group| group.destroyed.iter().copied()).collect();
        let Following { erased, deferred } = self.views.follow(&mut groups);
        let mut waits = Waits::new();
        groups.iter().for_each(|group| waits.extend(&group.waits));
        let started = Instant::now();
        let mut flushes = Flushes::default();
        let mut flushed = self.store.flush();
        flushes.log = started.elapsed();
        self.statistics.flush.record(flushes.log);
        if flushed.is_ok() {
            self.tell_readers(&groups);
        }
        let mut borne = self.publication.borne(&waits);
        borne.extend(deferred);
        if borne.is_empty() && groups.iter().all(|group| group.ticks.is_empty()) {
            self.publication.await_quick(&waits, GRACE);
        } else {
            let mut awaited = Waits::new();
            groups.iter().filter(|group| group.ticks.is_empty()).for_each(|group| awaited.extend(&group.waits));
            awaited.retain(|id, _| !borne.contains(id));
            self.publication.await_quick(&awaited, GRACE);
        }
        let forgets = |group: &WrittenGroup| group.replies.iter().any(|(_, erasures)| !erasures.is_empty());
        if !destroyed.is_empty() || groups.iter().any(forgets) {
            self.statistics.tables.forget();
        }
        let in_part = |(_, erasures): &(Reply, Vec<Erasure>)| erasures.iter().any(|erasure| erasure.of == Erased::Part);
        let erases = !destroyed.is_empty() || groups.iter().flat_map(|group| &group.replies).any(in_part);
        if flushed.is_ok() && erases {
            // Views have read what they retract.
            erased.into_iter().for_each(|time| self.publication.await_settled(time, ERASURE_PATIENCE));
            // Before the keys go: who reads older snapshots is told so, and who comes now waits for the new one.
            self.forgotten_at.fetch_max(last.time.0, Ordering::SeqCst);
            if !destroyed.is_empty() {
                let started = Instant::now();
                flushed = self.store.destroy_keys(&destroyed);
                flushes.keys = started.elapsed();
            }
        }
        self.statistics.wait_for_views.record(started.elapsed().saturating_sub(flushes.log + flushes.keys));
        if let Err(error) = flushed {
            tracing::error!(
                target: "dogwood::storage",
                "stopping at once: what was written could not be made durable: {error}"
            );
            std::process::abort();
        }
        // DDL is published with what it makes of views.
        let _heard = self.publication.routes(&self.views.told);
        self.publication.publish(&last, &waits);
        tell_erasures(&groups, destroyed.len());
        // What is held no longer goes once all have their answers.
        for WrittenGroup { replies, waits, ticks, .. } in &mut groups {
            ticks.drain(..).for_each(|hear| hear(Outcome::Committed(Committed::default())));
            waits.retain(|component, _| !borne.contains(component));
            for (reply, erasures) in replies.drain(..) {
                let answer = move || reply.answer(Outcome::Committed(Committed { erasures, flushes }));
                if waits.is_empty() {
                    answer();
                } else {
                    self.publication.park(waits.clone(), Box::new(answer));
                }
            }
        }
    }
}
