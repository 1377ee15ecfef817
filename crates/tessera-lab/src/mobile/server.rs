//! The server, sans-IO: an endpoint that acknowledges each message.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::Checked;
use tessera::resume::TicketKeys;
use tessera::{Error, ReadEvent, ServerConfig, Time};
use tessera_endpoint::{AssociationId, Endpoint, EndpointOptions, Path, Route};

use super::client::{Content, acknowledgement};

/// The server.
pub(super) struct MobileServer {
    config: Checked<ServerConfig>,
    cookies: Arc<dyn TicketKeys>,
    options: EndpointOptions,
    endpoint: Endpoint,
    /// Acknowledgements that wait for the check of an address.
    waiting: BTreeMap<AssociationId, Vec<u8>>,
    outgoing: VecDeque<(Path, Vec<u8>)>,
    /// Sockets that associations have had of their own.
    own_sockets: BTreeSet<SocketAddr>,
}

impl MobileServer {
    pub(super) fn new(
        config: Checked<ServerConfig>,
        cookies: Arc<dyn TicketKeys>,
        options: EndpointOptions,
    ) -> Self {
        let endpoint = Endpoint::new(config.clone(), cookies.clone(), options.clone());
        Self {
            config,
            cookies,
            options,
            endpoint,
            waiting: BTreeMap::new(),
            outgoing: VecDeque::new(),
            own_sockets: BTreeSet::new(),
        }
    }

    /// Loses all associations, and keeps its keys and tickets.
    pub(super) fn restart(&mut self) {
        let Self { config, cookies, options, .. } = self;
        *self = Self::new(config.clone(), cookies.clone(), options.clone());
    }

    /// Returns how many more sockets associations may need.
    pub(super) fn sockets_wanted(&self) -> usize {
        self.endpoint.sockets_wanted()
    }

    /// Gives it such a socket.
    pub(super) fn add_socket(&mut self, address: SocketAddr) {
        self.endpoint.add_socket(address);
    }

    /// Returns how many sockets clients have used, the shared one included; each has a port of its own.
    pub(super) fn used_sockets(&self) -> u32 {
        1 + self.own_sockets.len() as u32
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.endpoint.deadline()
    }

    pub(super) fn handle_timeouts(&mut self, now: Time) {
        // A client that has gone connects again.
        let _ = self.endpoint.handle_timeouts(now);
    }

    /// Appends the next datagram to send to `out`; returns where to, and what it has.
    pub(super) fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<(Path, Content)> {
        if let Some(path) = self.endpoint.transmit(now, out) {
            return Some((path, Content::Other));
        }
        let (path, datagram) = self.outgoing.pop_front()?;
        out.extend_from_slice(&datagram);
        Some((path, Content::Data))
    }

    /// Reads a datagram.
    pub(super) fn receive(&mut self, mut datagram: Vec<u8>, path: Path, now: Time) {
        let id = match self.endpoint.route(now, path, &datagram) {
            Route::Association(id) => id,
            Route::Begins(id, all) => {
                datagram = all;
                id
            }
            _ => return,
        };
        let mut consumed = 0;
        // An association that has failed is no longer the endpoint's.
        while let Ok(progress) = self.endpoint.read(id, now, path, &mut datagram[consumed..]) {
            let rest = &datagram[consumed..];
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(range) | ReadEvent::EarlyData(range) => {
                    let answer = acknowledgement(&rest[range]).map(<[u8]>::to_vec);
                    self.acknowledge(id, answer);
                }
                ReadEvent::EarlyDatagram(data) => {
                    let answer = acknowledgement(&data).map(<[u8]>::to_vec);
                    self.acknowledge(id, answer);
                }
                ReadEvent::PeerClosed => {
                    self.endpoint.remove(id);
                    break;
                }
                ReadEvent::NeedInput | ReadEvent::WaitingForAnswer => break,
                _ => (),
            }
        }
        self.own_sockets.extend(self.endpoint.own_socket(id));
        if let Some(answer) = self.waiting.remove(&id) {
            self.acknowledge(id, Some(answer));
        }
    }

    fn acknowledge(&mut self, id: AssociationId, answer: Option<Vec<u8>>) {
        let Some(answer) = answer else { return };
        let mut datagram = Vec::new();
        match self.endpoint.write(id, &answer, &mut datagram) {
            Ok(path) => self.outgoing.push_back((path, datagram)),
            Err(Error::TooEarly(_)) => _ = self.waiting.insert(id, answer),
            // The client sends its message again.
            Err(_) => (),
        }
    }
}
