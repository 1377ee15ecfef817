//! The results that certificate codecs return.

use alloc::vec::Vec;

use super::codec_peer::CertificateContents;
use crate::error::{Error, decode_error, illegal_parameter, protocol};
use crate::wire::{AlertDescription, CertificateCompressionAlgorithm};

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

/// The Certificate that an encoded one stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodedCertificate {
    /// Its body, or its hash if the verifier keeps what it needs of the chain: the verifier is then asked with an
    /// empty chain and this hash ([`VerifyPeer::known`](super::VerifyPeer::known)), and one that doesn't know it
    /// refuses the peer. Codec and verifier agree on the hash: in this project it is
    /// [`chain_hash`](super::chain_hash).
    pub contents: CertificateContents,
    /// With a hash, the extensions of the Certificate's entries, in order, each list with its two-byte length;
    /// empty if no entry has any. The codec knows and checks how many entries there are. The engine reads them as
    /// if the Certificate had arrived whole.
    pub entry_extensions: Vec<u8>,
    /// Whether the peer sent this. Default: `true`.
    ///
    /// A codec that continues with the expected chain although the peer named another sets it to `false`, and the
    /// body may then have any length. The handshake goes on up to the peer's proof and ends with decrypt_error, as
    /// if the proof were wrong and whatever the verdict is: a peer that can't prove anything learns nothing.
    pub is_what_was_sent: bool,
    /// Whether a refusal by the verifier ends the handshake with decrypt_error in place of its own alert. Default:
    /// `false`.
    ///
    /// Necessary where the alert would reveal whose chain it is to an attacker who copied a chain's name from the
    /// wire. The local error keeps the reason.
    pub conceals_verdict: bool,
}

impl DecodedCertificate {
    /// Creates a Certificate that the peer sent, without entry extensions apart from those in a body.
    pub fn new(contents: CertificateContents) -> Self {
        let entry_extensions = Vec::new();
        Self { contents, entry_extensions, is_what_was_sent: true, conceals_verdict: false }
    }
}

/// Why a peer's Certificate wasn't decoded: the handshake ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateNotDecoded {
    /// It can't be decoded, or is longer than announced: bad_certificate.
    Malformed,
    /// There is no memory for a block of so many bytes: internal_error.
    OutOfMemory(usize),
}

impl From<CertificateNotDecoded> for Error {
    fn from(not_decoded: CertificateNotDecoded) -> Self {
        match not_decoded {
            CertificateNotDecoded::Malformed => protocol(
                AlertDescription::BAD_CERTIFICATE,
                "a compressed Certificate can't be decompressed",
            ),
            CertificateNotDecoded::OutOfMemory(len) => Self::OutOfMemory(len),
        }
    }
}

impl core::fmt::Display for CertificateNotDecoded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Malformed => f.write_str("the peer's encoded certificate can't be decoded"),
            Self::OutOfMemory(len) => Error::OutOfMemory(*len).fmt(f),
        }
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
