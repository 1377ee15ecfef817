//! What a certificate codec sees of its peer.

use alloc::vec::Vec;

use super::certificate_entries::certificate_entries;
use super::credential::Credential;
use super::policy::VerifierDigest;
use crate::time::Time;
use crate::wire::{
    CertificateCompressionAlgorithm, CertificateType, ClientHello, CodePoints, ExtensionType,
    Extensions, Protocols,
};

/// The peer of a connection, as far as it is known when the codec is made.
#[derive(Clone, Copy)]
pub enum PeerInfo<'a> {
    /// This side is the client.
    Server(&'a ServerInfo<'a>),
    /// This side is the server.
    Client(&'a ClientInfo<'a>),
}

/// What a client knows of the server to which it is about to connect.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ServerInfo<'a> {
    /// The name that the server's certificate must be valid for.
    pub server_name: &'a str,
    /// The port, if the caller gave it.
    pub port: Option<u16>,
    /// The application protocols that the client offers.
    pub protocols: &'a [Vec<u8>],
    /// client_random, the same in every ClientHello of the connection.
    pub random: &'a [u8; 32],
    /// What the verifier of servers accepts.
    pub policy: Option<VerifierDigest>,
    /// The current time.
    pub now: Time,
    /// This side's credentials.
    pub(crate) credentials: &'a [Credential],
}

impl<'a> ServerInfo<'a> {
    /// Describes a server of this name, with no application protocols and a random of zeros. For tests of codecs;
    /// the engine fills in more for real connections.
    pub fn new(server_name: &'a str, now: Time) -> Self {
        let (port, policy) = (None, None);
        Self { server_name, port, protocols: &[], random: &[0; 32], policy, now, credentials: &[] }
    }

    /// Iterates over this side's chains; the server's CertificateRequest decides which is sent, if any. Each
    /// comes with what it holds: certificates as DER, the end entity first, or the raw public key.
    pub fn own_chains(&self) -> impl Iterator<Item = (CertificateType, &'a [Vec<u8>])> + use<'a> {
        self.credentials.iter().map(|own| (own.certificate_type, &own.chain[..]))
    }
}

/// What a server knows of a client from its ClientHello.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ClientInfo<'a> {
    /// server_name, if the client sent it.
    pub server_name: Option<&'a str>,
    /// The extensions of the ClientHello.
    pub extensions: PeerExtensions<'a>,
    /// client_random.
    pub random: &'a [u8; 32],
    /// Whether the handshake uses a PSK, and so sends no certificates: of a codec, only the
    /// [`extensions`](super::CertificateCodec::extensions) of EncryptedExtensions and
    /// [`ended`](super::CertificateCodec::ended) matter.
    pub with_psk: bool,
    /// What the verifier of clients accepts, if there is one.
    pub policy: Option<VerifierDigest>,
    /// The current time.
    pub now: Time,
    protocols: Option<Protocols<'a>>,
}

impl<'a> ClientInfo<'a> {
    pub(crate) fn new(
        hello: &ClientHello<'a>,
        with_psk: bool,
        policy: Option<VerifierDigest>,
        now: Time,
    ) -> Self {
        let algorithms = hello.certificates.compression_algorithms;
        Self {
            server_name: hello.server_name,
            extensions: PeerExtensions { algorithms, block: hello.extensions },
            random: hello.random,
            with_psk,
            policy,
            now,
            protocols: hello.protocols,
        }
    }

    /// Iterates over the application protocols that the client offers, in its order.
    pub fn protocols(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.protocols.into_iter().flat_map(Protocols::iter)
    }
}

/// The extensions of a peer's message, for codecs.
#[derive(Clone, Copy)]
pub struct PeerExtensions<'a> {
    pub(crate) algorithms: Option<CodePoints<'a>>,
    pub(crate) block: Extensions<'a>,
}

impl<'a> PeerExtensions<'a> {
    /// Iterates over the algorithms of compress_certificate: those that the peer can decode, in its order.
    pub fn algorithms(self) -> impl Iterator<Item = CertificateCompressionAlgorithm> + 'a {
        let listed = self.algorithms.into_iter().flat_map(CodePoints::iter);
        listed.map(CertificateCompressionAlgorithm)
    }

    /// Returns the body of an extension, if the message has it.
    pub fn get(self, typ: ExtensionType) -> Option<&'a [u8]> {
        self.block.iter().find(|(listed, _)| *listed == typ).map(|(_, body)| body)
    }
}

/// A peer's certificate, accepted in a complete handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCertificate {
    /// What the chain holds.
    pub certificate_type: CertificateType,
    /// What this side knows of it.
    pub contents: CertificateContents,
    /// When the first certificate of the chain expires, in seconds since the Unix epoch, according to the
    /// verifier.
    pub expires_at: Option<u64>,
    /// The hash of the chain, if the verifier returned it
    /// ([`PeerAcceptance::chain_hash`](super::PeerAcceptance::chain_hash)).
    pub chain_hash: Option<[u8; 32]>,
}

/// What this side knows of a peer's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateContents {
    /// The body of the Certificate, as received or as decoded.
    Body(Vec<u8>),
    /// The hash of a chain that the verifier knows.
    Known([u8; 32]),
}

impl PeerCertificate {
    /// Creates a certificate that doesn't expire.
    pub fn new(certificate_type: CertificateType, contents: CertificateContents) -> Self {
        Self { certificate_type, contents, expires_at: None, chain_hash: None }
    }

    /// Returns the body of the Certificate, or `None` if only its hash is known.
    pub fn body(&self) -> Option<&[u8]> {
        match &self.contents {
            CertificateContents::Body(body) => Some(body),
            CertificateContents::Known(_) => None,
        }
    }

    /// Iterates over the certificates as DER, the end entity first, or the raw public key. Empty if only the hash
    /// is known.
    pub fn chain(&self) -> impl Iterator<Item = &[u8]> {
        let entries = self.body().and_then(certificate_entries).unwrap_or_default();
        entries.map(|entry| entry.certificate)
    }
}
