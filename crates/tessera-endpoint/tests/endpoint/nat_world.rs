//! Clients behind a NAT, which follow their server, and an endpoint with sockets, in virtual time.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::{Checked, ClientConfig};
use tessera::{AssociationOptions, ClientAssociation, ConnectionId, Error, Event, ReadEvent, Time};
use tessera_endpoint::{
    AssociationId, ClientEndpoint, Endpoint, EndpointOptions, OwnSockets, Path, Route, SocketPolicy,
};
use tessera_harness::{Mode, Scene, at, to};
use tessera_null_provider::provider;
use tessera_vault::RotatingRing;

use crate::nat::{Nat, NatKind};
use crate::world::TRIP;

pub(crate) struct NatClient {
    pub(crate) endpoint: ClientEndpoint,
    pub(crate) is_complete: bool,
    pub(crate) error: Option<Error>,
    pub(crate) received: Vec<u8>,
}

pub(crate) struct NatWorld {
    pub(crate) endpoint: Endpoint,
    pub(crate) clients: Vec<NatClient>,
    pub(crate) nat: Nat,
    /// The server's sockets but for the shared one.
    pub(crate) sockets: Vec<SocketAddr>,
    /// How many more sockets the system has.
    pub(crate) sockets_left: usize,
    /// Addresses of the client's or the server's that don't work.
    pub(crate) dead: Vec<SocketAddr>,
    /// Datagrams from the server: from where, to where, as seen outside, and their lengths.
    pub(crate) sent: Vec<(SocketAddr, SocketAddr, usize)>,
    /// Datagrams from clients, likewise, with their bytes.
    pub(crate) sent_up: Vec<(SocketAddr, SocketAddr, Vec<u8>)>,
    pub(crate) ended: Vec<(AssociationId, Error)>,
    pub(crate) data: Vec<(AssociationId, Vec<u8>)>,
    /// A copy of what the server sends comes from there first.
    pub(crate) copies_from: Option<SocketAddr>,
    config: Checked<ClientConfig>,
    elapsed: Duration,
    next_port: u16,
    under_way: BTreeMap<(Duration, usize), Datagram>,
    number: usize,
}

struct Datagram {
    is_up: bool,
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// The shared socket.
pub(crate) const SHARED: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 5684);

pub(crate) fn options(policy: Option<SocketPolicy>) -> EndpointOptions {
    EndpointOptions { own_sockets: policy.map(OwnSockets::new), ..EndpointOptions::default() }
}

/// A client without a connection ID that follows.
pub(crate) fn following() -> AssociationOptions {
    let connection_id = ConnectionId::new(&[]);
    AssociationOptions { connection_id, follows_to: Some(Vec::new()), ..Default::default() }
}

/// A client that knows neither connection IDs nor announcements.
pub(crate) fn stock() -> AssociationOptions {
    AssociationOptions { connection_id: None, ..AssociationOptions::default() }
}

impl NatWorld {
    pub(crate) fn new(kind: NatKind, options: EndpointOptions) -> Self {
        let scene = Scene::new(provider(), Mode::Full);
        let keys = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
        let endpoint = Endpoint::new(scene.server.checked().unwrap(), keys, options);
        let mut world = Self {
            endpoint,
            clients: Vec::new(),
            nat: Nat::new(kind),
            sockets: Vec::new(),
            sockets_left: 10_000,
            dead: Vec::new(),
            sent: Vec::new(),
            sent_up: Vec::new(),
            ended: Vec::new(),
            data: Vec::new(),
            copies_from: None,
            config: scene.client.checked().unwrap(),
            elapsed: Duration::ZERO,
            next_port: 50_000,
            under_way: BTreeMap::new(),
            number: 0,
        };
        world.exchange_sockets();
        world
    }

    pub(crate) fn now(&self) -> Time {
        let Time { monotonic, unix } = at(0);
        Time { monotonic: monotonic + self.elapsed, unix: unix.map(|it| it + self.elapsed) }
    }

    /// Gives the endpoint what it wants, and takes what it has released.
    pub(crate) fn exchange_sockets(&mut self) {
        while let Some(local) = self.endpoint.next_released_socket() {
            let place = self.sockets.iter().position(|it| *it == local).expect("it was given");
            self.sockets.swap_remove(place);
            self.sockets_left += 1;
        }
        while self.endpoint.sockets_wanted() > 0 && self.sockets_left > 0 {
            let local = SocketAddr::new(SHARED.ip(), self.next_port);
            self.next_port += 1;
            self.sockets_left -= 1;
            assert!(self.endpoint.add_socket(local));
            self.sockets.push(local);
        }
    }

    /// Begins with a client at the internal address of its number; `follows`: to other sockets of the server, though
    /// its association may not know of announcements.
    pub(crate) fn connect(&mut self, options: AssociationOptions, follows: bool) -> usize {
        let (config, now) = (self.config.clone(), self.now());
        let random = config.provider.random;
        let association = ClientAssociation::start(config, to(None), options, now).unwrap();
        let number = self.clients.len();
        let local = Some(internal(number, 0));
        let path = Path { remote: SHARED, local };
        let endpoint = ClientEndpoint::new(association, path, follows.then(Vec::new), random);
        let (is_complete, error, received) = (false, None, Vec::new());
        self.clients.push(NatClient { endpoint, is_complete, error, received });
        number
    }

    pub(crate) fn send(&mut self, is_up: bool, path: Path, bytes: Vec<u8>) {
        let (from, to) = match is_up {
            true => (self.nat.leaves(path.local.unwrap(), path.remote), path.remote),
            false => (path.local.unwrap_or(SHARED), path.remote),
        };
        match is_up {
            true => self.sent_up.push((from, to, bytes.clone())),
            false => self.sent.push((from, to, bytes.len())),
        }
        if is_up && self.dead.contains(&path.local.unwrap()) {
            return;
        }
        if let Some(from) = self.copies_from.filter(|_| !is_up) {
            self.number += 1;
            let at = (self.elapsed + TRIP, self.number);
            self.under_way.insert(at, Datagram { is_up, from, to, bytes: bytes.clone() });
        }
        self.number += 1;
        let at = (self.elapsed + TRIP, self.number);
        self.under_way.insert(at, Datagram { is_up, from, to, bytes });
    }

    /// Lets time pass in steps of half a trip.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.elapsed + time;
        loop {
            let now = self.now();
            for number in 0..self.clients.len() {
                let client = &mut self.clients[number];
                if client.endpoint.deadline().is_some_and(|due| due <= now.monotonic) {
                    let failed = client.endpoint.handle_timeout(now).err();
                    client.error = client.error.take().or(failed);
                }
                let mut out = Vec::new();
                while let Some(path) = self.clients[number].endpoint.transmit(now, &mut out) {
                    self.send(true, path, std::mem::take(&mut out));
                }
            }
            if self.endpoint.deadline().is_some_and(|due| due <= now.monotonic) {
                let ended = self.endpoint.handle_timeouts(now);
                self.ended.extend(ended.into_iter().map(|it| (it.id, it.error)));
            }
            let mut out = Vec::new();
            while let Some(path) = self.endpoint.transmit(now, &mut out) {
                self.send(false, path, std::mem::take(&mut out));
            }
            self.exchange_sockets();
            if self.elapsed >= until {
                return;
            }
            self.elapsed += TRIP / 2;
            while let Some(first) = self.under_way.first_entry()
                && first.key().0 <= self.elapsed
            {
                let Datagram { is_up, from, to, bytes } = first.remove();
                match is_up {
                    true => drop(self.deliver(from, to, bytes)),
                    false => self.deliver_down(from, to, bytes),
                }
            }
        }
    }

    /// Delivers a datagram to a socket of the server.
    pub(crate) fn deliver(
        &mut self,
        from: SocketAddr,
        to: SocketAddr,
        mut bytes: Vec<u8>,
    ) -> Option<Route> {
        let is_own = self.sockets.contains(&to);
        if self.dead.contains(&to) || !is_own && to != SHARED {
            return None;
        }
        let path = Path { remote: from, local: is_own.then_some(to) };
        let now = self.now();
        let route = self.endpoint.route(now, path, &bytes);
        match &route {
            Route::Association(id) => self.read(*id, path, &mut bytes),
            Route::Begins(id, all) => self.read(*id, path, &mut all.clone()),
            _ => (),
        }
        self.exchange_sockets();
        Some(route)
    }

    fn read(&mut self, id: AssociationId, path: Path, bytes: &mut [u8]) {
        let (now, mut consumed) = (self.now(), 0);
        loop {
            let progress = match self.endpoint.read(id, now, path, &mut bytes[consumed..]) {
                Ok(progress) => progress,
                Err(error) => return self.ended.push((id, error)),
            };
            let rest = &bytes[consumed..];
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(range) => {
                    let (data, mut out) = (rest[range].to_vec(), Vec::new());
                    if let Ok(path) = self.endpoint.write(id, &data, &mut out) {
                        self.send(false, path, out);
                    }
                    self.data.push((id, data));
                }
                ReadEvent::NeedInput | ReadEvent::WaitingForAnswer | ReadEvent::PeerClosed => {
                    return;
                }
                _ => (),
            }
        }
    }

    fn deliver_down(&mut self, from: SocketAddr, to: SocketAddr, mut bytes: Vec<u8>) {
        let Some(local) = self.nat.arrives(to, from) else { return };
        if self.dead.contains(&local) {
            return;
        }
        let number = usize::from(local.port() / 100) - 1;
        let (now, client) = (self.now(), &mut self.clients[number]);
        // A socket without a use is closed.
        let is_open = client.endpoint.uses_local(Some(local));
        if client.error.is_some() || !is_open || !client.endpoint.is_from_server(from) {
            return;
        }
        let path = Path { remote: from, local: Some(local) };
        let mut consumed = 0;
        loop {
            let progress = match client.endpoint.read(now, path, &mut bytes[consumed..]) {
                Ok(progress) => progress,
                Err(error) => {
                    client.error = Some(error);
                    return;
                }
            };
            let rest = &bytes[consumed..];
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(range) => client.received.extend(&rest[range]),
                ReadEvent::Handshake(Event::HandshakeComplete) => client.is_complete = true,
                ReadEvent::NeedInput | ReadEvent::WaitingForAnswer | ReadEvent::PeerClosed => {
                    return;
                }
                _ => (),
            }
        }
    }

    /// Sends data of a client.
    pub(crate) fn write(&mut self, client: usize, data: &[u8]) {
        let mut out = Vec::new();
        let path = self.clients[client].endpoint.write(data, &mut out).expect("writes");
        self.send(true, path, out);
    }

    /// Returns whether the server sends a client's data back within three round trips.
    pub(crate) fn echoes(&mut self, client: usize) -> bool {
        let before = self.clients[client].received.len();
        if !self.clients[client].is_complete {
            return false;
        }
        self.write(client, b"question");
        self.pass(TRIP * 6);
        self.clients[client].received[before..] == *b"question"
    }

    /// Returns the association of the newest data.
    pub(crate) fn newest(&self) -> AssociationId {
        self.data.last().expect("data").0
    }
}

/// Returns a client's address behind the NAT.
pub(crate) const fn internal(number: usize, socket: u16) -> SocketAddr {
    let ip = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    SocketAddr::new(ip, (number as u16 + 1) * 100 + socket)
}
