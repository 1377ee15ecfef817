//! Certificate messages that codecs make shorter (RFC 7924).

use alloc::vec::Vec;

use super::codec_results::{CodecRefusal, DecodedCertificate};
use crate::wire::CertificateType;

/// The abbreviated messages of one connection: Certificate and CertificateRequest with another body and
/// the same type, where both ends have agreed on that in their hellos (RFC 7924). A codec with such messages
/// returns them from [`CertificateCodec::abbreviations`](super::CertificateCodec::abbreviations).
///
/// The transcript covers each message as it is sent. Post-handshake authentication uses none of them.
pub trait Abbreviations: Send + Sync {
    /// Returns, on a server that uses no PSK, the body to send as its CertificateRequest, or `None` for the original.
    /// Called once, with what the server is about to send, before the codec's
    /// [`extensions`](super::CertificateCodec::extensions) of EncryptedExtensions.
    fn sends(&mut self, flight: &ServerFlight<'_>) -> Option<Vec<u8>>;

    /// Returns what both ends agreed on, once EncryptedExtensions was sent or read. A client that uses a PSK ends
    /// the handshake with illegal_parameter if anything was agreed on.
    fn agreed(&self) -> AbbreviatedMessages;

    /// Returns the body to send as this side's Certificate in place of `body`, or `None` for `body`.
    fn certificate(&mut self, body: &[u8]) -> Option<Vec<u8>>;

    /// Returns, on a client, the body that the server's CertificateRequest stands for, or `None` for `body` itself.
    /// A refusal ends the handshake.
    fn read_request(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>, CodecRefusal>;

    /// Decodes the body of the peer's Certificate. Called only if that was [agreed on](Self::agreed); the peer may
    /// then send it in no other form. A refusal ends the handshake; one that the peer must not learn before its
    /// proof waits for [`is_what_was_sent`](DecodedCertificate::is_what_was_sent).
    fn read_certificate(&mut self, body: &[u8]) -> Result<DecodedCertificate, CodecRefusal>;
}

/// Which messages are abbreviated in a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AbbreviatedMessages {
    /// The server's CertificateRequest.
    pub request: bool,
    /// This side's Certificate.
    pub own_certificate: bool,
    /// The peer's Certificate.
    pub peer_certificate: bool,
}

/// What a server is about to send after EncryptedExtensions.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ServerFlight<'a> {
    /// The whole CertificateRequest message, its header included, if the client is asked.
    pub request: Option<&'a [u8]>,
    /// The type of the certificate that the client is asked for.
    pub client_type: Option<CertificateType>,
    /// The body of the server's Certificate.
    pub certificate: &'a [u8],
}
