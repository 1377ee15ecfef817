//! A heap that counts and refuses, for one end of a connection.
//!
//! What one thread allocates in [`on_heap`], but not in an [`off_heap`] there, counts, and is refused beyond the
//! [`limit`](Heap::limit), or [by its number](refuse_each). All else allocates as usual.

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
    /// Blocks from this size on, in bytes, are numbered.
    pub smallest: usize,
    /// How many such blocks were asked for.
    pub asked: usize,
    /// The number of the first one that is refused, and that of the first one after it that isn't.
    pub refuses: (usize, usize),
}

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static HEAP: Cell<Heap> = const { Cell::new(Heap::with_limit(isize::MAX)) };
}

impl Heap {
    /// An empty one.
    pub const fn with_limit(limit: isize) -> Self {
        let (smallest, asked, refuses) = (0, 0, (0, 0));
        Self { held: 0, peak: 0, limit, refused: 0, smallest, asked, refuses }
    }

    /// Counts a block of this size; returns whether it is granted.
    fn grants(&mut self, size: usize) -> bool {
        let held = self.held + size as isize;
        let is_numbered = size >= self.smallest;
        let (first, end) = self.refuses;
        let is_refused = is_numbered && (first..end).contains(&self.asked);
        self.asked += usize::from(is_numbered);
        if held > self.limit || is_refused {
            self.refused += 1;
            return false;
        }
        (self.held, self.peak) = (held, self.peak.max(held));
        true
    }
}

/// Repeats `step` with each block from `smallest` bytes on refused that it asks for: first it alone, then it and all after
/// it. Before a step the heap is empty and has no limit; the last steps are those in which nothing is refused. Returns how
/// many blocks a step asks for. What is smaller may be of fixed size, as a `Box` and an `Arc` are, which abort.
pub fn refuse_each(smallest: usize, mut step: impl FnMut()) -> usize {
    let mut asked = 0;
    for is_alone in [true, false] {
        for first in 0.. {
            let end = if is_alone { first + 1 } else { usize::MAX };
            set_heap(Heap { smallest, refuses: (first, end), ..Heap::with_limit(isize::MAX) });
            step();
            asked = asked.max(first);
            if heap().refused == 0 {
                break;
            }
        }
    }
    asked
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
            let is_granted = heap.grants(layout.size());
            HEAP.set(heap);
            if !is_granted {
                return std::ptr::null_mut();
            }
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
