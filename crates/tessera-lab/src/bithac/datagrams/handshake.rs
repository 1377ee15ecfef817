//! A handshake of DTLS 1.3 in virtual time: a client, and a server's endpoint as servers have it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::Checked;
use tessera::resume::{ClientSession, KnownServerKey, TicketKeys};
use tessera::{
    AssociationOptions, ClientAssociation, ClientConfig, Destination, Error, Event, Facts,
    Progress, ReadEvent, ServerConfig, Time,
};
use tessera_endpoint::{AssociationId, Endpoint, EndpointOptions, Path, Route};
use tessera_link::{End, LinkParameters};

use super::direction::{Direction, HEADERS, Packets};
use crate::bithac::datagram_samples::DatagramSamples;
use crate::clock;
use crate::endpoint::Result;
use crate::pki::SERVER_NAME;

/// The early data, where it can be sent.
const REQUEST: [u8; 16] = [b'.'; 16];

/// Where the client is, for the server.
const CLIENT: ([u8; 4], u16) = ([192, 0, 2, 1], 49_152);

/// How long a handshake may last until all of it is acknowledged: longer than both ends wait.
const LONGEST: Duration = Duration::from_secs(600);

/// Headers of a plaintext record and a fragment (RFC 9147 §4, §5.2), in bytes.
const HEADERS_OF_RETRY: usize = 13 + 12;

/// Time that passes only from event to event.
pub(super) struct VirtualTime {
    began: Time,
    elapsed: Duration,
}

impl VirtualTime {
    /// Begins now: certificates are valid around now.
    pub(super) fn begin() -> Result<Self> {
        Ok(Self { began: clock::engine_time()?, elapsed: Duration::ZERO })
    }

    fn now(&self) -> Time {
        let Time { monotonic, unix } = self.began;
        Time { monotonic: monotonic + self.elapsed, unix: unix.map(|unix| unix + self.elapsed) }
    }
}

/// A handshake that is over: complete, and acknowledged, with a ticket where the client asked for one.
pub(super) struct FinishedHandshake {
    pub(super) client: Side,
    pub(super) server: Side,
    pub(super) sessions: Vec<ClientSession>,
    /// The early data that arrived.
    #[cfg(test)]
    pub(super) early_data: Vec<u8>,
    /// What the link counted, to the server first.
    #[cfg(test)]
    pub(super) link: [tessera_link::DirectionStatistics; 2],
}

impl FinishedHandshake {
    /// Adds it to samples.
    pub(super) fn add_to(&self, samples: &mut DatagramSamples) {
        let Self { client, server, .. } = self;
        samples.client_us.push(client.complete.as_micros() as u64);
        samples.server_us.push(server.complete.as_micros() as u64);
        samples.client_bytes.push(client.sent.bytes);
        samples.server_bytes.push(server.sent.bytes);
        samples.client_packets.push(client.sent.count);
        samples.server_packets.push(server.sent.count);
        samples.client_resent.push(client.resent);
        samples.server_resent.push(server.resent);
    }
}

/// One end of it.
pub(super) struct Side {
    /// When its handshake was complete, since the client began.
    pub(super) complete: Duration,
    pub(super) sent: Packets,
    /// Bytes of handshake messages that it sent again.
    pub(super) resent: u64,
    pub(super) facts: Facts,
}

/// Runs a handshake over a link with these parameters.
pub(super) fn run(
    client: &Checked<ClientConfig>,
    server: &Checked<ServerConfig>,
    cookies: &Arc<dyn TicketKeys>,
    session: Option<ClientSession>,
    known_key: Option<KnownServerKey>,
    link: &LinkParameters,
    time: &mut VirtualTime,
) -> Result<FinishedHandshake> {
    let both = EndpointOptions::default();
    let max_datagram = both.max_datagram.min(usize::from(link.mtu) - HEADERS);
    let options = AssociationOptions { max_datagram, ..AssociationOptions::default() };
    let destination = Destination {
        server_name: SERVER_NAME.into(),
        session: session.map(Box::new),
        known_server_key: known_key.map(Box::new),
        ..Destination::default()
    };
    let now = time.now();
    let mut client = ClientAssociation::start(client.clone(), destination, options, now)?;
    if client.early_data_room() >= REQUEST.len() {
        client.write_early_data(&REQUEST)?;
    }
    let options = EndpointOptions { max_datagram, ..both };
    let mut ends = Ends {
        began: now.monotonic,
        time,
        client,
        endpoint: Endpoint::new(server.clone(), cookies.clone(), options),
        id: None,
        to_server: Direction::new(link, End::Server),
        to_client: Direction::new(link, End::Client),
        complete: [None; 2],
        sessions: Vec::new(),
        early_data: Vec::new(),
        retries: 0,
        retries_resent: 0,
    };
    ends.run()?;
    ends.finish()
}

/// Both ends while they run.
struct Ends<'t> {
    time: &'t mut VirtualTime,
    began: Duration,
    client: ClientAssociation,
    endpoint: Endpoint,
    id: Option<AssociationId>,
    to_server: Direction,
    to_client: Direction,
    /// The client's, and the server's.
    complete: [Option<Duration>; 2],
    sessions: Vec<ClientSession>,
    early_data: Vec<u8>,
    /// How many HelloRetryRequests were sent, and how many bytes of them again.
    retries: u64,
    retries_resent: u64,
}

impl Ends<'_> {
    fn run(&mut self) -> Result<()> {
        let until = self.time.elapsed + LONGEST;
        loop {
            self.transmit();
            if self.is_over() {
                return Ok(());
            }
            let next = self.next_moment().ok_or("both ends wait for each other")?;
            self.time.elapsed = self.time.elapsed.max(next);
            if self.time.elapsed > until {
                return Err("the handshake takes longer than both ends wait".into());
            }
            let now = self.time.now();
            while let Some(datagram) = self.to_server.receive(now.monotonic) {
                self.deliver_to_server(datagram, now)?;
            }
            while let Some(mut datagram) = self.to_client.receive(now.monotonic) {
                self.deliver_to_client(&mut datagram, now)?;
            }
            if self.client.deadline().is_some_and(|due| due <= now.monotonic) {
                self.client.handle_timeout(now)?;
            }
            if self.endpoint.deadline().is_some_and(|due| due <= now.monotonic)
                && let Some(ended) = self.endpoint.handle_timeouts(now).pop()
            {
                return Err(ended.error.into());
            }
        }
    }

    /// Whether both ends are complete, and neither waits for anything.
    fn is_over(&mut self) -> bool {
        let is_quiet = [&self.to_server, &self.to_client].map(Direction::next_arrival) == [None; 2];
        let (true, true, Some(id)) = (is_quiet, !self.complete.contains(&None), self.id) else {
            return false;
        };
        let is_acknowledged = self.endpoint.with(id, |server| server.is_acknowledged());
        self.client.is_acknowledged() && is_acknowledged == Some(true)
    }

    fn next_moment(&self) -> Option<Duration> {
        let moments = [
            self.to_server.next_arrival(),
            self.to_client.next_arrival(),
            self.client.deadline(),
            self.endpoint.deadline(),
        ];
        let first = moments.into_iter().flatten().min()?;
        Some(first.saturating_sub(self.time.began.monotonic))
    }

    fn transmit(&mut self) {
        let now = self.time.now();
        let mut datagram = Vec::new();
        while self.client.transmit(now, &mut datagram) {
            self.to_server.send(now.monotonic, std::mem::take(&mut datagram));
        }
        while self.endpoint.transmit(now, &mut datagram).is_some() {
            // They are sent first.
            if self.retries < self.endpoint.counts().cookies_sent {
                if self.retries > 0 {
                    self.retries_resent += (datagram.len() - HEADERS_OF_RETRY) as u64;
                }
                self.retries += 1;
            }
            self.to_client.send(now.monotonic, std::mem::take(&mut datagram));
        }
    }

    fn deliver_to_server(&mut self, mut datagram: Vec<u8>, now: Time) -> Result<()> {
        let path = Path { remote: SocketAddr::from(CLIENT), local: None };
        let id = match self.endpoint.route(now, path, &datagram) {
            Route::Association(id) => id,
            Route::Begins(id, all) => {
                datagram = all;
                id
            }
            Route::Handled | Route::Dropped => return Ok(()),
            other => return Err(format!("a datagram of the client's is {other:?}").into()),
        };
        self.id = Some(id);
        let Self { endpoint, complete: [_, complete], early_data, began, .. } = self;
        let read = |rest: &mut [u8]| endpoint.read(id, now, path, rest);
        let read = each_event(&mut datagram, read, |event, bytes| {
            match event {
                ReadEvent::Handshake(Event::HandshakeComplete) => {
                    complete.get_or_insert(now.monotonic - *began);
                }
                ReadEvent::EarlyData(range) => early_data.extend_from_slice(&bytes[range]),
                ReadEvent::EarlyDatagram(data) => early_data.extend(data),
                ReadEvent::Question(_) => return Err(ASKED.into()),
                _ => (),
            }
            Ok(())
        });
        match read {
            // The endpoint asks for a cookie.
            Err(error) if is_unproved(&*error) => Ok(()),
            other => other,
        }
    }

    fn deliver_to_client(&mut self, datagram: &mut [u8], now: Time) -> Result<()> {
        let Self { client, complete: [complete, _], sessions, began, .. } = self;
        each_event(
            datagram,
            |rest| client.read(now, rest),
            |event, _| {
                match event {
                    ReadEvent::Handshake(Event::HandshakeComplete) => {
                        complete.get_or_insert(now.monotonic - *began);
                    }
                    ReadEvent::Handshake(Event::NewSession(session)) => sessions.push(*session),
                    ReadEvent::Handshake(Event::EarlyDataRejected(verdict)) => {
                        return Err(format!("the early data was rejected ({verdict:?})").into());
                    }
                    ReadEvent::Question(_) => return Err(ASKED.into()),
                    _ => (),
                }
                Ok(())
            },
        )
    }

    fn finish(mut self) -> Result<FinishedHandshake> {
        let missing = || "the handshake is not complete";
        let [Some(client_complete), Some(server_complete)] = self.complete else {
            return Err(missing().into());
        };
        let id = self.id.ok_or_else(missing)?;
        let server = self.endpoint.with(id, |server| (server.facts().clone(), server.resent()));
        let (server_facts, server_resent) = server.ok_or_else(missing)?;
        Ok(FinishedHandshake {
            client: Side {
                complete: client_complete,
                sent: self.to_server.sent(),
                resent: self.client.resent(),
                facts: self.client.facts().clone(),
            },
            server: Side {
                complete: server_complete,
                sent: self.to_client.sent(),
                resent: server_resent + self.retries_resent,
                facts: server_facts,
            },
            sessions: self.sessions,
            #[cfg(test)]
            early_data: self.early_data,
            #[cfg(test)]
            link: [self.to_server.statistics(), self.to_client.statistics()],
        })
    }
}

const ASKED: &str = "the engine asks what its configuration should answer";

fn is_unproved(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref() == Some(&Error::AddressUnproved)
}

/// Reads a whole datagram, event by event; each gets the bytes in which its ranges lie.
fn each_event<Q>(
    datagram: &mut [u8],
    mut read: impl FnMut(&mut [u8]) -> std::result::Result<Progress<Q>, Error>,
    mut event: impl FnMut(ReadEvent<Q>, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut consumed = 0;
    loop {
        let rest = &mut datagram[consumed..];
        let progress = read(rest)?;
        consumed += progress.consumed;
        match progress.event {
            ReadEvent::NeedInput | ReadEvent::WaitingForAnswer | ReadEvent::PeerClosed => {
                return Ok(());
            }
            other => event(other, rest)?,
        }
    }
}
