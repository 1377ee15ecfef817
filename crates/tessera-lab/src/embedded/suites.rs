//! What the report has on suites and KEMs: a client's instructions, bytes and memory in a handshake of each suite, and the
//! steps of both ends, from which [`super::link`] models the time.

use serde::{Deserialize, Serialize};

use super::names::once;
use crate::experiment::limits::CheckResult;
use crate::numbers::NOTHING;
use crate::table::Name;

/// The levels of optimization of the two runs.
pub(crate) const FAST: &str = "3";
pub(crate) const SMALL: &str = "s";

/// The two metrics, in the order of [`Suite::work`]: application data may be sent, and the server is authenticated.
pub(crate) const METRICS: [&str; 2] = ["to first data", "to explicit authentication"];

/// More steps than any handshake has.
const STEPS: usize = 1000;

/// The suites at a level of optimization.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Suites {
    pub(crate) opt_level: String,
    pub(crate) rows: Vec<Suite>,
}

/// A handshake of a suite.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Suite {
    pub(crate) key_exchange: String,
    /// The algorithm of the server's authorities; `none` where its key is known.
    pub(crate) ca: String,
    pub(crate) leaf: String,
    pub(crate) mode: String,
    /// The server's certificates, as DER, without the root.
    pub(crate) chain: u32,
    pub(crate) client: ClientEnd,
    pub(crate) server: ServerEnd,
    pub(crate) first_data: Work,
    pub(crate) explicit: Work,
    /// In an order in which each reads only what was sent before it.
    pub(crate) steps: Vec<Step>,
    /// The client's step after which it may send application data.
    pub(crate) first_data_step: usize,
    /// The client's step after which the server is authenticated.
    pub(crate) explicit_step: usize,
}

/// What a client sends and takes in the whole handshake, in bytes.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ClientEnd {
    pub(crate) sent: u32,
    pub(crate) stack: u32,
    pub(crate) heap: u32,
}

/// What a server sends in the whole handshake, in bytes.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ServerEnd {
    pub(crate) sent: u32,
}

/// A client's instructions, and those of its parts.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) instructions: u64,
    pub(crate) exchange: u64,
    pub(crate) chain: u64,
    pub(crate) proof: u64,
    pub(crate) aead: u64,
}

/// What an end does at once: it reads so many bytes, works, and sends so many.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) side: Side,
    pub(crate) read: u32,
    pub(crate) instructions: u64,
    pub(crate) sent: u32,
}

/// An end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Client,
    Server,
}

/// An operation of a KEM alone.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct KemOperation {
    pub(crate) implementation: String,
    pub(crate) opt_level: String,
    pub(crate) set: String,
    pub(crate) construction: String,
    pub(crate) operation: String,
    pub(crate) instructions: u64,
    pub(crate) stack: u32,
}

/// The name of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SuiteName<'a> {
    pub(crate) key_exchange: &'a str,
    pub(crate) ca: &'a str,
    pub(crate) leaf: &'a str,
    pub(crate) mode: &'a str,
}

/// The suite that the others are compared with.
pub(crate) const BASELINE: SuiteName<'_> = with_chain("X25519", "Ed25519", "Ed25519");

/// Server-only authentication, with a chain.
pub(crate) const fn with_chain<'a>(
    key_exchange: &'a str,
    ca: &'a str,
    leaf: &'a str,
) -> SuiteName<'a> {
    SuiteName { key_exchange, ca, leaf, mode: "server" }
}

/// A server whose ML-KEM-768 key the client knows.
pub(crate) const fn known_key(key_exchange: &str) -> SuiteName<'_> {
    SuiteName { key_exchange, ca: "none", leaf: "ML-KEM-768", mode: "known key" }
}

/// A server that sends its key of Ed25519, which the client knows.
pub(crate) const RAW_ED25519: SuiteName<'_> =
    SuiteName { key_exchange: "X25519", ca: "none", leaf: "Ed25519", mode: "raw key" };

impl SuiteName<'_> {
    /// Returns it in few words.
    pub(crate) fn words(self) -> String {
        let Self { key_exchange, ca, leaf, mode } = self;
        match (ca, mode) {
            ("none", _) => format!("{key_exchange}, {mode} {leaf}"),
            (_, "server") => format!("{key_exchange} / {ca} / {leaf}"),
            _ => format!("{key_exchange} / {ca} / {leaf}, {mode}"),
        }
    }

    /// Returns it as the name of a row.
    pub(crate) fn row(self) -> Name {
        let Self { key_exchange, ca, leaf, mode } = self;
        Name::new([key_exchange, ca, leaf, mode].join("/"), key_exchange)
            .with("CA", if ca == "none" { NOTHING } else { ca })
            .with("leaf", leaf)
            .with("", mode)
    }
}

impl Suite {
    pub(crate) fn name(&self) -> SuiteName<'_> {
        let Self { key_exchange, ca, leaf, mode, .. } = self;
        SuiteName { key_exchange, ca, leaf, mode }
    }

    /// Returns the client's work by each metric.
    pub(crate) fn work(&self) -> [&Work; 2] {
        [&self.first_data, &self.explicit]
    }

    /// Returns the step with which each metric ends.
    pub(crate) fn last_steps(&self) -> [usize; 2] {
        [self.first_data_step, self.explicit_step]
    }

    fn check(&self) -> CheckResult {
        let Self { first_data_step, explicit_step, steps, .. } = self;
        if steps.len() > STEPS {
            return Err(format!("it has more than {STEPS} steps"));
        }
        let is_clients =
            |index: &usize| steps.get(*index).is_some_and(|it| it.side == Side::Client);
        if let Some(index) = self.last_steps().iter().find(|index| !is_clients(index)) {
            return Err(format!("step {index} is none of the client's"));
        }
        if first_data_step > explicit_step {
            return Err(format!(
                "its first data is after step {first_data_step}, and explicit authentication before"
            ));
        }
        if steps[0].side != Side::Client || steps[0].read != 0 {
            return Err("it doesn't begin with the client's start".to_owned());
        }
        self.check_bytes()?;
        self.work().into_iter().try_for_each(Work::check)
    }

    /// Checks that a step reads only what was sent before, and that the steps send all that the ends did.
    fn check_bytes(&self) -> CheckResult {
        let (mut sent, mut read) = ([0_u64; 2], [0_u64; 2]);
        for (index, step) in self.steps.iter().enumerate() {
            let (own, peer) = (step.side as usize, step.side.peer() as usize);
            read[own] += u64::from(step.read);
            if read[own] > sent[peer] {
                return Err(format!("step {index} reads more than was sent"));
            }
            sent[own] += u64::from(step.sent);
        }
        // The client's steps have its first data as well.
        let in_all = [self.client.sent, self.server.sent].map(u64::from);
        if sent.iter().zip(in_all).any(|(steps, whole)| *steps < whole) {
            return Err(format!("its steps send {sent:?} bytes, and its ends {in_all:?}"));
        }
        Ok(())
    }
}

impl Work {
    /// Returns the instructions of the parts, in the order of [`PARTS`]: messages, transcript and key schedule are what is not
    /// in the others.
    pub(crate) fn parts(&self) -> [u64; PARTS.len()] {
        let Self { exchange, chain, proof, aead, .. } = *self;
        [exchange, chain, proof, self.instructions - self.counted(), aead]
    }

    fn counted(&self) -> u64 {
        let parts = [self.exchange, self.chain, self.proof, self.aead];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    fn check(&self) -> CheckResult {
        if self.counted() > self.instructions {
            return Err("its parts have more instructions than it has".to_owned());
        }
        Ok(())
    }
}

/// The parts of a client's work.
pub(crate) const PARTS: [&str; 5] = ["key exchange", "chain", "proof", "protocol", "AEAD"];

impl Side {
    pub(crate) fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Rejects suites and KEMs that no run writes.
pub(super) fn check(suites: &[Suites], kems: &[KemOperation]) -> CheckResult {
    once("the suites", suites.iter().map(|it| [it.opt_level.as_str()]))?;
    for Suites { opt_level, rows } in suites {
        let names = rows.iter().map(|it| [&*it.key_exchange, &it.ca, &it.leaf, &it.mode]);
        once(&format!("the suites at opt-level {opt_level}"), names)?;
        rows.iter().try_for_each(|suite| {
            suite.check().map_err(|what| format!("{}: {what}", suite.name().words()))
        })?;
    }
    let names = kems
        .iter()
        .map(|it| [&*it.implementation, &it.opt_level, &it.set, &it.construction, &it.operation]);
    once("the KEMs", names)
}
