//! A client of krabitls: sends a line over the UART, and ends when one comes back.
#![no_std]
#![no_main]

use core::convert::Infallible;

use cortex_m_rt::entry;
use krabitls::backends::DerCert;
use krabitls::client::{
    Anchor, ClientParams, Clocked, ConnectError, DefaultConfig, PinnedRoots, Scratch, TimeSource,
    TlsStream,
};
use rand_core::{TryCryptoRng, TryRng};
use size_peer_board::uart::Uart;
use size_peer_board::{INPUT, LINE, NOW, SERVER_NAME, fill, finish, start};

/// Room for the longest message of the server, its Certificate.
const FLIGHT: usize = 2048;

/// Room for a record that it sends.
const OUTPUT: usize = 512;

/// The most certificates of the server.
const CHAIN: usize = 4;

#[entry]
fn main() -> ! {
    // Its documentation wants this in a static.
    static mut SCRATCH: Scratch<FLIGHT, INPUT, OUTPUT> = Scratch::new();
    start();
    finish(run(SCRATCH).is_ok())
}

fn run(scratch: &mut Scratch<FLIGHT, INPUT, OUTPUT>) -> Result<(), ConnectError<Infallible>> {
    let anchors = [Anchor::Cert(include_bytes!("../../../pki/root.der"))];
    let roots = PinnedRoots::<DerCert, _, CHAIN>::with_clock(&anchors, Clocked(Clock));
    let params = ClientParams::with_strategy(SERVER_NAME, roots);
    let mut stream = TlsStream::<_, DefaultConfig, _, FLIGHT, INPUT, OUTPUT, CHAIN>::connect(
        &params,
        scratch,
        Uart,
        &mut NotRandom,
    )?;
    stream.write_all(LINE)?;
    stream.read(&mut [0; 64])?;
    stream.close()
}

struct Clock;

impl TimeSource for Clock {
    fn now_unix_secs(&self) -> u64 {
        NOW
    }
}

struct NotRandom;

impl TryRng for NotRandom {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        fill(out);
        Ok(())
    }
}

impl TryCryptoRng for NotRandom {}
