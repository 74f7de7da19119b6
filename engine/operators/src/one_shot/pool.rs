//! Dataflows of one-shots, each on a thread of its own, few of which run at once.
//!
//! A dataflow holds a permit while it computes and gives it back while it waits for its rows to be taken, so
//! that an idle cursor stops nobody. Rows come through a bounded channel. Threads end with their query.

use crate::one_shot::OneShot;
use crate::one_shot::profile::Profile;
use crate::one_shot::stream::Locals;
use crate::render::source;
use crossbeam_channel::{Receiver, RecvError, SendTimeoutError, Sender, TrySendError, bounded};
use parking_lot::{Condvar, Mutex};
use planner::plan::Query;
use repr::{Row, poll};
use state::SqlError;
use state::interrupt::Watch;
use std::sync::Arc;
use std::time::Duration;

const BATCH_ROWS_MAX: usize = 1_024;
const BATCHES_MAX: usize = 8;
const WAIT: Duration = Duration::from_millis(20);

/// How many dataflows compute at once.
static PERMITS: Permits = Permits { free: Mutex::new(2), freed: Condvar::new() };

struct Permits {
    /// Below zero after the number was lowered, until that many are given back.
    free: Mutex<isize>,
    freed: Condvar,
}

/// Changes how many dataflows compute at once, by so many (the configuration's number less two).
pub fn add_dataflow_threads(more: isize) {
    *PERMITS.free.lock() += more;
    PERMITS.freed.notify_all();
}

/// The right to compute.
struct Permit;

impl Permit {
    fn acquire(watch: &Watch) -> Result<Self, SqlError> {
        let mut free = PERMITS.free.lock();
        while *free <= 0 {
            PERMITS.freed.wait_for(&mut free, WAIT);
            watch.check()?;
        }
        *free -= 1;
        Ok(Permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *PERMITS.free.lock() += 1;
        PERMITS.freed.notify_one();
    }
}

enum Message {
    Rows(Vec<(Row, isize)>),
    Ended(Result<(), SqlError>),
}

/// The rows of a dataflow on its thread. Dropping it ends the dataflow.
pub struct DataflowRows {
    messages: Receiver<Message>,
    rows: std::vec::IntoIter<(Row, isize)>,
    /// The row at hand and how many copies of it are left to give.
    copies: Option<(Row, isize)>,
    watch: Arc<Watch>,
    ended: bool,
}

/// Starts the query's plan on a thread.
pub fn start(query: Arc<Query>, shot: OneShot) -> Result<DataflowRows, SqlError> {
    let (sender, messages) = bounded(BATCHES_MAX);
    let watch = shot.watch.clone();
    let counting = shot.profile.as_ref().map(Profile::begin);
    std::thread::Builder::new()
        .name("dataflow".into())
        .spawn(move || {
            let _joined = shot.watch.join();
            let result = poll::unwinds_to(|| compute(&query, &shot, &sender));
            drop(counting);
            // A send fails only if nobody reads any more.
            let _unread = sender.send(Message::Ended(result));
        })
        .map_err(|error| {
            SqlError::new("53000", format!("could not start a thread for a dataflow: {error}"))
                .hint("Raise the process's limit of threads, or run fewer queries at once.")
        })?;
    Ok(DataflowRows { messages, rows: Vec::new().into_iter(), copies: None, watch, ended: false })
}

fn compute(query: &Query, shot: &OneShot, sender: &Sender<Message>) -> Result<(), SqlError> {
    let mut permit = Some(Permit::acquire(&shot.watch)?);
    source::run(&query.plan, shot, &Arc::new(Locals::new()), &mut |mut rows| {
        while !rows.is_empty() {
            let rest = rows.split_off(rows.len().min(BATCH_ROWS_MAX));
            send(sender, Message::Rows(std::mem::replace(&mut rows, rest)), &mut permit, &shot.watch)?;
        }
        Ok(())
    })
}

fn send(
    sender: &Sender<Message>,
    message: Message,
    permit: &mut Option<Permit>,
    watch: &Watch,
) -> Result<(), SqlError> {
    let mut message = match sender.try_send(message) {
        Ok(()) => return Ok(()),
        Err(TrySendError::Full(message) | TrySendError::Disconnected(message)) => message,
    };
    *permit = None;
    loop {
        match sender.send_timeout(message, WAIT) {
            Ok(()) => break,
            Err(SendTimeoutError::Timeout(unsent)) => message = unsent,
            Err(SendTimeoutError::Disconnected(unread)) => {
                watch.abandon();
                message = unread;
            }
        }
        watch.check()?;
    }
    *permit = Some(Permit::acquire(watch)?);
    Ok(())
}

impl DataflowRows {
    /// The next batch; none at the end.
    fn batch(&mut self) -> Result<Option<Vec<(Row, isize)>>, SqlError> {
        while !self.ended {
            match self.messages.recv() {
                Ok(Message::Rows(rows)) => return Ok(Some(rows)),
                Ok(Message::Ended(result)) => {
                    self.ended = true;
                    result?;
                }
                Err(RecvError) => {
                    self.ended = true;
                    return Err(SqlError::new("XX000", "a dataflow ended without an answer")
                        .hint("This is a bug; the server's log has more.")
                        .fatal());
                }
            }
        }
        Ok(None)
    }
}

impl Iterator for DataflowRows {
    type Item = Result<Row, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.copies.take() {
                Some((row, copies)) if copies > 1 => {
                    self.copies = Some((row.clone(), copies - 1));
                    return Some(Ok(row));
                }
                Some((row, 1)) => return Some(Ok(row)),
                Some(_) | None => {}
            }
            self.copies = self.rows.next();
            if self.copies.is_some() {
                continue;
            }
            match self.batch().transpose()? {
                Ok(rows) => self.rows = rows.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Drop for DataflowRows {
    fn drop(&mut self) {
        self.watch.abandon();
    }
}
