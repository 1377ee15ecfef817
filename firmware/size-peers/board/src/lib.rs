//! What clients of other makers take from the images: board, UART, allocator, and bytes that are not random.
#![no_std]
#![allow(dead_code, reason = "the images use more of these modules")]

#[path = "../../../src/board.rs"]
pub mod board;
#[path = "../../../src/measure.rs"]
pub mod measure;
#[cfg(feature = "heap")]
#[path = "../../../src/one_heap.rs"]
mod one_heap;
#[path = "../../../src/uart.rs"]
pub mod uart;
#[path = "../../../src/xorshift.rs"]
mod xorshift;

use core::panic::PanicInfo;

use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};

pub use xorshift::fill;

pub const SERVER_NAME: &str = "server.example";

/// The time of every connection: in 2027.
pub const NOW: u64 = 1_800_000_000;

/// Room for one record of 2 KB with its header and what protection adds, as the images have.
pub const INPUT: usize = 2048 + 5 + 256;

/// What a client sends; the server returns it reversed.
pub const LINE: &[u8] = b"from the device\n";

#[cfg(feature = "heap")]
#[global_allocator]
static HEAP: one_heap::OneHeap = one_heap::OneHeap::new();

/// Call it once, first.
pub fn start() {
    #[cfg(feature = "heap")]
    HEAP.start();
    board::start_uart();
}

/// Ends the emulator.
pub fn finish(is_good: bool) -> ! {
    loop {
        exit(if is_good { EXIT_SUCCESS } else { EXIT_FAILURE });
    }
}

/// Waits for a record; returns its length, or `None` if it does not fit.
pub fn receive_record(buffer: &mut [u8]) -> Option<usize> {
    let (header, content) = buffer.split_first_chunk_mut::<5>()?;
    header.fill_with(board::receive);
    let len = usize::from(u16::from_be_bytes([header[3], header[4]]));
    content.get_mut(..len)?.fill_with(board::receive);
    Some(5 + len)
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    finish(false)
}
