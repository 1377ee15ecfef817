//! CertificateRequest, Certificate and CertificateVerify (RFC 8446 §4.3.2, §4.4.2, §4.4.3).

use alloc::vec::Vec;

use super::certificate_criteria::CertificateCriteria;
use super::code_points::{HandshakeType, SignatureScheme};
use super::extensions::{UNSOLICITED, read_extensions};
use super::handshake::write_message;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, decode_error, protocol};
use crate::wire::AlertDescription;

/// A CertificateRequest of the main handshake.
pub struct CertificateRequest<'a> {
    /// Which certificates the server takes; signature_algorithms is there.
    pub criteria: CertificateCriteria<'a>,
}

impl<'a> CertificateRequest<'a> {
    /// Reads the body of the message.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        if !reader.vec8()?.is_empty() {
            return Err(decode_error("certificate_request_context is for later handshakes only"));
        }
        let mut criteria = CertificateCriteria::default();
        // Others only narrow the choice of a certificate, and may be passed over.
        read_extensions(&mut reader, |typ, body| criteria.read(typ, body).map(drop))?;
        reader.finish()?;
        if criteria.signature_algorithms.is_none() {
            return Err(protocol(
                AlertDescription::MISSING_EXTENSION,
                "CertificateRequest without signature_algorithms",
            ));
        }
        Ok(Self { criteria })
    }

    /// Appends the message; `extensions` writes what it asks for.
    pub fn write_with(out: &mut Vec<u8>, extensions: impl FnOnce(&mut Vec<u8>)) {
        write_message(out, HandshakeType::CERTIFICATE_REQUEST, |out| {
            out.u8(0);
            out.vec16(extensions);
        });
    }
}

/// Reads the body of a Certificate of the main handshake: the chain as DER, the end entity first,
/// or nothing.
pub fn read_certificate(mut reader: Reader<'_>) -> Result<Vec<Vec<u8>>, Error> {
    if !reader.vec8()?.is_empty() {
        return Err(decode_error("certificate_request_context is for later handshakes only"));
    }
    let mut list = Reader::new(reader.vec24()?);
    reader.finish()?;
    let mut chain = Vec::new();
    while !list.is_empty() {
        let certificate = list.vec24()?;
        if certificate.is_empty() {
            return Err(decode_error("a certificate is empty"));
        }
        // Nothing was asked for that could be answered here (status_request, SCT).
        read_extensions(&mut list, |_, _| Err(UNSOLICITED))?;
        if chain.len() == MAX_CHAIN {
            return Err(protocol(AlertDescription::BAD_CERTIFICATE, "the chain is too long"));
        }
        chain.push(certificate.to_vec());
    }
    Ok(chain)
}

/// The longest chain that is read; longer ones are no real PKI's.
const MAX_CHAIN: usize = 100;

/// Appends a Certificate.
pub fn write_certificate(out: &mut Vec<u8>, chain: &[Vec<u8>]) {
    write_message(out, HandshakeType::CERTIFICATE, |out| {
        out.u8(0);
        out.vec24(|out| {
            for certificate in chain {
                out.vec24(|out| out.bytes(certificate));
                out.u16(0);
            }
        });
    });
}

/// A CertificateVerify.
pub struct CertificateVerify<'a> {
    /// The scheme of the signature.
    pub scheme: SignatureScheme,
    /// The signature.
    pub signature: &'a [u8],
}

impl<'a> CertificateVerify<'a> {
    /// Reads the body of the message.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        let verify = Self { scheme: SignatureScheme(reader.u16()?), signature: reader.vec16()? };
        reader.finish()?;
        Ok(verify)
    }

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_message(out, HandshakeType::CERTIFICATE_VERIFY, |out| {
            out.u16(self.scheme.0);
            out.vec16(|out| out.bytes(self.signature));
        });
    }
}
