//! Wiping the stack below a call, where primitives leave copies of their secrets.
//!
//! Secrets in boxes are wiped in place. A primitive's locals, spilled registers and moved arguments remain in
//! dead frames; the engine overwrites those before it returns.

use core::fmt;
use core::hint::black_box;

/// How deep a call of the engine reaches into the stack below its caller, the provider's operations included. After
/// handling secrets, the engine overwrites this much with zeros before it returns.
///
/// A thread that drives connections needs that much free stack. A depth larger than needed costs time, and on a device
/// overwrites what lies below the stack; a smaller one leaves copies of secrets behind.
#[derive(Debug, Clone, Copy)]
pub struct StackDepth {
    /// For steps that only derive keys, seal and open.
    pub derivation: Depth,
    /// For steps that also agree on keys or sign.
    pub agreement: Depth,
}

impl StackDepth {
    /// Wipes nothing: for providers that protect nothing.
    pub const NOTHING_IS_WIPED: Self =
        Self { derivation: Depth::of::<0>(), agreement: Depth::of::<0>() };
}

/// A length of stack, with the code that overwrites just this length.
// A reference: each connection has two depths, asleep too.
#[derive(Clone, Copy)]
pub struct Depth(&'static Frame);

struct Frame {
    bytes: usize,
    zero: fn(),
}

impl Depth {
    /// Returns the depth of this many bytes.
    pub const fn of<const BYTES: usize>() -> Self {
        Self(
            const { &Frame { bytes: BYTES, zero: if BYTES == 0 { nothing } else { zero::<BYTES> } } },
        )
    }

    /// Returns the deeper one.
    pub const fn max(self, other: Self) -> Self {
        if self.0.bytes < other.0.bytes { other } else { self }
    }
}

impl fmt::Debug for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.bytes)
    }
}

/// Overwrites as much of the stack below the caller's frame with zeros.
///
/// Call it from the frame that called the code that handled secrets, so that both start at the same
/// place, up to the few words of its own call. The engine calls it itself; other callers handle secrets outside
/// the engine, such as stores of sessions. The code to wipe after must have its own frame: `#[inline(never)]`.
#[inline(always)]
pub fn wipe_stack_below(depth: Depth) {
    (depth.0.zero)();
}

fn nothing() {}

/// Zeroes one frame: several frames would leave gaps between them.
#[inline(never)]
fn zero<const LEN: usize>() {
    black_box(&mut [0_u8; LEN]);
}

/// Linux exposes a process's own memory as a file.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    extern crate std;

    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::vec;

    use super::*;

    #[test]
    fn a_wiped_stack_shows_nothing_of_what_a_call_left_there() {
        let depths = [
            Depth::of::<{ 13 * KIB }>(),
            Depth::of::<{ 16 * KIB + 8 }>(),
            Depth::of::<{ 40 * KIB }>(),
            Depth::of::<{ 256 * KIB }>(),
        ];
        for depth in depths {
            leave(depth.0.bytes / 2);
            assert!(
                marks_below(depth.0.bytes) > depth.0.bytes / 8,
                "what is looked for can be found"
            );
            leave(depth.0.bytes / 2);
            wipe_stack_below(depth);
            assert_eq!(marks_below(depth.0.bytes), 0, "{depth:?}");
        }
    }

    /// Leaves marks in frames that are dead when it returns.
    #[inline(never)]
    fn leave(depth: usize) {
        let mut frame = [MARK; KIB / 2];
        black_box(&mut frame);
        if depth > KIB {
            leave(depth - KIB / 2);
        }
        black_box(&mut frame);
    }

    /// Counts the marks in `depth` bytes of the stack below the caller, except for the first words.
    #[inline(never)]
    fn marks_below(depth: usize) -> usize {
        let here = 0_u8;
        let here = black_box(&raw const here as usize);
        let mut stack = vec![0; depth];
        let memory = File::open("/proc/self/mem").expect("a process may read its own memory");
        memory.read_exact_at(&mut stack, (here - depth - 256) as u64).expect("the stack is there");
        stack.windows(8).filter(|window| window.iter().all(|byte| *byte == MARK)).count()
    }

    const MARK: u8 = 0xa7;
    const KIB: usize = 1024;
}
