//! Why an earlier identity is no longer accepted.

use std::fmt;

/// Why an earlier identity is no longer accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdentityRefusal {
    /// It can't be decoded.
    Unreadable,
    /// The other end began the connection.
    OtherDirection,
    /// The connection was for another listener.
    OtherListener,
    /// The peer is no longer configured.
    UnknownPeer,
    /// The peer now has another trust anchor.
    OtherAnchor,
    /// The peer's settings have changed: its anchor's roots or revocation lists, its networks, its pins, how it may
    /// reconnect; or this SEPP has another certificate.
    OtherEpoch,
    /// The certificate has expired.
    Expired,
    /// No association is established.
    NoAssociation,
    /// The association was renegotiated.
    OtherAssociation,
    /// The certificate names networks that the one of N32-c doesn't.
    BeyondN32c,
    /// The peer may not reconnect in this way.
    NotAllowed,
    /// The ticket is too old for this peer.
    TooOld,
}

impl IdentityRefusal {
    /// Returns a word for logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::OtherDirection => "other-direction",
            Self::OtherListener => "other-listener",
            Self::UnknownPeer => "unknown-peer",
            Self::OtherAnchor => "other-anchor",
            Self::OtherEpoch => "other-epoch",
            Self::Expired => "expired",
            Self::NoAssociation => "no-association",
            Self::OtherAssociation => "other-association",
            Self::BeyondN32c => "beyond-n32c",
            Self::NotAllowed => "not-allowed",
            Self::TooOld => "too-old",
        }
    }
}

impl fmt::Display for IdentityRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
