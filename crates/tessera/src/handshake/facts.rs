//! What is known of a connection.

use alloc::string::String;
use alloc::vec::Vec;

use super::lineage::Lineage;
use crate::auth::PeerIdentity;
use crate::resume::{Ancestry, Continuation, FlightHandle, PskKind, SettledFlights, Verdict};
use crate::wire::{
    CertificateCompressionAlgorithm, CipherSuite, NamedGroup, OpaqueExtension, SignatureScheme,
};

/// The facts of a connection, as far as the handshake has progressed.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Facts {
    /// The suite.
    pub suite: Option<CipherSuite>,
    /// The group or KEM of the key exchange; `None` in psk_ke.
    pub group: Option<NamedGroup>,
    /// The kind of the PSK; `None` after a full handshake.
    pub psk: Option<PskKind>,
    /// The PSK identity on the wire, if an external or imported PSK was used: it identifies the
    /// peer.
    pub external_psk: Option<Vec<u8>>,
    /// The kind of the one-time key, if a forward-secret PSK was used.
    pub one_time_key: Option<NamedGroup>,
    /// How a handshake with a forward-secret PSK continued.
    pub continuation: Option<Continuation>,
    /// The application protocol.
    pub protocol: Option<Vec<u8>>,
    /// The server_name.
    pub server_name: Option<String>,
    /// The peer, from this handshake or the one that began the chain of resumptions.
    pub peer: Option<PeerIdentity>,
    /// When the last full handshake of the chain was, in seconds since the Unix epoch.
    pub authenticated_at: Option<u64>,
    /// On a client: its server, which authenticates with a KEM, is authenticated implicitly. Only the holder of the accepted
    /// certificate's key can read what is sent; that it is there is known with its Finished (docs/kem-auth.md §7).
    pub server_is_implicit: bool,
    /// The scheme with which the server signed, or its KEM, in a full handshake.
    pub signature_scheme: Option<SignatureScheme>,
    /// How this side's Certificate travelled, if it sent one.
    pub own_certificate: Option<CertificateTransfer>,
    /// How the peer's Certificate travelled, if it sent one.
    pub peer_certificate: Option<CertificateTransfer>,
    /// Whether a HelloRetryRequest was needed.
    pub hello_retry: bool,
    /// The weakest key exchange of the chain, including this connection's.
    pub ancestry: Option<Ancestry>,
    /// The state of the early data.
    pub early_data: EarlyDataStatus,
    /// On a server: it rejected the early data because the key was lost when its vault restarted.
    /// Only the client can determine whether it may have been executed before.
    pub early_data_key_lost: bool,
    /// On a client: how many bytes of early data it has written. At most this much was sent,
    /// even if the connection has failed since.
    pub early_data_written: usize,
    /// On a client over datagrams, once its early data is accepted: how many records of it the server has taken, the
    /// first ones; none of the others was or will be executed. `None` if the server doesn't report it: then each may have
    /// been.
    pub early_records_taken: Option<u32>,
    /// The name of this connection's forward-secret flight. On a client: of the one that it sent, from the start and
    /// after any error. On a server: of the one that it accepted.
    pub flight: Option<FlightHandle>,
    /// On a client: the fate of the flights that it asked about.
    pub receipts: SettledFlights,
    /// The peer's extensions of the types that this side's owner registered: authenticated only once the
    /// handshake is complete.
    pub peer_extensions: Vec<OpaqueExtension>,
    /// Whether the handshake is complete.
    pub handshake_complete: bool,
}

/// How a Certificate travelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateTransfer {
    /// The algorithm that it was encoded with; `None` if it was whole or abbreviated, which its length
    /// distinguishes.
    pub encoded_with: Option<CertificateCompressionAlgorithm>,
    /// How long the message was, its header included, in bytes.
    pub len: u32,
    /// After the handshake: why it was not encoded as a certificate codec would have encoded it, in the
    /// codec's word; `None` if it was, or no codec reported a reason. See
    /// [`CodecOutcome::own_missed`](crate::auth::CodecOutcome::own_missed).
    pub missed: Option<&'static str>,
}

impl CertificateTransfer {
    /// Describes a message of this length; handshake messages have less than 2^24 bytes.
    pub(crate) fn new(encoded_with: Option<CertificateCompressionAlgorithm>, len: usize) -> Self {
        Self { encoded_with, len: len as u32, missed: None }
    }
}

/// The state of a connection's early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EarlyDataStatus {
    /// None was offered.
    #[default]
    NotOffered,
    /// The client sends it; the server has not answered. If the connection ends now, the client can't know
    /// whether it was accepted.
    Offered,
    /// The server accepted it.
    Accepted,
    /// The server rejected it.
    Rejected(Verdict),
}

impl EarlyDataStatus {
    /// Returns what the client may conclude about early data that wasn't accepted: no answer is
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
    /// Notes what this connection inherited, for the user.
    pub(crate) fn note_lineage(&mut self, lineage: &Lineage) {
        self.peer = lineage.peer.clone();
        self.external_psk = lineage.external_psk.clone();
        self.authenticated_at = lineage.authenticated_at;
        self.ancestry = lineage.ancestry;
        self.protocol = lineage.protocol.clone();
        self.server_name = lineage.server_name.clone();
    }

    /// Notes why no codec encoded this side's Certificate and the peer's, if they were sent.
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
