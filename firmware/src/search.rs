//! Searches the board's memory for secrets of connections that have ended.

use core::cell::UnsafeCell;
use core::hint::black_box;
use core::ptr::read_volatile;

use tessera::KeyLog;

/// Secrets as the key log gets them, each byte inverted: the search must not find them here.
pub struct Secrets(UnsafeCell<Recorded>);

struct Recorded {
    halves: [[u8; HALF]; MOST],
    count: usize,
}

/// What is searched for: half of a secret.
const HALF: usize = 16;

/// More halves than the secrets of two ends have.
const MOST: usize = 48;

/// SAFETY: there is one thread, and no interrupt is enabled.
unsafe impl Sync for Secrets {}

pub static SECRETS: Secrets =
    Secrets(UnsafeCell::new(Recorded { halves: [[0; HALF]; MOST], count: 0 }));

/// Records in [`SECRETS`], and leaves copies on the stack, as primitives do.
pub struct Recorder;

impl KeyLog for Recorder {
    fn log(&self, _: &str, _: &[u8; 32], secret: &[u8]) {
        // SAFETY: one thread; this reference is the only one.
        let recorded = unsafe { &mut *SECRETS.0.get() };
        for half in secret.chunks_exact(HALF) {
            let place = recorded.halves.get_mut(recorded.count).expect("few secrets");
            place.iter_mut().zip(half).for_each(|(place, byte)| *place = !byte);
            recorded.count += 1;
        }
        leave(secret);
    }
}

#[inline(never)]
fn leave(secret: &[u8]) {
    let mut frame = [0; 2048];
    frame.chunks_exact_mut(secret.len()).for_each(|copy| copy.copy_from_slice(secret));
    black_box(&mut frame);
}

/// Returns how many halves were recorded.
pub fn recorded() -> usize {
    // SAFETY: one thread.
    unsafe { (*SECRETS.0.get()).count }
}

/// Returns how often a recorded half lies between two addresses.
///
/// # Safety
/// All between them is memory.
pub unsafe fn found(low: usize, high: usize) -> usize {
    // SAFETY: one thread.
    let recorded = unsafe { &*SECRETS.0.get() };
    // SAFETY: the caller's addresses are memory.
    let byte = |at: usize| unsafe { read_volatile(at as *const u8) };
    let is_here = |at: usize, half: &[u8; HALF]| (0..HALF).all(|i| byte(at + i) == !half[i]);
    let halves = &recorded.halves[..recorded.count];
    (low..high - HALF).map(|at| halves.iter().filter(|half| is_here(at, half)).count()).sum()
}
