//! What may accompany a certificate: an OCSP response and signed certificate timestamps (RFC 8446
//! §4.4.2.1). Requested in ClientHello or CertificateRequest, sent in a CertificateEntry.

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::extensions::{write_empty, write_extension};
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, decode_error};

/// The extensions of a CertificateEntry that are requested, or may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EntryExtensions {
    /// status_request: an OCSP response (RFC 6066 §8).
    pub status_request: bool,
    /// signed_certificate_timestamp: SCTs of certificate transparency logs (RFC 6962 §3.3).
    pub signed_certificate_timestamp: bool,
}

impl EntryExtensions {
    /// Requests them in a ClientHello.
    pub(crate) fn write_for_client_hello(self, out: &mut Vec<u8>) {
        if self.status_request {
            write_extension(out, ExtensionType::STATUS_REQUEST, |out| {
                // RFC 6066 §8: no particular responders, no request extensions.
                out.u8(OCSP);
                out.u16(0);
                out.u16(0);
            });
        }
        if self.signed_certificate_timestamp {
            write_empty(out, ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP);
        }
    }

    /// Requests them in a CertificateRequest, where both are empty (RFC 8446 §4.4.2.1).
    pub(crate) fn write_for_certificate_request(self, out: &mut Vec<u8>) {
        if self.status_request {
            write_empty(out, ExtensionType::STATUS_REQUEST);
        }
        if self.signed_certificate_timestamp {
            write_empty(out, ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP);
        }
    }
}

/// Reads a client's status_request; returns whether it asks for OCSP. Other types of status
/// are ignored (RFC 6066 §8).
pub fn read_status_request(mut reader: Reader<'_>) -> Result<bool, Error> {
    if reader.u8()? != OCSP {
        return Ok(false);
    }
    let mut responders = Reader::new(reader.vec16()?);
    while !responders.is_empty() {
        if responders.vec16()?.is_empty() {
            return Err(decode_error("status_request names an empty responder"));
        }
    }
    reader.vec16()?;
    reader.finish()?;
    Ok(true)
}

/// Reads the status_request of a CertificateEntry: a DER-encoded OCSP response.
pub fn read_certificate_status<'a>(mut reader: Reader<'a>) -> Result<&'a [u8], Error> {
    if reader.u8()? != OCSP {
        return Err(decode_error("a certificate status is not OCSP's"));
    }
    let response = reader.vec24()?;
    reader.finish()?;
    if response.is_empty() {
        return Err(decode_error("an OCSP response is empty"));
    }
    Ok(response)
}

/// Appends the status_request of a CertificateEntry.
pub fn write_certificate_status(out: &mut Vec<u8>, response: &[u8]) {
    write_extension(out, ExtensionType::STATUS_REQUEST, |out| {
        out.u8(OCSP);
        out.vec24(|out| out.bytes(response));
    });
}

/// Checks a SignedCertificateTimestampList, and returns it unchanged (RFC 6962 §3.3).
pub fn read_sct_list<'a>(mut reader: Reader<'a>) -> Result<&'a [u8], Error> {
    let whole = reader.rest();
    let mut reader = Reader::new(whole);
    let mut list = Reader::new(reader.vec16()?);
    reader.finish()?;
    if list.is_empty() {
        return Err(decode_error("a list of SCTs is empty"));
    }
    while !list.is_empty() {
        if list.vec16()?.is_empty() {
            return Err(decode_error("an SCT is empty"));
        }
    }
    Ok(whole)
}

/// Appends the signed_certificate_timestamp of a CertificateEntry.
pub fn write_sct_list(out: &mut Vec<u8>, list: &[u8]) {
    write_extension(out, ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP, |out| out.bytes(list));
}

/// The longest OCSP response and list of SCTs together, in bytes: the capacity of a CertificateEntry
/// without the headers of two extensions and of CertificateStatus.
pub const MAX_STAPLED: usize = 0xffff - 2 * 4 - 4;

/// CertificateStatusType ocsp.
const OCSP: u8 = 1;
