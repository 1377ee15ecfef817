//! The facts of a connection, as a line and as JSON.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;
use tessera::Facts;
use tessera::handshake::{CertificateTransfer, EarlyDataStatus};
use tessera::resume::{Ancestry, Continuation, PskKind, Verdict};

use crate::hex;
use crate::report::Fact;

/// The facts of one connection. Bytes are those on the network; times are in microseconds.
#[derive(Debug, Clone, Serialize)]
pub struct ConnectionFacts {
    address: Option<SocketAddr>,
    /// The local program whose datagrams the connection carried.
    source: Option<SocketAddr>,
    version: Option<&'static str>,
    suite: Option<String>,
    group: Option<String>,
    server_signature_scheme: Option<String>,
    /// On a client: its server, which authenticates with a KEM, has not shown yet that it is there.
    server_is_implicit: bool,
    server_name: Option<String>,
    protocol: Option<String>,
    /// The peer's identity, if its certificate proved it in this or an earlier handshake.
    peer: Option<String>,
    /// The identity of the external PSK that was used, now or at the beginning of the chain of resumptions.
    external_psk: Option<String>,
    /// How this side's certificate was sent, and in how many bytes, the message's header included.
    own_certificate: Option<&'static str>,
    own_certificate_bytes: Option<u32>,
    /// Why it was not cached, if certificates are cached.
    own_certificate_missed: Option<&'static str>,
    /// Likewise for the peer's certificate.
    peer_certificate: Option<&'static str>,
    peer_certificate_bytes: Option<u32>,
    peer_certificate_missed: Option<&'static str>,
    resumed: bool,
    psk: Option<&'static str>,
    one_time_key: Option<String>,
    continuation: Option<&'static str>,
    early_data: &'static str,
    hello_retry_request: bool,
    /// The weakest key exchange of the chain of resumptions.
    ancestry: Option<&'static str>,
    /// Whether every key exchange of the chain withstands quantum computers.
    pub post_quantum: bool,
    /// When the last full handshake of the chain was, in seconds since the Unix epoch.
    authenticated_at: Option<u64>,
    /// How TCP Fast Open (RFC 7413) ended, if it was requested.
    fast_open: Option<&'static str>,
    /// How many bytes the client's SYN carried, if known.
    syn_bytes: Option<usize>,
    bytes_received: u64,
    bytes_sent: u64,
    /// Datagrams that were not carried on, if any were to be.
    datagrams_dropped: Option<u64>,
    handshake_micros: Option<u64>,
    total_micros: u64,
    error: Option<String>,
}

impl Fact for ConnectionFacts {
    const EVENT: &'static str = "connection";
}

/// Facts that the stream doesn't know.
#[derive(Debug, Clone, Default)]
pub struct SocketFacts {
    /// The peer's address.
    pub address: Option<SocketAddr>,
    /// Whether it is a UDP socket, which carries DTLS.
    pub is_udp: bool,
    /// The local program whose datagrams were carried.
    pub source: Option<SocketAddr>,
    /// How many datagrams were not carried on; `None` if none were to be.
    pub datagrams_dropped: Option<u64>,
    /// How TCP Fast Open (RFC 7413) ended, such as `taken`; `None` if it was not requested.
    pub fast_open: Option<&'static str>,
    /// How many bytes the client's SYN carried; `None` if unknown.
    pub syn_bytes: Option<usize>,
    /// How many bytes were received.
    pub received: u64,
    /// How many bytes were sent.
    pub sent: u64,
    /// How long the handshake took; `None` if it was not completed.
    pub handshake: Option<Duration>,
    /// How long the connection has lived.
    pub total: Duration,
    /// Why it ended, if not in order.
    pub error: Option<String>,
}

impl ConnectionFacts {
    /// Collects the facts of a connection now.
    #[must_use]
    pub fn new(facts: &Facts, socket: SocketFacts) -> Self {
        let psk = facts.psk;
        Self {
            address: socket.address,
            source: socket.source,
            version: facts.suite.map(|_| if socket.is_udp { "DTLSv1.3" } else { "TLSv1.3" }),
            suite: facts.suite.map(|suite| format!("{suite:?}")),
            group: facts.group.map(|group| format!("{group:?}")),
            server_signature_scheme: facts.signature_scheme.map(|scheme| format!("{scheme:?}")),
            server_is_implicit: facts.server_is_implicit,
            server_name: facts.server_name.clone(),
            protocol: facts.protocol.as_deref().map(readable),
            peer: facts.peer.as_ref().map(|peer| readable(&peer.blob)),
            external_psk: facts.external_psk.as_deref().map(readable),
            own_certificate: facts.own_certificate.map(way),
            own_certificate_bytes: facts.own_certificate.map(|it| it.len),
            own_certificate_missed: facts.own_certificate.and_then(|it| it.missed),
            peer_certificate: facts.peer_certificate.map(way),
            peer_certificate_bytes: facts.peer_certificate.map(|it| it.len),
            peer_certificate_missed: facts.peer_certificate.and_then(|it| it.missed),
            resumed: psk.is_some_and(PskKind::resumes),
            psk: psk.map(|kind| match kind {
                PskKind::Resumption => "resumption",
                PskKind::External => "external",
                PskKind::Imported => "imported",
                PskKind::ForwardSecret => "forward-secret",
                PskKind::KnownKey => "known-key",
            }),
            one_time_key: facts.one_time_key.map(|group| format!("{group:?}")),
            continuation: facts.continuation.map(|continuation| match continuation {
                Continuation::PskDheKe => "psk_dhe_ke",
                Continuation::PskKe => "psk_ke",
            }),
            early_data: early_data(facts.early_data),
            hello_retry_request: facts.hello_retry,
            ancestry: facts.ancestry.map(|ancestry| match ancestry {
                Ancestry::PskOnly => "psk-only",
                Ancestry::Classical => "classical",
                Ancestry::PostQuantum => "post-quantum",
            }),
            post_quantum: facts.ancestry == Some(Ancestry::PostQuantum),
            authenticated_at: facts.authenticated_at,
            fast_open: socket.fast_open,
            syn_bytes: socket.syn_bytes,
            bytes_received: socket.received,
            bytes_sent: socket.sent,
            datagrams_dropped: socket.datagrams_dropped,
            handshake_micros: socket.handshake.map(micros),
            total_micros: micros(socket.total),
            error: socket.error,
        }
    }

    /// Describes how the connection began, in a few words.
    #[must_use]
    pub fn beginning(&self) -> String {
        let how = match self.psk {
            None if self.has_kem() => "full handshake with a KEM",
            None => "full handshake",
            Some("resumption") => "resumed with a ticket",
            Some("forward-secret") => "resumed with a forward-secret ticket",
            Some("imported") => "imported PSK",
            Some("known-key") => "known server key",
            Some(_) => "external PSK",
        };
        let exchange = self.group.as_deref().unwrap_or("no key exchange");
        let retry = if self.hello_retry_request { ", after a HelloRetryRequest" } else { "" };
        format!("{how}, {exchange}{retry}")
    }
}

impl ConnectionFacts {
    /// Whether the server authenticated with a KEM (docs/kem-auth.md).
    fn has_kem(&self) -> bool {
        self.server_signature_scheme.as_ref().is_some_and(|scheme| scheme.starts_with("KEM_"))
    }

    /// Writes what certificate caches did, if anything.
    fn cached_certificates(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let own = (self.own_certificate, self.own_certificate_bytes, self.own_certificate_missed);
        let peer =
            (self.peer_certificate, self.peer_certificate_bytes, self.peer_certificate_missed);
        for (whose, (way, bytes, missed)) in [("own", own), ("peer's", peer)] {
            match (way, bytes, missed) {
                (Some(CACHED), Some(bytes), _) => {
                    write!(f, ", {whose} certificate cached ({bytes} bytes)")?;
                }
                (Some(way), Some(bytes), Some(why)) => {
                    write!(f, ", {whose} certificate {way} ({bytes} bytes: {why})")?;
                }
                _ => (),
            }
        }
        Ok(())
    }
}

/// Formats one line for people.
impl std::fmt::Display for ConnectionFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(source) = self.source {
            write!(f, "{source} -> ")?;
        }
        if let Some(address) = self.address {
            write!(f, "{address}: ")?;
        }
        let Some(suite) = &self.suite else {
            return f
                .write_str(self.error.as_deref().unwrap_or("ended before the handshake began"));
        };
        write!(f, "{}, {suite}", self.beginning())?;
        if self.server_is_implicit {
            f.write_str(", server authenticated implicitly alone")?;
        }
        if self.early_data != "not-offered" {
            write!(f, ", early data {}", self.early_data)?;
        }
        if let Some("taken") = self.fast_open {
            f.write_str(", begun in the SYN")?;
        }
        if let Some(protocol) = &self.protocol {
            write!(f, ", {protocol}")?;
        }
        if let Some(peer) = &self.peer {
            write!(f, ", peer {peer}")?;
        }
        if let Some(identity) = &self.external_psk {
            write!(f, ", PSK {identity}")?;
        }
        self.cached_certificates(f)?;
        if let Some(handshake) = self.handshake_micros {
            write!(f, ", {handshake} us")?;
        }
        if let Some(dropped @ 1..) = self.datagrams_dropped {
            write!(f, ", {dropped} datagrams dropped")?;
        }
        self.error.as_ref().map_or(Ok(()), |error| write!(f, "; {error}"))
    }
}

/// Names how a certificate was sent.
fn way(transfer: CertificateTransfer) -> &'static str {
    match transfer.encoded_with {
        None => "whole",
        Some(_) if is_cached(transfer) => CACHED,
        Some(_) => "compressed",
    }
}

/// Whether it was sent as a hash.
pub(crate) fn is_cached(transfer: CertificateTransfer) -> bool {
    transfer.encoded_with.is_some_and(|algorithm| algorithm.0 >= FIRST_OF_CHAINS)
}

const CACHED: &str = "cached";

/// From here on, algorithm numbers name cached chains (docs/cached-handshakes.md §5); lower ones compress.
const FIRST_OF_CHAINS: u16 = 0xc000;

fn early_data(status: EarlyDataStatus) -> &'static str {
    match status {
        EarlyDataStatus::NotOffered => "not-offered",
        EarlyDataStatus::Offered => "offered",
        EarlyDataStatus::Accepted => "accepted",
        EarlyDataStatus::Rejected(Verdict::Burned) => "rejected-burned",
        EarlyDataStatus::Rejected(Verdict::Used) => "rejected-used",
        EarlyDataStatus::Rejected(_) => "rejected-unknown",
        _ => "unknown",
    }
}

/// Returns text as it is, anything else in hexadecimal: a peer's data must not control a terminal.
fn readable(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => format!("0x{}", hex::encode(bytes)),
    }
}

/// Converts a time to the unit of facts.
#[must_use]
pub fn micros(duration: Duration) -> u64 {
    duration.as_micros().try_into().unwrap_or(u64::MAX)
}
