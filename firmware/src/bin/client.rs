//! A client alone, over the UART: the image whose size counts. It sends a line, and ends when
//! one comes back.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use tessera::{ClientConnection, Error, Output};
use tessera_firmware::connection::{Input, Progress, read};
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
    let mut output = Output::new();
    let config = ends::client().checked()?;
    let mut client = ClientConnection::start(config, ends::destination(), ends::NOW, &mut output)?;
    let mut input = Input::new();
    let mut progress = Progress::default();
    let mut has_written = false;
    while progress.data == 0 {
        if progress.is_complete && !has_written {
            client.write(b"from the device\n", &mut output)?;
            has_written = true;
        }
        board::send(output.as_slice());
        output.consume(output.as_slice().len());
        input.room()[0] = board::receive();
        input.received(1);
        let result = read(&mut client, &mut input, &mut output, &mut progress);
        if result.is_err() {
            board::send(output.as_slice());
        }
        result?;
    }
    client.close(&mut output);
    board::send(output.as_slice());
    Ok(())
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {
        exit(EXIT_FAILURE);
    }
}
