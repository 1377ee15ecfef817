//! Contradictory keys. A key that would be ignored silently is an error.

use std::fmt::Display;
use std::net::IpAddr;
use std::time::Duration;

use tessera_kit::ProgramError;

use super::{Anchors, ClientSection, Early, Peers, ServerLimits, ServerSection};

impl ServerSection {
    /// Finds contradictions in the section of this name, without reading any file.
    ///
    /// # Errors
    /// `[server.NAME] key: ` and what to do.
    pub fn check(&self, name: &str) -> Result<(), ProgramError> {
        self.find_contradiction().map_or(Ok(()), |(key, what)| wrong("server", name, key, what))
    }

    fn find_contradiction(&self) -> Contradiction {
        let server_peers = || self.peers.find_contradiction_at_server();
        let own = || own(&self.peers, self.certificate.is_some(), self.key.is_some());
        let rest = || {
            if self.send_proxy_identity && !self.send_proxy {
                return Some((
                    "send-proxy-identity",
                    "needs `send-proxy = true`, whose header carries the identity",
                ));
            }
            self.limits.find_contradiction(self.early)
        };
        let stores = || self.stores("").find_contradiction();
        self.peers
            .find_contradiction()
            .or_else(server_peers)
            .or_else(own)
            .or_else(rest)
            .or_else(stores)
    }
}

impl ClientSection {
    /// Finds contradictions in the section of this name, without reading any file.
    ///
    /// # Errors
    /// `[client.NAME] key: ` and what to do.
    pub fn check(&self, name: &str) -> Result<(), ProgramError> {
        self.find_contradiction().map_or(Ok(()), |(key, what)| wrong("client", name, key, what))
    }

    fn find_contradiction(&self) -> Contradiction {
        let rest = || {
            if self.peers.any_of_ca {
                return Some((
                    "peers.any-of-ca",
                    "would accept every certificate as the server's: list its names in `names` or `uris`, or remove \
                     all three to check the `server-name`",
                ));
            }
            if self.key.is_some() && self.certificate.is_none() && self.peers.psk_file.is_some() {
                return Some(("key", "the server knows this end by its PSK: remove the key"));
            }
            if self.sessions_key.is_some() && self.sessions.is_none() {
                return Some((
                    "sessions-key",
                    "wraps the files of a `sessions` directory: set `sessions`, or remove the key",
                ));
            }
            if self.spare > MOST_SPARE {
                return Some((
                    "spare",
                    "so many connections would wait at the server all the time: set at most 1000",
                ));
            }
            let limits = &self.limits;
            let counts = [
                ("limits.connections", Some(limits.connections)),
                ("limits.connections-per-address", limits.connections_per_address),
            ];
            no_count(&counts)
                .or_else(|| no_time([limits.handshake, limits.connect, limits.idle, limits.write]))
        };
        self.peers.find_contradiction().or_else(rest)
    }
}

/// Each occupies a place at the server.
const MOST_SPARE: usize = 1000;

/// A key, and what is wrong with it.
type Contradiction = Option<(&'static str, &'static str)>;

impl Peers {
    fn find_contradiction(&self) -> Contradiction {
        if self.is_empty() {
            return Some((
                "peers",
                "no peer is allowed: set `ca`, `fingerprints`, `public-keys` or `psk-file`",
            ));
        }
        if self.psk_file.is_some() && self.uses_certificates() {
            return Some((
                "peers.psk-file",
                "peers with a PSK show no certificate: give them a section of their own",
            ));
        }
        if self.ca.is_none() {
            let without = [
                ("peers.names", !self.names.is_empty()),
                ("peers.uris", !self.uris.is_empty()),
                ("peers.crl", !self.crl.is_empty()),
                ("peers.any-of-ca", self.any_of_ca),
            ];
            let (key, _) = without.into_iter().find(|(_, is_set)| *is_set)?;
            return Some((key, "has no effect without `ca`: set `ca`, or remove the key"));
        }
        if !self.names.iter().all(|name| is_dns_name(name)) {
            return Some((
                "peers.names",
                "each must be one complete DNS name, such as \"app.example\", without a wildcard (`*`)",
            ));
        }
        if self.ca == Some(Anchors::System) && !self.crl.is_empty() {
            return Some((
                "peers.crl",
                "revocation lists need authorities from a file: set `ca` to the file instead of `system`",
            ));
        }
        None
    }

    fn find_contradiction_at_server(&self) -> Contradiction {
        let named = !self.names.is_empty() || !self.uris.is_empty();
        match (self.ca.is_some(), named, self.any_of_ca) {
            (true, false, false) => Some((
                "peers.ca",
                "would let every client that it certified connect: list the allowed ones in `names` or `uris`, or \
                 allow all with `any-of-ca = true`",
            )),
            (true, true, true) => Some((
                "peers.any-of-ca",
                "conflicts with `names` and `uris`, which allow only some: remove one of them",
            )),
            _ => None,
        }
    }
}

/// Whether a certificate can have this name: labels of letters, digits, `-` and `_` (RFC 5280 §4.2.1.6; host names have
/// no `_`, but certificates of services do). An IP address passes too: at a client it may be the server's.
fn is_dns_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len()) && label.bytes().all(is_letter)
    };
    name.parse::<IpAddr>().is_ok() || name.split('.').all(is_label)
}

/// Checks what a server authenticates with.
fn own(peers: &Peers, certificate: bool, key: bool) -> Contradiction {
    if peers.psk_file.is_some() && (certificate || key) {
        let which = if certificate { "certificate" } else { "key" };
        return Some((
            which,
            "clients with a PSK check no certificate: remove it, or have `ca` instead of `psk-file`",
        ));
    }
    if peers.uses_certificates() && !certificate && !key {
        return Some((
            "certificate",
            "a server needs a certificate, or a `key` alone for clients that know its public key",
        ));
    }
    None
}

impl ServerLimits {
    fn find_contradiction(&self, early: Early) -> Contradiction {
        let more = |part: Option<usize>, all: usize| part.is_some_and(|part| part > all);
        let handshakes = self.handshakes.unwrap_or(self.connections);
        let counts = [
            ("limits.connections", Some(self.connections)),
            ("limits.connections-per-address", self.connections_per_address),
            ("limits.handshakes", self.handshakes),
            ("limits.handshakes-per-address", self.handshakes_per_address),
        ];
        let times = [self.handshake, self.connect, self.idle, self.write];
        if let Some(wrong) = no_count(&counts).or_else(|| no_time(times)) {
            return Some(wrong);
        }
        if more(self.connections_per_address, self.connections) {
            return Some(("limits.connections-per-address", "must not exceed `connections`"));
        }
        if more(self.handshakes, self.connections) {
            return Some(("limits.handshakes", "must not exceed `connections`"));
        }
        if more(self.handshakes_per_address, handshakes) {
            return Some(("limits.handshakes-per-address", "must not exceed `handshakes`"));
        }
        if self.new_per_second_per_address == Some(0) {
            return Some((
                "limits.new-per-second-per-address",
                "must be at least 1: remove the key for no limit",
            ));
        }
        if early == Early::Fs && self.connect >= self.handshake {
            return Some((
                "limits.connect",
                "must be less than `handshake`: a client with early data waits for the backend, and would get no \
                 answer",
            ));
        }
        None
    }
}

fn no_count(counts: &[(&'static str, Option<usize>)]) -> Contradiction {
    let (key, _) = counts.iter().find(|(_, count)| *count == Some(0))?;
    Some((key, "must be at least 1"))
}

/// Finds a zero among handshake, connect, idle and write.
fn no_time(times: [Duration; 4]) -> Contradiction {
    let keys = ["limits.handshake", "limits.connect", "limits.idle", "limits.write"];
    let (key, _) = keys.into_iter().zip(times).find(|(_, time)| time.is_zero())?;
    Some((key, "must not be zero: remove the key for the default"))
}

pub(super) fn wrong(
    role: &str,
    name: &str,
    key: &str,
    what: impl Display,
) -> Result<(), ProgramError> {
    Err(ProgramError::settings(format!("[{role}.{name}] {key}: {what}")))
}

#[cfg(test)]
pub(super) mod tests;
