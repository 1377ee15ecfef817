//! The client, sans-IO: an application, how it notices that its path has gone, and how it goes on.
//!
//! ```text
//!   interfaces, datagrams, time ──► MobileClient ──► datagrams by socket, events
//! ```

mod application;
mod event;
mod interfaces;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tessera::handshake::Checked;
use tessera::resume::ClientSession;
use tessera::{
    AssociationOptions, ClientAssociation, ClientConfig, Destination, Error, Event, ReadEvent, Time,
};
use tessera_endpoint::{ClientEndpoint, Path};

pub use self::application::Detection;
pub(crate) use self::application::{MESSAGE_LEN, Task, acknowledgement};
pub(crate) use self::event::ClientEvent;
pub(crate) use self::interfaces::SocketId;

use self::application::Application;
use self::interfaces::Interfaces;
use crate::pki::SERVER_NAME;

/// What a client is to do.
pub(super) struct ClientSettings {
    pub(super) task: Task,
    /// Those of each association.
    pub(super) options: AssociationOptions,
    /// Whether its server may have a socket for it alone.
    pub(super) follows: bool,
    /// Whether its association goes on when its address changes. Otherwise it connects again.
    pub(super) survives: bool,
    /// After how many time-outs in a row it does.
    pub(super) timeouts: u32,
}

/// What a datagram has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A message of the application, or its acknowledgement.
    Data,
    /// Anything else: handshake messages, their acknowledgements, checks of paths.
    Other,
}

/// The client.
pub(super) struct MobileClient {
    config: Checked<ClientConfig>,
    settings: ClientSettings,
    application: Application,
    interfaces: Interfaces,
    server: SocketAddr,
    endpoint: ClientEndpoint,
    is_complete: bool,
    /// Whether it, or one before it, was complete.
    was_connected: bool,
    /// The message under way was sent as early data that was not refused.
    is_early: bool,
    /// Time-outs since the last acknowledgement.
    timeouts: u32,
    /// Further connection IDs were requested since the last change of address.
    has_requested_ids: bool,
    sessions: VecDeque<ClientSession>,
    outgoing: VecDeque<(Path, Vec<u8>)>,
    events: Vec<ClientEvent>,
}

impl MobileClient {
    /// Begins a handshake, from the first of these addresses.
    ///
    /// # Errors
    /// Those of [`ClientAssociation::start`].
    pub(super) fn start(
        config: Checked<ClientConfig>,
        settings: ClientSettings,
        addresses: &[IpAddr],
        server: SocketAddr,
        now: Time,
    ) -> Result<Self, Error> {
        let interfaces = Interfaces::new(addresses);
        let path = Path { remote: server, local: interfaces.name(interfaces.current()) };
        let endpoint = begin(&config, &settings, None, path, now)?;
        let at = nanoseconds(now.monotonic);
        Ok(Self {
            config,
            application: Application::new(settings.task),
            settings,
            interfaces,
            server,
            endpoint,
            is_complete: false,
            was_connected: false,
            is_early: false,
            timeouts: 0,
            has_requested_ids: false,
            sessions: VecDeque::new(),
            outgoing: VecDeque::new(),
            events: vec![
                ClientEvent::Socket { at, address: None },
                ClientEvent::HandshakeBegin { at },
            ],
        })
    }

    /// Whether all messages are acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.application.is_done()
    }

    /// Whether a handshake was ever complete.
    pub(super) fn was_connected(&self) -> bool {
        self.was_connected
    }

    /// Takes what happened since the last call.
    pub(super) fn take_events(&mut self) -> Vec<ClientEvent> {
        std::mem::take(&mut self.events)
    }

    /// Returns the address at which a socket is to be opened.
    pub(super) fn address(&self, socket: SocketId) -> Option<IpAddr> {
        self.interfaces.address(socket)
    }

    /// An interface has gone down.
    pub(super) fn interface_down(&mut self, index: usize, now: Time) -> Result<(), Error> {
        self.interfaces.set_down(index);
        self.link_event(now, true)
    }

    /// An interface is up, with this address.
    pub(super) fn interface_up(
        &mut self,
        index: usize,
        address: IpAddr,
        now: Time,
    ) -> Result<(), Error> {
        self.interfaces.set_up(index, address);
        self.link_event(now, false)
    }

    /// Goes on at once, if the client listens to its interfaces.
    fn link_event(&mut self, now: Time, is_down: bool) -> Result<(), Error> {
        if self.application.detection() != Detection::Event {
            return Ok(());
        }
        let has_moved = self.follow(now)?;
        // Of one interface that is down there is nothing to do.
        if is_down && !has_moved {
            return Ok(());
        }
        self.recover(now)
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called even if nothing arrived.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let of_application = match self.is_complete {
            true => self.application.due().or(self.application.timeout()),
            false => None,
        };
        [self.endpoint.deadline(), of_application].into_iter().flatten().min()
    }

    /// Does what is due.
    ///
    /// # Errors
    /// If the handshake failed.
    pub(super) fn handle_timeout(&mut self, now: Time) -> Result<(), Error> {
        if self.endpoint.deadline().is_some_and(|due| due <= now.monotonic)
            && let Err(error) = self.endpoint.handle_timeout(now)
        {
            return if self.was_connected { self.connect(now) } else { Err(error) };
        }
        if !self.is_complete {
            return Ok(());
        }
        if self.application.due().is_some_and(|due| due <= now.monotonic) {
            return self.send(now);
        }
        if self.application.timeout().is_some_and(|due| due <= now.monotonic) {
            self.events.push(ClientEvent::Timeout { at: nanoseconds(now.monotonic) });
            self.timeouts += 1;
            let gives_up = self.settings.survives || self.timeouts >= self.settings.timeouts;
            return if gives_up { self.recover(now) } else { self.send(now) };
        }
        Ok(())
    }

    /// Goes on after the path has gone.
    fn recover(&mut self, now: Time) -> Result<(), Error> {
        if !self.settings.survives {
            return self.connect(now);
        }
        if self.is_complete && self.application.is_under_way() {
            return self.send(now);
        }
        Ok(())
    }

    /// Begins an association, from a socket of its own.
    fn connect(&mut self, now: Time) -> Result<(), Error> {
        let socket = self.interfaces.begin();
        let path = Path { remote: self.server, local: self.interfaces.name(socket) };
        let session = self.sessions.pop_front();
        self.endpoint = begin(&self.config, &self.settings, session, path, now)?;
        (self.is_complete, self.is_early, self.has_requested_ids) = (false, false, false);
        self.timeouts = 0;
        self.outgoing.clear();
        let at = nanoseconds(now.monotonic);
        self.events.push(ClientEvent::Socket { at, address: None });
        self.events.push(ClientEvent::HandshakeBegin { at });
        let is_wanted = self.application.is_under_way()
            || self.application.due().is_some_and(|due| due <= now.monotonic);
        let association = self.endpoint.association_mut();
        if is_wanted && association.early_data_room() >= MESSAGE_LEN {
            let (number, message) = self.application.send(now.monotonic);
            self.is_early = association.write_early_data(&message)?;
            self.events.push(ClientEvent::Sent { at, message: number });
        }
        Ok(())
    }

    /// Sends the next message, or again the one under way.
    fn send(&mut self, now: Time) -> Result<(), Error> {
        self.follow(now)?;
        // A handshake has begun again.
        if !self.is_complete {
            return Ok(());
        }
        let (number, message) = self.application.send(now.monotonic);
        let mut datagram = Vec::new();
        let path = self.endpoint.write(&message, &mut datagram)?;
        self.outgoing.push_back((path, datagram));
        self.events.push(ClientEvent::Sent { at: nanoseconds(now.monotonic), message: number });
        Ok(())
    }

    /// Changes to the socket from which datagrams leave now; returns whether it is another.
    fn follow(&mut self, now: Time) -> Result<bool, Error> {
        let Some(is_new) = self.interfaces.follow() else { return Ok(false) };
        if !self.is_complete {
            // The server knows the handshake by an address that is gone.
            self.connect(now)?;
            return Ok(true);
        }
        // Under the next connection ID, so that who sees both addresses can't link them (RFC 9147 §11).
        self.endpoint.use_local(self.interfaces.name(self.interfaces.current()), now);
        self.has_requested_ids = false;
        if is_new {
            let at = nanoseconds(now.monotonic);
            self.events.push(ClientEvent::Socket { at, address: None });
        }
        Ok(true)
    }

    /// Appends the next datagram to send to `out`; returns its socket, the server's address, and what it has.
    ///
    /// # Errors
    /// If the handshake failed.
    pub(super) fn transmit(
        &mut self,
        now: Time,
        out: &mut Vec<u8>,
    ) -> Result<Option<(SocketId, SocketAddr, Content)>, Error> {
        let of = |path: Path, content| (SocketId::named(path.local), path.remote, content);
        if let Some(path) = self.endpoint.transmit(now, out) {
            let was_complete = self.is_complete;
            if self.follow(now)? && !was_complete {
                // Another handshake has begun.
                out.clear();
                let path = self.endpoint.transmit(now, out);
                return Ok(path.map(|path| of(path, Content::Other)));
            }
            return Ok(Some(of(path, Content::Other)));
        }
        Ok(self.outgoing.pop_front().map(|(path, datagram)| {
            out.extend_from_slice(&datagram);
            of(path, Content::Data)
        }))
    }

    /// Reads a datagram that came to a socket from this address.
    ///
    /// # Errors
    /// If the handshake or the association failed.
    pub(super) fn receive(
        &mut self,
        socket: SocketId,
        from: SocketAddr,
        datagram: &mut [u8],
        now: Time,
    ) -> Result<(), Error> {
        if !self.interfaces.has(socket) || !self.endpoint.is_from_server(from) {
            return Ok(());
        }
        let path = Path { remote: from, local: self.interfaces.name(socket) };
        let mut consumed = 0;
        loop {
            let rest = &mut datagram[consumed..];
            let progress = match self.endpoint.read(now, path, rest) {
                // The server has restarted.
                Err(Error::AssociationLost) => return self.connect(now),
                read => read?,
            };
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(range) => {
                    if let Some(message) = self.application.acknowledge(&rest[range], now.monotonic)
                    {
                        self.acknowledged(message, now)?;
                    }
                }
                ReadEvent::Handshake(Event::HandshakeComplete) => self.complete(now)?,
                ReadEvent::Handshake(Event::NewSession(session)) => {
                    self.sessions.push_front(*session);
                    self.sessions.truncate(MOST_SESSIONS);
                }
                ReadEvent::Handshake(Event::EarlyDataRejected(_)) => self.is_early = false,
                ReadEvent::NeedInput | ReadEvent::WaitingForAnswer | ReadEvent::PeerClosed => {
                    return Ok(());
                }
                _ => (),
            }
        }
    }

    fn acknowledged(&mut self, message: u32, now: Time) -> Result<(), Error> {
        self.timeouts = 0;
        self.is_early = false;
        self.events.push(ClientEvent::Ack { at: nanoseconds(now.monotonic), message });
        self.request_ids();
        if self.is_complete && self.application.due().is_some_and(|due| due <= now.monotonic) {
            self.send(now)?;
        }
        Ok(())
    }

    fn complete(&mut self, now: Time) -> Result<(), Error> {
        (self.is_complete, self.was_connected) = (true, true);
        self.events.push(ClientEvent::HandshakeEnd { at: nanoseconds(now.monotonic) });
        let is_due = self.application.due().is_some_and(|due| due <= now.monotonic);
        if is_due || (self.application.is_under_way() && !self.is_early) {
            self.send(now)?;
        }
        Ok(())
    }

    /// Asks for connection IDs for moves to come, once for each.
    fn request_ids(&mut self) {
        if self.settings.survives && !self.has_requested_ids && self.is_complete {
            let association = self.endpoint.association_mut();
            let missing = SPARE_IDS.saturating_sub(association.spare_connection_ids());
            self.has_requested_ids =
                missing == 0 || association.request_connection_ids(missing as u8).is_ok();
        }
    }
}

/// How many connection IDs are kept for moves.
const SPARE_IDS: usize = 2;

/// How many sessions are kept.
const MOST_SESSIONS: usize = 4;

/// Begins a handshake.
fn begin(
    config: &Checked<ClientConfig>,
    settings: &ClientSettings,
    session: Option<ClientSession>,
    path: Path,
    now: Time,
) -> Result<ClientEndpoint, Error> {
    let options = settings.options.clone();
    let association = ClientAssociation::start(config.clone(), to(session), options, now)?;
    let follows_to = settings.follows.then(Vec::new);
    Ok(ClientEndpoint::new(association, path, follows_to, config.provider.random))
}

fn to(session: Option<ClientSession>) -> Destination {
    Destination {
        server_name: SERVER_NAME.into(),
        session: session.map(Box::new),
        ..Destination::default()
    }
}

/// Returns why a client can't go on, in the words of all programs.
pub(super) fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref() {
        Some(Error::TimedOut) => NO_HANDSHAKE.to_owned(),
        _ => error.to_string(),
    }
}

/// The first handshake is not complete in time.
pub(super) const NO_HANDSHAKE: &str = "no handshake within a minute";

/// Returns a moment as events have it.
pub(crate) fn nanoseconds(moment: Duration) -> u64 {
    moment.as_nanos() as u64
}
