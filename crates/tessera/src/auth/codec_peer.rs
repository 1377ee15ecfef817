//! What a certificate codec sees of its peer.

use alloc::vec::Vec;

use crate::time::Time;
use crate::wire::{
    CertificateCompressionAlgorithm, CertificateType, ClientHello, CodePoints, ExtensionType,
    Extensions, Reader,
};

/// What a client knows of a server that it is about to connect to.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ToServer<'a> {
    /// The name that the server's certificate must be valid for.
    pub server_name: &'a str,
    /// The application protocols that are offered.
    pub protocols: &'a [Vec<u8>],
    /// Now.
    pub now: Time,
}

impl<'a> ToServer<'a> {
    /// A server of this name, to which no application protocol is offered.
    pub fn new(server_name: &'a str, now: Time) -> Self {
        Self { server_name, protocols: &[], now }
    }
}

/// What a server knows of a client from its ClientHello.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct FromClient<'a> {
    /// server_name, if the client sent it.
    pub server_name: Option<&'a str>,
    /// What the ClientHello offers.
    pub offer: PeerOffer<'a>,
    /// Now.
    pub now: Time,
}

impl<'a> FromClient<'a> {
    pub(crate) fn new(hello: &ClientHello<'a>, now: Time) -> Self {
        let algorithms = hello.certificates.compression_algorithms;
        let offer = PeerOffer { algorithms, extensions: hello.extensions };
        Self { server_name: hello.server_name, offer, now }
    }
}

/// What a ClientHello or a CertificateRequest offers to codecs.
#[derive(Clone, Copy)]
pub struct PeerOffer<'a> {
    pub(crate) algorithms: Option<CodePoints<'a>>,
    pub(crate) extensions: Extensions<'a>,
}

impl<'a> PeerOffer<'a> {
    /// The algorithms of compress_certificate: those that the peer can decode, in its order.
    pub fn algorithms(self) -> impl Iterator<Item = CertificateCompressionAlgorithm> + 'a {
        let listed = self.algorithms.into_iter().flat_map(CodePoints::iter);
        listed.map(CertificateCompressionAlgorithm)
    }

    /// The body of an extension, if the message has it.
    pub fn extension(self, typ: ExtensionType) -> Option<&'a [u8]> {
        self.extensions.iter().find(|(listed, _)| *listed == typ).map(|(_, body)| body)
    }
}

/// A peer's certificate that was accepted in a complete handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCertificate {
    /// What the chain holds.
    pub certificate_type: CertificateType,
    /// The body of the Certificate, as it came or as it was decoded.
    pub body: Vec<u8>,
    /// When the first certificate of the chain expires, in seconds since the Unix epoch, as the
    /// verifier says.
    pub expires_at: Option<u64>,
}

impl PeerCertificate {
    /// A certificate that doesn't expire.
    pub fn new(certificate_type: CertificateType, body: Vec<u8>) -> Self {
        Self { certificate_type, body, expires_at: None }
    }

    /// The certificates as DER, the end entity first; or the raw public key.
    pub fn chain(&self) -> impl Iterator<Item = &[u8]> {
        let mut reader = Reader::new(&self.body);
        let _context = reader.vec8();
        let mut list = Reader::new(reader.vec24().unwrap_or_default());
        core::iter::from_fn(move || {
            let certificate = list.vec24().ok()?;
            let _extensions = list.vec16().ok()?;
            Some(certificate)
        })
    }
}
