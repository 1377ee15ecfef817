//! Both ends in one guest, over memory: connects again and again, and prints what each end took.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::sync::Arc;
use core::panic::PanicInfo;

use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use cortex_m_semihosting::hprintln;
use tessera::handshake::{Checked, ClientHandshake, Handshake};
use tessera::{
    ClientConfig, ClientConnection, Connection, Error, Output, ServerConfig, ServerConnection,
};
use tessera_firmware::connection::{Input, Progress, read};
use tessera_firmware::heap::{self, EachEnd, Side};
use tessera_firmware::measure::{Cost, PAINTED, stack_pointer};
use tessera_firmware::search::{self, Recorder};
use tessera_firmware::{board, ends};

/// How often the ends connect: set by `scripts/firmware`.
const CONNECTIONS: Option<&str> = option_env!("FIRMWARE_CONNECTIONS");

#[global_allocator]
static HEAP: EachEnd = EachEnd;

#[entry]
fn main() -> ! {
    heap::start();
    board::start_timer();
    let result = run();
    if let Err(error) = &result {
        hprintln!("{:?}", error);
    }
    loop {
        exit(if result.is_ok() { EXIT_SUCCESS } else { EXIT_FAILURE });
    }
}

fn run() -> Result<(), Error> {
    heap::switch_to(Side::Server);
    let server = ends::server()?.checked()?;
    heap::switch_to(Side::Client);
    let client = ends::client().checked()?;
    let before = [Side::Client, Side::Server].map(heap::usage);
    let free = [Side::Client, Side::Server].map(heap::largest_free);

    let first = connect(&client, &server, true, || ())?;
    let peaks = [Side::Client, Side::Server].map(|side| heap::usage(side).peak);
    for (at, name) in ["client", "server"].into_iter().enumerate() {
        let usage = heap::usage([Side::Client, Side::Server][at]);
        hprintln!(
            "{} instructions {} stack {} heap {} kept {} allocations {} sent {}",
            name,
            first[at].cost.instructions,
            first[at].cost.stack,
            usage.peak,
            before[at].used,
            usage.allocations - before[at].allocations,
            first[at].sent
        );
    }

    let connections = CONNECTIONS.and_then(|count| count.parse().ok()).unwrap_or(20);
    for _ in 1..connections {
        connect(&client, &server, false, || ())?;
    }
    for (at, side) in [Side::Client, Side::Server].into_iter().enumerate() {
        let usage = heap::usage(side);
        let is_as_before = usage.used == before[at].used
            && heap::largest_free(side) == free[at]
            && usage.peak == peaks[at];
        if !is_as_before {
            hprintln!("heap: {} used, at most {}, then {}", usage.used, peaks[at], usage.peak);
            return Err(Error::Configuration("the heap is not as at the start"));
        }
    }
    hprintln!("connections {}", connections);
    search()
}

/// Connects once more, with key logs, and searches for the secrets: while the connection lasts they are in the heaps and
/// not on the stack, and after it nowhere.
#[inline(never)]
fn search() -> Result<(), Error> {
    heap::switch_to(Side::Client);
    let mut client = ends::client();
    client.key_log = Some(Arc::new(Recorder));
    let client = client.checked()?;
    heap::switch_to(Side::Server);
    let mut server = ends::server()?;
    server.key_log = Some(Arc::new(Recorder));
    let server = server.checked()?;
    let found = || {
        let (low, high) = heap::memory();
        let top = stack_pointer();
        [search::found(low, high), search::found(top - PAINTED, top)]
    };
    let mut during = [0; 2];
    connect(&client, &server, false, || {
        let [heap, stack] = found();
        during = [heap, during[1] + stack];
    })?;
    let after = found();
    let ([heap, stack], [heap_after, stack_after]) = (during, after);
    hprintln!("halves of secrets {}", search::recorded());
    hprintln!("in heaps {} on the stack {}", heap, stack);
    hprintln!("after the end {} and {}", heap_after, stack_after);
    match (during, after) {
        ([live, 0], [0, 0]) if live > 0 => Ok(()),
        _ => Err(Error::Configuration("secrets remain, or can't be found")),
    }
}

/// One end, and what it took.
struct End<H: Handshake> {
    side: Side,
    connection: Connection<H>,
    input: Input,
    output: Output,
    progress: Progress,
    taken: Taken,
}

#[derive(Default)]
struct Taken {
    cost: Cost,
    /// Bytes sent until the handshake was complete.
    sent: usize,
}

impl<H: Handshake> End<H> {
    /// Moves what the other end sends here; reads it. Returns whether there was anything.
    fn take_from<O: Handshake>(&mut self, other: &mut End<O>) -> Result<bool, Error> {
        let had_any = !other.output.is_empty();
        while !other.output.is_empty() {
            let bytes = other.output.as_slice();
            let room = self.input.room();
            let count = bytes.len().min(room.len());
            room[..count].copy_from_slice(&bytes[..count]);
            self.input.received(count);
            if !other.progress.is_complete || !self.progress.is_complete {
                other.taken.sent += count;
            }
            heap::switch_to(other.side);
            other.output.consume(count);
            heap::switch_to(self.side);
            let (connection, input, output, progress) =
                (&mut self.connection, &mut self.input, &mut self.output, &mut self.progress);
            self.taken.cost.add(|| read(connection, input, output, progress))?;
        }
        Ok(had_any)
    }

    fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        heap::switch_to(self.side);
        self.connection.write(data, &mut self.output)?;
        Ok(())
    }

    fn close(&mut self) {
        heap::switch_to(self.side);
        self.connection.close(&mut self.output);
    }
}

fn start_client(
    config: &Checked<ClientConfig>,
    mut taken: Taken,
) -> Result<End<ClientHandshake>, Error> {
    heap::switch_to(Side::Client);
    let mut output = Output::new();
    let connection = taken.cost.add(|| {
        ClientConnection::start(config.clone(), ends::destination(), ends::NOW, &mut output)
    })?;
    let (input, progress) = (Input::new(), Progress::default());
    Ok(End { side: Side::Client, connection, input, output, progress, taken })
}

/// Connects, carries data both ways, and closes.
fn connect(
    client: &Checked<ClientConfig>,
    server: &Checked<ServerConfig>,
    is_measured: bool,
    mut after_a_step: impl FnMut(),
) -> Result<[Taken; 2], Error> {
    let taken = || Taken { cost: Cost { is_measured, ..Cost::default() }, sent: 0 };
    let mut client = start_client(client, taken())?;
    heap::switch_to(Side::Server);
    let mut server = End {
        side: Side::Server,
        connection: ServerConnection::start(server.clone(), ends::NOW),
        input: Input::new(),
        output: Output::new(),
        progress: Progress::default(),
        taken: taken(),
    };
    while server.take_from(&mut client)? | client.take_from(&mut server)? {
        after_a_step();
    }
    if !client.progress.is_complete || !server.progress.is_complete {
        return Err(Error::Configuration("the handshake is not complete"));
    }
    let counts = [take(&mut client.taken), take(&mut server.taken)];
    client.write(b"from the client")?;
    server.write(b"from the server")?;
    server.take_from(&mut client)?;
    client.take_from(&mut server)?;
    client.close();
    server.close();
    server.take_from(&mut client)?;
    client.take_from(&mut server)?;
    let data = (client.progress.data, server.progress.data);
    if data != (15, 15) || !client.progress.is_closed || !server.progress.is_closed {
        return Err(Error::Configuration("data or its end is missing"));
    }
    Ok(counts)
}

fn take(taken: &mut Taken) -> Taken {
    core::mem::take(taken)
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    hprintln!("{}", info);
    loop {
        exit(EXIT_FAILURE);
    }
}
