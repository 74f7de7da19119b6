//! A work of many parts, in which a second thread helps.
//!
//! It takes parts that the first has not come to, and is not waited for if it has not begun: a thread may wake a millisecond
//! late, where a processor sleeps or both are busy. So what is worked on is shared, not lent: whoever comes late finds it gone.
//! Helpers are there from the first work on, one for each other processor, and sleep in between.

use parking_lot::Mutex;
use repr::poll::{self, Overseer};
use std::ops::{Deref, DerefMut};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, LazyLock};

/// Of fewer items none are given away.
pub const HELPED_ITEMS_MIN: usize = 256;
/// So many parts at most: each begins anew with what items have in common.
const PARTS_MAX: usize = 16;
/// Items of a part, at least.
const PART_ITEMS_MIN: usize = 64;

static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get));

/// So many processors may be used.
pub fn processors() -> usize {
    *PROCESSORS
}

/// Helpers at most, however many processors there are.
const HELPERS_MAX: usize = 8;
/// Works that wait for a helper at most: whoever begins one more does it alone.
const WAITING_MAX: usize = 16;

type Task = Box<dyn FnOnce() + Send>;

/// Where works wait for a helper; none if there is no other processor or thread.
static HELPERS: LazyLock<Option<SyncSender<Task>>> = LazyLock::new(|| {
    let (sender, receiver) = sync_channel::<Task>(WAITING_MAX);
    let receiver = Arc::new(Mutex::new(receiver));
    let started = (1..=HELPERS_MAX).take(*PROCESSORS - 1).filter(|_| {
        let receiver = receiver.clone();
        let help = move || {
            loop {
                let Ok(task) = receiver.lock().recv() else { return };
                // Whoever waits for the part that fails is told.
                let _outcome = std::panic::catch_unwind(AssertUnwindSafe(task));
            }
        };
        std::thread::Builder::new().name("help".into()).spawn(help).is_ok()
    });
    (started.count() > 0).then_some(sender)
});

/// A work that is under way. Dropped, it ends with the parts that are begun.
pub struct Help<R>(Option<Arc<Job<R>>>);

/// Begins a work of so many parts, with help if there are several: the parts are numbered from 0.
pub fn begin<R: Send + 'static>(parts: usize, work: impl Fn(usize) -> R + Send + Sync + 'static) -> Help<R> {
    // Whoever helps works for whom this thread works for.
    let overseer = poll::overseer();
    let overseen = move |number| {
        let _overseen = overseer.as_ref().map(poll::under);
        work(number)
    };
    let job = Arc::new(Job {
        work: Box::new(overseen),
        parts,
        next: AtomicUsize::new(0),
        left: AtomicUsize::new(parts),
        done: Mutex::new(Vec::with_capacity(parts)),
    });
    if parts > 1
        && let Some(helpers) = &*HELPERS
    {
        let weak = Arc::downgrade(&job);
        let help = move || weak.upgrade().iter().for_each(|job| job.take_parts());
        // All have enough to do: alone, then.
        let _asked = helpers.try_send(Box::new(help));
    }
    Help(Some(job))
}

/// Leaves to a thread of its own what is no longer needed and is long to take apart. For plain memory: a store or a snapshot must be
/// gone when whoever held it is.
pub fn discard(what: impl Send + 'static) {
    static DISCARDED: LazyLock<Option<Mutex<Sender<Discarded>>>> = LazyLock::new(|| {
        let (sender, receiver) = channel::<Discarded>();
        let free = move || receiver.into_iter().for_each(Discarded::free);
        std::thread::Builder::new().name("discarded".into()).spawn(free).is_ok().then(|| Mutex::new(sender))
    });
    if let Some(sender) = &*DISCARDED {
        // Gives it back, to go here, where nobody takes it.
        let _sent = sender.lock().send(Discarded { what: Box::new(what), held_by: poll::overseer() });
    }
}

/// What goes, and whose it was.
struct Discarded {
    what: Box<dyn Send>,
    held_by: Option<Arc<dyn Overseer>>,
}

impl Discarded {
    fn free(self) {
        let Discarded { what, held_by } = self;
        // Who has held it holds it no longer.
        let _overseen = held_by.as_ref().map(poll::under);
        drop(what);
    }
}

/// Leaves to `discard` what so many items are, if they are many: a few are taken apart sooner than given away.
pub fn discard_many<T: Send + 'static>(items: usize, what: impl FnOnce() -> T) {
    if items >= HELPED_ITEMS_MIN {
        discard(what());
    }
}

/// What is left to `discard` when it goes, if it is many items.
pub struct Bulk<C: Items>(C);

/// A collection.
pub trait Items: Default + Send + 'static {
    /// How many are still there.
    fn count(&self) -> usize;
}

impl<T: Send + 'static> Items for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }
}

impl<T: Send + 'static> Items for std::vec::IntoIter<T> {
    fn count(&self) -> usize {
        self.len()
    }
}

impl<T: Send + 'static, S: Default + Send + 'static> Items for std::collections::HashSet<T, S> {
    fn count(&self) -> usize {
        self.len()
    }
}

impl<C: Items> Bulk<C> {
    /// This collection.
    pub fn new(items: C) -> Self {
        Bulk(items)
    }
}

impl<C: Items> Default for Bulk<C> {
    fn default() -> Self {
        Bulk(C::default())
    }
}

impl<C: Items> Deref for Bulk<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C: Items> DerefMut for Bulk<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.0
    }
}

impl<C: Items> Drop for Bulk<C> {
    fn drop(&mut self) {
        discard_many(self.0.count(), || std::mem::take(&mut self.0));
    }
}

impl<T: Send + 'static> IntoIterator for Bulk<Vec<T>> {
    type Item = T;
    type IntoIter = Many<T>;

    fn into_iter(mut self) -> Many<T> {
        Many::new(std::mem::take(&mut self.0))
    }
}

/// Items that may be many, one after another: those that nobody takes are left to `discard`.
pub struct Many<T: Send + 'static>(Bulk<std::vec::IntoIter<T>>);

impl<T: Send + 'static> Many<T> {
    /// All of them.
    pub fn new(items: Vec<T>) -> Self {
        Many(Bulk(items.into_iter()))
    }
}

impl<T: Send + 'static> Iterator for Many<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

/// Gathers items that may be many. At an error, those before it are left to `discard`.
pub fn gather<T: Send + 'static, E>(items: impl IntoIterator<Item = Result<T, E>>) -> Result<Vec<T>, E> {
    let mut gathered = Bulk(Vec::new());
    for item in items {
        gathered.push(item?);
    }
    Ok(std::mem::take(&mut *gathered))
}

/// Works on some items, a slice at a time, and gives the results in their order; of errors the first one.
pub(crate) fn in_parts<T, R, E>(
    items: &Arc<Vec<T>>,
    work: impl Fn(&[T]) -> Result<Vec<R>, E> + Send + Sync + 'static,
) -> Result<Vec<R>, E>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
    E: Send + 'static,
{
    if items.len() < HELPED_ITEMS_MIN {
        return work(items);
    }
    let (size, shared) = (part_items(items.len()), items.clone());
    let slice = move |number: usize| work(shared.chunks(size).nth(number).unwrap_or_default());
    let mut all = Vec::with_capacity(items.len());
    for part in begin(items.len().div_ceil(size), slice).finish() {
        all.extend(part?);
    }
    Ok(all)
}

/// How many of so many items make a part.
pub fn part_items(items: usize) -> usize {
    items.div_ceil(PARTS_MAX).max(PART_ITEMS_MIN)
}

impl<R> Help<R> {
    /// Takes part in what is left, waits for the rest, and gives the results in the order of the parts.
    ///
    /// # Panics
    /// If a part did.
    pub fn finish(mut self) -> Vec<R> {
        let Some(job) = self.0.take() else { return Vec::new() };
        job.take_parts();
        while job.left.load(Ordering::Acquire) > 0 {
            std::thread::yield_now();
        }
        let job = alone(job);
        let mut done = job.done.into_inner();
        assert!(done.len() == job.parts, "every part of a work is done");
        done.sort_unstable_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

impl<R> Drop for Help<R> {
    fn drop(&mut self) {
        if let Some(job) = self.0.take() {
            job.next.store(job.parts, Ordering::Relaxed);
            alone(job);
        }
    }
}

/// The work when nobody else is at it, nor will be: a helper that has not begun finds it gone.
fn alone<R>(mut job: Arc<Job<R>>) -> Job<R> {
    loop {
        match Arc::try_unwrap(job) {
            Ok(job) => return job,
            Err(shared) => job = shared,
        }
        std::thread::yield_now();
    }
}

struct Job<R> {
    work: Box<dyn Fn(usize) -> R + Send + Sync>,
    parts: usize,
    /// The first part that nobody has taken.
    next: AtomicUsize,
    /// How many are not done.
    left: AtomicUsize,
    done: Mutex<Vec<(usize, R)>>,
}

/// A part that is under way; over when dropped, whatever came of it.
struct RunningPart<'a>(&'a AtomicUsize);

impl Drop for RunningPart<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl<R> Job<R> {
    /// Does what nobody has begun.
    fn take_parts(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.parts {
                return;
            }
            let _part = RunningPart(&self.left);
            let result = (self.work)(number);
            self.done.lock().push((number, result));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HELPED_ITEMS_MIN, begin, in_parts};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    #[test]
    fn results_come_in_order_and_the_first_error_counts() {
        for count in [0, 1, HELPED_ITEMS_MIN - 1, HELPED_ITEMS_MIN, 20 * HELPED_ITEMS_MIN + 1] {
            let items: Arc<Vec<usize>> = Arc::new((0..count).collect());
            let doubled = in_parts(&items, |some| Ok::<_, ()>(some.iter().map(|item| 2 * item).collect()));
            assert_eq!(doubled, Ok((0..count).map(|item| 2 * item).collect()));
            assert_eq!(Arc::strong_count(&items), 1, "nobody holds them any more");
        }
        let items: Arc<Vec<usize>> = Arc::new((0..HELPED_ITEMS_MIN).collect());
        for refused in [vec![0], vec![HELPED_ITEMS_MIN - 1], vec![0, HELPED_ITEMS_MIN - 1]] {
            let first = refused[0];
            let outcome = in_parts(&items, move |some| match some.iter().find(|item| refused.contains(item)) {
                Some(item) => Err(*item),
                None => Ok(some.to_vec()),
            });
            assert_eq!(outcome, Err(first));
        }
    }

    #[test]
    fn each_part_is_done_once_and_what_is_dropped_ends() {
        for _ in 0..200 {
            let done = Arc::new(AtomicUsize::new(0));
            let counted = done.clone();
            let work = begin(20, move |number| {
                counted.fetch_add(1, Ordering::Relaxed);
                number
            });
            assert_eq!(work.finish(), (0..20).collect::<Vec<_>>());
            assert_eq!((done.load(Ordering::Relaxed), Arc::strong_count(&done)), (20, 1));
            let counted = done.clone();
            drop(begin(20, move |_| counted.fetch_add(1, Ordering::Relaxed)));
            assert_eq!(Arc::strong_count(&done), 1, "nobody works at it any more");
        }
    }

    #[test]
    fn a_part_that_fails_elsewhere_is_told() {
        if *super::PROCESSORS == 1 {
            return;
        }
        // Helpers that have enough to do, with the other tests' works, do not come: so again.
        let began = Instant::now();
        let told = || {
            let failing = Arc::new(AtomicBool::new(false));
            let work = begin(2, move |_| {
                if std::thread::current().name() == Some("help") {
                    failing.store(true, Ordering::Relaxed);
                    panic!("the helper's part fails");
                }
                let began = Instant::now();
                while !failing.load(Ordering::Relaxed) && began.elapsed() < Duration::from_millis(20) {
                    std::thread::yield_now();
                }
            });
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.finish())).is_err()
        };
        while !told() {
            assert!(began.elapsed() < Duration::from_mins(1), "no helper's part has failed, or none was told of");
        }
    }
}
