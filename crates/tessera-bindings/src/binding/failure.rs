//! Why a move was given up.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ProxyName;

/// A move that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveFailure {
    /// Where the client was to move.
    pub next: ProxyName,
    /// Why it stayed.
    pub cause: FailureCause,
    /// What the next proxy reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Why a client stayed where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCause {
    /// An operator aborted the move.
    Aborted,
    /// The next proxy couldn't prepare.
    Declined,
    /// The next proxy didn't prepare in time.
    NotPrepared,
    /// The client didn't come to the next proxy in time.
    NotFollowed,
}

/// The longest report of a proxy, in characters: an entry in the store stays small.
const LONGEST: usize = 200;

impl MoveFailure {
    pub(super) fn new(next: &ProxyName, cause: FailureCause) -> Self {
        Self { next: next.clone(), cause, why: None }
    }

    /// The next proxy can't prepare.
    pub(super) fn declined(next: &ProxyName, why: &str) -> Self {
        let why = why.chars().take(LONGEST).collect();
        Self { why: Some(why), ..Self::new(next, FailureCause::Declined) }
    }
}

impl fmt::Display for MoveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { next, cause, why } = self;
        match cause {
            FailureCause::Aborted => f.write_str("it was aborted"),
            FailureCause::Declined => {
                write!(f, "{next} can't prepare: {}", why.as_deref().unwrap_or("no reason given"))
            }
            FailureCause::NotPrepared => write!(f, "{next} didn't prepare in time"),
            FailureCause::NotFollowed => write!(f, "the client didn't come to {next} in time"),
        }
    }
}
