//! The compared ways to connect.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tessera::auth::PeerVerifier;
use tessera::handshake::{CertificateTransfer, ClientAuthentication};
use tessera::resume::PskKind;
use tessera::wire::CertificateCompressionAlgorithm;
use tessera::{Facts, Role};
use tessera_cache::Carrier;
use tessera_reports::{Continuation, Mode, OneTimeKey, Suite};

use crate::certificates::Certificates;
use crate::ways::Way;

/// How certificates travel when two ends reconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateWay {
    /// Both chains are sent whole, and verified.
    Full,
    /// Both are compressed by zlib (RFC 8879).
    Zlib,
    /// Both are sent whole, and not verified again.
    Known,
    /// The server's is named by its hash (RFC 7924), the client's sent whole; neither is verified again.
    Rfc7924,
    /// Both are named by their hashes, and not verified again, in the forms of RFC 7924 and BiTHaC (the carrier
    /// `paper`).
    Paper,
    /// The same if neither end knows the other yet.
    PaperFirst,
    /// The same if what they know is useless, as in [`CachedMiss`](Self::CachedMiss).
    PaperMiss,
    /// Both are named by their hashes, and not verified again (BiTHaC over RFC 8879).
    Cached,
    /// The same if neither end knows the other yet.
    CachedFirst,
    /// The same if the client knows another chain of the server's, and the server doesn't know the client's ticket: its
    /// chain was renewed, and its cache lost.
    CachedMiss,
    /// The server's chain is sent whole; the client has no certificate.
    ServerOnly,
    /// Public keys instead of certificates, known beforehand (RFC 7250).
    RawKeys,
    /// None: the client knows the server's key, one of a KEM, and has no certificate itself.
    KnownKey,
    /// None: a ticket and a key exchange (psk_dhe_ke).
    PskDhe,
    /// None: forward-secret early data, and a key exchange.
    #[serde(rename = "0rtt-fs")]
    ZeroRttFs,
}

impl CertificateWay {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Full,
        Self::Zlib,
        Self::Known,
        Self::Rfc7924,
        Self::Paper,
        Self::PaperFirst,
        Self::PaperMiss,
        Self::Cached,
        Self::CachedFirst,
        Self::CachedMiss,
        Self::ServerOnly,
        Self::RawKeys,
        Self::KnownKey,
        Self::PskDhe,
        Self::ZeroRttFs,
    ];

    /// Its name in options, tables and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Zlib => "zlib",
            Self::Known => "known",
            Self::Rfc7924 => "rfc7924",
            Self::Paper => "paper",
            Self::PaperFirst => "paper-first",
            Self::PaperMiss => "paper-miss",
            Self::Cached => "cached",
            Self::CachedFirst => "cached-first",
            Self::CachedMiss => "cached-miss",
            Self::ServerOnly => "server-only",
            Self::RawKeys => "raw-keys",
            Self::KnownKey => "known-key",
            Self::PskDhe => "psk-dhe",
            Self::ZeroRttFs => "0rtt-fs",
        }
    }

    /// Whether it begins with the ticket of an earlier connection.
    pub(super) fn resumes(self) -> bool {
        matches!(self, Self::PskDhe | Self::ZeroRttFs)
    }

    /// Returns the messages in which both ends announce the contents of their caches, if they have caches.
    pub(super) fn carrier(self) -> Option<Carrier> {
        match self {
            Self::Cached | Self::CachedFirst | Self::CachedMiss => {
                Some(Carrier::CompressCertificate)
            }
            Self::Rfc7924 | Self::Paper | Self::PaperFirst | Self::PaperMiss => {
                Some(Carrier::PAPER)
            }
            _ => None,
        }
    }

    /// Returns the form of the certificates, for people.
    pub(crate) fn form(self) -> &'static str {
        match self {
            Self::Full | Self::Known | Self::ServerOnly => "Certificate",
            Self::Zlib => "RFC 8879, zlib",
            Self::Rfc7924 => "RFC 7924 (cached_info)",
            Self::Paper | Self::PaperFirst | Self::PaperMiss => "paper (cached_info, BiTHaC)",
            Self::Cached | Self::CachedFirst | Self::CachedMiss => "rfc8879 (ids, tickets)",
            Self::RawKeys => "RFC 7250",
            Self::KnownKey | Self::PskDhe | Self::ZeroRttFs => "none",
        }
    }

    /// Whether both ends have caches of certificates.
    pub(super) fn caches(self) -> bool {
        self.carrier().is_some()
    }

    /// Whether verifiers recognise chains that they accepted before.
    pub(super) fn knows(self) -> bool {
        self == Self::Known || self.caches()
    }

    /// Whether no connection profits from earlier ones, though both ends have caches.
    pub(super) fn is_cold(self) -> bool {
        matches!(self, Self::CachedFirst | Self::CachedMiss | Self::PaperFirst | Self::PaperMiss)
    }

    /// Whether the server got another chain, and lost its cache, after the client's last visit.
    pub(super) fn misses(self) -> bool {
        matches!(self, Self::CachedMiss | Self::PaperMiss)
    }

    /// Whether an observer can distinguish it from a full handshake.
    pub(super) fn shows(self) -> bool {
        self != Self::Known
    }

    /// Whether its computation is another's: with the forms of RFC 7924 and BiTHaC that of the default carrier.
    pub(super) fn is_for_links(self) -> bool {
        self.carrier() == Some(Carrier::PAPER) || self.is_for_times()
    }

    /// Whether its bytes over links are counted, with these certificates.
    pub(super) fn is_over_links(self, certificates: Certificates) -> bool {
        self.shows() && !self.is_for_times() && self.is_for(certificates)
    }

    /// Whether it is there for the moments of a connection alone: all other ways authenticate both ends.
    pub(super) fn is_for_times(self) -> bool {
        self == Self::ServerOnly
    }

    /// Returns how servers authenticate clients.
    pub(super) fn client_authentication(
        self,
        verifier: Arc<dyn PeerVerifier>,
    ) -> ClientAuthentication {
        match self {
            Self::ServerOnly | Self::KnownKey => ClientAuthentication::None,
            _ => ClientAuthentication::Required(verifier),
        }
    }

    /// Whether both ends can connect so with these certificates.
    pub(super) fn is_for(self, certificates: Certificates) -> bool {
        self != Self::KnownKey || certificates.kem().is_some()
    }

    /// Returns the suite of both ends: the paper's TLS 1.2 suite, as far as TLS 1.3 has it. A known key has a PSK's hash,
    /// SHA-256.
    pub(super) fn suite(self) -> Suite {
        if self == Self::KnownKey { Suite::Aes128GcmSha256 } else { Suite::Aes256GcmSha384 }
    }

    /// Returns how its connections agree keys.
    pub(super) fn way(self, certificates: Certificates) -> Way {
        let kx = certificates.agreement();
        let (mode, ticket_key, continuation) = match self {
            Self::PskDhe => (Mode::PskDhe, None, None),
            Self::ZeroRttFs => {
                (Mode::ZeroRttFs, Some(OneTimeKey::from(kx)), Some(Continuation::PskDheKe))
            }
            _ => (Mode::Full, None, None),
        };
        Way { mode, kx: Some(kx), ticket_key, continuation, fast_open: false }
    }

    /// Checks that the certificate of an end travelled as this way requires.
    ///
    /// # Errors
    /// How it travelled.
    pub(super) fn check(
        self,
        of: Role,
        transfer: Option<&CertificateTransfer>,
    ) -> Result<(), String> {
        let travelled = transfer.map(|transfer| match transfer.encoded_with {
            Some(CertificateCompressionAlgorithm::ZLIB) => TransferForm::Compressed,
            Some(id) if id.0 >= LEAST_CACHED_ID => TransferForm::AsId,
            Some(_) => TransferForm::Otherwise,
            None if transfer.len == ABBREVIATED => TransferForm::AsHash,
            None => TransferForm::Whole,
        });
        let expected = match (self, of) {
            (Self::Zlib, _) => Some(TransferForm::Compressed),
            (Self::Cached, _) => Some(TransferForm::AsId),
            (Self::Paper, _) | (Self::Rfc7924, Role::Server) => Some(TransferForm::AsHash),
            (Self::KnownKey | Self::PskDhe | Self::ZeroRttFs, _)
            | (Self::ServerOnly, Role::Client) => None,
            _ => Some(TransferForm::Whole),
        };
        if travelled == expected {
            return Ok(());
        }
        let of = match of {
            Role::Client => "client",
            Role::Server => "server",
        };
        Err(format!("the {of}'s certificate of {self} travelled otherwise: {transfer:?}"))
    }
}

/// Checks that both certificates travelled as the way requires, according to both ends.
///
/// # Errors
/// Checks how one of them travelled.
pub(super) fn check_certificates(
    way: CertificateWay,
    client: &Facts,
    server: &Facts,
) -> Result<(), String> {
    let knows_key = client.psk == Some(PskKind::KnownKey);
    if knows_key != (way == CertificateWay::KnownKey) {
        return Err(format!("a connection of {way} began with {:?}", client.psk));
    }
    way.check(Role::Client, client.own_certificate.as_ref())?;
    way.check(Role::Server, client.peer_certificate.as_ref())?;
    way.check(Role::Server, server.own_certificate.as_ref())?;
    way.check(Role::Client, server.peer_certificate.as_ref())
}

/// How a certificate travelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TransferForm {
    Whole,
    Compressed,
    /// Named by a private algorithm.
    AsId,
    /// Abbreviated to its hash.
    AsHash,
    Otherwise,
}

/// How long an abbreviated Certificate is: header, length and hash.
const ABBREVIATED: u32 = 4 + 1 + 32;

/// From here on, algorithm numbers are for private use, and stand for chains.
const LEAST_CACHED_ID: u16 = 0xc000;

impl fmt::Display for CertificateWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for CertificateWay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| format!("ways are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_one_name() {
        for way in CertificateWay::ALL {
            let name = way.name();
            assert_eq!(name.parse(), Ok(way));
            assert_eq!(serde_json::to_value(way).unwrap(), name);
        }
        assert!("half".parse::<CertificateWay>().unwrap_err().contains("full, zlib"));
    }
}
