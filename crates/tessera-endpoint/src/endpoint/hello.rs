//! ClientHellos that belong to no association: each is answered, dropped, or begins one.

use std::net::SocketAddr;
use std::time::Duration;

use tessera::face::{
    Arrival, HandshakeMessage, HelloPart, HelloReader, connection_id_of, offers_extension,
    write_retry,
};
use tessera::wire::{AlertDescription, ExtensionType, HandshakeType};
use tessera::{AssociationOptions, ConnectionId, ServerAssociation, Time};

use super::entry::Entry;
use super::own_sockets::OwnSocket;
use super::{AssociationId, Endpoint, Route};
use crate::budget::Budget;
use crate::foreign::Foreign;
use crate::hello_pool::PartOutcome;
use crate::path::Path;
use crate::routes::{HelloRandom, OF_DATA};

impl Endpoint {
    /// Handles a datagram that begins with a plaintext handshake record, and belongs to no association.
    pub(super) fn part(&mut self, now: Time, path: Path, datagram: &[u8]) -> Route {
        let mut reader = HelloReader::default();
        match reader.read(datagram) {
            HelloPart::Whole { message_seq, message } => {
                return self.hello(now, path, message_seq, &message, None);
            }
            HelloPart::Partial => (),
            HelloPart::Other if datagram.get(RECORD_HEADER) == Some(&CLIENT_HELLO) => {
                return self.unknown();
            }
            // A client of DTLS 1.3 sends no other message in plaintext.
            HelloPart::Other => return self.dtls12(None),
        }
        match self.hellos.add(path, datagram, reader, now.monotonic) {
            PartOutcome::Whole { message_seq, message, datagrams } => {
                self.hello(now, path, message_seq, &message, Some(datagrams))
            }
            PartOutcome::Kept => {
                self.counts.kept_parts += 1;
                Route::Handled
            }
            PartOutcome::Dropped => Route::Dropped,
        }
    }

    /// Decides on a whole ClientHello.
    fn hello(
        &mut self,
        now: Time,
        path: Path,
        message_seq: u16,
        message: &[u8],
        all: Option<Vec<u8>>,
    ) -> Route {
        let Some(hello) = HandshakeMessage::split_from(message) else { return self.unknown() };
        // Cookies have an age.
        let Some(unix) = now.unix else { return self.refused() };
        let mut is_unproved = false;
        let arrival = match self.cookies.open(&self.config, &path, hello, unix) {
            // RFC 9147 §5.2: the association would wait for the other message, until it times out.
            Ok(retry) if retry.is_some() != (message_seq == 1) => return self.refused(),
            Ok(Some(retry)) => {
                self.counts.cookies_opened += 1;
                Arrival::default().after_retry(retry)
            }
            // Where a handshake is under way, a ClientHello without a cookie replaces nothing.
            Ok(None)
                if self.unproved < self.options.max_unproved
                    && self.routes.beginning(&path).is_none()
                    && !self.shares_epochs(&path, now)
                    && self.may_go_without_socket(hello)
                    && offers_extension(hello, ExtensionType::PRE_SHARED_KEY) =>
            {
                is_unproved = true;
                Arrival::default().from_unproved_address()
            }
            Ok(None) => return self.ask_for_cookie(path, hello, unix),
            Err(error) if error.alert() == Some(AlertDescription::PROTOCOL_VERSION) => {
                return self.dtls12(all);
            }
            Err(_) => {
                self.counts.cookies_refused += 1;
                return Route::Dropped;
            }
        };
        let of_source = self.routes.count_of(&path) >= self.options.max_per_source;
        if of_source || self.associations.len() >= self.options.max_associations {
            self.counts.full += 1;
            return Route::Full { of_source };
        }
        let random = random_at(message, MESSAGE_HEADER).unwrap_or_default();
        let kind = match is_unproved {
            true => NewAssociation::Unproved,
            false if self.wants_socket(hello) => NewAssociation::WithSocket,
            false => NewAssociation::Proved,
        };
        match self.begin(now, path, arrival, kind, random) {
            Some(id) => all.map_or(Route::Association(id), |all| Route::Begins(id, all)),
            None => self.refused(),
        }
    }

    /// Returns whether a datagram has a part of another ClientHello than that of the handshake under way at its path:
    /// the client has begun again, or someone else has used its address.
    pub(super) fn begins_again(&self, path: &Path, datagram: &[u8]) -> bool {
        let Some(known) = self.routes.beginning(path) else { return false };
        let is_first_part = datagram.get(RECORD_HEADER) == Some(&CLIENT_HELLO)
            && datagram.get(RECORD_HEADER + 6..RECORD_HEADER + 9) == Some(&[0; 3]);
        match random_at(datagram, RECORD_HEADER + FRAGMENT_HEADER).filter(|_| is_first_part) {
            Some(random) => random != known,
            None => self.hellos.has(path),
        }
    }

    /// Returns whether an association without connection IDs at this path has changed its keys: its records may then look
    /// like those of a handshake, and belong to one that begins there.
    fn shares_epochs(&mut self, path: &Path, now: Time) -> bool {
        let Some(live) = self.routes.live(path) else { return false };
        let newest = self.associations.look_at(live, now, |it| it.association.newest_record());
        newest.is_some_and(|(epoch, _)| epoch > OF_DATA.into() && epoch & 3 != OF_DATA.into())
    }

    pub(super) fn ask_for_cookie(
        &mut self,
        path: Path,
        hello: HandshakeMessage<'_>,
        unix: Duration,
    ) -> Route {
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

    /// Begins an association; `None` without randomness, or a connection ID.
    fn begin(
        &mut self,
        now: Time,
        path: Path,
        arrival: Arrival,
        kind: NewAssociation,
        random: HelloRandom,
    ) -> Option<AssociationId> {
        let own = match kind {
            NewAssociation::WithSocket => self.take_socket(&path),
            NewAssociation::Proved | NewAssociation::Unproved => None,
        };
        let started = self.start(now, arrival, own);
        let Some((association, own_id)) = started else {
            if let Some((sockets, own)) = self.sockets.as_mut().zip(own) {
                sockets.release(own, path.source());
            }
            return None;
        };
        let id = self.next_id;
        self.next_id += 1;
        self.routes.add_id(id, &own_id);
        if let Some(resets) = &mut self.resets {
            resets.add(&own_id);
        }
        let replaced = self.routes.begin(id, path, random);
        let is_unproved = kind == NewAssociation::Unproved;
        let budget = if is_unproved { Budget::UNPROVED } else { Budget::Proved };
        let entry = Entry::new(association, self.first_path(path, own), budget);
        let own = own.map(|local| {
            OwnSocket::new(local, path, self.announcement(local).is_some(), now.monotonic)
        });
        self.unproved += usize::from(is_unproved);
        self.associations.insert(id, Entry { is_unproved, own, ..entry });
        // Of two handshakes from one address the client has given up the first.
        if let Some(replaced) = replaced {
            self.replace(AssociationId(replaced));
        }
        Some(AssociationId(id))
    }

    /// Starts an association with a connection ID, or with a socket that does without.
    fn start(
        &self,
        now: Time,
        arrival: Arrival,
        own: Option<SocketAddr>,
    ) -> Option<(ServerAssociation, ConnectionId)> {
        let (own_id, reset_token) = match (own, &self.resets) {
            (Some(_), _) => (ConnectionId::default(), None),
            (None, None) => (self.new_connection_id(None)?, None),
            (None, Some(resets)) => {
                let number = resets.draw(self.random)?;
                let token = resets.token(number);
                (self.new_connection_id(Some(number))?, Some(token))
            }
        };
        let options = AssociationOptions {
            connection_id: Some(own_id.clone()),
            reset_token,
            server_address: own.and_then(|local| self.announcement(local)),
            first_timeout: self.options.first_timeout,
            max_datagram: self.options.max_datagram,
            ..AssociationOptions::default()
        };
        let config = self.config.clone();
        let association = ServerAssociation::start(config, arrival, options, now).ok()?;
        Some((association, own_id))
    }

    /// Keeps the ClientHello of an association whose address is unproved: the answer to a question about it may be that
    /// no PSK vouches for the client.
    pub(super) fn keep_hello(&mut self, id: AssociationId, datagram: &[u8]) {
        if let Some(entry) = self.associations.get_mut(id.0)
            && !entry.peer.is_proved()
            && entry.hello.is_none()
            && !datagram.is_empty()
        {
            entry.hello = Some(datagram.into());
        }
    }

    /// Hands out a datagram of DTLS 1.2, or the datagrams of its ClientHello.
    pub(super) fn dtls12(&mut self, parts: Option<Vec<u8>>) -> Route {
        self.counts.foreign += 1;
        match parts {
            Some(parts) => Route::ForeignParts(Foreign::Dtls12, parts),
            None => Route::Foreign(Foreign::Dtls12),
        }
    }

    pub(super) fn refused(&mut self) -> Route {
        self.counts.refused_hellos += 1;
        Route::Dropped
    }

    /// Answers a record that names an association which isn't there: its client may wait.
    pub(super) fn reset(&mut self, now: Time, path: Path, datagram: &[u8]) -> Route {
        let id = connection_id_of(datagram, self.options.connection_id_len);
        let reset =
            self.resets.as_mut().zip(id).and_then(|(resets, id)| {
                resets.reset(&id, datagram.len(), now.monotonic, self.random)
            });
        match reset.filter(|_| self.answers.len() < MAX_ANSWERS) {
            Some(reset) => {
                self.counts.resets_sent += 1;
                self.answers.push_back((path, reset));
                Route::Handled
            }
            None => self.unknown(),
        }
    }

    pub(super) fn unknown(&mut self) -> Route {
        self.counts.unknown += 1;
        Route::Dropped
    }
}

/// What is known of the address of a client that begins, and whether its association should have a socket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewAssociation {
    Unproved,
    Proved,
    /// Only with a cookie.
    WithSocket,
}

/// The length of the header of a plaintext record, which the type of a message follows.
const RECORD_HEADER: usize = 13;

/// The length of the header of a fragment, and of a message, in bytes.
const FRAGMENT_HEADER: usize = 12;
const MESSAGE_HEADER: usize = 4;

/// Returns the beginning of the random of a ClientHello whose body is at `at`: it follows the version.
fn random_at(bytes: &[u8], at: usize) -> Option<HelloRandom> {
    bytes.get(at + 2..)?.first_chunk().copied()
}

/// The type of a ClientHello.
const CLIENT_HELLO: u8 = HandshakeType::CLIENT_HELLO.0;

/// The most datagrams without an association that wait to be sent.
pub(super) const MAX_ANSWERS: usize = 1024;
