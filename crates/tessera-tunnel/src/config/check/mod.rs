//! Contradictory keys. A key that would be ignored silently is an error.

use std::net::IpAddr;

use tessera_kit::ProgramError;
use tessera_proxy::config::{Contradiction, find_zero_time, wrong};

use super::{Anchors, ClientLimits, ClientSection, Early, Peers, ServerLimits, ServerSection};

impl ServerSection {
    /// Finds contradictions in the section of this name, without reading any file.
    ///
    /// # Errors
    /// `[server.NAME] key: ` and what to do.
    pub fn check(&self, name: &str) -> Result<(), ProgramError> {
        refuse(
            "server",
            name,
            self.find_contradiction(),
            self.limits.find_contradiction(self.early),
        )
    }

    fn find_contradiction(&self) -> Contradiction {
        let server_peers = || self.peers.find_contradiction_at_server();
        let own = || own(&self.peers, self.certificate.is_some(), self.key.is_some());
        let identity = || {
            (self.send_proxy_identity && !self.send_proxy).then_some((
                "send-proxy-identity",
                "needs `send-proxy = true`, whose header carries the identity",
            ))
        };
        let stores = || self.stores("").find_contradiction();
        self.peers
            .find_contradiction()
            .or_else(server_peers)
            .or_else(own)
            .or_else(identity)
            .or_else(stores)
    }
}

impl ClientSection {
    /// Finds contradictions in the section of this name, without reading any file.
    ///
    /// # Errors
    /// `[client.NAME] key: ` and what to do.
    pub fn check(&self, name: &str) -> Result<(), ProgramError> {
        refuse("client", name, self.find_contradiction(), self.limits.find_contradiction())
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
            None
        };
        self.peers.find_contradiction().or_else(rest)
    }
}

/// Each occupies a place at the server.
const MOST_SPARE: usize = 1000;

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
        let found = self.gate().find_contradiction().or_else(|| find_zero_time(&self.times()));
        if found.is_some() {
            return found;
        }
        if early == Early::Fs && self.connect >= self.handshake {
            return Some((
                "connect",
                "must be less than `handshake`: a client with early data waits for the backend, and would get no \
                 answer",
            ));
        }
        None
    }
}

impl ClientLimits {
    fn find_contradiction(&self) -> Contradiction {
        self.gate().find_contradiction().or_else(|| find_zero_time(&self.times()))
    }
}

/// Returns the error for what contradicts itself in a section, or in its limits.
fn refuse(
    role: &str,
    name: &str,
    section: Contradiction,
    limits: Contradiction,
) -> Result<(), ProgramError> {
    let table = format_args!("{role}.{name}");
    match (section, limits) {
        (Some((key, what)), _) => wrong(table, key, what),
        (None, Some((key, what))) => wrong(table, &format!("limits.{key}"), what),
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
pub(super) mod tests;
