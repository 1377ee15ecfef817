//! The ways to connect that are compared.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tessera::handshake::CertificateTransfer;
use tessera::wire::CertificateCompressionAlgorithm;

use super::certificates::Certificates;
use crate::ways::{Continuation, Mode, OneTimeKind, Way};

/// What becomes of the certificates when two ends meet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateWay {
    /// Both chains are sent whole, and checked.
    Full,
    /// Both are compressed by zlib (RFC 8879).
    Zlib,
    /// Both are sent whole, and not checked again.
    Known,
    /// Both are named by their hashes, and not checked again (BiTHaC over RFC 8879).
    Cached,
    /// The same where neither end knows anything of the other yet.
    CachedFirst,
    /// The same where the client knows another chain of the server's, and the server doesn't know the client's
    /// ticket: it was renewed, and lost its cache.
    CachedMiss,
    /// Public keys instead of certificates, known beforehand (RFC 7250).
    RawKeys,
    /// None: a ticket and a key exchange (psk_dhe_ke).
    PskDhe,
    /// None: forward-secret early data, and a key exchange.
    #[serde(rename = "0rtt-fs")]
    ZeroRttFs,
}

impl CertificateWay {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Full,
        Self::Zlib,
        Self::Known,
        Self::Cached,
        Self::CachedFirst,
        Self::CachedMiss,
        Self::RawKeys,
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
            Self::Cached => "cached",
            Self::CachedFirst => "cached-first",
            Self::CachedMiss => "cached-miss",
            Self::RawKeys => "raw-keys",
            Self::PskDhe => "psk-dhe",
            Self::ZeroRttFs => "0rtt-fs",
        }
    }

    /// Whether it begins with the ticket of an earlier connection.
    pub(super) fn resumes(self) -> bool {
        matches!(self, Self::PskDhe | Self::ZeroRttFs)
    }

    /// Whether both ends have caches of certificates.
    pub(super) fn caches(self) -> bool {
        matches!(self, Self::Cached | Self::CachedFirst | Self::CachedMiss)
    }

    /// Whether verifiers know the chains again that they accepted.
    pub(super) fn knows(self) -> bool {
        self == Self::Known || self.caches()
    }

    /// Whether no connection profits from those before it, though both ends have caches.
    pub(super) fn is_cold(self) -> bool {
        matches!(self, Self::CachedFirst | Self::CachedMiss)
    }

    /// Whether an observer sees another connection than a full handshake.
    pub(super) fn shows(self) -> bool {
        self != Self::Known
    }

    /// How its connections agree keys.
    pub(super) fn way(self, certificates: Certificates) -> Way {
        let kx = certificates.agreement();
        let (mode, ticket_key, continuation) = match self {
            Self::PskDhe => (Mode::PskDhe, None, None),
            Self::ZeroRttFs => {
                (Mode::ZeroRttFs, Some(OneTimeKind::KeyPair(kx)), Some(Continuation::PskDheKe))
            }
            _ => (Mode::Full, None, None),
        };
        Way { mode, kx: Some(kx), ticket_key, continuation, fast_open: false }
    }

    /// Whether a certificate travels as this way has it.
    ///
    /// # Errors
    /// How it travelled.
    pub(super) fn check(self, transfer: Option<&CertificateTransfer>) -> Result<(), String> {
        let encoded = transfer.map(|transfer| transfer.encoded_with);
        let is_right = match self {
            Self::Zlib => encoded == Some(Some(CertificateCompressionAlgorithm::ZLIB)),
            Self::Cached => {
                let id = encoded.flatten();
                id.is_some_and(|id| id.0 >= LEAST_CACHED_ID)
            }
            Self::PskDhe | Self::ZeroRttFs => encoded.is_none(),
            _ => encoded == Some(None),
        };
        if is_right {
            return Ok(());
        }
        Err(format!("a certificate of {self} travelled otherwise: {transfer:?}"))
    }
}

/// From here on numbers of algorithms are for private use, and stand for chains.
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
