//! The counters match the packets.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddrV4, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tessera_link::End;

use super::*;
use crate::bithac::way::CertificateWay;
use crate::certificates::Certificates;
use crate::wired::{LinkName, Segment};

/// Returns both ends over a link with small packets; `None` only if the machine forbids it, which must not happen to
/// root.
fn wired() -> Option<WiredPair> {
    let small = LinkParameters { mtu: 127, ..LinkParameters::default() };
    match Link::open(LinkKind::Tun, &small) {
        Err(tessera_link::LinkError::Unavailable { .. }) => None,
        link => Some(WiredPair::new(link.unwrap()).unwrap()),
    }
}

/// Makes one cached connection, and returns its counts.
fn cached(wired: &mut WiredPair) -> (Sample, SocketAddrV4) {
    let parties = Parties::new(Certificates::P256, 2).unwrap();
    let mut ends = Ends::new(CertificateWay::Cached, &parties).unwrap();
    prepare(wired, &mut ends, 1).unwrap();
    wired.see_the_end(&mut Counter::new(wired.address())).unwrap();
    let small = LinkParameters { seed: 1, ..wired.link().parameters() };
    // Restarts the statistics.
    wired.set_link(&small).unwrap();
    let sample = connection(wired, &mut ends, &parties).unwrap();
    (sample, wired.address())
}

#[test]
fn the_observer_counts_exactly_the_bytes_on_the_link() {
    let Some(mut wired) = wired() else { return };
    let (sample, _) = cached(&mut wired);
    let link = wired.link().statistics();
    for (sent, carried) in [(sample.client, link.to_server), (sample.server, link.to_client)] {
        assert_eq!((sent.ip, sent.packets), (carried.offered_bytes, carried.offered_packets));
        // TCP may retransmit on a slow machine.
        assert!(sent.handshake < sent.tls && sent.tls <= sent.payload, "{sent:?}");
    }
}

/// Waiting for the server's Finished takes a round trip more (docs/kem-auth.md 7).
#[test]
fn data_leaves_before_a_server_that_authenticates_with_a_kem_has_finished() {
    let name = |certificates| {
        let link = LinkName { rtt_ms: 100.0, rate_bps: None, mtu: 1500, loss: 0.0 };
        CellName { part: Part::Times, way: CertificateWay::ServerOnly, certificates, link }
    };
    let measured = |certificates| {
        let parties = Parties::new(certificates, 2).unwrap();
        measure(&name(certificates), &parties, 1, 1, || ()).unwrap().samples[0]
    };
    if wired().is_none() {
        return;
    }
    let signed = measured(Certificates::P256);
    assert_eq!(signed.data_us, None);
    let sample = measured(Certificates::MlKem768);
    let data = sample.data_us.expect("data before the handshake was complete");
    assert!((190e3..290e3).contains(&data), "{sample:?}");
    assert!(sample.handshake_us - data > 90e3, "{sample:?}");
}

#[test]
fn the_observer_and_tcpdump_count_the_same() {
    let Some(mut wired) = wired() else { return };
    let mut tcpdump = Command::new("tcpdump");
    // With buffer slots for long packets it has few of them, and loses packets.
    tcpdump.args(["-i", "any", "-U", "--immediate-mode", "-s", "256", "-w", "-", "tcp"]);
    tcpdump.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = wired.link().spawn(End::Client, tcpdump).expect("tcpdump starts");
    let mut said = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    while !said.contains("listening on") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let capture = Arc::new(Mutex::new(Vec::new()));
    let kept = capture.clone();
    let mut stdout = child.stdout.take().unwrap();
    thread::spawn(move || {
        let mut some = [0; 4096];
        while let Ok(count @ 1..) = stdout.read(&mut some) {
            kept.lock().unwrap().extend_from_slice(&some[..count]);
        }
    });
    let (sample, server) = cached(&mut wired);
    // Packets are captured in order: once another connection begins, all of this one is captured.
    let mark = wired.link().spawn_thread(End::Client, move || TcpStream::connect(server)).unwrap();
    let _mark = mark.join().unwrap().unwrap();
    let (packets, clients) = loop {
        let packets = packets(&capture.lock().unwrap());
        let clients = clients(&packets, server);
        // The one that filled the caches, the one that counts, and the marker.
        if clients.len() == 3 {
            break (packets, clients);
        }
        assert!(child.try_wait().unwrap().is_none(), "tcpdump ended");
        thread::sleep(Duration::from_millis(1));
    };
    child.kill().unwrap();
    child.wait().unwrap();

    let client = clients[1];
    let mut counted = [(0, 0); 2];
    for packet in &packets {
        let (Some(segment), bytes) = (Segment::read(packet), packet.len()) else { continue };
        let side = match (segment.from, segment.to) {
            ends if ends == (client, server) => 0,
            ends if ends == (server, client) => 1,
            _ => continue,
        };
        counted[side].0 += bytes as u64;
        counted[side].1 += 1;
    }
    let ours = [sample.client, sample.server].map(|sent| (sent.ip, sent.packets));
    assert_eq!(counted, ours, "bytes and packets of the client, and of the server");
}

/// Returns the addresses from which connections to a server began, in order.
fn clients(packets: &[Vec<u8>], server: SocketAddrV4) -> Vec<SocketAddrV4> {
    let segments = packets.iter().filter_map(|packet| Segment::read(packet));
    let mut clients: Vec<_> =
        segments.filter(|it| it.is_syn && it.to == server).map(|it| it.from).collect();
    // A retransmitted SYN.
    clients.dedup();
    clients
}

/// Returns the complete IP packets of a growing capture (pcap, with link type LINUX_SLL2 or LINUX_SLL, as `any`
/// produces).
fn packets(capture: &[u8]) -> Vec<Vec<u8>> {
    if capture.len() < 24 {
        return Vec::new();
    }
    let number = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap()) as usize;
    let header = match number(20) & 0xffff {
        113 => 16,
        276 => 20,
        other => panic!("a capture of another kind: {other}"),
    };
    let mut packets = Vec::new();
    let mut at = 24;
    while at + 16 <= capture.len() {
        let length = number(at + 8);
        if at + 16 + length > capture.len() {
            break;
        }
        packets.push(capture[at + 16 + header..at + 16 + length].to_vec());
        at += 16 + length;
    }
    packets
}
