//! Certificate messages that codecs make shorter (RFC 7924).

use alloc::vec::Vec;

use super::codec_results::{CodecRefusal, DecodedCertificate};
use crate::wire::{CertificateType, ExtensionType};

/// The abbreviated messages of one connection: Certificate and CertificateRequest with another body and
/// the same type, where both ends have agreed on that in their hellos (RFC 7924). A codec that has them
/// gives them as [`CertificateCodec::abbreviations`](super::CertificateCodec::abbreviations).
///
/// The transcript covers each message as it is sent. Post-handshake authentication has none of them.
pub trait Abbreviations: Send + Sync {
    /// To a client: an extension for the ClientHello, with its body, beside that of the codec itself and by
    /// the same rules.
    fn extension(&self) -> Option<(ExtensionType, &[u8])>;

    /// To a client: the body of the server's answer to [`extension`](Self::extension), or `None` if there is
    /// none. Called once, after the codec's own, also where a PSK is used. A refusal ends the handshake.
    fn answered(&mut self, answer: Option<&[u8]>) -> Result<(), CodecRefusal>;

    /// To a server, which uses no PSK: what it is going to send. Gives the body that its CertificateRequest
    /// is sent with instead; `None`: its own. Called once, before [`answer`](Self::answer) and the codec's.
    fn sends(&mut self, flight: &ServerFlight<'_>) -> Option<Vec<u8>>;

    /// To a server: an extension for EncryptedExtensions, with its body, beside that of the codec itself and
    /// by the same rules.
    fn answer(&self) -> Option<(ExtensionType, &[u8])>;

    /// What both ends agreed on, once EncryptedExtensions was sent or read. A client ends the handshake
    /// with illegal_parameter if that is anything, and a PSK is used.
    fn agreed(&self) -> Agreed;

    /// The body that this side's Certificate is sent with, in place of this one; `None`: this one.
    fn certificate(&mut self, body: &[u8]) -> Option<Vec<u8>>;

    /// To a client: the body of the server's CertificateRequest, as it came. Gives the body that it stands
    /// for; `None`: this one. A refusal ends the handshake.
    fn read_request(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>, CodecRefusal>;

    /// The Certificate that the peer's stands for, from its body as it came. Called only if that was
    /// [agreed on](Self::agreed); the peer may then send it in no other form. A refusal ends the handshake;
    /// what must not be told before the proof, waits for
    /// [`is_what_was_sent`](super::CertificateCodec::is_what_was_sent).
    fn read_certificate(&mut self, body: &[u8]) -> Result<DecodedCertificate, CodecRefusal>;
}

/// Which messages are abbreviated in a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Agreed {
    /// The server's CertificateRequest.
    pub request: bool,
    /// This side's Certificate.
    pub own_certificate: bool,
    /// The peer's Certificate.
    pub peer_certificate: bool,
}

/// What a server is going to send after EncryptedExtensions.
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
