//! Both ends in one guest, over memory: connects again and again, and prints what each end took.
#![no_std]
#![no_main]

extern crate alloc;

mod messages;

use alloc::sync::Arc;
use core::mem::take;
use core::panic::PanicInfo;

use cortex_m_rt::{ExceptionFrame, entry, exception};
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use cortex_m_semihosting::hprintln;
use tessera::handshake::{Checked, ClientHandshake};
use tessera::{ClientConfig, ClientConnection, Error, Output, ServerConfig, ServerConnection};
use tessera_firmware::end::End;
use tessera_firmware::heap::{self, EachEnd, Side};
use tessera_firmware::measure::{PAINTED, stack_pointer};
use tessera_firmware::report::{self, Taken};
use tessera_firmware::search::{self, Recorder};
use tessera_firmware::{board, ends};

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
    #[cfg(feature = "cached")]
    measure_chains()?;
    heap::switch_to(Side::Server);
    let server = ends::server()?.checked()?;
    heap::switch_to(Side::Client);
    let client = ends::client().checked()?;
    let ends = Ends { client, server, is_known: false };
    if CAN_KNOW {
        report::measure(format_args!("full "), || ends.connect(true, || ()))?;
    }
    let ends = Ends { is_known: CAN_KNOW, ..ends };
    // The server keeps the hash of its chain from the first time that it sends it.
    #[cfg(feature = "cached")]
    ends.connect(false, || ())?;
    report::repeat(|is_measured| ends.connect(is_measured, || ()))?;
    let Ends { client, server, .. } = &ends;
    hprintln!(
        "needed client {} server {}",
        client.heap_needed(&ends::destination()),
        server.heap_needed()
    );
    messages::measure(client, server)?;
    search()
}

/// Whether the client may know the server's chain or key before it connects.
const CAN_KNOW: bool = cfg!(any(feature = "cached", feature = "kem-raw-key"));

/// Connects twice with each chain: the client knows it the second time.
#[cfg(feature = "cached")]
fn measure_chains() -> Result<(), Error> {
    for chain in tessera_firmware::chains::CHAINS {
        heap::switch_to(Side::Server);
        let server = chain.server()?.checked()?;
        heap::switch_to(Side::Client);
        let client = chain.client().checked()?;
        let mut ends = Ends { client, server, is_known: false };
        for (way, is_known) in [("full", false), ("cached", true)] {
            ends.is_known = is_known;
            let (keys, len) = (chain.keys.name(), chain.count());
            let heading = format_args!("chain {keys} {len} {way} ");
            report::measure(heading, || ends.connect(true, || ()))?;
        }
    }
    Ok(())
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
        // SAFETY: the heaps, and the stack, which is longer than what is painted.
        unsafe { [search::found(low, high), search::found(top - PAINTED, top)] }
    };
    let mut during = [0; 2];
    let ends = Ends { client, server, is_known: false };
    ends.connect(false, || {
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

fn start_client(
    config: &Checked<ClientConfig>,
    is_known: bool,
    mut taken: Taken,
) -> Result<End<ClientHandshake>, Error> {
    heap::switch_to(Side::Client);
    let mut output = Output::new();
    let connection = taken.cost.add(|| {
        let mut to = ends::destination();
        to.known_server_key.take_if(|_| CAN_KNOW && !is_known);
        ClientConnection::start(config.clone(), to, ends::NOW, &mut output)
    })?;
    Ok(End::new(Side::Client, connection, output, taken))
}

/// Both ends' configurations.
struct Ends {
    client: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    /// Whether the client knows the server's chain, so that its hash is sent, or the server's key, so that nothing is.
    is_known: bool,
}

impl Ends {
    /// Connects, carries data both ways, and closes. Returns what each end took until the handshake was complete.
    fn connect(
        &self,
        is_measured: bool,
        mut after_a_step: impl FnMut(),
    ) -> Result<[Taken; 2], Error> {
        let mut client = start_client(&self.client, self.is_known, Taken::new(is_measured))?;
        heap::switch_to(Side::Server);
        let connection = ServerConnection::start(self.server.clone(), ends::NOW);
        let taken = Taken::new(is_measured);
        let mut server = End::new(Side::Server, connection, Output::new(), taken);
        while server.take_from(&mut client)? | client.take_from(&mut server)? {
            after_a_step();
        }
        if !client.progress.is_complete || !server.progress.is_complete {
            return Err(Error::Configuration("the handshake is not complete"));
        }
        let certificate = client.connection.facts().peer_certificate;
        let is_whole = certificate.is_some_and(|it| it.encoded_with.is_none());
        if CAN_KNOW && is_whole == self.is_known {
            return Err(Error::Configuration("the chain or the key did not travel as expected"));
        }
        let taken = [&mut client.taken, &mut server.taken].map(take);
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
        Ok(taken)
    }
}

/// A panic without a message, too: an undefined instruction.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    hprintln!("fault at {:#x}, called from {:#x}", frame.pc(), frame.lr());
    loop {
        exit(EXIT_FAILURE);
    }
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    hprintln!("{}", info);
    loop {
        exit(EXIT_FAILURE);
    }
}
