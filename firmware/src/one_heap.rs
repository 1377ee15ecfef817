//! The allocator of a device with one end.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use linked_list_allocator::Heap;

/// In bytes: more than any image needs.
const LEN: usize = 64 * 1024;

pub struct OneHeap(UnsafeCell<Heap>);

/// SAFETY: there is one thread, and no interrupt is enabled.
unsafe impl Sync for OneHeap {}

/// The most that was in use, in bytes, but for a block that is freed before anything else happens: the one that `check_heap`
/// tries. `scripts/size-peers` finds both by their names.
#[unsafe(no_mangle)]
static HEAP_PEAK: AtomicUsize = AtomicUsize::new(0);

/// The same with that block: what must be free for a connection to start.
#[unsafe(no_mangle)]
static HEAP_NEEDED: AtomicUsize = AtomicUsize::new(0);

/// The newest block.
static NEWEST: AtomicPtr<u8> = AtomicPtr::new(null_mut());

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
        raise(&HEAP_PEAK, heap.used());
        let block = heap.allocate_first_fit(layout).map_or(null_mut(), NonNull::as_ptr);
        raise(&HEAP_NEEDED, heap.used());
        NEWEST.store(block, Ordering::Relaxed);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: one thread; the block came from this heap.
        let heap = unsafe { &mut *self.0.get() };
        if block != NEWEST.load(Ordering::Relaxed) {
            raise(&HEAP_PEAK, heap.used());
        }
        // SAFETY: as above.
        unsafe { heap.deallocate(NonNull::new_unchecked(block), layout) }
    }
}

fn raise(most: &AtomicUsize, used: usize) {
    most.store(most.load(Ordering::Relaxed).max(used), Ordering::Relaxed);
}
