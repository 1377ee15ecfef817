//! Both ends of an association over datagrams (DTLS 1.3) in one guest, over memory, measured like those of `pair`.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::mem::take;
use core::panic::PanicInfo;

use cortex_m_rt::{ExceptionFrame, entry, exception};
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use cortex_m_semihosting::hprintln;
use tessera::face::Arrival;
use tessera::handshake::{Checked, Handshake};
use tessera::{
    Association, ClientAssociation, ClientConfig, Error, Event, ReadEvent, ServerAssociation,
    ServerConfig,
};
use tessera_firmware::connection::Progress;
use tessera_firmware::heap::{self, EachEnd, Side};
use tessera_firmware::report::{self, Taken};
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
    heap::switch_to(Side::Server);
    let server = ends::server()?.checked()?;
    heap::switch_to(Side::Client);
    let client = ends::client().checked()?;
    report::repeat(|is_measured| connect(&client, &server, is_measured))
}

struct End<H: Handshake> {
    side: Side,
    association: Association<H>,
    /// A datagram to send.
    out: Vec<u8>,
    progress: Progress,
    taken: Taken,
}

impl<H: Handshake> End<H> {
    fn new(side: Side, association: Association<H>, taken: Taken) -> Self {
        let out = Vec::with_capacity(ends::DATAGRAM);
        Self { side, association, out, progress: Progress::default(), taken }
    }

    /// Sends what there is to send; returns whether there was anything.
    fn send_to<P: Handshake>(&mut self, peer: &mut End<P>) -> Result<bool, Error> {
        let mut had_any = false;
        loop {
            heap::switch_to(self.side);
            let (association, out) = (&mut self.association, &mut self.out);
            if !self.taken.cost.add(|| association.transmit(ends::NOW, out)) {
                return Ok(had_any);
            }
            had_any = true;
            self.deliver_to(peer)?;
        }
    }

    /// Sends data, in one datagram.
    fn write_to<P: Handshake>(&mut self, peer: &mut End<P>, data: &[u8]) -> Result<(), Error> {
        heap::switch_to(self.side);
        self.association.write(data, &mut self.out)?;
        self.deliver_to(peer)
    }

    fn deliver_to<P: Handshake>(&mut self, peer: &mut End<P>) -> Result<(), Error> {
        let mut datagram = [0; ends::DATAGRAM];
        let datagram = &mut datagram[..self.out.len()];
        datagram.copy_from_slice(&self.out);
        self.out.clear();
        self.taken.sent += datagram.len();
        heap::switch_to(peer.side);
        peer.read(datagram)
    }

    fn read(&mut self, mut left: &mut [u8]) -> Result<(), Error> {
        loop {
            let association = &mut self.association;
            let step = self.taken.cost.add(|| association.read(ends::NOW, left))?;
            match step.event {
                ReadEvent::Handshake(Event::HandshakeComplete) => self.progress.is_complete = true,
                ReadEvent::Data(data) => self.progress.data += data.len(),
                ReadEvent::PeerClosed => self.progress.is_closed = true,
                ReadEvent::NeedInput | ReadEvent::WaitingForAnswer => return Ok(()),
                _ => (),
            }
            left = &mut left[step.consumed..];
        }
    }
}

/// Connects, carries data both ways, and closes. Returns what each end took until there was nothing more to send.
fn connect(
    client: &Checked<ClientConfig>,
    server: &Checked<ServerConfig>,
    is_measured: bool,
) -> Result<[Taken; 2], Error> {
    heap::switch_to(Side::Server);
    let association =
        ServerAssociation::start(server.clone(), Arrival::default(), ends::datagrams(), ends::NOW)?;
    let mut server = End::new(Side::Server, association, Taken::new(is_measured));
    heap::switch_to(Side::Client);
    let mut taken = Taken::new(is_measured);
    let association = taken.cost.add(|| {
        ClientAssociation::start(client.clone(), ends::destination(), ends::datagrams(), ends::NOW)
    })?;
    let mut client = End::new(Side::Client, association, taken);
    while client.send_to(&mut server)? | server.send_to(&mut client)? {}
    if !client.progress.is_complete || !server.progress.is_complete {
        return Err(Error::Configuration("the handshake is not complete"));
    }
    let taken = [&mut client.taken, &mut server.taken].map(take);
    client.write_to(&mut server, b"from the client")?;
    server.write_to(&mut client, b"from the server")?;
    heap::switch_to(Side::Client);
    client.association.close();
    client.send_to(&mut server)?;
    heap::switch_to(Side::Server);
    server.association.close();
    server.send_to(&mut client)?;
    let data = (client.progress.data, server.progress.data);
    if data != (15, 15) || !client.progress.is_closed || !server.progress.is_closed {
        return Err(Error::Configuration("data or its end is missing"));
    }
    Ok(taken)
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
