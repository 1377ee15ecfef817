//! Wiping the stack below a call, where primitives leave copies of their secrets.
//!
//! Secrets in boxes are wiped in place. A primitive's locals, spilled registers and moved arguments remain in
//! dead frames; the engine overwrites those before it returns.

use core::hint::black_box;

/// How deep a call of the engine reaches into the stack below its caller, in bytes, the provider's
/// operations included. After handling secrets, the engine overwrites this much with zeros before it
/// returns.
///
/// Each depth is rounded up to one that has code (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128 or 256 KiB);
/// more than 256 KiB are not wiped. A thread that drives connections needs that much free stack. A depth
/// larger than needed costs time; a smaller one leaves copies of secrets behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackDepth {
    /// For steps that only derive keys, seal and open.
    pub derivation: usize,
    /// For steps that also agree on keys or sign.
    pub agreement: usize,
}

impl StackDepth {
    /// Wipes nothing: for providers that protect nothing.
    pub const NOTHING_IS_WIPED: Self = Self { derivation: 0, agreement: 0 };
}

/// Overwrites `depth` bytes of the stack below the caller's frame with zeros, rounded up as
/// [`StackDepth`] describes.
///
/// Call it from the frame that called the code that handled secrets, so that both start at the same
/// place, up to the few words of its own call. The engine calls it itself; other callers handle secrets outside
/// the engine, such as stores of sessions. The code to wipe after must have its own frame: `#[inline(never)]`.
#[inline(always)]
pub fn wipe_stack_below(depth: usize) {
    match depth.div_ceil(KIB) {
        0 => (),
        1 => zero::<KIB>(),
        2 => zero::<{ 2 * KIB }>(),
        3..=4 => zero::<{ 4 * KIB }>(),
        5..=8 => zero::<{ 8 * KIB }>(),
        9..=12 => zero::<{ 12 * KIB }>(),
        13..=16 => zero::<{ 16 * KIB }>(),
        17..=24 => zero::<{ 24 * KIB }>(),
        25..=32 => zero::<{ 32 * KIB }>(),
        33..=48 => zero::<{ 48 * KIB }>(),
        49..=64 => zero::<{ 64 * KIB }>(),
        65..=128 => zero::<{ 128 * KIB }>(),
        _ => zero::<{ 256 * KIB }>(),
    }
}

const KIB: usize = 1024;

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
        for depth in [16 * KIB, 24 * KIB, 40 * KIB, 256 * KIB] {
            leave(depth / 2);
            assert!(marks_below(depth) > depth / 8, "what is looked for can be found");
            leave(depth / 2);
            wipe_stack_below(depth);
            assert_eq!(marks_below(depth), 0, "{depth}");
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
}
