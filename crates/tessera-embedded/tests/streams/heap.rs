//! A connection starts where the heap has what it needs, and then nothing fails for lack of memory.

use std::sync::Arc;
use std::time::Duration;

use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};
use tessera::handshake::Reply;
use tessera::resume::{OpenTicket, PskKind, SessionState, TicketKeys};
use tessera::{Error as TlsError, Limits};
use tessera_embedded::{Connector, Error, SessionStorage};

use crate::device::{Client, Device, HEAP, LIMITS, Server, converse, on_heap_of};
use crate::ends::{Memory, Pki, TestClock, by_psk, psk_client, psk_server};
use crate::peer::Peer;

/// At every size below the need nothing is sent, and the number is reported.
fn starts_with_what_it_needs<D: Device>(name: &str, device: &D) {
    let (needed, mut memory) = (device.needed(), Memory::for_records(3072));
    println!("{name} needs {needed} bytes");
    assert!(needed <= HEAP, "{name} needs {needed} bytes");
    let mut peer = device.peer();
    let hello = peer.output.as_slice().len();
    for size in 0..needed {
        let (result, refused) = device.connect(size, &mut memory, &mut peer, |_| ());
        assert_eq!(result, Err(Error::Tls(TlsError::OutOfMemory(needed))), "{size}");
        assert_eq!((refused, peer.sent, peer.input.len()), (1, 0, 0));
        assert_eq!(peer.output.as_slice().len(), hello, "nothing has reached the peer");
    }
    // Where the peer's bytes come in pieces, messages grow, and move.
    for at_once in [usize::MAX, 1, 7, 100, 1000] {
        for shatters in [false, true] {
            let mut peer = device.peer();
            (peer.at_once, peer.shatters) = (at_once, shatters);
            let (result, refused) = device.connect(needed, &mut memory, &mut peer, |_| ());
            assert_eq!((result, refused), (Ok(()), 0), "{name}, {at_once} at once");
        }
    }
}

#[test]
fn a_client_starts_with_what_it_needs_and_not_with_less() {
    starts_with_what_it_needs("a client by PSK", &Client::by_psk());
    starts_with_what_it_needs("a client by chain", &Client::by_chain(&Pki::new()));
    starts_with_what_it_needs("a client by known key", &Client::by_known_key());
    starts_with_what_it_needs("a client by raw key of a KEM", &Client::by_raw_key());
}

#[test]
fn a_server_starts_with_what_it_needs_and_not_with_less() {
    starts_with_what_it_needs("a server by PSK", &Server::by_psk());
    starts_with_what_it_needs("a server by chain", &Server::by_chain(&Pki::new()));
    starts_with_what_it_needs("a server by known key", &Server::by_known_key());
    starts_with_what_it_needs("a server by raw key of a KEM", &Server::by_raw_key());
}

struct Flash(Vec<u8>);

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        bytes.copy_from_slice(&self.0[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 8192;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        self.0[from as usize..to as usize].fill(0xff);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        self.0[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

/// Tickets of this length, unsealed.
struct LongTickets(usize);

impl TicketKeys for LongTickets {
    fn seal(&self, session: &SessionState, _: Duration) -> Option<Vec<u8>> {
        let session = session.encode();
        let mut ticket = (session.len() as u16).to_be_bytes().to_vec();
        ticket.extend_from_slice(&session);
        ticket.resize(self.0, 0);
        Some(ticket)
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        let (len, rest) = question.identity.split_first_chunk().unwrap();
        Reply::Now(SessionState::decode(&rest[..usize::from(u16::from_be_bytes(*len))]))
    }
}

/// A session that is written to flash takes memory, too, as long as the server's ticket is.
#[test]
fn sessions_are_kept_and_used_with_what_a_connection_needs() {
    for longest in [900, 1200, 2048] {
        for tickets in [1, 2, 5] {
            let mut config = psk_client(&Pki::new());
            config.limits = Limits {
                handshake_message: longest,
                certificate_message: longest,
                tickets,
                ..LIMITS
            };
            config.policy.tickets.new_session_count = tickets;
            config.policy.tickets.resumption_count = tickets;
            let needed = config.heap_needed(&by_psk()) + by_psk().server_name.len();
            let mut server = psk_server();
            // As long as the client reads, with the rest of the message.
            server.tickets = Some(Arc::new(LongTickets(longest - 60)));
            server.policy.tickets = config.policy.tickets;
            let server = server.checked().unwrap();
            let flash = Flash(vec![0xff; 3 * 8192]);
            let store = SessionStorage::new(flash, 0..3 * 8192, 3, vec![0; 3000]).unwrap();
            let connector =
                Connector::new(config.checked().unwrap(), Arc::new(TestClock::default()))
                    .with_sessions(Arc::new(store));
            let (mut memory, mut resumed) = (Memory::new(), 0);
            // With the least heap a session may be dropped again: it makes the hello longer.
            for more in [0, 0, 30_000, 30_000, 30_000] {
                let mut peer = Peer::new(&server);
                let (result, refused) = on_heap_of(needed + more, by_psk, |to| {
                    converse(connector.start(to, &mut peer, memory.lend())?, |_| ())
                });
                assert_eq!(result, Ok(()), "{longest}, {tickets} tickets");
                assert!(refused <= usize::from(more == 0), "{longest}, {tickets}: {refused}");
                resumed += usize::from(peer.connection.facts().psk == Some(PskKind::Resumption));
            }
            assert!(resumed >= 2, "{longest}, {tickets} tickets: {resumed}");
        }
    }
}
