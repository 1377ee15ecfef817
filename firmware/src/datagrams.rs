//! One end of an association over the UART: each datagram behind its length, in two bytes.

use alloc::vec::Vec;
use core::time::Duration;

use tessera::handshake::Handshake;
use tessera::{Association, Error, Event, ReadEvent, Time};

use crate::board;
use crate::settings::{DATAGRAM, NOW};

/// The time since the start. It must be asked more often than the ticks wrap: every three minutes.
pub struct Clock {
    newest: u32,
    ticks: u64,
}

impl Clock {
    pub fn start() -> Self {
        board::start_timer();
        Self { newest: board::ticks(), ticks: 0 }
    }

    pub fn now(&mut self) -> Time {
        let newest = board::ticks();
        self.ticks += u64::from(newest.wrapping_sub(self.newest));
        self.newest = newest;
        let monotonic = Duration::from_micros(self.ticks / u64::from(board::TICKS / 1_000_000));
        Time { monotonic, ..NOW }
    }
}

/// Runs an association to its end: sends `line` once the handshake is complete, or, without one, returns what comes.
pub fn run<H: Handshake>(
    mut association: Association<H>,
    line: Option<&[u8]>,
    clock: &mut Clock,
) -> Result<(), Error> {
    let mut out = Vec::with_capacity(DATAGRAM);
    let mut datagram = [0; DATAGRAM];
    loop {
        while association.transmit(clock.now(), &mut out) {
            send(&mut out);
        }
        let Some(mut left) = receive(&mut datagram, association.deadline(), clock) else {
            association.handle_timeout(clock.now())?;
            continue;
        };
        loop {
            let progress = association.read(clock.now(), left)?;
            let goes_on = match progress.event {
                ReadEvent::Handshake(Event::HandshakeComplete) => {
                    if let Some(line) = line {
                        while association.transmit(clock.now(), &mut out) {
                            send(&mut out);
                        }
                        association.write(line, &mut out)?;
                        send(&mut out);
                    }
                    true
                }
                ReadEvent::Data(data) => {
                    match line {
                        Some(_) => association.close(),
                        None => {
                            association.write(&left[data], &mut out)?;
                            send(&mut out);
                        }
                    }
                    true
                }
                ReadEvent::PeerClosed => {
                    association.close();
                    true
                }
                ReadEvent::NeedInput | ReadEvent::WaitingForAnswer => false,
                _ => true,
            };
            left = &mut left[progress.consumed..];
            if !goes_on {
                break;
            }
        }
        if association.facts().handshake_complete && !association.can_write() {
            while association.transmit(clock.now(), &mut out) {
                send(&mut out);
            }
            return Ok(());
        }
    }
}

fn send(datagram: &mut Vec<u8>) {
    board::send(&(datagram.len() as u16).to_be_bytes());
    board::send(datagram);
    datagram.clear();
}

/// Returns the next datagram, or nothing at the deadline.
fn receive<'d>(
    datagram: &'d mut [u8],
    deadline: Option<Duration>,
    clock: &mut Clock,
) -> Option<&'d mut [u8]> {
    let first = loop {
        if let Some(byte) = board::try_receive() {
            break byte;
        }
        if deadline.is_some_and(|deadline| deadline <= clock.now().monotonic) {
            return None;
        }
    };
    let len = u16::from_be_bytes([first, board::receive()]);
    let datagram = datagram.get_mut(..len.into())?;
    datagram.iter_mut().for_each(|byte| *byte = board::receive());
    Some(datagram)
}
