//! Faults of the peer, of the transport and of the caller.

use std::num::NonZeroU16;
use std::sync::Arc;

use embedded_io::{Error as _, ErrorKind, Read, Write};
use tessera::auth::{PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera::{ClientConfig, Error as TlsError, Padding};
use tessera_embedded::{
    Acceptor, Buffer, BufferTooSmall, Buffers, ClientStream, Connector, Error, input_len,
    output_len,
};

use crate::ends::{
    LIMIT, Memory, Pki, TestClock, by_chain, by_psk, connector, device, psk_client, psk_server,
};
use crate::peer::Peer;

type Result<T> = core::result::Result<T, Error<ErrorKind>>;

/// A whole connection: a line there and back, and both ends' close_notify. Returns what was read, and the peer.
fn converse(
    stream: core::result::Result<ClientStream<'_, Peer>, Error<ErrorKind>>,
) -> Result<(Vec<u8>, Peer)> {
    let mut stream = stream?;
    stream.handshake_blocking()?;
    stream.write_all(b"from the device")?;
    stream.flush()?;
    let answer = vec![9; 5000];
    stream.get_mut().send(&answer);
    stream.get_mut().close();
    let mut received = Vec::new();
    let mut some = [0; 300];
    loop {
        match stream.read(&mut some)? {
            0 => break,
            count => received.extend_from_slice(&some[..count]),
        }
    }
    stream.close_blocking()?;
    Ok((received, stream.into_inner()))
}

fn start<'b>(memory: &'b mut Memory, peer: Peer) -> Result<ClientStream<'b, Peer>> {
    let client = psk_client(&Pki::new());
    connector(client).start(by_psk(), peer, memory.lend())
}

fn peer() -> Peer {
    Peer::new(&psk_server().checked().unwrap())
}

#[test]
fn one_byte_at_a_time_arrives() {
    let mut memory = Memory::new();
    let peer = Peer { at_once: 1, ..peer() };
    let (received, peer) = converse(start(&mut memory, peer)).unwrap();
    assert_eq!(received, vec![9; 5000]);
    assert_eq!(peer.data, b"from the device");
    assert!(peer.is_closed && peer.error.is_none());
}

/// Whatever was read before it, the end of the stream is an error wherever close_notify is missing.
#[test]
fn an_end_at_each_position_is_reported() {
    let pki = Pki::new();
    let (client, server) = (psk_client(&pki).checked().unwrap(), psk_server().checked().unwrap());
    let connector = Connector::new(client, Arc::new(TestClock::default()));
    let whole = {
        let mut memory = Memory::new();
        let stream = connector.start(by_psk(), Peer::new(&server), memory.lend());
        converse(stream).unwrap().1.sent
    };
    // Inside the data, some positions are as good as all.
    for at in (0..700).chain((700..whole - 100).step_by(97)).chain(whole - 100..whole) {
        let mut memory = Memory::new();
        let peer = Peer { ends_after: at, ..Peer::new(&server) };
        let result = converse(connector.start(by_psk(), peer, memory.lend()));
        let Err(error) = result else { panic!("an end after {at} of {whole} bytes is not seen") };
        assert_eq!(error, Error::Tls(TlsError::Truncated), "{at}");
        assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
    }
    let mut memory = Memory::new();
    let peer = Peer { ends_after: whole, ..Peer::new(&server) };
    converse(connector.start(by_psk(), peer, memory.lend())).unwrap();
}

#[test]
fn a_stall_is_the_transports_time_out_then_the_deadline() {
    let clock = Arc::new(TestClock::default());
    let client = psk_client(&Pki::new());
    let seconds = client.handshake_timeout.as_secs();
    let connector = Connector::new(client.checked().unwrap(), clock.clone());
    let mut memory = Memory::new();
    let peer = Peer { stalls_after: 50, ..peer() };
    let mut stream = connector.start(by_psk(), peer, memory.lend()).unwrap();
    assert_eq!(stream.deadline().map(|it| it.as_secs()), Some(seconds));
    for _ in 0..2 {
        let error = stream.handshake_blocking().unwrap_err();
        assert_eq!(error, Error::Transport(ErrorKind::TimedOut));
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
    clock.advance(seconds);
    let error = stream.handshake_blocking().unwrap_err();
    assert_eq!(error, Error::Tls(TlsError::TimedOut));
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // For good.
    assert_eq!(stream.write(b"late"), Err(Error::Tls(TlsError::TimedOut)));
}

/// A stall costs nothing where the caller goes on.
#[test]
fn a_handshake_goes_on_after_a_time_out() {
    let mut memory = Memory::new();
    let mut stream = start(&mut memory, Peer { stalls_after: 77, ..peer() }).unwrap();
    assert!(stream.handshake_blocking().is_err());
    stream.get_mut().stalls_after = usize::MAX;
    stream.handshake_blocking().unwrap();
}

#[test]
fn a_message_that_trickles_ends_at_the_deadline() {
    let clock = Arc::new(TestClock::default());
    let client = psk_client(&Pki::new()).checked().unwrap();
    let seconds = client.handshake_timeout.as_secs() as usize;
    let connector = Connector::new(client, clock.clone());
    let mut memory = Memory::new();
    let slow = Peer { slow: Some(clock), ..peer() };
    let mut stream = connector.start(by_psk(), slow, memory.lend()).unwrap();
    assert_eq!(stream.handshake_blocking(), Err(Error::Tls(TlsError::TimedOut)));
    assert_eq!(stream.get_ref().sent, seconds, "one byte a second");
}

#[test]
fn alerts_reach_the_other_end() {
    // The server has no certificate, and doesn't know the PSK.
    let mut memory = Memory::new();
    let mut server = psk_server();
    server.external_psks[0].identity = b"another".to_vec();
    let stream = start(&mut memory, Peer::new(&server.checked().unwrap()));
    let error = converse(stream).err().unwrap();
    assert!(matches!(error, Error::Tls(TlsError::AlertReceived(_))), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::InvalidData);

    // The device doesn't trust the server.
    let (pki, other) = (Pki::new(), Pki::new());
    let mut memory = Memory::new();
    let peer = Peer::new(&pki.server().checked().unwrap());
    let connector = connector(other.device_client());
    let mut stream = connector.start(by_chain(), peer, memory.lend()).unwrap();
    let error = stream.handshake_blocking().unwrap_err();
    let Error::Tls(TlsError::PeerRejected(rejected)) = &error else { panic!("{error:?}") };
    let received = stream.get_ref().error.clone();
    assert_eq!(received, Some(TlsError::AlertReceived(rejected.alert)));
    assert_eq!(stream.read(&mut [0]), Err(error), "it stays");
}

#[test]
fn small_buffers_are_refused_with_the_number_that_is_missing() {
    let pki = Pki::new();
    let too_small = |buffer, missing| Err(Error::Buffer(BufferTooSmall { buffer, missing }));
    let client_with = |limit, input: usize, output: usize| {
        let mut config = psk_client(&pki);
        config.record_size_limit = limit;
        let (mut input, mut output) = (vec![0; input], vec![0; output]);
        let buffers = Buffers { input: &mut input, output: &mut output };
        connector(config).start(by_psk(), peer(), buffers).map(|_| ())
    };
    let (input, output) = (input_len(LIMIT), output_len(64));
    assert_eq!(client_with(Some(LIMIT), input, output), Ok(()));
    assert_eq!(client_with(Some(LIMIT), input - 3, output), too_small(Buffer::Input, 3));
    assert_eq!(client_with(Some(LIMIT), 0, output), too_small(Buffer::Input, input));
    assert_eq!(client_with(Some(LIMIT), input, output - 1), too_small(Buffer::Output, 1));
    let missing = tessera_embedded::LARGEST_INPUT - input;
    assert_eq!(client_with(None, input, output), too_small(Buffer::Input, missing));
    assert_eq!(tessera_embedded::LARGEST_INPUT, 16_406);

    let acceptor =
        Acceptor::new(pki.device_server().checked().unwrap(), Arc::new(TestClock::default()));
    let (mut input, mut output) = (vec![0; input - 1], vec![0; output]);
    let buffers = Buffers { input: &mut input, output: &mut output };
    let result = acceptor.start(peer(), buffers).map(|_| ());
    assert_eq!(result, too_small(Buffer::Input, 1));
}

/// The smallest buffers and records carry everything.
#[test]
fn the_smallest_buffers_suffice() {
    let pki = Pki::new();
    let mut config = psk_client(&pki);
    config.record_size_limit = Some(200);
    let (mut input, mut output) = (vec![0; input_len(200)], vec![0; output_len(64)]);
    let buffers = Buffers { input: &mut input, output: &mut output };
    let stream = connector(config).start(by_psk(), peer(), buffers);
    let (received, peer) = converse(stream).unwrap();
    assert_eq!((received, peer.data), (vec![9; 5000], b"from the device".to_vec()));
}

#[test]
fn after_the_end_of_one_direction_the_other_goes_on() {
    let mut memory = Memory::new();
    let mut stream = start(&mut memory, peer()).unwrap();
    stream.handshake_blocking().unwrap();
    stream.close_blocking().unwrap();
    stream.close_blocking().unwrap();
    let error = stream.write(b"more").unwrap_err();
    assert_eq!(
        (error.clone(), error.kind()),
        (Error::Tls(TlsError::Closed), ErrorKind::BrokenPipe)
    );
    assert!(stream.get_ref().is_closed);
    stream.get_mut().send(b"still here");
    let mut received = [0; 10];
    stream.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"still here");

    let mut memory = Memory::new();
    let mut stream = start(&mut memory, peer()).unwrap();
    stream.handshake_blocking().unwrap();
    stream.get_mut().close();
    assert_eq!(stream.read(&mut received), Ok(0));
    stream.write_all(b"still here").unwrap();
    // Even now, a read sends what waits.
    assert_eq!(stream.read(&mut received), Ok(0));
    assert_eq!(stream.get_ref().data, b"still here");
}

#[test]
fn empty_reads_and_writes_do_nothing() {
    let mut memory = Memory::new();
    let mut stream = start(&mut memory, peer()).unwrap();
    assert_eq!((stream.read(&mut []), stream.write(&[])), (Ok(0), Ok(0)));
    assert_eq!(stream.get_ref().sent, 0);
}

#[test]
fn a_question_that_waits_is_an_error() {
    struct Waits;
    impl PeerVerifier for Waits {
        fn schemes(&self) -> &[SignatureScheme] {
            &[SignatureScheme::ECDSA_SECP256R1_SHA256]
        }
        fn policy(&self) -> VerifierPolicy {
            VerifierPolicy::new("test: later")
        }
        fn verify(
            &self,
            _: &VerifyPeer,
        ) -> Reply<core::result::Result<PeerAcceptance, PeerRejected>> {
            Reply::Later
        }
    }
    let pki = Pki::new();
    let mut config = ClientConfig::new(device(), Arc::new(Waits));
    config.record_size_limit = Some(LIMIT);
    let mut memory = Memory::new();
    let peer = Peer::new(&pki.server().checked().unwrap());
    let mut stream = connector(config).start(by_chain(), peer, memory.lend()).unwrap();
    let error = stream.handshake_blocking().unwrap_err();
    assert_eq!((error.clone(), error.kind()), (Error::Unanswered, ErrorKind::Unsupported));
    let alert = TlsError::AlertReceived(AlertDescription::INTERNAL_ERROR);
    assert_eq!(stream.get_ref().error, Some(alert));
}

/// The engine's own error goes before that of a transport that can't send its alert.
#[test]
fn an_alert_that_cant_be_sent_hides_no_error() {
    struct Deaf(bool);
    impl embedded_io::ErrorType for Deaf {
        type Error = ErrorKind;
    }
    impl Read for Deaf {
        fn read(&mut self, buffer: &mut [u8]) -> core::result::Result<usize, ErrorKind> {
            self.0 = true;
            buffer[..4].copy_from_slice(b"HTTP");
            Ok(4)
        }
    }
    impl Write for Deaf {
        fn write(&mut self, bytes: &[u8]) -> core::result::Result<usize, ErrorKind> {
            if self.0 { Err(ErrorKind::BrokenPipe) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> core::result::Result<(), ErrorKind> {
            Ok(())
        }
    }
    let mut memory = Memory::new();
    let connector = connector(psk_client(&Pki::new()));
    let mut stream = connector.start(by_psk(), Deaf(false), memory.lend()).unwrap();
    for _ in 0..2 {
        let error = stream.handshake_blocking().unwrap_err();
        assert!(matches!(error, Error::Tls(TlsError::Protocol { .. })), "{error:?}");
    }
}

#[test]
fn padded_records_hide_how_much_is_in_them() {
    for multiple in [16, 300, 5000] {
        let mut config = psk_client(&Pki::new());
        config.padding = Padding::MultipleOf(NonZeroU16::new(multiple).unwrap());
        let mut memory = Memory::new();
        let output = memory.output.len();
        let stream = connector(config).start(by_psk(), peer(), memory.lend());
        let result = converse(stream);
        // Where no multiple fits the output, no record can be padded to one.
        match multiple {
            5000 => {
                let too_small =
                    BufferTooSmall { buffer: Buffer::Output, missing: output_len(5000) - output };
                assert_eq!(result.err(), Some(Error::Buffer(too_small)));
            }
            _ => assert_eq!(result.unwrap().1.data, b"from the device"),
        }
    }
}

/// The answer to a key update goes before the next record of data, under the old keys.
#[test]
fn keys_change_in_both_directions() {
    let mut memory = Memory::new();
    let mut stream = start(&mut memory, peer()).unwrap();
    stream.handshake_blocking().unwrap();
    for round in 0..3 {
        // Data waits already when the request arrives.
        stream.write_all(&[round; 100]).unwrap();
        stream.get_mut().update_keys();
        stream.get_mut().send(&[round; 50]);
        let mut received = [0xff; 50];
        stream.read_exact(&mut received).unwrap();
        assert_eq!(received, [round; 50]);
        stream.write_all(&[round; 2000]).unwrap();
        stream.flush().unwrap();
    }
    let sent: Vec<u8> = (0..3).flat_map(|round| [round; 2100]).collect();
    assert!(stream.get_ref().data == sent && stream.get_ref().error.is_none());
}
