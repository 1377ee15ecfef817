//! The allocator of both ends in one guest: a heap for each, so that each is measured.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use linked_list_allocator::Heap;

/// How large each end's heap is, in bytes: more than any image needs. Servers of suites sign with expanded keys.
const LEN: usize = if cfg!(feature = "suites") { 1 << 20 } else { 128 * 1024 };

/// Which end allocates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// What a side's heap holds, in bytes.
pub struct Usage {
    pub used: usize,
    /// The most that it held.
    pub peak: usize,
    /// How often it was asked.
    pub allocations: u32,
}

struct SideHeap {
    heap: Heap,
    peak: usize,
    allocations: u32,
}

struct Heaps {
    sides: UnsafeCell<[SideHeap; 2]>,
    current: UnsafeCell<Side>,
}

/// SAFETY: there is one thread, and no interrupt is enabled.
unsafe impl Sync for Heaps {}

const EMPTY: SideHeap = SideHeap { heap: Heap::empty(), peak: 0, allocations: 0 };

static HEAPS: Heaps =
    Heaps { sides: UnsafeCell::new([EMPTY; 2]), current: UnsafeCell::new(Side::Client) };

static mut MEMORY: [[MaybeUninit<u8>; LEN]; 2] = [[MaybeUninit::uninit(); LEN]; 2];

/// Call it once, first.
pub fn start() {
    // SAFETY: one thread; the memory is used here alone.
    unsafe {
        let memory = &raw mut MEMORY;
        for (at, side) in (*HEAPS.sides.get()).iter_mut().enumerate() {
            side.heap.init((&raw mut (*memory)[at]).cast(), LEN);
        }
    }
}

/// Returns where the memory of both heaps begins and ends.
pub fn memory() -> (usize, usize) {
    let start = &raw const MEMORY as usize;
    (start, start + 2 * LEN)
}

/// What follows allocates in this side's heap.
pub fn switch_to(side: Side) {
    // SAFETY: one thread.
    unsafe { *HEAPS.current.get() = side };
}

/// Returns the end that runs.
pub fn current() -> Side {
    // SAFETY: one thread.
    unsafe { *HEAPS.current.get() }
}

pub fn usage(side: Side) -> Usage {
    // SAFETY: one thread.
    let side = unsafe { &(*HEAPS.sides.get())[side as usize] };
    Usage { used: side.heap.used(), peak: side.peak, allocations: side.allocations }
}

/// From now on `peak` is the most that a side holds after this call.
pub fn restart_peak(side: Side) {
    // SAFETY: one thread.
    let side = unsafe { &mut (*HEAPS.sides.get())[side as usize] };
    side.peak = side.heap.used();
}

/// Returns how long a side's largest free block is, in bytes: all that is free, if it is in one piece.
pub fn largest_free(side: Side) -> usize {
    // SAFETY: one thread.
    let heap = unsafe { &mut (*HEAPS.sides.get())[side as usize].heap };
    let mut len = heap.free();
    while len > 0 {
        let layout = Layout::from_size_align(len, 8).expect("less than the memory");
        if let Ok(block) = heap.allocate_first_fit(layout) {
            // SAFETY: it was just allocated with this layout.
            unsafe { heap.deallocate(block, layout) };
            return len;
        }
        len -= 8;
    }
    0
}

/// Allocates in the heap of the end that runs.
pub struct EachEnd;

/// SAFETY: each heap is one of linked_list_allocator's, and one thread uses them.
unsafe impl GlobalAlloc for EachEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: one thread.
        let side = unsafe { &mut (*HEAPS.sides.get())[*HEAPS.current.get() as usize] };
        let Ok(block) = side.heap.allocate_first_fit(layout) else { return core::ptr::null_mut() };
        side.peak = side.peak.max(side.heap.used());
        side.allocations += 1;
        block.as_ptr()
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: one thread; the block came from the heap in whose memory it is.
        unsafe {
            let [client, server] = &mut *HEAPS.sides.get();
            let side = if block < client.heap.top() && block >= client.heap.bottom() {
                client
            } else {
                server
            };
            side.heap.deallocate(NonNull::new_unchecked(block), layout);
        }
    }
}
