//! What an endpoint sends, and when.

use std::time::Duration;

use tessera::{AssociationOptions, Error, Time};

use super::{AssociationId, EndedAssociation, Endpoint};
use crate::path::Path;

impl Endpoint {
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
        let entry = self.associations.get_mut(id.0).ok_or(Error::Closed)?;
        let start = out.len();
        let room = entry.peer.room(self.options.waits_for_path_response);
        if room < entry.association.datagram_len(data.len()) {
            return Err(Error::TooEarly("the peer's address is unproved"));
        }
        let written = entry.association.write(data, out);
        entry.count_sent(out.len() - start);
        let path = entry.peer.current();
        self.wake(id);
        written.map(|()| path)
    }

    /// Appends the next datagram to send to `out`, and returns where to; `None` if there is none.
    pub fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Path> {
        if let Some((path, datagram)) = self.answers.pop_front() {
            out.extend_from_slice(&datagram);
            return Some(path);
        }
        while let Some(id) = self.ready.front().copied() {
            if let Some(path) = self.challenge(id, now, out) {
                return Some(path);
            }
            if let Some(entry) = self.associations.get_mut(id) {
                let start = out.len();
                // An unproved address gets no alert.
                let left = match entry.has_failed && !entry.peer.is_proved() {
                    true => 0,
                    false => entry.peer.room(self.options.waits_for_path_response),
                };
                // With less it gets nothing more.
                let is_allowed = left >= AssociationOptions::SHORTEST_DATAGRAM;
                if is_allowed && entry.association.transmit_within(left, now, out) {
                    entry.count_sent(out.len() - start);
                    return Some(entry.peer.current());
                }
                entry.is_ready = false;
                let has_failed = entry.has_failed;
                // One that may not send waits for its peer, or for the end of the handshake.
                let not_before = if is_allowed { Duration::ZERO } else { now.monotonic + PAUSE };
                self.set_timer(id, not_before, now.monotonic);
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
    pub fn handle_timeouts(&mut self, now: Time) -> Vec<EndedAssociation> {
        while let Some(id) = self.timers.pop_due(now.monotonic) {
            let Some(entry) = self.associations.get_mut(id) else { continue };
            entry.deadline = None;
            // An ACK that is due has no timer of the association's own.
            if let Err(error) = entry.association.handle_timeout(now) {
                self.end(AssociationId(id), error);
                continue;
            }
            self.expire_path(AssociationId(id), now);
            if self.expiry(id).is_some_and(|at| at <= now.monotonic) {
                self.end(AssociationId(id), Error::TimedOut);
                continue;
            }
            let Some(entry) = self.associations.get_mut(id) else { continue };
            let is_quiet = entry.association.deadline().is_none()
                && !entry.peer.is_checked()
                && entry.was_quiet();
            let expiry = self.expiry(id).filter(|_| is_quiet);
            if !(is_quiet && self.associations.make_idle(id, now)) {
                self.wake(AssociationId(id));
            } else if let Some(expiry) = expiry {
                self.associations.set_idle_deadline(id, expiry);
                self.timers.set(id, None, Some(expiry));
            }
        }
        std::mem::take(&mut self.ended)
    }

    /// Lets an association send, and renews its timer when it has.
    pub(super) fn wake(&mut self, id: AssociationId) {
        if let Some(entry) = self.associations.get_mut(id.0)
            && !entry.is_ready
        {
            entry.is_ready = true;
            self.ready.push_back(id.0);
        }
    }

    /// Returns when an association ends that has a socket, if nothing comes.
    fn expiry(&mut self, id: u64) -> Option<Duration> {
        let timeout = self.sockets.as_ref()?.options.idle_timeout;
        let own = self.associations.get_mut(id)?.own.as_ref()?;
        Some(own.heard.saturating_add(timeout))
    }

    fn set_timer(&mut self, id: u64, not_before: Duration, now: Duration) {
        let expiry = self.expiry(id);
        if let Some(entry) = self.associations.get_mut(id) {
            let own = entry.association.deadline().map(|at| at.max(not_before));
            let peer = entry.peer.deadline(entry.path_message_len());
            let deadline = match [own, peer].into_iter().flatten().min() {
                Some(at) => at,
                // No record renews it: when it is due, the association shows whether it was quiet.
                None => {
                    entry.deadline.filter(|at| *at > now).unwrap_or(now + QUIET).min(now + QUIET)
                }
            };
            let deadline = expiry.map_or(deadline, |expiry| deadline.min(expiry));
            self.timers.set(id, entry.deadline, Some(deadline));
            entry.deadline = Some(deadline);
        }
    }
}

/// How long an association is quiet before it is idle; at most twice that.
const QUIET: Duration = Duration::from_secs(60);

/// How long an association without a budget rests.
const PAUSE: Duration = Duration::from_millis(500);
