//! A connection starts where the heap has what it needs, and then nothing fails for lack of memory.

use tessera::Error as TlsError;
use tessera_embedded::Error;

use crate::device::{Client, Device, HEAP, Server};
use crate::ends::{Memory, Pki};

/// At every size below the need nothing is sent, and the number is reported.
fn starts_with_what_it_needs<D: Device>(name: &str, device: &D) {
    let (needed, mut memory) = (device.needed(), Memory::new());
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
}

#[test]
fn a_server_starts_with_what_it_needs_and_not_with_less() {
    starts_with_what_it_needs("a server by PSK", &Server::by_psk());
    starts_with_what_it_needs("a server by chain", &Server::by_chain(&Pki::new()));
}
