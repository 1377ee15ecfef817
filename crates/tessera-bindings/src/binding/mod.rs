//! The record of one client, and the steps of a move.
//!
//! ```text
//! Stable(A, g)
//!   begin(B)       Preparing(A -> B, g + 1)    B imports the client's state
//!   prepared(v)    Preparing, with an import   B has the state of version v
//!   announce       Announced(A -> B)           A still serves, and announces B
//!   switch         Switched(B, earlier A)      at the client's first request to B
//!   settle         Stable(B, g + 1)            A need not forward any more
//! ```
//!
//! `abort` leads from Preparing or Announced back to Stable(A, g + 1), and from Preparing so does `decline`, by which B reports that
//! it can't prepare. Every step names the generation that it belongs to: a step of an earlier move changes nothing, and a step
//! that is repeated returns what its first execution returned.

mod failure;
mod fence;
mod steps;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::failure::{FailureCause, MoveFailure};
pub use self::fence::Fence;

/// The name of a proxy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProxyName(pub String);

impl fmt::Display for ProxyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The fencing token of each of a client's steps: it grows by one with each move. The first is from the clock.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl Generation {
    /// Returns the generation of a client that is bound at `now`: later than any that it had when it was bound before.
    pub(crate) fn first(now: Duration) -> Self {
        Self(u64::try_from(now.as_millis()).unwrap_or(u64::MAX).max(1))
    }
}

/// Which proxy serves a client, and where it moves. Times are since the Unix epoch, by the clock of the process that took the
/// step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Of the last move that began.
    pub generation: Generation,
    /// When the owner began to own it.
    #[serde(with = "millis")]
    pub owned_since: Duration,
    /// In which generation that was. Moves that were given up may have followed it. 0: it isn't known.
    #[serde(default)]
    pub owned_in: Generation,
    /// The version of the client's state that its owner wrote last; 0: none. It only grows.
    #[serde(rename = "state_version")]
    pub version: u64,
    /// Why the move of this generation was given up, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<MoveFailure>,
    /// Where it is.
    #[serde(flatten)]
    pub state: BindingState,
}

/// Where a client is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum BindingState {
    /// The owner serves; every other proxy forwards to it.
    Stable {
        /// The owner.
        owner: ProxyName,
    },
    /// The owner serves, and the next proxy prepares.
    Preparing {
        /// The owner.
        owner: ProxyName,
        /// Where the client moves.
        next: ProxyName,
        /// What the next proxy has imported.
        import: Option<Import>,
        /// When the move is given up.
        #[serde(with = "millis")]
        deadline: Duration,
    },
    /// The owner serves, and announces the next proxy.
    Announced {
        /// The owner.
        owner: ProxyName,
        /// Where the client moves.
        next: ProxyName,
        /// What the next proxy has imported.
        import: Import,
        /// When the move is given up.
        #[serde(with = "millis")]
        deadline: Duration,
    },
    /// The new owner serves, and the earlier one forwards to it.
    Switched {
        /// The owner.
        owner: ProxyName,
        /// The owner before.
        earlier: ProxyName,
        /// What happened to the changes of the client's state since the import.
        changes: LaterChanges,
        /// Until when a client may still reach the earlier proxy by an announcement.
        #[serde(with = "millis")]
        until: Duration,
    },
}

/// What the next proxy has when it is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The version of the client's state.
    pub version: u64,
    /// Whether services there keep clients' state: then the owner may have changed it after the import, even if there was none.
    #[serde(default)]
    pub keeps_state: bool,
    /// Of the proxy at that moment: see [`ProxyEntry::resumption`](crate::ProxyEntry::resumption).
    pub resumption: String,
    /// Of the process that has it: see [`ProxyEntry::life`](crate::ProxyEntry::life).
    pub life: String,
}

/// What happened to the changes that the earlier owner made to a client's state after the next proxy imported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaterChanges {
    /// The new owner waits for them.
    Awaited,
    /// It has them.
    Arrived,
    /// The earlier owner died with them.
    Lost,
}

/// What a step needs to know of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveTimes {
    /// How long a client stays at least where it is: not less than the `ma` of its announcements.
    pub dwell: Duration,
    /// How long the next proxy may prepare.
    pub prepare: Duration,
    /// How long a client may take to follow an announcement.
    pub announce: Duration,
    /// How long after the switch the earlier proxy forwards: `ma`, and the clocks' error.
    pub drain: Duration,
}

/// Why a step was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepRefused {
    /// The step belongs to another generation than the current one.
    OtherGeneration(Generation),
    /// Another move is in progress, to this proxy.
    Moving(ProxyName),
    /// The client has moved to this proxy, and the earlier one still forwards.
    NotSettled(ProxyName),
    /// The client has just moved: a move may begin after this time.
    TooSoon(Duration),
    /// The step doesn't follow the current state; the text has both.
    OutOfOrder(&'static str),
    /// The state of the client that the next proxy has is older than this version.
    OldVersion(u64),
}

impl fmt::Display for StepRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherGeneration(Generation(current)) => {
                write!(f, "the client's generation is {current}: read its binding again")
            }
            Self::Moving(next) => {
                write!(f, "the client is moving to {next}: wait for that move, or abort it")
            }
            Self::NotSettled(owner) => write!(
                f,
                "the client has just moved to {owner}, and that move isn't over: wait until the earlier proxy forwards no more"
            ),
            Self::TooSoon(wait) => {
                write!(f, "the client has just moved: try again in {} ms", wait.as_millis())
            }
            Self::OutOfOrder(why) => f.write_str(why),
            Self::OldVersion(current) => {
                write!(f, "the client's state has version {current}: import it again")
            }
        }
    }
}

impl std::error::Error for StepRefused {}

impl Import {
    /// Whether changes may follow it. Entries of earlier versions have the client's version alone.
    fn keeps_state(&self) -> bool {
        self.keeps_state || self.version > 0
    }
}

impl Binding {
    /// Binds a client that has no binding.
    #[must_use]
    pub fn new(owner: ProxyName, now: Duration) -> Self {
        let (generation, state) = (Generation::first(now), BindingState::Stable { owner });
        Self {
            generation,
            owned_since: now,
            owned_in: generation,
            version: 0,
            failure: None,
            state,
        }
    }

    /// Returns the proxy that serves the client.
    #[must_use]
    pub fn owner(&self) -> &ProxyName {
        match &self.state {
            BindingState::Stable { owner }
            | BindingState::Preparing { owner, .. }
            | BindingState::Announced { owner, .. }
            | BindingState::Switched { owner, .. } => owner,
        }
    }

    /// Returns what a proxy has imported for the move to it.
    pub(crate) fn import_of(&self, proxy: &ProxyName) -> Option<&Import> {
        match &self.state {
            BindingState::Preparing { next, import: Some(import), .. }
            | BindingState::Announced { next, import, .. } => {
                Some(import).filter(|_| next == proxy)
            }
            _ => None,
        }
    }

    /// Returns the proxy that responses announce: the one to which the client's next connection should go.
    #[must_use]
    pub fn announced(&self) -> &ProxyName {
        match &self.state {
            BindingState::Announced { next, .. } => next,
            _ => self.owner(),
        }
    }

    /// Whether a proxy owns the client, is next, or owned it before.
    pub(crate) fn concerns(&self, proxy: &ProxyName) -> bool {
        match &self.state {
            BindingState::Stable { owner } => owner == proxy,
            BindingState::Preparing { owner, next, .. }
            | BindingState::Announced { owner, next, .. } => owner == proxy || next == proxy,
            BindingState::Switched { owner, earlier, .. } => owner == proxy || earlier == proxy,
        }
    }

    /// Returns when the next step is due whatever the proxies do: the move is given up, or settled.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        match &self.state {
            BindingState::Stable { .. } => None,
            BindingState::Preparing { deadline, .. } | BindingState::Announced { deadline, .. } => {
                Some(*deadline)
            }
            BindingState::Switched { until, .. } => Some(*until),
        }
    }

    fn check(&self, generation: Generation) -> Result<(), StepRefused> {
        match generation == self.generation {
            true => Ok(()),
            false => Err(StepRefused::OtherGeneration(self.generation)),
        }
    }

    fn with(&self, state: BindingState) -> Self {
        Self { state, ..self.clone() }
    }

    fn owned_by(
        &self,
        owner: &ProxyName,
        earlier: &ProxyName,
        changes: LaterChanges,
        times: &MoveTimes,
        now: Duration,
    ) -> Self {
        let (owner, earlier) = (owner.clone(), earlier.clone());
        let until = now.saturating_add(times.drain);
        let state = BindingState::Switched { owner, earlier, changes, until };
        Self { owned_since: now, owned_in: self.generation, state, ..self.clone() }
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
