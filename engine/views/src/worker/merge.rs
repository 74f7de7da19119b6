//! What a view worker does while no commit comes and nothing is to be filled: views' batches become fewer.

use crate::maintained::ViewProgress;
use crate::subscription::Deltas;
use crate::worker::ViewWorker;
use arrangements::merging::{Extent, Merged};
use state::view_states::Stage;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// So long no commit has come before anything is merged.
pub(super) const AFTER: Duration = Duration::from_millis(20);

/// A view that may have something to merge.
#[derive(Clone, Copy)]
pub(super) struct Unmerged {
    extent: Extent,
    /// Something was merged that its readers do not have.
    some: bool,
}

impl Unmerged {
    /// What more came is merged as it comes.
    pub(super) const AFTER_A_GROUP: Unmerged = Unmerged { extent: Extent::UnderWay, some: false };
    /// Nothing more may come.
    pub(super) const AFTER_FILLING: Unmerged = Unmerged { extent: Extent::All, some: false };
}

impl ViewWorker {
    /// All that its views hold is to become one, and `reply` to hear of it: after an erasure nothing stands beside its
    /// retraction any more.
    pub(super) fn merge_all(&mut self, reply: Sender<()>) {
        self.views.keys().for_each(|id| {
            self.upkeep.unmerged.insert(*id, Unmerged::AFTER_FILLING);
        });
        self.upkeep.await_merged.push(reply);
    }

    /// Tells those who wait for it that there is nothing to merge.
    pub(super) fn tell_merged(&mut self) {
        if self.upkeep.unmerged.is_empty() {
            // Whoever asked may have gone.
            self.upkeep.await_merged.drain(..).for_each(|reply| {
                let _unheard = reply.send(());
            });
        }
    }

    /// A slice of the merging that one view needs. Its readers get what has become of it once that is done.
    pub(super) fn merge(&mut self) {
        let Some(mut first) = self.upkeep.unmerged.first_entry() else { return };
        let id = *first.key();
        let view = self.views.get_mut(&id).filter(|view| matches!(view.progress, ViewProgress::Ready));
        let Some((component, flow)) = view.and_then(|view| Some((view.component, view.flow.as_mut()?))) else {
            first.remove();
            return;
        };
        let unmerged = first.get_mut();
        let Merged { some, more } = flow.merge(unmerged.extent);
        unmerged.some |= some;
        if more {
            return;
        }
        // What the last feed's operators had still to do may have made it smaller, too.
        let (some, state) = (first.remove().some, flow.state(Stage::Ready));
        if some || self.at.current.get(id).is_some_and(|told| told.bytes() != state.bytes()) {
            self.set(component, id, state);
            self.tell(component, None, Deltas::default());
        }
    }
}
