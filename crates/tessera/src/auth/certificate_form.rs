//! Which certificates a side takes and in which form, and which the peer does: told in ClientHello and
//! CertificateRequest alike, so both sides share it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::certificate_codec::{CertificateCodec, check_codecs, first_offered};
use super::certificate_type::check_types;
use super::credential::Credential;
use super::criteria::{check_criteria, criteria_have, write_criteria};
use super::verifier::PeerVerifier;
use crate::error::{Error, illegal_parameter, protocol};
use crate::handshake::Facts;
use crate::limits::MAX_HANDSHAKE_MESSAGE;
use crate::wire::{
    AlertDescription, Certificate, CertificateCriteria, CertificateType, CompressedCertificate,
    EntryExtensions, ExtensionType, Grease, HANDSHAKE_HEADER_LEN, HandshakeMessage, HandshakeType,
    Reader, write_compression_algorithms,
};

/// What this side takes of its peer.
pub(crate) struct AcceptedCertificates<'a> {
    pub(crate) verifier: &'a dyn PeerVerifier,
    pub(crate) codecs: &'a [Arc<dyn CertificateCodec>],
}

impl AcceptedCertificates<'_> {
    /// Whether it is said with this extension.
    pub(crate) fn has(&self, typ: ExtensionType) -> bool {
        let entry_extensions = self.verifier.entry_extensions();
        match typ {
            ExtensionType::STATUS_REQUEST => entry_extensions.status_request,
            ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP => {
                entry_extensions.signed_certificate_timestamp
            }
            ExtensionType::COMPRESS_CERTIFICATE => !self.codecs.is_empty(),
            _ => criteria_have(typ, self.verifier),
        }
    }

    /// Appends the extensions that say it, for a ClientHello or a CertificateRequest.
    pub(crate) fn write_extensions(
        &self,
        message: HandshakeType,
        grease: Option<Grease>,
        out: &mut Vec<u8>,
    ) {
        write_criteria(out, self.verifier, grease);
        let entry_extensions = self.verifier.entry_extensions();
        match message {
            HandshakeType::CLIENT_HELLO => entry_extensions.write_for_client_hello(out),
            _ => entry_extensions.write_for_certificate_request(out),
        }
        if !self.codecs.is_empty() {
            write_compression_algorithms(out, self.codecs.iter().map(|codec| codec.algorithm()));
        }
    }

    /// Reads the peer's Certificate, in whichever form it came.
    pub(crate) fn read(
        &self,
        message: HandshakeMessage<'_>,
        typ: CertificateType,
        connection: &Facts,
    ) -> Result<Certificate, Error> {
        let requested = self.verifier.entry_extensions();
        if message.typ != HandshakeType::COMPRESSED_CERTIFICATE || self.codecs.is_empty() {
            let reader = message.reader_for(HandshakeType::CERTIFICATE)?;
            return Certificate::read(reader, typ, requested);
        }
        let body =
            self.decode(CompressedCertificate::read(Reader::new(message.body))?, connection)?;
        // RFC 8879 §4: as if it had come whole.
        Certificate::read(Reader::new(&body), typ, requested)
    }

    fn decode(
        &self,
        message: CompressedCertificate<'_>,
        connection: &Facts,
    ) -> Result<Vec<u8>, Error> {
        let codec = self.codecs.iter().find(|codec| codec.algorithm() == message.algorithm);
        let codec = codec.ok_or(illegal_parameter(
            "a Certificate is compressed with an algorithm that was not offered",
        ))?;
        // RFC 8879 §4, §5: the announced length bounds the memory before anything is decompressed.
        if message.uncompressed_len > MAX_HANDSHAKE_MESSAGE - HANDSHAKE_HEADER_LEN {
            return Err(bad_certificate("a compressed Certificate is too long"));
        }
        let mut body = alloc::vec![0; message.uncompressed_len];
        match codec.decode(connection, message.compressed, &mut body) {
            Ok(len) if len == body.len() => Ok(body),
            Ok(_) => Err(bad_certificate("a compressed Certificate is shorter than announced")),
            Err(_) => Err(bad_certificate("a compressed Certificate can't be decompressed")),
        }
    }
}

/// How the peer takes this side's certificate.
#[derive(Default)]
pub(crate) struct CertificateForm {
    pub(crate) entry_extensions: EntryExtensions,
    pub(crate) codec: Option<Arc<dyn CertificateCodec>>,
}

impl CertificateForm {
    /// The form that this side chooses of what the peer's ClientHello or CertificateRequest names.
    pub(crate) fn choose(
        peer: &CertificateCriteria<'_>,
        codecs: &[Arc<dyn CertificateCodec>],
    ) -> Self {
        let codec = first_offered(codecs, peer.compression_algorithms);
        Self { entry_extensions: peer.entry_extensions, codec }
    }
}

/// Checks what can't be checked by types in either side's configuration.
pub(crate) fn check_certificates(
    verifier: Option<&dyn PeerVerifier>,
    credentials: &[Credential],
    codecs: &[Arc<dyn CertificateCodec>],
) -> Result<(), Error> {
    if let Some(verifier) = verifier {
        check_criteria(verifier)?;
        check_types(verifier.certificate_types())?;
    }
    credentials.iter().try_for_each(Credential::check)?;
    check_codecs(codecs)
}

const fn bad_certificate(reason: &'static str) -> Error {
    protocol(AlertDescription::BAD_CERTIFICATE, reason)
}
