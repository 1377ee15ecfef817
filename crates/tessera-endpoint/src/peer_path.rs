//! Where an association's peer is, and the check of an address to which it seems to have moved (RFC 9853 §5).
//!
//! ```text
//!   newest record from elsewhere ──► challenge the new address ──► path_response ──► proved
//!             │                             ▲          └── no answer ──► back to the address that was proved
//!             └── enhanced: challenge the proved address ──► path_response ──► back to it
//!                              └── path_drop, or no answer ──┘
//! ```

use std::time::Duration;

use tessera::face::{Reader, Writer};
use tessera::{PathCookie, PathMessage};

use crate::budget::Budget;
use crate::challenges::Challenges;
use crate::options::ReturnRoutability;
use crate::path::Path;

/// Where an association's peer is.
pub(crate) struct PeerPath {
    current: Path,
    budget: Budget,
    check: Option<Box<PathCheck>>,
}

/// A check of the current address.
struct PathCheck {
    /// The peer is there if it isn't at the current address.
    proved: Path,
    /// Where the challenges go: to the current address, or first to the one that was proved.
    challenged: Path,
    challenges: Challenges,
}

/// What became of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckOutcome {
    /// The peer receives what is sent to the current address.
    Proved,
    /// It doesn't, or it still uses the address before: that one is current again.
    Refuted,
}

impl PeerPath {
    pub(crate) fn new(current: Path, budget: Budget) -> Self {
        Self { current, budget, check: None }
    }

    pub(crate) fn current(&self) -> Path {
        self.current
    }

    pub(crate) fn budget(&self) -> Budget {
        self.budget
    }

    pub(crate) fn is_proved(&self) -> bool {
        self.budget.is_proved()
    }

    /// The peer has shown that it receives what is sent to the current address.
    pub(crate) fn prove(&mut self) {
        self.budget = Budget::Proved;
        self.check = None;
    }

    /// Returns how many bytes may be sent; with `waits` none while the address is checked.
    pub(crate) fn room(&self, waits: bool) -> usize {
        if waits && self.is_checked() { 0 } else { self.budget.left() }
    }

    pub(crate) fn receive(&mut self, from: Path, bytes: usize) {
        if from == self.current {
            self.budget.receive(bytes);
        }
    }

    pub(crate) fn send(&mut self, bytes: usize) {
        self.budget.send(bytes);
    }

    /// Follows the peer, whose newest record came on another path; with a timeout, checks that path. `may_be_left`: the peer
    /// may no longer use the socket there, so that its address alone proves nothing.
    pub(crate) fn follow(
        &mut self,
        path: Path,
        received: usize,
        now: Duration,
        check: Option<(ReturnRoutability, Duration)>,
        may_be_left: bool,
    ) {
        let proved = match self.check.take() {
            Some(check) => Some(check.proved),
            None => self.budget.is_proved().then_some(self.current),
        };
        self.current = path;
        // What is proved is that the peer receives what is sent to its address, by any socket that it uses.
        let is_proved = |proved: Path| match may_be_left && check.is_some() {
            true => proved == path,
            false => proved.remote == path.remote,
        };
        if proved.is_some_and(is_proved) {
            return self.prove();
        }
        self.budget = Budget::UNPROVED;
        self.budget.receive(received);
        self.check = proved.zip(check).map(|(proved, (kind, timeout))| {
            let challenged = if kind == ReturnRoutability::Enhanced { proved } else { path };
            Box::new(PathCheck { proved, challenged, challenges: Challenges::begin(now, timeout) })
        });
    }

    /// Returns where a challenge is due that is `len` bytes long.
    pub(crate) fn challenged(&self, now: Duration, len: usize) -> Option<Path> {
        let check = self.check.as_ref()?;
        (check.challenges.is_due(now) && self.affords(check, len)).then_some(check.challenged)
    }

    /// Returns whether `len` bytes may be sent to the address that is challenged.
    fn affords(&self, check: &PathCheck, len: usize) -> bool {
        check.challenged != self.current || len <= self.budget.left()
    }

    /// Notes a challenge that was sent.
    pub(crate) fn note_challenge(&mut self, cookie: PathCookie, len: usize) {
        let Some(check) = &mut self.check else { return };
        check.challenges.note(Some(cookie));
        if check.challenged == self.current {
            self.budget.send(len);
        }
    }

    /// Notes a challenge that could not be sent.
    pub(crate) fn skip_challenge(&mut self) {
        if let Some(check) = &mut self.check {
            check.challenges.note(None);
        }
    }

    /// Handles an answer; one that answers no challenge, or comes from elsewhere, changes nothing.
    pub(crate) fn answer(
        &mut self,
        message: PathMessage,
        from: Path,
        now: Duration,
    ) -> Option<CheckOutcome> {
        let check = self.check.as_mut()?;
        let (PathMessage::Response(cookie) | PathMessage::Drop(cookie)) = message else {
            return None;
        };
        if from != check.challenged || !check.challenges.have(&cookie) {
            return None;
        }
        let is_response = matches!(message, PathMessage::Response(_));
        match (check.challenged == self.current, is_response) {
            (true, true) => {
                self.prove();
                Some(CheckOutcome::Proved)
            }
            (false, false) => {
                check.challenge_current(self.current, now);
                None
            }
            // The peer uses the address that was proved, or drops the current one.
            (false, true) | (true, false) => self.refute(),
        }
    }

    /// Does what is due.
    pub(crate) fn expire(&mut self, now: Duration) -> Option<CheckOutcome> {
        let check = self.check.as_mut()?;
        if now < check.challenges.ends() {
            return None;
        }
        if check.challenged == self.current {
            return self.refute();
        }
        check.challenge_current(self.current, now);
        None
    }

    /// Returns when [`expire`](Self::expire) is due, or a challenge that is `len` bytes long. One for which too little has
    /// come waits for more.
    pub(crate) fn deadline(&self, len: usize) -> Option<Duration> {
        let check = self.check.as_ref()?;
        Some(match self.affords(check, len) {
            true => check.challenges.deadline(),
            false => check.challenges.ends(),
        })
    }

    /// Returns whether the current address is checked.
    pub(crate) fn is_checked(&self) -> bool {
        self.check.is_some()
    }

    /// Appends where the peer is, for another endpoint.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.current.write(out);
        self.budget.write(out);
        out.u8(u8::from(self.check.is_some()));
        if let Some(PathCheck { proved, challenged, challenges }) = self.check.as_deref() {
            proved.write(out);
            out.u8(u8::from(*challenged == self.current));
            out.u64(u64::try_from(challenges.timeout().as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Reads it. A check that was under way begins again.
    pub(crate) fn read(reader: &mut Reader<'_>, now: Duration) -> Option<Self> {
        let (current, budget) = (Path::read(reader)?, Budget::read(reader)?);
        if reader.u8().ok()? == 0 {
            return Some(Self { current, budget, check: None });
        }
        let proved = Path::read(reader)?;
        let challenged = if reader.u8().ok()? == 0 { proved } else { current };
        let timeout = Duration::from_nanos(reader.u64().ok()?);
        let challenges = Challenges::begin(now, timeout);
        let check = PathCheck { proved, challenged, challenges };
        Some(Self { current, budget, check: Some(Box::new(check)) })
    }

    fn refute(&mut self) -> Option<CheckOutcome> {
        self.current = self.check.take()?.proved;
        self.budget = Budget::Proved;
        Some(CheckOutcome::Refuted)
    }
}

impl PathCheck {
    fn challenge_current(&mut self, current: Path, now: Duration) {
        self.challenged = current;
        self.challenges.begin_again(now);
    }
}
