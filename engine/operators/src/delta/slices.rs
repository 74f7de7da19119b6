//! What an operator has found and not given yet: some thousand rows each time that it runs, so that whoever steps the
//! worker can look in between at how long it takes and what it holds.

use crate::context::RenderTime;
use crate::delta::Changes;
use repr::{Row, ValueError};
use state::SqlError;
use state::interrupt::Watch;
use std::collections::VecDeque;
use std::sync::Arc;
use timely::dataflow::operators::Capability;
use timely::scheduling::Activator;

/// Rows that are given at a time.
pub(crate) const SLICE_ROWS: usize = 8_192;

/// See the module.
pub(crate) struct Slices<T: RenderTime> {
    waiting: VecDeque<Waiting<T>>,
    activator: Activator,
    watch: Arc<Watch>,
    waiting_bytes: usize,
}

struct Waiting<T: RenderTime> {
    rows: std::vec::IntoIter<(Row, isize)>,
    errors: std::vec::IntoIter<(ValueError, isize)>,
    /// For rows and for errors.
    capabilities: [Capability<T>; 2],
    bytes: usize,
}

impl<T: RenderTime> Slices<T> {
    /// Nothing yet. The activator is the operator's own.
    pub(crate) fn new(activator: Activator, watch: Arc<Watch>) -> Self {
        Slices { waiting: VecDeque::new(), activator, watch, waiting_bytes: 0 }
    }

    /// To be given from now on. What waits counts as held, and ends the dataflow if that is too much.
    pub(crate) fn push(&mut self, changes: Changes, capabilities: [Capability<T>; 2]) {
        let Changes { oks, errs, bytes } = changes;
        if !oks.is_empty() || !errs.is_empty() {
            // Whoever steps the worker hears of it.
            self.waiting_bytes += bytes;
            if self.waiting_bytes > self.watch.account().bytes_max() {
                self.watch.fail(SqlError::new("53200", "out of memory"));
            }
            self.waiting.push_back(Waiting { rows: oks.into_iter(), errors: errs.into_iter(), capabilities, bytes });
        }
    }

    /// Gives the next slice; the operator runs again if that was not the last.
    pub(crate) fn give(
        &mut self,
        mut give_rows: impl FnMut(&Capability<T>, &mut Vec<(Row, T, isize)>),
        mut give_errors: impl FnMut(&Capability<T>, &mut Vec<(ValueError, T, isize)>),
    ) {
        let mut left = SLICE_ROWS;
        while left > 0
            && let Some(Waiting { rows, errors, capabilities: [of_rows, of_errors], bytes }) = self.waiting.front_mut()
        {
            let time = of_rows.time();
            let mut oks: Vec<_> = rows.by_ref().take(left).map(|(row, diff)| (row, time.clone(), diff)).collect();
            left -= oks.len();
            let mut errs: Vec<_> =
                errors.by_ref().take(left).map(|(error, diff)| (error, time.clone(), diff)).collect();
            left -= errs.len();
            if !oks.is_empty() {
                give_rows(of_rows, &mut oks);
            }
            if !errs.is_empty() {
                give_errors(of_errors, &mut errs);
            }
            if rows.len() == 0 && errors.len() == 0 {
                self.waiting_bytes -= *bytes;
                self.waiting.pop_front();
            }
        }
        if !self.waiting.is_empty() {
            self.activator.activate();
        }
    }
}
