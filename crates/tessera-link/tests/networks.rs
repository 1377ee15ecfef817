//! Several nodes, joined by several links.
//!
//! As root they need emulated links, and fail without them; for other users the machine decides.
#![allow(clippy::panic, clippy::unwrap_used, reason = "the helpers here are tests too")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tessera_link::{End, Link, LinkError, LinkKind, LinkParameters, Mesh, Network};

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(20);

fn emulated() -> Option<Network> {
    let is_root = nix::unistd::geteuid().is_root();
    let kind = if is_root { LinkKind::Tun } else { LinkKind::Auto };
    let network = Network::open(kind).unwrap();
    if let Some(reason) = network.fallback_reason() {
        eprintln!("not tested: {reason}");
        return None;
    }
    Some(network)
}

fn far(rtt: Duration) -> LinkParameters {
    LinkParameters { rtt, ..LinkParameters::default() }
}

/// Sends a byte from one end of a link to the other; returns the time to connect, and the client's address.
fn meet(link: &Link, from: End) -> (Duration, SocketAddr) {
    let to = if from == End::Client { End::Server } else { End::Client };
    let address = link.addresses().of(to);
    let listener = link.spawn_thread(to, move || TcpListener::bind((address, 0)));
    let listener = listener.unwrap().join().unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    let connecting = link.spawn_thread(from, move || {
        let begun = Instant::now();
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
        let connected = begun.elapsed();
        stream.write_all(b"x").unwrap();
        connected
    });
    let (mut stream, peer) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.read_exact(&mut [0]).unwrap();
    (connecting.unwrap().join().unwrap(), peer)
}

#[test]
fn a_triangle_of_nodes_has_three_links_of_their_own() {
    let Some(network) = emulated() else { return };
    assert_eq!(network.kind(), LinkKind::Tun);
    let [client, near, distant] = ["client", "near", "far"].map(|name| network.node(name).unwrap());
    let plain = LinkParameters::default();
    let to_near = network.join(&client, &near, &plain).unwrap();
    let to_far = network.join(&client, &distant, &far(60 * MS)).unwrap();
    let between = network.join(&near, &distant, &far(30 * MS)).unwrap();
    let links = [(&to_near, Duration::ZERO), (&to_far, 60 * MS), (&between, 30 * MS)];
    for (link, rtt) in links {
        for from in [End::Client, End::Server] {
            let (connected, peer) = meet(link, from);
            assert!(connected >= rtt, "{connected:?} of {rtt:?}");
            assert_eq!(peer.ip(), link.addresses().of(from));
        }
        assert_eq!(link.failure(), None);
    }
    // The distance of one link does not delay the others.
    let quickest = (0..5).map(|_| meet(&to_near, End::Client).0).min().unwrap();
    assert!(quickest < 30 * MS, "{quickest:?}");

    // Links are set and dropped independently.
    between.set(&far(Duration::ZERO)).unwrap();
    drop(to_far);
    meet(&to_near, End::Server);
    meet(&between, End::Client);
}

/// Nodes don't forward: there is no path but a link.
#[test]
fn nodes_that_are_not_joined_do_not_reach_each_other() {
    let Some(network) = emulated() else { return };
    let [client, middle, distant] =
        ["client", "middle", "far"].map(|name| network.node(name).unwrap());
    let plain = LinkParameters::default();
    let first = network.join(&client, &middle, &plain).unwrap();
    let second = network.join(&middle, &distant, &plain).unwrap();
    let address = SocketAddr::new(second.addresses().server, 9);
    let connecting = first.spawn_thread(End::Client, move || {
        TcpStream::connect_timeout(&address, PATIENCE).unwrap_err().kind()
    });
    assert_eq!(connecting.unwrap().join().unwrap(), ErrorKind::NetworkUnreachable);
}

#[test]
fn a_network_of_loopback_links_emulates_nothing() {
    let network = Network::open(LinkKind::Loopback).unwrap();
    assert_eq!((network.kind(), network.fallback_reason().is_none()), (LinkKind::Loopback, true));
    let [one, other] = ["one", "other"].map(|name| network.node(name).unwrap());
    let link = network.join(&one, &other, &LinkParameters::default()).unwrap();
    meet(&link, End::Client);
    let refused = network.join(&one, &other, &far(MS));
    assert!(matches!(refused, Err(LinkError::NoEmulation { reason: None })));
}

/// Nodes are found by name, and reach each other at the addresses of the link between them.
#[test]
fn a_mesh_joins_its_nodes_by_name() {
    if emulated().is_none() {
        return;
    }
    let nodes = ["seoul", "tokyo", "los-angeles"];
    let links = [
        ("seoul", "tokyo", far(20 * MS)),
        ("tokyo", "los-angeles", far(40 * MS)),
        ("seoul", "los-angeles", far(60 * MS)),
    ];
    let mesh = Mesh::open(LinkKind::Tun, &nodes, &links).unwrap();
    assert_eq!(
        mesh.links().map(|(one, other, _)| (one, other)).collect::<Vec<_>>(),
        [("seoul", "tokyo"), ("tokyo", "los-angeles"), ("seoul", "los-angeles")]
    );
    for (one, other, parameters) in &links {
        // Either end may connect, and the names may be in either order.
        for (from, to) in [(one, other), (other, one)] {
            let address = SocketAddr::new(mesh.address(to, from).unwrap(), 0);
            let listener = mesh.spawn_thread(to, move || TcpListener::bind(address)).unwrap();
            let listener = listener.join().unwrap().unwrap();
            let address = listener.local_addr().unwrap();
            let connecting = mesh.spawn_thread(from, move || {
                let begun = Instant::now();
                TcpStream::connect_timeout(&address, PATIENCE).map(|_| begun.elapsed()).unwrap()
            });
            let (_, peer) = listener.accept().unwrap();
            assert!(connecting.unwrap().join().unwrap() >= parameters.rtt);
            assert_eq!(peer.ip(), mesh.address(from, to).unwrap());
            assert_eq!(mesh.link(from, to).unwrap().parameters(), *parameters);
        }
    }
    // A process starts at its node, too.
    let network_of = |node: &str| {
        let mut command = Command::new("readlink");
        command.arg("/proc/self/ns/net").stdout(Stdio::piped());
        mesh.spawn(node, command).unwrap().wait_with_output().unwrap().stdout
    };
    assert!(network_of("seoul") != network_of("tokyo"));
    assert_eq!(network_of("seoul"), network_of("seoul"));
}

#[test]
fn a_mesh_of_loopback_links_emulates_nothing() {
    let nodes = ["one", "other"];
    let mesh = |parameters| Mesh::open(LinkKind::Loopback, &nodes, &[("one", "other", parameters)]);
    let plain = mesh(LinkParameters::default()).unwrap();
    assert_eq!((plain.kind(), plain.fallback_reason().is_none()), (LinkKind::Loopback, true));
    meet(plain.link("other", "one").unwrap(), End::Server);
    assert!(matches!(mesh(far(MS)), Err(LinkError::NoEmulation { reason: None })));
}
