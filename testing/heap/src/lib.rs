//! A heap that counts and refuses, for one end of a connection.
//!
//! What one thread allocates in [`on_heap`], but not in an [`off_heap`] there, counts, and is refused beyond the
//! [`limit`](Heap::limit). All else allocates as usual.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What the thread's heap holds, in bytes as they were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heap {
    /// Now. Negative once it holds less than at the beginning.
    pub held: isize,
    /// The most so far.
    pub peak: isize,
    /// What it may hold.
    pub limit: isize,
    /// How often it refused.
    pub refused: usize,
}

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static HEAP: Cell<Heap> = const { Cell::new(Heap::with_limit(isize::MAX)) };
}

impl Heap {
    /// An empty one.
    pub const fn with_limit(limit: isize) -> Self {
        Self { held: 0, peak: 0, limit, refused: 0 }
    }
}

/// Sets the thread's heap.
pub fn set_heap(heap: Heap) {
    HEAP.set(heap);
}

/// Returns the thread's heap.
pub fn heap() -> Heap {
    HEAP.get()
}

/// Counts what `step` allocates and frees.
pub fn on_heap<R>(step: impl FnOnce() -> R) -> R {
    with(true, step)
}

/// Counts nothing of what `step` does: another end, in a call of the one that counts.
pub fn off_heap<R>(step: impl FnOnce() -> R) -> R {
    with(false, step)
}

fn with<R>(is_on: bool, step: impl FnOnce() -> R) -> R {
    let before = IS_ON.replace(is_on);
    let result = step();
    IS_ON.set(before);
    result
}

/// The system's allocator, which counts.
pub struct CountingAllocator;

// A block that grows moves: `realloc` is the default one, as with the simplest allocators.
// SAFETY: all blocks are the system's.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_ON.get() {
            let mut heap = HEAP.get();
            let held = heap.held + layout.size() as isize;
            if held > heap.limit {
                heap.refused += 1;
                HEAP.set(heap);
                return std::ptr::null_mut();
            }
            (heap.held, heap.peak) = (held, heap.peak.max(held));
            HEAP.set(heap);
        }
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if IS_ON.get() {
            let mut heap = HEAP.get();
            heap.held -= layout.size() as isize;
            HEAP.set(heap);
        }
        // SAFETY: the caller's.
        unsafe { System.dealloc(block, layout) }
    }
}
