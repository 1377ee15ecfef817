//! Instructions and stack of a step.

use core::arch::asm;
use core::ptr::{read_volatile, write_volatile};

use crate::board::{instructions, ticks};

/// How much of the stack is painted, in bytes.
pub const PAINTED: usize = 640 * 1024;

const PAINT: u32 = 0xa7a7_a7a7;

/// What steps took.
#[derive(Default)]
pub struct Cost {
    /// Whether steps are measured: to paint takes as long as half a handshake.
    pub is_measured: bool,
    pub instructions: u64,
    /// The deepest stack, in bytes.
    pub stack: usize,
}

impl Cost {
    /// Runs a step and adds what it takes.
    pub fn add<R>(&mut self, step: impl FnOnce() -> R) -> R {
        if !self.is_measured {
            return call(step);
        }
        let mut meter = Meter::start();
        let result = call(step);
        let (instructions, stack) = meter.lap();
        self.instructions += instructions;
        self.stack = self.stack.max(stack);
        result
    }
}

/// Measures parts of a step.
#[derive(Default)]
pub struct Meter {
    /// Where the stack was at the start.
    top: usize,
    /// Ticks at the start of the part.
    from: u32,
}

impl Meter {
    /// Starts; the caller's frame is not counted.
    #[inline(always)]
    pub fn start() -> Self {
        let top = stack_pointer();
        // Below the frames of the calls that paint and scan.
        paint(top - PAINTED, top - 64);
        Self { top, from: ticks() }
    }

    /// Ends a part: returns its instructions, and the deepest stack below the start, in bytes. Paints what lies below the
    /// caller, and starts the next part.
    #[inline(always)]
    pub fn lap(&mut self) -> (u64, usize) {
        let instructions = instructions(self.from, ticks());
        let (low, high) = (self.top - PAINTED, stack_pointer() - 64);
        let stack = self.top - first_changed(low, high);
        paint(low, high);
        self.from = ticks();
        (instructions, stack)
    }

    /// Leaves out what was done since the last part.
    pub fn go_on(&mut self) {
        self.from = ticks();
    }
}

/// Inlined, its frame would be part of the caller's.
#[inline(never)]
pub fn call<R>(step: impl FnOnce() -> R) -> R {
    step()
}

#[inline(always)]
pub fn stack_pointer() -> usize {
    let top: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, sp", out(reg) top, options(nomem, nostack, preserves_flags)) };
    top
}

#[inline(always)]
fn paint(low: usize, high: usize) {
    for at in (low..high).step_by(4) {
        // SAFETY: unused stack, far above what lies in memory below it.
        unsafe { write_volatile(at as *mut u32, PAINT) };
    }
}

#[inline(always)]
fn first_changed(low: usize, high: usize) -> usize {
    // SAFETY: as above.
    (low..high)
        .step_by(4)
        .find(|at| unsafe { read_volatile(*at as *const u32) } != PAINT)
        .unwrap_or(high)
}
