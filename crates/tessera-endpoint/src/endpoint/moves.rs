//! Clients that change their address, and the checks of where they are.

use tessera::{PathCookie, PathMessage, Time};

use super::hello::MAX_ANSWERS;
use super::{AssociationId, Endpoint};
use crate::budget::Budget;
use crate::path::Path;
use crate::peer_path::CheckOutcome;

impl Endpoint {
    /// The newest record came on this path: the peer is there now (RFC 9146 §6).
    pub(super) fn note_path(&mut self, id: AssociationId, path: Path, received: usize, now: Time) {
        let Some(entry) = self.associations.get_mut(id.0) else { return };
        let is_elsewhere = entry.peer.current() != path && entry.is_led_to_from(&path);
        if !is_elsewhere || !entry.association.facts().handshake_complete {
            return;
        }
        let check = entry.association.can_check_paths();
        let check =
            check.then(|| (self.options.return_routability, entry.association.path_timeout()));
        let has_moved = entry.peer.current().remote != path.remote;
        let may_be_left = entry.own.as_ref().is_some_and(|own| path.local != Some(own.local));
        entry.peer.follow(path, received, now.monotonic, check, may_be_left);
        if has_moved {
            // RFC 9147 §11: so that an observer of both paths can't link them by it.
            entry.association.use_next_connection_id();
            self.counts.moved += 1;
        }
    }

    /// Handles a message of a return routability check that came on this path.
    pub(super) fn path_message(
        &mut self,
        id: AssociationId,
        path: Path,
        message: PathMessage,
        received: usize,
        now: Time,
    ) {
        let Some(entry) = self.associations.get_mut(id.0) else { return };
        if let PathMessage::Challenge(cookie) = message {
            // An IPC server is at its own socket: an answer at the shared one would keep a client there that a copy has led
            // there.
            if entry.own.as_ref().is_some_and(|it| !it.is_announced && path.local != Some(it.local))
            {
                return;
            }
            let mut budget = Budget::UNPROVED;
            budget.receive(received);
            if entry.peer.current() == path {
                budget = entry.peer.budget();
            }
            // A server stays where it is: each path that it hears from is one that it uses.
            let mut answer = Vec::new();
            let message = PathMessage::Response(cookie);
            // A client chooses the length of its connection ID, and could have the answer sent to a victim.
            if self.answers.len() < MAX_ANSWERS
                && entry.path_message_len() <= budget.left()
                && entry.association.write_path_message(message, &mut answer).is_ok()
            {
                entry.sent += answer.len() as u64;
                if entry.peer.current() == path {
                    entry.peer.send(answer.len());
                }
                self.answers.push_back((path, answer));
            }
            return;
        }
        let outcome = entry.peer.answer(message, path, now.monotonic);
        self.note_outcome(outcome);
    }

    /// Appends a challenge to `out` if one is due; returns where to send it.
    pub(super) fn challenge(&mut self, id: u64, now: Time, out: &mut Vec<u8>) -> Option<Path> {
        let entry = self.associations.get_mut(id)?;
        let len = entry.path_message_len();
        let path = entry.peer.challenged(now.monotonic, len)?;
        let mut cookie = PathCookie::default();
        let is_sent = self.random.fill(&mut cookie).is_ok()
            && entry.association.write_path_message(PathMessage::Challenge(cookie), out).is_ok();
        if !is_sent {
            entry.peer.skip_challenge();
            return None;
        }
        entry.peer.note_challenge(cookie, len);
        entry.sent += len as u64;
        Some(path)
    }

    /// Ends a check whose time is over.
    pub(super) fn expire_path(&mut self, id: AssociationId, now: Time) {
        let Some(entry) = self.associations.get_mut(id.0) else { return };
        let outcome = entry.peer.expire(now.monotonic);
        self.note_outcome(outcome);
    }

    fn note_outcome(&mut self, outcome: Option<CheckOutcome>) {
        match outcome {
            Some(CheckOutcome::Proved) => self.counts.paths_proved += 1,
            Some(CheckOutcome::Refuted) => self.counts.paths_refuted += 1,
            None => (),
        }
    }
}
