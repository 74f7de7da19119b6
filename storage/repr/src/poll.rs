//! The poll: work over data asks here whether it may go on, and whether there is room for what it is about to make.
//!
//! Whoever runs a statement installs an overseer on its thread, and on each that helps; everything below asks through this
//! module and knows neither clocks nor threads. Without an overseer everything may go on. What an overseer has refused
//! once it refuses until the statement ends, so that a refusal which is taken for a row's own error is heard of again.

use crate::ValueError;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Decides whether a statement goes on.
pub trait Overseer: Send + Sync {
    /// From here on this thread works for the statement.
    fn joined(&self);
    /// And from here on no longer.
    fn left(&self);
    /// Whether it may go on, and make a value of so many bytes: 57014, 53200 or whatever else ends it.
    ///
    /// # Errors
    /// Why not.
    fn look(&self, wanted_bytes: usize) -> Result<(), ValueError>;
}

/// Steps between two looks: a step is a row, an element, some hundred bytes.
const STEPS: u32 = 256;
/// Bytes that make a step where bytes are what there is most of.
const STEP_BYTES: usize = 256;
/// Values below this are made without asking.
const SMALL_BYTES: usize = 64 << 10;
/// No value may be larger: PostgreSQL's bound.
pub const VALUE_BYTES_MAX: usize = 0x3fff_ffff;

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(STEPS) };
    static OVERSEER: RefCell<Option<Arc<dyn Overseer>>> = const { RefCell::new(None) };
    /// The address of what is in it, which is asked more often.
    static HERE: Cell<usize> = const { Cell::new(0) };
    /// False while the overseer only waits here to be resumed.
    static OVERSEES: Cell<bool> = const { Cell::new(false) };
}

/// One more step.
///
/// # Errors
/// Why the statement ends.
#[inline]
pub fn step() -> Result<(), ValueError> {
    steps(1)
}

/// So many more steps.
///
/// # Errors
/// Why the statement ends.
#[inline]
pub fn steps(count: usize) -> Result<(), ValueError> {
    if passes(count) { Ok(()) } else { look(0) }
}

/// So many bytes more, that were read, written or copied.
///
/// # Errors
/// Why the statement ends.
#[inline]
pub fn bytes(count: usize) -> Result<(), ValueError> {
    steps(1 + count / STEP_BYTES)
}

/// Asks before a value is made: of so many bytes, none too many.
///
/// # Errors
/// 54000 for a value that nobody may make, 53200 for one that the statement has no memory for, or why it ends.
#[inline]
pub fn room(bytes: usize) -> Result<(), ValueError> {
    if bytes < SMALL_BYTES { steps(1 + bytes / STEP_BYTES) } else { room_for_large(bytes) }
}

/// The same for so many items of a size.
///
/// # Errors
/// As for `room`.
#[inline]
pub fn room_for<T>(items: usize) -> Result<(), ValueError> {
    room(items.saturating_mul(size_of::<T>()))
}

/// One more step, where no error can be given: it unwinds to `unwinds_to`, as if it were one.
#[inline]
pub fn step_or_unwind() {
    if !passes(1) {
        unwind();
    }
}

/// Runs what may call `step_or_unwind`. Nothing that it works on may be used after an error.
///
/// # Errors
/// Why the statement ends, wherever that was found, and the work's own.
pub fn unwinds_to<R, E: From<ValueError>>(work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| match payload.downcast::<Refused>() {
        Ok(refused) => Err(E::from(refused.0)),
        Err(other) => resume_unwind(other),
    })
}

/// Sorts, and ends early if the statement ends.
///
/// # Errors
/// Why the statement ends; the items are then in no order.
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> std::cmp::Ordering) -> Result<(), ValueError> {
    unwinds_to(|| {
        items.sort_by(|a, b| {
            step_or_unwind();
            compare(a, b)
        });
        Ok(())
    })
}

/// Who oversees this thread.
pub fn overseer() -> Option<Arc<dyn Overseer>> {
    if OVERSEES.get() { OVERSEER.with_borrow(Clone::clone) } else { None }
}

/// As long as it lives this thread works under an overseer; then under the one before.
#[must_use]
pub struct Overseen {
    before: Before,
    /// It stays on its thread.
    _here: PhantomData<*const ()>,
}

enum Before {
    Same,
    /// Nobody; the overseer stays here until it is resumed or another comes.
    Waiting,
    Other(Option<Arc<dyn Overseer>>),
}

/// Puts this thread under an overseer.
pub fn under(overseer: &Arc<dyn Overseer>) -> Overseen {
    let same = OVERSEES.get() && is_here(overseer);
    let before = if same { Before::Same } else { Before::Other(replace(Some(overseer.clone()))) };
    Overseen { before, _here: PhantomData }
}

/// The same for who comes again and again to one thread: what it does there between two times is counted as its work, too.
pub fn resume(overseer: &Arc<dyn Overseer>) -> Overseen {
    let before = match (OVERSEES.get(), is_here(overseer)) {
        (true, true) => Before::Same,
        (true, false) => Before::Other(replace(Some(overseer.clone()))),
        (false, here) => {
            if here {
                OVERSEES.set(true);
            } else {
                replace(Some(overseer.clone()));
            }
            Before::Waiting
        }
    };
    Overseen { before, _here: PhantomData }
}

fn is_here(overseer: &Arc<dyn Overseer>) -> bool {
    HERE.get() == address(overseer)
}

fn address(overseer: &Arc<dyn Overseer>) -> usize {
    Arc::as_ptr(overseer).addr()
}

/// Puts this thread under none: what takes back or tidies up after a refusal must not be refused.
pub fn alone() -> Overseen {
    Overseen { before: Before::Other(replace(None)), _here: PhantomData }
}

/// Gives who has overseen this thread until now.
fn replace(overseer: Option<Arc<dyn Overseer>>) -> Option<Arc<dyn Overseer>> {
    OVERSEER.with_borrow_mut(|now| {
        let oversaw = OVERSEES.replace(overseer.is_some());
        HERE.set(overseer.as_ref().map_or(0, address));
        let before = std::mem::replace(now, overseer);
        let before = before.filter(|_| oversaw);
        before.iter().for_each(|before| before.left());
        now.iter().for_each(|overseer| overseer.joined());
        before
    })
}

impl Drop for Overseen {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.before, Before::Same) {
            Before::Same => {}
            Before::Waiting => OVERSEES.set(false),
            Before::Other(before) => drop(replace(before)),
        }
    }
}

/// What `step_or_unwind` throws.
struct Refused(ValueError);

#[inline]
fn passes(count: usize) -> bool {
    let left = LEFT.get();
    let taken = u32::try_from(count).unwrap_or(u32::MAX);
    if taken < left {
        LEFT.set(left - taken);
        return true;
    }
    false
}

#[cold]
fn look(wanted_bytes: usize) -> Result<(), ValueError> {
    LEFT.set(STEPS);
    if !OVERSEES.get() {
        return Ok(());
    }
    OVERSEER.with_borrow(|overseer| overseer.as_ref().map_or(Ok(()), |overseer| overseer.look(wanted_bytes)))
}

#[cold]
fn room_for_large(bytes: usize) -> Result<(), ValueError> {
    if bytes > VALUE_BYTES_MAX {
        return Err(ValueError::new("54000", format!("invalid memory alloc request size {bytes}")));
    }
    look(bytes)
}

#[cold]
fn unwind() {
    if let Err(error) = look(0) {
        resume_unwind(Box::new(Refused(error)));
    }
}

#[cfg(test)]
mod tests {
    use super::{Overseer, STEPS, overseer, room, sort_by, step, step_or_unwind, under, unwinds_to};
    use crate::ValueError;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Lets so many looks pass, and values of so many bytes.
    struct Strict(AtomicUsize, usize);

    impl Overseer for Strict {
        fn joined(&self) {}
        fn left(&self) {}
        fn look(&self, wanted_bytes: usize) -> Result<(), ValueError> {
            let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            match left {
                Ok(_) if wanted_bytes <= self.1 => Ok(()),
                Ok(_) => Err(ValueError::new("53200", "out of memory")),
                Err(_) => Err(ValueError::new("57014", "no more")),
            }
        }
    }

    fn strictly<R>(looks: usize, bytes: usize, work: impl FnOnce() -> R) -> R {
        let strict: Arc<dyn Overseer> = Arc::new(Strict(AtomicUsize::new(looks), bytes));
        let _overseen = under(&strict);
        work()
    }

    #[test]
    fn steps_are_looked_at_now_and_then() {
        assert!((0..100 * STEPS).all(|_| step().is_ok()), "nobody looks");
        let passed = strictly(3, 0, || (0..100 * STEPS).take_while(|_| step().is_ok()).count());
        assert!((3 * STEPS as usize..=4 * STEPS as usize).contains(&passed), "{passed}");
        assert!(overseer().is_none(), "nobody any more");
    }

    #[test]
    fn who_is_resumed_was_only_away() {
        let strict: Arc<dyn Overseer> = Arc::new(Strict(AtomicUsize::new(1), 0));
        let other: Arc<dyn Overseer> = Arc::new(Strict(AtomicUsize::new(usize::MAX), 0));
        let ends = || (0..2 * STEPS).any(|_| step().is_err());
        for _ in 0..2 {
            let overseen = super::resume(&strict);
            assert!(Arc::ptr_eq(&overseer().expect("resumed"), &strict));
            {
                let _nested = super::resume(&strict);
                let _another = under(&other);
                assert!(!ends(), "under another");
                let _alone = super::alone();
                assert!(overseer().is_none(), "alone");
            }
            assert!(Arc::ptr_eq(&overseer().expect("still"), &strict));
            drop(overseen);
            assert!(overseer().is_none() && !ends(), "away");
        }
        let _overseen = super::resume(&strict);
        assert!(ends() || ends(), "refuses again");
    }

    #[test]
    fn what_cannot_give_an_error_unwinds() {
        let ended = || {
            unwinds_to(|| -> Result<(), ValueError> {
                loop {
                    step_or_unwind();
                }
            })
        };
        assert_eq!(strictly(3, 0, ended).unwrap_err().code, "57014");
        let mut items: Vec<u64> = (0..100_000u64).map(|item| item.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        assert_eq!(strictly(3, 0, || sort_by(&mut items, u64::cmp)).unwrap_err().code, "57014");
        sort_by(&mut items, u64::cmp).unwrap();
        assert!(items.is_sorted());
        let other = std::panic::catch_unwind(|| unwinds_to(|| -> Result<(), ValueError> { panic!("another") }));
        assert!(other.is_err(), "a panic stays one");
    }

    #[test]
    fn large_values_are_asked_for() {
        strictly(9, 1 << 20, || {
            assert_eq!(room(1 << 20), Ok(()));
            assert_eq!(room(2 << 20).unwrap_err().code, "53200");
            assert_eq!(room(2 << 30).unwrap_err().code, "54000");
        });
    }
}
