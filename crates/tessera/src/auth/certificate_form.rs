//! Which certificates a side accepts, and in which form: ClientHello and CertificateRequest state it
//! alike, so both sides share this.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::certificate_codec::{CertificateCodecFactory, check_codecs};
use super::certificate_type::check_types;
use super::codec_peer::CertificateContents;
use super::codec_results::DecodedCertificate;
use super::connection_codecs::ConnectionCodecs;
use super::credential::Credential;
use super::criteria::{check_criteria, criteria_have, write_criteria};
use super::verifier::PeerVerifier;
use crate::error::{Error, require};
use crate::limits::copied;
use crate::linked::{Certificates, KnownKeys};
use crate::wire::{
    Certificate, CertificateCompressionAlgorithm, CertificateType, CompressedCertificate,
    EntryExtensions, ExtensionType, Grease, HandshakeMessage, HandshakeType, Reader,
};

/// What this side accepts of its peer.
pub(crate) struct AcceptedCertificates<'a> {
    pub(crate) verifier: &'a dyn PeerVerifier,
    pub(crate) codecs: &'a ConnectionCodecs,
}

impl AcceptedCertificates<'_> {
    /// Returns whether this side states it with this extension.
    pub(crate) fn has(&self, typ: ExtensionType) -> bool {
        if Certificates::linked().is_none() {
            return false;
        }
        let entry_extensions = self.verifier.entry_extensions();
        match typ {
            ExtensionType::STATUS_REQUEST => entry_extensions.status_request,
            ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP => {
                entry_extensions.signed_certificate_timestamp
            }
            _ => criteria_have(typ, self.verifier) || self.codecs.have(typ),
        }
    }

    /// Appends the extensions that state it, for a ClientHello or a CertificateRequest.
    pub(crate) fn write_extensions(
        &self,
        message: HandshakeType,
        grease: Option<Grease>,
        out: &mut Vec<u8>,
    ) {
        // RFC 8446 §4.2.3: signature_algorithms is for those who want certificates.
        if Certificates::linked().is_none() {
            return;
        }
        write_criteria(out, self.verifier, grease);
        let entry_extensions = self.verifier.entry_extensions();
        match message {
            HandshakeType::CLIENT_HELLO => entry_extensions.write_for_client_hello(out),
            _ => entry_extensions.write_for_certificate_request(out),
        }
        self.codecs.write_extensions(message, out);
    }
}

/// Reads the peer's Certificate in any form; also returns how it was encoded, if it was.
pub(crate) fn read_certificate(
    message: HandshakeMessage<'_>,
    typ: CertificateType,
    verifier: &dyn PeerVerifier,
    codecs: &mut ConnectionCodecs,
    longest: usize,
) -> Result<(Certificate, Option<CertificateCompressionAlgorithm>), Error> {
    let requested = verifier.entry_extensions();
    if codecs.expect_abbreviated() {
        message.reader_for(HandshakeType::CERTIFICATE)?;
        let decoded = codecs.read_abbreviated(message.body)?;
        return Ok((taken(decoded, typ, requested, codecs, longest)?, None));
    }
    if message.typ == HandshakeType::COMPRESSED_CERTIFICATE && codecs.offer_any() {
        let message = CompressedCertificate::read(Reader::new(message.body))?;
        // RFC 8879 §4: as if it had come whole.
        let decoded = codecs.decode(&message)?;
        return Ok((taken(decoded, typ, requested, codecs, longest)?, Some(message.algorithm)));
    }
    let reader = message.reader_for(HandshakeType::CERTIFICATE)?;
    let certificate = Certificate::read(reader, typ, requested, longest)?;
    codecs.keep(typ, || Ok(CertificateContents::Body(copied(message.body)?)))?;
    Ok((certificate, None))
}

/// Reads a decoded Certificate as if it had arrived whole.
fn taken(
    decoded: DecodedCertificate,
    typ: CertificateType,
    requested: EntryExtensions,
    codecs: &mut ConnectionCodecs,
    longest: usize,
) -> Result<Certificate, Error> {
    let DecodedCertificate { contents, entry_extensions, .. } = decoded;
    let read = match &contents {
        CertificateContents::Body(body) => {
            Certificate::read(Reader::new(body), typ, requested, longest)
        }
        CertificateContents::Known(hash) => {
            Certificate::known(*hash, &entry_extensions, typ, requested)
        }
    };
    codecs.keep(typ, || Ok(contents))?;
    codecs.read_or_concealed(read)
}

/// Checks what types can't, in either side's configuration.
pub(crate) fn check_certificates(
    verifier: Option<&dyn PeerVerifier>,
    credentials: &[Credential],
    codecs: &[Arc<dyn CertificateCodecFactory>],
) -> Result<(), Error> {
    if Certificates::linked().is_none() {
        // A key that clients know is never shown.
        let may_be_known =
            |own: &Credential| KnownKeys::linked().is_some() && own.key.may_be_known();
        let are_known = credentials.iter().all(may_be_known);
        return require(are_known, "credentials: this build leaves certificates out");
    }
    if let Some(verifier) = verifier {
        let checks_any = !verifier.schemes().is_empty();
        require(checks_any, "verifier: schemes must have at least one that it can check")?;
        check_criteria(verifier)?;
        check_types(verifier.certificate_types())?;
    }
    credentials.iter().try_for_each(Credential::check)?;
    check_codecs(codecs)
}
