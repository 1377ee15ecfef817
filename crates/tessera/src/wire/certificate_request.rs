//! CertificateRequest (RFC 8446 §4.3.2).

use alloc::vec::Vec;

use super::certificate_criteria::CertificateCriteria;
use super::code_points::{ExtensionType, HandshakeType};
use super::extensions::{Extensions, read_extensions};
use super::handshake::write_message;
use super::reader::Reader;
use super::writer::Writer;
use crate::alert::AlertDescription;
use crate::error::{Error, decode_error, protocol};

/// A CertificateRequest of the main handshake.
pub struct CertificateRequest<'a> {
    /// Which certificates the server accepts; signature_algorithms is present.
    pub criteria: CertificateCriteria<'a>,
    /// All extensions, as sent.
    pub extensions: Extensions<'a>,
}

impl<'a> CertificateRequest<'a> {
    /// Reads the body of the message.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        if !reader.vec8()?.is_empty() {
            return Err(decode_error("certificate_request_context is for later handshakes only"));
        }
        let extensions = Extensions::at(reader);
        let mut criteria = CertificateCriteria::default();
        read_extensions(&mut reader, |typ, body| {
            if typ == ExtensionType::STATUS_REQUEST {
                // RFC 8446 §4.4.2.1: empty here.
                criteria.entry_extensions.status_request = true;
                return body.finish();
            }
            // Others only narrow the choice of a certificate, and may be ignored.
            criteria.read(typ, body).map(drop)
        })?;
        reader.finish()?;
        if criteria.signature_algorithms.is_none() {
            return Err(protocol(
                AlertDescription::MISSING_EXTENSION,
                "CertificateRequest without signature_algorithms",
            ));
        }
        Ok(Self { criteria, extensions })
    }

    /// Appends the message; `extensions` writes its extensions.
    pub fn write_with(out: &mut Vec<u8>, extensions: impl FnOnce(&mut Vec<u8>)) {
        write_message(out, HandshakeType::CERTIFICATE_REQUEST, |out| {
            out.u8(0);
            out.vec16(extensions);
        });
    }
}
