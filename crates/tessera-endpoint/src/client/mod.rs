//! A client's end of one association: by which of its sockets it goes to which address of its server, sans-IO.
//!
//! ```text
//!   another path ──► path_challenge ──► path_response on it ──► in use
//!        ├── an own socket, which the server announced
//!        ├── another socket of the client: before it leaves the one in use
//!        └── a spare one: once three round trips bring no answer on the path in use
//! ```

mod flight;
mod local_sockets;
mod other_path;
mod silence;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use tessera::crypto::Random;
use tessera::handshake::ClientQuestion;
use tessera::{
    AddressPrefix, ClientAssociation, Error, PathCookie, PathMessage, Progress, ReadEvent, Time,
};

use crate::path::Path;
use other_path::{CheckReason, OtherPath};
use silence::Silence;

/// A client's association, with the paths between its sockets and its server.
///
/// Of each datagram [`Path::local`] is the client's socket, by the name that its owner gave it: `None` for an only one.
pub struct ClientEndpoint {
    association: ClientAssociation,
    random: &'static dyn Random,
    /// Other addresses at which the server may be; `None`: none but the first.
    follows_to: Option<Vec<AddressPrefix>>,
    current: Path,
    others: Vec<OtherPath>,
    /// Answers to challenges, and records that lead the server to a path.
    answers: VecDeque<(Path, Vec<u8>)>,
    silence: Silence,
    /// The addresses from which the server's flight came, the latest last, until an answer to a challenge shows where the
    /// server is.
    flight_from: Vec<SocketAddr>,
    /// The server has acknowledged the end of the handshake, wherever that went.
    is_settled: bool,
    /// The server's own socket is in use, or was checked as often as it is.
    has_followed: bool,
    has_ended: bool,
}

impl ClientEndpoint {
    /// Begins with an association that has just started, on this path. `follows_to` is that of its
    /// [options](tessera::AssociationOptions::follows_to); `random` its provider's.
    #[must_use]
    pub fn new(
        association: ClientAssociation,
        path: Path,
        follows_to: Option<Vec<AddressPrefix>>,
        random: &'static dyn Random,
    ) -> Self {
        Self {
            association,
            random,
            follows_to,
            current: path,
            others: Vec::new(),
            answers: VecDeque::new(),
            silence: Silence::default(),
            flight_from: Vec::new(),
            is_settled: false,
            has_followed: false,
            has_ended: false,
        }
    }

    /// Returns whether a datagram may come from the server: [`read`](Self::read) it.
    #[must_use]
    pub fn is_from_server(&self, from: SocketAddr) -> bool {
        let is_known = from == self.current.remote
            || self.others.iter().any(|other| other.path.remote == from);
        !self.has_ended && (is_known || self.may_be_server(from))
    }

    /// Returns whether the server may have a socket there.
    fn may_be_server(&self, address: SocketAddr) -> bool {
        self.follows_to.as_ref().is_some_and(|prefixes| {
            address.ip() == self.current.remote.ip()
                || prefixes.iter().any(|prefix| prefix.contains(address.ip()))
        })
    }

    /// Reads a datagram, or what is left of it, up to the next event. Challenges and their answers are handled already.
    ///
    /// # Errors
    /// The association has ended.
    pub fn read(
        &mut self,
        now: Time,
        path: Path,
        datagram: &mut [u8],
    ) -> Result<Progress<ClientQuestion>, Error> {
        let before = self.association.newest_record();
        let read = self.association.read(now, datagram);
        self.has_ended |= read.is_err();
        let progress = read?;
        let newest = self.association.newest_record();
        let is_complete = self.association.facts().handshake_complete;
        if !self.is_settled && is_complete && self.association.is_acknowledged() {
            self.is_settled = true;
            self.check_flight_paths(now);
        }
        if newest > before {
            self.note_record(path, newest.0 >= HANDSHAKE_EPOCH, now);
        }
        if let ReadEvent::Path(message) = progress.event {
            self.path_message(message, path, now);
        }
        self.follow_announcement(now);
        Ok(progress)
    }

    /// The path in use works: no other one need be found.
    fn end_silence(&mut self) {
        self.silence.end();
        self.others.iter_mut().for_each(OtherPath::end_fail_over);
    }

    /// Goes to the server's own socket, once that is announced, but stays where it is until there is an answer.
    fn follow_announcement(&mut self, now: Time) {
        if self.has_followed || self.follows_to.is_none() {
            return;
        }
        let Some(announced) = self.association.server_address() else { return };
        self.has_followed = true;
        let remote = announced.seen_from(self.current.remote);
        self.check(Path { remote, ..self.current }, CheckReason::Announced, now);
    }

    /// Follows from where the client is now, unless it has followed already.
    fn follow_from_here(&mut self, now: Time) {
        let is_here = |reason| matches!(reason, Some(CheckReason::Announced | CheckReason::Flight));
        self.others.retain(|other| !is_here(other.reason()));
        self.has_followed = false;
        self.follow_announcement(now);
        self.check_flight_paths(now);
    }

    /// Begins to check a path.
    fn check(&mut self, path: Path, reason: CheckReason, now: Time) {
        if path == self.current || !self.association.can_check_paths() {
            return;
        }
        let timeout = self.association.path_timeout();
        match self.others.iter_mut().find(|other| other.path == path) {
            Some(other) => other.check(reason, now.monotonic, timeout),
            None => {
                let mut other = OtherPath::new(path);
                other.check(reason, now.monotonic, timeout);
                self.others.push(other);
            }
        }
    }

    fn path_message(&mut self, message: PathMessage, path: Path, now: Time) {
        match message {
            PathMessage::Challenge(cookie) => self.answer_challenge(cookie, path),
            PathMessage::Response(cookie) => {
                if self.silence.is_answered_by(&cookie) {
                    self.end_silence();
                }
                let is_answer = |other: &OtherPath| other.is_answered_by(&cookie, &path);
                if let Some(at) = self.others.iter().position(is_answer) {
                    self.use_path(at, now);
                }
            }
            PathMessage::Drop(_) => (),
        }
    }

    /// Uses a path that was checked.
    fn use_path(&mut self, at: usize, now: Time) {
        let next = self.others.swap_remove(at);
        let before = std::mem::replace(&mut self.current, next.path);
        self.end_silence();
        // A server that answers a challenge has read Finished: a record of its flight that still comes is late.
        self.is_settled = true;
        self.flight_from.clear();
        if before.local == next.path.local {
            // The server is at no other address: all paths lead to this one.
            self.others.retain(|other| other.path.local != before.local);
            self.use_remote(next.path.remote);
        } else {
            self.association.use_next_connection_id();
            if next.reason() == Some(CheckReason::Replaces) {
                self.others.retain(|other| other.path.local != before.local);
                self.others.push(OtherPath::left(before, now.monotonic));
            } else {
                self.others.push(OtherPath::spare(before));
            }
        }
        self.lead_server();
        self.follow_from_here(now);
    }

    /// Sends a record without data: the newest one, and no path message, which leads the server to the path in use.
    fn lead_server(&mut self) {
        let mut datagram = Vec::new();
        if self.association.write(&[], &mut datagram).is_ok() {
            self.answers.push_back((self.current, datagram));
        }
    }

    /// RFC 9853 §5.4: answers on the path of the challenge; it is dropped if the client doesn't use it any more.
    fn answer_challenge(&mut self, cookie: PathCookie, path: Path) {
        let answer = match path == self.current {
            true => PathMessage::Response(cookie),
            false => PathMessage::Drop(cookie),
        };
        let mut datagram = Vec::new();
        if self.answers.len() < MAX_ANSWERS
            && self.association.write_path_message(answer, &mut datagram).is_ok()
        {
            self.answers.push_back((path, datagram));
        }
    }

    /// Appends a datagram with `data` to `out`, and returns where to send it.
    ///
    /// # Errors
    /// Those of [`Association::write`](tessera::Association::write).
    pub fn write(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<Path, Error> {
        self.association.write(data, out)?;
        self.silence.expect_answer();
        Ok(self.current)
    }

    /// Appends the next datagram to send to `out`, and returns where to; `None` if there is none.
    pub fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Path> {
        self.silence.begin(now.monotonic);
        // Flights go first: until Finished has arrived, the server reads no challenge.
        if self.association.transmit(now, out) {
            return Some(self.current);
        }
        if let Some((path, datagram)) = self.answers.pop_front() {
            out.extend_from_slice(&datagram);
            return Some(path);
        }
        self.challenge(now, out)
    }

    /// Appends a challenge that is due.
    fn challenge(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Path> {
        if self.has_ended {
            return None;
        }
        if self.silence.challenge_is_due(now.monotonic) {
            let sent = self.write_challenge(self.current, out);
            self.silence.note_challenge(sent);
            return sent.map(|_| self.current);
        }
        let is_due = |other: &OtherPath| other.challenge_is_due(now.monotonic);
        let due = self.others.iter().position(is_due)?;
        let path = self.others[due].path;
        let sent = self.write_challenge(path, out);
        self.others[due].note_challenge(sent);
        sent.map(|_| path)
    }

    /// Returns the cookie; `None` if the challenge can't be sent.
    fn write_challenge(&mut self, path: Path, out: &mut Vec<u8>) -> Option<PathCookie> {
        let mut cookie = PathCookie::default();
        self.random.fill(&mut cookie).ok()?;
        let challenge = PathMessage::Challenge(cookie);
        match path.local == self.current.local {
            true => self.association.write_path_message(challenge, out).ok()?,
            false => self.association.write_path_message_under_next_id(challenge, out).ok()?,
        }
        Some(cookie)
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called even if nothing arrived, on the monotonic
    /// clock; then call [`transmit`](Self::transmit).
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        if self.has_ended {
            return None;
        }
        let silence = self.silence.deadline(self.association.path_timeout());
        let silence = silence.filter(|_| self.can_fail_over());
        let others = self.others.iter().filter_map(OtherPath::deadline);
        [self.association.deadline(), silence].into_iter().flatten().chain(others).min()
    }

    /// Does what is due.
    ///
    /// # Errors
    /// The association has ended.
    pub fn handle_timeout(&mut self, now: Time) -> Result<(), Error> {
        let result = self.association.handle_timeout(now);
        self.has_ended |= result.is_err();
        result?;
        let timeout = self.association.path_timeout();
        self.others.retain_mut(|other| other.expire(now.monotonic, timeout));
        if self.can_fail_over() && self.silence.is_over(now.monotonic, timeout) {
            self.seek_path(now);
        }
        Ok(())
    }

    /// Challenges all paths: the first that is answered is used.
    fn seek_path(&mut self, now: Time) {
        let timeout = self.association.path_timeout();
        self.silence.check(now.monotonic, timeout);
        let current = self.current;
        for other in self.others.iter_mut().filter(|it| it.path.local != current.local) {
            other.check(CheckReason::FailsOver, now.monotonic, timeout);
        }
    }

    /// Returns whether there is another socket to go on with.
    fn can_fail_over(&self) -> bool {
        self.association.can_check_paths()
            && self.others.iter().any(|other| other.path.local != self.current.local)
    }

    /// Forgets the association: nothing is read any more.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Returns whether the client follows its server to other addresses.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.follows_to.is_some()
    }

    /// Returns the path in use.
    #[must_use]
    pub fn path(&self) -> Path {
        self.current
    }

    /// Returns the association.
    #[must_use]
    pub fn association(&self) -> &ClientAssociation {
        &self.association
    }

    /// Returns the association, to change it: close it, change its keys, answer its questions.
    pub fn association_mut(&mut self) -> &mut ClientAssociation {
        &mut self.association
    }
}

/// The epoch of records under the handshake's keys (RFC 9147 §6.1).
const HANDSHAKE_EPOCH: u64 = 2;

/// The most answers that wait to be sent.
const MAX_ANSWERS: usize = 16;
