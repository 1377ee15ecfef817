//! All associations of a socket.

mod associations;
mod connection_ids;
mod ended;
mod entry;
mod frozen;
mod hello;
mod moves;
mod own_sockets;
mod sending;

use std::collections::VecDeque;
use std::sync::Arc;

use tessera::crypto::Random;
use tessera::face::{HandshakeMessage, HelloPart, HelloReader};
use tessera::handshake::{Checked, OpenQuestion, Question, ServerQuestion, Token};
use tessera::resume::TicketKeys;
use tessera::wire::ContentType;
use tessera::{Error, Event, Progress, ReadEvent, ServerAssociation, ServerConfig, Time};

pub use ended::EndedAssociation;

use associations::Associations;
use entry::Entry;

use crate::cookies::Cookies;
use crate::counts::EndpointCounts;
use crate::foreign::Foreign;
use crate::hello_pool::HelloPool;
use crate::options::{EndpointOptions, MAX_CONNECTION_ID_LEN};
use crate::path::Path;
use crate::resets::{Resets, SHORTEST_ID};
use crate::routes::Routes;
use crate::sockets::SocketPool;
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
    /// It completed a ClientHello that isn't DTLS 1.3: these datagrams are, instead of it.
    ForeignParts(Foreign, Vec<u8>),
    /// A client that could begin an association, but for a limit: of the associations of its source, or of all.
    Full {
        /// Its source has as many as [`EndpointOptions::max_per_source`].
        of_source: bool,
    },
    /// Nothing: [`counts`](Endpoint::counts) has the reason.
    Dropped,
}

/// All associations of a server's socket.
pub struct Endpoint {
    config: Checked<ServerConfig>,
    random: &'static dyn Random,
    cookies: Cookies,
    resets: Option<Resets>,
    sockets: Option<SocketPool>,
    options: EndpointOptions,
    associations: Associations,
    next_id: u64,
    routes: Routes,
    hellos: HelloPool,
    timers: Timers,
    /// Associations leave for another process.
    is_moving_out: bool,
    /// How many associations began from an unproved address and have shown nothing else.
    unproved: usize,
    /// Those that may have something to send.
    ready: VecDeque<u64>,
    /// Datagrams of no association.
    answers: VecDeque<(Path, Vec<u8>)>,
    /// Those that ended otherwise than in a call about them, until the owner learns it.
    ended: Vec<EndedAssociation>,
    counts: EndpointCounts,
}

impl Endpoint {
    /// Creates the endpoint of a server. `cookies` seals cookies: keys that a fleet behind one address shares, and that
    /// it should replace more often than those of tickets.
    #[must_use]
    pub fn new(
        config: Checked<ServerConfig>,
        cookies: Arc<dyn TicketKeys>,
        mut options: EndpointOptions,
    ) -> Self {
        options.connection_id_len = options.connection_id_len.min(MAX_CONNECTION_ID_LEN);
        let resets = options
            .reset_key
            .take()
            .filter(|_| options.connection_id_len >= SHORTEST_ID)
            .zip(config.provider.sha256())
            .map(|(key, hash)| Resets::new(key, hash));
        Self {
            random: config.provider.random,
            config,
            cookies: Cookies::new(cookies, options.cookie_lifetime),
            hellos: HelloPool::new(options.hello_pool, options.cookie_lifetime),
            resets,
            sockets: options.own_sockets.take().map(SocketPool::new),
            options,
            associations: Associations::default(),
            next_id: 0,
            routes: Routes::default(),
            timers: Timers::default(),
            is_moving_out: false,
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
        if let Some(route) = self.route_at_own_socket(&path, datagram) {
            return route;
        }
        if let Some(foreign) = Foreign::of(datagram) {
            self.counts.foreign += 1;
            return Route::Foreign(foreign);
        }
        match self.routes.by_id(datagram, self.options.connection_id_len) {
            Some(Some(id)) => return Route::Association(AssociationId(id)),
            Some(None) => return self.reset(now, path, datagram),
            None => (),
        }
        if self.is_moving_out {
            let known = self.routes.by_path(&path, datagram);
            return known.map_or(Route::Dropped, |id| Route::Association(AssociationId(id)));
        }
        let typ = datagram.first().map(|first| ContentType(*first));
        // RFC 9147 §5.11: a client may have begun again from the address of another association.
        let may_begin = typ == Some(ContentType::HANDSHAKE)
            && (self.routes.is_settled(&path) || self.begins_again(&path, datagram));
        if let Some(id) = self.routes.by_path(&path, datagram).filter(|_| !may_begin) {
            return Route::Association(AssociationId(id));
        }
        match typ {
            Some(ContentType::HANDSHAKE) => (),
            // It may end a handshake of DTLS 1.2.
            Some(ContentType::ALERT) => return self.dtls12(None),
            _ => return self.unknown(),
        }
        self.part(now, path, datagram)
    }

    /// Reads a datagram, or what is left of it, for its association, up to the next event. Requests for connection IDs
    /// and path messages are answered already.
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
        let was_idle = self.associations.is_idle(id.0);
        let entry = self.associations.get_mut(id.0).ok_or(Error::Closed)?;
        let before = entry.association.newest_record();
        let dropped = entry.association.dropped();
        let read = entry.association.read(now, datagram);
        let is_newer = entry.association.newest_record() > before;
        // RFC 9853 §2: anyone can send what is dropped, in a victim's name.
        let is_paid =
            !entry.association.facts().handshake_complete || entry.association.dropped() == dropped;
        match &read {
            Ok(progress) => {
                // The rest is counted when it is read.
                entry.received += progress.consumed as u64;
                let paid = if is_paid { progress.consumed } else { 0 };
                entry.peer.receive(path, paid);
                if let Some(own) = entry.own.as_mut().filter(|_| is_newer) {
                    own.heard = now.monotonic;
                }
                if let ReadEvent::Handshake(Event::HandshakeComplete) = progress.event {
                    self.complete(id);
                }
                // The answer to a challenge moves nothing: it may come from an address that the peer has left.
                if is_newer && !matches!(progress.event, ReadEvent::Path(_)) {
                    self.note_path(id, path, paid, now);
                }
                let is_nothing = !is_newer && matches!(progress.event, ReadEvent::NeedInput);
                match progress.event {
                    ReadEvent::Question(_) => self.keep_hello(id, datagram),
                    ReadEvent::ConnectionIdsRequested(count) => self.give_connection_ids(id, count),
                    ReadEvent::Path(message) => self.path_message(id, path, message, paid, now),
                    _ => (),
                }
                // Anyone can send what doesn't open.
                if !(was_idle && is_nothing && self.associations.make_idle(id.0, now)) {
                    self.wake(id);
                }
            }
            Err(_) => self.failed(id, now, datagram),
        }
        read
    }

    /// Notes that an association's handshake is complete.
    fn complete(&mut self, id: AssociationId) {
        let Some(entry) = self.associations.get_mut(id.0) else { return };
        entry.peer.prove();
        entry.hello = None;
        self.unproved -= usize::from(std::mem::take(&mut entry.is_unproved));
        let has_id = entry.association.connection_id().is_some();
        // RFC 9147 §5.11: of two associations without connection IDs none could tell its records. One with a socket goes
        // on there.
        if let Some(replaced) = self.routes.complete(id.0, entry.shared_path(), has_id)
            && self.associations.own_socket(replaced).is_none()
        {
            self.replace(AssociationId(replaced));
        }
    }

    /// Removes an association whose client has begun again.
    fn replace(&mut self, id: AssociationId) {
        self.end(id, Error::Truncated);
    }

    /// Removes an association, which its owner learns with the next timeouts.
    fn end(&mut self, id: AssociationId, error: Error) {
        let entry = self.take(id);
        self.ended.extend(entry.map(|entry| EndedAssociation::new(id, &entry, error)));
    }

    /// Ends an association after an error: its alert goes to proved addresses only, and then it is removed. A client whose
    /// first ClientHello failed is asked for a cookie, with which it gets the alert.
    fn failed(&mut self, id: AssociationId, now: Time, datagram: &[u8]) {
        let Some(entry) = self.associations.get_mut(id.0) else { return };
        let path = entry.peer.current();
        entry.has_failed = true;
        // One that was complete and has moved was more than a hello.
        if entry.peer.is_proved() || entry.association.facts().handshake_complete {
            self.wake(id);
            return;
        }
        self.remove(id);
        if let HelloPart::Whole { message, .. } = HelloReader::default().read(datagram)
            && let Some(hello) = HandshakeMessage::split_from(&message)
            && let Some(unix) = now.unix
        {
            self.ask_for_cookie(path, hello, unix);
        } else {
            self.refused();
        }
    }

    /// Answers a question of an association.
    ///
    /// # Errors
    /// [`Error::WrongAnswer`] if another question is open. Any other: the association has ended, or is no longer known.
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
    ///
    /// # Errors
    /// Those of [`answer`](Self::answer).
    pub fn answer_with(
        &mut self,
        id: AssociationId,
        now: Time,
        answer: impl FnOnce(&mut ServerAssociation) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let entry = self.associations.get_mut(id.0).ok_or(Error::Closed)?;
        let result = answer(&mut entry.association);
        match &result {
            Err(error) if error.is_final() => {
                let hello = entry.hello.take().unwrap_or_default();
                self.failed(id, now, &hello);
            }
            _ => self.wake(id),
        }
        result
    }

    /// Changes an association: closes it, changes its keys. What it must send then is sent by
    /// [`transmit`](Self::transmit).
    pub fn with<R>(
        &mut self,
        id: AssociationId,
        change: impl FnOnce(&mut ServerAssociation) -> R,
    ) -> Option<R> {
        let changed = self.associations.get_mut(id.0).map(|entry| change(&mut entry.association));
        self.wake(id);
        changed
    }

    /// Returns where an association's peer is.
    #[must_use]
    pub fn path(&self, id: AssociationId) -> Option<Path> {
        self.associations.path(id.0)
    }

    /// Returns how many associations are idle.
    #[must_use]
    pub fn idle_len(&self) -> usize {
        self.associations.idle_len()
    }

    /// Returns how many bytes an association has received, and how many it has sent, all of its datagrams included.
    #[must_use]
    pub fn bytes(&self, id: AssociationId) -> Option<[u64; 2]> {
        self.associations.bytes(id.0)
    }

    /// Looks at an association, which is idle afterwards if it was.
    pub fn look_at<R>(
        &mut self,
        id: AssociationId,
        now: Time,
        look: impl FnOnce(&ServerAssociation) -> R,
    ) -> Option<R> {
        self.associations.look_at(id.0, now, |entry| look(&entry.association))
    }

    /// Forgets an association, without a word to its peer.
    pub fn remove(&mut self, id: AssociationId) {
        self.take(id);
    }

    fn take(&mut self, id: AssociationId) -> Option<Box<Entry>> {
        let entry = self.associations.remove(id.0)?;
        self.routes.remove(id.0, entry.shared_path(), entry.source);
        if let Some((sockets, own)) = self.sockets.as_mut().zip(entry.own.as_ref()) {
            sockets.release(own.local, entry.source);
        }
        for connection_id in entry.association.connection_ids() {
            self.routes.remove_id(connection_id);
            if let Some(resets) = &mut self.resets {
                resets.end(connection_id);
            }
        }
        self.timers.set(id.0, entry.deadline, None);
        self.unproved -= usize::from(entry.is_unproved);
        Some(entry)
    }

    /// Returns all associations.
    #[must_use]
    pub fn ids(&self) -> Vec<AssociationId> {
        self.associations.ids().map(AssociationId).collect()
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
        EndpointCounts { dropped_hellos: self.hellos.dropped, ..self.counts }
    }
}
