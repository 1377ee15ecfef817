//! What is known of a connection.

use alloc::string::String;
use alloc::vec::Vec;

use super::lineage::Lineage;
use crate::auth::PeerIdentity;
use crate::resume::{Ancestry, Continuation, FlightHandle, PskKind, SettledFlights, Verdict};
use crate::wire::{
    CertificateCompressionAlgorithm, CipherSuite, NamedGroup, OpaqueExtension, SignatureScheme,
};

/// The facts of a connection, as far as its handshake has come.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Facts {
    /// The suite.
    pub suite: Option<CipherSuite>,
    /// The group or KEM of the key exchange; `None` in psk_ke.
    pub group: Option<NamedGroup>,
    /// The kind of the PSK; `None` after a full handshake.
    pub psk: Option<PskKind>,
    /// The identity of the PSK on the wire, where an external or imported one was used: who the peer
    /// is.
    pub external_psk: Option<Vec<u8>>,
    /// The kind of the one-time key, where a forward-secret PSK was used.
    pub one_time_key: Option<NamedGroup>,
    /// How a handshake with a forward-secret PSK went on.
    pub continuation: Option<Continuation>,
    /// The application protocol.
    pub protocol: Option<Vec<u8>>,
    /// The server_name.
    pub server_name: Option<String>,
    /// The peer, from this handshake or the one that began the chain of resumptions.
    pub peer: Option<PeerIdentity>,
    /// When the last full handshake of the chain was, in seconds since the Unix epoch.
    pub authenticated_at: Option<u64>,
    /// The scheme with which the server signed, in a full handshake.
    pub signature_scheme: Option<SignatureScheme>,
    /// How this side's Certificate travelled, if it sent one.
    pub own_certificate: Option<CertificateTransfer>,
    /// How the peer's Certificate travelled, if it sent one.
    pub peer_certificate: Option<CertificateTransfer>,
    /// Whether a HelloRetryRequest was needed.
    pub hello_retry: bool,
    /// The weakest key exchange of the chain, this connection's included.
    pub ancestry: Option<Ancestry>,
    /// What became of the early data.
    pub early_data: EarlyDataStatus,
    /// To the server: it did not take the early data because the key was lost with an earlier life of its vault.
    /// Whether it may have been executed then, the client alone can tell.
    pub early_data_key_lost: bool,
    /// To the client: how many bytes of early data it has written. More was not sent; this much may have
    /// been, also where the connection has failed since.
    pub early_data_written: usize,
    /// The name of this connection's forward-secret flight: to the client, from its beginning and after
    /// any error, of the one that it sent; to the server of the one that it accepted.
    pub flight: Option<FlightHandle>,
    /// To the client: what became of the flights that it asked about.
    pub receipts: SettledFlights,
    /// The peer's extensions of the types that this side's owner registered: authenticated when the
    /// handshake is complete, and not before.
    pub peer_extensions: Vec<OpaqueExtension>,
    /// Whether the handshake is complete.
    pub handshake_complete: bool,
}

/// How a Certificate travelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateTransfer {
    /// The algorithm that it was encoded with; `None` if it was whole, or abbreviated, which its length
    /// tells.
    pub encoded_with: Option<CertificateCompressionAlgorithm>,
    /// How long the message was, its header included, in bytes.
    pub len: u32,
    /// When the handshake is complete: why it was not encoded as a certificate codec would have encoded it, in the
    /// codec's word; `None` if it was, or no codec says so. See
    /// [`CertificateCodec::own_missed`](crate::auth::CertificateCodec::own_missed).
    pub missed: Option<&'static str>,
}

impl CertificateTransfer {
    /// A message of this length; handshake messages have less than 2^24 bytes.
    pub(crate) fn new(encoded_with: Option<CertificateCompressionAlgorithm>, len: usize) -> Self {
        Self { encoded_with, len: len as u32, missed: None }
    }
}

/// What became of a connection's early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EarlyDataStatus {
    /// None was offered.
    #[default]
    NotOffered,
    /// The client sends it; the server has not answered. It may have been accepted: if the connection
    /// ends now, nobody knows.
    Offered,
    /// The server took it.
    Accepted,
    /// The server did not take it.
    Rejected(Verdict),
}

impl EarlyDataStatus {
    /// What the client may conclude of early data that it can't call accepted: no answer is
    /// [`Verdict::Unknown`]. `None` if it was accepted, or none was offered.
    #[must_use]
    pub fn verdict(self) -> Option<Verdict> {
        match self {
            Self::NotOffered | Self::Accepted => None,
            Self::Offered => Some(Verdict::Unknown),
            Self::Rejected(verdict) => Some(verdict),
        }
    }
}

impl Facts {
    /// What came down to this connection, as the user learns it.
    pub(crate) fn note_lineage(&mut self, lineage: &Lineage) {
        self.peer = lineage.peer.clone();
        self.external_psk = lineage.external_psk.clone();
        self.authenticated_at = lineage.authenticated_at;
        self.ancestry = lineage.ancestry;
        self.protocol = lineage.protocol.clone();
        self.server_name = lineage.server_name.clone();
    }

    /// Why no codec encoded this side's Certificate and the peer's, where they were sent.
    pub(crate) fn note_missed(&mut self, [own, peer]: [Option<&'static str>; 2]) {
        for (transfer, missed) in
            [(&mut self.own_certificate, own), (&mut self.peer_certificate, peer)]
        {
            if let Some(transfer) = transfer {
                transfer.missed = missed;
            }
        }
    }
}
