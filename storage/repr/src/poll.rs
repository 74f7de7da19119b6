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
    OVERSEER.with_borrow(Clone::clone)
}

/// As long as it lives this thread works under an overseer; then under the one before.
#[must_use]
pub struct Overseen {
    /// None if it was the same.
    before: Option<Option<Arc<dyn Overseer>>>,
    /// It stays on its thread.
    _here: PhantomData<*const ()>,
}

/// Puts this thread under an overseer.
pub fn under(overseer: &Arc<dyn Overseer>) -> Overseen {
    let same = OVERSEER.with_borrow(|now| now.as_ref().is_some_and(|now| Arc::ptr_eq(now, overseer)));
    let before = (!same).then(|| replace(Some(overseer.clone())));
    Overseen { before, _here: PhantomData }
}

/// Puts this thread under none: what takes back or tidies up after a refusal must not be refused.
pub fn alone() -> Overseen {
    Overseen { before: Some(replace(None)), _here: PhantomData }
}

fn replace(overseer: Option<Arc<dyn Overseer>>) -> Option<Arc<dyn Overseer>> {
    OVERSEER.with_borrow_mut(|now| {
        now.iter().for_each(|before| before.left());
        overseer.iter().for_each(|overseer| overseer.joined());
        std::mem::replace(now, overseer)
    })
}

impl Drop for Overseen {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            drop(replace(before));
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
