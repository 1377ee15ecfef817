//! The output of the demonstration, for people and for programs.

use std::fmt;

use serde::Serialize;
use tessera_kit::report::Fact;
use tessera_proxy::demo::{self, Actor as _};

/// Actors of the story.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Actor {
    VisitedSepp,
    HomeSepp,
    /// The adversary on the path.
    Adversary,
    /// The operator that misbehaves.
    Third,
}

impl demo::Actor for Actor {
    const WIDTH: usize = 12;

    fn name(self) -> &'static str {
        match self {
            Self::VisitedSepp => "SEPP 001-01",
            Self::HomeSepp => "SEPP 999-70",
            Self::Adversary => "adversary",
            Self::Third => "310-410",
        }
    }
}

/// A request of the AMF or SMF abroad, and its answer.
#[derive(Serialize)]
pub(super) struct Transaction {
    pub(super) at: u64,
    /// The position in the registration; 0 outside of it.
    pub(super) number: usize,
    /// Its name in TS 23.502.
    pub(super) operation: &'static str,
    pub(super) method: &'static str,
    /// Without its query.
    pub(super) path: String,
    /// Bodies, in bytes.
    pub(super) sent: usize,
    pub(super) received: usize,
    pub(super) status: u16,
    /// From the request to the end of its answer, as the network function sees it.
    pub(super) micros: u64,
}

impl Fact for Transaction {
    const EVENT: &'static str = "transaction";
}

impl fmt::Display for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, number, operation, method, path, sent, received, status, micros } = self;
        let number = if *number == 0 { String::new() } else { number.to_string() };
        let millis = micros / 1000;
        write!(
            f,
            "{at:>6} ms  {number:>2} {operation:<36} {method:<6} {path}: {status}, {sent}/{received} bytes, {millis} ms"
        )
    }
}

/// An N32-f connection from the visited network to the home network.
#[derive(Clone, Serialize)]
pub(super) struct Connection {
    pub(super) at: u64,
    /// As metrics have it: `a`, `c`, `e`.
    pub(super) mode: String,
    /// Round trips of TLS before the first request leaves, not counting TCP's.
    pub(super) round_trips: u8,
    /// From its first request to the answer.
    pub(super) micros: u64,
}

impl Connection {
    fn handshake(&self) -> &'static str {
        match self.mode.as_str() {
            "e" if self.round_trips > 0 => {
                "(e) RESUMED WITH 0-RTT FS, AND NOTHING IN THE FIRST FLIGHT"
            }
            "a" => "(a) full handshake, certificates on both sides",
            "c" => "(c) resumed by psk_dhe_ke, with a fresh key agreement",
            "e" => "(e) resumed with 0-RTT FS: the request was in the first flight",
            _ => "a handshake that should not be here",
        }
    }
}

impl Fact for Connection {
    const EVENT: &'static str = "connection";
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, round_trips, micros, .. } = self;
        let of_tls = if *round_trips == 1 { "1 round trip" } else { "no round trip" };
        write!(
            f,
            "{at:>6} ms  {:<12}  N32-f: {}; TCP 1 round trip, TLS {of_tls} before the request; answer after {} ms",
            Actor::HomeSepp.name(),
            self.handshake(),
            micros / 1000
        )
    }
}

/// Something that must be refused.
#[derive(Serialize)]
pub(super) struct Attempt {
    pub(super) at: u64,
    pub(super) what: &'static str,
    /// Of the answer.
    pub(super) status: u16,
    /// The rule that refused it, as the configuration, log and metrics of the home network's SEPP name it.
    pub(super) rule: Option<String>,
}

impl Fact for Attempt {
    const EVENT: &'static str = "attempt";
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, what, status, rule } = self;
        write!(f, "{at:>6} ms  {:<12}  {what}: {status}, ", Actor::Third.name())?;
        match rule {
            Some(rule) => write!(f, "refused by the rule `{rule}`"),
            None => write!(f, "REFUSED BY NO RULE"),
        }
    }
}

/// The results.
#[derive(Serialize)]
pub(super) struct Outcome {
    /// The transactions of the registration with the required answer.
    pub(super) transactions: usize,
    /// All requests of the visited network's functions.
    pub(super) asked: usize,
    /// Requests that the home network's functions executed for it.
    pub(super) executed: usize,
    /// The handshake modes of N32-f, in order.
    pub(super) modes: Vec<String>,
    /// The last of them had its request in the first flight.
    pub(super) was_early: bool,
    /// The number of replays of the first flight.
    pub(super) replays: usize,
    /// How many times the home network's functions then executed its content.
    pub(super) executed_again: usize,
    /// The number of the third operator's attempts.
    pub(super) attempts: usize,
    /// How many of them the intended rule refused.
    pub(super) refused: usize,
    /// The home network's SEPP received NONE.
    pub(super) ended_by_none: bool,
    /// It registered at its NRF, and deregistered at the end.
    pub(super) left_nrf: bool,
    /// From the request to its answer if a full handshake preceded it.
    pub(super) full_micros: u64,
    pub(super) early_micros: u64,
}

impl demo::Outcome for Outcome {
    fn is_good(&self) -> bool {
        self.transactions == super::REGISTRATION.len()
            && self.executed == self.asked
            && self.modes == ["a", "c", "a", "e"]
            && self.was_early
            && self.replays > 0
            && self.executed_again == 0
            && self.attempts > 0
            && self.refused == self.attempts
            && self.ended_by_none
            && self.left_nrf
    }
}

impl Fact for Outcome {
    const EVENT: &'static str = "demo";
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n{} transactions of the registration; {} requests made, {} executed; handshakes {}.",
            self.transactions,
            self.asked,
            self.executed,
            self.modes.join(", ")
        )?;
        let replays = if self.replays == 1 { "replay" } else { "replays" };
        match self.executed_again {
            0 => writeln!(f, "{} {replays}: nothing was executed again.", self.replays)?,
            n => writeln!(f, "{n} REQUESTS WERE EXECUTED AGAIN: that is a bug, please report it.")?,
        }
        writeln!(f, "{} of {} attempts were refused.", self.refused, self.attempts)?;
        write!(
            f,
            "The first connection had its answer after {} ms, one resumed with early data after {} ms.",
            self.full_micros / 1000,
            self.early_micros / 1000
        )
    }
}
