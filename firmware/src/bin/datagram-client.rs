//! A client alone over datagrams (DTLS 1.3), which the UART carries.
#![no_std]
#![no_main]

extern crate alloc;

use core::panic::PanicInfo;

use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use tessera::{ClientAssociation, Error};
use tessera_firmware::datagrams::{self, Clock};
use tessera_firmware::one_heap::OneHeap;
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

fn run() -> Result<(), Error> {
    let mut clock = Clock::start();
    let config = ends::client().checked()?;
    let association =
        ClientAssociation::start(config, ends::destination(), ends::datagrams(), clock.now())?;
    datagrams::run(association, Some(b"from the device\n"), &mut clock)
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {
        exit(EXIT_FAILURE);
    }
}
