//! What comes in: datagrams, answers, time.

use std::io;
use std::net::SocketAddr;

use tessera::{Error, Event, ReadEvent, Role};
use tessera_endpoint::Path;

use super::associations::{Associations, DatagramHandshake, Owner};
use super::hub::{Id, State};
use super::inbox::{ForeignDatagram, ReceivedDatagram, wipe};
use super::peer::{Failure, Known, Peer};
use super::socket::is_of_network;
use crate::async_handshake::AnswerCallback;
use crate::current::withdrawn;
use crate::sessions::SessionWriter;

impl<S: DatagramHandshake> State<S> {
    /// Handles a datagram that has arrived.
    pub(super) fn receive(&mut self, path: Path, datagram: &mut [u8]) {
        self.errors = 0;
        if S::ROLE == Role::Server && self.generation != self.config.generation() {
            let (config, begun) = self.config.begin();
            self.associations.set_config(config);
            self.generation = begun.generation;
        }
        let now = self.now();
        let (id, instead) = match self.associations.route(now, path, datagram) {
            Some(Owner::Association(id, instead)) => (id, instead),
            Some(Owner::Foreign(kind, instead)) if self.foreign.is_some() => {
                let data = instead.unwrap_or_else(|| datagram.to_vec());
                return self.hand_out(ForeignDatagram { kind, from: path.remote, data });
            }
            Some(Owner::Refused(by)) => {
                self.failures.refused(path.remote, by);
                return self.wake_listener();
            }
            _ => return,
        };
        if !self.peers.contains_key(&id) && !self.begin(id, path.remote) {
            self.associations.remove(id);
            return;
        }
        match instead {
            Some(mut datagrams) => {
                self.read(id, Some(path), &mut datagrams);
                wipe(&mut datagrams);
            }
            None => self.read(id, Some(path), datagram),
        }
        self.exchange_sockets();
    }

    /// Begins with an association that has read nothing yet; returns false for one that will not be accepted, or whose
    /// configuration has just been replaced: the client sends its ClientHello again.
    fn begin(&mut self, id: Id<S>, from: SocketAddr) -> bool {
        let (_, begun) = self.config.begin();
        let is_accepted = self.arrivals.is_some() && begun.generation == self.generation;
        if is_accepted {
            let mut peer = Peer::new(begun, SessionWriter::default(), self.room.clone());
            peer.address = Some(from);
            self.peers.insert(id, Box::new(peer));
        }
        is_accepted
    }

    /// Lets an association read until it needs more.
    fn read(&mut self, id: Id<S>, path: Option<Path>, datagram: &mut [u8]) {
        let mut consumed = 0;
        loop {
            if self.check_withdrawn(id) {
                return;
            }
            let now = self.now();
            let progress = match self.associations.read(id, now, path, &mut datagram[consumed..]) {
                Ok(progress) => progress,
                Err(error) => return self.fail(id, Failure::Engine(error)),
            };
            let rest = &datagram[consumed..];
            consumed += progress.consumed;
            let Some(peer) = self.peers.get_mut(&id) else { return };
            match progress.event {
                ReadEvent::Question(question) => self.ask(id, question),
                ReadEvent::Handshake(event) => self.note(id, event),
                ReadEvent::EarlyData(data) => {
                    peer.inbox.push(ReceivedDatagram::new(rest[data].to_vec(), true))
                }
                ReadEvent::EarlyDatagram(data) => {
                    peer.inbox.push(ReceivedDatagram::new(data, true))
                }
                ReadEvent::Data(data) => {
                    peer.inbox.push(ReceivedDatagram::new(rest[data].to_vec(), false))
                }
                ReadEvent::PeerClosed => {
                    peer.has_closed = true;
                    break;
                }
                ReadEvent::NeedInput | ReadEvent::OutputFull | ReadEvent::WaitingForAnswer => break,
                // Events that this version doesn't know.
                _ => (),
            }
        }
        if !self.check_withdrawn(id) {
            self.show(id);
        }
    }

    /// Shows its user what has changed. One whose ClientHello is accepted gets a user.
    fn show(&mut self, id: Id<S>) {
        let address = self.associations.path(id).map(|path| path.remote);
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.address = address.or(peer.address);
        // An idle association isn't asked: that would wake it.
        if !peer.is_open
            && (peer.is_complete || self.associations.with(id, |it| it.can_write()) == Some(true))
        {
            peer.is_open = true;
            peer.changed.notify_waiters();
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.push_back(id);
                self.wake_listener();
            }
            return;
        }
        peer.changed.notify_waiters();
    }

    fn wake_listener(&self) {
        if let Some(hub) = self.hub.upgrade() {
            hub.arrived.notify_waiters();
        }
    }

    /// Asks elsewhere: an answer may take time, and may call this crate.
    fn ask(&mut self, id: Id<S>, question: S::Question) {
        let (hub, answers) = (self.hub.clone(), self.answers.clone());
        let task = tokio::spawn(async move {
            let answer = S::ask(question, &*answers);
            let answer = answer.await;
            if let Some(hub) = hub.upgrade() {
                hub.lock().give(id, answer);
            }
        });
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.question = Some(task.abort_handle());
        }
    }

    /// Passes an answer to the association that asked.
    fn give(&mut self, id: Id<S>, answer: AnswerCallback<S>) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.question = None;
        if !self.check_withdrawn(id) {
            let now = self.now();
            match self.associations.answer(id, answer, now) {
                Ok(()) => self.read(id, None, &mut []),
                Err(error) => self.fail(id, Failure::Engine(error)),
            }
        }
        self.flush();
    }

    fn note(&mut self, id: Id<S>, event: Event) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        match event {
            Event::HandshakeComplete => {
                // This very step may have accepted the peer.
                if !self.check_withdrawn(id)
                    && let Some(peer) = self.peers.get_mut(&id)
                {
                    self.associations.with(id, |it| peer.begun.complete(it.facts()));
                    peer.is_complete = true;
                    peer.handshake_time = Some(peer.started.elapsed());
                }
            }
            Event::NewSession(session) => peer.session_writer.put(session),
            // The facts record what became of early data.
            _ => (),
        }
    }

    /// Ends a handshake whose peer, PSK or session was withdrawn meanwhile; returns whether it did. What one step of
    /// the engine brings, such as early data, is valid only under the current configuration.
    fn check_withdrawn(&mut self, id: Id<S>) -> bool {
        let Some(peer) = self.peers.get_mut(&id) else { return false };
        if peer.is_complete || peer.failed.is_some() || !peer.begun.is_earlier() {
            return false;
        }
        let is_withdrawn = self.associations.with(id, |it| peer.begun.is_withdrawn(it.facts()));
        if is_withdrawn != Some(true) {
            return false;
        }
        peer.inbox.clear();
        if let Some(error) = self.associations.with(id, |it| it.refuse(withdrawn())) {
            self.fail(id, Failure::Engine(error));
        }
        true
    }

    fn fail(&mut self, id: Id<S>, failure: Failure) {
        let known = self.known(id);
        self.keep_failure(id, failure, known);
    }

    /// Returns what is known of an association; nothing if it isn't there.
    pub(super) fn known(&mut self, id: Id<S>) -> Known {
        let now = self.now();
        let facts = self.associations.look_at(id, now, |it| it.facts().clone());
        let bytes = self.associations.bytes(id);
        Known { facts: facts.unwrap_or_default(), bytes: bytes.unwrap_or_default() }
    }

    /// Keeps a failure for the user of a connection, or for the listener.
    fn keep_failure(&mut self, id: Id<S>, failure: Failure, known: Known) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if !peer.has_user {
            let address = self.associations.path(id).map(|path| path.remote).or(peer.address);
            self.peers.remove(&id);
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.retain(|it| *it != id);
                if let Some(address) = address.filter(|_| !goes_on(&failure)) {
                    self.failures.failed(address, failure);
                    self.wake_listener();
                }
            }
            // Its alert.
            self.flush();
            self.associations.remove(id);
            return;
        }
        peer.fail(failure, known);
    }

    /// Notes an error of the socket. On a client's it may be the network's report that nothing listens at the server's
    /// port, which ends only a handshake: anyone who guesses the ports can forge one.
    pub(super) fn note_error(&mut self, error: &io::Error) {
        self.errors += 1;
        let failure = Failure::Socket(error.kind());
        if !is_of_network(error) {
            if self.errors >= MAX_ERRORS {
                self.fail_all(&failure);
            }
        } else if S::ROLE == Role::Client && self.errors >= MAX_REPORTS {
            let incomplete = self.peers.iter().filter(|(_, peer)| !peer.is_complete);
            let incomplete: Vec<_> = incomplete.map(|(id, _)| *id).collect();
            incomplete.into_iter().for_each(|id| self.fail(id, failure.clone()));
        }
    }

    /// Ends all connections.
    pub(super) fn fail_all(&mut self, failure: &Failure) {
        let ids: Vec<_> = self.peers.keys().copied().collect();
        ids.into_iter().for_each(|id| self.fail(id, failure.clone()));
    }

    /// Does what is due.
    pub(super) fn handle_timeouts(&mut self) {
        let now = self.now();
        for (id, error, known) in self.associations.handle_timeouts(now) {
            let known = known.unwrap_or_else(|| self.known(id));
            self.keep_failure(id, Failure::Engine(error), known);
        }
        self.exchange_sockets();
    }
}

/// Whether the client is asked for a cookie, or has begun again.
fn goes_on(failure: &Failure) -> bool {
    matches!(failure, Failure::Engine(Error::AddressUnproved | Error::Truncated))
}

/// How many of the network's reports in a row end a handshake.
const MAX_REPORTS: u32 = 2;

/// How often in a row the socket may fail before all connections do.
const MAX_ERRORS: u32 = 100;
