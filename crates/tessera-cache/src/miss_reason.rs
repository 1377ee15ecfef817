//! Why a certificate was not cached.

/// Why a certificate was sent in full, or compressed, instead of as a hash, as far as this end can tell.
///
/// [`Metrics`](crate::Metrics) count the reasons for peers' certificates. The facts of a connection have the
/// [name](Self::name) of one, for either end's:
/// [`CertificateTransfer::missed`](tessera::handshake::CertificateTransfer::missed).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissReason {
    /// The receiving end offered nothing: nothing is known of the peer, or no longer, or the connection
    /// before failed after a hash was sent.
    NothingCached,
    /// The peer doesn't take part, or not in this form.
    TakesNoPart,
    /// Chains were offered, but not the one that was sent.
    AnotherChain,
    /// What is known of the peer has expired.
    Expired,
    /// Two known chains have the same id in this connection.
    SameId,
    /// What is known of the peer was accepted under another policy of the verifier than the current one.
    Policy,
    /// A hash is known, but the verifier no longer remembers the chain.
    Forgotten,
    /// The server knows none of the client's tickets. It may also have refused one: a client can't tell.
    UnknownTicket,
    /// The server is known, but no ticket is left for it.
    NoTicket,
}

impl MissReason {
    /// Returns its name in facts, such as `another-chain`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NothingCached => "nothing-cached",
            Self::TakesNoPart => "takes-no-part",
            Self::AnotherChain => "another-chain",
            Self::Expired => "expired",
            Self::SameId => "same-id",
            Self::Policy => "policy",
            Self::Forgotten => "forgotten",
            Self::UnknownTicket => "unknown-ticket",
            Self::NoTicket => "no-ticket",
        }
    }
}
