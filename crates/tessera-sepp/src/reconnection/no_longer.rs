//! Why nothing of earlier counts.

use std::fmt;

/// Why an identity of earlier doesn't count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoLonger {
    /// It can't be read.
    Unreadable,
    /// The other end began the connection.
    OtherDirection,
    /// The connection was for another listener.
    OtherListener,
    /// The configuration has no such peer any more.
    UnknownPeer,
    /// Another trust anchor vouches for the peer now.
    OtherAnchor,
    /// What the configuration says of the peer has changed: its anchor's roots or revocation lists, its networks, its
    /// pins, how it may come back; or this SEPP has another certificate.
    OtherEpoch,
    /// The certificate has ended.
    Expired,
    /// No association is established.
    NoAssociation,
    /// The association was agreed anew.
    OtherAssociation,
    /// The certificate names networks that the one of N32-c does not.
    BeyondN32c,
    /// The peer may not come back like this.
    NotAllowed,
    /// The ticket is too old for this peer.
    TooOld,
}

impl NoLonger {
    /// A word for logs and metrics.
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

impl fmt::Display for NoLonger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
