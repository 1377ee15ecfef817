//! Peripherals of the mps2-an505, at their secure addresses (Arm AN505, table 4-1).

use core::ptr::{read_volatile, write_volatile};

/// A CMSDK timer of 20 MHz that counts down. Under `-icount shift=7` an instruction takes 128 ns: 2.56 ticks.
const TIMER: usize = 0x5000_0000;
const TIMER_CONTROL: *mut u32 = TIMER as *mut u32;
const TIMER_VALUE: *mut u32 = (TIMER + 4) as *mut u32;
const TIMER_RELOAD: *mut u32 = (TIMER + 8) as *mut u32;

/// In a second.
pub const TICKS: u32 = 20_000_000;

/// A CMSDK UART.
const UART: usize = 0x5020_0000;
const UART_DATA: *mut u32 = UART as *mut u32;
const UART_STATE: *mut u32 = (UART + 4) as *mut u32;
const UART_CONTROL: *mut u32 = (UART + 8) as *mut u32;
const UART_DIVISOR: *mut u32 = (UART + 16) as *mut u32;

pub fn start_timer() {
    // SAFETY: the board's registers.
    unsafe {
        write_volatile(TIMER_RELOAD, u32::MAX);
        write_volatile(TIMER_VALUE, u32::MAX);
        write_volatile(TIMER_CONTROL, 1);
    }
}

/// Returns how many instructions have passed between two values of [`ticks`], less than 1.6 billion apart.
pub fn instructions(from: u32, to: u32) -> u64 {
    u64::from(to.wrapping_sub(from)) * 100 / 256
}

/// Ticks so far; they wrap.
pub fn ticks() -> u32 {
    // SAFETY: the board's register.
    u32::MAX - unsafe { read_volatile(TIMER_VALUE) }
}

pub fn start_uart() {
    // SAFETY: the board's registers.
    unsafe {
        write_volatile(UART_DIVISOR, 16);
        write_volatile(UART_CONTROL, 0b11);
    }
}

pub fn send(bytes: &[u8]) {
    for byte in bytes {
        // SAFETY: the board's registers.
        unsafe {
            while read_volatile(UART_STATE) & 1 != 0 {}
            write_volatile(UART_DATA, u32::from(*byte));
        }
    }
}

/// Waits for a byte.
pub fn receive() -> u8 {
    loop {
        if let Some(byte) = try_receive() {
            return byte;
        }
    }
}

/// Returns a byte, if one has arrived.
pub fn try_receive() -> Option<u8> {
    // SAFETY: the board's registers.
    unsafe { (read_volatile(UART_STATE) & 2 != 0).then(|| read_volatile(UART_DATA) as u8) }
}
