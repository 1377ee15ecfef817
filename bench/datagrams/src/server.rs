//! A server's endpoint with our associations, and clients that connect to it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tessera::{AssociationOptions, ClientAssociation, Destination, ReadEvent, Time};
use tessera_endpoint::{AssociationId, Endpoint, EndpointOptions, Path, Route};

use crate::{Keys, now, read};

/// A server.
pub struct Server {
    /// Its associations.
    pub endpoint: Endpoint,
    keys: Keys,
}

impl Server {
    /// Starts a server for so many associations.
    #[must_use]
    pub fn new(max_associations: usize) -> Self {
        let keys = Keys::new();
        let options = EndpointOptions { max_associations, ..EndpointOptions::default() };
        let endpoint = Endpoint::new(keys.server.clone(), keys.cookies.clone(), options);
        Self { endpoint, keys }
    }

    /// Starts the server that follows this one, which has nothing of it.
    #[must_use]
    pub fn next(self, max_associations: usize) -> Self {
        let options = EndpointOptions { max_associations, ..EndpointOptions::default() };
        let keys = self.keys;
        let endpoint = Endpoint::new(keys.server.clone(), keys.cookies.clone(), options);
        Self { endpoint, keys }
    }

    /// Starts a client.
    #[must_use]
    pub fn client(&self, now: Time) -> ClientAssociation {
        let destination =
            Destination { server_name: "server.example".into(), ..Destination::default() };
        let options = AssociationOptions::default();
        ClientAssociation::start(self.keys.client.clone(), destination, options, now)
            .expect("starts")
    }

    /// Lets a client connect, and its association come to rest.
    #[must_use]
    pub fn connect(&mut self, path: Path, at: Time) -> (ClientAssociation, AssociationId) {
        let mut client = self.client(at);
        let (mut id, mut datagram) = (None, Vec::new());
        loop {
            let mut is_idle = true;
            while client.transmit(at, &mut datagram) {
                is_idle = false;
                id = self.deliver(at, path, &mut datagram).0.or(id);
                datagram.clear();
            }
            while self.endpoint.transmit(at, &mut datagram).is_some() {
                is_idle = false;
                read(&mut client, at, &mut datagram);
                datagram.clear();
            }
            if is_idle {
                assert!(client.facts().handshake_complete && client.is_acknowledged());
                return (client, id.expect("an association"));
            }
        }
    }

    /// When associations that had nothing to do since the beginning are idle.
    pub const IDLE: Duration = Duration::from_secs(400);

    /// Lets so much time pass since the beginning, without datagrams.
    pub fn pass(&mut self, time: Duration) {
        while let Some(due) = self.endpoint.deadline().map(|due| due - now().monotonic)
            && due <= time
        {
            assert!(self.endpoint.handle_timeouts(after(due)).is_empty());
            while self.endpoint.transmit(after(due), &mut Vec::new()).is_some() {}
        }
    }

    /// Delivers a datagram; returns its association, if any, and how many bytes of data it had.
    pub fn deliver(
        &mut self,
        at: Time,
        path: Path,
        datagram: &mut [u8],
    ) -> (Option<AssociationId>, usize) {
        let Route::Association(id) = self.endpoint.route(at, path, datagram) else {
            return (None, 0);
        };
        let (mut consumed, mut data) = (0, 0);
        loop {
            let progress = self.endpoint.read(id, at, path, &mut datagram[consumed..]);
            let progress = progress.expect("no error");
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::NeedInput => return (Some(id), data),
                ReadEvent::Data(range) => data += range.len(),
                _ => (),
            }
        }
    }
}

/// Returns a path of its own for each number.
#[must_use]
pub fn path(number: u32) -> Path {
    let address = Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 0).to_bits() + number);
    Path { remote: SocketAddr::from((address, 5684)), local: None }
}

/// Returns the time so long after the beginning.
#[must_use]
pub fn after(elapsed: Duration) -> Time {
    let Time { monotonic, unix } = now();
    Time { monotonic: monotonic + elapsed, unix }
}
