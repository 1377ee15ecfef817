//! An endpoint and many clients over a network in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::{Reply, ServerQuestion};
use tessera::resume::{AcceptResumption, ResumptionJudge, ResumptionVerdict};
use tessera::wire::NamedGroup;
use tessera::{AssociationOptions, ClientAssociation, ConnectionId, Error, Event, ReadEvent, Time};
use tessera_endpoint::{AssociationId, Endpoint, EndpointOptions, Foreign, Path, Route};
use tessera_harness::{EARLY_DATA, Mode, Scene, at, to};
use tessera_null_provider::provider;
use tessera_vault::RotatingRing;

const TRIP: Duration = Duration::from_millis(20);

struct Client {
    association: ClientAssociation,
    address: SocketAddr,
    received: Vec<u8>,
    is_complete: bool,
    sessions: Vec<tessera::resume::ClientSession>,
    error: Option<Error>,
    early_data_accepted: Option<bool>,
}

/// Whether it comes from a client, and its bytes.
type Loses = Box<dyn FnMut(bool, &[u8]) -> bool>;

struct World {
    scene: Scene,
    endpoint: Endpoint,
    clients: Vec<Client>,
    elapsed: Duration,
    /// Whether a datagram from or to a client is lost.
    loses: Loses,
    early: HashMap<AssociationId, Vec<u8>>,
    data: HashMap<AssociationId, Vec<u8>>,
    complete: Vec<AssociationId>,
    failed: Vec<Error>,
    /// When it arrives, whether it goes to the endpoint, the client's address.
    under_way: VecDeque<(Duration, bool, SocketAddr, Vec<u8>)>,
    /// Bytes from and to each address.
    bytes: BTreeMap<SocketAddr, [usize; 2]>,
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

fn path(remote: SocketAddr) -> Path {
    Path { remote, local: None }
}

impl World {
    fn new(mode: Mode, options: EndpointOptions) -> Self {
        Self::of(Scene::new(provider(), mode), options)
    }

    fn of(scene: Scene, options: EndpointOptions) -> Self {
        // The null provider's would open any cookie.
        let keys = RotatingRing::new(&tessera_aws_lc::provider());
        let config = scene.server.clone().checked().expect("it can work");
        let endpoint = Endpoint::new(config, Arc::new(keys), options);
        Self {
            scene,
            endpoint,
            clients: Vec::new(),
            elapsed: Duration::ZERO,
            loses: Box::new(|_, _| false),
            early: HashMap::new(),
            data: HashMap::new(),
            complete: Vec::new(),
            failed: Vec::new(),
            under_way: VecDeque::new(),
            bytes: BTreeMap::new(),
        }
    }

    fn now(&self) -> Time {
        let Time { monotonic, unix } = at(0);
        Time { monotonic: monotonic + self.elapsed, unix: unix.map(|it| it + self.elapsed) }
    }

    fn connect(&mut self, port: u16, session: Option<tessera::resume::ClientSession>) -> usize {
        let config = self.scene.client.clone().checked().expect("it can work");
        let options = AssociationOptions::default();
        let destination = to(session);
        let mut association =
            ClientAssociation::start(config, destination, options, self.now()).expect("starts");
        if association.early_data_room() >= EARLY_DATA.len() {
            assert_eq!(association.write_early_data(EARLY_DATA), Ok(true));
        }
        self.clients.push(Client {
            association,
            address: address(port),
            received: Vec::new(),
            is_complete: false,
            sessions: Vec::new(),
            error: None,
            early_data_accepted: None,
        });
        self.clients.len() - 1
    }

    /// Delivers a datagram to the endpoint.
    fn deliver(&mut self, from: SocketAddr, mut datagram: Vec<u8>) -> Route {
        self.bytes.entry(from).or_default()[0] += datagram.len();
        let now = self.now();
        let route = self.endpoint.route(now, path(from), &datagram);
        match &route {
            Route::Association(id) => self.read(*id, from, &mut datagram),
            Route::Begins(id, all) => self.read(*id, from, &mut all.clone()),
            _ => (),
        }
        route
    }

    fn read(&mut self, id: AssociationId, from: SocketAddr, datagram: &mut [u8]) {
        let now = self.now();
        let mut consumed = 0;
        loop {
            let rest = &mut datagram[consumed..];
            match self.endpoint.read(id, now, path(from), rest) {
                Err(Error::AddressUnproved) => return,
                Err(error) => return self.failed.push(error),
                Ok(progress) => {
                    let rest = &datagram[consumed..];
                    consumed += progress.consumed;
                    match progress.event {
                        ReadEvent::EarlyData(range) => {
                            self.early.entry(id).or_default().extend(&rest[range]);
                        }
                        ReadEvent::EarlyDatagram(data) => {
                            self.early.entry(id).or_default().extend(data);
                        }
                        ReadEvent::Data(range) => {
                            self.data.entry(id).or_default().extend(&rest[range]);
                        }
                        ReadEvent::Handshake(Event::HandshakeComplete) => self.complete.push(id),
                        ReadEvent::Question(ServerQuestion::AcceptResumption(asked)) => {
                            let refused = ResumptionVerdict::Refuse;
                            if self.endpoint.answer(id, asked.token, refused, now).is_err() {
                                return;
                            }
                        }
                        ReadEvent::NeedInput
                        | ReadEvent::WaitingForAnswer
                        | ReadEvent::PeerClosed => return,
                        _ => (),
                    }
                }
            }
        }
    }

    /// Lets time pass in steps of half a trip; everything arrives a trip after it was sent.
    fn pass(&mut self, time: Duration) {
        let until = self.elapsed + time;
        loop {
            let now = self.now();
            for client in self.clients.iter_mut().filter(|client| client.error.is_none()) {
                if client.association.deadline().is_some_and(|due| due <= now.monotonic) {
                    client.error = client.association.handle_timeout(now).err();
                }
                let mut datagram = Vec::new();
                while client.association.transmit(now, &mut datagram) {
                    let datagram = std::mem::take(&mut datagram);
                    self.under_way.push_back((self.elapsed + TRIP, true, client.address, datagram));
                }
            }
            if self.endpoint.deadline().is_some_and(|due| due <= now.monotonic) {
                let ended = self.endpoint.handle_timeouts(now);
                self.failed.extend(ended.into_iter().map(|(_, error)| error));
            }
            let mut datagram = Vec::new();
            while let Some(to) = self.endpoint.transmit(now, &mut datagram) {
                let datagram = std::mem::take(&mut datagram);
                self.bytes.entry(to.remote).or_default()[1] += datagram.len();
                self.under_way.push_back((self.elapsed + TRIP, false, to.remote, datagram));
            }
            if self.elapsed >= until {
                return;
            }
            self.elapsed += TRIP / 2;
            while self.under_way.front().is_some_and(|(due, ..)| *due <= self.elapsed) {
                let Some((_, is_up, address, datagram)) = self.under_way.pop_front() else { break };
                if (self.loses)(is_up, &datagram) {
                    continue;
                }
                if is_up {
                    self.deliver(address, datagram);
                } else {
                    self.deliver_to_client(address, datagram);
                }
            }
        }
    }

    fn deliver_to_client(&mut self, address: SocketAddr, mut datagram: Vec<u8>) {
        let now = self.now();
        // The newest client at an address.
        let client = self.clients.iter_mut().rev().find(|client| client.address == address);
        let Some(client) = client.filter(|client| client.error.is_none()) else { return };
        let mut consumed = 0;
        loop {
            match client.association.read(now, &mut datagram[consumed..]) {
                Err(error) => {
                    client.error = Some(error);
                    return;
                }
                Ok(progress) => {
                    let rest = &datagram[consumed..];
                    consumed += progress.consumed;
                    match progress.event {
                        ReadEvent::Data(range) => client.received.extend(&rest[range]),
                        ReadEvent::Handshake(Event::HandshakeComplete) => client.is_complete = true,
                        ReadEvent::Handshake(Event::NewSession(it)) => client.sessions.push(*it),
                        ReadEvent::Handshake(Event::EarlyDataAccepted) => {
                            client.early_data_accepted = Some(true);
                        }
                        ReadEvent::Handshake(Event::EarlyDataRejected(_)) => {
                            client.early_data_accepted = Some(false);
                        }
                        ReadEvent::NeedInput
                        | ReadEvent::WaitingForAnswer
                        | ReadEvent::PeerClosed => return,
                        _ => (),
                    }
                }
            }
        }
    }

    /// Sends data of a client; it arrives at once.
    fn client_writes(&mut self, client: usize, data: &[u8]) -> Route {
        let mut datagram = Vec::new();
        self.clients[client].association.write(data, &mut datagram).expect("writes");
        self.deliver(self.clients[client].address, datagram)
    }

    /// Returns a session that a client of its own got.
    fn session(&mut self) -> Option<tessera::resume::ClientSession> {
        let client = self.connect(60_000, None);
        self.pass(TRIP * 20);
        assert!(self.clients[client].is_complete, "{:?}", self.clients[client].error);
        self.clients[client].sessions.pop()
    }

    #[track_caller]
    fn is_connected(&mut self, client: usize) {
        let Client { is_complete, error, .. } = &self.clients[client];
        assert!(*is_complete && error.is_none(), "{error:?}");
        let Route::Association(id) = self.client_writes(client, b"question") else {
            panic!("lost")
        };
        assert!(self.data[&id].ends_with(b"question"));
        let mut datagram = Vec::new();
        let to = self.endpoint.write(id, b"answer", &mut datagram).expect("writes");
        assert_eq!(to.remote, self.clients[client].address);
        self.deliver_to_client(to.remote, datagram);
        assert!(self.clients[client].received.ends_with(b"answer"));
    }
}

#[test]
fn strangers_prove_their_address_and_clients_with_a_ticket_need_not() {
    for mode in Mode::ALL {
        let mut world = World::new(mode, EndpointOptions::default());
        let session = if mode.resumes() { world.session() } else { None };
        assert_eq!(session.is_some(), mode.resumes(), "{mode:?}");
        let before = world.endpoint.counts();
        let client = world.connect(1000, session);
        world.pass(TRIP * 20);
        world.is_connected(client);
        let cookies = world.endpoint.counts().cookies_opened - before.cookies_opened;
        assert_eq!(cookies, u64::from(!mode.resumes()), "{mode:?}");
        if world.clients[client].early_data_accepted.is_some() {
            assert_eq!(world.clients[client].early_data_accepted, Some(true), "{mode:?}");
            assert!(world.early.values().any(|early| early == EARLY_DATA), "{mode:?}");
        }
    }
}

#[test]
fn under_load_every_client_needs_a_cookie_and_early_data_is_rejected() {
    let options = EndpointOptions { max_unproved: 0, ..EndpointOptions::default() };
    let mut world = World::new(Mode::FsDhe, options);
    let session = world.session();
    let client = world.connect(1000, session);
    world.pass(TRIP * 20);
    world.is_connected(client);
    assert_eq!(world.clients[client].early_data_accepted, Some(false));
    assert!(world.early.is_empty());
}

#[test]
fn a_spoofed_hello_leaves_nothing_and_gets_no_more_than_three_times_its_bytes() {
    for mode in [Mode::Full, Mode::PskDhe, Mode::FsKe] {
        let mut world = World::new(mode, EndpointOptions::default());
        let session = if mode.resumes() { world.session() } else { None };
        let associations = world.endpoint.len();
        let config = world.scene.client.clone().checked().unwrap();
        let options = AssociationOptions::default();
        let mut spoofed =
            ClientAssociation::start(config, to(session), options, world.now()).unwrap();
        let mut hello = Vec::new();
        assert!(spoofed.transmit(world.now(), &mut hello));
        for port in 0..500 {
            world.deliver(address(2000 + port), hello.clone());
            world.pass(Duration::ZERO);
        }
        // The one with a ticket that opens has an association until it times out.
        assert!(world.endpoint.len() <= associations + 1, "{mode:?}: {}", world.endpoint.len());
        world.pass(Duration::from_secs(30));
        assert_eq!(world.endpoint.len(), associations, "{mode:?}");
        for (address, [from, to]) in world.bytes.iter().filter(|(it, _)| it.port() < 60_000) {
            assert!(*to <= 3 * from, "{mode:?} {address}: {from} and {to}");
        }
    }
}

#[test]
fn a_cookie_is_good_for_its_address_and_for_half_a_minute() {
    let mut scene = Scene::new(provider(), Mode::Full);
    // A hybrid share needs two datagrams.
    scene.server.groups = vec![NamedGroup::X25519];
    let mut world = World::of(scene, EndpointOptions::default());
    let client = world.connect(1000, None);
    let mut hellos = Vec::new();
    let now = world.now();
    let mut datagram = Vec::new();
    assert!(world.clients[client].association.transmit(now, &mut datagram));
    assert_eq!(world.deliver(address(1000), datagram), Route::Handled);
    let mut request = Vec::new();
    assert_eq!(world.endpoint.transmit(now, &mut request), Some(path(address(1000))));
    world.deliver_to_client(address(1000), request);
    let mut second = Vec::new();
    while world.clients[client].association.transmit(now, &mut second) {
        hellos.push(std::mem::take(&mut second));
    }
    let [second] = &hellos[..] else { panic!("one datagram: {}", hellos.len()) };
    assert_eq!(world.deliver(address(1001), second.clone()), Route::Dropped);
    world.elapsed += Duration::from_secs(31);
    assert_eq!(world.deliver(address(1000), second.clone()), Route::Dropped);
    assert_eq!(world.endpoint.counts().cookies_refused, 2);
    world.elapsed -= Duration::from_secs(2);
    assert!(matches!(world.deliver(address(1000), second.clone()), Route::Association(_)));
    assert_eq!(world.endpoint.len(), 1);
}

#[test]
fn hellos_in_parts_wait_in_a_bounded_pool() {
    let mut world =
        World::new(Mode::Full, EndpointOptions { hello_pool: 4096, ..EndpointOptions::default() });
    let config = world.scene.client.clone().checked().unwrap();
    let short = AssociationOptions { max_datagram: 120, ..AssociationOptions::default() };
    for port in 1000..1100 {
        let now = world.now();
        let mut client =
            ClientAssociation::start(config.clone(), to(None), short.clone(), now).unwrap();
        let mut part = Vec::new();
        assert!(client.transmit(now, &mut part));
        world.deliver(address(port), part);
    }
    let counts = world.endpoint.counts();
    assert!(counts.kept_parts >= 4 && counts.kept_parts <= 16, "{counts:?}");
    assert_eq!(counts.kept_parts + counts.dropped_parts, 100, "{counts:?}");
    // They are gone in time: then a client with a long hello comes through.
    world.pass(Duration::from_secs(11));
    let now = world.now();
    let association = ClientAssociation::start(config, to(None), short, now).unwrap();
    let client = world.connect(3000, None);
    world.clients[client].association = association;
    world.pass(Duration::from_secs(5));
    world.is_connected(client);
}

#[test]
fn a_client_that_changes_its_address_keeps_its_association() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    world.is_connected(client);
    let mut old = Vec::new();
    world.clients[client].association.write(b"late", &mut old).unwrap();
    for port in [1001, 1002, 1003] {
        world.clients[client].address = address(port);
        world.is_connected(client);
        assert_eq!(world.endpoint.len(), 1);
    }
    assert_eq!(world.endpoint.counts().moved, 3);
    // wolfssl #10609: a record that isn't the newest moves nothing, although it opens.
    let Route::Association(id) = world.deliver(address(4000), old.clone()) else { panic!("lost") };
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1003));
    assert!(world.data[&id].ends_with(b"late"));
    // Nor does a replay of the newest, or a forgery.
    let mut newest = Vec::new();
    world.clients[client].association.write(b"newest", &mut newest).unwrap();
    world.deliver(address(1003), newest.clone());
    world.deliver(address(4001), newest.clone());
    *newest.last_mut().unwrap() ^= 1;
    world.deliver(address(4002), newest);
    assert_eq!(world.endpoint.path(id).unwrap().remote, address(1003));
}

/// wolfssl #6365: negotiated, and then routed by address all the same.
#[test]
fn associations_with_connection_ids_share_an_address_and_swap_theirs() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let clients: Vec<_> = (0..2).map(|n| world.connect(1000 + n, None)).collect();
    world.pass(TRIP * 20);
    let ids: Vec<_> = clients
        .iter()
        .map(|client| match world.client_writes(*client, b"x") {
            Route::Association(id) => id,
            other => panic!("{other:?}"),
        })
        .collect();
    world.clients[0].address = address(1001);
    world.clients[1].address = address(1000);
    for (client, id) in clients.iter().zip(&ids) {
        assert_eq!(world.client_writes(*client, b"y"), Route::Association(*id));
    }
    assert_eq!(world.endpoint.path(ids[0]).unwrap().remote, address(1001));
    assert_eq!(world.endpoint.path(ids[1]).unwrap().remote, address(1000));
    assert_eq!(world.endpoint.len(), 2);
}

/// RFC 9147 §5.11: a forged hello from the address of a live association destroys nothing; a client that has begun again
/// gets through.
#[test]
fn a_new_hello_from_a_live_address_replaces_nothing_before_its_handshake() {
    for connection_id_len in [0, 8] {
        let options = EndpointOptions { connection_id_len, ..EndpointOptions::default() };
        let mut world = World::new(Mode::Full, options);
        let first = world.connect(1000, None);
        world.pass(TRIP * 20);
        world.is_connected(first);
        let config = world.scene.client.clone().checked().unwrap();
        let mut forged =
            ClientAssociation::start(config, to(None), AssociationOptions::default(), world.now())
                .unwrap();
        let mut hello = Vec::new();
        forged.transmit(world.now(), &mut hello);
        assert_eq!(world.deliver(address(1000), hello), Route::Handled);
        world.is_connected(first);
        world.pass(TRIP * 2);
        // The same client after a reboot.
        let second = world.connect(1000, None);
        world.pass(TRIP * 20);
        world.is_connected(second);
        let left = if connection_id_len == 0 { 1 } else { 2 };
        assert_eq!(world.endpoint.len(), left, "{connection_id_len}");
        // The owner of the one that was replaced learns it.
        let replaced: &[Error] = if connection_id_len == 0 { &[Error::Truncated] } else { &[] };
        assert_eq!(world.failed, replaced);
    }
}

#[test]
fn each_byte_of_an_association_is_counted_once() {
    let mut world = World::new(Mode::PskDhe, EndpointOptions::default());
    let session = world.session();
    let client = world.connect(1000, session);
    world.pass(TRIP * 20);
    let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
    assert_eq!(world.endpoint.bytes(id), Some(world.bytes[&address(1000)].map(|it| it as u64)));
}

/// Leaves every resumption for later.
struct LaterJudge;

impl ResumptionJudge for LaterJudge {
    fn judge(&self, _: &AcceptResumption) -> Reply<ResumptionVerdict> {
        Reply::Later
    }
}

#[test]
fn a_client_whose_ticket_is_refused_later_is_asked_for_a_cookie() {
    let mut world = World::new(Mode::PskDhe, EndpointOptions::default());
    let session = world.session();
    let mut config = world.scene.server.clone();
    config.judge = Some(Arc::new(LaterJudge));
    world.endpoint.set_config(config.checked().unwrap());
    let before = world.endpoint.counts();
    let client = world.connect(1000, session);
    world.pass(TRIP * 20);
    world.is_connected(client);
    assert_eq!(world.endpoint.counts().cookies_opened, before.cookies_opened + 1);
}

#[test]
fn other_protocols_are_handed_out_by_kind() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    for (datagram, kind) in [
        (vec![0, 1, 0, 0], Foreign::Stun),
        (vec![23, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], Foreign::Dtls12),
        (vec![22, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], Foreign::Dtls12),
        (vec![25, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], Foreign::Dtls12),
        (vec![0xc3, 0, 0, 0, 1], Foreign::Other),
    ] {
        assert_eq!(world.deliver(address(1), datagram), Route::Foreign(kind));
    }
    assert_eq!(world.deliver(address(1), vec![0x2f; 100]), Route::Dropped);
    assert_eq!(world.deliver(address(1), Vec::new()), Route::Foreign(Foreign::Other));
}

#[test]
fn associations_are_bounded_in_all_and_for_each_source() {
    let options =
        EndpointOptions { max_associations: 6, max_per_source: 4, ..EndpointOptions::default() };
    let mut world = World::new(Mode::Full, options);
    for port in 0..10 {
        world.connect(1000 + port, None);
    }
    world.pass(TRIP * 20);
    assert_eq!(world.endpoint.len(), 4);
    for port in 0..10 {
        let client = world.connect(2000 + port, None);
        world.clients[client].address = SocketAddr::from(([192, 0, 2, 9], 2000 + port));
    }
    world.pass(TRIP * 20);
    assert_eq!(world.endpoint.len(), 6);
    assert!(world.endpoint.counts().full > 0);
}

#[test]
fn an_association_ends_with_its_close_and_a_failed_handshake_in_time() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    let client = world.connect(1000, None);
    world.pass(TRIP * 20);
    let Route::Association(id) = world.client_writes(client, b"x") else { panic!("lost") };
    world.endpoint.remove(id);
    assert!(world.endpoint.is_empty());
    assert_eq!(world.client_writes(client, b"x"), Route::Dropped);
    assert_eq!(world.endpoint.counts().unknown, 1);
    // The server's flight never arrives.
    let mut is_retry = true;
    world.loses = Box::new(move |is_up, _| !is_up && !std::mem::take(&mut is_retry));
    world.connect(1001, None);
    world.pass(Duration::from_secs(15));
    assert!(world.endpoint.is_empty());
    assert!(world.failed.contains(&Error::TimedOut), "{:?}", world.failed);
    assert_eq!(world.endpoint.deadline(), None);
}

#[test]
fn connection_ids_are_of_the_length_that_was_asked_for() {
    assert!(ConnectionId::new(&[0; 255]).is_some() && ConnectionId::new(&[0; 256]).is_none());
    for connection_id_len in [0, 1, 8, 20] {
        let options = EndpointOptions { connection_id_len, ..EndpointOptions::default() };
        let mut world = World::new(Mode::Full, options);
        let client = world.connect(1000, None);
        world.pass(TRIP * 20);
        world.is_connected(client);
    }
}
