//! TCP Fast Open over an emulated link: two network namespaces, each with its own sysctl, its own cookies and
//! no foreign packets.
//!
//! As root these tests need the link, and fail without it.
#![cfg(target_os = "linux")]

mod network;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::common::{self, destination, ends, forward_secret, replayable};
use network::{
    PENDING, REQUEST, again, allow, at, connector, link, prepared, serve, slow, small, start,
};
use tessera::resume::Verdict;
use tessera::wire::NamedGroup;
use tessera_link::{End, LinkParameters};
use tessera_tokio::fast_open::{FastOpenStream, Opening, accept_on, syn_data_was_taken};
use tessera_tokio::{EarlyData, EarlyDataOutcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// The whole flight is in the SYN, and its request is executed before the client sends anything else.
#[test]
fn a_request_is_executed_after_half_a_round_trip() {
    let Some((link, address, seen, connector)) = prepared(&small()) else { return };
    link.set(&slow()).unwrap();
    let second = again(&link, address, &connector);
    let size = second.first_flight.len();
    assert_eq!((second.began, second.ended), (Opening::Waiting, Opening::Taken(size)));
    assert_eq!(second.told, Ok(REQUEST.len()));
    assert_eq!((seen.executed(), seen.with_syn_data()), (2, 1));
    assert_eq!(seen.packets.load(Ordering::SeqCst), 1, "the SYN alone");
    assert_eq!(link.statistics().to_server.syn_data_packets, 1);
}

/// ML-KEM's keys don't fit: the SYN carries a part, and the rest follows.
#[test]
fn a_flight_larger_than_a_syn_arrives_whole() {
    let Some((link, address, seen, connector)) = prepared(&forward_secret()) else { return };
    link.set(&slow()).unwrap();
    let second = again(&link, address, &connector);
    assert!(second.first_flight.len() > 1500);
    // 1,500 bytes without IP and TCP headers, and without the 40 that Linux keeps for options.
    assert_eq!(second.ended, Opening::Taken(1420));
    assert_eq!((second.told, seen.executed()), (Ok(REQUEST.len()), 2));
    assert!(seen.packets.load(Ordering::SeqCst) > 1);
}

/// Some networks treat data in a SYN as an attack. The kernel sends an ordinary SYN a second later.
#[test]
fn a_network_that_loses_syns_with_data_costs_time_alone() {
    let Some((link, address, seen, connector)) = prepared(&small()) else { return };
    link.set(&LinkParameters { syn_data_lost: true, ..LinkParameters::default() }).unwrap();
    let second = again(&link, address, &connector);
    let size = second.first_flight.len();
    assert_eq!((second.began, second.ended), (Opening::Waiting, Opening::NotTaken(size)));
    assert_eq!((second.told, seen.executed()), (Ok(REQUEST.len()), 2));
    assert_eq!(seen.with_syn_data(), 0);
}

/// Whatever is missing, there is no error.
#[test]
fn without_the_consent_of_both_systems_connections_begin_as_usual() {
    let Some(link) = link() else { return };
    let ends = small();
    let (address, seen) = serve(&link, ends.acceptor());
    let connector = connector(&ends);
    let begin = || again(&link, address, &connector).ended;
    allow(&link, End::Server, 1);
    assert_eq!([begin(), begin()], [Opening::NoCookie; 2], "the server gives no cookie");
    allow(&link, End::Client, 2);
    assert_eq!(begin(), Opening::Off, "the client may not");
    allow(&link, End::Client, 1);
    allow(&link, End::Server, 2);
    assert_eq!(begin(), Opening::NoCookie);
    assert!(matches!(begin(), Opening::Taken(_)));
    // The server no longer accepts the cookie.
    allow(&link, End::Server, 1);
    assert!(matches!(begin(), Opening::NotTaken(_)));
    assert_eq!((seen.executed(), seen.with_syn_data()), (6, 1));
    assert_eq!(link.failure(), None);
}

#[test]
fn a_listener_reports_what_the_system_lacks() {
    let Some(link) = link() else { return };
    allow(&link, End::Server, 1);
    let address = SocketAddr::new(link.addresses().server, 0);
    let error = at(&link, End::Server, move || async move {
        let listener = TcpListener::bind(address).await.unwrap();
        accept_on(&listener, PENDING).unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.to_string().starts_with("the sysctl net.ipv4.tcp_fastopen is 1: 2 lets"),
        "{error}"
    );
}

/// The kernel finds the cookie gone at the first write: nothing is lost, and nothing sent twice.
#[test]
fn a_cookie_that_is_forgotten_before_the_first_write_does_no_harm() {
    let Some((link, address, seen, connector)) = prepared(&small()) else { return };
    let (waits, is_waiting) = mpsc::channel();
    let (goes_on, may_go_on) = mpsc::channel();
    let client = start(&link, End::Client, move || async move {
        let socket = FastOpenStream::connect(address).await.unwrap();
        waits.send(socket.opening()).unwrap();
        may_go_on.recv().unwrap();
        let early = connector.connect_with_early_data(destination(), socket, REQUEST).await;
        let (mut stream, told) = common::settled(early);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        (told, answer, stream.get_ref().opening())
    });
    assert_eq!(is_waiting.recv().unwrap(), Opening::Waiting);
    let mut forget = Command::new("ip");
    forget.args(["tcp_metrics", "flush", "all"]);
    assert!(link.spawn(End::Client, forget).unwrap().wait().unwrap().success());
    goes_on.send(()).unwrap();
    let (told, answer, opening) = client.join().unwrap();
    assert_eq!(
        (told, opening),
        (common::EarlyDataReport::Accepted(REQUEST.len()), Opening::NoCookie)
    );
    assert_eq!((answer.as_slice(), seen.executed()), (REQUEST.as_slice(), 2));
}

/// The port has no listener any more: the error comes with the handshake and every later call, and doesn't
/// promise that nothing was executed.
#[test]
fn a_refused_syn_is_an_error_and_its_early_data_may_have_been_executed() {
    let Some((link, mut address, _, connector)) = prepared(&small()) else { return };
    // A cookie belongs to the address, not the port.
    address.set_port(address.port() ^ 1);
    let (early, again) = at(&link, End::Client, move || async move {
        let socket = FastOpenStream::connect(address).await.unwrap();
        assert_eq!(socket.opening(), Opening::Waiting);
        let mut stream = connector.start(destination(), socket).await.unwrap();
        let early = stream.handshake_with_early_data(REQUEST).await;
        (early, [stream.handshake().await, stream.write_all(REQUEST).await])
    });
    let EarlyData::Failed { error, outcome: EarlyDataOutcome { sent, verdict, .. }, .. } = early
    else {
        panic!("{early:?}")
    };
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!((sent, verdict), (REQUEST.len(), Some(Verdict::Unknown)));
    for again in again {
        assert_eq!(again.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}

/// The SYN carried a part of the ClientHello, and the request waited behind it.
#[test]
fn early_data_that_was_not_in_a_refused_syn_was_not_sent() {
    let Some((link, mut address, _, connector)) = prepared(&forward_secret()) else { return };
    address.set_port(address.port() ^ 1);
    let early = at(&link, End::Client, move || async move {
        let socket = FastOpenStream::connect(address).await.unwrap();
        connector.connect_with_early_data(destination(), socket, REQUEST).await
    });
    let EarlyData::NotSent(Err(error)) = early else { panic!("{early:?}") };
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

/// The network disappears between connect() and the first write.
#[test]
fn early_data_for_which_no_syn_left_was_not_sent() {
    let Some((link, address, _, connector)) = prepared(&small()) else { return };
    let (waits, is_waiting) = mpsc::channel();
    let (goes_on, may_go_on) = mpsc::channel();
    let client = start(&link, End::Client, move || async move {
        let socket = FastOpenStream::connect(address).await.unwrap();
        waits.send(socket.opening()).unwrap();
        may_go_on.recv().unwrap();
        connector.connect_with_early_data(destination(), socket, REQUEST).await
    });
    assert_eq!(is_waiting.recv().unwrap(), Opening::Waiting);
    // The interface disappears with its link, the namespace stays.
    assert!(Arc::into_inner(link).is_some());
    goes_on.send(()).unwrap();
    let early = client.join().unwrap();
    let EarlyData::NotSent(Err(error)) = early else { panic!("{early:?}") };
    assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
    assert!(error.to_string().contains("no route to the server"), "{error}");
}

/// The server takes the request and resets: the client may assume nothing.
#[test]
fn a_server_that_resets_after_the_syn_may_have_executed_its_request() {
    let Some((link, mut address, _, connector)) = prepared(&small()) else { return };
    address.set_port(0);
    let (bound, is_bound) = mpsc::channel();
    let server = start(&link, End::Server, move || async move {
        let listener = TcpListener::bind(address).await.unwrap();
        accept_on(&listener, PENDING).unwrap();
        bound.send(listener.local_addr().unwrap()).unwrap();
        let (mut socket, _) = listener.accept().await.unwrap();
        let taken = syn_data_was_taken(&socket).unwrap();
        let read = socket.read(&mut [0; 4096]).await.unwrap();
        socket.set_zero_linger().unwrap();
        (taken, read)
    });
    let address = is_bound.recv().unwrap();
    let early = at(&link, End::Client, move || async move {
        let socket = FastOpenStream::connect(address).await.unwrap();
        connector.connect_with_early_data(destination(), socket, REQUEST).await
    });
    let (taken, read) = server.join().unwrap();
    assert!(taken && read > REQUEST.len());
    let EarlyData::Failed { outcome: EarlyDataOutcome { sent, verdict, .. }, .. } = early else {
        panic!("{early:?}")
    };
    assert_eq!((sent, verdict), (REQUEST.len(), Some(Verdict::Unknown)));
}

/// TCP itself may deliver a SYN's data again, as a second connection. To TLS that is a replay.
#[test]
fn a_syn_that_comes_again_executes_nothing_twice() {
    let mut register = replayable();
    register.client.groups = vec![NamedGroup::X25519];
    for ends in [small(), register] {
        let Some((link, address, seen, connector)) = prepared(&ends) else { return };
        let second = again(&link, address, &connector);
        assert!(matches!(second.ended, Opening::Taken(size) if size == second.first_flight.len()));
        assert_eq!((second.told, seen.executed(), seen.with_syn_data()), (Ok(8), 2, 1));
        for replays in 1..=5 {
            let flight = second.first_flight.clone();
            at(&link, End::Client, move || async move {
                let mut socket = FastOpenStream::connect(address).await.unwrap();
                socket.write_all(&flight).await.unwrap();
                socket.shutdown().await.unwrap();
                let _ = socket.read_to_end(&mut Vec::new()).await;
                assert_eq!(socket.opening(), Opening::Taken(flight.len()));
            });
            assert_eq!((seen.executed(), seen.with_syn_data()), (2, 1 + replays));
        }
    }
}

/// A ClientHello alone has no effect when it arrives twice.
#[test]
fn a_handshake_without_early_data_begins_in_the_syn_too() {
    let mut ends = ends();
    ends.client.groups = vec![NamedGroup::X25519];
    let Some((link, address, seen, connector)) = prepared(&ends) else { return };
    let second = again(&link, address, &connector);
    assert!(matches!(second.ended, Opening::Taken(size) if size == second.first_flight.len()));
    assert_eq!((second.told, seen.executed()), (Ok(0), 2));
}

/// A shutdown before the first write is an orderly end.
#[test]
fn a_stream_that_was_never_written_to_opens_no_connection() {
    let Some((link, address, seen, _)) = prepared(&small()) else { return };
    link.set(&LinkParameters::default()).unwrap();
    at(&link, End::Client, move || async move {
        let mut socket = FastOpenStream::connect(address).await.unwrap();
        assert_eq!(socket.write(&[]).await.unwrap(), 0);
        assert_eq!(socket.opening(), Opening::Waiting);
        let waits = tokio::time::timeout(Duration::from_millis(20), socket.read_u8()).await;
        assert!(waits.is_err(), "nothing comes before something was written");
        socket.shutdown().await.unwrap();
    });
    assert_eq!(link.statistics().to_server.offered_packets, 0);
    assert_eq!(seen.executed(), 1);
}

/// On Linux, a shutdown before the server's answer would drop the connection.
#[test]
fn written_data_arrives_although_the_stream_is_shut_down_at_once() {
    let Some((link, mut address, ..)) = prepared(&small()) else { return };
    address.set_port(0);
    link.set(&slow()).unwrap();
    let (bound, is_bound) = mpsc::channel();
    let server = start(&link, End::Server, move || async move {
        let listener = TcpListener::bind(address).await.unwrap();
        accept_on(&listener, PENDING).unwrap();
        bound.send(listener.local_addr().unwrap()).unwrap();
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        socket.read_to_end(&mut read).await.map(|_| read)
    });
    let address = is_bound.recv().unwrap();
    let opening = at(&link, End::Client, move || async move {
        let mut socket = FastOpenStream::connect(address).await.unwrap();
        socket.write_all(REQUEST).await.unwrap();
        assert_eq!(socket.opening(), Opening::Sent(REQUEST.len()));
        socket.shutdown().await.unwrap();
        assert_eq!(socket.read(&mut [0; 9]).await.unwrap(), 0);
        socket.opening()
    });
    assert_eq!(opening, Opening::Taken(REQUEST.len()));
    assert_eq!(server.join().unwrap().unwrap(), REQUEST);
}

/// On Linux, clients that begin in the SYN and disappear before the answer hold their places for a minute.
/// Others lose the round trip, and nothing else.
#[test]
fn clients_that_never_answer_take_the_places_for_syns_with_data_and_no_others() {
    let Some((link, address, seen, connector)) = prepared(&small()) else { return };
    link.set(&slow()).unwrap();
    at(&link, End::Client, move || async move {
        for _ in 0..PENDING.get() {
            let mut socket = FastOpenStream::connect(address).await.unwrap();
            socket.write_all(b"no TLS").await.unwrap();
            assert_eq!(socket.opening(), Opening::Sent(6));
        }
        // The client's kernel refuses the server's answers.
        tokio::time::sleep(2 * slow().rtt).await;
    });
    assert_eq!(seen.with_syn_data(), u32::from(PENDING.get()));
    link.set(&LinkParameters::default()).unwrap();
    let later = again(&link, address, &connector);
    let size = later.first_flight.len();
    assert_eq!((later.began, later.ended), (Opening::Waiting, Opening::NotTaken(size)));
    assert_eq!((later.told, seen.executed()), (Ok(REQUEST.len()), 2));
    assert_eq!(seen.with_syn_data(), u32::from(PENDING.get()));
}

/// A program that knows nothing of early data gets its request into the SYN.
#[test]
fn the_ordinary_write_of_a_first_flight_travels_in_the_syn() {
    let Some((link, address, seen, connector)) = prepared(&small()) else { return };
    link.set(&slow()).unwrap();
    let (answer, opening) = at(&link, End::Client, move || async move {
        let socket = FastOpenStream::connect(address).await.unwrap();
        let mut flight = connector.first_flight(destination(), socket).await.unwrap();
        assert!(flight.carries_early_data());
        flight.write_all(REQUEST).await.unwrap();
        flight.flush().await.unwrap();
        let mut answer = Vec::new();
        flight.read_to_end(&mut answer).await.unwrap();
        (answer, flight.get_ref().opening())
    });
    assert_eq!(answer, REQUEST);
    assert!(matches!(opening, Opening::Taken(_)), "{opening:?}");
    assert_eq!((seen.executed(), seen.with_syn_data()), (2, 1));
    assert_eq!(seen.packets.load(Ordering::SeqCst), 1, "the SYN alone");
}
