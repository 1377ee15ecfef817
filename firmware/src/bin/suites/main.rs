//! Every suite of an image that has all algorithms, both ends in one guest: what a client executes until it may send data, and
//! until its server has proved itself, by what it is for; and how bytes and instructions follow each other.
#![no_std]
#![no_main]

extern crate alloc;

mod counted;
mod ends;
mod key_info;
mod table;

use alloc::vec::Vec;
use core::panic::PanicInfo;

use cortex_m_rt::{ExceptionFrame, entry, exception};
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use cortex_m_semihosting::hprintln;
use tessera::handshake::Handshake;
use tessera::{ClientConnection, Error, Output, ServerConnection};
use tessera_firmware::board;
use tessera_firmware::end::End;
use tessera_firmware::ends::NOW;
use tessera_firmware::heap::{self, EachEnd, Side};
use tessera_firmware::report::Taken;

use counted::{PARTS, counts};
use ends::{Cryptography, Ends};
use table::{Mode, Suite, suites};

#[global_allocator]
static HEAP: EachEnd = EachEnd;

#[entry]
fn main() -> ! {
    heap::start();
    board::start_timer();
    let cryptography = Cryptography::new();
    let result = suites().try_for_each(|suite| {
        let measured = measure(&cryptography, &suite);
        if let Err(error) = &measured {
            let Suite { exchange, authority, leaf, mode } = suite;
            let authority = authority.map_or("none", |it| it.name);
            hprintln!(
                "{}, {}, {}, {}: {:?}",
                exchange.name,
                authority,
                leaf.name,
                mode.name(),
                error
            );
        }
        measured
    });
    loop {
        exit(if result.is_ok() { EXIT_SUCCESS } else { EXIT_FAILURE });
    }
}

fn measure(cryptography: &Cryptography, suite: &Suite) -> Result<(), Error> {
    let ends = cryptography.ends(suite)?;
    if suite.mode == Mode::CachedChain {
        // Both learn the chain.
        ends.connect(suite)?;
    }
    let Measurement { rows, client_sent, server_sent, stack, heap } = ends.connect(suite)?;
    let (exchange, leaf, mode) = (suite.exchange.name, suite.leaf.name, suite.mode.name());
    let authority = suite.authority.map_or("none", |it| it.name);
    let chain = suite.authority.map_or(0, |it| suite.leaf.certificate.len() + it.between.len());
    hprintln!("suite {}|{}|{}|{}", exchange, authority, leaf, mode);
    hprintln!(
        "  took chain {} client {} server {} stack {} heap {}",
        chain,
        client_sent,
        server_sent,
        stack,
        heap
    );
    for row in &rows {
        match row {
            Row::Step { side, read, instructions, sent } => {
                let side = if *side == Side::Client { "client" } else { "server" };
                hprintln!(
                    "  step {} read {} instructions {} sent {}",
                    side,
                    read,
                    instructions,
                    sent
                );
            }
            Row::Milestone { what, instructions, parts } => {
                let [exchange, chain, proof, aead] = parts;
                hprintln!(
                    "  {} instructions {} exchange {} chain {} proof {} aead {}",
                    what,
                    instructions,
                    exchange,
                    chain,
                    proof,
                    aead
                );
            }
        }
    }
    Ok(())
}

/// What happened, in order.
enum Row {
    /// An end has read and written, in bytes; its first data, too.
    Step { side: Side, read: usize, instructions: u64, sent: usize },
    /// The client may do something after the last step.
    Milestone { what: &'static str, instructions: u64, parts: [u32; PARTS.len()] },
}

/// What a handshake took.
struct Measurement {
    rows: Vec<Row>,
    client_sent: usize,
    server_sent: usize,
    /// The client's.
    stack: usize,
    heap: usize,
}

const DATA: &[u8] = b"from the client";

impl Ends {
    /// Connects, and carries data from the client as soon as it may send it.
    fn connect(&self, suite: &Suite) -> Result<Measurement, Error> {
        counted::reset();
        // Outside the client's heap, which is measured.
        heap::switch_to(Side::Server);
        let mut rows = Vec::with_capacity(64);
        let mut server = End::new(
            Side::Server,
            ServerConnection::start(self.server.clone(), NOW),
            Output::new(),
            Taken::new(true),
        );
        heap::switch_to(Side::Client);
        let destination = self.destination();
        heap::restart_peak(Side::Client);
        let (mut output, mut taken) = (Output::new(), Taken::new(true));
        let connection = taken
            .cost
            .add(|| ClientConnection::start(self.client.clone(), destination, NOW, &mut output))?;
        let mut client = End::new(Side::Client, connection, output, taken);
        let (instructions, sent) = (client.taken.cost.instructions, client.output.as_slice().len());
        rows.push(Row::Step { side: Side::Client, read: 0, instructions, sent });
        let (mut has_written, mut is_explicit, mut record) = (false, false, 0);
        loop {
            let mut moved = step(&mut server, &mut client, &mut rows)?;
            while step(&mut client, &mut server, &mut rows)? {
                moved = true;
                let what = [
                    (!has_written && client.connection.can_write()).then_some("first"),
                    (!is_explicit && client.progress.is_complete).then_some("explicit"),
                ];
                let instructions = client.taken.cost.instructions;
                for what in what.into_iter().flatten() {
                    rows.push(Row::Milestone { what, instructions, parts: counts(Side::Client) });
                }
                if what[0].is_some() {
                    has_written = true;
                    let before = client.output.as_slice().len();
                    client.write(DATA)?;
                    record = client.output.as_slice().len() - before;
                    if let Some(sent) = last_sent(&mut rows) {
                        *sent += record;
                    }
                }
                is_explicit |= what[1].is_some();
            }
            if !moved {
                break;
            }
        }
        let facts = client.connection.facts();
        let is_cached = facts.peer_certificate.as_ref().is_some_and(|it| it.encoded_with.is_some());
        if !has_written
            || !is_explicit
            || server.progress.data != DATA.len()
            || facts.server_is_implicit
        {
            return Err(Error::Configuration("a handshake or its data is not complete"));
        }
        let knows = suite.mode == Mode::CachedChain && self.has_connected.replace(true);
        if is_cached != knows || facts.group != Some(suite.exchange.group) {
            return Err(Error::Configuration("the handshake is not the one that was asked for"));
        }
        Ok(Measurement {
            rows,
            client_sent: client.taken.sent - record,
            server_sent: server.taken.sent,
            stack: client.taken.cost.stack,
            heap: heap::usage(Side::Client).peak,
        })
    }
}

/// Returns what the newest step has sent.
fn last_sent(rows: &mut [Row]) -> Option<&mut usize> {
    rows.iter_mut().rev().find_map(|row| match row {
        Row::Step { sent, .. } => Some(sent),
        Row::Milestone { .. } => None,
    })
}

/// Lets an end read what is there for it; returns whether there was anything.
fn step<H: Handshake, O: Handshake>(
    end: &mut End<H>,
    other: &mut End<O>,
    rows: &mut Vec<Row>,
) -> Result<bool, Error> {
    let (instructions, waiting) = (end.taken.cost.instructions, end.output.as_slice().len());
    let read = end.take_part_from(other)?;
    heap::switch_to(Side::Server);
    if read > 0 {
        rows.push(Row::Step {
            side: end.side,
            read,
            instructions: end.taken.cost.instructions - instructions,
            sent: end.output.as_slice().len() - waiting,
        });
    }
    Ok(read > 0)
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
