//! Tests of whole links, over the kernel's TCP.
//!
//! As root they need the emulated link, and fail without it; for other users [`LinkKind::Auto`] decides.
#![allow(clippy::panic, clippy::unwrap_used, reason = "the helpers here are tests too")]

mod common;

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tessera_link::{
    Congestion, End, Link, LinkError, LinkKind, LinkParameters, LinkStatistics, Prerequisite,
};

use self::common::emulated;

const MS: Duration = Duration::from_millis(1);
/// Long enough for every machine, short enough to notice a test that hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// The number of connections of [`quickest_echo`].
const ECHOES: usize = 5;

/// Runs a closure at one end, and returns its result.
fn at<T: Send + 'static>(link: &Link, end: End, body: impl FnOnce() -> T + Send + 'static) -> T {
    link.spawn_thread(end, body).unwrap().join().unwrap()
}

/// Starts a server that echoes to its clients, one after the other.
fn echo_server(link: &Link, clients: usize) -> (SocketAddr, JoinHandle<()>) {
    let address = SocketAddr::new(link.addresses().server, 0);
    let (bound, is_bound) = mpsc::channel();
    let thread = link
        .spawn_thread(End::Server, move || {
            let listener = TcpListener::bind(address).unwrap();
            bound.send(listener.local_addr().unwrap()).unwrap();
            for _ in 0..clients {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let mut buffer = [0; 65536];
                loop {
                    let length = stream.read(&mut buffer).unwrap();
                    if length == 0 {
                        break;
                    }
                    stream.write_all(&buffer[..length]).unwrap();
                }
            }
        })
        .unwrap();
    (is_bound.recv().unwrap(), thread)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Echoes `payload` over a new connection; returns the time to connect, and the time for the rest.
fn echo(link: &Link, address: SocketAddr, payload: Vec<u8>) -> (Duration, Duration) {
    at(link, End::Client, move || {
        let start = Instant::now();
        let mut stream = connect(address);
        let connected = start.elapsed();
        let mut sender = stream.try_clone().unwrap();
        let sent = payload.clone();
        let writer = thread::spawn(move || sender.write_all(&sent).unwrap());
        let mut back = vec![0; payload.len()];
        stream.read_exact(&mut back).unwrap();
        writer.join().unwrap();
        assert!(back == payload, "the link changed what it carried");
        (connected, start.elapsed() - connected)
    })
}

/// Returns the shortest times of several echoes: a busy machine delays some of them.
fn quickest_echo(link: &Link, address: SocketAddr) -> (Duration, Duration) {
    let echoes: Vec<_> = (0..ECHOES).map(|_| echo(link, address, vec![1; 10])).collect();
    let quickest = |of: fn(&(Duration, Duration)) -> Duration| echoes.iter().map(of).min().unwrap();
    (quickest(|it| it.0), quickest(|it| it.1))
}

fn network_of(path: &str) -> String {
    fs::read_link(path).unwrap().to_string_lossy().into_owned()
}

#[test]
fn a_loopback_link_carries_data_and_refuses_emulation() {
    let link = Link::open(LinkKind::Loopback, &LinkParameters::default()).unwrap();
    assert_eq!(link.kind(), LinkKind::Loopback);
    assert!(!link.emulates() && link.fallback_reason().is_none());
    let (address, server) = echo_server(&link, 1);
    echo(&link, address, vec![7; 5000]);
    server.join().unwrap();
    assert_eq!(link.statistics(), LinkStatistics::default());

    let slow = LinkParameters { rtt: 33 * MS, ..LinkParameters::default() };
    assert!(matches!(link.set(&slow), Err(LinkError::NoEmulation { .. })));
    assert!(matches!(
        Link::open(LinkKind::Loopback, &slow),
        Err(LinkError::NoEmulation { reason: None })
    ));
}

#[test]
fn an_automatic_link_emulates_where_it_can() {
    let link = Link::open(LinkKind::Auto, &LinkParameters::default()).unwrap();
    assert_ne!(link.kind(), LinkKind::Auto);
    assert_eq!(link.emulates(), link.fallback_reason().is_none());
    if nix::unistd::geteuid().is_root() {
        assert!(link.emulates(), "{:?}", link.fallback_reason());
    }
}

#[test]
fn the_error_about_an_unavailable_link_names_what_is_missing() {
    for missing in
        [Prerequisite::UserNamespaces, Prerequisite::NetworkNamespaces, Prerequisite::TunDevice]
    {
        let source = io::Error::from(ErrorKind::PermissionDenied);
        let message = LinkError::Unavailable { missing, source }.to_string();
        assert!(message.contains(&missing.to_string()), "{message}");
    }
}

#[test]
fn datagrams_over_a_link_take_half_the_round_trip_time() {
    let Some(link) = emulated(&LinkParameters { rtt: 60 * MS, ..LinkParameters::default() }) else {
        return;
    };
    let [to, from] = [End::Server, End::Client].map(|end| {
        let address = SocketAddr::new(link.addresses().of(end), 0);
        at(&link, end, move || UdpSocket::bind(address)).unwrap()
    });
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    let start = Instant::now();
    from.send_to(b"datagram", to.local_addr().unwrap()).unwrap();
    let mut received = [0; 64];
    let (length, sender) = to.recv_from(&mut received).unwrap();
    assert!(start.elapsed() >= 30 * MS, "{:?}", start.elapsed());
    assert_eq!((&received[..length], sender), (&b"datagram"[..], from.local_addr().unwrap()));
}

#[test]
fn connecting_over_a_link_takes_the_round_trip_time() {
    let Some(link) = emulated(&LinkParameters::default()) else { return };
    let (address, server) = echo_server(&link, 3 * ECHOES);

    // The same link at both settings, and back.
    let (connected, _) = quickest_echo(&link, address);
    assert!(connected < 33 * MS, "{connected:?}");

    let slow = LinkParameters { rtt: 33 * MS, ..LinkParameters::default() };
    link.set(&slow).unwrap();
    assert_eq!(link.parameters(), slow);
    let (connected, echoed) = quickest_echo(&link, address);
    for taken in [connected, echoed] {
        // Even the quickest takes one round trip, and less than two.
        assert!(taken >= 33 * MS && taken < 66 * MS, "{taken:?}");
    }

    // Packets of the closed connection that are still in flight keep their delay.
    thread::sleep(100 * MS);
    link.set(&LinkParameters::default()).unwrap();
    let (connected, _) = quickest_echo(&link, address);
    assert!(connected < 33 * MS, "{connected:?}");
    server.join().unwrap();
    assert_eq!(link.failure(), None);
}

#[test]
fn a_transfer_over_a_link_arrives_whole_and_is_counted() {
    let parameters = LinkParameters { rtt: 2 * MS, ..LinkParameters::default() };
    let Some(link) = emulated(&parameters) else { return };
    let (address, server) = echo_server(&link, 1);
    let payload: Vec<u8> = (0..2_000_000_u32).map(|i| (i % 251) as u8).collect();
    echo(&link, address, payload);
    server.join().unwrap();
    let statistics = link.statistics();
    for direction in [statistics.to_server, statistics.to_client] {
        assert!(direction.delivered_bytes > 2_000_000, "{direction:?}");
        assert!(direction.offered_packets >= direction.delivered_packets, "{direction:?}");
        // No packet is larger than the mtu, which bounds their number from below.
        assert!(direction.offered_packets > 2_000_000 / 1500, "{direction:?}");
        assert_eq!(direction.lost, 0, "{direction:?}");
        // The kernel of a busy machine may refuse one now and then; TCP retransmits it.
        assert!(direction.refused * 100 <= direction.offered_packets, "{direction:?}");
    }
    link.set(&parameters).unwrap();
    assert_eq!(link.statistics(), LinkStatistics::default());
}

#[test]
fn tcp_gets_through_a_link_that_loses_packets() {
    let each = LinkParameters { loss: 0.05, seed: 11, ..LinkParameters::default() };
    let congestion = Congestion::Mean(Duration::from_micros(300));
    let bursts = LinkParameters { loss: 0.03, loss_burst: 3.0, congestion, ..each.clone() };
    for parameters in [each, bursts] {
        let Some(link) = emulated(&parameters) else { return };
        let (address, server) = echo_server(&link, 1);
        echo(&link, address, vec![9; 300_000]);
        server.join().unwrap();
        let statistics = link.statistics();
        assert!(statistics.to_server.lost > 0 && statistics.to_client.lost > 0, "{statistics:?}");
    }
}

#[test]
fn a_link_that_loses_everything_connects_no_one() {
    let Some(link) = emulated(&LinkParameters { loss: 1.0, ..LinkParameters::default() }) else {
        return;
    };
    let address = SocketAddr::new(link.addresses().server, 9);
    let error = at(&link, End::Client, move || {
        TcpStream::connect_timeout(&address, 300 * MS).unwrap_err().kind()
    });
    assert_eq!(error, ErrorKind::TimedOut);
    let statistics = link.statistics();
    assert!(statistics.to_server.lost > 0);
    assert_eq!(statistics.to_server.delivered_packets, 0);
    assert_eq!(statistics.to_client.offered_packets, 0);
}

#[test]
fn no_packet_on_a_link_is_larger_than_its_mtu() {
    let small = LinkParameters { mtu: 700, ..LinkParameters::default() };
    let Some(link) = emulated(&small) else { return };
    let (address, server) = echo_server(&link, 2);
    for (mtu, most_payload) in [(700_u16, 660), (1300, 1260)] {
        link.set(&LinkParameters { mtu, ..LinkParameters::default() }).unwrap();
        echo(&link, address, vec![5; 100_000]);
        let statistics = link.statistics();
        for direction in [statistics.to_server, statistics.to_client] {
            assert!(direction.offered_packets >= 100_000 / most_payload, "{direction:?}");
            assert!(
                direction.offered_bytes <= direction.offered_packets * u64::from(mtu),
                "{direction:?}"
            );
        }
    }
    server.join().unwrap();
}

#[test]
fn the_ends_of_a_link_are_isolated_from_each_other_and_the_machine() {
    let Some(link) = emulated(&LinkParameters::default()) else { return };
    let own = network_of("/proc/thread-self/ns/net");
    let client = at(&link, End::Client, || network_of("/proc/thread-self/ns/net"));
    let server = at(&link, End::Server, || network_of("/proc/thread-self/ns/net"));
    assert!(own != client && own != server && client != server);

    // An address can be bound only where it exists. (Nothing is sent.)
    let addresses = link.addresses();
    let binds = |address| {
        move || {
            TcpListener::bind(SocketAddr::new(address, 0)).map(drop).map_err(|error| error.kind())
        }
    };
    let nowhere = Err(ErrorKind::AddrNotAvailable);
    assert_eq!(at(&link, End::Client, binds(addresses.client)), Ok(()));
    assert_eq!(at(&link, End::Server, binds(addresses.server)), Ok(()));
    assert_eq!(at(&link, End::Client, binds(addresses.server)), nowhere);
    assert_eq!(at(&link, End::Server, binds(addresses.client)), nowhere);
    assert_eq!(binds(addresses.client)(), nowhere);
    assert_eq!(binds(addresses.server)(), nowhere);

    // Besides the link there is only the end's own loopback interface, which works.
    for end in [End::Client, End::Server] {
        let mut interfaces = at(&link, end, || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            connect(listener.local_addr().unwrap());
            interfaces()
        });
        interfaces.sort();
        assert_eq!(interfaces, ["link0", "lo"]);
    }
    assert!(!interfaces().contains(&"link0".to_owned()));
}

/// Returns the interfaces of the calling thread's namespace.
fn interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let names = table.lines().filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

#[test]
fn processes_start_at_their_end_of_a_link() {
    let Some(link) = emulated(&LinkParameters::default()) else { return };
    for end in [End::Client, End::Server] {
        let mut command = Command::new("readlink");
        command.arg("/proc/self/ns/net").stdout(Stdio::piped());
        let output = link.spawn(end, command).unwrap().wait_with_output().unwrap();
        assert!(output.status.success());
        let theirs = at(&link, end, || network_of("/proc/thread-self/ns/net"));
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), theirs);
    }
    let missing = link.spawn(End::Client, Command::new("/nonexistent/program"));
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    // A command that can't be started does not end the namespace.
    assert!(link.spawn(End::Client, Command::new("true")).unwrap().wait().unwrap().success());
}

#[test]
fn dropping_a_link_removes_it() {
    let Some(link) = emulated(&LinkParameters::default()) else { return };
    let (started, is_started) = mpsc::channel();
    let (finish, finished) = mpsc::channel::<()>();
    // A thread that is still at an end afterwards finds the link gone.
    let left_behind = link
        .spawn_thread(End::Client, move || {
            started.send(interfaces()).unwrap();
            finished.recv().unwrap();
            interfaces()
        })
        .unwrap();
    assert!(is_started.recv().unwrap().contains(&"link0".to_owned()));
    drop(link);
    finish.send(()).unwrap();
    let after = left_behind.join().unwrap();
    assert_eq!(after, ["lo"]);
}

#[test]
fn links_do_not_disturb_each_other() {
    let Some(first) = emulated(&LinkParameters::default()) else { return };
    let Some(second) = emulated(&LinkParameters { loss: 1.0, ..LinkParameters::default() }) else {
        return;
    };
    let (address, server) = echo_server(&first, 1);
    echo(&first, address, vec![1; 1000]);
    server.join().unwrap();
    assert_eq!(second.statistics(), LinkStatistics::default());
}
