use super::*;
use crate::nat::NatKind;
use crate::parameters::Outages;

const MS: Duration = Duration::from_millis(1);
const SERVER: u16 = 4433;
const CLIENT: u16 = 5000;

/// A link, and the time at it.
struct Scene {
    link: VirtualLink,
    now: Duration,
    client: SocketAddr,
    server: SocketAddr,
}

fn scene(parameters: &LinkParameters) -> Scene {
    let link = VirtualLink::open(parameters).unwrap();
    let LinkAddresses { server, client } = link.addresses();
    let (client, server) = (SocketAddr::new(client, CLIENT), SocketAddr::new(server, SERVER));
    Scene { link, now: Duration::ZERO, client, server }
}

fn behind(kind: NatKind) -> LinkParameters {
    LinkParameters { rtt: 20 * MS, nat: Some(kind.into()), ..LinkParameters::default() }
}

impl Scene {
    /// Sends a datagram, and returns it as it arrives, if it does.
    fn carry(&mut self, from: SocketAddr, to: SocketAddr) -> Option<Datagram> {
        self.link.offer(self.now, from, to, vec![7; 100]);
        self.now += 100 * MS;
        let datagram = self.link.take_due(self.now);
        assert!(self.link.next_due().is_none());
        datagram
    }

    /// Returns the external address at which the client's socket sends to a socket of the server's.
    fn seen(&mut self, to: SocketAddr) -> SocketAddr {
        let datagram = self.carry(self.client, to).unwrap();
        assert_eq!(datagram.to, to);
        datagram.from
    }

    fn reaches(&mut self, from: SocketAddr, external: SocketAddr) -> bool {
        let client = self.client;
        self.carry(from, external).is_some_and(|it| {
            assert_eq!((it.from, it.to), (from, client));
            true
        })
    }
}

#[test]
fn a_datagram_takes_half_the_round_trip_in_each_direction() {
    let parameters = LinkParameters { rtt: 20 * MS, ..LinkParameters::default() };
    let Scene { mut link, client, server, .. } = scene(&parameters);
    assert_eq!(link.offer(MS, server, client, vec![2]), Fate::Held(11 * MS));
    assert_eq!(link.offer(MS, client, server, vec![1]), Fate::Held(11 * MS));
    assert_eq!(link.next_due(), Some(11 * MS));
    assert_eq!(link.take_due(11 * MS - Duration::from_nanos(1)), None);
    // At equal times, the server's first.
    let [first, second] = [(); 2].map(|()| link.take_due(11 * MS).unwrap());
    assert_eq!(first, Datagram { from: client, to: server, payload: vec![1] });
    assert_eq!(second, Datagram { from: server, to: client, payload: vec![2] });
    // 20 bytes of IP and 8 of UDP.
    let statistics = link.path_statistics(client.ip()).unwrap();
    assert_eq!(
        (statistics.to_server.offered_bytes, statistics.to_client.delivered_bytes),
        (29, 29)
    );
}

/// Whether the server reaches the client first from another port, and whether that port's first datagram from the
/// client makes it see another external port.
#[test]
fn nats_let_a_server_speak_first_by_their_filtering() {
    for (kind, passes, keeps_port) in [
        (NatKind::FullCone, true, true),
        (NatKind::AddressRestricted, true, true),
        (NatKind::PortRestricted, false, true),
        (NatKind::Symmetric, false, false),
    ] {
        let mut scene = scene(&behind(kind));
        let (first, other) = (scene.server, SocketAddr::new(scene.server.ip(), 9000));
        let external = scene.seen(first);
        assert_ne!(external.ip(), scene.client.ip(), "{kind}");
        assert!(scene.reaches(first, external), "{kind}");
        assert_eq!(scene.reaches(other, external), passes, "{kind}");
        let later = scene.seen(other);
        assert_eq!(later == external, keeps_port, "{kind}");
        assert!(scene.reaches(other, later), "{kind}");
        let filtered = scene.link.path_statistics(scene.client.ip()).unwrap().to_client.filtered;
        assert_eq!(filtered, u64::from(!passes), "{kind}");
        // Without a mapping it is not to be reached.
        let inside = scene.client;
        assert!(!scene.reaches(first, inside), "{kind}");
    }
}

#[test]
fn a_nat_that_blocks_udp_drops_and_counts_it() {
    let mut scene = scene(&behind(NatKind::Blocked));
    let (client, server) = (scene.client, scene.server);
    assert_eq!(scene.link.offer(MS, client, server, vec![1]), Fate::Filtered);
    let external = SocketAddr::new(scene.link.external_address(client.ip()).unwrap(), CLIENT);
    assert!(!scene.reaches(server, external));
    let statistics = scene.link.path_statistics(client.ip()).unwrap();
    assert_eq!((statistics.to_server.filtered, statistics.to_client.filtered), (1, 1));
    assert_eq!(statistics.to_server.offered_packets, 1);
}

/// What is in flight to the earlier port is dropped at the NAT.
#[test]
fn rebinding_and_expiry_change_the_external_port() {
    let nat = Some(crate::Nat { lifetime: Some(2000 * MS), ..NatKind::Symmetric.into() });
    let mut scene = scene(&LinkParameters { nat, ..behind(NatKind::Symmetric) });
    let server = scene.server;
    let first = scene.seen(server);
    assert_eq!(scene.seen(server), first);
    scene.now += 2000 * MS;
    assert!(!scene.reaches(server, first));
    let second = scene.seen(server);
    assert_ne!(second, first);
    scene.link.offer(scene.now, server, second, vec![1]);
    scene.link.rebind(scene.client.ip()).unwrap();
    assert_eq!(scene.link.take_due(scene.now + 20 * MS), None);
    let third = scene.seen(server);
    assert!(![first, second].contains(&third) && third.ip() == second.ip());
}

#[test]
fn each_address_of_a_client_has_its_own_path() {
    let Scene { mut link, client, server, .. } =
        scene(&LinkParameters { rtt: 10 * MS, ..LinkParameters::default() });
    let far = LinkParameters {
        rtt: 100 * MS,
        outages: Some(Outages { first: 10 * MS, length: 5 * MS, period: 1000 * MS }),
        ..behind(NatKind::FullCone)
    };
    let second = SocketAddr::new(link.add_client_address(100 * MS, &far).unwrap(), CLIENT);
    assert_ne!(second, client);
    let fates = |link: &mut VirtualLink, now| {
        [client, second].map(|from| link.offer(now, from, server, vec![1]))
    };
    let held = |link: &mut VirtualLink, now, [one, other]: [Duration; 2]| {
        assert_eq!(fates(link, now), [Fate::Held(now + one), Fate::Held(now + other)]);
    };
    held(&mut link, 100 * MS, [5 * MS, 50 * MS]);
    // The outages of one path, and one by hand.
    assert_eq!(fates(&mut link, 110 * MS), [Fate::Held(115 * MS), Fate::Down]);
    link.set_down(client.ip(), true).unwrap();
    assert_eq!(fates(&mut link, 115 * MS), [Fate::Down, Fate::Held(165 * MS)]);
    link.set_down(client.ip(), false).unwrap();
    let from = std::iter::from_fn(|| link.take_due(1000 * MS)).map(|it| it.from.ip());
    let from = from.collect::<Vec<_>>();
    let external = link.external_address(second.ip()).unwrap();
    assert_eq!(link.external_address(client.ip()).unwrap(), client.ip());
    assert_eq!(from, [client.ip(), client.ip(), external, external]);

    // What an address leaves behind is lost.
    link.offer(1000 * MS, client, server, vec![1]);
    link.remove_client_address(client.ip()).unwrap();
    assert_eq!((link.next_due(), link.take_due(2000 * MS)), (None, None));
    assert_eq!(link.offer(2000 * MS, client, server, vec![1]), Fate::NoPath);
    assert_eq!(link.offer(2000 * MS, server, client, vec![1]), Fate::NoPath);
    let gone = link.remove_client_address(client.ip()).unwrap_err();
    assert!(gone.to_string().contains(&client.ip().to_string()), "{gone}");
    assert!(matches!(link.offer(2000 * MS, second, server, vec![1]), Fate::Held(_)));
}

#[test]
fn addresses_are_bounded_and_do_not_return_soon() {
    let parameters = LinkParameters::default();
    let Scene { mut link, client, .. } = scene(&parameters);
    link.remove_client_address(client.ip()).unwrap();
    let mut had = std::collections::BTreeSet::from([client.ip()]);
    for _ in 0..99 {
        let address = link.add_client_address(MS, &parameters).unwrap();
        assert!(had.insert(address), "{address} returned");
        link.remove_client_address(address).unwrap();
    }
    (0..100).for_each(|_| _ = link.add_client_address(MS, &parameters).unwrap());
    assert!(link.add_client_address(MS, &parameters).is_err());
    assert!(!had.contains(&link.addresses().server));
}

#[test]
fn a_datagram_that_is_too_long_arrives_with_its_last_fragment() {
    let parameters = LinkParameters { mtu: 127, rate: Some(8000), ..LinkParameters::default() };
    let Scene { mut link, client, server, .. } = scene(&parameters);
    // Fragments of 124, 124 and 32 bytes, at one byte a millisecond.
    assert_eq!(link.offer(MS, client, server, vec![2; 212]), Fate::Held(281 * MS));
    assert_eq!((link.next_due(), link.take_due(280 * MS)), (Some(125 * MS), None));
    assert_eq!(link.take_due(281 * MS).unwrap().payload, [2; 212]);
    let sent = link.path_statistics(client.ip()).unwrap().to_server;
    assert_eq!((sent.offered_packets, sent.offered_bytes), (3, 280));
    assert_eq!(link.offer(300 * MS, client, server, vec![1; 99]), Fate::Held(427 * MS));
}

#[test]
fn a_datagram_is_lost_and_copied_with_its_fragments() {
    let mut parameters = LinkParameters { mtu: 127, loss: 0.5, ..LinkParameters::default() };
    let whole = |parameters: &LinkParameters| {
        let Scene { mut link, client, server, .. } = scene(parameters);
        (0..1000).for_each(|_| _ = link.offer(MS, client, server, vec![2; 212]));
        std::iter::from_fn(|| link.take_due(MS)).count()
    };
    let arrived = whole(&parameters);
    assert!((80..170).contains(&arrived), "an eighth of a thousand: {arrived}");
    parameters = LinkParameters { duplication: 1.0, loss: 0.0, ..parameters };
    // What is left of the copies lacks the first fragments.
    assert_eq!(whole(&parameters), 1000);
    assert_eq!(whole(&LinkParameters { mtu: 240, ..parameters }), 2000);
    // A NAT drops them.
    assert_eq!(whole(&LinkParameters { mtu: 127, ..behind(NatKind::FullCone) }), 0);
}

/// The same seed repeats each decision, through changes of address.
#[test]
fn a_seed_repeats_what_a_link_does() {
    let run = |seed| {
        let parameters = LinkParameters {
            jitter: 5 * MS,
            loss: 0.1,
            duplication: 0.1,
            reordering: true,
            seed,
            ..behind(NatKind::Symmetric)
        };
        let Scene { mut link, client, server, .. } = scene(&parameters);
        let mut log = Vec::new();
        let mut addresses = vec![client.ip()];
        for i in 0..300 {
            let now = MS * i;
            if i % 100 == 50 {
                addresses.push(link.add_client_address(now, &parameters).unwrap());
                link.rebind(client.ip()).unwrap();
            }
            for address in &addresses {
                link.offer(now, SocketAddr::new(*address, CLIENT), server, vec![i as u8; 10]);
            }
            while let Some(datagram) = link.take_due(now) {
                if datagram.to == server {
                    link.offer(now, server, datagram.from, datagram.payload.clone());
                }
                log.push((now, datagram));
            }
        }
        log
    };
    assert!(run(1).len() > 500);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_path_has_addresses_of_ipv6_too() {
    let mut scene = scene(&behind(NatKind::PortRestricted));
    let LinkAddresses { server, client } = scene.link.addresses().ipv6();
    (scene.client, scene.server) =
        (SocketAddr::new(client, CLIENT), SocketAddr::new(server, SERVER));
    let external = scene.seen(scene.server);
    assert_eq!(external.ip(), scene.link.external_address(client).unwrap());
    assert!(external.is_ipv6() && external.ip() != client);
    let server = scene.server;
    assert!(scene.reaches(server, external));
    assert!(!scene.reaches(SocketAddr::new(server.ip(), 9), external));
    // 40 bytes of IP and 8 of UDP.
    let bytes = scene.link.path_statistics(client).unwrap().to_server.offered_bytes;
    assert_eq!(bytes, 148);
    // Each fragment has a header more: 1232 and 184 bytes of UDP.
    let plain = LinkParameters { mtu: 1280, ..LinkParameters::default() };
    let mut link = VirtualLink::open(&plain).unwrap();
    link.offer(MS, scene.client, server, vec![1; 1408]);
    let sent = link.path_statistics(client).unwrap().to_server;
    assert_eq!((sent.offered_packets, sent.offered_bytes), (2, 1280 + 232));
}
