//! Why a certificate was not cached.

/// Why a certificate was sent whole, or compressed, and not as a hash, as far as this end can tell.
///
/// [`Metrics`](crate::Metrics) count the reasons for peers' certificates. Facts of a connection have the
/// [name](Self::name) of one, for either end's:
/// [`CertificateTransfer::missed`](tessera::handshake::CertificateTransfer::missed).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missed {
    /// Who was to receive it has offered nothing: nothing is known of the peer, or not any more, or the connection
    /// before failed after a hash had come.
    NothingCached,
    /// The peer doesn't take part, or not in this form.
    TakesNoPart,
    /// Chains were offered, and the one that is sent is none of them.
    AnotherChain,
    /// What is known of the peer has expired.
    Expired,
    /// Two chains that are known have the same id in this connection.
    SameId,
    /// What is known of the peer was accepted under another policy of the verifier than that of now.
    Policy,
    /// A hash is known, and the verifier that was to remember the chain doesn't any more.
    Forgotten,
    /// The server knows none of the client's tickets. It may have refused one, too: a client can't tell.
    UnknownTicket,
    /// The server is known, and no ticket is left for it.
    NoTicket,
}

impl Missed {
    /// Its name in facts, such as `another-chain`.
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
