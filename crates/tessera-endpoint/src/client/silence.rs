//! How long a client has waited for an answer.

use std::time::Duration;

use tessera::PathCookie;

use crate::challenges::Challenges;

/// Whether the server answers on the path in use.
#[derive(Default)]
pub(super) struct Silence {
    /// Something was sent to which there may be an answer.
    is_expecting: bool,
    began: Option<Duration>,
    /// The path is challenged: there may be nothing that the server would send otherwise.
    check: Option<Challenges>,
}

impl Silence {
    /// An answer has come, or another path is used.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    pub(super) fn expect_answer(&mut self) {
        self.is_expecting = true;
    }

    /// Begins if something was sent.
    pub(super) fn begin(&mut self, now: Duration) {
        if self.is_expecting && self.began.is_none() {
            self.began = Some(now);
        }
    }

    /// Returns when something is due if answers take this long at most.
    pub(super) fn deadline(&self, timeout: Duration) -> Option<Duration> {
        match &self.check {
            Some(check) => Some(check.deadline()),
            None => self.began.map(|began| began + timeout),
        }
    }

    /// Returns whether it is time to look for another path.
    pub(super) fn is_over(&mut self, now: Duration, timeout: Duration) -> bool {
        if self.check.take_if(|check| check.ends() <= now).is_some() {
            // No path has answered: again with the next data.
            self.end();
        }
        self.check.is_none() && self.began.is_some_and(|began| began + timeout <= now)
    }

    pub(super) fn is_checked(&self) -> bool {
        self.check.is_some()
    }

    pub(super) fn check(&mut self, now: Duration, timeout: Duration) {
        self.check = Some(Challenges::begin(now, timeout));
    }

    pub(super) fn challenge_is_due(&self, now: Duration) -> bool {
        self.check.as_ref().is_some_and(|check| check.is_due(now))
    }

    pub(super) fn note_challenge(&mut self, sent: Option<PathCookie>) {
        if let Some(check) = &mut self.check {
            check.note(sent);
        }
    }

    pub(super) fn is_answered_by(&self, cookie: &PathCookie) -> bool {
        self.check.as_ref().is_some_and(|check| check.have(cookie))
    }
}
