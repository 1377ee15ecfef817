//! Clients that move: NATs, changes of address and outages, over the kernel's UDP.
//!
//! As root these tests need the emulated link, and fail without it; for other users the machine decides.
#![allow(clippy::panic, clippy::unwrap_used, reason = "the helpers here are tests too")]

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use tessera_link::{
    End, Link, LinkAddresses, LinkError, LinkKind, LinkParameters, NatKind, Outages,
};

use self::common::{Outcome, Sockets, carry, emulated, socket};

const MS: Duration = Duration::from_millis(1);

fn behind(kind: NatKind) -> LinkParameters {
    LinkParameters { nat: Some(kind.into()), seed: 5, ..LinkParameters::default() }
}

#[test]
fn the_kernels_sockets_meet_each_kind_of_nat() {
    for (kind, server_first, same_external_port) in [
        (NatKind::FullCone, true, true),
        (NatKind::AddressRestricted, true, true),
        (NatKind::PortRestricted, false, true),
        (NatKind::Symmetric, false, false),
    ] {
        let Some(link) = emulated(&behind(kind)) else { return };
        let outcome = Sockets::at(&link).outcome();
        assert_eq!(outcome, Outcome { server_first, same_external_port }, "{kind}");
        let filtered = link.statistics().to_client.filtered;
        assert_eq!(filtered, u64::from(!server_first), "{kind}");
    }
}

#[test]
fn a_rebound_nat_shows_another_port_and_a_blocking_one_none() {
    let Some(link) = emulated(&behind(NatKind::PortRestricted)) else { return };
    let sockets = Sockets::at(&link);
    let client = link.addresses().client;
    let before = sockets.meet(0);
    assert_eq!(before.ip(), link.external_address(client).unwrap());
    assert_eq!(sockets.meet(0), before);
    link.rebind(client).unwrap();
    let after = sockets.meet(0);
    assert!(after != before && after.ip() == before.ip());

    link.set(&behind(NatKind::Blocked)).unwrap();
    assert!(sockets.are_separated());
    assert_eq!(link.statistics().to_server.filtered, 1);
}

/// TCP passes a NAT unchanged, even one that blocks UDP.
#[test]
fn tcp_passes_a_nat() {
    let Some(link) = emulated(&behind(NatKind::Blocked)) else { return };
    let LinkAddresses { server, client } = link.addresses();
    let listening = link.spawn_thread(End::Server, move || TcpListener::bind((server, 0)));
    let listener = listening.unwrap().join().unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    let connecting = link.spawn_thread(End::Client, move || {
        TcpStream::connect(address).unwrap().write_all(b"x").unwrap();
    });
    let (mut stream, peer) = listener.accept().unwrap();
    stream.read_exact(&mut [0]).unwrap();
    connecting.unwrap().join().unwrap();
    assert_eq!(peer.ip(), client);
}

/// Each address has a path of its own; one that was removed is gone for the kernel, too.
#[test]
fn a_client_changes_its_address() {
    let Some(link) = emulated(&LinkParameters::default()) else { return };
    let LinkAddresses { server, client } = link.addresses();
    let server = socket(&link, End::Server, SocketAddr::new(server, 0));
    let to = server.local_addr().unwrap();
    let first = socket(&link, End::Client, SocketAddr::new(client, 0));
    // It has no address of its own, but that of the interface.
    let unbound = socket(&link, End::Client, "0.0.0.0:5000".parse().unwrap());
    assert_eq!(carry(&first, to, &server), first.local_addr().unwrap());
    assert_eq!(carry(&unbound, to, &server).ip(), client);

    // Make before break, to one behind a NAT.
    let later = link.add_client_address(&behind(NatKind::FullCone)).unwrap();
    let second = socket(&link, End::Client, SocketAddr::new(later, 0));
    assert_eq!(carry(&second, to, &server).ip(), link.external_address(later).unwrap());
    assert_eq!(carry(&first, to, &server), first.local_addr().unwrap());
    link.remove_client_address(client).unwrap();
    // The kernel still sends from it, but there is no way.
    let _ = first.send_to(b"lost", to);
    assert_eq!(carry(&second, to, &server).ip(), link.external_address(later).unwrap());
    assert_eq!(carry(&unbound, to, &server).ip(), link.external_address(later).unwrap());
    let binding = move |address: IpAddr| move || UdpSocket::bind((address, 0)).map(drop);
    let bound = link.spawn_thread(End::Client, binding(client)).unwrap().join().unwrap();
    assert_eq!(bound.unwrap_err().kind(), ErrorKind::AddrNotAvailable);

    // Break before make: without an address there is no route, with one there is again.
    link.remove_client_address(later).unwrap();
    assert!(unbound.send_to(b"lost", to).is_err());
    let last = link.add_client_address(&LinkParameters::default()).unwrap();
    assert!(last != client && last != later);
    assert_eq!(carry(&unbound, to, &server).ip(), last);
    assert!(matches!(link.remove_client_address(client), Err(LinkError::NoAddress(_))));
    assert_eq!(link.failure(), None);
}

#[test]
fn an_outage_of_one_address_leaves_the_other() {
    let always =
        Outages { first: Duration::ZERO, length: 3600 * 1000 * MS, period: 7200 * 1000 * MS };
    let down = LinkParameters { outages: Some(always), ..LinkParameters::default() };
    let Some(link) = emulated(&down) else { return };
    let sockets = Sockets::at(&link);
    let to = sockets.servers[0].local_addr().unwrap();
    let address = link.add_client_address(&LinkParameters::default()).unwrap();
    let second = socket(&link, End::Client, SocketAddr::new(address, 0));
    sockets.client.send_to(b"lost", to).unwrap();
    assert_eq!(carry(&second, to, &sockets.servers[0]), second.local_addr().unwrap());
    let client = link.addresses().client;
    assert_eq!(link.path_statistics(client).unwrap().to_server.down, 1);
    // By hand.
    link.set(&LinkParameters::default()).unwrap();
    sockets.meet(0);
    link.set_down(address, true).unwrap();
    second.send_to(b"lost", to).unwrap();
    sockets.meet(0);
    assert_eq!(link.path_statistics(address).unwrap().to_server.down, 1);
    link.set_down(address, false).unwrap();
    carry(&second, to, &sockets.servers[0]);
}

#[test]
fn copies_reach_the_kernels_sockets() {
    let twice = LinkParameters { duplication: 1.0, ..LinkParameters::default() };
    let Some(link) = emulated(&twice) else { return };
    let sockets = Sockets::at(&link);
    let server = &sockets.servers[0];
    carry(&sockets.client, server.local_addr().unwrap(), server);
    let mut buffer = [0; 64];
    assert_eq!(server.recv_from(&mut buffer).unwrap().0, 8);
    let statistics = link.statistics().to_server;
    assert_eq!((statistics.duplicated, statistics.delivered_packets), (1, 2));
}

/// Also after an mtu that is too small for IPv6.
#[test]
fn datagrams_of_ipv6_pass_and_are_translated() {
    let Some(link) = emulated(&LinkParameters::default()) else { return };
    let LinkAddresses { server, client } = link.addresses().ipv6();
    let has_ipv6 = link.spawn_thread(End::Client, || UdpSocket::bind("[::1]:0").is_ok());
    if !has_ipv6.unwrap().join().unwrap() {
        eprintln!("not tested: this machine has no IPv6");
        return;
    }
    let ends = || {
        let server = socket(&link, End::Server, SocketAddr::new(server, 0));
        (
            server.local_addr().unwrap(),
            server,
            socket(&link, End::Client, SocketAddr::new(client, 0)),
        )
    };
    let (to, at_server, at_client) = ends();
    assert_eq!(carry(&at_client, to, &at_server), at_client.local_addr().unwrap());
    link.set(&LinkParameters { mtu: 576, ..LinkParameters::default() }).unwrap();
    link.set(&behind(NatKind::PortRestricted)).unwrap();
    let (to, at_server, at_client) = ends();
    let external = carry(&at_client, to, &at_server);
    assert_eq!(external.ip(), link.external_address(client).unwrap());
    assert_eq!(carry(&at_server, external, &at_client), to);
    let statistics = link.statistics();
    // The kernel's own announcements are not carried.
    let counts = [statistics.to_server, statistics.to_client].map(|it| it.offered_packets);
    assert_eq!(counts, [1, 1]);
}

#[test]
fn a_loopback_link_has_one_address_and_no_nat() {
    let link = Link::open(LinkKind::Loopback, &LinkParameters::default()).unwrap();
    let client = link.addresses().client;
    assert_eq!(link.addresses().ipv6().client, "::1".parse::<IpAddr>().unwrap());
    let added = link.add_client_address(&LinkParameters::default());
    assert!(matches!(added, Err(LinkError::NoEmulation { .. })));
    assert!(matches!(link.rebind(client), Err(LinkError::NoEmulation { .. })));
    assert!(Link::open(LinkKind::Loopback, &behind(NatKind::FullCone)).is_err());
}
