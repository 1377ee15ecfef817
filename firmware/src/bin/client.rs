//! A client alone, over the UART: the image whose size counts. It sends a line, and ends when
//! one comes back.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::sync::Arc;
use core::convert::Infallible;
use core::panic::PanicInfo;

use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use embedded_io::{Read, Write};
use tessera_embedded::{Buffers, Connector, Error, input_len, output_len};
use tessera_firmware::one_heap::OneHeap;
use tessera_firmware::uart::Uart;
use tessera_firmware::{board, ends};

#[global_allocator]
static HEAP: OneHeap = OneHeap::new();

#[entry]
fn main() -> ! {
    HEAP.start();
    board::start_uart();
    loop {
        exit(if run().is_ok() { EXIT_SUCCESS } else { EXIT_FAILURE });
    }
}

fn run() -> Result<(), Error<Infallible>> {
    let mut input = [0; input_len(ends::RECORD)];
    let mut output = [0; output_len(ends::DATA)];
    let buffers = Buffers { input: &mut input, output: &mut output };
    // Not `connect_blocking`, which takes the stack of another stream.
    let mut stream = connector()?.start(ends::destination(), Uart, buffers)?;
    stream.handshake_blocking()?;
    stream.write(LINE)?;
    if stream.read(&mut [0; 64])? == 0 {
        // The server has closed without an answer.
        return Err(Error::Tls(tessera::Error::Truncated));
    }
    stream.close_blocking()
}

/// Not inlined: the stack that a configuration takes while it is built is free again for the handshake.
#[inline(never)]
fn connector() -> Result<Connector, Error<Infallible>> {
    let config = ends::client().checked().map_err(Error::Tls)?;
    Ok(Connector::new(config, Arc::new(ends::StoppedClock)))
}

const LINE: &[u8] = b"from the device\n";

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {
        exit(EXIT_FAILURE);
    }
}
