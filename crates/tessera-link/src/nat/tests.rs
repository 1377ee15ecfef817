use std::collections::BTreeSet;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const START: Duration = Duration::ZERO;

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

fn table(kind: NatKind) -> NatTable {
    NatTable::new(kind.into(), 1)
}

fn expiring(kind: NatKind) -> NatTable {
    NatTable::new(Nat { kind, lifetime: Some(2 * SECOND) }, 1)
}

/// Sends from one socket to one peer, and returns which of three others reach it: at another port, at another address
/// with the same port, and that peer.
fn who_reaches(kind: NatKind) -> [bool; 3] {
    let (client, peer) = (at("10.0.0.1:5000"), at("192.0.2.1:443"));
    let mut table = table(kind);
    let port = table.outbound(START, client, peer).unwrap();
    ["192.0.2.1:444", "192.0.2.2:443", "192.0.2.1:443"].map(|from| {
        let reached = table.inbound(START, at(from), port);
        assert!(reached.is_none_or(|it| it == client));
        assert_eq!(table.inbound(START, at(from), port.wrapping_add(1)), None);
        reached.is_some()
    })
}

/// Returns the external ports of a socket towards three peers: again another port, and another address.
fn external_ports(kind: NatKind) -> [u16; 3] {
    let mut table = table(kind);
    ["192.0.2.1:443", "192.0.2.1:444", "192.0.2.2:443"]
        .map(|peer| table.outbound(START, at("10.0.0.1:5000"), at(peer)).unwrap())
}

#[test]
fn each_kind_filters_by_what_it_depends_on() {
    assert_eq!(who_reaches(NatKind::FullCone), [true, true, true]);
    assert_eq!(who_reaches(NatKind::AddressRestricted), [true, false, true]);
    assert_eq!(who_reaches(NatKind::PortRestricted), [false, false, true]);
    assert_eq!(who_reaches(NatKind::Symmetric), [false, false, true]);
}

#[test]
fn only_a_symmetric_nat_has_a_port_for_each_peer() {
    for kind in [NatKind::FullCone, NatKind::AddressRestricted, NatKind::PortRestricted] {
        let [one, other, another] = external_ports(kind);
        assert!(one == other && one == another, "{kind}");
    }
    assert_eq!(BTreeSet::from(external_ports(NatKind::Symmetric)).len(), 3);
}

#[test]
fn sockets_do_not_share_an_external_port() {
    for kind in [NatKind::FullCone, NatKind::Symmetric] {
        let mut table = table(kind);
        let mut of = |client| table.outbound(START, at(client), at("192.0.2.1:443")).unwrap();
        let ports = ["10.0.0.1:5000", "10.0.0.1:5001", "10.0.0.2:5000"].map(&mut of);
        assert_eq!(BTreeSet::from(ports).len(), 3, "{kind}");
        assert_eq!(of("10.0.0.1:5000"), ports[0], "{kind}");
    }
}

#[test]
fn a_nat_that_blocks_lets_nothing_pass() {
    let mut table = table(NatKind::Blocked);
    assert_eq!(table.outbound(START, at("10.0.0.1:5000"), at("192.0.2.1:443")), None);
    assert!((0..=u16::MAX).all(|port| table.inbound(START, at("192.0.2.1:443"), port).is_none()));
}

#[test]
fn a_mapping_expires_without_datagrams_from_the_client() {
    let (client, peer) = (at("10.0.0.1:5000"), at("192.0.2.1:443"));
    for kind in [NatKind::FullCone, NatKind::PortRestricted, NatKind::Symmetric] {
        let mut table = expiring(kind);
        let port = table.outbound(START, client, peer).unwrap();
        // Each renews it.
        assert_eq!(table.outbound(SECOND, client, peer), Some(port), "{kind}");
        let last = 3 * SECOND - Duration::from_nanos(1);
        assert_eq!(table.inbound(last, peer, port), Some(client), "{kind}");
        // Those to the client don't.
        assert_eq!(table.inbound(3 * SECOND, peer, port), None, "{kind}");
        let renewed = table.outbound(3 * SECOND, client, peer).unwrap();
        assert_ne!(renewed, port, "{kind}");
        assert_eq!(table.inbound(3 * SECOND, peer, renewed), Some(client), "{kind}");
        assert_eq!(table.inbound(3 * SECOND, peer, port), None, "{kind}");
    }
}

/// A socket that goes on sending to one peer keeps its port, but is closed to the others.
#[test]
fn a_filter_expires_peer_by_peer() {
    let (client, peer, other) = (at("10.0.0.1:5000"), at("192.0.2.1:443"), at("192.0.2.2:443"));
    let mut table = expiring(NatKind::PortRestricted);
    let port = table.outbound(START, client, peer).unwrap();
    assert_eq!(table.outbound(SECOND, client, other), Some(port));
    assert_eq!(table.inbound(2 * SECOND, peer, port), None);
    assert_eq!(table.inbound(2 * SECOND, other, port), Some(client));
    assert_eq!(table.outbound(2 * SECOND, client, peer), Some(port));
}

#[test]
fn rebinding_changes_every_port() {
    let (client, peer) = (at("10.0.0.1:5000"), at("192.0.2.1:443"));
    let mut table = table(NatKind::FullCone);
    let mut seen = BTreeSet::new();
    for _ in 0..1000 {
        let port = table.outbound(START, client, peer).unwrap();
        assert!(seen.insert(port), "port {port} came back");
        assert_eq!(table.inbound(START, peer, port), Some(client));
        table.rebind();
        assert_eq!(table.inbound(START, peer, port), None);
    }
}

#[test]
fn ports_repeat_with_the_seed_and_are_never_well_known() {
    let of = |seed| {
        let mut table = NatTable::new(NatKind::Symmetric.into(), seed);
        let client = at("10.0.0.1:5000");
        let port = |peer| table.outbound(START, client, SocketAddr::new(client.ip(), peer));
        (1..=1000).map(port).map(Option::unwrap).collect::<Vec<_>>()
    };
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
    assert!(of(7).into_iter().all(|port| port >= 1024));
    // Published results must repeat with later versions too.
    assert_eq!(of(1)[..4], PINNED);
}

const PINNED: [u16; 4] = [5175, 21094, 37013, 52932];

/// What has expired makes room.
#[test]
fn the_table_is_bounded() {
    for kind in [NatKind::PortRestricted, NatKind::Symmetric] {
        for one_socket in [true, false] {
            let mut table = expiring(kind);
            let mut send = |now, i| {
                let (client, peer) = if one_socket { (1, i) } else { (i, 1) };
                let [client, peer] = [("10.0.0.1", client), ("192.0.2.1", peer)]
                    .map(|(ip, port)| SocketAddr::new(ip.parse().unwrap(), port));
                table.outbound(now, client, peer)
            };
            let sent = (1..=4200).filter(|i| send(START, *i).is_some()).count();
            assert_eq!(sent, 4096, "{kind}");
            assert!(send(SECOND, 4200).is_none() && send(SECOND, 1).is_some(), "{kind}");
            assert!(send(2 * SECOND, 4200).is_some(), "{kind}");
        }
    }
}

#[test]
fn kinds_of_nats_are_parsed_from_what_they_print() {
    for kind in NatKind::ALL {
        assert_eq!(kind.to_string().parse::<NatKind>().unwrap(), kind);
    }
    assert!("cone".parse::<NatKind>().is_err());
}
