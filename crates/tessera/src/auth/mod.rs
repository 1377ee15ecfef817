//! How a side is authenticated: its credential, and the seam to the verifier of the peer.

// Without the feature no codec has any.
#[cfg_attr(not(feature = "abbreviations"), expect(dead_code))]
mod abbreviations;
mod after_handshake;
mod certificate_codec;
mod certificate_compression;
mod certificate_entries;
mod certificate_form;
mod certificate_type;
mod chain_hash;
mod chain_memory;
mod codec_peer;
mod codec_results;
mod connection_abbreviations;
mod connection_after;
mod connection_codecs;
mod credential;
mod criteria;
mod handshake_end;
mod key_id;
mod no_certificates;
mod policy;
mod proof;
mod verifier;

pub use crate::limits::joined;
pub use crate::role::Role;
#[cfg(feature = "abbreviations")]
pub use abbreviations::{AbbreviatedMessages, Abbreviations, ServerFlight};
pub use after_handshake::{AfterHandshake, CodecOutcome, NextTicket};
pub use certificate_codec::{CertificateCodec, CertificateCodecFactory};
pub use certificate_compression::CertificateCompression;
pub use certificate_entries::{CertificateEntries, CertificateEntry, certificate_entries};
pub(crate) use certificate_form::{AcceptedCertificates, check_certificates, read_certificate};
pub(crate) use certificate_type::{AgreedTypes, NO_COMMON_TYPE};
pub use chain_hash::{chain_hash, raw_public_key_hash};
pub use chain_memory::{AskedChain, ChainMemory, PinnedChain};
pub use codec_peer::{
    CertificateContents, ClientInfo, PeerCertificate, PeerExtensions, PeerInfo, ServerInfo,
};
pub use codec_results::{
    CertificateNotDecoded, CodecRefusal, DecodedCertificate, EncodedCertificate,
};
pub(crate) use connection_after::RemainingCodecs;
pub(crate) use connection_codecs::ConnectionCodecs;
pub use credential::{Credential, Decapsulate, PrivateKey, Sign};
pub(crate) use credential::{choose_credential, types_of};
pub use handshake_end::HandshakeEnd;
pub(crate) use key_id::KeyId;
pub use no_certificates::NoCertificates;
pub use policy::{VerifierDigest, VerifierPolicy};
pub use proof::{PeerPublicKey, Proof};
pub use verifier::{
    AskedKey, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifyPeer,
};
