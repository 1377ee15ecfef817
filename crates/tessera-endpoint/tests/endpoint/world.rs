//! An endpoint and many clients over a network in virtual time.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::ServerQuestion;
use tessera::resume::ResumptionVerdict;
use tessera::{
    AssociationOptions, ClientAssociation, Destination, Error, Event, PathMessage, ReadEvent, Time,
};
use tessera_endpoint::{
    AssociationId, Endpoint, EndpointOptions, FrozenAssociation, Path, Route, ThawError,
};
use tessera_harness::{EARLY_DATA, Mode, Scene, at, to};
use tessera_null_provider::provider;
use tessera_vault::RotatingRing;

pub(crate) const TRIP: Duration = Duration::from_millis(20);

pub(crate) struct Client {
    pub(crate) association: ClientAssociation,
    pub(crate) address: SocketAddr,
    /// An address from before, at which it still receives and drops the path.
    pub(crate) dropped_address: Option<SocketAddr>,
    pub(crate) received: Vec<u8>,
    pub(crate) is_complete: bool,
    pub(crate) sessions: Vec<tessera::resume::ClientSession>,
    pub(crate) error: Option<Error>,
    pub(crate) early_data_accepted: Option<bool>,
}

/// Whether it comes from a client, and its bytes.
pub(crate) type Loses = Box<dyn FnMut(bool, &[u8]) -> bool>;

pub(crate) struct World {
    pub(crate) scene: Scene,
    pub(crate) endpoint: Endpoint,
    pub(crate) clients: Vec<Client>,
    pub(crate) elapsed: Duration,
    /// Whether a datagram from or to a client is lost.
    pub(crate) loses: Loses,
    pub(crate) early: HashMap<AssociationId, Vec<u8>>,
    pub(crate) data: HashMap<AssociationId, Vec<u8>>,
    pub(crate) complete: Vec<AssociationId>,
    pub(crate) failed: Vec<Error>,
    /// Whether the server sends data back.
    pub(crate) echoes: bool,
    /// When the copies of a datagram arrive.
    pub(crate) arrivals: Box<dyn FnMut() -> Vec<Duration>>,
    /// By arrival, and a number that keeps the order of equal times: whether it goes to the endpoint, the client's
    /// address.
    under_way: BTreeMap<(Duration, u64), (bool, SocketAddr, Vec<u8>)>,
    number: u64,
    /// Bytes from and to each address.
    pub(crate) bytes: BTreeMap<SocketAddr, [usize; 2]>,
}

pub(crate) fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

pub(crate) fn path(remote: SocketAddr) -> Path {
    Path { remote, local: None }
}

impl World {
    pub(crate) fn new(mode: Mode, options: EndpointOptions) -> Self {
        Self::of(Scene::new(provider(), mode), options)
    }

    pub(crate) fn of(scene: Scene, options: EndpointOptions) -> Self {
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
            echoes: false,
            arrivals: Box::new(|| vec![TRIP]),
            under_way: BTreeMap::new(),
            number: 0,
            bytes: BTreeMap::new(),
        }
    }

    /// The server loses all that it knew.
    pub(crate) fn restart(&mut self, options: EndpointOptions) {
        let fresh = Self::of(self.scene.clone(), options);
        self.endpoint = fresh.endpoint;
        self.bytes.clear();
    }

    /// The server restarts, and its associations with it; returns the former endpoint, and why some didn't move in.
    pub(crate) fn restart_with_associations(
        &mut self,
        options: EndpointOptions,
    ) -> (Endpoint, Vec<ThawError>) {
        let frozen = self.freeze();
        let mut fresh = Self::of(self.scene.clone(), options);
        let now = self.now();
        let thawed = frozen.into_iter().map(|frozen| fresh.endpoint.thaw(frozen, now));
        let thawed: Vec<_> = thawed.collect();
        self.complete = thawed.iter().filter_map(|it| it.as_ref().ok()).copied().collect();
        self.data.clear();
        let refused = thawed.into_iter().filter_map(Result::err).collect();
        (std::mem::replace(&mut self.endpoint, fresh.endpoint), refused)
    }

    /// Moves all associations out.
    pub(crate) fn freeze(&mut self) -> Vec<FrozenAssociation> {
        let now = self.now();
        self.complete.iter().filter_map(|id| self.endpoint.freeze(*id, now)).collect()
    }

    pub(crate) fn now(&self) -> Time {
        let Time { monotonic, unix } = at(0);
        Time { monotonic: monotonic + self.elapsed, unix: unix.map(|it| it + self.elapsed) }
    }

    pub(crate) fn connect(
        &mut self,
        port: u16,
        session: Option<tessera::resume::ClientSession>,
    ) -> usize {
        self.connect_with(port, session, AssociationOptions::default())
    }

    pub(crate) fn connect_with(
        &mut self,
        port: u16,
        session: Option<tessera::resume::ClientSession>,
        options: AssociationOptions,
    ) -> usize {
        self.connect_to(port, to(session), options, EARLY_DATA)
    }

    /// Connects with this early data, if a session allows any.
    pub(crate) fn connect_to(
        &mut self,
        port: u16,
        destination: Destination,
        options: AssociationOptions,
        early_data: &[u8],
    ) -> usize {
        let config = self.scene.client.clone().checked().expect("it can work");
        let mut association =
            ClientAssociation::start(config, destination, options, self.now()).expect("starts");
        if association.early_data_room() >= early_data.len() {
            assert_eq!(association.write_early_data(early_data), Ok(true));
        }
        self.clients.push(Client {
            association,
            address: address(port),
            dropped_address: None,
            received: Vec::new(),
            is_complete: false,
            sessions: Vec::new(),
            error: None,
            early_data_accepted: None,
        });
        self.clients.len() - 1
    }

    /// Delivers a datagram to the endpoint.
    pub(crate) fn deliver(&mut self, from: SocketAddr, mut datagram: Vec<u8>) -> Route {
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

    pub(crate) fn read(&mut self, id: AssociationId, from: SocketAddr, datagram: &mut [u8]) {
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
                            let data = rest[range].to_vec();
                            self.echo(id, &data);
                            self.data.entry(id).or_default().extend(data);
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
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.elapsed + time;
        loop {
            let now = self.now();
            let mut sent = Vec::new();
            for client in self.clients.iter_mut().filter(|client| client.error.is_none()) {
                if client.association.deadline().is_some_and(|due| due <= now.monotonic) {
                    client.error = client.association.handle_timeout(now).err();
                }
                let mut datagram = Vec::new();
                while client.association.transmit(now, &mut datagram) {
                    sent.push((true, client.address, std::mem::take(&mut datagram)));
                }
            }
            if self.endpoint.deadline().is_some_and(|due| due <= now.monotonic) {
                let ended = self.endpoint.handle_timeouts(now);
                self.failed.extend(ended.into_iter().map(|it| it.error));
            }
            let mut datagram = Vec::new();
            while let Some(to) = self.endpoint.transmit(now, &mut datagram) {
                let datagram = std::mem::take(&mut datagram);
                self.bytes.entry(to.remote).or_default()[1] += datagram.len();
                sent.push((false, to.remote, datagram));
            }
            for (is_up, address, datagram) in sent {
                self.send(is_up, address, &datagram);
            }
            if self.elapsed >= until {
                return;
            }
            self.elapsed += TRIP / 2;
            while let Some(first) = self.under_way.first_entry()
                && first.key().0 <= self.elapsed
            {
                let (is_up, address, datagram) = first.remove();
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

    /// Sends a datagram from or to a client's address.
    fn send(&mut self, is_up: bool, address: SocketAddr, datagram: &[u8]) {
        for delay in (self.arrivals)() {
            self.number += 1;
            let at = (self.elapsed + delay, self.number);
            self.under_way.insert(at, (is_up, address, datagram.to_vec()));
        }
    }

    fn echo(&mut self, id: AssociationId, data: &[u8]) {
        let mut datagram = Vec::new();
        if self.echoes
            && let Ok(to) = self.endpoint.write(id, data, &mut datagram)
        {
            self.bytes.entry(to.remote).or_default()[1] += datagram.len();
            self.send(false, to.remote, &datagram);
        }
    }

    /// Sends data of a client, and returns the datagram.
    pub(crate) fn client_sends(&mut self, client: usize, data: &[u8]) -> Vec<u8> {
        let mut datagram = Vec::new();
        self.clients[client].association.write(data, &mut datagram).expect("writes");
        self.send(true, self.clients[client].address, &datagram);
        datagram
    }

    pub(crate) fn deliver_to_client(&mut self, address: SocketAddr, mut datagram: Vec<u8>) {
        let now = self.now();
        // The newest client at an address.
        let is_there = |client: &&mut Client| {
            client.address == address || client.dropped_address == Some(address)
        };
        let client = self.clients.iter_mut().rev().find(is_there);
        let Some(client) = client.filter(|client| client.error.is_none()) else { return };
        let mut consumed = 0;
        let mut answers = Vec::new();
        loop {
            match client.association.read(now, &mut datagram[consumed..]) {
                Err(error) => {
                    client.error = Some(error);
                    break;
                }
                Ok(progress) => {
                    let rest = &datagram[consumed..];
                    consumed += progress.consumed;
                    match progress.event {
                        ReadEvent::Data(range) => client.received.extend(&rest[range]),
                        ReadEvent::Path(PathMessage::Challenge(cookie)) => {
                            let answer = match client.address == address {
                                true => PathMessage::Response(cookie),
                                false => PathMessage::Drop(cookie),
                            };
                            let mut datagram = Vec::new();
                            client
                                .association
                                .write_path_message(answer, &mut datagram)
                                .expect("both check paths");
                            answers.push(datagram);
                        }
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
                        | ReadEvent::PeerClosed => break,
                        _ => (),
                    }
                }
            }
        }
        for answer in answers {
            self.send(true, address, &answer);
        }
    }

    /// Sends data of a client; it arrives at once.
    pub(crate) fn client_writes(&mut self, client: usize, data: &[u8]) -> Route {
        let mut datagram = Vec::new();
        self.clients[client].association.write(data, &mut datagram).expect("writes");
        self.deliver(self.clients[client].address, datagram)
    }

    /// Returns a session that a client of its own got.
    pub(crate) fn session(&mut self) -> Option<tessera::resume::ClientSession> {
        let client = self.connect(60_000, None);
        self.pass(TRIP * 20);
        assert!(self.clients[client].is_complete, "{:?}", self.clients[client].error);
        self.clients[client].sessions.pop()
    }

    #[track_caller]
    pub(crate) fn is_connected(&mut self, client: usize) {
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
