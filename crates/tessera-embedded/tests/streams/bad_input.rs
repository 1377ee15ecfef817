//! What no peer should send to a device with 40 KB of heap: an error and its alert, the heap as before, and a connection
//! over the same buffers.

use embedded_io::ErrorKind;
use tessera::auth::Credential;
use tessera::wire::AlertDescription;
use tessera::{Error as TlsError, ServerConfig};
use tessera_embedded::{Buffer, BufferTooSmall, Error};

use crate::device::{Client, Device, HEAP, Server};
use crate::ends::{LIMIT, Memory, Pki, by_chain};
use crate::peer::Peer;

type Failure = (Error<ErrorKind>, Option<TlsError>);

/// Connects to a peer that misbehaves from its first byte, or when the handshake is complete, and then to one that doesn't.
/// Returns the device's error, and its peer's.
fn fails<D: Device>(
    device: &D,
    memory: &mut Memory,
    bad: impl Fn() -> Peer<D::Peer>,
    then: fn(&mut Peer<D::Peer>),
) -> Failure {
    // With the least heap that suffices it is the same.
    let [most, least] = [HEAP, device.needed()].map(|heap| {
        let mut peer = bad();
        let (result, refused) = device.connect(heap, memory, &mut peer, then);
        assert_eq!(refused, 0, "{result:?}");
        let good = device.connect(heap, memory, &mut device.peer(), |_| ());
        assert_eq!(good, (Ok(()), 0), "the next connection");
        (result.expect_err("the device accepts it"), peer.error)
    });
    assert_eq!(most, least);
    most
}

#[track_caller]
fn assert_refused((error, peer): Failure, alert: AlertDescription) {
    assert!(
        matches!(&error, Error::Tls(it @ TlsError::Protocol { .. }) if it.alert() == Some(alert)),
        "{error:?}"
    );
    assert_eq!(peer, Some(TlsError::AlertReceived(alert)));
}

#[track_caller]
fn assert_too_long((error, peer): Failure, missing: usize) {
    assert_eq!(error, Error::Buffer(BufferTooSmall { buffer: Buffer::Input, missing }));
    assert_eq!(peer, Some(TlsError::AlertReceived(AlertDescription::RECORD_OVERFLOW)));
}

/// A chain of 200 KB.
fn long(credential: Credential) -> Credential {
    let mut chain = credential.chain.clone();
    chain.extend(vec![chain[1].clone(); 200_000 / chain[1].len()]);
    Credential { chain, ..credential }
}

#[test]
fn a_chain_of_200_kb_is_refused_by_its_length() {
    let pki = Pki::new();
    let mut memory = Memory::new();
    let server = vec![long(pki.leaf.credential())];
    let server = ServerConfig::new(tessera_aws_lc::provider(), server).checked().unwrap();
    let client = Client::by_chain(&pki);
    let failure = fails(&client, &mut memory, || Peer::new(&server), |_| ());
    assert_refused(failure, AlertDescription::DECODE_ERROR);

    let mut client = pki.client();
    client.credentials = vec![long(pki.leaf.credential())];
    client.record_size_limit = Some(16_385);
    let client = client.checked().unwrap();
    let server = Server::by_chain(&pki);
    let failure = fails(&server, &mut memory, || Peer::client(&client, by_chain()), |_| ());
    assert_refused(failure, AlertDescription::DECODE_ERROR);
}

/// The faults of a peer of either role.
fn bad_records<D: Device>(device: &D) {
    let mut memory = Memory::new();
    let forged = |bytes: &[u8]| Peer { forged: bytes.to_vec(), ..device.peer() };
    // Its hello in a record of any length, which no limit covers.
    let failure = fails(device, &mut memory, || forged(&[22, 3, 3, 0x3f, 0xff]), |_| ());
    assert_too_long(failure, 5 + 0x3fff - memory.input.len());
    // Longer than any record may be.
    let failure = fails(device, &mut memory, || forged(&[22, 3, 3, 0xff, 0xff]), |_| ());
    assert_refused(failure, AlertDescription::RECORD_OVERFLOW);
    // A hello that is longer than the device reads; of either role.
    for hello in [1, 2] {
        let first = [22, 3, 3, 0, 5, hello, 0, 0x20, 0, 3];
        let (error, peer) = fails(device, &mut memory, || forged(&first), |_| ());
        assert!(matches!(error, Error::Tls(TlsError::Protocol { .. })), "{error:?}");
        assert!(matches!(peer, Some(TlsError::AlertReceived(_))), "{peer:?}");
    }

    // Longer than the device negotiated (RFC 8449 §4). Its buffer has just that length.
    let over = |peer: &mut Peer<D::Peer>| {
        let [high, low] = (LIMIT + 16 + 1).to_be_bytes();
        peer.forged = [&[23, 3, 3, high, low][..], &[0; LIMIT as usize + 17]].concat();
    };
    let failure = fails(device, &mut memory, || device.peer(), over);
    assert_too_long(failure, 1);
    // A record of the right length that no key has sealed.
    let noise =
        |peer: &mut Peer<D::Peer>| peer.forged = [&[23, 3, 3, 1, 0][..], &[0; 256]].concat();
    let failure = fails(device, &mut memory, || device.peer(), noise);
    assert_refused(failure, AlertDescription::BAD_RECORD_MAC);
}

#[test]
fn bad_records_end_in_an_error_and_its_alert() {
    let pki = Pki::new();
    bad_records(&Client::by_psk());
    bad_records(&Client::by_chain(&pki));
    bad_records(&Server::by_psk());
    bad_records(&Server::by_chain(&pki));
}

/// A peer that stalls: the transport's own time-out is the error, and the handshake ends wherever the caller ends it. Bytes
/// that trickle end at the deadline.
fn slow_peers<D: Device>(device: &D) {
    let mut memory = Memory::new();
    let stalls = || Peer { stalls_after: 50, ..device.peer() };
    let stalled = fails(device, &mut memory, stalls, |_| ());
    assert_eq!(stalled, (Error::Transport(ErrorKind::TimedOut), None));
    let stalls = |peer: &mut Peer<D::Peer>| peer.stalls_after = peer.sent;
    let stalled = fails(device, &mut memory, || device.peer(), stalls);
    assert_eq!(stalled, (Error::Transport(ErrorKind::TimedOut), None));
    let trickles = || Peer { slow: Some(device.clock()), ..device.peer() };
    let (error, peer) = fails(device, &mut memory, trickles, |_| ());
    assert_eq!((error, peer), (Error::Tls(TlsError::TimedOut), None));
}

#[test]
fn a_peer_that_stalls_or_trickles_costs_no_more_than_its_time() {
    let pki = Pki::new();
    slow_peers(&Client::by_psk());
    slow_peers(&Client::by_chain(&pki));
    slow_peers(&Server::by_psk());
    slow_peers(&Server::by_chain(&pki));
}
