//! The allocator of a device with one end.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use linked_list_allocator::Heap;

/// In bytes: more than any image needs.
const LEN: usize = 64 * 1024;

pub struct OneHeap(UnsafeCell<Heap>);

/// SAFETY: there is one thread, and no interrupt is enabled.
unsafe impl Sync for OneHeap {}

/// The most that was in use, in bytes. `scripts/size-peers` finds it by its name.
#[unsafe(no_mangle)]
static HEAP_PEAK: AtomicUsize = AtomicUsize::new(0);

static mut MEMORY: [MaybeUninit<u8>; LEN] = [MaybeUninit::uninit(); LEN];

impl OneHeap {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(Heap::empty()))
    }

    /// Call it once, first.
    pub fn start(&self) {
        // SAFETY: one thread; the memory is used here alone.
        unsafe { (*self.0.get()).init((&raw mut MEMORY).cast(), LEN) }
    }
}

/// SAFETY: the heap is linked_list_allocator's, and one thread uses it.
unsafe impl GlobalAlloc for OneHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: one thread.
        let heap = unsafe { &mut *self.0.get() };
        let block = heap.allocate_first_fit(layout);
        let peak = HEAP_PEAK.load(Ordering::Relaxed).max(heap.used());
        HEAP_PEAK.store(peak, Ordering::Relaxed);
        block.map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: one thread; the block came from this heap.
        unsafe { (*self.0.get()).deallocate(NonNull::new_unchecked(block), layout) }
    }
}
