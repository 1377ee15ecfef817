//! All associations of a socket.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tessera::crypto::Random;
use tessera::face::{Arrival, HandshakeMessage, HelloPart, HelloReader, offers_psk, write_retry};
use tessera::handshake::{Checked, OpenQuestion, Question, ServerQuestion, Token};
use tessera::resume::TicketKeys;
use tessera::{
    AssociationOptions, ConnectionId, Error, Event, Progress, ReadEvent, ServerAssociation,
    ServerConfig, Time,
};

use crate::budget::Budget;
use crate::cookies::Cookies;
use crate::counts::EndpointCounts;
use crate::foreign::Foreign;
use crate::hello_pool::{HelloPool, PartOutcome};
use crate::options::EndpointOptions;
use crate::path::Path;
use crate::routes::Routes;
use crate::timers::Timers;

/// The name of an association in its endpoint; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId(u64);

/// What becomes of a datagram.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Route {
    /// It belongs to this association: [`read`](Endpoint::read) it. The association may be new.
    Association(AssociationId),
    /// It completed a ClientHello, with which an association begins: read these datagrams instead of it.
    Begins(AssociationId, Vec<u8>),
    /// [`transmit`](Endpoint::transmit) has the answer, or the rest is awaited.
    Handled,
    /// It isn't DTLS 1.3.
    Foreign(Foreign),
    /// Nothing: [`counts`](Endpoint::counts) has the reason.
    Dropped,
}

/// All associations of a server's socket.
pub struct Endpoint {
    config: Checked<ServerConfig>,
    random: &'static dyn Random,
    cookies: Cookies,
    options: EndpointOptions,
    associations: HashMap<u64, Entry>,
    next_id: u64,
    routes: Routes,
    hellos: HelloPool,
    timers: Timers,
    /// How many associations began from an unproved address and have shown nothing else.
    unproved: usize,
    /// Those that may have something to send.
    ready: VecDeque<u64>,
    /// Datagrams of no association.
    answers: VecDeque<(Path, Vec<u8>)>,
    /// Those that ended otherwise than in a call about them, until the owner learns it.
    ended: Vec<(AssociationId, Error)>,
    counts: EndpointCounts,
}

struct Entry {
    association: ServerAssociation,
    path: Path,
    own_id: ConnectionId,
    budget: Budget,
    /// Bytes from the peer, and to it.
    received: u64,
    sent: u64,
    /// The ClientHello, while a question about it is open and its address may turn out to need a cookie.
    hello: Vec<u8>,
    /// It is one of the endpoint's `unproved`.
    is_unproved: bool,
    is_ready: bool,
    has_failed: bool,
    deadline: Option<Duration>,
}

impl Entry {
    fn count_sent(&mut self, bytes: usize) {
        self.budget.send(bytes);
        self.sent += bytes as u64;
    }
}

impl Endpoint {
    /// Creates the endpoint of a server. `cookies` seals cookies: keys that a fleet behind one address shares, and that
    /// it should replace more often than those of tickets.
    #[must_use]
    pub fn new(
        config: Checked<ServerConfig>,
        cookies: Arc<dyn TicketKeys>,
        options: EndpointOptions,
    ) -> Self {
        Self {
            random: config.provider.random,
            config,
            cookies: Cookies::new(cookies, options.cookie_lifetime),
            hellos: HelloPool::new(options.hello_pool),
            options,
            associations: HashMap::new(),
            next_id: 0,
            routes: Routes::default(),
            timers: Timers::default(),
            unproved: 0,
            ready: VecDeque::new(),
            answers: VecDeque::new(),
            ended: Vec::new(),
            counts: EndpointCounts::default(),
        }
    }

    /// Uses this configuration for associations that begin from now on.
    pub fn set_config(&mut self, config: Checked<ServerConfig>) {
        self.config = config;
    }

    /// Returns what a datagram belongs to; a ClientHello may be answered at once, or begin an association.
    pub fn route(&mut self, now: Time, path: Path, datagram: &[u8]) -> Route {
        if let Some(foreign) = Foreign::of(datagram) {
            self.counts.foreign += 1;
            return Route::Foreign(foreign);
        }
        match self.routes.by_id(datagram, self.options.connection_id_len) {
            Some(Some(id)) => return Route::Association(AssociationId(id)),
            Some(None) => return self.unknown(),
            None => (),
        }
        let is_plaintext_handshake = datagram.first() == Some(&HANDSHAKE);
        // RFC 9147 §5.11: a client may have begun again from the address of a live association.
        let may_begin = is_plaintext_handshake && self.routes.is_settled(&path);
        if let Some(id) = self.routes.by_path(&path, datagram).filter(|_| !may_begin) {
            return Route::Association(AssociationId(id));
        }
        if !is_plaintext_handshake {
            return self.unknown();
        }
        self.part(now, path, datagram)
    }

    fn unknown(&mut self) -> Route {
        self.counts.unknown += 1;
        Route::Dropped
    }

    /// Handles a datagram that begins with a plaintext handshake record, and belongs to no association.
    fn part(&mut self, now: Time, path: Path, datagram: &[u8]) -> Route {
        let mut begun = None;
        if !self.hellos.has(&path) {
            let mut reader = HelloReader::default();
            match reader.read(datagram) {
                HelloPart::Whole(message) => return self.hello(now, path, &message, None),
                HelloPart::Partial => begun = Some(reader),
                HelloPart::Other => return self.unknown(),
            }
        }
        match self.hellos.add(path, datagram, begun, now.monotonic) {
            PartOutcome::Whole(message, all) => self.hello(now, path, &message, Some(all)),
            PartOutcome::Kept => {
                self.counts.kept_parts += 1;
                Route::Handled
            }
            PartOutcome::Dropped => {
                self.counts.dropped_parts += 1;
                Route::Dropped
            }
        }
    }

    /// Decides on a whole ClientHello.
    fn hello(&mut self, now: Time, path: Path, message: &[u8], all: Option<Vec<u8>>) -> Route {
        let Some(hello) = HandshakeMessage::split_from(message) else { return self.unknown() };
        // Cookies have an age.
        let Some(unix) = now.unix else { return self.refused() };
        let mut is_unproved = false;
        let arrival = match self.cookies.open(&self.config, &path, hello, unix) {
            Ok(Some(retry)) => {
                self.counts.cookies_opened += 1;
                Arrival::default().after_retry(retry)
            }
            Ok(None) if self.unproved < self.options.max_unproved && offers_psk(hello) => {
                is_unproved = true;
                Arrival::default().from_unproved_address()
            }
            Ok(None) => return self.ask_for_cookie(path, hello, unix),
            Err(error)
                if error.alert() == Some(tessera::wire::AlertDescription::PROTOCOL_VERSION) =>
            {
                self.counts.foreign += 1;
                return Route::Foreign(Foreign::Dtls12);
            }
            Err(_) => {
                self.counts.cookies_refused += 1;
                return Route::Dropped;
            }
        };
        match self.begin(now, path, arrival, is_unproved) {
            Some(id) => all.map_or(Route::Association(id), |all| Route::Begins(id, all)),
            None => {
                self.counts.full += 1;
                Route::Dropped
            }
        }
    }

    fn refused(&mut self) -> Route {
        self.counts.refused_hellos += 1;
        Route::Dropped
    }

    fn ask_for_cookie(&mut self, path: Path, hello: HandshakeMessage<'_>, unix: Duration) -> Route {
        let Ok(request) = self.cookies.request(&self.config, &path, hello, unix) else {
            return self.refused();
        };
        let mut datagram = Vec::new();
        // A HelloRetryRequest has some 200 bytes, and a ClientHello more than a third of that.
        if self.answers.len() >= MAX_ANSWERS || write_retry(&request, &mut datagram).is_err() {
            return self.refused();
        }
        self.counts.cookies_sent += 1;
        self.answers.push_back((path, datagram));
        Route::Handled
    }

    /// Begins an association; `None` if a limit is reached.
    fn begin(
        &mut self,
        now: Time,
        path: Path,
        arrival: Arrival,
        is_unproved: bool,
    ) -> Option<AssociationId> {
        let is_full = self.associations.len() >= self.options.max_associations
            || self.routes.count_of(&path) >= self.options.max_per_source;
        if is_full {
            return None;
        }
        let own_id = self.new_connection_id()?;
        let options = AssociationOptions {
            connection_id: Some(own_id.clone()),
            first_timeout: self.options.first_timeout,
            max_datagram: self.options.max_datagram,
            ..AssociationOptions::default()
        };
        let config = self.config.clone();
        let association = ServerAssociation::start(config, arrival, options, now).ok()?;
        let id = self.next_id;
        self.next_id += 1;
        let replaced = self.routes.begin(id, path, &own_id);
        let entry = Entry {
            association,
            path,
            own_id,
            budget: if is_unproved { Budget::UNPROVED } else { Budget::Proved },
            received: 0,
            sent: 0,
            hello: Vec::new(),
            is_unproved,
            is_ready: false,
            has_failed: false,
            deadline: None,
        };
        self.unproved += usize::from(is_unproved);
        self.associations.insert(id, entry);
        // Of two handshakes from one address the client has given up the first.
        if let Some(replaced) = replaced {
            self.replace(AssociationId(replaced));
        }
        Some(AssociationId(id))
    }

    fn new_connection_id(&self) -> Option<ConnectionId> {
        let mut bytes = [0; MAX_CONNECTION_ID];
        let bytes = &mut bytes[..self.options.connection_id_len.min(MAX_CONNECTION_ID)];
        if !bytes.is_empty() {
            self.random.fill(bytes).ok()?;
        }
        ConnectionId::new(bytes)
    }

    /// Reads a datagram, or what is left of it, for its association, up to the next event.
    ///
    /// # Errors
    /// The association has ended, or is no longer known.
    pub fn read(
        &mut self,
        id: AssociationId,
        now: Time,
        path: Path,
        datagram: &mut [u8],
    ) -> Result<Progress<ServerQuestion>, Error> {
        let entry = self.associations.get_mut(&id.0).ok_or(Error::Closed)?;
        let before = entry.association.newest_record();
        let read = entry.association.read(now, datagram);
        let is_newer = entry.association.newest_record() > before;
        match &read {
            Ok(progress) => {
                // The rest is counted when it is read.
                entry.received += progress.consumed as u64;
                if entry.path == path {
                    entry.budget.receive(progress.consumed);
                }
                if let ReadEvent::Handshake(Event::HandshakeComplete) = progress.event {
                    self.complete(id);
                }
                if is_newer {
                    self.note_path(id, path, progress.consumed);
                }
                if let ReadEvent::Question(_) = progress.event {
                    self.keep_hello(id, datagram);
                }
                self.wake(id);
            }
            Err(error) => self.failed(id, error, now, datagram),
        }
        read
    }

    /// Keeps the ClientHello of an association whose address is unproved: the answer to a question about it may be that
    /// no PSK vouches for the client.
    fn keep_hello(&mut self, id: AssociationId, datagram: &[u8]) {
        if let Some(entry) = self.associations.get_mut(&id.0)
            && !entry.budget.is_proved()
            && entry.hello.is_empty()
        {
            entry.hello = datagram.to_vec();
        }
    }

    /// Notes that an association's handshake is complete.
    fn complete(&mut self, id: AssociationId) {
        let Some(entry) = self.associations.get_mut(&id.0) else { return };
        entry.budget = Budget::Proved;
        entry.hello = Vec::new();
        self.unproved -= usize::from(std::mem::take(&mut entry.is_unproved));
        let replaced = self.routes.complete(id.0, entry.path);
        // RFC 9147 §5.11: of two associations without connection IDs none could tell its records.
        if let Some(replaced) = replaced
            && self.associations.get(&replaced).is_some_and(|entry| entry.own_id.is_empty())
        {
            self.replace(AssociationId(replaced));
        }
    }

    /// Removes an association whose client has begun again.
    fn replace(&mut self, id: AssociationId) {
        self.remove(id);
        self.ended.push((id, Error::Truncated));
    }

    /// The newest record came on this path: the peer is there now (RFC 9146 §6).
    fn note_path(&mut self, id: AssociationId, path: Path, received: usize) {
        let Some(entry) = self.associations.get_mut(&id.0) else { return };
        if entry.path == path
            || entry.own_id.is_empty()
            || !entry.association.facts().handshake_complete
        {
            return;
        }
        self.routes.move_to(id.0, entry.path, path);
        entry.path = path;
        entry.budget = Budget::UNPROVED;
        entry.budget.receive(received);
        self.counts.moved += 1;
    }

    /// Ends an association after an error: its alert goes to proved addresses only.
    fn failed(&mut self, id: AssociationId, error: &Error, now: Time, datagram: &[u8]) {
        let Some(entry) = self.associations.get_mut(&id.0) else { return };
        let path = entry.path;
        entry.has_failed = true;
        if entry.budget.is_proved() {
            self.wake(id);
            return;
        }
        self.remove(id);
        if *error != Error::AddressUnproved {
            self.counts.refused_hellos += 1;
            return;
        }
        if let HelloPart::Whole(message) = HelloReader::default().read(datagram)
            && let Some(hello) = HandshakeMessage::split_from(&message)
            && let Some(unix) = now.unix
        {
            self.ask_for_cookie(path, hello, unix);
        }
    }

    /// Answers a question of an association.
    pub fn answer<Q: Question>(
        &mut self,
        id: AssociationId,
        token: Token<Q>,
        answer: Q::Answer,
        now: Time,
    ) -> Result<(), Error>
    where
        ServerQuestion: From<OpenQuestion<Q>>,
    {
        self.answer_with(id, now, |association| association.answer(token, answer, now))
    }

    /// As [`answer`](Self::answer), for owners who keep token and answer in a closure.
    pub fn answer_with(
        &mut self,
        id: AssociationId,
        now: Time,
        answer: impl FnOnce(&mut ServerAssociation) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let entry = self.associations.get_mut(&id.0).ok_or(Error::Closed)?;
        let result = answer(&mut entry.association);
        match &result {
            Err(error) if error.is_final() => {
                let hello = std::mem::take(&mut entry.hello);
                self.failed(id, error, now, &hello);
            }
            _ => self.wake(id),
        }
        result
    }

    /// Appends a datagram with `data` to `out`, and returns where to send it.
    ///
    /// # Errors
    /// Those of [`Association::write`](tessera::Association::write); [`Error::TooEarly`] while the peer's address is
    /// unproved and has got three times what came from it.
    pub fn write(
        &mut self,
        id: AssociationId,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Path, Error> {
        let entry = self.associations.get_mut(&id.0).ok_or(Error::Closed)?;
        let start = out.len();
        let longest =
            data.len() + self.options.max_datagram.saturating_sub(entry.association.max_data());
        if entry.budget.left() < longest {
            return Err(Error::TooEarly("the peer's address is unproved"));
        }
        let written = entry.association.write(data, out);
        entry.count_sent(out.len() - start);
        let path = entry.path;
        self.wake(id);
        written.map(|()| path)
    }

    /// Changes an association: closes it, changes its keys. What it must send then is sent by
    /// [`transmit`](Self::transmit).
    pub fn with<R>(
        &mut self,
        id: AssociationId,
        change: impl FnOnce(&mut ServerAssociation) -> R,
    ) -> Option<R> {
        let changed = self.associations.get_mut(&id.0).map(|entry| change(&mut entry.association));
        self.wake(id);
        changed
    }

    /// Returns where an association's peer is.
    #[must_use]
    pub fn path(&self, id: AssociationId) -> Option<Path> {
        self.associations.get(&id.0).map(|entry| entry.path)
    }

    /// Returns how many bytes an association has received, and how many it has sent, all of its datagrams included.
    #[must_use]
    pub fn bytes(&self, id: AssociationId) -> Option<[u64; 2]> {
        self.associations.get(&id.0).map(|entry| [entry.received, entry.sent])
    }

    /// Forgets an association, without a word to its peer.
    pub fn remove(&mut self, id: AssociationId) {
        let Some(entry) = self.associations.remove(&id.0) else { return };
        self.routes.remove(id.0, entry.path, &entry.own_id);
        self.timers.set(id.0, entry.deadline, None);
        self.unproved -= usize::from(entry.is_unproved);
    }

    /// Appends the next datagram to send to `out`, and returns where to; `None` if there is none.
    pub fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Path> {
        if let Some((path, datagram)) = self.answers.pop_front() {
            out.extend_from_slice(&datagram);
            return Some(path);
        }
        while let Some(id) = self.ready.front().copied() {
            if let Some(entry) = self.associations.get_mut(&id) {
                let start = out.len();
                let left = entry.budget.left();
                let is_allowed = left >= self.options.max_datagram.min(SHORTEST_DATAGRAM);
                if is_allowed && entry.association.transmit_within(left, now, out) {
                    entry.count_sent(out.len() - start);
                    return Some(entry.path);
                }
                entry.is_ready = false;
                let has_failed = entry.has_failed;
                // One that may not send waits for its peer, or for the end of the handshake.
                let not_before = if is_allowed { Duration::ZERO } else { now.monotonic + PAUSE };
                self.set_timer(id, not_before);
                if has_failed {
                    self.remove(AssociationId(id));
                }
            }
            self.ready.pop_front();
        }
        None
    }

    /// Returns when [`handle_timeouts`](Self::handle_timeouts) must be called even if nothing arrived, on the monotonic
    /// clock.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        if self.ended.is_empty() { self.timers.first() } else { Some(Duration::ZERO) }
    }

    /// Does what is due; returns the associations that ended, among them those whose client has begun again
    /// ([`Error::Truncated`]). Then [`transmit`](Self::transmit).
    pub fn handle_timeouts(&mut self, now: Time) -> Vec<(AssociationId, Error)> {
        let mut ended = std::mem::take(&mut self.ended);
        while let Some(id) = self.timers.due(now.monotonic) {
            let Some(entry) = self.associations.get_mut(&id) else {
                self.timers.set(id, Some(now.monotonic), None);
                continue;
            };
            // An ACK that is due has no timer of the association's own.
            self.timers.set(id, entry.deadline.take(), None);
            if let Err(error) = entry.association.handle_timeout(now) {
                self.remove(AssociationId(id));
                ended.push((AssociationId(id), error));
                continue;
            }
            self.wake(AssociationId(id));
        }
        ended
    }

    /// Returns how many associations there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.associations.len()
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.associations.is_empty()
    }

    /// Returns what became of datagrams without an association.
    #[must_use]
    pub fn counts(&self) -> EndpointCounts {
        self.counts
    }

    /// Lets an association send, and renews its timer when it has.
    fn wake(&mut self, id: AssociationId) {
        if let Some(entry) = self.associations.get_mut(&id.0)
            && !entry.is_ready
        {
            entry.is_ready = true;
            self.ready.push_back(id.0);
        }
    }

    fn set_timer(&mut self, id: u64, not_before: Duration) {
        if let Some(entry) = self.associations.get_mut(&id) {
            let deadline = entry.association.deadline().map(|at| at.max(not_before));
            self.timers.set(id, entry.deadline, deadline);
            entry.deadline = deadline;
        }
    }
}

/// The content type of handshake messages.
const HANDSHAKE: u8 = 22;

/// The longest connection ID that this endpoint uses, in bytes.
const MAX_CONNECTION_ID: usize = 20;

/// With less than this left, in bytes, an unproved address gets nothing more.
const SHORTEST_DATAGRAM: usize = 96;

/// How long an association without a budget rests.
const PAUSE: Duration = Duration::from_millis(500);

/// The most datagrams without an association that wait to be sent.
const MAX_ANSWERS: usize = 1024;
