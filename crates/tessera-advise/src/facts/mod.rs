//! The facts of a deployment that decide how connections should come back.

mod contradictions;
mod given;
mod values;

use std::fmt;

use serde::Serialize;

pub use given::{KEYS, SourcedFacts};

/// The facts of a deployment: two ends, and connections between them that break and come back.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// `application`: what the advice is for. Default: a program with the library.
    pub application: Application,
    /// `round-trip`: between the two ends, in milliseconds.
    pub round_trip_ms: f64,
    /// `reconnections-per-hour`: how often one connection comes back, on average.
    pub reconnections_per_hour: f64,
    /// `connections`: how many may come back at once. Default: 1.
    pub connections: f64,
    /// `waiting-requests`: how many requests wait for a connection that comes back. Default: 1.
    pub waiting_requests: f64,
    /// `early-requests`: what a first flight may carry. Default: nothing.
    pub early_requests: EarlyRequests,
    /// `forward-secrecy`: which data must stay secret if keys are stolen later. Default: all.
    pub forward_secrecy: Need,
    /// `post-quantum`: whether recordings must stay secret from quantum computers. Default: yes.
    pub post_quantum: bool,
    /// `fresh-certificates`: whether each connection must present certificates. Default: no.
    pub fresh_certificates: bool,
    /// `peer-tls`: what the other end supports. Default: stock TLS 1.3.
    pub peer_tls: PeerTls,
    /// `servers`: how many share one name. Default: 1.
    pub servers: f64,
    /// `same-server`: whether a client returns to the server that it left, as with a balancer with affinity. Default:
    /// no, to any of them.
    pub same_server: bool,
    /// `shared-store`: what they share for one-time keys. Default: nothing.
    pub shared_store: SharedStore,
    /// `store-round-trip`: the round-trip time to it, in milliseconds.
    pub store_round_trip_ms: Option<f64>,
    /// `ticket-memory`: how many bytes a server may use for tickets. Default: no limit.
    pub ticket_memory: Option<f64>,
    /// `server-processor`: the server's limit of processor time per reconnection, in microseconds. Default: no limit.
    pub server_processor_us: Option<f64>,
    /// `longest-ticket-lifetime`, in hours. Default: seven days, TLS's limit (RFC 8446 §4.6.1).
    pub longest_ticket_lifetime_hours: f64,
    /// `deletes-one-time-psks`: whether both ends actually delete them, backups included. Default: no.
    pub deletes_one_time_psks: bool,
    /// `accept-risk`: the risks that the owner accepts. Default: none.
    pub accept_risk: Vec<Risk>,
    /// `bandwidth`: the rate of the link in bytes per second, if it is low enough to matter. Default: no limit.
    pub bandwidth: Option<f64>,
    /// `processor-price`: how many seconds of one request's waiting a second of processor time is worth. Default: 1.
    pub processor_price: f64,
}

/// What the advice is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Application {
    /// A program with the library, which supports every way (docs/library.md).
    Own,
    /// `tessera sepp`, which supports some ways, and has settings for some (docs/sepp.md).
    Sepp,
    /// `tessera tunnel`, likewise (docs/tunnel.md).
    Tunnel,
}

/// What a first flight may carry, before the server has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyRequests {
    /// Nothing.
    None,
    /// Requests that must be processed at most once, and whose fate the client learns.
    AtMostOnce,
    /// Requests that may be processed many times: this does no harm, and reveals nothing to an attacker.
    Repeatable,
}

/// Which data must be forward-secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// All, including early data.
    Always,
    /// What follows the handshake.
    AfterHandshake,
    /// None.
    NotNeeded,
}

/// What the other end supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerTls {
    /// Tessera, or another implementation of docs/0rtt-fs.md.
    Tessera,
    /// TLS 1.3 with tickets.
    Stock,
    /// TLS 1.3 that issues no tickets, or accepts none.
    StockWithoutTickets,
}

/// What servers under one name share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedStore {
    /// Nothing but ticket keys.
    None,
    /// An etcd.
    Etcd,
}

/// A risk that the owner must accept by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// An attacker who steals a ticket key later reads whole sessions.
    NoForwardSecrecy,
    /// An attacker who steals a ticket key later reads early data.
    EarlyDataWithoutForwardSecrecy,
    /// A copy of a first flight is processed again.
    Replay,
    /// An attacker who reads the one-time key before it is taken reads the whole connection, and not only its early
    /// data.
    EarlyKeyExchange,
}

impl Risk {
    /// Returns its name in facts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoForwardSecrecy => "no-forward-secrecy",
            Self::EarlyDataWithoutForwardSecrecy => "early-data-without-forward-secrecy",
            Self::Replay => "replay",
            Self::EarlyKeyExchange => "early-key-exchange",
        }
    }
}

impl Facts {
    /// Creates a deployment at this round-trip time, with one reconnection an hour and defaults for the rest.
    #[must_use]
    pub fn at(round_trip_ms: f64) -> Self {
        Self {
            application: Application::Own,
            round_trip_ms,
            reconnections_per_hour: 1.0,
            connections: 1.0,
            waiting_requests: 1.0,
            early_requests: EarlyRequests::None,
            forward_secrecy: Need::Always,
            post_quantum: true,
            fresh_certificates: false,
            peer_tls: PeerTls::Stock,
            servers: 1.0,
            same_server: false,
            shared_store: SharedStore::None,
            store_round_trip_ms: None,
            ticket_memory: None,
            server_processor_us: None,
            longest_ticket_lifetime_hours: values::SEVEN_DAYS,
            deletes_one_time_psks: false,
            accept_risk: Vec::new(),
            bandwidth: None,
            processor_price: 1.0,
        }
    }

    /// Whether the owner accepts a risk.
    #[must_use]
    pub fn accept(&self, risk: Risk) -> bool {
        self.accept_risk.contains(&risk)
    }
}

/// Why facts are invalid: where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactsError {
    /// The file, line and key, or the option.
    pub place: String,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for FactsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for FactsError {}

#[cfg(test)]
mod tests;
