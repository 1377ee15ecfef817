//! The results that certificate codecs return.

use alloc::vec::Vec;

use crate::error::{Error, decode_error, illegal_parameter};
use crate::wire::CertificateCompressionAlgorithm;

/// The body of a Certificate, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedCertificate {
    /// How it is encoded.
    pub algorithm: CertificateCompressionAlgorithm,
    /// The contents of CompressedCertificate.
    pub encoded: Vec<u8>,
}

impl EncodedCertificate {
    /// Creates the contents of a CompressedCertificate.
    pub fn new(algorithm: CertificateCompressionAlgorithm, encoded: Vec<u8>) -> Self {
        Self { algorithm, encoded }
    }
}

/// A Certificate, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeOutcome {
    /// Its body; the value is its length in the buffer.
    Body(usize),
    /// Another body than the peer encoded, of any length: the expected one. The codec reports later that
    /// it [is not what was sent](super::CertificateCodec::is_what_was_sent), so the handshake continues with
    /// it up to the peer's proof, and no further.
    Expected(Vec<u8>),
    /// A chain of which the verifier keeps what it needs: it is asked with an empty chain and this hash
    /// ([`VerifyPeer::known`](super::VerifyPeer::known)). A verifier that doesn't know it refuses the peer.
    Known {
        /// The chain's name, as codec and verifier have agreed: in this project its
        /// [`chain_hash`](super::chain_hash).
        hash: [u8; 32],
        /// The extensions of the Certificate's entries, in order, each list with its two-byte length;
        /// empty if no entry has any. The codec knows and checks how many entries there are. The
        /// engine reads them as if the Certificate had arrived whole.
        entry_extensions: Vec<u8>,
    },
}

/// The Certificate that an encoded one stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodedCertificate {
    /// Its body.
    Body(Vec<u8>),
    /// A chain that the verifier knows: [`DecodeOutcome::Known`].
    Known {
        /// The chain's name.
        hash: [u8; 32],
        /// The extensions of the Certificate's entries.
        entry_extensions: Vec<u8>,
    },
}

/// A peer's Certificate can't be decoded, or is longer than announced: the handshake ends
/// with bad_certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateNotDecoded;

impl core::fmt::Display for CertificateNotDecoded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the peer's encoded certificate can't be decoded")
    }
}

impl core::error::Error for CertificateNotDecoded {}

/// The peer's extension for a codec is wrong, for this reason: the handshake ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecRefusal {
    /// It can't be read: decode_error.
    Malformed(&'static str),
    /// It can be read, and holds a forbidden value: illegal_parameter.
    Illegal(&'static str),
}

impl From<CodecRefusal> for Error {
    fn from(refusal: CodecRefusal) -> Self {
        match refusal {
            CodecRefusal::Malformed(reason) => decode_error(reason),
            CodecRefusal::Illegal(reason) => illegal_parameter(reason),
        }
    }
}

impl core::fmt::Display for CodecRefusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (Self::Malformed(reason) | Self::Illegal(reason)) = self;
        f.write_str(reason)
    }
}

impl core::error::Error for CodecRefusal {}
