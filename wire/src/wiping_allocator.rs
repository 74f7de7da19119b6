//! The program's allocator: jemalloc, which gets nothing back but zeroes.
//!
//! What held a row, a statement or a key in clear is overwritten when it is freed, so that nobody finds it later in the process's
//! memory, a swapped page or a crash's remains. It costs a write over what the processor's cache mostly still has.
//!
//! Only what Rust allocates goes through here. RocksDB's own memory is C++'s: it holds sealed rows and keyed hashes alone.

// The second place where unsafe code is allowed: an allocator is one. Every function keeps the contract that it is called under.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::hint::black_box;
use tikv_jemallocator::Jemalloc;

/// See the module.
pub(crate) struct WipingAllocator;

/// Overwrites bytes that nobody reads any more, so that the compiler does not leave that out.
///
/// # Safety
/// `start` begins `length` bytes that may be written.
#[inline]
unsafe fn wipe(start: *mut u8, length: usize) {
    unsafe {
        match length {
            // Most are so short that a call takes longer than the writing.
            0..8 => (0..length).for_each(|byte| start.add(byte).write(0)),
            8..16 => wipe_twice::<8>(start, length),
            16..32 => wipe_twice::<16>(start, length),
            32..64 => wipe_twice::<32>(start, length),
            64..=128 => wipe_twice::<64>(start, length),
            _ => start.write_bytes(0, length),
        }
    }
    black_box(start);
}

/// The first and the last of so many bytes, which meet or overlap: all of what is at most twice as long.
///
/// # Safety
/// `start` begins `length` bytes that may be written, at least `N` and at most twice as many.
#[inline]
unsafe fn wipe_twice<const N: usize>(start: *mut u8, length: usize) {
    unsafe {
        start.cast::<[u8; N]>().write([0; N]);
        start.add(length - N).cast::<[u8; N]>().write([0; N]);
    }
}

// SAFETY: memory comes from jemalloc and goes back to it, with the layouts that it was asked for with; what is written is memory
// that its owner has just given up.
unsafe impl GlobalAlloc for WipingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { Jemalloc.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { Jemalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        unsafe {
            wipe(start, layout.size());
            Jemalloc.dealloc(start, layout);
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        unsafe {
            if new_size < layout.size() {
                wipe(start.add(new_size), layout.size() - new_size);
            }
            if is_resized_in_place(start, layout, new_size) {
                return start;
            }
            // jemalloc would move it and leave the bytes where they were.
            let moved = Jemalloc.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !moved.is_null() {
                let kept = layout.size().min(new_size);
                moved.copy_from_nonoverlapping(start, kept);
                wipe(start, kept);
                Jemalloc.dealloc(start, layout);
            }
            moved
        }
    }
}

/// Whether an allocation is of the size class of `new_size` now, where it is.
///
/// # Safety
/// `start` is of jemalloc's, with that layout; `new_size` is not zero.
unsafe fn is_resized_in_place(start: *mut u8, layout: Layout, new_size: usize) -> bool {
    // The flags that it will be freed with, as jemalloc's own `GlobalAlloc` gives them.
    let flags = if layout.align() <= ALIGNED_BY_ITSELF && layout.align() <= new_size {
        0
    } else {
        tikv_jemalloc_sys::MALLOCX_ALIGN(layout.align())
    };
    unsafe {
        let wanted = tikv_jemalloc_sys::nallocx(new_size, flags);
        wanted == tikv_jemalloc_sys::sallocx(start.cast(), flags)
            || (new_size >= LARGE_BYTES && tikv_jemalloc_sys::xallocx(start.cast(), new_size, 0, flags) == wanted)
    }
}

/// The alignment that every allocation of that size has.
const ALIGNED_BY_ITSELF: usize = align_of::<u128>();
/// Below this, allocations are of classes side by side and cannot grow.
const LARGE_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).expect("a layout")
    }

    /// The program's tests run under this allocator, too: what is read here is its memory until somebody else is given it.
    #[test]
    fn what_is_freed_is_zero_and_what_is_moved_is_kept() {
        for align in [1, 8, 64] {
            for size in [1, 7, 8, 15, 16, 24, 31, 32, 63, 64, 100, 128, 129, 4_000, 16 << 10, 100_000, 3 << 20] {
                for new_size in [1, 8, 17, 25, 33, 65, 99, 127, 5_000, 20_000, 200_000, 5 << 20] {
                    // SAFETY: each is allocated and freed with its own layout, and written within its size.
                    unsafe {
                        let start = WipingAllocator.alloc(layout(size, align));
                        start.write_bytes(0xa5, size);
                        let moved = WipingAllocator.realloc(start, layout(size, align), new_size);
                        let kept = std::slice::from_raw_parts(moved, size.min(new_size));
                        assert!(kept.iter().all(|byte| *byte == 0xa5), "{size} → {new_size} by {align}");
                        assert_eq!(moved as usize % align, 0);
                        wipe(moved, new_size);
                        let wiped = std::slice::from_raw_parts(moved, new_size);
                        assert!(wiped.iter().all(|byte| *byte == 0));
                        WipingAllocator.dealloc(moved, layout(new_size, align));
                    }
                }
            }
        }
    }

    #[test]
    fn an_allocation_that_comes_back_holds_nothing_of_before() {
        let layout = layout(1_000, 8);
        let mut seen = 0;
        for _ in 0..1_000 {
            // SAFETY: as above. What jemalloc gives out it has been given before, and its bytes are read as they were left.
            unsafe {
                let start = WipingAllocator.alloc(layout);
                seen += (0..1_000).filter(|&byte| start.add(byte).read_volatile() == 0xa5).count();
                start.write_bytes(0xa5, 1_000);
                WipingAllocator.dealloc(start, layout);
            }
        }
        assert_eq!(seen, 0);
    }
}
