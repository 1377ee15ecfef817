//! A path that a client doesn't use, or not yet.

use std::time::Duration;

use tessera::PathCookie;

use crate::challenges::Challenges;
use crate::path::Path;

/// A path that isn't in use.
pub(super) struct OtherPath {
    pub(super) path: Path,
    check: Option<Check>,
    /// It was used, and is kept until then for what is still under way.
    leaves_at: Option<Duration>,
    /// It is kept to fail over to, whatever becomes of its checks.
    is_spare: bool,
}

struct Check {
    reason: CheckReason,
    challenges: Challenges,
    /// How often it has begun again.
    repeats: u32,
    /// It begins again then.
    pauses_until: Option<Duration>,
}

/// Why a path is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckReason {
    /// The server has announced its address.
    Announced,
    /// A record of the server's flight, or a copy of one, came from there.
    Flight,
    /// Its socket replaces the one in use.
    Replaces,
    /// The one in use may have failed.
    FailsOver,
}

impl OtherPath {
    pub(super) fn new(path: Path) -> Self {
        Self { path, check: None, leaves_at: None, is_spare: false }
    }

    /// A path to fail over to.
    pub(super) fn spare(path: Path) -> Self {
        Self { is_spare: true, ..Self::new(path) }
    }

    /// A path that is left.
    pub(super) fn left(path: Path, now: Duration) -> Self {
        Self { leaves_at: Some(now + LAST_ARRIVALS), ..Self::new(path) }
    }

    pub(super) fn is_left(&self) -> bool {
        self.leaves_at.is_some()
    }

    /// Keeps it to fail over to.
    pub(super) fn keep(&mut self) {
        (self.is_spare, self.leaves_at) = (true, None);
    }

    /// It replaces the one in use no more; returns whether it is kept.
    pub(super) fn end_replacing(&mut self) -> bool {
        let replaces = self.check.take_if(|check| check.reason == CheckReason::Replaces);
        replaces.is_none() || self.is_spare
    }

    /// Begins to check it, unless that is under way.
    pub(super) fn check(&mut self, reason: CheckReason, now: Duration, timeout: Duration) {
        if reason != CheckReason::FailsOver {
            self.leaves_at = None;
        }
        match &mut self.check {
            Some(check) if reason == CheckReason::FailsOver => {
                if check.pauses_until.take().is_some() {
                    check.challenges = Challenges::begin(now, timeout);
                }
            }
            check => {
                let challenges = Challenges::begin(now, timeout);
                *check = Some(Check { reason, challenges, repeats: 0, pauses_until: None });
            }
        }
    }

    /// Returns why it is checked, if it is.
    pub(super) fn reason(&self) -> Option<CheckReason> {
        self.check.as_ref().map(|check| check.reason)
    }

    pub(super) fn challenge_is_due(&self, now: Duration) -> bool {
        let check = self.check.as_ref().filter(|check| check.pauses_until.is_none());
        check.is_some_and(|check| check.challenges.is_due(now))
    }

    pub(super) fn note_challenge(&mut self, sent: Option<PathCookie>) {
        if let Some(check) = &mut self.check {
            check.challenges.note(sent);
        }
    }

    /// Returns whether an answer on this path shows that the server is at its end.
    pub(super) fn is_answered_by(&self, cookie: &PathCookie, path: &Path) -> bool {
        self.path == *path && self.check.as_ref().is_some_and(|it| it.challenges.have(cookie))
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        let check = self.check.as_ref();
        let check = check.map(|it| it.pauses_until.unwrap_or(it.challenges.deadline()));
        [check, self.leaves_at].into_iter().flatten().min()
    }

    /// Ends a check without an answer, or begins it again; returns whether the path is kept.
    pub(super) fn expire(&mut self, now: Duration, timeout: Duration) -> bool {
        if self.leaves_at.is_some_and(|at| at <= now) {
            return false;
        }
        let Some(check) = &mut self.check else { return true };
        if let Some(until) = check.pauses_until {
            if until <= now {
                check.pauses_until = None;
                check.challenges = Challenges::begin(now, timeout);
            }
            return true;
        }
        if now < check.challenges.ends() {
            return true;
        }
        match check.reason {
            // A spare one stays.
            CheckReason::FailsOver => self.check = None,
            CheckReason::Announced | CheckReason::Flight | CheckReason::Replaces => {
                if check.repeats == MAX_REPEATS {
                    self.check = None;
                    return self.is_spare;
                }
                check.pauses_until = Some(now + FIRST_PAUSE * 2_u32.pow(check.repeats));
                check.repeats += 1;
            }
        }
        true
    }

    /// Ends a check for which there is no reason once an answer has come on the path in use.
    pub(super) fn end_fail_over(&mut self) {
        self.check.take_if(|check| check.reason == CheckReason::FailsOver);
    }
}

/// How long a path is kept that was left.
const LAST_ARRIVALS: Duration = Duration::from_secs(1);

/// How often a check without an answer begins again, and how long after the first time; each time twice as long.
const MAX_REPEATS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
